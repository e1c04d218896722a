/* Stream: the cursors of the server.
 *
 * A table of numbered places. The id that the client gets has the number of the place in its low bits and
 * chance above, so that nobody guesses the cursor of another one. A stream that runs is taken out of reach
 * of others (in use), so its state needs no lock. What lies idle too long ends when it is asked for, and
 * every new cursor looks at some places for such; no thread watches over them.
 *
 *   FREE -> BUSY [stream_make]   BUSY -> IDLE [keep]   IDLE -> BUSY [claim]
 *   IDLE -> FREE [idle too long, killCursors, end of its session]   BUSY -> FREE [stream_drop]
 *
 * A cursor that is killed while it is BUSY is marked, and goes when its batch is done.
 *
 * A cursor that awaits documents looks, and if there are none it waits for the bell of its collection (tail.h) and looks again, until
 * its time is over; each look is a request of its own.
 *
 * Threads: the table is guarded by its lock, a leaf; a BUSY stream belongs to the command that runs it. */
#include "front/mongo/stream.h"

#include "front/mongo/explain.h"
#include "front/mongo/handlers.h"
#include "front/mongo/login.h"
#include "front/mongo/multi.h"
#include "front/mongo/operation.h"

enum {
    PLACE_BITS = 14,
    PLACES_SWEPT = 64,
    AWAIT_MS = 1000,
    NO_TRANSACTION = -1,
    LONG_BYTES = 1 << 20, /* of a batch that will probably be a full one */
};
_Static_assert(LIMIT_CURSORS <= 1 << PLACE_BITS, "an id has room for every place");

struct stream {
    int64_t id;
    struct stream_table *table;
    size_t place;
    struct arena *arena;
    struct stream_source source;
    bytes namespace;
    bytes name;       /* of the collection, the end of the namespace */
    bytes database;   /* its front */
    bytes session_id; /* empty: none */
    bytes owner;      /* digest of the user whose it is; empty: nobody's */
    int64_t multi;    /* number of the transaction that opened it; NO_TRANSACTION */
    bool never_idles;
    bool is_tailable, awaits;
    bool is_busy;
    bool is_told;           /* the client knows its id */
    _Atomic bool is_doomed; /* killed while it was busy; changed under the lock */
    time_ms used_at;
};

struct stream_table {
    pthread_mutex_t lock;
    size_t count;
    uint64_t opened, timed_out; /* since the start */
    size_t free_hint;
    size_t sweep_at; /* where idle cursors are looked for next */
    struct stream *places[LIMIT_CURSORS];
};

struct stream_table *stream_table_open(void)
{
    struct stream_table *table = memory_take_zeroed(1, sizeof(*table));

    if (table)
        pthread_mutex_init(&table->lock, NULL);
    return table;
}

static void give(struct stream *stream)
{
    if (stream->source.drop)
        stream->source.drop(stream->source.state);
    arena_close(stream->arena);
    memory_give(stream);
}

void stream_table_close(struct stream_table *table)
{
    for (size_t i = 0; i < LIMIT_CURSORS; i++) {
        if (table->places[i])
            give(table->places[i]);
    }
    pthread_mutex_destroy(&table->lock);
    memory_give(table);
}

struct stream_figures stream_figures(struct stream_table *table)
{
    pthread_mutex_lock(&table->lock);
    struct stream_figures figures = { .opened = table->opened,
                                      .timed_out = table->timed_out,
                                      .open = table->count };
    for (size_t i = 0; i < LIMIT_CURSORS && table->count > 0; i++) {
        const struct stream *stream = table->places[i];
        figures.busy += stream && stream->is_busy;
        figures.never_idle += stream && stream->never_idles;
    }
    pthread_mutex_unlock(&table->lock);
    return figures;
}

/* The user who has opened it, whatever else they have. */
static bool is_own(const struct command *command, const struct stream *stream)
{
    return bytes_equal(stream->owner, login_digest(command->session));
}

void stream_append_idle(struct command *command, bool is_all, struct buffer *out)
{
    struct stream_table *table = command->face->streams;

    pthread_mutex_lock(&table->lock);
    for (size_t i = 0, left = table->count; i < LIMIT_CURSORS && left > 0; i++) {
        const struct stream *stream = table->places[i];
        if (!stream)
            continue;
        left--;
        if (stream->is_busy || (!is_all && !is_own(command, stream)))
            continue;
        size_t row = document_begin(out);
        reply_text(out, "type", "idleCursor");
        reply_text(out, "host", command->face->address);
        reply_bytes(out, "ns", stream->namespace);
        if (stream->session_id.len > 0)
            lsid_append(out, "lsid", stream->session_id);
        reply_bool(out, "active", false);
        size_t cursor = reply_begin(out, "cursor");
        reply_int64(out, "cursorId", stream->id);
        reply_date(out, "lastAccessDate", stream->used_at);
        reply_bool(out, "noCursorTimeout", stream->never_idles);
        document_end(out, cursor);
        document_end(out, row);
    }
    pthread_mutex_unlock(&table->lock);
}

/* ---- places; under the lock ------------------------------------------------------------------------- */

static void vacate(struct stream_table *table, struct stream *stream)
{
    table->places[stream->place] = NULL;
    table->free_hint = stream->place;
    table->count--;
}

static bool is_idle_too_long(const struct command *command, const struct stream *stream)
{
    int64_t most = atomic_load(&command->face->ttl.settings[TTL_SETTING_cursorTimeoutMillis]);

    return !stream->is_busy && !stream->never_idles &&
           int64_sub_saturating(command->request.now, stream->used_at) >= most;
}

/* Ends what was idle too long, in the next `count` places. */
static void end_idle(const struct command *command, struct stream_table *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stream *stream = table->places[table->sweep_at++ % LIMIT_CURSORS];
        if (stream && is_idle_too_long(command, stream)) {
            table->timed_out++;
            vacate(table, stream);
            give(stream);
        }
    }
}

static bool settle(struct stream_table *table, struct stream *stream)
{
    for (size_t i = 0; i < LIMIT_CURSORS; i++) {
        size_t at = (table->free_hint + i) % LIMIT_CURSORS;
        if (table->places[at])
            continue;
        uint64_t chance;
        random_secret(&chance, sizeof(chance));
        stream->place = at;
        stream->id = (int64_t)((chance >> (PLACE_BITS + 2)) << PLACE_BITS | at);
        if (stream->id < 1 << PLACE_BITS)
            stream->id |= 1 << PLACE_BITS;
        table->places[at] = stream;
        table->free_hint = at + 1;
        table->count++;
        table->opened++;
        return true;
    }
    return false;
}

/* ---- making ----------------------------------------------------------------------------------------- */

static int64_t multi_of(const struct command *command)
{
    return command->multi == MULTI_NONE ? NO_TRANSACTION : command->txn_number;
}

status stream_make(struct command *command, struct stream **out)
{
    struct stream *stream = memory_take_zeroed(1, sizeof(*stream));

    *out = NULL;
    if (!stream)
        return status_of(OUT_OF_MEMORY, "no memory for another cursor");
    stream->table = command->face->streams;
    stream->is_busy = true;
    stream->arena = arena_open(LIMIT_CURSOR_BYTES);
    if (!stream->arena) {
        memory_give(stream);
        return status_of(OUT_OF_MEMORY, "no memory for another cursor");
    }
    *out = stream;
    return STATUS_OK;
}

void stream_drop(struct stream *stream)
{
    struct stream_table *table = stream->table;

    if (stream->id != 0) {
        pthread_mutex_lock(&table->lock);
        vacate(table, stream);
        table->opened -= !stream->is_told;
        pthread_mutex_unlock(&table->lock);
    }
    give(stream);
}

struct arena *stream_arena(struct stream *stream)
{
    return stream->arena;
}

void stream_set_source(struct stream *stream, const struct stream_source *source)
{
    stream->source = *source;
}

status stream_enlist(struct command *command, struct stream *stream, const struct stream_wish *wish)
{
    struct stream_table *table = stream->table;

    TRY(arena_copy(stream->arena, command_namespace(command, wish->name), &stream->namespace));
    stream->database = bytes_of(stream->namespace.data, command->database.len);
    stream->name = bytes_from(stream->namespace, command->database.len + 1);
    TRY(arena_copy(stream->arena, command->session_id, &stream->session_id));
    TRY(arena_copy(stream->arena, login_digest(command->session), &stream->owner));
    stream->multi = multi_of(command);
    stream->never_idles = wish->never_idles;
    stream->awaits = wish->awaits;
    pthread_mutex_lock(&table->lock);
    end_idle(command, table, table->count == LIMIT_CURSORS ? LIMIT_CURSORS : PLACES_SWEPT);
    bool is_settled = settle(table, stream);
    pthread_mutex_unlock(&table->lock);
    if (!is_settled)
        return status_fail(command->arena, BUSY, "%d cursors are open, which is the limit",
                           LIMIT_CURSORS);
    return STATUS_OK;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

struct batch {
    int64_t count_max; /* negative: no limit but the bytes */
    int64_t count;
    bool is_at_end;
};

static status fill(struct command *command, struct stream *stream, struct batch *batch)
{
    const struct stream_source *source = &stream->source;
    size_t begun = command->reply.len;
    char room[REPLY_INDEX_BYTES];
    bytes document;
    bool has = true;

    for (int64_t i = 0; batch->count_max < 0 || i < batch->count_max; i++) {
        TRY(source->next(source->state, command, &document, &has));
        if (!has) {
            batch->is_at_end = !stream->is_tailable;
            return STATUS_OK;
        }
        batch->count++;
        reply_document(&command->reply, reply_index((size_t)i, room), document);
        command->work.returned++;
        if (command->reply.is_failed)
            return arena_exhausted(command->arena);
        if (command->reply.len - begun >= LIMIT_CURSOR_BATCH_BYTES)
            return STATUS_OK;
        if (command->reply.len - begun > LONG_BYTES &&
            command->reply.room < LIMIT_CURSOR_BATCH_BYTES)
            buffer_reserve(&command->reply,
                           LIMIT_CURSOR_BATCH_BYTES); /* rather than to grow by copying */
    }
    return STATUS_OK;
}

status stream_each(struct command *command, struct stream *stream, stream_row *each, void *context)
{
    const struct stream_source *source = &stream->source;
    status s = STATUS_OK;
    bool has = true;
    bytes document;

    if (source->begin)
        s = source->begin(source->state, command);
    while (s.code == OK && has) {
        s = source->next(source->state, command, &document, &has);
        if (s.code == OK && has)
            s = each(context, document);
    }
    s = fault_keep(command->arena, &command->fault, s);
    if (source->end)
        source->end(source->state, command);
    return s;
}

static status run_batch(struct command *command, struct stream *stream, const char *name,
                        struct batch *batch)
{
    const struct stream_source *source = &stream->source;
    size_t array = reply_begin_array(&command->reply, name);
    status s = STATUS_OK;

    if (batch->count_max != 0) {
        command->batch_rows = batch->count_max > 0 ? batch->count_max : 0;
        if (source->begin)
            s = source->begin(source->state, command);
        if (s.code == OK)
            s = fill(command, stream, batch);
        s = fault_keep(command->arena, &command->fault, s);
        if (source->end)
            source->end(source->state, command);
        if (source->is_over && source->is_over(source->state))
            batch->is_at_end = true;
    }
    document_end(&command->reply, array);
    return s;
}

/* Idle again, unless it is over. True: kept. */
static bool keep(struct stream *stream, time_ms now)
{
    struct stream_table *table = stream->table;

    pthread_mutex_lock(&table->lock);
    bool is_doomed = stream->is_doomed;
    stream->is_busy = false;
    stream->used_at = now;
    if (is_doomed)
        vacate(table, stream);
    pthread_mutex_unlock(&table->lock);
    if (is_doomed)
        give(stream);
    return !is_doomed;
}

/* All of it, for nobody. */
static status run_explained(struct command *command, struct stream *stream)
{
    const struct stream_source *source = &stream->source;
    bytes document;
    bool has = true;
    status s = STATUS_OK;

    if (source->begin)
        s = source->begin(source->state, command);
    while (s.code == OK && has) {
        s = source->next(source->state, command, &document, &has);
        command->explain->given += s.code == OK && has;
    }
    s = fault_keep(command->arena, &command->fault, s);
    if (source->end)
        source->end(source->state, command);
    stream_drop(stream);
    return s;
}

status stream_reply(struct command *command, struct stream *stream, const struct stream_wish *wish)
{
    if (command->explain)
        return run_explained(command, stream);
    struct batch batch = { .count_max = wish->batch_size };
    size_t cursor = reply_begin(&command->reply, "cursor");
    int64_t id = 0;
    status s;

    stream->is_tailable = wish->is_tailable;
    if (batch.count_max < 0)
        batch.count_max = LIMIT_CURSOR_FIRST_BATCH;
    TRY_GOTO(run_batch(command, stream, "firstBatch", &batch), done);
    if (!batch.is_at_end && !wish->is_single) {
        if (stream->id == 0)
            TRY_GOTO(stream_enlist(command, stream, wish), done);
        id = stream->id;
        stream->is_told = true;
        if (!keep(stream, command->request.now))
            id = 0; /* its session was ended meanwhile */
        stream = NULL;
    }
    reply_int64(&command->reply, "id", id);
    reply_bytes(&command->reply, "ns", command_namespace(command, wish->name));
    document_end(&command->reply, cursor);
done:
    s = fault_keep(command->arena, &command->fault, s);
    if (stream)
        stream_drop(stream);
    return s;
}

/* ---- getMore ---------------------------------------------------------------------------------------- */

/* Why a stream cannot be taken. */
enum claim {
    CLAIM_DONE,
    CLAIM_NOT_THERE,
    CLAIM_NOT_OWN,
    CLAIM_OTHER_NAME,
    CLAIM_OTHER_SESSION,
    CLAIM_OTHER_TRANSACTION,
    CLAIM_BUSY,
};

static enum claim judge_claim(const struct command *command, const struct stream *stream,
                              int64_t id, bytes name)
{
    if (!stream || stream->id != id || stream->is_doomed)
        return CLAIM_NOT_THERE;
    if (!is_own(command, stream))
        return CLAIM_NOT_OWN;
    if (!bytes_equal(stream->name, name) || !bytes_equal(stream->database, command->database))
        return CLAIM_OTHER_NAME;
    if (!bytes_equal(stream->session_id, command->session_id))
        return CLAIM_OTHER_SESSION;
    if (stream->multi != multi_of(command))
        return CLAIM_OTHER_TRANSACTION;
    return stream->is_busy ? CLAIM_BUSY : CLAIM_DONE;
}

/* Takes the stream for this command. */
static enum claim claim(struct command *command, int64_t id, bytes name, struct stream **out)
{
    struct stream_table *table = command->face->streams;
    size_t place = (size_t)(id & ((1 << PLACE_BITS) - 1));
    struct stream *old = NULL;

    pthread_mutex_lock(&table->lock);
    struct stream *stream = place < LIMIT_CURSORS ? table->places[place] : NULL;
    if (stream && stream->id == id && is_idle_too_long(command, stream)) {
        table->timed_out++;
        vacate(table, stream);
        old = stream;
        stream = NULL;
    }
    enum claim claim = judge_claim(command, stream, id, name);
    if (claim == CLAIM_DONE)
        stream->is_busy = true;
    pthread_mutex_unlock(&table->lock);
    if (old)
        give(old);
    *out = claim == CLAIM_DONE ? stream : NULL;
    return claim;
}

static status fail_claim(struct command *command, int64_t id, bytes name, enum claim claim)
{
    switch (claim) {
    case CLAIM_DONE:
    case CLAIM_NOT_THERE:
        break;
    case CLAIM_NOT_OWN:
        return command_fail(command, ERROR_Unauthorized,
                            "cursor id %lld was not created by the authenticated user",
                            (long long)id);
    case CLAIM_OTHER_NAME:
        return command_fail(command, ERROR_Unauthorized,
                            "Requested getMore on namespace '%.*s.%.*s', but cursor belongs to a "
                            "different namespace",
                            (int)command->database.len, (const char *)command->database.data,
                            (int)name.len, (const char *)name.data);
    case CLAIM_OTHER_SESSION:
        return command_fail(command, ERROR_Location50738,
                            "Cannot run getMore on cursor %lld, which was not created in this "
                            "session",
                            (long long)id);
    case CLAIM_OTHER_TRANSACTION:
        return command_fail(
            command, command->multi == MULTI_NONE ? ERROR_Location50740 : ERROR_Location50741,
            "Cannot run getMore on cursor %lld: it was not opened in this "
            "transaction, or belongs to one",
            (long long)id);
    case CLAIM_BUSY:
        return command_fail(command, ERROR_CursorInUse, "cursor id %lld is already in use",
                            (long long)id);
    }
    return command_fail(command, ERROR_CursorNotFound, "cursor id %lld not found", (long long)id);
}

/* Time to wait for documents is not time to work. */
static status take_patience(struct command *command, const struct stream *stream,
                            struct wait_limit *out)
{
    int64_t given = command->max_time_ms;

    if (!stream->awaits && given > 0)
        return command_fail(command, ERROR_BadValue,
                            "cannot set maxTimeMS on getMore command for a non-awaitData cursor");
    *out = wait_limit_from_now(given > 0 ? given : AWAIT_MS);
    if (stream->awaits)
        command->max_time_ms = 0;
    return STATUS_OK;
}

static bool is_to_wait(const struct stream *stream, const struct batch *batch)
{
    return stream->awaits && batch->count == 0 && !batch->is_at_end &&
           !atomic_load(&stream->is_doomed);
}

/* Of its collection; what rings elsewhere is not for this cursor. */
static status find_bell(struct command *command, const struct stream *stream,
                        struct tail_bell **out)
{
    const struct collection *collection;

    TRY(command_find(command, stream->name, &collection));
    *out = tail_bell_of(command->face, collection ? collection->id : 0);
    return STATUS_OK;
}

/* However often it looks, what a look has needed is given back before the next. */
static status await_batch(struct command *command, struct stream *stream, struct batch *batch)
{
    enum { EMPTY_BATCH_BYTES = 64 };
    size_t begun = command->reply.len;
    struct wait_limit limit;
    struct tail_bell *bell;
    uint64_t rung;

    TRY(take_patience(command, stream, &limit));
    if (!stream->awaits)
        return run_batch(command, stream, "nextBatch", batch);
    TRY(find_bell(command, stream, &bell));
    buffer_reserve(&command->reply, EMPTY_BATCH_BYTES);
    arena_position mark = arena_mark(command->arena);
    for (;;) {
        rung = atomic_load(&bell->count);
        TRY(run_batch(command, stream, "nextBatch", batch));
        if (!is_to_wait(stream, batch))
            return STATUS_OK;
        command_pause(command); /* who waits holds nobody's purging back */
        if (!command->has_request)
            arena_release(command->arena, mark);
        bool is_rung = tail_await(command->face, bell, rung, &limit);
        TRY(command_check_time(command));
        TRY(command_renew(command));
        if (!is_rung)
            return STATUS_OK;
        command->reply.len = begun;
    }
}

status serve_get_more(struct command *command)
{
    static const struct argument table[] = {
        {"collection",                ARGUMENT_TEXT,    true },
        { "batchSize",                ARGUMENT_NUMBER,  false},
        { "term",                     ARGUMENT_IGNORED, false},
        { "lastKnownCommittedOpTime", ARGUMENT_IGNORED, false},
    };
    enum { COLLECTION, BATCH_SIZE };
    struct value given[ARRAY_COUNT(table)];
    struct batch batch = { .count_max = -1 };
    struct stream *stream;
    int64_t id;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    if (!value_as_int64(command->target, &id))
        return command_fail(command, ERROR_TypeMismatch,
                            "BSON field 'getMore.getMore' is the wrong type '%s', expected type "
                            "'long'",
                            value_type_name(command->target.type));
    bytes name = value_text(given[COLLECTION]);
    int64_t wanted = argument_number(given[BATCH_SIZE], 0);
    if (wanted < 0)
        return command_fail(command, ERROR_BadValue, "batchSize is %lld and must not be negative",
                            (long long)wanted);
    if (wanted > 0)
        batch.count_max = wanted;
    enum claim outcome = claim(command, id, name, &stream);
    if (outcome != CLAIM_DONE)
        return fail_claim(command, id, name, outcome);
    size_t cursor = reply_begin(&command->reply, "cursor");
    status s = await_batch(command, stream, &batch);
    bytes namespace = command_namespace(command, name);
    bool is_kept = s.code == OK && !batch.is_at_end && keep(stream, command->request.now);
    s = fault_keep(command->arena, &command->fault, s);
    if (!is_kept && (s.code != OK || batch.is_at_end))
        stream_drop(stream);
    reply_int64(&command->reply, "id", is_kept ? id : 0);
    reply_bytes(&command->reply, "ns", namespace);
    document_end(&command->reply, cursor);
    return s;
}

/* ---- killing ---------------------------------------------------------------------------------------- */

/* *is_there_out: there was such a cursor. Those of others are for who steers the server. */
static status kill_one(struct command *command, int64_t id, bool *is_there_out)
{
    struct stream_table *table = command->face->streams;
    size_t place = (size_t)(id & ((1 << PLACE_BITS) - 1));
    bool may_all = principal_own_rights(command, BYTES_LITERAL("admin")) & RIGHT_SERVER;
    struct stream *gone = NULL;

    pthread_mutex_lock(&table->lock);
    struct stream *stream = place < LIMIT_CURSORS ? table->places[place] : NULL;
    bool is_there = stream && stream->id == id && !stream->is_doomed;
    bool is_permitted = !is_there || may_all || is_own(command, stream);
    if (is_there && is_permitted && stream->is_busy) {
        stream->is_doomed = true;
    } else if (is_there && is_permitted) {
        vacate(table, stream);
        gone = stream;
    }
    pthread_mutex_unlock(&table->lock);
    *is_there_out = is_there;
    if (gone)
        give(gone);
    else if (is_there && is_permitted)
        tail_ring_all(command->face);
    if (is_permitted)
        return STATUS_OK;
    return command_fail(command, ERROR_Unauthorized,
                        "not authorized to kill cursor %lld, which another user has opened",
                        (long long)id);
}

static void end_some(struct stream_table *table, const struct lsid_pattern *pattern,
                     const int64_t *number)
{
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < LIMIT_CURSORS && table->count > 0; i++) {
        struct stream *stream = table->places[i];
        if (!stream || !lsid_fits(pattern, stream->session_id) ||
            (number && stream->multi != *number))
            continue;
        if (stream->is_busy) {
            stream->is_doomed = true;
        } else {
            vacate(table, stream);
            give(stream);
        }
    }
    pthread_mutex_unlock(&table->lock);
}

void stream_end_sessions(struct stream_table *table, const struct lsid_pattern *pattern)
{
    end_some(table, pattern, NULL);
}

void stream_end_transaction(struct stream_table *table, bytes session_id, int64_t number)
{
    end_some(table, &(struct lsid_pattern){ .session_id = session_id }, &number);
}

status serve_kill_cursors(struct command *command)
{
    static const struct argument table[] = {
        {"cursors", ARGUMENT_ARRAY, true},
    };
    struct buffer killed = buffer_in(command->arena), missing = buffer_in(command->arena);
    size_t killed_count = 0, missing_count = 0;
    char room[REPLY_INDEX_BYTES];
    struct value given[1];
    struct field field;
    bool is_there;
    int64_t id;

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    size_t killed_begun = document_begin(&killed), missing_begun = document_begin(&missing);
    struct document_walk walk = document_fields(value_document(given[0]));
    while (document_next(&walk, &field)) {
        if (!value_as_int64(field.value, &id))
            return command_fail(command, ERROR_TypeMismatch,
                                "the id of a cursor is the wrong type '%s', expected type 'long'",
                                value_type_name(field.value.type));
        TRY(kill_one(command, id, &is_there));
        if (is_there)
            reply_int64(&killed, reply_index(killed_count++, room), id);
        else
            reply_int64(&missing, reply_index(missing_count++, room), id);
    }
    document_end(&killed, killed_begun);
    document_end(&missing, missing_begun);
    if (killed.is_failed || missing.is_failed)
        return arena_exhausted(command->arena);
    document_append(&command->reply, BYTES_LITERAL("cursorsKilled"),
                    (struct value){ VALUE_ARRAY, bytes_of(killed.data, killed.len) });
    document_append(&command->reply, BYTES_LITERAL("cursorsNotFound"),
                    (struct value){ VALUE_ARRAY, bytes_of(missing.data, missing.len) });
    document_end(&command->reply, reply_begin_array(&command->reply, "cursorsAlive"));
    document_end(&command->reply, reply_begin_array(&command->reply, "cursorsUnknown"));
    return STATUS_OK;
}
