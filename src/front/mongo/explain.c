/* Explain: how a command is carried out.
 *
 * The command that is asked about takes the place of the one that asks, runs to its end, and gives the place
 * back. So what is told is what happens: the same code plans it, walks and counts. Only where documents would be
 * written or given, nothing is. With the verbosity queryPlanner nothing is walked either.
 *
 * Keeps: an explained command changes nothing. Threads: the command's. Start reading at serve_explain(). */
#include "front/mongo/explain.h"

#include <stdio.h>

#include "front/mongo/handlers.h"
#include "front/mongo/operation.h"
#include "front/mongo/principal.h"

/* ---- what runs says on its way ---------------------------------------------------------------------- */

bool explain_is_plan_only(const struct command *command)
{
    return command->explain && command->explain->verbosity == EXPLAIN_PLAN;
}

status explain_tell(struct command *command, const struct collection *collection,
                    const struct find *find)
{
    struct explain *explain = command->explain;

    if (explain->collection)
        return STATUS_OK; /* a later part of the same walk */
    explain->collection = collection;
    explain->is_sorted = find_explain(find)->is_sorted;
    return find_tell(find, explain->arena, &explain->ways, &explain->way_count);
}

status explain_count(struct command *command, const struct find_request *wanted)
{
    struct find_request unordered = *wanted;
    struct explain *explain = command->explain;
    struct find *find;

    explain->is_counted = true;
    explain->collection = wanted->collection;
    explain->is_known = (!wanted->match || wanted->match->kind == MATCH_ALWAYS) &&
                        wanted->by == FIND_ANY_WAY;
    unordered.order = NULL;
    unordered.is_one_pass = true;
    TRY(find_open(&unordered, &find));
    status s = find_tell(find, explain->arena, &explain->ways, &explain->way_count);
    find_close(find);
    return s;
}

void explain_add(struct command *command, const struct find_explain *figures)
{
    struct find_explain *sum = &command->explain->figures;

    sum->rows += figures->rows;
    sum->documents += figures->documents;
    sum->reloaded += figures->reloaded;
    sum->matched += figures->matched;
    sum->is_covered = figures->is_covered;
}

/* ---- the reply -------------------------------------------------------------------------------------- */

/* Of whatever it is called in the command. */
static bytes filter_of(const struct explain *explain, bytes wish)
{
    static const char *const names[] = { "filter", "query" };
    static const char *const lists[] = { "updates", "deletes" };
    struct value value, first;

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (document_find(wish, names[i], &value) && value.type == VALUE_DOCUMENT)
            return value_document(value);
    }
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        if (document_find(wish, lists[i], &value) && value.type == VALUE_ARRAY &&
            document_find(value_document(value), "0", &first) && first.type == VALUE_DOCUMENT &&
            document_find(value_document(first), "q", &value) && value.type == VALUE_DOCUMENT)
            return value_document(value);
    }
    if (explain->found_stages > 0 && document_find(explain->stages, "0", &first) &&
        first.type == VALUE_DOCUMENT && document_find(value_document(first), "$match", &value) &&
        value.type == VALUE_DOCUMENT)
        return value_document(value);
    return argument_document((struct value){ .type = VALUE_MISSING });
}

static void append_planner(struct command *command, struct buffer *out, bytes wish)
{
    size_t begun = reply_begin(out, "queryPlanner");
    bytes name = argument_text(command->target);

    reply_int32(out, "plannerVersion", 1);
    reply_bytes(out, "namespace", command_namespace(command, name));
    reply_bool(out, "indexFilterSet", false);
    reply_document(out, "parsedQuery",
                   explain_parsed_query(command, filter_of(command->explain, wish)));
    if (command->explain->collation)
        reply_document(out, "collation", collation_document(command->explain->collation));
    reply_bool(out, "maxIndexedOrSolutionsReached", false);
    reply_bool(out, "maxIndexedAndSolutionsReached", false);
    reply_bool(out, "maxScansToExplodeReached", false);
    explain_append_tree(command, wish, "winningPlan", false);
    document_end(out, reply_begin_array(out, "rejectedPlans"));
    document_end(out, begun);
}

static void append_figures(struct command *command, struct buffer *out, bytes wish)
{
    const struct explain *explain = command->explain;
    size_t begun = reply_begin(out, "executionStats");

    reply_bool(out, "executionSuccess", true);
    reply_int64(out, "nReturned", explain->given);
    reply_int64(out, "executionTimeMillis", explain->took_ms);
    reply_int64(out, "totalKeysExamined", explain_keys(explain));
    reply_int64(out, "totalDocsExamined", (int64_t)explain->figures.documents);
    explain_append_tree(command, wish, "executionStages", true);
    if (explain->verbosity == EXPLAIN_ALL)
        document_end(out, reply_begin_array(out, "allPlansExecution"));
    document_end(out, begun);
}

static void append_both(struct command *command, struct buffer *out, bytes wish)
{
    append_planner(command, out, wish);
    if (command->explain->verbosity != EXPLAIN_PLAN)
        append_figures(command, out, wish);
}

/* Beside a lookup by equal fields: how it is done. */
static void append_strategy(const struct explain *explain, struct buffer *out, bytes stage,
                            size_t *lookups)
{
    static const char *const names[] = { [LOOKUP_HASHED] = "HashJoin",
                                         [LOOKUP_BY_INDEX] = "IndexedLoopJoin",
                                         [LOOKUP_EACH_ALONE] = "NestedLoopJoin" };

    if (!bytes_equal(stage, BYTES_LITERAL("$lookup")) || *lookups >= explain->lookup_count)
        return;
    enum pipeline_lookup how = explain->lookups[(*lookups)++];
    if (how != LOOKUP_OTHER)
        reply_text(out, "strategy", names[how]);
}

/* The stages that the find does not do, behind the one that does it. */
static bool append_stages(struct command *command, struct buffer *out, bytes wish)
{
    const struct explain *explain = command->explain;
    struct document_walk walk;
    struct field stage, field;
    char room[REPLY_INDEX_BYTES];
    size_t count = 0, lookups = 0;

    size_t stage_count = explain->stages.len ? document_field_count(explain->stages) : 0;
    if (stage_count <= explain->found_stages)
        return false;
    size_t list = reply_begin_array(out, "stages");
    size_t first = reply_begin(out, reply_index(count++, room));
    size_t cursor = reply_begin(out, "$cursor");
    append_both(command, out, wish);
    document_end(out, cursor);
    document_end(out, first);
    walk = document_fields(explain->stages);
    for (size_t i = 0; document_next(&walk, &stage); i++) {
        if (i < explain->found_stages || stage.value.type != VALUE_DOCUMENT)
            continue;
        struct document_walk inside = document_fields(value_document(stage.value));
        size_t row = reply_begin(out, reply_index(count++, room));
        while (document_next(&inside, &field)) {
            document_append(out, field.name, field.value);
            append_strategy(explain, out, field.name, &lookups);
        }
        if (explain->verbosity != EXPLAIN_PLAN && i + 1 == stage_count)
            reply_int64(out, "nReturned", explain->given);
        document_end(out, row);
    }
    document_end(out, list);
    return true;
}

static void append_server(struct command *command, struct buffer *out)
{
    const char *address = command->face->address, *colon = strrchr(address, ':');
    size_t begun = reply_begin(out, "serverInfo"), len = colon ? (size_t)(colon - address) : 0;
    int port = 0;

    if (colon)
        sscanf(colon + 1, "%d", &port);
    reply_bytes(out, "host", bytes_of(address, len));
    reply_int32(out, "port", port);
    reply_text(out, "version", FACE_VERSION);
    reply_text(out, "gitVersion", "mayfly");
    document_end(out, begun);
}

static void append_reply(struct command *command, bytes wish)
{
    struct buffer *out = &command->reply;
    struct document_walk walk = document_fields(wish);
    struct field field;

    reply_text(out, "explainVersion", "1");
    if (!append_stages(command, out, wish))
        append_both(command, out, wish);
    size_t shown = reply_begin(out, "command");
    while (document_next(&walk, &field)) {
        if (!argument_is_generic(field.name))
            document_append(out, field.name, field.value);
    }
    reply_bytes(out, "$db", command->database);
    document_end(out, shown);
    append_server(command, out);
}

/* ---- running ---------------------------------------------------------------------------------------- */

/* A write may have many statements; one is explained. */
static status check_single(struct command *command, bytes wish)
{
    static const char *const lists[] = { "updates", "deletes" };
    struct value list;

    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        if (document_find(wish, lists[i], &list) && list.type == VALUE_ARRAY &&
            document_field_count(value_document(list)) != 1)
            return command_fail(command, ERROR_InvalidLength,
                                "explained writes have one statement, and these are %zu",
                                document_field_count(value_document(list)));
    }
    return STATUS_OK;
}

/* The command in its place is over: what it answered is of no interest, and how it went is. */
static status run_inner(struct command *command)
{
    struct buffer reply = command->reply;
    int64_t begun = clock_monotonic(engine_clock(command->face->engine));

    command->reply = buffer_in(command->arena);
    size_t answer = document_begin(&command->reply);
    status s = command->row->handler(command);
    document_end(&command->reply, answer);
    struct value errors, first, field;
    bytes answered = bytes_of(command->reply.data, command->reply.len);
    if (s.code == OK && document_find(answered, "writeErrors", &errors) &&
        document_find(value_document(errors), "0", &first)) {
        int64_t code = ERROR_BadValue;
        bytes message = BYTES_NONE;
        if (document_find(value_document(first), "code", &field))
            code = argument_number(field, code);
        if (document_find(value_document(first), "errmsg", &field))
            message = argument_text(field);
        s = command_fail(command, (int32_t)code, "%.*s", (int)message.len,
                         (const char *)message.data);
    }
    command->reply = reply;
    command->explain->took_ms = clock_monotonic(engine_clock(command->face->engine)) - begun;
    return s;
}

status explain_run(struct command *command, bytes inner, enum explain_verbosity verbosity)
{
    struct explain explain = { .verbosity = verbosity, .arena = arena_open(LIMIT_CURSOR_BYTES) };
    const struct wire_message *message = command->message;
    struct wire_message wish = { .kind = WIRE_MSG, .body = inner };
    struct value target = command->target;
    struct document_walk walk = document_fields(inner);
    struct field first;

    if (!explain.arena)
        return status_of(OUT_OF_MEMORY, "no memory to explain");
    document_next(&walk, &first);
    /* Nobody may be looking while one command takes the place of the other. */
    operation_end(command);
    command->message = &wish;
    command->target = first.value;
    command->explain = &explain;
    operation_begin(command);
    status s = run_inner(command);
    operation_end(command);
    if (command->row->handler == serve_distinct)
        explain.given = (int64_t)explain.figures.matched;
    if (command->row->handler == serve_find_and_modify)
        explain.given = command->work.matched > 0 || command->work.deleted > 0;
    if (s.code == OK)
        append_reply(command, inner);
    s = fault_keep(command->arena, &command->fault, s);
    arena_close(explain.arena);
    command->explain = NULL;
    command->message = message;
    command->target = target;
    return s;
}

/* ---- the command ------------------------------------------------------------------------------------ */

static status read_verbosity(struct command *command, enum explain_verbosity *out)
{
    static const struct argument table[] = {
        {"verbosity", ARGUMENT_TEXT, false},
    };
    static const char *const names[] = { "queryPlanner", "executionStats", "allPlansExecution" };
    struct value given[ARRAY_COUNT(table)];

    *out = EXPLAIN_ALL;
    TRY(command_arguments(command, table, ARRAY_COUNT(table), given));
    if (given[0].type == VALUE_MISSING)
        return STATUS_OK;
    for (unsigned i = 0; i < ARRAY_COUNT(names); i++) {
        if (bytes_equal(value_text(given[0]), bytes_of_text(names[i]))) {
            *out = (enum explain_verbosity)i;
            return STATUS_OK;
        }
    }
    return command_fail(command, ERROR_BadValue,
                        "verbosity string must be one of {'queryPlanner', 'executionStats', "
                        "'allPlansExecution'}");
}

static bool is_explainable(const struct command_row *row)
{
    static command_handler *const handlers[] = {
        serve_aggregate, serve_count,           serve_delete, serve_distinct,
        serve_find,      serve_find_and_modify, serve_update,
    };

    for (size_t i = 0; i < ARRAY_COUNT(handlers); i++) {
        if (row->handler == handlers[i])
            return true;
    }
    return false;
}

status serve_explain(struct command *command)
{
    const struct command_row *own = command->row;
    enum explain_verbosity verbosity;
    struct field first;

    TRY(read_verbosity(command, &verbosity));
    if (command->target.type != VALUE_DOCUMENT)
        return command_fail(command, ERROR_TypeMismatch, "explain takes a command, not %s",
                            value_type_name(command->target.type));
    bytes inner = value_document(command->target);
    struct document_walk walk = document_fields(inner);
    if (!document_next(&walk, &first))
        return command_fail(command, ERROR_BadValue, "there is no command to explain");
    const struct command_row *row = command_row_of(first.name);
    if (!row)
        return command_fail(command, ERROR_CommandNotFound,
                            "Explain failed due to unknown command: %.*s", (int)first.name.len,
                            (const char *)first.name.data);
    if (!is_explainable(row))
        return command_fail(command, ERROR_IllegalOperation, "Cannot explain cmd: %s", row->name);
    TRY(check_single(command, inner));
    operation_end(command);
    struct value outer = command->target;
    command->row = row;
    command->target = first.value; /* whose rights are asked */
    status s = principal_permit(command);
    command->target = outer;
    if (s.code == OK)
        s = explain_run(command, inner, verbosity);
    command->row = own;
    return s;
}
