/* Rows that a cursor has computed in advance, each with where it came from: some megabytes in its memory, the others
 * on disk. First all are added, then they are given in that order. Inside the face only. */
#ifndef FRONT_MONGO_WAITING_H
#define FRONT_MONGO_WAITING_H

#include "base/base.h"

struct waiting_row {
    bytes document;
    bytes origin; /* may be empty */
};

struct waiting_rows;
/* In `arena`, which has to outlive it; `directory` for what goes to disk. */
MUST_USE status waiting_open(struct arena *arena, const char *directory, struct waiting_rows **out);
/* NULL is fine. */
void waiting_close(struct waiting_rows *rows);

/* Copies both. */
MUST_USE status waiting_add(struct waiting_rows *rows, struct waiting_row row);
/* Borrowed until the next call. */
MUST_USE status waiting_next(struct waiting_rows *rows, struct waiting_row *out, bool *has_out);
bool waiting_is_over(const struct waiting_rows *rows);
/* Those that were given come once more, and nothing behind them. */
void waiting_rewind(struct waiting_rows *rows);

#endif
