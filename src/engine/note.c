/* Note: what is kept together with a write, for a while.
 *
 * A note is a row in the partition of the collection, put by the commit that puts the rows of the document. Its key
 * begins with the stretch of time in which it was written, so that what is old is one range and leaves by one
 * tombstone. Before it does, whoever uses notes may say which of them are still needed (engine_keep_notes): these are
 * put into the present stretch. So the one who uses a note for longer pays nothing for it; the purger does, once in a
 * lifetime of the note. Whoever reads looks into the few stretches that are there.
 *
 * Keeps: a note is there for LIMIT_NOTE_MS at least and, if nobody needs it, two stretches more at most, if the purger
 * runs. Nothing is removed while a clock leap waits to be confirmed, nor after the one who was asked has left.
 * Threads: any; first_note is changed by the committing thread. Start reading at note_put(). */
#include "engine/purger_parts.h"

enum { STRETCH_MS = 15 * 60 * 1000 };
/* Notes that are looked at before clients go first, and what of them goes into one commit. */
enum { PAGE_NOTES = 1000, PAGE_BYTES = 1024 * 1024, POSITION_BYTES = 2 * LIMIT_KEY_BYTES + 64 };
static const uint32_t NO_NOTES = UINT32_MAX;
/* ROW_TAG_NOTE, and the tag behind it. */
#define ALL_NOTES                                              \
    {                                                          \
        .start = BYTES_LITERAL("w"), .end = BYTES_LITERAL("x") \
    }

static uint32_t stretch_of(time_ms at)
{
    return at > 0 ? (uint32_t)(at / STRETCH_MS) : 0;
}

/* ---- writing ---------------------------------------------------------------------------------------- */

status note_lay_out(const struct request *request, const struct write_note *note, bytes *key_out)
{
    struct buffer key = buffer_in(request->arena);

    if (note->key.len == 0 || note->key.len > LIMIT_KEY_BYTES)
        return status_fail(request->arena, TOO_LARGE, "the key of a note has %zu bytes, limit %d",
                           note->key.len, LIMIT_KEY_BYTES);
    row_key_note(&key, stretch_of(request->now), note->key, note->part);
    return buffer_finish(&key, key_out);
}

void note_put(struct engine *engine, struct storage_batch *batch, struct collection_state *state,
              bytes row_key, bytes value)
{
    uint32_t stretch = 0;
    bool is_note = row_note_stretch_of(row_key, &stretch);

    ASSERT(is_note);
    storage_put(engine->storage, batch, address(state->partition, SPACE_META), row_key, value);
    if (stretch < atomic_load(&state->first_note))
        atomic_store(&state->first_note, stretch);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

static status take(struct request *request, bytes key, bytes value, struct buffer *out)
{
    struct note note;

    if (!row_note_part_of(key, &note.part))
        return status_of(CORRUPT, "a stored note is damaged");
    TRY(arena_copy(request->arena, value, &note.value));
    buffer_append(out, bytes_of(&note, sizeof(note)));
    return out->is_failed ? arena_exhausted(request->arena) : STATUS_OK;
}

/* The notes of the key in one stretch; *stretch becomes the next one in which there are notes. */
static status find_in(struct request *request, struct storage_scan *scan, uint32_t *stretch,
                      bytes key, struct buffer *out)
{
    struct buffer start = buffer_in(request->arena);
    bytes prefix, row_key, value;
    uint32_t next = NO_NOTES;

    row_key_notes_of(&start, *stretch, key);
    TRY(buffer_finish(&start, &prefix));
    storage_scan_seek(scan, prefix);
    while (storage_scan_next(scan, &row_key, &value)) {
        if (!bytes_starts_with(row_key, prefix)) {
            if (!row_note_stretch_of(row_key, &next))
                return status_of(CORRUPT, "a stored note is damaged");
            break;
        }
        TRY(take(request, row_key, value, out));
    }
    *stretch = next > *stretch ? next : *stretch + 1;
    return storage_scan_status(scan);
}

status note_find(struct request *request, const struct collection *collection, bytes key,
                 struct note **out, size_t *count_out)
{
    /* The write that is asked about may be younger than the request. */
    uint32_t last = stretch_of(clock_now(request->engine->options.clock));
    uint32_t stretch = atomic_load(&collection->state->first_note);
    struct buffer found = buffer_in(request->arena);
    const struct storage_range notes = ALL_NOTES;
    struct storage_scan *scan;
    status s = STATUS_OK;

    *out = NULL;
    *count_out = 0;
    if (stretch > last)
        return STATUS_OK;
    TRY(storage_scan_open(request->engine->storage, NULL,
                          address(collection->state->partition, SPACE_META), &notes, &scan));
    while (s.code == OK && stretch <= last)
        s = find_in(request, scan, &stretch, key, &found);
    storage_scan_close(scan);
    *out = (struct note *)(void *)found.data;
    *count_out = s.code == OK ? found.len / sizeof(struct note) : 0;
    return s;
}

/* ---- keeping ---------------------------------------------------------------------------------------- */

void engine_keep_notes(struct engine *engine, note_keeper *keeper, void *context)
{
    struct purger *purger = &engine->purger;

    pthread_mutex_lock(&purger->keeper_lock);
    purger->keeper = keeper;
    purger->keeper_context = context;
    purger->has_keeper_left = keeper == NULL;
    pthread_mutex_unlock(&purger->keeper_lock);
}

enum keeping_rule { KEEP_NONE, KEEP_NEEDED, KEEP_ALL };

static enum keeping_rule keeping_rule(struct purger *purger)
{
    pthread_mutex_lock(&purger->keeper_lock);
    enum keeping_rule rule = purger->keeper            ? KEEP_NEEDED
                             : purger->has_keeper_left ? KEEP_ALL
                                                       : KEEP_NONE;
    pthread_mutex_unlock(&purger->keeper_lock);
    return rule;
}

/* CANCELLED: whoever could have said so has left meanwhile. */
static status ask_keeper(struct purger *purger, bytes key, bytes value, bool *is_needed_out)
{
    pthread_mutex_lock(&purger->keeper_lock);
    const bool is_there = purger->keeper != NULL;
    *is_needed_out = is_there && purger->keeper(purger->keeper_context, key, value);
    pthread_mutex_unlock(&purger->keeper_lock);
    return is_there ? STATUS_OK : status_of(CANCELLED, "nobody knows which notes are needed");
}

struct kept_note {
    bytes key, value; /* of the row in the present stretch */
};
/* A walk over the notes that are about to go. */
struct keeping {
    struct commit commit;
    struct purge_pass *pass;
    struct collection_state *state;
    struct kept_note *notes; /* of one page; pass->arena */
    size_t count, size_bytes;
    bytes position; /* where the next page begins */
    bytes end;
};

static status keep_note(struct keeping *keeping, bytes row_key, bytes value)
{
    struct purge_pass *pass = keeping->pass;
    struct kept_note *note = &keeping->notes[keeping->count];
    struct buffer out = buffer_in(pass->arena);
    bool is_needed;
    uint32_t part;
    bytes key;

    TRY(row_note_key_of(pass->arena, row_key, &key));
    TRY(ask_keeper(&pass->engine->purger, key, value, &is_needed));
    if (!is_needed)
        return STATUS_OK;
    if (!row_note_part_of(row_key, &part))
        return status_of(CORRUPT, "a stored note is damaged");
    row_key_note(&out, stretch_of(pass->cutoff), key, part);
    TRY(buffer_finish(&out, &note->key));
    TRY(arena_copy(pass->arena, value, &note->value));
    keeping->count++;
    keeping->size_bytes += value.len;
    return STATUS_OK;
}

/* Alone in its group, so that a younger note in the same place can be seen and is left alone. */
static status keep_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct keeping *keeping = commit->owner;
    struct engine *engine = keeping->pass->engine;
    struct row_address where = address(keeping->state->partition, SPACE_META);
    struct storage_value younger;

    for (size_t i = 0; i < keeping->count; i++) {
        const struct kept_note *note = &keeping->notes[i];
        status s = storage_get(engine->storage, NULL, where, note->key, &younger);
        if (s.code == OK)
            storage_value_release(engine->storage, &younger);
        else if (s.code == NOT_FOUND)
            storage_put(engine->storage, batch, where, note->key, note->value);
        else
            return s;
    }
    return STATUS_OK;
}

/* *is_last_out: there are no more. */
static status read_page(struct keeping *keeping, uint8_t *position, bool *is_last_out)
{
    struct purge_pass *pass = keeping->pass;
    const struct storage_range range = { .start = keeping->position, .end = keeping->end };
    struct storage_scan *scan;
    bytes key, value;
    status s = STATUS_OK;
    size_t seen = 0;

    *is_last_out = true;
    TRY(storage_scan_open(pass->engine->storage, NULL,
                          address(keeping->state->partition, SPACE_META), &range, &scan));
    while (s.code == OK && storage_scan_next(scan, &key, &value)) {
        if (seen++ == PAGE_NOTES || keeping->size_bytes >= PAGE_BYTES) {
            memcpy(position, key.data, key.len);
            keeping->position = bytes_of(position, key.len);
            *is_last_out = false;
            break;
        }
        s = keep_note(keeping, key, value);
    }
    if (s.code == OK)
        s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

static status keep_page(struct keeping *keeping, uint8_t *position, bool *is_last_out)
{
    TRY(purge_yield(keeping->pass));
    keeping->count = keeping->size_bytes = 0;
    TRY(ARENA_NEW(keeping->pass->arena, PAGE_NOTES, &keeping->notes));
    TRY(read_page(keeping, position, is_last_out));
    if (keeping->count == 0)
        return STATUS_OK;
    keeping->commit = (struct commit){ .stamp = keep_stamp, .owner = keeping, .is_barrier = true };
    return commit_and_wait(keeping->pass->engine->queue, &keeping->commit);
}

/* What is needed of everything before the stretch goes on in the present one. */
static status keep_needed(struct purge_pass *pass, struct collection_state *state, uint32_t before)
{
    struct keeping keeping = { .pass = pass, .state = state, .position = BYTES_LITERAL("w") };
    struct buffer end = buffer_in(pass->arena);
    bool is_last = false;
    uint8_t *position;

    row_key_notes(&end, before);
    TRY(buffer_finish(&end, &keeping.end));
    TRY(ARENA_NEW(pass->arena, POSITION_BYTES, &position));
    while (!is_last) {
        arena_position mark = arena_mark(pass->arena);
        status s = keep_page(&keeping, position, &is_last);
        arena_release(pass->arena, mark);
        TRY(s);
    }
    return STATUS_OK;
}

/* ---- purging ---------------------------------------------------------------------------------------- */

/* Alone in its group, so that every note that was written before can be seen. */
struct forgetting {
    struct commit commit;
    struct purge_pass *pass;
    struct collection_state *state;
    uint32_t keep_from;
    uint32_t first; /* that is left */
};

static status find_first(struct forgetting *forgetting)
{
    const struct storage_range notes = ALL_NOTES;
    struct storage_scan *scan;
    bytes key, value;

    forgetting->first = NO_NOTES;
    TRY(storage_scan_open(forgetting->pass->engine->storage, NULL,
                          address(forgetting->state->partition, SPACE_META), &notes, &scan));
    if (storage_scan_next(scan, &key, &value) && !row_note_stretch_of(key, &forgetting->first))
        forgetting->first = 0;
    status s = storage_scan_status(scan);
    storage_scan_close(scan);
    return s;
}

static status forget_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct forgetting *forgetting = commit->owner;
    struct engine *engine = forgetting->pass->engine;
    struct buffer end = buffer_in(forgetting->pass->arena);
    bytes upto;

    TRY(find_first(forgetting));
    if (forgetting->first >= forgetting->keep_from)
        return STATUS_OK;
    row_key_notes(&end, forgetting->keep_from);
    TRY(buffer_finish(&end, &upto));
    storage_delete_range(engine->storage, batch, address(forgetting->state->partition, SPACE_META),
                         BYTES_LITERAL("w"), upto);
    forgetting->first = forgetting->keep_from;
    return STATUS_OK;
}

static void forget_done(struct commit *commit, status outcome)
{
    struct forgetting *forgetting = commit->owner;

    if (outcome.code == OK)
        atomic_store(&forgetting->state->first_note, forgetting->first);
}

status note_purge(struct purge_pass *pass, const struct collection *collection)
{
    struct forgetting forgetting = { .pass = pass,
                                     .state = collection->state,
                                     .keep_from = stretch_of(pass->cutoff - LIMIT_NOTE_MS) };

    if (atomic_load(&collection->state->first_note) >= forgetting.keep_from)
        return STATUS_OK;
    const enum keeping_rule rule = keeping_rule(&pass->engine->purger);
    if (rule == KEEP_ALL)
        return STATUS_OK;
    if (rule == KEEP_NEEDED)
        TRY(keep_needed(pass, collection->state, forgetting.keep_from));
    forgetting.commit = (struct commit){
        .stamp = forget_stamp, .done = forget_done, .owner = &forgetting, .is_barrier = true
    };
    return commit_and_wait(pass->engine->queue, &forgetting.commit);
}
