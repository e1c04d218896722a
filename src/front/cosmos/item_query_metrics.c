/* Item query metrics: the headers that say how a query was answered.
 *
 * Counts and times are those of this page, read from the machine's stopwatch and only if the client has asked:
 * compiling is parsing the text; the logical plan is what the condition says of single paths, found out to see whether
 * the order can be given; the physical plan is the way that is taken, and optimizing the choice between several. What
 * is left of the run when lookups in indexes, loading documents and writing rows are taken away, is the execution.
 * Functions are part of it: nobody reads the clock for each.
 *
 * Indexes are told in two forms: as JSON with the kinds within used and potential ones, and, for clients of old, as
 * four lists in base64.
 *
 * Threads: the worker's. Start reading at query_metrics_add(). */
#include "front/cosmos/item_query_metrics.h"

#include <inttypes.h>

#include "front/cosmos/item.h"

static bool wants_advice(const struct call *call, bool *is_plain_out)
{
    *is_plain_out = route_header_is_true(call->http, "x-ms-cosmos-populateindexmetrics-V2");
    return *is_plain_out || route_header_is_true(call->http, "x-ms-cosmos-populateindexmetrics");
}

struct query_metrics query_metrics_begin(const struct call *call)
{
    struct query_metrics metrics = {
        .is_timed = route_header_is_true(call->http, "x-ms-documentdb-populatequerymetrics"),
        .is_advised = wants_advice(call, &(bool){ false }),
    };

    metrics.begun = metrics.is_timed ? clock_stopwatch_ns() : 0;
    return metrics;
}

void query_metrics_compiled(struct query_metrics *metrics)
{
    metrics->compiled = metrics->is_timed ? clock_stopwatch_ns() : 0;
}

void query_metrics_checked(struct query_metrics *metrics)
{
    metrics->checked = metrics->is_timed ? clock_stopwatch_ns() : 0;
}

status query_metrics_advise(struct query_metrics *metrics, const struct query *query,
                            const struct query_source *source)
{
    return metrics->is_advised ? query_advise(query, source, &metrics->advice) : STATUS_OK;
}

/* ---- times and counts ------------------------------------------------------------------------------- */

static double ms(int64_t ns)
{
    return ns > 0 ? (double)ns / 1e6 : 0;
}

static void add_times(const struct query_metrics *m, struct call *call,
                      const struct query_explain *explain)
{
    const struct query_times *t = &explain->times;
    int64_t known = t->planning + t->lookup + t->loading + t->output;
    /* Of the documents that were loaded, how many were wanted; nothing is in vain where none had to be. */
    double used = explain->documents > explain->matches
                      ? (double)explain->matches / (double)explain->documents
                      : 1;

    call_add_header(call, "x-ms-documentdb-query-metrics",
                    "totalExecutionTimeInMs=%.2f;queryCompileTimeInMs=%.2f;"
                    "queryLogicalPlanBuildTimeInMs=%.2f;queryPhysicalPlanBuildTimeInMs=%.2f;"
                    "queryOptimizationTimeInMs=%.2f;VMExecutionTimeInMs=%.2f;"
                    "indexLookupTimeInMs=%.2f;documentLoadTimeInMs=%.2f;"
                    "systemFunctionExecuteTimeInMs=0.00;userFunctionExecuteTimeInMs=0.00;"
                    "retrievedDocumentCount=%" PRIu64 ";retrievedDocumentSize=%" PRIu64
                    ";outputDocumentCount=%" PRIu64 ";outputDocumentSize=%" PRIu64
                    ";writeOutputTimeInMs=%.2f;indexUtilizationRatio=%.2f",
                    ms(clock_stopwatch_ns() - m->begun), ms(m->compiled - m->begun),
                    ms(m->checked - m->compiled), ms(t->planning - t->choosing), ms(t->choosing),
                    ms(t->all - known), ms(t->lookup), ms(t->loading), explain->documents,
                    explain->loaded_bytes, explain->output_count, explain->output_bytes,
                    ms(t->output), used);
}

/* ---- indexes ---------------------------------------------------------------------------------------- */

static void append_precision(struct buffer *json, bool is_precise)
{
    buffer_append_text(json, is_precise ? "true" : "false");
    buffer_append_text(json, ",\"IndexImpactScore\":\"High\"}");
}

static void append_single(struct buffer *json, bytes path, bool is_precise)
{
    if (json->data[json->len - 1] != '[')
        buffer_append_byte(json, ',');
    buffer_append_text(json, "{\"IndexSpec\":");
    http_append_json_text(json, path);
    buffer_append_text(json, ",\"FilterExpression\":\"\",\"FilterPreciseSet\":");
    buffer_append_text(json, is_precise ? "true" : "false");
    buffer_append_text(json, ",\"IndexPreciseSet\":");
    append_precision(json, is_precise);
}

static void append_singles(struct buffer *json, const struct query_explain *explain)
{
    bool is_single = explain->access == ACCESS_INDEX && !explain->index->definition.is_ranked;

    buffer_append_byte(json, '[');
    if (is_single)
        append_single(json, explain->path, explain->is_decided);
    for (size_t i = 0; is_single && i < explain->filter_count; i++)
        append_single(json, explain->filters[i], true);
    buffer_append_byte(json, ']');
}

/* Its fields one by one; they stand in the path with a comma and a blank between them. */
static void append_composites(struct buffer *json, const struct query_explain *explain)
{
    bool is_used = explain->access == ACCESS_INDEX && explain->index->definition.is_ranked;
    bytes rest = is_used ? explain->path : BYTES_NONE;

    buffer_append_text(json, is_used ? "[{\"IndexSpecs\":[" : "[]");
    while (rest.len) {
        size_t len = 0;
        while (len < rest.len && rest.data[len] != ',')
            len++;
        http_append_json_text(json, bytes_of(rest.data, len));
        rest = bytes_from(rest, len + 2 < rest.len ? len + 2 : rest.len);
        buffer_append_text(json, rest.len ? "," : "");
    }
    if (!is_used)
        return;
    buffer_append_text(json, "],\"IndexPreciseSet\":");
    append_precision(json, explain->is_decided);
    buffer_append_byte(json, ']');
}

static void append_missing_singles(struct buffer *json, const struct query_advice *advice)
{
    buffer_append_byte(json, '[');
    for (size_t i = 0; i < advice->path_count; i++)
        append_single(json, advice->paths[i], true);
    buffer_append_byte(json, ']');
}

static void append_missing_composites(struct buffer *json, const struct query_advice *advice)
{
    buffer_append_text(json, advice->field_count ? "[{\"IndexSpecs\":[" : "[]");
    for (size_t i = 0; i < advice->field_count; i++) {
        buffer_append_text(json, i ? "," : "");
        http_append_json_text(json, advice->fields[i]);
    }
    if (advice->field_count == 0)
        return;
    buffer_append_text(json, "],\"IndexPreciseSet\":");
    append_precision(json, true);
    buffer_append_byte(json, ']');
}

static void append_indexes(struct buffer *json, const struct query_metrics *m,
                           const struct query_explain *explain, bool is_nested)
{
    buffer_append_text(json, is_nested ? "{\"UtilizedIndexes\":{\"SingleIndexes\":"
                                       : "{\"UtilizedSingleIndexes\":");
    append_singles(json, explain);
    buffer_append_text(json,
                       is_nested ? ",\"CompositeIndexes\":" : ",\"UtilizedCompositeIndexes\":");
    append_composites(json, explain);
    buffer_append_text(json, is_nested ? "},\"PotentialIndexes\":{\"SingleIndexes\":"
                                       : ",\"PotentialSingleIndexes\":");
    append_missing_singles(json, &m->advice);
    buffer_append_text(json,
                       is_nested ? ",\"CompositeIndexes\":" : ",\"PotentialCompositeIndexes\":");
    append_missing_composites(json, &m->advice);
    buffer_append_text(json, is_nested ? "}}" : "}");
}

static void add_indexes(const struct query_metrics *m, struct call *call,
                        const struct query_explain *explain)
{
    struct buffer json = buffer_in(call->arena);
    bool is_plain;
    bytes text;

    wants_advice(call, &is_plain);
    append_indexes(&json, m, explain, is_plain);
    if (buffer_finish(&json, &text).code != OK) {
        call->headers.is_failed = true;
        return;
    }
    buffer_append_text(&call->headers, "x-ms-cosmos-index-utilization: ");
    if (is_plain)
        buffer_append(&call->headers, text);
    else
        base64_append(&call->headers, text);
    buffer_append_text(&call->headers, "\r\n");
}

void query_metrics_add(const struct query_metrics *m, struct call *call,
                       const struct query_explain *explain)
{
    if (m->is_advised)
        add_indexes(m, call, explain);
    if (m->is_timed)
        add_times(m, call, explain);
}
