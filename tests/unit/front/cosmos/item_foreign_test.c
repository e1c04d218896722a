/* Documents that came through another protocol: they have an _id, and perhaps no id. */
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
