/* Pipeline group: one document for all rows with an equal id.
 *
 * Groups lie in a hash table by the encoded id, so numbers of different types that are equal are one group; each
 * holds one state per accumulator. Everything is in the arena of the stage, whose budget is the limit on memory; when
 * half of it is taken, no more groups begin, and the rows of others wait on disk for their turn.
 *
 * Threads: a run belongs to its request. Start reading at group_fill(). */
#include <math.h>
#include <stdlib.h>

#include "query/accumulate.h"

enum { BUCKETS_MIN = 256 };

struct group {
    struct group *next; /* as they came */
    struct value id;
    uint64_t first_seq; /* of its oldest document, where several threads look for it */
    struct accumulation states[];
};

struct entry {
    struct entry *next;
    uint64_t hash;
    bytes key;
    struct group *group;
};

struct group_table {
    uint64_t salt; /* that keys are hashed with */
    struct entry **buckets;
    size_t bucket_count, entry_count;
    struct group *first, *last;
    uint64_t group_count;
    struct group *given;
    struct group *latest; /* that a row was added to */
};

static status exhausted(struct pipeline_run *run, status s)
{
    return s.code == OUT_OF_MEMORY ? pipeline_too_much(run, "Group") : s;
}

/* ---- the table -------------------------------------------------------------------------------------- */

static status open_table(struct operator* o)
{
    TRY(ARENA_NEW(o->held, 1, &o->groups));
    o->groups->salt = random_salt();
    return STATUS_OK;
}

static status grow(struct pipeline_run *run, struct operator* o)
{
    struct group_table *t = o->groups;
    size_t count = t->bucket_count ? t->bucket_count * 4 : BUCKETS_MIN;
    struct entry **buckets;

    if (t->entry_count < t->bucket_count)
        return STATUS_OK;
    TRY(exhausted(run, ARENA_NEW(o->held, count, &buckets)));
    for (size_t i = 0; i < t->bucket_count; i++) {
        for (struct entry *entry = t->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            entry->next = buckets[entry->hash & (count - 1)];
            buckets[entry->hash & (count - 1)] = entry;
        }
    }
    t->buckets = buckets;
    t->bucket_count = count;
    return STATUS_OK;
}

/* NULL if there is none yet and there is no room for one more. */
static status find_entry(struct pipeline_run *run, struct operator* o, bytes key,
                         struct entry **out, bool *is_new_out)
{
    struct group_table *t = o->groups;
    uint64_t hash = bytes_hash(key, t->salt);

    TRY(grow(run, o));
    for (*out = t->buckets[hash & (t->bucket_count - 1)]; *out; *out = (*out)->next) {
        *is_new_out = false;
        if ((*out)->hash == hash && bytes_equal((*out)->key, key))
            return STATUS_OK;
    }
    *is_new_out = true;
    if (overflow_is_due(run, o))
        return STATUS_OK;
    TRY(exhausted(run, ARENA_NEW(o->held, 1, out)));
    TRY(pipeline_hold(run, o, "Group", key, &(*out)->key));
    (*out)->hash = hash;
    (*out)->next = t->buckets[hash & (t->bucket_count - 1)];
    t->buckets[hash & (t->bucket_count - 1)] = *out;
    t->entry_count++;
    return STATUS_OK;
}

static status hold_value(struct pipeline_run *run, struct operator* o, struct value value,
                         struct value *out)
{
    *out = value;
    return pipeline_hold(run, o, "Group", value.raw, &out->raw);
}

/* NULL: the row was put on disk. */
static status find_group(struct pipeline_run *run, struct operator* o, struct value id, bytes row,
                         struct group **out)
{
    struct group_table *t = o->groups;
    struct buffer key = buffer_in(o->scratch);
    struct entry *entry;
    bool is_new;
    void *memory;
    bytes encoded;

    key_append_value_by(&key, run->formulas.collation, id, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    TRY(find_entry(run, o, encoded, &entry, &is_new));
    *out = NULL;
    if (!entry)
        return overflow_add(run, o, encoded, row);
    *out = t->latest = entry->group;
    if (!is_new)
        return STATUS_OK;
    size_t size = sizeof(struct group) + o->stage->accumulator_count * sizeof(struct accumulation);
    TRY(exhausted(run, arena_take(o->held, size, &memory)));
    memset(memory, 0, size);
    struct group *group = memory;
    TRY(hold_value(run, o, id, &group->id)); /* whoever meets it later finds it whole */
    *out = t->latest = entry->group = group;
    t->group_count++;
    if (t->last)
        t->last->next = group;
    else
        t->first = group;
    t->last = group;
    return STATUS_OK;
}

static struct accumulate_home home_of(struct pipeline_run *run, struct operator* o)
{
    return (struct accumulate_home){
        .run = run, .held = o->held, .scratch = o->scratch, .what = "Group"
    };
}

static status add_row(struct pipeline_run *run, struct operator* o, bytes row)
{
    const struct accumulate_home home = home_of(run, o);
    const struct stage *stage = o->stage;
    struct group *group;
    struct value id;

    arena_reset(o->scratch);
    TRY(pipeline_compute(run, o->scratch, stage->formula, row, &id));
    if (id.type == VALUE_MISSING)
        id.type = VALUE_NULL;
    TRY(find_group(run, o, id, row, &group));
    for (size_t i = 0; group && i < stage->accumulator_count; i++)
        TRY(accumulate_row(&home, &stage->accumulators[i], &group->states[i], group->id, row));
    return STATUS_OK;
}

/* ---- several threads -------------------------------------------------------------------------------- */

/* What all workers have seen, and whether it may be put together. */
struct together {
    struct pipeline_run *run;
    struct operator* all;
    struct pipeline stages; /* this one alone */
    bool is_exact;
    status failure;
};

/* The same stage once more, with memory and variables of its own. */
struct group_worker {
    struct together *together;
    struct arena *arena;
    struct pipeline_run *run;
    bool has_failed; /* in the middle of a row: nothing of it counts */
};

static void note_first(struct group *group, uint64_t seq)
{
    if (group->first_seq == 0 || seq < group->first_seq)
        group->first_seq = seq;
}

static status group_row(struct group_worker *worker, const struct document *stored, bytes document)
{
    struct operator* o = & worker->run->operators[0];
    bool is_exact = true;

    worker->run->formulas.effort = 0;
    TRY(add_row(worker->run, o, document));
    struct group *group = o->groups->latest;
    note_first(group, stored->seq);
    for (size_t i = 0; i < o->stage->accumulator_count && is_exact; i++)
        is_exact = accumulate_is_exact(&o->stage->accumulators[i], &group->states[i]);
    return is_exact ? STATUS_OK
                    : status_of(UNSUPPORTED, "sums that are rounded depend on the order");
}

static status take_row(void *owner, const struct document *stored, bytes document)
{
    struct group_worker *worker = owner;
    const status s = group_row(worker, stored, document);

    worker->has_failed |= s.code != OK;
    return s;
}

static status merge_group(struct together *together, struct group *from)
{
    const struct accumulate_home home = home_of(together->run, together->all);
    const struct stage *stage = together->all->stage;
    struct group *group;

    /* Rows that would have to wait on disk are not there any more. A larger table counts, too. */
    TRY(grow(together->run, together->all));
    if (overflow_is_due(together->run, together->all))
        return pipeline_too_much(together->run, "Group");
    arena_reset(together->all->scratch);
    TRY(find_group(together->run, together->all, from->id, BYTES_NONE, &group));
    ASSERT(group);
    /* Of ids that are equal in several types the first counts, and which was first is not known. */
    together->is_exact &= group->id.type == from->id.type &&
                          bytes_equal(group->id.raw, from->id.raw);
    note_first(group, from->first_seq);
    for (size_t i = 0; i < stage->accumulator_count && together->is_exact; i++)
        TRY(accumulate_merge(&home, &stage->accumulators[i], &group->states[i], &from->states[i],
                             &together->is_exact));
    return STATUS_OK;
}

static status close_worker(void *owner)
{
    struct group_worker *worker = owner;
    struct together *together = worker->together;

    for (struct group *group = worker->run->operators[0].groups->first;
         group && !worker->has_failed && together->is_exact && together->failure.code == OK;
         group = group->next)
        together->failure = merge_group(together, group);
    pipeline_close(worker->run);
    arena_close(worker->arena);
    if (together->failure.code == OK && !together->is_exact)
        together->failure = status_of(UNSUPPORTED, "the result depends on who has met what");
    return together->failure;
}

/* A row that takes long is for the thread that can be told to stop. */
static status give_back(void *context)
{
    (void)context;
    return status_of(UNSUPPORTED, "one row takes too long for a helper");
}

static status open_worker(void *context, void **out)
{
    static const struct pipeline_source none = { 0 };
    struct together *together = context;
    struct pipeline_source source = none;
    struct formula_run formulas = together->run->formulas;
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct group_worker *worker;

    *out = NULL;
    if (!arena)
        return status_of(OUT_OF_MEMORY, "there is no memory for groups");
    source.share = together->run->share;
    source.share.held_bytes /= 2; /* there are several */
    formulas.random = NULL;
    formulas.check = give_back; /* what the request's own thread is asked is for that thread only */
    formulas.effort = 0;
    status s = ARENA_NEW(arena, 1, &worker);
    if (s.code == OK)
        s = ARENA_NEW(arena, FORMULA_VARIABLES_MAX, &formulas.variables);
    if (s.code == OK) {
        memcpy(formulas.variables, together->run->formulas.variables,
               FORMULA_VARIABLES_MAX * sizeof(*formulas.variables));
        *worker = (struct group_worker){ .together = together, .arena = arena };
        s = pipeline_open(&together->stages, 0, &source, &formulas, arena, &worker->run);
    }
    if (s.code == OK) {
        struct operator* o = & worker->run->operators[0];
        s = open_table(o);
        if (s.code != OK)
            pipeline_close(worker->run);
    }
    if (s.code != OK)
        arena_close(arena);
    else
        *out = worker;
    return s;
}

static int compare_groups(const void *a, const void *b)
{
    const struct group *left = *(struct group *const *)a, *right = *(struct group *const *)b;

    return (left->first_seq > right->first_seq) - (left->first_seq < right->first_seq);
}

/* In the order of their first documents, whichever thread has met them first. */
static status order_groups(struct pipeline_run *run, struct operator* o)
{
    struct group_table *t = o->groups;
    struct group **list;
    size_t count = 0;

    TRY(exhausted(run, ARENA_NEW(o->held, (size_t)t->group_count + 1, &list)));
    for (struct group *group = t->first; group; group = group->next)
        list[count++] = group;
    if (count > 1)
        qsort(list, count, sizeof(struct group *), compare_groups);
    for (size_t i = 0; i < count; i++)
        list[i]->next = i + 1 < count ? list[i + 1] : NULL;
    t->first = list[0];
    return STATUS_OK;
}

/* Each thread groups what it meets, and the groups are put together. Where that is not possible, or the result would depend
 * on who has met what, everything is as if it had not been tried. */
static status fill_together(struct pipeline_run *run, struct operator* o, bool *is_done_out)
{
    struct together together = {
        .run = run,
        .all = o,
        .stages = {.stages = o->stage, .count = 1},
        .is_exact = true,
        .failure = STATUS_OK
    };
    const struct gather gather = {
        .open = open_worker, .take = take_row, .close = close_worker, .context = &together
    };

    *is_done_out = false;
    for (size_t i = 0; i < o->stage->accumulator_count; i++) {
        if (!accumulate_can_merge(&o->stage->accumulators[i]))
            return STATUS_OK;
    }
    TRY(run->source.gather(run->source.context, &gather, is_done_out));
    if (*is_done_out)
        return order_groups(run, o);
    run->refusal = 0;
    arena_reset(o->held);
    return exhausted(run, open_table(o));
}

/* ---- filling ---------------------------------------------------------------------------------------- */

/* The source only says how many rows there are: all of them are alike. */
static status fill_by_count(struct pipeline_run *run, struct operator* o)
{
    static const uint8_t nothing[] = { 5, 0, 0, 0, 0 };
    bytes row = bytes_of(nothing, sizeof(nothing));
    struct group *group;
    struct value id, each, times, sum;
    uint64_t rows;

    TRY(run->source.count(run->source.context, &rows));
    if (rows == 0)
        return STATUS_OK;
    TRY(pipeline_compute(run, o->scratch, o->stage->formula, row, &id));
    TRY(find_group(run, o, id, row, &group));
    for (size_t i = 0; i < o->stage->accumulator_count; i++) {
        TRY(pipeline_compute(run, o->scratch, o->stage->accumulators[i].of, row, &each));
        if (!value_is_number(each))
            continue;
        TRY(value_of_int64(o->scratch, (int64_t)rows, &times));
        TRY(number_calculate(o->scratch, NUMBER_MULTIPLY, each, times, &sum));
        if (sum.type == VALUE_MISSING)
            TRY(value_of_double(o->scratch, value_as_double(each) * (double)rows, &sum));
        accumulate_put_number(&group->states[i], sum);
    }
    return STATUS_OK;
}

static bool is_countable(const struct stage *stage)
{
    if (stage->formula->kind != FORMULA_IS_LITERAL)
        return false;
    for (size_t i = 0; i < stage->accumulator_count; i++) {
        if (stage->accumulators[i].kind != ACCUMULATE_SUM ||
            stage->accumulators[i].of->kind != FORMULA_IS_LITERAL)
            return false;
    }
    return true;
}

static status fill_by_rows(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    bool has_row;
    bytes row;

    for (;;) {
        if (overflow_is_source(o))
            TRY(overflow_next(o, &row, &has_row));
        else
            TRY(pipeline_pull(run, number - 1, &row, &has_row));
        if (!has_row)
            return STATUS_OK;
        TRY(add_row(run, o, row));
    }
}

status group_fill(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];

    o->is_filled = true;
    TRY(exhausted(run, open_table(o)));
    if (number == 1 && run->source.count && is_countable(o->stage)) {
        TRY(fill_by_count(run, o));
    } else {
        bool is_done = false;
        if (number == 1 && run->source.gather && !overflow_is_source(o))
            TRY(fill_together(run, o, &is_done));
        if (!is_done)
            TRY(fill_by_rows(run, number));
    }
    o->groups->given = o->groups->first;
    return STATUS_OK;
}

/* ---- giving ----------------------------------------------------------------------------------------- */

/* The groups in memory were given: those of the rows on disk come next, as long as there are any. */
static status fill_again(struct pipeline_run *run, size_t number)
{
    struct operator* o = & run->operators[number - 1];
    bool has_rows = true;

    while (!o->groups->given) {
        TRY(overflow_turn(o, &has_rows));
        if (!has_rows)
            return STATUS_OK;
        arena_reset(o->held);
        TRY(group_fill(run, number));
    }
    return STATUS_OK;
}

status group_next(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    const struct accumulate_home home = home_of(run, o);
    struct buffer built;
    struct value value;
    bytes origin;

    TRY(fill_again(run, number));
    struct group *group = o->groups->given;
    *has_out = group != NULL;
    if (!group)
        return STATUS_OK;
    arena_reset(o->scratch);
    TRY(pipeline_name_row(o->scratch, BYTES_NONE, group->id, &origin));
    pipeline_set_origin(run, origin);
    o->groups->given = group->next;
    built = buffer_in(o->scratch);
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("_id"), group->id);
    for (size_t i = 0; i < o->stage->accumulator_count; i++) {
        TRY(accumulate_result(&home, &o->stage->accumulators[i], &group->states[i], &value));
        document_append(&built, o->stage->accumulators[i].name, value);
    }
    document_end(&built, begun);
    TRY(buffer_finish(&built, out));
    if (out->len <= LIMIT_DOCUMENT_BYTES)
        return STATUS_OK;
    run->refusal = 10334;
    return status_of(TOO_LARGE, "a group is larger than a document may be");
}
