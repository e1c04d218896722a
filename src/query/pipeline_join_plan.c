/* Pipeline join plan: by what a lookup can be done for many rows at once, and how many rows will be asked for.
 *
 * Local and foreign field say it themselves. Without them the stages inside may: if they begin with a condition that a
 * field equals a variable, as a formula says it, only documents that have the value of the variable can fulfil it. They
 * are found together, by what else is asked without a formula too, and then the condition is asked of each for its row.
 *
 * Keeps: whatever fulfils the condition for a row has the value of the row at the foreign field.
 * Threads: pure. */
#include "query/formula_body.h"
#include "query/pipeline_parts.h"

bool join_can_compare(struct value value)
{
    return !formula_is_null(value) && value.type != VALUE_ARRAY && value.type != VALUE_REGEX;
}

uint32_t join_types(enum value_type type)
{
    static const enum value_type numbers[] = { VALUE_DOUBLE, VALUE_INT32, VALUE_INT64,
                                               VALUE_DECIMAL128 };
    uint32_t types = match_type_bit(type), number_types = 0;

    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
        number_types |= match_type_bit(numbers[i]);
    if (types & number_types)
        types |= number_types;
    if (type == VALUE_STRING || type == VALUE_SYMBOL)
        types |= match_type_bit(VALUE_STRING) | match_type_bit(VALUE_SYMBOL);
    return types;
}

static bool is_own_variable(const struct stage *stage, const struct formula *formula)
{
    for (size_t i = 0; i < stage->variable_count && formula->kind == FORMULA_IS_VARIABLE; i++) {
        if (stage->variables[i].number == formula->number)
            return true;
    }
    return false;
}

/* Is it another value each time? */
static bool is_random(const struct formula *formula)
{
    bool is = formula->kind == FORMULA_IS_CALL && formula->operator== FORMULA_rand;

    for (size_t i = 0; i < formula->count && !is; i++)
        is = formula->args[i] && is_random(formula->args[i]);
    return is;
}

static bool is_random_variable(const struct stage *stage, uint32_t number)
{
    for (size_t i = 0; i < stage->variable_count; i++) {
        if (stage->variables[i].number == number)
            return is_random(stage->variables[i].formula);
    }
    return false;
}

/* How many times a field equals a variable; `out` is the last one. */
static size_t find_in_formula(const struct stage *stage, const struct formula *formula,
                              struct join_key *out)
{
    size_t found = 0;

    if (formula->kind != FORMULA_IS_CALL)
        return 0;
    for (size_t i = 0; formula->operator== FORMULA_and && i<formula->count; i++)
        found += find_in_formula(stage, formula->args[i], out);
    for (size_t i = 0; formula->operator== FORMULA_equal && i<2; i++) {
        const struct formula *field = formula->args[i], *other = formula->args[1 - i];
        if (field->kind != FORMULA_IS_PATH || field->count || !is_own_variable(stage, other))
            continue;
        *out = (struct join_key){ .foreign_field = field->path,
                                  .is_variable = true,
                                  .variable = (uint32_t)other->number };
        return 1;
    }
    return found;
}

static size_t find_in_match(const struct stage *stage, const struct match *match,
                            struct join_key *out)
{
    size_t found = 0;

    if (match->kind == MATCH_FORMULA)
        return find_in_formula(stage, match->formula, out);
    for (size_t i = 0; match->kind == MATCH_AND && i < match->count; i++)
        found += find_in_match(stage, match->parts[i], out);
    return found;
}

/* Several variables are better asked for row by row: an index over all their fields finds what has all the values, while
 * what has one of them may be very much. */
bool join_find_key(const struct operator* o, struct join_key *out)
{
    *out = (struct join_key){ .foreign_field = o->stage->foreign_field };
    if (o->local_path)
        return true;
    return o->inner_match && find_in_match(o->stage, o->inner_match, out) == 1 &&
           !is_random_variable(o->stage, out->variable);
}

status join_condition(struct arena *arena, const struct match *match, const struct match **out)
{
    const struct match **parts;
    size_t count = 0;

    *out = match;
    if (!match || !match_has_formula(match))
        return STATUS_OK;
    *out = NULL;
    if (match->kind != MATCH_AND)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, match->count, &parts));
    for (size_t i = 0; i < match->count; i++) {
        TRY(join_condition(arena, match->parts[i], &parts[count]));
        count += parts[count] != NULL;
    }
    return count ? match_join(arena, MATCH_AND, parts, count, out) : STATUS_OK;
}

uint64_t join_demand(const struct pipeline *pipeline, size_t behind, uint64_t wanted)
{
    uint64_t skipped = 0;
    bool is_unsure = false;

    for (size_t i = behind; i < pipeline->count; i++) {
        const struct stage *stage = &pipeline->stages[i];
        switch (stage->kind) {
        case STAGE_PROJECT:
        case STAGE_REPLACE_ROOT:
        case STAGE_LOOKUP:
        case STAGE_GRAPH_LOOKUP:
        case STAGE_UNION:
        case STAGE_NEAR:
            break;
        case STAGE_MATCH:
        case STAGE_UNWIND:
        case STAGE_REDACT:
            is_unsure = true;
            break;
        case STAGE_SKIP:
            skipped = skipped + stage->count < skipped ? UINT64_MAX : skipped + stage->count;
            break;
        case STAGE_LIMIT:
            if (is_unsure)
                return 0;
            return skipped + stage->count < skipped ? UINT64_MAX : skipped + stage->count;
        case STAGE_SORT:
        case STAGE_GROUP:
        case STAGE_COUNT:
        case STAGE_SAMPLE:
        case STAGE_FACET:
        case STAGE_BUCKETS:
        case STAGE_WINDOW:
        case STAGE_DENSIFY:
            return UINT64_MAX;
        }
    }
    return is_unsure && wanted != UINT64_MAX ? 0 : wanted;
}
