/* Index collation: how an index compares texts, as clients say it and as listIndexes shows it.
 *
 * Indexes here compare texts byte by byte. A collation is checked, completed and listed again, so that clients
 * which compare what they want with what is there are content; queries with a collation do not use the order
 * of an index.
 *
 * Pure apart from the command's arena and fault. */
#include "front/mongo/index_spec.h"

static const struct setting {
    const char *name;
    enum value_type type; /* VALUE_INT32: any number */
    const char *text;     /* otherwise */
    int32_t number;
} settings[] = {
    {"locale",           VALUE_STRING, "",              0    },
    { "caseLevel",       VALUE_BOOL,   NULL,            false},
    { "caseFirst",       VALUE_STRING, "off",           0    },
    { "strength",        VALUE_INT32,  NULL,            3    },
    { "numericOrdering", VALUE_BOOL,   NULL,            false},
    { "alternate",       VALUE_STRING, "non-ignorable", 0    },
    { "maxVariable",     VALUE_STRING, "punct",         0    },
    { "normalization",   VALUE_BOOL,   NULL,            false},
    { "backwards",       VALUE_BOOL,   NULL,            false},
    { "version",         VALUE_STRING, "57.1",          0    },
};

static const struct setting *find_setting(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(settings); i++) {
        if (bytes_equal(name, bytes_of_text(settings[i].name)))
            return &settings[i];
    }
    return NULL;
}

static status check_setting(struct command *command, const struct field *field)
{
    const struct setting *setting = find_setting(field->name);

    if (!setting)
        return command_fail(command, 40415, "BSON field 'collation.%.*s' is an unknown field.",
                            (int)field->name.len, (const char *)field->name.data);
    bool is_right = setting->type == VALUE_INT32 ? value_is_number(field->value)
                                                 : field->value.type == setting->type;
    if (!is_right)
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field 'collation.%s' is the wrong type '%s'", setting->name,
                            value_type_name(field->value.type));
    if (setting->type != VALUE_INT32)
        return STATUS_OK;
    int64_t strength = argument_number(field->value, 0);
    if (strength < 1 || strength > 5)
        return command_fail(command, ERROR_BadValue, "collation.strength must be 1 to 5, not %lld",
                            (long long)strength);
    return STATUS_OK;
}

static void append_setting(struct buffer *out, const struct setting *setting, bytes given)
{
    struct value value;

    if (document_find(given, setting->name, &value) && setting->type != VALUE_INT32)
        document_append(out, bytes_of_text(setting->name), value);
    else if (setting->type == VALUE_INT32)
        reply_int32(out, setting->name, (int32_t)argument_number(value, setting->number));
    else if (setting->text)
        reply_text(out, setting->name, setting->text);
    else
        reply_bool(out, setting->name, setting->number != 0);
}

status index_collation(struct command *command, struct value given, bytes *out)
{
    struct buffer whole = buffer_in(command->arena);
    struct value locale;
    struct field field;

    *out = BYTES_NONE;
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
    if (bytes_equal(value_text(locale), BYTES_LITERAL("simple")))
        return STATUS_OK;
    size_t begun = document_begin(&whole);
    for (size_t i = 0; i < ARRAY_COUNT(settings); i++)
        append_setting(&whole, &settings[i], document);
    document_end(&whole, begun);
    return buffer_finish(&whole, out);
}
