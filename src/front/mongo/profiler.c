/* Profiler: who is profiled, and the rows that came of it.
 *
 *   level 0: nothing   1: what is slow, or what the filter of the database says   2: everything
 *
 * Every database that was ever profiled has a list of rows, bounded in bytes: a new row drives the oldest out. The
 * purger runs below this face; what it has removed is fetched from its history when somebody looks.
 *
 * Keeps: a command pays two comparisons while nothing is profiled and it is not slow.
 * Threads: the lock guards everything but two atomics; rows are made outside of it. Start reading at
 * profiler_note(). */
#include "front/mongo/profiler.h"

#include "front/mongo/filter.h"
#include "front/mongo/handlers.h"
#include "front/mongo/session.h"

enum { SLOW_MS_DEFAULT = 100 };

struct profile_entry {
    struct profile_entry *next;
    size_t len;
    uint8_t document[];
};

/* Of one database. */
struct profile {
    int level;
    bytes filter; /* of rows, a document; owned; empty: none */
    struct profile_entry *first, **last;
    size_t bytes_kept;
    size_t name_len;
    uint8_t name[];
};

void profiler_open(struct profiler *profiler)
{
    pthread_mutex_init(&profiler->lock, NULL);
    atomic_store(&profiler->slow_ms, SLOW_MS_DEFAULT);
    profiler->sample_rate = 1;
}

static void forget_rows(struct profile *profile)
{
    while (profile->first) {
        struct profile_entry *entry = profile->first;
        profile->first = entry->next;
        memory_give(entry);
    }
    profile->last = &profile->first;
    profile->bytes_kept = 0;
}

void profiler_close(struct profiler *profiler)
{
    for (size_t i = 0; i < profiler->database_count; i++) {
        forget_rows(profiler->databases[i]);
        memory_give((void *)profiler->databases[i]->filter.data);
        memory_give(profiler->databases[i]);
    }
    pthread_mutex_destroy(&profiler->lock);
}

/* ---- lists; under the lock -------------------------------------------------------------------------- */

static struct profile *find_profile(struct profiler *profiler, bytes database)
{
    for (size_t i = 0; i < profiler->database_count; i++) {
        struct profile *profile = profiler->databases[i];
        if (bytes_equal(bytes_of(profile->name, profile->name_len), database))
            return profile;
    }
    return NULL;
}

/* NULL if there are too many, or no memory. */
static struct profile *need_profile(struct profiler *profiler, bytes database)
{
    struct profile *profile = find_profile(profiler, database);

    if (profile || profiler->database_count == LIMIT_PROFILED_DATABASES)
        return profile;
    profile = memory_take_zeroed(1, sizeof(*profile) + database.len);
    if (!profile)
        return NULL;
    profile->last = &profile->first;
    profile->name_len = database.len;
    memcpy(profile->name, database.data, database.len);
    profiler->databases[profiler->database_count++] = profile;
    return profile;
}

static void add_row(struct profile *profile, bytes document)
{
    struct profile_entry *entry = memory_take(sizeof(*entry) + document.len);

    if (!entry)
        return; /* it is only for looking */
    entry->next = NULL;
    entry->len = document.len;
    memcpy(entry->document, document.data, document.len);
    *profile->last = entry;
    profile->last = &entry->next;
    profile->bytes_kept += entry->len;
    while (profile->bytes_kept > LIMIT_PROFILE_BYTES && profile->first != entry) {
        struct profile_entry *oldest = profile->first;
        profile->first = oldest->next;
        profile->bytes_kept -= oldest->len;
        memory_give(oldest);
    }
}

static void judge_on(struct profiler *profiler)
{
    bool is_on = false;

    for (size_t i = 0; i < profiler->database_count; i++)
        is_on = is_on || profiler->databases[i]->level > 0;
    atomic_store(&profiler->is_on, is_on);
}

/* ---- commands --------------------------------------------------------------------------------------- */

static bool is_in_sample(double rate)
{
    uint64_t chance;

    if (rate >= 1)
        return true;
    random_secret(&chance, sizeof(chance));
    return (double)(chance >> 11) / (double)(UINT64_C(1) << 53) < rate;
}

static bool fulfils(struct command *command, bytes filter, bytes row)
{
    struct fault ignored = { 0 };
    struct matching matching = { .scratch = command->arena };
    const struct match *match;
    bool is_match = false;

    return filter_parse(command->arena, filter, NULL, &match, &ignored).code == OK &&
           match_document(match, &matching, row, &is_match).code == OK && is_match;
}

static void log_slow(struct command *command, int64_t took_ms)
{
    const struct command_work *work = &command->work;
    bytes namespace = operation_namespace(command, command->arena);

    log_event(command->face->log, LOG_INFO, "command.slow",
              "command=%s ns=%.*s ms=%lld connection=%s keys=%llu documents=%llu returned=%lld "
              "plan=\"%s\" code=%d",
              command->row->name, (int)namespace.len, (const char *)namespace.data,
              (long long)took_ms, command->session->peer, (unsigned long long)work->keys,
              (unsigned long long)work->documents, (long long)work->returned, profile_plan(command),
              command->fault.code);
}

/* A client that waits for documents that do not come yet is not slow. */
static bool is_waiting(const struct command *command)
{
    return command->row->handler == serve_get_more && command->work.returned == 0 &&
           command->work.keys == 0;
}

/* What holds for the database of the command now. */
struct profile_wish {
    int level;
    double sample_rate;
    bytes filter; /* in the arena */
    int64_t number;
};

static struct profile_wish read_wish(struct command *command)
{
    struct profiler *profiler = &command->face->profiler;
    struct profile_wish wish = { 0 };

    pthread_mutex_lock(&profiler->lock);
    const struct profile *profile = find_profile(profiler, command->database);
    wish.level = profile ? profile->level : 0;
    wish.sample_rate = profiler->sample_rate;
    if (profile && profile->filter.len > 0 &&
        arena_copy(command->arena, profile->filter, &wish.filter).code != OK)
        wish.level = 0;
    wish.number = ++profiler->row_count;
    pthread_mutex_unlock(&profiler->lock);
    return wish;
}

void profiler_note(struct command *command, int64_t took_ms, bool is_failed)
{
    struct profiler *profiler = &command->face->profiler;
    bool is_slow = took_ms >= atomic_load(&profiler->slow_ms);

    if ((command->row->traits & TRAIT_NO_REQUEST) || !command->row->handler || is_waiting(command))
        return;
    struct profile_wish wish = read_wish(command);
    if (wish.level == 0 && !is_slow)
        return;
    bool is_chosen = is_slow && is_in_sample(wish.sample_rate);
    bytes row = profile_row(command, wish.number, took_ms, is_failed);
    if (wish.filter.len > 0)
        is_chosen = row.len > 0 && fulfils(command, wish.filter, row);
    if (is_chosen && is_slow)
        log_slow(command, took_ms);
    if (row.len == 0 || wish.level == 0 || (wish.level == 1 && !is_chosen))
        return;
    pthread_mutex_lock(&profiler->lock);
    struct profile *profile = find_profile(profiler, command->database);
    if (profile)
        add_row(profile, row);
    pthread_mutex_unlock(&profiler->lock);
}

/* ---- the purger ------------------------------------------------------------------------------------- */

static void purge_row(struct command *command, const struct purge_event *event,
                      const struct collection *collection, int64_t number, struct buffer *out)
{
    size_t begun = document_begin(out);

    reply_int64(out, "_id", number);
    reply_text(out, "op", "remove");
    reply_bytes(out, "ns", collection_namespace(collection, command->arena));
    size_t inner = reply_begin(out, "command");
    reply_bytes(out, "delete", collection->definition.name);
    document_end(out, inner);
    reply_int64(out, "keysExamined", (int64_t)event->documents);
    reply_int64(out, "docsExamined", (int64_t)event->documents);
    reply_int64(out, "ndeleted", (int64_t)event->documents);
    reply_int64(out, "numYield", 0);
    reply_int64(out, "millis", event->ended_at - event->began_at);
    size_t stats = reply_begin(out, "execStats");
    reply_text(out, "stage", "BATCHED_DELETE");
    document_end(out, stats);
    reply_date(out, "ts", event->ended_at);
    reply_text(out, "client", "");
    reply_text(out, "appName", "TTLMonitor");
    document_end(out, reply_begin_array(out, "allUsers"));
    reply_text(out, "user", "");
    document_end(out, begun);
}

/* Under the lock. */
static void take_event(struct command *command, const struct purge_event *event)
{
    struct profiler *profiler = &command->face->profiler;
    const struct collection *collection = catalog_find_by_id(&command->request,
                                                             event->collection_id);
    struct buffer row = buffer_in(command->arena);

    profiler->purge_seen = event->number;
    if (!collection)
        return;
    struct profile *profile = find_profile(profiler, collection->definition.database);
    bool is_slow = event->ended_at - event->began_at >= atomic_load(&profiler->slow_ms);
    if (!profile || profile->level == 0 || (profile->level == 1 && !is_slow))
        return;
    purge_row(command, event, collection, ++profiler->row_count, &row);
    if (!row.is_failed)
        add_row(profile, bytes_of(row.data, row.len));
}

/* What the purger has removed since somebody looked; under the lock. */
static status take_purged(struct command *command)
{
    struct purge_event *events;

    TRY(ARENA_NEW(command->arena, PURGE_HISTORY_EVENTS, &events));
    size_t count = purger_history(command->face->engine, command->face->profiler.purge_seen, events,
                                  PURGE_HISTORY_EVENTS);
    for (size_t i = 0; i < count; i++)
        take_event(command, &events[i]);
    return STATUS_OK;
}

/* ---- the list --------------------------------------------------------------------------------------- */

bool profiler_is_list(bytes name)
{
    return bytes_equal(name, BYTES_LITERAL(PROFILE_LIST));
}

status profiler_rows(struct command *command, bytes *out)
{
    struct profiler *profiler = &command->face->profiler;
    struct buffer rows = buffer_in(command->arena);

    pthread_mutex_lock(&profiler->lock);
    status s = take_purged(command);
    const struct profile *profile = find_profile(profiler, command->database);
    for (const struct profile_entry *at = profile ? profile->first : NULL; at; at = at->next)
        buffer_append(&rows, bytes_of(at->document, at->len));
    pthread_mutex_unlock(&profiler->lock);
    TRY(s);
    return buffer_finish(&rows, out);
}

bool profiler_has_list(struct command *command)
{
    struct profiler *profiler = &command->face->profiler;

    pthread_mutex_lock(&profiler->lock);
    const struct profile *profile = find_profile(profiler, command->database);
    bool is_there = profile && (profile->level > 0 || profile->first);
    pthread_mutex_unlock(&profiler->lock);
    return is_there;
}

status profiler_drop(struct command *command)
{
    struct profiler *profiler = &command->face->profiler;

    pthread_mutex_lock(&profiler->lock);
    struct profile *profile = find_profile(profiler, command->database);
    bool is_profiled = profile && profile->level > 0;
    if (profile && !is_profiled)
        forget_rows(profile);
    pthread_mutex_unlock(&profiler->lock);
    if (is_profiled)
        return command_fail(command, ERROR_IllegalOperation,
                            "turn off profiling before dropping system.profile collection");
    return STATUS_OK;
}

/* ---- the command ------------------------------------------------------------------------------------ */

/* A copy that the profiler owns. */
static status copy_filter(struct command *command, struct value filter, bytes *out)
{
    const struct match *ignored;

    *out = BYTES_NONE;
    if (filter.type != VALUE_DOCUMENT)
        return STATUS_OK;
    TRY(filter_parse(command->arena, value_document(filter), NULL, &ignored, &command->fault));
    uint8_t *copy = memory_take(filter.raw.len);
    if (!copy)
        return status_of(OUT_OF_MEMORY, "no memory for the filter of the profiler");
    memcpy(copy, filter.raw.data, filter.raw.len);
    *out = bytes_of(copy, filter.raw.len);
    return STATUS_OK;
}

static void append_settings(struct profiler *profiler, const struct profile *profile,
                            struct buffer *out)
{
    reply_int32(out, "was", profile ? profile->level : 0);
    reply_int32(out, "slowms", (int32_t)atomic_load(&profiler->slow_ms));
    reply_double(out, "sampleRate", profiler->sample_rate);
    if (profile && profile->filter.len > 0)
        reply_document(out, "filter", profile->filter);
}

struct profile_settings {
    struct value slow_ms, sample_rate, filter;
    bytes filter_copy;
    int64_t level;
};

/* Under the lock. Answers with what held before. */
static status change_settings(struct command *command, const struct profile_settings *wish)
{
    struct profiler *profiler = &command->face->profiler;
    struct profile *profile = find_profile(profiler, command->database);

    TRY(take_purged(command));
    append_settings(profiler, profile, &command->reply);
    bool has_level = wish->level >= 0 && wish->level <= 2;
    if (has_level || wish->filter_copy.len > 0) {
        profile = need_profile(profiler, command->database);
        if (!profile)
            return command_fail(command, ERROR_ExceededMemoryLimit,
                                "%d databases are profiled, which is the limit",
                                LIMIT_PROFILED_DATABASES);
    }
    if (has_level)
        profile->level = (int)wish->level;
    if (wish->slow_ms.type != VALUE_MISSING)
        atomic_store(&profiler->slow_ms, argument_number(wish->slow_ms, SLOW_MS_DEFAULT));
    if (wish->sample_rate.type != VALUE_MISSING)
        profiler->sample_rate = value_as_double(wish->sample_rate);
    if (wish->filter.type != VALUE_MISSING && profile) {
        memory_give((void *)profile->filter.data);
        profile->filter = wish->filter_copy;
    }
    judge_on(profiler);
    return STATUS_OK;
}

static status check_settings(struct command *command, const struct profile_settings *wish)
{
    if (!value_is_number(command->target))
        return command_fail(command, ERROR_TypeMismatch, "profile takes a level, a number, not %s",
                            value_type_name(command->target.type));
    double rate = wish->sample_rate.type == VALUE_MISSING ? 1 : value_as_double(wish->sample_rate);
    if (!(rate >= 0 && rate <= 1))
        return command_fail(command, ERROR_BadValue,
                            "'sampleRate' must be between 0.0 and 1.0 inclusive");
    if (wish->filter.type != VALUE_MISSING && wish->filter.type != VALUE_DOCUMENT &&
        !bytes_equal(argument_text(wish->filter), BYTES_LITERAL("unset")))
        return command_fail(command, ERROR_BadValue,
                            "Expected an object, or the string 'unset', as the filter");
    return STATUS_OK;
}

status serve_profile(struct command *command)
{
    static const struct argument table[] = {
        {"slowms",      ARGUMENT_NUMBER, false},
        { "sampleRate", ARGUMENT_NUMBER, false},
        { "filter",     ARGUMENT_ANY,    false},
    };
    enum { SLOW_MS, SAMPLE_RATE, FILTER };
    struct value given[ARRAY_COUNT(table)];

    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    struct profile_settings wish = { .slow_ms = given[SLOW_MS],
                                     .sample_rate = given[SAMPLE_RATE],
                                     .filter = given[FILTER] };
    TRY(check_settings(command, &wish));
    wish.level = argument_number(command->target, -1);
    TRY(copy_filter(command, wish.filter, &wish.filter_copy));
    pthread_mutex_lock(&command->face->profiler.lock);
    status s = change_settings(command, &wish);
    pthread_mutex_unlock(&command->face->profiler.lock);
    if (s.code != OK)
        memory_give((void *)wish.filter_copy.data);
    return s;
}
