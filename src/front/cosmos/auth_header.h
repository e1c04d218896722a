/* The authorization header: "type=master&ver=1.0&sig=...", percent-encoded or not. */
#ifndef FRONT_COSMOS_AUTH_HEADER_H
#define FRONT_COSMOS_AUTH_HEADER_H

#include "base/base.h"

struct authorization {
    bytes type;
    bytes version;
    bytes signature;
};

/* Each of the three fields exactly once and nothing else, in any order. INVALID says what is wrong, and
 * never shows the signature. The fields lie in the arena or in `header`. */
MUST_USE status auth_header_parse(struct arena *arena, bytes header, struct authorization *out);

#endif
