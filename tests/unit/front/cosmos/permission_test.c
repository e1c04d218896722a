/* Permissions: what they are for, and what their tokens open. */
#include <stdio.h>

#include "tests/support/cosmos_face.h"

/* The database d with the containers c1 and c2, and the user u. */
static void open_with_user(struct cosmos_face *f)
{
    cosmos_face_open(f);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'d'}"), 201);
    for (int i = 1; i <= 2; i++)
        CHECK_ANSWER(cosmos_ask(f, "POST /dbs/d/colls", "",
                                arena_format(f->world.arena,
                                             "{'id':'c%d','partitionKey':{'paths':['/pk']}}", i)),
                     201);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs/d/users", "", "{'id':'u'}"), 201);
}

static const char *text_of(struct cosmos_face *f, const struct cosmos_answer *a, const char *path)
{
    bytes json = cosmos_value(f, a, path);

    CHECK_THAT(json.len >= 2 && json.data[0] == '"', "%s", path);
    return arena_format(f->world.arena, "%.*s", (int)json.len - 2, (const char *)json.data + 1);
}

/* The header with the token of a new permission. */
static const char *token_for(struct cosmos_face *f, const char *definition)
{
    static const char form[] = "{'id':'p','permissionMode':%s}";
    struct cosmos_answer a = cosmos_ask(f, "POST /dbs/d/users/u/permissions",
                                        "x-ms-documentdb-is-upsert: true",
                                        arena_format(f->world.arena, form, definition));

    CHECK_THAT(a.status == 200 || a.status == 201, "%s: %.*s", definition, (int)a.body.len,
               (const char *)a.body.data);
    return arena_format(f->world.arena, "authorization: %s", text_of(f, &a, "_token"));
}

static unsigned ask_with(struct cosmos_face *f, const char *token, const char *request,
                         const char *more_headers)
{
    const char *key = f->key;

    f->key = NULL;
    struct cosmos_answer a =
        cosmos_ask(f, request, arena_format(f->world.arena, "%s\n%s", token, more_headers), "");
    f->key = key;
    return a.status;
}

TEST(permission, created_one_is_read_with_a_token)
{
    struct cosmos_face f;

    open_with_user(&f);
    struct cosmos_answer made =
        cosmos_ask(&f, "POST /dbs/d/users/u/permissions", "",
                   "{'id':'my p','permissionMode':'Read','resource':'dbs/d/colls/c1',"
                   "'resourcePartitionKey':[1]}");
    CHECK_ANSWER(made, 201);
    struct cosmos_answer read = cosmos_ask(&f, "GET /dbs/d/users/u/permissions/my%20p", "", "");
    CHECK_ANSWER(read, 200);
    CHECK_BYTES(read.body, made.body, "");
    CHECK_TEXT(cosmos_value(&f, &read, "id"), "\"my p\"");
    CHECK_TEXT(cosmos_value(&f, &read, "permissionMode"), "\"Read\"");
    CHECK_TEXT(cosmos_value(&f, &read, "resource"), "\"dbs/d/colls/c1\"");
    CHECK_TEXT(cosmos_value(&f, &read, "resourcePartitionKey"), "[1]");
    CHECK_EQ(strlen(text_of(&f, &read, "_rid")), 24, "16 bytes in base64");
    CHECK_THAT(strncmp(text_of(&f, &read, "_token"), "type=resource&ver=1.0&sig=", 26) == 0, "%s",
               text_of(&f, &read, "_token"));
    const char *self = arena_format(f.world.arena, "GET /%s", text_of(&f, &read, "_self"));
    struct cosmos_answer numbered = cosmos_ask(&f, self, "", "");
    CHECK_ANSWER(numbered, 200);
    CHECK_BYTES(numbered.body, read.body, "");
    cosmos_face_close(&f);
}

TEST(permission, one_is_replaced_renamed_listed_queried_and_deleted)
{
    struct cosmos_face f;

    open_with_user(&f);
    const char *upsert = "x-ms-documentdb-is-upsert: true";
    const char *feed = "POST /dbs/d/users/u/permissions";
    const char *all = "{'id':'p','permissionMode':'all','resource':'dbs/d/colls/c1'}";
    struct cosmos_answer made =
        cosmos_ask(&f, feed, "", "{'id':'p','permissionMode':'read','resource':'dbs/d/colls/c1'}");
    CHECK_ANSWER(made, 201);
    CHECK_ANSWER(cosmos_ask(&f, feed, "", all), 409);
    struct cosmos_answer put = cosmos_ask(&f, feed, upsert, all);
    CHECK_ANSWER(put, 200);
    CHECK_TEXT(cosmos_value(&f, &put, "permissionMode"), "\"all\"");
    CHECK_BYTES(cosmos_value(&f, &put, "_rid"), cosmos_value(&f, &made, "_rid"), "");
    put = cosmos_ask(&f, "PUT /dbs/d/users/u/permissions/p", "",
                     "{'id':'q','permissionMode':'All','resource':'/dbs/d/colls/c2/'}");
    CHECK_ANSWER(put, 200);
    CHECK_TEXT(cosmos_value(&f, &put, "id"), "\"q\"");
    CHECK_BYTES(cosmos_value(&f, &put, "_rid"), cosmos_value(&f, &made, "_rid"), "");
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/d/users/u/permissions/p", "", ""), 404);
    struct cosmos_answer list = cosmos_ask(&f, "GET /dbs/d/users/u/permissions", "", "");
    CHECK_ANSWER(list, 200);
    CHECK_TEXT(cosmos_value(&f, &list, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &list, "Permissions.0.id"), "\"q\"");
    CHECK(cosmos_value(&f, &list, "Permissions.0._token").len > 30);
    list = cosmos_ask(&f, feed, "x-ms-documentdb-isquery: true",
                      "{'query':'SELECT * FROM root r WHERE r.id=@id',"
                      "'parameters':[{'name':'@id','value':'q'}]}");
    CHECK_ANSWER(list, 200);
    CHECK_TEXT(cosmos_value(&f, &list, "Permissions.0.permissionMode"), "\"All\"");
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d/users/u/permissions/q", "", ""), 204);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d/users/u/permissions/q", "", ""), 404);
    cosmos_face_close(&f);
}

TEST(permission, bad_ones_are_refused_with_what_is_wrong)
{
    const struct {
        const char *body, *headers;
        unsigned want;
        const char *says;
    } rows[] = {
        {"{'permissionMode':'Read','resource':'dbs/d'}",                                             "", 400, "'id'"                         },
        { "{'id':'p','resource':'dbs/d'}",                                                           "", 400, "permissionMode"               },
        { "{'id':'p','permissionMode':'none','resource':'dbs/d'}",                                   "", 400, "'none'"                       },
        { "{'id':'p','permissionMode':7,'resource':'dbs/d'}",                                        "", 400, "permissionMode"               },
        { "{'id':'p','permissionMode':'All'}",                                                       "", 400, "needs a 'resource'"           },
        { "{'id':'p','permissionMode':'All','resource':''}",                                         "", 400, "needs a 'resource'"           },
        { "{'id':'p','permissionMode':'All','resource':'d/c1'}",                                     "", 400, "dbs/{database}"               },
        { "{'id':'p','permissionMode':'All','resource':'dbs'}",                                      "", 400, "dbs/{database}"               },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls'}",                              "", 400, "dbs/{database}"               },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/users/u'}",                            "", 400,
         "dbs/{database}"                                                                                                                    },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c1/sprocs/s'}",                  "", 400,
         "dbs/{database}"                                                                                                                    },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c1/docs/a/b'}",                  "", 400,
         "dbs/{database}"                                                                                                                    },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c3'}",                           "", 404, "c3"                           },
        { "{'id':'p','permissionMode':'All','resource':'dbs/db'}",                                   "", 404, "belongs"                      },
        { "{'id':'p','permissionMode':'All','resource':'dbs/$mayfly/colls/users'}",                  "", 404,
         "belongs"                                                                                                                           },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d','resourcePartitionKey':['a']}",       "",
         400,                                                                                                 "of the resource 'dbs/d' has 0"},
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c1','resourcePartitionKey':[]}",
         "",                                                                                             400, "0 values"                     },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c1',"
          "'resourcePartitionKey':[1,2,3,4]}",                                              "", 400, "4 values"                     },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c1',"
          "'resourcePartitionKey':[1,2]}",                                                  "", 400, "has 1"                        },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d/colls/c1','resourcePartitionKey':7}",
         "",                                                                                             400, "array"                        },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d'}",
         "x-ms-documentdb-expiry-seconds: 9",                                                            400, "from 10 to 18000"             },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d'}",
         "x-ms-documentdb-expiry-seconds: 18001",                                                        400, "from 10 to 18000"             },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d'}",
         "x-ms-documentdb-expiry-seconds: 6o",                                                           400, "from 10 to 18000"             },
        { "{'id':'p','permissionMode':'All','resource':'dbs/d'}",
         "x-ms-documentdb-expiry-seconds: 99999999999999999999",                                         400, "from 10 to 18000"             },
    };
    struct cosmos_face f;

    open_with_user(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(&f, "POST /dbs/d/users/u/permissions", r->headers,
                                            r->body);
        CHECK_EQ(a.status, r->want, "%s: %.*s", r->body, (int)a.body.len,
                 (const char *)a.body.data);
        CHECK_THAT(cosmos_body_has(&a, r->says), "%s: %.*s", r->body, (int)a.body.len,
                   (const char *)a.body.data);
    }
    struct cosmos_answer list = cosmos_ask(&f, "GET /dbs/d/users/u/permissions", "", "");
    CHECK_TEXT(cosmos_value(&f, &list, "_count"), "0");
    cosmos_face_close(&f);
}

TEST(permission, a_token_opens_its_resource_and_nothing_else)
{
    static const char read_c1[] = "'Read','resource':'dbs/d/colls/c1'";
    static const char all_c1[] = "'All','resource':'dbs/d/colls/c1'";
    static const char all_db[] = "'All','resource':'dbs/d'";
    static const char read_item[] = "'Read','resource':'dbs/d/colls/c1/docs/i'";
    static const char all_part[] = "'All','resource':'dbs/d/colls/c1','resourcePartitionKey':['a']";
    const struct {
        const char *definition, *request, *headers;
        bool is_allowed;
    } rows[] = {
        {read_c1,    "GET /",                                              "",                                      true },
        { read_c1,   "GET /dbs",                                           "",                                      false},
        { read_c1,   "POST /dbs",                                          "",                                      false},
        { read_c1,   "GET /offers",                                        "",                                      false},
        { read_c1,   "GET /dbs/d",                                         "",                                      false},
        { read_c1,   "GET /dbs/d/colls",                                   "",                                      false},
        { read_c1,   "GET /dbs/d/colls/c1",                                "",                                      true },
        { read_c1,   "GET /dbs/d/colls/c2",                                "",                                      false},
        { read_c1,   "GET /dbs/db",                                        "",                                      false},
        { read_c1,   "DELETE /dbs/d/colls/c1",                             "",                                      false},
        { read_c1,   "PUT /dbs/d/colls/c1",                                "",                                      false},
        { read_c1,   "GET /dbs/d/colls/c1/pkranges",                       "",                                      true },
        { read_c1,   "GET /dbs/d/colls/c2/pkranges",                       "",                                      false},
        { read_c1,   "GET /dbs/d/colls/c1/sprocs",                         "",                                      true },
        { read_c1,   "GET /dbs/d/colls/c1/docs",                           "",                                      true },
        { read_c1,   "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: ['a']",   true },
        { read_c1,   "GET /dbs/d/colls/c2/docs/i",                         "x-ms-documentdb-partitionkey: ['a']",   false},
        { read_c1,   "POST /dbs/d/colls/c1/docs",                          "",                                      false},
        { read_c1,   "POST /dbs/d/colls/c1/docs",                          "x-ms-documentdb-isquery: true",         true },
        { read_c1,   "POST /dbs/d/colls/c1/docs",                          "x-ms-cosmos-is-batch-request: true",    false},
        { read_c1,   "DELETE /dbs/d/colls/c1/docs/i",                      "",                                      false},
        { read_c1,   "GET /dbs/d/users",                                   "",                                      false},
        { read_c1,   "GET /dbs/d/users/u/permissions/p",                   "",                                      false},
        { all_c1,    "POST /dbs/d/colls/c1/docs",                          "",                                      true },
        { all_c1,    "PUT /dbs/d/colls/c1",                                "",                                      true },
        { all_c1,    "POST /dbs/d/colls/c2/docs",                          "",                                      false},
        { all_c1,    "POST /dbs/d/colls",                                  "",                                      false},
        { all_c1,    "DELETE /dbs/d",                                      "",                                      false},
        { all_c1,    "DELETE /dbs/d/colls/c2",                             "",                                      false},
        { all_c1,    "GET /dbs/d/users",                                   "",                                      false},
        { all_db,    "GET /dbs/d",                                         "",                                      true },
        { all_db,    "GET /dbs/d/colls",                                   "",                                      true },
        { all_db,    "GET /dbs/d/colls/c2",                                "",                                      true },
        { all_db,    "POST /dbs/d/colls/c2/docs",                          "",                                      true },
        { all_db,    "POST /dbs/d/colls",                                  "",                                      false},
        { all_db,    "DELETE /dbs/d",                                      "",                                      false},
        { all_db,    "DELETE /dbs/d/colls/c1",                             "",                                      false},
        { all_db,    "GET /dbs/db",                                        "",                                      false},
        { all_db,    "GET /dbs/d/users",                                   "",                                      false},
        { read_item, "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: ['a']",   true },
        { read_item, "GET /dbs/d/colls/c1/docs/j",                         "x-ms-documentdb-partitionkey: ['a']",   false},
        { read_item, "GET /dbs/d/colls/c1/docs",                           "",                                      false},
        { read_item, "GET /dbs/d/colls/c1",                                "",                                      false},
        { read_item, "DELETE /dbs/d/colls/c1/docs/i",                      "",                                      false},
        { all_part,  "GET /dbs/d/colls/c1",                                "",                                      true },
        { all_part,  "GET /dbs/d/colls/c1/pkranges",                       "",                                      true },
        { all_part,  "DELETE /dbs/d/colls/c1",                             "",                                      false},
        { all_part,  "GET /dbs/d/colls/c1/docs",                           "",                                      false},
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "",                                      false},
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: ['a']",   true },
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: [ 'a' ]", true },
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: ['b']",   false},
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: []",      false},
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: [{}]",    false},
        { all_part,  "GET /dbs/d/colls/c1/docs/i",                         "x-ms-documentdb-partitionkey: [null]",  false},
        { all_part,  "POST /dbs/d/colls/c1/docs",                          "x-ms-documentdb-isquery: true",         false},
        { all_part,  "POST /dbs/d/colls/c1/docs",
         "x-ms-documentdb-isquery: true\nx-ms-documentdb-partitionkey: ['a']",                                      true },
        { all_part,  "POST /dbs/d/colls/c1/docs",
         "x-ms-cosmos-is-batch-request: true\nx-ms-documentdb-partitionkey: ['a']",                                 false},
        { all_part,  "POST /dbs/d/colls/c1/docs",
         "x-ms-cosmos-is-batch-request: true\nx-ms-cosmos-batch-atomic: true\n"
          "x-ms-documentdb-partitionkey: ['a']",                                                                    true },
        { all_part,  "POST /dbs/d/colls/c1/operations/partitionkeydelete",
         "x-ms-documentdb-partitionkey: ['b']",                                                                     false},
    };
    struct cosmos_face f;

    open_with_user(&f);
    EACH_ROW(rows, r) {
        unsigned got = ask_with(&f, token_for(&f, r->definition), r->request, r->headers);
        CHECK_THAT(got != 401, "%s", r->request);
        CHECK_EQ(got != 403, r->is_allowed, "%s: %s (%s) is %u", r->definition, r->request,
                 r->headers, got);
    }
    cosmos_face_close(&f);
}

TEST(permission, mode_all_lets_delete_the_container_it_is_for)
{
    struct cosmos_face f;

    open_with_user(&f);
    const char *token = token_for(&f, "'All','resource':'dbs/d/colls/c1'");
    CHECK_EQ(ask_with(&f, token, "DELETE /dbs/d/colls/c1", ""), 204, "");
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1", ""), 403, "what is gone is not told");
    CHECK_EQ(ask_with(&f, token, "GET /dbs/nope/colls/c1", ""), 403, "nor what never was");
    CHECK_ANSWER(
        cosmos_ask(&f, "POST /dbs/d/colls", "", "{'id':'c1','partitionKey':{'paths':['/pk']}}"),
        201);
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1", ""), 403, "it is another container now");
    cosmos_face_close(&f);
}

TEST(permission, resources_may_be_named_by_id_link_or_url)
{
    struct cosmos_face f;

    open_with_user(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/colls", "",
                            "{'id':'with space','partitionKey':{'paths':['/pk']}}"),
                 201);
    struct cosmos_answer made = cosmos_ask(&f, "GET /dbs/d/colls/with%20space", "", "");
    const char *links[] = {
        "dbs/d/colls/with space", "/dbs/d/colls/with%20space/", text_of(&f, &made, "_self"),
        arena_format(f.world.arena, "dbs/d/colls/%s", text_of(&f, &made, "_rid"))
    };
    EACH_ROW(links, link) {
        const char *token = token_for(&f,
                                      arena_format(f.world.arena, "'Read','resource':'%s'", *link));
        CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/with%20space", ""), 200, "%s", *link);
        const char *self = arena_format(f.world.arena, "GET /%s", text_of(&f, &made, "_self"));
        CHECK_EQ(ask_with(&f, token, self, ""), 200, "%s", *link);
        CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1", ""), 403, "%s", *link);
    }
    cosmos_face_close(&f);
}

TEST(permission, a_token_is_refused_when_changed_or_made_with_another_key)
{
    struct cosmos_face f, other;
    struct cosmos_options options = { .master_key = "AAECAwQFBgcICQoLDA0ODw==" };

    open_with_user(&f);
    const char *token = token_for(&f, "'Read','resource':'dbs/d/colls/c1'");
    char *changed = (char *)(uintptr_t)arena_format(f.world.arena, "%s", token);
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1", ""), 200, "");
    for (size_t i = strlen("authorization: type=resource&ver=1.0&sig="); changed[i]; i++) {
        char was = changed[i];
        changed[i] = was == 'A' ? 'B' : 'A';
        CHECK_EQ(ask_with(&f, changed, "GET /dbs/d/colls/c1", ""), 401, "%s", changed);
        changed[i] = was;
    }
    cosmos_face_open_with(&other, &options);
    CHECK_EQ(ask_with(&other, token, "GET /", ""), 401, "");
    cosmos_face_close(&other);
    cosmos_face_close(&f);
}

TEST(permission, an_item_by_its_resource_id_is_that_item_and_no_later_one)
{
    static const char pk[] = "x-ms-documentdb-partitionkey: ['a']";
    struct cosmos_face f;

    open_with_user(&f);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/d/colls/c1/docs", pk,
                                           "{'id':'i','pk':'a'}");
    CHECK_ANSWER(made, 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/colls/c1/docs", pk, "{'id':'j','pk':'a'}"), 201);
    const char *self = text_of(&f, &made, "_self");
    const char *token = token_for(&f, arena_format(f.world.arena, "'All','resource':'%s'", self));
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1/docs/i", pk), 200, "");
    CHECK_EQ(ask_with(&f, token, arena_format(f.world.arena, "GET /%s", self), pk), 200, "");
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1/docs/j", pk), 403, "");
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1/docs/none", pk), 403, "");
    CHECK_EQ(
        ask_with(&f, token, "GET /dbs/d/colls/c1/docs/i", "x-ms-documentdb-partitionkey: ['b']"),
        403, "");
    CHECK_EQ(ask_with(&f, token, "DELETE /dbs/d/colls/c1/docs/i", pk), 204, "");
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/colls/c1/docs", pk, "{'id':'i','pk':'a'}"), 201);
    CHECK_EQ(ask_with(&f, token, "GET /dbs/d/colls/c1/docs/i", pk), 403, "it is another item now");
    cosmos_face_close(&f);
}

/* Names of the headers and the message of an answer, without what differs from request to request. */
static const char *told(struct cosmos_face *f, const char *token, const char *request)
{
    struct buffer out = buffer_in(f->world.arena);
    const char *key = f->key;
    bytes text;

    f->key = NULL;
    struct cosmos_answer a = cosmos_ask(f, request, token, "");
    f->key = key;
    buffer_append_format(&out, "%u ", a.status);
    for (size_t i = 0; i < a.headers.len; i++) {
        bool is_name = i == 0 || a.headers.data[i - 1] == '\n';
        for (; is_name && a.headers.data[i] != ':'; i++)
            buffer_append_byte(&out, a.headers.data[i]);
        if (is_name)
            buffer_append_byte(&out, ' ');
    }
    bytes message = cosmos_value(f, &a, "message");
    const uint8_t *end = memmem(message.data, message.len, "ActivityId", 10);
    buffer_append(&out, bytes_of(message.data, end ? (size_t)(end - message.data) : message.len));
    buffer_append_byte(&out, 0);
    CHECK_OK(buffer_finish(&out, &text));
    return (const char *)text.data;
}

TEST(permission, a_token_does_not_tell_what_else_is_there)
{
    static const char *const forms[] = { "GET /dbs/%s", "DELETE /dbs/%s", "GET /dbs/%s/docs",
                                         "GET /dbs/%s/docs/i", "PUT /dbs/%s/docs/i" };
    static const char *const modes[] = { "Read", "All" };
    struct cosmos_face f;

    open_with_user(&f);
    CHECK_ANSWER(
        cosmos_ask(&f, "POST /dbs/d/colls", "", "{'id':'c3','partitionKey':{'paths':['/pk']}}"),
        201);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/d/colls/c3", "", ""), 204);
    for (size_t i = 0; i < ARRAY_COUNT(modes); i++) {
        const char *token = token_for(
            &f, arena_format(f.world.arena, "'%s','resource':'dbs/d/colls/c1'", modes[i]));
        for (const char *const *form = forms; form < forms + ARRAY_COUNT(forms); form++) {
            const char *there = told(&f, token, arena_format(f.world.arena, *form, "d/colls/c2"));
            const char *gone = told(&f, token, arena_format(f.world.arena, *form, "d/colls/c3"));
            CHECK_THAT(strncmp(there, "403 ", 4) == 0, "%s", there);
            /* The name in the message is the one that was asked for. */
            for (char *at = (char *)(uintptr_t)gone; (at = strstr(at, "c3")); at += 2)
                at[1] = '2';
            CHECK_STRING(gone, there);
        }
    }
    cosmos_face_close(&f);
}
