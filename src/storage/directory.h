/* The data directory: made if need be, recognised as ours, and held by one process at a time. */
#ifndef STORAGE_DIRECTORY_H
#define STORAGE_DIRECTORY_H

#include "base/base.h"

struct directory_claim {
    const char *path;
    bool must_exist;
    bool is_read_only; /* several readers may share it, and nothing is created */
};

/* On success *fd_out holds the claim until it is closed. IO_ERROR if the directory cannot be used or
 * another server uses it, NOT_FOUND if it must exist and does not, CORRUPT if it is somebody
 * else's or of a newer format. */
MUST_USE status directory_open(const struct directory_claim *claim, struct arena *arena,
                               int *fd_out);
void directory_close(int fd);
/* Writes the mark into a directory that has become a database without being opened; durable. IO_ERROR. */
MUST_USE status directory_mark(const char *path, struct arena *arena);

/* Makes the entries of new and renamed files durable; false if that fails. */
bool directory_sync(const char *path);

/* Sum of the sizes of all files in it, or of those with an ending (NULL: all); 0 if it cannot be listed. */
uint64_t directory_bytes(const char *path, const char *ending);

#endif
