/* The monitor of TTL indexes is fair to collections. */
#include "tests/support/mongo_face.h"

enum { BACKLOG = 3000, FEW = 5, CALLS_MAX = 400 };

static void make_collection(struct mongo_face *f, const char *name)
{
    CHECK_DONE(mongo_ask(f,
                         "{'createIndexes':'%s','indexes':[{'key':{'d':1},'name':'d_1',"
                         "'expireAfterSeconds':10}]}",
                         name));
}

/* Documents that are due at this moment of the world, each with a date of its
 * own. */
static void insert_due(struct mongo_face *f, const char *name, int count, int64_t at)
{
    for (int i = 0; i < count; i++)
        CHECK_DONE(mongo_ask(f,
                             "{'insert':'%s','documents':[{'_id':{'at':%lld,'i':%d},'d':@%lld}]}",
                             name, (long long)at, i, (long long)(at - 10000 - i % 3)));
}

static uint64_t dead_in(struct mongo_face *f, const char *name)
{
    const struct collection *collection;
    struct collection_figures figures;
    struct request request;

    CHECK_OK(request_begin(f->world.engine, f->world.arena, &request));
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), bytes_of_text(name), &collection));
    CHECK_OK(collection_figures(&request, collection, &figures));
    request_end(&request);
    return figures.dead_documents;
}

TEST(mongo_ttl_monitor, M_6_a_backlog_of_one_collection_does_not_starve_another)
{
    struct mongo_face f;

    mongo_face_open(&f);
    make_collection(&f, "big");
    make_collection(&f, "small");
    insert_due(&f, "big", BACKLOG, 20000);
    insert_due(&f, "small", FEW, 20000);
    world_pass(&f.world, 21000);
    CHECK_EQ(dead_in(&f, "small"), FEW, "");
    world_purge(&f.world);
    CHECK_EQ(dead_in(&f, "small"), 0, "the small one was visited in the same pass");
    CHECK_EQ(dead_in(&f, "big"), 0, "");
    mongo_face_close(&f);
}

/* Every storage call of a pass fails once; whichever collection it hits, the
 * other one is purged. */
TEST(mongo_ttl_monitor, M_6_an_error_in_one_collection_does_not_stop_the_others)
{
    struct purge_result result;
    struct mongo_face f;
    uint64_t nth = 1, hit = 0;
    bool is_hit = true;

    mongo_face_open(&f);
    make_collection(&f, "one");
    make_collection(&f, "two");
    for (; is_hit && nth < CALLS_MAX; nth++) {
        int64_t due = world_now(&f.world) + 20000;
        insert_due(&f, "one", FEW, due);
        insert_due(&f, "two", FEW, due);
        world_pass(&f.world, 21000);
        storage_faulty_arm(f.world.storage, nth);
        bool is_failed = engine_purge(f.world.engine, &result).code != OK;
        is_hit = storage_faulty_calls(f.world.storage) >= nth;
        storage_faulty_heal(f.world.storage);
        storage_faulty_arm(f.world.storage, 0);
        /* A commit that fails ends all writes, until a restart. */
        if (engine_writes_stopped(f.world.engine)[0]) {
            mongo_face_restart(&f);
            world_purge(&f.world);
            continue;
        }
        uint64_t left = dead_in(&f, "one") + dead_in(&f, "two");
        CHECK_THAT(left <= FEW, "call %llu failed and %llu documents are left",
                   (unsigned long long)nth, (unsigned long long)left);
        hit += is_failed;
        world_pass(&f.world, 60000);
        world_purge(&f.world);
        CHECK_EQ(dead_in(&f, "one") + dead_in(&f, "two"), 0, "the next pass brings it to an end");
    }
    CHECK_THAT(hit > 0, "some call failed");
    CHECK_THAT(nth < CALLS_MAX, "a pass ends");
    mongo_face_close(&f);
}

/* What another client sees at the moment when a document is removed. */
struct onlooker {
    struct mongo_face *f;
    int rows;
};

static void look_on(void *context, const struct death *death)
{
    struct onlooker *onlooker = context;
    struct mongo_answer answer =
        mongo_ask(onlooker->f, "{'currentOp':1,'$all':true,'desc':'TTLMonitor','$db':'admin'}");

    (void)death;
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(onlooker->f, &answer, "inprog.0.ns"), "\"db.c\"");
    onlooker->rows += mongo_text(onlooker->f, &answer, "inprog.0")[0] != '\0';
}

TEST(mongo_ttl_monitor, M_7_the_purger_is_seen_while_it_removes_documents)
{
    struct mongo_face f;
    struct onlooker onlooker = { .f = &f };

    mongo_face_open(&f);
    make_collection(&f, "c");
    insert_due(&f, "c", FEW, 20000);
    struct request request = world_begin(&f.world);
    uint32_t id = world_find(&request, "c")->id;
    world_end(&request);
    CHECK_OK(engine_read_deaths(f.world.engine, id, look_on, &onlooker));
    world_pass(&f.world, 21000);
    world_purge(&f.world);
    CHECK_EQ(onlooker.rows, FEW, "");
    struct mongo_answer answer =
        mongo_ask(&f, "{'currentOp':1,'$all':true,'desc':'TTLMonitor','$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog"), "[]");
    CHECK_OK(engine_read_deaths(f.world.engine, id, NULL, NULL));
    mongo_face_close(&f);
}
