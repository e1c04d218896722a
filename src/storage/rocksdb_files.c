/* RocksDB files: which sorted files hold the rows of a space.
 *
 * To list the files costs about a microsecond for each, so the newest list is kept for everybody, and with it the files
 * that somebody has opened; the next list takes over those that are still there.
 *
 * A list is of use for a view if everything that the view shows is in its files, or was written so late that the
 * graves of the list know of it (rocksdb_graves.c). Those were looked at before the files were listed, so what had been
 * forgotten by then is in the files. What is written afterwards goes to the younger of the same two graves until there
 * is a turn. So a list that has seen no turn yet, asked when the view is open, knows every write of the view that is
 * not in its files; whatever flushes and compactions there were in the meantime. A view keeps the list that it began
 * with.
 *
 * Where nothing was in memory when the files were listed, and nothing was written since, the files hold everything; whoever
 * reads them then needs to know nothing else. What flushes and compactions make of them holds the same.
 *
 * An open file keeps its space on the disk, even if RocksDB has removed it. So every commit looks whether there is another
 * arrangement, and lets go of the list then; so does whoever gives space back.
 *
 * Threads: any; `lock` guards which list is the newest one. RocksDB is asked for its files outside of it. */
#include "storage/rocksdb_files.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/rocksdb_raw.h"

enum {
    LIST_BYTES_MAX = 1 << 26, /* of the names and borders of all files */
    /* Gets that RocksDB serves before a list is made for them, or as many as there are files. */
    MISSED_MIN = 64,
    /* Each has a descriptor, and an index of some 200 KB; RocksDB has the same once more. */
    KEPT_OPEN_MAX = 256,
};

uint64_t raw_arrangement(const struct raw_shelf *shelf)
{
    uint64_t value = UINT64_MAX;

    rocksdb_property_int_cf(shelf->rocks->db, shelf->rocks->spaces[shelf->space],
                            "rocksdb.current-super-version-number", &value);
    return value;
}

/* ---- opened files --------------------------------------------------------------------------------- */

/* Another one that stays open; what was found out about it is kept in the file. */
static struct sorted *open_and_keep(struct raw_shelf *shelf, struct raw_file *file)
{
    struct sorted *sorted = sorted_open(file->path), *other = NULL;

    if (!sorted) {
        atomic_store(&file->is_unreadable, true);
        atomic_fetch_sub(&shelf->kept_open, 1);
        return NULL;
    }
    sorted->tally = &shelf->kept_open;
    if (atomic_compare_exchange_strong(&file->sorted, &other, sorted))
        return sorted;
    sorted_let_go(sorted);
    return other;
}

struct sorted *raw_file_keep(struct raw_shelf *shelf, struct raw_file *file)
{
    struct sorted *sorted = atomic_load_explicit(&file->sorted, memory_order_acquire);

    if (sorted || atomic_load(&file->is_unreadable))
        return sorted;
    if (atomic_fetch_add(&shelf->kept_open, 1) < KEPT_OPEN_MAX)
        return open_and_keep(shelf, file);
    atomic_fetch_sub(&shelf->kept_open, 1);
    return NULL;
}

struct sorted *raw_file_take(struct raw_shelf *shelf, struct raw_file *file)
{
    struct sorted *sorted = raw_file_keep(shelf, file);

    if (sorted)
        sorted_hold(sorted);
    else if (!atomic_load(&file->is_unreadable))
        sorted = sorted_open(file->path);
    return sorted;
}

static int compare_files(const void *a, const void *b)
{
    return bytes_compare(((const struct raw_file *)a)->first, ((const struct raw_file *)b)->first);
}

/* Files have names of their own for ever: the same name is the same file. */
static void take_over(struct raw_files *list, const struct raw_files *before)
{
    size_t at = 0;

    for (size_t i = 0; i < list->count; i++) {
        struct raw_file *file = &list->files[i];
        while (at < before->count && compare_files(&before->files[at], file) < 0)
            at++;
        for (size_t k = at; k < before->count && compare_files(&before->files[k], file) == 0; k++) {
            struct sorted *sorted = atomic_load(&before->files[k].sorted);
            if (!sorted || strcmp(before->files[k].path, file->path) != 0)
                continue;
            sorted_hold(sorted);
            atomic_store(&file->sorted, sorted);
        }
    }
}

/* ---- listing -------------------------------------------------------------------------------------- */

static status join_path(struct arena *arena, const char *directory, const char *name,
                        const char **out)
{
    const size_t len = strlen(directory), name_len = strlen(name);
    char *path;

    TRY(ARENA_NEW(arena, len + name_len + 1, &path));
    memcpy(path, directory, len);
    memcpy(path + len, name, name_len + 1);
    *out = path;
    return STATUS_OK;
}

static status list_files(const struct raw_shelf *shelf, struct raw_files *list,
                         const rocksdb_livefiles_t *live)
{
    const int count = rocksdb_livefiles_count(live);
    size_t len;

    TRY(ARENA_NEW(list->arena, (size_t)count + 1, &list->files));
    for (int i = 0; i < count; i++) {
        struct raw_file *file = &list->files[list->count];
        if (strcmp(rocksdb_livefiles_column_family_name(live, i),
                   rocksdb_space_names[shelf->space]) != 0)
            continue;
        *file = (struct raw_file){ 0 };
        const char *first = rocksdb_livefiles_smallestkey(live, i, &len);
        TRY(arena_copy(list->arena, bytes_of(first, len), &file->first));
        const char *last = rocksdb_livefiles_largestkey(live, i, &len);
        TRY(arena_copy(list->arena, bytes_of(last, len), &file->last));
        TRY(join_path(list->arena, shelf->rocks->path, rocksdb_livefiles_name(live, i),
                      &file->path));
        list->count++;
    }
    if (list->count > 1)
        qsort(list->files, list->count, sizeof(*list->files), compare_files);
    for (size_t i = 0; i < list->count; i++) {
        struct raw_file *file = &list->files[i];
        file->reach = file->last;
        if (i > 0 && bytes_compare(file[-1].reach, file->last) > 0)
            file->reach = file[-1].reach;
    }
    return STATUS_OK;
}

/* NULL if not every write is known, or if the arrangement was another one in the meantime. */
static struct raw_files *make_list(struct raw_shelf *shelf, uint64_t arrangement)
{
    /* Both before the files are listed. */
    struct graves_seen *graves = raw_past_is_in_files(shelf) ? graves_look(shelf->graves) : NULL;
    struct arena *arena = graves ? arena_open(LIST_BYTES_MAX) : NULL;
    struct raw_files *list;

    if (!arena) {
        graves_look_away(shelf->graves, graves);
        return NULL;
    }
    /* A write that is under way may not be in memory yet. */
    const uint64_t writes = atomic_load(&shelf->writes);
    const bool is_all = writes % 2 == 0 && raw_memory_is_empty(shelf);
    const rocksdb_livefiles_t *live = rocksdb_livefiles(shelf->rocks->db);
    status s = ARENA_NEW(arena, 1, &list);
    if (s.code == OK) {
        *list = (struct raw_files){
            .arrangement = arrangement,
            .writes = is_all ? writes : 1,
            .graves = graves,
            .home = shelf->graves,
            .arena = arena,
        };
        atomic_store(&list->holders, 1);
        s = list_files(shelf, list, live);
    }
    rocksdb_livefiles_destroy(live);
    if (s.code == OK && arrangement != UINT64_MAX && arrangement == raw_arrangement(shelf))
        return list;
    graves_look_away(shelf->graves, graves);
    arena_close(arena);
    return NULL;
}

void raw_files_hold(struct raw_files *list)
{
    atomic_fetch_add(&list->holders, 1);
}

void raw_files_let_go(struct raw_files *list)
{
    if (!list || atomic_fetch_sub(&list->holders, 1) > 1)
        return;
    for (size_t i = 0; i < list->count; i++)
        sorted_let_go(atomic_load(&list->files[i].sorted));
    graves_look_away(list->home, list->graves);
    arena_close(list->arena);
}

/* ---- the shelf ------------------------------------------------------------------------------------ */

void raw_shelf_open(struct raw_shelf *shelf, struct rocksdb_storage *rocks,
                    enum storage_space space)
{
    *shelf = (struct raw_shelf){ .rocks = rocks, .space = space };
    pthread_mutex_init(&shelf->lock, NULL);
}

void raw_shelf_close(struct raw_shelf *shelf)
{
    raw_files_let_go(shelf->newest);
    graves_close(shelf->graves);
    pthread_mutex_destroy(&shelf->lock);
}

/* Puts a list there, or nothing. */
static void replace(struct raw_shelf *shelf, struct raw_files *list)
{
    pthread_mutex_lock(&shelf->lock);
    struct raw_files *before = shelf->newest;
    shelf->newest = list;
    if (list) {
        raw_files_hold(list);
        shelf->files = list->count;
        shelf->missed = 0;
    }
    pthread_mutex_unlock(&shelf->lock);
    raw_files_let_go(before);
}

void raw_shelf_clear(struct raw_shelf *shelf)
{
    replace(shelf, NULL);
}

static struct raw_files *take_newest(struct raw_shelf *shelf)
{
    pthread_mutex_lock(&shelf->lock);
    struct raw_files *list = shelf->newest;
    if (list)
        raw_files_hold(list);
    pthread_mutex_unlock(&shelf->lock);
    return list;
}

void raw_shelf_tend(struct raw_shelf *shelf)
{
    struct raw_files *list = take_newest(shelf);

    if (list && list->arrangement != raw_arrangement(shelf))
        raw_shelf_clear(shelf);
    raw_files_let_go(list);
}

void raw_shelf_write_begin(struct raw_shelf *shelf)
{
    atomic_fetch_add(&shelf->writes, 1);
}

void raw_shelf_write_end(struct raw_shelf *shelf)
{
    atomic_fetch_add(&shelf->writes, 1);
}

bool raw_files_are_all(struct raw_shelf *shelf, const struct raw_files *list)
{
    return list->writes % 2 == 0 && list->writes == atomic_load(&shelf->writes);
}

struct raw_files *raw_files_of_all(struct raw_shelf *shelf)
{
    struct raw_files *list = take_newest(shelf);

    if (list && raw_files_are_all(shelf, list))
        return list;
    raw_files_let_go(list);
    return NULL;
}

/* A new list for everybody. */
static struct raw_files *renew(struct raw_shelf *shelf, uint64_t arrangement)
{
    struct raw_files *list = make_list(shelf, arrangement);
    struct raw_files *before = list ? take_newest(shelf) : NULL;

    if (before)
        take_over(list, before);
    raw_files_let_go(before);
    if (list)
        replace(shelf, list);
    return list;
}

/* Counts one reader that has no list; true if that makes enough of them to make one. */
static bool is_worth_a_list(struct raw_shelf *shelf)
{
    pthread_mutex_lock(&shelf->lock);
    const bool is_worth = ++shelf->missed >= MISSED_MIN && shelf->missed >= shelf->files &&
                          !shelf->is_listing;
    shelf->is_listing |= is_worth;
    pthread_mutex_unlock(&shelf->lock);
    return is_worth;
}

/* A new list if it pays by now. */
static struct raw_files *renew_if_worth(struct raw_shelf *shelf, uint64_t arrangement)
{
    if (!is_worth_a_list(shelf))
        return NULL;
    struct raw_files *list = renew(shelf, arrangement);
    pthread_mutex_lock(&shelf->lock);
    shelf->is_listing = false;
    shelf->missed = 0;
    pthread_mutex_unlock(&shelf->lock);
    return list;
}

struct raw_files *raw_files_for_get(struct raw_shelf *shelf)
{
    struct raw_files *list = take_newest(shelf);

    if (list && graves_are_fresh(shelf->graves, list->graves))
        return list;
    raw_files_let_go(list);
    return renew_if_worth(shelf, raw_arrangement(shelf));
}

struct raw_files *raw_files_for_scan(struct raw_shelf *shelf, uint64_t arrangement, bool is_short)
{
    struct raw_files *list = take_newest(shelf);

    if (list && list->arrangement == arrangement && graves_are_fresh(shelf->graves, list->graves))
        return list;
    raw_files_let_go(list);
    return is_short ? renew_if_worth(shelf, arrangement) : renew(shelf, arrangement);
}
