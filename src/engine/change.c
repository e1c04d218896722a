/* Change: the way every change of the catalog goes.
 *
 * One change at a time (change_lock). The collections concerned are closed to writes (their gates),
 * so that "now" and "the last write so far" are exact: whoever is dead at this moment is settled by
 * a stored horizon, whoever writes later knows the new policy. Then: next descriptors, next picture,
 * one durable commit, publish, open the gates. The cost does not depend on the number of documents.
 *
 * Keeps: nothing is seen that is not durable; a failed change leaves everything as it was.
 * Threads: any; never called from a commit's callbacks. */
#include "engine/change.h"

#include <stdlib.h>

#include "engine/lane.h"

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
    if (change->switches_rules)
        atomic_store(&change->engine->are_date_rules_off, change->switches_rules_off);
    change->engine->group.is_state_dirty = true;
    return STATUS_OK;
}

void change_add_row(struct change *change, struct change_row row)
{
    buffer_append(&change->rows, bytes_of(&row, sizeof(row)));
}

const struct catalog *change_catalog(struct engine *engine)
{
    return atomic_load(&engine->catalog);
}

void change_begin(struct engine *engine, struct arena *arena, struct change *out)
{
    *out = (struct change){ .engine = engine, .arena = arena, .rows = buffer_in(arena) };
    out->is_marked = block_begin();
    pthread_mutex_lock(&engine->change_lock);
    catalog_collect(engine);
}

static int compare_ids(const void *a, const void *b)
{
    const struct collection *const *left = a;
    const struct collection *const *right = b;

    return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

/* Closes the gates of the collections to be changed and makes their next descriptors. */
/* The clock is read behind the mark, so it is not behind any time at which somebody has judged without
 * seeing the mark. */
static void settle_time(struct engine *engine, struct collection *old)
{
    atomic_store(&old->settled_at, COLLECTION_SETTLING);
    atomic_store(&old->settled_at, clock_now(engine->options.clock));
}

status change_close_and_clone(struct change *change, struct collection *const *old, size_t count)
{
    TRY(ARENA_NEW(change->arena, count, &change->old));
    TRY(ARENA_NEW(change->arena, count, &change->next));
    memcpy(change->old, old, count * sizeof(*old));
    qsort(change->old, count, sizeof(*old), compare_ids);
    for (; change->count < count; change->count++) {
        TRY(collection_clone(change->engine, change->old[change->count],
                             &change->next[change->count]));
        gate_close(&change->old[change->count]->state->gate);
        settle_time(change->engine, change->old[change->count]);
    }
    return STATUS_OK;
}

status change_put_descriptor(struct change *change, const struct collection *next)
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
    change_add_row(change, row);
    return STATUS_OK;
}

static status publish(struct change *change, struct catalog *next)
{
    struct engine *engine = change->engine;

    TRY(commit_and_wait(engine->queue, &change->commit));
    rule_forget_cuts(change);
    for (size_t i = 0; i < change->edit.add_count; i++) {
        change->edit.add[i]->picture = change_catalog(engine)->number + 1;
        atomic_store(&change->edit.add[i]->state->current, change->edit.add[i]);
    }
    catalog_publish(engine, next);
    change->is_published = true;
    return STATUS_OK;
}

/* Durable first, then seen. */
status change_publish(struct change *change)
{
    struct engine *engine = change->engine;
    struct catalog *next;

    if (change->rows.is_failed)
        return arena_exhausted(change->arena);
    TRY(catalog_build(change_catalog(engine), &change->edit, &next));
    /* The picture owns the descriptors only once it is published. */
    for (size_t i = 0; i < change->edit.add_count; i++)
        change->edit.add[i]->references++;
    change->commit = (struct commit){ .stamp = change_stamp, .owner = change };
    pthread_mutex_lock(&engine->publish_lock);
    atomic_fetch_add(&engine->publishings, 1);
    status s = publish(change, next);
    atomic_fetch_add(&engine->publishings, 1);
    pthread_mutex_unlock(&engine->publish_lock);
    if (s.code != OK)
        catalog_discard(next);
    return s;
}

void change_end(struct change *change)
{
    for (size_t i = 0; i < change->count; i++) {
        if (!change->is_published)
            atomic_store(&change->old[i]->settled_at, COLLECTION_SETTLED_NEVER);
        gate_open(&change->next[i]->state->gate);
        collection_release(change->next[i]);
    }
    pthread_mutex_unlock(&change->engine->change_lock);
    if (change->is_marked)
        block_end();
}

/* ---- names and limits ----------------------------------------------------------------------------- */

status change_check_name(struct arena *arena, const char *what, bytes name)
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

status change_fail_named(struct arena *arena, status_code code, const char *format, bytes name)
{
    return status_fail(arena, code, format, (int)name.len, (const char *)name.data);
}

status change_need_collection(struct change *change, bytes database, bytes name,
                              struct collection **out)
{
    const struct catalog *catalog = change_catalog(change->engine);

    *out = (struct collection *)(uintptr_t)catalog_lookup(catalog, database, name);
    if (*out)
        return STATUS_OK;
    if (!catalog_lookup_database(catalog, database))
        return change_fail_named(change->arena, NOT_FOUND, "there is no database '%.*s'", database);
    return change_fail_named(change->arena, NOT_FOUND, "there is no collection '%.*s'", name);
}

/* ---- altering one collection -------------------------------------------------------------------- */

static status alter_one(struct change *change, struct collection *old, alter *how, const void *what)
{
    TRY(change_close_and_clone(change, &old, 1));
    TRY(how(change, change->next[0], what));
    TRY(change_put_descriptor(change, change->next[0]));
    change->edit.add = change->next;
    change->edit.add_count = 1;
    return change_publish(change);
}

status change_collection(struct engine *engine, struct arena *arena, bytes database, bytes name,
                         alter *how, const void *what)
{
    struct change change;
    struct collection *old;

    change_begin(engine, arena, &change);
    status s = change_need_collection(&change, database, name, &old);
    if (s.code == OK)
        s = alter_one(&change, old, how, what);
    change_end(&change);
    if (s.code == OK)
        purger_wake(engine);
    return s;
}

status change_by_id(struct engine *engine, struct arena *arena, uint32_t id, alter *how,
                    const void *what)
{
    struct change change;

    change_begin(engine, arena, &change);
    struct request current = { .catalog = change_catalog(engine) };
    struct collection *old = (struct collection *)(uintptr_t)catalog_find_by_id(&current, id);
    status s = old ? alter_one(&change, old, how, what) : STATUS_OK;
    change_end(&change);
    return s;
}

bool change_is_populated(struct change *change, const struct collection *collection)
{
    return !lanes_are_empty(change->engine, collection->state);
}
