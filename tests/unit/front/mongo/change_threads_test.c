/* Updates of the same documents from several clients at once. */
#include "tests/support/mongo_face.h"

enum { CLIENTS = 4, ROUNDS = 50 };

struct client {
    struct mongo_face *f;
    struct arena *arena;
    int number;
};

/* Asks without the helpers of the face, whose memory belongs to the test's thread. */
static int64_t run_update(struct client *client, const char *text)
{
    struct arena *arena = arena_open(16 * 1024 * 1024);
    struct wire_message message = { .kind = WIRE_MSG,
                                    .compressor = COMPRESSOR_NONE,
                                    .body = world_document(client->arena, text) };
    struct session session = { .face = client->f->face,
                               .connection_id = client->number,
                               .is_loopback = true };
    struct command command = {
        .face = client->f->face, .session = &session, .arena = arena, .message = &message
    };
    struct value value;
    int64_t changed = 0;

    CHECK(command_run(&command));
    CHECK(document_find(command_reply(&command), "nModified", &value));
    CHECK(value_as_int64(value, &changed));
    arena_close(arena);
    return changed;
}

static void *run_client(void *context)
{
    struct client *client = context;

    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(run_update(client,
                            "{'update':'c','updates':[{'q':{'_id':1},'u':{'$inc':{'n':1}}}],"
                            "'$db':'db'}"),
                 1, "");
        CHECK_EQ(run_update(client, "{'update':'c','updates':[{'q':{},'u':{'$inc':{'m':1}},"
                                    "'multi':true}],'$db':'db'}"),
                 3, "");
    }
    return NULL;
}

TEST(mongo_update, no_increment_of_several_clients_is_lost)
{
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}"));
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){ .f = &f, .arena = arena_open(16 * 1024 * 1024), .number = i };
        CHECK_EQ(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0, "");
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        arena_close(clients[i].arena);
    }
    CHECK_STRING(mongo_found(&f, "c", "{}"),
                 "[{\"_id\":1,\"n\":200,\"m\":200},{\"_id\":2,\"m\":200},{\"_id\":3,\"m\":200}]");
    mongo_face_close(&f);
}
