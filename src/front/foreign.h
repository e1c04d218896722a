/* Collections that several faces share. A document that came through another face may lack what the face that
 * made the collection gives to all of its own, such as an id; whoever shows documents has to know whether that
 * can be. So the first such write leaves a mark in the options of the collection. What only one face can make
 * sense of, such as a view, is marked too, and left out by the others. */
#ifndef FRONT_FOREIGN_H
#define FRONT_FOREIGN_H

#include "engine/engine.h"

bool foreign_is_marked(const struct collection *collection);
/* The options with the mark in them, in the arena; everything else stays as it is. */
MUST_USE status foreign_mark(struct arena *arena, bytes options, bytes *out);

/* The id of a document where ids are strings: its own string `id`, or the text of its `_id`; empty if it has
 * neither. Borrowed from the document, or in the arena. */
MUST_USE status foreign_shown_id(struct arena *arena, bytes document, bytes *out);
/* Has it an id that its `_id` does not tell? Whoever looks for an id then has to look into the documents. */
MUST_USE status foreign_has_own_id(struct arena *arena, bytes document, bool *out);
/* The mark of collections that have had such documents, set before the first of them is written. */
bool foreign_is_own_marked(const struct collection *collection);
MUST_USE status foreign_mark_own(struct arena *arena, bytes options, bytes *out);

/* Its indexing mode is none: it can have no default time to live (C-9). */
bool foreign_is_unindexed(const struct collection *collection);

/* It has no documents of its own: only the face that made it shows it. */
bool foreign_is_view(const struct collection *collection);
MUST_USE status foreign_mark_view(struct arena *arena, bytes options, bytes *out);

#endif
