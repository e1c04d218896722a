/* Regular expressions in the notation of Perl: compiled once, matched within bounds. Private to this room,
 * and to the faces that parse patterns. */
#ifndef QUERY_PATTERN_H
#define QUERY_PATTERN_H

#include "base/base.h"

struct pattern;

/* What is wrong with a pattern that is none; in the arena. */
struct pattern_error {
    const char *message; /* NULL: nothing */
    size_t offset;
};

/* `modifiers`: letters out of i m s x, u is taken and means nothing. In the arena, together with everything it
 * needs, usable by every thread. Where the pattern or its modifiers are not acceptable, *out is NULL and
 * the error says why. TOO_LARGE past a limit. */
MUST_USE status pattern_compile(struct arena *arena, bytes text, bytes modifiers,
                                const struct pattern **out, struct pattern_error *error_out);
/* Where the text matches first; `scratch` is used and given back. TOO_LARGE past the bounds on steps and
 * memory, because any answer would be a guess. */
struct pattern_place {
    bool is_found;
    size_t start, end;
};
MUST_USE status pattern_match(const struct pattern *pattern, struct arena *scratch, bytes text,
                              struct pattern_place *out);
/* The same from an offset on, with the groups in brackets: places[0] is the whole, places[i] the group with
 * the number i, not found if it took no part. `count` is 0 if there is no match. In `arena`. */
struct pattern_groups {
    size_t count;
    struct pattern_place *places;
};
MUST_USE status pattern_groups(const struct pattern *pattern, struct arena *arena, bytes text,
                               size_t from, struct pattern_groups *out);

/* All matches of a text one after the other; the bounds are for all of them together. In `arena`. */
struct pattern_search;
MUST_USE status pattern_search_begin(const struct pattern *pattern, struct arena *arena, bytes text,
                                     struct pattern_search **out);
/* The next match, not found if there is none; an empty one is followed by one that is not empty at the same place, or by
 * one behind it. INVALID for one that ends before it begins. `group_out` is where the group with this number lies in it, not found if it took no part. */
MUST_USE status pattern_search_next(struct pattern_search *search, size_t group,
                                    struct pattern_place *out, struct pattern_place *group_out);

#endif
