/* Pages: the few requests that the server answers itself.
 *
 * A page is a row in pages.def and a function here that fills in the reply or says what went wrong; the
 * status of a failure becomes an HTTP status in one place. Test commands answer like pages that do not
 * exist unless the server was started with them, and so do the owner's pages on every port.
 *
 * Threads: any worker. Start reading at pages_handle(). */
#include "server/pages.h"
#include "base/limits.h"
#include "server/checkpoint.h"
#include "server/import.h"

#include <inttypes.h>

typedef status page_function(struct pages *pages, struct http_exchange *exchange);

/* Who may see a page. */
enum audience {
    EVERYBODY,
    TESTERS,      /* with --test-commands, from this machine */
    OWNER,        /* who can open the socket in the data directory */
    OWNER_WRITES, /* the same, for documents, which the audit log does not tell of */
};

struct page {
    const char *method;
    const char *path;
    enum audience audience;
    page_function *function;
    const char *help;
};

#define PAGE(method, path, audience, function, help) \
    static status function(struct pages *pages, struct http_exchange *exchange);
#include "server/pages.def"
#undef PAGE

static const struct page table[] = {
#define PAGE(method, path, audience, function, help) { method, path, audience, function, help },
#include "server/pages.def"
#undef PAGE
};

/* The status of a failure as HTTP says it. */
static unsigned http_status_of(status_code code)
{
    switch (code) {
    case OK:
        return 200;
    case INVALID:
        return 400;
    case NOT_FOUND:
        return 404;
    case CONFLICT:
    case DUPLICATE_KEY:
    case EXISTS:
        return 409;
    case PRECONDITION:
        return 412;
    case TOO_LARGE:
    case TRANSACTION_FULL:
        return 413;
    case UNSUPPORTED:
        return 501;
    case BUSY:
    case CANCELLED:
    case OUT_OF_MEMORY:
    case WRITES_STOPPED:
        return 503;
    case CORRUPT:
    case IO_ERROR:
    case UNKNOWN_RESULT:
        return 500;
    }
    return 500;
}

static bool is_for_owner(const struct page *page)
{
    return page->audience == OWNER || page->audience == OWNER_WRITES;
}

static bool is_method(const struct page *page, const struct http_request *request)
{
    bytes method = request->is_head ? BYTES_LITERAL("GET") : request->method;

    return bytes_equal(method, bytes_of_text(page->method));
}

/* What owners and testers did to the server; the owner's socket has no address. */
static void tell_audit(const struct page *page, const struct pages *pages,
                       const struct http_exchange *exchange)
{
    char peer[CONNECTION_PEER_BYTES] = "control";
    const bool is_owner = page->audience == OWNER;
    const struct audit_party party = { .peer = peer,
                                       .user = is_owner ? BYTES_LITERAL("owner") : BYTES_NONE };
    const char *request = arena_format(exchange->arena, "%s %s", page->method, page->path);
    const char *http_status = arena_format(exchange->arena, "%u", exchange->reply.status);
    const struct audit_pair pairs[] = {
        {"request", bytes_of_text(request ? request : page->path) },
        { "status", bytes_of_text(http_status ? http_status : "?")},
    };

    if (!is_owner && exchange->connection)
        connection_peer(exchange->connection, peer);
    audit_done(pages->audit, "change", &party, pairs, ARRAY_COUNT(pairs));
}

static void run_page(const struct page *page, struct pages *pages, struct http_exchange *exchange)
{
    status s = page->function(pages, exchange);

    if (s.code != OK)
        exchange->reply = http_reply_error(exchange->arena, http_status_of(s.code), "%s",
                                           s.message);
    if (page->audience != EVERYBODY && page->audience != OWNER_WRITES)
        tell_audit(page, pages, exchange);
}

static bool is_at(const struct page *page, const struct pages *pages, bytes path)
{
    return bytes_equal(path, bytes_of_text(page->path)) &&
           (page->audience != TESTERS || pages->has_test_commands) &&
           (!is_for_owner(page) || pages->is_for_owner);
}

bool pages_knows(bytes path)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (bytes_equal(path, bytes_of_text(table[i].path)))
            return true;
    }
    return bytes_starts_with(path, BYTES_LITERAL("/_mayfly/"));
}

enum http_answer pages_handle(void *context, struct http_exchange *exchange)
{
    struct pages *pages = context;
    const struct http_request *request = exchange->request;

    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        const struct page *page = &table[i];
        if (!is_at(page, pages, request->path))
            continue;
        if (page->audience == TESTERS && !exchange->is_loopback) {
            exchange->reply = http_reply_error(
                exchange->arena, 403, "%s is only for clients on the server's machine", page->path);
            return HTTP_ANSWERED;
        }
        if (is_method(page, request)) {
            run_page(page, pages, exchange);
            return HTTP_ANSWERED;
        }
        exchange->reply = http_reply_error(exchange->arena, 405, "%s takes only %s, not %.*s",
                                           page->path, page->method, (int)request->method.len,
                                           (const char *)request->method.data);
        const char *allow = arena_format(exchange->arena, "Allow: %s\r\n", page->method);
        exchange->reply.headers = allow ? bytes_of_text(allow) : BYTES_NONE;
        return HTTP_ANSWERED;
    }
    exchange->reply = http_reply_error(exchange->arena, 404, "there is nothing at %.*s",
                                       (int)request->path.len, (const char *)request->path.data);
    return HTTP_ANSWERED;
}

void pages_describe(struct buffer *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        buffer_append_format(out, "  %-4s %-26s %s%s\n", table[i].method, table[i].path,
                             table[i].help,
                             table[i].audience == TESTERS ? " (only with --test-commands)"
                             : is_for_owner(&table[i])    ? " (only on the socket DIR/control)"
                                                          : "");
}

/* ---- the pages -------------------------------------------------------------------------------------- */

static status page_healthz(struct pages *pages, struct http_exchange *exchange)
{
    const char *reason = engine_writes_stopped(pages->engine);
    struct buffer body = buffer_in(exchange->arena);

    if (reason[0] == '\0') {
        exchange->reply.status = 200;
        exchange->reply.body = BYTES_LITERAL("{\"status\":\"ok\"}");
        return STATUS_OK;
    }
    exchange->reply.status = 503;
    buffer_append_text(&body, "{\"status\":\"writes stopped\",\"reason\":");
    http_append_json_text(&body, bytes_of_text(reason));
    buffer_append_text(&body, "}");
    return buffer_finish(&body, &exchange->reply.body);
}

static status page_metrics(struct pages *pages, struct http_exchange *exchange)
{
    struct buffer body = buffer_in(exchange->arena);
    struct request request;
    status s;

    TRY(request_begin(pages->engine, exchange->arena, &request));
    TRY_GOTO(engine_render_metrics(&request, &body), done);
    TRY_GOTO(buffer_finish(&body, &exchange->reply.body), done);
    exchange->reply.status = 200;
    exchange->reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
done:
    request_end(&request);
    return s;
}

static status read_advance(struct http_exchange *exchange, int64_t *advance_ms_out)
{
    bytes document;
    struct value value;

    *advance_ms_out = 0;
    TRY(json_read(exchange->arena, exchange->request->body, &document));
    if (!document_find(document, "advanceMs", &value) || !value_as_int64(value, advance_ms_out))
        return status_of(INVALID, "expected {\"advanceMs\":N} with a whole number of milliseconds");
    if (*advance_ms_out < 0)
        return status_of(INVALID, "advanceMs is negative, but server time never runs backwards");
    if (*advance_ms_out > LIMIT_CLOCK_ADVANCE_MS)
        return status_fail(exchange->arena, INVALID, "advanceMs is %" PRId64 ", limit %lld",
                           *advance_ms_out, LIMIT_CLOCK_ADVANCE_MS);
    return STATUS_OK;
}

static status page_clock(struct pages *pages, struct http_exchange *exchange)
{
    struct buffer body = buffer_in(exchange->arena);
    int64_t advance_ms;

    TRY(read_advance(exchange, &advance_ms));
    time_ms now = clock_advance(engine_clock(pages->engine), advance_ms);
    TRY(engine_store_clock(pages->engine));
    exchange->reply.status = 200;
    buffer_append_format(&body, "{\"nowMs\":%" PRId64 "}", now);
    return buffer_finish(&body, &exchange->reply.body);
}

static status page_purge(struct pages *pages, struct http_exchange *exchange)
{
    struct buffer body = buffer_in(exchange->arena);
    struct purge_result result;

    if (!block_begin())
        return status_of(BUSY, "too many requests wait; try again");
    status s = engine_purge(pages->engine, &result);
    block_end();
    TRY(s);
    exchange->reply.status = 200;
    buffer_append_format(&body,
                         "{\"documents\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"truncations\":%" PRIu64
                         ",\"reaped\":%" PRIu64 ",\"isFrozen\":%s}",
                         result.documents, result.bytes, result.truncations, result.reaped,
                         result.is_frozen ? "true" : "false");
    return buffer_finish(&body, &exchange->reply.body);
}

static status page_checkpoint(struct pages *pages, struct http_exchange *exchange)
{
    const char *path = checkpoint_path(exchange->arena, pages->directory);

    if (!path)
        return arena_exhausted(exchange->arena);
    if (!block_begin())
        return status_of(BUSY, "too many requests wait; try again");
    status s = engine_checkpoint(pages->engine, path, exchange->arena);
    block_end();
    TRY(s);
    exchange->reply.status = 200;
    exchange->reply.body = BYTES_LITERAL("{}");
    return STATUS_OK;
}

static status page_confirm_clock(struct pages *pages, struct http_exchange *exchange)
{
    if (!block_begin())
        return status_of(BUSY, "too many requests wait; try again");
    status s = engine_confirm_clock(pages->engine);
    block_end();
    TRY(s);
    exchange->reply.status = 200;
    exchange->reply.body = BYTES_LITERAL("{}");
    return STATUS_OK;
}

static status page_import(struct pages *pages, struct http_exchange *exchange)
{
    const struct import_site site = { .engine = pages->engine, .mongo = pages->mongo };
    struct import_outcome outcome;

    if (!block_begin())
        return status_of(BUSY, "too many requests wait; try again");
    status s = import_apply(&site, exchange->arena, exchange->request->body, &outcome);
    block_end();
    TRY(s);
    exchange->reply.status = 200;
    return import_render(exchange->arena, &outcome, &exchange->reply.body);
}
