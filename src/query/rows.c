/* Rows: what FROM makes of one document.
 *
 * Bindings are nested loops: the innermost moves on until it has no more, then the one outside of it does,
 * and those inside begin again. Nothing is collected but the rows of a query that is bound, because they are
 * not there before it ran.
 *
 * The evaluation's arena is used as a stack: what a level computed lies above what the levels before it
 * computed, and is given back when one of those moves on.
 *
 * Keeps: rows come in the same order whenever the document is the same, so a place means the same row.
 * Threads: belongs to its request. Start reading at rows_next(). */
#include "query/rows.h"

void rows_begin(struct rows *rows, const struct query *query, struct evaluation *evaluation)
{
    ASSERT(query->binding_count <= LIMIT_QUERY_BINDINGS);
    rows->query = query;
    rows->evaluation = evaluation;
    rows->is_open = true;
    rows->is_started = false;
    rows->is_waiting = false;
}

static status count_step(struct evaluation *e)
{
    if (++e->steps > LIMIT_QUERY_PAGE_STEPS)
        return status_fail(e->arena, TOO_LARGE,
                           "the joins and subqueries of the query make more than %d rows for one "
                           "page, the limit: filter earlier, within subqueries, or join less",
                           LIMIT_QUERY_PAGE_STEPS);
    return STATUS_OK;
}

/* ---- one level -------------------------------------------------------------------------------------- */

/* Computes what the level walks, without binding anything yet. */
static status fill(struct rows *rows, size_t number, struct value *out)
{
    const struct query_binding *binding = &rows->query->bindings[number];
    struct evaluation *e = rows->evaluation;

    if (binding->kind == BINDING_ROWS)
        return subquery_rows(e, binding->query, out);
    return evaluate(e, binding->of, out);
}

/* Binds the first row of a level. */
static status enter(struct rows *rows, size_t number, bool *has_out)
{
    const struct query_binding *binding = &rows->query->bindings[number];
    struct rows_level *level = &rows->levels[number];
    struct value value;
    struct field field;

    TRY(count_step(rows->evaluation));
    TRY(fill(rows, number, &value));
    level->at = 0;
    level->walk = (struct document_walk){ 0 };
    level->mark = arena_mark(rows->evaluation->arena);
    if (binding->kind == BINDING_VALUE) {
        *has_out = value_kind_of(value) != KIND_MISSING;
    } else {
        *has_out = value.type == VALUE_ARRAY;
        if (*has_out)
            level->walk = document_fields(value_document(value));
        *has_out = *has_out && document_next(&level->walk, &field);
        if (*has_out)
            value = field.value;
    }
    rows->evaluation->variables[binding->variable] = value;
    return STATUS_OK;
}

/* Binds the next row of a level that has one bound. */
static status move(struct rows *rows, size_t number, bool *has_out)
{
    const struct query_binding *binding = &rows->query->bindings[number];
    struct rows_level *level = &rows->levels[number];
    struct field field;

    TRY(count_step(rows->evaluation));
    arena_release(rows->evaluation->arena, level->mark);
    *has_out = binding->kind != BINDING_VALUE && document_next(&level->walk, &field);
    if (*has_out) {
        rows->evaluation->variables[binding->variable] = field.value;
        level->at++;
    }
    return STATUS_OK;
}

/* ---- all levels ------------------------------------------------------------------------------------- */

/* Enters the levels from `number` on; where one has no row, the one before it moves on. */
static status descend(struct rows *rows, size_t number, bool *has_out)
{
    bool has_row = true;

    *has_out = true;
    while (number < rows->query->binding_count) {
        TRY(enter(rows, number, &has_row));
        number++;
        while (!has_row && number > 1) {
            number--;
            TRY(move(rows, number - 1, &has_row));
        }
        if (!has_row) {
            *has_out = false;
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

/* Moves the innermost level that can, up to `number` levels; then enters those inside of it. */
static status advance(struct rows *rows, size_t number, bool *has_out)
{
    *has_out = false;
    while (number > 0 && !*has_out)
        TRY(move(rows, --number, has_out));
    return *has_out ? descend(rows, number + 1, has_out) : STATUS_OK;
}

status rows_next(struct rows *rows, bool *has_out)
{
    *has_out = rows->is_waiting;
    rows->is_waiting = false;
    if (!rows->is_open || *has_out)
        return STATUS_OK;
    if (!rows->is_started)
        TRY(descend(rows, 0, has_out));
    else
        TRY(advance(rows, rows->query->binding_count, has_out));
    rows->is_started = true;
    /* Without bindings, the only row is the last one. */
    rows->is_open = *has_out && rows->query->binding_count > 0;
    return STATUS_OK;
}

/* ---- places ----------------------------------------------------------------------------------------- */

void rows_append_place(const struct rows *rows, bool is_descending, struct buffer *out)
{
    for (size_t i = 0; i < rows->query->binding_count; i++)
        buffer_append_u32(out, is_descending ? ~rows->levels[i].at : rows->levels[i].at);
}

/* Moves one level to its row number `at`; false if it has not so many. */
static status move_to(struct rows *rows, size_t number, uint32_t at, bool *is_there_out)
{
    TRY(enter(rows, number, is_there_out));
    while (*is_there_out && rows->levels[number].at < at)
        TRY(move(rows, number, is_there_out));
    return STATUS_OK;
}

status rows_seek(struct rows *rows, bytes place, bool is_descending, bool *is_there_out)
{
    struct reader reader = reader_of(place);
    size_t count = rows->query->binding_count, number = 0;
    bool has_row;

    *is_there_out = true;
    if (place.len != count * ROWS_PLACE_BYTES)
        return status_of(INVALID, "the place is not one of a row of this query");
    rows->is_started = true;
    for (; number < count && *is_there_out; number++) {
        uint32_t at = reader_u32(&reader);
        TRY(move_to(rows, number, is_descending ? ~at : at, is_there_out));
    }
    rows->is_open = count > 0;
    if (*is_there_out)
        return STATUS_OK;
    /* The level has ended: what comes behind it begins where an outer one moves on. */
    TRY(advance(rows, number - 1, &has_row));
    rows->is_open = has_row;
    rows->is_waiting = has_row;
    return STATUS_OK;
}
