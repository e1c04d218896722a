/* Pipeline window: the stages that look at the rows around each row.
 *
 *   $setWindowFields = { [ partitionBy, ] [ sortBy, ] output: { path: { $function: argument, [ window ] } } }
 *   window           = { documents: [ low, high ] } | { range: [ low, high ], [ unit ] }
 *   $fill            = { [ partitionBy | partitionByFields, ] [ sortBy, ] output: { path: { value | method } } }
 *   $densify         = { field, [ partitionByFields, ] range: { step, bounds, [ unit ] } }
 *
 * $fill is written as windows and computed fields.
 *
 * Threads: pure apart from the arena. */
#include <math.h>

#include "front/mongo/accumulator.h"
#include "front/mongo/pipeline_parts.h"
#include "front/mongo/projection.h"

static status fail_parse(struct pipeline_parser *p, const char *message, bytes name)
{
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse, "%s: '%.*s'", message,
                       (int)name.len, (const char *)name.data);
}

static status parse_order(struct pipeline_parser *p, struct value value, const struct order **out)
{
    struct sort_wish wish;

    TRY(pipeline_need_document(p, value, ERROR_TypeMismatch, "sortBy"));
    TRY(sort_parse(p->arena, value_document(value), formula_scope_collation(p->scope), &wish,
                   p->fault));
    *out = wish.order;
    return STATUS_OK;
}

/* ---- functions of windows --------------------------------------------------------------------------- */

static status find_argument(struct pipeline_parser *p, struct field call, const char *name,
                            struct value *out)
{
    if (call.value.type == VALUE_DOCUMENT && document_find(value_document(call.value), name, out))
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse, "%.*s requires '%s'",
                       (int)call.name.len, (const char *)call.name.data, name);
}

static status parse_input(struct pipeline_parser *p, struct field call, const char *name,
                          const struct formula **out)
{
    struct value value;

    TRY(find_argument(p, call, name, &value));
    return formula_parse(p->arena, value, p->scope, out, p->fault);
}

/* No arguments, and an order. */
static status parse_rank(struct pipeline_parser *p, struct field call, struct window *out)
{
    (void)out;
    if (call.value.type == VALUE_DOCUMENT && document_field_count(value_document(call.value)) == 0)
        return STATUS_OK;
    return fail_parse(p, "this window function takes an empty object", call.name);
}

static status parse_shift(struct pipeline_parser *p, struct field call, struct window *out)
{
    struct value by, otherwise;

    TRY(parse_input(p, call, "output", &out->of));
    TRY(find_argument(p, call, "by", &by));
    if (!value_as_int64(by, &out->shift))
        return fail_parse(p, "'by' must be a whole number for", call.name);
    if (!document_find(value_document(call.value), "default", &otherwise))
        return STATUS_OK;
    return formula_parse(p->arena, otherwise, p->scope, &out->otherwise, p->fault);
}

static status parse_average(struct pipeline_parser *p, struct field call, struct window *out)
{
    struct value value;
    int64_t count = 0;

    TRY(parse_input(p, call, "input", &out->of));
    if (document_find(value_document(call.value), "N", &value)) {
        if (!value_as_int64(value, &count) || count <= 0)
            return fail_parse(p, "'N' must be a whole number greater than 0 for", call.name);
        out->alpha = 2 / ((double)count + 1);
        return STATUS_OK;
    }
    TRY(find_argument(p, call, "alpha", &value));
    out->alpha = value_is_number(value) ? value_as_double(value) : 0;
    if (out->alpha > 0 && out->alpha < 1)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                       "'alpha' must be a number between 0 and 1 (exclusive), found alpha: %g, a "
                       "%s",
                       out->alpha, value_type_name(value.type));
}

static status parse_unit(struct pipeline_parser *p, struct value unit, bytes *out)
{
    *out = unit.type == VALUE_STRING ? value_text(unit) : BYTES_NONE;
    if (formula_is_unit(*out))
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                       "unknown time unit value: '%.*s', a %s; it is year, quarter, month, week, "
                       "day, hour, minute, second or millisecond",
                       (int)out->len, (const char *)out->data, value_type_name(unit.type));
}

static status parse_slope(struct pipeline_parser *p, struct field call, struct window *out)
{
    struct value unit;

    TRY(parse_input(p, call, "input", &out->of));
    return document_find(value_document(call.value), "unit", &unit)
               ? parse_unit(p, unit, &out->result_unit)
               : STATUS_OK;
}

static status parse_pair(struct pipeline_parser *p, struct field call, struct window *out)
{
    struct document_walk walk;
    struct field x, y;

    if (call.value.type != VALUE_ARRAY || document_field_count(value_document(call.value)) != 2)
        return fail_parse(p, "an array of two expressions is needed for", call.name);
    walk = document_fields(value_document(call.value));
    bool has_both = document_next(&walk, &x) && document_next(&walk, &y);
    ASSERT(has_both);
    TRY(formula_parse(p->arena, x.value, p->scope, &out->of, p->fault));
    return formula_parse(p->arena, y.value, p->scope, &out->other, p->fault);
}

static status parse_fill(struct pipeline_parser *p, struct field call, struct window *out)
{
    return formula_parse(p->arena, call.value, p->scope, &out->of, p->fault);
}

static const struct window_function {
    const char *name;
    enum window_kind kind;
    status (*parse)(struct pipeline_parser *p, struct field call, struct window *out);
    bool needs_order, takes_window;
    const char *sentence;
} functions[] = {
#define WINDOW(name, kind, function, needs_order, takes_window, what) \
    { name, WINDOW_##kind, parse_##function, needs_order, takes_window, what },
#include "front/mongo/windows.def"
#undef WINDOW
};

void pipeline_describe_windows(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++)
        buffer_append_format(out, "| `%s` | %s | %s |\n", functions[i].name,
                             functions[i].takes_window ? "yes" : "no", functions[i].sentence);
}

/* ---- bounds ----------------------------------------------------------------------------------------- */

static status parse_bound(struct pipeline_parser *p, struct value value, bool is_range,
                          struct window_bound *out)
{
    int64_t whole;

    if (value.type == VALUE_STRING && pipeline_is_named(value_text(value), "unbounded")) {
        *out = (struct window_bound){ .edge = WINDOW_UNBOUNDED };
        return STATUS_OK;
    }
    *out = (struct window_bound){ .edge = WINDOW_OFFSET };
    if (value.type == VALUE_STRING && pipeline_is_named(value_text(value), "current"))
        return STATUS_OK;
    if (!value_is_number(value) || (!is_range && !value_as_int64(value, &whole)))
        return fault_raise(
            p->arena, p->fault, ERROR_FailedToParse,
            "a bound of a window is \"unbounded\", \"current\" or a number, which is "
            "whole for documents; it is a %s%s",
            value_type_name(value.type), value_is_number(value) ? " with a fraction" : "");
    out->offset = value_as_double(value);
    return STATUS_OK;
}

static status parse_bounds(struct pipeline_parser *p, struct value bounds, struct window *out)
{
    struct document_walk walk;
    struct field low, high;

    if (bounds.type != VALUE_ARRAY || document_field_count(value_document(bounds)) != 2)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Window bounds must be a 2-element array");
    walk = document_fields(value_document(bounds));
    bool has_both = document_next(&walk, &low) && document_next(&walk, &high);
    ASSERT(has_both);
    TRY(parse_bound(p, low.value, out->is_range, &out->lower));
    TRY(parse_bound(p, high.value, out->is_range, &out->upper));
    if (out->lower.edge == WINDOW_OFFSET && out->upper.edge == WINDOW_OFFSET &&
        out->lower.offset > out->upper.offset)
        return fault_raise(p->arena, p->fault, 5339900,
                           "Lower bound must not exceed upper bound of a window: %g, %g",
                           out->lower.offset, out->upper.offset);
    return STATUS_OK;
}

/* Times are moved by whole units. */
static status check_offset(struct pipeline_parser *p, const struct window *w,
                           const struct window_bound *bound)
{
    double offset = bound->edge == WINDOW_OFFSET ? bound->offset : 0;
    bool is_good = w->unit.len == 0 ? !isnan(offset)
                                    : fabs(offset) <= INT32_MAX && offset == trunc(offset);

    if (is_good)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                       "a bound of a window is %g; it must be a number, and with a unit a whole "
                       "one up to %d",
                       offset, INT32_MAX);
}

static status parse_window(struct pipeline_parser *p, struct value window, struct window *out)
{
    struct document_walk walk;
    struct field field;
    bool has_bounds = false;

    TRY(pipeline_need_document(p, window, ERROR_FailedToParse, "window"));
    walk = document_fields(value_document(window));
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "unit")) {
            TRY(parse_unit(p, field.value, &out->unit));
            continue;
        }
        out->is_range = pipeline_is_named(field.name, "range");
        if ((!out->is_range && !pipeline_is_named(field.name, "documents")) || has_bounds)
            return fail_parse(p, "a window has either 'documents' or 'range', and 'unit', not",
                              field.name);
        has_bounds = true;
        TRY(parse_bounds(p, field.value, out));
    }
    TRY(check_offset(p, out, &out->lower));
    return check_offset(p, out, &out->upper);
}

/* ---- $setWindowFields ------------------------------------------------------------------------------- */

static status parse_call(struct pipeline_parser *p, struct field call, const struct order *order,
                         bool has_window, struct window *out)
{
    bool is_known;

    for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
        if (!pipeline_is_named(call.name, functions[i].name))
            continue;
        out->kind = functions[i].kind;
        if (functions[i].needs_order && !order)
            return fault_raise(p->arena, p->fault, 5371602, "%s requires a sortBy",
                               functions[i].name);
        if (has_window && !functions[i].takes_window)
            return fail_parse(p, "this window function takes no 'window'", call.name);
        return functions[i].parse(p, call, out);
    }
    TRY(accumulator_parse_call(p->arena, call, p->scope, &out->accumulator, &is_known, p->fault));
    out->kind = WINDOW_ACCUMULATE;
    return is_known ? STATUS_OK : fail_parse(p, "Unrecognized window function", call.name);
}

static status parse_output(struct pipeline_parser *p, struct field output,
                           const struct order *order, struct window *out)
{
    struct value window = { .type = VALUE_MISSING };
    struct field field, call = { .value.type = VALUE_MISSING };
    struct document_walk walk;
    size_t calls = 0;

    out->path = output.name;
    TRY(pipeline_need_document(p, output.value, ERROR_FailedToParse, "output of a window"));
    walk = document_fields(value_document(output.value));
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "window")) {
            window = field.value;
            continue;
        }
        call = field;
        calls++;
    }
    if (calls != 1)
        return fail_parse(p, "an output needs exactly one window function", output.name);
    TRY(parse_call(p, call, order, window.type != VALUE_MISSING, out));
    if (window.type != VALUE_MISSING)
        TRY(parse_window(p, window, out));
    bool is_bounded = out->lower.edge == WINDOW_OFFSET || out->upper.edge == WINDOW_OFFSET;
    if (is_bounded && !order)
        return fault_raise(p->arena, p->fault, out->is_range ? 5339902 : 5339901,
                           "a window with bounds requires a sortBy");
    if (out->is_range && is_bounded && order->parts[0].is_descending)
        return fault_raise(p->arena, p->fault, 8947400, "a range requires an ascending sortBy");
    return STATUS_OK;
}

status stage_set_window_fields(struct pipeline_parser *p, struct value argument)
{
    struct value output = { .type = VALUE_MISSING };
    struct stage made = { .kind = STAGE_WINDOW };
    struct document_walk walk;
    struct window *windows;
    struct stage *stage;
    struct field field;

    TRY(pipeline_need_document(p, argument, ERROR_FailedToParse, "$setWindowFields"));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "partitionBy"))
            TRY(formula_parse(p->arena, field.value, p->scope, &made.formula, p->fault));
        else if (pipeline_is_named(field.name, "sortBy"))
            TRY(parse_order(p, field.value, &made.order));
        else if (pipeline_is_named(field.name, "output"))
            output = field.value;
        else
            return fault_raise(p->arena, p->fault, ERROR_Location40415,
                               "BSON field '$setWindowFields.%.*s' is an unknown field.",
                               (int)field.name.len, (const char *)field.name.data);
    }
    if (output.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_Location40414,
                           "BSON field '$setWindowFields.output' is missing but a required field");
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(output)), &windows));
    walk = document_fields(value_document(output));
    while (document_next(&walk, &field))
        TRY(parse_output(p, field, made.order, &windows[made.window_count++]));
    made.windows = windows;
    TRY(pipeline_add(p, STAGE_WINDOW, &stage));
    *stage = made;
    return STATUS_OK;
}

/* ---- $fill ------------------------------------------------------------------------------------------ */

/* An array of names as an expression: { name: "$name", ... } */
static status parse_partition_fields(struct pipeline_parser *p, struct value names,
                                     const struct formula **out)
{
    const struct formula **args;
    struct document_walk walk;
    struct field element;
    size_t count = 0;

    if (names.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "'partitionByFields' must be an array of names");
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(names)), &args));
    walk = document_fields(value_document(names));
    while (document_next(&walk, &element)) {
        bytes name = element.value.type == VALUE_STRING ? value_text(element.value) : BYTES_NONE;
        if (name.len == 0 || name.data[0] == '$')
            return fault_raise(p->arena, p->fault, 6050200,
                               "'partitionByFields' must be an array of names without $");
        TRY(formula_path(p->arena, NULL, name, &args[count++]));
    }
    return formula_array(p->arena, args, count, out);
}

struct filling {
    struct stage window;
    struct window *windows;
    struct buffer values; /* { path: { $ifNull: [ "$path", value ] }, ... } */
    size_t begun, value_count;
};

static status add_value(struct pipeline_parser *p, struct filling *f, bytes path,
                        struct value value)
{
    struct buffer text = buffer_in(p->arena);
    struct value old;

    buffer_append_byte(&text, '$');
    buffer_append(&text, path);
    TRY(value_of_text(p->arena, bytes_of(text.data, text.len), &old));
    size_t field = document_begin_inner(&f->values, VALUE_DOCUMENT, path);
    size_t list = document_begin_inner(&f->values, VALUE_ARRAY, BYTES_LITERAL("$ifNull"));
    document_append(&f->values, BYTES_LITERAL("0"), old);
    document_append(&f->values, BYTES_LITERAL("1"), value);
    document_end(&f->values, list);
    document_end(&f->values, field);
    f->value_count++;
    return STATUS_OK;
}

static status add_method(struct pipeline_parser *p, struct filling *f, bytes path,
                         struct value method)
{
    struct window *window = &f->windows[f->window.window_count++];
    bool is_linear = method.type == VALUE_STRING && pipeline_is_named(value_text(method), "linear");

    if (!is_linear &&
        !(method.type == VALUE_STRING && pipeline_is_named(value_text(method), "locf")))
        return fault_raise(p->arena, p->fault, 6050202,
                           "Method must be either locf or linear for '%.*s'", (int)path.len,
                           (const char *)path.data);
    if (is_linear && !f->window.order)
        return fault_raise(p->arena, p->fault, 605001, "$linearFill requires a sortBy");
    window->path = path;
    window->kind = is_linear ? WINDOW_FILL_LINEAR : WINDOW_FILL_LAST;
    return formula_path(p->arena, NULL, path, &window->of);
}

static status take_fill(struct pipeline_parser *p, struct filling *f, struct field output)
{
    struct value value;

    TRY(pipeline_need_document(p, output.value, ERROR_FailedToParse, "output of $fill"));
    if (document_field_count(value_document(output.value)) == 1) {
        if (document_find(value_document(output.value), "value", &value))
            return add_value(p, f, output.name, value);
        if (document_find(value_document(output.value), "method", &value))
            return add_method(p, f, output.name, value);
    }
    return fail_parse(p, "$fill needs either 'value' or 'method' for", output.name);
}

static status read_fill(struct pipeline_parser *p, bytes argument, struct filling *f,
                        struct value *output_out)
{
    struct document_walk walk = document_fields(argument);
    struct field field;

    while (document_next(&walk, &field)) {
        if (pipeline_is_named(field.name, "partitionBy"))
            TRY(formula_parse(p->arena, field.value, p->scope, &f->window.formula, p->fault));
        else if (pipeline_is_named(field.name, "partitionByFields"))
            TRY(parse_partition_fields(p, field.value, &f->window.formula));
        else if (pipeline_is_named(field.name, "sortBy"))
            TRY(parse_order(p, field.value, &f->window.order));
        else if (pipeline_is_named(field.name, "output"))
            *output_out = field.value;
        else
            return fault_raise(p->arena, p->fault, ERROR_Location40415,
                               "BSON field '$fill.%.*s' is an unknown field.", (int)field.name.len,
                               (const char *)field.name.data);
    }
    if (output_out->type == VALUE_DOCUMENT)
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, ERROR_Location40414,
                       "BSON field '$fill.output' is missing but a required field");
}

status stage_fill(struct pipeline_parser *p, struct value argument)
{
    struct filling f = { .window.kind = STAGE_WINDOW, .values = buffer_in(p->arena) };
    struct value output = { .type = VALUE_MISSING };
    struct document_walk walk;
    struct stage *stage;
    struct field field;
    bytes values;

    TRY(pipeline_need_document(p, argument, ERROR_FailedToParse, "$fill"));
    TRY(read_fill(p, value_document(argument), &f, &output));
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(output)), &f.windows));
    f.begun = document_begin(&f.values);
    walk = document_fields(value_document(output));
    while (document_next(&walk, &field))
        TRY(take_fill(p, &f, field));
    document_end(&f.values, f.begun);
    f.window.windows = f.windows;
    if (f.window.window_count) {
        TRY(pipeline_add(p, STAGE_WINDOW, &stage));
        *stage = f.window;
    }
    if (f.value_count == 0)
        return STATUS_OK;
    TRY(buffer_finish(&f.values, &values));
    TRY(pipeline_add(p, STAGE_PROJECT, &stage));
    return projection_parse_fields(p->arena, values, p->scope, &stage->projection, p->fault);
}
