/* Versions of documents in blocks of RocksDB's files.
 *
 * A value is a block in memory of its own, which costs less than to copy the row out of it. To unpack the block is the most
 * work, and what comes behind the row is not needed; so it is unpacked as far as the row probably reaches, and as a whole if
 * that was not enough. Documents that were written together are often wanted together, and lie in one block: when a block is
 * wanted for the second time, or by several at once, it is unpacked as a whole, and kept for some while if they come one behind the
 * other (rocksdb_blocks.c).
 *
 * Threads: any. */
#include "storage/rocksdb_version.h"

enum { CONTENT_BYTES_MAX = 65536 /* of a block that is read this way, unpacked */ };

/* Pins of ours have one of their lowest bits set, those of RocksDB have none: all come from an allocator. */
enum { PIN_ROOM = 1, PIN_BLOCK = 2 };

void version_let_go(const struct version *version)
{
    raw_room_leave(version->room);
    raw_block_let_go(version->block);
}

void version_give(const struct version *version, struct storage_value *out)
{
    out->value = version->value;
    out->pin = version->room ? (uint8_t *)version->room + PIN_ROOM
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

/* ---- blocks ------------------------------------------------------------------------------------------- */

bool stored_block_check(bytes stored, struct stored_block *out)
{
    out->stored = stored;
    return sst_is_sound(stored) && sst_content_len(stored, &out->content_len) &&
           out->content_len <= CONTENT_BYTES_MAX;
}

/* Reads it, unless somebody has left it there; verifies it in any case. False if it cannot be done. */
static bool fetch(const struct sorted *sorted, size_t len, struct raw_packed *packed,
                  struct stored_block *out)
{
    if (packed->len == 0) {
        if (!sorted_read(sorted, packed->id.offset, packed->data, len))
            return false;
        packed->len = len;
    }
    return stored_block_check(bytes_of(packed->data, packed->len), out);
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

bool version_in_content(bytes content, bytes key, uint64_t seq, struct version *out)
{
    struct sst_walk walk;

    return sst_walk_seek(&walk, content, key) && search(&walk, key, seq, out);
}

bool stored_block_unpack(const struct stored_block *block, uint8_t *room, bytes *out)
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

    return stored_block_unpack(block, out->room->data, &content) &&
           version_in_content(content, key, seq, out);
}

bool version_in_stored(struct raw_blocks *blocks, const struct stored_block *block,
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
    if (!out->block || !stored_block_unpack(block, room, &content) ||
        content.len != block->content_len)
        return false;
    raw_blocks_keep(blocks, out->block);
    return version_in_content(content, key, seq, out);
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
        return version_in_stored(blocks, &block, hit->portion, key, seq, out);
    packed->len = 0;
    return search_and_keep(blocks, packed->id, &block, key, seq, out);
}

bool version_in_block(struct raw_blocks *blocks, const struct sorted *sorted,
                      const struct sorted_hit *hit, bytes key, uint64_t seq, struct version *out)
{
    const struct raw_block_id id = { .file = sorted->number, .offset = hit->place.offset };

    out->block = raw_blocks_find(blocks, id);
    if (out->block)
        return version_in_content(out->block->content, key, seq, out);
    struct raw_packed *packed = raw_packed_take(blocks, id,
                                                (size_t)hit->place.len + SST_TRAILER_BYTES);
    if (!packed)
        return false;
    const bool is_known = search_packed(blocks, sorted, hit, packed, key, seq, out);
    raw_packed_leave(blocks, packed);
    return is_known;
}
