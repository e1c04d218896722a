/* What the files of conditions share. Private to this room. */
#ifndef QUERY_MATCH_PARTS_H
#define QUERY_MATCH_PARTS_H

#include "query/match.h"

/* Counts work for the document that is asked. TOO_LARGE past the bound. */
MUST_USE status match_count_steps(struct matching *matching, uint64_t steps);

/* The first part of a dotted path; `path` moves behind it and its dot. */
bytes match_take_part(bytes *path);
/* Is the part this position, as positions are written? */
bool match_is_position(bytes part, size_t position);

/* Does the leaf hold for one value that its path reached? */
MUST_USE status match_ask_leaf(const struct match *leaf, struct matching *matching,
                               struct value value, bool *out);
MUST_USE status match_ask_formula(const struct match *match, struct matching *matching,
                                  bytes document, bool *out);

/* As match_document and match_value, in the middle of a document. */
MUST_USE status match_inner_document(const struct match *match, struct matching *matching,
                                     bytes document, bool *out);
MUST_USE status match_inner_value(const struct match *match, struct matching *matching,
                                  struct value value, bool *out);

#endif
