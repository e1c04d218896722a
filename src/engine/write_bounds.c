/* Write, bounds: what leaves a bounded collection when something comes.
 *
 * A collection with an index by arrival may be bounded in documents and in bytes. Writes that bring documents take
 * turns in it, so what each of them counts is there when it commits. Before it takes latches, a write looks which
 * documents came first and may have to leave; when it knows what its operations do, it makes as many of them leave
 * as are too many, in the same commit. A write that brings more than fits keeps what it brought last.
 *
 * Changes of documents that are there take no turn: they may grow a collection past its bounds until something
 * comes. The dead count for nothing. Bounds that have become much tighter are reached over several writes: each
 * makes as much leave as it brings and a little more, so that none of them waits for all of it.
 *
 * Keeps: turns are taken inside the gates and before latches, by collection id; whoever committed gives them back.
 * Start reading at bounds_enter(). */
#include "engine/write.h"

/* What one write makes leave, beside as much as it brings. */
enum { LEAVE_DOCUMENTS = 1000, LEAVE_BYTES = 8 * 1024 * 1024 };

static bool is_bounded(const struct collection *collection, const struct index **out)
{
    const struct index *index = collection_arrivals(collection);

    *out = index;
    return index && index->state == INDEX_READY &&
           (index->definition.keep_bytes > 0 || index->definition.keep_documents > 0);
}

static bool may_come(const struct write_op *op)
{
    return op->outcome.code == OK && (op->kind == WRITE_INSERT || op->kind == WRITE_UPSERT);
}

status bounds_check(struct arena *arena, const struct collection *collection,
                    const struct write_op *op)
{
    const struct index *index;

    if ((op->kind != WRITE_INSERT && op->kind != WRITE_UPSERT) || !is_bounded(collection, &index))
        return STATUS_OK;
    int64_t most = index->definition.keep_bytes;
    if (most > 0 && op->document.len > (uint64_t)most)
        return status_fail(arena, TOO_LARGE,
                           "the document has %zu bytes, but the collection keeps at most %lld",
                           op->document.len, (long long)most);
    return STATUS_OK;
}

/* ---- what may have to leave -------------------------------------------------------------------------- */

/* The dead among them, if there can be any. */
static void count_all(struct write *write, struct bounds *bounds)
{
    struct collection_size size = collection_size(write->request, bounds->collection);

    bounds->documents = (int64_t)size.documents;
    bounds->bytes = (int64_t)size.bytes;
}

/* As of now, whatever instant the request has fixed before: it may have written since. */
static status leave_out_dead(struct write *write, struct bounds *bounds)
{
    const struct expiry_policy *policy = &bounds->collection->policy;
    struct request now = *write->request;
    struct collection_figures figures;

    /* Horizons that are left have dead ones behind them, which take no room but are still there. */
    if (policy->default_ttl == TTL_OFF && policy->rule_count == 0 &&
        policy->inheriting_horizon == INT64_MIN && policy->own_horizon == INT64_MIN)
        return STATUS_OK;
    now.view = NULL;
    status s = collection_figures(&now, bounds->collection, &figures);
    request_loosen(&now);
    TRY(s);
    bounds->documents = (int64_t)figures.documents;
    bounds->bytes = (int64_t)figures.bytes;
    return STATUS_OK;
}

/* How much is there too much, if everything comes that may? */
struct excess {
    int64_t documents, bytes; /* 0 and less: nothing */
};

static struct excess excess_of(const struct index_definition *index, int64_t documents,
                               int64_t size)
{
    return (struct excess){
        .documents = index->keep_documents > 0 ? documents - index->keep_documents : 0,
        .bytes = index->keep_bytes > 0 ? size - index->keep_bytes : 0,
    };
}

static bool is_excess(struct excess excess)
{
    return excess.documents > 0 || excess.bytes > 0;
}

static status add_arrival(struct arena *arena, struct bounds *bounds, bytes document_key,
                          uint32_t body_len)
{
    struct buffer locator = buffer_in(arena);

    if (bounds->count == bounds->room) {
        size_t room = bounds->room ? 2 * bounds->room : 16;
        struct arrival *more;
        TRY(ARENA_NEW(arena, room, &more));
        if (bounds->count > 0)
            memcpy(more, bounds->first, bounds->count * sizeof(*more));
        bounds->first = more;
        bounds->room = room;
    }
    row_key_locator(&locator, (struct document_key){ .id = document_key });
    struct arrival *arrival = &bounds->first[bounds->count++];
    arrival->body_len = body_len;
    return buffer_finish(&locator, &arrival->locator_key);
}

/* One row of the index; the dead do not count. */
static status look_at(struct write *write, struct storage_view *view, struct bounds *bounds,
                      bytes key, bytes value, struct excess *excess)
{
    struct stamp stamp;
    enum verdict verdict;
    size_t values_len;

    if (!row_read_index(value, &stamp, &values_len) || values_len != ROW_ARRIVAL_BYTES ||
        key.len < ROW_INDEX_HEAD_BYTES + values_len)
        return status_of(CORRUPT, "a stored index row is damaged");
    TRY(document_judge(write->request->engine->storage, view, write->request->arena,
                       bounds->collection, &stamp, write->request->now, &verdict));
    if (verdict == DEAD)
        return STATUS_OK;
    if (bounds->count == 0)
        atomic_store(&bounds->state->first_arrival,
                     row_read_arrival(key.data + ROW_INDEX_HEAD_BYTES));
    excess->documents--;
    excess->bytes -= stamp.body_len;
    return add_arrival(write->request->arena, bounds,
                       bytes_from(key, ROW_INDEX_HEAD_BYTES + values_len), stamp.body_len);
}

/* Stops when enough may leave, or as much as one write may make leave. */
static status find_first(struct write *write, struct bounds *bounds, uint32_t index_id,
                         struct excess excess, struct excess least)
{
    struct storage *storage = write->request->engine->storage;
    struct buffer start = buffer_in(write->request->arena);
    struct storage_range range = { 0 };
    struct storage_view *view = NULL;
    struct storage_scan *scan = NULL;
    uint8_t first[ROW_ARRIVAL_BYTES];
    bytes key, value;
    status s;

    row_key_index(&start, index_id);
    row_write_arrival(first, atomic_load(&bounds->state->first_arrival));
    buffer_append(&start, bytes_of(first, sizeof(first)));
    TRY(buffer_finish(&start, &range.start));
    bytes prefix = bytes_of(range.start.data, ROW_INDEX_HEAD_BYTES);
    TRY(storage_view_open(storage, &view));
    TRY_GOTO(storage_scan_open(storage, view, address(bounds->state->partition, SPACE_ROWS), &range,
                               &scan),
             done);
    while (s.code == OK && is_excess(excess) && !bounds->has_no_more &&
           excess.documents > least.documents && excess.bytes > least.bytes) {
        bounds->has_no_more = !storage_scan_next(scan, &key, &value) ||
                              !bytes_starts_with(key, prefix);
        if (!bounds->has_no_more)
            s = look_at(write, view, bounds, key, value, &excess);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
done:
    if (scan)
        storage_scan_close(scan);
    storage_view_close(storage, view);
    return s;
}

static status enter(struct write *write, struct bounds *bounds, const struct index *index)
{
    const struct index_definition *definition = &index->definition;
    int64_t documents = 0, size = 0;

    for (size_t i = 0; i < write->op_count; i++) {
        const struct write_op *op = &write->ops[i];
        if (write->steps[i].collection != bounds->collection || op->outcome.code != OK ||
            op->kind == WRITE_DELETE)
            continue;
        documents += may_come(op);
        size += (int64_t)op->document.len;
    }
    count_all(write, bounds);
    if (!is_excess(excess_of(definition, bounds->documents + documents, bounds->bytes + size)))
        return STATUS_OK;
    TRY(leave_out_dead(write, bounds));
    struct excess excess = excess_of(definition, bounds->documents + documents,
                                     bounds->bytes + size);
    struct excess least = { .documents = excess.documents - documents - LEAVE_DOCUMENTS,
                            .bytes = excess.bytes - size - LEAVE_BYTES };
    bounds->is_full = is_excess(excess);
    return bounds->is_full ? find_first(write, bounds, index->id, excess, least) : STATUS_OK;
}

static bool is_coming_to(const struct write *write, const struct collection_state *state)
{
    for (size_t i = 0; i < write->op_count; i++) {
        if (write->ops[i].collection->state == state && may_come(&write->ops[i]))
            return true;
    }
    return false;
}

status bounds_enter(struct write *write)
{
    const struct index *index;

    for (size_t i = 0; i < write->state_count; i++) {
        struct collection_state *state = write->states[i];
        const struct collection *collection = atomic_load(&state->current);
        if (!is_bounded(collection, &index) || !is_coming_to(write, state))
            continue;
        if (!write->bounds)
            TRY(ARENA_NEW(write->request->arena, write->state_count, &write->bounds));
        if (!gate_close_unless_busy(&state->arrivals))
            return status_of(BUSY, "too many requests wait to add to the collection; try again");
        struct bounds *bounds = &write->bounds[write->bounds_count++];
        *bounds = (struct bounds){ .state = state, .collection = collection };
        TRY(enter(write, bounds, index));
    }
    return STATUS_OK;
}

void bounds_leave(struct write *write)
{
    while (write->bounds_count > 0)
        gate_open(&write->bounds[--write->bounds_count].state->arrivals);
    write->bounds = NULL; /* its memory may be given back before another try */
}

/* ---- what has to leave ------------------------------------------------------------------------------- */

static bool was_alive(const struct document_change *change)
{
    return change->has_old && change->old_verdict == ALIVE;
}

/* What the operations bring and take. */
static void count_changes(const struct write *write, struct bounds *bounds)
{
    for (const struct document_change *change = write->changes; change; change = change->next) {
        if (change->state != bounds->state || !change->is_touched)
            continue;
        if (was_alive(change)) {
            bounds->documents--;
            bounds->bytes -= change->old.body_len;
        }
        if (change->has_new) {
            bounds->documents++;
            bounds->bytes += (int64_t)change->document.len;
        }
    }
}

static bool is_too_much(const struct bounds *bounds)
{
    const struct index_definition *index = &collection_arrivals(bounds->collection)->definition;

    return is_excess(excess_of(index, bounds->documents, bounds->bytes));
}

static void displace(struct document_change *change)
{
    change->is_touched = change->is_displaced = true;
    change->is_visible = change->has_new = false;
}

/* One that an operation of this write has changed keeps its place in the order, and leaves like the others. */
static status displace_stored(struct write *write, struct bounds *bounds,
                              const struct arrival *arrival)
{
    struct step_of_write step = { .collection = bounds->collection,
                                  .locator_key = arrival->locator_key };
    struct document_change *change;

    TRY(write_find_change(write, &step, &change));
    if (!was_alive(change)) { /* deleted since it was counted */
        bounds->documents--;
        bounds->bytes -= arrival->body_len;
        return STATUS_OK;
    }
    if (change->is_touched && !change->has_new)
        return STATUS_OK;
    if (!change->is_touched)
        write->leaving_count++;
    bounds->documents--;
    bounds->bytes -= change->is_touched ? (int64_t)change->document.len : change->old.body_len;
    displace(change);
    return STATUS_OK;
}

/* More came than there is room for: what came first in this write does not stay. */
static void displace_new(struct write *write, struct bounds *bounds)
{
    size_t last = write->op_count;

    while (last > 0 && (!write->steps[last - 1].change || !write->steps[last - 1].is_birth ||
                        write->steps[last - 1].change->state != bounds->state))
        last--;
    for (size_t i = 0; i + 1 < last && is_too_much(bounds); i++) {
        struct document_change *change = write->steps[i].change;
        if (!change || change->state != bounds->state || !write->steps[i].is_birth ||
            !change->has_new || change == write->steps[last - 1].change)
            continue;
        bounds->documents--;
        bounds->bytes -= (int64_t)change->document.len;
        displace(change);
    }
}

/* Upserts and inserts may have turned out to bring nothing. */
static bool has_come(const struct write *write, const struct bounds *bounds)
{
    for (size_t i = 0; i < write->op_count; i++) {
        const struct step_of_write *step = &write->steps[i];
        if (step->change && step->is_birth && step->change->state == bounds->state)
            return true;
    }
    return false;
}

status bounds_apply(struct write *write)
{
    for (size_t i = 0; i < write->bounds_count; i++) {
        struct bounds *bounds = &write->bounds[i];
        if (!bounds->is_full || !has_come(write, bounds))
            continue;
        count_changes(write, bounds);
        for (size_t k = 0; k < bounds->count && is_too_much(bounds); k++)
            TRY(displace_stored(write, bounds, &bounds->first[k]));
        if (is_too_much(bounds) && bounds->has_no_more)
            displace_new(write, bounds);
    }
    return STATUS_OK;
}
