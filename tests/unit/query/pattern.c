/* Patterns: matches whose beginning the pattern itself has moved. */
#include "query/pattern.h"

#include "tests/check.h"

/* \\K is refused where it stands in such a look, and can be reached there all the same. */
static const char *const detours[] = {
    "(?(DEFINE)(?<k>\\K))(?=a(?&k))",
    "(?(DEFINE)(?<k>\\K))a(?=b(?&k))",
    "(?(DEFINE)(?<k>\\K))(?<=(?&k)a)b",
};

static const struct pattern *compile(struct arena *arena, const char *text)
{
    const struct pattern *pattern;
    struct pattern_error error;

    CHECK_OK(pattern_compile(arena, bytes_of_text(text), BYTES_NONE, &pattern, &error));
    return pattern;
}

/* Whatever they are answered with, it lies within the text and goes on. */
static void check_groups(struct arena *arena, const struct pattern *pattern, bytes text)
{
    struct pattern_groups groups;

    for (size_t from = 0; from <= text.len; from++) {
        if (pattern_groups(pattern, arena, text, from, &groups).code != OK || groups.count == 0)
            continue;
        CHECK(groups.places[0].start >= from);
        CHECK(groups.places[0].start <= groups.places[0].end);
        CHECK(groups.places[0].end <= text.len);
    }
}

static void check_search(struct arena *arena, const struct pattern *pattern, bytes text)
{
    struct pattern_place place, group;
    struct pattern_search *search;
    size_t behind = 0, count = 0;

    CHECK_OK(pattern_search_begin(pattern, arena, text, &search));
    while (pattern_search_next(search, 0, &place, &group).code == OK && place.is_found) {
        CHECK(place.start >= behind);
        CHECK(place.start <= place.end);
        behind = place.end;
        CHECK(++count <= 2 * text.len + 2);
    }
}

TEST(pattern, a_match_never_ends_before_it_begins_nor_begins_before_the_search)
{
    struct arena *arena = arena_open(8 << 20);

    for (size_t i = 0; i < ARRAY_COUNT(detours); i++) {
        const struct pattern *pattern = compile(arena, detours[i]);
        if (!pattern)
            continue; /* a library that refuses it */
        check_groups(arena, pattern, BYTES_LITERAL("ababab"));
        check_search(arena, pattern, BYTES_LITERAL("ababab"));
    }
    arena_close(arena);
}

TEST(pattern, an_empty_match_is_followed_by_others_until_the_end)
{
    const struct {
        const char *pattern;
        size_t count;
    } rows[] = {
        {"",    3},
        { "|a", 4},
        { "a*", 3},
        { "b",  1},
    };
    struct arena *arena = arena_open(8 << 20);

    EACH_ROW(rows, r) {
        struct pattern_place place, group;
        struct pattern_search *search;
        size_t count = 0;
        CHECK_OK(
            pattern_search_begin(compile(arena, r->pattern), arena, BYTES_LITERAL("ab"), &search));
        for (;; count++) {
            CHECK_OK(pattern_search_next(search, 0, &place, &group));
            if (!place.is_found)
                break;
        }
        CHECK_EQ(count, r->count, "%s", r->pattern);
    }
    arena_close(arena);
}
