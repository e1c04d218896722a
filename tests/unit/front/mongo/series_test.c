/* Time-series collections: what they are made with, what may be put in and changed, and when measurements end. */
#include "tests/support/mongo_face.h"

enum { START_MS = 1000000 };

static void open_at_start(struct mongo_face *f)
{
    mongo_face_open(f);
    world_pass(&f->world, START_MS);
}

static void make_series(struct mongo_face *f, const char *more)
{
    CHECK_DONE(mongo_ask(f, "{'create':'s','timeseries':{'timeField':'t','metaField':'m'}%s%s}",
                         more[0] ? "," : "", more));
}

TEST(mongo_series, options_are_checked_and_told_with_all_they_mean)
{
#define SERIES(more) "'timeseries':{'timeField':'t'" more "}"
    const struct {
        const char *options;
        int code;
        const char *want;
    } rows[] = {
        {SERIES(),                                                           0,
         "{\"timeField\":\"t\",\"granularity\":\"seconds\",\"bucketMaxSpanSeconds\":3600}" },
        { SERIES(",'metaField':'m','granularity':'minutes'"),                0,
         "{\"timeField\":\"t\",\"metaField\":\"m\",\"granularity\":\"minutes\","
          "\"bucketMaxSpanSeconds\":86400}"                                                },
        { SERIES(",'granularity':'hours','bucketMaxSpanSeconds':2592000"),   0,
         "{\"timeField\":\"t\",\"granularity\":\"hours\",\"bucketMaxSpanSeconds\":2592000}"},
        { SERIES(",'bucketMaxSpanSeconds':300,'bucketRoundingSeconds':300"), 0,
         "{\"timeField\":\"t\",\"bucketRoundingSeconds\":300,\"bucketMaxSpanSeconds\":300}"},
        { "'timeseries':{}",                                                 40414, NULL   },
        { "'timeseries':{'timeField':''}",                                   2,     NULL   },
        { "'timeseries':{'timeField':'a.b'}",                                2,     NULL   },
        { "'timeseries':{'timeField':'$t'}",                                 2,     NULL   },
        { "'timeseries':{'timeField':'_id'}",                                72,    NULL   },
        { "'timeseries':{'timeField':5}",                                    14,    NULL   },
        { SERIES(",'metaField':'t'"),                                        72,    NULL   },
        { SERIES(",'metaField':'_id'"),                                      72,    NULL   },
        { SERIES(",'granularity':'days'"),                                   2,     NULL   },
        { SERIES(",'bucketMaxSpanSeconds':300"),                             72,    NULL   },
        { SERIES(",'bucketRoundingSeconds':300"),                            72,    NULL   },
        { SERIES(",'bucketMaxSpanSeconds':300,'bucketRoundingSeconds':60"),  72,    NULL   },
        { SERIES(",'bucketMaxSpanSeconds':0,'bucketRoundingSeconds':0"),     2,     NULL   },
        { SERIES(",'granularity':'hours','bucketMaxSpanSeconds':3600"),      72,    NULL   },
        { SERIES(",'nope':1"),                                               40415, NULL   },
        { SERIES() ",'capped':true,'size':4096",                             72,    NULL   },
        { SERIES() ",'validator':{}",                                        72,    NULL   },
        { SERIES() ",'viewOn':'a','pipeline':[]",                            72,    NULL   },
        { SERIES() ",'clusteredIndex':{'key':{'_id':1},'unique':true}",      72,    NULL   },
        { SERIES() ",'expireAfterSeconds':-1",                               72,    NULL   },
        { SERIES() ",'expireAfterSeconds':2147483647",                       72,    NULL   },
        { "'expireAfterSeconds':10",                                         72,    NULL   },
    };
    struct mongo_face f;

    open_at_start(&f);
    EACH_ROW(rows, r) {
        struct mongo_answer a = mongo_ask(&f, "{'create':'s',%s}", r->options);
        CHECK_EQ(a.code, r->code, "%s: %s", r->options, a.message ? a.message : "");
        if (a.code != 0)
            continue;
        a = mongo_ask(&f, "{'listCollections':1}");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.type"), "\"timeseries\"");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.options.timeseries"), r->want);
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.idIndex"), "");
        CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.1"), "");
        CHECK_DONE(mongo_ask(&f, "{'drop':'s'}"));
    }
    mongo_face_close(&f);
}

TEST(mongo_series, a_measurement_needs_a_date)
{
    const char *const bad[] = { "{'_id':1}", "{'_id':1,'t':5}", "{'_id':1,'t':null}",
                                "{'_id':1,'t':[@5]}", "{'_id':1,'t':'2020-01-01'}" };
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "");
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct mongo_answer a = mongo_ask(&f, "{'insert':'s','documents':[%s]}", bad[i]);
        CHECK_EQ(mongo_number(&a, "writeErrors.0.code"), ERROR_BadValue, "%s", bad[i]);
    }
    CHECK_DONE(mongo_ask(&f, "{'insert':'s','documents':[{'_id':1,'t':@5},"
                             "{'_id':2,'t':@-5,'m':{'k':1}}]}"));
    struct mongo_answer a = mongo_ask(&f, "{'count':'s','query':{'t':{'$lt':@6}}}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "");
    a = mongo_ask(&f, "{'distinct':'s','key':'m.k'}");
    CHECK_STRING(mongo_text(&f, &a, "values"), "[1]");
    mongo_face_close(&f);
}

TEST(mongo_series, only_what_was_measured_can_be_changed)
{
#define UPDATE(q, u, more) "{'q':" q ",'u':" u more "}"
    const struct {
        const char *statement;
        int64_t code, changed;
    } rows[] = {
        {UPDATE("{'m.k':1}",                    "{'$set':{'m.x':2}}",      ",'multi':true"),               0,  1},
        { UPDATE("{'$or':[{'m.k':1},{'m':3}]}", "{'$set':{'m':3}}",        ",'multi':true"),               0,  1},
        { UPDATE("{}",                          "{'$unset':{'m.x':1}}",    ",'multi':true"),               0,  0},
        { UPDATE("{'m':1}",                     "{'$set':{'m':2}}",        ""),                            72, 0},
        { UPDATE("{'m':1}",                     "{'$set':{'m':2}}",        ",'multi':true,'upsert':true"), 72, 0},
        { UPDATE("{'m':1}",                     "{'m':2}",                 ",'multi':true"),               9,  0},
        { UPDATE("{'m':1}",                     "[{'$set':{'m':2}}]",      ",'multi':true"),               72, 0},
        { UPDATE("{'x':1}",                     "{'$set':{'m':2}}",        ",'multi':true"),               72, 0},
        { UPDATE("{'$expr':true}",              "{'$set':{'m':2}}",        ",'multi':true"),               72, 0},
        { UPDATE("{'mm':1}",                    "{'$set':{'m':2}}",        ",'multi':true"),               72, 0},
        { UPDATE("{'m':1}",                     "{'$set':{'v':2}}",        ",'multi':true"),               72, 0},
        { UPDATE("{'m':1}",                     "{'$set':{'t':2}}",        ",'multi':true"),               72, 0},
        { UPDATE("{'m':1}",                     "{'$rename':{'m.a':'v'}}", ",'multi':true"),               72, 0},
    };
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'s','documents':[{'_id':1,'t':@5,'m':{'k':1},'v':1},"
                             "{'_id':2,'t':@6,'m':{'k':2},'v':2}]}"));
    EACH_ROW(rows, r) {
        struct mongo_answer a = mongo_ask(&f, "{'update':'s','updates':[%s]}", r->statement);
        struct value errors;
        bool has_failed = document_find(a.document, "writeErrors", &errors);
        CHECK_EQ(has_failed ? mongo_number(&a, "writeErrors.0.code") : 0, r->code, "%s",
                 r->statement);
        CHECK_EQ(mongo_number(&a, "nModified"), r->changed, "%s", r->statement);
    }
    CHECK_FAULT(mongo_ask(&f, "{'findAndModify':'s','query':{'m':1},'update':{'$set':{'m':2}}}"),
                72);
    struct mongo_answer a = mongo_ask(&f, "{'delete':'s','deletes':[{'q':{'v':2},'limit':1}]}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "measurements are deleted by any field");
    mongo_face_close(&f);
}

TEST(mongo_series, indexes_are_those_that_measurements_can_have)
{
    const struct {
        const char *index;
        int code;
    } rows[] = {
        {"'key':{'v':1},'name':'v_1'",                                                            0 },
        { "'key':{'t':-1},'name':'t_-1'",                                                         0 },
        { "'key':{'v':-1},'name':'u','unique':true",                                              72},
        { "'key':{'v':-1},'name':'s','sparse':true",                                              72},
        { "'key':{'_id':1},'name':'_id_'",                                                        72},
        { "'key':{'t':1},'name':'e','expireAfterSeconds':10",                                     72},
        { "'key':{'v':-1},'name':'e','expireAfterSeconds':10",                                    72},
        { "'key':{'t':1,'v':1},'name':'e','expireAfterSeconds':10",                               67},
        { "'key':{'t':1},'name':'e','expireAfterSeconds':10,'partialFilterExpression':{'v':1}",
         72                                                                                         },
        { "'key':{'t':1},'name':'e','expireAfterSeconds':10,'partialFilterExpression':{'m.k':1}",
         0                                                                                          },
    };
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "'expireAfterSeconds':100");
    struct mongo_answer a = mongo_ask(&f, "{'listIndexes':'s'}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"),
                 "[{\"v\":2,\"key\":{\"m\":1,\"t\":1},\"name\":\"m_1_t_1\"}]");
    EACH_ROW(rows, r) {
        a = mongo_ask(&f, "{'createIndexes':'s','indexes':[{%s}]}", r->index);
        CHECK_EQ(a.code, r->code, "%s: %s", r->index, a.message ? a.message : "");
    }
    a = mongo_ask(&f, "{'collStats':'s'}");
    CHECK_STRING(mongo_text(&f, &a, "timeseries.bucketsNs"), "\"db.system.buckets.s\"");
    CHECK_EQ(mongo_number(&a, "nindexes"), 4, "");
    CHECK_DONE(mongo_ask(&f, "{'dropIndexes':'s','index':'*'}"));
    a = mongo_ask(&f, "{'listIndexes':'s'}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch"), "[]");
    a = mongo_ask(&f, "{'listCollections':1}");
    CHECK_EQ(mongo_number(&a, "cursor.firstBatch.0.options.expireAfterSeconds"), 100,
             "the expiry is no index");
    mongo_face_close(&f);
}

TEST(mongo_series, M_1_a_measurement_is_gone_when_its_date_and_the_seconds_are_over)
{
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "'expireAfterSeconds':100");
    CHECK_DONE(mongo_ask(&f,
                         "{'insert':'s','documents':[{'_id':1,'t':@%d},{'_id':2,'t':@%d},"
                         "{'_id':3,'t':@%d}]}",
                         START_MS - 50000, START_MS - 50000 + 1, START_MS - 200000));
    struct mongo_answer a = mongo_ask(&f, "{'count':'s'}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "what is too old is never seen");
    world_pass(&f.world, 49999);
    a = mongo_ask(&f, "{'count':'s'}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "one millisecond before");
    world_pass(&f.world, 1);
    CHECK_STRING(mongo_found(&f, "s", "{'m':null}"),
                 arena_format(f.world.arena,
                              "[{\"_id\":2,\"t\":{\"$date\":\"2026-03-01T00:15:50.001Z\"}}]"));
    world_pass(&f.world, 1);
    a = mongo_ask(&f, "{'count':'s'}");
    CHECK_EQ(mongo_number(&a, "n"), 0, "each at its own date, whatever bucket it would be in");
    mongo_face_close(&f);
}

TEST(mongo_series, B_6_the_expiry_is_changed_for_all_and_switched_off)
{
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'s','documents':[{'_id':1,'t':@%d},{'_id':2,'t':@%d}]}",
                         START_MS - 5000, START_MS - 50000));
    CHECK_DONE(mongo_ask(&f, "{'collMod':'s','expireAfterSeconds':10}"));
    struct mongo_answer a = mongo_ask(&f, "{'count':'s'}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "");
    a = mongo_ask(&f, "{'listCollections':1}");
    CHECK_EQ(mongo_number(&a, "cursor.firstBatch.0.options.expireAfterSeconds"), 10, "");
    CHECK_DONE(mongo_ask(&f, "{'collMod':'s','expireAfterSeconds':'off'}"));
    world_pass(&f.world, 100000);
    a = mongo_ask(&f, "{'count':'s'}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "B-5: what was dead stays dead");
    a = mongo_ask(&f, "{'listCollections':1}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.options.expireAfterSeconds"), "");
    mongo_face_close(&f);
}

TEST(mongo_series, spans_only_become_longer)
{
    const struct {
        const char *change;
        int code;
    } rows[] = {
        {"'timeseries':{'granularity':'seconds'}",                                       0    },
        { "'timeseries':{'granularity':'minutes'}",                                      0    },
        { "'timeseries':{'granularity':'seconds'}",                                      72   },
        { "'timeseries':{'granularity':'days'}",                                         2    },
        { "'timeseries':{}",                                                             72   },
        { "'timeseries':{'timeField':'x'}",                                              40415},
        { "'timeseries':{'bucketMaxSpanSeconds':100000}",                                72   },
        { "'timeseries':{'bucketMaxSpanSeconds':100000,'bucketRoundingSeconds':100000}", 0    },
        { "'timeseries':{'bucketMaxSpanSeconds':10,'bucketRoundingSeconds':10}",         72   },
        { "'timeseries':{'granularity':'hours'}",                                        0    },
        { "'validator':{}",                                                              72   },
        { "'index':{'name':'m_1_t_1','expireAfterSeconds':5}",                           72   },
        { "'index':{'name':'m_1_t_1','hidden':true}",                                    0    },
    };
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "");
    EACH_ROW(rows, r) {
        struct mongo_answer a = mongo_ask(&f, "{'collMod':'s',%s}", r->change);
        CHECK_EQ(a.code, r->code, "%s: %s", r->change, a.message ? a.message : "");
    }
    struct mongo_answer a = mongo_ask(&f, "{'listCollections':1}");
    CHECK_STRING(mongo_text(&f, &a, "cursor.firstBatch.0.options.timeseries"),
                 "{\"timeField\":\"t\",\"metaField\":\"m\",\"granularity\":\"hours\","
                 "\"bucketMaxSpanSeconds\":2592000}");
    CHECK_DONE(mongo_ask(&f, "{'create':'plain'}"));
    CHECK_FAULT(mongo_ask(&f, "{'collMod':'plain','timeseries':{'granularity':'hours'}}"), 72);
    mongo_face_close(&f);
}

TEST(mongo_series, there_are_no_buckets_and_no_writes_in_transactions)
{
    struct mongo_face f;

    open_at_start(&f);
    make_series(&f, "");
    CHECK_DONE(mongo_ask(&f, "{'insert':'s','documents':[{'t':@5}]}"));
    CHECK_STRING(mongo_found(&f, "system.buckets.s", "{}"), "[]");
    CHECK_FAULT(mongo_ask(&f, "{'insert':'system.buckets.s','documents':[{}]}"), 73);
    CHECK_FAULT(mongo_ask(&f, "{'insert':'s','documents':[{'t':@5}],'lsid':" LSID(
                                  "1") ","
                                       "'txnNumber':{'$numberLong':'1'},'autocommit':false,"
                                       "'startTransaction':true}"),
                ERROR_OperationNotSupportedInTransaction);
    CHECK_FAULT(mongo_ask(&f, "{'renameCollection':'db.s','to':'db.z','$db':'admin'}"), 20);
    mongo_face_close(&f);
}
