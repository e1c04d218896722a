/* Very many paths in one update or projection: they make what the same paths make one at a time. */
#include "front/mongo/projection.h"
#include "front/mongo/update.h"
#include "tests/support/cases.h"

enum { BUDGET = 512 * 1024 * 1024, PATHS = 400 };

enum way { ASCENDING, DESCENDING, SHUFFLED, WAYS };

/* Paths are `format` with a number; the document has every third of them, and what `json` says. */
struct wide {
    const char *format;
    const char *json;
};

static const struct wide wides[] = {
    {"f%05u",          "{\"_id\":1,\"z\":1}"                                },
    { "%u",            "{\"_id\":1,\"1a\":1}"                               },
    { "a.f%05u",       "{\"_id\":1,\"b\":1}"                                },
    { "g%05u.x",       "{\"g00001\":{\"y\":1},\"g00004\":{\"x\":2},\"b\":1}"},
    { "a.f%05u.x.y",   "{\"_id\":1,\"b\":1}"                                },
    { "a.%u",          "{\"a\":[1,2,3,4,5,6,7,8,9],\"b\":1}"                },
    { "a.$.f%05u",     "{\"a\":[{\"f00001\":1},{\"f00007\":1,\"y\":1},{}]}" },
    { "a.$[].f%05u",   "{\"a\":[{\"f00001\":1},{\"f00007\":1,\"y\":1},{}]}" },
    { "a.$[].b.f%05u", "{\"a\":[{\"b\":{\"f00001\":1}},{},{\"b\":{}}]}"     },
};

static bytes path_of(struct arena *arena, const char *format, unsigned number)
{
    const char *digits = strchr(format, '%'), *rest = strchr(digits, 'u') + 1;
    int width = digits[1] == '0' ? digits[2] - '0' : 1;

    return bytes_of_text(
        arena_format(arena, "%.*s%0*u%s", (int)(digits - format), format, width, number, rest));
}

static void put_in_order(unsigned *numbers, size_t count, enum way way)
{
    struct random random = random_seeded(5);

    for (size_t i = 0; i < count; i++)
        numbers[i] = (unsigned)(way == DESCENDING ? count - 1 - i : i);
    for (size_t i = count; way == SHUFFLED && i > 1; i--) {
        size_t at = (size_t)random_below(&random, i);
        unsigned moved = numbers[i - 1];
        numbers[i - 1] = numbers[at];
        numbers[at] = moved;
    }
}

static bytes read_json(struct arena *arena, const char *json)
{
    bytes document;

    CHECK_OK(json_read(arena, bytes_of_text(json), &document));
    return document;
}

/* Fields of value 1: the paths of the format, then those of the JSON. */
static void append_paths(struct arena *arena, struct buffer *built, const char *format,
                         const char *more)
{
    struct document_walk walk = document_fields(read_json(arena, more));
    struct field field;
    struct value one;

    CHECK_OK(value_of_int64(arena, 1, &one));
    for (unsigned i = 0; i < PATHS; i++)
        document_append(built, path_of(arena, format, i), one);
    while (document_next(&walk, &field))
        document_append(built, field.name, field.value);
}

/* ---- updates ---------------------------------------------------------------------------------------- */

/* One in four is removed or raised, the others are set. */
static const char *operator_of(unsigned number)
{
    return number % 8 == 2 ? "$unset" : number % 8 == 6 ? "$max" : "$set";
}

/* { $set: { path: number, ... }, $unset: ..., $max: ... } */
static struct value write_update(struct arena *arena, const char *format, const unsigned *numbers,
                                 size_t count)
{
    static const char *const operators[] = { "$set", "$unset", "$max" };
    struct value update = { .type = VALUE_DOCUMENT };
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);

    for (size_t i = 0; i < ARRAY_COUNT(operators); i++) {
        size_t inner = document_begin_inner(&built, VALUE_DOCUMENT, bytes_of_text(operators[i]));
        for (size_t at = 0; at < count; at++) {
            struct value number;
            CHECK_OK(value_of_int64(arena, numbers[at], &number));
            if (strcmp(operator_of(numbers[at]), operators[i]) == 0)
                document_append(&built, path_of(arena, format, numbers[at]), number);
        }
        document_end(&built, inner);
    }
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &update.raw));
    return update;
}

static bytes updated_where(struct arena *arena, bytes document, struct value wanted, bytes filters)
{
    struct update_run run = { .arena = arena, .has_position = true, .position = 1 };
    struct update_result result;
    const struct update *update;
    struct fault fault = { 0 };

    CHECK_OK(update_parse(arena, wanted, filters, NULL, &update, &fault));
    CHECK_OK(update_apply(update, &run, document, &result));
    CHECK_OK(document_check(arena, result.document));
    return result.document;
}

static bytes updated(struct arena *arena, bytes document, struct value wanted)
{
    return updated_where(arena, document, wanted, BYTES_NONE);
}

static bytes updated_one_by_one(struct arena *arena, bytes document, const char *format,
                                unsigned step)
{
    for (unsigned number = 0; number < PATHS; number += step)
        document = updated(arena, document, write_update(arena, format, &number, 1));
    return document;
}

static void check_updates(const struct wide *wide, enum way way, bool is_empty)
{
    struct arena *arena = arena_open(BUDGET);
    unsigned numbers[PATHS];

    bytes document = read_json(arena, wide->json);
    if (!is_empty)
        document = updated_one_by_one(arena, document, wide->format, 3);
    put_in_order(numbers, PATHS, way);
    bytes want = updated_one_by_one(arena, document, wide->format, 1);
    bytes got = updated(arena, document, write_update(arena, wide->format, numbers, PATHS));
    CHECK_BYTES(got, want, wide->format);
    arena_close(arena);
}

TEST(mongo_update, many_paths_at_once_make_what_they_make_one_by_one)
{
    EACH_ROW(wides, wide) {
        for (enum way way = ASCENDING; way < WAYS; way++) {
            check_updates(wide, way, false);
            check_updates(wide, way, true);
        }
    }
    /* With every third element there would be gaps of null, which has no fields. */
    static const struct wide elements = { "a.%u.x", "{\"a\":[{\"x\":1},{\"y\":1},{}],\"b\":1}" };
    for (enum way way = ASCENDING; way < WAYS; way++)
        check_updates(&elements, way, true);
}

/* { $rename: { from: to, ... } } */
static struct value write_renaming(struct arena *arena, const char *from, const char *to,
                                   const unsigned *numbers, size_t count)
{
    struct value update = { .type = VALUE_DOCUMENT };
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    size_t inner = document_begin_inner(&built, VALUE_DOCUMENT, bytes_of_text("$rename"));

    for (size_t i = 0; i < count; i++) {
        struct value target;
        CHECK_OK(value_of_text(arena, path_of(arena, to, numbers[i]), &target));
        document_append(&built, path_of(arena, from, numbers[i]), target);
    }
    document_end(&built, inner);
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &update.raw));
    return update;
}

static void check_renaming(const char *from, const char *to, const char *json, enum way way)
{
    struct arena *arena = arena_open(BUDGET);
    unsigned numbers[PATHS];

    put_in_order(numbers, PATHS, way);
    bytes document = updated_one_by_one(arena, read_json(arena, json), from, 3);
    bytes want = document;
    for (unsigned number = 0; number < PATHS; number++)
        want = updated(arena, want, write_renaming(arena, from, to, &number, 1));
    bytes got = updated(arena, document, write_renaming(arena, from, to, numbers, PATHS));
    CHECK_BYTES(got, want, from);
    arena_close(arena);
}

TEST(mongo_update, many_renamings_at_once_make_what_they_make_one_by_one)
{
    static const struct {
        const char *from, *to, *json;
    } rows[] = {
        {"f%05u",    "g%05u",     "{\"f00003\":1,\"g00001\":1,\"f00003\":2,\"g00006\":1}"},
        { "a.f%05u", "a.g%05u",   "{\"a\":{\"g00001\":1,\"g00006\":1}}"                  },
        { "a.f%05u", "b.c.g%05u", "{\"b\":{\"c\":{\"g00001\":1}}}"                       },
        { "f%05u.x", "g%05u",     "{\"g00001\":1,\"f00001\":1,\"f00002\":{}}"            },
        { "f%05u",   "g%05u.x",   "{\"g00001\":{\"x\":1},\"g00003\":{\"y\":1}}"          },
    };

    EACH_ROW(rows, r) {
        for (enum way way = ASCENDING; way < WAYS; way++)
            check_renaming(r->from, r->to, r->json, way);
    }
}

/* [ { "e1.k": 1 }, { "e2.k": 2 }, ... ] */
static bytes write_filters(struct arena *arena, const unsigned *numbers, size_t count)
{
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    bytes filters;

    for (size_t i = 0; i < count; i++) {
        size_t inner = document_begin_inner(&built, VALUE_DOCUMENT,
                                            path_of(arena, "%u", (unsigned)i));
        document_append_int64(&built, (const char *)path_of(arena, "e%u.k", numbers[i]).data,
                              numbers[i]);
        document_end(&built, inner);
    }
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &filters));
    return filters;
}

TEST(mongo_update, many_filters_find_their_elements_as_each_does_alone)
{
    for (enum way way = ASCENDING; way < WAYS; way++) {
        struct arena *arena = arena_open(BUDGET);
        unsigned numbers[PATHS];

        put_in_order(numbers, PATHS, way);
        bytes document = read_json(arena, "{\"a\":[{\"k\":5},{\"k\":398,\"x\":0},{\"k\":2,\"x\":0},"
                                          "{\"k\":1000,\"x\":0},1,{\"k\":5,\"x\":0},{}]}");
        bytes want = document;
        for (unsigned number = 0; number < PATHS; number++)
            want = updated_where(arena, want, write_update(arena, "a.$[e%u].x", &number, 1),
                                 write_filters(arena, &number, 1));
        bytes got = updated_where(arena, document,
                                  write_update(arena, "a.$[e%u].x", numbers, PATHS),
                                  write_filters(arena, numbers, PATHS));
        CHECK_BYTES(got, want, "");
        arena_close(arena);
    }
}

TEST(mongo_update, thousands_of_new_fields_come_in_the_order_of_their_names)
{
    enum { MANY = 20000 };
    static unsigned numbers[MANY];
    struct arena *arena = arena_open(BUDGET);

    put_in_order(numbers, MANY, SHUFFLED);
    bytes got = updated(arena, read_json(arena, "{\"_id\":1}"),
                        write_update(arena, "%u", numbers, MANY));
    struct document_walk walk = document_fields(got);
    struct field field;
    CHECK(document_next(&walk, &field));
    for (unsigned i = 0; i < MANY; i++) {
        if (strcmp(operator_of(i), "$unset") == 0)
            continue;
        CHECK_THAT(document_next(&walk, &field), "%u is missing", i);
        CHECK_BYTES(field.name, path_of(arena, "%u", i), "");
    }
    CHECK(!document_next(&walk, &field));
    arena_close(arena);
}

/* { a: [ { f00000: 1, y: 1 }, { f00001: 1, y: 1 }, ... ] } */
static bytes write_elements(struct arena *arena, unsigned count)
{
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    size_t array = document_begin_inner(&built, VALUE_ARRAY, bytes_of_text("a"));
    bytes document;

    for (unsigned i = 0; i < count; i++) {
        size_t element = document_begin_inner(&built, VALUE_DOCUMENT, path_of(arena, "%u", i));
        document_append_int64(&built, (const char *)path_of(arena, "f%05u", i).data, 1);
        document_append_int64(&built, "y", 1);
        document_end(&built, element);
    }
    document_end(&built, array);
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &document));
    return document;
}

/* { $unset: { "a.$[].f00000": 1, ... }, $set: { "a.$[].z": 1 } } */
static struct value write_removal(struct arena *arena, unsigned count)
{
    struct value update = { .type = VALUE_DOCUMENT };
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    size_t inner = document_begin_inner(&built, VALUE_DOCUMENT, bytes_of_text("$unset"));

    for (unsigned i = 0; i < count; i++)
        document_append_int64(&built, (const char *)path_of(arena, "a.$[].f%05u", i).data, 1);
    document_end(&built, inner);
    inner = document_begin_inner(&built, VALUE_DOCUMENT, bytes_of_text("$set"));
    document_append_int64(&built, "a.$[].z", 1);
    document_end(&built, inner);
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &update.raw));
    return update;
}

TEST(mongo_update, thousands_of_fields_go_from_each_of_thousands_of_elements)
{
    enum { MANY = 20000 };
    struct arena *arena = arena_open(BUDGET);
    bytes got = updated(arena, write_elements(arena, MANY), write_removal(arena, MANY));
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    struct value elements;
    struct field element;
    bytes want;

    document_append_int64(&built, "y", 1);
    document_append_int64(&built, "z", 1);
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &want));
    CHECK(document_find(got, "a", &elements));
    struct document_walk walk = document_fields(value_document(elements));
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(document_next(&walk, &element));
        CHECK_BYTES(value_document(element.value), want, "");
    }
    CHECK(!document_next(&walk, &element));
    arena_close(arena);
}

/* { $set: { paths of `format`, then `more` } } is refused with this message; with none if that is empty. */
static void check_refusal(const char *format, const char *more, const char *want)
{
    struct arena *arena = arena_open(BUDGET);
    struct update_run run = { .arena = arena, .has_position = true, .position = 5 };
    struct value wanted = { .type = VALUE_DOCUMENT };
    struct buffer built = buffer_in(arena);
    struct update_result result;
    const struct update *update;
    struct fault fault = { 0 };

    size_t begun = document_begin(&built);
    size_t inner = document_begin_inner(&built, VALUE_DOCUMENT, bytes_of_text("$set"));
    append_paths(arena, &built, format, more);
    document_end(&built, inner);
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &wanted.raw));
    status s = update_parse(arena, wanted, BYTES_NONE, NULL, &update, &fault);
    if (s.code == OK)
        s = update_apply(update, &run, read_json(arena, "{\"a\":[0,1,2,3,4,5,6]}"), &result);
    const char *got = s.code == OK ? "" : fault.message ? fault.message : s.message;
    CHECK_THAT(strcmp(got, want) == 0, "%s, %s: \"%s\", want \"%s\"", format, more, got, want);
    arena_close(arena);
}

TEST(mongo_update, of_many_paths_the_first_that_is_in_the_way_is_told)
{
    static const struct {
        const char *format, *more, *want;
    } rows[] = {
        {"f%05u",    "{\"f00300\":1,\"f00001\":1}",
         "Updating the path 'f00300' would create a conflict at "
          "'f00300'"                                                                                        },
        { "f%05u",   "{\"f00300.x\":1,\"f00001\":1}",
         "Updating the path 'f00300.x' would create a conflict at "
          "'f00300'"                                                                                        },
        { "f%05u.x", "{\"y\":1,\"f00007\":1}",
         "Updating the path 'f00007' would create a conflict at "
          "'f00007'"                                                                                        },
        { "a.%u",    "{\"a.399.b\":1,\"a\":1}",
         "Updating the path 'a.399.b' would create a conflict at "
          "'a.399'"                                                                                         },
        { "%u",      "{\"1a\":1,\"2\":1}",            "Updating the path '2' would create a conflict at '2'"},
        { "a.%u",    "{\"a.$\":1}",                   "Update created a conflict at '5'"                    },
        { "a.%u",    "{\"a.$[]\":1}",                 "Update created a conflict at '0'"                    },
        { "a.%u",    "{\"a.$[].b\":1}",               "Update created a conflict at '0'"                    },
        { "a.f%05u", "{\"a.$[]\":1}",
         "Cannot create field 'f00000' in element a, which is an "
          "array"                                                                                           },
        { "f%05u",   "{\"h\":1}",                     ""                                                    },
    };

    EACH_ROW(rows, r)
        check_refusal(r->format, r->more, r->want);
}

/* ---- projections ------------------------------------------------------------------------------------ */

static bytes projected(struct arena *arena, bytes document, bytes wanted, bool is_new_fields)
{
    struct formula_run formulas = { .arena = arena };
    struct projection_run run = { .arena = arena, .formulas = &formulas };
    const struct projection *projection;
    struct fault fault = { 0 };
    bytes given;

    if (is_new_fields)
        CHECK_OK(projection_parse_fields(arena, wanted, NULL, &projection, &fault));
    else
        CHECK_OK(projection_parse(arena, wanted, PROJECTION_OF_FIND, NULL, &projection, &fault));
    CHECK_OK(projection_apply(projection, &run, document, &given));
    CHECK_OK(document_check(arena, given));
    return given;
}

/* { path: value, ... } of those numbers whose rest by `modulo` is `rest`. */
static bytes write_projection(struct arena *arena, const char *format, const unsigned *numbers,
                              size_t count, unsigned modulo, unsigned rest, int64_t value)
{
    struct buffer built = buffer_in(arena);
    size_t begun = document_begin(&built);
    struct value flag;
    bytes projection;

    CHECK_OK(value_of_int64(arena, value, &flag));
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] % modulo == rest)
            document_append(&built, path_of(arena, format, numbers[i]), flag);
    }
    document_end(&built, begun);
    CHECK_OK(buffer_finish(&built, &projection));
    return projection;
}

static bytes projected_one_by_one(struct arena *arena, bytes document, const char *format,
                                  const unsigned *numbers, unsigned modulo, unsigned rest,
                                  int64_t value)
{
    for (size_t i = 0; i < PATHS; i++) {
        if (numbers[i] % modulo == rest)
            document = projected(arena, document,
                                 write_projection(arena, format, &numbers[i], 1, 1, 0, value),
                                 value > 1);
    }
    return document;
}

static void check_projections(const char *format, const char *json, enum way way)
{
    struct arena *arena = arena_open(BUDGET);
    unsigned numbers[PATHS], shuffled[PATHS];

    put_in_order(numbers, PATHS, way);
    put_in_order(shuffled, PATHS, SHUFFLED);
    bytes document = projected_one_by_one(arena, read_json(arena, json), format, shuffled, 3, 0, 7);

    bytes without = projected_one_by_one(arena, document, format, numbers, 2, 1, 0);
    bytes exclusion = write_projection(arena, format, numbers, PATHS, 2, 1, 0);
    CHECK_BYTES(projected(arena, document, exclusion, false), without, format);

    bytes inclusion = write_projection(arena, format, numbers, PATHS, 2, 0, 1);
    CHECK_BYTES(projected(arena, document, inclusion, false), without, format);

    bytes more = projected_one_by_one(arena, document, format, numbers, 2, 1, 9);
    bytes new_fields = write_projection(arena, format, numbers, PATHS, 2, 1, 9);
    CHECK_BYTES(projected(arena, document, new_fields, true), more, format);
    arena_close(arena);
}

TEST(mongo_projection, many_paths_at_once_give_what_they_give_one_by_one)
{
    static const struct wide rows[] = {
        {"f%05u",      "{\"_id\":1}"                                            },
        { "%u",        "{\"_id\":1}"                                            },
        { "a.f%05u",   "{\"_id\":1,\"a\":{}}"                                   },
        { "a.b.f%05u", "{\"_id\":1,\"a\":{\"b\":[{},{\"f00004\":1},[{}],{}]}}"  },
        { "a.f%05u",   "{\"_id\":1,\"a\":[{\"f00001\":1},{},{\"f00398\":1},{}]}"},
    };

    EACH_ROW(rows, r) {
        for (enum way way = ASCENDING; way < WAYS; way++)
            check_projections(r->format, r->json, way);
    }
}

TEST(mongo_projection, computed_fields_among_many_come_behind_the_kept_ones)
{
    struct arena *arena = arena_open(BUDGET);
    struct buffer built = buffer_in(arena), want = buffer_in(arena), source = buffer_in(arena);
    struct value one, two;
    bytes wanted, expected, document;

    CHECK_OK(value_of_int64(arena, 1, &one));
    CHECK_OK(value_of_text(arena, BYTES_LITERAL("$two"), &two));
    size_t wanted_begun = document_begin(&built), begun = document_begin(&want);
    size_t source_begun = document_begin(&source);
    document_append_int64(&source, "two", 2);
    for (unsigned i = 0; i < PATHS; i++) {
        bytes name = path_of(arena, "f%05u", i);
        document_append(&built, name, i % 2 ? one : two);
        if (i % 4 > 1)
            document_append(&source, name, one);
        if (i % 4 > 1)
            document_append_int64(&want, (const char *)name.data, i % 2 ? 1 : 2);
    }
    for (unsigned i = 0; i < PATHS; i += 4)
        document_append_int64(&want, (const char *)path_of(arena, "f%05u", i).data, 2);
    document_end(&built, wanted_begun);
    document_end(&want, begun);
    document_end(&source, source_begun);
    CHECK_OK(buffer_finish(&built, &wanted));
    CHECK_OK(buffer_finish(&want, &expected));
    CHECK_OK(buffer_finish(&source, &document));
    CHECK_BYTES(projected(arena, document, wanted, false), expected, "");
    arena_close(arena);
}

TEST(mongo_projection, of_many_paths_the_first_collision_is_told)
{
    static const struct {
        const char *format, *more, *want;
    } rows[] = {
        {"f%05u",    "{\"f00300\":1,\"f00001\":1}",   "Path collision at f00300"    },
        { "f%05u",   "{\"f00300.x\":1,\"f00001\":1}", "Path collision at f00300.x"  },
        { "f%05u.x", "{\"y\":1,\"f00007\":1}",        "Path collision at f00007"    },
        { "a.f%05u", "{\"a.f00399.b\":1,\"a\":1}",    "Path collision at a.f00399.b"},
    };

    EACH_ROW(rows, r) {
        struct arena *arena = arena_open(BUDGET);
        struct buffer built = buffer_in(arena);
        const struct projection *projection;
        struct fault fault = { 0 };
        bytes wanted;

        size_t begun = document_begin(&built);
        append_paths(arena, &built, r->format, r->more);
        document_end(&built, begun);
        CHECK_OK(buffer_finish(&built, &wanted));
        CHECK_CODE(projection_parse(arena, wanted, PROJECTION_OF_FIND, NULL, &projection, &fault),
                   INVALID);
        CHECK_EQ(fault.code, 31249, "%s", r->more);
        CHECK_TEXT(bytes_of_text(fault.message), r->want);
        arena_close(arena);
    }
}
