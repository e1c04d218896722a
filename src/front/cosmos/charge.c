/* Charge: request units of every kind of operation. */
#include "front/cosmos/charge.h"

charge_units charge_point_read(size_t item_bytes)
{
    (void)item_bytes;
    return 100;
}
