/* Plans: which way a query takes to its documents, seen from what it says it did. */
#include "tests/support/ask.h"

static const char *access_name(enum query_access access)
{
    switch (access) {
    case ACCESS_NOTHING:
        return "nothing";
    case ACCESS_LIST:
        return "list";
    case ACCESS_FIGURES:
        return "figures";
    case ACCESS_POINT:
        return "point";
    case ACCESS_KEYS:
        return "keys";
    case ACCESS_INDEX:
        return "index";
    case ACCESS_SLOTS:
        return "slots";
    }
    return "?";
}

/* The way and what it took: "index /a/? rows=1 documents=1 given=1", with "sorted" where it had to. */
static const char *way_of(struct world *w, const char *sql, const struct asking *how)
{
    struct query_explain e;

    const char *answer = ask(w, "c", sql, how, &e);
    CHECK_THAT(answer[0] == '[', "%s: %s", sql, answer);
    return arena_format(w->arena, "%s%s%.*s%s rows=%d documents=%d given=%d", access_name(e.access),
                        e.path.len ? " " : "", (int)e.path.len, (const char *)e.path.data,
                        e.is_sorted ? " sorted" : "", (int)e.rows, (int)e.documents,
                        (int)e.output_count);
}

struct row {
    const char *sql;
    const char *want;
};

#define ROW(text, answer) \
    {                     \
        text, answer      \
    }

static void check_ways(struct world *w, const struct row *rows, size_t count,
                       const struct asking *how)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = way_of(w, rows[i].sql, how);
        CHECK_THAT(strcmp(got, rows[i].want) == 0, "%s\n  went %s\n  want %s", rows[i].sql, got,
                   rows[i].want);
    }
}

/* 40 documents in 4 partitions; n counts, g has two values, odd ones have tags. */
static void fill(struct world *w, const char *indexes)
{
    world_open(w, ON_MEMORY);
    world_collection_parted(w, "c", TTL_OFF, indexes, "pk");
    for (int i = 0; i < 40; i++) {
        const char *tags = i % 2 ? ",'tags':['t','u'],'o':{'x y':1}" : "";
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'pk':'p%d','n':%d,'g':'%s','big':%d%s}", i,
                                   i % 4, i, i < 20 ? "low" : "high", i * 1000, tags),
                      OK);
    }
}

TEST(query_plan, conditions_on_indexed_paths_use_the_index)
{
    static const struct row rows[] = {
        ROW("SELECT * FROM c WHERE c.n = 7", "index /n/? rows=1 documents=1 given=1"),
        ROW("SELECT * FROM c WHERE 7 = c.n", "index /n/? rows=1 documents=1 given=1"),
        ROW("SELECT * FROM c WHERE c.n > 35", "index /n/? rows=4 documents=4 given=4"),
        ROW("SELECT * FROM c WHERE 35 > c.n AND c.n >= 33",
            "index /n/? rows=2 documents=2 given=2"),
        ROW("SELECT * FROM c WHERE c.n BETWEEN 3 AND 5", "index /n/? rows=3 documents=3 given=3"),
        ROW("SELECT * FROM c WHERE c.n IN (3, 39, 500)", "index /n/? rows=2 documents=2 given=2"),
        ROW("SELECT * FROM c WHERE ARRAY_CONTAINS([39, 3, 'x', 3, 500], c.n)",
            "index /n/? rows=2 documents=2 given=2"),
        ROW("SELECT * FROM c WHERE c.n = 3 OR c.n < 2", "index /n/? rows=3 documents=3 given=3"),
        ROW("SELECT * FROM c WHERE (c.n = 3 AND c.g = 'x') OR c.n < 2",
            "index /n/? rows=3 documents=3 given=2"),
        ROW("SELECT * FROM c WHERE c.n = -1", "index /n/? rows=0 documents=0 given=0"),
        ROW("SELECT * FROM c WHERE STARTSWITH(c.g, 'hi')",
            "index /g/? rows=20 documents=20 given=20"),
        ROW("SELECT * FROM c WHERE c.g LIKE 'h%h'", "index /g/? rows=20 documents=20 given=20"),
        ROW("SELECT * FROM c WHERE c.o['x y'] = 1",
            "index /o/\"x y\"/? rows=20 documents=20 given=20"),
        ROW("SELECT * FROM c WHERE ARRAY_CONTAINS(c.tags, 'u')",
            "index /tags/[]/? rows=20 documents=20 given=20"),
        ROW("SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'u')",
            "index /tags/[]/? rows=20 documents=20 given=20"),
        ROW("SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t != '' AND 'w' = "
            "t)",
            "index /tags/[]/? rows=0 documents=0 given=0"),
        ROW("SELECT * FROM c WHERE EXISTS(SELECT COUNT(1) FROM t IN c.tags WHERE t = 'w')",
            "keys rows=40 documents=40 given=40"),
        ROW("SELECT * FROM c WHERE IS_STRING(c.g) AND c.n > 38",
            "index /n/? rows=1 documents=1 given=1"),
        ROW("SELECT * FROM c WHERE c.g = 'low' AND c.n = 39",
            "index /n/? rows=1 documents=1 given=0"),
        ROW("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 5", "index /n/? rows=5 documents=5 given=1"),
    };
    struct world w;

    fill(&w, "all: paths shaped +/*");
    check_ways(&w, rows, ARRAY_COUNT(rows), NULL);
    world_close(&w);
}

TEST(query_plan, what_no_index_holds_is_scanned)
{
    static const struct row rows[] = {
        ROW("SELECT * FROM c", "keys rows=40 documents=40 given=40"),
        ROW("SELECT * FROM c WHERE c.n != 7", "keys rows=40 documents=40 given=39"),
        ROW("SELECT * FROM c WHERE c.n + 0 = 7", "keys rows=40 documents=40 given=1"),
        ROW("SELECT * FROM c WHERE NOT (c.n > 7)", "keys rows=40 documents=40 given=8"),
        ROW("SELECT * FROM c WHERE c.n = 1 OR c.g = 'x'", "keys rows=40 documents=40 given=1"),
        ROW("SELECT * FROM c WHERE IS_DEFINED(c.o)", "keys rows=40 documents=40 given=20"),
        ROW("SELECT * FROM c WHERE c.tags = ['t','u']", "keys rows=40 documents=40 given=20"),
        ROW("SELECT * FROM c WHERE c.big > 38000", "keys rows=40 documents=40 given=1"),
        ROW("SELECT * FROM c WHERE c._ts = 0", "keys rows=40 documents=40 given=40"),
        ROW("SELECT VALUE 1 FROM c", "keys rows=40 documents=0 given=40"),
    };
    struct world w;

    fill(&w, "some: paths +/* -/big/?");
    check_ways(&w, rows, ARRAY_COUNT(rows), NULL);
    world_close(&w);
}

TEST(query_plan, the_partition_bounds_the_work)
{
    static const struct row rows[] = {
        ROW("SELECT * FROM c", "keys rows=10 documents=10 given=10"),
        ROW("SELECT VALUE COUNT(1) FROM c", "keys rows=10 documents=0 given=1"),
        ROW("SELECT * FROM c WHERE c.g = 'low'", "index /g/? rows=5 documents=5 given=5"),
        ROW("SELECT * FROM c WHERE c.n >= 0", "keys rows=10 documents=10 given=10"),
        ROW("SELECT * FROM c WHERE c._id = 1", "point rows=1 documents=1 given=1"),
        ROW("SELECT * FROM c WHERE c._id = 2", "point rows=1 documents=0 given=0"),
        ROW("SELECT * FROM c WHERE c._id IN (9, 5, 2, 5) AND c.n = 5",
            "point rows=3 documents=2 given=1"),
    };
    static const struct row named[] = {
        ROW("SELECT * FROM c WHERE c.pk = 'p1'", "keys rows=10 documents=10 given=10"),
        ROW("SELECT * FROM c WHERE c.pk = 'p1' AND c._id = 5", "point rows=1 documents=1 given=1"),
        ROW("SELECT * FROM c WHERE c._id = 5", "index /_id/? rows=1 documents=1 given=1"),
    };
    const struct asking in_p1 = { .partition = "['p1']" };
    struct world w;

    fill(&w, "all: paths shaped +/*");
    check_ways(&w, rows, ARRAY_COUNT(rows), &in_p1);
    check_ways(&w, named, ARRAY_COUNT(named), NULL);
    world_close(&w);
}

/* Calls of the storage that a query takes beside those for the rows and documents that it tells of. */
static uint64_t other_calls(struct world *w, const char *sql, const struct asking *how)
{
    struct query_explain e;

    storage_faulty_arm(w->storage, 0);
    CHECK(ask(w, "c", sql, how, &e)[0] == '[');
    CHECK_EQ(e.access, ACCESS_INDEX, "");
    CHECK(storage_faulty_calls(w->storage) > e.rows);
    return storage_faulty_calls(w->storage) - e.rows - e.documents;
}

/* Where an index holds all partitions, rows of others are passed over. */
TEST(query_plan, documents_of_other_partitions_are_not_read)
{
    enum { PARTITIONS = 4, DOCUMENTS = 1100 * PARTITIONS, A_FEW = 10 };
    const struct asking in_p1 = { .partition = "['p1']" };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, "c", TTL_OFF, "all: paths shaped +/*", "pk");
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'pk':'p%d','n':%d}", i, i % PARTITIONS, i),
                      OK);
    world_restart(&w); /* nobody remembers any document */
    const uint64_t few = other_calls(&w, "SELECT TOP 2 * FROM c WHERE c.n > 5", &in_p1);
    const uint64_t many = other_calls(&w, "SELECT TOP 100 * FROM c WHERE c.n > 5", &in_p1);
    CHECK_THAT(many <= few + A_FEW, "%d and %d calls", (int)few, (int)many);
    world_close(&w);
}

TEST(query_plan, order_comes_from_the_index_where_it_can)
{
    static const struct row rows[] = {
        ROW("SELECT * FROM c WHERE c.n > 30 ORDER BY c.n", "index /n/? rows=9 documents=9 given=9"),
        ROW("SELECT TOP 3 * FROM c WHERE c.n > 5 ORDER BY c.n DESC",
            "index /n/? rows=3 documents=3 given=3"),
        ROW("SELECT TOP 3 * FROM c ORDER BY c.n", "index /n/? rows=3 documents=3 given=3"),
        ROW("SELECT TOP 2 * FROM c WHERE c.n < 9 ORDER BY c.g",
            "index /n/? sorted rows=9 documents=11 given=2"),
        ROW("SELECT TOP 2 * FROM c WHERE c.n < 9 ORDER BY c.n, c.g",
            "index /n/? sorted rows=9 documents=11 given=2"),
        ROW("SELECT DISTINCT VALUE c.g FROM c WHERE c.n < 9 ORDER BY c.g",
            "index /n/? sorted rows=9 documents=10 given=1"),
    };
    struct world w;

    fill(&w, "all: paths shaped +/*");
    check_ways(&w, rows, ARRAY_COUNT(rows), NULL);
    CHECK_STRING(
        ask(&w, "c", "SELECT TOP 3 VALUE c.n FROM c WHERE c.n > 5 ORDER BY c.n DESC", NULL, NULL),
        "[39,38,37]");
    world_close(&w);
}

TEST(query_plan, counts_that_an_index_decides_load_no_document)
{
    static const struct row rows[] = {
        ROW("SELECT VALUE COUNT(1) FROM c WHERE c.n >= 3 AND c.n < 9",
            "index /n/? rows=6 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(c) FROM c WHERE c.n BETWEEN 3 AND 5",
            "index /n/? rows=3 documents=0 given=1"),
        ROW("SELECT COUNT(c.n) AS a, COUNT('x') AS b FROM c WHERE c.n IN (1, 2, 700)",
            "index /n/? rows=2 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE c.n = 1 OR c.n > 37",
            "index /n/? rows=3 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE STARTSWITH(c.g, 'lo')",
            "index /g/? rows=20 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE IS_NUMBER(c.o['x y'])",
            "index /o/\"x y\"/? rows=20 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.tags, 'u')",
            "index /tags/[]/? rows=20 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p1'", "keys rows=10 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p1' AND c.g = 'low'",
            "index /g/? rows=5 documents=0 given=1"),
        ROW("SELECT VALUE 7 FROM c WHERE c.n > 37", "index /n/? rows=2 documents=0 given=2"),
        ROW("SELECT TOP 1 VALUE 7 FROM c WHERE c.n > 36", "index /n/? rows=1 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS([1, 2, 700], c.n)",
            "index /n/? rows=2 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = "
            "'u')",
            "index /tags/[]/? rows=20 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE EXISTS(SELECT 1 FROM t IN c.tags WHERE 'u' = t)",
            "index /tags/[]/? rows=20 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE EXISTS(SELECT VALUE 1 FROM t IN c.tags WHERE t = "
            "'u') AND c.g = 'low'",
            "index /tags/[]/? rows=20 documents=20 given=1"),
    };
    const struct asking in_p1 = { .partition = "['p1']" };
    struct world w;

    fill(&w, "all: paths shaped +/*");
    check_ways(&w, rows, ARRAY_COUNT(rows), NULL);
    CHECK_STRING(ask(&w, "c", rows[0].sql, NULL, NULL), "[6]");
    CHECK_STRING(ask(&w, "c", rows[2].sql, NULL, NULL), "[{\"a\":2,\"b\":2}]");
    CHECK_STRING(ask(&w, "c", rows[7].sql, NULL, NULL), "[10]");
    CHECK_STRING(ask(&w, "c", rows[7].sql, &in_p1, NULL), "[10]");
    CHECK_STRING(ask(&w, "c", rows[8].sql, &in_p1, NULL), "[5]");
    world_close(&w);
}

/* Whatever the index cannot tell is still asked of the documents. */
TEST(query_plan, counts_that_an_index_does_not_decide_look_at_documents)
{
    static const struct {
        const char *condition, *want;
    } rows[] = {
        {"c.n > 35 AND c.g = 'high' AND c.big < 38000",                             "[2]" },
        { "c.n < 9 AND c.n != 3",                                                   "[8]" },
        { "c.n < 9 OR c.g = 'high'",                                                "[29]"},
        { "(c.n < 9 AND c.g = 'low') OR c.n = 39",                                  "[10]"},
        { "c.g LIKE 'h%h'",                                                         "[20]"},
        { "c.g LIKE 'h%x'",                                                         "[0]" },
        { "EXISTS(SELECT VALUE t.x FROM t IN c.tags WHERE t = 'u')",                "[0]" },
        { "EXISTS(SELECT VALUE undefined FROM t IN c.tags WHERE t = 'u')",          "[0]" },
        { "EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'u' AND c.n > 37)",     "[1]" },
        { "EXISTS(SELECT VALUE t FROM t IN c.tags JOIN u IN c.none WHERE t = 'u')", "[0]" },
        { "STARTSWITH(c.g, 'LO', true)",                                            "[20]"},
        { "STARTSWITH(c.g, 'lo', null)",                                            "[0]" },
        { "ARRAY_CONTAINS(c.tags, 't', null)",                                      "[0]" },
        { "ARRAY_CONTAINS(c.tags, 't') AND c.n > 36",                               "[2]" },
        { "c.n >= 0 AND IS_DEFINED(c.o)",                                           "[20]"},
        { "NOT (c.n < 35)",                                                         "[5]" },
        { "c.pk = 'p1' AND c.n > 30 AND c._ts >= 0",                                "[2]" },
    };
    const struct asking in_p2 = { .partition = "['p2']" };
    struct world w;

    fill(&w, "all: paths shaped +/*");
    EACH_ROW(rows, r) {
        const char *sql = arena_format(w.arena, "SELECT VALUE COUNT(1) FROM c WHERE %s",
                                       r->condition);
        const char *got = ask(&w, "c", sql, NULL, NULL);
        CHECK_THAT(strcmp(got, r->want) == 0, "%s: %s, want %s", sql, got, r->want);
    }
    /* The scope and the condition name different partitions. */
    CHECK_STRING(ask(&w, "c", "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'p1'", &in_p2, NULL),
                 "[0]");
    world_close(&w);
}

TEST(query_plan, counts_by_index_leave_the_dead_out)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, "all: paths shaped +/*");
    for (int i = 0; i < 30; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':%d%s}", i, i, i % 3 ? "" : ",'ttl':5"),
                      OK);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE COUNT(1) FROM c WHERE c.n < 12", NULL, NULL), "[12]");
    world_pass(&w, 5000);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE COUNT(1) FROM c WHERE c.n < 12", NULL, NULL), "[8]");
    CHECK_STRING(way_of(&w, "SELECT VALUE COUNT(1) FROM c WHERE c.n < 12", NULL),
                 "index /n/? rows=8 documents=0 given=1");
    world_close(&w);
}

TEST(query_plan, of_fields_with_one_name_only_the_first_counts)
{
    static const char *const questions[] = {
        "SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0",
        "SELECT VALUE COUNT(1) FROM c WHERE c.n = 2",
        "SELECT VALUE COUNT(1) FROM c WHERE c.o.y = 2",
        "SELECT VALUE c._id FROM c WHERE c.n >= 0 ORDER BY c.n",
        "SELECT VALUE c._id FROM c WHERE c.many = 2",
    };
    struct buffer many;
    struct world w;
    bytes text;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "indexed", TTL_OFF, "all: paths shaped +/*");
    world_collection(&w, "plain", TTL_OFF, "");
    many = buffer_in(w.arena);
    for (int i = 0; i < 50; i++)
        buffer_append_text(&many, arena_format(w.arena, ",'f%d':%d", i, i));
    CHECK_OK(buffer_finish(&many, &text));
    for (int i = 0; i < 2; i++) {
        const char *collection = i ? "indexed" : "plain";
        CHECK_WRITTEN(world_insert(&w, collection, "{'_id':1,'n':1,'n':2,'o':{'x':1},'o':{'y':2}}"),
                      OK);
        CHECK_WRITTEN(world_insert(&w, collection, "{'_id':2,'n':0}"), OK);
        CHECK_WRITTEN(world_insert(&w, collection, "{'_id':3,'many':1%.*s,'many':2}", (int)text.len,
                                   (const char *)text.data),
                      OK);
    }
    for (size_t i = 0; i < ARRAY_COUNT(questions); i++)
        CHECK_STRING(ask(&w, "indexed", questions[i], NULL, NULL),
                     ask(&w, "plain", questions[i], NULL, NULL));
    CHECK_STRING(ask(&w, "indexed", questions[0], NULL, NULL), "[2]");
    world_close(&w);
}

TEST(query_plan, counting_all_looks_at_no_row)
{
    static const struct row rows[] = {
        ROW("SELECT VALUE COUNT(1) FROM c", "figures rows=0 documents=0 given=1"),
        ROW("SELECT COUNT(1) AS n, COUNT('x') AS m FROM c", "figures rows=0 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(c) FROM c", "figures rows=0 documents=0 given=1"),
        ROW("SELECT VALUE COUNT(c.n) FROM c", "slots rows=40 documents=40 given=1"),
        ROW("SELECT * FROM c WHERE c.n = undefined", "nothing rows=0 documents=0 given=0"),
        ROW("SELECT * FROM c WHERE c.n > 5 AND c.n < 2", "nothing rows=0 documents=0 given=0"),
        ROW("SELECT * FROM c WHERE false", "nothing rows=0 documents=0 given=0"),
        ROW("SELECT VALUE COUNT(1) FROM c WHERE c.n = 1 AND c.n = 2",
            "nothing rows=0 documents=0 given=1"),
    };
    struct world w;

    fill(&w, "all: paths shaped +/*");
    check_ways(&w, rows, ARRAY_COUNT(rows), NULL);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE COUNT(1) FROM c", NULL, NULL), "[40]");
    world_close(&w);
}

TEST(query_plan, an_index_that_is_not_ready_is_not_used)
{
    struct world w;

    fill(&w, "");
    CHECK_OK(world_index(&w, "c", "all: paths shaped +/*"));
    CHECK_STRING(way_of(&w, "SELECT * FROM c WHERE c.n = 7", NULL),
                 "keys rows=40 documents=40 given=1");
    CHECK_OK(engine_build_indexes(w.engine));
    CHECK_STRING(way_of(&w, "SELECT * FROM c WHERE c.n = 7", NULL),
                 "index /n/? rows=1 documents=1 given=1");
    world_close(&w);
}

TEST(query_plan, sums_over_much_of_a_collection_read_it_as_it_lies)
{
    static const struct row rows[] = {
        ROW("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 100",
            "index /n/? rows=100 documents=100 given=1"),
        ROW("SELECT VALUE SUM(c.n) FROM c WHERE c.n < 600",
            "slots rows=1200 documents=1200 given=1"),
        ROW("SELECT TOP 1 VALUE c.n FROM c WHERE c.n > 600 ORDER BY c.g, c.n",
            "slots sorted rows=1200 documents=1201 given=1"),
        ROW("SELECT VALUE SUM(c.n) FROM c", "slots rows=1200 documents=1200 given=1"),
    };
    const struct asking little = { .rows = 100 };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths shaped +/*");
    for (int i = 0; i < 1200; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':%d,'g':%d}", i, i, i % 7), OK);
    check_ways(&w, rows, ARRAY_COUNT(rows), NULL);
    CHECK_STRING(ask(&w, "c", "SELECT VALUE SUM(1) FROM c WHERE c.n < 600", NULL, NULL), "[600]");
    CHECK_STRING(ask(&w, "c", "SELECT VALUE SUM(c.n) FROM c WHERE c.n < 600", &little, NULL),
                 "[179700]");
    CHECK_STRING(way_of(&w, "SELECT VALUE SUM(c.n) FROM c WHERE c.n < 600", &little),
                 "index /n/? rows=600 documents=600 given=1");
    world_close(&w);
}
