/* The judge, alone: who is dead when, by which rule, to the millisecond. No engine, no storage.
 * Times are written as seconds after 1970 where the rule counts seconds, as milliseconds elsewhere. */
#include "engine/expiry_rule.h"

#include "tests/check.h"
#include "tests/support/world.h"

#define NOBODY INT64_MIN

static struct expiry_policy policy_of(int32_t default_ttl)
{
    return (struct expiry_policy){
        .default_ttl = default_ttl,
        .inheriting_horizon = NOBODY,
        .own_horizon = NOBODY,
    };
}

static struct stamp stamp_of(int64_t written_at_s, int32_t own_ttl)
{
    struct stamp stamp = { .seq = 1, .written_at_s = written_at_s, .own_ttl = own_ttl };
    const struct expiry_policy on = policy_of(TTL_NEVER);
    stamp.lane = expiry_choose_lane(&on, &stamp);
    return stamp;
}

static enum verdict judge(int32_t default_ttl, int64_t written_at_s, int32_t own_ttl, time_ms now)
{
    const struct expiry_policy policy = policy_of(default_ttl);
    const struct stamp stamp = stamp_of(written_at_s, own_ttl);
    return expiry_judge(&policy, &stamp, now);
}

/* ---- the default and the own ttl ---------------------------------------------------------------------- */

TEST(expiry_rule, c4_the_matrix_of_document_and_collection)
{
    const int32_t off = TTL_OFF;
    const int32_t absent = TTL_ABSENT;
    const struct {
        const char *why;
        int32_t dflt, own;
        time_ms now;
        enum verdict want;
    } rows[] = {
        {"C-4 off, no ttl",                         off,       absent,    4000000000000, ALIVE},
        { "C-4 off, ttl -1",                        off,       TTL_NEVER, 4000000000000, ALIVE},
        { "C-4 off, ttl 5 is not interpreted",      off,       5,         4000000000000, ALIVE},
        { "C-4 -1, no ttl",                         TTL_NEVER, absent,    4000000000000, ALIVE},
        { "C-4 -1, ttl -1",                         TTL_NEVER, TTL_NEVER, 4000000000000, ALIVE},
        { "C-4 -1, ttl 5, one ms before",           TTL_NEVER, 5,         1004999,       ALIVE},
        { "C-4 -1, ttl 5, at the deadline",         TTL_NEVER, 5,         1005000,       DEAD },
        { "C-4 9, no ttl, one ms before",           9,         absent,    1008999,       ALIVE},
        { "C-4 9, no ttl, at the deadline",         9,         absent,    1009000,       DEAD },
        { "C-4 9, ttl -1 beats the default",        9,         TTL_NEVER, 4000000000000, ALIVE},
        { "C-4 9, ttl 5 shorter, one ms before",    9,         5,         1004999,       ALIVE},
        { "C-4 9, ttl 5 shorter, at the deadline",  9,         5,         1005000,       DEAD },
        { "C-4 9, ttl 20 longer, past the default", 9,         20,        1019999,       ALIVE},
        { "C-4 9, ttl 20 longer, at the deadline",  9,         20,        1020000,       DEAD },
    };
    EACH_ROW(rows, r)
        CHECK_EQ(judge(r->dflt, 1000, r->own, r->now), r->want, "%s", r->why);
}

TEST(expiry_rule, b2_dead_at_the_deadline_and_not_a_tick_later)
{
    const struct {
        const char *why;
        int32_t ttl;
        time_ms now;
        enum verdict want;
    } rows[] = {
        {"the moment of writing",             1,   0,      ALIVE},
        { "B-2 one second, one ms before",    1,   999,    ALIVE},
        { "B-2 one second, at the deadline",  1,   1000,   DEAD },
        { "B-2 one second, one ms after",     1,   1001,   DEAD },
        { "B-2 a hundred, one second before", 100, 99000,  ALIVE},
        { "B-2 a hundred, one ms before",     100, 99999,  ALIVE},
        { "B-2 a hundred, at the deadline",   100, 100000, DEAD },
        { "B-2 a hundred, a second after",    100, 101000, DEAD },
    };
    EACH_ROW(rows, r) {
        CHECK_EQ(judge(r->ttl, 0, TTL_ABSENT, r->now), r->want, "default: %s", r->why);
        CHECK_EQ(judge(TTL_NEVER, 0, r->ttl, r->now), r->want, "own: %s", r->why);
    }
}

TEST(expiry_rule, c5_the_largest_ttl_reaches_its_deadline_and_not_before)
{
    const int64_t written_at_s = WORLD_START_S;
    const time_ms deadline = (written_at_s + LIMIT_TTL_SECONDS) * 1000;
    const int32_t largest = LIMIT_TTL_SECONDS;

    CHECK_EQ(judge(largest, written_at_s, TTL_ABSENT, deadline - 1), ALIVE, "default");
    CHECK_EQ(judge(largest, written_at_s, TTL_ABSENT, deadline), DEAD, "default");
    CHECK_EQ(judge(TTL_NEVER, written_at_s, largest, deadline - 1), ALIVE, "own");
    CHECK_EQ(judge(TTL_NEVER, written_at_s, largest, deadline), DEAD, "own");
    CHECK_EQ(judge(TTL_NEVER, LIMIT_TTL_SECONDS, largest, 4294967293999), ALIVE, "after 2038");
    CHECK_EQ(judge(TTL_NEVER, LIMIT_TTL_SECONDS, largest, 4294967294000), DEAD, "after 2038");
}

TEST(expiry_rule, c6_the_countdown_starts_at_the_last_write)
{
    CHECK_EQ(judge(10, 1000, TTL_ABSENT, 1010000), DEAD, "the old version");
    CHECK_EQ(judge(10, 1009, TTL_ABSENT, 1010000), ALIVE, "written again a second before");
    CHECK_EQ(judge(10, 1009, TTL_ABSENT, 1018999), ALIVE, "");
    CHECK_EQ(judge(10, 1009, TTL_ABSENT, 1019000), DEAD, "");
}

TEST(expiry_rule, the_deadline_is_the_first_dead_moment_for_every_policy)
{
    const int32_t ttls[] = { 1, 2, 59, 3600, 86400, LIMIT_TTL_SECONDS };
    struct arena *arena = arena_open(1 << 20);
    EACH_ROW(ttls, ttl) {
        const struct expiry_policy policy = policy_of(*ttl);
        const struct stamp stamp = stamp_of(WORLD_START_S, TTL_ABSENT);
        const time_ms deadline = expiry_deadline(&policy, &stamp, BYTES_NONE, arena);
        CHECK_EQ(deadline, WORLD_START + (time_ms)*ttl * 1000, "ttl %d", *ttl);
        CHECK_EQ(expiry_judge(&policy, &stamp, deadline - 1), ALIVE, "ttl %d", *ttl);
        CHECK_EQ(expiry_judge(&policy, &stamp, deadline), DEAD, "ttl %d", *ttl);
    }
    const struct expiry_policy off = policy_of(TTL_OFF);
    const struct stamp own = stamp_of(WORLD_START_S, 5);
    CHECK_EQ(expiry_deadline(&off, &own, BYTES_NONE, arena), TIME_NEVER, "C-7 off");
    arena_close(arena);
}

TEST(expiry_rule, a_deadline_is_due_when_it_is_reached)
{
    CHECK(!expiry_is_due(1000, 999));
    CHECK(expiry_is_due(1000, 1000));
    CHECK(expiry_is_due(1000, 1001));
    CHECK(expiry_is_due(INT64_MIN, 0));
    CHECK(!expiry_is_due(TIME_NEVER, INT64_MAX - 1));
}

/* ---- what clients may say ------------------------------------------------------------------------------ */

TEST(expiry_rule, c2_default_ttl_takes_only_what_the_contract_says)
{
    const struct {
        int64_t seconds;
        status_code want;
    } rows[] = {
        {TTL_OFF,      OK     },
        { -1,          OK     },
        { 1,           OK     },
        { 60,          OK     },
        { 2147483647,  OK     },
        { 0,           INVALID},
        { -2,          INVALID},
        { -60,         INVALID},
        { 2147483648,  INVALID},
        { INT64_MAX,   INVALID},
        { INT64_MIN,   INVALID},
        { -2147483647, INVALID},
    };
    struct arena *arena = arena_open(1 << 20);
    EACH_ROW(rows, r)
        CHECK_EQ(expiry_check_default_ttl(arena, r->seconds).code, r->want, "default ttl %lld",
                 (long long)r->seconds);
    arena_close(arena);
}

TEST(expiry_rule, c3_own_ttl_takes_only_what_the_contract_says)
{
    const struct {
        const char *document;
        status_code want;
        int32_t ttl;
    } rows[] = {
        {"{}",                                             OK,      TTL_ABSENT},
        { "{'_id':1,'x':5}",                               OK,      TTL_ABSENT},
        { "{'ttl':-1}",                                    OK,      TTL_NEVER },
        { "{'ttl':1}",                                     OK,      1         },
        { "{'a':1,'ttl':60,'b':2}",                        OK,      60        },
        { "{'ttl':{'$numberLong':'60'}}",                  OK,      60        },
        { "{'ttl':2147483647}",                            OK,      2147483647},
        { "{'in':{'ttl':5}}",                              OK,      TTL_ABSENT},
        { "{'TTL':5}",                                     OK,      TTL_ABSENT},
        { "{'ttl':0}",                                     INVALID, 0         },
        { "{'ttl':-2}",                                    INVALID, 0         },
        { "{'ttl':1.5}",                                   INVALID, 0         },
        { "{'ttl':-1.5}",                                  INVALID, 0         },
        { "{'ttl':'60'}",                                  INVALID, 0         },
        { "{'ttl':true}",                                  INVALID, 0         },
        { "{'ttl':null}",                                  INVALID, 0         },
        { "{'ttl':{}}",                                    INVALID, 0         },
        { "{'ttl':[60]}",                                  INVALID, 0         },
        { "{'ttl':2147483648}",                            INVALID, 0         },
        { "{'ttl':{'$numberLong':'9223372036854775807'}}", INVALID, 0         },
        { "{'ttl':{'$numberLong':'-4294967295'}}",         INVALID, 0         },
        { "{'ttl':1e300}",                                 INVALID, 0         },
        { "{'ttl':{'$numberDouble':'NaN'}}",               INVALID, 0         },
        { "{'ttl':@0}",                                    INVALID, 0         },
    };
    struct arena *arena = arena_open(1 << 20);
    EACH_ROW(rows, r) {
        int32_t ttl = 12345;
        const status s = expiry_own_ttl(arena, world_document(arena, r->document), &ttl);
        CHECK_EQ(s.code, r->want, "C-3 %s: %s", r->document, s.message);
        if (r->want == OK)
            CHECK_EQ(ttl, r->ttl, "C-3 %s", r->document);
        else
            CHECK_THAT(strstr(s.message, "ttl") != NULL, "no hint in \"%s\"", s.message);
    }
    arena_close(arena);
}

/* ---- dead is for ever ---------------------------------------------------------------------------------- */

TEST(expiry_rule, b5_who_died_under_the_old_default_stays_dead_under_the_new)
{
    const int32_t changes[] = { 1000, 2147483647, TTL_NEVER, TTL_OFF };
    EACH_ROW(changes, next) {
        struct expiry_policy policy = policy_of(10);
        const time_ms now = 100000;
        expiry_settle_default(&policy, now);
        policy.default_ttl = *next;

        const struct stamp dead = stamp_of(90, TTL_ABSENT);
        const struct stamp alive = stamp_of(91, TTL_ABSENT);
        CHECK_EQ(expiry_judge(&policy, &dead, now), DEAD, "default becomes %d", *next);
        CHECK_EQ(expiry_judge(&policy, &dead, 0), DEAD, "and the clock is stepped back");
        CHECK_EQ(expiry_judge(&policy, &alive, now), ALIVE, "default becomes %d", *next);
    }
}

TEST(expiry_rule, b5_who_died_of_its_own_ttl_stays_dead_when_ttl_is_switched_off)
{
    struct expiry_policy policy = policy_of(TTL_NEVER);
    const struct stamp dead = stamp_of(90, 10);
    const struct stamp alive = stamp_of(90, 11);
    const struct stamp never = stamp_of(90, TTL_NEVER);

    expiry_settle_default(&policy, 100000);
    policy.default_ttl = TTL_OFF;
    CHECK_EQ(expiry_judge(&policy, &dead, 100000), DEAD, "");
    CHECK_EQ(expiry_judge(&policy, &alive, 100000), ALIVE, "");
    CHECK_EQ(expiry_judge(&policy, &alive, 200000), ALIVE, "C-7 off: its ttl is not interpreted");
    CHECK_EQ(expiry_judge(&policy, &never, 200000), ALIVE, "");
}

TEST(expiry_rule, c7_switching_on_again_counts_from_each_write)
{
    struct expiry_policy policy = policy_of(TTL_OFF);
    const struct stamp own = stamp_of(90, 10);
    const struct stamp inheriting = stamp_of(90, TTL_ABSENT);

    expiry_settle_default(&policy, 500000);
    CHECK_EQ(expiry_judge(&policy, &own, 500000), ALIVE, "off");
    policy.default_ttl = 20;
    CHECK_EQ(expiry_judge(&policy, &own, 99999), ALIVE, "on, one ms before");
    CHECK_EQ(expiry_judge(&policy, &own, 100000), DEAD, "on, at the deadline");
    CHECK_EQ(expiry_judge(&policy, &inheriting, 109999), ALIVE, "on, one ms before");
    CHECK_EQ(expiry_judge(&policy, &inheriting, 110000), DEAD, "on, at the deadline");
}

TEST(expiry_rule, b5_settling_twice_never_lowers_a_horizon)
{
    struct expiry_policy policy = policy_of(10);
    expiry_settle_default(&policy, 100000);
    const time_ms inheriting = policy.inheriting_horizon;
    const time_ms own = policy.own_horizon;

    policy.default_ttl = 1000;
    expiry_settle_default(&policy, 100001);
    CHECK(policy.inheriting_horizon >= inheriting);
    CHECK(policy.own_horizon >= own);
    policy.default_ttl = TTL_OFF;
    expiry_settle_default(&policy, 100002);
    CHECK(policy.inheriting_horizon >= inheriting);
    CHECK(policy.own_horizon >= own);
}

TEST(expiry_rule, b5_settling_kills_nobody_who_lived)
{
    const int32_t defaults[] = { 1, 10, TTL_NEVER, TTL_OFF, 2147483647 };
    EACH_ROW(defaults, dflt) {
        struct expiry_policy before = policy_of(*dflt);
        struct expiry_policy after = before;
        expiry_settle_default(&after, 100500);
        for (int64_t at = 80; at <= 100; at++) {
            const struct stamp stamps[] = { stamp_of(at, TTL_ABSENT), stamp_of(at, TTL_NEVER),
                                            stamp_of(at, 1), stamp_of(at, 10) };
            EACH_ROW(stamps, stamp)
                CHECK_EQ(expiry_judge(&after, stamp, 100500), expiry_judge(&before, stamp, 100500),
                         "default %d, written at %lld, own %d", *dflt, (long long)at,
                         stamp->own_ttl);
        }
    }
}

/* ---- dates ---------------------------------------------------------------------------------------------- */

struct dated {
    struct arena *arena;
    const struct path *path;
    struct date_rule rules[2];
    struct expiry_policy policy;
    uint8_t packed[2 * STAMP_DATE_BYTES];
    struct stamp stamp;
};

/* A collection with TTL off and one acting rule on `at` with this ttl; a document, written at second 0
 * as number 10, that carries this date. */
static struct dated *dated(struct dated *d, int64_t ttl_ms, time_ms date)
{
    *d = (struct dated){ .arena = arena_open(1 << 20), .policy = policy_of(TTL_OFF) };
    CHECK_OK(path_parse(d->arena, BYTES_LITERAL("at"), &d->path));
    d->rules[0] = (struct date_rule){
        .number = 3,
        .is_acting = true,
        .index_id = 7,
        .ttl_ms = ttl_ms,
        .created_seq = 5,
        .retired_seq = UINT64_MAX,
        .path = d->path,
    };
    d->policy.rules = d->rules;
    d->policy.rule_count = 1;
    stamp_pack_date(d->packed, 3, date);
    d->stamp = (struct stamp){
        .seq = 10,
        .own_ttl = TTL_ABSENT,
        .dates = bytes_of(d->packed, STAMP_DATE_BYTES),
    };
    d->stamp.lane = expiry_choose_lane(&d->policy, &d->stamp);
    return d;
}

static enum verdict judge_dated(struct dated *d, time_ms now)
{
    return expiry_judge(&d->policy, &d->stamp, now);
}

static void end(struct dated *d)
{
    arena_close(d->arena);
}

TEST(expiry_rule, m1_a_date_and_its_seconds_make_the_deadline_in_milliseconds)
{
    const struct {
        const char *why;
        int64_t ttl_ms;
        time_ms date, now;
        enum verdict want;
    } rows[] = {
        {"M-1 ten seconds, one ms before",        10000,         5123,             15122,         ALIVE},
        { "M-1 ten seconds, at the deadline",     10000,         5123,             15123,         DEAD },
        { "M-1 ttl 0, one ms before the date",    0,             5123,             5122,          ALIVE},
        { "M-1 ttl 0, at the date",               0,             5123,             5123,          DEAD },
        { "M-3 before 1970, one ms before",       10000,         -5123,            4876,          ALIVE},
        { "M-3 before 1970, at the deadline",     10000,         -5123,            4877,          DEAD },
        { "M-3 after 2038, one ms before",        1000,          2200000000000,    2200000000999, ALIVE},
        { "M-3 after 2038, at the deadline",      1000,          2200000000000,    2200000001000, DEAD },
        { "M-3 the earliest date there is",       2147483647000, INT64_MIN,        0,             DEAD },
        { "M-3 the latest date there is",         2147483647000, INT64_MAX,        4000000000000, ALIVE},
        { "M-3 the latest date, ttl 0",           0,             INT64_MAX,        4000000000000, ALIVE},
        { "M-3 a sum past the end of time",       2147483647000, INT64_MAX - 1000, 4000000000000, ALIVE},
        { "M-1 the largest ttl, one ms before",   2147483647000, 1000,             2147483647999, ALIVE},
        { "M-1 the largest ttl, at the deadline", 2147483647000, 1000,             2147483648000, DEAD },
    };
    EACH_ROW(rows, r) {
        struct dated d;
        CHECK_EQ(judge_dated(dated(&d, r->ttl_ms, r->date), r->now), r->want, "%s", r->why);
        end(&d);
    }
}

TEST(expiry_rule, m3_a_document_without_a_date_never_dies_by_a_date_rule)
{
    struct dated d;
    dated(&d, 0, 0);
    d.stamp.dates = BYTES_NONE;
    d.stamp.lane = expiry_choose_lane(&d.policy, &d.stamp);
    CHECK_EQ(judge_dated(&d, 4000000000000), ALIVE, "no date");
    CHECK_EQ(d.stamp.lane, LANE_INHERITING, "");
    end(&d);
}

TEST(expiry_rule, m9_of_several_date_rules_the_first_to_fall_due_wins)
{
    struct dated d;
    dated(&d, 10000, 5000);
    d.rules[1] = d.rules[0];
    d.rules[1].number = 4;
    d.rules[1].ttl_ms = 1000;
    d.policy.rule_count = 2;
    stamp_pack_date(d.packed + STAMP_DATE_BYTES, 4, 9000);
    d.stamp.dates = bytes_of(d.packed, sizeof(d.packed));
    d.stamp.lane = expiry_choose_lane(&d.policy, &d.stamp);

    CHECK_EQ(d.stamp.lane, LANE_DATES + 4, "9000 + 1000 comes before 5000 + 10000");
    CHECK_EQ(judge_dated(&d, 9999), ALIVE, "");
    CHECK_EQ(judge_dated(&d, 10000), DEAD, "");
    d.rules[1].is_acting = false;
    CHECK_EQ(judge_dated(&d, 10000), ALIVE, "M-4 that rule is switched off");
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "the other one acts");
    end(&d);
}

TEST(expiry_rule, a_document_dies_at_the_earliest_of_all_its_deadlines)
{
    struct dated d;
    dated(&d, 10000, 5000);
    d.policy.default_ttl = 12;
    CHECK_EQ(judge_dated(&d, 11999), ALIVE, "");
    CHECK_EQ(judge_dated(&d, 12000), DEAD, "the default comes first");
    d.policy.default_ttl = 60;
    CHECK_EQ(judge_dated(&d, 14999), ALIVE, "");
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "the date comes first");
    d.stamp.own_ttl = TTL_NEVER;
    CHECK_EQ(judge_dated(&d, 14999), ALIVE, "");
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "ttl -1 saves nobody from a date rule");
    d.stamp.own_ttl = 3;
    CHECK_EQ(judge_dated(&d, 2999), ALIVE, "");
    CHECK_EQ(judge_dated(&d, 3000), DEAD, "its own ttl comes first");
    end(&d);
}

TEST(expiry_rule, m4_nobody_dies_by_a_rule_that_does_not_act)
{
    struct dated d;
    dated(&d, 10000, 5000);
    d.rules[0].is_acting = false;
    CHECK_EQ(judge_dated(&d, 4000000000000), ALIVE, "");
    CHECK_EQ(expiry_deadline(&d.policy, &d.stamp, BYTES_NONE, d.arena), TIME_NEVER, "");
    end(&d);
}

TEST(expiry_rule, b5_a_date_rule_that_was_settled_keeps_its_dead_and_lets_the_living_live)
{
    struct dated d;
    dated(&d, 10000, 5000);
    CHECK(expiry_settle_rule(&d.rules[0], 20, 15000));

    d.rules[0].ttl_ms = 1000000;
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "raised");
    d.rules[0].is_acting = false;
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "switched off");
    CHECK_EQ(judge_dated(&d, 0), DEAD, "the clock is stepped back");
    d.rules[0].retired_seq = 20;
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "dropped");

    stamp_pack_date(d.packed, 3, 5001);
    CHECK_EQ(judge_dated(&d, 15000), ALIVE, "one ms younger: it lived when the rule was changed");
    end(&d);
}

TEST(expiry_rule, b5_a_document_written_after_the_change_is_judged_by_the_new_rule_alone)
{
    struct dated d;
    dated(&d, 10000, 5000);
    CHECK(expiry_settle_rule(&d.rules[0], 20, 15000));
    d.rules[0].ttl_ms = 1000000;
    d.stamp.seq = 20;
    CHECK_EQ(judge_dated(&d, 15000), DEAD, "the last write before the change");
    d.stamp.seq = 21;
    CHECK_EQ(judge_dated(&d, 15000), ALIVE, "the first write after it, same date");
    CHECK_EQ(judge_dated(&d, 1004999), ALIVE, "");
    CHECK_EQ(judge_dated(&d, 1005000), DEAD, "");
    end(&d);
}

TEST(expiry_rule, b5_settling_a_date_rule_kills_nobody_who_lived)
{
    for (time_ms date = 4990; date <= 5010; date++) {
        struct dated d;
        dated(&d, 10000, date);
        const enum verdict before = judge_dated(&d, 15000);
        CHECK(expiry_settle_rule(&d.rules[0], 20, 15000));
        CHECK_EQ(judge_dated(&d, 15000), before, "date %lld", (long long)date);
        d.rules[0].is_acting = false;
        CHECK_EQ(judge_dated(&d, 15000), before, "date %lld, off", (long long)date);
        end(&d);
    }
}

TEST(expiry_rule, a_date_rule_has_room_for_many_changes_and_says_when_it_is_full)
{
    struct dated d;
    size_t settled = 0;
    dated(&d, 1000000, 5000);
    /* Each change lowers the horizon: none covers another. */
    while (settled < 1000 && expiry_settle_rule(&d.rules[0], 20 + settled, 2000000)) {
        d.rules[0].ttl_ms += 1000;
        settled++;
    }
    CHECK_EQ(settled, LIMIT_RULE_HORIZONS, "");
    CHECK_EQ(d.rules[0].horizon_count, LIMIT_RULE_HORIZONS, "");
    end(&d);
}

TEST(expiry_rule, a_horizon_that_covers_older_ones_takes_their_place)
{
    struct dated d;
    dated(&d, 10000, 5000);
    for (uint64_t i = 0; i < 1000; i++)
        CHECK(expiry_settle_rule(&d.rules[0], 20 + i, (time_ms)(15000 + i)));
    CHECK_EQ(d.rules[0].horizon_count, 1, "");
    CHECK_EQ(judge_dated(&d, 0), DEAD, "");
    end(&d);
}

/* The same with a document that is older than the rule. */
static struct dated *dated_older(struct dated *d, int64_t ttl_ms)
{
    dated(d, ttl_ms, 0);
    d->stamp.seq = 5;
    d->stamp.dates = BYTES_NONE;
    d->stamp.lane = LANE_INHERITING;
    return d;
}

TEST(expiry_rule, m5_a_document_older_than_the_rule_is_judged_by_its_field)
{
    struct dated d;
    dated_older(&d, 10000);
    const bytes due = world_document(d.arena, "{'at':@0}");
    const bytes dateless = world_document(d.arena, "{'at':'soon'}");
    const time_ms deadline = WORLD_START + 10000;

    CHECK_EQ(judge_dated(&d, deadline), UNDECIDED, "the stamp does not know");
    CHECK_EQ(expiry_judge_document(&d.policy, &d.stamp, due, d.arena, deadline - 1), ALIVE, "");
    CHECK_EQ(expiry_judge_document(&d.policy, &d.stamp, due, d.arena, deadline), DEAD, "");
    CHECK_EQ(expiry_judge_document(&d.policy, &d.stamp, dateless, d.arena, deadline), ALIVE, "");
    CHECK_EQ(expiry_deadline(&d.policy, &d.stamp, due, d.arena), deadline, "");
    CHECK_EQ(expiry_deadline(&d.policy, &d.stamp, dateless, d.arena), TIME_NEVER, "");
    CHECK(expiry_is_foreign(&d.policy, &d.stamp, due, d.arena));
    CHECK(!expiry_is_foreign(&d.policy, &d.stamp, dateless, d.arena));
    end(&d);
}

TEST(expiry_rule, m5_a_dead_stamp_needs_no_look_at_the_document)
{
    struct dated d;
    dated_older(&d, 10000);
    d.policy.default_ttl = 3;
    CHECK_EQ(judge_dated(&d, 2999), UNDECIDED, "");
    CHECK_EQ(judge_dated(&d, 3000), DEAD, "");
    end(&d);
}

TEST(expiry_rule, m2_m3_the_earliest_date_that_a_path_reaches)
{
    const struct {
        const char *path, *document;
        int64_t want; /* offset from WORLD_START; -1: none */
    } rows[] = {
        {"at",      "{'at':@5000}",                                                        5000},
        { "at",     "{'at':[@9000,@5000,@7000]}",                                          5000},
        { "at",     "{'at':['x',7,null,@7000,{'$oid':'65e0f0000000000000000000'},@8000]}", 7000},
        { "at",     "{'at':[]}",                                                           -1  },
        { "at",     "{'at':['x',7,null]}",                                                 -1  },
        { "at",     "{'x':@5000}",                                                         -1  },
        { "at",     "{'at':null}",                                                         -1  },
        { "at",     "{'at':5000}",                                                         -1  },
        { "at",     "{'at':'2026-03-01'}",                                                 -1  },
        { "at",     "{'at':true}",                                                         -1  },
        { "at",     "{'at':{'$oid':'65e0f0000000000000000000'}}",                          -1  },
        { "at",     "{'at':{'$timestamp':{'t':5,'i':1}}}",                                 -1  },
        { "at",     "{'at':{'when':@5000}}",                                               -1  },
        { "at",     "{'at':[[@5000]]}",                                                    -1  },
        { "a.at",   "{'a':{'at':@5000}}",                                                  5000},
        { "a.at",   "{'a':[{'at':@9000},{'at':@5000},{'x':1},7]}",                         5000},
        { "a.at",   "{'a':[{'at':[@9000,@6000]},{'at':@7000}]}",                           6000},
        { "a.at",   "{'a':[{'x':1},{'at':'x'}]}",                                          -1  },
        { "a.b.at", "{'a':[{'b':[{'at':@8000}]},{'b':{'at':@7000}}]}",                     7000},
    };
    struct arena *arena = arena_open(1 << 20);
    EACH_ROW(rows, r) {
        const struct path *path;
        time_ms date = 0;
        CHECK_OK(path_parse(arena, bytes_of_text(r->path), &path));
        const bool has = expiry_earliest_date(path, world_document(arena, r->document), arena,
                                              &date);
        CHECK_EQ(has, r->want >= 0, "%s in %s", r->path, r->document);
        if (has)
            CHECK_EQ(date - WORLD_START, r->want, "%s in %s", r->path, r->document);
    }
    arena_close(arena);
}

TEST(expiry_rule, m3_dates_at_both_ends_of_time_are_found)
{
    const char *documents[] = { "{'at':{'$date':{'$numberLong':'-9223372036854775808'}}}",
                                "{'at':{'$date':{'$numberLong':'9223372036854775807'}}}",
                                "{'at':{'$date':{'$numberLong':'-1'}}}" };
    const time_ms want[] = { INT64_MIN, INT64_MAX, -1 };
    struct arena *arena = arena_open(1 << 20);
    const struct path *path;
    CHECK_OK(path_parse(arena, BYTES_LITERAL("at"), &path));
    for (size_t i = 0; i < ARRAY_COUNT(documents); i++) {
        time_ms date = 0;
        CHECK(expiry_earliest_date(path, world_document(arena, documents[i]), arena, &date));
        CHECK_EQ(date, want[i], "");
    }
    arena_close(arena);
}

/* ---- lanes ------------------------------------------------------------------------------------------------ */

TEST(expiry_rule, a_lane_is_ordered_by_what_ends_its_documents)
{
    const struct {
        int32_t own;
        unsigned lane;
        time_ms order;
    } rows[] = {
        {TTL_ABSENT, LANE_INHERITING, 1000000},
        { 5,         LANE_OWN,        1005000},
        { TTL_NEVER, LANE_NEVER,      1000000},
    };
    const int32_t defaults[] = { TTL_OFF, TTL_NEVER, 9 };
    EACH_ROW(rows, r) {
        const struct stamp stamp = stamp_of(1000, r->own);
        EACH_ROW(defaults, dflt) {
            const struct expiry_policy policy = policy_of(*dflt);
            CHECK_EQ(expiry_choose_lane(&policy, &stamp), r->lane, "own %d", r->own);
        }
        CHECK_EQ(expiry_order(&stamp), r->order, "own %d", r->own);
    }
    struct dated d;
    dated(&d, 10000, -77);
    CHECK_EQ(d.stamp.lane, LANE_DATES + 3, "");
    CHECK_EQ(expiry_order(&d.stamp), -77, "");
    end(&d);
}

/* What the horizon of a lane says and what the judge says about a document in it must be the same. */
static void compare_with_horizon(const struct expiry_policy *policy, const struct stamp *stamp,
                                 time_ms now)
{
    const time_ms order = expiry_order(stamp);
    const bool is_below = order <= expiry_lane_horizon(policy, stamp->lane, now);
    const bool is_due = expiry_is_due(expiry_lane_deadline(policy, stamp->lane, order), now);
    const bool is_dead = expiry_judge(policy, stamp, now) == DEAD;

    CHECK_EQ(is_below, is_dead, "lane %u, order %lld, now %lld", stamp->lane, (long long)order,
             (long long)now);
    CHECK_EQ(is_due, is_dead, "lane %u, order %lld, now %lld", stamp->lane, (long long)order,
             (long long)now);
}

TEST(expiry_rule, b1_the_horizon_of_a_lane_and_the_judge_agree)
{
    const int32_t defaults[] = { TTL_OFF, TTL_NEVER, 1, 9, 2147483647 };
    const int32_t owns[] = { TTL_ABSENT, TTL_NEVER, 1, 9, 2147483647 };
    const time_ms moments[] = { 999999,  1000000, 1000999,       1001000,       1008999,
                                1009000, 1009001, 2148483646999, 2148483647000, 2148483647001 };
    EACH_ROW(defaults, dflt) {
        const struct expiry_policy policy = policy_of(*dflt);
        EACH_ROW(owns, own) {
            const struct stamp stamp = stamp_of(1000, *own);
            EACH_ROW(moments, now)
                compare_with_horizon(&policy, &stamp, *now);
        }
    }
    const time_ms dates[] = { INT64_MIN, -1001, -1, 0, 999, 5000, INT64_MAX - 1, INT64_MAX };
    EACH_ROW(dates, date) {
        struct dated d;
        dated(&d, 1000, *date);
        EACH_ROW(moments, now)
            if (d.stamp.lane >= LANE_DATES)
                compare_with_horizon(&d.policy, &d.stamp, *now);
        end(&d);
    }
}

TEST(expiry_rule, a_second_of_a_lane_is_dead_when_all_that_may_lie_in_it_is)
{
    const struct {
        unsigned lane;
        time_ms horizon;
        int64_t want;
    } rows[] = {
        {LANE_INHERITING,  5000,      5        },
        { LANE_INHERITING, 5999,      5        },
        { LANE_INHERITING, 4999,      4        },
        { LANE_OWN,        5000,      5        },
        { LANE_OWN,        5999,      5        },
        { LANE_DATES,      4998,      3        },
        { LANE_DATES,      4999,      4        },
        { LANE_DATES,      5000,      4        },
        { LANE_DATES,      5998,      4        },
        { LANE_DATES,      5999,      5        },
        { LANE_DATES,      -1,        -1       },
        { LANE_DATES,      -2,        -2       },
        { LANE_DATES,      -1000,     -2       },
        { LANE_DATES,      -1001,     -2       },
        { LANE_DATES,      -1002,     -3       },
        { LANE_INHERITING, INT64_MIN, INT64_MIN},
        { LANE_DATES,      INT64_MIN, INT64_MIN},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(expiry_last_dead_second(r->lane, r->horizon), r->want, "lane %u, horizon %lld",
                 r->lane, (long long)r->horizon);
}

TEST(expiry_rule, only_a_document_that_another_rule_ends_first_is_foreign_in_its_lane)
{
    struct dated d;
    dated(&d, 10000, 5000);
    CHECK(!expiry_is_foreign(&d.policy, &d.stamp, BYTES_NONE, d.arena));
    d.policy.default_ttl = 60;
    CHECK(!expiry_is_foreign(&d.policy, &d.stamp, BYTES_NONE, d.arena));
    d.policy.default_ttl = 3;
    CHECK(expiry_is_foreign(&d.policy, &d.stamp, BYTES_NONE, d.arena));
    d.policy.default_ttl = TTL_OFF;
    d.rules[0].is_acting = false;
    CHECK(!expiry_is_foreign(&d.policy, &d.stamp, BYTES_NONE, d.arena));
    end(&d);
}

TEST(expiry_rule, packed_dates_come_back_as_they_went_in)
{
    const time_ms dates[] = { INT64_MIN, -1, 0, 1, 255, 256, WORLD_START, INT64_MAX };
    EACH_ROW(dates, date) {
        uint8_t packed[3 * STAMP_DATE_BYTES];
        stamp_pack_date(packed, 0, 42);
        stamp_pack_date(packed + STAMP_DATE_BYTES, 63, *date);
        stamp_pack_date(packed + 2 * STAMP_DATE_BYTES, 7, -42);
        const struct stamp stamp = { .dates = bytes_of(packed, sizeof(packed)) };
        time_ms back = 1;
        CHECK(stamp_date(&stamp, 63, &back));
        CHECK_EQ(back, *date, "");
        CHECK(stamp_date(&stamp, 7, &back));
        CHECK_EQ(back, -42, "");
        CHECK(!stamp_date(&stamp, 8, &back));
    }
}
