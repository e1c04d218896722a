/* Documents of other collections, and of views, for the stages of a pipeline. Inside the face only. */
#ifndef FRONT_MONGO_FOREIGN_H
#define FRONT_MONGO_FOREIGN_H

#include "front/mongo/made_of.h"
#include "front/mongo/pipeline.h"
#include "front/mongo/select.h"

struct foreign;

/* For pipeline_source.origin: which document it is, and what of it was seen. Written over what is in the buffer. */
MUST_USE status row_origin(struct buffer *buffer, uint32_t collection_id,
                           const struct select_row *row, bytes *out);
/* Does the document still live that a row came from? Rows of no single document do. */
/* How well it fitted the search that has found it. */
struct row_score row_origin_score(bytes origin);
MUST_USE status row_origin_lives(struct command *command, bytes origin, bool *out);

/* The document that it names, whatever of it was seen: for telling whether two rows are of the same one. */
bytes row_origin_name(struct buffer *buffer, bytes origin);

/* In `arena`; give it back with foreign_close. It judges documents for the moment of the command. `disk` as in
 * pipeline_source; `made_of` learns which documents become part of rows. */
MUST_USE status foreign_make(struct command *command, struct arena *arena, const char *disk,
                             struct made_of *made_of, struct foreign **out);
/* For pipeline_source.foreign; as long as it is open. */
const struct pipeline_foreign *foreign_sources(struct foreign *foreign);
void foreign_close(struct foreign *foreign);

#endif
