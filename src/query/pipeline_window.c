/* Pipeline window: values for each row of the rows around it.
 *
 * All rows are held and sorted by partition and order. Within a partition every output is computed for all rows
 * before the next one: a window that begins with the partition only grows, so each row is added once; any other
 * one is computed anew for each row, within a bound on the steps of the whole stage.
 *
 * Threads: a run belongs to its request. Start reading at window_fill(). */
#include <math.h>

#include "query/accumulate.h"
#include "query/formula_body.h"
#include "query/formula_date.h"
#include "query/pipeline_parts.h"

static const char what[] = "$setWindowFields";

/* The rows of one partition. */
struct partition {
    struct pipeline_run *run;
    struct operator* o;
    struct arena *work; /* of one row */
    const struct zone *utc;
    struct held_row *rows;
    size_t count;
    size_t prefix;        /* of a key, that names the partition */
    struct value *places; /* the value of the order, where it is asked for */
    struct value *inputs, *others;
    struct value *results; /* of one output */
    uint64_t *steps;
};

static status refuse(struct partition *p, int32_t number, const char *message)
{
    p->run->refusal = number;
    return status_of(INVALID, message);
}

static status exhausted(struct partition *p, status s)
{
    return s.code == OUT_OF_MEMORY ? pipeline_too_much(p->run, what) : s;
}

static status hold_value(struct partition *p, struct value value, struct value *out)
{
    *out = value;
    return exhausted(p, arena_copy(p->o->held, value.raw, &out->raw));
}

static status compute(struct partition *p, const struct formula *formula, struct value *out)
{
    for (size_t i = 0; i < p->count; i++) {
        struct value value;
        arena_reset(p->work);
        TRY(pipeline_compute(p->run, p->work, formula, p->rows[i].row, &value));
        TRY(hold_value(p, value, &out[i]));
    }
    return STATUS_OK;
}

static status give_double(struct partition *p, double number, struct value *out)
{
    return exhausted(p, value_of_double(p->o->held, number, out));
}

/* ---- places in the order ---------------------------------------------------------------------------- */

/* The value of the only field of the order. */
static status find_places(struct partition *p)
{
    const struct order *order = p->o->stage->order;
    const struct formula *path;

    if (p->places)
        return STATUS_OK;
    if (!order || order->count != 1)
        return refuse(p, 5339902, "this window needs a sortBy of exactly one field");
    TRY(exhausted(p, ARENA_NEW(p->o->held, p->count, &p->places)));
    TRY(exhausted(p, formula_path(p->o->held, NULL, order->parts[0].path, &path)));
    TRY(compute(p, path, p->places));
    for (size_t i = 0; i < p->count; i++) {
        if (!value_is_number(p->places[i]) && p->places[i].type != VALUE_DATE)
            return refuse(p, 5429513, "this window needs sortBy values that are numbers or dates");
    }
    return STATUS_OK;
}

static double place_number(struct value place)
{
    return place.type == VALUE_DATE ? (double)value_date_ms(place) : value_as_double(place);
}

/* A place moved by an offset, in units of time for dates. */
static status move_place(struct partition *p, const struct window *w, struct value place,
                         double offset, double *out)
{
    int64_t moved;

    *out = place_number(place) + offset;
    if (w->unit.len == 0)
        return place.type == VALUE_DATE
                   ? refuse(p, 5429513, "a range over dates needs a 'unit' of time")
                   : STATUS_OK;
    if (place.type != VALUE_DATE)
        return refuse(p, 5429514,
                      "a range with a 'unit' of time needs sortBy values that are dates");
    if (!date_move(p->utc, value_date_ms(place), w->unit, (int64_t)offset, &moved))
        return refuse(p, 5166406, "a bound of a window is outside of the years 1 to 9999");
    *out = (double)moved;
    return STATUS_OK;
}

/* Behind the window of row `at`: [*from_out, *to_out). Both only grow from row to row. */
static status find_range(struct partition *p, const struct window *w, size_t at, size_t *from_out,
                         size_t *to_out)
{
    double low = -INFINITY, high = INFINITY;

    if (w->lower.edge == WINDOW_OFFSET)
        TRY(move_place(p, w, p->places[at], w->lower.offset, &low));
    if (w->upper.edge == WINDOW_OFFSET)
        TRY(move_place(p, w, p->places[at], w->upper.offset, &high));
    while (*from_out < p->count && place_number(p->places[*from_out]) < low)
        ++*from_out;
    while (*to_out < p->count && place_number(p->places[*to_out]) <= high)
        ++*to_out;
    return STATUS_OK;
}

static size_t clip(const struct partition *p, double position)
{
    return position <= 0 ? 0 : position >= (double)p->count ? p->count : (size_t)position;
}

static status find_window(struct partition *p, const struct window *w, size_t at, size_t *from_out,
                          size_t *to_out)
{
    if (w->is_range)
        return find_range(p, w, at, from_out, to_out);
    *from_out = w->lower.edge == WINDOW_OFFSET ? clip(p, (double)at + w->lower.offset) : 0;
    *to_out = w->upper.edge == WINDOW_OFFSET ? clip(p, (double)at + w->upper.offset + 1) : p->count;
    return STATUS_OK;
}

/* ---- accumulators ----------------------------------------------------------------------------------- */

/* Bounded, and asked now and then whether it shall go on. */
static status count_steps(struct partition *p, uint64_t more)
{
    enum { STEPS_PER_CHECK = 1 << 14 };
    uint64_t before = *p->steps;

    *p->steps += more;
    if (*p->steps > LIMIT_PIPELINE_WINDOW_STEPS) {
        p->run->refusal = 292;
        return status_fail(p->run->formulas.arena, TOO_LARGE,
                           "$setWindowFields takes more than %llu steps: let windows begin with "
                           "the partition, or make them or the partitions smaller",
                           (unsigned long long)LIMIT_PIPELINE_WINDOW_STEPS);
    }
    bool is_time = before / STEPS_PER_CHECK != *p->steps / STEPS_PER_CHECK;
    return is_time && p->run->source.check ? p->run->source.check(p->run->source.context)
                                           : STATUS_OK;
}

static status add_row(struct partition *p, const struct accumulate_home *home,
                      const struct window *w, struct accumulation *state, size_t at)
{
    static const struct value no_id = { .type = VALUE_NULL };

    TRY(count_steps(p, 1));
    if (w->accumulator.order)
        return accumulate_row(home, &w->accumulator, state, no_id, p->rows[at].row);
    return accumulate_value(home, &w->accumulator, state, no_id, p->inputs[at]);
}

static status give_result(struct partition *p, const struct accumulate_home *home,
                          const struct window *w, const struct accumulation *state, size_t at)
{
    struct value value;

    TRY(count_steps(p, accumulate_effort(&w->accumulator, state)));
    TRY(accumulate_result(home, &w->accumulator, state, &value));
    return hold_value(p, value, &p->results[at]);
}

static status accumulate_growing(struct partition *p, const struct window *w)
{
    struct accumulate_home home = {
        .run = p->run, .held = p->o->held, .scratch = p->work, .what = what
    };
    struct accumulation state = { 0 };
    size_t from = 0, to = 0, added = 0;

    for (size_t i = 0; i < p->count; i++) {
        TRY(find_window(p, w, i, &from, &to));
        arena_reset(p->work);
        bool is_same = i > 0 && added >= to;
        while (added < to)
            TRY(add_row(p, &home, w, &state, added++));
        if (is_same)
            p->results[i] = p->results[i - 1];
        else
            TRY(give_result(p, &home, w, &state, i));
    }
    return STATUS_OK;
}

static status accumulate_sliding(struct partition *p, const struct window *w)
{
    struct arena *kept = arena_open(p->run->share.held_bytes);
    struct accumulate_home home = { .run = p->run, .held = kept, .scratch = p->work, .what = what };
    size_t from = 0, to = 0;
    status s = STATUS_OK;

    if (!kept)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    for (size_t i = 0; s.code == OK && i < p->count; i++) {
        struct accumulation state = { 0 };
        arena_reset(kept);
        arena_reset(p->work);
        s = find_window(p, w, i, &from, &to);
        for (size_t j = from; s.code == OK && j < to; j++)
            s = add_row(p, &home, w, &state, j);
        if (s.code == OK)
            s = give_result(p, &home, w, &state, i);
    }
    arena_close(kept);
    return s;
}

/* ---- ranks and neighbours --------------------------------------------------------------------------- */

static bool is_tied(const struct partition *p, size_t at)
{
    return at > 0 && bytes_equal(p->rows[at].key, p->rows[at - 1].key);
}

static status rank_rows(struct partition *p, enum window_kind kind)
{
    int64_t rank = 0, dense = 0;

    for (size_t i = 0; i < p->count; i++) {
        if (!is_tied(p, i)) {
            rank = (int64_t)i + 1;
            dense++;
        }
        int64_t number = kind == WINDOW_RANK         ? rank
                         : kind == WINDOW_DENSE_RANK ? dense
                                                     : (int64_t)i + 1;
        TRY(exhausted(p, value_of_int64(p->o->held, number, &p->results[i])));
    }
    return STATUS_OK;
}

static status shift_rows(struct partition *p, const struct window *w)
{
    struct value otherwise = value_null();

    if (w->otherwise) {
        arena_reset(p->work);
        TRY(pipeline_compute(p->run, p->work, w->otherwise, p->rows[0].row, &otherwise));
        TRY(hold_value(p, otherwise, &otherwise));
    }
    for (size_t i = 0; i < p->count; i++) {
        bool is_there = w->shift >= -(int64_t)i && w->shift < (int64_t)(p->count - i);
        p->results[i] = is_there ? p->inputs[(int64_t)i + w->shift] : otherwise;
        if (p->results[i].type == VALUE_MISSING)
            p->results[i] = value_null();
    }
    return STATUS_OK;
}

static status average_rows(struct partition *p, double alpha)
{
    bool has_average = false;
    double average = 0;

    for (size_t i = 0; i < p->count; i++) {
        if (value_is_number(p->inputs[i])) {
            double number = value_as_double(p->inputs[i]);
            average = has_average ? number * alpha + average * (1 - alpha) : number;
            has_average = true;
        }
        p->results[i] = value_null();
        if (has_average)
            TRY(give_double(p, average, &p->results[i]));
    }
    return STATUS_OK;
}

/* ---- slopes and areas ------------------------------------------------------------------------------- */

/* Milliseconds of the unit of a result; without one, of the value itself. */
static status unit_size(struct partition *p, const struct window *w, double *out)
{
    int64_t moved;

    *out = 1;
    if (w->result_unit.len == 0)
        return STATUS_OK;
    if (!date_move(p->utc, 0, w->result_unit, 1, &moved) || moved > INT64_C(7) * DATE_MS_PER_DAY)
        return refuse(p, 5490704, "the unit of $derivative and $integral is at most a week");
    *out = (double)moved;
    return STATUS_OK;
}

static status check_numbers(struct partition *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (!value_is_number(p->inputs[i]))
            return refuse(p, 5624900, "$derivative and $integral need an input of numbers");
    }
    return STATUS_OK;
}

static double area_of(const struct partition *p, size_t from, size_t to, double unit)
{
    double area = 0;

    for (size_t i = from + 1; i < to; i++)
        area += (place_number(p->places[i]) - place_number(p->places[i - 1])) / unit *
                (value_as_double(p->inputs[i]) + value_as_double(p->inputs[i - 1])) / 2;
    return area;
}

/* Slopes over dates need a unit of time, and only those have one. */
static status check_unit(struct partition *p, const struct window *w)
{
    bool is_slope = w->kind == WINDOW_DERIVATIVE, has_unit = w->result_unit.len > 0;

    for (size_t i = 0; i < p->count; i++) {
        bool is_date = p->places[i].type == VALUE_DATE;
        if (has_unit && !is_date)
            return refuse(p, is_slope ? 5624900 : 5423901,
                          "$derivative and $integral with a 'unit' need sortBy values that are "
                          "dates, not numbers");
        if (!has_unit && is_date)
            return refuse(p, is_slope ? 5624901 : 5423902,
                          "$derivative and $integral over dates need a 'unit', such as \"second\"");
    }
    return STATUS_OK;
}

static status slope_rows(struct partition *p, const struct window *w)
{
    size_t from = 0, to = 0;
    double unit;

    TRY(find_places(p));
    TRY(check_unit(p, w));
    TRY(unit_size(p, w, &unit));
    for (size_t i = 0; i < p->count; i++) {
        TRY(find_window(p, w, i, &from, &to));
        TRY(count_steps(p, to > from ? to - from : 0));
        p->results[i] = value_null();
        if (to <= from || (w->kind == WINDOW_DERIVATIVE && to - from < 2))
            continue;
        TRY(check_numbers(p, from, to));
        double result = area_of(p, from, to, unit);
        if (w->kind == WINDOW_DERIVATIVE)
            result = (value_as_double(p->inputs[to - 1]) - value_as_double(p->inputs[from])) /
                     ((place_number(p->places[to - 1]) - place_number(p->places[from])) / unit);
        TRY(give_double(p, result, &p->results[i]));
    }
    return STATUS_OK;
}

static status covariance_rows(struct partition *p, const struct window *w)
{
    bool is_sample = w->kind == WINDOW_COVARIANCE_OF_SAMPLE;
    size_t from = 0, to = 0;

    for (size_t i = 0; i < p->count; i++) {
        double x_mean = 0, y_mean = 0, product = 0;
        size_t count = 0;
        TRY(find_window(p, w, i, &from, &to));
        TRY(count_steps(p, to > from ? to - from : 0));
        for (size_t j = from; j < to; j++) {
            if (!value_is_number(p->inputs[j]) || !value_is_number(p->others[j]))
                continue;
            double x = value_as_double(p->inputs[j]), y = value_as_double(p->others[j]);
            double off = x - x_mean;
            count++;
            x_mean += off / (double)count;
            y_mean += (y - y_mean) / (double)count;
            product += off * (y - y_mean);
        }
        p->results[i] = value_null();
        if (count > (size_t)is_sample)
            TRY(give_double(p, product / (double)(count - (size_t)is_sample), &p->results[i]));
    }
    return STATUS_OK;
}

/* ---- filling ---------------------------------------------------------------------------------------- */

static status fill_last(struct partition *p)
{
    struct value last = value_null();

    for (size_t i = 0; i < p->count; i++) {
        if (!formula_is_null(p->inputs[i]))
            last = p->inputs[i];
        p->results[i] = last;
    }
    return STATUS_OK;
}

static status fill_between(struct partition *p, size_t from, size_t to)
{
    double x0 = place_number(p->places[from]), x1 = place_number(p->places[to]);
    double y0 = value_as_double(p->inputs[from]), y1 = value_as_double(p->inputs[to]);

    for (size_t i = from + 1; i < to; i++) {
        double share = x1 == x0 ? 0 : (place_number(p->places[i]) - x0) / (x1 - x0);
        TRY(give_double(p, y0 + share * (y1 - y0), &p->results[i]));
    }
    return STATUS_OK;
}

static status fill_linear(struct partition *p)
{
    size_t last = SIZE_MAX;

    TRY(find_places(p));
    for (size_t i = 0; i < p->count; i++) {
        p->results[i] = formula_is_null(p->inputs[i]) ? value_null() : p->inputs[i];
        if (formula_is_null(p->inputs[i]))
            continue;
        if (!value_is_number(p->inputs[i]))
            return refuse(p, 605001, "$linearFill needs values that are numbers, null or missing");
        if (i > 0 && place_number(p->places[i]) == place_number(p->places[i - 1]))
            return refuse(p, 6050106,
                          "There can be no repeated values in the sort field of "
                          "$linearFill");
        if (last != SIZE_MAX)
            TRY(fill_between(p, last, i));
        last = i;
    }
    return STATUS_OK;
}

/* ---- one output ------------------------------------------------------------------------------------- */

static status accumulate_rows(struct partition *p, const struct window *w)
{
    if (w->is_range)
        TRY(find_places(p));
    return w->lower.edge == WINDOW_UNBOUNDED ? accumulate_growing(p, w) : accumulate_sliding(p, w);
}

static status compute_output(struct partition *p, const struct window *w)
{
    const struct formula *of = w->kind == WINDOW_ACCUMULATE ? w->accumulator.of : w->of;

    if (of)
        TRY(compute(p, of, p->inputs));
    if (w->other)
        TRY(compute(p, w->other, p->others));
    switch (w->kind) {
    case WINDOW_ACCUMULATE:
        return accumulate_rows(p, w);
    case WINDOW_RANK:
    case WINDOW_DENSE_RANK:
    case WINDOW_NUMBER:
        return rank_rows(p, w->kind);
    case WINDOW_SHIFT:
        return shift_rows(p, w);
    case WINDOW_AVERAGE:
        return average_rows(p, w->alpha);
    case WINDOW_DERIVATIVE:
    case WINDOW_INTEGRAL:
        return slope_rows(p, w);
    case WINDOW_COVARIANCE:
    case WINDOW_COVARIANCE_OF_SAMPLE:
        if (w->is_range)
            TRY(find_places(p));
        return covariance_rows(p, w);
    case WINDOW_FILL_LINEAR:
        return fill_linear(p);
    case WINDOW_FILL_LAST:
        return fill_last(p);
    }
    return STATUS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static status hold_rows(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    struct value partition = { .type = VALUE_NULL };
    bool has_row;
    bytes row, place, key, origin;

    TRY(sorted_begin(run, o, what));
    for (;;) {
        struct buffer built;
        TRY(pipeline_pull(run, number - 1, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        arena_reset(o->scratch);
        if (o->stage->formula)
            TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &partition));
        if (partition.type == VALUE_MISSING)
            partition.type = VALUE_NULL;
        built = buffer_in(o->scratch);
        key_append_value_by(&built, run->formulas.collation, partition, KEY_ASCENDING);
        if (o->stage->order) {
            status s = order_key(o->stage->order, o->scratch, row, &place);
            if (s.code != OK)
                return status_fail(run->formulas.arena, s.code, "%s", s.message);
            buffer_append(&built, place);
        }
        TRY(buffer_finish(&built, &key));
        TRY(pipeline_origin(run, &origin));
        TRY(sorted_add(run, o, what, key, origin, row));
    }
}

/* The rows with all outputs in them, in the order in which they were asked for. */
static status give_rows(struct partition *p, struct value *const *outputs)
{
    const struct stage *stage = p->o->stage;

    for (size_t i = 0; i < p->count; i++) {
        bytes row = p->rows[i].row;
        arena_reset(p->work);
        for (size_t j = 0; j < stage->window_count; j++)
            TRY(pipeline_set(p->run, p->work, stage->windows[j].path, outputs[j][i], row, &row));
        TRY(sorted_add(p->run, p->o, what, BYTES_NONE, p->rows[i].origin, row));
    }
    return STATUS_OK;
}

static status compute_partition(struct partition *p)
{
    const struct stage *stage = p->o->stage;
    struct value **outputs;

    p->places = NULL;
    TRY(exhausted(p, ARENA_NEW(p->o->held, stage->window_count, &outputs)));
    TRY(exhausted(p, ARENA_NEW(p->o->held, p->count, &p->inputs)));
    TRY(exhausted(p, ARENA_NEW(p->o->held, p->count, &p->others)));
    for (size_t j = 0; j < stage->window_count; j++) {
        TRY(exhausted(p, ARENA_NEW(p->o->held, p->count, &outputs[j])));
        p->results = outputs[j];
        TRY(compute_output(p, &stage->windows[j]));
    }
    return give_rows(p, outputs);
}

static status compute_all(struct pipeline_run *run, struct operator* o, struct arena *work)
{
    struct sorted_rows *rows = o->sorted;
    uint64_t steps = 0;
    struct partition p = { .run = run, .o = o, .work = work, .steps = &steps };

    TRY(exhausted(&p, zone_find(o->held, BYTES_LITERAL("UTC"), &p.utc)));
    sorted_order(rows);
    TRY(sorted_begin(run, o, what));
    for (size_t from = 0; from < rows->count; from += p.count) {
        p.rows = &rows->items[from];
        p.prefix = key_value_length(p.rows[0].key, KEY_ASCENDING);
        bytes name = bytes_of(p.rows[0].key.data, p.prefix);
        for (p.count = 1; from + p.count < rows->count; p.count++) {
            if (!bytes_starts_with(p.rows[p.count].key, name))
                break;
        }
        TRY(compute_partition(&p));
    }
    return STATUS_OK;
}

status window_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    struct arena *work = arena_open(run->share.row_bytes);

    if (!work)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    status s = hold_rows(run, number);
    if (s.code == OK)
        s = compute_all(run, o, work);
    /* What it says may lie there. */
    if (s.code != OK)
        s = status_fail(run->formulas.arena, s.code, "%s", s.message);
    arena_close(work);
    return s;
}
