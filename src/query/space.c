/* Space: points and straight lines on the earth (WGS 84), on a ball and in the plane.
 *
 * A straight line on the earth is a great ellipse, and distances and areas are those along and between
 * great ellipses; that is what the published figures of the service are made of, to the tenth of a
 * millimetre. Pressing the ellipsoid along its axis makes it a ball and great ellipses great circles, so
 * questions of side and order are asked there; lengths and areas put the pressing back, as integrals of
 * smooth functions, which eight points of Gauss suffice for.
 *
 * What is nearer than NEAR to a line lies on it: as far as a point whose coordinates were rounded to doubles
 * may be from where it was meant to be (some nanometres).
 *
 * Pure; callable from every thread. */
#include "query/space.h"

#include <math.h>

#define NEAR 4e-15
#define FLATTENING (1 / 298.257223563)
/* (a^2 - b^2) / a^2 and (a^2 - b^2) / b^2 */
#define FIRST_EXCENTRICITY (FLATTENING * (2 - FLATTENING))
#define SECOND_EXCENTRICITY (FIRST_EXCENTRICITY / (1 - FIRST_EXCENTRICITY))
#define DEGREE (M_PI / 180)

/* ---- vectors ---------------------------------------------------------------------------------------- */

static struct vector plus(struct vector a, struct vector b)
{
    return (struct vector){ a.x + b.x, a.y + b.y, a.z + b.z };
}

static struct vector minus(struct vector a, struct vector b)
{
    return (struct vector){ a.x - b.x, a.y - b.y, a.z - b.z };
}

static struct vector times(struct vector a, double by)
{
    return (struct vector){ a.x * by, a.y * by, a.z * by };
}

static double dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector cross(struct vector a, struct vector b)
{
    return (struct vector){ a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x };
}

static double length(struct vector a)
{
    return sqrt(dot(a, a));
}

/* What rounding may have done to a point: in the plane it grows with the coordinates. */
static double near_of(struct vector a)
{
    return NEAR * (fabs(a.x) + fabs(a.y) + fabs(a.z));
}

/* Back onto the ball, or into the plane z = 1. */
static struct vector settle(enum space space, struct vector a)
{
    double by = space == SPACE_FLAT ? a.z : length(a);

    return by != 0 ? times(a, 1 / by) : a;
}

struct vector space_point(enum space space, double x, double y)
{
    if (space == SPACE_FLAT)
        return (struct vector){ x, y, 1 };
    double pressed = space == SPACE_ROUND ? 1 - FLATTENING : 1;
    double out = cos(y * DEGREE), up = pressed * sin(y * DEGREE);
    struct vector at = { out * cos(x * DEGREE), out * sin(x * DEGREE), up };
    return settle(space, at);
}

bool space_is_same(struct vector a, struct vector b)
{
    return length(minus(a, b)) <= near_of(a);
}

bool space_is_antipode(struct vector a, struct vector b)
{
    return length(plus(a, b)) <= near_of(a);
}

struct vector space_middle(enum space space, struct vector a, struct vector b)
{
    return settle(space, plus(a, b));
}

/* ---- edges ------------------------------------------------------------------------------------------ */

/* An arc rises above its chord by at most this. */
static double bulge(enum space space, double chord)
{
    return space == SPACE_FLAT || chord >= 2 ? (double)(space != SPACE_FLAT)
                                             : 1 - sqrt(1 - chord * chord / 4);
}

static void set_box(enum space space, struct edge *e)
{
    double wide = bulge(space, length(minus(e->b, e->a))) + 2 * near_of(e->a) + 2 * near_of(e->b);

    e->low = (struct vector){ fmin(e->a.x, e->b.x) - wide, fmin(e->a.y, e->b.y) - wide,
                              fmin(e->a.z, e->b.z) - wide };
    e->high = (struct vector){ fmax(e->a.x, e->b.x) + wide, fmax(e->a.y, e->b.y) + wide,
                               fmax(e->a.z, e->b.z) + wide };
}

struct edge space_edge(enum space space, struct vector a, struct vector b)
{
    struct edge e = { .a = a, .b = b, .is_point = space_is_same(a, b) };
    struct vector along = minus(b, a), across = cross(a, along);

    set_box(space, &e);
    if (e.is_point)
        return e;
    if (space == SPACE_FLAT) {
        across.z = 0;
        e.left = times(across, 1 / length(along));
        e.on_a = times(along, 1 / length(along));
        e.back_b = times(e.on_a, -1);
        return e;
    }
    e.left = times(across, 1 / length(across));
    e.on_a = cross(e.left, a);
    e.back_b = cross(b, e.left);
    return e;
}

double edge_side(const struct edge *e, struct vector p)
{
    double side = dot(minus(p, e->a), e->left);

    return fabs(side) <= near_of(p) ? 0 : side;
}

/* Does the foot of the point lie between the ends? */
static bool is_beside(const struct edge *e, struct vector p)
{
    return dot(minus(p, e->a), e->on_a) >= 0 && dot(minus(p, e->b), e->back_b) >= 0;
}

static bool is_in_box(const struct edge *e, struct vector p)
{
    return p.x >= e->low.x && p.x <= e->high.x && p.y >= e->low.y && p.y <= e->high.y &&
           p.z >= e->low.z && p.z <= e->high.z;
}

bool edge_has(const struct edge *e, struct vector p)
{
    if (!is_in_box(e, p))
        return false;
    if (space_is_same(e->a, p) || space_is_same(e->b, p))
        return true;
    return !e->is_point && edge_side(e, p) == 0 && is_beside(e, p);
}

bool edge_is_apart(const struct edge *e, const struct edge *f)
{
    return e->low.x > f->high.x || f->low.x > e->high.x || e->low.y > f->high.y ||
           f->low.y > e->high.y || e->low.z > f->high.z || f->low.z > e->high.z;
}

/* Where the edge cuts a line that its ends lie `from_a` to one and `from_b` to the other side of. */
static struct vector cut(enum space space, const struct edge *e, double from_a, double from_b)
{
    return settle(space, plus(times(e->a, fabs(from_b)), times(e->b, fabs(from_a))));
}

bool edge_meets(enum space space, const struct edge *e, const struct edge *f, bool *is_crossing_out,
                struct vector *at_out)
{
    *is_crossing_out = false;
    if (edge_is_apart(e, f))
        return false;
    if (edge_has(e, f->a) || edge_has(e, f->b) || edge_has(f, e->a) || edge_has(f, e->b))
        return true;
    if (e->is_point || f->is_point)
        return false;
    double fa = edge_side(e, f->a), fb = edge_side(e, f->b);
    double ea = edge_side(f, e->a), eb = edge_side(f, e->b);
    if (fa * fb >= 0 || ea * eb >= 0)
        return false;
    *at_out = cut(space, e, ea, eb);
    /* Two great circles cut each other in two points: both edges must have the same one. */
    *is_crossing_out = space == SPACE_FLAT || dot(*at_out, cut(space, f, fa, fb)) > 0;
    return *is_crossing_out;
}

struct nearest edge_nearest(enum space space, const struct edge *e, struct vector p)
{
    struct nearest n;

    if (!e->is_point && is_beside(e, p)) {
        double side = dot(minus(p, e->a), e->left);
        struct vector foot = minus(p, times(e->left, side));
        double rest = 1 - side * side;
        n.where = NEAREST_WITHIN;
        n.at = settle(space, foot);
        n.gap = space == SPACE_FLAT ? fabs(side)
                                    : fabs(side) * sqrt(2 / (1 + sqrt(rest > 0 ? rest : 0)));
        return n;
    }
    double to_a = length(minus(p, e->a)), to_b = length(minus(p, e->b));
    n.where = to_a <= to_b ? NEAREST_A : NEAREST_B;
    n.at = to_a <= to_b ? e->a : e->b;
    n.gap = to_a <= to_b ? to_a : to_b;
    return n;
}

static double outside(double low, double high, double other_low, double other_high)
{
    if (other_low > high)
        return other_low - high;
    return low > other_high ? low - other_high : 0;
}

double edge_gap_least(const struct edge *e, const struct edge *f)
{
    double x = outside(e->low.x, e->high.x, f->low.x, f->high.x);
    double y = outside(e->low.y, e->high.y, f->low.y, f->high.y);
    double z = outside(e->low.z, e->high.z, f->low.z, f->high.z);

    return sqrt(x * x + y * y + z * z);
}

double edge_point_gap_least(const struct edge *e, struct vector p)
{
    double x = outside(e->low.x, e->high.x, p.x, p.x);
    double y = outside(e->low.y, e->high.y, p.y, p.y);
    double z = outside(e->low.z, e->high.z, p.z, p.z);

    return sqrt(x * x + y * y + z * z);
}

/* ---- lengths ---------------------------------------------------------------------------------------- */

/* Gauss and Legendre: the sum of weight * f(place) is the integral of f from -1 to 1. */
static const struct {
    double place, weight;
} gauss[] = {
    {-0.9602898564975363,  0.1012285362903763},
    { -0.7966664774136267, 0.2223810344533745},
    { -0.5255324099163290, 0.3137066458778873},
    { -0.1834346424956498, 0.3626837833783620},
    { 0.1834346424956498,  0.3626837833783620},
    { 0.5255324099163290,  0.3137066458778873},
    { 0.7966664774136267,  0.2223810344533745},
    { 0.9602898564975363,  0.1012285362903763},
};

/* A great circle: from `start` in the direction `along`, by `angle`. */
struct arc {
    struct vector start, along;
    double angle;
};

static struct arc arc_between(struct vector a, struct vector b)
{
    struct arc arc = { .start = a };
    struct vector step = minus(b, a);
    struct vector along = minus(step, times(a, dot(a, step)));

    arc.angle = 2 * atan2(length(step), length(plus(a, b)));
    /* Between antipodes the shortest way leads over the poles. */
    if (space_is_antipode(a, b))
        along = minus((struct vector){ 0, 0, 1 }, times(a, a.z));
    double len = length(along);
    arc.along = len > 0 ? times(along, 1 / len) : (struct vector){ 0, 0, 0 };
    return arc;
}

double space_distance(enum space space, struct vector a, struct vector b)
{
    double sum = 0;

    if (space == SPACE_FLAT)
        return length(minus(a, b));
    struct arc arc = arc_between(a, b);
    if (space == SPACE_BALL)
        return BALL_RADIUS * arc.angle;
    for (size_t i = 0; i < ARRAY_COUNT(gauss); i++) {
        double angle = arc.angle * (1 + gauss[i].place) / 2;
        double rise = arc.along.z * cos(angle) - arc.start.z * sin(angle);
        sum += gauss[i].weight * sqrt(1 - FIRST_EXCENTRICITY * rise * rise);
    }
    return EARTH_MOST_RADIUS * arc.angle / 2 * sum;
}

double space_angle_of_gap(enum space space, double gap)
{
    return space == SPACE_FLAT ? gap : 2 * asin(fmin(1, gap / 2));
}

double space_angle(enum space space, struct vector a, struct vector b)
{
    return space_angle_of_gap(space, length(minus(a, b)));
}

/* A point of the edge, `part` of the way along its chord. */
static struct vector part_of(const struct edge *e, double part)
{
    return settle(SPACE_ROUND, plus(times(e->a, 1 - part), times(e->b, part)));
}

/* The least distance to a part of the edge, by halving with the golden ratio. */
static double least_distance(const struct edge *e, struct vector p, double from, double to,
                             int steps)
{
    static const double golden = 0.6180339887498949;
    double low = to - golden * (to - from), high = from + golden * (to - from);
    double at_low = space_distance(SPACE_ROUND, part_of(e, low), p);
    double at_high = space_distance(SPACE_ROUND, part_of(e, high), p);

    for (int i = 0; i < steps; i++) {
        if (at_low < at_high) {
            to = high;
            high = low;
            at_high = at_low;
            low = to - golden * (to - from);
            at_low = space_distance(SPACE_ROUND, part_of(e, low), p);
        } else {
            from = low;
            low = high;
            at_low = at_high;
            high = from + golden * (to - from);
            at_high = space_distance(SPACE_ROUND, part_of(e, high), p);
        }
    }
    return fmin(at_low, at_high);
}

/* Far away the ellipsoid may put the nearest point elsewhere than the ball: where, to an eighth? */
static double search_part(const struct edge *e, struct vector p, double part)
{
    double least = space_distance(SPACE_ROUND, part_of(e, part), p);

    for (int i = 0; i <= 8; i++) {
        double there = space_distance(SPACE_ROUND, part_of(e, i / 8.0), p);
        if (there < least) {
            least = there;
            part = i / 8.0;
        }
    }
    return part;
}

double edge_distance(enum space space, const struct edge *e, struct vector p)
{
    struct nearest n = edge_nearest(space, e, p);

    if (space == SPACE_FLAT)
        return n.gap;
    double least = space_distance(space, n.at, p);
    if (e->is_point || space == SPACE_BALL)
        return least;
    double chord = length(minus(e->b, e->a));
    double part = dot(minus(n.at, e->a), minus(e->b, e->a)) / (chord * chord);
    /* Near by the ball misses the place by a third of a hundredth of the gap, and the distance hardly depends
     * on it. */
    bool is_near = n.gap < 0.5;
    double wide = is_near ? 0.01 * n.gap / chord : 0.125;
    if (!is_near)
        part = search_part(e, p, part);
    return fmin(
        least, least_distance(e, p, fmax(0, part - wide), fmin(1, part + wide), is_near ? 12 : 32));
}

/* ---- areas ------------------------------------------------------------------------------------------ */

/* The area between equator and a height z of the ball, for one radian, divided by both radii, is
 * z + k z^3 / 6 - k^2 z^5 / 40 + ..., k being SECOND_EXCENTRICITY. This is that at the pole ... */
static double area_of_half(void)
{
    double k = SECOND_EXCENTRICITY;

    return 1 + k / 6 - k * k / 40 + k * k * k / 112 - 5 * k * k * k * k / 1152;
}

/* ... and this is what it has less than area_of_half() * z, divided by 1 - z^2. It vanishes at the poles. */
static double area_missing(double z)
{
    double k = SECOND_EXCENTRICITY, q = z * z;

    return z * (k / 6 - k * k / 40 * (1 + q) + k * k * k / 112 * (1 + q + q * q) -
                5 * k * k * k * k / 1152 * (1 + q + q * q + q * q * q));
}

/* Of the triangle on the ball. */
static double solid_angle(struct vector a, struct vector b, struct vector c)
{
    double volume = dot(a, cross(minus(b, a), minus(c, a)));

    return 2 * atan2(volume, 1 + dot(a, b) + dot(b, c) + dot(c, a));
}

double edge_area(enum space space, const struct edge *e, struct vector origin)
{
    struct vector a = minus(e->a, origin), b = minus(e->b, origin);
    double sum = 0;

    if (space == SPACE_FLAT)
        return (a.x * b.y - a.y * b.x) / 2;
    if (space == SPACE_BALL)
        return BALL_RADIUS * BALL_RADIUS * solid_angle(origin, e->a, e->b);
    struct arc arc = arc_between(e->a, e->b);
    for (size_t i = 0; i < ARRAY_COUNT(gauss); i++) {
        double angle = arc.angle * (1 + gauss[i].place) / 2;
        double z = arc.start.z * cos(angle) + arc.along.z * sin(angle);
        sum += gauss[i].weight * area_missing(z);
    }
    sum *= e->left.z * arc.angle / 2;
    return EARTH_LEAST_RADIUS * EARTH_MOST_RADIUS *
           (area_of_half() * solid_angle(origin, e->a, e->b) + sum);
}

double space_whole_area(enum space space)
{
    if (space == SPACE_BALL)
        return 4 * M_PI * BALL_RADIUS * BALL_RADIUS;
    return 4 * M_PI * EARTH_LEAST_RADIUS * EARTH_MOST_RADIUS * area_of_half();
}
