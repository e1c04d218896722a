/* Validator, explain: which parts of a validator a document does not fulfil.
 *
 * The validator is taken apart into clauses, one for each operator of each field, and each is asked alone. One
 * clause is described by itself; several are those of an $and that were not fulfilled.
 *
 * Threads: the command's; only runs for documents that are refused. */
#include "front/mongo/validator.h"

#include "front/mongo/condition.h"

struct clause {
    bytes path;          /* empty: the operator stands for itself, like $expr */
    bytes operator_name; /* "$gt" */
    bytes filter;        /* the clause as a filter */
};

static bool is_operator(bytes name)
{
    return name.len > 0 && name.data[0] == '$';
}

/* {name: value}, or {name: {operator: value}}. */
static status make_filter(struct arena *arena, bytes name, const struct field *inner,
                          struct value value, bytes *out)
{
    struct buffer filter = buffer_in(arena);
    size_t begun = document_begin(&filter);

    if (inner) {
        size_t inside = document_begin_inner(&filter, VALUE_DOCUMENT, name);
        document_append(&filter, inner->name, inner->value);
        document_end(&filter, inside);
    } else {
        document_append(&filter, name, value);
    }
    document_end(&filter, begun);
    return buffer_finish(&filter, out);
}

typedef status clause_seer(struct command *command, const struct clause *clause, void *context);

static status see_field(struct command *command, const struct field *field, clause_seer *see,
                        void *context)
{
    struct clause clause = { .path = field->name, .operator_name = BYTES_LITERAL("$eq") };
    struct document_walk walk;
    struct value regex;
    struct field inner;

    TRY(make_filter(command->arena, field->name, NULL, field->value, &clause.filter));
    if (is_operator(field->name)) {
        clause.operator_name = field->name;
        clause.path = BYTES_NONE;
        return see(command, &clause, context);
    }
    if (field->value.type != VALUE_DOCUMENT)
        return see(command, &clause, context);
    walk = document_fields(value_document(field->value));
    if (!document_next(&walk, &inner) || !is_operator(inner.name))
        return see(command, &clause, context);
    if (document_find(value_document(field->value), "$regex", &regex)) {
        clause.operator_name = BYTES_LITERAL("$regex"); /* its $options stand beside it */
        return see(command, &clause, context);
    }
    do {
        clause.operator_name = inner.name;
        TRY(make_filter(command->arena, field->name, &inner, field->value, &clause.filter));
        TRY(see(command, &clause, context));
    } while (document_next(&walk, &inner));
    return STATUS_OK;
}

static status see_all(struct command *command, bytes validator, clause_seer *see, void *context)
{
    struct document_walk walk = document_fields(validator);
    struct field field;

    while (document_next(&walk, &field))
        TRY(see_field(command, &field, see, context));
    return STATUS_OK;
}

/* ---- describing ------------------------------------------------------------------------------------- */

static const char *reason_of(bytes name)
{
    static const struct {
        const char *name, *reason;
    } rows[] = {
        {"$expr",    "expression did not match"                },
        { "$in",     "no matching value found in array"        },
        { "$type",   "type did not match"                      },
        { "$exists", "path does not exist"                     },
        { "$regex",  "regular expression did not match"        },
        { "$size",   "array length was not equal to given size"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (bytes_equal(name, bytes_of_text(rows[i].name)))
            return rows[i].reason;
    }
    return "comparison failed";
}

static void append_values(struct buffer *out, const struct path_values *found)
{
    char room[REPLY_INDEX_BYTES];

    if (found->count == 1) {
        document_append(out, BYTES_LITERAL("consideredValue"), found->items[0]);
        reply_text(out, "consideredType", value_type_name(found->items[0].type));
        return;
    }
    size_t list = reply_begin_array(out, "consideredValues");
    for (size_t i = 0; i < found->count; i++)
        document_append(out, bytes_of_text(reply_index(i, room)), found->items[i]);
    document_end(out, list);
}

static status append_clause(struct command *command, const struct clause *clause, bytes document,
                            struct buffer *out)
{
    struct path_values found = { 0 };
    struct condition *condition;
    const struct path *path;
    bool is_missing;

    if (bytes_equal(clause->operator_name, BYTES_LITERAL("$jsonSchema"))) {
        TRY(condition_make(command, command->arena, clause->filter, BYTES_NONE, NULL, &condition));
        return validator_explain_schema(condition->match->schema, command->arena, document, out);
    }
    reply_bytes(out, "operatorName", clause->operator_name);
    reply_document(out, "specifiedAs", clause->filter);
    if (clause->path.len > 0) {
        TRY(path_parse(command->arena, clause->path, &path));
        TRY(path_collect(command->arena, path, document, &found));
    }
    is_missing = clause->path.len > 0 &&
                 (found.count == 0 || (found.count == 1 && found.items[0].type == VALUE_MISSING));
    reply_text(out, "reason", is_missing ? "field was missing" : reason_of(clause->operator_name));
    if (found.count > 0 && !is_missing)
        append_values(out, &found);
    return STATUS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

struct explaining {
    const struct collation *by;
    bytes document;
    struct buffer *out;
    size_t count;  /* clauses */
    size_t failed; /* those that were described */
};

static status count_clause(struct command *command, const struct clause *clause, void *context)
{
    (void)command;
    (void)clause;
    ((struct explaining *)context)->count++;
    return STATUS_OK;
}

static status describe_clause(struct command *command, const struct clause *clause, void *context)
{
    struct explaining *explaining = context;
    struct condition *condition;
    struct matching matching;
    char room[REPLY_INDEX_BYTES];
    bool is_fulfilled;

    TRY(condition_make(command, command->arena, clause->filter, BYTES_NONE, explaining->by,
                       &condition));
    TRY(condition_holds(command, condition, command->arena, explaining->document, &matching,
                        &is_fulfilled));
    size_t index = explaining->count++;
    if (is_fulfilled)
        return STATUS_OK;
    size_t row = reply_begin(explaining->out, reply_index(explaining->failed++, room));
    reply_int32(explaining->out, "index", (int32_t)index);
    size_t details = reply_begin(explaining->out, "details");
    TRY(append_clause(command, clause, explaining->document, explaining->out));
    document_end(explaining->out, details);
    document_end(explaining->out, row);
    return STATUS_OK;
}

static status describe_one(struct command *command, const struct clause *clause, void *context)
{
    struct explaining *explaining = context;

    return append_clause(command, clause, explaining->document, explaining->out);
}

status validator_explain(struct command *command, bytes validator, const struct collation *by,
                         bytes document, struct buffer *out)
{
    struct explaining explaining = { .by = by, .document = document, .out = out };

    TRY(see_all(command, validator, count_clause, &explaining));
    if (explaining.count == 1)
        return see_all(command, validator, describe_one, &explaining);
    explaining.count = 0;
    reply_text(out, "operatorName", "$and");
    size_t list = reply_begin_array(out, "clausesNotSatisfied");
    TRY(see_all(command, validator, describe_clause, &explaining));
    document_end(out, list);
    return STATUS_OK;
}
