/* Cells: a ball, or a square of the plane, cut into squares, and each of them into four smaller ones, 24 times. Every
 * cell has a number; the numbers of the cells inside of it lie around its own. Private to this room.
 *
 * A number is positive and below 2^53: the side of the cube (3 bits), two bits for each cut, a 1, zeros. Numbers are
 * stored in indexes, so they never change. Pure apart from the arena; callable from every thread. */
#ifndef QUERY_CELLS_H
#define QUERY_CELLS_H

#include "query/space.h"

struct cell_grid {
    bool is_flat;     /* otherwise the ball */
    double low, high; /* of x and of y in the plane */
};

/* The smallest cell that a place lies in. */
int64_t cell_at(const struct cell_grid *grid, struct vector place);
/* The cell around it; 0 if there is none. */
int64_t cell_parent(int64_t cell);
/* The numbers of all cells inside of it, itself one of them. */
struct cell_range {
    int64_t first, last;
};
struct cell_range cell_range(int64_t cell);

/* How far a place is from what is to be covered, in radians or units; negative if it is that deep inside. */
typedef status cell_reach(void *context, struct vector place, double *out);

struct cells {
    int64_t *items;
    size_t count;
};
/* Cells, `most` at most (and 6 at least), that hold all that is reached, and little else; none within another.
 * `most` is no more than CELLS_MOST. */
enum { CELLS_MOST = 32 };
MUST_USE status cells_cover(struct arena *arena, const struct cell_grid *grid, cell_reach *reach,
                            void *context, size_t most, struct cells *out);

#endif
