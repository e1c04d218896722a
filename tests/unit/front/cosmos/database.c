/* The account, databases, and the feeds of what does not exist. */
#include <stdio.h>

#include "tests/support/cosmos_face.h"

TEST(account, address_is_the_one_the_client_has_used)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer a = cosmos_ask(&f, "GET /", "", "");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "id"), "\"mayfly\"");
    CHECK_TEXT(cosmos_value(&f, &a, "writableLocations.0.databaseAccountEndpoint"),
               "\"http://localhost:8081/\"");
    f.is_tls = true;
    a = cosmos_ask(&f, "GET /", "", "");
    CHECK_TEXT(cosmos_value(&f, &a, "readableLocations.0.databaseAccountEndpoint"),
               "\"https://localhost:8081/\"");
    cosmos_face_close(&f);
}

TEST(database, created_one_is_read_as_it_was_made)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs", "", "{'id':'my db'}");
    CHECK_ANSWER(made, 201);
    CHECK_TEXT(cosmos_value(&f, &made, "id"), "\"my db\"");
    CHECK_TEXT(cosmos_value(&f, &made, "_ts"), "1772323200");
    CHECK_TEXT(cosmos_value(&f, &made, "_colls"), "\"colls/\"");
    CHECK_TEXT(cosmos_value(&f, &made, "_users"), "\"users/\"");
    struct cosmos_answer read = cosmos_ask(&f, "GET /dbs/my%20db", "", "");
    CHECK_ANSWER(read, 200);
    CHECK_BYTES(read.body, made.body, "");
    CHECK(cosmos_header(&read, "etag").len > 2);
    cosmos_face_close(&f);
}

TEST(database, bad_ids_are_refused_with_what_is_wrong)
{
    const struct {
        const char *body, *says;
    } rows[] = {
        {"{}",                  "required property"},
        { "{'id':7}",           "must be a string" },
        { "{'id':''}",          "is empty"         },
        { "{'id':'a/b'}",       "contains"         },
        { "{'id':'a\\\\b'}",    "contains"         },
        { "{'id':'a?b'}",       "contains"         },
        { "{'id':'a#b'}",       "contains"         },
        { "{'id':'a '}",        "ends in a space"  },
        { "{'id':'a\\u0000b'}", "zero"             },
        { "[1]",                "not valid JSON"   },
        { "{'id'",              "not valid JSON"   },
        { "",                   "not valid JSON"   },
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(&f, "POST /dbs", "", r->body);
        CHECK_ANSWER(a, 400);
        CHECK_THAT(cosmos_body_has(&a, r->says), "%s: %.*s", r->body, (int)a.body.len,
                   (const char *)a.body.data);
    }
    cosmos_face_close(&f);
}

TEST(database, id_of_255_characters_is_the_longest)
{
    struct cosmos_face f;
    char body[600];

    cosmos_face_open(&f);
    for (int length = 255; length <= 256; length++) {
        size_t used = (size_t)snprintf(body, sizeof(body), "{'id':'");
        for (int i = 0; i < length; i++) /* two bytes each */
            used += (size_t)snprintf(body + used, sizeof(body) - used, "\xC3\xA9");
        snprintf(body + used, sizeof(body) - used, "'}");
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", body), length == 255 ? 201 : 400);
    }
    cosmos_face_close(&f);
}

TEST(database, created_twice_is_a_conflict)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
    struct cosmos_answer a = cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}");
    CHECK_ANSWER(a, 409);
    CHECK(cosmos_body_has(&a, "already exists"));
    cosmos_face_close(&f);
}

TEST(database, the_servers_own_is_neither_shown_nor_made)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'$mayfly'}"), 403);
    CHECK_OK(database_create(f.world.engine, f.world.arena, BYTES_LITERAL("$mayfly"), BYTES_NONE));
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs", "", "");
    CHECK_ANSWER(a, 200);
    CHECK(!cosmos_body_has(&a, "$mayfly"));
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/$mayfly", "", ""), 404);
    cosmos_face_close(&f);
}

TEST(database, list_goes_page_by_page_without_repeating_or_skipping)
{
    struct cosmos_face f;

    cosmos_face_open(&f); /* has the database "db" */
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'a'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'c'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'e'}"), 201);
    struct cosmos_answer page = cosmos_ask(&f, "GET /dbs", "x-ms-max-item-count: 2", "");
    CHECK_ANSWER(page, 200);
    CHECK_TEXT(cosmos_header(&page, "x-ms-item-count"), "2");
    CHECK_TEXT(cosmos_value(&f, &page, "Databases.1.id"), "\"c\"");
    bytes token = cosmos_header(&page, "x-ms-continuation");
    CHECK(token.len > 0);
    /* What it stands on may go, and others may come, in front and behind. */
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/c", "", ""), 204);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'b'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
    const char *next = arena_format(f.world.arena, "x-ms-continuation: %.*s", (int)token.len,
                                    (const char *)token.data);
    page = cosmos_ask(&f, "GET /dbs", next, "");
    CHECK_ANSWER(page, 200);
    CHECK_TEXT(cosmos_value(&f, &page, "Databases.0.id"), "\"d\"");
    CHECK_TEXT(cosmos_value(&f, &page, "Databases.1.id"), "\"db\"");
    CHECK_TEXT(cosmos_value(&f, &page, "Databases.2.id"), "\"e\"");
    CHECK_TEXT(cosmos_value(&f, &page, "_count"), "3");
    CHECK_EQ(cosmos_header(&page, "x-ms-continuation").len, 0, "the last page");
    cosmos_face_close(&f);
}

TEST(database, bad_page_sizes_and_tokens_are_refused)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs", "x-ms-max-item-count: abc", ""), 400);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs", "x-ms-max-item-count: -2", ""), 400);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs", "x-ms-max-item-count: 99999999999", ""), 400);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs", "x-ms-max-item-count: -1", ""), 200);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs", "x-ms-max-item-count: 0", ""), 200);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs", "x-ms-continuation: foreign", "");
    CHECK_ANSWER(a, 400);
    CHECK(cosmos_body_has(&a, "Invalid Continuation Token"));
    a = cosmos_ask(&f, "GET /dbs", "x-ms-continuation: AAAAAAAAAAAAAAAAAAAAAGFi", "");
    CHECK_ANSWER(a, 400);
    cosmos_face_close(&f);
}

TEST(database, delete_asks_for_the_version_it_was_told)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}");
    bytes etag = cosmos_header(&made, "etag");
    const char *match = arena_format(f.world.arena, "if-match: %.*s", (int)etag.len,
                                     (const char *)etag.data);
    const char *known = arena_format(f.world.arena, "if-none-match: %.*s", (int)etag.len,
                                     (const char *)etag.data);
    struct cosmos_answer same = cosmos_ask(&f, "GET /dbs/d", known, "");
    CHECK_ANSWER(same, 304);
    CHECK_BYTES(cosmos_header(&same, "etag"), etag, "");
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d", "if-match: 'other'", ""), 412);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d", match, ""), 204);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d", "", ""), 404);
    /* The same name again is another database. */
    struct cosmos_answer again = cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}");
    CHECK(!bytes_equal(cosmos_value(&f, &made, "_rid"), cosmos_value(&f, &again, "_rid")));
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d", match, ""), 412);
    cosmos_face_close(&f);
}

TEST(database, one_that_another_face_made_is_shown_and_deleted_like_any_other)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db", "", "");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "_ts"), "0");
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/db", "", ""), 204);
    cosmos_face_close(&f);
}
