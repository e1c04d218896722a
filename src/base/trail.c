/* Trail: short bytes, one behind the other in a ring.
 *
 * A record is the length of a text, its key and the text, in whole words. Positions count the words from the beginning and never come
 * again: a record at position p lies at p modulo the size of the ring, until `head`, the position where the next one begins, is
 * more than the size of the ring ahead of p. Buckets lead to records: a bucket is a line of the cache with the positions of the last four
 * records whose hashes belong there.
 *
 * One thread at a time keeps something; who finds that another one does leaves. It first moves `head` beyond what it is going
 * to write, then writes, and then puts the position into the bucket. Who reads takes the position from the bucket, copies the words,
 * which are atomic because they may change under its eyes, and looks at `head` at last: whoever has seen a word of another
 * record sees the `head` that was moved before it was written, so what is not overwritten by then was not torn. All
 * lengths are checked before they are believed.
 *
 * A bucket has tags, bits of the hashes, so that most of what is not here is known without a look at the ring, and the hash that was met last. Both may be
 * wrong; then the ring is looked at for nothing, or not looked at, and nothing else happens.
 *
 * Keeps: what is found was kept under that key, all of it at once. Threads: any; no locks, nobody waits. */
#include "base/trail.h"

#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "base/memory.h"

enum { WAYS = 4, KEY_WORDS = 4, HEAD_WORDS = 1 + KEY_WORDS };

struct bucket {
    _Atomic uint64_t met; /* a hash */
    _Atomic uint32_t tags[WAYS];
    _Atomic uint64_t places[WAYS]; /* the position of the record and 1; 0: there is none */
    uint64_t unused;
};

_Static_assert(sizeof(struct bucket) == 64, "a bucket is a line of the cache");

struct trail {
    size_t words, buckets;
    _Atomic uint64_t *ring;
    struct bucket *index;
    _Alignas(64) _Atomic uint64_t head;
    _Atomic bool is_kept_to; /* somebody keeps something */
};

/* ---- life ----------------------------------------------------------------------------------------- */

static bool is_power_of_two(size_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

static size_t words_of(size_t len)
{
    return HEAD_WORDS + (len + 7) / 8;
}

struct trail *trail_open(size_t words, size_t buckets)
{
    ASSERT(is_power_of_two(words) && words >= words_of(TRAIL_BYTES));
    ASSERT(is_power_of_two(buckets));
    struct trail *trail = memory_take_untouched(sizeof(*trail));

    if (!trail)
        return NULL;
    trail->words = words;
    trail->buckets = buckets;
    trail->ring = memory_take_untouched_large(words * sizeof(*trail->ring));
    trail->index = memory_take_untouched_large(buckets * sizeof(*trail->index));
    if (trail->ring && trail->index)
        return trail;
    trail_close(trail);
    return NULL;
}

void trail_close(struct trail *trail)
{
    if (!trail)
        return;
    memory_give_untouched(trail->ring, trail->words * sizeof(*trail->ring));
    memory_give_untouched(trail->index, trail->buckets * sizeof(*trail->index));
    memory_give_untouched(trail, sizeof(*trail));
}

/* The upper bits: others choose by the lower ones. */
static struct bucket *bucket_of(const struct trail *trail, uint64_t hash)
{
    return &trail->index[(hash >> 32) & (trail->buckets - 1)];
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)hash;
}

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* Nothing was written over the record that begins there. */
static bool is_whole(const struct trail *trail, uint64_t begin)
{
    return get(&trail->head) - begin <= trail->words;
}

/* ---- finding -------------------------------------------------------------------------------------- */

/* False if it is another one's, or was written over. */
static bool copy_record(const struct trail *trail, uint64_t begin, const struct memo_key *key,
                        struct arena *arena, bytes *out)
{
    const size_t at = begin & (trail->words - 1);
    const _Atomic uint64_t *record = &trail->ring[at];

    if (at + HEAD_WORDS > trail->words)
        return false;
    const uint64_t len = get(&record[0]);
    for (int i = 0; i < KEY_WORDS; i++) {
        if (get(&record[1 + i]) != key->words[i])
            return false;
    }
    if (len > TRAIL_BYTES || at + words_of(len) > trail->words)
        return false;
    uint8_t *copy = arena_try_take(arena, (len + 7) / 8 * 8);
    if (!copy)
        return false;
    for (size_t i = 0; i < (len + 7) / 8; i++) {
        const uint64_t word = get(&record[HEAD_WORDS + i]);
        memcpy(copy + 8 * i, &word, 8);
    }
    *out = bytes_of(copy, len);
    return is_whole(trail, begin);
}

bool trail_find(const struct trail *trail, const struct memo_key *key, struct arena *arena,
                bytes *out)
{
    const struct bucket *bucket = bucket_of(trail, key->words[0]);
    const uint32_t tag = tag_of(key->words[0]);

    for (int i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&bucket->tags[i], memory_order_relaxed) != tag)
            continue;
        const uint64_t place = get(&bucket->places[i]);
        if (place > 0 && is_whole(trail, place - 1) &&
            copy_record(trail, place - 1, key, arena, out))
            return true;
    }
    *out = BYTES_NONE;
    return false;
}

void trail_expect(const struct trail *trail, uint64_t hash)
{
    __builtin_prefetch(bucket_of(trail, hash));
}

bool trail_may_have(const struct trail *trail, uint64_t hash)
{
    const struct bucket *bucket = bucket_of(trail, hash);

    for (int i = 0; i < WAYS; i++) {
        const uint64_t place = get(&bucket->places[i]);
        if (place > 0 &&
            atomic_load_explicit(&bucket->tags[i], memory_order_relaxed) == tag_of(hash) &&
            is_whole(trail, place - 1))
            return true;
    }
    return false;
}

/* ---- keeping -------------------------------------------------------------------------------------- */

/* That of the same tag, else the one whose record is the oldest, or is not there. */
static int choose(const struct bucket *bucket, uint32_t tag)
{
    int best = 0;

    for (int i = 0; i < WAYS; i++) {
        const uint64_t place = get(&bucket->places[i]);
        if (place > 0 && atomic_load_explicit(&bucket->tags[i], memory_order_relaxed) == tag)
            return i;
        if (place < get(&bucket->places[best]))
            best = i;
    }
    return best;
}

/* Where the next record begins: it does not go over the end of the ring. */
static uint64_t next_begin(const struct trail *trail, size_t need)
{
    const uint64_t head = get(&trail->head);
    const size_t at = head & (trail->words - 1);

    return at + need <= trail->words ? head : head + (trail->words - at);
}

static void write_record(struct trail *trail, uint64_t begin, const struct memo_key *key,
                         bytes text)
{
    _Atomic uint64_t *record = &trail->ring[begin & (trail->words - 1)];

    set(&record[0], text.len);
    for (int i = 0; i < KEY_WORDS; i++)
        set(&record[1 + i], key->words[i]);
    for (size_t at = 0; at < text.len; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text.data + at, text.len - at < 8 ? text.len - at : 8);
        set(&record[HEAD_WORDS + at / 8], word);
    }
}

void trail_keep(struct trail *trail, const struct memo_key *key, bytes text)
{
    struct bucket *bucket = bucket_of(trail, key->words[0]);
    const uint32_t tag = tag_of(key->words[0]);

    if (text.len > TRAIL_BYTES ||
        atomic_exchange_explicit(&trail->is_kept_to, true, memory_order_acquire))
        return;
    const uint64_t begin = next_begin(trail, words_of(text.len));
    set(&trail->head, begin + words_of(text.len));
    write_record(trail, begin, key, text);
    const int way = choose(bucket, tag);
    atomic_store_explicit(&bucket->tags[way], tag, memory_order_relaxed);
    set(&bucket->places[way], begin + 1);
    atomic_store_explicit(&trail->is_kept_to, false, memory_order_release);
}

/* Nothing would have to go, neither from the ring nor from the bucket. */
static bool has_room(const struct trail *trail, const struct bucket *bucket)
{
    if (get(&trail->head) + words_of(TRAIL_BYTES) > trail->words)
        return false;
    for (int i = 0; i < WAYS; i++) {
        if (get(&bucket->places[i]) == 0)
            return true;
    }
    return false;
}

bool trail_wants(struct trail *trail, uint64_t hash)
{
    return has_room(trail, bucket_of(trail, hash)) || trail_may_have(trail, hash) ||
           trail_has_met(trail, hash);
}

bool trail_has_met(struct trail *trail, uint64_t hash)
{
    _Atomic uint64_t *met = &bucket_of(trail, hash)->met;

    if (get(met) == hash)
        return true;
    set(met, hash);
    return false;
}
