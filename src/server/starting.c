/* Starting: what clients hear while the data are being opened.
 *
 *   waiting --first bytes of a request--> told --closed
 *
 * One thread polls the listening socket and the few connections that it has accepted. Whatever is asked, the reply is the
 * same, so a request is read up to the end of its head and no further. https cannot be spoken yet, because the
 * certificate lies with the data: such a client is let go and tries again. Who is silent is let go at the end, or when
 * his place is needed.
 *
 * Keeps: nothing is read from memory that others change; everything ends with starting_close().
 * Threads: one of its own; open and close from one other. Start reading at watch(). */
#include "server/starting.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS_MAX = 64, HEAD_BYTES = 4096, FIRST_CLIENT = 2 };

struct caller {
    size_t len;
    char head[HEAD_BYTES];
};

struct starting {
    pthread_t thread;
    int stop_fd;
    size_t next; /* place of the next caller; the oldest makes room */
    struct pollfd fds[FIRST_CLIENT + CLIENTS_MAX]; /* stop, listener, callers */
    struct caller callers[CLIENTS_MAX];
};

static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                             "Content-Type: application/json\r\n"
                             "Content-Length: 21\r\n"
                             "Retry-After: 1\r\n"
                             "Connection: close\r\n"
                             "\r\n"
                             "{\"status\":\"starting\"}";

static void let_go(struct starting *starting, size_t at)
{
    struct pollfd *fd = &starting->fds[FIRST_CLIENT + at];

    if (fd->fd >= 0)
        close(fd->fd);
    fd->fd = -1;
    starting->callers[at].len = 0;
}

static void take_caller(struct starting *starting)
{
    int fd = accept4(starting->fds[1].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    const size_t at = starting->next++ % CLIENTS_MAX;
    let_go(starting, at);
    starting->fds[FIRST_CLIENT + at] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

/* What a handshake of TLS begins with. */
static bool is_tls(const struct caller *caller)
{
    return caller->len > 0 && caller->head[0] == 0x16;
}

static void hear_caller(struct starting *starting, size_t at)
{
    struct caller *caller = &starting->callers[at];
    const int fd = starting->fds[FIRST_CLIENT + at].fd;
    const ssize_t more = recv(fd, caller->head + caller->len, sizeof(caller->head) - caller->len,
                              0);

    if (more < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    caller->len += more > 0 ? (size_t)more : 0;
    const bool is_asked = memmem(caller->head, caller->len, "\r\n\r\n", 4) ||
                          caller->len == sizeof(caller->head);
    if (more > 0 && !is_asked && !is_tls(caller))
        return;
    if (more > 0 && !is_tls(caller) && send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
    let_go(starting, at);
}

static void *watch(void *context)
{
    struct starting *starting = context;

    for (;;) {
        if (poll(starting->fds, ARRAY_COUNT(starting->fds), -1) < 0)
            continue;
        if (starting->fds[0].revents)
            return NULL;
        for (size_t i = 0; i < CLIENTS_MAX; i++) {
            if (starting->fds[FIRST_CLIENT + i].fd >= 0 && starting->fds[FIRST_CLIENT + i].revents)
                hear_caller(starting, i);
        }
        if (starting->fds[1].revents)
            take_caller(starting);
    }
}

status starting_open(struct arena *arena, int listening_fd, struct starting **out)
{
    struct starting *starting = memory_take_zeroed(1, sizeof(*starting));

    *out = NULL;
    if (!starting)
        return status_of(OUT_OF_MEMORY, "no memory to tell clients that the server starts");
    starting->stop_fd = eventfd(0, EFD_CLOEXEC);
    starting->fds[0] = (struct pollfd){ .fd = starting->stop_fd, .events = POLLIN };
    starting->fds[1] = (struct pollfd){ .fd = listening_fd, .events = POLLIN };
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        starting->fds[FIRST_CLIENT + i].fd = -1;
    int error = starting->stop_fd < 0 ? errno
                                      : pthread_create(&starting->thread, NULL, watch, starting);
    if (error == 0) {
        *out = starting;
        return STATUS_OK;
    }
    if (starting->stop_fd >= 0)
        close(starting->stop_fd);
    memory_give(starting);
    return status_fail(arena, IO_ERROR, "cannot tell clients that the server starts: %s",
                       strerror(error));
}

void starting_close(struct starting *starting)
{
    if (!starting)
        return;
    eventfd_write(starting->stop_fd, 1);
    pthread_join(starting->thread, NULL);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        let_go(starting, i);
    close(starting->stop_fd);
    memory_give(starting);
}
