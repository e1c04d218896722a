/* Dead or alive: the one judge. A document carries a stamp (when it was written, its own ttl, the dates
 * that TTL indexes look at); a collection has a policy; the verdict follows from stamp, policy and now,
 * and from nothing else. Pure: no memory, no clock, no I/O. Every comparison of a deadline with a time
 * in the whole program stands in expiry_rule.c. */
#ifndef ENGINE_EXPIRY_RULE_H
#define ENGINE_EXPIRY_RULE_H

#include "value/value.h"

/* A document's own ttl, in seconds, or one of these. */
#define TTL_ABSENT INT32_MIN
#define TTL_NEVER (-1)
/* A collection's default ttl, in seconds, or TTL_NEVER (on, no default), or off. */
#define TTL_OFF INT32_MIN

/* Lanes: documents lie ordered by what decides their death. */
enum lane {
    LANE_INHERITING = 0, /* order: written at */
    LANE_OWN = 1,        /* order: written at + own ttl */
    LANE_NEVER = 2,      /* order: written at */
    LANE_DATES = 16,     /* + number of the date rule; order: the date */
    LANE_COUNT = LANE_DATES + LIMIT_DATE_RULES
};

/* What is stored of a document for the judge. `dates` is a packed list, read by stamp_date(). */
struct stamp {
    uint64_t seq;         /* number of the write, unique in the engine */
    int64_t written_at_s; /* server time, whole seconds */
    int32_t own_ttl;
    uint32_t body_len; /* size of the document, for the figures */
    unsigned lane;
    bytes dates; /* STAMP_DATE_BYTES each: rule number, date in ms */
};
enum { STAMP_DATE_BYTES = 9 };

/* Everything at or below `upto`, written no later than `last_seq`, is dead for ever. */
struct expiry_horizon {
    time_ms upto;
    uint64_t last_seq;
};

/* Decides whether a document belongs into a partial index; `predicate` is what the index was created
 * with. Pure, callable from every thread. */
typedef bool index_predicate(void *context, bytes predicate, bytes document);

/* One TTL index as the judge sees it. A retired rule kills nobody new; its horizons keep the dead dead. */
struct date_rule {
    uint8_t number; /* of the lane: LANE_DATES + number */
    bool is_acting; /* built, not retired, not switched off */
    uint32_t index_id;
    int64_t ttl_ms;
    uint64_t created_seq; /* documents up to this write carry no date for it */
    uint64_t retired_seq; /* later documents are none of its business; UINT64_MAX: not retired */
    const struct path *path;
    bool is_partial; /* only documents that satisfy the predicate */
    bytes predicate;
    size_t horizon_count;
    struct expiry_horizon horizons[LIMIT_RULE_HORIZONS];
};

struct expiry_policy {
    int32_t default_ttl;
    time_ms inheriting_horizon; /* stored at each change; INT64_MIN: nobody yet */
    time_ms own_horizon;
    size_t rule_count;
    struct date_rule *rules;
    index_predicate *is_in_partial; /* for the rules of partial indexes */
    void *predicate_context;
};

enum verdict {
    ALIVE,
    DEAD,
    UNDECIDED, /* alive by the stamp, but an older document than a date rule: look at its dates */
};

/* The judge (B-1). */
enum verdict expiry_judge(const struct expiry_policy *policy, const struct stamp *stamp,
                          time_ms now);
/* The same with the document at hand; never UNDECIDED. */
enum verdict expiry_judge_document(const struct expiry_policy *policy, const struct stamp *stamp,
                                   bytes document, struct arena *arena, time_ms now);

/* The first dead moment of a living document; TIME_NEVER if none. `document` may be empty. */
time_ms expiry_deadline(const struct expiry_policy *policy, const struct stamp *stamp,
                        bytes document, struct arena *arena);
/* True if some rule other than its lane's will end this document first. */
bool expiry_is_foreign(const struct expiry_policy *policy, const struct stamp *stamp,
                       bytes document, struct arena *arena);

/* True if an acting rule is younger than the stamp, so that its date (if any) is missing in it. */
bool expiry_is_older_than_a_rule(const struct expiry_policy *policy, const struct stamp *stamp);

/* The lane whose rule ends the document first, for a document about to be written. */
unsigned expiry_choose_lane(const struct expiry_policy *policy, const struct stamp *stamp);
/* Where in its lane it lies. */
time_ms expiry_order(const struct stamp *stamp);
/* Everything in the lane at or below this order is dead; INT64_MIN if nothing is. */
time_ms expiry_lane_horizon(const struct expiry_policy *policy, unsigned lane, time_ms now);
/* Moment at which the order falls due in its lane; TIME_NEVER if the lane has no ttl. */
time_ms expiry_lane_deadline(const struct expiry_policy *policy, unsigned lane, time_ms order);
bool expiry_is_due(time_ms deadline, time_ms now);
time_ms expiry_earlier(time_ms a, time_ms b);
/* The second into which a moment falls, before 1970 too. */
int64_t expiry_second_of(time_ms at);
/* Last whole second of a lane that lies completely at or below the horizon. */
int64_t expiry_last_dead_second(unsigned lane, time_ms horizon);

/* Changing a policy: first make today's dead dead for ever (B-5), then change it. */
void expiry_settle_default(struct expiry_policy *policy, time_ms now);
/* False if the rule has no room for another horizon. */
bool expiry_settle_rule(struct date_rule *rule, uint64_t seq, time_ms now);

/* The earliest date that the path reaches; false if there is none (M-2, M-3). */
bool expiry_earliest_date(const struct path *path, bytes document, struct arena *arena,
                          time_ms *out);
/* The document's own `ttl`: TTL_ABSENT, TTL_NEVER or seconds; INVALID for anything else (C-3). */
MUST_USE status expiry_own_ttl(struct arena *arena, bytes document, int32_t *out);
/* A default ttl as a client may give it: TTL_OFF stays, otherwise INVALID outside C-2. */
MUST_USE status expiry_check_default_ttl(struct arena *arena, int64_t seconds);

/* Packed dates of a stamp. */
bool stamp_date(const struct stamp *stamp, uint8_t rule_number, time_ms *out);
void stamp_pack_date(uint8_t out[STAMP_DATE_BYTES], uint8_t rule_number, time_ms date);

#endif
