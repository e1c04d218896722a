/* Key file: one or two keys in base64.
 *
 *   file = key "\n" [ key "\n" ]      the first one may do everything, the second one only read
 *
 * Threads: any; no state. */
#include "server/key_file.h"

#include <ctype.h>

#include "base/limits.h"
#include "server/file.h"

enum { KEY_BYTES_MIN = 24 };

/* Letters, digits, + and /, and at the end up to two = that make the length a multiple of four. */
static bool is_base64(bytes text)
{
    size_t len = text.len;

    while (len > 0 && text.len - len < 2 && text.data[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        if (!isalnum(text.data[i]) && text.data[i] != '+' && text.data[i] != '/')
            return false;
    }
    return text.len % 4 == 0;
}

/* The next line without its white space; false at the end of the file. */
static bool take_line(bytes *rest, bytes *line_out)
{
    if (rest->len == 0)
        return false;
    const uint8_t *end = memchr(rest->data, '\n', rest->len);
    bytes line = bytes_of(rest->data, end ? (size_t)(end - rest->data) : rest->len);
    *rest = bytes_from(*rest, line.len + (end != NULL));
    while (line.len > 0 && isspace(line.data[line.len - 1]))
        line.len--;
    *line_out = line;
    return true;
}

status key_file_read(struct arena *arena, const char *path, struct key_file *out)
{
    const char **keys[] = { &out->master, &out->read_only };
    size_t count = 0;
    bytes rest, line;

    *out = (struct key_file){ 0 };
    TRY(file_read(arena, path, LIMIT_KEY_FILE_BYTES, &rest));
    while (take_line(&rest, &line)) {
        if (line.len == 0)
            continue;
        if (count == ARRAY_COUNT(keys))
            return status_fail(arena, INVALID,
                               "%s has more than two lines; expected the key, and on a second line "
                               "perhaps a key that only reads",
                               path);
        if (line.len < KEY_BYTES_MIN || !is_base64(line))
            return status_fail(arena, INVALID,
                               "%s: line %zu is not a key in base64 of at least %d characters",
                               path, count + 1, KEY_BYTES_MIN);
        *keys[count++] = arena_format(arena, "%.*s", (int)line.len, (const char *)line.data);
    }
    if (count == 0)
        return status_fail(arena, INVALID, "%s is empty; expected a key in base64", path);
    return out->master && (count == 1 || out->read_only) ? STATUS_OK : arena_exhausted(arena);
}
