/* RocksDB space: what leaves the disk, and how much is on it.
 *
 * Dropping a range takes whole files out of the middle of the tree at once. It only ever follows a
 * synced range delete of the same range, which covers whatever lies at the borders; alone it could
 * uncover older rows. Sweeping takes a range of SPACE_ROWS, all levels, through the sweeper;
 * settling rewrites a whole partition; trimming writes what is in memory to files, so that logs go.
 *
 * Threads: any. A sweep blocks its caller, not others. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/directory.h"
#include "storage/rocksdb_ahead.h"
#include "storage/rocksdb_compact.h"
#include "storage/rocksdb_trash.h"

enum { BOTTOM_FORCE_OPTIMIZED = 3 }; /* BottommostLevelCompaction: each file is rewritten once */
enum { ENOUGH_FF_BYTES = 32 };
/* Two seconds: longer ones are of large databases, and others wait for sweeps. */
enum { COMPACTION_WAIT_MS = 5, COMPACTION_WAITS = 400 };
/* Logs that are not worth a flush: so many bytes, or that part of what the files hold. */
enum { LOGS_SMALL_BYTES = 16 << 20, LOGS_SHARE_OF_FILES = 16 };

/* Full keys, both included. */
struct file_bounds {
    bytes first, last;
};

/* Files whose last use has ended stay until RocksDB next looks for them: make it look. */
static status remove_unused_files(struct rocksdb_storage *rocks)
{
    char *error = NULL;

    for (int i = 0; i < SPACE_COUNT; i++)
        raw_shelf_clear(&rocks->shelves[i]);
    trash_let_go_now(rocks);
    rocksdb_disable_file_deletions(rocks->db, &error);
    if (error == NULL)
        rocksdb_enable_file_deletions(rocks->db, 0, &error);
    return error == NULL ? STATUS_OK : rocksdb_failure(rocks, "remove_files", error);
}

/* RocksDB's file drop includes its limit, ours is exclusive: a file that ends exactly with the first
 * surviving row must stay. There is no key right before another, so this is a key close before it;
 * what lies between only means that one file more stays behind. */
static void make_inclusive(const struct full_key *end, struct full_key *out)
{
    uint8_t copy[FULL_KEY_INLINE_BYTES];
    bytes rest = full_key_bytes(end);
    const uint8_t last = rest.data[rest.len - 1];

    /* A cut-off end is lower still, which is safe. */
    const size_t head = rest.len - 1 < sizeof(copy) - ENOUGH_FF_BYTES - 1
                            ? rest.len - 1
                            : sizeof(copy) - ENOUGH_FF_BYTES - 1;
    memcpy(copy, rest.data, head);
    size_t len = head;
    if (head == rest.len - 1 && last > 0) {
        copy[len++] = (uint8_t)(last - 1);
        memset(copy + len, 0xFF, ENOUGH_FF_BYTES);
        len += ENOUGH_FF_BYTES;
    }
    memcpy(out->room, copy, len);
    out->data = out->room;
    out->len = len;
}

/* Whoever drops is the committing thread, with all writers behind it: the files are taken out of the database here, and
 * from the directory by another thread. */
static void drop_files(struct rocksdb_storage *rocks, enum storage_space space,
                       struct file_bounds range, char **error)
{
    char *not_held = NULL;

    rocksdb_disable_file_deletions(rocks->db, &not_held);
    rocksdb_delete_file_in_range_cf(rocks->db, rocks->spaces[space], chars_of(range.first),
                                    range.first.len, chars_of(range.last), range.last.len, error);
    if (not_held == NULL)
        trash_let_go(rocks);
    rocksdb_free(not_held);
}

status rocks_drop_range(struct storage *storage, struct row_address where, bytes start, bytes end)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    struct full_key full_start;
    struct full_key full_end;
    struct full_key last;
    char *error = NULL;

    full_key_make(&full_start, where.partition, start);
    full_key_make_end(&full_end, where.partition, end);
    make_inclusive(&full_end, &last);
    if (bytes_compare(full_key_bytes(&full_start), full_key_bytes(&last)) < 0)
        drop_files(rocks, where.space,
                   (struct file_bounds){ full_key_bytes(&full_start), full_key_bytes(&last) },
                   &error);
    raw_shelf_clear(&rocks->shelves[where.space]);
    full_key_release(&full_start);
    full_key_release(&full_end);
    return error == NULL ? STATUS_OK : rocksdb_failure(rocks, "drop_range", error);
}

/* With a log behind it that has no more in it than is written to it from then on. */
static status flush_space(struct rocksdb_storage *rocks, enum storage_space space)
{
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flushoptions_set_wait(options, 1);
    ahead_pause(rocks);
    rocksdb_flush_cf(rocks->db, options, rocks->spaces[space], &error);
    ahead_resume(rocks);
    rocksdb_flushoptions_destroy(options);
    return error == NULL ? STATUS_OK : rocksdb_failure(rocks, "flush", error);
}

static const char compaction_failed[] = "the sweep could not be written; see to the disk";

/* The C interface does not say whether it worked; a failed compaction shows as a background error. */
static status compact_space(struct rocksdb_storage *rocks, enum storage_space space, bytes start,
                            bytes end)
{
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    uint64_t errors_before = 0;
    uint64_t errors_after = 0;

    rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0);
    rocksdb_compactoptions_set_bottommost_level_compaction(options, BOTTOM_FORCE_OPTIMIZED);
    rocksdb_property_int(rocks->db, "rocksdb.background-errors", &errors_before);
    rocksdb_compact_range_cf_opt(rocks->db, rocks->spaces[space], options, chars_of(start),
                                 start.len, chars_of(end), end.len);
    rocksdb_property_int(rocks->db, "rocksdb.background-errors", &errors_after);
    rocksdb_compactoptions_destroy(options);
    return errors_after == errors_before ? STATUS_OK : status_of(IO_ERROR, compaction_failed);
}

/* ---- files and compactions -------------------------------------------------------------------------- */

/* Of one file of a list, for as long as there is the list. */
static struct file_bounds bounds_of(const rocksdb_livefiles_t *files, int i)
{
    size_t low_len, high_len;
    const char *low = rocksdb_livefiles_smallestkey(files, i, &low_len);
    const char *high = rocksdb_livefiles_largestkey(files, i, &high_len);

    return (struct file_bounds){ bytes_of(low, low_len), bytes_of(high, high_len) };
}

static bool is_of_space(const rocksdb_livefiles_t *files, int i, enum storage_space space)
{
    return strcmp(rocksdb_livefiles_column_family_name(files, i), rocksdb_space_names[space]) == 0;
}

static bool lies_within(const rocksdb_livefiles_t *files, int i, enum storage_space space,
                        struct file_bounds range)
{
    const struct file_bounds bounds = bounds_of(files, i);

    return is_of_space(files, i, space) && bytes_compare(bounds.first, range.first) >= 0 &&
           bytes_compare(bounds.last, range.last) <= 0;
}

static bool overlaps(const rocksdb_livefiles_t *files, int i, enum storage_space space,
                     struct file_bounds range)
{
    const struct file_bounds bounds = bounds_of(files, i);

    return is_of_space(files, i, space) && bytes_compare(bounds.first, range.last) <= 0 &&
           bytes_compare(bounds.last, range.first) >= 0;
}

static uint64_t count_running(struct rocksdb_storage *rocks)
{
    uint64_t running = 0;

    rocksdb_property_int(rocks->db, "rocksdb.num-running-compactions", &running);
    return running;
}

static bool is_compacting(struct rocksdb_storage *rocks, enum storage_space space)
{
    uint64_t pending = 0;

    rocksdb_property_int_cf(rocks->db, rocks->spaces[space], "rocksdb.compaction-pending",
                            &pending);
    return pending > 0 || count_running(rocks) > 0;
}

static void wait_for_compactions(struct rocksdb_storage *rocks, enum storage_space space)
{
    for (int i = 0; i < COMPACTION_WAITS && is_compacting(rocks, space); i++)
        (void)poll(NULL, 0, COMPACTION_WAIT_MS);
}

/* ---- fresh files ---------------------------------------------------------------------------------- */

/* One by one: each is read without a look at the others, and one that is busy holds up no other. To the same level, because the next one has a
 * file at the border of the range more often than not, which would be rewritten with them. */
static status drop_fresh_files(struct rocksdb_storage *rocks, enum storage_space space,
                               struct file_bounds range, bool *has_rest)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(rocks->db);
    enum compacted outcome = FILE_COMPACTED;
    bool is_any_gone = false;

    *has_rest = false;
    for (int i = 0; outcome != FILE_FAILED && i < rocksdb_livefiles_count(files); i++) {
        if (rocksdb_livefiles_level(files, i) != 0 || !lies_within(files, i, space, range))
            continue;
        outcome = rocksdb_compact_top_file(rocks->db, rocks->spaces[space],
                                           rocksdb_livefiles_name(files, i));
        *has_rest = *has_rest || outcome == FILE_BUSY;
        is_any_gone = is_any_gone || outcome == FILE_COMPACTED;
    }
    rocksdb_livefiles_destroy(files);
    if (outcome == FILE_FAILED)
        return status_of(IO_ERROR, compaction_failed);
    return is_any_gone ? remove_unused_files(rocks) : STATUS_OK;
}

/* Whoever was rewriting one may have begun before its documents were dead, or only moves it: then the dead lie below. */
status rocks_drop_fresh(struct storage *storage, struct row_address where, bytes start, bytes end,
                        bool *has_rest)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    struct full_key full_start, full_end, last;
    bool is_busy = false;

    TRY(rocksdb_refuse_unless_writable(rocks));
    full_key_make(&full_start, where.partition, start);
    full_key_make_end(&full_end, where.partition, end);
    make_inclusive(&full_end, &last);
    const struct file_bounds range = { full_key_bytes(&full_start), full_key_bytes(&last) };
    status s = drop_fresh_files(rocks, where.space, range, has_rest);
    if (s.code == OK && *has_rest) {
        wait_for_compactions(rocks, where.space);
        s = drop_fresh_files(rocks, where.space, range, &is_busy);
    }
    full_key_release(&full_start);
    full_key_release(&full_end);
    return s;
}

/* ---- sweeping ------------------------------------------------------------------------------------- */

/* Files are numbered as they are made, and the number is their name. */
static uint64_t file_number(const rocksdb_livefiles_t *files, int i)
{
    return strtoull(rocksdb_livefiles_name(files, i) + 1, NULL, 10);
}

static uint64_t newest_file(struct rocksdb_storage *rocks)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(rocks->db);
    uint64_t newest = 0;

    for (int i = 0; i < rocksdb_livefiles_count(files); i++) {
        if (file_number(files, i) > newest)
            newest = file_number(files, i);
    }
    rocksdb_livefiles_destroy(files);
    return newest;
}

static bool has_file_until(struct rocksdb_storage *rocks, enum storage_space space,
                           struct file_bounds range, uint64_t newest)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(rocks->db);
    bool is_found = false;

    for (int i = 0; i < rocksdb_livefiles_count(files) && !is_found; i++)
        is_found = file_number(files, i) <= newest && overlaps(files, i, space, range);
    rocksdb_livefiles_destroy(files);
    return is_found;
}

static status rewrite(struct rocksdb_storage *rocks, enum storage_space space,
                      struct file_bounds range)
{
    TRY(flush_space(rocks, space));
    return compact_space(rocks, space, range.first, range.last);
}

/* The flush may make one fresh file too many, so that RocksDB puts them together with what lies below by itself. Then everything
 * has been through the sweeper, and need not be written once more: if nobody had begun with that before, as of an earlier moment. */
static status sweep(struct rocksdb_storage *rocks, struct file_bounds range)
{
    if (count_running(rocks) > 0)
        return rewrite(rocks, SPACE_ROWS, range);
    TRY(flush_space(rocks, SPACE_ROWS));
    const uint64_t newest = newest_file(rocks);
    wait_for_compactions(rocks, SPACE_ROWS);
    return has_file_until(rocks, SPACE_ROWS, range, newest)
               ? compact_space(rocks, SPACE_ROWS, range.first, range.last)
               : STATUS_OK;
}

status rocks_sweep(struct storage *storage, partition_id partition, bytes start, bytes end)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    struct full_key full_start, full_end;
    status s;

    TRY(rocksdb_refuse_unless_writable(rocks));
    full_key_make(&full_start, partition, start);
    full_key_make_end(&full_end, partition, end);
    TRY_GOTO(sweep(rocks,
                   (struct file_bounds){ full_key_bytes(&full_start), full_key_bytes(&full_end) }),
             done);
    s = remove_unused_files(rocks);
    (void)atomic_load(&rocks->sweeps_running); /* what the sweeper did is seen by our caller */
done:
    full_key_release(&full_start);
    full_key_release(&full_end);
    return s;
}

/* All spaces are flushed, so the log that held the deleted rows goes too. */
status rocks_settle(struct storage *storage, partition_id partition)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    struct full_key full_start, full_end;
    status s;

    TRY(rocksdb_refuse_unless_writable(rocks));
    full_key_make(&full_start, partition, BYTES_NONE);
    full_key_make_end(&full_end, partition, BYTES_NONE);
    const struct file_bounds all = { full_key_bytes(&full_start), full_key_bytes(&full_end) };
    for (int space = 0; space < SPACE_COUNT; space++)
        TRY_GOTO(rewrite(rocks, (enum storage_space)space, all), done);
    s = remove_unused_files(rocks);
done:
    full_key_release(&full_start);
    full_key_release(&full_end);
    return s;
}

/* A log stays for as long as one space has rows of it in memory only, which is long for the spaces that few bytes go to. */
static bool are_logs_large(const struct rocksdb_storage *rocks)
{
    const uint64_t logs = directory_bytes(rocks->path, ".log");

    return logs > LOGS_SMALL_BYTES &&
           logs > directory_bytes(rocks->path, ".sst") / LOGS_SHARE_OF_FILES;
}

/* In the order of spaces, which is that of their sizes. */
status rocks_trim(struct storage *storage)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    status s = STATUS_OK;

    for (int space = 0; s.code == OK && space < SPACE_COUNT && !rocks->is_read_only &&
                        !atomic_load(&rocks->is_failed) && are_logs_large(rocks);
         space++)
        s = flush_space(rocks, (enum storage_space)space);
    return s;
}

/* "rocksdb.wal.bytes COUNT : 123" anywhere in the text. */
static uint64_t statistics_number(const char *text, const char *name)
{
    char label[64];

    snprintf(label, sizeof(label), "%s COUNT : ", name);
    const char *found = strstr(text, label);
    return found == NULL ? 0 : strtoull(found + strlen(label), NULL, 10);
}

void rocks_usage(struct storage *storage, struct storage_usage *out)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    char *text = rocksdb_options_statistics_get_string(rocks->options[0]);

    out->disk_bytes = directory_bytes(rocks->path, NULL);
    if (text == NULL)
        return;
    out->written_bytes = statistics_number(text, "rocksdb.wal.bytes") +
                         statistics_number(text, "rocksdb.flush.write.bytes") +
                         statistics_number(text, "rocksdb.compact.write.bytes");
    rocksdb_free(text);
}
