/* World text: documents and indexes of tests, read from short text.
 *
 * Documents go through libbson's JSON reader, so that a mistake in our own cannot hide one in the
 * engine, and because it knows dates and ObjectIds in extended notation.
 * Threads: any; no state. */
#include "tests/support/world.h"

/* Its inline functions do not mind our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <bson/bson.h>
#pragma GCC diagnostic pop
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Turns @N into a date and ' into ", into `out`. */
static void expand(const char *text, char *out, size_t room)
{
    size_t used = 0;

    while (*text != '\0') {
        CHECK_THAT(used + 80 < room, "the text of a document is too long: %s", text);
        if (*text == '@') {
            char *end;
            const long long offset_ms = strtoll(text + 1, &end, 10);
            used += (size_t)snprintf(out + used, room - used,
                                     "{\"$date\":{\"$numberLong\":\"%lld\"}}",
                                     (long long)WORLD_START + offset_ms);
            text = end;
            continue;
        }
        out[used++] = *text == '\'' ? '"' : *text;
        text++;
    }
    out[used] = '\0';
}

bytes world_document(struct arena *arena, const char *text)
{
    char json[4 * WORLD_TEXT_BYTES];
    bson_error_t error;
    bytes copy;

    expand(text, json, sizeof(json));
    bson_t *parsed = bson_new_from_json((const uint8_t *)json, -1, &error);
    CHECK_THAT(parsed != NULL, "%s: %s", error.message, json);
    CHECK_OK(arena_copy(arena, bytes_of(bson_get_data(parsed), parsed->len), &copy));
    bson_destroy(parsed);
    return copy;
}

int world_id_of(bytes document)
{
    struct value value;
    int64_t id = -1;
    CHECK(document_find(document, "_id", &value));
    CHECK(value_as_int64(value, &id));
    return (int)id;
}

/* ---- indexes ----------------------------------------------------------------------------------------- */

/* The next word up to a blank or the end, copied into the arena with a NUL behind it. */
static const char *take_word(struct arena *arena, const char **text)
{
    while (isspace((unsigned char)**text))
        (*text)++;
    size_t len = 0;
    while ((*text)[len] != '\0' && !isspace((unsigned char)(*text)[len]))
        len++;
    const char *word = arena_format(arena, "%.*s", (int)len, *text);
    CHECK(word != NULL);
    *text += len;
    return word;
}

static bool take_option(const char *word, struct index_definition *out)
{
    if (strcmp(word, "unique") == 0) {
        out->is_unique = true;
    } else if (strcmp(word, "sparse") == 0) {
        out->is_sparse = true;
    } else if (strcmp(word, "missing=null") == 0) {
        out->is_missing_null = true;
    } else if (strncmp(word, "ttl=", 4) == 0) {
        out->expire_after_s = (int32_t)strtol(word + 4, NULL, 10);
    } else if (strncmp(word, "where=", 6) == 0) {
        out->is_partial = true;
        out->predicate = bytes_of_text(word + 6);
    } else if (strcmp(word, "lazy") == 0) {
        out->is_lazy = true;
    } else if (strcmp(word, "shaped") == 0) {
        out->is_shaped = true;
    } else if (strcmp(word, "ranked") == 0) {
        out->is_ranked = true;
    } else if (strcmp(word, "parted") == 0) {
        out->is_per_partition = true;
    } else if (strcmp(word, "paths") == 0) {
        out->kind = INDEX_PATHS;
    } else if (strcmp(word, "arrivals") == 0) {
        out->kind = INDEX_ARRIVAL;
    } else if (strncmp(word, "keep=", 5) == 0) {
        out->keep_documents = atoi(word + 5);
    } else if (strncmp(word, "keepbytes=", 10) == 0) {
        out->keep_bytes = atoi(word + 10);
    } else {
        return false;
    }
    return true;
}

/* { low: -180.0, high: 180.0 } */
#define PLANE                                   \
    "\x20\0\0\0\x01low\0\0\0\0\0\0\x80\x66\xC0" \
    "\x01high\0\0\0\0\0\0\x80\x66\x40\0"

static void take_field(const char *word, struct index_definition *out, struct index_field *fields)
{
    static const struct {
        const char *name;
        enum index_part part;
        bytes settings;
    } parts[] = {
        {":hashed",    PART_HASHED,   BYTES_NONE          },
        { ":wildcard", PART_WILDCARD, BYTES_NONE          },
        { ":ball",     PART_CELLS,    BYTES_NONE          },
        { ":plane",    PART_CELLS,    BYTES_LITERAL(PLANE)},
    };
    const bool is_descending = word[0] == '-';
    bytes path = bytes_of_text(word + is_descending);
    enum index_part part = PART_VALUE;
    bytes settings = BYTES_NONE;
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        size_t len = strlen(parts[i].name);
        if (path.len < len || memcmp(path.data + path.len - len, parts[i].name, len) != 0)
            continue;
        path.len -= len;
        part = parts[i].part;
        settings = parts[i].settings;
    }
    CHECK(out->field_count < LIMIT_INDEX_FIELDS);
    fields[out->field_count++] = (struct index_field){
        .path = path,
        .part = part,
        .settings = settings,
        .order = is_descending ? KEY_DESCENDING : KEY_ASCENDING,
    };
}

static void take_pattern(const char *word, struct index_definition *out, bytes *included,
                         bytes *excluded)
{
    CHECK(out->included_count < LIMIT_INDEX_FIELDS);
    CHECK(out->excluded_count < LIMIT_INDEX_FIELDS);
    if (word[0] == '+') {
        included[out->included_count++] = bytes_of_text(word + 1);
    } else {
        CHECK_THAT(word[0] == '-', "a pattern starts with + or -: %s", word);
        excluded[out->excluded_count++] = bytes_of_text(word + 1);
    }
}

struct index_definition world_index_definition(struct world *w, const char *text)
{
    struct index_definition out = { .expire_after_s = INDEX_NO_EXPIRY };
    struct index_field *fields;
    bytes *included;
    bytes *excluded;
    CHECK_OK(ARENA_NEW(w->arena, LIMIT_INDEX_FIELDS, &fields));
    CHECK_OK(ARENA_NEW(w->arena, LIMIT_INDEX_FIELDS, &included));
    CHECK_OK(ARENA_NEW(w->arena, LIMIT_INDEX_FIELDS, &excluded));
    out.fields = fields;
    out.included = included;
    out.excluded = excluded;

    const char *name = take_word(w->arena, &text);
    CHECK_THAT(name[0] != '\0' && name[strlen(name) - 1] == ':', "no name in index %s", name);
    out.name = bytes_of(name, strlen(name) - 1);
    for (const char *word = take_word(w->arena, &text); word[0] != '\0';
         word = take_word(w->arena, &text)) {
        if (take_option(word, &out))
            continue;
        if (out.kind == INDEX_PATHS)
            take_pattern(word, &out, included, excluded);
        else
            take_field(word, &out, fields);
    }
    return out;
}
