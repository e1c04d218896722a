/* Documents by key: one at a time, conditionally, and many in one commit. */
#include "tests/support/engine_fixture.h"

#include <stdio.h>

static void check_body(struct fixture *f, const char *collection, const char *text)
{
    const struct found found = fixture_read(f, collection, "%s", text);
    CHECK_THAT(found.is_there, "%s is not there", text);
    CHECK_BYTES(found.bson, fixture_document(f->arena, text), text);
}

TEST(document, what_is_written_is_read_byte_for_byte)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x; all: paths +/*");
        const char *text = "{'_id':1,'x':1.5,'s':'gr\\u00fc\\u00dfe','n':null,'b':true,'at':@7,"
                           "'list':[1,'two',{'three':3}],'in':{'deep':{'er':[]}},'x2':1,'x':2}";
        CHECK_WRITTEN(fixture_insert(&f, "c", "%s", text), OK);
        check_body(&f, "c", text);
        fixture_crash(&f);
        check_body(&f, "c", text);
        fixture_close(&f);
    }
}

TEST(document, insert_replace_upsert_and_delete_know_whether_one_was_there)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1}"), NOT_FOUND);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':1}"), NOT_FOUND);
        const struct written insert = fixture_insert(&f, "c", "{'_id':1,'x':1}");
        CHECK_WRITTEN(insert, OK);
        CHECK(!insert.was_there);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'x':2}"), EXISTS);
        check_body(&f, "c", "{'_id':1,'x':1}");
        const struct written replace = fixture_replace(&f, "c", "{'_id':1,'x':2}");
        CHECK(replace.was_there);
        check_body(&f, "c", "{'_id':1,'x':2}");
        const struct written upsert = fixture_upsert(&f, "c", "{'_id':1,'x':3}");
        CHECK(upsert.was_there);
        const struct written fresh = fixture_upsert(&f, "c", "{'_id':2,'x':3}");
        CHECK(!fresh.was_there);
        CHECK_LIVING(&f, "c", "1 2");
        const struct written removed = fixture_delete(&f, "c", "{'_id':1}");
        CHECK_WRITTEN(removed, OK);
        CHECK(removed.was_there);
        CHECK_LIVING(&f, "c", "2");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'x':9}"), OK);
        CHECK_LIVING(&f, "c", "1 2");
        fixture_close(&f);
    }
}

TEST(document, every_write_has_a_number_of_its_own_that_only_grows)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        uint64_t last = 0;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        for (int i = 0; i < 40; i++) {
            const struct written w = fixture_upsert(&f, "c", "{'_id':%d}", i % 7);
            CHECK(w.seq > last);
            CHECK_EQ(fixture_read(&f, "c", "{'_id':%d}", i % 7).seq, w.seq, "");
            CHECK_EQ(engine_last_seq(f.engine), w.seq, "");
            last = w.seq;
            if (i % 13 == 12)
                fixture_crash(&f);
        }
        fixture_close(&f);
    }
}

TEST(document, a_life_begins_with_its_insert_and_keeps_that_number)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    const struct written insert = fixture_insert(&f, "c", "{'_id':1}");
    CHECK_EQ(insert.birth_seq, insert.seq, "");
    CHECK_EQ(fixture_replace(&f, "c", "{'_id':1}").birth_seq, insert.seq, "");
    CHECK_EQ(fixture_upsert(&f, "c", "{'_id':1}").birth_seq, insert.seq, "");
    fixture_restart(&f);
    CHECK_EQ(fixture_read(&f, "c", "{'_id':1}").birth_seq, insert.seq, "");
    CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':1}"), OK);
    const struct written again = fixture_insert(&f, "c", "{'_id':1}");
    CHECK(again.birth_seq > insert.seq);
    fixture_close(&f);
}

TEST(document, a_condition_on_the_version_is_kept)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        const uint64_t first = fixture_insert(&f, "c", "{'_id':1,'v':1}").seq;
        const uint64_t second =
            fixture_write_if(&f, "c", WRITE_REPLACE, first, "{'_id':1,'v':2}").seq;
        CHECK(second > first);
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_REPLACE, first, "{'_id':1,'v':3}"),
                      PRECONDITION);
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_UPSERT, first, "{'_id':1,'v':3}"),
                      PRECONDITION);
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_DELETE, first, "{'_id':1}"), PRECONDITION);
        check_body(&f, "c", "{'_id':1,'v':2}");
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_UPSERT, second, "{'_id':1,'v':4}"), OK);
        const uint64_t third = fixture_read(&f, "c", "{'_id':1}").seq;
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_DELETE, third, "{'_id':1}"), OK);
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_REPLACE, third, "{'_id':1}"), NOT_FOUND);
        CHECK_WRITTEN(fixture_write_if(&f, "c", WRITE_UPSERT, third, "{'_id':1}"), PRECONDITION);
        CHECK_LIVING(&f, "c", "");
        fixture_close(&f);
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
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        EACH_ROW(ids, id)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%s,'me':%d}", *id, (int)(id - ids)), OK);
        EACH_ROW(ids, id) {
            char text[256];
            snprintf(text, sizeof(text), "{'_id':%s,'me':%d}", *id, (int)(id - ids));
            check_body(&f, "c", text);
        }
        CHECK_EQ(fixture_figures(&f, "c").documents, ARRAY_COUNT(ids), "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1.0}"), EXISTS);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':{'$numberLong':'1'}}"), EXISTS);
        fixture_close(&f);
    }
}

TEST(document, the_same_id_may_live_in_several_partition_keys)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection_parted(&f, "c", TTL_OFF, "", "pk");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'pk':'a','v':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'pk':'b','v':2}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'v':3}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'pk':null,'v':4}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'pk':'a','v':5}"), EXISTS);
        check_body(&f, "c", "{'_id':1,'pk':'b','v':2}");
        check_body(&f, "c", "{'_id':1,'v':3}");
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':1,'pk':'a'}"), OK);
        CHECK(!fixture_read(&f, "c", "{'_id':1,'pk':'a'}").is_there);
        check_body(&f, "c", "{'_id':1,'pk':null,'v':4}");
        fixture_close(&f);
    }
}

TEST(document, a_scan_by_one_partition_key_sees_only_that_one)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection_parted(&f, "c", TTL_OFF, "", "pk");
    for (int i = 0; i < 9; i++)
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'pk':%d}", i, i % 3), OK);
    struct request request = fixture_begin(&f);
    const struct collection *c = fixture_find(&request, "c");
    const bytes partition = fixture_key(&request, c, "{'_id':0,'pk':1}").partition;
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
    fixture_end(&request);
    fixture_close(&f);
}

TEST(document, a_key_that_is_too_long_is_refused)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    struct request request = fixture_begin(&f);
    const struct collection *c = fixture_find(&request, "c");
    uint8_t *raw;
    CHECK_OK(ARENA_NEW(request.arena, LIMIT_KEY_BYTES + 100, &raw));
    memset(raw, 'k', LIMIT_KEY_BYTES + 100);
    struct document_key key;
    /* A string value: its length with the NUL, the text, the NUL. */
    const uint32_t len = LIMIT_KEY_BYTES + 10;
    memcpy(raw, &len, sizeof(len));
    raw[4 + len - 1] = 0;
    const struct value id = { .type = VALUE_STRING, .raw = bytes_of(raw, 4 + len) };
    const status s = document_key_make(request.arena, c, fixture_document(request.arena, "{}"), id,
                                       &key);
    CHECK_THAT(s.code == TOO_LARGE || s.code == INVALID, "%s", status_code_name(s.code));
    fixture_end(&request);
    fixture_close(&f);
}

TEST(document, a_document_of_the_largest_size_fits_and_one_byte_more_does_not)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    struct request request = fixture_begin(&f);
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
        struct write_op op = fixture_op(&request, "c", WRITE_UPSERT, "{'_id':1}");
        op.document = bytes_of(raw, len);
        const bool fits = len <= LIMIT_DOCUMENT_BYTES;
        CHECK_CODE(document_write(&request, &op, 1, WRITE_EACH), OK);
        CHECK_CODE(op.outcome, fits ? OK : TOO_LARGE);
    }
    fixture_end(&request);
    CHECK_EQ(fixture_figures(&f, "c").bytes, LIMIT_DOCUMENT_BYTES, "");
    fixture_close(&f);
}

/* ---- many in one commit --------------------------------------------------------------------------------- */

struct batch {
    struct request request;
    struct write_op ops[16];
    size_t count;
};

static struct batch *batch_begin(struct batch *batch, struct fixture *f)
{
    batch->request = fixture_begin(f);
    batch->count = 0;
    return batch;
}

static void add(struct batch *batch, enum write_kind kind, const char *text)
{
    batch->ops[batch->count++] = fixture_op(&batch->request, "c", kind, "%s", text);
}

static status run(struct batch *batch, enum write_mode mode)
{
    return document_write(&batch->request, batch->ops, batch->count, mode);
}

TEST(batch, all_or_nothing_writes_all_when_all_can_be_written)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct batch b;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'u':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':2}"), OK);
        batch_begin(&b, &f);
        add(&b, WRITE_INSERT, "{'_id':3,'u':3}");
        add(&b, WRITE_REPLACE, "{'_id':1,'u':10}");
        add(&b, WRITE_DELETE, "{'_id':2}");
        add(&b, WRITE_UPSERT, "{'_id':4}");
        CHECK_OK(run(&b, WRITE_ALL_OR_NOTHING));
        for (size_t i = 0; i < b.count; i++)
            CHECK_OK(b.ops[i].outcome);
        CHECK(!b.ops[0].was_there && b.ops[1].was_there && b.ops[2].was_there &&
              !b.ops[3].was_there);
        fixture_end(&b.request);
        CHECK_LIVING(&f, "c", "1 3 4");
        fixture_crash(&f);
        CHECK_LIVING(&f, "c", "1 3 4");
        fixture_close(&f);
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
            struct fixture f;
            struct batch b;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", TTL_OFF, "u: u unique sparse");
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'u':1}"), OK);
            const uint64_t seq = engine_last_seq(f.engine);
            batch_begin(&b, &f);
            add(&b, WRITE_INSERT, "{'_id':3,'u':3}");
            add(&b, r->kind, r->text);
            add(&b, WRITE_INSERT, "{'_id':4}");
            CHECK_CODE(run(&b, WRITE_ALL_OR_NOTHING), r->want);
            CHECK_CODE(b.ops[1].outcome, r->want);
            fixture_end(&b.request);
            CHECK_LIVING(&f, "c", "1");
            CHECK_EQ(engine_last_seq(f.engine), seq, "nothing was written");
            fixture_close(&f);
        }
    }
}

TEST(batch, each_writes_those_that_can_and_says_which_cannot)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct batch b;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'u':1}"), OK);
        batch_begin(&b, &f);
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
        fixture_end(&b.request);
        CHECK_LIVING(&f, "c", "1 2 4");
        CHECK_SCAN(&f, "c", "u", "4 2 1");
        fixture_close(&f);
    }
}

TEST(batch, operations_on_one_document_follow_each_other)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct batch b;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "u: u unique sparse; x: x");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'x':0}"), OK);
        batch_begin(&b, &f);
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
        fixture_end(&b.request);
        check_body(&f, "c", "{'_id':1,'u':3,'x':3}");
        check_body(&f, "c", "{'_id':2,'u':1,'x':4}");
        CHECK_SCAN(&f, "c", "u", "2 1");
        CHECK_SCAN(&f, "c", "x", "1 2");
        CHECK_LIVING(&f, "c", "1 2");
        CHECK_EQ(fixture_read(&f, "c", "{'_id':1}").seq, b.ops[3].seq, "");
        CHECK_EQ(fixture_read(&f, "c", "{'_id':2}").birth_seq, b.ops[5].seq, "its new life");
        fixture_close(&f);
    }
}

TEST(batch, the_second_insert_of_one_id_is_refused)
{
    struct fixture f;
    struct batch b;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    for (enum write_mode mode = WRITE_ALL_OR_NOTHING; mode <= WRITE_EACH; mode++) {
        batch_begin(&b, &f);
        add(&b, WRITE_INSERT, "{'_id':1,'v':1}");
        add(&b, WRITE_INSERT, "{'_id':1,'v':2}");
        CHECK_CODE(run(&b, mode), mode == WRITE_EACH ? OK : EXISTS);
        CHECK_CODE(b.ops[1].outcome, EXISTS);
        fixture_end(&b.request);
        CHECK_LIVING(&f, "c", mode == WRITE_EACH ? "1" : "");
    }
    check_body(&f, "c", "{'_id':1,'v':1}");
    fixture_close(&f);
}

TEST(batch, two_documents_may_swap_their_unique_keys_by_way_of_a_third)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct batch b;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "u: u unique sparse");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'u':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':2}"), OK);
        batch_begin(&b, &f);
        add(&b, WRITE_REPLACE, "{'_id':1,'u':3}");
        add(&b, WRITE_REPLACE, "{'_id':2,'u':1}");
        add(&b, WRITE_REPLACE, "{'_id':1,'u':2}");
        CHECK_OK(run(&b, WRITE_ALL_OR_NOTHING));
        fixture_end(&b.request);
        CHECK_SCAN(&f, "c", "u", "2 1");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'u':3}"), OK);
        fixture_close(&f);
    }
}

TEST(batch, b4_a_dead_document_counts_as_absent_in_a_batch_too)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            struct batch b;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 10, "u: u unique sparse");
            for (int i = 1; i <= 4; i++)
                CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'u':%d}", i, i), OK);
            fixture_at(&f, 10000);
            if (is_purged)
                fixture_purge(&f);
            batch_begin(&b, &f);
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
            fixture_end(&b.request);
            CHECK_LIVING(&f, "c", "1 4");
            fixture_close(&f);
        }
    }
}

TEST(batch, several_collections_are_written_in_one_commit)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "a", TTL_OFF, "u: u unique");
        fixture_collection(&f, "b", 10, "u: u unique");
        struct request request = fixture_begin(&f);
        struct write_op ops[] = {
            fixture_op(&request, "a", WRITE_INSERT, "{'_id':1,'u':1}"),
            fixture_op(&request, "b", WRITE_INSERT, "{'_id':1,'u':1}"),
            fixture_op(&request, "a", WRITE_INSERT, "{'_id':2,'u':2}"),
        };
        const bool can = storage_capabilities(f.storage) & STORAGE_HAS_MULTI_PARTITION;
        CHECK_CODE(document_write(&request, ops, 3, WRITE_ALL_OR_NOTHING), can ? OK : UNSUPPORTED);
        fixture_end(&request);
        CHECK_LIVING(&f, "a", can ? "1 2" : "");
        CHECK_LIVING(&f, "b", can ? "1" : "");
        fixture_close(&f);
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
        struct fixture f;
        struct heard heard = { .calls = 0 };
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        struct request request = fixture_begin(&f);
        struct write_op op = fixture_op(&request, "c", WRITE_INSERT, "{'_id':1}");
        CHECK_OK(document_write_begin(&request, &op, 1, WRITE_ALL_OR_NOTHING, hear, &heard));
        CHECK_EQ(heard.calls, 1, "nobody else was committing, so this call led");
        CHECK_OK(heard.outcome);
        CHECK(op.seq > 0);
        struct write_op again = fixture_op(&request, "c", WRITE_INSERT, "{'_id':1}");
        CHECK_CODE(document_write_begin(&request, &again, 1, WRITE_ALL_OR_NOTHING, hear, &heard),
                   EXISTS);
        CHECK_EQ(heard.calls, 1, "a refused write is not told of");
        fixture_end(&request);
        fixture_crash(&f);
        CHECK_LIVING(&f, "c", "1");
        fixture_close(&f);
    }
}

TEST(batch, a_thousand_documents_go_into_one_commit)
{
    EACH_BACKING(backing)
    {
        enum { COUNT = 1000 };
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x; u: u unique");
        struct request request = fixture_begin(&f);
        struct write_op *ops;
        CHECK_OK(ARENA_NEW(request.arena, COUNT, &ops));
        for (int i = 0; i < COUNT; i++)
            ops[i] = fixture_op(&request, "c", WRITE_INSERT, "{'_id':%d,'x':%d,'u':%d}", i, i % 10,
                                -i);
        CHECK_OK(document_write(&request, ops, COUNT, WRITE_ALL_OR_NOTHING));
        fixture_end(&request);
        fixture_crash(&f);
        CHECK_EQ(fixture_figures(&f, "c").documents, COUNT, "");
        fixture_close(&f);
    }
}
