/* Writes that a client sends twice because it has not heard the answer. */
#include "tests/support/mongo_face.h"

static struct mongo_answer write_with(struct mongo_face *f, int session, int number, int id)
{
    return mongo_ask(f,
                     "{'insert':'c','documents':[{'_id':%d}],'lsid':{'id':%d},"
                     "'txnNumber':{'$numberLong':'%d'}}",
                     id, session, number);
}

TEST(mongo_retry, the_same_number_is_carried_out_once_and_answered_again)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 0; i < 3; i++) {
        struct mongo_answer answer = write_with(&f, 1, 5, 1);
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "n"), 1, "");
        CHECK_STRING(mongo_text(&f, &answer, "writeErrors"), "");
    }
    struct mongo_answer other = write_with(&f, 2, 5, 1);
    CHECK_EQ(mongo_number(&other, "writeErrors.0.code"), ERROR_DuplicateKey, "");
    other = write_with(&f, 1, 6, 1);
    CHECK_EQ(mongo_number(&other, "writeErrors.0.code"), ERROR_DuplicateKey, "");
    mongo_face_close(&f);
}

TEST(mongo_retry, numbers_of_a_session_only_rise)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(write_with(&f, 1, 5, 1));
    CHECK_FAULT(write_with(&f, 1, 4, 2), ERROR_TransactionTooOld);
    CHECK_DONE(write_with(&f, 2, 4, 2));
    CHECK_FAULT(mongo_ask(&f, "{'insert':'c','documents':[{}],'txnNumber':{'$numberLong':'1'}}"),
                ERROR_InvalidOptions);
    mongo_face_close(&f);
}

TEST(mongo_retry, a_write_that_failed_as_a_whole_may_be_tried_again)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_FAULT(mongo_ask(&f, "{'insert':'a$b','documents':[{'_id':1}],'lsid':{'id':1},"
                              "'txnNumber':{'$numberLong':'1'}}"),
                ERROR_InvalidNamespace);
    CHECK_DONE(write_with(&f, 1, 1, 1));
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_retry, an_answer_is_kept_as_long_as_a_session_lives)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(write_with(&f, 1, 1, 1));
    world_pass(&f.world, (LIMIT_LOGICAL_SESSION_MINUTES - 1) * 60000);
    for (int i = 0; i < 5000; i++)
        CHECK_DONE(write_with(&f, 100 + i, 1, 100 + i));
    struct mongo_answer answer = write_with(&f, 1, 1, 1);
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors"), "");
    mongo_face_close(&f);
}

TEST(mongo_retry, statements_on_many_documents_have_no_number)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'delete':'c','deletes':[{'q':{},'limit':0}],'lsid':{'id':1},"
                      "'txnNumber':{'$numberLong':'1'}}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_InvalidOptions, "");
    mongo_face_close(&f);
}
