/* Counts and sizes that the server tells about itself. */
#include "tests/support/mongo_face.h"

TEST(mongo_stats, counts_and_sizes_are_of_the_living)
{
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection(&f.world, "c", 10, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2,'ttl':-1}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'collStats':'c'}");
    CHECK_EQ(mongo_number(&answer, "count"), 2, "");
    CHECK_EQ(mongo_number(&answer, "nindexes"), 1, "");
    world_pass(&f.world, 10000);
    answer = mongo_ask(&f, "{'collStats':'c'}");
    CHECK_EQ(mongo_number(&answer, "count"), 1, "");
    answer = mongo_ask(&f, "{'dbStats':1}");
    CHECK_EQ(mongo_number(&answer, "objects"), 1, "");
    CHECK_EQ(mongo_number(&answer, "collections"), 1, "");
    answer = mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$collStats':{'count':{},"
                           "'storageStats':{'scale':1}}}],'cursor':{}}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "cursor.firstBatch.0.count"), 1, "");
    CHECK_EQ(mongo_number(&answer, "cursor.firstBatch.0.storageStats.count"), 1, "");
    answer = mongo_ask(&f, "{'validate':'c'}");
    CHECK_STRING(mongo_text(&f, &answer, "valid"), "true");
    CHECK_FAULT(mongo_ask(&f, "{'validate':'missing'}"), ERROR_NamespaceNotFound);
    CHECK_DONE(mongo_ask(&f, "{'collStats':'missing'}"));
    mongo_face_close(&f);
}

TEST(mongo_stats, the_set_has_one_member_which_is_its_primary)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer = mongo_ask(&f, "{'replSetGetStatus':1,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "members.0.stateStr"), "\"PRIMARY\"");
    answer = mongo_ask(&f, "{'replSetGetConfig':1,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "config.members.0.host"), "\"127.0.0.1:27017\"");
    mongo_face_close(&f);
}
