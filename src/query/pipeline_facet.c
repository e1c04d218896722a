/* Pipeline facet: several pipelines over the same rows.
 *
 * The rows are held once, and each pipeline reads them from there; the result is one document with an array for
 * each. Threads: a run belongs to its request. */
#include "query/list.h"
#include "query/pipeline_parts.h"

struct facet_row {
    struct facet_row *next;
    bytes document;
};

struct facet_rows {
    struct facet_row *first, **last;
    const struct facet_row *given;
};

static status next_held(void *context, bytes *document_out, bool *has_out)
{
    struct facet_rows *rows = context;

    *has_out = rows->given != NULL;
    if (*has_out) {
        *document_out = rows->given->document;
        rows->given = rows->given->next;
    }
    return STATUS_OK;
}

static status hold_rows(struct pipeline_run *run, size_t number, struct facet_rows *out)
{
    struct operator* o = & run->operators[number - 1];
    bool has_row;
    bytes row;

    *out = (struct facet_rows){ .last = &out->first };
    for (;;) {
        struct facet_row *held;
        TRY(pipeline_pull(run, number - 1, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        if (ARENA_NEW(o->held, 1, &held).code != OK)
            return pipeline_too_much(run, "$facet");
        TRY(pipeline_hold(run, o, "$facet", row, &held->document));
        *out->last = held;
        out->last = &held->next;
    }
}

static status run_facet(struct pipeline_run *run, struct operator* o, struct facet_rows *rows,
                        size_t at, struct buffer *built)
{
    const struct pipeline_source source = { .next = next_held, .context = rows };
    size_t begun = document_begin_inner(built, VALUE_ARRAY, o->stage->facets[at].name);
    size_t count = 0;
    bool has_row;
    bytes row;

    rows->given = rows->first;
    pipeline_restart(o->inners[at], &source);
    for (;;) {
        TRY(pipeline_inner_failed(run, o->inners[at],
                                  pipeline_next(o->inners[at], &row, &has_row)));
        if (!has_row)
            break;
        list_append(built, &count, (struct value){ .type = VALUE_DOCUMENT, .raw = row });
        if (built->len > LIMIT_DOCUMENT_BYTES) {
            run->refusal = 4031700;
            return status_fail(run->formulas.arena, TOO_LARGE,
                               "document constructed by $facet exceeds the limit of %d bytes; "
                               "give fewer rows in '%.*s'",
                               LIMIT_DOCUMENT_BYTES, (int)o->stage->facets[at].name.len,
                               (const char *)o->stage->facets[at].name.data);
        }
    }
    document_end(built, begun);
    /* Gives back what its stages hold, before the next one runs. */
    pipeline_restart(o->inners[at], &source);
    return STATUS_OK;
}

status pull_facet(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct buffer built = buffer_in(o->scratch);
    struct facet_rows rows;

    *has_out = false;
    if (o->is_over)
        return STATUS_OK;
    o->is_over = true;
    TRY(hold_rows(run, number, &rows));
    size_t begun = document_begin(&built);
    for (size_t i = 0; i < o->stage->facet_count; i++)
        TRY(run_facet(run, o, &rows, i, &built));
    document_end(&built, begun);
    pipeline_set_origin(run, BYTES_NONE);
    *has_out = true;
    return buffer_finish(&built, out);
}
