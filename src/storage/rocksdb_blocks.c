/* RocksDB blocks: unpacked blocks that short scans and gets come back to.
 *
 * To read, verify and unpack a block of 4 KB costs more than everything else that a short scan does. What is asked for again
 * and again (the beginning of an order, the border between two kinds of values, the documents of a query that were written
 * one behind the other) lies in few blocks. Each block has one place
 * where it may be; a block that comes for the first time leaves only its name there, one that comes again moves in. So
 * blocks that are read once push nothing out. Where the first to come needs only a part of the block, it leaves it packed,
 * and who comes next need not read it. The last few of them are there; each was read into memory that one before has left, so that
 * nothing is copied, and all of it stays near the processor.
 *
 * A block of a file never changes, and no other file ever has the number of this one. So what is here is never old: which
 * files count, and which of their rows, is decided by whoever asks.
 *
 * Keeps: at most as many blocks as it has places, of at most CONTENT_BYTES_MAX each; where blocks have the size that they
 * are made with, 256 of them are a megabyte. PACKED_MAX packed ones, of at most RAW_PACKED_BYTES_MAX. ROOMS_MAX pieces of memory
 * to unpack blocks into, of at most ROOM_BYTES_MAX: the allocator has none of that size ready, and those are still near the
 * processor.
 * Threads: any; a lock guards every LOCKS-th place, another one what is packed, and a third one spare memory. Contents are read outside of them, and live as
 * long as somebody holds them. A tag of each place says without a lock that nothing of that name is there. */
#include "storage/rocksdb_blocks.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    LOCKS = 16,
    PACKED_MAX = 32,
    CONTENT_BYTES_MAX = 16 << 10,
    ROOMS_MAX = 32,
    ROOM_BYTES_MIN = 6 << 10,
    ROOM_BYTES_MAX = 16 << 10,
};

struct place {
    struct raw_block *block;
    struct raw_block_id wished; /* who came last and was not here */
};

struct left {
    pthread_mutex_t lock;
    struct raw_block_id ids[PACKED_MAX];
    struct raw_packed *packed[PACKED_MAX]; /* NULL: somebody has it */
    size_t oldest;
};

/* Memory that nobody has; what was given back last is taken first. */
struct spare {
    pthread_mutex_t lock;
    size_t count;
    struct raw_room *rooms[ROOMS_MAX];
};

struct raw_blocks {
    pthread_mutex_t locks[LOCKS];
    struct left left;
    struct spare spare;
    size_t count;
    _Atomic uint16_t *tags; /* one for each place; 0: it is empty */
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

void raw_block_hold(struct raw_block *block)
{
    atomic_fetch_add(&block->holders, 1);
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
    blocks->tags = memory_take_zeroed(places, sizeof(*blocks->tags));
    ASSERT(blocks->tags != NULL);
    pthread_mutex_init(&blocks->left.lock, NULL);
    pthread_mutex_init(&blocks->spare.lock, NULL);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&blocks->locks[i], NULL);
    return blocks;
}

void raw_blocks_close(struct raw_blocks *blocks)
{
    if (!blocks)
        return;
    for (size_t i = 0; i < blocks->count; i++)
        raw_block_let_go(blocks->places[i].block);
    for (size_t i = 0; i < PACKED_MAX; i++)
        memory_give(blocks->left.packed[i]);
    for (size_t i = 0; i < blocks->spare.count; i++)
        memory_give(blocks->spare.rooms[i]);
    pthread_mutex_destroy(&blocks->left.lock);
    pthread_mutex_destroy(&blocks->spare.lock);
    memory_give((void *)blocks->tags);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&blocks->locks[i]);
    memory_give(blocks);
}

/* ---- finding and keeping ---------------------------------------------------------------------------- */

static bool is_same(struct raw_block_id a, struct raw_block_id b)
{
    return a.file == b.file && a.offset == b.offset;
}

static uint64_t mix(struct raw_block_id id)
{
    return (id.file * UINT64_C(0x9E3779B97F4A7C15) ^ id.offset) * UINT64_C(0xD6E8FEB86659FD93);
}

static size_t place_of(const struct raw_blocks *blocks, struct raw_block_id id)
{
    return (size_t)(mix(id) >> 32) % blocks->count;
}

static uint16_t tag_of(struct raw_block_id id)
{
    return (uint16_t)(mix(id) >> 16) | 1;
}

struct raw_block *raw_blocks_find(struct raw_blocks *blocks, struct raw_block_id id)
{
    const size_t at = place_of(blocks, id);

    if (atomic_load_explicit(&blocks->tags[at], memory_order_relaxed) != tag_of(id))
        return NULL;
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
    atomic_store_explicit(&blocks->tags[at], tag_of(block->id), memory_order_relaxed);
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

/* ---- packed ones ------------------------------------------------------------------------------------ */

/* Blocks are of similar size, and to take memory anew for each costs more than to read them. */
static struct raw_packed *with_room(struct raw_packed *packed, size_t len)
{
    if (packed && packed->room >= len)
        return packed;
    memory_give(packed);
    packed = len <= RAW_PACKED_BYTES_MAX ? memory_take(sizeof(*packed) + len) : NULL;
    if (packed) {
        packed->len = 0;
        packed->room = len;
    }
    return packed;
}

/* What is left under this name, or else the oldest. */
static struct raw_packed *take(struct left *left, struct raw_block_id id)
{
    pthread_mutex_lock(&left->lock);
    size_t at = 0;
    while (at < PACKED_MAX && !(left->packed[at] && is_same(left->ids[at], id)))
        at++;
    if (at == PACKED_MAX)
        at = left->oldest;
    struct raw_packed *packed = left->packed[at];
    left->packed[at] = NULL;
    pthread_mutex_unlock(&left->lock);
    return packed;
}

struct raw_packed *raw_packed_take(struct raw_blocks *blocks, struct raw_block_id id, size_t len)
{
    struct raw_packed *packed = with_room(take(&blocks->left, id), len);

    if (packed && !(packed->len && is_same(packed->id, id))) {
        packed->id = id;
        packed->len = 0;
    }
    return packed;
}

void raw_packed_leave(struct raw_blocks *blocks, struct raw_packed *packed)
{
    struct left *left = &blocks->left;

    pthread_mutex_lock(&left->lock);
    const size_t at = left->oldest;
    struct raw_packed *before = left->packed[at];
    left->packed[at] = packed;
    left->ids[at] = packed->id;
    left->oldest = (at + 1) % PACKED_MAX;
    pthread_mutex_unlock(&left->lock);
    memory_give(before);
}

/* ---- rooms ------------------------------------------------------------------------------------------ */

struct raw_room *raw_room_take(struct raw_blocks *blocks, size_t len)
{
    struct spare *spare = &blocks->spare;
    struct raw_room *room = NULL;

    pthread_mutex_lock(&spare->lock);
    if (spare->count > 0)
        room = spare->rooms[--spare->count];
    pthread_mutex_unlock(&spare->lock);
    if (room && room->size >= len)
        return room;
    memory_give(room);
    const size_t size = len < ROOM_BYTES_MIN ? ROOM_BYTES_MIN : len;
    room = memory_take(sizeof(*room) + size);
    if (!room)
        return NULL;
    room->home = blocks;
    room->size = size;
    atomic_init(&room->holders, 1);
    return room;
}

void raw_room_hold(struct raw_room *room)
{
    atomic_fetch_add(&room->holders, 1);
}

void raw_room_leave(struct raw_room *room)
{
    if (!room || atomic_fetch_sub(&room->holders, 1) > 1)
        return;
    struct spare *spare = &room->home->spare;
    if (room->size <= ROOM_BYTES_MAX) {
        atomic_store(&room->holders, 1);
        pthread_mutex_lock(&spare->lock);
        if (spare->count < ROOMS_MAX) {
            spare->rooms[spare->count++] = room;
            room = NULL;
        }
        pthread_mutex_unlock(&spare->lock);
    }
    memory_give(room);
}
