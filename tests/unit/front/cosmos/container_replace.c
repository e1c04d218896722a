/* Replacing containers: time to live on and off, what stays, what cannot change. */
#include "tests/support/cosmos_face.h"

#include "front/cosmos/container.h"

#define PATH "/dbs/db/colls/c"

static void create(struct cosmos_face *f, const char *properties)
{
    const char *body = arena_format(f->world.arena, "{'id':'c','partitionKey':{'paths':['/pk']}%s}",
                                    properties);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs/db/colls", "", body), 201);
}

static struct cosmos_answer replace(struct cosmos_face *f, const char *properties)
{
    const char *body = arena_format(f->world.arena, "{'id':'c','partitionKey':{'paths':['/pk']}%s}",
                                    properties);
    return cosmos_ask(f, "PUT " PATH, "", body);
}

static struct cosmos_answer read(struct cosmos_face *f)
{
    struct cosmos_answer answer = cosmos_ask(f, "GET " PATH, "", "");

    CHECK_ANSWER(answer, 200);
    return answer;
}

/* The id of the index behind the policy, which a rebuild changes; 0 if there is none. */
static uint32_t path_index_id(struct cosmos_face *f)
{
    struct request request;
    const struct collection *collection;

    CHECK_OK(request_begin(f->world.engine, f->world.arena, &request));
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &collection));
    const struct index *index = container_path_index(collection);
    uint32_t id = index ? index->id : 0;
    request_end(&request);
    return id;
}

static void insert(struct cosmos_face *f, int id, const char *more)
{
    CHECK_WRITTEN(world_insert(&f->world, "c", "{'_id':%d,'pk':'p'%s}", id, more), OK);
}

static bool has(struct cosmos_face *f, int id)
{
    return world_read(&f->world, "c", "{'_id':%d,'pk':'p'}", id).is_there;
}

TEST(container_replace, C_2_time_to_live_is_set_changed_and_switched_off)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, "");
    insert(&f, 1, "");
    CHECK_ANSWER(replace(&f, ",'defaultTtl':10"), 200);
    struct cosmos_answer a = read(&f);
    CHECK_TEXT(cosmos_value(&f, &a, "defaultTtl"), "10");
    world_at(&f.world, 9999);
    CHECK(has(&f, 1));
    world_at(&f.world, 10000);
    CHECK(!has(&f, 1));
    CHECK_ANSWER(replace(&f, ",'defaultTtl':-1"), 200);
    a = read(&f);
    CHECK_TEXT(cosmos_value(&f, &a, "defaultTtl"), "-1");
    CHECK_ANSWER(replace(&f, ",'defaultTtl':null"), 200);
    a = read(&f);
    CHECK_EQ(cosmos_value(&f, &a, "defaultTtl").len, 0, "null is off and not shown");
    cosmos_face_close(&f);
}

TEST(container_replace, C_2_bad_values_change_nothing)
{
    const char *const rows[] = { "0", "-2", "1.5", "'60'", "true", "2147483648", "[]" };
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, ",'defaultTtl':60");
    struct cosmos_answer before = read(&f);
    EACH_ROW(rows, r) {
        CHECK_ANSWER(replace(&f, arena_format(f.world.arena, ",'defaultTtl':%s", *r)), 400);
        struct cosmos_answer after = read(&f);
        CHECK_BYTES(after.body, before.body, *r);
    }
    cosmos_face_close(&f);
}

TEST(container_replace, C_7_off_keeps_own_ttl_fields_and_on_counts_from_the_last_write)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, ",'defaultTtl':-1");
    insert(&f, 1, ",'ttl':10");
    CHECK_ANSWER(replace(&f, ""), 200); /* off before it is due */
    world_at(&f.world, 20000);
    CHECK(has(&f, 1));
    CHECK_ANSWER(replace(&f, ",'defaultTtl':-1"), 200);
    CHECK(!has(&f, 1));
    CHECK_ANSWER(replace(&f, ""), 200);
    CHECK(!has(&f, 1)); /* B-5: what was dead stays dead */
    cosmos_face_close(&f);
}

TEST(container_replace, C_8_partial_replace_keeps_everything_else)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, ",'defaultTtl':60,"
               "'indexingPolicy':{'indexingMode':'lazy','excludedPaths':[{'path':'/a/*'}],"
               "'compositeIndexes':[[{'path':'/a'},{'path':'/b'}]]},"
               "'uniqueKeyPolicy':{'uniqueKeys':[{'paths':['/u']}]},"
               "'geospatialConfig':{'type':'Geometry'},'analyticalStorageTtl':7,"
               "'conflictResolutionPolicy':{'mode':'Custom'},"
               "'changeFeedPolicy':{'retentionDuration':5},"
               "'computedProperties':[{'name':'x','query':'SELECT VALUE 1 FROM c'}]");
    struct cosmos_answer before = read(&f);
    uint32_t index = path_index_id(&f);
    world_at(&f.world, 5000);
    CHECK_ANSWER(replace(&f, ""), 200);
    struct cosmos_answer after = read(&f);
    CHECK_EQ(cosmos_value(&f, &after, "defaultTtl").len, 0, "it is what such a replace removes");
    const char *const kept[] = {
        "indexingPolicy",           "partitionKey",         "uniqueKeyPolicy",
        "geospatialConfig",         "analyticalStorageTtl", "changeFeedPolicy",
        "conflictResolutionPolicy", "computedProperties",   "_rid"
    };
    EACH_ROW(kept, name) {
        CHECK_BYTES(cosmos_value(&f, &after, *name), cosmos_value(&f, &before, *name), *name);
        CHECK_THAT(cosmos_value(&f, &after, *name).len > 0, "%s", *name);
    }
    CHECK_EQ(path_index_id(&f), index, "nothing is built anew");
    CHECK(!bytes_equal(cosmos_header(&before, "etag"), cosmos_header(&after, "etag")));
    CHECK_TEXT(cosmos_value(&f, &after, "_ts"), "1772323205");
    cosmos_face_close(&f);
}

TEST(container_replace, what_was_read_can_be_sent_back_as_it_is)
{
    const char *const rows[] = {
        "{'id':'c'}",
        "{'id':'c','partitionKey':{'paths':['/a','/b'],'kind':'MultiHash','version':2}}",
        ("{'id':'c','partitionKey':{'paths':['/a']},'defaultTtl':5,"
         "'uniqueKeyPolicy':{'uniqueKeys':[{'paths':['/u']}]}}"),
        "{'id':'c','indexingPolicy':{'indexingMode':'none'}}",
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/db/colls", "", *r);
        CHECK_ANSWER(made, 201);
        const char *body = arena_format(f.world.arena, "%.*s", (int)made.body.len,
                                        (const char *)made.body.data);
        uint32_t index = path_index_id(&f);
        struct cosmos_answer after = cosmos_ask(&f, "PUT " PATH, "", body);
        CHECK_ANSWER(after, 200);
        CHECK_BYTES(cosmos_value(&f, &after, "indexingPolicy"),
                    cosmos_value(&f, &made, "indexingPolicy"), *r);
        CHECK_EQ(path_index_id(&f), index, "%s", *r);
        CHECK_ANSWER(cosmos_ask(&f, "DELETE " PATH, "", ""), 204);
    }
    cosmos_face_close(&f);
}

TEST(container_replace, C_9_time_to_live_and_mode_none_exclude_each_other_both_ways)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, ",'indexingPolicy':{'indexingMode':'none'}");
    struct cosmos_answer before = read(&f);
    struct cosmos_answer a = replace(&f, ",'defaultTtl':60");
    CHECK_ANSWER(a, 400);
    CHECK(cosmos_body_has(&a, "Indexing mode value cannot be 'none' when 'defaultTtl' is "
                              "specified in the collection"));
    struct cosmos_answer after = read(&f);
    CHECK_BYTES(after.body, before.body, "nothing changed");
    /* Both at once, in the order that works. */
    CHECK_ANSWER(replace(&f, ",'defaultTtl':60,'indexingPolicy':{'indexingMode':'consistent'}"),
                 200);
    CHECK(path_index_id(&f) != 0);
    before = read(&f);
    CHECK_ANSWER(replace(&f, ",'defaultTtl':60,'indexingPolicy':{'indexingMode':'none'}"), 400);
    after = read(&f);
    CHECK_BYTES(after.body, before.body, "nothing changed");
    CHECK_ANSWER(replace(&f, ",'indexingPolicy':{'indexingMode':'none'}"), 200);
    CHECK_EQ(path_index_id(&f), 0, "without time to live there may be no index");
    cosmos_face_close(&f);
}

TEST(container_replace, C_10_switching_on_in_lazy_mode_rebuilds_and_shows_how_far_it_is)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, ",'indexingPolicy':{'indexingMode':'lazy'}");
    for (int id = 1; id <= 20; id++)
        insert(&f, id, "");
    CHECK_OK(engine_build_indexes(f.world.engine));
    struct cosmos_answer a = read(&f);
    CHECK_TEXT(cosmos_header(&a, "x-ms-documentdb-collection-lazy-indexing-progress"), "100");
    uint32_t index = path_index_id(&f);
    CHECK_ANSWER(replace(&f, ",'defaultTtl':60"), 200);
    CHECK(path_index_id(&f) != index);
    a = read(&f);
    CHECK_TEXT(cosmos_header(&a, "x-ms-documentdb-collection-index-transformation-progress"), "0");
    CHECK_TEXT(cosmos_header(&a, "x-ms-documentdb-collection-lazy-indexing-progress"), "0");
    CHECK_OK(engine_build_indexes(f.world.engine));
    a = read(&f);
    CHECK_TEXT(cosmos_header(&a, "x-ms-documentdb-collection-index-transformation-progress"),
               "100");
    /* From one value to another, and off, needs no rebuild. */
    index = path_index_id(&f);
    CHECK_ANSWER(replace(&f, ",'defaultTtl':30"), 200);
    CHECK_ANSWER(replace(&f, ""), 200);
    CHECK_EQ(path_index_id(&f), index, "");
    cosmos_face_close(&f);
}

TEST(container_replace, C_10_consistent_index_does_not_notice_time_to_live)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, "");
    insert(&f, 1, "");
    uint32_t index = path_index_id(&f);
    CHECK_ANSWER(replace(&f, ",'defaultTtl':60"), 200);
    CHECK_ANSWER(replace(&f, ""), 200);
    CHECK_EQ(path_index_id(&f), index, "");
    cosmos_face_close(&f);
}

TEST(container_replace, index_is_built_anew_only_for_other_paths_or_another_mode)
{
    const struct {
        const char *policy;
        bool is_rebuilt;
    } rows[] = {
        {"{}",                                                         false},
        { "{'includedPaths':[{'path':'/*'}]}",                         false},
        { "{'automatic':false}",                                       false},
        { "{'compositeIndexes':[[{'path':'/a'},{'path':'/b'}]]}",      false},
        { "{'excludedPaths':[{'path':'/a/*'}]}",                       true },
        { "{'indexingMode':'lazy','excludedPaths':[{'path':'/a/*'}]}", true },
        { "{'indexingMode':'lazy','excludedPaths':[{'path':'/a/*'}]}", false},
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, "");
    insert(&f, 1, "");
    EACH_ROW(rows, r) {
        uint32_t before = path_index_id(&f);
        CHECK_ANSWER(replace(&f, arena_format(f.world.arena, ",'indexingPolicy':%s", r->policy)),
                     200);
        CHECK_EQ(path_index_id(&f) != before, r->is_rebuilt, "%s", r->policy);
    }
    cosmos_face_close(&f);
}

/* Ids and fields of the composite indexes: "2 +a-b; ". */
static const char *composites_of(struct cosmos_face *f)
{
    struct buffer text = buffer_in(f->world.arena);
    struct request request;
    const struct collection *collection;

    CHECK_OK(request_begin(f->world.engine, f->world.arena, &request));
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &collection));
    for (size_t i = 0; i < collection->index_count; i++) {
        const struct index *index = &collection->indexes[i];
        if (!index->definition.is_ranked)
            continue;
        buffer_append_format(&text, "%u ", (unsigned)index->id);
        for (size_t j = 0; j < index->definition.field_count; j++) {
            const struct index_field *field = &index->definition.fields[j];
            buffer_append_byte(&text, field->order == KEY_DESCENDING ? '-' : '+');
            buffer_append(&text, field->path);
        }
        buffer_append_text(&text, "; ");
    }
    buffer_append_byte(&text, 0);
    request_end(&request);
    return (const char *)text.data;
}

TEST(container_replace, composite_indexes_that_stay_are_not_built_anew)
{
    const struct {
        const char *policy, *want;
    } rows[] = {
        {"'compositeIndexes':[[{'path':'/a'},{'path':'/b','order':'descending'}]]",               "2 +a-b; "          },
        { "'compositeIndexes':[[{'path':'/c'},{'path':'/d/e'}],[{'path':'/a'},{'path':'/b',"
          "'order':'descending'}]]",                                                     "2 +a-b; 3 +c+d.e; "},
        { "'compositeIndexes':[[{'path':'/c'},{'path':'/d/e'}],[{'path':'/c'},{'path':'/d/e'}]]",
         "3 +c+d.e; "                                                                                                 },
        { "'automatic':true",                                                                     ""                  },
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, "");
    EACH_ROW(rows, r) {
        CHECK_ANSWER(replace(&f, arena_format(f.world.arena, ",'indexingPolicy':{%s}", r->policy)),
                     200);
        CHECK_STRING(composites_of(&f), r->want);
    }
    cosmos_face_close(&f);
}

TEST(container_replace, partition_key_unique_keys_and_id_never_change)
{
    const char *const rows[] = {
        "{'id':'d','partitionKey':{'paths':['/pk']}}",
        "{'partitionKey':{'paths':['/pk']}}",
        "{'id':'c','partitionKey':{'paths':['/other']}}",
        "{'id':'c','partitionKey':{'paths':['/pk'],'kind':'MultiHash'}}",
        "{'id':'c','partitionKey':{'paths':['/pk'],'version':2}}",
        "{'id':'c','uniqueKeyPolicy':{'uniqueKeys':[]}}",
        "{'id':'c','uniqueKeyPolicy':{'uniqueKeys':[{'paths':['/u']},{'paths':['/v']}]}}",
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, ",'uniqueKeyPolicy':{'uniqueKeys':[{'paths':['/u']}]}");
    struct cosmos_answer before = read(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(&f, "PUT " PATH, "", *r);
        CHECK_THAT(a.status == 400, "%s is %u: %.*s", *r, a.status, (int)a.body.len,
                   (const char *)a.body.data);
        struct cosmos_answer after = read(&f);
        CHECK_BYTES(after.body, before.body, *r);
    }
    CHECK_ANSWER(cosmos_ask(&f, "PUT " PATH, "", "{'id':'c'}"), 200);
    CHECK_ANSWER(
        cosmos_ask(&f, "PUT " PATH, "", "{'id':'c','partitionKey':{'paths':['/pk'],'version':1}}"),
        200);
    cosmos_face_close(&f);
}

TEST(container_replace, asks_for_the_version_it_was_told)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    create(&f, "");
    struct cosmos_answer a = read(&f);
    bytes etag = cosmos_header(&a, "etag");
    const char *match = arena_format(f.world.arena, "if-match: %.*s", (int)etag.len,
                                     (const char *)etag.data);
    const char *known = arena_format(f.world.arena, "if-none-match: %.*s", (int)etag.len,
                                     (const char *)etag.data);
    struct cosmos_answer same = cosmos_ask(&f, "GET " PATH, known, "");
    CHECK_ANSWER(same, 304);
    CHECK_BYTES(cosmos_header(&same, "etag"), etag, "");
    CHECK_ANSWER(cosmos_ask(&f, "PUT " PATH, match, "{'id':'c','defaultTtl':5}"), 200);
    CHECK_ANSWER(cosmos_ask(&f, "GET " PATH, known, ""), 200);
    CHECK_ANSWER(cosmos_ask(&f, "PUT " PATH, match, "{'id':'c','defaultTtl':6}"), 412);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE " PATH, match, ""), 412);
    CHECK_ANSWER(cosmos_ask(&f, "PUT " PATH, "if-match: *", "{'id':'c','defaultTtl':7}"), 200);
    a = read(&f);
    CHECK_TEXT(cosmos_value(&f, &a, "defaultTtl"), "7");
    /* Another face changes it too. */
    etag = cosmos_header(&a, "etag");
    CHECK_OK(world_set_ttl(&f.world, "c", 8));
    a = read(&f);
    CHECK(!bytes_equal(cosmos_header(&a, "etag"), etag));
    cosmos_face_close(&f);
}

TEST(container_replace, options_of_another_face_stay)
{
    struct cosmos_face f;
    struct request request;
    const struct collection *collection;
    struct value value;

    cosmos_face_open(&f);
    world_collection(&f.world, "c", TTL_OFF, "");
    CHECK_OK(collection_set_options(f.world.engine, f.world.arena, BYTES_LITERAL("db"),
                                    BYTES_LITERAL("c"),
                                    world_document(f.world.arena, "{'theirs':{'capped':true}}")));
    CHECK_ANSWER(cosmos_ask(&f, "PUT " PATH, "", "{'id':'c','defaultTtl':5}"), 200);
    CHECK_ANSWER(cosmos_ask(&f, "PUT " PATH, "", "{'id':'c'}"), 200);
    CHECK_OK(request_begin(f.world.engine, f.world.arena, &request));
    CHECK_OK(catalog_find(&request, BYTES_LITERAL("db"), BYTES_LITERAL("c"), &collection));
    CHECK(document_find(collection->definition.options, "theirs", &value));
    CHECK(document_find(value_document(value), "capped", &value));
    CHECK(document_find(collection->definition.options, "cosmos", &value));
    request_end(&request);
    cosmos_face_close(&f);
}

TEST(container_replace, vector_indexes_fit_their_embeddings_and_never_change)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer a =
        cosmos_ask(&f, "POST /dbs/db/colls", "",
                   "{'id':'c','indexingPolicy':{'vectorIndexes':[{'path':'/v1','type':'flat'}]}}");
    CHECK_ANSWER(a, 400);
    CHECK(cosmos_body_has(&a, "Vector Indexing Policy's path::\\\\/v1 not matching"));
    create(&f, ",'vectorEmbeddingPolicy':{'vectorEmbeddings':[{'path':'/v1'}]},"
               "'indexingPolicy':{'vectorIndexes':[{'path':'/v1','type':'flat'}]}");
    a = replace(&f, ",'indexingPolicy':{'vectorIndexes':[{'path':'/v1','type':'quantizedFlat'}]}");
    CHECK_ANSWER(a, 400);
    CHECK(cosmos_body_has(&a, "Vector Indexing Policy cannot be changed in Collection Replace"));
    cosmos_face_close(&f);
}

/* Whatever call of the storage fails, a replace is done as a whole or not at all. */
TEST(container_replace, replace_that_fails_half_way_changes_nothing)
{
    bool is_through = false;
    unsigned failures = 0;

    for (uint64_t nth = 1; !is_through; nth++) {
        struct cosmos_face f;
        CHECK(nth < 1000);
        cosmos_face_open(&f);
        create(&f, "");
        insert(&f, 1, "");
        struct cosmos_answer before = read(&f);
        storage_faulty_arm(f.world.storage, nth);
        struct cosmos_answer a =
            replace(&f, ",'defaultTtl':9,'indexingPolicy':{'excludedPaths':[{'path':'/a/*'}]}");
        is_through = storage_faulty_calls(f.world.storage) < nth;
        storage_faulty_heal(f.world.storage);
        if (a.status != 200)
            CHECK_THAT(a.status >= 500 && a.body.len > 0, "%u", a.status);
        failures += a.status != 200;
        cosmos_face_restart(&f);
        struct cosmos_answer after = read(&f);
        CHECK_BYTES(after.body, a.status == 200 ? a.body : before.body, "all or nothing");
        cosmos_face_close(&f);
    }
    CHECK(failures > 0);
}
