/* Documents as the engine keeps them, and as clients of this protocol see them. A document that came
 * through this face is kept as it was sent, with _id in front; one that came through another face may have
 * no _id, and then shows its id as _id. Inside the face only. */
#ifndef FRONT_MONGO_KEPT_H
#define FRONT_MONGO_KEPT_H

#include "front/mongo/command.h"

/* A document that may be written. In the arena of the command. */
struct kept {
    bytes bson;
    struct value id;
    struct document_key key;
    int32_t own_ttl;
};

/* Checks a document that is to be stored: puts its _id in front, makes one if it has none, judges its size
 * and its `ttl`. `before` is what it replaces, as clients see it; empty if it is new. Faults: 53, 52, 10334, 2,
 * 121. */
MUST_USE status kept_take(struct command *command, const struct collection *collection,
                          bytes before, bytes document, struct kept *out);
/* As clients see it; the document itself where there is nothing to change, otherwise in `arena`. */
MUST_USE status kept_show(struct arena *arena, const struct collection *collection,
                          struct document_key key, bytes bson, bytes *out);
/* The id part of a key. */
MUST_USE status kept_id_key(struct arena *arena, const struct collection *collection,
                            struct value id, bytes *out);
/* Nothing but _id may be asked of the key, because the collection has no partition key. */
bool kept_is_keyed_by_id(const struct collection *collection);

/* keyPattern and keyValue of a second document with the same _id, and the sentence. */
MUST_USE status kept_fault_duplicate_id(struct command *command, bytes name,
                                        const struct collection *collection, struct value id,
                                        struct fault *out);

#endif
