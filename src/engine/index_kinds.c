/* Index kinds: which kinds of scalars documents have at a path of a shaped index, remembered.
 *
 * Whoever wants the rows of a path in order has to look for nulls, bools, numbers and texts one after the other, and mostly
 * only one of these is there. So every write notes what its document has at each path before it is committed, since the
 * server started; and whoever has looked for a kind in the index without finding a living document leaves that as a fact.
 * Who opens his view after that finds no document of that kind either, unless one was noted: what he sees was in the
 * view of the one who looked, or was written later, and what was dead then stays dead for everybody who is not earlier.
 *
 * Notes are few bits under the hash of a path; two paths with one hash share them, so a note is "perhaps". A fact stands
 * under a digest of its path.
 *
 * Keeps: notes and facts are only added, each is complete before it is counted; where a note did not fit, nothing is absent
 * any more. Threads: any. Notes take no lock; whoever adds a fact takes the lock of the set, a leaf. */
#include "engine/index_shapes.h"

#include "engine/scan.h"
#include "engine/state.h"

enum {
    PLACES = 512, /* for notes */
    PLACES_TRIED = 8,
    FACTS_MAX = 64,
    KIND_BITS = SCAN_KIND_NULL | SCAN_KIND_BOOL | SCAN_KIND_NUMBER | SCAN_KIND_TEXT,
};

/* The request that looked saw the documents as of `seen_at`. */
struct kinds_fact {
    uint64_t path[2]; /* two hashes of it */
    uint64_t hash;    /* under which writes note */
    unsigned absent;
    time_ms seen_at;
};

struct kinds_set {
    struct index_set in; /* the lock */
    _Atomic bool is_lossy;
    _Atomic uint32_t fact_count;
    _Atomic uint64_t notes
        [PLACES]; /* the hash of a path with its lowest bits cut, and there the kinds; 0: none */
    struct kinds_fact facts[FACTS_MAX];
};

static struct kinds_set *set_made(const struct index *index)
{
    return (struct kinds_set *)(void *)atomic_load(&index->progress->kinds);
}

/* Makes one where there is none; NULL if there is no memory for it. */
static struct kinds_set *set_of(const struct index *index)
{
    struct kinds_set *set = set_made(index);

    return set ? set : (void *)index_set_of(&index->progress->kinds, sizeof(*set));
}

/* ---- notes ------------------------------------------------------------------------------------------- */

static uint64_t cut(uint64_t hash)
{
    return hash & ~(uint64_t)KIND_BITS;
}

/* False if the place is another path's. */
static bool note_at(_Atomic uint64_t *place, uint64_t hash, unsigned kind)
{
    uint64_t there = atomic_load(place);

    if (there == 0 && atomic_compare_exchange_strong(place, &there, cut(hash) | kind))
        return true;
    if (cut(there) != cut(hash))
        return false;
    if ((there & kind) == 0)
        atomic_fetch_or(place, kind);
    return true;
}

void index_kinds_note(const struct index *index, uint64_t path_hash, unsigned kind)
{
    struct kinds_set *set = set_of(index);

    if (!set) {
        atomic_store(&index->progress->has_lost_kinds, true);
        return;
    }
    for (unsigned i = 0; i < PLACES_TRIED; i++) {
        if (note_at(&set->notes[((path_hash >> 32) + i) % PLACES], path_hash, kind))
            return;
    }
    if (!atomic_load(&set->is_lossy))
        atomic_store(&set->is_lossy, true);
}

static unsigned noted(const struct kinds_set *set, uint64_t path_hash)
{
    for (unsigned i = 0; i < PLACES_TRIED; i++) {
        const uint64_t there = atomic_load(&set->notes[((path_hash >> 32) + i) % PLACES]);
        if (there != 0 && cut(there) == cut(path_hash))
            return (unsigned)(there & KIND_BITS);
    }
    return 0;
}

/* ---- facts ------------------------------------------------------------------------------------------- */

static const struct kinds_fact *find_fact(const struct kinds_set *set, const uint64_t path[2])
{
    const uint32_t count = atomic_load(&set->fact_count);

    for (uint32_t i = 0; i < count; i++) {
        if (set->facts[i].path[0] == path[0] && set->facts[i].path[1] == path[1])
            return &set->facts[i];
    }
    return NULL;
}

struct kinds_claim index_kinds_recall(const struct index *index, bytes path)
{
    const struct kinds_set *set = set_of(index);
    uint64_t digest[2];

    bytes_digest(path, digest);
    const struct kinds_fact *fact = set ? find_fact(set, digest) : NULL;
    return (struct kinds_claim){
        .fact = fact,
        .is_wanted = set && !fact && atomic_load(&set->fact_count) < FACTS_MAX &&
                     !atomic_load(&set->is_lossy),
    };
}

unsigned index_kinds_absent(const struct index *index, struct kinds_claim claim, time_ms now)
{
    const struct kinds_set *set = set_made(index);

    if (!set || !claim.fact || now < claim.fact->seen_at)
        return 0;
    const unsigned kinds = noted(set, claim.fact->hash);
    /* A note that did not fit has said so before its document could be seen. */
    if (atomic_load(&set->is_lossy) || atomic_load(&index->progress->has_lost_kinds))
        return 0;
    return claim.fact->absent & ~kinds;
}

void scan_note_absent_kinds(const struct request *request, const struct index *index, bytes path,
                            unsigned absent)
{
    struct kinds_set *set = set_of(index);
    struct kinds_fact fact = { .absent = absent, .seen_at = request->now };

    if (!set || !index_path_hash(request->arena, path, &fact.hash))
        return;
    bytes_digest(path, fact.path);
    pthread_mutex_lock(&set->in.lock);
    const uint32_t count = atomic_load(&set->fact_count);
    if (count < FACTS_MAX && !find_fact(set, fact.path)) {
        set->facts[count] = fact;
        atomic_store(&set->fact_count, count + 1);
    }
    pthread_mutex_unlock(&set->in.lock);
}
