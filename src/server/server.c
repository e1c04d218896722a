/* Server: listeners, their accepting, and the orderly end.
 *
 * A listener is watched with EPOLLONESHOT: the worker that gets its event accepts one connection, arms
 * the listener again so that another worker takes the next one, and then serves the new connection
 * itself. The thread that calls server_run() only waits, for a signal or for server_stop(). SIGHUP and SIGUSR1
 * do not end the service: they are passed to whoever cares.
 *
 * The end, in this order: listeners shut (clients are refused by the kernel), connections without a
 * running request close, running requests end and their replies go out, at the latest after the grace
 * period unfetched replies are dropped, workers are joined. A second signal ends the grace period.
 *
 * Threads: open, listen, start, run and close from one thread; server_stop from any. */
#include "server/server.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "server/connection.h"
#include "server/pool.h"

struct listener {
    struct source source; /* first, so that an event leads here */
    struct server *server;
    int fd;
    int spare_fd; /* given up for a moment when the process has no descriptor left */
    struct offer offer;
};

/* Once a second: patience with clients ends. */
struct ticker {
    struct source source; /* first, so that an event leads here */
    struct server *server;
    int fd;
};

struct server {
    const struct log *log;
    struct pool *pool;
    struct connection_set *connections;
    int signal_fd;
    int stop_fd;
    struct ticker ticker;
    struct server_care care;
    size_t listener_count;
    struct listener listeners[LIMIT_LISTENERS];
};

static void listener_on_event(struct source *source, uint32_t events);
static void ticker_on_event(struct source *source, uint32_t events);

static sigset_t awaited_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    return set;
}

void server_hold_signals(void)
{
    sigset_t set = awaited_signals();

    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

static int open_spare(void)
{
    return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

status server_open(const struct log *log, struct metrics *metrics, struct arena *arena,
                   struct server **out)
{
    struct server *server = memory_take_zeroed(1, sizeof(*server));
    sigset_t set = awaited_signals();
    status s;

    *out = NULL;
    if (!server)
        return status_of(OUT_OF_MEMORY, "no memory for the server");
    server->log = log;
    server->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    server->ticker = (struct ticker){
        .source = { .on_event = ticker_on_event },
        .server = server,
        .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
    };
    if (server->signal_fd < 0 || server->stop_fd < 0 || server->ticker.fd < 0) {
        s = status_fail(arena, IO_ERROR, "no file descriptors: %s", strerror(errno));
        goto done;
    }
    TRY_GOTO(pool_open(metrics, arena, &server->pool), done);
    TRY_GOTO(connection_set_open(server->pool, log, metrics, arena, &server->connections), done);
    *out = server;
    return STATUS_OK;
done:
    server_close(server);
    return s;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void server_close(struct server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        close(server->listeners[i].fd);
        close_fd(server->listeners[i].spare_fd);
    }
    if (server->connections)
        connection_set_close(server->connections);
    if (server->pool)
        pool_close(server->pool);
    close_fd(server->signal_fd);
    close_fd(server->stop_fd);
    close_fd(server->ticker.fd);
    memory_give(server);
}

/* ---- listening -------------------------------------------------------------------------------------- */

static int open_listening(const struct address *address)
{
    int family = address->socket.ss_family;
    int yes = 1;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
    if (bind(fd, (const struct sockaddr *)&address->socket, address->socket_len) != 0 ||
        listen(fd, LIMIT_LISTEN_BACKLOG) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

status server_bind(struct arena *arena, const struct address *address, struct address *actual_out,
                   int *fd_out)
{
    *actual_out = *address;
    int fd = open_listening(address);
    *fd_out = fd;
    if (fd < 0) {
        int error = errno;
        char text[ADDRESS_TEXT_BYTES];
        address_format(address, text);
        return status_fail(arena, error == EADDRINUSE ? EXISTS : IO_ERROR,
                           "cannot listen on %s: %s", text, strerror(error));
    }
    actual_out->socket_len = sizeof(actual_out->socket);
    getsockname(fd, (struct sockaddr *)&actual_out->socket, &actual_out->socket_len);
    return STATUS_OK;
}

void server_take(struct server *server, int fd, struct offer offer)
{
    ASSERT(server->listener_count < LIMIT_LISTENERS);
    server->listeners[server->listener_count++] = (struct listener){
        .source = { .on_event = listener_on_event },
        .server = server,
        .fd = fd,
        .spare_fd = open_spare(),
        .offer = offer,
    };
}

status server_listen(struct server *server, struct arena *arena, const struct address *address,
                     struct offer offer, struct address *actual_out)
{
    int fd;

    TRY(server_bind(arena, address, actual_out, &fd));
    server_take(server, fd, offer);
    return STATUS_OK;
}

/* Edge-triggered: one worker per tick. */
static bool start_ticker(struct server *server)
{
    const struct timespec every = { .tv_sec = LIMIT_TICK_MS / 1000,
                                    .tv_nsec = LIMIT_TICK_MS % 1000 * 1000000 };
    const struct itimerspec times = { every, every };

    ticker_on_event(&server->ticker.source, 0);
    return timerfd_settime(server->ticker.fd, 0, &times, NULL) == 0 &&
           pool_watch(server->pool, server->ticker.fd, EPOLLIN | EPOLLET, &server->ticker.source);
}

static void ticker_on_event(struct source *source, uint32_t events)
{
    struct ticker *ticker = (struct ticker *)source;
    struct clock_source time = clock_source_system();
    uint64_t count;
    ssize_t len = read(ticker->fd, &count, sizeof(count));

    (void)events;
    (void)len; /* nothing there: another one has just ticked */
    connection_set_tick(ticker->server->connections, time.monotonic_ms(time.context));
}

status server_start(struct server *server, struct arena *arena)
{
    if (!start_ticker(server))
        return status_fail(arena, IO_ERROR, "cannot start a timer: %s", strerror(errno));
    for (size_t i = 0; i < server->listener_count; i++) {
        struct listener *listener = &server->listeners[i];
        if (!pool_watch(server->pool, listener->fd, EPOLLIN | EPOLLONESHOT, &listener->source))
            return status_fail(arena, IO_ERROR, "cannot watch a listener: %s", strerror(errno));
    }
    return pool_start(server->pool, arena, pool_default_sizes());
}

/* Without a free descriptor a client cannot even be refused: give one up for the moment it takes. The
 * one-shot event of the listener keeps other workers of this listener out. */
static void refuse_without_descriptor(struct listener *listener)
{
    log_event(listener->server->log, LOG_WARNING, "connection.refused",
              "reason=\"no file descriptor left\"");
    close_fd(listener->spare_fd);
    close_fd(accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC));
    listener->spare_fd = open_spare();
}

static void listener_on_event(struct source *source, uint32_t events)
{
    struct listener *listener = (struct listener *)source;
    struct server *server = listener->server;
    struct address peer = { .socket_len = sizeof(peer.socket) };
    int fd = accept4(listener->fd, (struct sockaddr *)&peer.socket, &peer.socket_len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    int error = errno;
    int yes = 1;

    (void)events;
    if (fd < 0 && error == EINVAL)
        return; /* shut: the server stops */
    if (fd < 0 && (error == EMFILE || error == ENFILE))
        refuse_without_descriptor(listener);
    pool_rearm(server->pool, listener->fd, EPOLLIN | EPOLLONESHOT, source);
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes)); /* finds machines that are gone */
    connection_set_add(server->connections, (struct client){ .fd = fd, .peer = peer },
                       &listener->offer);
}

/* ---- the end ---------------------------------------------------------------------------------------- */

void server_stop(struct server *server)
{
    eventfd_write(server->stop_fd, 1);
}

void server_set_care(struct server *server, struct server_care care)
{
    server->care = care;
}

enum { NO_SIGNAL = -1, TIDY_EVERY_MS = 1000 };

/* Waits for a signal or `other_fd`; the signal, 0 for the other, or NO_SIGNAL when the time is over. */
static int wait_for_signal(struct server *server, int other_fd, int timeout_ms)
{
    struct pollfd fds[] = {
        {.fd = server->signal_fd, .events = POLLIN},
        { .fd = other_fd,         .events = POLLIN}
    };
    struct signalfd_siginfo info;
    int count;

    do {
        count = poll(fds, ARRAY_COUNT(fds), timeout_ms);
    } while (count < 0 && errno == EINTR);
    if (count == 0)
        return NO_SIGNAL;
    return read(server->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)
               ? (int)info.ssi_signo
               : 0;
}

/* Until a signal or a request ends the service; true if it was a signal. */
static bool wait_for_end(struct server *server)
{
    const struct server_care *care = &server->care;

    for (;;) {
        int number = wait_for_signal(server, server->stop_fd, care->tidy ? TIDY_EVERY_MS : -1);
        if (number == NO_SIGNAL && care->tidy)
            care->tidy(care->context);
        else if (number == SIGHUP && care->reload)
            care->reload(care->context);
        else if (number == SIGUSR1 && care->report)
            care->report(care->context);
        else if (number != NO_SIGNAL && number != SIGHUP && number != SIGUSR1)
            return number != 0;
    }
}

static void wait_until_drained(struct server *server)
{
    struct pollfd drained = { .fd = connection_set_drained_fd(server->connections),
                              .events = POLLIN };

    while (poll(&drained, 1, -1) < 0)
        ASSERT(errno == EINTR);
}

void server_run(struct server *server)
{
    bool is_signal = wait_for_end(server);

    log_event(server->log, LOG_INFO, "server.stopping", "reason=%s connections=%zu",
              is_signal ? "signal" : "request", connection_set_count(server->connections));
    for (size_t i = 0; i < server->listener_count; i++)
        shutdown(server->listeners[i].fd, SHUT_RDWR);
    connection_set_stop(server->connections);
    for (size_t i = 0; i < server->listener_count; i++) {
        const struct offer *offer = &server->listeners[i].offer;
        if (offer->protocol->on_stop)
            offer->protocol->on_stop(offer->context);
    }
    wait_for_signal(server, connection_set_drained_fd(server->connections), LIMIT_STOP_GRACE_MS);
    connection_set_cut(server->connections);
    wait_until_drained(server);
    pool_end(server->pool);
    log_event(server->log, LOG_INFO, "server.stopped", "reason=%s",
              is_signal ? "signal" : "request");
}
