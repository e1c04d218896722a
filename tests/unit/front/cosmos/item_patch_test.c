/* Patches: what each operation does to a document, and what a request may ask for. */
#include <stdio.h>

#include "front/cosmos/item_edit.h"
#include "tests/support/items.h"

#define P "pk: ['p']"

/* ---- single operations, on text --------------------------------------------------------------------- */

static void unquote(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text);
    for (; *out; out++) {
        if (*out == '\'')
            *out = '"';
    }
}

TEST(item_patch, each_operation_changes_what_it_names_and_nothing_else)
{
    const struct {
        enum edit_kind kind;
        const char *path, *value, *before, *after; /* NULL: refused */
    } rows[] = {
        {EDIT_ADD,        "/b",       "2",       "{'a':1}",                   "{'a':1,'b':2}"              },
        { EDIT_ADD,       "/a",       "2",       "{'a':1,'z':0}",             "{'a':2,'z':0}"              },
        { EDIT_ADD,       "/a/b",     "{'c':1}", "{'a':{}}",                  "{'a':{'b':{'c':1}}}"        },
        { EDIT_ADD,       "/a/b",     "1",       "{'x':1}",                   NULL                         },
        { EDIT_ADD,       "/a/b",     "1",       "{'a':5}",                   NULL                         },
        { EDIT_ADD,       "/l/-",     "9",       "{'l':[1,2]}",               "{'l':[1,2,9]}"              },
        { EDIT_ADD,       "/l/0",     "9",       "{'l':[1,2]}",               "{'l':[9,1,2]}"              },
        { EDIT_ADD,       "/l/1",     "9",       "{'l':[1,2]}",               "{'l':[1,9,2]}"              },
        { EDIT_ADD,       "/l/2",     "9",       "{'l':[1,2]}",               "{'l':[1,2,9]}"              },
        { EDIT_ADD,       "/l/3",     "9",       "{'l':[1,2]}",               NULL                         },
        { EDIT_ADD,       "/l/-",     "9",       "{'l':[]}",                  "{'l':[9]}"                  },
        { EDIT_ADD,       "/l/x",     "9",       "{'l':[1]}",                 NULL                         },
        { EDIT_ADD,       "/l/01",    "9",       "{'l':[1,2]}",               NULL                         },
        { EDIT_ADD,       "/l/1/k",   "9",       "{'l':[1,{'k':1}]}",         "{'l':[1,{'k':9}]}"          },
        { EDIT_ADD,       "/l/0/-",   "9",       "{'l':[[1],2]}",             "{'l':[[1,9],2]}"            },
        { EDIT_SET,       "/b",       "2",       "{'a':1}",                   "{'a':1,'b':2}"              },
        { EDIT_SET,       "/a",       "null",    "{'a':1}",                   "{'a':null}"                 },
        { EDIT_SET,       "/l/1",     "9",       "{'l':[1,2]}",               "{'l':[1,9]}"                },
        { EDIT_SET,       "/l/-",     "9",       "{'l':[1,2]}",               "{'l':[1,2,9]}"              },
        { EDIT_SET,       "/l/2",     "9",       "{'l':[1,2]}",               NULL                         },
        { EDIT_REPLACE,   "/a",       "'x'",     "{'a':1}",                   "{'a':'x'}"                  },
        { EDIT_REPLACE,   "/b",       "1",       "{'a':1}",                   NULL                         },
        { EDIT_REPLACE,   "/l/1",     "9",       "{'l':[1,2]}",               "{'l':[1,9]}"                },
        { EDIT_REPLACE,   "/l/-",     "9",       "{'l':[1,2]}",               NULL                         },
        { EDIT_REMOVE,    "/a",       NULL,      "{'a':1,'b':2}",             "{'b':2}"                    },
        { EDIT_REMOVE,    "/c",       NULL,      "{'a':1,'b':2}",             NULL                         },
        { EDIT_REMOVE,    "/l/0",     NULL,      "{'l':[1,2,3]}",             "{'l':[2,3]}"                },
        { EDIT_REMOVE,    "/l/3",     NULL,      "{'l':[1,2,3]}",             NULL                         },
        { EDIT_REMOVE,    "/a/b/c",   NULL,      "{'a':{'b':{'c':1,'d':2}}}", "{'a':{'b':{'d':2}}}"        },
        { EDIT_INCREMENT, "/n",       "5",       "{'n':1}",                   "{'n':6}"                    },
        { EDIT_INCREMENT, "/n",       "-5",      "{'n':1}",                   "{'n':-4}"                   },
        { EDIT_INCREMENT, "/n",       "0.5",     "{'n':1}",                   "{'n':1.5}"                  },
        { EDIT_INCREMENT, "/n",       "1",       "{'n':9223372036854775806}", "{'n':9223372036854775807}"  },
        { EDIT_INCREMENT, "/n",       "1",       "{'n':9223372036854775807}", "{'n':9.223372036854776e+18}"},
        { EDIT_INCREMENT, "/n",       "1e308",   "{'n':1e308}",               NULL                         },
        { EDIT_INCREMENT, "/m",       "5",       "{'n':1}",                   "{'n':1,'m':5}"              },
        { EDIT_INCREMENT, "/n",       "5",       "{'n':'1'}",                 NULL                         },
        { EDIT_INCREMENT, "/l/0",     "5",       "{'l':[1]}",                 "{'l':[6]}"                  },
        { EDIT_ADD,       "/a~1b~0c", "1",       "{}",                        "{'a/b~c':1}"                },
        { EDIT_ADD,       "/a.b",     "1",       "{'a':{}}",                  "{'a':{},'a.b':1}"           },
    };
    struct arena *arena = arena_open(1 << 22);

    EACH_ROW(rows, r) {
        char before[128], after[128], value[64];
        struct edit edit = { .kind = r->kind };
        struct buffer text = buffer_in(arena);
        struct field field;
        bytes document, list, out;
        unquote(before, sizeof(before), r->before);
        unquote(after, sizeof(after), r->after ? r->after : "");
        snprintf(value, sizeof(value), "[%s]", r->value ? r->value : "0");
        unquote(value, sizeof(value), arena_format(arena, "%s", value));
        CHECK_OK(json_read(arena, bytes_of_text(before), &document));
        CHECK_OK(json_read_array(arena, bytes_of_text(value), &list));
        struct document_walk walk = document_fields(list);
        CHECK(document_next(&walk, &field));
        if (r->value)
            edit.value = field.value;
        CHECK_OK(edit_path_parse(arena, bytes_of_text(r->path), &edit.path));
        status s = edit_document(arena, &edit, document, &out);
        if (!r->after) {
            CHECK_EQ(s.code, INVALID, "%s %s", r->path, r->before);
            continue;
        }
        CHECK_OK(s);
        CHECK_OK(document_check(arena, out));
        json_write(&text, out);
        CHECK_BYTES(bytes_of(text.data, text.len), bytes_of_text(after), r->path);
    }
    arena_close(arena);
}

TEST(item_patch, a_path_must_name_something)
{
    const char *const bad[] = { "", "a", "/", "a/b", "/a~", "/a~2" };
    struct arena *arena = arena_open(1 << 20);
    struct edit_path path;

    EACH_ROW(bad, text)
        CHECK_CODE(edit_path_parse(arena, bytes_of_text(*text), &path), INVALID);
    CHECK_OK(edit_path_parse(arena, bytes_of_text("/a//b"), &path));
    CHECK_EQ(path.count, 3, "");
    arena_close(arena);
}

/* ---- requests --------------------------------------------------------------------------------------- */

TEST(item_patch, operations_are_carried_out_in_order_on_one_item)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','n':1,'l':[1],'old':'x','go':1}"), 201);
    struct cosmos_answer answer = item_patch(
        &f, P, "a",
        "{'operations':[{'op':'incr','path':'/n','value':1},{'op':'add','path':'/l/-','value':2},"
        "{'op':'set','path':'/s','value':{'t':1}},{'op':'replace','path':'/s/t','value':2},"
        "{'op':'remove','path':'/go'},{'op':'move','from':'/old','path':'/new'},"
        "{'op':'move','from':'/l/0','path':'/first'}]}");
    CHECK_ANSWER(answer, 200);
    CHECK(cosmos_body_has(&answer, "{'id':'a','pk':'p','n':2,'l':[2],'s':{'t':2},'new':'x',"
                                   "'first':1,'_rid'"));
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_BYTES(read.body, answer.body, "");
    items_close(&f);
}

TEST(item_patch, all_operations_or_none_are_carried_out)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','n':1}");
    struct cosmos_answer answer = item_patch(&f, P, "a",
                                             "[{'op':'incr','path':'/n','value':1},"
                                             "{'op':'remove','path':'/none'}]");
    CHECK_ANSWER(answer, 400);
    CHECK(cosmos_body_has(&answer, "For Operation(2): the path '/none' does not exist"));
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_BYTES(read.body, made.body, "nothing was written");
    items_close(&f);
}

TEST(item_patch, what_cannot_be_patched_is_refused)
{
    const char *const bad[] = {
        "",
        "{}",
        "[]",
        "7",
        "{'operations':7}",
        "[7]",
        "[{'op':'add','path':'/v'}]",
        "[{'op':'jump','path':'/v','value':1}]",
        "[{'path':'/v','value':1}]",
        "[{'op':'add','path':'v','value':1}]",
        "[{'op':'add','value':1}]",
        "[{'op':'move','path':'/v'}]",
        "[{'op':'incr','path':'/v','value':'1'}]",
        "[{'op':'set','path':'/id','value':'b'}]",
        "[{'op':'set','path':'/pk','value':'q'}]",
        "[{'op':'set','path':'/pk/x','value':'q'}]",
        "[{'op':'remove','path':'/pk'}]",
        "[{'op':'move','from':'/pk','path':'/v'}]",
        "[{'op':'move','from':'/v','path':'/pk'}]",
        "[{'op':'move','from':'/o','path':'/o/x'}]",
        "[{'op':'set','path':'/_ts','value':1}]",
        "[{'op':'set','path':'/_etag','value':1}]",
        "[{'op':'set','path':'/ttl','value':0}]",
        "{'condition':7,'operations':[{'op':'set','path':'/v','value':1}]}",
    };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','v':1,'o':{}}");
    EACH_ROW(bad, body) {
        struct cosmos_answer answer = item_patch(&f, P, "a", "%s", *body);
        CHECK_EQ(answer.status, 400, "%s", *body);
    }
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_BYTES(read.body, made.body, "nothing was written");
    items_close(&f);
}

TEST(item_patch, ten_operations_are_the_limit)
{
    char body[1024] = "[";
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p'}"), 201);
    size_t len = 1;
    for (int i = 0; i < 10; i++)
        len += (size_t)snprintf(body + len, sizeof(body) - len,
                                "%s{'op':'set','path':'/v%d','value':1}", i ? "," : "", i);
    CHECK_ANSWER(item_patch(&f, P, "a", "%s]", body), 200);
    CHECK_ANSWER(item_patch(&f, P, "a", "%s,{'op':'set','path':'/w','value':1}]", body), 400);
    items_close(&f);
}

TEST(item_patch, a_condition_decides_whether_anything_is_done)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','v':5}"), 201);
    CHECK_ANSWER(item_patch(&f, P, "a",
                            "{'condition':'from c where c.v = 6',"
                            "'operations':[{'op':'set','path':'/w','value':1}]}"),
                 412);
    CHECK_ANSWER(item_patch(&f, P, "a",
                            "{'condition':'from c where c.v = 5 and c._ts > 0',"
                            "'operations':[{'op':'set','path':'/w','value':2}]}"),
                 200);
    CHECK_ANSWER(item_patch(&f, P, "a",
                            "{'condition':'from c where',"
                            "'operations':[{'op':'set','path':'/w','value':3}]}"),
                 400);
    char deep[LIMIT_QUERY_DEPTH + 1] = { 0 };
    memset(deep, '~', LIMIT_QUERY_DEPTH);
    CHECK_ANSWER(item_patch(&f, P, "a",
                            "{'condition':'from c where c.v = %s1',"
                            "'operations':[{'op':'set','path':'/w','value':3}]}",
                            deep),
                 400);
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_TEXT(cosmos_value(&f, &read, "w"), "2");
    items_close(&f);
}

TEST(item_patch, an_old_etag_fails_its_precondition)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','v':1}");
    const char *match = arena_format(f.world.arena, "pk: ['p']\nif-match: %s",
                                     item_etag(&f, &made));
    CHECK_ANSWER(item_patch(&f, match, "a", "[{'op':'incr','path':'/v','value':1}]"), 200);
    CHECK_ANSWER(item_patch(&f, match, "a", "[{'op':'incr','path':'/v','value':1}]"), 412);
    items_close(&f);
}

TEST(item_patch, a_result_that_is_too_large_is_refused)
{
    enum { HALF = 1100 * 1024 };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    char *text = memory_take(HALF + 1);
    memset(text, 'x', HALF);
    text[HALF] = '\0';
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','big':'%s'}", text), 201);
    CHECK_ANSWER(item_patch(&f, P, "a", "[{'op':'add','path':'/more','value':'%s'}]", text), 413);
    memory_give(text);
    items_close(&f);
}
