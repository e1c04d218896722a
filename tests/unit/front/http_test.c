/* HTTP without sockets: requests cut at every position, pipelined, chunked, oversize and bad ones. */
#include "tests/check.h"

#include <stdio.h>

#include "base/limits.h"
#include "front/http.h"

enum { PARTS_MAX = 8 };

/* Everything that a stream of bytes came to. */
struct reading {
    struct arena *arenas[PARTS_MAX]; /* one per request, as a server has it */
    size_t count;
    struct http_request requests[PARTS_MAX];
    bool is_refused;
    bool was_continue_wanted;
    struct http_refusal refusal;
};

static void feed(struct http_reader *reader, bytes input, struct reading *out)
{
    while (input.len > 0 && !out->is_refused) {
        size_t consumed;
        switch (http_reader_feed(reader, input, &consumed)) {
        case HTTP_NEEDS_MORE:
            CHECK_EQ(consumed, input.len, "");
            break;
        case HTTP_NEEDS_CONTINUE:
            out->was_continue_wanted = true;
            break;
        case HTTP_COMPLETE:
            CHECK(out->count < PARTS_MAX - 1);
            out->requests[out->count++] = *http_reader_request(reader);
            out->arenas[out->count] = arena_open(LIMIT_REQUEST_ARENA_BYTES);
            http_reader_begin(reader, out->arenas[out->count]);
            break;
        case HTTP_REFUSED:
            out->is_refused = true;
            out->refusal = http_reader_refusal(reader);
            break;
        }
        input = bytes_from(input, consumed);
    }
}

/* Reads `text` in pieces that end at the given places and every `step` bytes (0: not at all). */
static struct reading read_cut(bytes text, size_t first_cut, size_t second_cut, size_t step)
{
    struct reading out = { 0 };
    struct http_reader *reader = http_reader_open();

    CHECK(reader != NULL);
    out.arenas[0] = arena_open(LIMIT_REQUEST_ARENA_BYTES);
    http_reader_begin(reader, out.arenas[0]);
    for (size_t at = 0; at < text.len;) {
        size_t end = step ? at + step : text.len;
        if (at < first_cut && first_cut < end)
            end = first_cut;
        else if (at < second_cut && second_cut < end)
            end = second_cut;
        end = end < text.len ? end : text.len;
        /* A copy of its own, so that a pointer into the input would be found. */
        struct arena *piece = arena_open(text.len + 64);
        bytes copy;
        CHECK_OK(arena_copy(piece, bytes_of(text.data + at, end - at), &copy));
        feed(reader, copy, &out);
        arena_close(piece);
        at = end;
    }
    http_reader_close(reader);
    return out;
}

static struct reading read_text(const char *text)
{
    return read_cut(bytes_of_text(text), 0, 0, 0);
}

static void reading_close(struct reading *reading)
{
    for (size_t i = 0; i <= reading->count; i++)
        arena_close(reading->arenas[i]);
}

static const char pipelined[] =
    "GET /a/b%20c?x=1&y=%2F HTTP/1.1\r\nHost: one\r\nX-Empty:\r\n"
    "X-Long:  spaced out \r\n\r\n"
    "POST /p HTTP/1.1\r\nHost: two\r\nContent-Length: 5\r\n\r\nhello"
    "PUT /q HTTP/1.1\r\nhOST: three\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3;ext=1\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: t\r\n\r\n"
    "DELETE http://four/z?q HTTP/1.0\r\n\r\n";

static void check_pipelined(const struct reading *got, const char *where)
{
    bytes value;

    CHECK_EQ(got->is_refused, false, "%s: %s", where, got->is_refused ? got->refusal.message : "");
    CHECK_EQ(got->count, 4, "%s", where);
    const struct http_request *first = &got->requests[0];
    CHECK_TEXT(first->method, "GET");
    CHECK_TEXT(first->target, "/a/b%20c?x=1&y=%2F");
    CHECK_TEXT(first->path, "/a/b%20c");
    CHECK_TEXT(first->query, "x=1&y=%2F");
    CHECK_EQ(first->header_count, 3, "%s", where);
    CHECK(http_find_header(first, "x-empty", &value));
    CHECK_TEXT(value, "");
    CHECK(http_find_header(first, "X-LONG", &value));
    CHECK_TEXT(value, "spaced out");
    CHECK(first->is_keep_alive);
    CHECK_TEXT(got->requests[1].body, "hello");
    CHECK_TEXT(got->requests[2].body, "abc0123456789abcdef");
    CHECK_EQ(got->requests[2].header_count, 2, "%s: a trailer is no header", where);
    CHECK(http_find_header(&got->requests[2], "Host", &value));
    CHECK_TEXT(value, "three");
    CHECK_TEXT(got->requests[3].path, "/z");
    CHECK_TEXT(got->requests[3].query, "q");
    CHECK(got->requests[3].is_version_1_0);
    CHECK(!got->requests[3].is_keep_alive);
}

TEST(http, pipelined_requests_are_read_wherever_the_input_is_cut)
{
    bytes text = bytes_of_text(pipelined);
    char where[64];

    for (size_t cut = 0; cut < text.len; cut++) {
        struct reading got = read_cut(text, cut, 0, 0);
        snprintf(where, sizeof(where), "cut at %zu", cut);
        check_pipelined(&got, where);
        reading_close(&got);
    }
}

TEST(http, requests_are_read_with_two_cuts_anywhere)
{
    bytes text = bytes_of_text(pipelined);
    char where[64];

    for (size_t first = 1; first < text.len; first += 3) {
        for (size_t second = first + 1; second < text.len; second += 5) {
            struct reading got = read_cut(text, first, second, 0);
            snprintf(where, sizeof(where), "cut at %zu and %zu", first, second);
            check_pipelined(&got, where);
            reading_close(&got);
        }
    }
}

TEST(http, requests_are_read_byte_by_byte)
{
    for (size_t step = 1; step < 20; step++) {
        struct reading got = read_cut(bytes_of_text(pipelined), 0, 0, step);
        check_pipelined(&got, "in steps");
        reading_close(&got);
    }
}

/* ---- the short way and the library ---------------------------------------------------------------------- */

static bool is_same_request(const struct http_request *a, const struct http_request *b)
{
    bool is_same = bytes_equal(a->method, b->method) && bytes_equal(a->target, b->target) &&
                   bytes_equal(a->path, b->path) && bytes_equal(a->query, b->query) &&
                   bytes_equal(a->body, b->body) && a->header_count == b->header_count &&
                   a->is_head == b->is_head && a->is_keep_alive == b->is_keep_alive &&
                   a->is_version_1_0 == b->is_version_1_0;

    for (size_t i = 0; is_same && i < a->header_count; i++)
        is_same = bytes_equal(a->headers[i].name, b->headers[i].name) &&
                  bytes_equal(a->headers[i].value, b->headers[i].value);
    return is_same;
}

/* In one piece a plain request never reaches the library; cut behind its first byte it always does. */
static void check_both_ways(bytes text)
{
    struct reading whole = read_cut(text, 0, 0, 0), cut = read_cut(text, 1, 0, 0);

    CHECK_EQ(whole.count, cut.count, "%.*s", (int)text.len, (const char *)text.data);
    CHECK_EQ(whole.is_refused, cut.is_refused, "%.*s", (int)text.len, (const char *)text.data);
    if (whole.is_refused)
        CHECK_EQ(whole.refusal.status, cut.refusal.status, "");
    /* Only the first is sure to have gone the other way. */
    for (size_t i = 0; i < whole.count; i++)
        CHECK_THAT(is_same_request(&whole.requests[i], &cut.requests[i]), "%.*s", (int)text.len,
                   (const char *)text.data);
    reading_close(&whole);
    reading_close(&cut);
}

static const char *const plain_requests[] = {
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /a?b=c%20d HTTP/1.1\r\nhost:a:1\r\ncontent-length: 3\r\nx_y-1:  two words \r\n"
    "connection: Keep-Alive\r\nempty:\r\n\r\nabc",
};

TEST(http, a_request_in_one_piece_is_read_like_one_in_two)
{
    static const char *const odd_ones[] = {
        "GET /#f HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        "PROPFIND / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 00000001\r\n\r\nx",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16777217\r\n\r\n",
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
         "chunked\r\n\r\n0\r\n\r\n"),
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx",
        "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encodings: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Lengths: 5\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnections: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nUpgrades: yes\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nProxy-Connections: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX-Transfer-Encoding: chunked\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    };

    for (size_t i = 0; i < ARRAY_COUNT(plain_requests); i++)
        check_both_ways(bytes_of_text(plain_requests[i]));
    for (size_t i = 0; i < ARRAY_COUNT(odd_ones); i++)
        check_both_ways(bytes_of_text(odd_ones[i]));
}

TEST(http, a_request_with_any_byte_changed_is_read_the_same_in_one_piece_and_in_two)
{
    static const uint8_t odd_bytes[] = "\0\1\t\n\r\x1f !\"#%(,-/0:;?@A[_az{~\x7f\x80\xff";

    for (size_t i = 0; i < ARRAY_COUNT(plain_requests); i++) {
        bytes plain = bytes_of_text(plain_requests[i]);
        for (size_t at = 0; at < plain.len; at++) {
            uint8_t changed[256];
            for (size_t k = 0; k < sizeof(odd_bytes) - 1; k++) {
                memcpy(changed, plain.data, plain.len);
                changed[at] = odd_bytes[k];
                check_both_ways(bytes_of(changed, plain.len));
                memcpy(changed + at + 1, plain.data + at, plain.len - at);
                check_both_ways(bytes_of(changed, plain.len + 1));
            }
            memcpy(changed, plain.data, plain.len);
            memmove(changed + at, changed + at + 1, plain.len - at - 1);
            check_both_ways(bytes_of(changed, plain.len - 1));
        }
    }
}

TEST(http, bad_requests_are_refused_with_a_status)
{
    const struct {
        const char *why;
        const char *text;
        unsigned want;
    } rows[] = {
        {"no HTTP at all",                    "hello there\r\n\r\n",                                                    501},
        { "the first bytes of TLS",           "\x16\x03\x01\x02\x01\xfc\x03\x03",                                       501},
        { "method in small letters",          "get / HTTP/1.1\r\nHost: a\r\n\r\n",                                      501},
        { "unknown method",                   "FETCH / HTTP/1.1\r\nHost: a\r\n\r\n",                                    501},
        { "CONNECT",                          "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",                                501},
        { "no version",                       "GET /\r\n\r\n",                                                          505},
        { "newer version",                    "GET / HTTP/2.0\r\nHost: a\r\n\r\n",                                      505},
        { "older version",                    "GET / HTTP/0.9\r\nHost: a\r\n\r\n",                                      505},
        { "1.2",                              "GET / HTTP/1.2\r\nHost: a\r\n\r\n",                                      505},
        { "no Host",                          "GET / HTTP/1.1\r\n\r\n",                                                 400},
        { "two Hosts",                        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",                           400},
        { "two Hosts in 1.0",                 "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",                           400},
        { "space in the target",              "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",                                   400},
        { "space before the colon",           "GET / HTTP/1.1\r\nHost : a\r\n\r\n",                                     400},
        { "a header without colon",           "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n",                          400},
        { "NUL-like byte in a header",        "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",                                  400},
        { "a control byte begins a value",
         "GET / HTTP/1.1\r\nHost:\x02"
          "a\r\n\r\n",                                                                                                  400},
        { "length is no number",              "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",                400},
        { "negative length",                  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",               400},
        { "length past 64 bits",
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",                                  400},
        { "two lengths",
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",                                400},
        { "length and chunks",
         "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",                       400},
        { "chunks and length",
         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",                       400},
        { "unknown encoding",                 "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
         501                                                                                                               },
        { "zipped chunks",                    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         501                                                                                                               },
        { "space before a colon",             "POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nabcde",
         400                                                                                                               },
        { "space before the colon of chunks",
         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n",                                           400},
        { "space in a name",                  "GET / HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n",                            400},
        { "chunks in 1.0",                    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",                  400},
        { "bad chunk size",
         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",                                      400},
        { "chunk longer than it says",
         "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",                                400},
        { "body over the limit",              "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16777217\r\n\r\n",
         413                                                                                                               },
        { "unknown expectation",              "POST / HTTP/1.1\r\nHost: a\r\nExpect: miracle\r\n\r\n",                  417},
    };
    EACH_ROW(rows, r) {
        for (size_t step = 0; step < 3; step++) {
            struct reading got = read_cut(bytes_of_text(r->text), 0, 0, step);
            CHECK_EQ(got.is_refused, true, "%s", r->why);
            CHECK_EQ(got.refusal.status, r->want, "%s: %s", r->why, got.refusal.message);
            CHECK_EQ(got.count, 0, "%s", r->why);
            CHECK(strlen(got.refusal.message) > 0);
            reading_close(&got);
        }
    }
}

TEST(http, a_path_may_hold_anything_but_spaces_and_controls)
{
    const struct {
        const char *target, *path, *query;
    } rows[] = {
        {"/dbs/d/colls/c/docs/x?y",      "/dbs/d/colls/c/docs/x",    "y"    },
        { "/docs/x?y?z=?",               "/docs/x",                  "y?z=?"},
        { "/a?",                         "/a",                       ""     },
        { "/?a",                         "/",                        "a"    },
        { "/docs/\"<>|{}^`\\[]@:;,'",    "/docs/\"<>|{}^`\\[]@:;,'", ""     },
        { "/docs/\xc3\xa9\xff\x80?\xf0", "/docs/\xc3\xa9\xff\x80",   "\xf0" },
        { "/docs/a#b?c#d",               "/docs/a#b",                "c#d"  },
        { "//double//slash",             "//double//slash",          ""     },
        { "/100%",                       "/100%",                    ""     },
        { "/%zz?%",                      "/%zz",                     "%"    },
        { "http://h:1/a?b",              "/a",                       "b"    },
        { "http://h",                    "/",                        ""     },
        { "*",                           "*",                        ""     },
    };
    char text[256];

    EACH_ROW(rows, r) {
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", r->target);
        for (size_t step = 0; step < 3; step++) {
            struct reading got = read_cut(bytes_of_text(text), 0, 0, step);
            CHECK_EQ(got.is_refused, false, "%s: %s", r->target, got.refusal.message);
            CHECK_EQ(got.count, 1, "%s", r->target);
            CHECK_TEXT(got.requests[0].target, r->target);
            CHECK_TEXT(got.requests[0].path, r->path);
            CHECK_TEXT(got.requests[0].query, r->query);
            reading_close(&got);
        }
    }
}

/* head + count * piece + tail */
static bytes repeated(struct arena *arena, const char *head, const char *piece, size_t count,
                      const char *tail)
{
    struct buffer text = buffer_in(arena);
    bytes out;

    buffer_append_text(&text, head);
    for (size_t i = 0; i < count; i++)
        buffer_append_text(&text, piece);
    buffer_append_text(&text, tail);
    CHECK_OK(buffer_finish(&text, &out));
    return out;
}

TEST(http, every_part_has_a_limit)
{
    struct arena *arena = arena_open(256 * 1024 * 1024);
    const char *end = " HTTP/1.1\r\nHost: a\r\n\r\n";
    const char *headers = "GET / HTTP/1.1\r\nHost: a\r\n";
    const char *chunk =
        "40\r\n0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\r\n";
    const char *chunks = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const struct {
        const char *why;
        bytes text;
        unsigned want; /* 0: accepted */
    } rows[] = {
        {"target at the limit",   repeated(arena, "GET /",                            "a",        LIMIT_HTTP_TARGET_BYTES - 1,    end),
         0                                                                                                                                         },
        { "target past it",       repeated(arena, "GET /",                            "a",        LIMIT_HTTP_TARGET_BYTES,        end),         414},
        { "headers at the limit",
         repeated(arena,                          headers,                            "x: y\r\n", LIMIT_HTTP_HEADERS - 1,         "\r\n"),      0  },
        { "headers past it",      repeated(arena, headers,                            "x: y\r\n", LIMIT_HTTP_HEADERS,             "\r\n"),
         431                                                                                                                                       },
        { "head past its limit",
         repeated(arena,                          "GET / HTTP/1.1\r\nHost: a\r\nx: ", "y",        LIMIT_HTTP_HEAD_BYTES,
         "\r\n\r\n"),
         431                                                                                                                                       },
        { "spaces without end",
         repeated(arena,                          "GET / HTTP/1.1\r\nHost: a\r\nx:",  " ",        1024 * 1024,                    "\r\n\r\n"),  431},
        { "chunks at the limit",
         repeated(arena,                          chunks,                             chunk,      LIMIT_HTTP_BODY_BYTES / 64,     "0\r\n\r\n"), 0  },
        { "chunks past it",
         repeated(arena,                          chunks,                             chunk,      LIMIT_HTTP_BODY_BYTES / 64 + 1, "0\r\n\r\n"), 413},
    };
    EACH_ROW(rows, r) {
        struct reading got = read_cut(r->text, 0, 0, 32768);
        CHECK_EQ(got.is_refused, r->want != 0, "%s", r->why);
        CHECK_EQ(got.is_refused ? got.refusal.status : 0, r->want, "%s", r->why);
        CHECK_EQ(got.count, r->want ? 0 : 1, "%s", r->why);
        reading_close(&got);
    }
    arena_close(arena);
}

TEST(http, continue_is_wanted_only_by_who_waits)
{
    const struct {
        const char *why;
        const char *text;
        size_t cut;
        bool want;
    } rows[] = {
        {"waits for it",
         "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",  72,
         true                                                                                          },
        { "did not wait",
         "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",  0,
         false                                                                                         },
        { "has no body",         "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", 0,  false},
        { "knows nothing of it",
         "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",             63, false},
    };
    EACH_ROW(rows, r) {
        size_t cut = r->cut ? strlen(r->text) - 1 : 0;
        struct reading got = read_cut(bytes_of_text(r->text), cut, 0, 0);
        CHECK_EQ(got.count, 1, "%s", r->why);
        CHECK_EQ(got.was_continue_wanted, r->want, "%s", r->why);
        reading_close(&got);
    }
}

TEST(http, an_upgrade_is_ignored_and_http_goes_on)
{
    struct reading got = read_text(
        "GET /a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        "Upgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n"
        "GET /b HTTP/1.1\r\nHost: a\r\n\r\n");

    CHECK_EQ(got.is_refused, false, "");
    CHECK_EQ(got.count, 2, "");
    CHECK_TEXT(got.requests[1].path, "/b");
    reading_close(&got);
}

TEST(http, the_end_of_a_connection_is_known_from_the_request)
{
    const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",                       true },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false},
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false},
        { "GET / HTTP/1.0\r\n\r\n",                                 false},
        { "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",       true },
    };
    EACH_ROW(rows, r) {
        struct reading got = read_text(r->text);
        CHECK_EQ(got.count, 1, "%s", r->text);
        CHECK_EQ(got.requests[0].is_keep_alive, r->want, "%s", r->text);
        reading_close(&got);
    }
}

TEST(http, a_reply_is_written_with_its_length_and_date)
{
    struct arena *arena = arena_open(65536);
    struct http_reply reply = { .status = 200,
                                .headers = BYTES_LITERAL("X-One: 1\r\n"),
                                .body = BYTES_LITERAL("{}") };
    struct http_framing framing = { .date = 784887151000 };
    bytes head;

    CHECK_OK(http_reply_head(arena, &reply, framing, &head));
    CHECK_TEXT(head, "HTTP/1.1 200 OK\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\n"
                     "Content-Type: application/json\r\nContent-Length: 2\r\nX-One: 1\r\n\r\n");
    framing.is_last = true;
    CHECK_OK(http_reply_head(arena, &reply, framing, &head));
    CHECK(memmem(head.data, head.len, "Connection: close\r\n", 19) != NULL);
    arena_close(arena);
}

TEST(http, replies_without_a_body_do_not_announce_one)
{
    struct arena *arena = arena_open(65536);
    const unsigned rows[] = { 204, 304 };
    bytes head;

    EACH_ROW(rows, r) {
        struct http_reply reply = { .status = *r, .headers = BYTES_LITERAL("ETag: x\r\n") };
        CHECK_OK(http_reply_head(arena, &reply, (struct http_framing){ 0 }, &head));
        CHECK(memmem(head.data, head.len, "ETag: x\r\n\r\n", 11) != NULL);
        CHECK(memmem(head.data, head.len, "Content-", 8) == NULL);
    }
    arena_close(arena);
}

TEST(http, text_in_json_is_ascii_and_keeps_its_characters)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"plain \x7f",            "\"plain \\u007f\""        },
        { "\xc3\xa9\xe2\x82\xac", "\"\\u00e9\\u20ac\""       },
        { "\xf0\x9f\x98\x80!",    "\"\\ud83d\\ude00!\""      },
        { "\xc3",                 "\"\\u00c3\""              },
        { "a\xe2\x82",            "\"a\\u00e2\\u0082\""      },
        { "\xc0\xaf\xff",         "\"\\u00c0\\u00af\\u00ff\""},
    };
    struct arena *arena = arena_open(65536);

    EACH_ROW(rows, r) {
        struct buffer out = buffer_in(arena);
        http_append_json_text(&out, bytes_of_text(r->text));
        CHECK_TEXT(bytes_of(out.data, out.len), r->want);
    }
    arena_close(arena);
}

TEST(http, an_error_is_json_whatever_the_client_sent)
{
    struct arena *arena = arena_open(65536);
    struct http_reply reply = http_reply_error(arena, 404, "nothing at %s",
                                               "/\"quoted\\\"\n\xc3\xa9");

    CHECK_EQ(reply.status, 404, "");
    CHECK_TEXT(reply.body, "{\"code\":\"NotFound\",\"message\":\"nothing at "
                           "/\\\"quoted\\\\\\\"\\u000a\\u00e9\"}");
    arena_close(arena);
}
