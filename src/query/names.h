/* Finds things by their names, quickly even if they are many. Private to this room. */
#ifndef QUERY_NAMES_H
#define QUERY_NAMES_H

#include "base/base.h"

/* So many are asked one by one; it takes no longer than a hash. */
enum { NAMES_FEW = 16 };

struct names;

/* A thing begins with its name, of type bytes, which no other thing here has. Things are borrowed; the first one makes
 * *names, which is NULL until then, in `arena`. */
MUST_USE status names_add(struct names **names, struct arena *arena, void *thing);
/* The thing of this name; NULL if there is none. */
void *names_find(const struct names *names, bytes name);

#endif
