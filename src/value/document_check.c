/* Document check: the gate for BSON from outside.
 *
 * One pass that believes nothing: every length against what encloses it, terminators, UTF-8, known
 * types, nesting, size. What passes can be walked, compared, written and encoded without another
 * look, because those functions recurse and index by what is checked here. libbson's own validation
 * is not used: it does not look at booleans, inner lengths or UTF-8 of names as strictly.
 *
 * Keeps: never reads past the given bytes; recursion is bounded by LIMIT_NESTING_DEPTH.
 * Pure apart from the arena of the message; callable from every thread. */
#include <stdarg.h>
#include <stdio.h>

#include "value/parts.h"
#include "value/raw.h"
#include "value/utf8.h"
#include "value/value.h"

enum { DOCUMENT_BYTES_MIN = 5, OBJECT_ID_BYTES = 12, DECIMAL_BYTES = 16, BINARY_OLD_SUBTYPE = 2 };
enum { PATH_SHOWN_BYTES = 160 };

/* The field being looked at, linked to the fields around it; only for messages. */
struct place {
    const struct place *outer;
    bytes name;
};

struct checker {
    struct arena *arena;
    const uint8_t *data;
    size_t at;
    unsigned depth;
};

static status check_document(struct checker *c, const struct place *place, size_t limit);
static status check_field(struct checker *c, const struct place *outer, size_t limit);
static status check_value(struct checker *c, const struct place *place, enum value_type type,
                          size_t limit);
static status fail(struct checker *c, const struct place *place, status_code code,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

status document_check(struct arena *arena, bytes document)
{
    return document_check_upto(arena, document, LIMIT_DOCUMENT_BYTES);
}

status document_check_upto(struct arena *arena, bytes document, size_t bytes_max)
{
    struct checker c = { .arena = arena, .data = document.data };

    if (document.len > bytes_max)
        return status_fail(arena, TOO_LARGE, "document has %zu bytes, limit %zu", document.len,
                           bytes_max);
    TRY(check_document(&c, NULL, document.len));
    if (c.at != document.len)
        return fail(&c, NULL, INVALID, "%zu bytes follow the document", document.len - c.at);
    return STATUS_OK;
}

/* Is nothing in it nested deeper than so many levels, itself counted? What is short has no room for them: a level is a
 * length, a type, a name and two NULs at least. */
static bool is_within(bytes document, unsigned levels)
{
    enum { LEVEL_BYTES = DOCUMENT_BYTES_MIN + 2 };
    struct document_walk walk = document_fields(document);
    struct field field;

    if (levels == 0 || document.len < (size_t)levels * LEVEL_BYTES)
        return levels > 0;
    while (document_next(&walk, &field)) {
        const enum value_type type = field.value.type;
        if ((type == VALUE_DOCUMENT || type == VALUE_ARRAY) &&
            !is_within(value_document(field.value), levels - 1))
            return false;
        if (type == VALUE_CODE_WITH_SCOPE &&
            !is_within(value_scoped_code(field.value).scope, levels - 1))
            return false;
    }
    return true;
}

/* Only its size and its nesting are in question. */
status document_check_built(struct arena *arena, bytes document)
{
    if (document.len > LIMIT_DOCUMENT_BYTES || !is_within(document, LIMIT_NESTING_DEPTH))
        return document_check(arena, document);
    return STATUS_OK;
}

/* int32 length, fields, NUL. Leaves `at` behind it. */
static status check_document(struct checker *c, const struct place *place, size_t limit)
{
    size_t room = limit - c->at;

    if (room < DOCUMENT_BYTES_MIN)
        return fail(c, place, INVALID, "%zu bytes are too few for a document", room);
    uint32_t len = raw_u32(c->data + c->at);
    if (len < DOCUMENT_BYTES_MIN || len > room)
        return fail(c, place, INVALID, "document length %d, but %zu bytes are there", (int32_t)len,
                    room);
    size_t end = c->at + len - 1;
    if (c->data[end] != 0)
        return fail(c, place, INVALID, "document of %u bytes does not end with a zero byte", len);
    if (++c->depth > LIMIT_NESTING_DEPTH)
        return fail(c, place, TOO_LARGE, "nested deeper than %d levels", LIMIT_NESTING_DEPTH);
    c->at += 4;
    while (c->at < end)
        TRY(check_field(c, place, end));
    c->depth--;
    c->at = end + 1;
    return STATUS_OK;
}

/* NUL-terminated UTF-8. Leaves `at` behind the NUL. */
static status check_cstring(struct checker *c, const struct place *place, size_t limit,
                            const char *what, bytes *out)
{
    const uint8_t *start = c->data + c->at;
    const uint8_t *end = limit > c->at ? memchr(start, 0, limit - c->at) : NULL;

    if (!end)
        return fail(c, place, INVALID, "%s without a zero byte at its end", what);
    bytes text = bytes_of(start, (size_t)(end - start));
    size_t valid = utf8_valid_length(text);
    if (valid != text.len) {
        c->at += valid;
        return fail(c, place, INVALID, "%s is not UTF-8", what);
    }
    c->at += text.len + 1;
    *out = text;
    return STATUS_OK;
}

/* type byte, name, value */
static status check_field(struct checker *c, const struct place *outer, size_t limit)
{
    struct place place = { .outer = outer };
    enum value_type type = (enum value_type)c->data[c->at];

    if (type == VALUE_MISSING)
        return fail(c, outer, INVALID, "a field has type 0");
    c->at++;
    TRY(check_cstring(c, outer, limit, "the name of a field", &place.name));
    return check_value(c, &place, type, limit);
}

static status check_fixed(struct checker *c, const struct place *place, size_t size, size_t limit)
{
    if (limit - c->at < size)
        return fail(c, place, INVALID, "value of %zu bytes, but %zu are there", size,
                    limit - c->at);
    c->at += size;
    return STATUS_OK;
}

static status check_bool(struct checker *c, const struct place *place, size_t limit)
{
    if (limit > c->at && c->data[c->at] > 1)
        return fail(c, place, INVALID, "boolean is %u, must be 0 or 1", c->data[c->at]);
    return check_fixed(c, place, 1, limit);
}

/* int32 length with the NUL, UTF-8 that may hold NULs, NUL */
static status check_string(struct checker *c, const struct place *place, size_t limit)
{
    if (limit - c->at < 5)
        return fail(c, place, INVALID, "%zu bytes are too few for a string", limit - c->at);
    uint32_t len = raw_u32(c->data + c->at);
    if (len < 1 || len > limit - c->at - 4)
        return fail(c, place, INVALID, "string length %d, but %zu bytes are there", (int32_t)len,
                    limit - c->at - 4);
    c->at += 4;
    bytes text = bytes_of(c->data + c->at, len - 1);
    if (text.data[text.len] != 0)
        return fail(c, place, INVALID, "string of %u bytes does not end with a zero byte", len);
    size_t valid = utf8_valid_length(text);
    if (valid != text.len) {
        c->at += valid;
        return fail(c, place, INVALID, "string is not UTF-8");
    }
    c->at += len;
    return STATUS_OK;
}

/* int32 length, subtype byte, content; the old subtype 2 repeats its length inside */
static status check_binary(struct checker *c, const struct place *place, size_t limit)
{
    if (limit - c->at < 5)
        return fail(c, place, INVALID, "%zu bytes are too few for a binary value", limit - c->at);
    uint32_t len = raw_u32(c->data + c->at);
    uint8_t subtype = c->data[c->at + 4];
    if (len > limit - c->at - 5)
        return fail(c, place, INVALID, "binary length %d, but %zu bytes are there", (int32_t)len,
                    limit - c->at - 5);
    c->at += 5;
    if (subtype == BINARY_OLD_SUBTYPE && (len < 4 || raw_u32(c->data + c->at) != len - 4))
        return fail(c, place, INVALID, "binary of subtype 2 with a wrong inner length");
    c->at += len;
    return STATUS_OK;
}

static status check_regex(struct checker *c, const struct place *place, size_t limit)
{
    bytes text;

    TRY(check_cstring(c, place, limit, "the pattern of a regular expression", &text));
    return check_cstring(c, place, limit, "the options of a regular expression", &text);
}

static status check_db_pointer(struct checker *c, const struct place *place, size_t limit)
{
    TRY(check_string(c, place, limit));
    return check_fixed(c, place, OBJECT_ID_BYTES, limit);
}

/* int32 length of everything, string, document */
static status check_scoped_code(struct checker *c, const struct place *place, size_t limit)
{
    size_t start = c->at;

    if (limit - start < 4)
        return fail(c, place, INVALID, "%zu bytes are too few for code with scope", limit - start);
    uint32_t len = raw_u32(c->data + start);
    if (len > limit - start || len < 4)
        return fail(c, place, INVALID, "code with scope has length %d, but %zu bytes are there",
                    (int32_t)len, limit - start);
    c->at += 4;
    TRY(check_string(c, place, start + len));
    TRY(check_document(c, place, start + len));
    if (c->at != start + len)
        return fail(c, place, INVALID, "code with scope has length %u, but its parts have %zu", len,
                    c->at - start);
    return STATUS_OK;
}

static status check_value(struct checker *c, const struct place *place, enum value_type type,
                          size_t limit)
{
    switch (type) {
    case VALUE_UNDEFINED:
    case VALUE_NULL:
    case VALUE_MIN_KEY:
    case VALUE_MAX_KEY:
        return STATUS_OK;
    case VALUE_BOOL:
        return check_bool(c, place, limit);
    case VALUE_INT32:
        return check_fixed(c, place, 4, limit);
    case VALUE_DOUBLE:
    case VALUE_DATE:
    case VALUE_TIMESTAMP:
    case VALUE_INT64:
        return check_fixed(c, place, 8, limit);
    case VALUE_OBJECT_ID:
        return check_fixed(c, place, OBJECT_ID_BYTES, limit);
    case VALUE_DECIMAL128:
        return check_fixed(c, place, DECIMAL_BYTES, limit);
    case VALUE_DOCUMENT:
    case VALUE_ARRAY:
        return check_document(c, place, limit);
    case VALUE_STRING:
    case VALUE_SYMBOL:
    case VALUE_CODE:
        return check_string(c, place, limit);
    case VALUE_BINARY:
        return check_binary(c, place, limit);
    case VALUE_REGEX:
        return check_regex(c, place, limit);
    case VALUE_DB_POINTER:
        return check_db_pointer(c, place, limit);
    case VALUE_CODE_WITH_SCOPE:
        return check_scoped_code(c, place, limit);
    case VALUE_MISSING:
        break;
    }
    return fail(c, place, INVALID, "unknown type 0x%02x", type);
}

/* The dotted path of the place, as much of its end as fits. */
static const char *show_path(const struct place *place, char out[PATH_SHOWN_BYTES])
{
    char *start = out + PATH_SHOWN_BYTES - 1;

    *start = 0;
    for (; place; place = place->outer) {
        bool is_last = *start == 0;
        size_t need = place->name.len + (is_last ? 0 : 1);
        if (need > (size_t)(start - out))
            break;
        if (!is_last)
            *--start = '.';
        start -= place->name.len;
        memcpy(start, place->name.data, place->name.len);
    }
    return start;
}

static status fail(struct checker *c, const struct place *place, status_code code,
                   const char *format, ...)
{
    char what[160];
    char path[PATH_SHOWN_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (!place)
        return status_fail(c->arena, code, "BSON at offset %zu: %s", c->at, what);
    return status_fail(c->arena, code, "BSON at offset %zu, field '%s': %s", c->at,
                       show_path(place, path), what);
}
