/* Who asks: signatures as clients make them, and everything that must not pass as one.
 *
 * The signatures were made with another implementation (Python's hmac, hashlib and base64):
 *   text = f"{verb}\n{type}\n{link}\nsun, 01 mar 2026 00:00:00 gmt\n\n"
 *   b64encode(hmac.new(b64decode(key), text.encode(), sha256).digest()) */
#include <stdio.h>

#include "tests/support/asked.h"

#define GET_DB "m9v/jffN+Zj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ=" /* get dbs dbs/Db */
#define READ_ONLY_GET_DB "b1Vii4lF8F98UBnyfhhpH2Dh4VG21ELYBijqaIvs88k="
/* The same text with the date in the last line. */
#define DATE_GET_DB "dSnkntgq4Z/qp7dJThqi6ZuP0jAJHGIq69JrMI7UStU="

static void sign(struct asked *asked, const char *signature)
{
    const char *header = arena_format(asked->arena, "type=master&ver=1.0&sig=%s", signature);

    asked_header(asked, "authorization", header);
}

static const char *message(const struct asked *asked)
{
    return failure_sentence(&asked->call.failure);
}

TEST(auth, requests_are_known_by_their_signatures)
{
    const struct {
        const char *method, *target, *signature;
    } rows[] = {
        {"GET",     "/",                                                              "iKpOwmNHzHai1roST1eVyCaPb905V2FFJk1UivfxD40="},
        { "GET",    "/dbs",                                                           "uSbfRu1RyHQR9xFiMJWA/hAvdkh0W7j75jQNN3qMStg="},
        { "GET",    "/dbs/",                                                          "uSbfRu1RyHQR9xFiMJWA/hAvdkh0W7j75jQNN3qMStg="},
        { "POST",   "/dbs",                                                           "4OpQFvmqcQnfwDpih4accQyNPTf1sppbfyvkJSCkneg="},
        { "GET",    "/dbs/Db",                                                        GET_DB                                        },
        { "POST",   "/dbs/Db/colls",                                                  "E4AMVAS+6obAzM+phoL3nDWwvuNPfCUYdiU6Cb7aMfY="},
        { "PUT",    "/dbs/Db/colls/C",                                                "RxYdE8Z0zG+Ka7rDLm9xOxuJqW6D94mBcTT4vXYnAOU="},
        { "POST",   "/dbs/Db/colls/C/docs",                                           "T3YoF0Y7lY6AmGMYTif6Eqi2QwesffoFx3C1cDlsQY8="},
        { "GET",    "/dbs/Db/colls/C/pkranges",                                       "OX8d/bAE9sN20QMVDU3tbK4sE8/usqa/sk4CG0CKKuw="},
        { "POST",   "/dbs/Db/colls/C/operations/partitionkeydelete",
         "3Gh6kLJxgmWEOc7oZCnSMk3/Duc/66uJdBhCtmS6Z8A="                                                                             },
        { "GET",    "/dbs/Db/users/u/permissions",                                    "4UQYZjeaC6LF0hPCNPD5Da+mjGWIxFUBo1quPyAnUSA="},
        { "GET",    "/dbs/Db/users/u/permissions/p",                                  "gcJRKoGg0CrUaNj/NDYDthLCJhiuaFrid0VLVqMwv/8="},
        { "GET",    "/offers",                                                        "8pim4In0xZyDgFe/eOtH/56ojeQAAFaFbTg4o0raHHQ="},
 /* An offer is signed by its id in lower case, by some clients as a link. */
        { "PUT",    "/offers/oF1a",                                                   "9lasB5WkXKRRI9zWFrfbgpjo8rR/POWLPVEMKM2NVXw="},
        { "GET",    "/offers/oF1a",                                                   "23mmkxbQTEc/SWrfp7UWUB+z6RCB2O/CLWbhKIpqxWQ="},
 /* Links of names, decoded and as sent. */
        { "GET",    "/dbs/Db/colls/C/docs/a%20b",                                     "fmtbvrycUys2+Gz7RnSLe0TjSlA3QDuVAKJNzJ1MCnc="},
        { "GET",    "/dbs/Db/colls/C/docs/a%20b",                                     "iAvZZUM/+M0YBAyBP71olPgqJaEVmHmccDIh9DoTnfg="},
        { "PATCH",  "/dbs/Db/colls/C/docs/x?y",                                       "PEbUntI3JC6wNxvXxQnAH6Y/+NEmWiwVzmNLSSaUvD0="},
        { "DELETE", "/dbs/Db/colls/C/docs/%C3%A9",                                    "revPjyqJzwE30tu//hzAnnJLdkBX4qfvatqKD35ba8Y="},
 /* Links of resource ids: the last one, in lower case. */
        { "GET",    "/dbs/AAAAAQ==",                                                  "9fCvRrttUKW3Ky5FWa/GWMn1BWs/+CJxXIm+E39r/04="},
        { "GET",    "/dbs/AAAAAQ==/colls/AAAAAQAAAAI=/docs",
         "F0lGpNyvAuYqXJO8GrydXYSLVUHDIqm3KtLTX9Zn1XY="                                                                             },
        { "GET",    "/dbs/AAAAAQ==/colls/AAAAAQAAAAI=/docs/AAAAAQAAAAIAAAAAAAAAAA==",
         "LJH/E3IWEOdEM/1B3iGHQGeMSo88p9YotOhOFc+lIgo="                                                                             },
    };
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    EACH_ROW(rows, r) {
        asked_for(&asked, r->method, r->target);
        sign(&asked, r->signature);
        asked_header(&asked, "X-MS-Date", ASKED_DATE);
        CHECK_EQ(asked_identify(&asked), 200, "%s %s: %s", r->method, r->target, message(&asked));
        CHECK_EQ(asked.call.grant.kind, GRANT_MASTER, "");
    }
    asked_close(&asked);
}

TEST(auth, a_header_may_be_percent_encoded_or_not)
{
    static const char *const headers[] = {
        "type=master&ver=1.0&sig=" GET_DB,
        "type%3Dmaster%26ver%3D1.0%26sig%3Dm9v%2FjffN%2BZj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ%3D",
        "type%3dmaster%26ver%3d1.0%26sig%3dm9v%2fjffN%2bZj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ%3d",
        "type%3Dmaster%26ver%3D1.0%26sig%3Dm9v%2fjffN+Zj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ=",
        "sig=" GET_DB "&ver=1.0&type=master",
        "  type=master&ver=1.0&sig=" GET_DB "  ",
    };
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    EACH_ROW(headers, header) {
        asked_for(&asked, "GET", "/dbs/Db");
        asked_header(&asked, "authorization", *header);
        asked_header(&asked, "x-ms-date", ASKED_DATE);
        CHECK_EQ(asked_identify(&asked), 200, "%s: %s", *header, message(&asked));
    }
    asked_close(&asked);
}

TEST(auth, what_is_no_signature_of_this_request_is_refused)
{
    const struct {
        const char *why, *method, *target, *authorization, *says;
    } rows[] = {
        {"none",                "GET",    "/dbs/Db",       NULL,                                             "Required Header authorization is missing"},
        { "empty",              "GET",    "/dbs/Db",       "",                                               "has no type"                             },
        { "another verb",       "DELETE", "/dbs/Db",       "type=master&ver=1.0&sig=" GET_DB,
         "'delete\ndbs\ndbs/Db\nsun, 01 mar 2026 00:00:00 gmt\n\n'"                                                                                    },
        { "another name",       "GET",    "/dbs/db",       "type=master&ver=1.0&sig=" GET_DB,
         "'get\ndbs\ndbs/db\nsun, 01 mar 2026 00:00:00 gmt\n\n'"                                                                                       },
        { "another resource",   "GET",    "/dbs/Db/colls", "type=master&ver=1.0&sig=" GET_DB,
         "'get\ncolls\ndbs/Db\n"                                                                                                                       },
        { "a space for a plus", "GET",    "/dbs/Db",
         "type=master&ver=1.0&sig=m9v/jffN Zj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ=",                             "can't serve the request"                 },
        { "without padding",    "GET",    "/dbs/Db",
         "type=master&ver=1.0&sig=m9v/jffN+Zj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ",                              "can't serve the request"                 },
        { "other spare bits",   "GET",    "/dbs/Db",
         "type=master&ver=1.0&sig=m9v/jffN+Zj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgR=",                             "can't serve the request"                 },
        { "twice encoded",      "GET",    "/dbs/Db",
         "type=master&ver=1.0&sig=m9v%252FjffN%252BZj4NTfRphmCLtJSPe4mMG6ovI92ChyjpgQ%253D",                 "can't serve the request"                 },
        { "more behind it",     "GET",    "/dbs/Db",       "type=master&ver=1.0&sig=" GET_DB "x",
         "can't serve the request"                                                                                                                     },
        { "read-only key",      "GET",    "/dbs/Db",       "type=master&ver=1.0&sig=" READ_ONLY_GET_DB,
         "can't serve the request"                                                                                                                     },
        { "no sig",             "GET",    "/dbs/Db",       "type=master&ver=1.0",                            "has no sig"                              },
        { "empty sig",          "GET",    "/dbs/Db",       "type=master&ver=1.0&sig=",                       "empty"                                   },
        { "no ver",             "GET",    "/dbs/Db",       "type=master&sig=" GET_DB,                        "has no ver"                              },
        { "other ver",          "GET",    "/dbs/Db",       "type=master&ver=2.0&sig=" GET_DB,                "ver=2.0"                                 },
        { "sig twice",          "GET",    "/dbs/Db",       "type=master&ver=1.0&sig=" GET_DB "&sig=" GET_DB,
         "twice"                                                                                                                                       },
        { "type twice",         "GET",    "/dbs/Db",       "type=resource&type=master&ver=1.0&sig=" GET_DB,
         "twice"                                                                                                                                       },
        { "unknown field",      "GET",    "/dbs/Db",       "type=master&ver=1.0&x=1&sig=" GET_DB,
         "other than type"                                                                                                                             },
        { "half an escape",     "GET",    "/dbs/Db",       "type=master%2",                                  "incomplete percent escape"               },
        { "no escape",          "GET",    "/dbs/Db",       "type=master%zz",                                 "incomplete percent escape"               },
        { "type aad",           "GET",    "/dbs/Db",       "type=aad&ver=1.0&sig=e30.e30.x",                 "'aad'"                                   },
        { "type sas",           "GET",    "/dbs/Db",       "type=sas&ver=1.0&sig=x",                         "'sas'"                                   },
        { "another scheme",     "GET",    "/dbs/Db",       "Bearer x",                                       "other than type"                         },
        { "a foreign token",    "GET",    "/dbs/Db",       "type=resource&ver=1.0&sig=" GET_DB ";AAAA;",
         "resource token was not made"                                                                                                                 },
    };
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    EACH_ROW(rows, r) {
        asked_for(&asked, r->method, r->target);
        asked_header(&asked, "x-ms-date", ASKED_DATE);
        if (r->authorization)
            asked_header(&asked, "authorization", r->authorization);
        CHECK_EQ(asked_identify(&asked), 401, "%s", r->why);
        CHECK_EQ(asked.call.grant.kind, GRANT_NOTHING, "%s", r->why);
        CHECK_THAT(strstr(message(&asked), r->says), "%s: %s", r->why, message(&asked));
    }
    asked_close(&asked);
}

TEST(auth, every_changed_byte_of_a_signature_is_noticed)
{
    char header[] = "type=master&ver=1.0&sig=" GET_DB;
    struct asked asked;

    asked_open(&asked, NULL, ASKED_READ_ONLY_KEY);
    for (size_t i = 0; header[i]; i++) {
        char was = header[i];
        for (int bit = 0; bit < 7; bit++) {
            header[i] = (char)(was ^ 1 << bit);
            /* Names of fields are known in either case; a NUL would end the text. */
            if (header[i] == 0 || (bit == 5 && strchr("typeversig", was)))
                continue;
            asked_for(&asked, "GET", "/dbs/Db");
            asked_header(&asked, "authorization", header);
            asked_header(&asked, "x-ms-date", ASKED_DATE);
            CHECK_EQ(asked_identify(&asked), 401, "%s", header);
        }
        header[i] = was;
    }
    asked_close(&asked);
}

TEST(auth, no_message_shows_a_key_or_the_right_signature)
{
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    asked_for(&asked, "GET", "/dbs/Db");
    sign(&asked, READ_ONLY_GET_DB);
    asked_header(&asked, "x-ms-date", ASKED_DATE);
    CHECK_EQ(asked_identify(&asked), 401, "");
    CHECK(!strstr(message(&asked), GET_DB));
    CHECK(!strstr(message(&asked), "C2y6yDjf5"));
    asked_close(&asked);
}

TEST(auth, headers_that_stand_twice_are_refused)
{
    const struct {
        const char *name, *value;
    } rows[] = {
        {"authorization",  "type=master&ver=1.0&sig=" GET_DB},
        { "Authorization", "type=master&ver=1.0&sig=x"      },
        { "AUTHORIZATION", ""                               },
        { "x-ms-date",     ASKED_DATE                       },
        { "X-Ms-Date",     "Mon, 02 Mar 2026 00:00:00 GMT"  },
    };
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    for (int is_first = 0; is_first < 2; is_first++) {
        EACH_ROW(rows, r) {
            asked_for(&asked, "GET", "/dbs/Db");
            if (is_first)
                asked_header(&asked, r->name, r->value);
            sign(&asked, GET_DB);
            asked_header(&asked, "x-ms-date", ASKED_DATE);
            if (!is_first)
                asked_header(&asked, r->name, r->value);
            CHECK_EQ(asked_identify(&asked), 401, "%s", r->name);
        }
    }
    asked_close(&asked);
}

TEST(auth, the_date_header_counts_only_without_x_ms_date)
{
    const struct {
        const char *x_ms_date, *date, *signature;
        unsigned want;
    } rows[] = {
        {NULL,                             ASKED_DATE,                      DATE_GET_DB, 200},
        { NULL,                            ASKED_DATE,                      GET_DB,      401},
        { ASKED_DATE,                      "Mon, 02 Mar 2026 00:00:00 GMT", GET_DB,      200},
        { ASKED_DATE,                      ASKED_DATE,                      DATE_GET_DB, 401},
        { "Sun, 01 Mar 2026 00:00:01 GMT", ASKED_DATE,                      GET_DB,      401},
        { NULL,                            NULL,                            GET_DB,      401},
        { "",                              ASKED_DATE,                      DATE_GET_DB, 401},
        { "2026-03-01T00:00:00Z",          NULL,                            GET_DB,      401},
    };
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    EACH_ROW(rows, r) {
        asked_for(&asked, "GET", "/dbs/Db");
        sign(&asked, r->signature);
        if (r->x_ms_date)
            asked_header(&asked, "x-ms-date", r->x_ms_date);
        if (r->date)
            asked_header(&asked, "date", r->date);
        CHECK_EQ(asked_identify(&asked), r->want, "%s %s: %s", r->x_ms_date, r->date,
                 message(&asked));
    }
    asked_close(&asked);
}

TEST(auth, a_signature_holds_for_a_quarter_of_an_hour_around_its_date)
{
    const struct {
        int64_t offset_ms;
        unsigned want;
    } rows[] = {
        {0,        200},
        { 900000,  200},
        { 900001,  403},
        { -900000, 200},
        { -900001, 403},
    };
    struct asked asked;

    asked_open(&asked, NULL, NULL);
    EACH_ROW(rows, r) {
        asked.time.wall = ASKED_NOW + r->offset_ms;
        asked_for(&asked, "GET", "/dbs/Db");
        sign(&asked, GET_DB);
        asked_header(&asked, "x-ms-date", ASKED_DATE);
        CHECK_EQ(asked_identify(&asked), r->want, "%d ms: %s", (int)r->offset_ms, message(&asked));
    }
    asked.time.wall = ASKED_NOW + 3600000;
    CHECK_EQ(asked_identify(&asked), 403, "");
    CHECK_THAT(strstr(message(&asked), "'Sun, 01 Mar 2026 00:00:00 GMT'") &&
                   strstr(message(&asked), "'Sun, 01 Mar 2026 01:00:00 GMT'"),
               "%s", message(&asked));
    asked_close(&asked);
}

TEST(auth, keys_of_any_length_sign_and_bad_ones_are_refused)
{
    const struct {
        const char *key;
        const char *signature; /* of get dbs; NULL: the key is refused */
    } rows[] = {
        {"AAECAwQFBgcICQoLDA0ODw==",                               "nl7PYNbisx2g8ar8FSPk/vmtDzoV6NNZzXj4g6Mgvxg="},
        { "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+"
          "P0BBQkNE"
          "RUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiYw==", "0mrVGqnSpvuSdMCyYFGaO0YWLm/cIcMv6fb6xldQH0E="},
        { "",                                                      NULL                                          },
        { "AAECAwQFBgcICQoLDA0O",                                  NULL                                          },
        { "AAECAwQFBgcICQoLDA0ODw=",                               NULL                                          },
        { "not base64 at all, but long enough for a key.",         NULL                                          },
    };
    struct manual_time time = { .wall = ASKED_NOW };
    struct asked asked;
    struct auth *auth;

    EACH_ROW(rows, r) {
        if (r->signature) {
            asked_open(&asked, r->key, NULL);
            asked_for(&asked, "GET", "/dbs");
            sign(&asked, r->signature);
            asked_header(&asked, "x-ms-date", ASKED_DATE);
            CHECK_EQ(asked_identify(&asked), 200, "%s", message(&asked));
            asked_close(&asked);
            continue;
        }
        struct arena *arena = arena_open(1 << 20);
        struct cosmos_options options = { .machine_time = clock_source_manual(&time),
                                          .master_key = r->key };
        CHECK_CODE(auth_open(&options, arena, &auth), INVALID);
        CHECK(auth == NULL);
        options = (struct cosmos_options){ .read_only_key = r->key };
        CHECK_CODE(auth_open(&options, arena, &auth), INVALID);
        arena_close(arena);
    }
}

TEST(auth, the_read_only_key_is_another_key)
{
    struct arena *arena = arena_open(1 << 20);
    struct cosmos_options options = { .master_key = ASKED_READ_ONLY_KEY,
                                      .read_only_key = ASKED_READ_ONLY_KEY };
    struct auth *auth;
    struct asked asked;

    CHECK_CODE(auth_open(&options, arena, &auth), INVALID);
    arena_close(arena);
    asked_open(&asked, NULL, ASKED_READ_ONLY_KEY);
    asked_for(&asked, "GET", "/dbs/Db");
    sign(&asked, READ_ONLY_GET_DB);
    asked_header(&asked, "x-ms-date", ASKED_DATE);
    CHECK_EQ(asked_identify(&asked), 200, "");
    CHECK_EQ(asked.call.grant.kind, GRANT_READ_ONLY, "");
    CHECK_EQ(asked_permit(&asked), 200, "");
    asked_close(&asked);
}

TEST(auth, seals_hold_while_their_key_is_one_of_the_two)
{
    struct arena *arena = arena_open(1 << 20);
    const char *const keys[] = { "AAECAwQFBgcICQoLDA0ODw==", "EBESExQVFhcYGRobHB0eHw==",
                                 "ICEiIyQlJicoKSorLC0uLw==" };
    struct cosmos_options options = { .master_key = keys[0] };
    const bytes text = BYTES_LITERAL("text");
    uint8_t seal[AUTH_SEAL_BYTES];
    struct auth *auth;

    CHECK_OK(auth_open(&options, arena, &auth));
    auth_seal(auth, "test", text, seal);
    options = (struct cosmos_options){ .master_key = keys[1], .secondary_key = keys[0] };
    CHECK_OK(auth_renew(auth, &options, arena));
    CHECK(auth_seal_holds(auth, "test", text, seal));
    options = (struct cosmos_options){ .master_key = keys[2], .read_only_key = keys[2] };
    CHECK_CODE(auth_renew(auth, &options, arena), INVALID);
    CHECK(auth_seal_holds(auth, "test", text, seal)); /* a bad set changes nothing */
    options = (struct cosmos_options){ .master_key = keys[2],
                                       .secondary_key = keys[1],
                                       .secondary_read_only_key = keys[0] };
    CHECK_OK(auth_renew(auth, &options, arena));
    CHECK(!auth_seal_holds(auth, "test", text, seal)); /* who only reads seals nothing */
    auth_close(auth);
    arena_close(arena);
}

TEST(auth, seals_hold_for_their_text_purpose_and_key_only)
{
    uint8_t seal[AUTH_SEAL_BYTES], other_seal[AUTH_SEAL_BYTES];
    struct asked asked, other;

    asked_open(&asked, NULL, NULL);
    asked_open(&other, ASKED_READ_ONLY_KEY, NULL);
    auth_seal(asked.face.auth, "page", BYTES_LITERAL("text"), seal);
    CHECK(auth_seal_holds(asked.face.auth, "page", BYTES_LITERAL("text"), seal));
    CHECK(!auth_seal_holds(asked.face.auth, "page", BYTES_LITERAL("texT"), seal));
    CHECK(!auth_seal_holds(asked.face.auth, "page", BYTES_LITERAL(""), seal));
    CHECK(!auth_seal_holds(asked.face.auth, "pagetext", BYTES_LITERAL(""), seal));
    CHECK(!auth_seal_holds(asked.face.auth, "feed", BYTES_LITERAL("text"), seal));
    CHECK(!auth_seal_holds(other.face.auth, "page", BYTES_LITERAL("text"), seal));
    auth_seal(asked.face.auth, "page", BYTES_NONE, other_seal);
    CHECK(auth_seal_holds(asked.face.auth, "page", BYTES_NONE, other_seal));
    for (size_t i = 0; i < sizeof(seal); i++) {
        seal[i] ^= 1;
        CHECK(!auth_seal_holds(asked.face.auth, "page", BYTES_LITERAL("text"), seal));
        seal[i] ^= 1;
    }
    asked_close(&other);
    asked_close(&asked);
}
