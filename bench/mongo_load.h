/* Messages of the MongoDB protocol as a driver sends them, made before the time is taken, for the load
 * generator: what the server alone costs. */
#ifndef BENCH_MONGO_LOAD_H
#define BENCH_MONGO_LOAD_H

#include "bench/load.h"
#include "bench/mongoc.h"

enum {
    MESSAGE_BYTES = 1024,
    MESSAGE_HEAD_BYTES = 21, /* header, flags, and the kind of the first section */
    MESSAGE_KIND = 2013,
    MESSAGES_KEPT = 2 * LOAD_CONNECTIONS_MAX,
};

struct message {
    uint32_t len;
    uint8_t data[MESSAGE_BYTES];
};

/* What every command of a driver carries: the database, a session, the time of the cluster as it was last heard. */
static inline void message_finish(struct message *message, bson_t *body, uint32_t session)
{
    const uint8_t no_signature[20] = { 0 };
    const uint32_t kind = MESSAGE_KIND;
    uint8_t id[16] = "a session of 16";
    bson_t inner, signature;

    memcpy(id, &session, sizeof(session));
    BSON_APPEND_UTF8(body, "$db", "d");
    BSON_APPEND_DOCUMENT_BEGIN(body, "lsid", &inner);
    BSON_APPEND_BINARY(&inner, "id", BSON_SUBTYPE_UUID, id, sizeof(id));
    bson_append_document_end(body, &inner);
    BSON_APPEND_DOCUMENT_BEGIN(body, "$clusterTime", &inner);
    BSON_APPEND_TIMESTAMP(&inner, "clusterTime", 1772323200, 1);
    BSON_APPEND_DOCUMENT_BEGIN(&inner, "signature", &signature);
    BSON_APPEND_BINARY(&signature, "hash", BSON_SUBTYPE_BINARY, no_signature, sizeof(no_signature));
    BSON_APPEND_INT64(&signature, "keyId", 0);
    bson_append_document_end(&inner, &signature);
    bson_append_document_end(body, &inner);
    *message = (struct message){ .len = MESSAGE_HEAD_BYTES + body->len };
    BENCH_CLAIM(message->len <= MESSAGE_BYTES);
    memcpy(message->data, &message->len, 4);
    memcpy(message->data + 12, &kind, 4);
    memcpy(message->data + MESSAGE_HEAD_BYTES, bson_get_data(body), body->len);
    bson_destroy(body);
}

static inline void message_ping(struct message *message)
{
    bson_t body = BSON_INITIALIZER;

    BSON_APPEND_INT32(&body, "ping", 1);
    message_finish(message, &body, 0);
}

static inline void message_find(struct message *message, uint64_t n)
{
    bson_t body = BSON_INITIALIZER, filter;
    char id[BENCH_ID_LEN + 1] = { 0 };

    bench_hex((uint8_t *)id, bench_mix(n));
    BSON_APPEND_UTF8(&body, "find", "c");
    BSON_APPEND_DOCUMENT_BEGIN(&body, "filter", &filter);
    BSON_APPEND_UTF8(&filter, "_id", id);
    bson_append_document_end(&body, &filter);
    BSON_APPEND_INT64(&body, "limit", 1);
    BSON_APPEND_BOOL(&body, "singleBatch", true);
    message_finish(message, &body, (uint32_t)n);
}

/* With a session and a number in it, as drivers send each write by themselves. */
static inline void message_insert(struct message *message, uint64_t n, uint32_t session,
                                  int64_t number)
{
    uint8_t room[BENCH_DOCUMENT_BYTES];
    bson_t body = BSON_INITIALIZER, list, document;

    bench_document(room, n);
    BENCH_CLAIM(bson_init_static(&document, room, sizeof(room)));
    BSON_APPEND_UTF8(&body, "insert", "c");
    BSON_APPEND_ARRAY_BEGIN(&body, "documents", &list);
    BSON_APPEND_DOCUMENT(&list, "0", &document);
    bson_append_array_end(&body, &list);
    BSON_APPEND_BOOL(&body, "ordered", true);
    BSON_APPEND_INT64(&body, "txnNumber", number);
    message_finish(message, &body, session);
}

/* A reply has the wanted number of bytes at least. A failure begins with ok: 0. */
static inline void load_read_message(struct load_connection *c, const struct load_source *source)
{
    enum { FIELD_AT = MESSAGE_HEAD_BYTES + 4, FIELD_BYTES = 12 };
    static const char failed[FIELD_BYTES] = "\1ok\0";
    uint32_t whole;

    if (c->have < FIELD_AT + FIELD_BYTES)
        return;
    memcpy(&whole, c->reply, 4);
    BENCH_CLAIM(memcmp(c->reply + FIELD_AT, failed, FIELD_BYTES) != 0);
    BENCH_CLAIM(whole >= source->wanted);
    c->whole = whole;
}

#endif
