/* PostgreSQL 15 as its package configures it, private to the measurement: a directory of its own, a port on loopback, ended by
 * its process. Asked over that port, as our server is; with SOCKET=1 over its Unix socket, which only programs of the same machine have. It does not run as root, so it becomes the user that the package has made. */
#ifndef BENCH_SQL_POSTGRES_H
#define BENCH_SQL_POSTGRES_H

#include <grp.h>
#include <postgresql/libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench/bench.h"

#define POSTGRES_PROGRAMS "/usr/lib/postgresql/15/bin"

struct postgres {
    pid_t pid;
    unsigned port; /* on loopback; also names its Unix socket */
    char dir[PATH_MAX + 16];
    PGconn *connection;
};

static inline bool postgres_is_installed(void)
{
    return access(POSTGRES_PROGRAMS "/postgres", X_OK) == 0;
}

/* In the child. Dies with the measurement. */
static inline void postgres_exec(char *const arguments[])
{
    if (geteuid() == 0) {
        const struct passwd *user = getpwnam("postgres");
        BENCH_CLAIM(user != NULL);
        BENCH_CLAIM(initgroups(user->pw_name, user->pw_gid) == 0);
        BENCH_CLAIM(setgid(user->pw_gid) == 0 && setuid(user->pw_uid) == 0);
    }
    prctl(PR_SET_PDEATHSIG, SIGINT);
    BENCH_CLAIM(chdir("/") == 0);
    execv(arguments[0], arguments);
    _exit(127);
}

static inline pid_t postgres_spawn(char *const arguments[], const char *log)
{
    const pid_t pid = fork();

    BENCH_CLAIM(pid >= 0);
    if (pid == 0) {
        BENCH_CLAIM(freopen(log, "a", stdout) != NULL && freopen(log, "a", stderr) != NULL);
        postgres_exec(arguments);
    }
    return pid;
}

static inline void postgres_ask(struct postgres *p, const char *sql)
{
    PGresult *result = PQexec(p->connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        fprintf(stderr, "postgres: %s: %s\n", sql, PQerrorMessage(p->connection));
        exit(1);
    }
    PQclear(result);
}

static inline void postgres_connect(struct postgres *p)
{
    enum { TRIES = 600, PAUSE_MS = 50 };
    char options[PATH_MAX + 128];

    snprintf(options, sizeof(options), "host=%s port=%u user=postgres dbname=postgres",
             bench_number("SOCKET", 0) ? p->dir : "127.0.0.1", p->port);
    for (int i = 0; i < TRIES; i++) {
        p->connection = PQconnectdb(options);
        if (PQstatus(p->connection) == CONNECTION_OK)
            return;
        PQfinish(p->connection);
        BENCH_CLAIM(waitpid(p->pid, NULL, WNOHANG) == 0);
        bench_sleep_ms(PAUSE_MS);
    }
    fprintf(stderr, "postgres does not start; see %s/log\n", p->dir);
    exit(1);
}

/* `top` is a directory of ours; PostgreSQL gets one inside. */
static inline void postgres_start_on(struct postgres *p, const char *top, unsigned port)
{
    char data[PATH_MAX + 32], log[PATH_MAX + 32], port_text[16];
    int code;

    p->port = port;
    snprintf(port_text, sizeof(port_text), "%u", port);

    snprintf(p->dir, sizeof(p->dir), "%s/postgres", top);
    snprintf(data, sizeof(data), "%s/data", p->dir);
    snprintf(log, sizeof(log), "%s/log", p->dir);
    const bool is_new = mkdir(p->dir, 0755) == 0;
    BENCH_CLAIM(chmod(top, 0711) == 0);
    if (is_new && geteuid() == 0) {
        const struct passwd *user = getpwnam("postgres");
        BENCH_CLAIM(user != NULL && chown(p->dir, user->pw_uid, user->pw_gid) == 0);
    }
    char *const create[] = {
        POSTGRES_PROGRAMS "/initdb", "-D", data, "-U", "postgres", "-A", "trust",
        "--locale=C.UTF-8",          NULL
    };
    if (is_new) {
        const pid_t creating = postgres_spawn(create, log);
        BENCH_CLAIM(waitpid(creating, &code, 0) == creating && code == 0);
    }
    char *const serve[] = { POSTGRES_PROGRAMS "/postgres",
                            "-D",
                            data,
                            "-k",
                            p->dir,
                            "-p",
                            port_text,
                            "-h",
                            "127.0.0.1",
                            NULL };
    p->pid = postgres_spawn(serve, log);
    postgres_connect(p);
}

static inline void postgres_start(struct postgres *p, const char *top)
{
    postgres_start_on(p, top, free_port());
}

/* A fast shutdown: it does not wait for clients. */
static inline void postgres_stop(struct postgres *p)
{
    PQfinish(p->connection);
    kill(p->pid, SIGINT);
    waitpid(p->pid, NULL, 0);
}

static inline void postgres_copy_begin(struct postgres *p, const char *table)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "COPY %s FROM STDIN", table);
    PGresult *result = PQexec(p->connection, sql);
    BENCH_CLAIM(PQresultStatus(result) == PGRES_COPY_IN);
    PQclear(result);
}

static inline void postgres_copy(struct postgres *p, const char *line, size_t len)
{
    BENCH_CLAIM(PQputCopyData(p->connection, line, (int)len) == 1);
}

static inline void postgres_copy_end(struct postgres *p)
{
    BENCH_CLAIM(PQputCopyEnd(p->connection, NULL) == 1);
    PGresult *result = PQgetResult(p->connection);
    BENCH_CLAIM(PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
    BENCH_CLAIM(PQgetResult(p->connection) == NULL);
}

static inline void postgres_prepare(struct postgres *p, const char *name, const char *sql)
{
    PGresult *result = PQprepare(p->connection, name, sql, 0, NULL);

    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fprintf(stderr, "postgres: %s: %s\n", sql, PQerrorMessage(p->connection));
        exit(1);
    }
    PQclear(result);
}

#endif
