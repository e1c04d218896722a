/* Fuzz: reading blocks of RocksDB's sorted files. Whatever the bytes are, nothing outside of them is read. The first byte
 * chooses what they are taken for. */
#include <stdlib.h>

#include "storage/sst.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_on(struct sst_walk *walk)
{
    struct sst_place place;
    bytes key, value;

    while (sst_walk_next(walk, &key, &value) == SST_ENTRY) {
        (void)bytes_hash(key, 1); /* touches all of it */
        (void)bytes_hash(value, 1);
        (void)sst_read_place(value, &place);
    }
}

static void walk_all(bytes content)
{
    struct sst_walk walk;

    if (sst_walk_begin(&walk, content))
        walk_on(&walk);
    if (sst_walk_seek(&walk, content, BYTES_LITERAL("key")))
        walk_on(&walk);
}

static void search(bytes content, bool has_seq)
{
    struct sst_index index;
    struct sst_place place;
    uint32_t found;
    bytes key;

    if (!sst_index_begin(&index, content, has_seq))
        return;
    if (sst_index_find(&index, BYTES_LITERAL("key"), (struct sst_blocks){ 0, index.count },
                       &found) &&
        found > index.count)
        abort();
    for (uint32_t i = 0; i < index.count && i < 1000; i++)
        (void)sst_index_at(&index, i, &key, &place);
}

static void unpack(bytes stored)
{
    enum { ROOM = 1 << 16 };
    size_t len;
    bytes content;

    (void)sst_is_sound(stored);
    if (!sst_content_len(stored, &len) || len > ROOM)
        return;
    uint8_t *room = malloc(len + 1);
    if (room && sst_content_part(stored, room, len / 2, &content)) {
        struct sst_walk walk;
        sst_walk_part(&walk, content);
        walk_on(&walk);
    }
    if (room && sst_content(stored, room, &content))
        walk_all(content);
    free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sst_facts facts;
    struct sst_foot foot;

    if (size == 0)
        return 0;
    const bytes rest = bytes_of(data + 1, size - 1);
    switch (data[0] % 5) {
    case 0:
        walk_all(rest);
        break;
    case 1:
        search(rest, (data[0] & 0x80) != 0);
        break;
    case 2:
        unpack(rest);
        break;
    case 3:
        (void)sst_read_facts(rest, &facts);
        break;
    default:
        (void)sst_read_foot(rest, &foot);
        break;
    }
    return 0;
}
