/* $out and $merge: what becomes of the collection that the rows are written to. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

static struct mongo_answer aggregate(struct mongo_face *f, const char *stages)
{
    return mongo_ask(f, "{'aggregate':'c','pipeline':[%s],'cursor':{}}", stages);
}

static const char *all(struct mongo_face *f, const char *name)
{
    struct mongo_answer answer = mongo_ask(f, "{'find':'%s','sort':{'_id':1}}", name);

    CHECK_DONE(answer);
    return mongo_text(f, &answer, "cursor.firstBatch");
}

static void fill(struct mongo_face *f)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':[{'_id':1,'n':1},{'_id':2,'n':2}]}"));
    CHECK_DONE(mongo_ask(f, "{'insert':'d','documents':[{'_id':2,'old':true},{'_id':3}]}"));
}

TEST(mongo_aggregate_output, out_makes_a_collection_of_the_rows)
{
    struct mongo_face f;

    fill(&f);
    struct mongo_answer answer = aggregate(&f, "{'$match':{'n':2}},{'$out':'fresh'}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[]");
    CHECK_STRING(all(&f, "fresh"), "[{\"_id\":2,\"n\":2}]");
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'d','indexes':[{'key':{'n':1},'name':'n'}]}"));
    CHECK_DONE(aggregate(&f, "{'$out':'d'}"));
    CHECK_STRING(all(&f, "d"), "[{\"_id\":1,\"n\":1},{\"_id\":2,\"n\":2}]");
    answer = mongo_ask(&f, "{'listIndexes':'d'}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.1.name"), "\"n\"");
    CHECK_DONE(aggregate(&f, "{'$project':{'n':{'$add':['$n',10]}}},{'$out':'c'}"));
    CHECK_STRING(all(&f, "c"), "[{\"_id\":1,\"n\":11},{\"_id\":2,\"n\":12}]");
    CHECK_DONE(aggregate(&f, "{'$out':{'db':'other','coll':'e'}}"));
    answer = mongo_ask(&f, "{'count':'e','$db':'other'}");
    CHECK_EQ(mongo_number(&answer, "n"), 2, "in another database");
    mongo_face_close(&f);
}

TEST(mongo_aggregate_output, rows_go_to_no_database_that_cannot_be)
{
    static const char *const names[] = { "", "a.b", "x/y", "$mayfly", "a b" };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    EACH_ROW(names, name) {
        CHECK_FAULT(
            mongo_ask(&f,
                      "{'aggregate':'c','cursor':{},'pipeline':[{'$out':{'db':'%s','coll':'o'}}]}",
                      *name),
            ERROR_InvalidNamespace);
        CHECK_FAULT(mongo_ask(&f,
                              "{'aggregate':'c','cursor':{},'pipeline':[{'$merge':{'into':{'db':'%"
                              "s','coll':'o'}}}]}",
                              *name),
                    ERROR_InvalidNamespace);
    }
    mongo_face_close(&f);
}

TEST(mongo_aggregate_output, out_that_fails_leaves_the_old_collection)
{
    struct mongo_face f;

    fill(&f);
    CHECK_FAULT(aggregate(&f, "{'$project':{'_id':{'$literal':7}}},{'$out':'d'}"), 11000);
    CHECK_STRING(all(&f, "d"), "[{\"_id\":2,\"old\":true},{\"_id\":3}]");
    struct mongo_answer list = mongo_ask(&f, "{'listCollections':1,'nameOnly':true}");
    CHECK_STRING(mongo_text(&f, &list, "cursor.firstBatch.2"), "");
    CHECK_FAULT(aggregate(&f, "{'$out':7}"), 51178);
    CHECK_FAULT(aggregate(&f, "{'$out':'d'},{'$match':{}}"), 40601);
    mongo_face_close(&f);
}

TEST(mongo_aggregate_output, out_keeps_the_time_to_live_of_the_collection)
{
    struct mongo_face f;

    fill(&f);
    world_collection(&f.world, "t", 10, "");
    CHECK_DONE(aggregate(&f, "{'$out':'t'}"));
    CHECK_STRING(all(&f, "t"), "[{\"_id\":1,\"n\":1},{\"_id\":2,\"n\":2}]");
    world_pass(&f.world, 10000);
    CHECK_STRING(all(&f, "t"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_aggregate_output, merge_does_what_its_options_say)
{
    static const struct {
        const char *options;
        int32_t code;
        const char *want;
    } rows[] = {
        {"",                                                                     0,     "[{\"_id\":1,\"n\":1},{\"_id\":2,\"old\":true,\"n\":2},{\"_id\":3}]"},
        { ",'whenMatched':'replace'",                                            0,     "[{\"_id\":1,\"n\":1},{\"_id\":2,\"n\":2},{\"_id\":3}]"             },
        { ",'whenMatched':'keepExisting'",                                       0,
         "[{\"_id\":1,\"n\":1},{\"_id\":2,\"old\":true},{\"_id\":3}]"                                                                                       },
        { ",'whenMatched':'fail'",                                               11000,
         "[{\"_id\":1,\"n\":1},{\"_id\":2,\"old\":true},{\"_id\":3}]"                                                                                       },
        { ",'whenMatched':[{'$set':{'sum':{'$add':['$$new.n',40]}}}]",           0,
         "[{\"_id\":1,\"n\":1},{\"_id\":2,\"old\":true,\"sum\":42},{\"_id\":3}]"                                                                            },
        { ",'let':{'m':{'$add':['$n',1]}},'whenMatched':[{'$set':{'m':'$$m'}}]", 0,
         "[{\"_id\":1,\"n\":1},{\"_id\":2,\"old\":true,\"m\":3},{\"_id\":3}]"                                                                               },
        { ",'whenNotMatched':'discard'",                                         0,     "[{\"_id\":2,\"old\":true,\"n\":2},{\"_id\":3}]"                    },
        { ",'whenNotMatched':'fail'",                                            13113, "[{\"_id\":2,\"old\":true},{\"_id\":3}]"                            },
        { ",'whenMatched':'nonsense'",                                           2,     "[{\"_id\":2,\"old\":true},{\"_id\":3}]"                            },
        { ",'nonsense':1",                                                       40415, "[{\"_id\":2,\"old\":true},{\"_id\":3}]"                            },
        { ",'on':'n'",                                                           51183, "[{\"_id\":2,\"old\":true},{\"_id\":3}]"                            },
    };

    EACH_ROW(rows, r) {
        struct mongo_face f;
        char stages[256];
        fill(&f);
        snprintf(stages, sizeof(stages), "{'$sort':{'_id':1}},{'$merge':{'into':'d'%s}}",
                 r->options);
        CHECK_FAULT(aggregate(&f, stages), r->code);
        CHECK_STRING(all(&f, "d"), r->want);
        mongo_face_close(&f);
    }
}

TEST(mongo_aggregate_output, merge_finds_documents_by_a_unique_index)
{
    struct mongo_face f;

    fill(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'u','indexes':[{'key':{'n':1},'name':'n',"
                             "'unique':true}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'u','documents':[{'_id':9,'n':2}]}"));
    CHECK_DONE(aggregate(&f, "{'$project':{'_id':0,'n':1,'x':'y'}},{'$match':{'n':2}},"
                             "{'$merge':{'into':'u','on':'n'}}"));
    CHECK_STRING(all(&f, "u"), "[{\"_id\":9,\"n\":2,\"x\":\"y\"}]");
    CHECK_FAULT(aggregate(&f, "{'$project':{'_id':0}},{'$unset':'n'},"
                              "{'$merge':{'into':'u','on':'n'}}"),
                51132);
    mongo_face_close(&f);
}

TEST(mongo_aggregate_output, a_dead_document_is_not_matched_by_a_merge)
{
    struct mongo_face f;

    fill(&f);
    world_collection(&f.world, "t", 10, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'t','documents':[{'_id':1,'old':1}]}"));
    world_pass(&f.world, 10000);
    CHECK_DONE(aggregate(&f, "{'$match':{'_id':1}},{'$merge':'t'}"));
    CHECK_STRING(all(&f, "t"), "[{\"_id\":1,\"n\":1}]");
    mongo_face_close(&f);
}
