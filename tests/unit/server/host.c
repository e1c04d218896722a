/* The host of the tests: a server with a handler, the thread that finishes what was answered "later", and
 * clients with blocking sockets. */
#include "tests/unit/server/host.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECEIVE_SECONDS_MAX = 20 };

static void answer_echo(struct http_exchange *exchange)
{
    exchange->reply.status = 200;
    exchange->reply.body = exchange->request->body;
}

static bool is_path(const struct http_exchange *exchange, const char *path)
{
    return bytes_equal(exchange->request->path, bytes_of_text(path));
}

static void reach_gate(struct host *host, struct http_exchange *exchange, bool is_held)
{
    pthread_mutex_lock(&host->lock);
    CHECK(host->put - host->taken < HOST_WAITING);
    if (!is_held)
        host->waiting[host->put++ % HOST_WAITING] = exchange;
    host->at_gate += is_held || is_path(exchange, "/gate");
    pthread_cond_broadcast(&host->changed);
    while (is_held && !host->is_gate_open)
        pthread_cond_wait(&host->changed, &host->lock);
    pthread_mutex_unlock(&host->lock);
}

static enum http_answer handle(void *context, struct http_exchange *exchange)
{
    struct host *host = context;

    if (is_path(exchange, "/gate") || is_path(exchange, "/later")) {
        reach_gate(host, exchange, false);
        return HTTP_LATER;
    }
    if (is_path(exchange, "/hold"))
        reach_gate(host, exchange, true);
    answer_echo(exchange);
    if (is_path(exchange, "/large"))
        exchange->reply.body = bytes_of(host->large, LARGE_BYTES);
    if (is_path(exchange, "/facts"))
        exchange->reply.body = bytes_of_text(
            arena_format(exchange->arena, "wall=%lld tls=%d loopback=%d", (long long)exchange->wall,
                         exchange->is_tls, exchange->is_loopback));
    if (is_path(exchange, "/empty"))
        exchange->reply = (struct http_reply){ .status = 404 };
    if (is_path(exchange, "/nothing"))
        exchange->reply = (struct http_reply){ .status = 204, .body = BYTES_LITERAL("ignored") };
    return HTTP_ANSWERED;
}

static struct http_reply refuse(void *context, struct arena *arena, struct http_refusal refusal)
{
    const char *text = arena_format(arena, "refused: %s", refusal.message);

    CHECK(((struct host *)context)->clock != NULL);
    return (struct http_reply){ .status = refusal.status, .body = bytes_of_text(text) };
}

/* Under the lock. */
static bool is_finishable(const struct host *host)
{
    if (host->put == host->taken)
        return false;
    return host->is_gate_open || !is_path(host->waiting[host->taken % HOST_WAITING], "/gate");
}

static void *run_finisher(void *argument)
{
    struct host *host = argument;

    for (;;) {
        pthread_mutex_lock(&host->lock);
        while (!is_finishable(host) && !host->is_ended)
            pthread_cond_wait(&host->changed, &host->lock);
        struct http_exchange *exchange = is_finishable(host)
                                             ? host->waiting[host->taken++ % HOST_WAITING]
                                             : NULL;
        pthread_mutex_unlock(&host->lock);
        if (!exchange)
            return NULL;
        answer_echo(exchange);
        http_exchange_finish(exchange);
    }
}

static void *run_server(void *argument)
{
    server_run(argument);
    return NULL;
}

static void start(struct host *host)
{
    struct address wanted;

    CHECK_OK(certificate_make(host->arena, &host->certificate));
    CHECK_OK(tls_open(host->arena, &host->certificate, &host->tls));
    host->clients = trusting(&host->certificate);
    CHECK_OK(address_parse(host->arena, "127.0.0.1:0", &wanted));
    CHECK_OK(server_open(&host->log, &host->metrics, host->arena, &host->server));
    struct offer offer = { .protocol = http_protocol(),
                           .context = &host->service,
                           .tls = host->tls };
    CHECK_OK(server_listen(host->server, host->arena, &wanted, offer, &host->address));
    CHECK_OK(server_start(host->server, host->arena));
}

struct host *host_open(void)
{
    struct host *host = calloc(1, sizeof(*host));

    signal(SIGPIPE, SIG_IGN); /* the clients of OpenSSL write without MSG_NOSIGNAL */
    host->arena = arena_open(1024 * 1024);
    host->log = log_to(STDERR_FILENO, LOG_ERROR);
    host->clock = clock_open(clock_source_manual(&host->time), 1000);
    host->large = malloc(LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        host->large[i] = (uint8_t)('a' + i % 23);
    host->service = (struct http_service){ handle, refuse, host, host->clock };
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->changed, NULL);
    start(host);
    pthread_create(&host->runner, NULL, run_server, host->server);
    pthread_create(&host->finisher, NULL, run_finisher, host);
    return host;
}

void host_close(struct host *host)
{
    server_stop(host->server);
    pthread_join(host->runner, NULL);
    pthread_mutex_lock(&host->lock);
    host->is_ended = true;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
    pthread_join(host->finisher, NULL);
    server_close(host->server);
    SSL_CTX_free(host->clients);
    tls_close(host->tls);
    clock_close(host->clock);
    arena_close(host->arena);
    pthread_mutex_destroy(&host->lock);
    pthread_cond_destroy(&host->changed);
    free(host->large);
    free(host);
}

void host_wait_at_gate(struct host *host, unsigned count)
{
    pthread_mutex_lock(&host->lock);
    while (host->at_gate < count)
        pthread_cond_wait(&host->changed, &host->lock);
    pthread_mutex_unlock(&host->lock);
}

void host_finish_first(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    CHECK(host->put > host->taken);
    struct http_exchange *exchange = host->waiting[host->taken++ % HOST_WAITING];
    pthread_mutex_unlock(&host->lock);
    answer_echo(exchange);
    http_exchange_finish(exchange);
}

void host_open_gate(struct host *host)
{
    pthread_mutex_lock(&host->lock);
    host->is_gate_open = true;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
}

/* ---- a client ------------------------------------------------------------------------------------- */

SSL_CTX *trusting(const struct certificate *certificate)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO *pem = BIO_new_mem_buf(certificate->chain.data, (int)certificate->chain.len);
    X509 *x509 = PEM_read_bio_X509(pem, NULL, NULL, NULL);

    CHECK(context && x509);
    CHECK_EQ(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), x509), 1, "");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    X509_free(x509);
    BIO_free(pem);
    return context;
}

struct line dial(const struct host *host, enum kind kind)
{
    struct timeval patience = { .tv_sec = RECEIVE_SECONDS_MAX };
    struct line line = { .fd = socket(AF_INET, SOCK_STREAM, 0) };
    const struct address *address = &host->address;
    int yes = 1;

    setsockopt(line.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(line.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    CHECK_EQ(connect(line.fd, (const struct sockaddr *)&address->socket, address->socket_len), 0,
             "");
    if (kind == ENCRYPTED) {
        line.ssl = SSL_new(host->clients);
        SSL_set_fd(line.ssl, line.fd);
        SSL_set1_host(line.ssl, "localhost");
        CHECK_EQ(SSL_connect(line.ssl), 1, "the handshake fails");
    }
    return line;
}

void hang_up(struct line line)
{
    SSL_free(line.ssl);
    close(line.fd);
}

void send_bytes(struct line line, bytes text)
{
    for (size_t at = 0; at < text.len;) {
        size_t left = text.len - at;
        ssize_t sent = line.ssl ? SSL_write(line.ssl, text.data + at, (int)left)
                                : send(line.fd, text.data + at, left, MSG_NOSIGNAL);
        CHECK(sent > 0);
        at += (size_t)sent;
    }
}

void send_request(struct line line, const char *path, const char *body)
{
    char text[512];

    snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
    send_bytes(line, bytes_of_text(text));
}

void send_end(struct line line)
{
    if (line.ssl)
        CHECK(SSL_shutdown(line.ssl) >= 0);
    else
        shutdown(line.fd, SHUT_WR);
}

ssize_t receive_some(struct line line, uint8_t *out, size_t len)
{
    return line.ssl ? SSL_read(line.ssl, out, (int)len) : recv(line.fd, out, len, 0);
}

void receive_whole(struct line line, uint8_t *out, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t more = receive_some(line, out + got, len - got);
        CHECK_THAT(more > 0, "the reply ends after %zu of %zu bytes, or does not come", got, len);
        got += (size_t)more;
    }
}

uint8_t receive_byte(struct line line)
{
    uint8_t byte = 0;

    receive_whole(line, &byte, 1);
    return byte;
}

struct reply receive_reply(struct line line)
{
    char head[1024] = "";
    struct reply reply = { 0 };
    size_t at = 0;

    while (at < 4 || memcmp(head + at - 4, "\r\n\r\n", 4) != 0) {
        CHECK(at < sizeof(head) - 1);
        head[at++] = (char)receive_byte(line);
    }
    const char *length = strstr(head, "Content-Length: ");
    CHECK(length != NULL);
    reply.len = strtoul(length + strlen("Content-Length: "), NULL, 10);
    reply.status = atoi(head + strlen("HTTP/1.1 "));
    reply.is_last = strstr(head, "Connection: close\r\n") != NULL;
    reply.body = calloc(1, reply.len + 1);
    receive_whole(line, reply.body, reply.len);
    return reply;
}

void expect_echo(struct line line, const char *want)
{
    struct reply reply = receive_reply(line);

    CHECK_EQ(reply.status, 200, "");
    CHECK_STRING((const char *)reply.body, want);
    free(reply.body);
}

void expect_end(struct line line)
{
    uint8_t byte;

    ssize_t got = receive_some(line, &byte, 1);
    CHECK_EQ(got, 0, "the server should have closed");
    if (line.ssl)
        CHECK_EQ(SSL_get_error(line.ssl, (int)got), SSL_ERROR_ZERO_RETURN, "and have said so");
    hang_up(line);
}
