/* Logical sessions. A client numbers its sessions with a UUID; together with who it is that names one session, so that
 * nobody meets the cursors, transactions and retryable writes of somebody else. Inside the face only. */
#ifndef FRONT_MONGO_LSID_H
#define FRONT_MONGO_LSID_H

#include "front/mongo/command.h"

/* The id of a session: the UUID, and behind it who the session belongs to (the digest of "user@database"), if that is
 * known. */
enum { LSID_UUID_BYTES = 16, LSID_OWNER_BYTES = 32 };

/* Sets session_id of the command from the lsid that it carries. 14, 207, 40414, 40415; 13 for that of somebody else. */
MUST_USE status lsid_take(struct command *command, bytes lsid);
/* The session of the command is in use, if it has one. */
void lsid_use(struct command *command);
/* Who users are in ids of sessions. */
void lsid_digest(bytes user, bytes database, uint8_t out[LSID_OWNER_BYTES]);
/* {id: UUID, uid: digest} as the field `name`. */
void lsid_append(struct buffer *out, const char *name, bytes session_id);
/* {user, db} may not be the one who asks, and each list of rows is for one user or for all. */
bool lsid_is_of(bytes session_id, bytes owner);

/* Which sessions are meant: one, those of a user, or all. */
struct lsid_pattern {
    bytes session_id; /* not empty: this one */
    bytes owner;      /* not empty: those of this user */
};
bool lsid_fits(const struct lsid_pattern *pattern, bytes session_id);

/* ---- which sessions are in use: lsid_table.c -------------------------------------------------------- */

struct lsid_table;

/* NULL without memory. */
struct lsid_table *lsid_table_open(time_ms now);
void lsid_table_close(struct lsid_table *table);
/* The session is used now, with this number of a write or transaction; INT64_MIN: without one. */
void lsid_touch(struct lsid_table *table, bytes session_id, int64_t number, time_ms now);
/* Was it used less than its lifetime ago? */
bool lsid_lives(struct lsid_table *table, bytes session_id, time_ms now);
/* May it ask again for what it has done under this number? */
bool lsid_needs(struct lsid_table *table, bytes session_id, int64_t number, time_ms now);
/* Those that are in use: a document {_id: {id, uid}, lastUse} for each, one behind the other. */
void lsid_list(struct lsid_table *table, const struct lsid_pattern *pattern, time_ms now,
               struct buffer *out);
/* They are not in use any more. */
void lsid_end(struct lsid_table *table, const struct lsid_pattern *pattern);

#endif
