/* Engine fixture: life, time, catalog and documents of an engine under test.
 *
 * The engine stands on faulty(kept(backend)): faulty so that any call can be made to fail, kept so that
 * memory survives a restart and any backend can die without a last word.
 * Threads: the helpers that take a fixture belong to the test's thread; those that take a request may
 * be used by the thread that began it. */
#include "tests/support/engine_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { ARENA_BYTES = 1024 * 1024 * 1024 };

const char *backing_name(enum backing backing)
{
    return backing == ON_MEMORY ? "memory" : "rocksdb";
}

/* ---- life ------------------------------------------------------------------------------------------- */

void fixture_prepare(struct fixture *f, enum backing backing)
{
    *f = (struct fixture){ .backing = backing };
    atomic_store(&f->time.wall, FIXTURE_START);
    atomic_store(&f->time.monotonic, 1000000);
    f->log = log_to(STDERR_FILENO, LOG_SILENT);
    f->arena = arena_open(ARENA_BYTES);
    CHECK(f->arena != NULL);
    if (backing == ON_ROCKSDB)
        check_temp_dir(f->path, sizeof(f->path));
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
static status open_rows(struct fixture *f)
{
    struct storage *inner = NULL;
    struct storage_options options = { .path = f->path, .log = &f->log, .metrics = &f->metrics };

    if (f->backing == ON_ROCKSDB) {
        options.sweeper = engine_sweeper(f->sweep);
        TRY(storage_open_rocksdb(&options, f->arena, &inner));
        f->kept = kept_storage_open(inner);
        return STATUS_OK;
    }
    if (f->kept == NULL) {
        f->kept_sweeper = kept_sweeper_open();
        options.sweeper = kept_sweeper_callbacks(f->kept_sweeper);
        TRY(storage_open_memory(&options, &inner));
        f->kept = kept_storage_open(inner);
    }
    kept_sweeper_set(f->kept_sweeper, engine_sweeper(f->sweep));
    return STATUS_OK;
}

static void close_rows(struct fixture *f)
{
    if (f->backing == ON_ROCKSDB) {
        if (f->kept != NULL)
            kept_storage_close(f->kept);
        f->kept = NULL;
    } else if (f->kept_sweeper != NULL) {
        kept_sweeper_set(f->kept_sweeper, (struct storage_sweeper){ .begin = NULL });
    }
    engine_sweep_close(f->sweep);
    f->sweep = NULL;
    clock_close(f->clock);
    f->clock = NULL;
}

static status open_engine(struct fixture *f)
{
    const struct engine_options options = {
        .clock = f->clock,
        .log = &f->log,
        .metrics = &f->metrics,
        .predicate = is_field_one,
        .is_manual = true,
    };
    const status s = engine_open(f->storage, f->sweep, &options, f->arena, &f->engine);
    if (s.code != OK) {
        f->engine = NULL;
        storage_close(f->storage);
    }
    return s;
}

status fixture_start(struct fixture *f)
{
    f->clock = clock_open(clock_source_manual(&f->time), LIMIT_CLOCK_LEAP_MS);
    f->sweep = engine_sweep_open();
    CHECK(f->clock != NULL);
    CHECK(f->sweep != NULL);
    status s = open_rows(f);
    if (s.code == OK)
        s = storage_open_faulty(kept_storage_attach(f->kept), &f->storage);
    if (s.code == OK)
        s = open_engine(f);
    if (s.code != OK)
        close_rows(f);
    return s;
}

void fixture_stop(struct fixture *f)
{
    engine_close(f->engine);
    f->engine = NULL;
    close_rows(f);
}

void fixture_kill(struct fixture *f)
{
    kept_storage_kill(f->kept);
    fixture_stop(f);
}

void fixture_forget(struct fixture *f)
{
    if (f->kept != NULL)
        kept_storage_close(f->kept);
    if (f->kept_sweeper != NULL)
        kept_sweeper_close(f->kept_sweeper);
    arena_close(f->arena);
}

void fixture_open(struct fixture *f, enum backing backing)
{
    fixture_prepare(f, backing);
    CHECK_OK(fixture_start(f));
    CHECK_OK(database_create(f->engine, f->arena, BYTES_LITERAL("db"), BYTES_NONE));
}

void fixture_close(struct fixture *f)
{
    fixture_check(f);
    fixture_stop(f);
    fixture_forget(f);
}

void fixture_restart(struct fixture *f)
{
    fixture_stop(f);
    CHECK_OK(fixture_start(f));
}

void fixture_crash(struct fixture *f)
{
    fixture_kill(f);
    CHECK_OK(fixture_start(f));
}

/* ---- time ------------------------------------------------------------------------------------------- */

void fixture_pass(struct fixture *f, int64_t by_ms)
{
    manual_time_pass(&f->time, by_ms);
}

void fixture_at(struct fixture *f, int64_t offset_ms)
{
    const int64_t by_ms = FIXTURE_START + offset_ms - atomic_load(&f->time.wall);
    CHECK_THAT(by_ms >= 0, "time is already past %lld", (long long)offset_ms);
    manual_time_pass(&f->time, by_ms);
}

int64_t fixture_now(struct fixture *f)
{
    return clock_now(f->clock) - FIXTURE_START;
}

/* ---- databases, collections, indexes ---------------------------------------------------------------- */

static bytes db(void)
{
    return BYTES_LITERAL("db");
}

/* Splits "a: x; b: y" and defines each; at most LIMIT_INDEXES. */
static size_t define_indexes(struct fixture *f, const char *texts, struct index_definition *out)
{
    size_t count = 0;
    char one[FIXTURE_TEXT_BYTES];

    while (*texts != '\0') {
        const size_t len = strcspn(texts, ";");
        CHECK(len < sizeof(one));
        CHECK(count < LIMIT_INDEXES);
        memcpy(one, texts, len);
        one[len] = '\0';
        out[count++] = fixture_index_definition(f, one);
        texts += len + (texts[len] == ';');
    }
    return count;
}

static status create_collection(struct fixture *f, const char *name, int32_t default_ttl,
                                const char *indexes, const char *partition_path)
{
    struct index_definition definitions[LIMIT_INDEXES];
    const size_t count = define_indexes(f, indexes, definitions);
    bytes path = BYTES_NONE;
    CHECK_OK(arena_copy(f->arena, bytes_of_text(partition_path), &path));
    const struct collection_definition definition = {
        .database = db(),
        .name = bytes_of_text(name),
        .default_ttl = default_ttl,
        .partition_path_count = path.len > 0 ? 1 : 0,
        .partition_paths = &path,
    };
    return collection_create(f->engine, f->arena, &definition, definitions, count);
}

status fixture_try_collection(struct fixture *f, const char *name, int32_t default_ttl,
                              const char *indexes)
{
    return create_collection(f, name, default_ttl, indexes, "");
}

void fixture_collection(struct fixture *f, const char *name, int32_t default_ttl,
                        const char *indexes)
{
    CHECK_OK(create_collection(f, name, default_ttl, indexes, ""));
}

void fixture_collection_parted(struct fixture *f, const char *name, int32_t default_ttl,
                               const char *indexes, const char *partition_path)
{
    CHECK_OK(create_collection(f, name, default_ttl, indexes, partition_path));
}

status fixture_set_ttl(struct fixture *f, const char *name, int32_t default_ttl)
{
    return collection_set_default_ttl(f->engine, f->arena, db(), bytes_of_text(name), default_ttl);
}

status fixture_index(struct fixture *f, const char *name, const char *index)
{
    const struct index_definition definition = fixture_index_definition(f, index);
    return index_create(f->engine, f->arena, db(), bytes_of_text(name), &definition);
}

void fixture_index_built(struct fixture *f, const char *name, const char *index)
{
    const struct index_definition definition = fixture_index_definition(f, index);
    CHECK_OK(index_create(f->engine, f->arena, db(), bytes_of_text(name), &definition));
    CHECK_OK(engine_build_indexes(f->engine));

    struct request request = fixture_begin(f);
    const struct index *built = collection_index(fixture_find(&request, name), definition.name);
    CHECK_THAT(built != NULL, "there is no index %s", index);
    CHECK_THAT(built->state == INDEX_READY, "%s: %.*s", index, (int)built->failure.len,
               (const char *)built->failure.data);
    fixture_end(&request);
}

status fixture_index_drop(struct fixture *f, const char *name, const char *index_name)
{
    return index_drop(f->engine, f->arena, db(), bytes_of_text(name), bytes_of_text(index_name));
}

status fixture_set_expiry(struct fixture *f, const char *name, const char *index_name,
                          int32_t expire_after_s)
{
    return index_set_expiry(f->engine, f->arena, db(), bytes_of_text(name),
                            bytes_of_text(index_name), expire_after_s);
}

status fixture_date_rules(struct fixture *f, bool is_acting)
{
    return engine_set_date_rules_acting(f->engine, f->arena, is_acting);
}

/* ---- requests --------------------------------------------------------------------------------------- */

struct request fixture_begin(struct fixture *f)
{
    struct request request;
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    CHECK(arena != NULL);
    CHECK_OK(request_begin(f->engine, arena, &request));
    return request;
}

void fixture_end(struct request *request)
{
    struct arena *arena = request->arena;
    request_end(request);
    arena_close(arena);
}

const struct collection *fixture_find(const struct request *request, const char *collection)
{
    const struct collection *found = NULL;
    CHECK_OK(catalog_find(request, db(), bytes_of_text(collection), &found));
    return found;
}

struct document_key fixture_key(struct request *request, const struct collection *collection,
                                const char *text)
{
    const bytes document = fixture_document(request->arena, text);
    struct value id;
    struct document_key key;
    CHECK_THAT(document_find(document, "_id", &id), "no _id in %s", text);
    CHECK_OK(document_key_make(request->arena, collection, document, id, &key));
    return key;
}

static status make_op(struct request *request, const char *collection, enum write_kind kind,
                      const char *text, struct write_op *out)
{
    *out = (struct write_op){ .collection = fixture_find(request, collection), .kind = kind };
    out->key = fixture_key(request, out->collection, text);
    out->own_ttl = TTL_ABSENT;
    if (kind == WRITE_DELETE)
        return STATUS_OK;
    out->document = fixture_document(request->arena, text);
    return expiry_own_ttl(request->arena, out->document, &out->own_ttl);
}

#define PRINT_TEXT(text, format)                                     \
    char text[FIXTURE_TEXT_BYTES];                                   \
    do {                                                             \
        va_list args;                                                \
        va_start(args, format);                                      \
        const int len = vsnprintf(text, sizeof(text), format, args); \
        va_end(args);                                                \
        CHECK(len >= 0 && (size_t)len < sizeof(text));               \
    } while (0)

struct write_op fixture_op(struct request *request, const char *collection, enum write_kind kind,
                           const char *document, ...)
{
    struct write_op op;
    PRINT_TEXT(text, document);
    CHECK_OK(make_op(request, collection, kind, text, &op));
    return op;
}

/* ---- one document ------------------------------------------------------------------------------------ */

static struct written write_one(struct fixture *f, const char *collection, enum write_kind kind,
                                uint64_t if_seq, const char *text)
{
    struct request request = fixture_begin(f);
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
    fixture_end(&request);
    return result;
}

struct written fixture_insert(struct fixture *f, const char *collection, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(f, collection, WRITE_INSERT, 0, text);
}

struct written fixture_replace(struct fixture *f, const char *collection, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(f, collection, WRITE_REPLACE, 0, text);
}

struct written fixture_upsert(struct fixture *f, const char *collection, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(f, collection, WRITE_UPSERT, 0, text);
}

struct written fixture_delete(struct fixture *f, const char *collection, const char *key, ...)
{
    PRINT_TEXT(text, key);
    return write_one(f, collection, WRITE_DELETE, 0, text);
}

struct written fixture_write_if(struct fixture *f, const char *collection, enum write_kind kind,
                                uint64_t if_seq, const char *document, ...)
{
    PRINT_TEXT(text, document);
    return write_one(f, collection, kind, if_seq, text);
}

static struct found read_one(struct fixture *f, const char *collection, const char *text)
{
    struct request request = fixture_begin(f);
    const struct collection *where = fixture_find(&request, collection);
    struct document document;
    struct found found = { .is_there = false };
    const status s = document_read(&request, where, fixture_key(&request, where, text), &document);
    if (s.code == OK) {
        found = (struct found){
            .is_there = true,
            .seq = document.seq,
            .birth_seq = document.birth_seq,
            .written_at_s = document.written_at_s,
            .own_ttl = document.own_ttl,
        };
        CHECK_OK(arena_copy(f->arena, document.bson, &found.bson));
        document_release(&request, &document);
    } else {
        CHECK_CODE(s, NOT_FOUND);
    }
    fixture_end(&request);
    return found;
}

struct found fixture_read(struct fixture *f, const char *collection, const char *key, ...)
{
    PRINT_TEXT(text, key);
    return read_one(f, collection, text);
}

bool fixture_has(struct fixture *f, const char *collection, int id)
{
    char text[32];
    snprintf(text, sizeof(text), "{'_id':%d}", id);
    const arena_position mark = arena_mark(f->arena);
    const bool is_there = read_one(f, collection, text).is_there;
    arena_release(f->arena, mark);
    return is_there;
}
