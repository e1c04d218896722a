/* RocksDB, log ahead: syncs that write nothing but the commit.
 *
 * Every commit is written to the end of RocksDB's log and synced. A write that makes a file longer changes what the
 * file system knows about it, so the sync has to write that too, and commit the journal if there is one: half of the
 * time or more. So the committing thread writes zeros behind the end of the log, a stretch
 * at a time; the commits that follow overwrite them, and their syncs write these bytes and nothing else. RocksDB's
 * reader takes zeros for nothing, and they are cut off when a log is closed (rocksdb_direct.c).
 *
 * The price: what goes through the log is written twice, the first time as zeros, and one commit of a few hundred
 * waits for a whole stretch. A log that was killed in the middle of a write has zeros behind its last bytes instead
 * of an end, so that it counts as damaged there (see rocksdb_options.c); what was promised lies before.
 *
 * A log that begins as a spare one has such room from its beginning (rocksdb_spare.c).
 *
 * Whoever copies the log in use takes as many bytes as it has at first. Were some of them zeros, commits could
 * overwrite them while they are copied, and the copy could lack one commit and have the next. So there are none
 * meanwhile: the copy begins with a flush, which puts a new log in the place of one that has any, and that one stays
 * without. So does whoever wants the log to be short.
 *
 * Keeps: only writes at the end of a file, never into it, and only between two commits; so it cannot meet what
 * RocksDB writes, whichever log that goes to. Databases that write little never have such a stretch. What fails here
 * is left undone.
 * Threads: the committing one; pausing by any. Start reading at ahead_prepare(). */
#include "storage/rocksdb_ahead.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/rocksdb_log.h"
#include "storage/rocksdb_spare.h"

enum {
    STRETCH_BYTES = 256 << 10,
    /* Written without any of this to a new log, so that small databases stay small. */
    FIRST_BYTES = 64 << 10,
};

/* Up to the end of a block, so that no piece of a head lies behind the last one. */
static size_t stretch_from(uint64_t end)
{
    return STRETCH_BYTES + LOG_BLOCK_BYTES - (size_t)(end % LOG_BLOCK_BYTES);
}

static void prepare(struct rocksdb_storage *rocks, size_t size)
{
    const size_t needed = size + LOG_HEAD_BYTES * (2 + size / LOG_BLOCK_BYTES);
    const int64_t in_new_log = atomic_exchange(&rocks->ahead_in_new_log, -1);
    struct stat about;

    if (in_new_log >= 0)
        rocks->ahead_left = in_new_log > FIRST_BYTES ? (size_t)in_new_log : FIRST_BYTES;
    if (rocks->ahead_left >= needed) {
        rocks->ahead_left -= needed;
        return;
    }
    rocks->ahead_left = 0;
    /* What is longer than a stretch would wait for both. */
    if (atomic_load(&rocks->copies_running) > 0 || needed >= STRETCH_BYTES / 2)
        return;
    /* Not kept open: what RocksDB deletes would stay on the disk for as long as somebody has it open. */
    const int file = log_open_newest(rocks->path, O_WRONLY);
    if (file < 0)
        return;
    if (fstat(file, &about) == 0) {
        const size_t stretch = stretch_from((uint64_t)about.st_size);
        if (log_write_zeros(file, (uint64_t)about.st_size, stretch))
            rocks->ahead_left = stretch - needed;
    }
    close(file);
}

void ahead_prepare(struct rocksdb_storage *rocks, size_t size)
{
    pthread_mutex_lock(&rocks->ahead_lock);
    prepare(rocks, size);
}

void ahead_committed(struct rocksdb_storage *rocks)
{
    pthread_mutex_unlock(&rocks->ahead_lock);
}

bool ahead_is_free(const struct rocksdb_storage *rocks)
{
    return atomic_load(&rocks->copies_running) == 0;
}

void ahead_pause(struct rocksdb_storage *rocks)
{
    pthread_mutex_lock(&rocks->ahead_lock);
    atomic_fetch_add(&rocks->copies_running, 1);
    spares_pause(rocks);
    pthread_mutex_unlock(&rocks->ahead_lock);
}

void ahead_resume(struct rocksdb_storage *rocks)
{
    pthread_mutex_lock(&rocks->ahead_lock);
    atomic_fetch_sub(&rocks->copies_running, 1);
    spares_resume(rocks);
    pthread_mutex_unlock(&rocks->ahead_lock);
}

void ahead_begin(struct rocksdb_storage *rocks)
{
    pthread_mutex_init(&rocks->ahead_lock, NULL);
    rocks->ahead_left = FIRST_BYTES;
    atomic_store(&rocks->ahead_in_new_log, -1);
}

void ahead_end(struct rocksdb_storage *rocks)
{
    pthread_mutex_destroy(&rocks->ahead_lock);
}
