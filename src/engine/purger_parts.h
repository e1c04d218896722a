/* Inside the engine: what the purger and its reaper share. */
#ifndef ENGINE_PURGER_PARTS_H
#define ENGINE_PURGER_PARTS_H

#include "engine/lane.h"
#include "engine/state.h"

struct purge_pass {
    struct engine *engine;
    struct arena *arena;
    time_ms cutoff;          /* nobody who lived after it is touched */
    uint64_t oldest_picture; /* that somebody looks at */
    bool is_eager;           /* asked for by name: do not wait until it is worth it */
    struct purge_result *result;
    time_ms look_again_at;
    status failure; /* the first */
    int64_t
        cut_again_at; /* monotonic: long work is interrupted to cut what has fallen due elsewhere */
    bool is_cutting;
    int64_t soon_bytes; /* of documents that are dead and were not cut, or that die in a moment */
};

/* Between the steps of long work: lets clients go first, and the lanes of all collections be cut when
 * their time has come. CANCELLED when the server stops. */
MUST_USE status purge_yield(struct purge_pass *pass);

/* ---- purger_cut.c ---- */
/* Everything in the lane up to and including the order. */
MUST_USE status cut_lane(struct purge_pass *pass, const struct collection *collection,
                         unsigned lane, time_ms upto);
/* The same where somebody wants to hear of each death first. */
MUST_USE status cut_lane_telling(struct purge_pass *pass, const struct collection *collection,
                                 unsigned lane, time_ms upto);

/* ---- note.c ---- */
/* Notes whose time is over. */
MUST_USE status note_purge(struct purge_pass *pass, const struct collection *collection);

/* ---- reaper_page.c ---- */
enum { PAGE_ROWS = 5000 };
/* All rows of a space, a page at a time; the functions get `owner`, and the pass's arena is theirs until
 * the page ends. */
struct page_walk {
    struct row_address where;
    void *owner;
    status (*begin)(void *owner); /* of a page */
    status (*look)(void *owner, bytes key, bytes value);
    bool (*is_full)(const void *owner);
    status (*act)(void *owner); /* on what was found in the page */
    bool is_finished;           /* the end was reached, or set by `act` to stop */
    uint8_t *position;          /* last row seen */
    size_t position_len;
};
MUST_USE status page_walk(struct purge_pass *pass, struct page_walk *walk);
/* For `act`: the next page begins behind this row, which is not behind the last one seen. */
void page_go_on_behind(struct page_walk *walk, bytes key);

/* Removes what another rule than its lane's has ended, and cleans up behind policy changes. */
MUST_USE status reaper_visit(struct purge_pass *pass, struct request *request,
                             const struct collection *collection);
/* Deletes the rows of the dead whose bodies are gone. */
MUST_USE status reaper_clean_rows(struct purge_pass *pass, const struct collection *collection);
/* ---- purge_history.c ---- */
void purge_history_note(struct engine *engine, uint32_t collection_id, uint64_t documents,
                        uint64_t bytes_gone);

/* Adds to the figures of the collection, of the server and of this pass. */
void purge_count(struct purge_pass *pass, const struct collection *collection,
                 struct storage_counters gone);

#endif
