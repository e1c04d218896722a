/* Restore: a backup becomes a data directory.
 *
 * Every file is compared with its checksum while it is copied. The mark that makes a directory a database is
 * copied last: what a restore leaves that did not come to its end is refused by every server, and what one
 * leaves that failed is removed. Until then a mark of its own says that it is not finished, and a lock keeps a second
 * one out.
 *
 * Times to live need no care: deadlines are moments, so documents whose time has come since the backup was made
 * are dead in what is restored, too; and the clock's mark comes along, so a clock that is behind does not wake
 * anybody.
 *
 * Threads: one. Start reading at backup_restore(). */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/backup.h"
#include "server/copy.h"
#include "server/file.h"
#include "storage/storage.h"

struct restoring {
    struct arena *arena;
    const char *from;
    const char *to;
    bytes list;
    struct progress progress;
    struct backup_result *result;
};

static status find_backup(struct restoring *restoring, const char *from)
{
    const char *list = arena_format(restoring->arena, "%s/%s", from, copy_list_name);

    if (!list)
        return arena_exhausted(restoring->arena);
    restoring->from = from;
    if (access(list, F_OK) != 0)
        TRY(backup_find_newest(restoring->arena, from, &restoring->from));
    return copy_read_list(restoring->arena, restoring->from, &restoring->list);
}

/* Both are in the order of names. A file of a database that no list names is not part of the backup: somebody has
 * changed it. */
static status refuse_unlisted(struct restoring *restoring)
{
    struct copy_line line = { 0 };
    bytes rest = restoring->list;
    struct file_names names;
    bool has_line = true;

    TRY(file_list(restoring->arena, restoring->from, storage_owns_file, &names));
    for (size_t i = 0; i < names.count; i++) {
        bytes name = bytes_of_text(names.names[i]);
        while (has_line && bytes_compare(line.name, name) < 0)
            TRY(copy_take_line(restoring->arena, &rest, &line, &has_line));
        if (!has_line || !bytes_equal(line.name, name))
            return status_fail(restoring->arena, CORRUPT,
                               "%s/%s is not in the list %s; the backup was changed after it was "
                               "made",
                               restoring->from, names.names[i], copy_list_name);
    }
    return STATUS_OK;
}

static const char *path_to(const struct restoring *restoring, const struct copy_line *line,
                           const char *ending)
{
    return arena_format(restoring->arena, "%s/%.*s%s", restoring->to, (int)line->name.len,
                        (const char *)line->name.data, ending);
}

static status restore_file(struct restoring *restoring, const struct copy_line *line,
                           const char *to)
{
    char sum[COPY_CHECKSUM_BYTES];
    struct copy_order order = {
        .from = arena_format(restoring->arena, "%s/%.*s", restoring->from, (int)line->name.len,
                             (const char *)line->name.data),
        .to = to,
        .progress = &restoring->progress,
    };

    if (!order.from || !order.to)
        return arena_exhausted(restoring->arena);
    TRY(copy_file(restoring->arena, &order, sum));
    restoring->result->files++;
    if (bytes_equal(line->checksum, bytes_of_text(sum)))
        return STATUS_OK;
    return status_fail(restoring->arena, CORRUPT,
                       "%s is damaged: its checksum is %s, and was %.*s when the backup was made",
                       order.from, sum, (int)line->checksum.len, (const char *)line->checksum.data);
}

/* There is no instant with half a mark: it gets its name when it is whole. */
static status restore_mark(struct restoring *restoring, const struct copy_line *line)
{
    const char *beside = path_to(restoring, line, ".new"), *path = path_to(restoring, line, "");

    if (!beside || !path)
        return arena_exhausted(restoring->arena);
    status s = restore_file(restoring, line, beside);
    if (s.code == OK && rename(beside, path) != 0)
        s = file_failure(restoring->arena, path, errno);
    if (s.code != OK)
        unlink(beside);
    return s;
}

/* All files but the mark, or only the mark. */
static status restore_pass(struct restoring *restoring, bool is_for_mark, bool *has_mark_out)
{
    bytes rest = restoring->list;
    struct copy_line line;
    bool has_line;

    *has_mark_out = false;
    for (;;) {
        TRY(copy_take_line(restoring->arena, &rest, &line, &has_line));
        if (!has_line)
            return STATUS_OK;
        bool is_mark = bytes_equal(line.name, bytes_of_text(storage_mark_name));
        *has_mark_out |= is_mark;
        if (is_mark == is_for_mark)
            TRY(is_mark ? restore_mark(restoring, &line)
                        : restore_file(restoring, &line, path_to(restoring, &line, "")));
    }
}

static status restore_all(struct restoring *restoring)
{
    bool has_mark;

    restoring->progress = progress_begin("restore", restoring->result->bytes);
    status s = restore_pass(restoring, false, &has_mark);
    progress_end(&restoring->progress);
    TRY(s);
    if (!has_mark)
        return status_fail(restoring->arena, CORRUPT, "%s/%s does not name %s; the list is damaged",
                           restoring->from, copy_list_name, storage_mark_name);
    TRY(file_sync_directory(restoring->arena, restoring->to));
    return restore_pass(restoring, true, &has_mark);
}

/* For the line that tells how far it is; a missing file is found later. */
static void add_sizes(struct restoring *restoring)
{
    bytes rest = restoring->list;
    struct copy_line line;
    bool has_line;

    while (copy_take_line(restoring->arena, &rest, &line, &has_line).code == OK && has_line) {
        arena_position mark = arena_mark(restoring->arena);
        const char *path = arena_format(restoring->arena, "%s/%.*s", restoring->from,
                                        (int)line.name.len, (const char *)line.name.data);
        struct stat info;
        if (path && stat(path, &info) == 0)
            restoring->result->bytes += (uint64_t)info.st_size;
        arena_release(restoring->arena, mark);
    }
}

/* The files that were made, and no others: in the order in which they were. */
static void remove_made(struct restoring *restoring)
{
    uint64_t left = restoring->result->files;

    for (int is_for_mark = 0; is_for_mark <= 1; is_for_mark++) {
        bytes rest = restoring->list;
        struct copy_line line;
        bool has_line;
        while (left > 0 && copy_take_line(restoring->arena, &rest, &line, &has_line).code == OK &&
               has_line) {
            if (bytes_equal(line.name, bytes_of_text(storage_mark_name)) != (is_for_mark == 1))
                continue;
            const char *path = path_to(restoring, &line, "");
            if (path)
                unlink(path);
            left--;
        }
    }
}

status backup_restore(struct arena *arena, const struct restore_order *order,
                      struct backup_result *out)
{
    struct restoring restoring = { .arena = arena, .to = order->to, .result = out };
    struct file_place place;

    *out = (struct backup_result){ 0 };
    TRY(find_backup(&restoring, order->from));
    TRY(refuse_unlisted(&restoring));
    TRY(file_take_empty(arena, order->to, &place));
    out->path = restoring.from;
    add_sizes(&restoring);
    status s = restore_all(&restoring);
    if (s.code == OK) {
        out->copied_bytes = out->bytes;
        return file_finish_place(arena, &place);
    }
    remove_made(&restoring);
    file_abandon_place(&place);
    return s;
}
