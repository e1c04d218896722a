/* Continuation: sealing and opening the tokens between two pages.
 *
 *   token = base64url(seal, state), without padding
 *
 * The seal covers the purpose, the scope and the state; the scope is known on both sides and does not travel.
 * What the state means is the business of whoever made it: it has passed through a client, but unchanged.
 *
 * Pure apart from the arena and the call; callable from every thread. */
#include "front/cosmos/continuation.h"

#include "front/cosmos/face.h"

static status sealed_text(struct arena *arena, bytes scope, bytes state, bytes *out)
{
    struct buffer text = buffer_in(arena);

    buffer_append_u32(&text, (uint32_t)scope.len);
    buffer_append(&text, scope);
    buffer_append(&text, state);
    return buffer_finish(&text, out);
}

/* ---- base64url -------------------------------------------------------------------------------------- */

static void exchange(uint8_t *text, size_t len, const char *from, const char *to)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == (uint8_t)from[0] || text[i] == (uint8_t)from[1])
            text[i] = (uint8_t)(text[i] == (uint8_t)from[0] ? to[0] : to[1]);
    }
}

static status encode(struct arena *arena, bytes raw, bytes *out)
{
    struct buffer text = buffer_in(arena);

    base64_append(&text, raw);
    if (text.is_failed)
        return arena_exhausted(arena);
    exchange(text.data, text.len, "+/", "-_");
    while (text.len > 0 && text.data[text.len - 1] == '=')
        text.len--;
    return buffer_finish(&text, out);
}

static bool is_base64url(bytes token)
{
    for (size_t i = 0; i < token.len; i++) {
        if (token.data[i] == '+' || token.data[i] == '/' || token.data[i] == '=')
            return false;
    }
    return true;
}

static status decode(struct arena *arena, bytes token, bytes *out)
{
    struct buffer text = buffer_in(arena);
    uint8_t *raw;
    size_t len;

    *out = BYTES_NONE;
    buffer_append(&text, token);
    while (text.len % 4 != 0 && !text.is_failed)
        buffer_append_byte(&text, '=');
    if (text.is_failed)
        return arena_exhausted(arena);
    exchange(text.data, text.len, "-_", "+/");
    TRY(ARENA_NEW(arena, text.len + 1, &raw));
    if (!is_base64url(token) || !base64_decode(bytes_of(text.data, text.len), raw, &len))
        return status_of(INVALID, "the token is not base64url");
    *out = bytes_of(raw, len);
    return STATUS_OK;
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

status continuation_seal(const struct auth *auth, struct arena *arena, struct continuation_use use,
                         bytes state, bytes *token_out)
{
    uint8_t seal[AUTH_SEAL_BYTES];
    struct buffer raw = buffer_in(arena);
    bytes text, whole;

    *token_out = BYTES_NONE;
    TRY(sealed_text(arena, use.scope, state, &text));
    auth_seal(auth, use.purpose, text, seal);
    buffer_append(&raw, bytes_of(seal, sizeof(seal)));
    buffer_append(&raw, state);
    TRY(buffer_finish(&raw, &whole));
    return encode(arena, whole, token_out);
}

status continuation_unseal(const struct auth *auth, struct arena *arena,
                           struct continuation_use use, bytes token, bytes *state_out)
{
    bytes raw, text;

    *state_out = BYTES_NONE;
    TRY(decode(arena, token, &raw));
    if (raw.len < AUTH_SEAL_BYTES)
        return status_of(INVALID, "the token is too short");
    bytes state = bytes_from(raw, AUTH_SEAL_BYTES);
    TRY(sealed_text(arena, use.scope, state, &text));
    if (!auth_seal_holds(auth, use.purpose, text, raw.data))
        return status_of(INVALID, "the token was not given by this server for this use");
    *state_out = state;
    return STATUS_OK;
}

/* ---- headers ---------------------------------------------------------------------------------------- */

status continuation_open(struct call *call, const char *purpose, bytes scope, bytes *state_out)
{
    struct continuation_use use = { purpose, scope };
    bytes token;

    *state_out = BYTES_NONE;
    if (!call_header(call, "x-ms-continuation", &token) || token.len == 0)
        return STATUS_OK;
    status s = continuation_unseal(call->face->auth, call->arena, use, token, state_out);
    return s.code == INVALID ? call_fail(call, FAIL_CONTINUATION, NULL) : s;
}

void continuation_add(struct call *call, const char *purpose, bytes scope, bytes state)
{
    struct continuation_use use = { purpose, scope };
    bytes token;

    if (continuation_seal(call->face->auth, call->arena, use, state, &token).code != OK) {
        call->headers.is_failed = true;
        return;
    }
    buffer_append_text(&call->headers, "x-ms-continuation: ");
    buffer_append(&call->headers, token);
    buffer_append_text(&call->headers, "\r\n");
}
