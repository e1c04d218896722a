/* Short bytes one behind the other: found whole or not at all, also while others write and the ring goes round. */
#include "base/trail.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"
#include "tests/check.h"

enum { WORDS = 256, BUCKETS = 64 };

static struct memo_key key_of(uint64_t n)
{
    return (struct memo_key){
        {bytes_hash(bytes_of(&n, sizeof(n)), 3), 5, n + 1, 7}
    };
}

/* `len` bytes that say which key they are for. */
static bytes text_of(uint64_t n, size_t len, uint8_t room[TRAIL_BYTES])
{
    memset(room, (int)('a' + n % 26), len);
    return bytes_of(room, len);
}

TEST(trail, finds_what_was_kept_under_the_very_key)
{
    struct arena *arena = arena_open(1 << 20);
    struct trail *trail = trail_open(WORDS, BUCKETS);
    struct memo_key key = key_of(1), other;
    char longest[TRAIL_BYTES + 1] = { 0 };
    bytes found;

    CHECK(!trail_find(trail, &key, arena, &found));
    trail_expect(trail, key.words[0]);
    CHECK(!trail_may_have(trail, key.words[0]));
    trail_keep(trail, &key, BYTES_LITERAL("temperature"));
    CHECK(trail_may_have(trail, key.words[0]));
    CHECK(trail_find(trail, &key, arena, &found));
    CHECK_BYTES(found, BYTES_LITERAL("temperature"), "");
    for (int i = 0; i < 4; i++) {
        other = key;
        other.words[i]++;
        CHECK(!trail_find(trail, &other, arena, &found));
        CHECK_EQ(found.len, 0, "");
    }
    trail_keep(trail, &key, BYTES_NONE);
    CHECK(trail_find(trail, &key, arena, &found) && found.len == 0);
    trail_keep(trail, &key, bytes_of(longest, TRAIL_BYTES));
    CHECK(trail_find(trail, &key, arena, &found) && found.len == TRAIL_BYTES);
    trail_keep(trail, &key, bytes_of(longest, TRAIL_BYTES + 1));
    CHECK(trail_find(trail, &key, arena, &found) && found.len == TRAIL_BYTES);
    trail_close(trail);
    arena_close(arena);
}

TEST(trail, a_key_that_is_kept_again_has_its_last_text)
{
    struct arena *arena = arena_open(1 << 20);
    struct trail *trail = trail_open(WORDS, BUCKETS);
    const struct memo_key key = key_of(1);
    char text[32];
    bytes found;

    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "text %d", i);
        trail_keep(trail, &key, bytes_of_text(text));
        CHECK(trail_find(trail, &key, arena, &found));
        CHECK_BYTES(found, bytes_of_text(text), "");
    }
    trail_close(trail);
    arena_close(arena);
}

/* Records of every length, so that they end everywhere in the ring; after each one those that must be there are, and
 * those that are gone are not taken for others. */
TEST(trail, the_last_ones_that_fit_are_there_and_all_that_is_found_is_right)
{
    enum { KEYS = 3000, HEAD_BYTES = 40 };
    struct arena *arena = arena_open(1 << 20);
    struct trail *trail = trail_open(WORDS, 4096); /* hardly any bucket has more than four */
    uint8_t room[TRAIL_BYTES];
    bytes found;

    for (uint64_t n = 0; n < KEYS; n++) {
        const struct memo_key key = key_of(n);
        trail_keep(trail, &key, text_of(n, n * 7 % 300, room));
        size_t behind = 0;
        for (uint64_t back = 0; back < 50 && back <= n; back++) {
            const struct memo_key earlier = key_of(n - back);
            const size_t len = (n - back) * 7 % 300;
            behind += HEAD_BYTES + (len + 7) / 8 * 8;
            const bool is_found = trail_find(trail, &earlier, arena, &found);
            /* The end of the ring may be left empty, for as much as one of the longest. */
            CHECK(is_found || behind > WORDS * 8 - HEAD_BYTES - 304);
            CHECK(!is_found || behind <= WORDS * 8);
            if (is_found)
                CHECK_BYTES(found, text_of(n - back, len, room), "");
            CHECK_EQ(trail_may_have(trail, earlier.words[0]), is_found, "");
            arena_reset(arena);
        }
    }
    trail_close(trail);
    arena_close(arena);
}

TEST(trail, a_bucket_leads_to_the_last_four_of_its_keys)
{
    struct arena *arena = arena_open(1 << 20);
    struct trail *trail = trail_open(WORDS, 1);
    bytes found;

    for (uint64_t n = 1; n <= 9; n++) {
        const struct memo_key key = {
            {n, 1, 1, 1}
        };
        trail_keep(trail, &key, BYTES_LITERAL("text"));
    }
    for (uint64_t n = 1; n <= 9; n++) {
        const struct memo_key key = {
            {n, 1, 1, 1}
        };
        CHECK_EQ(trail_find(trail, &key, arena, &found), n > 5, "%d", (int)n);
    }
    trail_close(trail);
    arena_close(arena);
}

TEST(trail, knows_what_comes_a_second_time)
{
    struct trail *trail = trail_open(WORDS, BUCKETS);

    CHECK(!trail_has_met(trail, 77));
    CHECK(trail_has_met(trail, 77));
    CHECK(!trail_has_met(trail, 78));
    CHECK(!trail_has_met(trail, 77));
    trail_close(trail);
}

TEST(trail, wants_what_its_bucket_has_room_for_or_what_comes_again)
{
    struct trail *trail = trail_open(WORDS, 1);

    for (uint64_t n = 1; n <= 4; n++) {
        const struct memo_key key = {
            {n, 1, 1, 1}
        };
        CHECK(trail_wants(trail, n));
        trail_keep(trail, &key, BYTES_LITERAL("text"));
        CHECK(trail_wants(trail, n));
    }
    CHECK(!trail_wants(trail, 5));
    CHECK(trail_wants(trail, 5));
    CHECK(!trail_wants(trail, 6));
    CHECK(!trail_wants(trail, 5));
    CHECK(trail_wants(trail, 4));
    trail_close(trail);
}

TEST(trail, a_full_ring_wants_what_is_there_or_comes_again_but_not_what_is_gone)
{
    struct trail *trail = trail_open(WORDS, BUCKETS);
    uint8_t room[TRAIL_BYTES];

    for (uint64_t n = 0; n < 20; n++) {
        const struct memo_key key = key_of(n);
        trail_keep(trail, &key, text_of(n, 200, room));
    }
    const struct memo_key last = key_of(19), gone = key_of(0), new = key_of(100);
    CHECK(trail_wants(trail, last.words[0]));
    CHECK(!trail_wants(trail, gone.words[0]));
    CHECK(trail_wants(trail, gone.words[0]));
    CHECK(!trail_wants(trail, new.words[0]));
    trail_close(trail);
}

/* ---- beside writers ------------------------------------------------------------------------------- */

enum { RACED = 8 };

struct scene {
    struct trail *trail;
    _Atomic bool is_over;
};

static void *write_on(void *context)
{
    struct scene *scene = context;
    uint8_t room[TRAIL_BYTES];

    for (uint64_t i = 0; !atomic_load(&scene->is_over); i++) {
        const struct memo_key key = key_of(i % RACED);
        trail_keep(scene->trail, &key, text_of(i % RACED, 100 + i % 800, room));
    }
    return NULL;
}

/* A ring of two or three texts: most of them are written over while they are read. */
TEST(trail, gives_nothing_that_is_half_written)
{
    struct scene scene = { .trail = trail_open(WORDS, BUCKETS) };
    struct arena *arena = arena_open(1 << 20);
    pthread_t threads[2];
    unsigned found_count = 0;
    bytes found;

    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, write_on, &scene), 0, "");
    for (uint64_t i = 0; i < 3000000 && found_count < 20000; i++) {
        const struct memo_key key = key_of(i % RACED);
        arena_reset(arena);
        if (!trail_find(scene.trail, &key, arena, &found))
            continue;
        found_count++;
        CHECK(found.len >= 100 && found.len < 900);
        for (size_t at = 0; at < found.len; at++)
            CHECK_EQ(found.data[at], 'a' + i % RACED, "");
    }
    atomic_store(&scene.is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(found_count > 0);
    trail_close(scene.trail);
    arena_close(arena);
}
