/* Audit: lines about who was let in, refused, or changed something.
 *
 *   ... info audit.refused client=10.0.0.7:50112 who=ann command=find db=shop left-out=12
 *
 * Threads: any; a few atomic counters, which may be off by one when a second ends. */
#include "base/audit.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"

enum { TEXT_BYTES = 1024, USER_BYTES_SHOWN = 128 };

static void write_line(struct audit *audit, const char *name, const struct audit_party *party,
                       const char *text, uint64_t left_out)
{
    char more[48] = "";
    const bool has_user = party->user.len > 0;
    const size_t len = party->user.len < USER_BYTES_SHOWN ? party->user.len : USER_BYTES_SHOWN;

    if (left_out > 0)
        snprintf(more, sizeof(more), " left-out=%llu", (unsigned long long)left_out);
    log_event(audit->log, LOG_INFO, name, "client=%s who=%.*s %s%s", party->peer,
              has_user ? (int)len : 1, has_user ? (const char *)party->user.data : "-", text, more);
}

void audit_done(struct audit *audit, const char *what, const struct audit_party *party,
                const char *format, ...)
{
    char text[TEXT_BYTES], name[64];
    va_list args;

    if (!audit || !audit->log)
        return;
    snprintf(name, sizeof(name), "audit.%s", what);
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    write_line(audit, name, party, text, 0);
}

/* True if this refusal of the running second still has its line. */
static bool has_turn(struct audit *audit)
{
    const int64_t second = clock_stopwatch_ns() / 1000000000;

    if (atomic_exchange(&audit->second, second) != second)
        atomic_store(&audit->refusals, 0);
    if (atomic_fetch_add(&audit->refusals, 1) < LIMIT_AUDIT_REFUSALS)
        return true;
    atomic_fetch_add(&audit->left_out, 1);
    return false;
}

void audit_refused(struct audit *audit, const struct audit_party *party, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list args;

    if (!audit || !audit->log || !has_turn(audit))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    write_line(audit, "audit.refused", party, text, atomic_exchange(&audit->left_out, 0));
}
