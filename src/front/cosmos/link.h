/* The path of a request, taken apart: dbs/{database}/colls/{container}/docs/{item}. Every part is decoded
 * exactly once. The id of an item may hold a question mark that the client did not escape, so a query
 * begins there only in front of it. */
#ifndef FRONT_COSMOS_LINK_H
#define FRONT_COSMOS_LINK_H

#include "base/base.h"

enum { LINK_PARTS_MAX = 8 };

struct link {
    size_t count;
    bytes parts[LINK_PARTS_MAX]; /* decoded */
    bytes path;                  /* as sent, without the slashes around it */
};

/* INVALID for more parts than any resource has, an escape that is none, text that is not UTF-8. */
MUST_USE status link_parse(struct arena *arena, bytes target, struct link *out);

/* Text with its %XX undone, once; the text itself if it has none. INVALID with the offset of an escape that
 * is none. */
MUST_USE status percent_decode(struct arena *arena, bytes text, bytes *out);
/* Appends a part as it stands in a URL: everything but unreserved characters as %XX. */
void link_append_encoded(struct buffer *out, bytes part);

#endif
