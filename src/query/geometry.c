/* Geometry: reading where values lie.
 *
 * A value is GeoJSON if it has a type that is one; anything else is taken for a pair of numbers. Several polygons are
 * several shapes, since they may overlap each other. A pair lies in the plane, and on the ball if its numbers are
 * degrees of longitude and latitude; of GeoJSON only points lie in the plane.
 *
 *   collection = { "type": "GeometryCollection", "geometries": [ one { , one } ] }
 *   pair       = '[' number number ... ']' | '{' name number name number ... '}'
 *
 * Pure apart from the arena. Start reading at geometry_read(). */
#include "query/geometry.h"

#include <math.h>

/* While a geometry is read. */
struct geometry_reader {
    struct shape_work *work;
    enum space space;
    struct shape *shapes;
    size_t count, room;
    const char *reason;
};

static struct value find_field(struct value value, const char *name)
{
    struct value found = { .type = VALUE_MISSING };

    if (value.type == VALUE_DOCUMENT)
        document_find(value_document(value), name, &found);
    return found;
}

static bool is_text(struct value value, const char *text)
{
    return value.type == VALUE_STRING && bytes_equal(value_text(value), bytes_of_text(text));
}

static status add_shape(struct geometry_reader *r, const struct shape *shape)
{
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 1;
        struct shape *more;
        TRY(ARENA_NEW(r->work->arena, room, &more));
        if (r->count)
            memcpy(more, r->shapes, r->count * sizeof(*more));
        r->shapes = more;
        r->room = room;
    }
    r->shapes[r->count++] = *shape;
    return STATUS_OK;
}

/* ---- pairs ------------------------------------------------------------------------------------------ */

bool geometry_read_pair(struct value value, bool takes_more, struct position *out)
{
    double at[2] = { 0, 0 };
    size_t count = 0;
    struct field field;

    if (value.type != VALUE_ARRAY && value.type != VALUE_DOCUMENT)
        return false;
    struct document_walk walk = document_fields(value_document(value));
    for (; document_next(&walk, &field) && count < 2; count++) {
        if (!value_is_number(field.value) || !isfinite(value_as_double(field.value)))
            return false;
        at[count] = value_as_double(field.value);
    }
    *out = (struct position){ at[0], at[1] };
    return count == 2 && (takes_more || document_field_count(value_document(value)) == 2);
}

bool geometry_is_on_ball(struct position at)
{
    return fabs(at.x) <= 180 && fabs(at.y) <= 90;
}

status geometry_of_point(struct arena *arena, enum space space, struct position position,
                         struct geometry *out)
{
    struct shape *shape;
    struct track *track;
    struct edge *edge;

    TRY(ARENA_NEW(arena, 1, &shape));
    TRY(ARENA_NEW(arena, 1, &track));
    TRY(ARENA_NEW(arena, 1, &edge));
    struct vector at = space_point(space, position.x, position.y);
    *edge = space_edge(space, at, at);
    *track = (struct track){ .edges = edge, .count = 1 };
    *shape = (struct shape){
        .space = space, .tracks = track, .track_count = 1, .edges = edge, .edge_count = 1
    };
    *out = (struct geometry){ .space = space, .shapes = shape, .count = 1 };
    return STATUS_OK;
}

static status read_pair(struct geometry_reader *r, struct value value)
{
    struct geometry point;
    struct position at;

    if (value.type != VALUE_ARRAY && value.type != VALUE_DOCUMENT)
        r->reason = "geo element must be an array or object";
    else if (!geometry_read_pair(value, true, &at))
        r->reason = "Point must only contain numeric elements: it is neither GeoJSON of a known "
                    "type nor begins with two numbers";
    else if (r->space != SPACE_FLAT && !geometry_is_on_ball(at))
        r->reason = arena_format(
            r->work->arena, "longitude/latitude is out of bounds, lng: %g lat: %g", at.x, at.y);
    if (r->reason)
        return STATUS_OK;
    TRY(geometry_of_point(r->work->arena, r->space, at, &point));
    return add_shape(r, point.shapes);
}

/* ---- GeoJSON ---------------------------------------------------------------------------------------- */

static bool is_geojson(struct value value)
{
    static const char *const types[] = {
        "GeometryCollection", "LineString", "MultiLineString", "MultiPoint",
        "MultiPolygon",       "Point",      "Polygon"
    };
    struct value type = find_field(value, "type");

    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (is_text(type, types[i]))
            return true;
    }
    return false;
}

/* NULL if positions are longitude and latitude, which is so if nothing is said. */
static const char *check_crs(struct value value)
{
    struct value crs = find_field(value, "crs");
    struct value name = find_field(find_field(crs, "properties"), "name");

    if (crs.type == VALUE_MISSING || is_text(name, "EPSG:4326") ||
        is_text(name, "urn:ogc:def:crs:OGC:1.3:CRS84"))
        return NULL;
    return "Unknown CRS name: the crs must be EPSG:4326 or urn:ogc:def:crs:OGC:1.3:CRS84";
}

static status read_part(struct geometry_reader *r, const char *type, struct value coordinates)
{
    struct shape shape;

    TRY(shape_read_as(r->work, r->space, type, coordinates, &shape, &r->reason));
    return r->reason ? STATUS_OK : add_shape(r, &shape);
}

static status read_polygons(struct geometry_reader *r, struct value coordinates)
{
    struct field field;

    if (document_field_count(value_document(coordinates)) == 0)
        r->reason = "MultiPolygon coordinates must have at least 1 element";
    struct document_walk walk = document_fields(value_document(coordinates));
    while (!r->reason && document_next(&walk, &field))
        TRY(read_part(r, "Polygon", field.value));
    return STATUS_OK;
}

static status read_simple(struct geometry_reader *r, struct value value)
{
    struct value type = find_field(value, "type"), coordinates = find_field(value, "coordinates");
    struct shape shape;

    if (coordinates.type != VALUE_ARRAY) {
        r->reason = "GeoJSON coordinates must be an array of coordinates";
        return STATUS_OK;
    }
    if (is_text(type, "MultiPolygon"))
        return read_polygons(r, coordinates);
    TRY(shape_read(r->work, r->space, value, &shape, &r->reason));
    return r->reason ? STATUS_OK : add_shape(r, &shape);
}

static status read_collection(struct geometry_reader *r, struct value value)
{
    struct value geometries = find_field(value, "geometries");
    struct field field;

    if (geometries.type != VALUE_ARRAY || document_field_count(value_document(geometries)) == 0) {
        r->reason = "GeometryCollection geometries must be an array that is not empty";
        return STATUS_OK;
    }
    struct document_walk walk = document_fields(value_document(geometries));
    while (!r->reason && document_next(&walk, &field)) {
        if (!is_geojson(field.value) ||
            is_text(find_field(field.value, "type"), "GeometryCollection"))
            r->reason = "Element of \"geometries\" is not a GeoJSON object, or it is another "
                        "GeometryCollection";
        else
            TRY(read_simple(r, field.value));
    }
    return STATUS_OK;
}

static status read_geojson(struct geometry_reader *r, struct value value)
{
    bool is_collection = is_text(find_field(value, "type"), "GeometryCollection");

    return is_collection ? read_collection(r, value) : read_simple(r, value);
}

static status finish(struct geometry_reader *r, struct geometry *out, const char **reason_out)
{
    *out = (struct geometry){ .space = r->space, .shapes = r->shapes, .count = r->count };
    *reason_out = r->reason;
    return STATUS_OK;
}

status geometry_read(struct shape_work *work, enum space space, struct value value,
                     struct geometry *out, const char **reason_out)
{
    struct geometry_reader r = { .work = work, .space = space };

    work->takes_smaller = true;
    if (!is_geojson(value)) {
        TRY(read_pair(&r, value));
        return finish(&r, out, reason_out);
    }
    r.reason = check_crs(value);
    if (space == SPACE_FLAT && !is_text(find_field(value, "type"), "Point"))
        r.reason = "of GeoJSON only points lie in the plane";
    if (!r.reason)
        TRY(read_geojson(&r, value));
    return finish(&r, out, reason_out);
}

status geometry_read_asked(struct shape_work *work, struct value value, const char *wound,
                           struct geometry *out, const char **reason_out)
{
    struct geometry_reader r = { .work = work, .space = SPACE_BALL };
    struct value name = find_field(find_field(find_field(value, "crs"), "properties"), "name");
    bool is_wound = is_text(name, wound);

    *out = (struct geometry){ .space = SPACE_BALL };
    *reason_out = "unknown GeoJSON type: it needs a type (Point, MultiPoint, LineString, "
                  "MultiLineString, Polygon, MultiPolygon, GeometryCollection) and coordinates";
    if (!is_geojson(value))
        return STATUS_OK;
    if (!is_wound)
        r.reason = check_crs(value);
    else if (!is_text(find_field(value, "type"), "Polygon"))
        r.reason = "only polygon supported with strict winding order";
    work->takes_smaller = !is_wound;
    if (!r.reason)
        TRY(read_geojson(&r, value));
    return finish(&r, out, reason_out);
}

/* ---- regions that only questions have --------------------------------------------------------------- */

struct geometry geometry_circle(enum space space, struct position center, double radius)
{
    return (struct geometry){ .form = GEOMETRY_CIRCLE,
                              .space = space,
                              .center = space_point(space, center.x, center.y),
                              .radius = radius };
}

status geometry_ring(struct arena *arena, const struct position *corners, size_t count,
                     struct geometry *out)
{
    struct edge *edges;

    TRY(ARENA_NEW(arena, count, &edges));
    for (size_t i = 0; i < count; i++) {
        struct position next = corners[(i + 1) % count];
        edges[i] = space_edge(SPACE_FLAT, space_point(SPACE_FLAT, corners[i].x, corners[i].y),
                              space_point(SPACE_FLAT, next.x, next.y));
    }
    *out = (struct geometry){
        .form = GEOMETRY_RING, .space = SPACE_FLAT, .ring = edges, .ring_count = count
    };
    return STATUS_OK;
}
