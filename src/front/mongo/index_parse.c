/* Index parse: one member of `indexes` of createIndexes, checked.
 *
 * Everything that a client may say about an index is a row of the table below; what is not there is refused,
 * because an option that is passed over would promise something.
 *
 *   spec   = { key: { path: 1 | -1 | "hashed" | "text" | ..., ... }, name: text, option... }
 *   expiry = a number from 0 to 2147483647, cut to whole seconds; on _ts also -1
 *
 * Pure apart from the command's arena and fault. */
#include <math.h>

#include "front/mongo/collating.h"
#include "front/mongo/filter.h"
#include "front/mongo/index_kind.h"

enum option_use {
    USE_KEY,
    USE_NAME,
    USE_VERSION,
    USE_UNIQUE,
    USE_SPARSE,
    USE_HIDDEN,
    USE_EXPIRY,
    USE_PARTIAL,
    USE_COLLATION,
    USE_LISTED, /* kept and listed, without an effect */
    USE_NONE,   /* of older servers */
};

static const struct option_row {
    const char *name;
    enum option_use use;
    bool is_for_id;
} option_rows[] = {
    {"2dsphereIndexVersion",     USE_LISTED,    false},
    { "background",              USE_NONE,      true },
    { "bits",                    USE_LISTED,    false},
    { "bucketSize",              USE_LISTED,    false},
    { "clustered",               USE_NONE,      true },
    { "collation",               USE_COLLATION, true },
    { "default_language",        USE_LISTED,    false},
    { "dropDups",                USE_NONE,      false},
    { "expireAfterSeconds",      USE_EXPIRY,    false},
    { "hidden",                  USE_HIDDEN,    false},
    { "key",                     USE_KEY,       true },
    { "language_override",       USE_LISTED,    false},
    { "max",                     USE_LISTED,    false},
    { "min",                     USE_LISTED,    false},
    { "name",                    USE_NAME,      true },
    { "ns",                      USE_NONE,      true },
    { "partialFilterExpression", USE_PARTIAL,   false},
    { "prepareUnique",           USE_LISTED,    false},
    { "sparse",                  USE_SPARSE,    false},
    { "storageEngine",           USE_LISTED,    false},
    { "textIndexVersion",        USE_LISTED,    false},
    { "unique",                  USE_UNIQUE,    false},
    { "v",                       USE_VERSION,   true },
    { "weights",                 USE_LISTED,    false},
    { "wildcardProjection",      USE_LISTED,    false},
};

/* What is being parsed. */
struct parsing {
    struct command *command;
    bytes given;
    struct index_spec *spec;
    struct buffer others;
    size_t other_count;
};

static const char *shown(struct command *command, bytes document)
{
    struct buffer text = buffer_in(command->arena);
    bytes line;

    json_write(&text, document);
    buffer_append_byte(&text, 0);
    return buffer_finish(&text, &line).code == OK ? (const char *)line.data : "{...}";
}

static const char *shown_value(struct command *command, struct value value)
{
    struct buffer text = buffer_in(command->arena);
    bytes line;

    json_write_value(&text, value);
    buffer_append_byte(&text, 0);
    return buffer_finish(&text, &line).code == OK ? (const char *)line.data : "...";
}

/* ---- the key ---------------------------------------------------------------------------------------- */

static status check_path(struct command *command, bytes name)
{
    const uint8_t *end = name.data + name.len;

    if (index_kind_is_wildcard_name(name))
        return STATUS_OK;
    if (name.len == 0)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Index keys cannot be an empty field.");
    for (const uint8_t *part = name.data; part <= end;) {
        const uint8_t *dot = memchr(part, '.', (size_t)(end - part));
        size_t len = (size_t)((dot ? dot : end) - part);
        if (len == 0)
            return command_fail(command, ERROR_CannotCreateIndex,
                                "Index keys cannot contain an empty field: '%.*s'", (int)name.len,
                                (const char *)name.data);
        if (part[0] == '$' && part == name.data)
            return command_fail(command, ERROR_CannotCreateIndex,
                                "Index key contains an illegal field name: '%.*s' starts with '$'.",
                                (int)name.len, (const char *)name.data);
        part += len + 1;
    }
    return STATUS_OK;
}

static bool is_known_type(bytes type)
{
    static const char *const types[] = { "hashed", "text", "2d", "2dsphere" };

    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (bytes_equal(type, bytes_of_text(types[i])))
            return true;
    }
    return false;
}

static status check_direction(struct command *command, const struct field *field)
{
    struct value value = field->value;

    if (value.type == VALUE_STRING) {
        bytes type = value_text(value);
        if (is_known_type(type))
            return STATUS_OK;
        return command_fail(
            command, ERROR_CannotCreateIndex,
            "Unknown index plugin '%.*s' of the field '%.*s'; give 1 to go up, -1 to "
            "go down, or one of hashed, text, 2d and 2dsphere",
            (int)type.len, (const char *)type.data, (int)field->name.len,
            (const char *)field->name.data);
    }
    if (!value_is_number(value))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Values in v:2 index key pattern cannot be of type %s. Only numbers > "
                            "0, numbers < 0, and strings are allowed.",
                            value_type_name(value.type));
    double number = value_as_double(value);
    if (number == 0 || isnan(number))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Values in the index key pattern cannot be %s.",
                            number == 0 ? "0" : "NaN");
    return STATUS_OK;
}

static status check_double(struct command *command, bytes key, const struct field *field)
{
    struct document_walk walk = document_fields(key);
    struct field other;
    size_t count = 0;

    while (document_next(&walk, &other))
        count += bytes_equal(other.name, field->name);
    if (count == 1)
        return STATUS_OK;
    return command_fail(command, ERROR_CannotCreateIndex,
                        "the field '%.*s' appears %zu times in the index key pattern",
                        (int)field->name.len, (const char *)field->name.data, count);
}

static status take_key(struct parsing *parsing, struct value value)
{
    struct command *command = parsing->command;
    size_t count = 0;
    struct field field;

    if (value.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "The field 'key' must be an object, but got %s",
                            value_type_name(value.type));
    bytes key = value_document(value);
    struct document_walk walk = document_fields(key);
    for (; document_next(&walk, &field); count++) {
        TRY(check_path(command, field.name));
        TRY(check_direction(command, &field));
        TRY(check_double(command, key, &field));
    }
    if (count == 0)
        return command_fail(command, ERROR_CannotCreateIndex, "Index keys cannot be empty.");
    if (count > LIMIT_INDEX_FIELDS)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "Index key pattern has %zu fields; at most %d are allowed", count,
                            LIMIT_INDEX_FIELDS);
    parsing->spec->key = key;
    parsing->spec->kind = index_kind_of(key);
    return STATUS_OK;
}

/* ---- options ---------------------------------------------------------------------------------------- */

static status take_name(struct parsing *parsing, struct value value)
{
    struct command *command = parsing->command;

    if (value.type != VALUE_STRING)
        return command_fail(command, ERROR_TypeMismatch,
                            "The field 'name' must be a string, but got %s",
                            value_type_name(value.type));
    bytes name = value_text(value);
    if (name.len == 0 || memchr(name.data, 0, name.len))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "The name of an index cannot be empty nor contain a zero byte");
    if (bytes_equal(name, BYTES_LITERAL("*")))
        return command_fail(command, ERROR_BadValue,
                            "The index name '*' is not valid: dropIndexes means all by it.");
    if (name.data[0] == '$' && !bytes_starts_with(name, BYTES_LITERAL("$**")))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "The index name '%.*s' is not valid: names that start with '$' are "
                            "the server's own",
                            (int)name.len, (const char *)name.data);
    if (name.len > LIMIT_NAME_BYTES)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "The name of an index has %zu bytes, limit %d", name.len,
                            LIMIT_NAME_BYTES);
    parsing->spec->name = name;
    return STATUS_OK;
}

static status take_version(struct parsing *parsing, struct value value)
{
    int64_t version = 0;

    if (!value_is_number(value))
        return command_fail(parsing->command, ERROR_TypeMismatch,
                            "The field 'v' must be a number, but got %s",
                            value_type_name(value.type));
    if (!value_as_int64(value, &version) || version < 1 || version > 2)
        return command_fail(parsing->command, ERROR_CannotCreateIndex,
                            "Invalid index specification %s; cannot create an index with v=%s",
                            shown(parsing->command, parsing->given),
                            shown_value(parsing->command, value));
    parsing->spec->version = (int32_t)version;
    return STATUS_OK;
}

static status take_flag(struct parsing *parsing, const struct field *field, bool *out)
{
    if (field->value.type != VALUE_BOOL && !value_is_number(field->value))
        return command_fail(parsing->command, ERROR_TypeMismatch,
                            "The field '%.*s' has value %s, which is not convertible to bool",
                            (int)field->name.len, (const char *)field->name.data,
                            shown_value(parsing->command, field->value));
    *out = argument_flag(field->value, false);
    return STATUS_OK;
}

static status take_expiry(struct parsing *parsing, struct value value)
{
    struct command *command = parsing->command;
    struct index_spec *spec = parsing->spec;

    if (!value_is_number(value))
        return command_fail(command, ERROR_CannotCreateIndex,
                            "TTL index 'expireAfterSeconds' option must be numeric, but received "
                            "a type of '%s'. Index spec: %s",
                            value_type_name(value.type), shown(command, parsing->given));
    double seconds = value_as_double(value);
    bool is_never = seconds == TTL_NEVER; /* judged when the key is known */
    if (!(seconds >= 0) && !is_never)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "TTL index 'expireAfterSeconds' option must be within 0 to %d seconds; "
                            "it is %s. Index spec: %s",
                            LIMIT_TTL_SECONDS, shown_value(command, value),
                            shown(command, parsing->given));
    if (trunc(seconds) > LIMIT_TTL_SECONDS)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "TTL index 'expireAfterSeconds' option must be within 0 to %d seconds; "
                            "%s is more than that. Index spec: %s",
                            LIMIT_TTL_SECONDS, shown_value(command, value),
                            shown(command, parsing->given));
    spec->has_expiry = true;
    spec->expire_after_s = (int32_t)seconds;
    return STATUS_OK;
}

static status take_partial(struct parsing *parsing, struct value value)
{
    struct command *command = parsing->command;
    const struct match *match;

    if (value.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "The field 'partialFilterExpression' must be an object, but got %s",
                            value_type_name(value.type));
    parsing->spec->partial = value_document(value);
    TRY(filter_parse(command->arena, parsing->spec->partial, NULL, &match, &command->fault));
    return filter_check_partial(command->arena, match, &command->fault);
}

static status take_other(struct parsing *parsing, const struct field *field)
{
    document_append(&parsing->others, field->name, field->value);
    parsing->other_count++;
    return STATUS_OK;
}

static const struct option_row *find_row(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(option_rows); i++) {
        if (bytes_equal(name, bytes_of_text(option_rows[i].name)))
            return &option_rows[i];
    }
    return NULL;
}

static status take_option(struct parsing *parsing, const struct field *field)
{
    const struct option_row *row = find_row(field->name);
    struct index_spec *spec = parsing->spec;

    if (!row)
        return command_fail(parsing->command, ERROR_InvalidIndexSpecificationOption,
                            "The field '%.*s' is not valid for an index specification. "
                            "Specification: %s",
                            (int)field->name.len, (const char *)field->name.data,
                            shown(parsing->command, parsing->given));
    switch (row->use) {
    case USE_KEY:
        return take_key(parsing, field->value);
    case USE_NAME:
        return take_name(parsing, field->value);
    case USE_VERSION:
        return take_version(parsing, field->value);
    case USE_UNIQUE:
        return take_flag(parsing, field, &spec->is_unique);
    case USE_SPARSE:
        return take_flag(parsing, field, &spec->is_sparse);
    case USE_HIDDEN:
        return take_flag(parsing, field, &spec->is_hidden);
    case USE_EXPIRY:
        return take_expiry(parsing, field->value);
    case USE_PARTIAL:
        return take_partial(parsing, field->value);
    case USE_COLLATION:
        spec->says_collation = true;
        return collating_parse(parsing->command, field->value, &spec->by);
    case USE_LISTED:
        return take_other(parsing, field);
    case USE_NONE:
        break;
    }
    return STATUS_OK;
}

/* ---- all together ----------------------------------------------------------------------------------- */

static bool is_id_key(bytes key)
{
    struct document_walk walk = document_fields(key);
    struct field field, second;

    return document_next(&walk, &field) && !document_next(&walk, &second) &&
           bytes_equal(field.name, BYTES_LITERAL("_id")) && value_is_number(field.value);
}

static status check_id_index(struct parsing *parsing)
{
    struct command *command = parsing->command;
    struct document_walk walk = document_fields(parsing->given);
    struct field field;
    struct value direction;

    document_find(parsing->spec->key, "_id", &direction);
    if (value_as_double(direction) != 1)
        return command_fail(command, ERROR_BadValue,
                            "The field 'key' for an _id index must be {_id: 1}, but got %s",
                            shown(command, parsing->spec->key));
    while (document_next(&walk, &field)) {
        const struct option_row *row = find_row(field.name);
        if (row && !row->is_for_id)
            return command_fail(command, ERROR_InvalidIndexSpecificationOption,
                                "The field '%.*s' is not valid for an _id index specification. "
                                "Specification: %s",
                                (int)field.name.len, (const char *)field.name.data,
                                shown(command, parsing->given));
    }
    parsing->spec->kind = INDEX_SPEC_ID;
    parsing->spec->name = BYTES_LITERAL("_id_");
    return STATUS_OK;
}

static status check_expiry(struct parsing *parsing)
{
    struct command *command = parsing->command;
    struct index_spec *spec = parsing->spec;
    bool is_stamp = index_spec_is_on_stamp(spec->key);
    struct value key = { .type = VALUE_MISSING };

    /* As the client gave it: that of a text index is listed with two fields for one. */
    if (document_find(parsing->given, "key", &key) && key.type == VALUE_DOCUMENT &&
        document_field_count(value_document(key)) != 1)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "TTL indexes are single-field indexes, compound indexes do not support "
                            "TTL. Index spec: %s",
                            shown(command, parsing->given));
    if (!is_stamp && spec->expire_after_s < 0)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "TTL index 'expireAfterSeconds' option cannot be less than 0. Index "
                            "spec: %s",
                            shown(command, parsing->given));
    if (!is_stamp)
        return STATUS_OK;
    if (spec->is_unique || spec->is_sparse || spec->partial.len > 0 || spec->is_hidden ||
        spec->expire_after_s == 0)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "A TTL index on _ts is the default time to live of the whole "
                            "collection: 'expireAfterSeconds' must be -1 or 1 to %d, and it cannot "
                            "be unique, sparse, partial or hidden. Index spec: %s",
                            LIMIT_TTL_SECONDS, shown(command, parsing->given));
    spec->kind = INDEX_SPEC_STAMP;
    return STATUS_OK;
}

/* Text and flat geographic indexes have an order of their own. */
static bool takes_no_collation(const struct index_spec *spec)
{
    struct document_walk walk = document_fields(spec->key);
    struct field field;

    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_STRING &&
            (bytes_equal(value_text(field.value), BYTES_LITERAL("text")) ||
             bytes_equal(value_text(field.value), BYTES_LITERAL("2d"))))
            return true;
    }
    return false;
}

static status check_collation(struct command *command, const struct index_spec *spec)
{
    if (!spec->by || !takes_no_collation(spec))
        return STATUS_OK;
    return command_fail(command, ERROR_CannotCreateIndex,
                        "an index of type text or 2d does not support collation: %s; create it "
                        "with { collation: { locale: \"simple\" } }",
                        shown(command, collation_document(spec->by)));
}

static status check_types(struct parsing *parsing)
{
    struct command *command = parsing->command;
    const struct index_spec *spec = parsing->spec;

    if (spec->is_sparse && spec->partial.len > 0)
        return command_fail(command, ERROR_CannotCreateIndex,
                            "cannot mix \"partialFilterExpression\" and \"sparse\" options");
    return check_collation(command, spec);
}

static status check_whole(struct parsing *parsing)
{
    struct command *command = parsing->command;
    struct index_spec *spec = parsing->spec;

    if (spec->key.len == 0)
        return command_fail(command, ERROR_FailedToParse,
                            "The 'key' field is a required property of an index specification: %s",
                            shown(command, parsing->given));
    if (spec->name.len == 0 && !is_id_key(spec->key))
        return command_fail(command, ERROR_FailedToParse,
                            "The 'name' field is a required property of an index specification: %s",
                            shown(command, parsing->given));
    if (is_id_key(spec->key))
        return check_id_index(parsing);
    if (bytes_equal(spec->name, BYTES_LITERAL("_id_")))
        return command_fail(command, ERROR_BadValue,
                            "The index name '_id_' is reserved for the _id index, which must have "
                            "key pattern {_id: 1}, found %s",
                            shown(command, spec->key));
    TRY(check_types(parsing));
    TRY(index_kind_check(command, spec));
    return spec->has_expiry ? check_expiry(parsing) : STATUS_OK;
}

status index_spec_inherit(struct command *command, const struct collection *collection,
                          struct index_spec *spec)
{
    const struct collation *own = collection->definition.collation;

    if (!spec->says_collation)
        spec->by = own;
    if (spec->kind == INDEX_SPEC_ID && spec->by != own)
        return command_fail(command, ERROR_BadValue,
                            "The _id index must have the same collation as the collection. Index "
                            "collation: %s, collection collation: %s",
                            spec->by ? shown(command, collation_document(spec->by)) : "{}",
                            own ? shown(command, collation_document(own)) : "{}");
    TRY(check_collation(command, spec));
    spec->collation = spec->by ? collation_document(spec->by) : BYTES_NONE;
    return STATUS_OK;
}

status index_spec_parse(struct command *command, bytes given, struct index_spec *out)
{
    struct parsing parsing = {
        .command = command, .given = given, .spec = out, .others = buffer_in(command->arena)
    };
    struct document_walk walk = document_fields(given);
    struct field field;

    *out = (struct index_spec){ .version = 2 };
    size_t begun = document_begin(&parsing.others);
    while (document_next(&walk, &field))
        TRY(take_option(&parsing, &field));
    document_end(&parsing.others, begun);
    if (parsing.other_count > 0)
        TRY(buffer_finish(&parsing.others, &out->others));
    return check_whole(&parsing);
}
