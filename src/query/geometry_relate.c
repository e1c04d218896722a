/* Geometry relation: how what a document has lies to what is asked for.
 *
 * All of a geometry is within a region if each point, line or polygon of it is within one of the region's shapes.
 * Something is in a circle if what lies opposite of its centre is far enough from it: that holds for lines and
 * polygons as well as for points. A plain polygon in the plane has inside what is enclosed by an odd number of its
 * windings, and its rim.
 *
 * Pure apart from the arena. Start reading at geometry_ask(). */
#include "query/geometry.h"

#include <math.h>

bool geometry_is_region(const struct geometry *geometry)
{
    for (size_t i = 0; geometry->form == GEOMETRY_SHAPES && i < geometry->count; i++) {
        if (geometry->shapes[i].dimension < 2)
            return false;
    }
    return true;
}

static struct shape shape_of_edge(enum space space, const struct edge *edge, struct track *track)
{
    *track = (struct track){ .edges = edge, .count = 1 };
    return (struct shape){
        .space = space, .tracks = track, .track_count = 1, .edges = edge, .edge_count = 1
    };
}

/* A point or a line of several. */
static struct shape shape_of_track(const struct shape *shape, size_t at)
{
    struct shape one = *shape;

    one.tracks = &shape->tracks[at];
    one.track_count = 1;
    one.edges = one.tracks->edges;
    one.edge_count = one.tracks->count;
    return one;
}

/* ---- within ----------------------------------------------------------------------------------------- */

/* Radians on the ball, or units of the plane. */
static double in_reach(enum space space, double distance)
{
    return space == SPACE_FLAT ? distance : distance / BALL_RADIUS;
}

static status is_in_circle(struct shape_work *work, const struct shape *shape,
                           const struct geometry *circle, bool *out)
{
    struct vector c = circle->center, opposite = { -c.x, -c.y, -c.z };
    struct track track;
    double distance;

    if (shape->dimension == 0) {
        distance = space_distance(circle->space, c, shape->edges[0].a);
        *out = in_reach(circle->space, distance) <= circle->radius;
        return STATUS_OK;
    }
    struct edge edge = space_edge(circle->space, opposite, opposite);
    struct shape point = shape_of_edge(circle->space, &edge, &track);
    TRY(shape_distance(work, &point, shape, &distance));
    *out = M_PI - in_reach(circle->space, distance) <= circle->radius;
    return STATUS_OK;
}

/* Does a ray to the right of the point cross the edge? Each corner belongs to one of its two edges. */
static bool is_crossed(const struct edge *edge, struct vector p)
{
    struct vector a = edge->a, b = edge->b;

    return (a.y > p.y) != (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x);
}

static bool is_in_ring(const struct geometry *ring, struct vector p)
{
    bool is_in = false;

    for (size_t i = 0; i < ring->ring_count; i++) {
        if (edge_has(&ring->ring[i], p))
            return true;
        is_in ^= is_crossed(&ring->ring[i], p);
    }
    return is_in;
}

static status is_part_within(struct shape_work *work, const struct shape *part,
                             const struct geometry *region, bool *out)
{
    *out = false;
    switch (region->form) {
    case GEOMETRY_CIRCLE:
        return is_in_circle(work, part, region, out);
    case GEOMETRY_RING:
        TRY(shape_work_take(work, region->ring_count, 1));
        *out = part->dimension == 0 && is_in_ring(region, part->edges[0].a);
        return STATUS_OK;
    case GEOMETRY_SHAPES:
        break;
    }
    for (size_t i = 0; i < region->count && !*out; i++)
        TRY(shape_is_covered(work, part, &region->shapes[i], out));
    return STATUS_OK;
}

status geometry_is_within(struct shape_work *work, const struct geometry *one,
                          const struct geometry *region, bool *out)
{
    *out = one->count > 0;
    for (size_t i = 0; i < one->count && *out; i++) {
        const struct shape *shape = &one->shapes[i];
        if (shape->dimension == 2)
            TRY(is_part_within(work, shape, region, out));
        for (size_t j = 0; shape->dimension < 2 && j < shape->track_count && *out; j++) {
            struct shape part = shape_of_track(shape, j);
            TRY(is_part_within(work, &part, region, out));
        }
    }
    return STATUS_OK;
}

/* ---- the others ------------------------------------------------------------------------------------- */

status geometry_intersects(struct shape_work *work, const struct geometry *one,
                           const struct geometry *other, bool *out)
{
    *out = false;
    for (size_t i = 0; i < one->count && !*out; i++) {
        for (size_t j = 0; j < other->count && !*out; j++)
            TRY(shape_intersects(work, &one->shapes[i], &other->shapes[j], out));
    }
    return STATUS_OK;
}

status geometry_distance(struct shape_work *work, const struct geometry *point,
                         const struct geometry *other, double *out)
{
    double distance;

    *out = INFINITY;
    for (size_t i = 0; i < other->count; i++) {
        const struct shape *shape = &other->shapes[i];
        if (shape->dimension == 0 && shape->edge_count == 1)
            distance = space_distance(shape->space, point->shapes[0].edges[0].a, shape->edges[0].a);
        else
            TRY(shape_distance(work, &point->shapes[0], shape, &distance));
        *out = fmin(*out, distance);
    }
    return STATUS_OK;
}

static double least_gap(enum space space, const struct edge *edges, size_t count,
                        struct vector place)
{
    double least = INFINITY;

    for (size_t i = 0; i < count; i++) {
        if (edge_point_gap_least(&edges[i], place) < least)
            least = fmin(least, edge_nearest(space, &edges[i], place).gap);
    }
    return space_angle_of_gap(space, least);
}

static status reach_of_shape(struct shape_work *work, const struct shape *shape,
                             struct vector place, double *out)
{
    enum location location;

    TRY(shape_work_take(work, shape->edge_count, 1));
    *out = least_gap(shape->space, shape->edges, shape->edge_count, place);
    if (shape->dimension < 2)
        return STATUS_OK;
    TRY(shape_locate(work, shape, place, &location));
    if (location != LOCATION_OUT)
        *out = -*out;
    return STATUS_OK;
}

status geometry_reach(struct shape_work *work, const struct geometry *geometry, struct vector place,
                      double *out)
{
    double reach;

    *out = INFINITY;
    switch (geometry->form) {
    case GEOMETRY_CIRCLE:
        *out = in_reach(geometry->space, space_distance(geometry->space, geometry->center, place)) -
               geometry->radius;
        return STATUS_OK;
    case GEOMETRY_RING:
        TRY(shape_work_take(work, geometry->ring_count, 2));
        *out = least_gap(geometry->space, geometry->ring, geometry->ring_count, place);
        if (is_in_ring(geometry, place))
            *out = -*out;
        return STATUS_OK;
    case GEOMETRY_SHAPES:
        break;
    }
    for (size_t i = 0; i < geometry->count; i++) {
        TRY(reach_of_shape(work, &geometry->shapes[i], place, &reach));
        *out = fmin(*out, reach);
    }
    return STATUS_OK;
}

/* ---- one value -------------------------------------------------------------------------------------- */

static status ask(struct shape_work *work, const struct geometry_wish *wish,
                  const struct geometry *given, bool *out, double *distance)
{
    switch (wish->relation) {
    case GEOMETRY_WITHIN:
        return geometry_is_within(work, given, &wish->geometry, out);
    case GEOMETRY_INTERSECTS:
        return geometry_intersects(work, given, &wish->geometry, out);
    case GEOMETRY_NEAR:
        break;
    }
    TRY(geometry_distance(work, &wish->geometry, given, distance));
    *distance /= wish->unit;
    *out = *distance >= wish->least && *distance <= wish->most;
    return STATUS_OK;
}

status geometry_ask(struct arena *arena, const struct geometry_wish *wish, struct value value,
                    bool *out, double *distance_out)
{
    struct shape_work work = { .arena = arena, .pairs = LIMIT_QUERY_SHAPE_PAIRS };
    arena_position mark = arena_mark(arena);
    struct geometry given;
    const char *reason;

    *out = false;
    *distance_out = INFINITY;
    if (value.type != VALUE_ARRAY && value.type != VALUE_DOCUMENT)
        return STATUS_OK;
    TRY(geometry_read(&work, wish->geometry.space, value, &given, &reason));
    if (!reason)
        TRY(ask(&work, wish, &given, out, distance_out));
    arena_release(arena, mark);
    return STATUS_OK;
}
