/* Account: what a client asks first, to learn where to send everything else.
 *
 * The address it is told is the one it has used, so that it works through port forwarding too. The id must not
 * be "localhost": clients then ask again before nearly every request.
 *
 * Threads: as the call. */
#include "front/cosmos/call.h"

static status endpoint_of(struct call *call, bytes *out)
{
    struct buffer text = buffer_in(call->arena);
    bytes host;

    if (!call_header(call, "host", &host) || host.len == 0)
        host = BYTES_LITERAL("127.0.0.1");
    buffer_append_text(&text, call->exchange->is_tls ? "https://" : "http://");
    buffer_append(&text, host);
    buffer_append_byte(&text, '/');
    return buffer_finish(&text, out);
}

static void append_locations(struct buffer *out, const char *name, bytes endpoint)
{
    buffer_append_format(out, ",\"%s\":[{\"name\":\"Local\",\"databaseAccountEndpoint\":", name);
    http_append_json_text(out, endpoint);
    buffer_append_text(out, "}]");
}

status serve_account_read(struct call *call)
{
    struct buffer body = buffer_in(call->arena);
    bytes endpoint;

    TRY(endpoint_of(call, &endpoint));
    buffer_append_text(
        &body, "{\"_self\":\"\",\"id\":\"mayfly\",\"_rid\":\"mayfly\",\"media\":\"//media/\","
               "\"addresses\":\"//addresses/\",\"_dbs\":\"//dbs/\"");
    append_locations(&body, "writableLocations", endpoint);
    append_locations(&body, "readableLocations", endpoint);
    buffer_append_text(
        &body,
        ",\"enableMultipleWriteLocations\":false,\"continuousBackupEnabled\":false,"
        "\"enableNRegionSynchronousCommit\":false,\"enablePerPartitionFailoverBehavior\":false,"
        "\"userReplicationPolicy\":{\"asyncReplication\":false,\"minReplicaSetSize\":1,"
        "\"maxReplicasetSize\":4},"
        "\"userConsistencyPolicy\":{\"defaultConsistencyLevel\":\"Session\"},"
        "\"systemReplicationPolicy\":{\"minReplicaSetSize\":1,\"maxReplicasetSize\":4},"
        "\"readPolicy\":{\"primaryReadCoefficient\":1,\"secondaryReadCoefficient\":1},"
        /* A text with JSON in it, as clients expect. */
        "\"queryEngineConfiguration\":\"{\\\"maxSqlQueryInputLength\\\":524288,"
        "\\\"maxJoinsPerSqlQuery\\\":10,\\\"maxLogicalAndPerSqlQuery\\\":2000,"
        "\\\"maxLogicalOrPerSqlQuery\\\":2000,\\\"maxUdfRefPerSqlQuery\\\":10,"
        "\\\"maxInExpressionItemsCount\\\":16000,\\\"queryMaxInMemorySortDocumentCount\\\":500,"
        "\\\"maxQueryRequestTimeoutFraction\\\":0.9,\\\"sqlAllowNonFiniteNumbers\\\":false,"
        "\\\"sqlAllowAggregateFunctions\\\":true,\\\"sqlAllowSubQuery\\\":true,"
        "\\\"sqlAllowScalarSubQuery\\\":true,\\\"allowNewKeywords\\\":true,"
        "\\\"sqlAllowLike\\\":true,\\\"sqlAllowGroupByClause\\\":true,"
        "\\\"maxSpatialQueryCells\\\":12,\\\"spatialMaxGeometryPointCount\\\":256,"
        "\\\"sqlDisableQueryILOptimization\\\":false,"
        "\\\"sqlDisableFilterPlanOptimization\\\":false,\\\"sqlAllowTop\\\":true,"
        "\\\"enableSpatialIndexing\\\":true}\"}");
    return call_reply(call, 200, &body);
}
