/* HTTP head: the short way to a request as client libraries send them.
 *
 *   head   = ("GET" | "POST" | ...) SP "/" {plain} SP "HTTP/1.1" CRLF {header CRLF} CRLF
 *   header = name ":" {SP} {plain | SP}
 *   name   = {letter | digit | "-" | "_"}         plain = any of "!" to "~", in a target without "#"
 *
 * The library that reads HTTP goes from byte to byte and from callback to callback, which for a dozen headers
 * costs as much as all the rest of a small request. Almost every head arrives in one piece and is as plain as
 * this grammar; one that is not, for whatever reason, is left to the library, which knows all forms and names
 * what is wrong. So this accepts only what the library would read the same way, and refuses nothing: framing
 * other than by one Content-Length, Expect, Upgrade, a Connection that is not kept alive, a missing or
 * second Host, tabs and bytes beyond ASCII are all left to it.
 *
 * Pure; callable from every thread. Start reading at http_head_read(). */
#include "front/http_head.h"

#include <strings.h>

/* What is left of the head. */
struct rest {
    const uint8_t *start, *at, *end;
};

/* How often the headers that decide something were there. */
struct seen {
    unsigned hosts, lengths;
};

static const struct method {
    const char *name;
    size_t len;
} methods[] = {
    {"GET",     3},
    { "POST",   4},
    { "PUT",    3},
    { "PATCH",  5},
    { "DELETE", 6},
};

static bool read_method(struct rest *rest, bytes *out)
{
    size_t len = (size_t)(rest->end - rest->at);

    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        const struct method *method = &methods[i];
        if (len <= method->len || memcmp(rest->at, method->name, method->len) != 0 ||
            rest->at[method->len] != ' ')
            continue;
        *out = bytes_of(method->name, method->len);
        rest->at += method->len + 1;
        return true;
    }
    return false;
}

/* All bytes are from SP to "~"; eight at a time. */
static bool is_plain(const uint8_t *at, size_t len)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t odd = 0;

    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        /* Below SP, DEL, or with its top bit set; a borrow can only come from an odd byte below. */
        odd |= ((word - ones * 0x20) | (word + ones) | word) & tops;
    }
    for (; len > 0; at++, len--)
        odd |= *at < 0x20 || *at >= 0x7f;
    return odd == 0;
}

/* The line up to its CRLF, of plain bytes only; `at` moves behind it. */
static bool read_line(struct rest *rest, bytes *out)
{
    size_t room = (size_t)(rest->end - rest->at);
    const uint8_t *end = room > 0 ? memchr(rest->at, '\r', room) : NULL;

    if (!end || end + 1 == rest->end || end[1] != '\n')
        return false;
    *out = bytes_of(rest->at, (size_t)(end - rest->at));
    rest->at = end + 2;
    return is_plain(out->data, out->len);
}

static struct http_span span_of(const struct rest *rest, bytes text)
{
    size_t from = (size_t)(text.data - rest->start);

    return (struct http_span){ from, from + text.len };
}

static bool read_target(struct rest *rest, struct http_span *out)
{
    static const char version[] = " HTTP/1.1";
    const size_t version_len = sizeof(version) - 1;
    bytes line;

    if (!read_line(rest, &line) || line.len <= version_len)
        return false;
    bytes target = bytes_of(line.data, line.len - version_len);
    *out = span_of(rest, target);
    return memcmp(target.data + target.len, version, version_len) == 0 && target.data[0] == '/' &&
           target.len <= LIMIT_HTTP_TARGET_BYTES && !memchr(target.data, ' ', target.len) &&
           !memchr(target.data, '#', target.len);
}

static size_t name_len(bytes line)
{
    size_t len = 0;

    for (; len < line.len; len++) {
        uint8_t byte = line.data[len], small = byte | 0x20;
        bool is_name = (small >= 'a' && small <= 'z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '_';
        if (!is_name)
            break;
    }
    return len;
}

static bytes without_spaces(bytes value)
{
    while (value.len > 0 && value.data[0] == ' ')
        value = bytes_from(value, 1);
    while (value.len > 0 && value.data[value.len - 1] == ' ')
        value.len--;
    return value;
}

static bool begins_with(bytes text, const char *wanted)
{
    size_t len = strlen(wanted);

    return text.len >= len && strncasecmp((const char *)text.data, wanted, len) == 0;
}

static bool is_text(bytes text, const char *wanted)
{
    return text.len == strlen(wanted) && begins_with(text, wanted);
}

static bool read_length(bytes value, size_t *out)
{
    enum { DIGITS_MAX = 8 };

    *out = 0;
    if (value.len == 0 || value.len > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return false;
        *out = *out * 10 + (size_t)(value.data[i] - '0');
    }
    return *out <= LIMIT_HTTP_BODY_BYTES;
}

/* False for headers that say more about the request than this file understands. The library takes some
 * names that only begin like one of its own for that one; whatever it makes of them, it shall. */
static bool is_understood(bytes name, bytes value, struct seen *seen, size_t *body_len)
{
    switch (name.data[0] | 0x20) {
    case 'h':
        seen->hosts += is_text(name, "host");
        return true;
    case 'e':
        return !is_text(name, "expect");
    case 'c':
        if (is_text(name, "content-length"))
            return seen->lengths++ == 0 && read_length(value, body_len);
        if (is_text(name, "connection"))
            return is_text(value, "keep-alive");
        return !begins_with(name, "content-length") && !begins_with(name, "connection");
    case 'p':
        return !begins_with(name, "proxy-connection");
    case 't':
        return !begins_with(name, "transfer-encoding");
    case 'u':
        return !begins_with(name, "upgrade");
    default:
        return true;
    }
}

static bool read_header(const struct rest *rest, bytes line, struct http_head *out,
                        struct seen *seen)
{
    bytes name = bytes_of(line.data, name_len(line));

    if (name.len == 0 || name.len == line.len || line.data[name.len] != ':' ||
        out->header_count == LIMIT_HTTP_HEADERS)
        return false;
    bytes value = without_spaces(bytes_from(line, name.len + 1));
    struct http_header_span *header = &out->headers[out->header_count++];
    header->name = span_of(rest, name);
    header->value = span_of(rest, value);
    return is_understood(name, value, seen, &out->body_len);
}

bool http_head_read(bytes input, struct http_head *out)
{
    struct rest rest = { input.data, input.data, input.data + input.len };
    struct seen seen = { 0 };
    bytes line;

    out->header_count = out->body_len = 0;
    if (!read_method(&rest, &out->method) || !read_target(&rest, &out->target))
        return false;
    for (;;) {
        if (!read_line(&rest, &line))
            return false;
        if (line.len == 0)
            break;
        if (!read_header(&rest, line, out, &seen))
            return false;
    }
    out->len = (size_t)(rest.at - rest.start);
    return seen.hosts == 1 && out->len <= LIMIT_HTTP_HEAD_BYTES;
}
