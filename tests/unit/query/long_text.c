/* Texts that are longer than an index holds them: the index leads to them all the same. */
#include "tests/support/ask.h"

#include <stdio.h>

enum { LONGEST = LIMIT_INDEXED_TEXT_BYTES + 18000 };

/* `len` times 'a', then the tail. */
static const char *long_text(struct world *w, size_t len, const char *tail)
{
    void *text;

    CHECK_OK(arena_take(w->arena, len + strlen(tail) + 1, &text));
    memset(text, 'a', len);
    memcpy((char *)text + len, tail, strlen(tail) + 1);
    return text;
}

static void fill(struct world *w)
{
    static const size_t lengths[] = { 0,
                                      1,
                                      LIMIT_INDEXED_TEXT_BYTES - 1,
                                      LIMIT_INDEXED_TEXT_BYTES,
                                      LIMIT_INDEXED_TEXT_BYTES + 1,
                                      LONGEST };
    static const char *const tails[] = { "", "b", "Z" };
    int id = 0;

    world_open(w, ON_MEMORY);
    world_collection(w, "indexed", TTL_OFF, "p: paths +/*");
    world_collection(w, "plain", TTL_OFF, "");
    for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(tails); j++, id++) {
            const char *text = long_text(w, lengths[i], tails[j]);
            CHECK_WRITTEN(world_insert(w, "indexed", "{'_id':%d,'t':'%s'}", id, text), OK);
            CHECK_WRITTEN(world_insert(w, "plain", "{'_id':%d,'t':'%s'}", id, text), OK);
        }
    }
}

TEST(query_long_text, comparisons_through_the_index_find_what_a_scan_finds)
{
    static const char *const conditions[] = {
        "c.t = @v",  "c.t < @v",          "c.t <= @v",           "c.t > @v",
        "c.t >= @v", "c.t IN (@v, 'ab')", "STARTSWITH(c.t, @v)", "c.t BETWEEN '' AND @v",
    };
    static const size_t lengths[] = { 1, LIMIT_INDEXED_TEXT_BYTES - 1, LIMIT_INDEXED_TEXT_BYTES,
                                      LIMIT_INDEXED_TEXT_BYTES + 1, LONGEST };
    struct query_explain e;
    struct world w;

    fill(&w);
    for (size_t i = 0; i < ARRAY_COUNT(conditions); i++) {
        for (size_t j = 0; j < 2 * ARRAY_COUNT(lengths); j++) {
            const char *value = long_text(&w, lengths[j / 2], j % 2 ? "b" : "");
            const char *parameters = arena_format(w.arena, "[{'name':'@v','value':'%s'}]", value);
            const char *sql = arena_format(
                w.arena, "SELECT VALUE c._id FROM c WHERE %s ORDER BY c._id", conditions[i]);
            struct asking how = { .parameters = parameters };
            const char *want = ask(&w, "plain", sql, &how, &e);
            const char *got = ask(&w, "indexed", sql, &how, &e);
            CHECK_EQ(e.access, ACCESS_INDEX, "%s", sql);
            CHECK_THAT(strcmp(got, want) == 0, "%s with %zu: %s, want %s", sql, lengths[j / 2], got,
                       want);
            sql = arena_format(w.arena, "SELECT VALUE COUNT(1) FROM c WHERE %s", conditions[i]);
            CHECK_STRING(ask(&w, "indexed", sql, &how, &e), ask(&w, "plain", sql, &how, &e));
        }
    }
    world_close(&w);
}
