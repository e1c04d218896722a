/* Ask: queries of tests, run page by page.
 *
 * Threads: the test's thread. */
#include "tests/support/ask.h"

#include <stdio.h>
#include <stdlib.h>

enum { MANY = 1000000, PAGES_MAX = 100000 };

static bytes json_array(struct arena *arena, const char *text)
{
    struct buffer json = buffer_in(arena);
    bytes array;

    for (const char *at = text; *at; at++)
        buffer_append_byte(&json, (uint8_t)(*at == '\'' ? '"' : *at));
    CHECK(!json.is_failed);
    status s = json_read_array(arena, bytes_of(json.data, json.len), &array);
    CHECK_THAT(s.code == OK, "%s: %s", text, s.message);
    return array;
}

static status parse(struct arena *arena, const char *sql, const char *parameters,
                    const struct query **out)
{
    bytes array = parameters ? json_array(arena, parameters) : BYTES_NONE;
    struct sql_error error;
    status s = sql_parse(arena, bytes_of_text(sql), array, out, &error);

    if (s.code == INVALID || (s.code == TOO_LARGE && error.code[0]))
        return status_fail(arena, s.code, "%s %zu-%zu: %s", error.code, error.start, error.end,
                           error.message);
    return s;
}

const struct query *ask_query(struct arena *arena, const char *sql, const char *parameters)
{
    const struct query *query;

    CHECK_OK(parse(arena, sql, parameters, &query));
    return query;
}

static status sink(void *context, struct value row, size_t *len_out)
{
    struct buffer *rows = context;
    size_t before = rows->len;

    if (rows->len)
        buffer_append_byte(rows, ',');
    json_write_value(rows, row);
    *len_out = rows->len - before;
    return STATUS_OK;
}

static const char *failure(struct arena *arena, status s)
{
    bool is_of_text = (s.code == INVALID || s.code == TOO_LARGE) &&
                      (strncmp(s.message, "SC", 2) == 0 || strncmp(s.message, "4001", 4) == 0);

    return is_of_text ? s.message
                      : arena_format(arena, "%s: %s", status_code_name(s.code), s.message);
}

static const char *wrapped(struct arena *arena, const struct buffer *rows)
{
    CHECK(!rows->is_failed);
    return arena_format(arena, "[%.*s]", (int)rows->len, (const char *)rows->data);
}

/* ---- lists ------------------------------------------------------------------------------------------- */

static size_t list_items(struct arena *arena, bytes array, struct query_item **out)
{
    struct document_walk walk = document_fields(array);
    struct field field;
    size_t count = 0;

    CHECK_OK(ARENA_NEW(arena, array.len, out));
    while (document_next(&walk, &field)) {
        const char *key = arena_format(arena, "%06zu", count);
        (*out)[count++] = (struct query_item){ .key = bytes_of_text(key),
                                               .document = value_document(field.value) };
    }
    return count;
}

const char *ask_list(struct arena *arena, const char *documents, const char *sql,
                     const char *parameters)
{
    const struct query_limits limits = { .items = MANY };
    struct query_source source = { .arena = arena, .now = ASK_LIST_NOW };
    struct buffer rows = buffer_in(arena);
    const struct query *query;
    struct query_page page;
    struct query_item *items;

    status s = parse(arena, sql, parameters, &query);
    if (s.code != OK)
        return failure(arena, s);
    source.item_count = list_items(arena, json_array(arena, documents), &items);
    source.items = items;
    /* A page is short if it has kept rows that turn out to give nothing. */
    page.state = BYTES_NONE;
    for (size_t i = 0; i == 0 || page.state.len > 0; i++) {
        CHECK_THAT(i < source.item_count + 2, "%s does not end", sql);
        s = query_run_page(query, &source, &limits, page.state, sink, &rows, &page);
        if (s.code != OK)
            return failure(arena, s);
    }
    return wrapped(arena, &rows);
}

/* ---- collections ------------------------------------------------------------------------------------- */

static status show_time(void *context, const struct document *document, struct arena *arena,
                        bytes *fields_out)
{
    struct buffer out = buffer_in(arena);
    size_t mark = document_begin(&out);

    (void)context;
    document_append_int64(&out, "_ts", document->written_at_s - WORLD_START_S);
    document_end(&out, mark);
    return buffer_finish(&out, fields_out);
}

static bytes partition_of(struct arena *arena, const char *text)
{
    struct buffer key = buffer_in(arena);
    bytes array = json_array(arena, text);
    struct document_walk walk = document_fields(array);
    struct field field;
    bytes out;

    while (document_next(&walk, &field))
        key_append_value(&key, field.value, KEY_ASCENDING);
    CHECK_OK(buffer_finish(&key, &out));
    return out;
}

static enum query_patience tell_patience(void *context)
{
    return ((const struct asking *)context)->patience;
}

status ask_page(struct world *w, struct request *request, const char *collection, const char *sql,
                const struct asking *how, bytes *state, struct buffer *rows,
                struct query_page *page_out)
{
    static const bytes names[] = { BYTES_LITERAL("_ts") };
    const struct query_decoration decoration = {
        .decorate = show_time,
        .names = names,
        .name_count = 1,
        .id_name = how->is_without_ids ? BYTES_NONE : BYTES_LITERAL("_id"),
    };
    const struct query_limits limits = { .items = how->items ? how->items : MANY,
                                         .rows = how->rows ? how->rows : MANY,
                                         .loaded_bytes = UINT64_MAX,
                                         .ask = tell_patience,
                                         .ask_context = (void *)(uintptr_t)how };
    struct query_source source = { .request = request,
                                   .collection = world_find(request, collection),
                                   .decoration = how->is_plain ? NULL : &decoration };
    const struct query *query;

    TRY(parse(request->arena, sql, how->parameters, &query));
    if (how->partition)
        source.partition = partition_of(request->arena, how->partition);
    TRY(query_run_page(query, &source, &limits, *state, sink, rows, page_out));
    return arena_copy(w->arena, page_out->state, state);
}

static void add_figures(struct query_explain *sum, const struct query_explain *page)
{
    struct query_explain before = *sum;

    *sum = *page;
    sum->rows += before.rows;
    sum->joined += before.joined;
    sum->documents += before.documents;
    sum->loaded_bytes += before.loaded_bytes;
    sum->output_count += before.output_count;
    sum->output_bytes += before.output_bytes;
}

const char *ask(struct world *w, const char *collection, const char *sql, const struct asking *how,
                struct query_explain *explain_out)
{
    static const struct asking plainly;
    struct buffer rows = buffer_in(w->arena);
    struct query_explain sum = { 0 };
    bytes state = BYTES_NONE;

    for (int pages = 0; pages == 0 || state.len; pages++) {
        struct request request = world_begin(w);
        struct query_page page = { 0 };
        CHECK_THAT(pages < PAGES_MAX, "the query does not end: %s", sql);
        status s = ask_page(w, &request, collection, sql, how ? how : &plainly, &state, &rows,
                            &page);
        const char *failed = s.code == OK ? NULL : failure(w->arena, s);
        failed = failed ? arena_format(w->arena, "%s", failed) : NULL;
        add_figures(&sum, &page.explain);
        CHECK_OK(arena_copy(w->arena, sum.path, &sum.path));
        world_end(&request);
        if (failed)
            return failed;
    }
    if (explain_out)
        *explain_out = sum;
    return wrapped(w->arena, &rows);
}

/* ---- comparing --------------------------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *ask_sorted(struct arena *arena, const char *text)
{
    const char **rows;
    struct buffer out = buffer_in(arena);
    struct field field;
    size_t count = 0;
    bytes array;

    if (text[0] != '[' || json_read_array(arena, bytes_of_text(text), &array).code != OK)
        return text;
    CHECK_OK(ARENA_NEW(arena, document_field_count(array) + 1, &rows));
    struct document_walk walk = document_fields(array);
    while (document_next(&walk, &field)) {
        struct buffer row = buffer_in(arena);
        json_write_value(&row, field.value);
        buffer_append_byte(&row, 0);
        rows[count++] = (const char *)row.data;
    }
    qsort(rows, count, sizeof(rows[0]), compare_texts);
    for (size_t i = 0; i < count; i++)
        buffer_append_format(&out, "%s%s", i ? "," : "[", rows[i]);
    buffer_append_text(&out, count ? "]" : "[]");
    buffer_append_byte(&out, 0);
    return (const char *)out.data;
}
