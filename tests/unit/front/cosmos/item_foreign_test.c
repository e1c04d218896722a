/* Documents that came through another protocol: they have an _id, and perhaps no id. */
#include "front/foreign.h"
#include "tests/support/items.h"

static void open_foreign(struct cosmos_face *f)
{
    cosmos_face_open(f);
    world_collection(&f->world, "c", TTL_OFF, "all: paths +/*");
}

TEST(item_foreign, the_id_is_the_text_of_the_other_id)
{
    const struct {
        const char *document, *id;
    } rows[] = {
        {"{'_id':'text','v':1}",              "text"},
        { "{'_id':5,'v':1}",                  "5"   },
        { "{'_id':-1.5,'v':1}",               "-1.5"},
        { "{'_id':true,'v':1}",               "true"},
        { "{'_id':null,'v':1}",               "null"},
        { "{'_id':7,'id':8,'v':1}",           "7"   },
        { "{'_id':'same','id':'same','v':1}", "same"},
    };
    struct cosmos_face f;

    open_foreign(&f);
    EACH_ROW(rows, r)
        CHECK_WRITTEN(world_insert(&f.world, "c", "%s", r->document), OK);
    EACH_ROW(rows, r) {
        struct cosmos_answer read = item_read(&f, "", r->id);
        CHECK_ANSWER(read, 200);
        CHECK_STRING(item_text(&f, &read, "id"), r->id);
        CHECK_TEXT(cosmos_value(&f, &read, "v"), "1");
        CHECK_EQ(strlen(item_text(&f, &read, "_rid")), 24, "");
    }
    struct cosmos_answer feed = item_feed(&f, "");
    CHECK_STRING(item_ids(&f, &feed), "null -1.5 5 7 same text true");
    struct cosmos_answer rows_shown = item_query(&f, "", "select c.id from c where c.id = \\'5\\'");
    CHECK_TEXT(cosmos_value(&f, &rows_shown, "Documents"), "[{\"id\":\"5\"}]");
    cosmos_face_close(&f);
}

TEST(item_foreign, stored_fields_with_system_names_are_not_shown)
{
    struct cosmos_face f;

    open_foreign(&f);
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'a','_ts':1,'_etag':'x','v':1}"), OK);
    struct cosmos_answer read = item_read(&f, "", "a");
    CHECK(cosmos_body_has(&read, "{'id':'a','_id':'a','v':1,'_rid':"));
    CHECK_EQ(cosmos_value(&f, &read, "_ts").len, 10, "");
    cosmos_face_close(&f);
}

TEST(item_foreign, a_change_through_this_face_keeps_the_other_id)
{
    struct cosmos_face f;

    open_foreign(&f);
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':5,'v':1}"), OK);
    CHECK_ANSWER(item_create(&f, "", "{'id':'5','v':2}"), 409);
    CHECK_ANSWER(item_replace(&f, "", "5", "{'id':'5','v':2}"), 200);
    CHECK_BYTES(world_read(&f.world, "c", "{'_id':5}").bson,
                world_document(f.world.arena, "{'_id':5,'id':'5','v':2}"), "");
    CHECK_ANSWER(item_upsert(&f, "", "{'id':'5','v':3}"), 200);
    CHECK_ANSWER(item_patch(&f, "", "5", "[{'op':'incr','path':'/v','value':1}]"), 200);
    CHECK_BYTES(world_read(&f.world, "c", "{'_id':5}").bson,
                world_document(f.world.arena, "{'_id':5,'id':'5','v':4}"), "");
    struct cosmos_answer batch =
        item_batch(&f, "",
                   "[{'operationType':'Read','id':'5'},"
                   "{'operationType':'Create','resourceBody':{'id':'5'}}]");
    CHECK_STRING(item_statuses(&f, &batch), "424 409");
    struct cosmos_answer bulk = item_bulk(&f, "x-ms-cosmos-batch-continue-on-error: true",
                                          "[{'operationType':'Create','resourceBody':{'id':'5'}},"
                                          "{'operationType':'Delete','id':'5'}]");
    CHECK_STRING(item_statuses(&f, &bulk), "409 204");
    CHECK(!world_read(&f.world, "c", "{'_id':5}").is_there);
    CHECK_ANSWER(item_create(&f, "", "{'id':'5','v':2}"), 201);
    cosmos_face_close(&f);
}

TEST(item_foreign, an_item_with_the_very_id_goes_first)
{
    struct cosmos_face f;

    open_foreign(&f);
    CHECK_ANSWER(item_create(&f, "", "{'id':'5','v':'text'}"), 201);
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':5,'v':'number'}"), OK);
    struct cosmos_answer read = item_read(&f, "", "5");
    CHECK_STRING(item_text(&f, &read, "v"), "text");
    CHECK_ANSWER(item_delete(&f, "", "5"), 204);
    read = item_read(&f, "", "5");
    CHECK_STRING(item_text(&f, &read, "v"), "number");
    cosmos_face_close(&f);
}

/* ---- ids of their own ------------------------------------------------------------------------------- */

/* As the face marks it that lets such documents in. */
static void mark_own(struct cosmos_face *f)
{
    struct world *w = &f->world;
    bytes options;

    CHECK_OK(foreign_mark_own(w->arena, BYTES_NONE, &options));
    CHECK_OK(collection_set_options(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_LITERAL("c"),
                                    options));
}

/* With an index over the id and without; `pk` is the header that a request needs. */
static const struct own_ids {
    const char *why, *indexes, *parts, *pk;
} own_ids[] = {
    {"all paths, by partition key", "all: paths +/*",        "pk", "pk: ['p']"},
    { "paths without the id",       "all: paths +/* -/id/?", "pk", "pk: ['p']"},
    { "all paths, no partition",    "all: paths +/*",        NULL, ""         },
    { "an index over the id",       "id: id",                NULL, ""         },
    { "no index",                   "",                      NULL, ""         },
};

static void open_own(struct cosmos_face *f, const struct own_ids *row)
{
    cosmos_face_open(f);
    if (row->parts)
        world_collection_parted(&f->world, "c", TTL_NEVER, row->indexes, row->parts);
    else
        world_collection(&f->world, "c", TTL_NEVER, row->indexes);
    mark_own(f);
}

TEST(item_foreign, a_document_is_found_by_the_id_that_lists_show_and_by_no_other)
{
    EACH_ROW(own_ids, r) {
        struct cosmos_face f;

        open_own(&f, r);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'other','id':'mine','pk':'p','v':1}"),
                      OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':5,'id':'five','pk':'p','v':2}"), OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'plain','pk':'p','v':3}"), OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'z','id':'mine','pk':'q','v':4}"), OK);
        struct cosmos_answer read = item_read(&f, r->pk, "mine");
        CHECK_ANSWER(read, 200);
        CHECK_TEXT(cosmos_value(&f, &read, "v"), "1");
        CHECK_STRING(item_text(&f, &read, "id"), "mine");
        CHECK_ANSWER(item_read(&f, r->pk, "five"), 200);
        CHECK_ANSWER(item_read(&f, r->pk, "plain"), 200);
        CHECK_ANSWER(item_read(&f, r->pk, "other"), 404);
        CHECK_ANSWER(item_read(&f, r->pk, "5"), 404);
        CHECK_ANSWER(item_delete(&f, r->pk, "5"), 404);
        CHECK_ANSWER(item_delete(&f, r->pk, "other"), 404);
        CHECK_ANSWER(item_replace(&f, r->pk, "other", "{'id':'other','pk':'p'}"), 404);
        CHECK_ANSWER(item_patch(&f, r->pk, "other", "[{'op':'set','path':'/v','value':1}]"), 404);
        struct cosmos_answer found = item_query(&f, r->pk,
                                                "select value c.v from c where c.id = \\'five\\'");
        CHECK_TEXT(cosmos_value(&f, &found, "Documents"), "[2]");
        found = item_query(&f, r->pk, "select value c.v from c where c.id = \\'other\\'");
        CHECK_TEXT(cosmos_value(&f, &found, "Documents"), "[]");
        cosmos_face_close(&f);
    }
}

TEST(item_foreign, a_document_with_its_own_id_is_changed_by_that_and_keeps_the_other)
{
    EACH_ROW(own_ids, r) {
        struct cosmos_face f;

        open_own(&f, r);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':7,'id':'mine','pk':'p','v':1}"), OK);
        CHECK_ANSWER(item_create(&f, r->pk, "{'id':'mine','pk':'p'}"), 409);
        CHECK_ANSWER(item_replace(&f, r->pk, "mine", "{'id':'mine','pk':'p','v':2}"), 200);
        CHECK_BYTES(world_read(&f.world, "c", "{'_id':7,'pk':'p'}").bson,
                    world_document(f.world.arena, "{'_id':7,'id':'mine','pk':'p','v':2}"), "");
        CHECK_ANSWER(item_upsert(&f, r->pk, "{'id':'mine','pk':'p','v':3,'_id':'x'}"), 200);
        CHECK_ANSWER(item_patch(&f, r->pk, "mine", "[{'op':'incr','path':'/v','value':1}]"), 200);
        CHECK_BYTES(world_read(&f.world, "c", "{'_id':7,'pk':'p'}").bson,
                    world_document(f.world.arena, "{'_id':7,'id':'mine','pk':'p','v':4}"), "");
        CHECK_ANSWER(item_patch(&f, r->pk, "mine", "[{'op':'set','path':'/_id','value':1}]"), 400);
        CHECK_ANSWER(item_delete(&f, r->pk, "mine"), 204);
        CHECK(!world_read(&f.world, "c", "{'_id':7,'pk':'p'}").is_there);
        CHECK_ANSWER(item_upsert(&f, r->pk, "{'id':'mine','pk':'p','v':5}"), 201);
        CHECK_ANSWER(item_read(&f, r->pk, "mine"), 200);
        cosmos_face_close(&f);
    }
}

TEST(item_foreign, a_batch_finds_documents_by_their_own_ids)
{
    EACH_ROW(own_ids, r) {
        struct cosmos_face f;

        open_own(&f, r);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':7,'id':'mine','pk':'p','v':1}"), OK);
        struct cosmos_answer batch = item_batch(
            &f, r->pk,
            "[{'operationType':'Read','id':'mine'},"
            "{'operationType':'Replace','id':'mine','resourceBody':{'id':'mine','pk':'p','v':2}},"
            "{'operationType':'Patch','id':'mine','resourceBody':"
            "{'operations':[{'op':'incr','path':'/v','value':5}]}},"
            "{'operationType':'Read','id':'mine'}]");
        CHECK_STRING(item_statuses(&f, &batch), "200 200 200 200");
        CHECK_BYTES(world_read(&f.world, "c", "{'_id':7,'pk':'p'}").bson,
                    world_document(f.world.arena, "{'_id':7,'id':'mine','pk':'p','v':7}"), "");
        batch = item_batch(&f, r->pk,
                           "[{'operationType':'Delete','id':'mine'},"
                           "{'operationType':'Create','resourceBody':{'id':'mine','pk':'p'}},"
                           "{'operationType':'Read','id':'mine'}]");
        CHECK_STRING(item_statuses(&f, &batch), "204 201 200");
        batch = item_batch(&f, r->pk,
                           "[{'operationType':'Create','resourceBody':"
                           "{'id':'mine','pk':'p'}}]");
        CHECK_STRING(item_statuses(&f, &batch), "409");
        struct cosmos_answer bulk =
            item_bulk(&f,
                      arena_format(f.world.arena, "%s%sx-ms-cosmos-batch-continue-on-error: true",
                                   r->pk, *r->pk ? "\n" : ""),
                      "[{'operationType':'Create','resourceBody':{'id':'mine','pk':'p'}},"
                      "{'operationType':'Delete','id':'mine'},"
                      "{'operationType':'Create','resourceBody':{'id':'mine','pk':'p'}},"
                      "{'operationType':'Read','id':'mine'}]");
        CHECK_STRING(item_statuses(&f, &bulk), "409 204 201 200");
        cosmos_face_close(&f);
    }
}

TEST(item_foreign, the_id_of_a_dead_document_is_free_at_once)
{
    EACH_ROW(own_ids, r) {
        struct cosmos_face f;

        open_own(&f, r);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':7,'id':'mine','pk':'p','v':1,'ttl':10}"),
                      OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'key','id':'x','pk':'p','v':1,'ttl':10}"),
                      OK);
        CHECK_ANSWER(item_create(&f, r->pk, "{'id':'key','pk':'p'}"), 409);
        world_pass(&f.world, 11000);
        CHECK_ANSWER(item_read(&f, r->pk, "mine"), 404);
        CHECK_ANSWER(item_delete(&f, r->pk, "mine"), 404);
        CHECK_ANSWER(item_create(&f, r->pk, "{'id':'mine','pk':'p','v':2}"), 201);
        CHECK_ANSWER(item_create(&f, r->pk, "{'id':'key','pk':'p','v':2}"), 201);
        struct cosmos_answer read = item_read(&f, r->pk, "mine");
        CHECK_TEXT(cosmos_value(&f, &read, "v"), "2");
        cosmos_face_close(&f);
    }
}

TEST(item_foreign, of_several_documents_with_one_id_the_first_by_key_is_meant)
{
    EACH_ROW(own_ids, r) {
        struct cosmos_face f;

        open_own(&f, r);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'b','id':'5','pk':'p','v':'b'}"), OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':3,'id':'5','pk':'p','v':'3'}"), OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':5,'pk':'p','v':'5'}"), OK);
        CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':'5','pk':'p','v':'key'}"), OK);
        const char *order[] = { "key", "3", "5", "b" };
        for (size_t i = 0; i < ARRAY_COUNT(order); i++) {
            struct cosmos_answer read = item_read(&f, r->pk, "5");
            CHECK_STRING(item_text(&f, &read, "v"), order[i]);
            CHECK_ANSWER(item_delete(&f, r->pk, "5"), 204);
        }
        CHECK_ANSWER(item_read(&f, r->pk, "5"), 404);
        cosmos_face_close(&f);
    }
}

TEST(item_foreign, an_item_named_by_its_resource_id_keeps_the_other_id)
{
    struct cosmos_face f;

    open_own(&f, &own_ids[2]);
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':7,'id':'mine','v':1}"), OK);
    struct cosmos_answer read = item_read(&f, "", "mine");
    const char *rid = item_text(&f, &read, "_rid");
    CHECK_ANSWER(item_replace(&f, "", rid, "{'id':'mine','v':2}"), 200);
    CHECK_BYTES(world_read(&f.world, "c", "{'_id':7}").bson,
                world_document(f.world.arena, "{'_id':7,'id':'mine','v':2}"), "");
    CHECK_ANSWER(item_replace(&f, "", rid, "{'id':'7','v':3}"), 400);
    CHECK_ANSWER(item_delete(&f, "", rid), 204);
    cosmos_face_close(&f);
}
