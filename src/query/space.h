/* Points and straight lines, on the round earth, on a ball or in the plane, as vectors.
 *
 * On the earth a point is the unit vector of its parametric latitude and its longitude: the ellipsoid
 * pressed into a ball. A straight line is the cut with a plane through the centre, so that the side of a
 * line on which a point lies is the sign of one product. SPACE_BALL takes the earth for a ball from the beginning.
 * In the plane a point is (x, y, 1), and the same products mean the same. Pure; callable from every thread. */
#ifndef QUERY_SPACE_H
#define QUERY_SPACE_H

#include "base/base.h"

enum space { SPACE_ROUND, SPACE_FLAT, SPACE_BALL };

struct vector {
    double x, y, z;
};

/* From a to b, the short way; a point if both are the same. */
struct edge {
    struct vector a, b;
    struct vector left; /* across: (p - a) * left is how far p lies to the left of the line */
    struct vector on_a, back_b; /* along: at a towards b, at b towards a */
    struct vector low, high;    /* the box around it */
    bool is_point;
};

/* Degrees of longitude and latitude, or x and y. */
struct vector space_point(enum space space, double x, double y);
bool space_is_same(struct vector a, struct vector b);
bool space_is_antipode(struct vector a, struct vector b);
struct edge space_edge(enum space space, struct vector a, struct vector b);

/* How far to the left of the line through the edge; exactly 0 if it lies on it. On the earth as the sine
 * of an angle. */
double edge_side(const struct edge *edge, struct vector point);
bool edge_has(const struct edge *edge, struct vector point);
bool edge_is_apart(const struct edge *one,
                   const struct edge *other); /* by their boxes; else unknown */
/* Do they have a point in common? `is_crossing_out`: one that is no end of either, given in `at_out`. */
bool edge_meets(enum space space, const struct edge *one, const struct edge *other,
                bool *is_crossing_out, struct vector *at_out);
/* Halfway between two points that are not antipodes. */
struct vector space_middle(enum space space, struct vector a, struct vector b);

/* The point of the edge that is next to a point. */
struct nearest {
    double gap; /* straight through the ball */
    enum { NEAREST_WITHIN, NEAREST_A, NEAREST_B } where;
    struct vector at;
};
struct nearest edge_nearest(enum space space, const struct edge *edge, struct vector point);
/* At least how far two edges, or an edge and a point, are from each other, as a gap, by their boxes. */
double edge_gap_least(const struct edge *one, const struct edge *other);
double edge_point_gap_least(const struct edge *edge, struct vector point);

/* In metres along the surface of the earth or the ball, or in units of the plane. */
double space_distance(enum space space, struct vector a, struct vector b);
double edge_distance(enum space space, const struct edge *edge, struct vector point);
#define BALL_RADIUS 6378100.0
/* Metres lie between these many times the angle that a gap spans. */
#define EARTH_LEAST_RADIUS 6356752.314245179
#define EARTH_MOST_RADIUS 6378137.0

/* The angle between two places of the ball, or the distance in the plane; fast, and to some 1e-8 only. */
double space_angle(enum space space, struct vector a, struct vector b);
double space_angle_of_gap(enum space space, double gap);

/* What an edge of a ring adds to its area when seen from `origin`, a corner of it; the area is the sum, to
 * which a negative one takes the whole earth. */
double edge_area(enum space space, const struct edge *edge, struct vector origin);
double space_whole_area(enum space space);

#endif
