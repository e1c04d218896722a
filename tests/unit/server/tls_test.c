/* TLS without sockets: a client of OpenSSL and the server's stream, joined by two pipes that take and give
 * as little as a test wants. */
#include "tests/check.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/server.h"
#include "tests/unit/server/host.h"

enum { PIPE_BYTES = 256 * 1024, PLAIN_BYTES = 100 * 1000, ROUNDS_MAX = 1000 * 1000 };

struct pipe {
    uint8_t data[PIPE_BYTES];
    size_t from, upto;
    bool is_ended;
};

/* Both ends of one connection. */
struct pair {
    struct arena *arena;
    struct certificate certificate;
    struct tls *tls;
    struct tls_stream *server;
    SSL_CTX *context;
    SSL *client;
    struct pipe to_server, to_client;
    size_t piece; /* most bytes that the server's wire moves at a time */
    size_t full;  /* most bytes that may lie in the pipe to the client */
};

static ptrdiff_t wire_receive(void *context, void *data, size_t room)
{
    struct pair *pair = context;
    struct pipe *pipe = &pair->to_server;
    size_t len = pipe->upto - pipe->from;

    if (len == 0)
        return pipe->is_ended ? WIRE_ENDED : WIRE_WAITS;
    len = len < room ? len : room;
    len = len < pair->piece ? len : pair->piece;
    memcpy(data, pipe->data + pipe->from, len);
    pipe->from += len;
    return (ptrdiff_t)len;
}

static ptrdiff_t wire_send(void *context, const void *data, size_t len)
{
    struct pair *pair = context;
    struct pipe *pipe = &pair->to_client;
    size_t lies = pipe->upto - pipe->from;

    if (lies >= pair->full)
        return WIRE_WAITS;
    len = len < pair->piece ? len : pair->piece;
    len = len < pair->full - lies ? len : pair->full - lies;
    memmove(pipe->data, pipe->data + pipe->from, lies);
    memcpy(pipe->data + lies, data, len);
    pipe->from = 0;
    pipe->upto = lies + len;
    return (ptrdiff_t)len;
}

static struct pair *pair_open(size_t piece, size_t full)
{
    struct pair *pair = memory_take_zeroed(1, sizeof(*pair));

    pair->arena = arena_open(1024 * 1024);
    pair->piece = piece;
    pair->full = full;
    CHECK_OK(certificate_make(pair->arena, &pair->certificate));
    CHECK_OK(tls_open(pair->arena, &pair->certificate, &pair->tls));
    pair->server = tls_stream_open(pair->tls, (struct wire){ pair, wire_receive, wire_send });
    pair->context = trusting(&pair->certificate);
    pair->client = SSL_new(pair->context);
    CHECK(pair->server && pair->client);
    SSL_set_bio(pair->client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(pair->client);
    return pair;
}

static void pair_close(struct pair *pair)
{
    SSL_free(pair->client);
    SSL_CTX_free(pair->context);
    tls_stream_close(pair->server);
    tls_close(pair->tls);
    arena_close(pair->arena);
    memory_give(pair);
}

/* Between the client's BIOs and the pipes. */
static void move_client_bytes(struct pair *pair)
{
    struct pipe *out = &pair->to_server, *in = &pair->to_client;

    if (out->from == out->upto)
        out->from = out->upto = 0;
    int len = BIO_read(SSL_get_wbio(pair->client), out->data + out->upto,
                       (int)(PIPE_BYTES - out->upto));
    out->upto += len > 0 ? (size_t)len : 0;
    if (in->upto > in->from)
        BIO_write(SSL_get_rbio(pair->client), in->data + in->from, (int)(in->upto - in->from));
    in->from = in->upto;
}

/* One turn of each side; what the server answered. The client's error is left in the queue. */
static enum tls_result shake(struct pair *pair)
{
    uint8_t byte;
    size_t len;

    SSL_do_handshake(pair->client);
    move_client_bytes(pair);
    return tls_stream_read(pair->server, &byte, 1, &len);
}

static bool shake_until_ready(struct pair *pair)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        if (shake(pair) != TLS_WAITS)
            return false;
        move_client_bytes(pair);
        if (SSL_is_init_finished(pair->client) && tls_stream_is_ready(pair->server))
            return true;
    }
    return false;
}

TEST(tls, bytes_pass_unchanged_however_the_wire_cuts_them)
{
    const struct {
        size_t piece, full;
    } rows[] = {
        {1 << 20,  PIPE_BYTES},
        { 1,       PIPE_BYTES},
        { 7,       100       },
        { 1000,    999       },
        { 1 << 20, 20000     },
    };
    static uint8_t sent[PLAIN_BYTES], got[PLAIN_BYTES];

    for (size_t i = 0; i < PLAIN_BYTES; i++)
        sent[i] = (uint8_t)(i * 7 % 251);
    EACH_ROW(rows, r) {
        struct pair *pair = pair_open(r->piece, r->full);
        size_t at = 0, received = 0, len;
        uint8_t question[64];
        CHECK(shake_until_ready(pair));
        CHECK_EQ(SSL_write(pair->client, "question", 8), 8, "");
        move_client_bytes(pair);
        CHECK_EQ(tls_stream_read(pair->server, question, sizeof(question), &len), TLS_DONE, "");
        CHECK_BYTES(bytes_of(question, len), BYTES_LITERAL("question"), "");
        CHECK_EQ(tls_stream_read(pair->server, question, sizeof(question), &len), TLS_WAITS, "");
        CHECK(!tls_stream_has_pending(pair->server));
        for (int round = 0; received < PLAIN_BYTES && round < ROUNDS_MAX; round++) {
            if (at < PLAIN_BYTES &&
                tls_stream_write(pair->server, bytes_of(sent + at, PLAIN_BYTES - at), &len) ==
                    TLS_DONE)
                at += len;
            move_client_bytes(pair);
            int more = SSL_read(pair->client, got + received, (int)(PLAIN_BYTES - received));
            received += more > 0 ? (size_t)more : 0;
        }
        CHECK_EQ(received, PLAIN_BYTES, "piece %zu", r->piece);
        CHECK(memcmp(sent, got, PLAIN_BYTES) == 0);
        pair_close(pair);
    }
}

TEST(tls, the_certificate_is_good_for_this_machine_only)
{
    const struct {
        const char *host, *address;
        bool is_good;
    } rows[] = {
        {"localhost",    NULL,        true },
        { NULL,          "127.0.0.1", true },
        { NULL,          "::1",       true },
        { "example.org", NULL,        false},
        { NULL,          "127.0.0.2", false},
    };
    EACH_ROW(rows, r) {
        struct pair *pair = pair_open(1 << 20, PIPE_BYTES);
        if (r->host)
            SSL_set1_host(pair->client, r->host);
        else
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(pair->client), r->address);
        CHECK_EQ(shake_until_ready(pair), r->is_good, "%s", r->host ? r->host : r->address);
        pair_close(pair);
    }
    ERR_clear_error();
}

TEST(tls, versions_before_1_2_are_refused_with_an_alert)
{
    const struct {
        int version;
        bool is_good;
    } rows[] = {
        {TLS1_VERSION,    false},
        { TLS1_1_VERSION, false},
        { TLS1_2_VERSION, true },
        { TLS1_3_VERSION, true },
    };
    EACH_ROW(rows, r) {
        struct pair *pair = pair_open(1 << 20, PIPE_BYTES);
        SSL_set_security_level(pair->client, 0);
        SSL_set_cipher_list(pair->client, "ALL:@SECLEVEL=0");
        CHECK_EQ(SSL_set_min_proto_version(pair->client, r->version), 1, "");
        CHECK_EQ(SSL_set_max_proto_version(pair->client, r->version), 1, "");
        CHECK_EQ(shake_until_ready(pair), r->is_good, "version %x", (unsigned)r->version);
        if (!r->is_good) {
            ERR_clear_error();
            move_client_bytes(pair);
            SSL_do_handshake(pair->client);
            CHECK_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "");
            CHECK(strlen(tls_stream_failure(pair->server)) > 0);
        }
        pair_close(pair);
    }
    ERR_clear_error();
}

TEST(tls, http_1_1_is_chosen_from_what_is_offered)
{
    const struct {
        const char *why, *offer, *want;
    } rows[] = {
        {"both",               "\x02h2\x08http/1.1", "http/1.1"},
        { "only what we have", "\x08http/1.1",       "http/1.1"},
        { "only another",      "\x02h2",             ""        },
        { "nothing",           "",                   ""        },
    };
    EACH_ROW(rows, r) {
        struct pair *pair = pair_open(1 << 20, PIPE_BYTES);
        const unsigned char *chosen;
        unsigned len;
        SSL_set_alpn_protos(pair->client, (const unsigned char *)r->offer,
                            (unsigned)strlen(r->offer));
        CHECK_EQ(shake_until_ready(pair), true, "%s", r->why);
        SSL_get0_alpn_selected(pair->client, &chosen, &len);
        CHECK_BYTES(bytes_of(chosen, len), bytes_of_text(r->want), r->why);
        pair_close(pair);
    }
}

TEST(tls, an_end_is_told_from_a_break_in_the_handshake)
{
    struct pair *pair = pair_open(1 << 20, PIPE_BYTES);
    uint8_t byte;
    size_t len;

    CHECK(shake_until_ready(pair));
    SSL_shutdown(pair->client);
    move_client_bytes(pair);
    CHECK_EQ(tls_stream_read(pair->server, &byte, 1, &len), TLS_ENDED, "close_notify");
    pair_close(pair);

    pair = pair_open(1 << 20, PIPE_BYTES);
    CHECK(shake_until_ready(pair));
    pair->to_server.is_ended = true;
    CHECK_EQ(tls_stream_read(pair->server, &byte, 1, &len), TLS_ENDED, "closed without a word");
    pair_close(pair);

    pair = pair_open(1 << 20, PIPE_BYTES);
    CHECK_EQ(shake(pair), TLS_WAITS, "");
    pair->to_server.is_ended = true;
    CHECK_EQ(tls_stream_read(pair->server, &byte, 1, &len), TLS_FAILED, "in the handshake");
    CHECK_EQ(tls_stream_read(pair->server, &byte, 1, &len), TLS_ENDED, "stays over");
    pair_close(pair);
}

/* ---- what strangers send ------------------------------------------------------------------------------ */

/* The server's side on its own: random pieces, then the end. It must come to an end itself. */
static enum tls_result feed(struct pair *pair, bytes text, struct random *random)
{
    enum tls_result result = TLS_WAITS;
    uint8_t plain[64];
    size_t len;

    for (size_t at = 0; at < text.len && result == TLS_WAITS;) {
        size_t piece = 1 + random_below(random, 300);
        piece = piece < text.len - at ? piece : text.len - at;
        pair->to_server.from = 0;
        pair->to_server.upto = piece;
        memcpy(pair->to_server.data, text.data + at, piece);
        at += piece;
        result = tls_stream_read(pair->server, plain, sizeof(plain), &len);
        CHECK(result != TLS_DONE);
        pair->to_client.from = pair->to_client.upto;
    }
    pair->to_server.is_ended = true;
    for (int i = 0; i < 100 && result == TLS_WAITS; i++)
        result = tls_stream_read(pair->server, plain, sizeof(plain), &len);
    return result;
}

TEST(tls, random_bytes_after_a_client_hello_began_end_the_stream)
{
    EACH_SEED(seed, 200) {
        struct pair *pair = pair_open(1 << 20, PIPE_BYTES);
        struct random random = random_seeded(seed);
        uint8_t text[2048];
        SSL_do_handshake(pair->client);
        int hello = BIO_read(SSL_get_wbio(pair->client), text, sizeof(text));
        CHECK(hello > 100);
        size_t kept = random_below(&random, (uint64_t)hello);
        switch (random_below(&random, 3)) {
        case 0: /* noise behind the beginning */
            for (size_t i = 1 + kept; i < sizeof(text); i++)
                text[i] = (uint8_t)random_next(&random);
            break;
        case 1: /* a few bytes changed */
            for (int i = 0; i < 5; i++)
                text[1 + random_below(&random, (uint64_t)hello - 1)] =
                    (uint8_t)random_next(&random);
            memset(text + hello, 0, sizeof(text) - (size_t)hello);
            break;
        case 2: /* the whole again and again */
            for (size_t i = (size_t)hello; i < sizeof(text); i++)
                text[i] = text[i - (size_t)hello];
            break;
        }
        enum tls_result result = feed(pair, bytes_of(text, sizeof(text)), &random);
        CHECK_EQ(result, TLS_FAILED, "seed %llu", (unsigned long long)seed);
        pair_close(pair);
    }
}

/* ---- certificates ------------------------------------------------------------------------------------- */

static status open_with(struct arena *arena, bytes chain, bytes key)
{
    struct certificate certificate = { .chain = chain, .key = key, .path = "file.pem" };
    struct tls *tls;
    status s = tls_open(arena, &certificate, &tls);

    if (s.code == OK)
        tls_close(tls);
    return s;
}

TEST(tls, a_certificate_that_cannot_be_used_is_refused_with_the_reason)
{
    struct arena *arena = arena_open(1024 * 1024);
    struct certificate one, other;

    CHECK_OK(certificate_make(arena, &one));
    CHECK_OK(certificate_make(arena, &other));
    bytes locked = BYTES_LITERAL("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n"
                                 "-----END ENCRYPTED PRIVATE KEY-----\n");
    const struct {
        const char *why;
        bytes chain, key;
        const char *part; /* NULL: it can be used */
    } rows[] = {
        {"fits",             one.chain,             one.key,    NULL                   },
        { "key of another",  one.chain,             other.key,  "does not belong"      },
        { "no certificate",  BYTES_LITERAL("text"), one.key,    "no certificate in PEM"},
        { "key, no chain",   one.key,               one.key,    "no certificate in PEM"},
        { "empty",           BYTES_NONE,            one.key,    "no certificate in PEM"},
        { "no key",          one.chain,             one.chain,  "no private key in PEM"},
        { "empty key",       one.chain,             BYTES_NONE, "no private key in PEM"},
        { "with a password", one.chain,             locked,     "password"             },
    };
    EACH_ROW(rows, r) {
        status s = open_with(arena, r->chain, r->key);
        CHECK_EQ(s.code, r->part ? INVALID : OK, "%s", r->why);
        CHECK_THAT(!r->part || strstr(s.message, r->part), "%s: %s", r->why, s.message);
        CHECK_THAT(!r->part || strstr(s.message, "file.pem"), "%s: %s", r->why, s.message);
    }
    arena_close(arena);
}

TEST(tls, a_made_certificate_is_kept_with_a_private_key)
{
    struct arena *arena = arena_open(8 * 1024 * 1024);
    struct certificate first, second;
    char directory[256], path[300];
    struct stat about;

    check_temp_dir(directory, sizeof(directory));
    CHECK_OK(certificate_keep(arena, directory, &first));
    CHECK_OK(certificate_keep(arena, directory, &second));
    CHECK_BYTES(second.chain, first.chain, "");
    CHECK_BYTES(second.key, first.key, "");
    CHECK(strstr(second.path, "/tls-cert.pem") != NULL);
    snprintf(path, sizeof(path), "%s/tls-key.pem", directory);
    CHECK_EQ(stat(path, &about), 0, "");
    CHECK_EQ(about.st_mode & 0777, 0600, "");
    CHECK_EQ(unlink(path), 0, "");
    status s = certificate_keep(arena, directory, &second);
    CHECK_EQ(s.code, NOT_FOUND, "");
    CHECK_THAT(strstr(s.message, "tls-key.pem") && strstr(s.message, "remove"), "%s", s.message);
    arena_close(arena);
}

/* A crash leaves a key without a certificate: nobody has trusted anything yet. */
TEST(tls, a_key_without_certificate_is_replaced)
{
    struct arena *arena = arena_open(8 * 1024 * 1024);
    struct certificate first, second;
    char directory[256], path[300];

    check_temp_dir(directory, sizeof(directory));
    CHECK_OK(certificate_keep(arena, directory, &first));
    snprintf(path, sizeof(path), "%s/tls-cert.pem", directory);
    CHECK_EQ(unlink(path), 0, "");
    CHECK_OK(certificate_keep(arena, directory, &second));
    CHECK(!bytes_equal(first.chain, second.chain));
    CHECK_OK(open_with(arena, second.chain, second.key));
    CHECK_OK(certificate_keep(arena, directory, &first));
    CHECK_BYTES(first.chain, second.chain, "");
    arena_close(arena);
}

TEST(tls, files_of_the_operator_are_named_by_their_option)
{
    struct arena *arena = arena_open(8 * 1024 * 1024);
    struct certificate made, read;
    char directory[256], chain[300], key[300];

    check_temp_dir(directory, sizeof(directory));
    snprintf(chain, sizeof(chain), "%s/tls-cert.pem", directory);
    snprintf(key, sizeof(key), "%s/tls-key.pem", directory);
    status s = certificate_read(arena, chain, key, &read);
    CHECK_THAT(s.code == NOT_FOUND && strstr(s.message, "--cert"), "%s", s.message);
    CHECK_OK(certificate_keep(arena, directory, &made));
    CHECK_OK(certificate_read(arena, chain, key, &read));
    CHECK_BYTES(read.chain, made.chain, "");
    CHECK_BYTES(read.key, made.key, "");
    CHECK_STRING(read.path, chain);
    s = certificate_read(arena, chain, "/nonexistent", &read);
    CHECK_THAT(s.code == NOT_FOUND && strstr(s.message, "--key"), "%s", s.message);
    arena_close(arena);
}
