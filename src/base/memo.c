/* Memo: a table of places for short bytes.
 *
 * Places stand in pairs, and a key has its pair. A place is written by one thread at a time, which makes its `writing` odd;
 * whoever finds it odd leaves it. Who reads looks at `writing` before and after, and the words in between are atomic,
 * because they may change under its eyes.
 *
 * Most keys that are looked for are not there, and places lie far apart. So each pair has a mark in a table of its own: a few
 * bits of the hashes that its places hold, and the hash that was met last. A mark may be wrong; then the place is looked at
 * for nothing, or not looked at, and nothing else happens.
 *
 * Keeps: what is found was kept under that key, all of it at once. Threads: any; no locks, nobody waits. */
#include "base/memo.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"

enum { WORDS = MEMO_BYTES / 8, KEY_WORDS = 4 };

_Static_assert(MEMO_BYTES % 8 == 0, "bytes are kept in whole words");

struct place {
    _Atomic uint64_t writing;
    _Atomic uint64_t key[KEY_WORDS]; /* the third is 0: empty */
    _Atomic uint64_t len;
    _Atomic uint64_t words[WORDS];
};

_Static_assert(sizeof(struct place) == 1024, "a place begins with a cache line");

struct mark {
    _Atomic uint64_t met;     /* a hash */
    _Atomic uint32_t tags[2]; /* of what the places hold */
};

struct memo {
    size_t pairs;
    struct place (*places)[2];
    struct mark *marks; /* one for a pair */
};

/* ---- life ----------------------------------------------------------------------------------------- */

struct memo *memo_open(size_t pairs)
{
    struct memo *memo = memory_take_zeroed(1, sizeof(*memo));

    if (!memo)
        return NULL;
    memo->pairs = pairs;
    memo->places = memory_take_untouched(pairs * sizeof(*memo->places));
    memo->marks = memory_take_untouched(pairs * sizeof(*memo->marks));
    if (memo->places && memo->marks)
        return memo;
    memo_close(memo);
    return NULL;
}

void memo_close(struct memo *memo)
{
    if (!memo)
        return;
    if (memo->places)
        memory_give_untouched(memo->places, memo->pairs * sizeof(*memo->places));
    if (memo->marks)
        memory_give_untouched(memo->marks, memo->pairs * sizeof(*memo->marks));
    memory_give(memo);
}

/* The upper bits: others choose by the lower ones. */
static size_t pair_of(const struct memo *memo, uint64_t hash)
{
    return (size_t)(hash >> 32) % memo->pairs;
}

/* Whoever sees a word that is being written sees `writing` odd, or later, when it looks again. */
static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)hash;
}

/* ---- finding -------------------------------------------------------------------------------------- */

/* What the place says may be torn; then `writing` has changed. */
static bool has_key(const struct place *place, const struct memo_key *key)
{
    for (int i = 0; i < KEY_WORDS; i++) {
        if (get(&place->key[i]) != key->words[i])
            return false;
    }
    return true;
}

/* False if the place was written since `before`, or if there is no room. */
static bool append_words(const struct place *place, uint64_t before, struct buffer *out)
{
    const size_t len = get(&place->len);
    uint8_t *copy = len <= MEMO_BYTES ? buffer_reserve(out, len + 7) : NULL;

    if (!copy)
        return false;
    for (size_t i = 0; i < (len + 7) / 8; i++) {
        const uint64_t word = get(&place->words[i]);
        memcpy(copy + 8 * i, &word, 8);
    }
    if (get(&place->writing) != before)
        return false;
    out->len += len;
    return true;
}

bool memo_append(const struct memo *memo, const struct memo_key *key, struct buffer *out)
{
    const size_t number = pair_of(memo, key->words[0]);
    const struct place *pair = memo->places[number];

    for (size_t i = 0; i < 2; i++) {
        const uint32_t tag = atomic_load_explicit(&memo->marks[number].tags[i],
                                                  memory_order_relaxed);
        if (tag != tag_of(key->words[0]))
            continue;
        const uint64_t before = get(&pair[i].writing);
        if (before % 2 == 0 && has_key(&pair[i], key) && append_words(&pair[i], before, out))
            return true;
    }
    return false;
}

bool memo_find(const struct memo *memo, const struct memo_key *key, struct arena *arena, bytes *out)
{
    struct buffer copy = buffer_in(arena);
    const bool is_found = memo_append(memo, key, &copy);

    *out = is_found ? bytes_of(copy.data, copy.len) : BYTES_NONE;
    return is_found;
}

void memo_expect(const struct memo *memo, uint64_t hash)
{
    __builtin_prefetch(&memo->marks[pair_of(memo, hash)]);
}

bool memo_may_have(const struct memo *memo, uint64_t hash)
{
    const struct mark *mark = &memo->marks[pair_of(memo, hash)];

    for (size_t i = 0; i < 2; i++) {
        if (atomic_load_explicit(&mark->tags[i], memory_order_relaxed) == tag_of(hash))
            return true;
    }
    return false;
}

/* ---- keeping -------------------------------------------------------------------------------------- */

/* The place that the same hash has already, else one that is empty, else the two in turns. */
static struct place *choose(struct place *pair, uint64_t hash)
{
    for (size_t i = 0; i < 2; i++) {
        if (get(&pair[i].key[0]) == hash || get(&pair[i].key[2]) == 0)
            return &pair[i];
    }
    return &pair[(get(&pair[0].writing) + get(&pair[1].writing)) / 2 % 2];
}

void memo_keep(struct memo *memo, const struct memo_key *key, bytes text)
{
    const size_t number = pair_of(memo, key->words[0]);
    struct place *place = choose(memo->places[number], key->words[0]);
    uint64_t before = get(&place->writing);

    if (text.len > MEMO_BYTES || before % 2 == 1 ||
        !atomic_compare_exchange_strong(&place->writing, &before, before + 1))
        return;
    for (int i = 0; i < KEY_WORDS; i++)
        set(&place->key[i], key->words[i]);
    set(&place->len, text.len);
    for (size_t at = 0; at < text.len; at += 8) {
        uint64_t word = 0;
        memcpy(&word, text.data + at, text.len - at < 8 ? text.len - at : 8);
        set(&place->words[at / 8], word);
    }
    atomic_store_explicit(&memo->marks[number].tags[place - memo->places[number]],
                          tag_of(key->words[0]), memory_order_relaxed);
    set(&place->writing, before + 2);
}

bool memo_wants(struct memo *memo, uint64_t hash)
{
    const struct mark *mark = &memo->marks[pair_of(memo, hash)];

    for (size_t i = 0; i < 2; i++) {
        const uint32_t tag = atomic_load_explicit(&mark->tags[i], memory_order_relaxed);
        if (tag == 0 || tag == tag_of(hash))
            return true;
    }
    return memo_has_met(memo, hash);
}

bool memo_has_met(struct memo *memo, uint64_t hash)
{
    _Atomic uint64_t *met = &memo->marks[pair_of(memo, hash)].met;

    if (get(met) == hash)
        return true;
    set(met, hash);
    return false;
}
