/* Many threads run transactions and plain writes on the same few documents, which die meanwhile; everybody writes
 * down what they saw and did. Afterwards the history is checked: for every transaction there was one moment
 * in the order of the commits at which everything that it read was so, not before it began, and nobody else
 * has committed a write of what it wrote between that moment and its own commit. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 5, THREADS = 4, ROUNDS = 60, EVENTS = THREADS * ROUNDS * 4, TTL_S = 3 };

enum { ABSENT = 0, NOT_READ = -1, NOT_WRITTEN = -1 };

/* What one transaction, or one plain write, has seen and done. */
struct event {
    uint64_t began_seq;        /* the last write that was durable before it began */
    uint64_t seq;              /* of its commit; 0: it wrote nothing */
    time_ms now;               /* of its reads */
    int64_t before_s, after_s; /* around its commit, which is when its documents were written */
    int read[KEYS];            /* version, ABSENT or NOT_READ */
    int written[KEYS];         /* version, ABSENT for a delete, or NOT_WRITTEN */
};

struct history {
    struct world w;
    _Atomic int versions;
    _Atomic int count;
    struct event *events;
    _Atomic int conflicts, commits;
};

struct member {
    struct history *h;
    struct random random;
    pthread_t thread;
};

static int chance(struct member *m, int count)
{
    return (int)random_below(&m->random, (uint64_t)count);
}

static int64_t second_now(struct history *h)
{
    return clock_now(h->w.clock) / 1000;
}

static struct event blank_event(struct history *h)
{
    struct event event = { .began_seq = engine_last_seq(h->w.engine), .before_s = second_now(h) };

    for (int key = 0; key < KEYS; key++) {
        event.read[key] = NOT_READ;
        event.written[key] = NOT_WRITTEN;
    }
    return event;
}

static void keep(struct history *h, const struct event *event)
{
    int at = atomic_fetch_add(&h->count, 1);

    CHECK(at < EVENTS);
    h->events[at] = *event;
}

/* ---- what threads do ---------------------------------------------------------------------------------- */

static int read_version(struct request *request, int key)
{
    const struct collection *c = world_find(request, "c");
    struct document document;
    struct value n;
    int64_t version = ABSENT;
    status s = document_read(request, c, world_id_key(request, c, key), &document);

    if (s.code == NOT_FOUND)
        return ABSENT;
    CHECK_OK(s);
    CHECK(document_find(document.bson, "n", &n) && value_as_int64(n, &version));
    document_release(request, &document);
    return (int)version;
}

static status write_version(struct history *h, struct request *request, enum write_kind kind,
                            int key, int *version_out, uint64_t *seq_out)
{
    int version = atomic_fetch_add(&h->versions, 1) + 1;
    struct write_op op = world_op(request, "c", kind, "{'_id':%d,'n':%d}", key, version);
    status s = document_write(request, &op, 1, WRITE_ALL_OR_NOTHING);

    *version_out = kind == WRITE_DELETE ? ABSENT : version;
    *seq_out = op.seq;
    return s;
}

/* One request inside: reads all documents, and writes some of them. */
static status work_inside(struct member *m, struct request *request, struct event *event)
{
    bool is_reader = chance(m, 4) == 0;
    uint64_t seq;

    event->now = request->now;
    for (int key = 0; key < KEYS; key++)
        event->read[key] = read_version(request, key);
    for (int i = 0; i < 2 && !is_reader; i++) {
        int key = chance(m, KEYS);
        bool is_there = event->read[key] != ABSENT;
        if (event->written[key] != NOT_WRITTEN)
            continue;
        enum write_kind kind = !is_there           ? WRITE_INSERT
                               : chance(m, 6) == 0 ? WRITE_DELETE
                                                   : WRITE_REPLACE;
        TRY(write_version(m->h, request, kind, key, &event->written[key], &seq));
    }
    return STATUS_OK;
}

static void transact(struct member *m)
{
    struct history *h = m->h;
    struct event event = blank_event(h);
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct transaction *t;
    struct request request;

    CHECK_OK(transaction_begin(h->w.engine, 1000000, &t));
    CHECK_OK(transaction_enter(t, arena, &request));
    status s = work_inside(m, &request, &event);
    request_end(&request);
    event.before_s = second_now(h);
    if (s.code == OK)
        s = transaction_commit(t, arena, NULL, &event.seq);
    event.after_s = second_now(h);
    CHECK_THAT(s.code == OK || s.code == CONFLICT, "%s", s.message);
    atomic_fetch_add(s.code == OK ? &h->commits : &h->conflicts, 1);
    if (s.code != OK) /* it has seen one moment all the same */
        for (int key = 0; key < KEYS; key++)
            event.written[key] = NOT_WRITTEN;
    if (event.read[KEYS - 1] != NOT_READ)
        keep(h, &event);
    transaction_close(t);
    arena_close(arena);
}

static void write_plainly(struct member *m)
{
    struct history *h = m->h;
    struct event event = blank_event(h);
    struct request request = world_begin(&h->w);
    int key = chance(m, KEYS);

    CHECK_OK(write_version(h, &request, WRITE_UPSERT, key, &event.written[key], &event.seq));
    event.after_s = second_now(h);
    keep(h, &event);
    world_end(&request);
}

static void *run_member(void *owner)
{
    struct member *m = owner;

    for (int round = 0; round < ROUNDS; round++) {
        int what = chance(m, 8);
        if (what == 0)
            write_plainly(m);
        else if (what == 1)
            world_pass(&m->h->w, 1 + chance(m, 400));
        else
            transact(m);
    }
    return NULL;
}

/* ---- the check ---------------------------------------------------------------------------------------- */

static int by_seq(const void *a, const void *b)
{
    const struct event *left = *(const struct event *const *)a;
    const struct event *right = *(const struct event *const *)b;

    return (left->seq > right->seq) - (left->seq < right->seq);
}

/* The last of the first `upto` commits that wrote the key; NULL if none has. */
static const struct event *last_writer(struct event *const *order, size_t upto, int key)
{
    while (upto > 0 && order[upto - 1]->written[key] == NOT_WRITTEN)
        upto--;
    return upto > 0 ? order[upto - 1] : NULL;
}

static bool may_be_dead(const struct event *writer, time_ms now)
{
    return now >= (writer->before_s + TTL_S) * 1000;
}

static bool may_be_alive(const struct event *writer, time_ms now)
{
    return now < (writer->after_s + TTL_S) * 1000;
}

static bool fits(const struct event *writer, int key, int read, time_ms now)
{
    bool is_there = writer && writer->written[key] != ABSENT;

    if (read == ABSENT)
        return !is_there || may_be_dead(writer, now);
    return is_there && writer->written[key] == read && may_be_alive(writer, now);
}

/* Could the event have read after the first `upto` commits? */
static bool fits_moment(struct event *const *order, size_t upto, const struct event *event)
{
    for (int key = 0; key < KEYS; key++) {
        if (event->read[key] != NOT_READ &&
            !fits(last_writer(order, upto, key), key, event->read[key], event->now))
            return false;
    }
    return true;
}

/* Between its moment and its commit nobody has written what it wrote, or it was as before. */
static bool is_first_committer(struct event *const *order, size_t moment, size_t own,
                               const struct event *event)
{
    for (int key = 0; key < KEYS; key++) {
        if (event->read[key] == NOT_READ || event->written[key] == NOT_WRITTEN)
            continue;
        const struct event *then = last_writer(order, moment, key);
        const struct event *last = last_writer(order, own, key);
        if (then != last && (event->read[key] != ABSENT || last->written[key] != ABSENT))
            return false;
    }
    return true;
}

static void check_event(struct event *const *order, size_t count, const struct event *event)
{
    size_t least = 0, own = count;

    while (least < count && order[least]->seq <= event->began_seq)
        least++;
    for (size_t i = 0; i < count; i++) {
        if (order[i] == event)
            own = i;
    }
    for (size_t moment = least; moment <= own; moment++) {
        if (fits_moment(order, moment, event) && is_first_committer(order, moment, own, event))
            return;
    }
    CHECK_THAT(false, "no moment fits the event with the commit %llu, began after %llu",
               (unsigned long long)event->seq, (unsigned long long)event->began_seq);
}

static void check_history(struct history *h)
{
    size_t count = 0, all = (size_t)atomic_load(&h->count);
    struct event **order = calloc(all, sizeof(struct event *));

    CHECK(order != NULL);
    for (size_t i = 0; i < all; i++) {
        if (h->events[i].seq > 0)
            order[count++] = &h->events[i];
    }
    qsort(order, count, sizeof(order[0]), by_seq);
    for (size_t i = 0; i < all; i++)
        check_event(order, count, &h->events[i]);
    free(order);
}

static void run_history(enum backing backing, uint64_t seed)
{
    struct history h = { .events = calloc(EVENTS, sizeof(struct event)) };
    struct member members[THREADS];

    CHECK(h.events != NULL);
    world_prepare(&h.w, backing);
    h.w.is_threaded = true; /* it purges by itself */
    CHECK_OK(world_start(&h.w));
    CHECK_OK(database_create(h.w.engine, h.w.arena, BYTES_LITERAL("db"), BYTES_NONE));
    world_collection(&h.w, "c", TTL_S, "by_n: n");
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){ .h = &h,
                                      .random = random_seeded(seed * THREADS + (uint64_t)i) };
        CHECK_EQ(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0, "");
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(members[i].thread, NULL), 0, "");
    CHECK(atomic_load(&h.commits) > 0);
    check_history(&h);
    world_close(&h.w);
    free(h.events);
}

TEST(transaction, histories_of_many_threads_on_memory_are_snapshots)
{
    EACH_SEED(seed, 6) {
        run_history(ON_MEMORY, seed);
    }
}

TEST(transaction, histories_of_many_threads_on_rocksdb_are_snapshots)
{
    EACH_SEED(seed, 1) {
        run_history(ON_ROCKSDB, seed);
    }
}
