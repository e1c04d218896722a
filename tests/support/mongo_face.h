/* The Mongo face on an engine to test with: commands as text, replies as text. No socket is involved, and no
 * frames: what a session does is tested with real clients.
 *
 *     struct mongo_face f;
 *     mongo_face_open(&f);
 *     CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
 *     struct mongo_answer a = mongo_ask(&f, "{'find':'c','filter':{'_id':1}}");
 *     CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[{\"_id\":1}]");
 *     mongo_face_close(&f);
 *
 * Documents are written as in world.h. Without a $db the database is "db". Answers live in the world's
 * arena. */
#ifndef TESTS_SUPPORT_MONGO_FACE_H
#define TESTS_SUPPORT_MONGO_FACE_H

#include "front/mongo/session.h"
#include "tests/support/world.h"

struct mongo_face {
    struct world world; /* its helpers may be used beside; it has the database "db" */
    struct mongo_options options;
    struct mongo *face;
    struct session session; /* of the one client, without a connection */
};

struct mongo_answer {
    int32_t code; /* 0: ok */
    bytes document;
    const char *message; /* of an error */
    size_t used_bytes;   /* memory of the command when it ended */
};

void mongo_face_open(struct mongo_face *f);
void mongo_face_open_with(struct mongo_face *f, const struct mongo_options *options);
void mongo_face_close(struct mongo_face *f);
/* Stops and starts again, over the same rows. */
void mongo_face_restart(struct mongo_face *f);
/* Dies at this instant and starts again. */
void mongo_face_crash(struct mongo_face *f);

struct mongo_answer mongo_ask(struct mongo_face *f, const char *command, ...) WORLD_PRINTS(2);
struct mongo_answer mongo_ask_document(struct mongo_face *f, bytes document);
/* JSON text of what a dotted path leads to in the reply ("cursor.firstBatch.0.a"), "" if nowhere. */
const char *mongo_text(struct mongo_face *f, const struct mongo_answer *answer, const char *path);
/* A number in the reply; ends the test if there is none. */
int64_t mongo_number(const struct mongo_answer *answer, const char *path);
/* JSON text of the first batch of a find with this filter. */
const char *mongo_found(struct mongo_face *f, const char *collection, const char *filter);

/* The value of lsid for a session of its own, named by a letter or a digit. */
#define LSID(name) "{'id':{'$binary':{'base64':'AAAAAAAAAAAAAAAAAAA" name "AA==','subType':'04'}}}"

#define CHECK_FAULT(call, want)                                                                \
    do {                                                                                       \
        const struct mongo_answer check_answer = (call);                                       \
        if (check_answer.code != (want))                                                       \
            check_fail(__FILE__, __LINE__, #call, "is %d, want %d: %s", check_answer.code,     \
                       (int)(want), check_answer.message ? check_answer.message : "no error"); \
        if (check_answer.code != 0 && check_answer.message[0] == '\0')                         \
            check_fail(__FILE__, __LINE__, #call, "failed without a sentence");                \
    } while (0)
#define CHECK_DONE(call) CHECK_FAULT(call, 0)

#endif
