/* Hints: what is kept is found while the table grows, and a wrong one is never an answer. */
#include "engine/hints.h"

#include <pthread.h>
#include <stdio.h>

#include "engine/state.h"
#include "tests/support/world.h"

static struct stamp stamp_of(uint64_t n)
{
    return (struct stamp){ .lane = LANE_INHERITING,
                           .seq = n + 1,
                           .written_at_s = (int64_t)(1700000000 + n / 7),
                           .own_ttl = TTL_ABSENT };
}

static uint64_t hash_of(uint64_t n)
{
    return bytes_hash(bytes_of(&n, sizeof(n)), 3);
}

static bool finds(struct hints *hints, uint64_t n)
{
    const struct stamp stamp = stamp_of(n);
    struct hint hint;

    return hints_find(hints, hash_of(n), &hint) && hint.lane == stamp.lane &&
           hint.order == expiry_order(&stamp) && hint.seq == stamp.seq;
}

static uint64_t found_below(struct hints *hints, uint64_t count)
{
    uint64_t found = 0;

    for (uint64_t n = 0; n < count; n++)
        found += finds(hints, n);
    return found;
}

TEST(hints, are_found_whatever_the_table_has_grown_to)
{
    static const uint64_t counts[] = { 1, 100, 513, 5000, 77777, 300000 };

    for (size_t i = 0; i < ARRAY_COUNT(counts); i++) {
        struct hints *hints = hints_open(0);
        for (uint64_t n = 0; n < counts[i]; n++) {
            const struct stamp stamp = stamp_of(n);
            hints_keep(hints, hash_of(n), &stamp);
        }
        CHECK(found_below(hints, counts[i]) >= counts[i] - counts[i] / 256);
        CHECK(!finds(hints, counts[i] + 1));
        hints_close(hints);
    }
}

/* Of 3 million documents that are there at once nearly all are found; of as many that came and went, no more than usual. */
TEST(hints, have_room_for_as_many_documents_as_there_are_at_one_time)
{
    enum { DOCUMENTS = 3000000, EASY = 2 << 20 };
    static const struct {
        size_t bytes;
        int64_t expected;
        uint64_t least, most;
    } cases[] = {
        {(size_t)1 << 28,  DOCUMENTS, DOCUMENTS / 100 * 99, DOCUMENTS},
        { (size_t)1 << 28, 50000,     DOCUMENTS / 4,        EASY     },
        { (size_t)1 << 20, DOCUMENTS, DOCUMENTS / 100 * 97, DOCUMENTS},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct hints *hints = hints_open(cases[i].bytes);
        hints_expect(hints, cases[i].expected);
        for (uint64_t n = 0; n < DOCUMENTS; n++) {
            const struct stamp stamp = stamp_of(n);
            hints_keep(hints, hash_of(n), &stamp);
        }
        const uint64_t found = found_below(hints, DOCUMENTS);
        CHECK(found >= cases[i].least && found <= cases[i].most);
        hints_close(hints);
    }
}

TEST(hints, are_the_last_that_was_said_and_none_when_forgotten)
{
    struct hints *hints = hints_open(0);
    struct stamp stamp = stamp_of(1);
    struct hint hint;

    hints_keep(hints, hash_of(1), &stamp);
    stamp.seq = 99;
    hints_keep(hints, hash_of(1), &stamp);
    CHECK(hints_find(hints, hash_of(1), &hint));
    CHECK_EQ(hint.seq, 99, "");
    hints_forget(hints, hash_of(1));
    CHECK(!hints_find(hints, hash_of(1), &hint));
    hints_forget(hints, hash_of(1));
    hints_close(hints);
}

/* Dates may be anything; what does not fit is not kept. */
TEST(hints, of_orders_and_numbers_that_do_not_fit_are_not_kept)
{
    struct hints *hints = hints_open(0);
    struct stamp stamp = stamp_of(1);
    struct hint hint;

    stamp.seq = UINT64_C(1) << 48;
    hints_keep(hints, hash_of(1), &stamp);
    CHECK(!hints_find(hints, hash_of(1), &hint));
    stamp = stamp_of(1);
    stamp.written_at_s = -5;
    hints_keep(hints, hash_of(1), &stamp);
    CHECK(!hints_find(hints, hash_of(1), &hint));
    hints_close(hints);
}

/* ---- beside each other -------------------------------------------------------------------------------- */

enum { THREADS = 4, EACH = 60000 };

static void *keep_many(void *context)
{
    struct hints *hints = context;

    for (uint64_t n = 0; n < EACH; n++) {
        const struct stamp stamp = stamp_of(n);
        hints_keep(hints, hash_of(n), &stamp);
        if (n % 3 == 0)
            hints_forget(hints, hash_of(n / 2));
        finds(hints, n / 3);
    }
    return NULL;
}

TEST(hints, may_be_kept_found_and_forgotten_by_many_threads)
{
    struct hints *hints = hints_open(0);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, keep_many, hints), 0, "");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(found_below(hints, EACH) > EACH / 4);
    hints_close(hints);
}

/* ---- wrong ones --------------------------------------------------------------------------------------- */

enum { IDS = 12, PAST = 16, STEPS = 500, PAD_BYTES = 1000 };

/* The places that documents have had. */
struct past {
    struct stamp stamps[IDS][PAST];
    size_t count[IDS];
};

static bytes locator_of(struct request *request, const struct collection *collection, int id)
{
    struct buffer key = buffer_in(request->arena);
    bytes out;

    row_key_locator(&key, world_id_key(request, collection, id));
    CHECK_OK(buffer_finish(&key, &out));
    return out;
}

static void remember(struct world *w, struct past *past, int id)
{
    struct request request = world_begin(w);
    const struct collection *collection = world_find(&request, "c");
    struct stamp stamp;
    uint64_t birth;
    bool is_there;

    CHECK_OK(document_locate(&request, NULL, collection, locator_of(&request, collection, id),
                             &stamp, &birth, &is_there));
    stamp.dates = BYTES_NONE; /* there are no rules about dates here */
    if (is_there)
        past->stamps[id][past->count[id]++ % PAST] = stamp;
    world_end(&request);
}

/* Any place that this document or another one has ever had. */
static void mislead(struct world *w, struct random *random, const struct past *past)
{
    const int id = (int)random_below(random, IDS);
    const int of = random_chance(random, 80) ? id : (int)random_below(random, IDS);
    const size_t count = past->count[of] < PAST ? past->count[of] : PAST;
    struct request request = world_begin(w);
    const struct collection *collection = world_find(&request, "c");

    if (count > 0)
        hints_keep(w->engine->hints,
                   latch_hash_of_document(collection->id, locator_of(&request, collection, id)),
                   &past->stamps[of][random_below(random, count)]);
    world_end(&request);
}

/* What a read finds is what one at an instant of the storage finds, which asks the locator. */
static void compare(struct world *w, int id)
{
    struct request request = world_begin(w), seen = world_begin(w);
    struct document found, want;

    CHECK_OK(storage_view_open(seen.storage, &seen.view));
    const struct collection *collection = world_find(&request, "c");
    const status s = document_read(&request, collection, world_id_key(&request, collection, id),
                                   &found);
    const status wanted = document_read(&seen, world_find(&seen, "c"),
                                        world_id_key(&seen, collection, id), &want);
    CHECK_EQ(s.code, wanted.code, "document %d", id);
    if (s.code == OK) {
        CHECK_EQ(found.seq, want.seq, "document %d", id);
        CHECK_EQ(found.birth_seq, want.birth_seq, "document %d", id);
        CHECK_BYTES(found.bson, want.bson, "");
        document_release(&request, &found);
        document_release(&seen, &want);
    }
    world_end(&seen);
    world_end(&request);
}

static void write_one(struct world *w, struct random *random, struct past *past)
{
    static char pad[PAD_BYTES]; /* too long to be recalled */
    const int id = (int)random_below(random, IDS);

    memset(pad, 'x', sizeof(pad) - 1);
    if (random_chance(random, 25)) {
        const struct written written = world_delete(w, "c", "{'_id':%d}", id);
        CHECK(written.code == OK || written.code == NOT_FOUND);
        return;
    }
    CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'n':%u,'pad':'%s'%s}", id,
                               (unsigned)random_below(random, 1000), pad,
                               random_chance(random, 20) ? ",'ttl':3" : ""),
                  OK);
    remember(w, past, id);
}

static void step(struct world *w, struct random *random, struct past *past)
{
    static const int32_t ttls[] = { 5, 10, 1000, -1 };
    const uint64_t dice = random_below(random, 100);

    if (dice < 60)
        write_one(w, random, past);
    else if (dice < 80)
        world_pass(w, (int64_t)random_below(random, 3000));
    else if (dice < 92)
        world_purge(w);
    else if (dice < 96)
        CHECK_OK(world_set_ttl(w, "c", ttls[random_below(random, ARRAY_COUNT(ttls))]));
    else if (dice < 98)
        CHECK_OK(world_set_ttl(w, "c", TTL_OFF));
    else
        world_crash(w);
}

/* The bodies of the dead lie around, since lanes are cut by mark; so do those of former lives. */
TEST(hints, b4_that_are_wrong_are_never_an_answer)
{
    EACH_SEED(seed, 2) {
        EACH_BACKING(backing)
        {
            struct random random = random_seeded(seed);
            struct past past = { 0 };
            struct world w;

            world_prepare(&w, backing);
            w.mark_worth_bytes = 1;
            CHECK_OK(world_start(&w));
            CHECK_OK(database_create(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_NONE));
            world_collection(&w, "c", 10, "");
            for (int i = 0; i < STEPS; i++) {
                const arena_position mark = arena_mark(w.arena);
                step(&w, &random, &past);
                for (int k = 0; k < 4; k++)
                    mislead(&w, &random, &past);
                for (int id = 0; id < IDS; id++)
                    compare(&w, id);
                arena_release(w.arena, mark);
            }
            world_close(&w);
        }
    }
}

/* The locator is asked once; then the body is enough. */
TEST(hints, lead_to_documents_without_their_locators)
{
    EACH_BACKING(backing)
    {
        struct world w;

        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'n':1}"), OK);
        struct request request = world_begin(&w);
        const struct collection *collection = world_find(&request, "c");
        const uint64_t hash = latch_hash_of_document(collection->id,
                                                     locator_of(&request, collection, 1));
        struct hint hint;
        CHECK(hints_find(w.engine->hints, hash, &hint));
        hints_forget(w.engine->hints, hash);
        CHECK(world_has(&w, "c", 1));
        CHECK(hints_find(w.engine->hints, hash, &hint));
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
        CHECK(!hints_find(w.engine->hints, hash, &hint));
        CHECK(!world_has(&w, "c", 1));
        world_end(&request);
        world_close(&w);
    }
}
