/* Change, collections: creating, altering and dropping databases and collections.
 *
 * A dropped collection disappears from the catalog at once; a mark tells the purger to erase its
 * partition when nobody can see it any more. Start reading at collection_create(). */
#include "engine/change.h"

/* ---- databases ------------------------------------------------------------------------------------ */

/* NULL for the database: its row goes. */
static status database_row(struct change *change, bytes name, const struct database *database)
{
    struct buffer key = buffer_in(change->arena), value = buffer_in(change->arena);
    struct change_row row = { .where = address(ROW_CATALOG_PARTITION, SPACE_META) };

    row_key_database(&key, name);
    TRY(buffer_finish(&key, &row.key));
    if (database) {
        row_write_database(&value, database->id, database->options);
        TRY(buffer_finish(&value, &row.value));
    }
    change_add_row(change, row);
    return STATUS_OK;
}

static status put_database(struct change *change, const struct database *database)
{
    if (database->options.len > LIMIT_CATALOG_ENTRY_BYTES)
        return status_fail(change->arena, TOO_LARGE,
                           "the options of the database take %zu bytes, limit %d",
                           database->options.len, LIMIT_CATALOG_ENTRY_BYTES);
    TRY(database_row(change, database->name, database));
    change->edit.add_databases = database;
    change->edit.add_database_count = 1;
    return change_publish(change);
}

static status create_database(struct change *change, struct database *database)
{
    const struct catalog *catalog = change_catalog(change->engine);

    TRY(change_check_name(change->arena, "database", database->name));
    if (catalog_lookup_database(catalog, database->name))
        return change_fail_named(change->arena, EXISTS, "there is a database '%.*s' already",
                                 database->name);
    if (catalog->database_count >= LIMIT_DATABASES)
        return status_fail(change->arena, TOO_LARGE, "there are %d databases already, the limit",
                           LIMIT_DATABASES);
    database->id = atomic_fetch_add(&change->engine->next_id, 1);
    return put_database(change, database);
}

status database_create(struct engine *engine, struct arena *arena, bytes name, bytes options)
{
    struct database database = { .name = name, .options = options };
    struct change change;

    change_begin(engine, arena, &change);
    status s = create_database(&change, &database);
    change_end(&change);
    return s;
}

status database_set_options(struct engine *engine, struct arena *arena, bytes name, bytes options)
{
    struct change change;

    change_begin(engine, arena, &change);
    const struct database *old = catalog_lookup_database(change_catalog(engine), name);
    struct database next = { .id = old ? old->id : 0, .name = name, .options = options };
    status s = old ? put_database(&change, &next)
                   : change_fail_named(arena, NOT_FOUND, "there is no database '%.*s'", name);
    change_end(&change);
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
    change_add_row(change, old);
    change_add_row(change, mark);
    return STATUS_OK;
}

static status drop_collections(struct change *change)
{
    for (size_t i = 0; i < change->count; i++)
        TRY(drop_rows(change, change->old[i]->id));
    TRY(change_publish(change));
    for (size_t i = 0; i < change->count; i++)
        atomic_store(&change->next[i]->state->is_dropped, true);
    purger_wake(change->engine);
    return STATUS_OK;
}

static status drop_database(struct change *change, bytes name)
{
    const struct catalog *catalog = change_catalog(change->engine);
    struct collection **inside;
    size_t count = 0;

    if (!catalog_lookup_database(catalog, name))
        return change_fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'", name);
    TRY(ARENA_NEW(change->arena, catalog->collection_count, &inside));
    for (size_t i = 0; i < catalog->collection_count; i++) {
        if (bytes_equal(catalog->collections[i]->definition.database, name))
            inside[count++] = catalog->collections[i];
    }
    TRY(change_close_and_clone(change, inside, count));
    TRY(database_row(change, name, NULL));
    change->edit.remove_database = name;
    return drop_collections(change);
}

status database_drop(struct engine *engine, struct arena *arena, bytes name)
{
    struct change change;

    change_begin(engine, arena, &change);
    status s = drop_database(&change, name);
    change_end(&change);
    return s;
}

/* ---- collections ---------------------------------------------------------------------------------- */

static status drop_collection(struct change *change, bytes database, bytes name)
{
    struct collection *old;

    TRY(change_need_collection(change, database, name, &old));
    TRY(change_close_and_clone(change, &old, 1));
    change->edit.remove_id = old->id;
    return drop_collections(change);
}

status collection_drop(struct engine *engine, struct arena *arena, bytes database, bytes name)
{
    struct change change;

    change_begin(engine, arena, &change);
    status s = drop_collection(&change, database, name);
    change_end(&change);
    return s;
}

struct new_names {
    bytes database, name;
};

static status set_names(struct change *change, struct collection *next,
                        const struct new_names *names)
{
    TRY(change_check_name(change->arena, "collection", names->name));
    if (!catalog_lookup_database(change_catalog(change->engine), names->database))
        return change_fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'",
                                 names->database);
    TRY(arena_copy(next->memory, names->database, &next->definition.database));
    return arena_copy(next->memory, names->name, &next->definition.name);
}

static status alter_names(struct change *change, struct collection *next, const void *what)
{
    const struct new_names *names = what;
    const struct catalog *catalog = change_catalog(change->engine);

    if (catalog_lookup(catalog, names->database, names->name))
        return change_fail_named(change->arena, EXISTS, "there is a collection '%.*s' already",
                                 names->name);
    return set_names(change, next, names);
}

status collection_rename(struct engine *engine, struct arena *arena, bytes database, bytes name,
                         bytes new_database, bytes new_name)
{
    struct new_names names = { .database = new_database, .name = new_name };

    return change_collection(engine, arena, database, name, alter_names, &names);
}

/* One that is in the way goes in the same step. */
static status rename_over(struct change *change, struct collection *source,
                          const struct new_names *names)
{
    struct collection *both[2] = { source };
    struct collection *target = (struct collection *)(uintptr_t)catalog_lookup(
        change_catalog(change->engine), names->database, names->name);

    if (target == source)
        return status_of(INVALID, "a collection cannot take its own place");
    both[1] = target;
    TRY(change_close_and_clone(change, both, target ? 2 : 1));
    size_t at = change->old[0] == source ? 0 : 1;
    TRY(set_names(change, change->next[at], names));
    TRY(change_put_descriptor(change, change->next[at]));
    change->edit.add = &change->next[at];
    change->edit.add_count = 1;
    if (target) {
        TRY(drop_rows(change, target->id));
        change->edit.remove_id = target->id;
    }
    struct collection_state *gone = target ? target->state : NULL;
    TRY(change_publish(change));
    if (gone)
        atomic_store(&gone->is_dropped, true);
    return STATUS_OK;
}

status collection_rename_over(struct engine *engine, struct arena *arena, bytes database,
                              bytes name, bytes new_database, bytes new_name)
{
    struct new_names names = { .database = new_database, .name = new_name };
    struct collection *source;
    struct change change;

    change_begin(engine, arena, &change);
    status s = change_need_collection(&change, database, name, &source);
    if (s.code == OK)
        s = rename_over(&change, source, &names);
    change_end(&change);
    purger_wake(engine);
    return s;
}

static status set_default_ttl(struct change *change, struct collection *next, int32_t default_ttl)
{
    bool is_switched_on = next->policy.default_ttl == TTL_OFF && default_ttl != TTL_OFF;

    expiry_settle_default(&next->policy, clock_now(change->engine->options.clock));
    next->policy.default_ttl = next->definition.default_ttl = default_ttl;
    if (!change_is_populated(change, next))
        return STATUS_OK;
    if (next->policy.rule_count > 0)
        next->is_mixed = true;
    return is_switched_on ? index_rebuild_lazy(change, next) : STATUS_OK;
}

static status alter_settings(struct change *change, struct collection *next, const void *what)
{
    const struct collection_change *wanted = what;

    if (wanted->if_version != 0 && change->old[0]->version != wanted->if_version)
        return status_of(CONFLICT, "the collection was changed meanwhile; look again");
    if (wanted->sets_default_ttl)
        TRY(set_default_ttl(change, next, wanted->default_ttl));
    if (wanted->sets_options)
        TRY(arena_copy(next->memory, wanted->options, &next->definition.options));
    for (size_t i = 0; i < wanted->drop_count; i++)
        TRY(index_alter_drop(change, next, &wanted->drops[i]));
    for (size_t i = 0; i < wanted->add_count; i++)
        TRY(index_alter_add(change, next, &wanted->adds[i]));
    return STATUS_OK;
}

status collection_change(struct engine *engine, struct arena *arena, bytes database, bytes name,
                         const struct collection_change *wanted)
{
    if (wanted->sets_default_ttl)
        TRY(expiry_check_default_ttl(arena, wanted->default_ttl));
    TRY(change_collection(engine, arena, database, name, alter_settings, wanted));
    builder_wake(engine);
    return STATUS_OK;
}

status collection_set_default_ttl(struct engine *engine, struct arena *arena, bytes database,
                                  bytes name, int32_t default_ttl)
{
    struct collection_change wanted = { .sets_default_ttl = true, .default_ttl = default_ttl };

    return collection_change(engine, arena, database, name, &wanted);
}

status collection_set_options(struct engine *engine, struct arena *arena, bytes database,
                              bytes name, bytes options)
{
    struct collection_change wanted = { .sets_options = true, .options = options };

    return collection_change(engine, arena, database, name, &wanted);
}

/* ---- creating a collection ------------------------------------------------------------------------ */

static status check_collection(struct change *change,
                               const struct collection_definition *definition)
{
    const struct catalog *catalog = change_catalog(change->engine);

    TRY(change_check_name(change->arena, "collection", definition->name));
    TRY(expiry_check_default_ttl(change->arena, definition->default_ttl));
    if (!catalog_lookup_database(catalog, definition->database))
        return change_fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'",
                                 definition->database);
    if (catalog_lookup(catalog, definition->database, definition->name))
        return change_fail_named(change->arena, EXISTS, "there is a collection '%.*s' already",
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
        .id = atomic_load(&change->engine->next_id),
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
        gate_destroy(&seed.state->gate), gate_destroy(&seed.state->arrivals),
            memory_give(seed.state);
    for (size_t i = 0; s.code == OK && i < index_count; i++)
        s = index_alter_add(change, *out, &indexes[i]);
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
    status s = change_put_descriptor(change, fresh);
    if (s.code == OK) {
        atomic_fetch_add(&change->engine->next_id, 1);
        s = change_publish(change);
    }
    collection_release(fresh);
    return s;
}

status collection_create(struct engine *engine, struct arena *arena,
                         const struct collection_definition *definition,
                         const struct index_definition *indexes, size_t index_count)
{
    struct change change;

    change_begin(engine, arena, &change);
    status s = create_collection(&change, definition, indexes, index_count);
    change_end(&change);
    return s;
}

status collection_forget_dropped(struct engine *engine, struct arena *arena, uint32_t id)
{
    struct change change;
    struct buffer key = buffer_in(arena);
    struct change_row row = { .where = address(ROW_CATALOG_PARTITION, SPACE_META) };

    change_begin(engine, arena, &change);
    row_key_dropped(&key, id);
    status s = buffer_finish(&key, &row.key);
    change_add_row(&change, row);
    if (s.code == OK)
        s = change_publish(&change);
    change_end(&change);
    return s;
}
