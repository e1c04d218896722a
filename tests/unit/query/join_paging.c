/* Paging inside documents: a page may end between two rows of one document. Whatever dies, changes or goes
 * between pages, every row of a document that stayed as it is comes exactly once; rows of documents that
 * changed are of what they were or are, and never hide or repeat others. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { DOCUMENTS = 40, ELEMENTS_MAX = 7, ROW_IDS = DOCUMENTS * 100, PAGES_MAX = 3000 };

struct known {
    bool exists, is_touched;
    int64_t dies_at_ms;
    int elements;
};

struct joined {
    struct world w;
    struct random random;
    struct known known[DOCUMENTS];
    unsigned seen[ROW_IDS]; /* id * 100 + number of the element */
};

static void write(struct joined *j, int id, bool is_insert)
{
    struct known *known = &j->known[id];
    struct buffer text = buffer_in(j->w.arena);
    int ttl = (int)(1 + random_below(&j->random, 30));

    *known = (struct known){ .exists = true, .is_touched = true, .dies_at_ms = INT64_MAX };
    known->elements = (int)random_below(&j->random, ELEMENTS_MAX);
    buffer_append_format(&text, "{'_id':%d,'n':%d,'e':[", id, (int)random_below(&j->random, 9));
    for (int i = 0; i < known->elements; i++)
        buffer_append_format(&text, "%s%d", i ? "," : "", id * 100 + i);
    buffer_append_text(&text, "],'two':[1,2]");
    if (id % 3 == 1) {
        known->dies_at_ms = world_now(&j->w) / 1000 * 1000 + ttl * INT64_C(1000);
        buffer_append_format(&text, ",'ttl':%d", ttl);
    }
    buffer_append_text(&text, "}");
    buffer_append_byte(&text, 0);
    if (is_insert)
        CHECK_WRITTEN(world_insert(&j->w, "c", "%s", (const char *)text.data), OK);
    else
        CHECK_WRITTEN(world_upsert(&j->w, "c", "%s", (const char *)text.data), OK);
}

static void happen(struct joined *j)
{
    int id = (int)random_below(&j->random, DOCUMENTS / 3) * 3 + 2;

    switch (random_below(&j->random, 5)) {
    case 0:
        world_pass(&j->w, (int64_t)random_below(&j->random, 1500));
        break;
    case 1:
        if (j->known[id].exists)
            CHECK_WRITTEN(world_delete(&j->w, "c", "{'_id':%d}", id), OK);
        j->known[id].exists = false;
        j->known[id].is_touched = true;
        break;
    case 2:
        write(j, id, false);
        break;
    default:
        break;
    }
}

static void note_rows(struct joined *j, const char *sql, const char *at)
{
    while (*at) {
        char *end;
        long row = strtol(at, &end, 10);
        CHECK_THAT(end != at && row >= 0 && row < ROW_IDS, "%s: %s", sql, at);
        const struct known *known = &j->known[row / 100];
        CHECK_THAT(known->exists && world_now(&j->w) < known->dies_at_ms,
                   "%s: row %ld of a document that is gone", sql, row);
        CHECK_THAT(row % 100 < known->elements, "%s: row %ld is not there", sql, row);
        j->seen[row]++;
        at = *end == ',' ? end + 1 : end;
    }
}

/* `times`: how often each element is to come. */
static void run(struct joined *j, const char *sql, unsigned times)
{
    bytes state = BYTES_NONE;

    memset(j->seen, 0, sizeof(j->seen));
    for (int i = 0; i < DOCUMENTS; i++)
        j->known[i].is_touched = false;
    for (int pages = 0; pages == 0 || state.len; pages++) {
        struct asking how = { .items = 1 + random_below(&j->random, 5),
                              .rows = random_below(&j->random, 2) ? 1 + random_below(&j->random, 6)
                                                                  : 0 };
        struct request request = world_begin(&j->w);
        struct buffer rows = buffer_in(j->w.arena);
        struct query_page page;
        CHECK_THAT(pages < PAGES_MAX, "%s does not end", sql);
        status s = ask_page(&j->w, &request, "c", sql, &how, &state, &rows, &page);
        CHECK_THAT(s.code == OK, "%s: %s", sql, s.message);
        CHECK_THAT(page.explain.output_count <= how.items, "%s: page too long", sql);
        world_end(&request);
        buffer_append_byte(&rows, 0);
        note_rows(j, sql, (const char *)rows.data);
        happen(j);
    }
    for (int id = 0; id < DOCUMENTS; id++) {
        const struct known *known = &j->known[id];
        if (!known->exists || known->is_touched || world_now(&j->w) >= known->dies_at_ms)
            continue;
        for (int i = 0; i < known->elements; i++)
            CHECK_THAT(j->seen[id * 100 + i] == times, "%s: row %d of document %d came %u times",
                       sql, i, id, j->seen[id * 100 + i]);
    }
}

static void check_queries(enum backing backing, uint64_t seed)
{
    static const struct {
        const char *sql;
        unsigned times;
    } rows[] = {
        {"SELECT VALUE e FROM c JOIN e IN c.e",                                               1},
        { "SELECT VALUE e FROM e IN c.e",                                                     1},
        { "SELECT VALUE e FROM c JOIN t IN c.two JOIN e IN c.e",                              2},
        { "SELECT VALUE e FROM c JOIN e IN c.e WHERE c.n >= 0",                               1},
        { "SELECT VALUE e FROM c JOIN e IN c.e WHERE c.n >= 0 ORDER BY c.n",                  1},
        { "SELECT VALUE e FROM c JOIN e IN c.e ORDER BY c.n DESC",                            1},
        { "SELECT VALUE e FROM c JOIN e IN c.e JOIN t IN c.two ORDER BY c.n, c._id DESC",     2},
        { "SELECT VALUE x FROM c JOIN (SELECT VALUE e FROM e IN c.e) x",                      1},
        { "SELECT VALUE x FROM c JOIN x IN (SELECT VALUE c.e) JOIN t IN c.two",               2},
        { "SELECT DISTINCT VALUE e FROM c JOIN e IN c.e JOIN t IN c.two",                     1},
        { "SELECT VALUE e FROM c JOIN e IN c.e WHERE EXISTS(SELECT VALUE t FROM t IN c.two)", 1},
    };
    struct joined *j = calloc(1, sizeof(*j));

    j->random = random_seeded(seed);
    world_open(&j->w, backing);
    world_collection(&j->w, "c", TTL_NEVER, "all: paths +/*");
    for (int id = 0; id < DOCUMENTS; id++)
        write(j, id, true);
    EACH_ROW(rows, r)
        run(j, r->sql, r->times);
    world_close(&j->w);
    free(j);
}

TEST(query_join_paging, rows_of_documents_that_stay_come_exactly_once_on_memory)
{
    EACH_SEED(seed, 12)
        check_queries(ON_MEMORY, seed);
}

TEST(query_join_paging, rows_of_documents_that_stay_come_exactly_once_on_rocksdb)
{
    EACH_SEED(seed, 2)
        check_queries(ON_ROCKSDB, seed + 30);
}

TEST(query_join_paging, sums_go_on_inside_a_document)
{
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int id = 0; id < 3; id++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'a':[1,2,3,4,5],'b':[1,10]}", id), OK);
    for (uint64_t work = 1; work < 40; work += 3) {
        struct asking how = { .rows = work };
        CHECK_STRING(
            ask(&w, "c", "SELECT VALUE SUM(a * b) FROM c JOIN a IN c.a JOIN b IN c.b", &how, NULL),
            "[495]");
    }
    world_close(&w);
}

TEST(query_join_paging, joins_without_end_are_refused)
{
    LONG_ON_ONE_THREAD();
    struct world w;
    struct buffer document;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    document = buffer_in(w.arena);
    buffer_append_text(&document, "{'_id':1,'a':[0");
    for (int i = 0; i < 499; i++)
        buffer_append_text(&document, ",0");
    buffer_append_text(&document, "]}");
    buffer_append_byte(&document, 0);
    CHECK_WRITTEN(world_insert(&w, "c", "%s", (const char *)document.data), OK);
    const char *got = ask(&w, "c",
                          "SELECT VALUE 1 FROM c WHERE EXISTS(SELECT VALUE 1 FROM x IN c.a JOIN y "
                          "IN c.a JOIN z IN c.a WHERE x + y + z = 1)",
                          NULL, NULL);
    CHECK_STRING(got, "TOO_LARGE: the joins and subqueries of the query make more than 10000000 "
                      "rows for one page, the limit: filter earlier, within subqueries, or join "
                      "less");
    world_close(&w);
}

/* Three documents, each with an array of so many numbers. */
static void insert_long_arrays(struct world *w, int count)
{
    for (int id = 0; id < 3; id++) {
        struct buffer document = buffer_in(w->arena);
        buffer_append_format(&document, "{'_id':%d,'text':'aaaaaaaaaaaaaaaaaaaaaaaa','a':[0", id);
        for (int i = 1; i < count; i++)
            buffer_append_format(&document, ",%d", i);
        buffer_append_text(&document, "]}");
        buffer_append_byte(&document, 0);
        CHECK_WRITTEN(world_insert(w, "c", "%s", (const char *)document.data), OK);
    }
}

TEST(query_join_paging, a_page_without_time_left_ends_with_the_row_at_hand_and_loses_none)
{
    struct asking how = { .patience = PATIENCE_ENDS };
    struct query_page page = { 0 };
    struct world w;
    bytes state = BYTES_NONE;
    int pages = 0;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    insert_long_arrays(&w, 1000);
    struct buffer rows = buffer_in(w.arena);
    do {
        struct request request;
        CHECK_OK(request_begin(w.engine, w.arena, &request));
        CHECK_OK(
            ask_page(&w, &request, "c",
                     "SELECT VALUE x FROM c JOIN x IN c.a WHERE NOT ARRAY_CONTAINS(c.a, -1 - x) "
                     "AND x % 500 = 0",
                     &how, &state, &rows, &page));
        request_end(&request);
        pages++;
    } while (state.len > 0 && pages < PAGES_MAX);
    CHECK_THAT(pages > 3, "%d pages", pages);
    CHECK_TEXT(bytes_of(rows.data, rows.len), "0,500,0,500,0,500");
    world_close(&w);
}

TEST(query_join_paging, a_page_that_has_taken_too_long_is_refused_in_the_middle_of_a_row)
{
    static const char *const texts[] = {
        "SELECT VALUE COUNT(1) FROM c JOIN x IN c.a WHERE ARRAY_CONTAINS(c.a, -1 - x)",
        "SELECT VALUE EXISTS(SELECT VALUE x FROM x IN c.a WHERE ARRAY_CONTAINS(c.a, -1 - x)) FROM "
        "c",
        "SELECT VALUE COUNT(1) FROM c JOIN x IN c.a WHERE c.text LIKE "
        "'%a%a%a%a%a%a%a%a%a%a%a%a%aaaaaaaaaaaab'",
        "SELECT VALUE COUNT(1) FROM (SELECT VALUE c.a FROM c) AS a JOIN x IN a WHERE "
        "ARRAY_CONTAINS(a, -1 - x)",
    };
    const struct asking late = { .patience = PATIENCE_OVER };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    insert_long_arrays(&w, 1000);
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        CHECK_STRING(ask(&w, "c", texts[i], &late, NULL),
                     "TOO_LARGE: one page of the query takes longer than 20 seconds, the limit");
        CHECK_THAT(ask(&w, "c", texts[i], NULL, NULL)[0] == '[', "%s", texts[i]);
    }
    world_close(&w);
}
