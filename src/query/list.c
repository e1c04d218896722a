/* List: arrays that are built element by element.
 *
 * Elements are named by their positions, as BSON wants it. Failures stick to the buffer. Pure. */
#include "query/list.h"

#include <stdio.h>

void list_append(struct buffer *out, size_t *count, struct value value)
{
    char name[24];
    int len = snprintf(name, sizeof(name), "%zu", (*count)++);

    document_append(out, bytes_of(name, (size_t)len), value);
}

struct list list_begin(struct arena *arena)
{
    struct list list = { .built = buffer_in(arena) };

    list.begun = document_begin(&list.built);
    return list;
}

void list_add(struct list *list, struct value value)
{
    list_append(&list->built, &list->count, value);
}

status list_end(struct list *list, struct value *out)
{
    document_end(&list->built, list->begun);
    *out = (struct value){ .type = VALUE_ARRAY };
    return buffer_finish(&list->built, &out->raw);
}
