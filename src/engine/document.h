/* Documents by key: read, insert, replace, upsert, delete, one or many in one commit. A dead document
 * answers like one that never existed (B-4). */
#ifndef ENGINE_DOCUMENT_H
#define ENGINE_DOCUMENT_H

#include "engine/catalog.h"
#include "storage/storage.h"

/* Both parts are encoded keys (key_append_value); the partition part may be empty. */
struct document_key {
    bytes partition;
    bytes id;
};
/* Key of a document from the collection's partition key paths and its id value; a path that leads
 * nowhere gives the encoding of VALUE_MISSING. INVALID for an id or key that is too long. */
MUST_USE status document_key_make(struct arena *arena, const struct collection *collection,
                                  bytes document, struct value id, struct document_key *out);

struct document {
    bytes bson; /* borrowed until document_release */
    struct document_key key;
    uint64_t seq;
    uint64_t birth_seq; /* of the insert that began this life */
    int64_t written_at_s;
    int32_t own_ttl;
    struct storage_value pin;
    /* By the number of its write: it was met before, and what that write has made does not change. */
    bool is_recalled;
};

/* NOT_FOUND for a dead or absent document. */
MUST_USE status document_read(struct request *request, const struct collection *collection,
                              struct document_key key, struct document *out);
void document_release(struct request *request, struct document *document);
/* The first moment at which the living document will be dead under the policy of today; TIME_NEVER if there is none. What
 * it needs of the arena is given back. */
time_ms document_deadline(const struct collection *collection, const struct document *document,
                          struct arena *arena);

/* Would it be dead now if it were written with this time of writing and own ttl? The rest of `document` is not looked at. */
bool document_would_be_dead(const struct request *request, const struct collection *collection,
                            const struct document *document);

enum write_kind { WRITE_INSERT, WRITE_REPLACE, WRITE_UPSERT, WRITE_DELETE };

/* What somebody wants to be there if the operation is there, and only then (note.h). */
struct write_note {
    bytes key;
    uint32_t part; /* a key may have several; the same one again takes its place */
    bytes value;
};

/* One operation; the lower part is its result. */
struct write_op {
    const struct collection *collection;
    enum write_kind kind;
    struct document_key key;
    bytes document;  /* checked BSON; unused by WRITE_DELETE */
    int32_t own_ttl; /* TTL_ABSENT, TTL_NEVER, seconds (see expiry_own_ttl) */
    uint64_t if_seq; /* 0: whatever version is there; otherwise only this one (PRECONDITION) */
    const struct write_note *note; /* NULL: none */
    int64_t
        stamp_s; /* 0 or less: written now; otherwise it counts as written then, but never later than now */

    status outcome; /* EXISTS, NOT_FOUND, PRECONDITION, DUPLICATE_KEY, TOO_LARGE, INVALID ... */
    bool was_there; /* a living document was replaced or deleted */
    uint64_t seq;
    uint64_t birth_seq;
    int64_t written_at_s;
    uint32_t duplicate_index; /* DUPLICATE_KEY: id of the unique index */
    bytes duplicate_values;   /* and the entry that another document has there, encoded */
};

enum write_mode {
    WRITE_ALL_OR_NOTHING, /* the first operation that fails fails all */
    WRITE_EACH, /* those that can, are written; outcome says which; a CONFLICT fails all */
};

struct write;
/* Called on the committing thread once everything is durable (or failed). Must not block, and so must not
 * begin another write nor look a collection up: both may wait for a change that waits for this thread. */
typedef void write_done(void *context, status outcome);

/* Prepares under latches, then queues; never waits for the disk. On a status other than OK nothing was
 * written and `done` is not called; in WRITE_EACH mode failing operations do not make it fail. The
 * request, its arena and `ops` must live until `done`. Several collections need a backend that commits
 * over partitions (UNSUPPORTED). */
MUST_USE status document_write_begin(struct request *request, struct write_op *ops, size_t count,
                                     enum write_mode mode, write_done *done, void *context);
/* The same, and waits. */
MUST_USE status document_write(struct request *request, struct write_op *ops, size_t count,
                               enum write_mode mode);

/* Several writes of one request, one behind the other: each is prepared by the caller while those before it are on
 * their way to the disk, where another thread has the time for that. Each is a commit of its own, and they are
 * carried out in their order: behind one that was refused, none of those under way is carried out. */
struct write_train {
    struct request *request;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t is_empty;
    size_t under_way;
    bool is_refused; /* the committing thread's, and nobody's while nothing is under way */
};

/* From now on the other writes of the request are parts of it, too. */
void write_train_open(struct write_train *train, struct request *request);
/* As document_write_begin(), but outcomes are known only after the next write_train_wait(); until then the operations, and
 * what they point at, must stay. */
MUST_USE status write_train_add(struct write_train *train, struct write_op *ops, size_t count,
                                enum write_mode mode);
/* Until everything that was added is durable, or has failed. */
void write_train_wait(struct write_train *train);
/* Waits, too. */
void write_train_close(struct write_train *train);

/* ---- figures (exact, the dead left out; C-12) ------------------------------------------------------- */

struct collection_figures {
    uint64_t documents, bytes;               /* living */
    uint64_t dead_documents, dead_bytes;     /* dead, not yet purged */
    int64_t oldest_dead_age_ms;              /* 0 if none */
    uint64_t purged_documents, purged_bytes; /* since start */
};
MUST_USE status collection_figures(struct request *request, const struct collection *collection,
                                   struct collection_figures *out);

/* About how much there is, what is dead but not purged yet included. Takes no time and waits for nobody. */
struct collection_size {
    uint64_t documents, bytes;
};
struct collection_size collection_size(struct request *request,
                                       const struct collection *collection);

/* How many documents will die when: counts[i] of those with from + i*step <= deadline < from+(i+1)*step. */
MUST_USE status collection_forecast(struct request *request, const struct collection *collection,
                                    time_ms from, int64_t step_ms, size_t step_count,
                                    uint64_t *counts);

#endif
