/* Index part: the computed parts of indexes over fields.
 *
 * A hash is computed from the value that the path of the part leads to, together with the other paths of the index
 * (index_key.c). All other kinds look at the whole document and give a list of values.
 *
 * Pure apart from the arena. Start reading at index_part_collect(). */
#include "engine/index_part.h"

#include "engine/index.h"

bool index_part_is_whole(enum index_part part)
{
    return part != PART_VALUE && part != PART_HASHED;
}

bool index_is_computed(const struct index_definition *definition)
{
    for (size_t i = 0; i < definition->field_count; i++) {
        if (definition->fields[i].part != PART_VALUE)
            return true;
    }
    return false;
}

status index_values_add(struct arena *arena, struct index_values *values, bytes value)
{
    if (values->count == LIMIT_ENTRIES_PER_DOCUMENT)
        return status_fail(arena, TOO_LARGE,
                           "the document has more than %d index entries, the limit",
                           LIMIT_ENTRIES_PER_DOCUMENT);
    if (values->count == values->room) {
        size_t room = values->room ? values->room * 2 : 8;
        bytes *more;
        TRY(ARENA_NEW(arena, room, &more));
        if (values->count)
            memcpy(more, values->items, values->count * sizeof(*more));
        values->items = more;
        values->room = room;
    }
    values->items[values->count++] = value;
    return STATUS_OK;
}

status index_append_hash(struct buffer *out, struct value value)
{
    int64_t hash;

    TRY(value_digest(out->arena, value, &hash));
    TRY(value_of_int64(out->arena, hash, &value));
    key_append_value(out, value, KEY_ASCENDING);
    return STATUS_OK;
}

status index_part_collect(const struct engine *engine, struct arena *arena,
                          const struct index_field *field, bytes document,
                          struct index_part_values *out)
{
    *out = (struct index_part_values){ 0 };
    switch (field->part) {
    case PART_WORDS:
    case PART_CELLS:
        if (!engine || !engine->options.extract)
            return status_of(UNSUPPORTED,
                             "this program was started without support for such indexes");
        return engine->options.extract(engine->options.extract_context, arena, field, document,
                                       &out->values);
    case PART_WILDCARD:
        return index_wildcard_values(arena, field, document, out);
    case PART_VALUE:
    case PART_HASHED:
    case PART_KINDS:
        break;
    }
    return STATUS_OK;
}
