/* Partition keys: what a header may say, and what an item may hold at their paths. */
#include "tests/support/items.h"

static void open_parted(struct cosmos_face *f, size_t count, const char *const *paths)
{
    bytes names[3];
    struct collection_definition definition = {
        .database = BYTES_LITERAL("db"),
        .name = BYTES_LITERAL("c"),
        .default_ttl = TTL_OFF,
        .partition_path_count = count,
        .partition_paths = names,
    };

    cosmos_face_open(f);
    for (size_t i = 0; i < count; i++)
        names[i] = bytes_of_text(paths[i]);
    CHECK_OK(collection_create(f->world.engine, f->world.arena, &definition, NULL, 0));
}

TEST(partition_key, every_scalar_is_a_key_of_its_own)
{
    const struct {
        const char *header, *body;
    } rows[] = {
        {"pk: ['a']",         ",'pk':'a'"       },
        { "pk: ['']",         ",'pk':''"        },
        { "pk: [0]",          ",'pk':0"         },
        { "pk: [42]",         ",'pk':42.0"      },
        { "pk: [-1.5]",       ",'pk':-1.5"      },
        { "pk: [true]",       ",'pk':true"      },
        { "pk: [false]",      ",'pk':false"     },
        { "pk: [null]",       ",'pk':null"      },
        { "pk: [{}]",         ""                },
        { "pk: ['p\\u00e9']", ",'pk':'p\\u00e9'"},
        { "pk: ['0']",        ",'pk':'0'"       },
    };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    EACH_ROW(rows, r)
        CHECK_ANSWER(item_create(&f, r->header, "{'id':'x'%s}", r->body), 201);
    EACH_ROW(rows, r) {
        CHECK_ANSWER(item_create(&f, r->header, "{'id':'x'%s}", r->body), 409);
        CHECK_ANSWER(item_read(&f, r->header, "x"), 200);
        struct cosmos_answer feed = item_feed(&f, r->header);
        CHECK_STRING(item_ids(&f, &feed), "x");
    }
    struct cosmos_answer all = item_feed(&f, "");
    CHECK_TEXT(cosmos_value(&f, &all, "_count"), "11");
    items_close(&f);
}

TEST(partition_key, a_key_that_is_not_the_items_is_refused)
{
    const struct {
        const char *why, *header, *body;
        unsigned want;
        const char *substatus;
    } rows[] = {
        {"another value",        "pk: ['q']",     "{'id':'x','pk':'p'}",     400, "1001"},
        { "another type",        "pk: ['1']",     "{'id':'x','pk':1}",       400, "1001"},
        { "null is not missing", "pk: [null]",    "{'id':'x'}",              400, "1001"},
        { "missing is not null", "pk: [{}]",      "{'id':'x','pk':null}",    400, "1001"},
        { "too many components", "pk: ['p','q']", "{'id':'x','pk':'p'}",     400, "1001"},
        { "no component",        "pk: []",        "{'id':'x','pk':'p'}",     400, "1001"},
        { "four components",     "pk: [1,2,3,4]", "{'id':'x','pk':'p'}",     400, "1001"},
        { "not JSON",            "pk: [p]",       "{'id':'x','pk':'p'}",     400, ""    },
        { "not an array",        "pk: 'p'",       "{'id':'x','pk':'p'}",     400, ""    },
        { "an array inside",     "pk: [['p']]",   "{'id':'x','pk':'p'}",     400, ""    },
        { "an object inside",    "pk: [{'a':1}]", "{'id':'x','pk':'p'}",     400, ""    },
        { "array in the item",   "",              "{'id':'x','pk':['p']}",   400, ""    },
        { "object in the item",  "",              "{'id':'x','pk':{'a':1}}", 400, ""    },
        { "equal numbers",       "pk: [1]",       "{'id':'x','pk':1.0}",     201, ""    },
        { "none given",          "",              "{'id':'x','pk':'p'}",     201, ""    },
    };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    EACH_ROW(rows, r) {
        struct cosmos_answer answer = item_create(&f, r->header, "%s", r->body);
        CHECK_EQ(answer.status, r->want, "%s: %.*s", r->why, (int)answer.body.len,
                 (const char *)answer.body.data);
        CHECK_TEXT(cosmos_header(&answer, "x-ms-substatus"), r->substatus);
    }
    struct cosmos_answer answer = item_create(&f, "pk: ['q']", "{'id':'x','pk':'p'}");
    CHECK(cosmos_body_has(&answer, "PartitionKey extracted from document doesn't match the one "
                                   "specified in the header") ||
          strstr(item_text(&f, &answer, "message"), "PartitionKey extracted from document"));
    items_close(&f);
}

TEST(partition_key, operations_on_a_name_need_one)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, "", "{'id':'x','pk':'p'}"), 201);
    CHECK_ANSWER(item_read(&f, "", "x"), 400);
    CHECK_ANSWER(item_delete(&f, "", "x"), 400);
    CHECK_ANSWER(item_patch(&f, "", "x", "[{'op':'set','path':'/v','value':1}]"), 400);
    CHECK_ANSWER(item_read(&f, "pk: ['p']", "x"), 200);
    items_close(&f);
}

TEST(partition_key, keys_of_up_to_2048_bytes_are_taken)
{
    char key[2050];
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    memset(key, 'k', sizeof(key));
    key[2049] = '\0';
    CHECK_ANSWER(item_create(&f, "", "{'id':'x','pk':'%s'}", key), 400);
    key[2048] = '\0';
    CHECK_ANSWER(item_create(&f, "", "{'id':'x','pk':'%s'}", key), 201);
    CHECK_ANSWER(item_read(&f, arena_format(f.world.arena, "pk: ['%s']", key), "x"), 200);
    items_close(&f);
}

TEST(partition_key, nested_and_hierarchical_paths_are_followed)
{
    const char *const paths[] = { "tenant", "user.id", "session" };
    struct cosmos_face f;

    open_parted(&f, 3, paths);
    CHECK_ANSWER(item_create(&f, "pk: ['t',7,{}]", "{'id':'a','tenant':'t','user':{'id':7}}"), 201);
    CHECK_ANSWER(
        item_create(&f, "pk: ['t',7,'s']", "{'id':'a','tenant':'t','user':{'id':7},'session':'s'}"),
        201);
    CHECK_ANSWER(
        item_create(&f, "pk: ['t',{},'s']", "{'id':'a','tenant':'t','user':[7],'session':'s'}"),
        201);
    CHECK_ANSWER(
        item_create(&f, "pk: ['u',7,'s']", "{'id':'a','tenant':'u','user':{'id':7},'session':'s'}"),
        201);
    CHECK_ANSWER(item_read(&f, "pk: ['t',7,'s']", "a"), 200);
    struct cosmos_answer answer = item_read(&f, "pk: ['t',7]", "a");
    CHECK_ANSWER(answer, 400);
    CHECK_TEXT(cosmos_header(&answer, "x-ms-substatus"), "1001");
    const struct {
        const char *header, *count;
    } rows[] = {
        {"pk: ['t',7,'s']", "1"},
        { "pk: ['t',7]",    "2"},
        { "pk: ['t']",      "3"},
        { "pk: []",         "4"},
        { "",               "4"},
        { "pk: ['none']",   "0"},
    };
    EACH_ROW(rows, r) {
        struct cosmos_answer feed = item_feed(&f, r->header);
        CHECK_ANSWER(feed, 200);
        CHECK_TEXT(cosmos_value(&f, &feed, "_count"), r->count);
    }
    cosmos_face_close(&f);
}

TEST(partition_key, a_container_without_paths_needs_none_and_takes_any)
{
    struct cosmos_face f;

    open_parted(&f, 0, NULL);
    CHECK_ANSWER(item_create(&f, "pk: [{}]", "{'id':'a'}"), 201);
    CHECK_ANSWER(item_create(&f, "", "{'id':'b'}"), 201);
    CHECK_ANSWER(item_create(&f, "pk: []", "{'id':'c'}"), 201);
    CHECK_ANSWER(item_read(&f, "", "a"), 200);
    CHECK_ANSWER(item_read(&f, "pk: ['x']", "b"), 200);
    struct cosmos_answer feed = item_feed(&f, "pk: [{}]");
    CHECK_STRING(item_ids(&f, &feed), "a b c");
    cosmos_face_close(&f);
}

TEST(partition_key, all_items_of_one_can_be_deleted_at_once)
{
    enum { MANY = 1203 };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    for (int i = 0; i < MANY; i++)
        CHECK_ANSWER(item_create(&f, "", "{'id':'%04d','pk':'p'}", i), 201);
    CHECK_ANSWER(item_create(&f, "", "{'id':'a','pk':'q'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls/c/operations/partitionkeydelete", "", ""), 400);
    struct cosmos_answer answer = cosmos_ask(&f,
                                             "POST /dbs/db/colls/c/operations/partitionkeydelete",
                                             "x-ms-documentdb-partitionkey: ['p']", "");
    CHECK_ANSWER(answer, 200);
    CHECK_EQ(answer.body.len, 0, "");
    struct cosmos_answer feed = item_feed(&f, "");
    CHECK_STRING(item_ids(&f, &feed), "a");
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls/c/operations/partitionkeydelete",
                            "x-ms-documentdb-partitionkey: ['p']", ""),
                 200);
    items_close(&f);
}
