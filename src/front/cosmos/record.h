/* Users and permissions as they are kept: documents of a database of the face's own, which is made when the
 * first one is written and shown to nobody. Inside the face only. */
#ifndef FRONT_COSMOS_RECORD_H
#define FRONT_COSMOS_RECORD_H

#include "front/cosmos/call.h"

enum record_kind { RECORD_USER, RECORD_PERMISSION };

/* In the arena of the call. */
struct record {
    bytes document;  /* with more fields than these */
    bytes id;        /* one of its kind under its owner */
    uint64_t number; /* never used again; it stays when the id changes */
    uint64_t seq;    /* of the last write: the number of its etag */
    int64_t ts;
};

/* A user belongs to a database (its number), a permission to a user (its number). */
struct record_owner {
    enum record_kind kind;
    uint64_t number;
};

MUST_USE status record_find(struct call *call, struct record_owner owner, bytes id,
                            struct record *out, bool *is_there_out);
/* In no particular order; ends at the first failure, which is returned. */
typedef status record_visit(struct call *call, const struct record *record, void *context);
MUST_USE status record_each(struct call *call, struct record_owner owner, record_visit *visit,
                            void *context);

/* ---- changing: inside resource_change() only --------------------------------------------------------- */

/* Makes the database if it is not there; calls call_renew() then. */
MUST_USE status record_prepare(struct call *call);
/* A number for a new record. */
uint64_t record_next_number(struct call *call);
/* Begins a document with what all records have; end it with document_end(). */
size_t record_begin(struct buffer *out, struct record_owner owner, bytes id, uint64_t number);
/* Puts the record in the place of the one with `old_id`, which may be its own; empty: it is new. Sets seq
 * and ts. EXISTS if another one has its id. */
MUST_USE status record_put(struct call *call, struct record_owner owner, bytes old_id,
                           struct record *record);
MUST_USE status record_delete(struct call *call, struct record_owner owner, bytes id);
MUST_USE status record_delete_all(struct call *call, struct record_owner owner);

#endif
