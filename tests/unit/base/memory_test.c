/* Memory: blocks that are given back are taken again, up to a bound, and what nobody wants goes back to the system. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "tests/check.h"

enum { BLOCKS = 64 };

static void take_all(void *blocks[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = memory_take_block();
        CHECK(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % MEMORY_BLOCK_BYTES, 0, "");
        memset(blocks[i], i, 4096);
        memset((uint8_t *)blocks[i] + MEMORY_BLOCK_BYTES - 4096, i, 4096);
    }
}

static void give_all(void *blocks[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++) {
        CHECK_EQ(((uint8_t *)blocks[i])[4095], i, "two have the same bytes");
        CHECK_EQ(((uint8_t *)blocks[i])[MEMORY_BLOCK_BYTES - 1], i, "");
        memory_give_block(blocks[i]);
    }
}

TEST(memory, a_block_that_was_given_back_is_the_next_one_that_is_taken)
{
    void *block = memory_take_block();

    memory_give_block(block);
    void *again = memory_take_block();
    CHECK(again == block);
    memory_give_block(again);
    memory_give_block(NULL);
}

TEST(memory, more_blocks_than_are_kept_are_each_somebodys_own)
{
    void *blocks[BLOCKS];

    for (int round = 0; round < 4; round++) {
        take_all(blocks);
        give_all(blocks);
        for (int i = 0; i < round; i++)
            memory_tend_blocks();
    }
}

static size_t allocated_bytes(void)
{
    const struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

TEST(memory, blocks_that_nobody_wants_for_a_while_go_back_to_the_system)
{
    const size_t few = 8 * (size_t)MEMORY_BLOCK_BYTES, first = allocated_bytes();
    void *blocks[BLOCKS];

    take_all(blocks);
    const bool is_told = allocated_bytes() >=
                         first + few; /* not by what sanitizers allocate with */
    give_all(blocks);
    memory_tend_blocks(); /* all of those that are kept were wanted since the last time */
    const size_t before = allocated_bytes();
    memory_tend_blocks();
    const size_t after = allocated_bytes();
    CHECK_THAT(!is_told || before >= after + few, "%zu became %zu bytes", before, after);
}

static size_t resident_bytes(void)
{
    size_t all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    CHECK(file && fscanf(file, "%zu %zu", &all, &resident) == 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(memory, what_is_free_between_pieces_in_use_goes_back_to_the_system)
{
    enum { PIECES = 2000, SIZE = 32 << 10 };
    static uint8_t *pieces[PIECES];
    const size_t given = (size_t)PIECES / 2 * SIZE, first = allocated_bytes();

    for (int i = 0; i < PIECES; i++) {
        pieces[i] = memory_take(SIZE);
        memset(pieces[i], i, SIZE);
    }
    const bool is_told = allocated_bytes() >= first + given; /* as above */
    for (int i = 0; i < PIECES; i += 2)
        memory_give(pieces[i]);
    const size_t before = resident_bytes();
    memory_tend_heaps();
    const size_t after = resident_bytes();
    CHECK_THAT(!is_told || after + given / 2 < before, "%zu became %zu bytes", before, after);
    for (int i = 1; i < PIECES; i += 2) {
        CHECK_EQ(pieces[i][SIZE - 1], (uint8_t)i, "");
        memory_give(pieces[i]);
    }
}
