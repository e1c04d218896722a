/* Items one by one: create, upsert, read, replace, delete, and what is refused. */
#include "front/cosmos/item.h"

#include <stdio.h>

#include "tests/support/items.h"

#define P "pk: ['p']"

/* ---- what comes back -------------------------------------------------------------------------------- */

TEST(item, what_is_created_comes_back_in_its_order_with_system_properties_behind)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made =
        item_create(&f, P, "{'z':1,'id':'a','pk':'p','n':{'y':[1,2.5,'x'],'b':null},'_ts':7}");
    CHECK_ANSWER(made, 201);
    CHECK(
        cosmos_body_has(&made, "{'z':1,'id':'a','pk':'p','n':{'y':[1,2.5,'x'],'b':null},'_rid':"));
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_ANSWER(read, 200);
    CHECK_BYTES(read.body, made.body, "the reply of the create is what is read");
    CHECK_EQ(cosmos_value(&f, &read, "_ts").len, 10, "");
    CHECK_STRING(item_text(&f, &read, "_attachments"), "attachments/");
    CHECK_EQ(strlen(item_text(&f, &read, "_rid")), 24, "");
    const char *self = item_text(&f, &read, "_self");
    CHECK_THAT(strncmp(self, "dbs/", 4) == 0 && strstr(self, "/colls/") && strstr(self, "/docs/"),
               "%s", self);
    CHECK(cosmos_header(&read, "etag").len > 0);
    CHECK_THAT(strstr(item_text(&f, &read, "_self"), item_text(&f, &read, "_rid")) != NULL, "%s",
               self);
    items_close(&f);
}

TEST(item, the_etag_property_is_the_etag_header_with_its_quotes)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p'}");
    bytes body;
    struct value etag;
    CHECK_OK(json_read(f.world.arena, made.body, &body));
    CHECK(document_find(body, "_etag", &etag));
    CHECK_BYTES(value_text(etag), cosmos_header(&made, "etag"), "");
    items_close(&f);
}

TEST(item, numbers_and_texts_survive_unchanged)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P,
                             "{'id':'a','pk':'p','big':9223372036854775807,"
                             "'low':-9223372036854775808,'more':12345678901234567890,'half':0.5,"
                             "'text':'gr\\u00fc\\u00dfe \\ud83d\\ude00 \\n'}"),
                 201);
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_TEXT(cosmos_value(&f, &read, "big"), "9223372036854775807");
    CHECK_TEXT(cosmos_value(&f, &read, "low"), "-9223372036854775808");
    CHECK_TEXT(cosmos_value(&f, &read, "more"), "1.2345678901234567e+19");
    CHECK_TEXT(cosmos_value(&f, &read, "half"), "0.5");
    CHECK_TEXT(cosmos_value(&f, &read, "text"), "\"gr\xc3\xbc\xc3\x9f"
                                                "e \xf0\x9f\x98\x80 \\n\"");
    items_close(&f);
}

TEST(item, system_properties_and_names_given_twice_are_not_stored)
{
    const struct {
        const char *why, *in, *out;
    } rows[] = {
        {"nothing to do",          "{'a':1,'b':{'c':[1,{'d':2}]}}",              "{'a':1,'b':{'c':[1,{'d':2}]}}"},
        { "system properties go",
         "{'_rid':1,'a':1,'_self':2,'_etag':3,'_attachments':4,'_ts':5,'_t':6}", "{'a':1,'_t':6}"               },
        { "only at the top",       "{'a':{'_ts':5}}",                            "{'a':{'_ts':5}}"              },
        { "the last of two stays", "{'a':1,'b':2,'a':3}",                        "{'b':2,'a':3}"                },
        { "of three too",          "{'a':1,'a':2,'a':3}",                        "{'a':3}"                      },
        { "inside of objects",     "{'x':{'a':1,'b':2,'a':{'c':1,'c':2}}}",
         "{'x':{'b':2,'a':{'c':2}}}"                                                                            },
        { "inside of arrays",      "{'x':[0,{'a':1,'a':2},[{'b':1,'b':2}]]}",
         "{'x':[0,{'a':2},[{'b':2}]]}"                                                                          },
        { "an empty name is one",  "{'':1,'':2}",                                "{'':2}"                       },
    };
    struct arena *arena = arena_open(1 << 20);

    EACH_ROW(rows, r) {
        char in[256], out[256];
        bytes document;
        struct item_cleaned cleaned;
        struct buffer text = buffer_in(arena);
        for (size_t i = 0; i <= strlen(r->in); i++)
            in[i] = r->in[i] == '\'' ? '"' : r->in[i];
        for (size_t i = 0; i <= strlen(r->out); i++)
            out[i] = r->out[i] == '\'' ? '"' : r->out[i];
        CHECK_OK(json_read(arena, bytes_of_text(in), &document));
        CHECK_OK(item_clean(arena, document, &cleaned));
        CHECK_OK(document_check(arena, cleaned.document));
        json_write(&text, cleaned.document);
        CHECK_BYTES(bytes_of(text.data, text.len), bytes_of_text(out), r->why);
    }
    arena_close(arena);
}

TEST(item, names_given_twice_are_found_among_many)
{
    struct arena *arena = arena_open(1 << 24);

    for (size_t count = 1; count < 200; count += 7) {
        struct buffer text = buffer_in(arena);
        bytes document;
        struct item_cleaned cleaned;
        struct value value;
        buffer_append_text(&text, "{");
        for (size_t i = 0; i < count; i++)
            buffer_append_format(&text, "\"n%zu\":%zu,", i, i);
        buffer_append_format(&text, "\"n%zu\":\"last\"}", count / 2);
        CHECK_OK(json_read(arena, bytes_of(text.data, text.len), &document));
        CHECK_OK(item_clean(arena, document, &cleaned));
        char name[32];
        snprintf(name, sizeof(name), "n%zu", count / 2);
        CHECK(document_find(cleaned.document, name, &value));
        CHECK_EQ(value.type, VALUE_STRING, "%zu", count);
        CHECK_EQ(cleaned.scalar_count, count + 1, "");
    }
    arena_close(arena);
}

/* ---- create and upsert ------------------------------------------------------------------------------ */

TEST(item, a_second_create_with_an_id_is_a_conflict_and_an_upsert_replaces)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','v':1}");
    CHECK_ANSWER(made, 201);
    struct cosmos_answer again = item_create(&f, P, "{'id':'a','pk':'p','v':2}");
    CHECK_ANSWER(again, 409);
    CHECK(cosmos_body_has(&again, "Entity with the specified id already exists in the system."));
    CHECK_ANSWER(item_create(&f, "pk: ['q']", "{'id':'a','pk':'q','v':3}"), 201);
    struct cosmos_answer upserted = item_upsert(&f, P, "{'id':'a','pk':'p','v':4}");
    CHECK_ANSWER(upserted, 200);
    CHECK_STRING(item_text(&f, &upserted, "_rid"), item_text(&f, &made, "_rid"));
    CHECK_THAT(strcmp(item_etag(&f, &upserted), item_etag(&f, &made)) != 0, "a new version");
    CHECK_ANSWER(item_upsert(&f, P, "{'id':'b','pk':'p'}"), 201);
    struct cosmos_answer read = item_read(&f, P, "a");
    CHECK_TEXT(cosmos_value(&f, &read, "v"), "4");
    read = item_read(&f, "pk: ['q']", "a");
    CHECK_TEXT(cosmos_value(&f, &read, "v"), "3");
    items_close(&f);
}

TEST(item, minimal_replies_have_no_body_but_an_etag)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, "pk: ['p']\nprefer: return=minimal",
                                            "{'id':'a','pk':'p'}");
    CHECK_ANSWER(made, 201);
    CHECK_EQ(made.body.len, 0, "");
    CHECK(cosmos_header(&made, "etag").len > 0);
    CHECK_ANSWER(item_read(&f, P, "a"), 200);
    items_close(&f);
}

/* ---- what is refused -------------------------------------------------------------------------------- */

TEST(item, a_bad_body_is_refused_with_what_is_wrong)
{
    const struct {
        const char *body, *text;
    } rows[] = {
        {"",                               "not an item"                       },
        { "[]",                            "not an item"                       },
        { "{'id':'a'",                     "offset 9"                          },
        { "{'pk':'p'}",                    "because the required properties - "},
        { "{'id':7,'pk':'p'}",             "must be a string"                  },
        { "{'id':'','pk':'p'}",            "is empty"                          },
        { "{'id':'a/b','pk':'p'}",         "contains one of"                   },
        { "{'id':'a\\\\b','pk':'p'}",      "contains one of"                   },
        { "{'id':'a#b','pk':'p'}",         "contains one of"                   },
        { "{'id':'a','pk':'p','n':1e400}", "not an item"                       },
        { "{'id':'a','pk':'p','n':NaN}",   "not an item"                       },
    };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    EACH_ROW(rows, r) {
        struct cosmos_answer answer = item_create(&f, "", "%s", r->body);
        CHECK_ANSWER(answer, 400);
        CHECK_THAT(cosmos_body_has(&answer, r->text), "%s: %.*s", r->body, (int)answer.body.len,
                   (const char *)answer.body.data);
    }
    items_close(&f);
}

TEST(item, ids_up_to_1023_bytes_and_of_all_letters_work)
{
    char longest[1025];
    struct cosmos_face f;

    memset(longest, 'i', sizeof(longest));
    longest[1024] = '\0';
    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'%s','pk':'p'}", longest), 400);
    longest[1023] = '\0';
    CHECK_ANSWER(item_create(&f, P, "{'id':'%s','pk':'p'}", longest), 201);
    const struct {
        const char *id, *path;
    } rows[] = {
        {"x?y",               "x?y"           },
        { "x y",              "x%20y"         },
        { "%17",              "%2517"         },
        { "a%2Fb",            "a%252Fb"       },
        { "\\t\\r\\n",        "%09%0D%0A"     },
        { "gr\\u00fc\\u00df", "gr%C3%BC%C3%9F"},
        { "a&b=c+d;e@f",      "a&b=c+d;e@f"   },
        { "docs",             "docs"          },
    };
    EACH_ROW(rows, r) {
        CHECK_ANSWER(item_create(&f, P, "{'id':'%s','pk':'p','v':'%s'}", r->id, r->path), 201);
        struct cosmos_answer read = item_read(&f, P, r->path);
        CHECK_ANSWER(read, 200);
        CHECK_STRING(item_text(&f, &read, "v"), r->path);
        CHECK_ANSWER(item_delete(&f, P, r->path), 204);
    }
    items_close(&f);
}

TEST(item, an_item_of_more_than_two_megabytes_is_too_large)
{
    enum { MUCH = 2 * 1024 * 1024 };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    char *text = memory_take(MUCH + 1);
    memset(text, 'x', MUCH);
    text[MUCH] = '\0';
    struct cosmos_answer answer = item_create(&f, P, "{'id':'a','pk':'p','big':'%s'}", text);
    CHECK_ANSWER(answer, 413);
    CHECK(cosmos_body_has(
        &answer,
        "Message: {\\'Errors\\':[\\'Request size is too large\\']}\\u000d\\u000aActivityId"));
    text[MUCH - 100] = '\0';
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','big':'%s'}", text), 201);
    memory_give(text);
    items_close(&f);
}

TEST(item, nesting_past_the_limit_is_refused_as_such)
{
    char open[129], close[129];
    struct cosmos_face f;

    memset(open, '[', 128);
    memset(close, ']', 128);
    open[128] = close[128] = '\0';
    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','x':%s%s}", open + 1, close + 1), 201);
    struct cosmos_answer answer = item_create(&f, P, "{'id':'a','pk':'p','x':%s%s}", open, close);
    CHECK_ANSWER(answer, 400);
    CHECK(cosmos_body_has(&answer, "nested deeper than 128 levels"));
    items_close(&f);
}

/* ---- conditions ------------------------------------------------------------------------------------- */

static const char *if_match(struct cosmos_face *f, const char *etag)
{
    return arena_format(f->world.arena, "pk: ['p']\nif-match: %s", etag);
}

TEST(item, a_write_with_an_old_etag_fails_its_precondition)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','v':1}");
    const char *first = item_etag(&f, &made);
    struct cosmos_answer replaced = item_replace(&f, if_match(&f, first), "a",
                                                 "{'id':'a','pk':'p','v':2}");
    CHECK_ANSWER(replaced, 200);
    const char *second = item_etag(&f, &replaced);
    struct cosmos_answer refused = item_replace(&f, if_match(&f, first), "a",
                                                "{'id':'a','pk':'p','v':3}");
    CHECK_ANSWER(refused, 412);
    CHECK(cosmos_body_has(&refused, "one of the specified precondition is not met"));
    CHECK_ANSWER(item_upsert(&f, if_match(&f, first), "{'id':'a','pk':'p','v':3}"), 412);
    CHECK_ANSWER(item_delete(&f, if_match(&f, first), "a"), 412);
    CHECK_ANSWER(item_delete(&f, if_match(&f, "'nonsense'"), "a"), 412);
    CHECK_ANSWER(item_upsert(&f, if_match(&f, second), "{'id':'new','pk':'p'}"), 412);
    CHECK_ANSWER(item_read(&f, P, "new"), 404);
    CHECK_ANSWER(item_upsert(&f, if_match(&f, second), "{'id':'a','pk':'p','v':4}"), 200);
    CHECK_ANSWER(item_replace(&f, if_match(&f, "*"), "a", "{'id':'a','pk':'p','v':5}"), 200);
    CHECK_ANSWER(item_delete(&f, if_match(&f, "*"), "a"), 204);
    CHECK_ANSWER(item_replace(&f, if_match(&f, second), "a", "{'id':'a','pk':'p'}"), 404);
    items_close(&f);
}

TEST(item, a_body_is_checked_before_conflicts_and_conditions)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p'}"), 201);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','ttl':0}"), 400);
    CHECK_ANSWER(item_upsert(&f, if_match(&f, "'old'"), "{'id':'a','pk':'p','ttl':0}"), 400);
    CHECK_ANSWER(item_replace(&f, P, "missing", "{'id':'missing','pk':'p','ttl':0}"), 400);
    items_close(&f);
}

TEST(item, a_reader_that_has_the_version_gets_304)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p'}");
    const char *known = arena_format(f.world.arena, "pk: ['p']\nif-none-match: %s",
                                     item_etag(&f, &made));
    struct cosmos_answer answer = item_read(&f, known, "a");
    CHECK_ANSWER(answer, 304);
    CHECK_EQ(answer.body.len, 0, "");
    CHECK_STRING(item_etag(&f, &answer), item_etag(&f, &made));
    CHECK_ANSWER(item_upsert(&f, P, "{'id':'a','pk':'p'}"), 200);
    CHECK_ANSWER(item_read(&f, known, "a"), 200);
    items_close(&f);
}

/* ---- replace and delete ----------------------------------------------------------------------------- */

TEST(item, the_id_and_the_partition_key_of_an_item_cannot_change)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','v':1}"), 201);
    CHECK_ANSWER(item_replace(&f, P, "a", "{'id':'b','pk':'p'}"), 400);
    struct cosmos_answer answer = item_replace(&f, P, "a", "{'id':'a','pk':'q'}");
    CHECK_ANSWER(answer, 400);
    CHECK_TEXT(cosmos_header(&answer, "x-ms-substatus"), "1001");
    CHECK_ANSWER(item_replace(&f, "", "a", "{'id':'a','pk':'q'}"), 404);
    CHECK_ANSWER(item_replace(&f, "", "a", "{'id':'a','pk':'p','v':2}"), 200);
    items_close(&f);
}

TEST(item, what_is_not_there_is_not_found_with_the_text_of_items)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    const struct cosmos_answer answers[] = {
        item_read(&f, P, "a"),
        item_replace(&f, P, "a", "{'id':'a','pk':'p'}"),
        item_delete(&f, P, "a"),
        item_patch(&f, P, "a", "[{'op':'set','path':'/v','value':1}]"),
    };
    EACH_ROW(answers, answer) {
        CHECK_ANSWER(*answer, 404);
        CHECK(
            cosmos_body_has(answer, "Entity with the specified id does not exist in the system."));
    }
    struct cosmos_answer gone = cosmos_ask(&f, "GET /dbs/db/colls/none/docs/a",
                                           "x-ms-documentdb-partitionkey: ['p']", "");
    CHECK_ANSWER(gone, 404);
    CHECK_TEXT(cosmos_header(&gone, "x-ms-substatus"), "1003");
    items_close(&f);
}

TEST(item, a_deleted_item_is_gone_and_a_new_one_is_another)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer first = item_create(&f, P, "{'id':'a','pk':'p'}");
    struct cosmos_answer deleted = item_delete(&f, P, "a");
    CHECK_ANSWER(deleted, 204);
    CHECK_EQ(deleted.body.len, 0, "");
    CHECK_ANSWER(item_delete(&f, P, "a"), 404);
    CHECK_ANSWER(item_read(&f, P, "a"), 404);
    struct cosmos_answer second = item_create(&f, P, "{'id':'a','pk':'p'}");
    CHECK_ANSWER(second, 201);
    CHECK_THAT(strcmp(item_text(&f, &first, "_rid"), item_text(&f, &second, "_rid")) != 0,
               "a new life has a new resource id");
    items_close(&f);
}

TEST(item, an_item_can_be_named_by_its_resource_id)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'id':'other','pk':'p'}"), 201);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p','v':1}");
    const char *rid = item_text(&f, &made, "_rid");
    struct cosmos_answer read = item_read(&f, P, rid);
    CHECK_ANSWER(read, 200);
    CHECK_STRING(item_text(&f, &read, "id"), "a");
    CHECK_ANSWER(item_read(&f, "pk: ['q']", rid), 404);
    CHECK_ANSWER(item_replace(&f, P, rid, "{'id':'a','pk':'p','v':2}"), 200);
    CHECK_ANSWER(item_replace(&f, P, rid, "{'id':'b','pk':'p','v':2}"), 400);
    CHECK_ANSWER(item_patch(&f, P, rid, "[{'op':'incr','path':'/v','value':1}]"), 200);
    read = item_read(&f, P, "a");
    CHECK_TEXT(cosmos_value(&f, &read, "v"), "3");
    CHECK_ANSWER(item_delete(&f, P, rid), 204);
    CHECK_ANSWER(item_read(&f, P, "a"), 404);
    CHECK_ANSWER(item_read(&f, P, rid), 404);
    CHECK_ANSWER(item_replace(&f, P, rid, "{'id':'a','pk':'p','v':2}"), 404);
    CHECK_ANSWER(item_read(&f, P, "other"), 200);
    items_close(&f);
}

/* ---- charge ----------------------------------------------------------------------------------------- */

TEST(item, C_11_the_charge_does_not_depend_on_time_to_live)
{
    struct cosmos_face with, without;

    items_open(&with, 100);
    items_open(&without, TTL_OFF);
    const struct cosmos_answer a[] = { item_create(&with, P, "{'id':'a','pk':'p','v':1}"),
                                       item_read(&with, P, "a"),
                                       item_upsert(&with, P, "{'id':'a','pk':'p','v':2}"),
                                       item_feed(&with, ""), item_delete(&with, P, "a") };
    const struct cosmos_answer b[] = { item_create(&without, P, "{'id':'a','pk':'p','v':1}"),
                                       item_read(&without, P, "a"),
                                       item_upsert(&without, P, "{'id':'a','pk':'p','v':2}"),
                                       item_feed(&without, ""), item_delete(&without, P, "a") };
    for (size_t i = 0; i < ARRAY_COUNT(a); i++)
        CHECK_BYTES(cosmos_header(&a[i], "x-ms-request-charge"),
                    cosmos_header(&b[i], "x-ms-request-charge"), "");
    items_close(&with);
    items_close(&without);
}

TEST(item, C_11_the_charge_does_not_depend_on_the_dead)
{
    struct cosmos_face f;

    items_open(&f, TTL_NEVER);
    CHECK_ANSWER(item_create(&f, P, "{'id':'stays','pk':'p'}"), 201);
    struct cosmos_answer before = item_feed(&f, P);
    for (int i = 0; i < 20; i++)
        CHECK_ANSWER(item_create(&f, P, "{'id':'%d','pk':'p','ttl':5}", i), 201);
    world_pass(&f.world, 5000);
    struct cosmos_answer after = item_feed(&f, P);
    CHECK_STRING(item_ids(&f, &after), "stays");
    CHECK_BYTES(cosmos_header(&after, "x-ms-request-charge"),
                cosmos_header(&before, "x-ms-request-charge"), "");
    items_close(&f);
}

static const char *repeated(struct cosmos_face *f, const char *what, size_t count)
{
    struct buffer text = buffer_in(f->world.arena);
    bytes out;

    for (size_t i = 0; i < count; i++)
        buffer_append_text(&text, what);
    buffer_append_byte(&text, 0);
    CHECK_OK(buffer_finish(&text, &out));
    return (const char *)out.data;
}

TEST(item, what_is_too_much_is_said_with_its_limit)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_create(&f, P, "{'id':'a','pk':'p','%s':1}",
                                              repeated(&f, "n", LIMIT_KEY_BYTES));
    CHECK_ANSWER(answer, 413);
    CHECK(cosmos_body_has(&answer, "an index entry would have"));
    answer = item_query(&f, "",
                        arena_format(f.world.arena, "SELECT VALUE %s1%s",
                                     repeated(&f, "(", LIMIT_QUERY_DEPTH + 1),
                                     repeated(&f, ")", LIMIT_QUERY_DEPTH + 1)));
    CHECK_ANSWER(answer, 400);
    CHECK(cosmos_body_has(&answer, "nested more than 200 deep"));
    items_close(&f);
}

TEST(item, white_space_behind_a_header_is_not_part_of_it)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer made = item_create(&f, P, "{'id':'a','pk':'p'}");
    const char *headers = arena_format(f.world.arena, "pk: ['p']\nif-match: %s \t",
                                       item_etag(&f, &made));
    CHECK_ANSWER(item_replace(&f, headers, "a", "{'id':'a','pk':'p','v':1}"), 200);
    CHECK_ANSWER(
        item_create(&f, "pk: ['p']\nx-ms-documentdb-is-upsert: true ", "{'id':'a','pk':'p'}"), 200);
    items_close(&f);
}
