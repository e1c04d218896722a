/* Expiry rule: dead or alive, decided in one place.
 *
 * A document has up to one deadline per rule: the collection's default or its own ttl, counted from
 * its last write in whole seconds; and one per TTL index, counted from the earliest date its field
 * holds. It is dead when any of them is reached (now >= deadline), or when a horizon that was stored
 * at a policy change covers it. Horizons make death final: a changed policy never brings anyone back.
 *
 * Keeps: no other file compares a deadline with a time; sums saturate, so the far future stays there.
 * Pure: callable from every thread, including the storage backend's compaction threads. */
#include "engine/expiry_rule.h"

#include <inttypes.h>

enum { SECOND_MS = 1000 };

bool expiry_is_due(time_ms deadline, time_ms now)
{
    return deadline <= now;
}

time_ms expiry_earlier(time_ms a, time_ms b)
{
    return a < b ? a : b;
}

static time_ms written_at_ms(const struct stamp *stamp)
{
    return stamp->written_at_s * SECOND_MS;
}

static time_ms own_deadline(const struct stamp *stamp)
{
    return (stamp->written_at_s + stamp->own_ttl) * SECOND_MS;
}

/* ---- the default and the own ttl ---------------------------------------------------------------- */

static unsigned base_lane(const struct stamp *stamp)
{
    if (stamp->own_ttl == TTL_ABSENT)
        return LANE_INHERITING;
    return stamp->own_ttl == TTL_NEVER ? LANE_NEVER : LANE_OWN;
}

static time_ms base_order(const struct stamp *stamp)
{
    return base_lane(stamp) == LANE_OWN ? own_deadline(stamp) : written_at_ms(stamp);
}

static time_ms base_stored_horizon(const struct expiry_policy *policy, unsigned lane)
{
    if (lane == LANE_INHERITING)
        return policy->inheriting_horizon;
    return lane == LANE_OWN ? policy->own_horizon : INT64_MIN;
}

static time_ms base_deadline(const struct expiry_policy *policy, unsigned lane, time_ms order)
{
    if (policy->default_ttl == TTL_OFF || lane == LANE_NEVER)
        return TIME_NEVER;
    if (lane == LANE_OWN)
        return order;
    if (policy->default_ttl == TTL_NEVER)
        return TIME_NEVER;
    return int64_add_saturating(order, (int64_t)policy->default_ttl * SECOND_MS);
}

static bool is_dead_by_base(const struct expiry_policy *policy, const struct stamp *stamp,
                            time_ms now)
{
    unsigned lane = base_lane(stamp);
    time_ms order = base_order(stamp);

    return order <= base_stored_horizon(policy, lane) ||
           expiry_is_due(base_deadline(policy, lane, order), now);
}

/* ---- date rules --------------------------------------------------------------------------------- */

static bool rule_concerns(const struct date_rule *rule, const struct stamp *stamp)
{
    return stamp->seq <= rule->retired_seq && (rule->is_acting || rule->horizon_count > 0);
}

static bool rule_is_younger(const struct date_rule *rule, const struct stamp *stamp)
{
    return stamp->seq <= rule->created_seq;
}

static time_ms rule_deadline(const struct date_rule *rule, time_ms date)
{
    return rule->is_acting ? int64_add_saturating(date, rule->ttl_ms) : TIME_NEVER;
}

static bool is_dead_by_rule(const struct date_rule *rule, const struct stamp *stamp, time_ms date,
                            time_ms now)
{
    if (expiry_is_due(rule_deadline(rule, date), now))
        return true;
    for (size_t i = 0; i < rule->horizon_count; i++) {
        const struct expiry_horizon *horizon = &rule->horizons[i];
        if (stamp->seq <= horizon->last_seq && date <= horizon->upto)
            return true;
    }
    return false;
}

/* The date a rule looks at: from the stamp, or from the document where the stamp is too old. */
static bool rule_date(const struct expiry_policy *policy, const struct date_rule *rule,
                      const struct stamp *stamp, bytes document, struct arena *arena, time_ms *out)
{
    if (!rule_is_younger(rule, stamp))
        return stamp_date(stamp, rule->number, out);
    if (document.len == 0)
        return false;
    if (rule->is_partial &&
        !policy->is_in_partial(policy->predicate_context, rule->predicate, document))
        return false;
    return expiry_earliest_date(rule->path, document, arena, out);
}

enum verdict expiry_judge(const struct expiry_policy *policy, const struct stamp *stamp,
                          time_ms now)
{
    enum verdict verdict = ALIVE;
    time_ms date;

    if (is_dead_by_base(policy, stamp, now))
        return DEAD;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct date_rule *rule = &policy->rules[i];
        if (!rule_concerns(rule, stamp))
            continue;
        if (rule_is_younger(rule, stamp))
            verdict = UNDECIDED;
        else if (stamp_date(stamp, rule->number, &date) && is_dead_by_rule(rule, stamp, date, now))
            return DEAD;
    }
    return verdict;
}

enum verdict expiry_judge_document(const struct expiry_policy *policy, const struct stamp *stamp,
                                   bytes document, struct arena *arena, time_ms now)
{
    enum verdict verdict = expiry_judge(policy, stamp, now);
    time_ms date;

    if (verdict != UNDECIDED)
        return verdict;
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct date_rule *rule = &policy->rules[i];
        if (rule_concerns(rule, stamp) && rule_date(policy, rule, stamp, document, arena, &date) &&
            is_dead_by_rule(rule, stamp, date, now))
            return DEAD;
    }
    return ALIVE;
}

/* ---- deadlines and lanes ------------------------------------------------------------------------- */

time_ms expiry_deadline(const struct expiry_policy *policy, const struct stamp *stamp,
                        bytes document, struct arena *arena)
{
    time_ms earliest = base_deadline(policy, base_lane(stamp), base_order(stamp));
    time_ms date;

    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct date_rule *rule = &policy->rules[i];
        if (!rule_concerns(rule, stamp) || !rule_date(policy, rule, stamp, document, arena, &date))
            continue;
        time_ms deadline = rule_deadline(rule, date);
        earliest = deadline < earliest ? deadline : earliest;
    }
    return earliest;
}

static const struct date_rule *rule_of_lane(const struct expiry_policy *policy, unsigned lane)
{
    for (size_t i = 0; i < policy->rule_count; i++) {
        if ((unsigned)LANE_DATES + policy->rules[i].number == lane)
            return &policy->rules[i];
    }
    return NULL;
}

time_ms expiry_lane_deadline(const struct expiry_policy *policy, unsigned lane, time_ms order)
{
    if (lane < LANE_DATES)
        return base_deadline(policy, lane, order);
    const struct date_rule *rule = rule_of_lane(policy, lane);
    return rule ? rule_deadline(rule, order) : TIME_NEVER;
}

bool expiry_is_foreign(const struct expiry_policy *policy, const struct stamp *stamp,
                       bytes document, struct arena *arena)
{
    return expiry_deadline(policy, stamp, document, arena) <
           expiry_lane_deadline(policy, stamp->lane, expiry_order(stamp));
}

bool expiry_is_older_than_a_rule(const struct expiry_policy *policy, const struct stamp *stamp)
{
    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct date_rule *rule = &policy->rules[i];
        if (rule->is_acting && rule_is_younger(rule, stamp))
            return true;
    }
    return false;
}

unsigned expiry_choose_lane(const struct expiry_policy *policy, const struct stamp *stamp)
{
    unsigned lane = base_lane(stamp);
    time_ms earliest = base_deadline(policy, lane, base_order(stamp));
    time_ms date;

    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct date_rule *rule = &policy->rules[i];
        if (!rule->is_acting || !stamp_date(stamp, rule->number, &date))
            continue;
        time_ms deadline = rule_deadline(rule, date);
        if (deadline < earliest) {
            earliest = deadline;
            lane = (unsigned)LANE_DATES + rule->number;
        }
    }
    return lane;
}

time_ms expiry_order(const struct stamp *stamp)
{
    time_ms date;

    if (stamp->lane < LANE_DATES)
        return stamp->lane == LANE_OWN ? own_deadline(stamp) : written_at_ms(stamp);
    bool has_date = stamp_date(stamp, (uint8_t)(stamp->lane - LANE_DATES), &date);
    ASSERT(has_date);
    return date;
}

time_ms expiry_lane_horizon(const struct expiry_policy *policy, unsigned lane, time_ms now)
{
    if (lane >= LANE_DATES) {
        const struct date_rule *rule = rule_of_lane(policy, lane);
        return rule && rule->is_acting ? int64_sub_saturating(now, rule->ttl_ms) : INT64_MIN;
    }
    time_ms stored = base_stored_horizon(policy, lane);
    time_ms due = INT64_MIN;
    if (lane == LANE_OWN && policy->default_ttl != TTL_OFF)
        due = now;
    if (lane == LANE_INHERITING && policy->default_ttl > 0)
        due = int64_sub_saturating(now, (int64_t)policy->default_ttl * SECOND_MS);
    return due > stored ? due : stored;
}

int64_t expiry_second_of(time_ms at)
{
    return at / SECOND_MS - (at % SECOND_MS < 0);
}

int64_t expiry_last_dead_second(unsigned lane, time_ms horizon)
{
    if (horizon == INT64_MIN)
        return INT64_MIN;
    if (lane < LANE_DATES)
        return expiry_second_of(horizon);
    return expiry_second_of(int64_add_saturating(horizon, 1)) - 1;
}

/* ---- changing a policy ---------------------------------------------------------------------------- */

void expiry_settle_default(struct expiry_policy *policy, time_ms now)
{
    policy->inheriting_horizon = expiry_lane_horizon(policy, LANE_INHERITING, now);
    policy->own_horizon = expiry_lane_horizon(policy, LANE_OWN, now);
}

bool expiry_settle_rule(struct date_rule *rule, uint64_t seq, time_ms now)
{
    struct expiry_horizon fresh = { .upto = int64_sub_saturating(now, rule->ttl_ms),
                                    .last_seq = seq };
    size_t kept = 0;

    if (!rule->is_acting)
        return true;
    for (size_t i = 0; i < rule->horizon_count; i++) {
        bool is_covered = rule->horizons[i].upto <= fresh.upto &&
                          rule->horizons[i].last_seq <= fresh.last_seq;
        if (!is_covered)
            rule->horizons[kept++] = rule->horizons[i];
    }
    rule->horizon_count = kept;
    if (kept == LIMIT_RULE_HORIZONS)
        return false;
    rule->horizons[rule->horizon_count++] = fresh;
    return true;
}

/* ---- what a document says ------------------------------------------------------------------------- */

bool expiry_earliest_date(const struct path *path, bytes document, struct arena *arena,
                          time_ms *out)
{
    arena_position mark = arena_mark(arena);
    struct path_values reached;
    bool is_found = false;

    if (path_collect(arena, path, document, &reached).code == OK) {
        for (size_t i = 0; i < reached.count; i++) {
            if (reached.items[i].type != VALUE_DATE)
                continue;
            time_ms date = value_date_ms(reached.items[i]);
            if (!is_found || date < *out)
                *out = date;
            is_found = true;
        }
    }
    arena_release(arena, mark);
    return is_found;
}

status expiry_own_ttl(struct arena *arena, bytes document, int32_t *out)
{
    struct value value;
    int64_t seconds;

    *out = TTL_ABSENT;
    if (!document_find(document, "ttl", &value))
        return STATUS_OK;
    if (!value_as_int64(value, &seconds))
        return status_of(INVALID,
                         "the document's ttl must be a whole number of seconds: -1 for never, "
                         "or 1 to 2147483647; leave it out to inherit the default");
    if (seconds != TTL_NEVER && (seconds < 1 || seconds > LIMIT_TTL_SECONDS))
        return status_fail(arena, INVALID,
                           "the document's ttl is %" PRId64 "; it must be -1 for never, or 1 to %d",
                           seconds, LIMIT_TTL_SECONDS);
    *out = (int32_t)seconds;
    return STATUS_OK;
}

status expiry_check_default_ttl(struct arena *arena, int64_t seconds)
{
    if (seconds == TTL_OFF || seconds == TTL_NEVER ||
        (seconds >= 1 && seconds <= LIMIT_TTL_SECONDS))
        return STATUS_OK;
    return status_fail(
        arena, INVALID,
        "the default ttl is %" PRId64
        "; it must be -1 for on without a default, 1 to %d seconds, or absent for off",
        seconds, LIMIT_TTL_SECONDS);
}

/* ---- packed dates --------------------------------------------------------------------------------- */

void stamp_pack_date(uint8_t out[STAMP_DATE_BYTES], uint8_t rule_number, time_ms date)
{
    out[0] = rule_number;
    for (int i = 0; i < 8; i++)
        out[1 + i] = (uint8_t)((uint64_t)date >> (56 - 8 * i));
}

bool stamp_date(const struct stamp *stamp, uint8_t rule_number, time_ms *out)
{
    for (size_t at = 0; at + STAMP_DATE_BYTES <= stamp->dates.len; at += STAMP_DATE_BYTES) {
        const uint8_t *packed = stamp->dates.data + at;
        if (packed[0] != rule_number)
            continue;
        uint64_t date = 0;
        for (int i = 0; i < 8; i++)
            date = date << 8 | packed[1 + i];
        *out = (time_ms)date;
        return true;
    }
    return false;
}
