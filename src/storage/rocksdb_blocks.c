/* RocksDB blocks: unpacked blocks of index rows that short scans come back to.
 *
 * To read, verify and unpack a block of 4 KB costs more than everything else that a short scan does. What is asked for again
 * and again (the beginning of an order, the border between two kinds of values) lies in few blocks. Each block has one place
 * where it may be; a block that comes for the first time leaves only its name there, one that comes again moves in. So
 * blocks that are read once push nothing out.
 *
 * Keeps: at most PLACES blocks of at most CONTENT_BYTES_MAX each; those are 8 MB where blocks have the size that they are
 * made with.
 * Threads: any; a lock guards every LOCKS-th place. Contents are read outside of it, and live as long as somebody holds
 * them. */
#include "storage/rocksdb_blocks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PLACES = 2048, LOCKS = 16, CONTENT_BYTES_MAX = 16 << 10 };

struct place {
    struct raw_block *block;
    struct raw_block_id wished; /* who came last and was not here */
};

struct raw_blocks {
    pthread_mutex_t locks[LOCKS];
    struct place places[PLACES];
};

/* ---- blocks ----------------------------------------------------------------------------------------- */

static struct raw_block *block_make(struct raw_block_id id, bytes content)
{
    struct raw_block *block = memory_take(sizeof(*block) + content.len);

    if (!block)
        return NULL;
    uint8_t *room = (uint8_t *)(block + 1);
    memcpy(room, content.data, content.len);
    block->id = id;
    block->content = bytes_of(room, content.len);
    atomic_init(&block->holders, 1);
    return block;
}

void raw_block_let_go(struct raw_block *block)
{
    if (block && atomic_fetch_sub(&block->holders, 1) == 1)
        memory_give(block);
}

/* ---- life ------------------------------------------------------------------------------------------- */

struct raw_blocks *raw_blocks_open(void)
{
    struct raw_blocks *blocks = memory_take_zeroed(1, sizeof(*blocks));

    ASSERT(blocks != NULL);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&blocks->locks[i], NULL);
    return blocks;
}

void raw_blocks_close(struct raw_blocks *blocks)
{
    if (!blocks)
        return;
    for (int i = 0; i < PLACES; i++)
        raw_block_let_go(blocks->places[i].block);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&blocks->locks[i]);
    memory_give(blocks);
}

/* ---- finding and keeping ---------------------------------------------------------------------------- */

static bool is_same(struct raw_block_id a, struct raw_block_id b)
{
    return a.file == b.file && a.offset == b.offset;
}

static size_t place_of(struct raw_block_id id)
{
    const uint64_t mixed = (id.file * UINT64_C(0x9E3779B97F4A7C15) ^ id.offset) *
                           UINT64_C(0xD6E8FEB86659FD93);

    return (size_t)(mixed >> 32) % PLACES;
}

struct raw_block *raw_blocks_find(struct raw_blocks *blocks, struct raw_block_id id)
{
    const size_t at = place_of(id);

    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    struct raw_block *block = blocks->places[at].block;
    if (block && is_same(block->id, id))
        atomic_fetch_add(&block->holders, 1);
    else
        block = NULL;
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    return block;
}

void raw_blocks_offer(struct raw_blocks *blocks, struct raw_block_id id, bytes content)
{
    const size_t at = place_of(id);
    struct place *place = &blocks->places[at];

    if (content.len > CONTENT_BYTES_MAX)
        return;
    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    const bool is_wished = is_same(place->wished, id);
    place->wished = id;
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    struct raw_block *fresh = is_wished ? block_make(id, content) : NULL;
    if (!fresh)
        return;
    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    struct raw_block *before = place->block;
    place->block = fresh;
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    raw_block_let_go(before);
}
