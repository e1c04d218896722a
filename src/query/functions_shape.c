/* Functions of shapes: GeoJSON on the earth or in the plane.
 *
 * A shape that is not valid is as if it were missing; the two functions that ask for that say so. How much a
 * call may compare is bounded, because its time grows with the product of the positions. Literal shapes are
 * read once for all rows.
 *
 * Pure apart from the row's arena. */
#include "query/call.h"
#include "query/shape.h"

static struct shape_work work_of(struct evaluation *e)
{
    uint64_t left = e->keep ? e->keep->shape_pairs : LIMIT_QUERY_SHAPE_PAIRS;

    return (struct shape_work){ .arena = e->arena,
                                .pairs = left < LIMIT_QUERY_SHAPE_PAIRS ? left
                                                                        : LIMIT_QUERY_SHAPE_PAIRS };
}

/* What was not used is left for the next row. */
static void settle(struct evaluation *e, uint64_t given, const struct shape_work *work)
{
    uint64_t used = given - work->pairs;

    if (e->keep)
        e->keep->shape_pairs -= used < e->keep->shape_pairs ? used : e->keep->shape_pairs;
}

/* A shape, or why it is none. */
struct reading {
    struct shape shape;
    const char *reason;
};

/* The shape of an argument; NULL if it is missing. */
static status take_shape(struct evaluation *e, const struct expression *argument,
                         struct shape_work *work, const struct reading **out)
{
    enum space space = e->meaning && e->meaning->is_flat ? SPACE_FLAT : SPACE_ROUND;
    struct reading *reading;
    struct value value;

    *out = call_kept(e, argument);
    if (*out)
        return STATUS_OK;
    TRY(evaluate(e, argument, &value));
    if (value_kind_of(value) == KIND_MISSING)
        return STATUS_OK;
    work->arena = call_home(e, argument);
    TRY(ARENA_NEW(work->arena, 1, &reading));
    TRY(shape_read(work, space, value, &reading->shape, &reading->reason));
    work->arena = e->arena;
    call_keep(e, argument, reading);
    *out = reading;
    return STATUS_OK;
}

/* The shapes of all arguments, one or two; `has_all_out` is false if one of them is none. */
static status take_shapes(struct evaluation *e, const struct expression *call,
                          struct shape_work *work, const struct shape **shapes, bool *has_all_out)
{
    const struct reading *reading;

    *has_all_out = false;
    for (size_t i = 0; i < call->count; i++) {
        TRY(take_shape(e, call->args[i], work, &reading));
        if (!reading || reading->reason)
            return STATUS_OK;
        shapes[i] = &reading->shape;
    }
    *has_all_out = true;
    return STATUS_OK;
}

status function_shape_area(struct evaluation *e, const struct expression *call, struct value *out)
{
    struct shape_work work = work_of(e);
    uint64_t given = work.pairs;
    const struct shape *shape;
    bool is_shape;

    TRY(take_shapes(e, call, &work, &shape, &is_shape));
    settle(e, given, &work);
    return is_shape ? call_give_real(e, shape_area(shape), out) : STATUS_OK;
}

status function_shape_distance(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct shape_work work = work_of(e);
    uint64_t given = work.pairs;
    const struct shape *shapes[2];
    bool has_both;
    double distance;

    TRY(take_shapes(e, call, &work, shapes, &has_both));
    if (!has_both)
        return STATUS_OK;
    TRY(shape_distance(&work, shapes[0], shapes[1], &distance));
    settle(e, given, &work);
    return call_give_real(e, distance, out);
}

typedef status relation(struct shape_work *work, const struct shape *one, const struct shape *other,
                        bool *out);

static status relate(struct evaluation *e, const struct expression *call, relation *holds,
                     struct value *out)
{
    struct shape_work work = work_of(e);
    uint64_t given = work.pairs;
    const struct shape *shapes[2] = { NULL, NULL };
    bool has_both, is_so;

    TRY(take_shapes(e, call, &work, shapes, &has_both));
    if (!has_both)
        return STATUS_OK;
    TRY(holds(&work, shapes[0], shapes[1], &is_so));
    settle(e, given, &work);
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

status function_shape_is_valid(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct shape_work work = work_of(e);
    uint64_t given = work.pairs;
    const struct reading *reading;

    TRY(take_shape(e, call->args[0], &work, &reading));
    settle(e, given, &work);
    if (reading)
        *out = value_bool(!reading->reason);
    return STATUS_OK;
}

/* { valid: true } or { valid: false, reason: '...' } */
status function_shape_validity(struct evaluation *e, const struct expression *call,
                               struct value *out)
{
    struct buffer built = buffer_in(e->arena);
    struct shape_work work = work_of(e);
    uint64_t given = work.pairs;
    const struct reading *reading;
    struct value text;

    TRY(take_shape(e, call->args[0], &work, &reading));
    settle(e, given, &work);
    if (!reading)
        return STATUS_OK;
    size_t begun = document_begin(&built);
    document_append(&built, BYTES_LITERAL("valid"), value_bool(!reading->reason));
    if (reading->reason) {
        TRY(value_of_text(e->arena, bytes_of_text(reading->reason), &text));
        document_append(&built, BYTES_LITERAL("reason"), text);
    }
    document_end(&built, begun);
    *out = (struct value){ .type = VALUE_DOCUMENT };
    return buffer_finish(&built, &out->raw);
}
