/* Batches: transactional ones are carried out whole or not at all, bulk ones operation by operation. */
#include <stdio.h>

#include "tests/support/items.h"

#define P "pk: ['p']"
#define ON "pk: ['p']\nx-ms-cosmos-batch-continue-on-error: true"
#define CREATE(id) "{'operationType':'Create','resourceBody':{'id':'" id "','pk':'p'}}"
#define UPSERT(id, v) "{'operationType':'Upsert','resourceBody':{'id':'" id "','pk':'p','v':" v "}}"
#define REPLACE(id, v) \
    "{'operationType':'Replace','id':'" id "','resourceBody':{'id':'" id "','pk':'p','v':" v "}}"
#define READ(id) "{'operationType':'Read','id':'" id "'}"
#define DELETE(id) "{'operationType':'Delete','id':'" id "'}"
#define INCREMENT(id)                                                       \
    "{'operationType':'Patch','id':'" id "','resourceBody':{'operations':[" \
    "{'op':'incr','path':'/v','value':1}]}}"

static bytes result(struct cosmos_face *f, const struct cosmos_answer *answer, const char *path)
{
    struct cosmos_answer wrapped = { .status = answer->status };
    struct buffer body = buffer_in(f->world.arena);

    buffer_append_text(&body, "{\"r\":");
    buffer_append(&body, answer->body);
    buffer_append_text(&body, "}");
    CHECK_OK(buffer_finish(&body, &wrapped.body));
    return cosmos_value(f, &wrapped, arena_format(f->world.arena, "r.%s", path));
}

static void check_there(struct cosmos_face *f, const char *ids)
{
    struct cosmos_answer feed = item_feed(f, "");

    CHECK_STRING(item_ids(f, &feed), ids);
}

/* ---- transactional ---------------------------------------------------------------------------------- */

TEST(item_batch, all_operations_are_carried_out_and_answered_in_order)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'old','pk':'p','v':1}"), 201);
    CHECK_ANSWER(item_create(&f, P, "{'id':'gone','pk':'p','v':1}"), 201);
    struct cosmos_answer answer = item_batch(
        &f, P,
        "[" CREATE("a") "," UPSERT("b", "1") "," UPSERT("old", "5") "," READ("old") "," REPLACE(
            "a", "7") "," INCREMENT("old") "," DELETE("gone") "," READ("a") "]");
    CHECK_ANSWER(answer, 200);
    CHECK_STRING(item_statuses(&f, &answer), "201 201 200 200 200 200 204 200");
    CHECK_TEXT(result(&f, &answer, "3.resourceBody.v"), "5");
    CHECK_TEXT(result(&f, &answer, "5.resourceBody.v"), "6");
    CHECK_TEXT(result(&f, &answer, "7.resourceBody.v"), "7");
    CHECK_EQ(result(&f, &answer, "6.resourceBody").len, 0, "");
    CHECK_TEXT(result(&f, &answer, "7.resourceBody._rid"),
               arena_format(f.world.arena, "%.*s",
                            (int)result(&f, &answer, "0.resourceBody._rid").len,
                            (const char *)result(&f, &answer, "0.resourceBody._rid").data));
    check_there(&f, "a b old");
    struct cosmos_answer read = item_read(&f, P, "old");
    CHECK_TEXT(cosmos_value(&f, &read, "v"), "6");
    bytes etag = cosmos_value(&f, &read, "_etag");
    CHECK_BYTES(result(&f, &answer, "5.eTag"), etag, "");
    items_close(&f);
}

TEST(item_batch, one_failure_fails_all_and_nothing_is_written)
{
    const struct {
        const char *why, *ops, *statuses;
    } rows[] = {
        {"a conflict",          "[" CREATE("a") "," CREATE("old") "," CREATE("b") "]", "424 409 424"                  },
        { "twice in the batch", "[" CREATE("a") "," CREATE("a") "]",                   "424 409"                      },
        { "nothing to read",    "[" CREATE("a") "," READ("none") "]",                  "424 404"                      },
        { "nothing to replace", "[" CREATE("a") "," REPLACE("none",                    "1") "]",                        "424 404" },
        { "nothing to delete",                    "[" CREATE("a") "," DELETE("none") "]",                                                      "424 404"                           },
        { "nothing to patch",                    "[" CREATE("a") "," INCREMENT("none") "]",                                                       "424 404"},
        { "deleted before",                    "[" DELETE("old") "," READ("old") "]",                                                         "424 404"                                 },
        { "the first one counts",                    "[" CREATE("old") "," READ("none") "]",                                                   "409 424"},
        { "a bad patch",
         "[" CREATE("a") ",{'operationType':'Patch','id':'old','resourceBody':[{'op':'remove',"
                          "'path':'/none'}]}]",                                                            "424 400"                                                                        },
        { "an old etag",                    "[" CREATE("a") ",{'operationType':'Delete','id':'old','ifMatch':'x'}]",
         "424 412"},
        { "no such operation",                    "[" CREATE("a") ",{'operationType':'Jump'}]",                                                      "424 400"                                                                                             },
        { "another partition key",
         "[" CREATE("a") ",{'operationType':'Create','resourceBody':{'id':'b','pk':'q'}}]",
         "424 400"                            },
        { "another partition key of the operation",
         "[" CREATE("a") ",{'operationType':'Read','id':'old','partitionKey':'[\\'q\\']'}]",
         "424 400"                           },
        { "no body",                    "[" CREATE("a") ",{'operationType':'Create'}]",                                                                "424 400"   },
        { "no id",                    "[" CREATE("a") ",{'operationType':'Read'}]",                                                                  "424 400"                               },
        { "another id",
         "[" CREATE("a") ",{'operationType':'Replace','id':'old','resourceBody':{'id':'b',"
                          "'pk':'p'}}]",                                                             "424 400"                                                                               },
    };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'old','pk':'p','v':1}"), 201);
    EACH_ROW(rows, r) {
        struct cosmos_answer answer = item_batch(&f, P, "%s", r->ops);
        CHECK_EQ(answer.status, 207, "%s: %.*s", r->why, (int)answer.body.len,
                 (const char *)answer.body.data);
        CHECK_STRING(item_statuses(&f, &answer), r->statuses);
        check_there(&f, "old");
    }
    struct cosmos_answer answer =
        item_batch(&f, P, "[{'operationType':'Create','resourceBody':{'id':'b','pk':'q'}}]");
    CHECK_TEXT(result(&f, &answer, "0.subStatusCode"), "1001");
    items_close(&f);
}

TEST(item_batch, a_unique_key_fails_its_operation)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    world_collection_parted(&f.world, "c", TTL_OFF, "u: email unique sparse", "pk");
    CHECK_ANSWER(item_create(&f, "", "{'id':'a','pk':'p','email':'x'}"), 201);
    CHECK_ANSWER(item_create(&f, "", "{'id':'b','pk':'p','email':'x'}"), 409);
    struct cosmos_answer answer =
        item_batch(&f, P,
                   "[" CREATE("c") ",{'operationType':'Create','resourceBody':{'id':'b','pk':'p',"
                                   "'email':'x'}}]");
    CHECK_STRING(item_statuses(&f, &answer), "424 409");
    answer =
        item_batch(&f, P,
                   "[" CREATE("c") ",{'operationType':'Create','resourceBody':{'id':'b','pk':'p',"
                                   "'email':'x'}}," CREATE("a") "," READ("none") "]");
    CHECK_STRING(item_statuses(&f, &answer), "424 409 424 424"); /* it is the first that fails */
    answer = item_batch(&f, P, "[" CREATE("c") "," READ("none") "]");
    CHECK_STRING(item_statuses(&f, &answer), "424 404");
    answer =
        item_bulk(&f, ON,
                  "[" CREATE("c") ",{'operationType':'Create','resourceBody':{'id':'b','pk':'p',"
                                  "'email':'x'}}]");
    CHECK_STRING(item_statuses(&f, &answer), "201 409");
    cosmos_face_close(&f);
}

TEST(item_batch, conditions_are_kept_within_a_batch)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','v':1}");
    bytes etag = cosmos_value(&f, &made, "_etag");
    struct cosmos_answer answer =
        item_batch(&f, P,
                   "[{'operationType':'Read','id':'a','ifNoneMatch':%.*s},"
                   "{'operationType':'Replace','id':'a','ifMatch':%.*s,'resourceBody':{'id':'a',"
                   "'pk':'p','v':2}}]",
                   (int)etag.len, (const char *)etag.data, (int)etag.len, (const char *)etag.data);
    CHECK_STRING(item_statuses(&f, &answer), "304 200");
    answer = item_batch(&f, P, "[{'operationType':'Delete','id':'a','ifMatch':%.*s}]",
                        (int)etag.len, (const char *)etag.data);
    CHECK_STRING(item_statuses(&f, &answer), "412");
    items_close(&f);
}

/* ---- the request as a whole ------------------------------------------------------------------------- */

TEST(item_batch, a_body_that_is_no_batch_is_refused)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_batch(&f, P, "%s", ""), 400);
    CHECK_ANSWER(item_batch(&f, P, "{}"), 400);
    CHECK_ANSWER(item_batch(&f, P, "[]"), 400);
    CHECK_ANSWER(item_batch(&f, P, "[7]"), 400);
    CHECK_ANSWER(item_batch(&f, "", "[" CREATE("a") "]"), 400);
    struct cosmos_answer answer = item_batch(&f, P, "\x81\x01\x02");
    CHECK_ANSWER(answer, 400);
    CHECK(cosmos_body_has(&answer, "HybridRow"));
    items_close(&f);
}

TEST(item_batch, a_hundred_operations_are_the_limit)
{
    struct cosmos_face f;
    struct buffer ops;

    items_open(&f, TTL_OFF);
    ops = buffer_in(f.world.arena);
    for (int i = 0; i < 100; i++)
        buffer_append_format(&ops,
                             "%s{'operationType':'Create','resourceBody':{'id':'%d',"
                             "'pk':'p'}}",
                             i ? "," : "", i);
    buffer_append_byte(&ops, 0);
    const char *text = (const char *)ops.data;
    CHECK_ANSWER(item_batch(&f, P, "[%s,%s]", text, CREATE("more")), 400);
    CHECK_ANSWER(item_batch(&f, P, "[%s]", text), 200);
    CHECK_ANSWER(item_bulk(&f, P, "[%s,%s]", text, CREATE("more")), 400);
    items_close(&f);
}

TEST(item_batch, a_batch_of_more_than_two_megabytes_is_too_large)
{
    enum { MUCH = 2400 * 1024 };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    char *text = memory_take(MUCH + 1);
    memset(text, 'x', MUCH);
    text[MUCH] = '\0';
    struct cosmos_answer answer =
        item_bulk(&f, ON,
                  "[{'operationType':'Create','resourceBody':{'id':'a','pk':'p',"
                  "'big':'%s'}}]",
                  text);
    CHECK_ANSWER(answer, 413);
    memory_give(text);
    items_close(&f);
}

TEST(item_batch, minimal_replies_hold_only_what_was_read)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_batch(&f, "pk: ['p']\nprefer: return=minimal",
                                             "[" CREATE("a") "," READ("a") "]");
    CHECK_ANSWER(answer, 200);
    CHECK_EQ(result(&f, &answer, "0.resourceBody").len, 0, "");
    CHECK(result(&f, &answer, "0.eTag").len > 0);
    CHECK_TEXT(result(&f, &answer, "1.resourceBody.id"), "\"a\"");
    items_close(&f);
}

/* ---- bulk ------------------------------------------------------------------------------------------- */

TEST(item_batch, bulk_carries_out_each_operation_for_itself)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_bulk(
        &f, "x-ms-cosmos-batch-continue-on-error: true",
        "[{'operationType':'Create','partitionKey':'[\\'p\\']','resourceBody':{'id':'a','pk':'p'}},"
        "{'operationType':'Create','partitionKey':'[\\'q\\']','resourceBody':{'id':'a','pk':'q'}},"
        "{'operationType':'Create','partitionKey':'[\\'p\\']','resourceBody':{'id':'a','pk':'p'}},"
        "{'operationType':'Create','resourceBody':{'id':'b'}},"
        "{'operationType':'Create','partitionKey':'[{}]','resourceBody':{'id':'c'}},"
        "{'operationType':'Create','partitionKey':'[\\'q\\']','resourceBody':{'id':'d','pk':'p'}},"
        "{'operationType':'Read','id':'a'},"
        "{'operationType':'Read','id':'a','partitionKey':'[\\'q\\']'},"
        "{'operationType':'Delete','id':'a','partitionKey':'[\\'q\\']'},"
        "{'operationType':'Read','id':'a','partitionKey':'[\\'q\\']'}]");
    CHECK_ANSWER(answer, 207);
    CHECK_STRING(item_statuses(&f, &answer), "201 201 409 201 201 400 400 200 204 404");
    CHECK_TEXT(result(&f, &answer, "5.subStatusCode"), "1001");
    CHECK_TEXT(result(&f, &answer, "7.resourceBody.pk"), "\"q\"");
    items_close(&f);
}

TEST(item_batch, bulk_gives_what_one_by_one_would_give)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_bulk(
        &f, ON,
        "[" CREATE("a") "," REPLACE("a", "1") "," INCREMENT("a") "," INCREMENT("a") "," REPLACE("a", "10") "," INCREMENT("a") "," READ(
            "a") "," DELETE("a") "," INCREMENT("a") "," CREATE("a") "," READ("a") "," UPSERT("b",
                                                                                             "1") "," INCREMENT("b") "]");
    CHECK_STRING(item_statuses(&f, &answer), "201 200 200 200 200 200 200 204 404 201 200 201 200");
    CHECK_TEXT(result(&f, &answer, "3.resourceBody.v"), "3");
    CHECK_TEXT(result(&f, &answer, "6.resourceBody.v"), "11");
    CHECK_EQ(result(&f, &answer, "10.resourceBody.v").len, 0, "");
    CHECK_TEXT(result(&f, &answer, "12.resourceBody.v"), "2");
    items_close(&f);
}

TEST(item_batch, bulk_sees_its_own_writes_behind_an_operation_by_resource_id)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer created = item_create(&f, P, "{'id':'old','pk':'p','v':1}");
    const char *rid = item_text(&f, &created, "_rid");
    struct cosmos_answer answer =
        item_bulk(&f, ON,
                  "[" UPSERT("a", "1") ",{'operationType':'Read','id':'%s'}," READ(
                      "a") "," INCREMENT("old") ","
                                                "{'operationType':'Read','id':'%s'}]",
                  rid, rid);
    CHECK_STRING(item_statuses(&f, &answer), "201 200 200 200 200");
    CHECK_TEXT(result(&f, &answer, "4.resourceBody.v"), "2");
    items_close(&f);
}

TEST(item_batch, bulk_stops_at_the_first_failure_if_told_to)
{
    const struct {
        const char *ops, *statuses, *left;
    } rows[] = {
        {"[" CREATE("a") "," CREATE("old") "," CREATE("b") "]",                           "201 409 424", "a old"  },
        { "[" CREATE("old") "," CREATE("b") "]",                                          "409 424",     "old"    },
        { "[" CREATE("a") "," READ("none") "," CREATE("b") "]",                           "201 404 424", "a old"  },
        { "[" CREATE("old") "," READ("none") "," CREATE("b") "]",                         "409 424 424", "old"    },
        { "[" CREATE("a") ",{'operationType':'Jump'}," CREATE("b") "]",                   "201 400 424", "a old"  },
        { "[" CREATE("a") "," CREATE("b") "]",                                            "201 201",     "a b old"},
        { "[" CREATE("a") "," INCREMENT("old") "," INCREMENT("none") "," CREATE("b") "]",
         "201 200 404 424",                                                                              "a old"  },
    };

    EACH_ROW(rows, r) {
        struct cosmos_face f;
        items_open(&f, TTL_OFF);
        CHECK_ANSWER(item_create(&f, P, "{'id':'old','pk':'p','v':1}"), 201);
        struct cosmos_answer answer = item_bulk(&f, P, "%s", r->ops);
        CHECK_STRING(item_statuses(&f, &answer), r->statuses);
        check_there(&f, r->left);
        items_close(&f);
    }
}
