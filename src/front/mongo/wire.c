/* Wire: frames of the protocol, read and written.
 *
 *   header      int32 length, int32 request id, int32 response to, int32 kind; all little-endian
 *   MSG         uint32 flags, sections, [uint32 CRC-32C over everything before it]
 *     section   0x00, document                              the body, exactly once
 *               0x01, int32 size, cstring name, documents   size counts itself
 *   QUERY       int32 flags, cstring namespace, int32 skip, int32 count, document, [document]
 *   REPLY       int32 flags, int64 cursor, int32 from, int32 count, documents
 *   COMPRESSED  int32 kind inside, int32 length expanded, uint8 compressor, bytes
 *
 * A section beside the body stands for an array of its name; it is left where it is, since copying all
 * documents of an insert together would double its memory.
 *
 * Keeps: never reads past the given bytes; every document that comes out has passed document_check. A
 * compressed message inside a compressed one is refused, so expanding happens once.
 * Pure apart from the arena; callable from every thread. Start reading at wire_read(). */
#include "front/mongo/wire.h"

#include "base/crc32c.h"
#include "value/value.h"

/* Room for what a client puts around a document of the largest size. */
#define BODY_BYTES_MAX LIMIT_WIRE_MESSAGE_BYTES

enum {
    SECTION_BODY = 0,
    SECTION_SEQUENCE = 1,
    REQUIRED_FLAGS = 0xFFFF,
    KNOWN_FLAGS = WIRE_CHECKSUM_PRESENT | WIRE_MORE_TO_COME,
    COMPRESSED_HEAD_BYTES = 9,
    MSG_HEAD_BYTES = WIRE_HEADER_BYTES + 5,
    REPLY_HEAD_BYTES = WIRE_HEADER_BYTES + 20,
};

/* ---- numbers ---------------------------------------------------------------------------------------- */

static void put_u32(uint8_t *at, uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

/* ---- taking apart ----------------------------------------------------------------------------------- */

static bool take_u32(bytes *rest, uint32_t *out)
{
    if (rest->len < 4)
        return false;
    *out = bytes_read_u32_low_first(rest->data);
    *rest = bytes_from(*rest, 4);
    return true;
}

static bool take_cstring(bytes *rest, bytes *out)
{
    const uint8_t *end = rest->len ? memchr(rest->data, 0, rest->len) : NULL;

    if (!end)
        return false;
    *out = bytes_of(rest->data, (size_t)(end - rest->data));
    *rest = bytes_from(*rest, out->len + 1);
    return true;
}

/* A document at the front, not looked into. */
static bool take_document(bytes *rest, bytes *out)
{
    if (rest->len < 5)
        return false;
    size_t len = bytes_read_u32_low_first(rest->data);
    if (len < 5 || len > rest->len)
        return false;
    *out = bytes_of(rest->data, len);
    *rest = bytes_from(*rest, len);
    return true;
}

bool wire_next_document(bytes *rest, bytes *out)
{
    return take_document(rest, out);
}

status wire_read_header(struct arena *arena, bytes head, struct wire_header *out)
{
    ASSERT(head.len >= WIRE_HEADER_BYTES);
    uint32_t len = bytes_read_u32_low_first(head.data);

    *out = (struct wire_header){ .len = len,
                                 .request_id = (int32_t)bytes_read_u32_low_first(head.data + 4),
                                 .kind = (int32_t)bytes_read_u32_low_first(head.data + 12) };
    if (len < WIRE_HEADER_BYTES || len > LIMIT_WIRE_MESSAGE_BYTES)
        return status_fail(arena, TOO_LARGE,
                           "a message says that it has %d bytes; %d to %d are possible",
                           (int32_t)len, WIRE_HEADER_BYTES, LIMIT_WIRE_MESSAGE_BYTES);
    return STATUS_OK;
}

/* ---- MSG -------------------------------------------------------------------------------------------- */

static status read_sequence(struct arena *arena, bytes *rest, struct wire_message *out)
{
    uint32_t size;
    bytes inside, document;

    if (!take_u32(rest, &size) || size < 4 || size - 4 > rest->len)
        return status_of(INVALID, "a document sequence is longer than its message");
    if (out->sequence_count == LIMIT_WIRE_SEQUENCES)
        return status_fail(arena, TOO_LARGE, "a message has at most %d document sequences",
                           LIMIT_WIRE_SEQUENCES);
    struct wire_sequence *sequence = &out->sequences[out->sequence_count++];
    inside = bytes_of(rest->data, size - 4);
    *rest = bytes_from(*rest, size - 4);
    if (!take_cstring(&inside, &sequence->name))
        return status_of(INVALID, "a document sequence has no name");
    if (!text_is_utf8(sequence->name))
        return status_of(INVALID, "the name of a document sequence is not UTF-8");
    for (size_t i = 0; i + 1 < out->sequence_count; i++) {
        if (bytes_equal(out->sequences[i].name, sequence->name))
            return status_of(INVALID, "two document sequences have the same name");
    }
    sequence->documents = inside;
    while (inside.len > 0) {
        if (!take_document(&inside, &document))
            return status_of(INVALID, "a document sequence ends in the middle of a document");
        TRY(document_check_upto(arena, document, BODY_BYTES_MAX));
    }
    return STATUS_OK;
}

static status read_sections(struct arena *arena, bytes rest, struct wire_message *out)
{
    while (rest.len > 0) {
        uint8_t section = rest.data[0];
        rest = bytes_from(rest, 1);
        if (section == SECTION_SEQUENCE) {
            TRY(read_sequence(arena, &rest, out));
        } else if (section == SECTION_BODY && out->body.len == 0) {
            if (!take_document(&rest, &out->body))
                return status_of(INVALID, "the body is longer than its message");
            TRY(document_check_upto(arena, out->body, BODY_BYTES_MAX));
        } else {
            return section == SECTION_BODY
                       ? status_of(INVALID, "a message has two bodies")
                       : status_fail(arena, INVALID, "there is no section of the kind %u", section);
        }
    }
    if (out->body.len == 0)
        return status_of(INVALID, "a message has no body");
    return STATUS_OK;
}

static status read_msg(struct arena *arena, bytes whole, struct wire_message *out)
{
    bytes rest = bytes_from(whole, WIRE_HEADER_BYTES);

    if (!take_u32(&rest, &out->flags))
        return status_of(INVALID, "a message ends before its flags");
    if (out->flags & REQUIRED_FLAGS & ~(uint32_t)KNOWN_FLAGS)
        return status_fail(arena, INVALID, "the flags 0x%x of a message are not known", out->flags);
    if (out->flags & WIRE_CHECKSUM_PRESENT) {
        if (rest.len < 4)
            return status_of(INVALID, "a message ends before its checksum");
        rest.len -= 4;
        if (crc32c_extend(0, bytes_of(whole.data, whole.len - 4)) !=
            bytes_read_u32_low_first(whole.data + whole.len - 4))
            return status_of(INVALID, "the checksum of a message is wrong");
    }
    return read_sections(arena, rest, out);
}

/* ---- QUERY ------------------------------------------------------------------------------------------ */

static status read_query(struct arena *arena, bytes whole, struct wire_message *out)
{
    static const char suffix[] = ".$cmd";
    bytes rest = bytes_from(whole, WIRE_HEADER_BYTES), namespace;
    uint32_t flags, skip, count;

    if (!take_u32(&rest, &flags) || !take_cstring(&rest, &namespace) || !take_u32(&rest, &skip) ||
        !take_u32(&rest, &count) || !take_document(&rest, &out->body))
        return status_of(INVALID, "a query ends too early");
    TRY(document_check_upto(arena, out->body, BODY_BYTES_MAX));
    size_t suffix_len = sizeof(suffix) - 1;
    if (namespace.len <= suffix_len ||
        !bytes_equal(bytes_from(namespace, namespace.len - suffix_len), BYTES_LITERAL(suffix)))
        return status_of(UNSUPPORTED, "queries of the old kind are not supported; a client of a "
                                      "version from 2020 on does not send them");
    out->database = bytes_of(namespace.data, namespace.len - suffix_len);
    return STATUS_OK;
}

/* ---- COMPRESSED ------------------------------------------------------------------------------------- */

/* The message as it was before it was compressed, with a header of its own. */
static status expand(struct arena *arena, bytes whole, enum compressor *compressor_out, bytes *out)
{
    bytes rest = bytes_from(whole, WIRE_HEADER_BYTES), plain;
    uint32_t kind, len;
    void *made;

    *out = BYTES_NONE;
    if (!take_u32(&rest, &kind) || !take_u32(&rest, &len) || rest.len == 0)
        return status_of(INVALID, "a compressed message ends too early");
    if (kind == WIRE_COMPRESSED)
        return status_of(INVALID, "a compressed message is compressed again");
    if (len > LIMIT_WIRE_MESSAGE_BYTES - WIRE_HEADER_BYTES)
        return status_fail(arena, TOO_LARGE, "a compressed message has %u bytes, limit %d", len,
                           LIMIT_WIRE_MESSAGE_BYTES - WIRE_HEADER_BYTES);
    unsigned number = rest.data[0];
    *compressor_out = number < COMPRESSOR_COUNT ? (enum compressor)number : COMPRESSOR_NONE;
    TRY(compressor_expand(arena, *compressor_out, bytes_from(rest, 1), len, &plain));
    TRY(arena_take(arena, WIRE_HEADER_BYTES + plain.len, &made));
    uint8_t *copy = made;
    memcpy(copy, whole.data, WIRE_HEADER_BYTES);
    put_u32(copy, (uint32_t)(WIRE_HEADER_BYTES + plain.len));
    put_u32(copy + 12, kind);
    if (plain.len > 0)
        memcpy(copy + WIRE_HEADER_BYTES, plain.data, plain.len);
    *out = bytes_of(copy, WIRE_HEADER_BYTES + plain.len);
    return STATUS_OK;
}

status wire_read(struct arena *arena, bytes whole, struct wire_message *out)
{
    struct wire_header header;

    *out = (struct wire_message){ .compressor = COMPRESSOR_NONE };
    TRY(wire_read_header(arena, whole, &header));
    ASSERT(header.len == whole.len);
    out->request_id = header.request_id;
    if (header.kind == WIRE_COMPRESSED) {
        TRY(expand(arena, whole, &out->compressor, &whole));
        TRY(wire_read_header(arena, whole, &header));
    }
    switch (header.kind) {
    case WIRE_MSG:
        out->kind = WIRE_MSG;
        return read_msg(arena, whole, out);
    case WIRE_QUERY:
        out->kind = WIRE_QUERY;
        return read_query(arena, whole, out);
    default:
        return status_fail(arena, UNSUPPORTED, "messages of the kind %d are not spoken here",
                           header.kind);
    }
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static void put_header(uint8_t *at, size_t len, const struct wire_envelope *envelope, int32_t kind)
{
    put_u32(at, (uint32_t)len);
    put_u32(at + 4, (uint32_t)envelope->request_id);
    put_u32(at + 8, (uint32_t)envelope->response_to);
    put_u32(at + 12, (uint32_t)kind);
}

static status pack(struct arena *arena, const struct wire_envelope *envelope, bytes head,
                   bytes document, bytes *head_out, bytes *body_out)
{
    struct buffer plain = buffer_in(arena);
    bytes inside;
    void *made;

    buffer_reserve(&plain, head.len + document.len);
    buffer_append(&plain, bytes_from(head, WIRE_HEADER_BYTES));
    buffer_append(&plain, document);
    TRY(buffer_finish(&plain, &inside));
    TRY(compressor_pack(arena, envelope->compressor, inside, body_out));
    TRY(arena_take(arena, WIRE_HEADER_BYTES + COMPRESSED_HEAD_BYTES, &made));
    uint8_t *out = made;
    put_header(out, WIRE_HEADER_BYTES + COMPRESSED_HEAD_BYTES + body_out->len, envelope,
               WIRE_COMPRESSED);
    put_u32(out + 16, (uint32_t)envelope->kind);
    put_u32(out + 20, (uint32_t)inside.len);
    out[24] = (uint8_t)envelope->compressor;
    *head_out = bytes_of(out, WIRE_HEADER_BYTES + COMPRESSED_HEAD_BYTES);
    return STATUS_OK;
}

status wire_write(struct arena *arena, const struct wire_envelope *envelope, bytes document,
                  bytes *head_out, bytes *body_out)
{
    enum { AWAIT_CAPABLE = 8 };
    bool is_msg = envelope->kind == WIRE_MSG;
    size_t len = is_msg ? MSG_HEAD_BYTES : REPLY_HEAD_BYTES;
    void *made;

    *head_out = *body_out = BYTES_NONE;
    TRY(arena_take(arena, len, &made));
    uint8_t *head = made;
    memset(head, 0, len);
    put_header(head, len + document.len, envelope, (int32_t)envelope->kind);
    put_u32(head + 16, is_msg ? envelope->flags : AWAIT_CAPABLE);
    if (!is_msg)
        put_u32(head + 32, 1); /* documents */
    *head_out = bytes_of(head, len);
    *body_out = document;
    if (envelope->compressor == COMPRESSOR_NONE)
        return STATUS_OK;
    return pack(arena, envelope, *head_out, document, head_out, body_out);
}
