/* Fields of a reply with exactly the type that clients expect; appended to a document that was begun. */
#ifndef FRONT_MONGO_REPLY_H
#define FRONT_MONGO_REPLY_H

#include "value/value.h"

void reply_int32(struct buffer *out, const char *name, int32_t number);
void reply_int64(struct buffer *out, const char *name, int64_t number);
void reply_double(struct buffer *out, const char *name, double number);
void reply_bool(struct buffer *out, const char *name, bool is_true);
void reply_text(struct buffer *out, const char *name, const char *text);
void reply_bytes(struct buffer *out, const char *name, bytes text);
void reply_date(struct buffer *out, const char *name, time_ms at);
/* Seconds in the upper half, the counter below. */
void reply_timestamp(struct buffer *out, const char *name, uint64_t timestamp);
/* name: {ts: timestamp, t: 1} */
void reply_op_time(struct buffer *out, const char *name, uint64_t timestamp);
/* $clusterTime: {clusterTime: now, signature: {hash: <20 zeros>, keyId: 0}} and operationTime: now. */
void reply_times(struct buffer *out, uint64_t now);
void reply_object_id(struct buffer *out, const char *name, const uint8_t id[12]);
void reply_binary(struct buffer *out, const char *name, uint8_t subtype, bytes content);
void reply_null(struct buffer *out, const char *name);
void reply_document(struct buffer *out, const char *name, bytes document);

/* Documents and arrays inside; end them with document_end. */
size_t reply_begin(struct buffer *out, const char *name);
size_t reply_begin_array(struct buffer *out, const char *name);
/* A moment as text: 2026-03-01T00:00:02.500+00:00. */
enum { REPLY_TIME_BYTES = 64 };
void reply_write_time(time_ms at, char out[REPLY_TIME_BYTES]);
/* The name of an element of an array. */
enum { REPLY_INDEX_BYTES = 12 };
const char *reply_index(size_t index, char room[REPLY_INDEX_BYTES]);

#endif
