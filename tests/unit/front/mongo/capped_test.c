/* Capped collections: their bounds, their order, their cursors that wait, and what they are made of. */
#include <pthread.h>

#include "engine/state.h"
#include "tests/support/mongo_face.h"

static const char *ids_of(struct mongo_face *f, const char *rest)
{
    struct mongo_answer a = mongo_ask(f, "{'find':'c','projection':{'_id':1}%s}", rest);

    CHECK_DONE(a);
    return mongo_text(f, &a, "cursor.firstBatch");
}

static void insert_ids(struct mongo_face *f, const char *name, int first, int last)
{
    int step = first <= last ? 1 : -1;

    for (int id = first; id != last + step; id += step)
        CHECK_DONE(mongo_ask(f, "{'insert':'%s','documents':[{'_id':%d}]}", name, id));
}

TEST(mongo_capped, the_newest_stay_in_the_order_in_which_they_came)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':4096,'max':3}"));
    insert_ids(&f, "c", 9, 5);
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":7},{\"_id\":6},{\"_id\":5}]");
    CHECK_STRING(ids_of(&f, ",'sort':{'$natural':-1}"), "[{\"_id\":5},{\"_id\":6},{\"_id\":7}]");
    CHECK_STRING(ids_of(&f, ",'hint':{'$natural':1},'filter':{'_id':{'$gt':5}}"),
                 "[{\"_id\":7},{\"_id\":6}]");
    CHECK_STRING(ids_of(&f, ",'sort':{'_id':1}"), "[{\"_id\":5},{\"_id\":6},{\"_id\":7}]");
    CHECK_DONE(
        mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':7},'u':{'$set':{'x':'long'}}}]}"));
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":7},{\"_id\":6},{\"_id\":5}]");
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':6},'limit':1}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":5},{\"_id\":1},{\"_id\":2}]");
    mongo_face_restart(&f);
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":5},{\"_id\":1},{\"_id\":2}]");
    struct mongo_answer a = mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$project':{'_id':1}}],"
                                          "'cursor':{}}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":5},{\"_id\":1},{\"_id\":2}]");
    mongo_face_close(&f);
}

TEST(mongo_capped, bytes_are_bounded_and_upserts_count)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':300}"));
    for (int i = 0; i < 30; i++) {
        CHECK_DONE(mongo_ask(&f,
                             "{'update':'c','updates':[{'q':{'_id':%d},'u':{'$set':{'t':'%040d'}},"
                             "'upsert':true}]}",
                             i, i));
        struct mongo_answer a = mongo_ask(&f, "{'collStats':'c'}");
        CHECK_THAT(mongo_number(&a, "size") <= 512, "after %d", i);
        CHECK_EQ(mongo_number(&a, "maxSize"), 512, "rounded up");
        CHECK_STRING(mongo_text(&f, &a, "capped"), "true");
        CHECK_EQ(mongo_number(&a, "nindexes"), 1, "");
    }
    CHECK_STRING(mongo_found(&f, "c", "{'_id':0}"), "[]");
    struct mongo_answer a = mongo_ask(&f, "{'insert':'c','documents':[{'t':'%0600d'}]}", 0);
    CHECK_EQ(mongo_number(&a, "n"), 0, "too large for the collection");
    CHECK_EQ(mongo_number(&a, "writeErrors.0.index"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_capped, options_are_checked_and_listed)
{
    const struct {
        const char *options;
        int code;
    } rows[] = {
        {"'capped':true",                             72},
        { "'size':100",                               72},
        { "'capped':true,'size':0",                   2 },
        { "'capped':true,'size':-5",                  2 },
        { "'capped':true,'size':10,'max':2147483647", 2 },
        { "'capped':true,'size':1,'max':0",           0 },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "{'create':'c','%s}", r->options + 1), r->code);
    struct mongo_answer a = mongo_ask(&f, "{'listCollections':1}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.options"),
                 "{\"capped\":true,\"size\":256}");
    CHECK_DONE(mongo_ask(&f, "{'collMod':'c','cappedSize':1000,'cappedMax':2}"));
    a = mongo_ask(&f, "{'listCollections':1}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.options"),
                 "{\"capped\":true,\"size\":1024,\"max\":2}");
    a = mongo_ask(&f, "{'listIndexes':'c'}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.1"), "");
    insert_ids(&f, "c", 1, 5);
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":4},{\"_id\":5}]");
    CHECK_DONE(mongo_ask(&f, "{'collMod':'c','cappedMax':1}"));
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":5}]");
    CHECK_FAULT(mongo_ask(&f, "{'collMod':'c','cappedSize':0}"), 2);
    CHECK_DONE(mongo_ask(&f, "{'create':'plain'}"));
    CHECK_FAULT(mongo_ask(&f, "{'collMod':'plain','cappedMax':3}"), 72);
    CHECK_FAULT(mongo_ask(&f, "{'find':'plain','tailable':true}"), 2);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','awaitData':true}"), 9);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','tailable':true,'sort':{'_id':1}}"), 2);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','tailable':true,'singleBatch':true}"), 9);
    mongo_face_close(&f);
}

TEST(mongo_capped, documents_of_a_capped_collection_die_on_time)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':4096,'max':2}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'d':1},'name':'d_1',"
                             "'expireAfterSeconds':10}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2,'d':@0}]}"));
    world_pass(&f.world, 10000);
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":1}]");
    insert_ids(&f, "c", 3, 3);
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":1},{\"_id\":3}]");
    insert_ids(&f, "c", 4, 4);
    CHECK_STRING(ids_of(&f, ""), "[{\"_id\":3},{\"_id\":4}]");
    mongo_face_close(&f);
}

TEST(mongo_capped, a_collection_is_converted_and_cloned)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (int id = 40; id > 0; id--)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'t':'%030d'}]}", id, id));
    CHECK_DONE(mongo_ask(&f, "{'cloneCollectionAsCapped':'c','toCollection':'d','size':512}"));
    CHECK_FAULT(mongo_ask(&f, "{'cloneCollectionAsCapped':'c','toCollection':'d','size':512}"), 48);
    CHECK_FAULT(mongo_ask(&f, "{'cloneCollectionAsCapped':'no','toCollection':'e','size':9}"), 26);
    struct mongo_answer a = mongo_ask(&f, "{'collStats':'d'}");
    CHECK_THAT(mongo_number(&a, "size") <= 512, "bounded");
    CHECK_THAT(mongo_number(&a, "count") >= 7, "and not empty");
    CHECK_DONE(mongo_ask(&f, "{'convertToCapped':'c','size':512}"));
    a = mongo_ask(&f, "{'collStats':'c'}");
    CHECK_THAT(mongo_number(&a, "size") <= 512, "bounded at once");
    CHECK_STRING(mongo_text(&f, &a, "capped"), "true");
    const char *ids = ids_of(&f, ",'sort':{'$natural':-1},'limit':2");
    CHECK_STRING(ids, "[{\"_id\":1},{\"_id\":2}]");
    CHECK_FAULT(mongo_ask(&f, "{'convertToCapped':'no','size':512}"), 26);
    mongo_face_close(&f);
}

/* ---- cursors that wait ------------------------------------------------------------------------------ */

static struct mongo_answer more(struct mongo_face *f, int64_t id, const char *rest)
{
    return mongo_ask(f, "{'getMore':{'$numberLong':'%lld'},'collection':'c'%s}", (long long)id,
                     rest);
}

TEST(mongo_capped, a_tailable_cursor_goes_on_when_more_has_come)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':4096,'max':4}"));
    insert_ids(&f, "c", 9, 8);
    struct mongo_answer a = mongo_ask(&f, "{'find':'c','tailable':true,'batchSize':1}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":9}]");
    int64_t id = mongo_number(&a, "cursor.id");
    a = more(&f, id, "");
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":8}]");
    a = more(&f, id, "");
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[]");
    CHECK_EQ(mongo_number(&a, "cursor.id"), id, "it lives");
    insert_ids(&f, "c", 3, 4);
    a = more(&f, id, "");
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":3},{\"_id\":4}]");
    CHECK_FAULT(more(&f, id, ",'maxTimeMS':5"), 2);
    a = mongo_ask(&f, "{'find':'c','tailable':true}");
    id = mongo_number(&a, "cursor.id");
    insert_ids(&f, "c", 10, 14);
    CHECK_FAULT(more(&f, id, ""), 136);
    CHECK_FAULT(more(&f, id, ""), 43);
    mongo_face_close(&f);
}

struct waiter {
    struct mongo_face *f;
    pthread_t thread;
};

static unsigned waiting_count(struct mongo *face)
{
    unsigned count = 0;

    for (size_t i = 0; i < TAIL_BELLS; i++)
        count += atomic_load(&face->tails.bells[i].waiting);
    return count;
}

static void *insert_later(void *context)
{
    struct waiter *waiter = context;
    struct mongo *face = waiter->f->face;

    /* Whoever waits has said so. */
    while (waiting_count(face) == 0)
        sched_yield();
    CHECK_EQ(request_count(waiter->f->world.engine), 0, "who waits holds nothing back");
    CHECK_WRITTEN(world_insert(&waiter->f->world, "c", "{'_id':77}"), OK);
    return NULL;
}

TEST(mongo_capped, a_cursor_that_awaits_is_woken_by_an_insert)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':4096}"));
    insert_ids(&f, "c", 1, 1);
    struct mongo_answer a = mongo_ask(&f, "{'find':'c','tailable':true,'awaitData':true}");
    int64_t id = mongo_number(&a, "cursor.id");
    struct waiter waiter = { .f = &f };
    CHECK(pthread_create(&waiter.thread, NULL, insert_later, &waiter) == 0);
    a = more(&f, id, ",'maxTimeMS':60000");
    pthread_join(waiter.thread, NULL);
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":77}]");
    a = more(&f, id, ",'maxTimeMS':1");
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[]");
    CHECK_EQ(mongo_number(&a, "cursor.id"), id, "its time was over");
    mongo_face_close(&f);
}

static void *insert_many_later(void *context)
{
    struct waiter *waiter = context;
    struct mongo *face = waiter->f->face;

    for (int i = 0; i < 400; i++) {
        while (waiting_count(face) == 0)
            sched_yield();
        CHECK_WRITTEN(world_insert(&waiter->f->world, "c", "{'_id':%d,'a':%d}", i, i == 399), OK);
    }
    return NULL;
}

TEST(mongo_capped, a_cursor_that_looks_often_needs_no_more_memory)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':4096000}"));
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':1000,'a':1}"), OK);
    struct mongo_answer a =
        mongo_ask(&f, "{'find':'c','filter':{'a':1},'tailable':true,'awaitData':true}");
    int64_t id = mongo_number(&a, "cursor.id");
    struct waiter waiter = { .f = &f };
    CHECK(pthread_create(&waiter.thread, NULL, insert_many_later, &waiter) == 0);
    a = more(&f, id, ",'maxTimeMS':60000");
    pthread_join(waiter.thread, NULL);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":399,\"a\":1}]");
    CHECK_THAT(a.used_bytes < 100000, "%zu bytes", a.used_bytes);
    mongo_face_close(&f);
}

static uint32_t id_of(struct mongo_face *f, const char *name)
{
    const struct collection *collection;
    struct request request;

    CHECK_OK(request_begin(f->world.engine, f->world.arena, &request));
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), bytes_of_text(name), &collection));
    uint32_t id = collection->id;
    request_end(&request);
    return id;
}

TEST(mongo_capped, a_cursor_that_awaits_sleeps_on_while_others_get_documents)
{
    const char *const names[] = { "c", "d" };
    struct mongo_face f;
    uint64_t rung[ARRAY_COUNT(names)];

    mongo_face_open(&f);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        CHECK_DONE(mongo_ask(&f, "{'create':'%s','capped':true,'size':4096}", names[i]));
    for (size_t round = 0; round < ARRAY_COUNT(names); round++) {
        CHECK_DONE(mongo_ask(&f, "{'insert':'%s','documents':[{},{}]}", names[round]));
        for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
            uint64_t count = atomic_load(&tail_bell_of(f.face, id_of(&f, names[i]))->count);
            if (round > 0)
                CHECK_EQ(count - rung[i], i == round, "%s", names[i]);
            rung[i] = count;
        }
    }
    mongo_face_close(&f);
}

TEST(mongo_capped, cursors_end_when_they_lie_idle_too_long)
{
    struct mongo_face f;

    mongo_face_open(&f);
    insert_ids(&f, "c", 1, 5);
    struct mongo_answer a = mongo_ask(&f, "{'find':'c','batchSize':1}");
    struct mongo_answer kept = mongo_ask(&f, "{'find':'c','batchSize':1,'noCursorTimeout':true}");
    world_pass(&f.world, 599999);
    a = more(&f, mongo_number(&a, "cursor.id"), ",'batchSize':1");
    CHECK_DONE(a);
    world_pass(&f.world, 600000);
    CHECK_FAULT(more(&f, mongo_number(&a, "cursor.id"), ""), 43);
    CHECK_DONE(more(&f, mongo_number(&kept, "cursor.id"), ",'batchSize':1"));
    CHECK_DONE(mongo_ask(&f, "{'setParameter':1,'cursorTimeoutMillis':5000,'$db':'admin'}"));
    a = mongo_ask(&f, "{'find':'c','batchSize':1}");
    world_pass(&f.world, 5000);
    CHECK_FAULT(more(&f, mongo_number(&a, "cursor.id"), ""), 43);
    mongo_face_close(&f);
}
