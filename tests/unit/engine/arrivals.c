/* Indexes by arrival: the order in which documents came, and what leaves a bounded collection. */
#include <pthread.h>
#include <stdio.h>

#include "tests/support/world.h"

TEST(arrivals, documents_keep_the_place_at_which_they_came)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "came: arrivals");
        static const int ids[] = { 5, 3, 9, 1, 7 };
        EACH_ROW(ids, id)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", *id), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':5,'longer':'xxxxxxxxxxxx'}"), OK);
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':9,'x':1}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':3}"), OK);
        CHECK_SCAN(&w, "c", "came", "5 9 1 7");
        CHECK_SCAN(&w, "c", "-came", "7 1 9 5");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), OK);
        CHECK_SCAN(&w, "c", "came", "5 9 1 7 3");
        world_restart(&w);
        CHECK_SCAN(&w, "c", "came", "5 9 1 7 3");
        world_close(&w);
    }
}

TEST(arrivals, an_index_that_is_built_later_has_the_same_order)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int id = 20; id > 0; id--)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", id), OK);
    CHECK_WRITTEN(world_replace(&w, "c", "{'_id':20,'x':1}"), OK);
    world_index_built(&w, "c", "came: arrivals");
    CHECK_SCAN(&w, "c", "came", "20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3 2 1");
    CHECK_CODE(world_index(&w, "c", "again: arrivals"), EXISTS);
    CHECK_CODE(world_index(&w, "c", "field: arrivals a"), EXISTS);
    world_close(&w);
}

TEST(arrivals, what_came_first_leaves_when_there_are_too_many)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "came: arrivals keep=3; n: n");
        for (int id = 9; id > 4; id--)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':1}", id), OK);
        CHECK_LIVING(&w, "c", "5 6 7");
        CHECK_SCAN(&w, "c", "came", "7 6 5");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':7,'n':2}"), OK);
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':6,'n':2}"), OK);
        CHECK_LIVING(&w, "c", "5 6 7");
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':1,'n':1}"), OK);
        CHECK_LIVING(&w, "c", "1 5 6");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'n':1}"), EXISTS);
        CHECK_LIVING(&w, "c", "1 5 6");
        world_crash(&w);
        CHECK_SCAN(&w, "c", "came", "6 5 1");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        CHECK_LIVING(&w, "c", "1 2 5");
        world_close(&w);
    }
}

TEST(arrivals, bytes_are_bounded_too)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keepbytes=200");
    for (int id = 1; id <= 20; id++) {
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'t':'%0*d'}", id, id * 5, 0), OK);
        CHECK_THAT(world_figures(&w, "c").bytes <= 200, "after %d", id);
        CHECK(world_has(&w, "c", id));
    }
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':21,'t':'%0200d'}", 0), TOO_LARGE);
    CHECK(world_has(&w, "c", 20));
    world_close(&w);
}

TEST(arrivals, a_write_that_brings_too_much_keeps_the_last)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=3");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':100}"), OK);
    struct request request = world_begin(&w);
    struct write_op ops[6];
    for (int i = 0; i < 6; i++)
        ops[i] = world_op(&request, "c", WRITE_INSERT, "{'_id':%d}", i == 3 ? 1 : i);
    CHECK_OK(document_write(&request, ops, 6, WRITE_EACH));
    CHECK_CODE(ops[3].outcome, EXISTS);
    world_end(&request);
    CHECK_SCAN(&w, "c", "came", "2 4 5");
    CHECK_LIVING(&w, "c", "2 4 5");
    request = world_begin(&w);
    ops[0] = world_op(&request, "c", WRITE_DELETE, "{'_id':2}");
    ops[1] = world_op(&request, "c", WRITE_INSERT, "{'_id':6}");
    CHECK_OK(document_write(&request, ops, 2, WRITE_ALL_OR_NOTHING));
    world_end(&request);
    CHECK_LIVING(&w, "c", "4 5 6");
    world_close(&w);
}

TEST(arrivals, the_dead_take_no_room)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=3; at: at ttl=10");
    for (int id = 1; id <= 3; id++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", id, id == 1 ? 100000 : 0), OK);
    world_pass(&w, 10000);
    CHECK_LIVING(&w, "c", "1");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5}"), OK);
    CHECK_LIVING(&w, "c", "1 4 5");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6}"), OK);
    CHECK_LIVING(&w, "c", "4 5 6");
    world_purge(&w);
    CHECK_LIVING(&w, "c", "4 5 6");
    world_close(&w);
}

TEST(arrivals, the_dead_of_a_default_that_was_taken_away_take_no_room)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "came: arrivals keep=3");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'ttl':1000}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), OK);
    world_pass(&w, 11000);
    CHECK_OK(world_set_ttl(&w, "c", TTL_OFF));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5}"), OK);
    CHECK_LIVING(&w, "c", "1 4 5");
    world_close(&w);
}

TEST(arrivals, changed_bounds_hold_for_the_next_that_comes)
{
    struct world w;
    struct index_change change = { .name = BYTES_LITERAL("came"),
                                   .sets_bounds = true,
                                   .keep_documents = 2 };

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=5");
    for (int id = 1; id <= 5; id++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", id), OK);
    CHECK_OK(index_change(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &change));
    CHECK_LIVING(&w, "c", "1 2 3 4 5");
    world_restart(&w);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6}"), OK);
    CHECK_LIVING(&w, "c", "5 6");
    world_close(&w);
}

TEST(arrivals, much_tighter_bounds_are_reached_over_several_writes)
{
    struct index_change change = { .name = BYTES_LITERAL("came"),
                                   .sets_bounds = true,
                                   .keep_documents = 2 };
    enum { MANY = 2500, BATCH = 500 };
    struct write_op ops[BATCH];
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=5000; n: n");
    for (int first = 1; first <= MANY; first += BATCH) {
        struct request request = world_begin(&w);
        for (int i = 0; i < BATCH; i++)
            ops[i] = world_op(&request, "c", WRITE_INSERT, "{'_id':%d,'n':1}", first + i);
        CHECK_OK(document_write(&request, ops, BATCH, WRITE_ALL_OR_NOTHING));
        world_end(&request);
    }
    CHECK_OK(index_change(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &change));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3001}"), OK);
    CHECK_EQ(world_figures(&w, "c").documents, MANY + 1 - 1001, "a piece of it");
    CHECK(world_has(&w, "c", 3001));
    CHECK(!world_has(&w, "c", 1001));
    CHECK(world_has(&w, "c", 1002));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3002}"), OK);
    CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':2500,'n':2}"), OK);
    CHECK_EQ(world_figures(&w, "c").documents, MANY + 2 - 2002, "a change makes nothing leave");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3003}"), OK);
    CHECK_SCAN(&w, "c", "came", "3002 3003");
    world_close(&w);
}

TEST(arrivals, a_document_that_is_changed_in_the_same_write_leaves_in_its_turn)
{
    struct write_op ops[3];
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=3; n: n");
    for (int id = 1; id <= 3; id++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':1}", id), OK);
    struct request request = world_begin(&w);
    ops[0] = world_op(&request, "c", WRITE_REPLACE, "{'_id':1,'n':2}");
    ops[1] = world_op(&request, "c", WRITE_INSERT, "{'_id':4}");
    ops[2] = world_op(&request, "c", WRITE_INSERT, "{'_id':5}");
    CHECK_OK(document_write(&request, ops, 3, WRITE_ALL_OR_NOTHING));
    world_end(&request);
    CHECK_SCAN(&w, "c", "came", "3 4 5");
    CHECK_SCAN(&w, "c", "n", "4 5 3");
    CHECK_LIVING(&w, "c", "3 4 5");
    world_close(&w);
}

TEST(arrivals, several_writes_of_one_request_count_each_other)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=5");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
    world_index_built(&w, "c", "at: at ttl=1000"); /* older documents lie in another lane now */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
    struct request request = world_begin(&w);
    CHECK_STRING(world_scan_in(&request, "c", "came"), "1 2");
    for (int id = 3; id <= 9; id++) {
        struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':%d}", id);
        CHECK_OK(document_write(&request, &op, 1, WRITE_EACH));
    }
    world_end(&request);
    CHECK_LIVING(&w, "c", "5 6 7 8 9");
    world_close(&w);
}

enum { WRITERS = 4, EACH_WRITES = 150, KEPT = 20 };

struct writer {
    struct world *world;
    int number;
};

static void *write_many(void *context)
{
    const struct writer *writer = context;

    for (int i = 0; i < EACH_WRITES; i++) {
        struct arena *arena = arena_open(1024 * 1024);
        struct request request;
        const struct collection *collection;
        CHECK_OK(request_begin(writer->world->engine, arena, &request));
        CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &collection));
        char text[64];
        snprintf(text, sizeof(text), "{'_id':%d}", i * WRITERS + writer->number);
        bytes document = world_document(arena, text);
        struct write_op op = { .collection = collection,
                               .kind = WRITE_INSERT,
                               .document = document,
                               .own_ttl = TTL_ABSENT };
        op.key = world_id_key(&request, collection, i * WRITERS + writer->number);
        CHECK_OK(document_write(&request, &op, 1, WRITE_EACH));
        CHECK_OK(op.outcome);
        request_end(&request);
        arena_close(arena);
    }
    return NULL;
}

TEST(arrivals, many_writers_never_leave_too_many)
{
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "came: arrivals keep=20");
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ &w, i };
        CHECK(pthread_create(&threads[i], NULL, write_many, &writers[i]) == 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(world_figures(&w, "c").documents, KEPT, "");
    world_close(&w);
}
