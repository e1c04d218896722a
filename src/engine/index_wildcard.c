/* Index wildcard: every path of a document, and the value there.
 *
 * The path of the part is a dotted one that ends in $**: it holds what lies there and below. Its settings may narrow
 * that: { in: [paths], out: [paths] }; with `in` only what is one of these or lies below one, without what is one of
 * `out` or lies below. A value is the encoded path and the encoded value behind it, so all values of one path lie
 * together, in order. Scalars have one, and so have empty documents; an array gives its elements, of which documents
 * are entered under the same path and arrays stay whole; an empty one gives undefined.
 *
 * Whoever plans has to know whether a path may have several values in one document. So every array leaves a mark: the
 * number 1, which no path is, and the path of the array. A mark belongs to its document, and goes with it.
 *
 * Pure apart from the arena. Start reading at index_wildcard_values(). */
#include "engine/index.h"

struct walk {
    struct arena *arena;
    const struct index_field *field;
    struct buffer path;
    struct index_values *values, *marks;
};

/* ---- which paths ------------------------------------------------------------------------------------- */

static bool is_at_or_below(bytes path, bytes top)
{
    return top.len == 0 ||
           (bytes_starts_with(path, top) && (path.len == top.len || path.data[top.len] == '.'));
}

/* Without the $** at its end. */
static bytes top_of(const struct index_field *field)
{
    const size_t end = sizeof("$**") - 1;
    size_t len = field->path.len < end ? 0 : field->path.len - end;

    return bytes_of(field->path.data, len ? len - 1 : 0);
}

/* How the path lies to those of a list. */
struct relation {
    bool has_list;
    bool is_below; /* it is one, or lies below one */
    bool is_above; /* one lies below it */
};

static struct relation relate(const struct index_field *field, const char *list, bytes path)
{
    struct relation relation = { 0 };
    struct value paths;
    struct field item;

    if (field->settings.len == 0 || !document_find(field->settings, list, &paths) ||
        paths.type != VALUE_ARRAY)
        return relation;
    relation.has_list = true;
    struct document_walk walk = document_fields(value_document(paths));
    while (document_next(&walk, &item)) {
        bytes other = value_text(item.value);
        relation.is_below |= is_at_or_below(path, other);
        relation.is_above |= path.len < other.len && is_at_or_below(other, path);
    }
    return relation;
}

bool scan_wildcard_covers(const struct index_field *field, bytes path, bool with_below)
{
    struct relation in = relate(field, "in", path), out = relate(field, "out", path);

    return is_at_or_below(path, top_of(field)) && (!in.has_list || in.is_below) && !out.is_below &&
           !(with_below && out.is_above);
}

/* May something below the path be covered? */
static bool is_entered(const struct index_field *field, bytes path)
{
    struct relation in = relate(field, "in", path), out = relate(field, "out", path);
    bytes top = top_of(field);

    return (is_at_or_below(path, top) || is_at_or_below(top, path)) &&
           (!in.has_list || in.is_below || in.is_above) && !out.is_below;
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

static bytes path_of(const struct walk *walk)
{
    return bytes_of(walk->path.data, walk->path.len);
}

void scan_append_wildcard_path(struct buffer *out, bytes path)
{
    struct value text;

    if (value_of_text(out->arena, path, &text).code != OK)
        out->is_failed = true;
    else
        key_append_value(out, text, KEY_ASCENDING);
}

void scan_append_wildcard_mark(struct buffer *out, bytes path)
{
    struct value one;

    if (value_of_int64(out->arena, 1, &one).code != OK)
        out->is_failed = true;
    else
        key_append_value(out, one, KEY_ASCENDING);
    scan_append_wildcard_path(out, path);
}

static status add_value(struct walk *walk, struct value value)
{
    struct buffer key = buffer_in(walk->arena);
    bytes made;

    if (!scan_wildcard_covers(walk->field, path_of(walk), false))
        return STATUS_OK;
    scan_append_wildcard_path(&key, path_of(walk));
    key_append_value(&key, value, walk->field->order);
    TRY(buffer_finish(&key, &made));
    return index_values_add(walk->arena, walk->values, made);
}

static status add_mark(struct walk *walk)
{
    struct buffer key = buffer_in(walk->arena);
    bytes made;

    scan_append_wildcard_mark(&key, path_of(walk));
    TRY(buffer_finish(&key, &made));
    return index_values_add(walk->arena, walk->marks, made);
}

static status walk_document(struct walk *walk, bytes document, unsigned depth);

static status walk_value(struct walk *walk, struct value value, unsigned depth)
{
    bool is_empty = (value.type == VALUE_DOCUMENT || value.type == VALUE_ARRAY) &&
                    document_field_count(value_document(value)) == 0;
    struct field element;

    if (value.type == VALUE_DOCUMENT && !is_empty)
        return walk_document(walk, value_document(value), depth + 1);
    if (value.type != VALUE_ARRAY)
        return add_value(walk, value);
    TRY(add_mark(walk));
    if (is_empty)
        return add_value(walk, (struct value){ .type = VALUE_UNDEFINED });
    struct document_walk elements = document_fields(value_document(value));
    while (document_next(&elements, &element)) {
        bool is_whole = element.value.type == VALUE_ARRAY;
        TRY(is_whole ? add_value(walk, element.value) : walk_value(walk, element.value, depth + 1));
    }
    return STATUS_OK;
}

static status walk_document(struct walk *walk, bytes document, unsigned depth)
{
    struct document_walk fields = document_fields(document);
    struct field field;
    size_t len = walk->path.len;

    if (depth > LIMIT_NESTING_DEPTH)
        return status_of(TOO_LARGE, "the document is nested too deeply for an index");
    while (document_next(&fields, &field)) {
        walk->path.len = len;
        if (len)
            buffer_append_byte(&walk->path, '.');
        buffer_append(&walk->path, field.name);
        if (walk->path.is_failed)
            return arena_exhausted(walk->arena);
        if (is_entered(walk->field, path_of(walk)))
            TRY(walk_value(walk, field.value, depth));
    }
    walk->path.len = len;
    return STATUS_OK;
}

status index_wildcard_values(struct arena *arena, const struct index_field *field, bytes document,
                             struct index_part_values *out)
{
    struct walk walk = { .arena = arena,
                         .field = field,
                         .path = buffer_in(arena),
                         .values = &out->values,
                         .marks = &out->marks };

    return walk_document(&walk, document, 0);
}
