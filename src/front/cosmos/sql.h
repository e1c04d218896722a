/* The SQL of this face: text and parameters in, a query tree out. The text is bounded by
 * LIMIT_QUERY_TEXT_BYTES, nesting by LIMIT_QUERY_DEPTH. Pure apart from the arena. */
#ifndef FRONT_COSMOS_SQL_H
#define FRONT_COSMOS_SQL_H

#include "query/query.h"

/* What is wrong with a text, the way clients expect to see it:
 * {"severity":"Error","location":{"start":S,"end":E},"code":"C","message":"M"}.
 * Places count UTF-16 units from the start of the text. */
struct sql_error {
    const char *code; /* "SC1001" ...; "" if there is no error of the text */
    size_t start;
    size_t end;
    const char *message;
    const struct sql_error
        *next; /* another one, where the text is sound but says what is not possible */
};

/* Properties that documents do not hold but compute: c.name stands for the expression, where c is the container.
 * They are not part of a whole document. */
struct sql_computed {
    bytes name;
    bytes text; /* of the definition */
    const struct expression *value;
};
struct sql_properties {
    size_t count;
    struct sql_computed items[LIMIT_COMPUTED_PROPERTIES];
};

/* The definition of one: SELECT VALUE expression FROM name, and nothing else that other documents, other properties
 * like it or the time could have a say in. INVALID and TOO_LARGE fill `error_out`. */
MUST_USE status sql_parse_property(struct arena *arena, bytes text, const struct expression **out,
                                   struct sql_error *error_out);

/* `parameters` is a BSON array of { name: "@x", value: any }, or empty. INVALID fills `error_out`, and so does
 * TOO_LARGE if the text is what is too much. The tree refers to `text` and `parameters`, which have to live as long. */
MUST_USE status sql_parse(struct arena *arena, bytes text, bytes parameters,
                          const struct query **out, struct sql_error *error_out);

/* The same over documents with computed properties, which have to live as long as the tree. */
MUST_USE status sql_parse_with(struct arena *arena, bytes text, bytes parameters,
                               const struct sql_properties *properties, const struct query **out,
                               struct sql_error *error_out);

/* A condition alone: "from c where c.v = 5"; for query_matches. */
MUST_USE status sql_parse_condition(struct arena *arena, bytes text, const struct query **out,
                                    struct sql_error *error_out);

#endif
