/* Documents that leave memory and fresh files for nothing. While others are written, flushed and put together, too: random histories with one
 * thread that commits and one that gives space back. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "storage/directory.h"
#include "storage/rocksdb_backend.h"
#include "storage/rocksdb_compact.h"
#include "tests/unit/storage/fixture.h"

enum {
    ROUNDS = 24,
    PARTS = 6, /* of a round, each in a file of its own */
    DOCUMENTS = 40,
    DOCUMENT_BYTES = 1000,
    LIVING = 'l',
};

struct history {
    struct fixture f;
    struct random random;
    unsigned born;         /* of those who die */
    unsigned living_count; /* of the others */
    char horizon[16];      /* who dies is below it, or dead, or about to be born */
    pthread_mutex_t lock;  /* of that */
    _Atomic bool is_over;
};

/* What the document of that number says, behind its first byte; until the next call. */
static const char *text_of(unsigned number, int first)
{
    static char text[DOCUMENT_BYTES + 1];
    struct random random = random_seeded(number + 1);

    for (int i = 0; i < DOCUMENT_BYTES; i++)
        text[i] = (char)('a' + random_below(&random, 26));
    text[0] = (char)first;
    return text;
}

static void put(struct history *h, char lane, unsigned number, int first)
{
    char key[16];

    snprintf(key, sizeof(key), "%c%08u", lane, number);
    fixture_put(&h->f, fixture_at(SPACE_BODIES), key, text_of(number, first));
}

/* Those who die, those who stay, or both. */
static void write_part(struct history *h, int dying)
{
    const uint64_t who = random_below(&h->random, 3);

    for (int i = 0; i < DOCUMENTS; i++) {
        if (who != 0)
            put(h, 'a', h->born++, dying);
        if (who != 1)
            put(h, 'b', h->living_count++, LIVING);
    }
    fixture_commit(&h->f);
    if (random_chance(&h->random, 80))
        fixture_flush(&h->f, SPACE_BODIES);
    if (random_chance(&h->random, 5))
        fixture_compact(&h->f, SPACE_BODIES);
}

/* Whoever is born from then on lies behind the horizon. */
static void die(struct history *h, int dying)
{
    pthread_mutex_lock(&h->lock);
    snprintf(h->horizon, sizeof(h->horizon), "a%08u", h->born);
    pthread_mutex_unlock(&h->lock);
    atomic_store(&h->f.garbage_byte, dying);
    CHECK_OK(storage_drop_range(h->f.storage, fixture_at(SPACE_BODIES), BYTES_LITERAL("a"),
                                bytes_of_text(h->horizon)));
}

static void *give_back(void *argument)
{
    struct history *h = argument;
    struct random random = random_seeded(7);
    char horizon[16];
    bool has_rest;

    while (!atomic_load(&h->is_over)) {
        pthread_mutex_lock(&h->lock);
        memcpy(horizon, h->horizon, sizeof(horizon));
        pthread_mutex_unlock(&h->lock);
        CHECK_OK(storage_drop_fresh(h->f.storage, fixture_at(SPACE_BODIES), BYTES_LITERAL("a"),
                                    bytes_of_text(horizon), &has_rest));
        if (random_chance(&random, 10))
            CHECK_OK(storage_trim(h->f.storage));
    }
    return NULL;
}

static void check_living(struct history *h)
{
    const struct storage_range range = { .start = BYTES_LITERAL("b") };
    struct storage_scan *scan;
    bytes key, value;
    unsigned count = 0;

    CHECK_OK(storage_scan_open(h->f.storage, NULL, fixture_at(SPACE_BODIES), &range, &scan));
    for (; storage_scan_next(scan, &key, &value); count++) {
        char want[16];
        snprintf(want, sizeof(want), "b%08u", count);
        CHECK_TEXT(key, want);
        CHECK_TEXT(value, text_of(count, LIVING));
    }
    CHECK_OK(storage_scan_status(scan));
    storage_scan_close(scan);
    CHECK_EQ(count, h->living_count, "");
}

/* Of those who are about to die none is missing. */
static void check_dying(struct history *h, unsigned first, int dying)
{
    char key[16];

    for (unsigned i = first; i < h->born; i += 1 + (unsigned)random_below(&h->random, 10)) {
        snprintf(key, sizeof(key), "a%08u", i);
        CHECK_ROW(&h->f, NULL, fixture_at(SPACE_BODIES), key, text_of(i, dying));
    }
}

/* A file of the dead alone; RocksDB may just be moving it. */
static void check_leaving(struct history *h)
{
    enum { DYING = 'Z', TRIES = 10000 };
    bool has_rest;

    fixture_flush(&h->f, SPACE_BODIES);
    for (int i = 0; i < DOCUMENTS; i++)
        put(h, 'a', h->born++, DYING);
    fixture_commit(&h->f);
    fixture_flush(&h->f, SPACE_BODIES);
    const uint64_t most = directory_bytes(h->f.path, ".sst") - DOCUMENTS * DOCUMENT_BYTES / 2;
    for (int i = 0; i < TRIES && directory_bytes(h->f.path, ".sst") > most; i++) {
        die(h, DYING);
        CHECK_OK(storage_drop_fresh(h->f.storage, fixture_at(SPACE_BODIES), BYTES_LITERAL("a"),
                                    bytes_of_text(h->horizon), &has_rest));
        sched_yield();
    }
    CHECK(directory_bytes(h->f.path, ".sst") <= most);
}

static void run_history(uint64_t seed)
{
    struct history *h = memory_take_zeroed(1, sizeof(*h));
    pthread_t thread;

    CHECK(h != NULL);
    fixture_open(&h->f, FIXTURE_ROCKSDB);
    h->random = random_seeded(seed);
    snprintf(h->horizon, sizeof(h->horizon), "a");
    pthread_mutex_init(&h->lock, NULL);
    CHECK_EQ(pthread_create(&thread, NULL, give_back, h), 0, "");
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned first = h->born;
        const int dying = 'A' + round % 26;
        for (int part = 0; part < PARTS; part++)
            write_part(h, dying);
        check_dying(h, first, dying);
        die(h, dying);
        check_living(h);
    }
    atomic_store(&h->is_over, true);
    pthread_join(thread, NULL);
    check_leaving(h);
    fixture_reopen(&h->f);
    check_living(h);
    fixture_close(&h->f);
    pthread_mutex_destroy(&h->lock);
    memory_give(h);
}

TEST(storage, rocksdb_keeps_the_living_while_the_dead_leave_fresh_files)
{
    EACH_SEED(seed, 3)
        run_history(seed);
}

TEST(storage, rocksdb_documents_that_die_in_memory_leave_nothing_behind)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    for (int i = 0; i < 100; i++)
        fixture_put(&f, fixture_at(SPACE_BODIES), arena_format(f.arena, "%08d", i), "dead");
    fixture_commit(&f);
    const uint64_t before = directory_bytes(f.path, ".sst");
    atomic_store(&f.garbage_byte, 'd');
    fixture_flush(&f, SPACE_BODIES);
    CHECK_EQ(directory_bytes(f.path, ".sst"), before, "bytes");
    atomic_store(&f.garbage_byte, 0);
    CHECK_SCAN(&f, NULL, fixture_at(SPACE_BODIES), "", "", false, "");
    fixture_close(&f);
}

TEST(storage, rocksdb_tells_of_a_fresh_file_that_is_not_there_any_more)
{
    struct fixture f;

    fixture_open(&f, FIXTURE_ROCKSDB);
    const struct rocksdb_storage *rocks = rocksdb_of(f.storage);
    CHECK_EQ(rocksdb_compact_top_file(rocks->db, rocks->spaces[SPACE_BODIES], "/900001.sst"),
             FILE_BUSY, "");
    fixture_close(&f);
}
