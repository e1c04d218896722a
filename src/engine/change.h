/* Inside the engine: changing the catalog. change.c is the way every change goes, change_collection.c,
 * change_index.c and change_rule.c say what is changed. */
#ifndef ENGINE_CHANGE_H
#define ENGINE_CHANGE_H

#include "engine/state.h"

/* One row to be put (or, with an empty value, deleted) by a change; `end` makes it a range delete. */
struct change_row {
    struct row_address where;
    bytes key;
    bytes end;
    bytes value;
};

struct change {
    struct commit commit;
    struct engine *engine;
    struct arena *arena;
    struct collection **old; /* borrowed from the current picture, by id */
    struct collection **next;
    size_t count;
    struct catalog_edit edit;
    struct buffer rows; /* struct change_row */
    bool is_marked;     /* as a wait, base/block.h */
    bool is_published;
    bool switches_rules, switches_rules_off; /* all TTL indexes of the server */
    uint64_t
        fresh_rules; /* by number: date rules that begin in a lane of which nothing is remembered */
};

/* Takes the change lock; change_end gives everything back, on success too. */
void change_begin(struct engine *engine, struct arena *arena, struct change *out);
void change_end(struct change *change);
const struct catalog *change_catalog(struct engine *engine);
void change_add_row(struct change *change, struct change_row row);
/* Closes the gates of the collections to be changed and makes their next descriptors. */
MUST_USE status change_close_and_clone(struct change *change, struct collection *const *old,
                                       size_t count);
MUST_USE status change_put_descriptor(struct change *change, const struct collection *next);
/* Durable first, then seen. */
MUST_USE status change_publish(struct change *change);

MUST_USE status change_check_name(struct arena *arena, const char *what, bytes name);
/* `format` has one %.*s for the name. */
status change_fail_named(struct arena *arena, status_code code, const char *format, bytes name)
    __attribute__((format(printf, 3, 0)));
MUST_USE status change_need_collection(struct change *change, bytes database, bytes name,
                                       struct collection **out);

/* Alters the next descriptor while the collection is closed to writes. */
typedef status alter(struct change *change, struct collection *next, const void *what);
MUST_USE status change_collection(struct engine *engine, struct arena *arena, bytes database,
                                  bytes name, alter *how, const void *what);
/* The same by id; nothing happens if the collection is gone. */
MUST_USE status change_by_id(struct engine *engine, struct arena *arena, uint32_t id, alter *how,
                             const void *what);
bool change_is_populated(struct change *change, const struct collection *collection);

/* ---- change_rule.c ---- */
_Static_assert(LIMIT_DATE_RULES <= 64, "fresh_rules has a bit for each");
/* Behind the commit. */
void rule_forget_cuts(const struct change *change);
struct date_rule *rule_of_index(struct collection *collection, uint32_t index_id);
MUST_USE status rule_add(struct change *change, struct collection *next, const struct index *index);
MUST_USE status rule_retire(struct change *change, struct collection *next, uint32_t index_id);
MUST_USE status rule_check_expiry(struct arena *arena, const struct index_definition *definition,
                                  int64_t seconds);

/* ---- change_index.c ---- */
/* `what` is a struct index_definition. */
status index_alter_add(struct change *change, struct collection *next, const void *what);
/* `what` is the name of the index. */
status index_alter_drop(struct change *change, struct collection *next, const void *what);
/* Lazy indexes are built again, from the documents that are there now (C-10). */
MUST_USE status index_rebuild_lazy(struct change *change, struct collection *next);

#endif
