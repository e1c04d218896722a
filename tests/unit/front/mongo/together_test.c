/* Groups and orders that several threads make together give what one thread gives: over documents that were changed,
 * deleted and have died, with numbers and values of all kinds, in conditions, and inside of a transaction. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

enum { DOCUMENTS = 400, STEPS = 300 };

static const char *const values[] = {
    "1",    "2",     "2.0",     "{'$numberLong':'3'}",      "-7", "0.1", "7", "null",
    "'ab'", "[1,9]", "{'x':1}", "{'$numberDecimal':'1.5'}",
};

static const char *random_value(struct random *random, bool is_whole)
{
    return values[is_whole ? (random_chance(random, 50) ? 0 : 4)
                           : random_below(random, ARRAY_COUNT(values))];
}

static void insert(struct mongo_face *f, struct random *random, int id)
{
    CHECK_DONE(mongo_ask(f,
                         "{'insert':'c','documents':[{'_id':%d,'k':%d,'w':%s,'v':%s,'s':'%c%c',"
                         "'at':{'$date':{'$numberLong':'%lld'}}}]}",
                         id, (int)random_below(random, 20), random_value(random, true),
                         random_value(random, false), 'a' + (int)random_below(random, 3),
                         'a' + (int)random_below(random, 26),
                         (long long)(WORLD_START + (int64_t)random_below(random, 100000))));
}

static void change(struct mongo_face *f, struct random *random)
{
    const int id = (int)random_below(random, DOCUMENTS);
    const uint64_t dice = random_below(random, 10);

    if (dice < 5)
        CHECK_DONE(mongo_ask(f, "{'update':'c','updates':[{'q':{'_id':%d},'u':{'$set':{'v':%s}}}]}",
                             id, random_value(random, false)));
    else if (dice < 8)
        CHECK_DONE(mongo_ask(f, "{'delete':'c','deletes':[{'q':{'_id':%d},'limit':1}]}", id));
    else
        world_pass(&f->world, 100);
}

static void fill(struct mongo_face *f, struct random *random)
{
    CHECK_DONE(mongo_ask(f, "{'createIndexes':'c','indexes':[{'name':'at_1','key':{'at':1},"
                            "'expireAfterSeconds':0}]}"));
    for (int i = 0; i < DOCUMENTS; i++)
        insert(f, random, i);
    for (int i = 0; i < STEPS; i++)
        change(f, random);
}

static const char *const pipelines[] = {
    "{'$group':{'_id':'$k','n':{'$sum':1},'w':{'$sum':'$w'},'a':{'$avg':'$w'}}},{'$sort':{'_id':1}"
    "}",
    "{'$group':{'_id':'$k','n':{'$sum':'$v'}}},{'$sort':{'_id':1}}",
    "{'$group':{'_id':'$v','n':{'$sum':1}}},{'$sort':{'n':1,'_id':1}}",
    "{'$group':{'_id':null,'least':{'$min':'$v'},'most':{'$max':'$v'},'s':{'$max':'$s'}}}",
    "{'$group':{'_id':{'k':'$k','s':'$s'},'least':{'$min':'$w'},'w':{'$sum':'$w'}}},"
    "{'$sort':{'_id':1}}",
    "{'$match':{'w':{'$gt':0}}},{'$group':{'_id':{'$mod':['$k',7]},'n':{'$sum':{'$add':['$k','$w']}"
    "}"
    "}},{'$sort':{'_id':1}}",
    "{'$match':{'$expr':{'$gt':['$k',3]}}},{'$group':{'_id':'$k','n':{'$sum':1}}},"
    "{'$sort':{'_id':1}}",
    "{'$group':{'_id':'$s','all':{'$push':'$_id'},'first':{'$first':'$_id'}}},{'$sort':{'_id':1}}",
    "{'$group':{'_id':'$k','n':{'$sum':{'$let':{'vars':{'x':'$w'},'in':{'$multiply':['$$x',2]}}}}}}"
    ","
    "{'$sort':{'_id':1}}",
    "{'$sort':{'s':1}},{'$limit':10}",
    "{'$sort':{'s':1}},{'$limit':1}",
    "{'$sort':{'v':-1,'s':1}},{'$skip':5},{'$limit':20}",
    "{'$match':{'s':{'$regex':'^b'}}},{'$sort':{'s':-1}},{'$limit':7},{'$project':{'s':1}}",
    "{'$sort':{'s':1,'k':-1}}",
};

/* What all of them give, as text, one below the other. */
static const char *ask_all(struct mongo_face *f)
{
    struct buffer all = buffer_in(f->world.arena);

    for (size_t i = 0; i < ARRAY_COUNT(pipelines); i++) {
        const struct mongo_answer answer = mongo_ask(
            f, "{'aggregate':'c','pipeline':[%s],'cursor':{'batchSize':1000}}", pipelines[i]);
        CHECK_DONE(answer);
        const char *rows = mongo_text(f, &answer, "cursor.firstBatch");
        buffer_append(&all, bytes_of_text(rows));
        buffer_append_byte(&all, '\n');
    }
    buffer_append_byte(&all, '\0');
    CHECK(!all.is_failed);
    return (const char *)all.data;
}

static void set_helpers(struct mongo_face *f, unsigned helpers, uint64_t alone)
{
    f->world.helpers = helpers;
    f->world.sift_alone = alone;
    mongo_face_restart(f);
}

TEST(mongo_together, threads_group_and_sort_as_one_does)
{
    EACH_SEED(seed, 4) {
        struct random random = random_seeded(seed);
        struct mongo_face f;

        mongo_face_open(&f);
        fill(&f, &random);
        const char *alone = ask_all(&f);
        set_helpers(&f, 3, 10);
        for (int i = 0; i < 3; i++)
            CHECK_STRING(ask_all(&f), alone);
        mongo_face_close(&f);
    }
}

/* The first number that has to be rounded may come late. */
TEST(mongo_together, one_rounded_number_among_many_whole_ones_is_found)
{
    struct mongo_face f;

    mongo_face_open(&f);
    set_helpers(&f, 3, 10);
    for (int i = 0; i < 300; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'v':%s}]}", i,
                             i == 290 ? "0.5" : "1"));
    const struct mongo_answer answer = mongo_ask(
        &f, "{'aggregate':'c','pipeline':[{'$group':{'_id':1,'n':{'$sum':'$v'}}}],'cursor':{}}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"_id\":1,\"n\":299.5}]");
    mongo_face_close(&f);
}

TEST(mongo_together, what_a_formula_refuses_is_told_as_ever)
{
    struct mongo_face f;

    mongo_face_open(&f);
    set_helpers(&f, 3, 10);
    for (int i = 0; i < 200; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'v':%s}]}", i,
                             i == 150 ? "'text'" : "1"));
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$group':{'_id':1,'n':{'$sum':{'$add':"
                              "['$v',1]}}}}],'cursor':{}}"),
                14);
    mongo_face_close(&f);
}
