/* Document: keys, and reading by key.
 *
 * A document's locator row (partition key, id) says where its body lies: the slot. A read is locator,
 * verdict, body. Between the two the body may have moved, because the document was written again;
 * then the locator is read again. A dead document is not found. Small documents that were read lately are
 * recalled (recall.h) by requests that look at the newest state, and judged like any other; for most of the others a hint
 * says where the body lies (hints.h), and the locator is not asked if the document is there and alive.
 *
 * Threads: any; no locks. */
#include "engine/state.h"

#include <inttypes.h>

/* ---- keys ----------------------------------------------------------------------------------------- */

/* The value at the end of a partition key path; arrays are not entered. */
static struct value value_at(bytes document, const struct path *path)
{
    struct value value = { .type = VALUE_DOCUMENT, .raw = document };

    for (size_t i = 0; i < path->count; i++) {
        struct field field;
        bool is_found = false;
        if (value.type != VALUE_DOCUMENT)
            return (struct value){ .type = VALUE_MISSING };
        struct document_walk walk = document_fields(value_document(value));
        while (!is_found && document_next(&walk, &field))
            is_found = bytes_equal(field.name, path->parts[i]);
        if (!is_found)
            return (struct value){ .type = VALUE_MISSING };
        value = field.value;
    }
    return value;
}

status document_key_make(struct arena *arena, const struct collection *collection, bytes document,
                         struct value id, struct document_key *out)
{
    struct buffer partition = buffer_in(arena), encoded_id = buffer_in(arena);

    *out = (struct document_key){ 0 };
    for (size_t i = 0; i < collection->definition.partition_path_count; i++) {
        const struct path *path;
        TRY(path_parse(arena, collection->definition.partition_paths[i], &path));
        key_append_value(&partition, value_at(document, path), KEY_ASCENDING);
    }
    key_append_value_by(&encoded_id, collection->definition.collation, id, KEY_ASCENDING);
    TRY(buffer_finish(&partition, &out->partition));
    TRY(buffer_finish(&encoded_id, &out->id));
    if (out->partition.len + out->id.len > LIMIT_KEY_BYTES)
        return status_fail(arena, TOO_LARGE, "the document's key takes %zu bytes, limit %d",
                           out->partition.len + out->id.len, LIMIT_KEY_BYTES);
    return STATUS_OK;
}

status document_key_split(const struct collection *collection, bytes joined,
                          struct document_key *out)
{
    size_t len = 0;

    for (size_t i = 0; i < collection->definition.partition_path_count; i++) {
        size_t part = key_value_length(bytes_from(joined, len), KEY_ASCENDING);
        if (part == 0)
            return status_of(CORRUPT, "a stored document key does not fit the partition key paths");
        len += part;
    }
    out->partition = bytes_of(joined.data, len);
    out->id = bytes_from(joined, len);
    return STATUS_OK;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

status document_locate(struct request *request, struct storage_view *view,
                       const struct collection *collection, bytes locator_key,
                       struct stamp *stamp_out, uint64_t *birth_out, bool *is_there_out)
{
    struct row_address rows = address(collection->state->partition, SPACE_ROWS);
    struct storage_value pin;
    bytes dates;

    *is_there_out = false;
    status s = storage_get(request->storage, view, rows, locator_key, &pin);
    if (s.code == NOT_FOUND)
        return STATUS_OK;
    TRY(s);
    bool is_sound = row_read_locator(pin.value, stamp_out, birth_out);
    s = is_sound ? arena_copy(request->arena, stamp_out->dates, &dates)
                 : status_of(CORRUPT, "a stored locator row is damaged");
    storage_value_release(request->storage, &pin);
    TRY(s);
    stamp_out->dates = dates;
    *is_there_out = true;
    return STATUS_OK;
}

static status slot_read(struct storage *storage, struct storage_view *view, partition_id partition,
                        const struct hint *place, struct storage_value *pin_out,
                        struct row_body *out)
{
    uint8_t slot[ROW_SLOT_BYTES];

    row_key_slot(slot, place->lane, place->order, place->seq);
    TRY(storage_get(storage, view, address(partition, SPACE_BODIES), bytes_of(slot, sizeof(slot)),
                    pin_out));
    if (row_read_body(pin_out->value, out))
        return STATUS_OK;
    storage_value_release(storage, pin_out);
    return status_of(CORRUPT, "a stored document is damaged");
}

status body_read(struct storage *storage, struct storage_view *view, partition_id partition,
                 const struct stamp *stamp, struct storage_value *pin_out, struct row_body *out)
{
    const struct hint place = { stamp->lane, expiry_order(stamp), stamp->seq };

    return slot_read(storage, view, partition, &place, pin_out, out);
}

status document_judge(struct storage *storage, struct storage_view *view, struct arena *arena,
                      const struct collection *collection, const struct stamp *stamp, time_ms now,
                      enum verdict *out)
{
    struct storage_value pin;
    struct row_body body;

    *out = expiry_judge(&collection->policy, stamp, now);
    if (*out != UNDECIDED)
        return STATUS_OK;
    status s = body_read(storage, view, collection->state->partition, stamp, &pin, &body);
    if (s.code == NOT_FOUND) {
        *out = DEAD; /* cut off: it had died before */
        return STATUS_OK;
    }
    TRY(s);
    *out = expiry_judge_document(&collection->policy, stamp, body.document, arena, now);
    storage_value_release(storage, &pin);
    return STATUS_OK;
}

static bool is_cut(const struct lane_state *lane, time_ms order, uint64_t seq)
{
    return seq <= atomic_load(&lane->cut_seq) && order <= atomic_load(&lane->cut_upto);
}

bool collection_is_cut(const struct collection_state *state, const struct stamp *stamp)
{
    return is_cut(&state->lanes[stamp->lane], expiry_order(stamp), stamp->seq);
}

/* ---- reading -------------------------------------------------------------------------------------- */

enum { READ_TRIES = 100 };

static status not_found(void)
{
    return status_of(NOT_FOUND, "there is no document with this key");
}

/* False if the locator still says the same: the body is nowhere else. */
static status has_moved(struct request *request, const struct collection *collection,
                        bytes locator_key, const struct stamp *before, bool *out)
{
    struct stamp now;
    uint64_t birth;
    bool is_there;

    *out = false;
    TRY(document_locate(request, request->view, collection, locator_key, &now, &birth, &is_there));
    *out = is_there && (now.seq != before->seq || now.lane != before->lane ||
                        !bytes_equal(now.dates, before->dates));
    return STATUS_OK;
}

static void show(const struct stamp *stamp, bytes document, struct document *out)
{
    out->bson = document;
    out->seq = stamp->seq;
    out->written_at_s = stamp->written_at_s;
    out->own_ttl = stamp->own_ttl;
}

/* One try; NOT_FOUND with *is_moved_out if the body was not where the locator said. */
static status read_once(struct request *request, const struct collection *collection,
                        bytes locator_key, struct document *out, bool *is_moved_out)
{
    struct stamp stamp;
    struct row_body body;
    bool is_there;

    *is_moved_out = false;
    TRY(document_locate(request, request->view, collection, locator_key, &stamp, &out->birth_seq,
                        &is_there));
    if (!is_there)
        return not_found();
    enum verdict verdict = expiry_judge(&collection->policy, &stamp, request->now);
    if (verdict == DEAD)
        return not_found();
    status s = body_read(request->storage, request->view, collection->state->partition, &stamp,
                         &out->pin, &body);
    *is_moved_out = s.code == NOT_FOUND;
    /* Whether an older document has died only its body could tell; without one, it had. */
    if (s.code == NOT_FOUND && verdict == UNDECIDED)
        TRY(has_moved(request, collection, locator_key, &stamp, is_moved_out));
    if (s.code == NOT_FOUND)
        return not_found();
    TRY(s);
    if (verdict == UNDECIDED && expiry_judge_document(&collection->policy, &stamp, body.document,
                                                      request->arena, request->now) == DEAD) {
        storage_value_release(request->storage, &out->pin);
        return not_found();
    }
    show(&stamp, body.document, out);
    return STATUS_OK;
}

static status look_up(struct request *request, const struct collection *collection,
                      bytes locator_key, struct document *out)
{
    bool is_moved = true;
    status s = not_found();

    for (int i = 0; i < READ_TRIES && is_moved; i++)
        s = read_once(request, collection, locator_key, out, &is_moved);
    return is_moved ? status_of(CORRUPT, "a document's body is missing") : s;
}

/* False if it has to be looked up. */
static bool recall_document(struct request *request, const struct recall_question *question,
                            struct document *out, status *status_out)
{
    const struct expiry_policy *policy = &question->collection->policy;
    struct row_body body;
    bytes row;

    *status_out = STATUS_OK;
    if (!recall_find(request->engine->recall, question, request->arena, &row))
        return false;
    bool is_sound = row_read_body(row, &body);
    ASSERT(is_sound);
    if (expiry_judge_document(policy, &body.stamp, body.document, request->arena, request->now) ==
        DEAD) {
        *status_out = not_found();
        return true;
    }
    out->birth_seq = body.birth_seq;
    show(&body.stamp, body.document, out);
    return true;
}

/* What a hint leads to counts if it is the document and alive; false if the locator has to be asked. Whoever has written the
 * document since has removed this body, unless it was cut off. The mark of its lane is asked first, because a rule that takes the number of
 * an old one removes what that has left behind and then the mark (rule_forget_cuts). */
static bool follow_hint(struct request *request, const struct recall_question *question,
                        struct document *out)
{
    const struct collection *collection = question->collection;
    struct row_body body;
    struct hint hint;

    if (!request->engine->hints || !hints_find(request->engine->hints, question->hash, &hint) ||
        is_cut(&collection->state->lanes[hint.lane], hint.order, hint.seq) ||
        slot_read(request->storage, NULL, collection->state->partition, &hint, &out->pin, &body)
                .code != OK)
        return false;
    if (!bytes_equal(body.key, bytes_from(question->key, 1)) ||
        expiry_judge_document(&collection->policy, &body.stamp, body.document, request->arena,
                              request->now) != ALIVE) {
        storage_value_release(request->storage, &out->pin);
        out->pin = (struct storage_value){ 0 };
        return false;
    }
    out->birth_seq = body.birth_seq;
    show(&body.stamp, body.document, out);
    return true;
}

/* The locator was asked; the next read need not ask it. */
static void keep_hint(struct request *request, const struct recall_question *question,
                      const struct document *document)
{
    struct row_body body;
    bool is_sound = row_read_body(document->pin.value, &body);

    ASSERT(is_sound);
    hints_keep(request->engine->hints, question->hash, &body.stamp);
}

static status recall_or_look_up(struct request *request, const struct collection *collection,
                                bytes locator_key, struct document *out)
{
    struct engine *engine = request->engine;
    struct recall_question question;
    status s;

    if (!engine->recall || request->view || request->transaction)
        return look_up(request, collection, locator_key, out);
    question = recall_ask(&engine->latches, collection, locator_key);
    if (engine->hints)
        hints_fetch(engine->hints, question.hash);
    if (recall_document(request, &question, out, &s))
        return s;
    s = STATUS_OK;
    if (!follow_hint(request, &question, out)) {
        s = look_up(request, collection, locator_key, out);
        if (s.code == OK)
            keep_hint(request, &question, out);
    }
    if (s.code == OK)
        recall_keep(engine->recall, &question, out->pin.value);
    return s;
}

status document_read(struct request *request, const struct collection *collection,
                     struct document_key key, struct document *out)
{
    struct buffer locator = buffer_in(request->arena);
    bytes locator_key;

    *out = (struct document){ .key = key };
    row_key_locator(&locator, key);
    TRY(buffer_finish(&locator, &locator_key));
    status s = recall_or_look_up(request, collection, locator_key, out);
    if (s.code == OK)
        metrics_add(request->engine->metrics, METRIC_documents_read_total, 1);
    return s;
}

void document_release(struct request *request, struct document *document)
{
    if (document->pin.value.data) /* a slot scan lends its own row; what was recalled is a copy */
        storage_value_release(request->storage, &document->pin);
    document->bson = BYTES_NONE;
}

/* Dates are looked for in the document, as in one that is older than every rule. */
time_ms document_deadline(const struct collection *collection, const struct document *document,
                          struct arena *arena)
{
    const struct expiry_policy *policy = &collection->policy;
    const struct stamp stamp = { .written_at_s = document->written_at_s,
                                 .own_ttl = document->own_ttl };

    if (policy->default_ttl == TTL_OFF && policy->rule_count == 0)
        return TIME_NEVER;
    arena_position mark = arena_mark(arena);
    time_ms deadline = expiry_deadline(policy, &stamp, document->bson, arena);
    arena_release(arena, mark);
    return deadline;
}

/* By a rule of today, or because a policy of before has ended everything that old. */
bool document_would_be_dead(const struct request *request, const struct collection *collection,
                            const struct document *document)
{
    const struct stamp stamp = { .seq = UINT64_MAX,
                                 .written_at_s = document->written_at_s,
                                 .own_ttl = document->own_ttl };

    return expiry_is_due(document_deadline(collection, document, request->arena), request->now) ||
           expiry_judge(&collection->policy, &stamp, request->now) == DEAD;
}
