/* Index build: waiting for builds, showing them, and the errors of unique indexes.
 *
 * The engine registers an index at once and builds it in the background, also after a restart. A client that
 * creates an index is answered when it is ready, so its command waits; and since it waits anyway it helps, one
 * batch at a time, which makes a build as fast as its client is patient.
 *
 * Threads: the command's; it is marked as waiting for the whole build. index_fault_of_write may be called on
 * the committing thread. */
#include "front/mongo/index_build.h"

#include "base/block.h"
#include "front/mongo/duplicate.h"
#include "front/mongo/operation.h"

/* ---- duplicates ------------------------------------------------------------------------------------- */

void index_append_pattern(struct command *command, struct buffer *out, const struct index *index)
{
    struct value row, key;

    if (index->definition.options.len > 0 &&
        document_find(index->definition.options, "mongo", &row) && row.type == VALUE_DOCUMENT &&
        document_find(value_document(row), "key", &key)) {
        document_append(out, BYTES_LITERAL("keyPattern"), key);
        return;
    }
    size_t begun = reply_begin(out, "keyPattern");
    for (size_t i = 0; i < index->definition.field_count; i++) {
        const struct index_field *field = &index->definition.fields[i];
        const char *name = arena_format(command->arena, "%.*s", (int)field->path.len,
                                        (const char *)field->path.data);
        if (name)
            reply_int32(out, name, field->order == KEY_DESCENDING ? -1 : 1);
    }
    document_end(out, begun);
}

status index_fault_duplicate(struct command *command, bytes name, const struct index *index,
                             bytes key, struct fault *out)
{
    struct duplicate duplicate = { .collection = name,
                                   .index = index->definition.name,
                                   .values = key,
                                   .collation = index->definition.collation };
    struct buffer made = buffer_in(command->arena);
    struct value pattern;
    bytes document;

    size_t begun = document_begin(&made);
    index_append_pattern(command, &made, index);
    document_end(&made, begun);
    TRY(buffer_finish(&made, &document));
    document_find(document, "keyPattern", &pattern);
    duplicate.pattern = value_document(pattern);
    return duplicate_fault(command, &duplicate, out);
}

/* What clients call it that the index cannot hold a document. */
static int32_t refusal_of(const struct index *index)
{
    static const int32_t codes[PART_KINDS] = {
        [PART_VALUE] = ERROR_CannotIndexParallelArrays,
        [PART_HASHED] = 16766,
        [PART_WILDCARD] = 7246301,
        [PART_WORDS] = 17261,
        [PART_CELLS] = 16755,
    };
    enum index_part part = PART_VALUE;

    for (size_t k = 0; k < index->definition.field_count; k++) {
        if (index->definition.fields[k].part != PART_VALUE)
            part = index->definition.fields[k].part;
    }
    return codes[part];
}

/* The same of the index that refuses the document; `otherwise` if none does. */
static int32_t refusal_code(struct command *command, const struct collection *collection,
                            bytes document, int32_t otherwise)
{
    for (size_t i = 0; i < collection->index_count && document.len > 0; i++) {
        const struct index *index = &collection->indexes[i];
        struct scan_entries ignored;
        if (index->definition.kind == INDEX_FIELDS && !index->definition.is_ranked &&
            scan_entries(&command->request, command->arena, index, document, &ignored).code ==
                INVALID)
            return refusal_of(index);
    }
    return otherwise;
}

status index_fault_of_write(struct command *command, const struct write_op *op, struct fault *out)
{
    const struct collection *collection = op->collection;
    bytes key;

    *out = fault_of(op->outcome);
    if (op->outcome.code == INVALID) {
        out->code = refusal_code(command, collection, op->document, out->code);
        return STATUS_OK;
    }
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        if (index->id != op->duplicate_index)
            continue;
        TRY(index_entry_values(command->arena, index, op->document, op->duplicate_values, &key));
        return index_fault_duplicate(command, collection->definition.name, index, key, out);
    }
    return STATUS_OK; /* made while the write was on its way: the sentence has to do */
}

status index_outcome(struct command *command, const struct write_op *op)
{
    bool is_of_index = op->outcome.code == DUPLICATE_KEY || op->outcome.code == INVALID;

    if (is_of_index && command->fault.code == ERROR_NONE)
        TRY(index_fault_of_write(command, op, &command->fault));
    return op->outcome;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

static status fail_build(struct command *command, bytes name, const struct index *index)
{
    bytes key = index_failure_key(index), why = index_failure_text(index);

    if (key.len > 0) {
        TRY(index_fault_duplicate(command, name, index, key, &command->fault));
        return status_of(INVALID, "the command failed");
    }
    int32_t code = refusal_of(index) == ERROR_CannotIndexParallelArrays ? ERROR_CannotCreateIndex
                                                                        : refusal_of(index);
    return command_fail(command, code, "the index '%.*s' cannot be built: %.*s",
                        (int)index->definition.name.len, (const char *)index->definition.name.data,
                        (int)why.len, (const char *)why.data);
}

/* Whoever asked for the index is told that there is none, so there must be none. */
static status drop_again(struct command *command, bytes name, bytes index_name, status failed)
{
    status s = index_drop(command->face->engine, command->arena, command->database, name,
                          index_name);

    return s.code == OK || s.code == NOT_FOUND ? failed : s;
}

/* One look at the index, and one batch if it is not ready. */
static status go_on(struct command *command, bytes name, bytes index_name, bool *is_ready)
{
    const struct collection *collection;
    bool has_more;

    *is_ready = false;
    TRY(command_renew(command));
    TRY(command_find(command, name, &collection));
    const struct index *index = collection ? collection_index(collection, index_name) : NULL;
    if (!index)
        return command_fail(command, ERROR_IndexBuildAborted,
                            "the index '%.*s' was dropped while it was built", (int)index_name.len,
                            (const char *)index_name.data);
    if (index->state == INDEX_FAILED)
        return drop_again(command, name, index_name, fail_build(command, name, index));
    *is_ready = index->state == INDEX_READY;
    if (*is_ready)
        return STATUS_OK;
    status s = STATUS_OK;
    if (operation_is_killed(command))
        s = command_fail(command, ERROR_IndexBuildAborted,
                         "the build of the index '%.*s' was killed, and there is no such index",
                         (int)index_name.len, (const char *)index_name.data);
    if (s.code == OK)
        s = command_check_time(command);
    if (s.code != OK)
        return drop_again(command, name, index_name, s);
    return engine_build_step(command->face->engine, &has_more);
}

status index_build_await(struct command *command, bytes name, bytes index_name)
{
    bool is_marked = block_begin(), is_ready = false;
    status s = STATUS_OK;

    while (s.code == OK && !is_ready)
        s = go_on(command, name, index_name, &is_ready);
    if (is_marked)
        block_end();
    return s;
}

/* ---- showing and killing ---------------------------------------------------------------------------- */

static int32_t build_id(const struct collection *collection, const struct index *index)
{
    uint32_t number = collection->id * LIMIT_INDEXES + index->id;

    return (int32_t)(OPERATION_BUILD_BIT | (number & (OPERATION_BUILD_BIT - 1)));
}

static void append_build(struct buffer *out, struct command *command,
                         const struct collection *collection, const struct index *index)
{
    unsigned done = index_progress_per_mille(index);
    size_t begun = document_begin(out);

    reply_text(out, "type", "op");
    reply_text(out, "host", command->face->address);
    reply_text(out, "desc", "IndexBuilds");
    reply_bool(out, "active", true);
    reply_int32(out, "opid", build_id(collection, index));
    reply_text(out, "op", "command");
    reply_bytes(out, "ns", collection_namespace(collection, command->arena));
    size_t inner = reply_begin(out, "command");
    reply_bytes(out, "createIndexes", collection->definition.name);
    size_t list = reply_begin_array(out, "indexes"), row = reply_begin(out, "0");
    reply_bytes(out, "name", index->definition.name);
    document_end(out, row);
    document_end(out, list);
    document_end(out, inner);
    reply_text(out, "msg", "Index Build: scanning collection");
    size_t progress = reply_begin(out, "progress");
    reply_int64(out, "done", done);
    reply_int64(out, "total", 1000);
    document_end(out, progress);
    document_end(out, begun);
}

void index_build_append(struct command *command, struct buffer *out)
{
    for (size_t i = 0; i < catalog_collection_count(&command->request); i++) {
        const struct collection *collection = catalog_collection(&command->request, i);
        for (size_t k = 0; k < collection->index_count; k++) {
            if (collection->indexes[k].state == INDEX_BUILDING)
                append_build(out, command, collection, &collection->indexes[k]);
        }
    }
}

status index_build_kill(struct command *command, int32_t id)
{
    for (size_t i = 0; i < catalog_collection_count(&command->request); i++) {
        const struct collection *collection = catalog_collection(&command->request, i);
        const struct collection_definition *definition = &collection->definition;
        for (size_t k = 0; k < collection->index_count; k++) {
            const struct index *index = &collection->indexes[k];
            if (index->state != INDEX_BUILDING || build_id(collection, index) != id)
                continue;
            status s = index_drop(command->face->engine, command->arena, definition->database,
                                  definition->name, index->definition.name);
            return s.code == NOT_FOUND ? STATUS_OK : s;
        }
    }
    return STATUS_OK;
}
