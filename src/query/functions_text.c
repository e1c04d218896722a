/* Functions of strings.
 *
 * Searching goes by bytes, which in UTF-8 is the same as by characters. Where letter case is to be
 * ignored, both sides are first written in small letters.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/text.h"

static status recased(struct arena *arena, bytes text, uint32_t (*how)(uint32_t), bytes *out)
{
    struct buffer built = buffer_in(arena);

    while (text.len)
        text_append(&built, how(text_next(&text)));
    return buffer_finish(&built, out);
}

static status function_case(struct evaluation *e, const struct expression *call,
                            uint32_t (*how)(uint32_t), struct value *out)
{
    struct value value;
    bytes text;

    TRY(evaluate(e, call->args[0], &value));
    if (!value_is_text(value))
        return STATUS_OK;
    TRY(recased(e->arena, value_text(value), how, &text));
    return value_of_text(e->arena, text, out);
}

status function_lower(struct evaluation *e, const struct expression *call, struct value *out)
{
    return function_case(e, call, text_lower, out);
}

status function_upper(struct evaluation *e, const struct expression *call, struct value *out)
{
    return function_case(e, call, text_upper, out);
}

status function_length(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value value;

    TRY(evaluate(e, call->args[0], &value));
    if (!value_is_text(value))
        return STATUS_OK;
    return value_of_int64(e->arena, (int64_t)text_units(value_text(value)), out);
}

status function_concat(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct buffer joined = buffer_in(e->arena);
    bytes text;

    for (size_t i = 0; i < call->count; i++) {
        struct value value;
        TRY(evaluate(e, call->args[i], &value));
        if (!value_is_text(value))
            return STATUS_OK;
        TRY(call_check_size(e, joined.len + value_text(value).len));
        buffer_append(&joined, value_text(value));
    }
    TRY(buffer_finish(&joined, &text));
    return call_give_text(e, text, out);
}

/* ---- searching -------------------------------------------------------------------------------------- */

typedef bool text_test(bytes text, bytes part);

static bool has_inside(bytes text, bytes part)
{
    return part.len == 0 || (text.len && memmem(text.data, text.len, part.data, part.len) != NULL);
}

static bool has_start(bytes text, bytes part)
{
    return bytes_starts_with(text, part);
}

static bool has_end(bytes text, bytes part)
{
    return text.len >= part.len && bytes_equal(bytes_from(text, text.len - part.len), part);
}

/* (text, part [, ignore case]); a third argument that is no bool makes the result missing. */
static status search(struct evaluation *e, const struct expression *call, text_test *test,
                     struct value *out)
{
    struct value value, part, ignore = value_bool(false);

    TRY(evaluate(e, call->args[0], &value));
    TRY(evaluate(e, call->args[1], &part));
    if (call->count == 3)
        TRY(evaluate(e, call->args[2], &ignore));
    if (!value_is_text(value) || !value_is_text(part) || ignore.type != VALUE_BOOL)
        return STATUS_OK;
    bytes a = value_text(value), b = value_text(part);
    if (value_is_true(ignore)) {
        TRY(text_fold(e->arena, a, &a));
        TRY(text_fold(e->arena, b, &b));
    }
    *out = value_bool(test(a, b));
    return STATUS_OK;
}

static bool is_same(bytes text, bytes part)
{
    return bytes_equal(text, part);
}

status function_contains(struct evaluation *e, const struct expression *call, struct value *out)
{
    return search(e, call, has_inside, out);
}

status function_starts_with(struct evaluation *e, const struct expression *call, struct value *out)
{
    return search(e, call, has_start, out);
}

status function_ends_with(struct evaluation *e, const struct expression *call, struct value *out)
{
    return search(e, call, has_end, out);
}

status function_string_equals(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    return search(e, call, is_same, out);
}

/* Are all of the other strings within the first, or one of them? As if each were asked for, and the
 * answers taken together with AND or OR. */
static status contains_each(struct evaluation *e, const struct expression *call, bool is_any,
                            bool ignores_case, struct value *out)
{
    struct value value, part;
    bool is_missing = false;
    bytes text, wanted;

    TRY(evaluate(e, call->args[0], &value));
    if (!value_is_text(value))
        return STATUS_OK;
    text = value_text(value);
    if (ignores_case)
        TRY(text_fold(e->arena, text, &text));
    for (size_t i = 1; i < call->count; i++) {
        TRY(evaluate(e, call->args[i], &part));
        if (!value_is_text(part)) {
            is_missing = true;
            continue;
        }
        wanted = value_text(part);
        if (ignores_case)
            TRY(text_fold(e->arena, wanted, &wanted));
        if (has_inside(text, wanted) == is_any) {
            *out = value_bool(is_any);
            return STATUS_OK;
        }
    }
    if (!is_missing)
        *out = value_bool(!is_any);
    return STATUS_OK;
}

status function_contains_all(struct evaluation *e, const struct expression *call, struct value *out)
{
    return contains_each(e, call, false, false, out);
}

status function_contains_all_fold(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return contains_each(e, call, false, true, out);
}

status function_contains_any(struct evaluation *e, const struct expression *call, struct value *out)
{
    return contains_each(e, call, true, false, out);
}

status function_contains_any_fold(struct evaluation *e, const struct expression *call,
                                  struct value *out)
{
    return contains_each(e, call, true, true, out);
}

/* ---- patterns: % any characters, _ one, [a-z] one of, [^a-z] none of --------------------------------- */

/* One piece of a pattern. */
struct piece {
    enum { PIECE_ANY, PIECE_ONE, PIECE_SET, PIECE_LETTER } kind;
    uint32_t letter;
    bytes set; /* between the brackets */
};

static bool take_set(bytes *pattern, struct piece *out)
{
    const uint8_t *end = pattern->len ? memchr(pattern->data, ']', pattern->len) : NULL;

    if (!end)
        return false;
    size_t len = (size_t)(end - pattern->data);
    *out = (struct piece){ .kind = PIECE_SET, .set = bytes_of(pattern->data, len) };
    *pattern = bytes_from(*pattern, len + 1);
    return true;
}

static struct piece take_piece(bytes *pattern, uint32_t escape)
{
    uint32_t letter = text_next(pattern);
    struct piece piece = { .kind = PIECE_LETTER, .letter = letter };

    if (escape && letter == escape && pattern->len) {
        piece.letter = text_next(pattern);
        return piece;
    }
    if (letter == '%')
        piece.kind = PIECE_ANY;
    if (letter == '_')
        piece.kind = PIECE_ONE;
    if (letter == '[')
        take_set(pattern, &piece);
    return piece;
}

static bool set_has(bytes set, uint32_t letter)
{
    bool is_negated = set.len > 0 && set.data[0] == '^', has = false;

    if (is_negated)
        set = bytes_from(set, 1);
    while (set.len) {
        uint32_t from = text_next(&set), upto = from;
        if (set.len >= 2 && set.data[0] == '-') {
            set = bytes_from(set, 1);
            upto = text_next(&set);
        }
        has |= from <= letter && letter <= upto;
    }
    return has != is_negated;
}

static bool piece_takes(const struct piece *piece, uint32_t letter)
{
    if (piece->kind == PIECE_SET)
        return set_has(piece->set, letter);
    return piece->kind == PIECE_ONE || (piece->kind == PIECE_LETTER && piece->letter == letter);
}

/* On a mismatch, the last % takes one more character: every other choice would be tried by it too. */
static status like_matches(struct evaluation *e, bytes text, bytes pattern, uint32_t escape,
                           bool *out)
{
    bytes text_retry = BYTES_NONE, pattern_retry = BYTES_NONE;
    bool can_retry = false;

    *out = false;
    while (text.len || pattern.len) {
        bytes text_here = text, pattern_here = pattern;
        TRY(evaluation_work(e, 1)); /* a long pattern may begin anew at every letter of the text */
        if (pattern.len) {
            struct piece piece = take_piece(&pattern, escape);
            if (piece.kind == PIECE_ANY) {
                can_retry = true;
                text_retry = text_here;
                pattern_retry = pattern_here;
                continue;
            }
            if (text.len && piece_takes(&piece, text_next(&text)))
                continue;
        }
        if (!can_retry || text_retry.len == 0)
            return STATUS_OK;
        text_next(&text_retry);
        text = text_retry;
        pattern = pattern_retry;
    }
    *out = true;
    return STATUS_OK;
}

status like_prefix(struct arena *arena, bytes pattern, uint32_t escape, bytes *out)
{
    struct buffer prefix = buffer_in(arena);

    while (pattern.len) {
        struct piece piece = take_piece(&pattern, escape);
        if (piece.kind != PIECE_LETTER)
            break;
        text_append(&prefix, piece.letter);
    }
    return buffer_finish(&prefix, out);
}

bool like_escape(struct value value, uint32_t *out)
{
    bytes text = value_is_text(value) ? value_text(value) : BYTES_NONE;

    *out = text.len ? text_next(&text) : 0;
    return *out != 0 && text.len == 0;
}

status function_like(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value value, pattern, escape;
    uint32_t mark = 0;
    bool is_match;

    TRY(evaluate(e, call->args[0], &value));
    TRY(evaluate(e, call->args[1], &pattern));
    if (call->count == 3) {
        TRY(evaluate(e, call->args[2], &escape));
        if (!like_escape(escape, &mark))
            return STATUS_OK;
    }
    if (!value_is_text(value) || !value_is_text(pattern))
        return STATUS_OK;
    TRY(like_matches(e, value_text(value), value_text(pattern), mark, &is_match));
    *out = value_bool(is_match);
    return STATUS_OK;
}
