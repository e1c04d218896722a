/* Index by arrival: the documents of a collection in the order in which they came.
 *
 * A document's entry is the number of the write that began its life, which it keeps until it dies or is deleted.
 * That number is given by the committing thread, so a write lays the entry out without it and the commit fills it
 * in.
 *
 * Pure apart from the arena. */
#include "engine/index.h"

const struct index *collection_arrivals(const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].definition.kind == INDEX_ARRIVAL)
            return &collection->indexes[i];
    }
    return NULL;
}

void engine_read_arrivals(struct engine *engine, arrival_reader *reader, void *context)
{
    atomic_store(&engine->arrivals, NULL);
    atomic_store(&engine->arrivals_context, context);
    atomic_store(&engine->arrivals, reader);
}

status index_collect_arrival(struct arena *arena, const struct index *index,
                             const struct indexed_document *document, struct index_entries *out)
{
    uint8_t *values;

    TRY(ARENA_NEW(arena, ROW_ARRIVAL_BYTES, &values));
    row_write_arrival(values, document->birth_seq);
    return index_entries_add(arena, out, index->id, bytes_of(values, ROW_ARRIVAL_BYTES));
}

size_t index_find_arrival(const struct collection *collection, const struct index_entries *entries)
{
    const struct index *index = collection_arrivals(collection);
    size_t at = 0;

    while (at < entries->count && (!index || entries->items[at].index_id != index->id))
        at++;
    return at;
}
