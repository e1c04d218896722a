/* Functions of regular expressions, in the notation of Perl.
 *
 * A literal pattern is compiled once for all rows, another one for each. What bounds it is in pattern.c; a pattern that
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

/* Pattern and modifiers as they are for this row, made in `home`; NULL if they are none. */
static status make_pattern(struct evaluation *e, const struct expression *call, struct arena *home,
                           const struct pattern **out)
{
    struct value text, modifiers = value_missing();
    struct pattern_error error;

    *out = NULL;
    TRY(evaluate(e, call->args[1], &text));
    if (call_has(call, 2))
        TRY(evaluate(e, call->args[2], &modifiers));
    if (!value_is_text(text) || (call_has(call, 2) && !value_is_text(modifiers)))
        return STATUS_OK;
    bytes letters = call_has(call, 2) ? value_text(modifiers) : BYTES_NONE;
    if (!is_modifiers(letters))
        return STATUS_OK;
    return pattern_compile(home, value_text(text), letters, out, &error);
}

static status take_pattern(struct evaluation *e, const struct expression *call,
                           const struct pattern **out)
{
    const struct expression *pattern = call->args[1];
    bool is_same = !call_has(call, 2) || call->args[2]->kind == EXPRESSION_LITERAL;

    *out = is_same ? call_kept(e, pattern) : NULL;
    if (*out)
        return STATUS_OK;
    TRY(make_pattern(e, call, is_same ? call_home(e, pattern) : e->arena, out));
    if (*out && is_same)
        call_keep(e, pattern, *out);
    return STATUS_OK;
}

status function_regex_match(struct evaluation *e, const struct expression *call, struct value *out)
{
    const struct pattern *pattern;
    struct pattern_place place;
    struct value text;

    TRY(evaluate(e, call->args[0], &text));
    TRY(take_pattern(e, call, &pattern));
    if (!value_is_text(text) || !pattern)
        return STATUS_OK;
    TRY(pattern_match(pattern, e->arena, value_text(text), &place));
    *out = value_bool(place.is_found);
    return STATUS_OK;
}
