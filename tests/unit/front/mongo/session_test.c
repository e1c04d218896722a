/* Logical sessions: how long they live, and what lives with them. */
#include "tests/support/mongo_face.h"

enum { MINUTE_MS = 60 * 1000, LIFE_MS = LIMIT_LOGICAL_SESSION_MINUTES * MINUTE_MS };

static struct mongo_answer write_fifth(struct mongo_face *f)
{
    return mongo_ask(f, "{'insert':'c','documents':[{'_id':1}],'lsid':" LSID(
                            "s") ",'txnNumber':{'$numberLong':'5'}}");
}

/* A write that is carried out again meets its own document. */
static bool is_answered_again(struct mongo_face *f)
{
    struct mongo_answer answer = write_fifth(f);

    CHECK_DONE(answer);
    return strcmp(mongo_text(f, &answer, "writeErrors"), "") == 0;
}

/* What is done every `step_ms` for `total_ms`, while the purger runs. */
static void go_on(struct mongo_face *f, const char *command, int64_t step_ms, int64_t total_ms)
{
    for (int64_t passed = 0; passed < total_ms; passed += step_ms) {
        world_pass(&f->world, step_ms);
        world_purge(&f->world);
        if (command[0])
            CHECK_DONE(mongo_ask(f, "%s", command));
    }
}

TEST(mongo_session, a_write_is_answered_again_as_long_as_its_session_is_used)
{
    const struct {
        const char *why, *command;
        bool is_kept;
    } rows[] = {
        {"refreshed",          "{'refreshSessions':[" LSID("t") "," LSID("s") "]}",    true },
        { "read",              "{'find':'c','lsid':" LSID("s") "}",                    true },
        { "pinged",            "{'ping':1,'lsid':" LSID("s") "}",                      true },
        { "written elsewhere", "{'insert':'d','documents':[{}],'lsid':" LSID("s") "}", true },
        { "another refreshed", "{'refreshSessions':[" LSID("t") "]}",                  false},
        { "another used",      "{'find':'c','lsid':" LSID("t") "}",                    false},
        { "refreshed nobody",  "{'refreshSessions':[]}",                               false},
        { "nothing was done",  "",                                                     false},
    };
    EACH_ROW(rows, r) {
        struct mongo_face f;

        mongo_face_open(&f);
        CHECK_DONE(write_fifth(&f));
        go_on(&f, r->command, LIFE_MS - 1, 10 * LIFE_MS);
        CHECK_EQ(is_answered_again(&f), r->is_kept, "%s", r->why);
        mongo_face_close(&f);
    }
}

TEST(mongo_session, over_a_restart_and_a_crash_it_lives_on)
{
    for (int kind = 0; kind < 2; kind++) {
        struct mongo_face f;

        mongo_face_open(&f);
        CHECK_DONE(write_fifth(&f));
        for (int i = 0; i < 6; i++) {
            go_on(&f, "{'refreshSessions':[" LSID("s") "]}", LIFE_MS - MINUTE_MS, LIFE_MS);
            (kind ? mongo_face_crash : mongo_face_restart)(&f);
        }
        go_on(&f, "", LIFE_MS - 1, 1);
        CHECK(is_answered_again(&f));
        mongo_face_crash(&f);
        go_on(&f, "", LIFE_MS / 4, 3 * LIFE_MS);
        CHECK(!is_answered_again(&f));
        mongo_face_close(&f);
    }
}

TEST(mongo_session, what_a_newer_write_has_replaced_is_not_kept)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'a':1},'upsert':true},"
                             "{'q':{'_id':2},'u':{'a':1},'upsert':true}],'lsid':" LSID(
                                 "s") ",'txnNumber':{'$numberLong':'4'}}"));
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{},'limit':1}],'lsid':" LSID(
                                 "s") ",'txnNumber':{'$numberLong':'6'}}"));
    go_on(&f, "{'refreshSessions':[" LSID("s") "]}", LIFE_MS / 2, 4 * LIFE_MS);
    struct request request = world_begin(&f.world);
    struct note *notes;
    size_t count;
    uint8_t id[16] = { [14] = 0x2C };
    CHECK_OK(
        note_find(&request, world_find(&request, "c"), bytes_of(id, sizeof(id)), &notes, &count));
    CHECK_EQ(count, 1, "the one of the delete");
    world_end(&request);
    mongo_face_close(&f);
}

TEST(mongo_session, a_commit_is_answered_again_as_long_as_its_session_lives)
{
    static const char commit[] = "{'commitTransaction':1,'$db':'admin','lsid':" LSID(
        "s") ",'txnNumber':{'$numberLong':'5'},'autocommit':false}";
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}],'lsid':" LSID(
                                 "s") ",'txnNumber':{'$numberLong':'5'},'autocommit':false,"
                                      "'startTransaction':true}"));
    CHECK_DONE(mongo_ask(&f, "%s", commit));
    go_on(&f, "{'refreshSessions':[" LSID("s") "]}", LIFE_MS - 1, 4 * LIFE_MS);
    CHECK_DONE(mongo_ask(&f, "%s", commit));
    mongo_face_crash(&f);
    CHECK_DONE(mongo_ask(&f, "%s", commit));
    go_on(&f, "{'refreshSessions':[" LSID("s") "]}", LIFE_MS - 1, 4 * LIFE_MS);
    mongo_face_crash(&f);
    CHECK_DONE(mongo_ask(&f, "%s", commit));
    mongo_face_crash(&f);
    go_on(&f, "", LIFE_MS / 4, 3 * LIFE_MS);
    CHECK_FAULT(mongo_ask(&f, "%s", commit), ERROR_NoSuchTransaction);
    mongo_face_close(&f);
}

TEST(mongo_session, one_that_was_ended_is_kept_no_longer_than_its_last_write)
{
    const char *const ends[] = { "endSessions", "killSessions" };

    EACH_ROW(ends, end) {
        struct mongo_face f;

        mongo_face_open(&f);
        CHECK_DONE(write_fifth(&f));
        world_pass(&f.world, LIFE_MS - 1);
        CHECK_DONE(mongo_ask(&f, "{'%s':[" LSID("s") "]}", *end));
        world_purge(&f.world);
        CHECK(is_answered_again(&f));
        CHECK_DONE(mongo_ask(&f, "{'%s':[" LSID("s") "]}", *end));
        world_pass(&f.world, MINUTE_MS * 31);
        world_purge(&f.world);
        CHECK(!is_answered_again(&f));
        mongo_face_close(&f);
    }
}

TEST(mongo_session, lists_of_sessions_are_checked_before_anything_is_done)
{
    const char *const commands[] = { "endSessions", "killSessions", "refreshSessions" };
    const struct {
        const char *list;
        int32_t want;
    } rows[] = {
        {"1",                                                                    ERROR_TypeMismatch },
        { "null",                                                                ERROR_TypeMismatch },
        { LSID("s"),                                                             ERROR_TypeMismatch },
        { "[1]",                                                                 ERROR_TypeMismatch },
        { "[" LSID("s") ",'x']",                                                 ERROR_TypeMismatch },
        { "[" LSID("s") ",{}]",                                                  ERROR_Location40414},
        { "[" LSID("s") ",{'id':'s'}]",                                          ERROR_TypeMismatch },
        { "[" LSID("s") ",{'id':{'$binary':{'base64':'AAAA','subType':'04'}}}]",
         ERROR_InvalidUUID                                                                          },
        { "[" LSID("s") ",{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAAAAA==',"
                        "'subType':'03'}}}]",                           ERROR_TypeMismatch },
        { "[" LSID("s") ",{'ID':1}]",                                            ERROR_Location40415},
        { "[" LSID("s") "],'more':1",                                            ERROR_Location40415},
    };

    for (size_t i = 0; i < ARRAY_COUNT(commands); i++) {
        EACH_ROW(rows, r) {
            struct mongo_face f;

            mongo_face_open(&f);
            CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
            struct mongo_answer cursor =
                mongo_ask(&f, "{'find':'c','batchSize':1,'lsid':" LSID("s") "}");
            CHECK_FAULT(mongo_ask(&f, "{'%s':%s}", commands[i], r->list), r->want);
            CHECK_DONE(mongo_ask(
                &f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','lsid':" LSID("s") "}",
                (long long)mongo_number(&cursor, "cursor.id")));
            mongo_face_close(&f);
        }
    }
}

static int listed(struct mongo_face *f, const char *what)
{
    struct mongo_answer answer =
        mongo_ask(f,
                  "{'aggregate':1,'pipeline':[{'$listLocalSessions':%s}],'cursor':{},"
                  "'$db':'config'}",
                  what);
    int count = 0;

    CHECK_DONE(answer);
    for (const char *at = mongo_text(f, &answer, "cursor.firstBatch");
         (at = strstr(at, "lastUse")) != NULL; at++)
        count++;
    return count;
}

TEST(mongo_session, those_in_use_are_listed_with_their_last_use)
{
    static const char owner[] = "{'user':'u','db':'admin'}";
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'ping':1,'lsid':" LSID("s") "}"));
    CHECK_DONE(mongo_ask(&f, "{'ping':1,'lsid':" LSID("t") "}"));
    CHECK_EQ(listed(&f, "{}"), 2, "");
    CHECK_EQ(listed(&f, "{'allUsers':true}"), 2, "");
    struct mongo_answer answer =
        mongo_ask(&f, "{'aggregate':'system.sessions','pipeline':[{'$listSessions':{}},"
                      "{'$group':{'_id':{'$gte':['$lastUse','$$NOW']},'n':{'$sum':1}}}],"
                      "'cursor':{},'$db':'config'}");
    CHECK_DONE(answer);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"_id\":true,\"n\":2}]");
    CHECK_EQ(listed(&f, arena_format(f.world.arena, "{'users':[%s]}", owner)), 0, "nobody's");
    world_pass(&f.world, LIFE_MS / 2);
    CHECK_DONE(mongo_ask(&f, "{'ping':1,'lsid':" LSID("t") "}"));
    world_pass(&f.world, LIFE_MS / 2);
    CHECK_EQ(listed(&f, "{}"), 1, "one was not used for long");
    CHECK_DONE(mongo_ask(&f, "{'endSessions':[" LSID("t") "]}"));
    CHECK_EQ(listed(&f, "{}"), 0, "it was ended");
    mongo_face_close(&f);
}

TEST(mongo_session, lists_of_them_are_asked_for_in_one_way)
{
    static const struct {
        const char *argument;
        int32_t want;
    } rows[] = {
        {"1",                             ERROR_TypeMismatch     },
        { "{'all':true}",                 ERROR_Location40415    },
        { "{'users':{}}",                 ERROR_TypeMismatch     },
        { "{'users':[1]}",                ERROR_TypeMismatch     },
        { "{'users':[{'user':'a'}]}",     ERROR_Location40414    },
        { "{'users':[],'allUsers':true}", ERROR_UnsupportedFormat},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f,
                              "{'aggregate':1,'pipeline':[{'$listLocalSessions':%s}],"
                              "'cursor':{},'$db':'config'}",
                              r->argument),
                    r->want);
    CHECK_FAULT(mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$listSessions':{}}],'cursor':{}}"),
                ERROR_InvalidNamespace);
    mongo_face_close(&f);
}

TEST(mongo_session, one_command_names_a_bounded_number_of_them)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (int more = 0; more < 2; more++) {
        struct buffer text = buffer_in(f.world.arena);
        uint8_t id[16] = { 0 };
        char name[REPLY_INDEX_BYTES];
        bytes whole;

        size_t begun = document_begin(&text), list = reply_begin_array(&text, "refreshSessions");
        for (int i = 0; i < LIMIT_SESSIONS_NAMED + more; i++) {
            size_t row = reply_begin(&text, reply_index((size_t)i, name));
            reply_binary(&text, "id", 4, bytes_of(id, sizeof(id)));
            document_end(&text, row);
        }
        document_end(&text, list);
        reply_text(&text, "$db", "db");
        document_end(&text, begun);
        CHECK_OK(buffer_finish(&text, &whole));
        CHECK_FAULT(mongo_ask_document(&f, whole), more ? ERROR_TooManyLogicalSessions : 0);
    }
    mongo_face_close(&f);
}
