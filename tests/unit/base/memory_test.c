/* Blocks of memory: what is given back is taken again, up to a bound, and what nobody wants goes back to the system. */
#include <stdint.h>
#include <string.h>

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
        if (round > 0) {
            memory_tend_blocks(); /* all of them were wanted since the last time, or are from now on not */
            memory_tend_blocks();
        }
    }
}
