/* Crew: threads that help others with parts of their work.
 *
 * A hand is free, or has one piece of work; there is no queue, because work that has to wait is done sooner by who
 * asked for help. Hands run at the priority of everybody else: who asked for help waits for it in the end.
 *
 * Keeps: never more threads than were asked for at the opening; each piece of work is run once.
 * Threads: any. One lock, held for a few instructions, never while work runs. */
#include "base/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/memory.h"

struct hand {
    struct crew *crew;
    pthread_t thread;
    bool is_started;
    void (*run)(void *context); /* NULL: it is free */
    void *context;
};

struct crew {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_closing;
    unsigned count;
    struct hand hands[LIMIT_CREW_HANDS];
};

unsigned crew_usual_hands(void)
{
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return 0;
    const int processors = CPU_COUNT(&allowed);
    return processors < 1                      ? 0
           : processors - 1 > LIMIT_CREW_HANDS ? LIMIT_CREW_HANDS
                                               : (unsigned)processors - 1;
}

struct crew *crew_open(unsigned hands)
{
    struct crew *crew = memory_take_zeroed(1, sizeof(*crew));

    if (crew == NULL)
        return NULL;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    crew->count = hands < LIMIT_CREW_HANDS ? hands : LIMIT_CREW_HANDS;
    return crew;
}

void crew_close(struct crew *crew)
{
    if (crew == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->is_closing = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->count; i++) {
        if (crew->hands[i].is_started)
            pthread_join(crew->hands[i].thread, NULL);
        ASSERT(crew->hands[i].run == NULL);
    }
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    memory_give(crew);
}

static void *work(void *owner)
{
    struct hand *hand = owner;
    struct crew *crew = hand->crew;

    pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (hand->run == NULL && !crew->is_closing)
            pthread_cond_wait(&crew->changed, &crew->lock);
        if (hand->run == NULL)
            break;
        pthread_mutex_unlock(&crew->lock);
        hand->run(hand->context);
        pthread_mutex_lock(&crew->lock);
        hand->run = NULL;
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* The lock is held. */
static bool start(struct crew *crew, struct hand *hand)
{
    hand->crew = crew;
    hand->is_started = hand->is_started || pthread_create(&hand->thread, NULL, work, hand) == 0;
    return hand->is_started;
}

bool crew_lend(struct crew *crew, void (*run)(void *context), void *context)
{
    bool is_lent = false;

    if (crew == NULL)
        return false;
    pthread_mutex_lock(&crew->lock);
    for (unsigned i = 0; i < crew->count && !is_lent; i++) {
        struct hand *hand = &crew->hands[i];
        if (hand->run != NULL || !start(crew, hand))
            continue;
        hand->context = context;
        hand->run = run;
        is_lent = true;
    }
    if (is_lent)
        pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return is_lent;
}
