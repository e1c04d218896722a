/* Find cover: rows that are made of index entries, without their documents.
 *
 * If the entries decide the condition, each document has one, and all fields that will be looked at are in them, then
 * nothing has to be loaded. An entry does not keep everything: numbers have lost their types, and null may stand for
 * what is not there. A row with one of these is made of its document after all. An index whose keys of texts are not
 * the texts themselves covers nothing.
 *
 * Whether a document lives is decided by its entry too, as in every walk.
 *
 * Pure apart from the arena. */
#include "query/find_parts.h"

static bool is_needed(const struct find_request *wanted, bytes name)
{
    for (size_t i = 0; i < wanted->needed_count; i++) {
        if (bytes_equal(wanted->needed[i], name))
            return true;
    }
    return false;
}

bool find_can_cover(const struct find_request *wanted, const struct find_plan *plan)
{
    size_t found = 0;

    if (wanted->needed_count == 0 || plan->access != FIND_ACCESS_INDEX || !plan->is_exact ||
        plan->has_many || plan->index->definition.collation || !scan_can_read_off(wanted->request))
        return false;
    for (size_t i = 0; i < plan->index->definition.field_count; i++) {
        const struct index_field *field = &plan->index->definition.fields[i];
        if (field->part != PART_VALUE)
            return false;
        found += is_needed(wanted, field->path);
    }
    return found == wanted->needed_count;
}

status find_cover(const struct find_request *wanted, const struct find_plan *plan,
                  struct arena *arena, bytes entry, bytes *document_out, bool *is_covered_out)
{
    const struct index_definition *definition = &plan->index->definition;
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    struct value value;

    *is_covered_out = true;
    for (size_t i = 0; i < definition->field_count && *is_covered_out; i++) {
        const struct index_field *field = &definition->fields[i];
        if (!is_needed(wanted, field->path)) {
            entry = bytes_from(entry, key_value_length(entry, field->order));
            continue;
        }
        TRY(key_take_value(arena, &entry, field->order, &value, is_covered_out));
        document_append(&built, field->path, value);
    }
    document_end(&built, begun);
    return buffer_finish(&built, document_out);
}
