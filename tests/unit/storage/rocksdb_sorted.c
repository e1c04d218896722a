/* Tests of opened files: gets find the block of a document, whatever keys the file has. */
#include "storage/rocksdb_sorted.h"

#include <stdio.h>

#include "storage/rocksdb_graves.h"
#include "storage/rocksdb_raw.h"
#include "tests/unit/storage/fixture.h"

enum { NUMBERED = 3000, NUMBER_BYTES = 5 };

/* A key as those of documents are: a time, and a number; both seven bits in a byte, the eighth one set. */
static void key_of(char out[2 * NUMBER_BYTES + 1], unsigned time, unsigned number)
{
    for (int i = NUMBER_BYTES - 1; i >= 0; i--) {
        out[i] = (char)((time & 0x7F) | 0x80);
        out[NUMBER_BYTES + i] = (char)((number & 0x7F) | 0x80);
        time >>= 7;
        number >>= 7;
    }
    out[2 * NUMBER_BYTES] = '\0';
}

static void flush(struct fixture *f)
{
    struct rocksdb_storage *rocks = rocksdb_of(f->storage);
    rocksdb_flushoptions_t *options = rocksdb_flushoptions_create();
    char *error = NULL;

    rocksdb_flush_cf(rocks->db, options, rocks->spaces[SPACE_BODIES], &error);
    rocksdb_flushoptions_destroy(options);
    CHECK(error == NULL);
    for (int i = 0; i < 2; i++)
        graves_turn(rocks->shelves[SPACE_BODIES].graves);
}

struct spread {
    const char *why;
    unsigned per_time; /* documents */
    unsigned step;     /* between two numbers */
    unsigned jump;     /* once, in the middle */
};

static void spread_key(const struct spread *spread, unsigned n, char out[2 * NUMBER_BYTES + 1])
{
    key_of(out, 1000000 + n / spread->per_time * 1000,
           77 + n * spread->step + (n > NUMBERED / 2 ? spread->jump : 0));
}

/* Does the file tell the row by itself? */
static bool tells(struct fixture *f, struct storage_view *view, partition_id partition,
                  const char *text)
{
    struct storage_value got;
    struct full_key full;

    full_key_make(&full, partition, bytes_of_text(text));
    const bool is_there = raw_get(rocksdb_of(f->storage), (struct raw_view *)view,
                                  full_key_bytes(&full), &got);
    full_key_release(&full);
    if (is_there) {
        CHECK_EQ(got.value.data[0], 'a' + partition % 26, "");
        CHECK(raw_value_release(&got));
    }
    return is_there;
}

/* Keys are as long as those of documents are. */
static void long_key(unsigned n, char out[10 + 2 * NUMBER_BYTES + 1])
{
    memset(out, 0x81, 10);
    key_of(out + 10, 1000000, 77 + n);
}

static void check_shared_file(const partition_id *partitions, size_t count)
{
    enum { BEFORE = 100 }; /* until there is a list of the files RocksDB is asked */
    char key[10 + 2 * NUMBER_BYTES + 1], value[301];
    struct storage_view *view;
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (size_t i = 0; i < count; i++) {
        value[0] = (char)('a' + partitions[i] % 26);
        for (unsigned n = 0; n < NUMBERED; n++) {
            long_key(n, key);
            fixture_put(&f, (struct row_address){ partitions[i], SPACE_BODIES }, key, value);
        }
    }
    fixture_commit(&f);
    flush(&f);
    CHECK_OK(storage_view_open(f.storage, &view));
    long_key(0, key);
    for (unsigned i = 0; i < BEFORE; i++)
        (void)tells(&f, view, partitions[0], key);
    for (size_t i = 0; i < count; i++) {
        for (unsigned n = 0; n < NUMBERED; n++) {
            long_key(n, key);
            CHECK_THAT(tells(&f, view, partitions[i], key), "partition %zu, document %u", i, n);
        }
        long_key(NUMBERED, key);
        CHECK(!tells(&f, view, partitions[i], key));
    }
    storage_view_close(f.storage, view);
    fixture_close(&f);
}

TEST(storage, rocksdb_every_document_is_found_in_a_file_of_one_partition)
{
    check_shared_file((const partition_id[]){ 3 }, 1);
}

TEST(storage, rocksdb_every_document_is_found_in_a_file_that_partitions_share)
{
    check_shared_file((const partition_id[]){ 2, 3, 70000 }, 3);
}

TEST(storage, rocksdb_documents_are_found_in_files_however_their_numbers_are_spread)
{
    static const struct spread rows[] = {
        {"one time",              NUMBERED, 1,    0       },
        { "a few times",          700,      1,    0       },
        { "a time for each",      1,        1,    0       },
        { "many times",           40,       1,    0       },
        { "with gaps",            1000,     1000, 0       },
        { "a jump in the middle", NUMBERED, 1,    1000000 },
        { "one that is far",      NUMBERED, 3,    1U << 31},
    };
    char key[2 * NUMBER_BYTES + 1], value[301];

    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    EACH_ROW(rows, r) {
        struct storage_view *view;
        struct storage_value got;
        struct full_key full;
        struct fixture f;
        unsigned found = 0;

        fixture_open(&f, FIXTURE_ROCKSDB);
        for (unsigned n = 0; n < NUMBERED; n++) {
            spread_key(r, n, key);
            snprintf(value, sizeof(value), "%06u", n);
            value[6] = 'v';
            fixture_put(&f, fixture_at(SPACE_BODIES), key, value);
        }
        fixture_commit(&f);
        flush(&f);
        CHECK_OK(storage_view_open(f.storage, &view));
        for (unsigned n = 0; n < NUMBERED + 100; n++) {
            spread_key(r, n % NUMBERED * 7 % NUMBERED, key);
            full_key_make(&full, 7, bytes_of_text(key));
            const bytes wanted = full_key_bytes(&full);
            struct storage_value at_once = { 0 };
            raw_get_some(rocksdb_of(f.storage), (struct raw_view *)view, &wanted, 1, &at_once);
            if (raw_get(rocksdb_of(f.storage), (struct raw_view *)view, full_key_bytes(&full),
                        &got)) {
                snprintf(value, sizeof(value), "%06u", n % NUMBERED * 7 % NUMBERED);
                value[6] = 'v';
                CHECK_TEXT(got.value, value);
                /* The one that makes the list of files comes behind. */
                if (found > 0)
                    CHECK_BYTES(at_once.value, got.value, "");
                CHECK(raw_value_release(&got));
                storage_value_release(f.storage, &at_once);
                found++;
            }
            full_key_release(&full);
        }
        /* Until there is a list of the files RocksDB is asked. */
        CHECK_THAT(found >= NUMBERED, "%s: %u", r->why, found);
        storage_view_close(f.storage, view);
        fixture_close(&f);
    }
}
