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
 * directory and the flags with it, and nothing else. */
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

static bool lies_within(const rocksdb_livefiles_t *files, int i, bytes first, bytes last)
{
    size_t low_len, high_len;
    const char *low = rocksdb_livefiles_smallestkey(files, i, &low_len);
    const char *high = rocksdb_livefiles_largestkey(files, i, &high_len);

    return bytes_compare(bytes_of(low, low_len), first) >= 0 &&
           bytes_compare(bytes_of(high, high_len), last) <= 0;
}

void trash_keep(struct rocksdb_storage *rocks, enum storage_space space, bytes first, bytes last)
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
            if (strcmp(rocksdb_livefiles_column_family_name(files, i),
                       rocksdb_space_names[space]) == 0 &&
                lies_within(files, i, first, last))
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

/* Again, if more was thrown away meanwhile. */
static void *empty(void *owner)
{
    struct rocksdb_storage *rocks = owner;
    unsigned wished;

    do {
        wished = atomic_load(&rocks->trash.wishes);
        remove_all(rocks);
    } while (wished != atomic_load(&rocks->trash.wishes) && !atomic_load(&rocks->trash.is_ending));
    atomic_store(&rocks->trash.is_running, false);
    return NULL;
}

void trash_empty(struct rocksdb_storage *rocks)
{
    atomic_fetch_add(&rocks->trash.wishes, 1);
    if (atomic_load(&rocks->trash.is_running))
        return;
    if (rocks->trash.has_thread)
        pthread_join(rocks->trash.thread, NULL);
    atomic_store(&rocks->trash.is_running, true);
    rocks->trash.has_thread = pthread_create(&rocks->trash.thread, NULL, empty, rocks) == 0;
    if (!rocks->trash.has_thread)
        atomic_store(&rocks->trash.is_running, false);
}

void trash_end(struct rocksdb_storage *rocks)
{
    atomic_store(&rocks->trash.is_ending, true);
    if (rocks->trash.has_thread)
        pthread_join(rocks->trash.thread, NULL);
    rocks->trash.has_thread = false;
}
