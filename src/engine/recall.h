/* Documents that were read lately, so that they need not be looked up again. Nothing is found here that could
 * have been written since; what is not found here is looked up in the storage. */
#ifndef ENGINE_RECALL_H
#define ENGINE_RECALL_H

#include "engine/catalog.h"
#include "engine/latch.h"
#include "engine/row.h"

enum { RECALL_BYTES = 976 }; /* of a body row; longer ones are not kept */

struct recall;

/* In at most so many bytes; 0: the usual 32 MB. Owner: handle. NULL if they are too few, or without memory. */
struct recall *recall_open(size_t bytes_most);
void recall_close(struct recall *recall);

/* A question; its `turn` says since when the answer has to hold. */
struct recall_question {
    const struct collection *collection;
    bytes key; /* of the locator row; the body row has the same without its tag */
    uint64_t hash;
    uint64_t turn;
};
/* Reads the turn: whoever keeps an answer has to ask the question before looking it up. */
struct recall_question recall_ask(const struct latches *latches,
                                  const struct collection *collection, bytes key);
/* The body row, in the arena; false if it is not known, or may have changed. */
bool recall_find(const struct recall *recall, const struct recall_question *question,
                 struct arena *arena, bytes *row_out);
/* The body row that was looked up after the question was asked. */
void recall_keep(struct recall *recall, const struct recall_question *question, bytes row);

/* What the write number `seq` has made of its document, taken apart, in the arena: for those who have seen a row of
 * that write and so know that it is what they look for. */
bool recall_find_write(const struct recall *recall, const struct collection *collection,
                       uint64_t seq, struct arena *arena, struct row_body *out);
/* False: that is surely not here. */
bool recall_may_have_write(const struct recall *recall, const struct collection *collection,
                           uint64_t seq);
/* That will be asked soon. */
void recall_expect_write(const struct recall *recall, const struct collection *collection,
                         uint64_t seq);
/* Such a body row, however old; it is kept when it comes a second time. */
void recall_keep_write(struct recall *recall, const struct collection *collection, uint64_t seq,
                       bytes row);

#endif
