/* Fuzz: filters. The input is a filter and a document, each as a line of JSON or as BSON. Whatever the filter
 * says, it is refused with a code or it judges the document; its negation then judges the other way. */
#include <stdlib.h>

#include "front/mongo/filter.h"
#include "front/mongo/formula.h"

enum { BUDGET = 64 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static bool take_document(struct arena *arena, bytes *rest, bytes *out)
{
    if (rest->len && rest->data[0] == '{' && (rest->len < 4 || rest->data[3] != 0)) {
        const uint8_t *end = memchr(rest->data, '\n', rest->len);
        bytes line = bytes_of(rest->data, end ? (size_t)(end - rest->data) : rest->len);
        *rest = bytes_from(*rest, line.len + 1);
        return json_read(arena, line, out).code == OK;
    }
    size_t len = rest->len < 4 ? 0 : rest->data[0] | (size_t)rest->data[1] << 8;
    if (len < 5 || len > rest->len)
        return false;
    *out = bytes_of(rest->data, len);
    *rest = bytes_from(*rest, len);
    return document_check(arena, *out).code == OK;
}

static void judge(struct arena *arena, bytes filter, bytes document)
{
    struct formula_run formulas = { .now = 1000 };
    struct matching matching = { .scratch = arena, .formulas = &formulas };
    const struct match *match, *negated;
    struct fault fault = { 0 };
    bool is_match, is_other;

    status s = filter_parse(arena, filter, NULL, &match, &fault);
    if (s.code != OK) {
        need(fault.code != 0 || s.code == TOO_LARGE || s.code == OUT_OF_MEMORY);
        need(fault.code == 0 || fault.message[0]);
        return;
    }
    s = match_document(match, &matching, document, &is_match);
    if (s.code != OK)
        return;
    need(match_negate(arena, match, &negated).code == OK);
    s = match_document(negated, &matching, document, &is_other);
    need(s.code != OK || is_other != is_match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes rest = bytes_of(data, size), filter, document;

    need(arena != NULL);
    if (take_document(arena, &rest, &filter) && take_document(arena, &rest, &document))
        judge(arena, filter, document);
    arena_close(arena);
    return 0;
}
