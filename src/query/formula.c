/* Formula: values computed from a document.
 *
 * A walk over the tree; its depth is bounded when it is built. Paths look through arrays: where one is met,
 * the result is the array of what the rest of the path finds in its documents. Operators are one function
 * each, in the files formula_*.c.
 *
 * Keeps: a value that is not there is a result; refusals carry the number that tells why.
 * Threads: a run belongs to its request. Start reading at formula_value(). */
#include "query/formula_body.h"
#include "query/list.h"

bool formula_is_null(struct value value)
{
    return value.type == VALUE_MISSING || value.type == VALUE_NULL || value.type == VALUE_UNDEFINED;
}

bool formula_is_true(struct value value)
{
    if (value_is_number(value))
        return value_as_double(value) != 0;
    return value.type == VALUE_BOOL ? value_is_true(value) : !formula_is_null(value);
}

const char *formula_note_refusal(struct formula_run *run, int32_t number, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *message = arena_format_args(run->arena, format, args);
    va_end(args);
    run->refusal = number;
    return message ? message : "an operand is not acceptable";
}

/* ---- results ---------------------------------------------------------------------------------------- */

status formula_give_null(struct value *out)
{
    *out = value_null();
    return STATUS_OK;
}

status formula_give_int(struct formula_run *run, int64_t number, struct value *out)
{
    bool is_small = number >= INT32_MIN && number <= INT32_MAX;

    return value_of_integer(run->arena, is_small ? VALUE_INT32 : VALUE_INT64, number, out);
}

static status check_size(struct formula_run *run, size_t len)
{
    if (len <= LIMIT_QUERY_VALUE_BYTES)
        return STATUS_OK;
    return status_fail(run->arena, TOO_LARGE, "a computed value has %zu bytes, the limit is %d",
                       len, LIMIT_QUERY_VALUE_BYTES);
}

status formula_give_text(struct formula_run *run, bytes text, struct value *out)
{
    TRY(check_size(run, text.len));
    return value_of_text(run->arena, text, out);
}

struct formula_list formula_list_begin(struct formula_run *run)
{
    struct formula_list list = { .run = run, .built = buffer_in(run->arena) };

    list.begun = document_begin(&list.built);
    return list;
}

void formula_list_add(struct formula_list *list, struct value value)
{
    if (value.type == VALUE_MISSING)
        value = value_null();
    /* Far beyond the limit already: formula_list_end says so. */
    if (list->built.len > LIMIT_QUERY_VALUE_BYTES)
        return;
    list_append(&list->built, &list->count, value);
}

status formula_list_end(struct formula_list *list, struct value *out)
{
    document_end(&list->built, list->begun);
    TRY(check_size(list->run, list->built.len));
    *out = (struct value){ .type = VALUE_ARRAY };
    return buffer_finish(&list->built, &out->raw);
}

status formula_values_of(struct formula_run *run, struct value array, struct formula_values *out)
{
    struct document_walk walk = document_fields(value_document(array));
    struct field element;

    out->count = 0;
    TRY(ARENA_NEW(run->arena, document_field_count(value_document(array)), &out->items));
    while (document_next(&walk, &element))
        out->items[out->count++] = element.value;
    return STATUS_OK;
}

/* ---- paths ------------------------------------------------------------------------------------------ */

static status follow(struct formula_run *run, struct value from, bytes path, struct value *out);

static bytes take_part(bytes *path)
{
    const uint8_t *dot = path->len ? memchr(path->data, '.', path->len) : NULL;
    bytes part = bytes_of(path->data, dot ? (size_t)(dot - path->data) : path->len);

    *path = bytes_from(*path, part.len + (dot != NULL));
    return part;
}

static status follow_array(struct formula_run *run, bytes array, bytes path, struct value *out)
{
    struct formula_list list = formula_list_begin(run);
    struct document_walk walk = document_fields(array);
    struct field element;
    struct value found;

    while (document_next(&walk, &element)) {
        if (element.value.type != VALUE_DOCUMENT)
            continue;
        TRY(follow(run, element.value, path, &found));
        if (found.type != VALUE_MISSING)
            formula_list_add(&list, found);
    }
    return formula_list_end(&list, out);
}

static status follow(struct formula_run *run, struct value from, bytes path, struct value *out)
{
    *out = value_missing();
    while (from.type == VALUE_DOCUMENT) {
        bool is_last = !memchr(path.data, '.', path.len);
        bytes part = take_part(&path);
        document_find_bytes(value_document(from), part, &from);
        if (is_last) {
            *out = from;
            return STATUS_OK;
        }
    }
    return from.type == VALUE_ARRAY ? follow_array(run, value_document(from), path, out)
                                    : STATUS_OK;
}

static status path_value(const struct formula *f, struct formula_run *run, struct value *out)
{
    struct value from = run->current;

    if (f->count)
        TRY(formula_value(f->args[0], run, &from));
    return follow(run, from, f->path, out);
}

/* ---- construction ----------------------------------------------------------------------------------- */

static status object_value(const struct formula *f, struct formula_run *run, struct value *out)
{
    struct buffer built = buffer_in(run->arena);
    size_t mark;

    struct value *values;
    TRY(ARENA_NEW(run->arena, f->count, &values));
    for (size_t i = 0; i < f->count; i++)
        TRY(formula_value(f->args[i], run, &values[i]));
    mark = document_begin(&built);
    for (size_t i = 0; i < f->count; i++)
        document_append(&built, f->names[i], values[i]);
    document_end(&built, mark);
    TRY(check_size(run, built.len));
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}

static status array_value(const struct formula *f, struct formula_run *run, struct value *out)
{
    struct value *values;

    TRY(ARENA_NEW(run->arena, f->count, &values));
    for (size_t i = 0; i < f->count; i++)
        TRY(formula_value(f->args[i], run, &values[i]));
    struct formula_list list = formula_list_begin(run);
    for (size_t i = 0; i < f->count; i++)
        formula_list_add(&list, values[i]);
    return formula_list_end(&list, out);
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static formula_body *const bodies[FORMULA_COUNT] = {
#define FORMULA(name, least, most, what) formula_##name,
#include "query/formula.def"
#undef FORMULA
};

status formula_work(struct formula_run *run, uint64_t effort)
{
    run->effort += effort;
    if (run->effort < LIMIT_EFFORT_UNCHECKED)
        return STATUS_OK;
    run->effort = 0;
    return run->check ? run->check(run->check_context) : STATUS_OK;
}

status formula_value(const struct formula *f, struct formula_run *run, struct value *out)
{
    *out = value_missing();
    switch (f->kind) {
    case FORMULA_IS_LITERAL:
        *out = f->literal;
        return STATUS_OK;
    case FORMULA_IS_PATH:
        return path_value(f, run, out);
    case FORMULA_IS_VARIABLE:
        if (run->variables)
            *out = run->variables[f->number];
        return STATUS_OK;
    case FORMULA_IS_CURRENT:
        *out = run->current;
        return STATUS_OK;
    case FORMULA_IS_ROOT:
        *out = run->root;
        return STATUS_OK;
    case FORMULA_IS_NOW:
        return value_of_integer(run->arena, VALUE_DATE, run->now, out);
    case FORMULA_IS_CLUSTER_TIME:
        return value_of_integer(run->arena, VALUE_TIMESTAMP,
                                (int64_t)((uint64_t)(run->now / 1000) << 32 | 1), out);
    case FORMULA_IS_REMOVED:
        return STATUS_OK;
    case FORMULA_IS_OBJECT:
        return object_value(f, run, out);
    case FORMULA_IS_ARRAY:
        return array_value(f, run, out);
    case FORMULA_IS_CALL:
        TRY(formula_work(run, 1));
        return bodies[f->operator](f, run, out);
    }
    return STATUS_OK;
}

status formula_argument(const struct formula *call, struct formula_run *run, size_t at,
                        struct value *out)
{
    *out = value_missing();
    if (at >= call->count || !call->args[at])
        return STATUS_OK;
    TRY(formula_value(call->args[at], run, out));
    run->effort += out->raw.len / LIMIT_EFFORT_BYTES; /* whoever asked may look at all of it */
    return STATUS_OK;
}
