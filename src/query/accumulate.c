/* Accumulate: sums, edges, lists and percentiles of many rows.
 *
 * Everything that is kept lies in one arena, whose budget is the limit on memory. Numbers are summed in place,
 * and a value that takes the place of another one takes its memory, too, so that only what is kept counts.
 *
 * Threads: a run belongs to its request. Start reading at accumulate_row(). */
#include "query/accumulate.h"

#include "query/formula_body.h"
#include "query/list.h"
#include "query/rated.h"
#include "query/set.h"
#include "query/statistics.h"

struct accumulation_link {
    struct accumulation_link *next;
    struct value value;
};

struct accumulation_more {
    struct spread spread;
    struct set set;
    struct rated rated;
    double *numbers;
    size_t number_count, number_room;
};

static status exhausted(const struct accumulate_home *home, status s)
{
    return s.code == OUT_OF_MEMORY ? pipeline_too_much(home->run, home->what) : s;
}

static status need_more(const struct accumulate_home *home, struct accumulation *state)
{
    if (state->more)
        return STATUS_OK;
    TRY(exhausted(home, ARENA_NEW(home->held, 1, &state->more)));
    state->more->set = set_in(home->held);
    return STATUS_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

/* Numbers keep their place, whatever their type becomes. */
void accumulate_put_number(struct accumulation *state, struct value number)
{
    ASSERT(number.raw.len <= ACCUMULATION_NUMBER_BYTES);
    memcpy(state->raw, number.raw.data, number.raw.len);
    state->value = (struct value){ .type = number.type,
                                   .raw = bytes_of(state->raw, number.raw.len) };
}

static status add_number(const struct accumulate_home *home, struct accumulation *state,
                         struct value value)
{
    struct formula_run *formulas = &home->run->formulas;
    struct arena *before = formulas->arena;
    struct value sum = value;

    if (!value_is_number(value))
        return STATUS_OK;
    state->count++;
    if (state->value.type != VALUE_MISSING) {
        formulas->arena = home->scratch;
        status s = formula_add_numbers(formulas, state->value, value, &sum);
        formulas->arena = before;
        TRY(s);
    }
    accumulate_put_number(state, sum);
    return STATUS_OK;
}

static status add_to_spread(const struct accumulate_home *home, struct accumulation *state,
                            struct value value)
{
    TRY(need_more(home, state));
    if (value_is_number(value))
        spread_add(&state->more->spread, value_as_double(value));
    return STATUS_OK;
}

static status add_to_numbers(const struct accumulate_home *home, struct accumulation *state,
                             struct value value)
{
    TRY(need_more(home, state));
    struct accumulation_more *more = state->more;
    if (!value_is_number(value))
        return STATUS_OK;
    if (more->number_count == more->number_room) {
        size_t room = more->number_room ? more->number_room * 2 : 16;
        double *numbers;
        TRY(exhausted(home, ARENA_NEW(home->held, room, &numbers)));
        if (more->number_count)
            memcpy(numbers, more->numbers, more->number_count * sizeof(*numbers));
        more->numbers = numbers;
        more->number_room = room;
    }
    more->numbers[more->number_count++] = value_as_double(value);
    return STATUS_OK;
}

/* ---- single values ---------------------------------------------------------------------------------- */

static status keep_value(const struct accumulate_home *home, struct accumulation *state,
                         struct value value)
{
    void *memory;

    if (value.type == VALUE_MISSING)
        value.type = VALUE_NULL;
    if (value.raw.len <= ACCUMULATION_NUMBER_BYTES) {
        if (value.raw.len)
            accumulate_put_number(state, value);
        else
            state->value = value;
        return STATUS_OK;
    }
    if (value.raw.len > state->room) {
        TRY(exhausted(home, arena_take(home->held, value.raw.len, &memory)));
        state->memory = memory;
        state->room = value.raw.len;
    }
    memcpy(state->memory, value.raw.data, value.raw.len);
    state->value = (struct value){ .type = value.type,
                                   .raw = bytes_of(state->memory, value.raw.len) };
    return STATUS_OK;
}

static status keep_edge(const struct accumulate_home *home, struct accumulation *state,
                        struct value value, int sign)
{
    if (formula_is_null(value))
        return STATUS_OK;
    if (state->count &&
        sign * value_compare_by(home->run->formulas.collation, value, state->value) <= 0)
        return STATUS_OK;
    state->count = 1;
    return keep_value(home, state, value);
}

/* ---- lists ------------------------------------------------------------------------------------------ */

static status push(const struct accumulate_home *home, struct accumulation *state,
                   struct value value)
{
    struct accumulation_link *link;

    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    TRY(exhausted(home, ARENA_NEW(home->held, 1, &link)));
    link->value = value;
    TRY(exhausted(home, arena_copy(home->held, value.raw, &link->value.raw)));
    if (state->last)
        state->last->next = link;
    else
        state->first = link;
    state->last = link;
    state->count++;
    return STATUS_OK;
}

static status push_new(const struct accumulate_home *home, struct accumulation *state,
                       struct value value)
{
    struct buffer key = buffer_in(home->scratch);
    bytes encoded;
    size_t number;
    bool is_new;

    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    TRY(need_more(home, state));
    key_append_value_by(&key, home->run->formulas.collation, value, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    TRY(exhausted(home, set_add(&state->more->set, encoded, &number, &is_new)));
    return is_new ? push(home, state, value) : STATUS_OK;
}

static status merge(const struct accumulate_home *home, struct accumulation *state,
                    struct value value)
{
    if (formula_is_null(value))
        return STATUS_OK;
    if (value.type == VALUE_DOCUMENT)
        return push(home, state, value);
    home->run->refusal = 40400;
    return status_fail(home->run->formulas.arena, INVALID,
                       "$mergeObjects requires object inputs, but input is of type %s",
                       value_type_name(value.type));
}

/* ---- so many of them -------------------------------------------------------------------------------- */

static enum rated_kind kind_of(enum accumulator_kind kind)
{
    if (kind == ACCUMULATE_FIRST_N)
        return RATED_FIRST;
    if (kind == ACCUMULATE_LAST_N)
        return RATED_LAST;
    return kind == ACCUMULATE_BOTTOM || kind == ACCUMULATE_BOTTOM_N ? RATED_GREATEST : RATED_LEAST;
}

/* The wanted number is computed from the id of the group. */
static status begin_rated(const struct accumulate_home *home, const struct accumulator *a,
                          struct accumulation *state, struct value id)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    bytes row = id.type == VALUE_DOCUMENT ? value_document(id) : bytes_of(nothing, sizeof(nothing));
    struct value wanted;
    int64_t count = 1;

    if (a->n) {
        TRY(pipeline_compute(home->run, home->scratch, a->n, row, &wanted));
        if (!value_as_int64(wanted, &count) || count <= 0) {
            home->run->refusal = value_is_number(wanted) ? 5787908 : 5787902;
            return status_fail(home->run->formulas.arena, INVALID,
                               "'n' must be a whole number greater than 0, but is a %s of %g",
                               value_type_name(wanted.type),
                               value_is_number(wanted) ? value_as_double(wanted) : 0.0);
        }
    }
    state->more->rated = (struct rated){ .kind = kind_of(a->kind), .wanted = (uint64_t)count };
    return STATUS_OK;
}

static status add_to_rated(const struct accumulate_home *home, const struct accumulator *a,
                           struct accumulation *state, struct value id, struct value value,
                           bytes row)
{
    bool is_edge = a->kind == ACCUMULATE_MAX_N || a->kind == ACCUMULATE_MIN_N;
    struct buffer built = buffer_in(home->scratch);
    bytes key = BYTES_NONE;

    if (is_edge && formula_is_null(value))
        return state->more ? STATUS_OK : need_more(home, state);
    if (!state->more || state->more->rated.wanted == 0) {
        TRY(need_more(home, state));
        TRY(begin_rated(home, a, state, id));
    }
    if (is_edge) {
        key_append_value_by(&built, home->run->formulas.collation, value,
                            a->kind == ACCUMULATE_MAX_N ? KEY_DESCENDING : KEY_ASCENDING);
        TRY(buffer_finish(&built, &key));
    } else if (a->order) {
        status s = order_key(a->order, home->scratch, row, &key);
        if (s.code != OK)
            return status_fail(home->run->formulas.arena, s.code, "%s", s.message);
    }
    if (value.type == VALUE_MISSING)
        value.type = VALUE_NULL;
    return exhausted(home, rated_add(&state->more->rated, home->held, key, value));
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static status add(const struct accumulate_home *home, const struct accumulator *a,
                  struct accumulation *state, struct value id, struct value value, bytes row)
{
    switch (a->kind) {
    case ACCUMULATE_SUM:
    case ACCUMULATE_AVERAGE:
        return add_number(home, state, value);
    case ACCUMULATE_MIN:
        return keep_edge(home, state, value, -1);
    case ACCUMULATE_MAX:
        return keep_edge(home, state, value, 1);
    case ACCUMULATE_FIRST:
        return state->count++ ? STATUS_OK : keep_value(home, state, value);
    case ACCUMULATE_LAST:
        return keep_value(home, state, value);
    case ACCUMULATE_PUSH:
        return push(home, state, value);
    case ACCUMULATE_ADD_TO_SET:
        return push_new(home, state, value);
    case ACCUMULATE_MERGE:
        return merge(home, state, value);
    case ACCUMULATE_DEVIATION:
    case ACCUMULATE_DEVIATION_OF_SAMPLE:
        return add_to_spread(home, state, value);
    case ACCUMULATE_PERCENTILE:
        return add_to_numbers(home, state, value);
    case ACCUMULATE_FIRST_N:
    case ACCUMULATE_LAST_N:
    case ACCUMULATE_MAX_N:
    case ACCUMULATE_MIN_N:
    case ACCUMULATE_TOP:
    case ACCUMULATE_TOP_N:
    case ACCUMULATE_BOTTOM:
    case ACCUMULATE_BOTTOM_N:
        return add_to_rated(home, a, state, id, value, row);
    }
    return STATUS_OK;
}

status accumulate_value(const struct accumulate_home *home, const struct accumulator *a,
                        struct accumulation *state, struct value id, struct value value)
{
    ASSERT(!a->order);
    return add(home, a, state, id, value, BYTES_NONE);
}

status accumulate_row(const struct accumulate_home *home, const struct accumulator *a,
                      struct accumulation *state, struct value id, bytes row)
{
    struct value value;

    TRY(pipeline_compute(home->run, home->scratch, a->of, row, &value));
    return add(home, a, state, id, value, row);
}

/* ---- merging ---------------------------------------------------------------------------------------- */

bool accumulate_can_merge(const struct accumulator *a)
{
    return a->kind == ACCUMULATE_SUM || a->kind == ACCUMULATE_AVERAGE ||
           a->kind == ACCUMULATE_MIN || a->kind == ACCUMULATE_MAX;
}

/* Sums of other numbers are rounded, and so depend on the order. */
static bool is_whole(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64 || value.type == VALUE_MISSING;
}

static status merge_sum(const struct accumulate_home *home, struct accumulation *state,
                        const struct accumulation *other, bool *is_exact_out)
{
    const uint64_t count = state->count + other->count;

    *is_exact_out = is_whole(state->value) && is_whole(other->value);
    if (!*is_exact_out || other->value.type == VALUE_MISSING)
        return STATUS_OK;
    TRY(add_number(home, state, other->value));
    state->count = count;
    *is_exact_out = is_whole(state->value);
    return STATUS_OK;
}

static status merge_edge(const struct accumulate_home *home, struct accumulation *state,
                         const struct accumulation *other, int sign, bool *is_exact_out)
{
    *is_exact_out = true;
    if (!other->count)
        return STATUS_OK;
    /* Of equal ones the first counts, and which was first is not known. */
    if (state->count &&
        value_compare_by(home->run->formulas.collation, other->value, state->value) == 0)
        *is_exact_out = other->value.type == state->value.type &&
                        bytes_equal(other->value.raw, state->value.raw);
    return keep_edge(home, state, other->value, sign);
}

status accumulate_merge(const struct accumulate_home *home, const struct accumulator *a,
                        struct accumulation *state, const struct accumulation *other,
                        bool *is_exact_out)
{
    ASSERT(accumulate_can_merge(a));
    if (a->kind == ACCUMULATE_SUM || a->kind == ACCUMULATE_AVERAGE)
        return merge_sum(home, state, other, is_exact_out);
    return merge_edge(home, state, other, a->kind == ACCUMULATE_MIN ? -1 : 1, is_exact_out);
}

bool accumulate_is_exact(const struct accumulator *a, const struct accumulation *state)
{
    return (a->kind != ACCUMULATE_SUM && a->kind != ACCUMULATE_AVERAGE) || is_whole(state->value);
}

/* ---- results ---------------------------------------------------------------------------------------- */

static status give_list(const struct accumulate_home *home, const struct accumulation *state,
                        struct value *out)
{
    struct list list = list_begin(home->scratch);

    for (const struct accumulation_link *link = state->first; link; link = link->next)
        list_add(&list, link->value);
    return list_end(&list, out);
}

/* Later fields win, in the place of the earlier ones. */
static status give_merged(const struct accumulate_home *home, const struct accumulation *state,
                          struct value *out)
{
    struct set names = set_in(home->scratch);
    struct value *values = NULL;
    size_t room = 0, number;
    struct field field;
    bool is_new;

    for (const struct accumulation_link *link = state->first; link; link = link->next) {
        struct document_walk walk = document_fields(value_document(link->value));
        while (document_next(&walk, &field)) {
            TRY(set_add(&names, field.name, &number, &is_new));
            if (number >= room) {
                struct value *more;
                room = room ? room * 2 : 16;
                TRY(ARENA_NEW(home->scratch, room, &more));
                if (values)
                    memcpy(more, values, number * sizeof(*more));
                values = more;
            }
            values[number] = field.value;
        }
    }
    struct buffer built = buffer_in(home->scratch);
    size_t begun = document_begin(&built);
    for (size_t i = 0; values && i < names.count; i++)
        document_append(&built, names.members[i].key, values[i]);
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

static status give_percentile(const struct accumulate_home *home, const struct accumulator *a,
                              const struct accumulation *state, struct value *out)
{
    const struct accumulation_more *more = state->more;

    return percentile_give(home->scratch, more ? more->numbers : NULL,
                           more ? more->number_count : 0, a->shares, out);
}

static status give_rated(const struct accumulate_home *home, const struct accumulator *a,
                         const struct accumulation *state, struct value *out)
{
    static const struct rated none = { 0 };
    bool is_single = a->kind == ACCUMULATE_TOP || a->kind == ACCUMULATE_BOTTOM;
    struct value list;
    struct field first;

    TRY(rated_give(state->more ? &state->more->rated : &none, home->scratch, &list));
    *out = list;
    if (!is_single)
        return STATUS_OK;
    *out = (struct value){ .type = VALUE_NULL };
    struct document_walk walk = document_fields(value_document(list));
    if (document_next(&walk, &first))
        *out = first.value;
    return STATUS_OK;
}

uint64_t accumulate_effort(const struct accumulator *a, const struct accumulation *state)
{
    if (a->kind == ACCUMULATE_PERCENTILE && state->more)
        return state->more->number_count / 16; /* they are in order but for the last */
    return state->first ? state->count : 0;
}

status accumulate_result(const struct accumulate_home *home, const struct accumulator *a,
                         const struct accumulation *state, struct value *out)
{
    static const struct spread none = { 0 };
    struct value divisor;

    *out = state->value;
    switch (a->kind) {
    case ACCUMULATE_SUM:
        return out->type == VALUE_MISSING ? value_of_int64(home->scratch, 0, out) : STATUS_OK;
    case ACCUMULATE_AVERAGE:
        if (state->count == 0)
            break;
        TRY(value_of_double(home->scratch, (double)state->count, &divisor));
        return number_calculate(home->scratch, NUMBER_DIVIDE, state->value, divisor, out);
    case ACCUMULATE_MIN:
    case ACCUMULATE_MAX:
    case ACCUMULATE_FIRST:
    case ACCUMULATE_LAST:
        break;
    case ACCUMULATE_PUSH:
    case ACCUMULATE_ADD_TO_SET:
        return give_list(home, state, out);
    case ACCUMULATE_MERGE:
        return give_merged(home, state, out);
    case ACCUMULATE_DEVIATION:
    case ACCUMULATE_DEVIATION_OF_SAMPLE:
        return spread_give(state->more ? &state->more->spread : &none, home->scratch,
                           a->kind == ACCUMULATE_DEVIATION_OF_SAMPLE, out);
    case ACCUMULATE_PERCENTILE:
        return give_percentile(home, a, state, out);
    case ACCUMULATE_FIRST_N:
    case ACCUMULATE_LAST_N:
    case ACCUMULATE_MAX_N:
    case ACCUMULATE_MIN_N:
    case ACCUMULATE_TOP:
    case ACCUMULATE_TOP_N:
    case ACCUMULATE_BOTTOM:
    case ACCUMULATE_BOTTOM_N:
        return give_rated(home, a, state, out);
    }
    if (out->type == VALUE_MISSING)
        out->type = VALUE_NULL;
    return STATUS_OK;
}
