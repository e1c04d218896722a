/* Containers: definitions, their defaults, what is refused, what a replace keeps. */
#include "tests/support/cosmos_face.h"

#include "front/cosmos/container.h"

static struct cosmos_answer create(struct cosmos_face *f, const char *body)
{
    return cosmos_ask(f, "POST /dbs/db/colls", "", body);
}

static const struct collection *collection_of(struct cosmos_face *f, struct request *request,
                                              const char *name)
{
    const struct collection *collection;

    CHECK_OK(request_begin(f->world.engine, f->world.arena, request));
    CHECK_OK(catalog_find(request, BYTES_LITERAL("db"), bytes_of_text(name), &collection));
    return collection;
}

TEST(container, minimal_definition_gets_all_defaults)
{
    /* One row behind the other reads better than columns. */
    /* clang-format off */
    const struct {
        const char *path, *want;
    } rows[] = {
        { "id", "\"c\"" },
        { "indexingPolicy",
          "{\"indexingMode\":\"consistent\",\"automatic\":true,\"includedPaths\":[{\"path\":\"/"
          "*\"}],\"excludedPaths\":[{\"path\":\"/\\\"_etag\\\"/?\"}]}" },
        { "partitionKey", "{\"paths\":[\"/pk\"],\"kind\":\"Hash\"}" },
        { "conflictResolutionPolicy.mode", "\"LastWriterWins\"" },
        { "conflictResolutionPolicy.conflictResolutionPath", "\"/_ts\"" },
        { "geospatialConfig", "{\"type\":\"Geography\"}" },
        { "defaultTtl", "" },
        { "uniqueKeyPolicy", "" },
        { "_ts", "1772323200" },
        { "_docs", "\"docs/\"" },
        { "_sprocs", "\"sprocs/\"" },
        { "_triggers", "\"triggers/\"" },
        { "_udfs", "\"udfs/\"" },
        { "_conflicts", "\"conflicts/\"" },
    };
    /* clang-format on */
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer made = create(&f, "{'id':'c','partitionKey':{'paths':['/pk']}}");
    CHECK_ANSWER(made, 201);
    EACH_ROW(rows, r)
        CHECK_TEXT(cosmos_value(&f, &made, r->path), r->want);
    struct cosmos_answer read = cosmos_ask(&f, "GET /dbs/db/colls/c", "", "");
    CHECK_ANSWER(read, 200);
    CHECK_BYTES(read.body, made.body, "");
    CHECK_TEXT(cosmos_header(&read, "x-ms-documentdb-collection-index-transformation-progress"),
               "100");
    CHECK_EQ(cosmos_header(&read, "x-ms-documentdb-collection-lazy-indexing-progress").len, 0, "");
    CHECK(bytes_equal(cosmos_header(&read, "etag"), cosmos_header(&made, "etag")));
    cosmos_face_close(&f);
}

TEST(container, definition_survives_a_restart)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(create(&f, "{'id':'c','partitionKey':{'paths':['/pk']},'defaultTtl':60}"), 201);
    struct cosmos_answer before = cosmos_ask(&f, "GET /dbs/db/colls/c", "", "");
    cosmos_face_restart(&f);
    struct cosmos_answer after = cosmos_ask(&f, "GET /dbs/db/colls/c", "", "");
    CHECK_BYTES(after.body, before.body, "");
    cosmos_face_close(&f);
}

TEST(container, what_is_given_comes_back)
{
    /* The property as it is sent, and as it is shown. */
    /* One row behind the other reads better than columns. */
    /* clang-format off */
    const struct {
        const char *property, *path, *want;
    } rows[] = {
        { "'indexingPolicy':{}", "indexingPolicy.includedPaths", "[{'path':'/*'}]" },
        { "'indexingPolicy':{'indexingMode':'Consistent'}", "indexingPolicy.indexingMode",
          "'consistent'" },
        { "'indexingPolicy':{'indexingMode':'lazy'}", "indexingPolicy.indexingMode", "'lazy'" },
        { "'indexingPolicy':{'indexingMode':'none'}", "indexingPolicy",
          "{'indexingMode':'none','automatic':false,'includedPaths':[],'excludedPaths':[]}" },
        { "'indexingPolicy':{'automatic':false}", "indexingPolicy.automatic", "false" },
        { "'indexingPolicy':{'excludedPaths':[{'path':'/a/*'}]}", "indexingPolicy.excludedPaths",
          "[{'path':'/a/*'},{'path':'/\\'_etag\\'/?'}]" },
        { "'indexingPolicy':{'excludedPaths':[{'path':'/a/*'}]}", "indexingPolicy.includedPaths",
          "[{'path':'/*'}]" },
        { "'indexingPolicy':{'excludedPaths':[{'path':'/*'}]}", "indexingPolicy.includedPaths",
          "[]" },
        { "'indexingPolicy':{'includedPaths':[{'path':'/a/b/?','indexes':[]}],"
          "'excludedPaths':[{'path':'/*'}]}", "indexingPolicy.includedPaths",
          "[{'path':'/a/b/?','indexes':[]}]" },
        { "'indexingPolicy':{'includedPaths':[{'path':'/*'},{'path':'/tags/[]/\\'a b\\'/?'}]}",
          "indexingPolicy.includedPaths.1.path", "'/tags/[]/\\'a b\\'/?'" },
        { "'indexingPolicy':{'excludedPaths':[{'path':'/\\'_etag\\'/?'}]}",
          "indexingPolicy.excludedPaths", "[{'path':'/\\'_etag\\'/?'}]" },
        { "'indexingPolicy':{'compositeIndexes':[[{'path':'/a'},{'path':'/"
          "b','order':'descending'}]]}", "indexingPolicy.compositeIndexes",
          "[[{'path':'/a'},{'path':'/b','order':'descending'}]]" },
        { "'indexingPolicy':{'spatialIndexes':[{'path':'/region/?','types':['Polygon']}]}",
          "indexingPolicy.spatialIndexes.0.types.0", "'Polygon'" },
        { "'partitionKey':{'paths':['/a'],'version':2}", "partitionKey",
          "{'paths':['/a'],'kind':'Hash','version':2}" },
        { "'partitionKey':{'paths':['/a/\\'b c\\'/d'],'kind':'Hash','version':1}", "partitionKey",
          "{'paths':['/a/\\'b c\\'/d'],'kind':'Hash','version':1}" },
        { "'partitionKey':{'paths':['/a','/b','/c'],'kind':'MultiHash'}", "partitionKey",
          "{'paths':['/a','/b','/c'],'kind':'MultiHash','version':2}" },
        { "'partitionKey':null", "partitionKey",
          "{'paths':['/_partitionKey'],'kind':'Hash','systemKey':true}" },
        { "'uniqueKeyPolicy':{'uniqueKeys':[{'paths':['/a','/b/c']}]}", "uniqueKeyPolicy",
          "{'uniqueKeys':[{'paths':['/a','/b/c']}]}" },
        { "'geospatialConfig':{'type':'Geometry'}", "geospatialConfig.type", "'Geometry'" },
        { "'conflictResolutionPolicy':{'mode':'Custom'}", "conflictResolutionPolicy",
          "{'mode':'Custom'}" },
        { "'analyticalStorageTtl':-1", "analyticalStorageTtl", "-1" },
        { "'changeFeedPolicy':{'retentionDuration':5}", "changeFeedPolicy",
          "{'retentionDuration':5}" },
        { "'computedProperties':[{'name':'x','query':'SELECT VALUE 1 FROM c'}]",
          "computedProperties.0.name", "'x'" },
        { "'vectorEmbeddingPolicy':{'vectorEmbeddings':[{'path':'/v'}]},"
          "'indexingPolicy':{'vectorIndexes':[{'path':'/v','type':'flat'}]}",
          "indexingPolicy.vectorIndexes", "[{'path':'/v','type':'flat'}]" },
        { "'fullTextPolicy':{'defaultLanguage':'en-US'}", "fullTextPolicy.defaultLanguage",
          "'en-US'" },
        { "'clientEncryptionPolicy':{'policyFormatVersion':1}", "clientEncryptionPolicy",
          "{'policyFormatVersion':1}" },
        { "'defaultTtl':null", "defaultTtl", "" },
        { "'defaultTtl':-1", "defaultTtl", "-1" },
        { "'defaultTtl':1", "defaultTtl", "1" },
        { "'defaultTtl':10.0", "defaultTtl", "10" },
        { "'defaultTtl':2147483647", "defaultTtl", "2147483647" },
        { "'somethingElse':1", "somethingElse", "" },
    };
    /* clang-format on */
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        char want[512];
        size_t len = strlen(r->want);
        CHECK(len < sizeof(want));
        for (size_t i = 0; i <= len; i++)
            want[i] = r->want[i] == '\'' ? '"' : r->want[i];
        struct cosmos_answer a = create(&f,
                                        arena_format(f.world.arena, "{'id':'c',%s}", r->property));
        CHECK_ANSWER(a, 201);
        CHECK_TEXT(cosmos_value(&f, &a, r->path), want);
        CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/db/colls/c", "", ""), 204);
    }
    cosmos_face_close(&f);
}

TEST(container, bad_definitions_are_refused_and_make_nothing)
{
    /* One row behind the other reads better than columns. */
    /* clang-format off */
    const struct {
        const char *property, *says;
    } rows[] = {
        { "'defaultTtl':0", "The input defaultTtl '0' is invalid" }, /* C-2 */
        { "'defaultTtl':-2", "The input defaultTtl '-2' is invalid" },
        { "'defaultTtl':1.5", "The input defaultTtl '1.5' is invalid" },
        { "'defaultTtl':'60'", "is invalid" },
        { "'defaultTtl':true", "The input defaultTtl 'true' is invalid" },
        { "'defaultTtl':2147483648", "'2147483648' is invalid" },
        { "'defaultTtl':1e300", "is invalid" },
        { "'defaultTtl':{}", "is invalid" },
        { "'defaultTtl':60,'indexingPolicy':{'indexingMode':'none'}",
          "Indexing mode value cannot be 'none' when 'defaultTtl' is specified" }, /* C-9 */
        { "'defaultTtl':-1,'indexingPolicy':{'indexingMode':'none'}", "cannot be 'none'" },
        { "'partitionKey':'/a'", "must be an object" },
        { "'partitionKey':{}", "must be an array" },
        { "'partitionKey':{'paths':'/id'}", "must be an array" },
        { "'partitionKey':{'paths':[]}", "has no paths" },
        { "'partitionKey':{'paths':[7]}", "could not be accepted" },
        { "'partitionKey':{'paths':['id']}",
          "The partition key component definition path 'id' could not be accepted" },
        { "'partitionKey':{'paths':['id','/id2'],'kind':'MultiHash','version':2}",
          "The partition key component definition path 'id' could not be accepted" },
        { "'partitionKey':{'paths':['/a','/b']}", "more than 1 paths" },
        { "'partitionKey':{'paths':['/a','/b','/c','/d'],'kind':'MultiHash'}",
          "more than 3 paths" },
        { "'partitionKey':{'paths':['/a','/a'],'kind':'MultiHash'}", "twice" },
        { "'partitionKey':{'paths':['/a'],'kind':'Range'}", "must be" },
        { "'partitionKey':{'paths':['/a'],'version':3}", "must be 1 or 2" },
        { "'partitionKey':{'paths':['/a'],'version':'2'}", "must be 1 or 2" },
        { "'partitionKey':{'paths':['/a'],'kind':'MultiHash','version':1}", "must be 1 or 2" },
        { "'partitionKey':{'paths':['/']}", "a part is empty" },
        { "'partitionKey':{'paths':['/a/']}", "a part is empty" },
        { "'partitionKey':{'paths':['//a']}", "a part is empty" },
        { "'partitionKey':{'paths':['/a b']}", "must be quoted" },
        { "'partitionKey':{'paths':['/a.b']}", "must be quoted" },
        { "'partitionKey':{'paths':['/\\'a.b\\'']}", "names with a dot" },
        { "'partitionKey':{'paths':['/a/?']}", "only names" },
        { "'partitionKey':{'paths':['/a/[]']}", "only names" },
        { "'partitionKey':{'paths':['/\\'a']}", "not closed" },
        { "'indexingPolicy':[]", "must be an object" },
        { "'indexingPolicy':{'indexingMode':'eager'}", "The indexing mode 'eager' is invalid" },
        { "'indexingPolicy':{'indexingMode':1}", "is invalid" },
        { "'indexingPolicy':{'automatic':'yes'}", "must be true or false" },
        { "'indexingPolicy':{'includedPaths':{}}", "must be an array" },
        { "'indexingPolicy':{'includedPaths':['/*']}", "must be an array of objects" },
        { "'indexingPolicy':{'includedPaths':[{}]}", "must be an array of objects" },
        { "'indexingPolicy':{'includedPaths':[{'path':'/a'}]}", "must end in" },
        { "'indexingPolicy':{'includedPaths':[{'path':'/a/?'}]}", "mandatory indexing path" },
        { "'indexingPolicy':{'includedPaths':[]}", "mandatory indexing path" },
        { "'indexingPolicy':{'includedPaths':[{'path':'/*'}],'excludedPaths':[{'path':'/*'}]}",
          "both included and excluded" },
        { "'indexingPolicy':{'excludedPaths':[{'path':'/a/?'},{'path':'/a/?'}]}", "twice" },
        { "'indexingPolicy':{'excludedPaths':[{'path':'/*/a/?'}]}", "nothing can stand behind" },
        { "'indexingPolicy':{'compositeIndexes':[{'path':'/a'}]}", "array of arrays" },
        { "'indexingPolicy':{'compositeIndexes':[[{'path':'/a'}]]}", "at least 2 paths" },
        { "'indexingPolicy':{'compositeIndexes':[[{'path':'/a'},{'path':'b'}]]}",
          "could not be accepted" },
        { "'indexingPolicy':{'compositeIndexes':[[{'path':'/a'},{'path':'/b','order':'up'}]]}",
          "The order 'up'" },
        { "'indexingPolicy':{'spatialIndexes':['/a']}", "must be an array of objects" },
        { "'indexingPolicy':{'vectorIndexes':[{'path':'/v','type':'flat'}]}",
          "not matching in Embedding's path" },
        { "'uniqueKeyPolicy':{'uniqueKeys':{}}", "must be an array" },
        { "'uniqueKeyPolicy':{'uniqueKeys':['/a']}", "must be an object" },
        { "'uniqueKeyPolicy':{'uniqueKeys':[{'paths':['a']}]}", "could not be accepted" },
        { "'uniqueKeyPolicy':{'uniqueKeys':[{'paths':[]}]}", "has no paths" },
        { "'geospatialConfig':{'type':'Flat'}", "Geography" },
        { "'conflictResolutionPolicy':{'mode':'Dice'}", "LastWriterWins" },
        { "'analyticalStorageTtl':-2", "analyticalStorageTtl" },
        { "'computedProperties':[{'name':'x'}]", "computedProperties" },
        { "'computedProperties':{}", "must be an array" },
        { "'changeFeedPolicy':5", "must be an object" },
    };
    /* clang-format on */
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = create(&f,
                                        arena_format(f.world.arena, "{'id':'c',%s}", r->property));
        CHECK_THAT(a.status == 400, "%s is %u: %.*s", r->property, a.status, (int)a.body.len,
                   (const char *)a.body.data);
        CHECK_THAT(cosmos_body_has(&a, r->says), "%s: %.*s", r->property, (int)a.body.len,
                   (const char *)a.body.data);
        CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls/c", "", ""), 404);
    }
    cosmos_face_close(&f);
}

TEST(container, limits_of_unique_keys_are_ten_of_sixteen_paths)
{
    const struct {
        int keys, paths;
        unsigned want;
    } rows[] = {
        {10,  16, 201},
        { 11, 1,  400},
        { 1,  17, 400}
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct buffer body = buffer_in(f.world.arena);
        buffer_append_format(&body, "{'id':'c%d','uniqueKeyPolicy':{'uniqueKeys':[", r->paths);
        for (int key = 0; key < r->keys; key++) {
            buffer_append_format(&body, "%s{'paths':[", key ? "," : "");
            for (int path = 0; path < r->paths; path++)
                buffer_append_format(&body, "%s'/k%d/p%d'", path ? "," : "", key, path);
            buffer_append_text(&body, "]}");
        }
        buffer_append_text(&body, "]}}");
        buffer_append_byte(&body, 0);
        CHECK_ANSWER(create(&f, (const char *)body.data), r->want);
    }
    cosmos_face_close(&f);
}

TEST(container, policy_and_unique_keys_become_indexes_of_the_engine)
{
    struct cosmos_face f;
    struct request request;

    cosmos_face_open(&f);
    CHECK_ANSWER(create(&f, "{'id':'c','partitionKey':{'paths':['/a/\\'b c\\'']},"
                            "'uniqueKeyPolicy':{'uniqueKeys':[{'paths':['/x/y','/z']}]},"
                            "'indexingPolicy':{'indexingMode':'lazy','excludedPaths':[{'path':'/"
                            "q/*'}]}}"),
                 201);
    const struct collection *collection = collection_of(&f, &request, "c");
    CHECK_EQ(collection->index_count, 2, "");
    const struct index *paths = container_path_index(collection);
    CHECK(paths != NULL);
    CHECK(paths->definition.is_lazy);
    CHECK_EQ(paths->definition.included_count, 1, "");
    CHECK_EQ(paths->definition.excluded_count, 2, "");
    CHECK_TEXT(paths->definition.excluded[0], "/q/*");
    const struct index *unique = collection_index(collection, BYTES_LITERAL("$unique0"));
    CHECK(unique != NULL);
    CHECK(unique->definition.is_unique && unique->definition.is_per_partition &&
          unique->definition.is_missing_null);
    CHECK_EQ(unique->definition.field_count, 2, "");
    CHECK_TEXT(unique->definition.fields[0].path, "x.y");
    CHECK_EQ(collection->definition.partition_path_count, 1, "");
    CHECK_TEXT(collection->definition.partition_paths[0], "a.b c");
    request_end(&request);
    cosmos_face_close(&f);
}

TEST(container, created_twice_is_a_conflict_but_a_bad_one_is_bad_first)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(create(&f, "{'id':'c','partitionKey':{'paths':['/pk']}}"), 201);
    CHECK_ANSWER(create(&f, "{'id':'c','partitionKey':{'paths':['/pk']}}"), 409);
    CHECK_ANSWER(create(&f, "{'id':'c','defaultTtl':0}"), 400);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/none/colls", "", "{'id':'c'}"), 404);
    cosmos_face_close(&f);
}

TEST(container, created_again_under_its_name_is_another_one)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer first = create(&f, "{'id':'c'}");
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/db/colls/c", "", ""), 204);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls/c", "", ""), 404);
    struct cosmos_answer second = create(&f, "{'id':'c'}");
    CHECK(!bytes_equal(cosmos_value(&f, &first, "_rid"), cosmos_value(&f, &second, "_rid")));
    CHECK(!bytes_equal(cosmos_header(&first, "etag"), cosmos_header(&second, "etag")));
    cosmos_face_close(&f);
}

TEST(container, list_shows_those_of_its_database_only)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "", "{'id':'other'}"), 201);
    CHECK_ANSWER(create(&f, "{'id':'b'}"), 201);
    CHECK_ANSWER(create(&f, "{'id':'a'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/other/colls", "", "{'id':'c'}"), 201);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db/colls", "", "");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "_count"), "2");
    CHECK_TEXT(cosmos_value(&f, &a, "DocumentCollections.0.id"), "\"a\"");
    CHECK_TEXT(cosmos_value(&f, &a, "DocumentCollections.1.id"), "\"b\"");
    cosmos_face_close(&f);
}

TEST(container, one_that_another_face_made_is_shown_with_defaults)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    world_collection(&f.world, "plain", 60, "u: u unique");
    world_collection_parted(&f.world, "parted", TTL_OFF, "", "a.b");
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db/colls/plain", "", "");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "partitionKey.systemKey"), "true");
    CHECK_TEXT(cosmos_value(&f, &a, "indexingPolicy.indexingMode"), "\"consistent\"");
    CHECK_TEXT(cosmos_value(&f, &a, "defaultTtl"), "60");
    a = cosmos_ask(&f, "GET /dbs/db/colls/parted", "", "");
    CHECK_TEXT(cosmos_value(&f, &a, "partitionKey.paths"), "[\"/a/b\"]");
    /* A replace gives it a definition and an index of its own, and leaves the others. */
    a = cosmos_ask(&f, "PUT /dbs/db/colls/plain", "", "{'id':'plain','defaultTtl':30}");
    CHECK_ANSWER(a, 200);
    struct request request;
    const struct collection *collection = collection_of(&f, &request, "plain");
    CHECK_EQ(collection->index_count, 2, "");
    CHECK(container_path_index(collection) != NULL);
    request_end(&request);
    cosmos_face_close(&f);
}

TEST(container, links_by_resource_id_lead_to_it_too)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer made = create(&f, "{'id':'c'}");
    bytes self = cosmos_value(&f, &made, "_self");
    const char *link = arena_format(f.world.arena, "%.*s", (int)self.len - 2,
                                    (const char *)self.data + 1);
    struct cosmos_answer read = cosmos_ask(&f, arena_format(f.world.arena, "GET /%s", link), "",
                                           "");
    CHECK_ANSWER(read, 200);
    CHECK_BYTES(read.body, made.body, "");
    struct cosmos_answer replaced = cosmos_ask(&f, arena_format(f.world.arena, "PUT /%s", link), "",
                                               "{'id':'c','defaultTtl':5}");
    CHECK_ANSWER(replaced, 200);
    CHECK_TEXT(cosmos_value(&f, &replaced, "defaultTtl"), "5");
    CHECK_ANSWER(cosmos_ask(&f, arena_format(f.world.arena, "DELETE /%s", link), "", ""), 204);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls/c", "", ""), 404);
    cosmos_face_close(&f);
}
