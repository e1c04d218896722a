/* Condition: filters of commands, with the variables of `let`.
 *
 * Threads: the command's; a condition that a cursor keeps is used by one command at a time. */
#include "front/mongo/condition.h"

#include "front/mongo/filter.h"
#include "front/mongo/index_spec.h"

status condition_make(struct command *command, struct arena *arena, bytes filter, bytes let,
                      const struct collation *by, struct condition **out)
{
    struct condition *condition;
    bytes kept_let = BYTES_NONE;

    *out = NULL;
    TRY(ARENA_NEW(arena, 1, &condition));
    condition->collation = by;
    TRY(formula_scope_of(arena, by, &condition->scope));
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

static status check_time(void *context)
{
    return command_check_time(context);
}

struct formula_run condition_run(struct command *command, struct condition *condition,
                                 struct arena *arena)
{
    return (struct formula_run){ .arena = arena,
                                 .now = command->request.now,
                                 .random = &condition->random,
                                 .variables = condition->variables,
                                 .collation = condition->collation,
                                 .check = check_time,
                                 .check_context = command };
}

status condition_holds(struct command *command, struct condition *condition, struct arena *scratch,
                       bytes document, struct matching *matching, bool *out)
{
    struct formula_run run = condition_run(command, condition, scratch);

    run.root = run.current = (struct value){ .type = VALUE_DOCUMENT, .raw = document };
    *matching =
        (struct matching){ .scratch = scratch, .formulas = &run, .search = condition->search };
    status s = match_document(condition->match, matching, document, out);
    if (s.code != OK && run.refusal != 0)
        return formula_fault(command->arena, &run, s, &command->fault);
    return s;
}

/* The part of words of the collection's text index; NULL if there is none. */
static const struct index_field *find_words(const struct collection *collection)
{
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index_definition *definition = &collection->indexes[i].definition;
        for (size_t k = 0; k < definition->field_count; k++) {
            if (definition->fields[k].part == PART_WORDS &&
                index_is_usable(&collection->indexes[i]))
                return &definition->fields[k];
        }
    }
    return NULL;
}

status condition_bind(struct command *command, struct condition *condition,
                      const struct collection *collection)
{
    const struct search_wish *wish = match_wish(condition->match);
    const struct index_field *words;
    struct search *search;

    condition->search = NULL;
    if (!wish)
        return STATUS_OK;
    words = find_words(collection);
    if (!words)
        return command_fail(command, ERROR_IndexNotFound, "text index required for $text query");
    TRY(search_open(command->arena, wish, words, &search));
    condition->search = search;
    return STATUS_OK;
}
