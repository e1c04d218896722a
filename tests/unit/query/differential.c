/* Differential: random conditions over random documents, answered three ways that must agree: by a
 * collection whose every path is indexed, by one that has no index, and by a naive judge written here,
 * which knows nothing of plans, keys or trees. */
#include "tests/support/ask.h"

#include <stdio.h>
#include <stdlib.h>

enum { DOCUMENTS = 60, FIELDS = 3, ROUNDS = 60, TEXT_BYTES = 4096 };

/* ---- naive values ------------------------------------------------------------------------------------ */

enum naive_kind { N_MISSING, N_NULL, N_BOOL, N_NUMBER, N_STRING, N_ARRAY, N_OBJECT };

struct naive {
    enum naive_kind kind;
    double number; /* also of a bool */
    char text[8];
};

struct subject {
    int id;
    bool is_dead;
    struct naive fields[FIELDS]; /* f0, f1, and o.f2 */
};

static const char *const paths[FIELDS] = { "c.f0", "c.f1", "c.o.f2" };

static struct naive random_naive(struct random *random)
{
    static const char *const texts[] = { "", "a", "ab", "abc", "b", "B", "a\xc3\xa9" };
    struct naive v = { .kind = (enum naive_kind)random_below(random, N_OBJECT + 1) };

    if (random_below(random, 2) == 0)
        v.kind = random_below(random, 2) ? N_NUMBER : N_STRING;
    if (v.kind == N_BOOL)
        v.number = (double)random_below(random, 2);
    if (v.kind == N_NUMBER)
        v.number = (double)random_below(random, 14) / 2 - 3;
    if (v.kind == N_STRING)
        snprintf(v.text, sizeof(v.text), "%s", texts[random_below(random, ARRAY_COUNT(texts))]);
    return v;
}

/* As JSON with ', which is SQL too. */
static const char *show(const struct naive *v, char *out, size_t room)
{
    switch (v->kind) {
    case N_MISSING:
        snprintf(out, room, "undefined");
        break;
    case N_NULL:
        snprintf(out, room, "null");
        break;
    case N_BOOL:
        snprintf(out, room, "%s", v->number != 0 ? "true" : "false");
        break;
    case N_NUMBER:
        snprintf(out, room, "%g", v->number);
        break;
    case N_STRING:
        snprintf(out, room, "'%s'", v->text);
        break;
    case N_ARRAY:
        snprintf(out, room, "[1,'a']");
        break;
    case N_OBJECT:
        snprintf(out, room, "{'k':1}");
        break;
    }
    return out;
}

/* ---- naive logic ------------------------------------------------------------------------------------- */

enum truth { NO, YES, UNKNOWN };

static int naive_compare(const struct naive *a, const struct naive *b)
{
    if (a->kind == N_STRING)
        return strcmp(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

static enum truth naive_equal(const struct naive *a, const struct naive *b)
{
    if (a->kind == N_MISSING || b->kind == N_MISSING)
        return UNKNOWN;
    return a->kind == b->kind && naive_compare(a, b) == 0 ? YES : NO;
}

/* `op` is one of = ! < l (<=) > g (>=). */
static enum truth naive_test(const struct naive *a, char op, const struct naive *b)
{
    if (op == '=')
        return naive_equal(a, b);
    if (op == '!')
        return naive_equal(a, b) == UNKNOWN ? UNKNOWN : naive_equal(a, b) == YES ? NO : YES;
    if (a->kind != b->kind || a->kind == N_MISSING || a->kind == N_ARRAY || a->kind == N_OBJECT)
        return UNKNOWN;
    int order = naive_compare(a, b);
    bool is_true = op == '<'   ? order < 0
                   : op == 'l' ? order <= 0
                   : op == '>' ? order > 0
                               : order >= 0;
    return is_true ? YES : NO;
}

/* ---- conditions: text, and what each document makes of it ---------------------------------------------- */

struct condition {
    char text[TEXT_BYTES];
    enum truth truths[DOCUMENTS];
};

struct field_test {
    struct random *random;
    const struct subject *subjects;
    size_t field;
    struct condition *out;
};

static void make_comparison(struct field_test *t)
{
    static const char codes[] = "=!<l>g";
    static const char *const signs[] = { "=", "!=", "<", "<=", ">", ">=" };
    size_t which = random_below(t->random, 6);
    struct naive literal = random_naive(t->random);
    bool is_swapped = which < 2 && random_below(t->random, 3) == 0;
    char shown[32];

    show(&literal, shown, sizeof(shown));
    snprintf(t->out->text, TEXT_BYTES, "%s %s %s", is_swapped ? shown : paths[t->field],
             signs[which], is_swapped ? paths[t->field] : shown);
    for (size_t i = 0; i < DOCUMENTS; i++)
        t->out->truths[i] = naive_test(&t->subjects[i].fields[t->field], codes[which], &literal);
}

static void make_in(struct field_test *t)
{
    struct naive items[4];
    size_t count = 1 + random_below(t->random, 4);
    int len = snprintf(t->out->text, TEXT_BYTES, "%s IN (", paths[t->field]);
    char shown[32];

    for (size_t i = 0; i < count; i++) {
        items[i] = random_naive(t->random);
        len += snprintf(t->out->text + len, TEXT_BYTES - (size_t)len, "%s%s", i ? "," : "",
                        show(&items[i], shown, sizeof(shown)));
    }
    snprintf(t->out->text + len, TEXT_BYTES - (size_t)len, ")");
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const struct naive *value = &t->subjects[i].fields[t->field];
        t->out->truths[i] = value->kind == N_MISSING ? UNKNOWN : NO;
        for (size_t j = 0; j < count && value->kind != N_MISSING; j++) {
            if (naive_equal(value, &items[j]) == YES)
                t->out->truths[i] = YES;
        }
    }
}

static void make_kind(struct field_test *t)
{
    static const struct {
        const char *name;
        enum naive_kind kind;
    } tests[] = {
        {"IS_NULL",    N_NULL  },
        { "IS_BOOL",   N_BOOL  },
        { "IS_NUMBER", N_NUMBER},
        { "IS_STRING", N_STRING},
        { "IS_ARRAY",  N_ARRAY },
        { "IS_OBJECT", N_OBJECT},
    };
    size_t which = random_below(t->random, ARRAY_COUNT(tests));

    snprintf(t->out->text, TEXT_BYTES, "%s(%s)", tests[which].name, paths[t->field]);
    for (size_t i = 0; i < DOCUMENTS; i++)
        t->out->truths[i] = t->subjects[i].fields[t->field].kind == tests[which].kind ? YES : NO;
}

static void make_prefix(struct field_test *t)
{
    static const char *const prefixes[] = { "", "a", "ab", "B", "a\xc3" };
    const char *prefix = prefixes[random_below(t->random, 4)];
    bool is_like = random_below(t->random, 2) == 0;

    snprintf(t->out->text, TEXT_BYTES, is_like ? "%s LIKE '%s%%'" : "STARTSWITH(%s, '%s')",
             paths[t->field], prefix);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const struct naive *value = &t->subjects[i].fields[t->field];
        bool is_true = strncmp(value->text, prefix, strlen(prefix)) == 0;
        t->out->truths[i] = value->kind != N_STRING ? UNKNOWN : is_true ? YES : NO;
    }
}

static void make_bare(struct field_test *t)
{
    snprintf(t->out->text, TEXT_BYTES, "%s", paths[t->field]);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        const struct naive *value = &t->subjects[i].fields[t->field];
        t->out->truths[i] = value->kind != N_BOOL ? UNKNOWN : value->number != 0 ? YES : NO;
    }
}

static enum truth junction(enum truth a, enum truth b, enum truth decisive)
{
    if (a == decisive || b == decisive)
        return decisive;
    return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : decisive == YES ? NO : YES;
}

static void make_condition(struct random *random, const struct subject *subjects, int depth,
                           struct condition *out)
{
    static void (*const leaves[])(
        struct field_test *) = { make_comparison, make_comparison, make_comparison, make_in,
                                 make_kind,       make_prefix,     make_bare };
    struct field_test test = { random, subjects, random_below(random, FIELDS), out };
    size_t what = depth > 0 ? random_below(random, 8) : 7;

    if (what > 5) {
        leaves[random_below(random, ARRAY_COUNT(leaves))](&test);
        return;
    }
    struct condition *parts = calloc(2, sizeof(*parts));
    make_condition(random, subjects, depth - 1, &parts[0]);
    if (what == 5) {
        snprintf(out->text, TEXT_BYTES, "NOT (%.2000s)", parts[0].text);
        for (size_t i = 0; i < DOCUMENTS; i++)
            out->truths[i] = parts[0].truths[i] == UNKNOWN ? UNKNOWN
                             : parts[0].truths[i] == YES   ? NO
                                                           : YES;
    } else {
        bool is_and = what < 3;
        make_condition(random, subjects, depth - 1, &parts[1]);
        snprintf(out->text, TEXT_BYTES, "(%.1900s %s %.1900s)", parts[0].text,
                 is_and ? "AND" : "OR", parts[1].text);
        for (size_t i = 0; i < DOCUMENTS; i++)
            out->truths[i] = junction(parts[0].truths[i], parts[1].truths[i], is_and ? NO : YES);
    }
    free(parts);
}

/* ---- collections --------------------------------------------------------------------------------------- */

static void make_subjects(struct random *random, struct subject *subjects)
{
    for (int i = 0; i < DOCUMENTS; i++) {
        subjects[i] = (struct subject){ .id = i, .is_dead = random_below(random, 6) == 0 };
        for (size_t f = 0; f < FIELDS; f++)
            subjects[i].fields[f] = random_naive(random);
    }
}

static void append_field(char *text, const char *name, const struct naive *value)
{
    char shown[32];
    size_t len = strlen(text);

    if (value->kind != N_MISSING)
        snprintf(text + len, TEXT_BYTES - len, ",'%s':%s", name, show(value, shown, sizeof(shown)));
}

static void insert_subject(struct world *w, const char *collection, const struct subject *s)
{
    char text[TEXT_BYTES];
    char shown[32];

    snprintf(text, sizeof(text), "{'_id':%d,'pk':'p%d'%s", s->id, s->id % 3,
             s->is_dead ? ",'ttl':5" : "");
    append_field(text, "f0", &s->fields[0]);
    append_field(text, "f1", &s->fields[1]);
    if (s->fields[2].kind == N_MISSING)
        strncat(text, ",'o':{'g':1}}", sizeof(text) - strlen(text) - 1);
    else
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ",'o':{'f2':%s}}",
                 show(&s->fields[2], shown, sizeof(shown)));
    CHECK_WRITTEN(world_insert(w, collection, "%s", text), OK);
}

/* ---- the comparison -------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The ids of an answer, sorted unless the order counts. */
static size_t ids_of(const char *answer, bool is_ordered, int *out)
{
    size_t count = 0;

    for (const char *at = answer + 1; *at && *at != ']';) {
        char *end;
        out[count++] = (int)strtol(at, &end, 10);
        CHECK_THAT(end != at && count <= DOCUMENTS, "answer %s", answer);
        at = *end == ',' ? end + 1 : end;
    }
    if (!is_ordered)
        qsort(out, count, sizeof(*out), compare_numbers);
    return count;
}

static void check_ids(const struct condition *condition, const struct subject *subjects,
                      const char *partition, const char *answer, const char *who)
{
    int ids[DOCUMENTS + 1];
    size_t count, at = 0;

    CHECK_THAT(answer[0] == '[', "%s: %s: %s", who, condition->text, answer);
    count = ids_of(answer, false, ids);
    for (int i = 0; i < DOCUMENTS; i++) {
        bool is_in = !partition || i % 3 == 1;
        if (condition->truths[i] != YES || subjects[i].is_dead || !is_in)
            continue;
        CHECK_THAT(at < count && ids[at] == i, "%s: %s: document %d is missing in %s", who,
                   condition->text, i, answer);
        at++;
    }
    CHECK_THAT(at == count, "%s: %s: too many in %s", who, condition->text, answer);
}

static int kind_rank(const struct naive *v)
{
    return (int)v->kind;
}

/* Counts take shorter ways than rows do. */
static void check_count(const struct condition *condition, const struct subject *subjects,
                        const char *partition, const char *answer, const char *who)
{
    int want = 0;

    for (int i = 0; i < DOCUMENTS; i++)
        want += condition->truths[i] == YES && !subjects[i].is_dead && (!partition || i % 3 == 1);
    CHECK_THAT(answer[0] == '[' && strtol(answer + 1, NULL, 10) == want, "%s: %s: %s, want %d", who,
               condition->text, answer, want);
}

/* Does the answer's order agree with the field, ascending or descending? */
static void check_order(const char *text, const struct subject *subjects, size_t field,
                        bool is_descending, const char *answer)
{
    int ids[DOCUMENTS + 1];
    size_t count = ids_of(answer, true, ids);

    for (size_t i = 1; i < count; i++) {
        const struct naive *a = &subjects[ids[i - 1]].fields[field];
        const struct naive *b = &subjects[ids[i]].fields[field];
        int order = kind_rank(a) != kind_rank(b) ? kind_rank(a) - kind_rank(b)
                                                 : naive_compare(a, b);
        CHECK_THAT(is_descending ? order >= 0 : order <= 0, "%s: %d before %d in %s", text,
                   ids[i - 1], ids[i], answer);
    }
}

static void check_one(struct world *w, struct random *random, const struct subject *subjects,
                      const char *collection)
{
    struct condition *condition = calloc(1, sizeof(*condition));
    arena_position mark = arena_mark(w->arena);
    size_t field = random_below(random, FIELDS);
    bool is_descending = random_below(random, 2) == 0;
    struct asking how = { .partition = random_below(random, 3) == 0 ? "['p1']" : NULL,
                          .items = 1 + random_below(random, 20),
                          .rows = random_below(random, 3) == 0 ? 1 + random_below(random, 9) : 0,
                          .is_without_ids = true };

    make_condition(random, subjects, 3, condition);
    const char *sql = arena_format(w->arena, "SELECT VALUE c._id FROM c WHERE %s", condition->text);
    check_ids(condition, subjects, how.partition, ask(w, collection, sql, &how, NULL), collection);
    const char *count = arena_format(w->arena, "SELECT VALUE COUNT(1) FROM c WHERE %s",
                                     condition->text);
    check_count(condition, subjects, how.partition, ask(w, collection, count, &how, NULL),
                collection);
    sql = arena_format(w->arena, "%s ORDER BY %s%s", sql, paths[field],
                       is_descending ? " DESC" : "");
    const char *answer = ask(w, collection, sql, &how, NULL);
    check_ids(condition, subjects, how.partition, answer, collection);
    check_order(sql, subjects, field, is_descending, answer);
    arena_release(w->arena, mark);
    free(condition);
}

static void check_world(enum backing backing, uint64_t seed, size_t rounds)
{
    struct subject *subjects = calloc(DOCUMENTS, sizeof(*subjects));
    struct random random = random_seeded(seed);
    struct world w;

    world_open(&w, backing);
    world_collection_parted(&w, "indexed", TTL_NEVER, "all: paths shaped +/*", "pk");
    world_collection_parted(&w, "partly", TTL_NEVER, "some: paths +/f0/? +/o/*", "pk");
    world_collection_parted(&w, "plain", TTL_NEVER, "", "pk");
    make_subjects(&random, subjects);
    for (int i = 0; i < DOCUMENTS; i++) {
        insert_subject(&w, "indexed", &subjects[i]);
        insert_subject(&w, "partly", &subjects[i]);
        insert_subject(&w, "plain", &subjects[i]);
    }
    world_pass(&w, 5000);
    for (size_t i = 0; i < rounds; i++) {
        check_one(&w, &random, subjects, "indexed");
        check_one(&w, &random, subjects, "partly");
        check_one(&w, &random, subjects, "plain");
    }
    world_close(&w);
    free(subjects);
}

TEST(query_differential, index_scan_and_naive_judge_agree_on_memory)
{
    EACH_SEED(seed, 12)
        check_world(ON_MEMORY, seed, ROUNDS);
}

TEST(query_differential, index_scan_and_naive_judge_agree_on_rocksdb)
{
    EACH_SEED(seed, 2)
        check_world(ON_ROCKSDB, seed + 100, ROUNDS / 2);
}
