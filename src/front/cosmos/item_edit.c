/* Item edit: a copy of a document in which one place is changed.
 *
 * The copy is written field by field along the path; everything beside it is taken over as it is. In an
 * object a place is a name. In an array it is a position: adding there moves the rest up, removing moves
 * it down, and "-" is the place behind the last element. A path is never created on the way: only its last
 * part may be missing.
 *
 * Keeps: the original is not touched. Recursion is bounded by the parts of a path. Pure apart from the
 * arena; callable from every thread. */
#include "front/cosmos/item_edit.h"

#include <math.h>
#include <stdio.h>

/* ---- paths ------------------------------------------------------------------------------------------ */

/* part = *(any but "/" and "~" / "~0" / "~1") */
static status unescape(struct arena *arena, bytes part, bytes *out)
{
    struct buffer plain = buffer_in(arena);

    *out = part;
    if (part.len == 0 || !memchr(part.data, '~', part.len))
        return STATUS_OK;
    for (size_t i = 0; i < part.len; i++) {
        uint8_t byte = part.data[i];
        if (byte == '~') {
            uint8_t code = ++i < part.len ? part.data[i] : 0;
            if (code != '0' && code != '1')
                return status_of(INVALID, "a '~' in a path must be followed by 0 or 1");
            byte = code == '0' ? '~' : '/';
        }
        buffer_append_byte(&plain, byte);
    }
    return buffer_finish(&plain, out);
}

/* path = 1*("/" part) */
status edit_path_parse(struct arena *arena, bytes text, struct edit_path *out)
{
    *out = (struct edit_path){ .text = text };
    if (text.len < 2 || text.data[0] != '/')
        return status_of(INVALID, "a path must begin with '/' and name a property");
    for (size_t i = 0; i < text.len; i++)
        out->count += text.data[i] == '/';
    if (out->count > LIMIT_NESTING_DEPTH)
        return status_fail(arena, INVALID, "the path has %zu parts, the limit is %d", out->count,
                           LIMIT_NESTING_DEPTH);
    TRY(ARENA_NEW(arena, out->count, &out->parts));
    for (size_t i = 0; i < out->count; i++) {
        bytes rest = bytes_from(text, 1);
        const uint8_t *end = rest.len ? memchr(rest.data, '/', rest.len) : NULL;
        bytes part = bytes_of(rest.data, end ? (size_t)(end - rest.data) : rest.len);
        if (part.len > 0 && memchr(part.data, 0, part.len))
            return status_of(INVALID, "a path cannot hold the character U+0000");
        TRY(unescape(arena, part, &out->parts[i]));
        text = bytes_from(rest, part.len);
    }
    return STATUS_OK;
}

bool edit_path_is_within(const struct edit_path *path, const struct edit_path *outer)
{
    if (path->count < outer->count)
        return false;
    for (size_t i = 0; i < outer->count; i++) {
        if (!bytes_equal(path->parts[i], outer->parts[i]))
            return false;
    }
    return true;
}

/* ---- one step --------------------------------------------------------------------------------------- */

struct editing {
    struct arena *arena;
    enum edit_kind kind; /* a move is a remove and an add */
    const struct edit_path *path;
    struct value value;
    struct buffer out;
};

static status edit_inside(struct editing *e, struct value container, size_t depth);

static status fail(const struct editing *e, const char *why)
{
    return status_fail(e->arena, INVALID, "the path '%.*s' %s", (int)e->path->text.len,
                       (const char *)e->path->text.data, why);
}

static bool is_integer(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64;
}

static status sum_of(struct editing *e, struct value old, struct value *out)
{
    int64_t a = 0, b = 0, sum;

    if (!value_is_number(old))
        return fail(e, "leads to a value that is not a number");
    if (is_integer(old) && is_integer(e->value) && value_as_int64(old, &a) &&
        value_as_int64(e->value, &b) && !__builtin_add_overflow(a, b, &sum))
        return value_of_int64(e->arena, sum, out);
    double real = value_as_double(old) + value_as_double(e->value);
    if (!isfinite(real))
        return fail(e, "leads to a number that would become infinite");
    return value_of_double(e->arena, real, out);
}

/* What stands at a place that exists; missing if it goes. */
static status changed(struct editing *e, struct value old, struct value *out)
{
    *out = e->value;
    if (e->kind == EDIT_REMOVE)
        *out = (struct value){ .type = VALUE_MISSING };
    return e->kind == EDIT_INCREMENT ? sum_of(e, old, out) : STATUS_OK;
}

static bool is_last(const struct editing *e, size_t depth)
{
    return depth + 1 == e->path->count;
}

static status edit_object(struct editing *e, bytes object, size_t depth)
{
    struct document_walk walk = document_fields(object);
    bytes name = e->path->parts[depth];
    bool is_found = false;
    struct field field;
    struct value value;

    while (document_next(&walk, &field)) {
        if (is_found || !bytes_equal(field.name, name)) {
            document_append(&e->out, field.name, field.value);
            continue;
        }
        is_found = true;
        if (!is_last(e, depth)) {
            if (field.value.type != VALUE_DOCUMENT && field.value.type != VALUE_ARRAY)
                return fail(e, "goes through a value that is neither an object nor an array");
            size_t begun = document_begin_inner(&e->out, field.value.type, name);
            TRY(edit_inside(e, field.value, depth + 1));
            document_end(&e->out, begun);
            continue;
        }
        TRY(changed(e, field.value, &value));
        document_append(&e->out, name, value);
    }
    if (is_found)
        return STATUS_OK;
    if (!is_last(e, depth) || e->kind == EDIT_REPLACE || e->kind == EDIT_REMOVE)
        return fail(e, "does not exist");
    document_append(&e->out, name, e->value);
    return STATUS_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

/* position = "-" / "0" / digit1-9 *digit; "-" is the place behind the last element */
static status position_of(const struct editing *e, bytes part, size_t count, size_t *out)
{
    *out = count;
    if (bytes_equal(part, BYTES_LITERAL("-")))
        return STATUS_OK;
    if (part.len == 0 || part.len > 9 || (part.len > 1 && part.data[0] == '0'))
        return fail(e, "has no position of the array in the place of one");
    *out = 0;
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] < '0' || part.data[i] > '9')
            return fail(e, "has no position of the array in the place of one");
        *out = *out * 10 + (size_t)(part.data[i] - '0');
    }
    return STATUS_OK;
}

static void append_element(struct editing *e, size_t *count, struct value value)
{
    char name[24];

    if (value.type == VALUE_MISSING)
        return;
    int len = snprintf(name, sizeof(name), "%zu", (*count)++);
    document_append(&e->out, bytes_of(name, (size_t)len), value);
}

static status enter_element(struct editing *e, size_t *count, struct value element, size_t depth)
{
    char name[24];

    if (element.type != VALUE_DOCUMENT && element.type != VALUE_ARRAY)
        return fail(e, "goes through a value that is neither an object nor an array");
    int len = snprintf(name, sizeof(name), "%zu", (*count)++);
    size_t begun = document_begin_inner(&e->out, element.type, bytes_of(name, (size_t)len));
    TRY(edit_inside(e, element, depth + 1));
    document_end(&e->out, begun);
    return STATUS_OK;
}

static status edit_array(struct editing *e, bytes array, size_t depth)
{
    struct document_walk walk = document_fields(array);
    size_t old_count = document_field_count(array), at, count = 0;
    bytes part = e->path->parts[depth];
    bool inserts = is_last(e, depth) &&
                   (e->kind == EDIT_ADD ||
                    (e->kind == EDIT_SET && bytes_equal(part, BYTES_LITERAL("-"))));
    struct field element;
    struct value value;

    TRY(position_of(e, part, old_count, &at));
    if (at > old_count || (at == old_count && !inserts))
        return fail(e, "is behind the end of the array");
    for (size_t i = 0; document_next(&walk, &element); i++) {
        if (i == at && inserts)
            append_element(e, &count, e->value);
        if (i != at || inserts) {
            append_element(e, &count, element.value);
        } else if (!is_last(e, depth)) {
            TRY(enter_element(e, &count, element.value, depth));
        } else {
            TRY(changed(e, element.value, &value));
            append_element(e, &count, value);
        }
    }
    if (at == old_count)
        append_element(e, &count, e->value);
    return STATUS_OK;
}

static status edit_inside(struct editing *e, struct value container, size_t depth)
{
    if (container.type == VALUE_ARRAY)
        return edit_array(e, value_document(container), depth);
    return edit_object(e, value_document(container), depth);
}

/* ---- a whole edit ----------------------------------------------------------------------------------- */

static status run(struct editing *e, bytes document, bytes *out)
{
    e->out = buffer_in(e->arena);
    buffer_reserve(&e->out, document.len + e->value.raw.len + 64);
    size_t begun = document_begin(&e->out);
    TRY(edit_object(e, document, 0));
    document_end(&e->out, begun);
    return buffer_finish(&e->out, out);
}

static status value_at(struct editing *e, bytes document, struct value *out)
{
    *out = (struct value){ .type = VALUE_DOCUMENT, .raw = document };
    for (size_t i = 0; i < e->path->count; i++) {
        bytes part = e->path->parts[i];
        bool is_container = out->type == VALUE_DOCUMENT || out->type == VALUE_ARRAY;
        if (!is_container || !document_find_bytes(value_document(*out), part, out))
            return fail(e, "does not exist");
    }
    return STATUS_OK;
}

static status move(struct arena *arena, const struct edit *edit, bytes document, bytes *out)
{
    struct editing taking = { .arena = arena, .kind = EDIT_REMOVE, .path = &edit->from };
    struct editing putting = { .arena = arena, .kind = EDIT_ADD, .path = &edit->path };
    bytes without;

    if (edit_path_is_within(&edit->path, &edit->from) && edit->path.count > edit->from.count)
        return status_fail(arena, INVALID, "the path '%.*s' lies inside of what is to be moved",
                           (int)edit->path.text.len, (const char *)edit->path.text.data);
    TRY(value_at(&taking, document, &putting.value));
    TRY(run(&taking, document, &without));
    return run(&putting, without, out);
}

status edit_document(struct arena *arena, const struct edit *edit, bytes document, bytes *out)
{
    struct editing editing = {
        .arena = arena, .kind = edit->kind, .path = &edit->path, .value = edit->value
    };

    *out = BYTES_NONE;
    if (edit->kind == EDIT_MOVE)
        return move(arena, edit, document, out);
    return run(&editing, document, out);
}
