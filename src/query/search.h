/* Searching texts: which documents have the words, and how well they fit.
 *
 * A wish is what a client looks for: words, "phrases in quotes", and -words that must not be there. It is bound to the
 * part of an index (PART_WORDS) whose settings say which fields of a document are texts, how much each counts, and in
 * which language they are:
 *     { weights: { path: weight, ... }, language: "english", override: "language" }
 * where the path $** is every text, and `override` names the field in which a document, or one within it, says its
 * own language. A document fits if it has one of the words, all phrases, and nothing of what must not be there. */
#ifndef QUERY_SEARCH_H
#define QUERY_SEARCH_H

#include "engine/engine.h"

struct search_wish {
    bytes text;
    bytes language; /* empty: that of the index */
    bool is_case_sensitive;
    bool is_diacritic_sensitive;
};

/* Is it a language that texts can have? */
bool search_has_language(bytes name);

/* ---- private to this room ---------------------------------------------------------------------------- */

struct search;

/* In `arena`, bound to the part. INVALID: a language that is not known. */
MUST_USE status search_open(struct arena *arena, const struct search_wish *wish,
                            const struct index_field *field, struct search **out);
/* `scratch` is used, and not given back. */
MUST_USE status search_document(const struct search *search, struct arena *scratch, bytes document,
                                bool *fits_out, double *score_out);
/* The stems that are looked for, of which a document has at least one; encoded as the index has them. */
struct search_terms {
    const bytes *items;
    size_t count;
};
struct search_terms search_terms(const struct search *search);
/* What is looked for, as people read it: terms, negatedTerms, phrases, negatedPhrases; arrays of one document. */
MUST_USE status search_tell(const struct search *search, struct arena *arena, bytes *out);
/* The part of the index that a document has. INVALID: it says a language that is not known. */
MUST_USE status search_index_values(struct arena *arena, const struct index_field *field,
                                    bytes document, struct index_values *out);

#endif
