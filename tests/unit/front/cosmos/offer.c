/* Offers, quota, partition key ranges, and what there is none of. */
#include "front/cosmos/offer.h"

#include "front/cosmos/call.h"
#include "tests/support/cosmos_face.h"

static const char *offer_link(struct cosmos_face *f, const char *method,
                              const struct cosmos_answer *list, int at)
{
    bytes id = cosmos_value(f, list, arena_format(f->world.arena, "Offers.%d.id", at));

    return arena_format(f->world.arena, "%s /offers/%.*s", method, (int)id.len - 2,
                        (const char *)id.data + 1);
}

TEST(offer, container_without_one_has_the_default_and_it_goes_with_it)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer made = cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'c'}");
    struct cosmos_answer list = cosmos_ask(&f, "GET /offers", "", "");
    CHECK_ANSWER(list, 200);
    CHECK_TEXT(cosmos_value(&f, &list, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &list, "Offers.0.content.offerThroughput"), "400");
    CHECK_TEXT(cosmos_value(&f, &list, "Offers.0.offerVersion"), "\"V2\"");
    CHECK_BYTES(cosmos_value(&f, &list, "Offers.0.offerResourceId"),
                cosmos_value(&f, &made, "_rid"), "");
    CHECK_BYTES(cosmos_value(&f, &list, "Offers.0.resource"), cosmos_value(&f, &made, "_self"), "");
    struct cosmos_answer one = cosmos_ask(&f, offer_link(&f, "GET", &list, 0), "", "");
    CHECK_ANSWER(one, 200);
    CHECK_BYTES(cosmos_value(&f, &one, ""), cosmos_value(&f, &list, "Offers.0"), "");
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/db/colls/c", "", ""), 204);
    CHECK_ANSWER(cosmos_ask(&f, offer_link(&f, "GET", &list, 0), "", ""), 404);
    cosmos_face_close(&f);
}

TEST(offer, headers_of_a_create_decide_on_the_throughput)
{
    /* One row behind the other reads better than columns. */
    /* clang-format off */
    const struct {
        const char *headers;
        unsigned want;
        const char *throughput, *maximum;
    } rows[] = {
        { "x-ms-offer-throughput: 400", 201, "400", "" },
        { "x-ms-offer-throughput: 10500", 201, "10500", "" },
        { "x-ms-offer-throughput: 1000000", 201, "1000000", "" },
        { "x-ms-offer-throughput: 300", 400, "", "" },
        { "x-ms-offer-throughput: 450", 400, "", "" },
        { "x-ms-offer-throughput: 1000100", 400, "", "" },
        { "x-ms-offer-throughput: many", 400, "", "" },
        { "x-ms-offer-throughput: 99999999999999999999", 400, "", "" },
        { "x-ms-cosmos-offer-autopilot-settings: {'maxThroughput':4000}", 201, "400", "4000" },
        { "x-ms-cosmos-offer-autopilot-settings: {'maxThroughput':50000}", 201, "5000", "50000" },
        { "x-ms-cosmos-offer-autopilot-settings: {'maxThroughput':500}", 400, "", "" },
        { "x-ms-cosmos-offer-autopilot-settings: {'maxThroughput':4500}", 400, "", "" },
        { "x-ms-cosmos-offer-autopilot-settings: {}", 400, "", "" },
        { "x-ms-cosmos-offer-autopilot-settings: 4000", 400, "", "" },
        { "x-ms-offer-throughput: 400\n"
          "x-ms-cosmos-offer-autopilot-settings: {'maxThroughput':4000}", 400, "", "" },
    };
    /* clang-format on */
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(&f, "POST /dbs/db/colls", r->headers, "{'id':'c'}");
        CHECK_THAT(a.status == r->want, "%s is %u", r->headers, a.status);
        if (r->want != 201)
            continue;
        a = cosmos_ask(&f, "GET /offers", "", "");
        CHECK_TEXT(cosmos_value(&f, &a, "Offers.0.content.offerThroughput"), r->throughput);
        CHECK_TEXT(cosmos_value(&f, &a, "Offers.0.content.offerAutopilotSettings.maxThroughput"),
                   r->maximum);
        CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/db/colls/c", "", ""), 204);
    }
    cosmos_face_close(&f);
}

TEST(offer, containers_share_the_one_of_their_database)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs", "x-ms-offer-throughput: 1000", "{'id':'d'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/colls", "", "{'id':'shares'}"), 201);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/d/colls", "x-ms-offer-throughput: 500", "{'id':'own'}"),
                 201);
    struct cosmos_answer list = cosmos_ask(&f, "GET /offers", "", "");
    CHECK_TEXT(cosmos_value(&f, &list, "_count"), "2");
    CHECK_TEXT(cosmos_value(&f, &list, "Offers.0.content.offerThroughput"), "500");
    CHECK_TEXT(cosmos_value(&f, &list, "Offers.1.content.offerThroughput"), "1000");
    const struct {
        const char *container;
        uint32_t want;
    } rows[] = {
        {"shares", 1000},
        { "own",   500 }
    };
    uint32_t owners[2];
    EACH_ROW(rows, r) {
        struct call call = { 0 };
        CHECK_OK(request_begin(f.world.engine, f.world.arena, &call.request));
        CHECK_OK(catalog_find(&call.request, BYTES_LITERAL("d"), bytes_of_text(r->container),
                              &call.collection));
        struct offer_share share = offer_throughput(&call);
        CHECK_EQ(share.throughput, r->want, "%s", r->container);
        owners[r - rows] = share.owner;
        request_end(&call.request);
    }
    CHECK(owners[0] != owners[1]);
    cosmos_face_close(&f);
}

TEST(offer, replace_changes_throughput_and_autoscale)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'c','defaultTtl':5}"), 201);
    struct cosmos_answer list = cosmos_ask(&f, "GET /offers", "", "");
    const char *link = offer_link(&f, "PUT", &list, 0);
    bytes id = cosmos_value(&f, &list, "Offers.0.id");
    /* One row behind the other reads better than columns. */
    /* clang-format off */
    const struct {
        const char *headers, *content;
        unsigned want;
        const char *throughput, *maximum;
    } rows[] = {
        { "", "{'offerThroughput':500}", 200, "500", "" },
        { "", "{'offerThroughput':550}", 400, "", "" },
        { "", "{'offerThroughput':'600'}", 400, "", "" },
        { "", "{}", 400, "", "" },
        { "", "5", 400, "", "" },
        { "", "{'offerThroughput':500,'offerAutopilotSettings':{'maxThroughput':8000}}", 200,
          "800", "8000" },
        { "x-ms-cosmos-migrate-offer-to-manual-throughput: true",
          "{'offerThroughput':800,'offerAutopilotSettings':{'maxThroughput':8000}}", 200, "800",
          "" },
        { "x-ms-cosmos-migrate-offer-to-autopilot: true", "{'offerThroughput':1200}", 200, "200",
          "2000" },
        { "if-match: 'other'", "{'offerThroughput':500}", 412, "", "" },
    };
    /* clang-format on */
    EACH_ROW(rows, r) {
        const char *body = arena_format(f.world.arena, "{'id':%.*s,'content':%s}", (int)id.len,
                                        (const char *)id.data, r->content);
        struct cosmos_answer a = cosmos_ask(&f, link, r->headers, body);
        CHECK_THAT(a.status == r->want, "%s is %u: %.*s", r->content, a.status, (int)a.body.len,
                   (const char *)a.body.data);
        if (r->want != 200)
            continue;
        CHECK_TEXT(cosmos_value(&f, &a, "content.offerThroughput"), r->throughput);
        CHECK_TEXT(cosmos_value(&f, &a, "content.offerAutopilotSettings.maxThroughput"),
                   r->maximum);
    }
    CHECK_ANSWER(cosmos_ask(&f, link, "", "{'id':'other','content':{'offerThroughput':500}}"), 400);
    CHECK_ANSWER(cosmos_ask(&f, "PUT /offers/offers/c00000001", "", "{}"), 400);
    CHECK_ANSWER(cosmos_ask(&f, "PUT /offers/none", "", "{'id':'none'}"), 404);
    /* The container itself has not changed, and the offer survives. */
    cosmos_face_restart(&f);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db/colls/c", "", "");
    CHECK_TEXT(cosmos_value(&f, &a, "defaultTtl"), "5");
    list = cosmos_ask(&f, "GET /offers", "", "");
    CHECK_TEXT(cosmos_value(&f, &list, "Offers.0.content.offerThroughput"), "200");
    /* And a replace of the container keeps the offer. */
    CHECK_ANSWER(cosmos_ask(&f, "PUT /dbs/db/colls/c", "", "{'id':'c'}"), 200);
    list = cosmos_ask(&f, "GET /offers", "", "");
    CHECK_TEXT(cosmos_value(&f, &list, "Offers.0.content.offerThroughput"), "200");
    cosmos_face_close(&f);
}

TEST(container, C_12_usage_leaves_the_dead_out)
{
    struct cosmos_face f;
    const char *ask = "x-ms-documentdb-populatequotainfo: True";

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "",
                            "{'id':'c','partitionKey':{'paths':['/pk']},'defaultTtl':10}"),
                 201);
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':1,'pk':1}"), OK);
    CHECK_WRITTEN(world_insert(&f.world, "c", "{'_id':2,'pk':1,'ttl':-1}"), OK);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db/colls/c", "", "");
    CHECK_EQ(cosmos_header(&a, "x-ms-resource-usage").len, 0, "nobody asked");
    a = cosmos_ask(&f, "GET /dbs/db/colls/c", ask, "");
    CHECK_TEXT(cosmos_header(&a, "x-ms-resource-quota"),
               "functions=50;storedProcedures=100;triggers=25;documentSize=10240;"
               "documentsSize=10485760;documentsCount=-1;collectionSize=10485760;");
    CHECK_TEXT(cosmos_header(&a, "x-ms-resource-usage"),
               "functions=0;storedProcedures=0;triggers=0;documentSize=0;documentsSize=1;"
               "documentsCount=2;collectionSize=1;");
    world_at(&f.world, 10000);
    a = cosmos_ask(&f, "GET /dbs/db/colls/c", ask, "");
    CHECK_TEXT(cosmos_header(&a, "x-ms-resource-usage"),
               "functions=0;storedProcedures=0;triggers=0;documentSize=0;documentsSize=1;"
               "documentsCount=1;collectionSize=1;");
    cosmos_face_close(&f);
}

TEST(range, there_is_one_and_it_never_changes)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'c'}"), 201);
    struct cosmos_answer a = cosmos_ask(&f, "GET /dbs/db/colls/c/pkranges", "", "");
    CHECK_ANSWER(a, 200);
    CHECK_TEXT(cosmos_value(&f, &a, "_count"), "1");
    CHECK_TEXT(cosmos_value(&f, &a, "PartitionKeyRanges.0.id"), "\"0\"");
    CHECK_TEXT(cosmos_value(&f, &a, "PartitionKeyRanges.0.minInclusive"), "\"\"");
    CHECK_TEXT(cosmos_value(&f, &a, "PartitionKeyRanges.0.maxExclusive"), "\"FF\"");
    CHECK_TEXT(cosmos_value(&f, &a, "PartitionKeyRanges.0.parents"), "[]");
    bytes etag = cosmos_header(&a, "etag");
    CHECK(etag.len > 0);
    a = cosmos_ask(&f, "GET /dbs/db/colls/c/pkranges",
                   arena_format(f.world.arena, "a-im: Incremental feed\nif-none-match: %.*s",
                                (int)etag.len, (const char *)etag.data),
                   "");
    CHECK_ANSWER(a, 304);
    CHECK_BYTES(cosmos_header(&a, "etag"), etag, "");
    a = cosmos_ask(&f, "GET /dbs/db/colls/c/pkranges", "a-im: Incremental feed", "");
    CHECK_ANSWER(a, 200);
    cosmos_face_close(&f);
}

TEST(script, feeds_of_what_there_is_none_of_are_empty)
{
    const struct {
        const char *segment, *key;
    } rows[] = {
        {"sprocs",     "StoredProcedures"    },
        { "triggers",  "Triggers"            },
        { "udfs",      "UserDefinedFunctions"},
        { "conflicts", "Conflicts"           },
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "POST /dbs/db/colls", "", "{'id':'c'}"), 201);
    EACH_ROW(rows, r) {
        struct cosmos_answer a = cosmos_ask(
            &f, arena_format(f.world.arena, "GET /dbs/db/colls/c/%s", r->segment), "", "");
        CHECK_ANSWER(a, 200);
        CHECK_TEXT(cosmos_value(&f, &a, r->key), "[]");
        CHECK_TEXT(cosmos_header(&a, "x-ms-item-count"), "0");
    }
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls/c/sprocs/none", "", ""), 404);
    CHECK_ANSWER(cosmos_ask(&f, "DELETE /dbs/db/colls/c/udfs/none", "", ""), 404);
    cosmos_face_close(&f);
}
