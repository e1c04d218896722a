/* The audit log: who was let in or refused, and who changed what is kept and for how long. One line for each, in
 * the log or in a file of its own; never contents of documents, never secrets. */
#ifndef BASE_AUDIT_H
#define BASE_AUDIT_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/log.h"

/* Shared by all threads. */
struct audit {
    const struct log *log;
    _Atomic int64_t second;    /* in which refusals are counted */
    _Atomic uint32_t refusals; /* of that second */
    _Atomic uint64_t left_out; /* refusals since the last one that has its line */
};

/* Whom a line is about. */
struct audit_party {
    const char *peer; /* address of the client */
    bytes user;       /* or the key; empty: nobody */
};

/* Something was done: name `audit.<what>`. */
void audit_done(struct audit *audit, const char *what, const struct audit_party *party,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Somebody was refused. Of a flood only the first LIMIT_AUDIT_REFUSALS in a second have a line; the next line tells
 * how many had none. */
void audit_refused(struct audit *audit, const struct audit_party *party, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
