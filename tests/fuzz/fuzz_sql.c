/* Fuzz SQL: any text is either refused with a code and a place inside it, or gives a tree that runs.
 *
 * The text is parsed as a query and as a condition; what is accepted runs over two small documents, in
 * pages of one row, and whatever it gives must be a value that can be written as JSON. The text also has the
 * pieces that its tree has, and the query that is made of them is accepted too. */
#include "front/cosmos/sql_rewrite.h"

enum { BUDGET = 64 * 1024 * 1024, TEXT_BYTES_MAX = 4096, PAGES_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char first[] =
    "{\"id\":\"a\",\"n\":1,\"s\":\"abc\",\"a\":[1,\"x\",null],\"o\":{\"p\":true}}";
static const char second[] = "{\"id\":\"b\",\"n\":-2.5,\"z\":null,\"a\":[]}";
static const char parameters[] =
    "[{\"name\":\"@p\",\"value\":1},{\"name\":\"@q\",\"value\":\"abc\"}]";

static status write_row(void *context, struct value row, size_t *len_out)
{
    struct buffer *out = context;
    size_t before = out->len;

    json_write_value(out, row);
    *len_out = out->len - before;
    ASSERT(out->is_failed || *len_out > 0);
    return STATUS_OK;
}

static void run(struct arena *arena, const struct query *query)
{
    const struct query_limits limits = { .items = 1, .rows = 1 };
    struct query_item items[2] = { { .key = BYTES_LITERAL("1") }, { .key = BYTES_LITERAL("2") } };
    struct query_source source = { .arena = arena, .items = items, .item_count = 2 };
    struct buffer out = buffer_in(arena);
    struct query_page page = { 0 };
    int pages = 0;

    ASSERT(json_read(arena, bytes_of_text(first), &items[0].document).code == OK);
    ASSERT(json_read(arena, bytes_of_text(second), &items[1].document).code == OK);
    do {
        status s = query_run_page(query, &source, &limits, page.state, write_row, &out, &page);
        /* A subquery that stands for one value may have several. */
        ASSERT(s.code == OK || s.code == OUT_OF_MEMORY || s.code == TOO_LARGE ||
               (s.code == INVALID && query->is_nested && !page.is_state_refused));
        if (s.code != OK)
            return;
        /* Joins make any number of rows; without them there is an end. */
        ASSERT(++pages <= PAGES_MAX || query->binding_count > 0);
    } while (page.state.len && pages <= PAGES_MAX);
    ASSERT(query_distinct_kind(query) <= DISTINCT_UNORDERED);
}

static void check_rewritten(struct arena *arena, enum sql_form form, const struct query *query,
                            const struct sql_layout *layout, bytes values)
{
    struct buffer out = buffer_in(arena);
    const struct query *other;
    struct sql_error error;
    bytes text;

    sql_rewrite(&out, form, query, layout, "true");
    if (buffer_finish(&out, &text).code != OK)
        return;
    status s = sql_parse(arena, text, values, &other, &error);
    /* It is nested deeper, which may be too deep, and counts rows from the first on, which may be too many. */
    ASSERT(s.code == OK || s.code == OUT_OF_MEMORY || s.code == TOO_LARGE ||
           query->limit > INT64_MAX - query->skip);
}

static void check_layout(struct arena *arena, bytes text, const struct query *query, bytes values)
{
    struct sql_layout layout;
    status s = sql_layout(arena, text, &layout);

    ASSERT(s.code == OK || s.code == OUT_OF_MEMORY);
    /* Scores are not rewritten. */
    if (s.code != OK || query->aggregate_count || query->group_count || query->rank)
        return;
    ASSERT(sql_layout_fits(&layout, query));
    if (layout.from.len == 0)
        return;
    check_rewritten(arena, SQL_FORM_ROWS, query, &layout, values);
    if (layout.root.len && layout.orders.count)
        check_rewritten(arena, SQL_FORM_ORDERED, query, &layout, values);
}

static void check_error(status s, const struct sql_error *error, size_t size)
{
    if (s.code != INVALID)
        return;
    ASSERT(error->code[0] != 0);
    ASSERT(error->message[0] != 0);
    ASSERT(error->start <= error->end);
    ASSERT(error->end <= 2 * size); /* bytes that are no UTF-8 may count twice */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_open(BUDGET);
    bytes text = bytes_of(data, size < TEXT_BYTES_MAX ? size : TEXT_BYTES_MAX);
    const struct query *query;
    struct sql_error error;
    bytes values;

    ASSERT(json_read_array(arena, bytes_of_text(parameters), &values).code == OK);
    status s = sql_parse(arena, text, values, &query, &error);
    check_error(s, &error, text.len);
    if (s.code == OK) {
        check_layout(arena, text, query, values);
        run(arena, query);
    }
    s = sql_parse_condition(arena, text, &query, &error);
    check_error(s, &error, text.len);
    if (s.code == OK) {
        struct document document = { 0 };
        bool is_match;
        ASSERT(json_read(arena, bytes_of_text(first), &document.bson).code == OK);
        s = query_matches(query, arena, NULL, &document, 0, &is_match);
        ASSERT(s.code == OK || s.code == OUT_OF_MEMORY || s.code == TOO_LARGE);
    }
    arena_close(arena);
    return 0;
}
