/* Arenas: budget, marks, growing in place. */
#include "base/base.h"
#include "tests/check.h"

#include <stdint.h>

TEST(arena, pieces_are_aligned_and_do_not_overlap)
{
    struct arena *arena = arena_open(1 << 20);
    uint8_t *pieces[200];

    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        void *piece;
        CHECK_OK(arena_take(arena, i, &piece));
        CHECK_EQ((uintptr_t)piece % 16, 0, "piece %zu", i);
        pieces[i] = piece;
        memset(piece, (int)i, i);
    }
    for (size_t i = 0; i < ARRAY_COUNT(pieces); i++) {
        for (size_t at = 0; at < i; at++)
            CHECK_EQ(pieces[i][at], i, "byte %zu", at);
    }
    arena_close(arena);
}

TEST(arena, budget_bounds_what_is_taken)
{
    struct arena *arena = arena_open(1024);
    void *piece;

    CHECK_OK(arena_take(arena, 1008, &piece));
    CHECK_CODE(arena_take(arena, 17, &piece), OUT_OF_MEMORY);
    CHECK(piece == NULL);
    CHECK_OK(arena_take(arena, 16, &piece));
    CHECK_CODE(arena_take(arena, 1, &piece), OUT_OF_MEMORY);
    CHECK(arena_try_take(arena, 1) == NULL);
    CHECK_EQ(arena_used_bytes(arena), 1024, "");
    arena_close(arena);
}

TEST(arena, sizes_that_overflow_are_out_of_memory)
{
    struct arena *arena = arena_open(SIZE_MAX);
    void *piece;

    CHECK_CODE(arena_take(arena, SIZE_MAX, &piece), OUT_OF_MEMORY);
    CHECK_CODE(arena_take_array(arena, SIZE_MAX / 2, 3, &piece), OUT_OF_MEMORY);
    CHECK(piece == NULL);
    arena_close(arena);
}

TEST(arena, arrays_are_zeroed)
{
    struct arena *arena = arena_open(1 << 20);
    uint64_t *array;

    CHECK_OK(ARENA_NEW(arena, 100, &array));
    memset(array, 0xFF, 100 * sizeof(*array));
    arena_reset(arena);
    CHECK_OK(ARENA_NEW(arena, 100, &array));
    for (size_t i = 0; i < 100; i++)
        CHECK_EQ(array[i], 0, "");
    arena_close(arena);
}

TEST(arena, release_gives_back_all_since_the_mark)
{
    struct arena *arena = arena_open(1 << 20);
    void *kept;
    void *piece;

    CHECK_OK(arena_take(arena, 100, &kept));
    memset(kept, 7, 100);
    size_t used = arena_used_bytes(arena);
    for (int round = 0; round < 3; round++) {
        arena_position mark = arena_mark(arena);
        for (int i = 0; i < 50; i++)
            CHECK_OK(arena_take(arena, 5000, &piece));
        arena_release(arena, mark);
        CHECK_EQ(arena_used_bytes(arena), used, "round %d", round);
    }
    for (size_t i = 0; i < 100; i++)
        CHECK_EQ(((uint8_t *)kept)[i], 7, "");
    arena_close(arena);
}

TEST(arena, mark_of_an_empty_arena_gives_back_everything)
{
    struct arena *arena = arena_open(1 << 20);
    arena_position mark = arena_mark(arena);
    void *piece;

    CHECK_OK(arena_take(arena, 100000, &piece));
    arena_release(arena, mark);
    CHECK_EQ(arena_used_bytes(arena), 0, "");
    CHECK_OK(arena_take(arena, 10, &piece));
    arena_close(arena);
}

/* Only there under AddressSanitizer, of gcc or clang. */
int __asan_address_is_poisoned(void const volatile *address) __attribute__((weak));

TEST(arena, memory_that_was_given_back_is_poisoned)
{
    struct arena *arena = arena_open(4096);
    void *kept;
    void *piece;

    CHECK_OK(arena_take(arena, 16, &kept));
    arena_position mark = arena_mark(arena);
    CHECK_OK(arena_take(arena, 16, &piece));
    if (__asan_address_is_poisoned) {
        CHECK(!__asan_address_is_poisoned(piece));
        arena_release(arena, mark);
        CHECK(__asan_address_is_poisoned(piece));
        CHECK(!__asan_address_is_poisoned(kept));
    }
    arena_close(arena);
}

TEST(arena, reset_makes_the_whole_budget_free_again)
{
    struct arena *arena = arena_open(64 * 1024);
    void *piece;

    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++)
            CHECK_OK(arena_take(arena, 16 * 1024, &piece));
        CHECK_CODE(arena_take(arena, 1, &piece), OUT_OF_MEMORY);
        arena_reset(arena);
        CHECK_EQ(arena_used_bytes(arena), 0, "");
    }
    arena_close(arena);
}

TEST(arena, only_the_last_piece_grows_in_place)
{
    struct arena *arena = arena_open(4096);
    void *first;
    void *last;

    CHECK_OK(arena_take(arena, 32, &first));
    CHECK_OK(arena_take(arena, 32, &last));
    CHECK(!arena_try_extend(arena, first, 32, 64));
    CHECK(arena_try_extend(arena, last, 32, 100));
    memset(last, 1, 100);
    CHECK_EQ(arena_used_bytes(arena), 32 + 112, "");
    CHECK(!arena_try_extend(arena, last, 100, 5000));
    CHECK(!arena_try_extend(arena, last, 100, SIZE_MAX));
    CHECK_EQ(arena_used_bytes(arena), 32 + 112, "");
    arena_close(arena);
}

TEST(arena, formats_and_copies_live_in_it)
{
    struct arena *arena = arena_open(4096);
    bytes copy;

    CHECK_STRING(arena_format(arena, "%d and %s", 5, "six"), "5 and six");
    CHECK(arena_format(NULL, "x") == NULL);
    CHECK_OK(arena_copy(arena, BYTES_LITERAL("a\0b"), &copy));
    CHECK_BYTES(copy, BYTES_LITERAL("a\0b"), "");
    CHECK_OK(arena_copy(arena, BYTES_NONE, &copy));
    CHECK_EQ(copy.len, 0, "");
    CHECK(arena_format(arena, "%5000d", 1) == NULL);
    arena_close(arena);
}

TEST(arena, exhaustion_says_whether_the_budget_or_one_piece_is_to_blame)
{
    struct arena *arena = arena_open(1000);
    void *piece;

    CHECK(strstr(arena_take(arena, 2000, &piece).message, "one piece"));
    CHECK_OK(arena_take(arena, 900, &piece));
    CHECK(strstr(arena_take(arena, 200, &piece).message, "budget allows"));
    arena_close(arena);
}
