/* Random: a seeded generator (splitmix64) and the system's source for secrets.
 *
 * A generator is a plain value owned by its user; nothing is shared between threads. */
#include "base/random.h"

#include <errno.h>
#include <sys/random.h>

#include "base/check.h"

uint64_t random_next(struct random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t random_below(struct random *random, uint64_t bound)
{
    ASSERT(bound > 0);
    return (uint64_t)(((__uint128_t)random_next(random) * bound) >> 64);
}

int random_chance(struct random *random, unsigned percent)
{
    return random_below(random, 100) < percent;
}

void random_secret(void *out, size_t len)
{
    uint8_t *at = out;

    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        ASSERT(got > 0);
        at += got;
        len -= (size_t)got;
    }
}
