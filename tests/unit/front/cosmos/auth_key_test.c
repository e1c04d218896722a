/* Keys and dates: HMAC-SHA256 against published vectors, RFC 1123 dates to the letter. */
#include "front/cosmos/auth_date.h"
#include "front/cosmos/auth_key.h"
#include "tests/check.h"

TEST(auth_key, macs_are_those_of_rfc_4231)
{
    uint8_t elevens[20], large[131], mac[AUTH_MAC_BYTES];
    char text[AUTH_MAC_TEXT_BYTES];
    struct auth_key key;

    memset(elevens, 0x0B, sizeof(elevens));
    memset(large, 0xAA, sizeof(large));
    const struct {
        bytes secret;
        const char *text;
        const char *want; /* the hexadecimal of the RFC as base64 */
    } rows[] = {
        {bytes_of(elevens,       sizeof(elevens)),                                         "Hi There",
         "sDRMYdjbOFNcqK/OrwvxK4gdwgDJgz2nJuk3bC4yz/c="                                                },
        { BYTES_LITERAL("Jefe"), "what do ya want for nothing?",
         "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM="                                              },
        { bytes_of(large,        sizeof(large)), "Test Using Larger Than Block-Size Key - Hash Key First",
         "YOQxWR7gtn8Niiaqy/W3f44LxiE3KMUUBUYEDw7jf1Q="},
    };
    EACH_ROW(rows, r) {
        auth_key_make(r->secret, &key);
        for (int again = 0; again < 2; again++) {
            auth_key_sign(&key, bytes_of_text(r->text), mac);
            auth_mac_format(mac, text);
            CHECK_STRING(text, r->want);
        }
    }
}

TEST(auth_date, dates_are_read_in_exactly_one_form)
{
    const struct {
        const char *text;
        time_ms want; /* -1: refused */
    } rows[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT",   0              },
        { "Sun, 01 Mar 2026 00:00:00 GMT",  1772323200000  },
        { "sun, 01 mar 2026 00:00:00 gmt",  1772323200000  },
        { "SUN, 01 MAR 2026 00:00:00 GMT",  1772323200000  },
        { "Thu, 29 Feb 2024 23:59:59 GMT",  1709251199000  },
        { "Tue, 19 Jan 2038 03:14:08 GMT",  2147483648000  },
        { "Fri, 31 Dec 9999 23:59:59 GMT",  253402300799000},
        { "Mon, 01 Mar 2026 00:00:00 GMT",  -1             },
        { "Thu, 30 Feb 2023 00:00:00 GMT",  -1             },
        { "Wed, 29 Feb 2023 00:00:00 GMT",  -1             },
        { "Sun, 00 Mar 2026 00:00:00 GMT",  -1             },
        { "Sun, 01 Mar 2026 24:00:00 GMT",  -1             },
        { "Sun, 01 Mar 2026 00:60:00 GMT",  -1             },
        { "Sun, 01 Mar 2026 00:00:60 GMT",  -1             },
        { "Sun, 1 Mar 2026 00:00:00 GMT",   -1             },
        { "Sun, 01 Mar 2026 00:00:00 UTC",  -1             },
        { "Sun, 01 Mar 2026 00:00:00 +000", -1             },
        { "Sun, 01 Mar 2026 00:00:00 GMT ", -1             },
        { "Sun, 01 Mrz 2026 00:00:00 GMT",  -1             },
        { "Sunday, 01-Mar-26 00:00:00 GM",  -1             },
        { "Sun Mar  1 00:00:00 2026",       -1             },
        { "2026-03-01T00:00:00Z",           -1             },
        { "Sun, 01 Mar 2026 -1:00:00 GMT",  -1             },
        { "",                               -1             },
    };
    time_ms got;

    EACH_ROW(rows, r) {
        CHECK_EQ(auth_date_parse(bytes_of_text(r->text), &got), r->want >= 0, "%s", r->text);
        CHECK_EQ(got, r->want >= 0 ? r->want : 0, "%s", r->text);
    }
}

TEST(auth_date, every_day_reads_back_as_it_was_written)
{
    char text[AUTH_DATE_BYTES + 1];
    time_ms got;

    /* Two cycles of the calendar, a day and some seconds at a time. */
    for (time_ms time = -62135596800000; time < 253402300800000; time += 86461000LL * 37) {
        auth_date_format(time, text);
        CHECK_THAT(auth_date_parse(bytes_of_text(text), &got), "%s", text);
        CHECK_EQ(got, time, "%s", text);
    }
}
