/* Item search: an item by an id that is not its key.
 *
 * A document that came through another protocol is kept under its _id, and may have a string id of its own, by
 * which it is listed here. Nothing leads from such an id to its document but the document itself; so an index
 * over the field is used if the collection has one, otherwise the documents of the partition key are looked
 * through. Only collections that were marked for it (front/foreign.h) come here.
 *
 * Keeps: of several documents with the id it is always the first by key. Threads: the call's. */
#include "front/cosmos/item.h"

static status document_with_id(struct arena *arena, bytes id, bytes *out)
{
    struct buffer made = buffer_in(arena);
    size_t begun = document_begin(&made);

    document_append_text(&made, "id", id);
    document_end(&made, begun);
    return buffer_finish(&made, out);
}

/* One that has every document with a string id in it, under nothing but that. */
static bool is_on_id(const struct index *index)
{
    const struct index_definition *definition = &index->definition;

    return definition->kind == INDEX_FIELDS && definition->field_count == 1 &&
           bytes_equal(definition->fields[0].path, BYTES_LITERAL("id")) &&
           definition->fields[0].part == PART_VALUE && !definition->is_partial &&
           !definition->is_ranked && !definition->is_per_partition;
}

static status bounds_in_fields(struct arena *arena, const struct index *index, bytes id, bytes *out)
{
    struct scan_entries entries;
    bytes document;

    *out = BYTES_NONE;
    TRY(document_with_id(arena, id, &document));
    TRY(scan_entries(NULL, arena, index, document, &entries));
    if (entries.count == 1)
        *out = entries.items[0];
    return STATUS_OK;
}

/* Behind the value stands the key of the document, and that begins with the partition key. */
static status bounds_in_paths(struct arena *arena, bytes partition, bytes id, bytes *out)
{
    struct buffer bounds = buffer_in(arena);
    struct value value;

    TRY(value_of_text(arena, id, &value));
    scan_append_path_prefix(&bounds, BYTES_LITERAL("/id/?"));
    scan_append_path_value(&bounds, value);
    buffer_append(&bounds, partition);
    return buffer_finish(&bounds, out);
}

static status choose(struct call *call, bytes partition, bytes id, struct scan_spec *out)
{
    const struct collection *collection = call->collection;
    struct arena *arena = call->arena;

    *out = (struct scan_spec){ .is_end_inclusive = true };
    for (size_t i = 0; i < collection->index_count && out->start.len == 0; i++) {
        const struct index *index = &collection->indexes[i];
        if (index->state != INDEX_READY || index->definition.is_lazy)
            continue;
        out->index = index;
        if (is_on_id(index))
            TRY(bounds_in_fields(arena, index, id, &out->start));
        else if (index->definition.kind == INDEX_PATHS &&
                 scan_covers_path(arena, index, BYTES_LITERAL("/id/?")))
            TRY(bounds_in_paths(arena, partition, id, &out->start));
    }
    if (out->start.len == 0) {
        out->index = NULL;
        out->start = partition;
    }
    out->end = out->start;
    return STATUS_OK;
}

static status has_id(struct call *call, struct scan *scan, bytes id, bool *out)
{
    struct document document;
    struct value own;

    TRY(scan_document(scan, &document));
    *out = document_find(document.bson, "id", &own) && own.type == VALUE_STRING &&
           bytes_equal(value_text(own), id);
    document_release(&call->request, &document);
    return STATUS_OK;
}

status item_search(struct call *call, bytes partition, bytes id, struct document_key *out)
{
    bool is_fixed = call->request.view != NULL, is_found = false;
    struct scan_spec spec;
    struct scan_row row;
    struct scan *scan;
    status s;

    *out = (struct document_key){ .partition = partition };
    TRY(choose(call, partition, id, &spec));
    TRY(scan_open(&call->request, call->collection, &spec, &scan));
    while (!is_found && scan_next(scan, &row)) {
        if (bytes_equal(row.key.partition, partition))
            TRY_GOTO(has_id(call, scan, id, &is_found), done);
    }
    s = scan_status(scan);
    if (s.code == OK)
        s = is_found ? arena_copy(call->arena, row.key.id, &out->id)
                     : status_of(NOT_FOUND, "no document has this id");
done:
    scan_close(scan);
    if (!is_fixed) /* who comes back to the item wants to see what became of it */
        request_loosen(&call->request);
    return s;
}
