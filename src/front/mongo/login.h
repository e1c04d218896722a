/* Who a connection belongs to: the two steps of a login, and what hello says about it. Inside the face only. */
#ifndef FRONT_MONGO_LOGIN_H
#define FRONT_MONGO_LOGIN_H

#include "front/mongo/principal.h"

/* Of a connection; owner: handle. */
struct login;
void login_close(struct login *login);

/* The user document that the connection has authenticated as; empty: none. Read again if users have changed
 * since; a user that is gone is logged out. */
MUST_USE status login_principal(struct command *command, bytes *document_out);
/* Who a session is, as of its last command that needed to know; empty: nobody. */
struct principal login_of(const struct session *session);
/* The same as it is in the ids of sessions (lsid.h); empty: nobody. */
bytes login_digest(const struct session *session);
/* saslSupportedMechs and speculativeAuthenticate of hello, if the client asks for them. */
MUST_USE status login_greet(struct command *command);

#endif
