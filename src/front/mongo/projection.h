/* Projections and orders: the `projection` and `sort` of commands and stages, parsed into trees of the query room
 * (query/projection.h, query/order.h).
 *
 *   TRY(projection_parse(arena, document, PROJECTION_OF_FIND, NULL, &projection, fault));  NULL: everything
 *   status s = projection_apply(projection, &run, document, &out);
 *   if (s.code != OK) return projection_fault(arena, &run, s, fault);
 *
 * Everything borrows from the command's bytes. */
#ifndef FRONT_MONGO_PROJECTION_H
#define FRONT_MONGO_PROJECTION_H

#include "front/mongo/formula.h"

enum projection_place {
    PROJECTION_OF_FIND,  /* knows $slice, $elemMatch and the positional operator */
    PROJECTION_OF_STAGE, /* $project */
};

/* *out is NULL for an empty one. */
MUST_USE status projection_parse(struct arena *arena, bytes document, enum projection_place place,
                                 const struct formula_scope *scope, const struct projection **out,
                                 struct fault *fault);
/* $addFields, $set: everything stays, the fields are computed. */
MUST_USE status projection_parse_fields(struct arena *arena, bytes document,
                                        const struct formula_scope *scope,
                                        const struct projection **out, struct fault *fault);
/* $unset: a name or a list of names. */
MUST_USE status projection_parse_unset(struct arena *arena, struct value names,
                                       const struct projection **out, struct fault *fault);
/* The fault that applying has ended with. */
MUST_USE status projection_fault(struct arena *arena, const struct projection_run *run,
                                 status failed, struct fault *fault);

struct sort_wish {
    const struct order *order;   /* NULL: none is wanted */
    bool is_natural, is_reverse; /* {$natural: 1} or {$natural: -1} */
};
MUST_USE status sort_parse(struct arena *arena, bytes document, const struct collation *by,
                           struct sort_wish *out, struct fault *fault);

#endif
