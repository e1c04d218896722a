/* Time to live of items, as clients of this face see it. The clock only moves when the test says so. */
#include <stdio.h>

#include "storage/backend.h"
#include "tests/support/items.h"

#define P "pk: ['p']"

static int64_t number(struct cosmos_face *f, const struct cosmos_answer *answer, const char *path)
{
    long long out = 0;

    CHECK_EQ(sscanf(item_text(f, answer, path), "%lld", &out), 1, "%s", path);
    return out;
}

static bool is_alive(struct cosmos_face *f, const char *id)
{
    struct cosmos_answer answer = item_read(f, P, id);

    CHECK_THAT(answer.status == 200 || answer.status == 404, "%u", answer.status);
    return answer.status == 200;
}

/* ---- C-1: _ts --------------------------------------------------------------------------------------- */

TEST(item_ttl, C_1_every_write_sets_ts_and_no_read_does)
{
    struct cosmos_face f;
    struct cosmos_answer answer;

    items_open(&f, TTL_OFF);
    world_at(&f.world, 1999);
    answer = item_create(&f, P, "{'id':'a','pk':'p','n':0}");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 1, "whole seconds, rounded down");
    world_at(&f.world, 10000);
    answer = item_read(&f, P, "a");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 1, "");
    answer = item_replace(&f, P, "a", "{'id':'a','pk':'p','n':0}");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 10, "");
    world_at(&f.world, 20000);
    answer = item_upsert(&f, P, "{'id':'a','pk':'p','n':0}");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 20, "");
    world_at(&f.world, 30000);
    answer = item_patch(&f, P, "a", "[{'op':'incr','path':'/n','value':1}]");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 30, "");
    world_at(&f.world, 40000);
    answer = item_batch(
        &f, P, "[{'operationType':'Replace','id':'a','resourceBody':{'id':'a','pk':'p'}}]");
    CHECK_ANSWER(answer, 200);
    answer = item_read(&f, P, "a");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 40, "");
    world_at(&f.world, 50000);
    answer = item_bulk(&f, "",
                       "[{'operationType':'Upsert','partitionKey':'[\\'p\\']',"
                       "'resourceBody':{'id':'a','pk':'p'}}]");
    CHECK_ANSWER(answer, 200);
    answer = item_read(&f, P, "a");
    CHECK_EQ(number(&f, &answer, "_ts"), WORLD_START_S + 50, "");
    items_close(&f);
}

/* ---- C-3: what ttl may be --------------------------------------------------------------------------- */

static const struct {
    const char *ttl, *shown;
} bad_ttls[] = {
    {"0",           "0"               },
    { "null",       "null"            },
    { "-2",         "-2"              },
    { "-10",        "-10"             },
    { "1.5",        "1.5"             },
    { "2147483648", "2147483648"      },
    { "1e10",       "10000000000"     },
    { "true",       "true"            },
    { "'60'",       "\\\\\\'60\\\\\\'"},
    { "{}",         "{}"              },
    { "[1]",        "[1]"             },
};

static void check_refused(const struct cosmos_answer *answer, const char *shown)
{
    char text[256];

    CHECK_ANSWER(*answer, 400);
    snprintf(text, sizeof(text), "The input ttl '%s' is invalid.", shown);
    CHECK_THAT(cosmos_body_has(answer, text), "%s: %.*s", shown, (int)answer->body.len,
               (const char *)answer->body.data);
    CHECK(cosmos_body_has(answer, "is invalid. Ensure to provide a nonzero positive integer"));
}

TEST(item_ttl, C_3_a_bad_ttl_is_refused_on_every_way_to_write)
{
    const int32_t defaults[] = { TTL_OFF, TTL_NEVER, 100 };

    EACH_ROW(defaults, default_ttl) {
        struct cosmos_face f;
        items_open(&f, *default_ttl);
        CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','v':1}"), 201);
        EACH_ROW(bad_ttls, bad) {
            struct cosmos_answer answer = item_create(&f, P, "{'id':'n','pk':'p','ttl':%s}",
                                                      bad->ttl);
            check_refused(&answer, bad->shown);
            answer = item_upsert(&f, P, "{'id':'n','pk':'p','ttl':%s}", bad->ttl);
            check_refused(&answer, bad->shown);
            answer = item_replace(&f, P, "a", "{'id':'a','pk':'p','ttl':%s}", bad->ttl);
            check_refused(&answer, bad->shown);
            answer = item_patch(&f, P, "a", "[{'op':'set','path':'/ttl','value':%s}]", bad->ttl);
            check_refused(&answer, bad->shown);
        }
        CHECK(!is_alive(&f, "n"));
        struct cosmos_answer read = item_read(&f, P, "a");
        CHECK_EQ(number(&f, &read, "v"), 1, "nothing has changed");
        items_close(&f);
    }
}

TEST(item_ttl, C_3_a_bad_ttl_is_told_with_its_value)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_create(&f, P, "{'id':'a','pk':'p','ttl':0}");
    const char *message = item_text(&f, &answer, "message");
    CHECK_THAT(strstr(message,
                      "The input ttl '0' is invalid. Ensure to provide a nonzero positive integer "
                      "less than or equal to '2147483647', or '-1' which means never expire."),
               "%s", message);
    answer = item_create(&f, P, "{'id':'a','pk':'p','ttl':null}");
    CHECK(strstr(item_text(&f, &answer, "message"), "The input ttl 'null' is invalid."));
    items_close(&f);
}

TEST(item_ttl, C_3_a_bad_ttl_fails_its_own_operation_of_a_bulk_and_the_whole_batch)
{
    static const char ops[] = "[{'operationType':'Create','partitionKey':'[\\'p\\']',"
                              "'resourceBody':{'id':'a','pk':'p'}},"
                              "{'operationType':'Create','partitionKey':'[\\'p\\']',"
                              "'resourceBody':{'id':'b','pk':'p','ttl':-10}},"
                              "{'operationType':'Create','partitionKey':'[\\'p\\']',"
                              "'resourceBody':{'id':'c','pk':'p','ttl':5}}]";
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_batch(&f, P, "%s", ops);
    CHECK_ANSWER(answer, 207);
    CHECK_STRING(item_statuses(&f, &answer), "424 400 424");
    CHECK(!is_alive(&f, "a") && !is_alive(&f, "c"));
    answer = item_bulk(&f, "x-ms-cosmos-batch-continue-on-error: true", "%s", ops);
    CHECK_ANSWER(answer, 207);
    CHECK_STRING(item_statuses(&f, &answer), "201 400 201");
    CHECK(cosmos_body_has(&answer, "The input ttl '-10' is invalid"));
    CHECK(is_alive(&f, "a") && !is_alive(&f, "b") && is_alive(&f, "c"));
    items_close(&f);
}

TEST(item_ttl, C_3_whole_numbers_in_any_notation_are_taken)
{
    const struct {
        const char *ttl;
        int64_t lives_ms;
    } rows[] = {
        {"1",           1000                      },
        { "1.0",        1000                      },
        { "1e1",        10000                     },
        { "2147483647", INT64_C(2147483647) * 1000},
    };

    EACH_ROW(rows, r) {
        struct cosmos_face f;
        items_open(&f, TTL_NEVER);
        CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','ttl':%s}", r->ttl), 201);
        world_pass(&f.world, r->lives_ms - 1);
        CHECK_THAT(is_alive(&f, "a"), "%s", r->ttl);
        world_pass(&f.world, 1);
        CHECK_THAT(!is_alive(&f, "a"), "%s", r->ttl);
        items_close(&f);
    }
}

/* ---- C-4, C-5, B-2: the matrix, to the tick --------------------------------------------------------- */

TEST(item_ttl, C_4_the_matrix_of_default_and_own_ttl)
{
    const struct {
        const char *why;
        int32_t default_ttl;
        const char *own;
        int64_t dies_at_ms; /* 0: never */
    } rows[] = {
        {"off, none",    TTL_OFF,   "",          0    },
        { "off, -1",     TTL_OFF,   ",'ttl':-1", 0    },
        { "off, own",    TTL_OFF,   ",'ttl':5",  0    },
        { "-1, none",    TTL_NEVER, "",          0    },
        { "-1, -1",      TTL_NEVER, ",'ttl':-1", 0    },
        { "-1, own",     TTL_NEVER, ",'ttl':5",  5000 },
        { "n, none",     10,        "",          10000},
        { "n, -1",       10,        ",'ttl':-1", 0    },
        { "n, own less", 10,        ",'ttl':5",  5000 },
        { "n, own more", 10,        ",'ttl':20", 20000},
    };

    EACH_ROW(rows, r) {
        struct cosmos_face f;
        items_open(&f, r->default_ttl);
        CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p'%s}", r->own), 201);
        world_at(&f.world, r->dies_at_ms ? r->dies_at_ms - 1 : INT64_C(4000000000) * 1000);
        CHECK_THAT(is_alive(&f, "a"), "%s", r->why);
        if (r->dies_at_ms) {
            world_at(&f.world, r->dies_at_ms);
            CHECK_THAT(!is_alive(&f, "a"), "%s", r->why);
        }
        items_close(&f);
    }
}

TEST(item_ttl, C_5_and_B_2_the_deadline_follows_from_the_items_own_fields)
{
    struct cosmos_face f;

    items_open(&f, TTL_NEVER);
    world_at(&f.world, 700); /* within a second: _ts is rounded down, so life is shorter */
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','ttl':3}");
    int64_t deadline_ms = (number(&f, &made, "_ts") + number(&f, &made, "ttl")) * 1000;
    world_at(&f.world, deadline_ms - WORLD_START - 1);
    CHECK(is_alive(&f, "a"));
    world_at(&f.world, deadline_ms - WORLD_START);
    CHECK(!is_alive(&f, "a"));
    items_close(&f);
}

/* ---- C-6: writes extend ----------------------------------------------------------------------------- */

TEST(item_ttl, C_6_any_write_restarts_the_countdown_and_no_read_does)
{
    const char *const ways[] = { "replace", "upsert", "patch", "batch", "bulk", "read" };

    EACH_ROW(ways, way) {
        struct cosmos_face f;
        struct cosmos_answer answer = { .status = 0 };
        items_open(&f, 10);
        CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p'}"), 201);
        world_at(&f.world, 9000);
        if (strcmp(*way, "replace") == 0)
            answer = item_replace(&f, P, "a", "{'id':'a','pk':'p'}");
        if (strcmp(*way, "upsert") == 0)
            answer = item_upsert(&f, P, "{'id':'a','pk':'p'}");
        if (strcmp(*way, "patch") == 0)
            answer = item_patch(&f, P, "a", "[{'op':'set','path':'/v','value':1}]");
        if (strcmp(*way, "batch") == 0)
            answer = item_batch(&f, P,
                                "[{'operationType':'Patch','id':'a','resourceBody':"
                                "[{'op':'set','path':'/v','value':1}]}]");
        if (strcmp(*way, "bulk") == 0)
            answer = item_bulk(&f, P,
                               "[{'operationType':'Replace','id':'a','resourceBody':"
                               "{'id':'a','pk':'p'}}]");
        if (strcmp(*way, "read") == 0)
            answer = item_read(&f, P, "a");
        CHECK_ANSWER(answer, 200);
        world_at(&f.world, 10000);
        CHECK_EQ(is_alive(&f, "a"), strcmp(*way, "read") != 0, "%s", *way);
        world_at(&f.world, 18999);
        CHECK_EQ(is_alive(&f, "a"), strcmp(*way, "read") != 0, "%s", *way);
        world_at(&f.world, 19000);
        CHECK_THAT(!is_alive(&f, "a"), "%s", *way);
        items_close(&f);
    }
}

TEST(item_ttl, C_6_removing_ttl_brings_the_default_back)
{
    struct cosmos_face f;

    items_open(&f, 10);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','ttl':100}"), 201);
    CHECK_ANSWER(item_create(&f, P, "{'id':'b','pk':'p','ttl':-1}"), 201);
    CHECK_ANSWER(item_patch(&f, P, "a", "[{'op':'remove','path':'/ttl'}]"), 200);
    CHECK_ANSWER(item_replace(&f, P, "b", "{'id':'b','pk':'p'}"), 200);
    world_at(&f.world, 9999);
    CHECK(is_alive(&f, "a") && is_alive(&f, "b"));
    world_at(&f.world, 10000);
    CHECK(!is_alive(&f, "a") && !is_alive(&f, "b"));
    items_close(&f);
}

/* ---- C-7: off --------------------------------------------------------------------------------------- */

TEST(item_ttl, C_7_off_stops_all_expiry_and_on_counts_from_ts_again)
{
    struct cosmos_face f;

    items_open(&f, 10);
    CHECK_ANSWER(item_create(&f, P, "{'id':'own','pk':'p','ttl':20}"), 201);
    CHECK_ANSWER(item_create(&f, P, "{'id':'inherits','pk':'p'}"), 201);
    world_at(&f.world, 5000);
    CHECK_OK(world_set_ttl(&f.world, "c", TTL_OFF));
    world_at(&f.world, 30000);
    struct cosmos_answer read = item_read(&f, P, "own");
    CHECK_ANSWER(read, 200);
    CHECK_EQ(number(&f, &read, "ttl"), 20, "the field stays stored");
    CHECK(is_alive(&f, "inherits"));
    CHECK_OK(world_set_ttl(&f.world, "c", TTL_NEVER));
    CHECK(!is_alive(&f, "own"));
    CHECK(is_alive(&f, "inherits"));
    items_close(&f);
}

/* ---- B-3: one now ----------------------------------------------------------------------------------- */

TEST(item_ttl, B_3_each_page_of_a_feed_has_its_own_now)
{
    struct cosmos_face f;

    items_open(&f, TTL_NEVER);
    for (int i = 0; i < 6; i++)
        CHECK_ANSWER(item_create(&f, P, "{'id':'%d','pk':'p','ttl':%d}", i, i < 4 ? 10 : 100), 201);
    struct cosmos_answer page = item_feed(&f, "pk: ['p']\nx-ms-max-item-count: 2");
    CHECK_STRING(item_ids(&f, &page), "0 1");
    const char *next = arena_format(f.world.arena,
                                    "pk: ['p']\nx-ms-max-item-count: 2\nx-ms-continuation: %.*s",
                                    (int)cosmos_header(&page, "x-ms-continuation").len,
                                    (const char *)cosmos_header(&page, "x-ms-continuation").data);
    world_at(&f.world, 10000);
    page = item_feed(&f, next);
    CHECK_STRING(item_ids(&f, &page), "4 5");
    items_close(&f);
}

/* ---- B-4: dead means gone --------------------------------------------------------------------------- */

static void open_with_dead(struct cosmos_face *f, const char **etag_out)
{
    items_open(f, TTL_NEVER);
    struct cosmos_answer made = item_create(f, P, "{'id':'a','pk':'p','ttl':5,'v':1}");
    CHECK_ANSWER(made, 201);
    *etag_out = item_etag(f, &made);
    world_at(&f->world, 5000);
}

TEST(item_ttl, B_4_a_dead_item_answers_as_if_it_had_never_existed)
{
    struct cosmos_face f;
    const char *etag;

    open_with_dead(&f, &etag);
    const char *known = arena_format(f.world.arena, "pk: ['p']\nif-none-match: %s", etag);
    const char *match = arena_format(f.world.arena, "pk: ['p']\nif-match: %s", etag);
    CHECK_ANSWER(item_read(&f, P, "a"), 404);
    CHECK_ANSWER(item_read(&f, known, "a"), 404);
    CHECK_ANSWER(item_replace(&f, P, "a", "{'id':'a','pk':'p'}"), 404);
    CHECK_ANSWER(item_replace(&f, match, "a", "{'id':'a','pk':'p'}"), 404);
    CHECK_ANSWER(item_patch(&f, P, "a", "[{'op':'set','path':'/v','value':1}]"), 404);
    CHECK_ANSWER(item_delete(&f, P, "a"), 404);
    CHECK_ANSWER(item_delete(&f, match, "a"), 404);
    CHECK_ANSWER(item_upsert(&f, match, "{'id':'a','pk':'p'}"), 412);
    struct cosmos_answer feed = item_feed(&f, "");
    CHECK_STRING(item_ids(&f, &feed), "");
    CHECK_TEXT(cosmos_value(&f, &feed, "_count"), "0");
    struct cosmos_answer batch = item_batch(&f, P, "[{'operationType':'Read','id':'a'}]");
    CHECK_STRING(item_statuses(&f, &batch), "404");
    struct cosmos_answer bulk = item_bulk(
        &f, "pk: ['p']\nx-ms-cosmos-batch-continue-on-error: true",
        "[{'operationType':'Read','id':'a'},{'operationType':'Delete','id':'a'},"
        "{'operationType':'Replace','id':'a','resourceBody':{'id':'a','pk':'p'}},"
        "{'operationType':'Patch','id':'a','resourceBody':[{'op':'set','path':'/v','value':1}]},"
        "{'operationType':'Create','resourceBody':{'id':'a','pk':'p'}}]");
    CHECK_STRING(item_statuses(&f, &bulk), "404 404 404 404 201");
    items_close(&f);
}

TEST(item_ttl, B_4_a_create_and_an_upsert_begin_a_new_life)
{
    for (int way = 0; way < 3; way++) {
        struct cosmos_face f;
        const char *etag;
        open_with_dead(&f, &etag);
        struct cosmos_answer made = { .status = 0 };
        if (way == 0)
            made = item_create(&f, P, "{'id':'a','pk':'p'}");
        if (way == 1)
            made = item_upsert(&f, P, "{'id':'a','pk':'p'}");
        if (way == 2) {
            struct cosmos_answer batch = item_batch(
                &f, P, "[{'operationType':'Upsert','resourceBody':{'id':'a','pk':'p'}}]");
            CHECK_STRING(item_statuses(&f, &batch), "201");
        } else {
            CHECK_ANSWER(made, 201);
            CHECK_THAT(strcmp(item_etag(&f, &made), etag) != 0, "%d", way);
        }
        CHECK(is_alive(&f, "a"));
        items_close(&f);
    }
}

/* ---- B-5: dead is for ever -------------------------------------------------------------------------- */

TEST(item_ttl, B_5_no_change_of_the_setting_brings_an_item_back)
{
    const int32_t settings[] = { 1000, TTL_NEVER, TTL_OFF };

    EACH_ROW(settings, setting) {
        struct cosmos_face f;
        items_open(&f, 10);
        CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p'}"), 201);
        CHECK_ANSWER(item_create(&f, P, "{'id':'b','pk':'p','ttl':5}"), 201);
        world_at(&f.world, 10000);
        CHECK_OK(world_set_ttl(&f.world, "c", *setting));
        CHECK(!is_alive(&f, "a") && !is_alive(&f, "b"));
        cosmos_face_restart(&f);
        CHECK(!is_alive(&f, "a") && !is_alive(&f, "b"));
        items_close(&f);
    }
}

/* Time passes while a write is on its way: its look has found the item alive, its commit finds it dead. */
struct ageing_storage {
    struct storage_backend backend; /* first: found again through the storage */
    const struct storage_backend *inner;
    struct world *w;
    unsigned gets_before; /* how many reads go by until time passes; 0: it has */
};

static status ageing_get(struct storage *storage, struct storage_view *view,
                         struct row_address where, bytes key, struct storage_value *out)
{
    struct ageing_storage *ageing = (struct ageing_storage *)(uintptr_t)storage->backend;
    status s = ageing->inner->get(storage, view, where, key, out);

    if (ageing->gets_before > 0 && --ageing->gets_before == 0)
        world_pass(ageing->w, 1);
    return s;
}

static void let_time_pass_after(struct ageing_storage *ageing, struct world *w, unsigned gets)
{
    *ageing = (struct ageing_storage){
        .backend = *w->storage->backend, .inner = w->storage->backend, .w = w, .gets_before = gets
    };
    ageing->backend.get = ageing_get;
    w->storage->backend = &ageing->backend;
}

enum late_way {
    LATE_REPLACE,
    LATE_DELETE,
    LATE_PATCH,
    LATE_UPSERT,
    LATE_UPSERT_OF_VERSION,
    LATE_BATCH,
    LATE_BATCH_OF_VERSION,
    LATE_BULK,
    LATE_BULK_STOPS
};

static struct cosmos_answer write_late(struct cosmos_face *f, enum late_way way, const char *etag)
{
    switch (way) {
    case LATE_REPLACE:
        return item_replace(f, P, "a", "{'id':'a','pk':'p'}");
    case LATE_DELETE:
        return item_delete(f, P, "a");
    case LATE_PATCH:
        return item_patch(f, P, "a", "[{'op':'set','path':'/v','value':1}]");
    case LATE_UPSERT:
        return item_upsert(f, P, "{'id':'a','pk':'p'}");
    case LATE_UPSERT_OF_VERSION:
        return item_upsert(f, arena_format(f->world.arena, "pk: ['p']\nif-match: %s", etag),
                           "{'id':'a','pk':'p'}");
    case LATE_BATCH_OF_VERSION:
        return item_batch(f, P,
                          "[{'operationType':'Create','resourceBody':{'id':'b','pk':'p'}},"
                          "{'operationType':'Upsert','resourceBody':{'id':'a','pk':'p'},"
                          "'ifMatch':'\\'%.*s\\''}]",
                          (int)strlen(etag) - 2, etag + 1);
    case LATE_BULK_STOPS:
        return item_bulk(f, P,
                         "[{'operationType':'Create','resourceBody':{'id':'b','pk':'p'}},"
                         "{'operationType':'Replace','id':'a','resourceBody':{'id':'a','pk':'p'}},"
                         "{'operationType':'Create','resourceBody':{'id':'c','pk':'p'}}]");
    case LATE_BATCH:
        return item_batch(f, P,
                          "[{'operationType':'Create','resourceBody':{'id':'b','pk':'p'}},"
                          "{'operationType':'Replace','id':'a','resourceBody':{'id':'a',"
                          "'pk':'p'}}]");
    case LATE_BULK:
        return item_bulk(f, "pk: ['p']\nx-ms-cosmos-batch-continue-on-error: true",
                         "[{'operationType':'Create','resourceBody':{'id':'b','pk':'p'}},"
                         "{'operationType':'Replace','id':'a','resourceBody':{'id':'a',"
                         "'pk':'p'}}]");
    }
    return (struct cosmos_answer){ .status = 0 };
}

TEST(item_ttl, B_5_an_item_that_dies_while_it_is_written_stays_dead)
{
    const struct {
        const char *why;
        enum late_way way;
        unsigned want;
        const char *statuses, *left;
    } rows[] = {
        {"replace finds none",        LATE_REPLACE,           404, "",            "" },
        { "delete finds none",        LATE_DELETE,            404, "",            "" },
        { "patch finds none",         LATE_PATCH,             404, "",            "" },
        { "upsert begins anew",       LATE_UPSERT,            201, "",            "a"},
        { "its etag matches nothing", LATE_UPSERT_OF_VERSION, 412, "",            "" },
        { "a batch fails there",      LATE_BATCH,             207, "424 404",     "" },
        { "in a batch too",           LATE_BATCH_OF_VERSION,  207, "424 412",     "" },
        { "bulk loses one",           LATE_BULK,              207, "201 404",     "b"},
        { "bulk stops there",         LATE_BULK_STOPS,        207, "201 404 424", "b"},
    };

    EACH_ROW(rows, r) {
        unsigned tried = 0;
        for (unsigned gets = 1; gets <= 5; gets++) {
            struct cosmos_face f;
            struct ageing_storage ageing;
            items_open(&f, 10);
            struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p'}");
            world_at(&f.world, 9999);
            let_time_pass_after(&ageing, &f.world, gets);
            struct cosmos_answer answer = write_late(&f, r->way, item_etag(&f, &made));
            f.world.storage->backend = ageing.inner;
            if (ageing.gets_before == 0) {
                tried++;
                CHECK_EQ(answer.status, r->want, "%s, after %u reads: %.*s", r->why, gets,
                         (int)answer.body.len, (const char *)answer.body.data);
                if (answer.status == 207)
                    CHECK_STRING(item_statuses(&f, &answer), r->statuses);
                struct cosmos_answer feed = item_feed(&f, "");
                CHECK_STRING(item_ids(&f, &feed), r->left);
            }
            items_close(&f);
        }
        CHECK_THAT(tried > 0, "%s", r->why);
    }
}

/* ---- C-13: whole documents -------------------------------------------------------------------------- */

TEST(item_ttl, C_13_a_ttl_inside_an_item_is_a_property_like_any_other)
{
    struct cosmos_face f;

    items_open(&f, TTL_NEVER);
    CHECK_ANSWER(item_create(&f, P,
                             "{'id':'a','pk':'p','in':{'ttl':1},'list':[{'ttl':0}],"
                             "'TTL':1,'Ttl':'x'}"),
                 201);
    world_at(&f.world, 100000);
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_ANSWER(read, 200);
    CHECK_EQ(number(&f, &read, "in.ttl"), 1, "");
    items_close(&f);
}
