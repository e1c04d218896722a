/* The fault loop: one story of an engine's life, told again and again; the first time its first storage
 * call fails, then its second, and so on, until a telling comes through untouched. So every error path
 * runs without anyone spelling it out.
 *
 * Whatever fails must fail with a clean status. After the disk is mended and the server started anew,
 * every acknowledged write is there, nobody dead is back, and all invariants hold. */
#include "tests/support/naive_model.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>

struct story {
    struct world w;
    struct naive_collection c; /* what was acknowledged */
    bool has_failed;
    uint64_t nth;
};

/* True if it was done. After the first failure more may follow, but no other kind. */
static bool is_done(struct story *story, const char *what, status s)
{
    const bool is_clean = s.code == OK || s.code == IO_ERROR || s.code == WRITES_STOPPED;
    CHECK_THAT(is_clean, "call %" PRIu64 " fails, then %s: %s: %s", story->nth, what,
               status_code_name(s.code), s.message);
    if (s.code != OK) {
        CHECK_THAT(s.message != NULL && s.message[0] != '\0', "%s fails without a word", what);
        story->has_failed = true;
    }
    return s.code == OK;
}

static void bury_the_due(struct story *story)
{
    const time_ms now = clock_now(story->w.clock);
    for (int id = 0; id < NAIVE_IDS; id++) {
        struct naive_document *document = &story->c.documents[id];
        if (document->is_there && naive_deadline(&story->c, document, true) <= now)
            document->is_there = false;
    }
}

/* ---- what happens in the story --------------------------------------------------------------------------- */

static void create(struct story *story, int32_t default_ttl)
{
    status s = database_create(story->w.engine, story->w.arena, BYTES_LITERAL("db"), BYTES_NONE);
    if (!is_done(story, "create database", s))
        return;
    s = world_try_collection(&story->w, "c", default_ttl,
                             "x: x; u: u unique sparse; t: t; late: x lazy");
    if (!is_done(story, "create collection", s))
        return;
    story->c.is_there = true;
    story->c.default_ttl = default_ttl;
    story->c.indexes[NAIVE_X] = story->c.indexes[NAIVE_U] = story->c.indexes[NAIVE_T] =
        (struct naive_index_state){ true, true, INDEX_NO_EXPIRY };
}

static struct naive_body body_of(int id, int32_t own_ttl)
{
    return (struct naive_body){
        .id = id,
        .x = id % 3,
        .has_u = true,
        .u = id,
        .tag_count = 2,
        .tags = {id % 2, 5 },
        .at_kind = id % 4 == 0 ? ONE_DATE : NO_DATES,
        .at_count = 1,
        .at = { WORLD_START + id * 1000    },
        .own_ttl = own_ttl,
    };
}

static void put(struct story *story, enum write_kind kind, const struct naive_body *body)
{
    char text[512];
    if (!story->c.is_there)
        return;
    naive_text(body, text, sizeof(text));
    struct request request = world_begin(&story->w);
    struct write_op op = world_op(&request, "c", kind, "%s", text);
    const status_code want = naive_decide(&story->c, kind, body, 0);
    const status s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    if (s.code == want && want == OK)
        naive_apply(&story->c, kind, body,
                    &(struct naive_written){ op.seq, op.written_at_s, op.document.len });
    else if (s.code != want)
        is_done(story, "a write", s);
    world_end(&request);
}

static void put_range(struct story *story, enum write_kind kind, int from, int upto,
                      int32_t own_ttl)
{
    for (int id = from; id < upto; id++) {
        const struct naive_body body = body_of(id, own_ttl);
        put(story, kind, &body);
    }
}

static void put_batch(struct story *story)
{
    const struct naive_body bodies[] = { body_of(20, 30), body_of(21, TTL_NEVER), body_of(22, 2) };
    struct write_op ops[3];
    char text[512];
    if (!story->c.is_there)
        return;
    struct request request = world_begin(&story->w);
    for (int i = 0; i < 3; i++) {
        naive_text(&bodies[i], text, sizeof(text));
        ops[i] = world_op(&request, "c", WRITE_UPSERT, "%s", text);
    }
    if (is_done(story, "a batch", document_write(&request, ops, 3, WRITE_ALL_OR_NOTHING)))
        for (int i = 0; i < 3; i++)
            naive_apply(
                &story->c, WRITE_UPSERT, &bodies[i],
                &(struct naive_written){ ops[i].seq, ops[i].written_at_s, ops[i].document.len });
    world_end(&request);
}

static void pass(struct story *story, int64_t by_ms)
{
    world_pass(&story->w, by_ms);
    bury_the_due(story);
}

static void purge(struct story *story)
{
    struct purge_result result;
    is_done(story, "a purge", engine_purge(story->w.engine, &result));
}

static void catch_up(struct story *story)
{
    is_done(story, "work on a lazy index", engine_build_indexes(story->w.engine));
}

/* Policies are only changed while all is well: afterwards one could not know which one holds. */
static void set_ttl(struct story *story, int32_t default_ttl)
{
    if (!story->has_failed &&
        is_done(story, "a new default ttl", world_set_ttl(&story->w, "c", default_ttl)))
        story->c.default_ttl = default_ttl;
    bury_the_due(story);
}

static void make_ttl_index(struct story *story)
{
    struct naive_index_state *at = &story->c.indexes[NAIVE_AT];
    if (story->has_failed ||
        !is_done(story, "a TTL index", world_index(&story->w, "c", "at: at ttl=20")))
        return;
    *at = (struct naive_index_state){ .is_there = true, .expire_after_s = 20 };
    at->is_ready = is_done(story, "a build", engine_build_indexes(story->w.engine));
    bury_the_due(story);
}

static void drop_index(struct story *story)
{
    if (!story->has_failed &&
        is_done(story, "dropping an index", world_index_drop(&story->w, "c", "x")))
        story->c.indexes[NAIVE_X] = (struct naive_index_state){ .is_there = false };
}

static void look(struct story *story)
{
    struct collection_figures figures;
    struct scan *scan = NULL;
    struct scan_row row;
    if (!story->c.is_there)
        return;
    struct request request = world_begin(&story->w);
    const struct collection *c = world_find(&request, "c");
    const struct scan_spec spec = { .index = collection_index(c, BYTES_LITERAL("u")) };
    if (is_done(story, "opening a scan", scan_open(&request, c, &spec, &scan))) {
        while (scan_next(scan, &row))
            continue;
        is_done(story, "a scan", scan_status(scan));
        scan_close(scan);
    }
    is_done(story, "figures", collection_figures(&request, c, &figures));
    for (int id = 0; id < NAIVE_IDS; id++) {
        struct document document;
        const status s = document_read(&request, c, world_id_key(&request, c, id), &document);
        if (s.code == OK)
            document_release(&request, &document);
        if (s.code == OK || s.code == NOT_FOUND)
            CHECK_EQ(s.code == OK, story->c.documents[id].is_there, "document %d", id);
        else
            is_done(story, "a read", s);
    }
    world_end(&request);
}

static void tell(struct story *story)
{
    create(story, 10);
    put_range(story, WRITE_INSERT, 0, 8, TTL_ABSENT);
    put_range(story, WRITE_INSERT, 8, 12, 5);
    put_range(story, WRITE_INSERT, 12, 16, TTL_NEVER);
    put_range(story, WRITE_REPLACE, 2, 4, 30);
    put_range(story, WRITE_DELETE, 15, 16, TTL_ABSENT);
    look(story);
    pass(story, 5000);
    put_batch(story);
    purge(story);
    look(story);
    catch_up(story);
    pass(story, 5000);
    put_range(story, WRITE_UPSERT, 7, 10, TTL_ABSENT);
    set_ttl(story, 60);
    purge(story);
    make_ttl_index(story);
    put_range(story, WRITE_INSERT, 4, 5, TTL_NEVER);
    pass(story, 11000);
    look(story);
    purge(story);
    set_ttl(story, TTL_OFF);
    drop_index(story);
    purge(story);
    set_ttl(story, TTL_NEVER);
    catch_up(story);
    put_range(story, WRITE_UPSERT, 16, 18, 1);
    look(story);
}

/* ---- afterwards -------------------------------------------------------------------------------------------- */

static void check_all_is_there(struct story *story)
{
    char ids[256] = "";
    size_t used = 0;
    bury_the_due(story);
    for (int id = 0; id < NAIVE_IDS; id++)
        if (story->c.documents[id].is_there)
            used += (size_t)snprintf(ids + used, sizeof(ids) - used, "%d ", id);
    if (story->c.is_there)
        CHECK_LIVING(&story->w, "c", ids);
    for (int id = 0; id < NAIVE_IDS; id++) {
        const struct naive_document *document = &story->c.documents[id];
        if (document->is_there)
            CHECK_EQ(world_read(&story->w, "c", "{'_id':%d}", id).seq, document->seq,
                     "call %" PRIu64 " failed: version of document %d", story->nth, id);
    }
}

static void mend_and_check(struct story *story)
{
    storage_faulty_arm(story->w.storage, 0);
    world_crash(&story->w);
    world_check(&story->w);
    CHECK_OK(engine_build_indexes(story->w.engine));
    story->c.indexes[NAIVE_AT].is_ready = story->c.indexes[NAIVE_AT].is_there;
    check_all_is_there(story);
    world_purge(&story->w);
    check_all_is_there(story);
    world_check(&story->w);
    if (story->c.is_there)
        CHECK_WRITTEN(world_upsert(&story->w, "c", "{'_id':23}"), OK);
}

/* True if the story came through untouched. */
static bool tell_with_fault(uint64_t nth)
{
    struct story story = { .nth = nth };
    world_prepare(&story.w, ON_MEMORY);
    CHECK_OK(world_start(&story.w));
    storage_faulty_arm(story.w.storage, nth);
    tell(&story);
    const bool is_untouched = storage_faulty_calls(story.w.storage) < nth;
    if (is_untouched)
        CHECK(!story.has_failed);
    mend_and_check(&story);
    world_close(&story.w);
    return is_untouched;
}

TEST(fault_loop, every_storage_call_of_a_story_may_fail)
{
    /* A shorter run leaves some out, others each time the story changes. */
    const uint64_t stride = check_scale() < 1 ? 7 : 1;
    uint64_t nth = 1;
    for (; !tell_with_fault(nth); nth += stride)
        CHECK(nth < 100000);
    CHECK_THAT(nth > 200, "the story has only %" PRIu64 " storage calls", nth);
}

/* The start of a server with something in it, each of its calls failing once. */
TEST(fault_loop, every_storage_call_of_a_start_may_fail)
{
    struct story story = { .nth = 0 };
    world_prepare(&story.w, ON_MEMORY);
    CHECK_OK(world_start(&story.w));
    tell(&story);
    world_stop(&story.w);
    for (story.w.start_fault = 1; story.w.start_fault < 10000; story.w.start_fault++) {
        const status s = world_start(&story.w);
        if (s.code == OK)
            break;
        CHECK_CODE(s, IO_ERROR);
    }
    CHECK_THAT(story.w.start_fault > 3 && story.w.start_fault < 10000, "%" PRIu64,
               story.w.start_fault);
    story.w.start_fault = 0;
    storage_faulty_arm(story.w.storage, 0);
    check_all_is_there(&story);
    world_close(&story.w);
}

/* A failed commit stops writes and says why; reads go on. */
TEST(fault_loop, after_a_failed_commit_reads_go_on_and_writes_are_refused)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "x: x");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    CHECK_STRING(engine_writes_stopped(w.engine), "");
    uint64_t nth = 1;
    status_code code = IO_ERROR;
    for (; engine_writes_stopped(w.engine)[0] == '\0' && nth < 100; nth++) {
        storage_faulty_arm(w.storage, nth);
        code = world_upsert(&w, "c", "{'_id':2}").code;
        CHECK_THAT(code == IO_ERROR || code == WRITES_STOPPED, "%s", status_code_name(code));
    }
    storage_faulty_arm(w.storage, 0);
    storage_faulty_heal(w.storage);
    const struct written refused = world_insert(&w, "c", "{'_id':3}");
    CHECK_WRITTEN(refused, WRITES_STOPPED);
    CHECK_THAT(strlen(refused.message) > 10, "%s", refused.message);
    CHECK_CODE(world_set_ttl(&w, "c", 20), WRITES_STOPPED);
    CHECK_LIVING(&w, "c", "1");
    world_at(&w, 10000);
    CHECK_LIVING(&w, "c", "");
    world_crash(&w);
    CHECK_LIVING(&w, "c", "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), OK);
    world_close(&w);
}

/* A purge that was stopped half way has moved documents and cut lanes, but not cleaned up behind it. */
static void purge_with_fault(struct world *w, uint64_t nth)
{
    struct purge_result result;
    storage_faulty_arm(w->storage, nth);
    const status s = engine_purge(w->engine, &result);
    storage_faulty_arm(w->storage, 0);
    CHECK_THAT(s.code == OK || s.code == IO_ERROR || s.code == WRITES_STOPPED, "%s: %s",
               status_code_name(s.code), s.message);
}

TEST(fault_loop, a_reader_does_not_notice_that_a_purge_was_stopped_half_way)
{
    const uint64_t stride = check_scale() < 1 ? 5 : 1;
    for (uint64_t first = 1; first < 40; first += stride) {
        for (uint64_t second = 1; second < 40; second += stride) {
            struct world w;
            world_open(&w, ON_MEMORY);
            world_collection(&w, "c", TTL_OFF, "x: x; b: b ttl=5");
            for (int i = 0; i < 4; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d,'b':@900000}", i, i * 5000),
                              OK);
            world_index_built(&w, "c", "at: at ttl=10");
            CHECK_OK(world_index_drop(&w, "c", "b"));
            purge_with_fault(&w, first);
            CHECK_LIVING(&w, "c", "0 1 2 3");
            world_at(&w, 16000);
            purge_with_fault(&w, second);
            CHECK_LIVING(&w, "c", "2 3");
            world_crash(&w);
            CHECK_LIVING(&w, "c", "2 3");
            world_close(&w);
        }
    }
}
