/* Pending: what answers for handlers that are not written yet. Each is weak, so that the real one, wherever
 * it stands, takes its place. */
#include "front/cosmos/call.h"

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
