/* Continuation tokens: where the next page of a feed or a query begins, in the hands of the client. A token
 * is sealed, so that the server believes only its own, and bound to what it was given for. */
#ifndef FRONT_COSMOS_CONTINUATION_H
#define FRONT_COSMOS_CONTINUATION_H

#include "front/cosmos/auth.h"
#include "front/cosmos/call.h"

/* What a token is for, and what it belongs to (a container, a query, a partition key): it serves nowhere
 * else. */
struct continuation_use {
    const char *purpose;
    bytes scope;
};

/* The token of a state: base64url without padding. */
MUST_USE status continuation_seal(const struct auth *auth, struct arena *arena,
                                  struct continuation_use use, bytes state, bytes *token_out);
/* INVALID for what is not a token of ours for this use. */
MUST_USE status continuation_unseal(const struct auth *auth, struct arena *arena,
                                    struct continuation_use use, bytes token, bytes *state_out);

/* The header x-ms-continuation, opened: empty if there is none. FAIL_CONTINUATION. */
MUST_USE status continuation_open(struct call *call, const char *purpose, bytes scope,
                                  bytes *state_out);
/* Adds the header for the next page. */
void continuation_add(struct call *call, const char *purpose, bytes scope, bytes state);

#endif
