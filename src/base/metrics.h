/* Numbers an operator asks for. One row in metrics.def is one number: its name, kind and sentence.
 * Updates are single atomic operations, callable from every thread. */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/buffer.h"

enum metric {
#define METRIC(name, kind, sentence) METRIC_##name,
#include "base/metrics.def"
#undef METRIC
    METRIC_COUNT
};

struct metrics {
    _Atomic uint64_t values[METRIC_COUNT];
};

static inline void metrics_add(struct metrics *metrics, enum metric metric, uint64_t more)
{
    atomic_fetch_add_explicit(&metrics->values[metric], more, memory_order_relaxed);
}

static inline void metrics_set(struct metrics *metrics, enum metric metric, uint64_t value)
{
    atomic_store_explicit(&metrics->values[metric], value, memory_order_relaxed);
}

static inline uint64_t metrics_read(const struct metrics *metrics, enum metric metric)
{
    return atomic_load_explicit(&metrics->values[metric], memory_order_relaxed);
}

/* All rows in Prometheus text format, each with its HELP and TYPE line. */
void metrics_render(const struct metrics *metrics, struct buffer *out);

#endif
