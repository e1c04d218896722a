/* Reply: typed fields. BSON has three kinds of numbers, and clients tell them apart: a cursor's id must be
 * an int64 whatever it is, `ok` a double.
 *
 * Pure; callable from every thread. */
#include "front/mongo/reply.h"

#include <stdio.h>
#include <time.h>

static void append(struct buffer *out, const char *name, enum value_type type, bytes raw)
{
    document_append(out, bytes_of_text(name), (struct value){ .type = type, .raw = raw });
}

static void put_u64(uint8_t out[8], uint64_t number)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

void reply_int32(struct buffer *out, const char *name, int32_t number)
{
    uint8_t raw[8];

    put_u64(raw, (uint32_t)number);
    append(out, name, VALUE_INT32, bytes_of(raw, 4));
}

static void append_u64(struct buffer *out, const char *name, enum value_type type, uint64_t number)
{
    uint8_t raw[8];

    put_u64(raw, number);
    append(out, name, type, bytes_of(raw, sizeof(raw)));
}

void reply_int64(struct buffer *out, const char *name, int64_t number)
{
    append_u64(out, name, VALUE_INT64, (uint64_t)number);
}

void reply_double(struct buffer *out, const char *name, double number)
{
    uint64_t image;

    memcpy(&image, &number, sizeof(image));
    append_u64(out, name, VALUE_DOUBLE, image);
}

void reply_bool(struct buffer *out, const char *name, bool is_true)
{
    document_append_bool(out, name, is_true);
}

void reply_text(struct buffer *out, const char *name, const char *text)
{
    document_append_text(out, name, bytes_of_text(text));
}

void reply_bytes(struct buffer *out, const char *name, bytes text)
{
    document_append_text(out, name, text);
}

void reply_date(struct buffer *out, const char *name, time_ms at)
{
    append_u64(out, name, VALUE_DATE, (uint64_t)at);
}

void reply_timestamp(struct buffer *out, const char *name, uint64_t timestamp)
{
    append_u64(out, name, VALUE_TIMESTAMP, timestamp);
}

/* The same in every reply but for two numbers, so it is copied whole. */
void reply_op_time(struct buffer *out, const char *name, uint64_t timestamp)
{
    size_t begun = reply_begin(out, name);

    reply_timestamp(out, "ts", timestamp);
    reply_int64(out, "t", 1);
    document_end(out, begun);
}

void reply_times(struct buffer *out, uint64_t now)
{
    struct times {
        uint8_t head[31], cluster[8], signature[63], operation_head[15], operation[8];
    } times = {
        .head = "\x03$clusterTime\0\x58\0\0\0\x11"
                "clusterTime",
        .signature = "\x03signature\0\x33\0\0\0\x05hash\0\x14\0\0\0\0"
                     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                     "\x12keyId",
        .operation_head = "\x11operationTime",
    };

    put_u64(times.cluster, now);
    put_u64(times.operation, now);
    buffer_append(out, bytes_of(&times, sizeof(times)));
}

void reply_object_id(struct buffer *out, const char *name, const uint8_t id[12])
{
    append(out, name, VALUE_OBJECT_ID, bytes_of(id, 12));
}

void reply_binary(struct buffer *out, const char *name, uint8_t subtype, bytes content)
{
    uint8_t head[8];
    struct buffer raw = buffer_in(out->arena);

    put_u64(head, content.len);
    head[4] = subtype;
    buffer_append(&raw, bytes_of(head, 5));
    buffer_append(&raw, content);
    if (raw.is_failed)
        out->is_failed = true;
    else
        append(out, name, VALUE_BINARY, bytes_of(raw.data, raw.len));
}

void reply_null(struct buffer *out, const char *name)
{
    append(out, name, VALUE_NULL, BYTES_NONE);
}

void reply_document(struct buffer *out, const char *name, bytes document)
{
    append(out, name, VALUE_DOCUMENT, document);
}

size_t reply_begin(struct buffer *out, const char *name)
{
    return document_begin_inner(out, VALUE_DOCUMENT, bytes_of_text(name));
}

size_t reply_begin_array(struct buffer *out, const char *name)
{
    return document_begin_inner(out, VALUE_ARRAY, bytes_of_text(name));
}

const char *reply_index(size_t index, char room[REPLY_INDEX_BYTES])
{
    char *at = room + REPLY_INDEX_BYTES - 1;

    *at = '\0';
    do {
        *--at = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0 && at > room);
    return at;
}

void reply_write_time(time_ms at, char out[REPLY_TIME_BYTES])
{
    time_t seconds = (time_t)(at / 1000);
    struct tm parts;
    char text[40] = "";

    if (gmtime_r(&seconds, &parts))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, REPLY_TIME_BYTES, "%s.%03d+00:00", text, (int)(at % 1000) & 1023);
}
