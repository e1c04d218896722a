/* Digest: one number for a value, the same for all values that are equal.
 *
 * It is the first half of an MD5 digest over a seed of zero, the class of the value, and its bytes; numbers of all
 * types count as whole numbers, so that equal ones have equal hashes. Documents and arrays add each field with its
 * class and name, and the class 0 at their end. Other systems compute the same, and clients may know the numbers.
 *
 * Pure apart from the arena. */
#include <openssl/evp.h>

#include "value/value.h"

/* The class of a type: types that compare with each other share one. */
static int32_t class_of(enum value_type type)
{
    switch (type) {
    case VALUE_MIN_KEY:
        return -1;
    case VALUE_MISSING:
    case VALUE_UNDEFINED:
        return 0;
    case VALUE_NULL:
        return 5;
    case VALUE_DOUBLE:
    case VALUE_INT32:
    case VALUE_INT64:
    case VALUE_DECIMAL128:
        return 10;
    case VALUE_STRING:
    case VALUE_SYMBOL:
        return 15;
    case VALUE_DOCUMENT:
        return 20;
    case VALUE_ARRAY:
        return 25;
    case VALUE_BINARY:
        return 30;
    case VALUE_OBJECT_ID:
        return 35;
    case VALUE_BOOL:
        return 40;
    case VALUE_DATE:
        return 45;
    case VALUE_TIMESTAMP:
        return 47;
    case VALUE_REGEX:
        return 50;
    case VALUE_DB_POINTER:
        return 55;
    case VALUE_CODE:
        return 60;
    case VALUE_CODE_WITH_SCOPE:
        return 65;
    case VALUE_MAX_KEY:
        return 127;
    }
    return 0;
}

static void append_number(struct buffer *out, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        buffer_append_byte(out, (uint8_t)(number >> (8 * i)));
}

/* What the digest is made of; the depth of documents is bounded when they are checked. */
static void append_value(struct buffer *out, struct value value)
{
    struct field field;
    int64_t whole = 0;

    append_number(out, (uint64_t)(int64_t)class_of(value.type), 4);
    if (value_is_number(value)) {
        if (!value_cut_to_int64(value, &whole))
            whole = value_as_double(value) > 0   ? INT64_MAX
                    : value_as_double(value) < 0 ? INT64_MIN
                                                 : 0;
        append_number(out, (uint64_t)whole, 8);
        return;
    }
    if (value.type != VALUE_DOCUMENT && value.type != VALUE_ARRAY) {
        buffer_append(out, value.raw);
        return;
    }
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &field)) {
        struct buffer inner = buffer_in(out->arena);
        append_value(&inner, field.value);
        /* The name comes behind the class. */
        buffer_append(out, bytes_of(inner.data, inner.len < 4 ? inner.len : 4));
        buffer_append(out, field.name);
        buffer_append_byte(out, 0);
        buffer_append(out, bytes_from(bytes_of(inner.data, inner.len), 4));
        out->is_failed |= inner.is_failed;
    }
    append_number(out, 0, 4);
}

status value_digest(struct arena *arena, struct value value, int64_t *out)
{
    struct buffer built = buffer_in(arena);
    uint8_t digest[EVP_MAX_MD_SIZE];
    uint64_t hash = 0;
    unsigned len = 0;
    bytes content;

    *out = 0;
    append_number(&built, 0, 4);
    append_value(&built, value);
    TRY(buffer_finish(&built, &content));
    if (!EVP_Digest(content.data, content.len, digest, &len, EVP_md5(), NULL) || len < 8)
        return status_of(INVALID, "this machine's cryptography refuses MD5");
    for (unsigned i = 0; i < 8; i++)
        hash |= (uint64_t)digest[i] << (8 * i);
    *out = (int64_t)hash;
    return STATUS_OK;
}
