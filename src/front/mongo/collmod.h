/* What collMod and create have in common. Inside the face only. */
#ifndef FRONT_MONGO_COLLMOD_H
#define FRONT_MONGO_COLLMOD_H

#include "front/mongo/command.h"

/* A number of seconds as collMod understands it; InvalidOptions for NaN and below 0, but for -1 where that is
 * allowed. */
MUST_USE status collmod_seconds(struct command *command, struct value value, bool is_never_allowed,
                                int32_t *out);
/* The expiry of a clustered collection; InvalidOptions below 0 and above the seconds since 1970. */
MUST_USE status collmod_clustered_seconds(struct command *command, struct value value,
                                          int32_t *out);
/* The index that ends the documents of a clustered collection (by their _id) or of a time-series collection; in
 * the arena. */
MUST_USE status collmod_expiry_index(struct arena *arena, bytes path, int32_t expire_after_s,
                                     struct index_definition *out);

#endif
