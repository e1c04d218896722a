/* Validators: which documents are refused, what the error says, and who may pass all the same. */
#include "tests/support/mongo_face.h"

static int64_t code_of(const struct mongo_answer *answer)
{
    struct value found;

    if (answer->code != 0)
        return answer->code;
    return document_find(answer->document, "writeErrors", &found)
               ? mongo_number(answer, "writeErrors.0.code")
               : 0;
}

static void open_with(struct mongo_face *f, const char *options)
{
    mongo_face_open(f);
    CHECK_DONE(mongo_ask(f, "{'create':'c',%s}", options));
}

TEST(mongo_validator, bad_validators_are_refused_when_they_are_set)
{
    const struct {
        const char *options;
        int code;
    } rows[] = {
        {"'validator':{'$bad':1}",                            2 },
        { "'validator':{'n':{'$gt':1,'$nope':2}}",            2 },
        { "'validator':7",                                    14},
        { "'validationLevel':'loose'",                        2 },
        { "'validationAction':'shout'",                       2 },
        { "'validator':{'n':1},'validationLevel':'moderate'", 0 },
        { "'validator':{'n':1},'validationAction':'warn'",    0 },
    };
    struct mongo_face f;

    open_with(&f, "'validator':{'n':{'$gt':0}}");
    EACH_ROW(rows, r) {
        struct mongo_answer a = mongo_ask(&f, "{'collMod':'c',%s}", r->options);
        CHECK_EQ(a.code, r->code, "collMod %s", r->options);
        a = mongo_ask(&f, "{'create':'d',%s}", r->options);
        CHECK_EQ(a.code, r->code, "create %s", r->options);
        if (a.code == 0)
            CHECK_DONE(mongo_ask(&f, "{'drop':'d'}"));
    }
    CHECK_FAULT(mongo_ask(&f, "{'create':'d','validator':{'n':1},'$db':'config'}"), 72);
    mongo_face_close(&f);
}

TEST(mongo_validator, levels_and_actions_decide_what_is_refused)
{
    const struct {
        const char *why, *options;
        int64_t insert, repair_of_bad, spoiling_of_good;
    } rows[] = {
        {"strict is the default", "'validationLevel':'strict','validationAction':'error'",   121,
         121,                                                                                        121},
        { "moderate",             "'validationLevel':'moderate','validationAction':'error'", 121, 0, 121},
        { "off",                  "'validationLevel':'off','validationAction':'error'",      0,   0, 0  },
        { "warn",                 "'validationLevel':'strict','validationAction':'warn'",    0,   0, 0  },
    };
    EACH_ROW(rows, r) {
        struct mongo_face f;
        mongo_face_open(&f);
        CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'n':-1},{'_id':2,'n':1}]}"));
        CHECK_DONE(mongo_ask(&f, "{'collMod':'c','validator':{'n':{'$gt':0}},%s}", r->options));
        struct mongo_answer a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':3,'n':-3}]}");
        CHECK_EQ(code_of(&a), r->insert, "%s: insert", r->why);
        a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'x':1}}}]}");
        CHECK_EQ(code_of(&a), r->repair_of_bad, "%s: a bad one that stays bad", r->why);
        a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':2},'u':{'$set':{'n':-2}}}]}");
        CHECK_EQ(code_of(&a), r->spoiling_of_good, "%s: a good one that becomes bad", r->why);
        a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'n':5}}}]}");
        CHECK_EQ(code_of(&a), 0, "%s: a bad one that becomes good", r->why);
        mongo_face_close(&f);
    }
}

TEST(mongo_validator, a_command_may_ask_to_pass_by)
{
    struct mongo_face f;

    open_with(&f, "'validator':{'n':{'$gt':0}}");
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'n':0}],"
                             "'bypassDocumentValidation':true}"));
    CHECK_DONE(mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},'u':{'$set':{'n':-1}}}],"
                             "'bypassDocumentValidation':true}"));
    CHECK_DONE(mongo_ask(&f, "{'findAndModify':'c','query':{'_id':1},'update':{'$inc':{'n':-1}},"
                             "'bypassDocumentValidation':true}"));
    CHECK_STRING(mongo_found(&f, "c", "{}"), "[{\"_id\":1,\"n\":-2}]");
    CHECK_FAULT(mongo_ask(&f, "{'findAndModify':'c','query':{'_id':1},"
                              "'update':{'$inc':{'n':-1}}}"),
                121);
    mongo_face_close(&f);
}

TEST(mongo_validator, the_error_says_what_was_not_fulfilled)
{
    struct mongo_face f;

    open_with(&f, "'validator':{'n':{'$gt':0}}");
    struct mongo_answer a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':'x','n':-3}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.errInfo"),
                 "{\"failingDocumentId\":\"x\",\"details\":{\"operatorName\":\"$gt\","
                 "\"specifiedAs\":{\"n\":{\"$gt\":0}},\"reason\":\"comparison failed\","
                 "\"consideredValue\":-3,\"consideredType\":\"int\"}}");
    a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':'y'}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.errInfo.details.reason"),
                 "\"field was missing\"");
    CHECK_DONE(mongo_ask(&f, "{'collMod':'c','validator':{'n':{'$gt':0,'$lt':9},'k':'a',"
                             "'$expr':{'$eq':['$n','$m']}}}"));
    a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':'z','n':9,'m':9,'k':'b'}]}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.errInfo.details.operatorName"), "\"$and\"");
    CHECK_EQ(mongo_number(&a, "writeErrors.0.errInfo.details.clausesNotSatisfied.0.index"), 1, "");
    CHECK_STRING(
        mongo_text(&f, &a,
                   "writeErrors.0.errInfo.details.clausesNotSatisfied.1.details.specifiedAs"),
        "{\"k\":\"a\"}");
    CHECK_STRING(mongo_text(&f, &a, "writeErrors.0.errInfo.details.clausesNotSatisfied.2"), "");
    mongo_face_close(&f);
}
