/* Note: what is kept together with a write, for a while.
 *
 * A note is a row in the partition of the collection, put by the commit that puts the rows of the document. Its key
 * begins with the stretch of time in which it was written, so that what is old is one range and leaves by one
 * tombstone, without anybody looking at single notes. Whoever reads looks into the few stretches that may be there.
 *
 * Keeps: a note is there for LIMIT_NOTE_MS at least and two stretches more at most, if the purger runs. Nothing is
 * removed while a clock leap waits to be confirmed.
 * Threads: any; first_note is changed by the committing thread. Start reading at note_put(). */
#include "engine/purger_parts.h"

enum { STRETCH_MS = 15 * 60 * 1000, STRETCHES = LIMIT_NOTE_MS / STRETCH_MS + 3 };
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

static status find_in(struct request *request, struct storage_scan *scan, uint32_t stretch,
                      bytes key, struct buffer *out)
{
    struct buffer start = buffer_in(request->arena);
    bytes prefix, row_key, value;

    row_key_notes_of(&start, stretch, key);
    TRY(buffer_finish(&start, &prefix));
    storage_scan_seek(scan, prefix);
    while (storage_scan_next(scan, &row_key, &value) && bytes_starts_with(row_key, prefix))
        TRY(take(request, row_key, value, out));
    return storage_scan_status(scan);
}

status note_find(struct request *request, const struct collection *collection, bytes key,
                 struct note **out, size_t *count_out)
{
    /* The write that is asked about may be younger than the request. */
    uint32_t last = stretch_of(clock_now(request->engine->options.clock));
    uint32_t first = atomic_load(&collection->state->first_note);
    struct buffer found = buffer_in(request->arena);
    const struct storage_range notes = ALL_NOTES;
    struct storage_scan *scan;
    status s = STATUS_OK;

    *out = NULL;
    *count_out = 0;
    if (last >= STRETCHES && first < last - STRETCHES)
        first = last - STRETCHES;
    if (first > last)
        return STATUS_OK;
    TRY(storage_scan_open(request->engine->storage, NULL,
                          address(collection->state->partition, SPACE_META), &notes, &scan));
    for (uint32_t stretch = first; s.code == OK && stretch <= last; stretch++)
        s = find_in(request, scan, stretch, key, &found);
    storage_scan_close(scan);
    *out = (struct note *)(void *)found.data;
    *count_out = s.code == OK ? found.len / sizeof(struct note) : 0;
    return s;
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
    forgetting.commit = (struct commit){
        .stamp = forget_stamp, .done = forget_done, .owner = &forgetting, .is_barrier = true
    };
    return commit_and_wait(pass->engine->queue, &forgetting.commit);
}
