/* A storage of each kind for the tests of this room, with short words for the common steps. Keys and
 * values are C strings here; every failure ends the test. */
#ifndef TESTS_UNIT_STORAGE_FIXTURE_H
#define TESTS_UNIT_STORAGE_FIXTURE_H

#include "storage/storage.h"
#include "tests/check.h"

enum fixture_kind { FIXTURE_MEMORY, FIXTURE_ROCKSDB, FIXTURE_FAULTY };

struct fixture {
    enum fixture_kind kind;
    char path[256];
    struct log log;
    struct metrics metrics;
    struct arena *arena;
    struct storage_options options;
    struct storage *storage;
    struct storage_batch *batch;

    /* The sweeper of the fixture: values that begin with this byte are garbage. */
    _Atomic int garbage_byte; /* 0: the sweeper declines */
    _Atomic int sweeps_begun;
    _Atomic int sweeps_ended;
    _Atomic int rows_judged;
};

void fixture_open(struct fixture *f, enum fixture_kind kind);
void fixture_close(struct fixture *f);
/* Closes and opens the storage again; only for durable kinds. */
void fixture_reopen(struct fixture *f);

/* Partition 7 unless an address is given. */
struct row_address fixture_at(enum storage_space space);
void fixture_put(struct fixture *f, struct row_address where, const char *key, const char *value);
void fixture_delete(struct fixture *f, struct row_address where, const char *key);
void fixture_delete_range(struct fixture *f, struct row_address where, const char *start,
                          const char *end);
void fixture_add(struct fixture *f, const char *key, int64_t first, int64_t second);
/* Commits the batch and clears it. */
void fixture_commit(struct fixture *f);

/* Of RocksDB only. Writes what the space has in memory to a file, and what is known of late writes is told so; rewrites all
 * files of the space. */
void fixture_flush(struct fixture *f, enum storage_space space);
void fixture_compact(struct fixture *f, enum storage_space space);

/* Copies the files of an open database, which is what a killed process leaves behind. Files that appear meanwhile are not
 * known to it. */
void fixture_copy_files(const char *from, const char *to);
void fixture_open_image(struct fixture *f, const char *image, struct log log);

/* The row has this value; NULL: it is not there. */
#define CHECK_ROW(f, view, where, key, want) \
    fixture_check_row(__FILE__, __LINE__, (f), (view), (where), (key), (want))
void fixture_check_row(const char *file, int line, struct fixture *f, struct storage_view *view,
                       struct row_address where, const char *key, const char *want);

/* The scan gives exactly these rows: "a=1 b=2". */
#define CHECK_SCAN(f, view, where, start, end, is_reverse, want)                               \
    fixture_check_scan(__FILE__, __LINE__, (f), (view), (where), (start), (end), (is_reverse), \
                       (want))
void fixture_check_scan(const char *file, int line, struct fixture *f, struct storage_view *view,
                        struct row_address where, const char *start, const char *end,
                        bool is_reverse, const char *want);
/* What is left of a scan, in the same form; in the fixture's arena. */
const char *fixture_rest_of(struct fixture *f, struct storage_scan *scan);

/* Declares a fact that holds for every backend and a test of it for each. */
#define CONTRACT(name)                                 \
    static void contract_##name(struct fixture *f);    \
    TEST(storage, memory_##name)                       \
    {                                                  \
        fixture_run(FIXTURE_MEMORY, contract_##name);  \
    }                                                  \
    TEST(storage, rocksdb_##name)                      \
    {                                                  \
        fixture_run(FIXTURE_ROCKSDB, contract_##name); \
    }                                                  \
    TEST(storage, faulty_##name)                       \
    {                                                  \
        fixture_run(FIXTURE_FAULTY, contract_##name);  \
    }                                                  \
    static void contract_##name(struct fixture *f)
void fixture_run(enum fixture_kind kind, void (*contract)(struct fixture *f));

#endif
