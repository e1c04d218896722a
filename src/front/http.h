/* HTTP/1.1 without sockets: bytes in, requests out; replies as bytes. A reader takes the input in pieces
 * of any size, one request at a time, and keeps every limit; a request it refuses has a status code and a
 * sentence for the person at the client. */
#ifndef FRONT_HTTP_H
#define FRONT_HTTP_H

#include "base/base.h"

struct http_header {
    bytes name;
    bytes value;
};

/* Everything lies in the arena of the request. */
struct http_request {
    bytes method; /* GET, POST ... */
    bytes target; /* as sent */
    bytes path;   /* of the target, still percent-encoded */
    bytes query;  /* without the question mark */
    size_t header_count;
    struct http_header *headers; /* in the order sent */
    bytes body;
    bool is_head;
    bool is_keep_alive;
    bool is_version_1_0;
};

/* The value of the first header of that name, in any case; false if there is none. */
bool http_find_header(const struct http_request *request, const char *name, bytes *value_out);

/* ---- reading ---------------------------------------------------------------------------------------- */

struct http_reader;

enum http_progress {
    HTTP_NEEDS_MORE,     /* all input was consumed */
    HTTP_NEEDS_CONTINUE, /* the client waits for "100 Continue" before it sends the body */
    HTTP_COMPLETE,       /* a request is there; what follows it was not consumed */
    HTTP_REFUSED,        /* see http_reader_refusal(); nothing more can be read */
};

/* Owner: handle. NULL without memory. */
struct http_reader *http_reader_open(void);
void http_reader_close(struct http_reader *reader);
/* The next request is read into `arena` (borrowed until the request is done with). */
void http_reader_begin(struct http_reader *reader, struct arena *arena);
enum http_progress http_reader_feed(struct http_reader *reader, bytes input, size_t *consumed_out);
/* After HTTP_COMPLETE; in the arena. */
const struct http_request *http_reader_request(const struct http_reader *reader);

struct http_refusal {
    unsigned status;
    const char *message;
};
struct http_refusal http_reader_refusal(const struct http_reader *reader);

/* ---- replying --------------------------------------------------------------------------------------- */

struct http_reply {
    unsigned status;
    const char *content_type; /* NULL: application/json */
    bytes headers;            /* further lines, each with its CRLF */
    bytes body;
};

/* {"code":"NotFound","message":"..."}, in the arena. */
struct http_reply http_reply_error(struct arena *arena, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct http_framing {
    time_ms date;
    bool is_last;        /* the connection is closed behind this reply */
    bool is_version_1_0; /* of the request */
};
/* 1xx, 204 and 304 end with their head. */
bool http_status_has_no_body(unsigned status);
/* Status line and headers, to be followed by the body. */
MUST_USE status http_reply_head(struct arena *arena, const struct http_reply *reply,
                                struct http_framing framing, bytes *out);

/* A JSON string with its quotes, in ASCII; bytes that are no UTF-8 are escaped one by one. */
void http_append_json_text(struct buffer *out, bytes text);

#endif
