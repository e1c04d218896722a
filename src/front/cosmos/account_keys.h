/* The keys of the account: two that may do everything and two that only read, so that each can be replaced while
 * clients use the other. They are renewed while requests are served. */
#ifndef FRONT_COSMOS_ACCOUNT_KEYS_H
#define FRONT_COSMOS_ACCOUNT_KEYS_H

#include "front/cosmos/cosmos.h"

struct account_keys;

enum account_key {
    KEY_PRIMARY,
    KEY_SECONDARY,
    KEY_PRIMARY_READ_ONLY,
    KEY_SECONDARY_READ_ONLY,
    KEY_COUNT,
};

/* Owner: handle. INVALID for a key that is not base64 or too short, or that is there twice. */
MUST_USE status account_keys_open(const struct cosmos_options *options, struct arena *arena,
                                  struct account_keys **out);
void account_keys_close(struct account_keys *keys);
/* Takes the keys of `options` in place of the ones there are; on failure those stay. */
MUST_USE status account_keys_renew(struct account_keys *keys, const struct cosmos_options *options,
                                   struct arena *arena);

/* By which key `signature` was made of `text`; KEY_COUNT: by none. */
enum account_key account_keys_signer(struct account_keys *keys, bytes text, bytes signature);

enum { ACCOUNT_SEAL_BYTES = 16 };
/* Made with the primary key; holds as long as that key is one of the two that may do everything. */
void account_keys_seal(struct account_keys *keys, const char *purpose, bytes text,
                       uint8_t seal_out[ACCOUNT_SEAL_BYTES]);
bool account_keys_seal_holds(struct account_keys *keys, const char *purpose, bytes text,
                             const uint8_t seal[ACCOUNT_SEAL_BYTES]);

#endif
