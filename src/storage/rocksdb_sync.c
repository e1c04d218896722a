/* RocksDB, sync: the log of a commit goes to the disk while its rows go to the memory tables.
 *
 * RocksDB writes a commit to its log, syncs the log, puts the rows into the memory tables and then shows them to readers, one
 * behind the other. The sync is work for the disk and the tables are work for the processor, so both are done at the same time, and
 * the sync is over before anybody can see the rows. A small commit begins the writing, fills the tables and then syncs, which waits for what is left; of a
 * commit of five hundred documents that would be most of it, so its sync runs on a thread of its own. For a few documents waking a
 * thread takes longer than what it spares.
 *
 *     commit_begin   log written: fdatasync()   rows in the tables    synced   shown   commit_end
 *     small      ----------o------------------------------o==========o----------o-----------o---->
 *                          '-- disk --' - - - - - - - - - '-- disk --'
 *     large      ----------o------------------------------o==========o----------o-----------o---->
 *     syncing              '------------------ disk -----------------'
 *
 * RocksDB knows nothing of it. The program has an fdatasync() of its own and stands between RocksDB and the function that fills
 * the tables (rocksdb_filling.cc, mk/flags.mk), and what the program has comes first for the loader. Under the sanitizers the library goes on
 * syncing by itself. A library that would call the one and not the other would show what is not on the disk: so nothing is put off before it
 * was seen to fill tables through us.
 *
 * Only the log is put off, and only once in a commit. A commit that begins another log syncs the manifest, too, before the log and behind
 * the rows; that is done at once, by the committing thread, and so is a second log.
 *
 * A sync that fails. RocksDB would show the rows nevertheless, because it takes the log for synced. So before it does, a snapshot of what was
 * shown until then is taken, and from there on everybody reads that one: see sync_sound_state(). The commit is answered like any other that has
 * failed (rocksdb_write.c), nothing more is written, and nothing is copied or rewritten, because RocksDB would take the log for what it is not.
 *
 * Keeps: what is shown is on the disk.
 * Threads: `lock` guards what the two threads tell each other; the rest of `sync` is the committing thread's, but for the sound state, which
 * is written once. */
#include "storage/rocksdb_sync.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/rocksdb_disk.h"
#include "storage/rocksdb_replaced.h"

/* Where rocksdb_ahead.c leaves off. */
enum { LEAST_BYTES = 128 << 10 };

/* tidy: global because RocksDB calls by name, on the thread that is inside of one of our calls. NULL: not in a commit. */
static _Thread_local struct rocksdb_storage *committing;
/* tidy: global because it is a matter of how the program and the library were put together. */
static _Atomic bool is_filling_told;

typedef int sync_function(int file);

static int sync_really(int file)
{
    /* tidy: global because looking it up is not free, and always finds the same. */
    static _Atomic(sync_function *) found;
    sync_function *next = atomic_load_explicit(&found, memory_order_relaxed);

    if (next == NULL) {
        next = (sync_function *)dlsym(RTLD_NEXT, ROCKSDB_NAME_OF_FDATASYNC);
        ASSERT(next != NULL);
        atomic_store_explicit(&found, next, memory_order_relaxed);
    }
    return next(file);
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
        const int error = sync->call(sync->file) == 0 ? 0 : errno;
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
    rocks->sync.call = sync_really;
    rocks->sync.least_bytes = LEAST_BYTES;
    sync_log_begins(rocks);
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
    pthread_cond_destroy(&sync->changed);
    pthread_mutex_destroy(&sync->lock);
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

void sync_log_begins(struct rocksdb_storage *rocks)
{
    atomic_store(&rocks->sync.known_log, -1);
}

/* By its name, which the system knows. */
static bool has_name_of_log(int file)
{
    static const char ending[] = ".log";
    char link[32], path[PATH_MAX];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    const ssize_t len = readlink(link, path, sizeof(path));
    const ssize_t ending_len = sizeof(ending) - 1;
    return len > ending_len && memcmp(path + len - ending_len, ending, (size_t)ending_len) == 0;
}

/* To look at every name takes longer than all the rest. If the number of a log that is over belongs to another file before the next log is
 * synced for the first time, then that one is put off instead, which is as good. */
static bool is_log(struct log_sync *sync, int file)
{
    if (file == atomic_load_explicit(&sync->known_log, memory_order_relaxed))
        return true;
    if (!has_name_of_log(file))
        return false;
    atomic_store_explicit(&sync->known_log, file, memory_order_relaxed);
    return true;
}

/* Instead of the library's and ours. */
int rocksdb_fdatasync(int file)
{
    struct log_sync *sync = committing != NULL ? &committing->sync : NULL;

    if (sync == NULL || sync->is_under_way || !is_log(sync, file))
        return sync_really(file);
    sync->file = file;
    sync->is_under_way = true;
    if (sync->is_aside)
        tell(sync, SYNC_ASKED);
    else
        (void)sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE); /* what fails, fails again */
    return 0;
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

    if (!sync->is_under_way)
        return;
    if (sync->is_aside)
        wait_for_thread(sync);
    else
        sync->error = sync->call(sync->file) == 0 ? 0 : errno;
    sync->is_under_way = false;
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

/* ---- reading ----------------------------------------------------------------------------------------- */

const struct sound_state *sync_sound_state(const struct rocksdb_storage *rocks)
{
    return atomic_load_explicit(&rocks->sync.sound, memory_order_acquire);
}
