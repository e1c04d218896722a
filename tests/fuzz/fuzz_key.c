/* Fuzz keys: any bytes as a key, and any bytes as two values whose keys must have their order.
 *
 * The input is read as a key in both directions. Then its first two bytes are the types of two values
 * and the third says where the rest is cut in two raw values; those that a document could hold are
 * encoded and compared. */
#include "value/value.h"

enum { BUDGET = 64 * 1024 * 1024, HEAD = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void read_as_key(struct arena *arena, bytes key)
{
    bytes rest = key;
    bytes plain;

    ASSERT(key_value_length(key, KEY_ASCENDING) <= key.len);
    ASSERT(key_value_length(key, KEY_DESCENDING) <= key.len);
    for (int i = 0; i < 8; i++) {
        struct buffer text = buffer_in(arena);
        struct key_bound bound = { .key = key, .is_end = i & 1, .is_point = i & 2 };
        key_write_bound(&text, &bound, i & 4 ? KEY_DESCENDING : KEY_ASCENDING);
    }
    if (key_take_bytes(arena, &rest, &plain).code == OK) {
        struct buffer again = buffer_in(arena);
        key_append_bytes(&again, plain);
        ASSERT(
            bytes_equal(bytes_of(again.data, again.len), bytes_of(key.data, key.len - rest.len)));
    }
}

/* The value as the only field of a document, if the check lets it in. */
static bool as_value(struct arena *arena, uint8_t type, bytes raw, struct value *out)
{
    struct buffer document = buffer_in(arena);
    size_t len = 4 + 2 + raw.len + 1;

    for (int i = 0; i < 4; i++)
        buffer_append_byte(&document, (uint8_t)(len >> (8 * i)));
    buffer_append_byte(&document, type);
    buffer_append_byte(&document, 0);
    buffer_append(&document, raw);
    buffer_append_byte(&document, 0);
    bytes whole = bytes_of(document.data, document.len);
    if (document.is_failed || document_check(arena, whole).code != OK)
        return false;
    return document_find(whole, "", out);
}

static bytes encode(struct arena *arena, struct value value, enum key_order order)
{
    struct buffer key = buffer_in(arena);

    key_append_value(&key, value, order);
    ASSERT(!key.is_failed);
    ASSERT(key_value_length(bytes_of(key.data, key.len), order) == key.len);
    return bytes_of(key.data, key.len);
}

static void check_order(struct arena *arena, struct value a, struct value b)
{
    int want = sign(value_compare(a, b));

    ASSERT(sign(value_compare(b, a)) == -want);
    ASSERT(sign(bytes_compare(encode(arena, a, KEY_ASCENDING), encode(arena, b, KEY_ASCENDING))) ==
           want);
    ASSERT(sign(bytes_compare(encode(arena, a, KEY_DESCENDING),
                              encode(arena, b, KEY_DESCENDING))) == -want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    struct value a;
    struct value b;

    read_as_key(arena, bytes_of(data, size));
    if (size > HEAD) {
        size_t cut = data[2] % (size - HEAD);
        bytes left = bytes_of(data + HEAD, cut);
        bytes right = bytes_of(data + HEAD + cut, size - HEAD - cut);
        if (as_value(arena, data[0], left, &a) && as_value(arena, data[1], right, &b))
            check_order(arena, a, b);
    }
    arena_close(arena);
    return 0;
}
