/* Short bytes that are remembered under keys: found whole or not at all, also while others write. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/base.h"
#include "base/memo.h"
#include "tests/check.h"

static struct memo_key key_of(uint64_t n)
{
    return (struct memo_key){
        {bytes_hash(bytes_of(&n, sizeof(n)), 3), 5, n + 1, 7}
    };
}

TEST(memo, finds_what_was_kept_under_the_very_key)
{
    struct arena *arena = arena_open(1 << 20);
    struct memo *memo = memo_open(16);
    struct memo_key key = key_of(1), other;
    char longest[MEMO_BYTES + 1] = { 0 };
    bytes found;

    CHECK(!memo_find(memo, &key, arena, &found));
    memo_expect(memo, key.words[0]);
    CHECK(!memo_may_have(memo, key.words[0]));
    memo_keep(memo, &key, BYTES_LITERAL("temperature"));
    CHECK(memo_find(memo, &key, arena, &found));
    CHECK_BYTES(found, BYTES_LITERAL("temperature"), "");
    for (int i = 0; i < 4; i++) {
        other = key;
        other.words[i]++;
        CHECK(!memo_find(memo, &other, arena, &found));
    }
    memo_keep(memo, &key, BYTES_NONE);
    CHECK(memo_find(memo, &key, arena, &found) && found.len == 0);
    memo_keep(memo, &key, bytes_of(longest, MEMO_BYTES));
    CHECK(memo_find(memo, &key, arena, &found) && found.len == MEMO_BYTES);
    memo_keep(memo, &key, bytes_of(longest, MEMO_BYTES + 1));
    CHECK(memo_find(memo, &key, arena, &found) && found.len == MEMO_BYTES);
    memo_close(memo);
    arena_close(arena);
}

TEST(memo, forgets_the_old_for_the_new_and_nothing_else)
{
    enum { KEYS = 500 };
    struct arena *arena = arena_open(1 << 20);
    struct memo *memo = memo_open(16);
    unsigned there = 0;
    char text[32];
    bytes found;

    for (unsigned n = 0; n < KEYS; n++) {
        const struct memo_key key = key_of(n);
        snprintf(text, sizeof(text), "text %u", n);
        memo_keep(memo, &key, bytes_of_text(text));
        CHECK(memo_find(memo, &key, arena, &found));
    }
    for (unsigned n = 0; n < KEYS; n++) {
        const struct memo_key key = key_of(n);
        if (!memo_find(memo, &key, arena, &found))
            continue;
        snprintf(text, sizeof(text), "text %u", n);
        CHECK_BYTES(found, bytes_of_text(text), "");
        there++;
    }
    CHECK(there > 16 && there <= 32);
    memo_close(memo);
    arena_close(arena);
}

TEST(memo, knows_what_comes_a_second_time)
{
    struct memo *memo = memo_open(16);

    CHECK(!memo_has_met(memo, 77));
    CHECK(memo_has_met(memo, 77));
    CHECK(!memo_has_met(memo, 78));
    CHECK(!memo_has_met(memo, 77));
    memo_close(memo);
}

TEST(memo, wants_what_there_is_room_for_or_what_comes_again)
{
    struct memo *memo = memo_open(1);
    const struct memo_key first = { { 71, 1, 1, 1 } }, second = { { 72, 1, 1, 1 } };

    CHECK(memo_wants(memo, 71));
    CHECK(memo_wants(memo, 72));
    memo_keep(memo, &first, BYTES_LITERAL("first"));
    CHECK(memo_wants(memo, 72));
    memo_keep(memo, &second, BYTES_LITERAL("second"));
    CHECK(memo_wants(memo, 71));
    CHECK(memo_wants(memo, 72));
    CHECK(!memo_wants(memo, 73));
    CHECK(memo_wants(memo, 73));
    CHECK(!memo_wants(memo, 74));
    CHECK(!memo_wants(memo, 73));
    memo_close(memo);
}

/* ---- beside writers ------------------------------------------------------------------------------- */

struct scene {
    struct memo *memo;
    _Atomic bool is_over;
};

/* All bytes of a text are the same, and say which key it is for. */
static void *write_on(void *context)
{
    struct scene *scene = context;
    char text[MEMO_BYTES];

    for (uint64_t i = 0; !atomic_load(&scene->is_over); i++) {
        const struct memo_key key = key_of(i % 8);
        memset(text, (int)('a' + i % 8), sizeof(text));
        memo_keep(scene->memo, &key, bytes_of(text, 100 + i % 800));
    }
    return NULL;
}

TEST(memo, gives_nothing_that_is_half_written)
{
    struct scene scene = { .memo = memo_open(2) };
    struct arena *arena = arena_open(1 << 20);
    pthread_t threads[2];
    unsigned found_count = 0;
    bytes found;

    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, write_on, &scene), 0, "");
    for (uint64_t i = 0; i < 3000000 && found_count < 2000; i++) {
        const struct memo_key key = key_of(i % 8);
        arena_reset(arena);
        if (!memo_find(scene.memo, &key, arena, &found))
            continue;
        found_count++;
        CHECK(found.len >= 100);
        for (size_t at = 0; at < found.len; at++)
            CHECK_EQ(found.data[at], 'a' + i % 8, "");
    }
    atomic_store(&scene.is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK(found_count > 0);
    memo_close(scene.memo);
    arena_close(arena);
}
