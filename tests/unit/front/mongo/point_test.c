/* Finds by _id, which go a way of their own: they find what the way of all finds would find. */
#include "tests/support/mongo_face.h"

/* The same question, asked in a way that is not recognised as one for a single document. */
static const char *found_slowly(struct mongo_face *f, const char *id)
{
    const char *filter = arena_format(f->world.arena, "{'$and':[{'_id':%s}]}", id);

    return mongo_found(f, "c", filter);
}

static const char *found_by_id(struct mongo_face *f, const char *id)
{
    return mongo_found(f, "c", arena_format(f->world.arena, "{'_id':%s}", id));
}

TEST(mongo_point, every_type_of_id_is_found_as_by_a_walk)
{
    const char *const ids[] = {
        "1",
        "{'$numberLong':'2'}",
        "{'$numberLong':'9007199254740993'}",
        "3.5",
        "4.0",
        "'text'",
        "''",
        "'a\\u0000b'",
        "true",
        "null",
        "{'$date':{'$numberLong':'-5'}}",
        "{'$oid':'0123456789abcdef01234567'}",
        "{'$binary':{'base64':'AAEC','subType':'04'}}",
        "{'a':1,'b':[2]}",
        "{'$timestamp':{'t':1,'i':2}}",
    };
    struct mongo_face f;

    mongo_face_open(&f);
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%s,'n':%zu}]}", ids[i], i));
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        const char *found = found_by_id(&f, ids[i]);
        CHECK_STRING(found, found_slowly(&f, ids[i]));
        CHECK_THAT(strlen(found) > 2, "%s is not found", ids[i]);
    }
    mongo_face_close(&f);
}

TEST(mongo_point, equal_numbers_are_one_id_whatever_their_type)
{
    const char *const ids[] = { "4", "{'$numberLong':'4'}", "4.0", "{'$numberDecimal':'4.00'}" };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':4.0}]}"));
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++)
        CHECK_STRING(found_by_id(&f, ids[i]), found_slowly(&f, ids[i]));
    CHECK_STRING(found_by_id(&f, "5"), "[]");
    CHECK_STRING(found_by_id(&f, "'4'"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_point, a_dead_document_is_not_found_from_its_deadline_on)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'d':1},'name':'d_1',"
                             "'expireAfterSeconds':10}]}"));
    CHECK_DONE(mongo_ask(&f,
                         "{'insert':'c','documents':[{'_id':1,'d':{'$date':{'$numberLong':"
                         "'%lld'}}}]}",
                         (long long)clock_now(f.world.clock)));
    world_pass(&f.world, 9999);
    CHECK_THAT(strlen(found_by_id(&f, "1")) > 2, "too early");
    world_pass(&f.world, 1);
    CHECK_STRING(found_by_id(&f, "1"), "[]");
    mongo_face_close(&f);
}

TEST(mongo_point, options_of_find_mean_what_they_mean_elsewhere)
{
    const struct {
        const char *options, *want;
    } rows[] = {
        {"'limit':1,'singleBatch':true,'comment':'x','maxTimeMS':1000", "[{\"_id\":1,\"a\":2}]"},
        { "'readConcern':{'level':'majority'},'limit':-1",              "[{\"_id\":1,\"a\":2}]"},
        { "'sort':{'a':1}",                                             "[{\"_id\":1,\"a\":2}]"},
        { "'projection':{'_id':0}",                                     "[{\"a\":2}]"          },
        { "'hint':{'_id':1}",                                           "[{\"_id\":1,\"a\":2}]"},
        { "'hint':{'$natural':1}",                                      "[{\"_id\":1,\"a\":2}]"},
        { "'skip':1",                                                   "[]"                   },
        { "'batchSize':1",                                              "[{\"_id\":1,\"a\":2}]"},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':2}]}"));
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(&f, "{'find':'c','filter':{'_id':1},%s}",
                                               r->options);
        CHECK_DONE(answer);
        CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch"), r->want);
        CHECK_EQ(mongo_number(&answer, "cursor.id"), 0, "%s", r->options);
        CHECK_STRING(mongo_text(&f, &answer, "cursor.ns"), "\"db.c\"");
    }
    struct mongo_answer opened = mongo_ask(&f, "{'find':'c','filter':{'_id':1},'batchSize':0}");
    CHECK(mongo_number(&opened, "cursor.id") != 0);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','filter':{'_id':1},'hint':'none'}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'find':'c','filter':{'_id':1},'skip':-1}"), ERROR_BadValue);
    mongo_face_close(&f);
}
