/* Capped: collections that keep the newest documents only.
 *
 * The order in which documents came and the bounds are those of an index by arrival of the engine, which is not
 * listed as an index; so the bounds hold for documents of every face. What a client said when it made the collection
 * is not kept beside it: the options of a capped collection are read from there.
 *
 * Converting a collection gives it that index; what it has too much leaves before the client is answered. Cloning
 * copies batch by batch, oldest first.
 *
 * Threads: the command's. */
#include "front/mongo/capped.h"

#include "front/mongo/handlers.h"
#include "front/mongo/index_build.h"
#include "front/mongo/keep.h"
#include "front/mongo/select.h"

enum { CAPPED_UNIT = 256 };
#define SIZE_MAX_BYTES (INT64_C(1) << 50)

bool capped_is(const struct collection *collection)
{
    return collection_arrivals(collection) != NULL;
}

struct capped_limits capped_limits(const struct collection *collection)
{
    const struct index *index = collection_arrivals(collection);

    if (!index)
        return (struct capped_limits){ 0 };
    return (struct capped_limits){ .size = index->definition.keep_bytes,
                                   .max = index->definition.keep_documents };
}

status capped_read(struct command *command, struct value size, struct value max,
                   struct capped_limits *out)
{
    int64_t bytes_max = argument_number(size, out->size);
    int64_t count = argument_number(max, out->max);

    if (bytes_max < 1 || bytes_max > SIZE_MAX_BYTES)
        return command_fail(command, ERROR_BadValue,
                            "the 'size' of a capped collection is %lld bytes; it must be 1 to %lld",
                            (long long)bytes_max, (long long)SIZE_MAX_BYTES);
    if (count >= INT32_MAX)
        return command_fail(command, ERROR_BadValue,
                            "the 'max' of a capped collection is %lld documents; it must be less "
                            "than %d",
                            (long long)count, INT32_MAX);
    out->size = (bytes_max + CAPPED_UNIT - 1) / CAPPED_UNIT * CAPPED_UNIT;
    out->max = count > 0 ? count : 0;
    return STATUS_OK;
}

void capped_index(struct capped_limits limits, struct index_definition *out)
{
    *out = (struct index_definition){ .name = BYTES_LITERAL(CAPPED_INDEX),
                                      .kind = INDEX_ARRIVAL,
                                      .expire_after_s = INDEX_NO_EXPIRY,
                                      .keep_bytes = limits.size,
                                      .keep_documents = limits.max };
}

void capped_append_options(struct buffer *out, struct capped_limits limits)
{
    if (limits.size == 0)
        return;
    reply_bool(out, "capped", true);
    reply_int64(out, "size", limits.size);
    if (limits.max > 0)
        reply_int64(out, "max", limits.max);
}

/* ---- what is too much -------------------------------------------------------------------------------- */

enum { TRIM_BATCH = 1000, TRIM_BYTES = 8 * 1024 * 1024 };

/* The oldest documents, as many as are too many but not more than a batch. */
static status trim_batch(struct command *command, const struct collection *collection,
                         struct capped_limits limits, bool *has_more_out)
{
    struct select_spec spec = { .collection = collection, .by = FIND_NATURAL };
    struct collection_figures figures;
    struct write_op *ops;
    struct select *select;
    struct select_row row;
    size_t count = 0;
    bool has = true;
    status s;

    *has_more_out = false;
    TRY(ARENA_NEW(command->arena, TRIM_BATCH, &ops));
    TRY(condition_make(command, command->arena, argument_document((struct value){ 0 }), BYTES_NONE,
                       NULL, &spec.condition));
    TRY(collection_figures(&command->request, collection, &figures));
    int64_t documents = (int64_t)figures.documents, size = (int64_t)figures.bytes, taken = 0;
    TRY(select_open(command, &spec, &select));
    while (count < TRIM_BATCH && taken < TRIM_BYTES &&
           ((limits.max > 0 && documents > limits.max) || size > limits.size)) {
        TRY_GOTO(select_next(select, &row, &has), done);
        if (!has)
            break;
        struct write_op *op = &ops[count];
        *op = (struct write_op){
            .collection = collection, .kind = WRITE_DELETE, .if_seq = row.seq, .own_ttl = TTL_ABSENT
        };
        TRY_GOTO(arena_copy(command->arena, row.key.partition, &op->key.partition), done);
        TRY_GOTO(arena_copy(command->arena, row.key.id, &op->key.id), done);
        documents--;
        size -= (int64_t)row.document.len;
        taken += (int64_t)row.document.len;
        count++;
    }
    *has_more_out = has && (count == TRIM_BATCH || taken >= TRIM_BYTES);
    s = STATUS_OK;
done:
    select_close(select);
    TRY(s);
    request_loosen(&command->request);
    return count ? document_write(&command->request, ops, count, WRITE_EACH) : STATUS_OK;
}

status capped_trim(struct command *command, bytes name)
{
    const struct collection *collection;
    bool has_more = true;

    while (has_more) {
        arena_position mark = arena_mark(command->arena);
        TRY(command_renew(command));
        TRY(command_find(command, name, &collection));
        if (!collection || !capped_is(collection))
            return STATUS_OK;
        TRY(trim_batch(command, collection, capped_limits(collection), &has_more));
        TRY(command_check_time(command));
        arena_release(command->arena, mark);
    }
    return STATUS_OK;
}

/* ---- collMod ---------------------------------------------------------------------------------------- */

status capped_check(struct command *command, const struct collection *collection, struct value size,
                    struct value max)
{
    struct capped_limits limits = capped_limits(collection);

    if (size.type == VALUE_MISSING && max.type == VALUE_MISSING)
        return STATUS_OK;
    if (!capped_is(collection))
        return command_fail(command, ERROR_InvalidOptions,
                            "'cappedSize' and 'cappedMax' are for capped collections only; see "
                            "convertToCapped");
    return capped_read(command, size, max, &limits);
}

status capped_modify(struct command *command, const struct collection *collection,
                     struct value size, struct value max)
{
    const struct collection_definition *definition = &collection->definition;
    struct capped_limits limits = capped_limits(collection);
    struct index_change change = { .name = BYTES_LITERAL(CAPPED_INDEX), .sets_bounds = true };

    if (size.type == VALUE_MISSING && max.type == VALUE_MISSING)
        return STATUS_OK;
    TRY(capped_check(command, collection, size, max));
    TRY(capped_read(command, size, max, &limits));
    change.keep_bytes = limits.size;
    change.keep_documents = limits.max;
    return index_change(command->face->engine, command->arena, definition->database,
                        definition->name, &change);
}

/* ---- convertToCapped -------------------------------------------------------------------------------- */

static status find_source(struct command *command, bytes name, const struct collection **out)
{
    bytes namespace = command_namespace(command, name);

    TRY(command_find_stored(command, name, out));
    if (*out)
        return STATUS_OK;
    return command_fail(command, ERROR_NamespaceNotFound, "source collection %.*s does not exist",
                        (int)namespace.len, (const char *)namespace.data);
}

status serve_convert_to_capped(struct command *command)
{
    static const struct argument table[] = {
        {"size", ARGUMENT_NUMBER, true},
    };
    const struct value none = { .type = VALUE_MISSING };
    struct value given[ARRAY_COUNT(table)];
    struct capped_limits limits = { 0 };
    const struct collection *collection;
    struct index_definition index;
    bytes name;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &name));
    TRY(find_source(command, name, &collection));
    if (keep_is_clustered(collection))
        return command_fail(command, ERROR_InvalidOptions,
                            "a clustered collection cannot be capped");
    TRY(capped_read(command, given[0], none, &limits));
    if (capped_is(collection)) {
        TRY(capped_modify(command, collection, given[0], none));
    } else {
        capped_index(limits, &index);
        status s = index_create(command->face->engine, command->arena, command->database, name,
                                &index);
        if (s.code != EXISTS) /* somebody else was faster: then it is capped */
            TRY(s);
        TRY(index_build_await(command, name, index.name));
    }
    return capped_trim(command, name);
}

/* ---- cloneCollectionAsCapped ------------------------------------------------------------------------ */

enum { COPY_BATCH = 1000, COPY_BYTES = 8 * 1024 * 1024 };

/* What a client has put there meanwhile stays. */
static status write_copies(struct command *command, struct write_op *ops, size_t count)
{
    TRY(document_write(&command->request, ops, count, WRITE_EACH));
    for (size_t i = 0; i < count; i++) {
        if (ops[i].outcome.code != EXISTS)
            TRY(ops[i].outcome);
    }
    return STATUS_OK;
}

/* The next documents behind a position, which is moved. */
static status copy_batch(struct command *command, bytes from, bytes to, struct buffer *position,
                         bool *is_over_out)
{
    struct select_spec spec = { .by = FIND_NATURAL,
                                .after = bytes_of(position->data, position->len) };
    const struct collection *target;
    struct write_op *ops;
    struct select *select;
    struct select_row row;
    size_t count = 0, size = 0;
    bytes reached = BYTES_NONE;
    bool has = true;
    status s;

    TRY(command_renew(command));
    TRY(find_source(command, from, &spec.collection));
    TRY(find_source(command, to, &target));
    TRY(ARENA_NEW(command->arena, COPY_BATCH, &ops));
    TRY(condition_make(command, command->arena, argument_document((struct value){ 0 }), BYTES_NONE,
                       NULL, &spec.condition));
    TRY(select_open(command, &spec, &select));
    while (count < COPY_BATCH && size < COPY_BYTES) {
        struct kept kept;
        bytes copy;
        TRY_GOTO(select_next(select, &row, &has), done);
        if (!has)
            break;
        TRY_GOTO(arena_copy(command->arena, row.document, &copy), done);
        TRY_GOTO(kept_take(command, target, BYTES_NONE, copy, &kept), done);
        ops[count++] = (struct write_op){ .collection = target,
                                          .kind = WRITE_INSERT,
                                          .key = kept.key,
                                          .document = kept.bson,
                                          .own_ttl = kept.own_ttl };
        size += copy.len;
    }
    TRY_GOTO(select_position(select, command->arena, &reached), done);
    *is_over_out = !has;
    position->len = 0;
    buffer_append(position, reached);
done:
    select_close(select);
    TRY(s);
    request_loosen(&command->request);
    return count ? write_copies(command, ops, count) : STATUS_OK;
}

static status copy_all(struct command *command, bytes from, bytes to)
{
    struct buffer position = buffer_in(command->arena);
    bool is_over = false;

    buffer_reserve(&position, 2 * LIMIT_KEY_BYTES);
    while (!is_over) {
        arena_position mark = arena_mark(command->arena);
        TRY(copy_batch(command, from, to, &position, &is_over));
        TRY(command_check_time(command));
        arena_release(command->arena, mark);
    }
    return STATUS_OK;
}

status serve_clone_as_capped(struct command *command)
{
    static const struct argument table[] = {
        {"toCollection", ARGUMENT_TEXT,    true },
        { "size",        ARGUMENT_NUMBER,  true },
        { "temp",        ARGUMENT_IGNORED, false},
    };
    struct collection_definition definition = { .database = command->database,
                                                .default_ttl = TTL_OFF };
    struct value given[ARRAY_COUNT(table)];
    struct capped_limits limits = { 0 };
    const struct collection *source;
    struct index_definition index;
    bytes from;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    TRY(command_collection_name(command, &from));
    definition.name = value_text(given[0]);
    if (definition.name.len == 0)
        return command_fail(command, ERROR_InvalidNamespace, "'toCollection' must not be empty");
    TRY(find_source(command, from, &source));
    definition.collation = source->definition.collation;
    TRY(capped_read(command, given[1], (struct value){ .type = VALUE_MISSING }, &limits));
    capped_index(limits, &index);
    status s = command_create(command, &definition, &index, 1);
    if (s.code == EXISTS)
        return command_fail(command, ERROR_NamespaceExists,
                            "cloneCollectionAsCapped failed: the collection '%.*s' already exists",
                            (int)definition.name.len, (const char *)definition.name.data);
    TRY(s);
    return copy_all(command, from, definition.name);
}
