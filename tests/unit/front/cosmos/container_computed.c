/* Computed properties: what a definition may say, and what queries make of it. */
#include "tests/check.h"
#include "tests/support/cosmos_face.h"

#define PLACE "/dbs/d/colls/c"

static struct cosmos_answer create(struct cosmos_face *f, const char *properties)
{
    return cosmos_ask(f, "POST /dbs/d/colls", "",
                      arena_format(f->world.arena,
                                   "{'id':'c','partitionKey':{'paths':['/pk'],'kind':'Hash'},"
                                   "'computedProperties':%s}",
                                   properties));
}

static void open_face(struct cosmos_face *f)
{
    static const char *const items[] = {
        "{'id':'1','pk':'x','name':'Anna','n':2,'tags':['a','b']}",
        "{'id':'2','pk':'x','name':'bert','n':3,'cp_low':'stored','tags':['b']}",
        "{'id':'3','pk':'x','n':4}",
    };

    cosmos_face_open(f);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'d'}"), 201);
    CHECK_ANSWER(create(f, "[{'name':'cp_low','query':'SELECT VALUE LOWER(c.name) FROM c'},"
                           "{'name':'cp_half','query':'SELECT VALUE r.n / 2 FROM root r'},"
                           "{'name':'cp_tags','query':'SELECT VALUE c.tags FROM c'},"
                           "{'name':'cp_sum','query':'SELECT VALUE {s: c.n + 1, k: c.pk} FROM c'},"
                           "{'name':'cp_other','query':'SELECT VALUE c.cp_half FROM c'}]"),
                 201);
    for (size_t i = 0; i < ARRAY_COUNT(items); i++)
        CHECK_ANSWER(
            cosmos_ask(f, "POST " PLACE "/docs", "x-ms-documentdb-partitionkey: [\"x\"]", items[i]),
            201);
}

static const char *ask(struct cosmos_face *f, const char *sql)
{
    struct buffer out = buffer_in(f->world.arena);

    for (const char *at = cosmos_query(f, PLACE, sql); *at != 0; at++)
        buffer_append_byte(&out, *at == '"' ? '\'' : (uint8_t)*at);
    buffer_append_byte(&out, 0);
    return (const char *)out.data;
}

TEST(container_computed, properties_are_used_like_stored_ones)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT VALUE c.cp_low FROM c",                                                  "['anna','bert']"  },
        { "SELECT c.id, c.cp_low FROM c WHERE c.cp_low = \\\"anna\\\"",
         "[{'id':'1','cp_low':'anna'}]"                                                                      },
        { "SELECT VALUE c[\\\"cp_low\\\"] FROM c WHERE IS_DEFINED(c.cp_low)",             "['anna','bert']"  },
        { "SELECT VALUE x.cp_half FROM c AS x ORDER BY x.cp_half DESC",                   "[2,1.5,1]"        },
        { "SELECT VALUE c.id FROM c WHERE c.cp_half > 1",                                 "['2','3']"        },
        { "SELECT VALUE SUM(c.cp_half) FROM c",                                           "[4.5]"            },
        { "SELECT c.cp_tags, COUNT(1) AS n FROM c GROUP BY c.cp_tags ORDER BY c.cp_tags",
         "[{'n':1},{'cp_tags':['a','b'],'n':1},{'cp_tags':['b'],'n':1}]"                                     },
        { "SELECT VALUE t FROM c JOIN t IN c.cp_tags WHERE c.id = \\\"1\\\"",             "['a','b']"        },
        { "SELECT VALUE t FROM t IN c.cp_tags",                                           "['a','b','b']"    },
        { "SELECT VALUE c.cp_sum.s FROM c",                                               "[3,4,5]"          },
        { "SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.cp_tags) FROM c",               "[true,true,false]"},
        { "SELECT DISTINCT VALUE c.cp_sum.k FROM c",                                      "['x']"            },
 /* One cannot build on another, and nothing is found where no property is. */
        { "SELECT VALUE c.cp_other FROM c",                                               "[]"               },
        { "SELECT VALUE c.deep.cp_low FROM c",                                            "[]"               },
        { "SELECT VALUE x.cp_half FROM (SELECT VALUE c FROM c) x",                        "[]"               },
    };
    struct cosmos_face f;

    open_face(&f);
    EACH_ROW(rows, r)
        CHECK_STRING(ask(&f, r->sql), r->want);
    cosmos_face_close(&f);
}

TEST(container_computed, whole_items_show_what_they_store_and_no_more)
{
    struct cosmos_face f;

    open_face(&f);
    const char *got = ask(&f, "SELECT * FROM c");
    CHECK_THAT(!strstr(got, "cp_half") && !strstr(got, "cp_sum"), "%s", got);
    CHECK_THAT(strstr(got, "'cp_low':'stored'"), "%s", got);
    got = ask(&f, "SELECT VALUE c FROM c WHERE c.cp_low = \\\"bert\\\"");
    CHECK_THAT(strstr(got, "'cp_low':'stored'"), "%s", got);
    cosmos_face_close(&f);
}

TEST(container_computed, errors_show_the_name_that_stands_in_the_query)
{
    struct cosmos_face f;

    open_face(&f);
    const char *got = ask(&f, "SELECT c.cp_half, COUNT(1) FROM c");
    CHECK_THAT(strstr(got, "Property reference 'c.cp_half' is invalid"), "%s", got);
    cosmos_face_close(&f);
}

TEST(container_computed, a_changed_definition_holds_for_the_next_query)
{
    struct cosmos_face f;

    open_face(&f);
    CHECK_ANSWER(
        cosmos_ask(&f, "PUT " PLACE, "",
                   "{'id':'c','partitionKey':{'paths':['/pk'],'kind':'Hash'},'computedProperties':"
                   "[{'name':'cp_low','query':'SELECT VALUE UPPER(c.name) FROM c'}]}"),
        200);
    CHECK_STRING(ask(&f, "SELECT VALUE c.cp_low FROM c"), "['ANNA','BERT']");
    CHECK_STRING(ask(&f, "SELECT VALUE c.cp_half FROM c"), "[]");
    cosmos_face_close(&f);
}

TEST(container_computed, there_are_not_more_than_twenty)
{
    struct cosmos_face f;
    struct buffer list;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
    list = buffer_in(f.world.arena);
    for (int i = 0; i < LIMIT_COMPUTED_PROPERTIES; i++)
        buffer_append_format(&list, "%s{'name':'p%d','query':'SELECT VALUE c.n FROM c'}",
                             i ? "," : "", i);
    const char *most = arena_format(f.world.arena, "%.*s", (int)list.len, (const char *)list.data);
    CHECK_ANSWER(
        create(&f, arena_format(f.world.arena, "[%s,{'name':'q','query':'SELECT VALUE 1 FROM c'}]",
                                most)),
        400);
    CHECK_ANSWER(create(&f, arena_format(f.world.arena, "[%s]", most)), 201);
    cosmos_face_close(&f);
}

TEST(container_computed, definitions_that_cannot_hold_are_refused)
{
    static const struct {
        const char *properties, *want;
    } rows[] = {
        {"[{'name':'id','query':'SELECT VALUE 1 FROM c'}]",                "one of the system's"        },
        { "[{'name':'','query':'SELECT VALUE 1 FROM c'}]",                 "it is empty"                },
        { "[{'name':'a','query':'SELECT VALUE 1 FROM c'},{'name':'a','query':'SELECT VALUE 2 FROM "
          "c'}]",                                                 "two of the name"            },
        { "[{'name':'a'}]",                                                "'name' and 'query'"         },
        { "[{'name':'a','query':'SELECT VALUE'}]",                         "unexpected end-of-file"     },
        { "[{'name':'a','query':'SELECT c.n FROM c'}]",                    "SELECT VALUE ... FROM"      },
        { "[{'name':'a','query':'SELECT VALUE 1'}]",                       "SELECT VALUE ... FROM"      },
        { "[{'name':'a','query':'SELECT VALUE t FROM t IN c.tags'}]",      "any other source"           },
        { "[{'name':'a','query':'SELECT VALUE (SELECT VALUE 1) FROM c'}]",
         "must not contain JOIN"                                                                        },
        { "[{'name':'a','query':'SELECT VALUE c.n FROM c WHERE true'}]",   "must not contain WHERE"     },
        { "[{'name':'a','query':'SELECT VALUE c.n FROM c ORDER BY c.n'}]",
         "must not contain WHERE"                                                                       },
        { "[{'name':'a','query':'SELECT TOP 1 VALUE c.n FROM c'}]",        "must not contain WHERE"     },
        { "[{'name':'a','query':'SELECT VALUE COUNT(1) FROM c'}]",         "must not contain aggregates"},
        { "[{'name':'a','query':'SELECT VALUE RAND() FROM c'}]",           "must not contain aggregates"},
        { "[{'name':'a','query':'SELECT VALUE udf.f(c.n) FROM c'}]",       "user-defined"               },
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = create(&f, r->properties);
        const char *body = arena_format(f.world.arena, "%.*s", (int)a.body.len,
                                        (const char *)a.body.data);
        CHECK_THAT(a.status == 400 && strstr(body, r->want), "%s: %u %s", r->properties, a.status,
                   body);
    }
    cosmos_face_close(&f);
}
