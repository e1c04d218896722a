/* Charge: request units of every kind of operation, the table of docs/request-charge.md.
 *
 * Every price is a base and a price per started kilobyte, index term or row. Nothing here knows a clock, a
 * time to live or a policy, and the figures that come in count what living documents needed.
 *
 * Pure; callable from every thread. */
#include "front/cosmos/charge.h"

#include <limits.h>

enum {
    READ_BASE = 100,
    READ_PER_KB = 10,
    WRITE_BASE = 500,
    WRITE_PER_KB = 50,
    WRITE_PER_TERM = 5,
    DELETE_EACH = 500,
    QUERY_BASE = 200,
    QUERY_PER_ROW = 1,
    QUERY_PER_DOCUMENT = 2,
    QUERY_PER_KB = 2,
};

static charge_units bounded(uint64_t units)
{
    return units > UINT_MAX ? UINT_MAX : (charge_units)units;
}

static uint64_t times(uint64_t count, uint64_t price)
{
    uint64_t product;

    return __builtin_mul_overflow(count, price, &product) ? UINT_MAX : product;
}

static uint64_t kilobytes(uint64_t size_bytes)
{
    return size_bytes / 1024 + (size_bytes % 1024 != 0);
}

/* The first kilobyte is part of the base. */
static uint64_t further_kilobytes(uint64_t size_bytes)
{
    return size_bytes > 1024 ? kilobytes(size_bytes) - 1 : 0;
}

charge_units charge_add(charge_units a, charge_units b)
{
    return bounded((uint64_t)a + b);
}

charge_units charge_point_read(size_t item_bytes)
{
    return charge_add(READ_BASE, bounded(times(further_kilobytes(item_bytes), READ_PER_KB)));
}

charge_units charge_write(size_t item_bytes, size_t term_count)
{
    charge_units size = bounded(times(further_kilobytes(item_bytes), WRITE_PER_KB));
    charge_units terms = bounded(times(term_count, WRITE_PER_TERM));

    return charge_add(WRITE_BASE, charge_add(size, terms));
}

charge_units charge_patch(size_t old_bytes, size_t new_bytes, size_t term_count)
{
    return charge_add(charge_point_read(old_bytes), charge_write(new_bytes, term_count));
}

charge_units charge_delete(uint64_t count)
{
    return bounded(times(count, DELETE_EACH));
}

charge_units charge_of_query(const struct charge_query *work)
{
    charge_units sum = QUERY_BASE;

    sum = charge_add(sum, bounded(times(work->rows_visited, QUERY_PER_ROW)));
    sum = charge_add(sum, bounded(times(work->documents_loaded, QUERY_PER_DOCUMENT)));
    sum = charge_add(sum, bounded(times(kilobytes(work->bytes_loaded), QUERY_PER_KB)));
    return charge_add(sum, bounded(times(kilobytes(work->bytes_out), QUERY_PER_KB)));
}
