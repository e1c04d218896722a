/* Documents by key: one at a time, conditionally, and many in one commit. */
#include "tests/support/world.h"

#include <stdio.h>

static void check_body(struct world *w, const char *collection, const char *text)
{
    const struct found found = world_read(w, collection, "%s", text);
    CHECK_THAT(found.is_there, "%s is not there", text);
    CHECK_BYTES(found.bson, world_document(w->arena, text), text);
}

TEST(document, what_is_written_is_read_byte_for_byte)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x; all: paths +/*");
        const char *text = "{'_id':1,'x':1.5,'s':'gr\\u00fc\\u00dfe','n':null,'b':true,'at':@7,"
                           "'list':[1,'two',{'three':3}],'in':{'deep':{'er':[]}},'x2':1,'x':2}";
        CHECK_WRITTEN(world_insert(&w, "c", "%s", text), OK);
        check_body(&w, "c", text);
        world_crash(&w);
        check_body(&w, "c", text);
        world_close(&w);
    }
}

TEST(document, insert_replace_upsert_and_delete_know_whether_one_was_there)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1}"), NOT_FOUND);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), NOT_FOUND);
        const struct written insert = world_insert(&w, "c", "{'_id':1,'x':1}");
        CHECK_WRITTEN(insert, OK);
        CHECK(!insert.was_there);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':2}"), EXISTS);
        check_body(&w, "c", "{'_id':1,'x':1}");
        const struct written replace = world_replace(&w, "c", "{'_id':1,'x':2}");
        CHECK(replace.was_there);
        check_body(&w, "c", "{'_id':1,'x':2}");
        const struct written upsert = world_upsert(&w, "c", "{'_id':1,'x':3}");
        CHECK(upsert.was_there);
        const struct written fresh = world_upsert(&w, "c", "{'_id':2,'x':3}");
        CHECK(!fresh.was_there);
        CHECK_LIVING(&w, "c", "1 2");
        const struct written removed = world_delete(&w, "c", "{'_id':1}");
        CHECK_WRITTEN(removed, OK);
        CHECK(removed.was_there);
        CHECK_LIVING(&w, "c", "2");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':9}"), OK);
        CHECK_LIVING(&w, "c", "1 2");
        world_close(&w);
    }
}

TEST(document, every_write_has_a_number_of_its_own_that_only_grows)
{
    EACH_BACKING(backing)
    {
        struct world w;
        uint64_t last = 0;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        for (int i = 0; i < 40; i++) {
            const struct written latest = world_upsert(&w, "c", "{'_id':%d}", i % 7);
            CHECK(latest.seq > last);
            CHECK_EQ(world_read(&w, "c", "{'_id':%d}", i % 7).seq, latest.seq, "");
            CHECK_EQ(engine_last_seq(w.engine), latest.seq, "");
            last = latest.seq;
            if (i % 13 == 12)
                world_crash(&w);
        }
        world_close(&w);
    }
}

TEST(document, a_life_begins_with_its_insert_and_keeps_that_number)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    const struct written insert = world_insert(&w, "c", "{'_id':1}");
    CHECK_EQ(insert.birth_seq, insert.seq, "");
    CHECK_EQ(world_replace(&w, "c", "{'_id':1}").birth_seq, insert.seq, "");
    CHECK_EQ(world_upsert(&w, "c", "{'_id':1}").birth_seq, insert.seq, "");
    world_restart(&w);
    CHECK_EQ(world_read(&w, "c", "{'_id':1}").birth_seq, insert.seq, "");
    CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
    const struct written again = world_insert(&w, "c", "{'_id':1}");
    CHECK(again.birth_seq > insert.seq);
    world_close(&w);
}

TEST(document, a_condition_on_the_version_is_kept)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        const uint64_t first = world_insert(&w, "c", "{'_id':1,'v':1}").seq;
        const uint64_t second =
            world_write_if(&w, "c", WRITE_REPLACE, first, "{'_id':1,'v':2}").seq;
        CHECK(second > first);
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_REPLACE, first, "{'_id':1,'v':3}"),
                      PRECONDITION);
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_UPSERT, first, "{'_id':1,'v':3}"),
                      PRECONDITION);
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_DELETE, first, "{'_id':1}"), PRECONDITION);
        check_body(&w, "c", "{'_id':1,'v':2}");
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_UPSERT, second, "{'_id':1,'v':4}"), OK);
        const uint64_t third = world_read(&w, "c", "{'_id':1}").seq;
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_DELETE, third, "{'_id':1}"), OK);
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_REPLACE, third, "{'_id':1}"), NOT_FOUND);
        CHECK_WRITTEN(world_write_if(&w, "c", WRITE_UPSERT, third, "{'_id':1}"), PRECONDITION);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(document, ids_of_all_types_are_keys_of_their_own)
{
    const char *ids[] = {
        "1",       "'1'",         "true",
        "null",    "@0",          "{'$oid':'65e0f0000000000000000000'}",
        "{'a':1}", "2.5",         "''",
        "'a'",     "'a\\u0000b'", "{'a':{'b':1}}",
        "-1",      "{}",          "9223372036854775807",
    };
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        EACH_ROW(ids, id)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%s,'me':%d}", *id, (int)(id - ids)), OK);
        EACH_ROW(ids, id) {
            char text[256];
            snprintf(text, sizeof(text), "{'_id':%s,'me':%d}", *id, (int)(id - ids));
            check_body(&w, "c", text);
        }
        CHECK_EQ(world_figures(&w, "c").documents, ARRAY_COUNT(ids), "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1.0}"), EXISTS);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':{'$numberLong':'1'}}"), EXISTS);
        world_close(&w);
    }
}

TEST(document, the_same_id_may_live_in_several_partition_keys)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection_parted(&w, "c", TTL_OFF, "", "pk");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'pk':'a','v':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'pk':'b','v':2}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'v':3}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'pk':null,'v':4}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'pk':'a','v':5}"), EXISTS);
        check_body(&w, "c", "{'_id':1,'pk':'b','v':2}");
        check_body(&w, "c", "{'_id':1,'v':3}");
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1,'pk':'a'}"), OK);
        CHECK(!world_read(&w, "c", "{'_id':1,'pk':'a'}").is_there);
        check_body(&w, "c", "{'_id':1,'pk':null,'v':4}");
        world_close(&w);
    }
}

TEST(document, a_scan_by_one_partition_key_sees_only_that_one)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, "c", TTL_OFF, "", "pk");
    for (int i = 0; i < 9; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'pk':%d}", i, i % 3), OK);
    struct request request = world_begin(&w);
    const struct collection *c = world_find(&request, "c");
    const bytes partition = world_key(&request, c, "{'_id':0,'pk':1}").partition;
    const struct scan_spec spec = { .start = partition,
                                    .end = partition,
                                    .is_end_inclusive = true };
    struct scan *scan;
    struct scan_row row;
    int seen = 0;
    CHECK_OK(scan_open(&request, c, &spec, &scan));
    while (scan_next(scan, &row)) {
        CHECK_BYTES(row.key.partition, partition, "");
        seen++;
    }
    CHECK_OK(scan_status(scan));
    CHECK_EQ(seen, 3, "");
    scan_close(scan);
    world_end(&request);
    world_close(&w);
}

TEST(document, a_key_that_is_too_long_is_refused)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    struct request request = world_begin(&w);
    const struct collection *c = world_find(&request, "c");
    uint8_t *raw;
    CHECK_OK(ARENA_NEW(request.arena, LIMIT_KEY_BYTES + 100, &raw));
    memset(raw, 'k', LIMIT_KEY_BYTES + 100);
    struct document_key key;
    /* A string value: its length with the NUL, the text, the NUL. */
    const uint32_t len = LIMIT_KEY_BYTES + 10;
    memcpy(raw, &len, sizeof(len));
    raw[4 + len - 1] = 0;
    const struct value id = { .type = VALUE_STRING, .raw = bytes_of(raw, 4 + len) };
    const status s = document_key_make(request.arena, c, world_document(request.arena, "{}"), id,
                                       &key);
    CHECK_THAT(s.code == TOO_LARGE || s.code == INVALID, "%s", status_code_name(s.code));
    world_end(&request);
    world_close(&w);
}

TEST(document, a_document_of_the_largest_size_fits_and_one_byte_more_does_not)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    struct request request = world_begin(&w);
    uint8_t *raw;
    CHECK_OK(ARENA_NEW(request.arena, LIMIT_DOCUMENT_BYTES + 1, &raw));
    /* {'s': "aaaa..."}: length, type, name, string length, text, NUL, end. */
    for (uint32_t len = LIMIT_DOCUMENT_BYTES; len <= LIMIT_DOCUMENT_BYTES + 1; len++) {
        const uint32_t text_len = len - 4 - 1 - 2 - 4 - 1;
        memset(raw, 'a', len);
        memcpy(raw, &len, 4);
        memcpy(raw + 4, "\x02s", 3);
        memcpy(raw + 7, &text_len, 4);
        raw[len - 2] = raw[len - 1] = 0;
        struct write_op op = world_op(&request, "c", WRITE_UPSERT, "{'_id':1}");
        op.document = bytes_of(raw, len);
        const bool fits = len <= LIMIT_DOCUMENT_BYTES;
        CHECK_CODE(document_write(&request, &op, 1, WRITE_EACH), OK);
        CHECK_CODE(op.outcome, fits ? OK : TOO_LARGE);
    }
    world_end(&request);
    CHECK_EQ(world_figures(&w, "c").bytes, LIMIT_DOCUMENT_BYTES, "");
    world_close(&w);
}

/* ---- many in one commit --------------------------------------------------------------------------------- */

struct batch {
    struct request request;
    struct write_op ops[32];
    size_t count;
};

static struct batch *batch_begin(struct batch *batch, struct world *w)
{
    batch->request = world_begin(w);
    batch->count = 0;
    return batch;
}

static void add(struct batch *batch, enum write_kind kind, const char *text)
{
    batch->ops[batch->count++] = world_op(&batch->request, "c", kind, "%s", text);
}

static status run(struct batch *batch, enum write_mode mode)
{
    return document_write(&batch->request, batch->ops, batch->count, mode);
}

TEST(batch, all_or_nothing_writes_all_when_all_can_be_written)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct batch b;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':2}"), OK);
        batch_begin(&b, &w);
        add(&b, WRITE_INSERT, "{'_id':3,'u':3}");
        add(&b, WRITE_REPLACE, "{'_id':1,'u':10}");
        add(&b, WRITE_DELETE, "{'_id':2}");
        add(&b, WRITE_UPSERT, "{'_id':4}");
        CHECK_OK(run(&b, WRITE_ALL_OR_NOTHING));
        for (size_t i = 0; i < b.count; i++)
            CHECK_OK(b.ops[i].outcome);
        CHECK(!b.ops[0].was_there && b.ops[1].was_there && b.ops[2].was_there &&
              !b.ops[3].was_there);
        world_end(&b.request);
        CHECK_LIVING(&w, "c", "1 3 4");
        world_crash(&w);
        CHECK_LIVING(&w, "c", "1 3 4");
        world_close(&w);
    }
}

TEST(batch, all_or_nothing_writes_nothing_when_one_cannot_be_written)
{
    const struct {
        enum write_kind kind;
        const char *text;
        status_code want;
    } rows[] = {
        {WRITE_INSERT,   "{'_id':1}",       EXISTS       },
        { WRITE_REPLACE, "{'_id':9}",       NOT_FOUND    },
        { WRITE_DELETE,  "{'_id':9}",       NOT_FOUND    },
        { WRITE_INSERT,  "{'_id':8,'u':1}", DUPLICATE_KEY},
        { WRITE_INSERT,  "{'_id':8,'u':3}", DUPLICATE_KEY},
    };
    EACH_BACKING(backing)
    {
        EACH_ROW(rows, r) {
            struct world w;
            struct batch b;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "u: u unique sparse");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
            const uint64_t seq = engine_last_seq(w.engine);
            batch_begin(&b, &w);
            add(&b, WRITE_INSERT, "{'_id':3,'u':3}");
            add(&b, r->kind, r->text);
            add(&b, WRITE_INSERT, "{'_id':4}");
            CHECK_CODE(run(&b, WRITE_ALL_OR_NOTHING), r->want);
            CHECK_CODE(b.ops[1].outcome, r->want);
            world_end(&b.request);
            CHECK_LIVING(&w, "c", "1");
            CHECK_EQ(engine_last_seq(w.engine), seq, "nothing was written");
            world_close(&w);
        }
    }
}

TEST(batch, each_writes_those_that_can_and_says_which_cannot)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct batch b;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
        batch_begin(&b, &w);
        add(&b, WRITE_INSERT, "{'_id':1}");
        add(&b, WRITE_INSERT, "{'_id':2,'u':2}");
        add(&b, WRITE_INSERT, "{'_id':3,'u':2}");
        add(&b, WRITE_DELETE, "{'_id':9}");
        add(&b, WRITE_REPLACE, "{'_id':1,'u':5}");
        add(&b, WRITE_INSERT, "{'_id':4,'u':1}");
        CHECK_OK(run(&b, WRITE_EACH));
        const status_code want[] = { EXISTS, OK, DUPLICATE_KEY, NOT_FOUND, OK, OK };
        for (size_t i = 0; i < b.count; i++)
            CHECK_EQ(b.ops[i].outcome.code, want[i], "operation %zu: %s", i,
                     b.ops[i].outcome.message);
        world_end(&b.request);
        CHECK_LIVING(&w, "c", "1 2 4");
        CHECK_SCAN(&w, "c", "u", "4 2 1");
        world_close(&w);
    }
}

TEST(batch, among_many_inserts_those_that_are_there_are_refused_and_the_dead_are_replaced)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct batch b;
        char text[64];
        world_open(&w, backing);
        world_collection(&w, "c", 10, "u: u unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':3}"), OK); /* dead at 10 s */
        world_at(&w, 5000);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'u':7}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':8,'u':8}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':8}"), OK);
        world_at(&w, 11000);
        batch_begin(&b, &w);
        for (int i = 0; i < 20; i++) {
            snprintf(text, sizeof(text), "{'_id':%d,'u':%d}", i == 19 ? 18 : i, i);
            add(&b, WRITE_INSERT, text);
        }
        CHECK_OK(run(&b, WRITE_EACH));
        for (size_t i = 0; i < b.count; i++)
            CHECK_EQ(b.ops[i].outcome.code, i == 7 || i == 19 ? EXISTS : OK, "operation %zu", i);
        world_end(&b.request);
        CHECK_LIVING(&w, "c", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
        CHECK_SCAN(&w, "c", "u", "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
        world_close(&w);
    }
}

TEST(batch, operations_on_one_document_follow_each_other)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct batch b;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique sparse; x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'x':0}"), OK);
        batch_begin(&b, &w);
        add(&b, WRITE_INSERT, "{'_id':1,'u':1,'x':1}");
        add(&b, WRITE_REPLACE, "{'_id':1,'u':2,'x':2}");
        add(&b, WRITE_DELETE, "{'_id':1}");
        add(&b, WRITE_UPSERT, "{'_id':1,'u':3,'x':3}");
        add(&b, WRITE_DELETE, "{'_id':2}");
        add(&b, WRITE_INSERT, "{'_id':2,'u':1,'x':5}");
        add(&b, WRITE_REPLACE, "{'_id':2,'u':1,'x':4}");
        CHECK_OK(run(&b, WRITE_ALL_OR_NOTHING));
        CHECK(!b.ops[3].was_there);
        CHECK(b.ops[6].was_there);
        for (size_t i = 1; i < b.count; i++)
            CHECK_THAT(b.ops[i].seq > b.ops[i - 1].seq, "operation %zu", i);
        world_end(&b.request);
        check_body(&w, "c", "{'_id':1,'u':3,'x':3}");
        check_body(&w, "c", "{'_id':2,'u':1,'x':4}");
        CHECK_SCAN(&w, "c", "u", "2 1");
        CHECK_SCAN(&w, "c", "x", "1 2");
        CHECK_LIVING(&w, "c", "1 2");
        CHECK_EQ(world_read(&w, "c", "{'_id':1}").seq, b.ops[3].seq, "");
        CHECK_EQ(world_read(&w, "c", "{'_id':2}").birth_seq, b.ops[5].seq, "its new life");
        world_close(&w);
    }
}

TEST(batch, the_second_insert_of_one_id_is_refused)
{
    struct world w;
    struct batch b;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (enum write_mode mode = WRITE_ALL_OR_NOTHING; mode <= WRITE_EACH; mode++) {
        batch_begin(&b, &w);
        add(&b, WRITE_INSERT, "{'_id':1,'v':1}");
        add(&b, WRITE_INSERT, "{'_id':1,'v':2}");
        CHECK_CODE(run(&b, mode), mode == WRITE_EACH ? OK : EXISTS);
        CHECK_CODE(b.ops[1].outcome, EXISTS);
        world_end(&b.request);
        CHECK_LIVING(&w, "c", mode == WRITE_EACH ? "1" : "");
    }
    check_body(&w, "c", "{'_id':1,'v':1}");
    world_close(&w);
}

TEST(batch, two_documents_may_swap_their_unique_keys_by_way_of_a_third)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct batch b;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':2}"), OK);
        batch_begin(&b, &w);
        add(&b, WRITE_REPLACE, "{'_id':1,'u':3}");
        add(&b, WRITE_REPLACE, "{'_id':2,'u':1}");
        add(&b, WRITE_REPLACE, "{'_id':1,'u':2}");
        CHECK_OK(run(&b, WRITE_ALL_OR_NOTHING));
        world_end(&b.request);
        CHECK_SCAN(&w, "c", "u", "2 1");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':3}"), OK);
        world_close(&w);
    }
}

TEST(batch, a_unique_key_moves_from_a_deleted_document_to_a_new_one)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct batch b;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
        batch_begin(&b, &w);
        add(&b, WRITE_INSERT, "{'_id':2,'u':1}");
        add(&b, WRITE_DELETE, "{'_id':1}");
        CHECK_CODE(run(&b, WRITE_ALL_OR_NOTHING), DUPLICATE_KEY);
        world_end(&b.request);
        batch_begin(&b, &w);
        add(&b, WRITE_DELETE, "{'_id':1}");
        add(&b, WRITE_INSERT, "{'_id':2,'u':1}");
        add(&b, WRITE_DELETE, "{'_id':2}");
        add(&b, WRITE_INSERT, "{'_id':3,'u':1}");
        CHECK_OK(run(&b, WRITE_ALL_OR_NOTHING));
        world_end(&b.request);
        CHECK_LIVING(&w, "c", "3");
        CHECK_SCAN(&w, "c", "u", "3");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), DUPLICATE_KEY);
        world_close(&w);
    }
}

TEST(batch, b4_a_dead_document_counts_as_absent_in_a_batch_too)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            struct batch b;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "u: u unique sparse");
            for (int i = 1; i <= 4; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'u':%d}", i, i), OK);
            world_at(&w, 10000);
            if (is_purged)
                world_purge(&w);
            batch_begin(&b, &w);
            add(&b, WRITE_INSERT, "{'_id':1,'u':2}");
            add(&b, WRITE_REPLACE, "{'_id':2,'u':9}");
            add(&b, WRITE_DELETE, "{'_id':3}");
            add(&b, WRITE_UPSERT, "{'_id':4,'u':3}");
            add(&b, WRITE_INSERT, "{'_id':5,'u':2}");
            CHECK_OK(run(&b, WRITE_EACH));
            const status_code want[] = { OK, NOT_FOUND, NOT_FOUND, OK, DUPLICATE_KEY };
            for (size_t i = 0; i < b.count; i++)
                CHECK_EQ(b.ops[i].outcome.code, want[i], "operation %zu", i);
            CHECK(!b.ops[3].was_there);
            world_end(&b.request);
            CHECK_LIVING(&w, "c", "1 4");
            world_close(&w);
        }
    }
}

TEST(batch, several_collections_are_written_in_one_commit)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "a", TTL_OFF, "u: u unique");
        world_collection(&w, "b", 10, "u: u unique");
        struct request request = world_begin(&w);
        struct write_op ops[] = {
            world_op(&request, "a", WRITE_INSERT, "{'_id':1,'u':1}"),
            world_op(&request, "b", WRITE_INSERT, "{'_id':1,'u':1}"),
            world_op(&request, "a", WRITE_INSERT, "{'_id':2,'u':2}"),
        };
        const bool can = storage_capabilities(w.storage) & STORAGE_HAS_MULTI_PARTITION;
        CHECK_CODE(document_write(&request, ops, 3, WRITE_ALL_OR_NOTHING), can ? OK : UNSUPPORTED);
        world_end(&request);
        CHECK_LIVING(&w, "a", can ? "1 2" : "");
        CHECK_LIVING(&w, "b", can ? "1" : "");
        world_close(&w);
    }
}

struct heard {
    int calls;
    status outcome;
};

static void hear(void *context, status outcome)
{
    struct heard *heard = context;
    heard->calls++;
    heard->outcome = outcome;
}

TEST(batch, a_write_that_does_not_wait_tells_when_it_is_durable)
{
    EACH_BACKING(backing)
    {
        struct world w;
        struct heard heard = { .calls = 0 };
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        struct request request = world_begin(&w);
        struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':1}");
        CHECK_OK(document_write_begin(&request, &op, 1, WRITE_ALL_OR_NOTHING, hear, &heard));
        CHECK_EQ(heard.calls, 1, "nobody else was committing, so this call led");
        CHECK_OK(heard.outcome);
        CHECK(op.seq > 0);
        struct write_op again = world_op(&request, "c", WRITE_INSERT, "{'_id':1}");
        CHECK_CODE(document_write_begin(&request, &again, 1, WRITE_ALL_OR_NOTHING, hear, &heard),
                   EXISTS);
        CHECK_EQ(heard.calls, 1, "a refused write is not told of");
        world_end(&request);
        world_crash(&w);
        CHECK_LIVING(&w, "c", "1");
        world_close(&w);
    }
}

TEST(batch, a_thousand_documents_go_into_one_commit)
{
    EACH_BACKING(backing)
    {
        enum { COUNT = 1000 };
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x; u: u unique");
        struct request request = world_begin(&w);
        struct write_op *ops;
        CHECK_OK(ARENA_NEW(request.arena, COUNT, &ops));
        for (int i = 0; i < COUNT; i++)
            ops[i] = world_op(&request, "c", WRITE_INSERT, "{'_id':%d,'x':%d,'u':%d}", i, i % 10,
                              -i);
        CHECK_OK(document_write(&request, ops, COUNT, WRITE_ALL_OR_NOTHING));
        world_end(&request);
        world_crash(&w);
        CHECK_EQ(world_figures(&w, "c").documents, COUNT, "");
        world_close(&w);
    }
}

static status write_stamped(struct world *w, const char *document, int64_t stamp_s)
{
    struct request request = world_begin(w);
    struct write_op op = world_op(&request, "c", WRITE_INSERT, "%s", document);

    op.stamp_s = stamp_s;
    const status s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    world_end(&request);
    return s;
}

static bool would_be_dead(struct world *w, const char *text, int64_t stamp_s, int32_t own_ttl)
{
    struct request request = world_begin(w);
    const struct document document = { .bson = world_document(request.arena, text),
                                       .written_at_s = stamp_s,
                                       .own_ttl = own_ttl };

    bool is_dead = document_would_be_dead(&request, world_find(&request, "c"), &document);
    world_end(&request);
    return is_dead;
}

TEST(document, a_given_time_of_writing_keeps_the_deadline)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 100, "");
        const int64_t now_s = WORLD_START_S + world_now(&w) / 1000;
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_OK(write_stamped(&w, "{'_id':2}", now_s - 60));
        CHECK_OK(write_stamped(&w, "{'_id':3}", now_s + 1000));
        CHECK_EQ(world_read(&w, "c", "{'_id':2}").written_at_s, now_s - 60, "as given");
        CHECK_EQ(world_read(&w, "c", "{'_id':3}").written_at_s, now_s, "never later than now");
        world_check(&w);
        world_crash(&w);
        world_pass(&w, 40 * 1000 - 1);
        CHECK_LIVING(&w, "c", "1 2 3");
        world_pass(&w, 1);
        CHECK_LIVING(&w, "c", "1 3");
        CHECK_EQ(world_purge(&w).documents, 1, "it is purged like any other");
        CHECK_LIVING(&w, "c", "1 3");
        world_check(&w);
        world_close(&w);
    }
}

TEST(document, what_would_be_dead_at_once_can_be_told_before_it_is_written)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 100, "at: at ttl=50");
    const int64_t now_s = WORLD_START_S + world_now(&w) / 1000;
    CHECK(!would_be_dead(&w, "{'_id':1}", now_s - 99, TTL_ABSENT));
    CHECK(would_be_dead(&w, "{'_id':1}", now_s - 100, TTL_ABSENT));
    CHECK(would_be_dead(&w, "{'_id':1}", now_s - 10, 10));
    CHECK(!would_be_dead(&w, "{'_id':1}", now_s - 1000, TTL_NEVER));
    CHECK(would_be_dead(&w, "{'_id':1,'at':@-60000}", now_s, TTL_NEVER));
    /* What a policy has ended stays ended. */
    CHECK_OK(world_set_ttl(&w, "c", 5));
    world_pass(&w, 1000);
    CHECK_OK(world_set_ttl(&w, "c", TTL_NEVER));
    CHECK(would_be_dead(&w, "{'_id':1}", now_s - 50, TTL_ABSENT));
    CHECK(!would_be_dead(&w, "{'_id':1}", now_s, TTL_ABSENT));
    world_close(&w);
}
