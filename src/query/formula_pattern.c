/* Operators of formulas with regular expressions.
 *
 * Positions count characters. A match is { match, idx, captures }, with null for a group that took no part.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"
#include "query/text.h"

/* The text and the pattern of a call: input, regex, options. */
struct search {
    const char *name;
    bytes text;
    const struct pattern *pattern; /* NULL: there is nothing to find */
};

static status take_search(const struct formula *call, struct formula_run *run, const char *name,
                          struct search *out)
{
    struct pattern_error error;
    struct value regex;
    bytes options;
    bool is_null, has_no_options;

    *out = (struct search){ .name = name };
    TRY(formula_take_text(call, run, 0, name, 51104, &out->text, &is_null));
    TRY(formula_argument(call, run, 1, &regex));
    TRY(formula_take_text(call, run, 2, name, 51106, &options, &has_no_options));
    if (!formula_is_null(regex) && regex.type != VALUE_REGEX && !formula_is_text(regex))
        return formula_refuse(run, 51105, "%s needs 'regex' to be of type string or regex", name);
    if (is_null || formula_is_null(regex))
        return STATUS_OK;
    bytes source = formula_is_text(regex) ? value_text(regex) : value_regex(regex).pattern;
    if (regex.type == VALUE_REGEX && value_regex(regex).options.len) {
        if (!has_no_options)
            return formula_refuse(
                run, 51107, "%s: options are set both in 'regex' and in 'options'; set one", name);
        options = value_regex(regex).options;
    }
    TRY(pattern_compile(run->arena, source, options, &out->pattern, &error));
    if (!out->pattern)
        return formula_refuse(run, 51111, "Invalid Regex in %s: %s", name, error.message);
    return STATUS_OK;
}

status formula_regex_match(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct pattern_place place = { 0 };
    struct search search;

    TRY(take_search(call, run, "$regexMatch", &search));
    if (search.pattern)
        TRY(pattern_match(search.pattern, run->arena, search.text, &place));
    *out = value_bool(place.is_found);
    return STATUS_OK;
}

static status piece_of(struct formula_run *run, bytes text, const struct pattern_place *place,
                       struct value *out)
{
    *out = value_null();
    if (!place->is_found)
        return STATUS_OK;
    return formula_give_text(run, bytes_of(text.data + place->start, place->end - place->start),
                             out);
}

/* { match, idx, captures } */
static status give_match(struct formula_run *run, bytes text, const struct pattern_groups *groups,
                         size_t character, struct value *out)
{
    struct buffer built = buffer_in(run->arena);
    struct value match, position, captures, piece;

    TRY(piece_of(run, text, &groups->places[0], &match));
    TRY(formula_give_int(run, (int64_t)character, &position));
    struct formula_list list = formula_list_begin(run);
    for (size_t i = 1; i < groups->count; i++) {
        TRY(piece_of(run, text, &groups->places[i], &piece));
        formula_list_add(&list, piece);
    }
    TRY(formula_list_end(&list, &captures));
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("match"), match);
    document_append(&built, BYTES_LITERAL("idx"), position);
    document_append(&built, BYTES_LITERAL("captures"), captures);
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

status formula_regex_find(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct pattern_groups groups = { 0 };
    struct search search;

    TRY(take_search(call, run, "$regexFind", &search));
    if (search.pattern)
        TRY(pattern_groups(search.pattern, run->arena, search.text, 0, &groups));
    if (groups.count == 0)
        return formula_give_null(out);
    size_t character = text_character_count(bytes_of(search.text.data, groups.places[0].start));
    return give_match(run, search.text, &groups, character, out);
}

status formula_regex_find_all(const struct formula *call, struct formula_run *run,
                              struct value *out)
{
    struct formula_list list = formula_list_begin(run);
    size_t from = 0, counted = 0, character = 0;
    struct search search;

    TRY(take_search(call, run, "$regexFindAll", &search));
    /* An empty match behind the last character is none, unless there is no character. */
    for (bool is_first = true; search.pattern && (is_first || from < search.text.len);
         is_first = false) {
        struct pattern_groups groups;
        struct value match;
        TRY(pattern_groups(search.pattern, run->arena, search.text, from, &groups));
        if (groups.count == 0 || list.built.len > LIMIT_QUERY_VALUE_BYTES)
            break;
        size_t start = groups.places[0].start;
        character += text_character_count(bytes_of(search.text.data + counted, start - counted));
        counted = start;
        TRY(give_match(run, search.text, &groups, character, &match));
        formula_list_add(&list, match);
        from = groups.places[0].end;
        if (from > start)
            continue;
        /* Nothing was matched: the next search begins behind the next character. */
        bytes rest = bytes_from(search.text, from);
        if (rest.len == 0)
            break;
        text_next(&rest);
        from = search.text.len - rest.len;
    }
    return formula_list_end(&list, out);
}
