/* Directory: the first thing a server touches, so that nothing else is touched by mistake.
 *
 * A data directory is marked by a small file, written before anything else is put there; it names
 * the format. A directory with other things in it and no mark is not ours and is left alone. The
 * mark is also the lock: exclusive for a server, shared for readers. The kernel lets go of it when
 * the process dies, however it dies.
 *
 * A crash between creating the mark and filling it leaves an empty mark or the beginning of one, which counts as
 * ours and is filled at the next start.
 *
 * Threads: any; no state but the file descriptor. */
#include "storage/directory.h"
#include "storage/storage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char storage_mark_name[] = "MAYFLY";
const char storage_unfinished_name[] = "UNFINISHED";
static const char mark_text[] = "mayfly storage format 1\n";

static status create_directory(const struct directory_claim *claim, struct arena *arena);
static status open_mark(const struct directory_claim *claim, struct arena *arena, int *fd_out);
static status lock_mark(const struct directory_claim *claim, struct arena *arena, int fd);
static status check_mark(const struct directory_claim *claim, struct arena *arena, int fd);

status directory_open(const struct directory_claim *claim, struct arena *arena, int *fd_out)
{
    int fd = -1;
    status s;

    *fd_out = -1;
    ASSERT(claim->path != NULL && claim->path[0] != '\0');
    if (!claim->must_exist && !claim->is_read_only)
        TRY(create_directory(claim, arena));
    TRY_GOTO(open_mark(claim, arena, &fd), done);
    TRY_GOTO(lock_mark(claim, arena, fd), done);
    s = check_mark(claim, arena, fd);
done:
    if (s.code == OK)
        *fd_out = fd;
    else
        directory_close(fd);
    return s;
}

void directory_close(int fd)
{
    if (fd >= 0)
        close(fd);
}

static status system_failure(struct arena *arena, const char *doing, const char *path)
{
    const int error = errno;

    return status_fail(arena, IO_ERROR, "cannot %s %s: %s", doing, path, strerror(error));
}

bool directory_sync(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_synced = fd >= 0 && fsync(fd) == 0;

    if (fd >= 0)
        close(fd);
    return is_synced;
}

static status create_directory(const struct directory_claim *claim, struct arena *arena)
{
    char parent[PATH_MAX];

    if (mkdir(claim->path, 0700) != 0)
        return errno == EEXIST ? STATUS_OK
                               : system_failure(arena, "create the directory", claim->path);
    snprintf(parent, sizeof(parent), "%s", claim->path);
    (void)directory_sync(dirname(parent));
    return STATUS_OK;
}

/* True if there is nothing in it, or only what file systems put there. */
static status is_directory_empty(const char *path, struct arena *arena, bool *out)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    *out = true;
    if (directory == NULL)
        return system_failure(arena, "read the directory", path);
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "lost+found") != 0)
            *out = false;
    }
    closedir(directory);
    return STATUS_OK;
}

static status refuse_foreign(const struct directory_claim *claim, struct arena *arena)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", claim->path, storage_unfinished_name) <
            (int)sizeof(path) &&
        access(path, F_OK) == 0)
        return status_fail(arena, CORRUPT,
                           "%s holds a restore that runs or did not come to its end; if none runs, "
                           "remove the directory and restore again",
                           claim->path);
    return status_fail(arena, CORRUPT,
                       "%s is not a mayfly data directory: it has files in it, but no file %s",
                       claim->path, storage_mark_name);
}

/* Without a mark: a fresh directory gets one, any other is not ours. */
static status create_mark(const struct directory_claim *claim, const char *path,
                          struct arena *arena, int *fd_out)
{
    bool is_empty;

    TRY(is_directory_empty(claim->path, arena, &is_empty));
    if (!is_empty)
        return refuse_foreign(claim, arena);
    if (claim->must_exist || claim->is_read_only)
        return status_fail(arena, NOT_FOUND, "there is no database in %s: it is empty",
                           claim->path);
    *fd_out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return *fd_out < 0 ? system_failure(arena, "create", path) : STATUS_OK;
}

static status open_mark(const struct directory_claim *claim, struct arena *arena, int *fd_out)
{
    char path[PATH_MAX];
    struct stat info;

    if (snprintf(path, sizeof(path), "%s/%s", claim->path, storage_mark_name) >= (int)sizeof(path))
        return status_fail(arena, IO_ERROR, "the path of the data directory is too long");
    if (stat(claim->path, &info) != 0) {
        if (errno == ENOENT)
            return status_fail(arena, NOT_FOUND, "there is no database in %s: it does not exist",
                               claim->path);
        return system_failure(arena, "use the directory", claim->path);
    }
    if (!S_ISDIR(info.st_mode))
        return status_fail(arena, IO_ERROR, "%s is not a directory", claim->path);
    *fd_out = open(path, (claim->is_read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
    if (*fd_out >= 0)
        return STATUS_OK;
    if (errno != ENOENT)
        return system_failure(arena, "open", path);
    return create_mark(claim, path, arena, fd_out);
}

static status lock_mark(const struct directory_claim *claim, struct arena *arena, int fd)
{
    if (flock(fd, (claim->is_read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
        return STATUS_OK;
    if (errno == EWOULDBLOCK)
        return status_fail(arena, IO_ERROR,
                           "another server is using %s; stop it, or choose another data directory",
                           claim->path);
    return system_failure(arena, "lock the directory", claim->path);
}

static status write_mark(const struct directory_claim *claim, struct arena *arena, int fd)
{
    const size_t len = sizeof(mark_text) - 1;

    if (pwrite(fd, mark_text, len, 0) != (ssize_t)len || fsync(fd) != 0)
        return system_failure(arena, "write to the directory", claim->path);
    (void)directory_sync(claim->path);
    return STATUS_OK;
}

static status check_mark(const struct directory_claim *claim, struct arena *arena, int fd)
{
    char text[sizeof(mark_text)] = { 0 };
    const ssize_t len = pread(fd, text, sizeof(text), 0);

    if (len < 0)
        return system_failure(arena, "read the directory", claim->path);
    const bool is_beginning = len < (ssize_t)sizeof(text) &&
                              memcmp(text, mark_text, (size_t)len) == 0;
    if (is_beginning && len == (ssize_t)sizeof(mark_text) - 1)
        return STATUS_OK;
    if (is_beginning && !claim->is_read_only)
        return write_mark(claim, arena, fd);
    if (is_beginning)
        return status_fail(arena, NOT_FOUND,
                           "there is no database in %s: its first start did not come to its end",
                           claim->path);
    return status_fail(arena, CORRUPT,
                       "%s/%s does not name a storage format that this server knows; it was "
                       "written by another version or is damaged",
                       claim->path, storage_mark_name);
}

status directory_mark(const char *path, struct arena *arena)
{
    const struct directory_claim claim = { .path = path };
    char mark_path[PATH_MAX];

    if (snprintf(mark_path, sizeof(mark_path), "%s/%s", path, storage_mark_name) >=
        (int)sizeof(mark_path))
        return status_fail(arena, IO_ERROR, "the path of the data directory is too long");
    const int fd = open(mark_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return system_failure(arena, "create", mark_path);
    const status s = write_mark(&claim, arena, fd);
    close(fd);
    return s;
}

status storage_keep_out(const char *path, struct arena *arena, int *fd_out)
{
    const struct directory_claim claim = { .path = path, .is_read_only = true };

    return directory_open(&claim, arena, fd_out);
}

static bool has_ending(const char *name, const char *ending)
{
    if (ending == NULL)
        return true;
    const size_t len = strlen(name), ending_len = strlen(ending);
    return len >= ending_len && memcmp(name + len - ending_len, ending, ending_len) == 0;
}

uint64_t directory_bytes(const char *path, const char *ending)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    uint64_t sum = 0;

    if (directory == NULL)
        return 0;
    while ((entry = readdir(directory)) != NULL) {
        struct stat info;
        if (has_ending(entry->d_name, ending) &&
            fstatat(dirfd(directory), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode))
            sum += (uint64_t)info.st_size;
    }
    closedir(directory);
    return sum;
}
