/* What runs can be seen and stopped. */
#include "tests/support/mongo_face.h"

#include <stdio.h>

#include "front/mongo/operation.h"

/* Another client, in the middle of a command. */
struct other {
    struct session session;
    struct wire_message message;
    struct command command;
};

static void other_begin(struct other *other, struct mongo_face *f, const char *text)
{
    static const struct command_row row = { .name = "count", .access = ACCESS_READ };

    *other = (struct other){
        .session = {.face = f->face,   .connection_id = 7,                    .is_loopback = true},
        .message = { .kind = WIRE_MSG, .body = world_document(f->world.arena, text)              },
    };
    snprintf(other->session.peer, sizeof(other->session.peer), "127.0.0.1:5555");
    operation_join(&other->session);
    operation_introduce(
        &other->session,
        world_document(f->world.arena, "{'application':{'name':'shop'},'driver':{'name':'x'}}"));
    other->command = (struct command){ .face = f->face,
                                       .session = &other->session,
                                       .arena = f->world.arena,
                                       .message = &other->message,
                                       .row = &row,
                                       .database = BYTES_LITERAL("db"),
                                       .home = BYTES_LITERAL("db"),
                                       .started_ms = clock_monotonic(f->world.clock) };
    CHECK(document_find(other->message.body, "count", &other->command.target));
    operation_begin(&other->command);
}

static void other_end(struct other *other)
{
    operation_end(&other->command);
    operation_leave(&other->session);
}

TEST(mongo_operation, a_running_command_is_seen_by_others_with_who_runs_it)
{
    struct mongo_face f;
    struct other other;

    mongo_face_open(&f);
    other_begin(&other, &f, "{'count':'c','query':{'a':1},'$db':'db'}");
    world_pass(&f.world, 2500);
    struct mongo_answer answer = mongo_ask(&f, "{'currentOp':1,'appName':'shop','$db':'admin'}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.ns"), "\"db.c\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.type"), "\"op\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.op"), "\"command\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.desc"), "\"conn7\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.client"), "\"127.0.0.1:5555\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.active"), "true");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.command.query"), "{\"a\":1}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.clientMetadata.driver.name"), "\"x\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.currentOpTime"),
                 "\"2026-03-01T00:00:02.500+00:00\"");
    CHECK_EQ(mongo_number(&answer, "inprog.0.secs_running"), 2, "");
    CHECK_EQ(mongo_number(&answer, "inprog.0.microsecs_running"), 2500000, "");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.1"), "");
    answer = mongo_ask(&f, "{'aggregate':1,'pipeline':[{'$currentOp':{'allUsers':true}},"
                           "{'$match':{'connectionId':7}},{'$project':{'ns':1,'secs_running':1}}],"
                           "'cursor':{},'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"),
                 "[{\"secs_running\":2,\"ns\":\"db.c\"}]");
    other_end(&other);
    answer = mongo_ask(&f, "{'currentOp':1,'connectionId':7,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_operation, a_command_that_asks_sees_itself)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer = mongo_ask(&f, "{'currentOp':1,'$ownOps':true,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.command.currentOp"), "1");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.ns"), "\"admin.$cmd\"");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.1"), "");
    mongo_face_close(&f);
}

TEST(mongo_operation, idle_connections_and_cursors_are_shown_when_they_are_asked_for)
{
    struct mongo_face f;
    struct other other;

    mongo_face_open(&f);
    other_begin(&other, &f, "{'count':'c','$db':'db'}");
    operation_end(&other.command);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c','batchSize':1}"));
    struct mongo_answer answer = mongo_ask(&f, "{'currentOp':1,'$all':true,'active':false,"
                                               "'$db':'admin'}");
    CHECK_EQ(mongo_number(&answer, "inprog.0.connectionId"), 7, "");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.1"), "");
    answer = mongo_ask(&f, "{'aggregate':1,'pipeline':[{'$currentOp':{'idleCursors':true}},"
                           "{'$match':{'type':'idleCursor'}}],'cursor':{},'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.0.ns"), "\"db.c\"");
    operation_leave(&other.session);
    mongo_face_close(&f);
}

TEST(mongo_operation, the_stage_takes_known_options_on_admin_only)
{
    const struct {
        const char *command;
        int32_t want;
    } rows[] = {
        {"{'aggregate':1,'pipeline':[{'$currentOp':{}}],'cursor':{},'$db':'admin'}",              0                  },
        { "{'aggregate':1,'pipeline':[{'$currentOp':{}}],'cursor':{},'$db':'db'}",
         ERROR_InvalidNamespace                                                                                      },
        { "{'aggregate':'c','pipeline':[{'$currentOp':{}}],'cursor':{},'$db':'admin'}",
         ERROR_InvalidNamespace                                                                                      },
        { "{'aggregate':1,'pipeline':[{'$currentOp':1}],'cursor':{},'$db':'admin'}",
         ERROR_FailedToParse                                                                                         },
        { "{'aggregate':1,'pipeline':[{'$currentOp':{'allUsers':1}}],'cursor':{},'$db':'admin'}",
         ERROR_FailedToParse                                                                                         },
        { "{'aggregate':1,'pipeline':[{'$currentOp':{'no':true}}],'cursor':{},'$db':'admin'}",
         ERROR_FailedToParse                                                                                         },
        { "{'killOp':1,'op':'x','$db':'admin'}",                                                  ERROR_TypeMismatch },
        { "{'killOp':1,'op':9999999999,'$db':'admin'}",                                           ERROR_BadValue     },
        { "{'killOp':1,'$db':'admin'}",                                                           ERROR_Location40414},
        { "{'killOp':1,'op':77,'$db':'admin'}",                                                   0                  },
        { "{'killOp':1,'op':77,'$db':'db'}",                                                      ERROR_Unauthorized },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "%s", r->command), r->want);
    mongo_face_close(&f);
}

TEST(mongo_operation, a_command_that_is_killed_is_interrupted_when_it_looks)
{
    struct mongo_face f;
    struct other other;

    mongo_face_open(&f);
    other_begin(&other, &f, "{'count':'c','$db':'db'}");
    CHECK_OK(command_check_time(&other.command));
    struct mongo_answer answer = mongo_ask(&f, "{'currentOp':1,'connectionId':7,'$db':'admin'}");
    int64_t id = mongo_number(&answer, "inprog.0.opid");
    CHECK_DONE(mongo_ask(&f, "{'killOp':1,'op':%lld,'$db':'admin'}", (long long)id + 1));
    CHECK_OK(command_check_time(&other.command));
    CHECK_DONE(mongo_ask(&f, "{'killOp':1,'op':%lld,'$db':'admin'}", (long long)id));
    answer = mongo_ask(&f, "{'currentOp':1,'connectionId':7,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.killPending"), "true");
    CHECK_CODE(command_check_time(&other.command), INVALID);
    CHECK_EQ(other.command.fault.code, ERROR_Interrupted, "");
    other_end(&other);
    /* The next command of that client is another operation. */
    other_begin(&other, &f, "{'count':'c','$db':'db'}");
    CHECK_OK(command_check_time(&other.command));
    other_end(&other);
    mongo_face_close(&f);
}

TEST(mongo_operation, a_killed_index_build_leaves_nothing_behind)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1},{'_id':2,'a':2}]}"));
    CHECK_OK(world_index(&f.world, "c", "a_1: a")); /* registered, and nobody builds it */
    struct mongo_answer answer = mongo_ask(&f, "{'currentOp':1,'desc':'IndexBuilds',"
                                               "'$db':'admin'}");
    CHECK_EQ(mongo_number(&answer, "inprog.0.progress.total"), 1000, "");
    CHECK_DONE(mongo_ask(&f, "{'killOp':1,'op':%lld,'$db':'admin'}",
                         (long long)mongo_number(&answer, "inprog.0.opid")));
    answer = mongo_ask(&f, "{'currentOp':1,'desc':'IndexBuilds','$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog"), "[]");
    answer = mongo_ask(&f, "{'listIndexes':'c'}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.1"), "");
    mongo_face_close(&f); /* checks that no row of it is left */
}

TEST(mongo_operation, secrets_of_a_running_command_are_not_shown)
{
    struct mongo_face f;
    struct other other;
    struct command_row row;

    mongo_face_open(&f);
    other_begin(&other, &f, "{'count':'ann','pwd':'secret','$db':'db'}");
    operation_end(&other.command);
    row = *other.command.row;
    row.access = ACCESS_USER_ADMIN;
    other.command.row = &row;
    operation_begin(&other.command);
    struct mongo_answer answer = mongo_ask(&f, "{'currentOp':1,'connectionId':7,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "inprog.0.command"), "{\"count\":\"ann\",\"$db\":\"db\"}");
    other_end(&other);
    mongo_face_close(&f);
}
