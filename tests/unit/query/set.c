/* The set: members are numbered as they come, and nobody can choose keys that all meet in one slot. */
#include "query/set.h"

#include "tests/check.h"

enum { MEMBERS = 2000 };

static bytes key_of(struct arena *arena, unsigned number)
{
    const char *text = arena_format(arena, "key %u", number);

    CHECK(text);
    return bytes_of_text(text);
}

static void check_numbers(uint64_t salt)
{
    struct arena *arena = arena_open(8 << 20);
    size_t number;
    bool is_new;

    random_salt_choose(salt);
    struct set set = set_in(arena);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MEMBERS; i++) {
            CHECK_OK(set_add(&set, key_of(arena, i), &number, &is_new));
            CHECK_EQ(number, i, "");
            CHECK_EQ(is_new, round == 0, "");
        }
    }
    for (unsigned i = 0; i < 2 * MEMBERS; i++)
        CHECK_EQ(set_find(&set, key_of(arena, i), &number) && number == i, i < MEMBERS, "%u", i);
    arena_close(arena);
}

TEST(set, members_are_numbered_as_they_come_whatever_the_salt)
{
    EACH_SEED(seed, 10) {
        struct random random = random_seeded(seed);
        check_numbers(random_next(&random) | 1);
    }
}

TEST(set, keys_that_were_chosen_to_meet_are_spread_by_the_salt)
{
    enum { CHOSEN = 256, SLOTS = 256, KNOWN_SEED = 7 };
    struct arena *arena = arena_open(8 << 20);
    struct set set = set_in(arena);
    bool is_new, is_taken[SLOTS] = { false };
    size_t number, taken = 0;

    for (unsigned i = 0; set.count < CHOSEN; i++) {
        const bytes key = key_of(arena, i);
        if (bytes_hash(key, KNOWN_SEED) % SLOTS == 0)
            CHECK_OK(set_add(&set, key, &number, &is_new));
    }
    for (size_t i = 0; i < set.count; i++)
        is_taken[set.members[i].hash % SLOTS] = true;
    for (size_t i = 0; i < SLOTS; i++)
        taken += is_taken[i];
    CHECK_THAT(taken > SLOTS / 4, "%zu slots", taken);
    arena_close(arena);
}
