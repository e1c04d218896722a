/* Key read: finding the end of an encoded value, and taking back plain bytes.
 *
 * Keys come from disk and from continuation tokens, so nothing is believed: every step is bounded by
 * the bytes at hand and nesting by its limit. A cursor reads through a mask, because descending keys
 * and negative numbers are complements; the layout is described in key.c.
 *
 * Pure apart from the arena; callable from every thread. */
#include "value/key.h"

#include "value/class.h"
#include "value/number.h"

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    uint8_t mask;
    unsigned depth;
};

static bool skip_value(struct cursor *c);
static bool skip_payload(struct cursor *c, enum value_class class);
static bool skip_bytes(struct cursor *c);
static bool take_escaped(struct cursor *c, uint8_t lead, uint8_t *out);

size_t key_value_length(bytes key, enum key_order order)
{
    struct cursor c = {
        .at = key.data,
        .end = key.data + key.len,
        .mask = order == KEY_DESCENDING ? 0xFF : 0,
    };

    return skip_value(&c) ? (size_t)(c.at - key.data) : 0;
}

/* False at the end and for a byte that no encoding has. */
static bool take(struct cursor *c, uint8_t *out)
{
    if (c->at == c->end)
        return false;
    *out = *c->at++ ^ c->mask;
    return *out >= KEY_BYTE_MIN && *out <= KEY_BYTE_MAX;
}

status key_take_bytes(struct arena *arena, bytes *key, bytes *plain_out)
{
    struct cursor c = { .at = key->data, .end = key->data + key->len };
    uint8_t byte;
    void *data;

    *plain_out = BYTES_NONE;
    if (!skip_bytes(&c))
        return status_fail(arena, CORRUPT, "a key of %zu bytes holds a string without an end",
                           key->len);
    size_t encoded_len = (size_t)(c.at - key->data);
    TRY(arena_take(arena, encoded_len, &data));
    uint8_t *plain = data;
    size_t len = 0;
    c.at = key->data;
    while (take(&c, &byte) && byte != KEY_END) {
        bool is_good = take_escaped(&c, byte, &plain[len++]);
        ASSERT(is_good);
    }
    *plain_out = bytes_of(plain, len);
    *key = bytes_from(*key, encoded_len);
    return STATUS_OK;
}

/* One plain byte whose encoding starts with `lead`. */
static bool take_escaped(struct cursor *c, uint8_t lead, uint8_t *out)
{
    uint8_t second;

    *out = lead;
    if (lead != KEY_ESCAPE_LOW && lead != KEY_ESCAPE_HIGH)
        return true;
    if (!take(c, &second) || second > (lead == KEY_ESCAPE_LOW ? 3 : 2))
        return false;
    *out = (uint8_t)(lead == KEY_ESCAPE_LOW ? second - 1 : KEY_ESCAPE_HIGH + second - 1);
    return true;
}

static bool skip_bytes(struct cursor *c)
{
    uint8_t byte;

    for (;;) {
        /* Most bytes stand for themselves. */
        while (c->mask == 0 && c->at<c->end && * c->at> KEY_ESCAPE_LOW && *c->at < KEY_ESCAPE_HIGH)
            c->at++;
        if (!take(c, &byte))
            return false;
        if (byte == KEY_END)
            return true;
        if (!take_escaped(c, byte, &byte))
            return false;
    }
}

static bool skip_groups(struct cursor *c, size_t count)
{
    uint8_t byte;

    for (size_t i = 0; i < count; i++) {
        if (!take(c, &byte) || byte < KEY_GROUP || byte > KEY_GROUP_LAST)
            return false;
    }
    return true;
}

static bool skip_integer(struct cursor *c)
{
    uint8_t byte;
    uint8_t mask = c->mask;

    if (!take(c, &byte))
        return false;
    if (byte < KEY_LENGTH) {
        c->mask = (uint8_t)~mask;
        byte = (uint8_t)~byte;
    }
    bool is_good = byte - KEY_LENGTH <= KEY_INTEGER_GROUPS && skip_groups(c, byte - KEY_LENGTH);
    c->mask = mask;
    return is_good;
}

/* Decimal digits two by two, then the end. */
static bool skip_digits(struct cursor *c)
{
    uint8_t byte;

    for (int i = 0; i <= KEY_DIGIT_PAIRS; i++) {
        if (!take(c, &byte) || byte > KEY_GROUP + 99)
            return false;
        if (byte == KEY_END)
            return i > 0;
    }
    return false;
}

static bool skip_magnitude(struct cursor *c)
{
    uint8_t byte;

    for (int i = 0; i < KEY_NUMBER_GROUPS; i++) {
        if (!take(c, &byte) || byte > KEY_GROUP_LAST)
            return false;
        if (byte == KEY_END)
            return true;
    }
    if (!take(c, &byte))
        return false;
    if (byte == KEY_END)
        return true;
    return byte == KEY_MORE && skip_groups(c, 2) && skip_digits(c);
}

static bool skip_number(struct cursor *c, enum number_class class)
{
    uint8_t mask = c->mask;

    if (class != NUMBER_NEGATIVE && class != NUMBER_POSITIVE)
        return true;
    if (class == NUMBER_NEGATIVE)
        c->mask = (uint8_t)~mask;
    bool is_good = skip_magnitude(c);
    c->mask = mask;
    return is_good;
}

static bool skip_fields(struct cursor *c, bool with_names)
{
    uint8_t byte;

    if (++c->depth > LIMIT_NESTING_DEPTH)
        return false;
    while (take(c, &byte)) {
        if (byte == KEY_END) {
            c->depth--;
            return true;
        }
        if (!with_names)
            c->at--;
        else if (!skip_bytes(c))
            return false;
        if (!skip_value(c))
            return false;
    }
    return false;
}

static bool skip_value(struct cursor *c)
{
    uint8_t class;

    if (!take(c, &class))
        return false;
    if (class >= CLASS_NUMBER && class <= CLASS_NUMBER + NUMBER_PLUS_INFINITY)
        return skip_number(c, (enum number_class)(class - CLASS_NUMBER));
    return skip_payload(c, (enum value_class) class);
}

static bool skip_payload(struct cursor *c, enum value_class class)
{
    uint8_t byte;

    switch (class) {
    case CLASS_MIN_KEY:
    case CLASS_UNDEFINED:
    case CLASS_NULL:
    case CLASS_MAX_KEY:
        return true;
    case CLASS_STRING:
    case CLASS_OBJECT_ID:
    case CLASS_CODE:
        return skip_bytes(c);
    case CLASS_DOCUMENT:
        return skip_fields(c, true);
    case CLASS_ARRAY:
        return skip_fields(c, false);
    case CLASS_BINARY:
        return skip_integer(c) && skip_integer(c) && skip_bytes(c);
    case CLASS_BOOL:
        return take(c, &byte) && (byte == KEY_FALSE || byte == KEY_TRUE);
    case CLASS_DATE:
    case CLASS_TIMESTAMP:
        return skip_integer(c);
    case CLASS_REGEX:
        return skip_bytes(c) && skip_bytes(c);
    case CLASS_DB_POINTER:
        return skip_integer(c) && skip_bytes(c) && skip_bytes(c);
    case CLASS_CODE_WITH_SCOPE:
        return skip_bytes(c) && skip_fields(c, true);
    case CLASS_NUMBER:
        break;
    }
    return false;
}

/* ---- taking values back -------------------------------------------------------------------------------- */

/* Bytes up to their end mark. */
static status take_plain(struct arena *arena, struct cursor *c, bytes *out)
{
    struct buffer plain = buffer_in(arena);
    uint8_t byte = KEY_END;

    while (take(c, &byte) && byte != KEY_END) {
        if (!take_escaped(c, byte, &byte))
            return status_of(CORRUPT, "a key holds a string that no string has made");
        buffer_append_byte(&plain, byte);
    }
    return buffer_finish(&plain, out);
}

/* Of a date: groups of seven bits. */
static bool take_date(struct cursor *c, int64_t *out)
{
    uint64_t integer = 0;
    uint8_t byte;

    if (!take(c, &byte))
        return false;
    bool is_negative = byte < KEY_LENGTH;
    uint8_t mask = c->mask;
    if (is_negative) {
        c->mask = (uint8_t)~mask;
        byte = (uint8_t)~byte;
    }
    for (unsigned left = byte - KEY_LENGTH; left > 0; left--) {
        if (!take(c, &byte))
            return false;
        integer = integer << KEY_GROUP_BITS | (uint64_t)(byte - KEY_GROUP);
    }
    c->mask = mask;
    *out = (int64_t)(is_negative ? ~integer : integer);
    return true;
}

status key_take_value(struct arena *arena, bytes *key, enum key_order order, struct value *out,
                      bool *is_kept_out)
{
    struct cursor c = { .at = key->data,
                        .end = key->data + key->len,
                        .mask = order == KEY_DESCENDING ? 0xFF : 0 };
    size_t len = key_value_length(*key, order);
    uint8_t class, byte = 0;
    int64_t date;
    bytes plain;

    *out = (struct value){ .type = VALUE_MISSING };
    *is_kept_out = false;
    if (len == 0 || !take(&c, &class))
        return status_of(CORRUPT, "an index entry holds something that is no value");
    *key = bytes_from(*key, len);
    if (class != CLASS_STRING && class != CLASS_OBJECT_ID && class != CLASS_BOOL &&
        class != CLASS_DATE)
        return STATUS_OK;
    *is_kept_out = true;
    if (class == CLASS_BOOL && take(&c, &byte)) {
        static const uint8_t bools[2] = { 0, 1 };
        *out = (struct value){ VALUE_BOOL, bytes_of(&bools[byte == KEY_TRUE], 1) };
        return STATUS_OK;
    }
    if (class == CLASS_DATE && take_date(&c, &date))
        return value_of_integer(arena, VALUE_DATE, date, out);
    TRY(take_plain(arena, &c, &plain));
    if (class == CLASS_STRING)
        return value_of_text(arena, plain, out);
    *out = (struct value){ VALUE_OBJECT_ID, plain };
    return STATUS_OK;
}
