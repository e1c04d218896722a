/* Small files that a person or the server itself wrote: options, keys, certificates. */
#ifndef SERVER_FILE_H
#define SERVER_FILE_H

#include "base/base.h"

/* The whole file, in the arena. NOT_FOUND, IO_ERROR, TOO_LARGE from `len_max` bytes on; the message begins
 * with the path. */
MUST_USE status file_read(struct arena *arena, const char *path, size_t len_max, bytes *out);

/* Replaces the file in one step: after a crash it has the old or the new content. `mode` as in open(2).
 * IO_ERROR. */
MUST_USE status file_write(struct arena *arena, const char *path, bytes content, unsigned mode);
/* Makes sure that all names in a directory survive a crash. IO_ERROR. */
MUST_USE status file_sync_directory(struct arena *arena, const char *path);

#endif
