/* Computed parts of indexes: what a document has in them, and how their definitions are kept. */
#include "tests/support/world.h"

TEST(index_part, a_hashed_field_has_one_entry_for_each_document)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "h: a:hashed missing=null; hb: a:hashed -b");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':7,'b':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':7.0,'b':2}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), OK);
        CHECK_SCAN(&w, "c", "hb", "3 2 1");
        world_restart(&w);
        CHECK_SCAN(&w, "c", "hb", "3 2 1");
        world_check(&w);
        world_close(&w);
    }
}

TEST(index_part, an_array_cannot_be_hashed)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "h: a.b:hashed");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':{'b':[1]}}"), INVALID);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':[{'b':1}]}"), INVALID);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':{'b':{'c':[1]}}}"), OK);
    world_close(&w);
}

TEST(index_part, the_dead_are_in_no_computed_part)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "hb: a:hashed b");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':7,'b':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':7,'b':2,'ttl':20}"), OK);
        CHECK_SCAN(&w, "c", "hb", "1 2");
        world_pass(&w, 10000);
        CHECK_SCAN(&w, "c", "hb", "2");
        world_close(&w);
    }
}

TEST(index_part, what_needs_plain_values_is_refused)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    const char *refused[] = { "h: a:hashed unique", "h: a:hashed ranked", "h: a:hashed ttl=5" };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        CHECK_EQ(world_index(&w, "c", refused[i]).code, INVALID, "%s", refused[i]);
    world_close(&w);
}
