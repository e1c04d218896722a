/* Functions of strings: what they give, and for what they give nothing. */
#include "tests/support/calls.h"

TEST(functions_string, parts_are_found_by_position)
{
    static const struct call_row rows[] = {
        CALL("LEFT('AdventureWorks', 9)", "\"Adventure\""),
        CALL("LEFT('abc', 0)", "\"\""),
        CALL("LEFT('abc', -1)", "\"\""),
        CALL("LEFT('abc', 9)", "\"abc\""),
        CALL("LEFT('abc', 1.5)", ""),
        CALL("LEFT('abc', '1')", ""),
        CALL("LEFT(5, 1)", ""),
        CALL("RIGHT('AdventureWorks', 5)", "\"Works\""),
        CALL("RIGHT('abc', 0)", "\"\""),
        CALL("RIGHT('abc', -1)", "\"\""),
        CALL("RIGHT('abc', 9)", "\"abc\""),
        CALL("RIGHT('abc', null)", ""),
        CALL("SUBSTRING('AdventureWorks', 9, 5)", "\"Works\""),
        CALL("SUBSTRING('AdventureWorks', 0, -1)", "\"\""),
        CALL("SUBSTRING('abc', 1, 1)", "\"b\""),
        CALL("SUBSTRING('abc', 3, 1)", "\"\""),
        CALL("SUBSTRING('abc', -1, 2)", "\"\""),
        CALL("SUBSTRING('abc', 1, 9223372036854775807)", "\"bc\""),
        CALL("SUBSTRING('abc', 0.5, 1)", ""),
        CALL("SUBSTRING(c.o, 0, 1)", ""),
        CALL("REVERSE('Redmond')", "\"dnomdeR\""),
        CALL("REVERSE('')", "\"\""),
        CALL("REVERSE(1)", ""),
        CALL("LENGTH('abc')", "3"),
    };
    CHECK_CALLS(rows);
}

/* U+1F600 has two units and four bytes, U+00E9 one unit and two bytes. */
TEST(functions_string, positions_count_units_and_cut_no_character)
{
    static const struct call_row rows[] = {
        CALL("LENGTH('\\u00e9\\ud83d\\ude00x')", "4"),
        CALL("LEFT('\\u00e9\\ud83d\\ude00x', 1)", "\"\xc3\xa9\""),
        CALL("LEFT('\\u00e9\\ud83d\\ude00x', 2)", "\"\xc3\xa9\""),
        CALL("LEFT('\\u00e9\\ud83d\\ude00x', 3)", "\"\xc3\xa9\xf0\x9f\x98\x80\""),
        CALL("RIGHT('\\u00e9\\ud83d\\ude00x', 2)", "\"x\""),
        CALL("SUBSTRING('\\u00e9\\ud83d\\ude00x', 2, 2)", "\"x\""),
        CALL("SUBSTRING('\\u00e9\\ud83d\\ude00x', 1, 2)", "\"\xf0\x9f\x98\x80\""),
        CALL("INDEX_OF('\\u00e9\\ud83d\\ude00x', 'x')", "3"),
        CALL("LASTINDEXOF('\\u00e9\\ud83d\\ude00x', 'x', 3)", "3"),
        CALL("REVERSE('\\u00e9\\ud83d\\ude00x')", "\"x\xf0\x9f\x98\x80\xc3\xa9\""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_string, parts_are_found_by_what_they_are)
{
    static const struct call_row rows[] = {
        CALL("INDEX_OF('AdventureWorks', 'Works')", "9"),
        CALL("INDEX_OF('AdventureWorks', 'Cosmos')", "-1"),
        CALL("INDEX_OF('AdventureWorks', 'Works', 5)", "9"),
        CALL("INDEX_OF('AdventureWorks', 'Adventure', 5)", "-1"),
        CALL("INDEX_OF('abc', '')", "0"),
        CALL("INDEX_OF('abc', '', 3)", "3"),
        CALL("INDEX_OF('abc', 'c', 4)", "-1"),
        CALL("INDEX_OF('abc', 'c', -1)", ""),
        CALL("INDEX_OF('abc', 'c', 'x')", ""),
        CALL("INDEX_OF('abc', 1)", ""),
        CALL("LASTINDEXOF('abcdeabc', 'abc')", "5"),
        CALL("LASTINDEXOF('abcdeabc', 'abc', 6)", "0"),
        CALL("LASTINDEXOF('abcdeabc', 'abc', 7)", "5"),
        CALL("LASTINDEXOF('abcdeabc', 'fg')", "-1"),
        CALL("LASTINDEXOF('aaaa', 'aa')", "2"),
        CALL("LASTINDEXOF('abc', 'abc', 1)", "-1"),
        CALL("LASTINDEXOF(null, 'fg')", ""),
        CALL("SUBSTRINGAFTER('contoso|north|2026', '|')", "\"north|2026\""),
        CALL("SUBSTRINGAFTER('abcde', 'bc')", "\"de\""),
        CALL("SUBSTRINGAFTER('', '')", "\"\""),
        CALL("SUBSTRINGAFTER('abc', 'x')", "\"\""),
        CALL("SUBSTRINGAFTER('abc', 1)", ""),
        CALL("SUBSTRINGBEFORE('bike::touring::frame', '::')", "\"bike\""),
        CALL("SUBSTRINGBEFORE('abc', 'x')", "\"\""),
        CALL("SUBSTRINGBEFORE(true, 'x')", ""),
        CALL("LASTSUBSTRINGAFTER('/products/shoes/boots', '/')", "\"boots\""),
        CALL("LASTSUBSTRINGAFTER('abcdeabcde', 'bc')", "\"de\""),
        CALL("LASTSUBSTRINGAFTER('abc', undefined)", ""),
        CALL("LASTSUBSTRINGBEFORE('abcdeabcde', 'bc')", "\"abcdea\""),
        CALL("LASTSUBSTRINGBEFORE('A-B-C', '-')", "\"A-B\""),
        CALL("LASTSUBSTRINGBEFORE([], '-')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_string, contents_are_compared)
{
    static const struct call_row rows[] = {
        CALL("CONTAINS('abc', 'bc')", "true"),
        CALL("CONTAINS('abc', 'BC', true)", "true"),
        CALL("CONTAINS('abc', 'BC', undefined)", ""),
        CALL("STARTSWITH('abc', 'AB', false)", "false"),
        CALL("ENDSWITH('abc', 'bc')", "true"),
        CALL("ENDSWITH('abc', 'bc', 1)", ""),
        CALL("STRINGEQUALS('abc', 'abc')", "true"),
        CALL("STRINGEQUALS('abc', 'aBC')", "false"),
        CALL("STRINGEQUALS('abc', 'aBC', true)", "true"),
        CALL("STRINGEQUALS('abc', 1)", ""),
        CALL("STRINGEQUALS('abc', 'abc', null)", ""),
        CALL("CONTAINS_ALL_CI('Have a nice day!', 'HAVE', 'NICE', 'DAY!')", "true"),
        CALL("CONTAINS_ALL_CI('Have a nice day!', 'had', 'nice', 'day!')", "false"),
        CALL("CONTAINS_ALL_CI('Have a nice day!', undefined, 'nice', 'day!')", ""),
        CALL("CONTAINS_ALL_CI('Have a nice day!', undefined, 'had')", "false"),
        CALL("CONTAINS_ALL_CS('Have a nice day!', 'Have', 'nice')", "true"),
        CALL("CONTAINS_ALL_CS('Have a nice day!', 'HAVE', 'nice')", "false"),
        CALL("CONTAINS_ALL_CS(1, 'a')", ""),
        CALL("CONTAINS_ANY_CI('Have a nice day!', 'had', 'NICE')", "true"),
        CALL("CONTAINS_ANY_CI('Have a nice day!', undefined, 'nice')", "true"),
        CALL("CONTAINS_ANY_CI('Have a nice day!', undefined, 'had')", ""),
        CALL("CONTAINS_ANY_CS('Have a nice day!', 'HAVE', 'NICE')", "false"),
        CALL("CONTAINS_ANY_CS('Have a nice day!', 'HAVE', 'nice')", "true"),
        CALL("CONTAINS_ANY_CS('Have a nice day!', 1)", ""),
        CALL("UPPER('abc')", "\"ABC\""),
        CALL("LOWER('ABC')", "\"abc\""),
        CALL("LOWER(5)", ""),
        CALL("CONCAT('a', 'b', 'c')", "\"abc\""),
        CALL("CONCAT('a', 1)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_string, strings_are_rewritten)
{
    static const struct call_row rows[] = {
        CALL("TRIM('   abc ')", "\"abc\""),
        CALL("TRIM('\\u2003\\u00a0abc\\t\\n')", "\"abc\""),
        CALL("TRIM('---abc---', '-')", "\"abc\""),
        CALL("TRIM('-- abc --', '-')", "\" abc \""),
        CALL("TRIM('-_-abc-_-', '-_')", "\"abc\""),
        CALL("TRIM('   ')", "\"\""),
        CALL("TRIM('\\u00e9abc\\ud83d\\ude00\\u00e9', '\\ud83d\\ude00\\u00e9')", "\"abc\""),
        CALL("TRIM(1)", ""),
        CALL("TRIM('a', 1)", ""),
        CALL("LTRIM('  abc  ')", "\"abc  \""),
        CALL("LTRIM('AdventureWorks', 'Adventure')", "\"Works\""),
        CALL("LTRIM('AdventureWorks', 'Works')", "\"AdventureWorks\""),
        CALL("LTRIM('AdventureWorks', '')", "\"AdventureWorks\""),
        CALL("RTRIM('  abc  ')", "\"  abc\""),
        CALL("RTRIM('AdventureWorks', 'Works')", "\"Adventure\""),
        CALL("RTRIM('AdventureWorks', 'AdventureWorks')", "\"\""),
        CALL("REPLACE('AdventureWorksLT', 'LT', 'LT2')", "\"AdventureWorksLT2\""),
        CALL("REPLACE('aaa', 'a', 'aa')", "\"aaaaaa\""),
        CALL("REPLACE('abc', 'b', '')", "\"ac\""),
        CALL("REPLACE('abc', '', 'x')", ""),
        CALL("REPLACE('abc', 'b', 1)", ""),
        CALL("REPLICATE('ab', 3)", "\"ababab\""),
        CALL("REPLICATE('ab', 0)", "\"\""),
        CALL("REPLICATE('ab', 2.9)", "\"abab\""),
        CALL("REPLICATE('ab', -1)", ""),
        CALL("REPLICATE('ab', 5001)", ""),
        CALL("LENGTH(REPLICATE('ab', 5000))", "10000"),
        CALL("REPLICATE('ab', 1e300)", ""),
        CALL("REPLICATE('', 1e300)", "\"\""),
        CALL("REPLICATE('a', '1')", ""),
        CALL("STRINGJOIN(['Iropa', 'Mountain', 'Bike'], ' ')", "\"Iropa Mountain Bike\""),
        CALL("STRINGJOIN(['6', '7', '4'], '')", "\"674\""),
        CALL("STRINGJOIN([], ',')", "\"\""),
        CALL("STRINGJOIN(['a', 1], ',')", ""),
        CALL("STRINGJOIN(['a'], undefined)", ""),
        CALL("STRINGJOIN('a', ',')", ""),
        CALL("STRINGSPLIT('Handlebar', 'e')", "[\"Handl\",\"bar\"]"),
        CALL("STRINGSPLIT('xenmoun mountain bike', 'moun')", "[\"xen\",\" \",\"tain bike\"]"),
        CALL("STRINGSPLIT('a,,b,', ',')", "[\"a\",\"\",\"b\",\"\"]"),
        CALL("STRINGSPLIT('Helmet', '')", "[\"Helmet\"]"),
        CALL("STRINGSPLIT('', '')", "[\"\"]"),
        CALL("STRINGSPLIT('a', undefined)", ""),
        CALL("STRINGSPLIT(1, ',')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_string, values_are_read_and_written_as_json)
{
    static const struct call_row rows[] = {
        CALL("STRINGTOARRAY('[1,2, \"[4,5]\",[7]]')", "[1,2,\"[4,5]\",[7]]"),
        CALL("STRINGTOARRAY(' [] ')", "[]"),
        CALL("STRINGTOARRAY(\"['5']\")", ""),
        CALL("STRINGTOARRAY('[')", ""),
        CALL("STRINGTOARRAY('1')", ""),
        CALL("STRINGTOARRAY('{}')", ""),
        CALL("STRINGTOARRAY(c.a)", ""),
        CALL("STRINGTOBOOLEAN('true')", "true"),
        CALL("STRINGTOBOOLEAN('    false ')", "false"),
        CALL("STRINGTOBOOLEAN('TRUE')", ""),
        CALL("STRINGTOBOOLEAN('null')", ""),
        CALL("STRINGTOBOOLEAN(true)", ""),
        CALL("STRINGTONULL('null')", "null"),
        CALL("STRINGTONULL(' null  ')", "null"),
        CALL("STRINGTONULL('Null')", ""),
        CALL("STRINGTONULL(null)", ""),
        CALL("STRINGTONUMBER('100')", "100"),
        CALL("STRINGTONUMBER('   60   ')", "60"),
        CALL("STRINGTONUMBER('-1.79769e+308')", "-1.79769e+308"),
        CALL("STRINGTONUMBER('0x1F')", ""),
        CALL("STRINGTONUMBER('1,2')", ""),
        CALL("STRINGTONUMBER('[1]')", ""),
        CALL("STRINGTONUMBER('1],[2')", ""),
        CALL("STRINGTONUMBER('')", ""),
        CALL("STRINGTONUMBER('1e999')", ""),
        CALL("STRINGTONUMBER(5)", ""),
        CALL("STRINGTOOBJECT('{\"division\": {\"name\": \"Sales\"}}')",
             "{\"division\":{\"name\":\"Sales\"}}"),
        CALL("STRINGTOOBJECT(\"{'price': 27.55}\")", ""),
        CALL("STRINGTOOBJECT('[1]')", ""),
        CALL("STRINGTOOBJECT(c.o)", ""),
        CALL("TOSTRING(125)", "\"125\""),
        CALL("TOSTRING(0.1234)", "\"0.1234\""),
        CALL("TOSTRING(false)", "\"false\""),
        CALL("TOSTRING(null)", "\"null\""),
        CALL("TOSTRING([1, 2, 3])", "\"[1,2,3]\""),
        CALL("TOSTRING({'department': 'Bicycles'})", "\"{\\\"department\\\":\\\"Bicycles\\\"}\""),
        CALL("TOSTRING('Hello World')", "\"Hello World\""),
        CALL("TOSTRING(undefined)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_string, regular_expressions_are_those_of_perl)
{
    static const struct call_row rows[] = {
        CALL("REGEXMATCH('abcd', 'ABC')", "false"),
        CALL("REGEXMATCH('abcd', 'ABC', 'i')", "true"),
        CALL("REGEXMATCH('abcd', 'ab.', '')", "true"),
        CALL("REGEXMATCH('abcd', 'ab c', 'x')", "true"),
        CALL("REGEXMATCH('abcd', 'aB c', 'ix')", "true"),
        CALL("REGEXMATCH('03a', '[0-9]')", "true"),
        CALL("REGEXMATCH('salt3824908', 'salt{1}')", "true"),
        CALL("REGEXMATCH('a\\nb', '^b$')", "false"),
        CALL("REGEXMATCH('a\\nb', '^b$', 'm')", "true"),
        CALL("REGEXMATCH('a\\nb', 'a.b')", "false"),
        CALL("REGEXMATCH('a\\nb', 'a.b', 's')", "true"),
        CALL("REGEXMATCH('\\u00c9', '\\u00e9', 'i')", "true"),
        CALL("REGEXMATCH('\\ud83d\\ude00', '^.$')", "true"),
        CALL("REGEXMATCH('abcabc', '^(abc)\\\\1$')", "true"),
        CALL("REGEXMATCH('', '')", "true"),
        CALL("REGEXMATCH('', 'x')", "false"),
        CALL("REGEXMATCH('abc', '(')", ""),
        CALL("REGEXMATCH('abc', 'a', 'g')", ""),
        CALL("REGEXMATCH('abc', 'a', 1)", ""),
        CALL("REGEXMATCH('abc', 1)", ""),
        CALL("REGEXMATCH(1, '1')", ""),
        CALL("REGEXMATCH('abc', undefined)", ""),
    };
    CHECK_CALLS(rows);
}

/* Constant parts are computed while the query is read, so that there is a place: the token behind them. */
#define TOO_MUCH(place, what) "SC3000 " place ": The query cannot be run: " what "."
#define TOO_MANY_STEPS(place)                                                                     \
    TOO_MUCH(place, "a regular expression of the query needs more steps than allowed to match a " \
                    "string; make it simpler")
#define TOO_LONG(place) \
    TOO_MUCH(place,     \
             "a function of the query would make a value of more than 16777216 bytes, the limit")

TEST(functions_string, what_would_take_too_long_or_grow_too_large_is_refused)
{
    static const struct call_row rows[] = {
        CALL("REGEXMATCH(REPLICATE('a', 40), '^(a+)+$')", "true"),
        CALL("REGEXMATCH(CONCAT(REPLICATE('a', 40), 'b'), '^(a+)+$')", TOO_MANY_STEPS("68-72")),
        /* Few steps at each place, but too many over all places. */
        CALL("REGEXMATCH(REPLICATE('a', 10000), 'a+[bd]')", TOO_MANY_STEPS("57-61")),
        /* The bound is for all matches of a string together. */
        CALL("LENGTH(REGEXREPLACEALL(REPLICATE('a', 10000), 'a', 'bc'))", "20000"),
        CALL("REGEXREPLACEALL(REPLICATE('a', 10000), 'a+b|a', 'c')", TOO_MANY_STEPS("66-70")),
        CALL("REGEXEXTRACTALL(REPLICATE('a', 10000), 'a+b|a')", TOO_MANY_STEPS("61-65")),
        CALL("REGEXEXTRACT(REPLICATE('a', 10000), 'a+b|a')", "\"a\""),
        CALL("REGEXMATCH('abc', REPLICATE('a', 4096))", "false"),
        CALL("REGEXMATCH('abc', REPLICATE('a', 4097))",
             TOO_MUCH("53-57",
                      "a regular expression of the query has 4097 bytes, the limit is 4096")),
        CALL("REGEXMATCH('abc', '((abc){1000}){1000}')",
             TOO_MUCH("54-58", "a regular expression of the query needs more room than allowed "
                               "when its repetitions are written out; make it simpler")),
        CALL("REGEXMATCH('abc', CONCAT(REPLICATE('(', 200), REPLICATE(')', 200)))", ""),
        CALL("REPLACE(REPLICATE('a', 10000), 'a', REPLICATE('b', 10000))", TOO_LONG("72-76")),
        CALL("LENGTH(REPLACE(REPLICATE('a', 1000), 'a', REPLICATE('b', 10000)))", "10000000"),
        CALL("STRINGJOIN(STRINGSPLIT(REPLICATE('a', 10000), 'a'), REPLICATE('b', 10000))",
             TOO_LONG("88-92")),
        CALL("SUBSTRING('abc', 1)", "SC2050 13-32: The SUBSTRING function requires 3 argument(s)."),
        CALL("TRIM()", "SC2050 13-19: The TRIM function requires 1 to 2 argument(s)."),
        CALL("CONTAINS_ANY_CS('a')",
             "SC2050 13-33: The CONTAINS_ANY_CS function requires at least 2 argument(s)."),
    };
    CHECK_CALLS(rows);
}
