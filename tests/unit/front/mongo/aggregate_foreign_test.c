/* Stages that look at other collections: what is dead is in none of them, whichever way it is reached. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

static const char *first_batch(struct mongo_face *f, const char *stages)
{
    struct mongo_answer answer = mongo_ask(f, "{'aggregate':'c','pipeline':[%s],'cursor':{}}",
                                           stages);

    CHECK_THAT(answer.code == 0, "%s: %s", stages, answer.message);
    return mongo_text(f, &answer, "cursor.firstBatch");
}

/* c has 1 and 2; d has documents for them that live ten seconds. */
static void fill(struct mongo_face *f)
{
    mongo_face_open(f);
    world_collection(&f->world, "d", 10, "");
    CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    CHECK_DONE(mongo_ask(f, "{'insert':'d','documents':[{'_id':10,'of':1,'up':11},"
                            "{'_id':11,'of':2,'up':10},{'_id':12,'of':1,'ttl':1000}]}"));
}

TEST(mongo_aggregate_foreign, the_dead_are_in_no_lookup_union_graph_or_facet)
{
    static const struct {
        const char *stages, *before, *after;
    } rows[] = {
        {"{'$lookup':{'from':'d','localField':'_id','foreignField':'of','as':'o'}},"
          "{'$project':{'o._id':1}}",                                   "[{\"_id\":1,\"o\":[{\"_id\":10},{\"_id\":12}]},{\"_id\":2,\"o\":[{\"_id\":11}]}]",
         "[{\"_id\":1,\"o\":[{\"_id\":12}]},{\"_id\":2,\"o\":[]}]"                                                                                                                                           },
        { "{'$lookup':{'from':'d','let':{'i':'$_id'},'pipeline':[{'$match':{'$expr':"
          "{'$eq':['$of','$$i']}}},{'$count':'n'}],'as':'o'}}",         "[{\"_id\":1,\"o\":[{\"n\":2}]},{\"_id\":2,\"o\":[{\"n\":1}]}]",
         "[{\"_id\":1,\"o\":[{\"n\":1}]},{\"_id\":2,\"o\":[]}]"                                                                                                                                              },
        { "{'$unionWith':'d'},{'$project':{'_id':1}}",
         "[{\"_id\":1},{\"_id\":2},{\"_id\":10},{\"_id\":11},{\"_id\":12}]",                                                                                         "[{\"_id\":1},{\"_id\":2},{\"_id\":12}]"},
        { "{'$match':{'_id':1}},{'$graphLookup':{'from':'d','startWith':10,'connectFromField':'up',"
          "'connectToField':'_id','as':'g'}},{'$project':{'g._id':1}}", "[{\"_id\":1,\"g\":[{\"_id\":10},{\"_id\":11}]}]",                                  "[{\"_id\":1,\"g\":[]}]"                },
        { "{'$unionWith':'d'},{'$facet':{'n':[{'$count':'n'}]}}",                "[{\"n\":[{\"n\":5}]}]",
         "[{\"n\":[{\"n\":3}]}]"                                                                                                                                                                             },
    };
    struct mongo_face f;

    fill(&f);
    EACH_ROW(rows, r)
        CHECK_STRING(first_batch(&f, r->stages), r->before);
    world_pass(&f.world, 10000);
    EACH_ROW(rows, r)
        CHECK_STRING(first_batch(&f, r->stages), r->after);
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, what_is_found_takes_the_place_of_a_field_or_comes_last)
{
    static const struct {
        const char *as, *want;
    } rows[] = {
        {"n",    "{\"_id\":1,\"a\":{\"b\":1,\"c\":2},\"z\":null,\"n\":[{\"_id\":10}]}"        },
        { "a",   "{\"_id\":1,\"a\":[{\"_id\":10}],\"z\":null}"                                },
        { "z",   "{\"_id\":1,\"a\":{\"b\":1,\"c\":2},\"z\":[{\"_id\":10}]}"                   },
        { "_id", "{\"_id\":[{\"_id\":10}],\"a\":{\"b\":1,\"c\":2},\"z\":null}"                },
        { "a.b", "{\"_id\":1,\"a\":{\"b\":[{\"_id\":10}],\"c\":2},\"z\":null}"                },
        { "a.d", "{\"_id\":1,\"a\":{\"b\":1,\"c\":2,\"d\":[{\"_id\":10}]},\"z\":null}"        },
        { "z.y", "{\"_id\":1,\"a\":{\"b\":1,\"c\":2},\"z\":{\"y\":[{\"_id\":10}]}}"           },
        { "x.y", "{\"_id\":1,\"a\":{\"b\":1,\"c\":2},\"z\":null,\"x\":{\"y\":[{\"_id\":10}]}}"},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':{'b':1,'c':2},'z':null}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':10}]}"));
    EACH_ROW(rows, r)
        CHECK_STRING(
            first_batch(&f,
                        arena_format(f.world.arena,
                                     "{'$lookup':{'from':'d','as':'%s','pipeline':[]}}", r->as)),
            arena_format(f.world.arena, "[%s]", r->want));
    struct mongo_answer answer =
        mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$lookup':{'from':'d','as':'a\\u0000b',"
                      "'pipeline':[]}}],'cursor':{}}");
    CHECK_THAT(answer.code != 0, "a name with a NUL in it is no name");
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, rows_of_a_union_that_died_between_batches_are_not_given)
{
    struct mongo_face f;

    fill(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$unionWith':{'coll':'d',"
                      "'pipeline':[{'$project':{'_id':1}}]}}],'cursor':{'batchSize':2}}");
    CHECK_DONE(answer);
    long long id = (long long)mongo_number(&answer, "cursor.id");
    CHECK(id != 0);
    world_pass(&f.world, 10000);
    answer = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c'}", id);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.nextBatch"), "[{\"_id\":12}]");
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, rows_of_the_dead_do_not_wait_behind_any_stage)
{
    static const char *const stages[] = {
        "{'$project':{'of':1}},{'$sort':{'of':1}}",
        "{'$project':{'of':1}},{'$sort':{'of':-1,'_id':1}},{'$limit':3}",
        "{'$sample':{'size':5}}",
        "{'$setWindowFields':{'sortBy':{'of':1},'output':{'n':{'$sum':1}}}}",
        "{'$densify':{'field':'of','range':{'step':1,'bounds':'full'}}}",
        "{'$lookup':{'from':'c','localField':'of','foreignField':'_id','as':'x'}},{'$unwind':'$x'},"
        "{'$sort':{'x._id':1}}",
        "{'$match':{'_id':99}},{'$unionWith':'d'},{'$lookup':{'from':'c','localField':'of',"
        "'foreignField':'_id','as':'x'}},{'$sort':{'_id':-1}}",
    };

    EACH_ROW(stages, s) {
        struct mongo_face f;
        fill(&f);
        struct mongo_answer a =
            mongo_ask(&f, "{'aggregate':'d','pipeline':[%s],'cursor':{'batchSize':0}}", *s);
        CHECK_DONE(a);
        long long id = (long long)mongo_number(&a, "cursor.id");
        world_pass(&f.world, 11000);
        /* The same key in another life. */
        CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':10,'of':1,'up':11}]}"));
        a = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'d'}", id);
        CHECK_DONE(a);
        const char *batch = mongo_text(&f, &a, "cursor.nextBatch");
        CHECK_THAT(strstr(batch, "{\"_id\":12,"), "%s: %s", *s, batch);
        CHECK_THAT(!strstr(batch, "\"_id\":11"), "%s: %s", *s, batch);
        /* What is made of several documents is made anew, of the one that has the key now. */
        bool is_anew = strstr(*s, "$lookup") || strstr(*s, "$setWindow") || strstr(*s, "$densify");
        CHECK_THAT(is_anew || !strstr(batch, "\"_id\":10"), "%s: %s", *s, batch);
        mongo_face_close(&f);
    }
}

TEST(mongo_aggregate_foreign, rows_that_wait_on_disk_come_in_order_and_without_the_dead)
{
    enum { ROWS = 12 };
    struct mongo_face f;
    char want[32];

    fill(&f);
    for (int i = 0; i < ROWS; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'%s','documents':[{'_id':%d,'is':1,'of':%d}]}",
                             i % 3 ? "long" : "d", 100 + i, ROWS - i));
    /* A megabyte each. */
    struct mongo_answer a = mongo_ask(
        &f, "{'aggregate':'long','pipeline':[{'$unionWith':'d'},{'$match':{'is':1}},{'$set':{'t':"
            "{'$reduce':{'input':{'$range':[0,17]},'initialValue':'01234567','in':{'$concat':"
            "['$$value','$$value']}}}}},{'$sort':{'of':1}}],'cursor':{'batchSize':1}}");
    CHECK_DONE(a);
    long long id = (long long)mongo_number(&a, "cursor.id");
    world_pass(&f.world, 11000);
    for (int i = ROWS - 2; i >= 0; i--) {
        if (i % 3 == 0)
            continue; /* of d, where they have died */
        a = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'long','batchSize':1}",
                      id);
        CHECK_DONE(a);
        snprintf(want, sizeof(want), "[{\"_id\":%d,", 100 + i);
        const char *batch = mongo_text(&f, &a, "cursor.nextBatch");
        CHECK_THAT(strncmp(batch, want, strlen(want)) == 0, "is %.40s, want %s", batch, want);
    }
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, a_view_is_looked_at_through_its_pipeline)
{
    struct mongo_face f;

    fill(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'create':'v','viewOn':'d','pipeline':[{'$match':{'up':{'$exists':true}}},"
                      "{'$addFields':{'seen':{'$add':['$of',100]}}}]}"));
    CHECK_STRING(first_batch(&f, "{'$lookup':{'from':'v','localField':'_id','foreignField':'of',"
                                 "'as':'o'}},{'$project':{'o.seen':1}}"),
                 "[{\"_id\":1,\"o\":[{\"seen\":101}]},{\"_id\":2,\"o\":[{\"seen\":102}]}]");
    CHECK_STRING(first_batch(&f, "{'$match':{'_id':1}},{'$unionWith':{'coll':'v','pipeline':["
                                 "{'$match':{'seen':102}},{'$project':{'seen':1}}]}}"),
                 "[{\"_id\":1},{\"_id\":11,\"seen\":102}]");
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, a_view_does_not_touch_the_variables_of_those_who_look_it_up)
{
    struct mongo_face f;

    fill(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'v','viewOn':'d','pipeline':[{'$set':{'many':{'$map':{"
                             "'input':[7,8],'as':'m','in':{'$add':['$$m','$of']}}}}}]}"));
    /* Inside of the lookup's condition ... */
    CHECK_STRING(first_batch(&f,
                             "{'$lookup':{'from':'v','let':{'mine':'$_id'},'pipeline':[{'$match':{"
                             "'$expr':{'$and':[{'$gt':['$_id',10]},{'$lte':['$of','$$mine']}]}}},"
                             "{'$project':{'of':1}}],'as':'o'}}"),
                 "[{\"_id\":1,\"o\":[{\"_id\":12,\"of\":1}]},"
                 "{\"_id\":2,\"o\":[{\"_id\":11,\"of\":2},{\"_id\":12,\"of\":1}]}]");
    /* ... and behind it. */
    struct mongo_answer a = mongo_ask(
        &f, "{'aggregate':'c','let':{'wanted':2},'cursor':{},'pipeline':[{'$lookup':{'from':'v',"
            "'localField':'_id','foreignField':'of','as':'o'}},{'$match':{'$expr':{'$eq':['$_id',"
            "'$$wanted']}}},{'$project':{'_id':1}}]}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":2}]");
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, what_fails_inside_of_a_lookup_is_told)
{
    struct mongo_face f;

    fill(&f);
    CHECK_FAULT(mongo_ask(&f,
                          "{'aggregate':'c','pipeline':[{'$lookup':{'from':'d','pipeline':["
                          "{'$match':{'$expr':{'$divide':['$of',0]}}}],'as':'o'}}],'cursor':{}}"),
                2);
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$unionWith':{'coll':'d','pipeline':["
                              "{'$project':{'x':{'$divide':['$of',0]}}}]}}],'cursor':{}}"),
                2);
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, a_lookup_over_many_rows_takes_the_memory_of_one)
{
    struct mongo_face f;

    fill(&f);
    for (int i = 0; i < 20; i++) {
        struct buffer command = buffer_in(f.world.arena);
        buffer_append_text(&command, "{'insert':'many','documents':[");
        for (int j = 0; j < 100; j++)
            buffer_append_format(&command, "%s{'_id':%d,'of':%d}", j ? "," : "", i * 100 + j,
                                 j % 2);
        buffer_append_text(&command, "]}");
        buffer_append_byte(&command, 0);
        CHECK_DONE(mongo_ask(&f, "%s", (const char *)command.data));
    }
    CHECK_STRING(first_batch(&f, "{'$unionWith':'many'},{'$lookup':{'from':'d','let':{'o':'$of'},"
                                 "'pipeline':[{'$match':{'$expr':{'$eq':['$of','$$o']}}},"
                                 "{'$sort':{'_id':1}}],'as':'o'}},"
                                 "{'$group':{'_id':null,'n':{'$sum':{'$size':'$o'}}}}"),
                 "[{\"_id\":null,\"n\":2000}]");
    mongo_face_close(&f);
}

/* ---- variables ---------------------------------------------------------------------------------------- */

static const char *any_value(struct random *random, struct arena *arena)
{
    static const char *const others[] = { "null",
                                          "[1,2]",
                                          "{'x':1}",
                                          "'a'",
                                          "2.0",
                                          "true",
                                          "[]",
                                          "'A'",
                                          "{'$numberDecimal':'3'}",
                                          "{'$regularExpression':{'pattern':'a','options':''}}" };

    return random_chance(random, 60) ? arena_format(arena, "%d", (int)random_below(random, 5))
                                     : others[random_below(random, ARRAY_COUNT(others))];
}

static void fill_values(struct mongo_face *f, struct random *random, const char *name, int count)
{
    for (int i = 0; i < count; i++) {
        const char *value = any_value(random, f->world.arena);
        const char *field = random_chance(random, 85)
                                ? arena_format(f->world.arena, ",'v':%s,'w':{'v':%s}", value,
                                               any_value(random, f->world.arena))
                                : "";
        CHECK_DONE(mongo_ask(f, "{'insert':'%s','documents':[{'_id':%d%s,'ttl':%d}]}", name, i,
                             field, random_chance(random, 30) ? 5 : 1000));
    }
}

/* A lookup by a variable for many rows at once finds what one finds whose condition nobody sees through. */
static void check_variables(uint64_t seed)
{
    static const char *const fields[] = { "v", "w.v" };
    struct random random = random_seeded(seed);
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection(&f.world, "d", TTL_NEVER, "");
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'d','indexes':[{'key':{'v':1},'name':'v'}]}"));
    fill_values(&f, &random, "c", 30);
    fill_values(&f, &random, "d", 60);
    for (int i = 0; i < 8; i++) {
        const char *field = fields[random_below(&random, 2)],
                   *local = fields[random_below(&random, 2)];
        const char *form =
            "{'$lookup':{'from':'d','let':{'x':'$%s','y':'$_id'},'pipeline':[{'$match':"
            "{'$expr':%s}},{'$project':{'same':{'$eq':['$_id','$$y']}}},"
            "{'$sort':{'_id':1}}],'as':'o'}},{'$project':{'o':1}}";
        const char *equal = arena_format(f.world.arena, "{'$eq':['$%s','$$x']}", field);
        const char *hidden = arena_format(f.world.arena, "{'$cond':[%s,true,false]}", equal);
        if (random_chance(&random, 30))
            equal = arena_format(f.world.arena, "{'$and':[{'$gt':['$_id',5]},%s]}", equal);
        else
            hidden = arena_format(f.world.arena, "{'$and':[{'$gt':['$_id',-1]},%s]}", hidden);
        if (strstr(equal, "$gt"))
            hidden = arena_format(f.world.arena, "{'$and':[{'$gt':['$_id',5]},%s]}", hidden);
        CHECK_STRING(first_batch(&f, arena_format(f.world.arena, form, local, equal)),
                     first_batch(&f, arena_format(f.world.arena, form, local, hidden)));
        if (i == 4)
            world_pass(&f.world, 5000);
    }
    mongo_face_close(&f);
}

TEST(mongo_aggregate_foreign, variables_are_looked_up_for_many_rows_as_for_each)
{
    EACH_SEED(seed, 6)
        check_variables(seed);
}

TEST(mongo_aggregate_foreign, a_variable_that_cannot_be_computed_fails_with_its_row_only)
{
    static const char stages[] =
        "{'$lookup':{'from':'d','let':{'x':{'$divide':[1,'$n']}},'pipeline':[{'$match':{'$expr':"
        "{'$eq':['$n','$$x']}}}],'as':'o'}},{'$match':{'n':{'$gte':0}}}%s";
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'n':1},{'_id':2,'n':0}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':7,'n':1}]}"));
    CHECK_STRING(first_batch(&f, arena_format(f.world.arena, stages, ",{'$limit':1}")),
                 "[{\"_id\":1,\"n\":1,\"o\":[{\"_id\":7,\"n\":1}]}]");
    CHECK_THAT(mongo_ask(&f, "{'aggregate':'c','cursor':{},'pipeline':[%s]}",
                         arena_format(f.world.arena, stages, ""))
                       .code != 0,
               "a division by zero");
    mongo_face_close(&f);
}
