/* Random numbers from a seed, so that every random test can be replayed. Not for secrets: those come
 * from random_secret(). */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline struct random random_seeded(uint64_t seed)
{
    return (struct random){ .state = seed };
}

/* Draws a seed by random_secret(), unless there is one: to be called where the first number is wanted, since most never are. */
void random_begin(struct random *random);
uint64_t random_next(struct random *random);
/* Uniform in [0, bound); bound is not 0. */
uint64_t random_below(struct random *random, uint64_t bound);
/* True in `percent` of 100 calls. */
int random_chance(struct random *random, unsigned percent);
/* From the system, unpredictable. */
void random_secret(void *out, size_t len);

/* An odd number that nobody outside knows, drawn once for the process. Clients choose the keys of most tables; a table
 * that hashes them with this one cannot be made slow by keys that were chosen to meet in one place. Nothing that is
 * stored, told or ordered may depend on it. */
uint64_t random_salt(void);
/* For tests: another one, which must be odd. Tables that are open already must keep theirs. */
void random_salt_choose(uint64_t salt);

#endif
