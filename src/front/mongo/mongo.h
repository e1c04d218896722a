/* The MongoDB face: the wire protocol of MongoDB on the engine, as a replica set of one member. A session
 * per connection reads messages; each is one command, answered at once or, when its last step is a commit,
 * by the thread that committed. Documents are kept in the engine; cursors and sessions live in memory. */
#ifndef FRONT_MONGO_MONGO_H
#define FRONT_MONGO_MONGO_H

#include "engine/engine.h"
#include "front/front.h"

struct mongo;

struct mongo_options {
    struct engine *engine; /* borrowed, as all of these */
    const struct log *log;
    struct metrics *metrics;
    struct audit *audit;  /* NULL: nobody wants to know */
    const char *set_name; /* of the replica set; NULL: "mayfly" */
    const char *version;  /* of this program */
    const char
        *directory; /* for rows that do not fit into memory; NULL: the system's for such files */
    bool has_test_commands;
};

/* Owner: handle. */
MUST_USE status mongo_open(const struct mongo_options *options, struct arena *arena,
                           struct mongo **out);
void mongo_close(struct mongo *face);
/* Where clients reach this server, host:port, before the first of them comes: they connect to what hello
 * names, whatever they were told. */
MUST_USE status mongo_announce(struct mongo *face, const char *address);

/* Without users only clients on the same machine are served. */
bool mongo_has_users(const struct mongo *face);

/* The context of the protocol is a struct mongo. */
const struct protocol *mongo_protocol(void);

/* Decides for the engine which documents a partial index holds; whether clients are served or not, because
 * collections may have such indexes. */
bool mongo_index_predicate(void *context, bytes predicate, bytes document);

/* Options and indexes of a collection as JSON, as the tools of this protocol keep them beside its documents. */
MUST_USE status mongo_describe_collection(struct arena *arena, const struct collection *collection,
                                          struct buffer *out);
/* A new collection from such a description (or one of another program) as a document: its options and indexes. INVALID
 * with what was wrong. */
MUST_USE status mongo_define_collection(struct mongo *face, struct arena *arena, bytes database,
                                        bytes name, bytes metadata);
/* A database that is not for clients: it keeps users and permissions. */
bool mongo_is_hidden(bytes database);

/* Every command as rows of a Markdown table, for the docs. */
void mongo_describe_commands(struct buffer *out);
/* Tables of operators: filters, updates, stages, accumulators, expressions. */
void mongo_describe_operators(struct buffer *out);

#endif
