/* Documents put in and found again, through commands. */
#include <stdio.h>

#include "front/mongo/stream.h"
#include "tests/support/mongo_face.h"

TEST(mongo_insert, a_document_is_found_by_its_id)
{
    struct mongo_face f;

    mongo_face_open(&f);
    struct mongo_answer answer = mongo_ask(&f, "{'insert':'c','documents':[{'a':1,'_id':7}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), 1, "");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':7}"), "[{\"_id\":7,\"a\":1}]");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':{'$eq':7.0}}"), "[{\"_id\":7,\"a\":1}]");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':'7'}"), "[]");
    CHECK_STRING(mongo_found(&f, "missing", "{'_id':7}"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_insert, a_document_without_an_id_gets_one_in_front)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'a':1}]}"));
    const char *found = mongo_found(&f, "c", "{}");
    CHECK_THAT(strncmp(found, "[{\"_id\":{\"$oid\":\"", 17) == 0, "%s", found);
    mongo_face_close(&f);
}

TEST(mongo_insert, a_second_document_with_the_same_id_is_refused_by_its_number)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    struct mongo_answer answer =
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':2},{'_id':1},{'_id':3}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), 1, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.index"), 1, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), 11000, "");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.keyValue"), "{\"_id\":1}");
    CHECK_STRING(mongo_text(&f, &answer, "writeErrors.0.keyPattern"), "{\"_id\":1}");
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1},{\"_id\":2}]");
    answer = mongo_ask(&f, "{'insert':'c','ordered':false,"
                           "'documents':[{'_id':1},{'_id':4},{'_id':4},{'_id':5}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 2, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.index"), 0, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.1.index"), 2, "");
    mongo_face_close(&f);
}

TEST(mongo_insert, what_cannot_be_stored_is_an_error_of_its_own)
{
    const struct {
        const char *document;
        int code;
    } rows[] = {
        {"{'_id':[1]}",                           ERROR_InvalidIdField         },
        { "{'_id':{'$x':1}}",                     ERROR_DollarPrefixedFieldName},
        { "{'_id':{'$regex':'a','$options':''}}", ERROR_InvalidIdField         },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer answer =
            mongo_ask(&f, "{'insert':'c','ordered':false,'documents':[%s,{}]}", r->document);
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "n"), 1, "%s", r->document);
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), r->code, "%s", r->document);
    }
    mongo_face_close(&f);
}

TEST(mongo_find, batches_give_every_document_once)
{
    struct mongo_face f;
    char seen[64] = { 0 };

    mongo_face_open(&f);
    for (int i = 0; i < 50; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d}]}", i));
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','batchSize':7,'skip':3,'limit':45}");
    const char *batch = "cursor.firstBatch";
    int count = 0;
    for (int page = 0; page < 20; page++) {
        char path[64];
        for (int i = 0; i < 7; i++) {
            snprintf(path, sizeof(path), "%s.%d._id", batch, i);
            if (mongo_text(&f, &answer, path)[0] == '\0')
                break;
            seen[mongo_number(&answer, path)]++;
            count++;
        }
        int64_t id = mongo_number(&answer, "cursor.id");
        if (id == 0)
            break;
        answer = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':7}",
                           (long long)id);
        CHECK_DONE(answer);
        batch = "cursor.nextBatch";
    }
    CHECK_EQ(count, 45, "");
    for (int i = 0; i < 50; i++)
        CHECK_EQ(seen[i], i >= 3 && i < 48, "%d", i);
    mongo_face_close(&f);
}

TEST(mongo_find, a_cursor_ends_after_ten_idle_minutes)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','batchSize':1}");
    long long id = (long long)mongo_number(&answer, "cursor.id");
    world_pass(&f.world, LIMIT_CURSOR_IDLE_MS - 1);
    CHECK_DONE(
        mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':1}", id));
    world_pass(&f.world, LIMIT_CURSOR_IDLE_MS);
    CHECK_FAULT(mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c'}", id),
                ERROR_CursorNotFound);
    mongo_face_close(&f);
}

TEST(mongo_find, a_cursor_belongs_to_its_collection_and_session)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','batchSize':1,'lsid':" LSID("1") "}");
    long long id = (long long)mongo_number(&answer, "cursor.id");
    CHECK_FAULT(mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'d'}", id),
                ERROR_Unauthorized);
    CHECK_FAULT(mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c'}", id), 50738);
    CHECK_DONE(mongo_ask(&f, "{'endSessions':[" LSID("1") "]}"));
    CHECK_FAULT(
        mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','lsid':" LSID("1") "}",
                  id),
        ERROR_CursorNotFound);
    mongo_face_close(&f);
}

TEST(mongo_find, a_dropped_collection_ends_its_cursors)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','batchSize':1}");
    CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':3}]}"));
    CHECK_FAULT(mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c'}",
                          (long long)mongo_number(&answer, "cursor.id")),
                ERROR_QueryPlanKilled);
    mongo_face_close(&f);
}

TEST(mongo_kept, a_document_of_another_face_shows_its_id)
{
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection_parted(&f.world, "c", TTL_OFF, "", "pk");
    struct request request = world_begin(&f.world);
    const struct collection *collection = world_find(&request, "c");
    struct value id;
    bytes document = world_document(request.arena, "{'id':'x','pk':1,'_id':'other'}");
    struct write_op op = {
        .collection = collection, .kind = WRITE_INSERT, .document = document, .own_ttl = TTL_ABSENT
    };
    CHECK(document_find(document, "id", &id));
    CHECK_OK(document_key_make(request.arena, collection, document, id, &op.key));
    CHECK_OK(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING));
    world_end(&request);
    CHECK_STRING(mongo_found(&f, "c", "{'_id':'x'}"), "[{\"_id\":\"x\",\"id\":\"x\",\"pk\":1}]");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':'other'}"), "[]");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':5,'pk':2}]}"));
    CHECK_STRING(mongo_found(&f, "c", "{'_id':5}"), "[{\"_id\":5,\"pk\":2}]");
    mongo_face_close(&f);
}

TEST(mongo_kept, ttl_is_a_field_like_any_other_where_time_to_live_is_off)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'insert':'off','documents':[{'_id':1,'ttl':'never'},{'_id':2,'ttl':5}]}"));
    world_collection(&f.world, "on", TTL_NEVER, "");
    struct mongo_answer answer =
        mongo_ask(&f, "{'insert':'on','ordered':false,"
                      "'documents':[{'_id':1,'ttl':'never'},{'_id':2,'ttl':5},{'_id':3}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 2, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_BadValue, "");
    world_pass(&f.world, 5000);
    CHECK_STRING(mongo_found(&f, "on", "{}"), "[{\"_id\":3}]");
    CHECK_STRING(mongo_found(&f, "off", "{'_id':2}"), "[{\"_id\":2,\"ttl\":5}]");
    mongo_face_close(&f);
}

TEST(mongo_find, filters_of_all_kinds_are_asked)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1},{'_id':2,'a':[1,5]},"
                             "{'_id':3,'a':7,'b':{'c':1}},{'_id':4}]}"));
    CHECK_STRING(mongo_found(&f, "c", "{'a':1}"), "[{\"_id\":1,\"a\":1},{\"_id\":2,\"a\":[1,5]}]");
    CHECK_STRING(mongo_found(&f, "c", "{'a':{'$gt':4},'b.c':1}"),
                 "[{\"_id\":3,\"a\":7,\"b\":{\"c\":1}}]");
    CHECK_STRING(mongo_found(&f, "c", "{'_id':{'$in':[4,9,1,4]},'a':null}"), "[{\"_id\":4}]");
    CHECK_STRING(mongo_found(&f, "c", "{'$expr':{'$eq':['$_id','$a']}}"), "[{\"_id\":1,\"a\":1}]");
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','filter':{'a':{'$nonsense':1}}}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'find':'missing','filter':{'a':{'$nonsense':1}}}"), ERROR_BadValue);
    struct mongo_answer let =
        mongo_ask(&f, "{'find':'c','let':{'x':7},'filter':{'$expr':{'$eq':['$a','$$x']}}}");
    CHECK_STRING(mongo_text(&f, &let, "cursor.firstBatch.0._id"), "3");
    mongo_face_close(&f);
}

TEST(mongo_delete, one_or_all_that_fulfil_the_filter_go)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 0; i < 20; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'even':%s}]}", i,
                             i % 2 ? "false" : "true"));
    struct mongo_answer answer =
        mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'even':true},'limit':1},"
                      "{'q':{'_id':{'$gte':10}},'limit':0},{'q':{'_id':77},'limit':1}]}");
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), 11, "");
    answer = mongo_ask(&f, "{'count':'c'}");
    CHECK_EQ(mongo_number(&answer, "n"), 9, "");
    answer = mongo_ask(&f, "{'delete':'c','deletes':[{'q':{},'limit':2},{'q':{},'limit':0}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 0, "");
    CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_FailedToParse, "");
    answer = mongo_ask(&f, "{'delete':'c','ordered':false,"
                           "'deletes':[{'q':{},'limit':2},{'q':{},'limit':0}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 9, "");
    CHECK_DONE(mongo_ask(&f, "{'delete':'missing','deletes':[{'q':{},'limit':0}]}"));
    mongo_face_close(&f);
}

TEST(mongo_delete, more_documents_than_one_commit_takes_all_go)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 0; i < 5; i++) {
        struct buffer text = buffer_in(f.world.arena);
        buffer_append_text(&text, "{'insert':'c','documents':[");
        for (int j = 0; j < 500; j++)
            buffer_append_format(&text, "%s{'_id':%d}", j ? "," : "", 500 * i + j);
        buffer_append_text(&text, "]}");
        buffer_append_byte(&text, 0);
        CHECK_DONE(mongo_ask(&f, "%s", (const char *)text.data));
    }
    struct mongo_answer answer =
        mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'_id':{'$mod':[5,0]}},'limit':0},"
                      "{'q':{},'limit':0}]}");
    CHECK_EQ(mongo_number(&answer, "n"), 2500, "");
    mongo_face_close(&f);
}

TEST(mongo_count, counts_are_of_the_living)
{
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection(&f.world, "c", 10, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1},{'_id':2,'a':1,'ttl':-1},"
                             "{'_id':3,'a':2,'ttl':-1},{'_id':4,'a':1,'ttl':-1}]}"));
    const struct {
        const char *more;
        int before, after;
    } rows[] = {
        {"",                            4, 3},
        { ",'query':{'a':1}",           3, 2},
        { ",'query':{'a':1},'skip':1",  2, 1},
        { ",'query':{'a':1},'limit':1", 1, 1},
        { ",'skip':9",                  0, 0},
        { ",'query':{'_id':1}",         1, 0},
    };
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'count':'c'%s}", r->more);
        CHECK_EQ(mongo_number(&answer, "n"), r->before, "%s", r->more);
    }
    world_pass(&f.world, 10000);
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'count':'c'%s}", r->more);
        CHECK_EQ(mongo_number(&answer, "n"), r->after, "%s", r->more);
    }
    mongo_face_close(&f);
}

TEST(mongo_count, a_filter_that_fails_says_why)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':'text'}]}"));
    struct mongo_answer answer =
        mongo_ask(&f, "{'count':'c','query':{'$expr':{'$multiply':['$a',2]}}}");
    CHECK_FAULT(answer, ERROR_TypeMismatch);
    CHECK_STRING(mongo_text(&f, &answer, "errmsg"),
                 "\"$multiply only supports numeric types, not string\"");
    mongo_face_close(&f);
}

TEST(mongo_count, distinct_values_look_through_arrays)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'a':[1,2]},{'a':2.0},{'a':{'b':3}},{},"
                             "{'a':[]},{'a':[{'b':4},{'b':3}]},{'a':null}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'distinct':'c','key':'a.b'}");
    CHECK_STRING(mongo_text(&f, &answer, "values.0"), "3");
    CHECK_STRING(mongo_text(&f, &answer, "values.1"), "4");
    CHECK_STRING(mongo_text(&f, &answer, "values.2"), "");
    answer = mongo_ask(&f, "{'distinct':'c','key':'a','query':{'a':2}}");
    CHECK_STRING(mongo_text(&f, &answer, "values.1"), "2");
    CHECK_STRING(mongo_text(&f, &answer, "values.2"), "");
    mongo_face_close(&f);
}

TEST(mongo_find, documents_are_sorted_cut_and_projected)
{
    const struct {
        const char *more, *want;
    } rows[] = {
        {"'sort':{'a':-1}",                            "[3,1,2,4]"},
        { "'sort':{'a':1,'_id':-1}",                   "[4,2,1,3]"},
        { "'sort':{'a':1},'skip':1,'limit':2",         "[2,1]"    },
        { "'sort':{'a':-1},'limit':-2",                "[3,1]"    },
        { "'sort':{'$natural':-1}",                    "[4,3,2,1]"},
        { "'hint':{'_id':1},'filter':{'a':{'$gt':1}}", "[1,3]"    },
        { "'hint':'_id_','sort':{'_id':-1}",           "[4,3,2,1]"},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':5,'b':{'c':1,'d':2}},"
                             "{'_id':2,'a':1},{'_id':3,'a':9},{'_id':4}]}"));
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'find':'c',%s,'projection':{'_id':1}}",
                                               r->more);
        struct buffer ids = buffer_in(f.world.arena);
        char path[64];
        CHECK_DONE(answer);
        for (int i = 0;; i++) {
            snprintf(path, sizeof(path), "cursor.firstBatch.%d._id", i);
            const char *id = mongo_text(&f, &answer, path);
            if (id[0] == '\0')
                break;
            buffer_append_format(&ids, "%s%s", i ? "," : "[", id);
        }
        buffer_append(&ids, bytes_of("]", 2));
        CHECK_STRING((const char *)ids.data, r->want);
    }
    struct mongo_answer answer =
        mongo_ask(&f, "{'find':'c','filter':{'_id':1},'projection':{'b.c':1,'_id':0}}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), "[{\"b\":{\"c\":1}}]");
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','hint':'none'}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','tailable':true}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','collation':{'locale':'xx'}}"), ERROR_BadValue);
    mongo_face_close(&f);
}

TEST(mongo_find, a_cursor_that_has_given_its_limit_is_over)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(
        mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3},{'_id':4}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','batchSize':2,'limit':4}");
    long long id = (long long)mongo_number(&answer, "cursor.id");
    CHECK(id != 0);
    answer = mongo_ask(&f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':2}", id);
    CHECK_STRING(mongo_text(&f, &answer, "cursor.nextBatch"), "[{\"_id\":3},{\"_id\":4}]");
    CHECK_EQ(mongo_number(&answer, "cursor.id"), 0, "");
    mongo_face_close(&f);
}

TEST(mongo_find, cursors_that_nobody_fetches_are_forgotten)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1},{'_id':2},{'_id':3}]}"));
    for (int i = 0; i < 10; i++)
        CHECK_DONE(mongo_ask(&f, "{'find':'c','batchSize':1}"));
    CHECK_EQ(stream_figures(f.face->streams).open, 10, "");
    world_pass(&f.world, LIMIT_CURSOR_IDLE_MS);
    for (int i = 0; i < LIMIT_CURSORS / 64 + 1; i++) {
        struct mongo_answer answer = mongo_ask(&f, "{'find':'c','batchSize':1}");
        CHECK_DONE(mongo_ask(&f, "{'killCursors':'c','cursors':[{'$numberLong':'%lld'}]}",
                             (long long)mongo_number(&answer, "cursor.id")));
    }
    CHECK_EQ(stream_figures(f.face->streams).open, 0, "");
    mongo_face_close(&f);
}

TEST(mongo_crud, a_sample_rate_is_a_probability)
{
    enum { COUNT = 400 };
    const char *const refused[] = { "'x'", "-0.1", "1.1", "null", "{'$numberDouble':'NaN'}" };
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 0; i < COUNT; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d}]}", i));
    EACH_ROW(refused, rate)
        CHECK_FAULT(mongo_ask(&f, "{'find':'c','filter':{'$sampleRate':%s}}", *rate),
                    ERROR_BadValue);
    struct mongo_answer all = mongo_ask(&f, "{'count':'c','query':{'$sampleRate':1}}"),
                        none = mongo_ask(&f, "{'count':'c','query':{'$sampleRate':0.0}}"),
                        half = mongo_ask(
                            &f, "{'aggregate':'c','pipeline':[{'$match':{'$sampleRate':0.5}},"
                                "{'$count':'n'}],'cursor':{}}");
    CHECK_EQ(mongo_number(&all, "n"), COUNT, "");
    CHECK_EQ(mongo_number(&none, "n"), 0, "");
    int64_t n = mongo_number(&half, "cursor.firstBatch.0.n");
    CHECK_THAT(n > COUNT / 4 && n < 3 * COUNT / 4, "%d of %d", (int)n, COUNT);
    mongo_face_close(&f);
}
