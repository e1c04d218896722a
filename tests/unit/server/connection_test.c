/* Patience with clients: connections on socket pairs, and time that only the test moves. */
#include "tests/check.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/connection.h"
#include "server/server.h"

enum { ROUNDS_MAX = 3000, LOOK_MS = 10, LARGE_BYTES = 8 * 1024 * 1024 };

/* Connections without a server. /large answers with LARGE_BYTES, /later is kept until the test finishes
 * it, all others get their body back. */
struct room {
    struct arena *arena;
    struct log log;
    struct metrics metrics;
    struct manual_time time;
    struct clock *clock;
    struct http_service service;
    struct certificate certificate;
    struct tls *tls;
    struct offer offer;
    struct pool *pool;
    struct connection_set *set;
    int64_t now;
    uint8_t *large;
    _Atomic(struct http_exchange *) later;
};

static enum http_answer handle(void *context, struct http_exchange *exchange)
{
    struct room *room = context;

    exchange->reply.status = 200;
    exchange->reply.body = exchange->request->body;
    if (bytes_equal(exchange->request->path, BYTES_LITERAL("/large")))
        exchange->reply.body = bytes_of(room->large, LARGE_BYTES);
    if (!bytes_equal(exchange->request->path, BYTES_LITERAL("/later")))
        return HTTP_ANSWERED;
    atomic_store(&room->later, exchange);
    return HTTP_LATER;
}

static struct room *room_open(void)
{
    struct room *room = memory_take_zeroed(1, sizeof(*room));

    room->arena = arena_open(1024 * 1024);
    room->log = log_to(STDERR_FILENO, LOG_ERROR);
    room->clock = clock_open(clock_source_manual(&room->time), 1000);
    room->service = (struct http_service){ handle, NULL, room, room->clock };
    room->large = memory_take_zeroed(1, LARGE_BYTES);
    CHECK_OK(certificate_make(room->arena, &room->certificate));
    CHECK_OK(tls_open(room->arena, &room->certificate, &room->tls));
    room->offer = (struct offer){ http_protocol(), &room->service, room->tls };
    CHECK_OK(pool_open(&room->metrics, room->arena, &room->pool));
    CHECK_OK(connection_set_open(room->pool, &room->log, &room->metrics, room->arena, &room->set));
    CHECK_OK(pool_start(room->pool, room->arena, (struct pool_sizes){ 1, 2, 8 }));
    return room;
}

static void room_close(struct room *room)
{
    pool_end(room->pool);
    connection_set_close(room->set);
    pool_close(room->pool);
    tls_close(room->tls);
    clock_close(room->clock);
    arena_close(room->arena);
    memory_give(room->large);
    memory_give(room);
}

/* The client's end of a new connection. */
static int dial(struct room *room)
{
    int ends[2];

    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0, "");
    connection_set_add(room->set, (struct client){ .fd = ends[1] }, &room->offer);
    return ends[0];
}

static void pass(struct room *room, int64_t ms)
{
    room->now += ms;
    connection_set_tick(room->set, room->now);
}

static void send_text(int fd, const char *text)
{
    CHECK_EQ(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text), "");
}

static void send_request(int fd, const char *path, const char *extra)
{
    char text[256];

    snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: t\r\n%sContent-Length: 2\r\n\r\nok",
             path, extra);
    send_text(fd, text);
}

/* Something is there to be read, or the end. */
static bool has_news(int fd, int timeout_ms)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, timeout_ms) == 1;
}

/* What has arrived until `mark` stands in it, or until the end. */
static const char *receive_until(struct room *room, int fd, const char *mark)
{
    char *text = arena_try_take(room->arena, 4096);
    size_t len = 0;

    text[0] = '\0';
    while (len < 4095 && !(mark && strstr(text, mark))) {
        CHECK(has_news(fd, 20000));
        ssize_t more = recv(fd, text + len, 4095 - len, 0);
        if (more <= 0)
            break;
        len += (size_t)more;
        text[len] = '\0';
    }
    return text;
}

/* Lets time pass in steps until the server says something. An owner may still be on its way to the wait
 * whose time is to pass, so one step is not always enough. */
static void pass_until_news(struct room *room, int fd, int64_t step_ms)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        pass(room, step_ms);
        if (has_news(fd, LOOK_MS))
            return;
    }
    CHECK_THAT(false, "nothing happened in %d steps", ROUNDS_MAX);
}

static void pass_until_empty(struct room *room, int64_t step_ms)
{
    for (int i = 0; i < ROUNDS_MAX && connection_set_count(room->set) > 0; i++) {
        pass(room, step_ms);
        has_news(connection_set_drained_fd(room->set), LOOK_MS); /* never */
    }
    CHECK_EQ(connection_set_count(room->set), 0, "");
}

static uint64_t timed_out(const struct room *room)
{
    return metrics_read(&room->metrics, METRIC_connections_timed_out_total);
}

TEST(connection, an_idle_client_is_let_go_without_a_word)
{
    struct room *room = room_open();
    int fresh = dial(room), used = dial(room);

    send_request(used, "/echo", "");
    receive_until(room, used, "ok");
    pass(room, LIMIT_HTTP_IDLE_MS - 1);
    send_request(used, "/echo", "");
    receive_until(room, used, "ok");
    pass_until_news(room, fresh, LIMIT_HTTP_IDLE_MS);
    CHECK_STRING(receive_until(room, fresh, NULL), "");
    pass_until_news(room, used, LIMIT_HTTP_IDLE_MS);
    CHECK_STRING(receive_until(room, used, NULL), "");
    CHECK_EQ(timed_out(room), 2, "");
    close(fresh);
    close(used);
    room_close(room);
}

TEST(connection, a_request_must_be_complete_in_time_however_it_trickles)
{
    const char text[] =
        "POST /echo HTTP/1.1\r\nHost: t\r\nX-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    struct room *room = room_open();
    int fd = dial(room);
    size_t sent = 0;

    /* Each byte alone, ten seconds apart: the first one counts. */
    while (sent < sizeof(text) - 1 && !has_news(fd, LOOK_MS)) {
        CHECK_EQ(send(fd, text + sent++, 1, MSG_NOSIGNAL), 1, "");
        pass(room, 10000);
    }
    CHECK_THAT(sent >= LIMIT_RECEIVE_MS / 10000, "after %zu bytes", sent);
    const char *reply = receive_until(room, fd, NULL);
    CHECK_THAT(strstr(reply, "HTTP/1.1 408 ") == reply, "%s", reply);
    CHECK(strstr(reply, "\"message\"") != NULL);
    CHECK_EQ(timed_out(room), 1, "");
    close(fd);
    room_close(room);
}

TEST(connection, time_counts_anew_for_each_request)
{
    struct room *room = room_open();
    int fd = dial(room);

    for (int i = 0; i < 20; i++) {
        send_text(fd, "POST /echo HTTP/1.1\r\nHost: t\r\n");
        pass(room, LIMIT_RECEIVE_MS / 4);
        send_text(fd, "Content-Length: 2\r\n\r\nokPOST /echo HTTP");
        receive_until(room, fd, "ok");
        pass(room, LIMIT_RECEIVE_MS / 4);
        send_text(fd, "/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\nok");
        receive_until(room, fd, "ok");
    }
    CHECK_EQ(timed_out(room), 0, "");
    close(fd);
    room_close(room);
}

TEST(connection, silent_handshakes_are_ended)
{
    struct room *room = room_open();
    int fd = dial(room);

    send_text(fd, "\x16\x03\x01");
    pass_until_news(room, fd, LIMIT_RECEIVE_MS);
    CHECK_STRING(receive_until(room, fd, NULL), "");
    CHECK_EQ(timed_out(room), 1, "");
    close(fd);
    room_close(room);
}

static void fetch(int fd, size_t len)
{
    static uint8_t waste[65536];

    while (len > 0) {
        CHECK(has_news(fd, 20000));
        ssize_t more = recv(fd, waste, len < sizeof(waste) ? len : sizeof(waste), 0);
        CHECK(more > 0);
        len -= (size_t)more;
    }
}

TEST(connection, a_slow_reader_may_take_long_but_not_stand_still)
{
    struct room *room = room_open();
    int fd = dial(room);

    send_request(fd, "/large", "");
    for (size_t taken = 0; taken < LARGE_BYTES / 2; taken += LARGE_BYTES / 16) {
        fetch(fd, LARGE_BYTES / 16);
        pass(room, LIMIT_SEND_MS / 2);
    }
    CHECK_EQ(timed_out(room), 0, "");
    pass_until_empty(room, LIMIT_SEND_MS);
    CHECK_EQ(timed_out(room), 1, "");
    close(fd);
    room_close(room);
}

TEST(connection, a_request_that_runs_has_no_limit_here)
{
    struct room *room = room_open();
    int fd = dial(room);

    send_request(fd, "/later", "");
    while (!atomic_load(&room->later))
        has_news(fd, LOOK_MS);
    for (int i = 0; i < 10; i++)
        pass(room, 24LL * 3600 * 1000);
    http_exchange_finish(atomic_load(&room->later));
    CHECK(strstr(receive_until(room, fd, "ok"), "200 OK") != NULL);
    CHECK_EQ(timed_out(room), 0, "");
    pass_until_news(room, fd, LIMIT_HTTP_IDLE_MS);
    CHECK_EQ(timed_out(room), 1, "then it is idle as any other");
    close(fd);
    room_close(room);
}

TEST(connection, a_client_that_does_not_close_after_the_last_reply_is_closed)
{
    struct room *room = room_open();
    int fd = dial(room);

    send_request(fd, "/echo", "Connection: close\r\n");
    receive_until(room, fd, NULL);
    pass_until_empty(room, LIMIT_DRAIN_MS);
    close(fd);
    room_close(room);
}

/* ---- sessions that want to be called ---------------------------------------------------------------- */

/* Says "tick" every five seconds from its first byte on. */
static void *ticking_open(void *context, struct connection *connection)
{
    (void)context;
    return connection;
}

static void ticking_close(void *session)
{
    (void)session;
}

static enum protocol_step ticking_on_bytes(void *session, bytes input)
{
    connection_consume(session, input.len);
    connection_wake_in(session, input.data[0] == 's' ? 0 : 5000);
    return STEP_REPLIED;
}

static void ticking_on_wake(void *session)
{
    connection_send(session, BYTES_LITERAL("tick"), BYTES_NONE);
    connection_wake_in(session, 5000);
}

TEST(connection, a_session_is_called_when_its_time_has_come)
{
    static const struct protocol ticking = { .name = "ticking",
                                             .open = ticking_open,
                                             .close = ticking_close,
                                             .on_bytes = ticking_on_bytes,
                                             .on_wake = ticking_on_wake };
    struct room *room = room_open();

    room->offer = (struct offer){ .protocol = &ticking, .context = room };
    int fd = dial(room);
    send_text(fd, "x");
    for (int i = 0; i < 3; i++) {
        pass_until_news(room, fd, 2500);
        CHECK_STRING(receive_until(room, fd, "tick"), "tick");
    }
    shutdown(fd, SHUT_WR);
    CHECK_STRING(receive_until(room, fd, NULL), "");
    close(fd);
    pass_until_empty(room, 0); /* the end is seen before the connection is free */
    room_close(room);
}
