/* Options: one table, from which --help is printed and the command line and the configuration file are
 * read. Values are checked here, so that whoever gets a `struct config` can rely on it. */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include "base/base.h"
#include "server/address.h"
#include "server/export.h"
#include "server/import.h"

/* Who takes an option; a set of bits. */
enum command {
    COMMAND_SERVE = 1,
    COMMAND_CHECK = 2,
    COMMAND_BACKUP = 4,
    COMMAND_RESTORE = 8,
    COMMAND_CONFIRM_CLOCK = 16,
    COMMAND_EXPORT = 32,
    COMMAND_IMPORT = 64,
};

enum storage_kind { STORAGE_KIND_ROCKSDB, STORAGE_KIND_MEMORY };

/* Texts live in the arena or in argv. */
struct config {
    const char *data;
    const char *from, *to; /* of a backup */
    enum export_format export_format;
    enum import_existing existing;
    struct address cosmos;
    bool has_mongo;       /* the other protocol is served too */
    struct address mongo; /* where */
    const char *set_name; /* of the replica set that its clients see */
    enum storage_kind storage;
    enum log_level log_level;
    int purger_pause_s;
    int cache_mb;
    const char *tls_certificate; /* file; NULL: the server makes its own */
    const char *tls_key;         /* file; with a certificate only */
    const char *key_file;        /* NULL: no keys of its own */
    const char *master_key;      /* base64; NULL: the well-known one, on loopback only */
    const char *read_only_key;   /* base64; NULL: there is none */
    const char *secondary_key, *secondary_read_only_key; /* the same beside them */
    const char *audit_file;                              /* NULL: the log */
    const char *user;                                    /* NULL: as it was started */
    bool has_core_dumps;
    bool has_no_call_filter;
    bool enforces_throughput;
    bool has_test_commands;
    bool wants_help; /* --help stands among the options; nothing else was looked at */
};

/* `arguments` are the options behind the command: --name value or --name=value. INVALID, UNSUPPORTED,
 * IO_ERROR (configuration file) with the option's name. */
MUST_USE status config_read(struct arena *arena, enum command command, size_t argument_count,
                            char *const *arguments, struct config *out);

/* One line for each option of the command, for --help. */
void config_describe(enum command command, struct buffer *out);

/* Overwrites the keys, once whoever needs them has taken them. */
void config_wipe_keys(const struct config *config);

#endif
