/* Pipeline nested: a row with a value at a dotted path.
 *
 * What stands in the way and is no document is replaced by one, arrays too, as computed fields have it; the
 * place of a field stays where it is, and a new one comes last. A value that is missing takes the field away.
 *
 * Keeps: recursion is as deep as the path has parts, which is bounded when paths are parsed.
 * Threads: pure apart from the arena. */
#include "query/match_parts.h"
#include "query/pipeline_parts.h"

static void put(struct buffer *out, bytes document, bytes path, struct value value);

/* The field that the first part of the path names. */
static void put_field(struct buffer *out, bytes name, bytes rest, struct value there,
                      struct value value)
{
    static const uint8_t nothing[5] = { 5, 0, 0, 0, 0 };
    bool is_inside = there.type == VALUE_DOCUMENT;

    if (rest.len == 0) {
        document_append(out, name, value);
        return;
    }
    if (!is_inside && value.type == VALUE_MISSING) {
        document_append(out, name, there);
        return;
    }
    size_t begun = document_begin_inner(out, VALUE_DOCUMENT, name);
    put(out, is_inside ? value_document(there) : bytes_of(nothing, sizeof(nothing)), rest, value);
    document_end(out, begun);
}

static void put(struct buffer *out, bytes document, bytes path, struct value value)
{
    struct document_walk walk = document_fields(document);
    const struct value missing = { .type = VALUE_MISSING };
    bytes part = match_take_part(&path);
    bool is_put = false;
    struct field field;

    while (document_next(&walk, &field)) {
        bool is_it = !is_put && bytes_equal(field.name, part);
        is_put |= is_it;
        if (is_it)
            put_field(out, part, path, field.value, value);
        else
            document_append(out, field.name, field.value);
    }
    if (!is_put && value.type != VALUE_MISSING)
        put_field(out, part, path, missing, value);
}

status pipeline_set(struct pipeline_run *run, struct arena *arena, bytes path, struct value value,
                    bytes row, bytes *out)
{
    enum { TOO_LARGE_FOR_CLIENTS = 10334 };
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);

    put(&built, row, path, value);
    document_end(&built, begun);
    TRY(buffer_finish(&built, out));
    status s = document_check(arena, *out);
    if (s.code == OK)
        return s;
    if (s.code == TOO_LARGE)
        run->refusal = TOO_LARGE_FOR_CLIENTS;
    return status_fail(run->formulas.arena, s.code, "a row of a pipeline cannot be kept: %s",
                       s.message);
}
