/* Formula build: the nodes of formulas, and what is known of the operators.
 *
 * Keeps: a tree is never deeper than LIMIT_QUERY_DEPTH, so that walks over it need not count.
 * Pure apart from the arena. */
#include "query/formula.h"

static status new_formula(struct arena *arena, enum formula_kind kind,
                          const struct formula *const *args, size_t count, struct formula **out)
{
    const struct formula **copies = NULL;
    unsigned depth = 0;

    for (size_t i = 0; i < count; i++) {
        if (args[i] && args[i]->depth > depth)
            depth = args[i]->depth;
    }
    if (depth >= LIMIT_QUERY_DEPTH)
        return status_fail(arena, TOO_LARGE, "an expression is nested deeper than %d levels",
                           LIMIT_QUERY_DEPTH);
    if (count)
        TRY(ARENA_NEW(arena, count, &copies));
    for (size_t i = 0; i < count; i++)
        copies[i] = args[i];
    TRY(ARENA_NEW(arena, 1, out));
    (*out)->kind = kind;
    (*out)->depth = depth + 1;
    (*out)->args = copies;
    (*out)->count = count;
    return STATUS_OK;
}

status formula_literal(struct arena *arena, struct value value, const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, FORMULA_IS_LITERAL, NULL, 0, &made));
    made->literal = value;
    *out = made;
    return STATUS_OK;
}

status formula_path(struct arena *arena, const struct formula *of, bytes path,
                    const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, FORMULA_IS_PATH, &of, of ? 1 : 0, &made));
    made->path = path;
    *out = made;
    return STATUS_OK;
}

status formula_leaf(struct arena *arena, enum formula_kind kind, uint32_t number,
                    const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, kind, NULL, 0, &made));
    made->number = number;
    *out = made;
    return STATUS_OK;
}

status formula_call(struct arena *arena, enum formula_operator operator, uint32_t number,
                    const struct formula *const *args, size_t count, const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, FORMULA_IS_CALL, args, count, &made));
    made->operator= operator;
    made->number = number;
    *out = made;
    return STATUS_OK;
}

status formula_object(struct arena *arena, const bytes *names, const struct formula *const *args,
                      size_t count, const struct formula **out)
{
    struct formula *made;
    bytes *copies;

    TRY(new_formula(arena, FORMULA_IS_OBJECT, args, count, &made));
    TRY(ARENA_NEW(arena, count, &copies));
    for (size_t i = 0; i < count; i++)
        copies[i] = names[i];
    made->names = copies;
    *out = made;
    return STATUS_OK;
}

status formula_array(struct arena *arena, const struct formula *const *args, size_t count,
                     const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, FORMULA_IS_ARRAY, args, count, &made));
    *out = made;
    return STATUS_OK;
}

status formula_zone(struct arena *arena, struct value name, const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, FORMULA_IS_LITERAL, NULL, 0, &made));
    made->literal = name;
    *out = made;
    if (name.type != VALUE_STRING)
        return STATUS_OK;
    /* An unknown name is refused when a date is there to be shown. */
    status s = zone_find(arena, value_text(name), &made->zone);
    return s.code == NOT_FOUND ? STATUS_OK : s;
}

status formula_sorted(struct arena *arena, const struct formula *elements,
                      const struct order *order, bool is_descending, const struct formula **out)
{
    struct formula *made;

    TRY(new_formula(arena, FORMULA_IS_CALL, &elements, 1, &made));
    made->operator= FORMULA_array_sort;
    made->order = order;
    made->number = is_descending;
    *out = made;
    return STATUS_OK;
}

struct formula_arity formula_arity(enum formula_operator operator)
{
    static const struct formula_arity arities[FORMULA_COUNT] = {
#define FORMULA(name, least, most, what) { least, most },
#include "query/formula.def"
#undef FORMULA
    };

    return arities[operator];
}

const char *formula_name(enum formula_operator operator)
{
    static const char *const names[FORMULA_COUNT] = {
#define FORMULA(name, least, most, what) #name,
#include "query/formula.def"
#undef FORMULA
    };

    return names[operator];
}

const char *formula_sentence(enum formula_operator operator)
{
    static const char *const sentences[FORMULA_COUNT] = {
#define FORMULA(name, least, most, what) what,
#include "query/formula.def"
#undef FORMULA
    };

    return sentences[operator];
}
