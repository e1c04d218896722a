/* Pages that end at long keys and long texts: what the next page needs stays short, and whoever lives and stays as it is
 * comes exactly once and in order, whatever dies, changes or comes in between. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { DOCUMENTS = 48, PAGES_MAX = 400, TEXT_MAX = 3000, ID_MAX = 900, KEY_MAX = 2000 };

static const struct {
    const char *name, *index;
} collections[] = {
    {"plain",      ""                                 },
    { "indexed",   "all: paths shaped +/*"            },
    { "composite", "one: ranked t n; two: ranked k -t"},
};

/* Texts of one family begin alike for long, in different ways. */
static const char *family_text(struct arena *arena, struct random *random, int family, size_t most)
{
    size_t len = random_below(random, (uint32_t)most), alike = most * 2 / 3;
    char *text;
    void *room;

    CHECK_OK(arena_take(arena, most + 1, &room));
    text = room;
    for (size_t i = 0; i < most; i++) {
        bool is_alike = family == 0 || (family == 1 && i < alike) || family == 2;
        text[i] = family == 0 ? 'x' : (char)('a' + (i * i + i / 7) % 26);
        if (!is_alike)
            text[i] = (char)('a' + random_below(random, 26));
    }
    if (family == 2 && len > 0)
        text[len - 1] = (char)('a' + random_below(random, 26));
    text[family == 1 ? most : len] = 0;
    return text;
}

struct subject {
    bool is_mortal, is_changing;
};

static const char *document_of(struct arena *arena, struct random *random, int family, int number,
                               const char *id, const char *key, const char *ttl)
{
    return arena_format(arena, "{'_id':'%s%d','pk':'%s','n':%d,'k':%d,'l':[1,2],'t':'%s'%s}", id,
                        number, key, number, number % 3,
                        random_below(random, 8) ? family_text(arena, random, family, TEXT_MAX) : "",
                        ttl);
}

struct named {
    const char *id, *key;
};

static void fill(struct world *w, struct random *random, int family, const char *collection,
                 struct subject *subjects, struct named *names)
{
    const char *keys[3];

    for (int i = 0; i < 3; i++)
        keys[i] = family_text(w->arena, random, family, KEY_MAX);
    for (int i = 0; i < DOCUMENTS; i++) {
        unsigned fate = (unsigned)random_below(random, 4);
        subjects[i] = (struct subject){ .is_mortal = fate == 1, .is_changing = fate == 2 };
        names[i] = (struct named){ family_text(w->arena, random, family, ID_MAX),
                                   keys[random_below(random, 3)] };
        const char *ttl = fate == 1 ? arena_format(w->arena, ",'ttl':%u",
                                                   1 + (unsigned)random_below(random, 20))
                                    : "";
        CHECK_WRITTEN(
            world_insert(w, collection, "%s",
                         document_of(w->arena, random, family, i, names[i].id, names[i].key, ttl)),
            OK);
    }
}

/* Appends the numbers of a JSON list without brackets that stay. */
static void take_rows(struct buffer *rows, const struct subject *subjects, struct buffer *out)
{
    size_t len = rows->len;

    buffer_append_byte(rows, 0);
    const char *at = (const char *)rows->data, *end = at + len;
    while (at < end) {
        char *next;
        long number = strtol(at, &next, 10);
        CHECK(next != at && number >= 0 && number < DOCUMENTS);
        if (!subjects[number].is_mortal && !subjects[number].is_changing)
            buffer_append_format(out, "%ld ", number);
        at = next + 1;
    }
}

static void change_some(struct world *w, struct random *random, int family, const char *collection,
                        const struct subject *subjects, const struct named *names)
{
    int i = (int)random_below(random, DOCUMENTS);

    if (subjects[i].is_changing)
        CHECK_WRITTEN(
            world_upsert(w, collection, "%s",
                         document_of(w->arena, random, family, i, names[i].id, names[i].key, "")),
            OK);
    world_pass(w, (int64_t)random_below(random, 1500));
}

struct walk {
    const char *sql, *collection;
    int family;
    struct asking how;
};

static const char *rows_of(struct world *w, struct random *random, const struct walk *q,
                           const struct subject *subjects, const struct named *names)
{
    struct buffer taken = buffer_in(w->arena);
    bytes state = BYTES_NONE;

    for (int pages = 0; pages == 0 || state.len; pages++) {
        struct buffer rows = buffer_in(w->arena);
        struct request request = world_begin(w);
        struct query_page page = { 0 };
        CHECK_THAT(pages < PAGES_MAX, "%s does not end", q->sql);
        CHECK_OK(ask_page(w, &request, q->collection, q->sql, &q->how, &state, &rows, &page));
        world_end(&request);
        CHECK_THAT(state.len <= LIMIT_QUERY_STATE_BYTES, "%s left %zu bytes", q->sql, state.len);
        take_rows(&rows, subjects, &taken);
        if (names)
            change_some(w, random, q->family, q->collection, subjects, names);
    }
    buffer_append_byte(&taken, 0);
    return (const char *)taken.data;
}

static void check_walk(struct random *random, const char *sql, size_t collection, int family)
{
    struct subject subjects[DOCUMENTS];
    struct named names[DOCUMENTS];
    struct walk q = {
        .sql = sql, .collection = collections[collection].name, .family = family, .how.items = 1000
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, q.collection, TTL_NEVER, collections[collection].index, "pk");
    fill(&w, random, family, q.collection, subjects, names);
    const char *want = rows_of(&w, random, &q, subjects, NULL);
    q.how.items = 1 + random_below(random, 5);
    q.how.rows = random_below(random, 2) ? 0 : 1 + random_below(random, 20);
    const char *got = rows_of(&w, random, &q, subjects, names);
    CHECK_THAT(strcmp(got, want) == 0, "%s of %s, family %d, pages of %zu, work %zu: %s, want %s",
               sql, q.collection, family, q.how.items, (size_t)q.how.rows, got, want);
    world_close(&w);
}

TEST(long_places, who_stays_comes_once_and_in_order_however_long_keys_and_texts_are)
{
    LONG_ON_ONE_THREAD();
    static const char *const queries[] = {
        "SELECT VALUE c.n FROM c",
        "SELECT VALUE c.n FROM c WHERE c.t >= ''",
        "SELECT VALUE c.n FROM c WHERE c.k = 1",
        "SELECT VALUE c.n FROM c JOIN x IN c.l",
        "SELECT VALUE c.n FROM c JOIN x IN c.l WHERE c.t >= ''",
        "SELECT VALUE c.n FROM c ORDER BY c.t",
        "SELECT VALUE c.n FROM c ORDER BY c.t DESC",
        "SELECT VALUE c.n FROM c JOIN x IN c.l ORDER BY c.t DESC",
        "SELECT VALUE c.n FROM c ORDER BY c.t, c.n",
        "SELECT VALUE c.n FROM c WHERE c.k = 2 ORDER BY c.t DESC",
        "SELECT VALUE c.n FROM c ORDER BY c.missing, c.n",
        "SELECT VALUE c.n FROM c GROUP BY c.t, c.n",
        "SELECT VALUE c.n FROM c GROUP BY c.n, c.t ORDER BY c.t",
        "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.t",
    };

    EACH_SEED(seed, 2) {
        struct random random = random_seeded(seed);
        EACH_ROW(queries, sql) {
            for (size_t c = 0; c < ARRAY_COUNT(collections); c++)
                check_walk(&random, *sql, c, (int)random_below(&random, 3));
        }
    }
}
