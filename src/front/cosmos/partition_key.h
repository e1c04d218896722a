/* The partition key of items: as a header gives it, as a document has it, and whether both agree. Inside it
 * is the encoded bytes that stand in front of an item's key. */
#ifndef FRONT_COSMOS_PARTITION_KEY_H
#define FRONT_COSMOS_PARTITION_KEY_H

#include "front/cosmos/call.h"

struct partition_key {
    bool is_given;
    size_t count;  /* components; fewer than the container has paths: a prefix, for queries only */
    bytes encoded; /* as document_key.partition */
};

/* A JSON array: text, numbers, booleans, null, {} for a property that is not there. A container without
 * partition key paths takes any and has an empty key. FAIL_BAD_REQUEST for what cannot be a key,
 * FAIL_PARTITION_KEY for more components than the container has paths. */
MUST_USE status partition_key_parse(struct call *call, bytes json, struct partition_key *out);
/* The header x-ms-documentdb-partitionkey, complete; not given if it is not there. */
MUST_USE status partition_key_of_header(struct call *call, struct partition_key *out);
/* The same for operations that cannot do without. */
MUST_USE status partition_key_required(struct call *call, struct partition_key *out);
/* What a query or a feed is limited to, a prefix or nothing too. */
MUST_USE status partition_key_of_scope(struct call *call, struct partition_key *out);

/* The key of a document. FAIL_BAD_REQUEST for an object or array, or one that is too long. */
MUST_USE status partition_key_of_document(struct call *call, bytes document, bytes *encoded_out);
/* FAIL_PARTITION_KEY unless both are the same, or none was given. */
MUST_USE status partition_key_check(struct call *call, const struct partition_key *given,
                                    bytes encoded);
/* FAIL_PARTITION_KEY unless every component is there. */
MUST_USE status partition_key_check_whole(struct call *call, const struct partition_key *given);

#endif
