/* Fuzz authorization: any bytes as the header, then as the signature of a token, then as a date. Nothing is
 * proved by them; what the header's reader accepts has three fields that are not empty. */
#include "front/cosmos/auth.h"
#include "front/cosmos/auth_date.h"
#include "front/cosmos/auth_header.h"

enum { BUDGET = 16 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_header(struct arena *arena, bytes input)
{
    struct authorization authorization;
    status s = auth_header_parse(arena, input, &authorization);

    if (s.code == OK) {
        ASSERT(authorization.type.len > 0 && authorization.version.len > 0);
        ASSERT(authorization.signature.len > 0);
        ASSERT(!memchr(authorization.signature.data, '&', authorization.signature.len));
    } else {
        ASSERT(s.code == INVALID);
        ASSERT(s.message[0] != 0);
    }
}

static void read_date(bytes input)
{
    char text[AUTH_DATE_BYTES + 1];
    time_ms time, again;

    if (!auth_date_parse(input, &time))
        return;
    auth_date_format(time, text);
    ASSERT(auth_date_parse(bytes_of_text(text), &again));
    ASSERT(again == time);
}

static void read_token(struct arena *arena, bytes input)
{
    struct cosmos_options options = { 0 };
    struct permission_grant grant;
    struct auth *auth;

    ASSERT(auth_open(&options, arena, &auth).code == OK);
    ASSERT(auth_read_token(auth, arena, input, &grant).code == INVALID);
    auth_close(auth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);

    read_header(arena, bytes_of(data, size));
    read_token(arena, bytes_of(data, size));
    read_date(bytes_of(data, size));
    arena_close(arena);
    return 0;
}
