/* Pipelines: documents that pass through stages, each of which picks, changes, groups or orders them.
 *
 * Stages pull: each asks the one before it. Those that must see everything first (sort, group, sample) hold it
 * in memory up to LIMIT_PIPELINE_STAGE_BYTES each. Past that sorts and groups go on on disk, if they may; the others
 * end with TOO_LARGE and refusal 292. Pipelines are immutable, in the arena they were built in; a run belongs to its
 * request.
 *
 *   struct pipeline_front front = pipeline_front(pipeline);   what a find can do before: match, order, limit
 *   struct pipeline_source source = { .next = ..., .context = ... };
 *   TRY(pipeline_open(pipeline, front.stage_count, &source, &formulas, arena, &run));
 *   while (pipeline_next(run, &document, &has_row) is OK and has_row) ...
 *   pipeline_close(run);                                       on INVALID: pipeline_refusal(run) first */
#ifndef QUERY_PIPELINE_H
#define QUERY_PIPELINE_H

#include "query/gather.h"
#include "query/match.h"
#include "query/order.h"
#include "query/projection.h"
#include "query/tree.h"
#include "query/window.h"

enum stage_kind {
    STAGE_MATCH,
    STAGE_PROJECT,      /* $project, $addFields, $unset */
    STAGE_REPLACE_ROOT, /* by `formula` */
    STAGE_SORT,
    STAGE_SKIP,
    STAGE_LIMIT,
    STAGE_GROUP,
    STAGE_COUNT, /* one document { name: rows }, none without rows */
    STAGE_UNWIND,
    STAGE_SAMPLE,
    STAGE_LOOKUP,       /* `name`: the documents of another collection that belong to the row */
    STAGE_GRAPH_LOOKUP, /* the same, from one to the next */
    STAGE_UNION,        /* the rows, then those of another collection */
    STAGE_FACET,        /* one document: what each of several pipelines makes of the rows */
    STAGE_BUCKETS,      /* so many groups of about the same size, by the order of a value */
    STAGE_WINDOW,       /* values for each row of the rows around it */
    STAGE_DENSIFY,      /* rows for values that are missing between others */
    STAGE_NEAR,   /* how near each row is to the point of `match`: `name` and `position_name` */
    STAGE_REDACT, /* what `formula` lets through, document by document within each other */
};

/* A variable of the stages inside. */
struct stage_variable {
    uint32_t number;
    const struct formula *formula;
};

struct pipeline;
struct facet {
    bytes name;
    const struct pipeline *pipeline;
};

/* What a formula of STAGE_REDACT says: these texts, which no other text equals. */
enum redact_verdict { REDACT_NONE, REDACT_DESCEND, REDACT_PRUNE, REDACT_KEEP };
/* The value that stands for a verdict: a string, but known by where it lies, so that no string of a document is one. */
struct value redact_value(enum redact_verdict verdict);

struct stage {
    enum stage_kind kind;
    const struct match *match;
    const struct projection *projection;
    const struct formula *formula; /* STAGE_REPLACE_ROOT; the id of STAGE_GROUP */
    const struct order *order;
    uint64_t count; /* of STAGE_SKIP, STAGE_LIMIT, STAGE_SAMPLE */
    bytes name;     /* STAGE_COUNT; the path of STAGE_UNWIND */
    const struct accumulator *accumulators;
    size_t accumulator_count;
    bytes
        position_name; /* STAGE_UNWIND: field for the position; STAGE_NEAR: for what is near; empty if none */
    bool keeps_empty; /* STAGE_UNWIND: rows without elements stay */
    /* STAGE_LOOKUP, STAGE_GRAPH_LOOKUP, STAGE_UNION: where from, and what is done with it there. */
    bytes from;                       /* the other collection; empty: `documents` */
    bytes documents;                  /* an array */
    bytes local_field, foreign_field; /* of equal values; of a graph: of one and of the next */
    const struct pipeline *inner;     /* may be NULL */
    const struct stage_variable *variables;
    size_t variable_count;
    int64_t depth_max; /* of a graph; negative: none */
    bytes depth_field; /* of a graph: where it is put; may be empty */
    const struct facet *facets;
    size_t facet_count;
    const struct window
        *windows; /* in partitions by `formula`, sorted by `order`; both may be NULL */
    size_t window_count;
    const struct densify *densify;
    double scale; /* STAGE_NEAR: what distances are multiplied by */
};

struct pipeline {
    const struct stage *stages;
    size_t count;
};

/* Rows whose documents are not one of the source's have an origin of their own: it begins with these bytes, where those
 * of a source never do, and the same row has the same one when everything is computed anew. What stands behind the
 * origin of a source tells rows of one document apart. */
#define PIPELINE_MADE_ORIGIN BYTES_LITERAL("\0\0\0\0")
/* Has it stages whose rows are made of several documents of the source, so that pipeline_origin() does not tell them? */
bool pipeline_mixes(const struct pipeline *pipeline);
/* Or of documents of other collections? */
bool pipeline_joins(const struct pipeline *pipeline);
/* How many rows it gives at most, because of a limit; 0: any number. */
uint64_t pipeline_most(const struct pipeline *pipeline);

/* What the beginning of a pipeline asks of its source. */
struct pipeline_front {
    const struct match *match; /* NULL: nothing */
    const struct order *order;
    uint64_t wanted; /* rows that are needed at most; 0: unknown */
    size_t
        stage_count; /* stages that need not be run if the source does so; wanted is not one of them */
    /* The rest only counts rows: pipeline_source.count saves looking at them. */
    bool counts_rows;
};
MUST_USE status pipeline_front(const struct pipeline *pipeline, struct arena *arena,
                               struct pipeline_front *out);

struct pipeline_source;

enum pipeline_foreign_how {
    FOREIGN_ANY_ORDER = 1, /* they may come in any order, and all of them will be taken */
    FOREIGN_IS_ORIGIN = 2, /* pipeline_origin() tells them; otherwise they are hidden in a row */
};

/* Documents of other collections. */
struct pipeline_foreign {
    /* Those that fulfil `match`, which may be NULL; formulas in it are computed with `formulas`. Nothing is found
     * in a collection that is not there. `how`: see below. */
    status (*open)(void *context, bytes name, const struct match *match, unsigned how,
                   const struct formula_run *formulas, struct pipeline_source *out);
    /* What it costs to look at all its documents, in the time that one of the usual size takes; UINT64_MAX: unknown. */
    status (*weigh)(void *context, bytes name, uint64_t *out);
    void (*close)(void *context, struct pipeline_source *source);
    void *context;
};

/* What one stage may take: to hold rows, and for the values of one row. */
struct pipeline_share {
    size_t held_bytes, row_bytes;
};

struct pipeline_source {
    /* All documents, with several threads, before the first was asked for; see find_gather(). May be NULL. */
    status (*gather)(void *context, const struct gather *gather, bool *is_done_out);
    /* The document is valid until the next call. */
    status (*next)(void *context, bytes *document_out, bool *has_out);
    /* How many there are; may be NULL. */
    status (*count)(void *context, uint64_t *out);
    /* What the document that was given last is, for pipeline_origin(); borrowed until the next one. May be NULL. */
    status (*origin)(void *context, bytes *out);
    /* What belongs to a row of this origin, such as its score, counts again; may be NULL. */
    void (*recall)(void *context, bytes origin);
    /* Asked now and then in long work between two documents: shall it go on? May be NULL. */
    status (*check)(void *context);
    /* Where the source stands behind the document that was given last, for who will go on there; in `arena`. May be
     * NULL. */
    status (*place)(void *context, struct arena *arena, bytes *out);
    void *context;
    bool is_everything; /* all documents of a collection are looked at for it */
    bool is_inner;      /* of stages whose rows become part of another one */
    uint64_t wanted;    /* rows that will be asked of the run at most; 0: unknown */
    const struct pipeline_foreign *foreign; /* NULL: there are no other collections */
    struct pipeline_share share;            /* zero: as much as the number of stages allows */
    const char *disk; /* a directory for rows that pass that; NULL: they are refused */
};

struct pipeline_run;
/* Without the first `skipped` stages. `formulas` (may be NULL) is borrowed. */
MUST_USE status pipeline_open(const struct pipeline *pipeline, size_t skipped,
                              const struct pipeline_source *source, struct formula_run *formulas,
                              struct arena *arena, struct pipeline_run **out);
/* Valid until the next call. */
MUST_USE status pipeline_next(struct pipeline_run *run, bytes *document_out, bool *has_out);
/* The origin, as the source says it, of the document that the last row was made of, through stages that hold rows and
 * unions too; empty if it was made of several, or of none. Documents that were looked up are not told. */
MUST_USE status pipeline_origin(const struct pipeline_run *run, bytes *out);
/* Where the source stood behind the document that the last row was made of, though some stage may have taken more
 * documents; in `arena`. For stages that look at one document at a time. */
MUST_USE status pipeline_place(const struct pipeline_run *run, struct arena *arena, bytes *out);
/* Has a stage taken documents that no row was made of yet? */
bool pipeline_is_ahead(const struct pipeline_run *run);
/* How the lookups by equal fields among its stages are done, by what was done so far or by what would be for one row. */
enum pipeline_lookup {
    LOOKUP_OTHER,     /* no such lookup */
    LOOKUP_HASHED,    /* all documents of the other collection are looked at, once for many rows */
    LOOKUP_BY_INDEX,  /* values are looked for in an index */
    LOOKUP_EACH_ALONE /* all documents, for each row */
};
MUST_USE status pipeline_lookup(struct pipeline_run *run, size_t stage, enum pipeline_lookup *out);
/* On INVALID and TOO_LARGE: the number by which clients know the reason; 0 if they know none. */
int32_t pipeline_refusal(const struct pipeline_run *run);
void pipeline_close(struct pipeline_run *run);

#endif
