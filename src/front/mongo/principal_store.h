/* Where users are kept, for those who change them. Inside the face only. */
#ifndef FRONT_MONGO_PRINCIPAL_STORE_H
#define FRONT_MONGO_PRINCIPAL_STORE_H

#include "base/base.h"

#define PRINCIPAL_DATABASE "$mayfly"
#define PRINCIPAL_COLLECTION "accounts"

/* The _id of a user, and its key in the collection. */
MUST_USE status principal_key(struct arena *arena, bytes database, bytes user, bytes *id_out,
                              bytes *key_out);
/* Is there a role of that name on that database? */
bool principal_has_role(bytes role, bytes database);
size_t principal_role_count(void);
const char *principal_role_name(size_t at, bool *is_everywhere_out);

#endif
