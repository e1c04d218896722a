/* Match leaf: does one value fulfil one leaf of a condition?
 *
 * Each kind of leaf is one function of the value that its path has reached; what the path does with
 * arrays is match.c's business. Building the nodes of a tree is here too.
 *
 * Threads: pure apart from the scratch arena of the matching. Start reading at match_ask_leaf(). */
#include "query/match_parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- kinds ------------------------------------------------------------------------------------------ */

/* One type stands for all types of its kind. */
static enum value_type kind_of(enum value_type type)
{
    if (type == VALUE_INT32 || type == VALUE_INT64 || type == VALUE_DECIMAL128)
        return VALUE_DOUBLE;
    if (type == VALUE_SYMBOL)
        return VALUE_STRING;
    return type == VALUE_MISSING || type == VALUE_UNDEFINED ? VALUE_NULL : type;
}

bool match_is_same_kind(struct value a, struct value b)
{
    return kind_of(a.type) == kind_of(b.type);
}

static bool is_equal(const struct collation *by, struct value a, struct value b)
{
    if (kind_of(a.type) != kind_of(b.type))
        return false;
    return kind_of(a.type) == VALUE_NULL || value_compare_by(by, a, b) == 0;
}

bool match_is_equal(struct value a, struct value b)
{
    return is_equal(NULL, a, b);
}

uint32_t match_type_bit(enum value_type type)
{
    switch (type) {
    case VALUE_MISSING:
        return 0;
    case VALUE_MIN_KEY:
        return 1u << 30;
    case VALUE_MAX_KEY:
        return 1u << 31;
    case VALUE_DOUBLE:
    case VALUE_STRING:
    case VALUE_DOCUMENT:
    case VALUE_ARRAY:
    case VALUE_BINARY:
    case VALUE_UNDEFINED:
    case VALUE_OBJECT_ID:
    case VALUE_BOOL:
    case VALUE_DATE:
    case VALUE_NULL:
    case VALUE_REGEX:
    case VALUE_DB_POINTER:
    case VALUE_CODE:
    case VALUE_SYMBOL:
    case VALUE_CODE_WITH_SCOPE:
    case VALUE_INT32:
    case VALUE_TIMESTAMP:
    case VALUE_INT64:
    case VALUE_DECIMAL128:
        break;
    }
    return 1u << type;
}

/* ---- order ------------------------------------------------------------------------------------------ */

static bool is_nan(struct value value)
{
    return value_is_number(value) && isnan(value_as_double(value));
}

static bool holds(enum match_kind kind, int order)
{
    switch ((int)kind) {
    case MATCH_LESS:
        return order < 0;
    case MATCH_LESS_EQUAL:
        return order <= 0;
    case MATCH_GREATER:
        return order > 0;
    case MATCH_GREATER_EQUAL:
        return order >= 0;
    default:
        return order == 0;
    }
}

/* The ends of all order compare with everything; other values only with their kind. */
static bool ask_order(const struct match *leaf, struct value value)
{
    bool is_end = leaf->value.type == VALUE_MIN_KEY || leaf->value.type == VALUE_MAX_KEY;

    if (!is_end && !match_is_same_kind(value, leaf->value))
        return false;
    if (kind_of(leaf->value.type) == VALUE_NULL)
        return holds(leaf->kind, 0);
    if (is_nan(value) != is_nan(leaf->value))
        return is_end && holds(leaf->kind, value_compare_by(leaf->collation, value, leaf->value));
    return holds(leaf->kind, value_compare_by(leaf->collation, value, leaf->value));
}

/* ---- lists and patterns ----------------------------------------------------------------------------- */

static status ask_pattern(const struct match_pattern *pattern, struct matching *matching,
                          struct value value, bool *out)
{
    struct pattern_place place;

    *out = false;
    if (value.type == VALUE_REGEX) {
        *out = value_compare(value, pattern->regex) == 0;
        return STATUS_OK;
    }
    if (value.type != VALUE_STRING && value.type != VALUE_SYMBOL)
        return STATUS_OK;
    TRY(pattern_match(pattern->pattern, matching->scratch, value_text(value), &place));
    *out = place.is_found;
    return STATUS_OK;
}

static int compare_values(const void *a, const void *b, void *by)
{
    return value_compare_by(by, *(const struct value *)a, *(const struct value *)b);
}

void match_sort_values(const struct collation *by, struct value *values, size_t *count)
{
    size_t kept = 0;

    if (*count > 1)
        qsort_r(values, *count, sizeof(*values), compare_values, (void *)(uintptr_t)by);
    for (size_t i = 0; i < *count; i++) {
        if (kept == 0 || value_compare_by(by, values[kept - 1], values[i]) != 0)
            values[kept++] = values[i];
    }
    *count = kept;
}

bool match_has_value(const struct collation *by, const struct value *values, size_t count,
                     struct value value)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = value_compare_by(by, value, values[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static status ask_in(const struct match *leaf, struct matching *matching, struct value value,
                     bool *out)
{
    *out = kind_of(value.type) == VALUE_NULL
               ? leaf->has_null
               : match_has_value(leaf->collation, leaf->values, leaf->value_count, value);
    for (size_t i = 0; !*out && i < leaf->pattern_count; i++)
        TRY(ask_pattern(&leaf->patterns[i], matching, value, out));
    return STATUS_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static bool ask_modulo(const struct match *leaf, struct value value)
{
    int64_t number;

    if (!value_cut_to_int64(value, &number))
        return false;
    /* The one division that overflows has no remainder. */
    int64_t left = leaf->divisor == -1 ? 0 : number % leaf->divisor;
    return left == leaf->remainder;
}

/* Bit `position` of a number (with its sign for ever) or of binary data (zeros behind its end). */
static bool is_bit_set(struct value value, int64_t number, uint64_t position)
{
    if (value.type != VALUE_BINARY)
        return position > 63 ? number < 0 : (uint64_t)number >> position & 1;
    bytes content = value_binary(value).content;
    return position / 8 < content.len && (content.data[position / 8] >> (position % 8) & 1);
}

static bool ask_bits(const struct match *leaf, struct value value)
{
    bool is_any = leaf->bits == BITS_ANY_SET || leaf->bits == BITS_ANY_CLEAR;
    bool wants_set = leaf->bits == BITS_ALL_SET || leaf->bits == BITS_ANY_SET;
    int64_t number = 0;

    if (value.type != VALUE_BINARY && !value_as_int64(value, &number))
        return false;
    for (size_t i = 0; i < leaf->position_count; i++) {
        bool is_wanted = is_bit_set(value, number, leaf->positions[i]) == wants_set;
        if (is_wanted == is_any)
            return is_any;
    }
    return !is_any;
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

static status ask_elements(const struct match *leaf, struct matching *matching, struct value array,
                           bool *out)
{
    struct document_walk walk;
    struct field element;

    *out = false;
    if (array.type != VALUE_ARRAY)
        return STATUS_OK;
    walk = document_fields(value_document(array));
    for (size_t i = 0; document_next(&walk, &element); i++) {
        bool is_inside = element.value.type == VALUE_DOCUMENT || element.value.type == VALUE_ARRAY;
        if (leaf->kind == MATCH_ELEMENT_IS)
            TRY(match_inner_value(leaf->parts[0], matching, element.value, out));
        else if (is_inside)
            TRY(match_inner_document(leaf->parts[0], matching, value_document(element.value), out));
        if (!*out)
            continue;
        matching->has_position = true;
        matching->position = i;
        return STATUS_OK;
    }
    return STATUS_OK;
}

static bool ask_size(const struct match *leaf, struct value value)
{
    return value.type == VALUE_ARRAY && leaf->size >= 0 &&
           document_field_count(value_document(value)) == (uint64_t)leaf->size;
}

/* Of what is near, the nearest is found when all were asked. */
static status ask_geometry(const struct match *leaf, struct matching *matching, struct value value,
                           bool *out)
{
    double distance;

    TRY(geometry_ask(matching->scratch, leaf->geometry, value, out, &distance));
    if (leaf->geometry->relation != GEOMETRY_NEAR)
        return STATUS_OK;
    *out = false;
    if (distance < matching->distance) {
        matching->distance = distance;
        matching->nearest = value;
    }
    return STATUS_OK;
}

status match_ask_leaf(const struct match *leaf, struct matching *matching, struct value value,
                      bool *out)
{
    switch ((int)leaf->kind) {
    case MATCH_EQUAL:
        *out = is_equal(leaf->collation, value, leaf->value);
        return STATUS_OK;
    case MATCH_IN:
        return ask_in(leaf, matching, value, out);
    case MATCH_PATTERN:
        return ask_pattern(&leaf->patterns[0], matching, value, out);
    case MATCH_EXISTS:
        *out = value.type != VALUE_MISSING;
        return STATUS_OK;
    case MATCH_TYPE:
        *out = (match_type_bit(value.type) & leaf->types) != 0;
        return STATUS_OK;
    case MATCH_MODULO:
        *out = ask_modulo(leaf, value);
        return STATUS_OK;
    case MATCH_BITS:
        *out = ask_bits(leaf, value);
        return STATUS_OK;
    case MATCH_SIZE:
        *out = ask_size(leaf, value);
        return STATUS_OK;
    case MATCH_GEOMETRY:
        return ask_geometry(leaf, matching, value, out);
    case MATCH_ELEMENT_WHERE:
    case MATCH_ELEMENT_IS:
        return ask_elements(leaf, matching, value, out);
    default:
        *out = ask_order(leaf, value);
        return STATUS_OK;
    }
}

/* ---- formulas --------------------------------------------------------------------------------------- */

status match_ask_formula(const struct match *match, struct matching *matching, bytes document,
                         bool *out)
{
    arena_position mark = arena_mark(matching->scratch);
    struct value variables[FORMULA_VARIABLES_MAX];
    struct formula_run run = { 0 };
    struct value value;

    if (matching->formulas)
        run = *matching->formulas;
    if (!run.variables)
        run.variables = variables;
    run.arena = matching->scratch;
    run.root = (struct value){ .type = VALUE_DOCUMENT, .raw = document };
    run.current = run.root;
    status s = formula_value(match->formula, &run, &value);
    if (s.code != OK && matching->formulas)
        matching->formulas->refusal = run.refusal;
    TRY(s);
    *out = formula_is_true(value);
    arena_release(matching->scratch, mark);
    return STATUS_OK;
}

/* ---- building --------------------------------------------------------------------------------------- */

status match_new(struct arena *arena, enum match_kind kind, bytes path, struct match **out)
{
    TRY(ARENA_NEW(arena, 1, out));
    (*out)->kind = kind;
    (*out)->path = path;
    return STATUS_OK;
}

status match_join(struct arena *arena, enum match_kind kind, const struct match *const *parts,
                  size_t count, const struct match **out)
{
    struct match *joined;
    const struct match **copies;

    if (count == 1 && (kind == MATCH_AND || kind == MATCH_OR)) {
        *out = parts[0];
        return STATUS_OK;
    }
    TRY(match_new(arena, count ? kind : MATCH_ALWAYS, BYTES_NONE, &joined));
    TRY(ARENA_NEW(arena, count, &copies));
    for (size_t i = 0; i < count; i++)
        copies[i] = parts[i];
    joined->parts = copies;
    joined->count = count;
    *out = joined;
    return STATUS_OK;
}

status match_negate(struct arena *arena, const struct match *part, const struct match **out)
{
    return match_join(arena, MATCH_NOT, &part, 1, out);
}

status match_leaf(struct arena *arena, enum match_kind kind, bytes path, struct value value,
                  const struct match **out)
{
    return match_leaf_by(arena, NULL, kind, path, value, out);
}

status match_leaf_by(struct arena *arena, const struct collation *by, enum match_kind kind,
                     bytes path, struct value value, const struct match **out)
{
    struct match *leaf;

    TRY(match_new(arena, kind, path, &leaf));
    leaf->value = value;
    leaf->collation = by;
    *out = leaf;
    return STATUS_OK;
}
