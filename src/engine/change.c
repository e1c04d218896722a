/* Change: creating, altering and dropping databases, collections, indexes and their expiry.
 *
 * One change at a time (change_lock). The collections concerned are closed to writes (their gates),
 * so that "now" and "the last write so far" are exact: whoever is dead at this moment is settled by
 * a stored horizon, whoever writes later knows the new policy. Then: next descriptors, next picture,
 * one durable commit, publish, open the gates. The cost does not depend on the number of documents.
 *
 * Keeps: nothing is seen that is not durable; a failed change leaves everything as it was.
 * Threads: any; never called from a commit's callbacks. */
#include "engine/lane.h"
#include "engine/state.h"

#include <inttypes.h>
#include <stdlib.h>

/* One row to be put (or, with an empty value, deleted) by a change; `end` makes it a range delete. */
struct change_row {
    struct row_address where;
    bytes key;
    bytes end;
    bytes value;
};

struct change {
    struct commit commit;
    struct engine *engine;
    struct arena *arena;
    struct collection **old; /* borrowed from the current picture, by id */
    struct collection **next;
    size_t count;
    struct catalog_edit edit;
    struct buffer rows; /* struct change_row */
};

static status change_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct change *change = commit->owner;
    const struct change_row *rows = (const struct change_row *)(void *)change->rows.data;
    struct storage *storage = change->engine->storage;

    for (size_t i = 0; i < change->rows.len / sizeof(*rows); i++) {
        if (rows[i].end.len > 0)
            storage_delete_range(storage, batch, rows[i].where, rows[i].key, rows[i].end);
        else if (rows[i].value.len == 0)
            storage_delete(storage, batch, rows[i].where, rows[i].key);
        else
            storage_put(storage, batch, rows[i].where, rows[i].key, rows[i].value);
    }
    change->engine->group.is_state_dirty = true;
    return STATUS_OK;
}

static void add_row(struct change *change, struct change_row row)
{
    buffer_append(&change->rows, bytes_of(&row, sizeof(row)));
}

static const struct catalog *current_catalog(struct engine *engine)
{
    return atomic_load(&engine->catalog);
}

static status begin(struct engine *engine, struct arena *arena, struct change *out)
{
    *out = (struct change){ .engine = engine, .arena = arena, .rows = buffer_in(arena) };
    pthread_mutex_lock(&engine->change_lock);
    catalog_collect(engine);
    return STATUS_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct collection *const *left = a;
    const struct collection *const *right = b;

    return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

/* Closes the gates of the collections to be changed and makes their next descriptors. */
static status close_and_clone(struct change *change, struct collection *const *old, size_t count)
{
    TRY(ARENA_NEW(change->arena, count, &change->old));
    TRY(ARENA_NEW(change->arena, count, &change->next));
    memcpy(change->old, old, count * sizeof(*old));
    qsort(change->old, count, sizeof(*old), compare_ids);
    for (; change->count < count; change->count++) {
        TRY(collection_clone(change->engine, change->old[change->count],
                             &change->next[change->count]));
        gate_close(&change->old[change->count]->state->gate);
    }
    return STATUS_OK;
}

static status put_descriptor(struct change *change, const struct collection *next)
{
    struct buffer key = buffer_in(change->arena), value = buffer_in(change->arena);
    struct change_row row = { .where = address(ROW_CATALOG_PARTITION, SPACE_META) };

    row_key_collection(&key, next->id);
    TRY(buffer_finish(&key, &row.key));
    row_write_collection(&value, next);
    TRY(buffer_finish(&value, &row.value));
    if (row.value.len > LIMIT_CATALOG_ENTRY_BYTES)
        return status_fail(
            change->arena, TOO_LARGE,
            "the collection's settings take %zu bytes, limit %d; use fewer or shorter "
            "paths and options",
            row.value.len, LIMIT_CATALOG_ENTRY_BYTES);
    add_row(change, row);
    return STATUS_OK;
}

/* Durable first, then seen. */
static status commit_and_publish(struct change *change)
{
    struct engine *engine = change->engine;
    struct catalog *next;

    if (change->rows.is_failed)
        return arena_exhausted(change->arena);
    TRY(catalog_build(current_catalog(engine), &change->edit, &next));
    /* The picture owns the descriptors only once it is published. */
    for (size_t i = 0; i < change->edit.add_count; i++)
        change->edit.add[i]->references++;
    change->commit = (struct commit){ .stamp = change_stamp, .owner = change };
    status s = commit_and_wait(engine->queue, &change->commit);
    if (s.code != OK) {
        catalog_discard(next);
        return s;
    }
    for (size_t i = 0; i < change->edit.add_count; i++)
        atomic_store(&change->edit.add[i]->state->current, change->edit.add[i]);
    catalog_publish(engine, next);
    return STATUS_OK;
}

static void end(struct change *change)
{
    for (size_t i = 0; i < change->count; i++) {
        gate_open(&change->next[i]->state->gate);
        collection_release(change->next[i]);
    }
    pthread_mutex_unlock(&change->engine->change_lock);
}

/* ---- names and limits ----------------------------------------------------------------------------- */

static status check_name(struct arena *arena, const char *what, bytes name)
{
    if (name.len == 0)
        return status_fail(arena, INVALID, "the %s has an empty name", what);
    if (name.len > LIMIT_NAME_BYTES)
        return status_fail(arena, TOO_LARGE, "the name of the %s has %zu bytes, limit %d", what,
                           name.len, LIMIT_NAME_BYTES);
    if (memchr(name.data, 0, name.len))
        return status_fail(arena, INVALID, "the name of the %s contains a NUL byte", what);
    return STATUS_OK;
}

static status fail_named(struct arena *arena, status_code code, const char *format, bytes name)
{
    return status_fail(arena, code, format, (int)name.len, (const char *)name.data);
}

static status need_collection(struct change *change, bytes database, bytes name,
                              struct collection **out)
{
    const struct catalog *catalog = current_catalog(change->engine);

    *out = (struct collection *)(uintptr_t)catalog_lookup(catalog, database, name);
    if (*out)
        return STATUS_OK;
    if (!catalog_lookup_database(catalog, database))
        return fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'", database);
    return fail_named(change->arena, NOT_FOUND, "there is no collection '%.*s'", name);
}

/* ---- databases ------------------------------------------------------------------------------------ */

static status database_row(struct change *change, bytes name, bytes options, bool is_put)
{
    struct buffer key = buffer_in(change->arena), value = buffer_in(change->arena);
    struct change_row row = { .where = address(ROW_CATALOG_PARTITION, SPACE_META) };

    row_key_database(&key, name);
    TRY(buffer_finish(&key, &row.key));
    if (is_put) {
        buffer_append_byte(&value, 'o');
        buffer_append(&value, options);
        TRY(buffer_finish(&value, &row.value));
    }
    add_row(change, row);
    return STATUS_OK;
}

static status create_database(struct change *change, struct database *database)
{
    const struct catalog *catalog = current_catalog(change->engine);

    TRY(check_name(change->arena, "database", database->name));
    if (catalog_lookup_database(catalog, database->name))
        return fail_named(change->arena, EXISTS, "there is a database '%.*s' already",
                          database->name);
    if (catalog->database_count >= LIMIT_DATABASES)
        return status_fail(change->arena, TOO_LARGE, "there are %d databases already, the limit",
                           LIMIT_DATABASES);
    TRY(database_row(change, database->name, database->options, true));
    change->edit.add_databases = database;
    change->edit.add_database_count = 1;
    return commit_and_publish(change);
}

status database_create(struct engine *engine, struct arena *arena, bytes name, bytes options)
{
    struct database database = { .name = name, .options = options };
    struct change change;

    TRY(begin(engine, arena, &change));
    status s = create_database(&change, &database);
    end(&change);
    return s;
}

/* Rows that make a collection disappear from the catalog; the purger erases its partition later. */
static status drop_rows(struct change *change, uint32_t id)
{
    struct buffer old_key = buffer_in(change->arena), mark_key = buffer_in(change->arena);
    struct change_row old = { .where = address(ROW_CATALOG_PARTITION, SPACE_META) };
    struct change_row mark = old;

    row_key_collection(&old_key, id);
    TRY(buffer_finish(&old_key, &old.key));
    row_key_dropped(&mark_key, id);
    TRY(buffer_finish(&mark_key, &mark.key));
    mark.value = BYTES_LITERAL("x");
    add_row(change, old);
    add_row(change, mark);
    return STATUS_OK;
}

static status drop_collections(struct change *change)
{
    for (size_t i = 0; i < change->count; i++)
        TRY(drop_rows(change, change->old[i]->id));
    TRY(commit_and_publish(change));
    for (size_t i = 0; i < change->count; i++)
        atomic_store(&change->next[i]->state->is_dropped, true);
    purger_wake(change->engine);
    return STATUS_OK;
}

static status drop_database(struct change *change, bytes name)
{
    const struct catalog *catalog = current_catalog(change->engine);
    struct collection **inside;
    size_t count = 0;

    if (!catalog_lookup_database(catalog, name))
        return fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'", name);
    TRY(ARENA_NEW(change->arena, catalog->collection_count, &inside));
    for (size_t i = 0; i < catalog->collection_count; i++) {
        if (bytes_equal(catalog->collections[i]->definition.database, name))
            inside[count++] = catalog->collections[i];
    }
    TRY(close_and_clone(change, inside, count));
    TRY(database_row(change, name, BYTES_NONE, false));
    change->edit.remove_database = name;
    return drop_collections(change);
}

status database_drop(struct engine *engine, struct arena *arena, bytes name)
{
    struct change change;

    TRY(begin(engine, arena, &change));
    status s = drop_database(&change, name);
    end(&change);
    return s;
}

/* ---- collections ---------------------------------------------------------------------------------- */

static status drop_collection(struct change *change, bytes database, bytes name)
{
    struct collection *old;

    TRY(need_collection(change, database, name, &old));
    TRY(close_and_clone(change, &old, 1));
    change->edit.remove_id = old->id;
    return drop_collections(change);
}

status collection_drop(struct engine *engine, struct arena *arena, bytes database, bytes name)
{
    struct change change;

    TRY(begin(engine, arena, &change));
    status s = drop_collection(&change, database, name);
    end(&change);
    return s;
}

/* Alters the next descriptor while the collection is closed to writes. */
typedef status alter(struct change *change, struct collection *next, const void *what);

static status alter_one(struct change *change, struct collection *old, alter *how, const void *what)
{
    TRY(close_and_clone(change, &old, 1));
    TRY(how(change, change->next[0], what));
    TRY(put_descriptor(change, change->next[0]));
    change->edit.add = change->next;
    change->edit.add_count = 1;
    return commit_and_publish(change);
}

static status alter_collection(struct engine *engine, struct arena *arena, bytes database,
                               bytes name, alter *how, const void *what)
{
    struct change change;
    struct collection *old;

    TRY(begin(engine, arena, &change));
    status s = need_collection(&change, database, name, &old);
    if (s.code == OK)
        s = alter_one(&change, old, how, what);
    end(&change);
    if (s.code == OK)
        purger_wake(engine);
    return s;
}

static status alter_by_id(struct engine *engine, struct arena *arena, uint32_t id, alter *how,
                          const void *what)
{
    struct change change;

    TRY(begin(engine, arena, &change));
    struct request current = { .catalog = current_catalog(engine) };
    struct collection *old = (struct collection *)(uintptr_t)catalog_find_by_id(&current, id);
    status s = old ? alter_one(&change, old, how, what) : STATUS_OK;
    end(&change);
    return s;
}

struct new_names {
    bytes database, name;
};

static status alter_names(struct change *change, struct collection *next, const void *what)
{
    const struct new_names *names = what;
    const struct catalog *catalog = current_catalog(change->engine);

    TRY(check_name(change->arena, "collection", names->name));
    if (!catalog_lookup_database(catalog, names->database))
        return fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'", names->database);
    if (catalog_lookup(catalog, names->database, names->name))
        return fail_named(change->arena, EXISTS, "there is a collection '%.*s' already",
                          names->name);
    TRY(arena_copy(next->memory, names->database, &next->definition.database));
    return arena_copy(next->memory, names->name, &next->definition.name);
}

status collection_rename(struct engine *engine, struct arena *arena, bytes database, bytes name,
                         bytes new_database, bytes new_name)
{
    struct new_names names = { .database = new_database, .name = new_name };

    return alter_collection(engine, arena, database, name, alter_names, &names);
}

static bool is_populated(struct change *change, const struct collection *collection)
{
    return !lanes_are_empty(change->engine, collection->state);
}

static status alter_default_ttl(struct change *change, struct collection *next, const void *what)
{
    const int32_t *default_ttl = what;

    expiry_settle_default(&next->policy, clock_now(change->engine->options.clock));
    next->policy.default_ttl = next->definition.default_ttl = *default_ttl;
    if (next->policy.rule_count > 0 && is_populated(change, next))
        next->is_mixed = true;
    return STATUS_OK;
}

status collection_set_default_ttl(struct engine *engine, struct arena *arena, bytes database,
                                  bytes name, int32_t default_ttl)
{
    TRY(expiry_check_default_ttl(arena, default_ttl));
    return alter_collection(engine, arena, database, name, alter_default_ttl, &default_ttl);
}

static status alter_options(struct change *change, struct collection *next, const void *what)
{
    const bytes *options = what;

    (void)change;
    return arena_copy(next->memory, *options, &next->definition.options);
}

status collection_set_options(struct engine *engine, struct arena *arena, bytes database,
                              bytes name, bytes options)
{
    return alter_collection(engine, arena, database, name, alter_options, &options);
}

/* ---- date rules ----------------------------------------------------------------------------------- */

static struct date_rule *rule_of_index(struct collection *collection, uint32_t index_id)
{
    for (size_t i = 0; i < collection->policy.rule_count; i++) {
        struct date_rule *rule = &collection->policy.rules[i];
        if (rule->index_id == index_id && rule->retired_seq == UINT64_MAX)
            return rule;
    }
    return NULL;
}

static status settle(struct change *change, struct collection *next, struct date_rule *rule)
{
    uint64_t seq = atomic_load(&change->engine->assigned_seq);

    if (!expiry_settle_rule(rule, seq, clock_now(change->engine->options.clock)))
        return status_fail(change->arena, BUSY,
                           "the expiry of this index was changed %d times since the purger last "
                           "cleaned up; try again in a minute",
                           LIMIT_RULE_HORIZONS);
    if (rule->horizon_count > 0)
        next->needs_clean_up = true;
    if (is_populated(change, next))
        next->is_mixed = true;
    return STATUS_OK;
}

static status retire_rule(struct change *change, struct collection *next, uint32_t index_id)
{
    struct date_rule *rule = rule_of_index(next, index_id);

    if (!rule)
        return STATUS_OK;
    TRY(settle(change, next, rule));
    rule->is_acting = false;
    rule->retired_seq = atomic_load(&change->engine->assigned_seq);
    next->needs_clean_up = true;
    return STATUS_OK;
}

static bool number_is_taken(const struct collection *collection, unsigned number)
{
    for (size_t i = 0; i < collection->policy.rule_count; i++) {
        if (collection->policy.rules[i].number == number)
            return true;
    }
    return false;
}

static status add_rule(struct change *change, struct collection *next, const struct index *index)
{
    struct expiry_policy *policy = &next->policy;
    struct date_rule *rules;
    unsigned number = 0;

    while (number < LIMIT_DATE_RULES && number_is_taken(next, number))
        number++;
    if (number == LIMIT_DATE_RULES)
        return status_fail(change->arena, TOO_LARGE,
                           "the collection has had %d TTL indexes whose documents are still there, "
                           "the limit",
                           LIMIT_DATE_RULES);
    TRY(ARENA_NEW(next->memory, policy->rule_count + 1, &rules));
    memcpy(rules, policy->rules, policy->rule_count * sizeof(*rules));
    rules[policy->rule_count] = (struct date_rule){
        .number = (uint8_t)number,
        .is_acting = index->state == INDEX_READY &&
                     !atomic_load(&change->engine->are_date_rules_off),
        .index_id = index->id,
        .ttl_ms = (int64_t)index->definition.expire_after_s * 1000,
        .created_seq = atomic_load(&change->engine->assigned_seq),
        .retired_seq = UINT64_MAX,
        .path = index->paths[0],
        .is_partial = index->definition.is_partial,
        .predicate = index->definition.predicate,
    };
    policy->rules = rules;
    policy->rule_count++;
    if (is_populated(change, next))
        next->is_mixed = true;
    return STATUS_OK;
}

struct new_expiry {
    bytes index_name;
    int32_t expire_after_s;
};

static status check_expiry(struct arena *arena, const struct index_definition *definition,
                           int64_t seconds)
{
    if (seconds == INDEX_NO_EXPIRY)
        return STATUS_OK;
    if (seconds < 0 || seconds > LIMIT_TTL_SECONDS)
        return status_fail(arena, INVALID,
                           "the index expires documents after %" PRId64
                           " seconds; it must be 0 to %d",
                           seconds, LIMIT_TTL_SECONDS);
    if (definition->kind != INDEX_FIELDS || definition->field_count != 1)
        return status_of(INVALID, "only an index on exactly one field can expire documents");
    return STATUS_OK;
}

static status alter_expiry(struct change *change, struct collection *next, const void *what)
{
    const struct new_expiry *expiry = what;
    struct index *index = (struct index *)(uintptr_t)collection_index(next, expiry->index_name);

    if (!index)
        return fail_named(change->arena, NOT_FOUND, "there is no index '%.*s'", expiry->index_name);
    TRY(check_expiry(change->arena, &index->definition, expiry->expire_after_s));
    index->definition.expire_after_s = expiry->expire_after_s;
    struct date_rule *rule = rule_of_index(next, index->id);
    if (expiry->expire_after_s == INDEX_NO_EXPIRY)
        return retire_rule(change, next, index->id);
    if (!rule)
        return add_rule(change, next, index);
    int64_t ttl_ms = (int64_t)expiry->expire_after_s * 1000;
    if (ttl_ms > rule->ttl_ms) /* a shorter ttl kills whoever the longer one had killed */
        TRY(settle(change, next, rule));
    else if (is_populated(change, next))
        next->is_mixed = true;
    rule->ttl_ms = ttl_ms;
    return STATUS_OK;
}

status index_set_expiry(struct engine *engine, struct arena *arena, bytes database, bytes name,
                        bytes index_name, int32_t expire_after_s)
{
    struct new_expiry expiry = { .index_name = index_name, .expire_after_s = expire_after_s };

    return alter_collection(engine, arena, database, name, alter_expiry, &expiry);
}

static status switch_rules(struct change *change, struct collection *next, bool is_acting)
{
    for (size_t i = 0; i < next->policy.rule_count; i++) {
        struct date_rule *rule = &next->policy.rules[i];
        if (rule->retired_seq != UINT64_MAX)
            continue;
        if (!is_acting)
            TRY(settle(change, next, rule));
        rule->is_acting = is_acting;
        for (size_t k = 0; is_acting && k < next->index_count; k++) {
            if (next->indexes[k].id == rule->index_id)
                rule->is_acting = next->indexes[k].state == INDEX_READY;
        }
    }
    if (is_populated(change, next))
        next->is_mixed = true;
    return put_descriptor(change, next);
}

static status switch_all(struct change *change, bool is_acting)
{
    const struct catalog *catalog = current_catalog(change->engine);
    struct collection **concerned;
    size_t count = 0;

    TRY(ARENA_NEW(change->arena, catalog->collection_count, &concerned));
    for (size_t i = 0; i < catalog->collection_count; i++) {
        if (catalog->collections[i]->policy.rule_count > 0)
            concerned[count++] = catalog->collections[i];
    }
    TRY(close_and_clone(change, concerned, count));
    for (size_t i = 0; i < count; i++)
        TRY(switch_rules(change, change->next[i], is_acting));
    change->edit.add = change->next;
    change->edit.add_count = count;
    bool was_off = atomic_exchange(&change->engine->are_date_rules_off, !is_acting);
    status s = commit_and_publish(change);
    if (s.code != OK)
        atomic_store(&change->engine->are_date_rules_off, was_off);
    return s;
}

status engine_set_date_rules_acting(struct engine *engine, struct arena *arena, bool is_acting)
{
    struct change change;

    TRY(begin(engine, arena, &change));
    status s = atomic_load(&engine->are_date_rules_off) == !is_acting
                   ? STATUS_OK
                   : switch_all(&change, is_acting);
    end(&change);
    purger_wake(engine);
    return s;
}

/* ---- indexes -------------------------------------------------------------------------------------- */

static status check_index(struct engine *engine, struct arena *arena, const struct collection *next,
                          const struct index_definition *definition)
{
    TRY(check_name(arena, "index", definition->name));
    if (collection_index(next, definition->name))
        return fail_named(arena, EXISTS, "there is an index '%.*s' already", definition->name);
    if (next->index_count >= LIMIT_INDEXES)
        return status_fail(arena, TOO_LARGE, "the collection has %d indexes already, the limit",
                           LIMIT_INDEXES);
    if (definition->is_partial && !engine->options.predicate)
        return status_of(UNSUPPORTED,
                         "this server was started without support for partial indexes");
    TRY(check_expiry(arena, definition, definition->expire_after_s));
    if (definition->kind == INDEX_PATHS) {
        if (definition->is_unique)
            return status_of(INVALID, "an index over path patterns cannot be unique");
        return index_check_patterns(arena, definition);
    }
    if (definition->field_count == 0 || definition->field_count > LIMIT_INDEX_FIELDS)
        return status_fail(arena, INVALID, "an index has 1 to %d fields, not %zu",
                           LIMIT_INDEX_FIELDS, definition->field_count);
    return STATUS_OK;
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
        fields[i].order = source->fields[i].order;
        TRY(arena_copy(memory, source->fields[i].path, &fields[i].path));
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
    return STATUS_OK;
}

static status alter_add_index(struct change *change, struct collection *next, const void *what)
{
    const struct index_definition *definition = what;
    struct index *indexes;

    TRY(check_index(change->engine, change->arena, next, definition));
    TRY(ARENA_NEW(next->memory, next->index_count + 1, &indexes));
    if (next->index_count > 0)
        memcpy(indexes, next->indexes, next->index_count * sizeof(*indexes));
    struct index *fresh = &indexes[next->index_count];
    TRY(copy_definition(next->memory, definition, fresh));
    fresh->id = next->next_index_id++;
    fresh->created_seq = atomic_load(&change->engine->assigned_seq);
    fresh->state = is_populated(change, next) ? INDEX_BUILDING : INDEX_READY;
    fresh->progress = &next->state->progress[fresh->id % LIMIT_INDEXES];
    atomic_store(&fresh->progress->per_mille, 0);
    atomic_store(&fresh->progress->seen, 0);
    next->indexes = indexes;
    next->index_count++;
    if (definition->expire_after_s != INDEX_NO_EXPIRY)
        TRY(add_rule(change, next, fresh));
    return STATUS_OK;
}

status index_create(struct engine *engine, struct arena *arena, bytes database, bytes name,
                    const struct index_definition *definition)
{
    status s = alter_collection(engine, arena, database, name, alter_add_index, definition);

    if (s.code == OK)
        builder_wake(engine);
    return s;
}

/* All rows of the index and its build cursor go in the same commit as its definition. */
static status erase_index(struct change *change, const struct collection *collection,
                          uint32_t index_id, bool with_rows)
{
    struct buffer start = buffer_in(change->arena), stop = buffer_in(change->arena);
    struct buffer cursor = buffer_in(change->arena);
    struct change_row rows = { .where = address(collection->state->partition, SPACE_ROWS) };
    struct change_row build = { .where = address(collection->state->partition, SPACE_META) };

    row_key_index(&start, index_id);
    row_key_index(&stop, index_id + 1);
    row_key_build(&cursor, index_id);
    TRY(buffer_finish(&start, &rows.key));
    TRY(buffer_finish(&stop, &rows.end));
    TRY(buffer_finish(&cursor, &build.key));
    if (with_rows)
        add_row(change, rows);
    add_row(change, build);
    return STATUS_OK;
}

static status alter_drop_index(struct change *change, struct collection *next, const void *what)
{
    const bytes *name = what;
    const struct index *index = collection_index(next, *name);

    if (!index)
        return fail_named(change->arena, NOT_FOUND, "there is no index '%.*s'", *name);
    TRY(retire_rule(change, next, index->id));
    TRY(erase_index(change, next, index->id, true));
    struct index *indexes = (struct index *)(uintptr_t)next->indexes;
    size_t at = (size_t)(index - next->indexes);
    memmove(indexes + at, indexes + at + 1, (next->index_count - at - 1) * sizeof(*indexes));
    next->index_count--;
    return STATUS_OK;
}

status index_drop(struct engine *engine, struct arena *arena, bytes database, bytes name,
                  bytes index_name)
{
    return alter_collection(engine, arena, database, name, alter_drop_index, &index_name);
}

unsigned index_progress_per_mille(const struct index *index)
{
    return index->state == INDEX_READY ? 1000 : atomic_load(&index->progress->per_mille);
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
            TRY(retire_rule(change, next, indexes[i].id));
        else if (rule)
            rule->is_acting = !atomic_load(&change->engine->are_date_rules_off);
        TRY(erase_index(change, next, indexes[i].id, is_failed));
    }
    return STATUS_OK;
}

status index_finish_build(struct engine *engine, struct arena *arena, uint32_t collection_id,
                          uint32_t index_id, bytes failure)
{
    struct finished_build finished = { .index_id = index_id, .failure = failure };
    status s = alter_by_id(engine, arena, collection_id, alter_finish_build, &finished);

    purger_wake(engine);
    return s;
}

/* ---- creating a collection ------------------------------------------------------------------------ */

static status check_collection(struct change *change,
                               const struct collection_definition *definition)
{
    const struct catalog *catalog = current_catalog(change->engine);

    TRY(check_name(change->arena, "collection", definition->name));
    TRY(expiry_check_default_ttl(change->arena, definition->default_ttl));
    if (!catalog_lookup_database(catalog, definition->database))
        return fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'",
                          definition->database);
    if (catalog_lookup(catalog, definition->database, definition->name))
        return fail_named(change->arena, EXISTS, "there is a collection '%.*s' already",
                          definition->name);
    if (catalog->collection_count >= LIMIT_COLLECTIONS)
        return status_fail(change->arena, TOO_LARGE, "there are %d collections already, the limit",
                           LIMIT_COLLECTIONS);
    if (definition->partition_path_count > LIMIT_PARTITION_KEY_PATHS)
        return status_fail(change->arena, INVALID, "a partition key has at most %d paths, not %zu",
                           LIMIT_PARTITION_KEY_PATHS, definition->partition_path_count);
    for (size_t i = 0; i < definition->partition_path_count; i++) {
        const struct path *parsed;
        TRY(path_parse(change->arena, definition->partition_paths[i], &parsed));
    }
    return STATUS_OK;
}

static status make_collection(struct change *change, const struct collection_definition *definition,
                              const struct index_definition *indexes, size_t index_count,
                              struct collection **out)
{
    struct collection seed = {
        .id = atomic_load(&change->engine->next_collection_id),
        .definition = *definition,
        .policy = {.default_ttl = definition->default_ttl,
                   .inheriting_horizon = INT64_MIN,
                   .own_horizon = INT64_MIN},
        .next_index_id = 1,
    };
    TRY(collection_state_open(seed.id, &seed.state));
    seed.state->references = 1; /* the seed's, given back below */
    status s = collection_clone(change->engine, &seed, out);
    if (s.code == OK)
        seed.state->references--;
    else
        gate_destroy(&seed.state->gate), memory_give(seed.state);
    for (size_t i = 0; s.code == OK && i < index_count; i++)
        s = alter_add_index(change, *out, &indexes[i]);
    if (s.code != OK && *out)
        collection_release(*out);
    return s;
}

static status create_collection(struct change *change,
                                const struct collection_definition *definition,
                                const struct index_definition *indexes, size_t index_count)
{
    struct collection *fresh = NULL;

    TRY(check_collection(change, definition));
    TRY(make_collection(change, definition, indexes, index_count, &fresh));
    change->edit.add = &fresh;
    change->edit.add_count = 1;
    status s = put_descriptor(change, fresh);
    if (s.code == OK) {
        atomic_fetch_add(&change->engine->next_collection_id, 1);
        s = commit_and_publish(change);
    }
    collection_release(fresh);
    return s;
}

status collection_create(struct engine *engine, struct arena *arena,
                         const struct collection_definition *definition,
                         const struct index_definition *indexes, size_t index_count)
{
    struct change change;

    TRY(begin(engine, arena, &change));
    status s = create_collection(&change, definition, indexes, index_count);
    end(&change);
    return s;
}

/* ---- for the purger ------------------------------------------------------------------------------- */

struct clean_up {
    uint64_t version;
    bool is_pure;
};

static bool lane_is_empty(struct engine *engine, const struct collection_state *state,
                          unsigned lane)
{
    pthread_mutex_lock(&engine->figures_lock);
    bool is_empty = state->lanes[lane].documents == 0;
    pthread_mutex_unlock(&engine->figures_lock);
    return is_empty;
}

static status alter_clean_up(struct change *change, struct collection *next, const void *what)
{
    const struct clean_up *clean = what;
    size_t kept = 0;

    if (next->version != clean->version + 1)
        return STATUS_OK; /* changed since: the next walk will see */
    next->needs_clean_up = false;
    for (size_t i = 0; i < next->policy.rule_count; i++) {
        struct date_rule *rule = &next->policy.rules[i];
        rule->horizon_count = 0;
        bool is_retired = rule->retired_seq != UINT64_MAX;
        if (is_retired &&
            lane_is_empty(change->engine, next->state, (unsigned)LANE_DATES + rule->number))
            continue;
        next->policy.rules[kept++] = *rule;
    }
    next->policy.rule_count = kept;
    if (clean->is_pure)
        next->is_mixed = false;
    return STATUS_OK;
}

status collection_finish_clean_up(struct engine *engine, struct arena *arena,
                                  uint32_t collection_id, uint64_t version, bool is_pure)
{
    struct clean_up clean = { .version = version, .is_pure = is_pure };

    return alter_by_id(engine, arena, collection_id, alter_clean_up, &clean);
}

status collection_forget_dropped(struct engine *engine, struct arena *arena, uint32_t id)
{
    struct change change;
    struct buffer key = buffer_in(arena);
    struct change_row row = { .where = address(ROW_CATALOG_PARTITION, SPACE_META) };

    TRY(begin(engine, arena, &change));
    row_key_dropped(&key, id);
    status s = buffer_finish(&key, &row.key);
    add_row(&change, row);
    if (s.code == OK)
        s = commit_and_publish(&change);
    end(&change);
    return s;
}
