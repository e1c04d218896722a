/* Inserts of many documents, which go to the disk in lots: in order nothing is behind a failure, without an order
 * everything else is there, wherever in the command the failure lies. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

enum { MANY = 2200 };

/* Numbers at both sides of where one lot, or one stretch of lots, ends and the next begins. */
static const int places[] = { 0,    1,    259,  260,  261,  499,  500,  999,
                              1000, 1001, 1259, 1260, 1261, 1500, 2000, MANY - 1 };

/* A command whose documents have the ids 0, 1, 2 ...; the one at `odd` is as given (-1: none is). */
static const char *insert_text(struct mongo_face *f, const char *more, int odd, const char *odd_one)
{
    struct buffer text = buffer_in(f->world.arena);

    buffer_append_format(&text, "{'insert':'c',%s'documents':[", more);
    for (int i = 0; i < MANY; i++) {
        buffer_append_text(&text, i ? "," : "");
        if (i == odd)
            buffer_append_text(&text, odd_one);
        else
            buffer_append_format(&text, "{'_id':%d}", i);
    }
    buffer_append_text(&text, "]}");
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

static int64_t count_of(struct mongo_face *f, const char *filter)
{
    const struct mongo_answer answer = mongo_ask(f, "{'count':'c','query':%s}", filter);

    CHECK_DONE(answer);
    return mongo_number(&answer, "n");
}

static void empty(struct mongo_face *f)
{
    CHECK_DONE(mongo_ask(f, "{'delete':'c','deletes':[{'q':{},'limit':0}]}"));
}

TEST(mongo_insert_many, in_order_nothing_is_behind_the_first_that_is_there_already)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        const int at = places[i];
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'old':1}]}", at));
        const struct mongo_answer answer = mongo_ask(&f, "%s", insert_text(&f, "", -1, ""));
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "n"), at, "");
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.index"), at, "");
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.code"), ERROR_DuplicateKey, "");
        CHECK_STRING(mongo_text(&f, &answer, "writeErrors.1"), "");
        CHECK_EQ(count_of(&f, "{}"), at + 1, "%d", at);
        CHECK_EQ(count_of(&f, "{'old':1}"), 1, "%d", at);
        empty(&f);
    }
    mongo_face_close(&f);
}

TEST(mongo_insert_many, without_an_order_only_those_that_are_there_already_are_refused)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (size_t i = 0; i < ARRAY_COUNT(places); i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'old':1}]}", places[i]));
    const struct mongo_answer answer = mongo_ask(
        &f, "%s", insert_text(&f, "'ordered':false,'lsid':" LSID("M") ",'txnNumber':1,", -1, ""));
    CHECK_DONE(answer);
    CHECK_EQ(mongo_number(&answer, "n"), MANY - (int)ARRAY_COUNT(places), "");
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        char path[64];
        snprintf(path, sizeof(path), "writeErrors.%zu.index", i);
        CHECK_EQ(mongo_number(&answer, path), places[i], "");
    }
    CHECK_EQ(count_of(&f, "{}"), MANY, "");
    mongo_face_close(&f);
}

TEST(mongo_insert_many, an_id_that_comes_twice_is_refused_wherever_its_twin_lies)
{
    static const struct {
        int twin, at;
    } rows[] = {
        {3,     4   },
        { 3,    259 },
        { 259,  260 },
        { 3,    499 },
        { 3,    500 },
        { 499,  500 },
        { 700,  999 },
        { 3,    1000},
        { 999,  1000},
        { 1259, 1260},
        { 1400, 1600}
    };
    struct mongo_face f;

    mongo_face_open(&f);
    EACH_ROW(rows, r) {
        char odd[32];
        snprintf(odd, sizeof(odd), "{'_id':%d}", r->twin);
        const struct mongo_answer answer = mongo_ask(&f, "%s", insert_text(&f, "", r->at, odd));
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "n"), r->at, "");
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.index"), r->at, "");
        CHECK_EQ(count_of(&f, "{}"), r->at, "");
        empty(&f);
    }
    mongo_face_close(&f);
}

TEST(mongo_insert_many, what_cannot_be_stored_ends_an_insert_in_order)
{
    struct mongo_face f;

    mongo_face_open(&f);
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        const int at = places[i];
        const struct mongo_answer answer = mongo_ask(&f, "%s",
                                                     insert_text(&f, "", at, "{'_id':[1]}"));
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "n"), at, "");
        CHECK_EQ(mongo_number(&answer, "writeErrors.0.index"), at, "");
        CHECK_EQ(count_of(&f, "{}"), at, "");
        empty(&f);
    }
    mongo_face_close(&f);
}

TEST(mongo_insert_many, sent_again_it_is_answered_again_and_nothing_is_written)
{
    struct mongo_face f;

    mongo_face_open(&f);
    const char *text = insert_text(&f, "'lsid':" LSID("M") ",'txnNumber':7,", -1, "");
    for (int i = 0; i < 3; i++) {
        const struct mongo_answer answer = mongo_ask(&f, "%s", text);
        CHECK_DONE(answer);
        CHECK_EQ(mongo_number(&answer, "n"), MANY, "");
        CHECK_EQ(count_of(&f, "{}"), MANY, "");
        if (i == 1)
            mongo_face_crash(&f);
    }
    mongo_face_close(&f);
}

/* Fails the n-th call of the storage, and tells whether there was one: what is there afterwards is what stood first in the
 * command. */
static bool fails_at(uint64_t n)
{
    struct mongo_face f;
    char below[64];

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'}"));
    const char *text = insert_text(&f, "", -1, "");
    storage_faulty_arm(f.world.storage, n);
    const struct mongo_answer answer = mongo_ask(&f, "%s", text);
    storage_faulty_arm(f.world.storage, 0);
    const bool has_failed = answer.code != 0 || mongo_text(&f, &answer, "writeErrors.0")[0] != '\0';
    mongo_face_crash(&f);
    const int64_t count = count_of(&f, "{}");
    CHECK(has_failed || count == MANY);
    snprintf(below, sizeof(below), "{'_id':{'$lt':%lld}}", (long long)count);
    CHECK_EQ(count_of(&f, below), count, "call %d", (int)n);
    mongo_face_close(&f);
    return has_failed;
}

/* There is a lookup for each document, and a commit behind the lookups of a lot, somewhere among those of the next. */
TEST(mongo_insert_many, a_disk_that_fails_in_the_middle_leaves_no_gap)
{
    enum { FIRST_COMMIT = 501, NEAR = 30, STEP = 97 };
    uint64_t n = 1;

    for (uint64_t near = 0; near < NEAR; near++)
        CHECK(fails_at(FIRST_COMMIT + near));
    while (n < 2 * MANY && fails_at(n))
        n += STEP;
    CHECK(n > MANY && n < 2 * MANY);
}
