/* Distinct values: by an index from value to value, or by looking at everything, they are the same. */
#include <stdlib.h>

#include "tests/support/mongo_face.h"

enum { DOCUMENTS = 300, VALUES_MAX = 64 };

static int compare_keys(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

/* The values as keys in their order. */
static const char *values_of(struct mongo_face *f, const struct mongo_answer *answer)
{
    struct arena *arena = f->world.arena;
    struct buffer text = buffer_in(arena);
    bytes keys[VALUES_MAX];
    struct value values;
    struct field field;
    size_t count = 0;

    CHECK(document_find(answer->document, "values", &values));
    struct document_walk walk = document_fields(value_document(values));
    while (document_next(&walk, &field)) {
        struct buffer key = buffer_in(arena);
        CHECK(count < VALUES_MAX);
        key_append_value(&key, field.value, KEY_ASCENDING);
        CHECK_OK(buffer_finish(&key, &keys[count++]));
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < keys[i].len; k++)
            buffer_append_format(&text, "%02x", keys[i].data[k]);
        buffer_append_byte(&text, ' ');
    }
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

static const char *any_value(struct random *random, struct arena *arena)
{
    static const char *const others[] = { "null",    "[]",
                                          "{'x':1}", "[1,[2]]",
                                          "true",    "[null]",
                                          "'a'",     "'A'",
                                          "2.0",     "{'$numberDecimal':'3'}",
                                          "[3,'b']", "{'$undefined':true}" };

    if (random_chance(random, 70))
        return arena_format(arena, "%d", (int)random_below(random, 6));
    return others[random_below(random, ARRAY_COUNT(others))];
}

/* Documents that live long or short, with one value, several, none; many of each. */
static void fill(struct mongo_face *f, struct random *random)
{
    for (int i = 0; i < DOCUMENTS; i++) {
        struct arena *arena = f->world.arena;
        const char *value = any_value(random, arena);
        if (random_chance(random, 20))
            value = arena_format(arena, "[%s,%s]", value, any_value(random, arena));
        const char *a = random_chance(random, 85) ? arena_format(arena, ",'a':%s", value) : "";
        const char *ttl = random_chance(random, 30) ? ",'ttl':5" : "";
        /* What dies has values of its own, too. */
        if (ttl[0] && random_chance(random, 30))
            a = arena_format(arena, ",'a':%d", 100 + (int)random_below(random, 5));
        CHECK_DONE(mongo_ask(f,
                             "{'insert':'d','documents':[{'_id':%d,'n':{'k':[{'v':%s},{}]}%s%s}]}",
                             i, any_value(random, arena), a, ttl));
    }
}

static void check_same(struct mongo_face *f, const char *key, const char *index)
{
    struct mongo_answer plain = mongo_ask(f, "{'distinct':'d','key':'%s','hint':{'$natural':1}}",
                                          key);
    struct mongo_answer hinted = mongo_ask(f, "{'distinct':'d','key':'%s','hint':'%s'}", key,
                                           index);
    struct mongo_answer free = mongo_ask(f, "{'distinct':'d','key':'%s'}", key);

    CHECK_DONE(plain);
    CHECK_DONE(hinted);
    CHECK_DONE(free);
    CHECK_STRING(values_of(f, &hinted), values_of(f, &plain));
    CHECK_STRING(values_of(f, &free), values_of(f, &plain));
}

static void check_random(uint64_t seed)
{
    struct random random = random_seeded(seed);
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection(&f.world, "d", TTL_NEVER, "");
    CHECK_DONE(mongo_ask(&f,
                         "{'createIndexes':'d','indexes':["
                         "{'key':{'a':%d,'n.k.v':1},'name':'a'},{'key':{'n.k.v':-1},'name':'n'}]}",
                         random_chance(&random, 50) ? 1 : -1));
    fill(&f, &random);
    for (int i = 0; i < 2; i++) {
        check_same(&f, "a", "a");
        check_same(&f, "n.k.v", "n");
        world_pass(&f.world, 5000);
    }
    mongo_face_close(&f);
}

TEST(mongo_distinct, values_are_the_same_by_an_index_and_without)
{
    EACH_SEED(seed, 6)
        check_random(seed);
}

TEST(mongo_distinct, an_index_leads_from_value_to_value_where_that_pays)
{
    static const struct {
        const char *why, *command, *stage;
        int64_t documents;
    } rows[] = {
        {"few values",       "'key':'few'",                             "DISTINCT_SCAN", 3  },
        { "a hint",          "'key':'few','hint':'few'",                "DISTINCT_SCAN", 3  },
        { "another hint",    "'key':'few','hint':'own'",                "IXSCAN",        200},
        { "no hint of it",   "'key':'few','hint':{'$natural':1}",       "COLLSCAN",      200},
        { "own values",      "'key':'own'",                             "COLLSCAN",      200},
        { "no index",        "'key':'none'",                            "COLLSCAN",      200},
        { "a filter",        "'key':'few','query':{'none':1}",          "COLLSCAN",      200},
        { "other collation", "'key':'few','collation':{'locale':'en'}", "COLLSCAN",      200},
        { "in part",         "'key':'part'",                            "COLLSCAN",      200},
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'few':1},'name':'few'},"
                             "{'key':{'own':1},'name':'own'},{'key':{'part':1},'name':'part',"
                             "'partialFilterExpression':{'few':1}}]}"));
    for (int i = 0; i < 200; i++)
        CHECK_DONE(mongo_ask(&f,
                             "{'insert':'c','documents':[{'_id':%d,'few':%d,'own':%d,'part':1,"
                             "'none':1}]}",
                             i, i % 3, i));
    EACH_ROW(rows, r) {
        struct mongo_answer answer = mongo_ask(
            &f, "{'explain':{'distinct':'c',%s},'verbosity':'executionStats'}", r->command);
        CHECK_DONE(answer);
        const char *plan = mongo_text(&f, &answer, "queryPlanner.winningPlan");
        CHECK_THAT(strstr(plan, arena_format(f.world.arena, "\"%s\"", r->stage)), "%s: %s", r->why,
                   plan);
        CHECK_EQ(mongo_number(&answer, "executionStats.totalDocsExamined"), r->documents, "%s",
                 r->why);
    }
    CHECK_FAULT(mongo_ask(&f, "{'distinct':'c','key':'few','hint':'missing'}"), ERROR_BadValue);
    CHECK_FAULT(mongo_ask(&f, "{'distinct':'gone','key':'few','query':{'$bad':1}}"),
                ERROR_BadValue);
    mongo_face_close(&f);
}

TEST(mongo_distinct, values_of_the_dead_are_not_told)
{
    struct mongo_face f;

    mongo_face_open(&f);
    world_collection(&f.world, "d", 10, "");
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'d','indexes':[{'key':{'a':1},'name':'a'}]}"));
    for (int i = 0; i < 40; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':%d,'a':%d,'ttl':%d}]}", i,
                             i % 2, i == 21 ? 100 : 10));
    world_pass(&f.world, 10000);
    struct mongo_answer answer = mongo_ask(&f, "{'distinct':'d','key':'a'}");
    CHECK_STRING(mongo_text(&f, &answer, "values"), "[1]");
    mongo_face_close(&f);
}

TEST(mongo_distinct, values_that_were_met_before_take_no_memory)
{
    enum { TIMES = 20000 };
    struct mongo_face f;

    mongo_face_open(&f);
    struct buffer list = buffer_in(f.world.arena);
    for (int i = 0; i < TIMES; i++)
        buffer_append_text(&list, i ? ",7" : "7");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':[%.*s]}]}", (int)list.len,
                         (const char *)list.data));
    struct mongo_answer answer = mongo_ask(&f, "{'distinct':'c','key':'a'}");
    CHECK_STRING(mongo_text(&f, &answer, "values"), "[7]");
    CHECK_THAT(answer.used_bytes < 10 * TIMES, "%zu bytes", (size_t)answer.used_bytes);
    mongo_face_close(&f);
}

TEST(mongo_count, a_hint_is_obeyed_or_refused)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a'}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1,'b':1},{'_id':2,'b':1}]}"));
    struct mongo_answer answer = mongo_ask(&f, "{'count':'c','query':{'b':1},'hint':'a'}");
    CHECK_EQ(mongo_number(&answer, "n"), 2, "");
    answer = mongo_ask(&f, "{'explain':{'count':'c','query':{'b':1},'hint':{'a':1}}}");
    CHECK_THAT(strstr(mongo_text(&f, &answer, "queryPlanner.winningPlan"), "IXSCAN"), "%s",
               mongo_text(&f, &answer, "queryPlanner.winningPlan"));
    CHECK_FAULT(mongo_ask(&f, "{'count':'c','hint':'missing'}"), ERROR_BadValue);
    mongo_face_close(&f);
}
