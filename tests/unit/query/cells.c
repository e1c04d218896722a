/* Cells: numbers within each other, and coverings that hold all that they should. */
#include "base/random.h"
#include "query/geometry_cells.h"
#include "tests/check.h"

#include <math.h>

static const struct cell_grid ball = { 0 };
static const struct cell_grid plane = { .is_flat = true, .low = -180, .high = 180 };

static struct vector any_place(struct random *random, const struct cell_grid *grid)
{
    double x = (double)random_below(random, 360001) / 1000 - 180;
    double y = grid->is_flat ? (double)random_below(random, 360001) / 1000 - 180
                             : (double)random_below(random, 180001) / 1000 - 90;

    /* Where sides of the cube meet, the poles, and the antimeridian. */
    if (random_chance(random, 20))
        x = (double)random_below(random, 9) * 45 - 180;
    if (random_chance(random, 20))
        y = (double)random_below(random, 5) * 45 - 90;
    return space_point(grid->is_flat ? SPACE_FLAT : SPACE_BALL, x, y);
}

TEST(cells, a_cell_is_inside_of_all_cells_around_it)
{
    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        int64_t cell = cell_at(seed % 2 ? &ball : &plane, any_place(&random, &ball)), inner = cell;
        unsigned levels = 0;
        CHECK_THAT(cell > 0 && cell < (int64_t)1 << 53, "the number is one that doubles hold");
        for (; cell; cell = cell_parent(cell), levels++) {
            struct cell_range range = cell_range(cell);
            CHECK_THAT(range.first <= inner && inner <= range.last, "level %u", levels);
            CHECK_THAT(cell_range(inner).first >= range.first &&
                           cell_range(inner).last <= range.last,
                       "level %u", levels);
        }
        CHECK_EQ(levels, 25, "a side of the cube and 24 cuts");
    }
}

static bool is_covered(const struct cells *cells, int64_t cell)
{
    for (size_t i = 0; i < cells->count; i++) {
        struct cell_range range = cell_range(cells->items[i]);
        if (cell >= range.first && cell <= range.last)
            return true;
    }
    return false;
}

/* The part of the whole that the cells have. */
static double share_of(const struct cells *cells)
{
    double share = 0;

    for (size_t i = 0; i < cells->count; i++) {
        struct cell_range range = cell_range(cells->items[i]);
        share += (double)(range.last - range.first + 2) / (double)((int64_t)1 << 49) / 6;
    }
    return share;
}

TEST(cells, a_covering_holds_every_place_of_a_circle_and_little_else)
{
    EACH_SEED(seed, 60) {
        struct random random = random_seeded(seed);
        struct arena *arena = arena_open(1 << 20);
        const struct cell_grid *grid = seed % 3 ? &ball : &plane;
        struct geometry_wish wish = { .relation = GEOMETRY_WITHIN };
        struct vector center = any_place(&random, grid);
        double radius = pow(10, -(double)random_below(&random, 5)) * (grid->is_flat ? 57 : 1);
        struct cells cells;
        wish.geometry = (struct geometry){ .form = GEOMETRY_CIRCLE,
                                           .space = grid->is_flat ? SPACE_FLAT : SPACE_BALL,
                                           .center = center,
                                           .radius = radius };
        CHECK_OK(geometry_cover(arena, grid, &wish, NULL, &cells));
        CHECK_THAT(cells.count <= CELLS_MOST, "%zu cells", cells.count);
        for (int i = 0; i < 300; i++) {
            struct vector place = any_place(&random, grid);
            double part = (double)random_below(&random, 1001) / 1000;
            /* Between the centre and anywhere, and so often inside of the circle. */
            if (i % 2)
                place = space_edge(wish.geometry.space, center, place).a;
            struct edge edge = space_edge(wish.geometry.space, center, place);
            double x = center.x + (edge.b.x - center.x) * part * radius;
            double y = center.y + (edge.b.y - center.y) * part * radius;
            double z = center.z + (edge.b.z - center.z) * part * radius;
            double len = grid->is_flat ? 1 : sqrt(x * x + y * y + z * z);
            place = (struct vector){ x / len, y / len, grid->is_flat ? 1 : z / len };
            double reach;
            struct shape_work work = { .arena = arena, .pairs = 1000 };
            CHECK_OK(geometry_reach(&work, &wish.geometry, place, &reach));
            if (reach <= 0 && (!grid->is_flat || (fabs(x) < 180 && fabs(y) < 180)))
                CHECK_THAT(is_covered(&cells, cell_at(grid, place)), "(%g, %g, %g) is not covered",
                           place.x, place.y, place.z);
        }
        double whole = grid->is_flat ? M_PI * radius * radius / 360 / 360 / 6
                                     : (1 - cos(fmin(radius, M_PI))) / 2;
        CHECK_THAT(share_of(&cells) < whole * 4 + 1e-9, "%g of the whole for %g", share_of(&cells),
                   whole);
        arena_close(arena);
    }
}
