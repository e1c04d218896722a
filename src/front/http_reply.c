/* HTTP replies: status line, headers and error bodies as bytes.
 *
 * Every reply carries its length, so connections stay open; an error is a JSON object with a short stable
 * code and a sentence for the person at the client.
 *
 * Pure apart from the arena; callable from every thread. */
#include <http_parser.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "front/http.h"
#include "value/value.h"

static const char *phrase(unsigned status_number)
{
    return http_status_str((enum http_status)status_number);
}

static void append_part(struct buffer *out, int number, size_t width, char behind)
{
    buffer_append_decimal(out, (uint64_t)number, width);
    buffer_append_byte(out, (uint8_t)behind);
}

/* Tue, 15 Nov 1994 08:12:31 GMT; the names are fixed by the protocol, whatever the locale. */
static void append_date(struct buffer *out, time_ms date)
{
    static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    time_t seconds = (time_t)(date / 1000);
    struct tm parts;

    if (!gmtime_r(&seconds, &parts))
        return;
    buffer_append_text(out, "Date: ");
    buffer_append_text(out, days[parts.tm_wday]);
    buffer_append_text(out, ", ");
    append_part(out, parts.tm_mday, 2, ' ');
    buffer_append_text(out, months[parts.tm_mon]);
    buffer_append_byte(out, ' ');
    append_part(out, parts.tm_year + 1900, 4, ' ');
    append_part(out, parts.tm_hour, 2, ':');
    append_part(out, parts.tm_min, 2, ':');
    append_part(out, parts.tm_sec, 2, ' ');
    buffer_append_text(out, "GMT\r\n");
}

bool http_status_has_no_body(unsigned status_number)
{
    return status_number < 200 || status_number == 204 || status_number == 304;
}

status http_reply_head(struct arena *arena, const struct http_reply *reply,
                       struct http_framing framing, bytes *out)
{
    enum { FIXED_HEADERS_BYTES = 192 };
    struct buffer head = buffer_in(arena);
    const char *type = reply->content_type ? reply->content_type : "application/json";
    bool has_no_body = http_status_has_no_body(reply->status);

    buffer_reserve(&head, reply->headers.len + FIXED_HEADERS_BYTES);
    buffer_append_text(&head, "HTTP/1.1 ");
    append_part(&head, (int)reply->status, 3, ' ');
    buffer_append_text(&head, phrase(reply->status));
    buffer_append_text(&head, "\r\n");
    append_date(&head, framing.date);
    if (!has_no_body) {
        buffer_append_text(&head, "Content-Type: ");
        buffer_append_text(&head, type);
        buffer_append_text(&head, "\r\nContent-Length: ");
        buffer_append_decimal(&head, reply->body.len, 1);
        buffer_append_text(&head, "\r\n");
    }
    if (framing.is_last)
        buffer_append_text(&head, "Connection: close\r\n");
    else if (framing.is_version_1_0)
        buffer_append_text(&head, "Connection: keep-alive\r\n");
    buffer_append(&head, reply->headers);
    buffer_append_text(&head, "\r\n");
    return buffer_finish(&head, out);
}

/* How long the UTF-8 sequence is that begins here; 1 if it is none. */
static size_t sequence_length(bytes text)
{
    uint8_t first = text.data[0];
    size_t len = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;

    return len <= text.len && text_is_utf8(bytes_of(text.data, len)) ? len : 1;
}

/* As \uXXXX, past U+FFFF as two of them. */
static void append_character(struct buffer *out, bytes sequence)
{
    uint32_t c = sequence.data[0];

    if (sequence.len > 1)
        c &= 0x7Fu >> sequence.len;
    for (size_t i = 1; i < sequence.len; i++)
        c = c << 6 | (sequence.data[i] & 0x3Fu);
    if (c >= 0x10000) {
        buffer_append_format(out, "\\u%04x", 0xD800u + ((c - 0x10000) >> 10));
        c = 0xDC00u + ((c - 0x10000) & 0x3FF);
    }
    buffer_append_format(out, "\\u%04x", c);
}

void http_append_json_text(struct buffer *out, bytes text)
{
    buffer_append_byte(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint8_t byte = text.data[i];
        size_t len = sequence_length(bytes_from(text, i));
        if (byte == '"' || byte == '\\')
            buffer_append_format(out, "\\%c", byte);
        else if (byte < 0x20 || byte >= 0x7f)
            append_character(out, bytes_of(text.data + i, len));
        else
            buffer_append_byte(out, byte);
        i += len;
    }
    buffer_append_byte(out, '"');
}

/* "Not Found" -> NotFound */
static void append_code(struct buffer *out, unsigned status_number)
{
    for (const char *letter = phrase(status_number); *letter; letter++) {
        if (*letter != ' ' && *letter != '-')
            buffer_append_byte(out, (uint8_t)*letter);
    }
}

struct http_reply http_reply_error(struct arena *arena, unsigned status_number, const char *format,
                                   ...)
{
    struct http_reply reply = { .status = status_number };
    struct buffer body = buffer_in(arena);
    va_list args;

    va_start(args, format);
    const char *message = arena_format_args(arena, format, args);
    va_end(args);
    buffer_append_text(&body, "{\"code\":\"");
    append_code(&body, status_number);
    buffer_append_text(&body, "\",\"message\":");
    http_append_json_text(&body, bytes_of_text(message ? message : phrase(status_number)));
    buffer_append_text(&body, "}");
    if (buffer_finish(&body, &reply.body).code != OK)
        reply.body = BYTES_LITERAL("{\"code\":\"ServiceUnavailable\",\"message\":\"no memory\"}");
    return reply;
}
