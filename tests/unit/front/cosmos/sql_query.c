/* SQL queries: clauses and their answers over small lists, and what is said about texts that are wrong. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { BUDGET = 64 * 1024 * 1024 };

static const char documents[] = "[{'id':'1','n':3,'g':'x','t':['a','b']},"
                                "{'id':'2','n':1,'g':'y'},"
                                "{'id':'3','n':2,'g':'x','s':'q'},"
                                "{'id':'4','g':'y','n':'text'},"
                                "{'id':'5'}]";

struct row {
    const char *sql;
    const char *want;
};

#define ROW(text, answer) \
    {                     \
        text, answer      \
    }

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arena *arena = arena_open(BUDGET);
        const char *got = ask_list(arena, documents, rows[i].sql,
                                   "[{'name':'@two','value':2},{'name':'@x','value':'x'}]");
        CHECK_THAT(strcmp(got, rows[i].want) == 0, "%s\n  gives %s\n  want  %s", rows[i].sql, got,
                   rows[i].want);
        arena_close(arena);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, ARRAY_COUNT(rows))

TEST(sql_query, columns_have_names_and_missing_ones_are_left_out)
{
    static const struct row rows[] = {
        ROW("SELECT c.id, c.n, c.s FROM c WHERE c.g = 'x'",
            "[{\"id\":\"1\",\"n\":3},{\"id\":\"3\",\"n\":2,\"s\":\"q\"}]"),
        ROW("SELECT * FROM c WHERE c.id = '2'", "[{\"id\":\"2\",\"n\":1,\"g\":\"y\"}]"),
        ROW("SELECT c FROM c WHERE c.id = '5'", "[{\"c\":{\"id\":\"5\"}}]"),
        ROW("SELECT VALUE c FROM c WHERE c.id = '5'", "[{\"id\":\"5\"}]"),
        ROW("SELECT c.n + 1, c.n AS m, c.n k, 5 FROM c WHERE c.id = '2'",
            "[{\"$1\":2,\"m\":1,\"k\":1,\"$2\":5}]"),
        ROW("SELECT c['g'], c.t[0] FROM c WHERE c.id = '1'", "[{\"g\":\"x\",\"$1\":\"a\"}]"),
        ROW("SELECT VALUE c.s FROM c", "[\"q\"]"),
        ROW("SELECT VALUE { 'k': c.n, d: { s: c.s } } FROM c WHERE c.id = '3'",
            "[{\"k\":2,\"d\":{\"s\":\"q\"}}]"),
        ROW("SELECT 1", "[{\"$1\":1}]"),
        ROW("SELECT VALUE 'a' || 'b'", "[\"ab\"]"),
        ROW("SELECT VALUE 1 WHERE false", "[]"),
        ROW("SELECT VALUE COUNT(1)", "[1]"),
        ROW("SELECT c.id AS from FROM c WHERE c.id = '1'", "[{\"from\":\"1\"}]"),
        ROW("select value r.id from root r where r.n=1", "[\"2\"]"),
        ROW("SELECT VALUE x.id FROM c AS x WHERE x.n = 1", "[\"2\"]"),
        ROW("SELECT VALUE root.id FROM root WHERE root.n = 1", "[\"2\"]"),
        ROW("SELECT VALUE c.id -- comment ' \" \n FROM c --\n WHERE c.n = 1 -- end", "[\"2\"]"),
        ROW("SELECT VALUE c.from FROM c", "[]"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_query, where_selects_only_what_is_true)
{
    static const struct row rows[] = {
        ROW("SELECT VALUE c.id FROM c WHERE c.n > 1", "[\"1\",\"3\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE NOT (c.n > 1)", "[\"2\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE c.n", "[]"),
        ROW("SELECT VALUE c.id FROM c WHERE true", "[\"1\",\"2\",\"3\",\"4\",\"5\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE null", "[]"),
        ROW("SELECT VALUE c.id FROM c WHERE c.n = @two AND c.g = @x", "[\"3\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE c.n IN (@two, 3)", "[\"1\",\"3\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE c[@x] = 1", "[]"),
        ROW("SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.g)", "[\"5\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE c.g != 'x'", "[\"2\",\"4\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE c.n != 1", "[\"1\",\"3\",\"4\"]"),
        ROW("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.t, 'b')", "[\"1\"]"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_query, order_and_limits_apply)
{
    static const struct row rows[] = {
        ROW("SELECT VALUE c.id FROM c ORDER BY c.n", "[\"5\",\"2\",\"3\",\"1\",\"4\"]"),
        ROW("SELECT VALUE c.id FROM c ORDER BY c.n DESC", "[\"4\",\"1\",\"3\",\"2\",\"5\"]"),
        ROW("SELECT VALUE c.id FROM c ORDER BY c.g ASC, c.n DESC",
            "[\"5\",\"1\",\"3\",\"4\",\"2\"]"),
        ROW("SELECT TOP 2 VALUE c.id FROM c", "[\"1\",\"2\"]"),
        ROW("SELECT TOP @two VALUE c.id FROM c ORDER BY c.id DESC", "[\"5\",\"4\"]"),
        ROW("SELECT TOP 0 VALUE c.id FROM c", "[]"),
        ROW("SELECT VALUE c.id FROM c OFFSET 1 LIMIT 2", "[\"2\",\"3\"]"),
        ROW("SELECT VALUE c.id FROM c ORDER BY c.id DESC OFFSET @two LIMIT @two", "[\"3\",\"2\"]"),
        ROW("SELECT VALUE c.id FROM c OFFSET 9 LIMIT 2", "[]"),
        ROW("SELECT VALUE c.id FROM c OFFSET 0 LIMIT 0", "[]"),
        ROW("SELECT TOP 1 VALUE c.s FROM c", "[\"q\"]"),
        ROW("SELECT DISTINCT VALUE c.g FROM c", "[\"x\",\"y\"]"),
        ROW("SELECT DISTINCT c.g FROM c ORDER BY c.g DESC", "[{\"g\":\"y\"},{\"g\":\"x\"},{}]"),
        ROW("SELECT DISTINCT TOP 1 VALUE c.g FROM c", "[\"x\"]"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_query, types_sort_in_the_documented_order)
{
    struct arena *arena = arena_open(BUDGET);
    const char *mixed =
        "[{'i':1,'v':{}},{'i':2,'v':[1]},{'i':3,'v':'b'},{'i':4,'v':'a'},{'i':5,'v':2},"
        "{'i':6,'v':-1.5},{'i':7,'v':true},{'i':8,'v':false},{'i':9,'v':null},{'i':10}]";

    CHECK_STRING(ask_list(arena, mixed, "SELECT VALUE c.i FROM c ORDER BY c.v", NULL),
                 "[10,9,8,7,6,5,4,3,2,1]");
    CHECK_STRING(ask_list(arena, mixed, "SELECT VALUE c.i FROM c ORDER BY c.v DESC", NULL),
                 "[1,2,3,4,5,6,7,8,9,10]");
    arena_close(arena);
}

TEST(sql_query, aggregates_make_one_row)
{
    static const struct row rows[] = {
        ROW("SELECT VALUE COUNT(1) FROM c", "[5]"),
        ROW("SELECT VALUE COUNT(c.n) FROM c", "[4]"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE c.g = 'none'", "[0]"),
        ROW("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 9", "[6]"),
        ROW("SELECT VALUE SUM(c.n) FROM c", "[]"),
        ROW("SELECT SUM(c.n) AS s, COUNT(1) AS k FROM c", "[{\"k\":5}]"),
        ROW("SELECT VALUE AVG(c.n) FROM c WHERE c.g = 'x'", "[2.5]"),
        ROW("SELECT VALUE AVG(c.none) FROM c", "[]"),
        ROW("SELECT VALUE MIN(c.n) FROM c", "[1]"),
        ROW("SELECT VALUE MAX(c.n) FROM c", "[\"text\"]"),
        ROW("SELECT VALUE MAX(c.t) FROM c", "[]"),
        ROW("SELECT VALUE MIN(c.none) FROM c", "[]"),
        ROW("SELECT VALUE SUM(c.n) / COUNT(c.n) + 1 FROM c WHERE c.n < 9", "[3]"),
        ROW("SELECT VALUE {lo: MIN(c.id), hi: MAX(c.id)} FROM c", "[{\"lo\":\"1\",\"hi\":\"5\"}]"),
        ROW("SELECT COUNT(1), MAX(c.id) FROM c", "[{\"$1\":5,\"$2\":\"5\"}]"),
        ROW("SELECT VALUE COUNT(1) FROM c ORDER BY c.n", "[5]"),
        ROW("SELECT TOP 3 VALUE COUNT(1) FROM c", "[5]"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_query, wrong_texts_are_refused_with_code_and_place)
{
    static const struct row rows[] = {
        ROW("", "SC1002 0-0: Syntax error, unexpected end-of-file."),
        ROW("SELECT", "SC1002 6-6: Syntax error, unexpected end-of-file."),
        ROW("SELECT * FORM c", "SC1001 9-13: Syntax error, incorrect syntax near 'FORM'."),
        ROW("SELECT *", "SC2030 7-8: 'SELECT *' is not valid without a FROM clause."),
        ROW("SELECT * FROM c;", "SC1010 15-16: Syntax error, invalid token ';'."),
        ROW("SELECT * FROM c WHERE", "SC1002 21-21: Syntax error, unexpected end-of-file."),
        ROW("SELECT * FROM c WHERE c.a = = 1",
            "SC1001 28-29: Syntax error, incorrect syntax near '='."),
        ROW("SELECT * FROM c WHERE c.a = 'x",
            "SC1012 28-30: Syntax error, invalid string literal token ''x'."),
        ROW("SELECT * FROM c WHERE c.a = '\\q'",
            "SC1012 28-31: Syntax error, invalid string literal token ''\\q'."),
        ROW("SELECT * FROM c WHERE c.a = 1x",
            "SC1011 28-30: Syntax error, invalid numeric value token '1x'."),
        ROW("SELECT * FROM c WHERE c.a = 1e",
            "SC1011 28-30: Syntax error, invalid numeric value token '1e'."),
        ROW("SELECT * FROM c WHERE c.a = 1e999",
            "SC1011 28-33: Syntax error, invalid numeric value token '1e999'."),
        ROW("SELECT * FROM c /* no */", "SC1001 16-17: Syntax error, incorrect syntax near '/'."),
        ROW("SELECT * FROM c WHERE d.a = 1", "SC2001 22-23: Identifier 'd' could not be resolved."),
        ROW("SELECT root.x FROM c", "SC2001 7-11: Identifier 'root' could not be resolved."),
        ROW("SELECT c.x FROM c r", "SC2001 7-8: Identifier 'c' could not be resolved."),
        ROW("SELECT c.x", "SC2001 7-8: Identifier 'c' could not be resolved."),
        ROW("SELECT @no", "SC2001 7-10: Identifier '@no' could not be resolved: the query has no "
                          "such parameter."),
        ROW("SELECT FOO(1)", "SC2005 7-10: 'FOO' is not a recognized built-in function name."),
        ROW("SELECT ABS()", "SC2050 7-12: The ABS function requires 1 argument(s)."),
        ROW("SELECT CONTAINS('a')",
            "SC2050 7-20: The CONTAINS function requires 2 to 3 argument(s)."),
        ROW("SELECT c.a, c.b AS a FROM c",
            "SC2022 19-20: The property name 'a' is used more than once in the SELECT clause."),
        ROW("SELECT c.a, COUNT(1) FROM c",
            "SC2102 7-10: Property reference 'c.a' is invalid in the select list because it is not "
            "contained in either an aggregate function or the GROUP BY clause."),
        ROW("SELECT * FROM c WHERE COUNT(1) > 1", "SC2104 22-27: The aggregate function COUNT may "
                                                  "only be used in the SELECT clause, and not "
                                                  "within another aggregate function."),
        ROW("SELECT VALUE SUM(COUNT(1)) FROM c", "SC2104 17-22: The aggregate function COUNT may "
                                                 "only be used in the SELECT clause, and not "
                                                 "within another aggregate function."),
        ROW("SELECT TOP -1 * FROM c", "SC1001 11-12: Syntax error, incorrect syntax near '-'."),
        ROW("SELECT TOP 1.5 * FROM c",
            "SC1011 11-14: The value '1.5' is not a whole number of rows from 0 on."),
        ROW("SELECT TOP @x * FROM c",
            "SC1011 11-13: The value '@x' is not a whole number of rows from 0 on."),
        ROW("SELECT TOP 1 * FROM c OFFSET 1 LIMIT 1",
            "SC2062 22-28: The TOP and OFFSET LIMIT clauses cannot be used together."),
        ROW("SELECT * FROM c OFFSET 1", "SC1002 24-24: Syntax error, unexpected end-of-file."),
        ROW("SELECT * FROM c LIMIT 1",
            "SC1001 16-21: Syntax error, incorrect syntax near 'LIMIT'."),
        ROW("SELECT VALUE 1/0", "4001 14-15: Division by zero."),
        ROW("SELECT {'a\\u0000b':1}",
            "SC1001 8-18: Syntax error, a property name must not contain the character U+0000."),
        ROW("SELECT VALUE '\xf0\x9f\x98\x80' FROM c WHERE ?",
            "SC1001 31-32: Syntax error, incorrect syntax near '?'."),
        ROW("SELECT c.a IN () FROM c", "SC1001 15-16: Syntax error, incorrect syntax near ')'."),
    };
    CHECK_ROWS(rows);
}

TEST(sql_query, nesting_and_lengths_are_bounded)
{
    struct arena *arena = arena_open(4 * BUDGET);
    struct buffer deep = buffer_in(arena), wide = buffer_in(arena), chain = buffer_in(arena);

    buffer_append_text(&deep, "SELECT VALUE ");
    for (int i = 0; i < 5000; i++)
        buffer_append_text(&deep, "(");
    buffer_append_byte(&deep, 0);
    CHECK_STRING(ask_list(arena, documents, (const char *)deep.data, NULL),
                 "SC3000 213-214: The query cannot be run: the query is nested more than 200 deep, "
                 "the limit.");
    buffer_append_text(&chain, "SELECT VALUE 1");
    for (int i = 0; i < 5000; i++)
        buffer_append_text(&chain, " + c.n");
    buffer_append_text(&chain, " FROM c");
    buffer_append_byte(&chain, 0);
    CHECK_STRING(ask_list(arena, documents, (const char *)chain.data, NULL),
                 "SC3000 1209-1210: The query cannot be run: the query's expressions are nested "
                 "more than 200 deep, the limit.");
    buffer_append_text(&wide, "SELECT VALUE c.id FROM c WHERE c.n = 0");
    for (int i = 0; i < 5000; i++)
        buffer_append_format(&wide, " OR c.n = %d", i + 3);
    buffer_append_byte(&wide, 0);
    CHECK_STRING(ask_list(arena, documents, (const char *)wide.data, NULL), "[\"1\"]");
    struct sql_error error;
    const struct query *query;
    char *long_text = malloc(LIMIT_QUERY_TEXT_BYTES + 1);
    memset(long_text, ' ', LIMIT_QUERY_TEXT_BYTES + 1);
    CHECK_CODE(sql_parse(arena, bytes_of(long_text, LIMIT_QUERY_TEXT_BYTES + 1), BYTES_NONE, &query,
                         &error),
               TOO_LARGE);
    CHECK_STRING(error.code, "SC3020");
    CHECK_EQ(error.end, LIMIT_QUERY_TEXT_BYTES + 1, "the whole text");
    CHECK_CODE(
        sql_parse(arena, bytes_of(long_text, LIMIT_QUERY_TEXT_BYTES), BYTES_NONE, &query, &error),
        INVALID);
    CHECK_STRING(error.code, "SC1002");
    free(long_text);
    arena_close(arena);
}

TEST(sql_query, a_condition_is_judged_on_one_document)
{
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"from c where c.v = 5",            true },
        { "FROM c WHERE c.v = 6",           false},
        { "from x where x.v > 1 AND x.o.p", true },
        { "from c where c.missing = 1",     false},
        { "from c",                         true },
    };
    struct arena *arena = arena_open(BUDGET);
    struct document document = { .bson = world_document(arena, "{'v':5,'o':{'p':true}}") };

    EACH_ROW(rows, r) {
        const struct query *query;
        struct sql_error error;
        bool is_match;
        CHECK_OK(sql_parse_condition(arena, bytes_of_text(r->text), &query, &error));
        CHECK_OK(query_matches(query, arena, NULL, &document, 0, &is_match));
        CHECK_EQ(is_match, r->want, "%s", r->text);
    }
    const struct query *query;
    struct sql_error error;
    CHECK_CODE(sql_parse_condition(arena, BYTES_LITERAL("SELECT * FROM c"), &query, &error),
               INVALID);
    CHECK_CODE(sql_parse_condition(arena, BYTES_LITERAL("from c order by c.x"), &query, &error),
               INVALID);
    arena_close(arena);
}

TEST(sql_query, the_tree_tells_what_a_plan_needs)
{
    struct arena *arena = arena_open(BUDGET);
    const struct query *q = ask_query(
        arena, "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 3", NULL);

    CHECK_EQ(query_distinct_kind(q), DISTINCT_ORDERED, "");
    CHECK_EQ(q->is_output_bare, true, "");
    CHECK_EQ(q->order_count, 1, "");
    CHECK_EQ(q->orders[0].is_descending, true, "");
    CHECK_TEXT(q->orders[0].text, "c.n");
    CHECK(q->has_skip && q->skip == 2 && q->limit == 3 && !q->has_top);
    q = ask_query(arena, "SELECT DISTINCT TOP 4 c.n, c.g FROM c ORDER BY c.n", NULL);
    CHECK_EQ(query_distinct_kind(q), DISTINCT_UNORDERED, "");
    CHECK(q->has_top && q->limit == 4 && !q->is_output_bare);
    q = ask_query(arena, "SELECT VALUE AVG(c.n) FROM c", NULL);
    CHECK_EQ(q->aggregate_count, 1, "");
    CHECK_EQ(q->aggregates[0].kind, AGGREGATE_AVERAGE, "");
    arena_close(arena);
}
