/* SQL expressions: what they give, as a table of texts and answers over a few documents. */
#include "tests/support/ask.h"

enum { BUDGET = 64 * 1024 * 1024 };

static const char documents[] = "[{'n':7,'s':'abc','b':true,'z':null,'a':[1,'x',{'k':1,'m':2}],'o':"
                                "{'p':1,'q r':[5,6]},'f':2.5}]";

struct row {
    const char *expression;
    const char *want; /* of SELECT VALUE expression FROM c; "" for a missing value */
};

#define ROW(text, answer) \
    {                     \
        text, answer      \
    }

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arena *arena = arena_open(BUDGET);
        const char *sql = arena_format(arena, "SELECT VALUE %s FROM c", rows[i].expression);
        const char *want = arena_format(arena, "[%s]", rows[i].want);
        const char *got = ask_list(arena, documents, sql, "[{'name':'@p','value':'abc'}]");
        CHECK_THAT(strcmp(got, want) == 0, "%s gives %s, want %s", sql, got, want);
        arena_close(arena);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, ARRAY_COUNT(rows))

TEST(sql_expression, paths_reach_what_is_there)
{
    static const struct row rows[] = {
        ROW("c.n", "7"),           ROW("c.N", ""),
        ROW("c[\"n\"]", "7"),      ROW("c['o']['q r'][1]", "6"),
        ROW("c.o.p", "1"),         ROW("c.a[0]", "1"),
        ROW("c.a[1+1].m", "2"),    ROW("c.a[3]", ""),
        ROW("c.a[-1]", ""),        ROW("c.a[0.5]", ""),
        ROW("c.a.k", ""),          ROW("c.a['0']", ""),
        ROW("c.s[0]", ""),         ROW("c.z.x", ""),
        ROW("c.missing.x", ""),    ROW("c.o", "{\"p\":1,\"q r\":[5,6]}"),
        ROW("@p", "\"abc\""),      ROW("c.order", ""),
        ROW("{a:{b:3}}.a.b", "3"), ROW("[1,2,3][1]", "2"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, literals_are_read_as_written)
{
    static const struct row rows[] = {
        ROW("1", "1"),
        ROW("-1", "-1"),
        ROW("1.50", "1.5"),
        ROW(".5", "0.5"),
        ROW("1e3", "1000"),
        ROW("2E-1", "0.2"),
        ROW("9223372036854775807", "9223372036854775807"),
        ROW("9223372036854775808", "9.223372036854776e+18"),
        ROW("'a\"b'", "\"a\\\"b\""),
        ROW("\"a'b\"", "\"a'b\""),
        ROW("'a\\'b\\\\ \\n \\u0041\\u00e9\\ud83d\\ude00'",
            "\"a'b\\\\ \\n A\xc3\xa9\xf0\x9f\x98\x80\""),
        ROW("''", "\"\""),
        ROW("true", "true"),
        ROW("FALSE", "false"),
        ROW("Null", "null"),
        ROW("undefined", ""),
        ROW("[]", "[]"),
        ROW("{}", "{}"),
        ROW("[1,[2],c.missing,'x']", "[1,[2],\"x\"]"),
        ROW("{'a':1,b:c.n,\"c d\":c.missing}", "{\"a\":1,\"b\":7}"),
        ROW("{value:1, 'from':2}", "{\"value\":1,\"from\":2}"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, comparison_follows_the_kinds)
{
    static const struct row rows[] = {
        ROW("1 = 1", "true"),
        ROW("1 = 1.0", "true"),
        ROW("c.n = 7", "true"),
        ROW("c.n = '7'", "false"),
        ROW("c.n != '7'", "true"),
        ROW("c.n <> 8", "true"),
        ROW("c.z = null", "true"),
        ROW("c.z != null", "false"),
        ROW("c.n != null", "true"),
        ROW("c.missing = null", ""),
        ROW("c.missing != null", ""),
        ROW("c.missing = c.missing", ""),
        ROW("undefined = undefined", ""),
        ROW("c.n > 6", "true"),
        ROW("c.n >= 7", "true"),
        ROW("c.n < 7", "false"),
        ROW("c.n <= 7.0", "true"),
        ROW("6 < c.n", "true"),
        ROW("c.n > 'a'", ""),
        ROW("c.s < 'abd'", "true"),
        ROW("'B' < 'a'", "true"),
        ROW("false < true", "true"),
        ROW("null <= null", "true"),
        ROW("c.z < 1", ""),
        ROW("c.a > [0]", ""),
        ROW("c.o > {}", ""),
        ROW("c.a = [1,'x',{m:2,k:1}]", "true"),
        ROW("c.a = [1,'x']", "false"),
        ROW("c.o = {p:1}", "false"),
        ROW("{a:1,b:2} = {b:2,a:1.0}", "true"),
        ROW("c.n BETWEEN 7 AND 8", "true"),
        ROW("c.n BETWEEN 8 AND 9", "false"),
        ROW("c.n NOT BETWEEN 8 AND 9", "true"),
        ROW("c.n BETWEEN 'a' AND 'b'", ""),
        ROW("c.n BETWEEN 8 AND 'b'", "false"),
        ROW("c.n IN (1, 7)", "true"),
        ROW("c.n IN (1, '7')", "false"),
        ROW("c.n NOT IN (1)", "true"),
        ROW("c.missing IN (1)", ""),
        ROW("c.missing NOT IN (1)", ""),
        ROW("c.n IN (c.missing, 7)", "true"),
        ROW("c.n IN (c.missing)", "false"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, logic_has_three_values)
{
    static const struct row rows[] = {
        ROW("true AND true", "true"),
        ROW("true AND false", "false"),
        ROW("true AND c.missing", ""),
        ROW("c.missing AND true", ""),
        ROW("false AND c.missing", "false"),
        ROW("c.missing AND false", "false"),
        ROW("true AND 1", ""),
        ROW("true OR c.missing", "true"),
        ROW("c.missing OR true", "true"),
        ROW("false OR c.missing", ""),
        ROW("false OR false", "false"),
        ROW("1 OR true", "true"),
        ROW("NOT true", "false"),
        ROW("NOT c.missing", ""),
        ROW("NOT 1", ""),
        ROW("NOT (c.n = 7)", "false"),
        ROW("NOT (c.n = 8) AND true", "true"),
        ROW("NOT c.n = 8", ""),
        ROW("true OR true AND false", "true"),
        ROW("(true OR true) AND false", "false"),
        ROW("c.missing ?? 5", "5"),
        ROW("c.z ?? 5", "null"),
        ROW("c.missing ?? c.missing ?? 3", "3"),
        ROW("c.n = 7 ? 'yes' : 'no'", "\"yes\""),
        ROW("c.n = 8 ? 'yes' : 'no'", "\"no\""),
        ROW("c.missing ? 1 : 2", "2"),
        ROW("1 ? 1 : 2", "2"),
        ROW("false ? 1 : true ? 2 : 3", "2"),
        ROW("true ? false ? 1 : 2 : 3", "2"),
        ROW("c.missing ?? false ? 1 : 2", "2"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, arithmetic_is_exact_while_it_can_be)
{
    static const struct row rows[] = {
        ROW("1 + 2 * 3", "7"),
        ROW("(1 + 2) * 3", "9"),
        ROW("7 - 2 - 1", "4"),
        ROW("7 / 2", "3.5"),
        ROW("8 / 2 / 2", "2"),
        ROW("7 % 4", "3"),
        ROW("-7 % 4", "-3"),
        ROW("5.5 % 2", "1.5"),
        ROW("7 % -1", "0"),
        ROW("c.n + c.f", "9.5"),
        ROW("- c.n", "-7"),
        ROW("+ c.n", "7"),
        ROW("- - 2", "2"),
        ROW("2 - -2", "4"),
        ROW("- c.s", ""),
        ROW("c.n + 'a'", ""),
        ROW("c.n + null", ""),
        ROW("c.n + c.missing", ""),
        ROW("c.n / (c.n - 7)", ""),
        ROW("9223372036854775807 + 1", "9.223372036854776e+18"),
        ROW("3037000500 * 3037000500", "9.22337203700025e+18"),
        ROW("1e308 * 10", ""),
        ROW("'a' || 'b' || c.s", "\"ababc\""),
        ROW("'a' || 1", ""),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, kinds_are_told_apart)
{
    static const struct row rows[] = {
        ROW("IS_DEFINED(c.z)", "true"),    ROW("is_defined(c.missing)", "false"),
        ROW("IS_NULL(c.z)", "true"),       ROW("IS_NULL(c.missing)", "false"),
        ROW("IS_NUMBER(c.n)", "true"),     ROW("IS_NUMBER(c.s)", "false"),
        ROW("IS_STRING(c.s)", "true"),     ROW("IS_BOOL(c.b)", "true"),
        ROW("IS_ARRAY(c.a)", "true"),      ROW("IS_ARRAY(c.o)", "false"),
        ROW("IS_OBJECT(c.o)", "true"),     ROW("IS_PRIMITIVE(c.z)", "true"),
        ROW("IS_PRIMITIVE(c.a)", "false"), ROW("IS_PRIMITIVE(c.missing)", "false"),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, functions_of_strings_answer)
{
    static const struct row rows[] = {
        ROW("CONTAINS(c.s, 'bc')", "true"),
        ROW("CONTAINS(c.s, 'BC')", "false"),
        ROW("CONTAINS(c.s, 'BC', true)", "true"),
        ROW("CONTAINS(c.s, '')", "true"),
        ROW("CONTAINS('', 'a')", "false"),
        ROW("CONTAINS(c.n, 'a')", ""),
        ROW("STARTSWITH(c.s, 'ab')", "true"),
        ROW("STARTSWITH(c.s, 'AB', true)", "true"),
        ROW("STARTSWITH(c.s, 'abcd')", "false"),
        ROW("ENDSWITH(c.s, 'bc')", "true"),
        ROW("ENDSWITH(c.s, 'ab')", "false"),
        ROW("LOWER('AB\\u00c9\\u0416\\u039b')", "\"ab\xc3\xa9\xd0\xb6\xce\xbb\""),
        ROW("UPPER('ab\\u00e9\\u0436\\u03bb\\u00df')", "\"AB\xc3\x89\xd0\x96\xce\x9b\xc3\x9f\""),
        ROW("LOWER(c.n)", ""),
        ROW("LENGTH(c.s)", "3"),
        ROW("LENGTH('\\ud83d\\ude00\\u00e9')", "3"),
        ROW("LENGTH(c.a)", ""),
        ROW("CONCAT(c.s, 'd', 'e')", "\"abcde\""),
        ROW("CONCAT(c.s, 1)", ""),
        ROW("c.s LIKE 'a%'", "true"),
        ROW("c.s LIKE 'b%'", "false"),
        ROW("c.s NOT LIKE 'b%'", "true"),
        ROW("c.s LIKE '%b%'", "true"),
        ROW("c.s LIKE 'a_c'", "true"),
        ROW("c.s LIKE 'a_'", "false"),
        ROW("c.s LIKE '[a-c]b[^d]'", "true"),
        ROW("c.s LIKE '[^a]%'", "false"),
        ROW("c.s LIKE 'abc'", "true"),
        ROW("c.s LIKE ''", "false"),
        ROW("'50%' LIKE '50!%' ESCAPE '!'", "true"),
        ROW("'505' LIKE '50!%' ESCAPE '!'", "false"),
        ROW("'aaab' LIKE '%a%ab'", "true"),
        ROW("'\\u00e9x' LIKE '_x'", "true"),
        ROW("c.n LIKE '7'", ""),
    };
    CHECK_ROWS(rows);
}

TEST(sql_expression, functions_of_arrays_and_numbers_answer)
{
    static const struct row rows[] = {
        ROW("ARRAY_CONTAINS(c.a, 1)", "true"),
        ROW("ARRAY_CONTAINS(c.a, 2)", "false"),
        ROW("ARRAY_CONTAINS(c.a, {k:1,m:2})", "true"),
        ROW("ARRAY_CONTAINS(c.a, {k:1})", "false"),
        ROW("ARRAY_CONTAINS(c.a, {k:1}, true)", "true"),
        ROW("ARRAY_CONTAINS(c.a, {k:2}, true)", "false"),
        ROW("ARRAY_CONTAINS(c.n, 1)", ""),
        ROW("ARRAY_LENGTH(c.a)", "3"),
        ROW("ARRAY_LENGTH(c.o)", ""),
        ROW("ABS(-3)", "3"),
        ROW("ABS(-2.5)", "2.5"),
        ROW("FLOOR(-2.5)", "-3"),
        ROW("CEILING(2.1)", "3"),
        ROW("ROUND(2.5)", "3"),
        ROW("ROUND(-2.5)", "-3"),
        ROW("ROUND(2.345, 2)", "2.35"),
        ROW("FLOOR(c.s)", ""),
    };
    CHECK_ROWS(rows);
}
