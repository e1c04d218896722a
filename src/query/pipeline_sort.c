/* Pipeline sort: stages that hold rows and give them back in another order.
 *
 * Sorting copies every row with its place; if the next stage is a limit, only so many are kept: whenever there
 * are twice as many, they are sorted and cut, and what is left moves to a fresh arena. A sample keeps each
 * row with the chance that it has among those seen so far.
 *
 * Threads: a run belongs to its request. */
#include <stdlib.h>

#include "query/pipeline_parts.h"

static status make_room(struct pipeline_run *run, struct operator* o, const char *what)
{
    struct sorted_rows *rows = o->sorted;
    size_t room = rows->room ? rows->room * 2 : 64;
    struct held_row *more;

    if (rows->count < rows->room)
        return STATUS_OK;
    if (ARENA_NEW(o->held, room, &more).code != OK)
        return pipeline_too_much(run, what);
    if (rows->count)
        memcpy(more, rows->items, rows->count * sizeof(*more));
    rows->items = more;
    rows->room = room;
    return STATUS_OK;
}

int held_row_compare(const struct held_row *left, const struct held_row *right)
{
    int order = bytes_compare(left->key, right->key);

    return order ? order : (left->number > right->number) - (left->number < right->number);
}

static int compare_rows(const void *a, const void *b)
{
    return held_row_compare(a, b);
}

void sorted_order(struct sorted_rows *rows)
{
    if (rows->count > 1)
        qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
}

status sorted_begin(struct pipeline_run *run, struct operator* o, const char *what)
{
    o->is_filled = true;
    if (ARENA_NEW(o->held, 1, &o->sorted).code != OK)
        return pipeline_too_much(run, what);
    return STATUS_OK;
}

static status copy_row(struct pipeline_run *run, struct operator* o, const char *what,
                       struct held_row *row)
{
    TRY(pipeline_hold(run, o, what, row->key, &row->key));
    TRY(pipeline_hold(run, o, what, row->origin, &row->origin));
    return pipeline_hold(run, o, what, row->row, &row->row);
}

static status add_row(struct pipeline_run *run, struct operator* o, const char *what,
                      struct held_row row)
{
    TRY(make_room(run, o, what));
    TRY(copy_row(run, o, what, &row));
    o->sorted->items[o->sorted->count++] = row;
    return STATUS_OK;
}

status sorted_add(struct pipeline_run *run, struct operator* o, const char *what, bytes key,
                  bytes origin, bytes row)
{
    return add_row(
        run, o, what,
        (struct held_row){ .number = o->sorted->count, .key = key, .origin = origin, .row = row });
}

/* Rows that the stages behind take at most; 0 if that is not known. */
static uint64_t wanted_rows(const struct pipeline_run *run, size_t number)
{
    uint64_t skipped = 0;

    for (size_t i = number; i < run->count; i++) {
        const struct stage *stage = run->operators[i].stage;
        if (stage->kind == STAGE_LIMIT)
            return skipped + stage->count < skipped ? 0 : skipped + stage->count;
        if (stage->kind != STAGE_SKIP || skipped + stage->count < skipped)
            return 0;
        skipped += stage->count;
    }
    return 0;
}

/* Only the first `keep`, in a fresh arena. */
static status cut_rows(struct pipeline_run *run, struct operator* o, uint64_t keep)
{
    struct arena *fresh = arena_open(run->share.held_bytes), *old = o->held;
    struct sorted_rows *rows = o->sorted;
    struct held_row *items = rows->items;

    if (!fresh)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    sorted_order(rows);
    o->held = fresh;
    status s = sorted_begin(run, o, "Sort");
    for (size_t i = 0; s.code == OK && i < keep; i++)
        s = add_row(run, o, "Sort", items[i]);
    arena_close(old);
    return s;
}

status sort_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    uint64_t keep = wanted_rows(run, number);
    bool has_row;

    TRY(sorted_begin(run, o, "Sort"));
    for (uint64_t n = 0;; n++) {
        struct held_row held = { .number = n };
        TRY(pipeline_pull(run, number - 1, &held.row, &has_row));
        if (!has_row)
            break;
        arena_reset(o->scratch);
        status s = order_key_scored(o->stage->order, o->scratch, held.row, pipeline_score(run),
                                    &held.key);
        if (s.code != OK)
            return status_fail(run->formulas.arena, s.code, "%s", s.message);
        TRY(pipeline_origin(run, &held.origin));
        if (spill_is_due(run, o, &held))
            TRY(spill_rows(run, o));
        TRY(add_row(run, o, "Sort", held));
        if (keep && keep < SIZE_MAX / 4 && o->sorted->count >= 2 * keep + 64)
            TRY(cut_rows(run, o, keep));
    }
    if (o->spill)
        return spill_merge(run, o);
    sorted_order(o->sorted);
    return STATUS_OK;
}

status sort_next(struct pipeline_run *run, struct operator* o, bytes *out, bool *has_out)
{
    if (o->spill)
        return spill_next(run, o, out, has_out);
    *has_out = o->sorted->given < o->sorted->count;
    if (!*has_out)
        return STATUS_OK;
    const struct held_row *held = &o->sorted->items[o->sorted->given++];
    pipeline_set_origin(run, held->origin);
    *out = held->row;
    return STATUS_OK;
}

status sample_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    bool has_row;

    TRY(sorted_begin(run, o, "Sort"));
    random_begin(run->formulas.random);
    for (uint64_t n = 0;; n++) {
        struct held_row held = { .number = n };
        TRY(pipeline_pull(run, number - 1, &held.row, &has_row));
        if (!has_row)
            return STATUS_OK;
        uint64_t place = n < o->stage->count ? n : random_below(run->formulas.random, n + 1);
        if (place >= o->stage->count)
            continue;
        TRY(pipeline_origin(run, &held.origin));
        TRY(copy_row(run, o, "Sample", &held));
        if (place == o->sorted->count) {
            TRY(make_room(run, o, "Sort"));
            o->sorted->count++;
        }
        o->sorted->items[place] = held;
    }
}
