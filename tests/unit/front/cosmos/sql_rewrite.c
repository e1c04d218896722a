/* SQL rewrite: what a client makes of the rows of a rewritten query is what the query itself gives, for random
 * queries over random documents. The client here knows the steps that plans ask for, and nothing else. */
#include "tests/support/ask.h"
#include "tests/support/cosmos_face.h"
#include "tests/support/random_sql.h"

enum { DOCUMENTS = 30, QUERIES = 150, BUDGET = 256 << 20 };

#define PLACE "{documentdb-formattableorderbyquery-filter}"

/* ---- plans ------------------------------------------------------------------------------------------- */

/* The text of a query as JSON in which no ' stands for something else. */
static const char *quoted(struct arena *arena, const char *text)
{
    struct buffer out = buffer_in(arena);

    for (; *text; text++) {
        if (*text == '\'' || *text == '"')
            buffer_append_format(&out, "\\u%04x", (unsigned)*text);
        else
            buffer_append_byte(&out, (uint8_t)*text);
    }
    buffer_append_byte(&out, 0);
    CHECK(!out.is_failed);
    return (const char *)out.data;
}

static struct cosmos_answer ask_plan(struct cosmos_face *f, const char *sql)
{
    return cosmos_ask(f, "POST /dbs/d/colls/c/docs", "x-ms-cosmos-is-query-plan-request: True",
                      arena_format(f->world.arena, "{'query':'%s'}", quoted(f->world.arena, sql)));
}

/* Text in JSON as it is, with true where clients put their condition. */
static const char *plain_text(struct arena *arena, bytes json)
{
    struct buffer out = buffer_in(arena);
    bytes array;
    struct value text;

    CHECK_OK(json_read_array(
        arena, bytes_of_text(arena_format(arena, "[%.*s]", (int)json.len, (const char *)json.data)),
        &array));
    CHECK(document_find(array, "0", &text));
    const char *whole = arena_format(arena, "%.*s", (int)value_text(text).len,
                                     (const char *)value_text(text).data);
    const char *place = strstr(whole, PLACE);
    if (!place)
        return whole;
    buffer_append(&out, bytes_of(whole, (size_t)(place - whole)));
    buffer_append_format(&out, "true%s", place + strlen(PLACE));
    buffer_append_byte(&out, 0);
    CHECK(!out.is_failed);
    return (const char *)out.data;
}

/* ---- what a client makes of rows ------------------------------------------------------------------------ */

/* The result that a partial aggregate comes to, if there is no other part: in this order {"item2": {"min"}},
 * {"item": {"sum", "count"}}, {"item"}. */
static struct value result_of(struct arena *arena, struct value partial)
{
    struct value item, sum, count, result = { .type = VALUE_MISSING };
    bytes document = value_document(partial);

    if (document_find(document, "item2", &item)) {
        if (!document_find(value_document(item), "min", &result))
            document_find(value_document(item), "max", &result);
        return result;
    }
    if (!document_find(document, "item", &item))
        return result;
    bool is_mean = item.type == VALUE_DOCUMENT &&
                   document_find(value_document(item), "count", &count);
    if (!is_mean)
        return item;
    if (document_find(value_document(item), "sum", &sum) && value_as_double(count) > 0)
        CHECK_OK(value_of_double(arena, value_as_double(sum) / value_as_double(count), &result));
    return result;
}

/* A row of groups or aggregates: each named column is partial or as it is, as the plan says. */
static void append_group(struct arena *arena, struct buffer *rows, bytes payload, bytes types)
{
    struct buffer row = buffer_in(arena);
    size_t mark = document_begin(&row);
    struct document_walk walk = document_fields(payload);
    struct field field;
    struct value type;
    bytes made;

    while (document_next(&walk, &field)) {
        bool is_partial = document_find_bytes(types, field.name, &type) &&
                          type.type == VALUE_STRING;
        document_append(&row, field.name, is_partial ? result_of(arena, field.value) : field.value);
    }
    document_end(&row, mark);
    CHECK_OK(buffer_finish(&row, &made));
    buffer_append_text(rows, rows->len > 1 ? "," : "");
    json_write(rows, made);
}

static void append_value(struct arena *arena, struct buffer *rows, struct value payload)
{
    struct value first, result;

    CHECK(payload.type == VALUE_ARRAY && document_find(value_document(payload), "0", &first));
    result = result_of(arena, first);
    if (result.type == VALUE_MISSING)
        return;
    buffer_append_text(rows, rows->len > 1 ? "," : "");
    json_write_value(rows, result);
}

/* The answer to the query, made of the answer to the rewritten one. */
static const char *put_together(struct cosmos_face *f, const struct cosmos_answer *plan,
                                const char *answer)
{
    struct arena *arena = f->world.arena;
    struct buffer rows = buffer_in(arena);
    bool is_ordered = cosmos_value(f, plan, "queryInfo.orderBy").len > 2;
    bool is_value = cosmos_value(f, plan, "queryInfo.aggregates").len > 2;
    bytes types, array;
    struct field field;
    struct value payload;

    CHECK_THAT(answer[0] == '[', "%s", answer);
    CHECK_OK(
        json_read(arena, cosmos_value(f, plan, "queryInfo.groupByAliasToAggregateType"), &types));
    CHECK_OK(json_read_array(arena, bytes_of_text(answer), &array));
    buffer_append_text(&rows, "[");
    struct document_walk walk = document_fields(array);
    while (document_next(&walk, &field)) {
        bool has_payload = field.value.type == VALUE_DOCUMENT &&
                           document_find(value_document(field.value), "payload", &payload);
        if (is_value) {
            append_value(arena, &rows, has_payload ? payload : field.value);
        } else if (is_ordered) {
            CHECK(has_payload);
            buffer_append_text(&rows, rows.len > 1 ? "," : "");
            json_write_value(&rows, payload);
        } else {
            CHECK(has_payload);
            append_group(arena, &rows, value_document(payload), types);
        }
    }
    buffer_append_text(&rows, "]");
    buffer_append_byte(&rows, 0);
    CHECK(!rows.is_failed);
    return (const char *)rows.data;
}

/* ---- the comparison ------------------------------------------------------------------------------------- */

static bool is_put_together(struct cosmos_face *f, const struct cosmos_answer *plan)
{
    return cosmos_value(f, plan, "queryInfo.orderBy").len > 2 ||
           cosmos_value(f, plan, "queryInfo.aggregates").len > 2 ||
           cosmos_value(f, plan, "queryInfo.groupByAliasToAggregateType").len > 2;
}

/* Returns whether the client had anything to do. Limits are checked elsewhere: here is one range. */
static bool check_query(struct cosmos_face *f, struct random *random, const char *documents)
{
    struct arena *arena = f->world.arena;
    struct random_sql_query query = random_sql_query(arena, random);
    const char *want = ask_list(arena, documents, query.text, NULL);

    if (want[0] != '[' || strstr(query.text, " OFFSET "))
        return false;
    struct cosmos_answer plan = ask_plan(f, query.text);
    CHECK_ANSWER(plan, 200);
    const char *rewritten = plain_text(arena, cosmos_value(f, &plan, "queryInfo.rewrittenQuery"));
    if (!rewritten[0] || !is_put_together(f, &plan))
        return false;
    const char *got = put_together(f, &plan, ask_list(arena, documents, rewritten, NULL));
    if (!query.is_ordered) {
        got = ask_sorted(arena, got);
        want = ask_sorted(arena, want);
    }
    CHECK_THAT(strcmp(got, want) == 0, "%s\n  as %s\n  gives %s\n  want  %s", query.text, rewritten,
               got, want);
    return true;
}

static const char *make_documents(struct arena *arena, struct random *random)
{
    struct buffer list = buffer_in(arena);

    buffer_append_text(&list, "[");
    for (int id = 0; id < DOCUMENTS; id++)
        buffer_append_format(&list, "%s%s", id ? "," : "",
                             random_sql_document(arena, random, id, ""));
    buffer_append_text(&list, "]");
    buffer_append_byte(&list, 0);
    CHECK(!list.is_failed);
    return (const char *)list.data;
}

TEST(sql_rewrite, clients_put_rewritten_rows_together_to_the_same_answer)
{
    EACH_SEED(seed, 2) {
        struct random random = random_seeded(seed);
        struct arena *arena = arena_open(BUDGET);
        struct cosmos_face f;
        size_t busy = 0;
        cosmos_face_open(&f);
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'d'}"), 201);
        CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/colls", "",
                                "{'id':'c','partitionKey':{'paths':['/pk'],'kind':'Hash'}}"),
                     201);
        const char *documents = make_documents(arena, &random);
        for (size_t i = 0; i < QUERIES; i++) {
            arena_position mark = arena_mark(f.world.arena);
            busy += check_query(&f, &random, documents);
            arena_release(f.world.arena, mark);
        }
        CHECK_THAT(busy > QUERIES / 10, "clients had only %zu queries to put together", busy);
        cosmos_face_close(&f);
        arena_close(arena);
    }
}
