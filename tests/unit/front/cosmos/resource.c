/* What all resources share: ids, etags, pages. */
#include "front/cosmos/resource.h"

#include "tests/support/cosmos_face.h"

TEST(resource, etag_reads_back_as_the_number_it_was_made_from)
{
    const uint64_t numbers[] = { 1, 42, 0xFFFFFFFFFFFF, 0x1000000000000, UINT64_MAX };

    EACH_ROW(numbers, n) {
        char text[ETAG_TEXT_BYTES];
        etag_format(*n, text);
        CHECK_EQ(strlen(text), ETAG_TEXT_BYTES - 1, "%s", text);
        CHECK_EQ(etag_parse(bytes_of_text(text)), *n, "%s", text);
        CHECK_EQ(etag_parse(bytes_of(text + 1, ETAG_TEXT_BYTES - 3)), *n, "without quotes");
    }
}

TEST(resource, what_is_no_etag_of_ours_is_number_zero)
{
    const char *const rows[] = {
        "",
        "*",
        "\"\"",
        "\"0a00-1\"",
        "\"00000000-0000-0000-0000-00000000002A\"",
        "\"10000000-0000-0000-0000-00000000002a\"",
        "\"00000000-0000-0000-0000-00000000002a",
        "\"00000000-0000-0000-0000_00000000002a\"",
    };

    EACH_ROW(rows, r)
        CHECK_EQ(etag_parse(bytes_of_text(*r)), 0, "%s", *r);
}

TEST(resource, unknown_paths_answer_with_a_body)
{
    struct cosmos_face f;

    cosmos_face_open(&f);
    CHECK_ANSWER(cosmos_ask(&f, "GET /nowhere/at/all", "", ""), 400);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/none", "", ""), 404);
    CHECK_ANSWER(cosmos_ask(&f, "GET /dbs/none/colls/x", "", ""), 404);
    cosmos_face_close(&f);
}
