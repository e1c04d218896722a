/* What the audit log is told: who logged in, who was refused, who changed what. */
#ifndef FRONT_MONGO_WITNESS_H
#define FRONT_MONGO_WITNESS_H

#include "front/mongo/command.h"

void witness_login(const struct command *command, bytes user, bytes database);
void witness_failed_login(const struct command *command, bytes user, bytes database);
void witness_refusal(const struct command *command);
/* A command that only writes documents has made the collection for them. */
void witness_made(const struct command *command, bytes name);
/* A command that changes collections, users or the server has ended. */
void witness_change(const struct command *command, bool is_failed);

#endif
