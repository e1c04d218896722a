/* Call: the way of a request through the face.
 *
 *   link -> route -> who (auth) -> request of the engine -> resource by name or id -> may they (auth)
 *        -> throughput -> handler -> reply | failure | later
 *
 * Every step can fail the call; a failure of whatever room becomes one body in call_finish(). A call that
 * ends with a commit is finished by the thread that committed.
 *
 * Keeps: no reply above 399 without a JSON body; every reply has an activity id and a charge; a call is not
 * touched after its commit was queued.
 * Threads: a worker, then perhaps a committing thread; never two at once. Start reading at cosmos_handle(). */
#include "front/cosmos/call.h"

#include <inttypes.h>
#include <stdio.h>

#include "front/cosmos/face.h"
#include "front/cosmos/throughput.h"
#include "front/cosmos/witness.h"
#include "front/front.h"

static status run(struct call *call);
static void finish(struct call *call, status outcome);

/* A random UUID needs to be unique, not secret. */
static void name_activity(struct cosmos *face, char out[ACTIVITY_TEXT_BYTES])
{
    struct random random =
        random_seeded(face->activity_seed[0] + atomic_fetch_add(&face->activity_count, 1));
    uint64_t high = random_next(&random) ^ face->activity_seed[1], low = random_next(&random);
    static const char digits[] = "0123456789abcdef";
    static const char shape[] = "xxxxxxxx-xxxx-4xxx-axxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < sizeof(shape); i++) {
        out[i] = shape[i];
        if (shape[i] != 'x')
            continue;
        out[i] = digits[high & 15];
        high = high >> 4 | low << 60;
        low >>= 4;
    }
}

enum http_answer cosmos_handle(void *context, struct http_exchange *exchange)
{
    struct call *call;
    bool is_later = false;

    if (ARENA_NEW(exchange->arena, 1, &call).code != OK) {
        exchange->reply = http_reply_error(exchange->arena, 503, "no memory for this request");
        return HTTP_ANSWERED;
    }
    call->face = context;
    call->exchange = exchange;
    call->http = exchange->request;
    call->arena = exchange->arena;
    call->headers = buffer_in(call->arena);
    call->charge = CHARGE_METADATA_READ;
    call->is_later = &is_later;
    call->watch_ns = clock_stopwatch_ns();
    name_activity(call->face, call->activity);
    status s = run(call);
    if (is_later)
        return HTTP_LATER;
    finish(call, s);
    return HTTP_ANSWERED;
}

/* ---- the way in ------------------------------------------------------------------------------------- */

static status find_route(struct call *call)
{
    status s = link_parse(call->arena, call->http->target, &call->link);

    if (s.code != OK)
        return call_fail(call, FAIL_URL, "Request url is invalid: %s.", s.message);
    switch (route_find(call->http, &call->link, &call->route)) {
    case ROUTE_FOUND:
        return STATUS_OK;
    case ROUTE_NO_PATH:
        return call_fail(call, FAIL_URL, NULL);
    case ROUTE_NO_METHOD:
        return call_fail(call, FAIL_METHOD,
                         "The request verb %.*s is not one that this resource takes.",
                         (int)call->http->method.len, (const char *)call->http->method.data);
    }
    return STATUS_OK;
}

static bool part_is(const struct call *call, size_t at, const char *name)
{
    return call->link.count > at && bytes_equal(call->link.parts[at], bytes_of_text(name));
}

static bool is_hidden(bytes database)
{
    return bytes_equal(database, BYTES_LITERAL(SYSTEM_DATABASE));
}

/* A name goes before a resource id of the same text. */
static bool find_database(struct call *call)
{
    bytes part = call->link.parts[1];
    struct rid rid;

    if (catalog_has_database(&call->request, part) && !is_hidden(part)) {
        call->database = part;
        call->database_id = catalog_database_id(&call->request, part);
        return true;
    }
    if (!rid_parse(part, &rid) || rid.len != RID_DATABASE_BYTES)
        return false;
    for (size_t i = 0; i < catalog_database_count(&call->request); i++) {
        bytes name = catalog_database(&call->request, i);
        if (catalog_database_id(&call->request, name) == rid_database(&rid) && !is_hidden(name)) {
            call->database = name;
            call->database_id = rid_database(&rid);
            return true;
        }
    }
    return false;
}

static status find_collection(struct call *call, bool *is_there_out)
{
    bytes part = call->link.parts[3];
    struct rid rid;
    status s = catalog_find(&call->request, call->database, part, &call->collection);

    *is_there_out = s.code == OK && !foreign_is_view(call->collection);
    if (s.code != NOT_FOUND)
        return s;
    if (!rid_parse(part, &rid) || rid.len != RID_CONTAINER_BYTES ||
        rid_database(&rid) != call->database_id)
        return STATUS_OK;
    call->collection = catalog_find_by_id(&call->request, rid_container(&rid));
    *is_there_out = call->collection && !foreign_is_view(call->collection) &&
                    bytes_equal(call->collection->definition.database, call->database);
    return STATUS_OK;
}

static status resolve(struct call *call)
{
    bool is_there = false;

    call->collection = NULL;
    if (!part_is(call, 0, "dbs") || call->link.count < 2)
        return STATUS_OK;
    if (!find_database(call))
        return call_fail(call, call->link.count == 2 ? FAIL_NOT_FOUND : FAIL_NO_OWNER, NULL);
    if (!part_is(call, 2, "colls") || call->link.count < 4)
        return STATUS_OK;
    TRY(find_collection(call, &is_there));
    if (!is_there)
        return call_fail(call, call->link.count == 4 ? FAIL_NOT_FOUND : FAIL_NO_OWNER, NULL);
    return STATUS_OK;
}

static status begin_request(struct call *call)
{
    TRY(request_begin(call->face->engine, call->arena, &call->request));
    call->has_request = true;
    return STATUS_OK;
}

static void end_request(struct call *call)
{
    if (call->has_request)
        request_end(&call->request);
    call->has_request = false;
}

status call_renew(struct call *call)
{
    uint32_t before = call->collection ? call->collection->id : 0;

    end_request(call);
    TRY(begin_request(call));
    TRY(resolve(call));
    /* What was checked was checked on the container that is gone, who asks above all. */
    if (before != 0 && (!call->collection || call->collection->id != before))
        return call_fail(call, FAIL_NO_OWNER, NULL);
    return STATUS_OK;
}

/* Largest sequence number in a session token: "0:-1#42", several separated by commas; 0 if it is none. */
static uint64_t session_lsn(bytes token)
{
    uint64_t largest = 0, number = 0;
    bool is_in_number = false;

    for (size_t i = 0; i <= token.len; i++) {
        uint8_t byte = i < token.len ? token.data[i] : ',';
        if (is_in_number && byte >= '0' && byte <= '9') {
            if (number > (UINT64_MAX - 9) / 10)
                return 0;
            number = number * 10 + (uint64_t)(byte - '0');
            continue;
        }
        if (is_in_number && number > largest)
            largest = number;
        is_in_number = byte == '#';
        number = 0;
    }
    return largest;
}

/* A token from the future comes from another database: what it has read is not here. */
static status check_session(struct call *call)
{
    bytes token;

    if (!call->collection || !call_header(call, "x-ms-session-token", &token))
        return STATUS_OK;
    if (session_lsn(token) > engine_last_seq(call->face->engine))
        return call_fail(call, FAIL_NO_SESSION, NULL);
    return STATUS_OK;
}

static status check_encoding(struct call *call)
{
    bytes encoding;

    if (!call_header(call, "content-encoding", &encoding) ||
        bytes_equal(encoding, BYTES_LITERAL("identity")))
        return STATUS_OK;
    return call_fail(call, FAIL_MEDIA_TYPE, "The body is encoded as %.*s; send it as it is.",
                     (int)encoding.len, (const char *)encoding.data);
}

/* A write that is to be accompanied by a trigger must not be carried out without it. */
static status check_triggers(struct call *call)
{
    bytes names;

    if ((!call_header(call, "x-ms-documentdb-pre-trigger-include", &names) || names.len == 0) &&
        (!call_header(call, "x-ms-documentdb-post-trigger-include", &names) || names.len == 0))
        return STATUS_OK;
    return call_fail(call, FAIL_UNSUPPORTED,
                     "The request asks for the trigger %.*s; the server runs no JavaScript.",
                     (int)names.len, (const char *)names.data);
}

/* What is there and what is not is told only to whom it belongs: whoever else asks gets the same answer to
 * both, without a word about the container. */
static status resolve_and_permit(struct call *call)
{
    status found = resolve(call), permitted = STATUS_OK;

    if (found.code == OK || call->grant.kind == GRANT_TOKEN)
        permitted = auth_permit(call);
    if (permitted.code != OK || found.code != OK)
        call->collection = NULL;
    return permitted.code != OK ? permitted : found;
}

static status run(struct call *call)
{
    TRY(find_route(call));
    TRY(auth_identify(call));
    TRY(check_encoding(call));
    TRY(check_triggers(call));
    if (!call->route->handler)
        return call_fail(call, FAIL_UNSUPPORTED, "mayfly does not support this: %s.",
                         call->route->sentence);
    TRY(begin_request(call));
    TRY(resolve_and_permit(call));
    TRY(check_session(call));
    TRY(throughput_admit(call));
    return call->route->handler(call);
}

bool call_header(const struct call *call, const char *name, bytes *value_out)
{
    return http_find_header(call->http, name, value_out);
}

status call_body(struct call *call, bytes *document_out)
{
    status s = json_read(call->arena, call->http->body, document_out);

    if (s.code == INVALID)
        return call_fail(call, FAIL_BAD_REQUEST, "The request body is not valid JSON: %s.",
                         s.message);
    return s;
}

struct rid call_container_rid(const struct call *call)
{
    return rid_of_container(call->database_id, call->collection->id);
}

/* ---- the way out ------------------------------------------------------------------------------------ */

void call_add_header(struct call *call, const char *name, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *value = arena_format_args(call->arena, format, args);
    va_end(args);
    buffer_append_text(&call->headers, name);
    buffer_append_text(&call->headers, ": ");
    buffer_append_text(&call->headers, value ? value : "");
    buffer_append_text(&call->headers, "\r\n");
}

status call_reply(struct call *call, unsigned http_status, const struct buffer *body)
{
    call->exchange->reply.status = http_status;
    return buffer_finish(body, &call->exchange->reply.body);
}

status call_reply_empty(struct call *call, unsigned http_status)
{
    call->exchange->reply.status = http_status;
    call->exchange->reply.body = BYTES_NONE;
    return STATUS_OK;
}

const char *call_note_failure(struct call *call, enum failure_kind kind, const char *format, ...)
{
    call->failure = (struct failure){ .kind = kind };
    if (format) {
        va_list args;
        va_start(args, format);
        call->failure.message = arena_format_args(call->arena, format, args);
        va_end(args);
    }
    return "the call failed";
}

static void committed(void *context, status outcome)
{
    struct call *call = context;
    struct http_exchange *exchange = call->exchange;

    call->outcome = outcome;
    if (outcome.code == OK || call->hears_failure)
        outcome = call->on_committed(call);
    finish(call, outcome);
    http_exchange_finish(exchange);
}

status call_commit(struct call *call, struct write_op *ops, size_t count, enum write_mode mode,
                   route_handler *done)
{
    bool *is_later = call->is_later; /* on the stack of cosmos_handle(), which waits for us */

    call->on_committed = done;
    TRY(document_write_begin(&call->request, ops, count, mode, committed, call));
    *is_later = true;
    return STATUS_OK;
}

static void add_text_header(struct buffer *headers, const char *name, const char *value)
{
    buffer_append_text(headers, name);
    buffer_append_text(headers, ": ");
    buffer_append_text(headers, value);
    buffer_append_text(headers, "\r\n");
}

static void add_session(struct call *call)
{
    char rid_text[RID_TEXT_BYTES];
    struct rid rid = call_container_rid(call);
    uint64_t lsn = call->lsn ? call->lsn : engine_last_seq(call->face->engine);

    rid_format(&rid, rid_text);
    buffer_append_text(&call->headers, "x-ms-session-token: 0:-1#");
    buffer_append_decimal(&call->headers, lsn, 1);
    buffer_append_text(&call->headers, "\r\nlsn: ");
    buffer_append_decimal(&call->headers, lsn, 1);
    buffer_append_text(&call->headers, "\r\n");
    add_text_header(&call->headers, "x-ms-content-path", rid_text);
    buffer_append_text(&call->headers, "x-ms-alt-content-path: dbs/");
    link_append_encoded(&call->headers, call->collection->definition.database);
    buffer_append_text(&call->headers, "/colls/");
    link_append_encoded(&call->headers, call->collection->definition.name);
    buffer_append_text(&call->headers, "\r\n");
}

static void add_common_headers(struct call *call)
{
    enum { USUAL_BYTES = 512 };
    struct buffer *headers = &call->headers;

    buffer_reserve(headers, USUAL_BYTES);
    buffer_append_text(headers, "x-ms-request-charge: ");
    buffer_append_decimal(headers, call->charge / 100, 1);
    buffer_append_byte(headers, '.');
    buffer_append_decimal(headers, call->charge % 100, 2);
    buffer_append_text(headers, "\r\n");
    add_text_header(headers, "x-ms-activity-id", call->activity);
    buffer_append_text(headers, "x-ms-gatewayversion: version=2.14.0\r\n"
                                "x-ms-serviceversion: version=2.14.0.0\r\n"
                                "x-ms-schemaversion: 1.18\r\n");
    if (call->collection && call->has_request)
        add_session(call);
}

/* Two that an operator watches: keys that do not fit, and clients that are slowed down. */
static void count_refusal(struct metrics *metrics, unsigned http_status)
{
    if (http_status == 401 || http_status == 403)
        metrics_add(metrics, METRIC_requests_unauthorized_total, 1);
    if (http_status == 429)
        metrics_add(metrics, METRIC_requests_throttled_total, 1);
}

static void render_failure(struct call *call, status outcome)
{
    struct http_reply *reply = &call->exchange->reply;
    struct buffer body = buffer_in(call->arena);

    if (call->failure.kind == FAIL_NONE)
        call->failure = failure_of(outcome);
    if (call->failure.kind == FAIL_NOT_FOUND && call->link.count == 6 && part_is(call, 4, "docs"))
        call->failure.kind = FAIL_NO_ITEM;
    reply->status = failure_status(call->failure.kind);
    count_refusal(call->face->metrics, reply->status);
    if (failure_substatus(call->failure.kind) != 0)
        call_add_header(call, "x-ms-substatus", "%u", failure_substatus(call->failure.kind));
    if (call->failure.retry_after_ms != 0)
        call_add_header(call, "x-ms-retry-after-ms", "%u", call->failure.retry_after_ms);
    failure_append_body(&body, &call->failure,
                        (struct failure_context){ call->activity, call->http->target });
    if (buffer_finish(&body, &reply->body).code != OK)
        reply->body = BYTES_LITERAL("{\"code\":\"ServiceUnavailable\",\"message\":\"no memory\"}");
}

/* Fills in the reply and gives the engine's request back; what the reply needs lies in the arena. */
static void finish(struct call *call, status outcome)
{
    if (outcome.code != OK)
        render_failure(call, outcome);
    if (call->collection && call->has_request)
        throughput_draw(call, call->charge);
    add_common_headers(call);
    witness_end(call);
    end_request(call);
    if (buffer_finish(&call->headers, &call->exchange->reply.headers).code != OK)
        call->exchange->reply.headers = BYTES_NONE;
}

struct http_reply cosmos_refuse(void *context, struct arena *arena, struct http_refusal refusal)
{
    struct cosmos *face = context;
    struct http_reply reply = { .status = refusal.status };
    char activity[ACTIVITY_TEXT_BYTES];
    struct buffer body = buffer_in(arena);
    struct failure failure = { .kind = failure_of_http(refusal.status),
                               .message = refusal.message };

    name_activity(face, activity);
    if (failure.kind == FAIL_TOO_LARGE)
        failure.message = NULL; /* clients look for the usual text */
    failure_append_body(&body, &failure, (struct failure_context){ activity, BYTES_NONE });
    if (buffer_finish(&body, &reply.body).code != OK)
        reply.body = BYTES_LITERAL("{\"code\":\"ServiceUnavailable\",\"message\":\"no memory\"}");
    const char *headers =
        arena_format(arena, "x-ms-activity-id: %s\r\nx-ms-request-charge: 0.00\r\n", activity);
    reply.headers = headers ? bytes_of_text(headers) : BYTES_NONE;
    return reply;
}
