/* Pipeline densify: rows for the values that are missing between others.
 *
 * All rows are held, sorted by partition and by the field. Where a step from one value to the next is left out,
 * a row is made that has nothing but the value and the fields of its partition. Rows without a value are passed
 * on. How many rows may be made is bounded.
 *
 * Threads: a run belongs to its request. Start reading at densify_fill(). */
#include "query/formula_body.h"
#include "query/formula_date.h"
#include "query/pipeline_parts.h"

static const char what[] = "$densify";

struct densifying {
    struct pipeline_run *run;
    struct operator* o;
    const struct zone *utc;
    const struct densify *wish;
    const struct sorted_rows *rows;
    bool has_values;
    struct value least, greatest; /* of all rows */
    uint64_t made;
};

static status refuse(struct densifying *d, int32_t number, const char *message)
{
    d->run->refusal = number;
    return status_of(INVALID, message);
}

static status value_of(struct densifying *d, struct arena *arena, bytes row, struct value *out)
{
    TRY(pipeline_compute(d->run, arena, d->wish->field, row, out));
    if (formula_is_null(*out)) {
        *out = value_missing();
        return STATUS_OK;
    }
    if (!value_is_number(*out) && out->type != VALUE_DATE)
        return refuse(d, 5733201, "Densify field type must be numeric or a date");
    if ((out->type == VALUE_DATE) == (d->wish->unit.len > 0))
        return STATUS_OK;
    return refuse(d, d->wish->unit.len ? 6053600 : 6053601,
                  "$densify needs a 'unit' for dates, and none for numbers");
}

/* ---- holding ---------------------------------------------------------------------------------------- */

static status hold_row(struct densifying *d, bytes row)
{
    struct operator* o = d->o;
    struct buffer built = buffer_in(o->scratch);
    struct value value;
    bytes key, origin;

    for (size_t i = 0; i < d->wish->partition_count; i++) {
        TRY(pipeline_compute(d->run, o->scratch, d->wish->partitions[i].formula, row, &value));
        key_append_value_by(&built, d->run->formulas.collation, value, KEY_ASCENDING);
    }
    TRY(value_of(d, o->scratch, row, &value));
    key_append_value(&built, value, KEY_ASCENDING);
    TRY(buffer_finish(&built, &key));
    TRY(pipeline_origin(d->run, &origin));
    TRY(sorted_add(d->run, o, what, key, origin, row));
    if (value.type == VALUE_MISSING)
        return STATUS_OK;
    if (!d->has_values || value_compare(value, d->least) < 0) {
        d->least = value;
        TRY(pipeline_hold(d->run, o, what, value.raw, &d->least.raw));
    }
    if (!d->has_values || value_compare(value, d->greatest) > 0) {
        d->greatest = value;
        TRY(pipeline_hold(d->run, o, what, value.raw, &d->greatest.raw));
    }
    d->has_values = true;
    return STATUS_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------ */

/* `begin` and so many steps, so that errors do not add up. */
static status step_from(struct densifying *d, struct arena *arena, struct value begin,
                        uint64_t count, struct value *out)
{
    struct value times, by;
    int64_t moved, steps;

    TRY(value_of_int64(arena, (int64_t)count, &times));
    TRY(number_calculate(arena, NUMBER_MULTIPLY, d->wish->step, times, &by));
    if (begin.type != VALUE_DATE) {
        if (by.type == VALUE_MISSING)
            return refuse(d, 15, "a step of $densify does not fit in a number");
        TRY(number_calculate(arena, NUMBER_ADD, begin, by, out));
        return out->type == VALUE_MISSING
                   ? refuse(d, 15, "a step of $densify does not fit in a number")
                   : STATUS_OK;
    }
    if (by.type == VALUE_MISSING || !value_as_int64(by, &steps) ||
        !date_move(d->utc, value_date_ms(begin), d->wish->unit, steps, &moved))
        return refuse(d, 5166406, "a date of $densify is outside of the years 1 to 9999");
    return value_of_integer(arena, VALUE_DATE, moved, out);
}

/* A row with the value and the fields of the partition. */
static status make_row(struct densifying *d, bytes like, struct value value)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    struct operator* o = d->o;
    bytes row = bytes_of(nothing, sizeof(nothing)), origin;

    if (++d->made > LIMIT_PIPELINE_DENSIFIED_ROWS) {
        d->run->refusal = 5897900;
        return status_fail(d->run->formulas.arena, TOO_LARGE,
                           "Generated more than %d documents in $densify; make the step larger or "
                           "the bounds closer",
                           LIMIT_PIPELINE_DENSIFIED_ROWS);
    }
    for (size_t i = 0; i < d->wish->partition_count; i++) {
        struct value part;
        TRY(pipeline_compute(d->run, o->scratch, d->wish->partitions[i].formula, like, &part));
        if (part.type != VALUE_MISSING)
            TRY(pipeline_set(d->run, o->scratch, d->wish->partitions[i].path, part, row, &row));
    }
    TRY(pipeline_set(d->run, o->scratch, d->wish->path, value, row, &row));
    TRY(pipeline_name_row(o->scratch, BYTES_NONE,
                          (struct value){ .type = VALUE_DOCUMENT, .raw = row }, &origin));
    return sorted_add(d->run, o, what, BYTES_NONE, origin, row);
}

/* Where the steps of a partition begin and end; `to` itself is made only if it belongs to it. */
struct stretch {
    struct value from, to;
    bool has_to;
};

static status stretch_of(struct densifying *d, const struct held_row *rows, size_t count,
                         struct stretch *out)
{
    size_t first = 0;

    *out = (struct stretch){ .from = d->wish->low, .to = d->wish->high };
    if (d->wish->bounds == DENSIFY_BETWEEN)
        return STATUS_OK;
    *out = (struct stretch){ .from = d->least, .to = d->greatest, .has_to = true };
    if (d->wish->bounds == DENSIFY_FULL)
        return STATUS_OK;
    out->from = value_missing();
    while (first < count && out->from.type == VALUE_MISSING)
        TRY(value_of(d, d->o->held, rows[first++].row, &out->from));
    return value_of(d, d->o->held, rows[count - 1].row, &out->to);
}

static bool is_before(struct value a, struct value b, bool or_equal)
{
    int order = value_compare(a, b);

    return order < 0 || (or_equal && order == 0);
}

/* Infinity and numbers that are too large for the step stay where they are. */
static status take_step(struct densifying *d, struct value from, uint64_t step, struct value *out)
{
    struct value before;

    arena_reset(d->o->scratch);
    TRY(step_from(d, d->o->scratch, from, step, out));
    if (step == 0)
        return STATUS_OK;
    TRY(step_from(d, d->o->scratch, from, step - 1, &before));
    if (value_compare(before, *out) < 0)
        return STATUS_OK;
    return refuse(d, 5897900,
                  "a value of $densify is too large for the step: it does not change "
                  "when the step is added; make the step larger");
}

/* Rows of one partition, with those that are missing. */
static status densify_rows(struct densifying *d, const struct held_row *rows, size_t count)
{
    struct stretch s;
    struct value next, value;
    uint64_t step = 0;

    TRY(stretch_of(d, rows, count, &s));
    for (size_t i = 0; i <= count; i++) {
        arena_reset(d->o->scratch);
        value = value_missing();
        if (i < count)
            TRY(value_of(d, d->o->held, rows[i].row, &value));
        while (s.from.type != VALUE_MISSING && (i == count || value.type != VALUE_MISSING)) {
            TRY(take_step(d, s.from, step, &next));
            bool is_inside = is_before(next, s.to, s.has_to);
            if (!is_inside || (i < count && !is_before(next, value, true)))
                break;
            if (i == count || value_compare(next, value) != 0)
                TRY(make_row(d, rows[0].row, next));
            step++;
        }
        if (i < count)
            TRY(sorted_add(d->run, d->o, what, BYTES_NONE, rows[i].origin, rows[i].row));
    }
    return STATUS_OK;
}

/* ---- partitions ------------------------------------------------------------------------------------- */

static size_t prefix_of(const struct densifying *d, bytes key)
{
    size_t len = 0;

    for (size_t i = 0; i < d->wish->partition_count; i++)
        len += key_value_length(bytes_from(key, len), KEY_ASCENDING);
    return len;
}

status densify_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    struct densifying d = { .run = run, .o = o, .wish = o->stage->densify };
    bool has_row;
    bytes row;

    TRY(sorted_begin(run, o, what));
    TRY(zone_find(o->held, BYTES_LITERAL("UTC"), &d.utc));
    for (;;) {
        TRY(pipeline_pull(run, number - 1, &row, &has_row));
        if (!has_row)
            break;
        arena_reset(o->scratch);
        TRY(hold_row(&d, row));
    }
    struct sorted_rows *rows = o->sorted;
    sorted_order(rows);
    TRY(sorted_begin(run, o, what));
    for (size_t from = 0, count; from < rows->count; from += count) {
        bytes name = bytes_of(rows->items[from].key.data, prefix_of(&d, rows->items[from].key));
        for (count = 1; from + count < rows->count; count++) {
            if (!bytes_starts_with(rows->items[from + count].key, name))
                break;
        }
        TRY(densify_rows(&d, &rows->items[from], count));
    }
    return STATUS_OK;
}
