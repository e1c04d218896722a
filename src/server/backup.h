/* Copies of a whole database, away from a running server and back. A backup is a complete data directory with
 * a list of checksums; what did not change since the one before is a hard link to it. */
#ifndef SERVER_BACKUP_H
#define SERVER_BACKUP_H

#include "base/base.h"

struct backup_order {
    const char *data; /* the data directory */
    const char *to;   /* the directory of all backups; made if it does not exist */
    time_ms now;      /* by the machine's clock; names the backup */
};
struct backup_result {
    const char *path; /* of the new backup; in the arena */
    uint64_t files, bytes;
    uint64_t copied_bytes; /* the rest was there */
    bool is_of_running_server;
    const char *warning; /* NULL: none; of a backup before that is damaged; in the arena */
};
/* BUSY while another backup runs, from here or to there. NOT_FOUND, CORRUPT, IO_ERROR. */
MUST_USE status backup_make(struct arena *arena, const struct backup_order *order,
                            struct backup_result *out);

struct restore_order {
    const char *from; /* a backup, or a directory of backups: then the newest of them */
    const char *to;   /* does not exist or is empty */
};
/* What is copied is compared with the list of checksums: CORRUPT names the damaged file, and `to` is left as it
 * was. EXISTS if `to` has something in it; BUSY while another writes there. */
MUST_USE status backup_restore(struct arena *arena, const struct restore_order *order,
                               struct backup_result *out);

/* Only a directory with a list of checksums is a complete backup. The newest in `directory`; NOT_FOUND. In the
 * arena. */
MUST_USE status backup_find_newest(struct arena *arena, const char *directory,
                                   const char **path_out);
/* Why there is no database in `directory`, with a hint if it is one of backups. */
MUST_USE status backup_explain(struct arena *arena, const char *directory, status reason);

#endif
