/* Where documents probably lie, so that a read by key need not look up the locator first. A hint may be old or wrong:
 * whoever follows it has to see that the body is there, that it is the document's, and that it was not cut off. */
#ifndef ENGINE_HINTS_H
#define ENGINE_HINTS_H

#include "base/base.h"
#include "engine/expiry_rule.h"

struct hints;

/* Owner: handle. It takes 32 MB at most, or 128, or `room_bytes` if they are more, where there are documents enough. NULL without memory. */
struct hints *hints_open(size_t room_bytes);
void hints_close(struct hints *hints);
/* There are so many documents in one lane, at the least. */
void hints_expect(struct hints *hints, int64_t documents);

/* A slot. */
struct hint {
    unsigned lane;
    time_ms order;
    uint64_t seq;
};
/* `hash` is of the collection and the key, see write_document_hash(). False: nothing is known. */
bool hints_find(const struct hints *hints, uint64_t hash, struct hint *out);
/* The hint is about to be kept or looked for: its place is somewhere in a large table, and comes nearer meanwhile. */
void hints_fetch(const struct hints *hints, uint64_t hash);
void hints_keep(struct hints *hints, uint64_t hash, const struct stamp *stamp);
/* The document is about to go. */
void hints_forget(struct hints *hints, uint64_t hash);

#endif
