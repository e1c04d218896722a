/* Functions that make new strings of old ones: trimming, replacing, repeating, joining, splitting.
 *
 * Everything that can grow is checked against LIMIT_QUERY_VALUE_BYTES while it grows.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/text.h"

#include <math.h>
#include <stdlib.h>

/* ---- trimming --------------------------------------------------------------------------------------- */

/* Characters to be cut off: those of a text in ascending order, or white space. */
struct cutting {
    bool is_space;
    uint32_t *letters;
    size_t count;
};

static int compare_letters(const void *a, const void *b)
{
    uint32_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static status cutting_of(struct arena *arena, bytes text, struct cutting *out)
{
    *out = (struct cutting){ 0 };
    TRY(ARENA_NEW(arena, text.len + 1, &out->letters));
    while (text.len)
        out->letters[out->count++] = text_next(&text);
    qsort(out->letters, out->count, sizeof(*out->letters), compare_letters);
    return STATUS_OK;
}

static bool cuts(const struct cutting *c, uint32_t letter)
{
    if (c->is_space)
        return text_is_space(letter);
    return bsearch(&letter, c->letters, c->count, sizeof(letter), compare_letters) != NULL;
}

static bytes cut_start(bytes text, const struct cutting *c)
{
    while (text.len) {
        bytes next = text;
        if (!cuts(c, text_next(&next)))
            break;
        text = next;
    }
    return text;
}

static bytes cut_end(bytes text, const struct cutting *c)
{
    while (text.len) {
        size_t at = text.len - 1;
        while (at > 0 && (text.data[at] & 0xC0) == 0x80)
            at--;
        bytes last = bytes_from(text, at);
        if (!cuts(c, text_next(&last)))
            break;
        text.len = at;
    }
    return text;
}

static status trim(struct evaluation *e, const struct expression *call, bool at_start, bool at_end,
                   struct value *out)
{
    struct value v[2];
    struct cutting cutting = { .is_space = true };

    TRY(call_take(e, call, v, 2));
    if (!value_is_text(v[0]) || (call_has(call, 1) && !value_is_text(v[1])))
        return STATUS_OK;
    if (call_has(call, 1))
        TRY(cutting_of(e->arena, value_text(v[1]), &cutting));
    bytes text = value_text(v[0]);
    if (at_start)
        text = cut_start(text, &cutting);
    if (at_end)
        text = cut_end(text, &cutting);
    return call_give_text(e, text, out);
}

status function_trim(struct evaluation *e, const struct expression *call, struct value *out)
{
    return trim(e, call, true, true, out);
}

status function_trim_left(struct evaluation *e, const struct expression *call, struct value *out)
{
    return trim(e, call, true, false, out);
}

status function_trim_right(struct evaluation *e, const struct expression *call, struct value *out)
{
    return trim(e, call, false, true, out);
}

/* ---- replacing, repeating, reversing ---------------------------------------------------------------- */

status function_replace(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    struct value v[3];
    const uint8_t *at;
    bytes result;

    TRY(call_take(e, call, v, 3));
    if (!value_is_text(v[0]) || !value_is_text(v[1]) || !value_is_text(v[2]))
        return STATUS_OK;
    bytes rest = value_text(v[0]), part = value_text(v[1]), by = value_text(v[2]);
    if (part.len == 0)
        return STATUS_OK;
    while (rest.len && (at = memmem(rest.data, rest.len, part.data, part.len)) != NULL) {
        bytes before = bytes_of(rest.data, (size_t)(at - rest.data));
        TRY(call_check_size(e, built.len + before.len + by.len));
        buffer_append(&built, before);
        buffer_append(&built, by);
        rest = bytes_from(rest, before.len + part.len);
    }
    TRY(call_check_size(e, built.len + rest.len));
    buffer_append(&built, rest);
    TRY(buffer_finish(&built, &result));
    return call_give_text(e, result, out);
}

status function_replicate(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    struct value v[2];
    bytes result;

    TRY(call_take(e, call, v, 2));
    if (!value_is_text(v[0]) || !value_is_number(v[1]))
        return STATUS_OK;
    bytes text = value_text(v[0]);
    double times = trunc(value_as_double(v[1]));
    double units = (double)text_units(text) * times;
    if (!isfinite(times) || times < 0 || units > LIMIT_QUERY_REPLICATE_UNITS)
        return STATUS_OK;
    for (double i = 0; text.len && i < times; i++)
        buffer_append(&built, text);
    TRY(buffer_finish(&built, &result));
    return call_give_text(e, result, out);
}

status function_reverse(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct value v;
    void *copy;

    TRY(call_take(e, call, &v, 1));
    if (!value_is_text(v))
        return STATUS_OK;
    bytes text = value_text(v);
    size_t at = text.len;
    TRY(arena_take(e->arena, text.len + 1, &copy));
    for (bytes rest = text; rest.len;) {
        bytes letter = rest;
        text_next(&rest);
        letter.len -= rest.len;
        at -= letter.len;
        memcpy((uint8_t *)copy + at, letter.data, letter.len);
    }
    return call_give_text(e, bytes_of(copy, text.len), out);
}

/* ---- arrays of strings ------------------------------------------------------------------------------ */

status function_string_join(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    struct value v[2];
    struct field field;
    bool is_first = true;
    bytes result;

    TRY(call_take(e, call, v, 2));
    if (v[0].type != VALUE_ARRAY || !value_is_text(v[1]))
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(v[0]));
    while (document_next(&walk, &field)) {
        if (!value_is_text(field.value))
            return STATUS_OK;
        TRY(call_check_size(e, built.len + value_text(v[1]).len + value_text(field.value).len));
        if (!is_first)
            buffer_append(&built, value_text(v[1]));
        buffer_append(&built, value_text(field.value));
        is_first = false;
    }
    TRY(buffer_finish(&built, &result));
    return call_give_text(e, result, out);
}

static status add_text(struct evaluation *e, struct call_list *list, bytes text)
{
    struct value value;

    TRY(value_of_text(e->arena, text, &value));
    call_list_add(list, value);
    return call_check_size(e, list->built.len);
}

status function_string_split(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct call_list list;
    struct value v[2];
    const uint8_t *at;

    TRY(call_take(e, call, v, 2));
    if (!value_is_text(v[0]) || !value_is_text(v[1]))
        return STATUS_OK;
    bytes rest = value_text(v[0]), by = value_text(v[1]);
    list = call_list_begin(e);
    while (rest.len && by.len && (at = memmem(rest.data, rest.len, by.data, by.len)) != NULL) {
        size_t len = (size_t)(at - rest.data);
        TRY(add_text(e, &list, bytes_of(rest.data, len)));
        rest = bytes_from(rest, len + by.len);
    }
    TRY(add_text(e, &list, rest));
    return call_list_end(&list, out);
}
