/* Finds that are answered by an index alone: what they give, what they look at, and when they cannot. */
#include "tests/support/mongo_face.h"

static void open_people(struct mongo_face *f)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f,
                         "{'createIndexes':'c','indexes':[{'key':{'name':1,'at':-1},'name':'na'},"
                         "{'key':{'tag':1},'name':'t'},"
                         "{'key':{'_ts':1},'name':'ts','expireAfterSeconds':100}]}"));
    CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':["
                            "{'_id':1,'name':'ann','at':@1000,'tag':'x','body':'long'},"
                            "{'_id':2,'name':'bob','at':@2000,'tag':['y','z']},"
                            "{'_id':3,'name':'cid','at':@-3000},"
                            "{'_id':4,'name':'dan','at':7},"
                            "{'_id':5,'name':'eve','at':null},"
                            "{'_id':6,'name':'fay'},"
                            "{'_id':7,'name':'gus','at':@1000,'ttl':1}]}"));
}

struct row {
    const char *find;
    bool is_covered;
    int documents; /* that are looked at */
    const char *want;
};

TEST(mongo_covered, an_index_gives_what_is_asked_for_without_documents)
{
    static const struct row rows[] = {
        {"'filter':{'name':'ann'},'projection':{'name':1,'_id':0}",                           true,  0,
         "[{\"name\":\"ann\"}]"                                                                                                                  },
        { "'filter':{'name':{'$lt':'d'}},'projection':{'name':1,'_id':0}",                    true,  0,
         "[{\"name\":\"ann\"},{\"name\":\"bob\"},{\"name\":\"cid\"}]"                                                                            },
        { "'filter':{'name':'cid'},'projection':{'at':1,'_id':0}",                            true,  0,
         "[{\"at\":{\"$date\":\"2026-02-28T23:59:57Z\"}}]"                                                                                       },
        { "'filter':{'name':'dan'},'projection':{'at':1,'_id':0}",                            true,  1, "[{\"at\":7}]"                           },
        { "'filter':{'name':'eve'},'projection':{'at':1,'_id':0}",                            true,  1, "[{\"at\":null}]"                        },
        { "'filter':{'name':'fay'},'projection':{'at':1,'_id':0}",                            true,  1, "[{}]"                                   },
        { "'filter':{'name':'gus'},'projection':{'name':1,'_id':0}",                          true,  0, "[]"                                     },
        { "'filter':{'name':'ann'},'projection':{'name':1}",                                  false, 1,
         "[{\"_id\":1,\"name\":\"ann\"}]"                                                                                                        },
        { "'filter':{'name':'ann'},'projection':{'body':1,'_id':0}",                          false, 1,
         "[{\"body\":\"long\"}]"                                                                                                                 },
        { "'filter':{'name':'ann','body':'long'},'projection':{'name':1,'_id':0}",            false, 1,
         "[{\"name\":\"ann\"}]"                                                                                                                  },
        { "'filter':{'tag':'x'},'projection':{'tag':1,'_id':0}",                              false, 1, "[{\"tag\":\"x\"}]"                      },
        { "'filter':{'name':{'$lt':'c'}},'sort':{'name':-1},'projection':{'name':1,'_id':0}", true,
         0,                                                                                             "[{\"name\":\"bob\"},{\"name\":\"ann\"}]"},
    };
    struct mongo_face f;

    open_people(&f);
    world_pass(&f.world, 2000);
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'explain':{'find':'c',%s}}", r->find);
        CHECK_DONE(answer);
        CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.stage"),
                     r->is_covered ? "\"PROJECTION_COVERED\"" : "\"PROJECTION_SIMPLE\"");
        CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.inputStage.stage"),
                     r->is_covered ? "\"IXSCAN\"" : "\"FETCH\"");
        CHECK_EQ(mongo_number(&answer, "executionStats.totalDocsExamined"), r->documents, "%s",
                 r->find);
        answer = mongo_ask(&f, "{'find':'c',%s}", r->find);
        CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), r->want);
    }
    mongo_face_close(&f);
}

static const char *any_value(struct random *random)
{
    static const char *const values[] = { "'a'",
                                          "'b'",
                                          "'\\u0001\\u00ffz'",
                                          "''",
                                          "null",
                                          "true",
                                          "false",
                                          "@0",
                                          "@-5",
                                          "@12345678901",
                                          "5",
                                          "5.5",
                                          "{'x':1}",
                                          "{'$oid':'0001fe02ff00010203040506'}" };

    return values[random_below(random, ARRAY_COUNT(values))];
}

TEST(mongo_covered, what_an_index_gives_is_what_documents_have)
{
    EACH_SEED(seed, 3) {
        struct random random = random_seeded(seed);
        struct mongo_face f;

        mongo_face_open(&f);
        CHECK_DONE(
            mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':-1,'b':1},'name':'ab'}]}"));
        for (int i = 0; i < 40; i++)
            CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'a':%s,'%s':%s}]}", i,
                                 any_value(&random), random_chance(&random, 80) ? "b" : "c",
                                 any_value(&random)));
        for (int i = 0; i < 20; i++) {
            const char *find = arena_format(f.world.arena,
                                            "'filter':{'a':{'$gte':%s}},'projection':{'a':1,'b':1,"
                                            "'_id':0},'sort':{'a':-1,'b':1}",
                                            any_value(&random));
            struct mongo_answer by_index = mongo_ask(&f, "{'find':'c',%s}", find);
            struct mongo_answer plain = mongo_ask(&f, "{'find':'c',%s,'hint':{'$natural':1}}",
                                                  find);
            CHECK_DONE(by_index);
            CHECK_STRING(mongo_text(&f, &by_index, "cursor.firstBatch"),
                         mongo_text(&f, &plain, "cursor.firstBatch"));
        }
        mongo_face_close(&f);
    }
}

/* Entries of such an index have keys of texts, and not the texts. */
TEST(mongo_covered, texts_of_an_index_with_a_collation_are_as_they_were_written)
{
    static const char collation[] = "'collation':{'locale':'en','strength':2}";
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'w':1},'name':'w',%s}]}",
                         collation));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'w':'AbC'}]}"));
    struct mongo_answer answer = mongo_ask(
        &f, "{'find':'c','filter':{'w':'AbC'},'projection':{'w':1,'_id':0},%s}", collation);
    if (answer.code == 0)
        CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"w\":\"AbC\"}]");
    mongo_face_close(&f);
}

/* One entry, but not all there is of the document. */
TEST(mongo_covered, an_array_of_one_element_stays_an_array)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':1,'b':1},'name':'ab'}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':'x','b':['y']}]}"));
    struct mongo_answer answer =
        mongo_ask(&f, "{'find':'c','filter':{'a':'x'},'projection':{'b':1,'_id':0},'hint':'ab'}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"b\":[\"y\"]}]");
    mongo_face_close(&f);
}
