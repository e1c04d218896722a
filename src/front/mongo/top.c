/* Top: what was done with each collection.
 *
 * A collection has a place in the set that its name falls into. A set has a few places; where a new name finds none
 * free it takes that of the name that was not used for longest. So the table is bounded, whatever names clients make
 * up, and a collection that is in use stays in it.
 *
 * Threads: any; the sets share a few locks, which are leaves. */
#include "front/mongo/top.h"

#include "front/mongo/handlers.h"
#include "front/mongo/operation.h"

enum { SETS = 1024, WAYS = 8, LOCKS = 16 };

enum event {
    EVENT_READ_LOCK,
    EVENT_WRITE_LOCK,
    EVENT_QUERIES,
    EVENT_GETMORE,
    EVENT_INSERT,
    EVENT_UPDATE,
    EVENT_REMOVE,
    EVENT_COMMANDS,
    EVENTS
};

struct tally {
    int64_t time_us, count;
};

struct entry {
    uint64_t used; /* the clock of its lock, when it was counted last */
    size_t database_len, name_len;
    struct tally tallies[EVENTS];
    char names[]; /* database, name */
};

struct top_table {
    struct {
        pthread_mutex_t mutex;
        uint64_t clock;
    } locks[LOCKS];
    struct entry *places[SETS][WAYS];
};

struct top_table *top_table_open(void)
{
    struct top_table *table = memory_take_zeroed(1, sizeof(*table));

    for (size_t i = 0; table && i < LOCKS; i++)
        pthread_mutex_init(&table->locks[i].mutex, NULL);
    return table;
}

void top_table_close(struct top_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < SETS * WAYS; i++)
        memory_give(table->places[i / WAYS][i % WAYS]);
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&table->locks[i].mutex);
    memory_give(table);
}

/* ---- places; under the lock of the set -------------------------------------------------------------- */

static size_t set_of(bytes database, bytes name)
{
    return bytes_hash(name, bytes_hash(database, 0)) % SETS;
}

static bytes database_of(const struct entry *entry)
{
    return bytes_of(entry->names, entry->database_len);
}

static bytes name_of(const struct entry *entry)
{
    return bytes_of(entry->names + entry->database_len, entry->name_len);
}

/* NULL if there is none. */
static struct entry **find_place(struct top_table *table, bytes database, bytes name)
{
    struct entry **set = table->places[set_of(database, name)];

    for (size_t i = 0; i < WAYS; i++) {
        if (set[i] && bytes_equal(name_of(set[i]), name) &&
            bytes_equal(database_of(set[i]), database))
            return &set[i];
    }
    return NULL;
}

static struct entry *find_entry(struct top_table *table, bytes database, bytes name)
{
    struct entry **place = find_place(table, database, name);

    return place ? *place : NULL;
}

static struct entry *make_entry(bytes database, bytes name)
{
    struct entry *entry = memory_take_zeroed(1, sizeof(*entry) + database.len + name.len);

    if (!entry)
        return NULL;
    memcpy(entry->names, database.data, database.len);
    memcpy(entry->names + database.len, name.data, name.len);
    entry->database_len = database.len;
    entry->name_len = name.len;
    return entry;
}

/* Its entry, perhaps a new one; NULL without memory. */
static struct entry *need_entry(struct top_table *table, bytes database, bytes name)
{
    struct entry **place = find_place(table, database, name);
    struct entry **set = table->places[set_of(database, name)];

    if (place)
        return *place;
    place = set;
    for (size_t i = 0; i < WAYS && *place; i++) {
        if (!set[i] || set[i]->used < (*place)->used)
            place = &set[i];
    }
    memory_give(*place);
    return *place = make_entry(database, name);
}

/* ---- counting --------------------------------------------------------------------------------------- */

static enum event event_of(const struct command *command)
{
    static const struct {
        const char *kind;
        enum event event;
    } kinds[] = {
        {"getmore", EVENT_GETMORE},
        { "insert", EVENT_INSERT },
        { "query",  EVENT_QUERIES},
        { "remove", EVENT_REMOVE },
        { "update", EVENT_UPDATE },
    };
    const char *kind = operation_kind(command);

    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].event;
    }
    return EVENT_COMMANDS;
}

static void count(struct entry *entry, enum event event, int64_t took_us)
{
    entry->tallies[event].count++;
    entry->tallies[event].time_us += took_us;
}

/* A name that is empty: all of the database. */
static void forget(struct top_table *table, bytes database, bytes name)
{
    for (size_t set = 0; set < SETS; set++) {
        pthread_mutex_t *mutex = &table->locks[set % LOCKS].mutex;
        if (name.len > 0 && set != set_of(database, name))
            continue;
        pthread_mutex_lock(mutex);
        for (size_t i = 0; i < WAYS; i++) {
            struct entry **at = &table->places[set][i];
            if (*at && bytes_equal(database_of(*at), database) &&
                (name.len == 0 || bytes_equal(name_of(*at), name))) {
                memory_give(*at);
                *at = NULL;
            }
        }
        pthread_mutex_unlock(mutex);
    }
}

/* Both names of a collection that was renamed stand for another one now. */
static void forget_renamed(const struct command *command)
{
    static const char *const fields[] = { "renameCollection", "to" };
    struct value value;

    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        if (!document_find(command->message->body, fields[i], &value) || value.type != VALUE_STRING)
            continue;
        bytes whole = value_text(value);
        const uint8_t *dot = whole.len > 0 ? memchr(whole.data, '.', whole.len) : NULL;
        if (dot)
            forget(command->face->top, bytes_of(whole.data, (size_t)(dot - whole.data)),
                   bytes_from(whole, (size_t)(dot - whole.data) + 1));
    }
}

/* True if the command was about a collection that is not any more what it was. */
static bool forget_dropped(const struct command *command)
{
    command_handler *handler = command->row->handler;

    if (handler == serve_drop)
        forget(command->face->top, command->home, operation_collection(command));
    else if (handler == serve_drop_database)
        forget(command->face->top, command->home, BYTES_NONE);
    else if (handler == serve_rename_collection)
        forget_renamed(command);
    else
        return false;
    return true;
}

void top_note(const struct command *command, bool is_failed, int64_t took_us)
{
    struct top_table *table = command->face->top;

    if (!is_failed && forget_dropped(command))
        return;
    bytes name = operation_collection(command);
    if (name.len == 0 || name.len > LIMIT_NAME_BYTES || command->home.len == 0 ||
        command->home.len > LIMIT_NAME_BYTES)
        return;
    size_t lock = set_of(command->home, name) % LOCKS;
    pthread_mutex_lock(&table->locks[lock].mutex);
    /* Names that were only asked for in vain, by anybody, take no place. */
    struct entry *entry = is_failed ? find_entry(table, command->home, name)
                                    : need_entry(table, command->home, name);
    if (entry) {
        entry->used = ++table->locks[lock].clock;
        count(entry, command->row->traits & TRAIT_WRITE ? EVENT_WRITE_LOCK : EVENT_READ_LOCK,
              took_us);
        count(entry, event_of(command), took_us);
    }
    pthread_mutex_unlock(&table->locks[lock].mutex);
}

/* ---- the command ------------------------------------------------------------------------------------ */

static void append_tally(struct buffer *out, const char *name, struct tally tally)
{
    size_t begun = reply_begin(out, name);

    reply_int64(out, "time", tally.time_us);
    reply_int64(out, "count", tally.count);
    document_end(out, begun);
}

static void append_collection(struct command *command, const struct collection *collection,
                              const struct tally *tallies)
{
    static const char *const names[EVENTS] = { "readLock", "writeLock", "queries", "getmore",
                                               "insert",   "update",    "remove",  "commands" };
    const struct tally *read = &tallies[EVENT_READ_LOCK], *write = &tallies[EVENT_WRITE_LOCK];
    bytes namespace = collection_namespace(collection, command->arena);
    struct buffer one = buffer_in(command->arena);

    size_t begun = document_begin(&one);
    append_tally(&one, "total",
                 (struct tally){ read->time_us + write->time_us, read->count + write->count });
    for (size_t i = 0; i < EVENTS; i++)
        append_tally(&one, names[i], tallies[i]);
    document_end(&one, begun);
    document_append(&command->reply, namespace,
                    (struct value){ VALUE_DOCUMENT, bytes_of(one.data, one.len) });
}

static bool copy_tallies(struct top_table *table, const struct collection *collection,
                         struct tally out[EVENTS])
{
    bytes database = collection->definition.database, name = collection->definition.name;
    pthread_mutex_t *mutex = &table->locks[set_of(database, name) % LOCKS].mutex;

    pthread_mutex_lock(mutex);
    struct entry **place = find_place(table, database, name);
    if (place)
        memcpy(out, (*place)->tallies, sizeof((*place)->tallies));
    pthread_mutex_unlock(mutex);
    return place != NULL;
}

status serve_top(struct command *command)
{
    struct buffer *out = &command->reply;
    struct tally tallies[EVENTS];
    size_t totals = reply_begin(out, "totals");

    reply_text(out, "note", "all times in microseconds");
    for (size_t i = 0; i < catalog_collection_count(&command->request); i++) {
        const struct collection *collection = catalog_collection(&command->request, i);
        if (!namespace_is_hidden(collection->definition.database) &&
            copy_tallies(command->face->top, collection, tallies))
            append_collection(command, collection, tallies);
    }
    document_end(out, totals);
    return out->is_failed ? arena_exhausted(command->arena) : STATUS_OK;
}

static void append_latency(struct buffer *out, const char *name, struct tally tally)
{
    size_t begun = reply_begin(out, name);

    reply_int64(out, "latency", tally.time_us);
    reply_int64(out, "ops", tally.count);
    document_end(out, begun);
}

void top_append_latency(struct command *command, const struct collection *collection,
                        struct buffer *out)
{
    struct tally tallies[EVENTS] = { 0 };

    (void)copy_tallies(command->face->top, collection, tallies);
    size_t begun = reply_begin(out, "latencyStats");
    append_latency(out, "reads", tallies[EVENT_READ_LOCK]);
    append_latency(out, "writes", tallies[EVENT_WRITE_LOCK]);
    append_latency(out, "commands", (struct tally){ 0 });
    append_latency(out, "transactions", (struct tally){ 0 });
    document_end(out, begun);
}
