/* Call: what the functions of expressions share.
 *
 * A function gets its call and evaluates the arguments itself, most of them all at once with call_take().
 * Every result that can be longer than what it is made of goes through here, so that no query can grow
 * a value without end.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"

#include "query/list.h"

#include <math.h>

status call_take(struct evaluation *e, const struct expression *call, struct value *values,
                 size_t room)
{
    ASSERT(call->count <= room);
    for (size_t i = 0; i < room; i++) {
        values[i] = value_missing();
        if (i < call->count)
            TRY(evaluate(e, call->args[i], &values[i]));
    }
    return STATUS_OK;
}

bool call_has(const struct expression *call, size_t argument)
{
    return argument < call->count;
}

bool value_is_text(struct value value)
{
    return value_kind_of(value) == KIND_STRING;
}

bool value_is_whole(struct value value)
{
    return value.type == VALUE_INT32 || value.type == VALUE_INT64;
}

/* ---- what is made once for all rows ------------------------------------------------------------------ */

const void *call_kept(const struct evaluation *e, const struct expression *argument)
{
    for (size_t i = 0; e->keep && i < e->keep->count; i++) {
        if (e->keep->things[i].of == argument)
            return e->keep->things[i].thing;
    }
    return NULL;
}

static bool can_keep(const struct evaluation *e, const struct expression *argument)
{
    return e->keep && argument->kind == EXPRESSION_LITERAL &&
           e->keep->count < ARRAY_COUNT(e->keep->things);
}

struct arena *call_home(const struct evaluation *e, const struct expression *argument)
{
    return can_keep(e, argument) ? e->keep->arena : e->arena;
}

void call_keep(struct evaluation *e, const struct expression *argument, const void *thing)
{
    if (!can_keep(e, argument))
        return;
    e->keep->things[e->keep->count].of = argument;
    e->keep->things[e->keep->count++].thing = thing;
}

/* ---- results ---------------------------------------------------------------------------------------- */

status call_give_real(struct evaluation *e, double real, struct value *out)
{
    return isfinite(real) ? value_of_double(e->arena, real, out) : STATUS_OK;
}

status call_give_whole(struct evaluation *e, int64_t whole, struct value *out)
{
    return value_of_int64(e->arena, whole, out);
}

status call_check_size(struct evaluation *e, size_t len)
{
    if (len <= LIMIT_QUERY_VALUE_BYTES)
        return STATUS_OK;
    return status_fail(
        e->arena, TOO_LARGE,
        "a function of the query would make a value of more than %d bytes, the limit",
        LIMIT_QUERY_VALUE_BYTES);
}

status call_give_text(struct evaluation *e, bytes text, struct value *out)
{
    TRY(call_check_size(e, text.len));
    return value_of_text(e->arena, text, out);
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

struct call_list call_list_begin(struct evaluation *e)
{
    struct call_list list = { .evaluation = e, .built = buffer_in(e->arena) };

    list.begun = document_begin(&list.built);
    return list;
}

void call_list_add(struct call_list *list, struct value value)
{
    /* Past the limit there is no more to build: the end says so. */
    if (value_kind_of(value) == KIND_MISSING || list->built.len > LIMIT_QUERY_VALUE_BYTES)
        return;
    list_append(&list->built, &list->count, value);
}

status call_list_end(struct call_list *list, struct value *out)
{
    TRY(call_check_size(list->evaluation, list->built.len));
    document_end(&list->built, list->begun);
    *out = (struct value){ .type = VALUE_ARRAY };
    status s = buffer_finish(&list->built, &out->raw);
    if (s.code != OK)
        *out = value_missing();
    return s;
}
