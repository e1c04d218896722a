/* Route: the table of all operations and the search in it.
 *
 * A query over a feed and a plan of it are POSTs to the feed's path like a create, so the form is found
 * from the headers first. A path that the table knows with other methods only is "method not allowed".
 *
 * Pure; callable from every thread. */
#include "front/cosmos/route.h"

#include <strings.h>

#include "front/cosmos/cosmos.h"

static const struct route table[] = {
#define ROUTE(method, path, form, right, handler, sentence) \
    { method, path, form, right, serve_##handler, sentence },
#define ROUTE_NOT(method, path, form, sentence) { method, path, form, RIGHT_READ, NULL, sentence },
#include "front/cosmos/routes.def"
#undef ROUTE
#undef ROUTE_NOT
};

bool route_header_is_true(const struct http_request *request, const char *name)
{
    bytes value;

    return http_find_header(request, name, &value) && value.len == 4 &&
           strncasecmp((const char *)value.data, "true", 4) == 0;
}

static bool is_query(const struct http_request *request)
{
    static const char type[] = "application/query+json";
    bytes value;

    return route_header_is_true(request, "x-ms-documentdb-isquery") ||
           route_header_is_true(request, "x-ms-documentdb-query") ||
           (http_find_header(request, "content-type", &value) && value.len >= sizeof(type) - 1 &&
            strncasecmp((const char *)value.data, type, sizeof(type) - 1) == 0);
}

static enum form form_of(const struct http_request *request)
{
    bytes value;

    if (bytes_equal(request->method, BYTES_LITERAL("GET")))
        return http_find_header(request, "a-im", &value) ? FORM_CHANGES : FORM_PLAIN;
    if (!bytes_equal(request->method, BYTES_LITERAL("POST")))
        return FORM_PLAIN;
    if (route_header_is_true(request, "x-ms-cosmos-is-query-plan-request"))
        return FORM_PLAN;
    if (route_header_is_true(request, "x-ms-cosmos-is-batch-request"))
        return FORM_BATCH;
    return is_query(request) ? FORM_QUERY : FORM_PLAIN;
}

/* Part by part; `path` moves behind the part that was found equal. */
static bool part_matches(const char **path, bytes part)
{
    const char *at = *path;

    if (at[0] == '*') {
        at++;
    } else {
        /* Stops at the path's end, which no part contains. */
        for (size_t i = 0; i < part.len; i++, at++) {
            if (*at == '\0' || *at == '/' || (uint8_t)*at != part.data[i])
                return false;
        }
    }
    if (at == *path || (*at != '/' && *at != '\0'))
        return false;
    *path = at + (*at == '/');
    return true;
}

static bool path_matches(const char *path, const struct link *link)
{
    for (size_t i = 0; i < link->count; i++) {
        if (!part_matches(&path, link->parts[i]))
            return false;
    }
    return *path == '\0';
}

static const struct route *find_row(const struct http_request *request, const struct link *link,
                                    enum form form)
{
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (table[i].form == form && table[i].method[0] == (char)request->method.data[0] &&
            path_matches(table[i].path, link) &&
            bytes_equal(bytes_of_text(table[i].method), request->method))
            return &table[i];
    }
    return NULL;
}

enum route_match route_find(const struct http_request *request, const struct link *link,
                            const struct route **out)
{
    enum form form = form_of(request);

    *out = NULL;
    if (request->method.len == 0)
        return ROUTE_NO_PATH;
    *out = find_row(request, link, form);
    /* A feed without a change feed of its own is read like any other. */
    if (!*out && form == FORM_CHANGES)
        *out = find_row(request, link, FORM_PLAIN);
    if (*out)
        return ROUTE_FOUND;
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        if (path_matches(table[i].path, link))
            return ROUTE_NO_METHOD;
    }
    return ROUTE_NO_PATH;
}

static const char *form_text(enum form form)
{
    switch (form) {
    case FORM_PLAIN:
        return "";
    case FORM_QUERY:
        return " (query)";
    case FORM_PLAN:
        return " (query plan)";
    case FORM_BATCH:
        return " (batch)";
    case FORM_CHANGES:
        return " (change feed)";
    }
    return "";
}

void cosmos_describe_routes(struct buffer *out)
{
    buffer_append_text(out, "| request | what it does | supported |\n|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_COUNT(table); i++)
        buffer_append_format(out, "| `%s /%s`%s | %s | %s |\n", table[i].method, table[i].path,
                             form_text(table[i].form), table[i].sentence,
                             table[i].handler ? "yes" : "no: answers 501");
}
