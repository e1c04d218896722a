/* Arrays that are built element by element. Private to this room. */
#ifndef QUERY_LIST_H
#define QUERY_LIST_H

#include "value/value.h"

/* The next element of an array that was begun; `count` is how many it has. */
void list_append(struct buffer *out, size_t *count, struct value value);

/* An array of its own, in an arena. */
struct list {
    struct buffer built;
    size_t begun, count;
};
struct list list_begin(struct arena *arena);
void list_add(struct list *list, struct value value);
MUST_USE status list_end(struct list *list, struct value *out);

#endif
