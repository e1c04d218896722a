/* The language as it is documented, table by table; see tests/support/language.h. */
#include "tests/check.h"
#include "tests/support/language.h"

#include <stdio.h>

TEST(sql_language, from_and_joins_make_the_documented_rows)
{
    language_check("joins");
}

TEST(sql_language, operators_bind_and_compute_as_documented)
{
    language_check("expressions");
}

TEST(sql_language, subqueries_see_the_row_around_them)
{
    language_check("subqueries");
}

TEST(sql_language, aggregates_count_what_is_there_and_are_spoiled_by_other_kinds)
{
    language_check("aggregates");
}

TEST(sql_language, groups_are_rows_of_what_their_rows_have_in_common)
{
    language_check("grouping");
}

TEST(sql_language, ranks_put_the_best_first)
{
    language_check("functions-rank");
}

TEST(sql_language, shapes_are_found_by_where_they_lie)
{
    language_check("functions-spatial");
}

TEST(sql_language, functions_of_all_families_give_the_documented_values)
{
    static const char *const families[] = { "array", "choice", "date", "math", "string", "type" };
    char name[64];

    EACH_ROW(families, family) {
        snprintf(name, sizeof(name), "functions-%s", *family);
        language_check(name);
    }
}
