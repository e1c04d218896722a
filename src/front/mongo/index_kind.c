/* Index kind: hashed, wildcard and other indexes that are more than fields in order.
 *
 * A key pattern says what an index is: numbers are orders, words are kinds, and a path that ends in $** is a
 * wildcard. What a kind does not allow is refused here, with the numbers that clients know.
 *
 * An index of a kind that has no entries (text) is kept with a predicate that no document fulfils, so that it has a
 * name, a place in the list and nothing else.
 *
 * Threads: the command's. Start reading at index_kind_check(). */
#include "front/mongo/index_kind.h"

/* ---- by the key -------------------------------------------------------------------------------------- */

bool index_kind_is_wildcard_name(bytes name)
{
    return bytes_equal(name, BYTES_LITERAL("$**")) ||
           (name.len > 4 && memcmp(name.data + name.len - 4, ".$**", 4) == 0);
}

static bool is_word(struct value value, const char *word)
{
    return value.type == VALUE_STRING && bytes_equal(value_text(value), bytes_of_text(word));
}

enum index_spec_kind index_kind_of(bytes key)
{
    struct document_walk walk = document_fields(key);
    enum index_spec_kind kind = INDEX_SPEC_PLAIN;
    struct field field;

    while (document_next(&walk, &field)) {
        bool is_text = is_word(field.value, "text");
        if (index_kind_is_wildcard_name(field.name) && !is_text)
            return INDEX_SPEC_WILDCARD;
        if (is_text)
            return INDEX_SPEC_TEXT;
        if (index_is_of_places(field.value) || kind == INDEX_SPEC_PLACES)
            kind = INDEX_SPEC_PLACES; /* with another word it is refused when it is checked */
        else if (is_word(field.value, "hashed") && kind != INDEX_SPEC_IDLE)
            kind = INDEX_SPEC_HASHED;
        else if (field.value.type == VALUE_STRING)
            kind = INDEX_SPEC_IDLE;
    }
    return kind;
}

/* ---- wildcards --------------------------------------------------------------------------------------- */

/* What a projection of the whole document takes in and leaves out, as lists of paths. */
struct narrowing {
    struct command *command;
    struct buffer in, out;
    size_t in_begun, out_begun, in_count, out_count;
    bool has_id; /* _id was said to be taken in */
};

static void note_path(struct narrowing *narrowing, bytes path, bool is_in)
{
    struct buffer *list = is_in ? &narrowing->in : &narrowing->out;
    size_t *count = is_in ? &narrowing->in_count : &narrowing->out_count;
    char room[REPLY_INDEX_BYTES];

    document_append_text(list, reply_index((*count)++, room), path);
}

static status read_projection(struct narrowing *narrowing, bytes prefix, bytes projection,
                              unsigned depth)
{
    struct command *command = narrowing->command;
    struct document_walk walk = document_fields(projection);
    struct field field;

    if (depth > LIMIT_NESTING_DEPTH || document_field_count(projection) == 0)
        return command_fail(command, ERROR_FailedToParse,
                            "The 'wildcardProjection' field can't be an empty object");
    while (document_next(&walk, &field)) {
        const char *joined = arena_format(command->arena, "%.*s%s%.*s", (int)prefix.len,
                                          (const char *)prefix.data, prefix.len ? "." : "",
                                          (int)field.name.len, (const char *)field.name.data);
        if (!joined)
            return arena_exhausted(command->arena);
        bytes path = bytes_of_text(joined);
        if (field.value.type == VALUE_DOCUMENT) {
            TRY(read_projection(narrowing, path, value_document(field.value), depth + 1));
            continue;
        }
        if (!value_is_number(field.value) && field.value.type != VALUE_BOOL)
            return command_fail(command, ERROR_FailedToParse,
                                "'wildcardProjection' takes fields in or leaves them out: '%s' "
                                "must be 1 or 0, and is a %s",
                                joined, value_type_name(field.value.type));
        bool is_in = argument_flag(field.value, false);
        if (bytes_equal(path, BYTES_LITERAL("_id")))
            narrowing->has_id = is_in;
        else
            note_path(narrowing, path, is_in);
    }
    return STATUS_OK;
}

static struct value projection_of(const struct index_spec *spec)
{
    struct value projection = { .type = VALUE_MISSING };

    if (spec->others.len > 0)
        document_find(spec->others, "wildcardProjection", &projection);
    return projection;
}

/* The settings of the part: empty if the path says everything. */
static status narrow(struct command *command, struct value projection, bytes *out)
{
    struct narrowing narrowing = { .command = command,
                                   .in = buffer_in(command->arena),
                                   .out = buffer_in(command->arena) };
    struct buffer settings = buffer_in(command->arena);

    narrowing.in_begun = document_begin(&narrowing.in);
    narrowing.out_begun = document_begin(&narrowing.out);
    if (projection.type == VALUE_DOCUMENT)
        TRY(read_projection(&narrowing, BYTES_LITERAL(""), value_document(projection), 0));
    if (narrowing.in_count > 0 && narrowing.out_count > 0)
        return command_fail(command, narrowing.in_count ? 31253 : 31254,
                            "'wildcardProjection' cannot both take fields in and leave others out");
    bool is_inclusion = narrowing.in_count > 0 || (narrowing.has_id && narrowing.out_count == 0 &&
                                                   projection.type == VALUE_DOCUMENT);
    if (is_inclusion && narrowing.has_id)
        note_path(&narrowing, BYTES_LITERAL("_id"), true);
    if (!is_inclusion && !narrowing.has_id)
        note_path(&narrowing, BYTES_LITERAL("_id"), false);
    document_end(&narrowing.in, narrowing.in_begun);
    document_end(&narrowing.out, narrowing.out_begun);
    size_t begun = document_begin(&settings);
    struct value in = { VALUE_ARRAY, bytes_of(narrowing.in.data, narrowing.in.len) };
    struct value left = { VALUE_ARRAY, bytes_of(narrowing.out.data, narrowing.out.len) };
    if (narrowing.in.is_failed || narrowing.out.is_failed)
        return arena_exhausted(command->arena);
    if (narrowing.in_count > 0)
        document_append(&settings, BYTES_LITERAL("in"), in);
    if (narrowing.out_count > 0)
        document_append(&settings, BYTES_LITERAL("out"), left);
    document_end(&settings, begun);
    return buffer_finish(&settings, out);
}

static status check_wildcard(struct command *command, struct index_spec *spec)
{
    struct value projection = projection_of(spec);
    struct document_walk walk = document_fields(spec->key);
    size_t count = 0, fields = document_field_count(spec->key);
    struct field field;
    bool is_whole = false;

    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_STRING)
            return command_fail(
                command, ERROR_CannotCreateIndex, "wildcard indexes do not allow index type '%.*s'",
                (int)value_text(field.value).len, (const char *)value_text(field.value).data);
        count += index_kind_is_wildcard_name(field.name);
        is_whole |= bytes_equal(field.name, BYTES_LITERAL("$**"));
    }
    if (count > 1)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "a compound wildcard index has one wildcard field, and this has %zu",
                            count);
    if (projection.type == VALUE_MISSING && is_whole && fields > 1)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "a compound wildcard index over all fields needs a "
                            "'wildcardProjection' that leaves its other fields out");
    if (projection.type == VALUE_MISSING)
        return STATUS_OK;
    if (projection.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "The field 'wildcardProjection' must be a non-empty object, but got %s",
                            value_type_name(projection.type));
    if (!is_whole)
        return command_fail(command, ERROR_FailedToParse,
                            "The field 'wildcardProjection' is only allowed when 'key' is "
                            "{\"$**\": 1} or {\"$**\": -1}");
    bytes ignored;
    return narrow(command, projection, &ignored);
}

/* ---- all kinds --------------------------------------------------------------------------------------- */

static status check_hashed(struct command *command, const struct index_spec *spec)
{
    struct document_walk walk = document_fields(spec->key);
    struct field field;
    size_t count = 0;

    while (document_next(&walk, &field))
        count += is_word(field.value, "hashed");
    if (count > 1)
        return command_fail(command, 31303,
                            "A maximum of one index field is allowed to be hashed but found %zu "
                            "for 'key'",
                            count);
    if (spec->is_unique)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Currently hashed indexes cannot guarantee uniqueness. Use a regular "
                            "index.");
    return STATUS_OK;
}

status index_kind_check(struct command *command, struct index_spec *spec)
{
    bool is_wildcard = spec->kind == INDEX_SPEC_WILDCARD;

    if (!is_wildcard && projection_of(spec).type != VALUE_MISSING)
        return command_fail(command, ERROR_BadValue,
                            "The field 'wildcardProjection' is only allowed in a wildcard index");
    if (is_wildcard && (spec->is_unique || spec->is_sparse))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Index type 'wildcard' does not support the %s option",
                            spec->is_unique ? "unique" : "sparse");
    if (is_wildcard && spec->has_expiry)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Index type 'wildcard' cannot make documents expire");
    if (spec->is_unique && (spec->kind == INDEX_SPEC_IDLE || spec->kind == INDEX_SPEC_PLACES))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "an index of this type cannot be unique here; use a regular index");
    if (is_wildcard)
        return check_wildcard(command, spec);
    if (spec->kind == INDEX_SPEC_TEXT)
        return index_text_complete(command, spec);
    if (spec->kind == INDEX_SPEC_PLACES)
        return index_check_places(command, spec);
    return spec->kind == INDEX_SPEC_HASHED ? check_hashed(command, spec) : STATUS_OK;
}

static enum key_order order_of(struct value value)
{
    return value_is_number(value) && value_as_double(value) < 0 ? KEY_DESCENDING : KEY_ASCENDING;
}

status index_kind_define(struct command *command, const struct index_spec *spec,
                         struct index_definition *out)
{
    struct document_walk walk = document_fields(spec->key);
    struct index_field *fields;
    struct field field;

    TRY(ARENA_NEW(command->arena, document_field_count(spec->key) + 1, &fields));
    out->fields = fields;
    if (spec->kind == INDEX_SPEC_IDLE) { /* any field will do, because no document gets in */
        fields[out->field_count++] = (struct index_field){ .path = BYTES_LITERAL("_id") };
        out->is_partial = true;
        out->predicate = BYTES_LITERAL(INDEX_NO_DOCUMENT);
        return STATUS_OK;
    }
    while (document_next(&walk, &field)) {
        struct index_field *made = &fields[out->field_count++];
        *made = (struct index_field){ .path = field.name, .order = order_of(field.value) };
        if (bytes_equal(field.name, BYTES_LITERAL("_ftsx")) && spec->kind == INDEX_SPEC_TEXT) {
            out->field_count--; /* belongs to the one before */
        } else if (is_word(field.value, "text")) {
            made->part = PART_WORDS;
            TRY(index_text_settings(command->arena, spec, &made->settings));
        } else if (index_is_of_places(field.value)) {
            out->is_sparse = false; /* by nature */
            TRY(index_define_places(command->arena, spec, field.value, made));
        } else if (is_word(field.value, "hashed")) {
            made->part = PART_HASHED;
        } else if (index_kind_is_wildcard_name(field.name)) {
            made->part = PART_WILDCARD;
            if (bytes_equal(field.name, BYTES_LITERAL("$**")))
                TRY(narrow(command, projection_of(spec), &made->settings));
        }
    }
    return STATUS_OK;
}
