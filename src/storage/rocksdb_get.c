/* Raw get: one document from RocksDB's files.
 *
 * RocksDB takes a get through its memory tables, its levels, a filter, an index, a cache and a block, most of which is not
 * in the cache of the processor when it comes to it. Documents lie in files by the order of their writes, so mostly there is
 * one file, one search in its index, and one block to be read, unpacked and searched.
 *
 * The answer is the youngest version of the key that is not younger than the view, among the files that hold the key.
 * It counts if it is a value and nothing that the files may not have yet can be another version of it: the key is not among
 * those that were written or deleted lately (rocksdb_graves.c), and in none of the ranges that a file says were
 * deleted. Everything else, a row that is not there included, is RocksDB's to answer.
 *
 * Without a view the youngest version of all is asked for. A list of files that has seen no turn of the graves knows every
 * write that is not in its files, so what is not among those is as it was at that moment, or later; whoever has written since
 * has done so while the get was under way.
 *
 * A value is a block in memory of its own, which costs less than to copy the row out of it. To unpack the block is the most
 * work, and what comes behind the row is not needed; so it is unpacked as far as the row probably reaches, and as a whole if
 * that was not enough. Documents that were written together are often wanted together, and lie in one block: when a block is
 * wanted for the second time it is unpacked as a whole, and kept for some while (rocksdb_blocks.c).
 *
 * Threads: any. */
#include "storage/rocksdb_raw.h"

enum {
    SOURCES_MAX = 8,           /* files that hold the key */
    CONTENT_BYTES_MAX = 65536, /* of a block that is read this way, unpacked */
};

/* Pins of ours have one of their lowest bits set, those of RocksDB have none: all come from an allocator. */
enum { PIN_ROOM = 1, PIN_BLOCK = 2 };

/* The version that a file has. */
struct version {
    bool is_there;
    uint64_t seq;
    enum sst_kind kind;
    bytes value;
    /* What holds the value: the room, or else the block. */
    struct raw_room *room;
    struct raw_block *block;
};

static void let_go(const struct version *version)
{
    raw_room_leave(version->room);
    raw_block_let_go(version->block);
}

static void *pin_of(const struct version *version)
{
    return version->room ? (uint8_t *)version->room + PIN_ROOM
                         : (uint8_t *)version->block + PIN_BLOCK;
}

bool raw_value_release(struct storage_value *value)
{
    uint8_t *pin = value->pin;

    if ((uintptr_t)pin & PIN_ROOM)
        raw_room_leave((struct raw_room *)(void *)(pin - PIN_ROOM));
    else if ((uintptr_t)pin & PIN_BLOCK)
        raw_block_let_go((struct raw_block *)(void *)(pin - PIN_BLOCK));
    else
        return false;
    return true;
}

/* A block as it is stored, with its trailer, and how long it is unpacked. */
struct stored_block {
    bytes stored;
    size_t content_len;
};

/* Reads it, unless somebody has left it there; verifies it in any case. False if it cannot be done. */
static bool fetch(const struct sorted *sorted, size_t len, struct raw_packed *packed,
                  struct stored_block *out)
{
    if (packed->len == 0) {
        if (!sorted_read(sorted, packed->id.offset, packed->data, len))
            return false;
        packed->len = len;
    }
    out->stored = bytes_of(packed->data, packed->len);
    return sst_is_sound(out->stored) && sst_content_len(out->stored, &out->content_len) &&
           out->content_len <= CONTENT_BYTES_MAX;
}

/* The youngest version of the key in what is left of the block that is not younger than `seq`. False if that is not enough
 * to tell. */
static bool search(struct sst_walk *walk, bytes key, uint64_t seq, struct version *out)
{
    bytes there, value;

    while (sst_walk_next(walk, &there, &value) == SST_ENTRY) {
        if (there.len < SST_SEQ_BYTES)
            return false;
        there.len -= SST_SEQ_BYTES;
        const int order = bytes_compare(there, key);
        const uint64_t number = sst_seq_and_kind(there.data + there.len);
        if (order > 0)
            return true;
        if (order < 0 || number >> 8 > seq)
            continue;
        out->is_there = true;
        out->seq = number >> 8;
        out->kind = (enum sst_kind)(number & 0xFF);
        out->value = value;
        return true;
    }
    return false;
}

static bool search_part(const struct stored_block *block, unsigned portion, bytes key, uint64_t seq,
                        struct version *out)
{
    const size_t len = block->content_len * portion / SORTED_PORTIONS;
    struct sst_walk walk;
    bytes part;

    if (portion == SORTED_PORTIONS || !sst_content_part(block->stored, out->room->data, len, &part))
        return false;
    sst_walk_part(&walk, part);
    return search(&walk, key, seq, out);
}

static bool search_content(bytes content, bytes key, uint64_t seq, struct version *out)
{
    struct sst_walk walk;

    return sst_walk_seek(&walk, content, key) && search(&walk, key, seq, out);
}

/* Unpacks all of it. */
static bool unpack(const struct stored_block *block, uint8_t *room, bytes *out)
{
    if (!sst_content(block->stored, room, out))
        return false;
    if (out->data != room && out->len)
        memcpy(room, out->data, out->len);
    out->data = room;
    return true;
}

static bool search_all(const struct stored_block *block, bytes key, uint64_t seq,
                       struct version *out)
{
    bytes content;

    return unpack(block, out->room->data, &content) && search_content(content, key, seq, out);
}

/* In a block that nobody has come back to yet. */
static bool search_once(struct raw_blocks *blocks, const struct stored_block *block,
                        unsigned portion, bytes key, uint64_t seq, struct version *out)
{
    out->room = raw_room_take(blocks, block->content_len);
    return out->room &&
           (search_part(block, portion, key, seq, out) || search_all(block, key, seq, out));
}

/* In a block that is kept from now on. */
static bool search_and_keep(struct raw_blocks *blocks, struct raw_block_id id,
                            const struct stored_block *block, bytes key, uint64_t seq,
                            struct version *out)
{
    uint8_t *room;
    bytes content;

    out->block = raw_block_new(id, block->content_len, &room);
    if (!out->block || !unpack(block, room, &content) || content.len != block->content_len)
        return false;
    raw_blocks_keep(blocks, out->block);
    return search_content(content, key, seq, out);
}

/* In a block that is not kept yet; `packed` is where it lies, or where it is read to. What is no block, or needed no longer, is
 * not left there for others. */
static bool search_packed(struct raw_blocks *blocks, const struct sorted *sorted,
                          const struct sorted_hit *hit, struct raw_packed *packed, bytes key,
                          uint64_t seq, struct version *out)
{
    const bool is_met_again = packed->len > 0;
    struct stored_block block;

    if (!fetch(sorted, (size_t)hit->place.len + SST_TRAILER_BYTES, packed, &block)) {
        packed->len = 0;
        return false;
    }
    if (!is_met_again)
        return search_once(blocks, &block, hit->portion, key, seq, out);
    packed->len = 0;
    return search_and_keep(blocks, packed->id, &block, key, seq, out);
}

static bool search_block(struct raw_blocks *blocks, const struct sorted *sorted,
                         const struct sorted_hit *hit, bytes key, uint64_t seq, struct version *out)
{
    const struct raw_block_id id = { .file = sorted->number, .offset = hit->place.offset };

    out->block = raw_blocks_find(blocks, id);
    if (out->block)
        return search_content(out->block->content, key, seq, out);
    struct raw_packed *packed = raw_packed_take(blocks, id,
                                                (size_t)hit->place.len + SST_TRAILER_BYTES);
    if (!packed)
        return false;
    const bool is_known = search_packed(blocks, sorted, hit, packed, key, seq, out);
    raw_packed_leave(blocks, packed);
    return is_known;
}

/* What the file has of the key. False if that cannot be told. */
static bool look_in(struct raw_blocks *blocks, const struct sorted *sorted, bytes key, uint64_t seq,
                    struct version *out)
{
    struct sorted_hit hit;

    *out = (struct version){ 0 };
    if (sorted_suspects(sorted, key))
        return false;
    const enum sorted_find found = sorted_find(sorted, key, &hit);
    if (found == SORTED_NOWHERE)
        return true;
    if (found == SORTED_IN_BLOCK && search_block(blocks, sorted, &hit, key, seq, out))
        return true;
    let_go(out);
    return false;
}

/* The first file that begins behind the key. */
static size_t file_behind(const struct raw_files *list, bytes key)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (bytes_compare(list->files[middle].first, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The youngest version in all files. False if that cannot be told; else what holds it is the caller's. */
static bool look_in_all(struct raw_shelf *shelf, struct raw_files *list, bytes key, uint64_t seq,
                        struct version *best)
{
    unsigned sources = 0;
    bool is_known = true;

    *best = (struct version){ 0 };
    for (size_t i = file_behind(list, key);
         is_known && i-- > 0 && bytes_compare(list->files[i].reach, key) >= 0;) {
        struct raw_file *file = &list->files[i];
        struct version version;
        if (bytes_compare(file->last, key) < 0)
            continue;
        struct sorted *sorted = sources++ < SOURCES_MAX ? raw_file_keep(shelf, file) : NULL;
        is_known = sorted && look_in(shelf->rocks->body_blocks, sorted, key, seq, &version);
        if (!is_known)
            break;
        const bool is_better = version.is_there && (!best->is_there || version.seq > best->seq);
        let_go(is_better ? best : &version);
        if (is_better)
            *best = version;
    }
    if (!is_known)
        let_go(best);
    return is_known;
}

/* What the files of the list have of the key, as far as `seq`. */
static bool get_from(struct raw_shelf *shelf, struct raw_files *list, bytes key, uint64_t seq,
                     struct storage_value *out)
{
    struct version version;

    if (graves_suspect_any(list->graves, key) || !look_in_all(shelf, list, key, seq, &version))
        return false;
    if (!version.is_there || version.kind != SST_VALUE) {
        let_go(&version);
        return false;
    }
    out->value = version.value;
    out->pin = pin_of(&version);
    return true;
}

static struct raw_files *list_of(struct rocksdb_storage *rocks, struct raw_view *view)
{
    struct raw_files *list = atomic_load_explicit(&view->files[SPACE_BODIES], memory_order_acquire);

    return list ? list
                : raw_view_keep(view, SPACE_BODIES,
                                raw_files_for_get(&rocks->shelves[SPACE_BODIES]));
}

bool raw_get(struct rocksdb_storage *rocks, struct raw_view *view, bytes key,
             struct storage_value *out)
{
    struct raw_shelf *shelf = &rocks->shelves[SPACE_BODIES];

    if (!view->has_seq || !shelf->graves)
        return false;
    struct raw_files *list = list_of(rocks, view);
    return list && get_from(shelf, list, key, view->seq, out);
}

void raw_expect(struct raw_view *view, bytes key)
{
    struct raw_files *list = atomic_load_explicit(&view->files[SPACE_BODIES], memory_order_acquire);
    const size_t behind = list ? file_behind(list, key) : 0;
    const struct sorted *sorted = behind > 0 ? atomic_load_explicit(&list->files[behind - 1].sorted,
                                                                    memory_order_acquire)
                                             : NULL;

    if (sorted)
        sorted_expect(sorted, key);
}

bool raw_get_newest(struct rocksdb_storage *rocks, bytes key, struct storage_value *out)
{
    struct raw_shelf *shelf = &rocks->shelves[SPACE_BODIES];
    struct raw_files *list = shelf->graves ? raw_files_for_get(shelf) : NULL;
    const bool is_there = list && get_from(shelf, list, key, UINT64_MAX, out);

    raw_files_let_go(list);
    return is_there;
}
