/* Secondary indexes: what a document has in them, in which order they give it, what they refuse. */
#include "tests/support/world.h"

#include <stdio.h>

TEST(index, a_field_orders_documents_by_value_across_types)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "x: x; dx: -x");
        const char *values[] = { "'b'", "2", "null", "'a'", "1.5", "true", "-7", "@0", "{'a':1}" };
        for (int i = 0; i < (int)ARRAY_COUNT(values); i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'x':%s}", i, values[i]), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':9}"), OK);
        const char *order = "9 2 6 4 1 3 0 8 5 7";
        const char *backwards = "7 5 8 0 3 1 4 6 2 9";
        CHECK_SCAN(&w, "c", "x", order);
        CHECK_SCAN(&w, "c", "-x", backwards);
        CHECK_SCAN(&w, "c", "dx", backwards);
        CHECK_SCAN(&w, "c", "-dx", order);
        world_close(&w);
    }
}

TEST(index, compound_fields_keep_their_directions)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "ab: a -b; ba: -b a");
        const int pairs[][2] = {
            {1,  1},
            { 1, 2},
            { 2, 1},
            { 2, 2},
            { 1, 3}
        };
        for (int i = 0; i < 5; i++)
            CHECK_WRITTEN(
                world_insert(&w, "c", "{'_id':%d,'a':%d,'b':%d}", i, pairs[i][0], pairs[i][1]), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'b':9}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6,'a':1}"), OK);
        CHECK_SCAN(&w, "c", "ab", "5 4 1 0 6 3 2");
        CHECK_SCAN(&w, "c", "-ab", "2 3 6 0 1 4 5");
        CHECK_SCAN(&w, "c", "ba", "5 4 1 3 0 2 6");
        world_close(&w);
    }
}

TEST(index, arrays_give_an_entry_per_distinct_element)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "t: t; n: list.n");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'t':[3,1,3],'list':[{'n':5},{'n':1}]}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'t':2,'list':{'n':3}}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'t':[],'list':[]}"), OK);
        CHECK_SCAN(&w, "c", "t", "3 1 2 1");
        CHECK_SCAN(&w, "c", "n", "3 1 2 1");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'t':[1,4]}"), OK);
        CHECK_SCAN(&w, "c", "t", "3 1 2 1");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'t':9}"), OK);
        CHECK_SCAN(&w, "c", "t", "3 2 1");
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
        CHECK_SCAN(&w, "c", "t", "3 2");
        world_close(&w);
    }
}

/* Does the index say that a document may have several entries? */
static bool has_many(struct request *request, const char *index)
{
    const struct collection *collection = world_find(request, "c");
    bool out = false;

    CHECK_OK(scan_has_many(request, collection, collection_index(collection, bytes_of_text(index)),
                           &out));
    return out;
}

static bool now_has_many(struct world *w, const char *index)
{
    struct request request = world_begin(w);
    const bool out = has_many(&request, index);

    world_end(&request);
    return out;
}

TEST(index, several_entries_are_known_from_the_first_array_on_and_not_before)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "t: t; n: n");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'t':2}"), OK);
        CHECK(!now_has_many(&w, "t") && !now_has_many(&w, "t"));
        struct request before = world_begin(&w);
        CHECK(!has_many(&before, "t"));
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'t':[1,2]}"), OK);
        CHECK(now_has_many(&w, "t") && !now_has_many(&w, "n"));
        CHECK(!has_many(&before, "t")); /* as it was */
        world_end(&before);
        world_restart(&w);
        CHECK(now_has_many(&w, "t") && !now_has_many(&w, "n"));
        /* Another index begins anew, and its builder tells of arrays too. */
        CHECK_OK(world_index_drop(&w, "c", "n"));
        CHECK_OK(world_index(&w, "c", "t2: t"));
        CHECK_OK(engine_build_indexes(w.engine));
        CHECK(now_has_many(&w, "t2"));
        world_close(&w);
    }
}

TEST(index, two_arrays_side_by_side_are_refused_and_named)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "pair: a b");
        const struct written refused = world_insert(&w, "c", "{'_id':1,'a':[1,2],'b':[3,4]}");
        CHECK_WRITTEN(refused, INVALID);
        CHECK_THAT(strstr(refused.message, "pair") != NULL, "%s", refused.message);
        CHECK_LIVING(&w, "c", "");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':[1,2],'b':3}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'a':1,'b':[3,4]}"), OK);
        CHECK_SCAN(&w, "c", "pair", "2 3 3 2");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'a':[1],'b':[1]}"), INVALID);
        CHECK_SCAN(&w, "c", "pair", "2 3 3 2");
        world_close(&w);
    }
}

TEST(index, two_paths_through_the_same_array_stay_together)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "pair: l.a l.b");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'l':[{'a':1,'b':9},{'a':2,'b':1}]}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'l':[{'a':1,'b':5},{'a':2,'b':5}]}"), OK);
    CHECK_SCAN(&w, "c", "pair", "2 1 1 2");
    world_close(&w);
}

TEST(index, sparse_leaves_out_documents_without_any_of_its_fields)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "s: a b sparse; full: a b");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'b':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'a':null}"), OK);
        CHECK_SCAN(&w, "c", "s", "3 4 2");
        CHECK_SCAN(&w, "c", "full", "1 3 4 2");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2}"), OK);
        CHECK_SCAN(&w, "c", "s", "3 4");
        CHECK_LIVING(&w, "c", "1 2 3 4");
        world_close(&w);
    }
}

TEST(index, missing_sorts_apart_from_null_unless_the_index_says_otherwise)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "apart: x; same: x missing=null; u: u unique missing=null");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':null,'u':1}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':2}"), OK);
    CHECK_SCAN(&w, "c", "apart", "2 1");
    CHECK_SCAN(&w, "c", "same", "1 2");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'u':null}"), DUPLICATE_KEY);
    world_close(&w);
}

TEST(index, partial_holds_what_its_predicate_chooses)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "p: x where=on; u: u unique where=on");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'x':3,'u':1,'on':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'x':2,'u':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'x':1,'u':1,'on':0}"), OK);
        CHECK_SCAN(&w, "c", "p", "1");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'x':2,'u':1,'on':1}"), DUPLICATE_KEY);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'x':2,'u':2,'on':1}"), OK);
        CHECK_SCAN(&w, "c", "p", "2 1");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'x':3,'u':1}"), OK);
        CHECK_SCAN(&w, "c", "p", "2");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'x':1,'u':1,'on':1}"), OK);
        CHECK_SCAN(&w, "c", "p", "3 2");
        world_close(&w);
    }
}

TEST(index, unique_refuses_a_second_holder_and_names_the_index)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "mail: mail unique; pair: a b unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'mail':'x'}"), OK);
        const struct written second = world_insert(&w, "c", "{'_id':2,'mail':'x'}");
        CHECK_WRITTEN(second, DUPLICATE_KEY);
        CHECK_THAT(strstr(second.message, "mail") != NULL, "%s", second.message);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'mail':'y','a':1,'b':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'mail':'z','a':1,'b':2}"), OK);
        const struct written third = world_insert(&w, "c", "{'_id':4,'mail':'w','a':1,'b':2}");
        CHECK_WRITTEN(third, DUPLICATE_KEY);
        CHECK_THAT(strstr(third.message, "pair") != NULL, "%s", third.message);
        CHECK_WRITTEN(world_upsert(&w, "c", "{'_id':3,'mail':'x'}"), DUPLICATE_KEY);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':3,'mail':'z','a':1,'b':2}"), OK);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':1}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'mail':'x'}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7}"), DUPLICATE_KEY);
        CHECK_LIVING(&w, "c", "2 3 5 6");
        world_close(&w);
    }
}

TEST(index, unique_per_partition_key_lets_another_partition_have_the_same_value)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection_parted(&w, "c", 10, "u: u unique parted", "p");
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'p':'a','u':1}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'p':'b','u':1}"), OK);
            const struct written second = world_insert(&w, "c", "{'_id':3,'p':'a','u':1}");
            CHECK_WRITTEN(second, DUPLICATE_KEY);
            CHECK_THAT(strstr(second.message, "u 1") != NULL, "%s", second.message);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':4,'p':null,'u':1,'ttl':99}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':5,'u':1,'ttl':99}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':6,'p':null,'u':1}"), DUPLICATE_KEY);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':7,'u':1}"), DUPLICATE_KEY);
            CHECK_LIVING(&w, "c", "1 2 4 5");
            world_crash(&w);
            CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'p':'b','u':1,'v':2}"), OK);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':8,'p':'b','u':1}"), DUPLICATE_KEY);
            world_at(&w, 12000);
            if (is_purged)
                world_purge(&w);
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'p':'a','u':1}"), OK);
            CHECK_LIVING(&w, "c", "3 4 5");
            world_close(&w);
        }
    }
}

TEST(index, per_partition_key_is_for_indexes_of_fields_only)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    CHECK_CODE(world_try_collection(&w, "c", TTL_OFF, "all: paths parted +/*"), INVALID);
    world_close(&w);
}

TEST(index, unique_holds_across_number_types)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "u: u unique");
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'u':5}"), OK);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':5.0}"), DUPLICATE_KEY);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':{'$numberLong':'5'}}"), DUPLICATE_KEY);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':{'$numberDecimal':'5.0'}}"), DUPLICATE_KEY);
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'u':'5'}"), OK);
    world_close(&w);
}

TEST(index, unique_elements_clash_between_documents_but_not_within_one)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "t: t unique sparse");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'t':[1,1,2]}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'t':[3,2]}"), DUPLICATE_KEY);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'t':[3,4]}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'t':[2]}"), OK);
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':2,'t':[3,1]}"), OK);
        CHECK_SCAN(&w, "c", "t", "2 1 2");
        world_close(&w);
    }
}

TEST(index, a_value_too_long_for_an_entry_is_refused)
{
    struct world w;
    char text[WORLD_TEXT_BYTES];
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "x: a b c");
    memset(text, 'x', sizeof(text));
    text[6000] = '\0';
    CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':'%s'}", text), OK);
    struct request request = world_begin(&w);
    struct write_op op = world_op(&request, "c", WRITE_INSERT, "{'_id':2}");
    struct buffer json = buffer_in(request.arena);
    bytes json_text;
    buffer_append_format(&json, "{\"_id\":2,\"a\":\"%s\",\"b\":\"%s\",\"c\":\"%s\"}", text, text,
                         text);
    CHECK_OK(buffer_finish(&json, &json_text));
    CHECK_OK(json_read(request.arena, json_text, &op.document));
    CHECK_CODE(document_write(&request, &op, 1, WRITE_ALL_OR_NOTHING), TOO_LARGE);
    world_end(&request);
    CHECK_LIVING(&w, "c", "1");
    world_close(&w);
}

/* ---- path patterns ---------------------------------------------------------------------------------- */

/* Ids of the documents whose scalar at this path has this value, as the index sees them. */
static const char *ids_at(struct world *w, const char *index, const char *path, const char *json)
{
    struct request request = world_begin(w);
    const struct collection *c = world_find(&request, "c");
    struct buffer prefix = buffer_in(request.arena);
    struct scan_spec spec = { .index = collection_index(c, bytes_of_text(index)),
                              .is_end_inclusive = true };
    scan_append_path_prefix(&prefix, bytes_of_text(path));
    if (json != NULL) {
        char document[256];
        struct value value;
        snprintf(document, sizeof(document), "{'v':%s}", json);
        CHECK(document_find(world_document(request.arena, document), "v", &value));
        key_append_value(&prefix, value, KEY_ASCENDING);
    }
    CHECK_OK(buffer_finish(&prefix, &spec.start));
    spec.end = spec.start;
    return world_scan_spec(w, &request, c, &spec, false);
}

TEST(index, path_patterns_index_every_scalar_below_them)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "all: paths +/*");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':1,'a':5,'in':{'b':'x'},'l':[1,2]}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':2,'a':3,'in':{'b':'y','c':null}}"), OK);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':3,'a':{'a':5},'l':[{'n':1}]}"), OK);
        CHECK_STRING(ids_at(&w, "all", "/a", "5"), "1");
        CHECK_STRING(ids_at(&w, "all", "/a", NULL), "2 1");
        CHECK_STRING(ids_at(&w, "all", "/a/a", "5"), "3");
        CHECK_STRING(ids_at(&w, "all", "/in/b", NULL), "1 2");
        CHECK_STRING(ids_at(&w, "all", "/in/c", "null"), "2");
        CHECK_STRING(ids_at(&w, "all", "/l/[]", NULL), "1 1");
        CHECK_STRING(ids_at(&w, "all", "/l/[]/n", "1"), "3");
        CHECK_STRING(ids_at(&w, "all", "/none", NULL), "");
        CHECK_WRITTEN(world_replace(&w, "c", "{'_id':1,'a':4}"), OK);
        CHECK_STRING(ids_at(&w, "all", "/a", NULL), "2 1");
        CHECK_STRING(ids_at(&w, "all", "/a", "5"), "");
        CHECK_STRING(ids_at(&w, "all", "/in/b", NULL), "2");
        world_close(&w);
    }
}

TEST(index, the_longest_matching_pattern_decides)
{
    struct world w;
    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF,
                     "some: paths +/* -/secret/* +/secret/open/? -/in/b/?; few: paths +/a/? -/*");
    CHECK_WRITTEN(world_insert(&w, "c",
                               "{'_id':1,'a':1,'secret':{'x':1,'open':2},"
                               "'in':{'b':1,'bb':2}}"),
                  OK);
    CHECK_STRING(ids_at(&w, "some", "/a", "1"), "1");
    CHECK_STRING(ids_at(&w, "some", "/secret/x", "1"), "");
    CHECK_STRING(ids_at(&w, "some", "/secret/open", "2"), "1");
    CHECK_STRING(ids_at(&w, "some", "/in/b", "1"), "");
    CHECK_STRING(ids_at(&w, "some", "/in/bb", "2"), "1");
    CHECK_STRING(ids_at(&w, "few", "/a", "1"), "1");
    CHECK_STRING(ids_at(&w, "few", "/in/bb", "2"), "");
    world_close(&w);
}

TEST(index, b4_no_index_shows_the_dead)
{
    EACH_BACKING(backing)
    {
        for (int is_purged = 0; is_purged < 2; is_purged++) {
            struct world w;
            world_open(&w, backing);
            world_collection(&w, "c", 10,
                             "x: x; ab: a -b; t: t; s: s sparse; p: x where=on; all: paths +/*");
            for (int i = 0; i < 20; i++)
                CHECK_WRITTEN(world_insert(&w, "c",
                                           "{'_id':%d,'x':1,'a':%d,'b':2,'t':[1,2,%d],'s':1,"
                                           "'on':1,'ttl':%d}",
                                           i, i % 3, i, i % 2 ? 5 : 50),
                              OK);
            world_at(&w, 5000);
            if (is_purged)
                world_purge(&w);
            const char *living = "0 2 4 6 8 10 12 14 16 18";
            CHECK_LIVING(&w, "c", living);
            CHECK_SCAN(&w, "c", "s", living);
            CHECK_SCAN(&w, "c", "p", living);
            CHECK_STRING(ids_at(&w, "all", "/s", "1"), living);
            CHECK_STRING(ids_at(&w, "all", "/ttl", "5"), "");
            world_close(&w);
        }
    }
}

TEST(index, a_dropped_index_leaves_nothing_behind_and_can_be_made_again)
{
    EACH_BACKING(backing)
    {
        struct world w;
        world_open(&w, backing);
        world_collection(&w, "c", TTL_OFF, "u: u unique; x: x");
        for (int i = 0; i < 30; i++)
            CHECK_WRITTEN(world_insert(&w, "c", "{'_id':%d,'u':%d,'x':%d}", i, i, i % 4), OK);
        CHECK_OK(world_index_drop(&w, "c", "u"));
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':30,'u':3,'x':0}"), OK);
        world_check(&w);
        CHECK_WRITTEN(world_delete(&w, "c", "{'_id':3}"), OK);
        world_index_built(&w, "c", "u: u unique");
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':31,'u':3,'x':0}"), DUPLICATE_KEY);
        world_restart(&w);
        CHECK_WRITTEN(world_insert(&w, "c", "{'_id':31,'u':3,'x':0}"), DUPLICATE_KEY);
        world_close(&w);
    }
}
