/* RocksDB, spare logs: a log that is over becomes the beginning of another.
 *
 * A log that is written at the end of a new file takes fresh memory from the system for each page, and fresh blocks from the file
 * system, which every sync has to note down. Memory that a virtual machine has given back to its host has to be fetched from
 * there: then a commit of a few hundred documents takes longer to reach the log than to be sorted and put into the memory tables.
 * To overwrite a file that is in memory takes a tenth of that, and its syncs write nothing but the bytes. So large logs that RocksDB
 * has removed are filled with zeros by a thread of their own, and synced; whatever log RocksDB begins next is such a file, under
 * its new name (rocksdb_disk.cc). It is the same as room ahead of the log's end (rocksdb_ahead.c), all of it at once.
 *
 *     000012.log --over--> spare/000012.log --zeros, sync--> listed --next log--> 000019.log
 *                               |                              |
 *                               '-------- not wanted ----------'--nobody came--> dropped/000012.log (rocksdb_trash.c)
 *
 * The price: what goes through such logs is written twice, the first time as zeros, but not while anybody waits; and some
 * disk for as long as spares are kept, which is short: it is given back before the disk is full. Where logs fill slowly, or begin for another reason than that one is full, nobody would come for a
 * spare, and none is made.
 *
 * Keeps: a spare is all zeros on the disk before it gets its new name, so that nothing of an old log can ever be read from a new
 * one, with or without power; and it is touched only when its move here is on the disk, because without power it may be back under its
 * old name, and is whole then. While a log is copied none is begun that way (rocksdb_ahead.c). What fails here is left to the trash.
 * Threads: any; see the lock. Start reading at spares_begin_log(). */
#include "storage/rocksdb_spare.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/directory.h"
#include "storage/rocksdb_disk.h"
#include "storage/rocksdb_log.h"
#include "storage/rocksdb_trash.h"

enum {
    LEAST_BYTES = 8 << 20,
    ALL_BYTES_MAX = 160 << 20,
    /* Syncs of others get between two such steps. */
    STEP_BYTES = 512 << 10,
    /* So often in the time that they are kept it is looked for those that nobody came for. */
    LOOKS = 10,
};

static const char spare_name[] = "spare";
static const int64_t keep_at_most_ns = INT64_C(10000000000);

void spares_init(struct rocksdb_storage *rocks)
{
    pthread_mutex_init(&rocks->spares.lock, NULL);
    atomic_store(&rocks->spares.keep_ns, keep_at_most_ns);
    atomic_store(&rocks->spares.full_bytes, LEAST_BYTES);
    rocks->spares.interval_ns = INT64_MAX;
    rocks->spares.last_at_ns = clock_stopwatch_ns(); /* the first one is about to begin */
    rocks->spares.arrivals = -1;
    rocks->spares.stop = -1;
}

void spares_release(struct rocksdb_storage *rocks)
{
    pthread_mutex_destroy(&rocks->spares.lock);
}

/* ---- in --------------------------------------------------------------------------------------------- */

bool spares_take(const char *path)
{
    const char *slash = strrchr(path, '/');
    char to[PATH_MAX];
    struct stat about;

    if (!slash || log_number(slash + 1) == 0 || lstat(path, &about) != 0 ||
        !S_ISREG(about.st_mode) || about.st_size < LEAST_BYTES)
        return false;
    const int len = snprintf(to, sizeof(to), "%.*s/%s%s", (int)(slash - path), path, spare_name,
                             slash);
    return len > 0 && len < (int)sizeof(to) && rename(path, to) == 0;
}

/* ---- a log begins ------------------------------------------------------------------------------------ */

/* The database's own, not that of a copy. */
static bool is_log_of(const struct rocksdb_storage *rocks, const char *path)
{
    const size_t len = strlen(rocks->path);

    return strncmp(path, rocks->path, len) == 0 && path[len] == '/' &&
           log_number(path + len + 1) != 0;
}

/* The last one in the list. */
static void path_of_last(const struct rocksdb_storage *rocks, char out[], size_t size)
{
    char name[LOG_NAME_BYTES];

    log_name(rocks->spares.items[rocks->spares.count - 1].number, name);
    snprintf(out, size, "%s/%s/%s", rocks->path, spare_name, name);
}

/* RocksDB begins one as well when it is told to write rows to files, for which it has reasons of its own, too (a sweep of a range does), and
 * when the second of two spaces is full right behind the first: such a log goes with the next one. */
static void note_log(struct log_spares *spares)
{
    const int64_t now = clock_stopwatch_ns();

    if (spares->pauses > 0)
        spares->interval_ns = INT64_MAX;
    else if (atomic_load(&spares->log_bytes) >= atomic_load(&spares->full_bytes))
        spares->interval_ns = now - spares->last_at_ns;
    else
        return;
    spares->last_at_ns = now;
    atomic_store(&spares->log_bytes, 0);
}

void spares_count(struct rocksdb_storage *rocks, size_t len)
{
    atomic_fetch_add(&rocks->spares.log_bytes, len);
}

bool spares_begin_log(struct rocksdb_storage *rocks, const char *path, char spare_out[],
                      size_t spare_size)
{
    struct log_spares *spares = &rocks->spares;

    pthread_mutex_lock(&spares->lock);
    if (!is_log_of(rocks, path))
        return false;
    atomic_store(&rocks->ahead_in_new_log, 0);
    note_log(spares);
    if (spares->pauses > 0 || spares->count == 0)
        return false;
    path_of_last(rocks, spare_out, spare_size);
    return true;
}

/* The name is made durable here, because RocksDB knows of file systems where that comes with the first
 * sync of a file: of one that is new. */
bool spares_end_log(struct rocksdb_storage *rocks, bool is_renamed)
{
    struct log_spares *spares = &rocks->spares;
    const bool is_begun = is_renamed && directory_sync(rocks->path);

    if (is_renamed)
        spares->count--;
    if (is_begun) {
        spares->begun++;
        atomic_store(&rocks->ahead_in_new_log, (int64_t)spares->items[spares->count].bytes);
    }
    pthread_mutex_unlock(&spares->lock);
    return is_begun;
}

/* RocksDB goes on with a log that has nothing in it when it is told to begin another. */
static void shorten_if_empty(struct rocksdb_storage *rocks, int log)
{
    if (log_is_empty(log) && ftruncate(log, 0) == 0)
        atomic_store(&rocks->ahead_in_new_log, 0);
}

void spares_pause(struct rocksdb_storage *rocks)
{
    pthread_mutex_lock(&rocks->spares.lock);
    rocks->spares.pauses++;
    const int log = log_open_newest(rocks->path, O_RDWR);
    if (log >= 0) {
        shorten_if_empty(rocks, log);
        close(log);
    }
    pthread_mutex_unlock(&rocks->spares.lock);
}

void spares_resume(struct rocksdb_storage *rocks)
{
    pthread_mutex_lock(&rocks->spares.lock);
    rocks->spares.pauses--;
    pthread_mutex_unlock(&rocks->spares.lock);
}

/* ---- the list ---------------------------------------------------------------------------------------- */

/* Under the lock: will somebody come for one before it is too old? */
static bool are_logs_filled_fast(const struct log_spares *spares)
{
    return spares->interval_ns < keep_at_most_ns &&
           clock_stopwatch_ns() - spares->last_at_ns < keep_at_most_ns;
}

static bool is_wanted(struct log_spares *spares, uint64_t size)
{
    uint64_t sum = size;

    pthread_mutex_lock(&spares->lock);
    for (size_t i = 0; i < spares->count; i++)
        sum += spares->items[i].bytes;
    const bool has_room = size >= LEAST_BYTES && spares->count < SPARES_MAX &&
                          sum <= ALL_BYTES_MAX && spares->pauses == 0;
    const bool is_of_use = are_logs_filled_fast(spares);
    pthread_mutex_unlock(&spares->lock);
    return has_room && is_of_use;
}

/* It is all zeros, up to the end of a block, and that is on the disk. */
static void add(struct log_spares *spares, uint64_t number, uint64_t size)
{
    ASSERT(size % LOG_BLOCK_BYTES == 0);
    pthread_mutex_lock(&spares->lock);
    ASSERT(spares->count < SPARES_MAX);
    spares->items[spares->count++] =
        (struct log_spare){ .number = number, .bytes = size, .made_at_ns = clock_stopwatch_ns() };
    pthread_mutex_unlock(&spares->lock);
}

static bool is_listed(struct log_spares *spares, uint64_t number)
{
    bool is_found = false;

    pthread_mutex_lock(&spares->lock);
    for (size_t i = 0; i < spares->count; i++)
        is_found = is_found || spares->items[i].number == number;
    pthread_mutex_unlock(&spares->lock);
    return is_found;
}

static void leave_to_trash(const struct rocksdb_storage *rocks, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX];

    const int len = snprintf(from, sizeof(from), "%s/%s/%s", rocks->path, spare_name, name);
    trash_path(rocks, name, to, sizeof(to));
    if (len > 0 && len < (int)sizeof(from))
        (void)rename(from, to);
}

/* Those that have waited so long. */
static void leave_older(struct rocksdb_storage *rocks, int64_t age_ns)
{
    struct log_spares *spares = &rocks->spares;
    const int64_t now = clock_stopwatch_ns();
    char name[LOG_NAME_BYTES];
    size_t kept = 0;

    pthread_mutex_lock(&spares->lock);
    for (size_t i = 0; i < spares->count; i++) {
        if (now - spares->items[i].made_at_ns < age_ns) {
            spares->items[kept++] = spares->items[i];
            continue;
        }
        log_name(spares->items[i].number, name);
        leave_to_trash(rocks, name);
    }
    spares->count = kept;
    pthread_mutex_unlock(&spares->lock);
}

/* ---- the thread -------------------------------------------------------------------------------------- */

static bool must_stop(const struct log_spares *spares)
{
    struct pollfd stop = { .fd = spares->stop, .events = POLLIN };

    return poll(&stop, 1, 0) > 0;
}

static bool sync_step(int file, uint64_t at)
{
    return sync_file_range(file, (off_t)at, STEP_BYTES,
                           SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                               SYNC_FILE_RANGE_WAIT_AFTER) == 0;
}

/* What the system has of the file in memory may be in large pieces (log_write_zeros); it is let go, and taken again at once. */
static bool fill_with_zeros(const struct log_spares *spares, int file, uint64_t size)
{
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    for (uint64_t at = 0; at < size; at += STEP_BYTES) {
        const uint64_t step = size - at < STEP_BYTES ? size - at : STEP_BYTES;
        if (must_stop(spares) || !log_write_zeros(file, at, step) || !sync_step(file, at))
            return false;
    }
    return fsync(file) == 0;
}

static bool is_move_on_disk(const struct rocksdb_storage *rocks, int directory)
{
    return fsync(directory) == 0 && directory_sync(rocks->path);
}

static bool make_spare(struct rocksdb_storage *rocks, int directory, int file, const char *name)
{
    struct stat about;
    bool is_in_use;

    if (file < 0 || log_number(name) == 0 || fstat(file, &about) != 0)
        return false;
    const uint64_t blocks = ((uint64_t)about.st_size + LOG_BLOCK_BYTES - 1) / LOG_BLOCK_BYTES,
                   size = blocks * LOG_BLOCK_BYTES;
    if (!is_wanted(&rocks->spares, size) || trash_is_disk_scarce(file, ALL_BYTES_MAX) ||
        !trash_is_ours_alone(file, &about, &is_in_use) || !is_move_on_disk(rocks, directory) ||
        !fill_with_zeros(&rocks->spares, file, size))
        return false;
    add(&rocks->spares, log_number(name), size);
    return true;
}

static void tend_one(struct rocksdb_storage *rocks, int directory, const char *name)
{
    if (is_listed(&rocks->spares, log_number(name)))
        return;
    const int file = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (!make_spare(rocks, directory, file, name))
        leave_to_trash(rocks, name);
    if (file >= 0)
        close(file);
}

static void tend_all(struct rocksdb_storage *rocks, DIR *directory)
{
    const struct dirent *entry;

    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.')
            tend_one(rocks, dirfd(directory), entry->d_name);
    }
}

static size_t count_of(struct log_spares *spares)
{
    pthread_mutex_lock(&spares->lock);
    const size_t count = spares->count;
    pthread_mutex_unlock(&spares->lock);
    return count;
}

size_t spares_tend(struct rocksdb_storage *rocks, uint64_t room_bytes)
{
    char path[PATH_MAX];

    if (trash_is_disk_scarce(rocks->directory_fd, room_bytes))
        leave_older(rocks, 0);
    const int len = snprintf(path, sizeof(path), "%s/%s", rocks->path, spare_name);
    DIR *directory = len > 0 && len < (int)sizeof(path) ? opendir(path) : NULL;

    if (directory != NULL) {
        tend_all(rocks, directory);
        closedir(directory);
    }
    return count_of(&rocks->spares);
}

static void *run(void *owner)
{
    struct rocksdb_storage *rocks = owner;
    struct pollfd calls[] = {
        {.fd = rocks->spares.stop,      .events = POLLIN},
        { .fd = rocks->spares.arrivals, .events = POLLIN}
    };

    while (!(calls[0].revents & POLLIN)) {
        trash_forget_arrivals(rocks->spares.arrivals);
        const int64_t keep_ns = atomic_load(&rocks->spares.keep_ns);
        leave_older(rocks, keep_ns);
        const int again_ms = (int)(keep_ns / 1000000 / LOOKS);
        (void)poll(calls, ARRAY_COUNT(calls),
                   spares_tend(rocks, ALL_BYTES_MAX) > 0 ? again_ms : -1);
    }
    return NULL;
}

/* Nothing comes any more, because there is no place for it. */
static void close_down(struct rocksdb_storage *rocks)
{
    char path[PATH_MAX];

    spares_pause(rocks);
    leave_older(rocks, 0);
    (void)spares_tend(rocks, ALL_BYTES_MAX);
    snprintf(path, sizeof(path), "%s/%s", rocks->path, spare_name);
    (void)rmdir(path);
}

void spares_begin(struct rocksdb_storage *rocks)
{
    struct log_spares *spares = &rocks->spares;

    spares->arrivals = trash_watch(rocks->path, spare_name);
    spares->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    spares->has_thread = spares->arrivals >= 0 && spares->stop >= 0 &&
                         pthread_create(&spares->thread, NULL, run, rocks) == 0;
    spares->is_begun = true;
    if (!spares->has_thread)
        close_down(rocks);
}

void spares_end(struct rocksdb_storage *rocks)
{
    struct log_spares *spares = &rocks->spares;

    if (!spares->is_begun)
        return;
    spares->is_begun = false;
    if (spares->has_thread) {
        (void)!write(spares->stop, &(uint64_t){ 1 }, sizeof(uint64_t));
        pthread_join(spares->thread, NULL);
        close_down(rocks);
    }
    if (spares->arrivals >= 0)
        close(spares->arrivals);
    if (spares->stop >= 0)
        close(spares->stop);
}
