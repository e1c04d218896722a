/* Fuzz: reading stored rows. Whatever the bytes are, decoding must stay inside them, and what it accepts
 * must be written back as the same bytes. The first byte chooses the kind of row. */
#include <stdlib.h>

#include "engine/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static void check_stamp(bytes value, const struct stamp *stamp)
{
    uint8_t again[ROW_STAMP_BYTES_MAX];
    size_t len = row_stamp_len(stamp);

    need(len <= value.len && len <= sizeof(again));
    row_write_stamp(again, stamp);
    need(bytes_equal(bytes_of(again, len), bytes_of(value.data, len)));
    (void)expiry_order(stamp);
}

static void fuzz_rows(bytes value)
{
    struct stamp stamp;
    struct row_body body;
    uint64_t birth;
    size_t values_len;

    if (row_read_locator(value, &stamp, &birth))
        check_stamp(value, &stamp);
    if (row_read_index(value, &stamp, &values_len))
        check_stamp(value, &stamp);
    if (row_read_body(value, &body))
        check_stamp(bytes_from(value, 2), &body.stamp);
}

static void fuzz_keys(struct arena *arena, bytes key)
{
    uint8_t slot[ROW_SLOT_BYTES];
    unsigned lane;
    int64_t number;
    uint64_t seq;
    uint32_t id;
    bytes rest, name;

    (void)row_read_database(key, &id, &rest);
    if (row_slot_of(key, &lane, &number, &seq))
        row_key_slot(slot, lane, number, seq);
    (void)row_slice_of(key, &lane, &number);
    (void)row_id_of(key, &id);
    (void)row_index_id_of(key, &id, &rest);
    struct row_backlog backlog;
    if (row_read_backlog(key, &backlog))
        need(backlog.key.len > 0 && backlog.key.len < key.len);
    if (key.len > 0 && row_database_name(arena, key, &name).code == OK)
        need(name.len <= key.len);
}

static void fuzz_catalog(struct arena *arena, bytes value)
{
    struct collection collection;
    struct buffer again = buffer_in(arena);
    struct row_state state;
    bytes written;

    struct collations *collations;

    if (collations_open(&collations).code != OK)
        return;
    if (row_read_collection(arena, collations, value, &collection).code == OK) {
        row_write_collection(&again, &collection);
        need(buffer_finish(&again, &written).code != OK || written.len == value.len);
    }
    (void)row_read_state(value, &state);
    collations_close(collations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);

    if (size > 0 && arena) {
        bytes rest = bytes_of(data + 1, size - 1);
        if (data[0] % 3 == 0)
            fuzz_rows(rest);
        else if (data[0] % 3 == 1)
            fuzz_keys(arena, rest);
        else
            fuzz_catalog(arena, rest);
    }
    arena_close(arena);
    return 0;
}
