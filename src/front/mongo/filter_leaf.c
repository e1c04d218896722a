/* Filter leaf: operators of a filter whose arguments are lists, patterns, types or bits.
 *
 * Each function checks one argument, says what is wrong with it in the words that clients know, and gives
 * one leaf. Lists are sorted here, so that asking them is a search.
 *
 * Threads: pure apart from the arena. */
#include "front/mongo/filter_parts.h"

#include "front/mongo/formula.h"

#include <stdlib.h>

static status bad(struct filter_parser *p, const char *what)
{
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "%s", what);
}

/* ---- patterns --------------------------------------------------------------------------------------- */

/* A regular expression as a value of its own. */
static status make_regex(struct arena *arena, bytes pattern, bytes options, struct value *out)
{
    struct buffer raw = buffer_in(arena);

    buffer_append(&raw, pattern);
    buffer_append_byte(&raw, 0);
    buffer_append(&raw, options);
    buffer_append_byte(&raw, 0);
    *out = (struct value){ .type = VALUE_REGEX };
    return buffer_finish(&raw, &out->raw);
}

static status compile_pattern(struct filter_parser *p, struct value regex,
                              struct match_pattern *out)
{
    struct value_regex parts = value_regex(regex);
    struct pattern_error error;

    out->regex = regex;
    for (size_t i = 0; i < parts.options.len; i++) {
        if (!memchr("imsxu", parts.options.data[i], 5))
            return fault_raise(p->arena, p->fault, 51108, "invalid flag in regex options: %c",
                               parts.options.data[i]);
    }
    TRY(pattern_compile(p->arena, parts.pattern, parts.options, &out->pattern, &error));
    if (!out->pattern)
        return fault_raise(p->arena, p->fault, 51091, "Regular expression is invalid: %s",
                           error.message);
    return STATUS_OK;
}

/* {$regex: pattern or "text", $options: "text"} */
static status join_regex(struct filter_parser *p, struct value regex, struct value options,
                         struct value *out)
{
    bytes pattern, letters;

    if (regex.type == VALUE_REGEX) {
        pattern = value_regex(regex).pattern;
        letters = value_regex(regex).options;
    } else if (regex.type == VALUE_STRING || regex.type == VALUE_SYMBOL) {
        pattern = value_text(regex);
        letters = BYTES_NONE;
        if (pattern.len && memchr(pattern.data, 0, pattern.len))
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "Regular expression cannot contain an embedded null byte");
    } else {
        return bad(p, "$regex has to be a string");
    }
    if (options.type != VALUE_MISSING) {
        if (options.type != VALUE_STRING)
            return bad(p, "$options has to be a string");
        if (letters.len)
            return fault_raise(p->arena, p->fault, 51075,
                               "options set in both $regex and $options");
        letters = value_text(options);
        if (letters.len && memchr(letters.data, 0, letters.len))
            return fault_raise(p->arena, p->fault, 51108,
                               "regex options cannot contain an embedded null byte");
    }
    return make_regex(p->arena, pattern, letters, out);
}

status filter_parse_pattern(struct filter_parser *p, bytes path, struct value regex,
                            struct value options, const struct match **out)
{
    struct match_pattern *pattern;
    struct match *leaf;
    struct value joined = regex;

    if (regex.type != VALUE_REGEX || options.type != VALUE_MISSING)
        TRY(join_regex(p, regex, options, &joined));
    TRY(match_new(p->arena, MATCH_PATTERN, path, &leaf));
    TRY(ARENA_NEW(p->arena, 1, &pattern));
    TRY(compile_pattern(p, joined, pattern));
    leaf->value = joined;
    leaf->patterns = pattern;
    leaf->pattern_count = 1;
    *out = leaf;
    return STATUS_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------ */

static status add_to_in(struct filter_parser *p, struct match *leaf, struct value value,
                        struct value *values, struct match_pattern *patterns)
{
    if (filter_has_operators(value))
        return bad(p, "cannot nest $ under $in");
    if (value.type == VALUE_UNDEFINED)
        return bad(p, "InMatchExpression equality cannot be undefined");
    if (value.type == VALUE_REGEX)
        return compile_pattern(p, value, &patterns[leaf->pattern_count++]);
    leaf->has_null |= value.type == VALUE_NULL;
    values[leaf->value_count++] = value;
    return STATUS_OK;
}

status filter_parse_in(struct filter_parser *p, bytes path, struct value argument, const char *name,
                       const struct match **out)
{
    struct match_pattern *patterns;
    struct document_walk walk;
    struct field element;
    struct value *values;
    struct match *leaf;

    if (argument.type != VALUE_ARRAY)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "%s needs an array", name);
    size_t count = document_field_count(value_document(argument));
    TRY(match_new(p->arena, MATCH_IN, path, &leaf));
    TRY(ARENA_NEW(p->arena, count, &values));
    TRY(ARENA_NEW(p->arena, count, &patterns));
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &element))
        TRY(add_to_in(p, leaf, element.value, values, patterns));
    leaf->collation = formula_scope_collation(p->scope);
    match_sort_values(leaf->collation, values, &leaf->value_count);
    leaf->values = values;
    leaf->patterns = patterns;
    *out = leaf;
    return STATUS_OK;
}

static bool is_element_condition(struct value value)
{
    struct document_walk walk;
    struct field first;

    if (value.type != VALUE_DOCUMENT)
        return false;
    walk = document_fields(value_document(value));
    return document_next(&walk, &first) && bytes_equal(first.name, BYTES_LITERAL("$elemMatch"));
}

/* Every element is a condition of its own on the same path; no element at all holds for nothing. */
status filter_parse_all(struct filter_parser *p, bytes path, struct value argument,
                        const struct match **out)
{
    struct match_list list = { 0 };
    struct document_walk walk;
    struct field element;
    struct match *never;
    bool has_conditions = false;

    if (argument.type != VALUE_ARRAY)
        return bad(p, "$all needs an array");
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &element)) {
        const struct match *item;
        bool is_condition = is_element_condition(element.value);
        if (list.count == 0)
            has_conditions = is_condition;
        if (has_conditions && !is_condition)
            return bad(p, "$all/$elemMatch has to be consistent");
        if (!is_condition && filter_has_operators(element.value))
            return bad(p, "no $ expressions in $all");
        TRY(filter_parse_operand(p, path, element.value, &item));
        TRY(match_list_add(p->arena, &list, item));
    }
    if (list.count)
        return match_join(p->arena, MATCH_AND, list.items, list.count, out);
    TRY(match_new(p->arena, MATCH_NEVER, path, &never));
    *out = never;
    return STATUS_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

status filter_parse_size(struct filter_parser *p, bytes path, struct value argument,
                         const struct match **out)
{
    struct match *leaf;

    TRY(match_new(p->arena, MATCH_SIZE, path, &leaf));
    if (!value_is_number(argument))
        return bad(p, "$size needs a number");
    if (!value_as_int64(argument, &leaf->size))
        return bad(p, "$size must be a whole number");
    if (leaf->size < 0)
        return bad(p, "$size may not be negative");
    *out = leaf;
    return STATUS_OK;
}

status filter_parse_modulo(struct filter_parser *p, bytes path, struct value argument,
                           const struct match **out)
{
    struct document_walk walk;
    struct field divisor, remainder, more;
    struct match *leaf;

    TRY(match_new(p->arena, MATCH_MODULO, path, &leaf));
    if (argument.type != VALUE_ARRAY)
        return bad(p, "malformed mod, needs to be an array");
    walk = document_fields(value_document(argument));
    if (!document_next(&walk, &divisor) || !document_next(&walk, &remainder))
        return bad(p, "malformed mod, not enough elements");
    if (document_next(&walk, &more))
        return bad(p, "malformed mod, too many elements");
    if (!value_is_number(divisor.value))
        return bad(p, "malformed mod, divisor not a number");
    if (!value_is_number(remainder.value))
        return bad(p, "malformed mod, remainder not a number");
    if (!value_cut_to_int64(divisor.value, &leaf->divisor) ||
        !value_cut_to_int64(remainder.value, &leaf->remainder))
        return bad(p, "malformed mod, divisor or remainder out of range of 64-bit integers");
    if (leaf->divisor == 0)
        return bad(p, "divisor cannot be 0");
    *out = leaf;
    return STATUS_OK;
}

/* ---- types ------------------------------------------------------------------------------------------ */

static const struct {
    const char *alias;
    enum value_type type;
} type_names[] = {
    {"double",               VALUE_DOUBLE         },
    { "string",              VALUE_STRING         },
    { "object",              VALUE_DOCUMENT       },
    { "array",               VALUE_ARRAY          },
    { "binData",             VALUE_BINARY         },
    { "undefined",           VALUE_UNDEFINED      },
    { "objectId",            VALUE_OBJECT_ID      },
    { "bool",                VALUE_BOOL           },
    { "date",                VALUE_DATE           },
    { "null",                VALUE_NULL           },
    { "regex",               VALUE_REGEX          },
    { "dbPointer",           VALUE_DB_POINTER     },
    { "javascript",          VALUE_CODE           },
    { "symbol",              VALUE_SYMBOL         },
    { "javascriptWithScope", VALUE_CODE_WITH_SCOPE},
    { "int",                 VALUE_INT32          },
    { "timestamp",           VALUE_TIMESTAMP      },
    { "long",                VALUE_INT64          },
    { "decimal",             VALUE_DECIMAL128     },
    { "minKey",              VALUE_MIN_KEY        },
    { "maxKey",              VALUE_MAX_KEY        },
};

status filter_add_type_alias(struct filter_parser *p, bytes alias, uint32_t *types)
{
    if (bytes_equal(alias, BYTES_LITERAL("number"))) {
        *types |= match_type_bit(VALUE_DOUBLE) | match_type_bit(VALUE_INT32) |
                  match_type_bit(VALUE_INT64) | match_type_bit(VALUE_DECIMAL128);
        return STATUS_OK;
    }
    for (size_t i = 0; i < ARRAY_COUNT(type_names); i++) {
        if (bytes_equal(alias, bytes_of_text(type_names[i].alias))) {
            *types |= match_type_bit(type_names[i].type);
            return STATUS_OK;
        }
    }
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "Unknown type name alias: %.*s",
                       (int)alias.len, (const char *)alias.data);
}

static status add_type(struct filter_parser *p, struct value type, uint32_t *types)
{
    int64_t number;

    if (type.type == VALUE_STRING)
        return filter_add_type_alias(p, value_text(type), types);
    if (!value_is_number(type))
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch,
                           "type must be represented as a number or a string");
    if (value_as_int64(type, &number)) {
        for (size_t i = 0; i < ARRAY_COUNT(type_names); i++) {
            int64_t known = type_names[i].type == VALUE_MIN_KEY ? -1 : (int64_t)type_names[i].type;
            if (known == number) {
                *types |= match_type_bit(type_names[i].type);
                return STATUS_OK;
            }
        }
    }
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "Invalid numerical type code: %g",
                       value_as_double(type));
}

status filter_parse_type(struct filter_parser *p, bytes path, struct value argument,
                         const struct match **out)
{
    struct document_walk walk;
    struct field element;
    struct match *leaf;

    TRY(match_new(p->arena, MATCH_TYPE, path, &leaf));
    *out = leaf;
    if (argument.type != VALUE_ARRAY)
        return add_type(p, argument, &leaf->types);
    walk = document_fields(value_document(argument));
    while (document_next(&walk, &element))
        TRY(add_type(p, element.value, &leaf->types));
    if (!leaf->types)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "$type must match at least one type");
    return STATUS_OK;
}

/* ---- bits ------------------------------------------------------------------------------------------- */

struct positions {
    struct arena *arena;
    uint64_t *items;
    size_t count;
};

static int compare_positions(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static status positions_of_list(struct filter_parser *p, bytes array, struct positions *out)
{
    struct document_walk walk = document_fields(array);
    struct field element;
    int64_t position;

    TRY(ARENA_NEW(p->arena, document_field_count(array), &out->items));
    while (document_next(&walk, &element)) {
        if (!value_is_number(element.value))
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "bit positions must be an integer");
        if (!value_as_int64(element.value, &position) || position > INT32_MAX)
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "bit positions cannot be represented as a 32-bit signed integer");
        if (position < 0)
            return fault_raise(p->arena, p->fault, ERROR_BadValue, "bit positions must be >= 0");
        out->items[out->count++] = (uint64_t)position;
    }
    return STATUS_OK;
}

static status positions_of_bytes(struct filter_parser *p, bytes mask, struct positions *out)
{
    TRY(ARENA_NEW(p->arena, mask.len * 8, &out->items));
    for (size_t i = 0; i < mask.len * 8; i++) {
        if (mask.data[i / 8] >> (i % 8) & 1)
            out->items[out->count++] = i;
    }
    return STATUS_OK;
}

static status positions_of_number(struct filter_parser *p, struct value argument,
                                  struct positions *out)
{
    uint8_t mask[8];
    int64_t number;

    if (!value_as_int64(argument, &number))
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Expected an integer: a bit mask has to fit in 64 bits");
    if (number < 0)
        return fault_raise(p->arena, p->fault, ERROR_FailedToParse,
                           "Expected a non-negative number: a bit mask has no sign");
    for (int i = 0; i < 8; i++)
        mask[i] = (uint8_t)((uint64_t)number >> (8 * i));
    return positions_of_bytes(p, bytes_of(mask, sizeof(mask)), out);
}

status filter_parse_bits(struct filter_parser *p, bytes path, struct value argument,
                         enum match_bits bits, const struct match **out)
{
    struct positions positions = { .arena = p->arena };
    struct match *leaf;

    TRY(match_new(p->arena, MATCH_BITS, path, &leaf));
    if (argument.type == VALUE_ARRAY)
        TRY(positions_of_list(p, value_document(argument), &positions));
    else if (argument.type == VALUE_BINARY)
        TRY(positions_of_bytes(p, value_binary(argument).content, &positions));
    else if (value_is_number(argument))
        TRY(positions_of_number(p, argument, &positions));
    else
        return bad(p, "a bit mask takes an Array, a number, or a BinData");
    if (positions.count > 1)
        qsort(positions.items, positions.count, sizeof(*positions.items), compare_positions);
    leaf->bits = bits;
    leaf->positions = positions.items;
    leaf->position_count = positions.count;
    *out = leaf;
    return STATUS_OK;
}
