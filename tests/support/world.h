/* An engine to test with: on memory or RocksDB, with time that only moves when told to, and with
 * helpers that say in one line what a client does. Everything a helper cannot do without failing ends
 * the test. Every world is closed with a full check of its invariants.
 *
 * Documents are written as text: JSON with ' for ", and @N for a date N milliseconds after
 * WORLD_START, e.g. "{'_id':1,'ttl':5,'at':@5000}". The text's _id (and partition key) is its key.
 *
 * Indexes are written as text: a name, fields (- for descending), options. Several are separated by ;
 *     "by_at: at ttl=10; u: u unique sparse; ab: a -b where=flag missing=null"
 *     "all: paths +/a/? -/b/?"
 *     "came: arrivals keep=10 keepbytes=4096"
 * A partial index (where=x) holds the documents whose field x is the number 1. */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include "engine/engine.h"
#include "tests/check.h"
#include "tests/support/kept_storage.h"

#include <limits.h>

/* 2026-03-01T00:00:00Z, where every world's time begins. */
#define WORLD_START ((time_ms)1772323200000)
#define WORLD_START_S (WORLD_START / 1000)
/* Integer _ids that helpers may look for. */
enum { WORLD_IDS = 512, WORLD_TEXT_BYTES = 32768 };

enum backing { ON_MEMORY, ON_ROCKSDB, BACKING_COUNT };
#define EACH_BACKING(backing) \
    for (enum backing backing = ON_MEMORY; backing < BACKING_COUNT; backing++)
const char *backing_name(enum backing backing);

struct world {
    enum backing backing;
    struct manual_time time;
    struct clock *clock;
    struct log log;
    struct metrics metrics;
    struct arena *arena; /* of the helpers and of everything they return */
    struct kept_storage *kept;
    struct kept_sweeper *kept_sweeper;
    struct engine_sweep *sweep;
    struct storage *storage; /* what the engine stands on; a faulty one, so it can be armed */
    uint64_t start_fault;    /* which storage call of the next start fails; 0: none */
    struct engine *engine;
    struct transaction *inside; /* NULL, or the transaction inside of which all helpers work */
    index_predicate *predicate; /* NULL: "is the field of this name 1?" */
    bool is_threaded;           /* the engine purges and builds by itself; set before a start */
    unsigned helpers;           /* of the engine's options, as those below */
    uint64_t sift_alone;
    int64_t transaction_held_bytes;
    uint64_t mark_worth_bytes; /* of the engine's options; set before a start */
    bool are_syncs_beside;     /* those of small commits too; set before a start on RocksDB */
    char path[PATH_MAX];
};

/* ---- life ------------------------------------------------------------------------------------------- */

/* With the database "db", and nothing in it. */
void world_open(struct world *w, enum backing backing);
/* Checks every invariant, then closes. */
void world_close(struct world *w);
/* Stops cleanly and starts again; the wall clock stays where it is. */
void world_restart(struct world *w);
/* Dies at this instant and starts again: nothing is written on the way down. */
void world_crash(struct world *w);

/* The steps of these, for tests that look between them or expect a start to fail. */
void world_prepare(struct world *w, enum backing backing);
/* On RocksDB, in a directory that the caller keeps. */
void world_prepare_at(struct world *w, const char *path);
MUST_USE status world_start(struct world *w);
void world_stop(struct world *w);
void world_kill(struct world *w);
/* Only what stands after a stop or a failed start. */
void world_forget(struct world *w);

/* ---- time ------------------------------------------------------------------------------------------- */

void world_pass(struct world *w, int64_t by_ms);
/* Lets time pass until WORLD_START + offset; never backwards. */
void world_at(struct world *w, int64_t offset_ms);
/* Server time as an offset from WORLD_START. */
int64_t world_now(struct world *w);

/* ---- databases, collections, indexes ---------------------------------------------------------------- */

/* In the database "db", with indexes (see above, may be ""). */
void world_collection(struct world *w, const char *name, int32_t default_ttl, const char *indexes);
/* The same with one partition key path. */
void world_collection_parted(struct world *w, const char *name, int32_t default_ttl,
                             const char *indexes, const char *partition_path);
MUST_USE status world_try_collection(struct world *w, const char *name, int32_t default_ttl,
                                     const char *indexes);
MUST_USE status world_set_ttl(struct world *w, const char *name, int32_t default_ttl);
/* Registers the index; does not build it. */
MUST_USE status world_index(struct world *w, const char *name, const char *index);
/* Registers and builds it, and fails the test if it is not ready then. */
void world_index_built(struct world *w, const char *name, const char *index);
MUST_USE status world_index_drop(struct world *w, const char *name, const char *index_name);
MUST_USE status world_set_expiry(struct world *w, const char *name, const char *index_name,
                                 int32_t expire_after_s);
MUST_USE status world_date_rules(struct world *w, bool is_acting);

/* One index definition from its text, in the arena. */
struct index_definition world_index_definition(struct world *w, const char *text);

/* ---- documents -------------------------------------------------------------------------------------- */

struct written {
    status_code code;
    char message[512];
    bool was_there;
    uint64_t seq;
    uint64_t birth_seq;
    int64_t written_at_s;
};

#define CHECK_WRITTEN(call, want)                                                    \
    do {                                                                             \
        const struct written check_written = (call);                                 \
        if (check_written.code != (want))                                            \
            check_fail(__FILE__, __LINE__, #call, "is %s, want %s: %s",              \
                       status_code_name(check_written.code), status_code_name(want), \
                       check_written.message);                                       \
    } while (0)

#define WORLD_PRINTS(at) __attribute__((format(printf, at, at + 1)))

struct written world_insert(struct world *w, const char *collection, const char *document, ...)
    WORLD_PRINTS(3);
struct written world_replace(struct world *w, const char *collection, const char *document, ...)
    WORLD_PRINTS(3);
struct written world_upsert(struct world *w, const char *collection, const char *document, ...)
    WORLD_PRINTS(3);
struct written world_delete(struct world *w, const char *collection, const char *key, ...)
    WORLD_PRINTS(3);
/* Any kind, only if the version is if_seq (0: any). */
struct written world_write_if(struct world *w, const char *collection, enum write_kind kind,
                              uint64_t if_seq, const char *document, ...) WORLD_PRINTS(5);

struct found {
    bool is_there;
    bytes bson; /* in the world's arena */
    uint64_t seq;
    uint64_t birth_seq;
    int64_t written_at_s;
    int32_t own_ttl;
};
struct found world_read(struct world *w, const char *collection, const char *key, ...)
    WORLD_PRINTS(3);
/* Is the document with this integer _id there? */
bool world_has(struct world *w, const char *collection, int id);

/* ---- the parts, for tests that hold a request open --------------------------------------------------- */

/* A request with an arena of its own. */
struct request world_begin(struct world *w);
void world_end(struct request *request);
const struct collection *world_find(const struct request *request, const char *collection);
bytes world_document(struct arena *arena, const char *text);
struct document_key world_key(struct request *request, const struct collection *collection,
                              const char *text);
/* The key of an integer _id in a collection without partition key. */
struct document_key world_id_key(struct request *request, const struct collection *collection,
                                 int id);
struct write_op world_op(struct request *request, const char *collection, enum write_kind kind,
                         const char *document, ...) WORLD_PRINTS(4);
/* How many rows lie in a space of a collection's partition, from `start` up to `end` (empty: to the last). */
int world_count_rows(struct world *w, const char *collection, enum storage_space space,
                     struct storage_range range);
/* _id of a document as an integer; ends the test if it is none. */
int world_id_of(bytes document);

/* ---- answers ---------------------------------------------------------------------------------------- */

/* All ids a scan gives, in its order, as text such as "1 2 7". The way is "key", "slots", the name of
 * an index, or one of these with a - in front for backwards. */
const char *world_scan(struct world *w, const char *collection, const char *way);
const char *world_scan_in(struct request *request, const char *collection, const char *way);
/* The same for any scan; with births as "1@3 2@4", the number of the write that made each document. Ends the request. */
const char *world_scan_spec(struct world *w, struct request *request,
                            const struct collection *collection, const struct scan_spec *spec,
                            bool has_births);
#define CHECK_SCAN(w, collection, way, ids) CHECK_STRING(world_scan(w, collection, way), ids)

/* Exactly the documents with these ids live, whoever asks: point reads, scans by key, slot and every
 * index that holds all documents, and the figures. No index shows another one. */
#define CHECK_LIVING(w, collection, ids) world_check_living(__FILE__, __LINE__, w, collection, ids)
void world_check_living(const char *file, int line, struct world *w, const char *collection,
                        const char *ids);

struct collection_figures world_figures(struct world *w, const char *collection);
/* Purges once and fails the test on a failure. */
struct purge_result world_purge(struct world *w);
/* Fails the test with the first violations if there are any. */
void world_check(struct world *w);

#endif
