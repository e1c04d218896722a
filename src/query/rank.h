/* How well the words of a text fit a search, compared with all other texts. Private to this room. */
#ifndef QUERY_RANK_H
#define QUERY_RANK_H

#include "query/evaluate.h"

/* What is known of all texts for one call of words_score. */
struct rank_words {
    const struct expression *call;
    bytes *phrases; /* as words */
    size_t phrase_count;
    bool is_sound; /* all of them are texts */
    double words;  /* of all texts */
    double *hits;  /* for each phrase, the texts that have it */
};

struct rank {
    double documents;
    struct rank_words *searches;
    size_t search_count;
};

/* For the searches of the query, with nothing counted yet; in `arena`. */
MUST_USE status rank_open(struct arena *arena, const struct query_rank *query, struct rank **out);
/* Counts the document that is bound. */
MUST_USE status rank_add(struct rank *rank, struct evaluation *evaluation);
/* What was counted, for a later page: a document. INVALID if it is not one of this query. */
MUST_USE status rank_write(const struct rank *rank, struct arena *arena, bytes *out);
MUST_USE status rank_read(struct rank *rank, bytes counted);
/* The score of a text; none if it is no text. `rank` may be NULL: then there is none. */
MUST_USE status rank_score(const struct rank *rank, struct arena *arena,
                           const struct expression *call, struct value text, bool *has_out,
                           double *out);

#endif
