/* Index set: what is remembered of an index while the server runs, made when it is first needed.
 *
 * Several may need it first at the same time: each makes one, one of them stays, and all get that one.
 *
 * Threads: any. */
#include "engine/index_shapes.h"

struct index_set *index_set_of(_Atomic(struct index_set *) *place, size_t size)
{
    struct index_set *set = atomic_load(place), *none = NULL;

    if (set)
        return set;
    set = memory_take_zeroed(1, size);
    if (!set)
        return NULL;
    pthread_mutex_init(&set->lock, NULL);
    if (atomic_compare_exchange_strong(place, &none, set))
        return set;
    pthread_mutex_destroy(&set->lock);
    memory_give(set);
    return none;
}

void index_set_close(_Atomic(struct index_set *) *place)
{
    struct index_set *set = atomic_load(place);

    if (!set)
        return;
    pthread_mutex_destroy(&set->lock);
    memory_give(set);
}
