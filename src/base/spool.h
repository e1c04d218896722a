/* Records that do not fit into memory wait in a file that nobody else can see, in the order in which they came.
 * Whatever ends the process ends the file with it. Belongs to one request at a time; not thread-safe.
 *
 *   TRY(spool_open(directory, LIMIT_SPOOL_BYTES, &spool));
 *   TRY(spool_append(spool, record)); ...
 *   TRY(spool_read(spool, 0, spool_end(spool), &reader));
 *   while (spool_next(reader, &record, &has) is OK and has) ...
 *   spool_reader_close(reader); spool_close(spool); */
#ifndef BASE_SPOOL_H
#define BASE_SPOOL_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

struct spool;
/* A file below `directory` that takes at most so many bytes. */
MUST_USE status spool_open(const char *directory, uint64_t bytes_max, struct spool **out);
/* No reader may be open. NULL is fine. */
void spool_close(struct spool *spool);

/* TOO_LARGE past the limit, IO_ERROR (the disk is full included) if the file cannot be written. */
MUST_USE status spool_append(struct spool *spool, bytes record);
/* Where the next record will begin. */
uint64_t spool_end(const struct spool *spool);

/* The records from one such place to another. */
struct spool_reader;
MUST_USE status spool_read(struct spool *spool, uint64_t from, uint64_t to,
                           struct spool_reader **out);
/* Borrowed until the next call. CORRUPT if the file does not hold what was written. */
MUST_USE status spool_next(struct spool_reader *reader, bytes *record_out, bool *has_out);
/* NULL is fine. */
void spool_reader_close(struct spool_reader *reader);

#endif
