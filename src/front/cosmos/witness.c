/* Witness: what is told of a request when it ends.
 *
 * A request that was refused for who asked, or that changed a resource, has a line in the audit log; one that took
 * long has a line in the log. Names of databases and containers are shown, ids of items are not.
 *
 * Threads: whoever ends the request. */
#include "front/cosmos/witness.h"

#include "front/cosmos/face.h"
#include "front/cosmos/route.h"

enum { SLOW_MS = 100, PARTS_SHOWN = 4 };

/* dbs/{d}/colls/{c} at most where there may be ids of items behind it. */
static bytes place_of(const struct call *call)
{
    const bool is_admin = call->route && call->route->right == RIGHT_ADMIN;
    struct buffer text = buffer_in(call->arena);
    bytes place;

    for (size_t i = 0; i < call->link.count && (is_admin || i < PARTS_SHOWN); i++)
        buffer_append_format(&text, "/%.*s", (int)call->link.parts[i].len,
                             (const char *)call->link.parts[i].data);
    if (call->link.count == 0)
        buffer_append_text(&text, "/");
    return buffer_finish(&text, &place).code == OK ? place : BYTES_NONE;
}

/* What a resource is called that was made or renamed. */
static bytes find_id(const struct call *call)
{
    const bytes method = call->http->method;
    struct value id;
    bytes body;

    if (!bytes_is_text(method, "POST") && !bytes_is_text(method, "PUT"))
        return BYTES_NONE;
    if (json_read(call->arena, call->http->body, &body).code == OK &&
        document_find(body, "id", &id) && id.type == VALUE_STRING)
        return value_text(id);
    return BYTES_NONE;
}

static void tell_audit(const struct call *call, unsigned http_status)
{
    char peer[CONNECTION_PEER_BYTES] = "-";
    const struct audit_party party = { .peer = peer,
                                       .user = call->grant.key ? bytes_of_text(call->grant.key)
                                                               : BYTES_NONE };
    const bytes place = place_of(call);
    const char *request = arena_format(call->arena, "%.*s %.*s", (int)call->http->method.len,
                                       (const char *)call->http->method.data, (int)place.len,
                                       (const char *)place.data);
    const bool is_refused = http_status == 401 || http_status == 403;
    const char *status_text = arena_format(call->arena, "%u", http_status);
    const struct audit_pair pairs[] = {
        {"request", bytes_of_text(request ? request : "?")        },
        { "id",     is_refused ? BYTES_NONE : find_id(call)       },
        { "status", bytes_of_text(status_text ? status_text : "?")},
    };

    if (call->exchange->connection)
        connection_peer(call->exchange->connection, peer);
    if (is_refused)
        audit_refused(call->face->audit, &party, pairs, ARRAY_COUNT(pairs));
    else
        audit_done(call->face->audit, "change", &party, pairs, ARRAY_COUNT(pairs));
}

void witness_end(const struct call *call)
{
    const unsigned http_status = call->exchange->reply.status;
    const int64_t took_ms = (clock_stopwatch_ns() - call->watch_ns) / 1000000;
    const bool is_change = call->route && call->route->right == RIGHT_ADMIN && http_status < 400;

    if (is_change || http_status == 401 || http_status == 403)
        tell_audit(call, http_status);
    if (took_ms < SLOW_MS || !call->face->log)
        return;
    const bytes place = place_of(call);
    log_event(call->face->log, LOG_INFO, "request.slow",
              "request=\"%.*s %s\" place=%.*s ms=%lld status=%u", (int)call->http->method.len,
              (const char *)call->http->method.data, call->route ? call->route->path : "-",
              (int)place.len, (const char *)place.data, (long long)took_ms, http_status);
}
