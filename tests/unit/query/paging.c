/* Paging: whatever dies, comes and goes between pages, a document that lived and stayed as it is all the
 * time is given exactly once. Pages of random size, random deaths, inserts, replaces and deletes. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { DOCUMENTS = 120, LATER_IDS = 400, PAGES_MAX = 5000, STATE_BYTES_MAX = 700 };

#define ALL_BY_IN                                                                                \
    "SELECT VALUE c._id FROM c WHERE c.n IN (0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19," \
    "20,21,22,23,24,25,26,27,28,29) ORDER BY c.n DESC"

/* What the test knows of a document. Ids below DOCUMENTS are there from the start: a third of them stays,
 * a third dies at some time, a third is changed and deleted; the others are inserted later. */
struct known {
    bool exists;
    bool is_touched;    /* changed since the query began */
    int64_t dies_at_ms; /* INT64_MAX: never */
    unsigned seen;
};

struct paging {
    struct world w;
    struct random random;
    struct known known[LATER_IDS];
    int next_id;
};

static void write(struct paging *p, int id, bool is_insert)
{
    bool is_mortal = id % 3 == 1 && id < DOCUMENTS;
    int ttl = (int)(1 + random_below(&p->random, 40));
    const char *mortal = is_mortal ? arena_format(p->w.arena, ",'ttl':%d", ttl) : "";
    const char *format = "{'_id':%d,'pk':'p%d','n':%d,'g':'%s','stays':%s%s}";
    int n = (int)random_below(&p->random, 30);
    const char *g = random_below(&p->random, 2) ? "x" : "y";
    const char *stays = id % 3 == 0 && id < DOCUMENTS ? "true" : "false";

    if (is_insert)
        CHECK_WRITTEN(world_insert(&p->w, "c", format, id, id % 2, n, g, stays, mortal), OK);
    else
        CHECK_WRITTEN(world_upsert(&p->w, "c", format, id, id % 2, n, g, stays, mortal), OK);
    p->known[id].exists = true;
    p->known[id].is_touched = true;
    int64_t written_ms = world_now(&p->w) / 1000 * 1000;
    p->known[id].dies_at_ms = is_mortal ? written_ms + ttl * INT64_C(1000) : INT64_MAX;
}

static void start(struct paging *p, enum backing backing, uint64_t seed)
{
    p->random = random_seeded(seed);
    memset(p->known, 0, sizeof(p->known));
    world_open(&p->w, backing);
    world_collection_parted(&p->w, "c", TTL_NEVER, "all: paths shaped +/*", "pk");
    for (int id = 0; id < DOCUMENTS; id++)
        write(p, id, true);
    p->next_id = DOCUMENTS;
}

/* Something happens between two pages. */
static void happen(struct paging *p)
{
    for (uint64_t left = random_below(&p->random, 4); left > 0; left--) {
        int id = (int)random_below(&p->random, DOCUMENTS / 3) * 3 + 2;
        switch (random_below(&p->random, 4)) {
        case 0:
            world_pass(&p->w, (int64_t)random_below(&p->random, 2500));
            break;
        case 1:
            if (p->known[id].exists)
                CHECK_WRITTEN(world_delete(&p->w, "c", "{'_id':%d,'pk':'p%d'}", id, id % 2), OK);
            p->known[id].exists = false;
            p->known[id].is_touched = true;
            break;
        case 2:
            write(p, id, false);
            break;
        default:
            if (p->next_id < LATER_IDS)
                write(p, p->next_id++, true);
        }
    }
    if (random_below(&p->random, 8) == 0)
        world_purge(&p->w);
}

/* Everything given on one page lived at that page's time, and nothing untouched comes twice. */
static void check_page(struct paging *p, const char *sql, const struct buffer *rows)
{
    const char *at = (const char *)rows->data;

    while (at && *at) {
        char *end;
        long id = strtol(at, &end, 10);
        CHECK_THAT(end != at && id >= 0 && id < LATER_IDS, "%s: %s", sql, at);
        struct known *known = &p->known[id];
        CHECK_THAT(known->exists, "%s: document %ld does not exist", sql, id);
        CHECK_THAT(world_now(&p->w) < known->dies_at_ms, "%s: document %ld is dead", sql, id);
        known->seen++;
        CHECK_THAT(known->seen == 1 || known->is_touched, "%s: document %ld comes twice", sql, id);
        at = *end == ',' ? end + 1 : end;
    }
}

/* Runs the query over all pages; returns how many rows it gave. */
static size_t run(struct paging *p, const char *sql)
{
    bytes state = BYTES_NONE;
    size_t given = 0;

    for (int i = 0; i < LATER_IDS; i++) {
        p->known[i].seen = 0;
        p->known[i].is_touched = false;
    }
    for (int pages = 0; pages == 0 || state.len; pages++) {
        struct asking how = { .items = 1 + random_below(&p->random, 25),
                              .rows = random_below(&p->random, 2) ? 1 + random_below(&p->random, 30)
                                                                  : 0 };
        struct request request = world_begin(&p->w);
        struct buffer rows = buffer_in(p->w.arena);
        struct query_page page;
        CHECK_THAT(pages < PAGES_MAX, "%s does not end", sql);
        status s = ask_page(&p->w, &request, "c", sql, &how, &state, &rows, &page);
        CHECK_THAT(s.code == OK, "%s: %s", sql, s.message);
        CHECK_THAT(page.explain.output_count <= how.items, "%s: page too long", sql);
        CHECK_THAT(state.len <= STATE_BYTES_MAX, "%s: state of %zu bytes", sql, state.len);
        given += page.explain.output_count;
        world_end(&request);
        buffer_append_byte(&rows, 0);
        check_page(p, sql, &rows);
        happen(p);
    }
    return given;
}

/* All that stayed and fulfils the condition was given, once. */
static void check_all_given(struct paging *p, const char *sql, bool (*is_wanted)(int id))
{
    for (int id = 0; id < DOCUMENTS; id++) {
        const struct known *known = &p->known[id];
        bool stayed = known->exists && !known->is_touched && world_now(&p->w) < known->dies_at_ms;
        if (stayed && is_wanted(id))
            CHECK_THAT(known->seen == 1, "%s: document %d was given %u times", sql, id,
                       known->seen);
    }
}

static bool is_any(int id)
{
    return id >= 0;
}

static bool is_in_p1(int id)
{
    return id % 2 == 1;
}

static void check_queries(enum backing backing, uint64_t seed)
{
    static const struct {
        const char *sql;
        bool (*is_wanted)(int id);
    } rows[] = {
        {"SELECT VALUE c._id FROM c",                                                         is_any  },
        { "SELECT VALUE c._id FROM c WHERE c.pk = 'p1'",                                      is_in_p1},
        { "SELECT VALUE c._id FROM c WHERE c.n >= 0",                                         is_any  },
        { "SELECT VALUE c._id FROM c WHERE c.n < 10 OR c.n >= 10",                            is_any  },
        { "SELECT VALUE c._id FROM c WHERE c.n >= 0 ORDER BY c.n",                            is_any  },
        { "SELECT VALUE c._id FROM c WHERE c.n >= 0 ORDER BY c.n DESC",                       is_any  },
        { ALL_BY_IN,                                                                          is_any  },
        { "SELECT VALUE c._id FROM c ORDER BY c.n",                                           is_any  },
        { "SELECT VALUE c._id FROM c ORDER BY c.n DESC",                                      is_any  },
        { "SELECT VALUE c._id FROM c WHERE c._id >= 0 AND CONTAINS(c.pk, 'p1') ORDER BY c.g",
         is_in_p1                                                                                     },
        { "SELECT VALUE c._id FROM c ORDER BY c.g DESC, c.n",                                 is_any  },
        { "SELECT VALUE c._id FROM c WHERE c.g = 'x' OR c.g = 'y' ORDER BY c.missing",        is_any  },
        { "SELECT DISTINCT VALUE c._id FROM c",                                               is_any  },
        { "SELECT VALUE c._id FROM c OFFSET 0 LIMIT 100000",                                  is_any  },
    };
    struct paging *p = calloc(1, sizeof(*p));

    start(p, backing, seed);
    EACH_ROW(rows, r) {
        run(p, r->sql);
        check_all_given(p, r->sql, r->is_wanted);
    }
    CHECK_EQ(run(p, "SELECT TOP 33 VALUE c._id FROM c"), 33, "");
    CHECK_EQ(run(p, "SELECT TOP 33 VALUE c._id FROM c ORDER BY c.n"), 33, "");
    CHECK_EQ(run(p, "SELECT VALUE c._id FROM c OFFSET 5 LIMIT 20"), 20, "");
    CHECK_EQ(run(p, "SELECT VALUE c._id FROM c ORDER BY c.n DESC OFFSET 5 LIMIT 20"), 20, "");
    world_close(&p->w);
    free(p);
}

TEST(query_paging, living_documents_come_exactly_once_on_memory)
{
    EACH_SEED(seed, 10)
        check_queries(ON_MEMORY, seed);
}

TEST(query_paging, living_documents_come_exactly_once_on_rocksdb)
{
    EACH_SEED(seed, 2)
        check_queries(ON_ROCKSDB, seed + 50);
}

TEST(query_paging, sums_travel_over_pages)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"SELECT VALUE COUNT(1) FROM c WHERE c.n >= 0",                   "[50]"        },
        { "SELECT VALUE SUM(c.n) FROM c WHERE c.n >= 0",                  "[1225]"      },
        { "SELECT VALUE SUM(c.h) FROM c",                                 "[625]"       },
        { "SELECT VALUE AVG(c.n) FROM c",                                 "[24.5]"      },
        { "SELECT VALUE [MIN(c.s), MAX(c.s), MIN(c.n), MAX(c.n)] FROM c",
         "[[\"s10\",\"s59\",0,49]]"                                                     },
        { "SELECT COUNT(c.o) AS o, SUM(c.s) AS s, MAX(c.o) AS m FROM c",  "[{\"o\":25}]"},
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths +/n/?");
    for (int i = 0; i < 50; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'n':%d,'h':%d.5,'s':'s%d'%s}", i, i, i / 2,
                                   i + 10, i % 2 ? ",'o':{}" : ""),
                      OK);
    EACH_ROW(rows, r) {
        for (uint64_t work = 1; work < 60; work += 7) {
            struct asking how = { .rows = work };
            CHECK_STRING(ask(&w, "c", r->sql, &how, NULL), r->want);
        }
    }
    world_close(&w);
}

TEST(query_paging, the_last_page_says_so)
{
    static const struct {
        const char *sql;
        size_t items;
        size_t pages;
    } rows[] = {
        {"SELECT * FROM c",                               5,  2},
        { "SELECT * FROM c",                              10, 1},
        { "SELECT * FROM c",                              4,  3},
        { "SELECT * FROM c WHERE c._id < 5",              5,  1},
        { "SELECT * FROM c ORDER BY c.n",                 5,  2},
        { "SELECT * FROM c ORDER BY c.n",                 10, 1},
        { "SELECT TOP 5 * FROM c",                        5,  1},
        { "SELECT TOP 5 * FROM c ORDER BY c._id",         5,  1},
        { "SELECT DISTINCT VALUE 1 FROM c",               1,  1},
        { "SELECT VALUE COUNT(1) FROM c WHERE c._id < 5", 1,  1},
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    for (int i = 0; i < 10; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d}", i), OK);
    EACH_ROW(rows, r) {
        struct asking how = { .items = r->items };
        bytes state = BYTES_NONE;
        size_t pages = 0;
        do {
            struct request request = world_begin(&w);
            struct buffer out = buffer_in(w.arena);
            struct query_page page;
            CHECK_OK(ask_page(&w, &request, "c", r->sql, &how, &state, &out, &page));
            world_end(&request);
            pages++;
        } while (state.len);
        CHECK_EQ(pages, r->pages, "%s by %zu", r->sql, r->items);
    }
    world_close(&w);
}

static status count_rows(void *context, struct value row, size_t *len_out)
{
    *(size_t *)context += row.type == VALUE_DOCUMENT;
    *len_out = 1;
    return STATUS_OK;
}

TEST(query_paging, a_list_pages_by_its_keys)
{
    struct arena *arena = arena_open(1 << 20);
    const bytes document = world_document(arena, "{'a':1}");
    struct query_item items[4] = {
        {BYTES_LITERAL("b"),  document},
        { BYTES_LITERAL("d"), document},
        { BYTES_LITERAL("f"), document},
        { BYTES_LITERAL("h"), document},
    };
    struct query_source source = { .arena = arena, .items = items, .item_count = 4 };
    const struct query_limits two = { .items = 2 };
    const struct query *query = ask_query(arena, "SELECT * FROM root r", NULL);
    struct query_page page;
    size_t seen = 0;

    CHECK_OK(query_run_page(query, &source, &two, BYTES_NONE, count_rows, &seen, &page));
    CHECK_EQ(seen, 2, "");
    CHECK(page.state.len > 0);
    /* The one that was next is gone, another one has come. */
    items[2].key = BYTES_LITERAL("e");
    items[3].key = BYTES_LITERAL("g");
    CHECK_OK(query_run_page(query, &source, &two, page.state, count_rows, &seen, &page));
    CHECK_EQ(seen, 4, "");
    CHECK_EQ(page.state.len, 0, "");
    arena_close(arena);
}
