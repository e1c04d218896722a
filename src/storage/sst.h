/* A sorted file of RocksDB as bytes: the foot, the blocks, the entries in them. Only the one form is read that our
 * settings make; everything else is "no", and whoever asks goes through RocksDB instead. Nothing here touches a file or
 * takes memory. Private to this room. */
#ifndef STORAGE_SST_H
#define STORAGE_SST_H

#include "base/base.h"

enum {
    SST_FOOT_BYTES = 53,
    SST_TRAILER_BYTES = 5, /* behind each block: how it is packed, and its checksum */
    SST_SEQ_BYTES = 8,     /* behind each key of a row */
    SST_KEY_BYTES_MAX = 512,
    SST_PIECE_BYTES = 16,
    SST_BLOCK_BYTES_MAX = 64 << 20,
};

/* Where a block lies, without its trailer. */
struct sst_place {
    uint64_t offset, len;
};

struct sst_foot {
    struct sst_place directory; /* names the blocks that are not rows */
    struct sst_place index;
};

/* Of the last SST_FOOT_BYTES of a file. */
bool sst_read_foot(bytes foot, struct sst_foot *out);

/* A block with its trailer: is it what was written? */
bool sst_is_sound(bytes stored);
/* What it holds takes so many bytes; false if it is packed in a way that we do not read. */
bool sst_content_len(bytes stored, size_t *out);
/* What it holds: where it lies, or unpacked into `room`, which has the bytes that it takes. */
bool sst_content(bytes stored, uint8_t *room, bytes *out);
/* Its beginning, of that length or somewhat less, for sst_walk_part(). False if it is not packed, too. */
bool sst_content_part(bytes stored, uint8_t *room, size_t len, bytes *out);

/* The entries of a block, one after the other. */
struct sst_walk {
    const uint8_t *at, *end;
    /* Of an entry that shares its beginning with the one before; copied in pieces, so there is room behind it. */
    uint8_t key[SST_KEY_BYTES_MAX + SST_PIECE_BYTES];
    bytes last;
};
enum sst_step { SST_ENTRY, SST_END, SST_BROKEN };

bool sst_walk_begin(struct sst_walk *walk, bytes content);
/* Of the beginning of a block, which may end in the middle of an entry. That is broken then, and so is what stands behind the
 * last one. */
void sst_walk_part(struct sst_walk *walk, bytes part);
/* Not behind the first entry whose key, without the number behind it, is not below `key`; only a few come before it. */
bool sst_walk_seek(struct sst_walk *walk, bytes content, bytes key);
/* The key is borrowed until the next call, the value from the block. */
enum sst_step sst_walk_next(struct sst_walk *walk, bytes *key_out, bytes *value_out);
/* A value that says where a block lies. */
bool sst_read_place(bytes value, struct sst_place *out);

/* The index of a file: for each block of rows a key that is not below its last one, in order. */
struct sst_index {
    bytes entries;
    const uint8_t *starts;
    uint32_t count;
    bool has_seq; /* behind the keys */
};
bool sst_index_begin(struct sst_index *index, bytes content, bool has_seq);
bool sst_index_at(const struct sst_index *index, uint32_t number, bytes *key_out,
                  struct sst_place *place_out);
/* The first block that may hold `key` or what comes behind it; `count` if there is none. It is known to be one of those
 * from `low` to `high`. */
struct sst_blocks {
    uint32_t low, high;
};
bool sst_index_find(const struct sst_index *index, bytes key, struct sst_blocks among,
                    uint32_t *out);

/* What is told about a file in its own block. */
struct sst_facts {
    bool is_readable; /* its index is of the form above, and its keys are in the order of bytes */
    bool has_seq_in_index;
};
bool sst_read_facts(bytes content, struct sst_facts *out);

/* The number and kind of a row, behind its key. */
enum sst_kind { SST_DELETED = 0, SST_VALUE = 1, SST_DELETED_ONCE = 7 };
static inline uint64_t sst_seq_and_kind(const uint8_t *at)
{
    return (uint64_t)bytes_read_u32_low_first(at + 4) << 32 | bytes_read_u32_low_first(at);
}

#endif
