/* Functions of parts of strings: where a part lies, and what lies around it.
 *
 * Positions count units of UTF-16, as the length does: characters past U+FFFF count twice. Searching goes by
 * bytes, which in UTF-8 finds whole characters.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/text.h"

#define NOWHERE SIZE_MAX

/* ---- by position ------------------------------------------------------------------------------------ */

static uint64_t not_negative(int64_t number)
{
    return number < 0 ? 0 : (uint64_t)number;
}

status function_left(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[2];
    int64_t units;

    TRY(call_take(e, call, v, 2));
    if (!value_is_text(v[0]) || !value_as_int64(v[1], &units))
        return STATUS_OK;
    return call_give_text(e, text_slice(value_text(v[0]), 0, not_negative(units)), out);
}

status function_right(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[2];
    int64_t units;

    TRY(call_take(e, call, v, 2));
    if (!value_is_text(v[0]) || !value_as_int64(v[1], &units))
        return STATUS_OK;
    bytes text = value_text(v[0]);
    uint64_t all = text_units(text), some = not_negative(units);
    return call_give_text(e, text_slice(text, some < all ? all - some : 0, some), out);
}

status function_substring(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v[3];
    int64_t start, units;

    TRY(call_take(e, call, v, 3));
    if (!value_is_text(v[0]) || !value_as_int64(v[1], &start) || !value_as_int64(v[2], &units))
        return STATUS_OK;
    if (start < 0)
        return call_give_text(e, BYTES_LITERAL(""), out);
    return call_give_text(e, text_slice(value_text(v[0]), (uint64_t)start, not_negative(units)),
                          out);
}

/* ---- searching -------------------------------------------------------------------------------------- */

static size_t find_first(bytes text, bytes part)
{
    if (part.len == 0)
        return 0;
    const uint8_t *at = text.len ? memmem(text.data, text.len, part.data, part.len) : NULL;
    return at ? (size_t)(at - text.data) : NOWHERE;
}

static status reversed_bytes(struct arena *arena, bytes text, bytes *out)
{
    void *copy;

    TRY(arena_take(arena, text.len + 1, &copy));
    for (size_t i = 0; i < text.len; i++)
        ((uint8_t *)copy)[i] = text.data[text.len - 1 - i];
    *out = bytes_of(copy, text.len);
    return STATUS_OK;
}

/* The first place of the part read backwards: that takes linear time whatever the text is. */
static status find_last(struct arena *arena, bytes text, bytes part, size_t *out)
{
    bytes text_back, part_back;

    TRY(reversed_bytes(arena, text, &text_back));
    TRY(reversed_bytes(arena, part, &part_back));
    size_t at = find_first(text_back, part_back);
    *out = at == NOWHERE ? NOWHERE : text.len - at - part.len;
    return STATUS_OK;
}

/* (text, part [, position]): without a position, `otherwise` units. */
struct search {
    bool is_right;
    bytes text, part;
    uint64_t from;
};

static status take_search(struct evaluation *e, const struct expression *call, uint64_t otherwise,
                          struct search *out)
{
    struct value v[3];
    int64_t from;

    *out = (struct search){ .from = otherwise };
    TRY(call_take(e, call, v, 3));
    if (!value_is_text(v[0]) || !value_is_text(v[1]))
        return STATUS_OK;
    out->text = value_text(v[0]);
    out->part = value_text(v[1]);
    out->is_right = true;
    if (call_has(call, 2)) {
        out->is_right = value_as_int64(v[2], &from) && from >= 0;
        out->from = out->is_right ? (uint64_t)from : 0;
    }
    return STATUS_OK;
}

static int64_t units_before(bytes text, size_t at)
{
    return at == NOWHERE ? -1 : (int64_t)text_units(bytes_of(text.data, at));
}

status function_index_of(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct search s;

    TRY(take_search(e, call, 0, &s));
    if (!s.is_right)
        return STATUS_OK;
    if (s.from > text_units(s.text))
        return call_give_whole(e, -1, out);
    size_t skipped = text_slice(s.text, 0, s.from).len;
    size_t at = find_first(bytes_from(s.text, skipped), s.part);
    return call_give_whole(e, units_before(s.text, at == NOWHERE ? NOWHERE : skipped + at), out);
}

/* A position says where the part has to end at the latest. */
status function_last_index_of(struct evaluation *e, const struct expression *call,
                              struct value *out)
{
    struct search s;
    size_t at;

    TRY(take_search(e, call, UINT64_MAX - 1, &s));
    if (!s.is_right)
        return STATUS_OK;
    TRY(find_last(e->arena, text_slice(s.text, 0, s.from + 1), s.part, &at));
    return call_give_whole(e, units_before(s.text, at), out);
}

/* ---- around a part ---------------------------------------------------------------------------------- */

/* What lies before or behind the first or last place of the part; nothing if it is not there. */
static status around(struct evaluation *e, const struct expression *call, bool is_last,
                     bool is_behind, struct value *out)
{
    struct search s;
    size_t at;

    TRY(take_search(e, call, 0, &s));
    if (!s.is_right)
        return STATUS_OK;
    if (is_last)
        TRY(find_last(e->arena, s.text, s.part, &at));
    else
        at = find_first(s.text, s.part);
    if (at == NOWHERE)
        return call_give_text(e, BYTES_LITERAL(""), out);
    bytes found = is_behind ? bytes_from(s.text, at + s.part.len) : bytes_of(s.text.data, at);
    return call_give_text(e, found, out);
}

status function_substring_after(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    return around(e, call, false, true, out);
}

status function_substring_before(struct evaluation *e, const struct expression *call,
                                 struct value *out)
{
    return around(e, call, false, false, out);
}

status function_last_substring_after(struct evaluation *e, const struct expression *call,
                                     struct value *out)
{
    return around(e, call, true, true, out);
}

status function_last_substring_before(struct evaluation *e, const struct expression *call,
                                      struct value *out)
{
    return around(e, call, true, false, out);
}
