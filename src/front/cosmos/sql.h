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
};

/* `parameters` is a BSON array of { name: "@x", value: any }, or empty. INVALID fills `error_out`. The
 * tree refers to `text` and `parameters`, which have to live as long. */
MUST_USE status sql_parse(struct arena *arena, bytes text, bytes parameters,
                          const struct query **out, struct sql_error *error_out);

/* A condition alone: "from c where c.v = 5"; for query_matches. */
MUST_USE status sql_parse_condition(struct arena *arena, bytes text, const struct query **out,
                                    struct sql_error *error_out);

#endif
