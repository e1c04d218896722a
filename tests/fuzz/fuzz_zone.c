/* Fuzz: files of time zones. Any bytes are refused, or are a zone whose offsets stay within two days, and in
 * which a time comes back from what clocks show of it, or lies beside a change of the offset. */
#include "base/base.h"
#include "base/zone.h"

enum { BUDGET = 8 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    const int64_t days_ms = INT64_C(7) * 86400000;
    const struct zone *zone;

    ASSERT(arena != NULL);
    if (zone_parse(arena, bytes_of(data, size), &zone).code == OK) {
        for (int64_t ms = -INT64_C(62135596800000); ms < INT64_C(253402300800000);
             ms += INT64_C(9999) * 86400000) {
            int64_t offset = zone_offset_ms(zone, ms);
            ASSERT(offset > -days_ms && offset < days_ms);
            int64_t back = zone_to_utc(zone, zone_to_local(zone, ms));
            ASSERT(back - ms < 2 * days_ms && ms - back < 2 * days_ms);
        }
    }
    arena_close(arena);
    return 0;
}
