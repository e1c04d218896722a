/* Fuzz: frames of the MongoDB protocol. Whatever arrives, what comes out borrows from it (or from what was
 * expanded) and has passed the check of documents. */
#include <stdlib.h>

#include "front/mongo/wire.h"
#include "value/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool claim)
{
    if (!claim)
        abort();
}

static void check_message(struct arena *arena, const struct wire_message *message)
{
    need(message->kind == WIRE_MSG || message->kind == WIRE_QUERY);
    need(document_check_upto(arena, message->body, LIMIT_WIRE_MESSAGE_BYTES).code == OK);
    need(message->sequence_count <= LIMIT_WIRE_SEQUENCES);
    for (size_t i = 0; i < message->sequence_count; i++) {
        bytes rest = message->sequences[i].documents, document;
        while (wire_next_document(&rest, &document))
            need(document_check_upto(arena, document, LIMIT_WIRE_MESSAGE_BYTES).code == OK);
        need(rest.len == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    struct wire_message message;
    struct wire_header header;

    need(arena != NULL);
    if (size >= WIRE_HEADER_BYTES &&
        wire_read_header(arena, bytes_of(data, size), &header).code == OK && header.len <= size &&
        wire_read(arena, bytes_of(data, header.len), &message).code == OK)
        check_message(arena, &message);
    arena_close(arena);
    return 0;
}
