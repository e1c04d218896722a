/* Functions of shapes on the earth: figures that are known, rules, and laws that hold for random shapes. */
#include "query/shape.h"
#include "tests/support/calls.h"

#include <math.h>
#include <stdio.h>

#define POINT(at) "{'type': 'Point', 'coordinates': " at "}"
#define LINE(at) "{'type': 'LineString', 'coordinates': [" at "]}"
#define POLYGON(at) "{'type': 'Polygon', 'coordinates': [" at "]}"
#define POLYGONS(at) "{'type': 'MultiPolygon', 'coordinates': [" at "]}"

TEST(functions_shape, distances_are_those_of_the_documentation)
{
    static const struct {
        const char *what, *expression;
        double want;
    } rows[] = {
        {"an office nearby",
         "ST_DISTANCE(" POINT("[-122.12826822304672, 47.63980239335718]") ", " POINT(
              "[-122.11758113953535, 47.66901087006131]") ")",
         3345.269817267368                                                                                                        },
        { "an office far away",
         "ST_DISTANCE(" POINT("[-96.84368664765994, 46.81297794314663]") ", " POINT(
              "[-122.11758113953535, 47.66901087006131]") ")",
         1907438.421299902                                                                                                        },
        { "one degree of the equator",               "ST_DISTANCE(" POINT("[0, 0]") ", " POINT("[1, 0]") ")",
         111319.4907932264                                                                                                        },
        { "from the equator to the pole",            "ST_DISTANCE(" POINT("[5, 0]") ", " POINT("[5, 90]") ")",
         10001965.729313                                                                                                          },
        { "from pole to pole",                       "ST_DISTANCE(" POINT("[5, -90]") ", " POINT("[77, 90]") ")",
         20003931.458625                                                                                                          },
        { "antipodes on the equator, over a pole",
         "ST_DISTANCE(" POINT("[0, 0]") ", " POINT("[180, 0]") ")",                                               20003931.458625 },
        { "one degree of a meridian at the equator",
         "ST_DISTANCE(" POINT("[0, 0]") ", " POINT("[0, 1]") ")",                                                 110574.388557799},
    };
    EACH_ROW(rows, r) {
        double got = call_number(r->expression);
        CHECK_THAT(fabs(got - r->want) < 1e-3, "%s: %.9f", r->what, got);
    }
}

TEST(functions_shape, published_distances_are_met_to_a_thousandth)
{
    static const struct {
        const char *what, *expression;
        double want;
    } rows[] = {
        {"New York to London, airports",
         "ST_DISTANCE(" POINT("[-73.8, 40.6]") ", " POINT("[-0.5, 51.6]") ")",     5551759.4 },
        { "Wellington to Salamanca, nearly antipodes",
         "ST_DISTANCE(" POINT("[174.81, -41.32]") ", " POINT("[-5.5, 40.96]") ")", 19959679.3},
        { "Flinders Peak to Buninyong",
         "ST_DISTANCE(" POINT("[144.42486788888888, -37.95103341666667]") ", " POINT(
              "[143.92649552777777, -37.65282113888889]") ")",
         54972.271                                                                           },
    };
    EACH_ROW(rows, r) {
        double got = call_number(r->expression);
        CHECK_THAT(fabs(got - r->want) < r->want / 1000, "%s: %.3f", r->what, got);
    }
}

TEST(functions_shape, distances_from_lines_and_polygons_are_the_shortest)
{
    static const struct {
        const char *what, *expression;
        double want;
    } rows[] = {
        {"straight down to the equator",
         "ST_DISTANCE(" POINT("[10, 1]") ", " LINE("[0, 0], [20, 0]") ")",                                                  110574.388557799 },
        { "beyond the end of the line",
         "ST_DISTANCE(" POINT("[21, 0]") ", " LINE("[0, 0], [20, 0]") ")",                                                  111319.4907932264},
        { "across the edge of a square",
         "ST_DISTANCE(" POLYGON("[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]") ", " POINT(
              "[2, 0]") ")",
         111319.4907932264                                                                                                                   },
        { "from the pole to the equator, all the same",
         "ST_DISTANCE(" POINT("[0, 90]") ", " LINE("[-60, 0], [60, 0]") ")",                                                10001965.729313  },
        { "two squares, corner to corner on the equator",
         "ST_DISTANCE(" POLYGON("[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]") ", " POLYGON(
              "[[2, -1], [3, -1], [3, 0], [2, 0], [2, -1]]") ")",
         111319.4907932264                                                                                                                   },
        { "across the date line",                         "ST_DISTANCE(" POINT("[179.5, 0]") ", " POINT("[-179.5, 0]") ")",
         111319.4907932264                                                                                                                   },
    };
    EACH_ROW(rows, r) {
        double got = call_number(r->expression);
        CHECK_THAT(fabs(got - r->want) < 1e-3, "%s: %.9f", r->what, got);
    }
}

TEST(functions_shape, areas_are_those_of_the_documentation_and_of_the_earth)
{
    static const struct {
        const char *what, *expression;
        double want, error;
    } rows[] = {
        {"a square in Africa",
         "ST_AREA(" POLYGON("[[31.8, -5], [32, -5], [32, -4.7], [31.8, -4.7], [31.8, -5]]") ")",
         735970283.0522614,                                                                                                                       1  },
        { "an eighth of the earth",                             "ST_AREA(" POLYGON("[[0, 0], [90, 0], [0, 90], [0, 0]]") ")",
         63758202715511.08,                                                                                                                       1e3},
        { "the northern half, around the pole",
         "ST_AREA(" POLYGON("[[0, 0], [90, 0], [180, 0], [-90, 0], [0, 0]]") ")",
         255032810862044.3,                                                                                                                       1e4},
        { "the southern half, around the pole",
         "ST_AREA(" POLYGON("[[0, 0], [-90, 0], [180, 0], [90, 0], [0, 0]]") ")",
         255032810862044.3,                                                                                                                       1e4},
        { "all but an eighth: clockwise",
         "ST_AREA(" POLYGON("[[0, 0], [0, 90], [90, 0], [0, 0]]") ")",                                                        446307419008577.56, 1e4},
        { "a point has none",                                   "ST_AREA(" POINT("[1, 2]") ")",                               0,                  0  },
        { "a line has none",                                    "ST_AREA(" LINE("[1, 2], [3, 4]") ")",                        0,                  0  },
        { "two of them, one with a hole as large as the other",
         "ST_AREA(" POLYGONS("[[[0, 0], [90, 0], [0, 90], [0, 0]], [[10, 10], [10, 20], [20, 20], "
                              "[20, 10], [10, 10]]], [[[-40, 10], [-30, 10], [-30, 20], [-40, 20], "
                              "[-40, 10]]]") ")",
         63758202715511.08,                                                                                                                       1e3},
    };
    EACH_ROW(rows, r) {
        double got = call_number(r->expression);
        CHECK_THAT(fabs(got - r->want) <= r->error, "%s: %.9f", r->what, got);
    }
}

#define SQUARE "[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]"
#define HOLE "[[4, 4], [4, 6], [6, 6], [6, 4], [4, 4]]"

TEST(functions_shape, what_lies_within_is_not_only_on_the_rim)
{
    static const struct call_row rows[] = {
        CALL("ST_WITHIN(" POINT("[5, 5]") ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_WITHIN(" POINT("[0, 5]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[10, 5]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[5, 0]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[5, 10]") ", " POLYGON(SQUARE) ")",
             "true"), /* below the great ellipse */
        CALL("ST_WITHIN(" POINT("[0, 0]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[11, 5]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[-170, -5]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[5, 5]") ", " POLYGON(SQUARE ", " HOLE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[4, 5]") ", " POLYGON(SQUARE ", " HOLE) ")", "false"),
        CALL("ST_WITHIN(" POINT("[3, 5]") ", " POLYGON(SQUARE ", " HOLE) ")", "true"),
        CALL("ST_WITHIN(" POINT("[5, 5]") ", " POLYGON(
                 SQUARE ", [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]") ")",
             "false"),
        CALL("ST_WITHIN(" POINT("[5, 5]") ", " POLYGON(
                 "[[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]") ")",
             "false"), /* clockwise: all the rest of the earth */
        CALL("ST_WITHIN(" POINT("[50, 50]") ", " POLYGON(
                 "[[0, 0], [0, 10], [10, 10], [10, 0], [0, 0]]") ")",
             "true"),
        CALL("ST_WITHIN(" POINT("[0, 89]") ", " POLYGON(
                 "[[0, 60], [90, 60], [180, 60], [-90, 60], [0, 60]]") ")",
             "true"),
        CALL("ST_WITHIN(" POINT("[-179, 1]") ", " POLYGON(
                 "[[170, -5], [-170, -5], [-170, 5], [170, 5], [170, -5]]") ")",
             "true"),
        CALL("ST_WITHIN(" LINE("[1, 1], [9, 9]") ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_WITHIN(" LINE("[1, 1], [9, 9]") ", " POLYGON(SQUARE ", " HOLE) ")", "false"),
        CALL("ST_WITHIN(" LINE("[0, 1], [0, 9]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" LINE("[0, 1], [0, 9], [5, 5]") ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_WITHIN(" LINE("[5, 5], [15, 5]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_WITHIN(" POLYGON(SQUARE) ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_WITHIN(" POLYGON(SQUARE) ", " POLYGON(SQUARE ", " HOLE) ")", "false"),
        CALL("ST_WITHIN(" POLYGON(SQUARE ", " HOLE) ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_WITHIN(" POLYGON("[[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]") ", " POLYGON(
                 SQUARE ", " HOLE) ")",
             "false"), /* it fills the hole */
        CALL("ST_WITHIN(" POLYGON("[[0, 0], [5, 0], [5, 5], [0, 5], [0, 0]]") ", " POLYGON(
                 SQUARE) ")",
             "true"),
        CALL("ST_WITHIN(" POLYGON("[[1, 1], [12, 1], [12, 2], [1, 2], [1, 1]]") ", " POLYGON(
                 SQUARE) ")",
             "false"),
        CALL("ST_WITHIN(" POLYGON(SQUARE) ", " LINE("[0, 0], [10, 0]") ")", "false"),
        CALL("ST_WITHIN(" POINT("[3, 0]") ", " LINE("[0, 0], [10, 0]") ")", "true"),
        CALL("ST_WITHIN(" POINT("[0, 0]") ", " LINE("[0, 0], [10, 0]") ")", "false"),
        CALL("ST_WITHIN(" LINE("[2, 0], [5, 0]") ", " LINE("[0, 0], [3, 0], [10, 0]") ")", "true"),
        CALL("ST_WITHIN(" LINE("[2, 0], [11, 0]") ", " LINE("[0, 0], [3, 0], [10, 0]") ")",
             "false"),
        CALL("ST_WITHIN(" POINT("[3, 0]") ", " POINT("[3, 0]") ")", "true"),
        CALL("ST_WITHIN(" POINT("[3, 0]") ", " POINT("[3, 0.000001]") ")", "false"),
        CALL("ST_WITHIN(" POINT("[21, 5]") ", " POLYGONS(
                 "[" SQUARE "], [[[20, 0], [30, 0], [30, 10], [20, 10], [20, 0]]]") ")",
             "true"),
        CALL("ST_WITHIN({'type': 'MultiPoint', 'coordinates': [[1, 1], [2, 2]]}, " POLYGON(
                 SQUARE) ")",
             "true"),
        CALL("ST_WITHIN({'type': 'MultiPoint', 'coordinates': [[1, 1], [12, 2]]}, " POLYGON(
                 SQUARE) ")",
             "false"),
        CALL("ST_WITHIN({'type': 'MultiLineString', 'coordinates': [[[1, 1], [2, 2]], [[3, 3], [4, "
             "3]]]}, " POLYGON(SQUARE) ")",
             "true"),
    };
    CHECK_CALLS(rows);
}

TEST(functions_shape, shapes_that_touch_intersect)
{
    static const struct call_row rows[] = {
        CALL("ST_INTERSECTS(" POINT("[0, 5]") ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_INTERSECTS(" POINT("[0, 0]") ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_INTERSECTS(" POINT("[-1, 5]") ", " POLYGON(SQUARE) ")", "false"),
        CALL("ST_INTERSECTS(" POINT("[5, 5]") ", " POLYGON(SQUARE ", " HOLE) ")", "false"),
        CALL("ST_INTERSECTS(" POLYGON(SQUARE) ", " POLYGON(
                 "[[10, 0], [20, 0], [20, 10], [10, 10], [10, 0]]") ")",
             "true"),
        CALL("ST_INTERSECTS(" POLYGON(SQUARE) ", " POLYGON(
                 "[[11, 0], [20, 0], [20, 10], [11, 10], [11, 0]]") ")",
             "false"),
        CALL("ST_INTERSECTS(" POLYGON(SQUARE) ", " POLYGON(
                 "[[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]") ")",
             "true"),
        CALL("ST_INTERSECTS(" LINE("[-5, 5], [15, 5]") ", " POLYGON(SQUARE) ")", "true"),
        CALL("ST_INTERSECTS(" LINE("[0, -5], [0, 5]") ", " LINE("[-5, 0], [5, 0]") ")", "true"),
        CALL("ST_INTERSECTS(" LINE("[0, -5], [0, 5]") ", " LINE("[175, 0], [-175, 0]") ")",
             "false"),
        CALL(
            "ST_INTERSECTS(" POLYGON(
                "[[-122.13693695285855, 47.64996065621003], [-122.1351662656516, "
                "47.64627863318731], [-122.13488295569863, 47.646326350048696], "
                "[-122.1366182291613, 47.650016321952904], [-122.13693695285855, "
                "47.64996065621003]]") ", " POLYGON("[[-122.14034847687708, 47.6494835188378], "
                                                    "[-122.14014779899375, 47.64625477474044], "
                                                    "[-122.13256925774829, 47.646207057813655], "
                                                    "[-122.13254564858545, 47.64941990019193], "
                                                    "[-122.14034847687708, 47.6494835188378]]") ")",
            "true"),
    };
    CHECK_CALLS(rows);
}

TEST(functions_shape, invalid_shapes_are_as_if_missing)
{
    static const struct call_row rows[] = {
        CALL("ST_DISTANCE(c.missing, " POINT("[1, 2]") ")", ""),
        CALL("ST_DISTANCE(" POINT("[1, 2]") ", 'x')", ""),
        CALL("ST_DISTANCE(" POINT("[1, 91]") ", " POINT("[1, 2]") ")", ""),
        CALL("ST_WITHIN(" POINT("[1, 2]") ", c.o)", ""),
        CALL("ST_INTERSECTS(" POINT("[1, 2]") ", " POLYGON("[[0, 0], [1, 1]]") ")", ""),
        CALL("ST_AREA(5)", ""),
        CALL("ST_ISVALID(c.missing)", ""),
        CALL("ST_ISVALIDDETAILED(c.missing)", ""),
        CALL("ST_ISVALID(" POINT("[-84.38876194345323, 33.75682784306348]") ")", "true"),
        CALL("ST_ISVALID(" POINT("[133.75682784306348, -184.38876194345323]") ")", "false"),
        CALL("ST_ISVALID(" POINT("[1, 2, 3]") ")", "true"),
        CALL("ST_ISVALID(" POINT("[1]") ")", "false"),
        CALL("ST_ISVALID(" POINT("['1', 2]") ")", "false"),
        CALL("ST_ISVALID({'type': 'Circle', 'coordinates': [1, 2]})", "false"),
        CALL("ST_ISVALID({'type': 'Point'})", "false"),
        CALL("ST_ISVALID(null)", "false"),
        CALL("ST_ISVALID(" LINE("[1, 2]") ")", "false"),
        CALL("ST_ISVALID(" LINE("[1, 2], [1, 2]") ")", "false"),
        CALL("ST_ISVALID(" LINE("[1, 2], [1, 3], [1, 2]") ")", "true"),
        CALL("ST_ISVALID(" LINE("[1, 2], [-179, -2]") ")", "false"),
        CALL("ST_ISVALID(" POLYGON(SQUARE) ")", "true"),
        CALL("ST_ISVALID(" POLYGON(SQUARE ", " HOLE) ")", "true"),
        CALL("ST_ISVALID(" POLYGON(SQUARE ", [[0, 0], [5, 1], [5, 5], [0, 0]]") ")", "true"),
        CALL("ST_ISVALID(" POLYGON(SQUARE ", [[20, 0], [25, 1], [25, 5], [20, 0]]") ")", "false"),
        CALL("ST_ISVALID(" POLYGON(SQUARE ", " HOLE
                                          ", [[4.5, 4.5], [4.5, 5], [5, 5], [4.5, 4.5]]") ")",
             "false"),
        CALL("ST_ISVALID(" POLYGON(SQUARE ", [[5, 5], [15, 5], [15, 6], [5, 5]]") ")", "false"),
        CALL("ST_ISVALID(" POLYGON("[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]") ")", "false"),
        CALL("ST_ISVALID(" POLYGON("[[0, 0], [1, 0], [2, 0], [0, 0]]") ")", "false"),
        CALL("ST_ISVALID(" POLYGON("[[0, 0], [2, 0], [2, 0], [2, 2], [0, 0]]") ")", "true"),
        CALL("ST_ISVALID({'type': 'MultiPolygon', 'coordinates': []})", "false"),
        CALL("ST_ISVALIDDETAILED(" POINT("[1, 2]") ")", "{\"valid\":true}"),
        CALL(
            "ST_ISVALIDDETAILED(" POINT("[133.75682784306348, -184.38876194345323]") ")",
            "{\"valid\":false,\"reason\":\"Latitude values must be between -90 and 90 degrees.\"}"),
        CALL("ST_ISVALIDDETAILED(" POLYGON("[[31.8, -5], [31.8, -4.7], [32, -4.7], [32, -5]]") ")",
             "{\"valid\":false,\"reason\":\"The Polygon input is not valid because the start and "
             "end "
             "points of the ring number 1 are not the same. Each ring of a polygon must have the "
             "same "
             "start and end points.\"}"),
        CALL("ST_DISTANCE(" POINT("[1, 2]") ")",
             "SC2050 13-66: The ST_DISTANCE function requires 2 argument(s)."),
    };
    CHECK_CALLS(rows);
}

/* A circle of so many corners around [0, 0]. */
static const char *circle(struct arena *arena, int corners)
{
    struct buffer text = buffer_in(arena);

    buffer_append_text(&text, "{\"type\":\"Polygon\",\"coordinates\":[[");
    for (int i = 0; i <= corners; i++) {
        double turn = 2 * M_PI * (i % corners) / corners;
        buffer_append_format(&text, "%s[%.17g,%.17g]", i ? "," : "", cos(turn), sin(turn));
    }
    buffer_append_text(&text, "]]}");
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

TEST(functions_shape, work_is_bounded_by_the_pairs_that_are_compared)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    struct shape_work work = { .arena = arena, .pairs = 100000 };
    struct value value = { .type = VALUE_DOCUMENT };
    struct shape shape;
    const char *reason;
    bool is_so;

    CHECK_OK(json_read(arena, bytes_of_text(circle(arena, 200)), &value.raw));
    CHECK_OK(shape_read(&work, SPACE_ROUND, value, &shape, &reason));
    CHECK_THAT(!reason, "%s", reason);
    CHECK_OK(shape_intersects(&work, &shape, &shape, &is_so));
    CHECK(is_so);
    CHECK_CODE(shape_is_within(&work, &shape, &shape, &is_so), TOO_LARGE);
    work.pairs = 10000;
    CHECK_CODE(shape_read(&work, SPACE_ROUND, value, &shape, &reason), TOO_LARGE);
    arena_close(arena);
}

TEST(functions_shape, a_large_circle_has_the_area_and_the_points_of_one)
{
    struct arena *arena = arena_open(64 * 1024 * 1024);
    const char *text = circle(arena, 2000);
    const char *area = arena_format(arena, "ST_AREA(%s)", text);

    /* A little less than pi square degrees at the equator. */
    double whole = M_PI * 111319.4907932264 * 110574.388557799;
    CHECK(fabs(call_number(area) / whole - 1) < 0.001);
    const struct call_row rows[] = {
        {arena_format(arena,  "ST_WITHIN(" POINT("[0.99, 0]") ", %s)",    text), "true" },
        { arena_format(arena, "ST_WITHIN(" POINT("[1.01, 0]") ", %s)",    text), "false"},
        { arena_format(arena, "ST_WITHIN(" POINT("[0.7, 0.7]") ", %s)",   text), "true" },
        { arena_format(arena, "ST_WITHIN(" POINT("[0.71, 0.71]") ", %s)", text), "false"},
    };
    CHECK_CALLS(rows);
    arena_close(arena);
}

/* ---- laws ------------------------------------------------------------------------------------------- */

/* A shape of any kind, around a place, somewhere between 1e-5 and 20 degrees wide. */
static const char *random_shape(struct random *random, struct arena *arena, bool is_grid)
{
    enum { WIDE = 1000 };
    int64_t corners = 3 + (int64_t)random_below(random, 5);
    double wide = is_grid ? 4 : pow(10, (double)random_below(random, 600) / 100 - 5) * 2;
    double x = (double)random_below(random, 20) - 10, y = (double)random_below(random, 20) - 10;
    struct buffer text = buffer_in(arena);
    uint64_t kind = random_below(random, 3);

    buffer_append_text(&text, kind == 0   ? "{\"type\":\"Point\",\"coordinates\":"
                              : kind == 1 ? "{\"type\":\"LineString\",\"coordinates\":["
                                          : "{\"type\":\"Polygon\",\"coordinates\":[[");
    for (int64_t i = 0; i <= (kind == 0 ? 0 : kind == 1 ? corners - 1 : corners); i++) {
        /* Around the place, so that the ring is one. */
        double turn = 2 * M_PI * (double)(i % corners) / (double)corners;
        double part = is_grid ? 1 : 0.3 + (double)((i % corners * 7919) % WIDE) / WIDE;
        double at_x = x + wide * part * cos(turn), at_y = y + wide * part * sin(turn);
        if (is_grid) {
            at_x = round(at_x);
            at_y = round(at_y);
        }
        buffer_append_format(&text, "%s[%.17g,%.17g]", i ? "," : "", at_x, at_y);
    }
    buffer_append_text(&text, kind == 0 ? "}" : kind == 1 ? "]}" : "]]}");
    bytes out;
    CHECK_OK(buffer_finish(&text, &out));
    return arena_format(arena, "%.*s", (int)out.len, (const char *)out.data);
}

static struct shape read_text(struct arena *arena, struct shape_work *work, enum space space,
                              const char *text, bool *is_valid_out)
{
    struct value value = { .type = VALUE_DOCUMENT };
    struct shape shape;
    const char *reason;

    CHECK_OK(json_read(arena, bytes_of_text(text), &value.raw));
    CHECK_OK(shape_read(work, space, value, &shape, &reason));
    *is_valid_out = !reason;
    return shape;
}

/* What must hold between any two shapes. */
static void check_laws(struct shape_work *work, const struct shape *a, const struct shape *b,
                       const char *texts)
{
    bool ab, ba, within, contains;
    double one, other;

    CHECK_OK(shape_intersects(work, a, b, &ab));
    CHECK_OK(shape_intersects(work, b, a, &ba));
    CHECK_THAT(ab == ba, "intersects is not symmetric: %s", texts);
    CHECK_OK(shape_distance(work, a, b, &one));
    CHECK_OK(shape_distance(work, b, a, &other));
    CHECK_THAT(fabs(one - other) <= 1e-9 * one, "distance %g or %g: %s", one, other, texts);
    CHECK_THAT((one == 0) == ab, "distance %g, intersects %d: %s", one, ab, texts);
    CHECK_OK(shape_is_within(work, a, b, &within));
    CHECK_OK(shape_is_within(work, b, a, &contains));
    CHECK_THAT(!within || ab, "within without intersection: %s", texts);
    CHECK_THAT(!within || a->dimension < 2 || shape_area(a) <= shape_area(b) * (1 + 1e-9),
               "greater than what it is within: %s", texts);
    CHECK_THAT(!within || !contains || a->dimension == b->dimension, "both within: %s", texts);
}

static void check_random_shapes(uint64_t seed, enum space space, bool is_grid)
{
    struct random random = random_seeded(seed);
    struct arena *arena = arena_open(64 * 1024 * 1024);
    struct shape_work work = { .arena = arena, .pairs = UINT64_MAX };

    for (size_t i = 0; i < 60; i++) {
        const char *first = random_shape(&random, arena, is_grid);
        const char *second = random_shape(&random, arena, is_grid);
        const char *texts = arena_format(arena, "%s %s", first, second);
        bool is_first, is_second, is_within;
        struct shape a = read_text(arena, &work, space, first, &is_first);
        struct shape b = read_text(arena, &work, space, second, &is_second);
        if (is_first && is_second)
            check_laws(&work, &a, &b, texts);
        if (is_first) {
            CHECK_OK(shape_is_within(&work, &a, &a, &is_within));
            CHECK_THAT(is_within, "not within itself: %s", first);
        }
    }
    arena_close(arena);
}

TEST(functions_shape, relations_of_random_shapes_agree_with_each_other)
{
    EACH_SEED(seed, 4) {
        check_random_shapes(seed, SPACE_ROUND, false);
        check_random_shapes(seed, SPACE_ROUND, true);
        check_random_shapes(seed, SPACE_FLAT, false);
        check_random_shapes(seed, SPACE_FLAT, true);
        check_random_shapes(seed, SPACE_BALL, false);
        check_random_shapes(seed, SPACE_BALL, true);
    }
}
