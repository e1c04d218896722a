/* Which rows a cursor has given, by their origins (see pipeline_origin), or where there is none by what they are. So a
 * result that is computed anew goes on without repeating them. Inside the face only. */
#ifndef FRONT_MONGO_GIVEN_H
#define FRONT_MONGO_GIVEN_H

#include "front/mongo/pipeline.h"
#include "front/mongo/waiting.h"

struct given_rows;
/* Owner: handle. */
MUST_USE status given_open(struct given_rows **out);
/* NULL is fine. */
void given_close(struct given_rows *given);

/* TOO_LARGE past LIMIT_QUERY_SET_MEMBERS. */
MUST_USE status given_add(struct given_rows *given, const struct waiting_row *row);
/* All of them were added, and none has come again yet. */
void given_begin(struct given_rows *given);
/* Is it one of them, which has not come again yet? Then it has now. */
MUST_USE status given_comes_again(struct given_rows *given, const struct waiting_row *row,
                                  bool *out);

#endif
