/* Indexes made, listed and dropped through commands. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

static struct mongo_answer create(struct mongo_face *f, const char *spec)
{
    return mongo_ask(f, "{'createIndexes':'c','indexes':[%s]}", spec);
}

static const char *listed(struct mongo_face *f)
{
    struct mongo_answer answer = mongo_ask(f, "{'listIndexes':'c'}");

    CHECK_DONE(answer);
    return mongo_text(f, &answer, "cursor.firstBatch");
}

TEST(mongo_index, what_is_created_is_listed_with_its_options)
{
    const struct {
        const char *given, *row;
    } rows[] = {
        {"{'key':{'a':1},'name':'n'}",                                                     "{\"v\":2,\"key\":{\"a\":1},\"name\":\"n\"}"},
        { "{'key':{'a':1,'b':-1},'name':'n','unique':true}",
         "{\"v\":2,\"key\":{\"a\":1,\"b\":-1},\"name\":\"n\",\"unique\":true}"                                                         },
        { "{'key':{'a':1},'name':'n','sparse':true,'background':true}",
         "{\"v\":2,\"key\":{\"a\":1},\"name\":\"n\",\"sparse\":true}"                                                                  },
        { "{'key':{'a':1},'name':'n','partialFilterExpression':{'b':{'$gt':5}}}",
         "{\"v\":2,\"key\":{\"a\":1},\"name\":\"n\",\"partialFilterExpression\":{\"b\":{\"$gt\":5}"
          "}}"                                                                                                                         },
        { "{'key':{'a.b':-1},'name':'n','expireAfterSeconds':3600.5,'hidden':true}",
         "{\"v\":2,\"key\":{\"a.b\":-1},\"name\":\"n\",\"expireAfterSeconds\":3600,\"hidden\":"
          "true}"                                                                                                                      },
        { "{'key':{'a':'hashed'},'name':'n'}",
         "{\"v\":2,\"key\":{\"a\":\"hashed\"},\"name\":\"n\"}"                                                                         },
        { "{'key':{'a':'text'},'name':'n','weights':{'a':5},'default_language':'german'}",
         "{\"v\":2,\"key\":{\"_fts\":\"text\",\"_ftsx\":1},\"name\":\"n\",\"weights\":{\"a\":5},"
          "\"default_"
          "language\":\"german\",\"language_override\":\"language\",\"textIndexVersion\":3}"                                           },
        { "{'key':{'a':1},'name':'n','collation':{'locale':'simple'}}",
         "{\"v\":2,\"key\":{\"a\":1},\"name\":\"n\"}"                                                                                  },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        char want[512];
        struct mongo_answer answer = create(&f, r->given);
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "numIndexesBefore"), 1, "%s", r->given);
        CHECK_EQ(mongo_number(&answer, "numIndexesAfter"), 2, "%s", r->given);
        snprintf(want, sizeof(want), "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"},%s]",
                 r->row);
        CHECK_STRING(listed(&f), want);
        mongo_face_restart(&f);
        CHECK_STRING(listed(&f), want);
        CHECK_DONE(mongo_ask(&f, "{'dropIndexes':'c','index':'n'}"));
    }
    mongo_face_close(&f);
}

TEST(mongo_index, what_cannot_be_an_index_is_refused)
{
    const struct {
        const char *given;
        int code;
    } rows[] = {
        {"{'name':'n'}",                                                                           9    },
        { "{'key':{'a':1}}",                                                                       9    },
        { "{'key':5,'name':'n'}",                                                                  14   },
        { "{'key':{'a':1},'name':5}",                                                              14   },
        { "{'key':{},'name':'n'}",                                                                 67   },
        { "{'key':{'':1},'name':'n'}",                                                             67   },
        { "{'key':{'a..b':1},'name':'n'}",                                                         67   },
        { "{'key':{'a.':1},'name':'n'}",                                                           67   },
        { "{'key':{'$a':1},'name':'n'}",                                                           67   },
        { "{'key':{'a':0},'name':'n'}",                                                            67   },
        { "{'key':{'a':true},'name':'n'}",                                                         67   },
        { "{'key':{'a':'magic'},'name':'n'}",                                                      67   },
        { "{'key':{'a':1,'a':-1},'name':'n'}",                                                     67   },
        { "{'key':{'a':1},'name':''}",                                                             67   },
        { "{'key':{'a':1},'name':'*'}",                                                            2    },
        { "{'key':{'a':1},'name':'_id_'}",                                                         2    },
        { "{'key':{'a':1},'name':'$mine'}",                                                        67   },
        { "{'key':{'_id':-1},'name':'n'}",                                                         2    },
        { "{'key':{'_id':1},'name':'n','unique':true}",                                            197  },
        { "{'key':{'_id':1},'name':'n','expireAfterSeconds':5}",                                   197  },
        { "{'key':{'a':1},'name':'n','color':'red'}",                                              197  },
        { "{'key':{'a':1},'name':'n','v':3}",                                                      67   },
        { "{'key':{'a':1},'name':'n','unique':'yes'}",                                             14   },
        { "{'key':{'a':1},'name':'n','partialFilterExpression':5}",                                14   },
        { "{'key':{'a':1},'name':'n','partialFilterExpression':{'a':{'$not':{'$gt':1}}}}",         67   },
        { "{'key':{'a':1},'name':'n','partialFilterExpression':{'a':1},'sparse':true}",            67   },
        { "{'key':{'a':'hashed'},'name':'n','unique':true}",                                       67   },
        { "{'key':{'a':1},'name':'n','collation':{'strength':2}}",                                 40414},
        { "{'key':{'a':1},'name':'n','collation':{'locale':'en','x':2}}",                          40415},
        { "{'key':{'a':1},'name':'n','collation':{'locale':'xx'}}",                                2    },
        { "{'key':{'a':'text'},'name':'n','collation':{'locale':'en'}}",                           67   },
 /* expireAfterSeconds */
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':'5'}",                                   67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':null}",                                  67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':true}",                                  67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':{}}",                                    67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':[5]}",                                   67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':-1}",                                    67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':-0.5}",                                  67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':2147483648}",                            67   },
        { "{'key':{'a':1},'name':'n','expireAfterSeconds':1e15}",                                  67   },
        { "{'key':{'a':1,'b':1},'name':'n','expireAfterSeconds':5}",                               67   },
        { "{'key':{'$**':1},'name':'n','expireAfterSeconds':5}",                                   67   },
        { "{'key':{'a.$**':1},'name':'n','expireAfterSeconds':5}",                                 67   },
 /* the default time to live */
        { "{'key':{'_ts':1},'name':'n','expireAfterSeconds':0}",                                   67   },
        { "{'key':{'_ts':1},'name':'n','expireAfterSeconds':-2}",                                  67   },
        { "{'key':{'_ts':1},'name':'n','expireAfterSeconds':5,'partialFilterExpression':{'a':1}}",
         67                                                                                             },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer answer = create(&f, r->given);
        CHECK_EQ(answer.code, r->code, "%s: %s", r->given, answer.message);
        CHECK_FAULT(mongo_ask(&f, "{'listIndexes':'c'}"), ERROR_NamespaceNotFound);
    }
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'c','indexes':[]}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'c','indexes':5}"), ERROR_TypeMismatch);
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'c'}"), 40414);
    mongo_face_close(&f);
}

TEST(mongo_index, M_10_conflicts_are_told_apart)
{
    const struct {
        const char *given;
        int code;
        const char *says;
    } rows[] = {
        {"{'key':{'d':1},'name':'d_1','expireAfterSeconds':3600}",                  0,  ""                      },
        { "{'key':{'d':1.0},'name':'d_1','expireAfterSeconds':3600,'hidden':true}", 0,  ""                      },
        { "{'key':{'d':1},'name':'d_1','expireAfterSeconds':7200}",                 85,
         "{ collMod: \"c\", index: { name: \"d_1\", expireAfterSeconds: 7200 } }"                               },
        { "{'key':{'d':1},'name':'d_1'}",                                           85, "drop the index \"d_1\""},
        { "{'key':{'e':1},'name':'d_1'}",                                           86, "another name"          },
        { "{'key':{'d':1},'name':'d_1','unique':true}",                             86, ""                      },
        { "{'key':{'d':1},'name':'d_1','sparse':true}",                             86, ""                      },
        { "{'key':{'d':1},'name':'other','expireAfterSeconds':3600}",               85, "d_1"                   },
        { "{'key':{'d':1},'name':'other','expireAfterSeconds':60}",                 85,
         "{ collMod: \"c\", index: { name: \"d_1\", expireAfterSeconds: 60 } }"                                 },
        { "{'key':{'d':1},'name':'other'}",                                         85, "d_1"                   },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(create(&f, "{'key':{'d':1},'name':'d_1','expireAfterSeconds':3600}"));
    EACH_ROW(rows, r) {
        struct mongo_answer answer = create(&f, r->given);
        CHECK_EQ(answer.code, r->code, "%s: %s", r->given, answer.message);
        if (r->code)
            CHECK_THAT(strstr(answer.message, r->says) != NULL, "%s", answer.message);
        else
            CHECK_STRING(mongo_text(&f, &answer, "note"), "\"all indexes already exist\"");
    }
    CHECK_DONE(create(&f, "{'key':{'d':1},'name':'en','expireAfterSeconds':60,"
                          "'collation':{'locale':'en'}}"));
    CHECK_DONE(create(&f, "{'key':{'d':1},'name':'some','partialFilterExpression':{'a':1}}"));
    CHECK_DONE(create(&f, "{'key':{'d':-1},'name':'down'}"));
    /* Among themselves too. */
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'n','indexes':[{'key':{'a':1},'name':'x'},"
                              "{'key':{'a':1},'name':'y'}]}"),
                85);
    mongo_face_close(&f);
}

TEST(mongo_index, partial_filters_are_compared_by_what_they_mean)
{
    const struct {
        const char *there, *wanted;
        bool is_same;
    } rows[] = {
        {"{'a':1}",                    "{'a':{'$eq':1}}",                             true },
        { "{'a':1}",                   "{'a':{'$in':[1]}}",                           true },
        { "{'a':1}",                   "{'$and':[{'a':1},{'a':1.0}]}",                true },
        { "{'a':1,'b':2}",             "{'b':2,'a':1}",                               true },
        { "{'a':{'$gt':0,'$lt':9}}",   "{'$and':[{'a':{'$lt':9}},{'a':{'$gt':0}}]}",  true },
        { "{'$or':[{'a':1},{'b':2}]}", "{'$or':[{'b':2},{'$or':[{'a':1},{'b':2}]}]}", true },
        { "{'a':{'$in':[1,2]}}",       "{'a':{'$in':[2,1]}}",                         true },
        { "{'a':1}",                   "{'a':2}",                                     false},
        { "{'a':1}",                   "{'b':1}",                                     false},
        { "{'a':1}",                   "{'a':'1'}",                                   false},
        { "{'a':{'$gt':1}}",           "{'a':{'$gte':1}}",                            false},
        { "{'a':{'$in':[1,2]}}",       "{'a':{'$in':[1,2,3]}}",                       false},
        { "{'a':1,'b':2}",             "{'$or':[{'a':1},{'b':2}]}",                   false},
        { "{'a':1,'b':2}",             "{'a':1}",                                     false},
        { "{'a':{'$exists':true}}",    "{'a':{'$type':'int'}}",                       false},
        { "{'a':{'$type':'long'}}",    "{'a':{'$type':'int'}}",                       false},
    };

    EACH_ROW(rows, r) {
        struct mongo_face f;
        mongo_face_open(&f);
        CHECK_DONE(mongo_ask(&f,
                             "{'createIndexes':'c','indexes':[{'key':{'k':1},'name':'n',"
                             "'partialFilterExpression':%s}]}",
                             r->there));
        struct mongo_answer answer = mongo_ask(&f,
                                               "{'createIndexes':'c','indexes':[{'key':{'k':1},"
                                               "'name':'n','partialFilterExpression':%s}]}",
                                               r->wanted);
        CHECK_EQ(answer.code, r->is_same ? 0 : 86, "%s and %s: %s", r->there, r->wanted,
                 answer.message);
        mongo_face_close(&f);
    }
}

TEST(mongo_index, there_are_at_most_64_of_them)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 1; i < 64; i++)
        CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'f%d':1},'name':'n%d'}]}",
                             i, i));
    CHECK_FAULT(create(&f, "{'key':{'more':1},'name':'more'}"), ERROR_CannotCreateIndex);
    struct mongo_answer answer = mongo_ask(&f, "{'dropIndexes':'c','index':'*'}");
    CHECK_EQ(mongo_number(&answer, "nIndexesWas"), 64, "");
    CHECK_DONE(create(&f, "{'key':{'more':1},'name':'more'}"));
    mongo_face_close(&f);
}

TEST(mongo_index, dropping_takes_names_keys_lists_and_all)
{
    const struct {
        const char *index;
        int code;
        const char *left;
    } rows[] = {
        {"'a_1'",          0,   "b_1 c_1 c_2"    },
        { "{'a':1}",       0,   "b_1 c_1 c_2"    },
        { "{'a':1.0}",     0,   "b_1 c_1 c_2"    },
        { "['a_1','b_1']", 0,   "c_1 c_2"        },
        { "['a_1','a_1']", 0,   "b_1 c_1 c_2"    },
        { "[]",            0,   "a_1 b_1 c_1 c_2"},
        { "'*'",           0,   ""               },
        { "'x'",           27,  "a_1 b_1 c_1 c_2"},
        { "['a_1','x']",   27,  "a_1 b_1 c_1 c_2"},
        { "{'x':1}",       27,  "a_1 b_1 c_1 c_2"},
        { "{'a':-1}",      27,  "a_1 b_1 c_1 c_2"},
        { "{'c':1}",       181, "a_1 b_1 c_1 c_2"},
        { "'_id_'",        72,  "a_1 b_1 c_1 c_2"},
        { "{'_id':1}",     72,  "a_1 b_1 c_1 c_2"},
        { "5",             14,  "a_1 b_1 c_1 c_2"},
        { "[5]",           14,  "a_1 b_1 c_1 c_2"},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        char names[128] = "", path[64];
        CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a_1'},"
                                 "{'key':{'b':1},'name':'b_1'},{'key':{'c':1},'name':'c_1'},"
                                 "{'key':{'c':1},'name':'c_2','sparse':true}]}"));
        struct mongo_answer answer = mongo_ask(&f, "{'dropIndexes':'c','index':%s}", r->index);
        CHECK_EQ(answer.code, r->code, "%s: %s", r->index, answer.message);
        answer = mongo_ask(&f, "{'listIndexes':'c'}");
        for (int i = 1; i < 5; i++) {
            snprintf(path, sizeof(path), "cursor.firstBatch.%d.name", i);
            const char *name = mongo_text(&f, &answer, path);
            if (name[0] == '"')
                snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%.*s",
                         names[0] ? " " : "", (int)strlen(name) - 2, name + 1);
        }
        CHECK_STRING(names, r->left);
        CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    }
    CHECK_FAULT(mongo_ask(&f, "{'dropIndexes':'c','index':'*'}"), ERROR_NamespaceNotFound);
    mongo_face_close(&f);
}

TEST(mongo_index, a_unique_index_says_which_value_is_there_twice)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(create(&f, "{'key':{'a':1,'b.c':-1},'name':'u','unique':true}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1,'b':[{'c':5},{'c':6}]}]}"));
    struct mongo_answer answer =
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':2,'a':1,'b':[{'c':7},{'c':6}]}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), 11000, "");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.keyPattern"), "{\"a\":1,\"b.c\":-1}");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.keyValue"), "{\"a\":1,\"b.c\":6}");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.errmsg"),
                 "\"E11000 duplicate key error collection: db.c index: u dup key: { a: 1, b.c: 6 "
                 "}\"");
    answer = mongo_ask(&f, "{'insert':'c','documents':[{'_id':3},{'_id':4}]}");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.keyValue"), "{\"a\":null,\"b.c\":null}");
    mongo_face_close(&f);
}

TEST(mongo_index, a_unique_index_that_cannot_be_built_is_gone_again)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':7},{'_id':2,'a':8},"
                             "{'_id':3,'a':[9,7]}]}"));
    struct mongo_answer answer = create(&f, "{'key':{'a':1},'name':'u','unique':true}");
    CHECK_FAULT(answer, ERROR_DuplicateKey);
    CHECK_STRING(mongo_text(&f, &answer, "keyValue"), "{\"a\":7}");
    CHECK_STRING(mongo_text(&f, &answer, "keyPattern"), "{\"a\":1}");
    CHECK_STRING(listed(&f), "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"}]");
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':3},'limit':1}]}"));
    CHECK_DONE(create(&f, "{'key':{'a':1},'name':'u','unique':true}"));
    answer = mongo_ask(&f, "{'insert':'c','documents':[{'_id':5,'a':8}]}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), 11000, "");
    mongo_face_close(&f);
}

TEST(mongo_index, two_arrays_side_by_side_cannot_be_indexed)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':[1],'b':[2]}]}"));
    CHECK_FAULT(create(&f, "{'key':{'a':1,'b':1},'name':'u'}"), ERROR_CannotCreateIndex);
    CHECK_STRING(listed(&f), "[{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"}]");
    mongo_face_close(&f);
}

TEST(mongo_index, a_hint_may_name_the_index_on_the_stamp)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','hint':'_ts_1'}"), 2);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'_ts':1},'name':'_ts_1',"
                             "'expireAfterSeconds':60}]}"));
    static const char *const hints[] = { "'_ts_1'", "{'_ts':1}" };
    EACH_ROW(hints, hint) {
        struct mongo_answer a = mongo_ask(&f, "{'find':'c','filter':{'_id':2},'hint':%s}", *hint);
        CHECK_DONE(a);
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":2}]");
    }
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','hint':'_ts_2'}"), 2);
    mongo_face_close(&f);
}

TEST(mongo_index, an_unknown_kind_is_told_with_what_there_is)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'q':'asc'},'name':'q'}]}");
    CHECK_EQ(answer.code, ERROR_CannotCreateIndex, "");
    CHECK_STRING(answer.message,
                 "Unknown index plugin 'asc' of the field 'q'; give 1 to go up, -1 to go down, "
                 "or one of hashed, text, 2d and 2dsphere");
    mongo_face_close(&f);
}

TEST(mongo_index, a_change_that_is_refused_in_part_changes_nothing)
{
    static const char *const refused[] = {
        "'cappedMax':1,'index':{'name':'missing','hidden':true}",
        "'cappedMax':1,'index':{'name':'d','expireAfterSeconds':-5}",
        "'cappedMax':1,'expireAfterSeconds':5",
        "'index':{'name':'d','hidden':true},'expireAfterSeconds':5",
        "'index':{'name':'d','hidden':true},'cappedMax':-1,'cappedSize':0",
        "'index':{'name':'d','hidden':true},'validator':{'$bad':1}",
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','capped':true,'size':100000,'max':10}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'d':1},'name':'d'}]}"));
    EACH_ROW(refused, r) {
        CHECK_THAT(mongo_ask(&f, "{'collMod':'c',%s}", *r).code != 0, "%s is not refused", *r);
        struct mongo_answer a = mongo_ask(&f, "{'collStats':'c'}");
        CHECK_EQ(mongo_number(&a, "max"), 10, "%s", *r);
        a = mongo_ask(&f, "{'listIndexes':'c'}");
        CHECK_THAT(!strstr(mongo_text(&f, &a, "cursor.firstBatch"), "hidden"), "%s", *r);
    }
    mongo_face_close(&f);
}
