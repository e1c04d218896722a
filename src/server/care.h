/* What is done for a server that runs, at a signal: SIGHUP reads keys and certificate again and opens the audit log
 * anew, SIGUSR1 writes a summary to the log. */
#ifndef SERVER_CARE_H
#define SERVER_CARE_H

#include "base/audit.h"
#include "engine/engine.h"
#include "front/cosmos/cosmos.h"
#include "server/certificate.h"
#include "server/config.h"
#include "server/tls.h"

/* Borrowed, all of it. */
struct care {
    const struct config *config;
    const struct log *log;
    struct audit *audit;
    int audit_fd; /* -1: the audit log has no file of its own */
    const struct metrics *metrics;
    struct engine *engine;
    struct cosmos *face;
    struct tls *tls;
    const char *version;
};

/* `context` is a struct care. */
void care_reload(void *context);
void care_report(void *context);
void care_tidy(void *context);

/* For the start, too. INVALID for a pipe or a socket, which would make everybody wait for whoever reads it; IO_ERROR. */
MUST_USE status care_open_audit(struct arena *arena, const char *path, int *fd_out);
/* A warning for each file of secrets that others can read or change. */
void care_warn_of_open_files(const struct config *config, const struct log *log);
/* A database in memory leaves nothing on the disk, not even a certificate. */
MUST_USE status care_find_certificate(const struct config *config, struct arena *arena,
                                      struct certificate *out);

#endif
