/* Fuzz: $jsonSchema. The input is a schema and a document, each as a line of JSON. A schema is refused with a code
 * or it judges the document; it says what is wrong exactly if something is, as a document that can be read, and
 * with "not" around it it judges the other way. */
#include <stdlib.h>

#include "front/mongo/filter.h"
#include "front/mongo/validator.h"

enum { BUDGET = 64 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static bool take_line(struct arena *arena, bytes *rest, bytes *out)
{
    const uint8_t *end = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    bytes line = bytes_of(rest->data, end ? (size_t)(end - rest->data) : rest->len);

    *rest = bytes_from(*rest, end ? line.len + 1 : line.len);
    return json_read(arena, line, out).code == OK;
}

/* {$jsonSchema: schema}, or {$jsonSchema: {not: schema}}. */
static bytes filter_of(struct arena *arena, bytes schema, bool is_negated)
{
    struct buffer out = buffer_in(arena);
    size_t begun = document_begin(&out), inner = 0;
    bytes filter;

    if (is_negated)
        inner = document_begin_inner(&out, VALUE_DOCUMENT, BYTES_LITERAL("$jsonSchema"));
    document_append(&out, is_negated ? BYTES_LITERAL("not") : BYTES_LITERAL("$jsonSchema"),
                    (struct value){ .type = VALUE_DOCUMENT, .raw = schema });
    if (is_negated)
        document_end(&out, inner);
    document_end(&out, begun);
    need(buffer_finish(&out, &filter).code == OK);
    return filter;
}

static bool is_explained(struct arena *arena, const struct schema *schema, bytes document,
                         bool *out)
{
    struct buffer buffer = buffer_in(arena);
    size_t begun = document_begin(&buffer);
    struct value rules;
    bytes told;

    if (validator_explain_schema(schema, arena, document, &buffer).code != OK)
        return false;
    document_end(&buffer, begun);
    if (buffer_finish(&buffer, &told).code != OK)
        return false;
    status s = document_check_upto(arena, told, 2 * LIMIT_DOCUMENT_BYTES);
    need(s.code == OK || s.code == TOO_LARGE);
    need(document_find(told, "schemaRulesNotSatisfied", &rules));
    *out = document_field_count(value_document(rules)) > 0;
    return true;
}

static void judge(struct arena *arena, bytes schema, bytes document)
{
    struct matching matching = { .scratch = arena };
    const struct match *match, *negated;
    bool is_match, is_other, has_rules;
    struct fault fault = { 0 };

    status s = filter_parse(arena, filter_of(arena, schema, false), NULL, &match, &fault);
    if (s.code != OK) {
        need(fault.code != 0 || s.code == TOO_LARGE || s.code == OUT_OF_MEMORY);
        need(fault.code == 0 || fault.message[0]);
        return;
    }
    if (match_document(match, &matching, document, &is_match).code != OK)
        return;
    if (is_explained(arena, match->schema, document, &has_rules))
        need(has_rules == !is_match);
    s = filter_parse(arena, filter_of(arena, schema, true), NULL, &negated, &fault);
    if (s.code != OK)
        return;
    if (match_document(negated, &matching, document, &is_other).code == OK)
        need(is_other != is_match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes rest = bytes_of(data, size), schema, document;

    need(arena != NULL);
    if (take_line(arena, &rest, &schema) && take_line(arena, &rest, &document))
        judge(arena, schema, document);
    arena_close(arena);
    return 0;
}
