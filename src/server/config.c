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

#include "server/file.h"
#include "server/key_file.h"
#include <ctype.h>

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
    bytes name = bytes_trimmed(before(plain, '=', &value));
    size_t option;

    value = bytes_trimmed(value);
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

    status s = file_read(arena, path, LIMIT_CONFIG_FILE_BYTES, &rest);
    if (s.code != OK)
        return status_in(arena, s, "--config");
    while (rest.len > 0) {
        struct option_texts one = { 0 };
        bytes line = before(rest, '\n', &rest);
        number++;
        s = read_line(arena, command, line, &one);
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

/* The well-known key is for programs on this machine; whoever lets others in needs a key of their own. */
static status check_address(struct arena *arena, const char *text, struct config *out)
{
    status s = address_parse(arena, text, &out->cosmos);

    if (s.code != OK)
        return status_in(arena, s, "--cosmos");
    if (!address_is_loopback(&out->cosmos) && !out->master_key)
        return status_fail(arena, INVALID,
                           "--cosmos %s can be reached from other machines, so it needs a key of "
                           "your own instead of the well-known one. Make one: head -c 48 "
                           "/dev/urandom | base64 -w0 > key; chmod 600 key; and start with "
                           "--key-file key",
                           text);
    return STATUS_OK;
}

static status check_mongo(struct arena *arena, const char *text, const char *set_name,
                          struct config *out)
{
    out->set_name = set_name;
    if (set_name[0] == '\0')
        return status_of(INVALID, "--replset is empty; expected the name of a replica set");
    if (strcmp(text, "none") == 0)
        return STATUS_OK;
    status s = address_parse(arena, text, &out->mongo);
    if (s.code != OK)
        return status_in(arena, s, "--mongo");
    out->has_mongo = true;
    return STATUS_OK;
}

static status check_keys(struct arena *arena, const char *path, struct config *out)
{
    struct key_file keys;

    if (path[0] == '\0')
        return STATUS_OK;
    status s = key_file_read(arena, path, &keys);
    if (s.code != OK)
        return status_in(arena, s, "--key-file");
    out->key_file = path;
    out->master_key = keys.primary;
    out->read_only_key = keys.primary_read_only;
    out->secondary_key = keys.secondary;
    out->secondary_read_only_key = keys.secondary_read_only;
    return STATUS_OK;
}

void config_wipe_keys(const struct config *config)
{
    key_file_wipe(&(struct key_file){ .primary = config->master_key,
                                      .secondary = config->secondary_key,
                                      .primary_read_only = config->read_only_key,
                                      .secondary_read_only = config->secondary_read_only_key });
}

static status check_certificate(const char *certificate, const char *key, struct config *out)
{
    bool has_certificate = certificate[0] != '\0', has_key = key[0] != '\0';

    if (has_certificate && !has_key)
        return status_of(INVALID, "--cert needs --key, the file of its private key");
    if (has_key && !has_certificate)
        return status_of(INVALID, "--key is the private key of --cert, which is missing; the key "
                                  "for signed requests is --key-file");
    out->tls_certificate = has_certificate ? certificate : NULL;
    out->tls_key = has_key ? key : NULL;
    return STATUS_OK;
}

/* From 1 to most; 0 for anything else. */
static int read_number(const char *text, int most)
{
    int64_t number = 0;

    for (const char *digit = text; *digit; digit++) {
        if (!isdigit((unsigned char)*digit))
            return 0;
        number = number * 10 + (*digit - '0');
        if (number > most)
            return 0;
    }
    return (int)number;
}

enum { SECONDS_MAX = 24 * 3600, MEGABYTES_MAX = 1 << 20 };

struct measure {
    const char *option, *unit;
    int most;
};

static status check_measure(struct arena *arena, const char *text, struct measure measure, int *out)
{
    *out = read_number(text, measure.most);
    return *out > 0 ? STATUS_OK
                    : status_fail(arena, INVALID, "%s %s: expected 1 to %d %s", measure.option,
                                  text, measure.most, measure.unit);
}

static status check_format(struct arena *arena, const char *text, enum export_format *out)
{
    *out = strcmp(text, "bson") == 0 ? EXPORT_BSON : EXPORT_JSON;
    if (*out == EXPORT_BSON || strcmp(text, "json") == 0)
        return STATUS_OK;
    return status_fail(arena, INVALID, "--format %s: expected json or bson", text);
}

static status check_existing(struct arena *arena, const char *text, enum import_existing *out)
{
    *out = strcmp(text, "keep") == 0      ? IMPORT_KEEP
           : strcmp(text, "replace") == 0 ? IMPORT_REPLACE
                                          : IMPORT_FAIL;
    if (*out != IMPORT_FAIL || strcmp(text, "fail") == 0)
        return STATUS_OK;
    return status_fail(arena, INVALID, "--existing %s: expected fail, keep or replace", text);
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

static status check_copies(enum command command, const char *from, const char *to,
                           struct config *out)
{
    out->from = from;
    out->to = to;
    if ((command == COMMAND_BACKUP || command == COMMAND_EXPORT) && to[0] == '\0')
        return status_of(INVALID, "--to is missing; expected a directory to write to");
    if (command == COMMAND_IMPORT && from[0] == '\0')
        return status_of(INVALID, "--from is missing; expected a directory that an export or "
                                  "mongodump wrote");
    if (command == COMMAND_RESTORE && (from[0] == '\0' || to[0] == '\0'))
        return status_of(INVALID, "expected --from, a directory with backups, and --to, the data "
                                  "directory to make");
    return STATUS_OK;
}

static status check_texts(struct arena *arena, enum command command,
                          const struct option_texts *given, struct config *out)
{
    const char *texts[OPTION_COUNT];

    for (size_t i = 0; i < OPTION_COUNT; i++)
        texts[i] = given->texts[i] ? given->texts[i] : table[i].default_text;
    out->data = texts[OPTION_data];
    if (out->data[0] == '\0')
        return status_of(INVALID, "--data is empty; expected a directory");
    if (!log_level_parse(texts[OPTION_log_level], &out->log_level))
        return status_fail(arena, INVALID,
                           "--log-level %s: expected debug, info, warning, error or silent",
                           texts[OPTION_log_level]);
    TRY(check_format(arena, texts[OPTION_format], &out->export_format));
    TRY(check_existing(arena, texts[OPTION_existing], &out->existing));
    TRY(check_copies(command, texts[OPTION_from], texts[OPTION_to], out));
    TRY(check_keys(arena, texts[OPTION_key_file], out));
    TRY(check_address(arena, texts[OPTION_cosmos], out));
    TRY(check_mongo(arena, texts[OPTION_mongo], texts[OPTION_replset], out));
    TRY(check_certificate(texts[OPTION_cert], texts[OPTION_key], out));
    TRY(check_measure(arena, texts[OPTION_purger_pause],
                      (struct measure){ "--purger-pause", "seconds", SECONDS_MAX },
                      &out->purger_pause_s));
    TRY(check_measure(arena, texts[OPTION_cache],
                      (struct measure){ "--cache", "megabytes", MEGABYTES_MAX }, &out->cache_mb));
    out->audit_file = texts[OPTION_audit_file][0] != '\0' ? texts[OPTION_audit_file] : NULL;
    out->user = texts[OPTION_user][0] != '\0' ? texts[OPTION_user] : NULL;
    out->has_no_call_filter = strcmp(texts[OPTION_no_call_filter], flag_is_set) == 0;
    out->has_core_dumps = strcmp(texts[OPTION_core_dumps], flag_is_set) == 0;
    out->enforces_throughput = strcmp(texts[OPTION_enforce_throughput], flag_is_set) == 0;
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
    return check_texts(arena, command, &texts, out);
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
