/* Connection: a socket that at most one thread serves at a time, without a lock and without re-arming.
 *
 * The socket is watched once, edge-triggered, for everything. Each event adds a claim; whoever adds the
 * first one owns the connection, all others leave at once. The owner remembers how many claims it saw,
 * serves until the socket has no more to give or to take, and leaves by setting the claims to 0, which
 * fails if another one came in: then it serves again. So no event is lost and nobody ever waits.
 *
 *            claim 0 -> 1                    leave: claims as seen -> 0
 *    IDLE ------------------> OWNED ----------------------------------> IDLE
 *                              |  ^
 *              STEP_PENDING    |  | connection_give_back() (posts it to the pool if there is more to do)
 *                              v  |
 *                              HELD by its request, on no thread
 *
 *   OWNED -> FREE  [connection_end]  closed; the memory waits for the next socket
 *   FREE -> OWNED  [connection_set_add]
 *
 * In FREE and HELD the claims are never 0, so a late event finds an owner and leaves. This is why the
 * memory of a connection is given back only with the whole set.
 *
 * The bytes themselves are the business of the channel, plain or encrypted. A reply that another thread
 * prepared is sent by that thread if it is plain; encrypting is work, so it is then left to a worker
 * (connection_resume), because the other thread may be the one that commits for everybody.
 *
 * Patience. An owner that leaves says what it waits for and until when; a tick, once a second, adds a claim
 * to whatever is overdue, and the owner that comes of it finds that nothing has happened and closes. So
 * time costs a running request nothing but two stores, and a request that is held has no limit here.
 *
 * A session may ask to be called after a time (connection_wake_in), by the same tick; it is idle until then.
 *
 * The input buffer exists only while bytes wait in it. While output waits, no further request is read: a client that does not fetch its replies stops
 * only itself. After the last reply the sending side is shut down and the rest of the input is thrown
 * away, because closing with unread input would destroy the reply on its way.
 *
 * Threads: every field but the atomic ones belongs to the owner; the set's lists are guarded by its
 * lock. */
#include "server/connection.h"
#include "base/limits.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a connection without a running request waits for. */
enum wait {
    WAIT_NONE,    /* nothing yet, or something has happened */
    WAIT_REQUEST, /* the first byte of a request */
    WAIT_REST,    /* the rest of a request or of a handshake */
    WAIT_READER,  /* the client to take what was sent */
    WAIT_END,     /* the client to close its side */
};

struct connection {
    struct source source; /* first, so that an event leads here */
    struct connection_set *set;
    _Atomic uint64_t claims;
    _Atomic int64_t due; /* when a tick adds a claim; TIME_NEVER while somebody owns it */
    uint64_t seen;       /* claims before the socket was last asked */
    struct channel channel;
    bool is_loopback;
    struct address peer;
    const struct protocol *protocol;
    void *session;
    struct {
        uint8_t *data;
        size_t from, upto;
    } input;
    bool is_resumed; /* the pending request has its reply; a worker sends it */
    bool is_last;    /* close after the output is sent */
    bool is_mid_request;
    enum wait wait;
    int64_t until;       /* how long it waits */
    int64_t wake_at;     /* when the session wants to be called; TIME_NEVER: not at all */
    uint64_t sent_count; /* of the channel, when `until` was set */
    struct connection *next_free;
};

struct connection_set {
    struct pool *pool;
    const struct log *log;
    struct metrics *metrics;
    _Atomic bool is_stopping;
    _Atomic bool is_cut;
    _Atomic int64_t now; /* of the last tick, in milliseconds from anywhere */
    _Atomic size_t kept_bytes;
    int drained_fd;
    pthread_mutex_t lock; /* guards what follows */
    size_t made_count, open_count;
    struct connection *free;
    struct connection *made[LIMIT_CONNECTIONS];
};

/* What one turn of the owner came to. */
enum turn {
    TURN_IDLE, /* nothing to do until the next event */
    TURN_LONG, /* more to do, but others wait too */
    TURN_HELD, /* a pending request owns the connection now */
    TURN_OVER, /* close it */
};

static void connection_on_event(struct source *source, uint32_t events);
static void connection_run(struct connection *connection);
static enum turn serve(struct connection *connection);
static enum turn drain(struct connection *connection);
static enum turn run_input(struct connection *connection);
static enum receipt receive(struct connection *connection);
static bool wake(struct connection *connection);
static bool settle(struct connection *connection);
static enum turn give_up(struct connection *connection);
static bool leave(struct connection *connection);
static void connection_end(struct connection *connection);

/* ---- the set ---------------------------------------------------------------------------------------- */

status connection_set_open(struct pool *pool, const struct log *log, struct metrics *metrics,
                           struct arena *arena, struct connection_set **out)
{
    struct connection_set *set = memory_take_zeroed(1, sizeof(*set));

    *out = NULL;
    if (!set)
        return status_of(OUT_OF_MEMORY, "no memory for connections");
    set->pool = pool;
    set->log = log;
    set->metrics = metrics;
    pthread_mutex_init(&set->lock, NULL);
    set->drained_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (set->drained_fd < 0) {
        status s = status_fail(arena, IO_ERROR, "cannot make an eventfd: %s", strerror(errno));
        connection_set_close(set);
        return s;
    }
    *out = set;
    return STATUS_OK;
}

void connection_set_close(struct connection_set *set)
{
    for (size_t i = 0; i < set->made_count; i++) {
        if (set->made[i]->channel.fd >= 0)
            connection_end(set->made[i]);
        memory_give(set->made[i]);
    }
    if (set->drained_fd >= 0)
        close(set->drained_fd);
    pthread_mutex_destroy(&set->lock);
    memory_give(set);
}

size_t connection_set_count(struct connection_set *set)
{
    pthread_mutex_lock(&set->lock);
    size_t count = set->open_count;
    pthread_mutex_unlock(&set->lock);
    return count;
}

int connection_set_drained_fd(const struct connection_set *set)
{
    return set->drained_fd;
}

/* Under the lock. */
static struct connection *make_connection(struct connection_set *set)
{
    struct connection *connection = NULL;

    if (set->made_count < LIMIT_CONNECTIONS)
        connection = memory_take_zeroed(1, sizeof(*connection));
    if (!connection)
        return NULL;
    connection->source.on_event = connection_on_event;
    connection->set = set;
    connection->channel.fd = -1;
    connection->channel.log = set->log;
    connection->channel.metrics = set->metrics;
    connection->channel.kept_bytes = &set->kept_bytes;
    atomic_store(&connection->claims, 1);
    atomic_store(&connection->due, TIME_NEVER);
    connection->wake_at = TIME_NEVER;
    set->made[set->made_count++] = connection;
    return connection;
}

/* A free connection, owned by the caller; NULL at the limit, without memory, or if the set stops: once
 * it is drained, nothing may come in any more. */
static struct connection *take_free(struct connection_set *set)
{
    struct connection *connection = NULL;

    pthread_mutex_lock(&set->lock);
    if (!atomic_load(&set->is_stopping)) {
        connection = set->free;
        if (connection)
            set->free = connection->next_free;
        else
            connection = make_connection(set);
    }
    if (connection) {
        metrics_set(set->metrics, METRIC_connections_open, ++set->open_count);
        metrics_add(set->metrics, METRIC_connections_total, 1);
    }
    pthread_mutex_unlock(&set->lock);
    return connection;
}

static void put_free(struct connection *connection)
{
    struct connection_set *set = connection->set;

    pthread_mutex_lock(&set->lock);
    connection->next_free = set->free;
    set->free = connection;
    metrics_set(set->metrics, METRIC_connections_open, --set->open_count);
    if (set->open_count == 0 && atomic_load(&set->is_stopping))
        eventfd_write(set->drained_fd, 1);
    pthread_mutex_unlock(&set->lock);
}

static void refuse(struct connection_set *set, int fd, const struct protocol *protocol)
{
    ssize_t sent = send(fd, protocol->refusal.data, protocol->refusal.len,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
    close(fd);
    metrics_add(set->metrics, METRIC_connections_refused_total, 1);
    if (!atomic_load(&set->is_stopping))
        log_event(set->log, LOG_WARNING, "connection.refused", "limit=%d", LIMIT_CONNECTIONS);
}

void connection_set_add(struct connection_set *set, struct client client, const struct offer *offer)
{
    struct connection *connection = take_free(set);

    if (!connection) {
        refuse(set, client.fd, offer->protocol);
        return;
    }
    channel_open(&connection->channel, client.fd, offer->tls);
    connection->is_loopback = address_is_loopback(&client.peer);
    connection->peer = client.peer;
    connection->protocol = offer->protocol;
    connection->session = offer->protocol->open(offer->context, connection);
    uint32_t events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    if (!connection->session || !pool_watch(set->pool, client.fd, events, &connection->source)) {
        connection_end(connection);
        return;
    }
    connection_run(connection);
}

/* Adds a claim, so that the connection is looked at once more: by its owner, or posted to the pool. */
static void nudge(struct connection *connection)
{
    if (atomic_fetch_add(&connection->claims, 1) == 0)
        pool_post(connection->set->pool, &connection->source);
}

void connection_set_tick(struct connection_set *set, int64_t now)
{
    atomic_store(&set->now, now);
    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < set->made_count; i++) {
        if (atomic_load(&set->made[i]->due) <= now)
            nudge(set->made[i]);
    }
    pthread_mutex_unlock(&set->lock);
}

static void nudge_all(struct connection_set *set)
{
    pthread_mutex_lock(&set->lock);
    for (size_t i = 0; i < set->made_count; i++)
        nudge(set->made[i]);
    if (set->open_count == 0)
        eventfd_write(set->drained_fd, 1);
    pthread_mutex_unlock(&set->lock);
}

void connection_set_stop(struct connection_set *set)
{
    atomic_store(&set->is_stopping, true);
    nudge_all(set);
}

void connection_set_cut(struct connection_set *set)
{
    atomic_store(&set->is_cut, true);
    nudge_all(set);
}

/* ---- owning ----------------------------------------------------------------------------------------- */

/* A post (no events) comes from whoever owned the connection and hands it over. */
static void connection_on_event(struct source *source, uint32_t events)
{
    struct connection *connection = (struct connection *)source;

    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        atomic_store(&connection->channel.is_hangup, true);
    if (events == 0 || atomic_fetch_add(&connection->claims, 1) == 0)
        connection_run(connection);
}

static void connection_run(struct connection *connection)
{
    atomic_store(&connection->due, TIME_NEVER);
    if (connection->is_resumed) {
        connection->is_resumed = false;
        if (connection->protocol->on_resume(connection->session))
            connection->is_last = true;
    }
    for (;;) {
        connection->seen = atomic_load(&connection->claims);
        channel_wake(&connection->channel);
        enum turn turn = serve(connection);
        if (turn == TURN_IDLE && wake(connection))
            turn = TURN_LONG;
        if (turn == TURN_IDLE && !settle(connection))
            turn = give_up(connection);
        switch (turn) {
        case TURN_IDLE:
            if (leave(connection))
                return;
            break;
        case TURN_LONG:
            pool_post(connection->set->pool, &connection->source);
            return;
        case TURN_HELD:
            return;
        case TURN_OVER:
            connection_end(connection);
            return;
        }
    }
}

/* True if the session was called. */
static bool wake(struct connection *connection)
{
    bool is_busy = connection->is_mid_request || connection->is_last ||
                   channel_has_output(&connection->channel);

    if (is_busy || connection->wake_at > atomic_load(&connection->set->now))
        return false;
    connection->wake_at = TIME_NEVER;
    connection->protocol->on_wake(connection->session);
    return true;
}

void connection_wake_in(struct connection *connection, int64_t delay_ms)
{
    int64_t now = atomic_load(&connection->set->now);

    ASSERT(delay_ms == 0 || connection->protocol->on_wake);
    connection->wake_at = delay_ms > 0 ? int64_add_saturating(now, delay_ms) : TIME_NEVER;
}

/* ---- patience --------------------------------------------------------------------------------------- */

static enum wait wait_of(const struct connection *connection)
{
    if (channel_has_output(&connection->channel))
        return WAIT_READER;
    if (connection->is_last)
        return WAIT_END;
    if (connection->is_mid_request || channel_is_shaking(&connection->channel))
        return WAIT_REST;
    return WAIT_REQUEST;
}

/* 0: for ever. */
static int64_t patience_ms(const struct connection *connection)
{
    switch (connection->wait) {
    case WAIT_NONE:
        return 0;
    case WAIT_REQUEST:
        return connection->protocol->idle_ms;
    case WAIT_REST:
        return LIMIT_RECEIVE_MS;
    case WAIT_READER:
        return LIMIT_SEND_MS;
    case WAIT_END:
        return LIMIT_DRAIN_MS;
    }
    return 0;
}

/* Before leaving: says what is waited for and until when. False if it is what was waited for before, and
 * its time is over. Bytes of a request that trickle in change nothing; bytes that a client takes do. */
static bool settle(struct connection *connection)
{
    int64_t now = atomic_load(&connection->set->now);
    enum wait wait = wait_of(connection);
    bool is_progress = connection->sent_count != connection->channel.sent_count;

    if (wait != connection->wait || (wait == WAIT_READER && is_progress)) {
        connection->wait = wait;
        connection->sent_count = connection->channel.sent_count;
        int64_t patience = patience_ms(connection);
        connection->until = patience ? now + patience : TIME_NEVER;
    } else if (connection->until <= now) {
        return false;
    }
    bool is_wake_first = connection->wake_at < connection->until;
    atomic_store(&connection->due, is_wake_first ? connection->wake_at : connection->until);
    return true;
}

/* The time is over; who is in the middle of a request is told so first. */
static enum turn give_up(struct connection *connection)
{
    metrics_add(connection->set->metrics, METRIC_connections_timed_out_total, 1);
    if (!connection->is_mid_request)
        return TURN_OVER;
    connection->is_mid_request = false;
    connection->wait = WAIT_NONE;
    connection->is_last = true;
    connection_send(connection, connection->protocol->too_late, BYTES_NONE);
    return TURN_LONG;
}

/* ---- leaving ---------------------------------------------------------------------------------------- */

static void give_input(struct connection *connection)
{
    memory_give(connection->input.data);
    connection->input.data = NULL;
    connection->input.from = connection->input.upto = 0;
}

/* False if something has happened since the socket was last asked. */
static bool leave(struct connection *connection)
{
    uint64_t seen = connection->seen;

    if (connection->input.from == connection->input.upto)
        give_input(connection);
    return atomic_compare_exchange_strong(&connection->claims, &seen, 0);
}

void connection_give_back(struct connection *connection, bool is_last)
{
    if (is_last)
        connection->is_last = true;
    bool has_more = connection->input.from < connection->input.upto ||
                    channel_may_receive(&connection->channel) || connection->is_last ||
                    connection->channel.is_broken || connection_is_stopping(connection);
    if (has_more || !settle(connection) || !leave(connection))
        pool_post(connection->set->pool, &connection->source);
}

void connection_resume(struct connection *connection)
{
    connection->is_resumed = true;
    pool_post(connection->set->pool, &connection->source);
}

static void connection_end(struct connection *connection)
{
    if (connection->session)
        connection->protocol->close(connection->session);
    connection->session = NULL;
    channel_close(&connection->channel);
    give_input(connection);
    connection->is_last = connection->is_mid_request = false;
    connection->wait = WAIT_NONE;
    connection->wake_at = TIME_NEVER;
    put_free(connection);
}

bool connection_is_stopping(const struct connection *connection)
{
    return atomic_load(&connection->set->is_stopping);
}

bool connection_is_gone(const struct connection *connection)
{
    struct pollfd asked = { .fd = connection->channel.fd, .events = POLLRDHUP };

    return poll(&asked, 1, 0) > 0;
}

bool connection_is_tls(const struct connection *connection)
{
    return connection->channel.kind == CHANNEL_TLS;
}

bool connection_is_loopback(const struct connection *connection)
{
    return connection->is_loopback;
}

void connection_peer(const struct connection *connection, char out[CONNECTION_PEER_BYTES])
{
    _Static_assert((int)CONNECTION_PEER_BYTES == (int)ADDRESS_TEXT_BYTES, "room for every address");
    address_format(&connection->peer, out);
}

/* ---- serving ---------------------------------------------------------------------------------------- */

static enum turn serve(struct connection *connection)
{
    for (unsigned served = 0; served < LIMIT_TURN_REQUESTS; served++) {
        channel_flush(&connection->channel);
        if (connection->channel.is_broken)
            return TURN_OVER;
        if (channel_has_output(&connection->channel))
            return atomic_load(&connection->set->is_cut) ? TURN_OVER : TURN_IDLE;
        if (connection->is_last)
            return drain(connection);
        enum turn turn = run_input(connection);
        if (turn != TURN_LONG)
            return turn;
    }
    return TURN_LONG;
}

/* Up to one request; TURN_LONG when it is answered and more may follow. */
static enum turn run_input(struct connection *connection)
{
    for (;;) {
        if (connection->input.from == connection->input.upto) {
            enum receipt receipt = receive(connection);
            if (receipt == ENDED || (receipt == NOTHING && connection_is_stopping(connection)))
                return TURN_OVER;
            if (receipt == NOTHING)
                return TURN_IDLE;
            if (receipt == FAILED) {
                connection->is_last = true;
                return TURN_LONG;
            }
        }
        bytes input = bytes_of(connection->input.data + connection->input.from,
                               connection->input.upto - connection->input.from);
        enum wait wait = connection->wait;
        connection->wait = WAIT_NONE; /* a pending request has no limit, and is not touched below */
        connection->is_mid_request = false;
        switch (connection->protocol->on_bytes(connection->session, input)) {
        case STEP_MORE:
            ASSERT(connection->input.from == connection->input.upto);
            connection->is_mid_request = true;
            connection->wait = wait;
            break;
        case STEP_REPLIED:
            return TURN_LONG;
        case STEP_PENDING:
            return TURN_HELD;
        case STEP_CLOSE:
            connection->is_last = true;
            return TURN_LONG;
        }
    }
}

/* The last reply is out. */
static enum turn drain(struct connection *connection)
{
    connection->input.from = connection->input.upto;
    channel_shut(&connection->channel);
    if (channel_drop(&connection->channel) == NOTHING && !connection_is_stopping(connection))
        return TURN_IDLE;
    return TURN_OVER;
}

/* Only when all earlier input was consumed. */
static enum receipt receive(struct connection *connection)
{
    if (!connection->input.data)
        connection->input.data = memory_take(LIMIT_INPUT_BYTES);
    if (!connection->input.data)
        return ENDED;
    connection->input.from = 0;
    return channel_receive(&connection->channel, connection->input.data, LIMIT_INPUT_BYTES,
                           &connection->input.upto);
}

void connection_consume(struct connection *connection, size_t len)
{
    ASSERT(len <= connection->input.upto - connection->input.from);
    connection->input.from += len;
}

void connection_send(struct connection *connection, bytes head, bytes body)
{
    channel_send(&connection->channel, head, body);
}
