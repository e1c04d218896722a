/* Backup: a copy of the database, made while it is served.
 *
 *   DIR/2026-01-31T23-59-59.999Z/      a backup: by its own a whole data directory
 *       MAYFLY CURRENT *.sst *.log ... the files of the database
 *       SHA256SUMS                     written last; without it the backup is not complete
 *   DIR/....partial/                   being made, or left by a backup that failed; the next one removes it
 *
 * The server links its files into a checkpoint, which takes no time; this process carries them away. A table
 * file never changes: if the backup before has one of the same name, size and time, it is linked from there
 * with its checksum. Without a server the files of the data directory itself are copied, and servers are kept
 * out meanwhile.
 *
 * Keeps: what has the name of a backup is complete and on the disk.
 * Threads: one. Start reading at backup_make(). */
#include "server/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/checkpoint.h"
#include "server/copy.h"
#include "server/file.h"
#include "storage/storage.h"

static const char partial_ending[] = ".partial";

/* While one is made. */
struct making {
    struct arena *arena;
    const char *source;   /* where the files lie that are copied */
    const char *previous; /* the backup before; NULL: none */
    bytes previous_list;  /* what is left of it: both lists are in order, so one walk is enough */
    const char *target;
    struct file_names names;
    struct buffer list;
    struct progress progress;
    struct backup_result *result;
};

static status join(struct arena *arena, const char *directory, const char *name, const char **out)
{
    *out = arena_format(arena, "%s/%s", directory, name);
    return *out ? STATUS_OK : arena_exhausted(arena);
}

/* ---- the directory of backups ----------------------------------------------------------------------- */

/* True if `name` begins with a time as name_backup() writes it; what comes behind is in `rest_out`. */
static bool begins_with_time(const char *name, const char **rest_out)
{
    static const char form[] = "0000-00-00T00-00-00.000Z"; /* 0: any digit */

    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        if (form[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
            return false;
    }
    *rest_out = name + sizeof(form) - 1;
    return true;
}

/* Only what a backup can have made: others may have files of that ending, too. */
static bool is_partial_name(const char *name)
{
    const char *rest;

    return begins_with_time(name, &rest) && strcmp(rest, partial_ending) == 0;
}

/* 2026-01-31T23-59-59.999Z; an incomplete one never counts. */
static bool is_backup_name(const char *name)
{
    const char *rest;

    return begins_with_time(name, &rest) && rest[0] == '\0';
}

status backup_find_newest(struct arena *arena, const char *directory, const char **path_out)
{
    struct file_names names;

    *path_out = NULL;
    TRY(file_list(arena, directory, is_backup_name, &names));
    for (size_t i = names.count; i > 0; i--) {
        const char *path, *list;
        TRY(join(arena, directory, names.names[i - 1], &path));
        TRY(join(arena, path, copy_list_name, &list));
        if (access(list, F_OK) != 0)
            continue;
        *path_out = path;
        return STATUS_OK;
    }
    return status_fail(arena, NOT_FOUND, "there is no backup in %s", directory);
}

status backup_explain(struct arena *arena, const char *directory, status reason)
{
    const char *newest;

    if (backup_find_newest(arena, directory, &newest).code != OK)
        return reason;
    return status_fail(arena, reason.code, "%s; it holds backups, each a database by itself: %s",
                       reason.message, newest);
}

/* Held until closed: two backups to one place would remove each other's parts. */
static status hold_target(struct arena *arena, const char *directory, int *fd_out)
{
    *fd_out = -1;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return file_failure(arena, directory, errno);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return file_failure(arena, directory, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *fd_out = fd;
        return STATUS_OK;
    }
    close(fd);
    return status_fail(arena, BUSY, "another backup to %s is running", directory);
}

static status remove_leftovers(struct arena *arena, const char *directory)
{
    struct file_names names;

    TRY(file_list(arena, directory, is_partial_name, &names));
    for (size_t i = 0; i < names.count; i++) {
        const char *path;
        TRY(join(arena, directory, names.names[i], &path));
        file_remove_directory(path);
    }
    return STATUS_OK;
}

static status name_backup(struct arena *arena, const struct backup_order *order, const char **out)
{
    const time_t seconds = (time_t)(order->now / 1000);
    char text[32] = "";
    struct tm parts;

    *out = NULL;
    if (gmtime_r(&seconds, &parts))
        strftime(text, sizeof(text), "%Y-%m-%dT%H-%M-%S", &parts);
    *out = arena_format(arena, "%s/%s.%03dZ", order->to, text, (int)(order->now % 1000));
    return *out ? STATUS_OK : arena_exhausted(arena);
}

/* ---- one file --------------------------------------------------------------------------------------- */

/* The checksum of a file in the backup before; empty if it is not in its list. */
static status find_previous_sum(struct making *making, const char *name, bytes *out)
{
    struct copy_line line;
    bool has_line;

    *out = BYTES_NONE;
    for (;;) {
        bytes rest = making->previous_list;
        TRY(copy_take_line(making->arena, &rest, &line, &has_line));
        if (!has_line || bytes_compare(line.name, bytes_of_text(name)) > 0)
            return STATUS_OK;
        making->previous_list = rest;
        if (bytes_equal(line.name, bytes_of_text(name))) {
            *out = line.checksum;
            return STATUS_OK;
        }
    }
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* One is enough: it says what to look at. */
static void warn(struct making *making, const char *text)
{
    if (!making->result->warning)
        making->result->warning = text;
}

/* A file that has rotted there must not become the file of every later backup. */
static status is_still_good(struct making *making, const char *old, bytes sum, bool *out)
{
    const struct copy_order order = { .from = old };
    char found[COPY_CHECKSUM_BYTES];

    *out = false;
    status s = copy_file(making->arena, &order, found);
    if (s.code == OUT_OF_MEMORY)
        return s;
    *out = s.code == OK && bytes_equal(sum, bytes_of_text(found));
    if (!*out)
        warn(making, arena_format(making->arena,
                                  "%s is damaged; it is copied anew into this backup, and the ones "
                                  "before cannot be restored",
                                  old));
    return STATUS_OK;
}

/* Only tables: what else there is may be written on under its old name. */
static status try_link(struct making *making, const char *name, const char *from, const char *to,
                       bytes *sum_out)
{
    struct stat now, then;
    const char *old;
    bool is_good;
    bytes sum;

    *sum_out = BYTES_NONE;
    if (!making->previous || strstr(name, ".sst") == NULL)
        return STATUS_OK;
    TRY(join(making->arena, making->previous, name, &old));
    if (stat(from, &now) != 0 || stat(old, &then) != 0 || !is_same_file(&now, &then))
        return STATUS_OK;
    TRY(find_previous_sum(making, name, &sum));
    if (sum.len == 0)
        return STATUS_OK;
    TRY(is_still_good(making, old, sum, &is_good));
    if (is_good && link(old, to) == 0) /* a file system without links: copy it */
        *sum_out = sum;
    return STATUS_OK;
}

static status carry(struct making *making, const char *name)
{
    char fresh_sum[COPY_CHECKSUM_BYTES];
    struct copy_order order = { .progress = &making->progress };
    struct stat info;
    bytes sum;

    TRY(join(making->arena, making->source, name, &order.from));
    TRY(join(making->arena, making->target, name, &order.to));
    if (stat(order.from, &info) != 0)
        return file_failure(making->arena, order.from, errno);
    TRY(try_link(making, name, order.from, order.to, &sum));
    if (sum.len > 0) {
        progress_add(&making->progress, (uint64_t)info.st_size);
    } else {
        TRY(copy_file(making->arena, &order, fresh_sum));
        making->result->copied_bytes += (uint64_t)info.st_size;
        sum = bytes_of_text(fresh_sum);
    }
    making->result->files++;
    making->result->bytes += (uint64_t)info.st_size;
    buffer_append_format(&making->list, "%.*s  %s\n", (int)sum.len, (const char *)sum.data, name);
    return STATUS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static uint64_t size_of_all(struct arena *arena, const char *directory, struct file_names names)
{
    arena_position mark = arena_mark(arena);
    uint64_t sum = 0;

    for (size_t i = 0; i < names.count; i++) {
        const char *path;
        struct stat info;
        if (join(arena, directory, names.names[i], &path).code == OK && stat(path, &info) == 0)
            sum += (uint64_t)info.st_size;
        arena_release(arena, mark);
    }
    return sum;
}

static status carry_all(struct making *making)
{
    bytes lines;

    TRY(file_list(making->arena, making->source, storage_owns_file, &making->names));
    making->progress = progress_begin("backup",
                                      size_of_all(making->arena, making->source, making->names));
    for (size_t i = 0; i < making->names.count; i++) {
        status s = carry(making, making->names.names[i]);
        if (s.code != OK) {
            progress_end(&making->progress);
            return s;
        }
    }
    progress_end(&making->progress);
    TRY(buffer_finish(&making->list, &lines));
    TRY(copy_write_list(making->arena, making->target, lines));
    return file_sync_directory(making->arena, making->target);
}

/* Without a list that can be trusted it is as if there were none before. */
static status read_previous(struct making *making, const char *directory)
{
    status s = backup_find_newest(making->arena, directory, &making->previous);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    s = copy_read_list(making->arena, making->previous, &making->previous_list);
    if (s.code == OK || s.code == OUT_OF_MEMORY)
        return s;
    warn(making, arena_format(making->arena,
                              "%s; all files are copied anew, and that backup cannot be restored: "
                              "remove it",
                              s.message));
    making->previous = NULL;
    return STATUS_OK;
}

/* From files that nobody changes to a backup under its name. */
static status make_from(struct arena *arena, const struct backup_order *order, const char *source,
                        struct backup_result *result)
{
    struct making making = {
        .arena = arena, .source = source, .list = buffer_in(arena), .result = result
    };

    TRY(remove_leftovers(arena, order->to));
    TRY(read_previous(&making, order->to));
    TRY(name_backup(arena, order, &result->path));
    making.target = arena_format(arena, "%s%s", result->path, partial_ending);
    if (!making.target)
        return arena_exhausted(arena);
    if (mkdir(making.target, 0700) != 0)
        return file_failure(arena, making.target, errno);
    status s = carry_all(&making);
    if (s.code == OK && rename(making.target, result->path) != 0)
        s = file_failure(arena, result->path, errno);
    if (s.code != OK) {
        file_remove_directory(making.target);
        return s;
    }
    return file_sync_directory(arena, order->to);
}

static status make_from_files(struct arena *arena, const struct backup_order *order,
                              struct backup_result *result)
{
    int fd;

    TRY(storage_keep_out(order->data, arena, &fd));
    status s = make_from(arena, order, order->data, result);
    close(fd);
    return s;
}

/* From a loan of files that nobody changes meanwhile. */
static status make_from_loan(struct arena *arena, const struct backup_order *order,
                             const struct checkpoint_loan *loan, struct backup_result *result)
{
    int target_fd;

    TRY(hold_target(arena, order->to, &target_fd));
    result->is_of_running_server = loan->fd >= 0;
    status s = result->is_of_running_server ? make_from(arena, order, loan->path, result)
                                            : make_from_files(arena, order, result);
    close(target_fd);
    return s;
}

status backup_make(struct arena *arena, const struct backup_order *order, struct backup_result *out)
{
    struct checkpoint_loan loan;

    *out = (struct backup_result){ 0 };
    TRY(checkpoint_borrow(arena, order->data, order->to, &loan));
    status s = make_from_loan(arena, order, &loan, out);
    checkpoint_return(arena, order->data, &loan);
    return s;
}
