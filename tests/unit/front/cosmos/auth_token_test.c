/* Tokens of permissions: what goes in comes out, until they end. */
#include "tests/support/asked.h"

static bytes signature_of(bytes token)
{
    bytes prefix = BYTES_LITERAL("type=resource&ver=1.0&sig=");

    CHECK(bytes_starts_with(token, prefix));
    return bytes_from(token, prefix.len);
}

static void ask_for_account(struct asked *asked, bytes token)
{
    struct buffer text = buffer_in(asked->arena);

    buffer_append(&text, token);
    buffer_append_byte(&text, 0);
    asked_for(asked, "GET", "/");
    asked_header(asked, "authorization", (const char *)text.data);
}

TEST(auth_token, a_token_carries_all_of_the_permission)
{
    struct rid container = rid_of_container(7, 9);
    struct permission_grant rows[4] = { 0 };
    struct asked asked;
    struct permission_grant got;
    bytes token;

    for (size_t i = 0; i < 4; i++) {
        rows[i].resource = i == 0 ? rid_of_database(7) : container;
        rows[i].is_all = i % 2 == 1;
        rows[i].expires_at = ASKED_NOW + 1 + (time_ms)i;
    }
    rows[2].item = BYTES_LITERAL("an item; with & all = kinds");
    rows[3].partition_key = BYTES_LITERAL("[\"a\",{},null]");
    rows[3].expires_at = TIME_NEVER - 1;
    asked_open(&asked, NULL, NULL);
    EACH_ROW(rows, r) {
        CHECK_OK(auth_make_token(asked.face.auth, asked.arena, r, &token));
        CHECK_OK(auth_read_token(asked.face.auth, asked.arena, signature_of(token), &got));
        CHECK_EQ(got.is_all, r->is_all, "");
        CHECK_EQ(got.expires_at, r->expires_at, "");
        CHECK_BYTES(bytes_of(got.resource.raw, got.resource.len),
                    bytes_of(r->resource.raw, r->resource.len), "");
        CHECK_BYTES(got.item, r->item, "");
        CHECK_BYTES(got.partition_key, r->partition_key, "");
        ask_for_account(&asked, token);
        CHECK_EQ(asked_identify(&asked), 200, "%s", failure_sentence(&asked.call.failure));
        CHECK_EQ(asked.call.grant.kind, GRANT_TOKEN, "");
        CHECK_EQ(asked_permit(&asked), 200, "every token may read the account");
    }
    asked_close(&asked);
}

TEST(auth_token, a_token_ends_at_its_time_and_says_so)
{
    struct permission_grant grant = { .resource = rid_of_database(7),
                                      .expires_at = ASKED_NOW + 10000 };
    struct asked asked;
    bytes token;

    asked_open(&asked, NULL, NULL);
    CHECK_OK(auth_make_token(asked.face.auth, asked.arena, &grant, &token));
    asked.time.wall = ASKED_NOW + 9999;
    ask_for_account(&asked, token);
    CHECK_EQ(asked_identify(&asked), 200, "");
    asked.time.wall = ASKED_NOW + 10000;
    CHECK_EQ(asked_identify(&asked), 403, "");
    const char *message = failure_sentence(&asked.call.failure);
    CHECK_THAT(strstr(message, "expired") && strstr(message, "Sun, 01 Mar 2026 00:00:10 GMT"), "%s",
               message);
    asked_close(&asked);
}

TEST(auth_token, texts_that_are_no_tokens_are_refused)
{
    static const char *const rows[] = {
        "",
        ";",
        ";;",
        "AAECAwQFBgcICQoLDA0ODw==;",
        "AAECAwQFBgcICQoLDA0ODw==;AQ==",
        "x;y;",
        "AAEC;;",
        "AAEC;AAEC;AAEC;",
        "AAECAwQFBgcICQoLDA0ODw==;AQ==;;",
    };
    struct permission_grant grant = { .resource = rid_of_database(7) }, got;
    struct asked asked;
    bytes token;

    asked_open(&asked, NULL, NULL);
    EACH_ROW(rows, r)
        CHECK_CODE(auth_read_token(asked.face.auth, asked.arena, bytes_of_text(*r), &got), INVALID);
    CHECK_OK(auth_make_token(asked.face.auth, asked.arena, &grant, &token));
    bytes signature = signature_of(token);
    for (size_t len = 0; len < signature.len; len++)
        CHECK_CODE(
            auth_read_token(asked.face.auth, asked.arena, bytes_of(signature.data, len), &got),
            INVALID);
    asked_close(&asked);
}
