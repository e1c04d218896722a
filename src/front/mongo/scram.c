/* Scram: how a client proves that it knows a password without telling it.
 *
 *   client first   n,,n=<user>,r=<nonce>
 *   server first   r=<nonce of both>,s=<salt>,i=<iterations>
 *   client final   c=biws,r=<nonce of both>,p=<proof>
 *   server final   v=<signature>
 *
 * salted = PBKDF2(password), client key = HMAC(salted, "Client Key"), stored key = H(client key), server key =
 * HMAC(salted, "Server Key"). The proof is client key XOR HMAC(stored key, what was said); so the server
 * keeps nothing that would let somebody in. With SHA-1 the password is the MD5 digest that the protocol of
 * old had; passwords of SHA-256 go through SASLprep (RFC 4013), because a letter may be typed in several ways.
 *
 * Keeps: proofs are compared in constant time. Pure apart from arenas and salts. */
#include "front/mongo/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stringprep.h>

/* One character may become eighteen in its one form. */
enum { NONCE_BYTES = 24, DIGEST_HEX_BYTES = 32, NUMBER_BYTES = 16, PREPARED_GROWTH = 18 };

static const struct {
    const char *name;
    size_t hash_len, salt_len;
    uint32_t iterations;
} kinds[SCRAM_COUNT] = {
    [SCRAM_SHA_1] = {"SCRAM-SHA-1",    20, 16, 10000},
    [SCRAM_SHA_256] = { "SCRAM-SHA-256", 32, 28, 15000},
};

static const EVP_MD *hash_of(enum scram_mechanism mechanism)
{
    return mechanism == SCRAM_SHA_1 ? EVP_sha1() : EVP_sha256();
}

enum scram_mechanism scram_by_name(bytes name)
{
    for (unsigned i = 0; i < SCRAM_COUNT; i++) {
        if (bytes_equal(name, bytes_of_text(kinds[i].name)))
            return (enum scram_mechanism)i;
    }
    return SCRAM_COUNT;
}

const char *scram_name(enum scram_mechanism mechanism)
{
    return kinds[mechanism].name;
}

size_t scram_hash_len(enum scram_mechanism mechanism)
{
    return kinds[mechanism].hash_len;
}

/* ---- secrets ---------------------------------------------------------------------------------------- */

static bool hmac(enum scram_mechanism mechanism, const uint8_t *key, bytes text,
                 uint8_t out[SCRAM_HASH_BYTES_MAX])
{
    unsigned len = 0;

    return HMAC(hash_of(mechanism), key, (int)kinds[mechanism].hash_len, text.data, text.len, out,
                &len) != NULL;
}

static bool hash(enum scram_mechanism mechanism, const uint8_t *text,
                 uint8_t out[SCRAM_HASH_BYTES_MAX])
{
    return EVP_Digest(text, kinds[mechanism].hash_len, out, NULL, hash_of(mechanism), NULL) == 1;
}

/* What was made of a password, by which somebody could come in as well. */
static void wipe_text(bytes text)
{
    OPENSSL_cleanse((void *)(uintptr_t)text.data, text.len);
}

/* The hex MD5 of user:mongo:password. */
static status digest_password(struct arena *arena, bytes user, bytes password, bytes *out)
{
    struct buffer text = buffer_in(arena), hex = buffer_in(arena);
    uint8_t digest[EVP_MAX_MD_SIZE];

    buffer_append(&text, user);
    buffer_append_text(&text, ":mongo:");
    buffer_append(&text, password);
    if (text.is_failed || EVP_Digest(text.data, text.len, digest, NULL, EVP_md5(), NULL) != 1)
        return status_of(OUT_OF_MEMORY, "the password cannot be digested");
    wipe_text(bytes_of(text.data, text.len));
    for (size_t i = 0; i < DIGEST_HEX_BYTES / 2; i++)
        buffer_append_format(&hex, "%02x", digest[i]);
    return buffer_finish(&hex, out);
}

/* Through SASLprep; what is plain ASCII stays as it is. */
static status prepare_password(struct arena *arena, bytes password, bytes *out)
{
    const size_t room = password.len * PREPARED_GROWTH + 1;
    char *text;

    TRY(ARENA_NEW(arena, room, &text));
    memcpy(text, password.data, password.len);
    text[password.len] = '\0';
    if (strlen(text) != password.len ||
        stringprep(text, room, 0, stringprep_saslprep) != STRINGPREP_OK)
        return status_of(INVALID,
                         "the password holds characters that passwords may not have: control "
                         "characters, private ones, or letters of both directions of "
                         "writing (RFC 4013)");
    *out = bytes_of_text(text);
    return STATUS_OK;
}

status scram_make_secret(struct arena *arena, enum scram_mechanism mechanism, bytes user,
                         bytes password, struct scram_secret *out)
{
    uint8_t salted[SCRAM_HASH_BYTES_MAX], client_key[SCRAM_HASH_BYTES_MAX];
    status s = STATUS_OK;

    *out = (struct scram_secret){ .iterations = kinds[mechanism].iterations,
                                  .salt_len = kinds[mechanism].salt_len };
    random_secret(out->salt, out->salt_len);
    if (mechanism == SCRAM_SHA_1)
        TRY(digest_password(arena, user, password, &password));
    else
        TRY(prepare_password(arena, password, &password));
    if (PKCS5_PBKDF2_HMAC((const char *)password.data, (int)password.len, out->salt,
                          (int)out->salt_len, (int)out->iterations, hash_of(mechanism),
                          (int)kinds[mechanism].hash_len, salted) != 1 ||
        !hmac(mechanism, salted, BYTES_LITERAL("Client Key"), client_key) ||
        !hash(mechanism, client_key, out->stored_key) ||
        !hmac(mechanism, salted, BYTES_LITERAL("Server Key"), out->server_key))
        s = status_of(IO_ERROR, "the password cannot be hashed");
    wipe_text(password);
    OPENSSL_cleanse(salted, sizeof(salted));
    OPENSSL_cleanse(client_key, sizeof(client_key));
    return s;
}

void scram_fake_secret(enum scram_mechanism mechanism, bytes database, bytes user,
                       const uint8_t seed[32], struct scram_secret *out)
{
    uint8_t of_user[SCRAM_HASH_BYTES_MAX], made[SCRAM_HASH_BYTES_MAX];

    *out = (struct scram_secret){ .iterations = kinds[mechanism].iterations,
                                  .salt_len = kinds[mechanism].salt_len };
    /* Real salts of the two mechanisms, and of two databases, have nothing in common. */
    if (hmac(SCRAM_SHA_256, seed, user, of_user) &&
        hmac(SCRAM_SHA_256, of_user, bytes_of_text(kinds[mechanism].name), made) &&
        hmac(SCRAM_SHA_256, made, database, of_user))
        memcpy(out->salt, of_user, out->salt_len);
    random_secret(out->stored_key, sizeof(out->stored_key));
    random_secret(out->server_key, sizeof(out->server_key));
}

/* ---- messages --------------------------------------------------------------------------------------- */

/* The value of "x=value" up to the next comma; moves behind it. */
static bool take_part(bytes *rest, char letter, bytes *out)
{
    if (rest->len < 2 || rest->data[0] != (uint8_t)letter || rest->data[1] != '=')
        return false;
    const uint8_t *start = rest->data + 2;
    const uint8_t *comma = memchr(start, ',', rest->len - 2);
    size_t len = comma ? (size_t)(comma - start) : rest->len - 2;
    *out = bytes_of(start, len);
    *rest = bytes_from(*rest, 2 + len + (comma ? 1 : 0));
    return true;
}

/* =2C is a comma, =3D an equals sign. */
static status unescape(struct arena *arena, bytes name, bytes *out)
{
    struct buffer plain = buffer_in(arena);

    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] != '=') {
            buffer_append_byte(&plain, name.data[i]);
            continue;
        }
        bytes code = bytes_of(name.data + i, name.len - i < 3 ? name.len - i : 3);
        if (!bytes_equal(code, BYTES_LITERAL("=2C")) && !bytes_equal(code, BYTES_LITERAL("=3D")))
            return status_of(INVALID, "the user name of a SCRAM message has a wrong escape");
        buffer_append_byte(&plain, code.data[2] == 'C' ? ',' : '=');
        i += 2;
    }
    return buffer_finish(&plain, out);
}

status scram_read_first(struct arena *arena, bytes message, struct scram_first *out)
{
    bytes rest, name;

    *out = (struct scram_first){ 0 };
    if (!bytes_starts_with(message, BYTES_LITERAL("n,,")))
        return status_of(INVALID, "a SCRAM message begins with n,, since channel binding is not "
                                  "supported");
    TRY(arena_copy(arena, bytes_from(message, 3), &out->bare));
    rest = out->bare;
    if (!take_part(&rest, 'n', &name) || !take_part(&rest, 'r', &out->nonce) || out->nonce.len == 0)
        return status_of(INVALID, "the first SCRAM message of the client has no name or no nonce");
    return unescape(arena, name, &out->user);
}

static void append_base64(struct buffer *out, bytes raw)
{
    uint8_t *at = buffer_reserve(out, 4 * (raw.len / 3 + 1) + 1);

    if (at)
        out->len += (size_t)EVP_EncodeBlock(at, raw.data, (int)raw.len);
}

status scram_write_first(struct arena *arena, const struct scram_first *first,
                         const struct scram_secret *secret, bytes *out, bytes *nonce_out)
{
    struct buffer nonce = buffer_in(arena), text = buffer_in(arena);
    uint8_t own[NONCE_BYTES];

    random_secret(own, sizeof(own));
    buffer_append(&nonce, first->nonce);
    append_base64(&nonce, bytes_of(own, sizeof(own)));
    TRY(buffer_finish(&nonce, nonce_out));
    buffer_append_text(&text, "r=");
    buffer_append(&text, *nonce_out);
    buffer_append_text(&text, ",s=");
    append_base64(&text, bytes_of(secret->salt, secret->salt_len));
    buffer_append_format(&text, ",i=%u", secret->iterations);
    return buffer_finish(&text, out);
}

/* Exactly hash_len bytes. */
static bool read_proof(enum scram_mechanism mechanism, bytes text,
                       uint8_t out[SCRAM_HASH_BYTES_MAX])
{
    uint8_t raw[SCRAM_HASH_BYTES_MAX + 3];
    size_t want = kinds[mechanism].hash_len, padding = 0;

    if (text.len != 4 * ((want + 2) / 3))
        return false;
    while (padding < 2 && text.data[text.len - 1 - padding] == '=')
        padding++;
    int len = EVP_DecodeBlock(raw, text.data, (int)text.len);
    if (len < 0 || (size_t)len - padding != want)
        return false;
    memcpy(out, raw, want);
    return true;
}

static status join_messages(struct arena *arena, const struct scram_talk *talk, bytes without_proof,
                            bytes *out)
{
    struct buffer text = buffer_in(arena);

    buffer_append(&text, talk->client_first);
    buffer_append_byte(&text, ',');
    buffer_append(&text, talk->server_first);
    buffer_append_byte(&text, ',');
    buffer_append(&text, without_proof);
    return buffer_finish(&text, out);
}

status scram_finish(struct arena *arena, const struct scram_talk *talk,
                    const struct scram_secret *secret, bytes message, bool *is_proven_out,
                    bytes *reply_out)
{
    uint8_t proof[SCRAM_HASH_BYTES_MAX], made[SCRAM_HASH_BYTES_MAX], key[SCRAM_HASH_BYTES_MAX];
    struct buffer reply = buffer_in(arena);
    bytes rest = message, binding, nonce, text, said;
    size_t len = kinds[talk->mechanism].hash_len;

    *is_proven_out = false;
    *reply_out = BYTES_NONE;
    if (!take_part(&rest, 'c', &binding) || !bytes_equal(binding, BYTES_LITERAL("biws")) ||
        !take_part(&rest, 'r', &nonce) || !bytes_equal(nonce, talk->nonce) ||
        !take_part(&rest, 'p', &text) || !read_proof(talk->mechanism, text, proof))
        return status_of(INVALID, "the last SCRAM message of the client is not what was expected");
    bytes without_proof = bytes_of(message.data, (size_t)(text.data - message.data) - 3);
    TRY(join_messages(arena, talk, without_proof, &said));
    if (!hmac(talk->mechanism, secret->stored_key, said, made))
        return status_of(IO_ERROR, "a signature cannot be made");
    for (size_t i = 0; i < len; i++)
        key[i] = proof[i] ^ made[i];
    const bool is_hashed = hash(talk->mechanism, key, made);
    OPENSSL_cleanse(key, sizeof(key)); /* by which somebody could come in */
    if (!is_hashed)
        return status_of(IO_ERROR, "a signature cannot be made");
    *is_proven_out = CRYPTO_memcmp(made, secret->stored_key, len) == 0;
    if (!*is_proven_out)
        return STATUS_OK;
    if (!hmac(talk->mechanism, secret->server_key, said, made))
        return status_of(IO_ERROR, "a signature cannot be made");
    buffer_append_text(&reply, "v=");
    append_base64(&reply, bytes_of(made, len));
    return buffer_finish(&reply, reply_out);
}
