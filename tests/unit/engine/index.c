/* Secondary indexes: what a document has in them, in which order they give it, what they refuse. */
#include "tests/support/engine_fixture.h"

#include <stdio.h>

TEST(index, a_field_orders_documents_by_value_across_types)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "x: x; dx: -x");
        const char *values[] = { "'b'", "2", "null", "'a'", "1.5", "true", "-7", "@0", "{'a':1}" };
        for (int i = 0; i < (int)ARRAY_COUNT(values); i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'x':%s}", i, values[i]), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':9}"), OK);
        const char *order = "9 2 6 4 1 3 0 8 5 7";
        const char *backwards = "7 5 8 0 3 1 4 6 2 9";
        CHECK_SCAN(&f, "c", "x", order);
        CHECK_SCAN(&f, "c", "-x", backwards);
        CHECK_SCAN(&f, "c", "dx", backwards);
        CHECK_SCAN(&f, "c", "-dx", order);
        fixture_close(&f);
    }
}

TEST(index, compound_fields_keep_their_directions)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "ab: a -b; ba: -b a");
        const int pairs[][2] = {
            {1,  1},
            { 1, 2},
            { 2, 1},
            { 2, 2},
            { 1, 3}
        };
        for (int i = 0; i < 5; i++)
            CHECK_WRITTEN(
                fixture_insert(&f, "c", "{'_id':%d,'a':%d,'b':%d}", i, pairs[i][0], pairs[i][1]),
                OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':5,'b':9}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':6,'a':1}"), OK);
        CHECK_SCAN(&f, "c", "ab", "5 4 1 0 6 3 2");
        CHECK_SCAN(&f, "c", "-ab", "2 3 6 0 1 4 5");
        CHECK_SCAN(&f, "c", "ba", "5 4 1 3 0 2 6");
        fixture_close(&f);
    }
}

TEST(index, arrays_give_an_entry_per_distinct_element)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "t: t; n: list.n");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'t':[3,1,3],'list':[{'n':5},{'n':1}]}"),
                      OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'t':2,'list':{'n':3}}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'t':[],'list':[]}"), OK);
        CHECK_SCAN(&f, "c", "t", "3 1 2 1");
        CHECK_SCAN(&f, "c", "n", "3 1 2 1");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1,'t':[1,4]}"), OK);
        CHECK_SCAN(&f, "c", "t", "3 1 2 1");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1,'t':9}"), OK);
        CHECK_SCAN(&f, "c", "t", "3 2 1");
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':1}"), OK);
        CHECK_SCAN(&f, "c", "t", "3 2");
        fixture_close(&f);
    }
}

TEST(index, two_arrays_side_by_side_are_refused_and_named)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "pair: a b");
        const struct written refused = fixture_insert(&f, "c", "{'_id':1,'a':[1,2],'b':[3,4]}");
        CHECK_WRITTEN(refused, INVALID);
        CHECK_THAT(strstr(refused.message, "pair") != NULL, "%s", refused.message);
        CHECK_LIVING(&f, "c", "");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'a':[1,2],'b':3}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'a':1,'b':[3,4]}"), OK);
        CHECK_SCAN(&f, "c", "pair", "2 3 3 2");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':2,'a':[1],'b':[1]}"), INVALID);
        CHECK_SCAN(&f, "c", "pair", "2 3 3 2");
        fixture_close(&f);
    }
}

TEST(index, two_paths_through_the_same_array_stay_together)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "pair: l.a l.b");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'l':[{'a':1,'b':9},{'a':2,'b':1}]}"), OK);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'l':[{'a':1,'b':5},{'a':2,'b':5}]}"), OK);
    CHECK_SCAN(&f, "c", "pair", "2 1 1 2");
    fixture_close(&f);
}

TEST(index, sparse_leaves_out_documents_without_any_of_its_fields)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "s: a b sparse; full: a b");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'a':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'b':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':4,'a':null}"), OK);
        CHECK_SCAN(&f, "c", "s", "3 4 2");
        CHECK_SCAN(&f, "c", "full", "1 3 4 2");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':2}"), OK);
        CHECK_SCAN(&f, "c", "s", "3 4");
        CHECK_LIVING(&f, "c", "1 2 3 4");
        fixture_close(&f);
    }
}

TEST(index, missing_sorts_apart_from_null_unless_the_index_says_otherwise)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF,
                       "apart: x; same: x missing=null; u: u unique missing=null");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'x':null,'u':1}"), OK);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':2}"), OK);
    CHECK_SCAN(&f, "c", "apart", "2 1");
    CHECK_SCAN(&f, "c", "same", "1 2");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3}"), OK);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':4,'u':null}"), DUPLICATE_KEY);
    fixture_close(&f);
}

TEST(index, partial_holds_what_its_predicate_chooses)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "p: x where=on; u: u unique where=on");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'x':3,'u':1,'on':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'x':2,'u':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'x':1,'u':1,'on':0}"), OK);
        CHECK_SCAN(&f, "c", "p", "1");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':2,'x':2,'u':1,'on':1}"), DUPLICATE_KEY);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':2,'x':2,'u':2,'on':1}"), OK);
        CHECK_SCAN(&f, "c", "p", "2 1");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1,'x':3,'u':1}"), OK);
        CHECK_SCAN(&f, "c", "p", "2");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':3,'x':1,'u':1,'on':1}"), OK);
        CHECK_SCAN(&f, "c", "p", "3 2");
        fixture_close(&f);
    }
}

TEST(index, unique_refuses_a_second_holder_and_names_the_index)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "mail: mail unique; pair: a b unique sparse");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'mail':'x'}"), OK);
        const struct written second = fixture_insert(&f, "c", "{'_id':2,'mail':'x'}");
        CHECK_WRITTEN(second, DUPLICATE_KEY);
        CHECK_THAT(strstr(second.message, "mail") != NULL, "%s", second.message);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'mail':'y','a':1,'b':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'mail':'z','a':1,'b':2}"), OK);
        const struct written third = fixture_insert(&f, "c", "{'_id':4,'mail':'w','a':1,'b':2}");
        CHECK_WRITTEN(third, DUPLICATE_KEY);
        CHECK_THAT(strstr(third.message, "pair") != NULL, "%s", third.message);
        CHECK_WRITTEN(fixture_upsert(&f, "c", "{'_id':3,'mail':'x'}"), DUPLICATE_KEY);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':3,'mail':'z','a':1,'b':2}"), OK);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':5,'mail':'x'}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':6}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':7}"), DUPLICATE_KEY);
        CHECK_LIVING(&f, "c", "2 3 5 6");
        fixture_close(&f);
    }
}

TEST(index, unique_holds_across_number_types)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "u: u unique");
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'u':5}"), OK);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':5.0}"), DUPLICATE_KEY);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':{'$numberLong':'5'}}"), DUPLICATE_KEY);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':{'$numberDecimal':'5.0'}}"), DUPLICATE_KEY);
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'u':'5'}"), OK);
    fixture_close(&f);
}

TEST(index, unique_elements_clash_between_documents_but_not_within_one)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "t: t unique sparse");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'t':[1,1,2]}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'t':[3,2]}"), DUPLICATE_KEY);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'t':[3,4]}"), OK);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1,'t':[2]}"), OK);
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':2,'t':[3,1]}"), OK);
        CHECK_SCAN(&f, "c", "t", "2 1 2");
        fixture_close(&f);
    }
}

TEST(index, a_value_too_long_for_an_entry_is_refused)
{
    struct fixture f;
    char text[FIXTURE_TEXT_BYTES];
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF, "x: a b c");
    memset(text, 'x', sizeof(text));
    text[6000] = '\0';
    CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'a':'%s'}", text), OK);
    struct request request = fixture_begin(&f);
    struct write_op op = fixture_op(&request, "c", WRITE_INSERT, "{'_id':2}");
    struct buffer json = buffer_in(request.arena);
    bytes json_text;
    buffer_append_format(&json, "{\"_id\":2,\"a\":\"%s\",\"b\":\"%s\",\"c\":\"%s\"}", text, text,
                         text);
    CHECK_OK(buffer_finish(&json, &json_text));
    CHECK_OK(json_read(request.arena, json_text, &op.document));
    CHECK_CODE(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING), TOO_LARGE);
    fixture_end(&request);
    CHECK_LIVING(&f, "c", "1");
    fixture_close(&f);
}

/* ---- path patterns ---------------------------------------------------------------------------------- */

/* Ids of the documents whose scalar at this path has this value, as the index sees them. */
static const char *ids_at(struct fixture *f, const char *index, const char *path, const char *json)
{
    struct request request = fixture_begin(f);
    const struct collection *c = fixture_find(&request, "c");
    struct buffer prefix = buffer_in(request.arena);
    struct buffer text = buffer_in(f->arena);
    struct scan_spec spec = { .index = collection_index(c, bytes_of_text(index)),
                              .is_end_inclusive = true };
    struct scan *scan;
    struct scan_row row;
    scan_append_path_prefix(&prefix, bytes_of_text(path));
    if (json != NULL) {
        char document[256];
        struct value value;
        snprintf(document, sizeof(document), "{'v':%s}", json);
        CHECK(document_find(fixture_document(request.arena, document), "v", &value));
        key_append_value(&prefix, value, KEY_ASCENDING);
    }
    CHECK_OK(buffer_finish(&prefix, &spec.start));
    spec.end = spec.start;
    CHECK_OK(scan_open(&request, c, &spec, &scan));
    while (scan_next(scan, &row)) {
        struct document document;
        CHECK_OK(scan_document(scan, &document));
        buffer_append_format(&text, "%s%d", text.len > 0 ? " " : "", fixture_id_of(document.bson));
        document_release(&request, &document);
    }
    CHECK_OK(scan_status(scan));
    scan_close(scan);
    fixture_end(&request);
    buffer_append_byte(&text, 0);
    return (const char *)text.data;
}

TEST(index, path_patterns_index_every_scalar_below_them)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "all: paths +/*");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':1,'a':5,'in':{'b':'x'},'l':[1,2]}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':2,'a':3,'in':{'b':'y','c':null}}"), OK);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':3,'a':{'a':5},'l':[{'n':1}]}"), OK);
        CHECK_STRING(ids_at(&f, "all", "/a", "5"), "1");
        CHECK_STRING(ids_at(&f, "all", "/a", NULL), "2 1");
        CHECK_STRING(ids_at(&f, "all", "/a/a", "5"), "3");
        CHECK_STRING(ids_at(&f, "all", "/in/b", NULL), "1 2");
        CHECK_STRING(ids_at(&f, "all", "/in/c", "null"), "2");
        CHECK_STRING(ids_at(&f, "all", "/l/[]", NULL), "1 1");
        CHECK_STRING(ids_at(&f, "all", "/l/[]/n", "1"), "3");
        CHECK_STRING(ids_at(&f, "all", "/none", NULL), "");
        CHECK_WRITTEN(fixture_replace(&f, "c", "{'_id':1,'a':4}"), OK);
        CHECK_STRING(ids_at(&f, "all", "/a", NULL), "2 1");
        CHECK_STRING(ids_at(&f, "all", "/a", "5"), "");
        CHECK_STRING(ids_at(&f, "all", "/in/b", NULL), "2");
        fixture_close(&f);
    }
}

TEST(index, the_longest_matching_pattern_decides)
{
    struct fixture f;
    fixture_open(&f, ON_MEMORY);
    fixture_collection(&f, "c", TTL_OFF,
                       "some: paths +/* -/secret/* +/secret/open/? -/in/b/?; few: paths +/a/? -/*");
    CHECK_WRITTEN(fixture_insert(&f, "c",
                                 "{'_id':1,'a':1,'secret':{'x':1,'open':2},"
                                 "'in':{'b':1,'bb':2}}"),
                  OK);
    CHECK_STRING(ids_at(&f, "some", "/a", "1"), "1");
    CHECK_STRING(ids_at(&f, "some", "/secret/x", "1"), "");
    CHECK_STRING(ids_at(&f, "some", "/secret/open", "2"), "1");
    CHECK_STRING(ids_at(&f, "some", "/in/b", "1"), "");
    CHECK_STRING(ids_at(&f, "some", "/in/bb", "2"), "1");
    CHECK_STRING(ids_at(&f, "few", "/a", "1"), "1");
    CHECK_STRING(ids_at(&f, "few", "/in/bb", "2"), "");
    fixture_close(&f);
}

TEST(index, b4_no_index_shows_the_dead)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct fixture f;
            fixture_open(&f, backing);
            fixture_collection(&f, "c", 10,
                               "x: x; ab: a -b; t: t; s: s sparse; p: x where=on; all: paths +/*");
            for (int i = 0; i < 20; i++)
                CHECK_WRITTEN(fixture_insert(&f, "c",
                                             "{'_id':%d,'x':1,'a':%d,'b':2,'t':[1,2,%d],'s':1,"
                                             "'on':1,'ttl':%d}",
                                             i, i % 3, i, i % 2 ? 5 : 50),
                              OK);
            fixture_at(&f, 5000);
            if (is_purged)
                fixture_purge(&f);
            const char *living = "0 2 4 6 8 10 12 14 16 18";
            CHECK_LIVING(&f, "c", living);
            CHECK_SCAN(&f, "c", "s", living);
            CHECK_SCAN(&f, "c", "p", living);
            CHECK_STRING(ids_at(&f, "all", "/s", "1"), living);
            CHECK_STRING(ids_at(&f, "all", "/ttl", "5"), "");
            fixture_close(&f);
        }
    }
}

TEST(index, a_dropped_index_leaves_nothing_behind_and_can_be_made_again)
{
    EACH_BACKING(backing)
    {
        struct fixture f;
        fixture_open(&f, backing);
        fixture_collection(&f, "c", TTL_OFF, "u: u unique; x: x");
        for (int i = 0; i < 30; i++)
            CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':%d,'u':%d,'x':%d}", i, i, i % 4), OK);
        CHECK_OK(fixture_index_drop(&f, "c", "u"));
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':30,'u':3,'x':0}"), OK);
        fixture_check(&f);
        CHECK_WRITTEN(fixture_delete(&f, "c", "{'_id':3}"), OK);
        fixture_index_built(&f, "c", "u: u unique");
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':31,'u':3,'x':0}"), DUPLICATE_KEY);
        fixture_restart(&f);
        CHECK_WRITTEN(fixture_insert(&f, "c", "{'_id':31,'u':3,'x':0}"), DUPLICATE_KEY);
        fixture_close(&f);
    }
}
