/* Checkpoint: where a copy of the database stands while it is carried away.
 *
 *   DIR/checkpoint        the copy: links to the files of the database, made by the server
 *   DIR/checkpoint.tmp    the same, while RocksDB makes it
 *
 * Who carries it away holds a lock on DIR itself; the kernel lets go of it if he dies. A file for the lock would
 * belong to the first who made a copy, and keep others out for ever.
 *
 * Threads: any; no state but the lock. */
#include "server/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "server/backup.h"
#include "server/control.h"
#include "server/file.h"
#include "storage/storage.h"

static const char place_name[] = "checkpoint";

const char *checkpoint_path(struct arena *arena, const char *directory)
{
    return arena_format(arena, "%s/%s", directory, place_name);
}

static void remove_copy(struct arena *arena, const char *directory)
{
    const char *endings[] = { "", ".tmp" };

    for (size_t i = 0; i < ARRAY_COUNT(endings); i++) {
        const char *path = arena_format(arena, "%s/%s%s", directory, place_name, endings[i]);
        if (path)
            file_remove_directory(path);
    }
}

status checkpoint_claim(struct arena *arena, const char *directory, int *fd_out)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *fd_out = -1;
    if (fd < 0)
        return status_fail(arena, IO_ERROR, "%s: %s", directory, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return status_fail(arena, BUSY, "%s is being copied already; wait until that is done",
                           directory);
    }
    remove_copy(arena, directory);
    *fd_out = fd;
    return STATUS_OK;
}

void checkpoint_release(struct arena *arena, const char *directory, int fd)
{
    remove_copy(arena, directory);
    close(fd);
}

static status find_database(struct arena *arena, const char *directory)
{
    const char *mark = arena_format(arena, "%s/%s", directory, storage_mark_name);

    if (!mark)
        return arena_exhausted(arena);
    if (access(mark, F_OK) == 0)
        return STATUS_OK;
    if (errno != ENOENT)
        return status_fail(arena, IO_ERROR, "%s: %s", directory, strerror(errno));
    return backup_explain(arena, directory,
                          status_fail(arena, NOT_FOUND, "there is no database in %s", directory));
}

/* A server that clears away what another has left holds the lock for a moment, which is no reason to fail. */
static status claim_patiently(struct arena *arena, const char *directory, int *fd_out)
{
    enum { TRIES = 10, PAUSE_MS = 10 };
    status s = checkpoint_claim(arena, directory, fd_out);

    for (int i = 1; i < TRIES && s.code == BUSY; i++) {
        poll(NULL, 0, PAUSE_MS);
        s = checkpoint_claim(arena, directory, fd_out);
    }
    return s;
}

status checkpoint_borrow(struct arena *arena, const char *directory, const char *to,
                         struct checkpoint_loan *out)
{
    *out = (struct checkpoint_loan){ .path = checkpoint_path(arena, directory), .fd = -1 };
    if (!out->path)
        return arena_exhausted(arena);
    TRY(find_database(arena, directory));
    if (file_is_inside(to, directory))
        return status_fail(arena, INVALID,
                           "%s lies in the data directory %s; choose a place outside of it", to,
                           directory);
    TRY(claim_patiently(arena, directory, &out->fd));
    status s = control_post(arena, directory, "/_mayfly/checkpoint");
    if (s.code == OK)
        return STATUS_OK;
    checkpoint_release(arena, directory, out->fd);
    *out = (struct checkpoint_loan){ .path = directory, .fd = -1 };
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

void checkpoint_return(struct arena *arena, const char *directory,
                       const struct checkpoint_loan *loan)
{
    if (loan->fd >= 0)
        checkpoint_release(arena, directory, loan->fd);
}

void checkpoint_clear(struct arena *arena, const char *directory)
{
    const char *path = checkpoint_path(arena, directory);
    const char *unfinished = path ? arena_format(arena, "%s.tmp", path) : NULL;
    int fd;

    if (unfinished && (access(path, F_OK) == 0 || access(unfinished, F_OK) == 0) &&
        checkpoint_claim(arena, directory, &fd).code == OK)
        checkpoint_release(arena, directory, fd);
}
