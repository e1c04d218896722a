/* Rows of queries that are whole items: they are written as reading the item shows it, for every kind of value. */
#include "tests/support/items.h"

#define P "pk: ['p']"

/* The item as a read shows it, and as a row. */
static void check_row_is_read(struct cosmos_face *f, const char *headers, const char *id)
{
    static const char *const queries[] = {
        "SELECT * FROM c WHERE c.id = \\'%s\\'",
        "SELECT VALUE c FROM c WHERE c.id = \\'%s\\'",
        "SELECT TOP 1 * FROM c WHERE c.id = \\'%s\\' ORDER BY c.id",
        "SELECT * FROM c WHERE c.id >= \\'%s\\' ORDER BY c.id OFFSET 0 LIMIT 1",
    };
    struct cosmos_answer read = item_read(f, headers, id);

    CHECK_ANSWER(read, 200);
    EACH_ROW(queries, query) {
        struct cosmos_answer row = item_query(f, headers, arena_format(f->world.arena, *query, id));
        CHECK_ANSWER(row, 200);
        CHECK_TEXT(cosmos_value(f, &row, "_count"), "1");
        CHECK_BYTES(cosmos_value(f, &row, "Documents.0"), cosmos_value(f, &read, ""), *query);
    }
}

/* ... and as a part of a row, which is written another way. */
static void check_shown_alike(struct cosmos_face *f, const char *headers, const char *id)
{
    struct cosmos_answer read = item_read(f, headers, id);

    check_row_is_read(f, headers, id);
    struct cosmos_answer part = item_query(
        f, headers,
        arena_format(f->world.arena, "SELECT VALUE {x: c} FROM c WHERE c.id = \\'%s\\'", id));
    CHECK_ANSWER(part, 200);
    CHECK_BYTES(cosmos_value(f, &part, "Documents.0.x"), cosmos_value(f, &read, ""), id);
}

TEST(item_query, a_row_that_is_an_item_is_shown_as_a_read_shows_it)
{
    static const char *const values[] = {
        "null",
        "true",
        "false",
        "0",
        "-1",
        "9007199254740993",
        "1.5",
        "-0.0",
        "1e300",
        "''",
        "'text'",
        "'\\u0000\\u001f \\\\ \\/ \\n\\t\\u007f'",
        "'\u00e4\u20ac\U0001f600'",
        "[]",
        "{}",
        "[1,[2,{'a':null}],'x']",
        "{'a':{'b':[]},'':1}",
        "{'$date':1}",
        "{'_rid':'inside','id':5}",
    };
    struct cosmos_face f;
    int number = 0;

    items_open(&f, TTL_OFF);
    EACH_ROW(values, value) {
        const char *id = arena_format(f.world.arena, "i%d", number++);
        CHECK_ANSWER(item_create(&f, P, "{'v':%s,'id':'%s','pk':'p','ttl':100}", *value, id), 201);
        check_shown_alike(&f, P, id);
    }
    CHECK_ANSWER(
        item_create(&f, P, "{'id':'a','pk':'p','_ts':1,'_etag':'mine','_self':[],'_rid':0}"), 201);
    check_shown_alike(&f, P, "a");
    CHECK_ANSWER(item_replace(&f, P, "a", "{'pk':'p','id':'a','v':'written again'}"), 200);
    check_shown_alike(&f, P, "a");
    items_close(&f);
}

/* Its text is remembered then, under the number of its write. */
TEST(item_query, a_row_that_comes_again_and_again_is_shown_as_a_read_shows_it)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','v':'first'}"), 201);
    for (int i = 0; i < 6; i++)
        check_row_is_read(&f, P, "a");
    CHECK_ANSWER(item_replace(&f, P, "a", "{'id':'a','pk':'p','v':'second'}"), 200);
    for (int i = 0; i < 6; i++)
        check_row_is_read(&f, P, "a");
    CHECK_ANSWER(item_delete(&f, P, "a"), 204);
    struct cosmos_answer none = item_query(&f, P, "SELECT * FROM c ORDER BY c.id");
    CHECK_ANSWER(none, 200);
    CHECK_TEXT(cosmos_value(&f, &none, "_count"), "0");
    items_close(&f);
}

/* The third time and later, no item is read any more. */
TEST(item_query, rows_of_an_index_that_come_again_show_what_is_there_and_cost_the_same)
{
    static const char sql[] = "SELECT * FROM c WHERE c.v > 0";
    struct cosmos_face f;

    items_open(&f, TTL_NEVER);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','v':1}"), 201);
    CHECK_ANSWER(item_create(&f, P, "{'id':'b','pk':'p','v':2,'ttl':5}"), 201);
    struct cosmos_answer first = item_query(&f, P, sql);
    CHECK_ANSWER(first, 200);
    for (int i = 0; i < 6; i++) {
        struct cosmos_answer again = item_query(&f, P, sql);
        CHECK_BYTES(cosmos_value(&f, &again, ""), cosmos_value(&f, &first, ""), "the same rows");
        CHECK_BYTES(cosmos_header(&again, "x-ms-request-charge"),
                    cosmos_header(&first, "x-ms-request-charge"), "the same charge");
    }
    CHECK_ANSWER(item_replace(&f, P, "a", "{'id':'a','pk':'p','v':3}"), 200);
    struct cosmos_answer replaced = item_query(&f, P, sql);
    CHECK_TEXT(cosmos_value(&f, &replaced, "Documents.0.id"), "\"b\"");
    CHECK_TEXT(cosmos_value(&f, &replaced, "Documents.1.v"), "3");
    world_pass(&f.world, 5000);
    struct cosmos_answer later = item_query(&f, P, sql);
    CHECK_TEXT(cosmos_value(&f, &later, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &later, "Documents.0.id"), "\"a\"");
    items_close(&f);
}

TEST(item_query, an_item_of_another_protocol_is_shown_as_a_read_shows_it)
{
    static const char *const documents[] = {
        "{'_id':'a','d':{'$date':'2026-01-02T03:04:05.678Z'},'x':{'$numberDecimal':'1.50'}}",
        "{'_id':'b','id':'b','o':{'$oid':'0123456789abcdef01234567'}}",
        "{'_id':'c','id':7,'_ts':1,'_self':'mine','n':{'$numberDouble':'NaN'}}",
        "{'v':{'$binary':{'base64':'AAEC','subType':'00'}},'_id':'d','m':{'$minKey':1}}",
        ("{'_id':'e','r':{'$regularExpression':{'pattern':'^a','options':'i'}},'u':{'$undefined':"
         "true}}"),
        "{'_id':'f','t':{'$timestamp':{'t':1,'i':2}},'s':{'$symbol':'s'},'l':{'$numberLong':'5'}}",
    };
    static const char *const ids[] = { "a", "b", "c", "d", "e", "f" };
    struct cosmos_face f;

    cosmos_face_open(&f);
    world_collection(&f.world, "c", TTL_OFF, "all: paths +/*");
    EACH_ROW(documents, document)
        CHECK_WRITTEN(world_insert(&f.world, "c", "%s", *document), OK);
    EACH_ROW(ids, id)
        check_row_is_read(&f, "", *id);
    cosmos_face_close(&f);
}
