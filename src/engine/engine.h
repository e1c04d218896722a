/* Documents that die on time. The engine keeps databases, collections, documents and indexes on a
 * storage backend, hides the dead at their deadline and gives their space back. Everything a client
 * does is a request: begun with one reading of the clock, ended when its reply is ready.
 *
 * The room's door: life and requests are here, the rest in the headers included below. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/catalog.h"
#include "engine/document.h"
#include "engine/expiry_rule.h"
#include "engine/note.h"
#include "engine/purger.h"
#include "engine/scan.h"
#include "engine/sift.h"
#include "engine/transaction.h"
#include "storage/storage.h"
#include "value/value.h"

/* Told of each document that died, before its bytes go; in lane order, once (readers of deaths). Only if
 * the storage fails in the middle of a purge may a death be told again by the next one. Must not block nor
 * call the engine. */
struct death {
    const struct collection *collection;
    struct document_key key;
    const struct stamp *stamp;
    bytes document;
};
typedef void death_reader(void *context, const struct death *death);

struct engine_options {
    struct clock *clock; /* borrowed */
    const struct log *log;
    struct metrics *metrics;
    index_predicate *predicate; /* NULL: partial indexes are refused */
    void *predicate_context;
    index_extractor *extract; /* of PART_WORDS and PART_CELLS; NULL: such indexes are refused */
    void *extract_context;
    /* No threads: purging and index builds happen only when called for (tests). */
    bool is_manual;
    int purger_pause_s;  /* 0: default */
    size_t recall_bytes; /* for documents that were read lately; 0: default */
    size_t
        hints_bytes; /* for the places of documents where there are very many; 0: no more than for few */
    /* Living bytes in a lane from which on its dead leave with whole files only; 0: default (tests). */
    uint64_t mark_worth_bytes;
    int64_t transaction_held_bytes; /* LIMIT_TRANSACTION_HELD_BYTES in its place; 0: that (tests) */
    unsigned
        helpers; /* threads that help with sifting; 0: as many as there are processors beside one */
    /* Documents that a sift looks at before it asks for help, however small the collection is; 0: default
     * (tests). */
    uint64_t sift_alone;
    bool is_read_only; /* for a check: nothing is stored, not even the clock; implies is_manual */
};

/* `storage` is opened by the caller with engine_sweeper(), and owned by the engine from a successful
 * open on. CORRUPT when the stored format is not ours or newer than this program. */
MUST_USE status engine_open(struct storage *storage, struct engine_sweep *sweep,
                            const struct engine_options *options, struct arena *arena,
                            struct engine **out);
/* Waits for background work, stores the clock, closes the storage. No request may be running. */
void engine_close(struct engine *engine);

/* The compaction side of purging has to exist before the storage is opened. */
struct engine_sweep *engine_sweep_open(void);
struct storage_sweeper engine_sweeper(struct engine_sweep *sweep);
void engine_sweep_close(struct engine_sweep *sweep);

/* ---- requests --------------------------------------------------------------------------------------- */

/* In the caller's memory. `now` is the request's one reading of the clock. */
struct request {
    struct engine *engine;
    struct arena *arena;
    time_ms now;
    const struct catalog *catalog;
    struct storage
        *storage; /* what it reads: the engine's, or what a transaction has laid over it */
    struct storage_view *view; /* opened by the first scan; one instant for the whole request */
    unsigned slot;
    struct transaction *transaction; /* that it is inside of, or that it commits */
    bool is_committing;
    struct write_train *train; /* that its writes are parts of, see document.h; NULL: none */
    /* Asked now and then while a write waits for a transaction to end; what is not OK ends the wait. NULL: nobody
     * is asked. Set by the caller after request_begin. */
    status (*check)(void *context);
    void *check_context;
};
/* BUSY if too many run. Everything found through the request is valid until request_end. */
MUST_USE status request_begin(struct engine *engine, struct arena *arena, struct request *out);
void request_end(struct request *request);
/* Lets the instant go that the first scan has fixed: later reads see what was written since, as they do
 * before a scan. No scan of the request may be open. */
void request_loosen(struct request *request);

struct clock *engine_clock(struct engine *engine);
/* Where all collations come from that indexes and collections of this engine have. */
struct collations *engine_collations(struct engine *engine);
/* Number of the last write that a new scan of the request would see. */
uint64_t request_last_seq(const struct request *request);
/* Number of the last durable write. */
uint64_t engine_last_seq(const struct engine *engine);
/* "" while writes are accepted, otherwise why not. */
const char *engine_writes_stopped(const struct engine *engine);
/* Stores the clock's high-water mark now (after moving the clock by hand, at a clean stop). */
MUST_USE status engine_store_clock(struct engine *engine);

/* A database of its own in the directory `path`, which must not exist: what is stored at this instant; see
 * storage_checkpoint(). */
MUST_USE status engine_checkpoint(struct engine *engine, const char *path, struct arena *arena);

/* Whoever wants to hear of every death in a collection; NULL ends it. Nobody pays otherwise. */
MUST_USE status engine_read_deaths(struct engine *engine, uint32_t collection_id,
                                   death_reader *reader, void *context);

/* Told after a durable write has brought documents to a collection with an index by arrival, on the committing
 * thread, named each time it is another one; must not block. NULL ends it. */
typedef void arrival_reader(void *context, uint32_t collection_id);
void engine_read_arrivals(struct engine *engine, arrival_reader *reader, void *context);

/* Walks everything and verifies every invariant. Each violation is one call of `report`. */
struct check_summary {
    uint64_t collections, documents, dead_documents, index_rows, garbage_rows, violations;
};
typedef void check_report(void *context, const char *violation);
MUST_USE status engine_check(struct engine *engine, check_report *report, void *context,
                             struct check_summary *out);

/* All figures of the engine as Prometheus text, the per-collection ones of B-12 included. */
MUST_USE status engine_render_metrics(struct request *request, struct buffer *out);

#endif
