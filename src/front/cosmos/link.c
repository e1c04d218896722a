/* Link: a request's target as decoded parts.
 *
 * Keeps: a part is decoded once, so an id that itself looks escaped comes through; no part is empty; the
 * number of parts is bounded. Pure apart from the arena. Start reading at link_parse(). */
#include "front/cosmos/link.h"

#include "value/value.h"

static int hex_digit(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

/* Escapes are few, so what lies between them is copied in one piece. */
status percent_decode(struct arena *arena, bytes text, bytes *out)
{
    const uint8_t *escape = text.len ? memchr(text.data, '%', text.len) : NULL;
    bytes rest = text;
    uint8_t *plain;
    size_t len = 0;

    *out = text;
    if (!escape)
        return STATUS_OK;
    TRY(arena_take(arena, text.len, (void **)&plain));
    for (; escape; escape = rest.len ? memchr(rest.data, '%', rest.len) : NULL) {
        size_t before = (size_t)(escape - rest.data);
        int high = before + 2 < rest.len ? hex_digit(escape[1]) : -1;
        int low = high >= 0 ? hex_digit(escape[2]) : -1;
        if (low < 0)
            return status_fail(arena, INVALID, "it has an incomplete percent escape at offset %zu",
                               (size_t)(escape - text.data));
        memcpy(plain + len, rest.data, before);
        plain[len + before] = (uint8_t)(high << 4 | low);
        len += before + 1;
        rest = bytes_from(rest, before + 3);
    }
    if (rest.len > 0)
        memcpy(plain + len, rest.data, rest.len);
    *out = bytes_of(plain, len + rest.len);
    return STATUS_OK;
}

static status decode_part(struct arena *arena, bytes part, bytes *out)
{
    status s = percent_decode(arena, part, out);

    if (s.code != OK)
        return status_in(arena, s, "part \"%.*s\"", (int)part.len, (const char *)part.data);
    if (!text_is_utf8(*out))
        return status_of(INVALID, "the url is not UTF-8");
    return STATUS_OK;
}

/* http://host/path, as sent to a proxy, is the path. */
static bytes without_origin(bytes target)
{
    for (size_t i = 0; i + 2 < target.len && target.data[0] != '/'; i++) {
        if (memcmp(target.data + i, "://", 3) == 0) {
            bytes rest = bytes_from(target, i + 3);
            const uint8_t *slash = memchr(rest.data, '/', rest.len);
            return slash ? bytes_from(rest, (size_t)(slash - rest.data)) : BYTES_LITERAL("/");
        }
    }
    return target;
}

/* Everything behind .../docs/ is the item's id. */
static bool is_item_id(const struct link *link)
{
    return link->count == 5 && bytes_equal(link->parts[4], BYTES_LITERAL("docs"));
}

static bytes take_part(bytes *rest)
{
    const uint8_t *slash = rest->len ? memchr(rest->data, '/', rest->len) : NULL;
    size_t len = slash ? (size_t)(slash - rest->data) : rest->len;
    bytes part = bytes_of(rest->data, len);

    *rest = bytes_from(*rest, slash ? len + 1 : len);
    return part;
}

status link_parse(struct arena *arena, bytes target, struct link *out)
{
    bytes rest = without_origin(target);
    bool is_query_cut = false;

    *out = (struct link){ 0 };
    while (rest.len > 0 && rest.data[0] == '/')
        rest = bytes_from(rest, 1);
    out->path = rest;
    while (rest.len > 0 && !is_query_cut) {
        bytes part = take_part(&rest);
        if (!is_item_id(out)) {
            const uint8_t *mark = part.len ? memchr(part.data, '?', part.len) : NULL;
            is_query_cut = mark != NULL;
            part.len = mark ? (size_t)(mark - part.data) : part.len;
        }
        if (part.len == 0)
            continue;
        if (out->count == LINK_PARTS_MAX)
            return status_fail(arena, INVALID, "the url has more than %d parts", LINK_PARTS_MAX);
        TRY(decode_part(arena, part, &out->parts[out->count]));
        out->path.len = (size_t)(part.data + part.len - out->path.data);
        out->count++;
    }
    if (out->count == 0)
        out->path.len = 0;
    return STATUS_OK;
}

void link_append_encoded(struct buffer *out, bytes part)
{
    for (size_t i = 0; i < part.len; i++) {
        uint8_t byte = part.data[i];
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') || memchr("-_.~", byte, 4);
        if (is_plain)
            buffer_append_byte(out, byte);
        else
            buffer_append_format(out, "%%%02X", byte);
    }
}
