/* Finding: whatever way is taken to the documents, the same ones come, in the same order.
 *
 * Random documents with arrays in them, random filters and orders, with and without indexes; each find is compared
 * with the plain walk over all documents, read in pages of random sizes, and counted. */
#include "front/mongo/filter.h"
#include "tests/support/cases.h"
#include "tests/support/world.h"

#include <math.h>

enum { DOCUMENTS = 60, FINDS = 40, IDS_MAX = 128 };

static const char indexes[] =
    "ia: a missing=null; ib: b -a missing=null; is: a b sparse missing=null; "
    "il: l.x l.y missing=null; in: n.x missing=null; id: -b missing=null";

struct ids {
    int64_t items[IDS_MAX];
    size_t count;
};

/* ---- random text ------------------------------------------------------------------------------------ */

static const char *any_scalar(struct world *w, struct random *random)
{
    static const char *const others[] = { "'p'", "'pq'", "null", "true", "1.5", "{'x':1}", "'q'" };

    if (random_chance(random, 65))
        return arena_format(w->arena, "%d", (int)random_below(random, 6));
    return others[random_below(random, ARRAY_COUNT(others))];
}

static const char *any_value(struct world *w, struct random *random, bool has_arrays)
{
    const char *text = any_scalar(w, random);

    if (!has_arrays || random_chance(random, 60))
        return text;
    if (random_chance(random, 10))
        return "[]";
    for (int i = 0; i < 2; i++)
        text = arena_format(w->arena, "%s,%s", text, any_scalar(w, random));
    return arena_format(w->arena, random_chance(random, 8) ? "[[%s]]" : "[%s]", text);
}

static const char *any_list(struct world *w, struct random *random)
{
    const char *text = "";

    for (size_t i = 0, n = (size_t)random_below(random, 4); i < n; i++)
        text = arena_format(w->arena, "%s%s{'x':%s,'y':%s}", text, i ? "," : "",
                            any_scalar(w, random), any_scalar(w, random));
    return arena_format(w->arena, "[%s]", text);
}

static void fill(struct world *w, struct random *random, const char *definitions, bool has_arrays)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_OFF, definitions);
    for (int i = 0; i < DOCUMENTS; i++) {
        const char *text = arena_format(w->arena, "{'_id':%d", i);
        if (random_chance(random, 85))
            text = arena_format(w->arena, "%s,'a':%s", text, any_value(w, random, has_arrays));
        if (random_chance(random, 85))
            text = arena_format(w->arena, "%s,'b':%s", text, any_scalar(w, random));
        if (random_chance(random, 60))
            text = arena_format(w->arena, "%s,'n':{'x':%s}", text,
                                any_value(w, random, has_arrays));
        if (random_chance(random, 60))
            text = arena_format(w->arena, "%s,'l':%s", text,
                                has_arrays ? any_list(w, random) : "{'x':1,'y':2}");
        CHECK_WRITTEN(world_insert(w, "c", "%s}", text), OK);
    }
}

static const char *any_path(struct random *random)
{
    static const char *const paths[] = { "a", "b", "n.x", "l.x", "l.y", "_id" };

    return paths[random_below(random, ARRAY_COUNT(paths))];
}

static const char *any_operand(struct world *w, struct random *random)
{
    switch (random_below(random, 12)) {
    case 0:
        return arena_format(w->arena, "{'$gt':%s}", any_scalar(w, random));
    case 1:
        return arena_format(w->arena, "{'$gte':%s,'$lt':%s}", any_scalar(w, random),
                            any_scalar(w, random));
    case 2:
        return arena_format(w->arena, "{'$in':[%s,%s]}", any_scalar(w, random),
                            any_scalar(w, random));
    case 3:
        return arena_format(w->arena, "{'$gt':%d,'$lte':%d}", (int)random_below(random, 3),
                            (int)random_below(random, 6));
    case 4:
        return "{'$exists':true}";
    case 5:
        return arena_format(w->arena, "{'$elemMatch':{'$gte':%d,'$lt':5}}",
                            (int)random_below(random, 5));
    case 6:
        return arena_format(w->arena, "{'$ne':%s}", any_scalar(w, random));
    case 7:
        return "{'$regex':'^p'}";
    case 8:
        return arena_format(w->arena, "{'$lt':%s}", any_scalar(w, random));
    case 9:
        return any_value(w, random, true);
    default:
        return any_scalar(w, random);
    }
}

static const char *any_filter(struct world *w, struct random *random, int depth)
{
    if (depth == 0 || random_chance(random, 60))
        return arena_format(w->arena, "'%s':%s", any_path(random), any_operand(w, random));
    if (random_chance(random, 10))
        return arena_format(w->arena, "'l':{'$elemMatch':{'x':%s,'y':%s}}", any_scalar(w, random),
                            any_scalar(w, random));
    return arena_format(w->arena, "'%s':[{%s},{%s}]", random_chance(random, 60) ? "$and" : "$or",
                        any_filter(w, random, depth - 1), any_filter(w, random, depth - 1));
}

/* ---- one find --------------------------------------------------------------------------------------- */

static bytes parse(struct world *w, const char *text)
{
    struct cases cases = { .arena = w->arena, .path = "random" };
    char *copy = (char *)(uintptr_t)arena_format(w->arena, "%s", text);

    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    return cases_document(&cases, bytes_of_text(copy));
}

static int64_t id_of(bytes document)
{
    struct value id;
    int64_t number = -1;

    CHECK(document_find(document, "_id", &id));
    CHECK(value_as_int64(id, &number));
    return number;
}

struct page {
    struct ids ids;
    bytes after;
    bool is_over;
    struct find_explain explain;
};

static void read_page(struct world *w, struct find_request *wanted, size_t size, struct page *page)
{
    struct request request;
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct find_row row;
    struct find *find;
    bool has_row = true;

    CHECK_OK(request_begin(w->engine, arena, &request));
    wanted->request = &request;
    wanted->after = page->after;
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &wanted->collection));
    CHECK_OK(find_open(wanted, &find));
    for (size_t i = 0; i < size && has_row; i++) {
        CHECK_OK(find_next(find, &row, &has_row));
        CHECK(page->ids.count < IDS_MAX);
        if (has_row)
            page->ids.items[page->ids.count++] = id_of(row.document);
    }
    CHECK_OK(find_position(find, w->arena, &page->after));
    page->is_over = find_is_over(find);
    page->explain = *find_explain(find);
    find_close(find);
    request_end(&request);
    arena_close(arena);
}

static uint64_t count(struct world *w, struct find_request *wanted)
{
    struct arena *arena = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    struct request request;
    uint64_t found;

    CHECK_OK(request_begin(w->engine, arena, &request));
    wanted->request = &request;
    wanted->after = BYTES_NONE;
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &wanted->collection));
    CHECK_OK(find_count(wanted, &found, NULL));
    request_end(&request);
    arena_close(arena);
    return found;
}

static bool has_id(const struct ids *ids, int64_t id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (ids->items[i] == id)
            return true;
    }
    return false;
}

static void check_order(struct world *w, const struct order *order, const struct ids *ids,
                        const char *text)
{
    bytes last = BYTES_NONE;

    for (size_t i = 0; i < ids->count; i++) {
        struct found found = world_read(w, "c", "{'_id':%d}", (int)ids->items[i]);
        bytes key;
        CHECK_OK(order_key(order, w->arena, found.bson, &key));
        CHECK_THAT(bytes_compare(last, key) <= 0, "%s: row %zu is out of order", text, i);
        last = key;
    }
}

static const struct find_view view = { .key_field = BYTES_LITERAL("_id") };

static const struct order *any_order(struct world *w, struct random *random)
{
    struct order_part parts[2];
    const struct order *order;
    size_t n = (size_t)random_below(random, 3);

    for (size_t i = 0; i < n; i++)
        parts[i] = (struct order_part){ .path = bytes_of_text(any_path(random)),
                                        .is_descending = random_chance(random, 50) };
    /* Two arrays side by side have no order. */
    if (n == 2 && (parts[0].path.data[0] == parts[1].path.data[0] || parts[0].path.len > 1 ||
                   parts[1].path.len > 1))
        n = 1;
    CHECK_OK(order_make(w->arena, NULL, parts, n, &order));
    return order;
}

static void compare_ways(struct world *w, struct random *random, const char *text)
{
    struct find_request plain = { .view = &view, .by = FIND_NATURAL }, wanted = { .view = &view };
    struct page naive = { 0 }, page = { 0 };
    struct fault fault = { 0 };

    CHECK_OK(filter_parse(w->arena, parse(w, text), NULL, &wanted.match, &fault));
    plain.match = wanted.match;
    read_page(w, &plain, IDS_MAX, &naive);
    CHECK(naive.is_over);
    wanted.order = any_order(w, random);
    wanted.is_reverse = random_chance(random, 20);
    for (int i = 0; i < 2 * IDS_MAX && !page.is_over; i++)
        read_page(w, &wanted, 1 + (size_t)random_below(random, 9), &page);
    CHECK_THAT(page.is_over, "%s does not end", text);
    CHECK_THAT(page.ids.count == naive.ids.count, "%s gives %zu documents (%s), the plain walk %zu",
               text, page.ids.count,
               page.explain.index ? (const char *)page.explain.index->definition.name.data : "keys",
               naive.ids.count);
    for (size_t i = 0; i < naive.ids.count; i++)
        CHECK_THAT(has_id(&page.ids, naive.ids.items[i]), "%s misses %d", text,
                   (int)naive.ids.items[i]);
    for (size_t i = 0; i < page.ids.count; i++) {
        for (size_t j = 0; j < i; j++)
            CHECK_THAT(page.ids.items[i] != page.ids.items[j], "%s gives %d twice", text,
                       (int)page.ids.items[i]);
    }
    check_order(w, wanted.order, &page.ids, text);
    CHECK_EQ(count(w, &wanted), naive.ids.count, "%s", text);
}

static void run_seed(uint64_t seed, const char *definitions, bool has_arrays)
{
    struct random random = random_seeded(seed);
    struct world w;

    fill(&w, &random, definitions, has_arrays);
    for (int i = 0; i < FINDS; i++) {
        const char *text = any_filter(&w, &random, 2);
        compare_ways(&w, &random, arena_format(w.arena, "{%s}", text));
    }
    world_close(&w);
}

TEST(mongo_find, every_way_gives_the_same_documents)
{
    EACH_SEED(seed, 4)
        run_seed(seed, indexes, seed % 2);
}

TEST(mongo_find, every_kind_of_index_gives_the_same_documents)
{
    static const char *const kinds[] = {
        "ih: b:hashed missing=null; ihs: b:hashed -a sparse missing=null",
        "iw: $**:wildcard missing=null; iwb: b -a.$**:wildcard missing=null",
    };

    EACH_SEED(seed, 8)
        run_seed(seed, kinds[seed % ARRAY_COUNT(kinds)], seed / 2 % 2);
}

/* ---- places ----------------------------------------------------------------------------------------- */

static const char *any_position(struct world *w, struct random *random)
{
    double x = (double)random_below(random, 41) - 20, y = (double)random_below(random, 41) - 20;

    switch (random_below(random, 6)) {
    case 0: /* around the antimeridian */
        x = x > 0 ? x - 180 : x + 180;
        break;
    case 1: /* around the poles */
        x *= 9;
        y = y > 0 ? 90 - y / 4 : -90 - y / 4;
        break;
    case 2: /* anywhere */
        x *= 9;
        y *= 4.5;
        break;
    default:
        x += (double)random_below(random, 1000) / 1000;
        break;
    }
    return arena_format(w->arena, "[%g,%g]", fmin(180, x), y);
}

/* Around a position, and small enough to be whole there. */
static const char *any_polygon(struct world *w, struct random *random)
{
    int x = (int)random_below(random, 340) - 170, y = (int)random_below(random, 160) - 80;
    int size = 1 + (int)random_below(random, 9);

    if (random_chance(random, 15))
        return "{'type':'Polygon','coordinates':[[[0,80],[120,80],[-120,80],[0,80]]]}";
    if (random_chance(random, 15))
        return "{'type':'Polygon','coordinates':[[[170,-9],[-170,-9],[-170,9],[170,9],[170,-9]]]}";
    if (random_chance(random, 50)) {
        x /= 10;
        y /= 8;
    }
    return arena_format(w->arena,
                        "{'type':'Polygon','coordinates':[[[%d,%d],[%d,%d],[%d,%d],[%d,%d]]]}", x,
                        y, x + size, y, x + size / 2, y + size, x, y);
}

static const char *any_geometry(struct world *w, struct random *random)
{
    const char *one = any_position(w, random), *other = any_position(w, random);

    switch (random_below(random, 10)) {
    case 0:
        return one;
    case 1:
        return arena_format(w->arena, "{'type':'LineString','coordinates':[%s,[1.5,2.5],[3,-4]]}",
                            one);
    case 2:
    case 3:
        return any_polygon(w, random);
    case 4:
        return arena_format(w->arena, "{'type':'MultiPoint','coordinates':[%s,%s]}", one, other);
    case 5:
        return arena_format(w->arena,
                            "{'type':'GeometryCollection','geometries':[%s,"
                            "{'type':'Point','coordinates':%s}]}",
                            any_polygon(w, random), other);
    default:
        return arena_format(w->arena, "{'type':'Point','coordinates':%s}", one);
    }
}

static void fill_places(struct world *w, struct random *random, const char *definitions,
                        bool is_flat)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_OFF, definitions);
    for (int i = 0; i < DOCUMENTS; i++) {
        const char *place = is_flat ? any_position(w, random) : any_geometry(w, random);
        if (is_flat && random_chance(random, 20))
            place = arena_format(w->arena, "[%s,%s]", place, any_position(w, random));
        if (random_chance(random, 10))
            CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'b':%d}", i, i % 3), OK);
        else if (random_chance(random, 20))
            CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'b':%d,'l':[{'p':%s},{'p':null},{}]}", i,
                                       i % 3, place),
                          OK);
        else
            CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'b':%d,'p':%s}", i, i % 3, place), OK);
    }
}

static const char *any_region(struct world *w, struct random *random, bool is_flat)
{
    const char *at = any_position(w, random);
    double size = (double)(1 + random_below(random, 100)) / 50;

    if (is_flat && random_chance(random, 30))
        return arena_format(w->arena, "{'$geoWithin':{'$box':[%s,%s]}}", at,
                            any_position(w, random));
    if (is_flat)
        return random_chance(random, 50)
                   ? arena_format(w->arena, "{'$geoWithin':{'$center':[%s,%g]}}", at, size * 30)
                   : arena_format(w->arena, "{'$geoWithin':{'$polygon':[%s,%s,%s]}}", at,
                                  any_position(w, random), any_position(w, random));
    switch (random_below(random, 4)) {
    case 0:
        return arena_format(w->arena, "{'$geoWithin':{'$centerSphere':[%s,%g]}}", at, size);
    case 1:
        return arena_format(w->arena, "{'$geoWithin':{'$geometry':%s}}", any_polygon(w, random));
    case 2:
        return arena_format(w->arena,
                            "{'$geoIntersects':{'$geometry':{'type':'LineString',"
                            "'coordinates':[%s,[2,2],[-7,7]]}}}",
                            at);
    default:
        return arena_format(w->arena, "{'$geoIntersects':{'$geometry':%s}}",
                            any_polygon(w, random));
    }
}

/* By random ways to places; what is read in pages is what the plain walk finds. */
static void check_regions(struct world *w, struct random *random, bool is_flat)
{
    for (int i = 0; i < FINDS / 2; i++) {
        const char *path = random_chance(random, 30) ? "l.p" : "p";
        const char *region = any_region(w, random, is_flat);
        const char *more = random_chance(random, 50) ? ",'b':1" : "";
        if (random_chance(random, 20))
            compare_ways(w, random,
                         arena_format(w->arena, "{'$or':[{'%s':%s},{'_id':7}]}", path, region));
        else if (random_chance(random, 20))
            compare_ways(w, random,
                         arena_format(w->arena, "{'l':{'$elemMatch':{'p':%s}}%s}", region, more));
        else
            compare_ways(w, random, arena_format(w->arena, "{'%s':%s%s}", path, region, more));
    }
}

/* The distance of a document, or INFINITY if it is none that is asked for. */
static double distance_of(struct world *w, const struct match *match, int64_t id)
{
    struct matching matching = { .scratch = w->arena };
    struct found found = world_read(w, "c", "{'_id':%d}", (int)id);
    bool is_match;

    CHECK_OK(match_document(match, &matching, found.bson, &is_match));
    return is_match ? matching.distance : INFINITY;
}

static const char *any_nearness(struct world *w, struct random *random, bool is_flat)
{
    const char *at = any_position(w, random);
    double most = pow(10, (double)random_below(random, 8));

    if (is_flat)
        return random_chance(random, 50)
                   ? arena_format(w->arena, "{'$near':%s,'$maxDistance':%g}", at, most / 10000)
                   : arena_format(w->arena, "{'$nearSphere':%s}", at);
    switch (random_below(random, 3)) {
    case 0:
        return arena_format(w->arena, "{'$nearSphere':%s,'$minDistance':0.01}", at);
    case 1:
        return arena_format(w->arena,
                            "{'$near':{'$geometry':{'type':'Point','coordinates':%s},"
                            "'$minDistance':%g,'$maxDistance':%g}}",
                            at, most / 100, most);
    default:
        return arena_format(w->arena, "{'$near':{'$geometry':{'type':'Point','coordinates':%s}}}",
                            at);
    }
}

static void compare_near(struct world *w, struct random *random, const char *text)
{
    struct find_request wanted = { .view = &view };
    struct page page = { 0 };
    struct fault fault = { 0 };
    size_t expected = 0;
    double last = 0;

    CHECK_OK(filter_parse_sorting(w->arena, parse(w, text), NULL, &wanted.match, &fault));
    for (int i = 0; i < 2 * IDS_MAX && !page.is_over; i++)
        read_page(w, &wanted, 1 + (size_t)random_below(random, 9), &page);
    for (int i = 0; i < DOCUMENTS; i++)
        expected += isfinite(distance_of(w, wanted.match, i)) ? 1 : 0;
    CHECK_THAT(page.is_over, "%s does not end", text);
    CHECK_THAT(page.ids.count == expected, "%s gives %zu documents, %zu are asked for", text,
               page.ids.count, expected);
    for (size_t i = 0; i < page.ids.count; i++) {
        double distance = distance_of(w, wanted.match, page.ids.items[i]);
        CHECK_THAT(isfinite(distance), "%s gives %d", text, (int)page.ids.items[i]);
        CHECK_THAT(distance >= last, "%s: row %zu is nearer than the one before", text, i);
        last = distance;
        for (size_t j = 0; j < i; j++)
            CHECK_THAT(page.ids.items[i] != page.ids.items[j], "%s gives %d twice", text,
                       (int)page.ids.items[i]);
    }
    CHECK_EQ(count(w, &wanted), expected, "%s", text);
}

static void run_places(uint64_t seed, const char *definitions, bool is_flat)
{
    struct random random = random_seeded(seed);
    struct world w;

    fill_places(&w, &random, definitions, is_flat);
    check_regions(&w, &random, is_flat);
    for (int i = 0; i < FINDS / 2; i++)
        compare_near(&w, &random,
                     arena_format(w.arena, "{'%s':%s%s}", random_chance(&random, 30) ? "l.p" : "p",
                                  any_nearness(&w, &random, is_flat),
                                  random_chance(&random, 30) ? ",'b':1" : ""));
    world_close(&w);
}

TEST(mongo_find, places_on_the_globe_are_found_by_index_as_without)
{
    EACH_SEED(seed, 4)
        run_places(seed,
                   seed % 2 ? "g: p:ball missing=null; gl: l.p:ball missing=null"
                            : "gb: b p:ball missing=null; g: p:ball b missing=null; gl: l.p:ball b "
                              "missing=null",
                   false);
}

TEST(mongo_find, places_in_the_plane_are_found_by_index_as_without)
{
    EACH_SEED(seed, 2)
        run_places(seed, "g: p:plane missing=null; gl: l.p:plane b missing=null", true);
}

/* ---- ways ------------------------------------------------------------------------------------------- */

static const char *way_of(struct world *w, const char *filter, const char *order_path,
                          bool is_descending)
{
    struct find_request wanted = { .view = &view };
    struct page page = { 0 };
    struct fault fault = { 0 };
    const struct order_part part = { .path = bytes_of_text(order_path),
                                     .is_descending = is_descending };

    CHECK_OK(filter_parse(w->arena, parse(w, filter), NULL, &wanted.match, &fault));
    CHECK_OK(order_make(w->arena, NULL, &part, order_path[0] ? 1 : 0, &wanted.order));
    read_page(w, &wanted, IDS_MAX, &page);
    return arena_format(w->arena, "%.*s%s rows=%d",
                        page.explain.index ? (int)page.explain.index->definition.name.len : 4,
                        page.explain.index ? (const char *)page.explain.index->definition.name.data
                        : page.explain.access == FIND_ACCESS_POINTS ? "point"
                                                                    : "keys",
                        page.explain.is_sorted ? " sorted" : "", (int)page.explain.rows);
}

TEST(mongo_find, conditions_and_orders_take_an_index)
{
    static const struct {
        const char *filter, *order;
        bool is_descending;
        const char *want;
    } rows[] = {
        {"{'_id':7}",                                                "",    false, "poin rows=1"        },
        { "{'_id':{'$in':[7,8,999]}}",                               "",    false, "poin rows=3"        },
        { "{'_id':{'$gte':35}}",                                     "",    false, "keys rows=5"        },
        { "{}",                                                      "_id", true,  "keys rows=40"       },
        { "{'n':7}",                                                 "",    false, "by_n rows=1"        },
        { "{'n':{'$gt':30,'$lte':33}}",                              "",    false, "by_n rows=3"        },
        { "{'n':{'$gt':30,'$lte':33}}",                              "n",   true,  "by_n rows=3"        },
        { "{'n':{'$in':[1,2,90]}}",                                  "",    false, "by_n rows=2"        },
        { "{'g':1,'m':{'$gte':30}}",                                 "",    false, "gm rows=5"          },
        { "{'g':1}",                                                 "m",   true,  "gm rows=20"         },
        { "{'m':3}",                                                 "",    false, "keys rows=40"       },
        { "{}",                                                      "n",   false, "by_n rows=40"       },
        { "{}",                                                      "m",   false, "keys sorted rows=40"},
        { "{'$or':[{'n':1},{'_id':3},{'s':'t1'},{'n':{'$gt':37}}]}", "",    false, "by_n rows=5"        },
        { "{'$or':[{'n':1},{'m':3}]}",                               "",    false, "keys rows=40"       },
        { "{'$or':[{'n':1},{'n':{'$gte':39}}]}",                     "",    false, "by_n rows=2"        },
        { "{'s':{'$regex':'^t3'}}",                                  "",    false, "by_s rows=11"       },
        { "{'tags':{'$gt':'a','$lt':'c'}}",                          "",    false, "tags rows=60"       },
        { "{'tags':{'$elemMatch':{'$gt':'a','$lt':'c'}}}",           "",    false, "tags rows=20"       },
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(
        &w, "c", TTL_OFF,
        "by_n: n missing=null; gm: g -m missing=null; by_s: s missing=null; tags: tags "
        "missing=null");
    for (int i = 0; i < 40; i++)
        CHECK_WRITTEN(world_insert(&w, "c",
                                   "{'_id':%d,'n':%d,'g':%d,'m':%d,'s':'t%d','tags':['%s','z']}", i,
                                   i, i % 2, i, i, i < 20 ? "b" : "a"),
                      OK);
    EACH_ROW(rows, r) {
        const char *got = way_of(&w, r->filter, r->order, r->is_descending);
        CHECK_THAT(strcmp(got, r->want) == 0, "%s by %s: %s, want %s", r->filter, r->order, got,
                   r->want);
    }
    world_close(&w);
}

/* ---- indexes that do not hold everything ------------------------------------------------------------ */

/* The world's partial indexes hold documents whose field of that name is 1. */
static status predicate_of(void *context, const struct index *index, const struct match **out)
{
    struct world *w = context;
    struct value one;

    TRY(value_of_int64(w->arena, 1, &one));
    return match_leaf(w->arena, MATCH_EQUAL, index->definition.predicate, one, out);
}

static const char *index_used(struct world *w, const char *filter, size_t want)
{
    struct find_request wanted = { .view = &view, .predicate = predicate_of, .context = w };
    struct page page = { 0 };
    struct fault fault = { 0 };

    CHECK_OK(filter_parse(w->arena, parse(w, filter), NULL, &wanted.match, &fault));
    read_page(w, &wanted, IDS_MAX, &page);
    CHECK_EQ(page.ids.count, want, "%s", filter);
    return page.explain.index
               ? arena_format(w->arena, "%.*s", (int)page.explain.index->definition.name.len,
                              (const char *)page.explain.index->definition.name.data)
               : "keys";
}

TEST(mongo_find, an_index_is_used_only_if_it_holds_all_that_is_meant)
{
    static const struct {
        const char *filter;
        size_t want;
        const char *index;
    } rows[] = {
        {"{'a':3,'flag':1}",                   2,  "part"},
        { "{'a':3}",                           4,  "keys"},
        { "{'a':3,'flag':2}",                  0,  "keys"},
        { "{'a':3,'flag':{'$in':[1]}}",        2,  "part"},
        { "{'a':3,'flag':{'$in':[1,null]}}",   4,  "keys"},
        { "{'a':{'$lt':2},'flag':{'$gte':1}}", 4,  "keys"},
        { "{'s':5}",                           1,  "thin"},
        { "{'s':{'$gt':30}}",                  5,  "thin"},
        { "{'s':null}",                        20, "keys"},
        { "{'s':{'$exists':true}}",            20, "thin"},
        { "{'s':{'$exists':false}}",           20, "keys"},
        { "{'s':{'$in':[1,null]}}",            21, "keys"},
        { "{'s':{'$ne':1}}",                   39, "keys"},
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF,
                     "part: a missing=null where=flag; thin: s sparse missing=null");
    for (int i = 0; i < 40; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'a':%d%s%s}", i, i % 10,
                                   i < 20 ? ",'flag':1" : "",
                                   i % 2 ? arena_format(w.arena, ",'s':%d", i) : ""),
                      OK);
    EACH_ROW(rows, r)
        CHECK_STRING(index_used(&w, r->filter, r->want), r->index);
    world_close(&w);
}

TEST(mongo_find, a_hint_is_followed_between_its_limits)
{
    static const struct {
        const char *min, *max;
        size_t want;
    } rows[] = {
        {NULL,        NULL,       40},
        { "{'n':30}", NULL,       10},
        { NULL,       "{'n':30}", 30},
        { "{'n':10}", "{'n':13}", 3 },
        { "{'n':50}", NULL,       0 },
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "by_n: n missing=null");
    for (int i = 0; i < 40; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':%d}", i, i), OK);
    EACH_ROW(rows, r) {
        struct find_request wanted = { .view = &view, .by = FIND_BY_INDEX };
        struct page page = { 0 };
        struct request request;
        const struct collection *collection;
        CHECK_OK(request_begin(w.engine, w.arena, &request));
        CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &collection));
        wanted.hint = collection_index(collection, BYTES_LITERAL("by_n"));
        if (r->min)
            wanted.min = parse(&w, r->min);
        if (r->max)
            wanted.max = parse(&w, r->max);
        read_page(&w, &wanted, IDS_MAX, &page);
        CHECK_EQ(page.ids.count, r->want, "from %s to %s", r->min ? r->min : "the first",
                 r->max ? r->max : "the last");
        request_end(&request);
    }
    world_close(&w);
}
