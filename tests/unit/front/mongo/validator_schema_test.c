/* Validators with $jsonSchema: what the error says about each kind of rule. */
#include "tests/support/mongo_face.h"

/* What a document is refused for, as the rows of the error; "" if it is not refused. */
static const char *refusal(struct mongo_face *f, const char *schema, const char *document)
{
    CHECK_DONE(mongo_ask(f, "{'collMod':'c','validator':{'$jsonSchema':%s}}", schema));
    struct mongo_answer a = mongo_ask(f, "{'insert':'c','documents':[%s]}", document);
    if (mongo_number(&a, "n") == 1) {
        CHECK_DONE(mongo_ask(f, "{'delete':'c','deletes':[{'q':{},'limit':0}]}"));
        return "";
    }
    CHECK_EQ(mongo_number(&a, "writeErrors.0.code"), 121, "%s", schema);
    CHECK_STRING(mongo_text(f, &a, "writeErrors.0.errInfo.details.operatorName"),
                 "\"$jsonSchema\"");
    return mongo_text(f, &a, "writeErrors.0.errInfo.details.schemaRulesNotSatisfied");
}

TEST(mongo_validator_schema, each_rule_tells_what_it_did_not_find)
{
#define OF_A(details)                                                                        \
    "[{\"operatorName\":\"properties\",\"propertiesNotSatisfied\":[{\"propertyName\":\"a\"," \
    "\"details\":[" details "]}]}]"
    const struct {
        const char *schema, *document, *want;
    } rows[] = {
        {"{'properties':{'a':{'bsonType':'int'}}}",                                "{'a':1}",         ""},
        { "{'properties':{'a':{'bsonType':'int'}}}",                               "{'a':'x'}",
         OF_A("{\"operatorName\":\"bsonType\",\"specifiedAs\":{\"bsonType\":\"int\"},"
               "\"reason\":\"type did not match\",\"consideredValue\":\"x\","
               "\"consideredType\":\"string\"}")                                                        },
        { "{'properties':{'a':{'type':'number'}}}",                                "{'a':null}",
         OF_A("{\"operatorName\":\"type\",\"specifiedAs\":{\"type\":\"number\"},"
               "\"reason\":\"type did not match\",\"consideredValue\":null,"
               "\"consideredType\":\"null\"}")                                                          },
        { "{'properties':{'a':{'minimum':5,'exclusiveMinimum':true}}}",            "{'a':5}",
         OF_A("{\"operatorName\":\"minimum\",\"specifiedAs\":{\"minimum\":5,"
               "\"exclusiveMinimum\":true},\"reason\":\"comparison failed\","
               "\"consideredValue\":5}")                                                                },
        { "{'properties':{'a':{'maxLength':1}}}",                                  "{'a':'ab'}",
         OF_A("{\"operatorName\":\"maxLength\",\"specifiedAs\":{\"maxLength\":1},"
               "\"reason\":\"specified string length was not satisfied\","
               "\"consideredValue\":\"ab\"}")                                                           },
        { "{'properties':{'a':{'uniqueItems':true}}}",                             "{'a':[1,2,1]}",
         OF_A("{\"operatorName\":\"uniqueItems\",\"specifiedAs\":{\"uniqueItems\":true},"
               "\"reason\":\"found a duplicate item\",\"consideredValue\":[1,2,1],"
               "\"duplicatedValue\":1}")                                                                },
        { "{'properties':{'a':{'minItems':2}}}",                                   "{'a':[1]}",
         OF_A("{\"operatorName\":\"minItems\",\"specifiedAs\":{\"minItems\":2},"
               "\"reason\":\"array did not match specified length\",\"consideredValue\":[1],"
               "\"numberOfItems\":1}")                                                                  },
        { "{'properties':{'a':{'items':{'bsonType':'int','title':'T'}}}}",         "{'a':[1,'x']}",
         OF_A("{\"operatorName\":\"items\",\"title\":\"T\","
               "\"reason\":\"At least one item did not match the sub-schema\",\"itemIndex\":1,"
               "\"details\":[{\"operatorName\":\"bsonType\","
               "\"specifiedAs\":{\"bsonType\":\"int\"},\"reason\":\"type did not match\","
               "\"consideredValue\":\"x\",\"consideredType\":\"string\"}]}")                            },
        { "{'properties':{'a':{'items':[{'enum':[1]}],'additionalItems':false}}}", "{'a':[2,3]}",
         OF_A("{\"operatorName\":\"items\",\"details\":[{\"itemIndex\":0,\"details\":["
               "{\"operatorName\":\"enum\",\"specifiedAs\":{\"enum\":[1]},"
               "\"reason\":\"value was not found in enum\",\"consideredValue\":2}]}]},"
               "{\"operatorName\":\"additionalItems\","
               "\"specifiedAs\":{\"additionalItems\":false},"
               "\"reason\":\"found additional items\",\"additionalItems\":[3]}")                        },
        { "{'required':['a','_id','b']}",                                          "{'a':1}",
         "[{\"operatorName\":\"required\",\"specifiedAs\":{\"required\":[\"a\",\"_id\",\"b\"]},"
          "\"missingProperties\":[\"b\"]}]"                                                             },
        { "{'maxProperties':1}",                                                   "{'a':1}",
         "[{\"operatorName\":\"maxProperties\",\"specifiedAs\":{\"maxProperties\":1},"
          "\"reason\":\"specified number of properties was not satisfied\","
          "\"numberOfProperties\":2}]"                                                                  },
        { "{'properties':{'_id':{}},'additionalProperties':false}",                "{'a':1,'b':2}",
         "[{\"operatorName\":\"additionalProperties\","
          "\"specifiedAs\":{\"additionalProperties\":false},"
          "\"additionalProperties\":[\"a\",\"b\"]}]"                                                    },
        { "{'properties':{'_id':{}},'additionalProperties':{'minimum':3}}",        "{'a':3,'b':2}",
         "[{\"operatorName\":\"additionalProperties\","
          "\"reason\":\"at least one additional property did not match the subschema\","
          "\"failingProperty\":\"b\",\"details\":[{\"operatorName\":\"minimum\","
          "\"specifiedAs\":{\"minimum\":3},\"reason\":\"comparison failed\","
          "\"consideredValue\":2}]}]"                                                                   },
        { "{'patternProperties':{'^n':{'minimum':3}}}",                            "{'n1':3,'n2':2}",
         "[{\"operatorName\":\"patternProperties\",\"details\":[{\"propertyName\":\"n2\","
          "\"regexMatched\":\"^n\",\"details\":[{\"operatorName\":\"minimum\","
          "\"specifiedAs\":{\"minimum\":3},\"reason\":\"comparison failed\","
          "\"consideredValue\":2}]}]}]"                                                                 },
        { "{'dependencies':{'a':['b'],'c':{'required':['d']}}}",                   "{'a':1,'c':1}",
         "[{\"operatorName\":\"dependencies\",\"failingDependencies\":["
          "{\"conditionalProperty\":\"a\",\"missingProperties\":[\"b\"]},"
          "{\"conditionalProperty\":\"c\",\"details\":[{\"operatorName\":\"required\","
          "\"specifiedAs\":{\"required\":[\"d\"]},\"missingProperties\":[\"d\"]}]}]}]"                  },
        { "{'anyOf':[{'required':['x']},{'required':['y'],'description':'D'}]}",   "{'a':1}",
         "[{\"operatorName\":\"anyOf\",\"schemasNotSatisfied\":[{\"index\":0,\"details\":["
          "{\"operatorName\":\"required\",\"specifiedAs\":{\"required\":[\"x\"]},"
          "\"missingProperties\":[\"x\"]}]},{\"index\":1,\"description\":\"D\",\"details\":["
          "{\"operatorName\":\"required\",\"specifiedAs\":{\"required\":[\"y\"]},"
          "\"missingProperties\":[\"y\"]}]}]}]"                                                         },
        { "{'oneOf':[{},{'required':['y']},{'required':['a']}]}",                  "{'a':1}",
         "[{\"operatorName\":\"oneOf\",\"reason\":\"more than one subschema matched\","
          "\"matchingSchemaIndexes\":[0,2]}]"                                                           },
        { "{'not':{'required':['a']}}",                                            "{'a':1}",
         "[{\"operatorName\":\"not\",\"reason\":\"child expression matched\"}]"                         },
    };
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c'}"));
    EACH_ROW(rows, r)
        CHECK_STRING(refusal(&f, r->schema, r->document), r->want);
    mongo_face_close(&f);
}

TEST(mongo_validator_schema, properties_come_before_what_is_missing_and_bring_their_description)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','validator':{'$jsonSchema':{'bsonType':'object',"
                             "'title':'Students','required':['name','year'],'properties':{"
                             "'year':{'bsonType':'int','maximum':3017,"
                             "'description':'a year, please'}}}}}"));
    struct mongo_answer a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':7,'year':3019}]}");
    CHECK_STRING(
        mongo_text(&f, &a, "writeErrors.0.errInfo"),
        "{\"failingDocumentId\":7,\"details\":{\"operatorName\":\"$jsonSchema\","
        "\"title\":\"Students\",\"schemaRulesNotSatisfied\":["
        "{\"operatorName\":\"properties\",\"propertiesNotSatisfied\":["
        "{\"propertyName\":\"year\",\"description\":\"a year, please\",\"details\":["
        "{\"operatorName\":\"maximum\",\"specifiedAs\":{\"maximum\":3017},"
        "\"reason\":\"comparison failed\",\"consideredValue\":3019}]}]},"
        "{\"operatorName\":\"required\",\"specifiedAs\":{\"required\":[\"name\",\"year\"]},"
        "\"missingProperties\":[\"name\"]}]}}");
    mongo_face_close(&f);
}

TEST(mongo_validator_schema, a_schema_beside_other_conditions_is_one_clause)
{
    const char *clause = "writeErrors.0.errInfo.details.clausesNotSatisfied.0";
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','validator':{'$jsonSchema':{'required':['a']},"
                             "'b':{'$gt':1}}}"));
    struct mongo_answer a = mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'b':2}]}");
    CHECK_STRING(mongo_text(&f, &a, clause),
                 "{\"index\":0,\"details\":{\"operatorName\":\"$jsonSchema\","
                 "\"schemaRulesNotSatisfied\":[{\"operatorName\":\"required\","
                 "\"specifiedAs\":{\"required\":[\"a\"]},\"missingProperties\":[\"a\"]}]}}");
    mongo_face_close(&f);
}

TEST(mongo_validator_schema, every_command_with_a_filter_takes_a_schema)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1,'a':1},{'_id':2,'a':'x'},"
                             "{'_id':3,'a':3}]}"));
#define WHOLE "{'$jsonSchema':{'properties':{'a':{'bsonType':'int'}}}}"
    CHECK_STRING(mongo_found(&f, "c", WHOLE), "[{\"_id\":1,\"a\":1},{\"_id\":3,\"a\":3}]");
    struct mongo_answer a = mongo_ask(&f, "{'count':'c','query':" WHOLE "}");
    CHECK_EQ(mongo_number(&a, "n"), 2, "count");
    a = mongo_ask(&f, "{'aggregate':'c','pipeline':[{'$match':" WHOLE "},"
                      "{'$count':'n'}],'cursor':{}}");
    CHECK_EQ(mongo_number(&a, "cursor.firstBatch.0.n"), 2, "$match");
    a = mongo_ask(&f, "{'update':'c','updates':[{'q':" WHOLE ",'u':{'$set':{'b':1}},"
                      "'multi':true}]}");
    CHECK_EQ(mongo_number(&a, "nModified"), 2, "update");
    a = mongo_ask(&f, "{'delete':'c','deletes':[{'q':{'$nor':[" WHOLE "]},'limit':0}]}");
    CHECK_EQ(mongo_number(&a, "n"), 1, "delete");
    CHECK_FAULT(mongo_ask(&f, "{'createIndexes':'c','indexes':[{'key':{'a':1},'name':'a_1',"
                              "'partialFilterExpression':" WHOLE "}]}"),
                67);
    mongo_face_close(&f);
}

/* A document may be large, and a schema may speak of it many times. */
TEST(mongo_validator_schema, what_is_told_about_a_large_document_is_bounded)
{
    struct mongo_face f;

    mongo_face_open(&f);
    CHECK_DONE(mongo_ask(&f, "{'create':'c','validator':{'$jsonSchema':{'properties':{'a':{"
                             "'allOf':[{'maxItems':1},{'maxItems':2},{'maxItems':3},"
                             "{'maxItems':4},{'maxItems':5},{'maxItems':6}]}}}}}"));
    CHECK_DONE(mongo_ask(&f, "{'insert':'c','documents':[{'_id':1}]}"));
    struct mongo_answer a = mongo_ask(&f, "{'update':'c','updates':[{'q':{'_id':1},"
                                          "'u':[{'$set':{'a':{'$range':[0,30000]}}}]}]}");
    CHECK_EQ(mongo_number(&a, "writeErrors.0.code"), 121, "");
    CHECK(a.document.len > 300 * 1024);
    CHECK(a.document.len < 1200 * 1024);
    CHECK_EQ(mongo_number(&a, "writeErrors.0.errInfo.details.schemaRulesNotSatisfied.0."
                              "propertiesNotSatisfied.0.details.0.schemasNotSatisfied.5.index"),
             5, "all of them are named");
    mongo_face_close(&f);
}
