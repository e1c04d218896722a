/* What all resources but items have in common: ids, system properties, feeds and queries over them. */
#ifndef FRONT_COSMOS_RESOURCE_H
#define FRONT_COSMOS_RESOURCE_H

#include "front/cosmos/call.h"
#include "front/cosmos/continuation.h"
#include "query/query.h"

/* An id as a client may give it: 1 to 255 characters without / \ ? # and no space at the end.
 * FAIL_BAD_REQUEST with the id and what is wrong. `what` is "database", "container" ... */
MUST_USE status resource_check_id(struct call *call, const char *what, bytes id);
/* The string property "id" of a body, checked. */
MUST_USE status resource_body_id(struct call *call, const char *what, bytes body, bytes *out);

/* An etag: "\"00000000-0000-0000-0000-00000000002a\"" from a number that every change raises. */
enum { ETAG_TEXT_BYTES = 39 };
void etag_format(uint64_t number, char out[ETAG_TEXT_BYTES]);
/* 0 if the text (with or without its quotes) is not an etag of ours. */
uint64_t etag_parse(bytes text);
/* If-Match on a resource: FAIL_PRECONDITION unless it is absent, "*" or this etag. */
MUST_USE status resource_check_match(struct call *call, uint64_t etag_number);
/* If-None-Match on a read: true if the client has this version (answer 304). */
bool resource_is_unchanged(struct call *call, uint64_t etag_number);
/* That answer, with the etag. */
MUST_USE status resource_reply_unchanged(struct call *call, uint64_t etag_number);

/* The database that the face keeps its own things in: never shown. */
bool resource_is_hidden(bytes database);

/* The properties that all resources have, behind their own. */
struct resource_mark {
    const char *rid;
    const char *self; /* link by resource ids, with a slash at its end */
    uint64_t etag;
    int64_t ts;
};
void resource_append_mark(struct buffer *document, const struct resource_mark *mark);
/* Replies with a resource and its etag header. */
MUST_USE status resource_reply(struct call *call, unsigned http_status, bytes document,
                               uint64_t etag_number);

/* Runs `change` while no other resource changes, on the newest picture of the catalog: what it checks is still
 * true when it changes it. Calls call_renew() first; the change calls it again when its reply needs that. */
typedef status resource_changer(struct call *call, void *context);
MUST_USE status resource_change(struct call *call, resource_changer *change, void *context);
/* The etag number of a resource: its own number, which no later one of its name has, and how often it was
 * changed. */
uint64_t resource_etag(uint32_t number, uint32_t version);

/* ---- pages ------------------------------------------------------------------------------------------ */

/* x-ms-max-item-count: absent or 0: LIMIT_FEED_PAGE_ITEMS, -1: SIZE_MAX (as many as the page's bytes
 * allow). FAIL_BAD_REQUEST. */
MUST_USE status resource_page_size(struct call *call, size_t *out);
/* The query of the body, {"query":text,"parameters":[...]}. FAIL_BAD_REQUEST, with the errors of the text
 * the way clients read them. */
MUST_USE status resource_query(struct call *call, const struct query **out);
/* What a page of it failed with, as this face says it; never OK. */
MUST_USE status resource_page_failed(struct call *call, status why, const struct query_page *page);

/* A feed under construction: documents in memory. They are BSON, so that queries run on them; each has a
 * string "id" of its own, in whose order they are given. */
struct feed {
    const char *key;  /* "Databases", "DocumentCollections" ... */
    struct rid owner; /* _rid of the envelope; len 0: empty */
    size_t count, room;
    bytes *documents;
};
MUST_USE status feed_add(struct call *call, struct feed *feed, bytes document);
/* Replies with what the route asks for: the feed, paged by x-ms-max-item-count and x-ms-continuation, or the
 * answer to the query of the body over it. */
MUST_USE status feed_reply(struct call *call, const struct feed *feed);
/* The rows of a query, as JSON elements separated by commas; feed_take_row is the sink of a page, its context a
 * struct feed_rows. */
struct feed_rows {
    struct buffer elements;
    size_t count;
};
MUST_USE status feed_take_row(void *rows, struct value row, size_t *len_out);
/* The same envelope from elements that are JSON already, separated by commas. */
MUST_USE status feed_reply_envelope(struct call *call, const char *key, struct rid owner,
                                    const struct buffer *elements, size_t count);

#endif
