/* Who writes, and when a writer hears of it. The first writer that finds nobody committing leads: it
 * takes everything that waits, writes it as one synced batch and tells every owner. It repeats that until the
 * queue is empty, or, if it waits for a commit itself and has led enough, hands the lead to another one that waits. No thread
 * of its own, no batching window: the running sync is the window.
 *
 * A commit is not written when it is submitted but stamped when its turn comes: `stamp` is called on the
 * leader, one commit at a time in commit order, and appends the final rows to the shared batch. */
#ifndef STORAGE_COMMIT_QUEUE_H
#define STORAGE_COMMIT_QUEUE_H

#include "base/base.h"

struct commit_queue;
struct crew;
struct storage;
struct storage_batch;
struct storage_guard;

/* Lives in its owner's memory until `done` was called. */
struct commit {
    /* Appends rows (and may refuse: then `done` gets that status and nothing of it is written; it must
     * not have appended anything in that case). Runs on the leader: short, never blocks, no locks held
     * by anyone who waits for a commit. */
    status (*stamp)(struct commit *commit, struct storage_batch *batch);
    /* Called once, on the leader, after the sync (or the failure). May submit further commits, may not
     * wait for one. */
    void (*done)(struct commit *commit, status outcome);
    void *owner;
    /* Guards for backends with other writers; NULL elsewhere. */
    const struct storage_guard *guards;
    size_t guard_count;
    /* A barrier is stamped and written alone, with nothing else in flight before or after it. */
    bool is_barrier;
    struct commit *next; /* the queue's */
};

/* `before_group` and `after_group` run on the leader around each write: the first may append rows that
 * belong to the group as a whole (counters, sequence, clock mark), the second publishes what has become
 * durable (is_written false: nothing has). A group with nothing to write counts as written. Either may be
 * NULL. */
struct commit_queue_hooks {
    void (*before_group)(void *owner, struct storage_batch *batch);
    void (*after_group)(void *owner, bool is_written);
    /* On a thread that has handed the lead to another one: it touches the queue no more, which may even be closed
     * by now. For tests. */
    void (*after_lead)(void *owner);
    void *owner;
};

struct commit_queue *commit_queue_open(struct storage *storage, struct commit_queue_hooks hooks,
                                       const struct log *log, struct metrics *metrics);
/* Nothing may be queued any more. Waits for the last leader to have left, who may have told the last owner just
 * now. */
void commit_queue_close(struct commit_queue *queue);

/* Never waits for others; may lead (and then writes for everybody). OK: `done` will be or has been called,
 * once. Otherwise it is not called: BUSY if too much waits; WRITES_STOPPED with the reason after a failed
 * write. Commits that were queued behind the failed write get WRITES_STOPPED through `done`; those
 * in it get the storage's IO_ERROR or UNKNOWN_RESULT. */
MUST_USE status commit_submit(struct commit_queue *queue, struct commit *commit);
/* The same for who has more to do before it waits: if somebody has to lead, a free hand of the crew does (NULL: there
 * is none), and the caller goes on at once. */
MUST_USE status commit_submit_aside(struct commit_queue *queue, struct commit *commit,
                                    struct crew *crew);
/* Submits and waits until `done` has run (commit->done may be NULL here); returns the outcome. May lead until then, and
 * on for a while or until another one waits. Must not be called from stamp or done. */
MUST_USE status commit_and_wait(struct commit_queue *queue, struct commit *commit);

/* Writes go on after an operator has mended the disk and the server was reopened; here one only asks. */
bool commit_queue_is_stopped(const struct commit_queue *queue);
/* Static or owned by the queue; "" while writes are accepted. */
const char *commit_queue_stop_reason(const struct commit_queue *queue);

#endif
