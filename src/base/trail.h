/* Short bytes under keys of four words, one behind the other in memory of a given size, so that each takes the room that
 * it needs; when the end is reached the oldest make room. What is found is what was kept under that very key; what is not found
 * was never kept, or had to go. See base/memo.h for places of one size, where each makes room for its own neighbour only. */
#ifndef BASE_TRAIL_H
#define BASE_TRAIL_H

#include "base/memo.h"

enum { TRAIL_BYTES = MEMO_BYTES }; /* longer ones are not kept */

struct trail;

/* `words` of 8 bytes, of which each text takes five beside its own; at least room for one of the longest. Places for
 * four times as many keys as there are `buckets`, 16 bytes each; both are powers of two. Memory is taken when it is written
 * to. Owner: handle. NULL without memory. */
struct trail *trail_open(size_t words, size_t buckets);
void trail_close(struct trail *trail);

/* In the arena. */
bool trail_find(const struct trail *trail, const struct memo_key *key, struct arena *arena,
                bytes *out);
/* False: nothing under this hash would be found now. */
bool trail_may_have(const struct trail *trail, uint64_t hash);
/* Soon somebody will ask that; the answer is fetched meanwhile. */
void trail_expect(const struct trail *trail, uint64_t hash);
/* Or not, if somebody else is just keeping something. */
void trail_keep(struct trail *trail, const struct memo_key *key, bytes text);
/* Is it worth keeping something under this hash? See memo_wants(). */
bool trail_wants(struct trail *trail, uint64_t hash);
/* Was a key of this hash met lately? From now on it was. For those who keep only what comes a second time. */
bool trail_has_met(struct trail *trail, uint64_t hash);

#endif
