/* Functions that read values from strings and write values as strings, in the notation of JSON.
 *
 * A string that is not what was asked for gives nothing: it is not an error of the query.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

#include <math.h>

/* What is not JSON, or too long or too deep to be, is missing; only memory is a failure. */
static status missing_unless_memory(status s)
{
    return s.code == OUT_OF_MEMORY ? s : STATUS_OK;
}

/* The one value of a text, by way of an array of it. */
static status read_one(struct evaluation *e, const struct expression *call, enum value_kind kind,
                       struct value *out)
{
    struct buffer wrapped = buffer_in(e->arena);
    struct value text;
    struct field field, second;
    bytes whole, array;

    TRY(call_take(e, call, &text, 1));
    if (!value_is_text(text))
        return STATUS_OK;
    buffer_append_byte(&wrapped, '[');
    buffer_append(&wrapped, value_text(text));
    buffer_append_byte(&wrapped, ']');
    TRY(buffer_finish(&wrapped, &whole));
    status s = json_read_array(e->arena, whole, &array);
    if (s.code != OK)
        return missing_unless_memory(s);
    struct document_walk walk = document_fields(array);
    if (document_next(&walk, &field) && !document_next(&walk, &second) &&
        value_kind_of(field.value) == kind)
        *out = field.value;
    return STATUS_OK;
}

status function_string_to_bool(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    return read_one(e, call, KIND_BOOL, out);
}

status function_string_to_null(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    return read_one(e, call, KIND_NULL, out);
}

status function_string_to_number(struct evaluation *e, const struct expression *call,
                                 struct value *out)
{
    return read_one(e, call, KIND_NUMBER, out);
}

status function_string_to_array(struct evaluation *e, const struct expression *call,
                                struct value *out)
{
    struct value text;
    bytes array;

    TRY(call_take(e, call, &text, 1));
    if (!value_is_text(text))
        return STATUS_OK;
    status s = json_read_array(e->arena, value_text(text), &array);
    if (s.code != OK)
        return missing_unless_memory(s);
    *out = (struct value){ .type = VALUE_ARRAY, .raw = array };
    return STATUS_OK;
}

status function_string_to_object(struct evaluation *e, const struct expression *call,
                                 struct value *out)
{
    struct value text;
    bytes document;

    TRY(call_take(e, call, &text, 1));
    if (!value_is_text(text))
        return STATUS_OK;
    status s = json_read(e->arena, value_text(text), &document);
    if (s.code != OK)
        return missing_unless_memory(s);
    *out = (struct value){ .type = VALUE_DOCUMENT, .raw = document };
    return STATUS_OK;
}

status function_to_string(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct buffer text = buffer_in(e->arena);
    struct value v;
    bytes written;

    TRY(call_take(e, call, &v, 1));
    if (value_kind_of(v) == KIND_MISSING)
        return STATUS_OK;
    if (value_is_text(v))
        return call_give_text(e, value_text(v), out);
    if (v.type == VALUE_DOUBLE && !isfinite(value_as_double(v)))
        buffer_append_text(&text, isnan(value_as_double(v)) ? "NaN"
                                  : value_as_double(v) < 0  ? "-Infinity"
                                                            : "Infinity");
    else
        json_write_value(&text, v);
    TRY(buffer_finish(&text, &written));
    return call_give_text(e, written, out);
}
