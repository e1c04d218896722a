/* Query plans: which steps they ask of a client, and the text that it is to send instead. */
#include "front/cosmos/sql_rewrite.h"
#include "tests/check.h"
#include "tests/support/cosmos_face.h"

#define PLAN_HEADERS "x-ms-cosmos-is-query-plan-request: True\ncontent-type: application/query+json"

static void open_face(struct cosmos_face *f)
{
    cosmos_face_open(f);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'d'}"), 201);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs/d/colls", "",
                            "{'id':'c','partitionKey':{'paths':['/pk'],'kind':'Hash'}}"),
                 201);
}

static struct cosmos_answer ask_plan(struct cosmos_face *f, const char *sql, const char *features)
{
    struct arena *arena = f->world.arena;
    const char *headers = PLAN_HEADERS;

    if (features)
        headers = arena_format(arena, "%s\nx-ms-cosmos-supported-query-features: %s", headers,
                               features);
    return cosmos_ask(f, "POST /dbs/d/colls/c/docs", headers,
                      arena_format(arena,
                                   "{'query':'%s','parameters':[{'name':'@two','value':2},"
                                   "{'name':'@ten','value':10}]}",
                                   sql));
}

/* Quotes of the plan are shown as ', those inside of its texts too. */
static const char *plainly(struct arena *arena, bytes json)
{
    struct buffer out = buffer_in(arena);

    for (size_t i = 0; i < json.len; i++) {
        bool is_escape = json.data[i] == '\\' && i + 1 < json.len;
        uint8_t c = json.data[is_escape ? ++i : i];
        buffer_append_byte(&out, c == '"' ? '\'' : is_escape && c == 'n' ? ' ' : c);
    }
    buffer_append_byte(&out, 0);
    return (const char *)out.data;
}

struct row {
    const char *sql;
    const char *field; /* of queryInfo */
    const char *want;
};

static void check_plans(const struct row *rows, size_t count)
{
    struct cosmos_face f;

    open_face(&f);
    for (size_t i = 0; i < count; i++) {
        struct cosmos_answer answer = ask_plan(&f, rows[i].sql, NULL);
        CHECK_ANSWER(answer, 200);
        const char *path = arena_format(f.world.arena, "queryInfo.%s", rows[i].field);
        const char *got = plainly(f.world.arena, cosmos_value(&f, &answer, path));
        CHECK_THAT(strcmp(got, rows[i].want) == 0, "%s: %s\n  is   %s\n  want %s", rows[i].sql,
                   rows[i].field, got, rows[i].want);
    }
    cosmos_face_close(&f);
}

#define CHECK_PLANS(rows) check_plans(rows, ARRAY_COUNT(rows))
#define FILTER "({documentdb-formattableorderbyquery-filter})"

TEST(item_query_plan, plain_query_asks_nothing_of_the_client)
{
    struct cosmos_face f;

    open_face(&f);
    struct cosmos_answer answer = ask_plan(&f, "SELECT * FROM c WHERE c.n > 3", NULL);
    CHECK_TEXT(
        answer.body,
        "{\"partitionedQueryExecutionInfoVersion\":2,\"queryInfo\":{\"distinctType\":\"None\","
        "\"top\":null,\"offset\":null,\"limit\":null,\"orderBy\":[],\"orderByExpressions\":[],"
        "\"groupByExpressions\":[],\"groupByAliases\":[],\"aggregates\":[],"
        "\"groupByAliasToAggregateType\":{},\"rewrittenQuery\":\"\",\"hasSelectValue\":false,"
        "\"dCountInfo\":null,\"hasNonStreamingOrderBy\":false},\"queryRanges\":[{\"min\":\"\","
        "\"max\":\"FF\",\"isMinInclusive\":true,\"isMaxInclusive\":false}]}");
    cosmos_face_close(&f);
}

TEST(item_query_plan, order_comes_with_the_keys_of_each_row)
{
    static const struct row rows[] = {
        {"SELECT * FROM c ORDER BY c.n",                                                        "orderBy",            "['Ascending']"},
        { "SELECT * FROM c ORDER BY c.n DESC, c.m ASC, c.k",                                    "orderBy",
         "['Descending','Ascending','Ascending']"                                                                                    },
        { "SELECT * FROM c ORDER BY c.n DESC, c[\\\"m n\\\"]",                                  "orderByExpressions",
         "['c.n','c['m n']']"                                                                                                        },
        { "SELECT * FROM c ORDER BY c.n",                                                       "rewrittenQuery",
         "'SELECT c._rid, [{'item': c.n}] AS orderByItems, c AS payload FROM c WHERE (" FILTER
          ") ORDER BY c.n'"                                                                                                          },
        { "SELECT r.a, r.b + 1, r.d e FROM root r WHERE r.n > 1 OR r.m ORDER BY r.n DESC, r.m",
         "rewrittenQuery",                                                                                            "'SELECT r._rid, [{'item': r.n}, {'item': r.m}] AS orderByItems, {'a': r.a, '$1': r.b + "
          "1, 'e': r.d} AS payload FROM root r WHERE (" FILTER
          " AND (r.n > 1 OR r.m)) ORDER BY r.n DESC, r.m'"                                                 },
        { "SELECT TOP @two VALUE c.v FROM items AS c ORDER BY c.n",                             "rewrittenQuery",
         "'SELECT TOP 2 c._rid, [{'item': c.n}] AS orderByItems, c.v AS payload FROM items AS c "
          "WHERE (" FILTER " AND IS_DEFINED(c.v)) ORDER BY c.n'"                                                                     },
        { "SELECT * FROM c ORDER BY c.n OFFSET @two LIMIT @ten",                                "rewrittenQuery",
         "'SELECT c._rid, [{'item': c.n}] AS orderByItems, c AS payload FROM c WHERE (" FILTER
          ") ORDER BY c.n OFFSET 0 LIMIT 12'"                                                                                        },
        { "SELECT * FROM c ORDER BY c.n OFFSET @two LIMIT @ten",                                "offset",             "2"            },
        { "SELECT * FROM c ORDER BY c.n OFFSET @two LIMIT @ten",                                "limit",              "10"           },
        { "SELECT TOP @two VALUE c.v FROM c ORDER BY c.n",                                      "top",                "2"            },
        { "SELECT TOP @two VALUE c.v FROM c ORDER BY c.n",                                      "hasSelectValue",     "true"         },
    };
    CHECK_PLANS(rows);
}

TEST(item_query_plan, aggregates_come_so_that_they_can_be_added_up)
{
    static const struct row rows[] = {
        {"SELECT VALUE COUNT(1) FROM c",                   "aggregates",                  "['Count']"  },
        { "SELECT VALUE COUNT(1) FROM c",                  "rewrittenQuery",
         "'SELECT VALUE [{'item': COUNT(1)}] FROM c'"                                                  },
        { "SELECT VALUE sum(c.n) FROM c WHERE c.a",        "rewrittenQuery",
         "'SELECT VALUE [{'item': SUM(c.n)}] FROM c WHERE (c.a)'"                                      },
        { "SELECT VALUE AVG(c.n + 1) FROM c",              "aggregates",                  "['Average']"},
        { "SELECT VALUE AVG(c.n + 1) FROM c",              "rewrittenQuery",
         "'SELECT VALUE [{'item': {'sum': SUM(c.n + 1), 'count': COUNT(c.n + 1)}}] FROM c'"            },
        { "SELECT VALUE MIN(c.n) FROM c",                  "rewrittenQuery",
         "'SELECT VALUE [{'item': MIN(c.n), 'item2': {'min': MIN(c.n), 'count': COUNT(c.n)}}] "
          "FROM c'"                                                                                    },
        { "SELECT VALUE MAX(c.n) FROM c OFFSET 0 LIMIT 1", "rewrittenQuery",
         "'SELECT VALUE [{'item': MAX(c.n), 'item2': {'max': MAX(c.n), 'count': COUNT(c.n)}}] "
          "FROM c'"                                                                                    },
        { "SELECT COUNT(1) AS n, MAX(c.m) FROM c",         "aggregates",                  "[]"         },
        { "SELECT COUNT(1) AS n, MAX(c.m) FROM c",         "groupByAliases",              "['n','$1']" },
        { "SELECT COUNT(1) AS n, MAX(c.m) FROM c",         "groupByAliasToAggregateType",
         "{'n':'Count','$1':'Max'}"                                                                    },
        { "SELECT COUNT(1) AS n, AVG(c.m) FROM c",         "rewrittenQuery",
         "'SELECT {'n': {'item': COUNT(1)}, '$1': {'item': {'sum': SUM(c.m), 'count': "
          "COUNT(c.m)}}} AS payload FROM c'"                                                           },
    };
    CHECK_PLANS(rows);
}

TEST(item_query_plan, rows_are_told_apart_and_counted_off_by_the_client)
{
    static const struct row rows[] = {
        {"SELECT DISTINCT c.a FROM c",                                     "distinctType",   "'Unordered'"            },
        { "SELECT DISTINCT c.a FROM c",                                    "rewrittenQuery", "''"                     },
        { "SELECT DISTINCT c.a FROM c ORDER BY c.a",                       "distinctType",   "'Ordered'"              },
        { "SELECT DISTINCT c.a FROM c ORDER BY c.b",                       "distinctType",   "'Unordered'"            },
        { "SELECT DISTINCT c.a FROM c ORDER BY c.a",                       "rewrittenQuery",
         "'SELECT c._rid, [{'item': c.a}] AS orderByItems, {'a': c.a} AS payload FROM c WHERE "
          "(" FILTER ") ORDER BY c.a'"                                                                                },
        { "SELECT DISTINCT TOP 3 c.a AS x FROM c",                         "rewrittenQuery",
         "'SELECT DISTINCT c.a AS x FROM c'"                                                                          },
        { "SELECT DISTINCT * FROM c OFFSET 1 LIMIT 2",                     "rewrittenQuery",
         "'SELECT DISTINCT * FROM c'"                                                                                 },
        { "SELECT TOP 5 * FROM c",                                         "rewrittenQuery", "'SELECT TOP 5 * FROM c'"},
        { "SELECT TOP 5 * FROM c",                                         "top",            "5"                      },
        { "SELECT VALUE c.order FROM c WHERE c.from = 5 OFFSET 1 LIMIT 2", "rewrittenQuery",
         "'SELECT VALUE c.order FROM c WHERE (c.from = 5) OFFSET 0 LIMIT 3'"                                          },
    };
    CHECK_PLANS(rows);
}

/* The query is answered whole anyway. */
TEST(item_query_plan, what_cannot_be_put_together_is_left_to_the_server)
{
    static const char *const queries[] = {
        "SELECT VALUE COUNT(1) + 1 FROM c",
        "SELECT COUNT(1) AS n, {\\\"m\\\": MAX(c.m)} AS o FROM c",
        "SELECT DISTINCT VALUE c.a FROM c",
        "SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a",
        "SELECT VALUE 1",
        "SELECT VALUE x.order FROM c.from x ORDER BY x.n",
        "SELECT VALUE x FROM x IN c.list ORDER BY x",
    };
    struct cosmos_face f;

    open_face(&f);
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        struct cosmos_answer answer = ask_plan(&f, queries[i], NULL);
        CHECK_ANSWER(answer, 200);
        CHECK_THAT(cosmos_body_has(&answer, "'rewrittenQuery':''") &&
                       cosmos_body_has(&answer, "'distinctType':'None'") &&
                       cosmos_body_has(&answer, "'orderBy':[]") &&
                       cosmos_body_has(&answer, "'aggregates':[]") &&
                       cosmos_body_has(&answer, "'groupByAliasToAggregateType':{}"),
                   "%s: %.*s", queries[i], (int)answer.body.len, (const char *)answer.body.data);
    }
    cosmos_face_close(&f);
}

TEST(item_query_plan, client_is_only_asked_for_what_it_says_it_can_do)
{
    static const struct {
        const char *sql, *features;
        bool is_asked;
    } rows[] = {
        {"SELECT * FROM c ORDER BY c.n",       "Aggregate, OrderBy",                    true },
        { "SELECT * FROM c ORDER BY c.n",      "Aggregate,MultipleOrderBy",             false},
        { "SELECT * FROM c ORDER BY c.n, c.m", "OrderBy",                               false},
        { "SELECT * FROM c ORDER BY c.n, c.m", "OrderBy, MultipleOrderBy",              true },
        { "SELECT TOP 1 * FROM c",             "None",                                  false},
        { "SELECT TOP 1 * FROM c",             "Top",                                   true },
        { "SELECT * FROM c OFFSET 1 LIMIT 1",  "Top",                                   false},
        { "SELECT * FROM c OFFSET 1 LIMIT 1",  "OffsetAndLimit",                        true },
        { "SELECT VALUE COUNT(1) FROM c",      "NonValueAggregate",                     false},
        { "SELECT VALUE COUNT(1) FROM c",      "Aggregate",                             true },
        { "SELECT COUNT(1) FROM c",            "Aggregate",                             false},
        { "SELECT COUNT(1) FROM c",            "NonValueAggregate",                     true },
        { "SELECT COUNT(1), MAX(c.n) FROM c",  "NonValueAggregate",                     false},
        { "SELECT COUNT(1), MAX(c.n) FROM c",  "NonValueAggregate, MultipleAggregates", true },
    };
    struct cosmos_face f;

    open_face(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer answer = ask_plan(&f, r->sql, r->features);
        CHECK_ANSWER(answer, 200);
        CHECK_THAT(cosmos_body_has(&answer, "'rewrittenQuery':''") != r->is_asked,
                   "%s with %s: %.*s", r->sql, r->features, (int)answer.body.len,
                   (const char *)answer.body.data);
    }
    cosmos_face_close(&f);
}

TEST(item_query_plan, wrong_text_is_refused_like_the_query_itself)
{
    struct cosmos_face f;

    open_face(&f);
    struct cosmos_answer answer = ask_plan(&f, "SELECT * FORM c", NULL);
    CHECK_ANSWER(answer, 400);
    CHECK(cosmos_body_has(&answer, "SC1001"));
    cosmos_face_close(&f);
}

TEST(item_query_plan, groups_come_with_their_keys)
{
    static const struct row rows[] = {
        {"SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",                 "groupByExpressions",          "['c.g']"  },
        { "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",                "groupByAliases",              "['g','n']"},
        { "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",                "groupByAliasToAggregateType",
         "{'g':null,'n':'Count'}"                                                                                   },
        { "SELECT c.g, COUNT(1) AS n FROM c WHERE c.a GROUP BY c.g, c.h", "rewrittenQuery",
         "'SELECT [{'item': c.g}, {'item': c.h}] AS groupByItems, {'g': c.g, 'n': {'item': "
          "COUNT(1)}} AS payload FROM c WHERE (c.a) GROUP BY c.g, c.h'"                                             },
        { "SELECT VALUE MAX(c.n) FROM c GROUP BY c.g",                    "aggregates",                  "['Max']"  },
        { "SELECT VALUE COUNTIF(c.n) FROM c GROUP BY c.g",                "rewrittenQuery",
         "'SELECT [{'item': c.g}] AS groupByItems, [{'item': COUNTIF(c.n)}] AS payload FROM c "
          "GROUP BY c.g'"                                                                                           },
        { "SELECT VALUE c.g FROM c GROUP BY c.g OFFSET 1 LIMIT 2",        "rewrittenQuery",
         "'SELECT [{'item': c.g}] AS groupByItems, c.g AS payload FROM c GROUP BY c.g'"                             },
        { "SELECT VALUE c.g FROM c GROUP BY c.g OFFSET 1 LIMIT 2",        "offset",                      "1"        },
        { "SELECT c.g, COUNT(1) + 1 AS n FROM c GROUP BY c.g",            "rewrittenQuery",              "''"       },
        { "SELECT c.g FROM c GROUP BY c.g ORDER BY c.g",                  "rewrittenQuery",              "''"       },
        { "SELECT DISTINCT c.g FROM c GROUP BY c.g, c.h",                 "rewrittenQuery",              "''"       },
    };
    CHECK_PLANS(rows);
}

TEST(item_query_plan, a_condition_is_left_out_only_where_a_plan_has_made_room_for_it)
{
#define COLUMNS "SELECT c._rid, [{\"item\": c.a}] AS orderByItems, c AS payload"
    const struct {
        const char *text;
        bool is_left_out;
    } rows[] = {
        {COLUMNS "\nFROM c\nWHERE ((c.x = 1) AND (c.y = 2))\nORDER BY c.a",  true },
        { COLUMNS " FROM c WHERE ((c.x = 1) AND (c.y = 2)) ORDER BY c.a",    false},
        { "SELECT *\nFROM c\nWHERE ((c.x = 1) AND (c.y = 2))\nORDER BY c.a", false},
        { COLUMNS "\nFROM c\nWHERE c.x = 1\nORDER BY c.a",                   false},
    };
    struct arena *arena = arena_open(1 << 20);

    EACH_ROW(rows, r) {
        bytes text = bytes_of_text(r->text), out;
        CHECK_OK(sql_without_filter(arena, text, &out));
        CHECK_EQ(bytes_equal(text, out), !r->is_left_out, "%s", r->text);
    }
    arena_close(arena);
#undef COLUMNS
}
