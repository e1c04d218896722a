/* Fuzz: commands of the MongoDB protocol. The input is a message of the new kind without its header; what is one is
 * run on an engine in memory, and its reply has to be a document with `ok` in it, and to name its error if it
 * has one. What it wrote is dropped with its databases, so that inputs do not depend on each other. */
#include <stdlib.h>

#include "front/mongo/index_spec.h"
#include "front/mongo/login.h"
#include "front/mongo/session.h"

enum { BUDGET = 64 * 1024 * 1024, DATABASES_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Made by the first input and kept for all others. */
static struct fixture {
    struct manual_time time;
    struct metrics metrics;
    struct log log;
    struct clock *clock;
    struct engine *engine;
    struct mongo *face;
} fixture;

static void need(bool claim)
{
    if (!claim)
        abort();
}

static void make_fixture(void)
{
    struct storage_options storage_options = { .log = &fixture.log, .metrics = &fixture.metrics };
    struct engine_options options = { .log = &fixture.log,
                                      .metrics = &fixture.metrics,
                                      .predicate = mongo_index_predicate,
                                      .extract = query_index_values,
                                      .is_manual = true };
    struct mongo_options face = { .log = &fixture.log,
                                  .metrics = &fixture.metrics,
                                  .version = "fuzz",
                                  .has_test_commands = true };
    struct arena *arena = arena_open(BUDGET);
    struct engine_sweep *sweep = engine_sweep_open();
    struct storage *storage;

    fixture.log = log_to(2, LOG_SILENT);
    fixture.time.wall = 1772323200000;
    fixture.clock = clock_open(clock_source_manual(&fixture.time), LIMIT_CLOCK_LEAP_MS);
    options.clock = fixture.clock;
    storage_options.sweeper = engine_sweeper(sweep);
    need(storage_open_memory(&storage_options, &storage).code == OK);
    need(engine_open(storage, sweep, &options, arena, &fixture.engine).code == OK);
    face.engine = fixture.engine;
    need(mongo_open(&face, arena, &fixture.face).code == OK);
    need(mongo_announce(fixture.face, "127.0.0.1:27017").code == OK);
    arena_close(arena);
}

static void drop_databases(struct arena *arena)
{
    struct request request;
    bytes names[DATABASES_MAX];
    size_t count = 0;

    need(request_begin(fixture.engine, arena, &request).code == OK);
    while (count < DATABASES_MAX && count < catalog_database_count(&request)) {
        need(arena_copy(arena, catalog_database(&request, count), &names[count]).code == OK);
        count++;
    }
    request_end(&request);
    for (size_t i = 0; i < count; i++)
        (void)!database_drop(fixture.engine, arena, names[i]).code;
    fixture.face->has_users = false;
}

/* Something to change: db.c with an index, a TTL index and a default time to live. */
static void make_collection(struct arena *arena)
{
    static const struct index_field fields[] = { { .path = BYTES_LITERAL("a") },
                                                 { .path = BYTES_LITERAL("d") } };
    struct index_definition indexes[] = {
        {.name = BYTES_LITERAL("a_1"),
         .kind = INDEX_FIELDS,
         .expire_after_s = INDEX_NO_EXPIRY,
         .field_count = 1,
         .fields = &fields[0]},
        { .name = BYTES_LITERAL("d_1"),
         .kind = INDEX_FIELDS,
         .expire_after_s = 5,
         .field_count = 1,
         .fields = &fields[1]},
    };
    struct collection_definition definition = { .database = BYTES_LITERAL("db"),
                                                .name = BYTES_LITERAL("c"),
                                                .default_ttl = 60 };

    for (size_t i = 0; i < ARRAY_COUNT(indexes); i++) {
        struct index_spec spec = { .name = indexes[i].name, .version = 2 };
        struct buffer key = buffer_in(arena);
        size_t begun = document_begin(&key);
        reply_int32(&key, i == 0 ? "a" : "d", 1);
        document_end(&key, begun);
        need(buffer_finish(&key, &spec.key).code == OK);
        need(index_spec_options(arena, &spec, &indexes[i].options).code == OK);
    }
    need(database_create(fixture.engine, arena, definition.database, BYTES_NONE).code == OK);
    need(
        collection_create(fixture.engine, arena, &definition, indexes, ARRAY_COUNT(indexes)).code ==
        OK);
}

/* Others do without, because they are faster without. */
static bool is_about_indexes(const uint8_t *data, size_t size)
{
    static const char *const words[] = { "collMod", "Indexes", "rename" };
    bytes input = bytes_of(data, size);

    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        for (size_t at = 0; at < size && at < 32; at++) {
            if (bytes_starts_with(bytes_from(input, at), bytes_of_text(words[i])))
                return true;
        }
    }
    return false;
}

static void check_reply(struct arena *arena, bytes reply)
{
    struct value ok, code, message;

    need(document_check_upto(arena, reply, BUDGET).code == OK);
    need(document_find(reply, "ok", &ok) && ok.type == VALUE_DOUBLE);
    if (value_as_double(ok) != 0)
        return;
    need(document_find(reply, "code", &code) && code.type == VALUE_INT32);
    need(document_find(reply, "errmsg", &message) && message.type == VALUE_STRING);
}

/* A command that ends later: on memory the commit is done by this very thread, before it is said. */
static void finished(struct command *command)
{
    check_reply(command->arena, command_reply(command));
}

static void run(struct arena *arena, const struct wire_message *message)
{
    struct session session = { .face = fixture.face, .connection_id = 1, .is_loopback = true };
    struct command command = { .face = fixture.face,
                               .session = &session,
                               .arena = arena,
                               .message = message,
                               .finish = finished };

    if (command_run(&command))
        check_reply(arena, command_reply(&command));
    login_close(session.login);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t head[WIRE_HEADER_BYTES] = { 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xDD, 0x07, 0, 0 };
    struct wire_message message;
    struct arena *arena = arena_open(BUDGET);
    struct buffer whole = buffer_in(arena);
    bytes frame;

    if (!fixture.engine)
        make_fixture();
    for (int i = 0; i < 4; i++)
        head[i] = (uint8_t)((size + WIRE_HEADER_BYTES) >> (8 * i));
    buffer_append(&whole, bytes_of(head, sizeof(head)));
    buffer_append(&whole, bytes_of(data, size));
    need(buffer_finish(&whole, &frame).code == OK);
    if (is_about_indexes(data, size))
        make_collection(arena);
    if (size < LIMIT_WIRE_MESSAGE_BYTES && wire_read(arena, frame, &message).code == OK)
        run(arena, &message);
    drop_databases(arena);
    arena_close(arena);
    return 0;
}
