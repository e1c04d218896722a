/* Lookups for many rows at once: each row has what it would have found alone, by whatever way, dead or alive.
 *
 * Random documents with arrays in them, looked up by random fields with and without indexes, read in batches of random sizes
 * with time passing between them; each row is compared with a find for its values alone. */
#include <stdio.h>

#include "tests/support/mongo_face.h"

enum { ROWS = 40, OTHERS = 60, VALUES_MAX = 4, BATCHES_MAX = 100, LIVES_S = 3 };

struct local {
    const char *values[VALUES_MAX]; /* as text, one by one */
    size_t count;
    int least; /* what `k` of the others has to be */
    bool dies, is_given;
};

struct scene {
    struct mongo_face f;
    struct random random;
    struct local rows[ROWS];
    const char *local_field, *foreign_field;
    bool dies;
};

static const char *any_scalar(struct scene *s)
{
    static const char *const others[] = { "'p'",
                                          "'P'",
                                          "null",
                                          "true",
                                          "1.0",
                                          "{'$numberLong':'2'}",
                                          "{'x':1}",
                                          "{'$numberDecimal':'3.00'}",
                                          "{'x':1.0}",
                                          "{'$regularExpression':{'pattern':'p','options':''}}",
                                          "{'$undefined':true}" };

    if (random_chance(&s->random, 60))
        return arena_format(s->f.world.arena, "%d", (int)random_below(&s->random, 12));
    return others[random_below(&s->random, ARRAY_COUNT(others))];
}

/* ---- documents -------------------------------------------------------------------------------------- */

/* One value, several in an array, none at all, or a list of documents: the text of `field`. */
static const char *any_field(struct scene *s, const char *field, bool is_inside,
                             struct local *row_out)
{
    struct arena *arena = s->f.world.arena;
    const char *list = "";

    row_out->count = random_below(&s->random, VALUES_MAX);
    bool is_single = !is_inside && random_chance(&s->random, 50);
    if (is_single)
        row_out->count = 1;
    for (size_t i = 0; i < row_out->count; i++) {
        row_out->values[i] = any_scalar(s);
        if (is_inside && random_chance(&s->random, 15)) {
            row_out->values[i] = "null"; /* missing is */
            list = arena_format(arena, "%s%s{}", list, i ? "," : "");
        } else {
            list = arena_format(arena, is_inside ? "%s%s{'x':%s}" : "%s%s%s", list, i ? "," : "",
                                row_out->values[i]);
        }
    }
    if (is_inside && row_out->count == 0) {
        row_out->values[row_out->count++] = "null";
        return arena_format(arena, ",'%s':[]", field);
    }
    if (is_single && random_chance(&s->random, 10)) {
        row_out->values[0] = "null";
        return "";
    }
    return arena_format(arena, is_single ? ",'%s':%s" : ",'%s':[%s]", field, list);
}

static const char *any_ttl(struct scene *s, bool *dies_out)
{
    *dies_out = s->dies && random_chance(&s->random, 30);
    return *dies_out ? ",'ttl':3" : "";
}

static void fill(struct scene *s)
{
    static const char *const indexes[] = { "", "if: f missing=null",
                                           "if: f missing=null; ig: g.x missing=null",
                                           "ik: k missing=null" };
    struct mongo_face *f = &s->f;
    struct local ignored;
    bool dies;

    mongo_face_open(f);
    world_collection(&f->world, "c", TTL_NEVER, "");
    world_collection(&f->world, "d", TTL_NEVER,
                     indexes[random_below(&s->random, ARRAY_COUNT(indexes))]);
    s->dies = random_chance(&s->random, 60);
    bool is_list = random_chance(&s->random, 30), is_other_list = random_chance(&s->random, 30);
    s->local_field = is_list ? "p.x" : "l";
    s->foreign_field = is_other_list ? "g.x" : "f";
    for (int i = 0; i < ROWS; i++) {
        struct local *row = &s->rows[i];
        const char *field = any_field(s, is_list ? "p" : "l", is_list, row);
        row->least = (int)random_below(&s->random, 8);
        const char *ttl = any_ttl(s, &row->dies);
        CHECK_DONE(mongo_ask(f, "{'insert':'c','documents':[{'_id':%d,'m':%d%s%s}]}", i, row->least,
                             field, ttl));
    }
    for (int i = 0; i < OTHERS; i++) {
        const char *field = any_field(s, is_other_list ? "g" : "f", is_other_list, &ignored);
        const char *ttl = any_ttl(s, &dies);
        CHECK_DONE(mongo_ask(f, "{'insert':'d','documents':[{'_id':%d,'k':%d%s%s}]}", 100 + i,
                             (int)random_below(&s->random, 10), field, ttl));
    }
}

/* ---- comparing -------------------------------------------------------------------------------------- */

/* Stages inside of the lookup, and what they are for one row alone. */
struct way {
    const char *inside, *alone;
};

/* The ids of what belongs to the row, ascending. */
static const char *found_alone(struct scene *s, const struct local *row, const struct way *way)
{
    struct arena *arena = s->f.world.arena;
    const char *any = "{'_id':-1}", *alone = arena_format(arena, way->alone, row->least);

    for (size_t i = 0; i < row->count; i++)
        any = arena_format(arena, "%s,{'%s':{'$eq':%s}}", any, s->foreign_field,
                           strstr(row->values[i], "undefined") ? "{'$numberInt':'-7'}"
                                                               : row->values[i]);
    struct mongo_answer a =
        mongo_ask(&s->f,
                  "{'aggregate':'d','pipeline':[{'$match':{'$or':[%s]}}%s,{'$sort':{'_id':1}},"
                  "{'$group':{'_id':null,'ids':{'$push':'$_id'}}}],'cursor':{}}",
                  any, alone);
    CHECK_DONE(a);
    const char *ids = mongo_text(&s->f, &a, "cursor.firstBatch.0.ids");
    return ids[0] ? ids : "[]";
}

static size_t compare_batch(struct scene *s, const struct mongo_answer *a, const char *batch,
                            const struct way *way)
{
    char path[64];
    size_t count = 0;

    for (;; count++) {
        snprintf(path, sizeof(path), "cursor.%s.%zu._id", batch, count);
        if (mongo_text(&s->f, a, path)[0] == '\0')
            return count;
        struct local *row = &s->rows[mongo_number(a, path)];
        CHECK_THAT(!row->is_given, "%s is given twice", path);
        row->is_given = true;
        snprintf(path, sizeof(path), "cursor.%s.%zu.ids", batch, count);
        CHECK_THAT(strcmp(mongo_text(&s->f, a, path), found_alone(s, row, way)) == 0,
                   "%s is %s, alone %s (%zu values, first %s, %s = %s, %s)", path,
                   mongo_text(&s->f, a, path), found_alone(s, row, way), row->count,
                   row->count ? row->values[0] : "-", s->local_field, s->foreign_field,
                   way->inside);
        snprintf(path, sizeof(path), "cursor.%s.%zu.again", batch, count);
        CHECK_THAT(strcmp(mongo_text(&s->f, a, path), found_alone(s, row, way)) == 0,
                   "%s differs from the first lookup", path);
    }
}

static void read_all(struct scene *s, const struct way *way, const char *first, const char *after)
{
    static const char *const sorted = "{'$sortArray':{'input':'$%s._id','sortBy':1}}";
    struct arena *arena = s->f.world.arena;
    const char *lookup = arena_format(arena, "'from':'d','localField':'%s','foreignField':'%s'%s",
                                      s->local_field, s->foreign_field, way->inside);
    struct mongo_answer a = mongo_ask(
        &s->f,
        "{'aggregate':'c','pipeline':[%s{'$lookup':{%s,'as':'o'}},%s{'$lookup':{%s,'as':'q'}},"
        "{'$project':{'ids':%s,'again':%s}}],'cursor':{'batchSize':%d}}",
        first, lookup, after, lookup, arena_format(arena, sorted, "o"),
        arena_format(arena, sorted, "q"), (int)random_below(&s->random, 12));
    CHECK_DONE(a);
    compare_batch(s, &a, "firstBatch", way);
    for (int i = 0; mongo_number(&a, "cursor.id") != 0; i++) {
        CHECK(i < BATCHES_MAX);
        if (random_chance(&s->random, 30))
            world_pass(&s->f.world, 1000);
        a = mongo_ask(&s->f, "{'getMore':{'$numberLong':'%lld'},'collection':'c','batchSize':%d}",
                      (long long)mongo_number(&a, "cursor.id"),
                      1 + (int)random_below(&s->random, 20));
        CHECK_DONE(a);
        compare_batch(s, &a, "nextBatch", way);
    }
}

TEST(mongo_lookup, rows_at_once_have_what_each_would_have_alone)
{
    static const struct way ways[] = {
        {"",                                                                            ""},
        { ",'let':{'m':'$m'},'pipeline':[]",                                            ""},
        { ",'let':{'m':'$m'},'pipeline':[{'$match':{'$expr':{'$gte':['$k','$$m']}}}]",
         ",{'$match':{'k':{'$gte':%d}}}"                                                  },
        { ",'pipeline':[{'$match':{'k':{'$lt':6}}},{'$sort':{'_id':-1}},{'$limit':2}]",
         ",{'$match':{'k':{'$lt':6}}},{'$sort':{'_id':-1}},{'$limit':2}"                  },
    };
    static const char *const firsts[] = { "", "{'$sort':{'m':1}},",
                                          "{'$match':{'m':{'$gte':0}}}," };
    static const char *const afters[] = { "", "", "{'$set':{'z':1}}," };

    EACH_SEED(seed, 12) {
        struct scene s = { .random = random_seeded(seed) };
        fill(&s);
        read_all(&s, &ways[random_below(&s.random, ARRAY_COUNT(ways))],
                 firsts[random_below(&s.random, ARRAY_COUNT(firsts))],
                 afters[random_below(&s.random, ARRAY_COUNT(afters))]);
        for (int i = 0; i < ROWS; i++)
            CHECK_THAT(s.rows[i].is_given || s.rows[i].dies, "row %d is missing", i);
        mongo_face_close(&s.f);
    }
}

/* So many stages that each has about a megabyte, of which half is for what was found. */
static const char *many_stages(struct arena *arena)
{
    struct buffer text = buffer_in(arena);

    for (int i = 0; i < 900; i++)
        buffer_append_text(&text, ",{'$sort':{'_id':1}}");
    return arena_format(arena, "%.*s", (int)text.len, (const char *)text.data);
}

TEST(mongo_lookup, what_does_not_fit_at_once_is_looked_up_in_parts)
{
    enum { KINDS = 4, EACH = 4, TEXT_BYTES = 60000 };
    struct mongo_face f;
    char *text;

    mongo_face_open(&f);
    CHECK_OK(ARENA_NEW(f.world.arena, TEXT_BYTES + 1, &text));
    memset(text, 'x', TEXT_BYTES);
    for (int i = 0; i < KINDS * EACH; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':%d,'f':%d,'t':'%s'}]}", i,
                             i % KINDS, text));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'l':0},{'_id':2,'l':1},"
                             "{'_id':3,'l':[0,1,2,3]},{'_id':4,'l':2},{'_id':5,'l':3}]}"));
    struct mongo_answer a = mongo_ask(
        &f,
        "{'aggregate':'c','pipeline':[{'$lookup':{'from':'d','localField':'l','foreignField':'f',"
        "'pipeline':[{'$project':{'_id':1}},{'$sort':{'_id':1}}],'as':'o'}},{'$set':{'o':'$o._id'}}"
        ","
        "{'$unset':'l'}%s],'cursor':{}}",
        many_stages(f.world.arena));
    CHECK_DONE(a);
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"),
                 "[{\"_id\":1,\"o\":[0,4,8,12]},{\"_id\":2,\"o\":[1,5,9,13]},"
                 "{\"_id\":3,\"o\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]},"
                 "{\"_id\":4,\"o\":[2,6,10,14]},{\"_id\":5,\"o\":[3,7,11,15]}]");
    mongo_face_close(&f);
}

/* The lookup inside does not know how many rows will be asked for, and begins again for each row outside. */
TEST(mongo_lookup, a_lookup_inside_finds_for_the_hundredth_row_what_it_found_for_the_first)
{
    enum { OUTER = 100 };
    struct mongo_face f;
    char path[64];

    mongo_face_open(&f);
    for (int i = 0; i < OUTER; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'a','documents':[{'_id':%d,'x':1}]}", i));
    CHECK_DONE(mongo_ask(&f, "{'insert':'b','documents':[{'_id':1,'y':1,'p':5}]}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'q':5},{'_id':2,'q':5}]}"));
    struct mongo_answer a = mongo_ask(
        &f, "{'aggregate':'a','pipeline':[{'$lookup':{'from':'b','localField':'x',"
            "'foreignField':'y','as':'o','pipeline':[{'$lookup':{'from':'c','localField':'p',"
            "'foreignField':'q','as':'cs'}},{'$unwind':'$cs'},{'$limit':3}]}},"
            "{'$project':{'ids':'$o.cs._id'}}],'cursor':{'batchSize':1000}}");
    CHECK_DONE(a);
    for (int i = 0; i < OUTER; i++) {
        snprintf(path, sizeof(path), "cursor.firstBatch.%d.ids", i);
        CHECK_STRING(mongo_text(&f, &a, path), "[1,2]");
    }
    mongo_face_close(&f);
}

/* How many documents the command has looked at. */
static int64_t examined(struct mongo_face *f, const char *command)
{
    CHECK_DONE(mongo_ask(f, "{'profile':2}"));
    CHECK_DONE(mongo_ask(f, "%s", command));
    CHECK_DONE(mongo_ask(f, "{'profile':0}"));
    struct mongo_answer a = mongo_ask(f, "{'find':'system.profile','filter':{'ns':'db.c'},"
                                         "'sort':{'$natural':-1},'limit':1}");
    CHECK_DONE(a);
    return mongo_number(&a, "cursor.firstBatch.0.docsExamined");
}

TEST(mongo_lookup, what_is_asked_besides_a_variable_is_asked_of_an_index)
{
    enum { SIDE = 20, RARE = 4 };
    static const struct {
        const char *why, *inside;
        int64_t most;
    } rows[] = {
        {"two variables",
         "{'$match':{'$expr':{'$and':[{'$eq':['$w','$$w']},{'$eq':['$s','$$s']}]}}}",                SIDE},
        { "in two stages",
         "{'$match':{'$expr':{'$eq':['$w','$$w']}}},{'$match':{'$expr':{'$eq':['$s','$$s']}}}",      SIDE},
        { "a field of its own", "{'$match':{'t':'rare','$expr':{'$eq':['$u','$$w']}}}",              RARE},
        { "a stage of its own", "{'$match':{'t':'rare'}},{'$match':{'$expr':{'$eq':['$u','$$w']}}}",
         RARE                                                                                            },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'d','indexes':[{'key':{'w':1,'s':1},'name':'ws'},"
                             "{'key':{'t':1},'name':'t'}]}"));
    for (int i = 0; i < SIDE * SIDE; i++)
        CHECK_DONE(mongo_ask(&f,
                             "{'insert':'d','documents':[{'_id':%d,'w':%d,'s':%d,'u':%d,"
                             "'t':'%s'}]}",
                             i, i / SIDE, i % SIDE, i % SIDE, i < RARE ? "rare" : "often"));
    for (int i = 0; i < SIDE; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'w':%d,'s':3}]}", i, i));
    EACH_ROW(rows, r) {
        const char *command = arena_format(
            f.world.arena,
            "{'aggregate':'c','pipeline':[{'$lookup':{'from':'d','let':{'w':'$w','s':'$s'},"
            "'pipeline':[%s],'as':'o'}},{'$unwind':'$o'},{'$count':'n'}],'cursor':{}}",
            r->inside);
        struct mongo_answer a = mongo_ask(&f, "%s", command);
        CHECK_DONE(a);
        CHECK_EQ(mongo_number(&a, "cursor.firstBatch.0.n"), r->most, "%s", r->why);
        int64_t looked = examined(&f, command);
        CHECK_THAT(looked <= SIDE + r->most, "%s: %lld were looked at", r->why, (long long)looked);
    }
    mongo_face_close(&f);
}

TEST(mongo_lookup, a_variable_of_chance_has_one_value_in_a_row)
{
    enum { OUTER = 60 };
    struct mongo_face f;

    mongo_face_open(&f);
    for (int i = 0; i < OUTER; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d}]}", i));
    CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':1,'f':0},{'_id':2,'f':1}]}"));
    struct mongo_answer a =
        mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$lookup':{'from':'d','as':'o',"
                      "'let':{'r':{'$floor':{'$multiply':[{'$rand':{}},2]}}},"
                      "'pipeline':[{'$match':{'$expr':{'$eq':['$f','$$r']}}}]}},"
                      "{'$match':{'o':{'$size':1}}},{'$count':'n'}],'cursor':{}}");
    CHECK_DONE(a);
    CHECK_EQ(mongo_number(&a, "cursor.firstBatch.0.n"), OUTER, "");
    mongo_face_close(&f);
}

/* The second row is computed in advance, too, and fails, but the first fails before it. */
TEST(mongo_lookup, what_a_later_row_would_fail_with_is_not_told_of_an_earlier_one)
{
    enum { TEXT_BYTES = 60000 };
    static const char *const firsts[] = { "{'$match':{'_id':1}},", "" };
    static const char *const longer = "{'$concat':['$t','$t','$t','$t','$t','$t','$t','$t','$t',"
                                      "'$t','$t','$t','$t','$t','$t','$t','$t']}";
    struct mongo_answer answers[ARRAY_COUNT(firsts)];
    struct mongo_face f;
    char *text;

    mongo_face_open(&f);
    CHECK_OK(ARENA_NEW(f.world.arena, TEXT_BYTES + 1, &text));
    memset(text, 'x', TEXT_BYTES);
    CHECK_DONE(mongo_ask(
        &f, "{'insert':'c','documents':[{'_id':1,'z':1,'t':'%s'},{'_id':2,'z':0}]}", text));
    for (size_t i = 0; i < ARRAY_COUNT(firsts); i++) {
        answers[i] = mongo_ask(
            &f,
            "{'aggregate':'c','pipeline':[%s{'$set':{'t':%s}},{'$lookup':{'from':'d','as':'o',"
            "'let':{'w':{'$divide':[1,'$z']}},"
            "'pipeline':[{'$match':{'$expr':{'$eq':['$f','$$w']}}}]}},{'$lookup':{'from':'d',"
            "'as':'p','pipeline':[],'let':{'x':%s}}}],'cursor':{}}",
            firsts[i], longer, longer);
        CHECK_THAT(answers[i].message && strstr(answers[i].message, "computed value"), "%s",
                   answers[i].message ? answers[i].message : "done");
    }
    CHECK_EQ(answers[1].code, answers[0].code, "");
    mongo_face_close(&f);
}

TEST(mongo_lookup, what_was_too_much_for_all_rows_is_not_read_again_for_each)
{
    enum { KINDS = 4, EACH = 4, TEXT_BYTES = 60000, OUTER = 64 };
    struct mongo_face f;
    char *text;

    mongo_face_open(&f);
    CHECK_OK(ARENA_NEW(f.world.arena, TEXT_BYTES + 1, &text));
    memset(text, 'x', TEXT_BYTES);
    CHECK_DONE(mongo_ask(&f, "{'createIndexes':'d','indexes':[{'key':{'f':1},'name':'f'}]}"));
    for (int i = 0; i < KINDS * EACH; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'d','documents':[{'_id':%d,'f':%d,'t':'%s'}]}", i,
                             i % KINDS, text));
    for (int i = 0; i < OUTER; i++)
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':%d,'l':%d}]}", i, i % KINDS));
    int64_t looked = examined(
        &f, arena_format(f.world.arena,
                         "{'aggregate':'c','pipeline':[{'$lookup':{'from':'d','localField':'l',"
                         "'foreignField':'f','pipeline':[{'$project':{'_id':1}}],'as':'o'}}%s],"
                         "'cursor':{}}",
                         many_stages(f.world.arena)));
    CHECK_THAT(looked < 12 * OUTER, "%lld were looked at", (long long)looked);
    mongo_face_close(&f);
}
