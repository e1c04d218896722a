/* Queries over feeds of resources. */
#include "tests/support/cosmos_face.h"

#define QUERY "x-ms-documentdb-isquery: True\ncontent-type: application/query+json"

TEST(feed, query_finds_resources_by_their_properties)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'a'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/a/colls", "", "{'id':'x','defaultTtl':5}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/a/colls", "", "{'id':'y'}"), 201);
    struct cosmos_answer a =
        cosmos_ask(&f, "POST /dbs", QUERY,
                   "{'query':'SELECT * FROM root r WHERE r.id=@id','parameters':[{'name':'@id',"
                   "'value':'a'}]}");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &a, "Databases.0.id"), "\"a\"");
    a = cosmos_ask(&f, "POST /dbs/a/colls", QUERY,
                   "{'query':'SELECT VALUE r.id FROM r WHERE r.defaultTtl > 1'}");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "DocumentCollections"), "[\"x\"]");
    a = cosmos_ask(&f, "POST /dbs/a/colls", QUERY, "{'query':'SELECT VALUE COUNT(1) FROM r'}");
    CHECK_TEXT(cosmos_value(&f, &a, "DocumentCollections"), "[2]");
    a = cosmos_ask(&f, "POST /dbs/a/colls/x/udfs", QUERY, "{'query':'SELECT * FROM r'}");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "UserDefinedFunctions"), "[]");
    cosmos_face_close(&f);
}

TEST(feed, offer_of_a_container_is_found_by_its_link)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'other'}"), 201);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/db/colls", "x-ms-offer-throughput: 700",
                                           "{'id':'c'}");
    bytes self = cosmos_value(&f, &made, "_self");
    struct cosmos_answer a =
        cosmos_ask(&f, "POST /offers", QUERY,
                   arena_format(f.world.arena,
                                "{'query':'SELECT * from root where root.resource = \\'%.*s\\''}",
                                (int)self.len - 2, (const char *)self.data + 1));
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &a, "Offers.0.content.offerThroughput"), "700");
    cosmos_face_close(&f);
}

TEST(feed, query_goes_page_by_page)
{
    const char *const query = "{'query':'SELECT VALUE r.id FROM r'}";
    struct cosmos_face f;
    const char *headers = QUERY "\nx-ms-max-item-count: 2";
    const char *const pages[] = { "[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"e\"]" };

    cosmos_face_open(&f);
    for (char id = 'a'; id <= 'e'; id++)
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "",
                                arena_format(f.world.arena, "{'id':'%c'}", id)),
                     201);
    EACH_ROW(pages, page) {
        struct cosmos_answer a = cosmos_ask(&f, "POST /dbs/db/colls", headers, query);
        CHECK_ANSWER(a, 200);
        CHECK_TEXT(cosmos_value(&f, &a, "DocumentCollections"), *page);
        bytes token = cosmos_header(&a, "x-ms-continuation");
        headers = arena_format(f.world.arena,
                               QUERY "\nx-ms-max-item-count: 2\nx-ms-continuation: %.*s",
                               (int)token.len, (const char *)token.data);
        if (token.len == 0)
            CHECK(page == &pages[2]);
    }
    cosmos_face_close(&f);
}

TEST(feed, token_serves_only_the_feed_and_the_query_it_was_made_for)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'a'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'x'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'y'}"), 201);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db/colls", "x-ms-max-item-count: 1", "");
    bytes token = cosmos_header(&a, "x-ms-continuation");
    const char *header = arena_format(f.world.arena, "x-ms-continuation: %.*s", (int)token.len,
                                      (const char *)token.data);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls", header, ""), 200);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs", header, ""), 400);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/a/colls", header, ""), 400);
    header = arena_format(f.world.arena, "%s\n" QUERY, header);
    a = cosmos_ask(&f, "POST /dbs/db/colls", header, "{'query':'SELECT * FROM r'}");
    CHECK_ANSWER(a, 400);
    CHECK(cosmos_body_has(&a, "Invalid Continuation Token"));
    cosmos_face_close(&f);
}

TEST(feed, bad_queries_are_refused_with_their_place)
{
    const struct {
        const char *body, *says;
    } rows[] = {
        {"{}",                                                      "no string 'query'"},
        { "{'query':7}",                                            "no string 'query'"},
        { "{'query':'SELECT * FROM r','parameters':{}}",            "must be an array" },
        { "{'query':'SELECT * FROM r','parameters':[7]}",           "must be an array" },
        { "{'query':'SELECT * FROM r','parameters':[{'value':7}]}", "must be an array" },
        { "{'query':'SELECT * FROM r','parameters':[{'name':7}]}",  "must be an array" },
        { "{'query':'SELECT * FORM r'}",                            "SC1001"           },
        { "[]",                                                     "not valid JSON"   },
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(&f, "POST /dbs", QUERY, r->body);
        CHECK_ANSWER(a, 400);
        CHECK_THAT(cosmos_body_has(&a, r->says), "%s: %.*s", r->body, (int)a.body.len,
                   (const char *)a.body.data);
    }
    cosmos_face_close(&f);
}
