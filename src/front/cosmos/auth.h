/* Who asks, and what they may do: signatures by the master key or the read-only key, and tokens that permit
 * one resource for a while. */
#ifndef FRONT_COSMOS_AUTH_H
#define FRONT_COSMOS_AUTH_H

#include "front/cosmos/cosmos.h"
#include "front/cosmos/rid.h"

struct call;
struct auth;

enum grant_kind { GRANT_NOTHING, GRANT_MASTER, GRANT_READ_ONLY, GRANT_TOKEN };
enum { GRANT_PARTITION_BYTES_MAX = 2048 };

/* What the signature of a request proved. In the arena of the call. */
struct grant {
    enum grant_kind kind;
    const char *key; /* which one signed, for people; NULL: none */
    /* GRANT_TOKEN: one resource and everything below it. */
    bool is_all;         /* permission mode All; otherwise Read */
    struct rid resource; /* database or container */
    bytes item;          /* id of the only item in the container; empty: all of them */
    bytes partition_key; /* JSON array that the permission is limited to; empty: not limited */
};

/* Owner: handle. INVALID for a key that is not base64 or too short. */
MUST_USE status auth_open(const struct cosmos_options *options, struct arena *arena,
                          struct auth **out);
void auth_close(struct auth *auth);
/* The keys of `options` in place of the ones there are; on failure those stay. */
MUST_USE status auth_renew(struct auth *auth, const struct cosmos_options *options,
                           struct arena *arena);

/* Checks the authorization header and its date; fills call->grant. FAIL_UNAUTHORIZED, FAIL_FORBIDDEN. */
MUST_USE status auth_identify(struct call *call);
/* Checks that the grant covers the route and the resolved resource. FAIL_FORBIDDEN. */
MUST_USE status auth_permit(struct call *call);

/* A token for a permission: "type=resource&ver=1.0&sig=...;...;". It ends at `expires_at`, in the
 * machine's own time. */
struct permission_grant {
    struct rid resource; /* as in struct grant */
    bool is_all;
    bytes item;
    bytes partition_key;
    time_ms expires_at;
};
MUST_USE status auth_make_token(const struct auth *auth, struct arena *arena,
                                const struct permission_grant *permission, bytes *out);
/* INVALID for a signature that this server did not make, or that was changed since. */
MUST_USE status auth_read_token(const struct auth *auth, struct arena *arena, bytes signature,
                                struct permission_grant *out);
time_ms auth_machine_now(const struct auth *auth);

enum { AUTH_SEAL_BYTES = 16 };
/* A seal that only a holder of the master key can make; for continuation tokens. `purpose` keeps seals of
 * different uses apart. */
void auth_seal(const struct auth *auth, const char *purpose, bytes text,
               uint8_t seal_out[AUTH_SEAL_BYTES]);
/* Constant time. */
bool auth_seal_holds(const struct auth *auth, const char *purpose, bytes text,
                     const uint8_t seal[AUTH_SEAL_BYTES]);

#endif
