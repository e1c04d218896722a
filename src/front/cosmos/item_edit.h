/* One change at a place inside a document, as patches ask for it. */
#ifndef FRONT_COSMOS_ITEM_EDIT_H
#define FRONT_COSMOS_ITEM_EDIT_H

#include "value/value.h"

enum edit_kind { EDIT_ADD, EDIT_SET, EDIT_REPLACE, EDIT_REMOVE, EDIT_INCREMENT, EDIT_MOVE };

/* A JSON pointer, taken apart. */
struct edit_path {
    bytes text;
    size_t count; /* at least 1 */
    bytes *parts; /* unescaped */
};
/* `text` is UTF-8. INVALID for one that does not begin with a slash, names nothing, or has too many parts. */
MUST_USE status edit_path_parse(struct arena *arena, bytes text, struct edit_path *out);
bool edit_path_is_within(const struct edit_path *path, const struct edit_path *outer);

struct edit {
    enum edit_kind kind;
    struct edit_path path;
    struct edit_path from; /* EDIT_MOVE */
    struct value value;    /* a number for EDIT_INCREMENT; none for EDIT_REMOVE, EDIT_MOVE */
};
/* The changed copy of a document, in the arena. INVALID with what is in the way. */
MUST_USE status edit_document(struct arena *arena, const struct edit *edit, bytes document,
                              bytes *out);

#endif
