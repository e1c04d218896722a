/* Index shapes: which shapes the documents of a shaped index have, remembered.
 *
 * Every write notes the shape of its document before it is committed, since the server started. Once somebody has walked
 * all shapes in the index, the set is whole: whoever opens his view after that finds in it the shape of each document that
 * the view shows, and perhaps some that no document has any more. What a shape has at a path follows from the
 * shape alone, so what was seen in one document is remembered, too, and is never wrong.
 *
 * Keeps: shapes and facts are only added, each is complete before it is counted, and a set that has lost one is never
 * whole. Threads: readers take no lock; whoever adds takes the lock of the set, a leaf. */
#include "engine/index_shapes.h"

#include <stdlib.h>

#include "engine/scan.h"
#include "engine/state.h"

enum { SHAPE_KEY_BYTES = 32, FACTS_MAX = 256 };

struct shape {
    uint8_t len;
    uint8_t key[SHAPE_KEY_BYTES];
};

/* What a shape has at a path. */
struct fact {
    uint32_t shape;
    enum shape_has has;
    uint64_t path[2]; /* two hashes of it */
};

struct shape_set {
    struct index_set in; /* the lock */
    _Atomic bool is_whole;
    _Atomic bool is_lossy; /* there are more than fit */
    _Atomic uint32_t count, fact_count;
    struct shape shapes[SCAN_SHAPES_MAX];
    struct fact facts[FACTS_MAX];
};

static struct shape_set *set_made(const struct index *index)
{
    return (struct shape_set *)(void *)atomic_load(&index->progress->shapes);
}

/* Makes one where there is none; NULL if there is no memory for it. */
static struct shape_set *set_of(const struct index *index)
{
    struct shape_set *set = set_made(index);

    return set ? set : (void *)index_set_of(&index->progress->shapes, sizeof(*set));
}

/* ---- shapes ------------------------------------------------------------------------------------------ */

/* `count` if it is not there. */
static uint32_t find_shape(const struct shape_set *set, uint32_t count, bytes key)
{
    uint32_t i = 0;

    while (i < count && !bytes_equal(bytes_of(set->shapes[i].key, set->shapes[i].len), key))
        i++;
    return i;
}

static void add_shape(struct shape_set *set, bytes key)
{
    pthread_mutex_lock(&set->in.lock);
    uint32_t count = atomic_load(&set->count);
    if (find_shape(set, count, key) == count) {
        if (count == SCAN_SHAPES_MAX || key.len > SHAPE_KEY_BYTES) {
            atomic_store(&set->is_lossy, true);
        } else {
            set->shapes[count].len = (uint8_t)key.len;
            memcpy(set->shapes[count].key, key.data, key.len);
            atomic_store(&set->count, count + 1);
        }
    }
    pthread_mutex_unlock(&set->in.lock);
}

void index_shapes_note(const struct index *index, bytes key)
{
    struct shape_set *set = set_of(index);

    if (!set) {
        atomic_store(&index->progress->has_lost_shapes, true);
        return;
    }
    if (atomic_load(&set->is_lossy))
        return;
    uint32_t count = atomic_load(&set->count);
    if (find_shape(set, count, key) == count)
        add_shape(set, key);
}

void scan_note_all_shapes(const struct index *index)
{
    struct shape_set *set = set_of(index);

    if (set)
        atomic_store(&set->is_whole, true);
}

/* ---- what they have ---------------------------------------------------------------------------------- */

static struct fact fact_of(uint32_t shape, bytes path, enum shape_has has)
{
    struct fact fact = { .shape = shape, .has = has };

    bytes_digest(path, fact.path);
    return fact;
}

static enum shape_has find_fact(const struct shape_set *set, const struct fact *wanted)
{
    uint32_t count = atomic_load(&set->fact_count);

    for (uint32_t i = 0; i < count; i++) {
        const struct fact *fact = &set->facts[i];
        if (fact->shape == wanted->shape && fact->path[0] == wanted->path[0] &&
            fact->path[1] == wanted->path[1])
            return fact->has;
    }
    return SHAPE_HAS_UNKNOWN;
}

void scan_note_shape(const struct index *index, bytes key, bytes path, enum shape_has has)
{
    index_shapes_note(index, key);
    struct shape_set *set = set_made(index);
    if (!set)
        return;
    uint32_t count = atomic_load(&set->count), shape = find_shape(set, count, key);
    if (shape == count)
        return;
    struct fact fact = fact_of(shape, path, has);
    pthread_mutex_lock(&set->in.lock);
    uint32_t facts = atomic_load(&set->fact_count);
    if (facts < FACTS_MAX && find_fact(set, &fact) == SHAPE_HAS_UNKNOWN) {
        set->facts[facts] = fact;
        atomic_store(&set->fact_count, facts + 1);
    }
    pthread_mutex_unlock(&set->in.lock);
}

/* ---- recalling --------------------------------------------------------------------------------------- */

static int compare_shapes(const void *a, const void *b)
{
    return bytes_compare(((const struct scan_shape *)a)->key, ((const struct scan_shape *)b)->key);
}

status scan_recall_shapes(struct request *request, const struct index *index, bytes path,
                          struct scan_shapes *out)
{
    struct shape_set *set = set_made(index);
    struct storage_view *view;

    *out = (struct scan_shapes){ .is_known = false };
    /* A view that is open already may be older than the walk, and show documents that it did not meet. */
    if (!set || request->view || request->transaction || !atomic_load(&set->is_whole))
        return STATUS_OK;
    const struct kinds_claim kinds = index_kinds_recall(index, path);
    TRY(request_view(request, &view));
    if (atomic_load(&set->is_lossy) || atomic_load(&index->progress->has_lost_shapes))
        return STATUS_OK;
    out->count = atomic_load(&set->count);
    TRY(ARENA_NEW(request->arena, out->count, &out->items));
    for (uint32_t i = 0; i < out->count; i++) {
        const struct fact wanted = fact_of(i, path, SHAPE_HAS_UNKNOWN);
        out->items[i] = (struct scan_shape){
            .key = bytes_of(set->shapes[i].key, set->shapes[i].len), .has = find_fact(set, &wanted)
        };
        if (out->items[i].has == SHAPE_HAS_UNKNOWN)
            return STATUS_OK;
    }
    if (out->count > 1)
        qsort(out->items, out->count, sizeof(out->items[0]), compare_shapes);
    out->is_known = true;
    out->wants_kinds = kinds.is_wanted;
    out->absent_kinds = index_kinds_absent(index, kinds, request->now);
    return STATUS_OK;
}
