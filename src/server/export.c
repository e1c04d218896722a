/* Export: the living documents of a database as files.
 *
 *   TO/{database}/{collection}.jsonl           a document in each line, types that JSON lacks in extended notation
 *   TO/{database}/{collection}.bson            the documents one behind the other, as mongodump has them
 *   TO/{database}/{collection}.metadata.json   options and indexes, as mongorestore reads them
 *   TO/{database}/{collection}.times           a line for each document: the second of its last write, for an import
 *
 *   line = second [ " id" / " made" ] "\n"
 *
 * A document is known by its _id; with " id", by its id; with " made" the same, and its _id was put in front by the export.
 *
 * All collections are of one instant: that of the request. Bytes of names that a file cannot have are written as %
 * and two digits. A name that is too long for a file is cut and ends in "%24" and a checksum of the whole;
 * the metadata have it whole. A document that has no _id, because another face made it, shows its id as that in BSON.
 *
 * Keeps: nothing dead is written; users and permissions are not documents, and stay.
 * Threads: one. Start reading at export_make(). */
#include "server/export.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/mongo/mongo.h"
#include "server/file.h"
#include "server/progress.h"

struct target {
    const char *path;
    FILE *file;
};

struct exporting {
    struct arena *arena;
    const struct export_order *order;
    struct request request;
    struct progress progress;
    struct export_result *result;
};

/* As the part of a path. */
static void append_escaped(struct buffer *out, bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        uint8_t byte = name.data[i];
        if (byte == '/' || byte == '%' || byte < 0x20 || byte == 0x7f || (byte == '.' && i == 0))
            buffer_append_format(out, "%%%02X", byte);
        else
            buffer_append_byte(out, byte);
    }
}

/* The same, of a length that leaves room for every ending in the 255 bytes of a file's name. */
static status append_file_name(struct arena *arena, struct buffer *out, bytes name)
{
    enum { WHOLE_MAX = 238, CUT = 208, DIGEST_BYTES = 20, DIGEST_CHARS = 27 };
    struct buffer escaped = buffer_in(arena);
    uint8_t digest[EVP_MAX_MD_SIZE], text[EVP_ENCODE_LENGTH(DIGEST_BYTES)];
    bytes whole;

    append_escaped(&escaped, name);
    TRY(buffer_finish(&escaped, &whole));
    if (whole.len <= WHOLE_MAX) {
        buffer_append(out, whole);
        return STATUS_OK;
    }
    if (!EVP_Digest(name.data, name.len, digest, NULL, EVP_sha1(), NULL))
        return status_of(OUT_OF_MEMORY, "no memory for a checksum");
    EVP_EncodeBlock(text, digest, DIGEST_BYTES);
    for (size_t i = 0; i < DIGEST_CHARS; i++) {
        if (text[i] == '+' || text[i] == '/')
            text[i] = text[i] == '+' ? '-' : '_';
    }
    buffer_append(out, bytes_of(whole.data, CUT));
    buffer_append_text(out, "%24");
    buffer_append(out, bytes_of(text, DIGEST_CHARS));
    return STATUS_OK;
}

static status make_path(struct exporting *exporting, const struct collection *collection,
                        const char *ending, const char **out)
{
    struct buffer path = buffer_in(exporting->arena);
    bytes text;

    *out = NULL;
    buffer_append_format(&path, "%s/", exporting->order->to);
    TRY(append_file_name(exporting->arena, &path, collection->definition.database));
    if (ending) {
        buffer_append_byte(&path, '/');
        TRY(append_file_name(exporting->arena, &path, collection->definition.name));
        buffer_append_text(&path, ending);
    }
    buffer_append_byte(&path, '\0');
    TRY(buffer_finish(&path, &text));
    *out = (const char *)text.data;
    return STATUS_OK;
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* What clients of that face see as _id. */
static void append_with_id(struct buffer *out, bytes document)
{
    struct document_walk walk = document_fields(document);
    size_t begun = document_begin(out);
    struct value id;
    struct field field;

    if (document_find(document, "id", &id))
        document_append(out, BYTES_LITERAL("_id"), id);
    while (document_next(&walk, &field))
        document_append(out, field.name, field.value);
    document_end(out, begun);
}

static status render(struct exporting *exporting, bytes document, bytes *out, bool *is_made_out)
{
    struct buffer text = buffer_in(exporting->arena);
    struct value id;

    *is_made_out = false;
    if (exporting->order->format == EXPORT_JSON) {
        json_write(&text, document);
        buffer_append_byte(&text, '\n');
        return buffer_finish(&text, out);
    }
    *out = document;
    if (document_find(document, "_id", &id))
        return STATUS_OK;
    *is_made_out = true;
    append_with_id(&text, document);
    return buffer_finish(&text, out);
}

static bool is_known_by_id(struct exporting *exporting, const struct collection *collection,
                           const struct document *document)
{
    struct document_key key;
    struct value id;

    return document_find(document->bson, "_id", &id) &&
           document_key_make(exporting->arena, collection, document->bson, id, &key).code == OK &&
           bytes_equal(key.id, document->key.id);
}

struct targets {
    struct target documents, times;
};

static status write_document(struct exporting *exporting, const struct collection *collection,
                             struct scan *scan, const struct targets *targets)
{
    arena_position mark = arena_mark(exporting->arena);
    struct document document;
    bytes rendered;
    bool is_made;

    TRY(scan_document(scan, &document));
    const char *known_by = is_known_by_id(exporting, collection, &document) ? "" : " id";
    status s = render(exporting, document.bson, &rendered, &is_made);
    if (s.code == OK &&
        fwrite(rendered.data, 1, rendered.len, targets->documents.file) != rendered.len)
        s = file_failure(exporting->arena, targets->documents.path, errno);
    if (s.code == OK && fprintf(targets->times.file, "%" PRId64 "%s\n", document.written_at_s,
                                is_made ? " made" : known_by) < 0)
        s = file_failure(exporting->arena, targets->times.path, errno);
    if (s.code == OK) {
        exporting->result->documents++;
        exporting->result->bytes += document.bson.len;
        progress_add(&exporting->progress, document.bson.len);
    }
    document_release(&exporting->request, &document);
    if (s.code == OK)
        arena_release(exporting->arena, mark);
    return s;
}

static status write_documents(struct exporting *exporting, const struct collection *collection,
                              const struct targets *targets)
{
    const struct scan_spec all = { 0 };
    struct scan_row row;
    struct scan *scan;
    status s = STATUS_OK;

    TRY(scan_open(&exporting->request, collection, &all, &scan));
    while (s.code == OK && scan_next(scan, &row))
        s = write_document(exporting, collection, scan, targets);
    if (s.code == OK)
        s = scan_status(scan);
    scan_close(scan);
    return s;
}

/* ---- files ------------------------------------------------------------------------------------------ */

static status open_file(struct exporting *exporting, const struct collection *collection,
                        const char *ending, struct target *out)
{
    *out = (struct target){ 0 };
    TRY(make_path(exporting, collection, ending, &out->path));
    out->file = fopen(out->path, "wxe");
    return out->file ? STATUS_OK : file_failure(exporting->arena, out->path, errno);
}

static status close_file(struct exporting *exporting, struct target *target, status s)
{
    if (s.code == OK && (fflush(target->file) != 0 || fsync(fileno(target->file)) != 0))
        s = file_failure(exporting->arena, target->path, errno);
    fclose(target->file);
    return s;
}

/* ---- collections ------------------------------------------------------------------------------------ */

static status write_metadata(struct exporting *exporting, const struct collection *collection)
{
    struct buffer text = buffer_in(exporting->arena);
    struct target target;
    bytes content;

    TRY(mongo_describe_collection(exporting->arena, collection, &text));
    buffer_append_byte(&text, '\n');
    TRY(buffer_finish(&text, &content));
    TRY(open_file(exporting, collection, ".metadata.json", &target));
    status s = STATUS_OK;
    if (fwrite(content.data, 1, content.len, target.file) != content.len)
        s = file_failure(exporting->arena, target.path, errno);
    return close_file(exporting, &target, s);
}

static status export_collection(struct exporting *exporting, const struct collection *collection)
{
    const bool is_json = exporting->order->format == EXPORT_JSON;
    const char *directory;
    struct targets targets;

    TRY(make_path(exporting, collection, NULL, &directory));
    if (mkdir(directory, 0700) != 0 && errno != EEXIST)
        return file_failure(exporting->arena, directory, errno);
    TRY(open_file(exporting, collection, is_json ? ".jsonl" : ".bson", &targets.documents));
    status s = open_file(exporting, collection, ".times", &targets.times);
    if (s.code == OK)
        s = close_file(exporting, &targets.times, write_documents(exporting, collection, &targets));
    TRY(close_file(exporting, &targets.documents, s));
    exporting->result->collections++;
    return write_metadata(exporting, collection);
}

static uint64_t sum_bytes(struct exporting *exporting)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < catalog_collection_count(&exporting->request); i++) {
        struct collection_figures figures;
        if (collection_figures(&exporting->request, catalog_collection(&exporting->request, i),
                               &figures)
                .code == OK)
            sum += figures.bytes;
    }
    return sum;
}

static status export_all(struct exporting *exporting)
{
    for (size_t i = 0; i < catalog_collection_count(&exporting->request); i++) {
        const struct collection *collection = catalog_collection(&exporting->request, i);
        arena_position mark = arena_mark(exporting->arena);
        if (mongo_is_hidden(collection->definition.database))
            continue;
        TRY(export_collection(exporting, collection));
        arena_release(exporting->arena, mark);
    }
    return STATUS_OK;
}

status export_make(struct arena *arena, const struct export_order *order, struct export_result *out)
{
    struct exporting exporting = { .arena = arena, .order = order, .result = out };
    struct file_place place;

    *out = (struct export_result){ 0 };
    TRY(file_take_empty(arena, order->to, &place));
    status s = request_begin(order->engine, arena, &exporting.request);
    if (s.code != OK) {
        file_abandon_place(&place);
        return s;
    }
    exporting.progress = progress_begin("export", sum_bytes(&exporting));
    s = export_all(&exporting);
    progress_end(&exporting.progress);
    request_end(&exporting.request);
    if (s.code == OK)
        return file_finish_place(arena, &place);
    close(place.fd); /* the mark that it is not finished stays */
    return s;
}
