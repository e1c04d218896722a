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
    const bytes fields = document_fields(document).rest, part = match_take_part(&path);
    const uint8_t *end = fields.data + fields.len;
    struct value there;

    if (!document_find_bytes(document, part, &there)) {
        buffer_append(out, fields);
        if (value.type != VALUE_MISSING)
            put_field(out, part, path, there, value);
        return;
    }
    /* A field is its type, its name with a NUL, its value. */
    const uint8_t *begun = there.raw.data - part.len - 2, *behind = there.raw.data + there.raw.len;
    buffer_append(out, bytes_of(fields.data, (size_t)(begun - fields.data)));
    put_field(out, part, path, there, value);
    buffer_append(out, bytes_of(behind, (size_t)(end - behind)));
}

/* Names that clients have given as texts may have a NUL in them, and no document has such a field. */
static status check_built(struct arena *arena, bytes path, bytes built)
{
    return memchr(path.data, 0, path.len) ? document_check(arena, built)
                                          : document_check_built(arena, built);
}

status pipeline_set(struct pipeline_run *run, struct arena *arena, bytes path, struct value value,
                    bytes row, bytes *out)
{
    enum { TOO_LARGE_FOR_CLIENTS = 10334, FRAME_BYTES = 16 };
    struct buffer built = buffer_in(arena);

    buffer_reserve(&built, row.len + path.len + value.raw.len + FRAME_BYTES);
    size_t begun = document_begin(&built);
    put(&built, row, path, value);
    document_end(&built, begun);
    TRY(buffer_finish(&built, out));
    status s = check_built(arena, path, *out);
    if (s.code == OK)
        return s;
    if (s.code == TOO_LARGE)
        run->refusal = TOO_LARGE_FOR_CLIENTS;
    return status_fail(run->formulas.arena, s.code, "a row of a pipeline cannot be kept: %s",
                       s.message);
}
