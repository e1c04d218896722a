/* Progress: one line on the terminal, rewritten ten times a second at most.
 *
 * Threads: whoever has the struct. */
#include "server/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { SHOW_EVERY_NS = 100 * 1000 * 1000 };

struct progress progress_begin(const char *what, uint64_t total)
{
    return (struct progress){ .what = what,
                              .total = total,
                              .begun_ns = clock_stopwatch_ns(),
                              .is_shown = isatty(STDERR_FILENO) == 1 };
}

void progress_add(struct progress *progress, uint64_t more)
{
    progress->done += more;
    if (!progress->is_shown)
        return;
    int64_t now = clock_stopwatch_ns();
    if (now - progress->shown_ns < SHOW_EVERY_NS)
        return;
    progress->shown_ns = now;
    double seconds = (double)(now - progress->begun_ns) / 1e9 + 1e-9;
    double mb = (double)progress->done / 1e6, total_mb = (double)progress->total / 1e6;
    fprintf(stderr, "\r%s %3.0f %%  %.1f of %.1f MB, %.0f MB/s\033[K", progress->what,
            progress->total > 0 ? 100 * mb / total_mb : 100.0, mb, total_mb, mb / seconds);
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown && progress->shown_ns > 0)
        fputs("\r\033[K", stderr);
}
