/* Operators of formulas on strings.
 *
 * Texts are UTF-8 that was checked; positions count characters, or bytes where the name says so.
 *
 * Pure apart from the run's arena. */
#include "query/formula_body.h"
#include "query/text.h"

bool formula_is_text(struct value value)
{
    return value.type == VALUE_STRING || value.type == VALUE_SYMBOL;
}

/* A string; null is told by *is_null_out. */
status formula_take_text(const struct formula *call, struct formula_run *run, size_t at,
                         const char *what, int32_t number, bytes *out, bool *is_null_out)
{
    struct value value;

    *out = BYTES_NONE;
    TRY(formula_argument(call, run, at, &value));
    *is_null_out = formula_is_null(value);
    if (*is_null_out)
        return STATUS_OK;
    if (!formula_is_text(value))
        return formula_refuse(run, number, "%s requires a string argument, found: %s", what,
                              value_type_name(value.type));
    *out = value_text(value);
    return STATUS_OK;
}

status formula_concat(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct buffer joined = buffer_in(run->arena);
    struct value value;
    bytes text;

    for (size_t i = 0; i < call->count; i++) {
        TRY(formula_argument(call, run, i, &value));
        if (formula_is_null(value))
            return formula_give_null(out);
        if (!formula_is_text(value))
            return formula_refuse(run, 16702, "$concat only supports strings, not %s",
                                  value_type_name(value.type));
        buffer_append(&joined, value_text(value));
        if (joined.len > LIMIT_QUERY_VALUE_BYTES)
            break;
    }
    TRY(buffer_finish(&joined, &text));
    return formula_give_text(run, text, out);
}

/* ---- case ------------------------------------------------------------------------------------------- */

static status change_case(const struct formula *call, struct formula_run *run, uint8_t from,
                          uint8_t to, int by, struct value *out)
{
    struct buffer changed = buffer_in(run->arena);
    struct value value;
    bytes text;

    TRY(formula_argument(call, run, 0, &value));
    if (formula_is_null(value))
        return formula_give_text(run, BYTES_NONE, out);
    TRY(formula_text_of(run, value, &value));
    text = value_text(value);
    for (size_t i = 0; i < text.len; i++) {
        bool is_letter = text.data[i] >= from && text.data[i] <= to;
        buffer_append_byte(&changed, (uint8_t)(text.data[i] + (is_letter ? by : 0)));
    }
    TRY(buffer_finish(&changed, &text));
    return formula_give_text(run, text, out);
}

status formula_lower(const struct formula *call, struct formula_run *run, struct value *out)
{
    return change_case(call, run, 'A', 'Z', 'a' - 'A', out);
}

status formula_upper(const struct formula *call, struct formula_run *run, struct value *out)
{
    return change_case(call, run, 'a', 'z', 'A' - 'a', out);
}

/* ---- lengths and pieces ----------------------------------------------------------------------------- */

status formula_string_length(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (!formula_is_text(value))
        return formula_refuse(run, 34471, "$strLenCP requires a string argument, found: %s",
                              value_type_name(value.type));
    return formula_give_int(run, (int64_t)text_character_count(value_text(value)), out);
}

status formula_string_length_bytes(const struct formula *call, struct formula_run *run,
                                   struct value *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    if (!formula_is_text(value))
        return formula_refuse(run, 34473, "$strLenBytes requires a string argument, found: %s",
                              value_type_name(value.type));
    return formula_give_int(run, (int64_t)value_text(value).len, out);
}

static bool is_middle(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Offset of the character with this number, or the end. */
static size_t offset_of(bytes text, uint64_t characters)
{
    size_t at = 0;

    while (at < text.len && characters) {
        at++;
        while (at < text.len && is_middle(text.data[at]))
            at++;
        characters--;
    }
    return at;
}

static status take_count(const struct formula *call, struct formula_run *run, size_t at,
                         const char *what, int32_t number, int64_t *out)
{
    struct value value;

    TRY(formula_argument(call, run, at, &value));
    if (!value_is_number(value))
        return formula_refuse(run, number, "%s must be a number, but is %s", what,
                              value_type_name(value.type));
    if (!value_as_int64(value, out)) {
        double real = value_as_double(value);
        *out = real > 0x1p31 ? INT32_MAX : real > -0x1p31 ? (int64_t)real : INT32_MIN;
    }
    return STATUS_OK;
}

static status take_string_or_null(const struct formula *call, struct formula_run *run, bytes *out)
{
    struct value value;

    TRY(formula_argument(call, run, 0, &value));
    *out = BYTES_NONE;
    if (formula_is_null(value))
        return STATUS_OK;
    TRY(formula_text_of(run, value, &value));
    *out = value_text(value);
    return STATUS_OK;
}

status formula_substring(const struct formula *call, struct formula_run *run, struct value *out)
{
    int64_t from, count;
    bytes text;

    TRY(take_string_or_null(call, run, &text));
    TRY(take_count(call, run, 1, "$substrCP: starting index", 34450, &from));
    TRY(take_count(call, run, 2, "$substrCP: length", 34452, &count));
    if (from < 0)
        return formula_refuse(run, 34455, "$substrCP: the starting index must be nonnegative");
    if (count < 0)
        return formula_refuse(run, 34454, "$substrCP: length must be a nonnegative integer");
    text = bytes_from(text, offset_of(text, (uint64_t)from));
    return formula_give_text(run, bytes_of(text.data, offset_of(text, (uint64_t)count)), out);
}

status formula_substring_bytes(const struct formula *call, struct formula_run *run,
                               struct value *out)
{
    int64_t from, count;
    bytes text;

    TRY(take_string_or_null(call, run, &text));
    TRY(take_count(call, run, 1, "$substrBytes: starting index", 16034, &from));
    TRY(take_count(call, run, 2, "$substrBytes: length", 16035, &count));
    if (from < 0)
        return formula_refuse(run, 50752, "$substrBytes: starting index must be non-negative");
    bytes rest = bytes_from(text, (size_t)from);
    size_t len = count < 0 || (uint64_t)count > rest.len ? rest.len : (size_t)count;
    if (rest.len && is_middle(rest.data[0]))
        return formula_refuse(run, 28656,
                              "$substrBytes: Invalid range, starting index is a UTF-8 "
                              "continuation byte.");
    if (len < rest.len && is_middle(rest.data[len]))
        return formula_refuse(run, 28657,
                              "$substrBytes: Invalid range, ending index is in the middle of a "
                              "UTF-8 character.");
    return formula_give_text(run, bytes_of(rest.data, len), out);
}

/* ---- finding ---------------------------------------------------------------------------------------- */

/* Byte offset of `wanted` in `text` from an offset on; SIZE_MAX if it is not there. */
static size_t find_text(bytes text, bytes wanted, size_t from)
{
    if (from > text.len)
        return SIZE_MAX;
    if (wanted.len == 0)
        return from;
    const uint8_t *at = memmem(text.data + from, text.len - from, wanted.data, wanted.len);
    return at ? (size_t)(at - text.data) : SIZE_MAX;
}

static status find_index(const struct formula *call, struct formula_run *run, bool is_bytes,
                         struct value *out)
{
    const char *name = is_bytes ? "$indexOfBytes" : "$indexOfCP";
    int64_t from = 0, to = INT64_MAX;
    bytes text, wanted;
    bool is_null;

    TRY(formula_take_text(call, run, 0, name, is_bytes ? 40091 : 40093, &text, &is_null));
    if (is_null)
        return formula_give_null(out);
    TRY(formula_take_text(call, run, 1, name, is_bytes ? 40092 : 40094, &wanted, &is_null));
    if (is_null)
        return formula_refuse(run, is_bytes ? 40092 : 40094,
                              "%s requires a string as the second argument, found: null", name);
    if (call->count > 2)
        TRY(take_count(call, run, 2, name, 40096, &from));
    if (call->count > 3)
        TRY(take_count(call, run, 3, name, 40096, &to));
    if (from < 0 || to < 0)
        return formula_refuse(run, 40097, "%s requires a nonnegative start and end", name);
    size_t start = is_bytes ? (size_t)from : offset_of(text, (uint64_t)from);
    size_t end = is_bytes ? (size_t)to : offset_of(text, (uint64_t)to);
    if (end < text.len)
        text.len = end;
    if (!is_bytes && (uint64_t)from > text_character_count(text))
        return formula_give_int(run, -1, out);
    size_t at = find_text(text, wanted, start);
    if (at == SIZE_MAX)
        return formula_give_int(run, -1, out);
    if (!is_bytes)
        at = text_character_count(bytes_of(text.data, at));
    return formula_give_int(run, (int64_t)at, out);
}

status formula_string_index(const struct formula *call, struct formula_run *run, struct value *out)
{
    return find_index(call, run, false, out);
}

status formula_string_index_bytes(const struct formula *call, struct formula_run *run,
                                  struct value *out)
{
    return find_index(call, run, true, out);
}

status formula_split(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct formula_list list;
    struct value part;
    bytes text, delimiter;
    bool is_null, is_null_too;
    size_t from = 0;

    TRY(formula_take_text(call, run, 0, "$split", 40085, &text, &is_null));
    TRY(formula_take_text(call, run, 1, "$split", 40086, &delimiter, &is_null_too));
    if (is_null || is_null_too)
        return formula_give_null(out);
    if (delimiter.len == 0)
        return formula_refuse(run, 40087, "$split requires a non-empty separator");
    list = formula_list_begin(run);
    for (;;) {
        size_t at = find_text(text, delimiter, from);
        size_t end = at == SIZE_MAX ? text.len : at;
        TRY(formula_give_text(run, bytes_of(text.data + from, end - from), &part));
        formula_list_add(&list, part);
        if (at == SIZE_MAX)
            return formula_list_end(&list, out);
        from = at + delimiter.len;
    }
}

static status replace(const struct formula *call, struct formula_run *run, const char *name,
                      bool is_all, struct value *out)
{
    struct buffer made = buffer_in(run->arena);
    bytes text, wanted, by;
    bool nulls[3];
    size_t from = 0;

    TRY(formula_take_text(call, run, 0, name, 51746, &text, &nulls[0]));
    TRY(formula_take_text(call, run, 1, name, 51745, &wanted, &nulls[1]));
    TRY(formula_take_text(call, run, 2, name, 51744, &by, &nulls[2]));
    if (nulls[0] || nulls[1] || nulls[2])
        return formula_give_null(out);
    for (bool is_first = true; is_first || is_all; is_first = false) {
        size_t at = find_text(text, wanted, from);
        if (at == SIZE_MAX || made.len > LIMIT_QUERY_VALUE_BYTES)
            break;
        buffer_append(&made, bytes_of(text.data + from, at - from));
        buffer_append(&made, by);
        from = at + wanted.len;
        /* Nothing was wanted: it is found before each character. */
        if (wanted.len == 0 && is_all) {
            size_t step = offset_of(bytes_from(text, from), 1);
            if (step == 0)
                break;
            buffer_append(&made, bytes_of(text.data + from, step));
            from += step;
        }
    }
    buffer_append(&made, bytes_from(text, from));
    TRY(buffer_finish(&made, &text));
    return formula_give_text(run, text, out);
}

status formula_replace_one(const struct formula *call, struct formula_run *run, struct value *out)
{
    return replace(call, run, "$replaceOne", false, out);
}

status formula_replace_all(const struct formula *call, struct formula_run *run, struct value *out)
{
    return replace(call, run, "$replaceAll", true, out);
}

/* ---- trimming --------------------------------------------------------------------------------------- */

static bool is_among(bytes characters, uint32_t wanted)
{
    while (characters.len) {
        if (text_next(&characters) == wanted)
            return true;
    }
    return false;
}

static bool is_trimmed(bytes characters, bool has_characters, uint32_t character)
{
    if (has_characters)
        return is_among(characters, character);
    return character == 0 || text_is_space(character);
}

static status trim(const struct formula *call, struct formula_run *run, bool is_left, bool is_right,
                   struct value *out)
{
    bytes text, characters;
    bool is_null, is_null_too;

    TRY(formula_take_text(call, run, 0, "$trim", 50699, &text, &is_null));
    TRY(formula_take_text(call, run, 1, "$trim", 50700, &characters, &is_null_too));
    bool has_characters = call->count > 1 && call->args[1];
    if (is_null || (has_characters && is_null_too))
        return formula_give_null(out);
    while (is_left && text.len) {
        bytes rest = text;
        if (!is_trimmed(characters, has_characters, text_next(&rest)))
            break;
        text = rest;
    }
    while (is_right && text.len) {
        size_t start = text.len - 1;
        while (start && is_middle(text.data[start]))
            start--;
        bytes last = bytes_from(text, start);
        if (!is_trimmed(characters, has_characters, text_next(&last)))
            break;
        text.len = start;
    }
    return formula_give_text(run, text, out);
}

status formula_trim(const struct formula *call, struct formula_run *run, struct value *out)
{
    return trim(call, run, true, true, out);
}

status formula_trim_left(const struct formula *call, struct formula_run *run, struct value *out)
{
    return trim(call, run, true, false, out);
}

status formula_trim_right(const struct formula *call, struct formula_run *run, struct value *out)
{
    return trim(call, run, false, true, out);
}

/* ---- comparing -------------------------------------------------------------------------------------- */

static uint8_t small_letter(uint8_t letter)
{
    return letter >= 'A' && letter <= 'Z' ? (uint8_t)(letter + 'a' - 'A') : letter;
}

status formula_compare_case(const struct formula *call, struct formula_run *run, struct value *out)
{
    struct value values[2];
    bytes texts[2] = { BYTES_NONE, BYTES_NONE };
    int order = 0;

    for (size_t i = 0; i < 2; i++) {
        TRY(formula_argument(call, run, i, &values[i]));
        if (formula_is_null(values[i]))
            continue;
        TRY(formula_text_of(run, values[i], &values[i]));
        texts[i] = value_text(values[i]);
    }
    size_t common = texts[0].len < texts[1].len ? texts[0].len : texts[1].len;
    for (size_t i = 0; i < common && order == 0; i++)
        order = small_letter(texts[0].data[i]) - small_letter(texts[1].data[i]);
    if (order == 0)
        order = (texts[0].len > texts[1].len) - (texts[0].len < texts[1].len);
    return formula_give_int(run, (order > 0) - (order < 0), out);
}
