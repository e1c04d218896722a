/* Pipeline join: a lookup by equal fields, for many rows at once.
 *
 * Rows are taken in advance, as many as will be asked for and fit, and the values of their local fields, or of the variable
 * that the stages inside compare a field with (pipeline_join_plan.c), are put into a set. Then the other collection is asked once: by the index over the foreign field if the values are few, or else for all
 * its documents, with as many threads as are free. Documents that have one of the values are kept with the numbers of
 * their values, and each row gathers what its own values have found.
 *
 *     rows 1, 2, 3 ... --values--> set <--values-- documents of the other collection
 *
 * If what is found does not fit into the memory of the stage, it is asked for half of the rows; for a single row there is
 * the plain way, row by row (pipeline_foreign.c).
 *
 * Keeps: what a row gets is what the plain way would find for it at the same instant, in some order of documents. Values
 * are equal if their encodings are, which are by the collation of the pipeline; what is missing counts as null.
 * Threads: a run belongs to its request; workers read the set and add to `kept_bytes` while nobody changes anything else.
 * Start reading at join_pull(). */
#include "query/formula_body.h"
#include "query/match_parts.h"
#include "query/pipeline_parts.h"
#include "query/set.h"
#include "query/sieve.h"

#include <stdlib.h>

enum {
    ROWS_FIRST = 16, /* if nobody knows how many will be asked for; then twice as many each time */
    ROWS_MAX = 1 << 16,
    ROWS_BYTES_MAX = 16 << 20,
    /* Documents that are looked at as they lie in the time in which one is found by an index. */
    PROBE_COST = 24,
    ROWS_PER_QUESTION = 64,
};

struct found;

/* The document has the value `number`. */
struct hit {
    struct hit *next; /* of the same value */
    const struct found *found;
    uint32_t number;
};

/* A document that was found. */
struct found {
    struct found *next;
    bytes document;
    uint64_t order; /* among those of a row */
    size_t hit_count;
    struct hit hits[];
};

/* What one thread has found. */
struct worker {
    struct worker *next;
    struct join *join;
    struct arena *arena, *scratch;
    struct matching matching;
    struct buffer numbers; /* of the values of one document; uint32_t */
    const uint8_t *looked; /* at that document */
    uint64_t taken;
    struct found *first;
};

struct join_row {
    bytes row, origin, place;
    size_t first, count; /* of its values */
    bool is_alone;       /* its value cannot be looked up together with others */
};

struct join {
    struct pipeline_run *run;
    struct operator* operator;
    struct join_key key;
    uint64_t wanted;           /* rows that will be asked for at most; 0: unknown */
    bool asks_rows;            /* the condition of the stages inside is asked for each row */
    const struct match *asked; /* of the other collection besides the values; may be NULL */
    bool is_top_field;         /* the foreign field is one of the document itself */
    size_t most;               /* rows of the next group */
    size_t reach;              /* rows for which to ask next at most */
    /* the group */
    struct join_row *rows;
    size_t count, room, given;
    size_t upto; /* rows for which was asked */
    bool is_plain;
    struct set set;
    struct buffer values;  /* struct value, by their numbers in the set */
    struct buffer numbers; /* uint32_t, of all rows */
    uint32_t types;        /* that values have */
    struct sieve sieve;    /* for the values, if everything is looked at */
    bool *is_wanted;       /* by number: of the rows that is asked for */
    struct hit **heads;    /* by number */
    struct worker *workers;
    _Atomic size_t kept_bytes;
    size_t kept_max;
    _Atomic bool is_full;
    /* what the row that is given has found */
    const struct found **found;
    size_t found_count, found_at;
};

/* ---- opening ---------------------------------------------------------------------------------------- */

status join_make(struct pipeline_run *run, struct operator* o, uint64_t wanted, struct arena *arena)
{
    const struct stage *stage = o->stage;
    struct join_key key;
    bool has_formula = o->inner_match && match_has_formula(o->inner_match);
    bool is_elsewhere = o->inner_match &&
                        (match_wish(o->inner_match) || match_near(o->inner_match));

    if (stage->kind != STAGE_LOOKUP || stage->from.len == 0 || !run->source.foreign ||
        (has_formula && is_elsewhere) || !join_find_key(o, &key))
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, &o->join));
    o->join->run = run;
    o->join->operator= o;
    o->join->wanted = wanted;
    o->join->asks_rows = has_formula;
    o->join->key = key;
    o->join->is_top_field = !memchr(key.foreign_field.data, '.', key.foreign_field.len);
    o->join->most = ROWS_FIRST;
    o->join->reach = ROWS_MAX;
    o->join->kept_max = run->share.held_bytes / 2;
    return o->inner_match ? join_condition(arena, o->inner_match, &o->join->asked) : STATUS_OK;
}

static void forget_found(struct join *join)
{
    for (struct worker *worker = join->workers; worker; worker = worker->next) {
        arena_close(worker->arena);
        arena_close(worker->scratch);
    }
    join->workers = NULL;
    join->kept_bytes = 0;
    join->is_full = false;
}

void join_end(struct operator* o)
{
    struct join *join = o->join;

    if (!join)
        return;
    forget_found(join);
    join->count = join->given = join->upto = join->room = 0;
    join->rows = NULL;
}

void join_restart(struct operator* o)
{
    join_end(o);
    if (o->join)
        o->join->most = ROWS_FIRST;
}

bool join_is_ahead(const struct operator* o)
{
    return o->join && o->join->given < o->join->count;
}

/* ---- rows in advance -------------------------------------------------------------------------------- */

static status encode(struct join *join, struct arena *arena, struct value value, bytes *out)
{
    struct buffer key = buffer_in(arena);

    key_append_value_by(&key, join->run->formulas.collation, value, KEY_ASCENDING);
    return buffer_finish(&key, out);
}

static status add_value(struct join *join, struct value value)
{
    struct operator* o = join->operator;
    size_t number;
    bool is_new;
    bytes key;

    if (formula_is_null(value))
        value = value_null();
    TRY(encode(join, o->scratch, value, &key));
    TRY(set_add(&join->set, key, &number, &is_new));
    const uint32_t short_number = (uint32_t)number;
    buffer_append(&join->numbers, bytes_of(&short_number, sizeof(short_number)));
    if (!is_new)
        return STATUS_OK;
    join->types |= join_types(value.type);
    TRY(arena_copy(o->held, value.raw, &value.raw));
    buffer_append(&join->values, bytes_of(&value, sizeof(value)));
    return STATUS_OK;
}

static status add_values(struct join *join, bytes row)
{
    struct path_values values;

    TRY(path_collect(join->operator->scratch, join->operator->local_path, row, &values));
    for (size_t i = 0; i < values.count; i++) {
        if (values.items[i].type != VALUE_UNDEFINED)
            TRY(add_value(join, values.items[i]));
    }
    return STATUS_OK;
}

/* The variables of the row as they will be when it is given. What fails, fails then, if it comes to that. */
static status add_variable(struct join *join, bytes row, struct join_row *added)
{
    const struct stage *stage = join->operator->stage;
    struct value wanted = value_null(), value;

    for (size_t i = 0; i < stage->variable_count; i++) {
        const struct stage_variable *variable = &stage->variables[i];
        if (pipeline_compute(join->run, join->operator->scratch, variable->formula, row, &value)
                .code != OK) {
            join->run->refusal = join->run->formulas.refusal = 0;
            added->is_alone = true;
            return STATUS_OK;
        }
        join->run->formulas.variables[variable->number] = value;
        if (variable->number == join->key.variable)
            wanted = value;
    }
    added->is_alone = !join_can_compare(wanted);
    return added->is_alone ? STATUS_OK : add_value(join, wanted);
}

static status make_room(struct join *join)
{
    size_t room = join->room ? join->room * 2 : ROWS_FIRST;
    struct join_row *rows;

    if (join->count < join->room)
        return STATUS_OK;
    TRY(ARENA_NEW(join->operator->held, room, &rows));
    if (join->count)
        memcpy(rows, join->rows, join->count * sizeof(*rows));
    join->rows = rows;
    join->room = room;
    return STATUS_OK;
}

static status add_row(struct join *join, bytes row)
{
    struct operator* o = join->operator;
    bytes origin;

    TRY(make_room(join));
    struct join_row *added = &join->rows[join->count++];
    *added = (struct join_row){ .first = join->numbers.len / sizeof(uint32_t) };
    TRY(arena_copy(o->held, row, &added->row));
    TRY(pipeline_origin(join->run, &origin));
    TRY(arena_copy(o->held, origin, &added->origin));
    TRY(pipeline_place(join->run, o->held, &added->place));
    arena_reset(o->scratch);
    TRY(join->key.is_variable ? add_variable(join, row, added) : add_values(join, row));
    added->count = join->numbers.len / sizeof(uint32_t) - added->first;
    return join->numbers.is_failed || join->values.is_failed ? arena_exhausted(o->held) : STATUS_OK;
}

/* How many rows are worth to be taken. */
static size_t group_rows(struct join *join)
{
    uint64_t most = join->wanted;

    if (join->wanted == 0) {
        most = join->most;
        if (join->most < ROWS_MAX)
            join->most = join->most * 2;
    } else if (join->wanted != UINT64_MAX) {
        /* Past what was said it is as if nothing was. */
        most = join->wanted > join->operator->passed ? join->wanted - join->operator->passed
            : ROWS_FIRST;
    }
    return most < ROWS_MAX ? (size_t)most : ROWS_MAX;
}

static status take_group(struct join *join, size_t number)
{
    struct operator* o = join->operator;
    const size_t most = group_rows(join), bytes_max = join->kept_max / 2 < ROWS_BYTES_MAX
                                                          ? join->kept_max / 2
                                                          : ROWS_BYTES_MAX;
    bytes row;

    join_end(o);
    arena_reset(o->held);
    join->set = set_in(o->held);
    join->values = buffer_in(o->held);
    join->numbers = buffer_in(o->held);
    join->types = 0;
    join->sieve = (struct sieve){ 0 };
    while (!o->is_over && join->count < most && arena_used_bytes(o->held) < bytes_max) {
        bool has_row;
        TRY(pipeline_pull(join->run, number - 1, &row, &has_row));
        o->is_over = !has_row;
        status s = has_row ? add_row(join, row) : STATUS_OK;
        if (s.code == OUT_OF_MEMORY)
            return pipeline_too_much(join->run, "$lookup");
        TRY(s);
    }
    o->passed += join->count;
    return STATUS_OK;
}

/* ---- documents of the other collection -------------------------------------------------------------- */

static status open_worker(void *context, void **out)
{
    struct join *join = context;
    struct worker *worker;

    *out = NULL;
    TRY(ARENA_NEW(join->operator->held, 1, &worker));
    worker->arena = arena_open(join->run->share.held_bytes);
    worker->scratch = arena_open(LIMIT_QUERY_ROW_BYTES);
    worker->join = join;
    worker->matching.scratch = worker->scratch;
    if (worker->arena && worker->scratch) {
        worker->next = join->workers;
        *out = join->workers = worker;
        return STATUS_OK;
    }
    if (worker->arena)
        arena_close(worker->arena);
    if (worker->scratch)
        arena_close(worker->scratch);
    return status_of(OUT_OF_MEMORY, "there is no memory for a lookup");
}

/* Whatever it has is wanted until the group is given. */
static status close_worker(void *owner)
{
    (void)owner;
    return STATUS_OK;
}

static bool may_be_wanted(const struct join *join, struct value value)
{
    return (join->types & match_type_bit(value.type)) && sieve_passes(&join->sieve, value);
}

/* A value of the document. */
static status meet_value(void *context, struct value value)
{
    struct worker *worker = context;
    struct join *join = worker->join;
    size_t number;
    bytes key;

    if (formula_is_null(value))
        value = value_null();
    if (!may_be_wanted(join, value))
        return STATUS_OK;
    TRY(encode(join, worker->scratch, value, &key));
    if (!set_find(&join->set, key, &number) || !join->is_wanted[number])
        return STATUS_OK;
    const uint32_t short_number = (uint32_t)number;
    buffer_append(&worker->numbers, bytes_of(&short_number, sizeof(short_number)));
    return STATUS_OK;
}

static status keep(struct worker *worker, bytes document, uint64_t order)
{
    struct join *join = worker->join;
    const size_t count = worker->numbers.len / sizeof(uint32_t);
    const size_t size = sizeof(struct found) + count * sizeof(struct hit);
    struct found *found;
    void *memory;

    if (atomic_fetch_add(&join->kept_bytes, size + document.len) > join->kept_max) {
        join->is_full = true;
        return status_of(TOO_LARGE, "there is too much for the memory of a lookup");
    }
    TRY(arena_take(worker->arena, size, &memory));
    found = memory;
    *found = (struct found){ .next = worker->first, .order = order, .hit_count = count };
    TRY(arena_copy(worker->arena, document, &found->document));
    for (size_t i = 0; i < count; i++) {
        found->hits[i] = (struct hit){ .found = found };
        memcpy(&found->hits[i].number, worker->numbers.data + i * sizeof(uint32_t),
               sizeof(uint32_t));
    }
    worker->first = found;
    return STATUS_OK;
}

/* The numbers of the values that the document has at the foreign field. */
static status collect_numbers(struct worker *worker, bytes document)
{
    worker->looked = NULL;
    arena_reset(worker->scratch);
    worker->numbers = buffer_in(worker->scratch);
    TRY(match_each_value(worker->join->key.foreign_field, &worker->matching, document, meet_value,
                         worker));
    if (worker->numbers.is_failed)
        return arena_exhausted(worker->scratch);
    worker->looked = document.data;
    return STATUS_OK;
}

/* Most documents are none of those that are wanted, which the stored form tells too, unless it is about _id. A field of
 * the document itself that is no array has one value. */
static bool look_at(void *owner, bytes stored)
{
    struct worker *worker = owner;
    const struct join *join = worker->join;
    struct value value;

    if (join->is_top_field) {
        document_find_bytes(stored, join->key.foreign_field, &value);
        if (formula_is_null(value))
            value = value_null();
        if (value.type != VALUE_ARRAY && !may_be_wanted(join, value))
            return false;
    }
    return collect_numbers(worker, stored).code != OK || worker->numbers.len > 0;
}

/* Documents come in the order in which they began to live, if that is known, or as they are given. */
static status take_document(void *owner, const struct document *stored, bytes document)
{
    struct worker *worker = owner;

    if (!stored || document.data != worker->looked) /* it is shown as it is stored */
        TRY(collect_numbers(worker, document));
    if (worker->numbers.len == 0)
        return STATUS_OK;
    return keep(worker, document, stored ? stored->birth_seq : worker->taken++);
}

static status take_one_by_one(struct join *join)
{
    const struct pipeline_source *source = &join->operator->foreign;
    bool has_document = true;
    bytes document;
    void *worker;

    TRY(open_worker(join, &worker));
    while (has_document && !join->is_full) {
        TRY(source->next(source->context, &document, &has_document));
        status s = has_document ? take_document(worker, NULL, document) : STATUS_OK;
        if (s.code != OK && !join->is_full)
            return s;
    }
    return STATUS_OK;
}

static status take_documents(struct join *join)
{
    const struct pipeline_source *source = &join->operator->foreign;
    const bytes field = join->key.foreign_field;
    const struct gather gather = { .open = open_worker,
                                   .look = bytes_starts_with(field, BYTES_LITERAL("_id")) ? NULL
                                                                                          : look_at,
                                   .take = take_document,
                                   .close = close_worker,
                                   .context = join,
                                   .is_small_too = true };
    bool is_done = false;

    if (source->gather)
        TRY(source->gather(source->context, &gather, &is_done));
    if (is_done || join->is_full)
        return STATUS_OK;
    forget_found(join);
    return take_one_by_one(join);
}

/* ---- asking ----------------------------------------------------------------------------------------- */

static const uint32_t *numbers_of(const struct join *join, const struct join_row *row)
{
    return row->count == 0 ? NULL : (const uint32_t *)(const void *)join->numbers.data + row->first;
}

/* Marks the values of the rows from `given` to `upto`, or of the first of them, if there are more than `most`; how many
 * they are. */
static size_t mark_wanted(struct join *join, size_t most)
{
    size_t count = 0;

    memset(join->is_wanted, 0, join->set.count * sizeof(*join->is_wanted));
    for (size_t i = join->given; i < join->upto; i++) {
        const struct join_row *row = &join->rows[i];
        const uint32_t *numbers = numbers_of(join, row);
        if (i > join->given && count + row->count > most) {
            join->upto = i;
            break;
        }
        for (size_t j = 0; j < row->count; j++) {
            count += !join->is_wanted[numbers[j]];
            join->is_wanted[numbers[j]] = true;
        }
    }
    return count;
}

/* The foreign field is one of the values. */
static status match_wanted(struct join *join, size_t count, const struct match **out)
{
    struct operator* o = join->operator;
    const struct value *values = (const struct value *)(const void *)join->values.data;
    struct value *wanted;
    size_t taken = 0;

    TRY(ARENA_NEW(o->scratch, count, &wanted));
    for (size_t i = 0; i < join->set.count; i++) {
        if (join->is_wanted[i])
            wanted[taken++] = values[i];
    }
    return foreign_match_in(o->scratch, join->run->formulas.collation, join->key.foreign_field,
                            wanted, taken, out);
}

/* Most documents are none of those that are wanted. */
static status make_sieve(struct join *join)
{
    const struct value *values = (const struct value *)(const void *)join->values.data;

    if (join->sieve.bits)
        return STATUS_OK;
    TRY(sieve_open(join->operator->held, join->run->formulas.collation, join->set.count,
                   &join->sieve));
    for (size_t i = 0; i < join->set.count; i++)
        sieve_add(&join->sieve, values[i]);
    return STATUS_OK;
}

/* What is asked of the other collection for so many values. */
static status ask_for(struct join *join, size_t value_count, bool is_scan, const struct match **out)
{
    struct operator* o = join->operator;
    const struct match *both[2];
    size_t count = 0;

    if (!is_scan)
        TRY(match_wanted(join, value_count, &both[count++]));
    if (join->asked)
        both[count++] = join->asked;
    *out = NULL;
    return count ? match_join(o->scratch, MATCH_AND, both, count, out) : STATUS_OK;
}

static status ask(struct join *join)
{
    const struct pipeline_foreign *foreign = join->run->source.foreign;
    struct operator* o = join->operator;
    const struct match *match;
    uint64_t size;

    arena_reset(o->scratch);
    size_t values = mark_wanted(join, SIZE_MAX);
    if (values == 0)
        return STATUS_OK;
    TRY(foreign->weigh(foreign->context, o->stage->from, &size));
    bool is_scan = values >= size / PROBE_COST;
    if (!is_scan && values > LIMIT_QUERY_RANGES) /* more than one plan may have */
        values = mark_wanted(join, LIMIT_QUERY_RANGES);
    if (is_scan)
        TRY(make_sieve(join));
    TRY(ask_for(join, values, is_scan, &match));
    TRY(foreign_open(join->run, o, match, FOREIGN_ANY_ORDER));
    o->is_hashed = is_scan || o->foreign.is_everything;
    status s = take_documents(join);
    foreign_end(join->run, o);
    return s;
}

static void share_out(struct join *join)
{
    for (struct worker *worker = join->workers; worker; worker = worker->next) {
        for (struct found *found = worker->first; found; found = found->next) {
            for (size_t i = 0; i < found->hit_count; i++) {
                struct hit *hit = &found->hits[i];
                hit->next = join->heads[hit->number];
                join->heads[hit->number] = hit;
            }
        }
    }
}

/* For the rows that were taken and not asked for yet, or as many of them as it can be done for; next time for twice as
 * many, so that what was too much for all of them is not read again and again for all that are left. */
static status find_group(struct join *join)
{
    struct arena *held = join->operator->held;

    if (!join->heads || join->given == 0) {
        TRY(ARENA_NEW(held, join->set.count + 1, &join->is_wanted));
        TRY(ARENA_NEW(held, join->set.count + 1, &join->heads));
    }
    join->upto = join->count - join->given < join->reach ? join->count : join->given + join->reach;
    do {
        if (join->is_full)
            join->upto = join->given + (join->upto - join->given) / 2;
        forget_found(join);
        TRY(ask(join));
    } while (join->is_full && join->upto - join->given > 1);
    if (join->upto < join->count)
        join->reach = 2 * (join->upto - join->given);
    memset(join->heads, 0, join->set.count * sizeof(struct hit *));
    join->is_plain = join->is_full;
    if (join->is_plain)
        forget_found(join);
    share_out(join);
    return STATUS_OK;
}

/* ---- giving ----------------------------------------------------------------------------------------- */

static status check_time(void *context)
{
    const struct pipeline_source *source = &((struct join *)context)->run->source;

    return source->check ? source->check(source->context) : STATUS_OK;
}

status join_pull(struct pipeline_run *run, size_t number, bytes *out, bool *has_out)
{
    struct operator* o = & run->operators[number - 1];
    struct join *join = o->join;

    *has_out = false;
    if (join->given == join->count) {
        TRY(take_group(join, number));
        if (join->count == 0)
            return STATUS_OK;
    }
    if (join->given == join->upto) {
        status s = find_group(join);
        if (s.code != OK)
            return s.code == OUT_OF_MEMORY ? pipeline_too_much(run, "$lookup") : s;
    }
    if (join->given % ROWS_PER_QUESTION == 0)
        TRY(check_time(join));
    const struct join_row *row = &join->rows[join->given++];
    pipeline_set_origin(run, row->origin);
    run->place = row->place;
    *out = row->row;
    *has_out = true;
    return STATUS_OK;
}

static int compare_found(const void *a, const void *b)
{
    const struct found *left = *(const struct found *const *)a,
                       *right = *(const struct found *const *)b;

    if (left->order != right->order)
        return left->order < right->order ? -1 : 1;
    return left < right ? -1 : left > right; /* numbers of a transaction's writes are its own */
}

/* One document may have several values of the row. */
static void sort_found(struct join *join)
{
    size_t kept = 0;

    if (join->found_count < 2)
        return;
    qsort((void *)join->found, join->found_count, sizeof(*join->found), compare_found);
    for (size_t i = 0; i < join->found_count; i++) {
        if (kept == 0 || join->found[kept - 1] != join->found[i])
            join->found[kept++] = join->found[i];
    }
    join->found_count = kept;
}

static status next_found(void *context, bytes *document_out, bool *has_out)
{
    struct join *join = context;
    struct operator* o = join->operator;
    struct matching matching = { .scratch = o->scratch, .formulas = &join->run->formulas };

    *has_out = false;
    while (join->found_at < join->found_count && !*has_out) {
        *document_out = join->found[join->found_at++]->document;
        *has_out = true;
        if (!join->asks_rows)
            return STATUS_OK;
        if (join->found_at % ROWS_PER_QUESTION == 0)
            TRY(check_time(join));
        status s = match_document(o->inner_match, &matching, *document_out, has_out);
        if (s.code != OK) {
            join->run->refusal = join->run->formulas.refusal;
            return status_fail(join->run->formulas.arena, s.code, "%s", s.message);
        }
    }
    return STATUS_OK;
}

status join_open_row(struct operator* o, bool *is_plain_out)
{
    struct join *join = o->join;
    const struct join_row *row = &join->rows[join->given - 1];
    const uint32_t *numbers = numbers_of(join, row);
    struct buffer found = buffer_in(o->scratch);

    *is_plain_out = join->is_plain || row->is_alone;
    if (*is_plain_out)
        return STATUS_OK;
    for (size_t i = 0; i < row->count; i++) {
        for (const struct hit *hit = join->heads[numbers[i]]; hit; hit = hit->next)
            buffer_append(&found, bytes_of(&hit->found, sizeof(hit->found)));
    }
    if (found.is_failed)
        return arena_exhausted(o->scratch);
    join->found = (const struct found **)(void *)found.data;
    join->found_count = found.len / sizeof(*join->found);
    join->found_at = 0;
    sort_found(join);
    o->foreign =
        (struct pipeline_source){ .next = next_found, .check = check_time, .context = join };
    return STATUS_OK;
}
