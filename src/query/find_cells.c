/* Find cells: what a condition says about a part of an index that holds where documents lie.
 *
 * The place that is asked for is covered with cells. A document that lies there has an entry that is one of these
 * cells, or inside of one, or around one: so each cell is a stretch of numbers, and every cell around it a point.
 *
 * Pure apart from the arena. Start reading at find_ranges_cells(). */
#include "query/find_parts.h"
#include "query/geometry_cells.h"

struct wanted_cells {
    struct arena *arena;
    struct find_ranges *ranges;
};

static status add_range(struct wanted_cells *w, struct cell_range cells)
{
    struct find_range range = { .is_end_inclusive = true, .is_point = cells.first == cells.last };
    struct buffer start = buffer_in(w->arena), end = buffer_in(w->arena);
    struct value value;

    TRY(value_of_int64(w->arena, cells.first, &value));
    key_append_value(&start, value, KEY_ASCENDING);
    TRY(value_of_int64(w->arena, cells.last, &value));
    key_append_value(&end, value, KEY_ASCENDING);
    TRY(buffer_finish(&start, &range.start));
    TRY(buffer_finish(&end, &range.end));
    return find_ranges_add(w->arena, w->ranges, range);
}

/* Cells around others are mostly the same, so each is looked for from below until one is there already. */
static status add_around(struct wanted_cells *w, struct cells *seen, int64_t cell)
{
    for (cell = cell_parent(cell); cell != 0; cell = cell_parent(cell)) {
        for (size_t i = 0; i < seen->count; i++) {
            if (seen->items[i] == cell)
                return STATUS_OK;
        }
        seen->items[seen->count++] = cell;
        TRY(add_range(w, (struct cell_range){ cell, cell }));
    }
    return STATUS_OK;
}

static status add_cells(struct wanted_cells *w, const struct cells *cells)
{
    enum { LEVELS_MOST = 32 };
    struct cells seen = { 0 };

    TRY(ARENA_NEW(w->arena, cells->count * LEVELS_MOST, &seen.items));
    for (size_t i = 0; i < cells->count; i++) {
        TRY(add_range(w, cell_range(cells->items[i])));
        TRY(add_around(w, &seen, cells->items[i]));
    }
    find_ranges_sort(w->ranges);
    return STATUS_OK;
}

/* ---- the condition ---------------------------------------------------------------------------------- */

static bool is_usable(const struct match *leaf, const struct cell_grid *grid)
{
    const struct geometry_wish *wish = leaf->geometry;

    if (wish->relation == GEOMETRY_NEAR && grid->is_flat)
        return wish->is_pair;
    return grid->is_flat == (wish->geometry.space == SPACE_FLAT);
}

static bool is_path(bytes prefix, bytes path, bytes wanted)
{
    return prefix.len == 0
               ? bytes_equal(path, wanted)
               : wanted.len == prefix.len + 1 + path.len && bytes_starts_with(wanted, prefix) &&
                     wanted.data[prefix.len] == '.' &&
                     bytes_equal(bytes_from(wanted, prefix.len + 1), path);
}

/* The leaf that all documents must fulfil and that the part can serve; NULL if there is none. */
static const struct match *find_leaf(const struct match *match, bytes prefix, bytes path,
                                     const struct cell_grid *grid)
{
    const struct match *found = NULL;

    if (match->kind == MATCH_GEOMETRY)
        return is_path(prefix, match->path, path) && is_usable(match, grid) ? match : NULL;
    if (match->kind == MATCH_ELEMENT_WHERE && prefix.len == 0)
        return find_leaf(match->parts[0], match->path, path, grid);
    for (size_t i = 0; match->kind == MATCH_AND && i < match->count && !found; i++)
        found = find_leaf(match->parts[i], prefix, path, grid);
    return found;
}

/* Everything that the part holds. */
static bool is_everything(const struct geometry_wish *wish, const struct cell_grid *grid,
                          const struct geometry_ring *ring)
{
    return wish->relation == GEOMETRY_NEAR &&
           (grid->is_flat != (wish->geometry.space == SPACE_FLAT) ||
            (ring->from <= 0 && ring->to >= geometry_farthest(grid, wish)));
}

status find_ranges_cells(struct arena *arena, const struct match *match,
                         const struct index_field *field, const struct geometry_ring *ring,
                         struct find_ranges **out)
{
    struct cell_grid grid = cell_settings_of(field->settings).grid;
    struct wanted_cells w = { .arena = arena };
    struct geometry_ring whole;
    struct cells cells;

    *out = NULL;
    const struct match *leaf = match && !find_has_position(field->path)
                                   ? find_leaf(match, BYTES_NONE, field->path, &grid)
                                   : NULL;
    if (!leaf)
        return STATUS_OK;
    TRY(ARENA_NEW(arena, 1, &w.ranges));
    w.ranges->leaf_count = 1;
    whole = (struct geometry_ring){ leaf->geometry->least, leaf->geometry->most };
    ring = ring && leaf->geometry->relation == GEOMETRY_NEAR ? ring : &whole;
    if (is_everything(leaf->geometry, &grid, ring)) {
        *out = w.ranges;
        return find_ranges_add(arena, w.ranges, (struct find_range){ 0 });
    }
    status s = geometry_cover(arena, &grid, leaf->geometry, ring, &cells);
    if (s.code == TOO_LARGE) /* too many positions to be covered: other ways are left */
        return STATUS_OK;
    TRY(s);
    *out = w.ranges;
    return add_cells(&w, &cells);
}

bool find_near_grid(const struct index *index, const struct match *near, struct cell_grid *out)
{
    for (size_t i = 0; i < index->definition.field_count; i++) {
        const struct index_field *field = &index->definition.fields[i];
        if (field->part != PART_CELLS || !bytes_equal(field->path, near->path) ||
            find_has_position(field->path))
            continue;
        *out = cell_settings_of(field->settings).grid;
        return is_usable(near, out);
    }
    return false;
}
