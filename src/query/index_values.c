/* Index values: the parts of indexes whose values are computed from what this room knows.
 *
 * The engine asks for them when it writes a document, checks one, or is asked for the entries of one; so the same
 * document and settings must give the same values for ever, or the index has to be built again.
 *
 * Threads: pure apart from the arena; called by every thread that writes. Start reading at query_index_values(). */
#include "query/index_values.h"

#include "query/geometry_cells.h"
#include "query/search.h"

status query_index_values(void *context, struct arena *arena, const struct index_field *field,
                          bytes document, struct index_values *out)
{
    (void)context;
    switch (field->part) {
    case PART_WORDS:
        return search_index_values(arena, field, document, out);
    case PART_CELLS:
        return geometry_index_values(arena, field, document, out);
    case PART_VALUE:
    case PART_HASHED:
    case PART_WILDCARD:
    case PART_KINDS:
        break;
    }
    return STATUS_OK;
}
