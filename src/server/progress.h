/* A line that tells a person at a terminal how far a long copy has come. Says nothing to a file or a pipe. */
#ifndef SERVER_PROGRESS_H
#define SERVER_PROGRESS_H

#include "base/base.h"

/* In the caller's memory; one thread's. */
struct progress {
    const char *what;
    uint64_t done, total; /* bytes */
    int64_t begun_ns, shown_ns;
    bool is_shown; /* stderr is a terminal */
};

struct progress progress_begin(const char *what, uint64_t total);
void progress_add(struct progress *progress, uint64_t more);
/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
