/* Documents from memory: found as long as nothing was written, and never after. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/recall.h"
#include "engine/row.h"

/* ---- the table itself --------------------------------------------------------------------------------- */

struct bench {
    struct arena *arena;
    struct latches latches;
    struct recall *recall;
    struct collection collection;
};

static struct bench *bench_open(void)
{
    struct bench *bench = calloc(1, sizeof(*bench));

    CHECK(bench != NULL);
    bench->arena = arena_open(1024 * 1024);
    latches_init(&bench->latches, 0);
    bench->recall = recall_open(0);
    bench->collection = (struct collection){ .id = 7, .version = 1 };
    return bench;
}

static void bench_close(struct bench *bench)
{
    recall_close(bench->recall);
    latches_destroy(&bench->latches);
    arena_close(bench->arena);
    free(bench);
}

static struct recall_question ask(struct bench *bench, const char *key)
{
    return recall_ask(&bench->latches, &bench->collection, bytes_of_text(key));
}

/* A body row as write_put_rows() makes it. */
static bytes row_of_write(struct bench *bench, uint64_t seq, const char *key, const char *document)
{
    bytes rest = bytes_from(bytes_of_text(key), 1), text = bytes_of_text(document);
    struct stamp stamp = {
        .seq = seq, .written_at_s = 2, .own_ttl = TTL_ABSENT, .body_len = (uint32_t)text.len
    };
    size_t head_len = row_body_head_len(&stamp, rest.len);
    uint8_t *row;

    CHECK_OK(arena_take(bench->arena, head_len + text.len, (void **)&row));
    row_write_body_head(row, &stamp, 1, rest);
    memcpy(row + head_len, text.data, text.len);
    return bytes_of(row, head_len + text.len);
}

static bytes row_of(struct bench *bench, const char *key, const char *document)
{
    return row_of_write(bench, 1, key, document);
}

static void keep(struct bench *bench, const char *key, const char *document)
{
    struct recall_question question = ask(bench, key);

    recall_keep(bench->recall, &question, row_of(bench, key, document));
}

static bool finds(struct bench *bench, const char *key, const char *document)
{
    struct recall_question question = ask(bench, key);
    bytes found;
    bool is_found = recall_find(bench->recall, &question, bench->arena, &found);

    CHECK(!is_found || bytes_equal(found, row_of(bench, key, document)));
    return is_found;
}

static struct latch_set latch_of(struct bench *bench, const char *key, struct latch *latch)
{
    *latch = (struct latch){ .hash = ask(bench, key).hash };
    return (struct latch_set){ .items = latch, .count = 1 };
}

TEST(recall, what_was_kept_is_found_for_its_key_collection_and_version_only)
{
    struct bench *bench = bench_open();

    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "where one lies");
    CHECK(finds(bench, "Lone", "where one lies"));
    CHECK(!finds(bench, "Lon", ""));
    CHECK(!finds(bench, "Lones", ""));
    bench->collection.version = 2;
    CHECK(!finds(bench, "Lone", ""));
    bench->collection = (struct collection){ .id = 8, .version = 1 };
    CHECK(!finds(bench, "Lone", ""));
    bench_close(bench);
}

TEST(recall, little_memory_holds_the_last_documents_and_none_holds_nothing)
{
    enum { KEPT = 2000, THERE = 50, LITTLE = 100 << 10 };
    struct bench *bench = bench_open();
    char key[16], document[400];

    recall_close(bench->recall);
    CHECK(recall_open(1) == NULL);
    bench->recall = recall_open(LITTLE);
    CHECK(bench->recall != NULL);
    memset(document, 'd', sizeof(document) - 1);
    document[sizeof(document) - 1] = '\0';
    for (int i = 0; i < KEPT; i++) {
        const arena_position mark = arena_mark(bench->arena);
        snprintf(key, sizeof(key), "L%05d", i);
        keep(bench, key, document);
        keep(bench, key, document); /* when it comes again, where there is no room */
        arena_release(bench->arena, mark);
    }
    int there = 0;
    for (int i = 0; i < KEPT; i++) {
        const arena_position mark = arena_mark(bench->arena);
        snprintf(key, sizeof(key), "L%05d", i);
        const bool is_there = finds(bench, key, document);
        CHECK_THAT(!is_there || i >= KEPT - 4 * THERE, "%s is there", key);
        there += is_there;
        arena_release(bench->arena, mark);
    }
    CHECK_THAT(there >= THERE && there * (int)sizeof(document) < LITTLE, "%d are there", there);
    bench_close(bench);
}

TEST(recall, nothing_is_found_while_the_latch_is_held_nor_afterwards)
{
    struct bench *bench = bench_open();
    struct latch lone;
    struct latch_set latch = latch_of(bench, "Lone", &lone);

    keep(bench, "Lone", "old");
    latch_set_take(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "seen by a reader while somebody writes");
    CHECK(!finds(bench, "Lone", ""));
    latch_set_give(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "new");
    CHECK(finds(bench, "Lone", "new"));
    bench_close(bench);
}

TEST(recall, nothing_is_found_while_a_latch_beside_it_is_held_even_if_its_own_was_given_back)
{
    struct bench *bench = bench_open();
    struct latch lone, beside;
    struct latch_set latch = latch_of(bench, "Lone", &lone), other = { &beside, 1 };

    beside = (struct latch){ .hash = lone.hash ^ UINT64_C(1) << 32 }; /* the same stripe */
    keep(bench, "Lone", "old");
    latch_set_take(&bench->latches, &other);
    latch_set_take(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    latch_set_give(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "new");
    latch_set_give(&bench->latches, &other);
    CHECK(!finds(bench, "Lone", ""));
    bench_close(bench);
}

TEST(recall, a_row_that_was_read_before_a_change_is_never_found)
{
    struct bench *bench = bench_open();
    struct latch lone;
    struct latch_set latch = latch_of(bench, "Lone", &lone);
    struct recall_question early = ask(bench, "Lone");

    latch_set_take(&bench->latches, &latch);
    latch_set_give(&bench->latches, &latch);
    recall_keep(bench->recall, &early, row_of(bench, "Lone", "old"));
    CHECK(!finds(bench, "Lone", ""));
    bench_close(bench);
}

TEST(recall, rows_up_to_the_limit_are_kept_and_longer_ones_are_not)
{
    struct bench *bench = bench_open();
    char document[RECALL_BYTES + 1];
    size_t longest = RECALL_BYTES - row_of(bench, "Lone", "").len;

    memset(document, 'd', sizeof(document));
    document[longest] = '\0';
    keep(bench, "Lone", document);
    CHECK(finds(bench, "Lone", document));
    document[longest] = 'd';
    document[longest + 1] = '\0';
    keep(bench, "Ltwo", document);
    CHECK(!finds(bench, "Ltwo", ""));
    bench_close(bench);
}

/* So many rows have room, and no more, if each takes as much as it may. */
enum { ROWS_THAT_FIT = (32 << 20) / (RECALL_BYTES + 40) };

TEST(recall, rows_are_kept_at_once_while_there_is_room_and_then_the_oldest_make_room)
{
    enum { KEYS = 2 * ROWS_THAT_FIT };
    struct bench *bench = bench_open();
    char key[16], document[RECALL_BYTES - 64];
    int found = 0, kept_at_once = 0;

    memset(document, 'd', sizeof(document));
    document[sizeof(document) - 1] = '\0';
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "L%d", i);
        keep(bench, key, document);
        kept_at_once += finds(bench, key, document);
        keep(bench, key, document);
        CHECK(finds(bench, key, document));
        arena_reset(bench->arena);
    }
    /* Each is kept twice while there is room. */
    CHECK(kept_at_once > ROWS_THAT_FIT * 2 / 5 && kept_at_once < ROWS_THAT_FIT * 3 / 4);
    for (int i = KEYS - 1000; i < KEYS; i++) {
        snprintf(key, sizeof(key), "L%d", i);
        found += finds(bench, key, document);
        arena_reset(bench->arena);
    }
    CHECK(found > 990);
    bench_close(bench);
}

/* ---- writes that scans have met ------------------------------------------------------------------------ */

/* The row of write number `seq` comes along. */
static void meet(struct bench *bench, uint64_t seq, const char *document)
{
    recall_keep_write(bench->recall, &bench->collection, seq,
                      row_of_write(bench, seq, "Lone", document));
}

static bool finds_write(struct bench *bench, uint64_t seq, const char *document)
{
    struct row_body body;

    if (!recall_find_write(bench->recall, &bench->collection, seq, bench->arena, &body))
        return false;
    CHECK_EQ(body.stamp.seq, seq, "");
    CHECK(bytes_equal(body.document, bytes_of_text(document)));
    CHECK(bytes_equal(body.key, BYTES_LITERAL("one")));
    return true;
}

TEST(recall, the_row_of_a_write_is_kept_when_it_is_met_again)
{
    struct bench *bench = bench_open();

    meet(bench, 5, "five");
    CHECK(!finds_write(bench, 5, ""));
    meet(bench, 5, "five");
    CHECK(finds_write(bench, 5, "five"));
    CHECK(!finds_write(bench, 6, ""));
    bench->collection.version = 2;
    CHECK(finds_write(bench, 5, "five"));
    bench->collection.id = 8;
    CHECK(!finds_write(bench, 5, ""));
    bench_close(bench);
}

TEST(recall, the_row_of_a_write_answers_no_question_about_its_key)
{
    struct bench *bench = bench_open();
    struct latch lone;
    struct latch_set latch = latch_of(bench, "Lone", &lone);

    meet(bench, 1, "old");
    meet(bench, 1, "old");
    CHECK(!finds(bench, "Lone", ""));
    latch_set_take(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    CHECK(finds_write(bench, 1, "old"));
    latch_set_give(&bench->latches, &latch);
    keep(bench, "Lone", "new");
    CHECK(finds(bench, "Lone", "new"));
    CHECK(finds_write(bench, 1, "old"));
    bench_close(bench);
}

TEST(recall, many_writes_are_found_as_they_were_or_not_at_all)
{
    enum { WRITES = 2 * ROWS_THAT_FIT, LEN = RECALL_BYTES - 64 };
    struct bench *bench = bench_open();
    char document[LEN + 1];
    int found = 0;

    for (uint64_t seq = 1; seq <= 2 * WRITES; seq++) {
        snprintf(document, sizeof(document), "%0*d", LEN, (int)(seq + 1) / 2);
        meet(bench, (seq + 1) / 2, document);
        arena_reset(bench->arena);
    }
    for (uint64_t seq = 1; seq <= WRITES; seq++) {
        snprintf(document, sizeof(document), "%0*d", LEN, (int)seq);
        found += finds_write(bench, seq, document);
        arena_reset(bench->arena);
    }
    CHECK(found > ROWS_THAT_FIT * 9 / 10);
    CHECK(found <= ROWS_THAT_FIT * 11 / 10);
    bench_close(bench);
}

/* ---- in the engine ------------------------------------------------------------------------------------ */

/* Storage calls of one read. */
static uint64_t calls_of_read(struct world *w, const char *document, bool is_there)
{
    const uint64_t before = storage_faulty_calls(w->storage);

    CHECK_EQ(world_read(w, "c", "%s", document).is_there, is_there, "%s", document);
    return storage_faulty_calls(w->storage) - before;
}

TEST(recall, a_second_read_looks_nothing_up)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "the body");
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 0, "");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'x':2}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "written since");
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 0, "");
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", false), 1, "there is no locator");
        world_close(&w);
    }
}

TEST(recall, a_recalled_document_dies_at_its_deadline_and_by_a_new_policy)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "");
        world_at(&w, 9999);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 0, "");
        CHECK_OK(world_set_ttl(&w, "c", 20));
        world_at(&w, 10000);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "another version of the collection");
        world_at(&w, 19999);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 0, "");
        world_at(&w, 20000);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", false), 0, "the stamp says that it is dead");
        world_close(&w);
    }
}

static uint64_t calls_of_scan(struct world *w, const char *way, const char *want)
{
    const uint64_t before = storage_faulty_calls(w->storage);

    CHECK_SCAN(w, "c", way, want);
    return storage_faulty_calls(w->storage) - before;
}

/* The texts `v` of all documents in the order of an index. */
static const char *values_in(struct request *request, const char *index)
{
    const struct collection *c = world_find(request, "c");
    struct scan_spec spec = { .index = collection_index(c, bytes_of_text(index)) };
    struct buffer text = buffer_in(request->arena);
    struct document document;
    struct scan_row row;
    struct scan *scan;
    struct value v;

    CHECK_OK(scan_open(request, c, &spec, &scan));
    while (scan_next(scan, &row)) {
        CHECK_OK(scan_document(scan, &document));
        CHECK(document_find(document.bson, "v", &v));
        buffer_append_text(&text, text.len ? " " : "");
        buffer_append(&text, value_text(v));
        document_release(request, &document);
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

TEST(recall, a_third_scan_looks_no_document_up)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 100, "x: x");
        for (int i = 0; i < 5; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d,'ttl':%d}", i, -i, 10 + i), OK);
        const uint64_t first = calls_of_scan(&w, "x", "4 3 2 1 0");
        CHECK_EQ(calls_of_scan(&w, "-x", "0 1 2 3 4"), first, "only met");
        CHECK_EQ(calls_of_scan(&w, "x", "4 3 2 1 0"), first - 5, "");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'x':-2,'ttl':10}"), OK);
        CHECK_EQ(calls_of_scan(&w, "x", "4 3 2 1 0"), first - 4, "one was written since");
        world_at(&w, 9999);
        CHECK_EQ(calls_of_scan(&w, "key", "0 1 2 3 4"), first - 4, "");
        world_at(&w, 10000);
        CHECK_SCAN(&w, "c", "x", "4 3 1");
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':3}"), OK);
        CHECK_SCAN(&w, "c", "x", "4 1");
        world_at(&w, 12000);
        CHECK_SCAN(&w, "c", "key", "4");
        world_close(&w);
    }
}

/* A scan goes on seeing the instant at which it began, whoever keeps what meanwhile. */
TEST(recall, a_scan_sees_the_documents_of_its_instant)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        for (int i = 0; i < 3; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d,'v':'old'}", i, i), OK);
        struct request early = world_begin(&w);
        CHECK_STRING(world_scan_in(&early, "c", "x"), "0 1 2");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'x':1,'v':'new'}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
        for (int i = 0; i < 3; i++) {
            CHECK_STRING(values_in(&early, "x"), "old old old");
            struct request late = world_begin(&w);
            CHECK_STRING(values_in(&late, "x"), "old new");
            world_end(&late);
            CHECK_BYTES(world_read(&w, "c", "{'_id':1}").bson,
                        world_document(w.arena, "{'_id':1,'x':1,'v':'new'}"), "");
        }
        world_end(&early);
        world_close(&w);
    }
}

/* ---- many threads ------------------------------------------------------------------------------------- */

enum { IDS = 3, READERS = 3 };

struct race {
    struct world w;
    _Atomic uint64_t acknowledged[IDS]; /* sequence numbers of writes that are over */
    _Atomic bool is_over;
};

static uint64_t read_seq(struct race *race, int id)
{
    char text[32];
    struct request request = world_begin(&race->w);
    const struct collection *c = world_find(&request, "c");
    struct document document;

    snprintf(text, sizeof(text), "{'_id':%d}", id);
    CHECK_OK(document_read(&request, c, world_key(&request, c, text), &document));
    const uint64_t seq = document.seq;
    document_release(&request, &document);
    world_end(&request);
    return seq;
}

/* What is read is never older than what was acknowledged, nor than what was read before. */
static void *keep_reading(void *owner)
{
    struct race *race = owner;
    uint64_t last[IDS] = { 0 };

    for (int i = 0; !atomic_load(&race->is_over); i = (i + 1) % IDS) {
        uint64_t floor = atomic_load(&race->acknowledged[i]);
        uint64_t seen = read_seq(race, i);
        CHECK(seen >= floor);
        CHECK(seen >= last[i]);
        last[i] = seen;
    }
    return NULL;
}

TEST(recall, readers_never_see_less_than_was_acknowledged)
{
    EACH_BACKING(backing)
    {
        static struct race race;
        pthread_t readers[READERS];

        memset(&race, 0, sizeof(race));
        world_open(&race.w, backing);
        world_collection(&race.w, "c", TTL_OFF, "");
        for (int id = 0; id < IDS; id++)
            CHECK_WRITTEN(world_insert(&race.w, "c", "{'_id':%d}", id), OK);
        for (int i = 0; i < READERS; i++)
            CHECK_EQ(pthread_create(&readers[i], NULL, keep_reading, &race), 0, "");
        for (size_t i = 0; i < check_scaled(300); i++) {
            const struct written w = world_replace(&race.w, "c", "{'_id':%d}", (int)(i % IDS));
            CHECK_WRITTEN(w, OK);
            atomic_store(&race.acknowledged[i % IDS], w.seq);
        }
        atomic_store(&race.is_over, true);
        for (int i = 0; i < READERS; i++)
            pthread_join(readers[i], NULL);
        world_close(&race.w);
    }
}
