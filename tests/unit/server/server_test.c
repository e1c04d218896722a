/* The server with real sockets and threads, and a handler of the test's own: replies in order, short
 * writes, replies that come later from another thread, and the orderly end; plain and encrypted. */
#include "tests/unit/server/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "server/pool.h"

TEST(server, requests_on_one_connection_are_answered_in_order)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line line = dial(host, kind);
        char body[32];

        for (int i = 0; i < 500; i++) {
            snprintf(body, sizeof(body), "%d", i);
            send_request(line, i % 3 ? "/echo" : "/later", body);
        }
        for (int i = 0; i < 500; i++) {
            snprintf(body, sizeof(body), "%d", i);
            expect_echo(line, body);
        }
        hang_up(line);
        host_close(host);
    }
}

TEST(server, a_request_is_read_wherever_packets_end)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        const char text[] = "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc";
        struct line line = dial(host, kind);

        for (size_t cut = 1; cut < sizeof(text) - 1; cut++) {
            send_bytes(line, bytes_of(text, cut));
            send_bytes(line, bytes_of(text + cut, sizeof(text) - 1 - cut));
            expect_echo(line, "abc");
        }
        hang_up(line);
        host_close(host);
    }
}

TEST(server, large_replies_survive_a_slow_reader)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line line = dial(host, kind);

        /* Far more than the socket's buffers: nothing is fetched before all is asked for. */
        for (int i = 0; i < 5; i++)
            send_request(line, "/large", "");
        send_request(line, "/echo", "end");
        for (int i = 0; i < 5; i++) {
            struct reply reply = receive_reply(line);
            CHECK_EQ(reply.len, LARGE_BYTES, "");
            CHECK(memcmp(reply.body, host->large, LARGE_BYTES) == 0);
            free(reply.body);
        }
        expect_echo(line, "end");
        hang_up(line);
        host_close(host);
    }
}

TEST(server, a_client_that_closes_its_side_still_gets_its_replies)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line line = dial(host, kind);

        send_request(line, "/later", "one");
        send_request(line, "/echo", "two");
        send_end(line);
        expect_echo(line, "one");
        expect_echo(line, "two");
        expect_end(line);
        host_close(host);
    }
}

TEST(server, clients_that_vanish_leave_nothing_behind)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();

        for (int i = 0; i < (kind == PLAIN ? 300 : 60); i++) {
            struct line line = dial(host, kind);
            if (i % 3 == 0)
                send_request(line, "/large", "");
            if (i % 3 == 1)
                send_request(line, "/later", "gone");
            hang_up(line);
        }
        struct line line = dial(host, kind);
        send_request(line, "/echo", "still here");
        expect_echo(line, "still here");
        hang_up(line);
        host_close(host);
    }
}

struct caller {
    struct host *host;
    enum kind kind;
    pthread_t thread;
};

static void *run_client(void *argument)
{
    struct host *host = ((struct caller *)argument)->host;
    enum kind kind = ((struct caller *)argument)->kind;
    struct line line = dial(host, kind);
    char body[32];

    for (int i = 0; i < 200; i++) {
        snprintf(body, sizeof(body), "%d", i);
        send_request(line, i % 2 ? "/later" : "/echo", body);
        if (i % 5 == 4)
            send_request(line, "/echo", "pipelined");
        expect_echo(line, body);
        if (i % 5 == 4)
            expect_echo(line, "pipelined");
        if (i % 50 == 49) {
            hang_up(line);
            line = dial(host, kind);
        }
    }
    hang_up(line);
    return NULL;
}

TEST(server, many_clients_plain_and_encrypted_are_served_at_once)
{
    struct host *host = host_open();
    struct caller callers[16];

    for (size_t i = 0; i < ARRAY_COUNT(callers); i++) {
        callers[i] = (struct caller){ .host = host, .kind = i % 2 ? ENCRYPTED : PLAIN };
        pthread_create(&callers[i].thread, NULL, run_client, &callers[i]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(callers); i++)
        pthread_join(callers[i].thread, NULL);
    host_close(host);
}

TEST(server, a_refusal_reaches_a_client_that_is_still_sending)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct arena *arena = arena_open(4 * LIMIT_HTTP_BODY_BYTES);
        struct buffer text = buffer_in(arena);
        bytes all;
        struct line line = dial(host, kind);

        buffer_append_format(&text, "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n",
                             LIMIT_HTTP_BODY_BYTES + 1);
        memset(buffer_reserve(&text, LIMIT_HTTP_BODY_BYTES + 1), 'x', LIMIT_HTTP_BODY_BYTES + 1);
        text.len += LIMIT_HTTP_BODY_BYTES + 1;
        CHECK_OK(buffer_finish(&text, &all));
        send_bytes(line, all);
        struct reply reply = receive_reply(line);
        CHECK_EQ(reply.status, 413, "");
        CHECK(reply.is_last);
        CHECK(strstr((const char *)reply.body, "refused: ") == (const char *)reply.body);
        CHECK(strstr((const char *)reply.body, "16777216") != NULL);
        free(reply.body);
        expect_end(line);
        arena_close(arena);
        host_close(host);
    }
}

TEST(server, a_handler_learns_who_asks_and_when_by_the_machine_clock)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line line = dial(host, kind);

        atomic_store(&host->time.wall, 5000);
        clock_advance(host->clock, 100000);
        send_request(line, "/facts", "");
        expect_echo(line,
                    kind == PLAIN ? "wall=5000 tls=0 loopback=1" : "wall=5000 tls=1 loopback=1");
        hang_up(line);
        host_close(host);
    }
}

TEST(server, no_error_is_empty_and_no_204_has_a_body)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line line = dial(host, kind);

        send_request(line, "/empty", "");
        struct reply reply = receive_reply(line);
        CHECK_EQ(reply.status, 404, "");
        CHECK_STRING((const char *)reply.body, "refused: the server gave no reason");
        free(reply.body);
        send_request(line, "/nothing", "");
        for (size_t at = 0; at < 4;)
            at = receive_byte(line) == "\r\n\r\n"[at] ? at + 1 : 0;
        send_request(line, "/echo", "next");
        expect_echo(line, "next");
        hang_up(line);
        host_close(host);
    }
}

TEST(server, replies_that_need_no_memory_have_the_right_length)
{
    const bytes rows[] = { http_protocol()->refusal, http_protocol()->too_late };

    EACH_ROW(rows, r) {
        const char *text = (const char *)r->data;
        const char *length = strstr(text, "Content-Length: ");
        const char *body = strstr(text, "\r\n\r\n");
        CHECK(length && body);
        CHECK_EQ(strtoul(length + strlen("Content-Length: "), NULL, 10),
                 r->len - (size_t)(body + 4 - text), "%s", text);
    }
}

TEST(server, head_has_no_body_and_continue_is_sent)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line line = dial(host, kind);
        const char want[] = "HTTP/1.1 100 Continue\r\n\r\n";
        char got[sizeof(want)] = "";

        send_bytes(line, BYTES_LITERAL("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n"
                                       "Expect: 100-continue\r\n\r\n"));
        for (size_t i = 0; i < sizeof(want) - 1; i++)
            got[i] = (char)receive_byte(line);
        CHECK_STRING(got, want);
        send_bytes(line, BYTES_LITERAL("ok"));
        expect_echo(line, "ok");
        send_bytes(line, BYTES_LITERAL("HEAD /large HTTP/1.1\r\nHost: t\r\n\r\n"));
        for (size_t at = 0; at < 4;)
            at = receive_byte(line) == "\r\n\r\n"[at] ? at + 1 : 0;
        send_request(line, "/echo", "next");
        expect_echo(line, "next");
        hang_up(line);
        host_close(host);
    }
}

TEST(server, a_stop_closes_idle_and_finishes_running)
{
    EACH_KIND(kind)
    {
        struct host *host = host_open();
        struct line idle = dial(host, kind);
        struct line half = dial(host, kind);
        struct line running = dial(host, kind);

        send_request(idle, "/echo", "x");
        expect_echo(idle, "x");
        send_bytes(half, BYTES_LITERAL("POST /echo HTTP/1.1\r\nHo"));
        send_request(running, "/gate", "finished");
        host_wait_at_gate(host, 1);
        server_stop(host->server);
        expect_end(idle);
        expect_end(half);
        host_open_gate(host);
        struct reply reply = receive_reply(running);
        CHECK_STRING((const char *)reply.body, "finished");
        CHECK(reply.is_last);
        free(reply.body);
        expect_end(running);
        host_close(host);
    }
}

TEST(server, a_stop_without_clients_is_immediate)
{
    for (int i = 0; i < 20; i++)
        host_close(host_open());
}

/* ---- encrypted ---------------------------------------------------------------------------------------- */

TEST(server, a_reply_is_encrypted_by_a_worker_and_not_by_who_finishes_it)
{
    struct host *host = host_open();
    struct line line = dial(host, ENCRYPTED);
    struct line *holders = calloc(LIMIT_WORKERS, sizeof(*holders));
    size_t workers = pool_default_sizes().many;
    uint8_t byte;

    send_request(line, "/echo", "after the handshake");
    expect_echo(line, "after the handshake");
    send_request(line, "/gate", "worth a secret");
    host_wait_at_gate(host, 1);
    for (size_t i = 0; i < workers; i++) {
        holders[i] = dial(host, PLAIN);
        send_request(holders[i], "/hold", "held");
    }
    host_wait_at_gate(host, 1 + (unsigned)workers);
    /* No worker is free. What the finisher itself sends would lie in the socket when it is done. */
    host_finish_first(host);
    CHECK(recv(line.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN);
    host_open_gate(host);
    expect_echo(line, "worth a secret");
    for (size_t i = 0; i < workers; i++) {
        expect_echo(holders[i], "held");
        hang_up(holders[i]);
    }
    hang_up(line);
    free(holders);
    host_close(host);
}

/* First bytes of a handshake that never goes on. */
static const char silent[] = "\x16\x03\x01";

TEST(server, silent_handshakes_hold_up_nobody)
{
    struct host *host = host_open();
    struct line lines[100];

    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        lines[i] = dial(host, PLAIN);
        send_bytes(lines[i], bytes_of(silent, 1 + i % (sizeof(silent) - 1)));
    }
    EACH_KIND(kind)
    {
        struct line line = dial(host, kind);
        send_request(line, "/echo", "served");
        expect_echo(line, "served");
        hang_up(line);
    }
    for (size_t i = 0; i < ARRAY_COUNT(lines) / 2; i++)
        hang_up(lines[i]);
    server_stop(host->server);
    for (size_t i = ARRAY_COUNT(lines) / 2; i < ARRAY_COUNT(lines); i++)
        expect_end(lines[i]);
    host_close(host);
}

TEST(server, bad_handshakes_are_told_so_closed_and_counted)
{
    const struct {
        const char *why;
        bytes text;
        ssize_t alert_len; /* who does not speak TLS at all gets none */
    } rows[] = {
        {"no such version",       BYTES_LITERAL("\x16\x09\x01\x00\x05hello"),             0},
        { "a record of nonsense", BYTES_LITERAL("\x16\x03\x01\x00\x10 an honest record"), 7},
        { "too long a record",    BYTES_LITERAL("\x16\x03\x01\xff\xff"),                  7},
        { "HTTP behind it",       BYTES_LITERAL("\x16GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0},
    };
    struct host *host = host_open();
    uint64_t count = 0;

    EACH_ROW(rows, r) {
        struct line line = dial(host, PLAIN);
        uint8_t alert[64];
        send_bytes(line, r->text);
        CHECK_EQ(receive_some(line, alert, sizeof(alert)), r->alert_len, "%s", r->why);
        if (r->alert_len)
            CHECK_EQ(receive_some(line, alert, sizeof(alert)), 0, "%s", r->why);
        hang_up(line);
        CHECK_EQ(metrics_read(&host->metrics, METRIC_tls_errors_total), ++count, "%s", r->why);
    }
    host_close(host);
}

TEST(server, a_handshake_cut_anywhere_leaves_nothing_behind)
{
    struct host *host = host_open();
    SSL_CTX *context = trusting(&host->certificate);
    SSL *ssl = SSL_new(context);
    uint8_t hello[2048];

    SSL_set_bio(ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl);
    SSL_do_handshake(ssl);
    int len = BIO_read(SSL_get_wbio(ssl), hello, sizeof(hello));
    for (size_t cut = 1; cut <= (size_t)len; cut += 7) {
        struct line line = dial(host, PLAIN);
        send_bytes(line, bytes_of(hello, cut));
        hang_up(line);
    }
    struct line line = dial(host, ENCRYPTED);
    send_request(line, "/echo", "still here");
    expect_echo(line, "still here");
    hang_up(line);
    SSL_free(ssl);
    SSL_CTX_free(context);
    host_close(host);
}
