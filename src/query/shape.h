/* Shapes: what GeoJSON describes, read into edges, and how two of them lie to each other. A shape lives in the
 * arena it was read in and is immutable. Pure; callable from every thread. */
#ifndef QUERY_SHAPE_H
#define QUERY_SHAPE_H

#include "query/space.h"
#include "value/value.h"

/* A point, a line, or a ring of a polygon: edges one behind the other. */
struct track {
    const struct edge *edges;
    size_t count;
    size_t polygon; /* which polygon it is a ring of; the first ring of each is the outer one */
    bool is_closed;
};

struct shape {
    enum space space;
    unsigned
        dimension; /* 0: points, 1: lines, 2: polygons, whose inside is left of all their rings */
    const struct track *tracks;
    size_t track_count;
    const struct edge *edges; /* of all tracks */
    size_t edge_count;
};

/* How much comparing is left to do: pairs of edges. */
struct shape_work {
    struct arena *arena;
    uint64_t pairs;
    bool
        takes_smaller; /* on the ball the inside of a ring is its smaller side, however it is written */
};
/* TOO_LARGE if there is not so much left. */
MUST_USE status shape_work_take(struct shape_work *work, size_t edges, size_t times);

/* `reason_out` is NULL if it is a shape, otherwise why not, in the arena of `work`. */
MUST_USE status shape_read(struct shape_work *work, enum space space, struct value value,
                           struct shape *out, const char **reason_out);
/* The same of what stands under "coordinates", taken for shapes of this type. */
MUST_USE status shape_read_as(struct shape_work *work, enum space space, const char *type,
                              struct value coordinates, struct shape *out, const char **reason_out);
/* The second half of that: rings that are rings, within each other as they should be. Turns the rings of
 * polygons so that their inside is to the left, which is why the edges are not const. */
MUST_USE status shape_check(struct shape_work *work, struct shape *shape, struct edge *edges,
                            const char **reason_out);

enum location { LOCATION_OUT, LOCATION_RIM, LOCATION_IN };
MUST_USE status shape_locate(struct shape_work *work, const struct shape *shape,
                             struct vector point, enum location *out);
/* Does the point lie to the left of a ring that it is not on? */
bool track_has_left(const struct track *ring, enum space space, struct vector point);
bool track_has(const struct track *track, struct vector point);

MUST_USE status shape_intersects(struct shape_work *work, const struct shape *one,
                                 const struct shape *other, bool *out);
/* Is all of the first in the second, and not only on its rim? */
MUST_USE status shape_is_within(struct shape_work *work, const struct shape *one,
                                const struct shape *other, bool *out);
/* The same with its rim. */
MUST_USE status shape_is_covered(struct shape_work *work, const struct shape *one,
                                 const struct shape *other, bool *out);
MUST_USE status shape_distance(struct shape_work *work, const struct shape *one,
                               const struct shape *other, double *out);
double shape_area(const struct shape *shape);

#endif
