/* What clients hear while a server opens its data, and that nobody is lost when it takes over. */
#include "tests/check.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/server.h"

enum { BUDGET = 1 << 20, REPLY_BYTES = 1024, SECONDS_MAX = 20 };

struct scene {
    struct arena *arena;
    struct address address;
    int fd;
    struct starting *starting;
};

static struct scene scene_open(void)
{
    struct scene scene = { .arena = arena_open(BUDGET) };
    struct address wanted;

    CHECK_OK(address_parse(scene.arena, "127.0.0.1:0", &wanted));
    CHECK_OK(server_bind(scene.arena, &wanted, &scene.address, &scene.fd));
    CHECK_OK(starting_open(scene.arena, scene.fd, &scene.starting));
    return scene;
}

static void scene_close(struct scene *scene)
{
    starting_close(scene->starting);
    close(scene->fd);
    arena_close(scene->arena);
}

static int call(const struct scene *scene, const char *text, size_t len)
{
    const struct timeval limit = { .tv_sec = SECONDS_MAX };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    CHECK(connect(fd, (const struct sockaddr *)&scene->address.socket, scene->address.socket_len) ==
          0);
    CHECK(send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len);
    return fd;
}

/* Everything up to the end of the connection. */
static const char *hear(int fd, char reply[REPLY_BYTES])
{
    size_t len = 0;
    ssize_t more;

    while ((more = recv(fd, reply + len, REPLY_BYTES - 1 - len, 0)) > 0)
        len += (size_t)more;
    reply[len] = '\0';
    close(fd);
    return reply;
}

TEST(starting, whoever_asks_is_told_that_the_server_starts)
{
    static const char *const rows[] = { "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
                                        "POST /dbs HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
                                        "GET / HTTP/1.0\r\n\r\n" };
    struct scene scene = scene_open();
    char reply[REPLY_BYTES];

    int silent = call(&scene, "GET /heal", 9); /* keeps nobody else from being answered */
    EACH_ROW(rows, r) {
        hear(call(&scene, *r, strlen(*r)), reply);
        CHECK_THAT(strncmp(reply, "HTTP/1.1 503 ", 13) == 0, "%s", reply);
        CHECK_THAT(strstr(reply, "\r\n\r\n{\"status\":\"starting\"}") != NULL, "%s", reply);
    }
    CHECK(send(silent, "thz HTTP/1.1\r\n\r\n", 16, MSG_NOSIGNAL) == 16);
    CHECK_THAT(strstr(hear(silent, reply), "starting") != NULL, "%s", reply);
    CHECK_STRING(hear(call(&scene, "\x16\x03\x01", 3), reply), "");
    scene_close(&scene);
}

TEST(starting, more_silent_clients_than_there_is_room_for_keep_nobody_out)
{
    enum { SILENT = 100 };
    struct scene scene = scene_open();
    int fds[SILENT];
    char reply[REPLY_BYTES];
    const char text[] = "GET /healthz HTTP/1.1\r\n\r\n";

    for (int i = 0; i < SILENT; i++)
        fds[i] = call(&scene, "G", 1);
    CHECK_THAT(strstr(hear(call(&scene, text, sizeof(text) - 1), reply), "starting") != NULL, "%s",
               reply);
    for (int i = 0; i < SILENT; i++)
        close(fds[i]);
    scene_close(&scene);
}

TEST(starting, who_comes_after_its_end_waits_for_whoever_takes_the_socket)
{
    struct scene scene = scene_open();
    const char text[] = "hello";
    char reply[REPLY_BYTES];

    starting_close(scene.starting);
    scene.starting = NULL;
    int client = call(&scene, text, sizeof(text) - 1);
    int served = -1;
    for (int i = 0; i < 1000 && served < 0; i++) /* the socket does not block */
        served = accept(scene.fd, NULL, NULL);
    CHECK(served >= 0);
    CHECK(recv(served, reply, sizeof(reply), 0) == 5);
    close(served);
    close(client);
    scene_close(&scene);
}
