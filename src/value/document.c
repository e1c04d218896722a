/* Document: walking checked BSON and reading single values.
 *
 * A document is: int32 length of everything, fields (type byte, name with NUL, value), a NUL. An array
 * is a document whose names are positions. Every function here expects bytes that document_check() has
 * accepted; a length that leads outside is a programmer's mistake and ends the process.
 *
 * Pure; callable from every thread. Start reading at document_next(). */
#include <math.h>

#include "value/value.h"

#include "value/number.h"
#include "value/parts.h"
#include "value/raw.h"

enum { DOCUMENT_BYTES_MIN = 5, OBJECT_ID_BYTES = 12, DECIMAL_BYTES = 16 };

static size_t value_size(enum value_type type, bytes rest);
static size_t name_size(bytes rest);

struct document_walk document_fields(bytes document)
{
    ASSERT(document.len >= DOCUMENT_BYTES_MIN);
    ASSERT(raw_u32(document.data) == document.len);
    return (struct document_walk){ .rest = bytes_of(document.data + 4,
                                                    document.len - DOCUMENT_BYTES_MIN) };
}

bool document_next(struct document_walk *walk, struct field *out)
{
    bytes rest = walk->rest;

    if (rest.len == 0)
        return false;
    enum value_type type = (enum value_type)rest.data[0];
    size_t name_len = name_size(bytes_from(rest, 1));
    out->name = bytes_of(rest.data + 1, name_len - 1);
    rest = bytes_from(rest, 1 + name_len);
    size_t size = value_size(type, rest);
    ASSERT(size <= rest.len);
    out->value = (struct value){ .type = type, .raw = bytes_of(rest.data, size) };
    walk->rest = bytes_from(rest, size);
    return true;
}

size_t document_field_count(bytes document)
{
    struct document_walk walk = document_fields(document);
    struct field field;
    size_t count = 0;

    while (document_next(&walk, &field))
        count++;
    return count;
}

bool document_find(bytes document, const char *name, struct value *out)
{
    return document_find_bytes(document, bytes_of_text(name), out);
}

/* Filters look up a field in every document of a collection, so this does what document_next does with less:
 * no field is taken apart but the right one. A name ends where the bytes differ or at its NUL, which the checked
 * document has, so comparing needs no other bound. */
bool document_find_bytes(bytes document, bytes name, struct value *out)
{
    bytes rest = document_fields(document).rest;
    const uint8_t *at = rest.data, *end = rest.data + rest.len;

    *out = (struct value){ .type = VALUE_MISSING };
    if (name.len > 0 && memchr(name.data, 0, name.len) != NULL)
        return false;
    while (at < end) {
        enum value_type type = (enum value_type) * at++;
        size_t len = 0;
        while (len < name.len && at[len] == name.data[len])
            len++;
        bool is_it = len == name.len && at[len] == 0;
        while (at[len] != 0)
            len++;
        at += len + 1;
        ASSERT(at <= end);
        size_t size = value_size(type, bytes_of(at, (size_t)(end - at)));
        ASSERT(size <= (size_t)(end - at));
        if (is_it) {
            *out = (struct value){ .type = type, .raw = bytes_of(at, size) };
            return true;
        }
        at += size;
    }
    return false;
}

bytes value_document(struct value value)
{
    ASSERT(value.type == VALUE_DOCUMENT || value.type == VALUE_ARRAY);
    return value.raw;
}

bytes value_text(struct value value)
{
    ASSERT(value.type == VALUE_STRING || value.type == VALUE_SYMBOL || value.type == VALUE_CODE);
    ASSERT(value.raw.len >= 5);
    return bytes_of(value.raw.data + 4, value.raw.len - 5);
}

int64_t value_date_ms(struct value value)
{
    ASSERT(value.type == VALUE_DATE);
    return raw_int64(value.raw.data);
}

const char *value_type_name(enum value_type type)
{
    switch (type) {
    case VALUE_MISSING:
        return "missing";
    case VALUE_DOUBLE:
        return "double";
    case VALUE_STRING:
        return "string";
    case VALUE_DOCUMENT:
        return "object";
    case VALUE_ARRAY:
        return "array";
    case VALUE_BINARY:
        return "binData";
    case VALUE_UNDEFINED:
        return "undefined";
    case VALUE_OBJECT_ID:
        return "objectId";
    case VALUE_BOOL:
        return "bool";
    case VALUE_DATE:
        return "date";
    case VALUE_NULL:
        return "null";
    case VALUE_REGEX:
        return "regex";
    case VALUE_DB_POINTER:
        return "dbPointer";
    case VALUE_CODE:
        return "javascript";
    case VALUE_SYMBOL:
        return "symbol";
    case VALUE_CODE_WITH_SCOPE:
        return "javascriptWithScope";
    case VALUE_INT32:
        return "int";
    case VALUE_TIMESTAMP:
        return "timestamp";
    case VALUE_INT64:
        return "long";
    case VALUE_DECIMAL128:
        return "decimal";
    case VALUE_MIN_KEY:
        return "minKey";
    case VALUE_MAX_KEY:
        return "maxKey";
    }
    return "unknown";
}

bool value_is_number(struct value value)
{
    return value.type == VALUE_DOUBLE || value.type == VALUE_INT32 || value.type == VALUE_INT64 ||
           value.type == VALUE_DECIMAL128;
}

bool value_as_int64(struct value value, int64_t *out)
{
    return value_is_number(value) && number_as_int64(value, out);
}

bool value_cut_to_int64(struct value value, int64_t *out)
{
    if (!value_is_number(value))
        return false;
    if (value_as_int64(value, out))
        return true;
    double real = trunc(value_as_double(value));
    if (!(real >= -0x1p63 && real < 0x1p63))
        return false;
    *out = (int64_t)real;
    return true;
}

/* Bytes of the name with its NUL. */
static size_t name_size(bytes rest)
{
    const uint8_t *end = rest.len ? memchr(rest.data, 0, rest.len) : NULL;

    ASSERT(end != NULL);
    return (size_t)(end - rest.data) + 1;
}

/* The stored length field at the front, plus what it does not count itself. */
static size_t counted_size(bytes rest, size_t more)
{
    ASSERT(rest.len >= 4);
    return raw_u32(rest.data) + more;
}

static size_t regex_size(bytes rest)
{
    size_t pattern = name_size(rest);

    return pattern + name_size(bytes_from(rest, pattern));
}

static size_t value_size(enum value_type type, bytes rest)
{
    switch (type) {
    case VALUE_UNDEFINED:
    case VALUE_NULL:
    case VALUE_MIN_KEY:
    case VALUE_MAX_KEY:
        return 0;
    case VALUE_BOOL:
        return 1;
    case VALUE_INT32:
        return 4;
    case VALUE_DOUBLE:
    case VALUE_DATE:
    case VALUE_TIMESTAMP:
    case VALUE_INT64:
        return 8;
    case VALUE_OBJECT_ID:
        return OBJECT_ID_BYTES;
    case VALUE_DECIMAL128:
        return DECIMAL_BYTES;
    case VALUE_DOCUMENT:
    case VALUE_ARRAY:
    case VALUE_CODE_WITH_SCOPE:
        return counted_size(rest, 0);
    case VALUE_STRING:
    case VALUE_SYMBOL:
    case VALUE_CODE:
        return counted_size(rest, 4);
    case VALUE_BINARY:
        return counted_size(rest, 5);
    case VALUE_DB_POINTER:
        return counted_size(rest, 4 + OBJECT_ID_BYTES);
    case VALUE_REGEX:
        return regex_size(rest);
    case VALUE_MISSING:
        break;
    }
    check_failed("a checked document holds known types only", __FILE__, __LINE__);
}
