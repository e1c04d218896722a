/* Index text: text indexes, from what a client says to what is listed and what the engine is told.
 *
 * A client names the fields: { a: "text", "b.c": "text", d: 1 }. What is listed is { _fts: "text", _ftsx: 1, d: 1 }
 * with the weights of the fields beside it, and the languages. Fields before and behind the texts are kept as they
 * are, and serve equality together with a search.
 *
 * Threads: the command's. Start reading at index_text_complete(). */
#include <stdlib.h>

#include "front/mongo/index_kind.h"

/* As in the settings of the engine's part (query/search.h). */
enum { WEIGHT_MAX = 1000000000 };

static bool is_text(struct value value)
{
    return value.type == VALUE_STRING && bytes_equal(value_text(value), BYTES_LITERAL("text"));
}

static status bad_spec(struct command *command, const char *why)
{
    return command_fail(command, ERROR_CannotCreateIndex, "%s", why);
}

/* ---- the key ----------------------------------------------------------------------------------------- */

struct completion {
    struct command *command;
    struct index_spec *spec;
    struct buffer key, weights;
    bool is_complete; /* the key has _fts already: copied from a list */
    bool was_text, is_behind;
};

static status take_field(struct completion *c, const struct field *field)
{
    struct value one;
    bool is_own = bytes_equal(field->name, BYTES_LITERAL("_fts"));

    if (!is_text(field->value)) {
        if (field->value.type == VALUE_STRING)
            return bad_spec(c->command, "a text index has no other types of fields beside texts");
        c->is_behind |= c->was_text;
        document_append(&c->key, field->name, field->value);
        return STATUS_OK;
    }
    if (c->is_behind && !c->is_complete)
        return bad_spec(c->command, "'text' fields in index must all be adjacent");
    if (!c->was_text) {
        TRY(value_of_integer(c->command->arena, VALUE_INT32, 1, &one));
        document_append(&c->key, BYTES_LITERAL("_fts"), field->value);
        if (!is_own)
            document_append(&c->key, BYTES_LITERAL("_ftsx"), one);
    }
    c->was_text = true;
    c->is_complete |= is_own;
    return STATUS_OK;
}

static status take_key(struct completion *c)
{
    struct document_walk walk = document_fields(c->spec->key);
    struct field field;
    bytes key;

    size_t begun = document_begin(&c->key);
    while (document_next(&walk, &field))
        TRY(take_field(c, &field));
    document_end(&c->key, begun);
    TRY(buffer_finish(&c->key, &key));
    c->spec->key = key;
    return STATUS_OK;
}

/* ---- weights ----------------------------------------------------------------------------------------- */

static status check_weight(struct command *command, const struct field *field)
{
    double weight = value_is_number(field->value) ? value_as_double(field->value) : 0;

    if (weight > 0 && weight < WEIGHT_MAX)
        return STATUS_OK;
    return command_fail(command, ERROR_CannotCreateIndex,
                        "text index weight must be in the exclusive interval (0,%d), and that of "
                        "'%.*s' is not",
                        WEIGHT_MAX, (int)field->name.len, (const char *)field->name.data);
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(((const struct field *)a)->name, ((const struct field *)b)->name);
}

/* Those that were given, and 1 for fields of the key that have none; by name. */
static status take_weights(struct completion *c, bytes key, struct value given, bytes *out)
{
    struct command *command = c->command;
    bytes chosen = given.type == VALUE_DOCUMENT ? value_document(given) : BYTES_NONE;
    size_t count = 0, room = document_field_count(key);
    struct document_walk walk;
    struct field *fields, field;
    struct value one, own;

    if (chosen.len)
        room += document_field_count(chosen);
    TRY(ARENA_NEW(command->arena, room, &fields));
    TRY(value_of_integer(command->arena, VALUE_INT32, 1, &one));
    if (chosen.len) {
        walk = document_fields(chosen);
        for (; document_next(&walk, &field); fields[count++] = field)
            TRY(check_weight(command, &field));
    }
    walk = document_fields(key);
    while (document_next(&walk, &field)) {
        bool is_named = is_text(field.value) && !bytes_equal(field.name, BYTES_LITERAL("_fts"));
        if (!is_named || (chosen.len && document_find_bytes(chosen, field.name, &own)))
            continue;
        fields[count++] = (struct field){ .name = field.name, .value = one };
    }
    if (count == 0)
        return bad_spec(command, "a text index needs fields, in its key or its weights");
    qsort(fields, count, sizeof(*fields), compare_names);
    size_t begun = document_begin(&c->weights);
    for (size_t i = 0; i < count; i++)
        document_append(&c->weights, fields[i].name, fields[i].value);
    document_end(&c->weights, begun);
    return buffer_finish(&c->weights, out);
}

/* ---- options ----------------------------------------------------------------------------------------- */

static struct value option_of(const struct index_spec *spec, const char *name)
{
    struct value value = { .type = VALUE_MISSING };

    if (spec->others.len)
        document_find(spec->others, name, &value);
    return value;
}

static status text_option(struct command *command, const struct index_spec *spec, const char *name,
                          const char *otherwise, bytes *out)
{
    struct value value = option_of(spec, name);

    *out = bytes_of_text(otherwise);
    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    if (value.type != VALUE_STRING || value_text(value).len == 0)
        return command_fail(command, ERROR_CannotCreateIndex, "%s is not valid", name);
    *out = value_text(value);
    return STATUS_OK;
}

static bool is_of_text(bytes name)
{
    static const char *const names[] = { "weights", "default_language", "language_override",
                                         "textIndexVersion" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(name, bytes_of_text(names[i])))
            return true;
    }
    return false;
}

/* All options that are not the text's, then those. */
static status write_options(struct command *command, struct index_spec *spec, bytes weights,
                            bytes language, bytes override)
{
    struct buffer others = buffer_in(command->arena);
    size_t begun = document_begin(&others);
    struct field field;

    if (spec->others.len) {
        struct document_walk walk = document_fields(spec->others);
        while (document_next(&walk, &field)) {
            if (!is_of_text(field.name))
                document_append(&others, field.name, field.value);
        }
    }
    reply_document(&others, "weights", weights);
    reply_bytes(&others, "default_language", language);
    reply_bytes(&others, "language_override", override);
    reply_int32(&others, "textIndexVersion", 3);
    document_end(&others, begun);
    return buffer_finish(&others, &spec->others);
}

status index_text_complete(struct command *command, struct index_spec *spec)
{
    struct completion c = { .command = command,
                            .spec = spec,
                            .key = buffer_in(command->arena),
                            .weights = buffer_in(command->arena) };
    struct value version = option_of(spec, "textIndexVersion"), given = option_of(spec, "weights");
    bytes weights, language, override, key = spec->key;
    int64_t number = 3;

    if (spec->collation.len > 0)
        return bad_spec(command, "an index of type 'text' has no collation, only the simple one");
    if (spec->is_unique)
        return bad_spec(command, "a text index cannot be unique here; use a regular index");
    if (version.type != VALUE_MISSING &&
        (!value_as_int64(version, &number) || number < 1 || number > 3))
        return bad_spec(command, "bad textIndexVersion: it is 3 here");
    TRY(text_option(command, spec, "default_language", "english", &language));
    TRY(text_option(command, spec, "language_override", "language", &override));
    if (!search_has_language(language))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "default_language is not valid: '%.*s' is none of the languages that "
                            "are known; \"none\" takes words as they are",
                            (int)language.len, (const char *)language.data);
    if (override.data[0] == '$')
        return bad_spec(command, "language_override is not valid");
    TRY(take_key(&c));
    if (c.is_complete && given.type != VALUE_DOCUMENT)
        return bad_spec(command, "a text index with the key _fts needs weights");
    TRY(take_weights(&c, key, given, &weights));
    return write_options(command, spec, weights, language, override);
}

status index_text_settings(struct arena *arena, const struct index_spec *spec, bytes *out)
{
    struct buffer settings = buffer_in(arena);
    size_t begun = document_begin(&settings);

    document_append(&settings, BYTES_LITERAL("weights"), option_of(spec, "weights"));
    document_append(&settings, BYTES_LITERAL("language"), option_of(spec, "default_language"));
    document_append(&settings, BYTES_LITERAL("override"), option_of(spec, "language_override"));
    document_end(&settings, begun);
    return buffer_finish(&settings, out);
}
