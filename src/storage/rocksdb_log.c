/* RocksDB, logs: what is known of them before RocksDB reads them.
 *
 * A process that is killed in the middle of a write leaves a record that is not whole, with zeros behind it
 * (rocksdb_ahead.c). RocksDB finds that out when it has read all logs, and then it has to begin again in another way
 * (rocksdb_options.c). The last record can be looked at before: a log consists of blocks, and a piece of a record begins with
 * each of them, so that the last block tells. What is found here only decides which way is tried first; RocksDB
 * judges everything again.
 *
 *     piece    checksum(4) of kind and content   length(2)   kind(1): whole, first, middle, last   content
 *
 * A process that was killed may also have written what it never synced. Whoever shows that to clients without writing it to files first has to
 * sync it: another power cut could take it away, and leave what was written after it.
 *
 * Threads: any, but there is only one that opens. Start reading at logs_look(). */
#include "storage/rocksdb_log.h"

#include <ctype.h>
#include <dirent.h>
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"

enum piece_kind { PIECE_NONE, PIECE_WHOLE, PIECE_FIRST, PIECE_MIDDLE, PIECE_LAST };

uint64_t log_number(const char *name)
{
    char *end;

    if (!isdigit((unsigned char)name[0]))
        return 0;
    const uint64_t number = strtoull(name, &end, 10);
    return strcmp(end, ".log") == 0 ? number : 0;
}

void log_name(uint64_t number, char out[LOG_NAME_BYTES])
{
    snprintf(out, LOG_NAME_BYTES, "%06" PRIu64 ".log", number);
}

int log_open(int directory, uint64_t number, int flags)
{
    char name[LOG_NAME_BYTES];

    log_name(number, name);
    return openat(directory, name, flags | O_CLOEXEC);
}

int log_open_newest(const char *path, int flags)
{
    const struct dirent *entry;
    uint64_t newest = 0;

    DIR *directory = opendir(path);
    if (directory == NULL)
        return -1;
    while ((entry = readdir(directory)) != NULL) {
        const uint64_t number = log_number(entry->d_name);
        newest = number > newest ? number : newest;
    }
    const int file = log_open(dirfd(directory), newest, flags);
    closedir(directory);
    return file;
}

bool log_write_zeros(int log, uint64_t at, uint64_t size)
{
    enum { PAGE_BYTES = 4096 };
    static const uint8_t zeros[PAGE_BYTES];

    while (size > 0) {
        const size_t rest = PAGE_BYTES - at % PAGE_BYTES, step = size < rest ? size : rest;
        if (pwrite(log, zeros, step, (off_t)at) != (ssize_t)step)
            return false;
        at += step;
        size -= step;
    }
    return true;
}

bool log_is_empty(int log)
{
    uint8_t head[LOG_HEAD_BYTES] = { 0 };
    static const uint8_t zeros[LOG_HEAD_BYTES];

    return pread(log, head, sizeof(head), 0) >= 0 && memcmp(head, zeros, sizeof(head)) == 0;
}

/* ---- the last record ------------------------------------------------------------------------------- */

/* RocksDB stores checksums turned and moved, so that a checksum of them is no checksum of zeros. */
static bool has_its_checksum(const uint8_t *piece, size_t content_len)
{
    const uint32_t crc = crc32c_extend(0, bytes_of(piece + LOG_HEAD_BYTES - 1, content_len + 1));
    uint32_t stored;

    memcpy(&stored, piece, sizeof(stored));
    return le32toh(stored) == ((crc >> 15 | crc << 17) + UINT32_C(0xA282EAD8));
}

static bool is_zero(const uint8_t *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* Of the last block with anything in it, which ends with zeros or with the next block of zeros. What is wrong in front of
 * something else was not cut off but has rotted: RocksDB shall say how. The same holds for what is no piece at all. */
static bool ends_in_a_cut(const uint8_t block[LOG_BLOCK_BYTES])
{
    unsigned kind = PIECE_NONE;
    size_t at = 0;

    while (at + LOG_HEAD_BYTES <= LOG_BLOCK_BYTES) {
        const size_t len = (size_t)block[at + 4] | (size_t)block[at + 5] << 8;
        if (block[at + LOG_HEAD_BYTES - 1] == PIECE_NONE && len == 0)
            break;
        kind = block[at + LOG_HEAD_BYTES - 1];
        const size_t end = at + LOG_HEAD_BYTES + len;
        if (kind > PIECE_LAST || end > LOG_BLOCK_BYTES)
            return false;
        if (!has_its_checksum(block + at, len))
            return is_zero(block + end, LOG_BLOCK_BYTES - end);
        at = end;
    }
    return kind == PIECE_FIRST || kind == PIECE_MIDDLE;
}

/* Zeros are written up to the end of a block; a log that ends elsewhere has none, and RocksDB takes a cut there for its end. */
static bool is_cut(int file, off_t size)
{
    uint8_t block[LOG_BLOCK_BYTES];
    bool are_zeros = true;

    if (size % LOG_BLOCK_BYTES != 0)
        return false;
    for (off_t at = size; at > 0 && are_zeros; at -= LOG_BLOCK_BYTES) {
        if (pread(file, block, LOG_BLOCK_BYTES, at - LOG_BLOCK_BYTES) != LOG_BLOCK_BYTES)
            return false;
        are_zeros = is_zero(block, LOG_BLOCK_BYTES);
    }
    return !are_zeros && ends_in_a_cut(block);
}

/* ---- all of them ----------------------------------------------------------------------------------- */

/* 0 if it has nothing in it. */
static uint64_t bytes_of_log(int directory, uint64_t number)
{
    const int file = log_open(directory, number, O_RDONLY);
    struct stat about;

    if (file < 0)
        return 0;
    const bool has_any = !log_is_empty(file) && fstat(file, &about) == 0;
    close(file);
    return has_any ? (uint64_t)about.st_size : 0;
}

/* How long they are together; the newest one with anything in it. */
static uint64_t measure(DIR *directory, struct logs_left *left)
{
    const struct dirent *entry;
    uint64_t newest = 0;

    while ((entry = readdir(directory)) != NULL) {
        const uint64_t number = log_number(entry->d_name);
        const uint64_t size = number == 0 ? 0 : bytes_of_log(dirfd(directory), number);
        left->bytes += size;
        newest = size > 0 && number > newest ? number : newest;
    }
    return newest;
}

/* Older ones have been synced before the next one was begun. */
static void look_at_newest(int directory, uint64_t number, struct logs_left *left)
{
    const int file = log_open(directory, number, O_RDONLY);
    struct stat about;

    if (file < 0)
        return;
    left->is_cut = fstat(file, &about) == 0 && is_cut(file, about.st_size);
    left->is_synced = fdatasync(file) == 0 && fsync(directory) == 0;
    close(file);
}

struct logs_left logs_look(const struct rocksdb_storage *rocks)
{
    struct logs_left left = { 0 };
    DIR *directory = opendir(rocks->path);

    if (directory == NULL)
        return left;
    const uint64_t newest = measure(directory, &left);
    if (newest != 0)
        look_at_newest(dirfd(directory), newest, &left);
    closedir(directory);
    return left;
}
