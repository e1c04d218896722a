/* Lsid table: which sessions are in use, and since when not.
 *
 * Every command with an lsid touches its session, and so does refreshSessions; a session that nobody has touched for
 * LIMIT_LOGICAL_SESSION_MINUTES is over. What a session needs so that its last write can be answered again lives as
 * long as it does: the purger asks here before it lets a note go (retry_is_needed), and the tables of retryable writes
 * and transactions before they forget an entry. Nothing of this is ever written, so that a touch costs a few
 * instructions.
 *
 * What is not in the table was used at `others_used_at` at the latest: this is the start of the server, because those who
 * were here before have been used before; or the last use of one that had to make room.
 *
 * Keeps: a session that was used less than its lifetime ago is never called dead. No more than LIMIT_SESSIONS are
 * remembered.
 * Threads: any; one lock for a part of the sessions each, held for a search in one bucket. Start at lsid_touch(). */
#include "front/mongo/lsid.h"

enum { SHARDS = 64, BUCKETS = 256, SHARD_SESSIONS = LIMIT_SESSIONS / SHARDS };

struct entry {
    struct entry *next; /* in its bucket */
    time_ms used_at;
    int64_t newest; /* number of a write or a transaction; INT64_MIN: none was seen */
    size_t len;
    uint8_t id[LSID_UUID_BYTES + LSID_OWNER_BYTES];
};

struct shard {
    _Alignas(64) pthread_mutex_t lock;
    time_ms others_used_at;
    size_t count;
    size_t sweep_at; /* the bucket in which dead sessions are looked for next */
    struct entry *buckets[BUCKETS];
};

struct lsid_table {
    uint64_t salt; /* that ids are hashed with */
    struct shard shards[SHARDS];
};

struct lsid_table *lsid_table_open(time_ms now)
{
    struct lsid_table *table = memory_take_aligned(64, sizeof(*table));

    for (size_t i = 0; table && i < SHARDS; i++) {
        pthread_mutex_init(&table->shards[i].lock, NULL);
        table->shards[i].others_used_at = now;
    }
    if (table)
        table->salt = random_salt();
    return table;
}

static void take_out(struct shard *shard, struct entry **at)
{
    struct entry *entry = *at;

    *at = entry->next;
    memory_give(entry);
    shard->count--;
}

void lsid_table_close(struct lsid_table *table)
{
    for (size_t i = 0; i < SHARDS; i++) {
        for (size_t k = 0; k < BUCKETS; k++) {
            while (table->shards[i].buckets[k])
                take_out(&table->shards[i], &table->shards[i].buckets[k]);
        }
        pthread_mutex_destroy(&table->shards[i].lock);
    }
    memory_give(table);
}

/* ---- entries; under the lock of the shard ----------------------------------------------------------- */

static struct shard *lock_shard(struct lsid_table *table, bytes id, uint64_t *hash_out)
{
    *hash_out = bytes_hash(id, table->salt);
    struct shard *shard = &table->shards[*hash_out % SHARDS];
    pthread_mutex_lock(&shard->lock);
    return shard;
}

static struct entry **find_place(struct shard *shard, uint64_t hash, bytes id)
{
    struct entry **at = &shard->buckets[hash / SHARDS % BUCKETS];

    while (*at && !bytes_equal(bytes_of((*at)->id, (*at)->len), id))
        at = &(*at)->next;
    return at;
}

static bool is_over(time_ms used_at, time_ms now)
{
    return int64_sub_saturating(now, used_at) >= LIMIT_LOGICAL_SESSION_MINUTES * 60000;
}

/* The dead of one bucket go at each new session, so that all buckets are looked at in turn; if there are too many, so
 * do the living, until half of them are left. */
static void sweep(struct shard *shard, time_ms now)
{
    bool is_full = shard->count >= SHARD_SESSIONS;

    for (size_t i = 0; i < (is_full ? BUCKETS : 1); i++) {
        struct entry **at = &shard->buckets[shard->sweep_at++ % BUCKETS];
        while (*at) {
            bool is_living = !is_over((*at)->used_at, now);
            if (is_living && !is_full) {
                at = &(*at)->next;
                continue;
            }
            if (is_living && (*at)->used_at > shard->others_used_at)
                shard->others_used_at = (*at)->used_at;
            take_out(shard, at);
        }
        if (is_full && shard->count <= SHARD_SESSIONS / 2)
            return;
    }
}

/* Without memory the session is one of the others. */
static struct entry *add(struct shard *shard, uint64_t hash, bytes id, time_ms now)
{
    struct entry *entry = memory_take_zeroed(1, sizeof(*entry));

    if (!entry) {
        shard->others_used_at = now;
        return NULL;
    }
    ASSERT(id.len <= sizeof(entry->id));
    memcpy(entry->id, id.data, id.len);
    entry->len = id.len;
    entry->newest = INT64_MIN;
    sweep(shard, now);
    *find_place(shard, hash, id) = entry;
    shard->count++;
    return entry;
}

/* ---- use -------------------------------------------------------------------------------------------- */

void lsid_touch(struct lsid_table *table, bytes id, int64_t number, time_ms now)
{
    uint64_t hash;
    struct shard *shard = lock_shard(table, id, &hash);
    struct entry *entry = *find_place(shard, hash, id);

    if (!entry)
        entry = add(shard, hash, id, now);
    if (entry && now > entry->used_at)
        entry->used_at = now;
    if (entry && number > entry->newest)
        entry->newest = number;
    pthread_mutex_unlock(&shard->lock);
}

bool lsid_needs(struct lsid_table *table, bytes id, int64_t number, time_ms now)
{
    uint64_t hash;
    struct shard *shard = lock_shard(table, id, &hash);
    const struct entry *entry = *find_place(shard, hash, id);
    bool is_needed = !is_over(entry ? entry->used_at : shard->others_used_at, now) &&
                     (!entry || number >= entry->newest);

    pthread_mutex_unlock(&shard->lock);
    return is_needed;
}

bool lsid_lives(struct lsid_table *table, bytes id, time_ms now)
{
    return lsid_needs(table, id, INT64_MAX, now);
}

static void end_fitting(struct shard *shard, const struct lsid_pattern *pattern)
{
    pthread_mutex_lock(&shard->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct entry *entry = shard->buckets[i]; entry; entry = entry->next) {
            if (lsid_fits(pattern, bytes_of(entry->id, entry->len)))
                entry->used_at = 0;
        }
    }
    pthread_mutex_unlock(&shard->lock);
}

void lsid_end(struct lsid_table *table, const struct lsid_pattern *pattern)
{
    uint64_t hash;

    if (pattern->session_id.len == 0) {
        for (size_t i = 0; i < SHARDS; i++)
            end_fitting(&table->shards[i], pattern);
        return;
    }
    struct shard *shard = lock_shard(table, pattern->session_id, &hash);
    struct entry *entry = *find_place(shard, hash, pattern->session_id);
    if (entry)
        entry->used_at = 0;
    pthread_mutex_unlock(&shard->lock);
}

static void list_fitting(struct shard *shard, const struct lsid_pattern *pattern, time_ms now,
                         struct buffer *out)
{
    pthread_mutex_lock(&shard->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct entry *entry = shard->buckets[i]; entry; entry = entry->next) {
            const bytes id = bytes_of(entry->id, entry->len);
            if (is_over(entry->used_at, now) || !lsid_fits(pattern, id))
                continue;
            size_t row = document_begin(out);
            lsid_append(out, "_id", id);
            reply_date(out, "lastUse", entry->used_at);
            document_end(out, row);
        }
    }
    pthread_mutex_unlock(&shard->lock);
}

void lsid_list(struct lsid_table *table, const struct lsid_pattern *pattern, time_ms now,
               struct buffer *out)
{
    for (size_t i = 0; i < SHARDS && !out->is_failed; i++)
        list_fitting(&table->shards[i], pattern, now, out);
}
