/* Shape check: is what was read as polygons one?
 *
 * Rings may touch other rings in single points, but neither cross nor run along each other, and a ring may
 * not even touch itself. The other rings of a polygon lie within the first. On the earth the inside of the
 * first ring is to its left, whatever side is the smaller one, unless the smaller one is asked for; in the plane it
 * is the bounded side. Which way round holes are written does not matter: they are on that side of their ring where the first ring is not.
 *
 * Pure apart from the arena. Start reading at shape_check(). */
#include "query/shape.h"

#include <math.h>

/* What the check is about. */
struct checking {
    struct shape_work *work;
    struct shape *shape;
    struct edge *edges; /* those of the shape */
    const char *reason;
};

/* ---- crossings -------------------------------------------------------------------------------------- */

/* Do they run along each other? They are known to meet. */
static bool is_along(const struct edge *e, const struct edge *f)
{
    unsigned common =
        (unsigned)(edge_has(e, f->a) && !space_is_same(e->a, f->a) && !space_is_same(e->b, f->a)) +
        (unsigned)(edge_has(e, f->b) && !space_is_same(e->a, f->b) && !space_is_same(e->b, f->b)) +
        (unsigned)(edge_has(f, e->a) && !space_is_same(f->a, e->a) && !space_is_same(f->b, e->a)) +
        (unsigned)(edge_has(f, e->b) && !space_is_same(f->a, e->b) && !space_is_same(f->b, e->b));

    bool is_equal = (space_is_same(e->a, f->a) && space_is_same(e->b, f->b)) ||
                    (space_is_same(e->a, f->b) && space_is_same(e->b, f->a));
    /* One end within the other edge is a touch, unless the lines are the same. */
    return is_equal || common > 1 ||
           (common == 1 && edge_side(e, f->a) == 0 && edge_side(e, f->b) == 0);
}

/* Is one the next of the other in a ring? */
static bool is_next(const struct track *ring, size_t i, size_t j)
{
    return (i + 1) % ring->count == j || (j + 1) % ring->count == i;
}

static status check_edge_in_ring(struct checking *c, const struct track *ring, size_t i)
{
    bool is_crossing;
    struct vector at;

    TRY(shape_work_take(c->work, ring->count - i, 1));
    for (size_t j = i + 1; j < ring->count && !c->reason; j++) {
        const struct edge *e = &ring->edges[i], *f = &ring->edges[j];
        if (!edge_meets(c->shape->space, e, f, &is_crossing, &at))
            continue;
        if (!is_next(ring, i, j) || is_along(e, f))
            c->reason = "A ring of the polygon crosses or touches itself.";
    }
    return STATUS_OK;
}

static status check_ring(struct checking *c, const struct track *ring)
{
    for (size_t i = 0; i < ring->count && !c->reason; i++)
        TRY(check_edge_in_ring(c, ring, i));
    return STATUS_OK;
}

static status check_two_rings(struct checking *c, const struct track *one,
                              const struct track *other)
{
    bool is_crossing;
    struct vector at;

    TRY(shape_work_take(c->work, one->count, other->count));
    for (size_t i = 0; i < one->count && !c->reason; i++) {
        for (size_t j = 0; j < other->count && !c->reason; j++) {
            const struct edge *e = &one->edges[i], *f = &other->edges[j];
            if (edge_meets(c->shape->space, e, f, &is_crossing, &at) &&
                (is_crossing || is_along(e, f)))
                c->reason = "Two rings of the polygon cross or run along each other.";
        }
    }
    return STATUS_OK;
}

/* ---- insides ---------------------------------------------------------------------------------------- */

/* Turns a ring round: its edges and their order. */
static void turn(struct checking *c, const struct track *ring)
{
    struct edge *edges = c->edges + (ring->edges - c->edges);

    for (size_t i = 0, j = ring->count; i < j; i++) {
        struct edge kept = edges[i];
        edges[i] = edges[--j];
        edges[j] = kept;
    }
    for (size_t i = 0; i < ring->count; i++)
        edges[i] = space_edge(c->shape->space, edges[i].b, edges[i].a);
}

/* A corner, or failing that a middle, of the ring that is not on the other. */
static bool find_off(const struct checking *c, const struct track *ring, const struct track *other,
                     struct vector *out)
{
    for (size_t i = 0; i < ring->count; i++) {
        *out = ring->edges[i].a;
        if (!track_has(other, *out))
            return true;
        *out = space_middle(c->shape->space, ring->edges[i].a, ring->edges[i].b);
        if (!track_has(other, *out))
            return true;
    }
    return false;
}

static double ring_area(const struct checking *c, const struct track *ring)
{
    double area = 0;

    for (size_t i = 0; i < ring->count; i++)
        area += edge_area(c->shape->space, &ring->edges[i], ring->edges[0].a);
    return area;
}

/* Does the inside of an outer ring lie to its right? */
static bool is_inside_out(const struct checking *c, const struct track *ring)
{
    if (c->shape->space == SPACE_FLAT)
        return ring_area(c, ring) < 0;
    if (!c->work->takes_smaller)
        return false;
    double whole = space_whole_area(c->shape->space), area = fmod(ring_area(c, ring), whole);
    return (area < 0 ? area + whole : area) > whole / 2;
}

/* Of the same polygon: the hole gets its inside, and lies within the outer ring. */
static status check_hole(struct checking *c, const struct track *outer, const struct track *hole)
{
    struct vector point;

    TRY(shape_work_take(c->work, 4 * outer->count, hole->count));
    if (find_off(c, outer, hole, &point) && !track_has_left(hole, c->shape->space, point))
        turn(c, hole);
    if (find_off(c, hole, outer, &point) && !track_has_left(outer, c->shape->space, point))
        c->reason = "A hole of the polygon lies outside of its first ring.";
    return STATUS_OK;
}

/* Two holes: neither lies within the other. */
static status check_holes(struct checking *c, const struct track *one, const struct track *other)
{
    struct vector point;

    TRY(shape_work_take(c->work, 4 * one->count, other->count));
    if ((find_off(c, one, other, &point) && !track_has_left(other, c->shape->space, point)) ||
        (find_off(c, other, one, &point) && !track_has_left(one, c->shape->space, point)))
        c->reason = "A hole of the polygon lies within another.";
    return STATUS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static bool is_outer(const struct shape *shape, size_t i)
{
    return i == 0 || shape->tracks[i].polygon != shape->tracks[i - 1].polygon;
}

static status check_pair(struct checking *c, size_t i, size_t j)
{
    const struct track *one = &c->shape->tracks[i], *other = &c->shape->tracks[j];

    TRY(check_two_rings(c, one, other));
    if (c->reason || one->polygon != other->polygon)
        return STATUS_OK;
    return is_outer(c->shape, i) ? check_hole(c, one, other) : check_holes(c, one, other);
}

status shape_check(struct shape_work *work, struct shape *shape, struct edge *edges,
                   const char **reason_out)
{
    struct checking c = { .work = work, .shape = shape, .edges = edges };

    *reason_out = NULL;
    if (shape->dimension < 2)
        return STATUS_OK;
    for (size_t i = 0; i < shape->track_count && !c.reason; i++) {
        TRY(check_ring(&c, &shape->tracks[i]));
        if (!c.reason && is_outer(shape, i) && is_inside_out(&c, &shape->tracks[i]))
            turn(&c, &shape->tracks[i]);
    }
    for (size_t i = 0; i < shape->track_count && !c.reason; i++) {
        for (size_t j = i + 1; j < shape->track_count && !c.reason; j++)
            TRY(check_pair(&c, i, j));
    }
    *reason_out = c.reason;
    return STATUS_OK;
}
