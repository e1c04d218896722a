/* SQL: text into a query tree. */
#include "front/cosmos/sql.h"

status sql_parse(struct arena *arena, bytes text, bytes parameters, const struct query **out,
                 struct sql_error *error_out)
{
    (void)arena, (void)text, (void)parameters;
    *out = NULL;
    *error_out = (struct sql_error){ .code = "", .message = "" };
    return status_of(UNSUPPORTED, "queries are not there yet");
}

status sql_parse_condition(struct arena *arena, bytes text, const struct query **out,
                           struct sql_error *error_out)
{
    return sql_parse(arena, text, BYTES_NONE, out, error_out);
}
