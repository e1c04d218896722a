/* Geometries in indexes: which cells (cells.h) a document has, and which ones a wish asks for. Private to this room. */
#ifndef QUERY_GEOMETRY_CELLS_H
#define QUERY_GEOMETRY_CELLS_H

#include "engine/engine.h"
#include "query/cells.h"
#include "query/geometry.h"

/* Settings of an index part: { low, high } of the plane, or nothing for the ball; { keeps: true }: documents without a
 * geometry are held as null. */
struct cell_settings {
    struct cell_grid grid;
    bool keeps_missing;
};
struct cell_settings cell_settings_of(bytes settings);

/* For engine_options.extract: the cells of a document in a part of kind PART_CELLS. INVALID if there is
 * something at the path that is no geometry. */
MUST_USE status geometry_index_values(struct arena *arena, const struct index_field *field,
                                      bytes document, struct index_values *out);

/* From so far on, and no farther, in the unit of the wish. */
struct geometry_ring {
    double from, to;
};
/* Cells that hold all that fulfils the wish; of one on nearness, all in the ring. */
MUST_USE status geometry_cover(struct arena *arena, const struct cell_grid *grid,
                               const struct geometry_wish *wish, const struct geometry_ring *ring,
                               struct cells *out);
/* Nothing is farther than that, in the unit of the wish. */
double geometry_farthest(const struct cell_grid *grid, const struct geometry_wish *wish);

#endif
