/* How commands are carried out, as they tell it themselves. */
#include "tests/support/mongo_face.h"

static void open_with_documents(struct mongo_face *f)
{
    mongo_face_open(f);
    for (int i = 0; i < 10; i++)
        CHECK_DONE(mongo_ask(f,
                             "{'insert':'c','documents':[{'_id':%d,'a':%d,'b':%d,"
                             "'t':['x','y%d']},{'_id':%d,'a':%d,'b':7}]}",
                             i, i, i % 3, i, i + 100, i + 100));
    CHECK_DONE(mongo_ask(f, "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a_1'},"
                            "{'key':{'t':1},'name':'t_1'},{'key':{'b':1,'a':-1},'name':'ba'}]}"));
}

TEST(mongo_explain, the_plan_is_the_way_that_is_taken)
{
    const struct {
        const char *find, *stage, *path, *want;
    } rows[] = {
        {"'filter':{}",                             "COLLSCAN",           "direction",                          "\"forward\""         },
        { "'filter':{'zz':1}",                      "COLLSCAN",           "filter",                             "{\"zz\":1}"          },
        { "'filter':{},'sort':{'$natural':-1}",     "COLLSCAN",           "direction",                          "\"backward\""        },
        { "'filter':{'_id':3}",                     "IDHACK",             "inputStage",                         ""                    },
        { "'filter':{'_id':{'$in':[1,2]}}",         "FETCH",              "inputStage.indexBounds",
         "{\"_id\":[\"[1, 1]\",\"[2, 2]\"]}"                                                                                          },
        { "'filter':{'a':5}",                       "FETCH",              "inputStage.indexBounds",             "{\"a\":[\"[5, 5]\"]}"},
        { "'filter':{'a':5}",                       "FETCH",              "inputStage.keyPattern",              "{\"a\":1}"           },
        { "'filter':{'a':5}",                       "FETCH",              "filter",                             ""                    },
        { "'filter':{'a':5,'zz':1}",                "FETCH",              "filter",                             "{\"a\":5,\"zz\":1}"  },
        { "'filter':{'a':{'$gt':2,'$lte':-3.5}}",   "EOF",                "inputStage",                         ""                    },
        { "'filter':{'a':{'$gt':-2.5,'$lt':7}}",    "FETCH",              "inputStage.indexBounds",
         "{\"a\":[\"(-2.5, 7)\"]}"                                                                                                    },
        { "'filter':{'a':{'$gte':2}}",              "FETCH",              "inputStage.indexBounds",
         "{\"a\":[\"[2, inf.0]\"]}"                                                                                                   },
        { "'filter':{'a':{'$lt':'k'}}",             "FETCH",              "inputStage.indexBounds",
         "{\"a\":[\"[\\\"\\\", \\\"k\\\")\"]}"                                                                                        },
        { "'filter':{'t':'x'}",                     "FETCH",              "inputStage.isMultiKey",              "true"                },
        { "'filter':{'b':1}",                       "FETCH",              "inputStage.indexBounds",
         "{\"b\":[\"[1, 1]\"],\"a\":[\"[MaxKey, MinKey]\"]}"                                                                          },
        { "'filter':{'b':1},'sort':{'a':1}",        "FETCH",              "inputStage.direction",               "\"backward\""        },
        { "'filter':{},'sort':{'_id':-1}",          "FETCH",              "inputStage.indexName",               "\"_id_\""            },
        { "'filter':{},'sort':{'zz':1},'limit':3",  "SORT",               "limitAmount",                        "3"                   },
        { "'filter':{},'sort':{'zz':1}",            "SORT",               "inputStage.stage",                   "\"COLLSCAN\""        },
        { "'filter':{},'limit':3",                  "LIMIT",              "inputStage.stage",                   "\"COLLSCAN\""        },
        { "'filter':{},'limit':3,'skip':1",         "LIMIT",              "inputStage.skipAmount",              "1"                   },
        { "'filter':{},'projection':{'a':1}",       "PROJECTION_SIMPLE",  "inputStage.stage",
         "\"COLLSCAN\""                                                                                                               },
        { "'filter':{},'projection':{'a.b':1}",     "PROJECTION_DEFAULT", "transformBy",
         "{\"a.b\":1}"                                                                                                                },
        { "'filter':{'$or':[{'a':1},{'t':'x'}]}",   "FETCH",              "inputStage.inputStages.1.indexName",
         "\"t_1\""                                                                                                                    },
        { "'filter':{'a':1},'hint':{'$natural':1}", "COLLSCAN",           "direction",                          "\"forward\""         },
        { "'filter':{'a':1},'hint':'ba'",           "FETCH",              "inputStage.indexName",               "\"ba\""              },
    };
    struct mongo_face f;

    open_with_documents(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer answer =
            mongo_ask(&f, "{'explain':{'find':'c',%s},'verbosity':'queryPlanner'}", r->find);
        CHECK_DONE(answer);
        CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.stage"),
                     arena_format(f.world.arena, "\"%s\"", r->stage));
        CHECK_STRING(
            mongo_text(&f, &answer,
                       arena_format(f.world.arena, "queryPlanner.winningPlan.%s", r->path)),
            r->want);
        CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.namespace"), "\"db.c\"");
        CHECK_STRING(mongo_text(&f, &answer, "executionStats"), "");
    }
    mongo_face_close(&f);
}

TEST(mongo_explain, figures_are_those_of_a_real_run)
{
    const struct {
        const char *inner;
        int64_t returned, keys, documents;
    } rows[] = {
        {"'find':'c','filter':{}",                                                            20, 0,  20},
        { "'find':'c','filter':{'b':7,'zz':1}",                                               0,  10, 10},
        { "'find':'c','filter':{'a':{'$lt':4}}",                                              4,  4,  4 },
        { "'find':'c','filter':{'_id':3}",                                                    1,  1,  1 },
        { "'find':'c','filter':{'a':{'$lt':4}},'limit':2",                                    2,  2,  2 },
        { "'find':'c','filter':{'a':{'$lt':4}},'skip':3",                                     1,  4,  4 },
        { "'find':'c','filter':{'a':{'$lt':4}},'sort':{'zz':1}",                              4,  4,  8 },
        { "'find':'missing','filter':{'a':1}",                                                0,  0,  0 },
        { "'aggregate':'c','pipeline':[{'$match':{'a':{'$lt':4}}}],'cursor':{}",              4,  4,  4 },
        { "'aggregate':'c','pipeline':[{'$match':{'a':{'$lt':4}}}]",                          4,  4,  4 },
        { "'count':'c','query':{'a':{'$lt':4}}",                                              0,  4,  0 },
        { "'count':'c'",                                                                      0,  0,  0 },
        { "'distinct':'c','key':'b','query':{'a':{'$lt':4}}",                                 4,  4,  4 },
        { "'delete':'c','deletes':[{'q':{'a':{'$lt':4}},'limit':0}]",                         0,  4,  4 },
        { "'delete':'c','deletes':[{'q':{'a':{'$lt':4}},'limit':1}]",                         0,  1,  1 },
        { "'update':'c','updates':[{'q':{'a':{'$lt':4}},'u':{'$set':{'b':1}},'multi':true}]", 0,  4,
         4                                                                                              },
        { "'findAndModify':'c','query':{'a':{'$lt':4}},'update':{'$set':{'b':9}}",            1,  1,  1 },
        { "'findAndModify':'c','query':{'a':2},'remove':true",                                1,  1,  1 },
    };
    struct mongo_face f;

    open_with_documents(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'explain':{%s},'verbosity':'executionStats'}",
                                               r->inner);
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "executionStats.nReturned"), r->returned, "%s", r->inner);
        CHECK_EQ(mongo_number(&answer, "executionStats.totalKeysExamined"), r->keys, "%s",
                 r->inner);
        CHECK_EQ(mongo_number(&answer, "executionStats.totalDocsExamined"), r->documents, "%s",
                 r->inner);
        CHECK_STRING(mongo_text(&f, &answer, "executionStats.executionSuccess"), "true");
    }
    mongo_face_close(&f);
}

TEST(mongo_explain, writes_are_told_and_not_done)
{
    struct mongo_face f;

    open_with_documents(&f);
    struct mongo_answer answer = mongo_ask(
        &f, "{'explain':{'update':'c','updates':[{'q':{'b':{'$lt':3}},'u':{'$set':{'b':1}},"
            "'multi':true}]},'verbosity':'executionStats'}");
    CHECK_STRING(mongo_text(&f, &answer, "executionStats.executionStages.stage"), "\"UPDATE\"");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.nMatched"), 10, "");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.nWouldModify"), 7, "");
    answer = mongo_ask(&f, "{'explain':{'update':'new','updates':[{'q':{'b':99},"
                           "'u':{'$set':{'x':1}},'upsert':true}]},'verbosity':'executionStats'}");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.nWouldUpsert"), 1, "");
    answer = mongo_ask(&f, "{'explain':{'delete':'c','deletes':[{'q':{},'limit':0}]},"
                           "'verbosity':'executionStats'}");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.nWouldDelete"), 20, "");
    CHECK_DONE(mongo_ask(&f, "{'explain':{'findAndModify':'c','query':{'_id':1},'remove':true}}"));
    CHECK_DONE(mongo_ask(&f, "{'explain':{'findAndModify':'c','query':{'_id':77},'upsert':true,"
                             "'update':{'$set':{'a':1}}}}"));
    CHECK_FAULT(mongo_ask(&f, "{'explain':{'update':'c','updates':[{'q':{'_id':1},"
                              "'u':{'$inc':{'t':1}}}]}}"),
                ERROR_TypeMismatch);
    answer = mongo_ask(&f, "{'count':'c','query':{'b':{'$lt':3}}}");
    CHECK_EQ(mongo_number(&answer, "n"), 10, "nothing was changed");
    answer = mongo_ask(&f, "{'listCollections':1,'filter':{'name':'new'}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_explain, an_aggregation_shows_the_find_in_front_and_the_stages_behind)
{
    struct mongo_face f;

    open_with_documents(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'aggregate':'c','explain':true,'pipeline':[{'$match':{'a':{'$lt':4}}},"
                      "{'$group':{'_id':'$b','n':{'$sum':1}}}]}");
    CHECK_DONE(answer);
    CHECK_STRING(
        mongo_text(&f, &answer, "stages.0.$cursor.queryPlanner.winningPlan.inputStage.indexName"),
        "\"a_1\"");
    CHECK_STRING(mongo_text(&f, &answer, "stages.1.$group._id"), "\"$b\"");
    CHECK_STRING(mongo_text(&f, &answer, "stages.0.$cursor.executionStats"), "");
    answer = mongo_ask(&f, "{'explain':{'aggregate':'c','pipeline':[{'$match':{'a':{'$lt':4}}},"
                           "{'$group':{'_id':'$b','n':{'$sum':1}}}],'cursor':{}},"
                           "'verbosity':'executionStats'}");
    CHECK_EQ(mongo_number(&answer, "stages.0.$cursor.executionStats.totalDocsExamined"), 4, "");
    CHECK_EQ(mongo_number(&answer, "stages.1.nReturned"), 3, "");
    CHECK_STRING(mongo_text(&f, &answer, "command.aggregate"), "\"c\"");
    CHECK_EQ(mongo_number(&answer, "serverInfo.port"), 27017, "");
    mongo_face_close(&f);
}

TEST(mongo_explain, counts_tell_whether_they_look_at_documents)
{
    struct mongo_face f;

    open_with_documents(&f);
    struct mongo_answer answer = mongo_ask(&f, "{'explain':{'count':'c'}}");
    CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.stage"),
                 "\"RECORD_STORE_FAST_COUNT\"");
    answer = mongo_ask(&f, "{'explain':{'count':'c','query':{'a':{'$lt':4}}}}");
    CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.inputStage.stage"),
                 "\"COUNT_SCAN\"");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.nCounted"), 4, "");
    answer = mongo_ask(&f, "{'explain':{'count':'c','query':{'zz':{'$exists':false}}}}");
    CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.inputStage.stage"),
                 "\"COLLSCAN\"");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.nCounted"), 20, "");
    mongo_face_close(&f);
}

TEST(mongo_explain, what_cannot_be_explained_is_refused)
{
    const struct {
        const char *command;
        int32_t want;
    } rows[] = {
        {"{'explain':{'insert':'c','documents':[{}]}}",                                   ERROR_IllegalOperation},
        { "{'explain':{'nonsense':1}}",                                                   ERROR_CommandNotFound },
        { "{'explain':{}}",                                                               ERROR_BadValue        },
        { "{'explain':1}",                                                                ERROR_TypeMismatch    },
        { "{'explain':{'find':'c'},'verbosity':'all'}",                                   ERROR_BadValue        },
        { "{'explain':{'find':'c'},'verbosity':1}",                                       ERROR_TypeMismatch    },
        { "{'explain':{'find':'c','filter':{'a':{'$no':1}}}}",                            ERROR_BadValue        },
        { "{'explain':{'delete':'c','deletes':[{'q':{},'limit':0},{'q':{},'limit':0}]}}",
         ERROR_InvalidLength                                                                                    },
        { "{'explain':{'explain':{'find':'c'}}}",                                         ERROR_IllegalOperation},
    };
    struct mongo_face f;

    open_with_documents(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "%s", r->command), r->want);
    mongo_face_close(&f);
}

TEST(mongo_explain, the_filter_is_shown_with_every_condition_spelled_out)
{
    static const struct {
        const char *filter, *want;
    } rows[] = {
        {"{}",                                          "{}"                                                  },
        { "{'a':5}",                                    "{\"a\":{\"$eq\":5}}"                                 },
        { "{'a':{'$gt':1,'$lt':9}}",                    "{\"$and\":[{\"a\":{\"$gt\":1}},{\"a\":{\"$lt\":9}}]}"},
        { "{'a':1,'$and':[{'b':2},{'c':{'$in':[3]}}]}",
         "{\"$and\":[{\"a\":{\"$eq\":1}},{\"b\":{\"$eq\":2}},{\"c\":{\"$in\":[3]}}]}"                         },
        { "{'$or':[{'a':1},{'b':{'$ne':2}}]}",
         "{\"$or\":[{\"a\":{\"$eq\":1}},{\"b\":{\"$not\":{\"$eq\":2}}}]}"                                     },
        { "{'a':{'x':1}}",                              "{\"a\":{\"$eq\":{\"x\":1}}}"                         },
        { "{'a':{'$regex':'x','$options':'i'}}",        "{\"a\":{\"$regex\":\"x\",\"$options\":\"i\"}}"       },
        { "{'$comment':'hi','a':null}",                 "{\"a\":{\"$eq\":null}}"                              },
    };
    struct mongo_face f;

    open_with_documents(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'explain':{'find':'c','filter':%s}}",
                                               r->filter);
        CHECK_DONE(answer);
        CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.parsedQuery"), r->want);
    }
    struct mongo_answer answer = mongo_ask(&f, "{'explain':{'find':'c','filter':{'a':5}}}");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.works"), 2, "");
    CHECK_EQ(mongo_number(&answer, "executionStats.executionStages.inputStage.needTime"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_explain, a_lookup_tells_how_the_other_collection_is_asked)
{
    static const struct {
        const char *from, *inside, *strategy;
    } rows[] = {
        {"plain",    "",               "\"HashJoin\""       },
        { "indexed", "",               "\"IndexedLoopJoin\""},
        { "plain",   ",'pipeline':[]", "\"HashJoin\""       },
    };
    static const char *const verbosities[] = { "queryPlanner", "executionStats" };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'l':3}]}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'indexed','indexes':[{'name':'f','key':{'f':1}}]}"));
    for (int i = 0; i < 128; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'%s','documents':[{'_id':%d,'f':%d}]}",
                             i % 2 ? "plain" : "indexed", i, i));
    EACH_ROW(rows, r) {
        EACH_ROW(verbosities, v) {
            struct mongo_answer a = mongo_ask(
                &f,
                "{'explain':{'aggregate':'c','pipeline':[{'$match':{'l':{'$gt':0}}},{'$set':{'z':1}"
                "},"
                "{'$lookup':{'from':'%s','localField':'l','foreignField':'f','as':'o'%s}}],"
                "'cursor':{}},'verbosity':'%s'}",
                r->from, r->inside, *v);
            CHECK_DONE(a);
            CHECK_STRING(mongo_text(&f, &a, "stages.2.strategy"), r->strategy);
        }
    }
    mongo_face_close(&f);
}
