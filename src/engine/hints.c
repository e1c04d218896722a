/* Hints: where documents probably lie.
 *
 * A read by key looks up two rows: the locator, which says in which slot the body lies, and the body. With many documents
 * either lookup is a search in a file. The slot takes 16 bytes, so for millions of documents it is known here, from the write
 * that put it there or from the last read.
 *
 * A hint needs no care when the document changes. Whoever writes a document again, moves it or deletes it removes its body in
 * the same commit; so a body that is there, has the right key and is alive is the document as it is now. Only those of the
 * dead may be left behind where they were cut off, and they are known by the mark of their lane. Everything else that a
 * hint leads to is no answer, and the locator is asked.
 *
 * The table has buckets of four places, a cache line each, and grows by a bucket with every document (linear
 * hashing: the bucket that is next in turn is parted in two, and those that wait for their turn may be twice as full), so that
 * it is as large as it has to be and nobody ever waits for it to grow. From half a million documents on it grows by a bucket
 * with three halves of them, and only as far as there are documents at one time: those that came and went leave their hints
 * behind, and need no more room than the living. When it is as large as it may be, hints push out each other.
 *
 * Four buckets side by side help each other out: what finds no place in its own may stand in one of the others. While only some of
 * the four have been parted, what those have of the others is not found.
 *
 *     word 0   hash(24, from the 13th bit on: the bucket tells most of the others) lane(8) order(the upper 32 of 48 bits)
 *     word 1   order(the lower 16) seq(48); 0: empty
 *
 * Keeps: nothing that is found is taken for true. Threads: any; no locks. The words of a place may be those of two hints
 * when several write to it, which is a wrong hint like any other. One thread at a time lets the table grow. */
#include "engine/hints.h"

#include <stdatomic.h>

enum {
    PLACES = 4,
    NEIGHBOURS = 4,        /* that help each other out, itself included */
    BUCKETS_MIN_BITS = 12, /* what the bits of a place leave out of the hash */
    BUCKETS_MIN = 1 << BUCKETS_MIN_BITS,
    BUCKETS_EASY = 1 << 19,  /* 32 MB, for however few documents that come and go */
    BUCKETS_LEAST = 1 << 21, /* 128 MB, if there are so many documents */
    BUCKETS_MOST = 1 << 22,  /* 256 MB */
    TAG_BITS = 24,
    ORDER_BITS = 48,
    SEQ_BITS = 48,
};

struct place {
    _Atomic uint64_t words[2];
};

struct bucket {
    struct place places[PLACES];
};

_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");
_Static_assert(LANE_COUNT <= 256, "a lane takes a byte");

struct hints {
    struct bucket *buckets; /* `most`, of which most are untouched */
    uint32_t most;
    _Atomic uint32_t worth; /* so many, as far as is known */
    _Atomic uint32_t count; /* of those in use */
    _Atomic uint32_t used;  /* places, about */
    atomic_flag is_growing;
};

/* ---- life ----------------------------------------------------------------------------------------- */

struct hints *hints_open(size_t room_bytes)
{
    const size_t wanted = room_bytes / sizeof(struct bucket);
    struct hints *hints = memory_take_zeroed(1, sizeof(*hints));

    if (!hints)
        return NULL;
    atomic_flag_clear(&hints->is_growing);
    atomic_store(&hints->count, BUCKETS_MIN);
    atomic_store(&hints->worth, BUCKETS_EASY);
    hints->most = wanted < BUCKETS_LEAST
                      ? BUCKETS_LEAST
                      : (uint32_t)(wanted < BUCKETS_MOST ? wanted : BUCKETS_MOST);
    hints->buckets = memory_take_untouched_large(hints->most * sizeof(*hints->buckets));
    if (!hints->buckets) {
        hints->most = BUCKETS_EASY;
        hints->buckets = memory_take_untouched_large(hints->most * sizeof(*hints->buckets));
    }
    if (hints->buckets)
        return hints;
    memory_give(hints);
    return NULL;
}

void hints_close(struct hints *hints)
{
    if (hints)
        memory_give_untouched(hints->buckets, hints->most * sizeof(*hints->buckets));
    memory_give(hints);
}

void hints_expect(struct hints *hints, int64_t documents)
{
    const int64_t wanted = documents / 3 * 2;

    if (!hints || wanted <= atomic_load_explicit(&hints->worth, memory_order_relaxed))
        return;
    const uint32_t worth = wanted < hints->most ? (uint32_t)wanted : hints->most;
    atomic_store_explicit(&hints->worth, worth, memory_order_relaxed);
}

/* ---- places --------------------------------------------------------------------------------------- */

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(struct place *place, uint64_t first, uint64_t second)
{
    atomic_store_explicit(&place->words[0], first, memory_order_relaxed);
    atomic_store_explicit(&place->words[1], second, memory_order_relaxed);
}

static bool is_empty(const struct place *place)
{
    return get(&place->words[1]) == 0;
}

static uint64_t tag_of(uint64_t hash)
{
    return hash >> BUCKETS_MIN_BITS & ((UINT64_C(1) << TAG_BITS) - 1);
}

static bool has_tag(const struct place *place, uint64_t tag)
{
    return get(&place->words[0]) >> (64 - TAG_BITS) == tag && !is_empty(place);
}

/* The greatest power of two that is not above. */
static uint32_t power_of(uint32_t count)
{
    return UINT32_C(1) << (31 - __builtin_clz(count));
}

/* The buckets from the power of two on came last, each out of the one that lies so much before it. */
static uint32_t bucket_at(uint32_t count, uint64_t hash)
{
    const uint32_t power = power_of(count);
    const uint32_t at = (uint32_t)hash & (2 * power - 1);

    return at < count ? at : at & (power - 1);
}

/* Its own bucket first, then its neighbours. NULL: there is no such neighbour yet. */
static struct bucket *neighbour(const struct hints *hints, uint64_t hash, uint32_t number)
{
    const uint32_t count = atomic_load_explicit(&hints->count, memory_order_relaxed);
    const uint32_t at = bucket_at(count, hash) ^ number;

    return at < count ? &hints->buckets[at] : NULL;
}

static struct place *find_tag(const struct hints *hints, uint64_t hash)
{
    const uint64_t tag = tag_of(hash);

    for (uint32_t n = 0; n < NEIGHBOURS; n++) {
        struct bucket *bucket = neighbour(hints, hash, n);
        for (int i = 0; bucket && i < PLACES; i++) {
            if (has_tag(&bucket->places[i], tag))
                return &bucket->places[i];
        }
    }
    return NULL;
}

static struct place *find_empty(const struct hints *hints, uint64_t hash)
{
    for (uint32_t n = 0; n < NEIGHBOURS; n++) {
        struct bucket *bucket = neighbour(hints, hash, n);
        for (int i = 0; bucket && i < PLACES; i++) {
            if (is_empty(&bucket->places[i]))
                return &bucket->places[i];
        }
    }
    return NULL;
}

/* ---- growing -------------------------------------------------------------------------------------- */

/* What belongs to the bucket behind the last one moves there. */
static void part_bucket(struct hints *hints, uint32_t count)
{
    const uint32_t power = power_of(count);
    struct bucket *from = &hints->buckets[count - power], *to = &hints->buckets[count];
    const uint64_t bit = (uint64_t)power >> BUCKETS_MIN_BITS << (64 - TAG_BITS);

    for (int i = 0; i < PLACES; i++) {
        const uint64_t first = get(&from->places[i].words[0]);
        const uint64_t second = get(&from->places[i].words[1]);
        if (second == 0 || !(first & bit))
            continue;
        set(&to->places[i], first, second);
        set(&from->places[i], 0, 0);
    }
}

static void grow(struct hints *hints)
{
    if (atomic_flag_test_and_set_explicit(&hints->is_growing, memory_order_acquire))
        return;
    const uint32_t count = atomic_load_explicit(&hints->count, memory_order_relaxed);
    if (count < hints->most) {
        part_bucket(hints, count);
        atomic_store_explicit(&hints->count, count + 1, memory_order_release);
    }
    atomic_flag_clear_explicit(&hints->is_growing, memory_order_release);
}

static bool is_narrow(const struct hints *hints)
{
    const uint32_t count = atomic_load_explicit(&hints->count, memory_order_relaxed);
    const uint32_t used = atomic_load_explicit(&hints->used, memory_order_relaxed);

    return count < atomic_load_explicit(&hints->worth, memory_order_relaxed) &&
           used > (count < BUCKETS_EASY ? count : count + count / 2);
}

/* ---- hints ---------------------------------------------------------------------------------------- */

void hints_fetch(const struct hints *hints, uint64_t hash)
{
    if (hints)
        __builtin_prefetch(neighbour(hints, hash, 0), 1);
}

bool hints_find(const struct hints *hints, uint64_t hash, struct hint *out)
{
    const struct place *place = find_tag(hints, hash);

    if (!place)
        return false;
    const uint64_t first = get(&place->words[0]), second = get(&place->words[1]);
    *out = (struct hint){
        .lane = (unsigned)(first >> (ORDER_BITS - 16) & 0xFF),
        .order = (time_ms)((first & UINT32_MAX) << 16 | second >> SEQ_BITS),
        .seq = second & ((UINT64_C(1) << SEQ_BITS) - 1),
    };
    return out->lane < LANE_COUNT;
}

/* The place that the same hash has already, else one that is empty, else any of its own bucket. */
static struct place *choose(struct hints *hints, uint64_t hash, uint64_t seq)
{
    struct place *place = find_tag(hints, hash);

    if (place)
        return place;
    place = find_empty(hints, hash);
    if (!place)
        return &neighbour(hints, hash, 0)->places[seq % PLACES];
    atomic_fetch_add_explicit(&hints->used, 1, memory_order_relaxed);
    return place;
}

void hints_keep(struct hints *hints, uint64_t hash, const struct stamp *stamp)
{
    const time_ms order = expiry_order(stamp);

    if (!hints || order < 0 || order >> ORDER_BITS || stamp->seq >> SEQ_BITS)
        return;
    set(choose(hints, hash, stamp->seq),
        tag_of(hash) << (64 - TAG_BITS) | (uint64_t)stamp->lane << (ORDER_BITS - 16) |
            (uint64_t)order >> 16,
        (uint64_t)order << SEQ_BITS | stamp->seq);
    if (is_narrow(hints))
        grow(hints);
}

void hints_forget(struct hints *hints, uint64_t hash)
{
    struct place *place = hints ? find_tag(hints, hash) : NULL;

    if (!place)
        return;
    set(place, 0, 0);
    atomic_fetch_sub_explicit(&hints->used, 1, memory_order_relaxed);
}
