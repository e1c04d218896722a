/* File: small files, read and written whole, and what lies in a directory.
 *
 * A new content is written beside the old one, synced, and renamed over it.
 *
 * Threads: any; no state. */
#include "server/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "storage/storage.h"

status file_failure(struct arena *arena, const char *path, int error)
{
    return status_fail(arena, error == ENOENT ? NOT_FOUND : IO_ERROR, "%s: %s", path,
                       strerror(error));
}

status file_read(struct arena *arena, const char *path, size_t len_max, bytes *out)
{
    void *data;
    size_t len = 0;
    ssize_t more = 1;

    *out = BYTES_NONE;
    TRY(arena_take(arena, len_max, &data));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return file_failure(arena, path, errno);
    while (more > 0 && len < len_max) {
        more = read(fd, (uint8_t *)data + len, len_max - len);
        len += more > 0 ? (size_t)more : 0;
    }
    int error = errno;
    close(fd);
    if (more < 0)
        return file_failure(arena, path, error);
    if (len == len_max)
        return status_fail(arena, TOO_LARGE, "%s: longer than the limit of %zu bytes", path,
                           len_max);
    *out = bytes_of(data, len);
    return STATUS_OK;
}

static bool write_whole(int fd, bytes content)
{
    while (content.len > 0) {
        ssize_t done = write(fd, content.data, content.len);
        if (done < 0 && errno != EINTR)
            return false;
        content = bytes_from(content, done > 0 ? (size_t)done : 0);
    }
    return fsync(fd) == 0;
}

status file_write(struct arena *arena, const char *path, bytes content, unsigned mode)
{
    const char *beside = arena_format(arena, "%s.new", path);

    if (!beside)
        return arena_exhausted(arena);
    unlink(beside); /* of a crash; O_EXCL makes sure that the mode is ours */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
    if (fd < 0)
        return file_failure(arena, beside, errno);
    bool is_written = write_whole(fd, content);
    int error = errno;
    close(fd);
    if (!is_written) {
        unlink(beside);
        return file_failure(arena, beside, error);
    }
    return rename(beside, path) == 0 ? STATUS_OK : file_failure(arena, path, errno);
}

status file_sync_directory(struct arena *arena, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return file_failure(arena, path, errno);
    int error = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return error == 0 ? STATUS_OK : file_failure(arena, path, error);
}

/* ---- directories ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_entry(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static status take_name(struct arena *arena, const char *name, struct file_names *names)
{
    if (names->count == LIMIT_BACKUP_FILES)
        return status_fail(arena, TOO_LARGE, "more than %d files in one directory",
                           LIMIT_BACKUP_FILES);
    const char *copy = arena_format(arena, "%s", name);
    if (!copy)
        return arena_exhausted(arena);
    names->names[names->count++] = copy;
    return STATUS_OK;
}

status file_list(struct arena *arena, const char *directory, bool (*is_wanted)(const char *name),
                 struct file_names *out)
{
    const struct dirent *entry;
    status s = STATUS_OK;

    *out = (struct file_names){ 0 };
    TRY(ARENA_NEW(arena, LIMIT_BACKUP_FILES, &out->names));
    DIR *stream = opendir(directory);
    if (!stream)
        return file_failure(arena, directory, errno);
    while (s.code == OK && (entry = readdir(stream)) != NULL) {
        if (is_entry(entry->d_name) && (!is_wanted || is_wanted(entry->d_name)))
            s = take_name(arena, entry->d_name, out);
    }
    closedir(stream);
    qsort(out->names, out->count, sizeof(*out->names), compare_names);
    return s;
}

void file_remove_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!stream) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(stream)) != NULL) {
        if (is_entry(entry->d_name))
            unlinkat(dirfd(stream), entry->d_name, 0);
    }
    closedir(stream);
    rmdir(path);
}

/* What does not exist yet is where its parent is. */
static bool resolve(const char *path, char out[PATH_MAX])
{
    char parent[PATH_MAX];

    if (realpath(path, out))
        return true;
    return errno == ENOENT && snprintf(parent, sizeof(parent), "%s", path) < PATH_MAX &&
           realpath(dirname(parent), out);
}

bool file_is_inside(const char *path, const char *directory)
{
    char inner[PATH_MAX], outer[PATH_MAX];

    if (!resolve(path, inner) || !realpath(directory, outer))
        return false;
    size_t len = strlen(outer);
    return strncmp(inner, outer, len) == 0 && (inner[len] == '\0' || inner[len] == '/');
}

/* ---- a directory that is filled ---------------------------------------------------------------------- */

static status claim_empty(struct arena *arena, const struct file_place *place)
{
    const char *mark = arena_format(arena, "%s/%s", place->path, storage_unfinished_name);
    const char *database = arena_format(arena, "%s/%s", place->path, storage_mark_name);
    struct file_names names;

    if (!mark || !database)
        return arena_exhausted(arena);
    if (flock(place->fd, LOCK_EX | LOCK_NB) != 0)
        return status_fail(arena, BUSY, "%s is being written by somebody else", place->path);
    TRY(file_list(arena, place->path, NULL, &names));
    /* Killed behind the very last file: what lies there is a database, and may have been served since. */
    if (names.count > 0 && access(mark, F_OK) == 0 && access(database, F_OK) != 0)
        return status_fail(arena, EXISTS,
                           "%s was left by a restore or an export that did not come to its end; "
                           "remove it and try again",
                           place->path);
    if (names.count > 0)
        return status_fail(arena, EXISTS,
                           "%s is not empty; an empty directory is needed, so that nothing is lost",
                           place->path);
    int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return file_failure(arena, mark, errno);
    close(fd);
    return STATUS_OK;
}

status file_take_empty(struct arena *arena, const char *path, struct file_place *out)
{
    *out = (struct file_place){ .path = path, .fd = -1, .is_made = mkdir(path, 0700) == 0 };
    if (!out->is_made && errno != EEXIST)
        return file_failure(arena, path, errno);
    out->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->fd < 0)
        return file_failure(arena, path, errno);
    status s = claim_empty(arena, out);
    if (s.code != OK) {
        close(out->fd);
        out->fd = -1;
    }
    return s;
}

status file_finish_place(struct arena *arena, struct file_place *place)
{
    status s = file_sync_directory(arena, place->path);

    if (s.code == OK && unlinkat(place->fd, storage_unfinished_name, 0) != 0)
        s = file_failure(arena, place->path, errno);
    if (s.code == OK)
        s = file_sync_directory(arena, place->path);
    close(place->fd);
    return s;
}

void file_abandon_place(struct file_place *place)
{
    unlinkat(place->fd, storage_unfinished_name, 0);
    if (place->is_made)
        rmdir(place->path);
    close(place->fd);
}
