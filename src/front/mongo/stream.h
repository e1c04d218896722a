/* Cursors: results that clients fetch batch by batch. A stream knows how to go on; each batch is a request
 * of its own with its own `now`, so what died between two batches is in neither. Inside the face only. */
#ifndef FRONT_MONGO_STREAM_H
#define FRONT_MONGO_STREAM_H

#include "front/mongo/lsid.h"

struct stream;
struct stream_table;

struct stream_table *stream_table_open(void);
void stream_table_close(struct stream_table *table);

/* Where the documents of a stream come from. `state` lies in the memory of the stream; between batches
 * nothing outside of it may be kept. */
struct stream_source {
    /* Before and after the documents of a batch; both may be NULL. `end` is called on failure too. */
    status (*begin)(void *state, struct command *command);
    void (*end)(void *state, struct command *command);
    /* The next document, borrowed until the next call. */
    status (*next)(void *state, struct command *command, bytes *document_out, bool *has_out);
    /* Is it known that nothing will come? May be NULL. Asked after `end`. */
    bool (*is_over)(void *state);
    /* Gives back what `state` has outside of the memory of the stream; may be NULL. */
    void (*drop)(void *state);
    void *state;
};

/* A new stream, with memory of its own; nobody else knows it until stream_reply. Give it back with
 * stream_drop if it does not come to that. */
MUST_USE status stream_make(struct command *command, struct stream **out);
void stream_drop(struct stream *stream);
struct arena *stream_arena(struct stream *stream);
void stream_set_source(struct stream *stream, const struct stream_source *source);

/* What the client wants of it. */
struct stream_wish {
    bytes name;         /* of the collection, for `ns` */
    int64_t batch_size; /* negative: as the server likes */
    bool is_single;     /* the first batch is the last */
    bool never_idles;   /* noCursorTimeout */
    bool is_tailable;   /* an empty batch is not its end */
    bool awaits;        /* and an empty one is answered late, in case that something comes */
};
/* Takes a place among the cursors, for a stream that must get one later, if it needs it: BUSY if all are taken. */
MUST_USE status stream_enlist(struct command *command, struct stream *stream,
                              const struct stream_wish *wish);
/* Appends `cursor: {firstBatch, id, ns}` to the reply. The stream is kept if there may be more, otherwise
 * it is gone; in any case it must not be touched any more. */
MUST_USE status stream_reply(struct command *command, struct stream *stream,
                             const struct stream_wish *wish);

/* The row of each idle cursor for $currentOp, documents one behind the other; of who asks only, or of all. */
void stream_append_idle(struct command *command, bool is_all, struct buffer *out);
/* Every document that is left, without a reply; the stream stays the caller's. */
typedef status stream_row(void *context, bytes document);
MUST_USE status stream_each(struct command *command, struct stream *stream, stream_row *each,
                            void *context);

/* How many there are, and have been. */
struct stream_figures {
    uint64_t opened, timed_out;
    size_t open, busy, never_idle;
};
struct stream_figures stream_figures(struct stream_table *table);
/* Those of these sessions. */
void stream_end_sessions(struct stream_table *table, const struct lsid_pattern *pattern);
/* Those that a transaction of the session has opened. */
void stream_end_transaction(struct stream_table *table, bytes session_id, int64_t number);

#endif
