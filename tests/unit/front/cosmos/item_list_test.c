/* Pages of items: the feed and queries, and the tokens between their pages. */
#include <stdio.h>

#include "tests/support/items.h"

#define P "pk: ['p']"

static const char *next_page(struct cosmos_face *f, const struct cosmos_answer *page,
                             const char *headers)
{
    bytes token = cosmos_header(page, "x-ms-continuation");

    CHECK(token.len > 0);
    return arena_format(f->world.arena, "%s%sx-ms-continuation: %.*s", headers,
                        *headers ? "\n" : "", (int)token.len, (const char *)token.data);
}

static void fill(struct cosmos_face *f, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_ANSWER(item_create(f, "", "{'id':'%03d','pk':'%s','n':%d}", i, i % 2 ? "q" : "p", i),
                     201);
}

/* ---- the feed --------------------------------------------------------------------------------------- */

TEST(item_list, pages_give_every_item_once)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 25);
    for (int size = 1; size <= 26; size += 5) {
        char headers[64];
        size_t seen = 0;
        snprintf(headers, sizeof(headers), "x-ms-max-item-count: %d", size);
        struct cosmos_answer page = item_feed(&f, headers);
        for (;;) {
            CHECK_ANSWER(page, 200);
            bytes count = cosmos_value(&f, &page, "_count");
            CHECK_BYTES(cosmos_header(&page, "x-ms-item-count"), count, "");
            size_t here = strlen(item_ids(&f, &page)) ? (strlen(item_ids(&f, &page)) + 1) / 4 : 0;
            CHECK(here > 0 && here <= (size_t)size);
            seen += here;
            if (cosmos_header(&page, "x-ms-continuation").len == 0)
                break;
            page = item_feed(&f, next_page(&f, &page, headers));
        }
        CHECK_EQ(seen, 25, "in pages of %d", size);
    }
    items_close(&f);
}

TEST(item_list, an_exact_last_page_has_no_token)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 4);
    struct cosmos_answer page = item_feed(&f, "x-ms-max-item-count: 4");
    CHECK_EQ(cosmos_header(&page, "x-ms-continuation").len, 0, "");
    page = item_feed(&f, "pk: ['p']\nx-ms-max-item-count: 1");
    CHECK_STRING(item_ids(&f, &page), "000");
    page = item_feed(&f, next_page(&f, &page, "pk: ['p']"));
    CHECK_STRING(item_ids(&f, &page), "002");
    CHECK_EQ(cosmos_header(&page, "x-ms-continuation").len, 0, "");
    items_close(&f);
}

TEST(item_list, what_changes_between_pages_neither_hides_nor_repeats_others)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    for (int i = 0; i < 6; i++)
        CHECK_ANSWER(item_create(&f, P, "{'id':'%d','pk':'p'}", i), 201);
    struct cosmos_answer page = item_feed(&f, "x-ms-max-item-count: 2");
    CHECK_STRING(item_ids(&f, &page), "0 1");
    CHECK_ANSWER(item_delete(&f, P, "0"), 204);
    CHECK_ANSWER(item_delete(&f, P, "1"), 204);
    CHECK_ANSWER(item_delete(&f, P, "2"), 204);
    CHECK_ANSWER(item_create(&f, P, "{'id':'00','pk':'p'}"), 201);
    CHECK_ANSWER(item_upsert(&f, P, "{'id':'4','pk':'p'}"), 200);
    page = item_feed(&f, next_page(&f, &page, "x-ms-max-item-count: 10"));
    CHECK_STRING(item_ids(&f, &page), "3 4 5");
    items_close(&f);
}

TEST(item_list, page_sizes_are_checked)
{
    const struct {
        const char *size;
        unsigned want;
    } rows[] = {
        {"abc",          400},
        { "-2",          400},
        { "1.5",         400},
        { "99999999999", 400},
        { "0",           200},
        { "-1",          200},
        { "5000",        200},
    };
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 3);
    EACH_ROW(rows, r) {
        char headers[64];
        snprintf(headers, sizeof(headers), "x-ms-max-item-count: %s", r->size);
        struct cosmos_answer page = item_feed(&f, headers);
        CHECK_ANSWER(page, r->want);
        if (r->want == 400) {
            CHECK(cosmos_body_has(&page, "The input PageSize "));
        } else {
            CHECK_STRING(item_ids(&f, &page), "000 002 001");
        }
    }
    items_close(&f);
}

/* ---- tokens ----------------------------------------------------------------------------------------- */

TEST(item_list, a_token_serves_only_where_it_was_given)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    world_collection_parted(&f.world, "d", TTL_OFF, "", "pk");
    fill(&f, 10);
    struct cosmos_answer page = item_feed(&f, "pk: ['p']\nx-ms-max-item-count: 2");
    bytes token = cosmos_header(&page, "x-ms-continuation");
    CHECK_THAT(token.len < 1024, "%zu bytes", token.len);
    const char *text = arena_format(f.world.arena, "x-ms-continuation: %.*s", (int)token.len,
                                    (const char *)token.data);
    CHECK_ANSWER(item_feed(&f, next_page(&f, &page, P)), 200);
    struct cosmos_answer refused = item_feed(&f, text);
    CHECK_ANSWER(refused, 400);
    CHECK(cosmos_body_has(&refused, "Invalid Continuation Token"));
    CHECK_ANSWER(item_feed(&f, next_page(&f, &page, "pk: ['q']")), 400);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/db/colls/d/docs", text, ""), 400);
    CHECK_ANSWER(item_query(&f, next_page(&f, &page, P), "select * from c"), 400);
    items_close(&f);
}

TEST(item_list, an_altered_or_foreign_token_is_refused)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 10);
    struct cosmos_answer page = item_feed(&f, "x-ms-max-item-count: 2");
    bytes token = cosmos_header(&page, "x-ms-continuation");
    for (size_t i = 0; i < token.len; i++) {
        char copy[512];
        CHECK(token.len < sizeof(copy));
        memcpy(copy, token.data, token.len);
        copy[token.len] = '\0';
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        struct cosmos_answer answer =
            item_feed(&f, arena_format(f.world.arena, "x-ms-continuation: %s", copy));
        CHECK_THAT(answer.status == 400, "byte %zu of %s", i, copy);
    }
    const char *const foreign[] = { "A",
                                    "AAAA",
                                    "nonsense",
                                    "{'token':'x'}",
                                    "+RID:abc#RT:1",
                                    "////////////////////////////////" };
    EACH_ROW(foreign, text)
        CHECK_ANSWER(item_feed(&f, arena_format(f.world.arena, "x-ms-continuation: %s", *text)),
                     400);
    items_close(&f);
}

/* ---- ranges ----------------------------------------------------------------------------------------- */

TEST(item_list, there_is_one_range_and_others_are_gone)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 2);
    CHECK_ANSWER(item_feed(&f, "x-ms-documentdb-partitionkeyrangeid: 0"), 200);
    CHECK_ANSWER(item_feed(&f, "x-ms-documentdb-partitionkeyrangeid: AAAA,0"), 200);
    struct cosmos_answer answer = item_feed(&f, "x-ms-documentdb-partitionkeyrangeid: 1");
    CHECK_ANSWER(answer, 410);
    CHECK_TEXT(cosmos_header(&answer, "x-ms-substatus"), "1002");
    CHECK_ANSWER(item_feed(&f, "x-ms-start-epk: \nx-ms-end-epk: FF"), 200);
    CHECK_ANSWER(item_feed(&f, "x-ms-start-epk: 05\nx-ms-end-epk: 06"), 501);
    items_close(&f);
}

TEST(item_list, the_change_feed_is_not_there_yet)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_feed(&f, "a-im: Incremental Feed"), 501);
    items_close(&f);
}

/* ---- queries ---------------------------------------------------------------------------------------- */

TEST(item_list, queries_see_items_as_reads_show_them)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    CHECK_ANSWER(item_create(&f, P, "{'z':1,'id':'a','pk':'p'}"), 201);
    struct cosmos_answer read = item_read(&f, P, "a");
    struct cosmos_answer answer = item_query(&f, "", "select * from c where c.z = 1");
    CHECK_ANSWER(answer, 200);
    struct buffer want = buffer_in(f.world.arena);
    buffer_append_text(&want, "[");
    buffer_append(&want, read.body);
    buffer_append_text(&want, "]");
    CHECK_BYTES(cosmos_value(&f, &answer, "Documents"), bytes_of(want.data, want.len), "");
    answer = item_query(&f, P, "select value c._rid from c");
    CHECK_BYTES(cosmos_value(&f, &answer, "Documents.0"), cosmos_value(&f, &read, "_rid"), "");
    answer = item_query(&f, "pk: ['q']", "select * from c");
    CHECK_TEXT(cosmos_value(&f, &answer, "_count"), "0");
    items_close(&f);
}

TEST(item_list, queries_are_paged_with_tokens_of_their_own)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 9);
    const char *sql = "select * from c where c.n >= 2 order by c.n desc";
    struct cosmos_answer page = item_query(&f, "x-ms-max-item-count: 4", sql);
    CHECK_STRING(item_ids(&f, &page), "008 007 006 005");
    const char *next = next_page(&f, &page, "x-ms-max-item-count: 4");
    CHECK_ANSWER(item_query(&f, next, "select * from c where c.n >= 3 order by c.n desc"), 400);
    CHECK_ANSWER(item_query(&f, next_page(&f, &page, "pk: ['p']"), sql), 400);
    page = item_query(&f, next, sql);
    CHECK_STRING(item_ids(&f, &page), "004 003 002");
    CHECK_EQ(cosmos_header(&page, "x-ms-continuation").len, 0, "");
    items_close(&f);
}

TEST(item_list, B_4_the_dead_are_in_no_query_and_no_count)
{
    struct cosmos_face f;

    items_open(&f, TTL_NEVER);
    CHECK_ANSWER(item_create(&f, P, "{'id':'a','pk':'p','ttl':5}"), 201);
    CHECK_ANSWER(item_create(&f, P, "{'id':'b','pk':'p'}"), 201);
    world_at(&f.world, 5000);
    struct cosmos_answer answer = item_query(&f, "", "select * from c");
    CHECK_STRING(item_ids(&f, &answer), "b");
    answer = item_query(&f, "", "select value count(1) from c");
    CHECK_TEXT(cosmos_value(&f, &answer, "Documents"), "[1]");
    answer = item_query(&f, P, "select * from c where c.id = \\'a\\'");
    CHECK_TEXT(cosmos_value(&f, &answer, "_count"), "0");
    items_close(&f);
}

TEST(item_list, a_wrong_query_is_told_the_way_clients_read_it)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    struct cosmos_answer answer = item_query(&f, "", "select * form c");
    CHECK_ANSWER(answer, 400);
    CHECK(cosmos_body_has(&answer, "SC1001"));
    answer = cosmos_ask(&f, "POST /dbs/db/colls/c/docs", "x-ms-cosmos-is-query-plan-request: True",
                        "{'query':'select * form c'}");
    CHECK_ANSWER(answer, 400);
    items_close(&f);
}

TEST(item_list, metrics_come_if_asked_for)
{
    struct cosmos_face f;

    items_open(&f, TTL_OFF);
    fill(&f, 5);
    struct cosmos_answer answer = item_query(&f, "", "select * from c where c.n = 3");
    CHECK_EQ(cosmos_header(&answer, "x-ms-documentdb-query-metrics").len, 0, "");
    answer = item_query(&f,
                        "x-ms-documentdb-populatequerymetrics: true\n"
                        "x-ms-cosmos-populateindexmetrics-V2: true",
                        "select * from c where c.n = 3");
    bytes metrics = cosmos_header(&answer, "x-ms-documentdb-query-metrics");
    CHECK(metrics.len > 0);
    CHECK(metrics.data[metrics.len - 1] != ';');
    for (bytes rest = metrics; rest.len > 0;) {
        const uint8_t *end = memchr(rest.data, ';', rest.len);
        size_t len = end ? (size_t)(end - rest.data) : rest.len;
        const uint8_t *equals = memchr(rest.data, '=', len);
        CHECK_THAT(equals && equals > rest.data && equals < rest.data + len - 1, "%.*s", (int)len,
                   (const char *)rest.data);
        rest = bytes_from(rest, len + 1);
    }
    const char *text = arena_format(f.world.arena, "%.*s", (int)metrics.len,
                                    (const char *)metrics.data);
    CHECK_THAT(strstr(text, ";outputDocumentCount=1;"), "%s", text);
    bytes indexes = cosmos_header(&answer, "x-ms-cosmos-index-utilization");
    text = arena_format(f.world.arena, "%.*s", (int)indexes.len, (const char *)indexes.data);
    CHECK_THAT(strstr(text, "{\"IndexSpec\":\"/n/?\","), "%s", text);
    items_close(&f);
}
