/* Path: what a dotted path reaches, as an index sees it.
 *
 * A part names a field of a document. In an array it is tried as a position and as a field of each
 * element that is a document; arrays directly inside arrays are entered by position only. Where the
 * position exists, elements without such a field are not a lack. The same value may be reached twice.
 *
 * Keeps: work is bounded even for paths made of digits over nested arrays, which can reach a value in
 * very many ways: no more steps than a document can have bytes.
 * Pure apart from the arena; callable from every thread. Start reading at path_collect(). */
#include "value/parts.h"

enum { STEPS_MAX = LIMIT_DOCUMENT_BYTES };

struct collector {
    struct arena *arena;
    const struct path *path;
    struct buffer items; /* of struct value */
    size_t count;
    size_t steps;
    bool has_missing;
    bool is_through_array;
};

static status count_parts(struct arena *arena, bytes dotted, size_t *out);
static status collect(struct collector *c, struct value value, size_t part);
static status collect_in_document(struct collector *c, bytes document, size_t part);
static status collect_in_array(struct collector *c, bytes array, size_t part);
static status collect_elements(struct collector *c, bytes array);

status path_parse(struct arena *arena, bytes dotted, const struct path **out)
{
    size_t count;
    void *memory;
    bytes rest;

    *out = NULL;
    TRY(count_parts(arena, dotted, &count));
    TRY(arena_copy(arena, dotted, &rest));
    TRY(arena_take(arena, sizeof(struct path) + count * sizeof(bytes), &memory));
    struct path *path = memory;
    path->count = count;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *dot = memchr(rest.data, '.', rest.len);
        size_t len = dot ? (size_t)(dot - rest.data) : rest.len;
        path->parts[i] = bytes_of(rest.data, len);
        rest = bytes_from(rest, len + 1);
    }
    *out = path;
    return STATUS_OK;
}

status path_collect(struct arena *arena, const struct path *path, bytes document,
                    struct path_values *out)
{
    struct collector c = { .arena = arena, .path = path, .items = buffer_in(arena) };
    bytes items;

    *out = (struct path_values){ 0 };
    TRY(collect_in_document(&c, document, 0));
    TRY(buffer_finish(&c.items, &items));
    ASSERT(c.count > 0);
    ASSERT(items.len == c.count * sizeof(struct value));
    out->items = (struct value *)(void *)c.items.data;
    out->count = c.count;
    out->is_through_array = c.is_through_array;
    return STATUS_OK;
}

/* path = part *("." part); a part is not empty and has no NUL */
static status count_parts(struct arena *arena, bytes dotted, size_t *out)
{
    size_t count = 1;
    size_t part_len = 0;

    *out = 0;
    if (dotted.len == 0)
        return status_of(INVALID, "a path must not be empty");
    if (dotted.len > LIMIT_PATH_BYTES)
        return status_fail(arena, INVALID, "path has %zu bytes, limit %d", dotted.len,
                           LIMIT_PATH_BYTES);
    for (size_t i = 0; i <= dotted.len; i++) {
        if (i < dotted.len && dotted.data[i] == 0)
            return status_fail(arena, INVALID, "path has a zero byte at offset %zu", i);
        if (i < dotted.len && dotted.data[i] != '.') {
            part_len++;
            continue;
        }
        if (part_len == 0)
            return status_fail(arena, INVALID, "path '%.*s' has an empty part at offset %zu",
                               (int)dotted.len, (const char *)dotted.data, i);
        count += i < dotted.len;
        part_len = 0;
    }
    if (count > LIMIT_PATH_COMPONENTS)
        return status_fail(arena, INVALID, "path has %zu parts, limit %d", count,
                           LIMIT_PATH_COMPONENTS);
    *out = count;
    return STATUS_OK;
}

static status push(struct collector *c, struct value value)
{
    if (value.type == VALUE_MISSING && c->has_missing)
        return STATUS_OK;
    if (c->count == LIMIT_ENTRIES_PER_DOCUMENT)
        return status_fail(c->arena, TOO_LARGE, "a path reaches more than %d values of a document",
                           LIMIT_ENTRIES_PER_DOCUMENT);
    c->has_missing = c->has_missing || value.type == VALUE_MISSING;
    c->count++;
    buffer_append(&c->items, bytes_of(&value, sizeof(value)));
    return STATUS_OK;
}

static status push_type(struct collector *c, enum value_type type)
{
    return push(c, (struct value){ .type = type });
}

/* As document_next, and counted. */
static status step(struct collector *c, struct document_walk *walk, struct field *out, bool *is_end)
{
    *is_end = !document_next(walk, out);
    if (c->steps++ == STEPS_MAX)
        return status_fail(c->arena, TOO_LARGE, "a path takes more than %d steps in a document",
                           STEPS_MAX);
    return STATUS_OK;
}

/* `value` is what the parts before `part` have reached. */
static status collect(struct collector *c, struct value value, size_t part)
{
    bool is_end = part == c->path->count;

    if (value.type == VALUE_ARRAY)
        return is_end ? collect_elements(c, value.raw) : collect_in_array(c, value.raw, part);
    if (is_end)
        return push(c, value);
    if (value.type == VALUE_DOCUMENT)
        return collect_in_document(c, value.raw, part);
    return push_type(c, VALUE_MISSING);
}

/* The first field of that name; `out` is VALUE_MISSING if there is none. */
static status find(struct collector *c, bytes document, bytes name, struct value *out)
{
    struct document_walk walk = document_fields(document);
    struct field field;
    bool is_end;

    *out = (struct value){ .type = VALUE_MISSING };
    for (;;) {
        TRY(step(c, &walk, &field, &is_end));
        if (is_end)
            return STATUS_OK;
        if (bytes_equal(field.name, name)) {
            *out = field.value;
            return STATUS_OK;
        }
    }
}

static status collect_in_document(struct collector *c, bytes document, size_t part)
{
    struct value value;

    TRY(find(c, document, c->path->parts[part], &value));
    if (value.type == VALUE_MISSING)
        return push(c, value);
    return collect(c, value, part + 1);
}

/* False unless the part is a number as positions are written: digits, no leading zero. */
static bool as_position(bytes part, size_t *out)
{
    size_t position = 0;

    if (part.len > 8 || (part.len > 1 && part.data[0] == '0'))
        return false;
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] < '0' || part.data[i] > '9')
            return false;
        position = position * 10 + (size_t)(part.data[i] - '0');
    }
    *out = position;
    return true;
}

static status find_at(struct collector *c, bytes array, size_t position, struct value *out)
{
    struct document_walk walk = document_fields(array);
    struct field field;
    bool is_end;

    *out = (struct value){ .type = VALUE_MISSING };
    for (size_t i = 0; i <= position; i++) {
        TRY(step(c, &walk, &field, &is_end));
        if (is_end)
            return STATUS_OK;
    }
    *out = field.value;
    return STATUS_OK;
}

/* Elements that are documents contribute what their field leads to; the others are a lack, unless
 * the part was a position that exists. */
static status collect_in_each(struct collector *c, bytes array, size_t part, bool is_lack)
{
    struct document_walk walk = document_fields(array);
    struct field element;
    struct value value;
    bool is_end;

    for (;;) {
        TRY(step(c, &walk, &element, &is_end));
        if (is_end)
            return STATUS_OK;
        value.type = VALUE_MISSING;
        if (element.value.type == VALUE_DOCUMENT)
            TRY(find(c, element.value.raw, c->path->parts[part], &value));
        if (value.type == VALUE_MISSING) {
            if (is_lack)
                TRY(push_type(c, VALUE_MISSING));
            continue;
        }
        c->is_through_array = true;
        TRY(collect(c, value, part + 1));
    }
}

static status collect_in_array(struct collector *c, bytes array, size_t part)
{
    struct value at_position = { .type = VALUE_MISSING };
    size_t position;
    size_t count_before = c->count;

    if (as_position(c->path->parts[part], &position))
        TRY(find_at(c, array, position, &at_position));
    bool is_lack = at_position.type == VALUE_MISSING;
    if (is_lack)
        c->is_through_array = true;
    else
        TRY(collect(c, at_position, part + 1));
    TRY(collect_in_each(c, array, part, is_lack));
    return c->count == count_before ? push_type(c, VALUE_MISSING) : STATUS_OK;
}

/* The end of the path: one level of elements, as they are. */
static status collect_elements(struct collector *c, bytes array)
{
    struct document_walk walk = document_fields(array);
    struct field element;
    bool is_end;
    bool is_empty = true;

    c->is_through_array = true;
    for (;;) {
        TRY(step(c, &walk, &element, &is_end));
        if (is_end)
            return is_empty ? push_type(c, VALUE_UNDEFINED) : STATUS_OK;
        is_empty = false;
        TRY(push(c, element.value));
    }
}
