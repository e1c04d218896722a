/* What one page leaves for the next. Private to this room. */
#ifndef QUERY_STATE_H
#define QUERY_STATE_H

#include "query/plan.h"

enum page_mode {
    MODE_STREAM = 1, /* rows are given as they come */
    MODE_SORT,       /* collected, sorted, given from a place in the order on */
    MODE_AGGREGATE,  /* one row made of all */
    MODE_GROUP, /* all rows put together in groups, and these given from a place in their order on */
};

struct page_state {
    enum page_mode mode;
    uint64_t fingerprint;
    struct plan_choice choice;
    uint64_t skip;      /* rows still to be left out */
    uint64_t remaining; /* rows still to be given at most */
    /* MODE_STREAM, MODE_AGGREGATE: of the cursor. MODE_SORT: the place of the last row given, see place.h. MODE_GROUP:
     * the same of the last group given, or its key where groups come in the order of their keys. */
    bytes position;
    bool
        is_position_short; /* it is one that page_place.c has made, because that of the cursor was too long */
    bytes pages;           /* MODE_GROUP: a byte for each page before, up to some */
    bytes sums;            /* MODE_AGGREGATE: a document, see aggregate.c */
    bytes row; /* where it stands among the rows of the document at `position`; empty: behind all */
};

/* How many bytes are left for the position, beside all else. */
size_t state_room(const struct page_state *state);
/* In `arena`. TOO_LARGE. */
MUST_USE status state_write(struct arena *arena, const struct page_state *state, bytes *out);
/* Untrusted bytes; borrows from them. INVALID. */
MUST_USE status state_read(struct arena *arena, bytes bytes_in, struct page_state *out);

#endif
