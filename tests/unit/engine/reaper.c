/* Putting a collection in order behind a change of policy: moving the living into the lane that will end
 * them, removing the dead that no cut reaches, forgetting horizons. */
#include "tests/support/world.h"

static bool is_mixed(struct world *w, const char *name)
{
    struct request request = world_begin(w);
    bool answer = world_find(&request, name)->is_mixed;

    world_end(&request);
    return answer;
}

TEST(reaper, documents_older_than_a_ttl_index_are_moved_into_its_lane_and_leave_by_a_cut)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        for (int id = 1; id <= 9; id++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d,'at':@%d}", id, id, id * 1000),
                          OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':10,'x':10}"), OK);
        const struct found before = world_read(&w, "c", "{'_id':9}");
        world_index_built(&w, "c", "at: at ttl=100");
        CHECK(is_mixed(&w, "c"));
        CHECK_EQ(world_purge(&w).documents, 0, "nobody is due");
        CHECK(!is_mixed(&w, "c"));
        const struct found after = world_read(&w, "c", "{'_id':9}");
        CHECK_EQ(after.seq, before.seq, "a move is not a write");
        CHECK_EQ(after.birth_seq, before.birth_seq, "");
        CHECK_EQ(after.written_at_s, before.written_at_s, "");
        world_check(&w);
        world_at(&w, 104000);
        CHECK_LIVING(&w, "c", "5 6 7 8 9 10");
        const struct purge_result purged = world_purge(&w);
        CHECK_EQ(purged.documents, 4, "");
        CHECK_EQ(purged.truncations, 1, "in one step");
        CHECK_EQ(purged.reaped, 0, "not one by one");
        world_restart(&w);
        CHECK_LIVING(&w, "c", "5 6 7 8 9 10");
        world_close(&w);
    }
}

TEST(reaper, documents_of_a_dropped_index_move_back_to_the_lane_of_the_default)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 100, "at: at ttl=10");
        for (int id = 1; id <= 5; id++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", id, id * 1000), OK);
        CHECK_OK(world_index_drop(&w, "c", "at"));
        world_purge(&w);
        CHECK(!is_mixed(&w, "c"));
        world_at(&w, 99999);
        CHECK_LIVING(&w, "c", "1 2 3 4 5");
        world_at(&w, 100000);
        CHECK_LIVING(&w, "c", "");
        const struct purge_result purged = world_purge(&w);
        CHECK_EQ(purged.documents, 5, "");
        CHECK_EQ(purged.reaped, 0, "");
        world_close(&w);
    }
}

TEST(reaper, a_move_takes_the_rows_of_every_index_along)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique; m: m; p: paths +/*");
        for (int id = 1; id <= 6; id++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'u':%d,'m':[%d,7],'at':@%d}", id, id, id,
                                       id * 1000),
                          OK);
        world_index_built(&w, "c", "at: at ttl=50");
        world_purge(&w);
        world_check(&w);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'u':3}"), DUPLICATE_KEY);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'u':33,'at':@3000}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'u':3}"), OK);
        world_at(&w, 53000);
        CHECK_LIVING(&w, "c", "4 5 6 7");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':8,'u':33}"), OK);
        world_close(&w);
    }
}

TEST(reaper, the_dead_and_the_living_are_sorted_out_in_one_walk)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int id = 1; id <= 40; id++)
        CHECK_WRITTEN(
            world_insert(&w, "c", "{'_id':%d,'at':@%d,'pad':'%01000d'}", id, id * 1000, id), OK);
    world_index_built(&w, "c", "at: at ttl=0");
    world_at(&w, 20000);
    CHECK_EQ(world_purge(&w).documents, 20, "");
    CHECK_EQ(world_figures(&w, "c").documents, 20, "");
    CHECK_EQ(world_figures(&w, "c").dead_documents, 0, "");
    world_close(&w);
}
