/* Figures of a collection: exact at every moment, the dead left out at once (C-12), and who will die
 * when (B-12). */
#include "tests/support/engine_fixture.h"

static void check_figures(struct fixture *f, uint64_t living, uint64_t dead, const char *when)
{
    const struct collection_figures figures = fixture_figures(f, "c");
    CHECK_EQ(figures.documents, living, "living %s", when);
    CHECK_EQ(figures.dead_documents, dead, "dead %s", when);
}

static uint64_t size_of(struct fixture *f, const char *text)
{
    return fixture_document(f->arena, text).len;
}

TEST(figures, c12_count_and_size_follow_every_write)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x");
        const uint64_t small = size_of(&f, "{'_id':1}");
        const uint64_t large = size_of(&f, "{'_id':1,'text':'0123456789'}");
        CHECK_EQ(fixture_figures(&f, "c").bytes, 0, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        CHECK_EQ(fixture_figures(&f, "c").bytes, small, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2}"), OK);
        CHECK_EQ(fixture_figures(&f, "c").bytes, 2 * small, "");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1,'text':'0123456789'}"), OK);
        CHECK_EQ(fixture_figures(&f, "c").bytes, small + large, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2}"), EXISTS);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':2}"), OK);
        CHECK_EQ(fixture_figures(&f, "c").bytes, large, "");
        check_figures(&f, 1, 0, "");
        fixture_crash(&f);
        CHECK_EQ(fixture_figures(&f, "c").bytes, large, "after a crash");
        check_figures(&f, 1, 0, "after a crash");
        fixture_close(&f);
    }
}

TEST(figures, c12_the_dead_leave_them_at_every_second_boundary)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 10, "");
            const uint64_t size = size_of(&f, "{'_id':1}");
            uint64_t purged = 0;
            for (int i = 0; i < 60; i++) {
                CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d}", i), OK);
                fixture_pass(&f, 250);
            }
            for (int second = 15; second < 26; second++) {
                const uint64_t dead = second < 25 ? (uint64_t)(second - 9) * 4 : 60;
                fixture_at(&f, second * 1000);
                check_figures(&f, 60 - dead, dead - purged, "at the boundary");
                CHECK_EQ(fixture_figures(&f, "c").bytes, (60 - dead) * size, "");
                CHECK_EQ(fixture_figures(&f, "c").dead_bytes, (dead - purged) * size, "");
                if (is_purged)
                    purged += fixture_purge(&f).documents;
                fixture_at(&f, second * 1000 + 999);
                check_figures(&f, 60 - dead, dead - purged, "a ms before the next");
            }
            if (is_purged)
                CHECK_EQ(purged, 60, "");
            fixture_close(&f);
        }
    }
}

TEST(figures, c12_documents_that_die_by_date_leave_them_to_the_millisecond)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", TTL_OFF, "at: at ttl=1");
            for (int i = 0; i < 30; i++)
                CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'at':@%d}", i, i * 100), OK);
            for (int i = 0; i < 30; i++) {
                fixture_at(&f, 1000 + i * 100 - 1);
                CHECK_EQ(fixture_figures(&f, "c").documents, 30 - i, "a ms before");
                fixture_at(&f, 1000 + i * 100);
                CHECK_EQ(fixture_figures(&f, "c").documents, 30 - i - 1, "at the deadline");
                if (is_purged && i % 7 == 0)
                    fixture_purge(&f);
            }
            fixture_close(&f);
        }
    }
}

TEST(figures, c12_they_are_exact_when_another_rule_than_the_lanes_ends_a_document)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 100, "");
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'at':@%d}", i, i * 1000), OK);
            fixture_index_built(&f, "c", "at: at ttl=10");
            fixture_at(&f, 14999);
            check_figures(&f, 5, 5, "");
            if (is_purged)
                fixture_purge(&f);
            check_figures(&f, 5, is_purged ? 0 : 5, "");
            CHECK_OK(fixture_set_ttl(&f, "c", 17));
            fixture_at(&f, 16999);
            CHECK_EQ(fixture_figures(&f, "c").documents, 3, "7, 8 and 9");
            fixture_at(&f, 17000);
            CHECK_EQ(fixture_figures(&f, "c").documents, 0, "by the new default");
            fixture_close(&f);
        }
    }
}

/* The second may turn between the moment a write looks at the clock and its commit; what the lane was
 * chosen by has then changed. */
TEST(figures, c12_they_are_exact_when_the_second_turns_inside_a_write)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "at: at ttl=10");
        fixture_at(&f, 999);
        struct request request = fixture_begin(&f);
        fixture_at(&f, 1000);
        struct write_op op = fixture_op(&request, "c", WRITE_INSERT, "{'_id':1,'at':@500}");
        CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
        fixture_end(&request);
        fixture_at(&f, 10499);
        CHECK_LIVING(&f, "c", "1");
        fixture_at(&f, 10500);
        CHECK_LIVING(&f, "c", "");
        fixture_purge(&f);
        CHECK_LIVING(&f, "c", "");
        check_figures(&f, 0, 0, "after the purge");
        fixture_close(&f);
    }
}

TEST(figures, c12_they_survive_policy_changes_in_both_directions)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "");
        for (int i = 0; i < 20; i++) {
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d}", i), OK);
            fixture_pass(&f, 1000);
        }
        check_figures(&f, 9, 11, "default 10 at 20 s");
        CHECK_OK(fixture_set_ttl(&f, "c", 5));
        check_figures(&f, 4, 16, "default 5");
        CHECK_OK(fixture_set_ttl(&f, "c", 15));
        check_figures(&f, 4, 16, "default 15: the dead stay dead");
        CHECK_OK(fixture_set_ttl(&f, "c", TTL_OFF));
        check_figures(&f, 4, 16, "off");
        fixture_restart(&f);
        check_figures(&f, 4, 16, "after a restart");
        fixture_purge(&f);
        check_figures(&f, 4, 0, "purged");
        CHECK_EQ(fixture_figures(&f, "c").purged_documents, 16, "since the start");
        fixture_close(&f);
    }
}

TEST(figures, b12_the_oldest_dead_document_has_an_age)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_NEVER, "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'ttl':10}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'ttl':20}"), OK);
        fixture_at(&f, 9999);
        CHECK_EQ(fixture_figures(&f, "c").oldest_dead_age_ms, 0, "nobody is dead");
        fixture_at(&f, 13500);
        CHECK_EQ(fixture_figures(&f, "c").oldest_dead_age_ms, 3500, "");
        fixture_at(&f, 30000);
        CHECK_EQ(fixture_figures(&f, "c").oldest_dead_age_ms, 20000, "");
        fixture_purge(&f);
        CHECK_EQ(fixture_figures(&f, "c").oldest_dead_age_ms, 0, "");
        fixture_close(&f);
    }
}

TEST(figures, b12_what_was_purged_is_counted)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 5, "x: x");
        for (int i = 0; i < 12; i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d}", i), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':0}"), OK);
        fixture_at(&f, 5000);
        const struct purge_result result = fixture_purge(&f);
        const struct collection_figures figures = fixture_figures(&f, "c");
        CHECK_EQ(result.documents, 11, "");
        CHECK_EQ(result.bytes, 11 * size_of(&f, "{'_id':1}"), "");
        CHECK_EQ(figures.purged_documents, 11, "");
        CHECK_EQ(figures.purged_bytes, result.bytes, "");
        CHECK_EQ(metrics_read(&f.metrics, METRIC_purge_documents_total), 11, "");
        CHECK_EQ(metrics_read(&f.metrics, METRIC_purge_bytes_total), result.bytes, "");
        CHECK(metrics_read(&f.metrics, METRIC_purge_passes_total) >= 1);
        CHECK_EQ(metrics_read(&f.metrics, METRIC_documents_inserted_total), 12, "");
        CHECK_EQ(metrics_read(&f.metrics, METRIC_documents_deleted_total), 1, "");
        fixture_close(&f);
    }
}

static void forecast(struct fixture *f, int64_t from, int64_t step_ms, size_t count, uint64_t *out)
{
    struct request request = fixture_begin(f);
    CHECK_OK(collection_forecast(&request, fixture_find(&request, "c"), FIXTURE_START + from,
                                 step_ms, count, out));
    fixture_end(&request);
}

TEST(figures, b12_the_forecast_says_how_many_die_when)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        uint64_t counts[6];
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "at: at ttl=0");
        for (int i = 0; i < 20; i++) {
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d}", i), OK);
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'ttl':%d}", 100 + i, 30 + i), OK);
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'ttl':-1}", 200 + i), OK);
            CHECK_WRITTEN(
                fixture_insert(&f, "c", "{'_id':%d,'ttl':-1,'at':@%d}", 300 + i, 50000 + 100 * i),
                OK);
        }
        forecast(&f, 0, 10000, 6, counts);
        const uint64_t want[6] = { 0, 20, 0, 10, 10, 20 };
        for (size_t i = 0; i < 6; i++)
            CHECK_EQ(counts[i], want[i], "between %zu0 and %zu0 s", i, i + 1);
        forecast(&f, 30000, 1000, 6, counts);
        for (size_t i = 0; i < 6; i++)
            CHECK_EQ(counts[i], 1, "in second %zu", 30 + i);

        fixture_at(&f, 12000);
        forecast(&f, 0, 10000, 6, counts);
        CHECK_EQ(counts[1], 0, "the dead are not in the forecast");
        CHECK_OK(fixture_set_ttl(&f, "c", TTL_OFF));
        forecast(&f, 0, 10000, 6, counts);
        CHECK_EQ(counts[3] + counts[4], 0, "off");
        CHECK_EQ(counts[5], 20, "dates go on");
        fixture_close(&f);
    }
}

TEST(figures, b12_the_metrics_page_names_every_collection)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "carts", 10, "");
    fixture_collection(&f, "tokens", 10, "");
    CHECK_WRITTEN(fixture_insert(&f, "carts", "{'_id':1}"), OK);
    fixture_at(&f, 10000);
    struct request request = fixture_begin(&f);
    struct buffer page = buffer_in(request.arena);
    CHECK_OK(engine_render_metrics(&request, &page));
    buffer_append_byte(&page, 0);
    CHECK(!page.is_failed);
    const char *text = (const char *)page.data;
    CHECK_THAT(strstr(text, "carts") != NULL, "%s", text);
    CHECK_THAT(strstr(text, "tokens") != NULL, "%s", text);
    CHECK_THAT(strstr(text, "purge_documents_total") != NULL, "%s", text);
    fixture_end(&request);
    fixture_close(&f);
}

TEST(figures, they_count_each_collection_by_itself)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "a", 5, "");
    fixture_collection(&f, "b", 10, "");
    for (int i = 0; i < 7; i++)
        CHECK_WRITTEN(fixture_insert(&f, i < 3 ? "a" : "b", "{'_id':%d}", i), OK);
    fixture_at(&f, 5000);
    CHECK_EQ(fixture_figures(&f, "a").documents, 0, "");
    CHECK_EQ(fixture_figures(&f, "a").dead_documents, 3, "");
    CHECK_EQ(fixture_figures(&f, "b").documents, 4, "");
    fixture_close(&f);
}
