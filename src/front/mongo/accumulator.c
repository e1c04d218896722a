/* Accumulator: from { $sum: "$n" } and its like to accumulators of the query room.
 *
 *   accumulator = { "$" name : argument }
 *   argument    = expression | {} | { n, input } | { [ n, ] sortBy, output } | { input, method [ , p ] }
 *
 * Threads: pure apart from the arena. Start reading at accumulator_parse(). */
#include "front/mongo/accumulator.h"

#include "front/mongo/projection.h"

enum argument_shape {
    SHAPE_VALUE,
    SHAPE_COUNT,
    SHAPE_SOME,
    SHAPE_RANKED,
    SHAPE_SHARES,
    SHAPE_NONE
};

static const struct row {
    const char *name;
    enum accumulator_kind kind;
    enum argument_shape shape;
    const char *sentence;
} rows[] = {
#define ACCUMULATOR(name, kind, shape, what) { name, ACCUMULATE_##kind, SHAPE_##shape, what },
#include "front/mongo/accumulators.def"
#undef ACCUMULATOR
};

struct parser {
    struct arena *arena;
    const struct formula_scope *scope;
    struct fault *fault;
    struct field call;
};

status accumulator_count(struct arena *arena, struct accumulator *out)
{
    struct value one;

    out->kind = ACCUMULATE_SUM;
    TRY(value_of_int64(arena, 1, &one));
    return formula_literal(arena, one, &out->of);
}

static status need_argument(struct parser *p, const char *name, int32_t code, struct value *out)
{
    if (document_find(value_document(p->call.value), name, out))
        return STATUS_OK;
    return fault_raise(p->arena, p->fault, code, "%.*s requires a '%s' field",
                       (int)p->call.name.len, (const char *)p->call.name.data, name);
}

static status check_names(struct parser *p, const char *const names[3], int32_t code)
{
    struct document_walk walk;
    struct field field;

    if (p->call.value.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, code,
                           "specification must be an object; found %.*s: %s", (int)p->call.name.len,
                           (const char *)p->call.name.data, value_type_name(p->call.value.type));
    walk = document_fields(value_document(p->call.value));
    while (document_next(&walk, &field)) {
        bool is_known = false;
        for (size_t i = 0; i < 3 && names[i]; i++)
            is_known |= bytes_equal(field.name, bytes_of_text(names[i]));
        if (!is_known)
            return fault_raise(p->arena, p->fault, 5787901, "Unknown argument to %.*s: %.*s",
                               (int)p->call.name.len, (const char *)p->call.name.data,
                               (int)field.name.len, (const char *)field.name.data);
    }
    return STATUS_OK;
}

static status parse_n(struct parser *p, struct accumulator *out)
{
    struct value n;

    TRY(need_argument(p, "n", 5787906, &n));
    return formula_parse(p->arena, n, p->scope, &out->n, p->fault);
}

static status parse_some(struct parser *p, struct accumulator *out)
{
    static const char *const names[3] = { "n", "input", NULL };
    struct value input;

    TRY(check_names(p, names, 5787900));
    TRY(parse_n(p, out));
    TRY(need_argument(p, "input", 5787907, &input));
    return formula_parse(p->arena, input, p->scope, &out->of, p->fault);
}

static status parse_ranked(struct parser *p, struct accumulator *out)
{
    static const char *const names[3] = { "sortBy", "output", "n" };
    static const char *const names_of_one[3] = { "sortBy", "output", NULL };
    bool is_one = out->kind == ACCUMULATE_TOP || out->kind == ACCUMULATE_BOTTOM;
    struct value order, output;
    struct sort_wish wish;

    TRY(check_names(p, is_one ? names_of_one : names, 5788001));
    if (!is_one)
        TRY(parse_n(p, out));
    TRY(need_argument(p, "sortBy", 5788005, &order));
    TRY(need_argument(p, "output", 5788004, &output));
    if (order.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, 5788604, "expected 'sortBy' to be an object, not %s",
                           value_type_name(order.type));
    TRY(sort_parse(p->arena, value_document(order), formula_scope_collation(p->scope), &wish,
                   p->fault));
    if (!wish.order)
        return fault_raise(p->arena, p->fault, 15976, "'sortBy' must have at least one sort key");
    out->order = wish.order;
    return formula_parse(p->arena, output, p->scope, &out->of, p->fault);
}

static status parse_argument(struct parser *p, enum argument_shape shape, struct accumulator *out)
{
    switch (shape) {
    case SHAPE_VALUE:
        return formula_parse(p->arena, p->call.value, p->scope, &out->of, p->fault);
    case SHAPE_COUNT:
        return accumulator_count(p->arena, out);
    case SHAPE_SOME:
        return parse_some(p, out);
    case SHAPE_RANKED:
        return parse_ranked(p, out);
    case SHAPE_SHARES:
        return formula_parse_percentile(p->arena, p->call, p->scope, &out->of, &out->shares,
                                        p->fault);
    case SHAPE_NONE:
        break;
    }
    return fault_raise(p->arena, p->fault, ERROR_NotImplemented,
                       "%.*s is not supported: this server runs no JavaScript; use the other "
                       "accumulators",
                       (int)p->call.name.len, (const char *)p->call.name.data);
}

status accumulator_parse_call(struct arena *arena, struct field call,
                              const struct formula_scope *scope, struct accumulator *out,
                              bool *is_known_out, struct fault *fault)
{
    struct parser p = { .arena = arena, .scope = scope, .fault = fault, .call = call };

    *is_known_out = false;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (!bytes_equal(call.name, bytes_of_text(rows[i].name)))
            continue;
        *is_known_out = true;
        out->kind = rows[i].kind;
        return parse_argument(&p, rows[i].shape, out);
    }
    return STATUS_OK;
}

status accumulator_parse(struct arena *arena, struct field field, const struct formula_scope *scope,
                         struct accumulator *out, struct fault *fault)
{
    struct document_walk walk;
    struct field call, more;
    bool is_known;

    if (field.value.type != VALUE_DOCUMENT)
        return fault_raise(arena, fault, 40234, "The field '%.*s' must be an accumulator object",
                           (int)field.name.len, (const char *)field.name.data);
    if (field.name.len == 0 || memchr(field.name.data, '.', field.name.len))
        return fault_raise(arena, fault, 40235,
                           "The field name '%.*s' cannot contain '.' nor be empty",
                           (int)field.name.len, (const char *)field.name.data);
    walk = document_fields(value_document(field.value));
    if (!document_next(&walk, &call) || document_next(&walk, &more))
        return fault_raise(arena, fault, 40238, "The field '%.*s' must specify one accumulator",
                           (int)field.name.len, (const char *)field.name.data);
    *out = (struct accumulator){ .name = field.name };
    TRY(accumulator_parse_call(arena, call, scope, out, &is_known, fault));
    if (is_known)
        return STATUS_OK;
    return fault_raise(arena, fault, 15952, "unknown group operator '%.*s'", (int)call.name.len,
                       (const char *)call.name.data);
}

void accumulator_describe(struct buffer *out)
{
    static const char *const arguments[] = { "an expression", "{}", "n, input", "sortBy, output",
                                             "input, method", "" };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        bool has_n = rows[i].kind == ACCUMULATE_TOP_N || rows[i].kind == ACCUMULATE_BOTTOM_N;
        bool has_p = strcmp(rows[i].name, "$percentile") == 0;
        buffer_append_format(out, "| `%s` | %s%s%s | %s |\n", rows[i].name, has_n ? "n, " : "",
                             arguments[rows[i].shape], has_p ? ", p" : "", rows[i].sentence);
    }
}
