/* Key file: one to four keys in base64.
 *
 *   file = { ( [ name "=" ] key | "#" comment | ) "\n" }
 *   name = "primary" | "secondary" | "primary-read-only" | "secondary-read-only"
 *
 * Without names the first key is the primary one and the second one the primary one that only reads.
 *
 * Keeps: the memory that the file was read into is wiped before anyone goes on.
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

/* Where the key of a line goes, which is taken off its name; NULL for a line without a name. */
static const char **find_place(bytes *line, struct key_file *out)
{
    const struct {
        const char *name;
        const char **place;
    } places[] = {
        {"primary",              &out->primary            },
        { "secondary",           &out->secondary          },
        { "primary-read-only",   &out->primary_read_only  },
        { "secondary-read-only", &out->secondary_read_only},
    };
    const uint8_t *equals = memchr(line->data, '=', line->len);

    if (!equals)
        return NULL;
    bytes name = bytes_trimmed(bytes_of(line->data, (size_t)(equals - line->data)));
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        if (bytes_equal(name, bytes_of_text(places[i].name))) {
            *line = bytes_trimmed(bytes_from(*line, (size_t)(equals - line->data) + 1));
            return places[i].place;
        }
    }
    return NULL;
}

/* The name of a line that has one which is not known: short, and something follows behind the = that is not the end of
 * a key. Whatever else it is might be a secret. */
static bytes unknown_name(bytes line)
{
    const uint8_t *equals = memchr(line.data, '=', line.len);
    const bytes name =
        bytes_trimmed(bytes_of(line.data, equals ? (size_t)(equals - line.data) : 0));

    if (name.len == 0 || name.len >= KEY_BYTES_MIN ||
        bytes_trimmed(bytes_from(line, (size_t)(equals - line.data) + 1)).len < KEY_BYTES_MIN)
        return BYTES_NONE;
    for (size_t i = 0; i < name.len; i++) {
        if (!isalpha(name.data[i]) && name.data[i] != '-' && name.data[i] != '_')
            return BYTES_NONE;
    }
    return name;
}

static status take_key(struct arena *arena, const char *path, size_t number, bytes key,
                       const char **out)
{
    const bytes name = unknown_name(key);

    if (name.len > 0)
        return status_fail(arena, INVALID,
                           "%s: line %zu names a key \"%.*s\"; the names are primary, secondary, "
                           "primary-read-only and secondary-read-only",
                           path, number, (int)name.len, (const char *)name.data);
    if (key.len < KEY_BYTES_MIN || !is_base64(key))
        return status_fail(arena, INVALID,
                           "%s: line %zu is not a key in base64 of at least %d characters", path,
                           number, KEY_BYTES_MIN);
    if (*out)
        return status_fail(arena, INVALID, "%s: line %zu has a key that was there already", path,
                           number);
    *out = arena_format(arena, "%.*s", (int)key.len, (const char *)key.data);
    return *out ? STATUS_OK : arena_exhausted(arena);
}

static status parse(struct arena *arena, const char *path, bytes rest, struct key_file *out)
{
    const char **in_order[] = { &out->primary, &out->primary_read_only };
    size_t unnamed = 0, number = 0;
    bytes line;

    while (take_line(&rest, &line)) {
        number++;
        if (line.len == 0 || line.data[0] == '#')
            continue;
        const char **place = find_place(&line, out);
        if (!place && unnamed == ARRAY_COUNT(in_order))
            return status_fail(arena, INVALID,
                               "%s has more than two lines; expected the key, and on a second line "
                               "perhaps a key that only reads, or lines such as secondary = key",
                               path);
        TRY(take_key(arena, path, number, line, place ? place : in_order[unnamed++]));
    }
    if (!out->primary && (out->secondary || out->primary_read_only || out->secondary_read_only))
        return status_fail(arena, INVALID,
                           "%s has no primary key; expected a line primary = and a key in base64",
                           path);
    if (!out->primary)
        return status_fail(arena, INVALID, "%s is empty; expected a key in base64", path);
    return STATUS_OK;
}

status key_file_read(struct arena *arena, const char *path, struct key_file *out)
{
    bytes content;

    *out = (struct key_file){ 0 };
    TRY(file_read(arena, path, LIMIT_KEY_FILE_BYTES, &content));
    const status s = parse(arena, path, content, out);
    explicit_bzero((void *)content.data, content.len);
    if (s.code != OK)
        key_file_wipe(out);
    return s;
}

void key_file_wipe(const struct key_file *keys)
{
    const char *all[] = { keys->primary, keys->secondary, keys->primary_read_only,
                          keys->secondary_read_only };

    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        if (all[i])
            explicit_bzero((void *)all[i], strlen(all[i]));
    }
}
