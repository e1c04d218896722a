/* The bulkWrite command: operations of several kinds on several collections. */
#include <stdio.h>

#include "front/mongo/stream.h"
#include "tests/support/mongo_face.h"

#define BULK "'bulkWrite':1,'$db':'admin'"
#define ROWS "cursor.firstBatch"

static const char *rows_of(struct mongo_face *f, const char *fields)
{
    struct mongo_answer a = mongo_ask(f, "{" BULK ",%s}", fields);

    CHECK_DONE(a);
    return mongo_text(f, &a, ROWS);
}

/* nErrors, nInserted, nMatched, nModified, nUpserted, nDeleted. */
static const char *sums_of(struct mongo_face *f, const struct mongo_answer *a)
{
    return arena_format(
        f->world.arena, "%lld %lld %lld %lld %lld %lld", (long long)mongo_number(a, "nErrors"),
        (long long)mongo_number(a, "nInserted"), (long long)mongo_number(a, "nMatched"),
        (long long)mongo_number(a, "nModified"), (long long)mongo_number(a, "nUpserted"),
        (long long)mongo_number(a, "nDeleted"));
}

TEST(mongo_bulk_write, operations_of_all_kinds_go_to_their_collections)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer a =
        mongo_ask(&f, "{" BULK ",'ops':[{'insert':0,'document':{'_id':1,'n':1}},"
                      "{'insert':1,'document':{'_id':1}},{'insert':1,'document':{'_id':2}},"
                      "{'update':0,'filter':{'_id':1},'updateMods':{'$inc':{'n':'$x'}}},"
                      "{'update':0,'filter':{},'updateMods':{'$set':{'n':5}},'multi':true},"
                      "{'update':0,'filter':{'_id':9},'updateMods':{'$set':{'n':9}},'upsert':true},"
                      "{'delete':1,'filter':{},'multi':true}],"
                      "'nsInfo':[{'ns':'db.a'},{'ns':'other.b.c'}],'ordered':false}");
    CHECK_DONE(a);
    CHECK_STRING(sums_of(&f, &a), "1 3 1 1 1 2");
    CHECK_STRING(mongo_text(&f, &a, "cursor.ns"), "\"admin.$cmd.bulkWrite\"");
    CHECK_EQ(mongo_number(&a, "cursor.id"), 0, "");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".0"), "{\"ok\":1,\"idx\":0,\"n\":1}");
    CHECK_EQ(mongo_number(&a, ROWS ".3.code"), ERROR_TypeMismatch, "");
    CHECK_EQ(mongo_number(&a, ROWS ".3.ok"), 0, "");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".4"), "{\"ok\":1,\"idx\":4,\"n\":1,\"nModified\":1}");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".5"),
                 "{\"ok\":1,\"idx\":5,\"n\":1,\"nModified\":0,\"upserted\":{\"_id\":9}}");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".6"), "{\"ok\":1,\"idx\":6,\"n\":2}");
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[{\"_id\":1,\"n\":5},{\"_id\":9,\"n\":9}]");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, in_order_nothing_is_done_behind_the_first_failure)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer a = mongo_ask(
        &f,
        "{" BULK ",'ops':[{'insert':0,'document':{'_id':1}},{'insert':0,'document':{'_id':1}},"
        "{'insert':0,'document':{'_id':2}},{'delete':0,'filter':{}}],'nsInfo':[{'ns':'db.a'}]}");
    CHECK_STRING(sums_of(&f, &a), "1 1 0 0 0 0");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".1.keyValue"), "{\"_id\":1}");
    CHECK_EQ(mongo_number(&a, ROWS ".1.code"), ERROR_DuplicateKey, "");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".2"), "");
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[{\"_id\":1}]");
    a = mongo_ask(&f, "{" BULK ",'ops':[{'insert':0,'document':{'_id':1}},"
                      "{'insert':0,'document':{'_id':2}},{'insert':0,'document':{'_id':2}},"
                      "{'delete':0,'filter':{'_id':1}}],'nsInfo':[{'ns':'db.a'}],"
                      "'ordered':false,'errorsOnly':true}");
    CHECK_STRING(sums_of(&f, &a), "2 1 0 0 0 1");
    CHECK_EQ(mongo_number(&a, ROWS ".0.idx"), 0, "");
    CHECK_EQ(mongo_number(&a, ROWS ".1.idx"), 2, "only errors are told");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".2"), "");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, what_makes_no_sense_changes_nothing)
{
    const struct {
        const char *fields;
        int code;
    } rows[] = {
        {"'ops':[],'nsInfo':[{'ns':'db.a'}]",                                                       16   },
        { "'nsInfo':[{'ns':'db.a'}]",                                                               40414},
        { "'ops':[{'insert':0,'document':{}}]",                                                     40414},
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[]",                                         2    },
        { "'ops':[{'insert':0,'document':{}},{'insert':1,'document':{}}],'nsInfo':[{'ns':'db.a'}]",
         2                                                                                               },
        { "'ops':[{'insert':-1,'document':{}}],'nsInfo':[{'ns':'db.a'}]",                           2    },
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':'db.a'},{'ns':'db.a'}]",              2    },
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':'db'}]",                              73   },
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':'.a'}]",                              73   },
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':1}]",                                 14   },
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':'db.a','x':1}]",                      40415},
        { "'ops':[{'insert':0,'document':1}],'nsInfo':[{'ns':'db.a'}]",                             14   },
        { "'ops':[{'insert':0}],'nsInfo':[{'ns':'db.a'}]",                                          40414},
        { "'ops':[{'insert':0,'document':{},'x':1}],'nsInfo':[{'ns':'db.a'}]",                      40415},
        { "'ops':[{'insert':0,'document':{}},{'replace':0}],'nsInfo':[{'ns':'db.a'}]",              9    },
        { "'ops':[{'update':0,'filter':{}}],'nsInfo':[{'ns':'db.a'}]",                              40414},
        { "'ops':[{'delete':0}],'nsInfo':[{'ns':'db.a'}]",                                          40414},
        { "'ops':[1],'nsInfo':[{'ns':'db.a'}]",                                                     14   },
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':'db.a'}],'x':1",                      40415},
        { "'ops':[{'insert':0,'document':{}}],'nsInfo':[{'ns':'db.a'}],'cursor':{'batchSize':-1}",
         2                                                                                               },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer a = mongo_ask(&f, "{" BULK ",%s}", r->fields);
        CHECK_EQ(a.code, r->code, "%s: %s", r->fields, a.message ? a.message : "done");
    }
    CHECK_FAULT(mongo_ask(&f, "{'bulkWrite':1,'ops':[{'insert':0,'document':{}}],"
                              "'nsInfo':[{'ns':'db.a'}]}"),
                ERROR_Unauthorized);
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, a_namespace_that_cannot_be_written_is_the_failure_of_its_operation)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'v','viewOn':'a','pipeline':[]}"));
    struct mongo_answer a = mongo_ask(
        &f, "{" BULK ",'ops':[{'insert':0,'document':{'_id':1}},{'insert':2,'document':{'_id':1}},"
            "{'insert':1,'document':{'_id':1}},{'update':0,'filter':{},'updateMods':{'$set':{'a':1"
            "}}}],'nsInfo':[{'ns':'db.v'},{'ns':'db.a'},{'ns':'db.a$b'}],'ordered':false}");
    CHECK_STRING(sums_of(&f, &a), "3 1 0 0 0 0");
    CHECK_EQ(mongo_number(&a, ROWS ".0.code"), ERROR_CommandNotSupportedOnView, "");
    CHECK_EQ(mongo_number(&a, ROWS ".1.code"), ERROR_InvalidNamespace, "");
    CHECK_STRING(mongo_text(&f, &a, ROWS ".2"), "{\"ok\":1,\"idx\":2,\"n\":1}");
    CHECK_EQ(mongo_number(&a, ROWS ".3.code"), ERROR_CommandNotSupportedOnView, "");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, options_of_statements_and_let_are_heard)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'a','documents':[{'_id':1,'l':[1,2,3]},{'_id':2,'n':5},"
                             "{'_id':3,'n':7}]}"));
    CHECK_STRING(rows_of(&f,
                         "'ops':[{'update':0,'filter':{'_id':1},'updateMods':{'$set':{'l.$[e]':0}},"
                         "'arrayFilters':[{'e':{'$gt':1}}]},"
                         "{'update':0,'filter':{'$expr':{'$eq':['$n','$$five']}},"
                         "'updateMods':[{'$set':{'n':{'$add':['$n','$$five']}}}]},"
                         "{'update':0,'filter':{'n':{'$gt':0}},'updateMods':{'$set':{'top':true}},"
                         "'sort':{'n':1}},"
                         "{'delete':0,'filter':{'n':{'$gt':0}},'hint':'_id_'}],"
                         "'nsInfo':[{'ns':'db.a'}],'let':{'five':5}"),
                 "[{\"ok\":1,\"idx\":0,\"n\":1,\"nModified\":1},"
                 "{\"ok\":1,\"idx\":1,\"n\":1,\"nModified\":1},"
                 "{\"ok\":1,\"idx\":2,\"n\":1,\"nModified\":1},{\"ok\":1,\"idx\":3,\"n\":1}]");
    CHECK_STRING(mongo_found(&f, "a", "{}"),
                 "[{\"_id\":1,\"l\":[1,0,0]},{\"_id\":3,\"n\":7,\"top\":true}]");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, a_validator_is_asked_unless_it_is_passed_by)
{
#define ONE "'ops':[{'insert':0,'document':{'_id':1,'n':-1}}],'nsInfo':[{'ns':'db.a'}]"
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'a','validator':{'n':{'$gt':0}}}"));
    struct mongo_answer a = mongo_ask(&f, "{" BULK "," ONE "}");
    CHECK_EQ(mongo_number(&a, ROWS ".0.code"), ERROR_DocumentValidationFailure, "");
    CHECK_EQ(mongo_number(&a, ROWS ".0.errInfo.failingDocumentId"), 1, "");
    a = mongo_ask(&f, "{" BULK "," ONE ",'bypassDocumentValidation':true}");
    CHECK_STRING(sums_of(&f, &a), "0 1 0 0 0 0");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, a_repeated_one_is_carried_out_once_after_a_crash_too)
{
#define AGAIN                                                                      \
    "{" BULK ",'ops':[{'insert':0,'document':{'_id':1,'n':1}},"                    \
    "{'insert':0,'document':{'_id':2,'n':1}},{'insert':1,'document':{'_id':1}},"   \
    "{'update':0,'filter':{'_id':1},'updateMods':{'$inc':{'n':1}}},"               \
    "{'update':1,'filter':{'_id':7},'updateMods':{'$inc':{'n':1}},'upsert':true}," \
    "{'delete':0,'filter':{'_id':2}},{'insert':0,'document':{'_id':2,'n':2}}],"    \
    "'nsInfo':[{'ns':'db.a'},{'ns':'other.b'}],'lsid':" LSID(                      \
        "1") ",'txnNumber':{'$numberLong':'3'}}"
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 0; i < 3; i++) {
        struct mongo_answer a = mongo_ask(&f, AGAIN);
        CHECK_STRING(sums_of(&f, &a), "0 4 1 1 1 1");
        CHECK_STRING(mongo_text(&f, &a, ROWS ".4.upserted"), "{\"_id\":7}");
        CHECK_STRING(mongo_found(&f, "a", "{}"), "[{\"_id\":1,\"n\":2},{\"_id\":2,\"n\":2}]");
        if (i == 1)
            mongo_face_crash(&f);
    }
    CHECK_FAULT(mongo_ask(&f, "{" BULK ",'ops':[{'insert':0,'document':{'_id':5}}],"
                              "'nsInfo':[{'ns':'other.b'}],'lsid':" LSID(
                                  "1") ","
                                       "'txnNumber':{'$numberLong':'2'}}"),
                ERROR_TransactionTooOld);
    struct mongo_answer a = mongo_ask(
        &f, "{" BULK ",'ops':[{'delete':0,'filter':{},'multi':true}],"
            "'nsInfo':[{'ns':'db.a'}],'lsid':" LSID("1") ","
                                                         "'txnNumber':{'$numberLong':'4'}}");
    CHECK_EQ(mongo_number(&a, ROWS ".0.code"), ERROR_InvalidOptions, "many have no number");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, in_a_transaction_it_counts_together_and_a_failure_ends_it)
{
#define IN "'lsid':" LSID("1") ",'txnNumber':{'$numberLong':'%d'},'autocommit':false"
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'a'}"));
    CHECK_DONE(mongo_ask(&f,
                         "{" BULK ",'ops':[{'insert':0,'document':{'_id':1}},"
                         "{'update':0,'filter':{'_id':1},'updateMods':{'$set':{'n':1}}}],"
                         "'nsInfo':[{'ns':'db.a'}],'startTransaction':true," IN "}",
                         1));
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[]");
    CHECK_DONE(mongo_ask(&f, "{'commitTransaction':1,'$db':'admin'," IN "}", 1));
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[{\"_id\":1,\"n\":1}]");
    struct mongo_answer a = mongo_ask(&f,
                                      "{" BULK ",'ops':[{'insert':0,'document':{'_id':2}},"
                                      "{'insert':0,'document':{'_id':1}}],"
                                      "'nsInfo':[{'ns':'db.a'}],'startTransaction':true," IN "}",
                                      2);
    CHECK_EQ(mongo_number(&a, "nErrors"), 1, "");
    CHECK_FAULT(mongo_ask(&f, "{'commitTransaction':1,'$db':'admin'," IN "}", 2),
                ERROR_NoSuchTransaction);
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[{\"_id\":1,\"n\":1}]");
    CHECK_FAULT(mongo_ask(&f,
                          "{" BULK ",'ops':[{'insert':0,'document':{'_id':2}}],"
                          "'nsInfo':[{'ns':'config.a'}],'startTransaction':true," IN "}",
                          3),
                ERROR_OperationNotSupportedInTransaction);
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, rows_that_do_not_fit_come_with_the_cursor)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer a = mongo_ask(
        &f, "{" BULK ",'ops':[{'insert':0,'document':{'_id':1}},{'insert':0,'document':{'_id':2}},"
            "{'delete':0,'filter':{}}],'nsInfo':[{'ns':'db.a'}],'cursor':{'batchSize':2}}");
    CHECK_STRING(sums_of(&f, &a), "0 2 0 0 0 1");
    int64_t id = mongo_number(&a, "cursor.id");
    CHECK(id != 0);
    a = mongo_ask(&f,
                  "{'getMore':{'$numberLong':'%lld'},'collection':'$cmd.bulkWrite',"
                  "'$db':'admin'}",
                  (long long)id);
    CHECK_STRING(mongo_text(&f, &a, "cursor.nextBatch"), "[{\"ok\":1,\"idx\":2,\"n\":1}]");
    CHECK_EQ(mongo_number(&a, "cursor.id"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, many_inserts_go_in_several_commits_and_alternate_freely)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct buffer ops = buffer_in(f.world.arena);
    bytes text;
    for (int i = 0; i < 2500; i++)
        buffer_append_format(&ops, "%s{'insert':0,'document':{'_id':%d}}", i ? "," : "", i);
    for (int i = 0; i < 500; i++)
        buffer_append_format(&ops, ",{'insert':%d,'document':{'_id':%d}}", 1 + i % 2, i / 2);
    CHECK_OK(buffer_finish(&ops, &text));
    struct mongo_answer a = mongo_ask(&f,
                                      "{" BULK ",'ops':[%.*s],'nsInfo':[{'ns':'db.a'},"
                                      "{'ns':'db.b'},{'ns':'db.c'}],'errorsOnly':true}",
                                      (int)text.len, (const char *)text.data);
    CHECK_STRING(sums_of(&f, &a), "0 3000 0 0 0 0");
    a = mongo_ask(&f, "{'count':'a'}");
    CHECK_EQ(mongo_number(&a, "n"), 2500, "");
    a = mongo_ask(&f, "{'count':'c'}");
    CHECK_EQ(mongo_number(&a, "n"), 250, "");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, an_error_names_the_collection_of_its_insert)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(
        &f, "{'createIndexes':'u','indexes':[{'key':{'k':1},'name':'k','unique':true}]}"));
    struct mongo_answer a = mongo_ask(&f,
                                      "{" BULK ",'ops':[{'insert':0,'document':{'_id':1,'k':1}},"
                                      "{'insert':0,'document':{'_id':2,'k':1}}],"
                                      "'nsInfo':[{'ns':'db.u'}]}");
    CHECK_DONE(a);
    const char *message = mongo_text(&f, &a, ROWS ".1.errmsg");
    CHECK_THAT(strstr(message, "collection: db.u index: k") != NULL, "%s", message);
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, its_cursor_goes_on_inside_its_transaction)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'a'}"));
    struct mongo_answer a = mongo_ask(&f,
                                      "{" BULK ",'ops':[{'insert':0,'document':{'_id':1}},"
                                      "{'insert':0,'document':{'_id':2}}],'cursor':{'batchSize':1},"
                                      "'nsInfo':[{'ns':'db.a'}],'startTransaction':true," IN "}",
                                      1);
    CHECK_DONE(a);
    CHECK_DONE(mongo_ask(&f,
                         "{'getMore':{'$numberLong':'%lld'},'collection':'$cmd.bulkWrite',"
                         "'$db':'admin'," IN "}",
                         (long long)mongo_number(&a, "cursor.id"), 1));
    CHECK_DONE(mongo_ask(&f, "{'commitTransaction':1,'$db':'admin'," IN "}", 1));
    CHECK_STRING(mongo_found(&f, "a", "{}"), "[{\"_id\":1},{\"_id\":2}]");
    mongo_face_close(&f);
}

/* ---- many errors ------------------------------------------------------------------------------------ */

/* The same document so many times, as an insert or as operations of bulkWrite, and then one that is new. */
static bytes same_document(struct mongo_face *f, bool is_bulk, int count, size_t id_bytes)
{
    struct buffer out = buffer_in(f->world.arena);
    char room[REPLY_INDEX_BYTES],
        *id = (char *)(uintptr_t)arena_try_take(f->world.arena, id_bytes + 2);
    bytes whole;

    memset(id, 'x', id_bytes + 1);
    size_t begun = document_begin(&out);
    if (is_bulk)
        reply_int32(&out, "bulkWrite", 1);
    else
        reply_text(&out, "insert", "c");
    size_t list = reply_begin_array(&out, is_bulk ? "ops" : "documents");
    for (int i = 0; i <= count; i++) {
        size_t row = reply_begin(&out, reply_index((size_t)i, room)), inside = row;
        if (is_bulk) {
            reply_int32(&out, "insert", 0);
            inside = reply_begin(&out, "document");
        }
        id[id_bytes + (i == count)] = 0;
        reply_text(&out, "_id", id);
        id[id_bytes] = 'x';
        document_end(&out, inside);
        if (is_bulk)
            document_end(&out, row);
    }
    document_end(&out, list);
    if (is_bulk) {
        size_t spaces = reply_begin_array(&out, "nsInfo"), space = reply_begin(&out, "0");
        reply_text(&out, "ns", "db.c");
        document_end(&out, space);
        document_end(&out, spaces);
    }
    reply_bool(&out, "ordered", false);
    reply_text(&out, "$db", is_bulk ? "admin" : "db");
    document_end(&out, begun);
    CHECK_OK(buffer_finish(&out, &whole));
    return whole;
}

TEST(mongo_bulk_write, a_hundred_thousand_duplicates_are_told)
{
    enum { COUNT = LIMIT_WRITE_COMMAND_OPERATIONS - 1, LAST = COUNT - 2 };
    struct mongo_face f;
    char path[60];

    mongo_face_open(&f);
    struct mongo_answer answer = mongo_ask_document(&f, same_document(&f, false, COUNT, 10));
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), 2, "the first and the last");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.errmsg"),
                 "\"E11000 duplicate key error collection: db.c index: _id_ dup key: { _id: "
                 "\\\"xxxxxxxxxx\\\" }\"");
    snprintf(path, sizeof(path), "writeErrors.%d.code", LAST);
    CHECK_EQ(mongo_number(&answer, path), ERROR_DuplicateKey, "");
    snprintf(path, sizeof(path), "writeErrors.%d.index", LAST);
    CHECK_EQ(mongo_number(&answer, path), COUNT - 1, "");
    snprintf(path, sizeof(path), "writeErrors.%d.errmsg", LAST);
    CHECK_STRING(mongo_text(&f, &answer, path), "\"\"");
    CHECK_THAT(answer.document.len < LIMIT_DOCUMENT_BYTES, "%zu bytes", answer.document.len);
    CHECK_THAT(answer.used_bytes < 64 * 1024 * 1024, "%zu bytes of memory", answer.used_bytes);
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, long_duplicates_are_told_within_a_document)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer = mongo_ask_document(&f, same_document(&f, false, 30000, 1000));
    CHECK_DONE(answer);
    CHECK_THAT(answer.document.len < LIMIT_DOCUMENT_BYTES, "%zu bytes", answer.document.len);
    CHECK_THAT(answer.document.len > LIMIT_WRITE_ERROR_BYTES, "%zu bytes", answer.document.len);
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.29998.keyValue"), "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.29998.index"), 29999, "");
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, the_memory_of_many_inserts_is_given_back_with_each_commit)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer = mongo_ask_document(&f, same_document(&f, true, 60000, 10));
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "nErrors"), 59999, "");
    CHECK_EQ(mongo_number(&answer, "nInserted"), 2, "");
    CHECK_THAT(answer.used_bytes < 64 * 1024 * 1024, "%zu bytes of memory", answer.used_bytes);
    mongo_face_close(&f);
}

TEST(mongo_bulk_write, a_bad_document_behind_good_ones_is_told_in_order)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':[1]},{'_id':2}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 1, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_InvalidIdField, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.index"), 1, "");
    CHECK_THAT(strstr(mongo_text(&f, &answer, "writeErrors.0.errmsg"), "_id") != NULL, "%s",
               mongo_text(&f, &answer, "writeErrors.0.errmsg"));
    mongo_face_close(&f);
}

/* The answer of a bulkWrite is a cursor. */
TEST(mongo_bulk_write, nothing_is_written_if_there_is_no_cursor_for_the_answer)
{
    static const char write[] =
        "{'bulkWrite':1,'ops':[{'insert':0,'document':{'_id':'a'}},{'insert':0,'document':{'_id':"
        "'b'}}],'nsInfo':[{'ns':'db.d'}],'cursor':{'batchSize':1},'$db':'admin'}";
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    struct mongo_answer open = mongo_ask(&f, "{'find':'c','batchSize':1}");
    for (size_t i = 1; i < LIMIT_CURSORS; i++)
        CHECK_DONE(mongo_ask(&f, "{'find':'c','batchSize':1}"));
    CHECK_THAT(mongo_ask(&f, "%s", write).code != 0, "there is no room");
    CHECK_STRING(mongo_found(&f, "d", "{}"), "[]");
    CHECK_DONE(mongo_ask(&f, "{'killCursors':'c','cursors':[{'$numberLong':'%lld'}]}",
                         (long long)mongo_number(&open, "cursor.id")));
    CHECK_DONE(mongo_ask(&f, "%s", write));
    CHECK_EQ(stream_figures(f.face->streams).opened, LIMIT_CURSORS + 1, "");
    mongo_face_close(&f);
}
