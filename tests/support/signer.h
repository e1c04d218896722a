/* Signs requests as a client does, with the well-known key of the emulator: for tests that send requests to
 * the whole Cosmos face. */
#ifndef TESTS_SUPPORT_SIGNER_H
#define TESTS_SUPPORT_SIGNER_H

#include "base/base.h"

/* Value of the header x-ms-date for this machine time; in the arena, as the next. */
const char *signer_date(struct arena *arena, time_ms machine_now);
/* Value of the header authorization. */
const char *signer_authorization(struct arena *arena, const char *method, const char *target,
                                 const char *date);

#endif
