/* Collations through commands: which documents are found, in which order, by which index, and which are one too many. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

/* Names in which case, accents and numbers meet. */
static void fill(struct mongo_face *f)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':["
                            "{'_id':1,'s':'apple','n':1,'l':['x','Y'],'d':{'t':'Deep'}},"
                            "{'_id':2,'s':'Apple','n':2,'l':['X'],'d':{'t':'deep'}},"
                            "{'_id':3,'s':'banana','n':3,'l':['z'],'d':{'t':'other'}},"
                            "{'_id':4,'s':'item10','n':4},{'_id':5,'s':'item2','n':5},"
                            "{'_id':6,'s':'\xc3\x84pple','n':6},{'_id':7,'s':7}]}"));
}

/* "1 2 3": the ids of a list of documents in the answer. */
static const char *ids_at(struct mongo_face *f, const struct mongo_answer *answer, const char *list)
{
    struct buffer ids = buffer_in(f->world.arena);
    char path[96];

    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof(path), "%s.%d._id", list, i);
        const char *id = mongo_text(f, answer, path);
        if (id[0] == '\0')
            break;
        buffer_append_format(&ids, "%s%s", i ? " " : "", id);
    }
    buffer_append_byte(&ids, 0);
    return (const char *)ids.data;
}

static const char *found(struct mongo_face *f, const char *rest)
{
    struct mongo_answer answer = mongo_ask(f, "{'find':'c',%s}", rest);

    CHECK_DONE(answer);
    return ids_at(f, &answer, "cursor.firstBatch");
}

#define EN2 "'collation':{'locale':'en','strength':2}"
#define EN1 "'collation':{'locale':'en','strength':1}"

TEST(mongo_collation, filters_and_sorts_follow_the_collation_of_the_command)
{
    const struct {
        const char *find, *want;
    } rows[] = {
        {"'filter':{'s':'APPLE'}",                                              ""             },
        { "'filter':{'s':'APPLE'}," EN2,                                        "1 2"          },
        { "'filter':{'s':'APPLE'}," EN1,                                        "1 2 6"        },
        { "'filter':{'s':{'$in':['APPLE','ITEM2']}}," EN2,                      "1 2 5"        },
        { "'filter':{'s':{'$nin':['APPLE','ITEM2']}}," EN2,                     "3 4 6 7"      },
        { "'filter':{'s':{'$ne':'APPLE'}}," EN1,                                "3 4 5 7"      },
        { "'filter':{'s':{'$gt':'APPLE','$lt':'C'}},'sort':{'_id':1}," EN2,     "3 6"          },
        { "'filter':{'s':{'$gte':'APPLE','$lt':'C'}},'sort':{'_id':1}," EN2,    "1 2 3 6"      },
        { "'filter':{'l':{'$all':['x','y']}}," EN2,                             "1"            },
        { "'filter':{'l':{'$elemMatch':{'$eq':'X'}}}," EN2,                     "1 2"          },
        { "'filter':{'l':['X','y']}," EN2,                                      "1"            },
        { "'filter':{'d':{'t':'DEEP'}}," EN2,                                   "1 2"          },
        { "'filter':{'d.t':'DEEP'}," EN2,                                       "1 2"          },
        { "'filter':{'s':{'$regex':'^A'}}," EN2,                                "2"            },
        { "'filter':{'s':{'$not':{'$eq':'APPLE'}}}," EN2,                       "3 4 5 6 7"    },
        { "'filter':{'$expr':{'$eq':['$s','APPLE']}}," EN2,                     "1 2"          },
        { "'filter':{'$expr':{'$eq':['$s','$$w']}},'let':{'w':'APPLE'}," EN2,   "1 2"          },
        { "'filter':{'$expr':{'$in':['$s',['APPLE']]}}," EN2,                   "1 2"          },
        { "'filter':{'n':{'$gt':1}},'sort':{'s':1}," EN2,                       "2 6 3 4 5"    },
        { "'sort':{'s':1,'_id':-1}," EN2,                                       "7 2 1 6 3 4 5"},
        { "'sort':{'s':1}",                                                     "7 2 1 3 4 5 6"},
        { "'sort':{'s':-1},'collation':{'locale':'en','numericOrdering':true}", "4 5 3 6 2 1 7"},
        { "'filter':{'s':'APPLE'},'collation':{'locale':'simple'}",             ""             },
        { "'filter':{'s':'APPLE'},'collation':{}",                              ""             },
    };
    static const char *const indexes[] = { "", "{'key':{'s':1},'name':'i'}",
                                           "{'key':{'s':1},'name':'i'," EN2
                                           "},{'key':{'l':1},'name':'l'," EN2
                                           "},{'key':{'d':1},'name':'d'," EN2 "}",
                                           "{'key':{'s':-1},'name':'i'," EN1
                                           "},{'key':{'d.t':1},'name':'d'," EN1 "}" };
    struct mongo_face f;

    fill(&f);
    for (size_t i = 0; i < ARRAY_COUNT(indexes); i++) {
        if (i > 0)
            CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[%s]}", indexes[i]));
        EACH_ROW(rows, r)
            CHECK_STRING(found(&f, r->find), r->want);
        mongo_face_restart(&f);
        CHECK_DONE(mongo_ask(&f, "{'dropIndexes':'c','index':'*'}"));
    }
    mongo_face_close(&f);
}

/* "IXSCAN i", "COLLSCAN": the last stage of the winning plan. */
static const char *way_of(struct mongo_face *f, const char *find)
{
    struct mongo_answer answer = mongo_ask(f, "{'explain':{'find':'c',%s}}", find);
    const char *path = "queryPlanner.winningPlan";

    CHECK_DONE(answer);
    for (int i = 0; i < 8; i++) {
        const char *inner = arena_format(f->world.arena, "%s.inputStage", path);
        if (mongo_text(f, &answer, inner)[0] == '\0')
            break;
        path = inner;
    }
    return arena_format(f->world.arena, "%s %s",
                        mongo_text(f, &answer, arena_format(f->world.arena, "%s.stage", path)),
                        mongo_text(f, &answer, arena_format(f->world.arena, "%s.indexName", path)));
}

TEST(mongo_collation, an_index_serves_texts_only_in_its_own_collation)
{
    const struct {
        const char *find, *want;
    } rows[] = {
        {"'filter':{'s':'APPLE'}," EN2,          "\"IXSCAN\" \"en\""   },
        { "'filter':{'s':'APPLE'}",              "\"IXSCAN\" \"plain\""},
        { "'filter':{'s':'APPLE'}," EN1,         "\"COLLSCAN\" "       },
        { "'filter':{'s':{'$gt':'APPLE'}}," EN2, "\"IXSCAN\" \"en\""   },
        { "'filter':{'s':{'$in':['x',1]}}," EN1, "\"COLLSCAN\" "       },
        { "'filter':{'s':{'t':'x'}}," EN1,       "\"COLLSCAN\" "       },
        { "'sort':{'s':1}," EN2,                 "\"IXSCAN\" \"en\""   },
        { "'sort':{'s':1}," EN1,                 "\"COLLSCAN\" "       },
        { "'sort':{'_id':1}," EN1,               "\"COLLSCAN\" "       },
    };
    struct mongo_face f;

    fill(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'en'," EN2 "}]}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'plain'}]}"));
    EACH_ROW(rows, r)
        CHECK_STRING(way_of(&f, r->find), r->want);
    /* Numbers may use either. */
    CHECK(strstr(way_of(&f, "'filter':{'s':7}," EN1), "IXSCAN"));
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','hint':{'s':1}}"), ERROR_IndexNotFound);
    CHECK_STRING(found(&f, "'filter':{'s':'APPLE'},'hint':'plain'," EN2), "2 1");
    CHECK_STRING(found(&f, "'filter':{'s':'APPLE'},'hint':'en'"), "");
    CHECK_STRING(found(&f, "'min':{'s':'APPLE'},'max':{'s':'C'},'hint':'en'," EN2), "1 2 6 3");
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','min':{'s':'APPLE'},'hint':'en'}"), 51174);
    mongo_face_close(&f);
}

TEST(mongo_collation, writes_find_their_documents_by_the_collation_of_the_statement)
{
    struct mongo_face f;
    struct mongo_answer a;

    fill(&f);
    a = mongo_ask(&f,
                  "{'update':'c','updates':[{'q':{'s':'APPLE'},'u':{'$set':{'u':1}},"
                  "'multi':true," EN2 "},{'q':{'s':'APPLE'},'u':{'$set':{'u':2}},'multi':true}]}");
    CHECK_EQ(mongo_number(&a, "nModified"), 2, "");
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'l.$[e]':'q'}},"
                             "'arrayFilters':[{'e':'y'}]," EN2 "}]}"));
    CHECK_STRING(
        mongo_found(&f, "c", "{'_id':1,'l':['x','q']}"),
        "[{\"_id\":1,\"s\":\"apple\",\"n\":1,\"l\":[\"x\",\"q\"],\"d\":{\"t\":\"Deep\"},\"u\":1}]");
    const struct {
        const char *update, *want;
    } rows[] = {
        {"{'$pull':{'l':'X'}}",                            "[\"q\"]"            },
        { "{'$addToSet':{'l':'Q'}}",                       "[\"q\"]"            },
        { "{'$push':{'l':{'$each':['R','a'],'$sort':1}}}", "[\"a\",\"q\",\"R\"]"},
        { "{'$pullAll':{'l':['A','r']}}",                  "[\"q\"]"            },
        { "{'$max':{'l':'x'}}",                            "[\"q\"]"            },
        { "{'$min':{'s':'APPLE'}}",                        "[\"q\"]"            },
    };
    EACH_ROW(rows, r) {
        CHECK_DONE(
            mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':%s," EN2 "}]}", r->update));
        a = mongo_ask(&f, "{'find':'c','filter':{'_id':1}}");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.l"), r->want);
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.s"), "\"apple\"");
    }
    a = mongo_ask(
        &f, "{'findAndModify':'c','query':{'s':'BANANA'},'update':{'$set':{'v':1}},'new':true," EN2
            "}");
    CHECK_STRING(mongo_text(&f, &a, "value.v"), "1");
    a = mongo_ask(&f, "{'findAndModify':'c','query':{'s':{'$gt':''}},'sort':{'s':-1},'remove':true,"
                      "'collation':{'locale':'en','numericOrdering':true}}");
    CHECK_STRING(mongo_text(&f, &a, "value.s"), "\"item10\"");
    a = mongo_ask(&f, "{'count':'c','query':{'s':'APPLE'}," EN1 "}");
    CHECK_EQ(mongo_number(&a, "n"), 3, "");
    a = mongo_ask(&f, "{'distinct':'c','key':'s','query':{'n':{'$lt':4}}," EN2 "}");
    CHECK_STRING(mongo_text(&f, &a, "values"), "[\"apple\",\"banana\"]");
    a = mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'s':'APPLE'},'limit':0," EN2 "}]}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "");
    mongo_face_close(&f);
}

TEST(mongo_collation, pipelines_group_compare_and_look_up_by_it)
{
    const struct {
        const char *stages, *want;
    } rows[] = {
        {"{'$match':{'s':'APPLE'}},{'$count':'n'}",                                                "[{\"n\":2}]"                                                                   },
        { "{'$match':{'n':{'$lt':4}}},{'$group':{'_id':'$s','n':{'$sum':1}}},{'$sort':{'_id':1}}",
         "[{\"_id\":\"apple\",\"n\":2},{\"_id\":\"banana\",\"n\":1}]"                                                                                                              },
        { "{'$match':{'n':{'$lt':4}}},{'$group':{'_id':null,'s':{'$addToSet':'$s'},'h':{'$max':'$s'"
          "},'w':{'$min':'$s'}}}",                                                        "[{\"_id\":null,\"s\":[\"apple\",\"banana\"],\"h\":\"banana\",\"w\":\"apple\"}]"},
        { "{'$match':{'n':{'$lt':3}}},{'$project':{'_id':0,'e':{'$eq':['$s','APPLE']},'c':{'$cmp':["
          "'$s','B']},"
          "'x':{'$setUnion':[['a'],['A']]},'i':{'$indexOfArray':[['b','A'],'a']},'m':{'$max':['$s',"
          "'AARGH']}}},{'$limit':1}",                                                     "[{\"e\":true,\"c\":-1,\"x\":[\"a\"],\"i\":1,\"m\":\"apple\"}]"                 },
        { "{'$match':{'_id':{'$lt':4}}},{'$sortByCount':'$s'},{'$limit':1}",
         "[{\"_id\":\"apple\",\"count\":2}]"                                                                                                                                       },
        { "{'$match':{'_id':2}},{'$lookup':{'from':'c','localField':'s','foreignField':'s','as':'o'"
          "}},"
          "{'$project':{'n':{'$size':'$o'}}}",                                            "[{\"_id\":2,\"n\":2}]"                                                         },
        { "{'$match':{'_id':2}},{'$lookup':{'from':'c','let':{'v':'$s'},'pipeline':[{'$match':{'$"
          "expr':"
          "{'$eq':['$s','$$v']}}}],'as':'o'}},{'$project':{'n':{'$size':'$o'}}}",         "[{\"_id\":2,\"n\":2}]"                                                         },
        { "{'$match':{'_id':2}},{'$graphLookup':{'from':'c','startWith':'$s','connectFromField':'s'"
          ","
          "'connectToField':'s','as':'o'}},{'$project':{'n':{'$size':'$o'}}}",            "[{\"_id\":2,\"n\":2}]"                                                         },
        { "{'$facet':{'a':[{'$match':{'s':'APPLE'}},{'$count':'n'}]}}",                            "[{\"a\":[{\"n\":2}]}]"                                                         },
        { "{'$match':{'_id':3}},{'$unionWith':{'coll':'c','pipeline':[{'$match':{'s':'APPLE'}}]}},{"
          "'$count':'n'}",                                                                "[{\"n\":3}]"                                                                   },
        { "{'$match':{'n':{'$lt':4}}},{'$bucket':{'groupBy':'$s','boundaries':['a','B','c']}}",
         "[{\"_id\":\"a\",\"count\":2},{\"_id\":\"B\",\"count\":1}]"                                                                                                               },
        { "{'$match':{'n':{'$lt':4}}},{'$setWindowFields':{'partitionBy':'$s','sortBy':{'_id':1},'"
          "output':{'k':"
          "{'$documentNumber':{}}}}},{'$match':{'k':2}},{'$project':{'k':1}}",            "[{\"_id\":2,\"k\":2}]"                                                         },
        { "{'$match':{'_id':1}},{'$project':{'_id':0,'l':{'$sortArray':{'input':['b','A','a','B'],'"
          "sortBy':1}}}}",                                                                "[{\"l\":[\"A\",\"a\",\"b\",\"B\"]}]"                                           },
    };
    struct mongo_face f;

    fill(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer a =
            mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[%s]," EN2 "}", r->stages);
        CHECK_DONE(a);
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), r->want);
    }
    mongo_face_close(&f);
}

TEST(mongo_collation, a_unique_index_refuses_what_its_collation_calls_equal)
{
    struct mongo_face f;
    struct mongo_answer a;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(
        &f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'u','unique':true," EN2 "}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'s':'Ann','n':1}]}"));
    a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':2,'s':'ANN'}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.code"), "11000");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.keyPattern"), "{\"s\":1}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.collation.strength"), "2");
    CHECK(strstr(mongo_text(&f, &a, "writeErrors.0.keyValue.s"), "\"0x"));
    CHECK(strstr(mongo_text(&f, &a, "writeErrors.0.errmsg"), "index: u collation: {"));
    CHECK_DONE(
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':2,'s':'\xc3\x84nn'},{'_id':3,'s':1}]}"));
    /* The same document may change its case. */
    a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'s':'aNN'}}}]}");
    CHECK_EQ(mongo_number(&a, "nModified"), 1, "");
    a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':2},'u':{'$set':{'s':'ann'}}}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.code"), "11000");
    CHECK_FAULT(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'v','unique':true," EN1
                      "}]}"),
        11000);
    mongo_face_restart(&f);
    a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':4,'s':'ANN'}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.code"), "11000");
    mongo_face_close(&f);
}

TEST(mongo_collation, the_dead_do_not_keep_a_key_from_the_living)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'," EN2 "}"));
    CHECK_DONE(mongo_ask(&f,
                         "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'u','unique':true},"
                         "{'key':{'_ts':1},'name':'t','expireAfterSeconds':10}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':'Key','s':'Ann'}]}"));
    struct mongo_answer a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':'KEY','s':'x'},{'_id':"
                                          "'other','s':'ANN'}],'ordered':false}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.1.code"), "11000");
    world_pass(&f.world, 11000);
    CHECK_STRING(mongo_found(&f, "c", "{'_id':'key'}"), "[]");
    a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':'KEY','s':'ANN'}]}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':'key'}"), "[{\"_id\":\"KEY\",\"s\":\"ANN\"}]");
    mongo_face_close(&f);
}

TEST(mongo_collation, a_collection_gives_its_collation_to_commands_indexes_and_ids)
{
    struct mongo_face f;
    struct mongo_answer a;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'," EN2 "}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'s'},"
                             "{'key':{'t':1},'name':'t','collation':{'locale':'simple'}}]}"));
    for (int i = 0; i < 2; i++) {
        a = mongo_ask(&f, "{'listCollections':1}");
        CHECK_STRING(
            mongo_text(&f, &a, "cursor.firstBatch.0.options.collation"),
            "{\"locale\":\"en\",\"caseLevel\":false,\"caseFirst\":\"off\",\"strength\":2,"
            "\"numericOrdering\":false,\"alternate\":\"non-ignorable\",\"maxVariable\":\"punct\","
            "\"normalization\":false,\"backwards\":false,\"version\":\"57.1\"}");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.idIndex.collation.strength"), "2");
        a = mongo_ask(&f, "{'listIndexes':'c'}");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.collation.locale"), "\"en\"");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.1.collation.version"), "\"57.1\"");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.2.collation"), "");
        mongo_face_restart(&f);
    }
    a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':'a','s':'x'},{'_id':'A','s':'y'},{'_id':'"
                      "b','s':'X'}],'ordered':false}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.code"), "11000");
    CHECK(strstr(mongo_text(&f, &a, "writeErrors.0.errmsg"), "index: _id_ collation: {"));
    const struct {
        const char *find, *want;
    } rows[] = {
        {"'filter':{'_id':'A'}",                                     "\"a\""      },
        { "'filter':{'_id':'A'},'collation':{'locale':'simple'}",    ""           },
        { "'filter':{'_id':'a'},'collation':{'locale':'simple'}",    "\"a\""      },
        { "'filter':{'_id':'A'}," EN1,                               "\"a\""      },
        { "'filter':{'_id':{'$in':['A','B']}}",                      "\"a\" \"b\""},
        { "'filter':{'_id':{'$gt':'A'}}",                            "\"b\""      },
        { "'filter':{'s':'X'}",                                      "\"a\" \"b\""},
        { "'filter':{'s':'X'},'collation':{'locale':'simple'}",      "\"b\""      },
        { "'sort':{'_id':-1}",                                       "\"b\" \"a\""},
        { "'sort':{'_id':-1},'hint':{'_id':1},'filter':{'_id':'B'}", "\"b\""      },
    };
    EACH_ROW(rows, r)
        CHECK_STRING(found(&f, r->find), r->want);
    a = mongo_ask(
        &f, "{'update':'c','updates':[{'q':{'_id':'A'},'u':{'$set':{'k':1}},'upsert':true}]}");
    CHECK_EQ(mongo_number(&a, "nModified"), 1, "");
    CHECK_STRING(mongo_text(&f, &a, "upserted"), "");
    a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':'a'},'u':{'_id':'A','s':'n'}}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.code"), "66");
    a = mongo_ask(
        &f, "{'aggregate':'c','cursor':{},'pipeline':[{'$group':{'_id':'$s'}},{'$count':'n'}]}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"n\":1}]");
    a = mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':'B'},'limit':1}]}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "");
    CHECK_FAULT(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'_id':1},'name':'_id_'," EN1 "}]}"),
        2);
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'w':'text'},'name':'w'}]}"),
                67);
    CHECK_DONE(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'s2'," EN1 "}]}"));
    CHECK_FAULT(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'s3'," EN2 "}]}"), 85);
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'s':1},'name':'s','"
                              "collation':{'locale':'simple'}}]}"),
                86);
    mongo_face_close(&f);
}

TEST(mongo_collation, views_have_their_own_and_take_no_other)
{
    struct mongo_face f;
    struct mongo_answer a;

    fill(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'create':'v','viewOn':'c','pipeline':[{'$match':{'s':'APPLE'}}]," EN2 "}"));
    CHECK_DONE(mongo_ask(&f, "{'create':'p','viewOn':'c','pipeline':[]}"));
    a = mongo_ask(&f, "{'find':'v'}");
    CHECK_STRING(ids_at(&f, &a, "cursor.firstBatch"), "1 2");
    a = mongo_ask(&f, "{'find':'v','filter':{'d.t':'DEEP'}," EN2 "}");
    CHECK_STRING(ids_at(&f, &a, "cursor.firstBatch"), "1 2");
    a = mongo_ask(&f, "{'count':'v','query':{'s':'aPPle'}}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "");
    a = mongo_ask(&f, "{'distinct':'v','key':'s'}");
    CHECK_STRING(mongo_text(&f, &a, "values"), "[\"apple\"]");
    CHECK_FAULT(mongo_ask(&f, "{'find':'v'," EN1 "}"), 167);
    CHECK_FAULT(mongo_ask(&f, "{'find':'v','collation':{'locale':'simple'}}"), 167);
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'p','cursor':{},'pipeline':[]," EN2 "}"), 167);
    CHECK_FAULT(mongo_ask(&f, "{'count':'p'," EN2 "}"), 167);
    CHECK_FAULT(mongo_ask(&f, "{'create':'w','viewOn':'v','pipeline':[]," EN1 "}"), 167);
    CHECK_FAULT(mongo_ask(&f, "{'create':'w','viewOn':'v','pipeline':[]}"), 167);
    CHECK_DONE(mongo_ask(&f, "{'create':'w','viewOn':'v','pipeline':[]," EN2 "}"));
    CHECK_FAULT(
        mongo_ask(
            &f, "{'aggregate':'c','cursor':{},'pipeline':[{'$lookup':{'from':'v','localField':'s',"
                "'foreignField':'s','as':'o'}}]}"),
        167);
    a = mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[{'$match':{'_id':1}},{'$lookup':{'"
                      "from':'w','localField':'s',"
                      "'foreignField':'s','as':'o'}},{'$project':{'n':{'$size':'$o'}}}]," EN2 "}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":1,\"n\":2}]");
    mongo_face_close(&f);
}

TEST(mongo_collation, what_is_no_collation_is_refused_with_its_reason)
{
    const struct {
        const char *given;
        int32_t code;
        const char *part;
    } rows[] = {
        {"{'locale':'xx'}",                                   2,     "Field 'locale' is invalid"     },
        { "{'locale':'de_DE'}",                               2,     "did you mean 'de'?"            },
        { "{'locale':''}",                                    2,     "'locale'"                      },
        { "{'locale':1}",                                     14,    "collation.locale"              },
        { "{'strength':1}",                                   40414, "collation.locale"              },
        { "{'locale':'en','x':1}",                            40415, "collation.x"                   },
        { "{'locale':'en','strength':0}",                     2,     "must be >= 1, actual value '0'"},
        { "{'locale':'en','strength':6}",                     2,     "must be <= 5, actual value '6'"},
        { "{'locale':'en','strength':2.5}",                   2,     "whole number"                  },
        { "{'locale':'en','strength':'2'}",                   14,    "collation.strength"            },
        { "{'locale':'en','caseLevel':1}",                    14,    "collation.caseLevel"           },
        { "{'locale':'en','caseFirst':'x'}",                  2,     "'x' for field 'collation.caseF"},
        { "{'locale':'en','alternate':'x'}",                  2,     "collation.alternate"           },
        { "{'locale':'en','maxVariable':'x'}",                2,     "collation.maxVariable"         },
        { "{'locale':'en','version':'58.1'}",                 161,   "58.1"                          },
        { "{'locale':'en','backwards':true,'strength':1}",    2,     "'backwards' is invalid"        },
        { "{'locale':'en','caseFirst':'upper','strength':1}", 2,     "'caseFirst' is invalid"        },
        { "{'locale':'simple','strength':1}",                 9,     "locale=simple"                 },
    };
    static const char *const commands[] = { "'find':'c'",
                                            "'aggregate':'c','cursor':{},'pipeline':[]",
                                            "'count':'c'",
                                            "'create':'new'",
                                            "'distinct':'c','key':'a'",
                                            "'findAndModify':'c','remove':true" };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
            struct mongo_answer a = mongo_ask(&f, "{%s,'collation':%s}", commands[i], r->given);
            CHECK_EQ(a.code, r->code, "%s %s: %s", commands[i], r->given, a.message);
            CHECK_THAT(strstr(a.message, r->part), "%s: %s", r->given, a.message);
        }
    }
    mongo_face_close(&f);
}

/* ---- random texts ----------------------------------------------------------------------------------- */

static const char *any_text(struct mongo_face *f, struct random *random)
{
    static const char *const pieces[] = { "a",  "A", "b", "B",        "\xc3\xa4", "1",
                                          "10", "-", " ", "\xc3\x9f", "ss" };
    const char *text = "";

    for (size_t i = random_below(random, 4); i > 0; i--)
        text = arena_format(f->world.arena, "%s%s", text,
                            pieces[random_below(random, ARRAY_COUNT(pieces))]);
    return text;
}

static const char *any_value(struct mongo_face *f, struct random *random)
{
    struct arena *arena = f->world.arena;

    switch (random_below(random, 10)) {
    case 0:
        return arena_format(arena, "%d", (int)random_below(random, 5));
    case 1:
        return arena_format(arena, "['%s','%s']", any_text(f, random), any_text(f, random));
    case 2:
        return arena_format(arena, "{'t':'%s'}", any_text(f, random));
    case 3:
        return "null";
    default:
        return arena_format(arena, "'%s'", any_text(f, random));
    }
}

static const char *any_find(struct mongo_face *f, struct random *random)
{
    static const char *const operators[] = { "$eq", "$gt", "$gte", "$lt", "$lte", "$ne" };
    struct arena *arena = f->world.arena;
    const char *field = random_chance(random, 70) ? "a" : random_chance(random, 50) ? "b" : "_id";
    const char *filter = random_chance(random, 25)
                             ? arena_format(arena, "'$in':[%s,%s]", any_value(f, random),
                                            any_value(f, random))
                             : arena_format(arena, "'%s':%s",
                                            operators[random_below(random, ARRAY_COUNT(operators))],
                                            any_value(f, random));
    return arena_format(arena, "'filter':{'%s':{%s}},'sort':{'%s':%d,'k':1}", field, filter,
                        random_chance(random, 50) ? "a" : "b", random_chance(random, 50) ? 1 : -1);
}

TEST(mongo_collation, indexes_find_what_a_walk_over_all_documents_finds)
{
    static const char *const collations[] = { "{'locale':'simple'}", "{'locale':'en','strength':1}",
                                              "{'locale':'de','strength':2,'numericOrdering':true}",
                                              "{'locale':'sv','alternate':'shifted'}" };

    EACH_SEED(seed, 6) {
        struct random random = random_seeded(seed);
        struct mongo_face f;
        mongo_face_open(&f);
        CHECK_DONE(mongo_ask(&f, "{'create':'c','collation':%s}",
                             collations[seed % ARRAY_COUNT(collations)]));
        CHECK_DONE(mongo_ask(&f,
                             "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'i1'},"
                             "{'key':{'a':-1,'b':1},'name':'i2','collation':%s},"
                             "{'key':{'b':1},'name':'i3','collation':%s}]}",
                             collations[1 + random_below(&random, 3)],
                             collations[random_below(&random, 4)]));
        for (int i = 0; i < 60; i++)
            CHECK_DONE(mongo_ask(
                &f, "{'insert':'c','documents':[{'_id':'%s','a':%s,'b':%s,'k':%d}]}",
                any_text(&f, &random), any_value(&f, &random), any_value(&f, &random), i));
        for (int i = 0; i < 60; i++) {
            const char *find = any_find(&f, &random);
            const char *by = collations[random_below(&random, ARRAY_COUNT(collations))];
            const char *any = found(&f, arena_format(f.world.arena, "%s,'collation':%s", find, by));
            const char *all = found(
                &f,
                arena_format(f.world.arena, "%s,'collation':%s,'hint':{'$natural':1}", find, by));
            CHECK_STRING(any, all);
        }
        mongo_face_close(&f);
    }
}

TEST(mongo_collation, merges_copies_and_plans_show_it_too)
{
    struct mongo_face f;
    struct mongo_answer a;

    fill(&f);
    CHECK_DONE(mongo_ask(
        &f, "{'createIndexes':'t','indexes':[{'key':{'s':1},'name':'u','unique':true," EN2 "}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'t','documents':[{'_id':9,'s':'BANANA'}]}"));
    CHECK_FAULT(
        mongo_ask(&f,
                  "{'aggregate':'c','cursor':{},'pipeline':[{'$merge':{'into':'t','on':'s'}}]}"),
        51183);
    CHECK_DONE(mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[{'$match':{'s':'banana'}},{'"
                             "$project':{'_id':0,'s':1,'n':1}},"
                             "{'$merge':{'into':'t','on':'s'}}]," EN2 "}"));
    CHECK_STRING(mongo_found(&f, "t", "{}"), "[{\"_id\":9,\"s\":\"banana\",\"n\":3}]");
    a = mongo_ask(&f, "{'explain':{'find':'t','filter':{'s':'Banana'}," EN2 "}}");
    CHECK_STRING(mongo_text(&f, &a, "queryPlanner.collation.strength"), "2");
    CHECK_STRING(mongo_text(&f, &a, "queryPlanner.winningPlan.inputStage.collation.locale"),
                 "\"en\"");
    CHECK(strstr(mongo_text(&f, &a, "queryPlanner.winningPlan.inputStage.indexBounds.s.0"), "0x"));
    CHECK_DONE(mongo_ask(&f, "{'create':'from'," EN2 "}"));
    CHECK_DONE(
        mongo_ask(&f, "{'cloneCollectionAsCapped':'from','toCollection':'to','size':100000}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'to','documents':[{'_id':'x'}]}"));
    CHECK_STRING(mongo_found(&f, "to", "{'_id':'X'}"), "[{\"_id\":\"x\"}]");
    CHECK_DONE(
        mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[{'$limit':1},{'$out':'from'}]}"));
    a = mongo_ask(&f, "{'listIndexes':'from'}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.collation.strength"), "2");
    mongo_face_close(&f);
}
