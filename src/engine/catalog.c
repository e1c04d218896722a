/* Catalog: immutable pictures of all databases and collections.
 *
 * A change builds the next picture beside the current one, makes it durable, and swaps the pointer.
 * Requests load the pointer once. Old pictures are kept until every request that may hold one has
 * ended (epochs, see request.c). Collection descriptors are shared between pictures by a count that
 * only the changing thread touches.
 *
 * Threads: reading needs nothing; building, publishing and freeing happen under change_lock. */
#include "engine/index_shapes.h"
#include "engine/lane.h"
#include "engine/state.h"

#include <sched.h>
#include <stdlib.h>

enum { PICTURE_BUDGET = 256 * 1024 * 1024 };

/* ---- descriptors ---------------------------------------------------------------------------------- */

status collection_state_open(uint32_t id, struct collection_state **out)
{
    struct collection_state *state = memory_take_zeroed(1, sizeof(*state));

    *out = state;
    if (!state)
        return status_of(OUT_OF_MEMORY, "the server has no memory for another collection");
    state->id = id;
    state->partition = row_partition(id);
    gate_init(&state->gate);
    gate_init(&state->arrivals);
    for (unsigned lane = 0; lane < LANE_COUNT; lane++) {
        atomic_store(&state->lanes[lane].cut_upto, INT64_MIN);
        state->lanes[lane].dead_upto_s = INT64_MIN;
    }
    return STATUS_OK;
}

static void state_close(struct collection_state *state)
{
    gate_destroy(&state->gate);
    gate_destroy(&state->arrivals);
    memory_give(atomic_load(&state->deaths));
    for (size_t i = 0; i < LIMIT_INDEXES; i++) {
        index_set_close(&state->progress[i].shapes);
        index_set_close(&state->progress[i].kinds);
    }
    memory_give(state);
}

void collection_release(struct collection *collection)
{
    if (--collection->references > 0)
        return;
    struct collection_state *state = collection->state;
    arena_close(collection->memory);
    if (--state->references == 0)
        state_close(state);
}

void collection_attach(struct engine *engine, struct collection *collection,
                       struct collection_state *state)
{
    struct index *indexes = (struct index *)(uintptr_t)collection->indexes;

    collection->policy.is_in_partial = engine->options.predicate;
    collection->policy.predicate_context = engine->options.predicate_context;
    collection->state = state;
    atomic_store(&collection->settled_at, COLLECTION_SETTLED_NEVER);
    collection->references = 1;
    state->references++;
    for (size_t i = 0; i < collection->index_count; i++)
        indexes[i].progress = &state->progress[indexes[i].id % LIMIT_INDEXES];
}

/* A copy that may be changed before it is published; shares the state. */
status collection_clone(struct engine *engine, const struct collection *source,
                        struct collection **out)
{
    struct arena *memory = arena_open(2 * LIMIT_CATALOG_ENTRY_BYTES);
    struct buffer entry;
    bytes encoded;
    status s;

    *out = NULL;
    if (!memory)
        return status_of(OUT_OF_MEMORY, "the server has no memory for the catalog");
    entry = buffer_in(memory);
    row_write_collection(&entry, source);
    TRY_GOTO(buffer_finish(&entry, &encoded), failed);
    TRY_GOTO(ARENA_NEW(memory, 1, out), failed);
    TRY_GOTO(row_read_collection(memory, engine->collations, encoded, *out), failed);
    collection_attach(engine, *out, source->state);
    (*out)->version = source->version + 1;
    return STATUS_OK;
failed:
    arena_close(memory);
    *out = NULL;
    return s;
}

/* ---- pictures ------------------------------------------------------------------------------------- */

static int compare_names(const struct collection *a, bytes database, bytes name)
{
    int order = bytes_compare(a->definition.database, database);

    return order ? order : bytes_compare(a->definition.name, name);
}

static int by_name(const void *a, const void *b)
{
    const struct collection *const *left = a;
    const struct collection *const *right = b;

    return compare_names(*left, (*right)->definition.database, (*right)->definition.name);
}

static int by_id(const void *a, const void *b)
{
    const struct collection *const *left = a;
    const struct collection *const *right = b;

    return ((*left)->id > (*right)->id) - ((*left)->id < (*right)->id);
}

static int by_database_name(const void *a, const void *b)
{
    const struct database *left = a;
    const struct database *right = b;

    return bytes_compare(left->name, right->name);
}

static status add_database(struct catalog *catalog, const struct database *database)
{
    struct database *copy = &catalog->databases[catalog->database_count];

    copy->id = database->id;
    TRY(arena_copy(catalog->memory, database->name, &copy->name));
    TRY(arena_copy(catalog->memory, database->options, &copy->options));
    catalog->database_count++;
    return STATUS_OK;
}

static bool is_removed(const struct catalog_edit *edit, bytes name)
{
    return edit->remove_database.len > 0 && bytes_equal(edit->remove_database, name);
}

static bool is_replaced(const struct catalog_edit *edit, bytes name)
{
    for (size_t i = 0; i < edit->add_database_count; i++) {
        if (bytes_equal(edit->add_databases[i].name, name))
            return true;
    }
    return false;
}

static status fill_databases(const struct catalog *base, const struct catalog_edit *edit,
                             struct catalog *next)
{
    TRY(ARENA_NEW(next->memory, base->database_count + edit->add_database_count, &next->databases));
    for (size_t i = 0; i < base->database_count; i++) {
        if (!is_removed(edit, base->databases[i].name) &&
            !is_replaced(edit, base->databases[i].name))
            TRY(add_database(next, &base->databases[i]));
    }
    for (size_t i = 0; i < edit->add_database_count; i++)
        TRY(add_database(next, &edit->add_databases[i]));
    qsort(next->databases, next->database_count, sizeof(next->databases[0]), by_database_name);
    return STATUS_OK;
}

static bool stays(const struct catalog_edit *edit, const struct collection *collection)
{
    if (collection->id == edit->remove_id || is_removed(edit, collection->definition.database))
        return false;
    return edit->add_count == 0 ||
           bsearch(&collection, edit->add, edit->add_count, sizeof(edit->add[0]), by_id) == NULL;
}

static status fill_collections(const struct catalog *base, const struct catalog_edit *edit,
                               struct catalog *next)
{
    size_t most = base->collection_count + edit->add_count;

    TRY(ARENA_NEW(next->memory, most, &next->collections));
    TRY(ARENA_NEW(next->memory, most, &next->by_id));
    for (size_t i = 0; i < base->collection_count; i++) {
        if (stays(edit, base->collections[i]))
            next->collections[next->collection_count++] = base->collections[i];
    }
    for (size_t i = 0; i < next->collection_count; i++)
        next->collections[i]->references++;
    for (size_t i = 0; i < edit->add_count; i++)
        next->collections[next->collection_count++] = edit->add[i];
    qsort(next->collections, next->collection_count, sizeof(next->collections[0]), by_name);
    memcpy(next->by_id, next->collections, next->collection_count * sizeof(next->by_id[0]));
    qsort(next->by_id, next->collection_count, sizeof(next->by_id[0]), by_id);
    return STATUS_OK;
}

status catalog_build(const struct catalog *base, const struct catalog_edit *edit,
                     struct catalog **out)
{
    struct catalog *next = memory_take_zeroed(1, sizeof(*next));
    status s = status_of(OUT_OF_MEMORY, "the server has no memory for the catalog");

    *out = NULL;
    if (!next)
        return s;
    next->memory = arena_open(PICTURE_BUDGET);
    if (!next->memory)
        goto failed;
    TRY_GOTO(fill_databases(base, edit, next), failed);
    TRY_GOTO(fill_collections(base, edit, next), failed);
    *out = next;
    return STATUS_OK;
failed:
    arena_close(next->memory);
    memory_give(next);
    return s;
}

void catalog_discard(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->collection_count; i++)
        collection_release(catalog->collections[i]);
    arena_close(catalog->memory);
    memory_give(catalog);
}

void catalog_publish(struct engine *engine, struct catalog *next)
{
    next->number = atomic_load(&engine->catalog)->number + 1;
    struct catalog *previous = atomic_exchange(&engine->catalog, next);

    previous->retired_epoch = atomic_fetch_add(&engine->epoch, 1);
    previous->next_retired = engine->retired;
    engine->retired = previous;
    catalog_collect(engine);
}

void catalog_collect(struct engine *engine)
{
    uint64_t oldest = request_oldest_epoch(engine);
    struct catalog **link = &engine->retired;

    while (*link) {
        struct catalog *old = *link;
        if (old->retired_epoch >= oldest) {
            link = &old->next_retired;
            continue;
        }
        *link = old->next_retired;
        catalog_discard(old);
    }
}

void catalog_destroy(struct engine *engine)
{
    catalog_collect(engine);
    ASSERT(!engine->retired);
    struct catalog *last = atomic_load(&engine->catalog);
    if (last)
        catalog_discard(last);
}

/* ---- loading -------------------------------------------------------------------------------------- */

static status load_collection(struct engine *engine, bytes value, struct collection **out)
{
    struct arena *memory = arena_open(2 * LIMIT_CATALOG_ENTRY_BYTES);
    struct collection_state *state;
    status s;

    if (!memory)
        return status_of(OUT_OF_MEMORY, "the server has no memory for the catalog");
    TRY_GOTO(ARENA_NEW(memory, 1, out), failed);
    TRY_GOTO(row_read_collection(memory, engine->collations, value, *out), failed);
    TRY_GOTO(collection_state_open((*out)->id, &state), failed);
    collection_attach(engine, *out, state);
    atomic_store(&state->current, *out);
    s = lanes_load(engine, state);
    if (s.code == OK)
        s = backlogs_load(engine, *out);
    /* What a crash may have left behind: rows of an emptied collection. */
    atomic_store(&state->garbage_rows, lanes_were_cut(state) && lanes_are_empty(engine, state));
    if (s.code != OK)
        collection_release(*out);
    return s;
failed:
    arena_close(memory);
    return s;
}

/* What the catalog rows say, gathered before the first picture is built. */
struct loading {
    struct buffer collections; /* struct collection * */
    struct buffer databases;   /* struct database */
};

static status load_row(struct engine *engine, struct arena *arena, bytes key, bytes value,
                       struct loading *loading)
{
    struct database database;
    struct collection *collection;
    bytes options;

    if (key.data[0] == ROW_TAG_DATABASE) {
        TRY(row_database_name(arena, key, &database.name));
        if (!row_read_database(value, &database.id, &options))
            return status_of(CORRUPT, "the catalog entry of a database is damaged");
        TRY(arena_copy(arena, options, &database.options));
        buffer_append(&loading->databases, bytes_of(&database, sizeof(database)));
    }
    if (key.data[0] == ROW_TAG_COLLECTION) {
        TRY(load_collection(engine, value, &collection));
        buffer_append(&loading->collections, bytes_of(&collection, sizeof(collection)));
        if (loading->collections.is_failed)
            collection_release(collection);
    }
    return STATUS_OK;
}

static status load_rows(struct engine *engine, struct arena *arena, struct loading *loading)
{
    struct storage_range all = { .start = BYTES_LITERAL("\x01") };
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;

    TRY(storage_scan_open(engine->storage, NULL, address(ROW_CATALOG_PARTITION, SPACE_META), &all,
                          &scan));
    while (s.code == OK && storage_scan_next(scan, &key, &value))
        s = load_row(engine, arena, key, value, loading);
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

status catalog_load(struct engine *engine, struct arena *arena)
{
    struct loading loading = { .collections = buffer_in(arena), .databases = buffer_in(arena) };
    struct catalog nothing = { 0 };
    struct catalog *catalog = NULL;

    status s = load_rows(engine, arena, &loading);
    struct collection **collections = (struct collection **)(void *)loading.collections.data;
    size_t count = loading.collections.len / sizeof(*collections);
    struct catalog_edit edit = {
        .add = collections,
        .add_count = count,
        .add_databases = (struct database *)(void *)loading.databases.data,
        .add_database_count = loading.databases.len / sizeof(struct database),
    };
    if (s.code == OK && (loading.collections.is_failed || loading.databases.is_failed))
        s = arena_exhausted(arena);
    if (s.code == OK)
        s = catalog_build(&nothing, &edit, &catalog);
    if (s.code != OK) {
        for (size_t i = 0; i < count; i++)
            collection_release(collections[i]);
        return s;
    }
    atomic_store(&engine->catalog, catalog);
    return STATUS_OK;
}

/* ---- reading -------------------------------------------------------------------------------------- */

const struct database *catalog_lookup_database(const struct catalog *catalog, bytes name)
{
    struct database wanted = { .name = name };

    return bsearch(&wanted, catalog->databases, catalog->database_count, sizeof(wanted),
                   by_database_name);
}

const struct collection *catalog_lookup(const struct catalog *catalog, bytes database, bytes name)
{
    size_t low = 0, high = catalog->collection_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(catalog->collections[middle], database, name);
        if (order == 0)
            return catalog->collections[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* The descriptor for a request: the one in its picture, unless a change has settled its dead before the
 * request began. Then the change is waited for (its gate is closed) and what came of it is taken. */
static const struct collection *fitting(const struct request *request,
                                        const struct collection *found)
{
    int64_t settled_at = found ? atomic_load(&found->settled_at) : COLLECTION_SETTLED_NEVER;

    while (settled_at == COLLECTION_SETTLING) {
        sched_yield();
        settled_at = atomic_load(&found->settled_at);
    }
    if (settled_at == COLLECTION_SETTLED_NEVER || request->now <= settled_at)
        return found;
    gate_enter(&found->state->gate);
    const struct collection *current = atomic_load(&found->state->current);
    gate_leave(&found->state->gate);
    return current;
}

bool catalog_has_database(const struct request *request, bytes name)
{
    return catalog_lookup_database(request->catalog, name) != NULL;
}

static bool was_dropped_before(const struct request *request, const struct collection *collection)
{
    return collection && atomic_load(&collection->settled_at) < request->now &&
           atomic_load(&collection->state->is_dropped);
}

/* What was dropped while the request began may have another in its place, put there in the same step. */
static const struct collection *find_in_place(const struct request *request, bytes database,
                                              bytes name)
{
    enum { TRIES = 100 };
    const struct collection *found = fitting(request,
                                             catalog_lookup(request->catalog, database, name));

    for (int i = 0; i < TRIES && was_dropped_before(request, found); i++) {
        const struct catalog *newest = atomic_load(&request->engine->catalog);
        found = request->transaction ? NULL
                                     : fitting(request, catalog_lookup(newest, database, name));
    }
    return was_dropped_before(request, found) ? NULL : found;
}

status catalog_find(const struct request *request, bytes database, bytes name,
                    const struct collection **out)
{
    *out = find_in_place(request, database, name);
    if (*out)
        return STATUS_OK;
    *out = transaction_find_adopted(request->transaction, database, name);
    if (*out)
        return STATUS_OK;
    if (!catalog_has_database(request, database))
        return status_fail(request->arena, NOT_FOUND, "there is no database '%.*s'",
                           (int)database.len, (const char *)database.data);
    return status_fail(request->arena, NOT_FOUND,
                       "there is no collection '%.*s' in database '%.*s'", (int)name.len,
                       (const char *)name.data, (int)database.len, (const char *)database.data);
}

const struct collection *catalog_lookup_id(const struct catalog *catalog, uint32_t id)
{
    struct collection wanted = { .id = id };
    const struct collection *wanted_at = &wanted;
    struct collection **found = bsearch(&wanted_at, catalog->by_id, catalog->collection_count,
                                        sizeof(wanted_at), by_id);

    return found ? *found : NULL;
}

const struct collection *catalog_find_by_id(const struct request *request, uint32_t id)
{
    const struct collection *found = fitting(request, catalog_lookup_id(request->catalog, id));

    return found ? found : transaction_adopted_by_id(request->transaction, id);
}

uint64_t collection_writes(const struct collection *collection)
{
    return atomic_load(&collection->state->writes);
}

const struct index *collection_index(const struct collection *collection, bytes name)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (bytes_equal(collection->indexes[i].definition.name, name))
            return &collection->indexes[i];
    }
    return NULL;
}

size_t catalog_database_count(const struct request *request)
{
    return request->catalog->database_count;
}

bytes catalog_database(const struct request *request, size_t at)
{
    ASSERT(at < request->catalog->database_count);
    return request->catalog->databases[at].name;
}

uint32_t catalog_database_id(const struct request *request, bytes name)
{
    const struct database *database = catalog_lookup_database(request->catalog, name);

    return database ? database->id : 0;
}

bytes catalog_database_options(const struct request *request, bytes name)
{
    const struct database *database = catalog_lookup_database(request->catalog, name);

    return database ? database->options : BYTES_NONE;
}

size_t catalog_collection_count(const struct request *request)
{
    return request->catalog->collection_count;
}

const struct collection *catalog_collection(const struct request *request, size_t at)
{
    ASSERT(at < request->catalog->collection_count);
    return fitting(request, request->catalog->collections[at]);
}
