/* Check: where a broken claim ends the process.
 *
 * Writes one line to stderr and aborts, so that a core dump shows the stack. Nothing is cleaned up:
 * the database is built to be killed at any instant. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *claim, const char *file, int line)
{
    fprintf(stderr, "mayfly: broken claim at %s:%d: %s\n", file, line, claim);
    fflush(stderr);
    abort();
}
