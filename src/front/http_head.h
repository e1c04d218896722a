/* Inside the HTTP reader: the head of a request, and the short way to one that lies in the input as a whole. */
#ifndef FRONT_HTTP_HEAD_H
#define FRONT_HTTP_HEAD_H

#include "base/base.h"
#include "base/limits.h"

struct http_span {
    size_t from, upto;
};

struct http_header_span {
    struct http_span name, value;
};

/* Spans count from the first byte of the head. */
struct http_head {
    bytes method; /* static */
    struct http_span target;
    size_t header_count;
    struct http_header_span headers[LIMIT_HTTP_HEADERS];
    size_t len;      /* with the empty line behind it */
    size_t body_len; /* as announced */
};

/* True for a plain head at the beginning of the input; false says nothing about the request. */
bool http_head_read(bytes input, struct http_head *out);

#endif
