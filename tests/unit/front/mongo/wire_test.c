/* Frames of the wire protocol, byte by byte. */
#include "front/mongo/wire.h"
#include "tests/check.h"
#include "value/value.h"

enum { MESSAGE_BYTES_MAX = 4096 };

struct frame {
    uint8_t data[MESSAGE_BYTES_MAX];
    size_t len;
};

static void put(struct frame *frame, const void *data, size_t len)
{
    CHECK(frame->len + len <= sizeof(frame->data));
    memcpy(frame->data + frame->len, data, len);
    frame->len += len;
}

static void put_i32(struct frame *frame, int64_t number)
{
    uint8_t raw[4];

    for (int i = 0; i < 4; i++)
        raw[i] = (uint8_t)(number >> (8 * i));
    put(frame, raw, 4);
}

static void begin(struct frame *frame, int32_t kind)
{
    frame->len = 0;
    put_i32(frame, 0);
    put_i32(frame, 77);
    put_i32(frame, 0);
    put_i32(frame, kind);
}

static bytes end(struct frame *frame)
{
    for (int i = 0; i < 4; i++)
        frame->data[i] = (uint8_t)(frame->len >> (8 * i));
    return bytes_of(frame->data, frame->len);
}

/* {a: 1} */
static const uint8_t small[] = { 12, 0, 0, 0, 0x10, 'a', 0, 1, 0, 0, 0, 0 };

static void put_body(struct frame *frame)
{
    put(frame, "\0", 1);
    put(frame, small, sizeof(small));
}

static void put_sequence(struct frame *frame, const char *name, int documents)
{
    put(frame, "\1", 1);
    put_i32(frame, 4 + (int64_t)strlen(name) + 1 + documents * (int64_t)sizeof(small));
    put(frame, name, strlen(name) + 1);
    for (int i = 0; i < documents; i++)
        put(frame, small, sizeof(small));
}

static status read_frame(bytes whole, struct wire_message *out)
{
    struct arena *arena = arena_open(1024 * 1024);
    status s = wire_read(arena, whole, out);

    arena_close(arena);
    return status_of(s.code, "");
}

TEST(mongo_wire, a_message_has_a_body_and_sequences_in_any_order)
{
    struct wire_message message;
    struct frame frame;
    bytes rest, document;
    int count = 0;

    begin(&frame, WIRE_MSG);
    put_i32(&frame, WIRE_EXHAUST_ALLOWED);
    put_sequence(&frame, "documents", 3);
    put_body(&frame);
    put_sequence(&frame, "other", 0);
    CHECK_OK(read_frame(end(&frame), &message));
    CHECK_EQ(message.request_id, 77, "");
    CHECK_EQ(message.kind, WIRE_MSG, "");
    CHECK_EQ(message.flags, WIRE_EXHAUST_ALLOWED, "");
    CHECK_BYTES(message.body, bytes_of(small, sizeof(small)), "");
    CHECK_EQ(message.sequence_count, 2, "");
    CHECK_BYTES(message.sequences[0].name, BYTES_LITERAL("documents"), "");
    for (rest = message.sequences[0].documents; wire_next_document(&rest, &document); count++)
        CHECK_BYTES(document, bytes_of(small, sizeof(small)), "");
    CHECK_EQ(count, 3, "");
}

TEST(mongo_wire, what_is_no_message_is_refused)
{
    struct wire_message message;
    struct frame frame;

    for (int row = 0; row < 10; row++) {
        begin(&frame, row == 8 ? 2010 : WIRE_MSG);
        if (row != 0)
            put_i32(&frame, row == 1 ? 4 : row == 2 ? 1 : 0);
        if (row != 3)
            put_body(&frame);
        if (row == 4)
            put_body(&frame);
        if (row == 5)
            put(&frame, "\2", 1);
        if (row == 6) {
            put_sequence(&frame, "a", 1);
            put_sequence(&frame, "a", 1);
        }
        if (row == 7) {
            put_sequence(&frame, "a", 1);
            frame.len--;
        }
        if (row == 9)
            put_sequence(&frame, "docu\355ents", 1);
        CHECK_THAT(read_frame(end(&frame), &message).code != OK, "row %d", row);
    }
}

TEST(mongo_wire, a_checksum_is_verified)
{
    /* Of the frame below, from an independent implementation of CRC-32C. */
    struct wire_message message;
    struct frame frame;

    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        begin(&frame, WIRE_MSG);
        put_i32(&frame, WIRE_CHECKSUM_PRESENT);
        put_body(&frame);
        put_i32(&frame, 0);
        end(&frame);
        frame.len -= 4;
        put_i32(&frame, (int64_t)0x346A28AE + is_wrong);
        status s = read_frame(end(&frame), &message);
        CHECK_EQ(s.code, is_wrong ? INVALID : OK, "");
    }
}

TEST(mongo_wire, an_old_query_on_a_command_namespace_is_a_command)
{
    struct wire_message message;
    struct frame frame;

    for (int is_find = 0; is_find < 2; is_find++) {
        begin(&frame, WIRE_QUERY);
        put_i32(&frame, 4);
        put(&frame, is_find ? "db.c\0" : "admin.$cmd", is_find ? 5 : 11);
        put_i32(&frame, 0);
        put_i32(&frame, -1);
        put(&frame, small, sizeof(small));
        status s = read_frame(end(&frame), &message);
        CHECK_EQ(s.code, is_find ? UNSUPPORTED : OK, "");
        if (!is_find)
            CHECK_BYTES(message.database, BYTES_LITERAL("admin"), "");
    }
}

TEST(mongo_wire, every_compressor_gives_back_what_was_sent)
{
    struct arena *arena = arena_open(4 * 1024 * 1024);
    struct wire_message message;
    bytes head, body;

    for (unsigned i = 0; i < COMPRESSOR_COUNT; i++) {
        struct wire_envelope envelope = {
            .kind = WIRE_MSG, .request_id = 5, .response_to = 6, .compressor = (enum compressor)i
        };
        struct buffer whole = buffer_in(arena);
        CHECK_OK(wire_write(arena, &envelope, bytes_of(small, sizeof(small)), &head, &body));
        buffer_append(&whole, head);
        buffer_append(&whole, body);
        CHECK_OK(wire_read(arena, bytes_of(whole.data, whole.len), &message));
        CHECK_EQ(message.compressor, i, "");
        CHECK_EQ(message.request_id, 5, "");
        CHECK_BYTES(message.body, bytes_of(small, sizeof(small)),
                    compressor_name((enum compressor)i));
        whole.data[whole.len - 1] ^= 0x55; /* damaged: never more than an error */
        (void)!wire_read(arena, bytes_of(whole.data, whole.len), &message).code;
        whole.data[20]++; /* the announced length is wrong */
        CHECK(wire_read(arena, bytes_of(whole.data, whole.len), &message).code != OK);
    }
    arena_close(arena);
}

TEST(mongo_wire, the_length_of_a_message_is_bounded)
{
    struct arena *arena = arena_open(64 * 1024);
    struct wire_header header;
    const struct {
        int64_t len;
        status_code want;
    } rows[] = {
        {15,                            TOO_LARGE},
        { 16,                           OK       },
        { LIMIT_WIRE_MESSAGE_BYTES,     OK       },
        { LIMIT_WIRE_MESSAGE_BYTES + 1, TOO_LARGE},
        { -1,                           TOO_LARGE},
    };

    EACH_ROW(rows, r) {
        struct frame frame = { .len = 0 };
        put_i32(&frame, r->len);
        put(&frame, "\0\0\0\0\0\0\0\0\0\0\0\0", 12);
        CHECK_EQ(wire_read_header(arena, bytes_of(frame.data, frame.len), &header).code, r->want,
                 "%lld", (long long)r->len);
    }
    arena_close(arena);
}
