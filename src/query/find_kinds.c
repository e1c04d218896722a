/* Find kinds: what a condition says about the parts of an index, by the kind of the part.
 *
 * A part of values is asked for stretches of values. A computed part (engine/index_part.h) has stretches of its own:
 * whoever adds a kind adds a case to find_part_ranges(). The rules are those of find_ranges.c: every document for
 * which the condition is true has an entry in one of the stretches, and the stretches may hold more, because every
 * document is asked again; is_exact says that they do not.
 *
 * A part that is computed from the whole document leaves documents out, and has others several times. So such an
 * index is a way only if that part is bounded.
 *
 * Pure apart from the arena. */
#include "query/find_parts.h"

static bool is_whole(enum index_part part)
{
    return part != PART_VALUE && part != PART_HASHED;
}

bool find_part_is_bounded(const struct index *index, size_t bounded)
{
    for (size_t i = bounded; i < index->definition.field_count; i++) {
        if (is_whole(index->definition.fields[i].part))
            return false;
    }
    return true;
}

status find_part_ranges(const struct find_request *wanted, struct arena *arena,
                        const struct find_part *part, struct find_ranges **out)
{
    const struct index_field *field = &part->index->definition.fields[part->field];

    *out = NULL;
    switch (field->part) {
    case PART_VALUE:
        return find_ranges_of(arena, wanted->match, field->path, field->order, part->is_single,
                              out);
    case PART_HASHED:
        return find_ranges_hashed(arena, wanted->match, field->path, out);
    case PART_WILDCARD:
    case PART_WORDS:
    case PART_CELLS:
    case PART_KINDS:
        break;
    }
    return STATUS_OK;
}
