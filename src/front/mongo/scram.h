/* SCRAM (RFC 5802, RFC 7677), the server's side, without I/O: what is kept of a password, and the two messages
 * that prove that a client knows it. */
#ifndef FRONT_MONGO_SCRAM_H
#define FRONT_MONGO_SCRAM_H

#include "base/base.h"

enum scram_mechanism { SCRAM_SHA_1, SCRAM_SHA_256, SCRAM_COUNT };
enum { SCRAM_HASH_BYTES_MAX = 32, SCRAM_SALT_BYTES_MAX = 28 };

/* "SCRAM-SHA-256"; SCRAM_COUNT for a name that is none. */
enum scram_mechanism scram_by_name(bytes name);
const char *scram_name(enum scram_mechanism mechanism);
size_t scram_hash_len(enum scram_mechanism mechanism);

/* What is kept of a password. */
struct scram_secret {
    uint32_t iterations;
    uint8_t salt[SCRAM_SALT_BYTES_MAX];
    size_t salt_len;
    uint8_t stored_key[SCRAM_HASH_BYTES_MAX];
    uint8_t server_key[SCRAM_HASH_BYTES_MAX];
};
/* With a new salt. Takes some milliseconds. */
MUST_USE status scram_make_secret(struct arena *arena, enum scram_mechanism mechanism, bytes user,
                                  bytes password, struct scram_secret *out);
/* Of a user that is not there: the same for the same name, so that nobody learns who is. */
void scram_fake_secret(enum scram_mechanism mechanism, bytes database, bytes user,
                       const uint8_t seed[32], struct scram_secret *out);

/* The first message of a client; both in the arena, the name without its escapes. */
struct scram_first {
    bytes user;
    bytes bare;  /* the message without its header */
    bytes nonce; /* of the client */
};
/* INVALID with what is wrong. */
MUST_USE status scram_read_first(struct arena *arena, bytes message, struct scram_first *out);
/* The server's answer to it, and the nonce of both in it; in the arena. */
MUST_USE status scram_write_first(struct arena *arena, const struct scram_first *first,
                                  const struct scram_secret *secret, bytes *out, bytes *nonce_out);

/* What was said so far. */
struct scram_talk {
    enum scram_mechanism mechanism;
    bytes client_first; /* bare */
    bytes server_first;
    bytes nonce;
};
/* The client's proof; `*is_proven_out` says whether it knows the password, and then `reply_out` is the
 * server's proof. INVALID for a message that is none. */
MUST_USE status scram_finish(struct arena *arena, const struct scram_talk *talk,
                             const struct scram_secret *secret, bytes message, bool *is_proven_out,
                             bytes *reply_out);

#endif
