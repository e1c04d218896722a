/* Condition: filters of commands, with the variables of `let`.
 *
 * Threads: the command's; a condition that a cursor keeps is used by one command at a time. */
#include "front/mongo/condition.h"

#include "front/mongo/filter.h"

status condition_make(struct command *command, struct arena *arena, bytes filter, bytes let,
                      struct condition **out)
{
    struct condition *condition;
    bytes kept_let = BYTES_NONE;

    *out = NULL;
    TRY(ARENA_NEW(arena, 1, &condition));
    random_secret(&condition->random, sizeof(condition->random));
    TRY(arena_copy(arena, filter, &condition->filter));
    if (let.len > 0) {
        TRY(arena_copy(arena, let, &kept_let));
        struct formula_run run = condition_run(command, condition, arena);
        TRY(formula_parse_let(arena, kept_let, &run, &condition->scope, &command->fault));
    }
    TRY(filter_parse_sorting(arena, condition->filter, condition->scope, &condition->match,
                             &command->fault));
    *out = condition;
    return STATUS_OK;
}

struct formula_run condition_run(struct command *command, struct condition *condition,
                                 struct arena *arena)
{
    return (struct formula_run){ .arena = arena,
                                 .now = command->request.now,
                                 .random = &condition->random,
                                 .variables = condition->variables };
}

status condition_holds(struct command *command, struct condition *condition, struct arena *scratch,
                       bytes document, struct matching *matching, bool *out)
{
    struct formula_run run = condition_run(command, condition, scratch);

    run.root = run.current = (struct value){ .type = VALUE_DOCUMENT, .raw = document };
    *matching = (struct matching){ .scratch = scratch, .formulas = &run };
    status s = match_document(condition->match, matching, document, out);
    if (s.code != OK && run.refusal != 0)
        return formula_fault(command->arena, &run, s, &command->fault);
    return s;
}
