/* Hello: what this server is, in the words by which drivers recognise a primary of a replica set.
 *
 * The set has one member, which is this server at the address that it listens on; so drivers use sessions,
 * retryable writes and the time of the cluster.
 *
 * Threads: the command's. */
#include "front/mongo/handlers.h"
#include "front/mongo/login.h"
#include "front/mongo/session.h"

static void append_compression(struct command *command)
{
    struct value offered;
    struct field field;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0;

    if (!document_find(command->message->body, "compression", &offered) ||
        offered.type != VALUE_ARRAY)
        return;
    struct document_walk walk = document_fields(value_document(offered));
    size_t begun = reply_begin_array(&command->reply, "compression");
    while (document_next(&walk, &field)) {
        if (field.value.type == VALUE_STRING &&
            compressor_by_name(value_text(field.value)) != COMPRESSOR_NONE)
            reply_bytes(&command->reply, reply_index(count++, room), value_text(field.value));
    }
    document_end(&command->reply, begun);
}

static void append_set(struct command *command, bool is_hello)
{
    static const uint8_t election[OBJECT_ID_BYTES] = { 0x7f, 0xff, 0xff, 0xff, 0, 0,
                                                       0,    0,    0,    0,    0, 1 };
    struct mongo *face = command->face;
    struct buffer *out = &command->reply;
    uint64_t timestamp = face_cluster_time(face, false);
    time_ms written = (time_ms)(timestamp >> 32) * 1000;

    size_t hosts = reply_begin_array(out, "hosts");
    reply_text(out, "0", face->address);
    document_end(out, hosts);
    reply_text(out, "setName", face->set_name);
    reply_int32(out, "setVersion", 1);
    reply_bool(out, is_hello ? "isWritablePrimary" : "ismaster", true);
    reply_bool(out, "secondary", false);
    reply_text(out, "primary", face->address);
    reply_text(out, "me", face->address);
    reply_object_id(out, "electionId", election);
    size_t last = reply_begin(out, "lastWrite");
    reply_op_time(out, "opTime", timestamp);
    reply_date(out, "lastWriteDate", written);
    reply_op_time(out, "majorityOpTime", timestamp);
    reply_date(out, "majorityWriteDate", written);
    document_end(out, last);
}

static status reply_hello(struct command *command, bool is_hello)
{
    struct buffer *out = &command->reply;
    struct value hello_ok, client;

    if (document_find(command->message->body, "client", &client) && client.type == VALUE_DOCUMENT)
        operation_introduce(command->session, value_document(client));
    if (document_find(command->message->body, "helloOk", &hello_ok) &&
        argument_flag(hello_ok, false))
        reply_bool(out, "helloOk", true);
    size_t version = reply_begin(out, "topologyVersion");
    reply_object_id(out, "processId", command->face->process_id);
    reply_int64(out, "counter", 0);
    document_end(out, version);
    append_set(command, is_hello);
    reply_int32(out, "maxBsonObjectSize", LIMIT_DOCUMENT_BYTES);
    reply_int32(out, "maxMessageSizeBytes", LIMIT_WIRE_MESSAGE_BYTES);
    reply_int32(out, "maxWriteBatchSize", LIMIT_WRITE_COMMAND_OPERATIONS);
    reply_date(out, "localTime", clock_now(engine_clock(command->face->engine)));
    reply_int32(out, "logicalSessionTimeoutMinutes", LIMIT_LOGICAL_SESSION_MINUTES);
    reply_int32(out, "connectionId", command->session->connection_id);
    reply_int32(out, "minWireVersion", 0);
    reply_int32(out, "maxWireVersion", FACE_WIRE_VERSION);
    reply_bool(out, "readOnly", false);
    append_compression(command);
    return login_greet(command);
}

status serve_hello(struct command *command)
{
    return reply_hello(command, true);
}

status serve_is_master(struct command *command)
{
    return reply_hello(command, false);
}
