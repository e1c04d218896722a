/* One run of the model test: an engine and the naive model side by side. This part keeps them in step
 * (time, deaths, who was touched) and compares every answer; tests/model/documents.c decides at random
 * what is done. */
#ifndef TESTS_SUPPORT_MODEL_RUN_H
#define TESTS_SUPPORT_MODEL_RUN_H

#include "tests/support/naive_model.h"
#include "tests/support/world.h"

enum {
    MODEL_COLLECTIONS = 3,
    MODEL_HISTORY = 20,
    MODEL_HISTORY_BYTES = 200,
    MODEL_DEATHS_MAX = 65536,
};

/* A death that a reader must hear of, once. */
struct model_death {
    int id;
    uint64_t seq;
    bool is_heard;
    bool may_repeat; /* the purge that told it failed afterwards */
};

/* A scan in pages, with other operations between them. */
struct model_cursor {
    bool is_open;
    size_t collection;
    enum naive_index index; /* NAIVE_INDEXES: by key */
    bool is_reverse;
    bytes after; /* of `memory` */
    struct arena *memory;
    bool is_steady[NAIVE_IDS]; /* lived, and lay where it lay, all the time */
    int given[NAIVE_IDS];
};

/* A request that stays open while time passes. */
struct model_old {
    bool is_open;
    struct request request;
    struct naive_collection seen[MODEL_COLLECTIONS];
    bool is_touched[MODEL_COLLECTIONS][NAIVE_IDS];
};

struct model {
    struct world w;
    struct random random;
    uint64_t seed;
    size_t step;
    time_ms now;
    bool do_dates_act;
    struct naive_collection collections[MODEL_COLLECTIONS];
    struct model_cursor cursor;
    struct model_old old;
    struct model_death *deaths; /* of collection 0, which has a reader */
    size_t death_count;
    bool is_faulty; /* a storage call is about to fail: what is told may have to be told again */
    char history[MODEL_HISTORY][MODEL_HISTORY_BYTES];
    size_t history_count;
};

/* On disk in a directory of its own below `path`. */
void model_open(struct model *m, enum backing backing, const char *path, uint64_t seed);
void model_close(struct model *m);
/* Remembers what is done, for the one who has to find out. With TRACE set it is printed at once. */
void model_note(struct model *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

size_t model_below(struct model *m, size_t bound);
int64_t model_between(struct model *m, int64_t low, int64_t high);

/* Time as the model sees it, and everybody who is due taken out. After each change of time or policy. */
void model_settle(struct model *m);
/* After a restart: time may have jumped by as much as the stored mark runs ahead. */
void model_settle_restart(struct model *m);
/* Somebody wrote or deleted this document. */
void model_touch(struct model *m, size_t collection, int id);
/* The collection and everything in it is gone. */
void model_forget(struct model *m, size_t collection);
void model_read_deaths(struct model *m);

/* ---- comparing; each fails the test when the engine and the model differ ------------------------------ */

void model_compare_points(struct model *m, size_t collection);
/* By key, by index (skipped unless ready), in either direction. */
void model_compare_scan(struct model *m, size_t collection, enum naive_index index,
                        bool is_reverse);
void model_compare_slots(struct model *m, size_t collection);
void model_compare_figures(struct model *m, size_t collection);
void model_compare_forecast(struct model *m, size_t collection);
void model_compare_old(struct model *m);
void model_compare_deaths(struct model *m);
/* All of these for all collections, and the engine's own check. */
void model_compare_all(struct model *m);

struct document_key model_key(struct request *request, const struct collection *found,
                              const struct naive_collection *c, int id);
/* A document as found through the engine, against the model's. */
void model_compare_document(struct model *m, const struct naive_document *want,
                            const struct document *got);

#endif
