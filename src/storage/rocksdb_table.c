/* RocksDB table: the rows of a sorted file from a key on.
 *
 * The index of the file is searched for the first block; from there the blocks lie one behind the other. They are read many
 * at a time, each is verified, unpacked and walked.
 *
 * Threads: a table belongs to one thread at a time. */
#include "storage/rocksdb_table.h"

/* What is read at once: what a processor keeps near while it works through it. */
enum { CHUNK_BYTES = 256 << 10 };

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
    uint32_t number; /* of the next block */
    uint64_t chunk_offset, chunk_end;
    size_t chunk_len;
    struct sst_walk walk;
    bytes from; /* rows below are passed over; borrowed until the first that is not */
    bool is_walking;
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

    if (index->count == 0)
        return true;
    if (!sst_index_find(index, table->end, &last))
        return false;
    if (last == index->count)
        last--;
    if (!sst_index_at(index, last, &key, &place))
        return false;
    table->chunk_end = place.offset + place.len + SST_TRAILER_BYTES;
    return true;
}

struct table *raw_table_open(struct sorted *sorted, bytes end)
{
    struct table *table = memory_take_zeroed(1, sizeof(*table));

    if (!table)
        return NULL;
    sorted_hold(sorted);
    table->sorted = sorted;
    table->end = end;
    if (find_end(table))
        return table;
    raw_table_close(table);
    return NULL;
}

void raw_table_close(struct table *table)
{
    if (!table)
        return;
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
    return sst_index_find(&table->sorted->index, key, &table->number);
}

/* The block with its trailer, from the chunk; reads the next chunk if it is not there. */
static bool fetch(struct table *table, struct sst_place place, bytes *out)
{
    const size_t len = (size_t)place.len + SST_TRAILER_BYTES;

    if (place.offset < table->chunk_offset ||
        place.offset + len > table->chunk_offset + table->chunk_len) {
        const uint64_t left = place.offset < table->chunk_end ? table->chunk_end - place.offset
                                                              : len;
        size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        want = want < len ? len : want;
        if (!room_for(&table->chunk_room, want < CHUNK_BYTES ? CHUNK_BYTES : want) ||
            !sorted_read(table->sorted, place.offset, table->chunk_room.data, want))
            return false;
        table->chunk_offset = place.offset;
        table->chunk_len = want;
    }
    *out = bytes_of(table->chunk_room.data + (place.offset - table->chunk_offset), len);
    return true;
}

static bool enter_block(struct table *table)
{
    struct sst_place place;
    size_t content_len;
    bytes key, stored, content;

    if (!sst_index_at(&table->sorted->index, table->number, &key, &place) ||
        !fetch(table, place, &stored) || !sst_is_sound(stored) ||
        !sst_content_len(stored, &content_len) || !room_for(&table->block_room, content_len) ||
        !sst_content(stored, table->block_room.data, &content))
        return false;
    table->number++;
    table->is_walking = true;
    return sst_walk_begin(&table->walk, content);
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
