/* Schemas: rules about the shape of one value, and of the values inside it, as JSON Schema has them with the types
 * of BSON.
 *
 * A schema is a list of rules, immutable, in the arena it was built in, usable by every thread. A rule holds for
 * every value that it says nothing about: minimum for what is no number, required for what is no document. A
 * value fulfils a schema if it fulfils all rules.
 *
 *   TRY(schema_judge(schema, &matching, value, &is_fulfilled));
 *   ... and rule by rule, for whoever explains what is wrong: schema_judge_rule()
 *
 * Equality (enum, unique items) goes by value: numbers of all types together, documents whatever the order of
 * their fields is. */
#ifndef QUERY_SCHEMA_H
#define QUERY_SCHEMA_H

#include "query/match.h"

/* In the order in which they are asked and explained. */
enum schema_keyword {
    SCHEMA_MAXIMUM, /* `limit`, `is_exclusive` */
    SCHEMA_MINIMUM,
    SCHEMA_MAX_LENGTH, /* `count` */
    SCHEMA_MIN_LENGTH,
    SCHEMA_PATTERN,     /* `pattern` */
    SCHEMA_MULTIPLE_OF, /* `limit` */
    SCHEMA_MIN_ITEMS,
    SCHEMA_MAX_ITEMS,
    SCHEMA_UNIQUE_ITEMS,
    SCHEMA_ITEMS,              /* `other`: each element; otherwise `parts`: by position */
    SCHEMA_ADDITIONAL_ITEMS,   /* from `count` on: `other`, or none at all */
    SCHEMA_PROPERTIES,         /* `parts` by name */
    SCHEMA_PATTERN_PROPERTIES, /* `parts` by pattern */
    SCHEMA_ADDITIONAL_PROPERTIES, /* `other`, or none at all; `named` and `patterned` say which are no others */
    SCHEMA_REQUIRED,              /* `names` */
    SCHEMA_MIN_PROPERTIES,
    SCHEMA_MAX_PROPERTIES,
    SCHEMA_DEPENDENCIES, /* `parts` by name: their schema, or the names that have to be there too */
    SCHEMA_ALL_OF,       /* `parts` */
    SCHEMA_ANY_OF,
    SCHEMA_ONE_OF,
    SCHEMA_NOT,  /* `other` */
    SCHEMA_ENUM, /* `values` */
    SCHEMA_TYPE, /* `types` */
};

struct schema_names {
    const bytes *items;
    size_t count;
};

struct schema_part {
    bytes name; /* of the property, or the text of the pattern */
    const struct pattern *pattern;
    const struct schema *schema; /* NULL: `names` */
    struct schema_names names;
};

struct schema_rule {
    enum schema_keyword keyword;
    bytes specified; /* the document {keyword: argument}, for whoever explains */
    struct value limit;
    bool is_exclusive;
    int64_t count;
    const struct pattern *pattern;
    uint32_t types; /* match_type_bit() */
    const struct value
        *values; /* as schema_normal_value() gives them, ascending, without doubles */
    size_t value_count;
    struct schema_names names;
    const struct schema_part *parts;
    size_t part_count;
    const struct schema *other;
    const struct schema_rule *named, *patterned;
};

struct schema {
    struct value title, description; /* strings, or missing */
    const struct schema_rule *rules;
    size_t rule_count;
};

/* Does the value fulfil it? The steps count for the matching. TOO_LARGE if it takes too many, and what patterns
 * fail with. */
MUST_USE status schema_judge(const struct schema *schema, struct matching *matching,
                             struct value value, bool *out);
MUST_USE status schema_judge_rule(const struct schema_rule *rule, struct matching *matching,
                                  struct value value, bool *out);
/* Is this field of a document one that neither a name nor a pattern speaks of? */
MUST_USE status schema_is_other(const struct schema_rule *additional, struct matching *matching,
                                bytes name, bool *out);
/* Is this field's name one that the pattern finds? */
MUST_USE status schema_fits_pattern(const struct schema_part *part, struct matching *matching,
                                    bytes name, bool *out);
/* The first element of an array that equals another one behind it; missing if there is none. */
MUST_USE status schema_find_double(struct arena *arena, struct value array, struct value *out);
/* The value with the fields of all documents in it by name, so that equal ones compare as equal. In the
 * arena where it had to be copied. */
MUST_USE status schema_normal_value(struct arena *arena, struct value value, struct value *out);

#endif
