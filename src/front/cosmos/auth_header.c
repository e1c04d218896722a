/* Auth header: the fields of an authorization header.
 *
 *   header = field "&" field "&" field        field = ("type" | "ver" | "sig") "=" value
 *
 * Clients send it percent-encoded as a whole; some do not. A plus is a plus, because base64 has it.
 *
 * Pure apart from the arena; callable from every thread. */
#include "front/cosmos/auth_header.h"

#include "front/cosmos/link.h"

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
    TRY(percent_decode(arena, header, &rest));
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
