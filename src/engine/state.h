/* Inside the engine room: the structures that the engine's files share. Nothing outside src/engine
 * includes this. Each field says who may touch it. */
#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/hints.h"
#include "engine/latch.h"
#include "engine/purger_state.h"
#include "engine/recall.h"
#include "engine/row.h"
#include "engine/transaction_parts.h"
#include "engine/worker.h"

#include <pthread.h>
#include <stdatomic.h>

/* What a lane holds. Changed by the committing thread after each durable group, under figures_lock. */
struct lane_state {
    int64_t documents, bytes; /* physically there, the dead included */
    int64_t dead_upto_s;      /* the next two count the seconds up to this one */
    int64_t dead_documents, dead_bytes;
    /* Bodies up to this order, written no later than this seq, have been cut off, and count as gone even
     * where they can still be met. */
    _Atomic int64_t cut_upto;
    _Atomic uint64_t cut_seq;
    _Atomic uint64_t cuts; /* how many; tells whether one came in between */
};

struct death_subscription {
    death_reader *reader;
    void *context;
};

struct index_progress {
    _Atomic uint64_t seen;
    _Atomic unsigned per_mille;
    /* Of a lazy index: writes that left backlog rows; how many of them had when last nothing was left;
     * rows worked off since; documents of the collection. */
    _Atomic uint64_t noted, cleaned, drained, documents;
    /* Of a shaped index; see index_shapes.c and index_kinds.c. */
    _Atomic(struct index_set *) shapes, kinds;
    _Atomic bool has_lost_shapes, has_lost_kinds;
    _Atomic uint64_t without_many; /* 1 + the id of an index; see scan_has_many() */
};

struct collection_state {
    uint32_t id;
    partition_id partition;
    struct gate gate;
    struct gate arrivals; /* of a bounded collection: one write that brings documents at a time */
    _Atomic uint64_t first_arrival; /* no living one came before; changed inside `arrivals` */
    /* Newest descriptor. Changed only while the gate is closed; read inside the gate. */
    _Atomic(const struct collection *) current;
    _Atomic bool is_dropped;                     /* set while the gate is closed */
    struct lane_state lanes[LANE_COUNT];         /* figures_lock */
    _Atomic(struct death_subscription *) deaths; /* changed while the gate is closed */
    _Atomic uint64_t purged_documents, purged_bytes, writes;
    _Atomic int64_t written_at;    /* the last write to it was seen by everybody from then on */
    _Atomic bool is_unsettled;     /* emptied since the storage last gave its space back */
    _Atomic uint64_t garbage_rows; /* rows in SPACE_ROWS whose body was cut off */
    _Atomic bool has_leftovers;    /* bodies that were cut by mark may still lie there */
    _Atomic uint32_t first_note;   /* a stretch before which there are no notes; 0: not known */
    time_ms next_walk_at;          /* purger only */
    struct index_progress progress[LIMIT_INDEXES]; /* by index id */
    unsigned references;                           /* descriptors; change_lock */
};

struct database {
    uint32_t id;
    bytes name;
    bytes options;
};

/* Immutable once published; freed when no request can hold it any more. */
struct catalog {
    uint64_t number; /* of the picture: one more with each change */
    struct arena *memory;
    size_t database_count;
    struct database *databases;
    size_t collection_count;
    struct collection **collections; /* by database, name */
    struct collection **by_id;
    uint64_t retired_epoch;
    struct catalog *next_retired;
};

struct request_slot {
    _Alignas(64) _Atomic int64_t now; /* 0: free; SLOT_STARTING: its now is not known yet */
    _Atomic uint64_t epoch;
    _Atomic uint64_t picture; /* number of the catalog it looks at; valid when `now` is known */
};
enum { SLOT_STARTING = INT32_MIN, SLOT_QUIET = INT32_MIN + 1 };

/* Changes of counters in the group being committed; the committing thread's. */
struct lane_delta {
    struct collection_state *state;
    unsigned lane;
    int64_t second;
    int64_t documents, bytes;
};
struct group {
    struct lane_delta *deltas;
    size_t count, room;
    bool is_state_dirty;
    time_ms clock_mark;   /* as last written */
    bool is_mark_exact;   /* write clock_mark as it is: a clean stop */
    time_ms earliest_end; /* of the documents written in this group */
};

struct engine_sweep {
    _Atomic(struct engine *) engine; /* NULL until the engine is open: nothing is garbage */
};

struct engine {
    struct storage *storage;
    struct commit_queue *queue;
    struct engine_options options;
    struct engine_sweep *sweep;
    const struct log *log;
    struct metrics *metrics;
    struct latches latches;
    struct recall *recall; /* NULL if others may write to the storage; so are the hints */
    struct hints *hints;
    struct crew *crew; /* NULL: nobody helps */
    struct collations *collations;
    bool marks_arrays; /* since its first write; see scan_has_many() */
    _Atomic(struct catalog *) catalog;
    pthread_mutex_t change_lock; /* one change of the catalog at a time */
    struct catalog *retired;     /* change_lock */
    /* Held from before a change is durable until its picture is seen; the count is odd in between. */
    pthread_mutex_t publish_lock;
    _Atomic uint64_t publishings;
    _Atomic uint32_t next_id; /* of databases and collections */
    _Atomic bool are_date_rules_off;

    struct request_slot *slots;
    _Atomic uint64_t epoch;

    _Atomic uint64_t assigned_seq; /* written by the committing thread */
    _Atomic uint64_t durable_seq;
    _Atomic int64_t stored_mark;   /* clock mark that is durable */
    _Atomic int64_t last_now_used; /* by a request, to the tenth of a second */
    struct group group;            /* the committing thread's */
    struct arena *group_arena;     /* the committing thread's */
    pthread_mutex_t figures_lock;

    struct transactions transactions;
    _Atomic(arrival_reader *) arrivals;
    void *_Atomic arrivals_context;

    struct purger purger;
    struct worker builder;
    pthread_mutex_t build_lock; /* one batch at a time */
    _Atomic uint64_t build_turn;
    struct worker timekeeper;
};

/* ---- request.c ---- */
/* The oldest `now` of a running request, at most `now`; INT64_MIN while one is just starting. */
time_ms request_oldest_now(struct engine *engine, time_ms now);
/* For background work: keeps the catalog in place, but holds nobody's documents back. */
MUST_USE status request_begin_quiet(struct engine *engine, struct arena *arena,
                                    struct request *out);
/* The oldest picture of the catalog that a running request of a client looks at; 0 while one is just starting,
 * UINT64_MAX if there is none. A request may see documents that a later change of policy has ended, so
 * nothing is removed from a collection whose newest descriptor came with a later picture. */
uint64_t request_oldest_picture(const struct engine *engine);
/* Requests of clients that are running now. */
unsigned request_count(struct engine *engine);
/* The oldest epoch in use; UINT64_MAX if none runs. */
uint64_t request_oldest_epoch(struct engine *engine);
MUST_USE status request_view(struct request *request, struct storage_view **out);

/* ---- catalog.c ---- */
MUST_USE status catalog_load(struct engine *engine, struct arena *arena);
void catalog_destroy(struct engine *engine);
/* Frees what no running request can hold; change_lock is held. */
void catalog_collect(struct engine *engine);
struct catalog_edit {
    /* Sorted by id. Replaces collections of the same id; takes over the caller's references. */
    struct collection *const *add;
    size_t add_count;
    uint32_t remove_id;                   /* 0: none */
    const struct database *add_databases; /* replace those of the same name */
    size_t add_database_count;
    bytes remove_database; /* with everything in it */
};
MUST_USE status catalog_build(const struct catalog *base, const struct catalog_edit *edit,
                              struct catalog **out);
void catalog_publish(struct engine *engine, struct catalog *next);
void catalog_discard(struct catalog *never_published);
MUST_USE status collection_state_open(uint32_t id, struct collection_state **out);
MUST_USE status collection_clone(struct engine *engine, const struct collection *source,
                                 struct collection **out);
void collection_release(struct collection *collection);
/* Connects a descriptor with the shared state, after it was read or cloned. */
void collection_attach(struct engine *engine, struct collection *collection,
                       struct collection_state *state);
const struct database *catalog_lookup_database(const struct catalog *catalog, bytes name);
const struct collection *catalog_lookup(const struct catalog *catalog, bytes database, bytes name);
const struct collection *catalog_lookup_id(const struct catalog *catalog, uint32_t id);

/* ---- change.c ---- */
/* Marks a build as finished or failed; used by index_build.c. */
MUST_USE status index_finish_build(struct engine *engine, struct arena *arena,
                                   uint32_t collection_id, uint32_t index_id, bytes failure);
/* Forgets rules and horizons that nobody needs any more; used by the purger. */
MUST_USE status collection_finish_clean_up(struct engine *engine, struct arena *arena,
                                           uint32_t collection_id, uint64_t version);
MUST_USE status collection_forget_dropped(struct engine *engine, struct arena *arena, uint32_t id);

/* ---- document.c ---- */
MUST_USE status document_locate(struct request *request, struct storage_view *view,
                                const struct collection *collection, bytes locator_key,
                                struct stamp *stamp_out, uint64_t *birth_out, bool *is_there_out);
/* The body of a slot; NOT_FOUND if it has moved or gone. */
MUST_USE status body_read(struct storage *storage, struct storage_view *view,
                          partition_id partition, const struct stamp *stamp,
                          struct storage_value *pin_out, struct row_body *out);
/* Dead or alive, reading the body if the stamp cannot tell. */
MUST_USE status document_judge(struct storage *storage, struct storage_view *view,
                               struct arena *arena, const struct collection *collection,
                               const struct stamp *stamp, time_ms now, enum verdict *out);
MUST_USE status document_key_split(const struct collection *collection, bytes joined,
                                   struct document_key *out);
/* True if this document was cut off: it is dead for ever, counted nowhere, and its body, if it can still
 * be met, is none. False says nothing, its body may be gone all the same. */
bool collection_is_cut(const struct collection_state *state, const struct stamp *stamp);

/* ---- note.c: the key of the row is in the arena of the request ---- */
MUST_USE status note_lay_out(const struct request *request, const struct write_note *note,
                             bytes *key_out);
/* On the committing thread. */
void note_put(struct engine *engine, struct storage_batch *batch, struct collection_state *state,
              bytes row_key, bytes value);

/* ---- index_backlog.c ---- */
MUST_USE status backlogs_load(struct engine *engine, const struct collection *collection);

/* ---- index_build.c, purger.c, reaper.c, worker.c, engine.c ---- */
bool builder_start(struct engine *engine);
bool purger_start(struct engine *engine);
void purger_wake(struct engine *engine), builder_wake(struct engine *engine);
static inline struct row_address address(partition_id partition, enum storage_space space)
{
    return (struct row_address){ .partition = partition, .space = space };
}

#endif
