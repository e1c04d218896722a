/* RocksDB blocks: unpacked blocks that short scans and gets come back to.
 *
 * To read, verify and unpack a block of 4 KB costs more than everything else that a short scan does. What is asked for again
 * and again (the beginning of an order, the border between two kinds of values, the documents of a query that were written
 * one behind the other) lies in few blocks. Each block has one place
 * where it may be; a block that comes for the first time leaves only its name there, one that comes again moves in. So
 * blocks that are read once push nothing out. Where the first to come needs only a part of the block, it leaves it packed,
 * and who comes next need not read it.
 *
 * A block of a file never changes, and no other file ever has the number of this one. So what is here is never old: which
 * files count, and which of their rows, is decided by whoever asks.
 *
 * Keeps: at most as many blocks as it has places, of at most CONTENT_BYTES_MAX each; where blocks have the size that they
 * are made with, 256 of them are a megabyte. As many packed ones, of at most RAW_PACKED_BYTES_MAX.
 * Threads: any; a lock guards every LOCKS-th place. Contents are read outside of it, and live as long as somebody holds
 * them. */
#include "storage/rocksdb_blocks.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LOCKS = 16, CONTENT_BYTES_MAX = 16 << 10 };

/* Memory that stays: blocks are of similar size, and to take it anew for each costs more than to copy them. */
struct packed {
    struct raw_block_id id;
    size_t len; /* 0: there is none */
    size_t room;
    uint8_t data[];
};

struct place {
    struct raw_block *block;
    struct raw_block_id wished; /* who came last and was not here */
    struct packed *packed;      /* or what it has left */
};

struct raw_blocks {
    pthread_mutex_t locks[LOCKS];
    size_t count;
    struct place places[];
};

/* ---- blocks ----------------------------------------------------------------------------------------- */

struct raw_block *raw_block_new(struct raw_block_id id, size_t len, uint8_t **room_out)
{
    struct raw_block *block = memory_take(sizeof(*block) + len);

    if (!block)
        return NULL;
    *room_out = (uint8_t *)(block + 1);
    block->id = id;
    block->content = bytes_of(*room_out, len);
    atomic_init(&block->holders, 1);
    return block;
}

void raw_block_let_go(struct raw_block *block)
{
    if (block && atomic_fetch_sub(&block->holders, 1) == 1)
        memory_give(block);
}

/* ---- life ------------------------------------------------------------------------------------------- */

struct raw_blocks *raw_blocks_open(size_t places)
{
    struct raw_blocks *blocks =
        memory_take_zeroed(1, sizeof(*blocks) + places * sizeof(blocks->places[0]));

    ASSERT(blocks != NULL);
    blocks->count = places;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&blocks->locks[i], NULL);
    return blocks;
}

void raw_blocks_close(struct raw_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < blocks->count; i++) {
        raw_block_let_go(blocks->places[i].block);
        memory_give(blocks->places[i].packed);
    }
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&blocks->locks[i]);
    memory_give(blocks);
}

/* ---- finding and keeping ---------------------------------------------------------------------------- */

static bool is_same(struct raw_block_id a, struct raw_block_id b)
{
    return a.file == b.file && a.offset == b.offset;
}

static size_t place_of(const struct raw_blocks *blocks, struct raw_block_id id)
{
    const uint64_t mixed = (id.file * UINT64_C(0x9E3779B97F4A7C15) ^ id.offset) *
                           UINT64_C(0xD6E8FEB86659FD93);

    return (size_t)(mixed >> 32) % blocks->count;
}

struct raw_block *raw_blocks_find(struct raw_blocks *blocks, struct raw_block_id id)
{
    const size_t at = place_of(blocks, id);

    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    struct raw_block *block = blocks->places[at].block;
    if (block && is_same(block->id, id))
        atomic_fetch_add(&block->holders, 1);
    else
        block = NULL;
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    return block;
}

/* True for one that was here the last time that somebody came to its place. */
static bool is_met_again(struct raw_blocks *blocks, struct raw_block_id id)
{
    const size_t at = place_of(blocks, id);
    struct place *place = &blocks->places[at];

    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    const bool is_wished = is_same(place->wished, id);
    place->wished = id;
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    return is_wished;
}

void raw_blocks_keep(struct raw_blocks *blocks, struct raw_block *block)
{
    const size_t at = place_of(blocks, block->id);

    if (block->content.len > CONTENT_BYTES_MAX)
        return;
    atomic_fetch_add(&block->holders, 1);
    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    struct raw_block *before = blocks->places[at].block;
    blocks->places[at].block = block;
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    raw_block_let_go(before);
}

void raw_blocks_offer(struct raw_blocks *blocks, struct raw_block_id id, bytes content)
{
    uint8_t *room;
    struct raw_block *block = is_met_again(blocks, id) ? raw_block_new(id, content.len, &room)
                                                       : NULL;

    if (!block)
        return;
    memcpy(room, content.data, content.len);
    raw_blocks_keep(blocks, block);
    raw_block_let_go(block);
}

/* Room for so much, or NULL. */
static struct packed *room_for(struct place *place, size_t len)
{
    if (place->packed && place->packed->room >= len)
        return place->packed;
    memory_give(place->packed);
    place->packed = memory_take(sizeof(*place->packed) + len);
    if (place->packed)
        place->packed->room = len;
    return place->packed;
}

void raw_blocks_leave(struct raw_blocks *blocks, struct raw_block_id id, bytes stored)
{
    const size_t at = place_of(blocks, id);

    if (stored.len > RAW_PACKED_BYTES_MAX)
        return;
    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    struct packed *packed = room_for(&blocks->places[at], stored.len);
    if (packed) {
        packed->id = id;
        packed->len = stored.len;
        memcpy(packed->data, stored.data, stored.len);
    }
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
}

bool raw_blocks_take(struct raw_blocks *blocks, struct raw_block_id id, uint8_t *out,
                     size_t *len_out)
{
    const size_t at = place_of(blocks, id);

    pthread_mutex_lock(&blocks->locks[at % LOCKS]);
    struct packed *packed = blocks->places[at].packed;
    const bool is_here = packed && packed->len && is_same(packed->id, id);
    if (is_here) {
        memcpy(out, packed->data, packed->len);
        *len_out = packed->len;
        packed->len = 0;
    }
    pthread_mutex_unlock(&blocks->locks[at % LOCKS]);
    return is_here;
}
