/* Functions of regular expressions, in the notation of Perl.
 *
 * The pattern is compiled for each row, into the row's arena: for the short patterns that queries have that
 * costs a few microseconds, and nothing outlives the row. Compiling and matching are bounded in steps,
 * depth and memory; a pattern that needs more ends the query, because any answer would be a guess. The
 * library's own limit counts anew at each place where a match could begin, so the steps are counted here,
 * in its callouts: one for each part of the pattern that is tried, and one for each byte moved meanwhile.
 *
 * Pure apart from the row's arena. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "query/call.h"

static void *take(size_t size, void *arena)
{
    return arena_try_take(arena, size);
}

/* The arena gives everything back when the row ends. */
static void give(void *piece, void *arena)
{
    (void)piece;
    (void)arena;
}

/* The letters m s i x, in any order; false for any other. */
static bool read_modifiers(bytes text, uint32_t *options_out)
{
    static const struct {
        char letter;
        uint32_t option;
    } modifiers[] = {
        {'i',  PCRE2_CASELESS },
        { 'm', PCRE2_MULTILINE},
        { 's', PCRE2_DOTALL   },
        { 'x', PCRE2_EXTENDED },
    };

    *options_out = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    for (size_t i = 0; i < text.len; i++) {
        size_t at = 0;
        while (at < ARRAY_COUNT(modifiers) && (uint8_t)modifiers[at].letter != text.data[i])
            at++;
        if (at == ARRAY_COUNT(modifiers))
            return false;
        *options_out |= modifiers[at].option;
    }
    return true;
}

struct work {
    uint64_t steps;
    size_t at;
};

static int count_step(pcre2_callout_block *here, void *context)
{
    struct work *work = context;
    size_t at = here->current_position;

    work->steps += 1 + (at > work->at ? at - work->at : work->at - at);
    work->at = at;
    return work->steps > LIMIT_QUERY_REGEX_STEPS ? PCRE2_ERROR_CALLOUT : 0;
}

static status too_much(struct evaluation *e, const char *what)
{
    return status_fail(e->arena, TOO_LARGE,
                       "a regular expression of the query needs %s; make it simpler", what);
}

static status result_of(struct evaluation *e, int code, struct value *out)
{
    switch (code) {
    case PCRE2_ERROR_NOMATCH:
        *out = value_bool(false);
        return STATUS_OK;
    case PCRE2_ERROR_CALLOUT:
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
        return too_much(e, "more steps than allowed to match a string");
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_NOMEMORY:
        return too_much(e, "more memory than allowed to match a string");
    default:
        if (code >= 0)
            *out = value_bool(true);
        return STATUS_OK;
    }
}

/* A pattern that is not one gives nothing. */
static status compile(struct evaluation *e, pcre2_general_context *memory, bytes pattern,
                      uint32_t options, pcre2_code **out)
{
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    int error = 0;
    size_t at;

    *out = NULL;
    if (!context)
        return arena_exhausted(e->arena);
    pcre2_set_parens_nest_limit(context, LIMIT_QUERY_REGEX_NESTING);
    *out = pcre2_compile(pattern.data ? pattern.data : (const uint8_t *)"", pattern.len, options,
                         &error, &at, context);
    if (!*out && error == PCRE2_ERROR_HEAP_FAILED)
        return arena_exhausted(e->arena);
    if (!*out && error == PCRE2_ERROR_PATTERN_TOO_LARGE)
        return too_much(e, "more room than allowed when its repetitions are written out");
    return STATUS_OK;
}

static status match(struct evaluation *e, bytes text, bytes pattern, uint32_t options,
                    struct value *out)
{
    pcre2_general_context *memory = pcre2_general_context_create(take, give, e->arena);
    struct work work = { 0 };
    pcre2_code *code;

    if (!memory)
        return arena_exhausted(e->arena);
    TRY(compile(e, memory, pattern, options, &code));
    if (!code)
        return STATUS_OK;
    pcre2_match_data *data = pcre2_match_data_create(1, memory);
    pcre2_match_context *context = pcre2_match_context_create(memory);
    if (!data || !context)
        return arena_exhausted(e->arena);
    pcre2_set_callout(context, count_step, &work);
    pcre2_set_match_limit(context, LIMIT_QUERY_REGEX_STEPS);
    pcre2_set_depth_limit(context, LIMIT_QUERY_REGEX_STEPS);
    pcre2_set_heap_limit(context, LIMIT_QUERY_REGEX_KIBIBYTES);
    int code_of_match = pcre2_match(code, text.data ? text.data : (const uint8_t *)"", text.len, 0,
                                    0, data, context);
    return result_of(e, code_of_match, out);
}

status function_regex_match(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[3];
    uint32_t options;

    TRY(call_take(e, call, v, 3));
    if (!value_is_text(v[0]) || !value_is_text(v[1]) || (call_has(call, 2) && !value_is_text(v[2])))
        return STATUS_OK;
    if (!read_modifiers(call_has(call, 2) ? value_text(v[2]) : BYTES_NONE, &options))
        return STATUS_OK;
    bytes pattern = value_text(v[1]);
    if (pattern.len > LIMIT_QUERY_REGEX_BYTES)
        return status_fail(e->arena, TOO_LARGE,
                           "a regular expression of the query has %zu bytes, the limit is %d",
                           pattern.len, LIMIT_QUERY_REGEX_BYTES);
    return match(e, value_text(v[0]), pattern, options, out);
}
