/* Auth: nothing is checked yet. */
#include "front/cosmos/auth.h"

#include "front/cosmos/call.h"

struct auth {
    struct clock_source machine_time;
};

status auth_open(const struct cosmos_options *options, struct arena *arena, struct auth **out)
{
    (void)arena;
    *out = memory_take_zeroed(1, sizeof(**out));
    if (!*out)
        return status_of(OUT_OF_MEMORY, "no memory for the keys");
    (*out)->machine_time = options->machine_time;
    return STATUS_OK;
}

void auth_close(struct auth *auth)
{
    memory_give(auth);
}

status auth_identify(struct call *call)
{
    call->grant.kind = GRANT_MASTER;
    return STATUS_OK;
}

status auth_permit(struct call *call)
{
    (void)call;
    return STATUS_OK;
}
