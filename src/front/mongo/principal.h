/* Users and what they may do: kept as documents in a database that no client sees. Inside the face only. */
#ifndef FRONT_MONGO_PRINCIPAL_H
#define FRONT_MONGO_PRINCIPAL_H

#include "front/mongo/command.h"
#include "front/mongo/scram.h"

enum right {
    RIGHT_READ = 1,
    RIGHT_WRITE = 2,
    RIGHT_READ_CATALOG = 4,
    RIGHT_DB_ADMIN = 8,
    RIGHT_USER_ADMIN = 16,
    RIGHT_MONITOR = 32,
    RIGHT_SERVER = 64,
    RIGHT_SET = 128, /* the replica set */
    RIGHT_LIST_DATABASES = 256,
    RIGHT_PARAMETERS = 512,
    RIGHT_STATUS = 1024,
    RIGHT_DROP = 2048, /* databases */
    RIGHT_ALL = 4095,
};

/* A user: the document {_id: "db.name", user, db, roles: [{role, db}], credentials: {...}, ...}. */
struct principal {
    bytes document;
    bytes user, database;
};

/* In `arena`; *is_there_out. Begins a request of its own. */
MUST_USE status principal_read(struct mongo *face, struct arena *arena, bytes database, bytes user,
                               struct principal *out, bool *is_there_out);
/* False if the user has no such credentials. */
bool principal_secret(const struct principal *principal, enum scram_mechanism mechanism,
                      struct scram_secret *out);
/* What the roles of a user allow on a database; rights on every database included. */
unsigned principal_rights(bytes document, bytes database);

/* What a role allows, and whether that is on every database; 0 for one that is not there. */
unsigned principal_role_rights(bytes role, bool *is_everywhere_out);
/* privilege.c: rights as the elements of a list of { resource, actions }; a database that is empty stands for all. */
void privilege_append(struct buffer *out, unsigned rights, bytes database, size_t *count);

/* Are there any users? Without them nobody needs to say who they are. Looked up once at the start, and when
 * users change. */
MUST_USE status principal_load(struct mongo *face, struct arena *arena);

/* May this command be run by who is connected? Unauthorized otherwise; access.c knows what it needs. */
MUST_USE status principal_permit(struct command *command);
/* The same for what a command does to another database than its own. */
MUST_USE status principal_permit_on(struct command *command, bytes database,
                                    enum command_access access);
/* The rights of who is connected on a database; all of them where nobody needs to say who they are. */
unsigned principal_own_rights(const struct command *command, bytes database);
/* Has it any role that concerns the database? */
bool principal_has_part(const struct command *command, bytes database);

#endif
