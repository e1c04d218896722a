/* Functions of regular expressions, in the notation of Perl.
 *
 * A literal pattern is compiled once for all rows, another one for each. What bounds it is in pattern.c; a pattern that
 * needs more ends the query.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/pattern.h"

#include <math.h>

/* The language knows four modifiers. */
static bool is_modifiers(bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!memchr("imsx", text.data[i], 4))
            return false;
    }
    return true;
}

/* Pattern and modifiers, the argument `third`, as they are for this row, made in `home`; NULL if they are
 * none. */
static status make_pattern(struct evaluation *e, const struct expression *call, size_t third,
                           struct arena *home, const struct pattern **out)
{
    struct value text, modifiers = value_missing();
    struct pattern_error error;

    *out = NULL;
    TRY(evaluate(e, call->args[1], &text));
    if (call_has(call, third))
        TRY(evaluate(e, call->args[third], &modifiers));
    if (!value_is_text(text) || (call_has(call, third) && !value_is_text(modifiers)))
        return STATUS_OK;
    bytes letters = call_has(call, third) ? value_text(modifiers) : BYTES_NONE;
    if (!is_modifiers(letters))
        return STATUS_OK;
    return pattern_compile(home, value_text(text), letters, out, &error);
}

static status take_pattern(struct evaluation *e, const struct expression *call, size_t third,
                           const struct pattern **out)
{
    const struct expression *pattern = call->args[1];
    bool is_same = !call_has(call, third) || call->args[third]->kind == EXPRESSION_LITERAL;

    *out = is_same ? call_kept(e, pattern) : NULL;
    if (*out)
        return STATUS_OK;
    TRY(make_pattern(e, call, third, is_same ? call_home(e, pattern) : e->arena, out));
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
    TRY(take_pattern(e, call, 2, &pattern));
    if (!value_is_text(text) || !pattern)
        return STATUS_OK;
    TRY(pattern_match(pattern, e->arena, value_text(text), &place));
    *out = value_bool(place.is_found);
    return STATUS_OK;
}

/* ---- what matches ----------------------------------------------------------------------------------- */

/* The search that a call asks for, and which group of each match; NULL if the arguments are no such. */
static status begin_extract(struct evaluation *e, const struct expression *call, bytes *text_out,
                            size_t *group_out, struct pattern_search **out)
{
    const struct pattern *pattern;
    struct value text, group = value_missing();

    *out = NULL;
    *group_out = 0;
    TRY(evaluate(e, call->args[0], &text));
    TRY(take_pattern(e, call, 2, &pattern));
    if (call_has(call, 3))
        TRY(evaluate(e, call->args[3], &group));
    if (!value_is_text(text) || !pattern || (call_has(call, 3) && !value_is_number(group)))
        return STATUS_OK;
    double number = call_has(call, 3) ? value_as_double(group) : 0;
    if (number != floor(number) || number < 0 || number > LIMIT_QUERY_REGEX_BYTES)
        return STATUS_OK;
    *group_out = (size_t)number;
    *text_out = value_text(text);
    return pattern_search_begin(pattern, e->arena, *text_out, out);
}

static bytes piece_of(bytes text, const struct pattern_place *place)
{
    return (bytes){ .data = bytes_from(text, place->start).data, .len = place->end - place->start };
}

status function_regex_extract(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    struct pattern_place whole, group;
    struct pattern_search *search;
    size_t number;
    bytes text;

    TRY(begin_extract(e, call, &text, &number, &search));
    if (!search)
        return STATUS_OK;
    TRY(pattern_search_next(search, number, &whole, &group));
    return group.is_found ? call_give_text(e, piece_of(text, &group), out) : STATUS_OK;
}

status function_regex_extract_all(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    struct pattern_place whole, group;
    struct pattern_search *search;
    size_t number;
    bytes text;

    TRY(begin_extract(e, call, &text, &number, &search));
    if (!search)
        return STATUS_OK;
    struct call_list list = call_list_begin(e);
    for (;;) {
        struct value piece;
        TRY(pattern_search_next(search, number, &whole, &group));
        if (!whole.is_found)
            break;
        TRY(call_check_size(e, list.built.len));
        if (!group.is_found)
            continue;
        TRY(call_give_text(e, piece_of(text, &group), &piece));
        call_list_add(&list, piece);
    }
    return call_list_end(&list, out);
}

/* ---- something else in place of what matches -------------------------------------------------------- */

static status replace_matches(struct evaluation *e, const struct expression *call, bool is_all,
                              struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    struct pattern_place place, same;
    struct pattern_search *search;
    const struct pattern *pattern;
    struct value text, by;
    size_t taken = 0;
    bytes result;

    TRY(evaluate(e, call->args[0], &text));
    TRY(take_pattern(e, call, 3, &pattern));
    TRY(evaluate(e, call->args[2], &by));
    if (!value_is_text(text) || !pattern || !value_is_text(by))
        return STATUS_OK;
    TRY(pattern_search_begin(pattern, e->arena, value_text(text), &search));
    do {
        TRY(pattern_search_next(search, 0, &place, &same));
        if (!place.is_found)
            break;
        TRY(call_check_size(e, built.len + (place.start - taken) + value_text(by).len));
        buffer_append(&built, piece_of(value_text(text), &(struct pattern_place){
                                                             .start = taken, .end = place.start }));
        buffer_append(&built, value_text(by));
        taken = place.end;
    } while (is_all);
    TRY(call_check_size(e, built.len + (value_text(text).len - taken)));
    buffer_append(&built, bytes_from(value_text(text), taken));
    TRY(buffer_finish(&built, &result));
    return call_give_text(e, result, out);
}

status function_regex_replace(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    return replace_matches(e, call, false, out);
}

status function_regex_replace_all(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return replace_matches(e, call, true, out);
}
