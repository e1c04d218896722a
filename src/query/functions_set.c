/* Functions of arrays as sets: union, intersection, difference, equality, without duplicates.
 *
 * Elements are told apart by a hash that is the same for equal values, whatever the type of their numbers
 * and the order of their fields, and then by values_equal(). So the time is linear in the elements.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

/* Values that were seen, in a table with open addressing; at least half of it stays free. */
struct seen {
    struct value *items;
    uint64_t *hashes;
    uint32_t *slots; /* index of an item plus 1; 0: free */
    size_t count, mask;
    uint64_t salt; /* that hashes begin with */
    struct buffer scratch;
};

static status seen_open(struct arena *arena, size_t most, struct seen *out)
{
    size_t slots = 8;

    while (slots < 2 * most)
        slots *= 2;
    *out = (struct seen){ .mask = slots - 1, .salt = random_salt(), .scratch = buffer_in(arena) };
    TRY(ARENA_NEW(arena, most + 1, &out->items));
    TRY(ARENA_NEW(arena, most + 1, &out->hashes));
    return ARENA_NEW(arena, slots, &out->slots);
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
    return bytes_hash(bytes_of(&more, sizeof(more)), hash);
}

static uint64_t value_hash(struct seen *seen, struct value value);

static uint64_t hash_elements(struct seen *seen, struct value value, bool is_document)
{
    struct document_walk walk = document_fields(value_document(value));
    uint64_t hash = is_document ? 1 : 2;
    struct field field;

    while (document_next(&walk, &field)) {
        uint64_t one = value_hash(seen, field.value);
        /* A sum does not know the order of the fields, which does not matter either. */
        hash = is_document ? hash + bytes_hash(field.name, one) : mix(hash, one);
    }
    return hash;
}

static uint64_t value_hash(struct seen *seen, struct value value)
{
    switch (value_kind_of(value)) {
    case KIND_NUMBER:
        seen->scratch.len = 0;
        key_append_value(&seen->scratch, value, KEY_ASCENDING);
        return bytes_hash(bytes_of(seen->scratch.data, seen->scratch.len),
                          seen->salt + KIND_NUMBER);
    case KIND_STRING:
        return bytes_hash(value_text(value), seen->salt + KIND_STRING);
    case KIND_ARRAY:
        return hash_elements(seen, value, false);
    case KIND_DOCUMENT:
        return hash_elements(seen, value, true);
    case KIND_MISSING:
    case KIND_NULL:
    case KIND_BOOL:
    case KIND_OTHER:
    case KIND_COUNT:
        break;
    }
    return bytes_hash(value.raw, seen->salt + value.type);
}

/* The slot that has the value, or the free one where it would be. */
static uint32_t *seen_slot(struct seen *seen, struct value value, uint64_t hash)
{
    size_t at = (size_t)hash & seen->mask;

    while (seen->slots[at]) {
        size_t item = seen->slots[at] - 1;
        if (seen->hashes[item] == hash && values_equal(seen->items[item], value))
            break;
        at = (at + 1) & seen->mask;
    }
    return &seen->slots[at];
}

static bool seen_has(struct seen *seen, struct value value)
{
    return *seen_slot(seen, value, value_hash(seen, value)) != 0;
}

/* Was it not there yet? */
static bool seen_add(struct seen *seen, struct value value)
{
    uint64_t hash = value_hash(seen, value);
    uint32_t *slot = seen_slot(seen, value, hash);

    if (*slot)
        return false;
    seen->items[seen->count] = value;
    seen->hashes[seen->count++] = hash;
    *slot = (uint32_t)seen->count;
    return true;
}

static status seen_all(struct arena *arena, struct value array, struct seen *out)
{
    struct document_walk walk = document_fields(value_document(array));
    struct field field;

    TRY(seen_open(arena, document_field_count(value_document(array)), out));
    while (document_next(&walk, &field))
        seen_add(out, field.value);
    /* Where there was no memory for a hash, equal elements may have been taken for different ones. */
    return out->scratch.is_failed ? arena_exhausted(arena) : STATUS_OK;
}

/* ---- the functions ---------------------------------------------------------------------------------- */

static status take_arrays(struct evaluation *e, const struct expression *call, struct value v[2],
                          bool *are_arrays_out)
{
    TRY(call_take(e, call, v, 2));
    *are_arrays_out = v[0].type == VALUE_ARRAY && v[1].type == VALUE_ARRAY;
    return STATUS_OK;
}

/* Elements of `from`, each once, that the filter has, or has not. */
static status select_elements(struct evaluation *e, struct value from, struct value filter,
                              bool has, struct value *out)
{
    struct call_list list = call_list_begin(e);
    struct document_walk walk = document_fields(value_document(from));
    struct seen seen, wanted;
    struct field field;

    TRY(seen_all(e->arena, filter, &wanted));
    TRY(seen_open(e->arena, document_field_count(value_document(from)), &seen));
    while (document_next(&walk, &field)) {
        if (seen_has(&wanted, field.value) == has && seen_add(&seen, field.value))
            call_list_add(&list, field.value);
    }
    if (seen.scratch.is_failed || wanted.scratch.is_failed)
        return arena_exhausted(e->arena);
    return call_list_end(&list, out);
}

status function_set_difference(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct value v[2];
    bool are_arrays;

    TRY(take_arrays(e, call, v, &are_arrays));
    return are_arrays ? select_elements(e, v[0], v[1], false, out) : STATUS_OK;
}

/* In the order of the second. */
status function_set_intersect(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    struct value v[2];
    bool are_arrays;

    TRY(take_arrays(e, call, v, &are_arrays));
    return are_arrays ? select_elements(e, v[1], v[0], true, out) : STATUS_OK;
}

status function_set_union(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[2];
    struct call_list list;
    struct seen seen;
    struct field field;
    bool are_arrays;

    TRY(take_arrays(e, call, v, &are_arrays));
    if (!are_arrays)
        return STATUS_OK;
    TRY(seen_open(e->arena,
                  document_field_count(value_document(v[0])) +
                      document_field_count(value_document(v[1])),
                  &seen));
    list = call_list_begin(e);
    for (size_t i = 0; i < 2; i++) {
        struct document_walk walk = document_fields(value_document(v[i]));
        while (document_next(&walk, &field)) {
            if (seen_add(&seen, field.value))
                call_list_add(&list, field.value);
        }
    }
    if (seen.scratch.is_failed)
        return arena_exhausted(e->arena);
    return call_list_end(&list, out);
}

status function_set_equal(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct seen first, second;
    struct value v[2];
    bool are_arrays;

    TRY(take_arrays(e, call, v, &are_arrays));
    if (!are_arrays)
        return STATUS_OK;
    TRY(seen_all(e->arena, v[0], &first));
    TRY(seen_all(e->arena, v[1], &second));
    bool is_same = first.count == second.count;
    for (size_t i = 0; is_same && i < first.count; i++)
        is_same = seen_has(&second, first.items[i]);
    *out = value_bool(is_same);
    return STATUS_OK;
}
