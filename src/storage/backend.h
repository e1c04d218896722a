/* What a backend is: a table of functions behind storage.h. storage.c checks arguments and calls
 * through it; a backend puts `struct storage` first in its own struct and may trust what it gets:
 * ranges are not inside out, keys hold no NUL, values are not empty. Views and batches are whatever
 * the backend makes of them; a scan starts with `struct storage_scan`. */
#ifndef STORAGE_BACKEND_H
#define STORAGE_BACKEND_H

#include "storage/storage.h"

/* Of the memory backend: the batch lacks a row for want of memory, and its commit will say so. */
void memory_batch_fail(struct storage_batch *batch);

struct storage_backend {
    void (*close)(struct storage *storage);

    status (*view_open)(struct storage *storage, struct storage_view **out);
    void (*view_close)(struct storage *storage, struct storage_view *view);
    status (*get)(struct storage *storage, struct storage_view *view, struct row_address where,
                  bytes key, struct storage_value *out);
    void (*value_release)(struct storage *storage, struct storage_value *value);
    /* Some of the rows, all of which have no pin before; the others are got one by one. NULL: all of them. */
    void (*get_some)(struct storage *storage, struct storage_view *view, struct row_address where,
                     const bytes *keys, size_t count, struct storage_value *out);
    /* All are false before. NULL: nothing is known without a get. */
    void (*find_missing)(struct storage *storage, struct row_address where, const bytes *keys,
                         size_t count, struct arena *arena, bool *is_missing_out);

    status (*scan_open)(struct storage *storage, struct storage_view *view,
                        struct row_address where, const struct storage_range *range,
                        struct storage_scan **out);
    bool (*scan_next)(struct storage_scan *scan, bytes *key_out, bytes *value_out);
    void (*scan_seek)(struct storage_scan *scan, bytes key);
    status (*scan_status)(const struct storage_scan *scan);
    void (*scan_close)(struct storage_scan *scan);
    /* `out->keys` has room for `most`. NULL: ranges are never parted. */
    status (*part)(struct storage *storage, struct row_address where,
                   const struct storage_range *range, size_t most, struct arena *arena,
                   struct storage_parting *out);

    struct storage_batch *(*batch_open)(struct storage *storage);
    void (*batch_close)(struct storage *storage, struct storage_batch *batch);
    void (*batch_clear)(struct storage *storage, struct storage_batch *batch);
    size_t (*batch_bytes)(const struct storage *storage, const struct storage_batch *batch);
    void (*put)(struct storage *storage, struct storage_batch *batch, struct row_address where,
                bytes key, bytes value);
    void (*delete)(struct storage *storage, struct storage_batch *batch, struct row_address where,
                   bytes key);
    void (*delete_range)(struct storage *storage, struct storage_batch *batch,
                         struct row_address where, bytes start, bytes end);
    /* `delta` is encoded as the row is: 16 bytes. */
    void (*add)(struct storage *storage, struct storage_batch *batch, struct row_address where,
                bytes key, bytes delta);
    /* Guards have been checked. */
    status (*commit)(struct storage *storage, struct storage_batch *batch, struct arena *arena);

    status (*drop_range)(struct storage *storage, struct row_address where, bytes start, bytes end);
    /* NULL: a drop leaves nothing. */
    status (*drop_fresh)(struct storage *storage, struct row_address where, bytes start, bytes end,
                         bool *has_rest);
    status (*sweep)(struct storage *storage, partition_id partition, bytes start, bytes end);
    status (*settle)(struct storage *storage, partition_id partition);
    /* NULL: there is no log. */
    status (*trim)(struct storage *storage);
    void (*usage)(struct storage *storage, struct storage_usage *out);
    /* NULL: there are no files to link. */
    status (*checkpoint)(struct storage *storage, const char *path, struct arena *arena);
};

struct storage {
    const struct storage_backend *backend;
    unsigned capabilities;
};

struct storage_scan {
    const struct storage_backend *backend;
};

/* Two counters as 16 bytes. */
enum { COUNTERS_BYTES = 16 };
void storage_counters_encode(struct storage_counters counters, uint8_t out[COUNTERS_BYTES]);
/* Sums wrap around, so that they may be added up in any grouping. */
struct storage_counters storage_counters_sum(struct storage_counters a, struct storage_counters b);

#endif
