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
    TRY(filter_parse(arena, condition->filter, condition->scope, &condition->match,
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

/* ---- ids -------------------------------------------------------------------------------------------- */

static bool is_point(struct value value)
{
    return value.type != VALUE_REGEX && value.type != VALUE_ARRAY && value.type != VALUE_NULL &&
           value.type != VALUE_UNDEFINED;
}

static bool ids_of_list(struct value list, struct arena *arena, struct value **ids_out,
                        size_t *count_out)
{
    struct field field;
    size_t count = 0;

    if (list.type != VALUE_ARRAY ||
        ARENA_NEW(arena, document_field_count(value_document(list)) + 1, ids_out).code != OK)
        return false;
    struct document_walk walk = document_fields(value_document(list));
    while (document_next(&walk, &field)) {
        if (!is_point(field.value))
            return false;
        (*ids_out)[count++] = field.value;
    }
    *count_out = count;
    return true;
}

bool condition_ids(const struct condition *condition, struct arena *arena, struct value **ids_out,
                   size_t *count_out)
{
    struct value id, inner;

    *ids_out = NULL;
    *count_out = 0;
    if (!document_find(condition->filter, "_id", &id))
        return false;
    if (filter_has_operators(id)) {
        if (document_find(value_document(id), "$in", &inner))
            return ids_of_list(inner, arena, ids_out, count_out);
        if (!document_find(value_document(id), "$eq", &inner))
            return false;
        id = inner;
    }
    if (!is_point(id) || ARENA_NEW(arena, 1, ids_out).code != OK)
        return false;
    (*ids_out)[0] = id;
    *count_out = 1;
    return true;
}
