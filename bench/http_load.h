/* Replies over HTTP, for the load generator. */
#ifndef BENCH_HTTP_LOAD_H
#define BENCH_HTTP_LOAD_H

#include "bench/load.h"

/* Finds the end of the head and the length of the body, once the head is here. */
static inline void load_read_http(struct load_connection *c, const struct load_source *source)
{
    const char *end = strstr(c->reply, "\r\n\r\n");
    const char *length = strcasestr(c->reply, "\r\ncontent-length:");

    if (!end)
        return;
    BENCH_CLAIM(length != NULL && length < end);
    if (strtoul(c->reply + sizeof("HTTP/1.1"), NULL, 10) != source->wanted) {
        fprintf(stderr, "unexpected reply: %s\n", c->reply);
        exit(1);
    }
    c->whole = (size_t)(end - c->reply) + 4 + strtoul(length + 17, NULL, 10);
}

#endif
