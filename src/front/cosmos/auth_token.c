/* Auth token: what a permission allows, as a text that the holder can carry but not change.
 *
 *   signature   base64(seal) ";" base64(payload) ";"
 *   payload     version 1, flags (1: mode All), end (8, ms since 1970), resource id (1 length, raw),
 *               item id (2 length, text), partition key (the rest, JSON)
 *
 * Nothing is looked up to read one, so a token works until it ends even if its permission is deleted, but
 * not longer than its resource: a resource that is created again has another id.
 *
 * Keeps: a payload is not looked at before its seal holds. Pure apart from the arena. */
#include "front/cosmos/auth.h"

static const char purpose[] = "permission token";

enum { PAYLOAD_VERSION = 1, FLAG_ALL = 1 };

status auth_make_token(const struct auth *auth, struct arena *arena,
                       const struct permission_grant *permission, bytes *out)
{
    struct buffer payload = buffer_in(arena), token = buffer_in(arena);
    uint8_t seal[AUTH_SEAL_BYTES];
    bytes raw;

    *out = BYTES_NONE;
    ASSERT(permission->item.len <= UINT16_MAX);
    buffer_append_byte(&payload, PAYLOAD_VERSION);
    buffer_append_byte(&payload, permission->is_all ? FLAG_ALL : 0);
    buffer_append_u64(&payload, (uint64_t)permission->expires_at);
    buffer_append_byte(&payload, (uint8_t)permission->resource.len);
    buffer_append(&payload, bytes_of(permission->resource.raw, permission->resource.len));
    buffer_append_u16(&payload, (uint16_t)permission->item.len);
    buffer_append(&payload, permission->item);
    buffer_append(&payload, permission->partition_key);
    TRY(buffer_finish(&payload, &raw));
    auth_seal(auth, purpose, raw, seal);
    buffer_append_text(&token, "type=resource&ver=1.0&sig=");
    base64_append(&token, bytes_of(seal, sizeof(seal)));
    buffer_append_byte(&token, ';');
    base64_append(&token, raw);
    buffer_append_byte(&token, ';');
    return buffer_finish(&token, out);
}

/* base64 ";" at the front of the text. */
static status take_base64(struct arena *arena, bytes *text, bytes *out)
{
    const uint8_t *end = text->len ? memchr(text->data, ';', text->len) : NULL;
    bytes encoded = bytes_of(text->data, end ? (size_t)(end - text->data) : 0);
    uint8_t *raw;
    size_t len = 0;

    *out = BYTES_NONE;
    TRY(arena_take(arena, encoded.len + 1, (void **)&raw));
    if (!end || !base64_decode(encoded, raw, &len))
        return status_of(INVALID, "not a token of this server");
    *out = bytes_of(raw, len);
    *text = bytes_from(*text, encoded.len + 1);
    return STATUS_OK;
}

static bool read_payload(bytes payload, struct permission_grant *out)
{
    struct reader reader = reader_of(payload);

    if (reader_byte(&reader) != PAYLOAD_VERSION)
        return false;
    out->is_all = reader_byte(&reader) == FLAG_ALL;
    out->expires_at = (time_ms)reader_u64(&reader);
    out->resource.len = reader_byte(&reader);
    if (out->resource.len > sizeof(out->resource.raw))
        return false;
    bytes raw = reader_bytes(&reader, out->resource.len);
    out->item = reader_bytes(&reader, reader_u16(&reader));
    out->partition_key = reader_bytes(&reader, reader.rest.len);
    if (!reader_is_done(&reader) || raw.len != out->resource.len)
        return false;
    if (raw.len > 0)
        memcpy(out->resource.raw, raw.data, raw.len);
    return true;
}

status auth_read_token(const struct auth *auth, struct arena *arena, bytes signature,
                       struct permission_grant *out)
{
    bytes seal, payload;

    *out = (struct permission_grant){ 0 };
    TRY(take_base64(arena, &signature, &seal));
    TRY(take_base64(arena, &signature, &payload));
    if (signature.len > 0 || seal.len != AUTH_SEAL_BYTES ||
        !auth_seal_holds(auth, purpose, payload, seal.data) || !read_payload(payload, out))
        return status_of(INVALID, "not a token of this server");
    return STATUS_OK;
}
