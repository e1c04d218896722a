/* Collation: texts by the rules of a language, as the documented settings say. */
#include "tests/check.h"
#include "tests/unit/value/samples.h"

enum { BUDGET = 16 * 1024 * 1024 };

struct fixture {
    struct arena *arena;
    struct collations *table;
};

static struct fixture open_fixture(void)
{
    struct fixture f = { .arena = arena_open(BUDGET) };

    CHECK_OK(collations_open(&f.table));
    return f;
}

static void close_fixture(struct fixture *f)
{
    collations_close(f->table);
    arena_close(f->arena);
}

static const struct collation *find(struct fixture *f, const char *json)
{
    const struct collation *found = NULL;

    CHECK_OK(collations_find(f->table, f->arena, sample_json(f->arena, json), &found));
    return found;
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static bytes key_of(struct fixture *f, const struct collation *by, struct value value)
{
    struct buffer out = buffer_in(f->arena);
    bytes key;

    key_append_value_by(&out, by, value, KEY_ASCENDING);
    CHECK_OK(buffer_finish(&out, &key));
    return key;
}

static struct value text(struct fixture *f, const char *content)
{
    return sample_text(f->arena, VALUE_STRING, bytes_of_text(content));
}

TEST(collation, settings_decide_which_texts_are_equal_and_which_comes_first)
{
    const struct {
        const char *collation, *a, *b;
        int want;
    } rows[] = {
        {"{'locale':'en','strength':1}",                                 "resume",      "R\xc3\xa9sum\xc3\xa9", 0 },
        { "{'locale':'en','strength':2}",                                "resume",      "RESUME",               0 },
        { "{'locale':'en','strength':2}",                                "resume",      "r\xc3\xa9sume",        -1},
        { "{'locale':'en'}",                                             "a",           "A",                    -1},
        { "{'locale':'en'}",                                             "A",           "b",                    -1},
        { "{'locale':'en','strength':1,'caseLevel':true}",               "e",           "\xc3\xa9",             0 },
        { "{'locale':'en','strength':1,'caseLevel':true}",               "e",           "E",                    -1},
        { "{'locale':'en','caseFirst':'upper'}",                         "A",           "a",                    -1},
        { "{'locale':'en','caseFirst':'lower'}",                         "A",           "a",                    1 },
        { "{'locale':'da'}",                                             "A",           "a",                    -1},
        { "{'locale':'en','numericOrdering':true}",                      "item2",       "item10",               -1},
        { "{'locale':'en'}",                                             "item2",       "item10",               1 },
        { "{'locale':'en','alternate':'shifted'}",                       "co op",       "coop",                 0 },
        { "{'locale':'en','alternate':'shifted'}",                       "co-op",       "coop",                 0 },
        { "{'locale':'en','alternate':'shifted','maxVariable':'space'}", "co-op",       "coop",                 -1},
        { "{'locale':'en','alternate':'shifted','maxVariable':'space'}", "co op",       "coop",                 0 },
        { "{'locale':'en','alternate':'shifted','strength':4}",          "co op",       "coop",                 -1},
        { "{'locale':'en'}",                                             "co op",       "coop",                 -1},
        { "{'locale':'fr'}",                                             "cot\xc3\xa9", "c\xc3\xb4te",          -1},
        { "{'locale':'fr','backwards':true}",                            "cot\xc3\xa9", "c\xc3\xb4te",          1 },
        { "{'locale':'fr_CA'}",                                          "cot\xc3\xa9", "c\xc3\xb4te",          1 },
        { "{'locale':'sv'}",                                             "z",           "\xc3\xa5",             -1},
        { "{'locale':'sv'}",                                             "\xc3\xa5",    "\xc3\xa4",             -1},
        { "{'locale':'sv'}",                                             "\xc3\xa4",    "\xc3\xb6",             -1},
        { "{'locale':'en'}",                                             "z",           "\xc3\xa5",             1 },
        { "{'locale':'de'}",                                             "\xc3\xa4",    "ad",                   -1},
        { "{'locale':'de@collation=phonebook'}",                         "\xc3\xa4",    "ad",                   1 },
        { "{'locale':'en','strength':5}",                                "a",           "a\xe2\x80\x8b",        -1},
        { "{'locale':'en'}",                                             "",            "a",                    -1},
        { "{'locale':'en'}",                                             "",            "",                     0 },
    };
    struct fixture f = open_fixture();

    EACH_ROW(rows, r) {
        const struct collation *by = find(&f, r->collation);
        struct value a = text(&f, r->a), b = text(&f, r->b);
        CHECK_EQ(sign(value_compare_by(by, a, b)), r->want, "%s: %s, %s", r->collation, r->a, r->b);
        CHECK_EQ(sign(bytes_compare(key_of(&f, by, a), key_of(&f, by, b))), r->want, "%s: %s, %s",
                 r->collation, r->a, r->b);
    }
    close_fixture(&f);
}

TEST(collation, strings_are_collated_however_deep_but_names_and_code_are_not)
{
    struct fixture f = open_fixture();
    const struct collation *by = find(&f, "{'locale':'en','strength':2}");
    struct value code_a = sample_text(f.arena, VALUE_CODE, BYTES_LITERAL("x"));
    struct value code_b = sample_text(f.arena, VALUE_CODE, BYTES_LITERAL("X"));
    struct value symbol = sample_text(f.arena, VALUE_SYMBOL, BYTES_LITERAL("ABC"));
    struct value a = sample_json_value(f.arena, "{'a':['x',{'b':'y'}]}");

    CHECK_EQ(value_compare_by(by, a, sample_json_value(f.arena, "{'a':['X',{'b':'Y'}]}")), 0, "");
    CHECK(value_compare_by(by, a, sample_json_value(f.arena, "{'A':['x',{'b':'y'}]}")) != 0);
    CHECK(value_compare_by(by, code_a, code_b) != 0);
    CHECK_EQ(value_compare_by(by, symbol, text(&f, "abc")), 0, "");
    CHECK(bytes_equal(key_of(&f, by, a),
                      key_of(&f, by, sample_json_value(f.arena, "{'a':['X',{'b':'Y'}]}"))));
    CHECK(!bytes_equal(key_of(&f, by, code_a), key_of(&f, by, code_b)));
    close_fixture(&f);
}

TEST(collation, a_document_is_completed_with_the_habits_of_its_locale)
{
    const struct {
        const char *asked, *want;
    } rows[] = {
        {"{'locale':'en','strength':2}",
         "{'locale':'en','caseLevel':false,'caseFirst':'off','strength':2,'numericOrdering':false,"
          "'alternate':'non-ignorable','maxVariable':'punct','normalization':false,"
          "'backwards':false,'version':'57.1'}"},
        { "{'locale':'fr_CA'}",
         "{'locale':'fr_CA','caseLevel':false,'caseFirst':'off','strength':3,'numericOrdering':"
          "false,"
          "'alternate':'non-ignorable','maxVariable':'punct','normalization':false,"
          "'backwards':true,'version':'57.1'}" },
        { "{'locale':'th','maxVariable':'space','strength':5.0,'normalization':true}",
         "{'locale':'th','caseLevel':false,'caseFirst':'off','strength':5,'numericOrdering':false,"
          "'alternate':'shifted','maxVariable':'space','normalization':true,"
          "'backwards':false,'version':'57.1'}"},
    };
    struct fixture f = open_fixture();

    EACH_ROW(rows, r) {
        const struct collation *found = find(&f, r->asked);
        struct buffer shown = buffer_in(f.arena);
        json_write(&shown, collation_document(found));
        bytes want = sample_json(f.arena, r->want);
        CHECK_EQ(document_compare(collation_document(found), want), 0, "%.*s", (int)shown.len,
                 (const char *)shown.data);
    }
    close_fixture(&f);
}

TEST(collation, the_same_order_has_the_same_pointer_however_it_is_asked_for)
{
    struct fixture f = open_fixture();
    const struct collation *plain = find(&f, "{'locale':'en'}"), *stored;

    CHECK(plain == find(&f, "{'locale':'en'}"));
    CHECK(plain == find(&f, "{'strength':3,'locale':'en','version':'57.1'}"));
    CHECK(plain != find(&f, "{'locale':'en','strength':2}"));
    CHECK(plain != find(&f, "{'locale':'en_US'}"));
    CHECK_OK(collations_find_stored(f.table, f.arena, collation_stored(plain), &stored));
    CHECK(stored == plain);
    CHECK_OK(collations_find_stored(f.table, f.arena, BYTES_NONE, &stored));
    CHECK(stored == NULL);
    close_fixture(&f);
}

TEST(collation, keys_of_other_rules_are_not_taken_for_keys_of_these)
{
    struct fixture f = open_fixture();
    bytes stored = collation_stored(find(&f, "{'locale':'en'}"));
    const struct collation *found;
    uint8_t other[1024];

    CHECK(stored.len < sizeof(other));
    memcpy(other, stored.data, stored.len);
    other[0]++;
    CHECK_CODE(collations_find_stored(f.table, f.arena, bytes_of(other, stored.len), &found),
               CORRUPT);
    CHECK_CODE(collations_find_stored(f.table, f.arena, bytes_of(other, 3), &found), CORRUPT);
    close_fixture(&f);
}

TEST(collation, what_is_no_locale_or_does_not_go_together_is_refused)
{
    const struct {
        const char *asked, *part;
    } rows[] = {
        {"{'locale':'xx'}",                                   "'locale' is invalid" },
        { "{'locale':'en_XX'}",                               "did you mean 'en'?"  },
        { "{'locale':'EN'}",                                  "did you mean 'en'?"  },
        { "{'locale':'en@collation=foo'}",                    "'locale' is invalid" },
        { "{'locale':''}",                                    "it is empty"         },
        { "{'locale':'en','backwards':true,'strength':1}",    "'backwards' is inval"},
        { "{'locale':'en','caseFirst':'upper','strength':2}", "'caseFirst' is inval"},
        { "{'locale':'da','strength':1}",                     "'caseFirst' is inval"},
    };
    struct fixture f = open_fixture();
    const struct collation *found;

    EACH_ROW(rows, r) {
        status s = collations_find(f.table, f.arena, sample_json(f.arena, r->asked), &found);
        CHECK_EQ(s.code, INVALID, "%s", r->asked);
        CHECK_THAT(s.message && strstr(s.message, r->part), "%s: %s", r->asked, s.message);
        CHECK(found == NULL);
    }
    CHECK(find(&f, "{'locale':'zh@collation=stroke'}") != NULL);
    close_fixture(&f);
}

TEST(collation, a_full_table_is_an_error_and_what_is_in_it_still_works)
{
    static const char *const locales[] = { "en", "de", "sv", "fr", "es", "it", "nl", "pl" };
    struct fixture f = open_fixture();
    const struct collation *first = find(&f, "{'locale':'en'}"), *found;
    size_t count = 1, refused = 0;

    for (size_t i = 0; i < ARRAY_COUNT(locales) * 5 * 64; i++) {
        struct buffer out = buffer_in(f.arena);
        size_t begun = document_begin(&out);
        document_append_text(&out, "locale", bytes_of_text(locales[i % ARRAY_COUNT(locales)]));
        size_t rest = i / ARRAY_COUNT(locales);
        document_append_int64(&out, "strength", 1 + (int64_t)(rest % 5));
        rest /= 5;
        document_append_bool(&out, "caseLevel", rest & 1);
        document_append_bool(&out, "numericOrdering", rest & 2);
        document_append_bool(&out, "normalization", rest & 4);
        document_append_text(&out, "alternate",
                             bytes_of_text(rest & 8 ? "shifted" : "non-ignorable"));
        document_append_text(&out, "maxVariable", bytes_of_text(rest & 16 ? "space" : "punct"));
        if (rest & 32)
            document_append_bool(&out, "backwards", false);
        document_end(&out, begun);
        status s = collations_find(f.table, f.arena, bytes_of(out.data, out.len), &found);
        count += s.code == OK;
        refused += s.code == TOO_LARGE;
    }
    /* Those that only say in another way what is there are found all the same. */
    CHECK_THAT(count >= LIMIT_COLLATIONS && refused > 0, "%zu found, %zu refused", count, refused);
    CHECK_EQ(refused + count, ARRAY_COUNT(locales) * 5 * 64 + 1, "");
    CHECK(find(&f, "{'locale':'en'}") == first);
    close_fixture(&f);
}

/* Pieces that meet each other in random texts. */
static bytes random_text(struct fixture *f, struct random *random)
{
    static const char *const pieces[] = {
        "a", "A", "b", "\xc3\xa4", "a\xcc\x88", "\xc3\x9f", "ss",
        " ", "-", "1", "10",       "\xce\xb1",  "\x01",     "\xf0\x9f\x98\x80"
    };
    struct buffer out = buffer_in(f->arena);
    size_t count = random_below(random, 6);
    bytes made;

    if (random_below(random, 50) == 0)
        count = 1200;
    for (size_t i = 0; i < count; i++)
        buffer_append_text(&out, pieces[random_below(random, ARRAY_COUNT(pieces))]);
    CHECK_OK(buffer_finish(&out, &made));
    return made;
}

TEST(collation, keys_have_the_order_of_the_texts_up_and_down)
{
    static const char *const asked[] = { "{'locale':'en','strength':1}",
                                         "{'locale':'de','strength':2,'numericOrdering':true}",
                                         "{'locale':'sv'}",
                                         "{'locale':'en','alternate':'shifted','strength':4}",
                                         "{'locale':'fr_CA','normalization':true}",
                                         "{'locale':'en','strength':5,'normalization':true}" };

    EACH_SEED(seed, 10) {
        struct fixture f = open_fixture();
        struct random random = random_seeded(seed);
        for (int i = 0; i < 200; i++) {
            const struct collation *by = find(&f, asked[random_below(&random, ARRAY_COUNT(asked))]);
            struct value a = sample_text(f.arena, VALUE_STRING, random_text(&f, &random));
            struct value b = sample_text(f.arena, VALUE_STRING, random_text(&f, &random));
            int order = sign(value_compare_by(by, a, b));
            struct buffer down_a = buffer_in(f.arena), down_b = buffer_in(f.arena);
            bytes up_a = key_of(&f, by, a), up_b = key_of(&f, by, b);
            key_append_value_by(&down_a, by, a, KEY_DESCENDING);
            key_append_value_by(&down_b, by, b, KEY_DESCENDING);
            CHECK_EQ(sign(bytes_compare(up_a, up_b)), order, "");
            CHECK_EQ(sign(bytes_compare(bytes_of(down_a.data, down_a.len),
                                        bytes_of(down_b.data, down_b.len))),
                     -order, "");
            CHECK_EQ(key_value_length(up_a, KEY_ASCENDING), up_a.len, "");
            CHECK(!memchr(up_a.data, 0, up_a.len));
        }
        close_fixture(&f);
    }
}
