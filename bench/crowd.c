/* Bench: what a quiet client notices of a crowd.
 *
 * One client asks at a slow pace, through each face, and how long it waits is noted: alone, then beside a crowd that
 * another process makes, then alone again. The crowd is
 *   10,000 connections that say nothing,
 *   1,000 that ask once a second,
 *   200 that send a request byte by byte, and never come to its end,
 *   50 that ask for megabytes and take nothing of them,
 *   and 100 a second that come, ask once and go.
 * What counts is the 99th percentile beside the crowd over that without, in the same run. */
#include <sys/socket.h>

#include "bench/mongo_load.h"
#include "bench/request.h"
#include "bench/server.h"

enum {
    IDLE = 10000,
    ACTIVE = 1000,
    SLOW_SENDERS = 200,
    SLOW_READERS = 50,
    TICK_MS = 1,
    SEND_EVERY_TICKS = 100,
    PASS_EVERY_TICKS = 10,
    SETTLE_TICKS = 2500, /* until those who take nothing have filled what the kernel has for them */
    TICKS_PER_SECOND = 1000 / TICK_MS,
    ASK_EVERY_MS = 2,
    LARGE_ASKS = 400,
    BODY_BYTES = 64 * 1024,
};

struct wish {
    unsigned port;
    bool is_http;
    size_t len;
    char data[2048];
};

/* ---- one request -------------------------------------------------------------------------------------- */

static void take_whole(int fd, bool is_http)
{
    static char reply[BODY_BYTES];
    size_t have = 0, whole = 0;

    while (whole == 0 || have < whole) {
        ssize_t more = recv(fd, reply + have, sizeof(reply) - 1 - have, 0);
        BENCH_CLAIM(more > 0);
        have += (size_t)more;
        reply[have] = '\0';
        if (is_http) {
            const char *end = strstr(reply, "\r\n\r\n");
            const char *length = strcasestr(reply, "\r\ncontent-length:");
            BENCH_CLAIM(strncmp(reply, "HTTP/1.1 200", have < 12 ? have : 12) == 0);
            whole = end && length ? (size_t)(end - reply) + 4 + strtoul(length + 17, NULL, 10) : 0;
        } else if (have >= 4) {
            uint32_t len;
            memcpy(&len, reply, sizeof(len));
            whole = len;
        }
    }
}

static void ask(int fd, const struct wish *wish)
{
    BENCH_CLAIM(send(fd, wish->data, wish->len, MSG_NOSIGNAL) == (ssize_t)wish->len);
}

static double quiet_p99_us(const struct wish *wish, double seconds)
{
    struct latency latency = { 0 };
    const double end = bench_now_s() + seconds;
    const int fd = load_connect(wish->port);

    while (bench_now_s() < end) {
        const double begun = bench_now_s();
        ask(fd, wish);
        take_whole(fd, wish->is_http);
        latency_note(&latency, bench_now_s() - begun);
        bench_sleep_ms(ASK_EVERY_MS);
    }
    close(fd);
    return latency_at(&latency, 0.99);
}

/* ---- the crowd ---------------------------------------------------------------------------------------- */

struct crowd {
    int idle[IDLE], active[ACTIVE], senders[SLOW_SENDERS], readers[SLOW_READERS];
};

static void make_crowd(struct crowd *crowd, const struct wish *wish, unsigned http_port)
{
    static const char large[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

    for (size_t i = 0; i < IDLE; i++)
        crowd->idle[i] = load_connect(wish->port);
    for (size_t i = 0; i < ACTIVE; i++)
        crowd->active[i] = load_connect(wish->port);
    for (size_t i = 0; i < SLOW_SENDERS; i++)
        crowd->senders[i] = load_connect(wish->port);
    for (size_t i = 0; i < SLOW_READERS; i++) {
        crowd->readers[i] = load_connect(http_port);
        for (int n = 0; n < LARGE_ASKS; n++) {
            if (send(crowd->readers[i], large, sizeof(large) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                break;
        }
    }
}

/* A tick: whose turn it is asks, or sends a byte. Spread over the second, because requests that come at once wait for
 * each other whatever the server is like. */
static void move_crowd(struct crowd *crowd, const struct wish *wish, size_t tick)
{
    static char thrown[BODY_BYTES];

    for (size_t i = tick % TICKS_PER_SECOND; i < ACTIVE; i += TICKS_PER_SECOND) {
        while (recv(crowd->active[i], thrown, sizeof(thrown), MSG_DONTWAIT) > 0)
            continue;
        ask(crowd->active[i], wish);
    }
    for (size_t i = tick % SEND_EVERY_TICKS; i < SLOW_SENDERS; i += SEND_EVERY_TICKS) {
        const size_t sent = tick / SEND_EVERY_TICKS;
        if (sent + 1 < wish->len)
            BENCH_CLAIM(send(crowd->senders[i], wish->data + sent, 1, MSG_NOSIGNAL) == 1);
    }
    if (tick % PASS_EVERY_TICKS != 0)
        return;
    const int passing = load_connect(wish->port);
    ask(passing, wish);
    take_whole(passing, wish->is_http);
    close(passing);
}

/* In a process of its own, until the other end of the pipe is closed. */
static void run_crowd(const struct wish *wish, unsigned http_port, int ready_fd, int end_fd)
{
    struct crowd *crowd = calloc(1, sizeof(*crowd));
    char byte;

    BENCH_CLAIM(crowd != NULL && fcntl(end_fd, F_SETFL, O_NONBLOCK) == 0);
    make_crowd(crowd, wish, http_port);
    const double begun = bench_now_s();
    for (size_t tick = 0;; tick++) {
        const double due = begun + (double)(tick + 1) * TICK_MS / 1e3;
        if (tick == SETTLE_TICKS)
            BENCH_CLAIM(write(ready_fd, "r", 1) == 1);
        if (read(end_fd, &byte, 1) == 0)
            _exit(0);
        move_crowd(crowd, wish, tick);
        const double left = due - bench_now_s();
        if (left > 0)
            nanosleep(&(struct timespec){ .tv_nsec = (long)(left * 1e9) }, NULL);
    }
}

static double beside_crowd_us(const struct wish *wish, unsigned http_port, double seconds)
{
    int ready[2], end[2];
    char byte;

    BENCH_CLAIM(pipe(ready) == 0 && pipe(end) == 0);
    const pid_t pid = fork();
    BENCH_CLAIM(pid >= 0);
    if (pid == 0) {
        close(end[1]);
        run_crowd(wish, http_port, ready[1], end[0]);
    }
    close(end[0]);
    close(ready[1]);
    BENCH_CLAIM(read(ready[0], &byte, 1) == 1);
    const double p99 = quiet_p99_us(wish, seconds);
    close(end[1]);
    waitpid(pid, NULL, 0);
    close(ready[0]);
    return p99;
}

/* ---- the figures ------------------------------------------------------------------------------------- */

/* In turns, because whatever else the machine does comes and goes. */
static void measure(const char *face, const struct wish *wish, const struct bench_server *server)
{
    enum { ROUNDS = 5 };
    const double seconds = bench_is_quick() ? 0.7 : 2;
    double alone[ROUNDS], beside[ROUNDS], ratios[ROUNDS];
    char name[128], value[128];

    quiet_p99_us(wish, 0.5);
    const double idle_mb = bench_server_resident_mb(server);
    for (int i = 0; i < ROUNDS; i++) {
        alone[i] = quiet_p99_us(wish, seconds);
        beside[i] = beside_crowd_us(wish, server->port, seconds);
        ratios[i] = beside[i] / alone[i];
    }
    const double crowd_mb = bench_server_resident_mb(server);
    const double times = bench_median(ratios, ROUNDS);
    snprintf(name, sizeof(name), "crowd: p99 of a quiet client of %s beside it / alone", face);
    snprintf(value, sizeof(value), "%.0f / %.0f us, %.1f times", bench_median(beside, ROUNDS),
             bench_median(alone, ROUNDS), times);
    bench_figure(name, value, "within 2 times", times <= 2);
    snprintf(name, sizeof(name), "crowd: memory of the server after it, %s", face);
    snprintf(value, sizeof(value), "%.0f MB, before %.0f MB", crowd_mb, idle_mb);
    bench_figure(name, value, "< 300 MB", crowd_mb < 300);
}

static struct wish http_wish(unsigned port)
{
    struct wish wish = { .port = port, .is_http = true };
    struct text text = text_in(wish.data, sizeof(wish.data));

    put_head(&text, "GET", "/dbs/d/colls/c", "colls", "dbs/d/colls/c");
    put(&text, "\r\n");
    wish.len = text.len;
    return wish;
}

static struct wish mongo_wish(unsigned port, bool is_insert)
{
    struct wish wish = { .port = port };
    struct message message;

    if (is_insert)
        message_insert(&message, 1, 1, 1);
    else
        message_find(&message, 1);
    wish.len = message.len;
    memcpy(wish.data, message.data, message.len);
    return wish;
}

static void raise_limit(void)
{
    struct rlimit limit;

    BENCH_CLAIM(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < IDLE + ACTIVE + 1000) {
        printf("crowd: needs %d descriptors, the limit is %lu; left out\n", IDLE + ACTIVE + 1000,
               (unsigned long)limit.rlim_max);
        exit(0);
    }
}

int main(void)
{
    char top[PATH_MAX], program[PATH_MAX], data[PATH_MAX + 16];

    if (!bench_server_program(program))
        return 0;
    raise_limit();
    bench_temp_dir(top);
    snprintf(data, sizeof(data), "%s/data", top);
    struct bench_server server = bench_server_start(program, data);
    const struct wish insert = mongo_wish(server.mongo_port, true);
    const int fd = load_connect(server.mongo_port);
    ask(fd, &insert);
    take_whole(fd, false);
    close(fd);
    const struct wish http = http_wish(server.port), mongo = mongo_wish(server.mongo_port, false);
    measure("HTTP", &http, &server);
    bench_server_stop(&server);
    server = bench_server_start(program,
                                data); /* without what the first crowd left in its memory */
    struct wish again = mongo;
    again.port = server.mongo_port;
    measure("MongoDB", &again, &server);
    bench_server_stop(&server);
    bench_remove_dir(top);
    return 0;
}
