/* Care: what is done for a server that runs, at a signal.
 *
 * Keeps: what cannot be read again is told in the log and stays as it was.
 * Threads: the one of server_run(). Start reading at care_reload(). */
#include "server/care.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "server/key_file.h"

enum { RELOAD_ARENA_BYTES = 4 * 1024 * 1024 };

int care_open_audit(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
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
    return cosmos_renew_keys(care->face, &options, arena);
}

static status reload_certificate(const struct care *care, struct arena *arena)
{
    struct certificate certificate;

    TRY(care_find_certificate(care->config, arena, &certificate));
    return tls_renew(care->tls, arena, &certificate);
}

/* The number of the descriptor stays, so nobody who writes needs to know. */
static status reopen_audit(const struct care *care, struct arena *arena)
{
    int fd = care_open_audit(care->config->audit_file);

    if (fd < 0 || dup3(fd, care->audit_fd, O_CLOEXEC) < 0)
        return status_fail(arena, IO_ERROR, "%s: %s", care->config->audit_file, strerror(errno));
    close(fd);
    return STATUS_OK;
}

/* SIGHUP. Each by itself: a bad key file does not keep a new certificate from being shown. */
void care_reload(void *context)
{
    const struct care *care = context;
    struct arena *arena = arena_open(RELOAD_ARENA_BYTES);

    if (!arena)
        return;
    if (care->config->key_file)
        tell_reload(care, "keys", reload_keys(care, arena));
    if (care->config->storage != STORAGE_KIND_MEMORY || care->config->tls_certificate)
        tell_reload(care, "certificate", reload_certificate(care, arena));
    if (care->config->audit_file)
        tell_reload(care, "audit", reopen_audit(care, arena));
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
