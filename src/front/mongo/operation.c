/* Operation: which commands run, for those who want to look at them or to stop them.
 *
 *   IDLE -> BEGUN -> RUNNING [operation_begin]   RUNNING -> LOOKED_AT -> RUNNING [a looker]
 *   RUNNING -> IDLE [operation_end]
 *
 * A command pays three atomic operations. Whoever looks holds it for the moment of copying: a command that ends
 * just then waits for that, because its memory goes with it.
 *
 * Keeps: a command is read only while it is LOOKED_AT; all that is read was written before RUNNING.
 * Threads: the list is guarded by its lock, taken when a connection comes or goes and by lookers. */
#include "front/mongo/operation.h"

#include <sched.h>

#include "front/mongo/session.h"

enum operation_state { OPERATION_IDLE, OPERATION_BEGUN, OPERATION_RUNNING, OPERATION_LOOKED_AT };

/* Numbers below are those of background work. */
enum { FIRST_ID = 100 };

void operation_list_open(struct operation_list *list)
{
    pthread_mutex_init(&list->lock, NULL);
    atomic_store(&list->next_id, 0);
}

void operation_list_close(struct operation_list *list)
{
    pthread_mutex_destroy(&list->lock);
}

void operation_join(struct session *session)
{
    struct operation_list *list = &session->face->operations;
    struct operation *operation = &session->operation;

    pthread_mutex_lock(&list->lock);
    operation->next = list->first;
    operation->link = &list->first;
    if (list->first)
        list->first->link = &operation->next;
    list->first = operation;
    pthread_mutex_unlock(&list->lock);
}

void operation_leave(struct session *session)
{
    struct operation_list *list = &session->face->operations;
    struct operation *operation = &session->operation;

    if (!operation->link)
        return;
    pthread_mutex_lock(&list->lock);
    *operation->link = operation->next;
    if (operation->next)
        operation->next->link = operation->link;
    operation->link = NULL;
    pthread_mutex_unlock(&list->lock);
    memory_give((void *)operation->metadata.data);
    operation->metadata = BYTES_NONE;
}

void operation_introduce(struct session *session, bytes metadata)
{
    struct operation_list *list = &session->face->operations;
    struct operation *operation = &session->operation;

    if (operation->metadata.len > 0 || metadata.len > LIMIT_CLIENT_METADATA_BYTES)
        return;
    uint8_t *copy = memory_take(metadata.len);
    if (!copy)
        return; /* it is only shown */
    memcpy(copy, metadata.data, metadata.len);
    pthread_mutex_lock(&list->lock);
    operation->metadata = bytes_of(copy, metadata.len);
    pthread_mutex_unlock(&list->lock);
}

/* ---- the command's side ----------------------------------------------------------------------------- */

void operation_begin(struct command *command)
{
    struct operation *operation = &command->session->operation;
    int idle = OPERATION_IDLE;

    if (!atomic_compare_exchange_strong(&operation->state, &idle, OPERATION_BEGUN))
        return; /* a command beside another of the same session */
    uint32_t number = (uint32_t)atomic_fetch_add_explicit(&command->face->operations.next_id, 1,
                                                          memory_order_relaxed);
    operation->id = FIRST_ID + (int32_t)(number % (OPERATION_BUILD_BIT - FIRST_ID));
    operation->command = command;
    atomic_store_explicit(&operation->is_killed, false, memory_order_relaxed);
    command->operation = operation;
    atomic_store_explicit(&operation->state, OPERATION_RUNNING, memory_order_release);
}

void operation_end(struct command *command)
{
    struct operation *operation = command->operation;
    int running = OPERATION_RUNNING;

    if (!operation)
        return;
    while (!atomic_compare_exchange_weak(&operation->state, &running, OPERATION_IDLE)) {
        running = OPERATION_RUNNING;
        sched_yield();
    }
    command->operation = NULL;
}

bool operation_is_killed(const struct command *command)
{
    return command->operation &&
           atomic_load_explicit(&command->operation->is_killed, memory_order_relaxed);
}

/* ---- the looker's side ------------------------------------------------------------------------------ */

static bool hold(struct operation *operation)
{
    int running = OPERATION_RUNNING;

    return atomic_compare_exchange_strong(&operation->state, &running, OPERATION_LOOKED_AT);
}

static void let_go(struct operation *operation)
{
    atomic_store_explicit(&operation->state, OPERATION_RUNNING, memory_order_release);
}

bool operation_kill(struct mongo *face, int32_t id)
{
    struct operation_list *list = &face->operations;
    bool is_found = false;

    pthread_mutex_lock(&list->lock);
    for (struct operation *at = list->first; at && !is_found; at = at->next) {
        if (!hold(at))
            continue;
        is_found = at->id == id;
        if (is_found)
            atomic_store(&at->is_killed, true);
        let_go(at);
    }
    pthread_mutex_unlock(&list->lock);
    return is_found;
}

static const struct session *session_of(const struct operation *operation)
{
    return (const struct session *)((const char *)operation - offsetof(struct session, operation));
}

void operation_each(struct mongo *face, operation_teller *tell, void *context)
{
    struct operation_list *list = &face->operations;

    pthread_mutex_lock(&list->lock);
    for (struct operation *at = list->first; at; at = at->next) {
        struct operation_seen seen = { .session = session_of(at), .metadata = at->metadata };
        bool is_held = hold(at);
        if (is_held) {
            seen.command = at->command;
            seen.id = at->id;
            seen.is_killed = atomic_load(&at->is_killed);
        }
        tell(context, &seen);
        if (is_held)
            let_go(at);
    }
    pthread_mutex_unlock(&list->lock);
}
