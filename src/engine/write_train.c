/* Write train: the writes of one request that go to the disk one behind the other.
 *
 * Who inserts a thousand documents would otherwise prepare all of them while the disk has nothing to do, and then wait for it.
 * In parts, the next one is prepared while a hand of the crew commits the one before. If no hand is free, or somebody else
 * commits already, nothing is lost: the caller commits itself, or its parts travel with the others' commits.
 *
 * Keeps: the parts are committed in the order in which they were added, because the queue of commits is in order. A part that
 * was added needs nothing more from the caller, so one that waits for a latch of its own earlier part gets it.
 * Threads: a train belongs to the thread of its request; arrive() runs on the committing one. */
#include "engine/write.h"

void write_train_open(struct write_train *train, struct request *request)
{
    *train = (struct write_train){ .request = request };
    pthread_mutex_init(&train->lock, NULL);
    pthread_cond_init(&train->is_empty, NULL);
    request->train = train;
}

static void arrive(void *context, status outcome)
{
    struct write_train *train = context;

    (void)outcome; /* every operation has its own */
    pthread_mutex_lock(&train->lock);
    if (--train->under_way == 0)
        pthread_cond_signal(&train->is_empty);
    pthread_mutex_unlock(&train->lock);
}

status write_train_add(struct write_train *train, struct write_op *ops, size_t count,
                       enum write_mode mode)
{
    pthread_mutex_lock(&train->lock);
    train->under_way++;
    pthread_mutex_unlock(&train->lock);
    const status s = write_begin(train->request, ops, count, mode, COMMIT_ASIDE, arrive, train);
    if (s.code != OK)
        arrive(train, s);
    return s;
}

/* Marked as a wait; refused, it has to be all the same, because the commits use what the request has. */
void write_train_wait(struct write_train *train)
{
    const bool is_marked = block_begin();

    pthread_mutex_lock(&train->lock);
    while (train->under_way > 0)
        pthread_cond_wait(&train->is_empty, &train->lock);
    train->is_refused = false;
    pthread_mutex_unlock(&train->lock);
    if (is_marked)
        block_end();
}

void write_train_close(struct write_train *train)
{
    write_train_wait(train);
    train->request->train = NULL;
    pthread_cond_destroy(&train->is_empty);
    pthread_mutex_destroy(&train->lock);
}
