/* Random queries page by page while documents die: who lives all the time and is chosen comes exactly once, who dies
 * comes at most once and never after its death, whatever is indexed and however pages are cut. */
#include "tests/support/ask.h"
#include "tests/support/random_sql.h"

#include <stdlib.h>

enum { DOCUMENTS = 40, QUERIES = 6, PAGES_MAX = 2000, IMMORTAL = 0 };

static const struct {
    const char *name, *index;
} collections[] = {
    {"plain",      ""                                      },
    { "indexed",   "all: paths shaped +/*"                 },
    { "partly",    "some: paths shaped +/a/? +/l/*"        },
    { "composite", "one: ranked a b; two: ranked o.x s _id"},
};

struct subjects {
    int life_s[DOCUMENTS]; /* IMMORTAL, or seconds */
    const char *list;      /* all of them as JSON */
};

static void fill(struct world *w, struct arena *arena, struct random *random,
                 const char *collection, struct subjects *subjects)
{
    struct buffer list = buffer_in(arena);

    buffer_append_text(&list, "[");
    for (int id = 0; id < DOCUMENTS; id++) {
        int life = random_below(random, 2) ? IMMORTAL : 1 + (int)random_below(random, 20);
        const char *ttl = life == IMMORTAL ? "" : arena_format(arena, ",'ttl':%d", life);
        const char *document = random_sql_document(arena, random, id, ttl);
        subjects->life_s[id] = life;
        buffer_append_format(&list, "%s%s", id ? "," : "", document);
        CHECK_WRITTEN(world_insert(w, collection, "%s", document), OK);
    }
    buffer_append_text(&list, "]");
    buffer_append_byte(&list, 0);
    CHECK(!list.is_failed);
    subjects->list = (const char *)list.data;
}

/* How often each document is in a JSON array of ids. */
static void count_ids(const char *rows, size_t len, int *counts)
{
    for (const char *at = rows; at < rows + len;) {
        char *end;
        long id = strtol(at, &end, 10);
        CHECK_THAT(end != at && id >= 0 && id < DOCUMENTS, "no id in %s", at);
        counts[id]++;
        at = *end == ',' ? end + 1 : end;
        if (*end != ',')
            return;
    }
}

struct asked {
    const char *sql, *collection;
    struct asking how;
};

static const char *told(struct arena *arena, const struct asked *q)
{
    return arena_format(arena, "%s of %s in pages of %zu, work %zu", q->sql, q->collection,
                        q->how.items, (size_t)q->how.rows);
}

static void check_page(struct arena *arena, const struct asked *q, const struct subjects *subjects,
                       const int *counts, int64_t passed_ms)
{
    for (int id = 0; id < DOCUMENTS; id++) {
        bool is_dead = subjects->life_s[id] != IMMORTAL &&
                       passed_ms >= subjects->life_s[id] * INT64_C(1000);
        CHECK_THAT(!is_dead || counts[id] == 0, "%s: document %d came %lld ms after its birth",
                   told(arena, q), id, (long long)passed_ms);
    }
}

/* Time passes between pages; what they give is summed up. */
static void ask_pages(struct world *w, struct random *random, const struct asked *q,
                      const struct subjects *subjects, int *totals)
{
    bytes state = BYTES_NONE;
    int64_t passed_ms = 0;

    for (int pages = 0; pages == 0 || state.len; pages++) {
        struct buffer rows = buffer_in(w->arena);
        struct request request = world_begin(w);
        struct query_page page = { 0 };
        int counts[DOCUMENTS] = { 0 };
        CHECK_THAT(pages < PAGES_MAX, "%s does not end", told(w->arena, q));
        CHECK_OK(ask_page(w, &request, q->collection, q->sql, &q->how, &state, &rows, &page));
        world_end(&request);
        buffer_append_byte(&rows, 0);
        count_ids((const char *)rows.data, rows.len - 1, counts);
        check_page(w->arena, q, subjects, counts, passed_ms);
        for (int id = 0; id < DOCUMENTS; id++)
            totals[id] += counts[id];
        int64_t step = (int64_t)random_below(random, 3000);
        world_pass(w, step);
        passed_ms += step;
    }
}

static void check_query(struct random *random, const char *sql, size_t collection)
{
    struct arena *arena = arena_open(64 << 20);
    struct asked q = {
        sql,
        collections[collection].name,
        {.items = 1 + random_below(random, 6),
                           .rows = random_below(random, 2) ? 0 : 1 + random_below(random, 20),
                           .is_plain = true}
    };
    int wanted[DOCUMENTS] = { 0 }, totals[DOCUMENTS] = { 0 };
    struct subjects subjects;
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, q.collection, TTL_NEVER, collections[collection].index, "pk");
    fill(&w, arena, random, q.collection, &subjects);
    const char *all = ask_list(arena, subjects.list, sql, NULL);
    CHECK_THAT(all[0] == '[', "%s: %s", sql, all);
    count_ids(all + 1, strlen(all) - 2, wanted);
    ask_pages(&w, random, &q, &subjects, totals);
    for (int id = 0; id < DOCUMENTS; id++) {
        bool is_safe = subjects.life_s[id] == IMMORTAL;
        CHECK_THAT(totals[id] <= wanted[id] && (!is_safe || totals[id] == wanted[id]),
                   "%s: document %d came %d times, want %d", told(arena, &q), id, totals[id],
                   wanted[id]);
    }
    world_close(&w);
    arena_close(arena);
}

TEST(random_deaths, living_come_once_and_dead_never_on_any_page)
{
    EACH_SEED(seed, 3) {
        struct random random = random_seeded(seed);
        struct arena *arena = arena_open(16 << 20);
        for (size_t i = 0; i < QUERIES; i++) {
            const char *sql = random_sql_ids(arena, &random);
            for (size_t c = 0; c < ARRAY_COUNT(collections); c++)
                check_query(&random, sql, c);
        }
        arena_close(arena);
    }
}
