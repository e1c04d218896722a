/* Databases, collections, their indexes and policies. A catalog is an immutable picture: a request takes
 * the current one without a lock and keeps it to its end; every change makes a new one, durable before
 * it is seen. */
#ifndef ENGINE_CATALOG_H
#define ENGINE_CATALOG_H

#include "engine/expiry_rule.h"
#include "engine/index_part.h"

#include <stdatomic.h>

struct engine;
struct engine_sweep;
struct request;
struct catalog;
struct collection_state;

enum index_kind {
    INDEX_FIELDS, /* one or more dotted paths, multikey through arrays */
    INDEX_PATHS,  /* every scalar below the included path patterns */
    INDEX_ARRIVAL, /* no fields: every document once, in the order in which they came. It may bound its
                    * collection: what came first leaves when something comes. One for each collection */
};
enum index_state { INDEX_BUILDING, INDEX_READY, INDEX_FAILED };

#define INDEX_NO_EXPIRY (-1)

/* What an index is; the caller's memory when creating, the catalog's when read. */
struct index_definition {
    bytes name;
    enum index_kind kind;
    bool is_unique;
    bool is_sparse;
    bool is_partial;
    bool is_missing_null;  /* a field that is not there is indexed as null */
    bool is_per_partition; /* of fields: entries begin with the document's partition key, so that a
                             * unique index holds within each partition key (index bounds too) */
    bool is_lazy;          /* follows the writes in the background: may miss new ones, shows nothing
                             * that is no longer so; neither unique nor a TTL index */
    bool
        is_shaped; /* over patterns: has a row for each document under its shape, too, which says who has
                     * nothing at a path; see index_paths.c */
    bool
        is_ranked; /* of fields: one entry for each document, ordered by kinds first; see index_ranked.c */
    int32_t expire_after_s;            /* INDEX_NO_EXPIRY, or a TTL index (one field) */
    const struct collation *collation; /* of fields: how texts are ordered; NULL: by their bytes */
    bytes predicate;                   /* of a partial index; handed to engine_options.predicate */
    bytes options;                     /* opaque, kept for the face that made it */
    size_t field_count;
    const struct index_field *fields;
    /* INDEX_PATHS: patterns such as / * (all below), /a/b/?, /list/[]/name/?; the longest match wins. */
    size_t included_count, excluded_count;
    const bytes *included;
    const bytes *excluded;
    /* INDEX_ARRIVAL: how much stays, once something comes; 0: all of it. */
    int64_t keep_bytes, keep_documents;
};

struct path_pattern;

struct index {
    uint32_t id;
    enum index_state state;
    uint64_t created_seq;
    struct index_definition definition;
    const struct path **paths;           /* parsed fields */
    const struct path_pattern *patterns; /* parsed, of INDEX_PATHS: included, then excluded */
    bytes failure; /* INDEX_FAILED: index_failure_text(), index_failure_key() */
    struct index_progress *progress;
};

struct collection_definition {
    bytes database;
    bytes name;
    int32_t default_ttl;
    bytes options; /* opaque, kept for the faces */
    size_t partition_path_count;
    const bytes *partition_paths; /* dotted */
    /* How the texts of ids are told apart: those that it calls equal are one key. NULL: by their bytes. */
    const struct collation *collation;
};

/* settled_at of a descriptor that is not being changed, and for the moment in which the clock is read. */
#define COLLECTION_SETTLED_NEVER INT64_MAX
#define COLLECTION_SETTLING INT64_MIN

/* Immutable; valid while the request that found it runs. */
struct collection {
    uint32_t id;
    uint64_t version; /* raised by every change */
    uint64_t
        picture; /* number of the first catalog with this descriptor, since the server started */
    struct collection_definition definition;
    struct expiry_policy policy;
    size_t index_count;
    const struct index *indexes;
    bool is_mixed;       /* some documents may die by another rule than their lane's */
    bool needs_clean_up; /* retired rules or stored horizons are left to be cleaned behind */
    uint32_t next_index_id;
    struct collection_state *state;
    struct arena *memory;
    unsigned references; /* guarded by the engine's change lock */
    /* When a newer descriptor is on its way: the time at which the dead of this one were settled. Nobody
     * judges by it at a later time; whoever looks the collection up then waits for the newer one. */
    _Atomic int64_t settled_at;
};

/* ---- reading ---------------------------------------------------------------------------------------- */

bool catalog_has_database(const struct request *request, bytes name);
/* NOT_FOUND names what is missing. */
MUST_USE status catalog_find(const struct request *request, bytes database, bytes name,
                             const struct collection **out);
const struct collection *catalog_find_by_id(const struct request *request, uint32_t id);
/* Rises with whatever is written to its documents, once it can be seen: for telling whether something was. */
uint64_t collection_writes(const struct collection *collection);
const struct index *collection_index(const struct collection *collection, bytes name);
/* The index by arrival; NULL if there is none. */
const struct index *collection_arrivals(const struct collection *collection);
size_t catalog_database_count(const struct request *request);
bytes catalog_database(const struct request *request, size_t at);
/* Never used again, not even for another database of the same name, nor by a collection; 0 if there is
 * no such database. */
uint32_t catalog_database_id(const struct request *request, bytes name);
/* Opaque options of a database. */
bytes catalog_database_options(const struct request *request, bytes name);
size_t catalog_collection_count(const struct request *request);
/* In order of database and name. */
const struct collection *catalog_collection(const struct request *request, size_t at);

/* ---- changing --------------------------------------------------------------------------------------- */
/* All of these are durable when they return and hold for the next request (B-6). EXISTS, NOT_FOUND,
 * INVALID, TOO_LARGE with what was wrong. They wait for writes that are under way in the collection. */

MUST_USE status database_create(struct engine *engine, struct arena *arena, bytes name,
                                bytes options);
MUST_USE status database_set_options(struct engine *engine, struct arena *arena, bytes name,
                                     bytes options);
/* With all its collections. */
MUST_USE status database_drop(struct engine *engine, struct arena *arena, bytes name);
MUST_USE status collection_create(struct engine *engine, struct arena *arena,
                                  const struct collection_definition *definition,
                                  const struct index_definition *indexes, size_t index_count);
/* What a collection is, with all indexes and policies and without its documents, for collection_recreate() of
 * the same or a later version; opaque, in the arena. */
MUST_USE status collection_describe(struct arena *arena, const struct collection *collection,
                                    bytes *out);
/* A new collection from such a description; indexes that had failed are left out. CORRUPT for what is none. */
MUST_USE status collection_recreate(struct engine *engine, struct arena *arena, bytes database,
                                    bytes name, bytes description);
MUST_USE status collection_drop(struct engine *engine, struct arena *arena, bytes database,
                                bytes name);
MUST_USE status collection_rename(struct engine *engine, struct arena *arena, bytes database,
                                  bytes name, bytes new_database, bytes new_name);
/* The same, in place of a collection of the new name if there is one: it is dropped in the same step. */
MUST_USE status collection_rename_over(struct engine *engine, struct arena *arena, bytes database,
                                       bytes name, bytes new_database, bytes new_name);
/* Several settings in one durable step: all of them or none. Indexes are dropped before others are
 * created, so that one can take the place of another of its name. */
struct collection_change {
    uint64_t if_version; /* 0: whatever it is; otherwise only if it is this one still (CONFLICT) */
    bool sets_default_ttl;
    int32_t default_ttl; /* as for collection_set_default_ttl */
    bool sets_options;
    bytes options;
    const bytes *drops; /* names of indexes */
    size_t drop_count;
    const struct index_definition *adds;
    size_t add_count;
};
MUST_USE status collection_change(struct engine *engine, struct arena *arena, bytes database,
                                  bytes name, const struct collection_change *wanted);
/* TTL_OFF, TTL_NEVER or seconds; costs one small write whatever the size of the collection. */
MUST_USE status collection_set_default_ttl(struct engine *engine, struct arena *arena,
                                           bytes database, bytes name, int32_t default_ttl);
MUST_USE status collection_set_options(struct engine *engine, struct arena *arena, bytes database,
                                       bytes name, bytes options);
/* Returns when the index is registered; on a populated collection it is then built in the background. */
MUST_USE status index_create(struct engine *engine, struct arena *arena, bytes database, bytes name,
                             const struct index_definition *definition);
MUST_USE status index_drop(struct engine *engine, struct arena *arena, bytes database, bytes name,
                           bytes index_name);
/* Changes or adds the expiry of a single-field index. INDEX_NO_EXPIRY ends it. */
MUST_USE status index_set_expiry(struct engine *engine, struct arena *arena, bytes database,
                                 bytes name, bytes index_name, int32_t expire_after_s);
/* Both in one durable step. */
struct index_change {
    bytes name;
    bool sets_expiry;
    int32_t expire_after_s; /* as for index_set_expiry */
    bool sets_options;
    bytes options;
    bool sets_bounds; /* of an index by arrival; what is too much leaves with the next that comes */
    int64_t keep_bytes, keep_documents;
};
MUST_USE status index_change(struct engine *engine, struct arena *arena, bytes database, bytes name,
                             const struct index_change *wanted);
/* All TTL indexes of the server off or on at once (M-4). */
MUST_USE status engine_set_date_rules_acting(struct engine *engine, struct arena *arena,
                                             bool is_acting);
bool engine_are_date_rules_acting(const struct engine *engine);

/* Per mille of the documents seen, 1000 when ready; a lazy index is below while it lags behind. */
unsigned index_progress_per_mille(const struct index *index);
/* Of an index that could not be built: why, with the documents that clash, and the values that they have in
 * common, as a document by field (empty if that is not why). */
/* The values of an encoded entry that the document has in the index, by field; null where it has none. */
MUST_USE status index_entry_values(struct arena *arena, const struct index *index, bytes document,
                                   bytes entry, bytes *out);
bytes index_failure_text(const struct index *index);
bytes index_failure_key(const struct index *index);
/* One batch of an unfinished build, or of what a lazy index lags behind; *has_more_out is false if there is
 * none. Whoever waits for a build may help with it: one batch at a time is under way. */
MUST_USE status engine_build_step(struct engine *engine, bool *has_more_out);
/* Works on index builds and lazy indexes until nothing is left (manual engines, and tests). */
MUST_USE status engine_build_indexes(struct engine *engine);

#endif
