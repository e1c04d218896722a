/* What the files of the update parser share. Private to it. */
#ifndef FRONT_MONGO_UPDATE_PARTS_H
#define FRONT_MONGO_UPDATE_PARTS_H

#include "front/mongo/update.h"

struct update_parser {
    struct arena *arena;
    struct fault *fault;
    const struct formula_scope *scope;
    struct update_step *steps;
    size_t count, room;
};

/* One more step, zeroed but for its kind and path. */
MUST_USE status update_add_step(struct update_parser *p, enum update_kind kind, bytes path,
                                struct update_step **out);

/* update_array.c: one field of $push, $addToSet, $pop, $pull, $pullAll */
MUST_USE status update_parse_push(struct update_parser *p, struct field field);
MUST_USE status update_parse_add_to_set(struct update_parser *p, struct field field);
MUST_USE status update_parse_pop(struct update_parser *p, struct field field);
MUST_USE status update_parse_pull(struct update_parser *p, struct field field);
MUST_USE status update_parse_pull_all(struct update_parser *p, struct field field);

#endif
