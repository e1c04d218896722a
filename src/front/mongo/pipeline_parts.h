/* What the files that parse pipelines share. Private to them. */
#ifndef FRONT_MONGO_PIPELINE_PARTS_H
#define FRONT_MONGO_PIPELINE_PARTS_H

#include "front/mongo/pipeline.h"

struct pipeline_parser {
    struct arena *arena;
    struct fault *fault;
    const struct formula_scope *scope;
    const char *outer; /* the stage that these stages are inside of, or NULL */
    unsigned depth;    /* pipelines within each other */
    struct stage *stages;
    size_t count, room;
};

typedef status pipeline_stage(struct pipeline_parser *p, struct value argument);
#define STAGE(name, function, what) pipeline_stage stage_##function;
#include "front/mongo/stages.def"
#undef STAGE

MUST_USE status pipeline_add(struct pipeline_parser *p, enum stage_kind kind, struct stage **out);
/* Refuses with the code what is no document. */
MUST_USE status pipeline_need_document(struct pipeline_parser *p, struct value argument,
                                       int32_t code, const char *name);
/* The stages inside of one. */
MUST_USE status pipeline_parse_inner(struct pipeline_parser *p, bytes array,
                                     const struct formula_scope *scope, const char *outer,
                                     const struct pipeline **out);
/* $sort by one field. */
MUST_USE status pipeline_add_sort(struct pipeline_parser *p, bytes path, bool is_descending);
/* The accumulators of `output`; without one, a count. */
MUST_USE status pipeline_parse_output(struct pipeline_parser *p, struct value output,
                                      struct stage *stage);
/* One line of a table for each function of windows. */
void pipeline_describe_windows(struct buffer *out);
bool pipeline_is_named(bytes name, const char *text);

#endif
