/* A document database so plain that one sees that it is right: a collection is an array of documents
 * by id, and whoever is due is taken out of it and never seen again. It knows nothing of lanes, stamps,
 * horizons or rows; its rule of death is written on its own, from the promise to users. The model test
 * asks it what the engine should answer. */
#ifndef TESTS_SUPPORT_NAIVE_MODEL_H
#define TESTS_SUPPORT_NAIVE_MODEL_H

#include "engine/document.h"

enum { NAIVE_IDS = 24, NAIVE_LIST = 3, NAIVE_ROWS_MAX = NAIVE_IDS * (NAIVE_LIST + 1) };

/* What a document says. */
enum naive_dates { NO_DATES, ONE_DATE, LIST_OF_DATES, NOT_A_DATE };
struct naive_body {
    int id;
    int x;
    bool has_u;
    int u;
    bool is_tag_alone; /* t is a number, not a list */
    size_t tag_count;
    int tags[NAIVE_LIST];
    enum naive_dates at_kind;
    size_t at_count;
    int64_t at[NAIVE_LIST];
    size_t when_count; /* 0: there is no `in` */
    int64_t when[NAIVE_LIST];
    bool is_flagged;
    int32_t own_ttl;
    int padding;
};

struct naive_document {
    bool is_there;
    struct naive_body body;
    size_t len; /* of its BSON */
    uint64_t seq;
    uint64_t birth_seq;
    int64_t written_at_s;
};

/* Indexes a collection may have; the last two can expire documents. */
enum naive_index {
    NAIVE_X,    /* x */
    NAIVE_U,    /* u, unique, sparse */
    NAIVE_T,    /* t, multikey */
    NAIVE_XT,   /* -x t */
    NAIVE_ALL,  /* every scalar; kept up, but its rows are not foretold */
    NAIVE_LATE, /* -x t, lazy */
    NAIVE_AT,   /* at */
    NAIVE_WHEN, /* in.when, only flagged documents */
    NAIVE_INDEXES
};
const char *naive_index_name(enum naive_index index);
/* Fields and options, without name and expiry, in the notation of world.h. */
const char *naive_index_text(enum naive_index index);
bool naive_index_can_expire(enum naive_index index);
bool naive_index_has_rows(enum naive_index index);
bool naive_index_is_lazy(enum naive_index index);

struct naive_index_state {
    bool is_there;
    bool is_ready;
    int32_t expire_after_s; /* INDEX_NO_EXPIRY */
};

struct naive_collection {
    bool is_there;
    const char *name;
    bool is_parted; /* by the field p, which is naive_partition of the id */
    int32_t default_ttl;
    struct naive_document documents[NAIVE_IDS];
    struct naive_index_state indexes[NAIVE_INDEXES];
};

int naive_partition(int id);
/* The body as a text for world_document. */
void naive_text(const struct naive_body *body, char *out, size_t room);

/* When the document will die, in ms since 1970; INT64_MAX: never. */
int64_t naive_deadline(const struct naive_collection *collection,
                       const struct naive_document *document, bool do_dates_act);
/* The index of a document that holds the unique key of this body, or -1. */
int naive_holder(const struct naive_collection *collection, const struct naive_body *body);

/* Outcome of one operation, and what it leaves. `written` carries seq and time as the engine gave
 * them; the model decides everything else. */
struct naive_written {
    uint64_t seq;
    int64_t written_at_s;
    size_t len;
};
status_code naive_decide(const struct naive_collection *collection, enum write_kind kind,
                         const struct naive_body *body, uint64_t if_seq);
/* Applies an operation that naive_decide allows; true if a document was there. */
bool naive_apply(struct naive_collection *collection, enum write_kind kind,
                 const struct naive_body *body, const struct naive_written *written);

uint64_t naive_count(const struct naive_collection *collection);
uint64_t naive_bytes(const struct naive_collection *collection);

/* The ids an index (or, with NAIVE_INDEXES, the key order) gives, in order; returns how many. */
size_t naive_rows(const struct naive_collection *collection, enum naive_index index,
                  int out[NAIVE_ROWS_MAX]);

#endif
