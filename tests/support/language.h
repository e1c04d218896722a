/* Queries with their answers, written as tables in tests/corpus/language/NAME.txt:
 *
 *     # a comment
 *     data
 *     {"id":"1","n":3}            one document a line, in the order of their ids, up to an empty line
 *
 *     @ [{"name":"@p","value":1}] parameters of the next query
 *     ? SELECT VALUE c.n FROM c   a query; lines that begin with blanks go on with it
 *     = [3]                       its rows, in this order ...
 *     ~ [3]                       ... or in any order
 *     ! SC1001 0-5: text          or what its failure begins with
 *
 * Every query is asked of a list, and of collections that differ by what they index: nothing, everything, for
 * each property this one only, and all but this one, and pairs of properties in composite indexes. Each
 * collection also holds a dead twin of every document. It is asked all at once, and in pages of different sizes. Without ORDER BY, the order counts only where the
 * list is asked. */
#ifndef TESTS_SUPPORT_LANGUAGE_H
#define TESTS_SUPPORT_LANGUAGE_H

/* Ends the test at the first query that answers otherwise. */
void language_check(const char *name);
/* The same for the examples of a page of the documentation: a block "json items" with one item a line, blocks
 * "sql", each followed by a block "json" with its rows or "text" with its failure, "json parameters" between. */
void language_check_page(const char *path);

#endif
