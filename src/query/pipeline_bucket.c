/* Pipeline buckets: so many groups of about the same size, by the order of a value.
 *
 * The rows are sorted by the value first. Each bucket takes its share and then the rows whose value equals its
 * last one, so that a value is never in two of them; the last bucket takes the rest.
 *
 * Threads: a run belongs to its request. Start reading at buckets_fill(). */
#include "query/accumulate.h"
#include "query/pipeline_parts.h"

static const char what[] = "$bucketAuto";

static status hold_rows(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    struct value value;
    bool has_row;
    bytes row, key;

    TRY(sorted_begin(run, o, what));
    for (;;) {
        struct buffer encoded;
        TRY(pipeline_pull(run, number - 1, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        arena_reset(o->scratch);
        encoded = buffer_in(o->scratch);
        TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &value));
        if (value.type == VALUE_MISSING)
            value.type = VALUE_NULL;
        key_append_value_by(&encoded, run->formulas.collation, value, KEY_ASCENDING);
        TRY(buffer_finish(&encoded, &key));
        TRY(sorted_add(run, o, what, key, BYTES_NONE, row));
    }
}

/* Behind the last row of the bucket that begins here. */
static size_t end_of(const struct sorted_rows *rows, size_t from, size_t size, bool is_last)
{
    size_t end = from + size;

    if (is_last || end >= rows->count)
        return rows->count;
    while (end < rows->count && bytes_equal(rows->items[end].key, rows->items[end - 1].key))
        end++;
    return end;
}

static status append_edge(struct pipeline_run *run, struct operator* o, bytes row, const char *name,
                          struct buffer *built)
{
    struct value value;

    TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &value));
    if (value.type == VALUE_MISSING)
        value.type = VALUE_NULL;
    document_append(built, bytes_of_text(name), value);
    return STATUS_OK;
}

static status give_bucket(struct pipeline_run *run, struct operator* o,
                          const struct sorted_rows *rows, size_t from, size_t end, bytes *out)
{
    struct accumulate_home home = {
        .run = run, .held = o->held, .scratch = o->scratch, .what = what
    };
    static const struct value no_id = { .type = VALUE_NULL };
    struct accumulation *states;
    struct buffer built;
    struct value value;

    TRY(ARENA_NEW(o->held, o->stage->accumulator_count, &states));
    for (size_t i = from; i < end; i++) {
        arena_reset(o->scratch);
        for (size_t j = 0; j < o->stage->accumulator_count; j++)
            TRY(accumulate_row(&home, &o->stage->accumulators[j], &states[j], no_id,
                               rows->items[i].row));
    }
    arena_reset(o->scratch);
    built = buffer_in(o->scratch);
    size_t begun = document_begin(&built);
    size_t id = document_begin_inner(&built, VALUE_DOCUMENT, BYTES_LITERAL("_id"));
    TRY(append_edge(run, o, rows->items[from].row, "min", &built));
    TRY(append_edge(run, o, rows->items[end < rows->count ? end : end - 1].row, "max", &built));
    document_end(&built, id);
    for (size_t j = 0; j < o->stage->accumulator_count; j++) {
        TRY(accumulate_result(&home, &o->stage->accumulators[j], &states[j], &value));
        document_append(&built, o->stage->accumulators[j].name, value);
    }
    document_end(&built, begun);
    return buffer_finish(&built, out);
}

status buckets_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    uint64_t left = o->stage->count;
    struct value number_of;
    bytes bucket, origin;

    TRY(hold_rows(run, number));
    struct sorted_rows *rows = o->sorted;
    sorted_order(rows);
    TRY(sorted_begin(run, o, what));
    size_t size = (size_t)((double)rows->count / (double)o->stage->count + 0.5);
    for (size_t from = 0, end; from < rows->count; from = end) {
        end = end_of(rows, from, size ? size : 1, --left == 0);
        TRY(give_bucket(run, o, rows, from, end, &bucket));
        TRY(value_of_int64(o->scratch, (int64_t)left, &number_of));
        TRY(pipeline_name_row(o->scratch, BYTES_NONE, number_of, &origin));
        TRY(sorted_add(run, o, what, BYTES_NONE, origin, bucket));
    }
    return STATUS_OK;
}
