/* Users: names within a database that permissions hang from. */
#include <stdio.h>

#include "tests/support/cosmos_face.h"

static void open_with_database(struct cosmos_face *f)
{
    cosmos_face_open(f);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'d'}"), 201);
}

static const char *text_of(struct cosmos_face *f, const struct cosmos_answer *a, const char *path)
{
    bytes json = cosmos_value(f, a, path);

    CHECK_THAT(json.len >= 2 && json.data[0] == '"', "%s", path);
    return arena_format(f->world.arena, "%.*s", (int)json.len - 2, (const char *)json.data + 1);
}

TEST(user, created_one_is_read_as_it_was_made)
{
    struct cosmos_face f;

    open_with_database(&f);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'new user'}");
    CHECK_ANSWER(made, 201);
    CHECK_TEXT(cosmos_value(&f, &made, "id"), "\"new user\"");
    CHECK_TEXT(cosmos_value(&f, &made, "_ts"), "1772323200");
    CHECK_TEXT(cosmos_value(&f, &made, "_permissions"), "\"permissions/\"");
    CHECK_EQ(strlen(text_of(&f, &made, "_rid")), 12, "8 bytes in base64");
    CHECK(strstr(text_of(&f, &made, "_self"), "/users/"));
    struct cosmos_answer read = cosmos_ask(&f, "GET /dbs/d/users/new%20user", "", "");
    CHECK_ANSWER(read, 200);
    CHECK_BYTES(read.body, made.body, "");
    CHECK_BYTES(cosmos_header(&read, "etag"), cosmos_header(&made, "etag"), "");
    bytes etag = cosmos_header(&made, "etag");
    struct cosmos_answer same = cosmos_ask(
        &f, "GET /dbs/d/users/new%20user",
        arena_format(f.world.arena, "if-none-match: %.*s", (int)etag.len, (const char *)etag.data),
        "");
    CHECK_ANSWER(same, 304);
    CHECK_BYTES(cosmos_header(&same, "etag"), etag, "");
    cosmos_face_close(&f);
}

TEST(user, one_is_found_by_its_resource_ids_too)
{
    struct cosmos_face f;

    open_with_database(&f);
    for (int i = 0; i < 3; i++) {
        const char *body = arena_format(f.world.arena, "{'id':'u%d'}", i);
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", body), 201);
    }
    struct cosmos_answer named = cosmos_ask(&f, "GET /dbs/d/users/u1", "", "");
    const char *link = arena_format(f.world.arena, "GET /%s", text_of(&f, &named, "_self"));
    struct cosmos_answer numbered = cosmos_ask(&f, link, "", "");
    CHECK_ANSWER(numbered, 200);
    CHECK_BYTES(numbered.body, named.body, "");
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/d/users/AAAAAQAAAAE=", "", ""), 404);
    cosmos_face_close(&f);
}

TEST(user, ids_are_taken_once_unless_it_is_an_upsert)
{
    struct cosmos_face f;

    open_with_database(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'other'}"), 201);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'u'}");
    CHECK_ANSWER(made, 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'u'}"), 409);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/other/users", "", "{'id':'u'}"), 201);
    const char *upsert = "x-ms-documentdb-is-upsert: True";
    struct cosmos_answer again = cosmos_ask(&f, "POST /dbs/d/users", upsert, "{'id':'u'}");
    CHECK_ANSWER(again, 200);
    CHECK_BYTES(cosmos_value(&f, &again, "_rid"), cosmos_value(&f, &made, "_rid"), "");
    CHECK(!bytes_equal(cosmos_value(&f, &again, "_etag"), cosmos_value(&f, &made, "_etag")));
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", upsert, "{'id':'v'}"), 201);
    cosmos_face_close(&f);
}

TEST(user, a_renamed_one_keeps_its_resource_id_and_permissions)
{
    struct cosmos_face f;

    open_with_database(&f);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'old'}");
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'taken'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users/old/permissions", "",
                            "{'id':'p','permissionMode':'Read','resource':'dbs/d'}"),
                 201);
    CHECK_ANSWER(cosmos_ask(&f, "PUT /dbs/d/users/old", "", "{'id':'taken'}"), 409);
    struct cosmos_answer renamed = cosmos_ask(&f, "PUT /dbs/d/users/old", "", "{'id':'new'}");
    CHECK_ANSWER(renamed, 200);
    CHECK_TEXT(cosmos_value(&f, &renamed, "id"), "\"new\"");
    CHECK_BYTES(cosmos_value(&f, &renamed, "_rid"), cosmos_value(&f, &made, "_rid"), "");
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/d/users/old", "", ""), 404);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/d/users/new/permissions/p", "", ""), 200);
    cosmos_face_close(&f);
}

TEST(user, lists_and_queries_show_the_users_of_one_database)
{
    struct cosmos_face f;

    open_with_database(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'other'}"), 201);
    struct cosmos_answer none = cosmos_ask(&f, "GET /dbs/d/users", "", "");
    CHECK_ANSWER(none, 200);
    CHECK_TEXT(cosmos_value(&f, &none, "_count"), "0");
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'b'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'a'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/other/users", "", "{'id':'c'}"), 201);
    struct cosmos_answer all = cosmos_ask(&f, "GET /dbs/d/users", "", "");
    CHECK_ANSWER(all, 200);
    CHECK_TEXT(cosmos_value(&f, &all, "_count"), "2");
    CHECK_TEXT(cosmos_value(&f, &all, "Users.0.id"), "\"a\"");
    CHECK_TEXT(cosmos_value(&f, &all, "Users.1.id"), "\"b\"");
    struct cosmos_answer found = cosmos_ask(&f, "POST /dbs/d/users",
                                            "x-ms-documentdb-isquery: True",
                                            "{'query':'SELECT * FROM root r WHERE r.id=@id',"
                                            "'parameters':[{'name':'@id','value':'b'}]}");
    CHECK_ANSWER(found, 200);
    CHECK_TEXT(cosmos_value(&f, &found, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &found, "Users.0.id"), "\"b\"");
    cosmos_face_close(&f);
}

TEST(user, what_is_not_there_or_not_right_is_refused)
{
    const struct {
        const char *request, *headers, *body;
        unsigned want;
    } rows[] = {
        {"GET /dbs/d/users/x",                 "",                                                 "",             404},
        { "DELETE /dbs/d/users/x",             "",                                                 "",             404},
        { "PUT /dbs/d/users/x",                "",                                                 "{'id':'y'}",   404},
        { "GET /dbs/nothing/users",            "",                                                 "",             404},
        { "POST /dbs/nothing/users",           "",                                                 "{'id':'y'}",   404},
        { "GET /dbs/d/users/x/permissions",    "",                                                 "",             404},
        { "POST /dbs/d/users",                 "",                                                 "{}",           400},
        { "POST /dbs/d/users",                 "",                                                 "{'id':5}",     400},
        { "POST /dbs/d/users",                 "",                                                 "{'id':'a/b'}", 400},
        { "POST /dbs/d/users",                 "",                                                 "nonsense",     400},
        { "PUT /dbs/d/users/u",                "if-match: '00000000-0000-0000-0000-0000000000ff'", "{'id':'y'}",
         412                                                                                                          },
        { "DELETE /dbs/d/users/u",             "if-match: 'x'",                                    "",             412},
        { "GET /dbs/$mayfly/colls/users/docs", "",                                                 "",             404},
        { "GET /dbs/$mayfly",                  "",                                                 "",             404},
    };
    struct cosmos_face f;

    open_with_database(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'u'}"), 201);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(&f, r->request, r->headers, r->body);
        CHECK_EQ(a.status, r->want, "%s: %.*s", r->request, (int)a.body.len,
                 (const char *)a.body.data);
    }
    cosmos_face_close(&f);
}

TEST(user, one_is_gone_with_its_permissions_and_its_database)
{
    struct cosmos_face f;

    open_with_database(&f);
    for (int i = 0; i < 2; i++) {
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users", "", "{'id':'u'}"), 201);
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/users/u/permissions", "",
                                "{'id':'p','permissionMode':'Read','resource':'dbs/d'}"),
                     201);
        if (i == 0)
            CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d/users/u", "", ""), 204);
    }
    cosmos_face_restart(&f);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/d/users/u/permissions/p", "", ""), 200);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d", "", ""), 204);
    /* Nothing is left of them where they were kept. */
    struct request request = world_begin(&f.world);
    for (size_t i = 0; i < catalog_collection_count(&request); i++) {
        const struct collection *collection = catalog_collection(&request, i);
        struct collection_figures figures;
        CHECK_OK(collection_figures(&request, collection, &figures));
        CHECK_EQ(figures.documents, 0, "%.*s", (int)collection->definition.name.len,
                 (const char *)collection->definition.name.data);
    }
    world_end(&request);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/d/users/u", "", ""), 404);
    cosmos_face_close(&f);
}
