/* Origin: the table of stages that have documents of their own.
 *
 * Threads: the command's. */
#include "front/mongo/origin.h"

#include "front/mongo/index_spec.h"
#include "front/mongo/pipeline.h"

static const struct origin origins[] = {
#define ORIGIN(stage, function, is_of_collection, is_of_admin, what) \
    { stage, function, is_of_collection, is_of_admin, what },
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

void origin_describe(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(origins); i++)
        buffer_append_format(out, "| `%s` | %s |\n", origins[i].stage, origins[i].sentence);
}

status origin_documents(struct command *command, bytes collection, struct value argument,
                        struct buffer *out)
{
    struct formula_run run = { .arena = command->arena, .now = command->request.now };
    struct field field;
    bytes list;

    (void)collection;
    TRY(ARENA_NEW(command->arena, FORMULA_VARIABLES_MAX, &run.variables));
    TRY(pipeline_parse_documents(command->arena, argument, &run, NULL, &list, &command->fault));
    struct document_walk walk = document_fields(list);
    while (document_next(&walk, &field))
        buffer_append(out, value_document(field.value));
    return STATUS_OK;
}

/* { name, key, host, accesses, spec } of each index. */
status origin_index_stats(struct command *command, bytes name, struct value argument,
                          struct buffer *out)
{
    const struct collection *collection;
    struct index_spec *specs;
    size_t count;

    if (argument.type != VALUE_DOCUMENT || document_field_count(value_document(argument)) > 0)
        return command_fail(command, 28803,
                            "The $indexStats stage specification must be an empty "
                            "object");
    TRY(command_find_stored(command, name, &collection));
    if (!collection)
        return STATUS_OK;
    TRY(index_spec_list(command, collection, &specs, &count));
    for (size_t i = 0; i < count; i++) {
        size_t row = document_begin(out);
        reply_bytes(out, "name", specs[i].name);
        document_append(out, BYTES_LITERAL("key"),
                        (struct value){ .type = VALUE_DOCUMENT, .raw = specs[i].key });
        reply_text(out, "host", command->face->address);
        size_t uses = reply_begin(out, "accesses");
        document_append_int64(out, "ops", 0);
        reply_date(out, "since", command->request.now);
        document_end(out, uses);
        size_t spec = reply_begin(out, "spec");
        index_spec_append(out, &specs[i]);
        document_end(out, spec);
        document_end(out, row);
    }
    return STATUS_OK;
}

status origin_plan_cache(struct command *command, bytes name, struct value argument,
                         struct buffer *out)
{
    (void)name;
    (void)out;
    if (argument.type == VALUE_DOCUMENT)
        return STATUS_OK;
    return command_fail(command, ERROR_FailedToParse,
                        "$planCacheStats value must be an object. Found: %s",
                        value_type_name(argument.type));
}
