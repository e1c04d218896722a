/* Fuzz query states: any bytes as the state of a page. They are refused, or the page runs.
 *
 * The first byte chooses a query, over a collection in memory with an index or over a list. Then the bytes
 * are taken as they are; and they are also laid over a true state of that query behind its fingerprint, so
 * that positions, counts and sums are reached that no guess would find. */
#include "front/cosmos/sql.h"

enum { BUDGET = 64 * 1024 * 1024, DOCUMENTS = 12, HEAD_BYTES = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const queries[] = {
    "SELECT VALUE c.id FROM c",
    "SELECT VALUE c.id FROM c WHERE c.n > 3",
    "SELECT VALUE c.id FROM c WHERE c.n IN (1, 5, 7, 'x') ORDER BY c.n DESC",
    "SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 2 LIMIT 7",
    "SELECT DISTINCT TOP 9 VALUE c.n FROM c",
    "SELECT VALUE c.id FROM c WHERE c.id IN ('1', '3', '5')",
    "SELECT VALUE [COUNT(1), MAX(c.n), SUM(c.n), AVG(c.n)] FROM c WHERE c.n > 3",
};

/* Made by the first input and kept for all others. */
static struct fixture {
    struct manual_time time;
    struct metrics metrics;
    struct log log;
    struct arena *arena;
    struct engine *engine;
} fixture;

static void insert(struct request *request, const struct collection *collection, int number)
{
    struct write_op op = { .collection = collection, .kind = WRITE_INSERT, .own_ttl = TTL_ABSENT };
    const char *json = arena_format(request->arena, "{\"id\":\"%d\",\"n\":%d}", number, number);
    struct value id;

    ASSERT(json_read(request->arena, bytes_of_text(json), &op.document).code == OK);
    ASSERT(document_find(op.document, "id", &id));
    ASSERT(document_key_make(request->arena, collection, op.document, id, &op.key).code == OK);
    ASSERT(document_write(request, &op, 1, WRITE_ALL_OR_NOTHING).code == OK);
}

static void make_fixture(void)
{
    static const bytes all[] = { BYTES_LITERAL("/*") };
    struct storage_options storage_options = { .log = &fixture.log, .metrics = &fixture.metrics };
    struct engine_options options = { .log = &fixture.log,
                                      .metrics = &fixture.metrics,
                                      .is_manual = true };
    struct index_definition index = { .name = BYTES_LITERAL("all"),
                                      .kind = INDEX_PATHS,
                                      .expire_after_s = INDEX_NO_EXPIRY,
                                      .included_count = 1,
                                      .included = all };
    struct collection_definition definition = { .database = BYTES_LITERAL("d"),
                                                .name = BYTES_LITERAL("c"),
                                                .default_ttl = TTL_OFF };
    struct engine_sweep *sweep = engine_sweep_open();
    const struct collection *collection;
    struct storage *storage;
    struct request request;

    fixture.time.wall = INT64_C(1772323200000);
    fixture.arena = arena_open(BUDGET);
    options.clock = clock_open(clock_source_manual(&fixture.time), LIMIT_CLOCK_LEAP_MS);
    storage_options.sweeper = engine_sweeper(sweep);
    ASSERT(storage_open_memory(&storage_options, &storage).code == OK);
    ASSERT(engine_open(storage, sweep, &options, fixture.arena, &fixture.engine).code == OK);
    ASSERT(database_create(fixture.engine, fixture.arena, definition.database, BYTES_NONE).code ==
           OK);
    ASSERT(collection_create(fixture.engine, fixture.arena, &definition, &index, 1).code == OK);
    ASSERT(request_begin(fixture.engine, fixture.arena, &request).code == OK);
    ASSERT(catalog_find(&request, definition.database, definition.name, &collection).code == OK);
    for (int i = 0; i < DOCUMENTS; i++)
        insert(&request, collection, i);
    request_end(&request);
}

static status count_row(void *context, struct value row, size_t *len_out)
{
    *(size_t *)context += row.type != VALUE_MISSING;
    *len_out = 1;
    return STATUS_OK;
}

static status run(struct arena *arena, const char *sql, bytes state, bytes *state_out)
{
    const struct query_limits limits = { .items = 2, .rows = 3 };
    struct query_source source = { 0 };
    const struct query *query;
    struct query_page page;
    struct sql_error error;
    struct request request;
    size_t rows = 0;

    ASSERT(request_begin(fixture.engine, arena, &request).code == OK);
    source.request = &request;
    ASSERT(
        catalog_find(&request, BYTES_LITERAL("d"), BYTES_LITERAL("c"), &source.collection).code ==
        OK);
    ASSERT(sql_parse(arena, bytes_of_text(sql), BYTES_NONE, &query, &error).code == OK);
    status s = query_run_page(query, &source, &limits, state, count_row, &rows, &page);
    ASSERT(s.code == OK || (s.code == INVALID && page.is_state_refused));
    ASSERT(rows <= limits.items);
    *state_out = page.state;
    request_end(&request);
    return s;
}

/* The true state with the input laid over what follows the fingerprint; lengths stay where they are. */
static bytes overlaid(struct arena *arena, bytes state, bytes over)
{
    bytes copy;

    ASSERT(arena_copy(arena, state, &copy).code == OK);
    uint8_t *to = (uint8_t *)(uintptr_t)copy.data;
    for (size_t i = 0; i < over.len && HEAD_BYTES + i < copy.len; i++)
        to[HEAD_BYTES + i] ^= over.data[i];
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena;
    bytes state, next;

    if (size < 2)
        return 0;
    if (!fixture.engine)
        make_fixture();
    arena = arena_open(BUDGET);
    const char *sql = queries[data[0] % ARRAY_COUNT(queries)];
    bytes input = bytes_of(data + 1, size - 1);
    (void)run(arena, sql, input, &next).code;
    ASSERT(run(arena, sql, BYTES_NONE, &state).code == OK);
    if (state.len)
        (void)run(arena, sql, overlaid(arena, state, input), &next).code;
    arena_close(arena);
    return 0;
}
