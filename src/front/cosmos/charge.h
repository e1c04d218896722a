/* Request units: one documented, deterministic formula (docs/request-charge.md), in hundredths. It depends
 * on what the client asked for and got, never on time to live nor on dead documents (C-11). */
#ifndef FRONT_COSMOS_CHARGE_H
#define FRONT_COSMOS_CHARGE_H

#include "base/base.h"

typedef unsigned charge_units; /* hundredths of a request unit */

enum { CHARGE_METADATA_READ = 100, CHARGE_METADATA_WRITE = 500 };

/* `item_bytes` is the size of the item's JSON as a reply shows it. */
charge_units charge_point_read(size_t item_bytes);
/* Create, replace, upsert: of the item as it is written. `term_count` is the number of its index terms: one
 * for each value that is neither an object nor an array. */
charge_units charge_write(size_t item_bytes, size_t term_count);
/* A patch reads the item first. */
charge_units charge_patch(size_t old_bytes, size_t new_bytes, size_t term_count);
/* So many items, whatever their size: their bodies are not looked at. */
charge_units charge_delete(uint64_t count);

/* By the work done for the living: rows and documents that died are not looked at, so they are not in these
 * figures. */
struct charge_query {
    uint64_t rows_visited, documents_loaded, bytes_loaded, bytes_out;
};
charge_units charge_of_query(const struct charge_query *work);

/* A sum that stays at the largest number instead of starting again at 0. */
charge_units charge_add(charge_units a, charge_units b);

#endif
