/* RocksDB parting: where a range may be cut so that several threads can share it.
 *
 * RocksDB has cut it already: each file holds some megabytes and knows its first key. The first keys of all files
 * of the space, whatever their level, are the borders; what has not been flushed yet lies somewhere between them.
 *
 * Threads: any. */
#include <stdlib.h>
#include <string.h>

#include "storage/rocksdb_backend.h"

/* Sorts, and leaves one of those that are equal. */
static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

static size_t sort_keys(bytes *keys, size_t count)
{
    size_t kept = 0;

    if (count > 1)
        qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !bytes_equal(keys[kept - 1], keys[i]))
            keys[kept++] = keys[i];
    }
    return kept;
}

/* The first keys of files that begin within the range, without their partition; borrowed from `files`. */
static size_t first_keys(const rocksdb_livefiles_t *files, const char *space, bytes start,
                         bytes end, bytes *out)
{
    const int file_count = rocksdb_livefiles_count(files);
    size_t count = 0;

    for (int i = 0; i < file_count; i++) {
        size_t len;
        const char *first = rocksdb_livefiles_smallestkey(files, i, &len);
        const bytes key = bytes_of(first, len);
        if (strcmp(rocksdb_livefiles_column_family_name(files, i), space) == 0 &&
            bytes_compare(key, start) > 0 && bytes_compare(key, end) < 0)
            out[count++] = full_key_rest(key);
    }
    return count;
}

static status share_out(const rocksdb_livefiles_t *files, const char *space, bytes start, bytes end,
                        size_t most, struct arena *arena, struct storage_parting *out)
{
    const int file_count = rocksdb_livefiles_count(files);
    bytes *keys;

    ASSERT(most >= 1);
    TRY(ARENA_NEW(arena, (size_t)file_count + 1, &keys));
    const size_t count = sort_keys(keys, first_keys(files, space, start, end, keys));
    const size_t step = count > most ? (count + most - 1) / most : 1;
    for (size_t i = step - 1; i < count; i += step)
        TRY(arena_copy(arena, keys[i], &out->keys[out->count++]));
    return STATUS_OK;
}

status rocks_part(struct storage *storage, struct row_address where,
                  const struct storage_range *range, size_t most, struct arena *arena,
                  struct storage_parting *out)
{
    struct rocksdb_storage *rocks = rocksdb_of(storage);
    const rocksdb_livefiles_t *files = rocksdb_livefiles(rocks->db);
    struct full_key start, end;

    full_key_make(&start, where.partition, range->start);
    full_key_make_end(&end, where.partition, range->end);
    const status s = share_out(files, rocksdb_space_names[where.space], full_key_bytes(&start),
                               full_key_bytes(&end), most, arena, out);
    full_key_release(&start);
    full_key_release(&end);
    rocksdb_livefiles_destroy(files);
    return s;
}
