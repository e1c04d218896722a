/* Sweep: which rows may vanish while the backend rewrites its files anyway.
 *
 * A locator or index row is garbage when its document is dead and its place in the lane was cut off,
 * so that no body is left for it to lead to. A body is garbage by the same rule: a cut by mark has left it. Each sweep asks with one picture of the catalog and one
 * cutoff, taken after the rows to be swept were fixed; nothing is garbage while a clock leap waits to
 * be confirmed. What is called garbage once stays so, because dead is for ever.
 *
 * Threads: the backend's own; reads the catalog like a quiet request. */
#include "engine/lane.h"

#include <sched.h>

enum { CUTOFF_TRIES = 1000 };

struct sweep_pass {
    struct request request;
    time_ms cutoff;
    uint64_t oldest_picture;
    bool is_of_bodies;
    const struct collection *last;
};

struct engine_sweep *engine_sweep_open(void)
{
    return memory_take_zeroed(1, sizeof(struct engine_sweep));
}

void engine_sweep_close(struct engine_sweep *sweep)
{
    memory_give(sweep);
}

/* Behind every running request. One that is just beginning tells both in a moment; without that nothing would be swept. */
static void find_cutoff(struct sweep_pass *pass)
{
    struct engine *engine = pass->request.engine;

    pass->oldest_picture = 0;
    pass->cutoff = INT64_MIN;
    for (int i = 0; i < CUTOFF_TRIES && !clock_is_leap_pending(engine->options.clock); i++) {
        pass->oldest_picture = request_oldest_picture(engine);
        pass->cutoff = request_oldest_now(engine, pass->request.now);
        if (pass->oldest_picture > 0 && pass->cutoff != INT64_MIN)
            return;
        sched_yield();
    }
}

static void sweep_end(void *owner, void *context)
{
    struct sweep_pass *pass = context;

    (void)owner;
    if (!pass)
        return;
    request_end(&pass->request);
    memory_give(pass);
}

/* Most databases have nothing to be swept, and need not be asked about each row. */
static bool is_anything_cut(const struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->collection_count; i++) {
        if (lanes_were_cut(catalog->collections[i]->state))
            return true;
    }
    return false;
}

static void *sweep_begin(void *owner, enum storage_space space)
{
    struct engine_sweep *sweep = owner;
    struct engine *engine = atomic_load(&sweep->engine);
    struct sweep_pass *pass = NULL;

    if (engine && !clock_is_leap_pending(engine->options.clock))
        pass = memory_take_zeroed(1, sizeof(*pass));
    if (pass && request_begin_quiet(engine, NULL, &pass->request).code != OK) {
        memory_give(pass);
        pass = NULL;
    }
    if (pass && !is_anything_cut(pass->request.catalog)) {
        sweep_end(owner, pass);
        pass = NULL;
    }
    if (pass) {
        pass->is_of_bodies = space == SPACE_BODIES;
        find_cutoff(pass);
    }
    return pass;
}

/* So that the purger asks for a sweep only while there is something to be swept. A row may be counted
 * twice, when a compaction failed and is done again. */
static void count_swept(struct collection_state *state)
{
    uint64_t left = atomic_load(&state->garbage_rows);

    while (left > 0 && !atomic_compare_exchange_weak(&state->garbage_rows, &left, left - 1))
        continue;
}

static bool read_stamp(bytes key, bytes value, bool is_body, struct stamp *out)
{
    struct row_body body;

    if (!is_body)
        return row_read_any_stamp(key, value, out);
    if (!row_read_body(value, &body))
        return false;
    *out = body.stamp;
    return true;
}

static bool sweep_is_garbage(void *context, partition_id partition, bytes key, bytes value)
{
    struct sweep_pass *pass = context;
    struct stamp stamp;
    uint32_t id;

    if (!pass || pass->cutoff == INT64_MIN || !row_collection_of(partition, &id))
        return false;
    if (!pass->last || pass->last->id != id)
        pass->last = catalog_lookup_id(pass->request.catalog, id);
    if (!pass->last || !read_stamp(key, value, pass->is_of_bodies, &stamp) ||
        !collection_is_cut(pass->last->state, &stamp))
        return false;
    const bool is_garbage = pass->last->picture <= pass->oldest_picture &&
                            atomic_load(&pass->last->settled_at) == COLLECTION_SETTLED_NEVER &&
                            expiry_judge(&pass->last->policy, &stamp, pass->cutoff) == DEAD;
    if (is_garbage && !pass->is_of_bodies)
        count_swept(pass->last->state);
    return is_garbage;
}

struct storage_sweeper engine_sweeper(struct engine_sweep *sweep)
{
    return (struct storage_sweeper){
        .begin = sweep_begin, .is_garbage = sweep_is_garbage, .end = sweep_end, .owner = sweep
    };
}
