/* Views: what they show, what they refuse, views on views, and the dead behind them. */
#include "tests/support/mongo_face.h"

static void open_with_documents(struct mongo_face *f)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':["
                            "{'_id':1,'k':'a','n':5},{'_id':2,'k':'b','n':3},"
                            "{'_id':3,'k':'a','n':1},{'_id':4,'k':'a','n':9}]}"));
    CHECK_DONE(mongo_ask(f, "{'create':'v','viewOn':'c','pipeline':[{'$match':{'k':'a'}},"
                            "{'$addFields':{'twice':{'$multiply':['$n',2]}}}]}"));
}

static const char *first_batch(struct mongo_face *f, const struct mongo_answer *answer)
{
    CHECK_DONE(*answer);
    return mongo_text(f, answer, "cursor.firstBatch");
}

TEST(mongo_view, one_that_would_look_at_itself_by_any_way_is_not_made)
{
    const struct {
        const char *pipeline;
        int32_t want;
    } rows[] = {
        {"[]",                                                             0},
        { "[{'$lookup':{'from':'b','pipeline':[],'as':'x'}}]",             5},
        { "[{'$lookup':{'from':'a','pipeline':[],'as':'x'}}]",             5},
        { "[{'$lookup':{'from':'c','pipeline':[],'as':'x'}}]",             0},
        { "[{'$graphLookup':{'from':'b','startWith':'$a','connectFromField':'a',"
          "'connectToField':'b','as':'x'}}]",                     5},
        { "[{'$unionWith':'b'}]",                                          5},
        { "[{'$unionWith':{'coll':'b'}}]",                                 5},
        { "[{'$unionWith':{'coll':'c','pipeline':[{'$unionWith':'b'}]}}]", 5},
        { "[{'$facet':{'x':[{'$unionWith':'b'}]}}]",                       5},
        { "[{'$facet':{'x':[{'$unionWith':'d'}]}}]",                       0},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'}"));
    CHECK_DONE(mongo_ask(&f, "{'create':'a','viewOn':'c','pipeline':[]}"));
    CHECK_DONE(mongo_ask(&f, "{'create':'b','viewOn':'c','pipeline':[{'$lookup':{'from':'a',"
                             "'pipeline':[],'as':'x'}}]}"));
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'collMod':'a','viewOn':'c','pipeline':%s}",
                                               r->pipeline);
        CHECK_EQ(answer.code, r->want, "%s: %s", r->pipeline, answer.message);
    }
    CHECK_FAULT(mongo_ask(&f, "{'create':'e','viewOn':'c','pipeline':[{'$unionWith':'e'}]}"), 5);
    mongo_face_close(&f);
}

TEST(mongo_view, find_sees_documents_through_the_pipeline)
{
    struct mongo_face f;

    open_with_documents(&f);
    struct mongo_answer a = mongo_ask(&f, "{'find':'v','sort':{'n':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":3,\"k\":\"a\",\"n\":1,\"twice\":2},"
                                      "{\"_id\":1,\"k\":\"a\",\"n\":5,\"twice\":10},"
                                      "{\"_id\":4,\"k\":\"a\",\"n\":9,\"twice\":18}]");
    CHECK_STRING(mongo_text(&f, &a, "cursor.ns"), "\"db.v\"");
    a = mongo_ask(&f, "{'find':'v','filter':{'twice':{'$gt':2}},'sort':{'n':-1},'skip':1,"
                      "'limit':1,'projection':{'twice':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":1,\"twice\":10}]");
    a = mongo_ask(&f, "{'find':'v','filter':{'$expr':{'$eq':['$n','$$x']}},'let':{'x':9},"
                      "'projection':{'_id':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":4}]");
    mongo_face_close(&f);
}

TEST(mongo_view, aggregate_count_and_distinct_go_through_it)
{
    struct mongo_face f;

    open_with_documents(&f);
    struct mongo_answer a = mongo_ask(&f, "{'aggregate':'v','pipeline':[{'$group':{'_id':'$k',"
                                          "'s':{'$sum':'$twice'}}}],'cursor':{}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":\"a\",\"s\":30}]");
    const struct {
        const char *rest;
        int64_t count;
    } rows[] = {
        {"",                                3},
        { ",'query':{'twice':{'$gte':10}}", 2},
        { ",'limit':2",                     2},
        { ",'skip':1",                      2},
        { ",'skip':2,'limit':5",            1},
        { ",'skip':9",                      0},
        { ",'query':{'k':'b'}",             0},
    };
    EACH_ROW(rows, r) {
        a = mongo_ask(&f, "{'count':'v'%s}", r->rest);
        CHECK_DONE(a);
        CHECK_EQ(mongo_number(&a, "n"), r->count, "%s", r->rest);
    }
    a = mongo_ask(&f, "{'distinct':'v','key':'twice','query':{'n':{'$lt':9}}}");
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "values"), "[10,2]");
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'n':1},'name':'n_1'}]}"));
    a = mongo_ask(&f, "{'distinct':'v','key':'twice','hint':'n_1'}");
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "values"), "[2,10,18]");
    CHECK_FAULT(mongo_ask(&f, "{'distinct':'v','key':'twice','hint':'missing'}"), ERROR_BadValue);
    mongo_face_close(&f);
}

TEST(mongo_view, batches_of_a_view_go_on)
{
    struct mongo_face f;

    open_with_documents(&f);
    struct mongo_answer a = mongo_ask(&f, "{'find':'v','batchSize':2,'projection':{'_id':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":1},{\"_id\":3}]");
    a = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'v'}",
                  (long long)mongo_number(&a, "cursor.id"));
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":4}]");
    CHECK_EQ(mongo_number(&a, "cursor.id"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_view, views_on_views_put_the_lower_stages_first)
{
    struct mongo_face f;

    open_with_documents(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'w','viewOn':'v','pipeline':[{'$match':{'twice':"
                             "{'$gt':2}}},{'$project':{'twice':1}}]}"));
    struct mongo_answer a = mongo_ask(&f, "{'find':'w','sort':{'_id':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":1,\"twice\":10},{\"_id\":4,\"twice\":18}]");
    CHECK_DONE(mongo_ask(&f, "{'collMod':'v','pipeline':[{'$addFields':{'twice':4}}]}"));
    a = mongo_ask(&f, "{'count':'w'}");
    CHECK_EQ(mongo_number(&a, "n"), 4, "");
    CHECK_DONE(mongo_ask(&f, "{'collMod':'v','viewOn':'nothing'}"));
    a = mongo_ask(&f, "{'count':'w'}");
    CHECK_EQ(mongo_number(&a, "n"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_view, the_dead_are_in_no_view)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'d':1},'name':'d_1',"
                             "'expireAfterSeconds':10}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'d':@0},{'_id':2}]}"));
    CHECK_DONE(mongo_ask(&f, "{'create':'v','viewOn':'c','pipeline':[{'$sort':{'_id':1}}]}"));
    struct mongo_answer a = mongo_ask(&f, "{'find':'v','projection':{'_id':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":1},{\"_id\":2}]");
    world_pass(&f.world, 9999);
    a = mongo_ask(&f, "{'count':'v'}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "a millisecond before");
    world_pass(&f.world, 1);
    a = mongo_ask(&f, "{'count':'v'}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "at the deadline");
    a = mongo_ask(&f, "{'find':'v'}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":2}]");
    a = mongo_ask(&f, "{'distinct':'v','key':'_id'}");
    CHECK_STRING(mongo_text(&f, &a, "values"), "[2]");
    mongo_face_close(&f);
}

TEST(mongo_view, what_changes_documents_is_refused)
{
    static const char *const commands[] = {
        "{'insert':'v','documents':[{'_id':9}]}",
        "{'update':'v','updates':[{'q':{},'u':{'$set':{'x':1}}}]}",
        "{'update':'v','updates':[{'q':{},'u':{'$set':{'x':1}},'upsert':true}]}",
        "{'delete':'v','deletes':[{'q':{},'limit':0}]}",
        "{'findAndModify':'v','query':{},'remove':true}",
        "{'findAndModify':'v','query':{},'update':{'$set':{'x':1}}}",
        "{'createIndexes':'v','indexes':[{'key':{'n':1},'name':'n_1'}]}",
        "{'listIndexes':'v'}",
        "{'dropIndexes':'v','index':'*'}",
        "{'collStats':'v'}",
        "{'aggregate':'v','pipeline':[{'$collStats':{'count':{}}}],'cursor':{}}",
        "{'validate':'v'}",
        "{'renameCollection':'db.v','to':'db.w','$db':'admin'}",
    };
    struct mongo_face f;

    open_with_documents(&f);
    EACH_ROW(commands, command) {
        struct mongo_answer a = mongo_ask(&f, "%s", *command);
        if (a.code == 0) /* of one statement */
            CHECK_EQ(mongo_number(&a, "writeErrors.0.code"), 166, "%s", *command);
        else
            CHECK_EQ(a.code, 166, "%s: %s", *command, a.message);
    }
    CHECK_STRING(mongo_found(&f, "c", "{'_id':2}"), "[{\"_id\":2,\"k\":\"b\",\"n\":3}]");
    mongo_face_close(&f);
}

TEST(mongo_view, definitions_that_cannot_be_are_refused)
{
    const struct {
        const char *command;
        int code;
    } rows[] = {
        {"{'create':'x','viewOn':'c','pipeline':[{'$out':'d'}]}",             167  },
        { "{'create':'x','viewOn':'c','pipeline':[{'$merge':{'into':'d'}}]}", 167  },
        { "{'create':'x','viewOn':'c','pipeline':[{'$collStats':{}}]}",       167  },
        { "{'create':'x','viewOn':'c','pipeline':[{'$nonsense':1}]}",         40324},
        { "{'create':'x','viewOn':'c','pipeline':[{'$match':{'$bad':1}}]}",   2    },
        { "{'create':'x','viewOn':'c','pipeline':[7]}",                       14   },
        { "{'create':'x','viewOn':''}",                                       2    },
        { "{'create':'x','pipeline':[]}",                                     72   },
        { "{'create':'x','viewOn':'x'}",                                      5    },
        { "{'create':'x','viewOn':'c','capped':true,'size':100}",             72   },
        { "{'create':'v','viewOn':'c'}",                                      48   },
        { "{'collMod':'v','viewOn':'v'}",                                     5    },
        { "{'collMod':'v','viewOn':'w'}",                                     5    },
        { "{'collMod':'v','viewOn':''}",                                      2    },
        { "{'collMod':'v','pipeline':[{'$out':'d'}]}",                        167  },
        { "{'collMod':'v','validator':{}}",                                   72   },
        { "{'collMod':'c','viewOn':'v'}",                                     72   },
        { "{'find':'v','sort':{'$natural':1}}",                               167  },
        { "{'find':'v','min':{'_id':1},'hint':{'_id':1}}",                    167  },
        { "{'drop':'system.views'}",                                          20   },
    };
    struct mongo_face f;

    open_with_documents(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'w','viewOn':'v'}"));
    EACH_ROW(rows, r) {
        struct mongo_answer a = mongo_ask(&f, "%s", r->command);
        CHECK_EQ(a.code, r->code, "%s: %s", r->command, a.message ? a.message : "");
    }
    struct mongo_answer a = mongo_ask(&f, "{'count':'w'}");
    CHECK_EQ(mongo_number(&a, "n"), 3, "nothing has changed");
    mongo_face_close(&f);
}

TEST(mongo_view, twenty_views_on_each_other_are_the_most)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'v0','documents':[{'_id':1}]}"));
    for (int i = 1; i <= LIMIT_VIEW_DEPTH; i++)
        CHECK_DONE(mongo_ask(&f, "{'create':'v%d','viewOn':'v%d'}", i, i - 1));
    CHECK_FAULT(
        mongo_ask(&f, "{'create':'v%d','viewOn':'v%d'}", LIMIT_VIEW_DEPTH + 1, LIMIT_VIEW_DEPTH),
        165);
    CHECK_STRING(mongo_found(&f, "v20", "{}"), "[{\"_id\":1}]");
    CHECK_DONE(mongo_ask(&f, "{'create':'low','viewOn':'other'}"));
    CHECK_FAULT(mongo_ask(&f, "{'collMod':'v1','viewOn':'low'}"), 165);
    mongo_face_close(&f);
}

TEST(mongo_view, views_are_listed_and_kept_over_a_restart)
{
    struct mongo_face f;

    open_with_documents(&f);
    mongo_face_restart(&f);
    struct mongo_answer a = mongo_ask(&f, "{'listCollections':1,'filter':{'type':'view'}}");
    CHECK_STRING(first_batch(&f, &a),
                 "[{\"name\":\"v\",\"type\":\"view\",\"options\":{\"viewOn\":\"c\",\"pipeline\":"
                 "[{\"$match\":{\"k\":\"a\"}},{\"$addFields\":{\"twice\":{\"$multiply\":[\"$n\",2]"
                 "}}}]},\"info\":{\"readOnly\":true}}]");
    a = mongo_ask(&f, "{'listCollections':1,'nameOnly':true}");
    CHECK_STRING(first_batch(&f, &a), "[{\"name\":\"c\",\"type\":\"collection\"},"
                                      "{\"name\":\"v\",\"type\":\"view\"},"
                                      "{\"name\":\"system.views\",\"type\":\"collection\"}]");
    a = mongo_ask(&f, "{'find':'system.views','projection':{'viewOn':1}}");
    CHECK_STRING(first_batch(&f, &a), "[{\"_id\":\"db.v\",\"viewOn\":\"c\"}]");
    a = mongo_ask(&f, "{'dbStats':1}");
    CHECK_EQ(mongo_number(&a, "views"), 1, "");
    CHECK_EQ(mongo_number(&a, "collections"), 1, "");
    a = mongo_ask(&f, "{'drop':'v'}");
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "nIndexesWas"), "");
    a = mongo_ask(&f, "{'find':'system.views'}");
    CHECK_STRING(first_batch(&f, &a), "[]");
    CHECK_STRING(mongo_found(&f, "v", "{}"), "[]");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':1}"), "[{\"_id\":1,\"k\":\"a\",\"n\":5}]");
    mongo_face_close(&f);
}
