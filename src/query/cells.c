/* Cells: numbers for squares of a ball or a plane.
 *
 * The ball is put into a cube. A side is cut where a parabola says, since equal parts of the side would be much
 * smaller on the ball at its edges than in its middle; and roots cost less than angles. All cuts are planes through the centre, so a cell has straight sides, and its corners are what
 * is farthest from its middle: every cell lies in a circle. That is all that covering asks of it: a cell is left out
 * if what is to be covered is farther from its middle than its corners, and is not cut further if it is deeper inside
 * than them.
 *
 * Covering begins with the largest cells and cuts the largest one left as long as there is room for the pieces.
 *
 * Pure apart from the arena. Start reading at cells_cover(). */
#include "query/cells.h"

#include <math.h>

enum { LEVELS = 24, SIDES = 6 };
/* What rounding may do to a distance, in parts of the whole. */
#define DOUBT 1e-7

/* A cell by its place on its side of the cube, from 0 to 2^level in both directions. */
struct square {
    unsigned side, level;
    uint32_t i, j;
    bool is_done; /* not to be cut */
};

/* ---- numbers ---------------------------------------------------------------------------------------- */

static int64_t number_of(const struct square *square)
{
    uint64_t number = square->side;

    for (unsigned k = square->level; k-- > 0;)
        number = number << 2 | (square->i >> k & 1) << 1 | (square->j >> k & 1);
    return (int64_t)((number << 1 | 1) << 2 * (LEVELS - square->level));
}

static int64_t last_bit(int64_t cell)
{
    return cell & -cell;
}

int64_t cell_parent(int64_t cell)
{
    int64_t bit = last_bit(cell) << 2;

    return bit > (int64_t)1 << 2 * LEVELS ? 0 : (cell & -bit) | bit;
}

struct cell_range cell_range(int64_t cell)
{
    int64_t bit = last_bit(cell);

    return (struct cell_range){ cell - (bit - 1), cell + (bit - 1) };
}

/* ---- places ----------------------------------------------------------------------------------------- */

/* Where a place of the side, from -1 to 1, lies between its edges, from 0 to 1. */
static double part_of(double place)
{
    return place >= 0 ? sqrt(1 + 3 * place) / 2 : 1 - sqrt(1 - 3 * place) / 2;
}

static double side_place_of(double part)
{
    return part >= 0.5 ? (4 * part * part - 1) / 3 : (1 - 4 * (1 - part) * (1 - part)) / 3;
}

static uint32_t step_of(double part)
{
    double step = floor(part * (1 << LEVELS));

    if (!(step > 0))
        return 0;
    return step < (1 << LEVELS) ? (uint32_t)step : (1 << LEVELS) - 1;
}

int64_t cell_at(const struct cell_grid *grid, struct vector p)
{
    struct square square = { .level = LEVELS };
    double width = grid->high - grid->low;

    if (grid->is_flat) {
        square.i = step_of((p.x - grid->low) / width);
        square.j = step_of((p.y - grid->low) / width);
        return number_of(&square);
    }
    double x = fabs(p.x), y = fabs(p.y), z = fabs(p.z);
    if (x >= y && x >= z) {
        square.side = p.x < 0 ? 3 : 0;
        square.i = step_of(part_of(p.y / x));
        square.j = step_of(part_of(p.z / x));
    } else if (y >= z) {
        square.side = p.y < 0 ? 4 : 1;
        square.i = step_of(part_of(p.x / y));
        square.j = step_of(part_of(p.z / y));
    } else {
        square.side = p.z < 0 ? 5 : 2;
        square.i = step_of(part_of(p.x / z));
        square.j = step_of(part_of(p.y / z));
    }
    return number_of(&square);
}

/* The place that is these parts of the side away from its corner. */
static struct vector place_of(const struct cell_grid *grid, unsigned side, double i, double j)
{
    double width = grid->high - grid->low;

    if (grid->is_flat)
        return (struct vector){ grid->low + i * width, grid->low + j * width, 1 };
    double u = side_place_of(i), v = side_place_of(j), len = sqrt(1 + u * u + v * v);
    double w = (side >= 3 ? -1 : 1) / len;
    u /= len;
    v /= len;
    switch (side % 3) {
    case 0:
        return (struct vector){ w, u, v };
    case 1:
        return (struct vector){ u, w, v };
    default:
        return (struct vector){ u, v, w };
    }
}

static double square_of_gap(struct vector a, struct vector b)
{
    double x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;

    return x * x + y * y + z * z;
}

/* The circle around a cell. */
static void enclose(const struct cell_grid *grid, const struct square *square,
                    struct vector *middle_out, double *radius_out)
{
    double size = 1.0 / (double)(1u << square->level);
    double i = square->i * size, j = square->j * size;
    double doubt = grid->is_flat ? DOUBT * (fabs(grid->low) + fabs(grid->high)) : DOUBT;

    *middle_out = place_of(grid, square->side, i + size / 2, j + size / 2);
    double most = 0;
    for (int corner = 0; corner < 4; corner++) {
        struct vector at = place_of(grid, square->side, i + size * (corner & 1),
                                    j + size * (corner >> 1));
        most = fmax(most, square_of_gap(*middle_out, at));
    }
    double gap = sqrt(most);
    *radius_out = (grid->is_flat ? gap : 2 * asin(gap / 2)) + doubt;
}

/* ---- covering --------------------------------------------------------------------------------------- */

struct covering {
    const struct cell_grid *grid;
    cell_reach *reach;
    void *context;
    struct square squares[CELLS_MOST];
    size_t count;
};

/* Is something of what is to be covered in the square? If nothing else is, it is done. */
static status look(struct covering *c, struct square *square, bool *out)
{
    struct vector middle;
    double radius, reach;

    enclose(c->grid, square, &middle, &radius);
    TRY(c->reach(c->context, middle, &reach));
    *out = reach <= radius;
    square->is_done = reach < -radius || square->level == LEVELS;
    return STATUS_OK;
}

static status look_at_parts(struct covering *c, const struct square *whole, struct square *parts,
                            size_t *count_out)
{
    *count_out = 0;
    for (uint32_t k = 0; k < 4; k++) {
        struct square part = { .side = whole->side,
                               .level = whole->level + 1,
                               .i = whole->i << 1 | k >> 1,
                               .j = whole->j << 1 | (k & 1) };
        bool is_needed;
        TRY(look(c, &part, &is_needed));
        if (is_needed)
            parts[(*count_out)++] = part;
    }
    return STATUS_OK;
}

/* The largest one that may still be cut; c->count if there is none. */
static size_t find_largest(const struct covering *c)
{
    size_t best = c->count;

    for (size_t i = 0; i < c->count; i++) {
        if (!c->squares[i].is_done &&
            (best == c->count || c->squares[i].level < c->squares[best].level))
            best = i;
    }
    return best;
}

status cells_cover(struct arena *arena, const struct cell_grid *grid, cell_reach *reach,
                   void *context, size_t most, struct cells *out)
{
    struct covering c = { .grid = grid, .reach = reach, .context = context };
    struct square parts[4];
    size_t at, count;

    ASSERT(most >= SIDES && most <= CELLS_MOST);
    for (unsigned side = 0; side < (grid->is_flat ? 1u : SIDES); side++) {
        bool is_needed;
        c.squares[c.count] = (struct square){ .side = side };
        TRY(look(&c, &c.squares[c.count], &is_needed));
        c.count += is_needed;
    }
    while ((at = find_largest(&c)) < c.count) {
        TRY(look_at_parts(&c, &c.squares[at], parts, &count));
        if (c.count - 1 + count > most) {
            c.squares[at].is_done = true;
            continue;
        }
        c.squares[at] = c.squares[--c.count];
        for (size_t i = 0; i < count; i++)
            c.squares[c.count++] = parts[i];
    }
    *out = (struct cells){ .count = c.count };
    TRY(ARENA_NEW(arena, c.count, &out->items));
    for (size_t i = 0; i < c.count; i++)
        out->items[i] = number_of(&c.squares[i]);
    return STATUS_OK;
}
