/* Import, reading: files become orders.
 *
 *   FROM/{database}/{collection}.jsonl | .bson     documents
 *   FROM/{database}/{collection}.metadata.json     options and indexes; without it a plain collection is made
 *   FROM/{database}/{collection}.times             when each document was written; without it: now (export.c)
 *
 * Each collection is made first, with its indexes, then its documents are sent in batches. A file is mapped, not
 * read: lines and documents are found in it one behind the other, and each batch remembers where its documents
 * stood, so that whatever goes wrong is told with file and line, or offset.
 *
 * Keeps: nothing outside of a file is looked at, whatever lengths it claims; a batch is complete or not sent.
 * Threads: one. Start reading at import_make(). */
#include "server/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "server/file.h"
#include "server/progress.h"
#include "storage/storage.h"

static const char bson_ending[] = ".bson", json_ending[] = ".jsonl",
                  metadata_ending[] = ".metadata.json", buckets_prefix[] = "system.buckets.";

struct importing {
    struct arena *arena;
    const struct import_order *order;
    struct progress progress;
    struct import_counts *counts;
    uint64_t total; /* bytes of all documents, counted in a first walk */
    bool is_counting;
};

/* The documents of one collection on their way. */
struct feed {
    struct importing *importing;
    const char *path;
    bool is_json;
    bytes rest;       /* of the file */
    bytes times_rest; /* of the other one */
    bool has_times;
    size_t offset, line;
    bytes header;
    struct buffer batch; /* the order that is being put together */
    size_t count;
    size_t places[LIMIT_IMPORT_BATCH]; /* lines or offsets */
    size_t batch_file_bytes;
};

/* ---- files ------------------------------------------------------------------------------------------ */

static status map_file(struct arena *arena, const char *path, bytes *out)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *out = BYTES_NONE;
    if (fd < 0)
        return file_failure(arena, path, errno);
    int error = fstat(fd, &info) == 0 ? 0 : errno;
    void *data = NULL;
    if (error == 0 && info.st_size > 0) {
        data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        error = data == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (error != 0)
        return file_failure(arena, path, error);
    *out = bytes_of(data, (size_t)info.st_size);
    return STATUS_OK;
}

static void unmap_file(bytes file)
{
    if (file.len > 0)
        munmap((void *)(uintptr_t)file.data, file.len);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), ending_len = strlen(ending);

    return len > ending_len && strcmp(name + len - ending_len, ending) == 0;
}

/* ---- sending ---------------------------------------------------------------------------------------- */

static void add_counts(struct import_counts *sum, const struct import_counts *more)
{
    sum->collections += more->collections;
    sum->written += more->written;
    sum->replaced += more->replaced;
    sum->kept += more->kept;
    sum->expired += more->expired;
    sum->bytes += more->bytes;
}

static status fail_at(const struct feed *feed, size_t place, const char *reason)
{
    return status_fail(feed->importing->arena, INVALID, "%s: %s %zu: %s", feed->path,
                       feed->is_json ? "line" : "offset", place, reason);
}

static void begin_batch(struct feed *feed)
{
    feed->batch = buffer_in(feed->importing->arena);
    buffer_append(&feed->batch, feed->header);
    feed->count = 0;
    feed->batch_file_bytes = 0;
}

static status send_batch(struct feed *feed)
{
    struct importing *importing = feed->importing;
    struct import_outcome outcome;
    const size_t count = feed->count;
    bytes order;

    if (count == 0)
        return STATUS_OK;
    feed->count = 0; /* whatever becomes of it, it is sent once */
    TRY(buffer_finish(&feed->batch, &order));
    TRY(importing->order->send(importing->order->context, importing->arena, order, &outcome));
    add_counts(importing->counts, &outcome.counts);
    progress_add(&importing->progress, feed->batch_file_bytes);
    if (outcome.failure && outcome.failed_at < count)
        return fail_at(feed, feed->places[outcome.failed_at], outcome.failure);
    begin_batch(feed);
    return STATUS_OK;
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* line = second [ " id" / " made" ] "\n" */
static bool next_time(struct feed *feed, int64_t *second_out, enum import_key *key_out)
{
    const uint8_t *end = feed->times_rest.len
                             ? memchr(feed->times_rest.data, '\n', feed->times_rest.len)
                             : NULL;
    size_t at = 0;

    if (!end)
        return false;
    bytes line = bytes_of(feed->times_rest.data, (size_t)(end - feed->times_rest.data));
    feed->times_rest = bytes_from(feed->times_rest, line.len + 1);
    *second_out = 0;
    while (at < line.len && at < 18 && line.data[at] >= '0' && line.data[at] <= '9')
        *second_out = *second_out * 10 + (line.data[at++] - '0');
    bytes rest = bytes_from(line, at);
    *key_out = bytes_is_text(rest, " id")     ? IMPORT_KEY_OF_OWN_ID
               : bytes_is_text(rest, " made") ? IMPORT_KEY_MADE
                                              : IMPORT_KEY_OF_ID;
    return at > 0 && (rest.len == 0 || *key_out != IMPORT_KEY_OF_ID);
}

static status add_document(struct feed *feed, size_t place, bytes document)
{
    enum import_key key = IMPORT_KEY_ANY;
    int64_t second = 0;

    if (feed->has_times && !next_time(feed, &second, &key))
        return fail_at(feed, place,
                       "the file .times beside it has no line for this document, or a bad one; "
                       "without that file documents count as written now");
    if (feed->batch.len + IMPORT_HEAD_BYTES + document.len > LIMIT_HTTP_BODY_BYTES)
        TRY(send_batch(feed)); /* a large one goes alone */
    feed->places[feed->count++] = place;
    import_append(&feed->batch, document, second, key);
    if (feed->count == LIMIT_IMPORT_BATCH || feed->batch.len > LIMIT_IMPORT_BATCH_BYTES)
        return send_batch(feed);
    return STATUS_OK;
}

/* `file_bytes` of the file were this document. */
static status add_and_release(struct feed *feed, size_t place, bytes document, size_t file_bytes,
                              arena_position whole)
{
    feed->batch_file_bytes += file_bytes;
    TRY(add_document(feed, place, document));
    if (feed->count == 0) { /* it was sent */
        arena_release(feed->importing->arena, whole);
        begin_batch(feed);
    }
    return STATUS_OK;
}

static bool is_blank(bytes line)
{
    return bytes_trimmed(line).len == 0;
}

static status feed_lines(struct feed *feed, arena_position whole)
{
    while (feed->rest.len > 0) {
        const uint8_t *end = memchr(feed->rest.data, '\n', feed->rest.len);
        const size_t len = end ? (size_t)(end - feed->rest.data) : feed->rest.len;
        bytes line = bytes_of(feed->rest.data, len), document;
        feed->line++;
        feed->rest = bytes_from(feed->rest, end ? len + 1 : len);
        if (is_blank(line))
            continue;
        status s = json_read_extended(feed->importing->arena, line, &document);
        if (s.code != OK)
            return fail_at(feed, feed->line, s.message);
        TRY(add_and_release(feed, feed->line, document, len + 1, whole));
    }
    return STATUS_OK;
}

static status check_next(const struct feed *feed, size_t *len_out)
{
    *len_out = 0;
    if (feed->rest.len >= 4)
        *len_out = bytes_read_u32_low_first(feed->rest.data);
    if (feed->rest.len >= 4 && (*len_out < 5 || *len_out > LIMIT_DOCUMENT_BYTES))
        return fail_at(
            feed, feed->offset,
            arena_format(feed->importing->arena,
                         "a document of %zu bytes cannot be; 5 to %d are possible, so the "
                         "file is damaged or of another kind",
                         *len_out, LIMIT_DOCUMENT_BYTES));
    if (feed->rest.len < 4 || *len_out > feed->rest.len)
        return fail_at(feed, feed->offset, "the file ends in the middle of this document");
    return STATUS_OK;
}

static status feed_bson(struct feed *feed, arena_position whole)
{
    size_t len;

    while (feed->rest.len > 0) {
        TRY(check_next(feed, &len));
        bytes document = bytes_of(feed->rest.data, len);
        status s = document_check(feed->importing->arena, document);
        if (s.code != OK)
            return fail_at(feed, feed->offset, s.message);
        const size_t place = feed->offset;
        feed->rest = bytes_from(feed->rest, len);
        feed->offset += len;
        TRY(add_and_release(feed, place, document, len, whole));
    }
    return STATUS_OK;
}

/* What was read before a failure is sent all the same, so that what is told to be there is. */
static status feed_all(struct feed *feed)
{
    arena_position whole = arena_mark(feed->importing->arena);

    if (!feed->rest.data)
        return STATUS_OK; /* an empty file */
    begin_batch(feed);
    status s = feed->is_json ? feed_lines(feed, whole) : feed_bson(feed, whole);
    status last = feed->count > 0 ? send_batch(feed) : STATUS_OK;
    return s.code != OK ? s : last;
}

/* ---- a collection ----------------------------------------------------------------------------------- */

/* One collection's files: their path without an ending, and its names. */
struct entry {
    const char *stem;
    bytes database, name;
    bytes metadata; /* a document, or empty */
};

static status build_header(struct importing *importing, const struct entry *entry, bool is_feed,
                           bytes *out)
{
    struct buffer header = buffer_in(importing->arena);
    size_t begun = document_begin(&header);

    document_append_text(&header, "db", entry->database);
    document_append_text(&header, "name", entry->name);
    if (is_feed)
        document_append_int64(&header, "existing", importing->order->existing);
    else if (entry->metadata.len > 0)
        document_append(&header, BYTES_LITERAL("metadata"),
                        (struct value){ VALUE_DOCUMENT, entry->metadata });
    document_end(&header, begun);
    return buffer_finish(&header, out);
}

static status make_collection(struct importing *importing, const struct entry *entry)
{
    struct import_outcome outcome;
    bytes header;

    TRY(build_header(importing, entry, false, &header));
    status s = importing->order->send(importing->order->context, importing->arena, header,
                                      &outcome);
    if (s.code != OK)
        return status_in(importing->arena, s, "%s%s", entry->stem, metadata_ending);
    add_counts(importing->counts, &outcome.counts);
    return STATUS_OK;
}

static status open_times(struct feed *feed, const struct entry *entry, bytes *out)
{
    const char *path = arena_format(feed->importing->arena, "%s.times", entry->stem);

    if (!path)
        return arena_exhausted(feed->importing->arena);
    status s = map_file(feed->importing->arena, path, out);
    feed->has_times = s.code == OK;
    feed->times_rest = *out;
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status feed_collection(struct importing *importing, const struct entry *entry,
                              const char *path)
{
    struct feed *feed;
    bytes file = BYTES_NONE, times = BYTES_NONE;
    status s;

    TRY(ARENA_NEW(importing->arena, 1, &feed));
    *feed = (struct feed){ .importing = importing,
                           .path = path,
                           .is_json = ends_with(path, json_ending) };
    TRY(build_header(importing, entry, true, &feed->header));
    TRY_GOTO(map_file(importing->arena, path, &file), done);
    TRY_GOTO(open_times(feed, entry, &times), done);
    feed->rest = file;
    TRY_GOTO(feed_all(feed), done);
    if (feed->has_times && feed->times_rest.len > 0)
        s = status_fail(importing->arena, INVALID,
                        "%s: the file .times beside it tells of more documents; it was cut off",
                        path);
done:
    unmap_file(times);
    unmap_file(file);
    return s;
}

/* ---- names ------------------------------------------------------------------------------------------ */

static int digit_of(char byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

/* % and two digits stand for a byte that a file's name cannot have. */
static status unescape(struct arena *arena, const char *text, size_t len, bytes *out)
{
    struct buffer name = buffer_in(arena);

    for (size_t i = 0; i < len; i++) {
        const bool is_escape = text[i] == '%' && i + 2 < len && digit_of(text[i + 1]) >= 0 &&
                               digit_of(text[i + 2]) >= 0;
        if (is_escape)
            buffer_append_byte(&name,
                               (uint8_t)(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2])));
        else
            buffer_append_byte(&name, (uint8_t)text[i]);
        i += is_escape ? 2 : 0;
    }
    return buffer_finish(&name, out);
}

static status read_metadata(struct importing *importing, struct entry *entry)
{
    const char *path = arena_format(importing->arena, "%s%s", entry->stem, metadata_ending);
    struct value whole;
    bytes file, text;

    if (!path)
        return arena_exhausted(importing->arena);
    status s = map_file(importing->arena, path, &file);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    s = arena_copy(importing->arena, file, &text);
    unmap_file(file);
    TRY(s);
    s = json_read_extended(importing->arena, text, &entry->metadata);
    if (s.code != OK)
        return status_in(importing->arena, s, "%s", path);
    if (document_find(entry->metadata, "collectionName", &whole) && whole.type == VALUE_STRING)
        entry->name = value_text(whole);
    return STATUS_OK;
}

static status import_collection(struct importing *importing, const char *directory,
                                const char *database, const char *file, size_t stem_len)
{
    const char *path = arena_format(importing->arena, "%s/%s", directory, file);
    struct entry entry = { .stem = arena_format(importing->arena, "%s/%.*s", directory,
                                                (int)stem_len, file) };

    if (!path || !entry.stem)
        return arena_exhausted(importing->arena);
    TRY(unescape(importing->arena, database, strlen(database), &entry.database));
    TRY(unescape(importing->arena, file, stem_len, &entry.name));
    TRY(read_metadata(importing, &entry));
    if (bytes_starts_with(entry.name, BYTES_LITERAL("system."))) {
        importing->counts->skipped++;
        return STATUS_OK;
    }
    TRY(make_collection(importing, &entry));
    return ends_with(path, metadata_ending) ? STATUS_OK : feed_collection(importing, &entry, path);
}

/* ---- directories ------------------------------------------------------------------------------------ */

static bool exists(struct arena *arena, const char *directory, const char *stem, size_t stem_len,
                   const char *ending)
{
    const char *path = arena_format(arena, "%s/%.*s%s", directory, (int)stem_len, stem, ending);

    return path && access(path, F_OK) == 0;
}

/* A collection without documents has only metadata. */
static size_t stem_of(struct arena *arena, const char *directory, const char *file)
{
    size_t len = strlen(file);

    if (ends_with(file, bson_ending))
        return len - strlen(bson_ending);
    if (ends_with(file, json_ending))
        return len - strlen(json_ending);
    if (!ends_with(file, metadata_ending))
        return 0;
    len -= strlen(metadata_ending);
    return exists(arena, directory, file, len, bson_ending) ||
                   exists(arena, directory, file, len, json_ending)
               ? 0
               : len;
}

static status visit_file(struct importing *importing, const char *directory, const char *database,
                         const char *file)
{
    const size_t stem_len = stem_of(importing->arena, directory, file);
    struct stat info;

    if (ends_with(file, ".gz") || ends_with(file, ".archive"))
        return status_fail(importing->arena, UNSUPPORTED,
                           "%s/%s: compressed files and archives are not read; unpack it first",
                           directory, file);
    if (stem_len == 0)
        return STATUS_OK;
    if (strncmp(file, buckets_prefix, strlen(buckets_prefix)) == 0)
        return status_fail(importing->arena, UNSUPPORTED,
                           "%s/%s: buckets of a time series are not read; write its documents out "
                           "with mongoexport, as %.*s.jsonl, and put that in place of this file",
                           directory, file, (int)(stem_len - strlen(buckets_prefix)),
                           file + strlen(buckets_prefix));
    if (!importing->is_counting)
        return import_collection(importing, directory, database, file, stem_len);
    if (ends_with(file, bson_ending) &&
        exists(importing->arena, directory, file, stem_len, json_ending))
        return status_fail(importing->arena, INVALID,
                           "%s/%.*s has documents as %s and as %s; remove one of them", directory,
                           (int)stem_len, file, bson_ending, json_ending);
    const char *path = arena_format(importing->arena, "%s/%s", directory, file);
    if (path && stat(path, &info) == 0)
        importing->total += (uint64_t)info.st_size;
    return STATUS_OK;
}

static status visit_database(struct importing *importing, const char *database)
{
    const char *directory = arena_format(importing->arena, "%s/%s", importing->order->from,
                                         database);
    struct file_names names;
    struct stat info;

    if (!directory)
        return arena_exhausted(importing->arena);
    if (stat(directory, &info) != 0 || !S_ISDIR(info.st_mode))
        return STATUS_OK;
    TRY(file_list(importing->arena, directory, NULL, &names));
    for (size_t i = 0; i < names.count; i++) {
        arena_position mark = arena_mark(importing->arena);
        TRY(visit_file(importing, directory, database, names.names[i]));
        arena_release(importing->arena, mark);
    }
    return STATUS_OK;
}

static status visit_all(struct importing *importing, bool is_counting)
{
    struct file_names names;

    importing->is_counting = is_counting;
    TRY(file_list(importing->arena, importing->order->from, NULL, &names));
    for (size_t i = 0; i < names.count; i++) {
        arena_position mark = arena_mark(importing->arena);
        if (strcmp(names.names[i], storage_unfinished_name) == 0)
            return status_fail(
                importing->arena, INVALID,
                "%s was left by an export that did not come to its end; export again",
                importing->order->from);
        TRY(visit_database(importing, names.names[i]));
        arena_release(importing->arena, mark);
    }
    return STATUS_OK;
}

status import_check(struct arena *arena, const char *from)
{
    const struct import_order order = { .from = from };
    struct importing importing = { .arena = arena, .order = &order };

    return visit_all(&importing, true);
}

status import_make(struct arena *arena, const struct import_order *order, struct import_counts *out)
{
    struct importing importing = { .arena = arena, .order = order, .counts = out };

    *out = (struct import_counts){ 0 };
    TRY(visit_all(&importing, true));
    importing.progress = progress_begin("import", importing.total);
    status s = visit_all(&importing, false);
    progress_end(&importing.progress);
    return s;
}
