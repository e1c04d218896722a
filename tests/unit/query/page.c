/* Pages: what documents show beyond what they store, hierarchical partitions, and what happens when
 * memory or storage fails in the middle. */
#include "tests/support/ask.h"

#include <stdio.h>

enum { BUDGET = 32 * 1024 * 1024 };

/* ---- decoration ---------------------------------------------------------------------------------------- */

struct counted {
    struct buffer rows;
    unsigned decorations;
};

static status show_version(void *context, const struct document *document, struct arena *arena,
                           bytes *fields_out)
{
    struct counted *counted = context;
    struct buffer out = buffer_in(arena);
    size_t mark = document_begin(&out);

    counted->decorations++;
    document_append_int64(&out, "_ts", document->written_at_s - WORLD_START_S);
    document_append_text(&out, "_v", BYTES_LITERAL("one"));
    document_end(&out, mark);
    return buffer_finish(&out, fields_out);
}

/* Documents show their _id as text in `id`; numbers and texts are told apart by a letter. */
static size_t ids_of(void *context, struct value shown, struct arena *arena, struct value *ids_out)
{
    int number;
    char text[32];

    (void)context;
    if (shown.type != VALUE_STRING || value_text(shown).len >= sizeof(text))
        return 0;
    memcpy(text, value_text(shown).data, value_text(shown).len);
    text[value_text(shown).len] = 0;
    if (sscanf(text, "n%d", &number) != 1)
        return 0;
    CHECK_OK(value_of_int64(arena, number, &ids_out[0]));
    return 1;
}

static status show_id(void *context, const struct document *document, struct arena *arena,
                      bytes *fields_out)
{
    struct buffer out = buffer_in(arena);
    size_t mark = document_begin(&out);
    char text[32];

    ((struct counted *)context)->decorations++;
    int len = snprintf(text, sizeof(text), "n%d", world_id_of(document->bson));
    document_append_text(&out, "id", bytes_of(text, (size_t)len));
    document_end(&out, mark);
    return buffer_finish(&out, fields_out);
}

static status take_row(void *context, struct value row, size_t *len_out)
{
    struct counted *counted = context;

    if (counted->rows.len)
        buffer_append_byte(&counted->rows, ',');
    json_write_value(&counted->rows, row);
    *len_out = 1;
    return STATUS_OK;
}

static const char *shown_by(struct world *w, const char *sql, struct query_decoration decoration,
                            query_document_sink *whole_sink, unsigned *decorations_out)
{
    const struct query_limits limits = { .items = 100 };
    struct counted counted = { .rows = buffer_in(w->arena) };
    struct request request = world_begin(w);
    struct query_source source = { .request = &request,
                                   .collection = world_find(&request, "c"),
                                   .decoration = &decoration,
                                   .whole_sink = whole_sink };
    struct query_page page;

    decoration.context = &counted;
    CHECK_OK(query_run_page(ask_query(request.arena, sql, NULL), &source, &limits, BYTES_NONE,
                            take_row, &counted, &page));
    world_end(&request);
    *decorations_out = counted.decorations;
    return arena_format(w->arena, "%.*s", (int)counted.rows.len,
                        counted.rows.len ? (const char *)counted.rows.data : "");
}

static const char *shown(struct world *w, const char *sql, struct query_decoration decoration,
                         unsigned *decorations_out)
{
    return shown_by(w, sql, decoration, NULL, decorations_out);
}

TEST(query_page, documents_show_more_than_they_store_when_asked)
{
    static const bytes names[] = { BYTES_LITERAL("_ts"), BYTES_LITERAL("_v") };
    static const struct {
        const char *sql;
        const char *want;
        unsigned decorations;
    } rows[] = {
        {"SELECT c._id, c.a FROM c",                                       "{\"_id\":1,\"a\":1},{\"_id\":2,\"a\":2}",      0},
        { "SELECT VALUE c._ts FROM c",                                     "0,7",                                          2},
        { "SELECT VALUE c._id FROM c WHERE c._ts > 3 AND c['_v'] = 'one'", "2",                                            2},
        { "SELECT VALUE c._id FROM c WHERE c.a = 1 AND c._ts = 0",         "1",                                            1},
        { "SELECT VALUE c._v FROM c ORDER BY c._ts DESC",                  "\"one\",\"one\"",                              4},
        { "SELECT * FROM c WHERE c.a = 2",                                 "{\"_id\":2,\"a\":2,\"_ts\":7,\"_v\":\"one\"}", 1},
        { "SELECT VALUE [c, c._v] FROM c WHERE c.a = 1",
         "[{\"_id\":1,\"a\":1,\"_ts\":0,\"_v\":\"one\"},\"one\"]",                                                         1},
        { "SELECT VALUE COUNT(1) FROM c WHERE c.a > 0",                    "2",                                            0},
    };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths +/*");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':1,'_ts':'own'}"), OK);
    world_at(&w, 7000);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'_v':5,'a':2}"), OK);
    EACH_ROW(rows, r) {
        struct query_decoration decoration = { .decorate = show_version,
                                               .names = names,
                                               .name_count = 2 };
        unsigned decorations;
        CHECK_STRING(shown(&w, r->sql, decoration, &decorations), r->want);
        CHECK_EQ(decorations, r->decorations, "%s", r->sql);
    }
    world_close(&w);
}

static status take_document(void *context, const struct document *document, size_t *len_out)
{
    struct counted *counted = context;

    buffer_append_format(&counted->rows, "%swhole %d", counted->rows.len ? "," : "",
                         world_id_of(document->bson));
    *len_out = 1;
    return STATUS_OK;
}

TEST(query_page, whole_documents_go_to_their_own_sink_and_nothing_else_does)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"SELECT * FROM c",                                                    "whole 1,whole 2,whole 3"},
        { "SELECT VALUE c FROM c WHERE c.a > 1",                               "whole 2,whole 3"        },
        { "SELECT TOP 2 * FROM c ORDER BY c.a DESC",                           "whole 3,whole 2"        },
        { "SELECT * FROM c ORDER BY c.b",                                      "whole 3,whole 2,whole 1"},
        { "SELECT * FROM c ORDER BY c.b OFFSET 1 LIMIT 1",                     "whole 2"                },
        { "SELECT VALUE c FROM c JOIN e IN c.e WHERE e > 1",                   "whole 1,whole 1,whole 2"},
        { "SELECT VALUE c.a FROM c",                                           "1,2,3"                  },
        { "SELECT VALUE e FROM c JOIN e IN c.e",                               "1,2,3,2"                },
        { "SELECT VALUE {a: c.a} FROM c WHERE c.a = 1",                        "{\"a\":1}"              },
        { "SELECT c FROM c WHERE c.a = 3",
         "{\"c\":{\"_id\":3,\"a\":3,\"b\":1,\"_ts\":0,\"_v\":\"one\"}}"                                 },
        { "SELECT DISTINCT VALUE c FROM c WHERE c.a = 3",
         "{\"_id\":3,\"a\":3,\"b\":1,\"_ts\":0,\"_v\":\"one\"}"                                         },
        { "SELECT VALUE d.n FROM (SELECT c.a AS n FROM c GROUP BY c.a) AS d",  "1,2,3"                  },
        { "SELECT * FROM (SELECT DISTINCT VALUE c FROM c WHERE c.a = 3) AS d",
         "{\"_id\":3,\"a\":3,\"b\":1,\"_ts\":0,\"_v\":\"one\"}"                                         },
    };
    static const bytes names[] = { BYTES_LITERAL("_ts"), BYTES_LITERAL("_v") };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths +/*");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':1,'b':3,'e':[1,2,3]}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':2,'b':2,'e':[2]}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'a':3,'b':1}"), OK);
    EACH_ROW(rows, r) {
        struct query_decoration decoration = { .decorate = show_version,
                                               .names = names,
                                               .name_count = 2 };
        unsigned decorations;
        CHECK_STRING(shown_by(&w, r->sql, decoration, take_document, &decorations), r->want);
    }
    world_close(&w);
}

/* Knows the documents with these bodies' lengths, of which there is one each. */
struct knowing {
    struct counted counted; /* first: it is the context of take_document, too */
    uint32_t lengths[3];
};

static bool take_known(void *context, const struct scan_row *row, size_t *len_out)
{
    struct knowing *knowing = context;

    for (size_t i = 0; i < ARRAY_COUNT(knowing->lengths); i++) {
        if (row->body_len == knowing->lengths[i]) {
            buffer_append_format(&knowing->counted.rows, "%sknown",
                                 knowing->counted.rows.len ? "," : "");
            *len_out = 1;
            return true;
        }
    }
    return false;
}

static struct query_explain ask_knowing(struct world *w, const char *sql, query_known_sink *known,
                                        struct knowing *knowing)
{
    const struct query_limits limits = { .items = 100 };
    struct request request = world_begin(w);
    struct query_source source = { .request = &request,
                                   .collection = world_find(&request, "c"),
                                   .whole_sink = take_document,
                                   .known_sink = known };
    struct query_page page;

    knowing->counted = (struct counted){ .rows = buffer_in(w->arena) };
    CHECK_OK(query_run_page(ask_query(request.arena, sql, NULL), &source, &limits, BYTES_NONE,
                            take_row, knowing, &page));
    world_end(&request);
    buffer_append_byte(&knowing->counted.rows, 0);
    return page.explain;
}

TEST(query_page, documents_that_somebody_knows_are_not_read_but_count)
{
    static const struct {
        const char *sql;
        const char *want;
    } rows[] = {
        {"SELECT * FROM c WHERE c.a > 0",                      "known,whole 2,known,known"      },
        { "SELECT VALUE c FROM c ORDER BY c.a DESC",           "known,known,whole 2,known"      },
        { "SELECT * FROM c WHERE c.a > 1 AND c.a < 3",         "whole 2"                        },
        { "SELECT TOP 1 * FROM c WHERE c.a > 2",               "known"                          },
        { "SELECT * FROM c WHERE c.a > 0 OFFSET 2 LIMIT 9",    "known,known"                    },
        { "SELECT * FROM c WHERE c.a > 0 AND c.s != 'x'",      "whole 1,whole 2,whole 3,whole 4"},
        { "SELECT VALUE c.a FROM c WHERE c.a > 2",             "3,4"                            },
        { "SELECT VALUE c FROM c JOIN x IN c.e WHERE c.a > 3", "whole 4,whole 4"                },
    };
    struct knowing knowing = { 0 };
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths shaped +/*");
    for (int i = 1; i <= 4; i++)
        CHECK_WRITTEN(
            world_insert(&w, "c", "{'_id':%d,'a':%d,'e':[1,2],'s':'%.*s'}", i, i, i, "yyyy"), OK);
    const uint64_t least =
        ask_knowing(&w, "SELECT * FROM c WHERE c.a = 1", NULL, &knowing).loaded_bytes;
    EACH_ROW(rows, r) {
        for (uint32_t i = 0; i < 3; i++)
            knowing.lengths[i] = (uint32_t)least + (i ? i + 1 : 0); /* all but the second */
        const struct query_explain read = ask_knowing(&w, r->sql, NULL, &knowing);
        const struct query_explain known = ask_knowing(&w, r->sql, take_known, &knowing);
        CHECK_STRING((const char *)knowing.counted.rows.data, r->want);
        CHECK_EQ(known.documents, read.documents, "%s", r->sql);
        CHECK_EQ(known.loaded_bytes, read.loaded_bytes, "%s", r->sql);
        CHECK_EQ(known.output_count, read.output_count, "%s", r->sql);
    }
    world_close(&w);
}

TEST(query_page, an_id_that_is_shown_leads_to_its_document)
{
    static const bytes names[] = { BYTES_LITERAL("id") };
    const struct query_decoration decoration = { .decorate = show_id,
                                                 .names = names,
                                                 .name_count = 1,
                                                 .id_name = BYTES_LITERAL("id"),
                                                 .ids = ids_of };
    unsigned decorations;
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "all: paths +/*");
    for (int i = 0; i < 20; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'id':'other'}", i), OK);
    CHECK_STRING(shown(&w, "SELECT VALUE c._id FROM c WHERE c.id = 'n7'", decoration, &decorations),
                 "7");
    CHECK_EQ(decorations, 1, "only one document was looked at");
    CHECK_STRING(shown(&w, "SELECT VALUE c._id FROM c WHERE c.id IN ('n9', 'n3', 'x')", decoration,
                       &decorations),
                 "3,9");
    CHECK_STRING(
        shown(&w, "SELECT VALUE c._id FROM c WHERE c.id = 'other'", decoration, &decorations), "");
    CHECK_STRING(shown(&w, "SELECT VALUE c.id FROM c WHERE c.id > 'n7'", decoration, &decorations),
                 "\"n8\",\"n9\"");
    world_close(&w);
}

/* ---- partitions of several parts ------------------------------------------------------------------------- */

TEST(query_page, the_front_of_a_partition_key_is_a_scope_too)
{
    const bytes paths[] = { BYTES_LITERAL("t"), BYTES_LITERAL("u"), BYTES_LITERAL("s.x") };
    const struct collection_definition definition = { .database = BYTES_LITERAL("db"),
                                                      .name = BYTES_LITERAL("c"),
                                                      .default_ttl = TTL_OFF,
                                                      .partition_path_count = 3,
                                                      .partition_paths = paths };
    static const struct {
        const char *partition;
        const char *sql;
        int rows, given;
    } rows[] = {
        {"['t1']",         "SELECT * FROM c",                                                              9,  9},
        { "['t1','u2']",   "SELECT * FROM c",                                                              3,  3},
        { "['t1','u2',1]", "SELECT * FROM c",                                                              1,  1},
        { "['t']",         "SELECT * FROM c",                                                              0,  0},
        { "['t1']",        "SELECT * FROM c WHERE c.u = 'u2'",                                             3,  3},
        { NULL,            "SELECT * FROM c WHERE c.u = 'u2' AND c.t = 't0'",                              3,  3},
        { NULL,            "SELECT * FROM c WHERE c.u = 'u2'",                                             27, 9},
        { "['t1','u2',1]", "SELECT * FROM c WHERE c._id = 16",                                             1,  1},
        { NULL,            "SELECT * FROM c WHERE c.t = 't1' AND c.u = 'u2' AND c.s.x = 1 AND c._id = 16", 1,
         1                                                                                                      },
        { "['t1']",        "SELECT * FROM c WHERE c.t = 't2'",                                             9,  0},
    };
    struct query_explain e;
    struct world w;

    world_open(&w, ON_MEMORY);
    CHECK_OK(collection_create(w.engine, w.arena, &definition, NULL, 0));
    for (int i = 0; i < 27; i++)
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'t':'t%d','u':'u%d','s':{'x':%d}}", i, i / 9,
                                   i / 3 % 3, i % 3),
                      OK);
    EACH_ROW(rows, r) {
        struct asking how = { .partition = r->partition };
        ask(&w, "c", r->sql, &how, &e);
        CHECK_EQ(e.rows, r->rows, "%s in %s", r->sql, r->partition ? r->partition : "all");
        CHECK_EQ(e.output_count, r->given, "%s in %s", r->sql, r->partition ? r->partition : "all");
    }
    world_close(&w);
}

/* ---- failures ---------------------------------------------------------------------------------------------- */

static const char *const queries[] = {
    "SELECT * FROM c",
    "SELECT * FROM c WHERE c.n > 3",
    "SELECT c.n, [c.g, {x: c._id}] AS l FROM c WHERE c.n IN (1, 5, 20) ORDER BY c.n DESC",
    "SELECT * FROM c ORDER BY c.n",
    "SELECT DISTINCT VALUE c.g FROM c",
    "SELECT * FROM c WHERE c._id IN (1, 3, 5)",
    "SELECT VALUE [COUNT(1), MAX(c.n), AVG(c.n)] FROM c WHERE c.n > 3",
    "SELECT VALUE COUNT(1) FROM c",
};

static void fill(struct world *w)
{
    world_open(w, ON_MEMORY);
    world_collection(w, "c", TTL_OFF, "all: paths +/*");
    for (int i = 0; i < 30; i++)
        CHECK_WRITTEN(world_insert(w, "c", "{'_id':%d,'n':%d,'g':'%s'}", i, i, i % 3 ? "x" : "y"),
                      OK);
}

TEST(query_page, a_failing_storage_fails_the_page_cleanly)
{
    struct world w;

    fill(&w);
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        const struct asking how = { 0 };
        status_code code = IO_ERROR;
        for (uint64_t nth = 1; code != OK; nth++) {
            struct request request = world_begin(&w);
            struct buffer rows = buffer_in(w.arena);
            struct query_page page;
            bytes state = BYTES_NONE;
            CHECK_THAT(nth < 1000, "%s never succeeds", queries[i]);
            storage_faulty_arm(w.storage, nth);
            code = ask_page(&w, &request, "c", queries[i], &how, &state, &rows, &page).code;
            storage_faulty_arm(w.storage, 0);
            CHECK_THAT(code == OK || code == IO_ERROR, "%s: %s", queries[i],
                       status_code_name(code));
            world_end(&request);
        }
    }
    world_close(&w);
}

TEST(query_page, too_little_memory_is_said_and_nothing_else_happens)
{
    struct world w;

    fill(&w);
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        status_code code = OUT_OF_MEMORY;
        for (size_t budget = 64; code != OK; budget += budget / 4) {
            const struct asking how = { 0 };
            struct arena *arena = arena_open(budget);
            struct buffer rows = buffer_in(w.arena);
            struct query_page page;
            struct request request;
            bytes state = BYTES_NONE;
            CHECK(budget < BUDGET);
            CHECK_OK(request_begin(w.engine, arena, &request));
            status s = ask_page(&w, &request, "c", queries[i], &how, &state, &rows, &page);
            code = s.code;
            CHECK_THAT(code == OK || code == OUT_OF_MEMORY, "%s with %zu bytes: %s: %s", queries[i],
                       budget, status_code_name(code), s.message);
            request_end(&request);
            arena_close(arena);
        }
    }
    world_close(&w);
}

static status refuse(void *context, struct value row, size_t *len_out)
{
    (void)context, (void)row;
    *len_out = 0;
    return status_of(CANCELLED, "enough");
}

TEST(query_page, a_sink_that_refuses_ends_the_page)
{
    const struct query_limits limits = { .items = 10 };
    struct world w;

    fill(&w);
    for (size_t i = 0; i < ARRAY_COUNT(queries); i++) {
        struct request request = world_begin(&w);
        struct query_source source = { .request = &request,
                                       .collection = world_find(&request, "c") };
        struct query_page page;
        CHECK_CODE(query_run_page(ask_query(request.arena, queries[i], NULL), &source, &limits,
                                  BYTES_NONE, refuse, NULL, &page),
                   CANCELLED);
        world_end(&request);
    }
    world_close(&w);
}

TEST(query_page, a_page_ends_with_the_row_that_fills_its_bytes)
{
    const struct query_limits limits = { .items = 100, .output_bytes = 5 };
    struct counted counted;
    struct world w;

    fill(&w);
    static const char *const streams[] = { "SELECT * FROM c", "SELECT * FROM c ORDER BY c.g" };
    for (size_t i = 0; i < 2; i++) {
        struct request request = world_begin(&w);
        struct query_source source = { .request = &request,
                                       .collection = world_find(&request, "c") };
        struct query_page page;
        counted = (struct counted){ .rows = buffer_in(w.arena) };
        CHECK_OK(query_run_page(ask_query(request.arena, streams[i], NULL), &source, &limits,
                                BYTES_NONE, take_row, &counted, &page));
        CHECK_EQ(page.explain.output_count, 5, "the sink says 1 byte for each");
        CHECK(page.state.len > 0);
        world_end(&request);
    }
    world_close(&w);
}
