/* Finding: what a cursor over documents keeps, and how it goes on.
 *
 * Between batches the cursor keeps the filter and a position; each batch looks the collection up again and
 * goes on behind the position at its own time. A collection that was dropped meanwhile ends the cursor. What a batch
 * has sorted and not given is kept too (find_keep_rest), some megabytes in memory and the rest on disk, so that the next
 * one need not sort again.
 *
 * Keeps: nothing of a request outlives its batch. Threads: the command's that runs the batch. */
#include "front/mongo/finding.h"

#include "front/mongo/hint.h"
#include "front/mongo/projection.h"
#include "front/mongo/waiting.h"

/* In the memory of the stream. */
struct finding {
    uint32_t collection_id;
    struct condition *condition;
    struct sort_wish sort;
    const struct projection *projection; /* NULL: whole documents */
    struct value hint;
    bytes min, max;
    int64_t skip;  /* still to be passed over */
    int64_t limit; /* still to be given; negative: no limit */
    struct buffer position;
    bool is_over;
    bool is_tailable;            /* goes on when more has come */
    struct waiting_rows *sorted; /* NULL: nothing was kept */
    struct arena *sorted_memory;
    struct find_rest rest; /* of `sorted` */
    /* During a batch. */
    struct select *select;
    struct arena *scratch; /* of one row, for the projection */
};

/* ---- what was sorted -------------------------------------------------------------------------------- */

static void forget_sorted(struct finding *finding)
{
    waiting_close(finding->sorted);
    arena_close(finding->sorted_memory);
    finding->sorted = NULL;
    finding->sorted_memory = NULL;
}

static void drop(void *state)
{
    forget_sorted(state);
}

static status next_sorted(void *context, bytes *row_out, bool *has_out)
{
    struct finding *finding = context;
    struct waiting_row row = { 0 };

    TRY(waiting_next(finding->sorted, &row, has_out));
    *row_out = row.document;
    return STATUS_OK;
}

static status add_sorted(void *context, bytes row)
{
    return waiting_add(context, (struct waiting_row){ .document = row });
}

static status fill_sorted(struct finding *finding, struct command *command, bool *has_out)
{
    struct waiting_rows *rows;

    *has_out = false;
    finding->sorted_memory = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    if (!finding->sorted_memory)
        return status_of(OUT_OF_MEMORY, "no memory to keep what was sorted");
    TRY(waiting_open(finding->sorted_memory, command->face->directory, &rows));
    finding->sorted = rows;
    TRY(select_keep_rest(finding->select, add_sorted, rows, &finding->rest, has_out));
    finding->rest.next = next_sorted;
    finding->rest.context = finding;
    return STATUS_OK;
}

/* What cannot be kept is sorted again. */
static void keep_sorted(struct finding *finding, struct command *command)
{
    bool was_all = finding->sorted && finding->rest.is_all, has;

    if (finding->sorted && !waiting_is_over(finding->sorted))
        return;
    finding->is_over = was_all;
    forget_sorted(finding);
    if (was_all || !finding->sort.order || finding->limit == 0 || select_is_over(finding->select))
        return;
    if (fill_sorted(finding, command, &has).code != OK || !has) {
        forget_sorted(finding);
        return;
    }
    finding->is_over = finding->rest.is_all && waiting_is_over(finding->sorted);
}

/* ---- batches ---------------------------------------------------------------------------------------- */

static uint64_t rows_wanted(const struct finding *finding)
{
    if (finding->limit < 0)
        return 0;
    return (uint64_t)int64_add_saturating(finding->limit, finding->skip);
}

/* What came between the place of a cursor and now is not known if the document at the place is gone. */
static status check_place(struct command *command, const struct select_spec *spec)
{
    bool is_there;

    TRY(select_is_at(command, spec, &is_there));
    if (is_there)
        return STATUS_OK;
    return command_fail(command, ERROR_CappedPositionLost,
                        "CollectionScan died due to position in capped collection being deleted; "
                        "begin again where you want to go on");
}

static status open_select(struct finding *finding, struct command *command)
{
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             finding->collection_id);
    struct hint hint;

    if (!collection)
        return command_fail(command, ERROR_QueryPlanKilled,
                            "collection dropped between two batches of a cursor");
    TRY(hint_read(command, collection, finding->hint, &hint));
    struct select_spec spec = { .collection = collection,
                                .condition = finding->condition,
                                .order = finding->sort.order,
                                .is_reverse = hint.is_reverse,
                                .by = hint.by,
                                .hint = hint.index,
                                .min = finding->min,
                                .max = finding->max,
                                .wanted = rows_wanted(finding),
                                .batch = (uint64_t)command->batch_rows,
                                .is_many = command->batch_rows == 0 && rows_wanted(finding) == 0 &&
                                           !finding->is_tailable,
                                .rest = finding->sorted ? &finding->rest : NULL,
                                .keeps_rest = true,
                                .after = bytes_of(finding->position.data, finding->position.len) };
    if (finding->projection)
        TRY(projection_names(finding->projection, command->arena, &spec.needed,
                             &spec.needed_count));
    if (finding->is_tailable)
        spec.by = FIND_NATURAL;
    if (finding->sort.is_natural) {
        spec.by = FIND_NATURAL;
        spec.is_reverse = finding->sort.is_reverse;
    }
    if (finding->is_tailable && finding->position.len > 0)
        TRY(check_place(command, &spec));
    return select_open(command, &spec, &finding->select);
}

static status begin(void *state, struct command *command)
{
    struct finding *finding = state;

    if (finding->is_over)
        return STATUS_OK;
    if (finding->projection) {
        finding->scratch = arena_open(LIMIT_QUERY_ROW_BYTES);
        if (!finding->scratch)
            return status_of(OUT_OF_MEMORY, "no memory to read documents");
    }
    return open_select(finding, command);
}

static status project(struct finding *finding, struct command *command,
                      const struct select_row *row, bytes *out)
{
    struct formula_run formulas = condition_run(command, finding->condition, finding->scratch);
    struct projection_run run = { .arena = finding->scratch,
                                  .formulas = &formulas,
                                  .has_position = row->has_position,
                                  .position = row->position };

    formulas.score = &row->score;
    arena_reset(finding->scratch);
    status s = projection_apply(finding->projection, &run, row->document, out);
    if (s.code != OK)
        return projection_fault(command->arena, &run, s, &command->fault);
    return STATUS_OK;
}

static status next(void *state, struct command *command, bytes *document_out, bool *has_out)
{
    struct finding *finding = state;
    struct select_row row;

    *has_out = false;
    if (finding->is_over || finding->limit == 0)
        return STATUS_OK;
    do {
        TRY(select_next(finding->select, &row, has_out));
        if (!*has_out)
            return STATUS_OK;
    } while (finding->skip-- > 0);
    finding->skip = 0;
    if (finding->limit > 0)
        finding->limit--;
    *document_out = row.document;
    return finding->projection ? project(finding, command, &row, document_out) : STATUS_OK;
}

static void end(void *state, struct command *command)
{
    struct finding *finding = state;
    bytes position = BYTES_NONE;

    arena_close(finding->scratch);
    finding->scratch = NULL;
    if (!finding->select)
        return;
    bool has_position = select_position(finding->select, command->arena, &position).code == OK;
    finding->is_over = !has_position || (select_is_over(finding->select) && !finding->is_tailable);
    if (!finding->is_tailable || position.len > 0) {
        finding->position.len = 0;
        buffer_append(&finding->position, position);
    }
    if (finding->position.is_failed)
        finding->is_over = true;
    if (!finding->is_over)
        keep_sorted(finding, command);
    select_close(finding->select);
    finding->select = NULL;
}

static bool is_over(void *state)
{
    const struct finding *finding = state;

    return finding->is_over || finding->limit == 0;
}

/* For collections that are not there. */
static status next_of_nothing(void *state, struct command *command, bytes *document_out,
                              bool *has_out)
{
    (void)state;
    (void)command;
    (void)document_out;
    *has_out = false;
    return STATUS_OK;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static status copy_value(struct arena *arena, struct value value, struct value *out)
{
    out->type = value.type;
    return arena_copy(arena, value.raw, &out->raw);
}

static status parse(struct command *command, struct arena *arena, const struct finding_wish *wish,
                    struct finding *finding)
{
    bytes sort, projection;

    TRY(condition_make(command, arena, wish->filter, wish->let, wish->collation,
                       &finding->condition));
    TRY(arena_copy(arena, wish->sort, &sort));
    TRY(arena_copy(arena, wish->projection, &projection));
    if (sort.len > 0)
        TRY(sort_parse(arena, sort, wish->collation, &finding->sort, &command->fault));
    if (projection.len > 0)
        TRY(projection_parse(arena, projection, PROJECTION_OF_FIND, finding->condition->scope,
                             &finding->projection, &command->fault));
    TRY(copy_value(arena, wish->hint, &finding->hint));
    TRY(arena_copy(arena, wish->min, &finding->min));
    return arena_copy(arena, wish->max, &finding->max);
}

static bool has_text(bytes document)
{
    struct document_walk walk;
    struct field field;

    if (document.len == 0)
        return false;
    walk = document_fields(document);
    while (document_next(&walk, &field)) {
        bool is_inside = field.value.type == VALUE_DOCUMENT || field.value.type == VALUE_ARRAY;
        if (field.value.type == VALUE_STRING || field.value.type == VALUE_SYMBOL ||
            (is_inside && has_text(value_document(field.value))))
            return true;
    }
    return false;
}

/* Limits that are texts mean a place in the order of the index only if that is the order of the command. */
static status check_limits(struct command *command, const struct finding_wish *wish,
                           const struct hint *hint)
{
    if (!hint->index || hint->index->definition.collation == wish->collation ||
        (!has_text(wish->min) && !has_text(wish->max)))
        return STATUS_OK;
    return command_fail(command, 51174,
                        "The index '%.*s' has another collation than the command, so min and max "
                        "cannot be texts; give the command the collation of the index",
                        (int)hint->index->definition.name.len,
                        (const char *)hint->index->definition.name.data);
}

status finding_open(struct command *command, const struct collection *collection,
                    const struct finding_wish *wish, struct stream *stream)
{
    struct stream_source source = { .next = next_of_nothing };
    struct finding *finding;
    struct hint hint;

    TRY(ARENA_NEW(stream_arena(stream), 1, &finding));
    *finding = (struct finding){ .skip = wish->skip,
                                 .limit = wish->limit,
                                 .is_tailable = wish->is_tailable,
                                 .position = buffer_in(stream_arena(stream)) };
    TRY(parse(command, stream_arena(stream), wish, finding));
    if (collection) {
        TRY(hint_read(command, collection, finding->hint, &hint));
        TRY(check_limits(command, wish, &hint));
        finding->collection_id = collection->id;
        source = (struct stream_source){ .begin = begin,
                                         .next = next,
                                         .end = end,
                                         .is_over = is_over,
                                         .drop = drop,
                                         .state = finding };
    }
    stream_set_source(stream, &source);
    return STATUS_OK;
}
