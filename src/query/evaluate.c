/* Evaluate: the value of an expression for one row.
 *
 * A walk over the tree; its depth is bounded when it is built. The document of the row is stored bytes
 * plus, where somebody decorates, fields that are only shown. Those are made when the first expression
 * asks for one of them or for the whole document, so most queries never pay for them.
 *
 * Keeps: a value that is not there is a result (missing), never a failure; failures are memory.
 * Threads: an evaluation belongs to its request. Start reading at evaluate(). */
#include "query/evaluate.h"

#include <stdio.h>

void evaluation_bind(struct evaluation *evaluation, const struct document *document)
{
    evaluation->document = document;
    evaluation->is_decorated = false;
    evaluation->is_whole = false;
    if (evaluation->lasting != evaluation->arena)
        arena_reset(evaluation->lasting);
}

status evaluation_open(struct evaluation *e, const struct query *query, struct arena *home)
{
    e->lasting = e->arena;
    if (!query->is_nested)
        return STATUS_OK;
    e->lasting = arena_open(LIMIT_QUERY_ROW_BYTES);
    if (!e->lasting)
        return status_of(OUT_OF_MEMORY, "there is no memory for the documents of a query");
    return ARENA_NEW(home, LIMIT_QUERY_VARIABLES, &e->variables);
}

void evaluation_close(struct evaluation *e)
{
    if (e->lasting != e->arena)
        arena_close(e->lasting);
}

struct value value_missing(void)
{
    return (struct value){ .type = VALUE_MISSING };
}

struct value value_null(void)
{
    return (struct value){ .type = VALUE_NULL };
}

struct value value_bool(bool truth)
{
    static const uint8_t raw[2] = { 0, 1 };

    return (struct value){ .type = VALUE_BOOL, .raw = bytes_of(&raw[truth], 1) };
}

bool value_is_true(struct value value)
{
    return value.type == VALUE_BOOL && value.raw.data[0] != 0;
}

/* ---- the document ----------------------------------------------------------------------------------- */

bool decoration_has(const struct query_decoration *decoration, bytes name)
{
    for (size_t i = 0; decoration && i < decoration->name_count; i++) {
        bytes shown = decoration->names[i];
        if (shown.len == name.len && name.len && shown.data[0] == name.data[0] &&
            bytes_equal(shown, name))
            return true;
    }
    return false;
}

static status decorate(struct evaluation *e)
{
    if (e->is_decorated)
        return STATUS_OK;
    e->decoration_fields = BYTES_NONE;
    if (e->decoration)
        TRY(e->decoration->decorate(e->decoration->context, e->document, e->lasting,
                                    &e->decoration_fields));
    e->is_decorated = true;
    return STATUS_OK;
}

static bool find_shown(const struct evaluation *e, bytes name, struct value *out)
{
    return e->decoration_fields.len && document_find_bytes(e->decoration_fields, name, out);
}

/* Does no stored field have a name that is shown otherwise? So it is nearly always. */
static bool are_names_apart(const struct evaluation *e)
{
    struct document_walk walk = document_fields(e->document->bson);
    struct field field;

    while (document_next(&walk, &field)) {
        if (decoration_has(e->decoration, field.name))
            return false;
    }
    return true;
}

static void append_all_fields(struct buffer *out, bytes document)
{
    const bytes fields = document_fields(document).rest;

    buffer_append(out, fields);
}

static status join_fields(struct evaluation *e)
{
    struct buffer out = buffer_in(e->lasting);

    buffer_reserve(&out, e->document->bson.len + e->decoration_fields.len);
    size_t mark = document_begin(&out);
    append_all_fields(&out, e->document->bson);
    append_all_fields(&out, e->decoration_fields);
    document_end(&out, mark);
    return buffer_finish(&out, &e->whole);
}

/* Stored fields that are not shown otherwise, then those that are only shown. */
static status merge_fields(struct evaluation *e)
{
    if (are_names_apart(e))
        return join_fields(e);
    struct buffer out = buffer_in(e->lasting);
    size_t mark = document_begin(&out);
    struct document_walk walk = document_fields(e->document->bson);
    struct field field;
    struct value shown;

    while (document_next(&walk, &field)) {
        if (!find_shown(e, field.name, &shown))
            document_append(&out, field.name, field.value);
    }
    walk = document_fields(e->decoration_fields);
    while (document_next(&walk, &field))
        document_append(&out, field.name, field.value);
    document_end(&out, mark);
    return buffer_finish(&out, &e->whole);
}

static status whole_document(struct evaluation *e, struct value *out)
{
    if (!e->document)
        return STATUS_OK;
    if (!e->is_whole) {
        TRY(decorate(e));
        e->whole = e->document->bson;
        if (e->decoration_fields.len)
            TRY(merge_fields(e));
        e->is_whole = true;
    }
    *out = (struct value){ .type = VALUE_DOCUMENT, .raw = e->whole };
    return STATUS_OK;
}

static status member_of_document(struct evaluation *e, bytes name, struct value *out)
{
    if (!e->document)
        return STATUS_OK;
    if (decoration_has(e->decoration, name)) {
        TRY(decorate(e));
        if (find_shown(e, name, out))
            return STATUS_OK;
    }
    document_find_bytes(e->document->bson, name, out);
    return STATUS_OK;
}

static status evaluate_member(struct evaluation *e, const struct expression *x, struct value *out)
{
    struct value of;

    if (x->args[0]->kind == EXPRESSION_VARIABLE && x->args[0]->number == 0)
        return member_of_document(e, x->name, out);
    TRY(evaluate(e, x->args[0], &of));
    if (of.type == VALUE_DOCUMENT)
        document_find_bytes(value_document(of), x->name, out);
    return STATUS_OK;
}

/* ---- construction ----------------------------------------------------------------------------------- */

static status evaluate_object(struct evaluation *e, const struct expression *x, struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    size_t mark = document_begin(&built);

    for (size_t i = 0; i < x->count; i++) {
        struct value value;
        TRY(evaluate(e, x->args[i], &value));
        document_append(&built, x->names[i], value);
    }
    document_end(&built, mark);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

static status evaluate_array(struct evaluation *e, const struct expression *x, struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    size_t mark = document_begin(&built);
    size_t at = 0;

    for (size_t i = 0; i < x->count; i++) {
        struct value value;
        char name[24];
        TRY(evaluate(e, x->args[i], &value));
        if (value.type == VALUE_MISSING && e->rules->is_missing_element_null)
            value = value_null();
        if (value.type == VALUE_MISSING)
            continue;
        int len = snprintf(name, sizeof(name), "%zu", at++);
        document_append(&built, bytes_of(name, (size_t)len), value);
    }
    document_end(&built, mark);
    *out = (struct value){ .type = VALUE_ARRAY };
    return buffer_finish(&built, &out->raw);
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static function_body *const bodies[FUNCTION_COUNT] = {
#define FUNCTION(name, least, most, what) function_##name,
#include "query/functions.def"
#undef FUNCTION
};

status evaluation_work(struct evaluation *e, uint64_t effort)
{
    e->effort += effort;
    if (e->effort < LIMIT_EFFORT_UNCHECKED)
        return STATUS_OK;
    e->effort = 0;
    const enum query_patience left = e->limits && e->limits->ask
                                         ? e->limits->ask(e->limits->ask_context)
                                         : PATIENCE_LEFT;
    e->is_late = left != PATIENCE_LEFT;
    if (left == PATIENCE_OVER)
        return status_fail(e->arena, TOO_LARGE,
                           "one page of the query takes longer than %d seconds, the limit",
                           LIMIT_QUERY_PAGE_MS_MAX / 1000);
    return STATUS_OK;
}

/* Whoever asked for it may look at all of it. */
static status note_size(struct evaluation *e, status s, const struct value *found)
{
    e->effort += found->raw.len / LIMIT_EFFORT_BYTES;
    return s;
}

status evaluate(struct evaluation *e, const struct expression *x, struct value *out)
{
    *out = value_missing();
    switch (x->kind) {
    case EXPRESSION_LITERAL:
        *out = x->literal;
        return STATUS_OK;
    case EXPRESSION_VARIABLE:
        if (x->number == 0)
            return note_size(e, whole_document(e, out), out);
        *out = e->variables[x->number];
        return note_size(e, STATUS_OK, out);
    case EXPRESSION_MEMBER:
        return note_size(e, evaluate_member(e, x, out), out);
    case EXPRESSION_OBJECT:
        return evaluate_object(e, x, out);
    case EXPRESSION_ARRAY:
        return evaluate_array(e, x, out);
    case EXPRESSION_CALL:
        TRY(evaluation_work(e, 1));
        return bodies[x->function](e, x, out);
    case EXPRESSION_AGGREGATE:
        *out = e->aggregates ? e->aggregates[x->number] : value_missing();
        return STATUS_OK;
    case EXPRESSION_GROUP:
        *out = e->groups ? e->groups[x->number] : value_missing();
        return STATUS_OK;
    case EXPRESSION_SUBQUERY:
        return subquery_evaluate(e, x, out);
    }
    return STATUS_OK;
}

status evaluate_condition(struct evaluation *e, const struct expression *x, bool *out)
{
    struct value value;

    *out = false;
    TRY(evaluate(e, x, &value));
    *out = value_is_true(value);
    return STATUS_OK;
}

/* ---- constants -------------------------------------------------------------------------------------- */

struct function_arity function_arity(enum function function)
{
    static const struct function_arity arities[FUNCTION_COUNT] = {
#define FUNCTION(name, least, most, what) { least, most },
#include "query/functions.def"
#undef FUNCTION
    };

    return arities[function];
}

const char *function_sentence(enum function function)
{
    static const char *const sentences[FUNCTION_COUNT] = {
#define FUNCTION(name, least, most, what) what,
#include "query/functions.def"
#undef FUNCTION
    };

    return sentences[function];
}

bool function_is_volatile(enum function function)
{
    return function == FUNCTION_random || function == FUNCTION_current_time ||
           function == FUNCTION_current_ticks || function == FUNCTION_current_timestamp ||
           function == FUNCTION_words_score || function == FUNCTION_fuse ||
           function == FUNCTION_time_ago || function == FUNCTION_time_now;
}

/* Does it ask how the documents are meant? That is not known before the query runs. */
static bool asks_for_meaning(enum function function)
{
    return function == FUNCTION_shape_area || function == FUNCTION_shape_distance ||
           function == FUNCTION_shape_intersects || function == FUNCTION_shape_is_valid ||
           function == FUNCTION_shape_validity || function == FUNCTION_shape_within ||
           function == FUNCTION_vector_distance || function == FUNCTION_vector_nearness;
}

status expression_fold(struct arena *arena, const struct query_rules *rules,
                       const struct expression *expression, const struct expression **out)
{
    struct evaluation evaluation = { .arena = arena, .lasting = arena, .rules = rules };
    struct value value;

    *out = expression;
    if (expression->kind != EXPRESSION_CALL && expression->kind != EXPRESSION_OBJECT &&
        expression->kind != EXPRESSION_ARRAY)
        return STATUS_OK;
    if (expression->kind == EXPRESSION_CALL &&
        (function_is_volatile(expression->function) || asks_for_meaning(expression->function)))
        return STATUS_OK;
    for (size_t i = 0; i < expression->count; i++) {
        if (expression->args[i]->kind != EXPRESSION_LITERAL)
            return STATUS_OK;
    }
    TRY(evaluate(&evaluation, expression, &value));
    return expression_literal(arena, value, out);
}
