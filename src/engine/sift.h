/* Sifting a collection: all its living documents are looked at where they lie, by as many threads as are free,
 * and those that pass a test are given to the thread of the request, in slot order, exactly as if one thread
 * had walked all slots. So it is for whoever has to see everything and wants little of it: a condition that no
 * index helps. A test may also keep sums of its own and let nothing pass.
 *
 * A sift sees one instant (the request's view). Helpers are never waited for while there is something to do, and
 * a sift that finds none is a scan. */
#ifndef ENGINE_SIFT_H
#define ENGINE_SIFT_H

#include "engine/document.h"

struct sift;

/* What documents have to pass. Every thread has a tester of its own; testers are opened and closed on the thread
 * of the request. */
struct sift_test {
    MUST_USE status (*open)(void *context, void **tester_out);
    /* The document is only valid during the call. A failure ends the sift when it comes to this document. */
    MUST_USE status (*judge)(void *tester, const struct document *document, bool *out);
    void (*close)(void *tester);
    void *context;
    bool needs_key; /* `judge` looks at document.key, which is empty otherwise */
};

struct sift_spec {
    struct request *request;
    const struct collection *collection;
    struct sift_test test;
    /* Asked now and then on the thread of the request; a failure ends the sift with it. May be NULL. */
    status (*go_on)(void *context);
    void *context;
};

/* Is the collection large enough that several threads pay? */
bool sift_is_worth(struct request *request, const struct collection *collection);
/* Owner: handle. */
MUST_USE status sift_open(const struct sift_spec *spec, struct sift **out);
/* The next document that passes; borrowed until the next call, nothing to release. */
MUST_USE status sift_next(struct sift *sift, struct document *out, bool *has_out);
/* Living documents that were looked at up to the last one given, it included; at the end all. It does not depend
 * on how many threads took part. */
struct sift_seen {
    uint64_t documents, bytes;
};
struct sift_seen sift_seen(const struct sift *sift);
/* Stops the helpers and waits for them. NULL is fine. */
void sift_close(struct sift *sift);

#endif
