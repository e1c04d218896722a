/* Collating: how texts compare, as clients say it.
 *
 * Every field of a collation is checked for its name, type and choices here; whether there is such a locale is the
 * business of value/collation.c, which also completes it.
 *
 * Threads: the command's. Start reading at collating_read(). */
#include "front/mongo/collating.h"

#include "front/mongo/keep.h"

enum { STRENGTH_MIN = 1, STRENGTH_MAX = 5 };

static const char *shown(struct command *command, bytes document)
{
    struct buffer text = buffer_in(command->arena);

    json_write(&text, document);
    buffer_append_byte(&text, 0);
    return text.is_failed ? "{...}" : (const char *)text.data;
}

static const struct collation_setting *find_setting(bytes name)
{
    for (size_t i = 0; i < COLLATION_SETTINGS; i++) {
        if (bytes_equal(name, bytes_of_text(collation_settings[i].name)))
            return &collation_settings[i];
    }
    return NULL;
}

static bool is_right_type(const struct collation_setting *setting, struct value value)
{
    if (setting->is_flag)
        return value.type == VALUE_BOOL;
    return setting->is_number ? value_is_number(value) : value.type == VALUE_STRING;
}

static status check_strength(struct command *command, struct value value)
{
    int64_t strength;

    if (!value_as_int64(value, &strength))
        return command_fail(command, ERROR_BadValue,
                            "BSON field 'collation.strength' must be a whole number, actual value "
                            "'%g'",
                            value_as_double(value));
    if (strength >= STRENGTH_MIN && strength <= STRENGTH_MAX)
        return STATUS_OK;
    return command_fail(command, ERROR_BadValue,
                        "BSON field 'collation.strength' value must be %s %d, actual value '%lld'",
                        strength < STRENGTH_MIN ? ">=" : "<=",
                        strength < STRENGTH_MIN ? STRENGTH_MIN : STRENGTH_MAX, (long long)strength);
}

static status check_choice(struct command *command, const struct collation_setting *setting,
                           bytes text)
{
    for (size_t i = 0; setting->choices[i]; i++) {
        if (bytes_equal(text, bytes_of_text(setting->choices[i])))
            return STATUS_OK;
    }
    return command_fail(command, ERROR_BadValue,
                        "Enumeration value '%.*s' for field 'collation.%s' is not a valid value.",
                        (int)text.len, (const char *)text.data, setting->name);
}

static status check_setting(struct command *command, const struct field *field)
{
    const struct collation_setting *setting = find_setting(field->name);

    if (!setting)
        return command_fail(command, 40415, "BSON field 'collation.%.*s' is an unknown field.",
                            (int)field->name.len, (const char *)field->name.data);
    if (!is_right_type(setting, field->value))
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field 'collation.%s' is the wrong type '%s', expected type '%s'",
                            setting->name, value_type_name(field->value.type),
                            setting->is_flag     ? "bool"
                            : setting->is_number ? "int"
                                                 : "string");
    if (setting->is_number)
        return check_strength(command, field->value);
    return setting->choices[0] ? check_choice(command, setting, value_text(field->value))
                               : STATUS_OK;
}

/* Keys that are stored are made by the rules of this server; clients that ask for others are told. */
static status check_version(struct command *command, bytes document)
{
    struct value version;

    if (!document_find(document, "version", &version) ||
        bytes_equal(value_text(version), BYTES_LITERAL(COLLATION_VERSION)))
        return STATUS_OK;
    return command_fail(command, ERROR_IncompatibleCollationVersion,
                        "Requested collation version %.*s but the only available collator version "
                        "was " COLLATION_VERSION ". Requested collation spec: %s",
                        (int)value_text(version).len, (const char *)value_text(version).data,
                        shown(command, document));
}

status collating_parse(struct command *command, struct value given, const struct collation **out)
{
    struct value locale;
    struct field field;

    *out = NULL;
    if (given.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "The field 'collation' must be an object, but got %s",
                            value_type_name(given.type));
    bytes document = value_document(given);
    struct document_walk walk = document_fields(document);
    while (document_next(&walk, &field))
        TRY(check_setting(command, &field));
    if (!document_find(document, "locale", &locale))
        return command_fail(command, 40414,
                            "BSON field 'collation.locale' is missing but a required field");
    if (bytes_equal(value_text(locale), BYTES_LITERAL("simple"))) {
        if (document_field_count(document) == 1)
            return STATUS_OK;
        return command_fail(command, ERROR_FailedToParse,
                            "If locale=simple, no other fields should be present in: %s",
                            shown(command, document));
    }
    TRY(check_version(command, document));
    status s = collations_find(engine_collations(command->face->engine), command->arena, document,
                               out);
    if (s.code == INVALID)
        return command_fail(command, ERROR_BadValue, "%s in: %s", s.message,
                            shown(command, document));
    return s;
}

static status check_view(struct command *command, const struct collection *view,
                         const struct collation *by)
{
    if (by == view->definition.collation)
        return STATUS_OK;
    return command_fail(command, ERROR_OptionNotSupportedOnView,
                        "Cannot override a view's default collation: '%.*s' has %s. Leave the "
                        "collation out",
                        (int)view->definition.name.len, (const char *)view->definition.name.data,
                        view->definition.collation
                            ? shown(command, collation_document(view->definition.collation))
                            : "the simple one");
}

status collating_read(struct command *command, struct value given,
                      const struct collection *collection, const struct collation **out)
{
    *out = collection ? collection->definition.collation : NULL;
    if (given.type == VALUE_MISSING || given.type == VALUE_NULL ||
        (given.type == VALUE_DOCUMENT && document_field_count(value_document(given)) == 0))
        return STATUS_OK;
    TRY(collating_parse(command, given, out));
    return collection && keep_is_view(collection) ? check_view(command, collection, *out)
                                                  : STATUS_OK;
}
