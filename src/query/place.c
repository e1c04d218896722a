/* Place: where a string stands among others, in few bytes.
 *
 * Positions in an order can be as long as the keys and texts that make them. What a later page has to know of such a
 * string is only on which side of it every other string lies that was there when the page ended. Two strings are
 * compared by the first byte in which they differ; so it is enough to keep the front, and, for each depth behind it
 * at which some other string parts from this one, the byte that stands there. A string that agrees in the front
 * and in all bytes that are kept up to a depth has not parted from it before: that would be a depth that is kept.
 *
 * Strings that came later may part from it elsewhere. They are found out by a checksum of what lies between two
 * depths and are taken for the place itself, that is, as neither behind it nor in front of it; so nobody goes back
 * behind the place on account of them.
 *
 *   whole   00 string
 *   short   01 digests(16) length of front(2) front { step [checksum(2)] [byte] }
 *   step    twice the way from the depth before, and 1 if the byte is the same as there and left out; seven bits to
 *           a byte, the least first, the eighth set where more follow
 *   checksum of what lies between the depth before (or the front) and this one; not there if nothing does
 *
 * Pure apart from the arena. Start reading at place_compare(). */
#include "query/place.h"

enum { WHOLE = 0, SHORT = 1 };

static size_t key_len(const struct place_key *key)
{
    return key->first.len + key->second.len;
}

static uint8_t byte_at(const struct place_key *key, size_t at)
{
    if (at < key->first.len)
        return key->first.data[at];
    uint8_t byte = key->second.data[at - key->first.len];
    return key->is_second_reversed ? (uint8_t)~byte : byte;
}

static size_t common_len(bytes one, const struct place_key *other)
{
    size_t at = 0, len = one.len < key_len(other) ? one.len : key_len(other);

    while (at < len && one.data[at] == byte_at(other, at))
        at++;
    return at;
}

/* ---- making ----------------------------------------------------------------------------------------- */

struct place place_of(bytes key)
{
    return (struct place){ .front = key, .is_whole = true };
}

void place_write_whole(struct buffer *out, const struct place_key *key)
{
    buffer_append_byte(out, WHOLE);
    buffer_append(out, key->first);
    for (size_t i = key->first.len; i < key_len(key); i++)
        buffer_append_byte(out, byte_at(key, i));
}

status place_begin(struct arena *arena, const struct place_key *key, size_t room,
                   struct place_maker *out)
{
    struct buffer whole = buffer_in(arena);

    *out = (struct place_maker){ .front = room / 3 };
    place_write_whole(&whole, key);
    TRY(buffer_finish(&whole, &out->key));
    out->key = bytes_from(out->key, 1);
    if (out->front > out->key.len)
        out->front = out->key.len;
    return ARENA_NEW(arena, out->key.len + 1, &out->noted);
}

size_t place_note(struct place_maker *m, const struct place_key *other)
{
    size_t common = common_len(m->key, other);

    if (common < m->key.len && common >= m->front)
        m->noted[common] = 1;
    return common;
}

static void append_step(struct buffer *out, size_t step)
{
    for (; step >= 0x80; step >>= 7)
        buffer_append_byte(out, (uint8_t)(0x80 | (step & 0x7F)));
    buffer_append_byte(out, (uint8_t)step);
}

static uint16_t checksum(const struct place_key *key, size_t start, size_t end)
{
    uint32_t sum = 0;

    for (; start < end; start++)
        sum = sum * 31 + byte_at(key, start) + 1;
    return (uint16_t)(sum * UINT32_C(0x9E3779B1) >> 16);
}

static void append_branches(const struct place_maker *m, size_t room, struct buffer *out)
{
    const struct place_key key = { .first = m->key };
    size_t behind = m->front, from = m->front;
    int before = -1;

    for (size_t depth = m->front; depth < m->key.len && out->len <= room; depth++) {
        uint8_t byte = m->key.data[depth];
        if (!m->noted[depth])
            continue;
        append_step(out, (depth - from) * 2 + (byte == before));
        if (depth > behind)
            buffer_append_u16(out, checksum(&key, behind, depth));
        if (byte != before)
            buffer_append_byte(out, byte);
        before = byte;
        from = depth;
        behind = depth + 1;
    }
}

status place_finish(const struct place_maker *m, struct arena *arena, size_t room, bytes *out)
{
    struct buffer built = buffer_in(arena);
    uint64_t digests[2];

    bytes_digest(m->key, digests);
    buffer_append_byte(&built, SHORT);
    buffer_append_u64(&built, digests[0]);
    buffer_append_u64(&built, digests[1]);
    buffer_append_u16(&built, (uint16_t)m->front);
    buffer_append(&built, bytes_of(m->key.data, m->front));
    append_branches(m, room, &built);
    TRY(buffer_finish(&built, out));
    if (out->len > room)
        return status_fail(arena, TOO_LARGE,
                           "the rows begin alike for %zu bytes and then part in too many places "
                           "to say within %zu bytes where the page ends: ask for larger pages, or "
                           "for an order by something that differs earlier",
                           m->front, room);
    return STATUS_OK;
}

/* ---- reading ---------------------------------------------------------------------------------------- */

struct branch {
    size_t behind; /* the depth behind the branch before */
    size_t depth;
    int byte;
    uint16_t checksum; /* of what lies between */
};

/* False at the end of the branches. */
static bool next_branch(struct reader *reader, struct branch *branch)
{
    bool is_first = branch->byte < 0;
    unsigned shift = 0;
    size_t step = 0;
    uint8_t byte;

    if (reader->rest.len == 0)
        return false;
    do {
        byte = reader_byte(reader);
        step |= (size_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80 && shift < 28);
    branch->behind = branch->depth + !is_first;
    branch->depth += step / 2;
    branch->checksum = branch->depth > branch->behind ? reader_u16(reader) : 0;
    if (step % 2 == 0)
        branch->byte = reader_byte(reader);
    return !reader->is_failed;
}

/* 0: it is the same so far, or came later; then `is_known_out` is false. */
static int compare_branch(const struct branch *branch, const struct place_key *key,
                          bool *is_known_out)
{
    bool has_gap = branch->depth > branch->behind;

    *is_known_out = branch->depth < key_len(key) &&
                    (!has_gap || checksum(key, branch->behind, branch->depth) == branch->checksum);
    if (!*is_known_out)
        return 0;
    int byte = byte_at(key, branch->depth);
    return byte < branch->byte ? -1 : byte > branch->byte;
}

status place_read(bytes written, struct place *out)
{
    struct reader reader = reader_of(written);
    uint8_t form = reader_byte(&reader);

    *out = (struct place){ .is_whole = form == WHOLE };
    if (form == WHOLE) {
        out->front = reader.rest;
    } else {
        out->digests[0] = reader_u64(&reader);
        out->digests[1] = reader_u64(&reader);
        out->front = reader_bytes(&reader, reader_u16(&reader));
        out->branches = reader.rest;
    }
    if (reader.is_failed || form > SHORT)
        return status_of(INVALID, "the place is not one in an order");
    return STATUS_OK;
}

int place_compare(const struct place *place, const struct place_key *key,
                  struct place_parting *parting)
{
    struct place_parting at = { .depth = common_len(place->front, key), .byte = -1 };
    struct branch branch = { .depth = place->front.len, .byte = -1 };
    struct reader reader = reader_of(place->branches);
    bool is_known = true;
    int order = 0;

    if (at.depth < place->front.len) {
        at.byte = place->front.data[at.depth];
        order = at.depth == key_len(key) || byte_at(key, at.depth) < at.byte ? -1 : 1;
    } else if (place->is_whole) {
        order = key_len(key) > at.depth;
    }
    while (order == 0 && is_known && !place->is_whole && next_branch(&reader, &branch)) {
        order = compare_branch(&branch, key, &is_known);
        at = (struct place_parting){ branch.depth, branch.byte };
    }
    if (parting)
        *parting = at;
    return order;
}

bool place_is(const struct place *place, bytes key)
{
    uint64_t digests[2];

    if (place->is_whole)
        return bytes_equal(place->front, key);
    bytes_digest(key, digests);
    return digests[0] == place->digests[0] && digests[1] == place->digests[1];
}
