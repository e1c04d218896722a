/* Links, routes and resource ids: what a path means. */
#include "front/cosmos/link.h"
#include "front/cosmos/rid.h"
#include "front/cosmos/route.h"
#include "tests/check.h"

static struct link parse(struct arena *arena, const char *target)
{
    struct link link;

    CHECK_OK(link_parse(arena, bytes_of_text(target), &link));
    return link;
}

TEST(link, parts_are_decoded_exactly_once)
{
    const struct {
        const char *target;
        size_t count;
        const char *last;
    } rows[] = {
        {"/dbs/d/colls/c/docs/plain",     6, "plain"   },
        { "/dbs/d/colls/c/docs/a%20b",    6, "a b"     },
        { "/dbs/d/colls/c/docs/%2517",    6, "%17"     },
        { "/dbs/d/colls/c/docs/%c3%A9",   6, "\xc3\xa9"},
        { "/dbs/d/colls/c/docs/\xc3\xa9", 6, "\xc3\xa9"},
        { "/dbs/d/colls/c/docs/x?y",      6, "x?y"     },
        { "/dbs/d/colls/c/docs/x%3Fy",    6, "x?y"     },
        { "/dbs/d/colls/c/docs?a=b",      5, "docs"    },
        { "/dbs/d/?a=/b/c",               2, "d"       },
        { "//dbs//d/",                    2, "d"       },
        { "http://127.0.0.1:8081/dbs/d",  2, "d"       },
        { "/dbs/d/colls/c/docs/a%2fb",    6, "a/b"     },
        { "/dbs/d/colls/c/docs/%",        0, NULL      },
        { "/dbs/d/colls/c/docs/%2",       0, NULL      },
        { "/dbs/d/colls/c/docs/%2x",      0, NULL      },
        { "/dbs/%ff",                     0, NULL      },
        { "/1/2/3/4/5/6/7/8/9",           0, NULL      },
    };
    struct arena *arena = arena_open(1 << 20);
    struct link link;

    EACH_ROW(rows, r) {
        status s = link_parse(arena, bytes_of_text(r->target), &link);
        CHECK_EQ(s.code == OK, r->last != NULL, "%s", r->target);
        if (r->last) {
            CHECK_EQ(link.count, r->count, "%s", r->target);
            CHECK_TEXT(link.parts[link.count - 1], r->last);
        }
    }
    arena_close(arena);
}

TEST(link, the_root_has_no_parts_and_no_path)
{
    struct arena *arena = arena_open(1 << 20);
    struct link link = parse(arena, "/");

    CHECK_EQ(link.count, 0, "");
    CHECK_EQ(link.path.len, 0, "");
    link = parse(arena, "/dbs/d/");
    CHECK_TEXT(link.path, "dbs/d");
    arena_close(arena);
}

TEST(link, an_encoded_part_reads_back_as_itself)
{
    struct arena *arena = arena_open(1 << 20);
    struct buffer out = buffer_in(arena);
    bytes text;

    buffer_append_text(&out, "/dbs/");
    link_append_encoded(&out, BYTES_LITERAL("a b/c?\xc3\xa9%"));
    CHECK_OK(buffer_finish(&out, &text));
    CHECK_TEXT(text, "/dbs/a%20b%2Fc%3F%C3%A9%25");
    struct link link;
    CHECK_OK(link_parse(arena, text, &link));
    CHECK_TEXT(link.parts[1], "a b/c?\xc3\xa9%");
    arena_close(arena);
}

/* ---- routes --------------------------------------------------------------------------------------------- */

static enum route_match find(struct arena *arena, const char *method, const char *target,
                             const char *header, const struct route **out)
{
    struct http_header headers[] = {
        {bytes_of_text(header ? header : "x-none"), BYTES_LITERAL("True")}
    };
    struct http_request request = { .method = bytes_of_text(method),
                                    .header_count = 1,
                                    .headers = headers };
    struct link link = parse(arena, target);

    return route_find(&request, &link, out);
}

TEST(route, method_path_and_headers_choose_the_operation)
{
    const struct {
        const char *method, *target, *header;
        enum route_match want;
        route_handler *handler;
    } rows[] = {
        {"GET",     "/",                     NULL,                                ROUTE_FOUND,     serve_account_read   },
        { "POST",   "/dbs",                  NULL,                                ROUTE_FOUND,     serve_database_create},
        { "POST",   "/dbs",                  "x-ms-documentdb-isquery",           ROUTE_FOUND,     serve_database_list  },
        { "POST",   "/dbs/d/colls/c/docs",   "X-MS-DocumentDB-Query",             ROUTE_FOUND,     serve_item_query     },
        { "POST",   "/dbs/d/colls/c/docs",   "x-ms-cosmos-is-query-plan-request", ROUTE_FOUND,
         serve_item_query_plan                                                                                          },
        { "POST",   "/dbs/d/colls/c/docs",   "x-ms-cosmos-is-batch-request",      ROUTE_FOUND,
         serve_item_batch                                                                                               },
        { "POST",   "/dbs/d/colls/c/docs",   NULL,                                ROUTE_FOUND,     serve_item_create    },
        { "GET",    "/dbs/d/colls/c/docs",   "a-im",                              ROUTE_FOUND,     NULL                 },
        { "GET",    "/dbs",                  "a-im",                              ROUTE_FOUND,     serve_database_list  },
        { "POST",   "/dbs/d/colls/c/sprocs", NULL,                                ROUTE_FOUND,     NULL                 },
        { "PATCH",  "/dbs/d",                NULL,                                ROUTE_NO_METHOD, NULL                 },
        { "DELETE", "/",                     NULL,                                ROUTE_NO_METHOD, NULL                 },
        { "GET",    "/dbs/d/colls/c/nope",   NULL,                                ROUTE_NO_PATH,   NULL                 },
        { "GET",    "/Dbs",                  NULL,                                ROUTE_NO_PATH,   NULL                 },
    };
    struct arena *arena = arena_open(1 << 20);
    const struct route *route;

    EACH_ROW(rows, r) {
        CHECK_EQ(find(arena, r->method, r->target, r->header, &route), r->want, "%s %s", r->method,
                 r->target);
        if (r->want == ROUTE_FOUND)
            CHECK_THAT(route->handler == r->handler, "%s %s", r->method, r->target);
    }
    arena_close(arena);
}

TEST(route, a_query_over_a_feed_is_told_from_the_feed_itself)
{
    static const char *const feeds[] = { "/dbs", "/dbs/d/colls", "/dbs/d/users",
                                         "/dbs/d/users/u/permissions", "/offers" };
    struct arena *arena = arena_open(1 << 20);
    const struct route *list, *query;

    for (size_t i = 0; i < ARRAY_COUNT(feeds); i++) {
        CHECK_EQ(find(arena, "GET", feeds[i], NULL, &list), ROUTE_FOUND, "%s", feeds[i]);
        CHECK_EQ(find(arena, "POST", feeds[i], "x-ms-documentdb-isquery", &query), ROUTE_FOUND,
                 "%s", feeds[i]);
        CHECK_EQ(list->form, FORM_PLAIN, "%s", feeds[i]);
        CHECK_EQ(query->form, FORM_QUERY, "%s", feeds[i]);
    }
    arena_close(arena);
}

/* ---- resource ids --------------------------------------------------------------------------------------- */

TEST(rid, ids_have_their_lengths_and_read_back)
{
    struct rid container = rid_of_container(7, 9), item = rid_of_item(container, 0x1234567890);
    struct rid back;
    char text[RID_TEXT_BYTES];

    rid_format(&container, text);
    CHECK_EQ(strlen(text), 12, "eight bytes of base64");
    CHECK(rid_parse(bytes_of_text(text), &back));
    CHECK_EQ(rid_database(&back), 7, "");
    CHECK_EQ(rid_container(&back), 9, "");
    rid_format(&item, text);
    CHECK_EQ(strlen(text), 24, "sixteen bytes of base64");
    CHECK(rid_parse(bytes_of_text(text), &back));
    CHECK_EQ(rid_item(&back), 0x1234567890, "");
    CHECK_EQ(rid_container(&back), 9, "an item's id begins with its container's");
    CHECK(!rid_parse(BYTES_LITERAL("sessions"), &back));
    CHECK(!rid_parse(BYTES_LITERAL("AAAA"), &back));
    CHECK(!rid_parse(BYTES_LITERAL(""), &back));
}

TEST(rid, base64_reads_back_what_it_wrote_and_refuses_other_text)
{
    struct arena *arena = arena_open(1 << 20);

    EACH_SEED(seed, 50) {
        struct random random = random_seeded(seed);
        uint8_t raw[64], decoded[64];
        size_t len = random_below(&random, sizeof(raw)), decoded_len;
        for (size_t i = 0; i < len; i++)
            raw[i] = (uint8_t)random_next(&random);
        struct buffer out = buffer_in(arena);
        bytes text;
        base64_append(&out, bytes_of(raw, len));
        CHECK_OK(buffer_finish(&out, &text));
        CHECK(base64_decode(text, decoded, &decoded_len));
        CHECK_BYTES(bytes_of(decoded, decoded_len), bytes_of(raw, len), "read back");
    }
    uint8_t out[16];
    size_t len;
    const char *const bad[] = { "A", "AA", "AAA", "A===", "AA=A", "AB==", "AAB=", "A A=", "====" };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        CHECK_THAT(!base64_decode(bytes_of_text(bad[i]), out, &len), "%s", bad[i]);
    arena_close(arena);
}
