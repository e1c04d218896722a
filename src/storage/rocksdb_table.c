/* RocksDB table: the rows of a sorted file from a key on.
 *
 * The index of the file is searched for the first block; from there the blocks lie one behind the other. They are read many
 * at a time, each is verified, unpacked and walked. Where few rows are expected, one block is read first, then twice as much
 * each time; and the first blocks behind a place that was sought may be kept unpacked (rocksdb_blocks.c).
 *
 * Threads: a table belongs to one thread at a time. */
#include "storage/rocksdb_table.h"

enum {
    /* What is read at once: what a processor keeps near while it works through it. */
    CHUNK_BYTES = 256 << 10,
    AHEAD_FIRST_BYTES = 16 << 10,
    /* Blocks behind a place that was sought which are looked for among the kept ones: a long scan pushes nothing out. */
    KEPT_BLOCKS = 4,
};

/* Memory that grows with what is put there. */
struct room {
    uint8_t *data;
    size_t size;
};

struct table {
    struct sorted *sorted;
    bytes end;
    struct room block_room, chunk_room;
    /* where it stands */
    uint32_t number;  /* of the next block */
    uint32_t entered; /* blocks since the last place that was sought */
    uint64_t chunk_offset;
    uint64_t chunk_end; /* of what may be read; 0: not known yet */
    size_t chunk_len;
    size_t ahead; /* what is read at once, if there is so much left; 0: one block */
    struct raw_blocks *blocks;
    struct raw_block *held; /* that is being walked, if it is one of those */
    bytes from;             /* rows below are passed over; borrowed until the first that is not */
    bool is_walking;
    struct sst_walk walk; /* does not begin with zeros */
};

static bool room_for(struct room *room, size_t size)
{
    if (size <= room->size)
        return true;
    memory_give(room->data);
    room->size = 0;
    room->data = memory_take(size);
    if (room->data)
        room->size = size;
    return room->data != NULL;
}

/* Rows of blocks behind the one that may hold the end are never read. */
static bool find_end(struct table *table)
{
    const struct sst_index *index = &table->sorted->index;
    struct sst_place place;
    uint32_t last;
    bytes key;

    if (!sorted_seek(table->sorted, table->end, &last))
        return false;
    if (last == index->count)
        last--;
    if (!sst_index_at(index, last, &key, &place))
        return false;
    table->chunk_end = place.offset + place.len + SST_TRAILER_BYTES;
    return true;
}

struct table *raw_table_open(struct sorted *sorted, bytes end, struct raw_blocks *blocks)
{
    struct table *table = memory_take(sizeof(*table));

    if (!table)
        return NULL;
    memset(table, 0, offsetof(struct table, walk));
    sorted_hold(sorted);
    table->sorted = sorted;
    table->end = end;
    table->blocks = blocks;
    table->ahead = blocks ? 0 : CHUNK_BYTES;
    return table;
}

void raw_table_close(struct table *table)
{
    if (!table)
        return;
    raw_block_let_go(table->held);
    sorted_let_go(table->sorted);
    memory_give(table->block_room.data);
    memory_give(table->chunk_room.data);
    memory_give(table);
}

/* ---- rows ----------------------------------------------------------------------------------------- */

bool raw_table_seek(struct table *table, bytes key)
{
    table->from = key;
    table->is_walking = false;
    table->chunk_len = 0;
    table->entered = 0;
    return sorted_seek(table->sorted, key, &table->number);
}

/* Reads the block that begins at `offset` and has `len` bytes, and what may come behind it. */
static bool read_chunk(struct table *table, uint64_t offset, size_t len)
{
    size_t want = len;

    table->chunk_len = 0;
    if (table->ahead > len) {
        if (!table->chunk_end && !find_end(table))
            return false;
        const uint64_t left = offset < table->chunk_end ? table->chunk_end - offset : len;
        want = left < table->ahead ? (size_t)left : table->ahead;
        want = want < len ? len : want;
    }
    if (!room_for(&table->chunk_room, want < table->ahead ? table->ahead : want) ||
        !sorted_read(table->sorted, offset, table->chunk_room.data, want))
        return false;
    table->chunk_offset = offset;
    table->chunk_len = want;
    table->ahead = table->ahead ? table->ahead * 2 : AHEAD_FIRST_BYTES;
    if (table->ahead > CHUNK_BYTES)
        table->ahead = CHUNK_BYTES;
    return true;
}

/* The block with its trailer, from the chunk; reads the next chunk if it is not there. */
static bool fetch(struct table *table, struct sst_place place, bytes *out)
{
    const size_t len = (size_t)place.len + SST_TRAILER_BYTES;

    if ((place.offset < table->chunk_offset ||
         place.offset + len > table->chunk_offset + table->chunk_len) &&
        !read_chunk(table, place.offset, len))
        return false;
    *out = bytes_of(table->chunk_room.data + (place.offset - table->chunk_offset), len);
    return true;
}

static bool unpack(struct table *table, struct sst_place place, bytes *content_out)
{
    size_t content_len;
    bytes stored;

    return fetch(table, place, &stored) && sst_is_sound(stored) &&
           sst_content_len(stored, &content_len) && room_for(&table->block_room, content_len) &&
           sst_content(stored, table->block_room.data, content_out);
}

/* What the block holds, kept or unpacked. */
static bool take_block(struct table *table, struct sst_place place, bytes *content_out)
{
    const struct raw_block_id id = { .file = table->sorted->number, .offset = place.offset };
    const bool may_be_kept = table->blocks && table->entered < KEPT_BLOCKS;

    raw_block_let_go(table->held);
    table->held = may_be_kept ? raw_blocks_find(table->blocks, id) : NULL;
    if (table->held) {
        *content_out = table->held->content;
        return true;
    }
    if (!unpack(table, place, content_out))
        return false;
    if (may_be_kept)
        raw_blocks_offer(table->blocks, id, *content_out);
    return true;
}

static bool enter_block(struct table *table)
{
    const struct sorted_block *block = &table->sorted->blocks[table->number];
    const struct sst_place place = { .offset = block->offset, .len = block->len };
    bytes content;

    if (!take_block(table, place, &content))
        return false;
    table->number++;
    table->entered++;
    table->is_walking = true;
    return table->from.len ? sst_walk_seek(&table->walk, content, table->from)
                           : sst_walk_begin(&table->walk, content);
}

uint32_t raw_table_block(const struct table *table)
{
    return table->number;
}

bytes raw_table_block_end(const struct table *table)
{
    struct sst_place place;
    bytes key;

    /* It was read before, so it can be. */
    return sst_index_at(&table->sorted->index, table->number - 1, &key, &place) ? key : BYTES_NONE;
}

enum sst_step raw_table_next(struct table *table, struct table_row *out)
{
    for (;;) {
        if (!table->is_walking) {
            if (table->number >= table->sorted->index.count)
                return SST_END;
            if (!enter_block(table))
                return SST_BROKEN;
        }
        const enum sst_step step = sst_walk_next(&table->walk, &out->key, &out->value);
        if (step == SST_END) {
            table->is_walking = false;
            continue;
        }
        if (step == SST_BROKEN || out->key.len < SST_SEQ_BYTES)
            return SST_BROKEN;
        out->key.len -= SST_SEQ_BYTES;
        const uint64_t number = sst_seq_and_kind(out->key.data + out->key.len);
        out->seq = number >> 8;
        out->kind = (enum sst_kind)(number & 0xFF);
        if (table->from.len && bytes_compare(out->key, table->from) < 0)
            continue;
        table->from = BYTES_NONE;
        return SST_ENTRY;
    }
}
