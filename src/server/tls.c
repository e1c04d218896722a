/* TLS: OpenSSL between the bytes of an application and a wire.
 *
 * OpenSSL reaches the wire through a BIO of our own, so it neither knows sockets nor ever waits: where the
 * wire has nothing, it says so, and the call is repeated later. A record that the wire took only in part
 * stays inside OpenSSL; the rest goes out first thing in the next write.
 *
 * Keeps: TLS 1.2 or newer, no renegotiation, no compression, no state of clients in the server (sessions
 * are resumed by tickets that the client keeps).
 * Threads: a tls may be used from every thread; its certificate is renewed under a lock, and streams that are
 * open keep the old one. A stream belongs to one thread at a time. */
#include "server/tls.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>

#include "base/limits.h"

struct tls {
    pthread_mutex_t lock;
    SSL_CTX *context; /* under the lock; a stream holds on to the one that it began with */
    BIO_METHOD *wire_method;
};

struct tls_stream {
    SSL *ssl;
    struct wire wire;
    bool is_wire_ended, is_wire_broken;
    bool is_over; /* failed, or the wire is broken: OpenSSL must not be called again */
    const char *failure;
};

/* Keys of streams that are being opened lie there too, one for each at most, and what does not fit is an error. */
enum { KEYS_BYTES = 4 << 20, KEYS_PIECE_BYTES = 32 };

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return size > 0 ? memory_take(size) : NULL;
}

static void *resize(void *piece, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return memory_resize_wiping(piece, size);
}

static void give(void *piece, const char *file, int line)
{
    (void)file;
    (void)line;
    memory_give_wiping(piece);
}

/* OpenSSL puts private keys there; without it, which is no failure, they lie with everything else. What it gives back is
 * overwritten, because it does not do so with the bytes that it reads a key from. Refused once it has memory. */
void tls_prepare(void)
{
    (void)CRYPTO_set_mem_functions(take, resize, give);
    if (!CRYPTO_secure_malloc_initialized())
        (void)CRYPTO_secure_malloc_init(KEYS_BYTES, KEYS_PIECE_BYTES);
}

/* ---- the certificate -------------------------------------------------------------------------------- */

static const char *openssl_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_error());

    return reason ? reason : "unknown reason";
}

/* A key that asks for a password is an error, not a question on the terminal. */
static int refuse_password(char *out, int size, int is_writing, void *context)
{
    (void)out;
    (void)size;
    (void)is_writing;
    (void)context;
    return -1;
}

/* The first certificate is the server's, all others vouch for it. */
static status use_chain(SSL_CTX *context, struct arena *arena, bytes chain)
{
    BIO *pem = BIO_new_mem_buf(chain.data, (int)chain.len);
    status s = STATUS_OK;
    size_t count = 0;
    X509 *x509;

    ERR_clear_error();
    while (pem && (x509 = PEM_read_bio_X509(pem, NULL, refuse_password, NULL))) {
        bool is_used = count++ == 0 ? SSL_CTX_use_certificate(context, x509) == 1
                                    : SSL_CTX_add1_chain_cert(context, x509) == 1;
        X509_free(x509);
        if (!is_used) {
            s = status_fail(arena, INVALID, "the certificate cannot be used: %s", openssl_reason());
            break;
        }
    }
    if (count == 0)
        s = status_of(INVALID, "the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)");
    BIO_free(pem);
    ERR_clear_error(); /* the end of the file is an error too */
    return s;
}

static status use_key(SSL_CTX *context, struct arena *arena, bytes text)
{
    BIO *pem = BIO_new_mem_buf(text.data, (int)text.len);
    status s = STATUS_OK;

    ERR_clear_error();
    EVP_PKEY *key = pem ? PEM_read_bio_PrivateKey(pem, NULL, refuse_password, NULL) : NULL;
    if (!key)
        s = status_of(INVALID, "the file has no private key in PEM, or one with a password, which "
                               "cannot be used");
    else if (SSL_CTX_use_PrivateKey(context, key) != 1)
        s = status_fail(arena, INVALID, "the key does not belong to the certificate: %s",
                        openssl_reason());
    EVP_PKEY_free(key);
    BIO_free(pem);
    ERR_clear_error();
    return s;
}

static status use_certificate(SSL_CTX *context, struct arena *arena,
                              const struct certificate *certificate)
{
    const char *path = certificate->path ? certificate->path : "certificate in memory";

    status s = use_chain(context, arena, certificate->chain);
    if (s.code == OK)
        s = use_key(context, arena, certificate->key);
    return s.code == OK ? s : status_in(arena, s, "%s", path);
}

/* ---- the wire --------------------------------------------------------------------------------------- */

static int wire_read(BIO *bio, char *data, int room)
{
    struct tls_stream *stream = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    ptrdiff_t got = room > 0 ? stream->wire.receive(stream->wire.context, data, (size_t)room) : 0;
    if (got == WIRE_WAITS)
        BIO_set_retry_read(bio);
    if (got == WIRE_ENDED)
        stream->is_wire_ended = true;
    if (got == WIRE_BROKEN)
        stream->is_wire_broken = true;
    return got > 0 ? (int)got : got == WIRE_ENDED ? 0 : -1;
}

static int wire_write(BIO *bio, const char *data, int len)
{
    struct tls_stream *stream = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    ptrdiff_t sent = len > 0 ? stream->wire.send(stream->wire.context, data, (size_t)len) : 0;
    if (sent == WIRE_WAITS)
        BIO_set_retry_write(bio);
    if (sent == WIRE_BROKEN)
        stream->is_wire_broken = true;
    return sent > 0 ? (int)sent : -1;
}

static long wire_control(BIO *bio, int what, long number, void *pointer)
{
    const struct tls_stream *stream = BIO_get_data(bio);

    (void)number;
    (void)pointer;
    if (what == BIO_CTRL_EOF)
        return stream->is_wire_ended;
    return what == BIO_CTRL_FLUSH; /* nothing is kept back */
}

static BIO_METHOD *make_wire_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "wire");

    if (method) {
        BIO_meth_set_read(method, wire_read);
        BIO_meth_set_write(method, wire_write);
        BIO_meth_set_ctrl(method, wire_control);
    }
    return method;
}

/* ---- settings --------------------------------------------------------------------------------------- */

/* Whoever offers a list of protocols gets HTTP/1.1 if it is there, and is served without an answer
 * otherwise: what a listener speaks is known from its port. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *context)
{
    static const unsigned char spoken[] = "\x08http/1.1";
    unsigned char *chosen;

    (void)ssl;
    (void)context;
    if (SSL_select_next_proto(&chosen, out_len, spoken, sizeof(spoken) - 1, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static SSL_CTX *make_context(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    /* Of TLS 1.2 only what keeps old talks secret when the key gets known, and seals what it hides. */
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20");
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return context;
}

status tls_open(struct arena *arena, const struct certificate *certificate, struct tls **out)
{
    struct tls *tls = memory_take_zeroed(1, sizeof(*tls));
    status s = status_of(OUT_OF_MEMORY, "no memory for TLS");

    *out = NULL;
    if (!tls)
        return s;
    pthread_mutex_init(&tls->lock, NULL);
    tls->context = make_context();
    tls->wire_method = make_wire_method();
    if (!tls->context || !tls->wire_method)
        goto done;
    TRY_GOTO(use_certificate(tls->context, arena, certificate), done);
    *out = tls;
    return STATUS_OK;
done:
    tls_close(tls);
    return s;
}

status tls_renew(struct tls *tls, struct arena *arena, const struct certificate *certificate)
{
    SSL_CTX *context = make_context();
    status s = context ? use_certificate(context, arena, certificate)
                       : status_of(OUT_OF_MEMORY, "no memory for TLS");

    if (s.code == OK) {
        pthread_mutex_lock(&tls->lock);
        SSL_CTX *old = tls->context;
        tls->context = context;
        context = old;
        pthread_mutex_unlock(&tls->lock);
    }
    SSL_CTX_free(context);
    return s;
}

void tls_close(struct tls *tls)
{
    pthread_mutex_destroy(&tls->lock);
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->wire_method);
    memory_give(tls);
}

/* ---- streams ---------------------------------------------------------------------------------------- */

struct tls_stream *tls_stream_open(struct tls *tls, struct wire wire)
{
    struct tls_stream *stream = memory_take_zeroed(1, sizeof(*stream));

    if (!stream)
        return NULL;
    stream->wire = wire;
    stream->failure = "";
    pthread_mutex_lock(&tls->lock);
    stream->ssl = SSL_new(tls->context);
    pthread_mutex_unlock(&tls->lock);
    BIO *bio = BIO_new(tls->wire_method);
    if (!stream->ssl || !bio) {
        BIO_free(bio);
        tls_stream_close(stream);
        return NULL;
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(stream->ssl, bio, bio);
    SSL_set_accept_state(stream->ssl);
    return stream;
}

void tls_stream_close(struct tls_stream *stream)
{
    SSL_free(stream->ssl);
    memory_give(stream);
}

/* The errors of OpenSSL lie in a queue of the thread: empty before each call, so that what is found
 * afterwards belongs to it. */
static enum tls_result result_of(struct tls_stream *stream, int answer)
{
    switch (SSL_get_error(stream->ssl, answer)) {
    case SSL_ERROR_NONE:
        return TLS_DONE;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        return TLS_WAITS;
    case SSL_ERROR_ZERO_RETURN:
        if (tls_stream_is_ready(stream))
            return TLS_ENDED;
        break;
    default:
        break;
    }
    stream->is_over = true;
    stream->failure = stream->is_wire_ended ? "the client left during the handshake"
                                            : openssl_reason();
    ERR_clear_error();
    return stream->is_wire_broken ? TLS_ENDED : TLS_FAILED;
}

enum tls_result tls_stream_read(struct tls_stream *stream, void *data, size_t room, size_t *len_out)
{
    *len_out = 0;
    if (stream->is_over)
        return TLS_ENDED;
    ERR_clear_error();
    return result_of(stream, SSL_read_ex(stream->ssl, data, room, len_out));
}

enum tls_result tls_stream_write(struct tls_stream *stream, bytes data, size_t *len_out)
{
    *len_out = 0;
    if (stream->is_over)
        return TLS_ENDED;
    ERR_clear_error();
    return result_of(stream, SSL_write_ex(stream->ssl, data.data, data.len, len_out));
}

bool tls_stream_has_pending(const struct tls_stream *stream)
{
    return SSL_has_pending(stream->ssl) == 1;
}

bool tls_stream_is_ready(const struct tls_stream *stream)
{
    return SSL_is_init_finished(stream->ssl) == 1;
}

void tls_stream_end(struct tls_stream *stream)
{
    if (stream->is_over || !tls_stream_is_ready(stream))
        return;
    ERR_clear_error();
    SSL_shutdown(stream->ssl);
    ERR_clear_error();
}

const char *tls_stream_failure(const struct tls_stream *stream)
{
    return stream->failure;
}
