/* HTTP reader: requests from a stream of bytes, by the http_parser library.
 *
 * The library calls back with pieces of target, headers and body, cut wherever the input was cut. All
 * pieces of the head go into one buffer and are remembered by offset; they become `bytes` when the head
 * is complete and cannot move any more. The body is a second buffer, large enough from the start when
 * its length is announced. The library is paused at the end of each request, so a pipelined one stays
 * unread until this one is answered. A request that lies in the input as a whole and is plain is not
 * even shown to the library (http_head.c): it is copied in one piece, and the rest is the same.
 *
 * Keeps: head, target, number of headers and body stay within their limits; a request is refused as soon
 * as that is certain, before its body is read; one reader reads no more after a refusal.
 * Threads: none of its own. Start reading at http_reader_feed(). */
#include <http_parser.h>
#include <strings.h>

#include "front/http.h"
#include "front/http_head.h"

struct http_reader {
    http_parser parser;
    struct arena *arena;
    struct buffer head;     /* the pieces of it, one behind the other */
    struct http_head spans; /* in these pieces */
    struct buffer body;
    bool is_begun;
    bool is_in_value; /* the last piece belonged to a value: a name begins a new header */
    bool is_head_complete;
    bool wants_continue;
    bool is_complete;
    struct http_refusal refusal;
    struct http_request request;
};

static int on_target(http_parser *parser, const char *at, size_t len);
static int on_header_name(http_parser *parser, const char *at, size_t len);
static int on_header_value(http_parser *parser, const char *at, size_t len);
static int on_head_complete(http_parser *parser);
static int on_body(http_parser *parser, const char *at, size_t len);
static int on_complete(http_parser *parser);

static const http_parser_settings callbacks = {
    .on_url = on_target,
    .on_header_field = on_header_name,
    .on_header_value = on_header_value,
    .on_headers_complete = on_head_complete,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

struct http_reader *http_reader_open(void)
{
    return memory_take_zeroed(1, sizeof(struct http_reader));
}

void http_reader_close(struct http_reader *reader)
{
    memory_give(reader);
}

void http_reader_begin(struct http_reader *reader, struct arena *arena)
{
    reader->arena = arena;
    reader->head = buffer_in(arena);
    reader->body = buffer_in(arena);
    reader->is_in_value = true;
    reader->is_begun = reader->is_head_complete = false;
    reader->wants_continue = reader->is_complete = false;
    reader->refusal = (struct http_refusal){ 0 };
    reader->request = (struct http_request){ 0 };
}

const struct http_request *http_reader_request(const struct http_reader *reader)
{
    ASSERT(reader->is_complete);
    return &reader->request;
}

struct http_refusal http_reader_refusal(const struct http_reader *reader)
{
    ASSERT(reader->refusal.status != 0);
    return reader->refusal;
}

/* What the library itself did not like. */
static struct http_refusal refusal_of_parser(enum http_errno error)
{
    const char *why = http_errno_description(error);

    if (error == HPE_INVALID_VERSION)
        return (struct http_refusal){ 505, "only HTTP/1.0 and HTTP/1.1 are spoken here" };
    if (error == HPE_INVALID_METHOD)
        return (struct http_refusal){ 501, "the request does not begin with a known HTTP method" };
    if (error == HPE_HEADER_OVERFLOW)
        return (struct http_refusal){ 431, "the head of the request is too long" };
    return (struct http_refusal){ 400, why };
}

static bool is_plain_request(struct http_reader *reader, bytes input);
static enum http_progress take_plain_request(struct http_reader *reader, bytes input,
                                             size_t *consumed_out);
static void begin_library(struct http_reader *reader);

enum http_progress http_reader_feed(struct http_reader *reader, bytes input, size_t *consumed_out)
{
    ASSERT(!reader->is_complete && reader->refusal.status == 0 && input.len > 0);
    if (!reader->is_begun && is_plain_request(reader, input))
        return take_plain_request(reader, input, consumed_out);
    if (!reader->is_begun)
        begin_library(reader);
    *consumed_out = http_parser_execute(&reader->parser, &callbacks, (const char *)input.data,
                                        input.len);
    enum http_errno error = HTTP_PARSER_ERRNO(&reader->parser);
    if (reader->is_complete) {
        reader->request.body = bytes_of(reader->body.data, reader->body.len);
        return HTTP_COMPLETE;
    }
    if (error != HPE_OK) {
        if (reader->refusal.status == 0)
            reader->refusal = refusal_of_parser(error);
        return HTTP_REFUSED;
    }
    ASSERT(*consumed_out == input.len);
    if (reader->wants_continue) {
        reader->wants_continue = false;
        return HTTP_NEEDS_CONTINUE;
    }
    return HTTP_NEEDS_MORE;
}

/* The library stops when a callback answers something other than 0. */
static int refuse(struct http_reader *reader, unsigned status_number, const char *message)
{
    reader->refusal = (struct http_refusal){ status_number, message };
    return -1;
}

static int refuse_longer(struct http_reader *reader, unsigned status_number, const char *what,
                         int limit)
{
    const char *message = arena_format(reader->arena, "the request is refused: %s, limit %d", what,
                                       limit);
    return refuse(reader, status_number, message ? message : what);
}

static int refuse_memory(struct http_reader *reader)
{
    return refuse(reader, 503, "no memory for this request now; try again");
}

static void begin_library(struct http_reader *reader)
{
    http_parser_init(&reader->parser, HTTP_REQUEST);
    reader->parser.data = reader;
    reader->spans.target = (struct http_span){ 0, 0 };
    reader->spans.header_count = 0;
    reader->is_begun = true;
}

/* ---- the short way ---------------------------------------------------------------------------------- */

static bool is_plain_request(struct http_reader *reader, bytes input)
{
    return http_head_read(input, &reader->spans) &&
           reader->spans.body_len <= input.len - reader->spans.len;
}

static bool build_headers(struct http_reader *reader);
static bool build_target(struct http_reader *reader);

static enum http_progress take_plain_request(struct http_reader *reader, bytes input,
                                             size_t *consumed_out)
{
    struct http_request *request = &reader->request;
    const struct http_head *spans = &reader->spans;

    *consumed_out = spans->len + spans->body_len;
    buffer_append(&reader->head, bytes_of(input.data, *consumed_out));
    if (reader->head.is_failed || !build_headers(reader)) {
        refuse_memory(reader);
        return HTTP_REFUSED;
    }
    bool is_path = build_target(reader);
    ASSERT(is_path);
    request->method = spans->method;
    request->body = bytes_of(reader->head.data + spans->len, spans->body_len);
    request->is_keep_alive = true;
    reader->is_complete = true;
    return HTTP_COMPLETE;
}

/* ---- the head, from the library --------------------------------------------------------------------- */

static int append_head(struct http_reader *reader, const char *at, size_t len)
{
    if (len > LIMIT_HTTP_HEAD_BYTES - reader->head.len)
        return refuse_longer(reader, 431, "too many bytes of headers", LIMIT_HTTP_HEAD_BYTES);
    buffer_append(&reader->head, bytes_of(at, len));
    return reader->head.is_failed ? refuse_memory(reader) : 0;
}

static int on_target(http_parser *parser, const char *at, size_t len)
{
    struct http_reader *reader = parser->data;

    if (len > LIMIT_HTTP_TARGET_BYTES - reader->spans.target.upto)
        return refuse_longer(reader, 414, "too long a target", LIMIT_HTTP_TARGET_BYTES);
    reader->spans.target.upto += len;
    return append_head(reader, at, len);
}

static int on_header_name(http_parser *parser, const char *at, size_t len)
{
    struct http_reader *reader = parser->data;

    if (reader->is_head_complete)
        return 0; /* a trailer behind a chunked body: nothing here needs one */
    if (reader->is_in_value) {
        if (reader->spans.header_count == LIMIT_HTTP_HEADERS)
            return refuse_longer(reader, 431, "too many headers", LIMIT_HTTP_HEADERS);
        struct http_header_span *header = &reader->spans.headers[reader->spans.header_count++];
        header->name = (struct http_span){ reader->head.len, reader->head.len };
        header->value = (struct http_span){ 0, 0 };
        reader->is_in_value = false;
    }
    reader->spans.headers[reader->spans.header_count - 1].name.upto += len;
    return append_head(reader, at, len);
}

static int on_header_value(http_parser *parser, const char *at, size_t len)
{
    struct http_reader *reader = parser->data;

    if (reader->is_head_complete)
        return 0;
    struct http_header_span *header = &reader->spans.headers[reader->spans.header_count - 1];
    if (!reader->is_in_value)
        header->value = (struct http_span){ reader->head.len, reader->head.len };
    reader->is_in_value = true;
    header->value.upto += len;
    return append_head(reader, at, len);
}

static bytes head_span(const struct http_reader *reader, struct http_span span)
{
    return bytes_of(reader->head.data + span.from, span.upto - span.from);
}

/* The library lets a control character pass where a value begins. */
static bool has_control_character(bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        if ((value.data[i] < 0x20 && value.data[i] != '\t') || value.data[i] == 0x7f)
            return true;
    }
    return false;
}

/* White space behind a value is not part of it; the library leaves it there. */
static bytes without_end(bytes value)
{
    while (value.len > 0 && (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t'))
        value.len--;
    return value;
}

static bool build_headers(struct http_reader *reader)
{
    struct http_request *request = &reader->request;

    request->header_count = reader->spans.header_count;
    request->headers = arena_try_take(reader->arena,
                                      (reader->spans.header_count + 1) * sizeof(*request->headers));
    if (!request->headers)
        return false;
    for (size_t i = 0; i < reader->spans.header_count; i++) {
        request->headers[i].name = head_span(reader, reader->spans.headers[i].name);
        request->headers[i].value = without_end(head_span(reader, reader->spans.headers[i].value));
    }
    return true;
}

static void split_at_question_mark(struct http_request *request)
{
    bytes target = request->target;
    const uint8_t *mark = memchr(target.data, '?', target.len);

    if (!mark)
        return;
    request->path.len = (size_t)(mark - target.data);
    request->query = bytes_from(target, request->path.len + 1);
}

/* A target is a path with an optional query, a whole URL (to a proxy), or "*". A path may hold whatever
 * the library has let through: clients put the names of things there, not always escaped. */
static bool build_target(struct http_reader *reader)
{
    struct http_request *request = &reader->request;
    struct http_parser_url url;

    request->target = head_span(reader, reader->spans.target);
    request->path = request->target;
    if (bytes_equal(request->target, BYTES_LITERAL("*")))
        return true;
    if (request->target.data[0] == '/') {
        split_at_question_mark(request);
        return true;
    }
    http_parser_url_init(&url);
    if (http_parser_parse_url((const char *)request->target.data, request->target.len, 0, &url) !=
        0)
        return false;
    request->path = BYTES_LITERAL("/");
    if (url.field_set & (1 << UF_PATH))
        request->path = bytes_of(request->target.data + url.field_data[UF_PATH].off,
                                 url.field_data[UF_PATH].len);
    if (url.field_set & (1 << UF_QUERY))
        request->query = bytes_of(request->target.data + url.field_data[UF_QUERY].off,
                                  url.field_data[UF_QUERY].len);
    return true;
}

static bool name_is(bytes name, const char *wanted)
{
    return name.len == strlen(wanted) &&
           strncasecmp((const char *)name.data, wanted, name.len) == 0;
}

bool http_find_header(const struct http_request *request, const char *name, bytes *value_out)
{
    *value_out = BYTES_NONE;
    for (size_t i = 0; i < request->header_count; i++) {
        if (name_is(request->headers[i].name, name)) {
            *value_out = request->headers[i].value;
            return true;
        }
    }
    return false;
}

static size_t count_header(const struct http_request *request, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < request->header_count; i++)
        count += name_is(request->headers[i].name, name);
    return count;
}

/* Two ways to say where a body ends are an invitation to smuggle, so only one clear way is accepted. */
static int check_framing(struct http_reader *reader)
{
    const http_parser *parser = &reader->parser;
    bytes encoding;

    if ((parser->flags & F_CONTENTLENGTH) && parser->content_length > LIMIT_HTTP_BODY_BYTES)
        return refuse_longer(reader, 413, "too many bytes of body", LIMIT_HTTP_BODY_BYTES);
    if (!http_find_header(&reader->request, "transfer-encoding", &encoding))
        return 0;
    if (parser->flags & F_CONTENTLENGTH)
        return refuse(reader, 400, "Content-Length and Transfer-Encoding exclude each other");
    if (parser->http_minor == 0)
        return refuse(reader, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (count_header(&reader->request, "transfer-encoding") > 1 || !name_is(encoding, "chunked"))
        return refuse(reader, 501, "the only Transfer-Encoding understood here is chunked");
    return 0;
}

static int check_head(struct http_reader *reader)
{
    const http_parser *parser = &reader->parser;
    size_t host_count = count_header(&reader->request, "host");
    bytes expect;

    for (size_t i = 0; i < reader->request.header_count; i++) {
        bytes name = reader->request.headers[i].name;
        if (has_control_character(reader->request.headers[i].value))
            return refuse(reader, 400, "a header has a control character in its value");
        /* The library takes `Content-Length : 5` for a length, which others on the way may not. */
        if (memchr(name.data, ' ', name.len))
            return refuse(reader, 400, "a header has a space in its name or before its colon");
    }
    if (parser->http_major != 1 || parser->http_minor > 1)
        return refuse(reader, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    if (parser->method == HTTP_CONNECT)
        return refuse(reader, 501, "CONNECT is not possible: this is not a proxy");
    if (host_count > 1 || (host_count == 0 && parser->http_minor == 1))
        return refuse(reader, 400, "a request needs exactly one Host header");
    if (check_framing(reader) != 0)
        return -1;
    if (http_find_header(&reader->request, "expect", &expect)) {
        if (!name_is(expect, "100-continue"))
            return refuse(reader, 417, "the only Expect understood here is 100-continue");
        reader->wants_continue = parser->http_minor == 1 &&
                                 (parser->flags & (F_CHUNKED | F_CONTENTLENGTH));
    }
    return 0;
}

static int on_head_complete(http_parser *parser)
{
    struct http_reader *reader = parser->data;
    struct http_request *request = &reader->request;
    const char *method = http_method_str((enum http_method)parser->method);

    reader->is_head_complete = true;
    /* An Upgrade may be ignored; the library must not stop reading HTTP because of it. */
    parser->upgrade = 0;
    if (!build_headers(reader))
        return refuse_memory(reader);
    if (check_head(reader) != 0)
        return -1;
    if (!build_target(reader))
        return refuse(reader, 400, "the target of the request is not a valid URL or path");
    request->method = bytes_of_text(method);
    request->is_head = parser->method == HTTP_HEAD;
    request->is_version_1_0 = parser->http_minor == 0;
    request->is_keep_alive = http_should_keep_alive(parser) != 0;
    if ((parser->flags & F_CONTENTLENGTH) && parser->content_length > 0 &&
        !buffer_reserve(&reader->body, (size_t)parser->content_length))
        return refuse_memory(reader);
    return 0;
}

/* ---- the body --------------------------------------------------------------------------------------- */

static int on_body(http_parser *parser, const char *at, size_t len)
{
    struct http_reader *reader = parser->data;

    reader->wants_continue = false; /* it did not wait */
    if (len > LIMIT_HTTP_BODY_BYTES - reader->body.len)
        return refuse_longer(reader, 413, "too many bytes of body", LIMIT_HTTP_BODY_BYTES);
    buffer_append(&reader->body, bytes_of(at, len));
    return reader->body.is_failed ? refuse_memory(reader) : 0;
}

static int on_complete(http_parser *parser)
{
    struct http_reader *reader = parser->data;

    reader->is_complete = true;
    http_parser_pause(parser, 1);
    return 0;
}
