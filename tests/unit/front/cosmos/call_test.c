/* The way of a call: what every reply has, whatever was asked. */
#include "tests/support/cosmos_face.h"

TEST(call, every_reply_has_an_activity_and_a_charge_and_no_error_is_empty)
{
    const struct {
        const char *request, *headers;
        unsigned want;
    } rows[] = {
        {"GET /nowhere",               "",                                        400},
        { "GET /dbs/%zz",              "",                                        400},
        { "PATCH /dbs",                "",                                        405},
        { "GET /dbs/nope",             "",                                        404},
        { "GET /dbs/a/colls",          "",                                        404},
        { "POST /dbs",                 "content-encoding: gzip",                  415},
        { "POST /dbs/db/colls/c/docs", "x-ms-documentdb-pre-trigger-include: t",  501},
        { "POST /dbs/db/colls/c/docs", "x-ms-documentdb-post-trigger-include: t", 501},
        { "PUT /dbs/db",               "",                                        501},
        { "GET /dbs/$mayfly",          "",                                        404},
    };
    struct cosmos_face f;

    cosmos_face_open(&f);
    EACH_ROW(rows, r) {
        struct cosmos_answer answer = cosmos_ask(&f, r->request, r->headers, "");
        CHECK_ANSWER(answer, r->want);
        CHECK_EQ(cosmos_header(&answer, "x-ms-activity-id").len, 36, "%s", r->request);
        CHECK_THAT(cosmos_header(&answer, "x-ms-request-charge").len > 0, "%s", r->request);
        CHECK_THAT(cosmos_body_has(&answer, "ActivityId: "), "%s", r->request);
    }
    cosmos_face_close(&f);
}

TEST(call, a_missing_owner_is_told_from_a_missing_resource)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    struct cosmos_answer answer = cosmos_ask(&f, "GET /dbs/nope/colls/c", "", "");
    CHECK_ANSWER(answer, 404);
    CHECK_TEXT(cosmos_header(&answer, "x-ms-substatus"), "1003");
    answer = cosmos_ask(&f, "GET /dbs/nope", "", "");
    CHECK_ANSWER(answer, 404);
    CHECK_EQ(cosmos_header(&answer, "x-ms-substatus").len, 0, "");
    cosmos_face_close(&f);
}

TEST(call, a_session_token_from_another_database_is_not_served)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    world_collection(&f.world, "c", TTL_OFF, "");
    struct cosmos_answer answer = cosmos_ask(&f, "GET /dbs/db/colls/c/docs/x",
                                             "x-ms-session-token: 0:-1#1,0:-1#99999999999", "");
    CHECK_ANSWER(answer, 404);
    CHECK_TEXT(cosmos_header(&answer, "x-ms-substatus"), "1002");
    cosmos_face_close(&f);
}
