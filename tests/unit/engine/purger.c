/* The purger: gives back the space of the dead, takes nothing from the living, waits for whoever still
 * looks, and tells those who want to hear of every death. */
#include "tests/support/engine_fixture.h"

#include <stdio.h>

TEST(purger, b8_documents_that_die_in_write_order_leave_in_one_cut)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "");
        for (int i = 0; i < 300; i++) {
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d}", i), OK);
            fixture_pass(&f, 50);
        }
        fixture_at(&f, 20000);
        const struct purge_result result = fixture_purge(&f);
        CHECK_EQ(result.documents, 220, "those of the first 11 s");
        CHECK_EQ(result.reaped, 0, "");
        CHECK_EQ(result.truncations, 1, "");
        CHECK_EQ(fixture_figures(&f, "c").documents, 80, "");
        fixture_close(&f);
    }
}

TEST(purger, b8_each_lane_is_cut_once)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "at: at ttl=10");
        for (int i = 0; i < 60; i++) {
            const char *kinds[] = { "{'_id':%d}", "{'_id':%d,'ttl':8}", "{'_id':%d,'at':@-5000}" };
            CHECK_WRITTEN(fixture_insert(&f, "c", kinds[i % 3], i), OK);
        }
        fixture_at(&f, 10000);
        const struct purge_result result = fixture_purge(&f);
        CHECK_EQ(result.documents, 60, "");
        CHECK_EQ(result.truncations, 3, "");
        CHECK_EQ(result.reaped, 0, "");
        fixture_close(&f);
    }
}

TEST(purger, nothing_is_purged_before_its_deadline)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "at: at ttl=10");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'ttl':10}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'ttl':-1,'at':@0}"), OK);
        fixture_at(&f, 9999);
        CHECK_EQ(fixture_purge(&f).documents, 0, "");
        CHECK_LIVING(&f, "c", "1 2 3");
        fixture_at(&f, 10000);
        fixture_purge(&f);
        CHECK_LIVING(&f, "c", "");
        fixture_at(&f, 20000);
        fixture_purge(&f);
        CHECK_EQ(fixture_figures(&f, "c").purged_documents, 3, "");
        CHECK_EQ(fixture_figures(&f, "c").dead_documents, 0, "");
        fixture_close(&f);
    }
}

TEST(purger, purging_twice_finds_nothing_the_second_time)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "x: x");
    for (int i = 0; i < 50; i++)
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'x':1}", i), OK);
    fixture_at(&f, 10000);
    CHECK_EQ(fixture_purge(&f).documents, 50, "");
    const struct purge_result again = fixture_purge(&f);
    CHECK_EQ(again.documents, 0, "");
    CHECK_EQ(again.bytes, 0, "");
    CHECK_EQ(again.truncations + again.reaped, 0, "");
    fixture_close(&f);
}

TEST(purger, m5_documents_older_than_an_index_are_reaped_one_by_one)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        for (int i = 0; i < 100; i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'at':@%d}", i, i * 100), OK);
        fixture_index_built(&f, "c", "at: at ttl=1");
        fixture_at(&f, 5999);
        fixture_pass(&f, 1);
        const struct purge_result result = fixture_purge(&f);
        CHECK_EQ(result.documents, 51, "");
        CHECK_EQ(result.reaped, 51, "");
        CHECK_EQ(fixture_figures(&f, "c").documents, 49, "");
        CHECK_EQ(fixture_figures(&f, "c").dead_documents, 0, "");
        fixture_close(&f);
    }
}

TEST(purger, it_stays_behind_the_oldest_running_request)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "x: x; at: at ttl=10");
        for (int i = 0; i < 6; i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'x':%d%s}", i, i,
                                         i % 2 ? ",'ttl':-1,'at':@0" : ""),
                          OK);
        fixture_at(&f, 9000);
        struct request old = fixture_begin(&f);
        const struct collection *c = fixture_find(&old, "c");
        fixture_at(&f, 60000);
        fixture_purge(&f);
        CHECK_LIVING(&f, "c", "");
        for (int i = 0; i < 6; i++) {
            char text[32];
            struct document document;
            snprintf(text, sizeof(text), "{'_id':%d}", i);
            CHECK_OK(document_read(&old, c, fixture_key(&old, c, text), &document));
            document_release(&old, &document);
        }
        CHECK_STRING(fixture_scan_in(&old, "c", "key"), "0 1 2 3 4 5");
        CHECK_STRING(fixture_scan_in(&old, "c", "x"), "0 1 2 3 4 5");
        fixture_end(&old);
        fixture_purge(&f);
        CHECK_EQ(fixture_figures(&f, "c").dead_documents, 0, "");
        CHECK_EQ(fixture_figures(&f, "c").purged_documents, 6, "");
        fixture_close(&f);
    }
}

TEST(purger, it_stays_behind_a_request_that_began_under_a_longer_ttl)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 1000, "at: at ttl=1000");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'ttl':-1,'at':@0}"), OK);
        fixture_at(&f, 20000);
        struct request old = fixture_begin(&f);
        CHECK_OK(fixture_set_ttl(&f, "c", 5));
        CHECK_OK(fixture_set_expiry(&f, "c", "at", 5));
        CHECK_LIVING(&f, "c", "");
        fixture_purge(&f);
        CHECK_STRING(fixture_scan_in(&old, "c", "key"), "1 2");
        fixture_end(&old);
        fixture_pass(&f, 60000);
        fixture_purge(&f);
        CHECK_EQ(fixture_figures(&f, "c").dead_documents, 0, "");
        fixture_close(&f);
    }
}

TEST(purger, documents_written_again_behind_a_cut_are_safe)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "u: u unique; at: at ttl=10");
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 10; i++)
                CHECK_WRITTEN(fixture_upsert(&f, "c", "{'_id':%d,'u':%d%s}", i, (i + round) % 10,
                                             i % 3 ? "" : ",'ttl':-1,'at':@-9000"),
                              OK);
            if (round == 0)
                CHECK_OK(fixture_set_expiry(&f, "c", "at", 100000));
            CHECK_LIVING(&f, "c", "0 1 2 3 4 5 6 7 8 9");
            fixture_pass(&f, 5000);
            fixture_purge(&f);
            CHECK_LIVING(&f, "c", "0 1 2 3 4 5 6 7 8 9");
            fixture_pass(&f, 5000);
            CHECK_LIVING(&f, "c", "0 3 6 9");
            fixture_purge(&f);
            CHECK_LIVING(&f, "c", "0 3 6 9");
            /* The unique keys move around by one each round: make room first. */
            for (int i = 0; i < 10; i += 3)
                CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':%d}", i), OK);
        }
        fixture_close(&f);
    }
}

TEST(purger, a_backlog_in_one_collection_does_not_starve_another)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "big", TTL_OFF, "");
    fixture_collection(&f, "small", TTL_OFF, "");
    for (int i = 0; i < 400; i++)
        CHECK_WRITTEN(fixture_insert(&f, "big", "{'_id':%d,'at':@0}", i), OK);
    CHECK_WRITTEN(fixture_insert(&f, "small", "{'_id':1,'at':@0}"), OK);
    fixture_index_built(&f, "big", "at: at ttl=1");
    fixture_index_built(&f, "small", "at: at ttl=1");
    fixture_at(&f, 1000);
    fixture_purge(&f);
    CHECK_EQ(fixture_figures(&f, "big").dead_documents, 0, "");
    CHECK_EQ(fixture_figures(&f, "small").dead_documents, 0, "");
    fixture_close(&f);
}

static void ignore(void *context, const char *violation)
{
    (void)context;
    (void)violation;
}

TEST(purger, dropped_collections_give_their_space_back)
{
    struct fixture f;
    struct check_summary after;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "x: x");
    for (int i = 0; i < 50; i++)
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'x':%d}", i, i), OK);
    CHECK_OK(collection_drop(f.engine, f.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c")));
    fixture_purge(&f);
    CHECK_OK(engine_check(f.engine, ignore, NULL, &after));
    CHECK_EQ(after.documents + after.index_rows + after.garbage_rows, 0, "");
    fixture_close(&f);
}

TEST(purger, the_pause_the_switch_and_the_activity_can_be_seen)
{
    struct fixture f;
    struct purger_activity before, after;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "");
    purger_watch(f.engine, &before);
    CHECK(!before.is_working);
    purger_set_pause(f.engine, 3);
    fixture_purge(&f);
    purger_watch(f.engine, &after);
    CHECK(after.passes > before.passes);
    CHECK(!after.is_working);
    fixture_close(&f);
}

/* Disk use right after the engine was made, and after a collection was filled, died and was purged. */
TEST(purger, b7_the_space_of_the_dead_comes_back)
{
    struct fixture f;
    struct storage_usage empty, full, purged;
    char text[2001];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fixture_open(&f, ON_ROCKSDB);
    fixture_collection(&f, "c", 10, "x: x");
    fixture_restart(&f);
    storage_usage(f.storage, &empty);
    for (int i = 0; i < 2000; i++)
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'x':%d,'text':'%s%d'}", i, i, text, i),
                      OK);
    storage_usage(f.storage, &full);
    CHECK(full.disk_bytes > empty.disk_bytes);
    fixture_at(&f, 70000);
    fixture_purge(&f);
    fixture_restart(&f);
    fixture_pass(&f, 60000);
    fixture_purge(&f);
    storage_usage(f.storage, &purged);
    const uint64_t grown = full.disk_bytes - empty.disk_bytes;
    const uint64_t left = purged.disk_bytes > empty.disk_bytes
                              ? purged.disk_bytes - empty.disk_bytes
                              : 0;
    CHECK_THAT(left <= grown / 10, "empty %llu, full %llu, purged %llu bytes",
               (unsigned long long)empty.disk_bytes, (unsigned long long)full.disk_bytes,
               (unsigned long long)purged.disk_bytes);
    fixture_close(&f);
}

/* ---- readers of deaths ----------------------------------------------------------------------------------- */

struct obituary {
    int heard[FIXTURE_IDS];
    int count;
    uint64_t last_seq[FIXTURE_IDS];
};

static void note_death(void *context, const struct death *death)
{
    struct obituary *obituary = context;
    const int id = fixture_id_of(death->document);
    CHECK(id >= 0 && id < FIXTURE_IDS);
    obituary->heard[id]++;
    obituary->count++;
    obituary->last_seq[id] = death->stamp->seq;
}

static void read_deaths(struct fixture *f, death_reader *reader, struct obituary *obituary)
{
    struct request request = fixture_begin(f);
    const uint32_t id = fixture_find(&request, "c")->id;
    fixture_end(&request);
    CHECK_OK(engine_read_deaths(f->engine, id, reader, obituary));
}

TEST(deaths, each_is_told_once_and_before_the_bytes_go)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct obituary obituary = { .count = 0 };
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "at: at ttl=10; x: x");
        read_deaths(&f, note_death, &obituary);
        for (int i = 0; i < 40; i++) {
            const char *kinds[] = { "{'_id':%d}", "{'_id':%d,'ttl':5}",
                                    "{'_id':%d,'ttl':-1,'at':@-2000}", "{'_id':%d,'ttl':-1}" };
            CHECK_WRITTEN(fixture_insert(&f, "c", kinds[i % 4], i), OK);
        }
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':0}"), OK);
        for (int second = 0; second <= 12; second++) {
            fixture_at(&f, second * 1000);
            fixture_purge(&f);
        }
        for (int i = 0; i < 40; i++)
            CHECK_EQ(obituary.heard[i], i % 4 != 3 && i != 0, "document %d", i);
        fixture_purge(&f);
        CHECK_EQ(obituary.count, 29, "");
        fixture_close(&f);
    }
}

TEST(deaths, c14_a_dead_document_is_told_before_its_id_is_used_again)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct obituary obituary = { .count = 0 };
        fixture_open(&f, backing);
        fixture_collection(&f, "c", 10, "x: x");
        read_deaths(&f, note_death, &obituary);
        const uint64_t first = fixture_insert(&f, "c", "{'_id':1}").seq;
        fixture_at(&f, 10000);
        const uint64_t second = fixture_insert(&f, "c", "{'_id':1}").seq;
        CHECK_EQ(obituary.heard[1], 1, "told by the insert that took its place");
        CHECK_EQ(obituary.last_seq[1], first, "");
        fixture_purge(&f);
        CHECK_EQ(obituary.heard[1], 1, "and not again by the purger");
        fixture_at(&f, 20000);
        fixture_purge(&f);
        CHECK_EQ(obituary.heard[1], 2, "its second life");
        CHECK_EQ(obituary.last_seq[1], second, "");
        fixture_close(&f);
    }
}

TEST(deaths, documents_that_end_by_another_rule_than_their_lanes_are_told_too)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        struct obituary obituary = { .count = 0 };
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        for (int i = 0; i < 10; i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'at':@%d}", i, i * 1000), OK);
        read_deaths(&f, note_death, &obituary);
        fixture_index_built(&f, "c", "at: at ttl=1");
        fixture_at(&f, 5500);
        fixture_purge(&f);
        CHECK_OK(fixture_set_ttl(&f, "c", 6));
        fixture_at(&f, 6000);
        fixture_purge(&f);
        for (int i = 0; i < 10; i++)
            CHECK_EQ(obituary.heard[i], 1, "document %d", i);
        fixture_close(&f);
    }
}

TEST(deaths, nobody_is_told_after_the_reader_has_left)
{
    struct fixture f;
    struct obituary obituary = { .count = 0 };
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", 10, "");
    read_deaths(&f, note_death, &obituary);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
    read_deaths(&f, NULL, NULL);
    fixture_at(&f, 10000);
    fixture_purge(&f);
    CHECK_EQ(obituary.count, 0, "");
    CHECK_EQ(fixture_figures(&f, "c").purged_documents, 1, "");
    fixture_close(&f);
}
