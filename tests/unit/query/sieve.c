/* The sieve: whatever equals a value that was added passes, and most of the others do not. */
#include "query/sieve.h"

#include "tests/check.h"
#include "tests/unit/value/samples.h"

static bytes key_of(struct arena *arena, struct value value)
{
    struct buffer key = buffer_in(arena);
    bytes out;

    key_append_value(&key, value, KEY_ASCENDING);
    CHECK_OK(buffer_finish(&key, &out));
    return out;
}

/* Few are added, so that it is often able to tell; numbers are equal across types. */
static void check_random(uint64_t seed, bool is_number)
{
    enum { ADDED = 3, ASKED = 200 };
    struct random random = random_seeded(seed);
    struct arena *arena = arena_open(1 << 20);
    bytes added[ADDED];
    struct sieve sieve;

    CHECK_OK(sieve_open(arena, NULL, ADDED, &sieve));
    for (size_t i = 0; i < ADDED; i++) {
        struct value value = is_number ? sample_random_number(&random, arena)
                                       : sample_random(&random, arena, 1);
        added[i] = key_of(arena, value);
        sieve_add(&sieve, value);
    }
    for (size_t i = 0; i < ASKED; i++) {
        struct value value = is_number ? sample_random_number(&random, arena)
                                       : sample_random(&random, arena, 1);
        for (size_t j = 0; j < ADDED; j++)
            CHECK_THAT(sieve_passes(&sieve, value) || !bytes_equal(key_of(arena, value), added[j]),
                       "a value of type %d is held back (seed %llu)", value.type,
                       (unsigned long long)seed);
    }
    arena_close(arena);
}

TEST(sieve, what_equals_a_value_passes_whatever_its_type)
{
    EACH_SEED(seed, 60) {
        check_random(seed, true);
        check_random(seed, false);
    }
}

TEST(sieve, most_of_the_others_are_held_back)
{
    enum { ADDED = 1000, ASKED = 10000 };
    struct arena *arena = arena_open(4 << 20);
    struct sieve sieve;
    int passed = 0;

    CHECK_OK(sieve_open(arena, NULL, ADDED, &sieve));
    for (int i = 0; i < ADDED; i++)
        sieve_add(&sieve, sample_int32(arena, i));
    for (int i = 0; i < ASKED; i++)
        passed += sieve_passes(&sieve, sample_double(arena, ADDED + i));
    CHECK_THAT(passed < ASKED / 6, "%d of %d pass", passed, ASKED);
    arena_close(arena);
}

TEST(sieve, texts_of_a_collation_are_not_told_apart)
{
    struct arena *arena = arena_open(1 << 20);
    const struct collation *by;
    struct collations *table;
    struct sieve sieve;

    CHECK_OK(collations_open(&table));
    CHECK_OK(
        collations_find(table, arena, sample_json(arena, "{'locale':'en','strength':2}"), &by));
    CHECK_OK(sieve_open(arena, by, 1, &sieve));
    sieve_add(&sieve, sample_int32(arena, 7));
    CHECK(sieve_passes(&sieve, sample_text(arena, VALUE_STRING, BYTES_LITERAL("a"))));
    CHECK(!sieve_passes(&sieve, sample_int32(arena, 8)));
    sieve_add(&sieve, sample_text(arena, VALUE_STRING, BYTES_LITERAL("A")));
    CHECK_THAT(sieve_passes(&sieve, sample_int32(arena, 8)), "it cannot tell any more");
    collations_close(table);
    arena_close(arena);
}
