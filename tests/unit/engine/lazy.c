/* Lazy indexes: what they may miss, what they never show, and how they catch up. */
#include "tests/support/world.h"

#include <stdio.h>

static const struct index *find_index(const struct request *request, const char *name)
{
    const struct index *index = collection_index(world_find(request, "c"), bytes_of_text(name));
    CHECK_THAT(index != NULL, "there is no index %s", name);
    return index;
}

static unsigned progress_of(struct world *w, const char *name)
{
    struct request request = world_begin(w);
    const unsigned progress = index_progress_per_mille(find_index(&request, name));
    world_end(&request);
    return progress;
}

static enum index_state state_of(struct world *w, const char *name)
{
    struct request request = world_begin(w);
    const enum index_state state = find_index(&request, name)->state;
    world_end(&request);
    return state;
}

/* Backlog rows of all indexes of the collection. */
static int backlog_rows(struct world *w)
{
    const struct storage_range range = { .start = BYTES_LITERAL("Q"), .end = BYTES_LITERAL("R") };
    return world_count_rows(w, "c", SPACE_ROWS, range);
}

static void catch_up(struct world *w)
{
    CHECK_OK(engine_build_indexes(w->engine));
    CHECK_EQ(progress_of(w, "late"), 1000, "");
    CHECK_EQ(backlog_rows(w), 0, "");
}

TEST(lazy, c10_an_index_follows_the_writes_when_it_is_its_turn)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "late: x lazy; x: x");
        CHECK_EQ(progress_of(&w, "late"), 1000, "nothing was written yet");
        for (int i = 0; i < 9; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, 9 - i), OK);
        CHECK_SCAN(&w, "c", "late", "");
        CHECK_SCAN(&w, "c", "x", "8 7 6 5 4 3 2 1 0");
        CHECK(progress_of(&w, "late") < 1000);
        catch_up(&w);
        CHECK_SCAN(&w, "c", "late", "8 7 6 5 4 3 2 1 0");
        CHECK_SCAN(&w, "c", "-late", "0 1 2 3 4 5 6 7 8");
        CHECK_LIVING(&w, "c", "0 1 2 3 4 5 6 7 8");
        world_close(&w);
    }
}

TEST(lazy, c10_no_value_is_shown_that_a_document_no_longer_has)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "late: x lazy");
        for (int i = 0; i < 5; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i), OK);
        catch_up(&w);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':0,'x':7}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'x':1,'y':1}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
        CHECK_SCAN(&w, "c", "late", "3 4");
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':0,'x':2}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'x':9}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
        CHECK_SCAN(&w, "c", "late", "3 4");
        catch_up(&w);
        CHECK_SCAN(&w, "c", "late", "1 0 3 4");
        CHECK_LIVING(&w, "c", "0 1 3 4");
        world_close(&w);
    }
}

TEST(lazy, c10_the_dead_are_not_shown_and_leave_the_backlog)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "late: x lazy");
            for (int i = 0; i < 4; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i), OK);
            catch_up(&w);
            for (int i = 4; i < 8; i++)
                CHECK_WRITTEN(
                    world_insert(&w, "c", "{'_id':%d,'x':%d,'ttl':%d}", i, i, i < 6 ? 10 : 60), OK);
            world_at(&w, 10000);
            CHECK_SCAN(&w, "c", "late", "");
            CHECK_LIVING(&w, "c", "6 7");
            if (is_purged)
                world_purge(&w);
            catch_up(&w);
            CHECK_SCAN(&w, "c", "late", "6 7");
            world_at(&w, 60000);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':8,'x':8,'ttl':5}"), OK);
            world_at(&w, 65000);
            if (is_purged) {
                world_purge(&w);
                CHECK_EQ(backlog_rows(&w), 0, "an empty collection has no rows at all");
            }
            catch_up(&w);
            CHECK_SCAN(&w, "c", "late", "");
            world_close(&w);
        }
    }
}

TEST(lazy, c10_the_backlog_survives_a_crash_at_every_point)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "late: x lazy; all: paths lazy +/x/?");
        for (int i = 0; i < 3 * LIMIT_BUILD_BATCH; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i % 7), OK);
        bool has_more = true;
        for (int step = 0; has_more; step++) {
            world_crash(&w);
            world_check(&w);
            const int left = backlog_rows(&w);
            CHECK_OK(engine_build_step(w.engine, &has_more));
            CHECK_THAT(left == 0 || backlog_rows(&w) < left, "step %d", step);
            for (int x = 100; x < 102 && step == 1; x++)
                CHECK_WRITTEN(world_replace(&w, "c", "{'_id':5,'x':%d}", x), OK);
        }
        catch_up(&w);
        const char *by_late = world_scan(&w, "c", "late");
        CHECK_THAT(strcmp(by_late + strlen(by_late) - 2, " 5") == 0, "%s", by_late);
        CHECK_STRING(world_scan(&w, "c", "all"), by_late);
        world_close(&w);
    }
}

TEST(lazy, c10_switching_ttl_on_builds_the_index_again)
{
    EACH_BACKING(backing)
    {
        struct world w;
        bool has_more;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "late: x lazy; x: x");
        for (int i = 0; i < 2 * LIMIT_BUILD_BATCH; i++)
            CHECK_WRITTEN(
                world_insert(&w, "c", "{'_id':%d,'x':%d,'ttl':%d}", i, i % 3, i % 2 ? 10 : 100),
                OK);
        CHECK_OK(engine_build_step(w.engine, &has_more));
        CHECK_OK(world_set_ttl(&w, "c", TTL_NEVER));
        CHECK_EQ(state_of(&w, "late"), INDEX_BUILDING, "");
        CHECK_EQ(state_of(&w, "x"), INDEX_READY, "no query notices with the others");
        CHECK(progress_of(&w, "late") < 1000);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':0,'x':9,'ttl':100}"), OK);
        CHECK_OK(engine_build_step(w.engine, &has_more));
        world_crash(&w);
        CHECK(progress_of(&w, "late") < 1000);
        world_at(&w, 12000);
        catch_up(&w);
        CHECK_EQ(state_of(&w, "late"), INDEX_READY, "");
        CHECK_STRING(world_scan(&w, "c", "late"), world_scan(&w, "c", "x"));
        CHECK_OK(world_set_ttl(&w, "c", 5));
        CHECK_EQ(state_of(&w, "late"), INDEX_READY, "it was on already");
        CHECK_STRING(world_scan(&w, "c", "late"), world_scan(&w, "c", "x"));
        world_close(&w);
    }
}

TEST(lazy, documents_that_a_policy_change_moves_stay_in_the_index)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 1000, "late: x lazy");
        for (int i = 0; i < 6; i++)
            CHECK_WRITTEN(
                world_insert(&w, "c", "{'_id':%d,'x':%d,'at':@%d}", i, i, i < 3 ? 0 : 50000), OK);
        catch_up(&w);
        for (int i = 4; i < 6; i++)
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':%d,'x':%d,'at':@50000}", i, i), OK);
        CHECK_OK(world_index(&w, "c", "at: at ttl=10"));
        bool has_more = true;
        while (state_of(&w, "at") != INDEX_READY)
            CHECK_OK(engine_build_step(w.engine, &has_more));
        world_at(&w, 10000);
        CHECK_LIVING(&w, "c", "3 4 5");
        world_purge(&w);
        world_check(&w);
        CHECK_LIVING(&w, "c", "3 4 5");
        catch_up(&w);
        CHECK_SCAN(&w, "c", "late", "3 4 5");
        world_at(&w, 60000);
        CHECK_SCAN(&w, "c", "late", "");
        world_close(&w);
    }
}

TEST(lazy, an_index_made_on_documents_is_built_and_then_follows)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        for (int i = 0; i < 5; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%d}", i, i), OK);
        CHECK_OK(world_index(&w, "c", "late: x lazy"));
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':0,'x':3}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'x':0}"), OK);
        world_crash(&w);
        catch_up(&w);
        CHECK_SCAN(&w, "c", "late", "5 1 2 0 3 4");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6,'x':6}"), OK);
        CHECK_OK(world_index_drop(&w, "c", "late"));
        CHECK_EQ(backlog_rows(&w), 0, "a dropped index takes its backlog along");
        CHECK_OK(world_index(&w, "c", "late: x lazy"));
        catch_up(&w);
        CHECK_SCAN(&w, "c", "late", "5 1 2 0 3 4 6");
        world_close(&w);
    }
}

TEST(lazy, a_document_that_cannot_be_indexed_is_refused_when_it_is_written)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "late: a b lazy");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':[1],'b':[2]}"), INVALID);
    CHECK_EQ(backlog_rows(&w), 0, "");
    world_close(&w);
}

TEST(lazy, an_index_that_cannot_be_built_takes_its_backlog_along)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':[1],'b':[2]}"), OK);
    CHECK_OK(world_index(&w, "c", "late: a b lazy"));
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':1}"), OK);
    CHECK_EQ(backlog_rows(&w), 1, "");
    CHECK_OK(engine_build_indexes(w.engine));
    CHECK_EQ(state_of(&w, "late"), INDEX_FAILED, "");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'a':1}"), OK);
    CHECK_EQ(backlog_rows(&w), 0, "");
    world_close(&w);
}

TEST(lazy, unique_and_ttl_indexes_cannot_be_lazy)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    CHECK_CODE(world_try_collection(&w, "c", TTL_OFF, "late: x lazy unique"), INVALID);
    CHECK_CODE(world_try_collection(&w, "c", TTL_OFF, "late: x lazy ttl=5"), INVALID);
    world_collection(&w, "c", TTL_OFF, "late: x lazy");
    CHECK_CODE(world_set_expiry(&w, "c", "late", 5), INVALID);
    world_close(&w);
}

/* Places for progress are as many as indexes may live at a time, and are used again. */
TEST(lazy, two_indexes_never_share_their_progress)
{
    struct world w;
    char text[64];
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "late: x lazy");
    for (int i = 0; i < 2 * LIMIT_INDEXES; i++) {
        snprintf(text, sizeof(text), "n%d: x lazy", i);
        CHECK_OK(world_index(&w, "c", text));
        struct request request = world_begin(&w);
        snprintf(text, sizeof(text), "n%d", i);
        CHECK_THAT(find_index(&request, text)->progress != find_index(&request, "late")->progress,
                   "%s", text);
        world_end(&request);
        CHECK_OK(world_index_drop(&w, "c", text));
    }
    world_close(&w);
}
