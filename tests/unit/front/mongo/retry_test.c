/* Writes that a client sends twice because it has not heard the answer. */
#include "tests/support/mongo_face.h"

static struct mongo_answer write_with(struct mongo_face *f, int session, int number, int id)
{
    return mongo_ask(f,
                     "{'insert':'c','documents':[{'_id':%d}],'lsid':{'id':{'$binary':{'base64':"
                     "'AAAAAAAAAAAAA%07dAA==','subType':'04'}}},"
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
    CHECK_FAULT(mongo_ask(&f, "{'insert':'a$b','documents':[{'_id':1}],'lsid':" LSID(
                                  "1") ","
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
        mongo_ask(&f, "{'delete':'c','deletes':[{'q':{},'limit':0}],'lsid':" LSID(
                          "1") ","
                               "'txnNumber':{'$numberLong':'1'}}");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_InvalidOptions, "");
    mongo_face_close(&f);
}

/* ---- over a crash ----------------------------------------------------------------------------------- */

/* Fields of the reply, without the times. */
static const char *answer_text(struct mongo_face *f, const struct mongo_answer *answer)
{
    const char *const paths[] = { "n",     "nModified",  "upserted", "lastErrorObject",
                                  "value", "writeErrors" };
    struct buffer text = buffer_in(f->world.arena);

    for (size_t i = 0; i < ARRAY_COUNT(paths); i++)
        buffer_append_format(&text, "%s %s;", paths[i], mongo_text(f, answer, paths[i]));
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

TEST(mongo_retry, every_kind_of_write_is_answered_again_after_a_crash)
{
    const struct {
        const char *command, *want;
    } rows[] = {
        {"'insert':'c','documents':[{'_id':9,'a':1}]",
         "[{\"_id\":1,\"a\":1},{\"_id\":9,\"a\":1}]"                                                                                },
        { "'insert':'c','documents':[{'_id':8},{'_id':9}]",
         "[{\"_id\":1,\"a\":1},{\"_id\":8},{\"_id\":9}]"                                                                            },
        { "'insert':'c','ordered':false,'documents':[{'_id':8},{'_id':1},{'_id':9}]",
         "[{\"_id\":1,\"a\":1},{\"_id\":8},{\"_id\":9}]"                                                                            },
        { "'insert':'c','documents':[{'_id':8},{'_id':1},{'_id':9}]",
         "[{\"_id\":1,\"a\":1},{\"_id\":8}]"                                                                                        },
        { "'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'a':1}}}]",
         "[{\"_id\":1,\"a\":2}]"                                                                                                    },
        { "'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'a':1}}},{'q':{'_id':1},'u':{'$inc':"
          "{'a':5}}}]",                                                         "[{\"_id\":1,\"a\":7}]"                    },
        { "'update':'c','updates':[{'q':{'_id':5},'u':{'$inc':{'a':1}},'upsert':true}]",
         "[{\"_id\":1,\"a\":1},{\"_id\":5,\"a\":1}]"                                                                                },
        { "'delete':'c','deletes':[{'q':{},'limit':1}]",                                 "[]"                                       },
        { "'findAndModify':'c','query':{'_id':1},'update':{'$inc':{'a':1}}",
         "[{\"_id\":1,\"a\":2}]"                                                                                                    },
        { "'findAndModify':'c','query':{'_id':1},'update':{'$inc':{'a':1}},'new':true,'fields':{'_"
          "id':0}",                                                             "[{\"_id\":1,\"a\":2}]"                    },
        { "'findAndModify':'c','query':{'_id':6},'update':{'$inc':{'a':1}},'upsert':true,'new':"
          "true",                                                               "[{\"_id\":1,\"a\":1},{\"_id\":6,\"a\":1}]"},
        { "'findAndModify':'c','query':{'_id':1},'remove':true",                         "[]"                                       },
    };
    EACH_ROW(rows, r) {
        struct mongo_face f;
        const char *first = NULL;

        mongo_face_open(&f);
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1}]}"));
        for (int attempt = 0; attempt < 3; attempt++) {
            struct mongo_answer answer = mongo_ask(
                &f, "{%s,'lsid':" LSID("1") ",'txnNumber':{'$numberLong':'3'}}", r->command);
            CHECK_DONE(answer);
            const char *text = answer_text(&f, &answer);
            CHECK_STRING(text, first ? first : text);
            CHECK_STRING(mongo_found(&f, "c", "{}"), r->want);
            first = text;
            if (attempt == 0)
                mongo_face_crash(&f);
        }
        CHECK_FAULT(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{},'limit':1}],'lsid':" LSID(
                                      "1") ","
                                           "'txnNumber':{'$numberLong':'2'}}"),
                    ERROR_TransactionTooOld);
        CHECK_STRING(mongo_found(&f, "c", "{}"), r->want);
        mongo_face_close(&f);
    }
}

TEST(mongo_retry, a_lower_number_is_refused_after_a_crash_too)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(write_with(&f, 1, 5, 1));
    mongo_face_crash(&f);
    CHECK_FAULT(write_with(&f, 1, 4, 2), ERROR_TransactionTooOld);
    CHECK_DONE(write_with(&f, 1, 6, 2));
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1},{\"_id\":2}]");
    mongo_face_close(&f);
}

/* The disk fails at every place in turn, in the middle of a command with several statements; the client sends it again
 * after the restart. */
TEST(mongo_retry, no_statement_is_carried_out_twice_whatever_call_fails)
{
    const struct {
        const char *command, *want;
    } rows[] = {
        {"'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'a':1}}},{'q':{'_id':2},'u':{'$inc':"
          "{'a':10}},'upsert':true},"
          "{'q':{'_id':1},'u':{'$inc':{'a':100}}}]",                         "[{\"_id\":1,\"a\":101},{\"_id\":2,\"a\":10}]"},
        { "'delete':'c','deletes':[{'q':{'b':1},'limit':1},{'q':{'b':1},'limit':1}]",
         "[{\"_id\":1,\"a\":0},{\"_id\":5,\"b\":1}]"                                                                                },
        { "'insert':'c','ordered':false,'documents':[{'_id':6},{'_id':3},{'_id':7}]",
         "[{\"_id\":1,\"a\":0},{\"_id\":3,\"b\":1},{\"_id\":4,\"b\":1},{\"_id\":5,\"b\":1},{\"_"
          "id\":6},"
          "{\"_id\":7}]"                                                                                                            },
        { "'findAndModify':'c','query':{'_id':1},'update':{'$inc':{'a':1}}",
         "[{\"_id\":1,\"a\":1},{\"_id\":3,\"b\":1},{\"_id\":4,\"b\":1},{\"_id\":5,\"b\":1}]"                                        },
    };

    for (size_t row = 0; row < ARRAY_COUNT(rows); row++) {
        bool is_untouched = false;
        for (uint64_t nth = 1; !is_untouched; nth++) {
            struct mongo_face f;

            CHECK_THAT(nth < 1000, "no telling comes through");
            mongo_face_open(&f);
            CHECK_DONE(
                mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':0}%s]}",
                          row == 0 ? "" : ",{'_id':3,'b':1},{'_id':4,'b':1},{'_id':5,'b':1}"));
            storage_faulty_arm(f.world.storage, nth);
            (void)mongo_ask(&f, "{%s,'lsid':" LSID("1") ",'txnNumber':{'$numberLong':'1'}}",
                            rows[row].command);
            is_untouched = storage_faulty_calls(f.world.storage) < nth;
            storage_faulty_heal(f.world.storage);
            mongo_face_crash(&f);
            CHECK_DONE(mongo_ask(&f, "{%s,'lsid':" LSID("1") ",'txnNumber':{'$numberLong':'1'}}",
                                 rows[row].command));
            CHECK_STRING(mongo_found(&f, "c", "{}"), rows[row].want);
            mongo_face_close(&f);
        }
    }
}

TEST(mongo_retry, statements_have_the_numbers_that_the_client_gives_them)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':0}]}"));
    for (int i = 0; i < 3; i++)
        CHECK_DONE(mongo_ask(&f,
                             "{'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'a':1}}}],"
                             "'stmtIds':[%d],'lsid':" LSID("1") ",'txnNumber':{'$numberLong':'1'}}",
                             i / 2));
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1,\"a\":2}]");
    CHECK_FAULT(mongo_ask(&f, "{'insert':'c','documents':[{},{}],'stmtIds':[3,5],'lsid':" LSID(
                                  "1") ","
                                       "'txnNumber':{'$numberLong':'1'}}"),
                ERROR_InvalidOptions);
    mongo_face_close(&f);
}

TEST(mongo_retry, sessions_are_told_apart_by_their_ids)
{
    const char *const sessions[] = {
        "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAA==','subType':'04'}}}",
        "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAQ==','subType':'04'}}}",
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':0}]}"));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < ARRAY_COUNT(sessions); i++)
            CHECK_DONE(mongo_ask(&f,
                                 "{'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'a':1}}}],"
                                 "'lsid':%s,'txnNumber':{'$numberLong':'1'}}",
                                 sessions[i]));
        mongo_face_crash(&f);
    }
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1,\"a\":2}]");
    mongo_face_close(&f);
}
