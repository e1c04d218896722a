/* Views: names that stand for documents of a collection behind a pipeline. A view has no documents of its own,
 * so what is dead in the collection is in no view of it. Inside the face only. */
#ifndef FRONT_MONGO_VIEW_H
#define FRONT_MONGO_VIEW_H

#include "front/mongo/finding.h"

/* What a name of a collection or view leads to. In the arena of the command. */
struct view {
    bool is_view;
    const struct collation *collation;   /* of the view, or of the collection */
    const struct collection *collection; /* where the documents come from; NULL: nowhere */
    bytes stages;    /* an array: what is between them and the client; empty without a view */
    bytes documents; /* of the list of views: one behind the other; nothing else is set then */
};

/* The name under which clients find the definitions of a database's views. */
#define VIEW_LIST "system.views"

/* Must documents under this name come through the pipeline of view_resolve? `collection` is what the catalog
 * has under it, or NULL. */
bool view_is_needed(bytes name, const struct collection *collection);
/* Follows views on views. ViewDepthLimitExceeded, ViewPipelineMaxSizeExceeded. */
MUST_USE status view_resolve(struct command *command, bytes name, struct view *out);
/* The stages of the view with others behind them, in `arena`. */
MUST_USE status view_join(struct arena *arena, const struct view *view, bytes stages, bytes *out);

/* May there be a view of this name? Refuses a pipeline that cannot run or that writes, a view that looks at
 * itself, one with too many below or above it, and one that orders texts otherwise than the view it looks at. */
MUST_USE status view_check(struct command *command, bytes name, bytes view_on, bytes pipeline,
                           const struct collation *by);
bool view_are_any(struct command *command);
/* view_reach.c: would a view on `on` with this pipeline look at `wanted`, by itself or through others? */
MUST_USE status view_reaches(struct command *command, bytes on, bytes pipeline, bytes wanted,
                             bool *out);

/* ---- commands on a view: view_command.c -------------------------------------------------------------- */

MUST_USE status view_find(struct command *command, const struct finding_wish *finding,
                          const struct stream_wish *stream);
/* How many documents fulfil the filter; a limit of 0 is none. */
MUST_USE status view_count(struct command *command, bytes name, bytes filter,
                           const struct collation *by, int64_t skip, int64_t limit, uint64_t *out);
/* Each document that fulfils the filter, borrowed during the call; the hint is for the collection below. */
MUST_USE status view_each(struct command *command, bytes name, bytes filter, struct value hint,
                          const struct collation *by, stream_row *each, void *context);

#endif
