/* Functions of arrays and sets, choices, and kinds of values. */
#include "tests/support/calls.h"

TEST(functions_array, elements_are_counted_and_compared)
{
    static const struct call_row rows[] = {
        CALL("ARRAY_AVG([1, 2, 3, 4])", "2.5"),
        CALL("ARRAY_AVG([1.0, 2.0, 3.3, 4.7])", "2.75"),
        CALL("ARRAY_AVG([1, -2.7, 3, -4, undefined])", "-0.675"),
        CALL("ARRAY_AVG(['abc', 'ABC'])", ""),
        CALL("ARRAY_AVG([12, 'abc', true, null])", ""),
        CALL("ARRAY_AVG([])", ""),
        CALL("ARRAY_AVG(5)", ""),
        CALL("ARRAY_MEDIAN([1, 2, 3, 4])", "2.5"),
        CALL("ARRAY_MEDIAN([7.8, 1.0, 3.3, 4.7, 2.0])", "3.3"),
        CALL("ARRAY_MEDIAN([1, -2.7, 3, -4, undefined])", "-0.8500000000000001"),
        CALL("ARRAY_MEDIAN(['abc'])", ""),
        CALL("ARRAY_MEDIAN([])", ""),
        CALL("ARRAY_SUM([1, 2, 3, 4])", "10"),
        CALL("ARRAY_SUM([1.5, 2])", "3.5"),
        CALL("ARRAY_SUM([])", "0"),
        CALL("ARRAY_SUM([9223372036854775807, 1])", "9.223372036854776e+18"),
        CALL("ARRAY_SUM([1, null])", ""),
        CALL("ARRAY_SUM({})", ""),
        CALL("ARRAY_MAX([1, 2, 3, 4])", "4"),
        CALL("ARRAY_MAX(['abc', 'ABC', 'aBc'])", "\"abc\""),
        CALL("ARRAY_MAX([true, false])", "true"),
        CALL("ARRAY_MAX([null, null])", "null"),
        CALL("ARRAY_MAX([12, 'abc', true, false, null, undefined])", "\"abc\""),
        CALL("ARRAY_MAX([])", ""),
        CALL("ARRAY_MAX([1, [2]])", ""),
        CALL("ARRAY_MAX('abc')", ""),
        CALL("ARRAY_MIN([1, 2, 3, 4])", "1"),
        CALL("ARRAY_MIN(['abc', 'ABC', 'aBc'])", "\"ABC\""),
        CALL("ARRAY_MIN([true, false])", "false"),
        CALL("ARRAY_MIN([12, 'abc', true, false, null, undefined])", "null"),
        CALL("ARRAY_MIN([{}])", ""),
        CALL("ARRAY_LENGTH([1, 2, undefined])", "2"),
        CALL("ARRAY_LENGTH('ab')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_array, elements_are_looked_for)
{
    static const struct call_row rows[] = {
        CALL("ARRAY_CONTAINS([1, 'a'], 'a')", "true"),
        CALL("ARRAY_CONTAINS([{a: 1, b: 2}], {a: 1}, true)", "true"),
        CALL("ARRAY_CONTAINS([{a: 1, b: 2}], {a: 1})", "false"),
        CALL("ARRAY_CONTAINS(1, 1)", ""),
        CALL("ARRAY_CONTAINS_ALL([1, true, '3', [1,2,3]], 1, true, '3', [1,2,3])", "true"),
        CALL("ARRAY_CONTAINS_ALL([1, 2, 3, 4], 2, 3, 4, 5)", "false"),
        CALL("ARRAY_CONTAINS_ALL([1, 2, 3, 4], 1, undefined)", ""),
        CALL("ARRAY_CONTAINS_ALL([], 1)", "false"),
        CALL("ARRAY_CONTAINS_ALL([1, 2, 3, 4], 5, undefined)", "false"),
        CALL("ARRAY_CONTAINS_ALL('x', 1)", ""),
        CALL("ARRAY_CONTAINS_ANY([1, 2, 3], 5, 3.0)", "true"),
        CALL("ARRAY_CONTAINS_ANY([1, 2, 3], 5, 6)", "false"),
        CALL("ARRAY_CONTAINS_ANY([1, 2, 3], 5, undefined)", ""),
        CALL("ARRAY_CONTAINS_ANY([1, 2, 3], undefined, 1)", "true"),
        CALL("ARRAY_CONTAINS_ANY(null, 1)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_array, arrays_are_made_of_arrays)
{
    static const struct call_row rows[] = {
        CALL("ARRAY_CONCAT(['A', 'B', 'C'], ['D', 'E'], ['F'])",
             "[\"A\",\"B\",\"C\",\"D\",\"E\",\"F\"]"),
        CALL("ARRAY_CONCAT(c.a, [])", "[1,2,3]"),
        CALL("ARRAY_CONCAT([1], 2)", ""),
        CALL("ARRAY_CONCAT([1], c.missing)", ""),
        CALL("ARRAY_SLICE([70, 86, 92, 99], 0)", "[70,86,92,99]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], 1)", "[86,92,99]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], -2)", "[92,99]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], -2, 1)", "[92]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], -9, 1)", "[70]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], 3, 12)", "[99]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], 4)", "[]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], 0, 0)", "[]"),
        CALL("ARRAY_SLICE([70, 86, 92, 99], 0, -1)", "[]"),
        CALL("ARRAY_SLICE([70], INTSUB(-9223372036854775807, 1))", "[70]"),
        CALL("ARRAY_SLICE([70, 86], 0.5)", ""),
        CALL("ARRAY_SLICE([70, 86], 0, '1')", ""),
        CALL("ARRAY_SLICE('ab', 0)", ""),
        CALL("OBJECTTOARRAY({a: '12345', b: 67890})",
             "[{\"k\":\"a\",\"v\":\"12345\"},{\"k\":\"b\",\"v\":67890}]"),
        CALL("OBJECTTOARRAY({a: 1}, 'name')", "[{\"name\":\"a\",\"v\":1}]"),
        CALL("OBJECTTOARRAY({a: 1}, 'key', 'value')", "[{\"key\":\"a\",\"value\":1}]"),
        CALL("OBJECTTOARRAY({})", "[]"),
        CALL("OBJECTTOARRAY([1])", ""),
        CALL("OBJECTTOARRAY({a: 1}, 1)", ""),
        CALL("OBJECTTOARRAY({a: 1}, 'a\\u0000b')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_array, sets_have_no_order_and_no_duplicates)
{
    static const struct call_row rows[] = {
        CALL("SETINTERSECT([1, 2, 3, 4], [3, 4, 5, 6])", "[3,4]"),
        CALL("SETINTERSECT([1, 2, 3, 4], [])", "[]"),
        CALL("SETINTERSECT([1, 2, 3, 4], [1, 1, 1, 1])", "[1]"),
        CALL("SETINTERSECT([1, 2, 'A', 'B'], ['A', 1])", "[\"A\",1]"),
        CALL("SETINTERSECT([{a: 1, b: [2.0]}], [{b: [2], a: 1}])", "[{\"b\":[2],\"a\":1}]"),
        CALL("SETINTERSECT([1], 1)", ""),
        CALL("SETUNION([1, 2, 3, 4], [3, 4, 5, 6])", "[1,2,3,4,5,6]"),
        CALL("SETUNION([1, 1.0, '1'], [true, 'x'])", "[1,\"1\",true,\"x\"]"),
        CALL("SETUNION([], [])", "[]"),
        CALL("SETUNION([], undefined)", ""),
        CALL("SETDIFFERENCE([1, 2, 3], [1, 2, 6, 7])", "[3]"),
        CALL("SETDIFFERENCE([1, 2, 3], [])", "[1,2,3]"),
        CALL("SETDIFFERENCE([1, 1, 1], [2])", "[1]"),
        CALL("SETDIFFERENCE([null, false, 0, '', [], {}], [0.0, {}])", "[null,false,\"\",[]]"),
        CALL("SETDIFFERENCE({}, [])", ""),
        CALL("SETEQUAL([1, 2, 3, 3], [1, 2, 2, 3, 1, 2])", "true"),
        CALL("SETEQUAL([1, true, 'abc'], [true, 1, 'abc'])", "true"),
        CALL("SETEQUAL([], [1])", "false"),
        CALL("SETEQUAL([1, 1], [2, 3, 4])", "false"),
        CALL("SETEQUAL([[1, 2]], [[2, 1]])", "false"),
        CALL("SETEQUAL('a', ['a'])", ""),
    };
    CHECK_CALLS(rows);
}

/* Comparing each with each would take minutes. */
TEST(functions_array, sets_of_many_elements_take_no_longer_than_they_must)
{
    static const struct call_row rows[] = {
        CALL("ARRAY_LENGTH(SETUNION(STRINGSPLIT(REPLACE(REPLICATE('0123456789', 1000), '9', "
             "REPLICATE(',abc', 50)), ','), ['x']))",
             "4"),
    };
    struct arena *arena = arena_open(256 << 20);
    struct buffer array = buffer_in(arena), sql = buffer_in(arena);

    CHECK_CALLS(rows);
    for (int i = 0; i < 16000; i++)
        buffer_append_format(&array, "%s%d", i ? "," : "", i);
    buffer_append_byte(&array, 0);
    CHECK(!array.is_failed);
    buffer_append_format(&sql, "SELECT VALUE ARRAY_LENGTH(SETUNION([%s],[-1,%s])) FROM c",
                         (const char *)array.data, "5,5.0,15999");
    buffer_append_byte(&sql, 0);
    CHECK(!sql.is_failed);
    CHECK_STRING(ask_list(arena, "[{}]", (const char *)sql.data, NULL), "[16001]");
    arena_close(arena);
}

TEST(functions_array, choices_evaluate_what_is_chosen)
{
    static const struct call_row rows[] = {
        CALL("CHOOSE(0, 'abc', 1, true, [1])", ""),
        CALL("CHOOSE(1, 'abc', 1, true, [1])", "\"abc\""),
        CALL("CHOOSE(4, 'abc', 1, true, [1])", "[1]"),
        CALL("CHOOSE(5, 'abc', 1, true, [1])", ""),
        CALL("CHOOSE(-1, 'abc')", ""),
        CALL("CHOOSE(1.5, 'abc', 'def')", ""),
        CALL("CHOOSE('1', 'abc')", ""),
        CALL("CHOOSE(1, c.n, undefined)", "7"),
        CALL("IIF(true, 123, 456)", "123"),
        CALL("IIF(false, 123, 456)", "456"),
        CALL("IIF(c.n, 123, 456)", "456"),
        CALL("IIF(c.t, c.s, c.missing)", "\"abc\""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_array, kinds_of_values_are_told_apart)
{
    static const struct call_row rows[] = {
        CALL("IS_INTEGER(3454.123)", "false"),
        CALL("IS_INTEGER(5523432)", "true"),
        CALL("IS_INTEGER(5.0)", "true"),
        CALL("IS_INTEGER(9223372036854775807)", "true"),
        CALL("IS_INTEGER(18446744073709551615)", "false"),
        CALL("IS_INTEGER('1')", "false"),
        CALL("IS_INTEGER(undefined)", "false"),
        CALL("IS_FINITE_NUMBER(1234.567)", "true"),
        CALL("IS_FINITE_NUMBER(SQRT(-1.0))", "false"),
        CALL("IS_FINITE_NUMBER('1')", "false"),
        CALL("IS_ARRAY(c.a)", "true"),
        CALL("IS_BOOL(c.t)", "true"),
        CALL("IS_DEFINED(c.missing)", "false"),
        CALL("IS_NULL(c.z)", "true"),
        CALL("IS_NUMBER(c.f)", "true"),
        CALL("IS_OBJECT(c.o)", "true"),
        CALL("IS_PRIMITIVE(c.a)", "false"),
        CALL("IS_STRING(c.s)", "true"),
        CALL("CHOOSE(1)", "SC2050 13-22: The CHOOSE function requires at least 2 argument(s)."),
        CALL("IIF(true, 1)", "SC2050 13-25: The IIF function requires 3 argument(s)."),
        CALL("SETUNION([])", "SC2050 13-25: The SETUNION function requires 2 argument(s)."),
        CALL("ARRAY_SLICE([])",
             "SC2050 13-28: The ARRAY_SLICE function requires 2 to 3 argument(s)."),
    };
    CHECK_CALLS(rows);
}

TEST(functions_array, documents_have_numbers_that_differ_and_stay)
{
    static const char *const sql = "SELECT VALUE DOCUMENTID(c) FROM c WHERE DOCUMENTID(c) > 0";
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    world_insert(&w, "c", "{'_id':1}");
    world_insert(&w, "c", "{'_id':2}");
    const char *first = ask(&w, "c", sql, &(struct asking){ 0 }, NULL);
    world_replace(&w, "c", "{'_id':1,'v':2}");
    CHECK_STRING(ask(&w, "c", sql, &(struct asking){ 0 }, NULL), first);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE DOCUMENTID(c._id) FROM c", &(struct asking){ 0 }, NULL),
                 "[]");
    CHECK_STRING(ask(&w, "c", "SELECT VALUE COUNT(1) FROM c WHERE DOCUMENTID(c) > 0",
                     &(struct asking){ 0 }, NULL),
                 "[2]");
    world_close(&w);
}
