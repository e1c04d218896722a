/* The Cosmos face: the REST protocol of Azure Cosmos DB for NoSQL on the engine. Requests come as HTTP
 * exchanges and are answered at once, or, when their last step is a commit, by the thread that committed.
 * The face keeps no data of its own: what it needs is in the catalog and in a system database. */
#ifndef FRONT_COSMOS_COSMOS_H
#define FRONT_COSMOS_COSMOS_H

#include "engine/engine.h"
#include "front/front.h"

struct cosmos;

struct cosmos_options {
    struct engine *engine; /* borrowed, as all of these */
    const struct log *log;
    struct metrics *metrics;
    struct audit *audit; /* NULL: nobody wants to know */
    /* Judges the date of signatures: the machine's own time, which the test clock does not move. */
    struct clock_source machine_time;
    const char *master_key;    /* base64; NULL: the well-known key of the emulator */
    const char *read_only_key; /* base64; NULL: there is none */
    const char *secondary_key, *secondary_read_only_key; /* the same beside them */
    bool enforces_throughput;
};

/* Owner: handle. INVALID for a key that is not base64 or too short. */
MUST_USE status cosmos_open(const struct cosmos_options *options, struct arena *arena,
                            struct cosmos **out);
void cosmos_close(struct cosmos *face);
/* From now on requests are signed with the keys of `options`, of which nothing else is looked at. On failure the old
 * ones stay. INVALID. */
MUST_USE status cosmos_renew_keys(struct cosmos *face, const struct cosmos_options *options,
                                  struct arena *arena);

/* http_handler; `face` is a struct cosmos. */
enum http_answer cosmos_handle(void *face, struct http_exchange *exchange);
/* The reply to a request that never became one (too large, malformed). */
struct http_reply cosmos_refuse(void *face, struct arena *arena, struct http_refusal refusal);

/* Every route as rows of a Markdown table, for the docs. */
void cosmos_describe_routes(struct buffer *out);
/* The same for the functions of the SQL. */
void cosmos_describe_functions(struct buffer *out);

#endif
