/* RocksDB, direct: logs are written past the system's cache.
 *
 * A log is written once and, mostly, never read. By way of the cache each of its pages is copied there by the thread that commits, is noted
 * as changed, found again by the sync, and noted as clean. So what a commit appends is gathered in whole blocks of ours, and the disk takes it from
 * there, while the thread that commits does something else: the writing is begun (direct_begin) or left to another thread, and
 * waited for behind that (direct_write; rocksdb_sync.c).
 *
 *     file    |  blocks that are whole  |  the last one, in part  |  zeros, up to the end of a block of RocksDB's
 *                                       ^ begin                 ^ end
 *     memory                            [what was written of it ][what was appended][zeros]
 *
 * The last block is written again with what comes next, as the cache would do it, so it is kept in memory. Zeros fill up what
 * is written. Mostly there are some already (rocksdb_ahead.c, rocksdb_spare.c); where the file ends they go on to the end of a block of
 * RocksDB's, because it takes a log that ends elsewhere for one that has none.
 *
 * The first bytes of a log that was no spare go through the cache, so that a small log has no zeros. So does everything where the file system
 * does not know better; and no log becomes direct while logs are copied, before which the one in use makes way for another (rocksdb_ahead.c).
 *
 * Of a commit of many megabytes all but the last ones are written as they come, so that the memory does not grow with it.
 *
 * Keeps: bytes that were written once are only ever written again as they are.
 * Threads: one at a time; who appends, and who writes in between, is told by rocksdb_sync.c. */
#include "storage/rocksdb_direct.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/rocksdb_log.h"

enum {
    BLOCK_BYTES = 4096, /* what disks and file systems can do at the least */
    ROOM_BYTES = 64 << 10,
    /* Memory has an end, and what there is of it is kept until the log is closed. Most large commits are smaller, so that
     * nobody waits here for what is written while tables are filled. */
    GATHERED_BYTES_MAX = 4 << 20,
};

struct direct_log {
    char *path;
    int file;
    bool is_direct;
    bool is_spare, is_cached; /* direct from its first byte on; never */
    bool has_new;             /* appended, and not yet in the file */
    uint64_t end;
    uint64_t known_bytes; /* so long the file is at least */
    /* What follows is for a direct one. */
    uint64_t begin; /* where the memory lies in the file */
    uint8_t *memory;
    size_t room;
    size_t len, whole_len;  /* up to the end; and with the zeros, while it is written */
    aio_context_t *context; /* the owner's; 0: writing cannot be begun without waiting */
    bool is_begun;
    struct iocb request;
};

/* ---- life ------------------------------------------------------------------------------------------- */

static void release(struct direct_log *log)
{
    memory_give(log->path);
    memory_give(log->memory);
    memory_give(log);
}

struct direct_log *direct_open(const char *path, bool is_spare, aio_context_t *context)
{
    const size_t size = strlen(path) + 1;
    struct direct_log *log = memory_take_zeroed(1, sizeof(*log));

    if (log == NULL || (log->path = memory_take(size)) == NULL) {
        memory_give(log);
        errno = ENOMEM;
        return NULL;
    }
    memcpy(log->path, path, size);
    log->is_spare = is_spare;
    log->context = context;
    log->file = open(path, O_RDWR | O_CLOEXEC);
    if (log->file >= 0)
        return log;
    release(log);
    return NULL;
}

/* One that was removed before it is closed may be somebody else's by now (rocksdb_spare.c). */
static int cut_zeros(const struct direct_log *log)
{
    struct stat named, about;

    if (stat(log->path, &named) != 0)
        return errno == ENOENT ? 0 : errno;
    if (fstat(log->file, &about) != 0)
        return errno;
    if (named.st_ino != about.st_ino || (uint64_t)about.st_size <= log->end)
        return 0;
    return ftruncate(log->file, (off_t)log->end) == 0 ? 0 : errno;
}

int direct_close(struct direct_log *log)
{
    int error = direct_write(log);

    if (error == 0)
        error = cut_zeros(log);
    if (close(log->file) != 0 && error == 0)
        error = errno;
    release(log);
    return error;
}

uint64_t direct_bytes(const struct direct_log *log)
{
    return log->end;
}

int direct_file(const struct direct_log *log)
{
    return log->file;
}

/* ---- memory ----------------------------------------------------------------------------------------- */

static uint64_t whole(uint64_t len, size_t block)
{
    return (len + block - 1) / block * block;
}

/* For so many more, and for the zeros behind them. */
static bool has_room(struct direct_log *log, size_t more)
{
    const size_t needed = log->len + more + LOG_BLOCK_BYTES;
    size_t room = log->room > 0 ? log->room : (size_t)ROOM_BYTES;

    while (room < needed)
        room *= 2;
    if (room == log->room)
        return true;
    uint8_t *memory = memory_take_aligned(BLOCK_BYTES, room);
    if (memory == NULL)
        return false;
    if (log->len > 0)
        memcpy(memory, log->memory, log->len);
    memory_give(log->memory);
    log->memory = memory;
    log->room = room;
    return true;
}

/* ---- becoming direct -------------------------------------------------------------------------------- */

static bool set_direct(struct direct_log *log, bool is_direct)
{
    const int flags = fcntl(log->file, F_GETFL);

    log->is_direct = is_direct;
    return flags >= 0 &&
           fcntl(log->file, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

/* What the last block has in it comes from the file, where all of it has been written. */
static bool begin_direct(struct direct_log *log)
{
    log->begin = log->end / BLOCK_BYTES * BLOCK_BYTES;
    log->len = 0;
    if (!has_room(log, BLOCK_BYTES) || !set_direct(log, true))
        return false;
    log->len = (size_t)(log->end - log->begin);
    return log->len == 0 ||
           pread(log->file, log->memory, BLOCK_BYTES, (off_t)log->begin) >= (ssize_t)log->len;
}

/* The disk or the file system does not take blocks: what is in memory stays there until it was written, and nothing comes
 * behind it. */
static bool give_up_direct(struct direct_log *log)
{
    log->is_cached = true;
    return set_direct(log, false);
}

static void choose_way(struct direct_log *log)
{
    if (log->is_direct || log->is_cached || (!log->is_spare && log->end < DIRECT_FROM_BYTES))
        return;
    if (!begin_direct(log))
        (void)give_up_direct(log);
    else if (*log->context == 0 && syscall(SYS_io_setup, 1, log->context) != 0)
        *log->context = 0;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static int write_at(struct direct_log *log, const uint8_t *data, size_t len, uint64_t at)
{
    while (len > 0) {
        const ssize_t n = pwrite(log->file, data, len, (off_t)at);
        if (n < 0 && errno == EINVAL && log->is_direct && give_up_direct(log))
            continue;
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            return EIO;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
            at += (uint64_t)n;
        }
    }
    return 0;
}

int direct_append(struct direct_log *log, const void *data, size_t len, bool may_begin)
{
    ASSERT(!log->is_begun);
    int error = log->len >= GATHERED_BYTES_MAX ? direct_write(log) : 0;
    if (error != 0)
        return error;
    if (may_begin)
        choose_way(log);
    if (!log->is_direct) {
        error = write_at(log, data, len, log->end);
        log->end += error == 0 ? len : 0;
        return error;
    }
    if (!has_room(log, len))
        return ENOMEM;
    memcpy(log->memory + log->len, data, len);
    log->len += len;
    log->end += len;
    log->has_new = true;
    return 0;
}

/* How much is written, zeros included. */
static size_t fill_up(struct direct_log *log)
{
    size_t len = (size_t)whole(log->len, BLOCK_BYTES);
    struct stat about;

    if (log->begin + len > log->known_bytes && fstat(log->file, &about) == 0)
        log->known_bytes = (uint64_t)about.st_size;
    if (log->begin + len > log->known_bytes)
        len = (size_t)(whole(log->end, LOG_BLOCK_BYTES) - log->begin);
    ASSERT(len <= log->room);
    memset(log->memory + log->len, 0, len - log->len);
    return len;
}

/* What cannot be begun is written later; what fails, fails again. */
void direct_begin(struct direct_log *log)
{
    struct iocb *request = &log->request;

    ASSERT(!log->is_begun);
    if (!log->is_direct)
        (void)sync_file_range(log->file, 0, 0, SYNC_FILE_RANGE_WRITE);
    if (!log->has_new || *log->context == 0)
        return;
    log->whole_len = fill_up(log);
    *request = (struct iocb){ .aio_lio_opcode = IOCB_CMD_PWRITE,
                              .aio_fildes = (uint32_t)log->file,
                              .aio_buf = (uint64_t)(uintptr_t)log->memory,
                              .aio_nbytes = log->whole_len,
                              .aio_offset = (int64_t)log->begin };
    log->is_begun = syscall(SYS_io_submit, *log->context, 1, &request) == 1;
}

void direct_end(aio_context_t *context)
{
    if (*context != 0)
        (void)syscall(SYS_io_destroy, *context);
    *context = 0;
}

/* How much of it the disk has taken: 0 also if it did not want to. Where it is not known whether it still takes it, the end waits. */
static size_t wait_for_begun(struct direct_log *log)
{
    struct io_event event = { 0 };
    long count;

    do {
        count = syscall(SYS_io_getevents, *log->context, 1, 1, &event, NULL);
    } while (count < 0 && errno == EINTR);
    log->is_begun = false;
    if (count != 1)
        direct_end(log->context);
    return count == 1 && event.res > 0 ? (size_t)event.res : 0;
}

/* Only what shares its block with what comes next is kept. */
static void forget_written(struct direct_log *log)
{
    const size_t gone = log->len / BLOCK_BYTES * BLOCK_BYTES;

    if (gone > 0)
        memmove(log->memory, log->memory + gone, log->len - gone);
    log->begin += gone;
    log->len -= gone;
    log->has_new = false;
}

int direct_write(struct direct_log *log)
{
    size_t done = 0;

    if (!log->has_new)
        return 0;
    if (log->is_begun)
        done = wait_for_begun(log) / BLOCK_BYTES * BLOCK_BYTES;
    else
        log->whole_len = fill_up(log);
    const int error = write_at(log, log->memory + done, log->whole_len - done, log->begin + done);
    if (error != 0)
        return error;
    if (log->known_bytes < log->begin + log->whole_len)
        log->known_bytes = log->begin + log->whole_len;
    forget_written(log);
    return 0;
}
