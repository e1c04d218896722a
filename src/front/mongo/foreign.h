/* Documents of other collections, and of views, for the stages of a pipeline. Inside the face only. */
#ifndef FRONT_MONGO_FOREIGN_H
#define FRONT_MONGO_FOREIGN_H

#include "front/mongo/pipeline.h"
#include "front/mongo/select.h"

struct foreign;

/* What a document that was given last is, by collection and key. */
struct foreign_origin {
    uint32_t collection_id; /* 0: none was given */
    struct document_key key;
};

/* In `arena`; give it back with foreign_close. It judges documents for the moment of the command. */
MUST_USE status foreign_make(struct command *command, struct arena *arena, struct foreign **out);
/* For pipeline_source.foreign; as long as it is open. */
const struct pipeline_foreign *foreign_sources(struct foreign *foreign);
/* Borrowed until the next document is given. */
struct foreign_origin foreign_last(const struct foreign *foreign);
void foreign_close(struct foreign *foreign);

#endif
