/* Inside the engine: a write between its preparation and its commit. */
#ifndef ENGINE_WRITE_H
#define ENGINE_WRITE_H

#include "engine/index.h"
#include "engine/state.h"

struct table_node {
    struct table_node *next;
    uint64_t hash;
    bytes key;
    void *item;
};

struct table {
    struct arena *arena;
    struct table_node **buckets;
    size_t bucket_count; /* a power of two */
    size_t count;
};

/* What a write does to one document: from what is stored to what will be. */
struct document_change {
    struct document_change *next;
    struct document_change *same_key; /* in another collection */
    const struct collection *collection;
    struct collection_state *state;
    bytes locator_key;
    uint64_t hash; /* of both, see write_document_hash() */

    /* stored */
    bool has_old; /* rows are there, alive or dead, to be removed */
    struct stamp old;
    enum verdict old_verdict;
    uint64_t old_cuts;  /* of its lane, when it was looked at */
    bytes old_document; /* only where indexes or a reader of deaths need it */
    struct index_entries old_entries;
    bytes *old_keys;

    /* as the operations of this write see it */
    bool is_touched;
    bool is_visible;
    bool is_reborn;    /* it died before the commit, and an operation began a new life */
    bool is_displaced; /* it leaves a bounded collection because others come */
    uint64_t visible_seq;
    uint64_t birth_seq;

    struct intent *intent; /* inside a transaction: that on the document */

    /* to be stored */
    bool has_new;
    bytes document;
    int32_t own_ttl;
    struct stamp fresh;
    struct index_entries entries;
    bytes *keys;
    bytes *backlog_keys; /* of lazy indexes; without the number of the write */
    size_t backlog_count;
    uint8_t *body_value;
    size_t body_value_len;
    uint8_t *arrival_values, *arrival_key; /* where the birth is written; NULL: nowhere */
};

struct step_of_write {
    const struct collection *collection; /* newest descriptor */
    bytes locator_key;
    struct index_entries entries;
    struct document_change *change; /* NULL if the operation failed */
    bool is_new;                    /* its key is known not to be there */
    bool is_birth;                  /* the document was not there before it */
    bytes note_key;                 /* empty: no note */
};

/* A document that may have to leave a bounded collection. */
struct arrival {
    bytes locator_key;
    uint32_t body_len;
};

/* A bounded collection that something comes to; see write_bounds.c. */
struct bounds {
    struct collection_state *state; /* its turn is taken */
    const struct collection *collection;
    int64_t documents, bytes; /* alive */
    struct arrival *first;    /* those that came first, as many as may have to leave */
    size_t count, room;
    bool is_full;     /* something may have to leave; otherwise nothing was counted */
    bool has_no_more; /* all that are alive are in `first` */
};

struct write {
    struct commit commit;
    struct request *request;
    struct write_op *ops;
    size_t op_count;
    enum write_mode mode;
    struct step_of_write *steps;
    struct collection_state **states; /* by id */
    size_t state_count, entered;
    struct latch_set latches;
    bool has_latches;
    struct bounds *bounds;
    size_t bounds_count;
    size_t leaving_count; /* documents that no operation names */
    bool has_arrivals;    /* documents for an index by arrival */
    struct table by_key, by_unique;
    struct document_change *changes;
    write_done *done;
    void *context;
};

/* write_table.c */
MUST_USE status table_open(struct arena *arena, size_t expected, struct table *out);
/* NULL if there is none. */
void *table_find(const struct table *table, uint64_t hash, bytes key);
MUST_USE status table_put(struct table *table, uint64_t hash, bytes key, void *item);

/* write.c */
MUST_USE status write_prepare(struct request *request, struct write_op *ops, size_t count,
                              enum write_mode mode, struct write **out);
void write_release(struct write *write);
/* Who writes it to the disk, if nobody does so at the moment: the caller, or a hand of the crew. */
enum committer { COMMIT_HERE, COMMIT_ASIDE };
/* As document_write_begin(). */
MUST_USE status write_begin(struct request *request, struct write_op *ops, size_t count,
                            enum write_mode mode, enum committer committer, write_done *done,
                            void *context);
uint64_t write_document_hash(const struct collection_state *state, bytes locator_key);
bool write_is_unique(const struct collection *collection, const struct index_entry *entry);
/* Is there another document that lives at the request's now and has the entry? Those that the write itself, or
 * the transaction in which it is, has changed are passed over where they are stored. */
MUST_USE status write_find_holder(struct write *write, struct request *seen,
                                  const struct document_change *mine,
                                  const struct index_entry *entry, bool *out);

/* write_intent.c */
/* Has a transaction other than the one of the request announced a key? */
bool write_meets_intent(const struct write *write, uint64_t *hash_out);
/* Inside a transaction: before a document, or a unique key, is written. CONFLICT. */
MUST_USE status write_announce(struct write *write, struct document_change *change);
MUST_USE status write_announce_unique(struct write *write, const struct document_change *change,
                                      const struct index_entry *entry);

/* transaction.c: a write inside, instead of its commit; gives back what the write holds */
MUST_USE status transaction_take(struct write *write);

/* Sequence numbers in the order of the operations; a document gets that of its last one. */
void write_assign(struct write *write, uint64_t *seq, int64_t now_s);
/* The rows of a touched document in place of those it had, nothing counted. */
void write_lay_rows(struct storage *storage, struct storage_batch *batch,
                    struct document_change *change);

MUST_USE status write_find_change(struct write *write, const struct step_of_write *step,
                                  struct document_change **out);

/* write_new.c: inside the latches, before any operation is decided. */
MUST_USE status write_find_new(struct write *write);

/* write_bounds.c */
/* Is it small enough for the collection it comes to? */
MUST_USE status bounds_check(struct arena *arena, const struct collection *collection,
                             const struct write_op *op);
/* Inside the gates, before latches are taken: waits for its turn in every bounded collection that something may
 * come to, and finds what may have to leave. */
MUST_USE status bounds_enter(struct write *write);
/* Inside the latches, when every operation is decided. */
MUST_USE status bounds_apply(struct write *write);
void bounds_leave(struct write *write);

/* write_commit.c: on the committing thread */
status write_stamp(struct commit *commit, struct storage_batch *batch);
void write_finish(struct commit *commit, status outcome);

#endif
