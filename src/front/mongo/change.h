/* One update of documents: what `update` and `findAndModify` share. Inside the face only. */
#ifndef FRONT_MONGO_CHANGE_H
#define FRONT_MONGO_CHANGE_H

#include "front/mongo/modify.h"

struct change_result;
/* What is answered if this is made, for when it is asked for again. */
typedef status change_answer(struct command *command, void *context,
                             const struct change_result *result, bytes *out);

struct change_wish {
    bytes name; /* of the collection */
    bytes filter;
    bytes let;
    struct value update; /* operators or a replacement */
    bytes array_filters; /* an array, or empty */
    bool is_multi, is_upsert;
    bytes sort; /* which one, where one is wanted; a document */
    struct value hint;
    struct value collation; /* as the client says it, or missing */
    bool sets_collation;    /* it is `by` instead */
    const struct collation *by;
    bool wants_documents;  /* as they were and are, of one document */
    size_t statement;      /* of the command */
    change_answer *answer; /* NULL: that it was done, and the _id of an upsert, are enough */
    void *context;
};

struct change_result {
    int64_t matched, changed;
    bool is_upserted;
    struct value upserted_id;
    bytes before, after; /* empty: there is none */
};

/* Raises a fault for what is not acceptable, or for what a document refuses. */
MUST_USE status change_run(struct command *command, const struct change_wish *wish,
                           struct change_result *out);
/* The same for a statement {q, u, ...} of an update, which is number `number` of the command. */
MUST_USE status change_statement(struct command *command, bytes name, bytes let, size_t number,
                                 bytes statement, struct change_result *out);
/* What a statement has done that an earlier attempt has carried out, of what was noted with it. */
void change_result_of_done(bytes noted, struct change_result *out);

#endif
