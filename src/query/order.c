/* Order: a document's place by dotted paths.
 *
 * Nearly always no array is met, and the place is made of the encoded values one behind the other. Otherwise
 * the document's entries in an index over the same paths are made, and the first of them is the place: so
 * sorting and reading such an index agree, whatever the document looks like.
 *
 * Pure apart from the arena. Start reading at order_key(). */
#include "query/order.h"

#include "query/match_parts.h"

/* A name that no order has. */
#define SCORE_NAME "$score"

status order_make(struct arena *arena, const struct collation *by, const struct order_part *parts,
                  size_t count, const struct order **out)
{
    struct index_field *fields;
    struct order_part *copies;
    struct order *order;
    struct index *index;

    if (count > LIMIT_INDEX_FIELDS)
        return status_fail(arena, INVALID, "an order has %zu fields, the limit is %d", count,
                           LIMIT_INDEX_FIELDS);
    TRY(ARENA_NEW(arena, 1, &order));
    TRY(ARENA_NEW(arena, 1, &index));
    TRY(ARENA_NEW(arena, count, &copies));
    TRY(ARENA_NEW(arena, count, &fields));
    TRY(ARENA_NEW(arena, count, &index->paths));
    for (size_t i = 0; i < count; i++) {
        struct order_part *part = &copies[i];
        *part = parts[i];
        if (part->is_score)
            *part = (struct order_part){ BYTES_LITERAL(SCORE_NAME), true, true };
        order->has_score |= part->is_score;
        fields[i] = (struct index_field){ .path = part->path,
                                          .order = part->is_descending ? KEY_DESCENDING
                                                                       : KEY_ASCENDING };
        TRY(path_parse(arena, part->path, &index->paths[i]));
    }
    index->definition = (struct index_definition){ .name = BYTES_LITERAL("sort"),
                                                   .kind = INDEX_FIELDS,
                                                   .is_missing_null = true,
                                                   .expire_after_s = INDEX_NO_EXPIRY,
                                                   .collation = by,
                                                   .field_count = count,
                                                   .fields = fields };
    *order = (struct order){ .count = count,
                             .parts = copies,
                             .collation = by,
                             .index = index,
                             .has_score = order->has_score };
    *out = order;
    return STATUS_OK;
}

/* False if an array is met. */
static bool append_plain(struct buffer *key, const struct collation *by, bytes document,
                         const struct order_part *part)
{
    struct value value = { .type = VALUE_DOCUMENT, .raw = document };
    bytes rest = part->path;

    while (rest.len && value.type == VALUE_DOCUMENT) {
        bytes name = match_take_part(&rest);
        document_find_bytes(value_document(value), name, &value);
    }
    if (value.type == VALUE_ARRAY)
        return false;
    if (rest.len || value.type == VALUE_MISSING)
        value = (struct value){ .type = VALUE_NULL };
    key_append_value_by(key, by, value, part->is_descending ? KEY_DESCENDING : KEY_ASCENDING);
    return true;
}

/* The document with its score as a field. */
static status with_score(struct arena *arena, bytes document, double score, bytes *out)
{
    struct document_walk walk = document_fields(document);
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    struct value value;
    struct field field;

    TRY(value_of_double(arena, score, &value));
    document_append(&built, BYTES_LITERAL(SCORE_NAME), value);
    while (document_next(&walk, &field))
        document_append(&built, field.name, field.value);
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

status order_key(const struct order *order, struct arena *arena, bytes document, bytes *out)
{
    return order_key_scored(order, arena, document, 0, out);
}

status order_key_scored(const struct order *order, struct arena *arena, bytes document,
                        double score, bytes *out)
{
    struct buffer key = buffer_in(arena);
    struct scan_entries entries;
    bool is_plain = true;

    if (order->has_score)
        TRY(with_score(arena, document, score, &document));
    for (size_t i = 0; is_plain && i < order->count; i++)
        is_plain = append_plain(&key, order->collation, document, &order->parts[i]);
    if (is_plain)
        return buffer_finish(&key, out);
    TRY(scan_entries(NULL, arena, order->index, document, &entries));
    ASSERT(entries.count > 0);
    *out = entries.items[0];
    return STATUS_OK;
}
