/* Functions of regular expressions, in the notation of Perl.
 *
 * The pattern is compiled for each row, into the row's arena: for the short patterns that queries have that
 * costs a few microseconds, and nothing outlives the row. What bounds it is in pattern.c; a pattern that
 * needs more ends the query.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/pattern.h"

/* The language knows four modifiers. */
static bool is_modifiers(bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!memchr("imsx", text.data[i], 4))
            return false;
    }
    return true;
}

status function_regex_match(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[3];
    const struct pattern *pattern;
    struct pattern_error error;
    struct pattern_place place;

    TRY(call_take(e, call, v, 3));
    if (!value_is_text(v[0]) || !value_is_text(v[1]) || (call_has(call, 2) && !value_is_text(v[2])))
        return STATUS_OK;
    bytes modifiers = call_has(call, 2) ? value_text(v[2]) : BYTES_NONE;
    if (!is_modifiers(modifiers))
        return STATUS_OK;
    TRY(pattern_compile(e->arena, value_text(v[1]), modifiers, &pattern, &error));
    if (!pattern)
        return STATUS_OK;
    TRY(pattern_match(pattern, e->arena, value_text(v[0]), &place));
    *out = value_bool(place.is_found);
    return STATUS_OK;
}
