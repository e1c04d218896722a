/* Pending: what answers for handlers that are not written yet. Each is weak, so that the real one, wherever
 * it stands, takes its place. */
#include "front/cosmos/call.h"
#include "front/cosmos/user.h"

__attribute__((weak)) status user_forget_database(struct call *call, uint32_t database_id)
{
    (void)call;
    (void)database_id;
    return STATUS_OK;
}

#define PENDING(handler)                                            \
    __attribute__((weak)) status serve_##handler(struct call *call) \
    {                                                               \
        return call_fail(call, FAIL_UNSUPPORTED, "not yet");        \
    }
PENDING(item_list)
PENDING(change_feed_read)
PENDING(item_create)
PENDING(item_query)
PENDING(item_query_plan)
PENDING(item_batch)
PENDING(item_read)
PENDING(item_replace)
PENDING(item_patch)
PENDING(item_delete)
PENDING(item_delete_partition)
PENDING(user_list)
PENDING(user_create)
PENDING(user_query)
PENDING(user_read)
PENDING(user_replace)
PENDING(user_delete)
PENDING(permission_list)
PENDING(permission_create)
PENDING(permission_query)
PENDING(permission_read)
PENDING(permission_replace)
PENDING(permission_delete)
