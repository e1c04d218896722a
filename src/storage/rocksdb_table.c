/* RocksDB table: a sorted file from a key on.
 *
 * The index is read once, when the file is opened, and searched for the first block; from there the blocks lie one behind
 * the other. They are read many at a time, each is verified, unpacked and walked.
 *
 * Ranges that were deleted stand in a block of their own. Whether they cover a row is not decided here: they only make
 * it suspect.
 *
 * Threads: a table belongs to one thread at a time. The file never changes, and stays there as long as whoever opened
 * it sees to that. */
#include "storage/rocksdb_table.h"

#include <fcntl.h>
#include <unistd.h>

/* What is read at once: what a processor keeps near while it works through it. */
enum { CHUNK_BYTES = 256 << 10, RANGES_MAX = 64 };

/* Memory that grows with what is put there. */
struct room {
    uint8_t *data;
    size_t size;
};

struct table_range {
    bytes start, end;
};

struct table {
    int file;
    bytes end;
    struct sst_index index;
    struct room index_room, ranges_room, block_room, chunk_room;
    struct table_range *ranges; /* of what was deleted; in ranges_room */
    size_t range_count;
    /* where it stands */
    uint32_t number; /* of the next block */
    uint64_t chunk_offset, chunk_end;
    size_t chunk_len;
    struct sst_walk walk;
    bytes from; /* rows below are passed over; borrowed until the first that is not */
    bool is_walking;
};

/* ---- blocks --------------------------------------------------------------------------------------- */

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

static bool read_at(int file, uint64_t offset, uint8_t *out, size_t len)
{
    for (size_t have = 0; have < len;) {
        const ssize_t n = pread(file, out + have, len - have, (off_t)(offset + have));
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

/* A block by itself: read, verified and unpacked into `out`. */
static bool read_block(struct table *table, struct sst_place place, struct room *out,
                       bytes *content_out)
{
    const size_t len = (size_t)place.len + SST_TRAILER_BYTES;
    size_t content_len;

    if (!room_for(&table->chunk_room, len) ||
        !read_at(table->file, place.offset, table->chunk_room.data, len))
        return false;
    const bytes stored = bytes_of(table->chunk_room.data, len);
    if (!sst_is_sound(stored) || !sst_content_len(stored, &content_len) ||
        !room_for(out, content_len) || !sst_content(stored, out->data, content_out))
        return false;
    if (content_out->data != out->data && content_len)
        memcpy(out->data, content_out->data, content_len);
    *content_out = bytes_of(out->data, content_len);
    return true;
}

/* ---- opening -------------------------------------------------------------------------------------- */

/* The blocks that we care for beside the rows. */
struct directory {
    struct sst_place facts, ranges;
    bool has_facts, has_ranges;
};

static bool read_directory(bytes content, struct directory *out)
{
    struct sst_walk walk;
    enum sst_step step;
    bytes name, value;

    *out = (struct directory){ 0 };
    if (!sst_walk_begin(&walk, content))
        return false;
    while ((step = sst_walk_next(&walk, &name, &value)) == SST_ENTRY) {
        if (bytes_is_text(name, "rocksdb.properties")) {
            out->has_facts = true;
            if (!sst_read_place(value, &out->facts))
                return false;
        } else if (bytes_is_text(name, "rocksdb.range_del")) {
            out->has_ranges = true;
            if (!sst_read_place(value, &out->ranges))
                return false;
        }
    }
    return step == SST_END && out->has_facts;
}

static bool read_ranges(struct table *table, struct sst_place place)
{
    struct sst_walk walk;
    enum sst_step step;
    bytes content, key, value;

    if (!read_block(table, place, &table->ranges_room, &content) || !sst_walk_begin(&walk, content))
        return false;
    table->ranges = memory_take_zeroed(RANGES_MAX, sizeof(*table->ranges));
    if (!table->ranges)
        return false;
    while ((step = sst_walk_next(&walk, &key, &value)) == SST_ENTRY) {
        /* A key that was put together lies in the walk, and is gone with the next one. */
        if (key.len < SST_SEQ_BYTES || key.data == walk.key || table->range_count == RANGES_MAX)
            return false;
        table->ranges[table->range_count++] = (struct table_range){
            .start = bytes_of(key.data, key.len - SST_SEQ_BYTES), .end = value
        };
    }
    return step == SST_END;
}

/* Rows of blocks behind the one that may hold the end are never read. */
static bool find_end(struct table *table)
{
    struct sst_place place;
    uint32_t last;
    bytes key;

    if (table->index.count == 0)
        return true;
    if (!sst_index_find(&table->index, table->end, &last))
        return false;
    if (last == table->index.count)
        last--;
    if (!sst_index_at(&table->index, last, &key, &place))
        return false;
    table->chunk_end = place.offset + place.len + SST_TRAILER_BYTES;
    return true;
}

static bool read_all(struct table *table)
{
    uint8_t foot_bytes[SST_FOOT_BYTES];
    struct directory directory;
    struct sst_facts facts;
    struct sst_foot foot;
    bytes content;

    const off_t size = lseek(table->file, 0, SEEK_END);
    if (size < (off_t)sizeof(foot_bytes) ||
        !read_at(table->file, (uint64_t)size - sizeof(foot_bytes), foot_bytes,
                 sizeof(foot_bytes)) ||
        !sst_read_foot(bytes_of(foot_bytes, sizeof(foot_bytes)), &foot) ||
        !read_block(table, foot.directory, &table->block_room, &content) ||
        !read_directory(content, &directory) ||
        !read_block(table, directory.facts, &table->block_room, &content) ||
        !sst_read_facts(content, &facts) || !facts.is_readable ||
        (directory.has_ranges && !read_ranges(table, directory.ranges)))
        return false;
    return read_block(table, foot.index, &table->index_room, &content) &&
           sst_index_begin(&table->index, content, facts.has_seq_in_index) && find_end(table);
}

struct table *raw_table_open(const char *path, bytes end)
{
    struct table *table = memory_take_zeroed(1, sizeof(*table));

    if (!table)
        return NULL;
    table->end = end;
    table->file = open(path, O_RDONLY | O_CLOEXEC);
    if (table->file >= 0 && read_all(table))
        return table;
    raw_table_close(table);
    return NULL;
}

void raw_table_close(struct table *table)
{
    if (!table)
        return;
    if (table->file >= 0)
        close(table->file);
    memory_give(table->index_room.data);
    memory_give(table->ranges_room.data);
    memory_give(table->block_room.data);
    memory_give(table->chunk_room.data);
    memory_give(table->ranges);
    memory_give(table);
}

bool raw_table_suspects(const struct table *table, bytes key)
{
    for (size_t i = 0; i < table->range_count; i++) {
        if (bytes_compare(table->ranges[i].start, key) <= 0 &&
            bytes_compare(key, table->ranges[i].end) < 0)
            return true;
    }
    return false;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

bool raw_table_seek(struct table *table, bytes key)
{
    table->from = key;
    table->is_walking = false;
    table->chunk_len = 0;
    return sst_index_find(&table->index, key, &table->number);
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
            !read_at(table->file, place.offset, table->chunk_room.data, want))
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

    if (!sst_index_at(&table->index, table->number, &key, &place) ||
        !fetch(table, place, &stored) || !sst_is_sound(stored) ||
        !sst_content_len(stored, &content_len) || !room_for(&table->block_room, content_len) ||
        !sst_content(stored, table->block_room.data, &content))
        return false;
    table->number++;
    table->is_walking = true;
    return sst_walk_begin(&table->walk, content);
}

enum sst_step raw_table_next(struct table *table, struct table_row *out)
{
    for (;;) {
        if (!table->is_walking) {
            if (table->number >= table->index.count)
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
