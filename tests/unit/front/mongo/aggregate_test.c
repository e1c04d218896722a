/* Pipelines through the command: batches, counts, missing collections, what dies in between. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

static struct mongo_answer aggregate(struct mongo_face *f, const char *stages, const char *cursor)
{
    return mongo_ask(f, "{'aggregate':'c','pipeline':[%s],'cursor':{%s}}", stages, cursor);
}

static void fill(struct mongo_face *f, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_DONE(
            mongo_ask(f, "{'insert':'c','documents':[{'_id':%d,'k':%d,'l':[1,2]}]}", i, i % 3));
}

TEST(mongo_aggregate, documents_are_counted_and_grouped)
{
    struct mongo_face f;

    mongo_face_open(&f);
    fill(&f, 10);
    struct mongo_answer answer = aggregate(&f, "{'$match':{}},{'$group':{'_id':1,'n':{'$sum':1}}}",
                                           "");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"_id\":1,\"n\":10}]");
    answer = aggregate(&f,
                       "{'$match':{'_id':{'$gt':2}}},{'$group':{'_id':'$k','n':{'$sum':1}}},"
                       "{'$sort':{'_id':1}}",
                       "");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"_id\":0,\"n\":3},{\"_id\":1,\"n\":2},{\"_id\":2,\"n\":2}]");
    answer = mongo_ask(&f, "{'aggregate':'missing','pipeline':[{'$match':{}},"
                           "{'$group':{'_id':1,'n':{'$sum':1}}}],'cursor':{}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[]");
    mongo_face_close(&f);
}

/* Fifty documents of a hundred, or a hundred numbers: the same twice is no chance. */
TEST(mongo_aggregate, random_numbers_are_others_in_every_command_and_row)
{
    static const char *const random[] = {
        "{'$sample':{'size':50}},{'$project':{'_id':1}}",
        "{'$project':{'r':{'$rand':{}}}}",
        "{'$group':{'_id':{'$rand':{}},'n':{'$sum':1}}}",
        "{'$match':{'$expr':{'$lt':[{'$rand':{}},0.5]}}},{'$project':{'_id':1}}",
        "{'$lookup':{'from':'c','as':'l','pipeline':[{'$sample':{'size':9}},{'$project':{'_id':1}}]"
        "}}",
    };
    struct mongo_face f;

    mongo_face_open(&f);
    fill(&f, 100);
    EACH_ROW(random, stages) {
        struct mongo_answer first = aggregate(&f, *stages, ""), second = aggregate(&f, *stages, "");
        CHECK_DONE(first);
        CHECK_DONE(second);
        CHECK_THAT(strcmp(mongo_text(&f, &first, "cursor.firstBatch"),
                          mongo_text(&f, &second, "cursor.firstBatch")) != 0,
                   "%s", *stages);
    }
    struct mongo_answer rows = aggregate(&f, random[1], "");
    CHECK(strcmp(mongo_text(&f, &rows, "cursor.firstBatch.0.r"),
                 mongo_text(&f, &rows, "cursor.firstBatch.1.r")) != 0);
    mongo_face_close(&f);
}

/* All rows of a pipeline, fetched two by two; between batches time passes. */
static int fetch_all(struct mongo_face *f, const char *stages, int64_t pass_ms)
{
    struct mongo_answer answer = aggregate(f, stages, "'batchSize':2");
    const char *batch = "cursor.firstBatch";
    char path[64];
    int count = 0;

    for (int page = 0; page < 50; page++) {
        CHECK_DONE(answer);
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof(path), "%s.%d", batch, i);
            count += mongo_text(f, &answer, path)[0] != '\0';
        }
        long long id = (long long)mongo_number(&answer, "cursor.id");
        if (id == 0)
            break;
        world_pass(&f->world, pass_ms);
        answer = mongo_ask(f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':2}",
                           id);
        batch = "cursor.nextBatch";
    }
    return count;
}

TEST(mongo_aggregate, batches_give_every_row_once)
{
    const struct {
        const char *stages;
        int count;
    } rows[] = {
        {"",                                             10},
        { "{'$match':{'k':0}},{'$project':{'k':1}}",     4 },
        { "{'$sort':{'k':-1}},{'$addFields':{'x':1}}",   10},
        { "{'$sort':{'k':-1}},{'$skip':3},{'$limit':5}", 5 },
        { "{'$unwind':'$l'}",                            20},
        { "{'$group':{'_id':'$_id'}}",                   10},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    fill(&f, 10);
    EACH_ROW(rows, r)
        CHECK_EQ(fetch_all(&f, r->stages, 0), r->count, "%s", r->stages);
    mongo_face_close(&f);
}

TEST(mongo_aggregate, rows_of_documents_that_died_between_batches_are_not_given)
{
    const char *const rows[] = {
        "",
        "{'$project':{'k':1}}",
        "{'$sort':{'k':-1}}",
        "{'$sort':{'k':-1}},{'$limit':9}",
        "{'$match':{'k':{'$gte':0}}},{'$skip':1}",
    };

    EACH_ROW(rows, r) {
        struct mongo_face f;
        mongo_face_open(&f);
        world_collection(&f.world, "c", 10, "");
        fill(&f, 10);
        CHECK_EQ(fetch_all(&f, *r, 10000), 2, "%s", *r);
        mongo_face_close(&f);
    }
}

TEST(mongo_aggregate, documents_may_come_with_the_command)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'aggregate':1,'pipeline':[{'$documents':[{'a':1},{'a':2}]},"
                      "{'$match':{'a':2}}],'cursor':{}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"a\":2}]");
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':1,'pipeline':[{'$match':{}}],'cursor':{}}"),
                ERROR_InvalidNamespace);
    /* Rights are judged by one of them, and the other would be run. */
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$documents':[]}],"
                              "'pipeline':[{'$match':{}}],'cursor':{}}"),
                40413);
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$nonsense':1}],'cursor':{}}"), 40324);
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','pipeline':[]}"), ERROR_FailedToParse);
    mongo_face_close(&f);
}

TEST(mongo_aggregate, a_list_without_documents_gives_none)
{
    struct mongo_face f;

    mongo_face_open(&f);
    fill(&f, 2);
    struct mongo_answer answer =
        mongo_ask(&f, "{'aggregate':1,'pipeline':[{'$documents':[]}],'cursor':{}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[]");
    answer = aggregate(&f, "{'$planCacheStats':{}}", "");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[]");
    answer = aggregate(&f, "{'$indexStats':{}},{'$project':{'name':1,'spec.key':1}}", "");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"name\":\"_id_\",\"spec\":{\"key\":{\"_id\":1}}}]");
    CHECK_DONE(mongo_ask(
        &f, "{'aggregate':1,'pipeline':[{'$listLocalSessions':{}}],'cursor':{},'$db':'config'}"));
    answer = mongo_ask(&f, "{'aggregate':1,'pipeline':[{'$documents':{'$map':{'input':[1,2],"
                           "'in':{'x':'$$this'}}}}],'cursor':{}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"x\":1},{\"x\":2}]");
    mongo_face_close(&f);
}

TEST(mongo_aggregate, a_sum_that_passes_64_bits_goes_on_as_a_double)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    struct mongo_answer a = mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[{'$group':{"
                                          "'_id':null,'r':{'$sum':{'$numberLong':"
                                          "'9223372036854775807'}}}}]}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.r"), "1.8446744073709552e+19");
    mongo_face_close(&f);
}
