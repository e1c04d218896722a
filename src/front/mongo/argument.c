/* Argument: what a command carries, checked against a table of what it may carry.
 *
 * A command is a document whose first field names it. Fields that any command may carry (a session, a read
 * concern, a comment) are passed over here; the dispatcher has read those that matter. Everything else
 * must be in the table of the command, with the right type, so that a misspelt option is not ignored.
 *
 * Pure apart from arenas; callable from every thread. */
#include <math.h>

#include "front/mongo/command.h"

static const char *const generic_names[] = {
    "$audit",
    "$client",
    "$clusterTime",
    "$configServerState",
    "$configTime",
    "$db",
    "$oplogQueryData",
    "$queryOptions",
    "$readPreference",
    "$replData",
    "$topologyTime",
    "allowImplicitCollectionCreation",
    "apiDeprecationErrors",
    "apiStrict",
    "apiVersion",
    "autocommit",
    "comment",
    "coordinator",
    "databaseVersion",
    "help",
    "lsid",
    "maxTimeMS",
    "maxTimeMSOpOnly",
    "mayBypassWriteBlocking",
    "rawData",
    "readConcern",
    "serialization_context",
    "shardVersion",
    "startTransaction",
    "tracking_info",
    "txnNumber",
    "txnRetryCounter",
    "versionContext",
    "writeConcern",
};

bool argument_is_generic(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(generic_names); i++) {
        if (bytes_is_text(name, generic_names[i]))
            return true;
    }
    return false;
}

/* NULL if the value fits, otherwise what was expected. */
static const char *expected(enum argument_kind kind, struct value value)
{
    switch (kind) {
    case ARGUMENT_ANY:
    case ARGUMENT_IGNORED:
        return NULL;
    case ARGUMENT_TEXT:
        return value.type == VALUE_STRING ? NULL : "'string'";
    case ARGUMENT_DOCUMENT:
        return value.type == VALUE_DOCUMENT ? NULL : "'object'";
    case ARGUMENT_ARRAY:
    case ARGUMENT_LIST:
        return value.type == VALUE_ARRAY ? NULL : "'array'";
    case ARGUMENT_NUMBER:
        return value_is_number(value) ? NULL : "types '[long, int, decimal, double]'";
    case ARGUMENT_FLAG:
        return value.type == VALUE_BOOL || value_is_number(value)
                   ? NULL
                   : "types '[bool, long, int, decimal, double]'";
    case ARGUMENT_DOCUMENT_OR_TEXT:
        return value.type == VALUE_DOCUMENT || value.type == VALUE_STRING
                   ? NULL
                   : "types '[string, object]'";
    }
    return NULL;
}

static status take(struct command *command, const char *where, const struct field *field,
                   const struct argument *argument, struct value *out)
{
    /* Who looks at the first one, and who at the last, must see the same. */
    if (out->type != VALUE_MISSING)
        return command_fail(command, ERROR_Location40413, "BSON field '%s.%s' is a duplicate field",
                            where, argument->name);
    if (field->value.type == VALUE_NULL || field->value.type == VALUE_UNDEFINED)
        return STATUS_OK;
    const char *wanted = expected(argument->kind, field->value);
    if (wanted)
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field '%s.%s' is the wrong type '%s', expected %s%s", where,
                            argument->name, value_type_name(field->value.type),
                            wanted[0] == '\'' ? "type " : "", wanted);
    *out = field->value;
    return STATUS_OK;
}

static status check_required(struct command *command, const char *where,
                             const struct argument *table, size_t count, const struct value *found)
{
    for (size_t i = 0; i < count; i++) {
        if (table[i].is_required && found[i].type == VALUE_MISSING)
            return command_fail(command, ERROR_Location40414,
                                "BSON field '%s.%s' is missing but a required field", where,
                                table[i].name);
    }
    return STATUS_OK;
}

static size_t find_row(const struct argument *table, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes_is_text(name, table[i].name))
            return i;
    }
    return count;
}

static status take_all(struct command *command, const char *where, struct document_walk walk,
                       bool is_top, const struct argument *table, size_t count, struct value *out)
{
    struct field field;

    while (document_next(&walk, &field)) {
        size_t at = find_row(table, count, field.name);
        if (at < count)
            TRY(take(command, where, &field, &table[at], &out[at]));
        else if (!is_top || !argument_is_generic(field.name))
            return command_fail(command, ERROR_Location40415,
                                "BSON field '%s.%.*s' is an unknown field.", where,
                                (int)field.name.len, (const char *)field.name.data);
    }
    return STATUS_OK;
}

/* A document sequence stands for an array of its name. */
static status take_sequences(struct command *command, const char *where,
                             const struct argument *table, size_t count, struct value *out)
{
    const struct wire_message *message = command->message;

    for (size_t i = 0; i < message->sequence_count; i++) {
        const struct wire_sequence *sequence = &message->sequences[i];
        size_t at = find_row(table, count, sequence->name);
        if (at == count || table[at].kind != ARGUMENT_LIST)
            return command_fail(command, ERROR_Location40415,
                                "BSON field '%s.%.*s' is an unknown field.", where,
                                (int)sequence->name.len, (const char *)sequence->name.data);
        if (out[at].type != VALUE_MISSING)
            return command_fail(command, ERROR_FailedToParse,
                                "'%s' is given twice, in the body and as a document sequence",
                                table[at].name);
        out[at] = (struct value){ .type = VALUE_ARRAY };
    }
    return STATUS_OK;
}

status command_arguments(struct command *command, const struct argument *table, size_t count,
                         struct value *out)
{
    struct document_walk walk = document_fields(command->message->body);
    const char *where = command->row->name;
    struct field first;

    for (size_t i = 0; i < count; i++)
        out[i] = (struct value){ .type = VALUE_MISSING };
    document_next(&walk, &first);
    TRY(take_all(command, where, walk, true, table, count, out));
    TRY(take_sequences(command, where, table, count, out));
    return check_required(command, where, table, count, out);
}

status command_fields(struct command *command, const char *where, bytes document,
                      const struct argument *table, size_t count, struct value *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (struct value){ .type = VALUE_MISSING };
    TRY(take_all(command, where, document_fields(document), false, table, count, out));
    return check_required(command, where, table, count, out);
}

/* ---- reading values --------------------------------------------------------------------------------- */

bool argument_flag(struct value value, bool otherwise)
{
    if (value.type == VALUE_BOOL)
        return value.raw.data[0] != 0;
    if (value_is_number(value))
        return value_as_double(value) != 0;
    return otherwise;
}

int64_t argument_number(struct value value, int64_t otherwise)
{
    int64_t whole;

    if (!value_is_number(value))
        return otherwise;
    if (value_as_int64(value, &whole))
        return whole;
    double number = trunc(value_as_double(value));
    if (isnan(number))
        return 0;
    if (number >= 9223372036854775807.0)
        return INT64_MAX;
    return number <= -9223372036854775808.0 ? INT64_MIN : (int64_t)number;
}

bytes argument_text(struct value value)
{
    return value.type == VALUE_STRING ? value_text(value) : BYTES_NONE;
}

bytes argument_document(struct value value)
{
    static const uint8_t empty[5] = { 5, 0, 0, 0, 0 };

    return value.type == VALUE_DOCUMENT ? value_document(value) : bytes_of(empty, sizeof(empty));
}

/* ---- lists ------------------------------------------------------------------------------------------ */

static bool find_sequence(const struct command *command, const char *name, bytes *out)
{
    const struct wire_message *message = command->message;

    for (size_t i = 0; i < message->sequence_count; i++) {
        if (bytes_equal(message->sequences[i].name, bytes_of_text(name))) {
            *out = message->sequences[i].documents;
            return true;
        }
    }
    return false;
}

status command_list(struct command *command, const char *name, struct argument_list *out,
                    size_t *count_out)
{
    struct value array;
    bytes document;

    *out = (struct argument_list){ 0 };
    *count_out = 0;
    out->is_sequence = find_sequence(command, name, &out->rest);
    if (out->is_sequence) {
        for (bytes rest = out->rest; wire_next_document(&rest, &document);)
            ++*count_out;
    } else if (document_find(command->message->body, name, &array) && array.type == VALUE_ARRAY) {
        out->walk = document_fields(value_document(array));
        *count_out = document_field_count(value_document(array));
    }
    if (*count_out > LIMIT_WRITE_COMMAND_OPERATIONS)
        return command_fail(command, ERROR_InvalidLength,
                            "'%s' has %zu elements; Write batch sizes must be between 1 and %d",
                            name, *count_out, LIMIT_WRITE_COMMAND_OPERATIONS);
    return STATUS_OK;
}

status command_list_next(struct command *command, struct argument_list *list, bytes *out,
                         bool *has_out)
{
    struct field field;

    *out = BYTES_NONE;
    if (list->is_sequence) {
        *has_out = wire_next_document(&list->rest, out);
        return STATUS_OK;
    }
    *has_out = list->walk.rest.len > 0 && document_next(&list->walk, &field);
    if (!*has_out)
        return STATUS_OK;
    if (field.value.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch,
                            "element %.*s of the list is the wrong type '%s', expected type "
                            "'object'",
                            (int)field.name.len, (const char *)field.name.data,
                            value_type_name(field.value.type));
    *out = value_document(field.value);
    return STATUS_OK;
}
