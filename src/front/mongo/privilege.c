/* Privilege: what rights are called in MongoDB.
 *
 * The server judges by a few rights; clients that ask what a user may do are told actions on resources, by which
 * graphical ones decide what to offer. A right stands for the actions of one row.
 *
 * Threads: pure. */
#include "front/mongo/principal.h"

static const struct {
    unsigned right;
    bool is_of_server;
    const char *actions; /* separated by blanks */
} rows[] = {
    {RIGHT_READ,            false, "changeStream dbHash find killCursors"                              },
    { RIGHT_WRITE,          false,
     "convertToCapped createCollection createIndex dropCollection dropIndex insert remove "
      "renameCollectionSameDB update"                                                                  },
    { RIGHT_READ_CATALOG,   false, "collStats dbStats listCollections listIndexes"                     },
    { RIGHT_DB_ADMIN,       false,
     "bypassDocumentValidation collMod compact convertToCapped createCollection createIndex "
      "dropCollection dropDatabase dropIndex enableProfiler indexStats planCacheIndexFilter "
      "planCacheRead planCacheWrite reIndex renameCollectionSameDB validate"                           },
    { RIGHT_USER_ADMIN,     false,
     "changeCustomData changePassword createRole createUser dropRole dropUser grantRole "
      "revokeRole "
      "viewRole viewUser"                                                                              },
    { RIGHT_DROP,           false, "dropDatabase"                                                      },
    { RIGHT_MONITOR,        false, "collStats dbStats indexStats"                                      },
    { RIGHT_MONITOR,        true,
     "connPoolStats getCmdLineOpts getDefaultRWConcern getLog hostInfo inprog listSessions "
      "replSetGetConfig replSetGetStatus top"                                                          },
    { RIGHT_SERVER,         true,  "fsync killAnyCursor killAnySession killop setParameter unlock"     },
    { RIGHT_SET,            true,  "getDefaultRWConcern listSessions replSetGetConfig replSetGetStatus"},
    { RIGHT_LIST_DATABASES, true,  "listDatabases"                                                     },
    { RIGHT_PARAMETERS,     true,  "getParameter"                                                      },
    { RIGHT_STATUS,         true,  "serverStatus"                                                      },
};

static bool has_rows(unsigned rights, bool is_of_server)
{
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (rows[i].is_of_server == is_of_server && (rights & rows[i].right))
            return true;
    }
    return false;
}

static void append_words(struct buffer *out, const char *words, size_t *count)
{
    char room[REPLY_INDEX_BYTES];

    while (*words) {
        size_t len = strcspn(words, " ");
        reply_bytes(out, reply_index((*count)++, room), bytes_of(words, len));
        words += words[len] ? len + 1 : len;
    }
}

static void append_privilege(struct buffer *out, unsigned rights, bool is_of_server, bytes database)
{
    size_t count = 0, resource = reply_begin(out, "resource");

    if (is_of_server) {
        reply_bool(out, "cluster", true);
    } else {
        reply_bytes(out, "db", database);
        reply_text(out, "collection", "");
    }
    document_end(out, resource);
    size_t actions = reply_begin_array(out, "actions");
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (rows[i].is_of_server == is_of_server && (rights & rows[i].right))
            append_words(out, rows[i].actions, &count);
    }
    document_end(out, actions);
}

void privilege_append(struct buffer *out, unsigned rights, bytes database, size_t *count)
{
    char room[REPLY_INDEX_BYTES];

    for (int is_of_server = 0; is_of_server < 2; is_of_server++) {
        if (!has_rows(rights, is_of_server))
            continue;
        size_t row = reply_begin(out, reply_index((*count)++, room));
        append_privilege(out, rights, is_of_server, database);
        document_end(out, row);
    }
}
