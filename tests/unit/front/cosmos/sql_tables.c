/* What a single SELECT says, clause by clause, as tables; see tests/support/language.h. */
#include "tests/check.h"
#include "tests/support/language.h"

TEST(sql_tables, columns_are_named_and_rows_made_anew)
{
    language_check("select");
}

TEST(sql_tables, comparison_never_mixes_kinds)
{
    language_check("comparison");
}

TEST(sql_tables, logic_knows_true_false_and_undefined)
{
    language_check("logic");
}

TEST(sql_tables, undefined_is_not_null)
{
    language_check("undefined");
}

TEST(sql_tables, distinct_rows_come_once)
{
    language_check("distinct");
}

TEST(sql_tables, limits_count_the_rows_given)
{
    language_check("limits");
}

TEST(sql_tables, order_goes_by_kind_and_then_by_value)
{
    language_check("order");
}

TEST(sql_tables, parameters_are_values_and_never_text)
{
    language_check("parameters");
}

TEST(sql_tables, literals_and_names_are_read_as_documented)
{
    language_check("literals");
}

TEST(sql_tables, ranges_lists_and_patterns_choose)
{
    language_check("ranges");
}

TEST(sql_tables, operators_compute_what_is_documented)
{
    language_check("operators");
}

TEST(sql_tables, errors_name_their_place)
{
    language_check("errors");
}

TEST(sql_tables, examples_of_the_documentation_answer_as_shown)
{
    language_check_page("docs/sql.md");
}
