/* Audit: lines about who was let in, refused, or changed something.
 *
 *   ... info audit.refused client=10.0.0.7:50112 who=ann command=find db=shop left-out=12
 *
 * Threads: any; a few atomic counters, which may be off by one when a second ends. */
#include "base/audit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"

enum { TEXT_BYTES = 1900, VALUE_BYTES_SHOWN = 256 };

/* A line in the making; what does not fit is left out. */
struct line {
    char text[TEXT_BYTES];
    size_t len;
};

static void append(struct line *line, const char *data, size_t len)
{
    const size_t room = sizeof(line->text) - 1 - line->len;

    len = len < room ? len : room;
    memcpy(line->text + line->len, data, len);
    line->len += len;
    line->text[line->len] = '\0';
}

static bool is_plain(bytes value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] <= ' ' || value.data[i] == 0x7f || memchr("\"\\=", value.data[i], 3))
            return false;
    }
    return value.len > 0;
}

/* A long value is cut where a character begins. */
static bytes shown_part(bytes value)
{
    if (value.len <= VALUE_BYTES_SHOWN)
        return value;
    value.len = VALUE_BYTES_SHOWN;
    while (value.len > 0 && (value.data[value.len] & 0xc0) == 0x80)
        value.len--;
    return value;
}

static void append_value(struct line *line, bytes value)
{
    const bytes part = shown_part(value);

    if (is_plain(part)) {
        append(line, (const char *)part.data, part.len);
        return;
    }
    append(line, "\"", 1);
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] == '"' || part.data[i] == '\\')
            append(line, "\\", 1);
        append(line, (const char *)part.data + i, 1);
    }
    append(line, "\"", 1);
}

static void append_pair(struct line *line, struct audit_pair pair)
{
    if (!pair.value.data)
        return;
    if (line->len > 0)
        append(line, " ", 1);
    append(line, pair.name, strlen(pair.name));
    append(line, "=", 1);
    append_value(line, pair.value);
}

/* The first line that is lost is told; how many it were, when lines are written again. */
static void tell_loss(struct audit *audit, int error)
{
    if (atomic_fetch_add(&audit->lost, 1) == 0 && audit->alarm)
        log_event(audit->alarm, LOG_ERROR, "audit.failed",
                  "lines of the audit log are lost: %s; make room, or give another --audit-file",
                  strerror(error));
}

static void tell_end_of_loss(struct audit *audit)
{
    if (atomic_load(&audit->lost) == 0)
        return;
    const uint64_t lost = atomic_exchange(&audit->lost, 0);
    if (lost > 0 && audit->alarm)
        log_event(audit->alarm, LOG_WARNING, "audit.resumed", "lost=%llu",
                  (unsigned long long)lost);
}

static void write_line(struct audit *audit, const char *name, const struct audit_party *party,
                       const struct audit_pair *pairs, size_t count, uint64_t left_out)
{
    struct line line = { .len = 0 };
    char more[32];

    append_pair(&line, (struct audit_pair){ "client", bytes_of_text(party->peer) });
    append_pair(&line, (struct audit_pair){ "who", party->user.len > 0 ? party->user
                                                                       : BYTES_LITERAL("-") });
    for (size_t i = 0; i < count; i++)
        append_pair(&line, pairs[i]);
    snprintf(more, sizeof(more), "%llu", (unsigned long long)left_out);
    if (left_out > 0)
        append_pair(&line, (struct audit_pair){ "left-out", bytes_of_text(more) });
    if (log_event(audit->log, LOG_INFO, name, "%s", line.text))
        tell_end_of_loss(audit);
    else
        tell_loss(audit, errno);
}

void audit_done(struct audit *audit, const char *what, const struct audit_party *party,
                const struct audit_pair *pairs, size_t count)
{
    char name[64];

    if (!audit || !audit->log)
        return;
    snprintf(name, sizeof(name), "audit.%s", what);
    write_line(audit, name, party, pairs, count, 0);
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

void audit_refused(struct audit *audit, const struct audit_party *party,
                   const struct audit_pair *pairs, size_t count)
{
    if (!audit || !audit->log || !has_turn(audit))
        return;
    write_line(audit, "audit.refused", party, pairs, count, atomic_exchange(&audit->left_out, 0));
}
