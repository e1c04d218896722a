/* Ranges: from a condition to the stretches of an index that can fulfil it.
 *
 * Each comparison of a path with a literal says in which stretch of the order of keys the value must
 * lie. AND cuts the stretches of a path, OR joins those of a path that every side speaks of. Comparisons
 * hold only within one kind of value, so a stretch never leaves its kind.
 *
 * Only scalars stand in an index at their own path; what could be true for an array or a document there
 * gives no constraint.
 *
 * Often the constraints say as much as the condition itself; then they are exact, and rows found by them
 * need not be asked again. They are not where a text was cut, or where something was left out.
 *
 * Keeps: a row for which the condition is true fulfils every constraint. Pure apart from the arena.
 * Start reading at ranges_derive(). */
#include "query/ranges.h"

#include <math.h>
#include <stdlib.h>

bool expression_is_path(const struct expression *expression)
{
    if (expression->kind != EXPRESSION_MEMBER)
        return false;
    while (expression->kind == EXPRESSION_MEMBER)
        expression = expression->args[0];
    return expression->kind == EXPRESSION_VARIABLE && expression->number == 0;
}

bytes expression_path_first(const struct expression *path)
{
    while (path->args[0]->kind == EXPRESSION_MEMBER)
        path = path->args[0];
    return path->name;
}

/* ---- bounds ----------------------------------------------------------------------------------------- */

status range_encode(struct arena *arena, struct value value, bytes *out)
{
    struct buffer key = buffer_in(arena);

    key_append_value(&key, value, KEY_ASCENDING);
    return buffer_finish(&key, out);
}

status range_encode_entry(struct arena *arena, struct value value, bytes *out, bool *is_cut_out)
{
    struct buffer key = buffer_in(arena);

    *is_cut_out = scan_append_path_value(&key, value);
    return buffer_finish(&key, out);
}

/* No byte of an encoding is FF. */
status range_behind(struct arena *arena, bytes key, bytes *out)
{
    TRY(arena_copy(arena, key, out));
    ((uint8_t *)(uintptr_t)out->data)[out->len - 1]++;
    return STATUS_OK;
}

/* Everything between two encoded values, the second and what begins with it included. */
static status between(struct arena *arena, bytes low, bytes high, struct range *out)
{
    out->start = low;
    return range_behind(arena, high, &out->end);
}

status range_of_key(struct arena *arena, bytes key, enum value_kind kind, struct range *out)
{
    *out = (struct range){ .kind = kind, .is_point = true };
    return between(arena, key, key, out);
}

/* All values of a kind: their encodings begin with a byte of their own, numbers with one of several. */
static status whole_kind(struct arena *arena, enum value_kind kind, struct range *out)
{
    struct value least = value_null(), greatest = value_null();
    bytes low, high;

    if (kind == KIND_BOOL) {
        least = value_bool(false);
        greatest = value_bool(true);
    } else if (kind == KIND_NUMBER) {
        TRY(value_of_double(arena, NAN, &least));
        TRY(value_of_double(arena, INFINITY, &greatest));
    } else if (kind == KIND_STRING) {
        TRY(value_of_text(arena, BYTES_LITERAL(""), &least));
        greatest = least;
    }
    *out = (struct range){ .kind = kind };
    TRY(range_encode(arena, least, &low));
    TRY(range_encode(arena, greatest, &high));
    return between(arena, bytes_of(low.data, 1), bytes_of(high.data, 1), out);
}

static bool is_scalar_kind(enum value_kind kind)
{
    return kind == KIND_NULL || kind == KIND_BOOL || kind == KIND_NUMBER || kind == KIND_STRING;
}

static status point(struct arena *arena, struct value value, struct range *out)
{
    bool is_cut;
    bytes key;

    TRY(range_encode_entry(arena, value, &key, &is_cut));
    *out = (struct range){ .kind = value_kind_of(value), .is_point = !is_cut };
    return between(arena, key, key, out);
}

/* ---- sets of ranges --------------------------------------------------------------------------------- */

static int compare_starts(const void *a, const void *b)
{
    return bytes_compare(((const struct range *)a)->start, ((const struct range *)b)->start);
}

/* Sorts and joins what overlaps; what only touches may be of another kind and stays apart. */
static void normalise(struct constraint *set)
{
    size_t kept = 0;

    if (set->count > 1)
        qsort(set->ranges, set->count, sizeof(set->ranges[0]), compare_starts);
    for (size_t i = 0; i < set->count; i++) {
        struct range *last = kept ? &set->ranges[kept - 1] : NULL;
        const struct range *next = &set->ranges[i];
        if (bytes_compare(next->start, next->end) >= 0)
            continue;
        if (!last || bytes_compare(last->end, next->start) <= 0) {
            set->ranges[kept++] = *next;
            continue;
        }
        last->is_point &= next->is_point;
        if (bytes_compare(last->end, next->end) < 0)
            last->end = next->end;
    }
    set->count = kept;
}

static status intersect(struct arena *arena, struct constraint *into,
                        const struct constraint *other)
{
    struct range *result;
    size_t count = 0, i = 0, j = 0;

    TRY(ARENA_NEW(arena, into->count + other->count, &result));
    while (i < into->count && j < other->count) {
        const struct range *a = &into->ranges[i], *b = &other->ranges[j];
        bool is_a_first = bytes_compare(a->end, b->end) < 0;
        struct range both = *(a->is_point ? a : b);
        both.start = bytes_compare(a->start, b->start) > 0 ? a->start : b->start;
        both.end = is_a_first ? a->end : b->end;
        if (bytes_compare(both.start, both.end) < 0)
            result[count++] = both;
        i += is_a_first;
        j += !is_a_first;
    }
    into->ranges = result;
    into->count = count;
    return STATUS_OK;
}

/* Adds the ranges of the other; to be normalised when all are there. */
static status join(struct arena *arena, struct constraint *into, const struct constraint *other)
{
    size_t count = into->count + other->count;

    if (count > into->room) {
        struct range *more;
        TRY(ARENA_NEW(arena, count * 2, &more));
        if (into->count)
            memcpy(more, into->ranges, into->count * sizeof(*more));
        into->ranges = more;
        into->room = count * 2;
    }
    if (other->count)
        memcpy(into->ranges + into->count, other->ranges, other->count * sizeof(*other->ranges));
    into->count = count;
    return STATUS_OK;
}

/* ---- single comparisons ----------------------------------------------------------------------------- */

static struct constraint *add(struct constraints *out, const struct expression *path, size_t room,
                              struct arena *arena, status *s)
{
    struct constraint *constraint = &out->items[out->count];

    if (out->count == CONSTRAINTS_MAX || room > LIMIT_QUERY_RANGES)
        return NULL;
    *constraint = (struct constraint){ .path = path };
    *s = ARENA_NEW(arena, room ? room : 1, &constraint->ranges);
    if (s->code != OK)
        return NULL;
    out->count++;
    return constraint;
}

/* `function` with its sides changed over: 5 < x is x > 5. */
static enum function mirrored(enum function function)
{
    return function == FUNCTION_less            ? FUNCTION_greater
           : function == FUNCTION_less_equal    ? FUNCTION_greater_equal
           : function == FUNCTION_greater       ? FUNCTION_less
           : function == FUNCTION_greater_equal ? FUNCTION_less_equal
                                                : function;
}

static status narrow(struct arena *arena, enum function function, struct value literal,
                     struct range *range, bool *is_exact)
{
    bytes key, after;
    bool is_cut;

    TRY(range_encode_entry(arena, literal, &key, &is_cut));
    TRY(range_behind(arena, key, &after));
    if (function == FUNCTION_less)
        range->end = is_cut ? after : key;
    if (function == FUNCTION_less_equal)
        range->end = after;
    if (function == FUNCTION_greater)
        range->start = is_cut ? key : after;
    if (function == FUNCTION_greater_equal)
        range->start = key;
    *is_exact &= !is_cut;
    return STATUS_OK;
}

/* The only value that is allowed. */
static status take_point(struct arena *arena, struct value value, struct constraint *constraint,
                         struct constraints *out)
{
    constraint->count = 1;
    TRY(point(arena, value, &constraint->ranges[0]));
    out->is_exact = constraint->ranges[0].is_point;
    return STATUS_OK;
}

static status derive_comparison(struct arena *arena, const struct expression *call,
                                struct constraints *out)
{
    bool is_swapped = call->args[0]->kind == EXPRESSION_LITERAL;
    const struct expression *path = call->args[is_swapped], *literal = call->args[!is_swapped];
    enum function function = is_swapped ? mirrored(call->function) : call->function;
    struct constraint *constraint;
    status s = STATUS_OK;

    if (!expression_is_path(path) || literal->kind != EXPRESSION_LITERAL)
        return STATUS_OK;
    enum value_kind kind = value_kind_of(literal->literal);
    if (!is_scalar_kind(kind) && kind != KIND_MISSING)
        return STATUS_OK;
    constraint = add(out, path, 1, arena, &s);
    if (!constraint || kind == KIND_MISSING)
        return s;
    if (function == FUNCTION_equal)
        return take_point(arena, literal->literal, constraint, out);
    constraint->count = 1;
    out->is_exact = true;
    TRY(whole_kind(arena, kind, &constraint->ranges[0]));
    TRY(narrow(arena, function, literal->literal, &constraint->ranges[0], &out->is_exact));
    normalise(constraint);
    return STATUS_OK;
}

static status derive_between(struct arena *arena, const struct expression *call,
                             struct constraints *out)
{
    const struct expression *low = call->args[1], *high = call->args[2];
    struct constraint *constraint;
    status s = STATUS_OK;

    if (!expression_is_path(call->args[0]) || low->kind != EXPRESSION_LITERAL ||
        high->kind != EXPRESSION_LITERAL)
        return STATUS_OK;
    enum value_kind kind = value_kind_of(low->literal);
    bool is_possible = kind == value_kind_of(high->literal);
    if (is_possible && !is_scalar_kind(kind))
        return STATUS_OK;
    constraint = add(out, call->args[0], 1, arena, &s);
    if (!constraint || !is_possible)
        return s;
    constraint->count = 1;
    out->is_exact = true;
    TRY(whole_kind(arena, kind, &constraint->ranges[0]));
    TRY(narrow(arena, FUNCTION_greater_equal, low->literal, &constraint->ranges[0],
               &out->is_exact));
    TRY(narrow(arena, FUNCTION_less_equal, high->literal, &constraint->ranges[0], &out->is_exact));
    normalise(constraint);
    return STATUS_OK;
}

static status derive_in(struct arena *arena, const struct expression *call, struct constraints *out)
{
    struct constraint *constraint;
    status s = STATUS_OK;

    if (!expression_is_path(call->args[0]))
        return STATUS_OK;
    for (size_t i = 1; i < call->count; i++) {
        if (call->args[i]->kind != EXPRESSION_LITERAL ||
            !is_scalar_kind(value_kind_of(call->args[i]->literal)))
            return STATUS_OK;
    }
    constraint = add(out, call->args[0], call->count - 1, arena, &s);
    if (!constraint)
        return s;
    out->is_exact = true;
    for (size_t i = 1; i < call->count; i++) {
        struct range *range = &constraint->ranges[constraint->count++];
        TRY(point(arena, call->args[i]->literal, range));
        out->is_exact &= range->is_point;
    }
    normalise(constraint);
    return STATUS_OK;
}

static status derive_kind(struct arena *arena, const struct expression *call, enum value_kind kind,
                          struct constraints *out)
{
    struct constraint *constraint;
    status s = STATUS_OK;

    if (!expression_is_path(call->args[0]))
        return STATUS_OK;
    constraint = add(out, call->args[0], 1, arena, &s);
    if (!constraint)
        return s;
    constraint->count = 1;
    out->is_exact = true;
    return whole_kind(arena, kind, &constraint->ranges[0]);
}

/* A path that has to be this bool. */
static status derive_bool(struct arena *arena, const struct expression *path, bool truth,
                          struct constraints *out)
{
    struct constraint *constraint;
    status s = STATUS_OK;

    if (!expression_is_path(path))
        return STATUS_OK;
    constraint = add(out, path, 1, arena, &s);
    if (!constraint)
        return s;
    return take_point(arena, value_bool(truth), constraint, out);
}

/* Strings that begin with `prefix`: their encodings do, up to the mark that ends a string. */
static status derive_prefix(struct arena *arena, const struct expression *path, bytes prefix,
                            struct constraints *out)
{
    struct constraint *constraint;
    struct value text;
    status s = STATUS_OK;
    bool is_cut;
    bytes key;

    constraint = add(out, path, 1, arena, &s);
    if (!constraint)
        return s;
    constraint->count = 1;
    constraint->ranges[0] = (struct range){ .kind = KIND_STRING };
    TRY(value_of_text(arena, prefix, &text));
    TRY(range_encode_entry(arena, text, &key, &is_cut));
    out->is_exact = !is_cut;
    key.len--;
    return between(arena, key, key, &constraint->ranges[0]);
}

static bool is_text_literal(const struct expression *expression)
{
    return expression->kind == EXPRESSION_LITERAL &&
           value_kind_of(expression->literal) == KIND_STRING;
}

static status derive_text(struct arena *arena, const struct expression *call,
                          struct constraints *out)
{
    bytes prefix;

    if (!expression_is_path(call->args[0]) || !is_text_literal(call->args[1]))
        return STATUS_OK;
    prefix = value_text(call->args[1]->literal);
    if (call->function == FUNCTION_like) {
        uint32_t escape = 0;
        if (call->count == 3 && (call->args[2]->kind != EXPRESSION_LITERAL ||
                                 !like_escape(call->args[2]->literal, &escape)))
            return STATUS_OK;
        TRY(like_prefix(arena, prefix, escape, &prefix));
    } else if (call->count == 3 && (call->args[2]->kind != EXPRESSION_LITERAL ||
                                    value_is_true(call->args[2]->literal))) {
        return STATUS_OK;
    }
    TRY(derive_prefix(arena, call->args[0], prefix, out));
    /* What follows the front of a pattern is not looked at, nor is a third argument. */
    out->is_exact &= call->function == FUNCTION_starts_with && call->count == 2;
    return STATUS_OK;
}

static status derive_element(struct arena *arena, const struct expression *call,
                             struct constraints *out)
{
    struct constraint *constraint;
    status s = STATUS_OK;

    if (!expression_is_path(call->args[0]) || call->args[1]->kind != EXPRESSION_LITERAL ||
        !is_scalar_kind(value_kind_of(call->args[1]->literal)))
        return STATUS_OK;
    constraint = add(out, call->args[0], 1, arena, &s);
    if (!constraint)
        return s;
    constraint->is_element = true;
    TRY(take_point(arena, call->args[1]->literal, constraint, out));
    out->is_exact &= call->count == 2;
    return STATUS_OK;
}

/* Is one of these values at the path? As with IN, but the values are one list, of a parameter mostly. */
static status derive_listed(struct arena *arena, const struct expression *call,
                            struct constraints *out)
{
    const struct expression *list = call->args[0], *path = call->args[1];
    struct document_walk walk;
    struct field item;
    status s = STATUS_OK;
    size_t count = 0;

    if (list->literal.type != VALUE_ARRAY || !expression_is_path(path) || call->count != 2)
        return STATUS_OK;
    for (walk = document_fields(value_document(list->literal)); document_next(&walk, &item);
         count++) {
        if (!is_scalar_kind(value_kind_of(item.value)))
            return STATUS_OK;
    }
    struct constraint *constraint = add(out, path, count, arena, &s);
    if (!constraint)
        return s;
    out->is_exact = true;
    walk = document_fields(value_document(list->literal));
    while (document_next(&walk, &item)) {
        struct range *range = &constraint->ranges[constraint->count++];
        TRY(point(arena, item.value, range));
        out->is_exact &= range->is_point;
    }
    normalise(constraint);
    return STATUS_OK;
}

/* What the condition says that this variable is equal to; NULL if it says nothing of that kind. */
static const struct expression *equal_literal(const struct expression *where, uint32_t variable)
{
    const struct expression *found = NULL;

    if (!where || where->kind != EXPRESSION_CALL)
        return NULL;
    for (size_t i = 0; where->function == FUNCTION_and && i < where->count && !found; i++)
        found = equal_literal(where->args[i], variable);
    if (where->function != FUNCTION_equal)
        return found;
    bool is_swapped = where->args[0]->kind == EXPRESSION_LITERAL;
    const struct expression *of = where->args[is_swapped], *literal = where->args[!is_swapped];
    bool is_it = of->kind == EXPRESSION_VARIABLE && of->number == variable &&
                 literal->kind == EXPRESSION_LITERAL &&
                 is_scalar_kind(value_kind_of(literal->literal));
    return is_it ? literal : NULL;
}

/* Is there a row as soon as an element is that value? Nothing else is asked of it, and it shows something. */
static bool is_only_equality(const struct query *query)
{
    const struct expression *output = query->output;
    bool is_shown = !query->is_output_bare ||
                    (output->kind == EXPRESSION_VARIABLE &&
                     output->number == query->bindings->variable) ||
                    (output->kind == EXPRESSION_LITERAL && output->literal.type != VALUE_MISSING);

    return is_shown && query->binding_count == 1 && query->where->function == FUNCTION_equal;
}

/* EXISTS over the elements of an array, one of which has to be a certain value. */
static status derive_exists(struct arena *arena, const struct expression *x,
                            struct constraints *out)
{
    const struct query *query = x->query;
    const struct query_binding *binding = query->bindings;
    struct constraint *constraint;
    status s = STATUS_OK;

    if (x->subquery != SUBQUERY_EXISTS || query->binding_count == 0 || query->aggregate_count > 0 ||
        binding->kind != BINDING_ELEMENTS || !expression_is_path(binding->of))
        return STATUS_OK;
    const struct expression *literal = equal_literal(query->where, binding->variable);
    constraint = literal ? add(out, binding->of, 1, arena, &s) : NULL;
    if (!constraint)
        return s;
    constraint->is_element = true;
    TRY(take_point(arena, literal->literal, constraint, out));
    out->is_exact &= is_only_equality(query);
    return STATUS_OK;
}

/* ---- AND, OR and everything ------------------------------------------------------------------------- */

static status derive(struct arena *arena, const struct expression *x, struct constraints *out);

/* The constraint on the same values, of which two can be combined. */
static struct constraint *same_path(struct constraints *in, const struct constraint *as)
{
    for (size_t i = 0; i < in->count && !as->is_element; i++) {
        if (!in->items[i].is_element && expression_equal(in->items[i].path, as->path))
            return &in->items[i];
    }
    return NULL;
}

static status derive_and(struct arena *arena, const struct expression *call,
                         struct constraints *out)
{
    struct constraints *one;
    bool is_exact = true;

    TRY(ARENA_NEW(arena, 1, &one));
    for (size_t i = 0; i < call->count; i++) {
        one->count = 0;
        TRY(derive(arena, call->args[i], one));
        is_exact &= one->is_exact;
        for (size_t j = 0; j < one->count; j++) {
            struct constraint *same = same_path(out, &one->items[j]);
            if (same)
                TRY(intersect(arena, same, &one->items[j]));
            else if (out->count < CONSTRAINTS_MAX)
                out->items[out->count++] = one->items[j];
            else
                is_exact = false;
        }
    }
    out->is_exact = is_exact;
    return STATUS_OK;
}

/* Adds the other side's ranges to those paths that it speaks of too; the others are let go. */
static status join_all(struct arena *arena, struct constraints *into, struct constraints *other)
{
    size_t kept = 0;

    for (size_t i = 0; i < into->count; i++) {
        struct constraint joined = into->items[i];
        const struct constraint *same = same_path(other, &joined);
        if (!same || joined.count + same->count > LIMIT_QUERY_RANGES)
            continue;
        TRY(join(arena, &joined, same));
        into->items[kept++] = joined;
    }
    into->count = kept;
    return STATUS_OK;
}

/* Exact only if all sides speak of one and the same path, and of nothing else. */
static status derive_or(struct arena *arena, const struct expression *call, struct constraints *out)
{
    struct constraints *one;

    TRY(ARENA_NEW(arena, 1, &one));
    TRY(derive(arena, call->args[0], out));
    bool is_exact = out->is_exact && out->count == 1;
    for (size_t i = 1; i < call->count && out->count; i++) {
        one->count = 0;
        TRY(derive(arena, call->args[i], one));
        is_exact &= one->is_exact && one->count == 1;
        TRY(join_all(arena, out, one));
    }
    out->is_exact = is_exact && out->count == 1;
    for (size_t i = 0; i < out->count; i++)
        normalise(&out->items[i]);
    return STATUS_OK;
}

static status derive_call(struct arena *arena, const struct expression *x, struct constraints *out)
{
    switch ((int)x->function) {
    case FUNCTION_and:
        return derive_and(arena, x, out);
    case FUNCTION_or:
        return derive_or(arena, x, out);
    case FUNCTION_not:
        return derive_bool(arena, x->args[0], false, out);
    case FUNCTION_equal:
    case FUNCTION_less:
    case FUNCTION_less_equal:
    case FUNCTION_greater:
    case FUNCTION_greater_equal:
        return derive_comparison(arena, x, out);
    case FUNCTION_between:
        return derive_between(arena, x, out);
    case FUNCTION_in:
        return derive_in(arena, x, out);
    case FUNCTION_is_null:
        return derive_kind(arena, x, KIND_NULL, out);
    case FUNCTION_is_bool:
        return derive_kind(arena, x, KIND_BOOL, out);
    case FUNCTION_is_number:
        return derive_kind(arena, x, KIND_NUMBER, out);
    case FUNCTION_is_string:
        return derive_kind(arena, x, KIND_STRING, out);
    case FUNCTION_like:
    case FUNCTION_starts_with:
        return derive_text(arena, x, out);
    case FUNCTION_array_contains:
        return x->args[0]->kind == EXPRESSION_LITERAL ? derive_listed(arena, x, out)
                                                      : derive_element(arena, x, out);
    default:
        return STATUS_OK;
    }
}

static status derive(struct arena *arena, const struct expression *x, struct constraints *out)
{
    out->is_exact = false;
    if (x->kind == EXPRESSION_MEMBER)
        return derive_bool(arena, x, true, out);
    if (x->kind == EXPRESSION_SUBQUERY)
        return derive_exists(arena, x, out);
    return x->kind == EXPRESSION_CALL ? derive_call(arena, x, out) : STATUS_OK;
}

status ranges_derive(struct arena *arena, const struct expression *where, struct constraints *out)
{
    out->count = 0;
    out->is_exact = true;
    return where ? derive(arena, where, out) : STATUS_OK;
}

status ranges_of_kinds(struct arena *arena, const struct expression *path,
                       const enum value_kind *kinds, size_t count, struct constraint *out)
{
    *out = (struct constraint){ .path = path };
    TRY(ARENA_NEW(arena, count, &out->ranges));
    for (size_t i = 0; i < count; i++)
        TRY(whole_kind(arena, kinds[i], &out->ranges[out->count++]));
    normalise(out);
    return STATUS_OK;
}
