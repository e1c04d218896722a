/* Validator, schema: which rules of a $jsonSchema a document does not fulfil.
 *
 * One row for each rule that does not hold, in the fields that clients know; a rule about parts of a value
 * has rows of its own for the part that is wrong. Each rule is judged again on the way down, so that the work is
 * that of judging, once for each level.
 *
 * Keeps: what is told about values stops at a bound, because a document may be large and be told several times.
 * Threads: pure apart from the arena; only runs for documents that are refused. Start reading at
 * validator_explain_schema(). */
#include "front/mongo/reply.h"
#include "front/mongo/validator.h"

/* Behind so many bytes neither values nor the words of the schema are repeated. */
enum { EXPLANATION_BYTES = 1024 * 1024 };

struct telling {
    struct matching *matching;
    struct buffer *out;
};

static status tell_rule(struct telling *t, const struct schema_rule *rule, struct value value);

static bool has_room(const struct telling *t, bytes more)
{
    return t->out->len < EXPLANATION_BYTES && more.len < EXPLANATION_BYTES - t->out->len;
}

static void tell_value(struct telling *t, const char *name, struct value value)
{
    if (has_room(t, value.raw))
        document_append(t->out, bytes_of_text(name), value);
}

/* ---- rows ------------------------------------------------------------------------------------------- */

static size_t begin_row(struct telling *t, size_t *count)
{
    char room[REPLY_INDEX_BYTES];

    return reply_begin(t->out, reply_index((*count)++, room));
}

static void tell_title(struct telling *t, const struct schema *schema)
{
    tell_value(t, "title", schema->title);
    tell_value(t, "description", schema->description);
}

/* The rules that do not hold, as an array with that name. */
static status tell_rules(struct telling *t, const char *name, const struct schema *schema,
                         struct value value)
{
    size_t list = reply_begin_array(t->out, name), count = 0;

    for (size_t i = 0; i < schema->rule_count; i++) {
        bool is_fulfilled;
        TRY(schema_judge_rule(&schema->rules[i], t->matching, value, &is_fulfilled));
        if (is_fulfilled)
            continue;
        size_t row = begin_row(t, &count);
        TRY(tell_rule(t, &schema->rules[i], value));
        document_end(t->out, row);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

static bytes keyword_of(const struct schema_rule *rule)
{
    struct document_walk walk = document_fields(rule->specified);
    struct field first = { 0 };

    document_next(&walk, &first);
    return first.name;
}

static void tell_operator(struct telling *t, const struct schema_rule *rule, bool is_specified)
{
    reply_bytes(t->out, "operatorName", keyword_of(rule));
    if (is_specified && has_room(t, rule->specified))
        reply_document(t->out, "specifiedAs", rule->specified);
}

/* ---- single values ---------------------------------------------------------------------------------- */

static const char *reason_of(enum schema_keyword keyword)
{
    switch ((int)keyword) {
    case SCHEMA_MAX_LENGTH:
    case SCHEMA_MIN_LENGTH:
        return "specified string length was not satisfied";
    case SCHEMA_PATTERN:
        return "regular expression did not match";
    case SCHEMA_MULTIPLE_OF:
        return "considered value is not a multiple of the specified value";
    case SCHEMA_MIN_ITEMS:
    case SCHEMA_MAX_ITEMS:
        return "array did not match specified length";
    case SCHEMA_UNIQUE_ITEMS:
        return "found a duplicate item";
    case SCHEMA_MIN_PROPERTIES:
    case SCHEMA_MAX_PROPERTIES:
        return "specified number of properties was not satisfied";
    case SCHEMA_ENUM:
        return "value was not found in enum";
    case SCHEMA_TYPE:
        return "type did not match";
    case SCHEMA_NOT:
        return "child expression matched";
    default:
        return "comparison failed";
    }
}

static status tell_leaf(struct telling *t, const struct schema_rule *rule, struct value value)
{
    struct value found;

    tell_operator(t, rule, rule->keyword != SCHEMA_NOT);
    reply_text(t->out, "reason", reason_of(rule->keyword));
    switch ((int)rule->keyword) {
    case SCHEMA_NOT:
        return STATUS_OK;
    case SCHEMA_MIN_PROPERTIES:
    case SCHEMA_MAX_PROPERTIES:
        reply_int32(t->out, "numberOfProperties",
                    (int32_t)document_field_count(value_document(value)));
        return STATUS_OK;
    default:
        tell_value(t, "consideredValue", value);
    }
    if (rule->keyword == SCHEMA_TYPE)
        reply_text(t->out, "consideredType", value_type_name(value.type));
    if (rule->keyword == SCHEMA_MIN_ITEMS || rule->keyword == SCHEMA_MAX_ITEMS)
        reply_int32(t->out, "numberOfItems", (int32_t)document_field_count(value_document(value)));
    if (rule->keyword == SCHEMA_UNIQUE_ITEMS) {
        TRY(schema_find_double(t->matching->scratch, value, &found));
        tell_value(t, "duplicatedValue", found);
    }
    return STATUS_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

/* The first element from a position on that is wrong. */
static status tell_element(struct telling *t, const struct schema_rule *rule, struct value array,
                           const char *reason)
{
    struct document_walk walk = document_fields(value_document(array));
    struct field element;
    bool is_fulfilled = true;
    int64_t i = 0;

    tell_operator(t, rule, false);
    tell_title(t, rule->other);
    reply_text(t->out, "reason", reason);
    for (; is_fulfilled && document_next(&walk, &element); i++) {
        if (i >= rule->count)
            TRY(schema_judge(rule->other, t->matching, element.value, &is_fulfilled));
    }
    reply_int32(t->out, "itemIndex", (int32_t)(i - 1));
    return tell_rules(t, "details", rule->other, element.value);
}

static status tell_positions(struct telling *t, const struct schema_rule *rule, struct value array)
{
    struct document_walk walk = document_fields(value_document(array));
    struct field element;
    size_t count = 0;

    tell_operator(t, rule, false);
    size_t list = reply_begin_array(t->out, "details");
    for (size_t i = 0; i < rule->part_count && document_next(&walk, &element); i++) {
        bool is_fulfilled;
        TRY(schema_judge(rule->parts[i].schema, t->matching, element.value, &is_fulfilled));
        if (is_fulfilled)
            continue;
        size_t row = begin_row(t, &count);
        reply_int32(t->out, "itemIndex", (int32_t)i);
        tell_title(t, rule->parts[i].schema);
        TRY(tell_rules(t, "details", rule->parts[i].schema, element.value));
        document_end(t->out, row);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

static status tell_more_items(struct telling *t, const struct schema_rule *rule, struct value array)
{
    struct document_walk walk = document_fields(value_document(array));
    char room[REPLY_INDEX_BYTES];
    struct field element;
    size_t told = 0;

    if (rule->other)
        return tell_element(t, rule, array,
                            "At least one additional item did not match the sub-schema");
    tell_operator(t, rule, true);
    reply_text(t->out, "reason", "found additional items");
    size_t list = reply_begin_array(t->out, "additionalItems");
    for (int64_t i = 0; document_next(&walk, &element); i++) {
        if (i >= rule->count && has_room(t, element.value.raw))
            document_append(t->out, bytes_of_text(reply_index(told++, room)), element.value);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

/* ---- documents -------------------------------------------------------------------------------------- */

static void tell_missing(struct telling *t, const struct schema_names *names, struct value document)
{
    size_t list = reply_begin_array(t->out, "missingProperties"), count = 0;
    char room[REPLY_INDEX_BYTES];
    struct value found;

    for (size_t i = 0; i < names->count; i++) {
        if (!document_find_bytes(value_document(document), names->items[i], &found) &&
            has_room(t, names->items[i]))
            reply_bytes(t->out, reply_index(count++, room), names->items[i]);
    }
    document_end(t->out, list);
}

static status tell_properties(struct telling *t, const struct schema_rule *rule,
                              struct value document)
{
    size_t count = 0;

    tell_operator(t, rule, false);
    size_t list = reply_begin_array(t->out, "propertiesNotSatisfied");
    for (size_t i = 0; i < rule->part_count; i++) {
        const struct schema_part *part = &rule->parts[i];
        bool is_fulfilled = true;
        struct value found;
        if (document_find_bytes(value_document(document), part->name, &found))
            TRY(schema_judge(part->schema, t->matching, found, &is_fulfilled));
        if (is_fulfilled)
            continue;
        size_t row = begin_row(t, &count);
        reply_bytes(t->out, "propertyName", part->name);
        tell_title(t, part->schema);
        TRY(tell_rules(t, "details", part->schema, found));
        document_end(t->out, row);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

/* The first field that a pattern finds and whose value is wrong. */
static status find_patterned(struct telling *t, const struct schema_part *part,
                             struct value document, struct field *out, bool *is_found)
{
    struct document_walk walk = document_fields(value_document(document));
    bool fits, is_fulfilled;

    *is_found = false;
    while (!*is_found && document_next(&walk, out)) {
        TRY(schema_fits_pattern(part, t->matching, out->name, &fits));
        if (!fits)
            continue;
        TRY(schema_judge(part->schema, t->matching, out->value, &is_fulfilled));
        *is_found = !is_fulfilled;
    }
    return STATUS_OK;
}

static status tell_patterned(struct telling *t, const struct schema_rule *rule,
                             struct value document)
{
    size_t count = 0;

    tell_operator(t, rule, false);
    size_t list = reply_begin_array(t->out, "details");
    for (size_t i = 0; i < rule->part_count; i++) {
        const struct schema_part *part = &rule->parts[i];
        struct field field;
        bool is_found;
        TRY(find_patterned(t, part, document, &field, &is_found));
        if (!is_found)
            continue;
        size_t row = begin_row(t, &count);
        reply_bytes(t->out, "propertyName", field.name);
        tell_title(t, part->schema);
        reply_bytes(t->out, "regexMatched", part->name);
        TRY(tell_rules(t, "details", part->schema, field.value));
        document_end(t->out, row);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

/* The first one that is wrong, where they have a schema. */
static status tell_other_value(struct telling *t, const struct schema_rule *rule,
                               struct value document)
{
    struct document_walk walk = document_fields(value_document(document));
    bool is_other, is_fulfilled = true;
    struct field field;

    tell_operator(t, rule, false);
    tell_title(t, rule->other);
    reply_text(t->out, "reason", "at least one additional property did not match the subschema");
    while (is_fulfilled && document_next(&walk, &field)) {
        TRY(schema_is_other(rule, t->matching, field.name, &is_other));
        if (is_other)
            TRY(schema_judge(rule->other, t->matching, field.value, &is_fulfilled));
    }
    reply_bytes(t->out, "failingProperty", field.name);
    return tell_rules(t, "details", rule->other, field.value);
}

static status tell_others(struct telling *t, const struct schema_rule *rule, struct value document)
{
    struct document_walk walk = document_fields(value_document(document));
    char room[REPLY_INDEX_BYTES];
    struct field field;
    size_t count = 0;
    bool is_other;

    if (rule->other)
        return tell_other_value(t, rule, document);
    tell_operator(t, rule, true);
    size_t list = reply_begin_array(t->out, "additionalProperties");
    while (document_next(&walk, &field)) {
        TRY(schema_is_other(rule, t->matching, field.name, &is_other));
        if (is_other && has_room(t, field.name))
            reply_bytes(t->out, reply_index(count++, room), field.name);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

static status tell_dependencies(struct telling *t, const struct schema_rule *rule,
                                struct value document)
{
    size_t count = 0;

    tell_operator(t, rule, false);
    size_t list = reply_begin_array(t->out, "failingDependencies");
    for (size_t i = 0; i < rule->part_count; i++) {
        const struct schema_rule alone = { .keyword = SCHEMA_DEPENDENCIES,
                                           .parts = &rule->parts[i],
                                           .part_count = 1 };
        bool is_fulfilled;
        TRY(schema_judge_rule(&alone, t->matching, document, &is_fulfilled));
        if (is_fulfilled)
            continue;
        size_t row = begin_row(t, &count);
        reply_bytes(t->out, "conditionalProperty", alone.parts->name);
        if (alone.parts->schema)
            TRY(tell_rules(t, "details", alone.parts->schema, document));
        else
            tell_missing(t, &alone.parts->names, document);
        document_end(t->out, row);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

/* ---- schemas within each other ---------------------------------------------------------------------- */

/* The places of the schemas that are fulfilled. */
static status tell_fulfilled(struct telling *t, const struct schema_rule *rule, struct value value)
{
    size_t list = reply_begin_array(t->out, "matchingSchemaIndexes"), count = 0;
    char room[REPLY_INDEX_BYTES];

    for (size_t i = 0; i < rule->part_count; i++) {
        bool is_fulfilled;
        TRY(schema_judge(rule->parts[i].schema, t->matching, value, &is_fulfilled));
        if (is_fulfilled)
            reply_int32(t->out, reply_index(count++, room), (int32_t)i);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

static status tell_unfulfilled(struct telling *t, const struct schema_rule *rule,
                               struct value value)
{
    size_t list = reply_begin_array(t->out, "schemasNotSatisfied"), count = 0;

    for (size_t i = 0; i < rule->part_count; i++) {
        const struct schema *schema = rule->parts[i].schema;
        bool is_fulfilled;
        TRY(schema_judge(schema, t->matching, value, &is_fulfilled));
        if (is_fulfilled)
            continue;
        size_t row = begin_row(t, &count);
        reply_int32(t->out, "index", (int32_t)i);
        tell_title(t, schema);
        TRY(tell_rules(t, "details", schema, value));
        document_end(t->out, row);
    }
    document_end(t->out, list);
    return STATUS_OK;
}

static status tell_several(struct telling *t, const struct schema_rule *rule, struct value value)
{
    const struct schema_rule any = { .keyword = SCHEMA_ANY_OF,
                                     .parts = rule->parts,
                                     .part_count = rule->part_count };
    bool has_one = false;

    tell_operator(t, rule, false);
    if (rule->keyword == SCHEMA_ONE_OF)
        TRY(schema_judge_rule(&any, t->matching, value, &has_one));
    if (!has_one)
        return tell_unfulfilled(t, rule, value);
    reply_text(t->out, "reason", "more than one subschema matched");
    return tell_fulfilled(t, rule, value);
}

static status tell_rule(struct telling *t, const struct schema_rule *rule, struct value value)
{
    switch ((int)rule->keyword) {
    case SCHEMA_ITEMS:
        if (!rule->other)
            return tell_positions(t, rule, value);
        return tell_element(t, rule, value, "At least one item did not match the sub-schema");
    case SCHEMA_ADDITIONAL_ITEMS:
        return tell_more_items(t, rule, value);
    case SCHEMA_PROPERTIES:
        return tell_properties(t, rule, value);
    case SCHEMA_PATTERN_PROPERTIES:
        return tell_patterned(t, rule, value);
    case SCHEMA_ADDITIONAL_PROPERTIES:
        return tell_others(t, rule, value);
    case SCHEMA_REQUIRED:
        tell_operator(t, rule, true);
        tell_missing(t, &rule->names, value);
        return STATUS_OK;
    case SCHEMA_DEPENDENCIES:
        return tell_dependencies(t, rule, value);
    case SCHEMA_ALL_OF:
    case SCHEMA_ANY_OF:
    case SCHEMA_ONE_OF:
        return tell_several(t, rule, value);
    default:
        return tell_leaf(t, rule, value);
    }
}

status validator_explain_schema(const struct schema *schema, struct arena *scratch, bytes document,
                                struct buffer *out)
{
    struct matching matching = { .scratch = scratch };
    struct telling telling = { .matching = &matching, .out = out };
    const struct value whole = { .type = VALUE_DOCUMENT, .raw = document };

    reply_text(out, "operatorName", "$jsonSchema");
    tell_title(&telling, schema);
    return tell_rules(&telling, "schemaRulesNotSatisfied", schema, whole);
}
