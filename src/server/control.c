/* Control: the socket in the data directory, from both sides.
 *
 * The name of a socket has room for a hundred bytes only, and data may lie deeper: both sides open the
 * directory and name the socket by its descriptor, through /proc. The server makes the socket under a
 * umask that keeps everybody else out.
 *
 * Threads: any; no state. */
#include "server/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "value/value.h"

static const char socket_name[] = "control";

static status failure(struct arena *arena, const char *directory, int error)
{
    return status_fail(arena, IO_ERROR, "%s/%s: %s", directory, socket_name, strerror(error));
}

static status find_socket(struct arena *arena, const char *directory, struct address *out,
                          int *fd_out)
{
    struct sockaddr_un *name = (struct sockaddr_un *)&out->socket;

    *out = (struct address){ .socket_len = sizeof(*name) };
    name->sun_family = AF_UNIX;
    *fd_out = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*fd_out < 0 && (errno == ENOENT || errno == ENOTDIR))
        return status_fail(arena, IO_ERROR, "there is no database in %s: %s", directory,
                           strerror(errno));
    if (*fd_out < 0)
        return failure(arena, directory, errno);
    snprintf(name->sun_path, sizeof(name->sun_path), "/proc/self/fd/%d/%s", *fd_out, socket_name);
    return STATUS_OK;
}

/* ---- the server's side ------------------------------------------------------------------------------ */

status control_prepare(struct arena *arena, const char *directory, struct address *out, int *fd_out)
{
    TRY(find_socket(arena, directory, out, fd_out));
    if (unlinkat(*fd_out, socket_name, 0) == 0 || errno == ENOENT)
        return STATUS_OK;
    const status s = failure(arena, directory, errno);
    close(*fd_out);
    *fd_out = -1;
    return s;
}

void control_remove(const char *directory)
{
    int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    unlinkat(fd, socket_name, 0);
    close(fd);
}

/* ---- the other side --------------------------------------------------------------------------------- */

static status connect_to(struct arena *arena, const char *directory, int *fd_out)
{
    struct address address;
    int directory_fd;

    *fd_out = -1;
    TRY(find_socket(arena, directory, &address, &directory_fd));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = fd < 0 || connect(fd, (struct sockaddr *)&address.socket, address.socket_len) != 0
                    ? errno
                    : 0;
    close(directory_fd);
    if (error == 0) {
        *fd_out = fd;
        return STATUS_OK;
    }
    if (fd >= 0)
        close(fd);
    if (error == ENOENT || error == ECONNREFUSED)
        return status_fail(arena, NOT_FOUND, "no server has %s open", directory);
    return failure(arena, directory, error);
}

/* Up to the end of the connection. */
static status read_reply(struct arena *arena, int fd, bytes *out)
{
    uint8_t *data;
    size_t len = 0;
    ssize_t more;

    *out = BYTES_NONE;
    TRY(ARENA_NEW(arena, LIMIT_CONTROL_REPLY_BYTES, &data));
    do {
        more = recv(fd, data + len, LIMIT_CONTROL_REPLY_BYTES - len, 0);
        len += more > 0 ? (size_t)more : 0;
    } while ((more > 0 && len < LIMIT_CONTROL_REPLY_BYTES) || (more < 0 && errno == EINTR));
    *out = bytes_of(data, len);
    return STATUS_OK;
}

static bytes body_of(bytes reply)
{
    uint8_t *end = memmem(reply.data, reply.len, "\r\n\r\n", 4);

    return end ? bytes_from(reply, (size_t)(end - reply.data) + 4) : reply;
}

/* The sentence in {"message":...}, or all there is. */
static bytes refusal_of(struct arena *arena, bytes reply)
{
    bytes body = body_of(reply), document;
    struct value message;

    if (json_read(arena, body, &document).code == OK &&
        document_find(document, "message", &message) && message.type == VALUE_STRING)
        return value_text(message);
    return body;
}

static bool send_whole(int fd, bytes content)
{
    while (content.len > 0) {
        ssize_t done = send(fd, content.data, content.len, MSG_NOSIGNAL);
        if (done < 0 && errno != EINTR)
            return false;
        content = bytes_from(content, done > 0 ? (size_t)done : 0);
    }
    return true;
}

bool control_is_served(struct arena *arena, const char *directory)
{
    int fd;

    if (connect_to(arena, directory, &fd).code != OK)
        return false;
    close(fd);
    return true;
}

status control_send(struct arena *arena, const char *directory, const char *page, bytes body,
                    bytes *reply_out)
{
    const char *head = arena_format(arena,
                                    "POST %s HTTP/1.1\r\nHost: control\r\n"
                                    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                                    page, body.len);
    bytes reply;
    status s;
    int fd;

    *reply_out = BYTES_NONE;
    if (!head)
        return arena_exhausted(arena);
    TRY(connect_to(arena, directory, &fd));
    if (!send_whole(fd, bytes_of_text(head)) || !send_whole(fd, body)) {
        s = failure(arena, directory, errno);
        goto done;
    }
    TRY_GOTO(read_reply(arena, fd, &reply), done);
    if (bytes_starts_with(reply, BYTES_LITERAL("HTTP/1.1 200 "))) {
        *reply_out = body_of(reply);
        goto done;
    }
    bytes reason = reply.len > 0 ? refusal_of(arena, reply)
                                 : BYTES_LITERAL("it went away without a reply");
    s = status_fail(arena, IO_ERROR, "the server of %s refused %s: %.*s", directory, page,
                    (int)reason.len, (const char *)reason.data);
done:
    close(fd);
    return s;
}

status control_post(struct arena *arena, const char *directory, const char *page)
{
    bytes reply;

    return control_send(arena, directory, page, BYTES_NONE, &reply);
}
