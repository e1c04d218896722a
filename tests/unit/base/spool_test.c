/* Spools: records come back as they were, in whatever stretches they are read. */
#include "base/base.h"
#include "base/spool.h"
#include "tests/check.h"

static struct spool *open_spool(uint64_t bytes_max)
{
    struct spool *spool;
    char directory[256];

    check_temp_dir(directory, sizeof(directory));
    CHECK_OK(spool_open(directory, bytes_max, &spool));
    return spool;
}

/* The record with a number: how long it is and what is in it follow from that. */
static bytes record_of(uint64_t seed, size_t number, uint8_t *room, size_t len_max)
{
    struct random random = random_seeded(seed * 1000003 + number);
    size_t len = random_below(&random, number % 7 == 0 ? len_max : 60);

    for (size_t i = 0; i < len; i++)
        room[i] = (uint8_t)random_below(&random, 256);
    return bytes_of(room, len);
}

TEST(spool, records_come_back_in_any_stretch)
{
    enum { RECORDS = 300, LEN_MAX = 200000 };
    static uint8_t room[LEN_MAX];

    EACH_SEED(seed, 5) {
        struct random random = random_seeded(seed);
        struct spool *spool = open_spool(UINT64_C(1) << 30);
        uint64_t places[RECORDS + 1];
        for (size_t i = 0; i < RECORDS; i++) {
            places[i] = spool_end(spool);
            CHECK_OK(spool_append(spool, record_of(seed, i, room, LEN_MAX)));
        }
        places[RECORDS] = spool_end(spool);
        for (int round = 0; round < 5; round++) {
            size_t from = random_below(&random, RECORDS + 1);
            size_t to = from + random_below(&random, RECORDS + 1 - from);
            struct spool_reader *reader;
            bytes record;
            bool has;
            CHECK_OK(spool_read(spool, places[from], places[to], &reader));
            for (size_t i = from; i < to; i++) {
                CHECK_OK(spool_next(reader, &record, &has));
                CHECK(has);
                CHECK_BYTES(record, record_of(seed, i, room, LEN_MAX), "as it was appended");
            }
            CHECK_OK(spool_next(reader, &record, &has));
            CHECK(!has);
            spool_reader_close(reader);
        }
        spool_close(spool);
    }
}

TEST(spool, reading_and_appending_take_turns)
{
    struct spool *spool = open_spool(1 << 20);
    struct spool_reader *reader;
    bytes record;
    bool has;

    CHECK_OK(spool_append(spool, BYTES_LITERAL("one")));
    CHECK_OK(spool_read(spool, 0, spool_end(spool), &reader));
    CHECK_OK(spool_append(spool, BYTES_LITERAL("two")));
    CHECK_OK(spool_next(reader, &record, &has));
    CHECK_TEXT(record, "one");
    CHECK_OK(spool_next(reader, &record, &has));
    CHECK_THAT(!has, "the stretch ended before the second");
    spool_reader_close(reader);
    spool_close(spool);
}

TEST(spool, what_passes_the_limit_is_refused)
{
    struct spool *spool = open_spool(100);

    CHECK_OK(spool_append(spool, bytes_of("0123456789012345678901234567890123456789", 40)));
    CHECK_CODE(spool_append(spool, bytes_of("012345678901234567890123456789012345678901234", 45)),
               TOO_LARGE);
    CHECK_OK(spool_append(spool, bytes_of("01234567890123456789012345678901234567890123", 44)));
    CHECK_EQ(spool_end(spool), 100, "full to the last byte");
    spool_close(spool);
}

TEST(spool, a_stretch_that_ends_within_a_record_is_an_error)
{
    struct spool *spool = open_spool(1 << 20);
    struct spool_reader *reader;
    bytes record;
    bool has;

    CHECK_OK(spool_append(spool, BYTES_LITERAL("a record")));
    for (uint64_t to = 1; to < spool_end(spool); to++) {
        CHECK_OK(spool_read(spool, 0, to, &reader));
        CHECK_CODE(spool_next(reader, &record, &has), CORRUPT);
        spool_reader_close(reader);
    }
    CHECK_OK(spool_read(spool, 1, spool_end(spool), &reader));
    CHECK_CODE(spool_next(reader, &record, &has), CORRUPT);
    spool_reader_close(reader);
    spool_close(spool);
}

TEST(spool, no_directory_is_an_error_that_says_so)
{
    struct spool *spool;

    CHECK_CODE(spool_open("/nowhere/at/all", 100, &spool), IO_ERROR);
    CHECK(spool == NULL);
}
