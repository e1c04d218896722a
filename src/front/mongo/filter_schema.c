/* Filter schema: $jsonSchema, from its document to a schema of the query room.
 *
 *   schema = { *( keyword : argument ) }
 *
 * One row of the table for each keyword that is a rule; the rows stand in the order in which rules are asked. Some
 * keywords only say more about another one (exclusiveMaximum, title ...), and some that other dialects have are
 * refused by their names, because a rule that is not kept would be worse than none.
 *
 * Keeps: recursion is bounded, because checked documents are.
 * Threads: pure apart from the arena. Start reading at filter_parse_schema(). */
#include "front/mongo/filter_parts.h"

#include <stdlib.h>

struct schema_parser {
    struct filter_parser *p;
    bytes document;            /* the schema that is being parsed */
    struct schema_rule *rules; /* so far */
    size_t count;
};

/* Sets what the rule needs; *is_needed stays true unless the keyword says nothing here. */
typedef status parse_rule(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                          bool *is_needed);

static status parse_schema(struct filter_parser *p, bytes document, const struct schema **out);

static status fail(struct schema_parser *s, int32_t code, bytes keyword, const char *what)
{
    return fault_raise(s->p->arena, s->p->fault, code, "$jsonSchema keyword '%.*s' %s",
                       (int)keyword.len, (const char *)keyword.data, what);
}

static status parse_inner(struct schema_parser *s, struct value argument, const struct schema **out)
{
    return parse_schema(s->p, value_document(argument), out);
}

/* ---- numbers and texts ------------------------------------------------------------------------------ */

/* The word beside a bound that says that the bound itself is out. */
static const char *exclusive_of(enum schema_keyword keyword)
{
    if (keyword == SCHEMA_MAXIMUM)
        return "exclusiveMaximum";
    return keyword == SCHEMA_MINIMUM ? "exclusiveMinimum" : NULL;
}

static status parse_bound(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                          bool *is_needed)
{
    const char *exclusive = exclusive_of(rule->keyword);
    struct value found;

    (void)is_needed;
    if (!value_is_number(argument.value))
        return fail(s, ERROR_TypeMismatch, argument.name, "must be a number");
    rule->limit = argument.value;
    if (!document_find(s->document, exclusive, &found))
        return STATUS_OK;
    if (found.type != VALUE_BOOL)
        return fail(s, ERROR_TypeMismatch, bytes_of_text(exclusive), "must be a boolean");
    rule->is_exclusive = found.raw.data[0] != 0;
    return STATUS_OK;
}

static status parse_count(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                          bool *is_needed)
{
    (void)is_needed;
    if (!value_is_number(argument.value))
        return fail(s, ERROR_FailedToParse, argument.name, "must be a number");
    if (!value_as_int64(argument.value, &rule->count))
        return fail(s, ERROR_FailedToParse, argument.name,
                    "must be a whole number that fits in 64 bits");
    if (rule->count < 0)
        return fail(s, ERROR_FailedToParse, argument.name, "must not be negative");
    return STATUS_OK;
}

static status compile(struct schema_parser *s, bytes keyword, bytes text,
                      const struct pattern **out)
{
    struct pattern_error error;

    if (text.len && memchr(text.data, 0, text.len))
        return fail(s, ERROR_BadValue, keyword, "must not contain a null byte");
    TRY(pattern_compile(s->p->arena, text, BYTES_NONE, out, &error));
    if (*out)
        return STATUS_OK;
    return fault_raise(s->p->arena, s->p->fault, 51091,
                       "Regular expression is invalid: %s, in $jsonSchema keyword '%.*s'",
                       error.message, (int)keyword.len, (const char *)keyword.data);
}

static status parse_text_pattern(struct schema_parser *s, struct field argument,
                                 struct schema_rule *rule, bool *is_needed)
{
    (void)is_needed;
    if (argument.value.type != VALUE_STRING)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be a string");
    return compile(s, argument.name, value_text(argument.value), &rule->pattern);
}

static status parse_multiple(struct schema_parser *s, struct field argument,
                             struct schema_rule *rule, bool *is_needed)
{
    (void)is_needed;
    if (!value_is_number(argument.value))
        return fail(s, ERROR_TypeMismatch, argument.name, "must be a number");
    if (!(value_as_double(argument.value) > 0))
        return fail(s, ERROR_FailedToParse, argument.name, "must have a positive value");
    rule->limit = argument.value;
    return STATUS_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

static status parse_unique(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                           bool *is_needed)
{
    (void)rule;
    if (argument.value.type != VALUE_BOOL)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be a boolean");
    *is_needed = argument.value.raw.data[0] != 0;
    return STATUS_OK;
}

/* An array of schemas, as parts. */
static status parse_list(struct schema_parser *s, struct field argument, struct schema_rule *rule)
{
    struct document_walk walk = document_fields(value_document(argument.value));
    struct schema_part *parts;
    struct field element;

    TRY(ARENA_NEW(s->p->arena, document_field_count(value_document(argument.value)), &parts));
    rule->parts = parts;
    for (; document_next(&walk, &element); rule->part_count++) {
        if (element.value.type != VALUE_DOCUMENT)
            return fail(s, ERROR_TypeMismatch, argument.name,
                        arena_format(s->p->arena, "must be an array of objects, but has a %s",
                                     value_type_name(element.value.type)));
        TRY(parse_inner(s, element.value, &parts[rule->part_count].schema));
    }
    return STATUS_OK;
}

static status parse_items(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                          bool *is_needed)
{
    (void)is_needed;
    if (argument.value.type == VALUE_DOCUMENT)
        return parse_inner(s, argument.value, &rule->other);
    if (argument.value.type != VALUE_ARRAY)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an array or an object");
    return parse_list(s, argument, rule);
}

/* What is left over: true is no rule at all, false allows none, an object is a schema for each. */
static status parse_rest(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                         bool *is_needed)
{
    if (argument.value.type == VALUE_DOCUMENT)
        return parse_inner(s, argument.value, &rule->other);
    if (argument.value.type != VALUE_BOOL)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an object or a boolean");
    *is_needed = argument.value.raw.data[0] == 0;
    return STATUS_OK;
}

static const struct schema_rule *rule_before(const struct schema_parser *s,
                                             enum schema_keyword keyword)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->rules[i].keyword == keyword)
            return &s->rules[i];
    }
    return NULL;
}

/* Only behind a list of items there can be more of them. */
static status parse_more_items(struct schema_parser *s, struct field argument,
                               struct schema_rule *rule, bool *is_needed)
{
    const struct schema_rule *items = rule_before(s, SCHEMA_ITEMS);

    TRY(parse_rest(s, argument, rule, is_needed));
    *is_needed = *is_needed && items && !items->other;
    rule->count = items ? (int64_t)items->part_count : 0;
    return STATUS_OK;
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* {name: schema, ...} as parts; `is_pattern`: the names are patterns. */
static status parse_parts(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                          bool is_pattern)
{
    struct document_walk walk;
    struct schema_part *part;
    struct field field;

    if (argument.value.type != VALUE_DOCUMENT)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an object");
    TRY(ARENA_NEW(s->p->arena, document_field_count(value_document(argument.value)), &part));
    rule->parts = part;
    walk = document_fields(value_document(argument.value));
    for (; document_next(&walk, &field); part++, rule->part_count++) {
        part->name = field.name;
        if (field.value.type != VALUE_DOCUMENT)
            return fault_raise(s->p->arena, s->p->fault, ERROR_TypeMismatch,
                               "Nested schema for $jsonSchema property '%.*s' must be an object",
                               (int)field.name.len, (const char *)field.name.data);
        if (is_pattern)
            TRY(compile(s, argument.name, field.name, &part->pattern));
        TRY(parse_inner(s, field.value, &part->schema));
    }
    return STATUS_OK;
}

static status parse_properties(struct schema_parser *s, struct field argument,
                               struct schema_rule *rule, bool *is_needed)
{
    (void)is_needed;
    return parse_parts(s, argument, rule, false);
}

static status parse_patterned(struct schema_parser *s, struct field argument,
                              struct schema_rule *rule, bool *is_needed)
{
    (void)is_needed;
    return parse_parts(s, argument, rule, true);
}

static status parse_others(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                           bool *is_needed)
{
    rule->named = rule_before(s, SCHEMA_PROPERTIES);
    rule->patterned = rule_before(s, SCHEMA_PATTERN_PROPERTIES);
    return parse_rest(s, argument, rule, is_needed);
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

static status check_names(struct schema_parser *s, bytes keyword, const struct schema_names *names)
{
    bytes *sorted;

    TRY(ARENA_NEW(s->p->arena, names->count, &sorted));
    memcpy(sorted, names->items, names->count * sizeof(*sorted));
    qsort(sorted, names->count, sizeof(*sorted), compare_names);
    for (size_t i = 1; i < names->count; i++) {
        if (bytes_equal(sorted[i - 1], sorted[i]))
            return fail(s, ERROR_FailedToParse, keyword,
                        arena_format(s->p->arena, "cannot name '%.*s' twice", (int)sorted[i].len,
                                     (const char *)sorted[i].data));
    }
    return STATUS_OK;
}

/* A list of names, none of them twice, at least one. */
static status parse_names(struct schema_parser *s, bytes keyword, struct value list,
                          struct schema_names *out)
{
    struct document_walk walk;
    struct field element;
    bytes *names;

    if (list.type != VALUE_ARRAY)
        return fail(s, ERROR_TypeMismatch, keyword, "must be an array of names");
    TRY(ARENA_NEW(s->p->arena, document_field_count(value_document(list)), &names));
    walk = document_fields(value_document(list));
    for (; document_next(&walk, &element); out->count++) {
        if (element.value.type != VALUE_STRING)
            return fail(s, ERROR_TypeMismatch, keyword,
                        arena_format(s->p->arena, "must be an array of strings, but has a %s",
                                     value_type_name(element.value.type)));
        names[out->count] = value_text(element.value);
    }
    out->items = names;
    if (out->count == 0)
        return fail(s, ERROR_FailedToParse, keyword, "cannot be an empty array");
    return check_names(s, keyword, out);
}

static status parse_required(struct schema_parser *s, struct field argument,
                             struct schema_rule *rule, bool *is_needed)
{
    (void)is_needed;
    return parse_names(s, argument.name, argument.value, &rule->names);
}

static status parse_dependencies(struct schema_parser *s, struct field argument,
                                 struct schema_rule *rule, bool *is_needed)
{
    struct document_walk walk;
    struct schema_part *part;
    struct field field;

    (void)is_needed;
    if (argument.value.type != VALUE_DOCUMENT)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an object");
    TRY(ARENA_NEW(s->p->arena, document_field_count(value_document(argument.value)), &part));
    rule->parts = part;
    walk = document_fields(value_document(argument.value));
    for (; document_next(&walk, &field); part++, rule->part_count++) {
        part->name = field.name;
        if (field.value.type == VALUE_DOCUMENT)
            TRY(parse_inner(s, field.value, &part->schema));
        else
            TRY(parse_names(s, argument.name, field.value, &part->names));
    }
    return STATUS_OK;
}

/* ---- schemas within each other ---------------------------------------------------------------------- */

static status parse_several(struct schema_parser *s, struct field argument,
                            struct schema_rule *rule, bool *is_needed)
{
    (void)is_needed;
    if (argument.value.type != VALUE_ARRAY)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an array");
    TRY(parse_list(s, argument, rule));
    if (rule->part_count == 0)
        return fail(s, ERROR_BadValue, argument.name, "must be a non-empty array");
    return STATUS_OK;
}

static status parse_not(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                        bool *is_needed)
{
    (void)is_needed;
    if (argument.value.type != VALUE_DOCUMENT)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an object");
    return parse_inner(s, argument.value, &rule->other);
}

static status parse_enum(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                         bool *is_needed)
{
    struct document_walk walk;
    struct field element;
    struct value *values;
    size_t count = 0;

    (void)is_needed;
    if (argument.value.type != VALUE_ARRAY)
        return fail(s, ERROR_TypeMismatch, argument.name, "must be an array");
    TRY(ARENA_NEW(s->p->arena, document_field_count(value_document(argument.value)), &values));
    walk = document_fields(value_document(argument.value));
    for (; document_next(&walk, &element); count++)
        TRY(schema_normal_value(s->p->arena, element.value, &values[count]));
    if (count == 0)
        return fail(s, ERROR_FailedToParse, argument.name, "cannot be an empty array");
    rule->values = values;
    rule->value_count = count;
    match_sort_values(NULL, values, &rule->value_count);
    if (rule->value_count < count)
        return fail(s, ERROR_FailedToParse, argument.name, "array cannot contain duplicate values");
    return STATUS_OK;
}

/* ---- types ------------------------------------------------------------------------------------------ */

static status add_json_type(struct schema_parser *s, bytes alias, uint32_t *types)
{
    static const struct {
        const char *json, *alias;
    } rows[] = {
        {"object",   "object"},
        { "array",   "array" },
        { "number",  "number"},
        { "boolean", "bool"  },
        { "string",  "string"},
        { "null",    "null"  },
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (bytes_equal(alias, bytes_of_text(rows[i].json)))
            return filter_add_type_alias(s->p, bytes_of_text(rows[i].alias), types);
    }
    if (bytes_equal(alias, BYTES_LITERAL("integer")))
        return fault_raise(s->p->arena, s->p->fault, ERROR_FailedToParse,
                           "$jsonSchema type 'integer' is not currently supported; use bsonType "
                           "'int' or 'long'");
    return fault_raise(s->p->arena, s->p->fault, ERROR_BadValue, "Unknown type name alias: %.*s",
                       (int)alias.len, (const char *)alias.data);
}

static status add_type(struct schema_parser *s, struct field argument, struct value type,
                       uint32_t *types)
{
    uint32_t before = *types;
    bool is_json = bytes_equal(argument.name, BYTES_LITERAL("type"));

    if (type.type != VALUE_STRING)
        return fail(s, ERROR_TypeMismatch, argument.name,
                    "must be either a string or an array of strings");
    if (is_json)
        TRY(add_json_type(s, value_text(type), types));
    else
        TRY(filter_add_type_alias(s->p, value_text(type), types));
    if (before == *types)
        return fail(s, ERROR_FailedToParse, argument.name,
                    arena_format(s->p->arena, "has the type %.*s twice", (int)value_text(type).len,
                                 (const char *)value_text(type).data));
    return STATUS_OK;
}

static status parse_type(struct schema_parser *s, struct field argument, struct schema_rule *rule,
                         bool *is_needed)
{
    struct document_walk walk;
    struct field element;

    (void)is_needed;
    if (rule_before(s, SCHEMA_TYPE))
        return fault_raise(s->p->arena, s->p->fault, ERROR_FailedToParse,
                           "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
    if (argument.value.type != VALUE_ARRAY)
        return add_type(s, argument, argument.value, &rule->types);
    walk = document_fields(value_document(argument.value));
    while (document_next(&walk, &element))
        TRY(add_type(s, argument, element.value, &rule->types));
    if (rule->types == 0)
        return fail(s, ERROR_FailedToParse, argument.name, "must name at least one type");
    return STATUS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static const struct keyword_row {
    const char *name;
    enum schema_keyword keyword;
    parse_rule *parse;
} keywords[] = {
    {"maximum",               SCHEMA_MAXIMUM,               parse_bound       },
    { "minimum",              SCHEMA_MINIMUM,               parse_bound       },
    { "maxLength",            SCHEMA_MAX_LENGTH,            parse_count       },
    { "minLength",            SCHEMA_MIN_LENGTH,            parse_count       },
    { "pattern",              SCHEMA_PATTERN,               parse_text_pattern},
    { "multipleOf",           SCHEMA_MULTIPLE_OF,           parse_multiple    },
    { "minItems",             SCHEMA_MIN_ITEMS,             parse_count       },
    { "maxItems",             SCHEMA_MAX_ITEMS,             parse_count       },
    { "uniqueItems",          SCHEMA_UNIQUE_ITEMS,          parse_unique      },
    { "items",                SCHEMA_ITEMS,                 parse_items       },
    { "additionalItems",      SCHEMA_ADDITIONAL_ITEMS,      parse_more_items  },
    { "properties",           SCHEMA_PROPERTIES,            parse_properties  },
    { "patternProperties",    SCHEMA_PATTERN_PROPERTIES,    parse_patterned   },
    { "additionalProperties", SCHEMA_ADDITIONAL_PROPERTIES, parse_others      },
    { "required",             SCHEMA_REQUIRED,              parse_required    },
    { "minProperties",        SCHEMA_MIN_PROPERTIES,        parse_count       },
    { "maxProperties",        SCHEMA_MAX_PROPERTIES,        parse_count       },
    { "dependencies",         SCHEMA_DEPENDENCIES,          parse_dependencies},
    { "allOf",                SCHEMA_ALL_OF,                parse_several     },
    { "anyOf",                SCHEMA_ANY_OF,                parse_several     },
    { "oneOf",                SCHEMA_ONE_OF,                parse_several     },
    { "not",                  SCHEMA_NOT,                   parse_not         },
    { "enum",                 SCHEMA_ENUM,                  parse_enum        },
    { "bsonType",             SCHEMA_TYPE,                  parse_type        },
    { "type",                 SCHEMA_TYPE,                  parse_type        },
};

static bool is_rule(bytes name)
{
    for (size_t i = 0; i < ARRAY_COUNT(keywords); i++) {
        if (bytes_equal(name, bytes_of_text(keywords[i].name)))
            return true;
    }
    return false;
}

static status check_keywords(struct schema_parser *s)
{
    static const char *const beside[] = { "exclusiveMaximum", "exclusiveMinimum", "title",
                                          "description" };
    static const char *const other_dialects[] = {
        "$ref", "$schema", "default",         "definitions", "format",
        "id",   "encrypt", "encryptMetadata", "keyId",
    };
    struct document_walk walk = document_fields(s->document);
    size_t position = 0;
    struct field field;

    for (; document_next(&walk, &field); position++) {
        struct document_walk before = document_fields(s->document);
        struct field earlier;
        if (bytes_is_one_of(field.name, other_dialects, ARRAY_COUNT(other_dialects)))
            return fail(s, ERROR_FailedToParse, field.name, "is not currently supported");
        if (!is_rule(field.name) && !bytes_is_one_of(field.name, beside, ARRAY_COUNT(beside)))
            return fault_raise(s->p->arena, s->p->fault, ERROR_FailedToParse,
                               "Unknown $jsonSchema keyword: %.*s", (int)field.name.len,
                               (const char *)field.name.data);
        for (size_t i = 0; i < position && document_next(&before, &earlier); i++) {
            if (bytes_equal(earlier.name, field.name))
                return fault_raise(s->p->arena, s->p->fault, ERROR_FailedToParse,
                                   "Duplicate $jsonSchema keyword: %.*s", (int)field.name.len,
                                   (const char *)field.name.data);
        }
    }
    return STATUS_OK;
}

/* A word that says something about another one does not stand alone. */
static status check_exclusive(struct schema_parser *s, const char *exclusive, const char *bound)
{
    struct value found;

    if (document_find(s->document, exclusive, &found) && !document_find(s->document, bound, &found))
        return fail(s, ERROR_FailedToParse, bytes_of_text(bound),
                    arena_format(s->p->arena, "must be present if %s is present", exclusive));
    return STATUS_OK;
}

static status take_text(struct schema_parser *s, const char *keyword, struct value *out)
{
    if (document_find(s->document, keyword, out) && out->type != VALUE_STRING)
        return fail(s, ERROR_TypeMismatch, bytes_of_text(keyword), "must be of type string");
    return STATUS_OK;
}

/* {keyword: argument}, and beside a bound that it is exclusive. */
static status specify(struct schema_parser *s, struct field argument, const char *exclusive,
                      bytes *out)
{
    struct buffer specified = buffer_in(s->p->arena);
    size_t begun = document_begin(&specified);
    struct value found;

    document_append(&specified, argument.name, argument.value);
    if (exclusive && document_find(s->document, exclusive, &found))
        document_append(&specified, bytes_of_text(exclusive), found);
    document_end(&specified, begun);
    return buffer_finish(&specified, out);
}

static status parse_keyword(struct schema_parser *s, const struct keyword_row *row)
{
    struct field argument = { .name = bytes_of_text(row->name) };
    struct schema_rule *rule = &s->rules[s->count];
    bool is_needed = true;

    if (!document_find(s->document, row->name, &argument.value))
        return STATUS_OK;
    *rule = (struct schema_rule){ .keyword = row->keyword };
    TRY(row->parse(s, argument, rule, &is_needed));
    if (!is_needed)
        return STATUS_OK;
    s->count++;
    return specify(s, argument, exclusive_of(row->keyword), &rule->specified);
}

static status parse_schema(struct filter_parser *p, bytes document, const struct schema **out)
{
    struct schema_parser s = { .p = p, .document = document };
    struct schema *schema;

    TRY(ARENA_NEW(p->arena, 1, &schema));
    *out = schema;
    TRY(check_keywords(&s));
    TRY(check_exclusive(&s, "exclusiveMaximum", "maximum"));
    TRY(check_exclusive(&s, "exclusiveMinimum", "minimum"));
    TRY(take_text(&s, "title", &schema->title));
    TRY(take_text(&s, "description", &schema->description));
    TRY(ARENA_NEW(p->arena, document_field_count(document) + 1, &s.rules));
    for (size_t i = 0; i < ARRAY_COUNT(keywords); i++)
        TRY(parse_keyword(&s, &keywords[i]));
    schema->rules = s.rules;
    schema->rule_count = s.count;
    return STATUS_OK;
}

status filter_parse_schema(struct filter_parser *p, struct value argument, const struct match **out)
{
    struct match *match;

    if (argument.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_TypeMismatch, "$jsonSchema must be an object");
    TRY(match_new(p->arena, MATCH_SCHEMA, BYTES_NONE, &match));
    TRY(parse_schema(p, value_document(argument), &match->schema));
    *out = match;
    return STATUS_OK;
}
