/* Geometry cells: where an index has a geometry.
 *
 * A point is in its smallest cell; lines, polygons and many points are in a few cells that cover them. What a wish
 * asks for is covered, too. Both have something in common only if a cell of one is the same as, or inside of, or
 * around a cell of the other.
 *
 * Pure apart from the arena. Start reading at geometry_index_values(). */
#include "query/geometry_cells.h"

#include <math.h>

#include "query/match_parts.h"

enum { POINTS_MOST = 64, CELLS_OF_DOCUMENT = 8, CELLS_OF_WISH = 24, SHOWN_BYTES = 400 };

struct cell_settings cell_settings_of(bytes settings)
{
    struct cell_settings out = { 0 };
    struct value low, high, keeps;

    if (settings.len == 0)
        return out;
    out.keeps_missing = document_find(settings, "keeps", &keeps);
    out.grid.is_flat = document_find(settings, "low", &low) &&
                       document_find(settings, "high", &high);
    if (out.grid.is_flat) {
        out.grid.low = value_as_double(low);
        out.grid.high = value_as_double(high);
    }
    return out;
}

/* ---- covering --------------------------------------------------------------------------------------- */

/* What is to be covered. */
struct covered {
    struct shape_work work;
    const struct geometry *geometry;
    /* Instead, what lies between two distances from a point. */
    bool is_ring;
    struct geometry_ring ring;
};

static status reach(void *context, struct vector place, double *out)
{
    struct covered *covered = context;
    const struct geometry *geometry = covered->geometry;

    if (!covered->is_ring)
        return geometry_reach(&covered->work, geometry, place, out);
    double distance = space_angle(geometry->space, geometry->shapes[0].edges[0].a, place);
    *out = fmax(distance - covered->ring.to, covered->ring.from - distance);
    return STATUS_OK;
}

status geometry_cover(struct arena *arena, const struct cell_grid *grid,
                      const struct geometry_wish *wish, const struct geometry_ring *ring,
                      struct cells *out)
{
    struct covered covered = {
        .work = {.arena = arena, .pairs = LIMIT_QUERY_SHAPE_PAIRS},
        .geometry = &wish->geometry,
        .is_ring = wish->relation == GEOMETRY_NEAR
    };

    if (covered.is_ring) {
        double scale = wish->geometry.space == SPACE_BALL ? wish->unit / BALL_RADIUS : wish->unit;
        covered.ring.from = ring->from * scale;
        covered.ring.to = ring->to * scale;
    }
    return cells_cover(arena, grid, reach, &covered, CELLS_OF_WISH, out);
}

double geometry_farthest(const struct cell_grid *grid, const struct geometry_wish *wish)
{
    struct vector center = wish->geometry.shapes[0].edges[0].a;

    if (wish->geometry.space == SPACE_BALL)
        return M_PI * BALL_RADIUS / wish->unit * (1 + 1e-9);
    double x = fmax(fabs(center.x - grid->low), fabs(center.x - grid->high));
    double y = fmax(fabs(center.y - grid->low), fabs(center.y - grid->high));
    return hypot(x, y) * (1 + 1e-9);
}

/* ---- documents -------------------------------------------------------------------------------------- */

struct collecting {
    struct arena *arena;
    struct cell_settings settings;
    struct index_values *out;
    bytes path;
};

static status refuse(struct collecting *c, struct value value, const char *reason)
{
    struct buffer text = buffer_in(c->arena);
    bytes line;

    json_write_value(&text, value);
    TRY(buffer_finish(&text, &line));
    return status_fail(c->arena, INVALID, "Can't extract geo keys: { %.*s: %.*s%s }  %s",
                       (int)c->path.len, (const char *)c->path.data,
                       (int)(line.len < SHOWN_BYTES ? line.len : SHOWN_BYTES),
                       (const char *)line.data, line.len > SHOWN_BYTES ? "..." : "", reason);
}

static status add_number(struct collecting *c, int64_t cell)
{
    struct buffer key = buffer_in(c->arena);
    struct value value;
    bytes encoded;

    TRY(value_of_int64(c->arena, cell, &value));
    key_append_value(&key, value, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    return index_values_add(c->arena, c->out, encoded);
}

static bool is_few_points(const struct geometry *geometry)
{
    size_t count = 0;

    for (size_t i = 0; i < geometry->count; i++) {
        if (geometry->shapes[i].dimension > 0)
            return false;
        count += geometry->shapes[i].edge_count;
    }
    return count <= POINTS_MOST;
}

static status add_points(struct collecting *c, const struct geometry *geometry)
{
    for (size_t i = 0; i < geometry->count; i++) {
        const struct shape *shape = &geometry->shapes[i];
        for (size_t j = 0; j < shape->edge_count; j++)
            TRY(add_number(c, cell_at(&c->settings.grid, shape->edges[j].a)));
    }
    return STATUS_OK;
}

static status check_grid(struct collecting *c, const struct geometry *geometry)
{
    const struct cell_grid *grid = &c->settings.grid;
    struct vector at = geometry->shapes[0].edges[0].a;

    if (!grid->is_flat ||
        (at.x >= grid->low && at.x <= grid->high && at.y >= grid->low && at.y <= grid->high))
        return STATUS_OK;
    return status_fail(c->arena, INVALID, "point not in interval of [ %g, %g ]: { %.*s: [%g, %g] }",
                       grid->low, grid->high, (int)c->path.len, (const char *)c->path.data, at.x,
                       at.y);
}

static status add_geometry(struct collecting *c, struct value value)
{
    struct covered covered = {
        .work = {.arena = c->arena, .pairs = LIMIT_QUERY_SHAPE_PAIRS}
    };
    enum space space = c->settings.grid.is_flat ? SPACE_FLAT : SPACE_BALL;
    struct geometry geometry;
    struct cells cells;
    const char *reason;

    TRY(geometry_read(&covered.work, space, value, &geometry, &reason));
    if (reason)
        return refuse(c, value, reason);
    TRY(check_grid(c, &geometry));
    if (is_few_points(&geometry))
        return add_points(c, &geometry);
    covered.geometry = &geometry;
    TRY(cells_cover(c->arena, &c->settings.grid, reach, &covered, CELLS_OF_DOCUMENT, &cells));
    for (size_t i = 0; i < cells.count; i++)
        TRY(add_number(c, cells.items[i]));
    return STATUS_OK;
}

/* In the plane an array of points is several points. */
static status add_value(struct collecting *c, struct value value)
{
    struct field first;

    if (value.type == VALUE_NULL || value.type == VALUE_UNDEFINED || value.type == VALUE_MISSING)
        return STATUS_OK;
    if (value.type != VALUE_ARRAY)
        return add_geometry(c, value);
    struct document_walk walk = document_fields(value_document(value));
    if (!document_next(&walk, &first))
        return STATUS_OK;
    if (!c->settings.grid.is_flat || value_is_number(first.value))
        return add_geometry(c, value);
    do {
        TRY(add_geometry(c, first.value));
    } while (document_next(&walk, &first));
    return STATUS_OK;
}

/* Every document of an array on the way is entered. */
static status walk_path(struct collecting *c, struct value value, bytes path)
{
    struct field element;
    struct value found;

    if (path.len == 0)
        return add_value(c, value);
    if (value.type == VALUE_DOCUMENT) {
        bytes part = match_take_part(&path);
        document_find_bytes(value_document(value), part, &found);
        return walk_path(c, found, path);
    }
    if (value.type != VALUE_ARRAY)
        return STATUS_OK;
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &element)) {
        if (element.value.type == VALUE_DOCUMENT)
            TRY(walk_path(c, element.value, path));
    }
    return STATUS_OK;
}

status geometry_index_values(struct arena *arena, const struct index_field *field, bytes document,
                             struct index_values *out)
{
    struct collecting c = { .arena = arena,
                            .settings = cell_settings_of(field->settings),
                            .out = out,
                            .path = field->path };
    struct buffer key = buffer_in(arena);
    bytes encoded;

    TRY(walk_path(&c, (struct value){ .type = VALUE_DOCUMENT, .raw = document }, field->path));
    if (out->count > 0 || !c.settings.keeps_missing)
        return STATUS_OK;
    key_append_value(&key, (struct value){ .type = VALUE_NULL }, KEY_ASCENDING);
    TRY(buffer_finish(&key, &encoded));
    return index_values_add(arena, out, encoded);
}
