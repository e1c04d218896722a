/* Item query plan: what a client has to do with the answers to a query, and which query it has to ask.
 *
 * Clients that spread a query over several ranges ask for this first. The plan tells them to merge by an
 * order, to add up groups and aggregates, to leave out what they had before, to skip and to stop; and it
 * gives them another text whose rows carry what these steps need (sql_rewrite.c).
 *
 * There is one range, and the query itself is answered whole. So wherever these steps cannot be written
 * down, or the client does not know them, or would lose rows by them, the plan asks for nothing: then the
 * client sends the query as it is and passes on what it gets, which is right too.
 *
 * Keeps: a text is only given to a client if this server takes it.
 * Threads: the worker's. Start reading at serve_item_query_plan(). */
#include <inttypes.h>

#include "front/cosmos/item.h"
#include "front/cosmos/sql_rewrite.h"

/* Clients put a condition of their own here, or true. */
#define FILTER_PLACE "{documentdb-formattableorderbyquery-filter}"

struct plan {
    struct call *call;
    const struct query *query;
    bytes text, parameters;
    struct sql_layout layout;
    /* What it asks of the client; nothing of it if the query is to be sent as it is. */
    bool is_whole;
    enum sql_form form;
    bytes rewritten; /* empty: the query itself will do */
};

/* ---- what the client can do ------------------------------------------------------------------------- */

/* Is the word in the list that the header is? */
static bool list_has(bytes list, const char *word)
{
    size_t start = 0;

    for (size_t i = 0; i <= list.len; i++) {
        if (i < list.len && list.data[i] != ',')
            continue;
        while (start < i && list.data[start] == ' ')
            start++;
        if (bytes_equal(bytes_of(list.data + start, i - start), bytes_of_text(word)))
            return true;
        start = i + 1;
    }
    return false;
}

/* A client that does not say what it can do is taken to do everything. */
static bool client_can(const struct plan *p, bool is_needed, const char *feature)
{
    bytes list;

    return !is_needed || !call_header(p->call, "x-ms-cosmos-supported-query-features", &list) ||
           list_has(list, feature);
}

static bool client_can_limit(const struct plan *p)
{
    return client_can(p, p->query->has_top, "Top") &&
           client_can(p, p->query->has_skip, "OffsetAndLimit") &&
           client_can(p, p->query->is_distinct, "Distinct");
}

/* ---- what is asked of it ---------------------------------------------------------------------------- */

/* Groups and aggregates: each column is an aggregate or has none in it. */
static bool can_group(const struct plan *p)
{
    const struct sql_pieces *columns = &p->layout.columns;
    size_t aggregates = 0;

    if (p->query->is_distinct || p->layout.orders.count || p->layout.is_star)
        return false;
    for (size_t i = 0; i < columns->count; i++) {
        const struct expression *column = sql_column(p->query, i);
        const char *plan_name = sql_aggregate_name(columns->texts[i]);
        if (!sql_has_aggregate(column))
            continue;
        if (column->kind != EXPRESSION_AGGREGATE || !plan_name)
            return false;
        if (!client_can(p, strcmp(plan_name, "CountIf") == 0, "CountIf") ||
            !client_can(p, strncmp(plan_name, "Make", 4) == 0, "ListAndSetAggregate"))
            return false;
        aggregates++;
    }
    bool is_bare = p->query->is_output_bare;
    return client_can(p, p->layout.groups.count > 0, "GroupBy") &&
           client_can(p, aggregates > 0, is_bare ? "Aggregate" : "NonValueAggregate") &&
           client_can(p, aggregates > 1, "MultipleAggregates");
}

/* Clients leave rows out that are false, 0, "" or null where they look for those they had before. */
static bool can_tell_apart(const struct plan *p)
{
    const struct query *query = p->query;

    if (p->layout.is_star)
        return p->layout.root.len > 0;
    return !query->is_output_bare || query->output->kind == EXPRESSION_OBJECT ||
           query->output->kind == EXPRESSION_ARRAY;
}

/* Where the items have no name of their own, their _rid cannot be asked for. */
static bool can_order(const struct plan *p)
{
    return p->layout.root.len > 0 && !p->query->rank &&
           client_can(p, true, p->layout.orders.count > 1 ? "MultipleOrderBy" : "OrderBy");
}

static bool choose_form(struct plan *p)
{
    const struct query *query = p->query;
    bool is_endless = query->has_skip && query->limit > UINT64_MAX - query->skip;

    if (!sql_layout_fits(&p->layout, query) || p->layout.from.len == 0 || is_endless ||
        !client_can_limit(p) || (query->is_distinct && !can_tell_apart(p)))
        return false;
    if (query->aggregate_count || p->layout.groups.count) {
        p->form = SQL_FORM_GROUPED;
        return can_group(p);
    }
    p->form = p->layout.orders.count ? SQL_FORM_ORDERED : SQL_FORM_ROWS;
    return p->form == SQL_FORM_ROWS || can_order(p);
}

static status rewrite(struct plan *p, const char *filter, bytes *out)
{
    struct buffer text = buffer_in(p->call->arena);

    sql_rewrite(&text, p->form, p->query, &p->layout, filter);
    return buffer_finish(&text, out);
}

/* Writes the text and tries it, with the condition that clients without one put in. */
static status make_text(struct plan *p)
{
    const struct query *query;
    struct sql_error error;
    bytes tried;

    if (p->form == SQL_FORM_ROWS && !p->query->has_top && !p->query->has_skip)
        return STATUS_OK;
    TRY(rewrite(p, "true", &tried));
    status s = sql_parse(p->call->arena, tried, p->parameters, &query, &error);
    p->is_whole = s.code == INVALID || s.code == TOO_LARGE || s.code == UNSUPPORTED;
    return s.code == OK ? rewrite(p, FILTER_PLACE, &p->rewritten) : p->is_whole ? STATUS_OK : s;
}

static status make_plan(struct call *call, struct plan *out)
{
    struct value text, parameters;
    bytes body;

    *out = (struct plan){ .call = call };
    TRY(resource_query(call, &out->query));
    TRY(call_body(call, &body));
    document_find(body, "query", &text);
    out->text = value_text(text);
    if (document_find(body, "parameters", &parameters) && parameters.type == VALUE_ARRAY)
        out->parameters = value_document(parameters);
    TRY(sql_layout(call->arena, out->text, &out->layout));
    out->is_whole = !choose_form(out);
    return out->is_whole ? STATUS_OK : make_text(out);
}

/* ---- as JSON ---------------------------------------------------------------------------------------- */

static void write_number(struct buffer *out, const char *name, bool is_there, uint64_t number)
{
    if (is_there)
        buffer_append_format(out, "\"%s\":%" PRIu64 ",", name, number);
    else
        buffer_append_format(out, "\"%s\":null,", name);
}

static void write_texts(struct buffer *out, const char *name, const struct sql_pieces *texts)
{
    buffer_append_format(out, "\"%s\":[", name);
    for (size_t i = 0; texts && i < texts->count; i++) {
        buffer_append_text(out, i ? "," : "");
        http_append_json_text(out, texts->texts[i]);
    }
    buffer_append_text(out, "],");
}

static void write_orders(struct buffer *out, const struct plan *p)
{
    bool is_ordered = !p->is_whole && p->form == SQL_FORM_ORDERED;

    buffer_append_text(out, "\"orderBy\":[");
    for (size_t i = 0; is_ordered && i < p->query->order_count; i++)
        buffer_append_format(out, "%s\"%s\"", i ? "," : "",
                             p->query->orders[i].is_descending ? "Descending" : "Ascending");
    buffer_append_text(out, "],");
    write_texts(out, "orderByExpressions", is_ordered ? &p->layout.orders : NULL);
}

static void write_operator(struct buffer *out, const struct plan *p, size_t column)
{
    bool is_aggregate = sql_has_aggregate(sql_column(p->query, column));

    buffer_append_format(out, is_aggregate ? "\"%s\"" : "%s",
                         is_aggregate ? sql_aggregate_name(p->layout.columns.texts[column])
                                      : "null");
}

/* How the columns of a group are added up: with names one by one, or the value that the group is. */
static void write_groups(struct buffer *out, const struct plan *p)
{
    const struct query *query = p->query;
    bool is_grouped = !p->is_whole && p->form == SQL_FORM_GROUPED;
    bool is_named = is_grouped && !query->is_output_bare;

    write_texts(out, "groupByExpressions", is_grouped ? &p->layout.groups : NULL);
    buffer_append_text(out, "\"groupByAliases\":[");
    for (size_t i = 0; is_named && i < query->output->count; i++) {
        buffer_append_text(out, i ? "," : "");
        http_append_json_text(out, query->output->names[i]);
    }
    buffer_append_text(out, "],\"aggregates\":[");
    if (is_grouped && !is_named && sql_has_aggregate(query->output))
        write_operator(out, p, 0);
    buffer_append_text(out, "],\"groupByAliasToAggregateType\":{");
    for (size_t i = 0; is_named && i < query->output->count; i++) {
        buffer_append_text(out, i ? "," : "");
        http_append_json_text(out, query->output->names[i]);
        buffer_append_text(out, ":");
        write_operator(out, p, i);
    }
    buffer_append_text(out, "},");
}

static void write_plan(struct buffer *out, const struct plan *p)
{
    const struct query *query = p->query;
    enum query_distinct distinct = p->is_whole ? DISTINCT_NONE : query_distinct_kind(query);

    buffer_append_format(out,
                         "{\"partitionedQueryExecutionInfoVersion\":2,\"queryInfo\":{"
                         "\"distinctType\":\"%s\",",
                         distinct == DISTINCT_NONE      ? "None"
                         : distinct == DISTINCT_ORDERED ? "Ordered"
                                                        : "Unordered");
    write_number(out, "top", !p->is_whole && query->has_top, query->limit);
    write_number(out, "offset", !p->is_whole && query->has_skip, query->skip);
    write_number(out, "limit", !p->is_whole && query->has_skip, query->limit);
    write_orders(out, p);
    write_groups(out, p);
    buffer_append_text(out, "\"rewrittenQuery\":");
    http_append_json_text(out, p->rewritten);
    buffer_append_format(out,
                         ",\"hasSelectValue\":%s,\"dCountInfo\":null,"
                         "\"hasNonStreamingOrderBy\":false},\"queryRanges\":[{\"min\":\"\","
                         "\"max\":\"FF\",\"isMinInclusive\":true,\"isMaxInclusive\":false}]}",
                         query->is_output_bare ? "true" : "false");
}

status serve_item_query_plan(struct call *call)
{
    struct buffer body = buffer_in(call->arena);
    struct plan plan;

    TRY(make_plan(call, &plan));
    write_plan(&body, &plan);
    return call_reply(call, 200, &body);
}
