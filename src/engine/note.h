/* Notes: small facts that are committed together with an operation on a document (write_op.note): there if, and
 * only if, what the operation did is there, whatever happens to the process. They are for whoever must know later
 * that a write was carried out, and are kept for LIMIT_NOTE_MS at least, and longer if somebody needs them. */
#ifndef ENGINE_NOTE_H
#define ENGINE_NOTE_H

#include "engine/document.h"

struct engine;
struct request;

struct note {
    uint32_t part;
    bytes value;
};
/* The notes that a key has in a collection, older ones first: notes of the same part may be there from longer ago,
 * so the last one of a part is valid. In the arena of the request. */
MUST_USE status note_find(struct request *request, const struct collection *collection, bytes key,
                          struct note **out, size_t *count_out);

/* Is a note that is old enough to go still needed? Then it is kept for LIMIT_NOTE_MS more. Asked on the purger's
 * thread; must not block nor call the engine. */
typedef bool note_keeper(void *context, bytes key, bytes value);
/* Who is asked; every note goes when it is old enough if there never was anybody. NULL: whoever was asked leaves, and
 * all notes stay until there is somebody again, because nobody can say which are needed. When this returns, nobody
 * else is asked any more; it waits for an answer at most, not for the purger. */
void engine_keep_notes(struct engine *engine, note_keeper *keeper, void *context);

#endif
