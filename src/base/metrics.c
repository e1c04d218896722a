/* Metrics: the table of metrics.def as Prometheus text.
 *
 * Every name is prefixed with mayfly_. Reading is not one instant over all rows; each row is exact.
 * Callable from every thread. */
#include "base/metrics.h"

#include <inttypes.h>

struct metric_row {
    const char *name;
    const char *kind;
    const char *sentence;
};

#define COUNTER "counter"
#define GAUGE "gauge"

static const struct metric_row rows[METRIC_COUNT] = {
#define METRIC(name, kind, sentence) { #name, kind, sentence },
#include "base/metrics.def"
#undef METRIC
};

void metrics_render(const struct metrics *metrics, struct buffer *out)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        buffer_append_format(out, "# HELP mayfly_%s %s\n# TYPE mayfly_%s %s\n", rows[i].name,
                             rows[i].sentence, rows[i].name, rows[i].kind);
        buffer_append_format(out, "mayfly_%s %" PRIu64 "\n", rows[i].name,
                             metrics_read(metrics, (enum metric)i));
    }
}
