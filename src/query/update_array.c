/* Update array: steps that add elements to an array or take some away.
 *
 * An array is taken apart to a list of values, changed there, and built again.
 *
 * Threads: pure apart from the run's arena. */
#include "query/update_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include "query/order.h"

struct list {
    struct value *items;
    size_t count;
};

static status take_apart(struct update_run *run, bytes array, size_t room, struct list *out)
{
    struct document_walk walk = document_fields(array);
    struct field element;

    out->count = 0;
    TRY(ARENA_NEW(run->arena, document_field_count(array) + room, &out->items));
    while (document_next(&walk, &element))
        out->items[out->count++] = element.value;
    return STATUS_OK;
}

static status build(struct update_run *run, const struct list *list, struct value old,
                    struct update_change *out)
{
    struct buffer built = buffer_in(run->arena);
    size_t begun = document_begin(&built);

    for (size_t i = 0; i < list->count; i++) {
        char name[24];
        int len = snprintf(name, sizeof(name), "%zu", i);
        document_append(&built, bytes_of(name, (size_t)len), list->items[i]);
    }
    document_end(&built, begun);
    out->value = (struct value){ .type = VALUE_ARRAY };
    TRY(buffer_finish(&built, &out->value.raw));
    out->is_changed = !update_is_identical(old, out->value);
    return STATUS_OK;
}

static status must_be_array(const struct update_step *step, struct update_run *run,
                            struct value old)
{
    return update_refuse(run, REFUSED_BAD_VALUE,
                         "The field '%.*s' must be an array but is of type %s", (int)step->path.len,
                         (const char *)step->path.data, value_type_name(old.type));
}

/* The old elements (none if there is no array yet), with room for those of the step. */
static status begin(const struct update_step *step, struct update_run *run, struct value old,
                    struct list *out)
{
    size_t more = document_field_count(step->elements);

    if (old.type == VALUE_MISSING) {
        out->count = 0;
        return ARENA_NEW(run->arena, more, &out->items);
    }
    if (old.type != VALUE_ARRAY)
        return must_be_array(step, run, old);
    return take_apart(run, value_document(old), more, out);
}

/* ---- adding ----------------------------------------------------------------------------------------- */

struct sorted {
    bytes key;
    size_t at;
    struct value value;
};

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted *left = a, *right = b;
    int order = bytes_compare(left->key, right->key);

    return order ? order : (left->at > right->at) - (left->at < right->at);
}

static status key_of(const struct update_step *step, struct update_run *run,
                     const struct order *order, struct value value, bytes *out)
{
    struct buffer key = buffer_in(run->arena);

    if (!order) {
        key_append_value_by(&key, update_collation(run), value,
                            step->orders[0].is_descending ? KEY_DESCENDING : KEY_ASCENDING);
        return buffer_finish(&key, out);
    }
    if (value.type == VALUE_DOCUMENT)
        return order_key(order, run->arena, value_document(value), out);
    /* What is no document has none of the fields. */
    size_t begun = document_begin(&key);
    document_end(&key, begun);
    TRY(buffer_finish(&key, out));
    return order_key(order, run->arena, *out, out);
}

static status sort_list(const struct update_step *step, struct update_run *run, struct list *list)
{
    struct order_part parts[LIMIT_INDEX_FIELDS];
    const struct order *order = NULL;
    struct sorted *sorted;

    for (size_t i = 0; i < step->order_count && i < LIMIT_INDEX_FIELDS; i++)
        parts[i] = (struct order_part){ .path = step->orders[i].path,
                                        .is_descending = step->orders[i].is_descending };
    if (step->orders[0].path.len)
        TRY(order_make(run->arena, update_collation(run), parts, step->order_count, &order));
    TRY(ARENA_NEW(run->arena, list->count, &sorted));
    for (size_t i = 0; i < list->count; i++) {
        sorted[i] = (struct sorted){ .at = i, .value = list->items[i] };
        TRY(key_of(step, run, order, list->items[i], &sorted[i].key));
    }
    if (list->count > 1)
        qsort(sorted, list->count, sizeof(*sorted), compare_sorted);
    for (size_t i = 0; i < list->count; i++)
        list->items[i] = sorted[i].value;
    return STATUS_OK;
}

static void slice_list(int64_t slice, struct list *list)
{
    uint64_t keep = slice < 0 ? (uint64_t)0 - (uint64_t)slice : (uint64_t)slice;

    if (keep >= list->count)
        return;
    if (slice < 0)
        list->items += list->count - (size_t)keep;
    list->count = (size_t)keep;
}

/* Where new elements go: a negative position counts from the end. */
static size_t place_of(const struct update_step *step, size_t count)
{
    if (!step->has_position || step->position >= (int64_t)count)
        return count;
    if (step->position >= 0)
        return (size_t)step->position;
    return step->position < -(int64_t)count ? 0 : count - (size_t)-step->position;
}

status update_push(const struct update_step *step, struct update_run *run, struct value old,
                   struct update_change *out)
{
    struct list list, fresh;

    TRY(begin(step, run, old, &list));
    TRY(take_apart(run, step->elements, 0, &fresh));
    size_t place = place_of(step, list.count);
    if (fresh.count) {
        memmove(list.items + place + fresh.count, list.items + place,
                (list.count - place) * sizeof(*list.items));
        memcpy(list.items + place, fresh.items, fresh.count * sizeof(*list.items));
        list.count += fresh.count;
    }
    if (step->order_count)
        TRY(sort_list(step, run, &list));
    if (step->has_slice)
        slice_list(step->slice, &list);
    return build(run, &list, old, out);
}

static bool has_element(const struct update_run *run, const struct list *list, struct value value)
{
    for (size_t i = 0; i < list->count; i++) {
        if (value_compare_by(update_collation(run), list->items[i], value) == 0)
            return true;
    }
    return false;
}

status update_add_to_set(const struct update_step *step, struct update_run *run, struct value old,
                         struct update_change *out)
{
    struct list list, fresh;

    if (old.type != VALUE_MISSING && old.type != VALUE_ARRAY)
        return update_refuse(run, REFUSED_BAD_VALUE,
                             "Cannot apply $addToSet to non-array field. Field named '%.*s' has "
                             "non-array type %s",
                             (int)step->path.len, (const char *)step->path.data,
                             value_type_name(old.type));
    TRY(begin(step, run, old, &list));
    TRY(take_apart(run, step->elements, 0, &fresh));
    for (size_t i = 0; i < fresh.count; i++) {
        if (!has_element(run, &list, fresh.items[i]))
            list.items[list.count++] = fresh.items[i];
    }
    return build(run, &list, old, out);
}

/* ---- taking away ------------------------------------------------------------------------------------ */

status update_pop(const struct update_step *step, struct update_run *run, struct value old,
                  struct update_change *out)
{
    struct list list;

    if (old.type == VALUE_MISSING)
        return STATUS_OK;
    if (old.type != VALUE_ARRAY)
        return update_refuse(
            run, REFUSED_TYPE, "Path '%.*s' contains an element of non-array type '%s'",
            (int)step->path.len, (const char *)step->path.data, value_type_name(old.type));
    TRY(take_apart(run, value_document(old), 0, &list));
    if (list.count == 0)
        return STATUS_OK;
    if (step->is_at_front)
        list.items++;
    list.count--;
    return build(run, &list, old, out);
}

static status is_pulled(const struct update_step *step, struct update_run *run,
                        const struct list *unwanted, struct value element, bool *out)
{
    struct matching matching = { .scratch = run->arena, .formulas = run->formulas };

    *out = false;
    if (step->kind == UPDATE_PULL_ALL) {
        *out = has_element(run, unwanted, element);
        return STATUS_OK;
    }
    if (!step->is_where)
        return match_value(step->match, &matching, element, out);
    if (element.type != VALUE_DOCUMENT)
        return STATUS_OK;
    return match_document(step->match, &matching, value_document(element), out);
}

status update_pull(const struct update_step *step, struct update_run *run, struct value old,
                   struct update_change *out)
{
    struct list list, unwanted = { 0 };
    size_t kept = 0;
    bool is_unwanted;

    if (old.type == VALUE_MISSING)
        return STATUS_OK;
    if (old.type != VALUE_ARRAY)
        return update_refuse(run, REFUSED_BAD_VALUE, "Cannot apply $pull to a non-array value");
    if (step->kind == UPDATE_PULL_ALL)
        TRY(take_apart(run, step->elements, 0, &unwanted));
    TRY(take_apart(run, value_document(old), 0, &list));
    for (size_t i = 0; i < list.count; i++) {
        TRY(is_pulled(step, run, &unwanted, list.items[i], &is_unwanted));
        if (!is_unwanted)
            list.items[kept++] = list.items[i];
    }
    if (kept == list.count)
        return STATUS_OK;
    list.count = kept;
    return build(run, &list, old, out);
}
