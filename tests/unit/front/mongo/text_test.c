/* Text indexes: what is listed and refused, what a search finds, and how well documents fit. */
#include "tests/support/mongo_face.h"

static struct mongo_answer create(struct mongo_face *f, const char *spec)
{
    return mongo_ask(f, "{'createIndexes':'c','indexes':[%s]}", spec);
}

static void open_articles(struct mongo_face *f, const char *index)
{
    static const char *const rows[] = {
        "{'_id':1,'subject':'coffee','author':'xyz','views':50}",
        "{'_id':2,'subject':'Coffee Shopping','author':'efg','views':5}",
        "{'_id':3,'subject':'Baking a cake','author':'abc','views':90}",
        "{'_id':4,'subject':'baking','author':'xyz','views':100}",
        "{'_id':5,'subject':'Caf\u00e9 Con Leche','author':'abc','views':200}",
        ("{'_id':6,'subject':'\u0421\u044b\u0440\u043d\u0438\u043a\u0438','author':'jkl','views':"
         "80}"),
        "{'_id':7,'subject':'coffee and cream','author':'efg','views':10}",
        "{'_id':8,'subject':'Cafe con Leche','author':'xyz','views':10}",
        "{'_id':9,'views':1}",
    };

    mongo_face_open(f);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':[%s]}", rows[i]));
    CHECK_DONE(create(f, index));
}

static const char plain_index[] = "{'key':{'subject':'text'},'name':'t'}";

/* "1 2 7", in the order of _id. */
static const char *ids_of(struct mongo_face *f, const char *filter)
{
    struct mongo_answer answer = mongo_ask(f, "{'find':'c','filter':%s,'sort':{'_id':1}}", filter);
    const char *text = "";

    CHECK_DONE(answer);
    for (int i = 0; i < 20; i++) {
        const char *id = mongo_text(f, &answer,
                                    arena_format(f->world.arena, "cursor.firstBatch.%d._id", i));
        if (id[0])
            text = arena_format(f->world.arena, "%s%s%s", text, text[0] ? " " : "", id);
    }
    return text;
}

TEST(mongo_text, words_phrases_and_negations_choose_documents)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{'$search':'coffee'}",                                       "1 2 7"    },
        { "{'$search':'COFFEE'}",                                      "1 2 7"    },
        { "{'$search':'bake coffee cake'}",                            "1 2 3 4 7"},
        { "{'$search':'\\\"coffee shop\\\"'}",                         "2"        },
        { "{'$search':'coffee -shop'}",                                "1 7"      },
        { "{'$search':'coffee -\\\"and cream\\\"'}",                   "1 2"      },
        { "{'$search':'leche'}",                                       "5 8"      },
        { "{'$search':'caf\u00e9'}",                                   "5 8"      },
        { "{'$search':'CAF\u00c9','$diacriticSensitive':true}",        "5"        },
        { "{'$search':'cafe','$diacriticSensitive':true}",             "8"        },
        { "{'$search':'Coffee','$caseSensitive':true}",                "2"        },
        { "{'$search':'coffee','$caseSensitive':true}",                "1 7"      },
        { "{'$search':'\\\"Caf\u00e9 Con\\\"','$caseSensitive':true}", "5"        },
        { "{'$search':'\u0441\u044b\u0440\u043d\u0438\u043a\u0438'}",  "6"        },
        { "{'$search':'the and of'}",                                  ""         },
        { "{'$search':''}",                                            ""         },
        { "{'$search':'-coffee'}",                                     ""         },
        { "{'$search':'pre-coffee'}",                                  "1 2 7"    },
        { "{'$search':'baking','$language':'none'}",                   ""         },
        { "{'$search':'zzz'}",                                         ""         },
    };
    struct mongo_face f;

    open_articles(&f, plain_index);
    EACH_ROW(rows, r)
        CHECK_STRING(ids_of(&f, arena_format(f.world.arena, "{'$text':%s}", r->text)), r->want);
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'coffee'},'views':{'$gt':7}}"), "1 7");
    CHECK_STRING(ids_of(&f, "{'$and':[{'$text':{'$search':'coffee'}},{'author':'efg'}]}"), "2 7");
    CHECK_STRING(ids_of(&f, "{'$or':[{'$text':{'$search':'coffee'}},{'_id':3}]}"), "1 2 3 7");
    mongo_face_close(&f);
}

TEST(mongo_text, scores_are_those_that_clients_know)
{
    struct mongo_face f;

    open_articles(&f, plain_index);
    struct mongo_answer answer = mongo_ask(&f,
                                           "{'find':'c','filter':{'$text':{'$search':'coffee'}},"
                                           "'projection':{'_id':1,'score':{'$meta':'textScore'}},"
                                           "'sort':{'score':{'$meta':'textScore'},'_id':1}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"_id\":1,\"score\":1},{\"_id\":2,\"score\":0.75},{\"_id\":7,\"score\":0.75}]");
    answer = mongo_ask(&f, "{'find':'c','filter':{'$text':{'$search':'\\\"cafe con\\\" -zzz'}},"
                           "'projection':{'_id':1,'s':{'$meta':'textScore'}},'sort':{'_id':1}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.0.s"), "1.3333333333333333");
    mongo_face_close(&f);
}

TEST(mongo_text, weights_and_repetition_count)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(create(&f, "{'key':{'a':'text','b':'text'},'name':'t','weights':{'a':10},"
                          "'default_language':'none'}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':'red','b':'blue'},"
                             "{'_id':2,'b':'red'},{'_id':3,'b':['red red blue','x']},"
                             "{'_id':4,'c':'red'},{'_id':5,'b':{'a':'red'}}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','filter':{'$text':{'$search':'red'}},"
                                               "'projection':{'_id':1,'s':{'$meta':'textScore'}},"
                                               "'sort':{'s':{'$meta':'textScore'}}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"_id\":1,\"s\":11},{\"_id\":3,\"s\":1.25},"
                 "{\"_id\":2,\"s\":1.1}]");
    mongo_face_close(&f);
}

TEST(mongo_text, every_text_and_the_language_of_a_document_count)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(create(&f, "{'key':{'$**':'text'},'name':'t'}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':{'b':['running shoes']}},"
                             "{'_id':2,'language':'none','z':'running'},"
                             "{'_id':3,'t':[{'language':'german','x':'H\u00e4user'}]},"
                             "{'_id':4,'q':'unrelated'}]}"));
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'run'}}"), "1");
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'running','$language':'none'}}"), "2");
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'Haus','$language':'de'}}"), "3");
    struct mongo_answer answer =
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':9,'language':'klingon'}]}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), 17261, "");
    mongo_face_close(&f);
}

TEST(mongo_text, what_is_listed_is_complete)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(
        create(&f, "{'key':{'z':1,'b':'text','a':'text','y':-1},'name':'t','weights':{'q':3}}"));
    struct mongo_answer answer = mongo_ask(&f, "{'listIndexes':'c'}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.1"),
                 "{\"v\":2,\"key\":{\"z\":1,\"_fts\":\"text\",\"_ftsx\":1,\"y\":-1},\"name\":\"t\","
                 "\"weights\":{\"a\":1,\"b\":1,\"q\":3},\"default_language\":\"english\","
                 "\"language_override\":\"language\",\"textIndexVersion\":3}");
    /* The same again, as it was said and as it is listed. */
    answer = create(&f,
                    "{'key':{'z':1,'b':'text','a':'text','y':-1},'name':'t','weights':{'q':3}}");
    CHECK_STRING(mongo_text(&f, &answer, "note"), "\"all indexes already exist\"");
    answer = create(&f, "{'key':{'z':1,'_fts':'text','_ftsx':1,'y':-1},'name':'t',"
                        "'weights':{'a':1,'b':1,'q':3}}");
    CHECK_STRING(mongo_text(&f, &answer, "note"), "\"all indexes already exist\"");
    mongo_face_restart(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'z':2,'q':'word','y':3},"
                             "{'_id':2,'z':3,'q':'word'}]}"));
    CHECK_STRING(ids_of(&f, "{'z':2,'$text':{'$search':'word'}}"), "1");
    mongo_face_close(&f);
}

TEST(mongo_text, what_cannot_be_is_refused)
{
    static const struct {
        const char *index;
        int code;
    } indexes[] = {
        {"{'key':{'q':'text'},'name':'u'}",                                67},
        { "{'key':{'a':'text','b':1,'c':'text'},'name':'t2'}",             67},
        { "{'key':{'a':'text'},'name':'t2','default_language':'klingon'}", 67},
        { "{'key':{'a':'text'},'name':'t2','weights':{'a':0}}",            67},
        { "{'key':{'a':'text'},'name':'t2','weights':{'a':'x'}}",          67},
        { "{'key':{'a':'text'},'name':'t2','textIndexVersion':9}",         67},
        { "{'key':{'a':'text'},'name':'t2','language_override':'$x'}",     67},
        { "{'key':{'a':'text','b':'hashed'},'name':'t2'}",                 67},
        { "{'key':{'a':'text'},'name':'t2','unique':true}",                67},
    };
    static const struct {
        const char *find;
        int code;
    } finds[] = {
        {"'filter':{'$text':{'$search':5}}",                                         14   },
        { "'filter':{'$text':{}}",                                                   4    },
        { "'filter':{'$text':'x'}",                                                  2    },
        { "'filter':{'$text':{'$search':'x','$language':'klingon'}}",                2    },
        { "'filter':{'$text':{'$search':'x','$other':1}}",                           2    },
        { "'filter':{'$nor':[{'$text':{'$search':'x'}}]}",                           2    },
        { "'filter':{'a':{'$elemMatch':{'$text':{'$search':'x'}}}}",                 2    },
        { "'filter':{'$and':[{'$text':{'$search':'x'}},{'$text':{'$search':'y'}}]}", 2    },
        { "'filter':{'$text':{'$search':'x'}},'hint':{'_id':1}",                     2    },
        { "'filter':{'$text':{'$search':'x'}},'sort':{'$natural':1}",                2    },
        { "'filter':{},'sort':{'s':{'$meta':'textScore'}}",                          40218},
        { "'filter':{},'projection':{'s':{'$meta':'textScore'}}",                    40218},
        { "'filter':{},'sort':{'s':{'$meta':'other'}}",                              31138},
    };
    struct mongo_face f;

    open_articles(&f, plain_index);
    EACH_ROW(indexes, i)
        CHECK_FAULT(create(&f, i->index), i->code);
    EACH_ROW(finds, r)
        CHECK_FAULT(mongo_ask(&f, "{'find':'c',%s}", r->find), r->code);
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[{'$limit':1},"
                              "{'$match':{'$text':{'$search':'x'}}}]}"),
                17313);
    CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':1}]}"));
    CHECK_FAULT(mongo_ask(&f, "{'find':'d','filter':{'$text':{'$search':'x'}}}"), 27);
    mongo_face_close(&f);
}

TEST(mongo_text, pipelines_and_writes_search_too)
{
    struct mongo_face f;

    open_articles(&f, plain_index);
    struct mongo_answer answer = mongo_ask(
        &f, "{'aggregate':'c','cursor':{},'pipeline':[{'$match':{'$text':{'$search':'coffee'}}},"
            "{'$sort':{'s':{'$meta':'textScore'},'_id':-1}},"
            "{'$project':{'score':{'$meta':'textScore'}}}]}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"_id\":1,\"score\":1},{\"_id\":7,\"score\":0.75},{\"_id\":2,\"score\":0.75}]");
    answer = mongo_ask(
        &f, "{'aggregate':'c','cursor':{},'pipeline':[{'$match':{'$text':{'$search':'coffee'}}},"
            "{'$addFields':{'n':1}},{'$sort':{'views':1}},{'$skip':1},"
            "{'$project':{'_id':1,'score':{'$meta':'textScore'}}}]}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"_id\":7,\"score\":0.75},{\"_id\":1,\"score\":1}]");
    answer = mongo_ask(
        &f, "{'aggregate':'c','cursor':{},'pipeline':[{'$match':{'$text':{'$search':'coffee'}}},"
            "{'$group':{'_id':{'$meta':'textScore'},'n':{'$sum':1}}},{'$sort':{'_id':1}}]}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"_id\":0.75,\"n\":2},{\"_id\":1,\"n\":1}]");
    answer = mongo_ask(&f, "{'count':'c','query':{'$text':{'$search':'coffee'}}}");
    CHECK_EQ(mongo_number(&answer, "n"), 3, "");
    answer = mongo_ask(&f, "{'update':'c','updates':[{'q':{'$text':{'$search':'cream'}},"
                           "'u':{'$set':{'hit':1}}}]}");
    CHECK_EQ(mongo_number(&answer, "nModified"), 1, "");
    answer = mongo_ask(&f,
                       "{'delete':'c','deletes':[{'q':{'$text':{'$search':'coffee'}},'limit':0}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 3, "");
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'coffee'}}"), "");
    mongo_face_close(&f);
}

TEST(mongo_text, the_dead_are_not_found)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(create(&f, "{'key':{'a':'text'},'name':'t'},"
                          "{'key':{'_ts':1},'name':'ts','expireAfterSeconds':10}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':'word'},"
                             "{'_id':2,'a':'word','ttl':100}]}"));
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'words'}}"), "1 2");
    world_pass(&f.world, 10000);
    CHECK_STRING(ids_of(&f, "{'$text':{'$search':'words'}}"), "2");
    mongo_face_close(&f);
}

/* ---- the index and the plain walk -------------------------------------------------------------------- */

static const char *any_text(struct mongo_face *f, struct random *random, size_t words)
{
    static const char *const vocabulary[] = { "coffee",  "Coffees", "caf\u00e9", "cafe",     "run",
                                              "running", "the",     "dont",      "red-blue", "x" };
    const char *text = "";

    for (size_t i = 0; i < words; i++)
        text = arena_format(f->world.arena, "%s%s%s", text, i ? " " : "",
                            vocabulary[random_below(random, ARRAY_COUNT(vocabulary))]);
    return text;
}

TEST(mongo_text, the_index_finds_what_the_plain_walk_finds)
{
    EACH_SEED(seed, 3) {
        struct random random = random_seeded(seed);
        struct mongo_face f;

        mongo_face_open(&f);
        CHECK_DONE(create(&f, "{'key':{'a':'text','b.c':'text'},'name':'t'},"
                              "{'key':{'_ts':1},'name':'ts','expireAfterSeconds':10}"));
        for (int i = 0; i < 40; i++) {
            CHECK_DONE(mongo_ask(&f,
                                 "{'insert':'c','documents':[{'_id':%d,'a':'%s',"
                                 "'b':[{'c':'%s'},{'c':['%s']}],'ttl':%d}]}",
                                 i, any_text(&f, &random, (size_t)random_below(&random, 4)),
                                 any_text(&f, &random, (size_t)random_below(&random, 3)),
                                 any_text(&f, &random, 1), random_chance(&random, 30) ? 1 : 50));
        }
        world_pass(&f.world, 2000);
        for (int i = 0; i < 25; i++) {
            const char *text = arena_format(
                f.world.arena, "{'$text':{'$search':'%s%s%s','$caseSensitive':%s}}",
                any_text(&f, &random, 1), random_chance(&random, 50) ? " -" : " ",
                any_text(&f, &random, 1), random_chance(&random, 20) ? "true" : "false");
            const char *plain =
                ids_of(&f, arena_format(f.world.arena, "{'$or':[%s,{'_id':'nobody'}]}", text));
            CHECK_STRING(ids_of(&f, text), plain);
        }
        mongo_face_close(&f);
    }
}

TEST(mongo_text, explain_tells_the_words)
{
    struct mongo_face f;

    open_articles(&f, plain_index);
    struct mongo_answer answer =
        mongo_ask(&f, "{'explain':{'find':'c','filter':{'$text':{'$search':'coffee -cakes'}}}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.stage"), "\"TEXT_MATCH\"");
    CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.parsedTextQuery"),
                 "{\"terms\":[\"coffe\"],\"negatedTerms\":[\"cake\"],\"phrases\":[],"
                 "\"negatedPhrases\":[]}");
    CHECK_STRING(mongo_text(&f, &answer, "queryPlanner.winningPlan.inputStage.inputStage.stage"),
                 "\"IXSCAN\"");
    CHECK_EQ(mongo_number(&answer, "executionStats.totalDocsExamined"), 3, "");
    mongo_face_close(&f);
}
