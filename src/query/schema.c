/* Schema: does a value fulfil the rules about its shape?
 *
 * A walk over the rules; those that speak of parts of a value go down into it. What is asked of one value is
 * asked once, so that the work is bounded by the sizes of both; steps are counted all the same, because
 * patterns are asked for every field.
 *
 * Keeps: recursion is as deep as schemas are nested, which checked documents bound.
 * Threads: pure apart from the scratch arena of the matching. Start reading at schema_judge(). */
#include "query/schema.h"

#include <stdlib.h>

#include "query/match_parts.h"

/* ---- equality --------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(((const struct field *)a)->name, ((const struct field *)b)->name);
}

static bool has_inside(struct value value)
{
    return value.type == VALUE_DOCUMENT || value.type == VALUE_ARRAY;
}

status schema_normal_value(struct arena *arena, struct value value, struct value *out)
{
    struct buffer normal = buffer_in(arena);
    struct document_walk walk;
    struct field *fields;
    size_t count = 0;

    *out = value;
    if (!has_inside(value))
        return STATUS_OK;
    TRY(ARENA_NEW(arena, document_field_count(value_document(value)), &fields));
    walk = document_fields(value_document(value));
    for (struct field field; document_next(&walk, &field); count++) {
        fields[count].name = field.name;
        TRY(schema_normal_value(arena, field.value, &fields[count].value));
    }
    if (value.type == VALUE_DOCUMENT && count > 1)
        qsort(fields, count, sizeof(*fields), compare_names);
    size_t begun = document_begin(&normal);
    for (size_t i = 0; i < count; i++)
        document_append(&normal, fields[i].name, fields[i].value);
    document_end(&normal, begun);
    return buffer_finish(&normal, &out->raw);
}

struct element {
    struct value value, normal;
    size_t position;
};

static int compare_elements(const void *a, const void *b)
{
    const struct element *left = a, *right = b;
    int order = value_compare(left->normal, right->normal);

    return order != 0 ? order
                      : (left->position > right->position) - (left->position < right->position);
}

status schema_find_double(struct arena *arena, struct value array, struct value *out)
{
    struct document_walk walk = document_fields(value_document(array));
    struct element *elements;
    size_t count = 0, first = SIZE_MAX;
    struct field field;

    *out = (struct value){ 0 };
    TRY(ARENA_NEW(arena, document_field_count(value_document(array)), &elements));
    for (; document_next(&walk, &field); count++) {
        elements[count] = (struct element){ .value = field.value, .position = count };
        TRY(schema_normal_value(arena, field.value, &elements[count].normal));
    }
    if (count > 1)
        qsort(elements, count, sizeof(*elements), compare_elements);
    for (size_t i = 1; i < count; i++) {
        if (value_compare(elements[i - 1].normal, elements[i].normal) == 0 &&
            elements[i - 1].position < first) {
            first = elements[i - 1].position;
            *out = elements[i - 1].value;
        }
    }
    return STATUS_OK;
}

static status judge_unique(struct matching *matching, struct value array, bool *out)
{
    arena_position mark = arena_mark(matching->scratch);
    struct value found;

    TRY(schema_find_double(matching->scratch, array, &found));
    *out = found.type == VALUE_MISSING;
    arena_release(matching->scratch, mark);
    return STATUS_OK;
}

static int compare_values(const void *a, const void *b)
{
    return value_compare(*(const struct value *)a, *(const struct value *)b);
}

static status judge_enum(const struct schema_rule *rule, struct matching *matching,
                         struct value value, bool *out)
{
    arena_position mark = arena_mark(matching->scratch);
    struct value normal;

    TRY(schema_normal_value(matching->scratch, value, &normal));
    *out = bsearch(&normal, rule->values, rule->value_count, sizeof(normal), compare_values) !=
           NULL;
    arena_release(matching->scratch, mark);
    return STATUS_OK;
}

/* ---- single values ---------------------------------------------------------------------------------- */

static status judge_pattern(const struct pattern *pattern, struct matching *matching, bytes text,
                            bool *out)
{
    struct pattern_place place;

    TRY(match_count_steps(matching, 1));
    TRY(pattern_match(pattern, matching->scratch, text, &place));
    *out = place.is_found;
    return STATUS_OK;
}

/* Decimal arithmetic, so that 0.3 is a multiple of 0.1. */
static status judge_multiple(const struct schema_rule *rule, struct matching *matching,
                             struct value value, bool *out)
{
    arena_position mark = arena_mark(matching->scratch);
    struct value number, divisor, left;
    int64_t whole;

    TRY(number_to_decimal(matching->scratch, value, &number));
    TRY(number_to_decimal(matching->scratch, rule->limit, &divisor));
    TRY(number_calculate(matching->scratch, NUMBER_MODULO, number, divisor, &left));
    *out = value_as_int64(left, &whole) && whole == 0;
    arena_release(matching->scratch, mark);
    return STATUS_OK;
}

static status judge_number(const struct schema_rule *rule, struct matching *matching,
                           struct value value, bool *out)
{
    struct match leaf = { .value = rule->limit };

    if (rule->keyword == SCHEMA_MULTIPLE_OF)
        return judge_multiple(rule, matching, value, out);
    if (rule->keyword == SCHEMA_MAXIMUM)
        leaf.kind = rule->is_exclusive ? MATCH_LESS : MATCH_LESS_EQUAL;
    else
        leaf.kind = rule->is_exclusive ? MATCH_GREATER : MATCH_GREATER_EQUAL;
    return match_ask_leaf(&leaf, matching, value, out);
}

static status judge_text(const struct schema_rule *rule, struct matching *matching,
                         struct value value, bool *out)
{
    if (rule->keyword == SCHEMA_PATTERN)
        return judge_pattern(rule->pattern, matching, value_text(value), out);
    int64_t length = (int64_t)text_character_count(value_text(value));
    *out = rule->keyword == SCHEMA_MAX_LENGTH ? length <= rule->count : length >= rule->count;
    return STATUS_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

/* Each element from a position on fulfils `other`; if there is none, there is no such element. */
static status judge_elements(const struct schema_rule *rule, struct matching *matching, bytes array,
                             int64_t from, bool *out)
{
    struct document_walk walk = document_fields(array);
    struct field element;

    *out = true;
    for (int64_t i = 0; *out && document_next(&walk, &element); i++) {
        if (i < from)
            continue;
        if (rule->other)
            TRY(schema_judge(rule->other, matching, element.value, out));
        else
            *out = false;
    }
    return STATUS_OK;
}

static status judge_positions(const struct schema_rule *rule, struct matching *matching,
                              bytes array, bool *out)
{
    struct document_walk walk = document_fields(array);
    struct field element;

    *out = true;
    for (size_t i = 0; *out && i < rule->part_count && document_next(&walk, &element); i++)
        TRY(schema_judge(rule->parts[i].schema, matching, element.value, out));
    return STATUS_OK;
}

static status judge_array(const struct schema_rule *rule, struct matching *matching,
                          struct value value, bool *out)
{
    bytes array = value_document(value);
    int64_t count = (int64_t)document_field_count(array);

    switch ((int)rule->keyword) {
    case SCHEMA_UNIQUE_ITEMS:
        return judge_unique(matching, value, out);
    case SCHEMA_ITEMS:
        if (rule->other)
            return judge_elements(rule, matching, array, 0, out);
        return judge_positions(rule, matching, array, out);
    case SCHEMA_ADDITIONAL_ITEMS:
        return judge_elements(rule, matching, array, rule->count, out);
    default:
        *out = rule->keyword == SCHEMA_MIN_ITEMS ? count >= rule->count : count <= rule->count;
        return STATUS_OK;
    }
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* So many names are looked for among the fields of a document; a step is worth a handful of comparisons. */
static status count_search(struct matching *matching, size_t names, bytes document)
{
    return match_count_steps(matching, 1 + names * document_field_count(document) / 64);
}

static status has_all(const struct schema_names *names, struct matching *matching, bytes document,
                      bool *out)
{
    struct value found;

    TRY(count_search(matching, names->count, document));
    *out = true;
    for (size_t i = 0; *out && i < names->count; i++)
        *out = document_find_bytes(document, names->items[i], &found);
    return STATUS_OK;
}

/* Properties and dependencies: parts by name, asked where the property is there. */
static status judge_named(const struct schema_rule *rule, struct matching *matching,
                          struct value value, bool *out)
{
    bytes document = value_document(value);

    *out = true;
    TRY(count_search(matching, rule->part_count, document));
    for (size_t i = 0; *out && i < rule->part_count; i++) {
        const struct schema_part *part = &rule->parts[i];
        struct value found;
        if (!document_find_bytes(document, part->name, &found))
            continue;
        if (rule->keyword == SCHEMA_PROPERTIES)
            TRY(schema_judge(part->schema, matching, found, out));
        else if (part->schema)
            TRY(schema_judge(part->schema, matching, value, out));
        else
            TRY(has_all(&part->names, matching, document, out));
    }
    return STATUS_OK;
}

status schema_fits_pattern(const struct schema_part *part, struct matching *matching, bytes name,
                           bool *out)
{
    return judge_pattern(part->pattern, matching, name, out);
}

status schema_is_other(const struct schema_rule *additional, struct matching *matching, bytes name,
                       bool *out)
{
    const struct schema_rule *named = additional->named, *patterned = additional->patterned;
    bool is_found = false;

    TRY(match_count_steps(matching, 1 + (named ? named->part_count / 64 : 0)));
    for (size_t i = 0; named && !is_found && i < named->part_count; i++)
        is_found = bytes_equal(named->parts[i].name, name);
    for (size_t i = 0; patterned && !is_found && i < patterned->part_count; i++)
        TRY(schema_fits_pattern(&patterned->parts[i], matching, name, &is_found));
    *out = !is_found;
    return STATUS_OK;
}

static status judge_others(const struct schema_rule *rule, struct matching *matching,
                           bytes document, bool *out)
{
    struct document_walk walk = document_fields(document);
    struct field field;
    bool is_other;

    *out = true;
    while (*out && document_next(&walk, &field)) {
        TRY(schema_is_other(rule, matching, field.name, &is_other));
        if (is_other && rule->other)
            TRY(schema_judge(rule->other, matching, field.value, out));
        else
            *out = !is_other;
    }
    return STATUS_OK;
}

static status judge_patterned(const struct schema_rule *rule, struct matching *matching,
                              bytes document, bool *out)
{
    struct document_walk walk = document_fields(document);
    struct field field;
    bool fits;

    *out = true;
    while (document_next(&walk, &field)) {
        for (size_t i = 0; i < rule->part_count; i++) {
            TRY(schema_fits_pattern(&rule->parts[i], matching, field.name, &fits));
            if (fits)
                TRY(schema_judge(rule->parts[i].schema, matching, field.value, out));
            if (!*out)
                return STATUS_OK;
        }
    }
    return STATUS_OK;
}

static status judge_document(const struct schema_rule *rule, struct matching *matching,
                             struct value value, bool *out)
{
    bytes document = value_document(value);

    switch ((int)rule->keyword) {
    case SCHEMA_PROPERTIES:
    case SCHEMA_DEPENDENCIES:
        return judge_named(rule, matching, value, out);
    case SCHEMA_ADDITIONAL_PROPERTIES:
        return judge_others(rule, matching, document, out);
    case SCHEMA_PATTERN_PROPERTIES:
        return judge_patterned(rule, matching, document, out);
    case SCHEMA_REQUIRED:
        return has_all(&rule->names, matching, document, out);
    default:
        break;
    }
    int64_t count = (int64_t)document_field_count(document);
    *out = rule->keyword == SCHEMA_MIN_PROPERTIES ? count >= rule->count : count <= rule->count;
    return STATUS_OK;
}

/* ---- schemas within each other ---------------------------------------------------------------------- */

static status judge_several(const struct schema_rule *rule, struct matching *matching,
                            struct value value, bool *out)
{
    size_t fulfilled = 0;

    for (size_t i = 0; i < rule->part_count; i++) {
        bool is_fulfilled;
        TRY(schema_judge(rule->parts[i].schema, matching, value, &is_fulfilled));
        fulfilled += is_fulfilled;
    }
    if (rule->keyword == SCHEMA_ONE_OF)
        *out = fulfilled == 1;
    else
        *out = rule->keyword == SCHEMA_ALL_OF ? fulfilled == rule->part_count : fulfilled > 0;
    return STATUS_OK;
}

status schema_judge_rule(const struct schema_rule *rule, struct matching *matching,
                         struct value value, bool *out)
{
    *out = true;
    TRY(match_count_steps(matching, 1));
    switch (rule->keyword) {
    case SCHEMA_MAXIMUM:
    case SCHEMA_MINIMUM:
    case SCHEMA_MULTIPLE_OF:
        return value_is_number(value) ? judge_number(rule, matching, value, out) : STATUS_OK;
    case SCHEMA_MAX_LENGTH:
    case SCHEMA_MIN_LENGTH:
    case SCHEMA_PATTERN:
        return value.type == VALUE_STRING ? judge_text(rule, matching, value, out) : STATUS_OK;
    case SCHEMA_MIN_ITEMS:
    case SCHEMA_MAX_ITEMS:
    case SCHEMA_UNIQUE_ITEMS:
    case SCHEMA_ITEMS:
    case SCHEMA_ADDITIONAL_ITEMS:
        return value.type == VALUE_ARRAY ? judge_array(rule, matching, value, out) : STATUS_OK;
    case SCHEMA_PROPERTIES:
    case SCHEMA_ADDITIONAL_PROPERTIES:
    case SCHEMA_PATTERN_PROPERTIES:
    case SCHEMA_REQUIRED:
    case SCHEMA_MIN_PROPERTIES:
    case SCHEMA_MAX_PROPERTIES:
    case SCHEMA_DEPENDENCIES:
        return value.type == VALUE_DOCUMENT ? judge_document(rule, matching, value, out)
                                            : STATUS_OK;
    case SCHEMA_ALL_OF:
    case SCHEMA_ANY_OF:
    case SCHEMA_ONE_OF:
        return judge_several(rule, matching, value, out);
    case SCHEMA_NOT:
        TRY(schema_judge(rule->other, matching, value, out));
        *out = !*out;
        return STATUS_OK;
    case SCHEMA_ENUM:
        return judge_enum(rule, matching, value, out);
    case SCHEMA_TYPE:
        *out = (match_type_bit(value.type) & rule->types) != 0;
        return STATUS_OK;
    }
    return STATUS_OK;
}

status schema_judge(const struct schema *schema, struct matching *matching, struct value value,
                    bool *out)
{
    *out = true;
    for (size_t i = 0; *out && i < schema->rule_count; i++)
        TRY(schema_judge_rule(&schema->rules[i], matching, value, out));
    return STATUS_OK;
}
