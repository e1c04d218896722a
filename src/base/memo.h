/* Short bytes under keys of four words, remembered as long as nobody else needs their place. What is found is what
 * was kept under that very key; what is not found was never kept, or had to go. */
#ifndef BASE_MEMO_H
#define BASE_MEMO_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/bytes.h"

enum { MEMO_BYTES = 976 }; /* longer ones are not kept */

/* The first word is a hash and chooses the place. The third one is not 0. */
struct memo_key {
    uint64_t words[4];
};

struct memo;

/* Room for twice as many, a kilobyte each; memory is taken when it is written to. Owner: handle. NULL without memory. */
struct memo *memo_open(size_t pairs);
void memo_close(struct memo *memo);

/* In the arena. */
bool memo_find(const struct memo *memo, const struct memo_key *key, struct arena *arena,
               bytes *out);
/* Or behind what the buffer holds. */
bool memo_append(const struct memo *memo, const struct memo_key *key, struct buffer *out);
/* False: nothing under this hash would be found now. */
bool memo_may_have(const struct memo *memo, uint64_t hash);
/* Soon somebody will ask that; the answer is fetched meanwhile. */
void memo_expect(const struct memo *memo, uint64_t hash);
void memo_keep(struct memo *memo, const struct memo_key *key, bytes text);
/* Is it worth keeping something under this hash? It is if there is room, or something of the hash is there, or if it comes a
 * second time: to push out others costs more than most of what is met once will ever give back. */
bool memo_wants(struct memo *memo, uint64_t hash);
/* Was a key of this hash met lately? From now on it was. For those who keep only what comes a second time. */
bool memo_has_met(struct memo *memo, uint64_t hash);

#endif
