/* Pipeline graph: the documents of another collection that are reached from a row, from one to the next.
 *
 * Breadth first: all documents of one depth are asked for at once, by the values that those of the depth before
 * have given. A document is met once, at its least depth, and a value is asked for once, so cycles end.
 *
 * Keeps: what was met lies in the memory of the stage, whose budget is the limit.
 * Threads: a run belongs to its request. Start reading at pull_graph(). */
#include "query/formula_body.h"
#include "query/list.h"
#include "query/pipeline_parts.h"
#include "query/set.h"

struct met {
    struct met *next;
    bytes document;
};

struct search {
    struct pipeline_run *run;
    struct operator* o;
    struct set documents, values; /* that were met, and asked for */
    struct met *first, **last;
    struct value *frontier; /* to be asked for next */
    size_t frontier_count, frontier_room;
    size_t size_bytes;
};

static status exhausted(struct search *search, status s)
{
    if (s.code != OUT_OF_MEMORY)
        return s;
    search->run->refusal = 40099;
    return status_fail(search->run->formulas.arena, TOO_LARGE,
                       "$graphLookup reached maximum memory consumption of %zu bytes",
                       search->run->share.held_bytes);
}

static status add_value(struct search *search, struct value value)
{
    struct buffer key = buffer_in(search->o->scratch);
    struct arena *held = search->o->held;
    bytes encoded;
    size_t number;
    bool is_new;

    if (value.type == VALUE_MISSING || value.type == VALUE_UNDEFINED)
        return STATUS_OK;
    key_append_value_by(&key, search->run->formulas.collation, value, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    TRY(exhausted(search, set_add(&search->values, encoded, &number, &is_new)));
    if (!is_new)
        return STATUS_OK;
    if (search->frontier_count == search->frontier_room) {
        size_t room = search->frontier_room ? search->frontier_room * 2 : 16;
        struct value *more;
        TRY(exhausted(search, ARENA_NEW(held, room, &more)));
        if (search->frontier_count)
            memcpy(more, search->frontier, search->frontier_count * sizeof(*more));
        search->frontier = more;
        search->frontier_room = room;
    }
    struct value *kept = &search->frontier[search->frontier_count++];
    kept->type = value.type;
    return exhausted(search, arena_copy(held, value.raw, &kept->raw));
}

static status begin(struct search *search, bytes row)
{
    struct document_walk walk;
    struct field element;
    struct value start;

    TRY(pipeline_compute(search->run, search->o->scratch, search->o->stage->formula, row, &start));
    if (start.type != VALUE_ARRAY)
        return add_value(search, start);
    walk = document_fields(value_document(start));
    while (document_next(&walk, &element))
        TRY(add_value(search, element.value));
    return STATUS_OK;
}

/* The document, with its depth if that is wanted. */
static status keep_document(struct search *search, bytes document, int64_t depth)
{
    bytes depth_field = search->o->stage->depth_field;
    struct arena *held = search->o->held;
    struct value number;
    struct met *met;

    TRY(exhausted(search, ARENA_NEW(held, 1, &met)));
    if (depth_field.len) {
        TRY(value_of_integer(search->o->scratch, VALUE_INT64, depth, &number));
        TRY(exhausted(search, pipeline_set(search->run, held, depth_field, number, document,
                                           &met->document)));
    } else {
        TRY(exhausted(search, arena_copy(held, document, &met->document)));
    }
    *search->last = met;
    search->last = &met->next;
    return STATUS_OK;
}

static status meet(struct search *search, bytes document, int64_t depth)
{
    struct buffer key = buffer_in(search->o->scratch);
    struct path_values values;
    struct value id;
    bytes encoded;
    size_t number;
    bool is_new;

    document_find(document, "_id", &id);
    key_append_value(&key, id, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    TRY(exhausted(search, set_add(&search->documents, encoded, &number, &is_new)));
    if (!is_new)
        return STATUS_OK;
    TRY(keep_document(search, document, depth));
    TRY(path_collect(search->o->scratch, search->o->local_path, document, &values));
    for (size_t i = 0; i < values.count; i++)
        TRY(add_value(search, values.items[i]));
    return STATUS_OK;
}

/* Everything of one depth. */
static status step(struct search *search, int64_t depth)
{
    struct operator* o = search->o;
    const struct match *both[2];
    const struct match *match;
    struct arena *match_arena = o->held;
    bool has_row;
    bytes row;

    TRY(exhausted(search, foreign_match_in(match_arena, search->run->formulas.collation,
                                           o->stage->foreign_field, search->frontier,
                                           search->frontier_count, &both[0])));
    both[1] = o->stage->match;
    TRY(exhausted(search,
                  match_join(match_arena, MATCH_AND, both, o->stage->match ? 2 : 1, &match)));
    search->frontier = NULL;
    search->frontier_count = search->frontier_room = 0;
    TRY(foreign_open(search->run, o, match, 0));
    for (;;) {
        TRY(o->foreign.next(o->foreign.context, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        arena_reset(o->scratch);
        TRY(meet(search, row, depth));
    }
}

static status give(struct search *search, bytes row, bytes *out)
{
    struct operator* o = search->o;
    struct list list = list_begin(o->scratch);
    struct value all;

    for (const struct met *met = search->first; met; met = met->next)
        list_add(&list, (struct value){ .type = VALUE_DOCUMENT, .raw = met->document });
    TRY(list_end(&list, &all));
    return pipeline_set(search->run, o->scratch, o->stage->name, all, row, out);
}

status pull_graph(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    bytes row;

    TRY(pipeline_pull(run, number - 1, &row, has_out));
    if (!*has_out)
        return STATUS_OK;
    arena_reset(o->scratch);
    arena_reset(o->held);
    struct search search = {
        .run = run, .o = o, .documents = set_in(o->held), .values = set_in(o->held)
    };
    search.last = &search.first;
    TRY(begin(&search, row));
    for (int64_t depth = 0;
         search.frontier_count && (o->stage->depth_max < 0 || depth <= o->stage->depth_max);
         depth++) {
        status s = step(&search, depth);
        foreign_end(run, o);
        TRY(s);
    }
    arena_reset(o->scratch);
    return give(&search, row, out);
}
