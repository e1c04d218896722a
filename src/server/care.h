/* What is done for a server that runs, at a signal: SIGHUP reads keys and certificate again and opens the audit log
 * anew, SIGUSR1 writes a summary to the log. */
#ifndef SERVER_CARE_H
#define SERVER_CARE_H

#include "engine/engine.h"
#include "front/cosmos/cosmos.h"
#include "server/certificate.h"
#include "server/config.h"
#include "server/tls.h"

/* Borrowed, all of it. */
struct care {
    const struct config *config;
    const struct log *log;
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

/* For the start, too. A descriptor, or -1 with errno. */
int care_open_audit(const char *path);
/* A database in memory leaves nothing on the disk, not even a certificate. */
MUST_USE status care_find_certificate(const struct config *config, struct arena *arena,
                                      struct certificate *out);

#endif
