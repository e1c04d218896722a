/* What a container says about its shapes and vectors, and what queries make of it. */
#include "tests/check.h"
#include "tests/support/cosmos_face.h"

#define PLACE "/dbs/d/colls/c"

static void open_face(struct cosmos_face *f, const char *properties)
{
    static const char *const items[] = {
        "{'id':'1','pk':'x','at':{'type':'Point','coordinates':[3,4]},'v':[1,0],'w':[1,0]}",
        "{'id':'2','pk':'x','at':{'type':'Point','coordinates':[300,400]},'v':[9,9],'w':[9,9]}",
        "{'id':'3','pk':'x','at':{'type':'Point','coordinates':[1,1]},'v':[2,2],'w':[2,2]}",
    };

    cosmos_face_open(f);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs", "", "{'id':'d'}"), 201);
    CHECK_ANSWER(cosmos_ask(f, "POST /dbs/d/colls", "",
                            arena_format(f->world.arena,
                                         "{'id':'c','partitionKey':{'paths':['/pk'],'kind':'Hash'}"
                                         "%s}",
                                         properties)),
                 201);
    for (size_t i = 0; i < ARRAY_COUNT(items); i++)
        CHECK_ANSWER(
            cosmos_ask(f, "POST " PLACE "/docs", "x-ms-documentdb-partitionkey: [\"x\"]", items[i]),
            201);
}

static const char *ask(struct cosmos_face *f, const char *sql)
{
    return cosmos_query(f, PLACE, sql);
}

#define ORIGIN "{type: \\\"Point\\\", coordinates: [0, 0]}"
#define RING "[[[0, 0], [0, 5], [5, 5], [5, 0], [0, 0]]]"
#define SQUARE "{type: \\\"Polygon\\\", coordinates: " RING "}"

TEST(container_meaning, shapes_lie_in_a_plane_where_the_container_says_so)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT VALUE ST_DISTANCE(c.at, " ORIGIN ") FROM c WHERE c.id < \\\"3\\\"",  "[5,500]"         },
        { "SELECT VALUE ST_ISVALID(c.at) FROM c",                                     "[true,true,true]"},
 /* Whichever way round the ring is written. */
        { "SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.at, " SQUARE ")",               "[\"1\",\"3\"]"   },
        { "SELECT VALUE ST_AREA(" SQUARE ") FROM c WHERE c.id = \\\"1\\\"",           "[25]"            },
        { "SELECT VALUE ST_DISTANCE(c.at, " SQUARE ") FROM c WHERE c.id = \\\"1\\\"", "[0]"             },
    };
    struct cosmos_face f;

    open_face(&f, ",'geospatialConfig':{'type':'Geometry'}");
    EACH_ROW(rows, r)
        CHECK_STRING(ask(&f, r->sql), r->want);
    cosmos_face_close(&f);
}

TEST(container_meaning, shapes_lie_on_the_earth_otherwise)
{
    struct cosmos_face f;

    open_face(&f, "");
    CHECK_STRING(ask(&f, "SELECT VALUE ST_ISVALID(c.at) FROM c"), "[true,false,true]");
    CHECK_STRING(ask(&f, "SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.at, " ORIGIN ") < 200000"),
                 "[\"3\"]");
    CHECK_STRING(ask(&f, "SELECT VALUE c.id FROM c WHERE ST_WITHIN(c.at, " SQUARE ")"), "[]");
    cosmos_face_close(&f);
}

TEST(container_meaning, vectors_are_compared_as_the_embedding_policy_says)
{
    static const struct {
        const char *sql, *want;
    } rows[] = {
        {"SELECT VALUE VectorDistance(c.v, [2, 2]) FROM c WHERE c.id = \\\"3\\\"",  "[0]"                },
        { "SELECT VALUE VectorDistance([2, 2], c.v) FROM c WHERE c.id = \\\"3\\\"", "[0]"                },
        { "SELECT VALUE VectorDistance(c.w, [2, 2]) FROM c WHERE c.id = \\\"3\\\"", "[8]"                },
        { "SELECT VALUE VectorDistance(c.v, [2, 2], false, {distanceFunction: \\\"dotproduct\\\"}) "
          "FROM c WHERE c.id = \\\"3\\\"",                                 "[8]"                },
        { "SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.v, [2, 2])",          "[\"3\",\"1\",\"2\"]"},
        { "SELECT VALUE c.id FROM c ORDER BY VectorDistance(c.w, [2, 2])",          "[\"2\",\"3\",\"1\"]"},
    };
    struct cosmos_face f;

    open_face(&f,
              ",'vectorEmbeddingPolicy':{'vectorEmbeddings':[{'path':'/v','dataType':'float32',"
              "'distanceFunction':'euclidean','dimensions':2},{'path':'/w','dataType':'float32',"
              "'distanceFunction':'dotproduct','dimensions':2}]}");
    EACH_ROW(rows, r)
        CHECK_STRING(ask(&f, r->sql), r->want);
    cosmos_face_close(&f);
}
