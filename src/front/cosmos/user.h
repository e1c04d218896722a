/* Users and their permissions. */
#ifndef FRONT_COSMOS_USER_H
#define FRONT_COSMOS_USER_H

#include "front/cosmos/call.h"

/* Removes the users of a database that was deleted, with their permissions. */
MUST_USE status user_forget_database(struct call *call, uint32_t database_id);

#endif
