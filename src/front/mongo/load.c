/* Load: collections made from what the tools of this protocol keep beside documents.
 *
 * The same as if a client had sent `create` with the options and `createIndexes` with the indexes: the handlers of
 * those commands run here without a connection, so that whatever a client may not make cannot be made here either.
 * A collection whose indexes cannot be made goes again, or the next try would find it and leave it as it is.
 * What a dump of an old server has in its indexes and nobody reads any more (ns, v) is left out.
 *
 * Threads: any. Start reading at mongo_define_collection(). */
#include "front/mongo/command.h"
#include "front/mongo/mongo.h"
#include "front/mongo/reply.h"
#include "front/mongo/session.h"

/* `body` is a whole command; its first field names it. */
static status run_command(struct mongo *face, struct arena *arena, bytes database, bytes body)
{
    const struct wire_message message = { .kind = WIRE_MSG, .body = body };
    struct document_walk walk = document_fields(body);
    struct session *session;
    struct field first;

    TRY(ARENA_NEW(arena, 1, &session));
    session->face = face;
    session->is_loopback = true;
    ASSERT(document_next(&walk, &first));
    struct command command = { .face = face,
                               .session = session,
                               .arena = arena,
                               .message = &message,
                               .name = first.name,
                               .row = command_row_of(first.name),
                               .target = first.value,
                               .database = database,
                               .home = database,
                               .reply = buffer_in(arena) };
    ASSERT(command.row && command.row->handler);
    TRY(command_renew(&command));
    command.reply_begun = document_begin(&command.reply);
    status s = command.row->handler(&command);
    command_pause(&command);
    if (s.code == OK || command.fault.code == ERROR_NONE)
        return s;
    return status_fail(arena, INVALID, "%s: %s", command.row->name, command.fault.message);
}

static status create(struct mongo *face, struct arena *arena, bytes database, bytes name,
                     bytes options)
{
    struct document_walk walk = document_fields(options);
    struct buffer body = buffer_in(arena);
    size_t begun = document_begin(&body);
    struct field field;
    bytes built;

    reply_bytes(&body, "create", name);
    while (document_next(&walk, &field))
        document_append(&body, field.name, field.value);
    reply_bytes(&body, "$db", database);
    document_end(&body, begun);
    TRY(buffer_finish(&body, &built));
    return run_command(face, arena, database, built);
}

static void append_index(struct buffer *out, const char *position, bytes index)
{
    struct document_walk walk = document_fields(index);
    size_t begun = reply_begin(out, position);
    struct field field;

    while (document_next(&walk, &field)) {
        if (!bytes_is_text(field.name, "ns") && !bytes_is_text(field.name, "v"))
            document_append(out, field.name, field.value);
    }
    document_end(out, begun);
}

static bool is_of_id(bytes index)
{
    struct value name;

    return document_find(index, "name", &name) && name.type == VALUE_STRING &&
           bytes_is_text(value_text(name), "_id_");
}

static status create_indexes(struct mongo *face, struct arena *arena, bytes database, bytes name,
                             bytes indexes)
{
    struct document_walk walk = document_fields(indexes);
    struct buffer body = buffer_in(arena);
    size_t begun = document_begin(&body), count = 0;
    char room[REPLY_INDEX_BYTES];
    struct field field;
    bytes built;

    reply_bytes(&body, "createIndexes", name);
    size_t list = reply_begin_array(&body, "indexes");
    while (document_next(&walk, &field)) {
        if (field.value.type != VALUE_DOCUMENT)
            return status_of(INVALID, "an index in the metadata is no object");
        bytes index = value_document(field.value);
        if (!is_of_id(index))
            append_index(&body, reply_index(count++, room), index);
    }
    document_end(&body, list);
    reply_bytes(&body, "$db", database);
    document_end(&body, begun);
    TRY(buffer_finish(&body, &built));
    return count == 0 ? STATUS_OK : run_command(face, arena, database, built);
}

status mongo_define_collection(struct mongo *face, struct arena *arena, bytes database, bytes name,
                               bytes metadata)
{
    static const uint8_t nothing[5] = { 5, 0, 0, 0, 0 };
    bytes options = bytes_of(nothing, sizeof(nothing));
    struct value value;

    if (document_find(metadata, "options", &value) && value.type == VALUE_DOCUMENT)
        options = value_document(value);
    TRY(create(face, arena, database, name, options));
    if (!document_find(metadata, "indexes", &value) || value.type != VALUE_ARRAY)
        return STATUS_OK;
    status s = create_indexes(face, arena, database, name, value_document(value));
    if (s.code == OK)
        return s;
    status dropped = collection_drop(face->engine, arena, database, name);
    if (dropped.code != OK && dropped.code != NOT_FOUND)
        return status_fail(arena, s.code, "%s; and the collection stays without indexes: %s",
                           s.message, dropped.message);
    return s;
}
