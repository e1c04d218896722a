/* Random: a seeded generator (splitmix64) and the system's source for secrets.
 *
 * A generator is a plain value owned by its user; threads share nothing but the salt, which is atomic. */
#include "base/random.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/random.h>

#include "base/check.h"

void random_begin(struct random *random)
{
    if (random->state == 0)
        random_secret(random, sizeof(*random));
}

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

/* tidy: global because it is one for the process, and the same from the first question on; 0: not drawn yet */
static _Atomic uint64_t chosen_salt;

static uint64_t draw_salt(void)
{
    uint64_t salt = 0, before = 0;

#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* where everything shall go the same way again */
    random_secret(&salt, sizeof(salt));
#endif
    salt |= 1;
    return atomic_compare_exchange_strong(&chosen_salt, &before, salt) ? salt : before;
}

uint64_t random_salt(void)
{
    const uint64_t salt = atomic_load_explicit(&chosen_salt, memory_order_relaxed);

    return salt ? salt : draw_salt();
}

void random_salt_choose(uint64_t salt)
{
    ASSERT(salt % 2 == 1);
    atomic_store(&chosen_salt, salt);
}
