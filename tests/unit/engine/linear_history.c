/* Many threads write, delete and read the same few documents one at a time, while time passes and documents die.
 * Everybody notes when an operation began and ended and what came of it. Afterwards the history of each document is
 * checked to be linear: as if every operation had happened at one instant between its beginning and its end.
 *
 * The numbers of the writes say in which order they happened, so it is enough that
 *   - a write that ended before another began has the smaller number;
 *   - a reader sees a write that began before it ended, and that no other write replaced before it began;
 *   - what it sees is not dead at its time, and nothing is missing that had neither died nor been deleted;
 *   - a reader who begins after another has ended sees nothing older. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 2, THREADS = 4, ROUNDS = 150, EVENTS = THREADS * ROUNDS, TTL_S = 2 };
enum event_kind { EVENT_WRITE, EVENT_DELETE, EVENT_READ };

struct event {
    enum event_kind kind;
    int key;
    int began, ended;  /* ticks of one counter for all threads */
    time_ms now;       /* of a read */
    time_ms judged_by; /* writes are judged later than at `now`, when they are committed */
    int version;       /* written or seen; 0: nothing */
    uint64_t seq;      /* of a write or delete */
    int64_t dies_ms;   /* of a write */
};

struct history {
    struct world w;
    _Atomic int tick, versions, count;
    struct event events[EVENTS];
};

struct member {
    struct history *h;
    struct random random;
    pthread_t thread;
};

/* ---- what threads do ---------------------------------------------------------------------------------- */

static void read_one(struct request *request, struct event *event)
{
    const struct collection *c = world_find(request, "c");
    struct document document;
    struct value n;
    int64_t version = 0;
    status s = document_read(request, c, world_id_key(request, c, event->key), &document);

    if (s.code == NOT_FOUND)
        return;
    CHECK_OK(s);
    CHECK(document_find(document.bson, "n", &n) && value_as_int64(n, &version));
    document_release(request, &document);
    event->version = (int)version;
}

static void write_one(struct history *h, struct request *request, struct event *event)
{
    const int version = atomic_fetch_add(&h->versions, 1) + 1;
    const bool is_delete = event->kind == EVENT_DELETE;
    struct write_op op = world_op(request, "c", is_delete ? WRITE_DELETE : WRITE_UPSERT,
                                  "{'_id':%d,'n':%d}", event->key, version);
    status s = document_write(request, &op, 1, WRITE_ALL_OR_NOTHING);

    if (is_delete && s.code == NOT_FOUND) {
        event->kind = EVENT_READ; /* it has seen that there is nothing */
        event->judged_by = WORLD_START + world_now(&h->w);
        return;
    }
    CHECK_OK(s);
    event->version = is_delete ? 0 : version;
    event->seq = op.seq;
    event->dies_ms = (op.written_at_s + TTL_S) * 1000;
}

static void *run_member(void *owner)
{
    struct member *m = owner;
    struct history *h = m->h;

    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t chosen = random_below(&m->random, 10);
        struct event event = {
            .kind = chosen < 4   ? EVENT_WRITE
                    : chosen < 5 ? EVENT_DELETE
                                 : EVENT_READ,
            .key = (int)random_below(&m->random, KEYS),
            .began = atomic_fetch_add(&h->tick, 1),
        };
        if (random_chance(&m->random, 10))
            world_pass(&h->w, (int64_t)random_below(&m->random, 900));
        struct request request = world_begin(&h->w);
        event.now = event.judged_by = request.now;
        if (event.kind == EVENT_READ)
            read_one(&request, &event);
        else
            write_one(h, &request, &event);
        world_end(&request);
        event.ended = atomic_fetch_add(&h->tick, 1);
        h->events[atomic_fetch_add(&h->count, 1)] = event;
    }
    return NULL;
}

/* ---- the check ------------------------------------------------------------------------------------------ */

/* May the reader have come right behind this write, before any other? */
static bool is_candidate(const struct history *h, const struct event *write,
                         const struct event *reader)
{
    if (write->began > reader->ended)
        return false;
    for (int i = 0; i < EVENTS; i++) {
        const struct event *other = &h->events[i];
        if (other->kind != EVENT_READ && other->key == write->key && other->seq > write->seq &&
            other->ended < reader->began)
            return false;
    }
    return true;
}

static bool is_explained(const struct history *h, const struct event *reader)
{
    bool is_before_all = true; /* no write had ended when it began */

    for (int i = 0; i < EVENTS; i++) {
        const struct event *write = &h->events[i];
        if (write->kind == EVENT_READ || write->key != reader->key)
            continue;
        is_before_all &= write->ended > reader->began;
        const bool is_write = write->kind == EVENT_WRITE;
        const bool is_seen = reader->version != 0
                                 ? write->version == reader->version && reader->now < write->dies_ms
                                 : !is_write || write->dies_ms <= reader->judged_by;
        if (is_seen && is_candidate(h, write, reader))
            return true;
    }
    return reader->version == 0 && is_before_all;
}

static uint64_t seq_of(const struct history *h, int version)
{
    for (int i = 0; i < EVENTS; i++) {
        if (h->events[i].kind == EVENT_WRITE && h->events[i].version == version)
            return h->events[i].seq;
    }
    return 0;
}

/* `first` ended before `second` began. */
static void check_order(const struct history *h, const struct event *first,
                        const struct event *second)
{
    if (first->kind != EVENT_READ && second->kind != EVENT_READ)
        CHECK_THAT(first->seq < second->seq, "a write that ended before another has number %d, %d",
                   (int)first->seq, (int)second->seq);
    if (first->kind == EVENT_READ && second->kind == EVENT_READ && first->version != 0 &&
        second->version != 0)
        CHECK_THAT(seq_of(h, first->version) <= seq_of(h, second->version),
                   "version %d was seen after version %d", second->version, first->version);
}

static void check_history(const struct history *h)
{
    CHECK_EQ(atomic_load(&h->count), EVENTS, "");
    for (int i = 0; i < EVENTS; i++) {
        const struct event *event = &h->events[i];
        if (event->kind == EVENT_READ)
            CHECK_THAT(is_explained(h, event), "reading document %d gave version %d at %lld",
                       event->key, event->version, (long long)event->now);
        for (int j = 0; j < EVENTS; j++) {
            if (event->key == h->events[j].key && event->ended < h->events[j].began)
                check_order(h, event, &h->events[j]);
        }
    }
}

static void run_history(enum backing backing, uint64_t seed)
{
    struct history *h = calloc(1, sizeof(*h));
    struct member members[THREADS];

    CHECK(h != NULL);
    world_prepare(&h->w, backing);
    h->w.is_threaded = true; /* it purges by itself */
    CHECK_OK(world_start(&h->w));
    CHECK_OK(database_create(h->w.engine, h->w.arena, BYTES_LITERAL("db"), BYTES_NONE));
    world_collection(&h->w, "c", TTL_S, "by_n: n");
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){ .h = h,
                                      .random = random_seeded(seed * THREADS + (uint64_t)i) };
        CHECK_EQ(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0, "");
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(members[i].thread, NULL), 0, "");
    check_history(h);
    world_close(&h->w);
    free(h);
}

TEST(threads, histories_of_single_documents_on_memory_are_linear)
{
    EACH_SEED(seed, 4) {
        run_history(ON_MEMORY, seed);
    }
}

TEST(threads, histories_of_single_documents_on_rocksdb_are_linear)
{
    EACH_SEED(seed, 1) {
        run_history(ON_ROCKSDB, seed);
    }
}
