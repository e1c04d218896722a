/* Many operations in one request: a transactional batch (all or nothing, one partition key) or bulk (each
 * for itself). Inside the face. */
#ifndef FRONT_COSMOS_ITEM_BATCH_H
#define FRONT_COSMOS_ITEM_BATCH_H

#include "front/cosmos/item.h"

enum batch_kind {
    BATCH_CREATE,
    BATCH_UPSERT,
    BATCH_READ,
    BATCH_REPLACE,
    BATCH_DELETE,
    BATCH_PATCH,
};

/* One operation, and behind it what became of it. */
struct batch_op {
    enum batch_kind kind;
    bytes id;         /* of the item that is meant */
    bytes partition;  /* encoded */
    struct item item; /* what is written; of a patch: once it was applied */
    struct patch *patch;
    uint64_t if_match;   /* as write_op.if_seq */
    bytes if_none_match; /* BATCH_READ */

    struct item_place place;
    struct write_op *write; /* NULL: nothing was to be written (yet) */
    struct buffer json;     /* begun; empty: no body */
    /* The version that the result shows: that of `shown` if it is there, for a read behind a write. */
    struct item_version version;
    const struct batch_op *shown;
    unsigned http_status; /* of a success */
    struct failure failure;
    charge_units charge;
};

struct batch {
    bool is_atomic;
    bool continues; /* behind a failed operation */
    bool is_minimal;
    struct partition_key partition; /* of the header */
    size_t count;
    struct batch_op *ops;
    struct write_op *writes; /* room for one per operation */
    size_t write_count;
};

bool batch_op_failed(const struct batch_op *op);
/* An operation that failed keeps why; OK. What is no fault of the operation fails the call: not OK. */
MUST_USE status batch_settle(struct call *call, struct batch_op *op, status outcome);
void batch_op_fail(struct batch_op *op, enum failure_kind kind);

/* The next write of the batch: what `op` does to the document of its place. */
MUST_USE status batch_stage(struct call *call, struct batch *batch, struct batch_op *op,
                            uint64_t if_seq);
/* After the commit: status and version of an operation that was staged and did not fail. */
void batch_take_outcome(struct batch_op *op);
/* Where the item of the operation lies. */
MUST_USE status batch_place(struct call *call, struct batch_op *op);
/* Result of a read: 200 with the document, or 304. */
MUST_USE status batch_show(struct call *call, struct batch_op *op, const struct document *document);

MUST_USE status batch_run_atomic(struct call *call, struct batch *batch);
MUST_USE status batch_run_bulk(struct call *call, struct batch *batch);
/* 200, or 207 if an operation failed, with all results; on whatever thread. */
MUST_USE status batch_reply(struct call *call, struct batch *batch);

#endif
