/* What the files of the filter parser share. Private to it. */
#ifndef FRONT_MONGO_FILTER_PARTS_H
#define FRONT_MONGO_FILTER_PARTS_H

#include "front/mongo/filter.h"

struct filter_parser {
    struct arena *arena;
    struct fault *fault;
    const struct formula_scope *scope;
    const char *no_text; /* why nothing may be searched for here; NULL: it may */
    bool has_text;
};

/* Conditions that are being collected. */
struct match_list {
    const struct match **items;
    size_t count, room;
};
MUST_USE status match_list_add(struct arena *arena, struct match_list *list,
                               const struct match *item);

/* A whole filter document. */
MUST_USE status filter_parse_document(struct filter_parser *p, bytes filter,
                                      const struct match **out);
/* The condition on one path. */
MUST_USE status filter_parse_operand(struct filter_parser *p, bytes path, struct value operand,
                                     const struct match **out);
/* {$op: argument, ...} on one path, all of them. */
MUST_USE status filter_parse_operators(struct filter_parser *p, bytes path, bytes operators,
                                       const struct match **out);

/* filter_leaf.c: single operators whose arguments need more than a line */
MUST_USE status filter_parse_in(struct filter_parser *p, bytes path, struct value argument,
                                const char *name, const struct match **out);
MUST_USE status filter_parse_all(struct filter_parser *p, bytes path, struct value argument,
                                 const struct match **out);
MUST_USE status filter_parse_pattern(struct filter_parser *p, bytes path, struct value regex,
                                     struct value options, const struct match **out);
MUST_USE status filter_parse_size(struct filter_parser *p, bytes path, struct value argument,
                                  const struct match **out);
MUST_USE status filter_parse_modulo(struct filter_parser *p, bytes path, struct value argument,
                                    const struct match **out);
MUST_USE status filter_parse_type(struct filter_parser *p, bytes path, struct value argument,
                                  const struct match **out);
/* The bits of a type by its name ("int", "number" ...). BadValue if there is none of that name. */
MUST_USE status filter_add_type_alias(struct filter_parser *p, bytes alias, uint32_t *types);
MUST_USE status filter_parse_bits(struct filter_parser *p, bytes path, struct value argument,
                                  enum match_bits bits, const struct match **out);

/* filter_text.c: $text */
MUST_USE status filter_parse_text(struct filter_parser *p, struct value argument,
                                  const struct match **out);

/* filter_schema.c: $jsonSchema */
MUST_USE status filter_parse_schema(struct filter_parser *p, struct value argument,
                                    const struct match **out);
/* filter_geo.c: `operators` are all on the path */
MUST_USE status filter_parse_region(struct filter_parser *p, bytes path, struct field operator,
                                    bytes operators, const struct match **out);
MUST_USE status filter_parse_near(struct filter_parser *p, bytes path, struct field operator,
                                  bytes operators, const struct match **out);
/* The point of a condition on nearness, a pair (which is_on_ball may be) or GeoJSON; *out is false if it is neither. */
MUST_USE status filter_read_near_point(struct filter_parser *p, struct value value, bool is_on_ball,
                                       struct geometry_wish *wish, bool *out);
/* Raises BadValue if nearness is asked for somewhere inside of a filter, or twice. */
MUST_USE status filter_check_near(struct arena *arena, const struct match *match,
                                  struct fault *fault);
MUST_USE status filter_refuse_near(struct arena *arena, const struct match *match,
                                   struct fault *fault);

#endif
