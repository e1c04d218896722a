/* Updates, upserts and findAndModify, through commands. */
#include "tests/support/mongo_face.h"

static void open_with_three(struct mongo_face *f)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f,
                         "{'insert':'c','documents':[{'_id':1,'a':1},{'_id':2,'a':1,'l':[1,5,9]},"
                         "{'_id':3,'a':2}]}"));
}

TEST(mongo_update, one_or_all_that_fulfil_the_filter_change)
{
    struct mongo_face f;

    open_with_three(&f);
    struct mongo_answer answer = mongo_ask(
        &f, "{'update':'c','updates':[{'q':{'a':1},'u':{'$inc':{'n':1}}},"
            "{'q':{},'u':{'$inc':{'n':1}},'multi':true},{'q':{'_id':3},'u':{'$set':{'a':2}}}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), 5, "");
    CHECK_EQ(mongo_number(&answer, "nModified"), 4, "");
    CHECK_STRING(mongo_found(&f, "c", "{'n':2}"), "[{\"_id\":1,\"a\":1,\"n\":2}]");
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'l':5},'u':{'$set':{'l.$':0}}}]}"));
    CHECK_STRING(mongo_found(&f, "c", "{'_id':2}"), "[{\"_id\":2,\"a\":1,\"l\":[1,0,9],\"n\":1}]");
    CHECK_DONE(mongo_ask(&f,
                         "{'update':'c','updates':[{'q':{'_id':2},'arrayFilters':[{'e':{'$gt':0}}],"
                         "'u':{'$inc':{'l.$[e]':10}}}]}"));
    CHECK_STRING(mongo_found(&f, "c", "{'_id':2}"),
                 "[{\"_id\":2,\"a\":1,\"l\":[11,0,19],\"n\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_update, a_replacement_keeps_the_id)
{
    struct mongo_face f;

    open_with_three(&f);
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'b':7}}]}"));
    CHECK_STRING(mongo_found(&f, "c", "{'b':7}"), "[{\"_id\":1,\"b\":7}]");
    struct mongo_answer answer =
        mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'_id':9,'b':7}}]}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_ImmutableField, "");
    answer = mongo_ask(&f, "{'update':'c','updates':[{'q':{},'u':{'b':7},'multi':true}]}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_FailedToParse, "");
    mongo_face_close(&f);
}

TEST(mongo_update, an_upsert_inserts_what_filter_and_update_say)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'update':'new','updates':[{'q':{'_id':5,'k':'x','v':{'$gt':1}},"
                      "'u':{'$set':{'s':1},'$setOnInsert':{'i':2}},'upsert':true}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), 1, "");
    CHECK_EQ(mongo_number(&answer, "nModified"), 0, "");
    CHECK_STRING(mongo_text(&f, &answer, "upserted"), "[{\"index\":0,\"_id\":5}]");
    CHECK_STRING(mongo_found(&f, "new", "{}"), "[{\"_id\":5,\"k\":\"x\",\"i\":2,\"s\":1}]");
    answer = mongo_ask(&f, "{'update':'new','updates':[{'q':{'_id':5},'u':{'$set':{'s':2},"
                           "'$setOnInsert':{'i':9}},'upsert':true}]}");
    CHECK_STRING(mongo_text(&f, &answer, "upserted"), "");
    CHECK_EQ(mongo_number(&answer, "nModified"), 1, "");
    answer = mongo_ask(&f,
                       "{'update':'new','updates':[{'q':{'_id':5,'k':'other'},'u':{'$set':{'s':3}},"
                       "'upsert':true}]}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_DuplicateKey, "");
    mongo_face_close(&f);
}

TEST(mongo_update, a_write_starts_the_time_to_live_again)
{
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection(&f.world, "c", 10, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}"));
    world_pass(&f.world, 9000);
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'x':1}}},"
                             "{'q':{'_id':3},'u':{'$set':{'ttl':100}}}]}"));
    world_pass(&f.world, 1000);
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1,\"x\":1},{\"_id\":3,\"ttl\":100}]");
    struct mongo_answer answer = mongo_ask(
        &f, "{'update':'c','updates':[{'q':{'_id':2},'u':{'$set':{'x':1}},'upsert':true}]}");
    CHECK_STRING(mongo_text(&f, &answer, "upserted.0._id"), "2");
    world_pass(&f.world, 9000);
    CHECK_STRING(mongo_found(&f, "c", "{'_id':1}"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_find_and_modify, the_document_comes_back_as_it_was_or_is)
{
    struct mongo_face f;

    open_with_three(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'findAndModify':'c','query':{'_id':3},'update':{'$inc':{'a':1}}}");
    CHECK_STRING(mongo_text(&f, &answer, "value"), "{\"_id\":3,\"a\":2}");
    CHECK_STRING(mongo_text(&f, &answer, "lastErrorObject"), "{\"n\":1,\"updatedExisting\":true}");
    answer = mongo_ask(
        &f, "{'findAndModify':'c','query':{'_id':3},'update':{'$inc':{'a':1}},'new':true}");
    CHECK_STRING(mongo_text(&f, &answer, "value"), "{\"_id\":3,\"a\":4}");
    answer = mongo_ask(&f, "{'findAndModify':'c','query':{'_id':3},'remove':true}");
    CHECK_STRING(mongo_text(&f, &answer, "value"), "{\"_id\":3,\"a\":4}");
    CHECK_STRING(mongo_text(&f, &answer, "lastErrorObject"), "{\"n\":1}");
    answer = mongo_ask(&f, "{'findAndModify':'c','query':{'_id':3},'update':{'$set':{'a':1}}}");
    CHECK_STRING(mongo_text(&f, &answer, "value"), "null");
    CHECK_STRING(mongo_text(&f, &answer, "lastErrorObject"), "{\"n\":0,\"updatedExisting\":false}");
    answer = mongo_ask(&f, "{'findAndModify':'c','query':{'_id':3},'update':{'$set':{'a':1}},"
                           "'upsert':true,'new':true}");
    CHECK_STRING(mongo_text(&f, &answer, "value"), "{\"_id\":3,\"a\":1}");
    CHECK_STRING(mongo_text(&f, &answer, "lastErrorObject.upserted"), "3");
    CHECK_FAULT(mongo_ask(&f, "{'findAndModify':'c'}"), ERROR_FailedToParse);
    CHECK_FAULT(mongo_ask(&f, "{'findAndModify':'c','remove':true,'update':{}}"),
                ERROR_FailedToParse);
    mongo_face_close(&f);
}

TEST(mongo_retry, an_increment_that_is_repeated_counts_once)
{
    struct mongo_face f;

    open_with_three(&f);
    for (int i = 0; i < 3; i++)
        CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'a':1}}}],"
                                 "'lsid':" LSID("1") ",'txnNumber':{'$numberLong':'1'}}"));
    CHECK_STRING(mongo_found(&f, "c", "{'_id':1}"), "[{\"_id\":1,\"a\":2}]");
    mongo_face_close(&f);
}

TEST(mongo_find_and_modify, a_sort_chooses_and_fields_cut)
{
    struct mongo_face f;

    open_with_three(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'findAndModify':'c','query':{},'sort':{'_id':-1},'update':{'$inc':{'a':1}},"
                      "'fields':{'a':1,'_id':0},'new':true}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "value"), "{\"a\":3}");
    answer = mongo_ask(&f, "{'findAndModify':'c','sort':{'a':-1},'remove':true}");
    CHECK_STRING(mongo_text(&f, &answer, "value._id"), "3");
    mongo_face_close(&f);
}
