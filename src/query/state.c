/* State: what one page leaves for the next, as bytes.
 *
 *   version 03, mode, access, is the position short (one byte each), index id (4), constraint (4),
 *   fingerprint (8), skip (8), remaining (8), then four times a length (2) and bytes: position, pages, sums, row.
 *
 * It travels through the client, so it is read as if anybody had written it: lengths are checked, numbers
 * that nothing could have written are refused, and the sums must be a sound document. Whether the rest
 * fits the query is found out by those who use it.
 *
 * Pure apart from the arena. */
#include "query/state.h"

enum { STATE_VERSION = 3, HEAD_BYTES = 4 + 2 * 4 + 3 * 8 + 4 * 2 };

size_t state_room(const struct page_state *state)
{
    size_t taken = HEAD_BYTES + state->pages.len + state->sums.len + state->row.len;

    return taken < LIMIT_QUERY_STATE_BYTES ? LIMIT_QUERY_STATE_BYTES - taken : 0;
}

static void append_block(struct buffer *out, bytes block)
{
    buffer_append_u16(out, (uint16_t)block.len);
    buffer_append(out, block);
}

status state_write(struct arena *arena, const struct page_state *state, bytes *out)
{
    struct buffer b = buffer_in(arena);

    if (state->position.len > state_room(state))
        return status_fail(arena, TOO_LARGE,
                           "going on behind this page would take a state of more than %d bytes, "
                           "the limit: its last values are too long",
                           LIMIT_QUERY_STATE_BYTES);
    buffer_append_byte(&b, STATE_VERSION);
    buffer_append_byte(&b, (uint8_t)state->mode);
    buffer_append_byte(&b, (uint8_t)state->choice.access);
    buffer_append_byte(&b, state->is_position_short);
    buffer_append_u32(&b, state->choice.index_id);
    buffer_append_u32(&b, state->choice.constraint);
    buffer_append_u64(&b, state->fingerprint);
    buffer_append_u64(&b, state->skip);
    buffer_append_u64(&b, state->remaining);
    append_block(&b, state->position);
    append_block(&b, state->pages);
    append_block(&b, state->sums);
    append_block(&b, state->row);
    return buffer_finish(&b, out);
}

static status refused(void)
{
    return status_of(INVALID, "the state of the query is not one that a page has given");
}

static bytes read_block(struct reader *reader)
{
    uint16_t len = reader_u16(reader);

    return reader_bytes(reader, len);
}

status state_read(struct arena *arena, bytes bytes_in, struct page_state *out)
{
    struct reader r = reader_of(bytes_in);
    uint8_t version = reader_byte(&r), mode = reader_byte(&r), access = reader_byte(&r);
    uint8_t is_short = reader_byte(&r);

    *out = (struct page_state){ .choice.index_id = reader_u32(&r) };
    out->choice.constraint = reader_u32(&r);
    out->fingerprint = reader_u64(&r);
    out->skip = reader_u64(&r);
    out->remaining = reader_u64(&r);
    out->position = read_block(&r);
    out->pages = read_block(&r);
    out->sums = read_block(&r);
    out->row = read_block(&r);
    if (!reader_is_done(&r) || version != STATE_VERSION || mode < MODE_STREAM ||
        mode > MODE_GROUP || access > ACCESS_SLOTS || is_short > 1 ||
        bytes_in.len > LIMIT_QUERY_STATE_BYTES)
        return refused();
    out->mode = (enum page_mode)mode;
    out->is_position_short = is_short;
    out->choice.access = (enum query_access)access;
    if (out->sums.len && document_check(arena, out->sums).code != OK)
        return refused();
    return STATUS_OK;
}
