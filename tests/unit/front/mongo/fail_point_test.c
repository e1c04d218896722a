/* Commands that are made to fail. */
#include "tests/support/mongo_face.h"

#include <pthread.h>

static struct mongo_answer configure(struct mongo_face *f, const char *mode, const char *data)
{
    return mongo_ask(f, "{'configureFailPoint':'failCommand','mode':%s,'data':%s,'$db':'admin'}",
                     mode, data);
}

TEST(mongo_fail_point, the_named_commands_fail_as_often_as_was_said)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(configure(&f, "{'times':2}", "{'failCommands':['insert'],'errorCode':91}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_FAULT(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"), ERROR_ShutdownInProgress);
    CHECK_FAULT(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"), ERROR_ShutdownInProgress);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    struct mongo_answer answer = configure(&f, "{'skip':1}",
                                           "{'failCommands':['find'],'errorCode':2}");
    CHECK_EQ(mongo_number(&answer, "count"), 2, "");
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_FAULT(mongo_ask(&f, "{'find':'c'}"), ERROR_BadValue);
    CHECK_DONE(configure(&f, "'off'", "{}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_DONE(
        configure(&f, "{'activationProbability':0}", "{'failCommands':['find'],'errorCode':2}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_DONE(configure(&f, "'alwaysOn'",
                         "{'failCommands':['find'],'errorCode':2,"
                         "'appName':'other'}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    mongo_face_close(&f);
}

TEST(mongo_fail_point, labels_and_errors_of_the_write_concern_go_into_the_reply)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(configure(&f, "'alwaysOn'", "{'failCommands':['insert'],'errorCode':91}"));
    struct mongo_answer answer =
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}],'lsid':" LSID("1") ",'txnNumber':1}");
    CHECK_STRING(mongo_text(&f, &answer, "errorLabels"), "[\"RetryableWriteError\"]");
    CHECK_DONE(configure(&f, "'alwaysOn'",
                         "{'failCommands':['insert'],'errorCode':91,"
                         "'errorLabels':['Mine']}"));
    answer = mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}");
    CHECK_STRING(mongo_text(&f, &answer, "errorLabels"), "[\"Mine\"]");
    CHECK_DONE(configure(&f, "{'times':1}",
                         "{'failCommands':['insert'],"
                         "'writeConcernError':{'code':64,'errmsg':'late'}}"));
    answer = mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "writeConcernError.code"), 64, "");
    CHECK_EQ(mongo_number(&answer, "n"), 1, "");
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1}]");
    mongo_face_close(&f);
}

static void *switch_off(void *context)
{
    struct mongo_face *f = context;
    struct session session = { .face = f->face, .connection_id = 2, .is_loopback = true };
    struct arena *arena = arena_open(1024 * 1024);
    struct wire_message message = {
        .kind = WIRE_MSG,
        .body = world_document(arena, "{'configureFailPoint':'failCommand','mode':'off',"
                                      "'$db':'admin'}"),
    };
    struct command command = {
        .face = f->face, .session = &session, .arena = arena, .message = &message
    };

    CHECK(command_run(&command));
    arena_close(arena);
    return NULL;
}

TEST(mongo_fail_point, a_command_that_is_held_goes_on_when_the_fail_point_is_switched_off)
{
    struct mongo_face f;
    pthread_t thread;

    mongo_face_open(&f);
    CHECK_DONE(configure(&f, "'alwaysOn'",
                         "{'failCommands':['ping'],'blockConnection':true,"
                         "'blockTimeMS':1}"));
    CHECK_DONE(mongo_ask(&f, "{'ping':1}"));
    CHECK_DONE(configure(&f, "'alwaysOn'",
                         "{'failCommands':['ping'],'blockConnection':true,"
                         "'blockTimeMS':20000}"));
    CHECK_EQ(pthread_create(&thread, NULL, switch_off, &f), 0, "");
    CHECK_DONE(mongo_ask(&f, "{'ping':1}"));
    pthread_join(thread, NULL);
    mongo_face_close(&f);
}

TEST(mongo_fail_point, what_makes_no_sense_is_refused)
{
    const struct {
        const char *command;
        int32_t want;
    } rows[] = {
        {"{'configureFailPoint':'other','mode':'off','$db':'admin'}",              ERROR_BadValue      },
        { "{'configureFailPoint':'failCommand','mode':'on','$db':'admin'}",        ERROR_BadValue      },
        { "{'configureFailPoint':'failCommand','mode':{'n':1},'$db':'admin'}",     ERROR_BadValue      },
        { "{'configureFailPoint':'failCommand','mode':{'skip':-1},'$db':'admin'}", ERROR_BadValue      },
        { "{'configureFailPoint':'failCommand','$db':'admin'}",                    ERROR_Location40414 },
        { "{'configureFailPoint':'failCommand','mode':'alwaysOn','data':{'failCommands':['find'],"
          "'blockConnection':true},'$db':'admin'}",                       ERROR_InvalidOptions},
        { "{'configureFailPoint':'failCommand','mode':'off'}",                     ERROR_Unauthorized  },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "%s", r->command), r->want);
    mongo_face_close(&f);
    mongo_face_open_with(&f, &(struct mongo_options){ .has_test_commands = false });
    CHECK_FAULT(configure(&f, "'off'", "{}"), ERROR_CommandNotFound);
    mongo_face_close(&f);
}
