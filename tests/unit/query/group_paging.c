/* Paging over groups: however small the pages are and whatever happens between them, each group comes once, and
 * a page holds no more groups than it needs. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { GROUPS = 3000, LONG_GROUPS = 40, PAGES_MAX = 4000 };

static void insert_groups(struct world *w, int count, int rows)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_NEVER, "");
    for (int i = 0; i < count * rows; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'g':%d,'n':%d}", i, i % count, i / count),
                      OK);
}

static void insert_groups_indexed(struct world *w, int count, int rows)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_NEVER, "all: paths shaped +/*");
    for (int i = 0; i < count * rows; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'g':%d,'n':%d}", i, i % count, i / count),
                      OK);
}

/* Asks page by page; `between` happens after each. Counts how often each group came. */
static int ask_groups(struct world *w, const char *sql, size_t items, unsigned *seen,
                      void (*between)(struct world *w, int page))
{
    bytes state = BYTES_NONE;
    int pages = 0;

    for (; pages == 0 || state.len; pages++) {
        struct asking how = { .items = items };
        struct request request = world_begin(w);
        struct buffer rows = buffer_in(w->arena);
        struct query_page page;
        CHECK(pages < PAGES_MAX);
        CHECK_OK(ask_page(w, &request, "c", sql, &how, &state, &rows, &page));
        CHECK(page.explain.output_count <= items);
        CHECK(page.state.len <= 1024);
        world_end(&request);
        buffer_append_byte(&rows, 0);
        for (char *at = (char *)rows.data; *at;) {
            long group = strtol(at, &at, 10);
            CHECK(group >= 0 && group < GROUPS);
            seen[group]++;
            at += *at == ',';
        }
        if (between)
            between(w, pages);
    }
    return pages;
}

TEST(query_group_paging, more_groups_than_a_page_holds_come_each_once)
{
    LONG_ON_ONE_THREAD();
    static const char *const queries[] = {
        "SELECT VALUE c.g FROM c GROUP BY c.g",
        "SELECT VALUE c.g FROM c GROUP BY c.g ORDER BY c.g DESC",
        "SELECT VALUE c.g FROM c GROUP BY c.g ORDER BY c.g % 7, SUM(c.n)",
        "SELECT DISTINCT VALUE c.g FROM c GROUP BY c.g, c.n",
        "SELECT DISTINCT VALUE c.g FROM c",
    };
    struct world w;

    insert_groups(&w, GROUPS, 2);
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        unsigned seen[GROUPS] = { 0 };
        CHECK_EQ(ask_groups(&w, queries[i], 700, seen, NULL), 5, "%s", queries[i]);
        for (int g = 0; g < GROUPS; g++)
            CHECK_EQ(seen[g], 1, "%s: group %d", queries[i], g);
    }
    world_close(&w);
}

TEST(query_group_paging, sums_of_groups_behind_the_page_are_whole_when_they_come)
{
    LONG_ON_ONE_THREAD();
    struct world w;
    struct asking how = { .items = 64 };

    insert_groups(&w, GROUPS, 3);
    const char *got = ask(&w, "c", "SELECT VALUE SUM(c.n) FROM c GROUP BY c.g", &how, NULL);
    size_t rows = 0;
    for (const char *at = got; *at; at++)
        rows += *at == '3' && (at[1] == ',' || at[1] == ']');
    CHECK_EQ(rows, GROUPS, "%.80s", got);
    world_close(&w);
}

/* Values of all scalar kinds, each several times, and documents without one. */
static void insert_kinds(struct world *w, const char *index)
{
    static const char *const values[] = {
        "null", "false", "true", "-3", "2.5", "7", "'a'", "'a b'"
    };

    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_NEVER, index);
    for (int i = 0; i < 900; i++) {
        const char *value = i % 9 < 8 ? values[i % 9] : "'more'";
        if (i % 50 == 0)
            CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'h':%d,'n':1}", i, i % 4), OK);
        else if (i % 3 == 0)
            CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'g':%d,'h':%d,'n':1}", i, i % 300, i % 4),
                          OK);
        else
            CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'g':%s,'h':%d,'n':1}", i, value, i % 4),
                          OK);
    }
}

TEST(query_group_paging, later_pages_are_read_from_an_index_with_the_same_groups)
{
    LONG_ON_ONE_THREAD();
    static const char *const queries[] = {
        "SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g",
        "SELECT c.g, c.h, SUM(c.n) AS s FROM c GROUP BY c.g, c.h",
        "SELECT c.g, COUNT(1) AS k FROM c WHERE c.h > 1 GROUP BY c.g",
        "SELECT c.g, c.h, COUNT(1) AS k FROM c GROUP BY c.h, c.g",
        "SELECT DISTINCT VALUE c.g FROM c",
        "SELECT DISTINCT c.g, c.h, c.g || 'x' AS x FROM c",
    };
    struct world scanned, indexed;

    insert_kinds(&scanned, "");
    insert_kinds(&indexed, "all: paths shaped +/*");
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        const char *want = ask(&scanned, "c", queries[i], NULL, NULL);
        for (size_t items = 1; items < 40; items += 9) {
            struct asking how = { .items = items };
            struct query_explain e;
            CHECK_STRING(ask(&scanned, "c", queries[i], &how, NULL), want);
            CHECK_STRING(ask(&indexed, "c", queries[i], &how, &e), want);
            CHECK_THAT(e.access == ACCESS_INDEX || items > 1, "%s", queries[i]);
        }
    }
    world_close(&scanned);
    world_close(&indexed);
}

TEST(query_group_paging, arrays_and_objects_are_not_lost_to_an_index)
{
    struct world w;
    struct asking how = { .items = 5 };

    insert_kinds(&w, "all: paths shaped +/*");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2000,'g':[1],'h':1,'n':1}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2001,'g':{'x':1},'h':1,'n':1}"), OK);
    CHECK_STRING(ask(&w, "c", "SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g", &how, NULL),
                 ask(&w, "c", "SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g", NULL, NULL));
    world_close(&w);
}

TEST(query_group_paging, a_page_from_an_index_looks_at_its_own_rows_only)
{
    struct world w;
    struct asking how = { .items = 10 };
    struct query_explain e;

    insert_groups_indexed(&w, 400, 3);
    ask(&w, "c", "SELECT VALUE c.g FROM c GROUP BY c.g", &how, &e);
    CHECK_THAT(e.rows < 5 * 1200 + 40 * 50, "%d rows for 40 pages of 1200 documents", (int)e.rows);
    world_close(&w);
}

/* Takes the rows of two groups away, one that came and one that did not, and brings a new row for both. */
static void change(struct world *w, int page)
{
    int id = page * 5;

    if (id < LONG_GROUPS)
        CHECK_WRITTEN(world_delete(w, "c", "{'_id':%d}", id), OK);
    if (id + 1 < LONG_GROUPS)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'g':%d,'n':0}", 1000 + id, id + 1), OK);
}

TEST(query_group_paging, groups_that_stay_come_once_while_others_come_and_go)
{
    static const char *const queries[] = {
        "SELECT VALUE c.g FROM c GROUP BY c.g",
        "SELECT VALUE c.g FROM c GROUP BY c.g ORDER BY c.g DESC",
        "SELECT DISTINCT VALUE c.g FROM c GROUP BY c.g, c.n",
        "SELECT DISTINCT VALUE c.g FROM c",
        "SELECT VALUE x FROM (SELECT DISTINCT VALUE c.g FROM c) AS x",
        "SELECT VALUE x.g FROM (SELECT c.g FROM c GROUP BY c.g) AS x ORDER BY x.g DESC",
    };

    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        unsigned seen[GROUPS] = { 0 };
        struct world w;
        insert_groups(&w, LONG_GROUPS, 1);
        ask_groups(&w, queries[i], 3, seen, change);
        for (int g = 0; g < LONG_GROUPS; g++)
            CHECK_THAT(seen[g] == 1 || (g % 5 == 0 && seen[g] == 0), "%s: group %d came %u times",
                       queries[i], g, seen[g]);
        world_close(&w);
    }
}

TEST(query_group_paging, long_keys_are_told_apart_and_fit_into_the_state)
{
    struct world w;
    struct asking how = { .items = 1 };
    char tail[3001];

    memset(tail, 'x', 3000);
    tail[3000] = 0;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, "");
    for (int i = 0; i < 6; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'g':'%s%d','h':'%s'}", i, tail, i % 3, tail),
                      OK);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE COUNT(1) FROM c GROUP BY c.g, c.h, c.none", &how, NULL),
                 "[2,2,2]");
    world_close(&w);
}

TEST(query_group_paging, equal_rows_of_a_subquery_come_as_often_as_they_are_there)
{
    struct world w;

    insert_groups(&w, LONG_GROUPS, 2);
    for (size_t items = 1; items < 2 * LONG_GROUPS; items += 7) {
        struct asking how = { .items = items };
        const char *got = ask(&w, "c",
                              "SELECT VALUE x FROM (SELECT VALUE COUNT(1) FROM c GROUP BY c.g) x",
                              &how, NULL);
        CHECK_EQ(strlen(got), 2 * LONG_GROUPS + 1, "%s", got);
    }
    world_close(&w);
}

TEST(query_group_paging, lists_that_do_not_fit_are_refused)
{
    LONG_ON_ONE_THREAD();
    struct world w;
    struct buffer text;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, "");
    text = buffer_in(w.arena);
    buffer_append_text(&text, "{'_id':1,'a':[0");
    for (int i = 1; i < 2000; i++)
        buffer_append_format(&text, ",%d", i);
    buffer_append_text(&text, "]}");
    buffer_append_byte(&text, 0);
    CHECK_WRITTEN(world_insert(&w, "c", "%s", (const char *)text.data), OK);
    const char *got = ask(&w, "c",
                          "SELECT MAKELIST([x, x, x, x, x, x]) AS l FROM c JOIN x IN c.a JOIN y IN "
                          "c.a GROUP BY c._id",
                          NULL, NULL);
    CHECK_STRING(got, "TOO_LARGE: the groups of the query and what is kept for them take more than "
                      "67108864 bytes, the limit: group by fewer different values, or list less");
    world_close(&w);
}
