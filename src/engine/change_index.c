/* Change, indexes: creating and dropping indexes, and the end of their builds.
 *
 * An index on an empty collection is ready at once; otherwise it is registered, maintained by every write
 * from then on, and built in the background. Dropping one removes all its rows by one range delete in the
 * same commit. Start reading at index_create(). */
#include "engine/change.h"
#include "engine/index.h"

/* ---- indexes -------------------------------------------------------------------------------------- */

static status check_arrival(const struct collection *next,
                            const struct index_definition *definition)
{
    if (collection_arrivals(next))
        return status_of(EXISTS, "the collection has an index by arrival already");
    if (definition->field_count > 0 || definition->is_unique || definition->is_sparse ||
        definition->is_partial || definition->is_lazy || definition->is_per_partition ||
        definition->is_ranked || definition->is_shaped ||
        definition->expire_after_s != INDEX_NO_EXPIRY)
        return status_of(INVALID, "an index by arrival holds every document, and has neither "
                                  "fields nor options");
    if (definition->keep_bytes < 0 || definition->keep_documents < 0)
        return status_of(INVALID, "the bounds of a collection must not be negative");
    return STATUS_OK;
}

static status check_parts(struct engine *engine, const struct index_definition *definition)
{
    if (!index_is_computed(definition))
        return STATUS_OK;
    if (definition->is_unique || definition->is_ranked || definition->is_per_partition ||
        definition->expire_after_s != INDEX_NO_EXPIRY)
        return status_of(INVALID, "an index with computed parts is neither unique, nor ranked, nor "
                                  "per partition key, nor a TTL index");
    for (size_t i = 0; i < definition->field_count; i++) {
        enum index_part part = definition->fields[i].part;
        if ((part == PART_WORDS || part == PART_CELLS) && !engine->options.extract)
            return status_of(UNSUPPORTED,
                             "this server was started without support for such indexes");
    }
    return STATUS_OK;
}

static status check_index(struct engine *engine, struct arena *arena, const struct collection *next,
                          const struct index_definition *definition)
{
    TRY(change_check_name(arena, "index", definition->name));
    if (collection_index(next, definition->name))
        return change_fail_named(arena, EXISTS, "there is an index '%.*s' already",
                                 definition->name);
    if (next->index_count >= LIMIT_INDEXES)
        return status_fail(arena, TOO_LARGE, "the collection has %d indexes already, the limit",
                           LIMIT_INDEXES);
    if (definition->is_partial && !engine->options.predicate)
        return status_of(UNSUPPORTED,
                         "this server was started without support for partial indexes");
    if (definition->is_lazy && definition->is_unique)
        return status_of(INVALID, "a lazy index cannot be unique");
    if (definition->kind == INDEX_ARRIVAL)
        return check_arrival(next, definition);
    TRY(rule_check_expiry(arena, definition, definition->expire_after_s));
    if (definition->kind == INDEX_PATHS) {
        if (definition->is_per_partition)
            return status_of(INVALID, "an index over path patterns cannot be per partition key");
        if (definition->is_ranked)
            return status_of(INVALID, "an index over path patterns has no ranks");
        if (definition->is_unique)
            return status_of(INVALID, "an index over path patterns cannot be unique");
        if (definition->collation)
            return status_of(INVALID, "an index over path patterns orders texts by their bytes");
        return index_check_patterns(arena, definition);
    }
    if (definition->is_ranked && definition->collation)
        return status_of(INVALID, "a ranked index orders texts by their bytes");
    if (definition->is_shaped)
        return status_of(INVALID, "only an index over path patterns has shapes");
    if (definition->is_ranked &&
        (definition->is_unique || definition->is_sparse || definition->is_partial ||
         definition->is_per_partition || definition->expire_after_s != INDEX_NO_EXPIRY))
        return status_of(INVALID, "a ranked index holds every document, and is neither unique, "
                                  "nor per partition key, nor a TTL index");
    if (definition->field_count == 0 || definition->field_count > LIMIT_INDEX_FIELDS)
        return status_fail(arena, INVALID, "an index has 1 to %d fields, not %zu",
                           LIMIT_INDEX_FIELDS, definition->field_count);
    return check_parts(engine, definition);
}

static status copy_definition(struct arena *memory, const struct index_definition *source,
                              struct index *out)
{
    struct index_definition *copy = &out->definition;
    struct index_field *fields;
    const struct path **paths;
    bytes *patterns;

    *copy = *source;
    TRY(arena_copy(memory, source->name, &copy->name));
    TRY(arena_copy(memory, source->predicate, &copy->predicate));
    TRY(arena_copy(memory, source->options, &copy->options));
    TRY(ARENA_NEW(memory, source->field_count, &fields));
    TRY(ARENA_NEW(memory, source->field_count, &paths));
    for (size_t i = 0; i < source->field_count; i++) {
        fields[i] = source->fields[i];
        TRY(arena_copy(memory, source->fields[i].path, &fields[i].path));
        TRY(arena_copy(memory, source->fields[i].settings, &fields[i].settings));
        TRY(path_parse(memory, fields[i].path, &paths[i]));
    }
    TRY(ARENA_NEW(memory, source->included_count + source->excluded_count, &patterns));
    for (size_t i = 0; i < source->included_count; i++)
        TRY(arena_copy(memory, source->included[i], &patterns[i]));
    for (size_t i = 0; i < source->excluded_count; i++)
        TRY(arena_copy(memory, source->excluded[i], &patterns[source->included_count + i]));
    copy->fields = fields;
    copy->included = patterns;
    copy->excluded = patterns + source->included_count;
    out->paths = paths;
    return index_parse_patterns(memory, copy, &out->patterns);
}

static bool place_is_taken(const struct collection *collection, uint32_t id)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].id % LIMIT_INDEXES == id % LIMIT_INDEXES)
            return true;
    }
    return false;
}

static void reset_progress(struct index_progress *progress)
{
    atomic_store(&progress->per_mille, 0);
    atomic_store(&progress->seen, 0);
    atomic_store(&progress->noted, 0);
    atomic_store(&progress->cleaned, 0);
    atomic_store(&progress->drained, 0);
}

status index_alter_add(struct change *change, struct collection *next, const void *what)
{
    const struct index_definition *definition = what;
    struct index *indexes;

    TRY(check_index(change->engine, change->arena, next, definition));
    TRY(ARENA_NEW(next->memory, next->index_count + 1, &indexes));
    if (next->index_count > 0)
        memcpy(indexes, next->indexes, next->index_count * sizeof(*indexes));
    struct index *fresh = &indexes[next->index_count];
    TRY(copy_definition(next->memory, definition, fresh));
    /* Living indexes share no place for their progress. */
    while (place_is_taken(next, next->next_index_id))
        next->next_index_id++;
    fresh->id = next->next_index_id++;
    fresh->created_seq = atomic_load(&change->engine->assigned_seq);
    fresh->state = change_is_populated(change, next) ? INDEX_BUILDING : INDEX_READY;
    fresh->progress = &next->state->progress[fresh->id % LIMIT_INDEXES];
    reset_progress(fresh->progress);
    next->indexes = indexes;
    next->index_count++;
    if (definition->expire_after_s != INDEX_NO_EXPIRY)
        TRY(rule_add(change, next, fresh));
    return STATUS_OK;
}

status index_create(struct engine *engine, struct arena *arena, bytes database, bytes name,
                    const struct index_definition *definition)
{
    status s = change_collection(engine, arena, database, name, index_alter_add, definition);

    if (s.code == OK)
        builder_wake(engine);
    return s;
}

static status erase_cursor(struct change *change, const struct collection *collection,
                           uint32_t index_id)
{
    struct buffer cursor = buffer_in(change->arena);
    struct change_row row = { .where = address(collection->state->partition, SPACE_META) };

    row_key_build(&cursor, index_id);
    TRY(buffer_finish(&cursor, &row.key));
    change_add_row(change, row);
    return STATUS_OK;
}

static status erase_many(struct change *change, const struct collection *collection,
                         uint32_t index_id)
{
    struct change_row row = { .where = address(collection->state->partition, SPACE_META) };
    uint8_t key[ROW_MANY_BYTES];

    row_key_many(key, index_id);
    TRY(arena_copy(change->arena, bytes_of(key, sizeof(key)), &row.key));
    change_add_row(change, row);
    return STATUS_OK;
}

typedef void row_key_of_index(struct buffer *out, uint32_t index_id);

static status erase_range(struct change *change, const struct collection *collection,
                          uint32_t index_id, row_key_of_index *key_of)
{
    struct buffer start = buffer_in(change->arena), stop = buffer_in(change->arena);
    struct change_row rows = { .where = address(collection->state->partition, SPACE_ROWS) };

    key_of(&start, index_id);
    key_of(&stop, index_id + 1);
    TRY(buffer_finish(&start, &rows.key));
    TRY(buffer_finish(&stop, &rows.end));
    change_add_row(change, rows);
    return STATUS_OK;
}

/* All rows of the index, its backlog, its mark and its cursor go in the same commit as its definition. */
static status erase_index(struct change *change, const struct collection *collection,
                          const struct index *index)
{
    TRY(erase_range(change, collection, index->id, row_key_index));
    if (index->definition.is_lazy)
        TRY(erase_range(change, collection, index->id, row_key_backlog));
    TRY(erase_many(change, collection, index->id));
    return erase_cursor(change, collection, index->id);
}

status index_rebuild_lazy(struct change *change, struct collection *next)
{
    struct index *indexes = (struct index *)(uintptr_t)next->indexes;

    for (size_t i = 0; i < next->index_count; i++) {
        if (!indexes[i].definition.is_lazy || indexes[i].state != INDEX_READY)
            continue;
        indexes[i].state = INDEX_BUILDING;
        indexes[i].created_seq = atomic_load(&change->engine->assigned_seq);
        atomic_store(&indexes[i].progress->per_mille, 0);
        atomic_store(&indexes[i].progress->seen, 0);
        TRY(erase_cursor(change, next, indexes[i].id));
    }
    return STATUS_OK;
}

status index_alter_drop(struct change *change, struct collection *next, const void *what)
{
    const bytes *name = what;
    const struct index *index = collection_index(next, *name);

    if (!index)
        return change_fail_named(change->arena, NOT_FOUND, "there is no index '%.*s'", *name);
    TRY(rule_retire(change, next, index->id));
    TRY(erase_index(change, next, index));
    struct index *indexes = (struct index *)(uintptr_t)next->indexes;
    size_t at = (size_t)(index - next->indexes);
    memmove(indexes + at, indexes + at + 1, (next->index_count - at - 1) * sizeof(*indexes));
    next->index_count--;
    return STATUS_OK;
}

status index_drop(struct engine *engine, struct arena *arena, bytes database, bytes name,
                  bytes index_name)
{
    return change_collection(engine, arena, database, name, index_alter_drop, &index_name);
}

unsigned index_progress_per_mille(const struct index *index)
{
    return index->state == INDEX_READY ? backlog_per_mille(index)
                                       : atomic_load(&index->progress->per_mille);
}

struct finished_build {
    uint32_t index_id;
    bytes failure;
};

static status alter_finish_build(struct change *change, struct collection *next, const void *what)
{
    const struct finished_build *finished = what;
    struct index *indexes = (struct index *)(uintptr_t)next->indexes;

    for (size_t i = 0; i < next->index_count; i++) {
        if (indexes[i].id != finished->index_id)
            continue;
        bool is_failed = finished->failure.len > 0;
        indexes[i].state = is_failed ? INDEX_FAILED : INDEX_READY;
        TRY(arena_copy(next->memory, finished->failure, &indexes[i].failure));
        struct date_rule *rule = rule_of_index(next, indexes[i].id);
        if (rule && is_failed)
            TRY(rule_retire(change, next, indexes[i].id));
        else if (rule)
            rule->is_acting = !atomic_load(&change->engine->are_date_rules_off);
        /* Documents written until now lie in lanes chosen without this rule. */
        if (rule && rule->is_acting && change_is_populated(change, next))
            next->is_mixed = true;
        TRY(is_failed ? erase_index(change, next, &indexes[i])
                      : erase_cursor(change, next, indexes[i].id));
    }
    return STATUS_OK;
}

status index_finish_build(struct engine *engine, struct arena *arena, uint32_t collection_id,
                          uint32_t index_id, bytes failure)
{
    struct finished_build finished = { .index_id = index_id, .failure = failure };
    status s = change_by_id(engine, arena, collection_id, alter_finish_build, &finished);

    purger_wake(engine);
    return s;
}
