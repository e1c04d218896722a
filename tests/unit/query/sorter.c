/* The sorter: the first rows of an order, in bounded memory whatever comes. */
#include "query/sorter.h"

#include "tests/check.h"

enum { ROWS = 10000, KEY_BYTES = 4000 };

/* Keys that begin alike for long and end with their number. */
static bytes key_of(uint8_t *room, uint32_t number)
{
    memset(room, 'a', KEY_BYTES);
    for (int i = 0; i < 4; i++)
        room[KEY_BYTES - 1 - i] = (uint8_t)(number >> 8 * i);
    return bytes_of(room, KEY_BYTES);
}

static uint32_t number_of(bytes key)
{
    return bytes_read_u32(key.data + key.len - 4);
}

TEST(query_sorter, rows_that_do_not_fit_wait_for_the_next_page)
{
    LONG_ON_ONE_THREAD();
    struct arena *arena = arena_open(16 << 20);
    const struct query query = { 0 };
    uint8_t room[KEY_BYTES];
    uint32_t given = 0;
    struct place after = place_of(BYTES_NONE);

    for (int page = 0; page < 2; page++) {
        struct sorter sorter;
        CHECK_OK(sorter_open(&sorter, arena, ROWS, &query, &after));
        for (uint32_t i = 0; i < ROWS; i++) {
            struct sort_entry entry = { .order_key = key_of(room, i * 7919 % ROWS),
                                        .key = BYTES_LITERAL("k") };
            CHECK_OK(sorter_add(&sorter, entry));
            CHECK_THAT(sorter.held_bytes <= LIMIT_QUERY_SORT_BYTES + KEY_BYTES + 1, "%zu bytes",
                       sorter.held_bytes);
        }
        CHECK_OK(sorter_finish(&sorter));
        CHECK(sorter.has_dropped && sorter.count > 0 && sorter.count < ROWS);
        for (size_t i = 0; i < sorter.count; i++)
            CHECK_EQ(number_of(sorter.entries[i].order_key), given++, "page %d", page);
        struct place_key last = sorter_place(&sorter, &sorter.entries[sorter.count - 1]);
        struct buffer written = buffer_in(arena);
        bytes place;
        place_write_whole(&written, &last);
        CHECK_OK(buffer_finish(&written, &place));
        CHECK_OK(place_read(place, &after));
        sorter_close(&sorter);
    }
    arena_close(arena);
}
