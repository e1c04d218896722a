/* Functions of search: words and vectors. */
#include "tests/support/calls.h"

TEST(functions_search, words_are_found_in_a_row)
{
    static const struct call_row rows[] = {
        CALL("FULLTEXTCONTAINS('A red Mountain-Bike, on sale', 'bike')", "true"),
        CALL("FULLTEXTCONTAINS('A red Mountain-Bike, on sale', 'mountain bike')", "true"),
        CALL("FULLTEXTCONTAINS('A red Mountain-Bike, on sale', 'red bike')", "false"),
        CALL("FULLTEXTCONTAINS('A red Mountain-Bike, on sale', 'bik')", "false"),
        CALL("FULLTEXTCONTAINS('A red Mountain-Bike, on sale', '')", "false"),
        CALL("FULLTEXTCONTAINS('A red Mountain-Bike, on sale', ' ,-')", "false"),
        CALL("FULLTEXTCONTAINS('', 'a')", "false"),
        CALL("FULLTEXTCONTAINS('\\u00c9T\\u00c9', '\\u00e9t\\u00e9')", "true"),
        CALL("FULLTEXTCONTAINS('\\u6771\\u4eac\\u90fd', '\\u4eac')", "true"),
        CALL("FULLTEXTCONTAINS('\\u6771\\u4eac\\u90fd', '\\u6771\\u90fd')", "false"),
        CALL("FULLTEXTCONTAINS(5, '5')", ""),
        CALL("FULLTEXTCONTAINS('5', 5)", ""),
        CALL("FULLTEXTCONTAINS(c.missing, 'a')", ""),
        CALL("FULLTEXTCONTAINSALL('red mountain bike', 'bike', 'red')", "true"),
        CALL("FULLTEXTCONTAINSALL('red mountain bike', 'bike', 'blue')", "false"),
        CALL("FULLTEXTCONTAINSALL('red mountain bike', 'bike', null)", ""),
        CALL("FULLTEXTCONTAINSANY('red mountain bike', 'blue', 'mountain bike')", "true"),
        CALL("FULLTEXTCONTAINSANY('red mountain bike', 'blue', 'green')", "false"),
        CALL("FULLTEXTCONTAINSANY(c.a, 'blue')", ""),
        CALL("FULLTEXTCONTAINS('a')",
             "SC2050 13-34: The FULLTEXTCONTAINS function requires 2 argument(s)."),
    };
    CHECK_CALLS(rows);
}

TEST(functions_search, plurals_are_the_same_word)
{
    static const struct call_row rows[] = {
        CALL("FULLTEXTCONTAINS('Helmets', 'helmet')", "true"),
        CALL("FULLTEXTCONTAINS('helmet', 'helmets')", "true"),
        CALL("FULLTEXTCONTAINS('many batteries', 'battery')", "true"),
        CALL("FULLTEXTCONTAINS('boxes', 'box')", "true"),
        CALL("FULLTEXTCONTAINS('glasses', 'glass')", "true"),
        CALL("FULLTEXTCONTAINS('watches', 'watch')", "true"),
        CALL("FULLTEXTCONTAINS('brushes', 'brush')", "true"),
        CALL("FULLTEXTCONTAINS('houses', 'house')", "true"),
        CALL("FULLTEXTCONTAINS('the bike\\'s wheel', 'bike wheel')", "true"),
        CALL("FULLTEXTCONTAINS('the riders\\' club', 'rider club')", "true"),
        CALL("FULLTEXTCONTAINS('don\\'t', 'dont')", "true"),
        CALL("FULLTEXTCONTAINS('bus', 'bu')", "false"),
        CALL("FULLTEXTCONTAINS('gas', 'ga')", "false"),
        CALL("FULLTEXTCONTAINS('glass', 'glas')", "false"),
        CALL("FULLTEXTCONTAINS('analysis', 'analysi')", "false"),
    };
    CHECK_CALLS(rows);
}

TEST(functions_search, words_may_differ_by_edits)
{
    static const struct call_row rows[] = {
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'bycycle', distance: 1})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'bycycel', distance: 1})", "false"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'bycyle', distance: 2})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'bcle', distance: 2})", "false"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {'term': 'Rod', 'distance': 1})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'reed', distance: 1})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'rd', distance: 1})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'bicycles', distance: 0})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'rod'})", "false"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'red bicycle', distance: 1})", "true"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'rod bicycle', distance: 1})", "false"),
        CALL("FULLTEXTCONTAINS('\\u00e9t\\u00e9', {term: '\\u00e8t\\u00e9', distance: 1})", "true"),
        CALL("FULLTEXTCONTAINS('', {term: 'a', distance: 1})", "false"),
        CALL("FULLTEXTCONTAINS('a', {term: '', distance: 2})", "false"),
        CALL("FULLTEXTCONTAINSALL('a red bicycle', {term: 'rad', distance: 1}, 'bicycle')", "true"),
        CALL("FULLTEXTCONTAINSANY('a red bicycle', {term: 'blew', distance: 1}, 'car')", "false"),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 'red', distance: 3})", ""),
        CALL("FULLTEXTCONTAINS('a red bicycle', {term: 5, distance: 1})", ""),
        CALL("FULLTEXTCONTAINS('a red bicycle', {distance: 1})", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_search, vectors_are_near_or_far)
{
    static const struct call_row rows[] = {
        CALL("VECTORDISTANCE([1, 0], [1, 0])", "1"),
        CALL("VECTORDISTANCE([1, 0], [0, 2])", "0"),
        CALL("VECTORDISTANCE([3, 4], [-3, -4])", "-1"),
        CALL("VECTORDISTANCE([3, 4], [4, 3], true)", "0.96"),
        CALL("VECTORDISTANCE([1, 2], [3, 4], false, {distanceFunction: 'dotproduct'})", "11"),
        CALL("VECTORDISTANCE([1, 2], [4, 6], false, {'distanceFunction': 'Euclidean'})", "5"),
        CALL("VECTORDISTANCE([1, 2], [2, 4], true, {dataType: 'float32'})", "0.9999999999999998"),
        CALL("VECTORDISTANCE([0, 0], [1, 0])", ""),
        CALL("VECTORDISTANCE([], [])", ""),
        CALL("VECTORDISTANCE([1], [1, 2])", ""),
        CALL("VECTORDISTANCE([1, 'a'], [1, 2])", ""),
        CALL("VECTORDISTANCE([1, 2], 'a')", ""),
        CALL("VECTORDISTANCE([1, 2], [1, 2], 1)", ""),
        CALL("VECTORDISTANCE([1, 2], [1, 2], true, 'cosine')", ""),
        CALL("VECTORDISTANCE([1, 2], [1, 2], true, {distanceFunction: 'manhattan'})", ""),
        CALL("VECTORDISTANCE([1e300], [1e300], true, {distanceFunction: 'dotproduct'})", ""),
        CALL("VECTORDISTANCE([1])",
             "SC2050 13-32: The VECTORDISTANCE function requires 2 to 4 argument(s)."),
    };
    CHECK_CALLS(rows);
}
