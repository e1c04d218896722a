/* Zones: offsets by the files of the machine, and files that are none. */
#include "base/zone.h"

#include "base/base.h"

#include "tests/check.h"

enum { BUDGET = 4 * 1024 * 1024 };

#define HOUR_MS INT64_C(3600000)

static const struct zone *find(struct arena *arena, const char *name)
{
    const struct zone *zone;

    CHECK_OK(zone_find(arena, bytes_of_text(name), &zone));
    return zone;
}

TEST(zone, offsets_follow_the_database_and_its_rule_behind_the_end)
{
    static const struct {
        const char *name;
        int64_t utc_ms, hours;
    } rows[] = {
        {"UTC",               0,                             0  },
        { "+05",              0,                             5  },
        { "-11:00",           0,                             -11},
        { "Europe/Berlin",    1711846799999,                 1  }, /* 2024-03-31T00:59:59.999Z */
        { "Europe/Berlin",    1711846800000,                 2  },
        { "Europe/Berlin",    1729990799999,                 2  }, /* 2024-10-27T00:59:59.999Z */
        { "Europe/Berlin",    1729990800000,                 1  },
        { "Europe/Berlin",    INT64_C(3847122000000) - 1,    1  }, /* 2091-11-29 */
        { "Europe/Berlin",    INT64_C(3802464000000),        2  }, /* 2090-06-30 */
        { "Europe/Berlin",    -INT64_C(1000000) * 366 * 864, 1  },
        { "Asia/Tokyo",       INT64_C(3802464000000),        9  },
        { "Australia/Sydney", INT64_C(3802464000000),        10 },
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        const struct zone *zone = find(arena, r->name);
        CHECK_EQ(zone_offset_ms(zone, r->utc_ms), r->hours * HOUR_MS, "%s at %lld", r->name,
                 (long long)r->utc_ms);
    }
    arena_close(arena);
}

TEST(zone, what_clocks_show_is_found_again_in_utc)
{
    struct arena *arena = arena_open(BUDGET);
    const struct zone *berlin = find(arena, "Europe/Berlin");

    for (int64_t hour = 0; hour < 366 * 24; hour++) {
        int64_t utc = INT64_C(1704067200000) + hour * HOUR_MS; /* 2024 */
        int64_t back = zone_to_utc(berlin, zone_to_local(berlin, utc));
        /* Only the hour that clocks show twice is found once. */
        if (back != utc)
            CHECK_EQ(utc, INT64_C(1729990800000), "the hour that is shown twice");
    }
    /* 02:30 on the day on which clocks leap from 2 to 3 is counted on from before. */
    CHECK_EQ(zone_to_utc(berlin, INT64_C(1711852200000)), INT64_C(1711848600000), "half past two");
    arena_close(arena);
}

TEST(zone, names_that_are_none_are_not_found)
{
    static const char *const names[] = {
        "",   "Nowhere/Land", "/etc/passwd", "../../etc/passwd", "Europe",
        "+1", "+1234567",     "+ab:cd",      "zone.tab",
    };
    struct arena *arena = arena_open(BUDGET);
    const struct zone *zone;

    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        CHECK_THAT(zone_find(arena, bytes_of_text(names[i]), &zone).code == NOT_FOUND, "%s",
                   names[i]);
    CHECK_EQ(zone_parse(arena, bytes_of_text("TZif"), &zone).code, INVALID, "only the first word");
    arena_close(arena);
}

TEST(zone, a_zone_takes_no_more_memory_than_its_file)
{
    struct arena *arena = arena_open(1024 * 1024);
    const struct zone *zone;

    CHECK_OK(zone_find(arena, BYTES_LITERAL("Europe/Berlin"), &zone));
    CHECK(arena_used_bytes(arena) < 16 * 1024);
    arena_close(arena);
}

TEST(zone, the_first_zones_are_remembered_and_others_found_all_the_same)
{
    struct arena *arena = arena_open(8 * 1024 * 1024);
    struct zone_memo memo = { 0 };
    const struct zone *first, *again, *other;

    CHECK_OK(zone_recall(&memo, arena, BYTES_LITERAL("Europe/Berlin"), &first));
    CHECK_EQ(zone_recall(&memo, arena, BYTES_LITERAL("Europe/Nowhere"), &other).code, NOT_FOUND,
             "");
    for (int i = 1; i < 2 * ZONE_MEMO_MAX; i++) {
        const char *name = arena_format(arena, "+%02d:%02d", i / 60, i % 60);
        CHECK_OK(zone_recall(&memo, arena, bytes_of_text(name), &other));
        CHECK_EQ(zone_offset_ms(other, 0), i * 60000, "%s", name);
    }
    size_t used = arena_used_bytes(arena);
    CHECK_OK(zone_recall(&memo, arena, BYTES_LITERAL("Europe/Berlin"), &again));
    CHECK(again == first);
    CHECK_EQ(arena_used_bytes(arena), used, "nothing was read again");
    zone_memo_close(&memo);
    arena_close(arena);
}
