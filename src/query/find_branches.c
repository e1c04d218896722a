/* Find branches: a condition whose alternatives each have a way of their own.
 *
 * If no single index narrows the documents, but each alternative of an "or" does so by one, the alternatives are
 * walked one after the other. A document is given by the first alternative that holds for it, which can be
 * told from the document, so nothing has to be remembered.
 *
 * Threads: belongs to its request. Start reading at find_branches_make(). */
#include "query/find_parts.h"

enum { BRANCHES_MAX = 64 };

/* The "or" of a condition: itself, or a part of it. */
static const struct match *find_or(const struct match *match)
{
    if (!match || match->kind == MATCH_OR)
        return match;
    for (size_t i = 0; match->kind == MATCH_AND && i < match->count; i++) {
        if (match->parts[i]->kind == MATCH_OR)
            return match->parts[i];
    }
    return NULL;
}

bool find_plan_is_everything(const struct find_plan *plan)
{
    return plan->access == FIND_ACCESS_KEYS && plan->range_count == 1 &&
           plan->ranges[0].start.len == 0 && plan->ranges[0].end.len == 0;
}

/* The alternative, together with what holds for all of them. */
static status join(struct arena *arena, const struct match *whole, const struct match *alternative,
                   const struct match **out)
{
    const struct match *both[2] = { whole, alternative };

    return match_join(arena, MATCH_AND, both, 2, out);
}

status find_branches_make(const struct find_request *wanted, struct arena *arena,
                          struct find_branches *out)
{
    const struct match *either = find_or(wanted->match);
    struct find_request branch = *wanted;
    struct find_plan *plans;

    *out = (struct find_branches){ 0 };
    if (!either || either->count > BRANCHES_MAX || wanted->by != FIND_ANY_WAY)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, either->count, &plans));
    branch.order = NULL;
    branch.is_reverse = false;
    for (size_t i = 0; i < either->count; i++) {
        TRY(join(arena, wanted->match, either->parts[i], &branch.match));
        TRY(find_plan_make(&branch, arena, NULL, &plans[i]));
        if (find_plan_is_everything(&plans[i]))
            return STATUS_OK;
        plans[i].is_exact = plans[i].is_ordered = false;
    }
    *out =
        (struct find_branches){ .count = either->count, .plans = plans, .matches = either->parts };
    return STATUS_OK;
}
