/* Request units: one documented, deterministic formula (docs/request-charge.md), in hundredths. It depends
 * on what the client asked for and got, never on time to live nor on dead documents (C-11). */
#ifndef FRONT_COSMOS_CHARGE_H
#define FRONT_COSMOS_CHARGE_H

#include "base/base.h"

typedef unsigned charge_units; /* hundredths of a request unit */

enum { CHARGE_METADATA_READ = 100, CHARGE_METADATA_WRITE = 500 };

charge_units charge_point_read(size_t item_bytes);
/* `term_count` is the number of index terms of the item, old and new. */
charge_units charge_write(size_t item_bytes, size_t term_count);
charge_units charge_delete(size_t item_bytes);
/* By the work done: documents and bytes looked at, rows given. */
struct charge_query {
    uint64_t rows_visited, documents_loaded, bytes_loaded, bytes_out;
};
charge_units charge_of_query(const struct charge_query *work);

#endif
