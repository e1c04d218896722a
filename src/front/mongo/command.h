/* One command on its way through the face: what was asked, what was found on the way, and its reply. A
 * handler reads its arguments, works on the engine, appends the fields of its reply and returns; the
 * dispatcher adds what every reply has. Inside the face only. */
#ifndef FRONT_MONGO_COMMAND_H
#define FRONT_MONGO_COMMAND_H

#include "engine/engine.h"
#include "front/mongo/face.h"
#include "front/mongo/fault.h"
#include "front/mongo/reply.h"
#include "front/mongo/wire.h"
#include "front/mongo/work.h"

struct command;
struct explain;
struct multi_entry;
struct operation;
struct session;
typedef status command_handler(struct command *command);

/* Who may run a command. */
enum command_access {
    ACCESS_ANYONE,     /* before a client has said who it is */
    ACCESS_KNOWN,      /* every user */
    ACCESS_READ,       /* of the database */
    ACCESS_STATS,      /* counts and sizes of the database */
    ACCESS_WATCH,      /* how the database is used: its profile, its indexes */
    ACCESS_CATALOG,    /* what collections and indexes the database has */
    ACCESS_WRITE,      /* of the database */
    ACCESS_MANAGE,     /* collections and indexes: those who write may, and those who administer */
    ACCESS_DROP,       /* the database as a whole */
    ACCESS_DB_ADMIN,   /* of the database */
    ACCESS_USER_ADMIN, /* of the database */
    ACCESS_STATUS,     /* counters of the server */
    ACCESS_PARAMETERS, /* of the server, to be read */
    ACCESS_SET,        /* state of the replica set */
    ACCESS_MONITOR,    /* of the server */
    ACCESS_ROOT,       /* of the server: to steer it */
};

enum command_trait {
    TRAIT_WRITE = 1,           /* changes data */
    TRAIT_ADMIN_ONLY = 2,      /* only on the database admin */
    TRAIT_TEST_ONLY = 4,       /* only with --test-commands */
    TRAIT_NO_REQUEST = 8,      /* begins its requests of the engine by itself, if any */
    TRAIT_STABLE = 16,         /* of the stable API, version 1 */
    TRAIT_RETRYABLE = 32,      /* with lsid and txnNumber: carried out once */
    TRAIT_IN_TRANSACTION = 64, /* may be a statement of a transaction (multi.h) */
};

/* Is it a statement of a transaction? */
enum multi_kind { MULTI_NONE, MULTI_START, MULTI_GOES_ON };

struct command_row {
    const char *name;
    command_handler *handler; /* NULL: not supported, and `help` says why */
    enum command_access access;
    unsigned traits;
    const char *help;
};

struct retry_done {
    uint32_t first, count; /* statements */
    bytes result;
};

/* Everything in it lives in the arena of the message. */
struct command {
    struct mongo *face;
    struct session *session;
    struct arena *arena;
    const struct wire_message *message;
    bytes name;
    const struct command_row *row;
    struct value target; /* the value of the field that names the command */
    bytes
        database; /* that it works on; another than its own while it writes there ($out, $merge) */
    bytes home;   /* that the client named: what others see while it runs */
    struct request request; /* one reading of the clock, one picture of the catalog */
    bool has_request;

    /* Generic fields. */
    struct value lsid; /* VALUE_MISSING without one */
    bool has_txn_number;
    int64_t txn_number;
    bool is_retryable; /* each statement is carried out once (retry.h) */
    bytes session_id;  /* of the lsid (lsid.h); empty without one */
    uint32_t statement_base;
    struct retry_done *done; /* statements that an earlier attempt has carried out, in order */
    size_t done_count;
    enum multi_kind multi;
    struct value read_concern;       /* of a statement of a transaction */
    struct multi_entry *multi_entry; /* NULL outside of transactions */
    int64_t max_time_ms;             /* 0: no limit */
    int64_t started_ms;              /* monotonic */
    int64_t looked_ms;               /* the same, when its client was last seen to be there */
    int64_t watch_ns;                /* the stopwatch, then */
    struct operation *operation;     /* NULL unless others can see it */
    struct explain *explain; /* not NULL: it is only explained, and changes nothing (explain.h) */
    int64_t batch_rows;      /* that a cursor will give now at most; 0: unknown */
    struct command_work work;
    struct fail_point_trap trap;

    struct buffer reply; /* begun; handlers append */
    size_t reply_begun;
    struct fault fault;
    uint32_t reply_flags;
    command_handler *on_committed;
    status outcome; /* of the commit */
    bool *is_later;
    void *context; /* the handler's own, for on_committed */
    /* Told when the command is finished, after its reply was made. */
    void (*finish)(struct command *command);
};

/* ---- the way of a command: command.c ---------------------------------------------------------------- */

/* The message becomes a command; true if it is answered, false if `finish` will be called later, on
 * whatever thread. The document of the reply is then in reply_out of command_reply(). */
MUST_USE bool command_run(struct command *command);
/* NULL if there is no such command. */
const struct command_row *command_row_of(bytes name);
/* The table of all commands, by their places in it. */
enum {
#define COMMAND(word, function, who, traits, sentence) COMMAND_PLACE_##word,
#define COMMAND_NOT(word, who, traits, sentence) COMMAND_PLACE_##word,
#include "front/mongo/commands.def"
#undef COMMAND
#undef COMMAND_NOT
    COMMAND_ROWS
};
const struct command_row *command_row_at(size_t place);
size_t command_place(const struct command_row *row);
/* The whole reply, in the arena. */
bytes command_reply(struct command *command);

/* Fails the command with a number of errors.def; always returns a status that is not OK. */
#define command_fail(...) status_of(INVALID, command_note_fault(__VA_ARGS__))
const char *command_note_fault(struct command *command, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Queues the last commit. `done` appends the reply, on the thread that committed: it must not block, begin
 * a write, nor look up a collection; it is called for a commit that failed too (command->outcome). If this
 * returns OK the command must not be touched any more. */
MUST_USE status command_commit(struct command *command, struct write_op *ops, size_t count,
                               enum write_mode mode, command_handler *done);
/* Ends the engine's request and begins another, after a change of the catalog. */
MUST_USE status command_renew(struct command *command);
/* Ends the request until command_renew, for a command that waits long. */
void command_pause(struct command *command);
/* MaxTimeMSExpired if the time that the client gave is over, Interrupted if somebody has killed the operation,
 * ClientDisconnect if nobody waits for what it reads any more; to be asked in long loops. */
MUST_USE status command_check_time(struct command *command);

/* ---- arguments: argument.c -------------------------------------------------------------------------- */

enum argument_kind {
    ARGUMENT_ANY,
    ARGUMENT_IGNORED, /* known, and of no effect here */
    ARGUMENT_TEXT,
    ARGUMENT_DOCUMENT,
    ARGUMENT_ARRAY,
    ARGUMENT_LIST,   /* an array, or a document sequence of that name; read it with command_list */
    ARGUMENT_NUMBER, /* of any type; whole after cutting */
    ARGUMENT_FLAG,   /* bool, or a number */
    ARGUMENT_DOCUMENT_OR_TEXT,
};
struct argument {
    const char *name;
    enum argument_kind kind;
    bool is_required;
};
/* One value for each row of the table, VALUE_MISSING where there is none; null counts as none. The field
 * that names the command and generic fields are passed over. 40415 for a field that nobody knows, 14 for
 * one of the wrong type, 40414 for a missing one. */
MUST_USE status command_arguments(struct command *command, const struct argument *table,
                                  size_t count, struct value *out);
/* The same for a document inside, which is called `where` in messages. */
MUST_USE status command_fields(struct command *command, const char *where, bytes document,
                               const struct argument *table, size_t count, struct value *out);
/* A field that every command may have. */
bool argument_is_generic(bytes name);
bool argument_flag(struct value value, bool otherwise);
/* Cut toward zero, and to the range of int64. */
int64_t argument_number(struct value value, int64_t otherwise);
bytes argument_text(struct value value);
/* The document, or an empty one. */
bytes argument_document(struct value value);

/* Documents of an array argument or of the document sequence of that name, whichever is there. */
struct argument_list {
    bytes rest;
    bool is_sequence;
    struct document_walk walk;
};
MUST_USE status command_list(struct command *command, const char *name, struct argument_list *out,
                             size_t *count_out);
/* TypeMismatch for an element that is no document. */
MUST_USE status command_list_next(struct command *command, struct argument_list *list, bytes *out,
                                  bool *has_out);

/* ---- names: namespace.c ----------------------------------------------------------------------------- */

/* The collection that the command names; InvalidNamespace. */
MUST_USE status command_collection_name(struct command *command, bytes *out);
/* "db.collection" taken apart; InvalidNamespace for what is no such name. */
MUST_USE status command_split_namespace(struct command *command, bytes namespace, bytes *database,
                                        bytes *name);
/* NULL if it is not there. */
MUST_USE status command_find(struct command *command, bytes name, const struct collection **out);
/* The same, where a view is refused (CommandNotSupportedOnView). */
MUST_USE status command_find_stored(struct command *command, bytes name,
                                    const struct collection **out);
/* Makes database and collection if they are not there, and renews the request then. */
MUST_USE status command_need(struct command *command, bytes name, const struct collection **out);
/* Before a document is written whose string `id` is not the text of its `_id` (front/foreign.h). */
MUST_USE status command_mark_own_ids(struct command *command, const struct collection *collection);
/* How often a change of a collection is tried again when somebody else has changed it meanwhile. */
enum { COMMAND_CHANGE_TRIES = 100 };
/* Makes a collection, and its database if that is not there; EXISTS, InvalidNamespace. */
MUST_USE status command_create(struct command *command,
                               const struct collection_definition *definition,
                               const struct index_definition *indexes, size_t index_count);
/* Is this the name that a database may have? InvalidNamespace otherwise. */
MUST_USE status command_check_database(struct command *command, bytes name);
/* May a new collection have this name? InvalidNamespace. */
MUST_USE status command_check_name(struct command *command, bytes database, bytes name);
/* Databases that no client may see. */
bool namespace_is_hidden(bytes database);
/* "db.collection", in the arena; "" without memory. */
bytes command_namespace(struct command *command, bytes name);
bytes collection_namespace(const struct collection *collection, struct arena *arena);

#endif
