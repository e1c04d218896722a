/* Pipeline: pulls documents through stages.
 *
 * Each stage asks the one before it for a row, does its work in an arena of its own, and gives the result,
 * which is valid until it is asked again. Stages that must see everything first are in pipeline_group.c and
 * pipeline_sort.c.
 *
 * Keeps: a row belongs to the stage that gave it; whoever keeps one copies it.
 * Threads: a run belongs to its request. Start reading at pipeline_pull(). */
#include "query/pipeline_parts.h"

#include "query/match_parts.h"

status pipeline_too_much(struct pipeline_run *run, const char *what)
{
    run->refusal = 292;
    return status_fail(
        run->formulas.arena, TOO_LARGE,
        "%s exceeded memory limit of %zu bytes%s: filter or limit the documents before it", what,
        run->share.held_bytes,
        run->source.disk ? "" : ", and disk use is not allowed (allowDiskUse)");
}

status pipeline_hold(struct pipeline_run *run, struct operator* operator, const char * what,
                     bytes row, bytes *out)
{
    status s = arena_copy(operator->held, row, out);

    return s.code == OUT_OF_MEMORY ? pipeline_too_much(run, what) : s;
}

status pipeline_origin_of(const struct pipeline_source *source, bytes *out)
{
    *out = BYTES_NONE;
    return source->origin ? source->origin(source->context, out) : STATUS_OK;
}

status pipeline_origin(const struct pipeline_run *run, bytes *out)
{
    if (run->is_origin_of_source)
        return pipeline_origin_of(&run->source, out);
    *out = run->origin;
    return STATUS_OK;
}

status pipeline_place(const struct pipeline_run *run, struct arena *arena, bytes *out)
{
    *out = BYTES_NONE;
    if (!run->source.place)
        return STATUS_OK;
    if (run->is_origin_of_source)
        return run->source.place(run->source.context, arena, out);
    return arena_copy(arena, run->place, out);
}

bool pipeline_is_ahead(const struct pipeline_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (join_is_ahead(&run->operators[i]))
            return true;
    }
    return false;
}

double pipeline_score(const struct pipeline_run *run)
{
    const struct row_score *score = run->formulas.score;

    return score && score->is_known ? score->value : 0;
}

void pipeline_set_origin(struct pipeline_run *run, bytes origin)
{
    run->is_origin_of_source = false;
    run->origin = origin;
    if (run->source.recall)
        run->source.recall(run->source.context, origin);
}

status pipeline_name_row(struct arena *arena, bytes base, struct value name, bytes *out)
{
    struct buffer key = buffer_in(arena), origin = buffer_in(arena);
    uint64_t digest[2];
    bytes whole;

    key_append_value(&key, name, KEY_ASCENDING);
    TRY(buffer_finish(&key, &whole));
    bytes_digest(whole, digest);
    buffer_append(&origin, base.len > 0 ? base : PIPELINE_MADE_ORIGIN);
    buffer_append_u64(&origin, digest[0]);
    buffer_append_u64(&origin, digest[1]);
    return buffer_finish(&origin, out);
}

status pipeline_compute(struct pipeline_run *run, struct arena *arena,
                        const struct formula *formula, bytes row, struct value *out)
{
    struct arena *home = run->formulas.arena;

    run->formulas.arena = arena;
    run->formulas.root = run->formulas.current = (struct value){ .type = VALUE_DOCUMENT,
                                                                 .raw = row };
    status s = formula_value(formula, &run->formulas, out);
    run->formulas.arena = home;
    if (s.code != OK) {
        run->refusal = run->formulas.refusal;
        s = status_fail(home, s.code, "%s", s.message);
    }
    return s;
}

/* ---- stages that look at one row at a time ---------------------------------------------------------- */

static status pull_match(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct matching matching = { .scratch = o->scratch, .formulas = &run->formulas };
    bool is_match = false;

    for (;;) {
        TRY(pipeline_pull(run, number - 1, out, has_out));
        if (!*has_out)
            return STATUS_OK;
        arena_reset(o->scratch);
        status s = match_document(o->stage->match, &matching, *out, &is_match);
        if (s.code != OK) {
            run->refusal = run->formulas.refusal;
            return status_fail(run->formulas.arena, s.code, "%s", s.message);
        }
        if (is_match)
            return STATUS_OK;
    }
}

static status pull_project(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct projection_run projecting = { .arena = o->scratch, .formulas = &run->formulas };
    bytes row;

    TRY(pipeline_pull(run, number - 1, &row, has_out));
    if (!*has_out)
        return STATUS_OK;
    arena_reset(o->scratch);
    status s = projection_apply(o->stage->projection, &projecting, row, out);
    if (s.code == OK)
        return s;
    run->refusal = projecting.refusal;
    return status_fail(run->formulas.arena, s.code, "%s", s.message);
}

static status pull_root(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct value value;
    bytes row;

    TRY(pipeline_pull(run, number - 1, &row, has_out));
    if (!*has_out)
        return STATUS_OK;
    arena_reset(o->scratch);
    TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &value));
    if (value.type != VALUE_DOCUMENT) {
        run->refusal = 40228;
        return status_of(INVALID, "'newRoot' expression must evaluate to an object");
    }
    *out = value.raw;
    return STATUS_OK;
}

static status pull_skip(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];

    for (;;) {
        TRY(pipeline_pull(run, number - 1, out, has_out));
        if (!*has_out || o->passed++ >= o->stage->count)
            return STATUS_OK;
    }
}

static status pull_limit(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];

    *has_out = false;
    if (o->passed++ >= o->stage->count)
        return STATUS_OK;
    return pipeline_pull(run, number - 1, out, has_out);
}

static status pull_count(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct buffer built = buffer_in(o->scratch);
    struct value rows;
    bool has_row = true;

    *has_out = false;
    if (o->is_over)
        return STATUS_OK;
    o->is_over = true;
    if (number == 1 && run->source.count) {
        TRY(run->source.count(run->source.context, &o->passed));
        has_row = false;
    }
    while (has_row) {
        TRY(pipeline_pull(run, number - 1, out, &has_row));
        o->passed += has_row;
    }
    if (o->passed == 0)
        return STATUS_OK;
    pipeline_set_origin(run, BYTES_NONE);
    TRY(value_of_int64(o->scratch, (int64_t)o->passed, &rows));
    size_t begun = document_begin(&built);
    document_append(&built, o->stage->name, rows);
    document_end(&built, begun);
    *has_out = true;
    return buffer_finish(&built, out);
}

/* ---- unwinding -------------------------------------------------------------------------------------- */

static struct value find_plain(bytes document, bytes path)
{
    struct value value = { .type = VALUE_DOCUMENT, .raw = document };

    while (path.len && value.type == VALUE_DOCUMENT) {
        bytes part = match_take_part(&path);
        document_find_bytes(value_document(value), part, &value);
    }
    return path.len ? (struct value){ .type = VALUE_MISSING } : value;
}

/* The row with the array replaced by one element, and perhaps its position. */
static status put_element(struct pipeline_run *run, struct operator* o, struct value element,
                          int64_t position, bytes *out)
{
    struct value number = { .type = VALUE_NULL };

    TRY(pipeline_set(run, o->scratch, o->stage->name, element, o->row, out));
    if (o->stage->position_name.len == 0)
        return STATUS_OK;
    if (position >= 0)
        TRY(value_of_integer(o->scratch, VALUE_INT64, position, &number));
    return pipeline_set(run, o->scratch, o->stage->position_name, number, *out, out);
}

/* Groups and counts do not ask which rows they take. */
static bool asks_for_origins(const struct pipeline_run *run, size_t number)
{
    const enum stage_kind next = number < run->count ? run->operators[number].stage->kind
                                                     : STAGE_MATCH;

    return next != STAGE_GROUP && next != STAGE_COUNT;
}

/* An element is told by its _id, or else by what it is: others may come before it when all is computed anew. */
static status name_element(struct pipeline_run *run, struct operator* o, struct value element)
{
    struct value id;
    bytes origin;

    if (element.type == VALUE_DOCUMENT && document_find(value_document(element), "_id", &id))
        element = id;
    TRY(pipeline_name_row(o->scratch, o->origin, element, &origin));
    pipeline_set_origin(run, origin);
    return STATUS_OK;
}

/* What a row without elements gives, if it gives something. */
static status unwind_single(struct pipeline_run *run, struct operator* o, struct value value,
                            bytes *out, bool *has_out)
{
    bool is_empty = value.type == VALUE_MISSING || value.type == VALUE_NULL ||
                    value.type == VALUE_UNDEFINED || value.type == VALUE_ARRAY;

    *has_out = !is_empty || o->stage->keeps_empty;
    if (!*has_out)
        return STATUS_OK;
    if (value.type == VALUE_ARRAY)
        value.type = VALUE_MISSING;
    return put_element(run, o, value, -1, out);
}

static status pull_unwind(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct field element;
    bytes row, origin;

    for (;;) {
        arena_reset(o->scratch);
        if (o->is_inside && document_next(&o->elements, &element)) {
            *has_out = true;
            if (asks_for_origins(run, number))
                TRY(name_element(run, o, element.value));
            return put_element(run, o, element.value, o->position++, out);
        }
        o->is_inside = false;
        TRY(pipeline_pull(run, number - 1, &row, has_out));
        if (!*has_out)
            return STATUS_OK;
        arena_reset(o->held);
        TRY(pipeline_hold(run, o, "Unwind", row, &o->row));
        struct value value = find_plain(o->row, o->stage->name);
        if (value.type == VALUE_ARRAY && document_field_count(value_document(value))) {
            o->is_inside = true;
            o->position = 0;
            o->elements = document_fields(value_document(value));
            TRY(pipeline_origin(run, &origin));
            TRY(pipeline_hold(run, o, "Unwind", origin, &o->origin));
            continue;
        }
        TRY(unwind_single(run, o, value, out, has_out));
        if (*has_out)
            return STATUS_OK;
    }
}

/* ---- all of them ------------------------------------------------------------------------------------ */

enum { EFFORT_OF_ROW = 1000 };

status pipeline_pull(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    *has_out = false;
    if (number == 0) {
        run->is_origin_of_source = true;
        return run->source.next(run->source.context, out, has_out);
    }
    TRY(formula_work(&run->formulas,
                     EFFORT_OF_ROW)); /* one document may become any number of rows */
    struct operator* o = & run->operators[number - 1];
    switch (o->stage->kind) {
    case STAGE_MATCH:
        return pull_match(run, number, out, has_out);
    case STAGE_PROJECT:
        return pull_project(run, number, out, has_out);
    case STAGE_REPLACE_ROOT:
        return pull_root(run, number, out, has_out);
    case STAGE_SKIP:
        return pull_skip(run, number, out, has_out);
    case STAGE_LIMIT:
        return pull_limit(run, number, out, has_out);
    case STAGE_COUNT:
        return pull_count(run, number, out, has_out);
    case STAGE_UNWIND:
        return pull_unwind(run, number, out, has_out);
    case STAGE_SORT:
        if (!o->is_filled)
            TRY(sort_fill(run, number));
        return sort_next(run, o, out, has_out);
    case STAGE_SAMPLE:
        if (!o->is_filled)
            TRY(sample_fill(run, number));
        return sort_next(run, o, out, has_out);
    case STAGE_GROUP:
        if (!o->is_filled)
            TRY(group_fill(run, number));
        return group_next(run, number, out, has_out);
    case STAGE_LOOKUP:
        return pull_lookup(run, number, out, has_out);
    case STAGE_GRAPH_LOOKUP:
        return pull_graph(run, number, out, has_out);
    case STAGE_UNION:
        return pull_union(run, number, out, has_out);
    case STAGE_FACET:
        return pull_facet(run, number, out, has_out);
    case STAGE_NEAR:
        return pull_near(run, number, out, has_out);
    case STAGE_REDACT:
        return pull_redact(run, number, out, has_out);
    case STAGE_WINDOW:
        if (!o->is_filled)
            TRY(window_fill(run, number));
        return sort_next(run, o, out, has_out);
    case STAGE_DENSIFY:
        if (!o->is_filled)
            TRY(densify_fill(run, number));
        return sort_next(run, o, out, has_out);
    case STAGE_BUCKETS:
        if (!o->is_filled)
            TRY(buckets_fill(run, number));
        return sort_next(run, o, out, has_out);
    }
    return STATUS_OK;
}

status pipeline_next(struct pipeline_run *run, bytes *document_out, bool *has_out)
{
    return pipeline_pull(run, run->count, document_out, has_out);
}

int32_t pipeline_refusal(const struct pipeline_run *run)
{
    return run->refusal;
}

/* ---- opening and closing ---------------------------------------------------------------------------- */

static bool holds_rows(enum stage_kind kind)
{
    return kind == STAGE_SORT || kind == STAGE_GROUP || kind == STAGE_SAMPLE ||
           kind == STAGE_FACET || kind == STAGE_BUCKETS || kind == STAGE_WINDOW ||
           kind == STAGE_DENSIFY || kind == STAGE_GRAPH_LOOKUP || kind == STAGE_LOOKUP;
}

struct stage_counts {
    size_t all, holding;
};

/* Those inside of others included; how deep they are is bounded when they are parsed. */
static void count_stages(const struct pipeline *pipeline, struct stage_counts *counts)
{
    counts->all += pipeline->count;
    for (size_t i = 0; i < pipeline->count; i++) {
        const struct stage *stage = &pipeline->stages[i];
        counts->holding += holds_rows(stage->kind);
        if (stage->inner)
            count_stages(stage->inner, counts);
        for (size_t j = 0; j < stage->facet_count; j++)
            count_stages(stage->facets[j].pipeline, counts);
    }
}

static size_t share_among(size_t stages)
{
    size_t share = LIMIT_PIPELINE_BYTES / (stages ? stages : 1);

    return share < LIMIT_PIPELINE_STAGE_BYTES ? share : LIMIT_PIPELINE_STAGE_BYTES;
}

/* So that all stages together do not take the memory of the server. */
static struct pipeline_share share_of(const struct pipeline *pipeline)
{
    struct stage_counts counts = { 0 };

    count_stages(pipeline, &counts);
    return (struct pipeline_share){ .held_bytes = share_among(counts.holding),
                                    .row_bytes = share_among(counts.all) };
}

static status open_operator(struct pipeline_run *run, struct operator* o, const struct stage *stage,
                            struct arena *arena)
{
    o->stage = stage;
    o->scratch = arena_open(run->share.row_bytes);
    o->held = arena_open(run->share.held_bytes);
    if (!o->scratch || !o->held)
        return status_of(OUT_OF_MEMORY, "there is no memory for a pipeline");
    return foreign_open_stages(run, o, arena);
}

status pipeline_open(const struct pipeline *pipeline, size_t skipped,
                     const struct pipeline_source *source, struct formula_run *formulas,
                     struct arena *arena, struct pipeline_run **out)
{
    size_t count = pipeline->count - skipped;
    struct pipeline_run *run;
    void *memory;

    *out = NULL;
    TRY(arena_take(arena, sizeof(*run) + count * sizeof(run->operators[0]), &memory));
    memset(memory, 0, sizeof(*run) + count * sizeof(run->operators[0]));
    run = memory;
    run->source = *source;
    run->count = count;
    run->share = source->share;
    if (run->share.held_bytes == 0)
        run->share = share_of(pipeline);
    if (formulas)
        run->formulas = *formulas;
    run->formulas.arena = arena;
    if (!run->formulas.check) {
        run->formulas.check = source->check;
        run->formulas.check_context = source->context;
    }
    if (!run->formulas.variables)
        run->formulas.variables = run->variables;
    if (!run->formulas.zones)
        run->formulas.zones = &run->zones;
    if (!run->formulas.random)
        run->formulas.random = &run->random;
    for (size_t i = 0; i < count; i++) {
        struct operator* o = & run->operators[i];
        status s = open_operator(run, o, &pipeline->stages[skipped + i], arena);
        if (s.code == OK)
            s = join_make(run, o, join_demand(pipeline, skipped + i + 1, source->wanted), arena);
        if (s.code != OK) {
            pipeline_close(run);
            return s;
        }
    }
    *out = run;
    return STATUS_OK;
}

void pipeline_restart(struct pipeline_run *run, const struct pipeline_source *source)
{
    const struct pipeline_foreign *foreign = run->source.foreign;
    const char *disk = run->source.disk;

    run->source = *source;
    run->source.foreign = foreign;
    run->source.disk = disk;
    run->refusal = run->formulas.refusal = 0;
    for (size_t i = 0; i < run->count; i++) {
        struct operator* o = & run->operators[i];
        foreign_end(run, o);
        join_restart(o);
        spill_close(o);
        overflow_close(o);
        arena_reset(o->scratch);
        arena_reset(o->held);
        o->passed = 0;
        o->is_filled = o->is_over = o->is_inside = false;
        o->groups = NULL;
        o->sorted = NULL;
    }
}

status pipeline_inner_failed(struct pipeline_run *run, const struct pipeline_run *inner, status s)
{
    if (s.code != OK && inner->refusal)
        run->refusal = inner->refusal;
    return s;
}

void pipeline_close(struct pipeline_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct operator* o = & run->operators[i];
        foreign_end(run, o);
        join_end(o);
        spill_close(o);
        overflow_close(o);
        for (size_t j = 0; j < o->inner_count; j++) {
            if (o->inners[j])
                pipeline_close(o->inners[j]);
        }
        if (o->scratch)
            arena_close(o->scratch);
        if (o->held)
            arena_close(o->held);
    }
    zone_memo_close(&run->zones);
    run->count = 0;
}

/* ---- what is known of it ---------------------------------------------------------------------------- */

static bool is_mixing(enum stage_kind kind)
{
    return kind == STAGE_GROUP || kind == STAGE_COUNT || kind == STAGE_FACET ||
           kind == STAGE_BUCKETS || kind == STAGE_WINDOW || kind == STAGE_DENSIFY;
}

bool pipeline_mixes(const struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->count; i++) {
        if (is_mixing(pipeline->stages[i].kind))
            return true;
    }
    return false;
}

bool pipeline_joins(const struct pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->count; i++) {
        enum stage_kind kind = pipeline->stages[i].kind;
        if (kind == STAGE_LOOKUP || kind == STAGE_GRAPH_LOOKUP || kind == STAGE_UNION)
            return true;
    }
    return false;
}

uint64_t pipeline_most(const struct pipeline *pipeline)
{
    for (size_t i = pipeline->count; i > 0; i--) {
        const struct stage *stage = &pipeline->stages[i - 1];
        if (stage->kind == STAGE_LIMIT || stage->kind == STAGE_SAMPLE)
            return stage->count;
        if (stage->kind == STAGE_UNWIND || stage->kind == STAGE_UNION || is_mixing(stage->kind))
            return 0;
    }
    return 0;
}

/* ---- what a find can do before ---------------------------------------------------------------------- */

static bool counts_rows(const struct stage *stage)
{
    if (stage->kind == STAGE_COUNT)
        return true;
    if (stage->kind != STAGE_GROUP || stage->formula->kind != FORMULA_IS_LITERAL)
        return false;
    for (size_t i = 0; i < stage->accumulator_count; i++) {
        const struct accumulator *a = &stage->accumulators[i];
        if (a->kind != ACCUMULATE_SUM || a->of->kind != FORMULA_IS_LITERAL)
            return false;
    }
    return true;
}

status pipeline_front(const struct pipeline *pipeline, struct arena *arena,
                      struct pipeline_front *out)
{
    const struct match *both[2];
    size_t at = 0;

    *out = (struct pipeline_front){ 0 };
    for (; at < pipeline->count && pipeline->stages[at].kind == STAGE_MATCH; at++) {
        both[0] = out->match;
        both[1] = pipeline->stages[at].match;
        if (out->match)
            TRY(match_join(arena, MATCH_AND, both, 2, &out->match));
        else
            out->match = both[1];
    }
    if (at < pipeline->count && pipeline->stages[at].kind == STAGE_SORT)
        out->order = pipeline->stages[at++].order;
    out->stage_count = at;
    if (at < pipeline->count && pipeline->stages[at].kind == STAGE_NEAR)
        at++; /* gives as many rows as it gets */
    uint64_t skipped = 0;
    for (; at < pipeline->count && pipeline->stages[at].kind == STAGE_SKIP; at++)
        skipped = skipped + pipeline->stages[at].count < skipped
                      ? UINT64_MAX
                      : skipped + pipeline->stages[at].count;
    if (at < pipeline->count && pipeline->stages[at].kind == STAGE_LIMIT &&
        skipped < UINT64_MAX - pipeline->stages[at].count)
        out->wanted = skipped + pipeline->stages[at].count;
    out->counts_rows = out->stage_count < pipeline->count && !out->order &&
                       counts_rows(&pipeline->stages[out->stage_count]);
    return STATUS_OK;
}
