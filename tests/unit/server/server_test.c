/* The server with real sockets and threads, and a handler of the test's own: replies in order, short
 * writes, replies that come later from another thread, and the orderly end. */
#include "tests/check.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/server.h"

enum { LARGE_BYTES = 3 * 1024 * 1024, RECEIVE_SECONDS_MAX = 20 };

/* A running server. Paths: /echo (the body back), /large (LARGE_BYTES), /later (as echo, but finished by
 * another thread), /gate (as later, but only after the gate was opened), /facts (what is known of the
 * request), /empty (an error without a body), /nothing (204). */
struct fixture {
    struct arena *arena;
    struct log log;
    struct metrics metrics;
    struct clock *clock;
    struct manual_time time;
    struct http_service service;
    struct server *server;
    struct address address;
    pthread_t runner;
    pthread_t finisher;
    uint8_t *large;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_exchange *waiting[64]; /* a ring */
    size_t put, taken;
    bool is_gate_open, is_ended;
    unsigned at_gate;
};

static void answer_echo(struct http_exchange *exchange)
{
    exchange->reply.status = 200;
    exchange->reply.body = exchange->request->body;
}

static enum http_answer handle(void *context, struct http_exchange *exchange)
{
    struct fixture *fixture = context;
    bytes path = exchange->request->path;
    bool is_gate = bytes_equal(path, BYTES_LITERAL("/gate"));

    if (is_gate || bytes_equal(path, BYTES_LITERAL("/later"))) {
        pthread_mutex_lock(&fixture->lock);
        fixture->waiting[fixture->put++ % 64] = exchange;
        fixture->at_gate += is_gate;
        pthread_cond_broadcast(&fixture->changed);
        pthread_mutex_unlock(&fixture->lock);
        return HTTP_LATER;
    }
    answer_echo(exchange);
    if (bytes_equal(path, BYTES_LITERAL("/large")))
        exchange->reply.body = bytes_of(fixture->large, LARGE_BYTES);
    if (bytes_equal(path, BYTES_LITERAL("/facts")))
        exchange->reply.body = bytes_of_text(
            arena_format(exchange->arena, "wall=%lld tls=%d loopback=%d", (long long)exchange->wall,
                         exchange->is_tls, exchange->is_loopback));
    if (bytes_equal(path, BYTES_LITERAL("/empty")))
        exchange->reply = (struct http_reply){ .status = 404 };
    if (bytes_equal(path, BYTES_LITERAL("/nothing")))
        exchange->reply = (struct http_reply){ .status = 204, .body = BYTES_LITERAL("ignored") };
    return HTTP_ANSWERED;
}

static struct http_reply refuse(void *context, struct arena *arena, struct http_refusal refusal)
{
    const char *text = arena_format(arena, "refused: %s", refusal.message);

    CHECK(((struct fixture *)context)->clock != NULL);
    return (struct http_reply){ .status = refusal.status, .body = bytes_of_text(text) };
}

static bool is_finishable(const struct fixture *fixture)
{
    return fixture->put > fixture->taken && (fixture->at_gate == 0 || fixture->is_gate_open);
}

static void *run_finisher(void *argument)
{
    struct fixture *fixture = argument;

    for (;;) {
        pthread_mutex_lock(&fixture->lock);
        while (!is_finishable(fixture) && !fixture->is_ended)
            pthread_cond_wait(&fixture->changed, &fixture->lock);
        struct http_exchange *exchange = is_finishable(fixture)
                                             ? fixture->waiting[fixture->taken++ % 64]
                                             : NULL;
        pthread_mutex_unlock(&fixture->lock);
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

static struct fixture *fixture_open(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->arena = arena_open(65536);
    fixture->log = log_to(STDERR_FILENO, LOG_ERROR);
    fixture->clock = clock_open(clock_source_manual(&fixture->time), 1000);
    fixture->large = malloc(LARGE_BYTES);
    for (size_t i = 0; i < LARGE_BYTES; i++)
        fixture->large[i] = (uint8_t)('a' + i % 23);
    fixture->service = (struct http_service){ handle, refuse, fixture, fixture->clock };
    pthread_mutex_init(&fixture->lock, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    struct address wanted;
    CHECK_OK(address_parse(fixture->arena, "127.0.0.1:0", &wanted));
    CHECK_OK(server_open(&fixture->log, &fixture->metrics, fixture->arena, &fixture->server));
    CHECK_OK(server_listen(fixture->server, fixture->arena, &wanted, http_protocol(),
                           &fixture->service, &fixture->address));
    CHECK_OK(server_start(fixture->server, fixture->arena));
    pthread_create(&fixture->runner, NULL, run_server, fixture->server);
    pthread_create(&fixture->finisher, NULL, run_finisher, fixture);
    return fixture;
}

static void fixture_close(struct fixture *fixture)
{
    server_stop(fixture->server);
    pthread_join(fixture->runner, NULL);
    pthread_mutex_lock(&fixture->lock);
    fixture->is_ended = true;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
    pthread_join(fixture->finisher, NULL);
    server_close(fixture->server);
    clock_close(fixture->clock);
    arena_close(fixture->arena);
    pthread_mutex_destroy(&fixture->lock);
    pthread_cond_destroy(&fixture->changed);
    free(fixture->large);
    free(fixture);
}

static void wait_at_gate(struct fixture *fixture, unsigned count)
{
    pthread_mutex_lock(&fixture->lock);
    while (fixture->at_gate < count)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
}

static void open_gate(struct fixture *fixture)
{
    pthread_mutex_lock(&fixture->lock);
    fixture->is_gate_open = true;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

/* ---- a client ------------------------------------------------------------------------------------- */

static int dial(const struct fixture *fixture)
{
    struct timeval patience = { .tv_sec = RECEIVE_SECONDS_MAX };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int yes = 1;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    CHECK_EQ(
        connect(fd, (const struct sockaddr *)&fixture->address.socket, fixture->address.socket_len),
        0, "");
    return fd;
}

static void send_bytes(int fd, bytes text)
{
    for (size_t at = 0; at < text.len;) {
        ssize_t sent = send(fd, text.data + at, text.len - at, MSG_NOSIGNAL);
        CHECK(sent > 0);
        at += (size_t)sent;
    }
}

static void send_request(int fd, const char *path, const char *body)
{
    char text[512];

    snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: t\r\nContent-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
    send_bytes(fd, bytes_of_text(text));
}

static uint8_t receive_byte(int fd)
{
    uint8_t byte = 0;

    CHECK_EQ(recv(fd, &byte, 1, 0), 1, "the reply ends early or does not come");
    return byte;
}

struct reply {
    int status;
    size_t len;
    bool is_last;
    uint8_t *body; /* with a NUL behind */
};

static struct reply receive_reply(int fd)
{
    char head[1024] = "";
    struct reply reply = { 0 };
    size_t at = 0;

    while (at < 4 || memcmp(head + at - 4, "\r\n\r\n", 4) != 0) {
        CHECK(at < sizeof(head) - 1);
        head[at++] = (char)receive_byte(fd);
    }
    const char *length = strstr(head, "Content-Length: ");
    CHECK(length != NULL);
    reply.len = strtoul(length + strlen("Content-Length: "), NULL, 10);
    reply.status = atoi(head + strlen("HTTP/1.1 "));
    reply.is_last = strstr(head, "Connection: close\r\n") != NULL;
    reply.body = calloc(1, reply.len + 1);
    for (size_t got = 0; got < reply.len;) {
        ssize_t more = recv(fd, reply.body + got, reply.len - got, 0);
        CHECK(more > 0);
        got += (size_t)more;
    }
    return reply;
}

static void expect_echo(int fd, const char *want)
{
    struct reply reply = receive_reply(fd);

    CHECK_EQ(reply.status, 200, "");
    CHECK_STRING((const char *)reply.body, want);
    free(reply.body);
}

static void expect_end(int fd)
{
    uint8_t byte;

    CHECK_EQ(recv(fd, &byte, 1, 0), 0, "the server should have closed");
    close(fd);
}

/* ---- tests ---------------------------------------------------------------------------------------- */

TEST(server, requests_on_one_connection_are_answered_in_order)
{
    struct fixture *fixture = fixture_open();
    int fd = dial(fixture);
    char body[32];

    for (int i = 0; i < 500; i++) {
        snprintf(body, sizeof(body), "%d", i);
        send_request(fd, i % 3 ? "/echo" : "/later", body);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(body, sizeof(body), "%d", i);
        expect_echo(fd, body);
    }
    close(fd);
    fixture_close(fixture);
}

TEST(server, a_request_is_read_wherever_packets_end)
{
    struct fixture *fixture = fixture_open();
    const char text[] = "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc";
    int fd = dial(fixture);

    for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
        send_bytes(fd, bytes_of(text, cut));
        send_bytes(fd, bytes_of(text + cut, sizeof(text) - 1 - cut));
        expect_echo(fd, "abc");
    }
    close(fd);
    fixture_close(fixture);
}

TEST(server, large_replies_survive_a_slow_reader)
{
    struct fixture *fixture = fixture_open();
    int fd = dial(fixture);

    /* Far more than the socket's buffers: nothing is fetched before all is asked for. */
    for (int i = 0; i < 5; i++)
        send_request(fd, "/large", "");
    send_request(fd, "/echo", "end");
    for (int i = 0; i < 5; i++) {
        struct reply reply = receive_reply(fd);
        CHECK_EQ(reply.len, LARGE_BYTES, "");
        CHECK(memcmp(reply.body, fixture->large, LARGE_BYTES) == 0);
        free(reply.body);
    }
    expect_echo(fd, "end");
    close(fd);
    fixture_close(fixture);
}

TEST(server, a_client_that_closes_its_side_still_gets_its_replies)
{
    struct fixture *fixture = fixture_open();
    int fd = dial(fixture);

    send_request(fd, "/later", "one");
    send_request(fd, "/echo", "two");
    shutdown(fd, SHUT_WR);
    expect_echo(fd, "one");
    expect_echo(fd, "two");
    expect_end(fd);
    fixture_close(fixture);
}

TEST(server, clients_that_vanish_leave_nothing_behind)
{
    struct fixture *fixture = fixture_open();

    for (int i = 0; i < 300; i++) {
        int fd = dial(fixture);
        if (i % 3 == 0)
            send_request(fd, "/large", "");
        if (i % 3 == 1)
            send_request(fd, "/later", "gone");
        close(fd);
    }
    int fd = dial(fixture);
    send_request(fd, "/echo", "still here");
    expect_echo(fd, "still here");
    close(fd);
    fixture_close(fixture);
}

static void *run_client(void *argument)
{
    struct fixture *fixture = argument;
    int fd = dial(fixture);
    char body[32];

    for (int i = 0; i < 200; i++) {
        snprintf(body, sizeof(body), "%d", i);
        send_request(fd, i % 2 ? "/later" : "/echo", body);
        if (i % 5 == 4)
            send_request(fd, "/echo", "pipelined");
        expect_echo(fd, body);
        if (i % 5 == 4)
            expect_echo(fd, "pipelined");
        if (i % 50 == 49) {
            close(fd);
            fd = dial(fixture);
        }
    }
    close(fd);
    return NULL;
}

TEST(server, many_clients_are_served_at_once)
{
    struct fixture *fixture = fixture_open();
    pthread_t clients[16];

    for (size_t i = 0; i < ARRAY_COUNT(clients); i++)
        pthread_create(&clients[i], NULL, run_client, fixture);
    for (size_t i = 0; i < ARRAY_COUNT(clients); i++)
        pthread_join(clients[i], NULL);
    fixture_close(fixture);
}

TEST(server, a_refusal_reaches_a_client_that_is_still_sending)
{
    struct fixture *fixture = fixture_open();
    struct arena *arena = arena_open(4 * LIMIT_HTTP_BODY_BYTES);
    struct buffer text = buffer_in(arena);
    bytes all;
    int fd = dial(fixture);

    buffer_append_format(&text, "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n",
                         LIMIT_HTTP_BODY_BYTES + 1);
    memset(buffer_reserve(&text, LIMIT_HTTP_BODY_BYTES + 1), 'x', LIMIT_HTTP_BODY_BYTES + 1);
    text.len += LIMIT_HTTP_BODY_BYTES + 1;
    CHECK_OK(buffer_finish(&text, &all));
    send_bytes(fd, all);
    struct reply reply = receive_reply(fd);
    CHECK_EQ(reply.status, 413, "");
    CHECK(reply.is_last);
    CHECK(strstr((const char *)reply.body, "refused: ") == (const char *)reply.body);
    CHECK(strstr((const char *)reply.body, "16777216") != NULL);
    free(reply.body);
    expect_end(fd);
    arena_close(arena);
    fixture_close(fixture);
}

TEST(server, a_handler_learns_who_asks_and_when_by_the_machine_clock)
{
    struct fixture *fixture = fixture_open();
    int fd = dial(fixture);

    atomic_store(&fixture->time.wall, 5000);
    clock_advance(fixture->clock, 100000);
    send_request(fd, "/facts", "");
    expect_echo(fd, "wall=5000 tls=0 loopback=1");
    close(fd);
    fixture_close(fixture);
}

TEST(server, no_error_is_empty_and_no_204_has_a_body)
{
    struct fixture *fixture = fixture_open();
    int fd = dial(fixture);

    send_request(fd, "/empty", "");
    struct reply reply = receive_reply(fd);
    CHECK_EQ(reply.status, 404, "");
    CHECK_STRING((const char *)reply.body, "refused: the server gave no reason");
    free(reply.body);
    send_request(fd, "/nothing", "");
    for (size_t at = 0; at < 4;)
        at = receive_byte(fd) == "\r\n\r\n"[at] ? at + 1 : 0;
    send_request(fd, "/echo", "next");
    expect_echo(fd, "next");
    close(fd);
    fixture_close(fixture);
}

TEST(server, the_reply_of_a_full_server_is_a_whole_one)
{
    bytes refusal = http_protocol()->refusal;
    const char *text = (const char *)refusal.data;
    const char *length = strstr(text, "Content-Length: ");
    const char *body = strstr(text, "\r\n\r\n");

    CHECK(length && body);
    CHECK_EQ(strtoul(length + strlen("Content-Length: "), NULL, 10),
             refusal.len - (size_t)(body + 4 - text), "");
}

TEST(server, head_has_no_body_and_continue_is_sent)
{
    struct fixture *fixture = fixture_open();
    int fd = dial(fixture);
    const char want[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char got[sizeof(want)] = "";

    send_bytes(fd, BYTES_LITERAL("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n"
                                 "Expect: 100-continue\r\n\r\n"));
    for (size_t i = 0; i < sizeof(want) - 1; i++)
        got[i] = (char)receive_byte(fd);
    CHECK_STRING(got, want);
    send_bytes(fd, BYTES_LITERAL("ok"));
    expect_echo(fd, "ok");
    send_bytes(fd, BYTES_LITERAL("HEAD /large HTTP/1.1\r\nHost: t\r\n\r\n"));
    for (size_t at = 0; at < 4;)
        at = receive_byte(fd) == "\r\n\r\n"[at] ? at + 1 : 0;
    send_request(fd, "/echo", "next");
    expect_echo(fd, "next");
    close(fd);
    fixture_close(fixture);
}

TEST(server, a_stop_closes_idle_and_finishes_running)
{
    struct fixture *fixture = fixture_open();
    int idle = dial(fixture);
    int half = dial(fixture);
    int running = dial(fixture);

    send_request(idle, "/echo", "x");
    expect_echo(idle, "x");
    send_bytes(half, BYTES_LITERAL("POST /echo HTTP/1.1\r\nHo"));
    send_request(running, "/gate", "finished");
    wait_at_gate(fixture, 1);
    server_stop(fixture->server);
    expect_end(idle);
    expect_end(half);
    open_gate(fixture);
    struct reply reply = receive_reply(running);
    CHECK_STRING((const char *)reply.body, "finished");
    CHECK(reply.is_last);
    free(reply.body);
    expect_end(running);
    fixture_close(fixture);
}

TEST(server, a_stop_without_clients_is_immediate)
{
    for (int i = 0; i < 20; i++)
        fixture_close(fixture_open());
}
