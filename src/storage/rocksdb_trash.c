/* RocksDB, trash: dropping many files at once without a pause.
 *
 * RocksDB unlinks files on the thread that drops them, which is the committing one, with all writers behind it. The
 * file system then frees blocks and pages of each file, some milliseconds for 16 MB. So every file gets a second name
 * in a directory beside the others first; unlinking the first name costs next to nothing, and a thread of its own
 * takes the second names away, one after the other.
 *
 * Keeps: only adds and removes second names, so nothing that RocksDB has can be lost. A file that is not dropped after
 * all, or whose second name could not be made, is no failure. What is left at the end goes after the next opening.
 * Threads: trash_keep and trash_empty by one thread at a time, the committing one; the emptying thread shares the
 * directory, the state and a flag with it, and nothing else. */
#include "storage/rocksdb_trash.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char trash_name[] = "dropped";

/* -1 if there is none. */
static int trash_directory(int top)
{
    return top < 0 ? -1 : openat(top, trash_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_top(const struct rocksdb_storage *rocks)
{
    return open(rocks->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- second names ---------------------------------------------------------------------------------- */

struct file_bounds trash_bounds(const rocksdb_livefiles_t *files, int i)
{
    size_t low_len, high_len;
    const char *low = rocksdb_livefiles_smallestkey(files, i, &low_len);
    const char *high = rocksdb_livefiles_largestkey(files, i, &high_len);

    return (struct file_bounds){ bytes_of(low, low_len), bytes_of(high, high_len) };
}

bool trash_lies_within(const rocksdb_livefiles_t *files, int i, enum storage_space space,
                       struct file_bounds range)
{
    const struct file_bounds bounds = trash_bounds(files, i);

    return strcmp(rocksdb_livefiles_column_family_name(files, i), rocksdb_space_names[space]) ==
               0 &&
           bytes_compare(bounds.first, range.first) >= 0 &&
           bytes_compare(bounds.last, range.last) <= 0;
}

void trash_keep(struct rocksdb_storage *rocks, enum storage_space space, struct file_bounds range)
{
    const int top = open_top(rocks);
    const rocksdb_livefiles_t *files;

    if (top < 0)
        return;
    (void)mkdirat(top, trash_name, 0700);
    const int trash = trash_directory(top);
    if (trash >= 0) {
        files = rocksdb_livefiles(rocks->db);
        for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
            const char *name = rocksdb_livefiles_name(files, i) + 1; /* behind a slash */
            if (trash_lies_within(files, i, space, range))
                (void)linkat(top, name, trash, name, 0);
        }
        rocksdb_livefiles_destroy(files);
        close(trash);
    }
    close(top);
}

bool trash_is_there(const struct rocksdb_storage *rocks)
{
    const int top = open_top(rocks), trash = trash_directory(top);

    if (trash >= 0)
        close(trash);
    if (top >= 0)
        close(top);
    return trash >= 0;
}

/* ---- emptying -------------------------------------------------------------------------------------- */

static void remove_all(struct rocksdb_storage *rocks)
{
    const int top = open_top(rocks);
    const int trash = trash_directory(top);
    const struct dirent *entry;

    DIR *directory = trash < 0 ? NULL : fdopendir(trash);
    while (directory != NULL && !atomic_load(&rocks->trash.is_ending) &&
           (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.')
            (void)unlinkat(trash, entry->d_name, 0);
    }
    if (directory != NULL)
        closedir(directory);
    if (top >= 0)
        close(top);
}

/* Again, if more was thrown away meanwhile. One state says both that nothing is left to do and that the thread is
 * over, so that nobody can leave a wish with a thread that does not look at it any more. */
static void *empty(void *owner)
{
    struct rocksdb_storage *rocks = owner;
    enum trash_state removing;

    do {
        atomic_store(&rocks->trash.state, TRASH_REMOVING);
        remove_all(rocks);
        removing = TRASH_REMOVING;
    } while (!atomic_compare_exchange_strong(&rocks->trash.state, &removing, TRASH_IDLE) &&
             !atomic_load(&rocks->trash.is_ending));
    return NULL;
}

void trash_empty(struct rocksdb_storage *rocks)
{
    if (atomic_exchange(&rocks->trash.state, TRASH_WISHED) != TRASH_IDLE)
        return;
    if (rocks->trash.has_thread)
        pthread_join(rocks->trash.thread, NULL);
    rocks->trash.has_thread = pthread_create(&rocks->trash.thread, NULL, empty, rocks) == 0;
    if (!rocks->trash.has_thread)
        atomic_store(&rocks->trash.state, TRASH_IDLE);
}

void trash_end(struct rocksdb_storage *rocks)
{
    atomic_store(&rocks->trash.is_ending, true);
    if (rocks->trash.has_thread)
        pthread_join(rocks->trash.thread, NULL);
    rocks->trash.has_thread = false;
}
