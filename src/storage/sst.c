/* SST: what RocksDB's sorted files look like.
 *
 * A file is blocks, each followed by one byte that says how it is packed and by four bytes of checksum; at its end 53
 * bytes tell where the index and the directory of other blocks are. A block is entries, then the offsets of some of them,
 * then how many offsets there are. An entry is the length that its key shares with the one before, the length of the
 * rest, the length of the value, the rest of the key, the value. The key of a row ends in eight bytes: its number and
 * its kind. In the index, values have no length: they are an offset and a length.
 *
 *     foot   checksum kind(1) directory(offset, length) index(offset, length) filled up to 41, version(4) magic(8)
 *     sizes and offsets in front of entries are seven bits a byte, least first; all other numbers least byte first
 *
 * Keeps: nothing is read outside of the bytes that are given, whatever they hold.
 * Threads: no shared state. */
#include "storage/sst.h"

#include <lz4.h>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h> /* the same by the widest instructions that the processor has */
#else
#include <xxhash.h>
#endif

#define MAGIC UINT64_C(0x88e241b785f4cff7)
/* What the kind of packing adds to a checksum. */
#define LAST_BYTE_FACTOR UINT32_C(0x6b9083d9)

enum { CHECKSUM_XXH3 = 4, VERSION_MIN = 4, VERSION_MAX = 5 };
enum { PACKED_NOT = 0, PACKED_LZ4 = 4 };
enum { FOOT_VERSION_AT = 41, FOOT_MAGIC_AT = 45 };

/* ---- numbers -------------------------------------------------------------------------------------- */

/* Moves `at` behind the number; false if there is none. */
static bool take_number(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_place(const uint8_t **at, const uint8_t *end, struct sst_place *out)
{
    return take_number(at, end, &out->offset) && take_number(at, end, &out->len) &&
           out->len <= SST_BLOCK_BYTES_MAX && out->offset <= INT64_MAX / 2;
}

bool sst_read_place(bytes value, struct sst_place *out)
{
    return take_place(&value.data, value.data + value.len, out);
}

/* ---- foot ----------------------------------------------------------------------------------------- */

bool sst_read_foot(bytes foot, struct sst_foot *out)
{
    if (foot.len != SST_FOOT_BYTES || sst_seq_and_kind(foot.data + FOOT_MAGIC_AT) != MAGIC ||
        foot.data[0] != CHECKSUM_XXH3)
        return false;
    const uint32_t version = bytes_read_u32_low_first(foot.data + FOOT_VERSION_AT);
    const uint8_t *at = foot.data + 1, *end = foot.data + FOOT_VERSION_AT;
    return version >= VERSION_MIN && version <= VERSION_MAX &&
           take_place(&at, end, &out->directory) && take_place(&at, end, &out->index);
}

/* ---- blocks --------------------------------------------------------------------------------------- */

static uint8_t packing_of(bytes stored)
{
    return stored.data[stored.len - SST_TRAILER_BYTES];
}

bool sst_is_sound(bytes stored)
{
    if (stored.len < SST_TRAILER_BYTES)
        return false;
    const uint32_t sum = (uint32_t)XXH3_64bits(stored.data, stored.len - SST_TRAILER_BYTES);
    return (sum ^ packing_of(stored) * LAST_BYTE_FACTOR) ==
           bytes_read_u32_low_first(stored.data + stored.len - SST_TRAILER_BYTES + 1);
}

bool sst_content_len(bytes stored, size_t *out)
{
    const uint8_t *at = stored.data;
    uint64_t len;

    if (stored.len < SST_TRAILER_BYTES)
        return false;
    *out = stored.len - SST_TRAILER_BYTES;
    if (packing_of(stored) == PACKED_NOT)
        return true;
    if (packing_of(stored) != PACKED_LZ4 ||
        !take_number(&at, stored.data + stored.len - SST_TRAILER_BYTES, &len) ||
        len > SST_BLOCK_BYTES_MAX)
        return false;
    *out = (size_t)len;
    return true;
}

/* What is packed, behind the length that it has unpacked. */
static bool packed_of(bytes stored, bytes *out, uint64_t *len_out)
{
    const uint8_t *at = stored.data, *end = stored.data + stored.len - SST_TRAILER_BYTES;

    if (!take_number(&at, end, len_out))
        return false;
    *out = bytes_of(at, (size_t)(end - at));
    return true;
}

bool sst_content(bytes stored, uint8_t *room, bytes *out)
{
    bytes packed;
    uint64_t len;

    *out = bytes_of(stored.data, stored.len - SST_TRAILER_BYTES);
    if (packing_of(stored) == PACKED_NOT)
        return true;
    if (!packed_of(stored, &packed, &len))
        return false;
    *out = bytes_of(room, (size_t)len);
    return LZ4_decompress_safe((const char *)packed.data, (char *)room, (int)packed.len,
                               (int)len) == (int)len;
}

bool sst_content_part(bytes stored, uint8_t *room, size_t len, bytes *out)
{
    bytes packed;
    uint64_t whole;

    *out = BYTES_NONE;
    if (packing_of(stored) == PACKED_NOT || !packed_of(stored, &packed, &whole) || len > whole)
        return false;
    const int have = LZ4_decompress_safe_partial((const char *)packed.data, (char *)room,
                                                 (int)packed.len, (int)len, (int)len);
    if (have < 0)
        return false;
    *out = bytes_of(room, (size_t)have);
    return true;
}

/* ---- entries -------------------------------------------------------------------------------------- */

/* Parts a block into entries and the offsets of some of them. A block with an additional table has its highest bit
 * set in the count, which is too many. */
static bool part(bytes content, bytes *entries_out, uint32_t *offsets_out)
{
    if (content.len < 4)
        return false;
    *offsets_out = bytes_read_u32_low_first(content.data + content.len - 4);
    if (*offsets_out > (content.len - 4) / 4)
        return false;
    *entries_out = bytes_of(content.data, content.len - 4 - (size_t)*offsets_out * 4);
    return true;
}

bool sst_walk_begin(struct sst_walk *walk, bytes content)
{
    uint32_t offsets;
    bytes entries;

    if (!part(content, &entries, &offsets))
        return false;
    walk->at = entries.data;
    walk->end = entries.data + entries.len;
    walk->last = BYTES_NONE;
    return true;
}

void sst_walk_part(struct sst_walk *walk, bytes part)
{
    walk->at = part.data;
    walk->end = part.data + part.len;
    walk->last = BYTES_NONE;
}

/* The key of an entry that an offset leads to: it shares nothing with the one before. */
static bool key_at(bytes entries, uint32_t start, bytes *out)
{
    const uint8_t *end = entries.data + entries.len, *at;
    uint64_t shared, rest, len;

    if (start >= entries.len)
        return false;
    at = entries.data + start;
    if (!take_number(&at, end, &shared) || !take_number(&at, end, &rest) ||
        !take_number(&at, end, &len) || shared != 0 || rest < SST_SEQ_BYTES ||
        rest > (uint64_t)(end - at))
        return false;
    *out = bytes_of(at, (size_t)rest - SST_SEQ_BYTES);
    return true;
}

bool sst_walk_seek(struct sst_walk *walk, bytes content, bytes key)
{
    uint32_t low = 0, high;
    bytes entries, there;

    if (!sst_walk_begin(walk, content) || !part(content, &entries, &high))
        return false;
    const uint8_t *starts = entries.data + entries.len;
    /* Offsets below `low` lead to keys below; those from `high` on do not. */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (!key_at(entries, bytes_read_u32_low_first(starts + (size_t)middle * 4), &there))
            return false;
        if (bytes_compare(there, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        walk->at = entries.data + bytes_read_u32_low_first(starts + (size_t)(low - 1) * 4);
    return true;
}

/* Copies `len` bytes; behind `to` there is room for a piece more, and `from` may be read up to `end`. Keys are short: pieces of
 * one size take less than to find out how much there is. */
static void copy_key(uint8_t *to, const uint8_t *from, const uint8_t *end, size_t len)
{
    if ((size_t)(end - from) < len + SST_PIECE_BYTES) {
        memcpy(to, from, len);
        return;
    }
    for (size_t i = 0; i < len; i += SST_PIECE_BYTES)
        memcpy(to + i, from + i, SST_PIECE_BYTES);
}

/* The key of which `rest` is new and the beginning is that of the last one. */
static bool join_key(struct sst_walk *walk, size_t shared, bytes rest, bytes *out)
{
    if (shared > walk->last.len || shared + rest.len > SST_KEY_BYTES_MAX)
        return false;
    if (walk->last.data != walk->key)
        copy_key(walk->key, walk->last.data, walk->end, shared);
    copy_key(walk->key + shared, rest.data, walk->end, rest.len);
    *out = bytes_of(walk->key, shared + rest.len);
    return true;
}

/* What stands before an entry; mostly each number has one byte. */
struct entry {
    uint64_t shared, rest, len;
};

static bool take_entry(const uint8_t **at, const uint8_t *end, struct entry *out)
{
    const uint8_t *head = *at;

    if (end - head >= 3 && (head[0] | head[1] | head[2]) < 0x80) {
        *out = (struct entry){ head[0], head[1], head[2] };
        *at += 3;
        return true;
    }
    return take_number(at, end, &out->shared) && take_number(at, end, &out->rest) &&
           take_number(at, end, &out->len);
}

enum sst_step sst_walk_next(struct sst_walk *walk, bytes *key_out, bytes *value_out)
{
    const uint8_t *at = walk->at, *end = walk->end;
    struct entry entry;

    if (at == end)
        return SST_END;
    if (!take_entry(&at, end, &entry) || entry.rest > (uint64_t)(end - at) ||
        entry.len > (uint64_t)(end - at) - entry.rest)
        return SST_BROKEN;
    *key_out = bytes_of(at, (size_t)entry.rest);
    if (entry.shared && !join_key(walk, (size_t)entry.shared, *key_out, key_out))
        return SST_BROKEN;
    *value_out = bytes_of(at + entry.rest, (size_t)entry.len);
    walk->last = *key_out;
    walk->at = at + entry.rest + entry.len;
    return SST_ENTRY;
}

/* ---- index ---------------------------------------------------------------------------------------- */

bool sst_index_begin(struct sst_index *index, bytes content, bool has_seq)
{
    index->has_seq = has_seq;
    if (!part(content, &index->entries, &index->count))
        return false;
    index->starts = index->entries.data + index->entries.len;
    if (index->entries.len == 0) /* a file of deleted ranges alone */
        index->count = 0;
    return index->count > 0 || index->entries.len == 0;
}

bool sst_index_at(const struct sst_index *index, uint32_t number, bytes *key_out,
                  struct sst_place *place_out)
{
    const uint32_t start = bytes_read_u32_low_first(index->starts + (size_t)number * 4);
    const uint8_t *end = index->entries.data + index->entries.len, *at;
    uint64_t shared, len;

    if (start >= index->entries.len)
        return false;
    at = index->entries.data + start;
    if (!take_number(&at, end, &shared) || !take_number(&at, end, &len) || shared != 0 ||
        len > (uint64_t)(end - at))
        return false;
    *key_out = bytes_of(at, (size_t)len);
    if (index->has_seq && len < SST_SEQ_BYTES)
        return false;
    if (index->has_seq)
        key_out->len -= SST_SEQ_BYTES;
    at += len;
    /* Each entry begins where one ends: there are none between the offsets. */
    return take_place(&at, end, place_out) &&
           (number + 1 == index->count
                ? at == end
                : (size_t)(at - index->entries.data) ==
                      bytes_read_u32_low_first(index->starts + ((size_t)number + 1) * 4));
}

bool sst_index_find(const struct sst_index *index, bytes key, struct sst_blocks among,
                    uint32_t *out)
{
    uint32_t low = among.low, high = among.high;
    struct sst_place place;
    bytes last;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (!sst_index_at(index, middle, &last, &place))
            return false;
        if (bytes_compare(last, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return true;
}

/* ---- facts ---------------------------------------------------------------------------------------- */

bool sst_read_facts(bytes content, struct sst_facts *out)
{
    bool is_searched = false, has_places = false, is_by_bytes = false, is_ours = true;
    struct sst_walk walk;
    enum sst_step step;
    bytes name, value;

    *out = (struct sst_facts){ .has_seq_in_index = true };
    if (!sst_walk_begin(&walk, content))
        return false;
    while ((step = sst_walk_next(&walk, &name, &value)) == SST_ENTRY) {
        if (bytes_is_text(name, "rocksdb.block.based.table.index.type"))
            is_searched = value.len == 4 && bytes_read_u32_low_first(value.data) == 0;
        else if (bytes_is_text(name, "rocksdb.index.value.is.delta.encoded"))
            has_places = value.len == 1 && value.data[0] == 1;
        else if (bytes_is_text(name, "rocksdb.index.key.is.user.key"))
            out->has_seq_in_index = value.len != 1 || value.data[0] == 0;
        else if (bytes_is_text(name, "rocksdb.comparator"))
            is_by_bytes = bytes_is_text(value, "leveldb.BytewiseComparator");
        else if (bytes_starts_with(name, BYTES_LITERAL("rocksdb.external_sst_file.")))
            is_ours = false;
    }
    out->is_readable = is_searched && has_places && is_by_bytes && is_ours;
    return step == SST_END;
}
