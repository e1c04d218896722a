/* Order: what an index has in order is given straight from it, also documents that have nothing there. */
#include "tests/support/ask.h"

#include <stdio.h>
#include <stdlib.h>

#define SHAPED "all: paths shaped +/*"

/* One page: rows into `rows`, the way as text. */
static const char *page_way(struct world *w, const char *sql, const struct asking *how,
                            bytes *state, struct buffer *rows)
{
    struct request request = world_begin(w);
    struct query_page page;

    CHECK_OK(ask_page(w, &request, "c", sql, how, state, rows, &page));
    world_end(&request);
    return page.explain.is_sorted                  ? "sorted "
           : page.explain.access == ACCESS_INDEX   ? "index "
           : page.explain.access == ACCESS_NOTHING ? "nothing "
                                                   : "other ";
}

/* Reads a query page by page; the ways of its pages as text, and the values in `rows`. */
static const char *ways_of(struct world *w, const char *sql, struct buffer *rows)
{
    const struct asking how = { .items = 40 };
    struct buffer ways = buffer_in(w->arena);
    bytes state = BYTES_NONE;

    do {
        buffer_append_text(&ways, page_way(w, sql, &how, &state, rows));
    } while (state.len);
    buffer_append_byte(&ways, 0);
    buffer_append_byte(rows, 0);
    return (const char *)ways.data;
}

/* Ids go the other way, and of each kind there are some; two documents share each number. */
static void fill(struct world *w, enum backing backing)
{
    world_open(w, backing);
    world_collection(w, "c", TTL_NEVER, SHAPED);
    for (int i = 159; i >= 0; i--) {
        const char *v = i < 4     ? ""
                        : i < 6   ? ",'v':null"
                        : i < 10  ? (i < 8 ? ",'v':false" : ",'v':true")
                        : i < 110 ? arena_format(w->arena, ",'v':%d", i / 2)
                                  : arena_format(w->arena, ",'v':'s%d'", i);
        const char *other = i % 3 ? ",'x':1" : ",'o':{'x':1}";
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'k':%d%s%s}", i, i, v, other), OK);
    }
}

static const char *list_of(struct arena *arena, int first, int step)
{
    struct buffer list = buffer_in(arena);

    for (int i = 0; i < 160; i++)
        buffer_append_format(&list, "%s%d", i ? "," : "", first + i * step);
    buffer_append_byte(&list, 0);
    return (const char *)list.data;
}

TEST(query_order, an_index_gives_all_documents_in_order)
{
    struct world w;

    fill(&w, ON_MEMORY);
    struct buffer up = buffer_in(w.arena), down = buffer_in(w.arena), more = buffer_in(w.arena);
    CHECK_STRING(ways_of(&w, "SELECT VALUE c.k FROM c ORDER BY c.v", &up),
                 "index index index index ");
    /* Of the documents without a value those of one shape come first, whichever it is. */
    CHECK_STRING(strchr((const char *)up.data, '4'), strchr(list_of(w.arena, 0, 1), '4'));
    CHECK_STRING(ways_of(&w, "SELECT VALUE c.k FROM c ORDER BY c.v DESC", &down),
                 "index index index index ");
    const char *want = list_of(w.arena, 159, -1);
    CHECK_THAT(strncmp((const char *)down.data, want, strlen(want) - strlen("3,2,1,0")) == 0, "%s",
               (const char *)down.data);
    /* No index has the order of arrays and documents. */
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':500,'v':{}}"), OK);
    CHECK_STRING(ways_of(&w, "SELECT VALUE c.k FROM c ORDER BY c.v", &more),
                 "sorted sorted sorted sorted sorted ");
    CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':500,'v':1,'ttl':1}"), OK);
    world_pass(&w, 1000);
    more.len = 0;
    CHECK_STRING(ways_of(&w, "SELECT VALUE c.k FROM c ORDER BY c.v", &more),
                 "index index index index ");
    world_close(&w);
}

TEST(query_order, the_first_rows_of_an_order_look_at_few)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT TOP 3 VALUE c.v FROM c ORDER BY c.v DESC",                   "['s159','s158','s157']"  },
        { "SELECT TOP 5 c.v FROM c ORDER BY c.v",                             "[{},{},{},{},{'v':null}]"},
        { "SELECT VALUE c.v FROM c ORDER BY c.v OFFSET 10 LIMIT 3",           "[7,7,8]"                 },
        { "SELECT TOP 2 VALUE c.v FROM c WHERE c.k > 20 ORDER BY c.v",        "[10,11]"                 },
        { "SELECT TOP 2 VALUE c.v FROM c WHERE c.k != 159 ORDER BY c.v DESC", "['s158','s157']"         },
    };
    struct query_explain e;
    struct world w;

    fill(&w, ON_MEMORY);
    EACH_ROW(rows, r) {
        char want[64];
        snprintf(want, sizeof(want), "%s", r->want);
        for (char *c = want; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        CHECK_STRING(ask(&w, "c", r->sql, NULL, &e), want);
        CHECK_THAT(e.access == ACCESS_INDEX && !e.is_sorted && e.rows < 32, "%s: %d rows", r->sql,
                   (int)e.rows);
    }
    world_close(&w);
}

/* Rows as clients ask for them that merge those of several ranges: by age where the order leaves them equal. */
static void check_ties(struct world *w, const char *order, int step)
{
    const char *sql = arena_format(w->arena,
                                   "SELECT c._ts AS _rid, [{'item': c.g}] AS orderByItems, c.k AS "
                                   "payload FROM c WHERE ((true)) ORDER BY %s",
                                   order);
    const struct asking how = { .items = 7 };
    int seen = 0, last = 0, group_last = 0;
    bytes state = BYTES_NONE;
    uint64_t documents = 0;

    do {
        struct buffer rows = buffer_in(w->arena);
        struct request request = world_begin(w);
        struct query_page page;
        CHECK_OK(ask_page(w, &request, "c", sql, &how, &state, &rows, &page));
        world_end(&request);
        buffer_append_byte(&rows, 0);
        for (const char *at = (const char *)rows.data; (at = strstr(at, "\"payload\":")); seen++) {
            int k = atoi(at += strlen("\"payload\":")), group = k / 20;
            CHECK_THAT(seen == 0 || (group - group_last) * step >= 0, "%d after %d", k, last);
            CHECK_THAT(seen == 0 || group != group_last || (k - last) * step < 0, "%d after %d", k,
                       last);
            last = k;
            group_last = group;
        }
        documents += page.explain.documents;
    } while (state.len);
    CHECK_EQ(seen, 160, "%s", order);
    CHECK_THAT(documents < 160 * 8, "%llu documents were loaded", (unsigned long long)documents);
}

TEST(query_order, equal_rows_of_a_clients_plan_come_by_age_and_few_are_looked_at)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_NEVER, SHAPED "; both: ranked g same");
    for (int i = 159; i >= 0; i--)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'k':%d,'same':1%s}", i * 7 % 160, i,
                                   i < 20 ? "" : arena_format(w.arena, ",'g':%d", i / 20)),
                      OK);
    check_ties(&w, "c.g ASC", 1);
    check_ties(&w, "c.g DESC", -1);
    check_ties(&w, "c.g, c.same", 1);
    check_ties(&w, "c.g DESC, c.same DESC", -1);
    world_close(&w);
}

TEST(query_order, a_condition_that_few_fulfil_is_sorted)
{
    struct query_explain e;
    struct world w;

    fill(&w, ON_MEMORY);
    CHECK_STRING(
        ask(&w, "c", "SELECT TOP 2 VALUE c.k FROM c WHERE c.k = 150 ORDER BY c.v", NULL, &e),
        "[150]");
    CHECK(e.is_sorted);
    CHECK_STRING(
        ask(&w, "c", "SELECT TOP 2 VALUE c.k FROM c WHERE c.k + 1 = 151 ORDER BY c.v", NULL, &e),
        "[150]");
    CHECK(e.is_sorted);
    world_close(&w);
}

TEST(query_order, many_shapes_are_sorted)
{
    struct query_explain e;
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, SHAPED);
    for (int i = 0; i < 40; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'v':%d,'own%d':1}", i, -i, i), OK);
    CHECK_STRING(ask(&w, "c", "SELECT TOP 3 VALUE c._id FROM c ORDER BY c.v", NULL, &e),
                 "[39,38,37]");
    CHECK(e.is_sorted);
    world_close(&w);
}

/* ---- shapes that are remembered ---------------------------------------------------------------------- */

/* The same happens to a document of c, which has an index, and of d, which has none. */
static void happen_to_both(struct world *w, struct random *random)
{
    static const char *const values[] = { "",          ",'v':1",       ",'v':'a'",
                                          ",'v':null", ",'v':[1]",     ",'v':{'x':1}",
                                          ",'w':1",    ",'v':2,'w':1", ",'v':true" };
    int id = (int)random_below(random, 12);
    const char *value =
        values[random_below(random, random_below(random, 3) ? 4 : ARRAY_COUNT(values))];
    const char *ttl = random_below(random, 3) ? "" : ",'ttl':2";
    bool is_delete = random_below(random, 4) == 0;

    for (const char *name = "c"; name; name = *name == 'c' ? "d" : NULL) {
        if (is_delete)
            (void)world_delete(w, name, "{'_id':%d}", id);
        else
            CHECK_WRITTEN(world_upsert(w, name, "{'_id':%d%s%s}", id, value, ttl), OK);
    }
    if (random_below(random, 4) == 0)
        world_pass(w, 1000);
    if (random_below(random, 8) == 0)
        world_purge(w);
    if (random_below(random, 20) == 0)
        world_restart(w);
    if (random_below(random, 20) == 0) {
        CHECK_OK(world_index_drop(w, "c", "all"));
        world_index_built(w, "c", SHAPED);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Which of several documents that are equal comes first differs: "[3,1,2]" as "1 2 3 ". */
static const char *sorted(struct world *w, const char *list)
{
    struct buffer out = buffer_in(w->arena);
    int numbers[12], count = 0;

    for (const char *at = list; *at == '[' || *at == ','; count++) {
        CHECK(count < (int)ARRAY_COUNT(numbers));
        numbers[count] = (int)strtol(at + 1, (char **)(uintptr_t)&at, 10);
    }
    qsort(numbers, (size_t)count, sizeof(numbers[0]), compare_numbers);
    for (int i = 0; i < count; i++)
        buffer_append_format(&out, "%d ", numbers[i]);
    buffer_append_byte(&out, 0);
    return (const char *)out.data;
}

TEST(query_order, orders_are_whole_whatever_shapes_come_and_go)
{
    static const char *const queries[] = { "SELECT VALUE c._id FROM c ORDER BY c.v",
                                           "SELECT VALUE c._id FROM c ORDER BY c.v DESC",
                                           "SELECT VALUE c._id FROM c ORDER BY c.w" };

    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        struct world w;
        world_open(&w, ON_MEMORY);
        world_collection(&w, "c", TTL_NEVER, SHAPED);
        world_collection(&w, "d", TTL_NEVER, "");
        for (int step = 0; step < 60; step++) {
            happen_to_both(&w, &random);
            const char *sql = queries[random_below(&random, ARRAY_COUNT(queries))];
            const char *want = sorted(&w, ask(&w, "d", sql, NULL, NULL));
            const char *got = sorted(&w, ask(&w, "c", sql, NULL, NULL));
            CHECK_THAT(strcmp(got, want) == 0, "step %d, %s: is %s, want %s", step, sql, got, want);
        }
        world_close(&w);
    }
}

static bool is_recalled(struct world *w, bool has_view)
{
    struct request request = world_begin(w);
    const struct collection *collection = world_find(&request, "c");
    struct scan_shapes shapes;
    struct scan *scan;

    if (has_view) {
        CHECK_OK(scan_open(&request, collection, &(struct scan_spec){ 0 }, &scan));
        scan_close(scan);
    }
    CHECK_OK(scan_recall_shapes(&request, &collection->indexes[0], BYTES_LITERAL("/v/?"), &shapes));
    world_end(&request);
    return shapes.is_known;
}

TEST(query_order, shapes_are_looked_at_once)
{
    struct world w;

    fill(&w, ON_MEMORY);
    CHECK(!is_recalled(&w, false));
    (void)ask(&w, "c", "SELECT TOP 1 VALUE c.k FROM c ORDER BY c.v", NULL, NULL);
    CHECK(is_recalled(&w, false));
    CHECK_THAT(!is_recalled(&w, true), "a view may be older than what is remembered");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1000,'other':1}"), OK);
    CHECK_THAT(!is_recalled(&w, false), "of this shape nothing is known yet");
    CHECK_STRING(
        sorted(&w, ask(&w, "c", "SELECT TOP 5 VALUE c._id FROM c ORDER BY c.v", NULL, NULL)),
        "0 1 2 3 1000 ");
    CHECK(is_recalled(&w, false));
    for (int i = 0; i < 40; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'v':1,'own%d':1}", 2000 + i, i), OK);
    CHECK_THAT(!is_recalled(&w, false), "there are more than are remembered");
    world_close(&w);
}

/* ---- kinds that are remembered ------------------------------------------------------------------------ */

/* What is known to be absent at v, for a request that begins so much before now. */
static unsigned absent_kinds(struct world *w, time_ms earlier_ms)
{
    struct request request = world_begin(w);
    const struct collection *collection = world_find(&request, "c");
    struct scan_shapes shapes;

    request.now -= earlier_ms;
    CHECK_OK(scan_recall_shapes(&request, &collection->indexes[0], BYTES_LITERAL("/v/?"), &shapes));
    world_end(&request);
    return shapes.absent_kinds;
}

/* Numbers from 0 on; and whoever sorts by them finds out what is there. */
static void learn_kinds(struct world *w)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_NEVER, SHAPED);
    for (int i = 0; i < 100; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'v':%d}", i, i), OK);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(absent_kinds(w, 0), 0, "look %d", i);
        CHECK_STRING(ask(w, "c", "SELECT TOP 2 VALUE c._id FROM c ORDER BY c.v", NULL, NULL),
                     "[0,1]");
    }
}

TEST(query_order, kinds_that_nobody_has_are_not_looked_for_until_one_is_written)
{
    const unsigned others = SCAN_KIND_NULL | SCAN_KIND_BOOL | SCAN_KIND_TEXT;
    struct world w;

    learn_kinds(&w);
    CHECK_EQ(absent_kinds(&w, 0), others, "there are only numbers");
    CHECK_EQ(absent_kinds(&w, 1), 0, "what is dead by now may be alive for whoever began earlier");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1000,'v':null}"), OK);
    CHECK_EQ(absent_kinds(&w, 0), SCAN_KIND_BOOL | SCAN_KIND_TEXT, "there is a null");
    CHECK_STRING(ask(&w, "c", "SELECT TOP 2 VALUE c._id FROM c ORDER BY c.v", NULL, NULL),
                 "[1000,0]");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1001,'w':false,'o':{'v':true},'a':['b']}"), OK);
    CHECK_STRING(ask(&w, "c", "SELECT TOP 2 VALUE c._id FROM c ORDER BY c.v", NULL, NULL),
                 "[1001,1000]");
    CHECK_EQ(absent_kinds(&w, 0), SCAN_KIND_BOOL | SCAN_KIND_TEXT, "that was at other paths");
    world_restart(&w);
    CHECK_EQ(absent_kinds(&w, 0), 0, "nobody has looked since the start");
    world_close(&w);
}

TEST(query_order, more_paths_than_are_noted_leave_no_kind_absent)
{
    struct world w;

    learn_kinds(&w);
    CHECK(absent_kinds(&w, 0) != 0);
    struct buffer fields = buffer_in(w.arena);
    for (int i = 0; i < 1000; i++)
        buffer_append_format(&fields, ",'n%d':1", i);
    buffer_append_byte(&fields, 0);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1000%s}", (const char *)fields.data), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1001,'v':'text'}"), OK);
    CHECK_STRING(ask(&w, "c", "SELECT TOP 3 VALUE c._id FROM c ORDER BY c.v DESC", NULL, NULL),
                 "[1001,99,98]");
    CHECK_EQ(absent_kinds(&w, 0), 0, "a note did not fit");
    world_close(&w);
}

/* ---- paging ------------------------------------------------------------------------------------------ */

enum { MOVING = 60 };

static void happen(struct world *w, struct random *random, bool *is_touched)
{
    int id = (int)random_below(random, MOVING);

    is_touched[id] = true;
    switch (random_below(random, 4)) {
    case 0:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'v':%d}", id, id % 7), OK);
        break;
    case 1:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'new%d':1,'ttl':1}", id, id), OK);
        world_pass(w, 1000);
        break;
    case 2:
        (void)world_delete(w, "c", "{'_id':%d}", id);
        world_purge(w);
        break;
    default:
        CHECK_WRITTEN(world_upsert(w, "c", "{'_id':%d,'v':[%d]}", id, id), OK);
    }
}

/* Every document that nobody touched comes once, whatever happens to the others between pages. */
static void check_pages(enum backing backing, uint64_t seed, const char *sql)
{
    bool is_touched[MOVING] = { 0 };
    unsigned seen[MOVING] = { 0 };
    struct random random = random_seeded(seed);
    struct world w;
    bytes state = BYTES_NONE;
    int pages = 0;

    world_open(&w, backing);
    world_collection(&w, "c", TTL_NEVER, SHAPED);
    for (int i = 0; i < MOVING; i++) {
        const char *v = i % 3 ? arena_format(w.arena, "'v':%d", i % 7) : "'z':1";
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,%s,'s%d':1}", i, v, i % 6), OK);
    }
    do {
        struct asking how = { .items = 1 + random_below(&random, 3) };
        struct buffer rows = buffer_in(w.arena);
        CHECK_STRING(page_way(&w, sql, &how, &state, &rows), "index ");
        CHECK_THAT(state.len < 1024, "a state of %zu bytes", state.len);
        buffer_append_byte(&rows, 0);
        for (char *at = (char *)rows.data; *at; at += *at == ',')
            seen[strtol(at, &at, 10)]++;
        happen(&w, &random, is_touched);
    } while (state.len && ++pages < 200);
    for (int id = 0; id < MOVING; id++)
        CHECK_THAT(is_touched[id] || seen[id] == 1, "document %d came %u times", id, seen[id]);
    world_close(&w);
}

TEST(query_order, pages_in_order_neither_repeat_nor_skip)
{
    EACH_SEED(seed, 6) {
        check_pages(ON_MEMORY, seed, "SELECT VALUE c._id FROM c ORDER BY c.v");
        check_pages(ON_MEMORY, seed, "SELECT VALUE c._id FROM c ORDER BY c.v DESC");
    }
    check_pages(ON_ROCKSDB, 99, "SELECT VALUE c._id FROM c ORDER BY c.v");
}

TEST(query_order, a_failing_storage_fails_the_order_cleanly)
{
    const struct asking how = { .items = 5 };
    status_code code = IO_ERROR;
    struct world w;

    fill(&w, ON_MEMORY);
    for (uint64_t nth = 1; code != OK; nth++) {
        struct request request = world_begin(&w);
        struct buffer rows = buffer_in(w.arena);
        struct query_page page;
        bytes state = BYTES_NONE;
        CHECK_THAT(nth < 10000, "it never succeeds");
        storage_faulty_arm(w.storage, nth);
        code = ask_page(&w, &request, "c", "SELECT * FROM c WHERE c.x = 1 ORDER BY c.v", &how,
                        &state, &rows, &page)
                   .code;
        storage_faulty_arm(w.storage, 0);
        CHECK_THAT(code == OK || code == IO_ERROR, "%s", status_code_name(code));
        world_end(&request);
    }
    world_close(&w);
}
