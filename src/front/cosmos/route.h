/* Which operation a request asks for: a table of method, path and form. */
#ifndef FRONT_COSMOS_ROUTE_H
#define FRONT_COSMOS_ROUTE_H

#include "front/cosmos/link.h"
#include "front/front.h"

struct call;

/* Requests that share method and path are told apart by their headers. */
enum form {
    FORM_PLAIN,
    FORM_QUERY,   /* x-ms-documentdb-isquery (or -query), or content type application/query+json */
    FORM_PLAN,    /* x-ms-cosmos-is-query-plan-request */
    FORM_BATCH,   /* x-ms-cosmos-is-batch-request */
    FORM_CHANGES, /* a-im */
};
enum right { RIGHT_READ, RIGHT_WRITE, RIGHT_ADMIN };

/* OK: the reply is filled in (call_reply), or call_commit has queued it. */
typedef status route_handler(struct call *call);

struct route {
    const char *method;
    const char *path;
    enum form form;
    enum right right;
    route_handler *handler; /* NULL: known but not supported */
    const char *sentence;
};

#define ROUTE(method, path, form, right, handler, sentence) \
    status serve_##handler(struct call *call);
#define ROUTE_NOT(method, path, form, sentence)
#include "front/cosmos/routes.def"
#undef ROUTE
#undef ROUTE_NOT

enum route_match { ROUTE_FOUND, ROUTE_NO_PATH, ROUTE_NO_METHOD };
enum route_match route_find(const struct http_request *request, const struct link *link,
                            const struct route **out);

/* The value of a header that is a flag: true, True, TRUE. */
bool route_header_is_true(const struct http_request *request, const char *name);

#endif
