/* Random queries over random documents: whatever is indexed and however pages are cut, the answer is that of a plain
 * list of the living ones. Conditions alone have a judge of their own (differential.c). */
#include "tests/support/ask.h"
#include "tests/support/random_sql.h"

enum { DOCUMENTS = 40, QUERIES = 60 };

static const struct {
    const char *name, *index;
} collections[] = {
    {"plain",      ""                                                                   },
    { "indexed",   "all: paths shaped +/*"                                              },
    { "unshaped",  "all: paths +/*"                                                     },
    { "partly",    "some: paths shaped +/a/? +/o/* +/l/*"                               },
    { "otherwise", "rest: paths shaped +/* -/a/? -/l/*"                                 },
    { "composite",
     "one: ranked a b; two: ranked b -a; three: ranked o.x s _id; four: ranked s a -_id"},
};

struct lists {
    const char *all;       /* the living documents as JSON */
    const char *partition; /* those of p1 */
};

static void append(struct buffer *list, const char *document)
{
    buffer_append_text(list, list->len > 1 ? "," : "");
    buffer_append_text(list, document);
}

static const char *finish(struct buffer *list)
{
    buffer_append_text(list, "]");
    buffer_append_byte(list, 0);
    CHECK(!list->is_failed);
    return (const char *)list->data;
}

/* Every fifth document lives for 5 seconds, which pass. */
static struct lists fill(struct world *w, struct arena *arena, struct random *random)
{
    struct buffer all = buffer_in(arena), partition = buffer_in(arena);

    buffer_append_text(&all, "[");
    buffer_append_text(&partition, "[");
    for (int id = 0; id < DOCUMENTS; id++) {
        bool is_dead = random_below(random, 5) == 0;
        const char *document = random_sql_document(arena, random, id, is_dead ? ",'ttl':5" : "");
        for (size_t c = 0; c < ARRAY_COUNT(collections); c++)
            CHECK_WRITTEN(world_insert(w, collections[c].name, "%s", document), OK);
        if (!is_dead)
            append(&all, document);
        if (!is_dead && id % 3 == 1)
            append(&partition, document);
    }
    world_pass(w, 5000);
    return (struct lists){ finish(&all), finish(&partition) };
}

static void check_query(struct world *w, struct arena *arena, struct random *random,
                        const struct lists *lists)
{
    struct random_sql_query query = random_sql_query(arena, random);
    bool is_parted = random_below(random, 3) == 0;
    const char *want = ask_list(arena, is_parted ? lists->partition : lists->all, query.text, NULL);

    if (!query.is_ordered)
        want = ask_sorted(arena, want);
    for (size_t c = 0; c < ARRAY_COUNT(collections); c++) {
        struct asking how = { .partition = is_parted ? "['p1']" : NULL,
                              .items = random_below(random, 3) ? 1 + random_below(random, 9) : 0,
                              .rows = random_below(random, 3) ? 0 : 1 + random_below(random, 30),
                              .is_plain = true };
        arena_position mark = arena_mark(w->arena);
        const char *got = ask(w, collections[c].name, query.text, &how, NULL);
        if (!query.is_ordered)
            got = ask_sorted(arena, got);
        CHECK_THAT(strcmp(got, want) == 0,
                   "%s\n  of %s%s in pages of %zu, work %zu\n  gives %s\n  want  %s", query.text,
                   collections[c].name, is_parted ? " (p1)" : "", how.items, (size_t)how.rows, got,
                   want);
        arena_release(w->arena, mark);
    }
}

static void check_world(enum backing backing, uint64_t seed, size_t queries)
{
    struct random random = random_seeded(seed);
    struct arena *arena = arena_open(256 << 20), *scratch = arena_open(256 << 20);
    struct world w;

    world_open(&w, backing);
    for (size_t c = 0; c < ARRAY_COUNT(collections); c++)
        world_collection_parted(&w, collections[c].name, TTL_NEVER, collections[c].index, "pk");
    struct lists lists = fill(&w, arena, &random);
    for (size_t i = 0; i < queries; i++) {
        check_query(&w, scratch, &random, &lists);
        arena_reset(scratch);
    }
    world_close(&w);
    arena_close(scratch);
    arena_close(arena);
}

TEST(random_queries, every_index_answers_as_a_list_does_on_memory)
{
    EACH_SEED(seed, 6)
        check_world(ON_MEMORY, seed, QUERIES);
}

TEST(random_queries, every_index_answers_as_a_list_does_on_rocksdb)
{
    check_world(ON_ROCKSDB, check_seed() + 1000, check_scaled(QUERIES));
}
