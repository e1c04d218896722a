/* Spool: a file without a name, written to its end and read in stretches.
 *
 * A record is its length and a hash of its bytes, four bytes each, then the bytes. Writing goes through one
 * buffer, which is written out when it is full and before anything is read; each reader has a buffer of its own,
 * which grows to the longest record that it meets.
 *
 * Keeps: everything below `written` is in the file, everything from there to spool_end() in the buffer.
 * Threads: belongs to one request at a time. */
#include "base/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/memory.h"

enum { BUFFER_BYTES = 64 * 1024, HEAD_BYTES = 8, LOOK_BYTES = 16 * 1024 * 1024 };

struct spool {
    int fd;
    uint64_t bytes_max;
    uint64_t written;
    uint64_t looked; /* up to here there is room on the disk */
    size_t waiting;  /* in `buffer` */
    uint8_t buffer[BUFFER_BYTES];
};

struct spool_reader {
    const struct spool *spool;
    uint64_t at, to; /* of the file: what was not read into `buffer` yet */
    uint8_t *buffer;
    size_t room, begin, end; /* buffer[begin..end) was not given yet */
};

/* ---- the file --------------------------------------------------------------------------------------- */

/* Some file systems have no files without names: there the name is taken away at once. */
static int open_named(const char *directory)
{
    char path[4096];
    int written = snprintf(path, sizeof(path), "%s/spool-XXXXXX", directory);

    if (written < 0 || (size_t)written >= sizeof(path))
        return -1;
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

status spool_open(const char *directory, uint64_t bytes_max, struct spool **out)
{
    struct spool *spool = memory_take(sizeof(*spool));

    *out = NULL;
    if (!spool)
        return status_of(OUT_OF_MEMORY, "there is no memory to keep rows on disk");
    spool->bytes_max = bytes_max;
    spool->written = spool->looked = 0;
    spool->waiting = 0;
    spool->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (spool->fd < 0)
        spool->fd = open_named(directory);
    if (spool->fd < 0) {
        memory_give(spool);
        return status_of(
            IO_ERROR,
            "a file for rows that do not fit into memory cannot be made in the data directory");
    }
    *out = spool;
    return STATUS_OK;
}

void spool_close(struct spool *spool)
{
    if (!spool)
        return;
    close(spool->fd);
    memory_give(spool);
}

uint64_t spool_end(const struct spool *spool)
{
    return spool->written + spool->waiting;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

/* Documents that are written come first: rows that only wait do not take the last of the disk. */
static status look_for_room(struct spool *spool)
{
    struct statvfs disk;

    if (spool->written < spool->looked)
        return STATUS_OK;
    spool->looked = spool->written + LOOK_BYTES;
    if (fstatvfs(spool->fd, &disk) == 0 &&
        (uint64_t)disk.f_bavail * disk.f_frsize < LIMIT_SPOOL_FREE_BYTES + LOOK_BYTES)
        return status_of(
            IO_ERROR,
            "the disk is nearly full: rows that do not fit into memory have no room on it");
    return STATUS_OK;
}

static status write_out(struct spool *spool, bytes data)
{
    TRY(look_for_room(spool));
    while (data.len > 0) {
        ssize_t done = pwrite(spool->fd, data.data, data.len, (off_t)spool->written);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return status_of(
                IO_ERROR,
                errno == ENOSPC
                    ? "the disk is full: rows that do not fit into memory have no room on it"
                    : "rows that do not fit into memory cannot be written to the disk");
        spool->written += (size_t)done;
        data = bytes_of(data.data + done, data.len - (size_t)done);
    }
    return STATUS_OK;
}

static status flush(struct spool *spool)
{
    size_t waiting = spool->waiting;

    spool->waiting = 0;
    return write_out(spool, bytes_of(spool->buffer, waiting));
}

static status put(struct spool *spool, bytes data)
{
    if (data.len > BUFFER_BYTES - spool->waiting)
        TRY(flush(spool));
    if (data.len > BUFFER_BYTES)
        return write_out(spool, data);
    if (data.len > 0)
        memcpy(spool->buffer + spool->waiting, data.data, data.len);
    spool->waiting += data.len;
    return STATUS_OK;
}

status spool_append(struct spool *spool, bytes record)
{
    uint32_t head[2] = { (uint32_t)record.len, (uint32_t)bytes_hash(record, record.len) };

    _Static_assert(sizeof(head) == HEAD_BYTES, "the head of a record");
    if (record.len > UINT32_MAX || spool_end(spool) + HEAD_BYTES + record.len > spool->bytes_max)
        return status_of(TOO_LARGE, "more rows than may wait on disk for one request");
    TRY(put(spool, bytes_of(head, sizeof(head))));
    return put(spool, record);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

status spool_read(struct spool *spool, uint64_t from, uint64_t to, struct spool_reader **out)
{
    struct spool_reader *reader;

    *out = NULL;
    TRY(flush(spool));
    reader = memory_take_zeroed(1, sizeof(*reader));
    if (reader)
        reader->buffer = memory_take(BUFFER_BYTES);
    if (!reader || !reader->buffer) {
        memory_give(reader);
        return status_of(OUT_OF_MEMORY, "there is no memory to read rows from disk");
    }
    *reader = (struct spool_reader){
        .spool = spool, .at = from, .to = to, .buffer = reader->buffer, .room = BUFFER_BYTES
    };
    *out = reader;
    return STATUS_OK;
}

void spool_reader_close(struct spool_reader *reader)
{
    if (!reader)
        return;
    memory_give(reader->buffer);
    memory_give(reader);
}

static status make_room(struct spool_reader *reader, size_t wanted)
{
    if (reader->begin > 0)
        memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
    reader->end -= reader->begin;
    reader->begin = 0;
    if (wanted <= reader->room)
        return STATUS_OK;
    uint8_t *more = memory_resize(reader->buffer, wanted);
    if (!more)
        return status_of(OUT_OF_MEMORY, "there is no memory to read a row from disk");
    reader->buffer = more;
    reader->room = wanted;
    return STATUS_OK;
}

/* So that at least `wanted` bytes lie in the buffer. */
static status fill(struct spool_reader *reader, size_t wanted)
{
    if (reader->end - reader->begin >= wanted)
        return STATUS_OK;
    if (wanted - (reader->end - reader->begin) > reader->to - reader->at)
        return status_of(CORRUPT, "rows that waited on disk are not what was written");
    TRY(make_room(reader, wanted));
    while (reader->end < wanted) {
        size_t room = reader->room - reader->end;
        if (room > reader->to - reader->at)
            room = (size_t)(reader->to - reader->at);
        ssize_t got = pread(reader->spool->fd, reader->buffer + reader->end, room,
                            (off_t)reader->at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return status_of(IO_ERROR, "rows that wait on disk cannot be read");
        reader->end += (size_t)got;
        reader->at += (size_t)got;
    }
    return STATUS_OK;
}

status spool_next(struct spool_reader *reader, bytes *record_out, bool *has_out)
{
    uint32_t head[2];

    *has_out = reader->end > reader->begin || reader->at < reader->to;
    if (!*has_out)
        return STATUS_OK;
    TRY(fill(reader, HEAD_BYTES));
    memcpy(head, reader->buffer + reader->begin, sizeof(head));
    reader->begin += HEAD_BYTES;
    TRY(fill(reader, head[0]));
    *record_out = bytes_of(reader->buffer + reader->begin, head[0]);
    reader->begin += head[0];
    if ((uint32_t)bytes_hash(*record_out, head[0]) != head[1])
        return status_of(CORRUPT, "rows that waited on disk are not what was written");
    return STATUS_OK;
}
