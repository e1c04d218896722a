/* Functions of shapes: GeoJSON on the earth or in the plane.
 *
 * A shape that is not valid is as if it were missing; the two functions that ask for that say so. How much a
 * call may compare is bounded, because its time grows with the product of the positions.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/shape.h"

static struct shape_work work_of(struct evaluation *e)
{
    return (struct shape_work){ .arena = e->arena, .pairs = LIMIT_QUERY_SHAPE_PAIRS };
}

/* The shapes of all arguments, one or two; `has_all_out` is false if one of them is none. */
static status take_shapes(struct evaluation *e, const struct expression *call,
                          struct shape_work *work, struct shape *shapes, bool *has_all_out)
{
    struct value value;
    const char *reason = NULL;

    *has_all_out = false;
    for (size_t i = 0; i < call->count && !reason; i++) {
        TRY(evaluate(e, call->args[i], &value));
        TRY(shape_read(work, SPACE_ROUND, value, &shapes[i], &reason));
    }
    *has_all_out = !reason;
    return STATUS_OK;
}

status function_shape_area(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct shape_work work = work_of(e);
    struct shape shape;
    bool is_shape;

    TRY(take_shapes(e, call, &work, &shape, &is_shape));
    return is_shape ? call_give_real(e, shape_area(&shape), out) : STATUS_OK;
}

status function_shape_distance(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct shape_work work = work_of(e);
    struct shape shapes[2];
    bool has_both;
    double distance;

    TRY(take_shapes(e, call, &work, shapes, &has_both));
    if (!has_both)
        return STATUS_OK;
    TRY(shape_distance(&work, &shapes[0], &shapes[1], &distance));
    return call_give_real(e, distance, out);
}

typedef status relation(struct shape_work *work, const struct shape *one, const struct shape *other,
                        bool *out);

static status relate(struct evaluation *e, const struct expression *call, relation *holds,
                     struct value *out)
{
    struct shape_work work = work_of(e);
    struct shape shapes[2];
    bool has_both, is_so;

    TRY(take_shapes(e, call, &work, shapes, &has_both));
    if (!has_both)
        return STATUS_OK;
    TRY(holds(&work, &shapes[0], &shapes[1], &is_so));
    *out = value_bool(is_so);
    return STATUS_OK;
}

status function_shape_intersects(struct evaluation *e, const struct expression *call,
                                 struct value *out)
{
    return relate(e, call, shape_intersects, out);
}

status function_shape_within(struct evaluation *e, const struct expression *call, struct value *out)
{
    return relate(e, call, shape_is_within, out);
}

/* Why the argument is no shape; NULL if it is one. False if there is no argument to judge. */
static status judge(struct evaluation *e, const struct expression *call, const char **reason_out,
                    bool *is_there_out)
{
    struct shape_work work = work_of(e);
    struct shape shape;
    struct value value;

    *reason_out = NULL;
    TRY(evaluate(e, call->args[0], &value));
    *is_there_out = value_kind_of(value) != KIND_MISSING;
    return *is_there_out ? shape_read(&work, SPACE_ROUND, value, &shape, reason_out) : STATUS_OK;
}

status function_shape_is_valid(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    const char *reason;
    bool is_there;

    TRY(judge(e, call, &reason, &is_there));
    if (is_there)
        *out = value_bool(!reason);
    return STATUS_OK;
}

/* { valid: true } or { valid: false, reason: '...' } */
status function_shape_validity(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    struct value text;
    const char *reason;
    bool is_there;

    TRY(judge(e, call, &reason, &is_there));
    if (!is_there)
        return STATUS_OK;
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("valid"), value_bool(!reason));
    if (reason) {
        TRY(value_of_text(e->arena, bytes_of_text(reason), &text));
        document_append(&built, BYTES_LITERAL("reason"), text);
    }
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}
