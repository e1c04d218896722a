/* Fuzz: continuation tokens. Nothing that was not sealed for this use is opened; what was sealed comes back
 * as it was, in one header's letters; and one changed letter spoils it. */
#include <stdlib.h>

#include "front/cosmos/continuation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static struct auth *open_auth(struct arena *arena)
{
    struct cosmos_options options = { .machine_time = clock_source_system() };
    struct auth *auth;

    need(auth_open(&options, arena, &auth).code == OK);
    return auth;
}

static void seal_and_spoil(const struct auth *auth, struct arena *arena, bytes state)
{
    struct continuation_use use = { "items", BYTES_LITERAL("scope") };
    struct continuation_use other = { "items", BYTES_LITERAL("scop") };
    struct continuation_use another = { "query", BYTES_LITERAL("scope") };
    bytes token, again, copy;

    need(continuation_seal(auth, arena, use, state, &token).code == OK);
    for (size_t i = 0; i < token.len; i++)
        need(token.data[i] > ' ' && token.data[i] < 0x7F);
    need(continuation_unseal(auth, arena, use, token, &again).code == OK);
    need(bytes_equal(again, state));
    need(continuation_unseal(auth, arena, other, token, &again).code == INVALID);
    need(continuation_unseal(auth, arena, another, token, &again).code == INVALID);
    need(arena_copy(arena, token, &copy).code == OK);
    uint8_t *letter = (uint8_t *)(uintptr_t)copy.data + state.len % copy.len;
    *letter = *letter == 'A' ? 'B' : 'A';
    need(continuation_unseal(auth, arena, use, copy, &again).code == INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    struct continuation_use use = { "items", BYTES_LITERAL("scope") };
    bytes state;

    need(arena != NULL);
    struct auth *auth = open_auth(arena);
    need(continuation_unseal(auth, arena, use, bytes_of(data, size), &state).code == INVALID);
    seal_and_spoil(auth, arena, bytes_of(data, size));
    auth_close(auth);
    arena_close(arena);
    return 0;
}
