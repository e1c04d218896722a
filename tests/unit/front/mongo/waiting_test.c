/* Rows that wait with a cursor: each batch has its own now (B-3), and what is dead by then is in none of them (B-4), also
 * where a row is made of several documents.
 *
 * c has documents 0, 1, 2 ... of which the odd ones live ten seconds; d has the same, for stages that look there. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

enum { DOCUMENTS = 8 };

static void fill(struct mongo_face *f)
{
    mongo_face_open(f);
    world_collection(&f->world, "c", TTL_NEVER, "");
    world_collection(&f->world, "d", TTL_NEVER, "");
    for (int i = 0; i < DOCUMENTS; i++) {
        const char *ttl = i % 2 ? ",'ttl':10" : "";
        CHECK_DONE(
            mongo_ask(f, "{'insert':'c','documents':[{'_id':%d,'g':%d,'n':1%s}]}", i, i / 2, ttl));
        CHECK_DONE(mongo_ask(f, "{'insert':'d','documents':[{'_id':%d,'g':%d,'up':%d%s}]}", i,
                             i / 2, i - 1, ttl));
    }
}

static struct mongo_answer open_cursor(struct mongo_face *f, const char *stages, int batch)
{
    struct mongo_answer a =
        mongo_ask(f, "{'aggregate':'c','pipeline':[%s],'cursor':{'batchSize':%d}}", stages, batch);

    CHECK_THAT(a.code == 0, "%s: %s", stages, a.message);
    return a;
}

static struct mongo_answer get_more(struct mongo_face *f, const struct mongo_answer *a, int batch)
{
    const char *size = batch ? arena_format(f->world.arena, ",'batchSize':%d", batch) : "";
    struct mongo_answer more = mongo_ask(f, "{'getMore':{'$numberLong':'%lld'},'collection':'c'%s}",
                                         (long long)mongo_number(a, "cursor.id"), size);

    CHECK_DONE(more);
    return more;
}

/* Everything that comes behind the first batch, after so many milliseconds. */
static const char *rest_after(struct mongo_face *f, const char *stages, int batch, int64_t ms)
{
    struct mongo_answer a = open_cursor(f, stages, batch);

    if (mongo_number(&a, "cursor.id") == 0)
        return "there is none";
    world_pass(&f->world, ms);
    a = get_more(f, &a, 0);
    CHECK_EQ(mongo_number(&a, "cursor.id"), 0, "%s", stages);
    return mongo_text(f, &a, "cursor.nextBatch");
}

static const char *now(struct mongo_face *f, const char *stages)
{
    struct mongo_answer a = open_cursor(f, stages, 1000);

    return mongo_text(f, &a, "cursor.firstBatch");
}

static const char *const mixed[] = {
    "{'$group':{'_id':'$g','n':{'$sum':'$n'},'ids':{'$push':'$_id'}}},{'$sort':{'_id':1}}",
    "{'$count':'n'}",
    "{'$group':{'_id':null,'n':{'$sum':1}}}",
    "{'$facet':{'a':[{'$match':{'_id':{'$gt':2}}},{'$sort':{'_id':1}}],'b':[{'$count':'n'}]}}",
    "{'$bucketAuto':{'groupBy':'$_id','buckets':2}}",
    "{'$setWindowFields':{'sortBy':{'_id':1},'output':{'s':{'$sum':'$n','window':{'documents':"
    "['unbounded','current']}}}}}",
    "{'$densify':{'field':'_id','range':{'step':1,'bounds':'full'}}},{'$project':{'_id':1}}",
    "{'$lookup':{'from':'d','localField':'g','foreignField':'g','as':'o'}},{'$sort':{'_id':1}},"
    "{'$skip':0}",
    "{'$lookup':{'from':'d','localField':'g','foreignField':'g','as':'o'}},{'$unwind':'$o'},"
    "{'$sort':{'_id':1,'o._id':1}}",
    "{'$lookup':{'from':'d','let':{'g':'$g'},'pipeline':[{'$match':{'$expr':{'$eq':['$g','$$g']}}},"
    "{'$count':'n'}],'as':'o'}},{'$sort':{'_id':1}},{'$skip':0}",
    "{'$graphLookup':{'from':'d','startWith':'$_id','connectFromField':'up','connectToField':'_id',"
    "'as':'o','maxDepth':2}},{'$set':{'o':{'$sortArray':{'input':'$o','sortBy':{'_id':1}}}}},"
    "{'$sort':{'_id':1}},{'$skip':0}",
    "{'$unionWith':'d'},{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_id':1}}",
    "{'$match':{'_id':{'$lt':2}}},{'$unionWith':{'coll':'d','pipeline':[{'$group':{'_id':'$g','n':"
    "{'$sum':1}}},{'$sort':{'_id':1}}]}}",
    "{'$lookup':{'from':'d','pipeline':[{'$unionWith':'c'},{'$count':'n'}],'as':'o'}},"
    "{'$sort':{'_id':1}},{'$skip':0}",
};

TEST(mongo_waiting, rows_b_3_and_b_4_of_several_documents_are_made_of_those_who_live_at_their_batch)
{
    EACH_ROW(mixed, stages) {
        struct mongo_face f;
        fill(&f);
        const char *before = now(&f, *stages), *rest = rest_after(&f, *stages, 0, 10000);
        CHECK_THAT(strcmp(rest, now(&f, *stages)) == 0, "%s: %s, a new one: %s", *stages, rest,
                   now(&f, *stages));
        CHECK_THAT(strcmp(rest, before) != 0, "%s: nobody is missed in %s", *stages, rest);
        mongo_face_close(&f);
    }
}

TEST(mongo_waiting, rows_b_3_wait_as_they_are_until_somebody_may_have_died)
{
    EACH_ROW(mixed, stages) {
        struct mongo_face f;
        fill(&f);
        const char *before = now(&f, *stages);
        struct mongo_answer a = open_cursor(&f, *stages, 0);
        world_pass(&f.world, 9000);
        /* What is written elsewhere concerns nobody. */
        CHECK_DONE(mongo_ask(&f, "{'insert':'e','documents':[{'_id':100,'g':1}]}"));
        a = get_more(&f, &a, 0);
        CHECK_THAT(strcmp(mongo_text(&f, &a, "cursor.nextBatch"), before) == 0, "%s: %s, was %s",
                   *stages, mongo_text(&f, &a, "cursor.nextBatch"), before);
        mongo_face_close(&f);
    }
}

TEST(mongo_waiting, groups_that_were_given_do_not_come_again_when_others_are_made_anew)
{
    static const char stages[] = "{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_id':1}}";
    struct mongo_face f;

    fill(&f);
    struct mongo_answer a = open_cursor(&f, stages, 1);
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":0,\"n\":2}]");
    world_pass(&f.world, 10000);
    a = get_more(&f, &a, 1);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":1,\"n\":1}]");
    /* Once more: what the first two batches gave is known. */
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':20,'g':9,'ttl':5}]}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'name':'x','key':{'x':1}}]}"));
    a = get_more(&f, &a, 1);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":2,\"n\":1}]");
    a = get_more(&f, &a, 0);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"),
                 "[{\"_id\":3,\"n\":1},{\"_id\":9,\"n\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_waiting, groups_of_a_union_are_not_those_of_the_same_id_before_it)
{
    static const char stages[] = "{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_id':1}},"
                                 "{'$unionWith':{'coll':'u','pipeline':[{'$group':{'_id':'$g'}}]}}";
    struct mongo_face f;

    fill(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'u','documents':[{'_id':1,'g':0}]}"));
    struct mongo_answer a = open_cursor(&f, stages, 1);
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":0,\"n\":2}]");
    world_pass(&f.world, 10000);
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'g':0},'limit':0}]}"));
    a = get_more(&f, &a, 0);
    const char *rest = mongo_text(&f, &a, "cursor.nextBatch");
    CHECK_THAT(strstr(rest, "{\"_id\":0}"), "the group of the union is left out: %s", rest);
    mongo_face_close(&f);
}

TEST(mongo_waiting, elements_of_an_array_that_were_given_do_not_come_again_and_others_do)
{
    static const char stages[] =
        "{'$match':{'_id':0}},{'$lookup':{'from':'d','pipeline':[{'$sort':{'_id':1}},{'$project':"
        "{'_id':1}}],'as':'o'}},{'$unwind':'$o'},{'$project':{'o':1}}";
    struct mongo_face f;

    fill(&f);
    struct mongo_answer a = open_cursor(&f, stages, 2);
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"),
                 "[{\"_id\":0,\"o\":{\"_id\":0}},{\"_id\":0,\"o\":{\"_id\":1}}]");
    world_pass(&f.world, 10000);
    a = get_more(&f, &a, 0);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"),
                 "[{\"_id\":0,\"o\":{\"_id\":2}},{\"_id\":0,\"o\":{\"_id\":4}},"
                 "{\"_id\":0,\"o\":{\"_id\":6}}]");
    mongo_face_close(&f);
}

TEST(mongo_waiting, a_limit_holds_though_others_take_the_place_of_the_dead)
{
    static const char stages[] =
        "{'$group':{'_id':'$_id','n':{'$sum':1}}},{'$sort':{'_id':1}},{'$limit':4}";
    struct mongo_face f;

    fill(&f);
    struct mongo_answer a = open_cursor(&f, stages, 2);
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"),
                 "[{\"_id\":0,\"n\":1},{\"_id\":1,\"n\":1}]");
    world_pass(&f.world, 10000);
    a = get_more(&f, &a, 0);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"),
                 "[{\"_id\":2,\"n\":1},{\"_id\":4,\"n\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_waiting, a_changed_policy_b_6_reaches_rows_that_wait)
{
    static const char stages[] = "{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_id':1}}";
    struct mongo_face f;

    fill(&f);
    CHECK_DONE(mongo_ask(
        &f, "{'insert':'t','documents':[{'_id':1,'g':1,'at':{'$date':{'$numberLong':'0'}}},"
            "{'_id':2,'g':1},{'_id':3,'g':2}]}"));
    struct mongo_answer a =
        mongo_ask(&f, "{'aggregate':'t','pipeline':[%s],'cursor':{'batchSize':0}}", stages);
    CHECK_DONE(a);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'t','indexes':[{'name':'at','key':{'at':1},"
                             "'expireAfterSeconds':0}]}"));
    a = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'t'}",
                  (long long)mongo_number(&a, "cursor.id"));
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"),
                 "[{\"_id\":1,\"n\":1},{\"_id\":2,\"n\":1}]");
    mongo_face_close(&f);
}

/* Groups, elements and buckets are told apart by what they are made of, not by what later stages leave of them. */
TEST(mongo_waiting, rows_without_an_id_are_neither_lost_nor_repeated_when_they_are_made_anew)
{
    static const struct {
        const char *stages, *rest;
    } cases[] = {
        {"{'$match':{'_id':{'$in':[1,2,4,6]}}},{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_"
          "id':1}},"
          "{'$project':{'_id':0,'k':'$_id'}}",                                                    "[{\"k\":1},{\"k\":2},{\"k\":3}]"                                          },
        { "{'$match':{'_id':{'$in':[1,2,4,6]}}},{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_"
          "id':1}},"
          "{'$project':{'_id':'x','k':'$_id'}}",                                                  "[{\"_id\":\"x\",\"k\":1},{\"_id\":\"x\",\"k\":2},{\"_id\":\"x\",\"k\":3}]"},
        { "{'$match':{'_id':0}},{'$lookup':{'from':'d','pipeline':[{'$match':{'_id':{'$in':[1,2,4,"
          "6]}}},"
          "{'$sort':{'_id':1}}],'as':'o'}},{'$unwind':'$o'},{'$project':{'_id':0,'k':'$o._id'}}", "[{\"k\":2},{\"k\":4},{\"k\":6}]"                                          },
        { "{'$match':{'_id':0}},{'$lookup':{'from':'d','pipeline':[{'$match':{'_id':{'$in':[1,2,4,"
          "6]}}},"
          "{'$sort':{'_id':1}},{'$project':{'g':1,'_id':0}}],'as':'o'}},{'$unwind':'$o'},"
          "{'$replaceRoot':{'newRoot':'$o'}}",                                                    "[{\"g\":1},{\"g\":2},{\"g\":3}]"                                          },
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct mongo_face f;
        fill(&f);
        CHECK_STRING(rest_after(&f, cases[i].stages, 1, 10000), cases[i].rest);
        mongo_face_close(&f);
    }
}

TEST(mongo_waiting, rows_b_4_are_made_anew_if_an_update_has_brought_a_death_forward)
{
    static const char group[] = "{'$group':{'_id':null,'n':{'$sum':1}}}";
    static const char lookup[] = "{'$match':{'_id':0}},{'$sort':{'_id':1}},{'$lookup':{'from':'d','"
                                 "pipeline':[{'$count':'n'}],"
                                 "'as':'o'}},{'$project':{'_id':0,'n':{'$first':'$o.n'}}}";
    static const char *const all[] = { group, lookup };

    for (size_t i = 0; i < ARRAY_COUNT(all); i++) {
        struct mongo_face f;
        fill(&f);
        struct mongo_answer a = open_cursor(&f, all[i], 0);
        CHECK_DONE(mongo_ask(&f,
                             "{'update':'%s','updates':[{'q':{'_id':2},'u':{'$set':{'ttl':2}}}]}",
                             i == 0 ? "c" : "d"));
        world_pass(&f.world, 3000);
        a = get_more(&f, &a, 0);
        CHECK_EQ(mongo_number(&a, "cursor.nextBatch.0.n"), DOCUMENTS - 1, "%s", all[i]);
        mongo_face_close(&f);
    }
}

TEST(mongo_waiting, rows_that_nobody_died_in_need_neither_their_collection_nor_its_indexes_any_more)
{
    static const char stages[] = "{'$group':{'_id':'$g','n':{'$sum':1}}},{'$sort':{'_id':1}}";
    struct mongo_face f;

    fill(&f);
    struct mongo_answer a = open_cursor(&f, stages, 3);
    CHECK_DONE(mongo_ask(&f, "{'create':'unrelated'}"));
    CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    a = get_more(&f, &a, 0);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":3,\"n\":2}]");
    mongo_face_close(&f);
}

/* ---- at random -------------------------------------------------------------------------------------- */

enum { MANY = 80, GROUPS = 25, BATCHES_MAX = 60 };

/* Each row of the batch is the one that a new aggregation gives now, and none came before. */
static void compare(struct mongo_face *f, const struct mongo_answer *a, const char *batch,
                    bool *is_given)
{
    char path[64];

    for (int i = 0;; i++) {
        snprintf(path, sizeof(path), "cursor.%s.%d._id", batch, i);
        if (mongo_text(f, a, path)[0] == '\0')
            return;
        int group = (int)mongo_number(a, path);
        CHECK_THAT(!is_given[group], "group %d comes twice", group);
        is_given[group] = true;
        snprintf(path, sizeof(path), "cursor.%s.%d", batch, i);
        const char *fresh = now(f, arena_format(f->world.arena,
                                                "{'$match':{'g':%d}},{'$group':{'_id':'$g','n':"
                                                "{'$sum':'$n'}}}",
                                                group));
        CHECK_THAT(strncmp(fresh + 1, mongo_text(f, a, path), strlen(fresh) - 2) == 0,
                   "given %s, now %s", mongo_text(f, a, path), fresh);
    }
}

TEST(mongo_waiting, random_groups_b_4_are_always_those_of_the_living)
{
    EACH_SEED(seed, 6) {
        struct random random = random_seeded(seed);
        bool is_given[GROUPS] = { false };
        struct mongo_face f;
        mongo_face_open(&f);
        world_collection(&f.world, "c", TTL_NEVER, "");
        for (int i = 0; i < MANY; i++)
            CHECK_DONE(mongo_ask(
                &f, "{'insert':'c','documents':[{'_id':%d,'g':%d,'n':%d,'ttl':%d}]}", i,
                (int)random_below(&random, GROUPS), i, 1 + (int)random_below(&random, 15)));
        struct mongo_answer a = open_cursor(&f, "{'$group':{'_id':'$g','n':{'$sum':'$n'}}}",
                                            (int)random_below(&random, 4));
        compare(&f, &a, "firstBatch", is_given);
        for (int i = 0; mongo_number(&a, "cursor.id") != 0; i++) {
            CHECK(i < BATCHES_MAX);
            if (random_chance(&random, 50))
                world_pass(&f.world, 1000);
            a = get_more(&f, &a, 1 + (int)random_below(&random, 3));
            compare(&f, &a, "nextBatch", is_given);
        }
        a = open_cursor(&f, "{'$group':{'_id':'$g'}}", 1000);
        for (int i = 0;; i++) {
            const char *path = arena_format(f.world.arena, "cursor.firstBatch.%d._id", i);
            if (mongo_text(&f, &a, path)[0] == '\0')
                break;
            CHECK(is_given[mongo_number(&a, path)]);
        }
        mongo_face_close(&f);
    }
}
