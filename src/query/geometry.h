/* Geometry: where a value lies, and how that lies to what is asked for. Values are GeoJSON of all kinds, or pairs of
 * numbers ([x, y] or { any: x, names: y }); what is asked for may be a circle or a plain polygon, too.
 *
 * A geometry lives in the arena it was read in and is immutable. Pure; callable from every thread. */
#ifndef QUERY_GEOMETRY_H
#define QUERY_GEOMETRY_H

#include "query/shape.h"

enum geometry_form {
    GEOMETRY_SHAPES, /* `shapes`, each of one polygon at most */
    GEOMETRY_CIRCLE, /* all that is no farther than `radius` from `center` */
    GEOMETRY_RING,   /* in the plane: what `ring` encloses, which may cross itself */
};

struct geometry {
    enum geometry_form form;
    enum space space;
    const struct shape *shapes;
    size_t count;
    struct vector center;
    double radius; /* radians on the ball, otherwise units of the plane */
    const struct edge *ring;
    size_t ring_count;
};

/* How a document has to lie to it. */
enum geometry_relation { GEOMETRY_WITHIN, GEOMETRY_INTERSECTS, GEOMETRY_NEAR };
struct geometry_wish {
    enum geometry_relation relation;
    struct geometry geometry; /* GEOMETRY_NEAR: one point */
    /* GEOMETRY_NEAR: no nearer and no farther than this; INFINITY: however far. */
    double least, most;
    double unit;  /* the metres, or units of the plane, that 1 means in both, and in what is told */
    bool is_pair; /* the point was given as a pair of numbers */
};

/* A value as a document has it, seen on the ball or in the plane, where only points are; *reason_out is NULL if it is
 * a geometry. TOO_LARGE past what `work` allows. */
MUST_USE status geometry_read(struct shape_work *work, enum space space, struct value value,
                              struct geometry *out, const char **reason_out);
/* GeoJSON of who asks: its crs may be `wound`, by which a polygon is to the left of its rings, however large. */
MUST_USE status geometry_read_asked(struct shape_work *work, struct value value, const char *wound,
                                    struct geometry *out, const char **reason_out);
/* Longitude and latitude in degrees, or x and y. */
struct position {
    double x, y;
};
/* Is it a pair of numbers? More may follow if `takes_more`. */
bool geometry_read_pair(struct value value, bool takes_more, struct position *out);
bool geometry_is_on_ball(struct position at);
/* All in `arena`. */
MUST_USE status geometry_of_point(struct arena *arena, enum space space, struct position position,
                                  struct geometry *out);
struct geometry geometry_circle(enum space space, struct position center, double radius);
/* In the plane; the last corner is joined to the first. */
MUST_USE status geometry_ring(struct arena *arena, const struct position *corners, size_t count,
                              struct geometry *out);
/* Does it enclose something? */
bool geometry_is_region(const struct geometry *geometry);

MUST_USE status geometry_is_within(struct shape_work *work, const struct geometry *one,
                                   const struct geometry *region, bool *out);
MUST_USE status geometry_intersects(struct shape_work *work, const struct geometry *one,
                                    const struct geometry *other, bool *out);
/* From one point, in metres or units of the plane. */
MUST_USE status geometry_distance(struct shape_work *work, const struct geometry *point,
                                  const struct geometry *other, double *out);
/* The least distance of a place to the geometry, in radians or units; if the place is inside, how deep, negative. */
MUST_USE status geometry_reach(struct shape_work *work, const struct geometry *geometry,
                               struct vector place, double *out);

/* Does a value fulfil the wish? What is no geometry does not. `distance_out`, of GEOMETRY_NEAR, is INFINITY
 * for that. */
MUST_USE status geometry_ask(struct arena *arena, const struct geometry_wish *wish,
                             struct value value, bool *out, double *distance_out);

#endif
