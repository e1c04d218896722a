/* Origin: the table of stages that have documents of their own.
 *
 * Threads: the command's. */
#include "front/mongo/origin.h"

static const struct origin origins[] = {
#define ORIGIN(stage, function, is_of_collection, is_of_admin) \
    { stage, function, is_of_collection, is_of_admin },
#include "front/mongo/origins.def"
#undef ORIGIN
};

const struct origin *origin_find(bytes stage)
{
    for (size_t i = 0; i < ARRAY_COUNT(origins); i++) {
        if (bytes_equal(stage, bytes_of_text(origins[i].stage)))
            return &origins[i];
    }
    return NULL;
}

status origin_documents(struct command *command, bytes collection, struct value argument,
                        struct buffer *out)
{
    struct field field;

    (void)collection;
    if (argument.type != VALUE_ARRAY)
        return command_fail(command, 5858203, "$documents takes an array of documents, not %s",
                            value_type_name(argument.type));
    struct document_walk walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (field.value.type != VALUE_DOCUMENT)
            return command_fail(command, ERROR_Location40228,
                                "$documents takes documents, and one of them is %s",
                                value_type_name(field.value.type));
        buffer_append(out, value_document(field.value));
    }
    return STATUS_OK;
}
