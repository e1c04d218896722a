/* World: life, time, catalog and documents of an engine under test.
 *
 * The engine stands on faulty(kept(backend)): faulty so that any call can be made to fail, kept so that
 * memory survives a restart and any backend can die without a last word.
 * Threads: the helpers that take a world belong to the test's thread; those that take a request may
 * be used by the thread that began it. */
#include "tests/support/world.h"

#include "engine/row.h"
#include "query/query.h"
#include "storage/rocksdb_backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { ARENA_BYTES = 1024 * 1024 * 1024 };

const char *backing_name(enum backing backing)
{
    return backing == ON_MEMORY ? "memory" : "rocksdb";
}

/* ---- life ------------------------------------------------------------------------------------------- */

static void prepare(struct world *w, enum backing backing)
{
    *w = (struct world){ .backing = backing };
    atomic_store(&w->time.wall, WORLD_START);
    atomic_store(&w->time.monotonic, 1000000);
    w->log = log_to(STDERR_FILENO, LOG_SILENT);
    w->arena = arena_open(ARENA_BYTES);
    CHECK(w->arena != NULL);
}

void world_prepare(struct world *w, enum backing backing)
{
    prepare(w, backing);
    if (backing == ON_ROCKSDB)
        check_temp_dir(w->path, sizeof(w->path));
}

void world_prepare_at(struct world *w, const char *path)
{
    prepare(w, ON_ROCKSDB);
    snprintf(w->path, sizeof(w->path), "%s", path);
}

static bool is_field_one(void *context, bytes predicate, bytes document)
{
    char name[64];
    struct value value;
    int64_t number;

    (void)context;
    CHECK(predicate.len < sizeof(name));
    memcpy(name, predicate.data, predicate.len);
    name[predicate.len] = '\0';
    return document_find(document, name, &value) && value_as_int64(value, &number) && number == 1;
}

/* Rows in memory are made once and outlive each engine; a directory is opened anew each time. */
static status open_rows(struct world *w)
{
    struct storage *inner = NULL;
    struct storage_options options = { .path = w->path, .log = &w->log, .metrics = &w->metrics };

    if (w->backing == ON_ROCKSDB) {
        options.sweeper = engine_sweeper(w->sweep);
        TRY(storage_open_rocksdb(&options, w->arena, &inner));
        if (w->are_syncs_beside)
            rocksdb_of(inner)->sync.least_bytes = 0;
        w->kept = kept_storage_open(inner, false);
        return STATUS_OK;
    }
    if (w->kept == NULL) {
        w->kept_sweeper = kept_sweeper_open();
        options.sweeper = kept_sweeper_callbacks(w->kept_sweeper);
        TRY(storage_open_memory(&options, &inner));
        w->kept = kept_storage_open(inner, true);
    }
    kept_sweeper_set(w->kept_sweeper, engine_sweeper(w->sweep));
    return STATUS_OK;
}

static void close_rows(struct world *w)
{
    if (w->backing == ON_ROCKSDB) {
        if (w->kept != NULL)
            kept_storage_close(w->kept);
        w->kept = NULL;
    } else if (w->kept_sweeper != NULL) {
        kept_sweeper_set(w->kept_sweeper, (struct storage_sweeper){ .begin = NULL });
    }
    engine_sweep_close(w->sweep);
    w->sweep = NULL;
    clock_close(w->clock);
    w->clock = NULL;
}

static status open_engine(struct world *w)
{
    const struct engine_options options = {
        .clock = w->clock,
        .log = &w->log,
        .metrics = &w->metrics,
        .predicate = w->predicate ? w->predicate : is_field_one,
        .extract = query_index_values,
        .is_manual = !w->is_threaded,
        .mark_worth_bytes = w->mark_worth_bytes,
        .helpers = w->helpers,
        .sift_alone = w->sift_alone,
        .transaction_held_bytes = w->transaction_held_bytes,
    };
    const status s = engine_open(w->storage, w->sweep, &options, w->arena, &w->engine);
    if (s.code != OK) {
        w->engine = NULL;
        storage_close(w->storage);
    }
    return s;
}

status world_start(struct world *w)
{
    w->clock = clock_open(clock_source_manual(&w->time), LIMIT_CLOCK_LEAP_MS);
    w->sweep = engine_sweep_open();
    CHECK(w->clock != NULL);
    CHECK(w->sweep != NULL);
    status s = open_rows(w);
    if (s.code == OK)
        s = storage_open_faulty(kept_storage_attach(w->kept), &w->storage);
    if (s.code == OK) {
        storage_faulty_arm(w->storage, w->start_fault);
        s = open_engine(w);
    }
    if (s.code != OK)
        close_rows(w);
    return s;
}

void world_stop(struct world *w)
{
    engine_close(w->engine);
    w->engine = NULL;
    close_rows(w);
}

void world_kill(struct world *w)
{
    kept_storage_kill(w->kept);
    world_stop(w);
}

void world_forget(struct world *w)
{
    if (w->kept != NULL)
        kept_storage_close(w->kept);
    if (w->kept_sweeper != NULL)
        kept_sweeper_close(w->kept_sweeper);
    arena_close(w->arena);
}

void world_open(struct world *w, enum backing backing)
{
    world_prepare(w, backing);
    CHECK_OK(world_start(w));
    CHECK_OK(database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE));
}

void world_close(struct world *w)
{
    world_check(w);
    world_stop(w);
    world_forget(w);
}

void world_restart(struct world *w)
{
    world_stop(w);
    CHECK_OK(world_start(w));
}

void world_crash(struct world *w)
{
    world_kill(w);
    CHECK_OK(world_start(w));
}

/* ---- time ------------------------------------------------------------------------------------------- */

void world_pass(struct world *w, int64_t by_ms)
{
    manual_time_pass(&w->time, by_ms);
}

void world_at(struct world *w, int64_t offset_ms)
{
    const int64_t by_ms = WORLD_START + offset_ms - atomic_load(&w->time.wall);
    CHECK_THAT(by_ms >= 0, "time is already past %lld", (long long)offset_ms);
    manual_time_pass(&w->time, by_ms);
}

int64_t world_now(struct world *w)
{
    return clock_now(w->clock) - WORLD_START;
}

/* ---- databases, collections, indexes ---------------------------------------------------------------- */

static bytes db(void)
{
    return BYTES_LITERAL("db");
}

/* Splits "a: x; b: y" and defines each; at most LIMIT_INDEXES. */
static size_t define_indexes(struct world *w, const char *texts, struct index_definition *out)
{
    size_t count = 0;
    char one[WORLD_TEXT_BYTES];

    while (*texts != '\0') {
        const size_t len = strcspn(texts, ";");
        CHECK(len < sizeof(one));
        CHECK(count < LIMIT_INDEXES);
        memcpy(one, texts, len);
        one[len] = '\0';
        out[count++] = world_index_definition(w, one);
        texts += len + (texts[len] == ';');
    }
    return count;
}

static status create_collection(struct world *w, const char *name, int32_t default_ttl,
                                const char *indexes, const char *partition_path)
{
    struct index_definition definitions[LIMIT_INDEXES];
    const size_t count = define_indexes(w, indexes, definitions);
    bytes path = BYTES_NONE;
    CHECK_OK(arena_copy(w->arena, bytes_of_text(partition_path), &path));
    const struct collection_definition definition = {
        .database = db(),
        .name = bytes_of_text(name),
        .default_ttl = default_ttl,
        .partition_path_count = path.len > 0 ? 1 : 0,
        .partition_paths = &path,
    };
    return collection_create(w->engine, w->arena, &definition, definitions, count);
}

status world_try_collection(struct world *w, const char *name, int32_t default_ttl,
                            const char *indexes)
{
    return create_collection(w, name, default_ttl, indexes, "");
}

void world_collection(struct world *w, const char *name, int32_t default_ttl, const char *indexes)
{
    CHECK_OK(create_collection(w, name, default_ttl, indexes, ""));
}

void world_collection_parted(struct world *w, const char *name, int32_t default_ttl,
                             const char *indexes, const char *partition_path)
{
    CHECK_OK(create_collection(w, name, default_ttl, indexes, partition_path));
}

status world_set_ttl(struct world *w, const char *name, int32_t default_ttl)
{
    return collection_set_default_ttl(w->engine, w->arena, db(), bytes_of_text(name), default_ttl);
}

status world_index(struct world *w, const char *name, const char *index)
{
    const struct index_definition definition = world_index_definition(w, index);
    return index_create(w->engine, w->arena, db(), bytes_of_text(name), &definition);
}

void world_index_built(struct world *w, const char *name, const char *index)
{
    const struct index_definition definition = world_index_definition(w, index);
    CHECK_OK(index_create(w->engine, w->arena, db(), bytes_of_text(name), &definition));
    CHECK_OK(engine_build_indexes(w->engine));

    struct request request = world_begin(w);
    const struct index *built = collection_index(world_find(&request, name), definition.name);
    CHECK_THAT(built != NULL, "there is no index %s", index);
    CHECK_THAT(built->state == INDEX_READY, "%s: %.*s", index, (int)built->failure.len,
               (const char *)built->failure.data);
    world_end(&request);
}

status world_index_drop(struct world *w, const char *name, const char *index_name)
{
    return index_drop(w->engine, w->arena, db(), bytes_of_text(name), bytes_of_text(index_name));
}

status world_set_expiry(struct world *w, const char *name, const char *index_name,
                        int32_t expire_after_s)
{
    return index_set_expiry(w->engine, w->arena, db(), bytes_of_text(name),
                            bytes_of_text(index_name), expire_after_s);
}

status world_date_rules(struct world *w, bool is_acting)
{
    return engine_set_date_rules_acting(w->engine, w->arena, is_acting);
}

/* ---- requests --------------------------------------------------------------------------------------- */

struct request world_begin(struct world *w)
{
    struct request request;
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    CHECK(arena != NULL);
    if (w->inside)
        CHECK_OK(transaction_enter(w->inside, arena, &request));
    else
        CHECK_OK(request_begin(w->engine, arena, &request));
    return request;
}

void world_end(struct request *request)
{
    struct arena *arena = request->arena;
    request_end(request);
    arena_close(arena);
}

const struct collection *world_find(const struct request *request, const char *collection)
{
    const struct collection *found = NULL;
    CHECK_OK(catalog_find(request, db(), bytes_of_text(collection), &found));
    return found;
}

int world_count_rows(struct world *w, const char *collection, enum storage_space space,
                     struct storage_range range)
{
    struct request request = world_begin(w);
    const struct row_address where = { row_partition(world_find(&request, collection)->id), space };
    struct storage_scan *scan;
    bytes key, value;
    int count = 0;

    CHECK_OK(storage_scan_open(w->storage, NULL, where, &range, &scan));
    while (storage_scan_next(scan, &key, &value))
        count++;
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
    world_end(&request);
    return count;
}

struct document_key world_key(struct request *request, const struct collection *collection,
                              const char *text)
{
    const bytes document = world_document(request->arena, text);
    struct value id;
    struct document_key key;
    CHECK_THAT(document_find(document, "_id", &id), "no _id in %s", text);
    CHECK_OK(document_key_make(request->arena, collection, document, id, &key));
    return key;
}

struct document_key world_id_key(struct request *request, const struct collection *collection,
                                 int id)
{
    const uint32_t bits = (uint32_t)id;
    const uint8_t raw[] = { (uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16),
                            (uint8_t)(bits >> 24) };
    const uint8_t empty[] = { 5, 0, 0, 0, 0 };
    const struct value value = { .type = VALUE_INT32, .raw = bytes_of(raw, sizeof(raw)) };
    struct document_key key;
    CHECK_OK(
        document_key_make(request->arena, collection, bytes_of(empty, sizeof(empty)), value, &key));
    return key;
}

static status make_op(struct request *request, const char *collection, enum write_kind kind,
                      const char *text, struct write_op *out)
{
    *out = (struct write_op){ .collection = world_find(request, collection), .kind = kind };
    out->key = world_key(request, out->collection, text);
    out->own_ttl = TTL_ABSENT;
    if (kind == WRITE_DELETE)
        return STATUS_OK;
    out->document = world_document(request->arena, text);
    return expiry_own_ttl(request->arena, out->document, &out->own_ttl);
}

#define PRINT_TEXT(text, format)                                     \
    char text[WORLD_TEXT_BYTES];                                     \
    do {                                                             \
        va_list args;                                                \
        va_start(args, format);                                      \
        const int len = vsnprintf(text, sizeof(text), format, args); \
        va_end(args);                                                \
        CHECK(len >= 0 && (size_t)len < sizeof(text));               \
    } while (0)

struct write_op world_op(struct request *request, const char *collection, enum write_kind kind,
                         const char *document, ...)
{
    struct write_op op;
    PRINT_TEXT(text, document);
    CHECK_OK(make_op(request, collection, kind, text, &op));
    return op;
}

/* ---- one document ------------------------------------------------------------------------------------ */

static struct written write_one(struct world *w, const char *collection, enum write_kind kind,
                                uint64_t if_seq, const char *text)
{
    struct request request = world_begin(w);
    struct write_op op;
    status s = make_op(&request, collection, kind, text, &op);
    op.if_seq = if_seq;
    if (s.code == OK)
        s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    struct written result = {
        .code = s.code,
        .was_there = op.was_there,
        .seq = op.seq,
        .birth_seq = op.birth_seq,
        .written_at_s = op.written_at_s,
    };
    snprintf(result.message, sizeof(result.message), "%s", s.message != NULL ? s.message : "");
    world_end(&request);
    return result;
}

struct written world_insert(struct world *w, const char *collection, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(w, collection, WRITE_INSERT, 0, text);
}

struct written world_replace(struct world *w, const char *collection, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(w, collection, WRITE_REPLACE, 0, text);
}

struct written world_upsert(struct world *w, const char *collection, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(w, collection, WRITE_UPSERT, 0, text);
}

struct written world_delete(struct world *w, const char *collection, const char *key, ...)
{
    PRINT_TEXT(text, key);
    return write_one(w, collection, WRITE_DELETE, 0, text);
}

struct written world_write_if(struct world *w, const char *collection, enum write_kind kind,
                              uint64_t if_seq, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(w, collection, kind, if_seq, text);
}

static struct found read_one(struct world *w, const char *collection, const char *text)
{
    struct request request = world_begin(w);
    const struct collection *where = world_find(&request, collection);
    struct document document;
    struct found found = { .is_there = false };
    const status s = document_read(&request, where, world_key(&request, where, text), &document);
    if (s.code == OK) {
        found = (struct found){
            .is_there = true,
            .seq = document.seq,
            .birth_seq = document.birth_seq,
            .written_at_s = document.written_at_s,
            .own_ttl = document.own_ttl,
        };
        CHECK_OK(arena_copy(w->arena, document.bson, &found.bson));
        document_release(&request, &document);
    } else {
        CHECK_CODE(s, NOT_FOUND);
    }
    world_end(&request);
    return found;
}

struct found world_read(struct world *w, const char *collection, const char *key, ...)
{
    PRINT_TEXT(text, key);
    return read_one(w, collection, text);
}

bool world_has(struct world *w, const char *collection, int id)
{
    char text[32];
    snprintf(text, sizeof(text), "{'_id':%d}", id);
    const arena_position mark = arena_mark(w->arena);
    const bool is_there = read_one(w, collection, text).is_there;
    arena_release(w->arena, mark);
    return is_there;
}
