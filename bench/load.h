/* A light load generator: requests that were made in advance go out on connections that stay open, one at a time
 * on each, from one thread with epoll. It looks at a reply just enough to know whether it is the wanted one, and its
 * end, so that it costs little beside the server that shares the machine. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bench/bench.h"

enum { LOAD_CONNECTIONS_MAX = 256, LOAD_REPLY_BYTES = 16384 };

struct load_connection;

struct load_source {
    /* The next request; it must stay where it is until its reply is here. */
    bytes (*next)(void *context);
    void *context;
    /* Sets `whole` of the connection once enough of the reply is here to know it, and ends the program if it is not
     * the reply that is wanted. */
    void (*read_head)(struct load_connection *c, const struct load_source *source);
    unsigned wanted; /* what every reply must have: a status, or a number of bytes */
};

struct load_connection {
    int socket;
    size_t have, whole; /* of the reply; `whole` is 0 until its head is here */
    char reply[LOAD_REPLY_BYTES + 1];
};

struct load {
    int epoll;
    size_t count;
    struct load_connection *connections;
};

static inline void load_open(struct load *load, unsigned port, size_t count)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons((uint16_t)port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    BENCH_CLAIM(count <= LOAD_CONNECTIONS_MAX);
    *load = (struct load){ .epoll = epoll_create1(0), .count = count };
    load->connections = calloc(count, sizeof(*load->connections));
    BENCH_CLAIM(load->connections != NULL && load->epoll >= 0);
    for (size_t i = 0; i < count; i++) {
        struct load_connection *c = &load->connections[i];
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
        c->socket = socket(AF_INET, SOCK_STREAM, 0);
        BENCH_CLAIM(c->socket >= 0);
        BENCH_CLAIM(connect(c->socket, (const struct sockaddr *)&to, sizeof(to)) == 0);
        setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
        BENCH_CLAIM(epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->socket, &event) == 0);
    }
}

static inline void load_close(struct load *load)
{
    for (size_t i = 0; i < load->count; i++)
        close(load->connections[i].socket);
    close(load->epoll);
    free(load->connections);
}

/* Requests are far smaller than a socket's buffer, so that one send is enough. */
static inline void load_send(struct load_connection *c, const struct load_source *source)
{
    bytes request = source->next(source->context);

    c->have = c->whole = 0;
    BENCH_CLAIM(send(c->socket, request.data, request.len, 0) == (ssize_t)request.len);
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
    return c->whole > 0 && c->have >= c->whole;
}

struct load_result {
    double seconds;
    double requests;
};

/* Keeps every connection busy for so long, or until so many requests were sent; then waits for the replies under
 * way. */
static inline struct load_result load_run(struct load *load, const struct load_source *source,
                                          double seconds, uint64_t requests_max)
{
    struct epoll_event events[LOAD_CONNECTIONS_MAX];
    const double start = bench_now_s();
    uint64_t sent = 0, done = 0;

    for (size_t i = 0; i < load->count && sent < requests_max; i++, sent++)
        load_send(&load->connections[i], source);
    while (done < sent) {
        const int ready = epoll_wait(load->epoll, events, LOAD_CONNECTIONS_MAX, 10000);
        BENCH_CLAIM(ready > 0 || (ready < 0 && errno == EINTR));
        const bool goes_on = bench_now_s() - start < seconds;
        for (int i = 0; i < ready; i++) {
            struct load_connection *c = events[i].data.ptr;
            if (!load_receive(c, source))
                continue;
            done++;
            if (goes_on && sent < requests_max) {
                load_send(c, source);
                sent++;
            }
        }
    }
    return (struct load_result){ .seconds = bench_now_s() - start, .requests = (double)done };
}

#endif
