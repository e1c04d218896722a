/* Cases: reads tables of cases for tests.
 *
 * Documents are extended JSON, which libbson reads. Threads: belongs to its test. */
#include "tests/support/cases.h"

#include "value/libbson.h"
#include <stdio.h>
#include <stdlib.h>

void cases_open(struct cases *cases, struct arena *arena, const char *path)
{
    struct buffer text = buffer_in(arena);
    FILE *file = fopen(path, "r");
    char room[4096];
    size_t len;

    CHECK_THAT(file != NULL, "%s cannot be read", path);
    while ((len = fread(room, 1, sizeof(room), file)) > 0)
        buffer_append(&text, bytes_of(room, len));
    fclose(file);
    *cases = (struct cases){ .arena = arena, .path = path };
    CHECK_OK(buffer_finish(&text, &cases->rest));
}

void cases_each(struct cases *cases, const char *folder, const char *name, cases_line *each,
                void *context)
{
    enum { BUDGET = 256 * 1024 * 1024 };
    struct arena *arena = arena_open(BUDGET);
    bytes line;

    CHECK(arena != NULL);
    const char *path = arena_format(arena, "tests/corpus/%s/%s.txt", folder, name);
    cases_open(cases, arena, path);
    while (cases_next(cases, &line))
        each(context, line);
    CHECK_THAT(cases->tried > 0, "%s has no cases", path);
    arena_close(arena);
}

static bytes trim(bytes text)
{
    while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = bytes_from(text, 1);
    while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

bool cases_next(struct cases *cases, bytes *line_out)
{
    while (cases->rest.len) {
        const uint8_t *end = memchr(cases->rest.data, '\n', cases->rest.len);
        size_t len = end ? (size_t)(end - cases->rest.data) : cases->rest.len;
        *line_out = trim(bytes_of(cases->rest.data, len));
        cases->rest = bytes_from(cases->rest, len + 1);
        cases->line++;
        if (line_out->len && line_out->data[0] != '#')
            return true;
    }
    return false;
}

bool cases_take(bytes *line, const char *word)
{
    bytes wanted = bytes_of_text(word);

    if (!bytes_starts_with(*line, wanted) ||
        (line->len > wanted.len && line->data[wanted.len] != ' '))
        return false;
    *line = trim(bytes_from(*line, wanted.len));
    return true;
}

bool cases_split(bytes line, bytes *left_out, bytes *right_out)
{
    for (size_t at = line.len; at >= 3; at--) {
        if (memcmp(line.data + at - 3, " =>", 3) == 0) {
            *left_out = trim(bytes_of(line.data, at - 3));
            *right_out = trim(bytes_from(line, at));
            return true;
        }
    }
    return false;
}

/* libbson takes these for the old notation of binary data and regular expressions; here they are operators.
 * So it is shown # for $, and told apart by what follows. */
static void swap_marks(bytes text, char from, char to)
{
    static const char *const names[] = { "type", "regex", "options" };

    for (size_t at = 0; at < text.len; at++) {
        for (size_t i = 0; text.data[at] == (uint8_t)from && i < ARRAY_COUNT(names); i++) {
            bytes name = bytes_of_text(names[i]), rest = bytes_from(text, at + 1);
            uint8_t end = rest.len > name.len ? rest.data[name.len] : 'x';
            if (bytes_starts_with(rest, name) && (end == '"' || end == 0))
                ((uint8_t *)(uintptr_t)text.data)[at] = (uint8_t)to;
        }
    }
}

bytes cases_document(const struct cases *cases, bytes text)
{
    bson_error_t error;
    bytes copy;

    CHECK_OK(arena_copy(cases->arena, text, &copy));
    swap_marks(copy, '$', '#');
    bson_t *read = bson_new_from_json(copy.data, (ssize_t)copy.len, &error);
    CHECK_THAT(read != NULL, "%s:%d: %.*s: %s", cases->path, cases->line, (int)text.len,
               (const char *)text.data, error.message);
    status s = arena_copy(cases->arena, bytes_of(bson_get_data(read), read->len), &copy);
    bson_destroy(read);
    CHECK_OK(s);
    swap_marks(copy, '#', '$');
    s = document_check(cases->arena, copy);
    CHECK_THAT(s.code == OK, "%s:%d: %s", cases->path, cases->line, s.message);
    return copy;
}

struct value cases_value(const struct cases *cases, bytes text)
{
    struct buffer whole = buffer_in(cases->arena);
    struct value value;

    buffer_append_text(&whole, "{\"v\":");
    buffer_append(&whole, text);
    buffer_append_text(&whole, "}");
    CHECK(document_find(cases_document(cases, bytes_of(whole.data, whole.len)), "v", &value));
    return value;
}

int64_t cases_number(const struct cases *cases, bytes text)
{
    char room[32];
    char *end;

    CHECK_THAT(text.len > 0 && text.len < sizeof(room), "%s:%d: no number", cases->path,
               cases->line);
    memcpy(room, text.data, text.len);
    room[text.len] = 0;
    long long number = strtoll(room, &end, 10);
    CHECK_THAT(*end == 0, "%s:%d: '%s' is no number", cases->path, cases->line, room);
    return number;
}

const char *cases_text(struct arena *arena, bytes document)
{
    bson_t view;
    size_t len;

    CHECK(bson_init_static(&view, document.data, document.len));
    char *text = bson_as_canonical_extended_json(&view, &len);
    const char *copy = arena_format(arena, "%s", text ? text : "?");
    bson_free(text);
    return copy;
}
