/* Paths: parsing, and what they reach through documents and arrays. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

enum { BUDGET = 128 * 1024 * 1024 };

static const struct path *parse(struct arena *arena, const char *dotted)
{
    const struct path *path;

    CHECK_OK(path_parse(arena, bytes_of_text(dotted), &path));
    return path;
}

/* The values as JSON, one behind the other; "missing" and "undefined" for those. */
static const char *collect(struct arena *arena, const char *dotted, bytes document,
                           bool *is_through_array)
{
    struct path_values values;
    struct buffer out = buffer_in(arena);

    CHECK_OK(path_collect(arena, parse(arena, dotted), document, &values));
    CHECK(values.count >= 1);
    for (size_t i = 0; i < values.count; i++) {
        if (i > 0)
            buffer_append_byte(&out, ' ');
        if (values.items[i].type == VALUE_MISSING)
            buffer_append_text(&out, "missing");
        else if (values.items[i].type == VALUE_UNDEFINED)
            buffer_append_text(&out, "undefined");
        else
            json_write_value(&out, values.items[i]);
    }
    buffer_append_byte(&out, 0);
    *is_through_array = values.is_through_array;
    return (const char *)out.data;
}

TEST(path, reaches_what_an_index_sees)
{
    static const struct {
        const char *dotted;
        const char *document;
        const char *want;
        bool is_through_array;
    } rows[] = {
        {"a",                       "{'a':1}",                                       "1",             false},
        { "a",                      "{'b':1}",                                       "missing",       false},
        { "a",                      "{}",                                            "missing",       false},
        { "a",                      "{'a':null}",                                    "null",          false},
        { "a",                      "{'a':{'b':1}}",                                 "{\"b\":1}",     false},
        { "a.b",                    "{'a':{'b':1}}",                                 "1",             false},
        { "a.b",                    "{'a':{'c':1}}",                                 "missing",       false},
        { "a.b",                    "{'a':5}",                                       "missing",       false},
        { "a.b",                    "{'a.b':5}",                                     "missing",       false},
        { "a.b.c",                  "{'a':{'b':{'c':7}}}",                           "7",             false},
        { "a",                      "{'a':[1,2]}",                                   "1 2",           true },
        { "a",                      "{'a':[1,1]}",                                   "1 1",           true },
        { "a",                      "{'a':[]}",                                      "undefined",     true },
        { "a",                      "{'a':[[]]}",                                    "[]",            true },
        { "a",                      "{'a':[[1,2],3]}",                               "[1,2] 3",       true },
        { "a.b",                    "{'a':[]}",                                      "missing",       true },
        { "a.b",                    "{'a':[{'b':1},{'b':2}]}",                       "1 2",           true },
        { "a.b",                    "{'a':{'b':[1,2]}}",                             "1 2",           true },
        { "a.b",                    "{'a':[{'b':[]}]}",                              "undefined",     true },
        { "a.b",                    "{'a':[{'b':[1,2]},{'b':3},{'c':1},5]}",         "1 2 3 missing", true },
        { "a.b",                    "{'a':[5,6,{'c':1},{'b':3}]}",                   "missing 3",     true },
        { "a.b",                    "{'a':[[{'b':1}]]}",                             "missing",       true },
        { "a.b.c",                  "{'a':[{'b':[{'c':1},{'c':2}]},{'b':{'c':3}}]}", "1 2 3",         true },
        { "a.0",                    "{'a':[7,8]}",                                   "7",             false},
        { "a.1",                    "{'a':[7,8]}",                                   "8",             false},
        { "a.2",                    "{'a':[7,8]}",                                   "missing",       true },
        { "a.0",                    "{'a':[]}",                                      "missing",       true },
        { "a.00",                   "{'a':[7,8]}",                                   "missing",       true },
        { "a.-1",                   "{'a':[7,8]}",                                   "missing",       true },
        { "a.99999999999999999999", "{'a':[7]}",                                     "missing",       true },
        { "a.0",                    "{'a':[[7,8]]}",                                 "7 8",           true },
        { "a.0",                    "{'a':[[]]}",                                    "undefined",     true },
        { "a.0",                    "{'a':{'0':5}}",                                 "5",             false},
        { "a.0",                    "{'a':[{'b':1}]}",                               "{\"b\":1}",     false},
        { "a.0.b",                  "{'a':[{'b':1},{'b':2}]}",                       "1",             false},
        { "a.0.b",                  "{'a':[[{'b':1}]]}",                             "1",             true },
        { "a.0.0",                  "{'a':[[7]]}",                                   "7",             false},
        { "a.0",                    "{'a':[{'0':5}]}",                               "{\"0\":5} 5",   true },
        { "a.1",                    "{'a':[{'1':5}]}",                               "5",             true },
        { "\xc3\xa9",               "{'\xc3\xa9':1}",                                "1",             false},
    };
    struct arena *arena = arena_open(BUDGET);

    EACH_ROW(rows, r) {
        bool is_through_array;
        const char *got = collect(arena, r->dotted, sample_json(arena, r->document),
                                  &is_through_array);
        CHECK_THAT(strcmp(got, r->want) == 0, "%s in %s is %s, want %s", r->dotted, r->document,
                   got, r->want);
        CHECK_EQ(is_through_array, r->is_through_array, "%s in %s", r->dotted, r->document);
    }
    arena_close(arena);
}

TEST(path, has_its_parts_and_keeps_them)
{
    struct arena *arena = arena_open(BUDGET);
    char text[] = "a.bc.0";
    const struct path *path = parse(arena, text);

    memset(text, 'x', sizeof(text));
    CHECK_EQ(path->count, 3, "");
    CHECK_TEXT(path->parts[0], "a");
    CHECK_TEXT(path->parts[1], "bc");
    CHECK_TEXT(path->parts[2], "0");
    arena_close(arena);
}

TEST(path, that_makes_no_sense_is_invalid)
{
    static const struct {
        bytes dotted;
        const char *message;
    } rows[] = {
        {BYTES_LITERAL(""),      "must not be empty"     },
        { BYTES_LITERAL("."),    "empty part at offset 0"},
        { BYTES_LITERAL(".a"),   "empty part at offset 0"},
        { BYTES_LITERAL("a."),   "empty part at offset 2"},
        { BYTES_LITERAL("a..b"), "empty part at offset 2"},
        { BYTES_LITERAL("a\0b"), "zero byte at offset 1" },
    };
    struct arena *arena = arena_open(BUDGET);
    const struct path *path;

    EACH_ROW(rows, r) {
        status s = path_parse(arena, r->dotted, &path);
        CHECK_EQ(s.code, INVALID, "%s", r->message);
        CHECK_THAT(strstr(s.message, r->message), "'%s' does not say '%s'", s.message, r->message);
        CHECK(path == NULL);
    }
    arena_close(arena);
}

TEST(path, is_bounded_in_parts_and_bytes)
{
    struct arena *arena = arena_open(BUDGET);
    const struct path *path;
    char dotted[LIMIT_PATH_BYTES + 1];

    memset(dotted, 'a', sizeof(dotted));
    CHECK_OK(path_parse(arena, bytes_of(dotted, LIMIT_PATH_BYTES), &path));
    CHECK_CODE(path_parse(arena, bytes_of(dotted, LIMIT_PATH_BYTES + 1), &path), INVALID);
    for (size_t i = 1; i < 2 * LIMIT_PATH_COMPONENTS; i += 2)
        dotted[i] = '.';
    CHECK_OK(path_parse(arena, bytes_of(dotted, 2 * LIMIT_PATH_COMPONENTS - 1), &path));
    CHECK_CODE(path_parse(arena, bytes_of(dotted, 2 * LIMIT_PATH_COMPONENTS + 1), &path), INVALID);
    arena_close(arena);
}

static bytes array_of_numbers(struct arena *arena, size_t count)
{
    struct buffer text = buffer_in(arena);
    bytes document;

    buffer_append_text(&text, "{\"a\":[0");
    for (size_t i = 1; i < count; i++)
        buffer_append_text(&text, ",1");
    buffer_append_text(&text, "]}");
    CHECK_OK(json_read(arena, bytes_of(text.data, text.len), &document));
    return document;
}

TEST(path, reaches_a_bounded_number_of_values)
{
    struct arena *arena = arena_open(BUDGET);
    struct path_values values;
    const struct path *path = parse(arena, "a");
    const struct path *past = parse(arena, "a.b");

    CHECK_OK(
        path_collect(arena, path, array_of_numbers(arena, LIMIT_ENTRIES_PER_DOCUMENT), &values));
    CHECK_EQ(values.count, LIMIT_ENTRIES_PER_DOCUMENT, "");
    bytes large = array_of_numbers(arena, LIMIT_ENTRIES_PER_DOCUMENT + 1);
    CHECK_CODE(path_collect(arena, path, large, &values), TOO_LARGE);
    CHECK_OK(path_collect(arena, past, large, &values));
    CHECK_EQ(values.count, 1, "elements that lead nowhere count once");
    arena_close(arena);
}

/* [{"0":[{"0": ...}]}] with a path of zeros: each level can be passed in two ways. */
TEST(path, takes_a_bounded_number_of_steps)
{
    struct arena *arena = arena_open(BUDGET);
    struct buffer text = buffer_in(arena);
    struct buffer dotted = buffer_in(arena);
    struct path_values values;
    const struct path *path;
    bytes document;

    buffer_append_text(&dotted, "0");
    buffer_append_text(&text, "{\"0\":");
    for (int i = 0; i < 60; i++)
        buffer_append_text(&text, "[{\"0\":");
    buffer_append_text(&text, "1");
    for (int i = 0; i < 60; i++) {
        buffer_append_text(&text, "}]");
        buffer_append_text(&dotted, ".0");
    }
    for (int i = 0; i < 30; i++)
        buffer_append_text(&dotted, ".0");
    buffer_append_text(&text, "}");
    CHECK_OK(json_read(arena, bytes_of(text.data, text.len), &document));
    CHECK_OK(path_parse(arena, bytes_of(dotted.data, dotted.len), &path));
    CHECK_CODE(path_collect(arena, path, document, &values), TOO_LARGE);
    arena_close(arena);
}

TEST(path, reports_when_the_arena_is_used_up)
{
    struct arena *arena = arena_open(BUDGET);
    struct arena *small = arena_open(256);
    struct path_values values;
    bytes document = array_of_numbers(arena, 1000);

    CHECK_CODE(path_collect(small, parse(arena, "a"), document, &values), OUT_OF_MEMORY);
    arena_close(small);
    arena_close(arena);
}
