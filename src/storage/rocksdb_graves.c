/* Graves: which keys may have been deleted lately.
 *
 * RocksDB's interface shows what is alive in its memory tables, not what was deleted there. Whoever reads its files
 * directly has to know the latter: a row in a file may have been deleted since, and the deletion be in memory still. So
 * every deletion leaves the hash of its key here before it is committed, and is forgotten when it is in a file. To be
 * here proves nothing; such a key has to be looked up.
 *
 * Nobody puts a key of a document twice, or only behind its deletion (storage.h). So what a file has of such a key, and is
 * not here, is all that there is of it.
 *
 * There are two lists. A turn forgets the older one, makes the younger one the older, and begins a new one; who calls
 * for a turn has made sure that all of the older one has reached files. Readers hold the lists that they began with, so
 * that a turn takes nothing away from them; what is added after a turn they do not see. A list that is full says so, and readers go another way until two turns
 * are over.
 *
 * Threads: one adds and turns (the committing one), any number look; `lock` guards which lists there are and who holds
 * them. Entries are added while others look, one atomic store each: what is missed that way was deleted after the reader's
 * view was opened. */
#include "storage/rocksdb_graves.h"

#include <pthread.h>
#include <stdatomic.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    PLACES = 1 << 17,
    GRAVES_MAX = PLACES / 4 * 3,
    RANGES_MAX = 64,
    RANGE_KEY_BYTES_MAX = 64,
    LISTS = 2,
};

struct range_key {
    uint8_t data[RANGE_KEY_BYTES_MAX];
    size_t len;
};

struct range {
    struct range_key start, end;
};

struct list {
    unsigned holders; /* lock */
    _Atomic bool is_full;
    _Atomic size_t used;
    _Atomic size_t range_count;
    struct range ranges[RANGES_MAX];
    _Atomic uint64_t *hashes; /* PLACES, 0: free */
};

struct graves {
    pthread_mutex_t lock;
    struct list *lists[LISTS]; /* the younger one first */
    _Atomic uint64_t turns;
};

struct graves_seen {
    struct list *lists[LISTS];
    uint64_t turns; /* when it was looked at */
};

uint64_t grave_hash(bytes key)
{
    const uint64_t hash = XXH3_64bits(key.data, key.len);

    return hash ? hash : 1;
}

/* ---- lists ---------------------------------------------------------------------------------------- */

static size_t hashes_size(void)
{
    return PLACES * sizeof(_Atomic uint64_t);
}

static struct list *list_open(bool is_full)
{
    struct list *list = memory_take_zeroed(1, sizeof(*list));

    ASSERT(list != NULL);
    list->holders = 1;
    list->hashes = memory_take_untouched(hashes_size());
    ASSERT(list->hashes != NULL);
    atomic_store(&list->is_full, is_full);
    return list;
}

/* The lock is held. */
static void list_let_go(struct list *list)
{
    if (--list->holders > 0)
        return;
    memory_give_untouched((void *)list->hashes, hashes_size());
    memory_give(list);
}

struct graves *graves_open(bool is_complete)
{
    struct graves *graves = memory_take(sizeof(*graves));

    ASSERT(graves != NULL);
    pthread_mutex_init(&graves->lock, NULL);
    atomic_store(&graves->turns, 0);
    graves->lists[0] = list_open(!is_complete);
    graves->lists[1] = list_open(false);
    return graves;
}

void graves_close(struct graves *graves)
{
    if (!graves)
        return;
    for (int i = 0; i < LISTS; i++) {
        ASSERT(graves->lists[i]->holders == 1);
        list_let_go(graves->lists[i]);
    }
    pthread_mutex_destroy(&graves->lock);
    memory_give(graves);
}

/* ---- adding --------------------------------------------------------------------------------------- */

static void add_hash(struct list *list, uint64_t hash)
{
    size_t at = hash % PLACES;
    uint64_t there;

    if (atomic_load_explicit(&list->used, memory_order_relaxed) >= GRAVES_MAX) {
        atomic_store(&list->is_full, true);
        return;
    }
    while ((there = atomic_load_explicit(&list->hashes[at], memory_order_relaxed)) != 0) {
        if (there == hash)
            return;
        at = (at + 1) % PLACES;
    }
    atomic_store_explicit(&list->hashes[at], hash, memory_order_release);
    atomic_fetch_add(&list->used, 1);
}

static bool copy_key(struct range_key *to, bytes from)
{
    if (from.len > sizeof(to->data))
        return false;
    memcpy(to->data, from.data, from.len);
    to->len = from.len;
    return true;
}

static void add_range(struct list *list, bytes start, bytes end)
{
    const size_t count = atomic_load(&list->range_count);

    if (count == RANGES_MAX || !copy_key(&list->ranges[count].start, start) ||
        !copy_key(&list->ranges[count].end, end))
        atomic_store(&list->is_full, true);
    else
        atomic_store(&list->range_count, count + 1);
}

void graves_add(struct graves *graves, const struct grave *grave)
{
    if (grave->hash)
        add_hash(graves->lists[0], grave->hash);
    else
        add_range(graves->lists[0], grave->start, grave->end);
}

void graves_turn(struct graves *graves)
{
    struct list *fresh = list_open(false);

    pthread_mutex_lock(&graves->lock);
    list_let_go(graves->lists[1]);
    graves->lists[1] = graves->lists[0];
    graves->lists[0] = fresh;
    atomic_fetch_add(&graves->turns, 1);
    pthread_mutex_unlock(&graves->lock);
}

/* ---- looking -------------------------------------------------------------------------------------- */

static bool is_any_full(const struct graves_seen *seen)
{
    for (int i = 0; i < LISTS; i++) {
        if (atomic_load(&seen->lists[i]->is_full))
            return true;
    }
    return false;
}

bool graves_are_fresh(struct graves *graves, const struct graves_seen *seen)
{
    return seen->turns == atomic_load(&graves->turns) && !is_any_full(seen);
}

struct graves_seen *graves_look(struct graves *graves)
{
    struct graves_seen *seen = memory_take(sizeof(*seen));

    if (!seen)
        return NULL;
    pthread_mutex_lock(&graves->lock);
    for (int i = 0; i < LISTS; i++) {
        seen->lists[i] = graves->lists[i];
        seen->lists[i]->holders++;
    }
    seen->turns = atomic_load(&graves->turns);
    pthread_mutex_unlock(&graves->lock);
    if (!is_any_full(seen))
        return seen;
    graves_look_away(graves, seen);
    return NULL;
}

void graves_look_away(struct graves *graves, struct graves_seen *seen)
{
    if (!seen)
        return;
    pthread_mutex_lock(&graves->lock);
    for (int i = 0; i < LISTS; i++)
        list_let_go(seen->lists[i]);
    pthread_mutex_unlock(&graves->lock);
    memory_give(seen);
}

static bool has_hash(const struct list *list, uint64_t hash)
{
    uint64_t there;

    for (size_t at = hash % PLACES;
         (there = atomic_load_explicit(&list->hashes[at], memory_order_acquire)) != 0;
         at = (at + 1) % PLACES) {
        if (there == hash)
            return true;
    }
    return false;
}

static bool is_in_range(const struct list *list, bytes key)
{
    const size_t count = atomic_load(&list->range_count);

    for (size_t i = 0; i < count; i++) {
        const struct range *range = &list->ranges[i];
        if (bytes_compare(bytes_of(range->start.data, range->start.len), key) <= 0 &&
            bytes_compare(key, bytes_of(range->end.data, range->end.len)) < 0)
            return true;
    }
    return false;
}

static bool has_grave(const struct list *list, bytes key, uint64_t hash)
{
    return (atomic_load(&list->used) && has_hash(list, hash)) || is_in_range(list, key);
}

bool graves_suspect(const struct graves_seen *seen, bytes key)
{
    uint64_t hash = 0;

    for (int i = 0; i < LISTS; i++) {
        const struct list *list = seen->lists[i];
        const bool has_keys = atomic_load(&list->used) > 0;
        if (!has_keys && !atomic_load(&list->range_count))
            continue;
        if (has_keys && !hash)
            hash = grave_hash(key);
        if (has_grave(list, key, hash))
            return true;
    }
    return false;
}

void graves_expect(const struct graves_seen *seen, bytes key)
{
    for (int i = 0; i < LISTS; i++) {
        const struct list *list = seen->lists[i];
        if (atomic_load_explicit(&list->used, memory_order_relaxed))
            __builtin_prefetch((const void *)&list->hashes[grave_hash(key) % PLACES]);
    }
}
