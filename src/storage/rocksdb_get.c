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
 * that was not enough.
 *
 * Threads: any. */
#include "storage/rocksdb_raw.h"

enum {
    SOURCES_MAX = 8,           /* files that hold the key */
    STORED_BYTES_MAX = 16384,  /* of a block that is read this way, packed */
    CONTENT_BYTES_MAX = 65536, /* and unpacked */
};

/* Pins of ours have their lowest bit set, those of RocksDB do not: both come from an allocator. */
static void *mark_pin(uint8_t *room)
{
    return room + 1;
}

bool raw_value_release(struct storage_value *value)
{
    uint8_t *pin = value->pin;

    if (((uintptr_t)pin & 1) == 0)
        return false;
    memory_give(pin - 1);
    return true;
}

/* The version that a file has. */
struct version {
    bool is_there;
    uint64_t seq;
    enum sst_kind kind;
    bytes value;
    uint8_t *room; /* holds the value */
};

/* A block as it is stored, with its trailer. */
struct stored_block {
    uint8_t packed[STORED_BYTES_MAX];
    bytes stored;
    size_t content_len;
};

/* Reads and verifies it. False if it cannot be done. */
static bool read_stored(const struct sorted *sorted, struct sst_place place,
                        struct stored_block *out)
{
    const size_t len = (size_t)place.len + SST_TRAILER_BYTES;

    if (len > sizeof(out->packed) || !sorted_read(sorted, place.offset, out->packed, len))
        return false;
    out->stored = bytes_of(out->packed, len);
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

    if (portion == SORTED_PORTIONS || !sst_content_part(block->stored, out->room, len, &part))
        return false;
    sst_walk_part(&walk, part);
    return search(&walk, key, seq, out);
}

static bool search_all(const struct stored_block *block, bytes key, uint64_t seq,
                       struct version *out)
{
    struct sst_walk walk;
    bytes content;

    if (!sst_content(block->stored, out->room, &content))
        return false;
    if (content.data != out->room && content.len)
        memcpy(out->room, content.data, content.len);
    content.data = out->room;
    return sst_walk_seek(&walk, content, key) && search(&walk, key, seq, out);
}

/* What the file has of the key. False if that cannot be told. */
static bool look_in(const struct sorted *sorted, bytes key, uint64_t seq, struct version *out)
{
    struct stored_block block;
    struct sorted_hit hit;

    *out = (struct version){ 0 };
    if (sorted_suspects(sorted, key))
        return false;
    if (!sorted_find(sorted, key, &hit))
        return true;
    if (read_stored(sorted, hit.place, &block))
        out->room = memory_take(block.content_len);
    if (out->room &&
        (search_part(&block, hit.portion, key, seq, out) || search_all(&block, key, seq, out)))
        return true;
    memory_give(out->room);
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

/* The youngest version in all files. False if that cannot be told; else its room is the caller's. */
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
        is_known = sorted && look_in(sorted, key, seq, &version);
        if (!is_known)
            break;
        const bool is_better = version.is_there && (!best->is_there || version.seq > best->seq);
        memory_give(is_better ? best->room : version.room);
        if (is_better)
            *best = version;
    }
    if (!is_known)
        memory_give(best->room);
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
        memory_give(version.room);
        return false;
    }
    out->value = version.value;
    out->pin = mark_pin(version.room);
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

bool raw_get_newest(struct rocksdb_storage *rocks, bytes key, struct storage_value *out)
{
    struct raw_shelf *shelf = &rocks->shelves[SPACE_BODIES];
    struct raw_files *list = shelf->graves ? raw_files_for_get(shelf) : NULL;
    const bool is_there = list && get_from(shelf, list, key, UINT64_MAX, out);

    raw_files_let_go(list);
    return is_there;
}
