/* A pipeline while it runs, shared by the files that do it. Private to this room. */
#ifndef QUERY_PIPELINE_PARTS_H
#define QUERY_PIPELINE_PARTS_H

#include "base/zone.h"
#include "query/pipeline.h"
#include "query/update.h"

struct group_table;
struct join;
struct overflow;
struct spill;

/* Rows that a stage holds, by the order of their keys. */
struct held_row {
    bytes key;
    uint64_t number; /* as they came: equal ones stay so */
    bytes row;
    bytes origin;
};
struct sorted_rows {
    struct held_row *items;
    size_t count, room, given;
};

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
    struct spill *spill;       /* sorted rows on disk; NULL: all are in memory */
    struct overflow *overflow; /* rows of groups on disk; the same */
    /* unwinding */
    bytes row, origin; /* the document whose array is being walked; in `held` */
    struct document_walk elements;
    bool is_inside;
    int64_t position;
    /* stages inside of this one */
    struct pipeline_run **inners;
    size_t inner_count;
    const struct match *inner_match; /* what the first of them ask */
    const struct path *local_path;
    struct pipeline_source foreign;
    bool is_foreign_open;
    struct join *join; /* a lookup for many rows at once; NULL: for each by itself */
    bool is_hashed;    /* it has looked at all documents of the other collection */
};

struct pipeline_run {
    struct pipeline_source source;
    struct formula_run formulas;
    struct value variables[FORMULA_VARIABLES_MAX];
    struct random random;
    struct zone_memo zones;
    int32_t refusal;
    struct pipeline_share share;
    /* Of the row that was pulled last: what the source says, or else this. */
    bool is_origin_of_source;
    bytes origin;
    bytes place; /* the same of pipeline_place() */
    size_t count;
    struct operator operators[];
};

/* The next row of the stage with this number, 0 being the source. */
MUST_USE status pipeline_pull(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* What the source says. */
MUST_USE status pipeline_origin_of(const struct pipeline_source *source, bytes *out);
/* For a stage that gives a row which is not the last one that it pulled. */
/* Of the row that is being looked at; 0 if there is none. */
double pipeline_score(const struct pipeline_run *run);
void pipeline_set_origin(struct pipeline_run *run, bytes origin);
/* What names a row inside the origin `base`, or inside none: PIPELINE_MADE_ORIGIN. In `arena`. */
MUST_USE status pipeline_name_row(struct arena *arena, bytes base, struct value name, bytes *out);
/* The value of a formula for a row. */
MUST_USE status pipeline_compute(struct pipeline_run *run, struct arena *arena,
                                 const struct formula *formula, bytes row, struct value *out);
/* TOO_LARGE with the number for too much memory. */
MUST_USE status pipeline_hold(struct pipeline_run *run, struct operator* operator,
                              const char * what, bytes row, bytes *out);
status pipeline_too_much(struct pipeline_run *run, const char *what);

/* pipeline_nested.c: the row with a value at a path, taken away if it is missing; in `arena`. */
MUST_USE status pipeline_set(struct pipeline_run *run, struct arena *arena, bytes path,
                             struct value value, bytes row, bytes *out);
/* From the beginning, with another source. */
void pipeline_restart(struct pipeline_run *run, const struct pipeline_source *source);
/* What a run inside of another one has failed with. */
status pipeline_inner_failed(struct pipeline_run *run, const struct pipeline_run *inner, status s);

/* pipeline_foreign.c */
MUST_USE status foreign_open_stages(struct pipeline_run *run, struct operator* operator,
                                    struct arena * arena);
void foreign_end(struct pipeline_run *run, struct operator* operator);
MUST_USE status pull_lookup(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
MUST_USE status pull_union(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* The documents of the other collection for which the match holds; `how` as in pipeline_foreign. */
MUST_USE status foreign_open(struct pipeline_run *run, struct operator* operator,
                             const struct match * match, unsigned how);
/* The value at `path` is one of these, which are sorted for it. */
MUST_USE status foreign_match_in(struct arena *arena, const struct collation *by, bytes path,
                                 struct value *values, size_t count, const struct match **out);
/* By what a lookup can be done for many rows at once. */
struct join_key {
    bytes foreign_field;
    bool is_variable; /* its value, not that of the local field */
    uint32_t variable;
};
/* False: there is nothing by which it could be done for many rows at once. */
bool join_find_key(const struct operator* operator, struct join_key * out);
/* What of the match can be asked without formulas, of which the variables of rows are a part; NULL: nothing. */
MUST_USE status join_condition(struct arena *arena, const struct match *match,
                               const struct match **out);
/* Is a formula that says equal true only of documents that a condition finds by this value? */
bool join_can_compare(struct value value);
/* The types that values may have which equal one of this type; match_type_bit(). */
uint32_t join_types(enum value_type type);
/* pipeline_join.c: for a lookup that can be done for many rows at once; `wanted` rows will be asked for, as in
 * pipeline_source, and how many are wanted of a stage in front of others. */
MUST_USE status join_make(struct pipeline_run *run, struct operator* operator, uint64_t wanted,
                          struct arena *arena);
uint64_t join_demand(const struct pipeline *pipeline, size_t behind, uint64_t wanted);
/* The next row; its documents are then in operator->foreign after join_open_row(), unless that is to be done plainly. */
MUST_USE status join_pull(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
MUST_USE status join_open_row(struct operator* operator, bool * is_plain_out);
/* Has it taken rows that it has not given yet? */
bool join_is_ahead(const struct operator* operator);
void join_end(struct operator* operator);
/* For other rows, of which nobody knows again how many will be asked for. */
void join_restart(struct operator* operator);
/* pipeline_graph.c */
MUST_USE status pull_graph(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* pipeline_facet.c */
MUST_USE status pull_facet(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* pipeline_near.c */
MUST_USE status pull_near(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* pipeline_redact.c */
MUST_USE status pull_redact(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* pipeline_bucket.c */
MUST_USE status buckets_fill(struct pipeline_run *run, size_t number);
/* pipeline_window.c, pipeline_densify.c */
MUST_USE status window_fill(struct pipeline_run *run, size_t number);
MUST_USE status densify_fill(struct pipeline_run *run, size_t number);
/* pipeline_group.c */
MUST_USE status group_fill(struct pipeline_run *run, size_t number);
MUST_USE status group_next(struct pipeline_run *run, size_t number, bytes *out, bool *has_out);
/* pipeline_sort.c: rows in o->sorted, copied to the memory of the stage; `what` names it if that is full */
MUST_USE status sorted_begin(struct pipeline_run *run, struct operator* operator,
                             const char * what);
MUST_USE status sorted_add(struct pipeline_run *run, struct operator* operator, const char * what,
                           bytes key, bytes origin, bytes row);
int held_row_compare(const struct held_row *left, const struct held_row *right);
void sorted_order(struct sorted_rows *rows);
MUST_USE status sort_fill(struct pipeline_run *run, size_t number);
MUST_USE status sort_next(struct pipeline_run *run, struct operator* operator, bytes * out,
                          bool *has_out);
/* pipeline_spill.c: rows of a sort on disk. Is there no memory for one more row? */
bool spill_is_due(const struct pipeline_run *run, const struct operator* operator,
                  const struct held_row * next);
/* Takes the rows out of o->sorted; the next ones follow. */
MUST_USE status spill_rows(struct pipeline_run *run, struct operator* operator);
/* Once after all of them, before the first spill_next(). */
MUST_USE status spill_merge(struct pipeline_run *run, struct operator* operator);
MUST_USE status spill_next(struct pipeline_run *run, struct operator* operator, bytes * out,
                           bool *has_out);
void spill_close(struct operator* operator);
/* pipeline_overflow.c: rows of groups on disk. Shall no more groups begin? */
bool overflow_is_due(const struct pipeline_run *run, const struct operator* operator);
/* A row of a group that is not there, by the key of the group. */
MUST_USE status overflow_add(struct pipeline_run *run, struct operator* operator, bytes key,
                             bytes row);
/* When all groups were given: some of the rows that were added are the source of the next ones. */
MUST_USE status overflow_turn(struct operator* operator, bool * has_out);
bool overflow_is_source(const struct operator* operator);
MUST_USE status overflow_next(struct operator* operator, bytes * row_out, bool *has_out);
void overflow_close(struct operator* operator);
MUST_USE status sample_fill(struct pipeline_run *run, size_t number);

#endif
