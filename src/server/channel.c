/* Channel: a socket with or without TLS.
 *
 * A TLS client speaks first, and its first byte is never the first byte of a plain request, so one byte
 * decides. Plain bytes go straight between socket and buffers. Under TLS replies are first copied to the
 * output, because a record that the socket took in part must be offered again, and flushed from there;
 * so a small reply is one record and one send.
 *
 * Threads: the owner of the connection; only `is_hangup` may be set by others. */
#include "server/channel.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"

/* First byte of a TLS handshake record. */
enum { TLS_FIRST_BYTE = 0x16 };

/* Longer replies are sent from where they are. */
enum { JOINED_BYTES_MAX = 2048 };

void channel_open(struct channel *channel, int fd, struct tls *tls)
{
    channel->fd = fd;
    channel->tls = tls;
    channel->kind = tls ? CHANNEL_UNDECIDED : CHANNEL_PLAIN;
    channel->dropped_bytes = 0;
    channel->is_dry = channel->is_broken = channel->is_shut = false;
    atomic_store(&channel->is_hangup, false);
}

static void give_output(struct channel *channel)
{
    atomic_fetch_sub(channel->kept_bytes, channel->output.room);
    memory_give(channel->output.data);
    memset(&channel->output, 0, sizeof(channel->output));
}

void channel_close(struct channel *channel)
{
    if (channel->stream) {
        if (!channel->is_shut && !channel->is_broken && !channel_has_output(channel))
            tls_stream_end(channel->stream);
        tls_stream_close(channel->stream);
    }
    channel->stream = NULL;
    close(channel->fd);
    channel->fd = -1;
    give_output(channel);
}

void channel_wake(struct channel *channel)
{
    channel->is_dry = false;
}

/* ---- the socket ------------------------------------------------------------------------------------- */

/* A short read means that the socket is empty, unless the peer has closed its side, which one more read
 * must find out. */
static ptrdiff_t socket_receive(void *context, void *data, size_t room)
{
    struct channel *channel = context;
    ssize_t len;

    if (channel->is_dry)
        return WIRE_WAITS;
    do {
        len = recv(channel->fd, data, room, MSG_DONTWAIT);
    } while (len < 0 && errno == EINTR);
    if (len < 0 && errno != EAGAIN)
        return WIRE_BROKEN;
    channel->is_dry = len < 0 ||
                      (len > 0 && (size_t)len < room && !atomic_load(&channel->is_hangup));
    return len < 0 ? WIRE_WAITS : len;
}

static ptrdiff_t socket_send(void *context, const void *data, size_t len)
{
    struct channel *channel = context;
    ssize_t sent;

    do {
        sent = send(channel->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return sent;
    if (errno == EAGAIN)
        return WIRE_WAITS;
    channel->is_broken = true;
    return WIRE_BROKEN;
}

/* ---- receiving -------------------------------------------------------------------------------------- */

/* Looks at the first byte and leaves it where it is. */
static enum receipt decide_kind(struct channel *channel)
{
    uint8_t first;
    ssize_t len;

    do {
        len = recv(channel->fd, &first, 1, MSG_DONTWAIT | MSG_PEEK);
    } while (len < 0 && errno == EINTR);
    if (len < 0 && errno == EAGAIN) {
        channel->is_dry = true;
        return NOTHING;
    }
    if (len <= 0)
        return ENDED;
    channel->kind = CHANNEL_PLAIN;
    if (first != TLS_FIRST_BYTE)
        return RECEIVED;
    channel->kind = CHANNEL_TLS;
    channel->stream = tls_stream_open(
        channel->tls,
        (struct wire){ .context = channel, .receive = socket_receive, .send = socket_send });
    metrics_add(channel->metrics, METRIC_tls_connections_total, 1);
    return channel->stream ? RECEIVED : ENDED;
}

static enum receipt receive_encrypted(struct channel *channel, void *data, size_t room,
                                      size_t *len_out)
{
    switch (tls_stream_read(channel->stream, data, room, len_out)) {
    case TLS_DONE:
        return RECEIVED;
    case TLS_WAITS:
        return NOTHING;
    case TLS_ENDED:
        return ENDED;
    case TLS_FAILED:
        metrics_add(channel->metrics, METRIC_tls_errors_total, 1);
        log_event(channel->log, LOG_DEBUG, "tls.failed", "reason=\"%s\"",
                  tls_stream_failure(channel->stream));
        return FAILED;
    }
    return ENDED;
}

enum receipt channel_receive(struct channel *channel, void *data, size_t room, size_t *len_out)
{
    *len_out = 0;
    if (channel->kind == CHANNEL_UNDECIDED) {
        enum receipt first = decide_kind(channel);
        if (first != RECEIVED)
            return first;
    }
    if (channel->kind == CHANNEL_TLS)
        return receive_encrypted(channel, data, room, len_out);
    ptrdiff_t len = socket_receive(channel, data, room);
    if (len == WIRE_WAITS)
        return NOTHING;
    if (len <= 0)
        return ENDED;
    *len_out = (size_t)len;
    return RECEIVED;
}

bool channel_may_receive(const struct channel *channel)
{
    return !channel->is_dry || (channel->stream && tls_stream_has_pending(channel->stream));
}

/* ---- sending ---------------------------------------------------------------------------------------- */

bool channel_is_shaking(const struct channel *channel)
{
    return channel->stream && !tls_stream_is_ready(channel->stream);
}

bool channel_has_output(const struct channel *channel)
{
    return channel->output.from < channel->output.upto;
}

/* False if the outputs of all connections together, or the memory, allow no more. */
static bool grow_output(struct channel *channel, size_t room)
{
    size_t more = room - channel->output.room;
    size_t before = atomic_fetch_add(channel->kept_bytes, more);
    uint8_t *larger = NULL;

    if (before <= LIMIT_KEPT_OUTPUT_BYTES && more <= LIMIT_KEPT_OUTPUT_BYTES - before)
        larger = memory_resize(channel->output.data, room);
    if (!larger) {
        atomic_fetch_sub(channel->kept_bytes, more);
        metrics_add(channel->metrics, METRIC_connections_dropped_total, 1);
        return false;
    }
    channel->output.data = larger;
    channel->output.room = room;
    return true;
}

static void keep_output(struct channel *channel, bytes rest)
{
    size_t wanted;

    if (rest.len == 0 || channel->is_broken)
        return;
    if (!size_add(channel->output.upto, rest.len, &wanted) ||
        (wanted > channel->output.room && !grow_output(channel, wanted))) {
        channel->is_broken = true;
        return;
    }
    memcpy(channel->output.data + channel->output.upto, rest.data, rest.len);
    channel->output.upto = wanted;
}

/* How many bytes of the output went out; 0 when the socket takes no more, or is broken. */
static size_t send_some(struct channel *channel)
{
    bytes output = bytes_of(channel->output.data + channel->output.from,
                            channel->output.upto - channel->output.from);
    size_t len;

    if (channel->kind != CHANNEL_TLS) {
        ptrdiff_t sent = socket_send(channel, output.data, output.len);
        return sent > 0 ? (size_t)sent : 0;
    }
    enum tls_result result = tls_stream_write(channel->stream, output, &len);
    if (result == TLS_DONE)
        return len;
    if (result != TLS_WAITS)
        channel->is_broken = true;
    return 0;
}

void channel_flush(struct channel *channel)
{
    while (channel_has_output(channel) && !channel->is_broken) {
        size_t sent = send_some(channel);
        if (sent == 0)
            return;
        channel->output.from += sent;
        channel->sent_count++;
    }
    give_output(channel);
}

/* To copy a short reply together takes less than the system needs for one in two parts. */
static size_t send_joined(struct channel *channel, bytes head, bytes body)
{
    uint8_t whole[JOINED_BYTES_MAX];

    memcpy(whole, head.data, head.len);
    if (body.len)
        memcpy(whole + head.len, body.data, body.len);
    const ptrdiff_t sent = socket_send(channel, whole, head.len + body.len);
    return sent > 0 ? (size_t)sent : 0;
}

/* What the socket took, of head and body in one call. */
static size_t send_plain(struct channel *channel, bytes head, bytes body)
{
    struct iovec parts[] = {
        {(void *)head.data,  head.len},
        { (void *)body.data, body.len}
    };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = ARRAY_COUNT(parts) };
    ssize_t sent;

    if (head.len > 0 && head.len <= JOINED_BYTES_MAX && body.len <= JOINED_BYTES_MAX - head.len)
        return send_joined(channel, head, body);
    do {
        sent = sendmsg(channel->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN)
        channel->is_broken = true;
    return sent > 0 ? (size_t)sent : 0;
}

void channel_send(struct channel *channel, bytes head, bytes body)
{
    size_t done = 0;

    if (channel->is_broken)
        return;
    if (channel->kind != CHANNEL_TLS && !channel_has_output(channel))
        done = send_plain(channel, head, body);
    if (done < head.len)
        keep_output(channel, bytes_from(head, done));
    keep_output(channel, bytes_from(body, done > head.len ? done - head.len : 0));
    if (channel->kind == CHANNEL_TLS)
        channel_flush(channel);
}

/* ---- the end ---------------------------------------------------------------------------------------- */

void channel_shut(struct channel *channel)
{
    if (channel->is_shut)
        return;
    channel->is_shut = true;
    if (channel->stream)
        tls_stream_end(channel->stream);
    shutdown(channel->fd, SHUT_WR);
}

enum receipt channel_drop(struct channel *channel)
{
    uint8_t waste[4096];

    while (channel->dropped_bytes <= LIMIT_DRAIN_BYTES) {
        ptrdiff_t len = socket_receive(channel, waste, sizeof(waste));
        if (len == WIRE_WAITS)
            return NOTHING;
        if (len <= 0)
            return ENDED;
        channel->dropped_bytes += (size_t)len;
    }
    return ENDED;
}
