/* Bench: opening an empty database, opening one after a crash, and what an idle server keeps in memory.
 *
 * After a crash: a process fills the logs with documents and is killed; what the next one takes to open is held against the size
 * of the logs. Once with half of what the logs may grow to, where most of it is in no file yet, and once with nearly all of it,
 * where the documents of the older logs are. And as a program: a server is killed under the load of several clients when its logs are
 * nearly as large as they get, and started again until it says that it is ready; with its memory at that moment and the most
 * that it had in the second after it, while it writes files.
 *
 * In process: storage and engine on an existing, empty directory (and a new one). As a program: from
 * starting $BUILD/mayfly serve on an empty directory (and on the same again) until it says that it is
 * ready, with its resident memory a moment later. Medians. */
#include <arpa/inet.h>
#include <dirent.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bench/rocks.h"
#include "bench/server.h"
#include "value/libbson.h"

enum { OPENINGS = 15, STARTS = 7, CRASHES = 3, SETTLE_MS = 500 };
/* The logs get as large as 134 MB: LOGS_BYTES_MAX in storage/rocksdb_options.c. */
enum { HALF_MB = 60, NEARLY_ALL_MB = 125 };

static double open_ms(const char *path)
{
    struct bench b;
    const double started = bench_now_s();

    bench_open(&b, path, 0, false);
    const double ms = 1e3 * (bench_now_s() - started);
    bench_close(&b);
    return ms;
}

static void in_process(const char *top)
{
    double fresh[OPENINGS], again[OPENINGS];
    char path[PATH_MAX + 16], value[128];

    for (int i = 0; i < OPENINGS; i++) {
        snprintf(path, sizeof(path), "%s/open%d", top, i);
        fresh[i] = open_ms(path);
        again[i] = open_ms(path);
    }
    const double fresh_ms = bench_median(fresh, OPENINGS), again_ms = bench_median(again, OPENINGS);
    snprintf(value, sizeof(value), "%.1f ms", fresh_ms);
    bench_figure("open: engine in a new directory", value, "< 100 ms", fresh_ms < 100);
    snprintf(value, sizeof(value), "%.1f ms", again_ms);
    bench_figure("open: engine on an empty database", value, "< 100 ms", again_ms < 100);
}

/* ---- after a crash --------------------------------------------------------------------------------- */

static double logs_mb(const char *path)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    double sum = 0;

    BENCH_CLAIM(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        const size_t len = strlen(entry->d_name);
        struct stat about;
        if (len > 4 && strcmp(entry->d_name + len - 4, ".log") == 0 &&
            fstatat(dirfd(directory), entry->d_name, &about, 0) == 0)
            sum += (double)about.st_size / 1e6;
    }
    closedir(directory);
    return sum;
}

/* In steps until the logs have this size, or were cut because they had grown too far. */
static void fill_and_crash(const char *path, double mb_wanted)
{
    enum { STEP = 1000, STEPS_MAX = 400 };
    struct bench b;
    double before = 0;

    bench_open(&b, path, 0, false);
    bench_collection(&b, "c", TTL_OFF);
    for (int i = 0; i < STEPS_MAX; i++) {
        bench_insert(&b, "c", (uint64_t)i * STEP, STEP);
        const double mb = logs_mb(path);
        if (mb > mb_wanted || mb < before)
            break;
        before = mb;
    }
    kill(getpid(), SIGKILL);
}

static void crash_figure(const char *name, const double mb[CRASHES], double ms[CRASHES],
                         double cpu_ms[CRASHES])
{
    double per_gb[CRASHES], cpu_per_gb[CRASHES], sizes[CRASHES];
    char value[128];

    for (int i = 0; i < CRASHES; i++) {
        sizes[i] = mb[i];
        per_gb[i] = ms[i] / mb[i];
        cpu_per_gb[i] = cpu_ms[i] / mb[i];
    }
    snprintf(value, sizeof(value), "%.0f ms for %.0f MB, %.1f s/GB (processor: %.1f)",
             bench_median(ms, CRASHES), bench_median(sizes, CRASHES), bench_median(per_gb, CRASHES),
             bench_median(cpu_per_gb, CRASHES));
    bench_figure(name, value, "< 2 s/GB", bench_median(per_gb, CRASHES) < 2);
}

static void crash_path(const char *top, double mb, int i, char path[PATH_MAX + 32])
{
    snprintf(path, PATH_MAX + 32, "%s/crash%.0f-%d", top, mb, i);
}

/* Before this process opens anything: the threads of RocksDB, which write its files, do not go along with a fork. */
static void crash(const char *top, double mb_wanted)
{
    char path[PATH_MAX + 32];

    for (int i = 0; i < CRASHES; i++) {
        crash_path(top, mb_wanted, i, path);
        const pid_t pid = fork();
        BENCH_CLAIM(pid >= 0);
        if (pid == 0)
            fill_and_crash(path, mb_wanted);
        waitpid(pid, NULL, 0);
    }
}

static void after_crash(const char *top, double mb_wanted, const char *name)
{
    double ms[CRASHES], mb[CRASHES], cpu_ms[CRASHES];
    char path[PATH_MAX + 32];
    struct bench b;

    for (int i = 0; i < CRASHES; i++) {
        crash_path(top, mb_wanted, i, path);
        mb[i] = logs_mb(path);
        const double cpu = bench_cpu_s(), started = bench_now_s();
        bench_open(&b, path, 0, false);
        ms[i] = 1e3 * (bench_now_s() - started);
        cpu_ms[i] = 1e3 * (bench_cpu_s() - cpu);
        bench_close(&b);
    }
    crash_figure(name, mb, ms, cpu_ms);
}

/* ---- a server that is killed ----------------------------------------------------------------------- */

enum { CLIENTS = 4, INSERTED_AT_ONCE = 200, MESSAGE_KIND = 2013, MESSAGE_HEAD_BYTES = 21 };

static void send_all(int client, const void *data, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        const ssize_t step = send(client, (const char *)data + sent, len - sent, MSG_NOSIGNAL);
        if (step <= 0)
            _exit(0); /* it was killed */
        sent += (size_t)step;
    }
}

static void receive_all(int client, void *data, size_t len)
{
    for (size_t have = 0; have < len;) {
        const ssize_t step = recv(client, (char *)data + have, len - have, 0);
        if (step <= 0)
            _exit(0);
        have += (size_t)step;
    }
}

/* One command, and its reply, which nobody looks at. */
static void insert_some(int client, uint64_t first)
{
    uint8_t head[MESSAGE_HEAD_BYTES] = { 0 }, room[BENCH_DOCUMENT_BYTES], reply[4096];
    const uint32_t kind = MESSAGE_KIND;
    bson_t body = BSON_INITIALIZER, list, document;
    uint32_t len;

    BSON_APPEND_UTF8(&body, "insert", "c");
    BSON_APPEND_ARRAY_BEGIN(&body, "documents", &list);
    for (uint32_t i = 0; i < INSERTED_AT_ONCE; i++) {
        char key[16];
        const char *name;
        const size_t name_len = bson_uint32_to_string(i, &name, key, sizeof(key));
        bench_document(room, first + i);
        BENCH_CLAIM(bson_init_static(&document, room, sizeof(room)));
        bson_append_document(&list, name, (int)name_len, &document);
    }
    bson_append_array_end(&body, &list);
    BSON_APPEND_UTF8(&body, "$db", "d");
    len = (uint32_t)sizeof(head) + body.len;
    memcpy(head, &len, sizeof(len));
    memcpy(head + 12, &kind, sizeof(kind));
    send_all(client, head, sizeof(head));
    send_all(client, bson_get_data(&body), body.len);
    bson_destroy(&body);
    receive_all(client, &len, sizeof(len));
    BENCH_CLAIM(len > sizeof(len) && len <= sizeof(reply));
    receive_all(client, reply, len - sizeof(len));
}

static void insert_until_killed(unsigned port, uint64_t number)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int client = socket(AF_INET, SOCK_STREAM, 0);

    BENCH_CLAIM(connect(client, (const struct sockaddr *)&address, sizeof(address)) == 0);
    for (uint64_t first = number << 32;; first += INSERTED_AT_ONCE)
        insert_some(client, first);
}

/* Under load, when its logs are that large. */
static void kill_loaded(const char *program, const char *path, double mb_wanted)
{
    const struct bench_server server = bench_server_start(program, path);

    for (unsigned i = 0; i < CLIENTS; i++) {
        const pid_t pid = fork();
        BENCH_CLAIM(pid >= 0);
        if (pid == 0)
            insert_until_killed(server.mongo_port, i);
    }
    while (logs_mb(path) < mb_wanted)
        bench_sleep_ms(1);
    kill(server.pid, SIGKILL);
    for (unsigned i = 0; i < CLIENTS + 1; i++)
        wait(NULL);
    close(server.output);
}

/* Until a moment ago. */
static double server_cpu_ms(const struct bench_server *server)
{
    char path[64];
    unsigned long user, system;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)server->pid);
    FILE *file = fopen(path, "r");
    BENCH_CLAIM(file != NULL);
    BENCH_CLAIM(fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                       &system) == 2);
    fclose(file);
    return 1e3 * (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double most_resident_mb(const struct bench_server *server)
{
    double most = 0;

    for (int i = 0; i < 100; i++) {
        const double mb = bench_server_resident_mb(server);
        most = mb > most ? mb : most;
        bench_sleep_ms(10);
    }
    return most;
}

static void killed_server(const char *top, double mb_wanted)
{
    double ms[CRASHES], mb[CRASHES], cpu_ms[CRASHES], most_mb[CRASHES];
    char program[PATH_MAX], path[PATH_MAX + 32], value[64];

    if (!bench_server_program(program))
        return;
    for (int i = 0; i < CRASHES; i++) {
        snprintf(path, sizeof(path), "%s/killed%d", top, i);
        kill_loaded(program, path, mb_wanted);
        mb[i] = logs_mb(path);
        const double started = bench_now_s();
        const struct bench_server server = bench_server_start(program, path);
        ms[i] = 1e3 * (bench_now_s() - started);
        cpu_ms[i] = server_cpu_ms(&server);
        most_mb[i] = most_resident_mb(&server);
        bench_server_stop(&server);
    }
    crash_figure("open: a server killed under load until ready, by the size of the logs", mb, ms,
                 cpu_ms);
    snprintf(value, sizeof(value), "%.0f MB", bench_median(most_mb, CRASHES));
    bench_figure("open: most memory in the first second after that", value, "< 300 MB",
                 bench_median(most_mb, CRASHES) < 300);
}

/* ---- the server ------------------------------------------------------------------------------------ */

/* The first start on a directory also makes keys and a certificate for https. */
static void as_program(const char *top)
{
    char program[PATH_MAX], path[PATH_MAX + 32], value[128];
    double fresh_ms[STARTS], again_ms[STARTS], rss_mb[STARTS];

    if (!bench_server_program(program))
        return;
    for (int i = 0; i < STARTS; i++) {
        snprintf(path, sizeof(path), "%s/served%d", top, i);
        for (int start = 0; start < 2; start++) {
            const double started = bench_now_s();
            const struct bench_server server = bench_server_start(program, path);
            *(start == 0 ? &fresh_ms[i] : &again_ms[i]) = 1e3 * (bench_now_s() - started);
            if (start == 0) {
                bench_sleep_ms(SETTLE_MS);
                rss_mb[i] = bench_server_resident_mb(&server);
            }
            bench_server_stop(&server);
        }
    }
    const double fresh = bench_median(fresh_ms, STARTS), again = bench_median(again_ms, STARTS);
    const double mb = bench_median(rss_mb, STARTS);
    snprintf(value, sizeof(value), "%.1f / %.1f ms", fresh, again);
    bench_figure("open: mayfly serve until ready, empty directory / again", value, "< 100 ms",
                 fresh < 100 && again < 100);
    snprintf(value, sizeof(value), "%.1f MB", mb);
    bench_figure("open: resident memory of an idle server", value, "< 30 MB", mb < 30);
}

/* Without the names that only debuggers want. */
static void stripped_size(const char *top)
{
    char program[PATH_MAX], path[PATH_MAX + 16], value[64];
    struct stat about;

    if (!bench_server_program(program))
        return;
    snprintf(path, sizeof(path), "%s/stripped", top);
    bench_shell("strip -o", path, program);
    BENCH_CLAIM(stat(path, &about) == 0);
    snprintf(value, sizeof(value), "%.1f MB", (double)about.st_size / 1e6);
    bench_figure("footprint: the program, stripped", value, "< 5 MB", about.st_size < 5000000);
}

int main(void)
{
    char top[PATH_MAX];

    bench_temp_dir(top);
    crash(top, HALF_MB);
    crash(top, NEARLY_ALL_MB);
    in_process(top);
    after_crash(top, HALF_MB, "open: after a crash, by the size of the logs");
    after_crash(top, NEARLY_ALL_MB, "open: the same with logs as large as they get");
    killed_server(top, NEARLY_ALL_MB);
    as_program(top);
    stripped_size(top);
    bench_remove_dir(top);
    return 0;
}
