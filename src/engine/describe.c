/* Describe: what a collection is, carried from one database to another.
 *
 * The description is the entry of the catalog as it is stored, with a checksum behind it, since it travels through
 * files that people edit. What belongs to the documents that stay behind (horizons, retired rules, the states of
 * indexes) is read and not used.
 *
 * Threads: any. Start reading at collection_describe(). */
#include "engine/row.h"
#include "engine/state.h"

enum { CHECKSUM_BYTES = 8 };

/* FNV-1a: against slips, not against anybody. */
static uint64_t checksum(bytes content)
{
    uint64_t sum = 0xcbf29ce484222325u;

    for (size_t i = 0; i < content.len; i++)
        sum = (sum ^ content.data[i]) * 0x100000001b3u;
    return sum;
}

status collection_describe(struct arena *arena, const struct collection *collection, bytes *out)
{
    struct buffer text = buffer_in(arena);

    row_write_collection(&text, collection);
    if (!text.is_failed)
        buffer_append_u64(&text, checksum(bytes_of(text.data, text.len)));
    return buffer_finish(&text, out);
}

static status read_description(struct engine *engine, struct arena *arena, bytes description,
                               struct collection *out)
{
    bytes row = bytes_of(description.data, description.len - CHECKSUM_BYTES);

    if (bytes_read_u64(row.data + row.len) != checksum(row))
        return status_of(CORRUPT, "the description of the collection was changed");
    return row_read_collection(arena, engine->collations, row, out);
}

status collection_recreate(struct engine *engine, struct arena *arena, bytes database, bytes name,
                           bytes description)
{
    struct collection read = { 0 };
    struct index_definition *indexes;
    size_t count = 0;

    if (description.len <= CHECKSUM_BYTES)
        return status_of(CORRUPT, "the description of the collection is cut off");
    TRY(read_description(engine, arena, description, &read));
    TRY(ARENA_NEW(arena, read.index_count + 1, &indexes));
    for (size_t i = 0; i < read.index_count; i++) {
        if (read.indexes[i].state != INDEX_FAILED)
            indexes[count++] = read.indexes[i].definition;
    }
    read.definition.database = database;
    read.definition.name = name;
    read.definition.default_ttl = read.policy.default_ttl;
    return collection_create(engine, arena, &read.definition, indexes, count);
}
