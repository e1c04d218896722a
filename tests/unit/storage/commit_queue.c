/* The commit queue: order, groups, refusals, stops, and many threads. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/crew.h"
#include "tests/unit/storage/fixture.h"

enum { THREADS = 64 };

/* What happened, in order: "s1" stamped, "d1" done, "(" and ")" around a group, "!" failed group. */
struct history {
    char text[4096];
    size_t len;
};

struct item;

struct bench {
    struct fixture f;
    struct commit_queue *queue;
    struct history history;
    bool adds_in_before_group;
    struct item *arriving[16]; /* submitted when the group is about to be written */
    size_t arriving_count;
};

struct item {
    struct commit commit;
    struct bench *bench;
    int number;
    status refusal;       /* not OK: the stamp refuses */
    size_t value_len;     /* 0: appends nothing */
    struct item *follow;  /* submitted from done */
    struct item *meet[3]; /* they arrive while this group is being written */
    struct item *along;   /* arrives while this one is stamped */
    int done_count;
    status outcome;
};

static void tell(struct bench *bench, const char *format, int number)
{
    struct history *h = &bench->history;

    h->len += (size_t)snprintf(h->text + h->len, sizeof(h->text) - h->len, format, number);
}

static void before_group(void *owner, struct storage_batch *batch)
{
    struct bench *bench = owner;

    tell(bench, "(", 0);
    for (size_t i = 0; i < bench->arriving_count; i++)
        CHECK_OK(commit_submit(bench->queue, &bench->arriving[i]->commit));
    bench->arriving_count = 0;
    if (bench->adds_in_before_group)
        storage_add(bench->f.storage, batch, fixture_at(SPACE_META), BYTES_LITERAL("groups"),
                    (struct storage_counters){ 1, 0 });
}

static void after_group(void *owner, bool is_written)
{
    tell(owner, is_written ? ")" : "!", 0);
}

static status item_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct item *item = commit->owner;
    static const char value[1024] = "a value";
    char key[16];

    tell(item->bench, "s%d", item->number);
    for (size_t i = 0; i < ARRAY_COUNT(item->meet); i++)
        if (item->meet[i] != NULL)
            item->bench->arriving[item->bench->arriving_count++] = item->meet[i];
    if (item->along != NULL)
        CHECK_OK(commit_submit(item->bench->queue, &item->along->commit));
    if (item->refusal.code != OK)
        return item->refusal;
    snprintf(key, sizeof(key), "%06d", item->number);
    for (size_t left = item->value_len; left > 0;) {
        const size_t len = left < sizeof(value) ? left : sizeof(value);
        storage_put(item->bench->f.storage, batch, fixture_at(SPACE_ROWS), bytes_of_text(key),
                    bytes_of(value, len));
        left -= len;
    }
    return STATUS_OK;
}

static void item_done(struct commit *commit, status outcome)
{
    struct item *item = commit->owner;

    tell(item->bench, "d%d", item->number);
    item->done_count++;
    item->outcome = outcome;
    if (item->follow != NULL) {
        struct item *follow = item->follow;
        item->follow = NULL;
        follow->outcome = commit_submit(item->bench->queue, &follow->commit);
    }
}

static void bench_open(struct bench *bench, enum fixture_kind kind)
{
    const struct commit_queue_hooks hooks = { before_group, after_group, NULL, bench };

    memset(bench, 0, sizeof(*bench));
    fixture_open(&bench->f, kind);
    bench->queue = commit_queue_open(bench->f.storage, hooks, &bench->f.log, &bench->f.metrics);
    CHECK(bench->queue != NULL);
}

static void bench_close(struct bench *bench)
{
    commit_queue_close(bench->queue);
    fixture_close(&bench->f);
}

static void items_make(struct bench *bench, struct item *items, int count)
{
    memset(items, 0, (size_t)count * sizeof(*items));
    for (int i = 0; i < count; i++) {
        items[i].commit = (struct commit){
            .stamp = item_stamp,
            .done = item_done,
            .owner = &items[i],
        };
        items[i].bench = bench;
        items[i].number = i;
        items[i].value_len = 1;
    }
}

static uint64_t metric(struct bench *bench, enum metric m)
{
    return metrics_read(&bench->f.metrics, m);
}

TEST(commit_queue, one_commit_is_a_group_of_its_own)
{
    struct bench bench;
    struct item item;

    bench_open(&bench, FIXTURE_ROCKSDB);
    items_make(&bench, &item, 1);
    CHECK_OK(commit_submit(bench.queue, &item.commit));
    CHECK_STRING(bench.history.text, "s0()d0");
    CHECK_OK(item.outcome);
    CHECK_ROW(&bench.f, NULL, fixture_at(SPACE_ROWS), "000000", "a");
    CHECK_EQ(metric(&bench, METRIC_commits_total), 1, "");
    CHECK_EQ(metric(&bench, METRIC_commit_groups_total), 1, "");
    CHECK(metric(&bench, METRIC_commit_bytes_total) > 0);
    bench_close(&bench);
}

TEST(commit_queue, what_gathers_is_written_as_one_group_in_order)
{
    struct bench bench;
    struct item items[4];

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 4);
    for (int i = 0; i < 3; i++)
        items[0].meet[i] = &items[i + 1];
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0()d0s1s2s3()d1d2d3");
    CHECK_EQ(metric(&bench, METRIC_commits_total), 4, "");
    CHECK_EQ(metric(&bench, METRIC_commit_groups_total), 2, "");
    bench_close(&bench);
}

TEST(commit_queue, who_comes_while_others_are_stamped_comes_along)
{
    struct bench bench;
    struct item items[5];

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 5);
    for (int i = 0; i < 4; i++)
        items[i].along = &items[i + 1];
    items[3].commit.is_barrier = true;
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0s1s2()d0d1d2s3()d3s4()d4");
    bench_close(&bench);
}

TEST(commit_queue, a_barrier_goes_alone)
{
    struct bench bench;
    struct item items[4];

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 4);
    items[2].commit.is_barrier = true;
    for (int i = 0; i < 3; i++)
        items[0].meet[i] = &items[i + 1];
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0()d0s1()d1s2()d2s3()d3");
    bench_close(&bench);
}

TEST(commit_queue, a_refused_commit_hears_why_after_the_sync_and_hurts_nobody)
{
    struct bench bench;
    struct item items[4];

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 4);
    items[2].refusal = status_of(PRECONDITION, "not so");
    for (int i = 0; i < 3; i++)
        items[0].meet[i] = &items[i + 1];
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0()d0s1s2s3()d1d2d3");
    CHECK_OK(items[1].outcome);
    CHECK_CODE(items[2].outcome, PRECONDITION);
    CHECK_STRING(items[2].outcome.message, "not so");
    CHECK_OK(items[3].outcome);
    CHECK_ROW(&bench.f, NULL, fixture_at(SPACE_ROWS), "000002", NULL);
    CHECK_EQ(metric(&bench, METRIC_commits_total), 3, "");
    bench_close(&bench);
}

TEST(commit_queue, nothing_to_write_is_not_written)
{
    struct bench bench;
    struct item items[2];

    bench_open(&bench, FIXTURE_FAULTY);
    items_make(&bench, items, 2);
    items[0].value_len = 0;
    items[1].refusal = status_of(EXISTS, "is there");
    items[0].meet[0] = &items[1];
    storage_faulty_arm(bench.f.storage, 0);
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_OK(items[0].outcome);
    CHECK_CODE(items[1].outcome, EXISTS);
    CHECK_EQ(storage_faulty_calls(bench.f.storage), 0, "no commit");
    CHECK_EQ(metric(&bench, METRIC_commit_groups_total), 0, "");
    bench.adds_in_before_group = true;
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_EQ(metric(&bench, METRIC_commit_groups_total), 2, "the hook has appended");
    bench_close(&bench);
}

TEST(commit_queue, groups_end_when_they_are_large_enough)
{
    struct bench bench;
    struct item items[4];

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 4);
    items[1].value_len = LIMIT_GROUP_BYTES;
    for (int i = 0; i < 3; i++)
        items[0].meet[i] = &items[i + 1];
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0()d0s1()d1s2s3()d2d3");
    bench_close(&bench);
}

TEST(commit_queue, done_may_submit_again)
{
    struct bench bench;
    struct item items[3];

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 3);
    items[0].follow = &items[1];
    items[1].follow = &items[2];
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0()d0s1()d1s2()d2");
    bench_close(&bench);
}

TEST(commit_queue, guarded_commits_go_alone_and_only_the_loser_hears_of_a_conflict)
{
    struct bench bench;
    struct item items[4];
    const struct storage_guard absent = { fixture_at(SPACE_ROWS), BYTES_LITERAL("000009"),
                                          BYTES_NONE };
    const struct storage_guard present = { fixture_at(SPACE_ROWS), BYTES_LITERAL("000009"),
                                           BYTES_LITERAL("x") };

    bench_open(&bench, FIXTURE_MEMORY);
    items_make(&bench, items, 4);
    items[1].commit.guards = &present;
    items[1].commit.guard_count = 1;
    items[2].commit.guards = &absent;
    items[2].commit.guard_count = 1;
    for (int i = 0; i < 3; i++)
        items[0].meet[i] = &items[i + 1];
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(bench.history.text, "s0()d0s1(!d1s2()d2s3()d3");
    CHECK_CODE(items[1].outcome, CONFLICT);
    CHECK_OK(items[2].outcome);
    CHECK_OK(items[3].outcome);
    CHECK(!commit_queue_is_stopped(bench.queue));
    bench_close(&bench);
}

TEST(commit_queue, a_failed_write_stops_writes_and_reads_go_on)
{
    struct bench bench;
    struct item items[4];

    bench_open(&bench, FIXTURE_FAULTY);
    items_make(&bench, items, 4);
    CHECK_OK(commit_submit(bench.queue, &items[0].commit));
    CHECK_STRING(commit_queue_stop_reason(bench.queue), "");
    bench.history.len = 0;

    /* 2 gathers behind 1, whose write fails; 3 comes from the done of 1. */
    items[1].meet[0] = &items[2];
    items[1].follow = &items[3];
    storage_faulty_arm(bench.f.storage, 1);
    CHECK_OK(commit_submit(bench.queue, &items[1].commit));
    CHECK_STRING(bench.history.text, "s1(!d1d2");
    CHECK_CODE(items[1].outcome, IO_ERROR);
    CHECK_CODE(items[2].outcome, WRITES_STOPPED);
    CHECK_CODE(items[3].outcome, WRITES_STOPPED);
    CHECK_EQ(items[3].done_count, 0, "refused at the door: no done");
    CHECK(commit_queue_is_stopped(bench.queue));
    CHECK_STRING(commit_queue_stop_reason(bench.queue), "injected failure");
    CHECK_EQ(metric(&bench, METRIC_commit_writes_stopped), 1, "");
    CHECK_EQ(metric(&bench, METRIC_commit_errors_total), 1, "");

    items[3].commit.done = item_done;
    const status s = commit_and_wait(bench.queue, &items[3].commit);
    CHECK_CODE(s, WRITES_STOPPED);
    CHECK_STRING(s.message, "injected failure");
    CHECK_ROW(&bench.f, NULL, fixture_at(SPACE_ROWS), "000000", "a");
    CHECK_ROW(&bench.f, NULL, fixture_at(SPACE_ROWS), "000001", NULL);
    bench_close(&bench);
}

/* ---- many threads --------------------------------------------------------------------------------- */

struct crowd {
    struct fixture f;
    struct commit_queue *queue;
    _Atomic int stamping; /* never above 1 */
    int order;            /* the leader's: numbers handed out by stamps */
    _Atomic int left;     /* commits not yet done */
    pthread_mutex_t lock;
    pthread_cond_t all_done;
};

struct member {
    struct commit commit;
    struct crowd *crowd;
    int index;
    int rounds;
    int stamped;
    int told;
    int last_order;
};

static status member_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct member *member = commit->owner;
    struct crowd *crowd = member->crowd;
    char key[24];

    ASSERT(atomic_fetch_add(&crowd->stamping, 1) == 0);
    member->last_order = ++crowd->order;
    member->stamped++;
    snprintf(key, sizeof(key), "%04d-%06d", member->index, member->stamped);
    storage_put(crowd->f.storage, batch, fixture_at(SPACE_ROWS), bytes_of_text(key),
                BYTES_LITERAL("v"));
    storage_add(crowd->f.storage, batch, fixture_at(SPACE_META), BYTES_LITERAL("n"),
                (struct storage_counters){ 1, 0 });
    atomic_fetch_sub(&crowd->stamping, 1);
    return STATUS_OK;
}

static void crowd_open(struct crowd *crowd, enum fixture_kind kind)
{
    memset(crowd, 0, sizeof(*crowd));
    fixture_open(&crowd->f, kind);
    crowd->queue = commit_queue_open(crowd->f.storage, (struct commit_queue_hooks){ 0 },
                                     &crowd->f.log, &crowd->f.metrics);
    pthread_mutex_init(&crowd->lock, NULL);
    pthread_cond_init(&crowd->all_done, NULL);
}

static void crowd_close(struct crowd *crowd)
{
    commit_queue_close(crowd->queue);
    pthread_mutex_destroy(&crowd->lock);
    pthread_cond_destroy(&crowd->all_done);
    fixture_close(&crowd->f);
}

static void crowd_run(struct crowd *crowd, struct member *members, int rounds,
                      void *(*body)(void *))
{
    pthread_t threads[THREADS];

    atomic_store(&crowd->left, THREADS * rounds);
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){ .crowd = crowd, .index = i, .rounds = rounds };
        members[i].commit = (struct commit){ .stamp = member_stamp, .owner = &members[i] };
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, body, &members[i]), 0, "");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void crowd_check(struct crowd *crowd, int total)
{
    struct storage_value value;
    struct storage_counters counters;

    CHECK_EQ(crowd->order, total, "each stamped once");
    CHECK_EQ(metrics_read(&crowd->f.metrics, METRIC_commits_total), total, "");
    CHECK_OK(
        storage_get(crowd->f.storage, NULL, fixture_at(SPACE_META), BYTES_LITERAL("n"), &value));
    CHECK(storage_counters_decode(value.value, &counters));
    CHECK_EQ(counters.first, total, "");
    storage_value_release(crowd->f.storage, &value);
}

static void *wait_for_each(void *data)
{
    struct member *member = data;
    char key[24];

    for (int i = 1; i <= member->rounds; i++) {
        struct storage_value value;
        CHECK_OK(commit_and_wait(member->crowd->queue, &member->commit));
        CHECK_EQ(member->stamped, i, "");
        snprintf(key, sizeof(key), "%04d-%06d", member->index, i);
        CHECK_OK(storage_get(member->crowd->f.storage, NULL, fixture_at(SPACE_ROWS),
                             bytes_of_text(key), &value));
        storage_value_release(member->crowd->f.storage, &value);
    }
    return NULL;
}

static void many_threads_wait(enum fixture_kind kind, int rounds)
{
    struct crowd crowd;
    struct member members[THREADS];

    crowd_open(&crowd, kind);
    crowd_run(&crowd, members, rounds, wait_for_each);
    crowd_check(&crowd, THREADS * rounds);
    crowd_close(&crowd);
}

TEST(commit_queue, threads_that_wait_find_their_commits_in_memory)
{
    many_threads_wait(FIXTURE_MEMORY, 100);
}

TEST(commit_queue, threads_that_wait_find_their_commits_on_disk)
{
    many_threads_wait(FIXTURE_ROCKSDB, 20);
}

static void member_told(struct commit *commit, status outcome)
{
    struct member *member = commit->owner;
    struct crowd *crowd = member->crowd;

    ASSERT(outcome.code == OK);
    ASSERT(++member->told == member->stamped);
    if (member->told < member->rounds) {
        ASSERT(commit_submit(crowd->queue, commit).code == OK);
    }
    if (atomic_fetch_sub(&crowd->left, 1) == 1) {
        pthread_mutex_lock(&crowd->lock);
        pthread_cond_signal(&crowd->all_done);
        pthread_mutex_unlock(&crowd->lock);
    }
}

static void *submit_once(void *data)
{
    struct member *member = data;

    member->commit.done = member_told;
    CHECK_OK(commit_submit(member->crowd->queue, &member->commit));
    return NULL;
}

TEST(commit_queue, commits_that_follow_each_other_are_all_told_once)
{
    struct crowd crowd;
    struct member members[THREADS];
    const int rounds = 100;

    crowd_open(&crowd, FIXTURE_MEMORY);
    crowd_run(&crowd, members, rounds, submit_once);
    pthread_mutex_lock(&crowd.lock);
    while (atomic_load(&crowd.left) > 0)
        pthread_cond_wait(&crowd.all_done, &crowd.lock);
    pthread_mutex_unlock(&crowd.lock);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(members[i].told, rounds, "");
    crowd_check(&crowd, THREADS * rounds);
    crowd_close(&crowd);
}

static void *wait_until_stopped(void *data)
{
    struct member *member = data;

    for (int i = 0; i < member->rounds; i++) {
        struct storage_value value;
        const status s = commit_and_wait(member->crowd->queue, &member->commit);
        CHECK(s.code == OK || s.code == IO_ERROR || s.code == WRITES_STOPPED);
        if (s.code == OK)
            member->told++;
        CHECK_CODE(storage_get(member->crowd->f.storage, NULL, fixture_at(SPACE_ROWS),
                               BYTES_LITERAL("nowhere"), &value),
                   NOT_FOUND);
    }
    return NULL;
}

TEST(commit_queue, a_stop_reaches_every_waiting_thread)
{
    struct crowd crowd;
    struct member members[THREADS];
    int acknowledged = 0;

    crowd_open(&crowd, FIXTURE_FAULTY);
    crowd_run(&crowd, members, 20, wait_until_stopped);
    CHECK_EQ(crowd.order, THREADS * 20, "healthy so far");

    /* A commit beside the queue breaks the disk. */
    size_t conflict;
    storage_faulty_arm(crowd.f.storage, 1);
    CHECK_CODE(storage_commit(crowd.f.storage, crowd.f.batch, NULL, 0, crowd.f.arena, &conflict),
               IO_ERROR);
    crowd_run(&crowd, members, 20, wait_until_stopped);
    for (int i = 0; i < THREADS; i++)
        acknowledged += members[i].told;
    CHECK_EQ(acknowledged, 0, "");
    CHECK(commit_queue_is_stopped(crowd.queue));
    crowd_close(&crowd);
}

/* ---- the lead goes round ---------------------------------------------------------------------------- */

/* Two threads that wait for a commit each, and a commit that nobody waits for, which comes again and again for as
 * long as the test needs somebody to lead. */
struct relay {
    struct fixture f;
    struct commit_queue *queue;
    struct runner {
        struct commit commit;
        struct relay *relay;
        pthread_t thread;
        status outcome;
        _Atomic bool is_stamped, has_returned;
    } runners[2];
    struct commit endless;
    const _Atomic bool *is_enough; /* ends the endless one */
    _Atomic bool is_over;          /* it has ended */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic bool is_handed_over;
    pthread_t first;  /* the thread of the first runner */
    int led_by_first; /* the leader's: how often the endless one was told by it */
    bool holds_back;  /* whoever hands over stays where it is */
};

static status runner_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct runner *runner = commit->owner;

    storage_put(runner->relay->f.storage, batch, fixture_at(SPACE_ROWS), BYTES_LITERAL("runner"),
                BYTES_LITERAL("r"));
    atomic_store(&runner->is_stamped, true);
    return STATUS_OK;
}

static status endless_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct relay *relay = commit->owner;

    storage_put(relay->f.storage, batch, fixture_at(SPACE_ROWS), BYTES_LITERAL("endless"),
                BYTES_LITERAL("e"));
    return STATUS_OK;
}

static void endless_done(struct commit *commit, status outcome)
{
    struct relay *relay = commit->owner;

    ASSERT(outcome.code == OK);
    relay->led_by_first += pthread_equal(pthread_self(), relay->first) != 0;
    if (atomic_load(relay->is_enough))
        atomic_store(&relay->is_over, true);
    else
        ASSERT(commit_submit(relay->queue, commit).code == OK);
}

static void relay_handed_over(void *owner)
{
    struct relay *relay = owner;

    pthread_mutex_lock(&relay->lock);
    atomic_store(&relay->is_handed_over, true);
    pthread_cond_broadcast(&relay->changed);
    while (relay->holds_back)
        pthread_cond_wait(&relay->changed, &relay->lock);
    pthread_mutex_unlock(&relay->lock);
}

static void *run_once(void *data)
{
    struct runner *runner = data;

    runner->relay->first = pthread_self();
    runner->outcome = commit_and_wait(runner->relay->queue, &runner->commit);
    atomic_store(&runner->has_returned, true);
    return NULL;
}

/* A commit that comes while others are stamped comes along with them, and there is no lead to take over. */
static void *run_until_handed_over(void *data)
{
    struct runner *runner = data;

    while (!atomic_load(&runner->relay->is_handed_over))
        CHECK_OK(commit_and_wait(runner->relay->queue, &runner->commit));
    return NULL;
}

static void first_done(struct commit *commit, status outcome)
{
    struct runner *runner = commit->owner;

    ASSERT(outcome.code == OK);
    ASSERT(commit_submit(runner->relay->queue, &runner->relay->endless).code == OK);
}

/* The first runner leads, and goes on with the endless one; the second comes at some time. */
static void relay_start(struct relay *relay)
{
    const struct commit_queue_hooks hooks = { .after_lead = relay_handed_over, .owner = relay };

    fixture_open(&relay->f, FIXTURE_MEMORY);
    relay->queue = commit_queue_open(relay->f.storage, hooks, &relay->f.log, &relay->f.metrics);
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->changed, NULL);
    relay->endless =
        (struct commit){ .stamp = endless_stamp, .done = endless_done, .owner = relay };
    for (int i = 0; i < 2; i++) {
        struct runner *runner = &relay->runners[i];
        runner->relay = relay;
        runner->commit = (struct commit){ .stamp = runner_stamp, .owner = runner };
    }
    relay->runners[0].commit.done = first_done;
    CHECK_EQ(pthread_create(&relay->runners[0].thread, NULL, run_once, &relay->runners[0]), 0, "");
    while (!atomic_load(&relay->runners[0].is_stamped)) /* it leads */
        sched_yield();
    CHECK_EQ(
        pthread_create(&relay->runners[1].thread, NULL, run_until_handed_over, &relay->runners[1]),
        0, "");
}

static void relay_end(struct relay *relay)
{
    pthread_cond_destroy(&relay->changed);
    pthread_mutex_destroy(&relay->lock);
    fixture_close(&relay->f);
}

TEST(commit_queue, who_waits_goes_on_when_it_is_told_and_others_lead)
{
    struct relay relay = { .is_enough = &relay.runners[0].has_returned };

    relay_start(&relay);
    pthread_join(relay.runners[0].thread, NULL); /* though commits come without end until then */
    pthread_join(relay.runners[1].thread, NULL);
    CHECK_OK(relay.runners[0].outcome);
    CHECK(atomic_load(&relay.is_handed_over));
    CHECK(atomic_load(&relay.is_over));
    CHECK(relay.led_by_first >= 32); /* small groups are led on for a while */
    commit_queue_close(relay.queue);
    relay_end(&relay);
}

TEST(commit_queue, the_queue_may_be_closed_while_who_handed_over_the_lead_is_still_on_its_way_out)
{
    struct relay relay = { .is_enough = &relay.is_handed_over, .holds_back = true };

    relay_start(&relay);
    pthread_join(relay.runners[1].thread, NULL); /* it was the last to lead */
    CHECK(atomic_load(&relay.is_over));
    CHECK(!atomic_load(&relay.runners[0].has_returned));
    commit_queue_close(relay.queue);
    pthread_mutex_lock(&relay.lock);
    relay.holds_back = false;
    pthread_cond_broadcast(&relay.changed);
    pthread_mutex_unlock(&relay.lock);
    pthread_join(relay.runners[0].thread, NULL);
    CHECK_OK(relay.runners[0].outcome);
    relay_end(&relay);
}

/* ---- led aside -------------------------------------------------------------------------------------- */

/* A commit that notes which thread told it. */
struct aside {
    struct commit commit;
    struct fixture *f;
    _Atomic bool is_told;
    pthread_t told_by;
};

static status aside_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct aside *aside = commit->owner;

    storage_put(aside->f->storage, batch, fixture_at(SPACE_ROWS), BYTES_LITERAL("aside"),
                BYTES_LITERAL("a"));
    return STATUS_OK;
}

static void aside_done(struct commit *commit, status outcome)
{
    struct aside *aside = commit->owner;

    ASSERT(outcome.code == OK);
    aside->told_by = pthread_self();
    atomic_store(&aside->is_told, true);
}

static void submit_aside(struct fixture *f, struct commit_queue *queue, struct crew *crew,
                         struct aside *aside)
{
    aside->f = f;
    aside->commit = (struct commit){ .stamp = aside_stamp, .done = aside_done, .owner = aside };
    CHECK_OK(commit_submit_aside(queue, &aside->commit, crew));
}

TEST(commit_queue, a_hand_of_the_crew_leads_for_who_has_more_to_do)
{
    const struct commit_queue_hooks hooks = { 0 };
    struct crew *crew = crew_open(1);
    struct fixture f;

    fixture_open(&f, FIXTURE_MEMORY);
    struct commit_queue *queue = commit_queue_open(f.storage, hooks, &f.log, &f.metrics);
    for (int i = 0; i < 100; i++) {
        struct aside aside = { 0 };
        submit_aside(&f, queue, crew, &aside);
        while (!atomic_load(&aside.is_told))
            sched_yield();
        CHECK(!pthread_equal(aside.told_by, pthread_self()) || i > 0);
    }
    commit_queue_close(queue);
    crew_close(crew);
    fixture_close(&f);
}

TEST(commit_queue, without_a_free_hand_who_submits_leads)
{
    const struct commit_queue_hooks hooks = { 0 };
    struct aside aside = { 0 };
    struct fixture f;

    fixture_open(&f, FIXTURE_MEMORY);
    struct commit_queue *queue = commit_queue_open(f.storage, hooks, &f.log, &f.metrics);
    submit_aside(&f, queue, NULL, &aside);
    CHECK(atomic_load(&aside.is_told));
    CHECK(pthread_equal(aside.told_by, pthread_self()));
    commit_queue_close(queue);
    fixture_close(&f);
}
