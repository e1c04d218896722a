/* Index key: which entries a document has in an index.
 *
 * A field index follows all its paths together. Where one of them meets an array, the entries fork,
 * one branch per element, and all paths that go through that same array follow the element; a second
 * array beside it cannot be indexed (the entries would multiply). An array at the end of a path gives
 * its elements; an empty one gives undefined. What is not there is missing, or null if the index says so.
 * Parts that are computed from the whole document (index_part.h) have their values beforehand, and every branch is
 * combined with each of them.
 *
 * Keeps: entries are sorted and without doubles; their number is bounded by LIMIT_ENTRIES_PER_DOCUMENT.
 * Pure apart from the arena. Start reading at index_collect(). */
#include "engine/index.h"
#include "engine/state.h"

#include <stdlib.h>

/* Where one path stands: a value and the parts still to be followed. */
struct place {
    struct value value;
    size_t next_part;
    bool is_final; /* an array element at the end of the path: taken as it is */
};

struct expansion {
    struct arena *arena;
    const struct index *index;
    bytes partition; /* in front of every entry */
    struct index_entries *out;
    const struct index_part_values *computed; /* by field; NULL: there are no such parts */
    bool has_wildcard;
    bool has_array; /* an array was entered */
};

static int compare_entries(const void *a, const void *b)
{
    const struct index_entry *left = a;
    const struct index_entry *right = b;

    if (left->index_id != right->index_id)
        return left->index_id < right->index_id ? -1 : 1;
    return bytes_compare(left->values, right->values);
}

void index_entries_sort(struct index_entries *entries)
{
    size_t kept = 0;

    if (entries->count > 1)
        qsort(entries->items, entries->count, sizeof(entries->items[0]), compare_entries);
    for (size_t i = 0; i < entries->count; i++) {
        if (kept == 0 || compare_entries(&entries->items[kept - 1], &entries->items[i]) != 0)
            entries->items[kept++] = entries->items[i];
    }
    entries->count = kept;
}

status index_entries_add(struct arena *arena, struct index_entries *entries, uint32_t index_id,
                         bytes values)
{
    if (values.len > LIMIT_KEY_BYTES)
        return status_fail(arena, TOO_LARGE, "an index entry would have %zu bytes, limit %d",
                           values.len, LIMIT_KEY_BYTES);
    if (entries->count == LIMIT_ENTRIES_PER_DOCUMENT)
        return status_fail(arena, TOO_LARGE,
                           "the document has more than %d index entries, the limit",
                           LIMIT_ENTRIES_PER_DOCUMENT);
    if (entries->count == entries->room) {
        struct index_entry *more;
        size_t room = entries->room ? entries->room * 2 : 8;
        TRY(ARENA_NEW(arena, room, &more));
        if (entries->count)
            memcpy(more, entries->items, entries->count * sizeof(*more));
        entries->items = more;
        entries->room = room;
    }
    entries->items[entries->count++] = (struct index_entry){ .index_id = index_id,
                                                             .values = values };
    return STATUS_OK;
}

static bool has_parts_left(const struct expansion *expansion, size_t field,
                           const struct place *place)
{
    return place->next_part < expansion->index->paths[field]->count;
}

static struct value find_in(struct value document, bytes name)
{
    struct document_walk walk = document_fields(value_document(document));
    struct field field;

    while (document_next(&walk, &field)) {
        if (bytes_equal(field.name, name))
            return field.value;
    }
    return (struct value){ .type = VALUE_MISSING };
}

static bool is_position(bytes part)
{
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] < '0' || part.data[i] > '9')
            return false;
    }
    return part.len > 0 && (part.len == 1 || part.data[0] != '0');
}

/* Follows a path until its end, an array, or nowhere. A part that is a position goes into the array. */
static void walk_place(const struct expansion *expansion, size_t field, struct place *place)
{
    const struct path *path = expansion->index->paths[field];

    while (has_parts_left(expansion, field, place) && !place->is_final) {
        bytes part = path->parts[place->next_part];
        if (place->value.type == VALUE_ARRAY) {
            struct value at = is_position(part) ? find_in(place->value, part)
                                                : (struct value){ .type = VALUE_MISSING };
            if (at.type == VALUE_MISSING)
                return;
            place->value = at;
        } else if (place->value.type == VALUE_DOCUMENT) {
            place->value = find_in(place->value, part);
        } else {
            place->value = (struct value){ .type = VALUE_MISSING };
            place->next_part = path->count;
            return;
        }
        place->next_part++;
    }
}

static status append_part(struct expansion *expansion, size_t field, struct value value,
                          struct buffer *key)
{
    const struct index_definition *definition = &expansion->index->definition;

    if (value.type == VALUE_MISSING && definition->is_missing_null)
        value = (struct value){ .type = VALUE_NULL };
    if (definition->fields[field].part == PART_HASHED)
        return index_append_hash(key, value);
    key_append_value_by(key, definition->collation, value, definition->fields[field].order);
    return STATUS_OK;
}

/* Fields from `field` on, behind what `key` holds already. */
static status emit_from(struct expansion *expansion, const struct place *places, size_t field,
                        struct buffer key)
{
    size_t count = expansion->index->definition.field_count;
    bytes values;

    for (; field < count; field++) {
        if (!index_part_is_whole(expansion->index->definition.fields[field].part)) {
            TRY(append_part(expansion, field, places[field].value, &key));
            continue;
        }
        const struct index_values *computed = &expansion->computed[field].values;
        for (size_t i = 0; i < computed->count; i++) {
            struct buffer branch = buffer_in(expansion->arena);
            buffer_append(&branch, bytes_of(key.data, key.len));
            buffer_append(&branch, computed->items[i]);
            TRY(emit_from(expansion, places, field + 1, branch));
        }
        return STATUS_OK;
    }
    TRY(buffer_finish(&key, &values));
    return index_entries_add(expansion->arena, expansion->out, expansion->index->id, values);
}

static status emit(struct expansion *expansion, const struct place *places)
{
    const struct index_definition *definition = &expansion->index->definition;
    struct buffer key = buffer_in(expansion->arena);
    bool has_any = !definition->is_sparse;

    for (size_t i = 0; i < definition->field_count && !has_any; i++)
        has_any = places[i].value.type != VALUE_MISSING ||
                  index_part_is_whole(definition->fields[i].part);
    if (!has_any)
        return STATUS_OK;
    buffer_append(&key, expansion->partition);
    return emit_from(expansion, places, 0, key);
}

static bool stands_at_array(const struct place *place)
{
    return place->value.type == VALUE_ARRAY && !place->is_final;
}

static status refuse_array(const struct expansion *expansion, const char *why)
{
    bytes name = expansion->index->definition.name;

    return status_fail(expansion->arena, INVALID, "index '%.*s' cannot hold a document with %s",
                       (int)name.len, (const char *)name.data, why);
}

/* The array at which some paths stand; INVALID if they stand at different ones. */
static status common_array(const struct expansion *expansion, const struct place *places,
                           struct value *array_out)
{
    *array_out = (struct value){ .type = VALUE_MISSING };
    for (size_t i = 0; i < expansion->index->definition.field_count; i++) {
        if (!stands_at_array(&places[i]))
            continue;
        if (expansion->index->definition.fields[i].part == PART_HASHED)
            return refuse_array(expansion, "an array in the field that is hashed");
        if (expansion->has_wildcard)
            return refuse_array(expansion, "an array in a field beside its wildcard");
        if (array_out->type == VALUE_ARRAY && array_out->raw.data != places[i].value.raw.data)
            return refuse_array(expansion, "arrays in two of its fields");
        *array_out = places[i].value;
    }
    return STATUS_OK;
}

static status expand(struct expansion *expansion, struct place *places, unsigned depth);

/* One branch: every path that stood at the array goes on with the element (missing: it was empty). */
static status expand_element(struct expansion *expansion, const struct place *places, bytes array,
                             const struct value *element, unsigned depth)
{
    size_t count = expansion->index->definition.field_count;
    struct place branch[LIMIT_INDEX_FIELDS];

    memcpy(branch, places, count * sizeof(*branch));
    for (size_t i = 0; i < count; i++) {
        if (!stands_at_array(&places[i]) || places[i].value.raw.data != array.data)
            continue;
        bool is_end = !has_parts_left(expansion, i, &places[i]);
        branch[i].value = element
                              ? *element
                              : (struct value){ .type = is_end ? VALUE_UNDEFINED : VALUE_MISSING };
        branch[i].is_final = is_end || !element;
        /* An array directly inside an array is not entered by name. */
        if (!is_end && branch[i].value.type == VALUE_ARRAY)
            branch[i] = (struct place){ .value = { .type = VALUE_MISSING }, .is_final = true };
    }
    return expand(expansion, branch, depth + 1);
}

static status expand(struct expansion *expansion, struct place *places, unsigned depth)
{
    struct value array;
    struct field element;
    bool is_empty = true;

    if (depth > LIMIT_NESTING_DEPTH)
        return status_of(TOO_LARGE, "the document is nested too deeply for an index");
    for (size_t i = 0; i < expansion->index->definition.field_count; i++)
        walk_place(expansion, i, &places[i]);
    TRY(common_array(expansion, places, &array));
    if (array.type == VALUE_MISSING)
        return emit(expansion, places);
    expansion->has_array = true;
    struct document_walk walk = document_fields(value_document(array));
    while (document_next(&walk, &element)) {
        is_empty = false;
        TRY(expand_element(expansion, places, array.raw, &element.value, depth));
    }
    return is_empty ? expand_element(expansion, places, array.raw, NULL, depth) : STATUS_OK;
}

static status find_partition(const struct index *index, const struct indexed_document *document,
                             bytes *out)
{
    struct document_key key;

    *out = BYTES_NONE;
    if (!index->definition.is_per_partition)
        return STATUS_OK;
    TRY(document_key_split(document->collection, document->key, &key));
    *out = key.partition;
    return STATUS_OK;
}

/* Those of one part, with nothing in the others. */
static status emit_marks(struct expansion *expansion, size_t part)
{
    const struct index_values *marks = &expansion->computed[part].marks;
    bytes values;

    for (size_t i = 0; i < marks->count; i++) {
        struct buffer key = buffer_in(expansion->arena);
        for (size_t k = 0; k < expansion->index->definition.field_count; k++) {
            if (k == part)
                buffer_append(&key, marks->items[i]);
            else
                key_append_value(&key, (struct value){ .type = VALUE_MIN_KEY }, KEY_ASCENDING);
        }
        TRY(buffer_finish(&key, &values));
        TRY(index_entries_add(expansion->arena, expansion->out, expansion->index->id, values));
    }
    return STATUS_OK;
}

/* All entries of a document in an index over fields. */
static status expand_document(const struct engine *engine, struct expansion *expansion,
                              bytes document)
{
    const struct index_definition *definition = &expansion->index->definition;
    struct place places[LIMIT_INDEX_FIELDS];
    struct index_part_values *computed = NULL;
    bool has_values = true;

    if (index_is_computed(definition))
        TRY(ARENA_NEW(expansion->arena, definition->field_count, &computed));
    expansion->computed = computed;
    for (size_t i = 0; i < definition->field_count; i++) {
        places[i] = (struct place){
            .value = {.type = VALUE_DOCUMENT, .raw = document}
        };
        if (!index_part_is_whole(definition->fields[i].part))
            continue;
        places[i] = (struct place){ .value = { .type = VALUE_MISSING }, .is_final = true };
        expansion->has_wildcard |= definition->fields[i].part == PART_WILDCARD;
        ASSERT(computed);
        TRY(index_part_collect(engine, expansion->arena, &definition->fields[i], document,
                               &computed[i]));
        TRY(emit_marks(expansion, i));
        has_values = has_values && computed[i].values.count > 0;
    }
    return has_values ? expand(expansion, places, 0) : STATUS_OK;
}

status index_collect(struct engine *engine, struct arena *arena, const struct index *index,
                     const struct indexed_document *document, struct index_entries *out)
{
    struct expansion expansion = { .arena = arena, .index = index, .out = out };

    if (index->definition.is_partial &&
        !engine->options.predicate(engine->options.predicate_context, index->definition.predicate,
                                   document->bson))
        return STATUS_OK;
    if (index->definition.kind == INDEX_PATHS)
        return index_collect_paths(arena, index, document->bson, out);
    if (index->definition.kind == INDEX_ARRIVAL)
        return index_collect_arrival(arena, index, document, out);
    if (index->definition.is_ranked)
        return index_collect_ranked(arena, index, document->bson, out);
    TRY(find_partition(index, document, &expansion.partition));
    size_t first = out->count;
    TRY(expand_document(engine, &expansion, document->bson));
    /* An array of one element has one entry, which is not the array: nothing may be read off it. */
    bool is_of_many = out->count - first > 1 || expansion.has_array;
    for (size_t i = first; is_of_many && i < out->count; i++)
        out->items[i].is_of_many = true;
    return STATUS_OK;
}

status scan_entries(const struct request *request, struct arena *arena, const struct index *index,
                    bytes document, struct scan_entries *out)
{
    struct index_entries entries = { 0 };
    struct expansion expansion = { .arena = arena, .index = index, .out = &entries };

    *out = (struct scan_entries){ 0 };
    ASSERT(index->definition.kind == INDEX_FIELDS);
    TRY(expand_document(request ? request->engine : NULL, &expansion, document));
    index_entries_sort(&entries);
    TRY(ARENA_NEW(arena, entries.count, &out->items));
    for (size_t i = 0; i < entries.count; i++)
        out->items[out->count++] = entries.items[i].values;
    return STATUS_OK;
}

status index_collect_all(struct engine *engine, struct arena *arena,
                         const struct indexed_document *document, struct index_entries *out)
{
    const struct collection *collection = document->collection;

    *out = (struct index_entries){ 0 };
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].state != INDEX_FAILED)
            TRY(index_collect(engine, arena, &collection->indexes[i], document, out));
    }
    index_entries_sort(out);
    return STATUS_OK;
}

status index_row_keys(struct arena *arena, const struct index_entries *entries, bytes document_key,
                      bytes **out)
{
    TRY(ARENA_NEW(arena, entries->count, out));
    for (size_t i = 0; i < entries->count; i++) {
        struct buffer key = buffer_in(arena);
        row_key_index(&key, entries->items[i].index_id);
        buffer_append(&key, entries->items[i].values);
        buffer_append(&key, document_key);
        TRY(buffer_finish(&key, &(*out)[i]));
    }
    return STATUS_OK;
}

/* A partial index expires only what it contains. */
static bool rule_covers(const struct date_rule *rule, const struct index_entries *entries)
{
    bool is_inside = !rule->is_partial;

    for (size_t i = 0; i < entries->count && !is_inside; i++)
        is_inside = entries->items[i].index_id == rule->index_id;
    return is_inside;
}

status index_pack_dates(struct arena *arena, const struct collection *collection,
                        const struct index_entries *entries, bytes document, bytes *out)
{
    const struct expiry_policy *policy = &collection->policy;
    struct buffer dates = buffer_in(arena);
    uint8_t packed[STAMP_DATE_BYTES];
    time_ms date;

    for (size_t i = 0; i < policy->rule_count; i++) {
        const struct date_rule *rule = &policy->rules[i];
        if (rule->retired_seq != UINT64_MAX || !rule_covers(rule, entries) ||
            !expiry_earliest_date(rule->path, document, arena, &date))
            continue;
        stamp_pack_date(packed, rule->number, date);
        buffer_append(&dates, bytes_of(packed, sizeof(packed)));
    }
    return buffer_finish(&dates, out);
}

const struct index *index_by_id(const struct collection *collection, uint32_t id)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        if (collection->indexes[i].id == id)
            return &collection->indexes[i];
    }
    return NULL;
}

/* ---- entries as people read them -------------------------------------------------------------------- */

/* The value at the front of the encoded entry, among those that the path leads to. */
static struct value value_of_entry(struct arena *arena, const struct path_values *reached,
                                   const struct collation *by, enum key_order order, bytes entry)
{
    for (size_t i = 0; i < reached->count; i++) {
        struct buffer encoded = buffer_in(arena);
        key_append_value_by(&encoded, by, reached->items[i], order);
        if (!encoded.is_failed && bytes_starts_with(entry, bytes_of(encoded.data, encoded.len)))
            return reached->items[i];
    }
    return (struct value){ .type = VALUE_MISSING };
}

status index_entry_values(struct arena *arena, const struct index *index, bytes document,
                          bytes entry, bytes *out)
{
    const struct index_definition *definition = &index->definition;
    struct buffer key = buffer_in(arena);
    size_t begun = document_begin(&key);

    if (definition->is_per_partition) /* what stands in front is not of its fields */
        entry = BYTES_NONE;
    for (size_t i = 0; i < definition->field_count; i++) {
        enum key_order order = definition->fields[i].order;
        struct path_values reached;
        TRY(path_collect(arena, index->paths[i], document, &reached));
        struct value value = entry.len > 0 ? value_of_entry(arena, &reached, definition->collation,
                                                            order, entry)
                                           : reached.items[0];
        if (value.type == VALUE_MISSING || value.type == VALUE_UNDEFINED)
            value = (struct value){ .type = VALUE_NULL };
        document_append(&key, definition->fields[i].path, value);
        entry = bytes_from(entry, key_value_length(entry, order));
    }
    document_end(&key, begun);
    return buffer_finish(&key, out);
}

static size_t sentence_len(bytes failure)
{
    const uint8_t *end = failure.len ? memchr(failure.data, 0, failure.len) : NULL;

    return end ? (size_t)(end - failure.data) : failure.len;
}

bytes index_failure_text(const struct index *index)
{
    return bytes_of(index->failure.data, sentence_len(index->failure));
}

bytes index_failure_key(const struct index *index)
{
    size_t len = sentence_len(index->failure);

    return len < index->failure.len ? bytes_from(index->failure, len + 1) : BYTES_NONE;
}
