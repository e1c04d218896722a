/* Row: the stored layouts of documents, locators, index rows, slots and counters.
 *
 * META   F                      "mayfly" version(4)
 *        S                      last seq(8) clock mark(8) flags(1) next id(4), of databases and collections
 *        d name                 a database: id(4) options
 *        c id(5)                collection, see row_catalog.c
 *        x id(5)                1 byte; a dropped collection whose rows are still to be erased
 *        n lane(1) second(10)   documents(8) bytes(8): counters of one second of a lane
 *        t lane(1)              documents(8) bytes(8): counters of a lane
 *        h lane(1)              order(8) seq(8): everything up to both was cut off
 *        b index(5)             cursor of an index build: 1 byte 'k', then the last document key; of a
 *                               lazy index that is ready: the last backlog row, behind its index
 *        m index(5)             1 byte; some document has had several entries in an index over fields
 *        w stretch(5) key part(5)   a note, see note.c
 * ROWS   L key                  stamp birth(8)
 *        I index(5) values key  stamp length of values(2); values of an index by arrival: birth(9)
 *        Q index(5) seq(9) key  1 byte; a write that a lazy index has not been told of
 * BODIES lane(1) order(10) seq(9)   length of stamp(2) stamp birth(8) length of key(4) key document
 * stamp  flags(1) lane(1) seq(8) written at s(8) length of document(4) [own ttl(4)] dates(9 each)
 *        flags: bit 0 has an own ttl, bits 1-7 number of dates
 *
 * Numbers in values are most significant byte first. Numbers in keys use seven bits of each byte and
 * set the eighth; signed ones are shifted by 2^63 first. Pure; callable from every thread. */
#include "engine/row.h"

enum { ID_WIDTH = 5, ORDER_WIDTH = 10, SEQ_WIDTH = 9 };

partition_id row_partition(uint32_t collection_id)
{
    return (partition_id)collection_id << 16;
}

bool row_collection_of(partition_id partition, uint32_t *out)
{
    *out = (uint32_t)(partition >> 16);
    return partition != ROW_CATALOG_PARTITION && partition >> 48 == 0;
}

/* ---- numbers in keys ------------------------------------------------------------------------------ */

static void pack(uint8_t *out, uint64_t number, size_t width)
{
    for (size_t i = width; i-- > 0; number >>= 7)
        out[i] = (uint8_t)(0x80 | (number & 0x7F));
}

static uint64_t unpack(const uint8_t *from, size_t width)
{
    uint64_t number = 0;

    for (size_t i = 0; i < width; i++)
        number = number << 7 | (from[i] & 0x7F);
    return number;
}

static void append_packed(struct buffer *out, uint64_t number, size_t width)
{
    uint8_t packed[ORDER_WIDTH];

    pack(packed, number, width);
    buffer_append(out, bytes_of(packed, width));
}

static uint64_t shift_signed(int64_t number)
{
    return (uint64_t)number ^ (UINT64_C(1) << 63);
}

static int64_t unshift_signed(uint64_t number)
{
    return (int64_t)(number ^ (UINT64_C(1) << 63));
}

/* ---- META ----------------------------------------------------------------------------------------- */

void row_key_format(struct buffer *out)
{
    buffer_append_byte(out, ROW_TAG_FORMAT);
}

void row_key_state(struct buffer *out)
{
    buffer_append_byte(out, ROW_TAG_STATE);
}

void row_key_database(struct buffer *out, bytes name)
{
    buffer_append_byte(out, ROW_TAG_DATABASE);
    key_append_bytes(out, name);
}

status row_database_name(struct arena *arena, bytes key, bytes *out)
{
    bytes rest = bytes_from(key, 1);

    return key_take_bytes(arena, &rest, out);
}

static void append_tagged_id(struct buffer *out, uint8_t tag, uint32_t id)
{
    buffer_append_byte(out, tag);
    append_packed(out, id, ID_WIDTH);
}

void row_key_collection(struct buffer *out, uint32_t id)
{
    append_tagged_id(out, ROW_TAG_COLLECTION, id);
}

void row_key_dropped(struct buffer *out, uint32_t id)
{
    append_tagged_id(out, ROW_TAG_DROPPED, id);
}

bool row_id_of(bytes key, uint32_t *out)
{
    if (key.len != 1 + ID_WIDTH)
        return false;
    *out = (uint32_t)unpack(key.data + 1, ID_WIDTH);
    return true;
}

static void append_tagged_lane(struct buffer *out, uint8_t tag, unsigned lane)
{
    ASSERT(lane < LANE_COUNT);
    buffer_append_byte(out, tag);
    append_packed(out, lane, 1);
}

void row_key_slice(struct buffer *out, unsigned lane, int64_t second)
{
    append_tagged_lane(out, ROW_TAG_SLICE, lane);
    append_packed(out, shift_signed(second), ORDER_WIDTH);
}

bool row_slice_of(bytes key, unsigned *lane_out, int64_t *second_out)
{
    if (key.len != 2 + ORDER_WIDTH || key.data[0] != ROW_TAG_SLICE)
        return false;
    *lane_out = key.data[1] & 0x7F;
    *second_out = unshift_signed(unpack(key.data + 2, ORDER_WIDTH));
    return *lane_out < LANE_COUNT;
}

time_ms row_second_start(int64_t second)
{
    return second < INT64_MIN / 1000 ? INT64_MIN : second * 1000;
}

time_ms row_second_end(int64_t second)
{
    return second >= INT64_MAX / 1000 ? INT64_MAX : (second + 1) * 1000 - 1;
}

void row_key_total(struct buffer *out, unsigned lane)
{
    append_tagged_lane(out, ROW_TAG_TOTAL, lane);
}

void row_key_cut(struct buffer *out, unsigned lane)
{
    append_tagged_lane(out, ROW_TAG_CUT, lane);
}

void row_key_build(struct buffer *out, uint32_t index_id)
{
    append_tagged_id(out, ROW_TAG_BUILD, index_id);
}

void row_key_many(uint8_t out[ROW_MANY_BYTES], uint32_t index_id)
{
    out[0] = ROW_TAG_MANY;
    pack(out + 1, index_id, ID_WIDTH);
}

void row_key_notes(struct buffer *out, uint32_t stretch)
{
    append_tagged_id(out, ROW_TAG_NOTE, stretch);
}

void row_key_notes_of(struct buffer *out, uint32_t stretch, bytes key)
{
    row_key_notes(out, stretch);
    key_append_bytes(out, key);
}

void row_key_note(struct buffer *out, uint32_t stretch, bytes key, uint32_t part)
{
    row_key_notes_of(out, stretch, key);
    append_packed(out, part, ID_WIDTH);
}

bool row_note_stretch_of(bytes key, uint32_t *out)
{
    if (key.len < 1 + 2 * ID_WIDTH || key.data[0] != ROW_TAG_NOTE)
        return false;
    *out = (uint32_t)unpack(key.data + 1, ID_WIDTH);
    return true;
}

bool row_note_part_of(bytes key, uint32_t *out)
{
    if (key.len < 1 + 2 * ID_WIDTH || key.data[0] != ROW_TAG_NOTE)
        return false;
    *out = (uint32_t)unpack(key.data + key.len - ID_WIDTH, ID_WIDTH);
    return true;
}

status row_note_key_of(struct arena *arena, bytes key, bytes *out)
{
    bytes rest = bytes_from(key, 1 + ID_WIDTH);

    return key_take_bytes(arena, &rest, out);
}

/* ---- ROWS ----------------------------------------------------------------------------------------- */

void row_key_locator(struct buffer *out, struct document_key key)
{
    buffer_append_byte(out, ROW_TAG_LOCATOR);
    buffer_append(out, key.partition);
    buffer_append(out, key.id);
}

void row_key_index(struct buffer *out, uint32_t index_id)
{
    append_tagged_id(out, ROW_TAG_INDEX, index_id);
}

bool row_index_id_of(bytes key, uint32_t *id_out, bytes *rest_out)
{
    if (key.len < 1 + ID_WIDTH || key.data[0] != ROW_TAG_INDEX)
        return false;
    *id_out = (uint32_t)unpack(key.data + 1, ID_WIDTH);
    *rest_out = bytes_from(key, 1 + ID_WIDTH);
    return true;
}

void row_key_backlog(struct buffer *out, uint32_t index_id)
{
    append_tagged_id(out, ROW_TAG_BACKLOG, index_id);
}

void row_key_backlog_of(struct buffer *out, uint32_t index_id, bytes document_key)
{
    row_key_backlog(out, index_id);
    append_packed(out, 0, SEQ_WIDTH);
    buffer_append(out, document_key);
}

void row_write_arrival(uint8_t out[ROW_ARRIVAL_BYTES], uint64_t birth_seq)
{
    pack(out, birth_seq, ROW_ARRIVAL_BYTES);
}

uint64_t row_read_arrival(const uint8_t values[ROW_ARRIVAL_BYTES])
{
    return unpack(values, ROW_ARRIVAL_BYTES);
}

void row_set_backlog_seq(uint8_t *key, uint64_t seq)
{
    pack(key + 1 + ID_WIDTH, seq, SEQ_WIDTH);
}

bool row_read_backlog(bytes key, struct row_backlog *out)
{
    if (key.len <= 1 + ID_WIDTH + SEQ_WIDTH || key.data[0] != ROW_TAG_BACKLOG)
        return false;
    out->index_id = (uint32_t)unpack(key.data + 1, ID_WIDTH);
    out->seq = unpack(key.data + 1 + ID_WIDTH, SEQ_WIDTH);
    out->key = bytes_from(key, 1 + ID_WIDTH + SEQ_WIDTH);
    return true;
}

bytes row_backlog_position(bytes key)
{
    return bytes_from(key, 1 + ID_WIDTH);
}

/* ---- BODIES --------------------------------------------------------------------------------------- */

void row_key_slot(uint8_t out[ROW_SLOT_BYTES], unsigned lane, time_ms order, uint64_t seq)
{
    ASSERT(lane < LANE_COUNT);
    pack(out, lane, 1);
    pack(out + 1, shift_signed(order), ORDER_WIDTH);
    pack(out + 1 + ORDER_WIDTH, seq, SEQ_WIDTH);
}

bool row_slot_of(bytes key, unsigned *lane_out, time_ms *order_out, uint64_t *seq_out)
{
    if (key.len != ROW_SLOT_BYTES)
        return false;
    *lane_out = key.data[0] & 0x7F;
    *order_out = unshift_signed(unpack(key.data + 1, ORDER_WIDTH));
    *seq_out = unpack(key.data + 1 + ORDER_WIDTH, SEQ_WIDTH);
    return *lane_out < LANE_COUNT;
}

void row_key_lane(struct buffer *out, unsigned lane)
{
    append_packed(out, lane, 1);
}

void row_key_lane_from(struct buffer *out, unsigned lane, time_ms order)
{
    append_packed(out, lane, 1);
    append_packed(out, shift_signed(order), ORDER_WIDTH);
}

/* ---- values --------------------------------------------------------------------------------------- */

void row_put_number(uint8_t *out, uint64_t number, size_t width)
{
    for (size_t i = width; i-- > 0; number >>= 8)
        out[i] = (uint8_t)number;
}

size_t row_stamp_len(const struct stamp *stamp)
{
    return (size_t)ROW_STAMP_BYTES_MIN + (stamp->own_ttl == TTL_ABSENT ? 0U : 4U) +
           stamp->dates.len;
}

void row_write_stamp(uint8_t *out, const struct stamp *stamp)
{
    bool has_ttl = stamp->own_ttl != TTL_ABSENT;
    size_t dates = stamp->dates.len / STAMP_DATE_BYTES;

    ASSERT(dates <= LIMIT_DATE_RULES);
    out[0] = (uint8_t)(dates << 1 | has_ttl);
    out[1] = (uint8_t)stamp->lane;
    row_put_number(out + 2, stamp->seq, 8);
    row_put_number(out + 10, (uint64_t)stamp->written_at_s, 8);
    row_put_number(out + 18, stamp->body_len, 4);
    out += ROW_STAMP_BYTES_MIN;
    if (has_ttl) {
        row_put_number(out, (uint32_t)stamp->own_ttl, 4);
        out += 4;
    }
    if (stamp->dates.len)
        memcpy(out, stamp->dates.data, stamp->dates.len);
}

bool row_read_stamp(bytes value, struct stamp *out, bytes *rest_out)
{
    /* Every row that is met goes through here, so the part that all have is read at fixed places. */
    *rest_out = BYTES_NONE;
    if (value.len < ROW_STAMP_BYTES_MIN)
        return false;
    uint8_t flags = value.data[0];

    out->lane = value.data[1];
    out->seq = bytes_read_u64(value.data + 2);
    out->written_at_s = (int64_t)bytes_read_u64(value.data + 10);
    out->body_len = bytes_read_u32(value.data + 18);
    out->own_ttl = TTL_ABSENT;
    out->dates = BYTES_NONE;
    *rest_out = bytes_from(value, ROW_STAMP_BYTES_MIN);
    if (flags) {
        struct reader reader = reader_of(*rest_out);
        if (flags & 1)
            out->own_ttl = (int32_t)reader_u32(&reader);
        out->dates = reader_bytes(&reader, (size_t)(flags >> 1) * STAMP_DATE_BYTES);
        *rest_out = reader.rest;
        if (reader.is_failed)
            return false;
    }
    if (out->lane >= LANE_COUNT || flags >> 1 > LIMIT_DATE_RULES)
        return false;
    if ((flags & 1) && out->own_ttl != TTL_NEVER && out->own_ttl < 1)
        return false;
    if (out->written_at_s < 0 || out->written_at_s > INT64_MAX / 2000)
        return false;
    time_ms date;
    return out->lane < LANE_DATES || stamp_date(out, (uint8_t)(out->lane - LANE_DATES), &date);
}

bool row_read_locator(bytes value, struct stamp *out, uint64_t *birth_out)
{
    bytes rest;

    if (!row_read_stamp(value, out, &rest))
        return false;
    struct reader reader = reader_of(rest);
    *birth_out = reader_u64(&reader);
    return reader_is_done(&reader);
}

bool row_read_index(bytes value, struct stamp *out, size_t *values_len_out)
{
    bytes rest;

    if (!row_read_stamp(value, out, &rest))
        return false;
    struct reader reader = reader_of(rest);
    *values_len_out = reader_u16(&reader);
    return reader_is_done(&reader);
}

bool row_read_any_stamp(bytes key, bytes value, struct stamp *out)
{
    uint64_t birth;
    size_t values_len;

    if (key.len > 0 && key.data[0] == ROW_TAG_LOCATOR)
        return row_read_locator(value, out, &birth);
    return key.len > 0 && key.data[0] == ROW_TAG_INDEX && row_read_index(value, out, &values_len);
}

size_t row_body_head_len(const struct stamp *stamp, size_t key_len)
{
    return 2 + row_stamp_len(stamp) + 8 + 4 + key_len;
}

void row_write_body_head(uint8_t *out, const struct stamp *stamp, uint64_t birth_seq, bytes key)
{
    size_t stamp_len = row_stamp_len(stamp);

    row_put_number(out, stamp_len, 2);
    row_write_stamp(out + 2, stamp);
    row_put_number(out + 2 + stamp_len, birth_seq, 8);
    row_put_number(out + 2 + stamp_len + 8, key.len, 4);
    memcpy(out + 2 + stamp_len + 12, key.data, key.len);
}

/* Read at places that are known, not by a reader: a scan comes here with every document. */
bool row_read_body(bytes value, struct row_body *out)
{
    enum { AFTER_STAMP = 8 + 4 };
    bytes rest;

    if (value.len < 2)
        return false;
    const size_t stamp_len = (size_t)value.data[0] << 8 | value.data[1];
    if (value.len - 2 < stamp_len + AFTER_STAMP)
        return false;
    const uint8_t *at = value.data + 2 + stamp_len;
    const size_t key_len = bytes_read_u32(at + 8);
    const size_t behind = value.len - 2 - stamp_len - AFTER_STAMP;
    if (behind < key_len)
        return false;
    out->birth_seq = bytes_read_u64(at);
    out->key = bytes_of(at + AFTER_STAMP, key_len);
    out->document = bytes_of(at + AFTER_STAMP + key_len, behind - key_len);
    return row_read_stamp(bytes_of(value.data + 2, stamp_len), &out->stamp, &rest) &&
           rest.len == 0 && out->document.len == out->stamp.body_len;
}

void row_write_database(struct buffer *out, uint32_t id, bytes options)
{
    buffer_append_u32(out, id);
    buffer_append(out, options);
}

bool row_read_database(bytes value, uint32_t *id_out, bytes *options_out)
{
    struct reader reader = reader_of(value);

    *id_out = reader_u32(&reader);
    *options_out = reader.rest;
    return !reader.is_failed && *id_out > 0;
}

enum { STATE_LEAP_PENDING = 1, STATE_DATE_RULES_OFF = 2 };

void row_write_state(struct buffer *out, const struct row_state *state)
{
    buffer_append_u64(out, state->last_seq);
    buffer_append_u64(out, (uint64_t)state->clock_mark);
    buffer_append_byte(out, (uint8_t)((state->is_leap_pending ? STATE_LEAP_PENDING : 0) |
                                      (state->are_date_rules_off ? STATE_DATE_RULES_OFF : 0)));
    buffer_append_u32(out, state->next_id);
}

bool row_read_state(bytes value, struct row_state *out)
{
    struct reader reader = reader_of(value);

    out->last_seq = reader_u64(&reader);
    out->clock_mark = (time_ms)reader_u64(&reader);
    uint8_t flags = reader_byte(&reader);
    out->is_leap_pending = flags & STATE_LEAP_PENDING;
    out->are_date_rules_off = flags & STATE_DATE_RULES_OFF;
    out->next_id = reader_u32(&reader);
    return reader_is_done(&reader);
}
