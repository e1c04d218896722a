/* Shape: reading GeoJSON.
 *
 * The six kinds of shapes differ in how deep their positions lie and in what a row of positions means: each
 * position a point, or all of them a line or a ring. Positions that repeat the one before are left out.
 *
 * Keeps: a shape that was read is valid: every edge has a direction, rings are closed, do not cross and have
 * their inside on the left.
 * Pure apart from the arena. Start reading at shape_read(). */
#include "query/shape.h"

#include <math.h>

static const struct kind {
    const char *name;
    unsigned depth; /* of arrays around a position */
    unsigned dimension;
} kinds[] = {
    {"LineString",       1, 1},
    { "MultiLineString", 2, 1},
    { "MultiPoint",      1, 0},
    { "MultiPolygon",    3, 2},
    { "Point",           0, 0},
    { "Polygon",         2, 2},
};

/* While a shape is read. */
struct shape_reader {
    struct arena *arena;
    const struct kind *kind;
    struct shape *shape;
    struct edge *edges;
    struct track *tracks;
    size_t polygon;
    size_t ring; /* of the polygon, from 1 */
    const char *reason;
};

status shape_work_take(struct shape_work *work, size_t edges, size_t times)
{
    /* Also the least call costs something. */
    uint64_t pairs = (uint64_t)edges * times + 1;

    if (edges <= LIMIT_QUERY_SHAPE_POSITIONS && times <= LIMIT_QUERY_SHAPE_POSITIONS &&
        pairs <= work->pairs) {
        work->pairs -= pairs;
        return STATUS_OK;
    }
    return status_fail(
        work->arena, TOO_LARGE,
        "a spatial function of the query compares too many positions with each other; "
        "use shapes with fewer positions");
}

/* The first reason counts. */
__attribute__((format(printf, 2, 3))) static void refuse(struct shape_reader *r, const char *format,
                                                         ...)
{
    va_list args;

    if (r->reason)
        return;
    va_start(args, format);
    r->reason = arena_format_args(r->arena, format, args);
    va_end(args);
    if (!r->reason)
        r->reason = "The input is not valid.";
}

/* ---- positions -------------------------------------------------------------------------------------- */

/* position = '[' number ',' number { ',' number } ']' */
static bool read_position(struct shape_reader *r, struct value value, struct vector *out)
{
    double at[2] = { 0, 0 };
    size_t count = 0;
    struct field field;

    if (value.type != VALUE_ARRAY) {
        refuse(r, "The coordinates of a %s must be arrays of numbers.", r->kind->name);
        return false;
    }
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &field)) {
        if (!value_is_number(field.value) || !isfinite(value_as_double(field.value)))
            refuse(r, "A position must consist of numbers.");
        else if (count < 2)
            at[count] = value_as_double(field.value);
        count++;
    }
    if (count < 2)
        refuse(r, "A position must have at least 2 numbers, longitude and latitude.");
    if (r->shape->space != SPACE_FLAT && fabs(at[0]) > 180)
        refuse(r, "Longitude values must be between -180 and 180 degrees.");
    if (r->shape->space != SPACE_FLAT && fabs(at[1]) > 90)
        refuse(r, "Latitude values must be between -90 and 90 degrees.");
    *out = space_point(r->shape->space, at[0], at[1]);
    return !r->reason;
}

/* ---- tracks ----------------------------------------------------------------------------------------- */

static void add_edge(struct shape_reader *r, struct track *track, struct vector a, struct vector b)
{
    r->edges[r->shape->edge_count++] = space_edge(r->shape->space, a, b);
    track->count++;
    if (r->shape->space != SPACE_FLAT && space_is_antipode(a, b))
        refuse(r, "Two positions in a row are antipodes, so that no line between them is the "
                  "shortest.");
}

static struct track *begin_track(struct shape_reader *r)
{
    struct track *track = &r->tracks[r->shape->track_count++];

    *track = (struct track){ .edges = &r->edges[r->shape->edge_count], .polygon = r->polygon };
    return track;
}

static void read_point(struct shape_reader *r, struct value value)
{
    struct vector at;

    if (read_position(r, value, &at))
        add_edge(r, begin_track(r), at, at);
}

static void check_track(struct shape_reader *r, struct track *track, size_t positions)
{
    if (r->kind->dimension == 1 && track->count == 0)
        refuse(r, "The %s input is not valid because a line has fewer than 2 different positions.",
               r->kind->name);
    if (r->kind->dimension == 2 && !track->is_closed)
        refuse(r,
               "The %s input is not valid because the start and end points of the ring number %zu "
               "are not the same. Each ring of a polygon must have the same start and end points.",
               r->kind->name, r->ring);
    else if (r->kind->dimension == 2 && (positions < 4 || track->count < 3))
        refuse(
            r,
            "The %s input is not valid because the ring number %zu has fewer than 4 positions, or "
            "fewer than 3 different ones.",
            r->kind->name, r->ring);
}

/* track = '[' { position } ']' */
static void read_track(struct shape_reader *r, struct value value)
{
    struct track *track = begin_track(r);
    struct document_walk walk = document_fields(value_document(value));
    struct vector first = { 0 }, last = { 0 }, at;
    struct field field;
    size_t count = 0;

    r->ring++;
    while (!r->reason && document_next(&walk, &field) && read_position(r, field.value, &at)) {
        if (count++ == 0)
            first = at;
        else if (!space_is_same(last, at))
            add_edge(r, track, last, at);
        else
            continue;
        last = at;
    }
    track->is_closed = track->count > 1 && space_is_same(first, last);
    if (!r->reason)
        check_track(r, track, count);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

/* Positions of a tree of arrays, if it were well formed. */
static size_t count_positions(struct value value, unsigned depth)
{
    struct field field;
    size_t count = 0;

    if (depth == 0 || value.type != VALUE_ARRAY)
        return 1;
    struct document_walk walk = document_fields(value_document(value));
    while (document_next(&walk, &field))
        count += count_positions(field.value, depth - 1);
    return count + 1;
}

static void read_coordinates(struct shape_reader *r, struct value value, unsigned depth)
{
    struct field field;
    bool is_track = depth == 1 && r->kind->dimension > 0;

    if (depth == 0) {
        read_point(r, value);
        return;
    }
    if (value.type != VALUE_ARRAY) {
        refuse(r, "The coordinates of a %s must be arrays of positions.", r->kind->name);
        return;
    }
    if (is_track) {
        read_track(r, value);
        return;
    }
    struct document_walk walk = document_fields(value_document(value));
    bool is_polygon = depth == 2 && r->kind->dimension == 2;
    size_t count = 0;
    r->ring = 0;
    for (; !r->reason && document_next(&walk, &field); count++)
        read_coordinates(r, field.value, depth - 1);
    r->polygon += is_polygon;
    if (count == 0)
        refuse(r, "The %s input is not valid because it has no positions.", r->kind->name);
}

static const struct kind *find_kind(bytes type)
{
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (bytes_equal(type, bytes_of_text(kinds[i].name)))
            return &kinds[i];
    }
    return NULL;
}

static status read_shape(struct shape_reader *r, struct shape_work *work, struct value coordinates)
{
    size_t room = count_positions(coordinates, r->kind->depth);

    TRY(shape_work_take(work, room, 1));
    TRY(ARENA_NEW(work->arena, room, &r->edges));
    TRY(ARENA_NEW(work->arena, room, &r->tracks));
    r->shape->edges = r->edges;
    r->shape->tracks = r->tracks;
    r->shape->dimension = r->kind->dimension;
    read_coordinates(r, coordinates, r->kind->depth);
    return STATUS_OK;
}

static status read_and_check(struct shape_reader *r, struct shape_work *work,
                             struct value coordinates, const char **reason_out)
{
    TRY(read_shape(r, work, coordinates));
    *reason_out = r->reason;
    return r->reason ? STATUS_OK : shape_check(work, r->shape, r->edges, reason_out);
}

status shape_read_as(struct shape_work *work, enum space space, const char *type,
                     struct value coordinates, struct shape *out, const char **reason_out)
{
    struct shape_reader reader = { .arena = work->arena,
                                   .shape = out,
                                   .kind = find_kind(bytes_of_text(type)) };

    *out = (struct shape){ .space = space };
    ASSERT(reader.kind);
    return read_and_check(&reader, work, coordinates, reason_out);
}

status shape_read(struct shape_work *work, enum space space, struct value value, struct shape *out,
                  const char **reason_out)
{
    struct shape_reader reader = { .arena = work->arena, .shape = out };
    struct value type = { VALUE_MISSING, BYTES_NONE }, coordinates = type;

    *out = (struct shape){ .space = space };
    if (value.type == VALUE_DOCUMENT) {
        document_find(value_document(value), "type", &type);
        document_find(value_document(value), "coordinates", &coordinates);
    }
    if (type.type == VALUE_STRING)
        reader.kind = find_kind(value_text(type));
    *reason_out = "The input is not a GeoJSON object with a type (Point, MultiPoint, LineString, "
                  "MultiLineString, Polygon, MultiPolygon) and coordinates.";
    if (!reader.kind || coordinates.type != VALUE_ARRAY)
        return STATUS_OK;
    return read_and_check(&reader, work, coordinates, reason_out);
}
