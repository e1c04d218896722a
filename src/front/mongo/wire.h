/* Messages of the wire protocol, without sockets: a header of 16 bytes, then a body of one of four kinds.
 * Reading checks everything that is claimed, the documents too; writing makes the frame around a reply. */
#ifndef FRONT_MONGO_WIRE_H
#define FRONT_MONGO_WIRE_H

#include "base/base.h"
#include "front/mongo/compress.h"

enum { WIRE_HEADER_BYTES = 16 };

enum wire_kind {
    WIRE_REPLY = 1,
    WIRE_QUERY = 2004,
    WIRE_COMPRESSED = 2012,
    WIRE_MSG = 2013,
};

enum wire_flag {
    WIRE_CHECKSUM_PRESENT = 1,
    WIRE_MORE_TO_COME = 2,
    WIRE_EXHAUST_ALLOWED = 1 << 16,
};

struct wire_header {
    size_t len; /* of the whole message */
    int32_t request_id;
    int32_t kind;
};

/* Documents that stand beside the body, as if the body had an array of this name. */
struct wire_sequence {
    bytes name;
    bytes documents; /* one behind the other, each checked */
};

/* Borrows from the message's bytes. */
struct wire_message {
    int32_t request_id;
    enum wire_kind kind; /* WIRE_QUERY or WIRE_MSG */
    uint32_t flags;      /* of a WIRE_MSG */
    enum compressor compressor;
    bytes database; /* of a WIRE_QUERY: what stands before .$cmd */
    bytes body;     /* a checked document */
    size_t sequence_count;
    struct wire_sequence sequences[LIMIT_WIRE_SEQUENCES];
};

/* `head` has WIRE_HEADER_BYTES. INVALID or TOO_LARGE: the connection cannot go on. */
MUST_USE status wire_read_header(struct arena *arena, bytes head, struct wire_header *out);
/* `whole` is the message with its header. INVALID or TOO_LARGE with what was wrong; UNSUPPORTED for a kind
 * that is not spoken here. */
MUST_USE status wire_read(struct arena *arena, bytes whole, struct wire_message *out);

/* Walks the documents of a sequence. */
bool wire_next_document(bytes *rest, bytes *out);

/* What a reply goes out as. */
struct wire_envelope {
    enum wire_kind kind; /* WIRE_REPLY or WIRE_MSG */
    int32_t request_id;
    int32_t response_to;
    uint32_t flags;
    enum compressor compressor;
};
/* The bytes in front of the document and the document, ready to be sent; compressed if that is wanted and
 * possible. In the arena. */
MUST_USE status wire_write(struct arena *arena, const struct wire_envelope *envelope,
                           bytes document, bytes *head_out, bytes *body_out);

#endif
