/* Request units: the figures of docs/request-charge.md. */
#include <limits.h>

#include "front/cosmos/charge.h"
#include "tests/check.h"

TEST(charge, a_read_costs_one_unit_and_a_tenth_per_further_kilobyte)
{
    const struct {
        size_t size;
        charge_units want;
    } rows[] = {
        {0,            100  },
        { 1,           100  },
        { 1024,        100  },
        { 1025,        110  },
        { 2048,        110  },
        { 2049,        120  },
        { 100 * 1024,  1090 },
        { 2048 * 1024, 20570},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(charge_point_read(r->size), r->want, "%zu bytes", r->size);
}

TEST(charge, a_write_costs_by_size_and_index_terms)
{
    const struct {
        size_t size, terms;
        charge_units want;
    } rows[] = {
        {0,           0,  500 },
        { 1024,       0,  500 },
        { 1024,       10, 550 },
        { 1024,       20, 600 },
        { 1025,       10, 600 },
        { 100 * 1024, 10, 5500},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(charge_write(r->size, r->terms), r->want, "%zu bytes", r->size);
}

TEST(charge, a_patch_is_a_read_and_a_write)
{
    CHECK_EQ(charge_patch(1024, 1024, 10), 650, "");
    CHECK_EQ(charge_patch(2048, 1024, 10), 660, "");
    CHECK_EQ(charge_patch(1024, 2048, 0), 650, "");
}

TEST(charge, a_delete_costs_five_units_for_each_item)
{
    CHECK_EQ(charge_delete(1), 500, "");
    CHECK_EQ(charge_delete(3), 1500, "");
    CHECK_EQ(charge_delete(UINT64_MAX), UINT_MAX, "");
}

TEST(charge, a_query_costs_what_it_looked_at_and_gave)
{
    const struct {
        const char *why;
        struct charge_query work;
        charge_units want;
    } rows[] = {
        {"nothing to do",                   { 0, 0, 0, 0 },                       200 },
        { "one item of 1 KB by an index",   { 1, 1, 1024, 1024 },                 207 },
        { "one byte more",                  { 1, 1, 1025, 1025 },                 211 },
        { "100 items of 1 KB by an index",  { 100, 100, 100 * 1024, 100 * 1024 }, 900 },
        { "1000 items looked at, none fit", { 1000, 1000, 1000 * 1024, 0 },       5200},
        { "a count by index rows alone",    { 1000, 0, 0, 11 },                   1202},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(charge_of_query(&r->work), r->want, "%s", r->why);
}

TEST(charge, sums_stay_at_the_largest_number)
{
    struct charge_query work = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };

    CHECK_EQ(charge_of_query(&work), UINT_MAX, "");
    CHECK_EQ(charge_write(SIZE_MAX, SIZE_MAX), UINT_MAX, "");
    CHECK_EQ(charge_point_read(SIZE_MAX), UINT_MAX, "");
    CHECK_EQ(charge_add(UINT_MAX, 1), UINT_MAX, "");
    CHECK_EQ(charge_add(1, 2), 3, "");
}
