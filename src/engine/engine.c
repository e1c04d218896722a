/* Engine: opening and closing, server time on disk, figures for operators.
 *
 * Opening reads the format, the state (last sequence, clock mark), the catalog and the lanes' totals;
 * nothing that grows with the number of documents. The clock's mark is written a little ahead of time
 * with every group commit, and by the timekeeper while there are only readers, so that after a crash
 * server time does not fall behind anything a client has seen.
 *
 * Threads: purger, builder and timekeeper, unless the engine is manual. Closing stops them first. */
#include "engine/lane.h"
#include "engine/state.h"

#include <inttypes.h>

#include "base/crew.h"

enum { TIMEKEEPER_MS = 250, TEND_EVERY = 8 };

/* ---- format and state ----------------------------------------------------------------------------- */

static status write_format(struct engine *engine, struct arena *arena)
{
    struct buffer key = buffer_in(arena), value = buffer_in(arena);
    struct storage_batch *batch = storage_batch_open(engine->storage);
    bytes key_bytes, value_bytes;
    size_t conflict;
    status s;

    if (!batch)
        return status_of(OUT_OF_MEMORY, "the server has no memory to start");
    row_key_format(&key);
    buffer_append_text(&value, "mayfly");
    buffer_append_u32(&value, ROW_FORMAT_VERSION);
    TRY_GOTO(buffer_finish(&key, &key_bytes), done);
    TRY_GOTO(buffer_finish(&value, &value_bytes), done);
    storage_put(engine->storage, batch, address(ROW_CATALOG_PARTITION, SPACE_META), key_bytes,
                value_bytes);
    storage_put(engine->storage, batch, address(ROW_CATALOG_PARTITION, SPACE_META),
                BYTES_LITERAL("A"), BYTES_LITERAL("1"));
    engine->marks_arrays = true;
    s = storage_commit(engine->storage, batch, NULL, 0, arena, &conflict);
done:
    storage_batch_close(engine->storage, batch);
    return s;
}

static status find_array_mark(struct engine *engine)
{
    struct storage_value pin;
    status s = storage_get(engine->storage, NULL, address(ROW_CATALOG_PARTITION, SPACE_META),
                           BYTES_LITERAL("A"), &pin);

    engine->marks_arrays = s.code == OK;
    if (s.code == OK)
        storage_value_release(engine->storage, &pin);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status check_format(struct engine *engine, struct arena *arena)
{
    struct storage_value pin;
    status s = storage_get(engine->storage, NULL, address(ROW_CATALOG_PARTITION, SPACE_META),
                           BYTES_LITERAL("F"), &pin);

    if (s.code == NOT_FOUND)
        return write_format(engine, arena);
    TRY(s);
    struct reader reader = reader_of(pin.value);
    bytes name = reader_bytes(&reader, 6);
    uint32_t version = reader_u32(&reader);
    bool is_ours = reader_is_done(&reader) && bytes_equal(name, BYTES_LITERAL("mayfly"));
    storage_value_release(engine->storage, &pin);
    if (!is_ours)
        return status_of(CORRUPT, "the data directory was not written by mayfly");
    if (version != ROW_FORMAT_VERSION)
        return status_fail(arena, CORRUPT,
                           "the data directory has stored format %" PRIu32
                           ", this program knows format %d; use the program that wrote it",
                           version, ROW_FORMAT_VERSION);
    return find_array_mark(engine);
}

static status load_state(struct engine *engine)
{
    struct row_state state = { .next_id = 1 };
    struct storage_value pin;
    status s = storage_get(engine->storage, NULL, address(ROW_CATALOG_PARTITION, SPACE_META),
                           BYTES_LITERAL("S"), &pin);

    if (s.code == OK) {
        bool is_sound = row_read_state(pin.value, &state);
        storage_value_release(engine->storage, &pin);
        if (!is_sound)
            return status_of(CORRUPT, "the stored state of the server is damaged");
        clock_restore(engine->options.clock, state.clock_mark, state.is_leap_pending);
    } else if (s.code != NOT_FOUND)
        return s;
    atomic_store(&engine->assigned_seq, state.last_seq);
    atomic_store(&engine->durable_seq, state.last_seq);
    atomic_store(&engine->next_id, state.next_id);
    atomic_store(&engine->are_date_rules_off, state.are_date_rules_off);
    atomic_store(&engine->stored_mark, state.clock_mark);
    engine->group.clock_mark = state.clock_mark;
    engine->group.earliest_end = TIME_NEVER;
    return STATUS_OK;
}

struct state_commit {
    struct commit commit;
    struct engine *engine;
    time_ms exact_mark; /* TIME_NEVER: a little ahead of now */
};

static status state_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct state_commit *store = commit->owner;

    (void)batch;
    store->engine->group.is_state_dirty = true;
    if (store->exact_mark != TIME_NEVER) {
        store->engine->group.is_mark_exact = true;
        store->engine->group.clock_mark = store->exact_mark;
    }
    return STATUS_OK;
}

static status store_state(struct engine *engine, time_ms exact_mark)
{
    struct state_commit store = { .engine = engine, .exact_mark = exact_mark };

    store.commit = (struct commit){ .stamp = state_stamp, .owner = &store, .is_barrier = true };
    return commit_and_wait(engine->queue, &store.commit);
}

status engine_store_clock(struct engine *engine)
{
    return store_state(engine, TIME_NEVER);
}

/* The stored mark of the clock is never behind a time that was used, and goes along: what was dead here is dead
 * there, whatever the clock of the other machine says. */
status engine_checkpoint(struct engine *engine, const char *path, struct arena *arena)
{
    return storage_checkpoint(engine->storage, path, arena);
}

/* ---- opening -------------------------------------------------------------------------------------- */

static void *timekeeper_run(void *owner)
{
    struct engine *engine = owner;
    bool has_failed = false; /* writes are stopped */
    unsigned rounds = 0;

    while (worker_pause(&engine->timekeeper, TIMEKEEPER_MS)) {
        transactions_expire(engine);
        if (++rounds % TEND_EVERY == 0)
            memory_tend_blocks();
        time_ms ahead = atomic_load(&engine->stored_mark) - atomic_load(&engine->last_now_used);
        if (ahead < LIMIT_CLOCK_MARK_AHEAD_MS / 2 && !has_failed) /* the queue says why */
            has_failed = engine_store_clock(engine).code != OK;
    }
    return NULL;
}

static struct engine *engine_new(struct storage *storage, struct engine_sweep *sweep,
                                 const struct engine_options *options)
{
    struct engine *engine = memory_take_zeroed(1, sizeof(*engine));

    if (!engine)
        return NULL;
    if (collations_open(&engine->collations).code != OK) {
        memory_give(engine);
        return NULL;
    }
    engine->storage = storage;
    engine->sweep = sweep;
    engine->options = *options;
    engine->options.is_manual |= options->is_read_only;
    engine->log = options->log;
    engine->metrics = options->metrics;
    latches_init(&engine->latches, random_salt());
    transactions_init(&engine->transactions);
    pthread_mutex_init(&engine->change_lock, NULL);
    pthread_mutex_init(&engine->publish_lock, NULL);
    pthread_mutex_init(&engine->figures_lock, NULL);
    pthread_mutex_init(&engine->purger.pass_lock, NULL);
    pthread_mutex_init(&engine->purger.keeper_lock, NULL);
    pthread_mutex_init(&engine->purger.history.lock, NULL);
    pthread_mutex_init(&engine->build_lock, NULL);
    atomic_store(&engine->epoch, 1);
    atomic_store(&engine->purger.is_enabled, true);
    atomic_store(&engine->purger.pause_s,
                 options->purger_pause_s > 0 ? options->purger_pause_s : LIMIT_PURGER_PAUSE_S);
    engine->slots = memory_take_aligned(64, LIMIT_RUNNING_REQUESTS * sizeof(*engine->slots));
    engine->group_arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct commit_queue_hooks hooks = { .before_group = group_before_write,
                                        .after_group = group_after_write,
                                        .owner = engine };
    engine->queue = commit_queue_open(storage, hooks, options->log, options->metrics);
    if (storage_capabilities(storage) & STORAGE_HAS_SINGLE_WRITER) {
        engine->recall =
            recall_open(options->recall_bytes); /* without memory for it, everything is looked up */
        engine->hints = hints_open(options->hints_bytes);
    }
    const unsigned helpers = options->helpers ? options->helpers : crew_usual_hands();
    if (helpers > 0)
        engine->crew = crew_open(helpers);
    return engine;
}

/* Frees everything but the storage. */
static void engine_free(struct engine *engine)
{
    if (engine->queue)
        commit_queue_close(engine->queue);
    if (atomic_load(&engine->catalog))
        catalog_destroy(engine);
    arena_close(engine->group_arena);
    memory_give(engine->slots);
    recall_close(engine->recall);
    hints_close(engine->hints);
    crew_close(engine->crew);
    memory_give(engine->group.deltas);
    pthread_mutex_destroy(&engine->build_lock);
    pthread_mutex_destroy(&engine->purger.keeper_lock);
    pthread_mutex_destroy(&engine->purger.pass_lock);
    pthread_mutex_destroy(&engine->purger.history.lock);
    pthread_mutex_destroy(&engine->figures_lock);
    pthread_mutex_destroy(&engine->publish_lock);
    pthread_mutex_destroy(&engine->change_lock);
    transactions_destroy(&engine->transactions);
    latches_destroy(&engine->latches);
    collations_close(engine->collations);
    memory_give(engine);
}

static status engine_load(struct engine *engine, struct arena *arena)
{
    if (!engine->slots || !engine->group_arena || !engine->queue)
        return status_of(OUT_OF_MEMORY, "the server has no memory to start");
    if (!(storage_capabilities(engine->storage) & STORAGE_HAS_MULTI_PARTITION))
        return status_of(UNSUPPORTED,
                         "this storage cannot commit over several partitions, which the "
                         "engine needs");
    TRY(check_format(engine, arena));
    TRY(load_state(engine));
    return catalog_load(engine, arena);
}

static bool start_workers(struct engine *engine)
{
    return purger_start(engine) && builder_start(engine) &&
           worker_start(&engine->timekeeper, timekeeper_run, engine);
}

static void stop_workers(struct engine *engine)
{
    worker_stop(&engine->timekeeper);
    worker_stop(&engine->builder);
    worker_stop(&engine->purger.worker);
}

status engine_open(struct storage *storage, struct engine_sweep *sweep,
                   const struct engine_options *options, struct arena *arena, struct engine **out)
{
    struct engine *engine = engine_new(storage, sweep, options);

    *out = NULL;
    if (!engine)
        return status_of(OUT_OF_MEMORY, "the server has no memory to start");
    status s = engine_load(engine, arena);
    if (s.code != OK) {
        engine_free(engine);
        return s;
    }
    *out = engine;
    if (engine->options.is_manual || start_workers(engine)) {
        atomic_store(&sweep->engine,
                     engine); /* from here on it lives until the storage is closed */
        return STATUS_OK;
    }
    *out = NULL;
    stop_workers(engine);
    engine_free(engine);
    return status_of(OUT_OF_MEMORY, "the server cannot start its background threads");
}

void engine_close(struct engine *engine)
{
    stop_workers(engine);
    status s = engine->options.is_read_only ? STATUS_OK
                                            : store_state(engine, clock_now(engine->options.clock));
    if (s.code != OK)
        log_event(engine->log, LOG_ERROR, "engine.close", "why=\"%s\"", s.message);
    commit_queue_close(engine->queue);
    engine->queue = NULL;
    /* Sweeps may run until the storage is closed; they use the engine. */
    atomic_store(&engine->sweep->engine, NULL);
    storage_close(engine->storage);
    engine_free(engine);
}

/* ---- small questions ------------------------------------------------------------------------------ */

struct clock *engine_clock(struct engine *engine)
{
    return engine->options.clock;
}

struct collations *engine_collations(struct engine *engine)
{
    return engine->collations;
}

uint64_t engine_last_seq(const struct engine *engine)
{
    return atomic_load(&engine->durable_seq);
}

const char *engine_writes_stopped(const struct engine *engine)
{
    return commit_queue_stop_reason(engine->queue);
}

status engine_read_deaths(struct engine *engine, uint32_t collection_id, death_reader *reader,
                          void *context)
{
    pthread_mutex_lock(&engine->purger.pass_lock); /* nobody is between telling and removing */
    pthread_mutex_lock(&engine->change_lock);
    struct request current = { .catalog = atomic_load(&engine->catalog) };
    const struct collection *collection = catalog_find_by_id(&current, collection_id);
    struct death_subscription *next = NULL;
    status s = STATUS_OK;

    if (!collection)
        s = status_of(NOT_FOUND, "there is no such collection");
    if (s.code == OK && reader) {
        next = memory_take(sizeof(*next));
        if (next)
            *next = (struct death_subscription){ .reader = reader, .context = context };
        else
            s = status_of(OUT_OF_MEMORY, "the server has no memory for a reader of deaths");
    }
    if (s.code == OK) {
        gate_close(&collection->state->gate);
        memory_give(atomic_exchange(&collection->state->deaths, next));
        gate_open(&collection->state->gate);
    }
    pthread_mutex_unlock(&engine->change_lock);
    pthread_mutex_unlock(&engine->purger.pass_lock);
    return s;
}

/* ---- metrics -------------------------------------------------------------------------------------- */

static void append_label(struct buffer *out, const char *name, bytes text)
{
    buffer_append_format(out, "%s=\"", name);
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = text.data[i];
        if (byte == '"' || byte == '\\')
            buffer_append_byte(out, '\\');
        if (byte == '\n')
            buffer_append_text(out, "\\n");
        else
            buffer_append_byte(out, byte);
    }
    buffer_append_byte(out, '"');
}

struct figure_row {
    const char *name;
    const char *kind;
    const char *sentence;
    size_t offset;
};

static const struct figure_row figure_rows[] = {
#define FIGURE(name, kind, field, sentence) \
    { #name, kind, sentence, offsetof(struct collection_figures, field) },
    FIGURE(documents, "gauge", documents, "living documents")
        FIGURE(bytes, "gauge", bytes, "size of the living documents") FIGURE(
            dead_documents, "gauge", dead_documents, "dead documents whose space is not back yet")
            FIGURE(dead_bytes, "gauge", dead_bytes, "size of the dead documents not yet purged")
                FIGURE(oldest_dead_ms, "gauge", oldest_dead_age_ms,
                       "age of the oldest dead document not yet purged")
                    FIGURE(purged_documents_total, "counter", purged_documents,
                           "documents purged since start")
                        FIGURE(purged_bytes_total, "counter", purged_bytes,
                               "bytes purged since start")
#undef FIGURE
};

static void render_row(struct request *request, const struct figure_row *row,
                       const struct collection_figures *figures, struct buffer *out)
{
    buffer_append_format(out, "# HELP mayfly_collection_%s %s\n# TYPE mayfly_collection_%s %s\n",
                         row->name, row->sentence, row->name, row->kind);
    for (size_t i = 0; i < catalog_collection_count(request); i++) {
        const struct collection *collection = catalog_collection(request, i);
        uint64_t number;
        memcpy(&number, (const uint8_t *)&figures[i] + row->offset, sizeof(number));
        buffer_append_format(out, "mayfly_collection_%s{", row->name);
        append_label(out, "database", collection->definition.database);
        buffer_append_byte(out, ',');
        append_label(out, "collection", collection->definition.name);
        buffer_append_format(out, "} %" PRIu64 "\n", number);
    }
}

status engine_render_metrics(struct request *request, struct buffer *out)
{
    struct engine *engine = request->engine;
    struct collection_figures *figures;
    size_t count = catalog_collection_count(request);

    metrics_set(engine->metrics, METRIC_requests_running, request_count(engine));
    metrics_set(engine->metrics, METRIC_clock_leap_pending,
                clock_is_leap_pending(engine->options.clock));
    metrics_render(engine->metrics, out);
    TRY(ARENA_NEW(request->arena, count, &figures));
    for (size_t i = 0; i < count; i++)
        TRY(collection_figures(request, catalog_collection(request, i), &figures[i]));
    for (size_t i = 0; count > 0 && i < ARRAY_COUNT(figure_rows); i++)
        render_row(request, &figure_rows[i], figures, out);
    return STATUS_OK;
}
