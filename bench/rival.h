/* A rival: one server as the load generator sees it, with the requests of every kind in its protocol. What mayfly is
 * compared with, and both faces of mayfly themselves, are rivals; a workload asks all of them for the same. */
#ifndef BENCH_RIVAL_H
#define BENCH_RIVAL_H

#include "bench/family.h"
#include "bench/form.h"
#include "bench/load.h"

/* A query is for the ten documents of one user, a policy is a new ttl for all; those are only asked of mayfly. */
enum rival_op {
    RIVAL_INSERT,
    RIVAL_READ,
    RIVAL_TOUCH,
    RIVAL_MANY,
    RIVAL_QUERY,
    RIVAL_POLICY,
    RIVAL_OPS
};

enum {
    RIVAL_TOGETHER = 1000, /* documents of RIVAL_MANY */
    RIVAL_ROOM_BYTES = RIVAL_TOGETHER * 704 + 8192,
    RIVAL_CONNECTIONS = 64,
};

/* What a reply says about the document. */
enum rival_outcome { RIVAL_GONE, RIVAL_FOUND };

struct rival {
    const char *name;
    pid_t pid;
    unsigned port;
    char data[PATH_MAX + 32]; /* its directory */
    const struct texts *texts;
    struct form forms[RIVAL_OPS]; /* that of RIVAL_MANY is of one document */
    struct form head;             /* of RIVAL_MANY, where one is needed */
    /* Makes a connection ready; NULL: it is. */
    void (*greet)(int socket);
    size_t (*make_many)(const struct rival *r, const struct filling *first, char *out);
    /* Sets `whole` and the outcome; whatever is neither found nor gone ends the program. */
    void (*read_head)(struct load_connection *c, const struct load_source *source);
    /* Signatures of the ids that are read, made in advance; NULL: none are needed. */
    const char *(*signature)(const struct rival *r, uint64_t n);
    void *own;
    /* Connections. */
    struct load load;
    uint32_t sessions; /* given to connections before */
    /* Documents. */
    int64_t ttl_ms;
    int64_t deadline_ms; /* of all that are inserted; 0: each has its own by the ttl */
    uint64_t next;       /* the number of the next document that is inserted */
};

static inline int64_t rival_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* Prints the reply and ends the program. */
static inline void rival_complain(const struct load_connection *c, const char *why)
{
    fprintf(stderr, "unexpected reply (%s) to kind %d, document %" PRIu64 ":\n", why, c->kind,
            c->number);
    for (size_t i = 0; i < c->have && i < 600; i++)
        fputc(c->reply[i] >= ' ' && c->reply[i] < 127 ? c->reply[i] : '.', stderr);
    fputc('\n', stderr);
    exit(1);
}

static inline bool rival_reply_has(const struct load_connection *c, const void *what, size_t len)
{
    return memmem(c->reply, c->have, what, len) != NULL;
}

static inline bool rival_reply_has_id(const struct load_connection *c)
{
    uint8_t id[BENCH_ID_LEN];

    bench_hex(id, bench_mix(c->number));
    return rival_reply_has(c, id, sizeof(id));
}

/* ---- connections ------------------------------------------------------------------------------------- */

static inline void rival_connect(struct rival *r, size_t count)
{
    load_open(&r->load, r->port, count);
    for (size_t i = 0; i < count; i++) {
        r->load.connections[i].room = malloc(RIVAL_ROOM_BYTES);
        BENCH_CLAIM(r->load.connections[i].room != NULL);
        if (r->greet)
            r->greet(r->load.connections[i].socket);
    }
}

static inline void rival_disconnect(struct rival *r)
{
    r->sessions += (uint32_t)r->load.count;
    load_close(&r->load);
}

/* ---- requests ---------------------------------------------------------------------------------------- */

static inline bytes rival_request(struct rival *r, struct load_connection *c, enum rival_op op,
                                  uint64_t n)
{
    const int64_t now_ms = rival_now_ms();
    const struct filling filling = {
        .n = n,
        .deadline_ms = r->deadline_ms ? r->deadline_ms : now_ms + r->ttl_ms,
        .turn = ++c->turn,
        .session = r->sessions + (uint32_t)(c - r->load.connections),
        .signature = r->signature && op == RIVAL_READ ? r->signature(r, n) : NULL,
    };

    c->kind = (int)op;
    c->number = n;
    c->asked_ms = now_ms;
    if (op == RIVAL_MANY)
        return bytes_of(c->room, r->make_many(r, &filling, c->room));
    return bytes_of(c->room, form_fill(&r->forms[op], r->texts, &filling, c->room));
}

/* The simple workloads: one kind of request. Reads and touches are of documents that are there. */
struct rival_task {
    struct rival *rival;
    enum rival_op op;
    uint64_t documents; /* that are read: 0 up to this */
    struct random random;
    struct latency *latency; /* NULL: not wanted */
};

static inline bytes rival_task_next(void *context, struct load_connection *c)
{
    struct rival_task *task = context;
    struct rival *r = task->rival;
    const bool is_random = task->op == RIVAL_READ || task->op == RIVAL_QUERY ||
                           task->op == RIVAL_TOUCH;
    const uint64_t n = is_random ? random_next(&task->random) % task->documents : r->next;

    if (task->op == RIVAL_INSERT || task->op == RIVAL_MANY)
        r->next += task->op == RIVAL_MANY ? RIVAL_TOGETHER : 1;
    return rival_request(r, c, task->op, n);
}

static inline void rival_task_done(void *context, struct load_connection *c, double seconds)
{
    struct rival_task *task = context;

    if (c->outcome != RIVAL_FOUND)
        rival_complain(c, "not found");
    if (task->latency)
        latency_note(task->latency, seconds);
}

static inline struct load_result rival_run(struct rival_task *task, size_t connections,
                                           double seconds, uint64_t requests_max)
{
    const struct load_source source = { .next = rival_task_next,
                                        .context = task,
                                        .read_head = task->rival->read_head,
                                        .done = rival_task_done };

    return load_run_on(&task->rival->load, connections, &source, seconds, requests_max);
}

/* Inserts so many, a thousand at a time where the protocol can do that. */
static inline void rival_fill(struct rival *r, uint64_t count)
{
    struct rival_task task = { .rival = r, .op = r->make_many ? RIVAL_MANY : RIVAL_INSERT };
    const uint64_t requests = r->make_many ? count / RIVAL_TOGETHER : count;
    const size_t connections = r->make_many ? 2 : r->load.count;

    BENCH_CLAIM(count % RIVAL_TOGETHER == 0);
    rival_run(&task, connections < r->load.count ? connections : r->load.count, 3600, requests);
}

#endif
