/* Care: what is done for a server that runs, at a signal.
 *
 * Keeps: what cannot be read again is told in the log and stays as it was.
 * Threads: the one of server_run(). Start reading at care_reload(). */
#include "server/care.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/checkpoint.h"
#include "server/key_file.h"

enum { RELOAD_ARENA_BYTES = 4 * 1024 * 1024, TIDY_ARENA_BYTES = 64 * 1024 };

status care_open_audit(struct arena *arena, const char *path, int *fd_out)
{
    struct stat info;
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
    const int error = errno;

    *fd_out = -1;
    if (fd < 0 && error != ENXIO) /* which is a pipe that nobody reads, or a socket */
        return status_fail(arena, IO_ERROR, "--audit-file %s: %s", path, strerror(error));
    if (fd < 0 || fstat(fd, &info) != 0 || S_ISFIFO(info.st_mode)) {
        if (fd >= 0)
            close(fd);
        return status_fail(arena, INVALID,
                           "--audit-file %s: it is a pipe or a socket; expected the name of a file",
                           path);
    }
    *fd_out = fd;
    return STATUS_OK;
}

static void warn_if_open(const struct log *log, const char *path)
{
    struct stat info;

    if (path && stat(path, &info) == 0 && (info.st_mode & (S_IRWXO | S_IWGRP)) != 0)
        log_event(log, LOG_WARNING, "keys.open",
                  "others can read or change %s; chmod 600 keeps them out", path);
}

void care_warn_of_open_files(const struct config *config, const struct log *log)
{
    warn_if_open(log, config->key_file);
    warn_if_open(log, config->tls_key);
}

status care_find_certificate(const struct config *config, struct arena *arena,
                             struct certificate *out)
{
    if (config->tls_certificate)
        return certificate_read(arena, config->tls_certificate, config->tls_key, out);
    if (config->storage == STORAGE_KIND_MEMORY)
        return certificate_make(arena, out);
    return certificate_keep(arena, config->data, out);
}

/* ---- reading again ---------------------------------------------------------------------------------- */

static void tell_reload(const struct care *care, const char *what, status s)
{
    const struct audit_party party = { .peer = "-", .user = BYTES_LITERAL("SIGHUP") };
    const struct audit_pair pairs[] = {
        {"what",    bytes_of_text(what)                            },
        { "result", bytes_of_text(s.code == OK ? "done" : "failed")},
    };

    audit_done(care->audit, "reload", &party, pairs, ARRAY_COUNT(pairs));
    if (s.code == OK)
        log_event(care->log, LOG_INFO, "reload.done", "what=%s", what);
    else
        log_event(care->log, LOG_ERROR, "reload.failed", "what=%s kept=\"as before\" reason=\"%s\"",
                  what, s.message);
}

static status reload_keys(const struct care *care, struct arena *arena)
{
    struct key_file keys;

    TRY(key_file_read(arena, care->config->key_file, &keys));
    const struct cosmos_options options = { .master_key = keys.primary,
                                            .secondary_key = keys.secondary,
                                            .read_only_key = keys.primary_read_only,
                                            .secondary_read_only_key = keys.secondary_read_only };
    const status s = cosmos_renew_keys(care->face, &options, arena);
    key_file_wipe(&keys);
    return s;
}

static status reload_certificate(const struct care *care, struct arena *arena)
{
    struct certificate certificate;

    TRY(care_find_certificate(care->config, arena, &certificate));
    const status s = tls_renew(care->tls, arena, &certificate);
    certificate_wipe(&certificate);
    return s;
}

/* The number of the descriptor stays, so nobody who writes needs to know. */
static status reopen_audit(const struct care *care, struct arena *arena)
{
    status s = STATUS_OK;
    int fd;

    TRY(care_open_audit(arena, care->config->audit_file, &fd));
    if (dup3(fd, care->audit_fd, O_CLOEXEC) < 0)
        s = status_fail(arena, IO_ERROR, "%s: %s", care->config->audit_file, strerror(errno));
    close(fd);
    return s;
}

/* SIGHUP. Each by itself: a bad key file does not keep a new certificate from being shown. */
void care_reload(void *context)
{
    const struct care *care = context;
    struct arena *arena = arena_open(RELOAD_ARENA_BYTES);

    if (!arena)
        return;
    care_warn_of_open_files(care->config, care->log);
    if (care->config->key_file)
        tell_reload(care, "keys", reload_keys(care, arena));
    if (care->config->storage != STORAGE_KIND_MEMORY || care->config->tls_certificate)
        tell_reload(care, "certificate", reload_certificate(care, arena));
    if (care->config->audit_file)
        tell_reload(care, "audit", reopen_audit(care, arena));
    arena_close(arena);
}

/* Every second. A backup that was killed would keep the bytes of the dead. */
void care_tidy(void *context)
{
    const struct care *care = context;
    struct arena *arena;

    if (care->config->storage == STORAGE_KIND_MEMORY)
        return;
    arena = arena_open(TIDY_ARENA_BYTES);
    if (!arena)
        return;
    checkpoint_clear(arena, care->config->data);
    arena_close(arena);
}

/* SIGUSR1. */
void care_report(void *context)
{
    const struct care *care = context;
    const struct metrics *metrics = care->metrics;
    const char *stopped = engine_writes_stopped(care->engine);

    log_event(care->log, LOG_WARNING, "server.status",
              "version=%s state=%s connections=%" PRIu64 " requests=%" PRIu64 " workers=%" PRIu64
              " commits=%" PRIu64 " busy=%" PRIu64 " unauthorized=%" PRIu64 " purged=%" PRIu64
              " purge-errors=%" PRIu64 " index-builds=%" PRIu64 " clock-leap=%" PRIu64,
              care->version, stopped[0] == '\0' ? "ok" : "writes-stopped",
              metrics_read(metrics, METRIC_connections_open),
              metrics_read(metrics, METRIC_requests_running), metrics_read(metrics, METRIC_workers),
              metrics_read(metrics, METRIC_commits_total), metrics_read(metrics, METRIC_busy_total),
              metrics_read(metrics, METRIC_requests_unauthorized_total),
              metrics_read(metrics, METRIC_purge_documents_total),
              metrics_read(metrics, METRIC_purge_errors_total),
              metrics_read(metrics, METRIC_index_builds_running),
              metrics_read(metrics, METRIC_clock_leap_pending));
}
