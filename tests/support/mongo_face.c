/* Mongo face: the face on a world, without sockets and frames. A command that is answered later is waited
 * for.
 * Threads: the test's; the reply may come on another one. */
#include "tests/support/mongo_face.h"

#include "front/mongo/login.h"

#include <stdio.h>

static void open_face(struct mongo_face *f)
{
    f->options.engine = f->world.engine;
    f->options.log = &f->world.log;
    f->options.metrics = &f->world.metrics;
    f->options.version = "test";
    CHECK_OK(mongo_open(&f->options, f->world.arena, &f->face));
    CHECK_OK(mongo_announce(f->face, "127.0.0.1:27017"));
    login_close(f->session.login);
    memory_give((void *)f->session.operation.metadata.data);
    f->session = (struct session){ .face = f->face, .connection_id = 1, .is_loopback = true };
    operation_join(&f->session);
}

void mongo_face_open_with(struct mongo_face *f, const struct mongo_options *options)
{
    memset(f, 0, sizeof(*f));
    f->options = *options;
    world_prepare(&f->world, ON_MEMORY);
    f->world.predicate = mongo_index_predicate;
    CHECK_OK(world_start(&f->world));
    CHECK_OK(database_create(f->world.engine, f->world.arena, BYTES_LITERAL("db"), BYTES_NONE));
    open_face(f);
}

void mongo_face_open(struct mongo_face *f)
{
    mongo_face_open_with(f, &(struct mongo_options){ .has_test_commands = true });
}

void mongo_face_close(struct mongo_face *f)
{
    operation_leave(&f->session);
    login_close(f->session.login);
    mongo_close(f->face);
    world_close(&f->world);
}

void mongo_face_restart(struct mongo_face *f)
{
    mongo_close(f->face);
    world_restart(&f->world);
    open_face(f);
}

void mongo_face_crash(struct mongo_face *f)
{
    mongo_close(f->face);
    world_crash(&f->world);
    open_face(f);
}

/* ---- asking ----------------------------------------------------------------------------------------- */

struct waiting {
    struct command command; /* first: finish is given only this */
    pthread_mutex_t lock;
    pthread_cond_t is_done;
    bool has_reply;
};

static void finished(struct command *command)
{
    struct waiting *waiting = (struct waiting *)command;

    pthread_mutex_lock(&waiting->lock);
    waiting->has_reply = true;
    pthread_cond_signal(&waiting->is_done);
    pthread_mutex_unlock(&waiting->lock);
}

static bytes with_database(struct arena *arena, bytes document)
{
    struct document_walk walk = document_fields(document);
    struct buffer copy = buffer_in(arena);
    struct field field;
    struct value value;
    bytes out;

    if (document_find(document, "$db", &value))
        return document;
    size_t begun = document_begin(&copy);
    while (document_next(&walk, &field))
        document_append(&copy, field.name, field.value);
    reply_text(&copy, "$db", "db");
    document_end(&copy, begun);
    CHECK_OK(buffer_finish(&copy, &out));
    return out;
}

static struct mongo_answer answer_of(struct mongo_face *f, bytes reply)
{
    struct mongo_answer answer = { .message = "" };
    struct value value;
    int64_t number = 0;

    CHECK_OK(arena_copy(f->world.arena, reply, &answer.document));
    CHECK_OK(document_check(f->world.arena, answer.document));
    CHECK(document_find(answer.document, "ok", &value) && value.type == VALUE_DOUBLE);
    if (value_as_double(value) != 0)
        return answer;
    CHECK(document_find(answer.document, "code", &value) && value_as_int64(value, &number));
    answer.code = (int32_t)number;
    CHECK(document_find(answer.document, "codeName", &value) && value.type == VALUE_STRING);
    CHECK(document_find(answer.document, "errmsg", &value) && value.type == VALUE_STRING);
    answer.message = arena_format(f->world.arena, "%.*s", (int)value_text(value).len,
                                  (const char *)value_text(value).data);
    return answer;
}

struct mongo_answer mongo_ask_document(struct mongo_face *f, bytes document)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    struct wire_message message = { .kind = WIRE_MSG,
                                    .compressor = COMPRESSOR_NONE,
                                    .body = with_database(f->world.arena, document) };
    struct waiting waiting = {
        .command = {.face = f->face,
                    .session = &f->session,
                    .arena = arena,
                    .message = &message,
                    .finish = finished}
    };

    CHECK(arena != NULL);
    pthread_mutex_init(&waiting.lock, NULL);
    pthread_cond_init(&waiting.is_done, NULL);
    if (!command_run(&waiting.command)) {
        pthread_mutex_lock(&waiting.lock);
        while (!waiting.has_reply)
            pthread_cond_wait(&waiting.is_done, &waiting.lock);
        pthread_mutex_unlock(&waiting.lock);
    }
    struct mongo_answer answer = answer_of(f, command_reply(&waiting.command));
    answer.used_bytes = arena_used_bytes(arena);
    pthread_cond_destroy(&waiting.is_done);
    pthread_mutex_destroy(&waiting.lock);
    arena_close(arena);
    return answer;
}

struct mongo_answer mongo_ask(struct mongo_face *f, const char *command, ...)
{
    va_list args;

    va_start(args, command);
    const char *text = arena_format_args(f->world.arena, command, args);
    va_end(args);
    CHECK(text != NULL);
    return mongo_ask_document(f, world_document(f->world.arena, text));
}

/* ---- reading answers -------------------------------------------------------------------------------- */

static struct value value_at(bytes document, const char *path)
{
    struct value value = { .type = VALUE_DOCUMENT, .raw = document };

    while (*path) {
        size_t len = strcspn(path, ".");
        if ((value.type != VALUE_DOCUMENT && value.type != VALUE_ARRAY) ||
            !document_find_bytes(value_document(value), bytes_of(path, len), &value))
            return (struct value){ .type = VALUE_MISSING };
        path += path[len] == '.' ? len + 1 : len;
    }
    return value;
}

const char *mongo_text(struct mongo_face *f, const struct mongo_answer *answer, const char *path)
{
    struct value value = value_at(answer->document, path);
    struct buffer text = buffer_in(f->world.arena);

    if (value.type != VALUE_MISSING)
        json_write_value(&text, value);
    buffer_append_byte(&text, 0);
    CHECK(!text.is_failed);
    return (const char *)text.data;
}

int64_t mongo_number(const struct mongo_answer *answer, const char *path)
{
    struct value value = value_at(answer->document, path);
    int64_t number = 0;

    CHECK_THAT(value_as_int64(value, &number), "%s is no whole number", path);
    return number;
}

const char *mongo_found(struct mongo_face *f, const char *collection, const char *filter)
{
    struct mongo_answer answer = mongo_ask(f, "{'find':'%s','filter':%s,'singleBatch':true}",
                                           collection, filter);

    CHECK_DONE(answer);
    return mongo_text(f, &answer, "cursor.firstBatch");
}
