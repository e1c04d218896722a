/* Commit queue: many writers, one synced write at a time.
 *
 * Who submits while nobody leads, leads: takes what waits, lets each commit stamp its rows into one
 * batch, writes that batch and tells the owners in order. Everybody else only links in and goes away, or
 * sleeps until it is told; the sync that is running is the time in which the next group gathers.
 *
 * The lead goes round. Who waits for a commit wants to go on with its own work when that is told, so when it has led
 * enough it hands the lead to a thread that sleeps for a commit of its own: of those that came in one round, the first,
 * which can be woken alone. Where nobody sleeps, because all others have gone away, and where the leader itself does
 * not wait for anything, it goes on until nothing waits. Who has more to do than to wait can ask a hand of the crew to lead
 * (commit_submit_aside); that one hands the lead on like one that was told.
 *
 * Groups. As many commits as have gathered, those that come while others are stamped included, up to
 * LIMIT_GROUP_COMMITS and until LIMIT_GROUP_BYTES are reached. A commit goes alone if it is a barrier, if it has guards (one that fails must not take
 * others with it, and a stamp cannot run twice), and always where a storage cannot write several
 * partitions at once.
 *
 *     idle -> leading     submit, on the submitting thread
 *     leading -> leading  hand_over, to a thread that sleeps in commit_and_wait
 *     leading -> idle     lead, nothing waits
 *     any -> stopped      group_write, after a failed write; for ever. Waiting and later commits are
 *                         answered WRITES_STOPPED and never stamped
 *
 * The end. Nothing is queued when the queue is closed, and every commit_and_wait has returned or has handed over the lead. So the
 * only one who may still be in it is the leader that has told the last owner; `is_led` says so until that leader has
 * left, and closing waits for it. Who has handed over the lead touches only memory of its own from the very store that gave it
 * away. The wakes that it still owes to sleepers go to addresses, which may belong to nobody any more; the system does
 * not mind, and a sleeper on something else there looks again.
 *
 * After a failed write nobody knows what is on the disk, so nothing may be built on it: the storage
 * says IO_ERROR (nothing was written) or UNKNOWN_RESULT (it may be there after a restart), the
 * group's owners get exactly that, and reads go on.
 *
 * Keeps: stamps and dones run in the order of submission, each once, never two at a time. A refusal
 * is told only after the sync too, because it may rest on a commit of the same group.
 * Threads: any. `lock` guards the incoming list and the flags, is held for moments and never while
 * calling out; what belongs to the leader is touched by the leader only. Start reading at lead(). */
#include "storage/commit_queue.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/crew.h"
#include "storage/storage.h"

enum { REASON_BYTES = 1024, MESSAGE_ARENA_BYTES = 64 * 1024, BELLS = 8 };
/* Who waits leads on for others until it has led so much: while groups are small, waking another thread for each of them
 * costs more than it spares the one that leads. */
enum { LEAD_BYTES = 256 * 1024, LEAD_GROUPS = 64 };

struct commit_list {
    struct commit *first;
    struct commit *last;
};

struct commit_queue {
    struct storage *storage;
    struct commit_queue_hooks hooks;
    const struct log *log;
    struct metrics *metrics;

    pthread_mutex_t lock;
    pthread_cond_t leader_left;
    struct commit_list incoming;
    size_t waiting_count; /* submitted and not yet told */
    unsigned round;       /* how often the leader has emptied `incoming` */
    bool has_first;       /* somebody waits who came in this round */
    bool is_led;

    /* Who waits sleeps here, by the round of arrival, but for the first of each round, which may have to lead: one wake for
     * a whole group, and it does not wake those whose turn comes next. Changed by the leader. */
    _Atomic uint32_t bells[BELLS];

    /* The leader's. */
    struct commit_list taken;
    struct storage_batch *batch;
    struct arena *arena;
    struct commit *group[LIMIT_GROUP_COMMITS];
    status outcomes[LIMIT_GROUP_COMMITS];
    size_t group_count;
    size_t led_groups, led_bytes; /* since it leads */
    struct sleepers *sleepers;    /* told in this group; on the leader's stack */

    _Atomic bool is_stopped;
    char stop_reason[REASON_BYTES]; /* written once, before is_stopped */
};

struct waiting_commit;

/* Why a thread leads, and so when it may stop. */
enum lead_reason { LEAD_ONE_OF_MANY, LEAD_OWN, LEAD_ASIDE };

static void lead(struct commit_queue *queue, enum lead_reason reason, struct waiting_commit *own);

/* ---- life ----------------------------------------------------------------------------------------- */

struct commit_queue *commit_queue_open(struct storage *storage, struct commit_queue_hooks hooks,
                                       const struct log *log, struct metrics *metrics)
{
    struct commit_queue *queue = memory_take_zeroed(1, sizeof(*queue));

    ASSERT(log != NULL);
    ASSERT(metrics != NULL);
    if (queue == NULL)
        return NULL;
    queue->arena = arena_open(MESSAGE_ARENA_BYTES);
    if (queue->arena == NULL) {
        memory_give(queue);
        return NULL;
    }
    queue->storage = storage;
    queue->hooks = hooks;
    queue->log = log;
    queue->metrics = metrics;
    queue->batch = storage_batch_open(storage);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->leader_left, NULL);
    return queue;
}

void commit_queue_close(struct commit_queue *queue)
{
    if (queue == NULL)
        return;
    pthread_mutex_lock(&queue->lock);
    ASSERT(queue->incoming.first == NULL);
    while (queue->is_led)
        pthread_cond_wait(&queue->leader_left, &queue->lock);
    ASSERT(queue->waiting_count == 0);
    pthread_mutex_unlock(&queue->lock);

    storage_batch_close(queue->storage, queue->batch);
    arena_close(queue->arena);
    pthread_cond_destroy(&queue->leader_left);
    pthread_mutex_destroy(&queue->lock);
    memory_give(queue);
}

bool commit_queue_is_stopped(const struct commit_queue *queue)
{
    return atomic_load_explicit(&queue->is_stopped, memory_order_acquire);
}

const char *commit_queue_stop_reason(const struct commit_queue *queue)
{
    return commit_queue_is_stopped(queue) ? queue->stop_reason : "";
}

/* ---- lists ---------------------------------------------------------------------------------------- */

static void list_append(struct commit_list *list, struct commit *commit)
{
    commit->next = NULL;
    if (list->last != NULL)
        list->last->next = commit;
    else
        list->first = commit;
    list->last = commit;
}

static struct commit *list_take_first(struct commit_list *list)
{
    struct commit *commit = list->first;

    list->first = commit->next;
    if (list->first == NULL)
        list->last = NULL;
    commit->next = NULL;
    return commit;
}

/* Moves all of `from` behind `to`. */
static void list_move_all(struct commit_list *to, struct commit_list *from)
{
    if (from->first == NULL)
        return;
    if (to->last != NULL)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    *from = (struct commit_list){ 0 };
}

/* ---- submitting ----------------------------------------------------------------------------------- */

/* What a thread that waits is to do. The leader writes LEADS or TOLD, and touches it no more. */
enum { AWAKE, ASLEEP, LEADS, TOLD };

/* A commit on the stack of a thread that waits; stands in the queue for the caller's. */
struct waiting_commit {
    struct commit commit;
    struct commit_queue *queue;
    struct commit *inner;
    status outcome;
    _Atomic uint32_t *bell; /* where it sleeps: its own state if it may have to lead */
    _Atomic uint32_t state;
};

/* Whom the leader has told, and still has to wake: addresses only. */
struct sleepers {
    _Atomic uint32_t *alone[LIMIT_GROUP_COMMITS];
    size_t count;
    bool are_due[BELLS];
};

/* Under the lock. */
static void choose_place(struct commit_queue *queue, struct waiting_commit *waiting)
{
    waiting->bell = queue->has_first ? &queue->bells[queue->round % BELLS] : &waiting->state;
    queue->has_first = true;
}

/* `waiting` is the one of a thread that waits, or NULL. *is_leader_out: the caller has to lead now; otherwise the
 * commit may be over and gone when this returns. */
static status submit(struct commit_queue *queue, struct commit *commit,
                     struct waiting_commit *waiting, bool *is_leader_out)
{
    *is_leader_out = false;
    if (commit_queue_is_stopped(queue))
        return status_of(WRITES_STOPPED, queue->stop_reason);

    pthread_mutex_lock(&queue->lock);
    if (queue->waiting_count >= LIMIT_QUEUED_COMMITS) {
        pthread_mutex_unlock(&queue->lock);
        return status_of(BUSY, "too many writes are waiting for the disk; try again");
    }
    if (waiting != NULL)
        choose_place(queue, waiting);
    list_append(&queue->incoming, commit);
    queue->waiting_count++;
    *is_leader_out = !queue->is_led;
    queue->is_led = true;
    pthread_mutex_unlock(&queue->lock);
    return STATUS_OK;
}

/* Mostly waiting for the disk, so marked as a wait; refused, it must be done all the same. */
static void lead_marked(struct commit_queue *queue, enum lead_reason reason)
{
    const bool is_marked = block_begin();

    lead(queue, reason, NULL);
    if (is_marked)
        block_end();
}

status commit_submit(struct commit_queue *queue, struct commit *commit)
{
    bool is_leader;

    ASSERT(commit->stamp != NULL);
    ASSERT(commit->done != NULL);
    TRY(submit(queue, commit, NULL, &is_leader));
    if (is_leader)
        lead_marked(queue, LEAD_ONE_OF_MANY);
    return STATUS_OK;
}

static void lead_aside(void *queue)
{
    lead(queue, LEAD_ASIDE, NULL);
}

status commit_submit_aside(struct commit_queue *queue, struct commit *commit, struct crew *crew)
{
    bool is_leader;

    ASSERT(commit->stamp != NULL);
    ASSERT(commit->done != NULL);
    TRY(submit(queue, commit, NULL, &is_leader));
    if (is_leader && !crew_lend(crew, lead_aside, queue))
        lead_marked(queue, LEAD_ASIDE);
    return STATUS_OK;
}

/* ---- waiting -------------------------------------------------------------------------------------- */

static status waiting_stamp(struct commit *commit, struct storage_batch *batch)
{
    struct waiting_commit *waiting = commit->owner;

    return waiting->inner->stamp(waiting->inner, batch);
}

static void waiting_done(struct commit *commit, status outcome)
{
    struct waiting_commit *waiting = commit->owner;
    struct commit_queue *queue = waiting->queue;
    _Atomic uint32_t *bell = waiting->bell, *state = &waiting->state;

    if (waiting->inner->done != NULL)
        waiting->inner->done(waiting->inner, outcome);
    waiting->outcome = outcome;
    if (atomic_exchange(state, TOLD) != ASLEEP)
        return;
    if (bell == state)
        queue->sleepers->alone[queue->sleepers->count++] = bell;
    else
        queue->sleepers->are_due[bell - queue->bells] = true;
}

static void wake(_Atomic uint32_t *bell, int count)
{
    (void)syscall(SYS_futex, bell, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* Behind the states and before the wakes: who has looked at both sleeps on, or sees that the bell has changed. */
static void change_bells(struct commit_queue *queue, const struct sleepers *sleepers)
{
    for (size_t i = 0; i < BELLS; i++)
        if (sleepers->are_due[i])
            atomic_fetch_add(&queue->bells[i], 1);
}

/* The queue may be gone: its bells are only pointed at. */
static void wake_all(struct sleepers *sleepers, _Atomic uint32_t *bells)
{
    for (size_t i = 0; i < sleepers->count; i++)
        wake(sleepers->alone[i], 1);
    for (size_t i = 0; i < BELLS; i++)
        if (sleepers->are_due[i])
            wake(&bells[i], INT_MAX);
    sleepers->count = 0;
    memset(sleepers->are_due, 0, sizeof(sleepers->are_due));
}

/* What the leader has made of it; ASLEEP is written here and nowhere else. */
static uint32_t sleep_until_called(struct waiting_commit *waiting)
{
    uint32_t state = AWAKE;

    (void)atomic_compare_exchange_strong(&waiting->state, &state, ASLEEP);
    for (;;) {
        const uint32_t seen = atomic_load(waiting->bell);
        state = atomic_load(&waiting->state);
        if (state != ASLEEP)
            return state;
        (void)syscall(SYS_futex, waiting->bell, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
}

static void wait_until_told(struct waiting_commit *waiting, bool is_leader)
{
    if (!is_leader && sleep_until_called(waiting) == LEADS) {
        atomic_store(&waiting->state, AWAKE);
        is_leader = true;
    }
    if (is_leader)
        lead(waiting->queue, LEAD_OWN, waiting);
    ASSERT(atomic_load(&waiting->state) == TOLD);
}

status commit_and_wait(struct commit_queue *queue, struct commit *commit)
{
    struct waiting_commit waiting = {
        .commit = *commit,
        .queue = queue,
        .inner = commit,
        .outcome = STATUS_OK,
    };
    bool is_leader;

    ASSERT(commit->stamp != NULL);
    waiting.commit.stamp = waiting_stamp;
    waiting.commit.done = waiting_done;
    waiting.commit.owner = &waiting;
    if (!block_begin())
        return status_of(BUSY, "too many requests wait for the disk; try again");
    const status s = submit(queue, &waiting.commit, &waiting, &is_leader);
    if (s.code == OK)
        wait_until_told(&waiting, is_leader);
    block_end();
    return s.code == OK ? waiting.outcome : s;
}

/* ---- leading -------------------------------------------------------------------------------------- */

static void group_stamp(struct commit_queue *queue);
static status group_write(struct commit_queue *queue);
static void group_tell(struct commit_queue *queue, status outcome);

/* Under the lock. */
static void take_incoming(struct commit_queue *queue)
{
    list_move_all(&queue->taken, &queue->incoming);
    queue->has_first = false;
    queue->round++;
}

/* What has come since is taken; false if nothing waits, and then nobody leads any more. */
static bool take_or_leave(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->waiting_count -= queue->group_count;
    queue->group_count = 0;
    take_incoming(queue);
    queue->is_led = queue->taken.first != NULL;
    const bool goes_on = queue->is_led;
    if (!goes_on)
        pthread_cond_broadcast(&queue->leader_left);
    pthread_mutex_unlock(&queue->lock);
    return goes_on;
}

static bool is_through(enum lead_reason reason, const struct waiting_commit *own)
{
    switch (reason) {
    case LEAD_ONE_OF_MANY:
        return false;
    case LEAD_OWN:
        return atomic_load(&own->state) == TOLD;
    case LEAD_ASIDE:
        return true;
    }
    return false;
}

/* The first that was taken and has a thread that can be woken alone; NULL if there is none, or if the leader is not through. */
static struct waiting_commit *find_heir(const struct commit_queue *queue, enum lead_reason reason,
                                        const struct waiting_commit *own)
{
    if (!is_through(reason, own))
        return NULL;
    if (queue->led_groups < LEAD_GROUPS && queue->led_bytes < LEAD_BYTES)
        return NULL;
    for (const struct commit *commit = queue->taken.first; commit != NULL; commit = commit->next) {
        struct waiting_commit *waiting = commit->owner;
        if (commit->stamp == waiting_stamp && waiting->bell == &waiting->state)
            return waiting;
    }
    return NULL;
}

static void hand_over(struct commit_queue *queue, struct waiting_commit *heir)
{
    const struct commit_queue_hooks hooks = queue->hooks;
    _Atomic uint32_t *state = &heir->state;

    if (atomic_exchange(state, LEADS) == ASLEEP) /* from here on the queue may be gone */
        wake(state, 1);
    if (hooks.after_lead != NULL)
        hooks.after_lead(hooks.owner);
}

/* Whoever was told is woken when the next leader knows, which has more to do. */
static void lead(struct commit_queue *queue, enum lead_reason reason, struct waiting_commit *own)
{
    _Atomic uint32_t *bells = queue->bells;
    struct sleepers sleepers;
    struct waiting_commit *heir = NULL;

    sleepers.count = 0;
    memset(sleepers.are_due, 0, sizeof(sleepers.are_due));
    queue->led_groups = queue->led_bytes = 0;
    while (heir == NULL && take_or_leave(queue)) {
        heir = find_heir(queue, reason, own);
        if (heir != NULL) {
            hand_over(queue, heir);
        } else {
            wake_all(&sleepers, bells);
            queue->sleepers = &sleepers;
            group_stamp(queue);
            queue->led_bytes += storage_batch_bytes(queue->storage, queue->batch);
            queue->led_groups++;
            group_tell(queue, group_write(queue));
            change_bells(queue, &sleepers);
        }
    }
    wake_all(&sleepers, bells);
}

static bool goes_alone(const struct commit_queue *queue, const struct commit *commit)
{
    return commit->is_barrier || commit->guard_count > 0 ||
           (storage_capabilities(queue->storage) & STORAGE_HAS_MULTI_PARTITION) == 0;
}

static status stamp_one(struct commit_queue *queue, struct commit *commit)
{
    if (commit_queue_is_stopped(queue))
        return status_of(WRITES_STOPPED, queue->stop_reason);

    const size_t size_before = storage_batch_bytes(queue->storage, queue->batch);
    const status s = commit->stamp(commit, queue->batch);
    ASSERT(s.code == OK || storage_batch_bytes(queue->storage, queue->batch) == size_before);
    return s;
}

/* False if nobody has come since. */
static bool take_latecomers(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    take_incoming(queue);
    pthread_mutex_unlock(&queue->lock);
    return queue->taken.first != NULL;
}

/* Fills the group from what was taken, at least one commit, and the batch from the group. Who comes while
 * others are stamped comes along: a sync is shared by as many as there are. */
static void group_stamp(struct commit_queue *queue)
{
    bool is_full = false;

    queue->group_count = 0;
    storage_batch_clear(queue->storage, queue->batch);
    while (!is_full && queue->group_count < LIMIT_GROUP_COMMITS &&
           (queue->taken.first != NULL || take_latecomers(queue))) {
        const bool is_alone = goes_alone(queue, queue->taken.first);
        if (is_alone && queue->group_count > 0)
            break;
        struct commit *commit = list_take_first(&queue->taken);
        const size_t index = queue->group_count++;
        queue->group[index] = commit;
        queue->outcomes[index] = stamp_one(queue, commit);
        is_full = is_alone ||
                  storage_batch_bytes(queue->storage, queue->batch) >= LIMIT_GROUP_BYTES;
    }
}

static void stop_writes(struct commit_queue *queue, status why)
{
    snprintf(queue->stop_reason, sizeof(queue->stop_reason), "%s",
             why.message != NULL ? why.message : status_code_sentence(why.code));
    atomic_store_explicit(&queue->is_stopped, true, memory_order_release);
    metrics_set(queue->metrics, METRIC_commit_writes_stopped, 1);
    log_event(queue->log, LOG_ERROR, "writes_stopped", "code=%s reason=\"%s\"",
              status_code_name(why.code), queue->stop_reason);
}

static bool is_lasting_failure(status s)
{
    return s.code != OK && s.code != CONFLICT && s.code != UNSUPPORTED;
}

/* Writes the batch if there is anything in it. Only a commit that goes alone has guards; if it was
 * refused, what is left to write is before_group's and unguarded. */
static status batch_write(struct commit_queue *queue)
{
    const struct commit *first = queue->group[0];
    const size_t guard_count = queue->outcomes[0].code == OK ? first->guard_count : 0;
    const size_t size = storage_batch_bytes(queue->storage, queue->batch);
    size_t conflict;

    if (size == 0)
        return STATUS_OK;
    arena_reset(queue->arena);
    TRY(storage_commit(queue->storage, queue->batch, first->guards, guard_count, queue->arena,
                       &conflict));
    metrics_add(queue->metrics, METRIC_commit_groups_total, 1);
    metrics_add(queue->metrics, METRIC_commit_bytes_total, size);
    return STATUS_OK;
}

static status group_write(struct commit_queue *queue)
{
    if (commit_queue_is_stopped(queue))
        return status_of(WRITES_STOPPED, queue->stop_reason);

    if (queue->hooks.before_group != NULL)
        queue->hooks.before_group(queue->hooks.owner, queue->batch);
    status s = batch_write(queue);
    if (is_lasting_failure(s)) {
        stop_writes(queue, s);
        s.message = queue->stop_reason;
    }
    if (queue->hooks.after_group != NULL)
        queue->hooks.after_group(queue->hooks.owner, s.code == OK);
    return s;
}

/* Who was refused hears why; all others share the fate of the group. Numbers first, so that who was
 * told finds them right; a commit may be gone as soon as its done has been called. */
static void group_tell(struct commit_queue *queue, status outcome)
{
    size_t accepted_count = 0;

    for (size_t i = 0; i < queue->group_count; i++)
        accepted_count += queue->outcomes[i].code == OK;
    metrics_add(queue->metrics,
                outcome.code == OK ? METRIC_commits_total : METRIC_commit_errors_total,
                accepted_count);
    for (size_t i = 0; i < queue->group_count; i++) {
        struct commit *commit = queue->group[i];
        const bool is_accepted = queue->outcomes[i].code == OK;
        commit->done(commit, is_accepted ? outcome : queue->outcomes[i]);
    }
}
