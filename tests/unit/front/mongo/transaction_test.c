/* Transactions of several statements, as clients send them. */
#include "tests/support/mongo_face.h"

#include <stdio.h>

/* One statement of transaction `number` of session `session`; the command without its braces. */
#define STATEMENT(f, session, number, ...) \
    statement(f, "'lsid':" LSID(session) ",'txnNumber':" #number ",'autocommit':false", __VA_ARGS__)
#define FIRST(f, session, number, ...)                                               \
    statement(f,                                                                     \
              "'lsid':" LSID(session) ",'txnNumber':" #number                        \
                                      ",'autocommit':false,'startTransaction':true", \
              __VA_ARGS__)
#define COMMIT(f, session, number) \
    STATEMENT(f, session, number, "'commitTransaction':1,'$db':'admin'")
#define ABORT(f, session, number) \
    STATEMENT(f, session, number, "'abortTransaction':1,'$db':'admin'")

static struct mongo_answer statement(struct mongo_face *f, const char *fields, const char *command)
{
    return mongo_ask(f, "{%s,%s}", command, fields);
}

static const char *label(struct mongo_face *f, struct mongo_answer answer)
{
    return mongo_text(f, &answer, "errorLabels.0");
}
#define TRANSIENT "\"TransientTransactionError\""

static const char *found_inside(struct mongo_face *f, const char *session, int number)
{
    struct mongo_answer a =
        mongo_ask(f,
                  "{'find':'c','sort':{'_id':1},'lsid':" LSID("%s") ",'txnNumber':"
                                                                    "%d,'autocommit':false}",
                  session, number);
    CHECK_DONE(a);
    return mongo_text(f, &a, "cursor.firstBatch");
}

static void open_with_three(struct mongo_face *f)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}"));
}

TEST(mongo_transaction, statements_count_together_when_they_are_committed)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4},{'_id':5}]"));
    CHECK_DONE(STATEMENT(&f, "s", 1,
                         "'update':'c','updates':[{'q':{},'u':{'$set':{'n':1}},'multi':"
                         "true}]"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'delete':'c','deletes':[{'q':{'_id':2},'limit':1}]"));
    struct mongo_answer a = STATEMENT(&f, "s", 1,
                                      "'findAndModify':'c','query':{'_id':3},'update':{"
                                      "'$inc':{'n':1}},'new':true");
    CHECK_STRING(mongo_text(&f, &a, "value"), "{\"_id\":3,\"n\":2}");
    CHECK_STRING(found_inside(&f, "s", 1),
                 "[{\"_id\":1,\"n\":1},{\"_id\":3,\"n\":2},{\"_id\":4,\"n\":"
                 "1},{\"_id\":5,\"n\":1}]");
    a = STATEMENT(
        &f, "s", 1,
        "'aggregate':'c','pipeline':[{'$group':{'_id':1,'k':{'$sum':'$n'}}}],'cursor':{}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":1,\"k\":5}]");
    a = STATEMENT(&f, "s", 1, "'aggregate':'c','pipeline':[{'$count':'k'}],'cursor':{}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"k\":4}]");
    a = STATEMENT(&f, "s", 1, "'distinct':'c','key':'n'");
    CHECK_STRING(mongo_text(&f, &a, "values"), "[1,2]");
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1},{\"_id\":2},{\"_id\":3}]");
    CHECK_DONE(COMMIT(&f, "s", 1));
    CHECK_STRING(mongo_found(&f, "c", "{'n':{'$gt':1}}"), "[{\"_id\":3,\"n\":2}]");
    a = mongo_ask(&f, "{'count':'c'}");
    CHECK_EQ(mongo_number(&a, "n"), 4, "");

    /* Asked for again, because the answer was lost. */
    CHECK_DONE(COMMIT(&f, "s", 1));
    CHECK_FAULT(ABORT(&f, "s", 1), 256);
    CHECK_FAULT(STATEMENT(&f, "s", 1, "'find':'c'"), 256);
    mongo_face_close(&f);
}

TEST(mongo_transaction, an_aborted_one_was_never_there)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'delete':'c','deletes':[{'q':{},'limit':0}]"));
    CHECK_STRING(found_inside(&f, "s", 1), "[]");
    CHECK_DONE(ABORT(&f, "s", 1));
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1},{\"_id\":2},{\"_id\":3}]");
    struct mongo_answer a = COMMIT(&f, "s", 1);
    CHECK_FAULT(a, 251);
    CHECK_STRING(label(&f, a), TRANSIENT);
    mongo_face_close(&f);
}

TEST(mongo_transaction, the_second_writer_of_a_document_is_told_to_try_again)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "a", 1, "'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'n':1}}}]"));
    CHECK_DONE(FIRST(&f, "b", 1, "'find':'c'"));
    struct mongo_answer a =
        STATEMENT(&f, "b", 1, "'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'n':2}}}]");
    CHECK_FAULT(a, 112);
    CHECK_STRING(label(&f, a), TRANSIENT);
    a = COMMIT(&f, "b", 1);
    CHECK_FAULT(a, 251);
    CHECK_STRING(label(&f, a), TRANSIENT);
    CHECK_DONE(COMMIT(&f, "a", 1));

    /* What was written since is a conflict as well, for every kind of write. */
    static const char *const writes[] = {
        "'insert':'c','documents':[{'_id':9}]",
        "'insert':'c','documents':[{'_id':10},{'_id':9}]",
        "'insert':'c','documents':[{'_id':10},{'_id':9}],'ordered':false",
        "'delete':'c','deletes':[{'q':{'_id':1},'limit':1}]",
        "'update':'c','updates':[{'q':{},'u':{'$set':{'n':500}},'multi':true}]",
        "'update':'c','updates':[{'q':{'_id':9},'u':{'$set':{'n':5}},'upsert':true}]",
        "'findAndModify':'c','query':{'_id':1},'remove':true",
    };
    for (size_t i = 0; i < ARRAY_COUNT(writes); i++) {
        char fields[200];
        CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':9},'limit':1}]}"));
        snprintf(fields, sizeof(fields), "'lsid':" LSID("b") ",'txnNumber':%d,'autocommit':false",
                 (int)i + 2);
        CHECK_DONE(mongo_ask(&f, "{'find':'c',%s,'startTransaction':true}", fields));
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':9}]}"));
        CHECK_DONE(
            mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'n':1}}}]}"));
        a = statement(&f, fields, writes[i]);
        CHECK_EQ(a.code, 112, "%s %s", writes[i], mongo_text(&f, &a, "writeErrors"));
        CHECK_STRING(label(&f, a), TRANSIENT);
    }
    mongo_face_close(&f);
}

TEST(mongo_transaction, a_statement_that_fails_ends_it)
{
    struct mongo_face f;
    open_with_three(&f);
    static const struct {
        const char *command;
        int code; /* 0: answered with writeErrors */
    } rows[] = {
        {"'insert':'c','documents':[{'_id':1}]",                         0  },
        { "'insert':'c','documents':[{'_id':7},{'_id':1}]",              0  },
        { "'update':'c','updates':[{'q':{},'u':{'$nope':1}}]",           0  },
        { "'find':'c','filter':{'$nope':1}",                             2  },
        { "'count':'c'",                                                 263},
        { "'listCollections':1",                                         263},
        { "'dropIndexes':'c','index':'*'",                               263},
        { "'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a'}]",  263},
        { "'aggregate':'c','pipeline':[{'$out':'d'}],'cursor':{}",       263},
        { "'find':'system.profile'",                                     263},
        { "'find':'c','$db':'config'",                                   263},
        { "'find':'c','readConcern':{'level':'snapshot'}",               72 },
        { "'insert':'c','documents':[{'_id':8}],'writeConcern':{'w':1}", 72 },
    };
    int number = 0;
    EACH_ROW(rows, r) {
        char fields[200];
        snprintf(fields, sizeof(fields), "'lsid':" LSID("s") ",'txnNumber':%d,'autocommit':false",
                 ++number);
        CHECK_DONE(mongo_ask(
            &f, "{'insert':'c','documents':[{'_id':6}],%s,'startTransaction':true}", fields));
        struct mongo_answer a = statement(&f, fields, r->command);
        CHECK_EQ(a.code, r->code, "%s: %s", r->command, a.message ? a.message : "");
        CHECK_STRING(label(&f, a), "");
        if (r->code == 0)
            CHECK(mongo_text(&f, &a, "writeErrors")[0] == '[');
        CHECK_FAULT(statement(&f, fields, "'commitTransaction':1,'$db':'admin'"), 251);
    }
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1},{\"_id\":2},{\"_id\":3}]");
    mongo_face_close(&f);
}

TEST(mongo_transaction, numbers_say_which_one_is_meant)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_FAULT(STATEMENT(&f, "s", 5, "'find':'c'"), 251);
    CHECK_FAULT(COMMIT(&f, "s", 5), 251);
    CHECK_DONE(FIRST(&f, "s", 5, "'insert':'c','documents':[{'_id':4}]"));
    CHECK_FAULT(FIRST(&f, "s", 5, "'find':'c'"), 117);
    CHECK_FAULT(STATEMENT(&f, "s", 4, "'find':'c'"), 225);
    CHECK_FAULT(FIRST(&f, "s", 4, "'find':'c'"), 225);
    CHECK_FAULT(STATEMENT(&f, "s", 6, "'find':'c'"), 251);
    CHECK_DONE(STATEMENT(&f, "s", 5, "'find':'c'")); /* none of these has touched it */
    CHECK_DONE(FIRST(&f, "s", 6, "'find':'c'"));     /* a newer one ends it */
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':4}]}"));
    CHECK_FAULT(COMMIT(&f, "s", 5), 225);
    /* So does a retryable write with a higher number. */
    CHECK_FAULT(
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':7}],'lsid':" LSID("s") ","
                                                                                "'txnNumber':5}"),
        225);
    CHECK_DONE(
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':7}],'lsid':" LSID("s") ","
                                                                                "'txnNumber':7}"));
    CHECK_FAULT(COMMIT(&f, "s", 6), 225);
    mongo_face_close(&f);
}

TEST(mongo_transaction, what_cannot_be_meant_is_refused)
{
    struct mongo_face f;
    open_with_three(&f);
    static const struct {
        const char *fields;
        int code;
    } rows[] = {
        {"'txnNumber':1,'autocommit':false,'startTransaction':true",                           72},
        { "'lsid':" LSID("s") ",'autocommit':false,'startTransaction':true",                   72},
        { "'lsid':" LSID("s") ",'txnNumber':1,'startTransaction':true",                        72},
        { "'lsid':" LSID("s") ",'txnNumber':1,'autocommit':true,'startTransaction':true",      72},
        { "'lsid':" LSID("s") ",'txnNumber':1,'autocommit':false,'startTransaction':false",    72},
        { "'lsid':" LSID("s") ",'txnNumber':-1,'autocommit':false,'startTransaction':true",    72},
        { "'lsid':" LSID("s") ",'txnNumber':1,'autocommit':false,'startTransaction':true,"
                              "'readConcern':{'level':'linearizable'}",               72},
        { "'lsid':" LSID("s") ",'txnNumber':2,'autocommit':false,'startTransaction':true,"
                              "'readConcern':{'level':'snapshot','atClusterTime':1}", 72},
        { "'readConcern':{'level':'snapshot'}",                                                72},
        { "'readConcern':{'atClusterTime':1}",                                                 72},
        { "'readConcern':{'afterClusterTime':1}",                                              14},
        { "'readConcern':{'level':'majority'}",                                                0 },
        { "'lsid':" LSID("s") ",'txnNumber':3,'autocommit':false,'startTransaction':true,"
                              "'readConcern':{'level':'snapshot'}",                   0 },
    };
    EACH_ROW(rows, r)
        CHECK_EQ(statement(&f, r->fields, "'find':'c'").code, r->code, "%s", r->fields);
    CHECK_FAULT(mongo_ask(&f, "{'commitTransaction':1,'$db':'admin'}"), 125);
    CHECK_FAULT(mongo_ask(&f, "{'abortTransaction':1,'$db':'admin'}"), 125);
    CHECK_FAULT(FIRST(&f, "t", 1, "'commitTransaction':1,'$db':'admin'"), 263);
    mongo_face_close(&f);
}

TEST(mongo_transaction, a_time_from_the_future_is_refused_and_moves_no_clock)
{
    const struct {
        const char *fields;
        int32_t want;
    } rows[] = {
        {"'readConcern':{'afterClusterTime':{'$timestamp':{'t':1772323200,'i':1}}}",             0 },
        { "'readConcern':{'afterClusterTime':{'$timestamp':{'t':1772323201,'i':1}}}",            72},
        { "'readConcern':{'afterClusterTime':{'$timestamp':{'t':4294967295,'i':1}}}",            72},
        { "'$clusterTime':{'clusterTime':{'$timestamp':{'t':4294967295,'i':1}},'signature':{}}",
         0                                                                                         },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "{'find':'c',%s}", r->fields), r->want);
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c'}");
    const char *time = mongo_text(&f, &answer, "operationTime");
    CHECK_THAT(strstr(time, "1772323200") != NULL, "%s", time);
    mongo_face_close(&f);
}

TEST(mongo_transaction, a_collection_comes_into_being_with_the_first_document)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'find':'c'"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'insert':'new','documents':[{'_id':1}]"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'create':'made'"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'insert':'made','documents':[{'_id':1}]"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'update':'new','updates':[{'q':{},'u':{'$set':{'n':1}}}]"));
    struct mongo_answer a = STATEMENT(&f, "s", 1, "'find':'new'");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":1,\"n\":1}]");
    CHECK_STRING(mongo_found(&f, "new", "{}"), "[]");
    CHECK_DONE(COMMIT(&f, "s", 1));
    CHECK_STRING(mongo_found(&f, "new", "{}"), "[{\"_id\":1,\"n\":1}]");
    CHECK_STRING(mongo_found(&f, "made", "{}"), "[{\"_id\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_transaction, its_cursors_read_at_its_instant_and_end_with_it)
{
    struct mongo_face f;
    open_with_three(&f);
    struct mongo_answer a = FIRST(&f, "s", 1, "'find':'c','batchSize':1");
    long long id = (long long)mongo_number(&a, "cursor.id");
    char more[300];
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':2},'limit':1}]}"));
    CHECK_FAULT(
        mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','lsid':" LSID("s") "}",
                  id),
        50740);
    snprintf(more, sizeof(more), "'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':1",
             id);
    a = STATEMENT(&f, "s", 1, more);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"_id\":2}]");
    CHECK_DONE(COMMIT(&f, "s", 1));
    CHECK_FAULT(
        mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','lsid':" LSID("s") "}",
                  id),
        43);
    mongo_face_close(&f);
}

/* ---- time ------------------------------------------------------------------------------------------- */

TEST(mongo_transaction, it_ends_when_it_takes_too_long)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'setParameter':1,'transactionLifetimeLimitSeconds':30,'$db':'admin'}"));
    struct mongo_answer a =
        mongo_ask(&f, "{'getParameter':1,'transactionLifetimeLimitSeconds':1,'$db':'admin'}");
    CHECK_EQ(mongo_number(&a, "transactionLifetimeLimitSeconds"), 30, "");
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4}]"));
    world_pass(&f.world, 29999);
    CHECK_DONE(STATEMENT(&f, "s", 1, "'find':'c'"));
    world_pass(&f.world, 1);
    a = STATEMENT(&f, "s", 1, "'find':'c'");
    CHECK_FAULT(a, 251);
    CHECK_STRING(label(&f, a), TRANSIENT);
    CHECK_DONE(FIRST(&f, "s", 2, "'insert':'c','documents':[{'_id':4}]"));
    world_pass(&f.world, 30000);
    a = COMMIT(&f, "s", 2);
    CHECK_FAULT(a, 251);
    CHECK_STRING(label(&f, a), TRANSIENT);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':4}]}"));
    mongo_face_close(&f);
}

TEST(mongo_transaction, what_dies_meanwhile_is_alive_inside_and_cannot_be_changed)
{
    struct mongo_face f;
    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'at':1},'name':'t',"
                             "'expireAfterSeconds':0}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'at':@5000},{'_id':2}]}"));
    CHECK_DONE(FIRST(&f, "r", 1, "'find':'c'"));
    CHECK_DONE(FIRST(&f, "w", 1, "'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'n':1}}}]"));
    world_pass(&f.world, 5000);
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":2}]");
    struct mongo_answer a = STATEMENT(&f, "r", 1,
                                      "'find':'c','filter':{'_id':1},'projection':{'_id':1}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":1}]");
    CHECK_DONE(STATEMENT(&f, "r", 1, "'insert':'c','documents':[{'_id':3}]"));
    CHECK_DONE(COMMIT(&f, "r", 1)); /* has only read it */
    a = COMMIT(&f, "w", 1);
    CHECK_FAULT(a, 112);
    CHECK_STRING(label(&f, a), TRANSIENT);
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":2},{\"_id\":3}]");
    mongo_face_close(&f);
}

TEST(mongo_transaction, it_ends_with_its_session)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4}]"));
    CHECK_DONE(mongo_ask(&f, "{'endSessions':[" LSID("s") "]}"));
    CHECK_FAULT(STATEMENT(&f, "s", 1, "'find':'c'"), 251);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':4}]}"));
    CHECK_DONE(FIRST(&f, "s", 2, "'insert':'c','documents':[{'_id':5}]"));
    mongo_protocol()->on_stop(f.face);
    CHECK_FAULT(COMMIT(&f, "s", 2), 251);
    CHECK_FAULT(FIRST(&f, "s", 3, "'find':'c'"), 91);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':5}]}"));
    mongo_face_close(&f);
}

TEST(mongo_transaction, a_commit_is_answered_again_after_a_restart)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'other','documents':[{'_id':1}]}"));
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4}]"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'delete':'other','deletes':[{'q':{},'limit':0}]"));
    CHECK_DONE(COMMIT(&f, "s", 1));
    CHECK_DONE(FIRST(&f, "s", 2, "'insert':'c','documents':[{'_id':5}]"));
    mongo_face_restart(&f);
    CHECK_DONE(COMMIT(&f, "s", 1));
    CHECK_FAULT(COMMIT(&f, "s", 2), 251);
    CHECK_FAULT(COMMIT(&f, "t", 1), 251);
    CHECK_FAULT(ABORT(&f, "s", 1), 251);
    CHECK_FAULT(STATEMENT(&f, "s", 1, "'find':'c'"), 251);
    mongo_face_close(&f);
}

TEST(mongo_transaction, a_capped_collection_is_not_written_inside)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'log','capped':true,'size':4096}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'log','documents':[{'_id':1}]}"));
    CHECK_FAULT(FIRST(&f, "s", 1, "'insert':'log','documents':[{'_id':2}]"), 263);
    CHECK_FAULT(FIRST(&f, "s", 2, "'delete':'log','deletes':[{'q':{},'limit':0}]"), 263);
    struct mongo_answer a = FIRST(&f, "s", 3, "'find':'log'");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":1}]");
    mongo_face_close(&f);
}

TEST(mongo_transaction, killing_all_sessions_ends_it_and_a_session_without_an_id_ends_nothing)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4}]"));
    CHECK_FAULT(mongo_ask(&f, "{'endSessions':[{'id':null}]}"), ERROR_TypeMismatch);
    CHECK_DONE(mongo_ask(&f, "{'endSessions':[]}"));
    CHECK_DONE(STATEMENT(&f, "s", 1, "'find':'c'"));
    CHECK_DONE(mongo_ask(&f, "{'killAllSessions':[]}"));
    CHECK_FAULT(STATEMENT(&f, "s", 1, "'find':'c'"), 251);
    mongo_face_close(&f);
}

TEST(mongo_transaction, a_session_needs_an_id_that_is_a_uuid)
{
    struct mongo_face f;
    open_with_three(&f);
    const struct {
        const char *lsid;
        int32_t want;
    } rows[] = {
        {"{'id':null}",                                                                      ERROR_TypeMismatch },
        { "{'id':'s'}",                                                                      ERROR_TypeMismatch },
        { "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAA==','subType':'00'}}}",
         ERROR_TypeMismatch                                                                                     },
        { "{'id':{'$binary':{'base64':'AAAA','subType':'04'}}}",                             ERROR_InvalidUUID  },
        { "{}",                                                                              ERROR_Location40414},
        { "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAA==','subType':'04'}},'uid':1}",
         ERROR_TypeMismatch                                                                                     },
        { "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAA==','subType':'04'}},'x':1}",
         ERROR_Location40415                                                                                    },
        { "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAA==','subType':'04'}}}",         0                  },
    };
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "{'ping':1,'lsid':%s}", r->lsid), r->want);
    CHECK_DONE(mongo_ask(&f, "{'ping':1,'lsid':" LSID("s") "}"));
    mongo_face_close(&f);
}

static const char *idle_rows(struct mongo_face *f, const char *options, const char *path)
{
    struct mongo_answer answer =
        mongo_ask(f,
                  "{'aggregate':1,'pipeline':[{'$currentOp':%s},{'$match':{'type':'idleSession'}}],"
                  "'cursor':{},'$db':'admin'}",
                  options);

    CHECK_DONE(answer);
    return mongo_text(f, &answer, path);
}

TEST(mongo_transaction, one_that_waits_for_its_next_statement_is_an_idle_session)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_STRING(idle_rows(&f, "{}", "cursor.firstBatch"), "[]");
    CHECK_DONE(FIRST(&f, "s", 7, "'insert':'c','documents':[{'_id':4}]"));
    world_pass(&f.world, 2000);
    CHECK_STRING(idle_rows(&f, "{'idleSessions':false}", "cursor.firstBatch"), "[]");
    const struct {
        const char *path, *want;
    } rows[] = {
        {"desc",                              "\"inactive transaction\""                                                  },
        { "active",                           "false"                                                                     },
        { "transaction.parameters.txnNumber", "7"                                                                         },
        { "transaction.timeOpenMicros",       "2000000"                                                                   },
        { "transaction.startWallClockTime",   "\"2026-03-01T00:00:00.000+00:00\""                                         },
        { "transaction.expiryTime",           "\"2026-03-01T00:01:00.000+00:00\""                                         },
        { "lsid.id",                          "{\"$binary\":{\"base64\":\"AAAAAAAAAAAAAAAAAAAsAA==\",\"subType\":\"04\"}}"},
        { "lsid.uid",
         "{\"$binary\":{\"base64\":\"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\",\"subType\":"
          "\"00\"}}"                                                                                                      },
    };
    EACH_ROW(rows, r) {
        char path[80];
        snprintf(path, sizeof(path), "cursor.firstBatch.0.%s", r->path);
        CHECK_STRING(idle_rows(&f, "{'idleSessions':true}", path), r->want);
    }
    struct mongo_answer answer = mongo_ask(&f,
                                           "{'currentOp':1,'type':'idleSession','$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.transaction.parameters.txnNumber"), "7");
    CHECK_DONE(STATEMENT(&f, "s", 7, "'commitTransaction':1,'$db':'admin'"));
    CHECK_STRING(idle_rows(&f, "{}", "cursor.firstBatch"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_transaction, sessions_are_killed_by_who_they_belong_to_or_by_a_pattern)
{
    const struct {
        const char *command;
        bool is_killed;
        int32_t want;
    } rows[] = {
        {"{'killSessions':[" LSID("s") "]}",                                     true,  0                   },
        { "{'killSessions':[" LSID("t") "]}",                                    false, 0                   },
        { "{'killSessions':[]}",                                                 true,  0                   },
        { "{'endSessions':[]}",                                                  false, 0                   },
        { "{'killAllSessions':[{'user':'ann','db':'db'}]}",                      false, 0                   },
        { "{'killAllSessions':[{'user':'ann'}]}",                                false, ERROR_Location40414 },
        { "{'killAllSessions':[" LSID("s") "]}",                                 false, ERROR_Location40415 },
        { "{'killAllSessions':['s']}",                                           false, ERROR_TypeMismatch  },
        { "{'killAllSessions':[]}",                                              true,  0                   },
        { "{'killAllSessionsByPattern':[{'lsid':" LSID("s") "}]}",               true,  0                   },
        { "{'killAllSessionsByPattern':[{'users':[{'user':'ann','db':'db'}]}]}", false, 0                   },
        { "{'killAllSessionsByPattern':[{'uid':1}]}",                            false, ERROR_TypeMismatch  },
        { "{'killAllSessionsByPattern':[{}]}",                                   false, ERROR_InvalidOptions},
        { "{'killAllSessionsByPattern':[]}",                                     true,  0                   },
    };
    struct mongo_face f;
    int number = 1;

    open_with_three(&f);
    EACH_ROW(rows, r) {
        char fields[200];
        snprintf(fields, sizeof(fields), "'lsid':" LSID("s") ",'txnNumber':%d,'autocommit':false",
                 number++);
        CHECK_DONE(mongo_ask(&f, "{'find':'c',%s,'startTransaction':true}", fields));
        CHECK_FAULT(mongo_ask(&f, "%s", r->command), r->want);
        struct mongo_answer answer = mongo_ask(&f, "{'find':'c',%s}", fields);
        CHECK_EQ(answer.code, r->is_killed ? 251 : 0, "%s", r->command);
    }
    mongo_face_close(&f);
}

TEST(mongo_transaction, one_that_is_open_at_a_restart_was_never_there)
{
    struct mongo_face f;
    open_with_three(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4}]"));
    mongo_face_restart(&f);
    CHECK_FAULT(COMMIT(&f, "s", 1), 251);
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1},{\"_id\":2},{\"_id\":3}]");
    mongo_face_close(&f);
}

TEST(mongo_transaction, one_that_would_hold_too_much_fails_as_a_whole)
{
    struct mongo_face f;

    open_with_three(&f);
    f.world.transaction_held_bytes = 2000;
    mongo_face_restart(&f);
    CHECK_DONE(FIRST(&f, "s", 1, "'insert':'c','documents':[{'_id':4}]"));
    struct mongo_answer a =
        STATEMENT(&f, "s", 1, "'insert':'c','documents':[{'_id':5},{'_id':6},{'_id':7},{'_id':8}]");
    CHECK_FAULT(a, 257);
    CHECK_STRING(mongo_text(&f, &a, "codeName"), "\"TransactionTooLarge\"");
    CHECK_STRING(label(&f, a), "");
    CHECK_FAULT(COMMIT(&f, "s", 1), 251);
    mongo_face_close(&f);
}
