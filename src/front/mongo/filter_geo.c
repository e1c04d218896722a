/* Filter geography: the operators of a filter that ask where something lies.
 *
 *   within     = { $geoWithin: { $geometry: polygons | $box | $center | $centerSphere | $polygon : ... } }
 *   intersects = { $geoIntersects: { $geometry: GeoJSON } }
 *   near       = { $near | $nearSphere: { $geometry: point, $minDistance: m, $maxDistance: m } }
 *              | { $near | $nearSphere: pair or point, $minDistance: d, $maxDistance: d }
 *
 * GeoJSON lies on a ball and is measured in metres; pairs of numbers lie in the plane, or on the ball with
 * distances in radians where the operator says so. Each of them is the only one on its field.
 *
 * Threads: pure apart from the arena. */
#include "front/mongo/filter_parts.h"

#include <math.h>

#define STRICT_WINDING "urn:x-mongodb:crs:strictwinding:EPSG:4326"

static bool is_named(bytes name, const char *text)
{
    return bytes_equal(name, bytes_of_text(text));
}

static const char *shown(struct filter_parser *p, struct value value)
{
    struct buffer text = buffer_in(p->arena);
    bytes line;

    json_write_value(&text, value);
    buffer_append_byte(&text, 0);
    return buffer_finish(&text, &line).code == OK ? (const char *)line.data : "{...}";
}

static status bad(struct filter_parser *p, const char *what, struct value value)
{
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "%s: %s", what, shown(p, value));
}

static status read_asked(struct filter_parser *p, struct value value, struct geometry *out,
                         const char **reason_out)
{
    struct shape_work work = { .arena = p->arena, .pairs = LIMIT_QUERY_SHAPE_PAIRS };

    return geometry_read_asked(&work, value, STRICT_WINDING, out, reason_out);
}

static status add_leaf(struct filter_parser *p, bytes path, struct value value,
                       const struct geometry_wish *wish, const struct match **out)
{
    struct geometry_wish *kept;
    struct match *leaf;

    TRY(ARENA_NEW(p->arena, 1, &kept));
    *kept = *wish;
    TRY(match_new(p->arena, MATCH_GEOMETRY, path, &leaf));
    leaf->value = value;
    leaf->geometry = kept;
    *out = leaf;
    return STATUS_OK;
}

/* ---- regions ---------------------------------------------------------------------------------------- */

/* The members of an array, or of a document. */
static status read_corners(struct filter_parser *p, struct value value, struct position **out,
                           size_t *count_out)
{
    struct field field;

    *count_out = 0;
    if (value.type != VALUE_ARRAY && value.type != VALUE_DOCUMENT)
        return bad(p, "unknown geo specifier: its argument must be an array of points", value);
    TRY(ARENA_NEW(p->arena, document_field_count(value_document(value)), out));
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &field)) {
        if (!geometry_read_pair(field.value, false, &(*out)[(*count_out)++]))
            return bad(p, "Point must only contain two numeric elements", field.value);
    }
    return STATUS_OK;
}

static status read_box(struct filter_parser *p, struct value value, struct geometry *out)
{
    struct position *at;
    size_t count;

    TRY(read_corners(p, value, &at, &count));
    if (count != 2)
        return bad(p, "$box needs two corners", value);
    const struct position corners[] = {
        at[0], {at[1].x,  at[0].y},
         at[1], { at[0].x, at[1].y}
    };
    return geometry_ring(p->arena, corners, ARRAY_COUNT(corners), out);
}

static status read_polygon(struct filter_parser *p, struct value value, struct geometry *out)
{
    struct position *corners;
    size_t count;

    TRY(read_corners(p, value, &corners, &count));
    if (count < 3)
        return bad(p, "Polygon must have at least 3 points", value);
    if (count > LIMIT_QUERY_SHAPE_POSITIONS)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "$polygon has %zu points, the limit is %d", count,
                           LIMIT_QUERY_SHAPE_POSITIONS);
    return geometry_ring(p->arena, corners, count, out);
}

/* circle = '[' point ',' radius ']' */
static status read_circle(struct filter_parser *p, struct value value, enum space space,
                          struct geometry *out)
{
    struct field center = { 0 }, radius = { 0 }, more;
    struct position at;

    if (value.type != VALUE_ARRAY && value.type != VALUE_DOCUMENT)
        return bad(p, "unknown geo specifier: a circle is an array of a point and a radius", value);
    struct document_walk walk = document_fields(value_document(value));
    if (!document_next(&walk, &center) || !geometry_read_pair(center.value, false, &at))
        return bad(p, "Point must only contain two numeric elements", center.value);
    if (space != SPACE_FLAT && !geometry_is_on_ball(at))
        return bad(p, "longitude/latitude is out of bounds", center.value);
    if (!document_next(&walk, &radius) || !value_is_number(radius.value) ||
        !(value_as_double(radius.value) >= 0))
        return bad(p, "Radius must be a non-negative number", radius.value);
    if (document_next(&walk, &more))
        return bad(p, "Only 2 fields allowed for circular region, but more were provided", value);
    *out = geometry_circle(space, at, value_as_double(radius.value));
    return STATUS_OK;
}

static status read_geojson(struct filter_parser *p, struct value value, struct geometry *out)
{
    const char *reason;

    TRY(read_asked(p, value, out, &reason));
    return reason ? bad(p, reason, value) : STATUS_OK;
}

static status read_region(struct filter_parser *p, const struct field *field, struct geometry *out)
{
    if (is_named(field->name, "$geometry"))
        return read_geojson(p, field->value, out);
    if (is_named(field->name, "$box"))
        return read_box(p, field->value, out);
    if (is_named(field->name, "$polygon"))
        return read_polygon(p, field->value, out);
    if (is_named(field->name, "$center"))
        return read_circle(p, field->value, SPACE_FLAT, out);
    if (is_named(field->name, "$centerSphere"))
        return read_circle(p, field->value, SPACE_BALL, out);
    return fault_raise(p->arena, p->fault, ERROR_BadValue, "unknown geo specifier: %.*s: %s",
                       (int)field->name.len, (const char *)field->name.data,
                       shown(p, field->value));
}

static status read_only_region(struct filter_parser *p, struct value argument, struct geometry *out)
{
    bool has_region = false;
    struct field field;

    if (argument.type != VALUE_DOCUMENT)
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "geometry must be an object");
    struct document_walk walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (is_named(field.name, "$uniqueDocs"))
            continue; /* of older servers */
        if (has_region)
            return bad(p, "can't parse extra geo specifier", argument);
        has_region = true;
        TRY(read_region(p, &field, out));
    }
    if (!has_region)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "geo query doesn't have any geometry");
    return STATUS_OK;
}

status filter_parse_region(struct filter_parser *p, bytes path, struct field operator,
                           bytes operators, const struct match **out)
{
    bool is_within = !is_named(operator.name, "$geoIntersects");
    struct geometry_wish wish = { .relation = is_within ? GEOMETRY_WITHIN : GEOMETRY_INTERSECTS };

    if (document_field_count(operators) > 1)
        return bad(p, "can't parse extra field beside a geo operator",
                   (struct value){ .type = VALUE_DOCUMENT, .raw = operators });
    TRY(read_only_region(p, operator.value, &wish.geometry));
    if (is_within && !geometry_is_region(&wish.geometry))
        return bad(p, "$geoWithin not supported with provided geometry", operator.value);
    if (!is_within && wish.geometry.form != GEOMETRY_SHAPES)
        return bad(p, "$geoIntersect not supported with provided geometry", operator.value);
    return add_leaf(p, path, operator.value, &wish, out);
}

/* ---- near ------------------------------------------------------------------------------------------- */

/* In which of the two forms a distance stands, each with its own numbers of errors. */
enum near_form { NEAR_BESIDE = 16893, NEAR_INSIDE = 16897 };

static status read_distance(struct filter_parser *p, const struct field *field, enum near_form form,
                            struct geometry_wish *wish)
{
    bool is_most = is_named(field->name, "$maxDistance");
    int32_t code = (int32_t)form + (is_most ? 2 : 0);
    double distance;

    if (!value_is_number(field->value))
        return fault_raise(p->arena, p->fault, code, "%.*s must be a number", (int)field->name.len,
                           (const char *)field->name.data);
    distance = value_as_double(field->value);
    if (!(distance >= 0))
        return fault_raise(p->arena, p->fault, code + 1, "%.*s must be non-negative, it is %g",
                           (int)field->name.len, (const char *)field->name.data, distance);
    *(is_most ? &wish->most : &wish->least) = distance;
    return STATUS_OK;
}

static bool is_distance(bytes name)
{
    return is_named(name, "$minDistance") || is_named(name, "$maxDistance");
}

/* Only the first member of a pair with a distance behind it; the rest is as if it were not there. */
static bool read_triple(struct value value, struct geometry_wish *wish, struct position *out)
{
    struct field field = { 0 };

    if (value.type != VALUE_ARRAY || document_field_count(value_document(value)) != 3 ||
        !geometry_read_pair(value, true, out))
        return false;
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &field))
        ;
    wish->most = value_is_number(field.value) ? value_as_double(field.value) : -1;
    return true;
}

status filter_read_near_point(struct filter_parser *p, struct value value, bool is_on_ball,
                              struct geometry_wish *wish, bool *out)
{
    struct position at;
    const char *reason;

    *out = true;
    wish->unit = 1;
    if (geometry_read_pair(value, false, &at) || read_triple(value, wish, &at)) {
        wish->is_pair = true;
        if (!(wish->most >= 0))
            return fault_raise(p->arena, p->fault, 18522, "max distance must be non-negative");
        if (is_on_ball && !geometry_is_on_ball(at))
            return fault_raise(p->arena, p->fault, 17444,
                               "Legacy point is out of bounds for spherical query: %s",
                               shown(p, value));
        if (is_on_ball)
            wish->unit = BALL_RADIUS;
        return geometry_of_point(p->arena, is_on_ball ? SPACE_BALL : SPACE_FLAT, at,
                                 &wish->geometry);
    }
    TRY(read_asked(p, value, &wish->geometry, &reason));
    *out = !reason && wish->geometry.count == 1 && wish->geometry.shapes[0].dimension == 0 &&
           wish->geometry.shapes[0].edge_count == 1;
    return STATUS_OK;
}

/* { $geometry: point, $minDistance, $maxDistance } */
static status read_inside(struct filter_parser *p, struct value argument,
                          struct geometry_wish *wish)
{
    bool has_point = false;
    struct field field;

    if (argument.type != VALUE_DOCUMENT && argument.type != VALUE_ARRAY)
        return bad(p, "geo near query argument is not an object", argument);
    struct document_walk walk = document_fields(value_document(argument));
    while (document_next(&walk, &field)) {
        if (is_named(field.name, "$geometry")) {
            if (geometry_read_pair(field.value, true, &(struct position){ 0 }))
                return fault_raise(p->arena, p->fault, 16681,
                                   "$near requires geojson point, given %s", shown(p, field.value));
            TRY(filter_read_near_point(p, field.value, true, wish, &has_point));
            if (!has_point)
                return bad(p, "invalid point in geo near query $geometry argument", field.value);
        } else if (is_distance(field.name)) {
            TRY(read_distance(p, &field, NEAR_INSIDE, wish));
        } else {
            return fault_raise(p->arena, p->fault, ERROR_BadValue,
                               "invalid argument in geo near query: %.*s", (int)field.name.len,
                               (const char *)field.name.data);
        }
    }
    if (!has_point)
        return fault_raise(p->arena, p->fault, ERROR_BadValue,
                           "$geometry is required for geo near query");
    return STATUS_OK;
}

/* $near beside $minDistance and $maxDistance. */
static status read_beside(struct filter_parser *p, bytes operators, struct geometry_wish *wish)
{
    struct document_walk walk = document_fields(operators);
    struct field field;

    while (document_next(&walk, &field)) {
        bool is_near = is_named(field.name, "$near") || is_named(field.name, "$nearSphere") ||
                       is_named(field.name, "$geoNear");
        if (is_distance(field.name))
            TRY(read_distance(p, &field, NEAR_BESIDE, wish));
        else if (!is_near && !is_named(field.name, "$uniqueDocs"))
            return fault_raise(p->arena, p->fault, 34413,
                               "invalid argument in geo near query: %.*s", (int)field.name.len,
                               (const char *)field.name.data);
    }
    return STATUS_OK;
}

status filter_parse_near(struct filter_parser *p, bytes path, struct field operator,
                         bytes operators, const struct match **out)
{
    bool is_on_ball = is_named(operator.name, "$nearSphere"), has_point;
    struct geometry_wish wish = { .relation = GEOMETRY_NEAR, .most = INFINITY };

    if (path.len == 0) /* an element of an array */
        return fault_raise(p->arena, p->fault, ERROR_BadValue, "geo $near must be top-level expr");
    TRY(filter_read_near_point(p, operator.value, is_on_ball, &wish, &has_point));
    if (has_point) {
        TRY(read_beside(p, operators, &wish));
    } else {
        if (document_field_count(operators) > 1)
            return bad(p,
                       "geo near accepts just one argument when querying for a GeoJSON point. "
                       "Extra field found",
                       (struct value){ .type = VALUE_DOCUMENT, .raw = operators });
        TRY(read_inside(p, operator.value, &wish));
    }
    return add_leaf(p, path, operator.value, &wish, out);
}

/* ---- where near may stand ---------------------------------------------------------------------------- */

static size_t count_near(const struct match *match)
{
    size_t count = match->kind == MATCH_GEOMETRY && match->geometry->relation == GEOMETRY_NEAR;

    for (size_t i = 0; i < match->count; i++)
        count += count_near(match->parts[i]);
    return count;
}

status filter_check_near(struct arena *arena, const struct match *match, struct fault *fault)
{
    size_t count = count_near(match);

    if (count > 1)
        return fault_raise(arena, fault, ERROR_BadValue, "Too many geoNear expressions");
    if (count == 1 && !match_near(match))
        return fault_raise(arena, fault, ERROR_BadValue, "geo $near must be top-level expr");
    return STATUS_OK;
}

status filter_refuse_near(struct arena *arena, const struct match *match, struct fault *fault)
{
    if (count_near(match) == 0)
        return STATUS_OK;
    return fault_raise(arena, fault, 5626500,
                       "$geoNear, $near, and $nearSphere are not allowed in this context, as these "
                       "operators require sorting geospatial data. If you do not need sort, "
                       "consider using $geoWithin instead.");
}
