/* Pipeline foreign: stages that bring in documents of other collections.
 *
 * A lookup asks, for each row, for the documents whose field has one of the values that the row has, and lets
 * the stages inside do the rest. What the first of those ask is asked of the other collection, too; where it
 * compares a field with a variable by a formula, the comparison is added as a condition, which an index can
 * answer. Where fields, or a field and a variable, are compared it is asked for many rows at once (pipeline_join.c). A union gives its own
 * rows first.
 *
 * Keeps: documents of other collections come from the source's pipeline_foreign, which judges them as it judges
 * all documents of the request. Threads: a run belongs to its request. Start reading at pull_lookup(). */
#include "query/formula_body.h"
#include "query/list.h"
#include "query/pipeline_parts.h"

/* ---- stages inside ---------------------------------------------------------------------------------- */

static status nothing(void *context, bytes *document_out, bool *has_out)
{
    (void)context;
    (void)document_out;
    *has_out = false;
    return STATUS_OK;
}

static status open_inner(struct pipeline_run *run, struct operator* o,
                         const struct pipeline *pipeline, size_t skipped, struct arena *arena,
                         struct pipeline_run **out)
{
    /* The rows of a union may be more than anybody wants; of the others all are taken. */
    const struct pipeline_source source = { .next = nothing,
                                            .wanted = o->stage->kind == STAGE_UNION ? 0
                                                                                    : UINT64_MAX,
                                            .is_inner = true,
                                            .foreign = run->source.foreign,
                                            .share = run->share,
                                            .disk = run->source.disk };

    return pipeline_open(pipeline, skipped, &source, &run->formulas, arena, out);
}

/* How many of the first stages are conditions; those are asked of the collection. */
static status take_front(struct operator* o, struct arena *arena, size_t *count_out)
{
    const struct pipeline *inner = o->stage->inner;
    const struct match *both[2];
    size_t count = 0;

    for (; count < inner->count && inner->stages[count].kind == STAGE_MATCH; count++) {
        both[0] = inner->stages[count].match;
        both[1] = o->inner_match;
        TRY(match_join(arena, MATCH_AND, both, o->inner_match ? 2 : 1, &o->inner_match));
    }
    *count_out = o->stage->from.len ? count : 0;
    return STATUS_OK;
}

status foreign_open_stages(struct pipeline_run *run, struct operator* o, struct arena *arena)
{
    const struct stage *stage = o->stage;
    size_t count = stage->kind == STAGE_FACET ? stage->facet_count : stage->inner != NULL;
    size_t skipped;

    if (stage->local_field.len)
        TRY(path_parse(arena, stage->local_field, &o->local_path));
    if (count == 0)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, count, &o->inners));
    o->inner_count = count;
    if (stage->inner) {
        TRY(take_front(o, arena, &skipped));
        return open_inner(run, o, stage->inner, skipped, arena, &o->inners[0]);
    }
    for (size_t i = 0; i < count; i++)
        TRY(open_inner(run, o, stage->facets[i].pipeline, 0, arena, &o->inners[i]));
    return STATUS_OK;
}

/* ---- other collections ------------------------------------------------------------------------------ */

/* Documents that the stage has with it. */
static status next_of_list(void *context, bytes *document_out, bool *has_out)
{
    struct operator* o = context;
    struct field element;

    *has_out = document_next(&o->elements, &element);
    if (*has_out)
        *document_out = value_document(element.value);
    return STATUS_OK;
}

status foreign_open(struct pipeline_run *run, struct operator* o, const struct match *match,
                    unsigned how)
{
    const struct pipeline_foreign *foreign = run->source.foreign;

    o->foreign = (struct pipeline_source){ .next = nothing };
    if (o->stage->from.len == 0) {
        o->elements = document_fields(o->stage->documents);
        o->foreign = (struct pipeline_source){ .next = next_of_list, .context = o };
        return STATUS_OK;
    }
    if (!foreign)
        return STATUS_OK;
    TRY(foreign->open(foreign->context, o->stage->from, match, how, &run->formulas, &o->foreign));
    o->is_foreign_open = true;
    return STATUS_OK;
}

void foreign_end(struct pipeline_run *run, struct operator* o)
{
    const struct pipeline_foreign *foreign = run->source.foreign;

    if (o->is_foreign_open)
        foreign->close(foreign->context, &o->foreign);
    o->is_foreign_open = false;
}

/* ---- conditions ------------------------------------------------------------------------------------- */

status foreign_match_in(struct arena *arena, const struct collation *by, bytes path,
                        struct value *values, size_t count, const struct match **out)
{
    struct match *in;

    for (size_t i = 0; i < count; i++) {
        if (formula_is_null(values[i]))
            values[i] = value_null();
    }
    match_sort_values(by, values, &count);
    if (count == 0) {
        TRY(match_new(arena, MATCH_NEVER, path, &in));
        *out = in;
        return STATUS_OK;
    }
    if (count == 1)
        return match_leaf_by(arena, by, MATCH_EQUAL, path, values[0], out);
    TRY(match_new(arena, MATCH_IN, path, &in));
    in->collation = by;
    in->values = values;
    in->value_count = count;
    for (size_t i = 0; i < count; i++)
        in->has_null |= values[i].type == VALUE_NULL;
    *out = in;
    return STATUS_OK;
}

/* The values of the row at the local field; an empty array has none. */
static status match_local(const struct pipeline_run *run, struct operator* o, bytes row,
                          const struct match **out)
{
    struct path_values values;
    size_t count = 0;

    TRY(path_collect(o->scratch, o->local_path, row, &values));
    for (size_t i = 0; i < values.count; i++) {
        if (values.items[i].type != VALUE_UNDEFINED)
            values.items[count++] = values.items[i];
    }
    return foreign_match_in(o->scratch, run->formulas.collation, o->stage->foreign_field,
                            values.items, count, out);
}

enum { CONDITIONS_MAX = 16 };

struct conditions {
    const struct match *items[CONDITIONS_MAX];
    size_t count;
};

/* field = variable, said by a formula, is implied by field = value as a condition says it. */
static status imply_equal(struct pipeline_run *run, struct operator* o, const struct formula *call,
                          struct conditions *all)
{
    const struct formula *field = call->args[0], *other = call->args[1];
    struct value value;

    if (field->kind != FORMULA_IS_PATH) {
        field = call->args[1];
        other = call->args[0];
    }
    if (field->kind != FORMULA_IS_PATH || field->count || all->count == CONDITIONS_MAX ||
        (other->kind != FORMULA_IS_VARIABLE && other->kind != FORMULA_IS_LITERAL))
        return STATUS_OK;
    TRY(formula_value(other, &run->formulas, &value));
    if (!join_can_compare(value))
        return STATUS_OK;
    return match_leaf_by(o->scratch, run->formulas.collation, MATCH_EQUAL, field->path, value,
                         &all->items[all->count++]);
}

static status imply_formula(struct pipeline_run *run, struct operator* o,
                            const struct formula *formula, struct conditions *all)
{
    if (formula->kind != FORMULA_IS_CALL)
        return STATUS_OK;
    if (formula->operator== FORMULA_equal)
        return imply_equal(run, o, formula, all);
    for (size_t i = 0; formula->operator== FORMULA_and && i<formula->count; i++)
        TRY(imply_formula(run, o, formula->args[i], all));
    return STATUS_OK;
}

static status imply(struct pipeline_run *run, struct operator* o, const struct match *match,
                    struct conditions *all)
{
    if (match->kind == MATCH_FORMULA)
        return imply_formula(run, o, match->formula, all);
    for (size_t i = 0; match->kind == MATCH_AND && i < match->count; i++)
        TRY(imply(run, o, match->parts[i], all));
    return STATUS_OK;
}

static status condition_of(struct pipeline_run *run, struct operator* o, bytes row,
                           const struct match **out)
{
    struct conditions all = { .count = 0 };

    if (o->local_path)
        TRY(match_local(run, o, row, &all.items[all.count++]));
    if (o->inner_match) {
        all.items[all.count++] = o->inner_match;
        TRY(imply(run, o, o->inner_match, &all));
    }
    *out = NULL;
    return all.count ? match_join(o->scratch, MATCH_AND, all.items, all.count, out) : STATUS_OK;
}

/* Is everything looked at to find a value? */
static status try_value(struct pipeline_run *run, struct operator* o, bool *is_everything_out)
{
    const struct match *both[2];
    const struct match *match;
    struct value value = value_null();

    arena_reset(o->scratch);
    TRY(foreign_match_in(o->scratch, run->formulas.collation, o->stage->foreign_field, &value, 1,
                         &both[0]));
    both[1] = o->inner_match;
    TRY(match_join(o->scratch, MATCH_AND, both, o->inner_match ? 2 : 1, &match));
    TRY(foreign_open(run, o, match, 0));
    *is_everything_out = o->foreign.is_everything;
    foreign_end(run, o);
    return STATUS_OK;
}

status pipeline_lookup(struct pipeline_run *run, size_t stage, enum pipeline_lookup *out)
{
    struct operator* o = & run->operators[stage];
    bool is_everything = o->is_hashed;

    *out = LOOKUP_OTHER;
    if (o->stage->kind != STAGE_LOOKUP || !o->local_path || o->is_foreign_open)
        return STATUS_OK;
    if (o->passed == 0)
        TRY(try_value(run, o, &is_everything));
    *out = !is_everything ? LOOKUP_BY_INDEX : o->join ? LOOKUP_HASHED : LOOKUP_EACH_ALONE;
    return STATUS_OK;
}

/* ---- lookups ---------------------------------------------------------------------------------------- */

static status next_inner(struct pipeline_run *run, struct operator* o, bytes *out, bool *has_out)
{
    if (o->inner_count == 0)
        return o->foreign.next(o->foreign.context, out, has_out);
    return pipeline_inner_failed(run, o->inners[0], pipeline_next(o->inners[0], out, has_out));
}

/* The row of the union is the one inside. One that was made there, such as a group, is not the one of the same name
 * outside. */
static status take_origin(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    struct value name;
    bytes origin;

    TRY(o->inner_count ? pipeline_origin(o->inners[0], &origin)
                       : pipeline_origin_of(&o->foreign, &origin));
    if (bytes_starts_with(origin, PIPELINE_MADE_ORIGIN)) {
        arena_reset(o->held);
        TRY(value_of_int64(o->held, (int64_t)number, &name));
        TRY(pipeline_name_row(o->held, origin, name, &origin));
    }
    pipeline_set_origin(run, origin);
    return STATUS_OK;
}

/* Are the rows of a union known by what they were made of, whatever follows? */
static bool is_told(const struct pipeline_run *run, const struct operator* o)
{
    if (o->stage->kind != STAGE_UNION || run->source.is_inner)
        return false;
    for (size_t i = 0; i < run->count; i++) {
        if (pipeline_mixes(&(struct pipeline){ .stages = run->operators[i].stage, .count = 1 }))
            return false;
    }
    return !o->stage->inner || !pipeline_mixes(o->stage->inner);
}

static status begin_inner(struct pipeline_run *run, struct operator* o, const struct match *match)
{
    TRY(foreign_open(run, o, match, is_told(run, o) ? FOREIGN_IS_ORIGIN : 0));
    if (o->inner_count)
        pipeline_restart(o->inners[0], &o->foreign);
    return STATUS_OK;
}

/* The documents for one row, by the stages inside if there are some. */
static status begin_row(struct pipeline_run *run, struct operator* o, bytes row)
{
    const struct match *match;
    bool is_plain = true;

    if (o->join)
        TRY(join_open_row(o, &is_plain));
    if (is_plain) {
        TRY(condition_of(run, o, row, &match));
        TRY(begin_inner(run, o, match));
        o->is_hashed |= o->foreign.is_everything;
        return STATUS_OK;
    }
    if (o->inner_count)
        pipeline_restart(o->inners[0], &o->foreign);
    return STATUS_OK;
}

static status collect(struct pipeline_run *run, struct operator* o, struct value *out)
{
    struct list list = list_begin(o->scratch);
    bool has_row = true;
    bytes row;

    for (;;) {
        TRY(next_inner(run, o, &row, &has_row));
        if (!has_row)
            break;
        list_add(&list, (struct value){ .type = VALUE_DOCUMENT, .raw = row });
        if (list.built.len > LIMIT_DOCUMENT_BYTES) {
            run->refusal = 4568;
            return status_fail(run->formulas.arena, TOO_LARGE,
                               "Total size of documents in %.*s matching the $lookup exceeds "
                               "maximum document size of %d bytes",
                               (int)o->stage->from.len, (const char *)o->stage->from.data,
                               LIMIT_DOCUMENT_BYTES);
        }
    }
    return list_end(&list, out);
}

status pull_lookup(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct value found;
    bytes row;

    TRY(o->join ? join_pull(run, number, &row, has_out)
                : pipeline_pull(run, number - 1, &row, has_out));
    if (!*has_out)
        return STATUS_OK;
    arena_reset(o->scratch);
    for (size_t i = 0; i < o->stage->variable_count; i++) {
        const struct stage_variable *variable = &o->stage->variables[i];
        struct value value;
        TRY(pipeline_compute(run, o->scratch, variable->formula, row, &value));
        run->formulas.variables[variable->number] = value;
    }
    TRY(begin_row(run, o, row));
    status s = collect(run, o, &found);
    foreign_end(run, o);
    TRY(s);
    return pipeline_set(run, o->scratch, o->stage->name, found, row, out);
}

status pull_union(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    const struct match *match;

    if (!o->is_over) {
        TRY(pipeline_pull(run, number - 1, out, has_out));
        if (*has_out)
            return STATUS_OK;
        o->is_over = true;
        TRY(condition_of(run, o, BYTES_NONE, &match));
        TRY(begin_inner(run, o, match));
    }
    TRY(next_inner(run, o, out, has_out));
    if (*has_out)
        return take_origin(run, number);
    foreign_end(run, o);
    return STATUS_OK;
}
