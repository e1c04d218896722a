/* What C lacks, in one include: bytes, buffers, arenas, statuses, assertions and checked arithmetic,
 * server time, seeded randomness, log and audit lines, metrics, marks around waits, and the table of limits. Nothing here knows
 * what a document is. */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "base/arena.h"
#include "base/audit.h"
#include "base/block.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/log_ring.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/status.h"
#include "base/wait.h"

#endif
