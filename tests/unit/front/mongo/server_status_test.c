/* What the server counts, and small questions about it. */
#include "tests/support/mongo_face.h"

TEST(mongo_server_status, commands_and_documents_are_counted)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':4}]}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c'}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c','filter':{'_id':1}}"));
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','filter':{'a':{'$no':1}}}"), ERROR_BadValue);
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{},'u':{'$set':{'a':1}},"
                             "'multi':true}]}"));
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':{'$lt':3}},'limit':0}]}"));
    CHECK_DONE(mongo_ask(&f, "{'find':'c','batchSize':1}"));
    world_pass(&f.world, 5000);
    struct mongo_answer answer = mongo_ask(&f, "{'serverStatus':1,'repl':0}");
    CHECK_DONE(answer);
    const struct {
        const char *path;
        int64_t want;
    } rows[] = {
        {"metrics.commands.find.total",    4   },
        { "metrics.commands.find.failed",  1   },
        { "metrics.commands.insert.total", 2   },
        { "metrics.document.inserted",     4   },
        { "metrics.document.updated",      4   },
        { "metrics.document.deleted",      2   },
        { "metrics.document.returned",     6   },
        { "metrics.cursor.open.total",     1   },
        { "metrics.cursor.totalOpened",    1   },
        { "metrics.ttl.passes",            0   },
        { "opcounters.insert",             4   },
        { "opcounters.query",              4   },
        { "opcounters.update",             1   },
        { "opcounters.delete",             1   },
        { "opLatencies.writes.ops",        4   },
        { "opLatencies.reads.ops",         4   },
        { "asserts.user",                  1   },
        { "connections.active",            1   },
        { "transactions.totalCommitted",   0   },
        { "globalLock.currentQueue.total", 0   },
        { "uptimeMillis",                  5000},
    };
    EACH_ROW(rows, r)
        CHECK_EQ(mongo_number(&answer, r->path), r->want, "%s", r->path);
    CHECK(mongo_number(&answer, "pid") > 0);
    CHECK(mongo_number(&answer, "mem.resident") > 0);
    CHECK(mongo_number(&answer, "metrics.queryExecutor.scannedObjects") >= 8);
    CHECK_STRING(mongo_text(&f, &answer, "repl"), "");
    mongo_face_close(&f);
}

TEST(mongo_server_status, commands_of_operators_are_answered)
{
    const struct {
        const char *command;
        int32_t want;
        const char *path, *text;
    } rows[] = {
        {"{'hostInfo':1,'$db':'admin'}",                                                         0,                         "os.type",                              "\"Linux\""                                                        },
        { "{'listCommands':1}",                                                                  0,                         "commands.find.requiresAuth",           "true"                                                             },
        { "{'listCommands':1}",                                                                  0,                         "commands.dbHash",                      ""                                                                 },
        { "{'find':1,'help':true}",                                                              0,                         "help",
         "\"help for: find documents that fulfil a filter\""                                                                                                                                                                           },
        { "{'top':1,'help':true}",                                                               0,                         "help",
         "\"help for: top how often each collection was used, and for how long\""                                                                                                                                                      },
        { "{'collStats':'c'}",                                                                   0,                         "indexSizes",                           "{\"_id_\":0,\"a_1\":0}"                                           },
        { "{'getParameter':1,'logComponentVerbosity':1,'$db':'admin'}",                          0,
         "logComponentVerbosity.verbosity",                                                                                                                         "0"                                                                },
        { "{'replSetGetStatus':1,'$db':'admin'}",                                                0,                         "members.0.configVersion",              "1"                                                                },
        { "{'replSetGetStatus':1,'$db':'admin'}",                                                0,                         "optimes.appliedOpTime.t",              "1"                                                                },
        { "{'replSetGetConfig':1,'$db':'admin'}",                                                0,                         "config.members.0.hidden",              "false"                                                            },
        { "{'connectionStatus':1}",                                                              0,                         "authInfo.authenticatedUserPrivileges", ""                                                                 },
        { "{'connectionStatus':1,'showPrivileges':true}",                                        0,                         "authInfo.authenticatedUserPrivileges",
         "[]"                                                                                                                                                                                                                          },
        { "{'rolesInfo':'readAnyDatabase','showPrivileges':true,'$db':'admin'}",                 0,
         "roles.0.privileges.1",                                                                                                                                    "{\"resource\":{\"cluster\":true},\"actions\":[\"listDatabases\"]}"},
        { "{'aggregate':'system.profile','pipeline':[{'$collStats':{'count':{}}}],'cursor':{}}",
         ERROR_NamespaceNotFound,                                                                                           "",                                     NULL                                                               },
        { "{'profile':2}",                                                                       0,                         "was",                                  "0"                                                                },
        { "{'profile':0}",                                                                       0,                         "was",                                  "2"                                                                },
        { "{'aggregate':'system.profile','pipeline':[{'$collStats':{'count':{},'storageStats':{}}}]"
          ",'cursor':{}}",                                                              0,                         "cursor.firstBatch.0.count",            "1"                                                                },
        { "{'aggregate':'c','pipeline':[{'$collStats':{'latencyStats':{}}}],'cursor':{}}",       0,
         "cursor.firstBatch.0.latencyStats.writes.ops",                                                                                                             "2"                                                                },
        { "{'dataSize':'db.c'}",                                                                 0,                         "numObjects",                           "1"                                                                },
        { "{'dataSize':'c'}",                                                                    ERROR_InvalidNamespace,    "",                                     NULL                                                               },
        { "{'dataSize':'x.c'}",                                                                  ERROR_InvalidNamespace,    "",                                     NULL                                                               },
        { "{'features':1}",                                                                      0,                         "js",                                   "0"                                                                },
        { "{'lockInfo':1,'$db':'admin'}",                                                        0,                         "lockInfo",                             "[]"                                                               },
        { "{'getDefaultRWConcern':1,'$db':'admin'}",                                             0,                         "defaultReadConcern.level",             "\"local\""                                                        },
        { "{'fsync':1,'$db':'admin'}",                                                           0,                         "numFiles",                             "1"                                                                },
        { "{'fsync':1,'lock':true,'$db':'admin'}",                                               ERROR_CommandNotSupported, "",                                     NULL                                                               },
        { "{'fsyncUnlock':1,'$db':'admin'}",                                                     ERROR_IllegalOperation,    "",                                     NULL                                                               },
        { "{'compact':'c'}",                                                                     0,                         "bytesFreed",                           "0"                                                                },
        { "{'compact':'missing'}",                                                               ERROR_NamespaceNotFound,   "",                                     NULL                                                               },
        { "{'planCacheClear':'c'}",                                                              0,                         "ok",                                   NULL                                                               },
        { "{'planCacheListFilters':'c'}",                                                        0,                         "filters",                              "[]"                                                               },
        { "{'reIndex':'c'}",                                                                     ERROR_CommandNotSupported, "",                                     NULL                                                               },
        { "{'dbHash':1}",                                                                        ERROR_CommandNotSupported, "",                                     NULL                                                               },
        { "{'connPoolStats':1}",                                                                 ERROR_CommandNotSupported, "",                                     NULL                                                               },
        { "{'getShardMap':1,'$db':'admin'}",                                                     ERROR_CommandNotSupported, "",                                     NULL                                                               },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a_1'}]}"));
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "%s", r->command);
        CHECK_FAULT(answer, r->want);
        if (r->text)
            CHECK_STRING(mongo_text(&f, &answer, r->path), r->text);
    }
    mongo_face_close(&f);
}
