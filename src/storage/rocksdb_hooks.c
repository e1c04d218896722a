/* RocksDB hooks: the two places where RocksDB asks us something.
 *
 * Adding counters: a commit only notes what is to be added; RocksDB asks for the sum when somebody
 * reads the row or files are merged. Sums wrap, so any grouping gives the same result.
 *
 * Sweeping: while rows are written to files anyway (rocksdb_sweeper.cc), the storage's owner is asked about each
 * of them. One context for each compaction and each flush, taken when the rows are fixed. A
 * filter acts on rows that old snapshots still see (RocksDB can do no other), which is why storage.h
 * says that garbage may vanish for existing views too.
 *
 * Threads: called on RocksDB's background threads and on readers; no state of its own. */
#include "storage/rocksdb_backend.h"
#include "storage/rocksdb_sweeper.h"

/* ---- counters ------------------------------------------------------------------------------------- */

static bool add_encoded(struct storage_counters *sum, const char *data, size_t len)
{
    struct storage_counters more;

    if (!storage_counters_decode(bytes_of(data, len), &more))
        return false;
    *sum = storage_counters_sum(*sum, more);
    return true;
}

static char *counters_full_merge(void *state, const char *key, size_t key_len, const char *existing,
                                 size_t existing_len, const char *const *operands,
                                 const size_t *operand_lens, int operand_count,
                                 unsigned char *is_success, size_t *len_out)
{
    struct storage_counters sum = { 0 };
    uint8_t *result = memory_take(COUNTERS_BYTES);

    (void)state, (void)key, (void)key_len;
    ASSERT(result != NULL);
    bool is_sound = existing == NULL || add_encoded(&sum, existing, existing_len);
    for (int i = 0; i < operand_count; i++)
        is_sound = is_sound && add_encoded(&sum, operands[i], operand_lens[i]);
    storage_counters_encode(sum, result);
    *is_success = is_sound;
    *len_out = COUNTERS_BYTES;
    return (char *)result;
}

static char *counters_partial_merge(void *state, const char *key, size_t key_len,
                                    const char *const *operands, const size_t *operand_lens,
                                    int operand_count, unsigned char *is_success, size_t *len_out)
{
    return counters_full_merge(state, key, key_len, NULL, 0, operands, operand_lens, operand_count,
                               is_success, len_out);
}

static void counters_give_back(void *state, const char *value, size_t len)
{
    (void)state, (void)len;
    memory_give((void *)(uintptr_t)value);
}

static const char *counters_name(void *state)
{
    (void)state;
    return "mayfly.counters"; /* stored: RocksDB refuses to open with another one */
}

static void nothing_to_destroy(void *state)
{
    (void)state;
}

rocksdb_mergeoperator_t *rocksdb_counters_operator(void)
{
    return rocksdb_mergeoperator_create(NULL, nothing_to_destroy, counters_full_merge,
                                        counters_partial_merge, counters_give_back, counters_name);
}

/* ---- counters that have come back to nothing ------------------------------------------------------ */

/* Absent counts as zero, so a row of two zeros says nothing; it leaves when its file is rewritten. */
static unsigned char counters_are_zero(void *state, int level, const char *key, size_t key_len,
                                       const char *value, size_t value_len, char **new_value,
                                       size_t *new_value_len, unsigned char *is_changed)
{
    struct storage_counters counters;

    (void)state, (void)level, (void)key, (void)key_len;
    (void)new_value, (void)new_value_len, (void)is_changed;
    return storage_counters_decode(bytes_of(value, value_len), &counters) && counters.first == 0 &&
           counters.second == 0;
}

static const char *zero_filter_name(void *state)
{
    (void)state;
    return "mayfly.zero_counters";
}

rocksdb_compactionfilter_t *rocksdb_zero_filter(void)
{
    return rocksdb_compactionfilter_create(NULL, nothing_to_destroy, counters_are_zero,
                                           zero_filter_name);
}

/* ---- sweeper -------------------------------------------------------------------------------------- */

struct sweep {
    struct rocksdb_storage *rocks;
    void *context;
};

/* By itself, because the first touch of our memory by one of RocksDB's threads is ordered only by RocksDB's
 * own locks, and race checkers cannot see those. */
__attribute__((noinline)) static void sweep_enter(struct rocksdb_storage *rocks)
{
    atomic_fetch_add(&rocks->sweeps_running, 1);
}

struct sweep *rocksdb_sweep_begin(struct rocksdb_storage *rocks, int space)
{
    sweep_enter(rocks);
    void *judge = rocks->sweeper.begin(rocks->sweeper.owner, (enum storage_space)space);
    if (judge == NULL) {
        atomic_fetch_sub(&rocks->sweeps_running, 1);
        return NULL;
    }
    struct sweep *sweep = memory_take(sizeof(*sweep));
    ASSERT(sweep != NULL);
    *sweep = (struct sweep){ .rocks = rocks, .context = judge };
    return sweep;
}

bool rocksdb_sweep_is_garbage(const struct sweep *sweep, const char *key, size_t key_len,
                              const char *value, size_t value_len)
{
    const bytes full = bytes_of(key, key_len);

    return sweep->rocks->sweeper.is_garbage(sweep->context, full_key_partition(full),
                                            full_key_rest(full), bytes_of(value, value_len));
}

void rocksdb_sweep_end(struct sweep *sweep)
{
    struct rocksdb_storage *rocks = sweep->rocks;

    rocks->sweeper.end(rocks->sweeper.owner, sweep->context);
    memory_give(sweep);
    atomic_fetch_sub(&rocks->sweeps_running, 1);
}
