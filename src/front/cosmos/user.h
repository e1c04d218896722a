/* Users and their permissions. */
#ifndef FRONT_COSMOS_USER_H
#define FRONT_COSMOS_USER_H

#include "front/cosmos/call.h"
#include "front/cosmos/record.h"

/* Removes the users of a database that was deleted, with their permissions. Inside resource_change(). */
MUST_USE status user_forget_database(struct call *call, uint32_t database_id);

/* The user of the path, by id or by resource id. FAIL_NOT_FOUND, or FAIL_NO_OWNER if the path goes on. */
MUST_USE status user_find(struct call *call, struct record *out);
struct rid user_rid(const struct call *call, const struct record *user);

#endif
