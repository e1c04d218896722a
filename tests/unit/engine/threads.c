/* Many threads on one engine that purges and builds by itself: nothing is lost, nothing is done twice,
 * nobody waits for ever. Run under the race checker these say more than their names. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 6, PASSES_MAX = 100000 };

struct crew {
    struct world w;
    _Atomic bool is_over;
    _Atomic int successes;
    int rounds;
};

struct member {
    struct crew *crew;
    int number;
    void (*work)(struct member *member);
    pthread_t thread;
};

static void *run_member(void *owner)
{
    struct member *member = owner;
    member->work(member);
    return NULL;
}

static void crew_open(struct crew *crew, enum backing backing, int rounds)
{
    *crew = (struct crew){ .rounds = (int)check_scaled((size_t)rounds) };
    world_prepare(&crew->w, backing);
    crew->w.is_threaded = true;
    CHECK_OK(world_start(&crew->w));
    CHECK_OK(database_create(crew->w.engine, crew->w.arena, BYTES_LITERAL("db"), BYTES_NONE));
}

/* Starts `count` threads on this work and waits for all of them. */
static void crew_run(struct crew *crew, int count, void (*work)(struct member *member))
{
    struct member members[THREADS];
    for (int i = 0; i < count; i++) {
        members[i] = (struct member){ .crew = crew, .number = i, .work = work };
        CHECK_EQ(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0, "");
    }
    for (int i = 0; i < count; i++)
        CHECK_EQ(pthread_join(members[i].thread, NULL), 0, "");
}

/* ---- one document, many writers --------------------------------------------------------------------------- */

static int64_t number_in(bytes document)
{
    struct value value;
    int64_t number = -1;
    CHECK(document_find(document, "n", &value));
    CHECK(value_as_int64(value, &number));
    return number;
}

/* Reads a number and writes the next one, if nobody else has in between. */
static bool try_to_count(struct crew *crew)
{
    struct request request = world_begin(&crew->w);
    const struct collection *c = world_find(&request, "c");
    struct document document;
    CHECK_OK(document_read(&request, c, world_key(&request, c, "{'_id':1}"), &document));
    const int64_t number = number_in(document.bson);
    const uint64_t seq = document.seq;
    document_release(&request, &document);
    struct write_op op = world_op(&request, "c", WRITE_REPLACE, "{'_id':1,'n':%lld}",
                                  (long long)number + 1);
    op.if_seq = seq;
    const status s = document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING);
    CHECK_THAT(s.code == OK || s.code == PRECONDITION, "%s", s.message);
    world_end(&request);
    return s.code == OK;
}

static void count_up(struct member *member)
{
    for (int i = 0; i < member->crew->rounds; i++)
        if (try_to_count(member->crew))
            atomic_fetch_add(&member->crew->successes, 1);
}

TEST(threads, conditional_writes_of_one_document_lose_no_update)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 200);
        world_collection(&crew.w, "c", TTL_OFF, "n: n");
        CHECK_WRITTEN(world_insert(&crew.w, "c", "{'_id':1,'n':0}"), OK);
        crew_run(&crew, THREADS, count_up);
        CHECK_EQ(number_in(world_read(&crew.w, "c", "{'_id':1}").bson),
                 atomic_load(&crew.successes), "");
        CHECK(atomic_load(&crew.successes) >= crew.rounds);
        world_close(&crew.w);
    }
}

/* ---- one unique key, many takers ------------------------------------------------------------------------- */

static void take_keys(struct member *member)
{
    struct crew *crew = member->crew;
    for (int i = 0; i < crew->rounds; i++) {
        const struct written w = world_insert(&crew->w, "c", "{'_id':%d,'u':%d}",
                                              i * THREADS + member->number, i);
        CHECK_THAT(w.code == OK || w.code == DUPLICATE_KEY, "%s: %s", status_code_name(w.code),
                   w.message);
        atomic_fetch_add(&crew->successes, w.code == OK);
    }
}

TEST(threads, of_many_takers_of_a_unique_key_exactly_one_gets_it)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 100);
        world_collection(&crew.w, "c", TTL_OFF, "u: u unique");
        crew_run(&crew, THREADS, take_keys);
        CHECK_EQ(atomic_load(&crew.successes), crew.rounds, "one per key");
        CHECK_EQ(world_figures(&crew.w, "c").documents, crew.rounds, "");
        world_close(&crew.w);
    }
}

/* ---- everything at once ----------------------------------------------------------------------------------- */

static void write_own(struct member *member)
{
    struct crew *crew = member->crew;
    for (int i = 0; i < crew->rounds; i++) {
        const int id = (i % 50) * THREADS + member->number;
        const struct written w =
            world_upsert(&crew->w, "c", "{'_id':%d,'x':%d,'t':[%d,%d],'ttl':%d,'at':@%d}", id,
                         i % 9, i, i + 1, i % 3 ? 3 + i % 5 : -1, i % 4 ? 5000000 : 2000);
        CHECK_THAT(w.code == OK, "%s: %s", status_code_name(w.code), w.message);
        if (i % 11 == 0)
            (void)world_delete(&crew->w, "c", "{'_id':%d}", id).code;
    }
}

static void look_around(struct member *member)
{
    struct crew *crew = member->crew;
    const char *ways[] = { "key", "-x", "slots", "x" };
    for (int i = 0; i < crew->rounds / 10 + 1; i++) {
        struct request request = world_begin(&crew->w);
        struct collection_figures figures;
        const struct collection *c = world_find(&request, "c");
        CHECK(world_scan_in(&request, "c", ways[i % 4]) != NULL);
        CHECK_OK(collection_figures(&request, c, &figures));
        world_end(&request);
    }
}

static void change_things(struct member *member)
{
    struct crew *crew = member->crew;
    struct world *w = &crew->w;
    for (int i = 0; i < crew->rounds / 10 + 1; i++) {
        const arena_position mark = arena_mark(w->arena);
        CHECK_OK(world_set_ttl(w, "c", i % 3 == 0 ? TTL_NEVER : 5 + i % 7));
        const status made = world_index(w, "c", "more: t x");
        CHECK_THAT(made.code == OK || made.code == EXISTS, "%s", made.message);
        world_pass(w, 300);
        if (i % 2) {
            const status gone = world_index_drop(w, "c", "more");
            CHECK_THAT(gone.code == OK || gone.code == NOT_FOUND, "%s", gone.message);
        }
        struct purge_result result;
        CHECK_OK(engine_purge(w->engine, &result));
        arena_release(w->arena, mark);
    }
}

static void do_everything(struct member *member)
{
    if (member->number == 0)
        change_things(member);
    else if (member->number < 3)
        look_around(member);
    else
        write_own(member);
}

/* The thread that builds indexes may still be at work, and holds a pass back as any request does. */
static void purge_until_nobody_is_in_the_way(struct world *w)
{
    for (int i = 0; i < PASSES_MAX && world_figures(w, "c").dead_documents > 0; i++)
        world_purge(w);
}

TEST(threads, writers_readers_changes_and_the_purger_do_not_get_in_each_others_way)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 400);
        world_collection(&crew.w, "c", 10, "x: x; at: at ttl=1");
        crew_run(&crew, THREADS, do_everything);
        world_check(&crew.w);
        world_pass(&crew.w, 3600000);
        CHECK_OK(world_set_ttl(&crew.w, "c", 1));
        purge_until_nobody_is_in_the_way(&crew.w);
        CHECK_EQ(world_figures(&crew.w, "c").dead_documents, 0, "");
        world_close(&crew.w);
    }
}

/* ---- purging next to requests with older pictures ---------------------------------------------------------- */

static void read_all(struct crew *crew)
{
    struct request request = world_begin(&crew->w);
    const struct collection *c = world_find(&request, "c");
    for (int id = 0; id < 20; id++) {
        struct document document;
        const status s = document_read(&request, c, world_id_key(&request, c, id), &document);
        CHECK_THAT(s.code == OK || s.code == NOT_FOUND, "%s: %s", status_code_name(s.code),
                   s.message);
        if (s.code == OK)
            document_release(&request, &document);
    }
    CHECK(world_scan_in(&request, "c", "x") != NULL);
    world_end(&request);
}

/* Everybody dies at once by a shorter ttl and is purged at once; then new ones are born. */
static void kill_and_purge(struct crew *crew)
{
    struct world *w = &crew->w;
    struct purge_result result;
    const arena_position mark = arena_mark(w->arena);
    for (int id = 0; id < 20; id++)
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'x':%d}", id, id), OK);
    world_pass(w, 5000);
    CHECK_OK(world_set_ttl(w, "c", 1));
    CHECK_OK(engine_purge(w->engine, &result));
    CHECK_OK(world_set_ttl(w, "c", 1000000));
    CHECK_OK(engine_purge(w->engine, &result));
    arena_release(w->arena, mark);
}

static void read_or_kill(struct member *member)
{
    struct crew *crew = member->crew;
    for (int i = 0; member->number == 0 && i < crew->rounds; i++)
        kill_and_purge(crew);
    if (member->number == 0)
        atomic_store(&crew->is_over, true);
    while (!atomic_load(&crew->is_over))
        read_all(crew);
}

TEST(threads, a_request_never_meets_a_document_without_its_body)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 100);
        world_collection(&crew.w, "c", 1000000, "x: x");
        crew_run(&crew, THREADS, read_or_kill);
        world_close(&crew.w);
    }
}

/* ---- the purger's own thread ------------------------------------------------------------------------------ */

static void wait_until_purged(struct member *member)
{
    struct crew *crew = member->crew;
    while (world_figures(&crew->w, "c").purged_documents < 10)
        purger_set_pause(crew->w.engine, 1); /* wakes it; there is nothing else to do */
}

TEST(threads, the_purger_comes_by_itself)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 1);
        world_collection(&crew.w, "c", 10, "");
        for (int i = 0; i < 10; i++)
            CHECK_WRITTEN(world_insert(&crew.w, "c", "{'_id':%d}", i), OK);
        world_pass(&crew.w, 60000);
        CHECK_LIVING(&crew.w, "c", "");
        crew_run(&crew, 1, wait_until_purged);
        CHECK_EQ(world_figures(&crew.w, "c").dead_documents, 0, "");
        world_close(&crew.w);
    }
}

static void wait_until_built(struct member *member)
{
    struct crew *crew = member->crew;
    bool is_ready = false;
    while (!is_ready) {
        struct request request = world_begin(&crew->w);
        is_ready = collection_index(world_find(&request, "c"), BYTES_LITERAL("x"))->state ==
                   INDEX_READY;
        world_end(&request);
    }
}

TEST(threads, an_index_is_built_by_itself)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 1);
        world_collection(&crew.w, "c", TTL_OFF, "");
        for (int i = 0; i < 100; i++)
            CHECK_WRITTEN(world_insert(&crew.w, "c", "{'_id':%d,'x':%d}", i, i % 3), OK);
        CHECK_OK(world_index(&crew.w, "c", "x: x"));
        crew_run(&crew, 1, wait_until_built);
        CHECK_EQ(world_figures(&crew.w, "c").documents, 100, "");
        world_close(&crew.w);
    }
}

static void wait_until_caught_up(struct member *member)
{
    struct crew *crew = member->crew;
    bool is_complete = false;
    while (!is_complete) {
        struct request request = world_begin(&crew->w);
        is_complete = index_progress_per_mille(collection_index(world_find(&request, "c"),
                                                                BYTES_LITERAL("late"))) == 1000;
        world_end(&request);
    }
}

TEST(threads, c10_a_lazy_index_catches_up_by_itself)
{
    EACH_BACKING(backing)
    {
        struct crew crew;
        crew_open(&crew, backing, 1);
        world_collection(&crew.w, "c", TTL_OFF, "late: x lazy; x: x");
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 200; i++)
                CHECK_WRITTEN(world_upsert(&crew.w, "c", "{'_id':%d,'x':%d}", i, (i + round) % 5),
                              OK);
            crew_run(&crew, 1, wait_until_caught_up);
            CHECK_STRING(world_scan(&crew.w, "c", "late"), world_scan(&crew.w, "c", "x"));
        }
        world_close(&crew.w);
    }
}
