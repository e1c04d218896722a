/* Hashed and wildcard indexes: what they refuse, and which finds they serve. */
#include "tests/support/mongo_face.h"

static struct mongo_answer create(struct mongo_face *f, const char *spec)
{
    return mongo_ask(f, "{'createIndexes':'c','indexes':[%s]}", spec);
}

static const char *plan_of(struct mongo_face *f, const char *find, const char *path)
{
    struct mongo_answer answer =
        mongo_ask(f, "{'explain':{'find':'c',%s},'verbosity':'queryPlanner'}", find);

    CHECK_DONE(answer);
    return mongo_text(f, &answer,
                      arena_format(f->world.arena, "queryPlanner.winningPlan.%s", path));
}

struct plan_row {
    const char *find, *path, *want;
};

static void check_plans(struct mongo_face *f, const struct plan_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_STRING(plan_of(f, rows[i].find, rows[i].path), rows[i].want);
}

TEST(mongo_kinds, a_hashed_index_serves_equality_and_nothing_else)
{
    static const struct plan_row rows[] = {
        {"'filter':{'a':5}",                                                                "inputStage.stage",      "\"IXSCAN\""        },
        { "'filter':{'a':5}",                                                               "inputStage.keyPattern", "{\"a\":\"hashed\"}"},
        { "'filter':{'a':5}",                                                               "filter",                "{\"a\":5}"         },
        { "'filter':{'a':5}",                                                               "inputStage.isMultiKey", "false"             },
        { "'filter':{'a':{'$in':[1,2]}}",                                                   "inputStage.stage",      "\"IXSCAN\""        },
        { "'filter':{'a':null}",                                                            "inputStage.stage",      "\"IXSCAN\""        },
        { "'filter':{'a':{'$gt':5}}",                                                       "stage",                 "\"COLLSCAN\""      },
        { "'filter':{'a':{'$exists':true}}",                                                "stage",                 "\"COLLSCAN\""      },
        { "'filter':{'a':{'$in':[1,{'$regularExpression':{'pattern':'x','options':''}}]}}", "stage",
         "\"COLLSCAN\""                                                                                                                  },
        { "'filter':{},'sort':{'a':1}",                                                     "stage",                 "\"SORT\""          },
        { "'filter':{'b':1,'c':{'$gt':2}}",                                                 "inputStage.indexName",  "\"bc\""            },
        { "'filter':{'b':1},'sort':{'c':-1}",                                               "inputStage.direction",  "\"backward\""      },
        { "'filter':{'a':1},'hint':{'a':'hashed'}",                                         "inputStage.indexName",  "\"a_hashed\""      },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':5,'b':1,'c':2},"
                             "{'_id':2,'a':5.0,'b':1,'c':3},{'_id':3,'a':5.5},{'_id':4}]}"));
    CHECK_DONE(create(&f, "{'key':{'a':'hashed'},'name':'a_hashed'},"
                          "{'key':{'b':'hashed','c':1},'name':'bc'}"));
    check_plans(&f, rows, ARRAY_COUNT(rows));
    CHECK_STRING(mongo_found(&f, "c", "{'a':5}"),
                 "[{\"_id\":1,\"a\":5,\"b\":1,\"c\":2},{\"_id\":2,\"a\":5,\"b\":1,\"c\":3}]");
    CHECK_STRING(mongo_found(&f, "c", "{'a':null}"), "[{\"_id\":4}]");
    CHECK_STRING(mongo_found(&f, "c", "{'a':5.5}"), "[{\"_id\":3,\"a\":5.5}]");
    mongo_face_close(&f);
}

TEST(mongo_kinds, a_document_that_an_index_cannot_hold_is_refused_by_number)
{
    static const struct {
        const char *index, *document;
        int code;
    } rows[] = {
        {"{'key':{'a':'hashed'},'name':'i'}",     "{'a':[1]}",         16766  },
        { "{'key':{'a.b':'hashed'},'name':'i'}",  "{'a':[{'b':1}]}",   16766  },
        { "{'key':{'a':1,'b':1},'name':'i'}",     "{'a':[1],'b':[1]}", 171    },
        { "{'key':{'x':1,'a.$**':1},'name':'i'}", "{'x':[1],'a':1}",   7246301},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        CHECK_DONE(create(&f, r->index));
        struct mongo_answer answer = mongo_ask(&f, "{'insert':'c','documents':[%s]}", r->document);
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), r->code, "%s", r->index);
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
        answer = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':%s}]}", r->document);
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), r->code, "%s", r->index);
        CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    }
    mongo_face_close(&f);
}

/* { count: "c", query: { a: { $in: [ 5, code ] } } }: the reader of JSON in libbson takes the end of the name of such code
 * from memory that nobody has written, if it lies in an array. */
static bytes count_by_list_with_code(struct arena *arena)
{
    bytes parts = world_document(
        arena, "{'name':'c','five':5,'code':{'$code':'f','$scope':{'x':{'$numberLong':'1'}}}}");
    struct buffer built = buffer_in(arena);
    struct value name, five, code;
    bytes document;

    CHECK(document_find(parts, "name", &name) && document_find(parts, "five", &five) &&
          document_find(parts, "code", &code));
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("count"), name);
    size_t query = document_begin_inner(&built, VALUE_DOCUMENT, BYTES_LITERAL("query"));
    size_t condition = document_begin_inner(&built, VALUE_DOCUMENT, BYTES_LITERAL("a"));
    size_t list = document_begin_inner(&built, VALUE_ARRAY, BYTES_LITERAL("$in"));
    document_append(&built, BYTES_LITERAL("0"), five);
    document_append(&built, BYTES_LITERAL("1"), code);
    document_end(&built, list);
    document_end(&built, condition);
    document_end(&built, query);
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &document));
    return document;
}

TEST(mongo_kinds, code_with_a_scope_is_found_whatever_its_numbers_are)
{
    static const char *const filters[] = {
        "{'a':{'$code':'f','$scope':{'x':1}}}",
        "{'a':{'$code':'f','$scope':{'x':1.0}}}",
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':'hashed'},'name':'h'}]}"));
    CHECK_DONE(
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':{'$code':'f','$scope':{'x':1}}}]}"));
    EACH_ROW(filters, filter) {
        struct mongo_answer answer = mongo_ask(&f, "{'count':'c','query':%s}", *filter);
        CHECK_EQ(mongo_number(&answer, "n"), 1, "%s", *filter);
    }
    struct mongo_answer answer = mongo_ask_document(&f, count_by_list_with_code(f.world.arena));
    CHECK_EQ(mongo_number(&answer, "n"), 1, "");
    mongo_face_close(&f);
}

TEST(mongo_kinds, what_cannot_be_hashed_or_a_wildcard_is_refused)
{
    static const struct {
        const char *index;
        int code;
    } rows[] = {
        {"{'key':{'a':'hashed','b':'hashed'},'name':'i'}",                   31303},
        { "{'key':{'a':'hashed'},'name':'i','unique':true}",                 67   },
        { "{'key':{'$**':1},'name':'i','unique':true}",                      67   },
        { "{'key':{'$**':1},'name':'i','sparse':true}",                      67   },
        { "{'key':{'$**':1},'name':'i','expireAfterSeconds':5}",             67   },
        { "{'key':{'$**':'hashed'},'name':'i'}",                             67   },
        { "{'key':{'a.$**':1,'b.$**':1},'name':'i'}",                        67   },
        { "{'key':{'a':1,'$**':1},'name':'i'}",                              67   },
        { "{'key':{'a.$**':1},'name':'i','wildcardProjection':{'a':1}}",     9    },
        { "{'key':{'a':1},'name':'i','wildcardProjection':{'a':1}}",         2    },
        { "{'key':{'$**':1},'name':'i','wildcardProjection':{}}",            9    },
        { "{'key':{'$**':1},'name':'i','wildcardProjection':5}",             14   },
        { "{'key':{'$**':1},'name':'i','wildcardProjection':{'a':1,'b':0}}", 31253},
        { "{'key':{'$**':1},'name':'i','wildcardProjection':{'a':'x'}}",     9    },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(create(&f, r->index), r->code);
    mongo_face_close(&f);
}

TEST(mongo_kinds, a_wildcard_index_serves_one_path_of_a_condition)
{
    static const struct plan_row rows[] = {
        {"'filter':{'a':5}",                          "inputStage.keyPattern",    "{\"$_path\":1,\"a\":1}"  },
        { "'filter':{'a':5}",                         "inputStage.indexBounds",
         "{\"$_path\":[\"[\\\"a\\\", \\\"a\\\"]\"],\"a\":[\"[5, 5]\"]}"                                     },
        { "'filter':{'d.e':{'$gt':2}}",               "inputStage.indexBounds",
         "{\"$_path\":[\"[\\\"d.e\\\", \\\"d.e\\\"]\"],\"d.e\":[\"(2, inf.0]\"]}"                           },
        { "'filter':{'a':{'$exists':true}}",          "inputStage.indexBounds",
         "{\"$_path\":[\"[\\\"a\\\", \\\"a\\\"]\",\"[\\\"a.\\\", \\\"a/\\\")\"],"
          "\"a\":[\"[MinKey, MaxKey]\"]}"                                                                   },
        { "'filter':{'a':{'$in':[1,2]}}",             "inputStage.stage",         "\"IXSCAN\""              },
        { "'filter':{'a':{'$gt':2,'$lt':9}}",         "inputStage.indexBounds.a", "[\"(2, 9)\"]"            },
        { "'filter':{'t':{'$gt':2,'$lt':9}}",         "inputStage.isMultiKey",    "true"                    },
        { "'filter':{'t':{'$gt':2,'$lt':9}}",         "inputStage.multiKeyPaths",
         "{\"$_path\":[],\"t\":[\"t\"]}"                                                                    },
        { "'filter':{'a':5}",                         "inputStage.multiKeyPaths", "{\"$_path\":[],\"a\":[]}"},
        { "'filter':{'a':{'$gt':1}},'sort':{'a':-1}", "inputStage.direction",     "\"backward\""            },
        { "'filter':{'t':{'$gt':1}},'sort':{'t':1}",  "stage",                    "\"SORT\""                },
        { "'filter':{},'sort':{'a':1}",               "stage",                    "\"SORT\""                },
        { "'filter':{'a':null}",                      "stage",                    "\"COLLSCAN\""            },
        { "'filter':{'a':{'$exists':false}}",         "stage",                    "\"COLLSCAN\""            },
        { "'filter':{'a':{'$ne':null}}",              "stage",                    "\"COLLSCAN\""            },
        { "'filter':{'d':{'e':1}}",                   "stage",                    "\"COLLSCAN\""            },
        { "'filter':{'t':[1,2]}",                     "stage",                    "\"COLLSCAN\""            },
        { "'filter':{'a':{}}",                        "inputStage.stage",         "\"IXSCAN\""              },
        { "'filter':{'_id':{'$gt':1},'a':7}",         "inputStage.indexName",     "\"w\""                   },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':5,'d':{'e':3}},"
                             "{'_id':2,'t':[1,5,20]},{'_id':3,'a':{'b':1}},{'_id':4}]}"));
    CHECK_DONE(create(&f, "{'key':{'$**':1},'name':'w'}"));
    check_plans(&f, rows, ARRAY_COUNT(rows));
    CHECK_STRING(mongo_found(&f, "c", "{'t':{'$gt':4,'$lt':6}}"), "[{\"_id\":2,\"t\":[1,5,20]}]");
    CHECK_STRING(mongo_found(&f, "c", "{'t':{'$gt':5,'$lt':3}}"), "[{\"_id\":2,\"t\":[1,5,20]}]");
    CHECK_STRING(mongo_found(&f, "c", "{'a':{'$exists':true}}"),
                 "[{\"_id\":1,\"a\":5,\"d\":{\"e\":3}},{\"_id\":3,\"a\":{\"b\":1}}]");
    mongo_face_close(&f);
}

TEST(mongo_kinds, a_projection_narrows_a_wildcard_index)
{
    static const struct {
        const char *projection, *filter;
        bool is_used;
    } rows[] = {
        {"{'a':1}",          "{'a':1}",                   true },
        { "{'a':1}",         "{'a.b':1}",                 true },
        { "{'a':1}",         "{'b':1}",                   false},
        { "{'a.b':1}",       "{'a':1}",                   false},
        { "{'a':{'b':1}}",   "{'a.b':1}",                 true },
        { "{'a':0}",         "{'a':1}",                   false},
        { "{'a':0}",         "{'b':1}",                   true },
        { "{'a.x':0}",       "{'a':1}",                   true },
        { "{'a.x':0}",       "{'a':{'$exists':true}}",    false},
        { "{'a':1}",         "{'_id':{'$gt':'x'},'b':2}", false},
        { "{'_id':1,'a':0}", "{'b':1}",                   true },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        CHECK_DONE(create(&f, arena_format(f.world.arena,
                                           "{'key':{'$**':1},'name':'w','wildcardProjection':%s}",
                                           r->projection)));
        const char *find = arena_format(f.world.arena, "'filter':%s", r->filter);
        CHECK_THAT((strcmp(plan_of(&f, find, "inputStage.indexName"), "\"w\"") == 0) == r->is_used,
                   "%s for %s", r->projection, r->filter);
        CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    }
    mongo_face_close(&f);
}

TEST(mongo_kinds, places_under_a_position_are_found_with_an_index_too)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a.0':'2dsphere'},"
                             "'name':'a'}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':[{'type':'Point',"
                             "'coordinates':[0,0]}]}]}"));
    struct mongo_answer answer = mongo_ask(
        &f, "{'find':'c','filter':{'a.0':{'$geoWithin':{'$centerSphere':[[0,0],0.1]}}},'hint':'a',"
            "'projection':{'_id':1}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"_id\":1}]");
    mongo_face_close(&f);
}
