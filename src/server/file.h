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
/* Names in a directory, in their order; all of them, or those that `is_wanted`. In the arena. */
struct file_names {
    const char **names;
    size_t count;
};
/* NOT_FOUND, IO_ERROR, TOO_LARGE from LIMIT_BACKUP_FILES on. */
MUST_USE status file_list(struct arena *arena, const char *directory,
                          bool (*is_wanted)(const char *name), struct file_names *out);
/* Makes the directory, or finds that it is empty. EXISTS if it is not. */
MUST_USE status file_take_empty(struct arena *arena, const char *path, bool *is_made_out);
/* A directory and the files in it, if there is one. What a link leads to belongs to others and is left alone. */
void file_remove_directory(const char *path);

#endif
