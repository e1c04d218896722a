/* Auth key: HMAC-SHA256 (RFC 2104) for one key and many short texts.
 *
 * Every request carries a signature, so this is on the way of every request. The key fills one block of the
 * hash on either side of the text; the state behind that block is computed once and copied per text. The
 * hash is OpenSSL's, used through its plain functions: its newer interface takes memory and locks for every
 * copy of a state, which costs more than hashing a text of a hundred bytes.
 *
 * Keeps: nothing that depends on a secret decides a branch. Pure; callable from every thread. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "front/cosmos/auth_key.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

_Static_assert(sizeof(SHA256_CTX) <= AUTH_KEY_STATE_BYTES, "a state of the hash has its place");
_Static_assert(_Alignof(SHA256_CTX) <= 8, "a state of the hash is aligned");
_Static_assert(AUTH_MAC_BYTES == SHA256_DIGEST_LENGTH, "a MAC is a whole digest");

static void begin_side(uint8_t state[AUTH_KEY_STATE_BYTES], const uint8_t *block, uint8_t pad)
{
    uint8_t padded[SHA256_CBLOCK];
    SHA256_CTX hash;

    for (size_t i = 0; i < sizeof(padded); i++)
        padded[i] = block[i] ^ pad;
    SHA256_Init(&hash);
    SHA256_Update(&hash, padded, sizeof(padded));
    memcpy(state, &hash, sizeof(hash));
    auth_wipe(padded, sizeof(padded));
    auth_wipe(&hash, sizeof(hash));
}

void auth_key_make(bytes secret, struct auth_key *out)
{
    uint8_t block[SHA256_CBLOCK] = { 0 };

    if (secret.len > sizeof(block))
        SHA256(secret.data, secret.len, block);
    else if (secret.len > 0)
        memcpy(block, secret.data, secret.len);
    begin_side(out->inner, block, 0x36);
    begin_side(out->outer, block, 0x5C);
    auth_wipe(block, sizeof(block));
}

void auth_key_sign(const struct auth_key *key, bytes text, uint8_t mac_out[AUTH_MAC_BYTES])
{
    SHA256_CTX hash;
    uint8_t digest[SHA256_DIGEST_LENGTH];

    memcpy(&hash, key->inner, sizeof(hash));
    SHA256_Update(&hash, text.data, text.len);
    SHA256_Final(digest, &hash);
    memcpy(&hash, key->outer, sizeof(hash));
    SHA256_Update(&hash, digest, sizeof(digest));
    SHA256_Final(mac_out, &hash);
}

void auth_mac_format(const uint8_t mac[AUTH_MAC_BYTES], char out[AUTH_MAC_TEXT_BYTES])
{
    EVP_EncodeBlock((unsigned char *)out, mac, AUTH_MAC_BYTES);
}

bool auth_is_same(bytes a, bytes b)
{
    return a.len == b.len && CRYPTO_memcmp(a.data, b.data, a.len) == 0;
}

void auth_wipe(void *secret, size_t len)
{
    OPENSSL_cleanse(secret, len);
}
