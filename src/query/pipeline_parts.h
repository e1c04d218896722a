/* A pipeline while it runs, shared by the files that do it. Private to this room. */
#ifndef QUERY_PIPELINE_PARTS_H
#define QUERY_PIPELINE_PARTS_H

#include "query/pipeline.h"
#include "query/update.h"

struct group_table;
struct sorted_rows;

/* One stage at work. */
struct operator
{
    const struct stage *stage;
    struct arena *scratch; /* of its row */
    struct arena *held;    /* what it keeps over rows; opened when needed */
    uint64_t passed;       /* rows so far */
    bool is_filled, is_over;
    struct group_table *groups;
    struct sorted_rows *sorted;
    /* unwinding */
    bytes row; /* the document whose array is being walked; in `held` */
    struct document_walk elements;
    bool is_inside;
    int64_t position;
    struct update unwind;
    struct update_step steps[2];
};

struct pipeline_run {
    struct pipeline_source source;
    struct formula_run formulas;
    struct value variables[FORMULA_VARIABLES_MAX];
    struct random random;
    int32_t refusal;
    size_t count;
    struct operator operators[];
};

/* The next row of the stage with this number, 0 being the source. */
MUST_USE status pipeline_pull(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* The value of a formula for a row. */
MUST_USE status pipeline_compute(struct pipeline_run *run, struct arena *arena,
                                 const struct formula *formula, bytes row, struct value *out);
/* TOO_LARGE with the number for too much memory. */
MUST_USE status pipeline_hold(struct pipeline_run *run, struct operator* operator,
                              const char * what, bytes row, bytes *out);
status pipeline_too_much(struct pipeline_run *run, const char *what);

/* pipeline_group.c */
MUST_USE status group_fill(struct pipeline_run *run, size_t number);
MUST_USE status group_next(struct pipeline_run *run, struct operator* operator, bytes * out,
                           bool *has_out);
/* pipeline_sort.c */
MUST_USE status sort_fill(struct pipeline_run *run, size_t number);
MUST_USE status sort_next(struct operator* operator, bytes * out, bool *has_out);
MUST_USE status sample_fill(struct pipeline_run *run, size_t number);

#endif
