/* TTL indexes on dates, on a whole engine. Times are milliseconds after the world's start; @N in a
 * document is that date. */
#include "tests/support/world.h"

#define EACH_PURGING(is_purged) for (int is_purged = 0; is_purged < 2; is_purged++)

static void purge_if(struct world *w, bool is_purged)
{
    if (is_purged)
        world_purge(w);
}

TEST(dates, m1_a_document_dies_at_its_date_plus_the_seconds_of_the_index)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@5123}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@5124}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@999999}"), OK);
            world_at(&w, 15122);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "1 2 3");
            world_at(&w, 15123);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2 3");
            world_at(&w, 15124);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3");
            world_close(&w);
        }
    }
}

TEST(dates, m1_zero_seconds_means_at_the_date_itself)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=0");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@2500}"), OK);
        world_at(&w, 2499);
        CHECK_LIVING(&w, "c", "1");
        world_at(&w, 2500);
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(dates, m2_of_several_dates_the_earliest_counts)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: a.at ttl=0");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':{'at':[@9000,@4000,@7000]}}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':[{'at':@9000},{'at':@5000}]}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'a':{'at':['x',7,@6000,null]}}"), OK);
            world_at(&w, 3999);
            CHECK_LIVING(&w, "c", "1 2 3");
            world_at(&w, 4000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2 3");
            world_at(&w, 5000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3");
            world_at(&w, 5999);
            CHECK_LIVING(&w, "c", "3");
            world_at(&w, 6000);
            CHECK_LIVING(&w, "c", "");
            world_close(&w);
        }
    }
}

TEST(dates, m3_no_date_no_death)
{
    const char *documents[] = {
        "{'_id':0}",
        "{'_id':1,'at':null}",
        "{'_id':2,'at':0}",
        "{'_id':3,'at':'2000-01-01T00:00:00Z'}",
        "{'_id':4,'at':{'$oid':'000000000000000000000000'}}",
        "{'_id':5,'at':{'$timestamp':{'t':1,'i':1}}}",
        "{'_id':6,'at':[]}",
        "{'_id':7,'at':[1,'x',null]}",
        "{'_id':8,'at':{'x':@0}}",
        "{'_id':9,'at':true}",
    };
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=0");
        EACH_ROW(documents, document)
            CHECK_WRITTEN(world_insert(&w, "c", "%s", *document), OK);
        world_at(&w, (int64_t)100 * 365 * 86400 * 1000);
        world_purge(&w);
        CHECK_LIVING(&w, "c", "0 1 2 3 4 5 6 7 8 9");
        world_close(&w);
    }
}

TEST(dates, m3_dates_before_1970_and_after_2038_behave_like_all_others)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=1");
            const char *date = "{'_id':%d,'at':{'$date':{'$numberLong':'%s'}}}";
            CHECK_WRITTEN(world_insert(&w, "c", date, 1, "-62135596800000"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", date, 2, "-9223372036854775808"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", date, 3, "9223372036854775807"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", date, 4, "9223372036854775000"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", date, 5, "2200000000000"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", date, 6, "-1"), OK);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3 4 5");
            world_at(&w, 2200000000999 - WORLD_START);
            CHECK_LIVING(&w, "c", "3 4 5");
            world_at(&w, 2200000001000 - WORLD_START);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3 4");
            world_close(&w);
        }
    }
}

TEST(dates, m1_the_largest_seconds_count_to_the_millisecond)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "at: at ttl=2147483647");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@5}"), OK);
    world_at(&w, 2147483647004);
    CHECK_LIVING(&w, "c", "1");
    world_at(&w, 2147483647005);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

TEST(dates, a_document_whose_date_is_past_is_gone_when_it_is_written)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=10; u: u unique");
            const struct written first = world_insert(&w, "c", "{'_id':1,'u':1,'at':@-10000}");
            CHECK_WRITTEN(first, OK);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1,'at':@-9999}"), OK);
            CHECK_LIVING(&w, "c", "1");
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':1,'at':@-10001}"), OK);
            CHECK_LIVING(&w, "c", "");
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'u':1,'at':@0}"), NOT_FOUND);
            world_close(&w);
        }
    }
}

TEST(dates, a_new_date_moves_the_deadline)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
        for (int i = 1; i <= 3; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@0}", i), OK);
        world_at(&w, 9999);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'at':@5000}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'at':@0,'touched':true}"), OK);
        world_at(&w, 10000);
        CHECK_LIVING(&w, "c", "1 2");
        world_purge(&w);
        CHECK_LIVING(&w, "c", "1 2");
        world_at(&w, 15000);
        CHECK_LIVING(&w, "c", "2");
        world_close(&w);
    }
}

TEST(dates, m4_switched_off_nothing_dies_and_nothing_is_purged_by_dates)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@5000}"), OK);
            world_at(&w, 10000);
            purge_if(&w, is_purged);
            CHECK_OK(world_date_rules(&w, false));
            CHECK_LIVING(&w, "c", "2");
            world_at(&w, 1000000);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@0}"), OK);
            world_purge(&w);
            CHECK_LIVING(&w, "c", "2 3");
            world_restart(&w);
            CHECK_LIVING(&w, "c", "2 3");
            CHECK_OK(world_date_rules(&w, true));
            CHECK_LIVING(&w, "c", "");
            world_close(&w);
        }
    }
}

TEST(dates, m4_off_and_on_does_not_touch_the_default_ttl)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", 10, "at: at ttl=100");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
    CHECK_OK(world_date_rules(&w, false));
    world_at(&w, 9999);
    CHECK_LIVING(&w, "c", "1");
    world_at(&w, 10000);
    CHECK_LIVING(&w, "c", "");
    world_close(&w);
}

TEST(dates, m4_an_index_made_while_dates_are_off_acts_when_they_are_on)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        CHECK_OK(world_date_rules(&w, false));
        world_collection(&w, "c", TTL_OFF, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@-5000}"), OK);
        world_index_built(&w, "c", "at: at ttl=1");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@-5000}"), OK);
        CHECK_LIVING(&w, "c", "1 2");
        world_restart(&w);
        CHECK_LIVING(&w, "c", "1 2");
        CHECK_OK(world_date_rules(&w, true));
        CHECK_LIVING(&w, "c", "");
        world_close(&w);
    }
}

TEST(dates, m5_an_index_acts_from_its_build_on_for_older_documents_too)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "x: x");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@-20000}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@5000}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':'never'}"), OK);
            CHECK_OK(world_index(&w, "c", "at: at ttl=10"));
            CHECK_LIVING(&w, "c", "1 2 3");
            CHECK_OK(engine_build_indexes(w.engine));
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2 3");
            world_at(&w, 14999);
            CHECK_LIVING(&w, "c", "2 3");
            world_at(&w, 15000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3");
            world_restart(&w);
            CHECK_LIVING(&w, "c", "3");
            world_close(&w);
        }
    }
}

TEST(dates, m9_the_first_of_several_indexes_to_fall_due_wins)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 100, "a: a ttl=10; b: b ttl=1");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':@0,'b':@20000}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':@10000,'b':@10000}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'a':@500000,'b':@500000}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'a':@500000,'ttl':-1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'b':@500000,'ttl':5}"), OK);
            world_at(&w, 5000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "1 2 3 4");
            world_at(&w, 10000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2 3 4");
            world_at(&w, 11000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3 4");
            world_at(&w, 100000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "4");
            world_at(&w, 509999);
            CHECK_LIVING(&w, "c", "4");
            world_at(&w, 510000);
            CHECK_LIVING(&w, "c", "");
            world_close(&w);
        }
    }
}

TEST(dates, m9_a_partial_index_expires_only_what_it_contains)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=10 where=temp");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0,'temp':1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@0}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@0,'temp':2}"), OK);
            world_at(&w, 10000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2 3");
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'at':@0,'temp':1}"), OK);
            CHECK_LIVING(&w, "c", "3");
            world_close(&w);
        }
    }
}

TEST(dates, m9_a_partial_index_leaves_older_documents_alone_that_it_does_not_contain)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0,'temp':1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@0}"), OK);
            world_index_built(&w, "c", "at: at ttl=10 where=temp");
            world_at(&w, 10000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2");
            world_restart(&w);
            CHECK_LIVING(&w, "c", "2");
            world_close(&w);
        }
    }
}

TEST(dates, m9_a_unique_date_is_free_again_when_its_holder_is_dead)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=10 unique sparse");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
            world_at(&w, 9999);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@0}"), DUPLICATE_KEY);
            world_at(&w, 10000);
            purge_if(&w, is_purged);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@0}"), OK);
            CHECK_LIVING(&w, "c", "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@5000}"), OK);
            CHECK_LIVING(&w, "c", "3");
            world_close(&w);
        }
    }
}

TEST(dates, m9_an_index_serves_scans_in_order_of_its_dates)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@3000}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@1000}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@2000}"), OK);
    CHECK_SCAN(&w, "c", "at", "2 3 1");
    CHECK_SCAN(&w, "c", "-at", "1 3 2");
    world_at(&w, 11000);
    CHECK_SCAN(&w, "c", "at", "3 1");
    world_close(&w);
}

TEST(dates, m12_changing_the_seconds_holds_at_once_for_everyone_still_alive)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=10");
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i * 1000), OK);
            world_at(&w, 12000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "3 4 5 6 7 8 9");
            CHECK_OK(world_set_expiry(&w, "c", "at", 5));
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "8 9");
            CHECK_OK(world_set_expiry(&w, "c", "at", 100));
            CHECK_LIVING(&w, "c", "8 9");
            world_at(&w, 107999);
            CHECK_LIVING(&w, "c", "8 9");
            world_at(&w, 108000);
            CHECK_LIVING(&w, "c", "9");
            world_close(&w);
        }
    }
}

TEST(dates, m12_a_plain_index_can_be_given_an_expiry_and_lose_it)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@8000}"), OK);
            world_at(&w, 12000);
            CHECK_OK(world_set_expiry(&w, "c", "at", 10));
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2");
            CHECK_OK(world_set_expiry(&w, "c", "at", INDEX_NO_EXPIRY));
            world_at(&w, 100000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@0}"), OK);
            CHECK_LIVING(&w, "c", "1 2");
            world_close(&w);
        }
    }
}

TEST(dates, a_default_ttl_and_a_date_may_change_places_as_the_policy_changes)
{
    EACH_BACKING(backing)
    {
        EACH_PURGING(is_purged)
        {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 1000, "at: at ttl=10");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@20000}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@90000}"), OK);
            CHECK_OK(world_set_ttl(&w, "c", 50));
            world_at(&w, 30000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "2");
            world_at(&w, 49999);
            CHECK_LIVING(&w, "c", "2");
            world_at(&w, 50000);
            purge_if(&w, is_purged);
            CHECK_LIVING(&w, "c", "");
            CHECK_EQ(world_figures(&w, "c").documents, 0, "");
            world_close(&w);
        }
    }
}
