/* Pipeline group: one document for all rows with an equal id.
 *
 * Groups lie in a hash table by the encoded id, so numbers of different types that are equal are one group; each
 * holds one state per accumulator. Elements of sets lie in the same table, by group, accumulator and value.
 * Everything is in the arena of the stage, whose budget is the limit on memory; numbers are summed in place.
 *
 * Threads: a run belongs to its request. Start reading at group_fill(). */
#include <math.h>
#include <stdio.h>

#include "query/formula_body.h"
#include "query/pipeline_parts.h"

enum { BUCKETS_MIN = 256, NUMBER_BYTES = 16 };

/* A value of a list, in the order in which they came. */
struct link {
    struct link *next;
    struct value value;
};

struct state {
    struct value value; /* sum, edge, first, last; numbers have their bytes in `raw` */
    uint8_t raw[NUMBER_BYTES];
    uint64_t count;
    struct link *first, *last;
};

struct group {
    struct group *next; /* as they came */
    struct value id;
    uint64_t number;
    struct state states[];
};

struct entry {
    struct entry *next;
    uint64_t hash;
    bytes key;
    struct group *group; /* NULL: an element of a set */
};

struct group_table {
    struct entry **buckets;
    size_t bucket_count, entry_count;
    struct group *first, *last;
    uint64_t group_count;
    struct group *given;
};

static status exhausted(struct pipeline_run *run, status s)
{
    return s.code == OUT_OF_MEMORY ? pipeline_too_much(run, "Group") : s;
}

/* ---- the table -------------------------------------------------------------------------------------- */

static status grow(struct pipeline_run *run, struct operator* o)
{
    struct group_table *t = o->groups;
    size_t count = t->bucket_count ? t->bucket_count * 4 : BUCKETS_MIN;
    struct entry **buckets;

    if (t->entry_count < t->bucket_count)
        return STATUS_OK;
    TRY(exhausted(run, ARENA_NEW(o->held, count, &buckets)));
    for (size_t i = 0; i < t->bucket_count; i++) {
        for (struct entry *entry = t->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash & (count - 1)];
            buckets[entry->hash & (count - 1)] = entry;
        }
    }
    t->buckets = buckets;
    t->bucket_count = count;
    return STATUS_OK;
}

static status find_entry(struct pipeline_run *run, struct operator* o, bytes key,
                         struct entry **out, bool *is_new_out)
{
    struct group_table *t = o->groups;
    uint64_t hash = bytes_hash(key, 7);

    TRY(grow(run, o));
    for (*out = t->buckets[hash & (t->bucket_count - 1)]; *out; *out = (*out)->next) {
        *is_new_out = false;
        if ((*out)->hash == hash && bytes_equal((*out)->key, key))
            return STATUS_OK;
    }
    *is_new_out = true;
    TRY(exhausted(run, ARENA_NEW(o->held, 1, out)));
    TRY(pipeline_hold(run, o, "Group", key, &(*out)->key));
    (*out)->hash = hash;
    (*out)->next = t->buckets[hash & (t->bucket_count - 1)];
    t->buckets[hash & (t->bucket_count - 1)] = *out;
    t->entry_count++;
    return STATUS_OK;
}

static status hold_value(struct pipeline_run *run, struct operator* o, struct value value,
                         struct value *out)
{
    *out = value;
    return pipeline_hold(run, o, "Group", value.raw, &out->raw);
}

static status find_group(struct pipeline_run *run, struct operator* o, struct value id,
                         struct group **out)
{
    struct group_table *t = o->groups;
    struct buffer key = buffer_in(o->scratch);
    struct entry *entry;
    bool is_new;
    void *memory;
    bytes encoded;

    buffer_append_byte(&key, 'g');
    key_append_value(&key, id, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    TRY(find_entry(run, o, encoded, &entry, &is_new));
    *out = entry->group;
    if (!is_new)
        return STATUS_OK;
    size_t size = sizeof(struct group) + o->stage->accumulator_count * sizeof(struct state);
    TRY(exhausted(run, arena_take(o->held, size, &memory)));
    memset(memory, 0, size);
    *out = entry->group = memory;
    (*out)->number = t->group_count++;
    if (t->last)
        t->last->next = *out;
    else
        t->first = *out;
    t->last = *out;
    return hold_value(run, o, id, &(*out)->id);
}

/* ---- accumulators ----------------------------------------------------------------------------------- */

/* Numbers keep their place, whatever their type becomes. */
static void put_number(struct state *state, struct value number)
{
    ASSERT(number.raw.len <= NUMBER_BYTES);
    memcpy(state->raw, number.raw.data, number.raw.len);
    state->value = (struct value){ .type = number.type,
                                   .raw = bytes_of(state->raw, number.raw.len) };
}

static status add_number(struct pipeline_run *run, struct operator* o, struct state *state,
                         struct value value)
{
    struct arena *home = run->formulas.arena;
    struct value sum = value;

    if (!value_is_number(value))
        return STATUS_OK;
    state->count++;
    if (state->value.type != VALUE_MISSING) {
        run->formulas.arena = o->scratch;
        status s = formula_add_numbers(&run->formulas, state->value, value, &sum);
        run->formulas.arena = home;
        TRY(s);
    }
    put_number(state, sum);
    return STATUS_OK;
}

static status keep_value(struct pipeline_run *run, struct operator* o, struct state *state,
                         struct value value)
{
    if (value.type == VALUE_MISSING)
        value.type = VALUE_NULL;
    if (value.raw.len > NUMBER_BYTES)
        return hold_value(run, o, value, &state->value);
    if (value.raw.len) {
        put_number(state, value);
        return STATUS_OK;
    }
    state->value = value;
    return STATUS_OK;
}

static status keep_edge(struct pipeline_run *run, struct operator* o, struct state *state,
                        struct value value, int sign)
{
    if (formula_is_null(value))
        return STATUS_OK;
    if (state->count && sign * value_compare(value, state->value) <= 0)
        return STATUS_OK;
    state->count = 1;
    return keep_value(run, o, state, value);
}

static status push(struct pipeline_run *run, struct operator* o, struct state *state,
                   struct value value)
{
    struct link *link;

    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    TRY(exhausted(run, ARENA_NEW(o->held, 1, &link)));
    TRY(hold_value(run, o, value, &link->value));
    if (state->last)
        state->last->next = link;
    else
        state->first = link;
    state->last = link;
    return STATUS_OK;
}

static status push_new(struct pipeline_run *run, struct operator* o, const struct group *group,
                       size_t at, struct state *state, struct value value)
{
    struct buffer key = buffer_in(o->scratch);
    struct entry *entry;
    bytes encoded;
    bool is_new;

    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    buffer_append_byte(&key, 's');
    buffer_append_u64(&key, group->number);
    buffer_append_u32(&key, (uint32_t)at);
    key_append_value(&key, value, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    TRY(find_entry(run, o, encoded, &entry, &is_new));
    return is_new ? push(run, o, state, value) : STATUS_OK;
}

static status merge(struct pipeline_run *run, struct operator* o, struct state *state,
                    struct value value)
{
    if (formula_is_null(value))
        return STATUS_OK;
    if (value.type != VALUE_DOCUMENT) {
        run->refusal = 40400;
        return status_fail(run->formulas.arena, INVALID,
                           "$mergeObjects requires object inputs, but input is of type %s",
                           value_type_name(value.type));
    }
    return push(run, o, state, value);
}

static status accumulate(struct pipeline_run *run, struct operator* o, struct group *group,
                         size_t at, bytes row)
{
    const struct accumulator *a = &o->stage->accumulators[at];
    struct state *state = &group->states[at];
    struct value value;

    TRY(pipeline_compute(run, o->scratch, a->of, row, &value));
    switch (a->kind) {
    case ACCUMULATE_SUM:
    case ACCUMULATE_AVERAGE:
        return add_number(run, o, state, value);
    case ACCUMULATE_MIN:
        return keep_edge(run, o, state, value, -1);
    case ACCUMULATE_MAX:
        return keep_edge(run, o, state, value, 1);
    case ACCUMULATE_FIRST:
        return state->count++ ? STATUS_OK : keep_value(run, o, state, value);
    case ACCUMULATE_LAST:
        return keep_value(run, o, state, value);
    case ACCUMULATE_PUSH:
        return push(run, o, state, value);
    case ACCUMULATE_ADD_TO_SET:
        return push_new(run, o, group, at, state, value);
    case ACCUMULATE_MERGE:
        return merge(run, o, state, value);
    }
    return STATUS_OK;
}

/* ---- filling ---------------------------------------------------------------------------------------- */

/* The source only says how many rows there are: all of them are alike. */
static status fill_by_count(struct pipeline_run *run, struct operator* o)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    bytes row = bytes_of(nothing, sizeof(nothing));
    struct group *group;
    struct value id, each, times;
    uint64_t rows;

    TRY(run->source.count(run->source.context, &rows));
    if (rows == 0)
        return STATUS_OK;
    TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &id));
    TRY(find_group(run, o, id, &group));
    for (size_t i = 0; i < o->stage->accumulator_count; i++) {
        TRY(pipeline_compute(run, o->scratch, o->stage->accumulators[i].of, row, &each));
        if (!value_is_number(each))
            continue;
        TRY(value_of_int64(o->scratch, (int64_t)rows, &times));
        TRY(number_calculate(o->scratch, NUMBER_MULTIPLY, each, times, &each));
        if (each.type == VALUE_MISSING)
            TRY(value_of_double(o->scratch, INFINITY, &each));
        put_number(&group->states[i], each);
    }
    return STATUS_OK;
}

static bool is_countable(const struct stage *stage)
{
    if (stage->formula->kind != FORMULA_IS_LITERAL)
        return false;
    for (size_t i = 0; i < stage->accumulator_count; i++) {
        if (stage->accumulators[i].kind != ACCUMULATE_SUM ||
            stage->accumulators[i].of->kind != FORMULA_IS_LITERAL)
            return false;
    }
    return true;
}

status group_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    struct group *group;
    struct value id;
    bool has_row;
    bytes row;

    o->is_filled = true;
    TRY(exhausted(run, ARENA_NEW(o->held, 1, &o->groups)));
    if (number == 1 && run->source.count && is_countable(o->stage)) {
        TRY(fill_by_count(run, o));
        o->groups->given = o->groups->first;
        return STATUS_OK;
    }
    for (;;) {
        TRY(pipeline_pull(run, number - 1, &row, &has_row));
        if (!has_row)
            break;
        arena_reset(o->scratch);
        TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &id));
        if (id.type == VALUE_MISSING)
            id.type = VALUE_NULL;
        TRY(find_group(run, o, id, &group));
        for (size_t i = 0; i < o->stage->accumulator_count; i++)
            TRY(accumulate(run, o, group, i, row));
    }
    o->groups->given = o->groups->first;
    return STATUS_OK;
}

/* ---- giving ----------------------------------------------------------------------------------------- */

static status give_list(struct operator* o, const struct state *state, struct value *out)
{
    struct buffer built = buffer_in(o->scratch);
    size_t begun = document_begin(&built), count = 0;

    for (const struct link *link = state->first; link; link = link->next) {
        char name[24];
        int len = snprintf(name, sizeof(name), "%zu", count++);
        document_append(&built, bytes_of(name, (size_t)len), link->value);
    }
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_ARRAY };
    return buffer_finish(&built, &out->raw);
}

/* Later fields win, in the place of the earlier ones. */
static status give_merged(struct operator* o, const struct state *state, struct value *out)
{
    struct buffer built = buffer_in(o->scratch);
    size_t begun = document_begin(&built);
    struct field field;
    struct value later;

    for (const struct link *link = state->first; link; link = link->next) {
        struct document_walk walk = document_fields(value_document(link->value));
        while (document_next(&walk, &field)) {
            bool is_known = false;
            for (const struct link *before = state->first; before != link && !is_known;
                 before = before->next)
                is_known = document_find_bytes(value_document(before->value), field.name, &later);
            if (is_known)
                continue;
            for (const struct link *after = link->next; after; after = after->next) {
                if (document_find_bytes(value_document(after->value), field.name, &later))
                    field.value = later;
            }
            document_append(&built, field.name, field.value);
        }
    }
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

static status result_of(struct operator* o, const struct accumulator *a, const struct state *state,
                        struct value *out)
{
    struct value divisor;

    *out = state->value;
    switch (a->kind) {
    case ACCUMULATE_SUM:
        return out->type == VALUE_MISSING ? value_of_int64(o->scratch, 0, out) : STATUS_OK;
    case ACCUMULATE_AVERAGE:
        if (state->count == 0)
            break;
        TRY(value_of_double(o->scratch, (double)state->count, &divisor));
        return number_calculate(o->scratch, NUMBER_DIVIDE, state->value, divisor, out);
    case ACCUMULATE_MIN:
    case ACCUMULATE_MAX:
    case ACCUMULATE_FIRST:
    case ACCUMULATE_LAST:
        break;
    case ACCUMULATE_PUSH:
    case ACCUMULATE_ADD_TO_SET:
        return give_list(o, state, out);
    case ACCUMULATE_MERGE:
        return give_merged(o, state, out);
    }
    if (out->type == VALUE_MISSING)
        out->type = VALUE_NULL;
    return STATUS_OK;
}

status group_next(struct pipeline_run *run, struct operator* o, bytes *out, bool *has_out)
{
    struct group *group = o->groups->given;
    struct buffer built;
    struct value value;

    *has_out = group != NULL;
    if (!group)
        return STATUS_OK;
    arena_reset(o->scratch);
    o->groups->given = group->next;
    built = buffer_in(o->scratch);
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("_id"), group->id);
    for (size_t i = 0; i < o->stage->accumulator_count; i++) {
        TRY(result_of(o, &o->stage->accumulators[i], &group->states[i], &value));
        document_append(&built, o->stage->accumulators[i].name, value);
    }
    document_end(&built, begun);
    TRY(buffer_finish(&built, out));
    if (out->len <= LIMIT_DOCUMENT_BYTES)
        return STATUS_OK;
    run->refusal = 10334;
    return status_of(TOO_LARGE, "a group is larger than a document may be");
}
