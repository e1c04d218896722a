/* Changing documents that a condition finds: the part that deletes and updates share. Inside the face only. */
#ifndef FRONT_MONGO_MODIFY_H
#define FRONT_MONGO_MODIFY_H

#include "front/mongo/select.h"

/* What is to become of one document; `after_out` in the arena of the command. */
enum modify_verdict {
    MODIFY_KEEP,    /* found, but nothing changes */
    MODIFY_REPLACE, /* by after_out */
    MODIFY_DELETE,
};
typedef status modify_decide(struct command *command, void *context, const struct select_row *row,
                             enum modify_verdict *verdict_out, bytes *after_out);

struct modify;
/* What is answered if the change is made, for when it is asked for again; `before` and `after` are there. */
typedef status modify_answer(struct command *command, const struct modify *modify, bytes *out);

struct modify {
    const struct collection *collection;
    bytes name;
    struct condition *condition;
    bool is_multi;
    /* Which one, where one is wanted, and the way to it; as in select.h. */
    const struct order *order;
    bool is_reverse;
    enum find_hint by;
    const struct index *hint;
    modify_decide *decide;
    void *context;
    size_t statement;      /* of the command */
    modify_answer *answer; /* NULL: that it was done is enough */
    /* Results. */
    int64_t matched, changed;
    /* Of a modification of one document: as it was, and as it is now, as clients see it; in the arena of
     * the command. Empty if there is none. */
    bool wants_documents;
    bytes before, after;
};

/* Which one, by a sort (a document, or empty), and the way that the client wants. */
MUST_USE status modify_choose(struct command *command, struct modify *modify, bytes sort,
                              struct value hint);
/* Finds and changes. What another request does to a document at the same time is looked at again, so that
 * a change is made to what is there, and only if it still fulfils the condition. A failing document ends
 * it: the fault of the command is raised, and what was changed before stays. */
MUST_USE status modify_run(struct command *command, struct modify *modify);

/* delete.c: one statement {q, limit, ...} of a delete, which is number `number` of the command. */
MUST_USE status delete_statement(struct command *command, bytes name, bytes let, size_t number,
                                 bytes statement, int64_t *deleted_out);

#endif
