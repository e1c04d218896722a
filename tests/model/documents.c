/* The model test: thousands of random operations on an engine and on the naive model, compared after
 * every one. What is done follows from the seed alone; a failure prints seed, step and the last
 * operations, and SEED=n replays it.
 *
 * After each step: no answer shows a dead document, none misses a living one. Every so often the whole
 * state is compared and the engine checks itself; and after a quiet hour nothing dead is left. */
#include "tests/support/model_run.h"

#include <inttypes.h>
#include <stdio.h>

enum { STEPS = 3000, COMPARE_EVERY = 150, QUIET_EVERY = 600 };

/* ---- random things ---------------------------------------------------------------------------------------- */

static bool chance(struct model *m, unsigned percent)
{
    return random_chance(&m->random, percent) != 0;
}

static int32_t random_default_ttl(struct model *m)
{
    const size_t kind = model_below(m, 10);
    if (kind < 2)
        return TTL_OFF;
    if (kind < 4)
        return TTL_NEVER;
    return (int32_t)(kind == 9 ? model_between(m, 1000, 2147483647) : model_between(m, 1, 60));
}

/* Mostly around now, sometimes at the ends of time. */
static int64_t random_date(struct model *m)
{
    const int64_t ends[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MAX - 1000, -62135596800000 };
    if (chance(m, 2))
        return ends[model_below(m, ARRAY_COUNT(ends))];
    return m->now + model_between(m, -40000, 60000);
}

static struct naive_body random_body(struct model *m)
{
    struct naive_body body = {
        .id = (int)model_below(m, NAIVE_IDS),
        .x = (int)model_below(m, 4),
        .has_u = chance(m, 40),
        .u = (int)model_below(m, 12),
        .is_tag_alone = chance(m, 20),
        .tag_count = model_below(m, NAIVE_LIST + 1),
        .at_kind = (enum naive_dates)(chance(m, 40) ? model_between(m, ONE_DATE, NOT_A_DATE)
                                                    : NO_DATES),
        .when_count = chance(m, 30) ? 1 + model_below(m, NAIVE_LIST) : 0,
        .is_flagged = chance(m, 60),
        .own_ttl = TTL_ABSENT,
        .padding = (int)model_below(m, 40),
    };
    if (body.is_tag_alone)
        body.tag_count = 1;
    body.at_count = body.at_kind == LIST_OF_DATES ? 1 + model_below(m, NAIVE_LIST) : 1;
    for (size_t i = 0; i < NAIVE_LIST; i++) {
        body.tags[i] = (int)model_below(m, 6);
        body.at[i] = random_date(m);
        body.when[i] = random_date(m);
    }
    if (chance(m, 45))
        body.own_ttl = chance(m, 30) ? TTL_NEVER : (int32_t)model_between(m, 1, 40);
    return body;
}

static enum write_kind random_kind(struct model *m)
{
    const enum write_kind kinds[] = { WRITE_INSERT, WRITE_INSERT,  WRITE_INSERT, WRITE_REPLACE,
                                      WRITE_UPSERT, WRITE_REPLACE, WRITE_UPSERT, WRITE_DELETE };
    return kinds[model_below(m, ARRAY_COUNT(kinds))];
}

static size_t random_collection(struct model *m)
{
    size_t at = model_below(m, MODEL_COLLECTIONS);
    for (size_t i = 0; i < MODEL_COLLECTIONS && !m->collections[at].is_there; i++)
        at = (at + 1) % MODEL_COLLECTIONS;
    return at;
}

static const char *kind_name(enum write_kind kind)
{
    const char *const names[] = { "insert", "replace", "upsert", "delete" };
    return names[kind];
}

/* ---- collections ---------------------------------------------------------------------------------------- */

static void create_collection(struct model *m, size_t collection)
{
    struct naive_collection *c = &m->collections[collection];
    c->is_there = true;
    c->default_ttl = random_default_ttl(m);
    for (enum naive_index index = NAIVE_X; index < NAIVE_INDEXES; index++)
        c->indexes[index] = (struct naive_index_state){ .expire_after_s = INDEX_NO_EXPIRY };
    model_note(m, "create collection %s, default ttl %d", c->name, c->default_ttl);
    world_collection_parted(&m->w, c->name, c->default_ttl, "", c->is_parted ? "p" : "");
    if (collection == 0)
        model_read_deaths(m);
}

static void drop_collection(struct model *m, size_t collection)
{
    struct naive_collection *c = &m->collections[collection];
    model_note(m, "drop collection %s", c->name);
    CHECK_OK(collection_drop(m->w.engine, m->w.arena, BYTES_LITERAL("db"), bytes_of_text(c->name)));
    model_forget(m, collection);
    c->is_there = false;
}

/* Makes one that is missing, or drops one that is not the last. */
static void step_collections(struct model *m)
{
    const size_t at = model_below(m, MODEL_COLLECTIONS);
    size_t count = 0;
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++)
        count += m->collections[i].is_there;
    if (!m->collections[at].is_there)
        create_collection(m, at);
    else if (count > 1 && chance(m, 20))
        drop_collection(m, at);
}

/* A change may be refused while too many older ones wait to be cleaned up behind; then the purger is
 * called and the change left for another time. */
static bool was_changed(struct model *m, status s)
{
    if (s.code == BUSY || s.code == TOO_LARGE) {
        model_note(m, "    refused: %s", s.message);
        world_purge(&m->w);
        return false;
    }
    CHECK_OK(s);
    return true;
}

static void learn_states(struct model *m);

static void step_default_ttl(struct model *m)
{
    struct naive_collection *c = &m->collections[random_collection(m)];
    const int32_t ttl = random_default_ttl(m);
    model_note(m, "default ttl of %s becomes %d", c->name, ttl);
    if (was_changed(m, world_set_ttl(&m->w, c->name, ttl)))
        c->default_ttl = ttl;
    learn_states(m); /* switching it on builds lazy indexes again */
}

static void step_date_rules(struct model *m)
{
    const bool do_act = !m->do_dates_act;
    model_note(m, "date rules %s", do_act ? "on" : "off");
    if (was_changed(m, world_date_rules(&m->w, do_act)))
        m->do_dates_act = do_act;
}

/* ---- indexes ---------------------------------------------------------------------------------------------- */

static bool has_duplicates(const struct naive_collection *c)
{
    struct naive_collection copy = *c;
    copy.indexes[NAIVE_U].is_there = true;
    for (int id = 0; id < NAIVE_IDS; id++)
        if (c->documents[id].is_there && naive_holder(&copy, &c->documents[id].body) >= 0)
            return true;
    return false;
}

static enum index_state state_of(struct model *m, const struct naive_collection *c,
                                 enum naive_index index)
{
    struct request request = world_begin(&m->w);
    const struct index *found = collection_index(world_find(&request, c->name),
                                                 bytes_of_text(naive_index_name(index)));
    CHECK_THAT(found != NULL, "%s has no index %s", c->name, naive_index_name(index));
    const enum index_state state = found->state;
    world_end(&request);
    return state;
}

static void drop_index(struct model *m, size_t collection, enum naive_index index)
{
    struct naive_collection *c = &m->collections[collection];
    model_note(m, "drop index %s of %s", naive_index_name(index), c->name);
    if (!was_changed(m, world_index_drop(&m->w, c->name, naive_index_name(index))))
        return;
    c->indexes[index] = (struct naive_index_state){ .expire_after_s = INDEX_NO_EXPIRY };
    if (m->cursor.collection == collection && m->cursor.index == index)
        m->cursor.is_open = false;
}

/* How far a lazy index is, 1000 for the others. */
static unsigned progress_of(struct model *m, const struct naive_collection *c,
                            enum naive_index index)
{
    struct request request = world_begin(&m->w);
    const struct index *found = collection_index(world_find(&request, c->name),
                                                 bytes_of_text(naive_index_name(index)));
    const unsigned progress = index_progress_per_mille(found);
    world_end(&request);
    return progress;
}

static void build_indexes(struct model *m)
{
    model_note(m, "build indexes");
    CHECK_OK(engine_build_indexes(m->w.engine));
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++) {
        struct naive_collection *c = &m->collections[i];
        for (enum naive_index index = NAIVE_X; c->is_there && index < NAIVE_INDEXES; index++) {
            if (!c->indexes[index].is_there)
                continue;
            CHECK_EQ(progress_of(m, c, index), 1000, "%s of %s", naive_index_name(index), c->name);
            CHECK_EQ(state_of(m, c, index), INDEX_READY, "%s of %s", naive_index_name(index),
                     c->name);
            c->indexes[index].is_ready = true;
        }
    }
}

/* A unique index is built at once, while the model knows whether it can be. */
static void build_unique(struct model *m, size_t collection)
{
    struct naive_collection *c = &m->collections[collection];
    const bool can_be = !has_duplicates(c);
    model_note(m, "    build it; %s", can_be ? "it can be unique" : "documents clash");
    (void)engine_build_indexes(m->w.engine).code;
    CHECK_EQ(state_of(m, c, NAIVE_U), can_be ? INDEX_READY : INDEX_FAILED, "unique index of %s",
             c->name);
    c->indexes[NAIVE_U].is_there = c->indexes[NAIVE_U].is_ready = true;
    if (!can_be)
        drop_index(m, collection, NAIVE_U);
    build_indexes(m);
}

static void create_index(struct model *m, size_t collection, enum naive_index index)
{
    struct naive_collection *c = &m->collections[collection];
    struct naive_index_state *state = &c->indexes[index];
    char text[64];
    const int32_t ttl = naive_index_can_expire(index) && chance(m, 80)
                            ? (int32_t)model_between(m, 0, 60)
                            : INDEX_NO_EXPIRY;
    /* A TTL index that is finished first may end one of two documents that clash. */
    if (index == NAIVE_U) {
        build_indexes(m);
        model_settle(m);
    }
    snprintf(text, sizeof(text), "%s: %s ttl=%d", naive_index_name(index), naive_index_text(index),
             ttl);
    model_note(m, "create index %s in %s", text, c->name);
    if (!was_changed(m, world_index(&m->w, c->name, text)))
        return;
    *state = (struct naive_index_state){ .is_there = true, .expire_after_s = ttl };
    state->is_ready = state_of(m, c, index) == INDEX_READY;
    if (index == NAIVE_U && !state->is_ready)
        build_unique(m, collection);
    else if (chance(m, 50))
        build_indexes(m);
}

static void change_expiry(struct model *m, size_t collection, enum naive_index index)
{
    struct naive_collection *c = &m->collections[collection];
    const int32_t ttl = chance(m, 15) ? INDEX_NO_EXPIRY : (int32_t)model_between(m, 0, 60);
    model_note(m, "expiry of index %s of %s becomes %d s", naive_index_name(index), c->name, ttl);
    if (was_changed(m, world_set_expiry(&m->w, c->name, naive_index_name(index), ttl)))
        c->indexes[index].expire_after_s = ttl;
}

static void step_index(struct model *m)
{
    const size_t collection = random_collection(m);
    const enum naive_index index = (enum naive_index)model_below(m, NAIVE_INDEXES);
    if (!m->collections[collection].indexes[index].is_there)
        create_index(m, collection, index);
    else if (naive_index_can_expire(index) && chance(m, 75))
        change_expiry(m, collection, index);
    else if (chance(m, 50))
        drop_index(m, collection, index);
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

static struct write_op make_op(struct model *m, struct request *request,
                               const struct naive_collection *c, enum write_kind kind,
                               const struct naive_body *body)
{
    char text[2048];
    naive_text(body, text, sizeof(text));
    model_note(m, "%s in %s %s", kind_name(kind), c->name, text);
    return world_op(request, c->name, kind, "%s", text);
}

static void apply(struct model *m, size_t collection, const struct write_op *op,
                  const struct naive_body *body)
{
    struct naive_collection *c = &m->collections[collection];
    const struct naive_written written = { .seq = op->seq,
                                           .written_at_s = op->written_at_s,
                                           .len = op->document.len };
    const bool was_there = naive_apply(c, op->kind, body, &written);
    model_note(m, "    is write %" PRIu64, op->seq);
    CHECK_EQ(op->was_there, was_there, "%s: document %d was there", c->name, body->id);
    CHECK_EQ(op->written_at_s, m->now / 1000, "");
    if (op->kind != WRITE_DELETE)
        CHECK_EQ(op->birth_seq, c->documents[body->id].birth_seq, "document %d", body->id);
    model_touch(m, collection, body->id);
}

/* The version to ask for: mostly any, sometimes the right one, sometimes a wrong one. */
static uint64_t random_condition(struct model *m, const struct naive_document *document)
{
    if (chance(m, 80))
        return 0;
    return document->seq > 1 && chance(m, 70) ? document->seq : 1 + model_below(m, 1000);
}

static void step_write(struct model *m)
{
    const size_t collection = random_collection(m);
    struct naive_collection *c = &m->collections[collection];
    const struct naive_body body = random_body(m);
    const enum write_kind kind = random_kind(m);
    struct request request = world_begin(&m->w);
    struct write_op op = make_op(m, &request, c, kind, &body);
    op.if_seq = random_condition(m, &c->documents[body.id]);
    const status_code want = naive_decide(c, kind, &body, op.if_seq);
    const status s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    CHECK_EQ(s.code, want, "%s of document %d in %s, if version %" PRIu64 ": %s", kind_name(kind),
             body.id, c->name, op.if_seq, s.message);
    if (s.code == OK)
        apply(m, collection, &op, &body);
    world_end(&request);
}

static void step_batch(struct model *m)
{
    enum { MOST = 5 };
    const size_t collection = random_collection(m);
    struct naive_collection *c = &m->collections[collection];
    struct naive_collection scratch = *c;
    const enum write_mode mode = chance(m, 50) ? WRITE_EACH : WRITE_ALL_OR_NOTHING;
    const size_t count = 2 + model_below(m, MOST - 1);
    struct naive_body bodies[MOST];
    struct write_op ops[MOST];
    status_code want[MOST];
    status_code whole = OK;
    struct request request = world_begin(&m->w);

    model_note(m, "batch of %zu, %s:", count, mode == WRITE_EACH ? "each" : "all or nothing");
    for (size_t i = 0; i < count; i++) {
        bodies[i] = random_body(m);
        if (i > 0 && chance(m, 30))
            bodies[i].id = bodies[i - 1].id;
        ops[i] = make_op(m, &request, c, random_kind(m), &bodies[i]);
        want[i] = naive_decide(&scratch, ops[i].kind, &bodies[i], 0);
        if (want[i] == OK)
            naive_apply(&scratch, ops[i].kind, &bodies[i], &(struct naive_written){ .seq = 1 });
        else if (whole == OK && mode == WRITE_ALL_OR_NOTHING)
            whole = want[i];
    }
    const status s = document_write(&request, ops, count, mode);
    CHECK_EQ(s.code, whole, "%s", s.message);
    for (size_t i = 0; s.code == OK && i < count; i++) {
        CHECK_EQ(ops[i].outcome.code, want[i], "operation %zu: %s", i, ops[i].outcome.message);
        if (want[i] == OK)
            apply(m, collection, &ops[i], &bodies[i]);
    }
    world_end(&request);
}

/* ---- restarts and faults ---------------------------------------------------------------------------------- */

static void close_old(struct model *m)
{
    if (!m->old.is_open)
        return;
    world_end(&m->old.request);
    m->old.is_open = false;
}

/* Server time or its warning would be lost in a crash unless the clock is stored first. */
static bool is_clock_odd(const struct model *m)
{
    return atomic_load(&m->w.time.wall) < m->now || clock_is_leap_pending(m->w.clock);
}

static void restart(struct model *m, bool is_crash)
{
    const bool was_pending = clock_is_leap_pending(m->w.clock);
    model_note(m, "%s", is_crash ? "crash" : "restart");
    close_old(m);
    /* A running server stores its clock all the time; here it moves in leaps. */
    if (is_crash && is_clock_odd(m))
        CHECK_OK(engine_store_clock(m->w.engine));
    if (is_crash)
        world_crash(&m->w);
    else
        world_restart(&m->w);
    CHECK_EQ(clock_is_leap_pending(m->w.clock), was_pending, "a leap waits to be confirmed");
    model_settle_restart(m);
    model_read_deaths(m);
}

/* A write during which a storage call fails: it is done or not done, and the engine says which. */
static void step_faulty_write(struct model *m)
{
    if (is_clock_odd(m))
        return;
    const size_t collection = random_collection(m);
    struct naive_collection *c = &m->collections[collection];
    const struct naive_body body = random_body(m);
    const enum write_kind kind = random_kind(m);
    struct request request = world_begin(&m->w);
    struct write_op op = make_op(m, &request, c, kind, &body);
    const status_code want = naive_decide(c, kind, &body, 0);
    const uint64_t nth = 1 + model_below(m, 8);
    storage_faulty_arm(m->w.storage, nth);
    const status s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    const bool was_hit = storage_faulty_calls(m->w.storage) >= nth;
    storage_faulty_arm(m->w.storage, 0);
    storage_faulty_heal(m->w.storage);
    model_note(m, "    with storage call %" PRIu64 " failing: %s", nth, status_code_name(s.code));
    CHECK_THAT(s.code == want || (was_hit && (s.code == IO_ERROR || s.code == WRITES_STOPPED)),
               "is %s, want %s or a disk error: %s", status_code_name(s.code),
               status_code_name(want), s.message);
    if (s.code == OK)
        apply(m, collection, &op, &body);
    world_end(&request);
    if (was_hit)
        restart(m, true);
}

/* What a build that was stopped has finished, and what is built again, only the catalog knows. */
static void learn_states(struct model *m)
{
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++) {
        struct naive_collection *c = &m->collections[i];
        for (enum naive_index index = NAIVE_X; c->is_there && index < NAIVE_INDEXES; index++)
            if (c->indexes[index].is_there)
                c->indexes[index].is_ready = state_of(m, c, index) == INDEX_READY;
    }
}

/* A purge, a build or a change during which a storage call fails. */
static void step_faulty_upkeep(struct model *m)
{
    if (is_clock_odd(m))
        return;
    struct naive_collection *c = &m->collections[random_collection(m)];
    const uint64_t nth = 1 + model_below(m, 60);
    const size_t kind = model_below(m, 4);
    const int32_t ttl = random_default_ttl(m);
    struct purge_result result;
    status s;
    storage_faulty_arm(m->w.storage, nth);
    m->is_faulty = true;
    if (kind == 0)
        s = engine_build_indexes(m->w.engine);
    else if (kind == 1)
        s = world_set_ttl(&m->w, c->name, ttl);
    else
        s = engine_purge(m->w.engine, &result);
    m->is_faulty = false;
    const bool was_hit = storage_faulty_calls(m->w.storage) >= nth;
    storage_faulty_arm(m->w.storage, 0);
    storage_faulty_heal(m->w.storage);
    model_note(m, "%s with storage call %" PRIu64 " failing: %s",
               kind == 0   ? "build"
               : kind == 1 ? "new default ttl"
                           : "purge",
               nth, status_code_name(s.code));
    CHECK_THAT(s.code == OK || (was_hit && (s.code == IO_ERROR || s.code == WRITES_STOPPED)),
               "%s: %s", status_code_name(s.code), s.message);
    if (kind == 1 && s.code == OK)
        c->default_ttl = ttl;
    for (size_t i = 0; s.code != OK && i < m->death_count; i++)
        m->deaths[i].may_repeat = m->deaths[i].is_heard;
    if (was_hit)
        restart(m, true);
    learn_states(m);
}

/* ---- time --------------------------------------------------------------------------------------------------- */

static void step_pass(struct model *m)
{
    const size_t kind = model_below(m, 20);
    int64_t by_ms = model_between(m, 0, 900);
    if (kind < 6)
        by_ms = model_between(m, 0, 3) * 1000;
    else if (kind < 10)
        by_ms = model_between(m, 1000, 15000);
    else if (kind == 10)
        by_ms = model_between(m, 20, 70) * 1000;
    else if (kind == 11 && chance(m, 20))
        by_ms = model_between(m, 1, 48) * 3600 * 1000;
    model_note(m, "%" PRId64 " ms pass", by_ms);
    world_pass(&m->w, by_ms);
}

static void step_clock(struct model *m)
{
    const size_t kind = model_below(m, 6);
    const time_ms wall = atomic_load(&m->w.time.wall);
    if (kind < 2) {
        const int64_t by_ms = LIMIT_CLOCK_LEAP_MS + model_between(m, 1, 3600000);
        model_note(m, "the wall clock leaps by %" PRId64 " ms", by_ms);
        manual_time_set_wall(&m->w.time, wall + by_ms);
    } else if (kind < 3) {
        const int64_t by_ms = model_between(m, 1, 20000);
        model_note(m, "the wall clock steps back by %" PRId64 " ms", by_ms);
        manual_time_set_wall(&m->w.time, wall - by_ms);
    } else {
        model_note(m, "the clock is confirmed");
        CHECK_OK(engine_confirm_clock(m->w.engine));
    }
}

static void step_purge(struct model *m)
{
    const bool is_frozen = clock_is_leap_pending(m->w.clock);
    const struct purge_result result = world_purge(&m->w);
    model_note(m, "purge: %" PRIu64 " documents, %" PRIu64 " cuts, %" PRIu64 " reaped%s",
               result.documents, result.truncations, result.reaped,
               result.is_frozen ? ", frozen" : "");
    CHECK_EQ(result.is_frozen, is_frozen, "");
    if (is_frozen)
        CHECK_EQ(result.documents, 0, "purged although the clock has leapt");
}

/* ---- requests and scans that last ------------------------------------------------------------------------ */

static void step_old(struct model *m)
{
    if (m->old.is_open) {
        model_note(m, "look through the old request, end it");
        model_compare_old(m);
        close_old(m);
        return;
    }
    model_note(m, "begin a request that stays open");
    m->old.request = world_begin(&m->w);
    m->old.is_open = true;
    memcpy(m->old.seen, m->collections, sizeof(m->old.seen));
    memset(m->old.is_touched, 0, sizeof(m->old.is_touched));
}

static void open_cursor(struct model *m)
{
    struct model_cursor *cursor = &m->cursor;
    const size_t collection = random_collection(m);
    const enum naive_index index = (enum naive_index)model_below(m, NAIVE_INDEXES + 1);
    const struct naive_collection *c = &m->collections[collection];
    if (!naive_index_has_rows(index) || naive_index_is_lazy(index) ||
        (index != NAIVE_INDEXES && !c->indexes[index].is_ready))
        return;
    cursor->is_open = true;
    cursor->collection = collection;
    cursor->index = index;
    cursor->is_reverse = chance(m, 30);
    cursor->after = BYTES_NONE;
    arena_reset(cursor->memory);
    memset(cursor->given, 0, sizeof(cursor->given));
    for (int id = 0; id < NAIVE_IDS; id++)
        cursor->is_steady[id] = c->documents[id].is_there;
    model_note(m, "open a cursor on %s by %s", c->name,
               index == NAIVE_INDEXES ? "key" : naive_index_name(index));
}

static void finish_cursor(struct model *m)
{
    struct model_cursor *cursor = &m->cursor;
    const struct naive_collection *c = &m->collections[cursor->collection];
    int rows[NAIVE_ROWS_MAX];
    int want[NAIVE_IDS] = { 0 };
    const size_t count = naive_rows(c, cursor->index, rows);
    for (size_t i = 0; i < count; i++)
        want[rows[i]]++;
    for (int id = 0; id < NAIVE_IDS; id++)
        if (cursor->is_steady[id])
            CHECK_EQ(cursor->given[id], want[id], "document %d of %s in the cursor's pages", id,
                     c->name);
    cursor->is_open = false;
}

static void step_cursor(struct model *m)
{
    struct model_cursor *cursor = &m->cursor;
    if (!cursor->is_open) {
        open_cursor(m);
        return;
    }
    const struct naive_collection *c = &m->collections[cursor->collection];
    const int most = 1 + (int)model_below(m, 8);
    struct request request = world_begin(&m->w);
    const struct collection *found = world_find(&request, c->name);
    struct scan_spec spec = { .is_reverse = cursor->is_reverse, .after = cursor->after };
    struct scan *scan;
    struct scan_row row;
    int given = 0;
    if (cursor->index != NAIVE_INDEXES)
        spec.index = collection_index(found, bytes_of_text(naive_index_name(cursor->index)));
    model_note(m, "a page of %d", most);
    CHECK_OK(scan_open(&request, found, &spec, &scan));
    while (given < most && scan_next(scan, &row)) {
        struct document document;
        CHECK_OK(scan_document(scan, &document));
        const int id = world_id_of(document.bson);
        CHECK_THAT(c->documents[id].is_there, "a page shows document %d, which is dead", id);
        model_compare_document(m, &c->documents[id], &document);
        document_release(&request, &document);
        cursor->given[id]++;
        CHECK_THAT(cursor->index != NAIVE_INDEXES || cursor->given[id] == 1,
                   "document %d is given twice", id);
        given++;
    }
    CHECK_OK(scan_status(scan));
    if (given > 0)
        CHECK_OK(arena_copy(cursor->memory, scan_position(scan), &cursor->after));
    scan_close(scan);
    world_end(&request);
    if (given < most)
        finish_cursor(m);
}

/* ---- the run ------------------------------------------------------------------------------------------------ */

/* Everything has had time to die and to be purged. */
static void quiet_hour(struct model *m)
{
    model_note(m, "a quiet hour");
    close_old(m);
    build_indexes(m);
    if (clock_is_leap_pending(m->w.clock))
        CHECK_OK(engine_confirm_clock(m->w.engine));
    world_pass(&m->w, m->now - atomic_load(&m->w.time.wall) + 3600 * 1000);
    model_settle(m);
    world_purge(&m->w);
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++) {
        const struct naive_collection *c = &m->collections[i];
        if (c->is_there)
            CHECK_EQ(world_figures(&m->w, c->name).dead_documents, 0, "dead and not purged in %s",
                     c->name);
    }
    model_compare_deaths(m);
    model_compare_all(m);
}

static void step_compare(struct model *m)
{
    const size_t collection = random_collection(m);
    model_compare_points(m, collection);
    model_compare_figures(m, collection);
    model_compare_forecast(m, collection);
}

static void step_restart(struct model *m)
{
    restart(m, chance(m, 50));
}

/* How often each is done, out of the sum. */
static const struct {
    unsigned weight;
    void (*act)(struct model *m);
} actions[] = {
    {60,  step_write        },
    { 15, step_batch        },
    { 30, step_pass         },
    { 10, step_compare      },
    { 6,  step_default_ttl  },
    { 14, step_index        },
    { 2,  step_clock        },
    { 2,  step_date_rules   },
    { 8,  step_purge        },
    { 3,  build_indexes     },
    { 12, step_cursor       },
    { 4,  step_old          },
    { 1,  step_collections  },
    { 2,  step_faulty_write },
    { 2,  step_faulty_upkeep},
    { 2,  step_restart      },
};

static void act(struct model *m)
{
    unsigned sum = 0;
    for (size_t i = 0; i < ARRAY_COUNT(actions); i++)
        sum += actions[i].weight;
    size_t drawn = model_below(m, sum);
    size_t i = 0;
    while (drawn >= actions[i].weight)
        drawn -= actions[i++].weight;
    actions[i].act(m);
}

static void look(struct model *m)
{
    const size_t collection = random_collection(m);
    const size_t way = model_below(m, NAIVE_INDEXES + 3);
    if (way > NAIVE_INDEXES + 1)
        model_compare_slots(m, collection);
    else if (way > NAIVE_INDEXES)
        model_compare_figures(m, collection);
    else
        model_compare_scan(m, collection, (enum naive_index)way, chance(m, 40));
}

static void run(enum backing backing, const char *path, uint64_t seed, size_t steps)
{
    struct model *m = memory_take_zeroed(1, sizeof(*m));
    CHECK(m != NULL);
    model_open(m, backing, path, seed);
    for (size_t i = 0; i < MODEL_COLLECTIONS; i++)
        create_collection(m, i);
    for (m->step = 1; m->step <= steps; m->step++) {
        const arena_position mark = arena_mark(m->w.arena);
        act(m);
        model_settle(m);
        look(m);
        if (m->step % COMPARE_EVERY == 0)
            model_compare_all(m);
        if (m->step % QUIET_EVERY == 0)
            quiet_hour(m);
        arena_release(m->w.arena, mark);
    }
    model_close(m);
    memory_give(m);
}

TEST(model, an_engine_in_memory_answers_like_the_naive_model)
{
    EACH_SEED(seed, 150) {
        run(ON_MEMORY, "", seed, STEPS);
    }
}

TEST(model, an_engine_on_disk_answers_like_the_naive_model)
{
    char path[PATH_MAX];
    check_temp_dir(path, sizeof(path));
    EACH_SEED(seed, 15) {
        run(ON_ROCKSDB, path, seed, STEPS);
    }
}
