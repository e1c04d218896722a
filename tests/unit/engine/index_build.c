/* Indexes made on a collection that already has documents: built in the background, next to writes,
 * across crashes. The engine is manual, so a build moves only when it is called for; a failing storage
 * call stops it in the middle. */
#include "tests/support/world.h"

#include <stdio.h>

static const struct index *find_index(struct request *request, const char *name)
{
    const struct index *index = collection_index(world_find(request, "c"), bytes_of_text(name));
    CHECK_THAT(index != NULL, "there is no index %s", name);
    return index;
}

static enum index_state state_of(struct world *w, const char *name)
{
    struct request request = world_begin(w);
    const enum index_state state = find_index(&request, name)->state;
    world_end(&request);
    return state;
}

static unsigned progress_of(struct world *w, const char *name)
{
    struct request request = world_begin(w);
    const unsigned progress = index_progress_per_mille(find_index(&request, name));
    world_end(&request);
    return progress;
}

static void fill(struct world *w, int count)
{
    world_collection(w, "c", 1000, "");
    for (int i = 0; i < count; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'x':%d,'t':[%d,%d],'at':@%d}", i, count - i,
                                   i % 5, i % 7, i * 1000),
                      OK);
}

TEST(index_build, a_new_index_on_documents_is_built_and_then_complete)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        fill(&w, 12);
        CHECK_OK(world_index(&w, "c", "x: x"));
        CHECK_EQ(state_of(&w, "x"), INDEX_BUILDING, "");
        CHECK(progress_of(&w, "x") < 1000);
        CHECK_OK(engine_build_indexes(w.engine));
        CHECK_EQ(state_of(&w, "x"), INDEX_READY, "");
        CHECK_EQ(progress_of(&w, "x"), 1000, "");
        CHECK_SCAN(&w, "c", "x", "11 10 9 8 7 6 5 4 3 2 1 0");
        world_crash(&w);
        CHECK_EQ(state_of(&w, "x"), INDEX_READY, "");
        CHECK_SCAN(&w, "c", "x", "11 10 9 8 7 6 5 4 3 2 1 0");
        world_close(&w);
    }
}

TEST(index_build, an_index_on_an_empty_collection_is_ready_at_once)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    CHECK_OK(world_index(&w, "c", "x: x"));
    CHECK_EQ(state_of(&w, "x"), INDEX_READY, "");
    world_close(&w);
}

TEST(index_build, several_indexes_of_all_kinds_are_built_in_one_go)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        fill(&w, 200);
        const char *indexes[] = { "x: -x unique",   "t: t",         "tx: t x",
                                  "s: none sparse", "p: x where=t", "all: paths +/*",
                                  "at: at ttl=5000" };
        EACH_ROW(indexes, index)
            CHECK_OK(world_index(&w, "c", *index));
        CHECK_OK(engine_build_indexes(w.engine));
        world_check(&w);
        CHECK_EQ(state_of(&w, "x"), INDEX_READY, "");
        CHECK_EQ(state_of(&w, "at"), INDEX_READY, "");
        CHECK_SCAN(&w, "c", "s", "");
        CHECK_SCAN(&w, "c", "p", "");
        CHECK_EQ(world_figures(&w, "c").documents, 200, "");
        world_close(&w);
    }
}

TEST(index_build, documents_written_while_it_waits_are_in_the_index)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        fill(&w, 10);
        CHECK_OK(world_index(&w, "c", "x: x"));
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':50,'x':-1}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':0,'x':100}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':5}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':6,'x':101}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':6}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6,'x':102}"), OK);
        CHECK_OK(engine_build_indexes(w.engine));
        CHECK_SCAN(&w, "c", "x", "50 9 8 7 4 3 2 1 0 6");
        CHECK_LIVING(&w, "c", "0 1 2 3 4 6 7 8 9 50");
        world_close(&w);
    }
}

TEST(index_build, documents_that_die_while_it_waits_are_not_in_the_index)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10, "");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':1,'ttl':100}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'u':3,'ttl':100}"), OK);
            CHECK_OK(world_index(&w, "c", "u: u unique"));
            world_at(&w, 10000);
            if (is_purged)
                world_purge(&w);
            CHECK_OK(engine_build_indexes(w.engine));
            CHECK_EQ(state_of(&w, "u"), INDEX_READY, "the dead holder of 1 does not count");
            CHECK_SCAN(&w, "c", "u", "2 3");
            CHECK_LIVING(&w, "c", "2 3");
            world_close(&w);
        }
    }
}

static void check_failure_names(struct world *w, const char *name, const char *text)
{
    struct request request = world_begin(w);
    const struct index *index = find_index(&request, name);
    char failure[1024];
    CHECK_EQ(index->state, INDEX_FAILED, "");
    bytes why = index_failure_text(index);
    snprintf(failure, sizeof(failure), "%.*s", (int)why.len, (const char *)why.data);
    CHECK_THAT(strstr(failure, text) != NULL, "\"%s\" does not say \"%s\"", failure, text);
    world_end(&request);
}

static void check_failure_key(struct world *w, const char *name, int64_t want)
{
    struct request request = world_begin(w);
    struct value value;
    int64_t number = 0;

    CHECK(document_find(index_failure_key(find_index(&request, name)), "u", &value));
    CHECK(value_as_int64(value, &number));
    CHECK_EQ(number, want, "the value that two documents have in common");
    world_end(&request);
}

TEST(index_build, a_unique_build_fails_and_says_which_documents_clash)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "");
        for (int i = 10; i < 40; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'u':%d}", i, i == 37 ? 21 : i), OK);
        CHECK_OK(world_index(&w, "c", "u: u unique"));
        (void)engine_build_indexes(w.engine).code;
        check_failure_names(&w, "u", "21");
        check_failure_names(&w, "u", "37");
        check_failure_key(&w, "u", 21);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'u':11}"), OK);
        world_crash(&w);
        check_failure_names(&w, "u", "37");
        CHECK_OK(world_index_drop(&w, "c", "u"));
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':37}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':5}"), OK);
        world_index_built(&w, "c", "u: u unique");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'u':11}"), DUPLICATE_KEY);
        world_close(&w);
    }
}

TEST(index_build, a_build_per_partition_key_looks_for_clashes_within_each)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection_parted(&w, "c", 10, "", "p");
        for (int i = 10; i < 40; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'p':%d,'u':%d,'ttl':99}", i, i, i % 3),
                          OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':41,'p':17,'u':2}"), OK);
        CHECK_OK(world_index(&w, "c", "early: u unique parted"));
        CHECK_OK(engine_build_indexes(w.engine));
        check_failure_names(&w, "early", "17");
        check_failure_names(&w, "early", "41");
        CHECK_OK(world_index_drop(&w, "c", "early"));
        world_at(&w, 10000);
        world_index_built(&w, "c", "u: u unique parted");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':42,'p':17,'u':2}"), DUPLICATE_KEY);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':42,'p':17,'u':1}"), OK);
        world_close(&w);
    }
}

TEST(index_build, a_document_that_cannot_be_indexed_fails_the_build_and_is_named)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int i = 10; i < 30; i++)
        CHECK_WRITTEN(
            world_insert(&w, "c", i == 23 ? "{'_id':%d,'a':[1],'b':[2]}" : "{'_id':%d}", i), OK);
    CHECK_OK(world_index(&w, "c", "pair: a b"));
    (void)engine_build_indexes(w.engine).code;
    check_failure_names(&w, "pair", "23");
    world_close(&w);
}

TEST(index_build, m5_a_failed_ttl_index_ends_nobody)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int i = 0; i < 3; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'at':@0}", i), OK);
    CHECK_OK(world_index(&w, "c", "at: at unique ttl=1"));
    (void)engine_build_indexes(w.engine).code;
    check_failure_names(&w, "at", "1");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'at':@0}"), OK);
    world_at(&w, 100000);
    world_purge(&w);
    CHECK_LIVING(&w, "c", "0 1 2 3");
    world_close(&w);
}

/* Runs the build until the n-th storage call from now fails; true if it got through. */
static bool build_with_fault(struct world *w, uint64_t nth)
{
    storage_faulty_arm(w->storage, nth);
    const status s = engine_build_indexes(w->engine);
    storage_faulty_arm(w->storage, 0);
    storage_faulty_heal(w->storage);
    return s.code == OK;
}

TEST(index_build, a_build_stopped_anywhere_goes_on_after_a_restart)
{
    bool is_through = false;
    for (uint64_t nth = 1; !is_through; nth += 1 + nth / 8) {
        struct world w;
        world_open(&w, ON_MEMORY);
        fill(&w, 150);
        CHECK_OK(world_index(&w, "c", "x: x unique"));
        CHECK_OK(world_index(&w, "c", "at: at ttl=100"));
        is_through = build_with_fault(&w, nth);
        world_crash(&w);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':140,'x':1000,'at':@140000}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':141}"), OK);
        CHECK_OK(engine_build_indexes(w.engine));
        CHECK_EQ(state_of(&w, "x"), INDEX_READY, "fault at call %llu", (unsigned long long)nth);
        world_check(&w);
        CHECK_EQ(world_figures(&w, "c").documents, 149, "");
        world_at(&w, 100000 + 50000);
        CHECK_EQ(world_figures(&w, "c").documents, 149 - 51, "");
        world_close(&w);
        CHECK_THAT(nth < 100000, "the build never gets through");
    }
}

TEST(index_build, a_build_on_disk_goes_on_after_a_crash_in_the_middle)
{
    struct world w;
    world_open(&w, ON_ROCKSDB);
    fill(&w, 300);
    CHECK_OK(world_index(&w, "c", "x: x unique"));
    for (int i = 0; i < 4; i++) {
        CHECK(!build_with_fault(&w, 40));
        world_crash(&w);
        CHECK_EQ(state_of(&w, "x"), INDEX_BUILDING, "");
    }
    CHECK_OK(engine_build_indexes(w.engine));
    CHECK_EQ(state_of(&w, "x"), INDEX_READY, "");
    CHECK_EQ(world_figures(&w, "c").documents, 300, "");
    world_close(&w);
}

TEST(index_build, dropping_a_collection_or_an_index_ends_its_build)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    fill(&w, 100);
    CHECK_OK(world_index(&w, "c", "x: x"));
    CHECK_OK(world_index(&w, "c", "t: t"));
    CHECK_OK(world_index_drop(&w, "c", "x"));
    CHECK_OK(engine_build_indexes(w.engine));
    CHECK_EQ(state_of(&w, "t"), INDEX_READY, "");
    CHECK_OK(world_index(&w, "c", "x: x"));
    CHECK_OK(collection_drop(w.engine, w.arena, BYTES_LITERAL("db"), BYTES_LITERAL("c")));
    CHECK_OK(engine_build_indexes(w.engine));
    world_close(&w);
}
