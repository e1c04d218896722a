/* Shape relation: how two shapes lie to each other.
 *
 * Two shapes have a point in common if two of their edges have, or if one lies within a polygon of the other.
 * To find out whether one is within the other its edges are cut where they meet those of the other; then
 * each piece is wholly in, out, or on the rim, and its middle tells which. The distance of shapes that have
 * nothing in common is that of an end of an edge of one from an edge of the other.
 *
 * Pure apart from the arena. */
#include "query/shape.h"

#include <math.h>
#include <stdlib.h>

/* ---- points ----------------------------------------------------------------------------------------- */

bool track_has(const struct track *track, struct vector point)
{
    for (size_t i = 0; i < track->count; i++) {
        if (edge_has(&track->edges[i], point))
            return true;
    }
    return false;
}

/* Decided at the corner between two edges, which is the next of the ring to the point. */
static bool is_left_of_corner(const struct edge *in, const struct edge *out, struct vector point)
{
    bool is_left_in = edge_side(in, point) > 0, is_left_out = edge_side(out, point) > 0;
    double turn = edge_side(in, out->b);

    if (turn > 0)
        return is_left_in && is_left_out;
    return turn < 0 ? is_left_in || is_left_out : is_left_in;
}

/* The way to the nearest place of the ring crosses nothing, so that place decides. */
bool track_has_left(const struct track *ring, enum space space, struct vector point)
{
    struct nearest best = { .gap = INFINITY };
    size_t at = 0;

    for (size_t i = 0; i < ring->count; i++) {
        if (edge_point_gap_least(&ring->edges[i], point) > best.gap)
            continue;
        struct nearest here = edge_nearest(space, &ring->edges[i], point);
        if (here.gap < best.gap) {
            best = here;
            at = i;
        }
    }
    const struct edge *edge = &ring->edges[at];
    switch (best.where) {
    case NEAREST_A:
        return is_left_of_corner(&ring->edges[at ? at - 1 : ring->count - 1], edge, point);
    case NEAREST_B:
        return is_left_of_corner(edge, &ring->edges[(at + 1) % ring->count], point);
    case NEAREST_WITHIN:
        break;
    }
    return edge_side(edge, point) > 0;
}

static enum location locate_on_lines(const struct shape *shape, struct vector point)
{
    enum location location = LOCATION_OUT;

    for (size_t i = 0; i < shape->track_count && location != LOCATION_IN; i++) {
        const struct track *track = &shape->tracks[i];
        if (!track_has(track, point))
            continue;
        bool is_end = shape->dimension == 1 && !track->is_closed &&
                      (space_is_same(track->edges[0].a, point) ||
                       space_is_same(track->edges[track->count - 1].b, point));
        location = is_end ? LOCATION_RIM : LOCATION_IN;
    }
    return location;
}

static enum location locate_in_polygons(const struct shape *shape, struct vector point)
{
    for (size_t i = 0; i < shape->track_count;) {
        size_t polygon = shape->tracks[i].polygon;
        bool is_in = true;
        for (; i < shape->track_count && shape->tracks[i].polygon == polygon; i++)
            is_in = is_in && track_has_left(&shape->tracks[i], shape->space, point);
        if (is_in)
            return LOCATION_IN;
    }
    return LOCATION_OUT;
}

status shape_locate(struct shape_work *work, const struct shape *shape, struct vector point,
                    enum location *out)
{
    TRY(shape_work_take(work, shape->edge_count, 2));
    if (shape->dimension < 2) {
        *out = locate_on_lines(shape, point);
        return STATUS_OK;
    }
    *out = LOCATION_RIM;
    for (size_t i = 0; i < shape->track_count; i++) {
        if (track_has(&shape->tracks[i], point))
            return STATUS_OK;
    }
    *out = locate_in_polygons(shape, point);
    return STATUS_OK;
}

/* ---- intersection ----------------------------------------------------------------------------------- */

static bool has_meeting(const struct shape *one, const struct shape *other)
{
    bool is_crossing;
    struct vector at;

    for (size_t i = 0; i < one->edge_count; i++) {
        for (size_t j = 0; j < other->edge_count; j++) {
            if (edge_meets(one->space, &one->edges[i], &other->edges[j], &is_crossing, &at))
                return true;
        }
    }
    return false;
}

/* A track of the one within a polygon of the other, when no edges meet. */
static status has_track_inside(struct shape_work *work, const struct shape *one,
                               const struct shape *other, bool *out)
{
    enum location location;

    for (size_t i = 0; i < one->track_count && other->dimension == 2 && !*out; i++) {
        TRY(shape_locate(work, other, one->tracks[i].edges[0].a, &location));
        *out = location != LOCATION_OUT;
    }
    return STATUS_OK;
}

status shape_intersects(struct shape_work *work, const struct shape *one, const struct shape *other,
                        bool *out)
{
    *out = false;
    TRY(shape_work_take(work, one->edge_count, other->edge_count));
    *out = has_meeting(one, other);
    if (!*out)
        TRY(has_track_inside(work, one, other, out));
    return *out ? STATUS_OK : has_track_inside(work, other, one, out);
}

/* ---- within ----------------------------------------------------------------------------------------- */

/* The places where an edge is cut, in order. */
struct place {
    double from_start;
    struct vector at;
};
struct places {
    struct place *list;
    size_t count;
};

static int compare_places(const void *a, const void *b)
{
    double one = ((const struct place *)a)->from_start;
    double other = ((const struct place *)b)->from_start;

    return (one > other) - (one < other);
}

static void add_place(struct places *places, const struct edge *edge, struct vector at)
{
    double x = at.x - edge->a.x, y = at.y - edge->a.y, z = at.z - edge->a.z;

    places->list[places->count++] = (struct place){ sqrt(x * x + y * y + z * z), at };
}

/* Both ends, and wherever the other shape has an end of an edge or crosses. */
static void find_places(const struct edge *edge, const struct shape *other, struct places *out)
{
    bool is_crossing;
    struct vector at;

    ASSERT(out->list);
    out->count = 0;
    add_place(out, edge, edge->a);
    add_place(out, edge, edge->b);
    for (size_t i = 0; i < other->edge_count; i++) {
        const struct edge *f = &other->edges[i];
        if (!edge_meets(other->space, edge, f, &is_crossing, &at))
            continue;
        if (is_crossing)
            add_place(out, edge, at);
        if (edge_has(edge, f->a))
            add_place(out, edge, f->a);
        if (edge_has(edge, f->b))
            add_place(out, edge, f->b);
    }
    qsort(out->list, out->count, sizeof(out->list[0]), compare_places);
}

static status make_places(struct shape_work *work, const struct shape *other, struct places *out)
{
    out->count = 0;
    return ARENA_NEW(work->arena, 2 + 3 * other->edge_count, &out->list);
}

/* Is the inside of the ring with this edge on the same side as that of the ring whose rim it runs along? */
static bool is_same_side(const struct edge *edge, const struct shape *other, struct vector middle)
{
    for (size_t i = 0; i < other->edge_count; i++) {
        const struct edge *f = &other->edges[i];
        if (edge_has(f, middle))
            return edge->left.x * f->left.x + edge->left.y * f->left.y + edge->left.z * f->left.z >
                   0;
    }
    return false;
}

/* What is known of the first shape in the second. */
struct findings {
    bool is_out;     /* a part of it is outside */
    bool has_inside; /* their insides have something in common */
};

static status judge_piece(struct shape_work *work, const struct shape *one, const struct edge *edge,
                          const struct shape *other, struct vector middle, struct findings *found)
{
    enum location location;

    TRY(shape_locate(work, other, middle, &location));
    bool runs_along = location == LOCATION_RIM && one->dimension == 2 && other->dimension == 2;
    bool is_same = runs_along && is_same_side(edge, other, middle);
    found->is_out |= location == LOCATION_OUT || (runs_along && !is_same);
    found->has_inside |= location == LOCATION_IN || is_same;
    return STATUS_OK;
}

static status judge_edges(struct shape_work *work, const struct shape *one,
                          const struct shape *other, struct findings *found)
{
    struct places places = { 0 };

    if (one->dimension > 0)
        TRY(make_places(work, other, &places));
    for (size_t i = 0; i < one->edge_count && !found->is_out; i++) {
        const struct edge *edge = &one->edges[i];
        if (edge->is_point) {
            TRY(judge_piece(work, one, edge, other, edge->a, found));
            continue;
        }
        TRY(shape_work_take(work, other->edge_count, 1));
        find_places(edge, other, &places);
        for (size_t j = 1; j < places.count && !found->is_out; j++) {
            struct vector a = places.list[j - 1].at, b = places.list[j].at;
            if (!space_is_same(a, b))
                TRY(judge_piece(work, one, edge, other, space_middle(one->space, a, b), found));
        }
    }
    return STATUS_OK;
}

/* Does a part of the other's rim lie in the inside of the one? */
static status has_rim_inside(struct shape_work *work, const struct shape *one,
                             const struct shape *other, bool *out)
{
    struct findings found = { 0 };
    struct shape rim = *other;

    /* Taken as lines, pieces that run along say nothing. */
    rim.dimension = 1;
    *out = false;
    if (one->dimension < 2)
        return STATUS_OK;
    struct places places;
    TRY(make_places(work, one, &places));
    for (size_t i = 0; i < rim.edge_count && !found.has_inside; i++) {
        TRY(shape_work_take(work, one->edge_count, 1));
        find_places(&rim.edges[i], one, &places);
        for (size_t j = 1; j < places.count && !found.has_inside; j++) {
            struct vector a = places.list[j - 1].at, b = places.list[j].at;
            if (!space_is_same(a, b))
                TRY(judge_piece(work, &rim, &rim.edges[i], one, space_middle(one->space, a, b),
                                &found));
        }
    }
    *out = found.has_inside;
    return STATUS_OK;
}

static status judge_within(struct shape_work *work, const struct shape *one,
                           const struct shape *other, bool needs_inside, bool *out)
{
    struct findings found = { 0 };
    bool has_rim;

    *out = false;
    if (one->dimension > other->dimension)
        return STATUS_OK;
    TRY(judge_edges(work, one, other, &found));
    if (found.is_out || (needs_inside && !found.has_inside))
        return STATUS_OK;
    TRY(has_rim_inside(work, one, other, &has_rim));
    *out = !has_rim;
    return STATUS_OK;
}

status shape_is_within(struct shape_work *work, const struct shape *one, const struct shape *other,
                       bool *out)
{
    return judge_within(work, one, other, true, out);
}

status shape_is_covered(struct shape_work *work, const struct shape *one, const struct shape *other,
                        bool *out)
{
    return judge_within(work, one, other, false, out);
}

/* ---- distance and area ------------------------------------------------------------------------------ */

/* The least gap between an end of one edge and the other edge. */
static double gap_of(enum space space, const struct edge *e, const struct edge *f)
{
    if (e->is_point)
        return edge_nearest(space, f, e->a).gap;
    if (f->is_point)
        return edge_nearest(space, e, f->a).gap;
    double one = fmin(edge_nearest(space, e, f->a).gap, edge_nearest(space, e, f->b).gap);
    double other = fmin(edge_nearest(space, f, e->a).gap, edge_nearest(space, f, e->b).gap);

    return fmin(one, other);
}

static double distance_of(enum space space, const struct edge *e, const struct edge *f)
{
    if (e->is_point)
        return edge_distance(space, f, e->a);
    if (f->is_point)
        return edge_distance(space, e, f->a);
    double one = fmin(edge_distance(space, e, f->a), edge_distance(space, e, f->b));
    double other = fmin(edge_distance(space, f, e->a), edge_distance(space, f, e->b));

    return fmin(one, other);
}

static double least_gap(const struct shape *one, const struct shape *other)
{
    double least = INFINITY;

    for (size_t i = 0; i < one->edge_count; i++) {
        for (size_t j = 0; j < other->edge_count; j++) {
            if (edge_gap_least(&one->edges[i], &other->edges[j]) < least)
                least = fmin(least, gap_of(one->space, &one->edges[i], &other->edges[j]));
        }
    }
    return least;
}

/* Which gaps could still be the shortest way on the ellipsoid, when this is the least in the ball? */
static double gap_with_doubt(double least)
{
    double angle = 2 * asin(fmin(1, least / 2)) * (EARTH_MOST_RADIUS / EARTH_LEAST_RADIUS);

    return angle >= M_PI ? 2 : 2 * sin(angle / 2) * (1 + 1e-9);
}

static status measure(struct shape_work *work, const struct shape *one, const struct shape *other,
                      double *out)
{
    enum { STEPS_OF_MEASURING = 200 };
    double gap = gap_with_doubt(least_gap(one, other));

    *out = INFINITY;
    for (size_t i = 0; i < one->edge_count; i++) {
        for (size_t j = 0; j < other->edge_count; j++) {
            const struct edge *e = &one->edges[i], *f = &other->edges[j];
            if (edge_gap_least(e, f) > gap || gap_of(one->space, e, f) > gap)
                continue;
            TRY(shape_work_take(work, STEPS_OF_MEASURING, 1));
            *out = fmin(*out, distance_of(one->space, e, f));
        }
    }
    return STATUS_OK;
}

status shape_distance(struct shape_work *work, const struct shape *one, const struct shape *other,
                      double *out)
{
    bool is_common;

    *out = 0;
    TRY(shape_intersects(work, one, other, &is_common));
    if (is_common)
        return STATUS_OK;
    TRY(shape_work_take(work, 2 * one->edge_count, other->edge_count));
    if (one->space != SPACE_FLAT)
        return measure(work, one, other, out);
    *out = least_gap(one, other);
    return STATUS_OK;
}

/* Of one polygon, whose rings begin here. */
static double polygon_area(const struct shape *shape, const struct track *rings, size_t count)
{
    double area = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < rings[i].count; j++)
            area += edge_area(shape->space, &rings[i].edges[j], rings[i].edges[0].a);
    }
    if (shape->space == SPACE_FLAT)
        return area;
    area = fmod(area, space_whole_area(shape->space));
    return area < 0 ? area + space_whole_area(shape->space) : area;
}

double shape_area(const struct shape *shape)
{
    double area = 0;

    for (size_t i = 0, next; shape->dimension == 2 && i < shape->track_count; i = next) {
        for (next = i; next < shape->track_count; next++) {
            if (shape->tracks[next].polygon != shape->tracks[i].polygon)
                break;
        }
        area += polygon_area(shape, &shape->tracks[i], next - i);
    }
    return area;
}
