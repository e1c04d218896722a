/* Items through the Cosmos face, in one line each: the container "c" of the database "db", whose partition
 * key is /pk and whose index holds everything but /big. Bodies and keys have ' for ". */
#ifndef TESTS_SUPPORT_ITEMS_H
#define TESTS_SUPPORT_ITEMS_H

#include "tests/support/cosmos_face.h"

/* A face with the container. */
void items_open(struct cosmos_face *f, int32_t default_ttl);
void items_close(struct cosmos_face *f);
/* The same face for another thread, with an arena of its own; made before any thread runs. */
struct cosmos_face items_for_thread(struct cosmos_face *f);
void items_thread_done(struct cosmos_face *mine);

#define ITEMS_PRINTS(at) __attribute__((format(printf, at, at + 1)))

/* The partition key header, and others: "pk: ['a']\nif-match: *"; "" for none. "pk" stands for
 * x-ms-documentdb-partitionkey. */
struct cosmos_answer item_create(struct cosmos_face *f, const char *headers, const char *body, ...)
    ITEMS_PRINTS(3);
struct cosmos_answer item_upsert(struct cosmos_face *f, const char *headers, const char *body, ...)
    ITEMS_PRINTS(3);
struct cosmos_answer item_read(struct cosmos_face *f, const char *headers, const char *id);
struct cosmos_answer item_replace(struct cosmos_face *f, const char *headers, const char *id,
                                  const char *body, ...) ITEMS_PRINTS(4);
struct cosmos_answer item_patch(struct cosmos_face *f, const char *headers, const char *id,
                                const char *body, ...) ITEMS_PRINTS(4);
struct cosmos_answer item_delete(struct cosmos_face *f, const char *headers, const char *id);
struct cosmos_answer item_feed(struct cosmos_face *f, const char *headers);
struct cosmos_answer item_query(struct cosmos_face *f, const char *headers, const char *sql);
struct cosmos_answer item_batch(struct cosmos_face *f, const char *headers, const char *body, ...)
    ITEMS_PRINTS(3);
struct cosmos_answer item_bulk(struct cosmos_face *f, const char *headers, const char *body, ...)
    ITEMS_PRINTS(3);

/* A value of the reply's body without the quotes around it; for headers of later requests. */
const char *item_text(struct cosmos_face *f, const struct cosmos_answer *answer, const char *path);
/* The etag of the reply, quotes included. */
const char *item_etag(struct cosmos_face *f, const struct cosmos_answer *answer);
/* "201 409 424" of the results of a batch. */
const char *item_statuses(struct cosmos_face *f, const struct cosmos_answer *answer);
/* Ids of a page of items: "a b c". */
const char *item_ids(struct cosmos_face *f, const struct cosmos_answer *answer);

#endif
