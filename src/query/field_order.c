/* Field order: one form for documents that differ only by the order of their fields.
 *
 * Recursion is bounded by how deep documents can be nested, LIMIT_NESTING_DEPTH and what a query adds.
 * Pure apart from the arena. */
#include "query/field_order.h"

#include <stdlib.h>

static bool has_fields(struct value value)
{
    return value.type == VALUE_DOCUMENT || value.type == VALUE_ARRAY;
}

static bool is_in_order(struct value value)
{
    bytes before = BYTES_NONE;
    struct field field;

    if (!has_fields(value))
        return true;
    struct document_walk walk = document_fields(value_document(value));
    for (bool is_first = true; document_next(&walk, &field); is_first = false) {
        if (!is_in_order(field.value) ||
            (value.type == VALUE_DOCUMENT && !is_first && bytes_compare(before, field.name) > 0))
            return false;
        before = field.name;
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct field *left = a, *right = b;

    return bytes_compare(left->name, right->name);
}

/* The fields of a document by name, the elements of an array as they are. */
static status append_fields(struct buffer *out, struct value value)
{
    bytes document = value_document(value);
    size_t count = document_field_count(document), at = 0;
    struct field *fields;

    TRY(ARENA_NEW(out->arena, count + 1, &fields));
    struct document_walk walk = document_fields(document);
    while (at < count && document_next(&walk, &fields[at]))
        at++;
    if (value.type == VALUE_DOCUMENT && at > 1)
        qsort(fields, at, sizeof(fields[0]), compare_names);
    for (size_t i = 0; i < at; i++) {
        if (has_fields(fields[i].value)) {
            size_t mark = document_begin_inner(out, fields[i].value.type, fields[i].name);
            TRY(append_fields(out, fields[i].value));
            document_end(out, mark);
        } else {
            document_append(out, fields[i].name, fields[i].value);
        }
    }
    return STATUS_OK;
}

status field_order_make(struct arena *arena, struct value value, struct value *out)
{
    struct buffer made = buffer_in(arena);

    *out = value;
    if (is_in_order(value))
        return STATUS_OK;
    size_t mark = document_begin(&made);
    TRY(append_fields(&made, value));
    document_end(&made, mark);
    return buffer_finish(&made, &out->raw);
}
