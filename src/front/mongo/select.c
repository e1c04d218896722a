/* Select: documents as the query room finds them, in the form that clients of this protocol see.
 *
 * A walk that has to sort more than fits in memory comes in several parts; here they follow each other
 * without a seam.
 *
 * Keeps: a row is valid until the next call. Threads: the command's. */
#include "front/mongo/select.h"

#include "front/mongo/explain.h"
#include "front/mongo/filter.h"
#include "front/mongo/index_spec.h"
#include "front/mongo/keep.h"

struct select {
    struct command *command;
    struct formula_run formulas;
    struct find_view view;
    struct find_request wanted;
    struct find *find;
};

static status show(void *context, struct arena *arena, const struct document *document,
                   bytes *shown_out)
{
    return kept_show(arena, context, document->key, document->bson, shown_out);
}

static status go_on(void *context)
{
    return command_check_time(context);
}

/* A formula that refuses its operands has a number of its own. */
static status with_fault(struct select *select, status s)
{
    s = fault_keep(select->command->arena, &select->command->fault, s);
    if (s.code != OK && select->formulas.refusal != 0)
        return formula_fault(select->command->arena, &select->formulas, s, &select->command->fault);
    return s;
}

/* Nearness cannot be found without an index. */
static status with_plan(struct select *select, status s)
{
    const struct collection *collection = select->wanted.collection;

    if (s.code != UNSUPPORTED || !match_near(select->wanted.match))
        return with_fault(select, s);
    return command_fail(select->command, ERROR_NoQueryExecutionPlans,
                        "error processing query: ns=%.*s.%.*s planner returned error: %s",
                        (int)collection->definition.database.len,
                        (const char *)collection->definition.database.data,
                        (int)collection->definition.name.len,
                        (const char *)collection->definition.name.data, s.message);
}

static bool is_usable(void *context, const struct index *index)
{
    (void)context;
    return index_is_usable(index);
}

static status predicate_of(void *context, const struct index *index, const struct match **out)
{
    struct command *command = context;
    struct fault ignored = { 0 };

    if (filter_parse(command->arena, index->definition.predicate, NULL, out, &ignored).code != OK)
        *out = NULL;
    return STATUS_OK;
}

static const struct index *natural_order(const struct collection *collection)
{
    const struct index *index = collection_arrivals(collection);

    return index && index->state == INDEX_READY ? index : NULL;
}

static status prepare(struct command *command, const struct select_spec *spec, struct select **out)
{
    struct select *select;

    TRY(condition_bind(command, spec->condition, spec->collection));
    if (spec->condition->search && spec->by != FIND_ANY_WAY)
        return command_fail(command, ERROR_BadValue,
                            "text and hint not allowed in same query, nor text and $natural");
    if (spec->order && spec->order->has_score && !spec->condition->search)
        return command_fail(command, 40218,
                            "query requires text score metadata, but it is not available: search "
                            "with $text");
    TRY(ARENA_NEW(command->arena, 1, &select));
    select->command = command;
    if (command->explain)
        command->explain->collation = spec->condition->collation;
    select->formulas = condition_run(command, spec->condition, command->arena);
    select->view = (struct find_view){ .show = show,
                                       .context = (void *)(uintptr_t)spec->collection };
    if (kept_is_keyed_by_id(spec->collection))
        select->view.key_field = BYTES_LITERAL("_id");
    select->wanted = (struct find_request){ .request = &command->request,
                                            .collection = spec->collection,
                                            .match = spec->condition->match,
                                            .order = spec->order,
                                            .view = &select->view,
                                            .formulas = &select->formulas,
                                            .search = spec->condition->search,
                                            .after = spec->after,
                                            .rest = spec->rest,
                                            .keeps_rest = spec->keeps_rest,
                                            .earliest_death = spec->earliest_death,
                                            .wanted = spec->wanted,
                                            .batch = spec->batch,
                                            .is_reverse = spec->is_reverse,
                                            .is_one_pass = spec->is_one_pass,
                                            .is_many = spec->is_many,
                                            .by = spec->by,
                                            .needed = spec->needed,
                                            .needed_count = spec->needed_count,
                                            .hint = spec->hint,
                                            .natural = natural_order(spec->collection),
                                            .min = spec->min,
                                            .max = spec->max,
                                            .is_usable = is_usable,
                                            .predicate = predicate_of,
                                            .go_on = go_on,
                                            .context = command };
    *out = select;
    return STATUS_OK;
}

status select_open(struct command *command, const struct select_spec *spec, struct select **out)
{
    struct select *select;

    *out = NULL;
    ASSERT(!keep_is_view(spec->collection));
    TRY(prepare(command, spec, &select));
    TRY(with_plan(select, find_open(&select->wanted, &select->find)));
    *out = select;
    return command->explain ? explain_tell(command, spec->collection, select->find) : STATUS_OK;
}

/* What the find has looked at is what its command has. */
static void note_work(struct select *select)
{
    const struct find_explain *done = find_explain(select->find);
    struct command_work *work = &select->command->work;

    work->keys += done->rows;
    work->documents += done->documents;
    work->has_way = true;
    work->is_sorted = done->is_sorted;
    work->access = done->access;
    work->collection_id = select->wanted.collection->id;
    work->index_id = done->index ? done->index->id : 0;
    work->is_everything = done->is_everything;
    if (select->command->explain)
        explain_add(select->command, done);
}

void select_close(struct select *select)
{
    if (!select || !select->find)
        return;
    note_work(select);
    find_close(select->find);
}

/* The next part of a walk that sorts. */
static status reopen(struct select *select)
{
    bytes position;

    TRY(find_position(select->find, select->command->arena, &position));
    note_work(select);
    find_close(select->find);
    select->find = NULL;
    select->wanted.after = position;
    select->wanted.rest = NULL;
    return find_open(&select->wanted, &select->find);
}

status select_next(struct select *select, struct select_row *out, bool *has_out)
{
    struct find_row row;

    *has_out = false;
    if (explain_is_plan_only(select->command))
        return STATUS_OK;
    TRY(with_fault(select, find_next(select->find, &row, has_out)));
    while (!*has_out && !find_is_over(select->find)) {
        TRY(reopen(select));
        TRY(with_fault(select, find_next(select->find, &row, has_out)));
    }
    if (*has_out)
        *out = (struct select_row){ .key = row.key,
                                    .document = row.document,
                                    .seq = row.seq,
                                    .has_position = row.has_position,
                                    .position = row.position,
                                    .score = row.score };
    return STATUS_OK;
}

status select_gather(struct select *select, const struct gather *gather, bool *is_done_out)
{
    *is_done_out = false;
    if (explain_is_plan_only(select->command))
        return STATUS_OK;
    return with_fault(select, find_gather(select->find, gather, is_done_out));
}

status select_position(struct select *select, struct arena *arena, bytes *out)
{
    return find_position(select->find, arena, out);
}

status select_keep_rest(struct select *select, find_rest_sink *sink, void *context,
                        struct find_rest *out, bool *has_out)
{
    return find_keep_rest(select->find, sink, context, out, has_out);
}

status select_is_at(struct command *command, const struct select_spec *spec, bool *out)
{
    struct select *select;

    TRY(prepare(command, spec, &select));
    return find_is_at(&select->wanted, out);
}

bool select_is_over(const struct select *select)
{
    return explain_is_plan_only(select->command) || find_is_over(select->find);
}

const struct find_explain *select_explain(const struct select *select)
{
    return find_explain(select->find);
}

status select_count(struct command *command, const struct select_spec *spec, uint64_t *out)
{
    struct find_explain done = { 0 };
    struct select *select;

    *out = 0;
    TRY(prepare(command, spec, &select));
    select->wanted.natural = NULL; /* whatever counts fastest */
    if (command->explain)
        TRY(with_plan(select, explain_count(command, &select->wanted)));
    if (explain_is_plan_only(command))
        return STATUS_OK;
    status s = with_plan(select, find_count(&select->wanted, out, &done));
    if (spec->earliest_death) /* those who were counted are not known */
        *spec->earliest_death = command->request.now;
    struct command_work *work = &command->work;
    work->keys += done.rows;
    work->documents += done.documents;
    work->has_way = work->is_counted = true;
    work->access = done.access;
    work->collection_id = spec->collection->id;
    work->index_id = done.index ? done.index->id : 0;
    work->is_everything = done.is_everything;
    if (command->explain)
        explain_add(command, &done);
    return s;
}
