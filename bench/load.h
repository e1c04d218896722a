/* A light load generator, the same for every server that is measured: requests that were made in advance or are put
 * together from parts go out on connections that stay open, one at a time on each, from one thread with epoll. A
 * source looks at a reply just enough to know whether it is the wanted one, and its end, so that the generator costs
 * little beside the server that shares the machine. As fast as replies come, or at a given pace; then a request that
 * could not be sent in time counts from the moment when it was due. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bench/latency.h"

enum { LOAD_CONNECTIONS_MAX = 256, LOAD_REPLY_BYTES = 16384 };

struct load_connection;

struct load_source {
    /* The next request; it must stay where it is until its reply is here. */
    bytes (*next)(void *context, struct load_connection *c);
    void *context;
    /* Sets `whole` of the connection once enough of the reply is here to know it, and ends the program if it is not
     * the reply that is wanted. */
    void (*read_head)(struct load_connection *c, const struct load_source *source);
    /* Told of each reply that is complete, and how long it took; NULL: nobody wants to know. */
    void (*done)(void *context, struct load_connection *c, double seconds);
    unsigned wanted; /* what every reply must have: a status, or a number of bytes */
};

struct load_connection {
    int socket;
    bool is_busy;
    size_t have, whole; /* of the reply; `whole` is 0 until its head is here */
    double sent_at;     /* or when it was due */
    /* What the source wants to remember of the request under way. */
    int kind, outcome;
    uint64_t number, turn;
    int64_t asked_ms;
    char *room; /* of the source, for its request; freed with the connection */
    char reply[LOAD_REPLY_BYTES + 1];
};

struct load {
    int epoll;
    size_t count;
    struct load_connection *connections;
};

static inline int load_connect(unsigned port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int s = socket(AF_INET, SOCK_STREAM, 0);

    BENCH_CLAIM(s >= 0);
    BENCH_CLAIM(connect(s, (const struct sockaddr *)&to, sizeof(to)) == 0);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    return s;
}

static inline void load_open(struct load *load, unsigned port, size_t count)
{
    BENCH_CLAIM(count <= LOAD_CONNECTIONS_MAX);
    *load = (struct load){ .epoll = epoll_create1(0), .count = count };
    load->connections = calloc(count, sizeof(*load->connections));
    BENCH_CLAIM(load->connections != NULL && load->epoll >= 0);
    for (size_t i = 0; i < count; i++) {
        struct load_connection *c = &load->connections[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
        c->socket = load_connect(port);
        BENCH_CLAIM(epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->socket, &event) == 0);
    }
}

static inline void load_close(struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        close(load->connections[i].socket);
        free(load->connections[i].room);
    }
    close(load->epoll);
    free(load->connections);
}

static inline void load_send_all(int s, bytes request)
{
    for (size_t sent = 0; sent < request.len;) {
        const ssize_t now = send(s, (const char *)request.data + sent, request.len - sent, 0);
        BENCH_CLAIM(now > 0);
        sent += (size_t)now;
    }
}

static inline void load_send(struct load_connection *c, const struct load_source *source,
                             double now)
{
    bytes request = source->next(source->context, c);

    c->have = c->whole = 0;
    c->is_busy = true;
    c->sent_at = now;
    load_send_all(c->socket, request);
}

/* True when the reply is complete. */
static inline bool load_receive(struct load_connection *c, const struct load_source *source)
{
    const ssize_t got = recv(c->socket, c->reply + c->have, LOAD_REPLY_BYTES - c->have, 0);

    BENCH_CLAIM(got > 0);
    c->have += (size_t)got;
    c->reply[c->have] = '\0';
    if (c->whole == 0)
        source->read_head(c, source);
    BENCH_CLAIM(c->whole <= LOAD_REPLY_BYTES);
    if (c->whole == 0 || c->have < c->whole)
        return false;
    c->is_busy = false;
    if (source->done)
        source->done(source->context, c, bench_now_s() - c->sent_at);
    return true;
}

struct load_result {
    double seconds;
    double requests;
};

/* Keeps `count` of the connections busy for so long, or until so many requests were sent; then waits for the replies
 * under way. */
static inline struct load_result load_run_on(struct load *load, size_t count,
                                             const struct load_source *source, double seconds,
                                             uint64_t requests_max)
{
    struct epoll_event events[LOAD_CONNECTIONS_MAX];
    const double start = bench_now_s();
    uint64_t sent = 0, done = 0;

    BENCH_CLAIM(count <= load->count);
    for (size_t i = 0; i < count && sent < requests_max; i++, sent++)
        load_send(&load->connections[i], source, bench_now_s());
    while (done < sent) {
        const int ready = epoll_wait(load->epoll, events, LOAD_CONNECTIONS_MAX, 60000);
        BENCH_CLAIM(ready > 0 || (ready < 0 && errno == EINTR));
        const bool goes_on = bench_now_s() - start < seconds;
        for (int i = 0; i < ready; i++) {
            struct load_connection *c = events[i].data.ptr;
            if (!load_receive(c, source))
                continue;
            done++;
            if (goes_on && sent < requests_max) {
                load_send(c, source, bench_now_s());
                sent++;
            }
        }
    }
    return (struct load_result){ .seconds = bench_now_s() - start, .requests = (double)done };
}

/* The same with all connections. */
static inline struct load_result load_run(struct load *load, const struct load_source *source,
                                          double seconds, uint64_t requests_max)
{
    return load_run_on(load, load->count, source, seconds, requests_max);
}

/* Sends what is due on connections that are idle; how many. What finds none stays due. */
static inline uint64_t load_send_due(struct load *load, const struct load_source *source,
                                     double *due, double step)
{
    uint64_t sent = 0;

    for (size_t i = 0; i < load->count && *due <= bench_now_s(); i++) {
        if (load->connections[i].is_busy)
            continue;
        load_send(&load->connections[i], source, *due);
        *due += step;
        sent++;
    }
    return sent;
}

/* So many requests a second for so long, whether replies come or not; then waits for the replies under way. */
static inline struct load_result load_pace(struct load *load, const struct load_source *source,
                                           double per_second, double seconds)
{
    struct epoll_event events[LOAD_CONNECTIONS_MAX];
    const double start = bench_now_s();
    double due = start;
    uint64_t sent = 0, done = 0;

    while (due < start + seconds || done < sent) {
        if (due < start + seconds)
            sent += load_send_due(load, source, &due, 1 / per_second);
        const double now = bench_now_s(), pause = due - now;
        /* Behind the end, or with every connection busy, only replies can help. */
        const bool can_send = due < start + seconds && sent - done < load->count;
        const long wait_ns = can_send && pause < 0.01 ? (pause > 0 ? (long)(pause * 1e9) : 0)
                                                      : 10000000;
        const int ready = epoll_pwait2(load->epoll, events, LOAD_CONNECTIONS_MAX,
                                       &(struct timespec){ .tv_nsec = wait_ns }, NULL);
        BENCH_CLAIM(ready >= 0 || errno == EINTR);
        BENCH_CLAIM(now - start < seconds + 120);
        for (int i = 0; i < ready; i++)
            done += load_receive(events[i].data.ptr, source);
    }
    return (struct load_result){ .seconds = bench_now_s() - start, .requests = (double)done };
}

#endif
