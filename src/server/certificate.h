/* What the server shows to a client that wants encryption: given by the operator, or self-signed and
 * kept beside the data, so that who trusts it once trusts it after every restart. */
#ifndef SERVER_CERTIFICATE_H
#define SERVER_CERTIFICATE_H

#include "base/base.h"

/* PEM texts, in the arena. */
struct certificate {
    bytes chain; /* the certificate, then those that vouch for it */
    bytes key;
    const char *path; /* of the chain; NULL: only in memory */
};

/* A new one for localhost, 127.0.0.1 and ::1, valid for ten years. OUT_OF_MEMORY, IO_ERROR. */
MUST_USE status certificate_make(struct arena *arena, struct certificate *out);
/* From the operator's files. NOT_FOUND, IO_ERROR, TOO_LARGE with the name of the option. */
MUST_USE status certificate_read(struct arena *arena, const char *chain_path, const char *key_path,
                                 struct certificate *out);
/* The one kept in the directory; makes and keeps a new one if there is none. */
MUST_USE status certificate_keep(struct arena *arena, const char *directory,
                                 struct certificate *out);

/* Overwrites the private key, once whoever needs it has taken it. */
void certificate_wipe(const struct certificate *certificate);

#endif
