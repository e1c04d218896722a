/* Locators from memory: found as long as nothing was written, and never after. */
#include "tests/support/world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/recall.h"

/* ---- the table itself --------------------------------------------------------------------------------- */

struct bench {
    struct latches latches;
    struct recall *recall;
    struct collection collection;
};

static struct bench *bench_open(void)
{
    struct bench *bench = calloc(1, sizeof(*bench));

    CHECK(bench != NULL);
    latches_init(&bench->latches);
    bench->recall = recall_open();
    bench->collection = (struct collection){ .id = 7, .version = 1 };
    return bench;
}

static void bench_close(struct bench *bench)
{
    recall_close(bench->recall);
    latches_destroy(&bench->latches);
    free(bench);
}

static struct recall_question ask(struct bench *bench, const char *key)
{
    return recall_ask(&bench->latches, &bench->collection, bytes_of_text(key));
}

static void keep(struct bench *bench, const char *key, const char *value)
{
    struct recall_question question = ask(bench, key);

    recall_keep(bench->recall, &question, bytes_of_text(value));
}

static bool finds(struct bench *bench, const char *key, const char *value)
{
    struct recall_question question = ask(bench, key);
    uint8_t place[RECALL_BYTES];
    bytes found;
    bool is_found = recall_find(bench->recall, &question, place, &found);

    CHECK(!is_found || bytes_equal(found, bytes_of_text(value)));
    return is_found;
}

static struct latch_set latch_of(struct bench *bench, const char *key, uint16_t *stripe)
{
    *stripe = latch_stripe(ask(bench, key).hash);
    return (struct latch_set){ .stripes = stripe, .count = 1 };
}

TEST(recall, what_was_kept_is_found_for_its_key_collection_and_version_only)
{
    struct bench *bench = bench_open();

    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "where one lies");
    CHECK(finds(bench, "Lone", "where one lies"));
    CHECK(!finds(bench, "Lon", ""));
    CHECK(!finds(bench, "Lones", ""));
    bench->collection.version = 2;
    CHECK(!finds(bench, "Lone", ""));
    bench->collection = (struct collection){ .id = 8, .version = 1 };
    CHECK(!finds(bench, "Lone", ""));
    bench_close(bench);
}

TEST(recall, nothing_is_found_while_the_latch_is_held_nor_afterwards)
{
    struct bench *bench = bench_open();
    uint16_t stripe;
    struct latch_set latch = latch_of(bench, "Lone", &stripe);

    keep(bench, "Lone", "old");
    latch_set_take(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "seen by a reader while somebody writes");
    CHECK(!finds(bench, "Lone", ""));
    latch_set_give(&bench->latches, &latch);
    CHECK(!finds(bench, "Lone", ""));
    keep(bench, "Lone", "new");
    CHECK(finds(bench, "Lone", "new"));
    bench_close(bench);
}

TEST(recall, a_row_that_was_read_before_a_change_is_never_found)
{
    struct bench *bench = bench_open();
    uint16_t stripe;
    struct latch_set latch = latch_of(bench, "Lone", &stripe);
    struct recall_question early = ask(bench, "Lone");

    latch_set_take(&bench->latches, &latch);
    latch_set_give(&bench->latches, &latch);
    recall_keep(bench->recall, &early, BYTES_LITERAL("old"));
    CHECK(!finds(bench, "Lone", ""));
    bench_close(bench);
}

TEST(recall, rows_up_to_the_limit_are_kept_and_longer_ones_are_not)
{
    struct bench *bench = bench_open();
    char key[RECALL_BYTES + 2], value[RECALL_BYTES];

    memset(key, 'k', sizeof(key));
    memset(value, 'v', sizeof(value));
    key[100] = '\0';
    value[RECALL_BYTES - 100] = '\0';
    keep(bench, key, value);
    CHECK(finds(bench, key, value));
    key[50] = 'K';
    value[RECALL_BYTES - 100] = 'v';
    value[RECALL_BYTES - 99] = '\0';
    keep(bench, key, value);
    CHECK(!finds(bench, key, ""));
    key[100] = 'k';
    key[RECALL_BYTES + 1] = '\0';
    keep(bench, key, "");
    CHECK(!finds(bench, key, ""));
    bench_close(bench);
}

/* ---- in the engine ------------------------------------------------------------------------------------ */

/* Storage calls of one read. */
static uint64_t calls_of_read(struct world *w, const char *document, bool is_there)
{
    const uint64_t before = storage_faulty_calls(w->storage);

    CHECK_EQ(world_read(w, "c", "%s", document).is_there, is_there, "%s", document);
    return storage_faulty_calls(w->storage) - before;
}

TEST(recall, a_second_read_looks_up_the_body_alone)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 2, "");
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'x':2}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 2, "written since");
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "");
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", false), 1, "there is no locator");
        world_close(&w);
    }
}

TEST(recall, a_recalled_document_dies_at_its_deadline_and_by_a_new_policy)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 2, "");
        world_at(&w, 9999);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "");
        CHECK_OK(world_set_ttl(&w, "c", 20));
        world_at(&w, 10000);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 2, "another version of the collection");
        world_at(&w, 19999);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", true), 1, "");
        world_at(&w, 20000);
        CHECK_EQ(calls_of_read(&w, "{'_id':1}", false), 0, "its recalled stamp says it is dead");
        world_close(&w);
    }
}

/* ---- many threads ------------------------------------------------------------------------------------- */

enum { IDS = 3, READERS = 3 };

struct race {
    struct world w;
    _Atomic uint64_t acknowledged[IDS]; /* sequence numbers of writes that are over */
    _Atomic bool is_over;
};

static uint64_t read_seq(struct race *race, int id)
{
    char text[32];
    struct request request = world_begin(&race->w);
    const struct collection *c = world_find(&request, "c");
    struct document document;

    snprintf(text, sizeof(text), "{'_id':%d}", id);
    CHECK_OK(document_read(&request, c, world_key(&request, c, text), &document));
    const uint64_t seq = document.seq;
    document_release(&request, &document);
    world_end(&request);
    return seq;
}

/* What is read is never older than what was acknowledged, nor than what was read before. */
static void *keep_reading(void *owner)
{
    struct race *race = owner;
    uint64_t last[IDS] = { 0 };

    for (int i = 0; !atomic_load(&race->is_over); i = (i + 1) % IDS) {
        uint64_t floor = atomic_load(&race->acknowledged[i]);
        uint64_t seen = read_seq(race, i);
        CHECK(seen >= floor);
        CHECK(seen >= last[i]);
        last[i] = seen;
    }
    return NULL;
}

TEST(recall, readers_never_see_less_than_was_acknowledged)
{
    EACH_BACKING(backing)
    {
        static struct race race;
        pthread_t readers[READERS];

        memset(&race, 0, sizeof(race));
        world_open(&race.w, backing);
        world_collection(&race.w, "c", TTL_OFF, "");
        for (int id = 0; id < IDS; id++)
            CHECK_WRITTEN(world_insert(&race.w, "c", "{'_id':%d}", id), OK);
        for (int i = 0; i < READERS; i++)
            CHECK_EQ(pthread_create(&readers[i], NULL, keep_reading, &race), 0, "");
        for (size_t i = 0; i < check_scaled(1000); i++) {
            const struct written w = world_replace(&race.w, "c", "{'_id':%d}", (int)(i % IDS));
            CHECK_WRITTEN(w, OK);
            atomic_store(&race.acknowledged[i % IDS], w.seq);
        }
        atomic_store(&race.is_over, true);
        for (int i = 0; i < READERS; i++)
            pthread_join(readers[i], NULL);
        world_close(&race.w);
    }
}
