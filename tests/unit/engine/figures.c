/* Figures of a collection: exact at every moment, the dead left out at once (C-12), and who will die
 * when (B-12). */
#include "tests/support/world.h"

static void check_figures(struct world *w, uint64_t living, uint64_t dead, const char *when)
{
    const struct collection_figures figures = world_figures(w, "c");
    CHECK_EQ(figures.documents, living, "living %s", when);
    CHECK_EQ(figures.dead_documents, dead, "dead %s", when);
}

static uint64_t size_of(struct world *w, const char *text)
{
    return world_document(w->arena, text).len;
}

TEST(figures, c12_count_and_size_follow_every_write)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x");
        const uint64_t small = size_of(&w, "{'_id':1}");
        const uint64_t large = size_of(&w, "{'_id':1,'text':'0123456789'}");
        CHECK_EQ(world_figures(&w, "c").bytes, 0, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_EQ(world_figures(&w, "c").bytes, small, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), OK);
        CHECK_EQ(world_figures(&w, "c").bytes, 2 * small, "");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'text':'0123456789'}"), OK);
        CHECK_EQ(world_figures(&w, "c").bytes, small + large, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2}"), EXISTS);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':2}"), OK);
        CHECK_EQ(world_figures(&w, "c").bytes, large, "");
        check_figures(&w, 1, 0, "");
        world_crash(&w);
        CHECK_EQ(world_figures(&w, "c").bytes, large, "after a crash");
        check_figures(&w, 1, 0, "after a crash");
        world_close(&w);
    }
}

TEST(figures, c12_the_dead_leave_them_at_every_second_boundary)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "");
            const uint64_t size = size_of(&w, "{'_id':1}");
            uint64_t purged = 0;
            for (int i = 0; i < 60; i++) {
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
                world_pass(&w, 250);
            }
            for (int second = 15; second < 26; second++) {
                const uint64_t dead = second < 25 ? (uint64_t)(second - 9) * 4 : 60;
                world_at(&w, second * 1000);
                check_figures(&w, 60 - dead, dead - purged, "at the boundary");
                CHECK_EQ(world_figures(&w, "c").bytes, (60 - dead) * size, "");
                CHECK_EQ(world_figures(&w, "c").dead_bytes, (dead - purged) * size, "");
                if (is_purged)
                    purged += world_purge(&w).documents;
                world_at(&w, second * 1000 + 999);
                check_figures(&w, 60 - dead, dead - purged, "a ms before the next");
            }
            if (is_purged)
                CHECK_EQ(purged, 60, "");
            world_close(&w);
        }
    }
}

TEST(figures, c12_documents_that_die_by_date_leave_them_to_the_millisecond)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", TTL_OFF, "at: at ttl=1");
            for (int i = 0; i < 30; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i * 100), OK);
            for (int i = 0; i < 30; i++) {
                world_at(&w, 1000 + i * 100 - 1);
                CHECK_EQ(world_figures(&w, "c").documents, 30 - i, "a ms before");
                world_at(&w, 1000 + i * 100);
                CHECK_EQ(world_figures(&w, "c").documents, 30 - i - 1, "at the deadline");
                if (is_purged && i % 7 == 0)
                    world_purge(&w);
            }
            world_close(&w);
        }
    }
}

TEST(figures, c12_many_who_die_in_one_instant_are_counted_without_looking_at_each)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=1");
        for (int i = 0; i < 300; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i < 290 ? 2300 : 2301),
                          OK);
        world_at(&w, 3299);
        check_figures(&w, 300, 0, "a ms before");
        world_at(&w, 3300);
        const uint64_t before = storage_faulty_calls(w.storage);
        check_figures(&w, 10, 290, "at the deadline");
        const uint64_t calls = storage_faulty_calls(w.storage) - before;
        CHECK_THAT(calls < 100, "%llu calls of the storage", (unsigned long long)calls);
        world_at(&w, 3301);
        check_figures(&w, 0, 300, "a ms later");
        world_close(&w);
    }
}

TEST(figures, c12_they_are_exact_when_another_rule_than_the_lanes_ends_a_document)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 100, "");
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i * 1000), OK);
            world_index_built(&w, "c", "at: at ttl=10");
            world_at(&w, 14999);
            check_figures(&w, 5, 5, "");
            if (is_purged)
                world_purge(&w);
            check_figures(&w, 5, is_purged ? 0 : 5, "");
            CHECK_OK(world_set_ttl(&w, "c", 17));
            world_at(&w, 16999);
            CHECK_EQ(world_figures(&w, "c").documents, 3, "7, 8 and 9");
            world_at(&w, 17000);
            CHECK_EQ(world_figures(&w, "c").documents, 0, "by the new default");
            world_close(&w);
        }
    }
}

TEST(figures, c12_they_are_exact_when_the_purger_comes_by_while_an_index_is_built)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 100, "");
        for (int i = 0; i < 10; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@%d}", i, i * 1000), OK);
        CHECK_OK(world_index(&w, "c", "at: at ttl=10"));
        world_purge(&w);
        CHECK_OK(engine_build_indexes(w.engine));
        world_at(&w, 14000);
        CHECK_LIVING(&w, "c", "5 6 7 8 9");
        world_purge(&w);
        check_figures(&w, 5, 0, "purged");
        world_close(&w);
    }
}

/* The second may turn between the moment a write looks at the clock and its commit; what the lane was
 * chosen by has then changed. */
TEST(figures, c12_they_are_exact_when_the_second_turns_inside_a_write)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "at: at ttl=10");
        world_at(&w, 999);
        struct request request = world_begin(&w);
        world_at(&w, 1000);
        struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':1,'at':@500}");
        CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
        world_end(&request);
        world_at(&w, 10499);
        CHECK_LIVING(&w, "c", "1");
        world_at(&w, 10500);
        CHECK_LIVING(&w, "c", "");
        world_purge(&w);
        CHECK_LIVING(&w, "c", "");
        check_figures(&w, 0, 0, "after the purge");
        world_close(&w);
    }
}

TEST(figures, c12_they_survive_policy_changes_in_both_directions)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 10, "");
        for (int i = 0; i < 20; i++) {
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
            world_pass(&w, 1000);
        }
        check_figures(&w, 9, 11, "default 10 at 20 s");
        CHECK_OK(world_set_ttl(&w, "c", 5));
        check_figures(&w, 4, 16, "default 5");
        CHECK_OK(world_set_ttl(&w, "c", 15));
        check_figures(&w, 4, 16, "default 15: the dead stay dead");
        CHECK_OK(world_set_ttl(&w, "c", TTL_OFF));
        check_figures(&w, 4, 16, "off");
        world_restart(&w);
        check_figures(&w, 4, 16, "after a restart");
        world_purge(&w);
        check_figures(&w, 4, 0, "purged");
        CHECK_EQ(world_figures(&w, "c").purged_documents, 16, "since the start");
        world_close(&w);
    }
}

TEST(figures, b12_the_oldest_dead_document_has_an_age)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_NEVER, "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'ttl':10}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'ttl':20}"), OK);
        world_at(&w, 9999);
        CHECK_EQ(world_figures(&w, "c").oldest_dead_age_ms, 0, "nobody is dead");
        world_at(&w, 13500);
        CHECK_EQ(world_figures(&w, "c").oldest_dead_age_ms, 3500, "");
        world_at(&w, 30000);
        CHECK_EQ(world_figures(&w, "c").oldest_dead_age_ms, 20000, "");
        world_purge(&w);
        CHECK_EQ(world_figures(&w, "c").oldest_dead_age_ms, 0, "");
        world_close(&w);
    }
}

TEST(figures, b12_what_was_purged_is_counted)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", 5, "x: x");
        for (int i = 0; i < 12; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':0}"), OK);
        world_at(&w, 5000);
        const struct purge_result result = world_purge(&w);
        const struct collection_figures figures = world_figures(&w, "c");
        CHECK_EQ(result.documents, 11, "");
        CHECK_EQ(result.bytes, 11 * size_of(&w, "{'_id':1}"), "");
        CHECK_EQ(figures.purged_documents, 11, "");
        CHECK_EQ(figures.purged_bytes, result.bytes, "");
        CHECK_EQ(metrics_read(&w.metrics, METRIC_purge_documents_total), 11, "");
        CHECK_EQ(metrics_read(&w.metrics, METRIC_purge_bytes_total), result.bytes, "");
        CHECK(metrics_read(&w.metrics, METRIC_purge_passes_total) >= 1);
        CHECK_EQ(metrics_read(&w.metrics, METRIC_documents_inserted_total), 12, "");
        CHECK_EQ(metrics_read(&w.metrics, METRIC_documents_deleted_total), 1, "");
        world_close(&w);
    }
}

static void forecast(struct world *w, int64_t from, int64_t step_ms, size_t count, uint64_t *out)
{
    struct request request = world_begin(w);
    CHECK_OK(collection_forecast(&request, world_find(&request, "c"), WORLD_START + from, step_ms,
                                 count, out));
    world_end(&request);
}

TEST(figures, b12_the_forecast_says_how_many_die_when)
{
    EACH_BACKING(backing)
    {
        struct world w;
        uint64_t counts[6];
        world_open(&w, backing);
        world_collection(&w, "c", 10, "at: at ttl=0");
        for (int i = 0; i < 20; i++) {
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'ttl':%d}", 100 + i, 30 + i), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'ttl':-1}", 200 + i), OK);
            CHECK_WRITTEN(
                world_insert(&w, "c", "{'_id':%d,'ttl':-1,'at':@%d}", 300 + i, 50000 + 100 * i),
                OK);
        }
        forecast(&w, 0, 10000, 6, counts);
        const uint64_t want[6] = { 0, 20, 0, 10, 10, 20 };
        for (size_t i = 0; i < 6; i++)
            CHECK_EQ(counts[i], want[i], "between %zu0 and %zu0 s", i, i + 1);
        forecast(&w, 30000, 1000, 6, counts);
        for (size_t i = 0; i < 6; i++)
            CHECK_EQ(counts[i], 1, "in second %zu", 30 + i);

        world_at(&w, 12000);
        forecast(&w, 0, 10000, 6, counts);
        CHECK_EQ(counts[1], 0, "the dead are not in the forecast");
        CHECK_OK(world_set_ttl(&w, "c", TTL_OFF));
        forecast(&w, 0, 10000, 6, counts);
        CHECK_EQ(counts[3] + counts[4], 0, "off");
        CHECK_EQ(counts[5], 20, "dates go on");
        world_close(&w);
    }
}

TEST(figures, b12_the_dead_of_this_very_second_are_not_in_the_forecast)
{
    EACH_BACKING(backing)
    {
        struct world w;
        uint64_t counts[2];
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "at: at ttl=0");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'at':@5100}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'at':@5900}"), OK);
        world_at(&w, 5500);
        forecast(&w, 5000, 1000, 2, counts);
        CHECK_EQ(counts[0], 1, "");
        CHECK_EQ(counts[1], 0, "");
        world_close(&w);
    }
}

TEST(figures, b12_the_metrics_page_names_every_collection)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "carts", 10, "");
    world_collection(&w, "tokens", 10, "");
    CHECK_WRITTEN(world_insert(&w, "carts", "{'_id':1}"), OK);
    world_at(&w, 10000);
    struct request request = world_begin(&w);
    struct buffer page = buffer_in(request.arena);
    CHECK_OK(engine_render_metrics(&request, &page));
    buffer_append_byte(&page, 0);
    CHECK(!page.is_failed);
    const char *text = (const char *)page.data;
    CHECK_THAT(strstr(text, "carts") != NULL, "%s", text);
    CHECK_THAT(strstr(text, "tokens") != NULL, "%s", text);
    CHECK_THAT(strstr(text, "purge_documents_total") != NULL, "%s", text);
    world_end(&request);
    world_close(&w);
}

TEST(figures, they_count_each_collection_by_itself)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "a", 5, "");
    world_collection(&w, "b", 10, "");
    for (int i = 0; i < 7; i++)
        CHECK_WRITTEN(world_insert(&w, i < 3 ? "a" : "b", "{'_id':%d}", i), OK);
    world_at(&w, 5000);
    CHECK_EQ(world_figures(&w, "a").documents, 0, "");
    CHECK_EQ(world_figures(&w, "a").dead_documents, 3, "");
    CHECK_EQ(world_figures(&w, "b").documents, 4, "");
    world_close(&w);
}
