/* Certificate: made, kept and read.
 *
 * The server's own certificate is signed by its own key (P-256). It is marked as not being an authority,
 * so who adds it to a trust store trusts this server and nothing else. The key is written before the
 * certificate: after a crash in between there is no certificate, and both are made anew; so the two in a
 * directory always belong together unless somebody changed them.
 *
 * Keeps: the key's file is never readable for others, not even for a moment.
 * Threads: called before there are any. */
#include "server/certificate.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/file.h"

static const char chain_name[] = "tls-cert.pem";
static const char key_name[] = "tls-key.pem";

enum {
    SERIAL_BITS = 127,
    DAYS_VALID = 3653,
    SECONDS_OF_DAY = 24 * 3600,
};

static status failure(struct arena *arena, const char *doing)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return status_fail(arena, IO_ERROR, "cannot %s: %s", doing, reason ? reason : "out of memory");
}

/* ---- making ----------------------------------------------------------------------------------------- */

static bool add_extension(X509 *x509, int nid, const char *value)
{
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, x509, x509, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool is_added = extension && X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool add_extensions(X509 *x509)
{
    return add_extension(x509, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(x509, NID_key_usage, "critical,digitalSignature") &&
           add_extension(x509, NID_ext_key_usage, "serverAuth") &&
           add_extension(x509, NID_subject_key_identifier, "hash") &&
           add_extension(x509, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1");
}

/* Two servers must not have the same serial number under the same name, so it is a random one. */
static bool set_serial(X509 *x509)
{
    BIGNUM *serial = BN_new();
    bool is_set = serial && BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) &&
                  BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(x509));

    BN_free(serial);
    return is_set;
}

/* A day back, for machines whose clock is a little behind. */
static bool set_names_and_dates(X509 *x509)
{
    X509_NAME *name = X509_get_subject_name(x509);

    return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                      -1, -1, 0) &&
           X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"mayfly", -1,
                                      -1, 0) &&
           X509_set_issuer_name(x509, name) &&
           X509_gmtime_adj(X509_getm_notBefore(x509), -SECONDS_OF_DAY) &&
           X509_time_adj_ex(X509_getm_notAfter(x509), DAYS_VALID, 0, NULL);
}

static X509 *make_signed(EVP_PKEY *key)
{
    X509 *x509 = X509_new();

    if (x509 && X509_set_version(x509, X509_VERSION_3) && set_serial(x509) &&
        set_names_and_dates(x509) && X509_set_pubkey(x509, key) && add_extensions(x509) &&
        X509_sign(x509, key, EVP_sha256()))
        return x509;
    X509_free(x509);
    return NULL;
}

static status copy_pem(struct arena *arena, BIO *pem, bytes *out)
{
    char *text;
    long len = BIO_get_mem_data(pem, &text);

    return arena_copy(arena, bytes_of(text, (size_t)len), out);
}

status certificate_make(struct arena *arena, struct certificate *out)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x509 = key ? make_signed(key) : NULL;
    BIO *chain_pem = BIO_new(BIO_s_mem());
    BIO *key_pem = BIO_new(BIO_s_mem());
    status s;

    *out = (struct certificate){ 0 };
    if (!x509 || !chain_pem || !key_pem || !PEM_write_bio_X509(chain_pem, x509) ||
        !PEM_write_bio_PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL)) {
        s = failure(arena, "make a certificate");
        goto done;
    }
    TRY_GOTO(copy_pem(arena, chain_pem, &out->chain), done);
    TRY_GOTO(copy_pem(arena, key_pem, &out->key), done);
done:
    BIO_free(key_pem);
    BIO_free(chain_pem);
    X509_free(x509);
    EVP_PKEY_free(key);
    return s;
}

/* ---- reading and keeping ---------------------------------------------------------------------------- */

status certificate_read(struct arena *arena, const char *chain_path, const char *key_path,
                        struct certificate *out)
{
    *out = (struct certificate){ .path = chain_path };
    status s = file_read(arena, chain_path, LIMIT_KEY_FILE_BYTES, &out->chain);
    if (s.code != OK)
        return status_in(arena, s, "--cert");
    s = file_read(arena, key_path, LIMIT_KEY_FILE_BYTES, &out->key);
    return s.code == OK ? s : status_in(arena, s, "--key");
}

status certificate_keep(struct arena *arena, const char *directory, struct certificate *out)
{
    const char *chain_path = arena_format(arena, "%s/%s", directory, chain_name);
    const char *key_path = arena_format(arena, "%s/%s", directory, key_name);

    *out = (struct certificate){ 0 };
    if (!chain_path || !key_path)
        return arena_exhausted(arena);
    if (access(chain_path, F_OK) != 0) {
        TRY(certificate_make(arena, out));
        TRY(file_write(arena, key_path, out->key, 0600));
        TRY(file_write(arena, chain_path, out->chain, 0644));
        out->path = chain_path;
        return file_sync_directory(arena, directory);
    }
    out->path = chain_path;
    status s = file_read(arena, chain_path, LIMIT_KEY_FILE_BYTES, &out->chain);
    if (s.code == OK)
        s = file_read(arena, key_path, LIMIT_KEY_FILE_BYTES, &out->key);
    if (s.code != OK)
        return status_in(arena, s, "the server's certificate (remove %s to have a new one made)",
                         chain_path);
    return STATUS_OK;
}

void certificate_wipe(const struct certificate *certificate)
{
    if (certificate->key.len > 0)
        explicit_bzero((void *)(uintptr_t)certificate->key.data, certificate->key.len);
}
