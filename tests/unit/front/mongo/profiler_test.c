/* The profile of a database, and the purger in it. */
#include "tests/support/mongo_face.h"

/* JSON text of a field of the newest row about a collection. */
static const char *newest(struct mongo_face *f, const char *namespace, const char *field)
{
    struct mongo_answer answer = mongo_ask(f,
                                           "{'find':'system.profile','filter':{'ns':'%s'},"
                                           "'sort':{'$natural':-1},'limit':1}",
                                           namespace);

    CHECK_DONE(answer);
    return mongo_text(f, &answer, arena_format(f->world.arena, "cursor.firstBatch.0.%s", field));
}

static int64_t row_count(struct mongo_face *f, const char *filter)
{
    struct mongo_answer answer = mongo_ask(f, "{'count':'system.profile','query':%s}", filter);

    CHECK_DONE(answer);
    return mongo_number(&answer, "n");
}

TEST(mongo_profiler, every_command_has_a_row_at_level_two)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':0}]}"));
    CHECK_EQ(row_count(&f, "{}"), 0, "");
    struct mongo_answer answer = mongo_ask(&f, "{'profile':2}");
    CHECK_EQ(mongo_number(&answer, "was"), 0, "");
    CHECK_EQ(mongo_number(&answer, "slowms"), 100, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1},{'_id':2,'a':2}]}"));
    CHECK_STRING(newest(&f, "db.c", "op"), "\"insert\"");
    CHECK_STRING(newest(&f, "db.c", "ninserted"), "2");
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a_1'}]}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c','filter':{'a':{'$gt':0}}}"));
    CHECK_STRING(newest(&f, "db.c", "op"), "\"query\"");
    CHECK_STRING(newest(&f, "db.c", "planSummary"), "\"IXSCAN { a: 1 }\"");
    CHECK_STRING(newest(&f, "db.c", "nreturned"), "2");
    CHECK_STRING(newest(&f, "db.c", "keysExamined"), "2");
    CHECK_STRING(newest(&f, "db.c", "command.filter"), "{\"a\":{\"$gt\":0}}");
    CHECK_DONE(mongo_ask(&f, "{'find':'c','filter':{'z':1}}"));
    CHECK_STRING(newest(&f, "db.c", "planSummary"), "\"COLLSCAN\"");
    CHECK_STRING(newest(&f, "db.c", "keysExamined"), "0");
    CHECK_STRING(newest(&f, "db.c", "docsExamined"), "3");
    CHECK_DONE(mongo_ask(&f, "{'find':'c','filter':{'_id':1}}"));
    CHECK_STRING(newest(&f, "db.c", "planSummary"), "\"IDHACK\"");
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'a':1},'u':{'$set':{'b':1}}}]}"));
    CHECK_STRING(newest(&f, "db.c", "nModified"), "1");
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'a':1},'limit':0}]}"));
    CHECK_STRING(newest(&f, "db.c", "ndeleted"), "1");
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','filter':{'a':{'$no':1}}}"), ERROR_BadValue);
    CHECK_STRING(newest(&f, "db.c", "errName"), "\"BadValue\"");
    answer = mongo_ask(&f, "{'aggregate':'system.profile','pipeline':[{'$group':{'_id':'$op',"
                           "'n':{'$sum':1}}},{'$match':{'_id':'remove'}}],'cursor':{}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"_id\":\"remove\",\"n\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_profiler, a_level_holds_for_its_database_and_others_are_not_noted)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'profile':2,'$db':'other'}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    CHECK_EQ(row_count(&f, "{}"), 0, "");
    struct mongo_answer answer = mongo_ask(&f, "{'profile':-1,'$db':'other'}");
    CHECK_EQ(mongo_number(&answer, "was"), 2, "");
    answer = mongo_ask(&f, "{'profile':100}");
    CHECK_EQ(mongo_number(&answer, "was"), 0, "");
    answer = mongo_ask(&f, "{'profile':1.5,'slowms':7,'sampleRate':0.5}");
    CHECK_DONE(answer);
    answer = mongo_ask(&f, "{'profile':-1}");
    CHECK_EQ(mongo_number(&answer, "was"), 1, "");
    CHECK_EQ(mongo_number(&answer, "slowms"), 7, "");
    mongo_face_close(&f);
}

TEST(mongo_profiler, level_and_filter_are_of_a_database_and_what_is_slow_of_the_server)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'profile':1,'slowms':7,'filter':{'op':'insert'}}"));
    CHECK_DONE(mongo_ask(&f, "{'profile':1,'filter':{'op':'query'},'$db':'other'}"));
    struct mongo_answer answer = mongo_ask(&f, "{'profile':-1}");
    CHECK_STRING(mongo_text(&f, &answer, "filter"), "{\"op\":\"insert\"}");
    answer = mongo_ask(&f, "{'profile':-1,'$db':'other'}");
    CHECK_STRING(mongo_text(&f, &answer, "filter"), "{\"op\":\"query\"}");
    CHECK_EQ(mongo_number(&answer, "slowms"), 7, "");
    answer = mongo_ask(&f, "{'profile':-1,'$db':'third'}");
    CHECK_STRING(mongo_text(&f, &answer, "filter"), "");
    CHECK_EQ(mongo_number(&answer, "was"), 0, "");
    CHECK_EQ(mongo_number(&answer, "slowms"), 7, "");
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{}]}"));
    CHECK_EQ(row_count(&f, "{'ns':'db.c'}"), 1, "the insert");
    CHECK_DONE(mongo_ask(&f, "{'profile':2}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_EQ(row_count(&f, "{'ns':'db.c'}"), 2, "everything, whatever the filter says");
    mongo_face_close(&f);
}

TEST(mongo_profiler, level_one_notes_what_is_slow_or_what_the_filter_says)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'profile':1,'slowms':50}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    CHECK_EQ(row_count(&f, "{'ns':'db.c'}"), 0, "nothing is slow");
    CHECK_DONE(mongo_ask(&f, "{'profile':1,'slowms':0}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':2}]}"));
    CHECK_EQ(row_count(&f, "{'ns':'db.c'}"), 1, "everything is slow");
    CHECK_DONE(mongo_ask(&f, "{'profile':1,'slowms':1000,'filter':{'op':'query'}}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':3}]}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_EQ(row_count(&f, "{'ns':'db.c'}"), 2, "the find");
    CHECK_DONE(mongo_ask(&f, "{'profile':2,'filter':'unset','sampleRate':1}"));
    CHECK_FAULT(mongo_ask(&f, "{'profile':1,'sampleRate':2}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'profile':'x'}"), ERROR_TypeMismatch);
    CHECK_FAULT(mongo_ask(&f, "{'profile':1,'filter':5}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'profile':1,'filter':{'a':{'$no':1}}}"), ERROR_BadValue);
    mongo_face_close(&f);
}

TEST(mongo_profiler, the_list_is_bounded_listed_not_writable_and_dropped_when_it_is_off)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'profile':2}"));
    for (int i = 0; i < 100; i++)
        CHECK_DONE(mongo_ask(&f, "{'find':'c','filter':{'a':'%040000d'}}", i));
    int64_t kept = row_count(&f, "{'ns':'db.c'}");
    CHECK_THAT(kept > 10 && kept < 30, "%lld rows", (long long)kept);
    struct mongo_answer answer = mongo_ask(&f, "{'listCollections':1,"
                                               "'filter':{'name':'system.profile'}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.0.type"), "\"collection\"");
    CHECK_FAULT(mongo_ask(&f, "{'insert':'system.profile','documents':[{'_id':1}]}"),
                ERROR_InvalidNamespace);
    CHECK_DONE(mongo_ask(&f, "{'delete':'system.profile','deletes':[{'q':{},'limit':0}]}"));
    CHECK_THAT(row_count(&f, "{'ns':'db.c'}") > 10, "nothing was deleted");
    CHECK_FAULT(mongo_ask(&f, "{'drop':'system.profile'}"), ERROR_IllegalOperation);
    CHECK_DONE(mongo_ask(&f, "{'profile':0}"));
    CHECK_DONE(mongo_ask(&f, "{'drop':'system.profile'}"));
    CHECK_EQ(row_count(&f, "{}"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_profiler, M_7_what_the_purger_removes_is_in_the_profile)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'d':1},'name':'d_1',"
                             "'expireAfterSeconds':10}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'d':@0},{'_id':2,'d':@0}]}"));
    world_pass(&f.world, 11000);
    world_purge(&f.world);
    CHECK_DONE(mongo_ask(&f, "{'profile':2}"));
    CHECK_EQ(row_count(&f, "{'appName':'TTLMonitor'}"), 0, "that was before");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':3,'d':@12000},{'_id':4,'d':@12000},"
                             "{'_id':5,'d':@12000}]}"));
    world_pass(&f.world, 12000);
    world_purge(&f.world);
    struct mongo_answer answer = mongo_ask(&f, "{'find':'system.profile',"
                                               "'filter':{'appName':'TTLMonitor'}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.0.op"), "\"remove\"");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.0.ns"), "\"db.c\"");
    CHECK_EQ(mongo_number(&answer, "cursor.firstBatch.0.ndeleted"), 3, "");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.1"), "");
    mongo_face_close(&f);
}
