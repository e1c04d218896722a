/* Places in an order, written in few bytes: they tell everybody who was there when they were written. */
#include "query/place.h"

#include "tests/check.h"

enum { KEYS = 60, LONGEST = 3000, ROOM = 700 };

static int order_of(bytes a, bytes b)
{
    int order = bytes_compare(a, b);

    return (order > 0) - (order < 0);
}

static struct place_key key_of(bytes text)
{
    return (struct place_key){ .first = text };
}

/* Many that begin alike, and no one is the front of another. */
static bytes random_key(struct arena *arena, struct random *random, size_t number)
{
    size_t len = 5 + random_below(random, LONGEST - 10);
    void *room;

    CHECK_OK(arena_take(arena, len, &room));
    uint8_t *data = room;
    memset(data, 'a', len);
    for (int i = 0; i < 3; i++)
        data[random_below(random, len)] = (uint8_t)('a' + random_below(random, 3));
    data[len - 2] = (uint8_t)(2 + number);
    data[len - 1] = 1;
    return bytes_of(data, len);
}

static bytes write_place(struct arena *arena, const bytes *keys, size_t at)
{
    struct place_key key = key_of(keys[at]);
    struct place_maker maker;
    bytes written;

    CHECK_OK(place_begin(arena, &key, ROOM, &maker));
    for (size_t i = 0; i < KEYS; i++) {
        struct place_key other = key_of(keys[i]);
        place_note(&maker, &other);
    }
    CHECK_OK(place_finish(&maker, arena, ROOM, &written));
    return written;
}

TEST(query_place, place_tells_all_that_were_there_when_it_was_written)
{
    EACH_SEED(seed, 4) {
        struct random random = random_seeded(seed);
        struct arena *arena = arena_open(16 << 20);
        bytes keys[KEYS];
        for (size_t i = 0; i < KEYS; i++)
            keys[i] = random_key(arena, &random, i);
        for (size_t at = 0; at < KEYS; at++) {
            bytes written = write_place(arena, keys, at);
            struct place place;
            CHECK_OK(place_read(written, &place));
            CHECK_THAT(written.len <= ROOM, "%zu bytes", written.len);
            for (size_t i = 0; i < KEYS; i++) {
                struct place_key key = key_of(keys[i]);
                int order = place_compare(&place, &key, NULL);
                CHECK_EQ((order > 0) - (order < 0), order_of(keys[i], keys[at]), "%zu at %zu", i,
                         at);
                CHECK_EQ(place_is(&place, keys[i]), i == at, "%zu is %zu", i, at);
            }
        }
        arena_close(arena);
    }
}

TEST(query_place, short_keys_are_written_as_they_are)
{
    struct arena *arena = arena_open(1 << 20);
    struct buffer out = buffer_in(arena);
    struct place_key key = { BYTES_LITERAL("ab"), BYTES_LITERAL("\x01\x02"), true };
    const struct {
        struct place_key key;
        int order;
    } rows[] = {
        {{ BYTES_LITERAL("ab"), BYTES_LITERAL("\x01\x02"), true },  0 },
        { { BYTES_LITERAL("ab"), BYTES_LITERAL("\x01\x01"), true }, 1 },
        { { BYTES_LITERAL("ab"), BYTES_LITERAL("\x02\x01"), true }, -1},
        { { BYTES_LITERAL("aa"), BYTES_LITERAL("\x01\x01"), true }, -1},
        { { BYTES_LITERAL("b"), BYTES_NONE, false },                1 },
        { { BYTES_LITERAL("a"), BYTES_NONE, false },                -1},
    };
    struct place place;
    bytes written;

    place_write_whole(&out, &key);
    CHECK_OK(buffer_finish(&out, &written));
    CHECK_OK(place_read(written, &place));
    EACH_ROW(rows, r)
        CHECK_EQ(place_compare(&place, &r->key, NULL), r->order, "row %td", r - rows);
    arena_close(arena);
}

TEST(query_place, too_many_partings_are_an_error_that_says_so)
{
    struct arena *arena = arena_open(16 << 20);
    struct buffer text = buffer_in(arena);
    struct place_maker maker;
    bytes key, written;

    for (uint32_t i = 0; i < LONGEST; i++)
        buffer_append_byte(&text, (uint8_t)('a' + i * i % 23));
    CHECK_OK(buffer_finish(&text, &key));
    CHECK_OK(place_begin(arena, &(struct place_key){ .first = key }, ROOM, &maker));
    for (size_t len = 1; len < key.len; len++)
        place_note(&maker, &(struct place_key){ .first = bytes_of(key.data, len) });
    CHECK_CODE(place_finish(&maker, arena, ROOM, &written), TOO_LARGE);
    arena_close(arena);
}

TEST(query_place, nonsense_is_refused_or_stands_anywhere)
{
    const struct {
        bytes written;
        status_code code;
    } rows[] = {
        {BYTES_NONE,                                                                   INVALID},
        { BYTES_LITERAL("\x02"),                                                       INVALID},
        { BYTES_LITERAL("\x01short"),                                                  INVALID},
        { BYTES_LITERAL("\x01"
                        "0123456789abcdef\xFF\xFF"),
         INVALID                                                                              },
        { BYTES_LITERAL("\x01"
                        "0123456789abcdef\x00\x01x\x80\x80\x80\x80\x80\x80"),
         OK                                                                                   },
    };
    struct place place;

    EACH_ROW(rows, r) {
        CHECK_CODE(place_read(r->written, &place), r->code);
        if (r->code == OK)
            place_compare(&place, &(struct place_key){ .first = BYTES_LITERAL("xyz") }, NULL);
    }
}
