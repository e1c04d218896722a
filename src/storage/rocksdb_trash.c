/* RocksDB, trash: large files leave the disk bit by bit.
 *
 * To remove a file is to free its blocks, and where the file system tells the disk about that (discard), the disk is
 * busy for milliseconds with 16 MB of them, and every sync waits. RocksDB removes files on its own threads after a flush
 * or a compaction, and dozens at once after a drop. So a file that it removes only moves to a directory beside the others
 * (rocksdb_unlink.c), which costs next to nothing, and a thread of its own makes it shorter, a step at a time with
 * pauses between, until nothing is left. All that lies there is spread over some seconds; the more there is, the
 * shorter the pauses, but at least so long that the disk is free most of the time. If room on the disk is scarce, there
 * are no longer ones.
 *
 * Keeps: a file is not shortened while anybody has it open, because those who read a file that RocksDB has dropped go on
 * reading it (rocksdb_sorted.c): a lease for writing is only given to the one who is alone. Not while it has a second
 * name, which a copy of the database may be. And not before its move is on the disk: without power it may be back under
 * its name, and then it is whole.
 * What fails here is left undone, or removed in one step.
 * Threads: trash_take by any; the thread shares two descriptors and a count with the others, and nothing else. Start
 * reading at trash_empty(). */
#include "storage/rocksdb_trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    STEP_BYTES = 512 << 10,
    /* Everything that lies there at a time takes about so long. */
    SPREAD_MS = 4000,
    PAUSE_MS_MAX = 20,
    /* Pauses are at least so many times as long as the step before them. */
    REST = 3,
    /* Until files that were in use are looked at again. */
    AGAIN_MS = 1000,
    /* What is removed when the database has been closed, about a second's worth. */
    END_BYTES_MAX = 1 << 30,
};

static const char trash_name[] = "dropped";

/* ---- in --------------------------------------------------------------------------------------------- */

/* Digits, and what tables and logs end with. */
static bool is_large_kind(const char *name)
{
    const size_t digits = strspn(name, "0123456789");

    return digits > 0 && (strcmp(name + digits, ".sst") == 0 || strcmp(name + digits, ".log") == 0);
}

bool trash_take(const char *path)
{
    const char *slash = strrchr(path, '/');
    char to[PATH_MAX];
    struct stat about;

    if (!slash || !is_large_kind(slash + 1) || lstat(path, &about) != 0 ||
        !S_ISREG(about.st_mode) || about.st_size <= STEP_BYTES)
        return false;
    const int len = snprintf(to, sizeof(to), "%.*s/%s%s", (int)(slash - path), path, trash_name,
                             slash);
    return len > 0 && len < (int)sizeof(to) && rename(path, to) == 0;
}

void trash_path(const struct rocksdb_storage *rocks, const char *name, char out[], size_t size)
{
    snprintf(out, size, "%s/%s/%s", rocks->path, trash_name, name);
}

bool trash_is_disk_scarce(int file, uint64_t size)
{
    struct statvfs disk;

    return fstatvfs(file, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < 2 * size;
}

/* ---- out -------------------------------------------------------------------------------------------- */

/* What is known of all that lies there. */
struct heap {
    int directory;
    uint64_t bytes;
    bool is_pressing; /* the disk has not twice as much room as that */
    struct trash_look *look;
    bool is_over;
};

/* True when it must end. */
static bool pause_ns(const struct heap *heap, int64_t ns)
{
    struct pollfd stop = { .fd = heap->look->stop, .events = POLLIN };
    const struct timespec limit = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

    return heap->look->stop >= 0 && ppoll(&stop, 1, &limit, NULL) > 0;
}

/* Behind a step that took so long. */
static void rest(struct heap *heap, uint64_t step, int64_t took_ns)
{
    const int64_t most = (int64_t)PAUSE_MS_MAX * 1000000;
    const uint64_t all = heap->bytes > step ? heap->bytes
                                            : step; /* some came since it was summed up */
    const int64_t share = heap->is_pressing
                              ? 0
                              : (int64_t)((double)SPREAD_MS * 1e6 * (double)step / (double)all);
    const int64_t longer = share > REST * took_ns ? share : REST * took_ns;

    /* Else all that RocksDB has no use for would stay until the whole heap is gone. */
    if (heap->look->rocks && atomic_load(&heap->look->rocks->trash.held) > 0)
        trash_let_go_now(heap->look->rocks);
    heap->look->removed += step;
    heap->is_over = pause_ns(heap, longer < most ? longer : most) ||
                    heap->look->removed >= heap->look->bytes_max;
}

bool trash_is_ours_alone(int file, const struct stat *about, bool *in_use_out)
{
    *in_use_out = false;
    if (about->st_nlink != 1)
        return false;
    /* Only to see whether it is given. Whoever opens the file just now, from outside, makes a signal: one that is
     * ignored unless somebody asks for it. */
    (void)fcntl(file, F_SETSIG, SIGURG);
    if (fcntl(file, F_SETLEASE, F_WRLCK) == 0) {
        (void)fcntl(file, F_SETLEASE, F_UNLCK);
        return true;
    }
    *in_use_out = errno == EAGAIN;
    return false;
}

static void shorten(struct heap *heap, int file, uint64_t size)
{
    while (!heap->is_over && size > STEP_BYTES) {
        const int64_t begun = clock_stopwatch_ns();
        size -= STEP_BYTES;
        if (ftruncate(file, (off_t)size) != 0)
            return;
        rest(heap, STEP_BYTES, clock_stopwatch_ns() - begun);
    }
}

static void remove_one(struct heap *heap, const char *name)
{
    const int file = openat(heap->directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat about;
    bool is_in_use = false;

    if (file >= 0 && fstat(file, &about) == 0 && trash_is_ours_alone(file, &about, &is_in_use))
        shorten(heap, file, (uint64_t)about.st_size);
    heap->look->in_use += is_in_use;
    if (!is_in_use && !heap->is_over)
        (void)unlinkat(heap->directory, name, 0);
    if (file >= 0)
        close(file);
}

static uint64_t sum_of(DIR *directory)
{
    const struct dirent *entry;
    struct stat about;
    uint64_t sum = 0;

    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(directory), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
            sum += (uint64_t)about.st_size;
    }
    rewinddir(directory);
    return sum;
}

static void remove_all(int top, DIR *directory, struct trash_look *look)
{
    struct heap heap = { .directory = dirfd(directory), .bytes = sum_of(directory), .look = look };
    const struct dirent *entry;
    bool is_moved = false;

    heap.is_pressing = trash_is_disk_scarce(top, heap.bytes);
    while (!heap.is_over && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        is_moved = is_moved || (fsync(heap.directory) == 0 && fsync(top) == 0);
        if (is_moved)
            remove_one(&heap, entry->d_name);
    }
}

void trash_empty(const char *path, struct trash_look *look)
{
    const int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int trash = top < 0 ? -1 : openat(top, trash_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = trash < 0 ? NULL : fdopendir(trash);

    look->removed = 0;
    look->in_use = 0;
    if (directory) {
        remove_all(top, directory, look);
        closedir(directory);
    }
    if (top >= 0)
        close(top);
}

/* ---- the thread ------------------------------------------------------------------------------------- */

/* Who finds nothing to do has waited for the one who did it. */
void trash_let_go_now(struct rocksdb_storage *rocks)
{
    pthread_mutex_lock(&rocks->trash.lock);
    for (unsigned count = atomic_exchange(&rocks->trash.held, 0); count > 0; count--) {
        char *error = NULL;
        rocksdb_enable_file_deletions(rocks->db, 0, &error);
        rocksdb_free(error);
    }
    pthread_mutex_unlock(&rocks->trash.lock);
}

void trash_forget_arrivals(int arrivals)
{
    char events[4096];

    while (read(arrivals, events, sizeof(events)) > 0)
        continue;
}

/* What has come from now on is told by the descriptors. */
static void forget_calls(const struct rocksdb_storage *rocks)
{
    uint64_t calls;

    trash_forget_arrivals(rocks->trash.arrivals);
    (void)!read(rocks->trash.wish, &calls, sizeof(calls));
}

static void *tend(void *owner)
{
    struct rocksdb_storage *rocks = owner;
    struct pollfd calls[] = {
        {.fd = rocks->trash.stop,      .events = POLLIN},
        { .fd = rocks->trash.wish,     .events = POLLIN},
        { .fd = rocks->trash.arrivals, .events = POLLIN}
    };

    while (!(calls[0].revents & POLLIN)) {
        struct trash_look look = { .bytes_max = UINT64_MAX,
                                   .stop = rocks->trash.stop,
                                   .rocks = rocks };
        forget_calls(rocks);
        trash_let_go_now(rocks);
        trash_empty(rocks->path, &look);
        const bool is_told = look.in_use == 0 && rocks->trash.arrivals >= 0;
        (void)poll(calls, 3, is_told ? -1 : AGAIN_MS);
    }
    return NULL;
}

int trash_watch(const char *path, const char *name)
{
    char directory[PATH_MAX];
    const int arrivals = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

    snprintf(directory, sizeof(directory), "%s/%s", path, name);
    (void)mkdir(directory, 0700);
    if (arrivals >= 0 && inotify_add_watch(arrivals, directory, IN_MOVED_TO) >= 0)
        return arrivals;
    if (arrivals >= 0)
        close(arrivals);
    return -1;
}

void trash_begin(struct rocksdb_storage *rocks)
{
    rocks->trash.is_begun = true;
    rocks->trash.arrivals = trash_watch(rocks->path, trash_name);
    rocks->trash.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rocks->trash.wish = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rocks->trash.has_thread = rocks->trash.stop >= 0 && rocks->trash.wish >= 0 &&
                              pthread_create(&rocks->trash.thread, NULL, tend, rocks) == 0;
}

void trash_let_go(struct rocksdb_storage *rocks)
{
    atomic_fetch_add(&rocks->trash.held, 1);
    if (rocks->trash.has_thread)
        (void)!write(rocks->trash.wish, &(uint64_t){ 1 }, sizeof(uint64_t));
    else
        trash_let_go_now(rocks);
}

void trash_stop(struct rocksdb_storage *rocks)
{
    if (rocks->trash.has_thread) {
        (void)!write(rocks->trash.stop, &(uint64_t){ 1 }, sizeof(uint64_t));
        pthread_join(rocks->trash.thread, NULL);
    }
    rocks->trash.has_thread = false;
    trash_let_go_now(rocks);
}

void trash_end(struct rocksdb_storage *rocks)
{
    const int files[] = { rocks->trash.arrivals, rocks->trash.stop, rocks->trash.wish };

    if (!rocks->trash.is_begun)
        return;
    trash_empty(rocks->path, &(struct trash_look){ .bytes_max = END_BYTES_MAX, .stop = -1 });
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i] >= 0)
            close(files[i]);
    }
}
