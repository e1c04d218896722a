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
    const struct log *alarm;   /* told when lines are lost; NULL: nobody is */
    _Atomic int64_t second;    /* in which refusals are counted */
    _Atomic uint32_t refusals; /* of that second */
    _Atomic uint64_t left_out; /* refusals since the last one that has its line */
    _Atomic uint64_t lost;     /* lines that could not be written since the last one that was */
};

/* Whom a line is about. */
struct audit_party {
    const char *peer; /* address of the client */
    bytes user;       /* or the key; empty: nobody */
};

/* What it was, as `name=value`. The value may be a client's: one that is empty or has blanks, quotes, backslashes or
 * `=` stands in quotes with backslashes before quotes, so that no value looks like another pair. */
struct audit_pair {
    const char *name;
    bytes value; /* without data: the pair is left out */
};

/* Something was done: name `audit.<what>`. */
void audit_done(struct audit *audit, const char *what, const struct audit_party *party,
                const struct audit_pair *pairs, size_t count);
/* Somebody was refused. Of a flood only the first LIMIT_AUDIT_REFUSALS in a second have a line; the next line tells
 * how many had none. */
void audit_refused(struct audit *audit, const struct audit_party *party,
                   const struct audit_pair *pairs, size_t count);

#endif
