/* States of pages: they travel through clients, so whatever comes back is either right or refused. */
#include "tests/support/ask.h"

#include <stdlib.h>

enum { DOCUMENTS = 30, FLIPS = 400 };

static const char *const queries[] = {
    "SELECT VALUE c._id FROM c",
    "SELECT VALUE c._id FROM c WHERE c.n > 3",
    "SELECT VALUE c._id FROM c WHERE c.n IN (1, 5, 20) ORDER BY c.n DESC",
    "SELECT VALUE c._id FROM c ORDER BY c.n",
    "SELECT DISTINCT VALUE c.n FROM c",
    "SELECT VALUE c._id FROM c WHERE c._id IN (1, 3, 5) AND c.pk = 'p'",
    "SELECT VALUE [COUNT(1), MAX(c.n)] FROM c WHERE c.n > 3",
};

static void fill(struct world *w)
{
    world_open(w, ON_MEMORY);
    world_collection_parted(w, "c", TTL_OFF, "all: paths +/*", "pk");
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'pk':'p','n':%d}", i, i), OK);
}

/* The first page of a query; its state, which must not be empty. */
static bytes first_state(struct world *w, const char *sql)
{
    const struct asking how = { .items = 1, .rows = 2 };
    struct request request = world_begin(w);
    struct buffer rows = buffer_in(w->arena);
    struct query_page page;
    bytes state = BYTES_NONE;

    CHECK_OK(ask_page(w, &request, "c", sql, &how, &state, &rows, &page));
    CHECK_THAT(state.len > 0, "%s ends at once", sql);
    world_end(&request);
    return state;
}

/* The next page from a state; the status, and whether the state was blamed. */
static status_code next_page(struct world *w, const char *sql, const char *partition, bytes state,
                             bool *is_refused_out)
{
    const struct asking how = { .items = 1, .rows = 2, .partition = partition };
    struct request request = world_begin(w);
    struct buffer rows = buffer_in(w->arena);
    struct query_page page;

    status_code code = ask_page(w, &request, "c", sql, &how, &state, &rows, &page).code;
    *is_refused_out = page.is_state_refused;
    world_end(&request);
    return code;
}

TEST(query_state, a_state_fits_only_its_own_query)
{
    struct world w;
    bool is_refused;

    fill(&w);
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        bytes state = first_state(&w, queries[i]);
        CHECK_EQ(next_page(&w, queries[i], NULL, state, &is_refused), OK, "%s", queries[i]);
        CHECK_EQ(next_page(&w, queries[i], "['p']", state, &is_refused), INVALID,
                 "%s in another scope", queries[i]);
        CHECK(is_refused);
        for (size_t j = 0; j < ARRAY_COUNT(queries); j++) {
            if (j == i)
                continue;
            CHECK_EQ(next_page(&w, queries[j], NULL, state, &is_refused), INVALID, "%s",
                     queries[j]);
            CHECK(is_refused);
        }
    }
    world_close(&w);
}

TEST(query_state, changed_states_are_refused_or_harmless)
{
    struct world w;
    bool is_refused;

    fill(&w);
    EACH_SEED(seed, 5) {
        struct random random = random_seeded(seed);
        for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
            bytes state = first_state(&w, queries[i]);
            for (int n = 0; n < FLIPS / 5; n++) {
                arena_position mark = arena_mark(w.arena);
                uint8_t copy[4096];
                size_t len = state.len;
                CHECK(len <= sizeof(copy));
                memcpy(copy, state.data, len);
                for (uint64_t flips = 1 + random_below(&random, 3); flips > 0; flips--)
                    copy[random_below(&random, len)] ^= (uint8_t)(1U << random_below(&random, 8));
                if (random_below(&random, 4) == 0)
                    len = random_below(&random, len) + 1;
                status_code code = next_page(&w, queries[i], NULL, bytes_of(copy, len),
                                             &is_refused);
                CHECK_THAT(code == OK || (code == INVALID && is_refused), "%s: %s", queries[i],
                           status_code_name(code));
                arena_release(w.arena, mark);
            }
        }
    }
    world_close(&w);
}

/* Storage takes no key with a NUL byte; a state must not bring one there. */
TEST(query_state, a_position_that_is_no_key_is_refused)
{
    enum { POSITION_AT = 39 };
    struct world w;
    bool is_refused;

    fill(&w);
    for (size_t i = 0; i < 3; i++) {
        bytes state = first_state(&w, queries[i]);
        uint8_t copy[4096];
        for (size_t at = POSITION_AT; at + 12 < state.len; at++) {
            memcpy(copy, state.data, state.len);
            copy[at] = 0;
            CHECK_EQ(next_page(&w, queries[i], NULL, bytes_of(copy, state.len), &is_refused),
                     INVALID, "%s, byte %zu", queries[i], at);
            CHECK(is_refused);
        }
    }
    world_close(&w);
}

TEST(query_state, a_dropped_index_ends_what_stood_in_it)
{
    struct world w;
    bool is_refused;

    fill(&w);
    bytes in_index = first_state(&w, "SELECT VALUE c._id FROM c WHERE c.n > 3");
    bytes by_key = first_state(&w, "SELECT VALUE c._id FROM c");
    bytes sorted = first_state(&w, "SELECT VALUE c._id FROM c WHERE c.n > 3 ORDER BY c.x");
    CHECK_OK(world_index_drop(&w, "c", "all"));
    CHECK_EQ(next_page(&w, "SELECT VALUE c._id FROM c WHERE c.n > 3", NULL, in_index, &is_refused),
             INVALID, "");
    CHECK(is_refused);
    CHECK_EQ(next_page(&w, "SELECT VALUE c._id FROM c", NULL, by_key, &is_refused), OK, "");
    CHECK_EQ(next_page(&w, "SELECT VALUE c._id FROM c WHERE c.n > 3 ORDER BY c.x", NULL, sorted,
                       &is_refused),
             OK, "a position in an order needs no index");
    world_close(&w);
}

TEST(query_state, a_new_index_does_not_disturb_pages_by_key)
{
    struct world w;
    bool is_refused;

    world_open(&w, ON_MEMORY);
    world_collection_parted(&w, "c", TTL_OFF, "", "pk");
    for (int i = 0; i < DOCUMENTS; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'pk':'p','n':%d}", i, i), OK);
    bytes state = first_state(&w, "SELECT VALUE c._id FROM c WHERE c.n > 3");
    world_index_built(&w, "c", "all: paths +/*");
    CHECK_EQ(next_page(&w, "SELECT VALUE c._id FROM c WHERE c.n > 3", NULL, state, &is_refused), OK,
             "");
    world_close(&w);
}

static status keep_first_bytes(void *context, struct value row, size_t *len_out)
{
    struct buffer *out = context;

    buffer_append(out, bytes_of(value_text(row).data, 6));
    *len_out = 6;
    return STATUS_OK;
}

/* Long sort keys: what does not fit into the memory of one page waits for the next one. */
TEST(query_state, sorting_keeps_to_its_memory)
{
    LONG_ON_ONE_THREAD();
    enum { ITEMS = 18000, LENGTH = 2500 };
    struct arena *arena = arena_open((size_t)256 << 20);
    const struct query *query = ask_query(arena, "SELECT VALUE c.s FROM c ORDER BY c.s DESC", NULL);
    struct query_item *items = calloc(ITEMS, sizeof(*items));
    struct query_source source = { .arena = arena, .items = items, .item_count = ITEMS };
    const struct query_limits limits = { .items = ITEMS };
    struct buffer seen = buffer_in(arena);
    struct query_page page = { 0 };
    size_t pages = 0;

    for (int i = 0; i < ITEMS; i++) {
        struct buffer document = buffer_in(arena);
        char *text = malloc(LENGTH + 1);
        memset(text, 'x', LENGTH);
        int number = (int)((i * INT64_C(7919)) % ITEMS);
        for (int digit = 5, rest = number; digit >= 0; digit--, rest /= 10)
            text[digit] = (char)('0' + rest % 10);
        size_t mark = document_begin(&document);
        document_append_text(&document, "s", bytes_of(text, LENGTH));
        document_end(&document, mark);
        CHECK_OK(buffer_finish(&document, &items[i].document));
        items[i].key = bytes_of_text(arena_format(arena, "%06d", i));
        free(text);
    }
    do {
        CHECK_OK(
            query_run_page(query, &source, &limits, page.state, keep_first_bytes, &seen, &page));
        pages++;
    } while (page.state.len);
    CHECK_THAT(pages > 1, "%zu pages", pages);
    CHECK_EQ(seen.len, ITEMS * 6, "");
    for (size_t i = 6; i < seen.len; i += 6)
        CHECK(memcmp(seen.data + i - 6, seen.data + i, 6) > 0);
    free(items);
    arena_close(arena);
}

static status count_row(void *context, struct value row, size_t *len_out)
{
    ++*(size_t *)context;
    *len_out = row.raw.len;
    return STATUS_OK;
}

/* Values that only differ far behind are different all the same, and the state stays short. */
TEST(query_state, long_values_stay_distinct)
{
    enum { ITEMS = 12, LENGTH = 40000 };
    struct arena *arena = arena_open(64 << 20);
    const struct query *query = ask_query(arena, "SELECT DISTINCT VALUE c.s FROM c", NULL);
    struct query_item items[ITEMS];
    struct query_source source = { .arena = arena, .items = items, .item_count = ITEMS };
    const struct query_limits limits = { .items = 2 };
    struct query_page page = { 0 };
    char *text = malloc(LENGTH);
    size_t seen = 0;

    memset(text, 'x', LENGTH);
    for (int i = 0; i < ITEMS; i++) {
        struct buffer document = buffer_in(arena);
        text[LENGTH - 1] = (char)('a' + i / 2);
        size_t mark = document_begin(&document);
        document_append_text(&document, "s", bytes_of(text, LENGTH));
        document_end(&document, mark);
        CHECK_OK(buffer_finish(&document, &items[i].document));
        items[i].key = bytes_of_text(arena_format(arena, "%06d", i));
    }
    do {
        CHECK_OK(query_run_page(query, &source, &limits, page.state, count_row, &seen, &page));
        CHECK_THAT(page.state.len < 3000, "state of %zu bytes", page.state.len);
    } while (page.state.len);
    CHECK_EQ(seen, ITEMS / 2, "");
    free(text);
    arena_close(arena);
}
