/* Conditions on documents by dotted path, looking through arrays.
 *
 * A condition is a tree (struct match), immutable, in the arena it was built in, usable by every thread. A
 * leaf asks the values that its path reaches, one after the other, and holds if it holds for one of them:
 *   - a part of a path names a field; where an array is met on the way, every element that is a document is
 *     entered, and a part that is a position also enters the element there;
 *   - an array at the end of a path gives its elements, then itself (size and element conditions: only itself);
 *   - what is not there is VALUE_MISSING, once per document that lacks it; an array on the way whose elements
 *     are no documents gives nothing at all.
 * Equality and order hold only between values of one kind (all number types are one; strings and symbols);
 * missing and undefined equal null. NaN equals NaN and has no order to other numbers.
 *
 *   TRY(match_leaf(arena, MATCH_EQUAL, path, value, &leaf));
 *   struct matching run = { .scratch = arena };
 *   TRY(match_document(match, &run, document, &is_match));
 *   if (run.has_position) ... the element run.position of the first array met has decided */
#ifndef QUERY_MATCH_H
#define QUERY_MATCH_H

#include "query/formula.h"
#include "query/geometry.h"
#include "query/pattern.h"

struct schema;

enum match_kind {
    MATCH_ALWAYS,
    MATCH_NEVER,
    MATCH_AND, /* of `parts` */
    MATCH_OR,
    MATCH_NOR,
    MATCH_NOT,     /* of parts[0] */
    MATCH_TEXT,    /* fits the search, see struct matching */
    MATCH_FORMULA, /* `formula` is neither false, null, missing nor zero */
    MATCH_SCHEMA,  /* the whole fulfils `schema` */
    /* leaves with `path`; inside MATCH_ELEMENT_IS the path is empty and the element itself is asked */
    MATCH_EQUAL,
    MATCH_LESS,
    MATCH_LESS_EQUAL,
    MATCH_GREATER,
    MATCH_GREATER_EQUAL,
    MATCH_IN,      /* one of `values` or `patterns` */
    MATCH_PATTERN, /* patterns[0]; also equal to the regular expression `value` itself */
    MATCH_EXISTS,
    MATCH_TYPE,          /* bit of the type is in `types` */
    MATCH_MODULO,        /* divided by `divisor` leaves `remainder` */
    MATCH_BITS,          /* see bits */
    MATCH_SIZE,          /* array of `size` elements */
    MATCH_ELEMENT_WHERE, /* array with an element, a document, for which parts[0] holds */
    MATCH_ELEMENT_IS,    /* array with an element for which parts[0] holds */
    MATCH_GEOMETRY, /* lies as `geometry` asks for; if near to it, the nearest of all values decides */
};

enum match_bits { BITS_ALL_SET, BITS_ALL_CLEAR, BITS_ANY_SET, BITS_ANY_CLEAR };

struct match_pattern {
    const struct pattern *pattern;
    struct value regex; /* as it was written, VALUE_REGEX */
};

struct match {
    enum match_kind kind;
    bytes path;
    struct value value;
    const struct collation *collation; /* how texts compare in order, equality and MATCH_IN */
    size_t count;
    const struct match *const *parts;
    /* MATCH_IN: ascending, without doubles; has_null says that null is one of them. */
    const struct value *values;
    size_t value_count;
    bool has_null;
    const struct match_pattern *patterns;
    size_t pattern_count;
    uint32_t types; /* match_type_bit() */
    int64_t divisor, remainder, size;
    enum match_bits bits;
    const uint64_t *positions; /* of bits, ascending */
    size_t position_count;
    const struct formula *formula;
    const struct search_wish *wish; /* MATCH_TEXT */
    const struct schema *schema;
    const struct geometry_wish *geometry;
};

/* One matching of many documents. */
struct matching {
    struct arena *scratch;        /* used and given back */
    struct formula_run *formulas; /* how formulas are computed; NULL if there are none */
    const struct search
        *search; /* the one of the condition, bound to an index; NULL if there is none */
    /* Results of the last match_document that was true: the position in the first array that was entered
     * element by element and decided. */
    bool has_position;
    size_t position;
    struct row_score score; /* of the search */
    uint64_t steps;         /* so far, bounded for each document */
    /* The same of a condition on nearness: how near, in the unit of the wish, and what is so near. */
    double distance;
    struct value nearest;
};

/* TOO_LARGE if it takes too many steps; and what formulas and patterns fail with. */
MUST_USE status match_document(const struct match *match, struct matching *matching, bytes document,
                               bool *out);
/* The same for a single value: leaves with an empty path ask the value itself. */
MUST_USE status match_value(const struct match *match, struct matching *matching,
                            struct value value, bool *out);

/* Every value that the path reaches, as a leaf with that path asks them. What `each` fails with ends it. */
typedef status match_value_visitor(void *context, struct value value);
MUST_USE status match_each_value(bytes path, struct matching *matching, bytes document,
                                 match_value_visitor *each, void *context);
/* Has it a formula, so that it depends on more than the document? */
bool match_has_formula(const struct match *match);

/* The condition on nearness that all documents must fulfil: the whole, or one part of an "and"; NULL: there is none. */
const struct match *match_near(const struct match *match);

/* ---- building, all in `arena` ------------------------------------------------------------------------ */

MUST_USE status match_new(struct arena *arena, enum match_kind kind, bytes path,
                          struct match **out);
/* `parts` are copied. One part alone is that part, for MATCH_AND and MATCH_OR; none is MATCH_ALWAYS. */
MUST_USE status match_join(struct arena *arena, enum match_kind kind,
                           const struct match *const *parts, size_t count,
                           const struct match **out);
MUST_USE status match_negate(struct arena *arena, const struct match *part,
                             const struct match **out);
MUST_USE status match_leaf(struct arena *arena, enum match_kind kind, bytes path,
                           struct value value, const struct match **out);
/* The same with texts in the order of a collation, which may be NULL. */
MUST_USE status match_leaf_by(struct arena *arena, const struct collation *by, enum match_kind kind,
                              bytes path, struct value value, const struct match **out);
/* Sorts values as a MATCH_IN needs them, and takes the doubles out. */
void match_sort_values(const struct collation *by, struct value *values, size_t *count);
/* Is it one of the values, which are sorted so? */
bool match_has_value(const struct collation *by, const struct value *values, size_t count,
                     struct value value);

/* What is searched for in a condition; NULL: nothing. */
const struct search_wish *match_wish(const struct match *match);
uint32_t match_type_bit(enum value_type type);
/* Do the two belong to one kind, so that they can be equal or ordered? */
bool match_is_same_kind(struct value a, struct value b);
/* Equal as conditions see it: by kind and value, missing and undefined as null. */
bool match_is_equal(struct value a, struct value b);

#endif
