/* Cursors over documents that had to be sorted: what a batch has put in order is kept for the next. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

enum { COUNT = 40 };

/* _id and a run against each other, so that no order of keys is the one of `a`. */
static void open_with_rows(struct mongo_face *f)
{
    mongo_face_open(f);
    for (int i = 0; i < COUNT; i++)
        CHECK_DONE(
            mongo_ask(f, "{'insert':'c','documents':[{'_id':%d,'a':%d,'b':1}]}", COUNT - i, i));
}

static struct mongo_answer get_more(struct mongo_face *f, const struct mongo_answer *first,
                                    int size)
{
    return mongo_ask(f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':%d}",
                     (long long)mongo_number(first, "cursor.id"), size);
}

/* Values of `a` in the batches behind the first. */
static const char *rest_of(struct mongo_face *f, struct mongo_answer answer, int size)
{
    struct buffer text = buffer_in(f->world.arena);
    char path[40];

    for (int round = 0; round < COUNT && mongo_number(&answer, "cursor.id") != 0; round++) {
        answer = get_more(f, &answer, size);
        CHECK_DONE(answer);
        for (int i = 0; i < size; i++) {
            snprintf(path, sizeof(path), "cursor.nextBatch.%d.a", i);
            const char *value = mongo_text(f, &answer, path);
            if (value[0])
                buffer_append_format(&text, "%s%s", text.len ? " " : "", value);
        }
    }
    CHECK_EQ(mongo_number(&answer, "cursor.id"), 0, "the cursor ends");
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

TEST(mongo_find_sorted, later_batches_look_at_their_own_documents_only)
{
    struct mongo_face f;

    open_with_rows(&f);
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','sort':{'a':1},'batchSize':3}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.2.a"), "2");
    CHECK_DONE(mongo_ask(&f, "{'profile':2}"));
    for (int i = 0; i < 3; i++)
        CHECK_DONE(get_more(&f, &answer, 4));
    CHECK_DONE(mongo_ask(&f, "{'profile':0}"));
    CHECK_STRING(rest_of(&f, answer, 20),
                 "15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39");
    struct mongo_answer rows = mongo_ask(&f, "{'find':'system.profile','filter':{'op':'getmore'},'"
                                             "projection':{'docsExamined':1,'_id':0}}");
    CHECK_STRING(mongo_text(&f, &rows, "cursor.firstBatch"),
                 "[{\"docsExamined\":4},{\"docsExamined\":4},{\"docsExamined\":4}]");
    mongo_face_close(&f);
}

TEST(mongo_find_sorted, what_happens_between_batches_counts_for_the_later_ones)
{
    const struct {
        const char *why, *command, *want;
    } rows[] = {
        {"nothing",                               "{'ping':1}",                                                    "3 4 5 6 7" },
        { "one is deleted",                       "{'delete':'c','deletes':[{'q':{'a':4},'limit':1}]}",            "3 5 6 7"   },
        { "all are deleted",                      "{'delete':'c','deletes':[{'q':{},'limit':0}]}",                 ""          },
        { "one fits no more",                     "{'update':'c','updates':[{'q':{'a':5},'u':{'$set':{'b':2}}}]}",
         "3 4 6 7"                                                                                                             },
        { "one has moved, and is given as it is",
         "{'update':'c','updates':[{'q':{'a':5},'u':{'$set':{'a':99}}}]}",                                         "3 4 99 6 7"},
        { "one has come",                         "{'insert':'c','documents':[{'_id':100,'a':4,'b':1}]}",          "3 4 5 6 7" },
    };
    EACH_ROW(rows, r) {
        struct mongo_face f;

        open_with_rows(&f);
        struct mongo_answer answer = mongo_ask(&f,
                                               "{'find':'c','filter':{'b':1,'a':{'$lt':8}},'sort':{"
                                               "'a':1},'batchSize':3,'hint':{'$natural':1}}");
        if (strstr(r->why, "moved"))
            answer = mongo_ask(
                &f, "{'find':'c','filter':{'b':1,'_id':{'$gt':32}},'sort':{'a':1},'batchSize':3}");
        CHECK_DONE(mongo_ask(&f, "%s", r->command));
        const char *rest = rest_of(&f, answer, 2);
        CHECK_THAT(strcmp(rest, r->want) == 0, "%s: is %s", r->why, rest);
        mongo_face_close(&f);
    }
}

TEST(mongo_find_sorted, a_document_that_was_born_again_is_another_one)
{
    struct mongo_face f;

    open_with_rows(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'find':'c','filter':{'a':{'$lt':6}},'sort':{'a':1},'batchSize':3}");
    CHECK_DONE(mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'a':4},'limit':1}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'a':4}]}", COUNT - 4));
    CHECK_STRING(rest_of(&f, answer, 2), "3 5");
    mongo_face_close(&f);
}

TEST(mongo_find_sorted, who_dies_between_two_batches_is_in_neither)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'d':1},'name':'d',"
                             "'expireAfterSeconds':0}]}"));
    for (int i = 0; i < COUNT; i++)
        CHECK_DONE(mongo_ask(&f,
                             "{'insert':'c','documents':[{'_id':%d,'a':%d,'d':{'$date':{"
                             "'$numberLong':'%lld'}}}]}",
                             COUNT - i, i,
                             (long long)WORLD_START + world_now(&f.world) + (i % 2 ? 1000 : 9000)));
    struct mongo_answer answer =
        mongo_ask(&f, "{'find':'c','filter':{'a':{'$lt':9}},'sort':{'a':1},'batchSize':3}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.1.a"), "1");
    world_pass(&f.world, 5000);
    CHECK_STRING(rest_of(&f, answer, 2), "4 6 8");
    answer = mongo_ask(&f, "{'find':'c','sort':{'a':1},'batchSize':3}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.1.a"), "2");
    world_pass(&f.world, 5000);
    CHECK_STRING(rest_of(&f, answer, 2), "");
    mongo_face_close(&f);
}

/* With a limit no more is kept than that, so the sort goes on where rows are missing. */
TEST(mongo_find_sorted, a_limit_is_filled_from_behind_what_was_kept)
{
    struct mongo_face f;

    open_with_rows(&f);
    struct mongo_answer answer =
        mongo_ask(&f, "{'find':'c','sort':{'a':1},'skip':2,'limit':10,'batchSize':3}");
    CHECK_STRING(mongo_text(&f, &answer, "cursor.firstBatch.0.a"), "2");
    CHECK_DONE(
        mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'a':{'$gt':5,'$lt':10}},'limit':0}]}"));
    CHECK_STRING(rest_of(&f, answer, 2), "5 10 11 12 13 14 15");
    mongo_face_close(&f);
}

TEST(mongo_find_sorted, a_dropped_collection_ends_the_cursor)
{
    struct mongo_face f;

    open_with_rows(&f);
    struct mongo_answer answer = mongo_ask(&f, "{'find':'c','sort':{'a':1},'batchSize':3}");
    CHECK_DONE(mongo_ask(&f, "{'drop':'c'}"));
    CHECK_FAULT(get_more(&f, &answer, 2), ERROR_QueryPlanKilled);
    mongo_face_close(&f);
}

/* More than a cursor holds in memory, so that most of it waits on disk. */
TEST(mongo_find_sorted, long_orders_wait_on_disk)
{
    enum { ROWS = 6000, BYTES = 1000 };
    struct mongo_face f;
    char pad[BYTES + 1];

    memset(pad, 'x', BYTES);
    pad[BYTES] = 0;
    mongo_face_open(&f);
    for (int i = 0; i < ROWS; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'a':'%04d%s'}]}", ROWS - i,
                             i, pad));
    struct mongo_answer answer =
        mongo_ask(&f, "{'find':'c','sort':{'a':1},'projection':{'_id':1},'batchSize':10}");
    for (int want = ROWS - 10; want > 0; want -= 1000) {
        struct mongo_answer more = get_more(&f, &answer, 1000);
        CHECK_DONE(more);
        CHECK_EQ(mongo_number(&more, "cursor.nextBatch.0._id"), want, "");
        const size_t last = want >= 1000 ? 999 : (size_t)want - 1;
        char path[40];
        snprintf(path, sizeof(path), "cursor.nextBatch.%zu._id", last);
        CHECK_EQ(mongo_number(&more, path), want - (int)last, "");
    }
    mongo_face_close(&f);
}
