/* Notes: small facts that are committed together with an operation on a document (write_op.note): there if, and
 * only if, what the operation did is there, whatever happens to the process. They are for whoever must know later
 * that a write was carried out, and are kept for LIMIT_NOTE_MS at least. */
#ifndef ENGINE_NOTE_H
#define ENGINE_NOTE_H

#include "engine/document.h"

struct request;

struct note {
    uint32_t part;
    bytes value;
};
/* The notes that a key has in a collection, older ones first: notes of the same part may be there from longer ago,
 * so the last one of a part is valid. In the arena of the request. */
MUST_USE status note_find(struct request *request, const struct collection *collection, bytes key,
                          struct note **out, size_t *count_out);

#endif
