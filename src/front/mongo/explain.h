/* How a command would be carried out, and how it was: the command runs as always, by the same code, but changes
 * nothing and gives no documents; what it says on its way becomes the reply. Inside the face only. */
#ifndef FRONT_MONGO_EXPLAIN_H
#define FRONT_MONGO_EXPLAIN_H

#include "front/mongo/command.h"

enum explain_verbosity { EXPLAIN_PLAN, EXPLAIN_STATS, EXPLAIN_ALL };

/* Of a command that is explained. */
struct explain {
    enum explain_verbosity verbosity;
    struct arena *arena; /* of what is told: long writes give the memory of the command back */
    const struct collection *collection; /* NULL: nothing was looked for */
    const struct collation *collation;   /* of the command */
    struct find_way *ways;
    size_t way_count;
    bool is_sorted;
    bool is_counted;             /* how many there are was asked, not which */
    bool is_known;               /* and it is known without looking */
    bool is_by_value;            /* the walk jumps from value to value of the index */
    struct find_explain figures; /* all finds together */
    int64_t given;               /* rows that went through */
    /* Of an aggregation: its stages, an array, and how many of them the find does. */
    bytes stages;
    size_t found_stages;
    enum pipeline_lookup *lookups; /* how they are done, one by one */
    size_t lookup_count;
    int64_t took_ms;
};

/* Explains `inner`, a command without the fields that go with every one of them. */
MUST_USE status explain_run(struct command *command, bytes inner, enum explain_verbosity verbosity);

/* ---- what runs says on its way ---- */

/* Nothing may be looked at. */
bool explain_is_plan_only(const struct command *command);
MUST_USE status explain_tell(struct command *command, const struct collection *collection,
                             const struct find *find);
/* The same for what is going to be counted. */
MUST_USE status explain_count(struct command *command, const struct find_request *wanted);
void explain_add(struct command *command, const struct find_explain *figures);

/* ---- the reply ---- */

/* The ways to the documents as a tree of stages: the field `name`. `wish` is the command that is explained. */
void explain_append_tree(struct command *command, bytes wish, const char *name, bool with_figures);
/* The filter with every condition spelled out. */
bytes explain_parsed_query(struct command *command, bytes filter);
/* Keys of an index, or of the documents, that were looked at to find them. */
int64_t explain_keys(const struct explain *explain);
#endif
