/* Fuzz: what clients say before they have logged in. The input is the first message of a client, a NUL, and the
 * last one. Any bytes are refused or read; nobody proves a password that was drawn by lot, and what is answered has
 * the client's nonce in it. */
#include "front/mongo/scram.h"

enum { BUDGET = 8 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void talk_once(struct arena *arena, enum scram_mechanism mechanism, bytes first_message,
                      bytes last_message)
{
    static const uint8_t seed[32] = "a seed that nobody knows but we";
    struct scram_talk talk = { .mechanism = mechanism };
    struct scram_secret secret;
    struct scram_first first;
    bool is_proven = false;
    bytes reply;

    if (scram_read_first(arena, first_message, &first).code != OK)
        return;
    ASSERT(first.bare.len <= first_message.len);
    scram_fake_secret(mechanism, BYTES_LITERAL("admin"), first.user, seed, &secret);
    talk.client_first = first.bare;
    if (scram_write_first(arena, &first, &secret, &talk.server_first, &talk.nonce).code != OK)
        return;
    ASSERT(bytes_starts_with(talk.nonce, first.nonce));
    if (scram_finish(arena, &talk, &secret, last_message, &is_proven, &reply).code == OK)
        ASSERT(!is_proven);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    size_t len = end ? (size_t)(end - data) : size;
    bytes first = bytes_of(data, len);
    bytes last = end ? bytes_of(end + 1, size - len - 1) : BYTES_NONE;

    ASSERT(arena != NULL);
    for (int mechanism = 0; mechanism < SCRAM_COUNT; mechanism++)
        talk_once(arena, (enum scram_mechanism)mechanism, first, last);
    arena_close(arena);
    return 0;
}
