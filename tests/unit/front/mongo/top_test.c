/* What was done with each collection, and what the log says, can be asked. */
#include "tests/support/mongo_face.h"

#include <unistd.h>

/* "count" or "time" of an event of a collection; -1 if the collection is not listed. */
static int64_t tally(struct mongo_face *f, const char *collection, const char *event,
                     const char *what)
{
    struct mongo_answer answer = mongo_ask(f, "{'top':1,'$db':'admin'}");
    const char *const path[] = { "totals", collection, event, what };
    struct value value = { VALUE_DOCUMENT, answer.document };
    int64_t number = -1;

    CHECK_DONE(answer);
    for (size_t i = 0; i < ARRAY_COUNT(path); i++) {
        if (!document_find(value_document(value), path[i], &value))
            return -1;
    }
    CHECK(value_as_int64(value, &number));
    return number;
}

TEST(mongo_top, each_kind_of_command_is_counted_for_its_collection)
{
    const struct {
        const char *command, *event, *lock;
    } rows[] = {
        {"{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}",       "insert",   "writeLock"},
        { "{'find':'c','batchSize':1}",                                      "queries",  "readLock" },
        { "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'a':1}}}]}", "update",
         "writeLock"                                                                                },
        { "{'delete':'c','deletes':[{'q':{'_id':1},'limit':1}]}",            "remove",   "writeLock"},
        { "{'getMore':1,'collection':'c'}",                                  "getmore",  "readLock" },
        { "{'count':'c'}",                                                   "commands", "readLock" },
        { "{'aggregate':'c','pipeline':[],'cursor':{}}",                     "commands", "readLock" },
        { "{'findAndModify':'c','query':{'_id':2},'remove':true}",           "commands", "writeLock"},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'}"));
    EACH_ROW(rows, r) {
        const char *const events[] = { r->event, r->lock, "total" };
        int64_t counts[ARRAY_COUNT(events)], times[ARRAY_COUNT(events)];
        for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
            counts[i] = tally(&f, "db.c", events[i], "count");
            times[i] = tally(&f, "db.c", events[i], "time");
        }
        (void)mongo_ask(&f, "%s", r->command);
        for (size_t i = 0; i < ARRAY_COUNT(events); i++) {
            CHECK_EQ(tally(&f, "db.c", events[i], "count"), counts[i] + 1, "%s %s", r->command,
                     events[i]);
            CHECK_THAT(tally(&f, "db.c", events[i], "time") >= times[i], "%s %s", r->command,
                       events[i]);
        }
    }
    CHECK_EQ(tally(&f, "db.c", "total", "count"), (int64_t)ARRAY_COUNT(rows) + 1, "with create");
    CHECK(tally(&f, "db.c", "total", "time") > 0);
    mongo_face_close(&f);
}

TEST(mongo_top, a_collection_that_was_dropped_begins_anew)
{
    const char *const ends[] = { "{'drop':'c'}", "{'dropDatabase':1}",
                                 "{'renameCollection':'db.c','to':'db.d','$db':'admin'}" };
    struct mongo_face f;

    mongo_face_open(&f);
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
        CHECK_DONE(mongo_ask(&f, "{'count':'c'}"));
        CHECK_EQ(tally(&f, "db.c", "total", "count"), 2, "");
        CHECK_DONE(mongo_ask(&f, "%s", ends[i]));
        CHECK_EQ(tally(&f, "db.c", "total", "count"), -1, "%s", ends[i]);
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
        CHECK_EQ(tally(&f, "db.c", "total", "count"), 1, "%s", ends[i]);
        CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    }
    mongo_face_close(&f);
}

TEST(mongo_top, names_that_clients_make_up_push_nothing_out_that_is_in_use)
{
    enum { NAMES = 20000 };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'}"));
    for (int i = 0; i < NAMES; i++) {
        CHECK_DONE(mongo_ask(&f, "{'count':'n%d'}", i));
        if (i % 1000 == 0)
            CHECK_DONE(mongo_ask(&f, "{'count':'c'}"));
    }
    CHECK_EQ(tally(&f, "db.c", "commands", "count"), 1 + NAMES / 1000, "");
    CHECK_EQ(tally(&f, "db.n5", "commands", "count"), -1, "it is no collection");
    mongo_face_close(&f);
}

TEST(mongo_top, the_log_is_given_line_by_line)
{
    struct mongo_face f;

    mongo_face_open(&f);
    f.world.log = log_to(dup(STDERR_FILENO), LOG_INFO);
    close(f.world.log.fd); /* nobody reads it here */
    f.world.log.ring = log_ring_open();
    log_event(&f.world.log, LOG_WARNING, "storage.odd", "why=\"a b\"");
    log_ring_settle(f.world.log.ring);
    log_event(&f.world.log, LOG_INFO, "purger.pass", "documents=%d", 4);
    struct mongo_answer answer = mongo_ask(&f, "{'getLog':'global','$db':'admin'}");
    CHECK_EQ(mongo_number(&answer, "totalLinesWritten"), 2, "");
    const char *line = mongo_text(&f, &answer, "log.1");
    CHECK_THAT(strstr(line, "\\\"s\\\":\\\"I\\\""), "%s", line);
    CHECK_THAT(strstr(line, "\\\"msg\\\":\\\"purger.pass documents=4\\\""), "%s", line);
    CHECK_THAT(strstr(line, "{\\\"t\\\":{\\\"$date\\\":\\\"20"), "%s", line);
    answer = mongo_ask(&f, "{'getLog':'startupWarnings','$db':'admin'}");
    CHECK_EQ(mongo_number(&answer, "totalLinesWritten"), 1, "");
    CHECK(strstr(mongo_text(&f, &answer, "log.0"), "storage.odd"));
    CHECK_STRING(mongo_text(&f, &answer, "log.1"), "");
    answer = mongo_ask(&f, "{'getLog':'*','$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &answer, "names"), "[\"global\",\"startupWarnings\"]");
    CHECK_FAULT(mongo_ask(&f, "{'getLog':'rs','$db':'admin'}"), ERROR_OperationFailed);
    CHECK_FAULT(mongo_ask(&f, "{'getLog':1,'$db':'admin'}"), ERROR_TypeMismatch);
    log_ring_close(f.world.log.ring);
    f.world.log.ring = NULL;
    mongo_face_close(&f);
}

TEST(mongo_top, commands_that_fail_take_no_place)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_FAULT(mongo_ask(&f, "{'find':'made_up','filter':{'a':{'$nonsense':1}}}"), ERROR_BadValue);
    CHECK_EQ(tally(&f, "db.made_up", "total", "count"), -1, "");
    mongo_face_close(&f);
}
