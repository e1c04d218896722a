/* Change, rules: how TTL indexes end documents, and how that is changed.
 *
 * A TTL index has a date rule in the collection's policy. Before a rule gets milder, is switched off or
 * retired, the documents it has ended are settled: a horizon is stored that keeps them dead. Rules of
 * dropped indexes stay, retired, until the purger has removed everything they had ended and their lane
 * is empty. Start reading at rule_add() and index_set_expiry(). */
#include "engine/change.h"

#include <inttypes.h>

/* ---- date rules ----------------------------------------------------------------------------------- */

struct date_rule *rule_of_index(struct collection *collection, uint32_t index_id)
{
    for (size_t i = 0; i < collection->policy.rule_count; i++) {
        struct date_rule *rule = &collection->policy.rules[i];
        if (rule->index_id == index_id && rule->retired_seq == UINT64_MAX)
            return rule;
    }
    return NULL;
}

static status settle(struct change *change, struct collection *next, struct date_rule *rule)
{
    uint64_t seq = atomic_load(&change->engine->assigned_seq);

    if (!expiry_settle_rule(rule, seq, clock_now(change->engine->options.clock)))
        return status_fail(change->arena, BUSY,
                           "the expiry of this index was changed %d times since the purger last "
                           "cleaned up; try again in a minute",
                           LIMIT_RULE_HORIZONS);
    if (rule->horizon_count > 0)
        next->needs_clean_up = true;
    if (change_is_populated(change, next))
        next->is_mixed = true;
    return STATUS_OK;
}

status rule_retire(struct change *change, struct collection *next, uint32_t index_id)
{
    struct date_rule *rule = rule_of_index(next, index_id);

    if (!rule)
        return STATUS_OK;
    TRY(settle(change, next, rule));
    rule->is_acting = false;
    rule->retired_seq = atomic_load(&change->engine->assigned_seq);
    next->needs_clean_up = true;
    return STATUS_OK;
}

static bool number_is_taken(const struct collection *collection, unsigned number)
{
    for (size_t i = 0; i < collection->policy.rule_count; i++) {
        if (collection->policy.rules[i].number == number)
            return true;
    }
    return false;
}

/* The lane of a rule that is gone for good holds no document, and its number is used again: nothing that comes
 * into it was cut off before. The mark goes together with every body it may still be needed for; without it
 * such a body would be a document like any other. */
static status clear_lane(struct change *change, const struct collection *next, unsigned lane)
{
    const struct collection_state *state = next->state;
    struct change_row mark = { .where = address(state->partition, SPACE_META) };
    struct change_row bodies = { .where = address(state->partition, SPACE_BODIES) };
    struct buffer key = buffer_in(change->arena), start = buffer_in(change->arena);
    struct buffer end = buffer_in(change->arena);

    if (atomic_load(&state->lanes[lane].cut_seq) == 0)
        return STATUS_OK;
    row_key_cut(&key, lane);
    row_key_lane(&start, lane);
    row_key_lane(&end, lane + 1);
    TRY(buffer_finish(&key, &mark.key));
    TRY(buffer_finish(&start, &bodies.key));
    TRY(buffer_finish(&end, &bodies.end));
    change_add_row(change, mark);
    change_add_row(change, bodies);
    return STATUS_OK;
}

void rule_forget_cuts(const struct change *change)
{
    for (unsigned number = 0; number < LIMIT_DATE_RULES; number++) {
        if (!(change->fresh_rules >> number & 1))
            continue;
        struct lane_state *lane = &change->edit.add[0]->state->lanes[LANE_DATES + number];
        atomic_store(&lane->cut_seq, 0);
        atomic_store(&lane->cut_upto, INT64_MIN);
    }
}

status rule_add(struct change *change, struct collection *next, const struct index *index)
{
    struct expiry_policy *policy = &next->policy;
    struct date_rule *rules;
    unsigned number = 0;

    while (number < LIMIT_DATE_RULES && number_is_taken(next, number))
        number++;
    if (number == LIMIT_DATE_RULES)
        return status_fail(
            change->arena, TOO_LARGE,
            "the collection has had %d TTL indexes whose documents are still there, the "
            "limit; drop and create fewer of them, or copy the documents into a new "
            "collection",
            LIMIT_DATE_RULES);
    TRY(ARENA_NEW(next->memory, policy->rule_count + 1, &rules));
    memcpy(rules, policy->rules, policy->rule_count * sizeof(*rules));
    rules[policy->rule_count] = (struct date_rule){
        .number = (uint8_t)number,
        .is_acting = index->state == INDEX_READY &&
                     !atomic_load(&change->engine->are_date_rules_off),
        .index_id = index->id,
        .ttl_ms = (int64_t)index->definition.expire_after_s * 1000,
        .created_seq = atomic_load(&change->engine->assigned_seq),
        .retired_seq = UINT64_MAX,
        .path = index->paths[0],
        .is_partial = index->definition.is_partial,
        .predicate = index->definition.predicate,
    };
    policy->rules = rules;
    policy->rule_count++;
    change->fresh_rules |= UINT64_C(1) << number;
    TRY(clear_lane(change, next, (unsigned)LANE_DATES + number));
    if (change_is_populated(change, next))
        next->is_mixed = true;
    return STATUS_OK;
}

status rule_check_expiry(struct arena *arena, const struct index_definition *definition,
                         int64_t seconds)
{
    if (seconds == INDEX_NO_EXPIRY)
        return STATUS_OK;
    if (seconds < 0 || seconds > LIMIT_TTL_SECONDS)
        return status_fail(arena, INVALID,
                           "the index expires documents after %" PRId64
                           " seconds; it must be 0 to %d",
                           seconds, LIMIT_TTL_SECONDS);
    if (definition->kind != INDEX_FIELDS || definition->field_count != 1)
        return status_of(INVALID, "only an index on exactly one field can expire documents");
    if (definition->is_lazy)
        return status_of(INVALID, "a lazy index cannot expire documents");
    return STATUS_OK;
}

static status alter_expiry(struct change *change, struct collection *next, struct index *index,
                           int32_t expire_after_s)
{
    TRY(rule_check_expiry(change->arena, &index->definition, expire_after_s));
    index->definition.expire_after_s = expire_after_s;
    struct date_rule *rule = rule_of_index(next, index->id);
    if (expire_after_s == INDEX_NO_EXPIRY)
        return rule_retire(change, next, index->id);
    if (!rule)
        return rule_add(change, next, index);
    int64_t ttl_ms = (int64_t)expire_after_s * 1000;
    if (ttl_ms > rule->ttl_ms) /* a shorter ttl kills whoever the longer one had killed */
        TRY(settle(change, next, rule));
    else if (change_is_populated(change, next))
        next->is_mixed = true;
    rule->ttl_ms = ttl_ms;
    return STATUS_OK;
}

static status alter_index(struct change *change, struct collection *next, const void *what)
{
    const struct index_change *wanted = what;
    struct index *index = (struct index *)(uintptr_t)collection_index(next, wanted->name);

    if (!index)
        return change_fail_named(change->arena, NOT_FOUND, "there is no index '%.*s'",
                                 wanted->name);
    if (wanted->sets_options)
        TRY(arena_copy(next->memory, wanted->options, &index->definition.options));
    if (wanted->sets_bounds) {
        index->definition.keep_bytes = wanted->keep_bytes;
        index->definition.keep_documents = wanted->keep_documents;
    }
    return wanted->sets_expiry ? alter_expiry(change, next, index, wanted->expire_after_s)
                               : STATUS_OK;
}

status index_change(struct engine *engine, struct arena *arena, bytes database, bytes name,
                    const struct index_change *wanted)
{
    return change_collection(engine, arena, database, name, alter_index, wanted);
}

status index_set_expiry(struct engine *engine, struct arena *arena, bytes database, bytes name,
                        bytes index_name, int32_t expire_after_s)
{
    struct index_change wanted = { .name = index_name,
                                   .sets_expiry = true,
                                   .expire_after_s = expire_after_s };

    return index_change(engine, arena, database, name, &wanted);
}

bool engine_are_date_rules_acting(const struct engine *engine)
{
    return !atomic_load(&engine->are_date_rules_off);
}

static status switch_rules(struct change *change, struct collection *next, bool is_acting)
{
    for (size_t i = 0; i < next->policy.rule_count; i++) {
        struct date_rule *rule = &next->policy.rules[i];
        if (rule->retired_seq != UINT64_MAX)
            continue;
        if (!is_acting)
            TRY(settle(change, next, rule));
        rule->is_acting = is_acting;
        for (size_t k = 0; is_acting && k < next->index_count; k++) {
            if (next->indexes[k].id == rule->index_id)
                rule->is_acting = next->indexes[k].state == INDEX_READY;
        }
    }
    if (change_is_populated(change, next))
        next->is_mixed = true;
    return change_put_descriptor(change, next);
}

static status switch_all(struct change *change, bool is_acting)
{
    const struct catalog *catalog = change_catalog(change->engine);
    struct collection **concerned;
    size_t count = 0;

    TRY(ARENA_NEW(change->arena, catalog->collection_count, &concerned));
    for (size_t i = 0; i < catalog->collection_count; i++) {
        if (catalog->collections[i]->policy.rule_count > 0)
            concerned[count++] = catalog->collections[i];
    }
    TRY(change_close_and_clone(change, concerned, count));
    for (size_t i = 0; i < count; i++)
        TRY(switch_rules(change, change->next[i], is_acting));
    change->edit.add = change->next;
    change->edit.add_count = count;
    change->switches_rules = true;
    change->switches_rules_off = !is_acting;
    return change_publish(change);
}

status engine_set_date_rules_acting(struct engine *engine, struct arena *arena, bool is_acting)
{
    struct change change;

    change_begin(engine, arena, &change);
    status s = atomic_load(&engine->are_date_rules_off) == !is_acting
                   ? STATUS_OK
                   : switch_all(&change, is_acting);
    change_end(&change);
    purger_wake(engine);
    return s;
}

/* ---- for the purger ------------------------------------------------------------------------------- */

struct clean_up {
    uint64_t version;
};

static bool lane_is_empty(struct engine *engine, const struct collection_state *state,
                          unsigned lane)
{
    pthread_mutex_lock(&engine->figures_lock);
    bool is_empty = state->lanes[lane].documents == 0;
    pthread_mutex_unlock(&engine->figures_lock);
    return is_empty;
}

static status alter_clean_up(struct change *change, struct collection *next, const void *what)
{
    const struct clean_up *clean = what;
    size_t kept = 0;

    if (next->version != clean->version + 1)
        return STATUS_OK; /* changed since: the next walk will see */
    next->needs_clean_up = false;
    for (size_t i = 0; i < next->policy.rule_count; i++) {
        struct date_rule *rule = &next->policy.rules[i];
        rule->horizon_count = 0;
        if (rule->is_acting)
            rule->created_seq = 0; /* every document carries its date now */
        bool is_retired = rule->retired_seq != UINT64_MAX;
        if (is_retired &&
            lane_is_empty(change->engine, next->state, (unsigned)LANE_DATES + rule->number))
            continue;
        next->policy.rules[kept++] = *rule;
    }
    next->policy.rule_count = kept;
    next->is_mixed = false;
    return STATUS_OK;
}

status collection_finish_clean_up(struct engine *engine, struct arena *arena,
                                  uint32_t collection_id, uint64_t version)
{
    struct clean_up clean = { .version = version };

    return change_by_id(engine, arena, collection_id, alter_clean_up, &clean);
}
