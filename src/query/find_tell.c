/* Find tell: the plan of a find in words that people read, for who wants to know how their documents are found.
 *
 * Threads: pure apart from the arena. Start reading at find_tell(). */
#include "query/find_parts.h"
#include "query/search.h"

/* Stretches shown for one field. */
enum { SHOWN_MAX = 100 };

static bool is_exclusive_start(bytes start)
{
    return start.len > 1 && start.data[start.len - 1] == 0xFF;
}

static status write_range(struct arena *arena, const struct find_range *range, enum key_order order,
                          bool is_collated, struct value *out)
{
    struct buffer text = buffer_in(arena);
    bool is_open = is_exclusive_start(range->start);
    struct key_bound start = { .key = range->start,
                               .is_point = range->is_end_inclusive,
                               .is_collated = is_collated };
    struct key_bound end = { .key = range->end,
                             .is_end = true,
                             .is_point = range->is_end_inclusive,
                             .is_collated = is_collated };
    bytes whole;

    if (is_open)
        start.key.len--;
    buffer_append_byte(&text, is_open ? '(' : '[');
    key_write_bound(&text, &start, order);
    buffer_append_text(&text, ", ");
    key_write_bound(&text, &end, order);
    /* The end of a kind belongs to it, as far as people see it. */
    buffer_append_byte(&text, range->is_end_inclusive || range->end.len <= 1 ? ']' : ')');
    TRY(buffer_finish(&text, &whole));
    return value_of_text(arena, whole, out);
}

static status append_field(struct arena *arena, struct buffer *out, bytes name,
                           enum key_order order, bool is_collated, const struct find_ranges *ranges)
{
    static const struct find_range everything;
    struct buffer list = buffer_in(arena);
    size_t count = ranges ? ranges->count : 1, begun = document_begin(&list);
    struct value text;
    bytes array;

    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        const char *number = arena_format(arena, "%zu", i);
        if (!number)
            return arena_exhausted(arena);
        TRY(write_range(arena, ranges ? &ranges->items[i] : &everything, order, is_collated,
                        &text));
        document_append(&list, bytes_of_text(number), text);
    }
    document_end(&list, begun);
    TRY(buffer_finish(&list, &array));
    document_append(out, name, (struct value){ VALUE_ARRAY, array });
    return STATUS_OK;
}

static status append_text(struct arena *arena, struct buffer *list, size_t number, const char *text)
{
    const char *name = arena_format(arena, "%zu", number);

    if (!name || !text)
        return arena_exhausted(arena);
    document_append_text(list, name, bytes_of_text(text));
    return STATUS_OK;
}

/* A wildcard is two fields: the path, and what lies there. */
static status append_wildcard(struct arena *arena, struct buffer *out, enum key_order order,
                              const struct find_ranges *ranges)
{
    struct buffer list = buffer_in(arena);
    size_t begun = document_begin(&list);
    int len = (int)ranges->path.len;
    const char *path = (const char *)ranges->path.data;
    bytes array;

    TRY(append_text(arena, &list, 0,
                    arena_format(arena, "[\"%.*s\", \"%.*s\"]", len, path, len, path)));
    if (ranges->values->count && ranges->values->items[0].end.len == 0)
        TRY(append_text(arena, &list, 1,
                        arena_format(arena, "[\"%.*s.\", \"%.*s/\")", len, path, len, path)));
    document_end(&list, begun);
    TRY(buffer_finish(&list, &array));
    document_append(out, BYTES_LITERAL("$_path"), (struct value){ VALUE_ARRAY, array });
    return append_field(arena, out, ranges->path, order, false, ranges->values);
}

static status tell_bounds(const struct find_request *wanted, struct arena *arena,
                          const struct find_plan *plan, bytes *out)
{
    struct buffer bounds = buffer_in(arena);
    size_t begun = document_begin(&bounds);

    if (plan->index) {
        const struct index_definition *definition = &plan->index->definition;
        for (size_t i = 0; i < definition->field_count; i++) {
            const struct find_ranges *ranges = i < plan->field_count ? plan->fields[i] : NULL;
            enum key_order order = definition->fields[i].order;
            TRY(ranges && ranges->values
                    ? append_wildcard(arena, &bounds, order, ranges)
                    : append_field(arena, &bounds, definition->fields[i].path, order,
                                   definition->collation != NULL, ranges));
        }
    } else if (wanted->view && wanted->view->key_field.len) {
        TRY(append_field(arena, &bounds, wanted->view->key_field, KEY_ASCENDING,
                         wanted->collection->definition.collation != NULL,
                         plan->field_count ? plan->fields[0] : NULL));
    }
    document_end(&bounds, begun);
    return buffer_finish(&bounds, out);
}

static bool has_words(const struct index *index)
{
    for (size_t i = 0; index && i < index->definition.field_count; i++) {
        if (index->definition.fields[i].part == PART_WORDS)
            return true;
    }
    return false;
}

status find_tell(const struct find *find, struct arena *arena, struct find_way **out,
                 size_t *count_out)
{
    const struct find_plan *plans;
    size_t count = find_plans(find, &plans);
    struct find_way *ways;

    *out = NULL;
    *count_out = 0;
    TRY(ARENA_NEW(arena, count, &ways));
    for (size_t i = 0; i < count; i++) {
        const struct find_plan *plan = &plans[i];
        ways[i] = (struct find_way){
            .access = plan->range_count == 0 ? FIND_ACCESS_NOTHING : plan->access,
            .index = plan->index,
            .is_everything = find_plan_is_everything(plan),
            .has_many = plan->has_many,
            .is_near = find_is_near(find),
            .has_arrays = plan->has_arrays,
            .is_reverse = plan->is_reverse,
            .is_exact = plan->is_exact,
            .is_covered = count == 1 && !find_explain(find)->is_sorted &&
                          find_can_cover(find_wanted(find), plan),
        };
        if (has_words(plan->index) && find_wanted(find)->search)
            TRY(search_tell(find_wanted(find)->search, arena, &ways[i].search));
        /* The condition, which the path is a part of, may be gone before it is shown. */
        TRY(arena_copy(arena, plan->wildcard, &ways[i].wildcard));
        TRY(tell_bounds(find_wanted(find), arena, plan, &ways[i].bounds));
    }
    *out = ways;
    *count_out = count;
    return STATUS_OK;
}
