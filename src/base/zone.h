/* Time zones by their names in the IANA database ("Europe/Berlin"), or by an offset ("+05:30").
 *
 * Zones are read from the system's files into an arena, are immutable, and usable by every thread. Times are
 * milliseconds since 1970-01-01T00:00:00; "local" ones are what clocks in the zone show, counted the same way. */
#ifndef BASE_ZONE_H
#define BASE_ZONE_H

#include "base/arena.h"

struct zone;

/* NOT_FOUND if there is no such zone; INVALID if its file is not one. */
MUST_USE status zone_find(struct arena *arena, bytes name, const struct zone **out);
/* The content of a file of the database (TZif, RFC 8536). INVALID if it is none. */
MUST_USE status zone_parse(struct arena *arena, bytes file, const struct zone **out);

/* The zones that one piece of work has asked for, so that their files are read once; some of the first ones. Belongs to
 * one thread at a time. */
enum { ZONE_MEMO_MAX = 16 };
struct zone_memo {
    struct arena *arena; /* of its own; NULL: nothing was asked for yet */
    size_t count;
    bytes names[ZONE_MEMO_MAX];
    const struct zone *zones[ZONE_MEMO_MAX];
};
/* As zone_find; what is remembered lives until zone_memo_close, anything else in `arena`. */
MUST_USE status zone_recall(struct zone_memo *memo, struct arena *arena, bytes name,
                            const struct zone **out);
void zone_memo_close(struct zone_memo *memo);

/* What clocks there show beyond UTC, in milliseconds. */
int64_t zone_offset_ms(const struct zone *zone, int64_t utc_ms);
int64_t zone_to_local(const struct zone *zone, int64_t utc_ms);
/* Of a time that clocks show twice, the first; one that they leap over is counted on from before the leap. */
int64_t zone_to_utc(const struct zone *zone, int64_t local_ms);

#endif
