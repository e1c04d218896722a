/* Commands: what every one of them is checked for, and the small ones. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

TEST(mongo_command, what_is_wrong_with_a_command_is_told_by_number)
{
    const struct {
        const char *command;
        int code;
    } rows[] = {
        {"{'nonsense':1}",                                           ERROR_CommandNotFound    },
        { "{'Find':'c'}",                                            ERROR_CommandNotFound    },
        { "{'find':'c','colour':1}",                                 40415                    },
        { "{'find':'c','limit':'x'}",                                ERROR_TypeMismatch       },
        { "{'find':7}",                                              ERROR_InvalidNamespace   },
        { "{'find':''}",                                             ERROR_InvalidNamespace   },
        { "{'find':'c','skip':-1}",                                  ERROR_BadValue           },
        { "{'insert':'c'}",                                          40414                    },
        { "{'insert':'c','documents':[]}",                           ERROR_InvalidLength      },
        { "{'insert':'c','documents':[1]}",                          ERROR_TypeMismatch       },
        { "{'insert':'a$b','documents':[{}]}",                       ERROR_InvalidNamespace   },
        { "{'ping':1,'$db':'a.b'}",                                  ERROR_InvalidNamespace   },
        { "{'ping':1,'$db':''}",                                     ERROR_InvalidNamespace   },
        { "{'ping':1,'$db':7}",                                      ERROR_TypeMismatch       },
        { "{'ping':1,'maxTimeMS':-1}",                               ERROR_BadValue           },
        { "{'ping':1,'apiVersion':'2'}",                             ERROR_APIVersionError    },
        { "{'buildInfo':1,'apiVersion':'1','apiStrict':true}",       ERROR_APIStrictError     },
        { "{'listDatabases':1}",                                     ERROR_Unauthorized       },
        { "{'mapReduce':'c'}",                                       ERROR_CommandNotSupported},
        { "{'find':'c','startTransaction':true,'autocommit':false}", ERROR_InvalidOptions     },
        { "{'getMore':{'$numberLong':'5'},'collection':'c'}",        ERROR_CursorNotFound     },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r)
        CHECK_FAULT(mongo_ask(&f, "%s", r->command), r->code);
    mongo_face_close(&f);
}

TEST(mongo_command, a_message_that_quotes_what_is_no_text_stays_a_text)
{
    static const struct {
        const char *said, *told;
    } rows[] = {
        {"caf\xC3\xA9 is full",    "caf\xC3\xA9 is full"},
        { "docu\355ents are lost", "docu?ents are lost" },
        { NULL,                    ""                   },
    };

    EACH_ROW(rows, row) {
        struct arena *arena = arena_open(1 << 16);
        struct buffer out = buffer_in(arena);
        struct value message;
        bytes built;
        size_t begun = document_begin(&out);
        fault_append_message(&out, row->said);
        document_end(&out, begun);
        CHECK_OK(buffer_finish(&out, &built));
        CHECK_OK(document_check(arena, built));
        CHECK(document_find(built, "errmsg", &message));
        CHECK_BYTES(value_text(message), bytes_of_text(row->told), "");
        arena_close(arena);
    }
}

TEST(mongo_command, generic_fields_are_taken_by_every_command)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(
        &f, "{'find':'c','lsid':" LSID(
                "1") ",'$clusterTime':{},'comment':'x',"
                     "'readConcern':{'level':'local'},'$readPreference':{'mode':'primary'},"
                     "'maxTimeMS':1000,'apiVersion':'1','apiStrict':true}"));
    mongo_face_close(&f);
}

TEST(mongo_command, hello_describes_a_primary_of_a_set_of_one)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer hello = mongo_ask(&f, "{'hello':1,'helloOk':true,'$db':'admin',"
                                              "'compression':['none','zlib','zstd']}");
    CHECK_DONE(hello);
    CHECK_STRING(mongo_text(&f, &hello, "isWritablePrimary"), "true");
    CHECK_STRING(mongo_text(&f, &hello, "hosts"), "[\"127.0.0.1:27017\"]");
    CHECK_STRING(mongo_text(&f, &hello, "me"), "\"127.0.0.1:27017\"");
    CHECK_STRING(mongo_text(&f, &hello, "setName"), "\"mayfly\"");
    CHECK_STRING(mongo_text(&f, &hello, "compression"), "[\"zlib\",\"zstd\"]");
    CHECK_EQ(mongo_number(&hello, "maxWireVersion"), 25, "");
    struct mongo_answer old = mongo_ask(&f, "{'ismaster':1}");
    CHECK_STRING(mongo_text(&f, &old, "ismaster"), "true");
    mongo_face_close(&f);
}

TEST(mongo_command, the_time_of_the_cluster_never_runs_back)
{
    struct mongo_face f;
    char before[64] = "";

    mongo_face_open(&f);
    for (int i = 0; i < 20; i++) {
        struct mongo_answer answer = i % 3 ? mongo_ask(&f,
                                                       "{'insert':'c','documents':[{'_id':%d}]}", i)
                                           : mongo_ask(&f, "{'ping':1}");
        const char *now = mongo_text(&f, &answer, "$clusterTime.clusterTime");
        CHECK_THAT(i % 3 == 0 || strcmp(before, now) != 0, "a write moves it: %s", now);
        CHECK_STRING(mongo_text(&f, &answer, "operationTime"), now);
        snprintf(before, sizeof(before), "%s", now);
        if (i == 10)
            world_pass(&f.world, 2000);
    }
    mongo_face_close(&f);
}

TEST(mongo_catalog, collections_are_made_listed_and_dropped)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'b'}"));
    CHECK_FAULT(mongo_ask(&f, "{'create':'b'}"), ERROR_NamespaceExists);
    CHECK_DONE(mongo_ask(&f, "{'insert':'a','documents':[{}]}"));
    struct mongo_answer list =
        mongo_ask(&f, "{'listCollections':1,'nameOnly':true,'filter':{},'cursor':{}}");
    CHECK_STRING(mongo_text(&f, &list, "cursor.firstBatch"),
                 "[{\"name\":\"a\",\"type\":\"collection\"},"
                 "{\"name\":\"b\",\"type\":\"collection\"}]");
    list = mongo_ask(&f, "{'listCollections':1,'filter':{'name':'b'}}");
    CHECK_STRING(mongo_text(&f, &list, "cursor.firstBatch.0.idIndex"),
                 "{\"v\":2,\"key\":{\"_id\":1},\"name\":\"_id_\"}");
    CHECK_STRING(mongo_text(&f, &list, "cursor.firstBatch.1"), "");
    struct mongo_answer databases = mongo_ask(&f,
                                              "{'listDatabases':1,'nameOnly':true,'$db':'admin'}");
    CHECK_STRING(mongo_text(&f, &databases, "databases"), "[{\"name\":\"db\"}]");
    CHECK_DONE(mongo_ask(&f, "{'drop':'a'}"));
    CHECK_DONE(mongo_ask(&f, "{'drop':'a'}"));
    struct mongo_answer dropped = mongo_ask(&f, "{'dropDatabase':1}");
    CHECK_STRING(mongo_text(&f, &dropped, "dropped"), "\"db\"");
    dropped = mongo_ask(&f, "{'dropDatabase':1}");
    CHECK_DONE(dropped);
    CHECK_STRING(mongo_text(&f, &dropped, "dropped"), "");
    mongo_face_close(&f);
}

static void compare_page(const char *path, void (*describe)(struct buffer *), const char *again)
{
    enum { PAGE_BYTES_MAX = 256 * 1024 };
    struct arena *arena = arena_open(4 * PAGE_BYTES_MAX);
    struct buffer table = buffer_in(arena);
    FILE *file = fopen(path, "rb");
    void *page;

    CHECK(file != NULL);
    CHECK_OK(arena_take(arena, PAGE_BYTES_MAX, &page));
    size_t len = fread(page, 1, PAGE_BYTES_MAX, file);
    fclose(file);
    describe(&table);
    CHECK(!table.is_failed);
    CHECK_THAT(len > table.len, "%s has %zu bytes", path, len);
    CHECK_BYTES(bytes_from(bytes_of(page, len), len - table.len), bytes_of(table.data, table.len),
                again);
    arena_close(arena);
}

TEST(mongo_command, the_page_in_docs_is_what_the_table_says)
{
    compare_page("docs/mongo-commands.md", mongo_describe_commands,
                 "write it again: mayfly commands > docs/mongo-commands.md");
}

TEST(mongo_command, the_page_of_operators_is_what_the_tables_say)
{
    compare_page("docs/mongo-operators.md", mongo_describe_operators,
                 "write it again: mayfly operators > docs/mongo-operators.md");
}
