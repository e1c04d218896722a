/* Output: pipelines that end in a collection.
 *
 *   $out   = "collection" | { db, coll }
 *   $merge = "collection" | { into: "collection" | { db, coll }, on, let, whenMatched, whenNotMatched }
 *
 * $out fills a collection beside the one that it replaces, with the same indexes and options, and then takes its
 * place, so that a failure leaves the old one as it was. $merge looks for the document of each row by the fields
 * of `on` and changes it like an update, or inserts the row.
 *
 * The rows are all computed before the first is written, so a pipeline may write where it reads.
 *
 * Threads: the command's. Start reading at output_write(). */
#include "front/mongo/output.h"

#include "front/mongo/change.h"
#include "front/mongo/index_build.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/keep.h"
#include "front/mongo/pipeline.h"
#include "front/mongo/principal.h"

enum { ATTEMPTS_MAX = 3, ON_MAX = 32 };

enum when_matched { MATCHED_MERGE, MATCHED_REPLACE, MATCHED_KEEP, MATCHED_FAIL, MATCHED_PIPELINE };
enum when_missing { MISSING_INSERT, MISSING_DISCARD, MISSING_FAIL };

struct output {
    bool is_merge;
    bytes database, name;
    const struct formula_scope *scope;
    bytes on[ON_MAX];
    size_t on_count;
    enum when_matched matched;
    enum when_missing missing;
    bytes stages; /* MATCHED_PIPELINE */
    bytes let;    /* a document, or empty */
};

/* ---- reading the stage ------------------------------------------------------------------------------ */

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

/* "collection" or { db, coll } */
static status read_target(struct command *command, struct value value, struct output *out)
{
    struct value database, name = value;

    out->database = command->database;
    if (value.type == VALUE_DOCUMENT) {
        document_find(value_document(value), "coll", &name);
        if (document_find(value_document(value), "db", &database) && database.type == VALUE_STRING)
            out->database = value_text(database);
    }
    if (name.type != VALUE_STRING || value_text(name).len == 0)
        return command_fail(command, value.type == VALUE_DOCUMENT ? ERROR_InvalidNamespace : 51178,
                            "%s takes the name of a collection, or {db, coll}",
                            out->is_merge ? "$merge" : "$out");
    out->name = value_text(name);
    return STATUS_OK;
}

static status read_on(struct command *command, struct value value, struct output *out)
{
    struct field element;

    out->on_count = 0;
    if (value.type == VALUE_STRING) {
        out->on[out->on_count++] = value_text(value);
        return STATUS_OK;
    }
    if (value.type != VALUE_ARRAY || document_field_count(value_document(value)) == 0 ||
        document_field_count(value_document(value)) > ON_MAX)
        return command_fail(command, 51186,
                            "$merge 'on' field must be a string or a non-empty array of at most %d "
                            "strings",
                            ON_MAX);
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &element)) {
        if (element.value.type != VALUE_STRING)
            return command_fail(command, 51134,
                                "$merge 'on' array elements must be strings, not %s",
                                value_type_name(element.value.type));
        out->on[out->on_count++] = value_text(element.value);
    }
    return STATUS_OK;
}

static status read_choice(struct command *command, struct field field, const char *const *choices,
                          size_t count, size_t *out)
{
    for (*out = 0; field.value.type == VALUE_STRING && *out < count; ++*out) {
        if (is_named(value_text(field.value), choices[*out]))
            return STATUS_OK;
    }
    return command_fail(command, ERROR_BadValue, "$merge has no such value for '%.*s'",
                        (int)field.name.len, (const char *)field.name.data);
}

static status read_merge_field(struct command *command, struct field field, struct output *out)
{
    static const char *const matched[] = { "merge", "replace", "keepExisting", "fail" };
    static const char *const missing[] = { "insert", "discard", "fail" };
    size_t choice = 0;

    if (is_named(field.name, "into"))
        return read_target(command, field.value, out);
    if (is_named(field.name, "on"))
        return read_on(command, field.value, out);
    if (is_named(field.name, "let") && field.value.type == VALUE_DOCUMENT) {
        out->let = value_document(field.value);
        return STATUS_OK;
    }
    if (is_named(field.name, "whenMatched") && field.value.type == VALUE_ARRAY) {
        out->matched = MATCHED_PIPELINE;
        out->stages = value_document(field.value);
        return STATUS_OK;
    }
    if (is_named(field.name, "whenMatched")) {
        TRY(read_choice(command, field, matched, ARRAY_COUNT(matched), &choice));
        out->matched = (enum when_matched)choice;
        return STATUS_OK;
    }
    if (!is_named(field.name, "whenNotMatched"))
        return command_fail(command, ERROR_Location40415,
                            "BSON field '$merge.%.*s' is an unknown field, or has a wrong type",
                            (int)field.name.len, (const char *)field.name.data);
    TRY(read_choice(command, field, missing, ARRAY_COUNT(missing), &choice));
    out->missing = (enum when_missing)choice;
    return STATUS_OK;
}

static status read_merge(struct command *command, struct value argument, struct output *out)
{
    struct document_walk walk;
    struct field field;

    out->on[0] = BYTES_LITERAL("_id");
    out->on_count = 1;
    if (argument.type == VALUE_STRING)
        return read_target(command, argument, out);
    if (argument.type != VALUE_DOCUMENT)
        return command_fail(command, 51178, "$merge requires a string or object argument, not %s",
                            value_type_name(argument.type));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field))
        TRY(read_merge_field(command, field, out));
    if (out->name.len == 0)
        return command_fail(command, ERROR_Location40414,
                            "BSON field '$merge.into' is missing but a required field");
    if (out->let.len && out->matched != MATCHED_PIPELINE)
        return command_fail(command, 51199,
                            "Cannot use 'let' variables with 'whenMatched' other than a pipeline");
    return STATUS_OK;
}

/* The rights to write where the rows go; a command of that database would need the same. */
static status check_rights(struct command *command, const struct output *output)
{
    TRY(principal_permit_on(command, output->database, ACCESS_WRITE));
    return command_check_name(command, output->database, output->name);
}

status output_take(struct command *command, struct arena *arena, const struct formula_scope *scope,
                   bytes *stages, struct output **out)
{
    struct document_walk walk = document_fields(*stages);
    struct buffer others = buffer_in(arena);
    struct field stage, last = { .value.type = VALUE_MISSING };
    struct value argument;
    size_t begun = document_begin(&others);

    *out = NULL;
    while (document_next(&walk, &stage)) {
        document_append(&others, last.name, last.value);
        last = stage;
    }
    document_end(&others, begun);
    if (last.value.type != VALUE_DOCUMENT)
        return STATUS_OK;
    bool is_merge = document_find(value_document(last.value), "$merge", &argument);
    if (!is_merge && !document_find(value_document(last.value), "$out", &argument))
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, out));
    (*out)->is_merge = is_merge;
    (*out)->scope = scope;
    TRY(is_merge ? read_merge(command, argument, *out) : read_target(command, argument, *out));
    TRY(check_rights(command, *out));
    return buffer_finish(&others, stages);
}

/* ---- inserting -------------------------------------------------------------------------------------- */

/* *is_there_out: there is a document with that _id. */
static status insert_row(struct command *command, const struct collection *collection, bytes name,
                         bytes row, bool *is_there_out)
{
    struct kept kept;

    TRY(kept_take(command, collection, BYTES_NONE, row, &kept));
    struct write_op op = { .collection = collection,
                           .kind = WRITE_INSERT,
                           .key = kept.key,
                           .document = kept.bson,
                           .own_ttl = kept.own_ttl };
    TRY(document_write(&command->request, &op, 1, WRITE_EACH));
    *is_there_out = op.outcome.code == EXISTS;
    if (!*is_there_out)
        return index_outcome(command, &op);
    return kept_fault_duplicate_id(command, name, collection, kept.id, &command->fault);
}

/* ---- $out ------------------------------------------------------------------------------------------- */

static status fill(struct command *command, bytes name, output_next *next, void *context)
{
    const struct collection *collection;
    bool is_there = false, has_row;
    bytes row;

    TRY(command_find(command, name, &collection));
    if (!collection)
        return status_of(NOT_FOUND, "the collection that $out fills was dropped");
    for (;;) {
        TRY(next(context, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        arena_position mark = arena_mark(command->arena);
        TRY(command_check_time(command));
        TRY(insert_row(command, collection, name, row, &is_there));
        if (is_there)
            return status_of(EXISTS, "two rows of $out have the same _id");
        arena_release(command->arena, mark);
    }
}

/* A collection like the old one, if there is one. */
static status make_beside(struct command *command, const struct collection *old, bytes name)
{
    struct collection_definition definition = { .database = command->database,
                                                .name = name,
                                                .default_ttl = TTL_OFF };
    struct index_definition *indexes = NULL;
    size_t count = 0;

    if (old) {
        definition = old->definition;
        definition.name = name;
        TRY(ARENA_NEW(command->arena, old->index_count, &indexes));
        for (size_t i = 0; i < old->index_count; i++)
            indexes[count++] = old->indexes[i].definition;
    }
    TRY(command_create(command, &definition, indexes, count));
    return command_renew(command);
}

static status replace_collection(struct command *command, const struct output *output, bytes beside)
{
    TRY(collection_rename_over(command->face->engine, command->arena, command->database, beside,
                               command->database, output->name));
    return command_renew(command);
}

static status write_out(struct command *command, struct output *output, output_next *next,
                        void *context)
{
    const struct collection *old;
    uint64_t number;

    TRY(command_find_stored(command, output->name, &old));
    random_secret(&number, sizeof(number));
    const char *text = arena_format(command->arena, "tmp.agg_out.%016llx",
                                    (unsigned long long)number);
    if (!text)
        return arena_exhausted(command->arena);
    bytes beside = bytes_of_text(text);
    TRY(make_beside(command, old, beside));
    status s = fill(command, beside, next, context);
    if (s.code == OK)
        s = replace_collection(command, output, beside);
    if (s.code != OK) {
        s = fault_keep(command->arena, &command->fault, s);
        status dropped = collection_drop(command->face->engine, command->arena, command->database,
                                         beside);
        (void)dropped;
    }
    return s;
}

/* ---- $merge ----------------------------------------------------------------------------------------- */

/* Without a unique index over the fields a row could mean several documents. */
static status check_unique(struct command *command, const struct output *output)
{
    const struct collection *collection;
    struct index_spec *specs;
    struct value ignored;
    size_t count = 0;

    if (output->on_count == 1 && is_named(output->on[0], "_id"))
        return STATUS_OK;
    TRY(command_find_stored(command, output->name, &collection));
    if (collection)
        TRY(index_spec_list(command, collection, &specs, &count));
    for (size_t i = 0; i < count; i++) {
        bool is_it = specs[i].is_unique && !specs[i].partial.len && specs[i].index &&
                     specs[i].index->definition.collation ==
                         formula_scope_collation(output->scope) &&
                     document_field_count(specs[i].key) == output->on_count;
        for (size_t j = 0; is_it && j < output->on_count; j++)
            is_it = document_find_bytes(specs[i].key, output->on[j], &ignored);
        if (is_it)
            return STATUS_OK;
    }
    return command_fail(command, 51183,
                        "Cannot find index to verify that join fields will be unique: $merge needs "
                        "a unique index over exactly the fields of 'on', with the collation of the "
                        "aggregation");
}

/* { field: { $eq: value }, ... } */
static status make_filter(struct command *command, const struct output *output, bytes row,
                          bytes *out)
{
    struct buffer built = buffer_in(command->arena);
    size_t begun = document_begin(&built);

    for (size_t i = 0; i < output->on_count; i++) {
        struct value root = { .type = VALUE_DOCUMENT, .raw = row };
        struct formula_run run = { .arena = command->arena, .root = root, .current = root };
        const struct formula *path;
        struct value value;
        TRY(formula_path(command->arena, NULL, output->on[i], &path));
        TRY(formula_value(path, &run, &value));
        if (value.type == VALUE_MISSING && is_named(output->on[i], "_id")) {
            *out = BYTES_NONE;
            return STATUS_OK;
        }
        if (value.type == VALUE_MISSING || value.type == VALUE_NULL ||
            value.type == VALUE_UNDEFINED || value.type == VALUE_ARRAY)
            return command_fail(command, 51132,
                                "$merge write error: 'on' field '%.*s' cannot be missing, null, "
                                "undefined or an array",
                                (int)output->on[i].len, (const char *)output->on[i].data);
        size_t inner = document_begin_inner(&built, VALUE_DOCUMENT, output->on[i]);
        document_append(&built, BYTES_LITERAL("$eq"), value);
        document_end(&built, inner);
    }
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

/* { new: { $literal: row }, name: { $literal: value }, ... } */
static status make_let(struct command *command, const struct output *output, bytes row, bytes *out)
{
    struct buffer built = buffer_in(command->arena);
    struct value root = { .type = VALUE_DOCUMENT, .raw = row };
    struct formula_run run = {
        .arena = command->arena, .now = command->request.now, .root = root, .current = root
    };
    struct document_walk walk;
    struct field field;

    TRY(ARENA_NEW(command->arena, FORMULA_VARIABLES_MAX, &run.variables));
    size_t begun = document_begin(&built);
    size_t inner = document_begin_inner(&built, VALUE_DOCUMENT, BYTES_LITERAL("new"));
    document_append(&built, BYTES_LITERAL("$literal"), root);
    document_end(&built, inner);
    if (output->let.len) {
        walk = document_fields(output->let);
        while (document_next(&walk, &field)) {
            const struct formula *formula;
            struct value value;
            TRY(formula_parse(command->arena, field.value, output->scope, &formula,
                              &command->fault));
            status s = formula_value(formula, &run, &value);
            if (s.code != OK)
                return formula_fault(command->arena, &run, s, &command->fault);
            inner = document_begin_inner(&built, VALUE_DOCUMENT, field.name);
            document_append(&built, BYTES_LITERAL("$literal"), value);
            document_end(&built, inner);
        }
    }
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

/* [ { $replaceWith: { $mergeObjects: [ "$$ROOT", "$$new" ] } } ] */
static status make_merging(struct arena *arena, bytes *out)
{
    static const char text[] = "[{\"$replaceWith\":{\"$mergeObjects\":[\"$$ROOT\",\"$$new\"]}}]";

    return json_read_array(arena, bytes_of_text(text), out);
}

/* { $setOnInsert: { _id: 0 } }: looks, and changes nothing. */
static status make_looking(struct arena *arena, bytes *out)
{
    return json_read(arena, BYTES_LITERAL("{\"$setOnInsert\":{\"_id\":0}}"), out);
}

static status make_change(struct command *command, const struct output *output, bytes row,
                          struct change_wish *wish)
{
    switch (output->matched) {
    case MATCHED_REPLACE:
        wish->update = (struct value){ .type = VALUE_DOCUMENT, .raw = row };
        return STATUS_OK;
    case MATCHED_KEEP:
    case MATCHED_FAIL:
        wish->update.type = VALUE_DOCUMENT;
        return make_looking(command->arena, &wish->update.raw);
    case MATCHED_MERGE:
        wish->update.type = VALUE_ARRAY;
        TRY(make_merging(command->arena, &wish->update.raw));
        return make_let(command, output, row, &wish->let);
    case MATCHED_PIPELINE:
        wish->update = (struct value){ .type = VALUE_ARRAY, .raw = output->stages };
        return make_let(command, output, row, &wish->let);
    }
    return STATUS_OK;
}

/* The document of the row, if there is one. */
static status change_matched(struct command *command, const struct output *output, bytes row,
                             bool *is_matched_out)
{
    struct change_wish wish = { .name = output->name,
                                .hint.type = VALUE_MISSING,
                                .sets_collation = true,
                                .by = formula_scope_collation(output->scope) };
    struct change_result result;

    *is_matched_out = false;
    TRY(make_filter(command, output, row, &wish.filter));
    if (wish.filter.len == 0)
        return STATUS_OK;
    TRY(make_change(command, output, row, &wish));
    TRY(change_run(command, &wish, &result));
    *is_matched_out = result.matched > 0;
    if (*is_matched_out && output->matched == MATCHED_FAIL)
        return command_fail(command, ERROR_DuplicateKey,
                            "$merge with whenMatched: fail found an existing document in '%.*s'",
                            (int)output->name.len, (const char *)output->name.data);
    return STATUS_OK;
}

static status merge_row(struct command *command, const struct output *output, bytes row)
{
    const struct collection *collection;
    bool is_matched, is_there = true;

    for (int attempt = 0; is_there && attempt < ATTEMPTS_MAX; attempt++) {
        command->fault = (struct fault){ 0 };
        TRY(change_matched(command, output, row, &is_matched));
        if (is_matched || output->missing == MISSING_DISCARD)
            return STATUS_OK;
        if (output->missing == MISSING_FAIL)
            return command_fail(command, ERROR_MergeStageNoMatchingDocument,
                                "$merge could not find a matching document in the target "
                                "collection for at least one document in the source");
        TRY(command_need(command, output->name, &collection));
        TRY(insert_row(command, collection, output->name, row, &is_there));
    }
    return is_there ? status_of(EXISTS, "a document with the _id of a row is there already")
                    : STATUS_OK;
}

static status write_merge(struct command *command, struct output *output, output_next *next,
                          void *context)
{
    bool has_row;
    bytes row;

    TRY(check_unique(command, output));
    for (;;) {
        TRY(next(context, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        arena_position mark = arena_mark(command->arena);
        TRY(command_check_time(command));
        TRY(merge_row(command, output, row));
        arena_release(command->arena, mark);
    }
}

status output_write(struct command *command, struct output *output, output_next *next,
                    void *context)
{
    bytes own = command->database;

    /* What was read is done with; what is written from here on has to be seen. */
    request_loosen(&command->request);
    command->database = output->database;
    status s = output->is_merge ? write_merge(command, output, next, context)
                                : write_out(command, output, next, context);
    command->database = own;
    return s;
}
