/* Pattern: regular expressions, compiled once and matched within bounds.
 *
 * Everything the library takes comes from arenas, so nothing has to be freed. Compiling and matching are
 * bounded in steps, depth and memory. The library's own limit counts anew at each place where a match could
 * begin, so the steps are counted here, in its callouts: one for each part of the pattern that is tried,
 * and one for each byte moved meanwhile.
 *
 * Pure apart from the arenas; a compiled pattern may be used by every thread. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "query/pattern.h"

struct pattern {
    pcre2_code *code;
};

enum { MESSAGE_BYTES = 256 };

static void *take(size_t size, void *arena)
{
    return arena_try_take(arena, size);
}

/* The arena gives everything back at once. */
static void give(void *piece, void *arena)
{
    (void)piece;
    (void)arena;
}

static bool read_modifiers(bytes text, uint32_t *options_out)
{
    *options_out = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    for (size_t i = 0; i < text.len; i++) {
        switch (text.data[i]) {
        case 'i':
            *options_out |= PCRE2_CASELESS;
            break;
        case 'm':
            *options_out |= PCRE2_MULTILINE;
            break;
        case 's':
            *options_out |= PCRE2_DOTALL;
            break;
        case 'x':
            *options_out |= PCRE2_EXTENDED;
            break;
        case 'u':
            break;
        default:
            return false;
        }
    }
    return true;
}

static status too_much(struct arena *arena, const char *what)
{
    return status_fail(arena, TOO_LARGE,
                       "a regular expression of the query needs %s; make it simpler", what);
}

static status say_why(struct arena *arena, int error, size_t at, struct pattern_error *out)
{
    void *text;

    if (error == PCRE2_ERROR_HEAP_FAILED)
        return arena_exhausted(arena);
    if (error == PCRE2_ERROR_PATTERN_TOO_LARGE)
        return too_much(arena, "more room than allowed when its repetitions are written out");
    TRY(arena_take(arena, MESSAGE_BYTES, &text));
    pcre2_get_error_message(error, text, MESSAGE_BYTES);
    *out = (struct pattern_error){ .message = text, .offset = at };
    return STATUS_OK;
}

status pattern_compile(struct arena *arena, bytes text, bytes modifiers, const struct pattern **out,
                       struct pattern_error *error_out)
{
    struct pattern *pattern;
    uint32_t options;
    int error = 0;
    size_t at = 0;

    *out = NULL;
    *error_out = (struct pattern_error){ 0 };
    if (text.len > LIMIT_QUERY_REGEX_BYTES)
        return status_fail(arena, TOO_LARGE,
                           "a regular expression of the query has %zu bytes, the limit is %d",
                           text.len, LIMIT_QUERY_REGEX_BYTES);
    if (!read_modifiers(modifiers, &options)) {
        error_out->message = "the modifiers are not all out of i, m, s, x and u";
        return STATUS_OK;
    }
    pcre2_general_context *memory = pcre2_general_context_create(take, give, arena);
    pcre2_compile_context *context = memory ? pcre2_compile_context_create(memory) : NULL;
    if (!context)
        return arena_exhausted(arena);
    pcre2_set_parens_nest_limit(context, LIMIT_QUERY_REGEX_NESTING);
    TRY(ARENA_NEW(arena, 1, &pattern));
    pattern->code = pcre2_compile(text.data ? text.data : (const uint8_t *)"", text.len, options,
                                  &error, &at, context);
    if (!pattern->code)
        return say_why(arena, error, at, error_out);
    *out = pattern;
    return STATUS_OK;
}

/* ---- matching --------------------------------------------------------------------------------------- */

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

/* What a number that is no match means. */
static status judge_code(struct arena *arena, int code)
{
    switch (code) {
    case PCRE2_ERROR_CALLOUT:
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
        return too_much(arena, "more steps than allowed to match a string");
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_NOMEMORY:
        return too_much(arena, "more memory than allowed to match a string");
    default:
        return STATUS_OK;
    }
}

static pcre2_match_context *context_of(pcre2_general_context *memory, struct work *work)
{
    pcre2_match_context *context = pcre2_match_context_create(memory);

    if (!context)
        return NULL;
    pcre2_set_callout(context, count_step, work);
    pcre2_set_match_limit(context, LIMIT_QUERY_REGEX_STEPS);
    pcre2_set_depth_limit(context, LIMIT_QUERY_REGEX_STEPS);
    pcre2_set_heap_limit(context, LIMIT_QUERY_REGEX_KIBIBYTES);
    return context;
}

/* Matches with room for so many groups; `code_out` is negative if there is no match. */
static status match_from(const struct pattern *pattern, struct arena *arena, bytes text,
                         size_t from, uint32_t groups, pcre2_match_data **out, int *code_out)
{
    pcre2_general_context *memory = pcre2_general_context_create(take, give, arena);
    pcre2_match_data *data = memory ? pcre2_match_data_create(groups, memory) : NULL;
    struct work work = { .at = from };
    pcre2_match_context *context = data ? context_of(memory, &work) : NULL;

    *out = data;
    *code_out = -1;
    if (!context)
        return arena_exhausted(arena);
    *code_out = pcre2_match(pattern->code, text.data ? text.data : (const uint8_t *)"", text.len,
                            from, 0, data, context);
    return judge_code(arena, *code_out);
}

/* A pattern can move the beginning of its match (\K), by detours also behind its end or in front of where the search began. */
static status check_match(struct arena *arena, pcre2_match_data *data, size_t from)
{
    const size_t *ends = pcre2_get_ovector_pointer(data);

    return ends[0] >= from && ends[0] <= ends[1]
               ? STATUS_OK
               : status_fail(
                     arena, INVALID,
                     "a regular expression moved the beginning of its match (\\K) behind its end, "
                     "or before the place where the search began");
}

static struct pattern_place place_of(pcre2_match_data *data, size_t group)
{
    const size_t *ends = pcre2_get_ovector_pointer(data) + 2 * group;

    if (ends[0] == PCRE2_UNSET)
        return (struct pattern_place){ 0 };
    return (struct pattern_place){ .is_found = true, .start = ends[0], .end = ends[1] };
}

status pattern_match(const struct pattern *pattern, struct arena *scratch, bytes text,
                     struct pattern_place *out)
{
    arena_position mark = arena_mark(scratch);
    pcre2_match_data *data;
    int code;

    *out = (struct pattern_place){ 0 };
    TRY(match_from(pattern, scratch, text, 0, 1, &data, &code));
    if (code >= 0)
        *out = place_of(data, 0);
    arena_release(scratch, mark);
    return STATUS_OK;
}

status pattern_groups(const struct pattern *pattern, struct arena *arena, bytes text, size_t from,
                      struct pattern_groups *out)
{
    pcre2_match_data *data;
    uint32_t count = 0;
    int code;

    *out = (struct pattern_groups){ 0 };
    pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &count);
    TRY(match_from(pattern, arena, text, from, count + 1, &data, &code));
    if (code < 0)
        return STATUS_OK;
    TRY(check_match(arena, data, from));
    TRY(ARENA_NEW(arena, (size_t)count + 1, &out->places));
    out->count = (size_t)count + 1;
    /* Groups past the last one that took part are not written by the library, but were unset before. */
    for (size_t i = 0; i < out->count; i++)
        out->places[i] = place_of(data, i);
    return STATUS_OK;
}

/* ---- one match after the other ---------------------------------------------------------------------- */

struct pattern_search {
    const struct pattern *pattern;
    struct arena *arena;
    bytes text;
    size_t from;
    bool is_empty_tried; /* an empty match lies at `from`, and was given */
    bool is_checked;     /* the text is known to be UTF-8 */
    size_t group_count;
    struct work work;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

status pattern_search_begin(const struct pattern *pattern, struct arena *arena, bytes text,
                            struct pattern_search **out)
{
    pcre2_general_context *memory = pcre2_general_context_create(take, give, arena);
    struct pattern_search *search;
    uint32_t count = 0;

    pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &count);
    TRY(ARENA_NEW(arena, 1, &search));
    *out = search;
    *search = (struct pattern_search){
        .pattern = pattern, .arena = arena, .text = text, .group_count = (size_t)count + 1
    };
    search->data = memory ? pcre2_match_data_create(count + 1, memory) : NULL;
    search->context = search->data ? context_of(memory, &search->work) : NULL;
    return search->context ? STATUS_OK : arena_exhausted(arena);
}

status pattern_search_next(struct pattern_search *search, size_t group, struct pattern_place *out,
                           struct pattern_place *group_out)
{
    const uint8_t *text = search->text.data ? search->text.data : (const uint8_t *)"";
    uint32_t options = search->is_checked ? PCRE2_NO_UTF_CHECK : 0;

    *out = *group_out = (struct pattern_place){ 0 };
    if (search->is_empty_tried)
        options |= PCRE2_NOTEMPTY_ATSTART;
    int code = pcre2_match(search->pattern->code, text, search->text.len, search->from, options,
                           search->data, search->context);
    search->is_checked = true;
    TRY(judge_code(search->arena, code));
    if (code < 0)
        return STATUS_OK;
    TRY(check_match(search->arena, search->data, search->from));
    *out = place_of(search->data, 0);
    if (group < search->group_count)
        *group_out = place_of(search->data, group);
    search->from = out->end;
    search->is_empty_tried = out->end == out->start;
    return STATUS_OK;
}
