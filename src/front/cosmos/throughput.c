/* Throughput: not enforced yet. */
#include "front/cosmos/throughput.h"

#include "front/cosmos/call.h"

struct throughput {
    char unused;
};

struct throughput *throughput_open(void)
{
    return memory_take_zeroed(1, sizeof(struct throughput));
}

void throughput_close(struct throughput *throughput)
{
    memory_give(throughput);
}

status throughput_admit(struct call *call)
{
    (void)call;
    return STATUS_OK;
}

void throughput_draw(struct call *call, charge_units charge)
{
    (void)call;
    (void)charge;
}
