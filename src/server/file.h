/* Small files that a person or the server itself wrote: options, keys, certificates. */
#ifndef SERVER_FILE_H
#define SERVER_FILE_H

#include "base/base.h"

/* What the system says of a path: NOT_FOUND or IO_ERROR, for a number of errno. */
MUST_USE status file_failure(struct arena *arena, const char *path, int error);

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
/* True if `path`, which need not exist, is `directory` or lies in it, whatever links lead there. */
bool file_is_inside(const char *path, const char *directory);
/* A directory that is the caller's alone while it is filled, with a mark that says so. */
struct file_place {
    const char *path; /* borrowed */
    int fd;           /* holds its lock */
    bool is_made;
};
/* Makes the directory, or finds that it is empty. EXISTS if it is not; BUSY while another fills it; IO_ERROR. */
MUST_USE status file_take_empty(struct arena *arena, const char *path, struct file_place *out);
/* All that was written is on the disk: takes the mark away and gives the place back. IO_ERROR. */
MUST_USE status file_finish_place(struct arena *arena, struct file_place *place);
/* The caller has removed what he wrote: the place is as it was before. */
void file_abandon_place(struct file_place *place);
/* A directory and the files in it, if there is one. What a link leads to belongs to others and is left alone. */
void file_remove_directory(const char *path);

#endif
