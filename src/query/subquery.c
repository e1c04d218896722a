/* Subquery: a query within a row of another one.
 *
 * It sees what the row has bound and adds bindings of its own; then condition, aggregates and output as in
 * any query, all in memory. It has no order and no limits of rows: the languages here do not know them within
 * a row.
 *
 * What it collects grows in the arena of the document, because that of the row is given back whenever a
 * binding moves on; at the end the result moves over to the row, and the arena of the document is as before.
 *
 * Threads: belongs to its request. Start reading at subquery_evaluate(). */
#include <stdio.h>

#include "query/group.h"
#include "query/rows.h"
#include "query/set.h"
#include "query/sorter.h"

/* How much of a value tells it from others before hashes do. */
enum { IDENTITY_BYTES = 1024 };

/* What has come of the rows so far. */
struct outcome {
    enum subquery_kind kind;
    size_t count;
    bool is_each_true;   /* SUBQUERY_ALL: so far */
    struct value only;   /* the row that is the value */
    struct buffer array; /* SUBQUERY_ARRAY */
    size_t begun;
    struct set seen; /* of a query with distinct rows */
};

/* ---- rows that are given ---------------------------------------------------------------------------- */

static status is_repeated(struct evaluation *e, struct outcome *o, struct value row, bool *out)
{
    struct buffer identity = buffer_in(e->arena);
    size_t number;
    bool is_new;
    bytes key;

    sorter_append_identity(&identity, e->rules, row, IDENTITY_BYTES);
    TRY(buffer_finish(&identity, &key));
    TRY(set_add(&o->seen, key, &number, &is_new));
    *out = !is_new;
    return STATUS_OK;
}

static status keep_only(struct evaluation *e, struct outcome *o, struct value row)
{
    if (o->kind == SUBQUERY_VALUE && o->count > 1)
        return status_of(INVALID, "The cardinality of a scalar subquery result set cannot be "
                                  "greater than one.");
    if (o->kind == SUBQUERY_FIRST && o->count > 1)
        return STATUS_OK;
    o->only.type = row.type;
    return arena_copy(e->lasting, row.raw, &o->only.raw);
}

static status give(struct evaluation *e, const struct query *query, struct outcome *o)
{
    bool is_known = false;
    struct value row;
    char name[24];

    TRY(evaluate(e, query->output, &row));
    if (value_kind_of(row) == KIND_MISSING)
        return STATUS_OK;
    if (query->is_distinct)
        TRY(is_repeated(e, o, row, &is_known));
    if (is_known)
        return STATUS_OK;
    o->count++;
    switch (o->kind) {
    case SUBQUERY_EXISTS:
        return STATUS_OK;
    case SUBQUERY_ALL:
        o->is_each_true &= value_is_true(row);
        return STATUS_OK;
    case SUBQUERY_VALUE:
    case SUBQUERY_FIRST:
    case SUBQUERY_LAST:
        return keep_only(e, o, row);
    case SUBQUERY_ARRAY:
        break;
    }
    int len = snprintf(name, sizeof(name), "%zu", o->count - 1);
    document_append(&o->array, bytes_of(name, (size_t)len), row);
    return o->array.is_failed ? arena_exhausted(e->lasting) : STATUS_OK;
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static status is_wanted(struct evaluation *e, const struct query *query, bool *out)
{
    *out = true;
    return query->where ? evaluate_condition(e, query->where, out) : STATUS_OK;
}

static status next_wanted(struct evaluation *e, const struct query *query, struct rows *rows,
                          bool *has_out)
{
    bool is_taken = false;

    do {
        TRY(rows_next(rows, has_out));
        if (*has_out)
            TRY(is_wanted(e, query, &is_taken));
    } while (*has_out && !is_taken);
    return STATUS_OK;
}

/* Can more rows change nothing? */
static bool is_settled(const struct outcome *o)
{
    bool is_one_enough = o->kind == SUBQUERY_EXISTS || o->kind == SUBQUERY_FIRST;

    return (is_one_enough && o->count > 0) || !o->is_each_true;
}

static status give_each(struct evaluation *e, const struct query *query, struct outcome *o)
{
    struct rows rows;
    bool has_row;

    rows_begin(&rows, query, e);
    while (!is_settled(o)) {
        TRY(next_wanted(e, query, &rows, &has_row));
        if (!has_row)
            break;
        TRY(give(e, query, o));
    }
    return STATUS_OK;
}

static status give_sums(struct evaluation *e, const struct query *query, struct outcome *o)
{
    const struct value *outside = e->aggregates;
    struct sums sums;
    struct rows rows;
    bool has_row;

    TRY(sums_open(&sums, e->lasting, query, BYTES_NONE));
    rows_begin(&rows, query, e);
    for (;;) {
        TRY(next_wanted(e, query, &rows, &has_row));
        if (!has_row)
            break;
        TRY(sums_add(&sums, e));
    }
    TRY(sums_results(&sums, e->lasting, &e->aggregates));
    status s = give(e, query, o);
    e->aggregates = outside;
    return s;
}

static status give_groups_of(struct evaluation *e, const struct query *query, struct outcome *o,
                             struct groups *groups)
{
    struct rows rows;
    bool has_row;

    TRY(groups_open(groups, query, 0, NULL));
    rows_begin(&rows, query, e);
    for (;;) {
        TRY(next_wanted(e, query, &rows, &has_row));
        if (!has_row)
            break;
        TRY(groups_add(groups, e));
    }
    for (size_t i = 0; i < groups_count(groups); i++) {
        arena_position mark = arena_mark(e->arena);
        TRY(groups_bind(groups, i, e));
        TRY(give(e, query, o));
        arena_release(e->arena, mark);
    }
    return STATUS_OK;
}

static status give_groups(struct evaluation *e, const struct query *query, struct outcome *o)
{
    const struct value *aggregates = e->aggregates, *values = e->groups;
    struct groups groups = { 0 };
    status s = give_groups_of(e, query, o, &groups);

    groups_close(&groups);
    e->aggregates = aggregates;
    e->groups = values;
    return s;
}

static status collect(struct evaluation *e, const struct query *query, struct outcome *o)
{
    o->seen = set_in(e->lasting);
    if (o->kind == SUBQUERY_ARRAY) {
        o->array = buffer_in(e->lasting);
        o->begun = document_begin(&o->array);
    }
    if (query->group_count)
        return give_groups(e, query, o);
    return query->aggregate_count ? give_sums(e, query, o) : give_each(e, query, o);
}

/* ---- the result ------------------------------------------------------------------------------------- */

static status finish(struct evaluation *e, struct outcome *o, struct value *out)
{
    switch (o->kind) {
    case SUBQUERY_EXISTS:
        *out = value_bool(o->count > 0);
        return STATUS_OK;
    case SUBQUERY_ALL:
        *out = value_bool(o->is_each_true);
        return STATUS_OK;
    case SUBQUERY_VALUE:
    case SUBQUERY_FIRST:
    case SUBQUERY_LAST:
        *out = o->only;
        break;
    case SUBQUERY_ARRAY:
        document_end(&o->array, o->begun);
        out->type = VALUE_ARRAY;
        TRY(buffer_finish(&o->array, &out->raw));
        break;
    }
    return arena_copy(e->arena, out->raw, &out->raw);
}

static status run(struct evaluation *e, const struct query *query, enum subquery_kind kind,
                  struct value *out)
{
    arena_position row = arena_mark(e->arena), document = arena_mark(e->lasting);
    bool was_decorated = e->is_decorated, was_whole = e->is_whole;
    struct outcome o = { .kind = kind, .is_each_true = true };

    *out = value_missing();
    TRY(collect(e, query, &o));
    arena_release(e->arena, row);
    TRY(finish(e, &o, out));
    /* What was made of the document meanwhile is still wanted. */
    if (e->is_decorated == was_decorated && e->is_whole == was_whole)
        arena_release(e->lasting, document);
    return STATUS_OK;
}

status subquery_rows(struct evaluation *e, const struct query *query, struct value *out)
{
    return run(e, query, SUBQUERY_ARRAY, out);
}

status subquery_evaluate(struct evaluation *e, const struct expression *x, struct value *out)
{
    return run(e, x->query, x->subquery, out);
}
