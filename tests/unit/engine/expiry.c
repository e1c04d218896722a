/* Documents that die on time: the collection's default and the document's own ttl, on a whole engine.
 * Times are milliseconds after the world's start. */
#include "tests/support/world.h"

TEST(expiry, b2_a_document_is_dead_at_its_deadline)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':7}"), OK);
        CHECK_LIVING(&w, "c", "1");
        world_at(&w, 9999);
        CHECK_LIVING(&w, "c", "1");
        world_at(&w, 10000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(expiry, b2_every_document_has_its_own_last_moment)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 3, "x: x");
        for (int i = 0; i < 4; i++) {
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, -i), OK);
            world_pass(&w, 1000);
        }
        world_at(&w, 4999);
        CHECK_LIVING(&w, "c", "2 3");
        CHECK_SCAN(&w, "c", "x", "3 2");
        world_at(&w, 5000);
        CHECK_LIVING(&w, "c", "3");
        world_at(&w, 5999);
        CHECK_LIVING(&w, "c", "3");
        world_at(&w, 6000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(expiry, c4_the_matrix_holds_in_the_engine)
{
    const struct {
        const char *why;
        int32_t dflt;
        const char *at_4999, *at_5000, *at_9000, *much_later;
    } rows[] = {
  /* document 1 has no ttl, 2 has -1, 3 has 5, 4 has 20 */
        {"off", TTL_OFF,   "1 2 3 4", "1 2 3 4", "1 2 3 4", "1 2 3 4"},
        { "-1", TTL_NEVER, "1 2 3 4", "1 2 4",   "1 2 4",   "1 2"    },
        { "9",  9,         "1 2 3 4", "1 2 4",   "2 4",     "2"      },
    };
    EACH_BACKING(backing)
    {
        EACH_ROW(rows, r) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", r->dflt, "x: x");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':-1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'ttl':5}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'ttl':20}"), OK);
            world_at(&w, 4999);
            CHECK_LIVING(&w, "c", r->at_4999);
            world_at(&w, 5000);
            CHECK_LIVING(&w, "c", r->at_5000);
            world_at(&w, 9000);
            CHECK_LIVING(&w, "c", r->at_9000);
            world_at(&w, 86400000);
            CHECK_LIVING(&w, "c", r->much_later);
            world_close(&w);
        }
    }
}

TEST(expiry, c1_a_write_sets_whole_seconds_and_a_read_does_not_touch_them)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    world_at(&w, 1999);
    const struct written first = world_insert(&w, "c", "{'_id':1}");
    CHECK_EQ(first.written_at_s, WORLD_START_S + 1, "rounded down");
    world_at(&w, 5000);
    CHECK_EQ(world_read(&w, "c", "{'_id':1}").written_at_s, WORLD_START_S + 1, "");
    CHECK_EQ(world_replace(&w, "c", "{'_id':1}").written_at_s, WORLD_START_S + 5, "replace");
    world_at(&w, 6000);
    CHECK_EQ(world_upsert(&w, "c", "{'_id':1}").written_at_s, WORLD_START_S + 6, "upsert");
    CHECK_EQ(world_read(&w, "c", "{'_id':1}").written_at_s, WORLD_START_S + 6, "");
    world_close(&w);
}

TEST(expiry, c5_the_deadline_counts_from_the_whole_second_of_the_write)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_NEVER, "");
        world_at(&w, 1999);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'ttl':2}"), OK);
        world_at(&w, 2999);
        CHECK_LIVING(&w, "c", "1");
        world_at(&w, 3000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(expiry, c5_the_largest_ttl_lasts_68_years)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 2147483647, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':2147483647}"), OK);
    world_at(&w, 2147483646999);
    CHECK_LIVING(&w, "c", "1 2");
    world_at(&w, 2147483647000);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

TEST(expiry, c6_every_write_restarts_the_countdown)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        for (int i = 1; i <= 3; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
        world_at(&w, 9999);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':2}"), OK);
        world_at(&w, 10000);
        CHECK_LIVING(&w, "c", "1 2");
        world_at(&w, 18999);
        CHECK_LIVING(&w, "c", "1 2");
        world_at(&w, 19000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(expiry, c6_changing_or_removing_the_own_ttl_is_a_write_like_any_other)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        for (int i = 1; i <= 4; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'ttl':30}", i), OK);
        world_at(&w, 5000);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'ttl':2}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'ttl':-1}"), OK);
        world_at(&w, 7000);
        CHECK_LIVING(&w, "c", "1 3 4");
        world_at(&w, 15000);
        CHECK_LIVING(&w, "c", "3 4");
        world_at(&w, 30000);
        CHECK_LIVING(&w, "c", "3");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'ttl':1}"), OK);
        world_at(&w, 31000);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(expiry, c7_off_stops_expiry_and_on_counts_from_each_write_again)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':20}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'ttl':-1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'ttl':1000}"), OK);
        world_at(&w, 5000);
        CHECK_OK(world_set_ttl(&w, "c", TTL_OFF));
        world_at(&w, 100000);
        CHECK_LIVING(&w, "c", "1 2 3 4");
        CHECK_EQ(world_read(&w, "c", "{'_id':2}").own_ttl, 20, "the field stays stored");

        CHECK_OK(world_set_ttl(&w, "c", TTL_NEVER));
        CHECK_LIVING(&w, "c", "1 3 4");
        CHECK_OK(world_set_ttl(&w, "c", 200));
        CHECK_LIVING(&w, "c", "1 3 4");
        world_at(&w, 200000);
        CHECK_LIVING(&w, "c", "3 4");
        world_at(&w, 1000000);
        CHECK_LIVING(&w, "c", "3");
        world_close(&w);
    }
}

TEST(expiry, b3_a_request_keeps_its_one_now)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "x: x");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':1}"), OK);
        world_at(&w, 9999);
        struct request old = world_begin(&w);
        world_at(&w, 10000);

        struct document document;
        const struct collection *c = world_find(&old, "c");
        CHECK_EQ(old.now, WORLD_START + 9999, "");
        CHECK_OK(document_read(&old, c, world_key(&old, c, "{'_id':1}"), &document));
        document_release(&old, &document);
        CHECK_STRING(world_scan_in(&old, "c", "key"), "1");
        CHECK_STRING(world_scan_in(&old, "c", "x"), "1");
        CHECK_STRING(world_scan_in(&old, "c", "slots"), "1");
        CHECK_LIVING(&w, "c", "");
        world_end(&old);
        world_close(&w);
    }
}

/* ---- B-4, with and without the purger having come by ------------------------------------------------ */

#define EACH_PURGING(is_purged) for (int is_purged = 0; is_purged < 2; is_purged++)

/* A collection whose document 1 is dead and whose document 2 lives. */
static struct written open_with_one_dead(struct world *w, enum backing backing, bool is_purged)
{
    world_open(w, backing);
    world_collection(w, "c", 10, "u: u unique; x: x");
    const struct written first = world_insert(w, "c", "{'_id':1,'u':1,'x':1}");
    CHECK_WRITTEN(first, OK);
    CHECK_WRITTEN(world_insert(w, "c", "{'_id':2,'u':2,'x':2,'ttl':-1}"), OK);
    world_at(w, 10000);
    if (is_purged)
        world_purge(w);
    return first;
}

TEST(expiry, b4_reading_and_changing_a_dead_document_answers_that_there_is_none)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            const struct written first = open_with_one_dead(&w, backing, is_purged);
            CHECK(!world_read(&w, "c", "{'_id':1}").is_there);
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':1}"), NOT_FOUND);
            CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), NOT_FOUND);
            CHECK_WRITTEN(world_write_if(&w, "c", WRITE_REPLACE, first.seq, "{'_id':1,'u':1}"),
                          NOT_FOUND);
            CHECK_WRITTEN(world_write_if(&w, "c", WRITE_DELETE, first.seq, "{'_id':1}"), NOT_FOUND);
            CHECK_LIVING(&w, "c", "2");
            world_close(&w);
        }
    }
}

TEST(expiry, b4_creating_over_a_dead_id_makes_a_new_document)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            const struct written first = open_with_one_dead(&w, backing, is_purged);
            const struct written again = world_insert(&w, "c", "{'_id':1,'u':5,'x':5}");
            CHECK_WRITTEN(again, OK);
            CHECK(!again.was_there);
            CHECK(again.birth_seq > first.seq);
            CHECK_EQ(again.birth_seq, again.seq, "its life begins with this write");
            CHECK_LIVING(&w, "c", "1 2");
            CHECK_SCAN(&w, "c", "x", "2 1");
            CHECK_WRITTEN(world_write_if(&w, "c", WRITE_REPLACE, first.seq, "{'_id':1,'u':5}"),
                          PRECONDITION);
            world_at(&w, 19999);
            CHECK_LIVING(&w, "c", "1 2");
            world_at(&w, 20000);
            CHECK_LIVING(&w, "c", "2");
            world_close(&w);
        }
    }
}

TEST(expiry, b4_an_upsert_over_a_dead_document_counts_as_an_insert)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            const struct written first = open_with_one_dead(&w, backing, is_purged);
            const struct written again = world_upsert(&w, "c", "{'_id':1,'u':1,'x':9}");
            CHECK_WRITTEN(again, OK);
            CHECK(!again.was_there);
            CHECK(again.birth_seq > first.seq);
            const struct written third = world_upsert(&w, "c", "{'_id':1,'u':1,'x':8}");
            CHECK(third.was_there);
            CHECK_EQ(third.birth_seq, again.birth_seq, "the same life");
            CHECK_LIVING(&w, "c", "1 2");
            world_close(&w);
        }
    }
}

TEST(expiry, b4_a_dead_document_holds_no_unique_key)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            open_with_one_dead(&w, backing, is_purged);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':2}"), DUPLICATE_KEY);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), DUPLICATE_KEY);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':7}"), OK);
            CHECK_LIVING(&w, "c", "1 2 3");
            world_close(&w);
        }
    }
}

TEST(expiry, b4_a_document_may_take_its_own_dead_key_again_and_move_on)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            open_with_one_dead(&w, backing, is_purged);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':3}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'u':1}"), OK);
            CHECK_SCAN(&w, "c", "u", "4 2 1");
            CHECK_LIVING(&w, "c", "1 2 4");
            world_close(&w);
        }
    }
}

TEST(expiry, b6_a_policy_change_holds_for_the_next_request_and_for_all_documents)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        for (int i = 0; i < 200; i++) {
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i % 7), OK);
            if (i % 20 == 19)
                world_pass(&w, 1000);
        }
        CHECK_OK(world_set_ttl(&w, "c", 5));
        CHECK_EQ(world_figures(&w, "c").documents, 80, "those of the last 4 s");
        CHECK_OK(world_set_ttl(&w, "c", 1));
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

static uint64_t calls_of_a_policy_change(int documents)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 1000, "x: x; at: at ttl=1000");
    for (int i = 0; i < documents; i++) {
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':1,'at':@%d}", i, i), OK);
        world_pass(&w, 10);
    }
    storage_faulty_arm(w.storage, 0);
    CHECK_OK(world_set_ttl(&w, "c", 2000));
    CHECK_OK(world_set_expiry(&w, "c", "at", 2000));
    CHECK_OK(world_date_rules(&w, false));
    const uint64_t calls = storage_faulty_calls(w.storage);
    world_close(&w);
    return calls;
}

TEST(expiry, b6_a_policy_change_costs_the_same_whatever_the_size)
{
    CHECK_EQ(calls_of_a_policy_change(400), calls_of_a_policy_change(4), "storage calls");
}

TEST(expiry, b6_a_running_request_finishes_with_the_policy_it_began_with)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
    world_at(&w, 10000);
    struct request old = world_begin(&w);
    CHECK_OK(world_set_ttl(&w, "c", 5));
    world_purge(&w);
    CHECK_STRING(world_scan_in(&old, "c", "key"), "1");
    CHECK_LIVING(&w, "c", "");
    world_end(&old);
    world_close(&w);
}

TEST(expiry, c13_a_ttl_inside_a_document_is_just_a_field)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'in':{'ttl':1},'list':[{'ttl':0}]}"), OK);
    world_at(&w, 9999);
    CHECK_LIVING(&w, "c", "1");
    world_at(&w, 10000);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

TEST(expiry, documents_of_one_collection_do_not_die_by_the_policy_of_another)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "a", 1, "");
    world_collection(&w, "b", 100, "");
    world_collection(&w, "c", TTL_OFF, "");
    const char *names[] = { "a", "b", "c" };
    EACH_ROW(names, name)
        CHECK_WRITTEN(world_insert(&w, *name, "{'_id':1}"), OK);
    world_at(&w, 50000);
    world_purge(&w);
    CHECK_LIVING(&w, "a", "");
    CHECK_LIVING(&w, "b", "1");
    CHECK_LIVING(&w, "c", "1");
    world_close(&w);
}

TEST(expiry, a_partitioned_collection_expires_in_every_partition_key)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection_parted(&w, "c", 10, "x: x", "pk");
        for (int i = 0; i < 6; i++)
            CHECK_WRITTEN(
                world_insert(&w, "c", "{'_id':%d,'pk':'p%d','ttl':%d}", i, i % 2, i < 3 ? 5 : 50),
                OK);
        world_at(&w, 5000);
        CHECK_LIVING(&w, "c", "3 4 5");
        CHECK(world_read(&w, "c", "{'_id':3,'pk':'p1'}").is_there);
        CHECK(!world_read(&w, "c", "{'_id':3,'pk':'p0'}").is_there);
        CHECK(!world_read(&w, "c", "{'_id':1,'pk':'p1'}").is_there);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "3 4 5");
        world_close(&w);
    }
}
