/* RocksDB, sync: the log of a commit goes to the disk while its rows go to the memory tables.
 *
 * RocksDB writes a commit to its log, syncs the log, puts the rows into the memory tables and then shows them to readers, one
 * behind the other. The sync is work for the disk and the tables are work for the processor, so both are done at the same time, and
 * the sync is over before anybody can see the rows. A small commit begins the writing, fills the tables and then syncs, which waits for what is left; of a
 * commit of five hundred documents that would be most of it, so its sync runs on a thread of its own. For a few documents waking a
 * thread takes longer than what it spares.
 *
 *     commit_begin   log written: sync_log()     rows in the tables    synced   shown   commit_end
 *     small      ----------o------------------------------o==========o----------o-----------o---->
 *                          '-- disk --' - - - - - - - - - '-- disk --'
 *     large      ----------o------------------------------o==========o----------o-----------o---->
 *     syncing              '------------------ disk -----------------'
 *
 * RocksDB knows nothing of it. Its logs are files of ours (rocksdb_disk.cc), and the program stands between RocksDB and the function that fills
 * the tables (rocksdb_filling.cc, mk/flags.mk), because what the program has comes first for the loader. Under the sanitizers the library calls
 * its own, and would show what is not on the disk; so nothing is put off before it was seen to fill tables through us.
 *
 * A log is put off once in a commit; where a commit syncs another one, too, that is done at once, by the committing thread.
 *
 * A sync that fails. RocksDB takes the log for synced and shows the rows nevertheless. So before it does, a snapshot of what was shown until
 * then is taken, and from there on everybody reads that one: see sync_sound_state(). The commit is answered like any other that has failed
 * (rocksdb_write.c), nothing is written behind it, and nothing is copied or rewritten. Nor may anything be flushed: with the log that comes next
 * RocksDB would note down how long it takes this one for, and could not open the database again. So no log begins any more
 * (sync_has_failed), and without one it flushes nothing that lies in this one. It is not told that the tables could not be filled, because it
 * ends the program if that comes while a flush or a compaction has failed as well, as it does on a full disk.
 *
 * Keeps: what is shown is on the disk.
 * Threads: `lock` guards what the two threads tell each other; the rest of `sync` is the committing thread's, but for the sound state, which
 * is written once. */
#include "storage/rocksdb_sync.h"

#include <errno.h>
#include <unistd.h>

#include "storage/rocksdb_ahead.h"
#include "storage/rocksdb_direct.h"
#include "storage/rocksdb_disk.h"
#include "storage/rocksdb_replaced.h"
#include "storage/rocksdb_spare.h"

/* Where rocksdb_ahead.c leaves off. */
enum { LEAST_BYTES = 128 << 10 };

/* tidy: global because RocksDB calls by name, on the thread that is inside of one of our calls. NULL: not in a commit. */
static _Thread_local struct rocksdb_storage *committing;
/* tidy: global because it is a matter of how the program and the library were put together. */
static _Atomic bool is_filling_told;

/* Before something is done with a log, and behind it, whichever thread of RocksDB's does it. */
static void take_turn(struct rocksdb_storage *rocks)
{
    atomic_fetch_add(&rocks->sync.turns, 1);
}

static int write_and_sync(const struct log_sync *sync, struct direct_log *log)
{
    const int error = direct_write(log);

    if (error != 0)
        return error;
    return sync->call(direct_file(log)) == 0 ? 0 : errno;
}

/* ---- the thread that syncs --------------------------------------------------------------------------- */

static void *run(void *argument)
{
    struct log_sync *sync = argument;

    pthread_mutex_lock(&sync->lock);
    while (sync->stage != SYNC_ENDS) {
        if (sync->stage != SYNC_ASKED) {
            pthread_cond_wait(&sync->changed, &sync->lock);
            continue;
        }
        pthread_mutex_unlock(&sync->lock);
        const int error = write_and_sync(sync, atomic_load(&sync->log));
        pthread_mutex_lock(&sync->lock);
        sync->error = error;
        sync->stage = SYNC_DONE;
        pthread_cond_broadcast(&sync->changed);
    }
    pthread_mutex_unlock(&sync->lock);
    return NULL;
}

static void tell(struct log_sync *sync, enum sync_stage stage)
{
    pthread_mutex_lock(&sync->lock);
    sync->stage = stage;
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->lock);
}

/* The first large commit makes it. */
static bool has_thread(struct log_sync *sync)
{
    if (!sync->has_thread)
        sync->has_thread = pthread_create(&sync->thread, NULL, run, sync) == 0;
    return sync->has_thread;
}

void sync_begin(struct rocksdb_storage *rocks)
{
    pthread_mutex_init(&rocks->sync.lock, NULL);
    pthread_cond_init(&rocks->sync.changed, NULL);
    rocks->sync.call = fdatasync;
    rocks->sync.least_bytes = LEAST_BYTES;
}

void sync_end(struct rocksdb_storage *rocks)
{
    struct log_sync *sync = &rocks->sync;
    const struct sound_state *sound = atomic_load(&sync->sound);

    if (sync->has_thread) {
        tell(sync, SYNC_ENDS);
        pthread_join(sync->thread, NULL);
    }
    if (sound != NULL) {
        rocksdb_readoptions_destroy(sound->options);
        rocksdb_release_snapshot(rocks->db, sound->snapshot);
    }
}

void sync_release(struct rocksdb_storage *rocks)
{
    take_turn(rocks);
    direct_end(&rocks->sync.context);
    pthread_cond_destroy(&rocks->sync.changed);
    pthread_mutex_destroy(&rocks->sync.lock);
}

/* ---- a commit ---------------------------------------------------------------------------------------- */

void sync_commit_begin(struct rocksdb_storage *rocks, size_t size)
{
    struct log_sync *sync = &rocks->sync;

    ASSERT(committing == NULL);
    sync->error = 0;
    if (!atomic_load(&is_filling_told))
        return;
    sync->is_aside = size >= sync->least_bytes && has_thread(sync);
    committing = rocks;
}

/* RocksDB is about to show what was not synced. */
static void keep_sound(struct rocksdb_storage *rocks)
{
    struct sound_state *sound = &rocks->sync.sound_state;

    ASSERT(atomic_load(&rocks->sync.sound) == NULL);
    sound->seq = rocksdb_get_latest_sequence_number(rocks->db);
    sound->snapshot = rocksdb_create_snapshot(rocks->db);
    sound->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(sound->options, sound->snapshot);
    atomic_store(&rocks->sync.sound, sound);
    atomic_store(&rocks->is_failed, true);
}

static void wait_for_thread(struct log_sync *sync)
{
    pthread_mutex_lock(&sync->lock);
    while (sync->stage != SYNC_DONE)
        pthread_cond_wait(&sync->changed, &sync->lock);
    sync->stage = SYNC_IDLE;
    pthread_mutex_unlock(&sync->lock);
}

static void wait_until_synced(struct rocksdb_storage *rocks)
{
    struct log_sync *sync = &rocks->sync;
    struct direct_log *log = atomic_load(&sync->log);

    if (log == NULL)
        return;
    if (sync->is_aside)
        wait_for_thread(sync);
    else
        sync->error = write_and_sync(sync, log);
    atomic_fetch_add(&sync->turns, 1);
    atomic_store(&sync->log, NULL);
    if (sync->error != 0)
        keep_sound(rocks);
}

/* What RocksDB syncs from here on is not the log of this commit. */
void rocksdb_rows_are_in(void)
{
    atomic_store(&is_filling_told, true);
    if (committing != NULL)
        wait_until_synced(committing);
    committing = NULL;
}

int sync_commit_end(struct rocksdb_storage *rocks)
{
    wait_until_synced(rocks); /* where something else has failed meanwhile */
    committing = NULL;
    return rocks->sync.error;
}

/* ---- what RocksDB does with a log -------------------------------------------------------------------- */

struct direct_log *sync_log_open(struct rocksdb_storage *rocks, const char *path, bool is_spare)
{
    struct direct_log *log = direct_open(path, is_spare, &rocks->sync.context);

    take_turn(rocks);
    return log;
}

int sync_log_append(struct rocksdb_storage *rocks, struct direct_log *log, const void *data,
                    size_t len)
{
    take_turn(rocks);
    ASSERT(atomic_load(&rocks->sync.log) != log);
    spares_count(rocks, len);
    const int error = direct_append(log, data, len, ahead_is_free(rocks));
    take_turn(rocks);
    return error;
}

static void put_off(struct log_sync *sync, struct direct_log *log)
{
    atomic_store(&sync->log, log);
    if (sync->is_aside)
        tell(sync, SYNC_ASKED);
    else
        direct_begin(log);
}

int sync_log(struct rocksdb_storage *rocks, struct direct_log *log)
{
    const bool is_put_off = committing == rocks && atomic_load(&rocks->sync.log) == NULL;
    int error = 0;

    take_turn(rocks);
    if (is_put_off)
        put_off(&rocks->sync, log);
    else
        error = write_and_sync(&rocks->sync, log);
    take_turn(rocks);
    return error;
}

uint64_t sync_log_bytes(struct rocksdb_storage *rocks, const struct direct_log *log)
{
    take_turn(rocks);
    const uint64_t len = direct_bytes(log);
    take_turn(rocks);
    return len;
}

int sync_log_close(struct rocksdb_storage *rocks, struct direct_log *log)
{
    take_turn(rocks);
    ASSERT(atomic_load(&rocks->sync.log) != log);
    const int error = direct_close(log);
    take_turn(rocks);
    return error;
}

/* ---- reading ----------------------------------------------------------------------------------------- */

const struct sound_state *sync_sound_state(const struct rocksdb_storage *rocks)
{
    return atomic_load_explicit(&rocks->sync.sound, memory_order_acquire);
}

bool sync_has_failed(const struct rocksdb_storage *rocks)
{
    return sync_sound_state(rocks) != NULL;
}
