/* A key ready to sign with: HMAC-SHA256 whose first steps, which depend on the key alone, are done once. */
#ifndef FRONT_COSMOS_AUTH_KEY_H
#define FRONT_COSMOS_AUTH_KEY_H

#include "base/base.h"

enum { AUTH_MAC_BYTES = 32, AUTH_MAC_TEXT_BYTES = 45, AUTH_KEY_STATE_BYTES = 112 };

/* Secret, as good as the key itself. */
struct auth_key {
    _Alignas(8) uint8_t inner[AUTH_KEY_STATE_BYTES];
    _Alignas(8) uint8_t outer[AUTH_KEY_STATE_BYTES];
};

void auth_key_make(bytes secret, struct auth_key *out);
/* Callable from every thread; no memory is taken. */
void auth_key_sign(const struct auth_key *key, bytes text, uint8_t mac_out[AUTH_MAC_BYTES]);
/* The MAC in base64, with a NUL behind it. */
void auth_mac_format(const uint8_t mac[AUTH_MAC_BYTES], char out[AUTH_MAC_TEXT_BYTES]);
/* Constant time for texts of equal length. */
bool auth_is_same(bytes a, bytes b);
/* Overwrites a secret so that the compiler does not leave it out. */
void auth_wipe(void *secret, size_t len);

#endif
