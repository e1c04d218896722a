/* Indexes made on a collection that already has documents: built in the background, next to writes,
 * across crashes. The engine is manual, so a build moves only when it is called for; a failing storage
 * call stops it in the middle. */
#include "tests/support/engine_fixture.h"

#include <stdio.h>

static const struct index *find_index(struct request *request, const char *name)
{
    const struct index *index = collection_index(fixture_find(request, "c"), bytes_of_text(name));
    CHECK_THAT(index != NULL, "there is no index %s", name);
    return index;
}

static enum index_state state_of(struct fixture *f, const char *name)
{
    struct request request = fixture_begin(f);
    const enum index_state state = find_index(&request, name)->state;
    fixture_end(&request);
    return state;
}

static unsigned progress_of(struct fixture *f, const char *name)
{
    struct request request = fixture_begin(f);
    const unsigned progress = index_progress_per_mille(find_index(&request, name));
    fixture_end(&request);
    return progress;
}

static void fill(struct fixture *f, int count)
{
    fixture_collection(f, "c", 1000, "");
    for (int i = 0; i < count; i++)
        CHECK_WRITTEN(fixture_insert(f, "c", "{'_id':%d,'x':%d,'t':[%d,%d],'at':@%d}", i, count - i,
                                     i % 5, i % 7, i * 1000),
                      OK);
}

TEST(index_build, a_new_index_on_documents_is_built_and_then_complete)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fill(&f, 12);
        CHECK_OK(fixture_index(&f, "c", "x: x"));
        CHECK_EQ(state_of(&f, "x"), INDEX_BUILDING, "");
        CHECK(progress_of(&f, "x") < 1000);
        CHECK_OK(engine_build_indexes(f.engine));
        CHECK_EQ(state_of(&f, "x"), INDEX_READY, "");
        CHECK_EQ(progress_of(&f, "x"), 1000, "");
        CHECK_SCAN(&f, "c", "x", "11 10 9 8 7 6 5 4 3 2 1 0");
        fixture_crash(&f);
        CHECK_EQ(state_of(&f, "x"), INDEX_READY, "");
        CHECK_SCAN(&f, "c", "x", "11 10 9 8 7 6 5 4 3 2 1 0");
        fixture_close(&f);
    }
}

TEST(index_build, an_index_on_an_empty_collection_is_ready_at_once)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    CHECK_OK(fixture_index(&f, "c", "x: x"));
    CHECK_EQ(state_of(&f, "x"), INDEX_READY, "");
    fixture_close(&f);
}

TEST(index_build, several_indexes_of_all_kinds_are_built_in_one_go)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fill(&f, 200);
        const char *indexes[] = { "x: -x unique",   "t: t",         "tx: t x",
                                  "s: none sparse", "p: x where=t", "all: paths +/*",
                                  "at: at ttl=5000" };
        EACH_ROW(indexes, index)
            CHECK_OK(fixture_index(&f, "c", *index));
        CHECK_OK(engine_build_indexes(f.engine));
        fixture_check(&f);
        CHECK_EQ(state_of(&f, "x"), INDEX_READY, "");
        CHECK_EQ(state_of(&f, "at"), INDEX_READY, "");
        CHECK_SCAN(&f, "c", "s", "");
        CHECK_SCAN(&f, "c", "p", "");
        CHECK_EQ(fixture_figures(&f, "c").documents, 200, "");
        fixture_close(&f);
    }
}

TEST(index_build, documents_written_while_it_waits_are_in_the_index)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fill(&f, 10);
        CHECK_OK(fixture_index(&f, "c", "x: x"));
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':50,'x':-1}"), OK);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':0,'x':100}"), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':5}"), OK);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':6,'x':101}"), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':6}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':6,'x':102}"), OK);
        CHECK_OK(engine_build_indexes(f.engine));
        CHECK_SCAN(&f, "c", "x", "50 9 8 7 4 3 2 1 0 6");
        CHECK_LIVING(&f, "c", "0 1 2 3 4 6 7 8 9 50");
        fixture_close(&f);
    }
}

TEST(index_build, documents_that_die_while_it_waits_are_not_in_the_index)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 10, "");
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'u':1}"), OK);
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':1,'ttl':100}"), OK);
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'u':3,'ttl':100}"), OK);
            CHECK_OK(fixture_index(&f, "c", "u: u unique"));
            fixture_at(&f, 10000);
            if (is_purged)
                fixture_purge(&f);
            CHECK_OK(engine_build_indexes(f.engine));
            CHECK_EQ(state_of(&f, "u"), INDEX_READY, "the dead holder of 1 does not count");
            CHECK_SCAN(&f, "c", "u", "2 3");
            CHECK_LIVING(&f, "c", "2 3");
            fixture_close(&f);
        }
    }
}

static void check_failure_names(struct fixture *f, const char *name, const char *text)
{
    struct request request = fixture_begin(f);
    const struct index *index = find_index(&request, name);
    char failure[1024];
    CHECK_EQ(index->state, INDEX_FAILED, "");
    snprintf(failure, sizeof(failure), "%.*s", (int)index->failure.len,
             (const char *)index->failure.data);
    CHECK_THAT(strstr(failure, text) != NULL, "\"%s\" does not say \"%s\"", failure, text);
    fixture_end(&request);
}

TEST(index_build, a_unique_build_fails_and_says_which_documents_clash)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "");
        for (int i = 10; i < 40; i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'u':%d}", i, i == 37 ? 21 : i), OK);
        CHECK_OK(fixture_index(&f, "c", "u: u unique"));
        (void)engine_build_indexes(f.engine).code;
        check_failure_names(&f, "u", "21");
        check_failure_names(&f, "u", "37");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':5,'u':11}"), OK);
        fixture_crash(&f);
        check_failure_names(&f, "u", "37");
        CHECK_OK(fixture_index_drop(&f, "c", "u"));
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':37}"), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':5}"), OK);
        fixture_index_built(&f, "c", "u: u unique");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':5,'u':11}"), DUPLICATE_KEY);
        fixture_close(&f);
    }
}

TEST(index_build, a_document_that_cannot_be_indexed_fails_the_build_and_is_named)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    for (int i = 10; i < 30; i++)
        CHECK_WRITTEN(
            fixture_insert(&f, "c", i == 23 ? "{'_id':%d,'a':[1],'b':[2]}" : "{'_id':%d}", i), OK);
    CHECK_OK(fixture_index(&f, "c", "pair: a b"));
    (void)engine_build_indexes(f.engine).code;
    check_failure_names(&f, "pair", "23");
    fixture_close(&f);
}

TEST(index_build, m5_a_failed_ttl_index_ends_nobody)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "");
    for (int i = 0; i < 3; i++)
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'at':@0}", i), OK);
    CHECK_OK(fixture_index(&f, "c", "at: at unique ttl=1"));
    (void)engine_build_indexes(f.engine).code;
    check_failure_names(&f, "at", "1");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'at':@0}"), OK);
    fixture_at(&f, 100000);
    fixture_purge(&f);
    CHECK_LIVING(&f, "c", "0 1 2 3");
    fixture_close(&f);
}

/* Runs the build until the n-th storage call from now fails; true if it got through. */
static bool build_with_fault(struct fixture *f, uint64_t nth)
{
    storage_faulty_arm(f->storage, nth);
    const status s = engine_build_indexes(f->engine);
    storage_faulty_arm(f->storage, 0);
    storage_faulty_heal(f->storage);
    return s.code == OK;
}

TEST(index_build, a_build_stopped_anywhere_goes_on_after_a_restart)
{
    bool is_through = false;
    for (uint64_t nth = 1; !is_through; nth += 1 + nth / 8) {
        struct fixture f;
        fixture_open(&f, ON_MEMORY);
        fill(&f, 150);
        CHECK_OK(fixture_index(&f, "c", "x: x unique"));
        CHECK_OK(fixture_index(&f, "c", "at: at ttl=100"));
        is_through = build_with_fault(&f, nth);
        fixture_crash(&f);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':140,'x':1000,'at':@140000}"), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':141}"), OK);
        CHECK_OK(engine_build_indexes(f.engine));
        CHECK_EQ(state_of(&f, "x"), INDEX_READY, "fault at call %llu", (unsigned long long)nth);
        fixture_check(&f);
        CHECK_EQ(fixture_figures(&f, "c").documents, 149, "");
        fixture_at(&f, 100000 + 50000);
        CHECK_EQ(fixture_figures(&f, "c").documents, 149 - 51, "");
        fixture_close(&f);
        CHECK_THAT(nth < 100000, "the build never gets through");
    }
}

TEST(index_build, a_build_on_disk_goes_on_after_a_crash_in_the_middle)
{
    struct fixture f;
    fixture_open(&f, ON_ROCKSDB);
    fill(&f, 300);
    CHECK_OK(fixture_index(&f, "c", "x: x unique"));
    for (int i = 0; i < 4; i++) {
        CHECK(!build_with_fault(&f, 40));
        fixture_crash(&f);
        CHECK_EQ(state_of(&f, "x"), INDEX_BUILDING, "");
    }
    CHECK_OK(engine_build_indexes(f.engine));
    CHECK_EQ(state_of(&f, "x"), INDEX_READY, "");
    CHECK_EQ(fixture_figures(&f, "c").documents, 300, "");
    fixture_close(&f);
}

TEST(index_build, dropping_a_collection_or_an_index_ends_its_build)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fill(&f, 100);
    CHECK_OK(fixture_index(&f, "c", "x: x"));
    CHECK_OK(fixture_index(&f, "c", "t: t"));
    CHECK_OK(fixture_index_drop(&f, "c", "x"));
    CHECK_OK(engine_build_indexes(f.engine));
    CHECK_EQ(state_of(&f, "t"), INDEX_READY, "");
    CHECK_OK(fixture_index(&f, "c", "x: x"));
    CHECK_OK(collection_drop(f.engine, f.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c")));
    CHECK_OK(engine_build_indexes(f.engine));
    fixture_close(&f);
}
