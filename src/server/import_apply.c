/* Import, carrying out: orders become collections and documents.
 *
 *   order    = header *document
 *   header   = a BSON document, see import.h
 *   document = key(1) written at(8) and the BSON document
 *
 * A document keeps its time of writing, and so its deadline: one that is dead by it is counted and left out. The others are
 * written one for one (WRITE_EACH), so that one that fails keeps nobody else out; the first failure is told.
 *
 * A document is known by its _id, or by its id if it has none, as both faces do; what comes from an export says which.
 * What another face has to know of such documents is marked in the collection first (front/foreign.h). Properties that a
 * Cosmos DB server adds to an item are taken off again, and _ts of them is the time of writing.
 *
 * Keeps: nothing is read past the order. Threads: any. Start reading at import_apply(). */
#include "server/import.h"

#include <inttypes.h>

#include "base/limits.h"
#include "front/front.h"
#include "front/mongo/mongo.h"

enum { MARK_TRIES = 8 };

struct applying {
    const struct import_site *site;
    struct arena *arena;
    bytes database, name;
    enum import_existing existing;
    struct request request;
    bool is_ended; /* the request, because a new one could not begin */
    const struct collection *collection;
    struct import_outcome *outcome;
};

/* One document of the order. */
struct arrival {
    bytes bson;
    int64_t written_at_s;
    enum import_key key;
};

void import_append(struct buffer *order, bytes document, int64_t written_at_s, enum import_key key)
{
    buffer_append_byte(order, (uint8_t)key);
    buffer_append_u64(order, (uint64_t)written_at_s);
    buffer_append(order, document);
}

/* ---- collections ------------------------------------------------------------------------------------ */

static bool has_content(bytes metadata)
{
    struct value value;

    return (document_find(metadata, "options", &value) && value.type == VALUE_DOCUMENT &&
            document_field_count(value_document(value)) > 0) ||
           (document_find(metadata, "indexes", &value) && value.type == VALUE_ARRAY &&
            document_field_count(value_document(value)) > 1);
}

static bool find_definition(bytes metadata, bytes *out)
{
    struct value own, definition;

    if (!document_find(metadata, "mayfly", &own) || own.type != VALUE_DOCUMENT ||
        !document_find(value_document(own), "definition", &definition) ||
        definition.type != VALUE_BINARY)
        return false;
    *out = value_binary(definition).content;
    return true;
}

static status make_collection(struct applying *applying, bytes metadata)
{
    struct engine *engine = applying->site->engine;
    struct arena *arena = applying->arena;
    bytes definition;

    status s = database_create(engine, arena, applying->database, BYTES_NONE);
    if (s.code != OK && s.code != EXISTS)
        return s;
    if (find_definition(metadata, &definition))
        return collection_recreate(engine, arena, applying->database, applying->name, definition);
    if (applying->site->mongo)
        return mongo_define_collection(applying->site->mongo, arena, applying->database,
                                       applying->name, metadata);
    if (has_content(metadata))
        return status_of(UNSUPPORTED, "its options and indexes are of MongoDB, which this server "
                                      "does not serve; start it with --mongo");
    const struct collection_definition plain = { .database = applying->database,
                                                 .name = applying->name,
                                                 .default_ttl = TTL_OFF };
    return collection_create(engine, arena, &plain, NULL, 0);
}

static status find_collection(struct applying *applying)
{
    return catalog_find(&applying->request, applying->database, applying->name,
                        &applying->collection);
}

/* One that is there already stays as it is. */
static status apply_collection(struct applying *applying, bytes header)
{
    static const uint8_t nothing[5] = { 5, 0, 0, 0, 0 };
    struct value metadata = { .type = VALUE_MISSING };

    TRY(request_begin(applying->site->engine, applying->arena, &applying->request));
    status found = find_collection(applying);
    request_end(&applying->request);
    if (found.code != NOT_FOUND)
        return found;
    document_find(header, "metadata", &metadata);
    status s = make_collection(applying, metadata.type == VALUE_DOCUMENT
                                             ? value_document(metadata)
                                             : bytes_of(nothing, sizeof(nothing)));
    if (s.code == OK)
        applying->outcome->counts.collections = 1;
    return s.code == EXISTS ? STATUS_OK : s;
}

/* ---- documents -------------------------------------------------------------------------------------- */

static status read_arrival(struct arena *arena, bytes *rest, struct arrival *out)
{
    if (rest->len < IMPORT_HEAD_BYTES + 4 || rest->data[0] > IMPORT_KEY_MADE)
        return status_of(INVALID, "the order is cut off");
    out->key = (enum import_key)rest->data[0];
    out->written_at_s = (int64_t)bytes_read_u64(rest->data + 1);
    const uint8_t *at = rest->data + IMPORT_HEAD_BYTES;
    const size_t len = bytes_read_u32_low_first(at);
    if (len > rest->len - IMPORT_HEAD_BYTES)
        return status_of(INVALID, "the order is cut off");
    out->bson = bytes_of(at, len);
    *rest = bytes_from(*rest, IMPORT_HEAD_BYTES + len);
    return document_check(arena, out->bson);
}

static bool is_added(bytes name)
{
    static const char *const names[] = { "_rid", "_self", "_etag", "_attachments", "_ts" };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_is_text(name, names[i]))
            return true;
    }
    return false;
}

/* Without the field _id in front, or without what a server added. */
static status take_off(struct arena *arena, struct arrival *arrival, bool only_id)
{
    struct document_walk walk = document_fields(arrival->bson);
    struct buffer copy = buffer_in(arena);
    size_t begun = document_begin(&copy);
    struct field field;

    while (document_next(&walk, &field)) {
        if (only_id ? !bytes_is_text(field.name, "_id") : !is_added(field.name))
            document_append(&copy, field.name, field.value);
    }
    document_end(&copy, begun);
    return buffer_finish(&copy, &arrival->bson);
}

/* Which field it is known by; `_id` unless it says otherwise or has none. */
static status settle_key(struct arena *arena, struct arrival *arrival, struct value *id_out)
{
    struct value stamp, tag;

    if (arrival->key == IMPORT_KEY_MADE) {
        TRY(take_off(arena, arrival, true));
        arrival->key = IMPORT_KEY_OF_OWN_ID;
    }
    if (arrival->key == IMPORT_KEY_ANY && document_find(arrival->bson, "_id", id_out))
        arrival->key = IMPORT_KEY_OF_ID;
    if (arrival->key == IMPORT_KEY_ANY) {
        arrival->key = IMPORT_KEY_OF_OWN_ID;
        const bool is_stamped = document_find(arrival->bson, "_ts", &stamp) &&
                                document_find(arrival->bson, "_etag", &tag);
        if (is_stamped && !value_as_int64(stamp, &arrival->written_at_s))
            arrival->written_at_s = 0;
        if (is_stamped)
            TRY(take_off(arena, arrival, false));
    }
    const bool is_own = arrival->key == IMPORT_KEY_OF_OWN_ID;
    if (!document_find(arrival->bson, is_own ? "id" : "_id", id_out) ||
        (is_own && id_out->type != VALUE_STRING))
        return status_of(INVALID, "it has neither an _id nor a text as id");
    if (id_out->type == VALUE_ARRAY || id_out->type == VALUE_REGEX ||
        id_out->type == VALUE_UNDEFINED)
        return status_fail(arena, INVALID, "its _id is of type %s, which an _id cannot be",
                           value_type_name(id_out->type));
    return STATUS_OK;
}

/* Nothing was written later than now, whatever its file says, nor before there were such servers. */
static void settle_time(struct arrival *arrival, int64_t now_s)
{
    if (arrival->written_at_s < 0)
        arrival->written_at_s = 0;
    if (arrival->written_at_s > now_s)
        arrival->written_at_s = now_s;
}

static status take_ttl(struct applying *applying, const struct arrival *arrival, int32_t *out)
{
    status s = expiry_own_ttl(applying->arena, arrival->bson, out);

    if (s.code == OK)
        return s;
    *out = TTL_ABSENT; /* which it was where it comes from, or where nobody looks at it */
    const bool is_off = applying->collection->definition.default_ttl == TTL_OFF;
    return is_off || arrival->written_at_s != 0 ? STATUS_OK : s;
}

static status prepare(struct applying *applying, struct arrival *arrival, struct write_op *out,
                      bool *is_dead_out)
{
    struct value id;

    *out = (struct write_op){ .collection = applying->collection,
                              .kind = applying->existing == IMPORT_REPLACE ? WRITE_UPSERT
                                                                           : WRITE_INSERT };
    TRY(settle_key(applying->arena, arrival, &id));
    settle_time(arrival, applying->request.now / 1000);
    if (arrival->bson.len > LIMIT_DOCUMENT_BYTES)
        return status_fail(applying->arena, TOO_LARGE, "it has %zu bytes, limit %d",
                           arrival->bson.len, LIMIT_DOCUMENT_BYTES);
    TRY(take_ttl(applying, arrival, &out->own_ttl));
    out->document = arrival->bson;
    out->stamp_s = arrival->written_at_s;
    const struct document document = {
        .bson = arrival->bson,
        .written_at_s = arrival->written_at_s > 0 ? arrival->written_at_s
                                                  : applying->request.now / 1000,
        .own_ttl = out->own_ttl,
    };
    *is_dead_out = document_would_be_dead(&applying->request, applying->collection, &document);
    return document_key_make(applying->arena, applying->collection, arrival->bson, id, &out->key);
}

/* ---- marks ------------------------------------------------------------------------------------------ */

static status needs_own_mark(struct applying *applying, const struct arrival *arrival, bool *out)
{
    *out = false;
    if (arrival->key != IMPORT_KEY_OF_ID || foreign_is_own_marked(applying->collection))
        return STATUS_OK;
    return foreign_has_own_id(applying->arena, arrival->bson, out);
}

static bool needs_mark(const struct applying *applying, const struct arrival *arrival)
{
    return arrival->key == IMPORT_KEY_OF_ID && !foreign_is_marked(applying->collection) &&
           applying->collection->definition.partition_path_count > 0;
}

/* To see what the collection is now. */
static status renew(struct applying *applying)
{
    const uint64_t id = applying->collection->id;

    request_end(&applying->request);
    applying->is_ended = true;
    TRY(request_begin(applying->site->engine, applying->arena, &applying->request));
    applying->is_ended = false;
    TRY(find_collection(applying));
    return applying->collection->id == id
               ? STATUS_OK
               : status_of(CONFLICT, "the collection was dropped and made anew meanwhile");
}

/* Of what the collection was when it was looked at; CONFLICT if somebody has changed it. */
static status try_mark(struct applying *applying, bool is_foreign, bool is_own)
{
    struct collection_change change = { .if_version = applying->collection->version,
                                        .sets_options = true,
                                        .options = applying->collection->definition.options };

    if (is_foreign)
        TRY(foreign_mark(applying->arena, change.options, &change.options));
    if (is_own)
        TRY(foreign_mark_own(applying->arena, change.options, &change.options));
    return collection_change(applying->site->engine, applying->arena, applying->database,
                             applying->name, &change);
}

static status mark_collection(struct applying *applying, const struct arrival *arrival)
{
    status s = STATUS_OK;
    bool is_own;

    for (int i = 0; i < MARK_TRIES; i++) {
        TRY(needs_own_mark(applying, arrival, &is_own));
        const bool is_foreign = needs_mark(applying, arrival);
        if (!is_own && !is_foreign)
            return STATUS_OK;
        s = try_mark(applying, is_foreign, is_own);
        if (s.code != OK && s.code != CONFLICT)
            return s;
        TRY(renew(applying));
    }
    return s;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static void count(struct applying *applying, const struct write_op *op, size_t number)
{
    struct import_outcome *outcome = applying->outcome;
    const status_code code = op->outcome.code;

    if (code == OK) {
        outcome->counts.written += !op->was_there;
        outcome->counts.replaced += op->was_there;
        outcome->counts.bytes += op->document.len;
        return;
    }
    if (applying->existing == IMPORT_KEEP && code == EXISTS) {
        outcome->counts.kept++;
        return;
    }
    if (outcome->failure)
        return;
    outcome->failed_at = number;
    outcome->failure =
        code == EXISTS ? "a document with its key is there already; say --existing keep or replace"
        : code == DUPLICATE_KEY ? "another document has its value in a unique index"
                                : op->outcome.message;
}

struct batch {
    struct write_op *ops;
    size_t *numbers;
    size_t count;
};

static status take_arrival(struct applying *applying, bytes *rest, size_t number,
                           struct batch *batch)
{
    struct arrival arrival;
    bool is_dead = false;

    TRY(read_arrival(applying->arena, rest, &arrival));
    status s = prepare(applying, &arrival, &batch->ops[batch->count], &is_dead);
    if (s.code != OK) {
        applying->outcome->failure = s.message;
        applying->outcome->failed_at = number;
        return STATUS_OK;
    }
    applying->outcome->counts.expired += is_dead;
    if (is_dead)
        return STATUS_OK;
    TRY(mark_collection(applying, &arrival));
    batch->numbers[batch->count++] = number;
    return STATUS_OK;
}

static status apply_documents(struct applying *applying, bytes rest)
{
    const size_t room = rest.len / IMPORT_HEAD_BYTES + 1;
    struct batch batch = { 0 };

    TRY(find_collection(applying));
    if (foreign_is_view(applying->collection))
        return status_fail(applying->arena, INVALID,
                           "%.*s.%.*s is a view, which has no documents of its own",
                           (int)applying->database.len, (const char *)applying->database.data,
                           (int)applying->name.len, (const char *)applying->name.data);
    TRY(ARENA_NEW(applying->arena, room < LIMIT_IMPORT_BATCH ? room : LIMIT_IMPORT_BATCH,
                  &batch.ops));
    TRY(ARENA_NEW(applying->arena, room < LIMIT_IMPORT_BATCH ? room : LIMIT_IMPORT_BATCH,
                  &batch.numbers));
    for (size_t number = 0; rest.len > 0 && !applying->outcome->failure; number++) {
        if (number == LIMIT_IMPORT_BATCH)
            return status_fail(applying->arena, TOO_LARGE, "more than %d documents in one order",
                               LIMIT_IMPORT_BATCH);
        TRY(take_arrival(applying, &rest, number, &batch));
    }
    if (batch.count == 0)
        return STATUS_OK;
    for (size_t i = 0; i < batch.count; i++)
        batch.ops[i].collection = applying->collection; /* the newest, if it was marked */
    TRY(document_write(&applying->request, batch.ops, batch.count, WRITE_EACH));
    struct import_outcome bad = { .failure = applying->outcome->failure,
                                  .failed_at = applying->outcome->failed_at };
    applying->outcome->failure =
        NULL; /* what stands in front of it may fail too, and is told first */
    for (size_t i = 0; i < batch.count; i++)
        count(applying, &batch.ops[i], batch.numbers[i]);
    if (!applying->outcome->failure && bad.failure) {
        applying->outcome->failure = bad.failure;
        applying->outcome->failed_at = bad.failed_at;
    }
    return STATUS_OK;
}

/* ---- orders ----------------------------------------------------------------------------------------- */

static bytes find_text(bytes document, const char *name)
{
    struct value value;

    return document_find(document, name, &value) && value.type == VALUE_STRING ? value_text(value)
                                                                               : BYTES_NONE;
}

static status split_order(struct arena *arena, bytes order, bytes *header_out, bytes *rest_out)
{
    if (order.len < 5)
        return status_of(INVALID, "the order is cut off");
    const size_t len = bytes_read_u32_low_first(order.data);
    if (len > order.len)
        return status_of(INVALID, "the order is cut off");
    *header_out = bytes_of(order.data, len);
    *rest_out = bytes_from(order, len);
    return document_check(arena, *header_out);
}

status import_apply(const struct import_site *site, struct arena *arena, bytes order,
                    struct import_outcome *out)
{
    struct applying applying = { .site = site, .arena = arena, .outcome = out };
    struct value existing;
    bytes header, rest;
    int64_t mode;

    *out = (struct import_outcome){ 0 };
    TRY(split_order(arena, order, &header, &rest));
    applying.database = find_text(header, "db");
    applying.name = find_text(header, "name");
    if (applying.database.len == 0 || applying.name.len == 0 || mongo_is_hidden(applying.database))
        return status_of(INVALID, "the order names no collection that clients may see");
    if (!document_find(header, "existing", &existing))
        return apply_collection(&applying, header);
    if (!value_as_int64(existing, &mode) || mode < IMPORT_FAIL || mode > IMPORT_REPLACE)
        return status_of(INVALID, "the order does not say what to do with documents that exist");
    applying.existing = (enum import_existing)mode;
    TRY(request_begin(site->engine, arena, &applying.request));
    status s = apply_documents(&applying, rest);
    if (!applying.is_ended)
        request_end(&applying.request);
    return s;
}

bool import_makes_collection(bytes order)
{
    struct value existing;

    ASSERT(order.len >= bytes_read_u32_low_first(order.data));
    return !document_find(bytes_of(order.data, bytes_read_u32_low_first(order.data)), "existing",
                          &existing);
}

/* ---- outcomes --------------------------------------------------------------------------------------- */

status import_render(struct arena *arena, const struct import_outcome *outcome, bytes *out)
{
    const struct import_counts *counts = &outcome->counts;
    struct buffer document = buffer_in(arena), text = buffer_in(arena);
    size_t begun = document_begin(&document);
    bytes built;

    document_append_int64(&document, "collections", (int64_t)counts->collections);
    document_append_int64(&document, "written", (int64_t)counts->written);
    document_append_int64(&document, "replaced", (int64_t)counts->replaced);
    document_append_int64(&document, "kept", (int64_t)counts->kept);
    document_append_int64(&document, "expired", (int64_t)counts->expired);
    document_append_int64(&document, "bytes", (int64_t)counts->bytes);
    document_append_int64(&document, "failedAt", (int64_t)outcome->failed_at);
    if (outcome->failure)
        document_append_text(&document, "failure", bytes_of_text(outcome->failure));
    document_end(&document, begun);
    TRY(buffer_finish(&document, &built));
    json_write(&text, built);
    return buffer_finish(&text, out);
}

static uint64_t find_count(bytes document, const char *name)
{
    struct value value;
    int64_t number;

    return document_find(document, name, &value) && value_as_int64(value, &number) && number > 0
               ? (uint64_t)number
               : 0;
}

status import_parse(struct arena *arena, bytes text, struct import_outcome *out)
{
    bytes document;

    *out = (struct import_outcome){ 0 };
    TRY(json_read(arena, text, &document));
    out->counts = (struct import_counts){ .collections = find_count(document, "collections"),
                                          .written = find_count(document, "written"),
                                          .replaced = find_count(document, "replaced"),
                                          .kept = find_count(document, "kept"),
                                          .expired = find_count(document, "expired"),
                                          .bytes = find_count(document, "bytes") };
    out->failed_at = find_count(document, "failedAt");
    bytes failure = find_text(document, "failure");
    if (failure.len > 0)
        out->failure = arena_format(arena, "%.*s", (int)failure.len, (const char *)failure.data);
    return STATUS_OK;
}
