/* Sifting by several threads gives what one thread gives: the same documents in the same order with the same
 * counts, whatever dies, fails, is written meanwhile or is given up. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { DOCUMENTS = 600 };

static void open_world(struct world *w, enum backing backing, unsigned helpers)
{
    world_prepare(w, backing);
    w->helpers = helpers;
    w->sift_alone = 10;
    CHECK_OK(world_start(w));
    CHECK_OK(database_create(w->engine, w->arena, BYTES_LITERAL("db"), BYTES_NONE));
    world_collection(w, "c", TTL_NEVER, "");
}

/* Documents of all kinds: some without an end, some that will be dead, some that were dead before they were
 * written again. RocksDB parts by files, makes one of what was written before each restart, and merges them if there
 * are four. */
static void fill(struct world *w, struct random *random, int count)
{
    for (int i = 0; i < count; i++) {
        int id = (int)random_below(random, DOCUMENTS), ttl = 1 + (int)random_below(random, 20);
        if (random_below(random, 3) == 0)
            CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'x':%d,'ttl':%d}", id, i, ttl), OK);
        else
            CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'x':%d,'text':'%*d'}", id, i,
                                       (int)random_below(random, 300), 7),
                          OK);
        if (random_below(random, 20) == 0)
            world_pass(w, 1000);
        if (w->backing == ON_ROCKSDB && i % (count / 3) == 0)
            world_crash(w);
    }
}

/* ---- tests ---------------------------------------------------------------------------------------------- */

struct wish {
    int64_t modulus, rest; /* of x */
    int64_t broken;        /* the x that cannot be judged; 0: none */
    _Atomic int open;      /* testers */
    _Atomic int answers;
    int patience; /* questions until it is enough; 0: for ever */
    _Atomic bool is_done;
};

static status open_tester(void *context, void **out)
{
    struct wish *wish = context;

    *out = wish;
    atomic_fetch_add(&wish->open, 1);
    return STATUS_OK;
}

static void close_tester(void *tester)
{
    atomic_fetch_sub(&((struct wish *)tester)->open, 1);
}

static int64_t x_of(bytes document)
{
    struct value value;
    int64_t x = -1;

    CHECK(document_find(document, "x", &value));
    CHECK(value_as_int64(value, &x));
    return x;
}

static status judge(void *tester, const struct document *document, bool *out)
{
    struct wish *wish = tester;
    int64_t x = x_of(document->bson);

    atomic_fetch_add(&wish->answers, 1);
    *out = x % wish->modulus == wish->rest;
    return wish->broken && x == wish->broken ? status_of(INVALID, "that one cannot be judged")
                                             : STATUS_OK;
}

static status go_on(void *context)
{
    struct wish *wish = context;

    return wish->patience && --wish->patience == 0 ? status_of(BUSY, "it took too long")
                                                   : STATUS_OK;
}

static struct sift *open_sift(struct request *request, struct wish *wish)
{
    const struct sift_spec spec = {
        .request = request,
        .collection = world_find(request, "c"),
        .test = {.open = open_tester, .judge = judge, .close = close_tester, .context = wish},
        .go_on = go_on,
        .context = wish,
    };
    struct sift *sift;

    CHECK_OK(sift_open(&spec, &sift));
    return sift;
}

/* ---- what comes ------------------------------------------------------------------------------------------- */

/* Every document that passes with its counts, then those of the end, and how it ended. */
static const char *sifted(struct world *w, struct request *request, struct wish *wish, int most)
{
    struct sift *sift = open_sift(request, wish);
    struct buffer text = buffer_in(w->arena);
    struct document document;
    bool has_document = true;
    status s = STATUS_OK;

    for (int given = 0; s.code == OK && has_document && given < most; given++) {
        s = sift_next(sift, &document, &has_document);
        struct sift_seen seen = sift_seen(sift);
        if (s.code == OK && has_document)
            buffer_append_format(&text, "%d:%d", world_id_of(document.bson),
                                 (int)x_of(document.bson));
        if (s.code == OK)
            buffer_append_format(&text, "(%d %d) ", (int)seen.documents, (int)seen.bytes);
    }
    sift_close(sift);
    buffer_append_text(&text, s.code == OK ? "" : s.message);
    buffer_append_byte(&text, 0);
    CHECK_EQ(atomic_load(&wish->open), 0, "testers are left");
    return (const char *)text.data;
}

/* The same by a scan of one thread. */
static const char *scanned(struct world *w, struct request *request, const struct wish *wish)
{
    struct buffer text = buffer_in(w->arena);
    struct scan *scan;
    struct scan_row row;
    struct document document;
    int count = 0, size = 0;

    CHECK_OK(scan_open_slots(request, world_find(request, "c"), &scan));
    while (scan_next(scan, &row)) {
        CHECK_OK(scan_document(scan, &document));
        count++;
        size += (int)document.bson.len;
        if (x_of(document.bson) % wish->modulus == wish->rest)
            buffer_append_format(&text, "%d:%d(%d %d) ", world_id_of(document.bson),
                                 (int)x_of(document.bson), count, size);
        document_release(request, &document);
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    buffer_append_format(&text, "(%d %d) ", count, size);
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

static void check_random(enum backing backing, uint64_t seed)
{
    struct random random = random_seeded(seed);
    struct world w;

    open_world(&w, backing, 1 + (unsigned)random_below(&random, 4));
    fill(&w, &random, 600);
    for (int i = 0; i < 8; i++) {
        struct wish wish = { .modulus = 1 + (int64_t)random_below(&random, 30) };
        struct request request = world_begin(&w);
        CHECK_STRING(sifted(&w, &request, &wish, INT32_MAX), scanned(&w, &request, &wish));
        world_end(&request);
        world_pass(&w, (int64_t)random_below(&random, 5000));
    }
    world_close(&w);
}

TEST(sift, many_threads_give_what_one_gives)
{
    EACH_SEED(seed, 4)
        check_random(ON_MEMORY, seed);
    check_random(ON_ROCKSDB, 77);
}

static void check_help(enum backing backing, void (*fill_world)(struct world *w))
{
    struct world w;
    struct wish wish = { .modulus = 1000000, .rest = 1 };
    int helped = 0;

    open_world(&w, backing, 3);
    fill_world(&w);
    /* Whether somebody is free in time is up to the machine. */
    for (int i = 0; i < 1000 && helped == 0; i++) {
        struct request request = world_begin(&w);
        struct sift *sift = open_sift(&request, &wish);
        struct document document;
        bool has_document;
        CHECK_OK(sift_next(sift, &document, &has_document));
        helped = atomic_load(&wish.open) - 1;
        sift_close(sift);
        world_end(&request);
    }
    CHECK_THAT(helped > 0, "nobody ever helps on %s", backing_name(backing));
    world_close(&w);
}

static void fill_files(struct world *w)
{
    struct random random = random_seeded(5);

    fill(w, &random, 600);
}

TEST(sift, helpers_do_take_part)
{
    EACH_BACKING(backing)
    check_help(backing, fill_files);
}

/* Then the storage knows no borders. */
static void fill_memory(struct world *w)
{
    for (int i = 0; i < 100; i++) {
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'x':0}", i), OK);
        world_pass(w, 1000);
    }
}

TEST(sift, what_lies_in_one_place_is_shared_too)
{
    check_help(ON_ROCKSDB, fill_memory);
}

/* The youngest file holds nothing but what was deleted, and begins behind all that there is. */
static void fill_and_delete(struct world *w)
{
    for (int i = 0; i < 100; i++) {
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'x':%d}", i, i), OK);
        world_pass(w, 1000);
        if (i == 60)
            world_crash(w);
    }
    world_crash(w);
    for (int i = 70; i < 100; i++)
        CHECK_WRITTEN(world_delete(w, "c", "{'_id':%d}", i), OK);
    world_crash(w);
}

TEST(sift, documents_come_once_although_files_begin_behind_the_last)
{
    struct wish wish = { .modulus = 1 };
    struct world w;

    open_world(&w, ON_ROCKSDB, 3);
    fill_and_delete(&w);
    struct request request = world_begin(&w);
    CHECK_STRING(sifted(&w, &request, &wish, INT32_MAX), scanned(&w, &request, &wish));
    world_end(&request);
    world_close(&w);
}

TEST(sift, whoever_has_enough_leaves_early)
{
    struct random random = random_seeded(6);
    struct world w;

    open_world(&w, ON_MEMORY, 3);
    fill(&w, &random, 600);
    for (int most = 0; most < 40; most += 5) {
        struct wish wish = { .modulus = 2 };
        struct request request = world_begin(&w);
        const char *all = scanned(&w, &request, &wish);
        const char *some = sifted(&w, &request, &wish, most);
        CHECK_THAT(strncmp(all, some, strlen(some)) == 0, "%s does not begin with %s", all, some);
        world_end(&request);
    }
    world_close(&w);
}

TEST(sift, a_document_that_cannot_be_judged_ends_it_in_its_place)
{
    struct random random = random_seeded(7);
    struct world w;

    open_world(&w, ON_MEMORY, 3);
    fill(&w, &random, 600);
    for (int i = 0; i < 6; i++) {
        const struct wish every = { .modulus = 1 };
        struct wish wish = { .modulus = 3, .broken = 590 - i * 50 };
        struct request request = world_begin(&w);
        const char *place = arena_format(w.arena, ":%d(", 590 - i * 50);
        bool is_there = strstr(scanned(&w, &request, &every), place) != NULL;
        const char *all = scanned(&w, &request, &wish);
        const char *some = sifted(&w, &request, &wish, INT32_MAX);
        const char *end = strstr(some, "that one");
        size_t len = end ? (size_t)(end - some) : strlen(some);
        CHECK_THAT(strncmp(all, some, len) == 0, "%s is not the front of %s", some, all);
        CHECK_EQ(end != NULL, is_there, "");
        world_end(&request);
    }
    world_close(&w);
}

TEST(sift, it_ends_when_nobody_wants_to_go_on)
{
    struct random random = random_seeded(8);
    struct world w;

    open_world(&w, ON_MEMORY, 3);
    fill(&w, &random, 600);
    for (int patience = 1; patience < 4; patience++) {
        struct wish wish = { .modulus = 1000000, .rest = 1, .patience = patience };
        struct request request = world_begin(&w);
        const char *end = sifted(&w, &request, &wish, INT32_MAX);
        CHECK_THAT(strstr(end, "took too long") || wish.patience > 0, "%s", end);
        CHECK(patience > 1 || atomic_load(&wish.answers) == 0);
        world_end(&request);
    }
    world_close(&w);
}

TEST(sift, a_failing_storage_fails_it_cleanly_whichever_thread_meets_it)
{
    struct random random = random_seeded(9);
    struct world w;
    bool has_failed = true;

    open_world(&w, ON_MEMORY, 3);
    fill(&w, &random, 600);
    for (uint64_t nth = 1; has_failed; nth += 1 + nth / 6) {
        struct wish wish = { .modulus = 5 };
        struct request request = world_begin(&w);
        const char *all = scanned(&w, &request, &wish);
        CHECK_THAT(nth < 10000, "it never succeeds");
        storage_faulty_arm(w.storage, nth);
        const char *some = sifted(&w, &request, &wish, INT32_MAX);
        has_failed = storage_faulty_calls(w.storage) >= nth;
        storage_faulty_arm(w.storage, 0);
        const char *end = strstr(some, "injected");
        size_t len = end ? (size_t)(end - some) : strlen(all) + 1;
        CHECK_THAT(strncmp(all, some, len) == 0, "%s is not the front of %s", some, all);
        CHECK(has_failed || end == NULL);
        world_end(&request);
    }
    world_close(&w);
}

/* ---- beside writers ----------------------------------------------------------------------------------------- */

static void *write_on(void *owner)
{
    struct world *w = ((void **)owner)[0];
    struct wish *wish = ((void **)owner)[1];
    struct random random = random_seeded(10);

    while (!atomic_load(&wish->is_done)) {
        struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
        struct request request;
        CHECK_OK(request_begin(w->engine, arena, &request));
        struct write_op op = world_op(&request, "c", WRITE_UPSERT, "{'_id':%d,'x':%d}",
                                      (int)random_below(&random, DOCUMENTS), 5);
        CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
        request_end(&request);
        arena_close(arena);
    }
    return NULL;
}

TEST(sift, documents_that_move_meanwhile_come_once)
{
    struct wish wish = { .modulus = 1 };
    struct world w;
    void *both[2] = { &w, &wish };
    pthread_t writer;

    open_world(&w, ON_MEMORY, 3);
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':%d,'x':%d}", i, i), OK);
    CHECK_EQ(pthread_create(&writer, NULL, write_on, both), 0, "");
    for (size_t round = 0; round < check_scaled(10); round++) {
        bool is_seen[DOCUMENTS] = { 0 };
        int count = 0;
        bool has_document = true;
        struct request request = world_begin(&w);
        struct sift *sift = open_sift(&request, &wish);
        struct document document;
        for (;;) {
            CHECK_OK(sift_next(sift, &document, &has_document));
            if (!has_document)
                break;
            int id = world_id_of(document.bson);
            CHECK_THAT(!is_seen[id], "%d comes twice", id);
            is_seen[id] = true;
            count++;
        }
        sift_close(sift);
        world_end(&request);
        CHECK_EQ(count, DOCUMENTS, "");
    }
    atomic_store(&wish.is_done, true);
    CHECK_EQ(pthread_join(writer, NULL), 0, "");
    world_close(&w);
}
