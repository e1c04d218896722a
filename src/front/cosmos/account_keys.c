/* Account keys: up to four of them, ready to sign with, and the seals of the two that may do everything.
 *
 * A seal is made with the primary key and accepted from both. So a key is replaced in two steps and nobody is
 * shut out: the new one becomes the secondary key, clients go over to it; then it becomes the primary one, and the
 * old one leaves. Tokens and continuations that the old key sealed hold until it leaves.
 *
 * Keeps: signatures are compared in constant time, and secrets are wiped from what they were read into.
 * Threads: any; the lock is held for reading while a signature is made, for writing while keys are replaced. */
#include "front/cosmos/account_keys.h"

#include <pthread.h>

#include "front/cosmos/auth_key.h"
#include "front/cosmos/rid.h"

/* The key that the emulator publishes, and every tool tries first. */
static const char emulator_key[] =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

enum { SEAL_COUNT = 2 }; /* of KEY_PRIMARY and KEY_SECONDARY */

struct key_set {
    bool is_there[KEY_COUNT];
    struct auth_key keys[KEY_COUNT];
    /* Derived from the keys, so that no seal can pass as a signature. */
    struct auth_key seals[SEAL_COUNT];
};

struct account_keys {
    pthread_rwlock_t lock;
    struct key_set set; /* under the lock */
};

/* ---- life ------------------------------------------------------------------------------------------- */

static status open_key(struct arena *arena, const char *what, const char *text,
                       struct auth_key *out)
{
    uint8_t secret[LIMIT_ACCOUNT_KEY_TEXT_BYTES];
    bytes encoded = bytes_of_text(text);
    size_t len = 0;
    status s = STATUS_OK;

    if (encoded.len > sizeof(secret))
        return status_fail(arena, INVALID, "the %s has %zu characters, limit %d", what, encoded.len,
                           LIMIT_ACCOUNT_KEY_TEXT_BYTES);
    if (!base64_decode(encoded, secret, &len))
        s = status_fail(arena, INVALID, "the %s is not base64", what);
    else if (len < LIMIT_ACCOUNT_KEY_BYTES_MIN)
        s = status_fail(arena, INVALID, "the %s has %zu bytes, it needs at least %d", what, len,
                        LIMIT_ACCOUNT_KEY_BYTES_MIN);
    else
        auth_key_make(bytes_of(secret, len), out);
    auth_wipe(secret, sizeof(secret));
    return s;
}

static void open_seal(struct key_set *set, enum account_key key)
{
    uint8_t secret[AUTH_MAC_BYTES];

    auth_key_sign(&set->keys[key], BYTES_LITERAL("mayfly seals"), secret);
    auth_key_make(bytes_of(secret, sizeof(secret)), &set->seals[key]);
    auth_wipe(secret, sizeof(secret));
}

static bool is_same_key(const struct auth_key *a, const struct auth_key *b)
{
    return auth_is_same(bytes_of(a->inner, AUTH_KEY_STATE_BYTES),
                        bytes_of(b->inner, AUTH_KEY_STATE_BYTES));
}

/* A key that may write must not be the one that was given to somebody who only reads. */
static status check_apart(const struct key_set *set)
{
    for (int writing = KEY_PRIMARY; writing <= KEY_SECONDARY; writing++) {
        for (int reading = KEY_PRIMARY_READ_ONLY; reading < KEY_COUNT; reading++) {
            if (set->is_there[writing] && set->is_there[reading] &&
                is_same_key(&set->keys[writing], &set->keys[reading]))
                return status_of(INVALID,
                                 "the read-only key is the master key: it needs to be another");
        }
    }
    return STATUS_OK;
}

static status open_set(const struct cosmos_options *options, struct arena *arena,
                       struct key_set *out)
{
    const struct {
        const char *what, *text;
    } sources[KEY_COUNT] = {
        [KEY_PRIMARY] = {"master key",               options->master_key ? options->master_key : emulator_key},
        [KEY_SECONDARY] = { "secondary key",           options->secondary_key                                  },
        [KEY_PRIMARY_READ_ONLY] = { "read-only key",           options->read_only_key                                  },
        [KEY_SECONDARY_READ_ONLY] = { "secondary read-only key", options->secondary_read_only_key                        },
    };

    for (int i = 0; i < KEY_COUNT; i++) {
        if (!sources[i].text)
            continue;
        TRY(open_key(arena, sources[i].what, sources[i].text, &out->keys[i]));
        out->is_there[i] = true;
        if (i < SEAL_COUNT)
            open_seal(out, (enum account_key)i);
    }
    return check_apart(out);
}

status account_keys_open(const struct cosmos_options *options, struct arena *arena,
                         struct account_keys **out)
{
    struct account_keys *keys = memory_take_secret(sizeof(*keys));

    *out = NULL;
    if (!keys)
        return status_of(OUT_OF_MEMORY, "no memory for the keys");
    pthread_rwlock_init(&keys->lock, NULL);
    status s = open_set(options, arena, &keys->set);
    if (s.code != OK) {
        account_keys_close(keys);
        return s;
    }
    *out = keys;
    return STATUS_OK;
}

void account_keys_close(struct account_keys *keys)
{
    if (!keys)
        return;
    pthread_rwlock_destroy(&keys->lock);
    memory_give_secret(keys, sizeof(*keys));
}

status account_keys_renew(struct account_keys *keys, const struct cosmos_options *options,
                          struct arena *arena)
{
    struct key_set fresh = { 0 };

    status s = open_set(options, arena, &fresh);
    if (s.code == OK) {
        pthread_rwlock_wrlock(&keys->lock);
        keys->set = fresh;
        pthread_rwlock_unlock(&keys->lock);
    }
    auth_wipe(&fresh, sizeof(fresh));
    return s;
}

/* ---- signatures and seals --------------------------------------------------------------------------- */

static bool is_signed_by(const struct auth_key *key, bytes text, bytes signature)
{
    uint8_t mac[AUTH_MAC_BYTES];
    char mac_text[AUTH_MAC_TEXT_BYTES];

    auth_key_sign(key, text, mac);
    auth_mac_format(mac, mac_text);
    return auth_is_same(bytes_of(mac_text, sizeof(mac_text) - 1), signature);
}

enum account_key account_keys_signer(struct account_keys *keys, bytes text, bytes signature)
{
    int signer = KEY_PRIMARY;

    pthread_rwlock_rdlock(&keys->lock);
    while (signer < KEY_COUNT &&
           !(keys->set.is_there[signer] && is_signed_by(&keys->set.keys[signer], text, signature)))
        signer++;
    pthread_rwlock_unlock(&keys->lock);
    return (enum account_key)signer;
}

static void seal_with(const struct auth_key *seals, const char *purpose, bytes text,
                      uint8_t out[ACCOUNT_SEAL_BYTES])
{
    uint8_t mac[AUTH_MAC_BYTES];
    struct auth_key key;

    auth_key_sign(seals, bytes_of_text(purpose), mac);
    auth_key_make(bytes_of(mac, sizeof(mac)), &key);
    auth_key_sign(&key, text, mac);
    auth_wipe(&key, sizeof(key));
    memcpy(out, mac, ACCOUNT_SEAL_BYTES);
}

void account_keys_seal(struct account_keys *keys, const char *purpose, bytes text,
                       uint8_t seal_out[ACCOUNT_SEAL_BYTES])
{
    pthread_rwlock_rdlock(&keys->lock);
    seal_with(&keys->set.seals[KEY_PRIMARY], purpose, text, seal_out);
    pthread_rwlock_unlock(&keys->lock);
}

bool account_keys_seal_holds(struct account_keys *keys, const char *purpose, bytes text,
                             const uint8_t seal[ACCOUNT_SEAL_BYTES])
{
    bool holds = false;

    pthread_rwlock_rdlock(&keys->lock);
    for (int i = 0; i < SEAL_COUNT && !holds; i++) {
        uint8_t wanted[ACCOUNT_SEAL_BYTES];
        if (!keys->set.is_there[i])
            continue;
        seal_with(&keys->set.seals[i], purpose, text, wanted);
        holds = auth_is_same(bytes_of(wanted, sizeof(wanted)), bytes_of(seal, ACCOUNT_SEAL_BYTES));
    }
    pthread_rwlock_unlock(&keys->lock);
    return holds;
}
