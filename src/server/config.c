/* Configuration: options from the command line and from a file, checked against one table.
 *
 *   file = { line }        line = [ name [ "=" value ] ] [ "#" comment ] "\n"
 *
 * First all texts are gathered, each in the place of its row in config.def; where the command line and
 * the file both have one, the command line wins, and of two the later one. Then every text is checked,
 * defaults included, and becomes a field of struct config.
 *
 * Threads: called once, before there are any. Start reading at config_read(). */
#include "server/config.h"
#include "base/limits.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum option {
#define CONFIG(name, commands, argument, default_text, help) OPTION_##name,
#include "server/config.def"
#undef CONFIG
    OPTION_COUNT
};

struct option_row {
    const char *name; /* with underscores */
    unsigned commands;
    const char *argument; /* "" for a flag */
    const char *default_text;
    const char *help;
};

static const struct option_row table[] = {
#define CONFIG(name, commands, argument, default_text, help) \
    { #name, commands, argument, default_text, help },
#include "server/config.def"
#undef CONFIG
};

/* NULL: not given. */
struct option_texts {
    const char *texts[OPTION_COUNT];
};

static const char flag_is_set[] = "true";

static bool is_flag(const struct option_row *row)
{
    return row->argument[0] == '\0';
}

/* ---- finding an option ------------------------------------------------------------------------------ */

static bool name_equals(const char *row_name, bytes name)
{
    if (strlen(row_name) != name.len)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char wanted = row_name[i] == '_' ? '-' : row_name[i];
        if (wanted != (char)name.data[i])
            return false;
    }
    return true;
}

static status find_option(struct arena *arena, enum command command, bytes name, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (name_equals(table[i].name, name) && (table[i].commands & command)) {
            *out = i;
            return STATUS_OK;
        }
    }
    return status_fail(arena, INVALID, "there is no option \"%.*s\"; --help lists them",
                       (int)name.len, (const char *)name.data);
}

/* Name as it is written on the command line. */
static const char *dashed(struct arena *arena, const struct option_row *row)
{
    size_t len = strlen(row->name);
    char *text = arena_try_take(arena, len + 3);

    if (!text)
        return row->name;
    text[0] = text[1] = '-';
    for (size_t i = 0; i <= len; i++)
        text[i + 2] = row->name[i] == '_' ? '-' : row->name[i];
    return text;
}

/* ---- the command line ------------------------------------------------------------------------------- */

static status read_argument(struct arena *arena, enum command command, char *const *arguments,
                            size_t argument_count, size_t *at, struct option_texts *out)
{
    const char *argument = arguments[*at];
    const char *equals = strchr(argument, '=');
    size_t option;

    if (strncmp(argument, "--", 2) != 0)
        return status_fail(arena, INVALID, "\"%s\" is not an option; --help lists them", argument);
    size_t name_len = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
    TRY(find_option(arena, command, bytes_of(argument + 2, name_len), &option));
    const struct option_row *row = &table[option];
    (*at)++;
    if (is_flag(row)) {
        if (equals)
            return status_fail(arena, INVALID, "%s takes no value", dashed(arena, row));
        out->texts[option] = flag_is_set;
        return STATUS_OK;
    }
    if (!equals && *at == argument_count)
        return status_fail(arena, INVALID, "%s needs a value: %s", dashed(arena, row),
                           row->argument);
    out->texts[option] = equals ? equals + 1 : arguments[(*at)++];
    return STATUS_OK;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static status read_file(struct arena *arena, const char *path, bytes *out)
{
    void *data;
    status s = STATUS_OK;

    *out = BYTES_NONE;
    TRY(arena_take(arena, LIMIT_CONFIG_FILE_BYTES, &data));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return status_fail(arena, IO_ERROR, "--config %s: %s", path, strerror(errno));
    size_t len = 0;
    ssize_t more = 1;
    while (more > 0 && len < LIMIT_CONFIG_FILE_BYTES) {
        more = read(fd, (uint8_t *)data + len, LIMIT_CONFIG_FILE_BYTES - len);
        len += more > 0 ? (size_t)more : 0;
    }
    if (more < 0)
        s = status_fail(arena, IO_ERROR, "--config %s: %s", path, strerror(errno));
    else if (len == LIMIT_CONFIG_FILE_BYTES)
        s = status_fail(arena, TOO_LARGE, "--config %s: longer than the limit of %d bytes", path,
                        LIMIT_CONFIG_FILE_BYTES);
    close(fd);
    *out = bytes_of(data, len);
    return s;
}

static bytes trimmed(bytes text)
{
    while (text.len > 0 && isspace(text.data[0]))
        text = bytes_from(text, 1);
    while (text.len > 0 && isspace(text.data[text.len - 1]))
        text.len--;
    return text;
}

/* The text before `mark`, all of it if there is none; `rest_out` is what stands behind. */
static bytes before(bytes text, char mark, bytes *rest_out)
{
    const uint8_t *found = text.len ? memchr(text.data, mark, text.len) : NULL;
    size_t len = found ? (size_t)(found - text.data) : text.len;

    *rest_out = bytes_from(text, found ? len + 1 : len);
    return bytes_of(text.data, len);
}

static status read_line(struct arena *arena, enum command command, bytes line,
                        struct option_texts *out)
{
    bytes comment, value;
    bytes plain = before(line, '#', &comment);
    bool has_value = plain.len > 0 && memchr(plain.data, '=', plain.len) != NULL;
    bytes name = trimmed(before(plain, '=', &value));
    size_t option;

    value = trimmed(value);
    if (name.len == 0 && !has_value)
        return STATUS_OK;
    TRY(find_option(arena, command, name, &option));
    if (option == OPTION_config)
        return status_of(INVALID, "a configuration file cannot name another one");
    const struct option_row *row = &table[option];
    const char *text = arena_format(arena, "%.*s", (int)value.len, (const char *)value.data);
    if (!text)
        return arena_exhausted(arena);
    if (is_flag(row) && !has_value)
        text = flag_is_set;
    if (is_flag(row) && strcmp(text, flag_is_set) != 0 && strcmp(text, "false") != 0)
        return status_fail(arena, INVALID, "%s is \"%s\"; expected true or false", row->name, text);
    if (!is_flag(row) && value.len == 0)
        return status_fail(arena, INVALID, "%s needs a value: %s", row->name, row->argument);
    if (!out->texts[option])
        out->texts[option] = text;
    return STATUS_OK;
}

/* Takes from the file only what the command line does not say. Later lines win. */
static status read_lines(struct arena *arena, enum command command, const char *path,
                         struct option_texts *texts)
{
    struct option_texts from_file = { 0 };
    bytes rest;
    unsigned number = 0;

    TRY(read_file(arena, path, &rest));
    while (rest.len > 0) {
        struct option_texts one = { 0 };
        bytes line = before(rest, '\n', &rest);
        number++;
        status s = read_line(arena, command, line, &one);
        if (s.code != OK)
            return status_in(arena, s, "%s line %u", path, number);
        for (size_t i = 0; i < OPTION_COUNT; i++)
            from_file.texts[i] = one.texts[i] ? one.texts[i] : from_file.texts[i];
    }
    for (size_t i = 0; i < OPTION_COUNT; i++)
        texts->texts[i] = texts->texts[i] ? texts->texts[i] : from_file.texts[i];
    return STATUS_OK;
}

/* ---- checking --------------------------------------------------------------------------------------- */

static status check_address(struct arena *arena, const char *text, struct address *out)
{
    status s = address_parse(arena, text, out);

    if (s.code != OK)
        return status_in(arena, s, "--cosmos");
    if (!address_is_loopback(out))
        return status_fail(arena, UNSUPPORTED,
                           "--cosmos %s: only loopback addresses such as 127.0.0.1 or [::1] are "
                           "possible, because this version has no keys to keep strangers out",
                           text);
    return STATUS_OK;
}

static status check_seconds(struct arena *arena, const char *text, int *out)
{
    enum { SECONDS_MAX = 24 * 3600 };
    int seconds = 0;

    *out = 0;
    for (const char *digit = text; *digit; digit++) {
        if (!isdigit((unsigned char)*digit) || seconds > SECONDS_MAX)
            seconds = -1;
        if (seconds < 0)
            break;
        seconds = seconds * 10 + (*digit - '0');
    }
    if (seconds < 1 || seconds > SECONDS_MAX)
        return status_fail(arena, INVALID, "--purger-pause %s: expected 1 to %d seconds", text,
                           SECONDS_MAX);
    *out = seconds;
    return STATUS_OK;
}

static status check_storage(struct arena *arena, const char *text, enum storage_kind *out)
{
    *out = STORAGE_KIND_ROCKSDB;
    if (strcmp(text, "rocksdb") == 0)
        return STATUS_OK;
    *out = STORAGE_KIND_MEMORY;
    if (strcmp(text, "memory") == 0)
        return STATUS_OK;
    return status_fail(arena, INVALID, "--storage %s: expected rocksdb or memory", text);
}

static status check_texts(struct arena *arena, const struct option_texts *given, struct config *out)
{
    const char *texts[OPTION_COUNT];

    for (size_t i = 0; i < OPTION_COUNT; i++)
        texts[i] = given->texts[i] ? given->texts[i] : table[i].default_text;
    if (texts[OPTION_mongo][0] != '\0')
        return status_fail(arena, UNSUPPORTED,
                           "--mongo %s: this version does not speak the MongoDB protocol yet; "
                           "leave the option out",
                           texts[OPTION_mongo]);
    out->data = texts[OPTION_data];
    if (out->data[0] == '\0')
        return status_of(INVALID, "--data is empty; expected a directory");
    if (!log_level_parse(texts[OPTION_log_level], &out->log_level))
        return status_fail(arena, INVALID,
                           "--log-level %s: expected debug, info, warning, error or silent",
                           texts[OPTION_log_level]);
    TRY(check_address(arena, texts[OPTION_cosmos], &out->cosmos));
    TRY(check_seconds(arena, texts[OPTION_purger_pause], &out->purger_pause_s));
    out->has_test_commands = strcmp(texts[OPTION_test_commands], flag_is_set) == 0;
    return check_storage(arena, texts[OPTION_storage], &out->storage);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

status config_read(struct arena *arena, enum command command, size_t argument_count,
                   char *const *arguments, struct config *out)
{
    struct option_texts texts = { 0 };

    *out = (struct config){ 0 };
    for (size_t i = 0; i < argument_count; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            out->wants_help = true;
            return STATUS_OK;
        }
    }
    for (size_t at = 0; at < argument_count;)
        TRY(read_argument(arena, command, arguments, argument_count, &at, &texts));
    const char *path = texts.texts[OPTION_config];
    if (path && path[0] != '\0')
        TRY(read_lines(arena, command, path, &texts));
    return check_texts(arena, &texts, out);
}

void config_describe(enum command command, struct buffer *out)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &table[i];
        if (!(row->commands & command))
            continue;
        const char *left = arena_format(out->arena, "%s %s", dashed(out->arena, row),
                                        row->argument);
        buffer_append_format(out, "  %-24s %s", left ? left : row->name, row->help);
        if (row->default_text[0] != '\0')
            buffer_append_format(out, " (default %s)", row->default_text);
        buffer_append_text(out, "\n");
    }
}
