/* Auth header: the fields of an authorization header.
 *
 *   header = field "&" field "&" field        field = ("type" | "ver" | "sig") "=" value
 *
 * Clients send it percent-encoded as a whole; some do not. A plus is a plus, because base64 has it.
 *
 * Pure apart from the arena; callable from every thread. */
#include "front/cosmos/auth_header.h"

static int hex_digit(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/* Escapes are few, so what lies between them is copied in one piece. */
static status decode(struct arena *arena, bytes text, bytes *out)
{
    const uint8_t *escape = text.len ? memchr(text.data, '%', text.len) : NULL;
    bytes rest = text;
    uint8_t *plain;
    size_t len = 0;

    *out = text;
    if (!escape)
        return STATUS_OK;
    TRY(arena_take(arena, text.len, (void **)&plain));
    for (; escape; escape = rest.len ? memchr(rest.data, '%', rest.len) : NULL) {
        size_t before = (size_t)(escape - rest.data);
        int high = before + 2 < rest.len ? hex_digit(escape[1]) : -1;
        int low = high >= 0 ? hex_digit(escape[2]) : -1;
        if (low < 0)
            return status_fail(arena, INVALID, "it has an incomplete percent escape at offset %zu",
                               (size_t)(escape - text.data));
        memcpy(plain + len, rest.data, before);
        plain[len + before] = (uint8_t)(high << 4 | low);
        len += before + 1;
        rest = bytes_from(rest, before + 3);
    }
    if (rest.len > 0)
        memcpy(plain + len, rest.data, rest.len);
    *out = bytes_of(plain, len + rest.len);
    return STATUS_OK;
}

static bytes take_until(bytes *rest, uint8_t mark)
{
    const uint8_t *end = rest->len ? memchr(rest->data, mark, rest->len) : NULL;
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    bytes part = bytes_of(rest->data, len);

    *rest = bytes_from(*rest, end ? len + 1 : len);
    return part;
}

static status place(struct authorization *out, bytes name, bytes value)
{
    bytes *field = NULL;

    if (bytes_equal(name, BYTES_LITERAL("type")))
        field = &out->type;
    else if (bytes_equal(name, BYTES_LITERAL("ver")))
        field = &out->version;
    else if (bytes_equal(name, BYTES_LITERAL("sig")))
        field = &out->signature;
    if (!field)
        return status_of(INVALID, "it has a field other than type, ver and sig");
    if (field->data)
        return status_of(INVALID, "it has a field twice");
    if (value.len == 0)
        return status_of(INVALID, "one of its fields is empty");
    *field = value;
    return STATUS_OK;
}

status auth_header_parse(struct arena *arena, bytes header, struct authorization *out)
{
    bytes rest;

    *out = (struct authorization){ 0 };
    TRY(decode(arena, header, &rest));
    while (rest.len > 0) {
        bytes value = take_until(&rest, '&');
        bytes name = take_until(&value, '=');
        TRY(place(out, name, value));
    }
    if (!out->type.data)
        return status_of(INVALID, "it has no type");
    if (!out->version.data)
        return status_of(INVALID, "it has no ver");
    if (!out->signature.data)
        return status_of(INVALID, "it has no sig");
    return STATUS_OK;
}
