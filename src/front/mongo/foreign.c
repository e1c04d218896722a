/* Foreign: opens other collections for the stages of a pipeline.
 *
 * Each opening is a copy of the command with memory of its own, which is given back when it ends, so that a
 * lookup over many rows takes no more than one over one. The copy has the same picture of the catalog, the same
 * instant of the storage and the same clock, so a document is dead in a lookup when it is dead in the
 * collection itself. A view is opened as the collection below it, behind the stages of the view.
 *
 * Threads: the command's. Start reading at open_foreign(). */
#include "front/mongo/foreign.h"

#include "front/mongo/view.h"

/* One opening; kept for the next one when it is closed. */
struct opening {
    struct opening *next;
    struct foreign *foreign;
    struct arena *arena;
    struct command command;
    struct condition condition;
    struct select *select;
    struct select_row row;
    struct buffer origin;
    uint32_t collection_id;
    struct pipeline_run *run; /* of the stages of a view */
    unsigned how;
    /* What is asked of the rows of a view with variables of those who look it up; the stages have their own. */
    struct condition after;
};

struct foreign {
    struct command *command;
    struct arena *arena;
    const char *disk;
    struct made_of *made_of;
    struct opening *idle, *busy;
    unsigned depth; /* openings that are busy */
    struct pipeline_foreign sources;
};

/* The instant of the storage is fixed by whoever scans first, and is that of the command, which gives it back. */
static void share_instant(struct opening *opening)
{
    struct request *own = &opening->command.request, *all = &opening->foreign->command->request;

    if (!own->view)
        own->view = all->view;
    if (!all->view)
        all->view = own->view;
}

static status take_opening(struct foreign *foreign, struct opening **out)
{
    struct opening *opening = foreign->idle;

    if (opening) {
        foreign->idle = opening->next;
    } else {
        TRY(ARENA_NEW(foreign->arena, 1, &opening));
        opening->arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
        if (!opening->arena)
            return status_of(OUT_OF_MEMORY, "no memory for another collection");
        opening->origin = buffer_in(foreign->arena);
    }
    opening->next = foreign->busy;
    foreign->busy = opening;
    foreign->depth++;
    opening->foreign = foreign;
    opening->command = *foreign->command;
    opening->command.arena = opening->command.request.arena = opening->arena;
    opening->command.fault = (struct fault){ 0 };
    opening->command.explain = NULL;
    opening->command.work = (struct command_work){ 0 };
    *out = opening;
    return STATUS_OK;
}

static void give_opening(struct opening *opening)
{
    struct foreign *foreign = opening->foreign;
    struct opening **at = &foreign->busy;

    if (opening->run)
        pipeline_close(opening->run);
    select_close(opening->select);
    share_instant(opening);
    foreign->command->work.keys += opening->command.work.keys;
    foreign->command->work.documents += opening->command.work.documents;
    opening->run = NULL;
    opening->select = NULL;
    opening->after.match = NULL;
    arena_reset(opening->arena);
    while (*at != opening)
        at = &(*at)->next;
    *at = opening->next;
    opening->next = foreign->idle;
    foreign->idle = opening;
    foreign->depth--;
}

/* What an opening fails with is what the command fails with. */
static status tell(struct opening *opening, status s)
{
    struct command *command = opening->foreign->command;

    if (s.code == OK)
        return s;
    s = fault_keep(command->arena, &opening->command.fault, s);
    if (command->fault.code == ERROR_NONE)
        command->fault = opening->command.fault;
    return s;
}

/* ---- origins ---------------------------------------------------------------------------------------- */

/* Behind the key may stand what tells rows of one document apart. */
struct origin_head {
    uint32_t collection_id, partition_len, id_len;
    uint64_t seq;
    struct row_score score;
};

status row_origin(struct buffer *buffer, uint32_t collection_id, const struct select_row *row,
                  bytes *out)
{
    const struct origin_head head = { .collection_id = collection_id,
                                      .partition_len = (uint32_t)row->key.partition.len,
                                      .id_len = (uint32_t)row->key.id.len,
                                      .seq = row->seq,
                                      .score = row->score };

    buffer->len = 0;
    buffer_append(buffer, bytes_of(&head, sizeof(head)));
    buffer_append(buffer, row->key.partition);
    buffer_append(buffer, row->key.id);
    return buffer_finish(buffer, out);
}

/* False if it names no document. */
static bool read_head(bytes origin, struct origin_head *out)
{
    *out = (struct origin_head){ 0 };
    if (origin.len < sizeof(*out) || bytes_starts_with(origin, PIPELINE_MADE_ORIGIN))
        return false;
    memcpy(out, origin.data, sizeof(*out));
    return true;
}

struct row_score row_origin_score(bytes origin)
{
    struct origin_head head;

    read_head(origin, &head);
    return head.score;
}

bytes row_origin_name(struct buffer *buffer, bytes origin)
{
    struct origin_head head;

    buffer->len = 0;
    if (read_head(origin, &head)) {
        buffer_append_u32(buffer, head.collection_id);
        origin = bytes_from(origin, sizeof(head));
    }
    buffer_append(buffer, origin);
    return bytes_of(buffer->data, buffer->len);
}

/* A document that was made after the row was is another one, even if it has the same key. */
status row_origin_lives(struct command *command, bytes origin, bool *out)
{
    struct origin_head head;
    struct document document;

    *out = true;
    if (!read_head(origin, &head))
        return STATUS_OK;
    bytes key = bytes_from(origin, sizeof(head));
    const struct collection *collection = catalog_find_by_id(&command->request, head.collection_id);
    status s = status_of(NOT_FOUND, "");
    if (collection)
        s = document_read(
            &command->request, collection,
            (struct document_key){ .partition = bytes_of(key.data, head.partition_len),
                                   .id = bytes_of(key.data + head.partition_len, head.id_len) },
            &document);
    *out = s.code == OK && document.birth_seq <= head.seq;
    if (s.code == OK)
        document_release(&command->request, &document);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

static status origin_of_stored(void *context, bytes *out)
{
    struct opening *opening = context;

    return row_origin(&opening->origin, opening->collection_id, &opening->row, out);
}

static status origin_of_view(void *context, bytes *out)
{
    return pipeline_origin(((struct opening *)context)->run, out);
}

/* ---- documents -------------------------------------------------------------------------------------- */

static status next_stored(void *context, bytes *document_out, bool *has_out)
{
    struct opening *opening = context;

    *has_out = false;
    if (!opening->select)
        return STATUS_OK;
    share_instant(opening);
    status s = select_next(opening->select, &opening->row, has_out);
    share_instant(opening);
    TRY(tell(opening, s));
    if (*has_out)
        *document_out = opening->row.document;
    return STATUS_OK;
}

static status gather_stored(void *context, const struct gather *gather, bool *is_done_out)
{
    struct opening *opening = context;

    *is_done_out = false;
    if (!opening->select)
        return STATUS_OK;
    share_instant(opening);
    status s = select_gather(opening->select, gather, is_done_out);
    share_instant(opening);
    return tell(opening, s);
}

static status pull_view(struct opening *opening, bytes *document_out, bool *has_out)
{
    struct command *command = &opening->command;
    status s = pipeline_next(opening->run, document_out, has_out);

    if (s.code != OK && command->fault.code == ERROR_NONE)
        s = pipeline_fault(command->arena, opening->run, s, &command->fault);
    return s;
}

static status next_of_view(void *context, bytes *document_out, bool *has_out)
{
    struct opening *opening = context;
    struct matching matching;
    bool is_wanted;

    do {
        is_wanted = true;
        TRY(tell(opening, pull_view(opening, document_out, has_out)));
        if (*has_out && opening->after.match)
            TRY(tell(opening, condition_holds(&opening->command, &opening->after, opening->arena,
                                              *document_out, &matching, &is_wanted)));
    } while (!is_wanted);
    return STATUS_OK;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static status open_stored(struct opening *opening, const struct collection *collection)
{
    const bool is_hidden = !(opening->how & FOREIGN_IS_ORIGIN);
    struct made_of *made_of = opening->foreign->made_of;
    const struct select_spec spec = { .collection = collection,
                                      .condition = &opening->condition,
                                      .earliest_death = is_hidden ? &made_of->right_until : NULL,
                                      .is_one_pass = opening->how & FOREIGN_ANY_ORDER };

    if (!collection)
        return STATUS_OK;
    opening->collection_id = collection->id;
    if (is_hidden)
        made_of_add(made_of, collection);
    status s = select_open(&opening->command, &spec, &opening->select);
    share_instant(opening);
    return s;
}

/* The condition may use variables of the stage that looks the view up; then the stages of the view, which have
 * variables of the same numbers, must not come between. */
static void part_condition(struct opening *opening)
{
    struct condition *condition = &opening->condition;

    if (!condition->match || !match_has_formula(condition->match))
        return;
    opening->after = *condition;
    condition->match = NULL;
}

/* The stages of the view, then the condition. */
static status open_view(struct opening *opening, const struct view *view,
                        const struct formula_run *formulas)
{
    struct pipeline_source source = { .next = next_stored,
                                      .origin = origin_of_stored,
                                      .context = opening,
                                      .is_inner = !(opening->how & FOREIGN_IS_ORIGIN),
                                      .foreign = &opening->foreign->sources,
                                      .disk = opening->foreign->disk };
    struct command *command = &opening->command;
    struct formula_run own = *formulas;
    const struct pipeline *pipeline;
    const struct formula_scope *scope;
    struct pipeline_front front;
    struct pipeline whole;
    struct stage *stages;

    if (view->collation != formulas->collation)
        return command_fail(command, ERROR_OptionNotSupportedOnView,
                            "a pipeline cannot look up or unite with a view that has another "
                            "collation than the pipeline itself");
    part_condition(opening);
    TRY(ARENA_NEW(command->arena, FORMULA_VARIABLES_MAX, &own.variables));
    TRY(formula_scope_of(command->arena, formulas->collation, &scope));
    TRY(pipeline_parse(command->arena, view->stages, scope, &pipeline, &command->fault));
    TRY(ARENA_NEW(command->arena, pipeline->count + 1, &stages));
    for (size_t i = 0; i < pipeline->count; i++)
        stages[i] = pipeline->stages[i];
    whole = (struct pipeline){ .stages = stages, .count = pipeline->count };
    if (opening->condition.match)
        stages[whole.count++] = (struct stage){ .kind = STAGE_MATCH,
                                                .match = opening->condition.match };
    TRY(pipeline_front(&whole, command->arena, &front));
    /* An order is left to the pipeline: the walk may come in parts. */
    if (front.order) {
        front.stage_count--;
        front.order = NULL;
    }
    opening->condition.match = front.match;
    opening->how &= ~(unsigned)FOREIGN_ANY_ORDER;
    if (pipeline_mixes(&whole))
        opening->how &= ~(unsigned)FOREIGN_IS_ORIGIN;
    TRY(open_stored(opening, view->collection));
    return pipeline_open(&whole, front.stage_count, &source, &own, command->arena, &opening->run);
}

static status open_foreign(void *context, bytes name, const struct match *match, unsigned how,
                           const struct formula_run *formulas, struct pipeline_source *out)
{
    struct foreign *foreign = context;
    struct opening *opening;
    struct view view;

    if (foreign->depth == LIMIT_LOOKUP_DEPTH)
        return command_fail(foreign->command, ERROR_ViewDepthLimitExceeded,
                            "lookups, unions and the views that they open are nested more than %d "
                            "deep; does a view look itself up?",
                            LIMIT_LOOKUP_DEPTH);
    TRY(take_opening(foreign, &opening));
    *out = (struct pipeline_source){ .next = next_stored,
                                     .origin = origin_of_stored,
                                     .context = opening };
    memcpy(opening->condition.variables, formulas->variables, sizeof(opening->condition.variables));
    opening->condition.match = match;
    opening->condition.collation = formulas->collation;
    opening->how = how;
    status s = view_resolve(&opening->command, name, &view);
    if (s.code == OK && view.is_view) {
        s = open_view(opening, &view, formulas);
        out->next = next_of_view;
        out->origin = origin_of_view;
    } else if (s.code == OK) {
        s = open_stored(opening, view.collection);
        out->gather = how & FOREIGN_ANY_ORDER ? gather_stored : NULL;
        out->is_everything = opening->select && select_explain(opening->select)->is_everything;
    }
    s = tell(opening, s);
    if (s.code != OK)
        give_opening(opening);
    return s;
}

/* A document of a kilobyte is two. */
static status weigh_foreign(void *context, bytes name, uint64_t *out)
{
    struct command *command = ((struct foreign *)context)->command;
    struct view view;

    *out = UINT64_MAX;
    TRY(view_resolve(command, name, &view));
    if (view.is_view)
        return STATUS_OK;
    *out = 0;
    if (view.collection) {
        const struct collection_size size = collection_size(&command->request, view.collection);
        *out = size.documents + size.bytes / 1024;
    }
    return STATUS_OK;
}

static void close_foreign(void *context, struct pipeline_source *source)
{
    (void)context;
    give_opening(source->context);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

status foreign_make(struct command *command, struct arena *arena, const char *disk,
                    struct made_of *made_of, struct foreign **out)
{
    TRY(ARENA_NEW(arena, 1, out));
    (*out)->command = command;
    (*out)->arena = arena;
    (*out)->disk = disk;
    (*out)->made_of = made_of;
    (*out)->sources = (struct pipeline_foreign){
        .open = open_foreign, .weigh = weigh_foreign, .close = close_foreign, .context = *out
    };
    return STATUS_OK;
}

const struct pipeline_foreign *foreign_sources(struct foreign *foreign)
{
    return &foreign->sources;
}

void foreign_close(struct foreign *foreign)
{
    while (foreign->busy)
        give_opening(foreign->busy);
    for (struct opening *opening = foreign->idle; opening; opening = opening->next)
        arena_close(opening->arena);
    foreign->idle = NULL;
}
