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

uint64_t random_next(struct random *random);
/* Uniform in [0, bound); bound is not 0. */
uint64_t random_below(struct random *random, uint64_t bound);
/* True in `percent` of 100 calls. */
int random_chance(struct random *random, unsigned percent);
/* From the system, unpredictable. */
void random_secret(void *out, size_t len);

#endif
