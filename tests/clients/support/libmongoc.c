/* A program on libmongoc, run by mongo-libmongoc.py: writes, reads and deletes as the driver in C does it, with
 * document sequences for every write. Prints one line for each step; the script says what is expected. */
#include <mongoc/mongoc.h>
#include <stdio.h>

static void show(const char *step, bool is_done, const bson_error_t *error)
{
    if (is_done)
        printf("%s ok\n", step);
    else
        printf("%s failed %u %s\n", step, error->code, error->message);
}

static void insert(mongoc_collection_t *collection, int id)
{
    bson_t *document = BCON_NEW("_id", BCON_INT32(id), "n", BCON_INT32(id * 10));
    bson_error_t error;

    show("insert", mongoc_collection_insert_one(collection, document, NULL, NULL, &error), &error);
    bson_destroy(document);
}

static void find(mongoc_collection_t *collection, int batch_size)
{
    bson_t *filter = BCON_NEW("n", "{", "$gte", BCON_INT32(20), "}");
    bson_t *options = BCON_NEW("sort", "{", "_id", BCON_INT32(-1), "}", "batchSize",
                               BCON_INT32(batch_size));
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(collection, filter, options, NULL);
    const bson_t *document;
    bson_error_t error;

    while (mongoc_cursor_next(cursor, &document)) {
        char *text = bson_as_relaxed_extended_json(document, NULL);
        printf("%s\n", text);
        bson_free(text);
    }
    show("find", !mongoc_cursor_error(cursor, &error), &error);
    mongoc_cursor_destroy(cursor);
    bson_destroy(options);
    bson_destroy(filter);
}

static void change(mongoc_collection_t *collection)
{
    bson_t *filter = BCON_NEW("_id", BCON_INT32(1)), reply;
    bson_t *update = BCON_NEW("$inc", "{", "n", BCON_INT32(1), "}");
    bson_error_t error;

    show("update", mongoc_collection_update_one(collection, filter, update, NULL, NULL, &error),
         &error);
    show("delete", mongoc_collection_delete_one(collection, filter, NULL, &reply, &error), &error);
    char *text = bson_as_relaxed_extended_json(&reply, NULL);
    printf("%s\n", strstr(text, "\"deletedCount\" : 1") ? "deleted 1" : text);
    bson_free(text);
    bson_destroy(&reply);
    bson_destroy(update);
    bson_destroy(filter);
}

static void bulk(mongoc_collection_t *collection)
{
    mongoc_bulk_operation_t *many = mongoc_collection_create_bulk_operation_with_opts(collection,
                                                                                      NULL);
    bson_error_t error;
    bson_t reply;

    for (int i = 100; i < 1100; i++) {
        bson_t *document = BCON_NEW("_id", BCON_INT32(i));
        mongoc_bulk_operation_insert(many, document);
        bson_destroy(document);
    }
    show("bulk", mongoc_bulk_operation_execute(many, &reply, &error) != 0, &error);
    bson_destroy(&reply);
    mongoc_bulk_operation_destroy(many);
    bson_t *all = bson_new();
    printf("count %lld\n",
           (long long)mongoc_collection_count_documents(collection, all, NULL, NULL, NULL, &error));
    bson_destroy(all);
}

static bool move_one(mongoc_client_session_t *session, void *context, bson_t **reply,
                     bson_error_t *error)
{
    mongoc_collection_t *collection = context;
    bson_t *from = BCON_NEW("_id", BCON_INT32(2)), options;
    bson_t *inserted = BCON_NEW("_id", BCON_INT32(1), "n", BCON_INT32(20));

    (void)reply;
    bson_init(&options);
    bool is_done = mongoc_client_session_append(session, &options, error) &&
                   mongoc_collection_delete_one(collection, from, &options, NULL, error) &&
                   mongoc_collection_insert_one(collection, inserted, &options, NULL, error);
    bson_destroy(&options);
    bson_destroy(inserted);
    bson_destroy(from);
    return is_done;
}

/* Number 2 becomes number 1, in one step. */
static void transact(mongoc_client_t *client, mongoc_collection_t *collection)
{
    bson_error_t error;
    mongoc_client_session_t *session = mongoc_client_start_session(client, NULL, &error);
    bson_t reply;

    if (!session) {
        show("session", false, &error);
        return;
    }
    show(
        "transaction",
        mongoc_client_session_with_transaction(session, move_one, NULL, collection, &reply, &error),
        &error);
    bson_destroy(&reply);
    mongoc_client_session_destroy(session);
    bson_t *some = BCON_NEW("n", BCON_INT32(20));
    printf("moved %lld\n", (long long)mongoc_collection_count_documents(collection, some, NULL,
                                                                        NULL, NULL, &error));
    bson_destroy(some);
}

int main(int argument_count, char **arguments)
{
    mongoc_init();
    mongoc_client_t *client = mongoc_client_new(argument_count > 1 ? arguments[1] : "");
    mongoc_collection_t *collection = mongoc_client_get_collection(client, "libmongoc", "c");
    bson_error_t error;

    for (int id = 1; id <= 4; id++)
        insert(collection, id);
    insert(collection, 1);
    find(collection, 1);
    change(collection);
    transact(client, collection);
    bulk(collection);
    show("drop", mongoc_collection_drop(collection, &error), &error);
    mongoc_collection_destroy(collection);
    mongoc_client_destroy(client);
    mongoc_cleanup();
    return 0;
}
