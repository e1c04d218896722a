/* Functions of dates and times. The time of the request is ASK_LIST_NOW, 2024-10-14T14:20:30.666Z. */
#include <stdlib.h>

#include "base/random.h"
#include "query/moment.h"
#include "tests/support/calls.h"

TEST(functions_time, dates_are_read_as_iso_8601_says)
{
    static const struct call_row rows[] = {
        CALL("DATETIMETOTICKS('1970-01-01')", "0"),
        CALL("DATETIMETOTICKS('1970-01-01T00:00')", "0"),
        CALL("DATETIMETOTICKS('1970-01-01T00:00Z')", "0"),
        CALL("DATETIMETOTICKS('1970-01-01 00:00:01')", "10000000"),
        CALL("DATETIMETOTICKS('1970-01-01T00:00:01.5')", "15000000"),
        CALL("DATETIMETOTICKS('1970-01-01T00:00:00.0000001Z')", "1"),
        CALL("DATETIMETOTICKS('1970-01-01T00:00:00.12345678901Z')", "1234567"),
        CALL("DATETIMETOTICKS('1969-12-31T23:59:59.9999999Z')", "-1"),
        CALL("DATETIMETOTICKS('1970-01-01T02:00:00+02:00')", "0"),
        CALL("DATETIMETOTICKS('1969-12-31T18:30:00-05:30')", "0"),
        CALL("DATETIMETOTICKS('2015-05-19T12:00:00.0000000Z')", "14320368000000000"),
        CALL("DATETIMETOTICKS('0001-01-01')", "-621355968000000000"),
        CALL("DATETIMETOTICKS('9999-12-31T23:59:59.9999999Z')", "2534023007999999999"),
        CALL("DATETIMETOTICKS('0000-01-01')", ""),
        CALL("DATETIMETOTICKS('0001-01-01T00:00:00+01:00')", ""),
        CALL("DATETIMETOTICKS('2021-02-29')", ""),
        CALL("DATETIMETOTICKS('1900-02-29')", ""),
        CALL("DATETIMETOTICKS('2000-02-29')", "9517824000000000"),
        CALL("DATETIMETOTICKS('2021-13-01')", ""),
        CALL("DATETIMETOTICKS('2021-00-01')", ""),
        CALL("DATETIMETOTICKS('2021-01-00')", ""),
        CALL("DATETIMETOTICKS('2021-01-01T24:00:00')", ""),
        CALL("DATETIMETOTICKS('2021-01-01T00:60:00')", ""),
        CALL("DATETIMETOTICKS('2021-01-01T00:00:60')", ""),
        CALL("DATETIMETOTICKS('2021-01-01T00')", ""),
        CALL("DATETIMETOTICKS('2021-01-01T00:00:00.')", ""),
        CALL("DATETIMETOTICKS('2021-01-01T00:00:00ZZ')", ""),
        CALL("DATETIMETOTICKS('2021-01-01Z')", ""),
        CALL("DATETIMETOTICKS('2021-1-1')", ""),
        CALL("DATETIMETOTICKS(' 2021-01-01')", ""),
        CALL("DATETIMETOTICKS('')", ""),
        CALL("DATETIMETOTICKS(0)", ""),
        CALL("IS_DATETIME('2021-01-01T00:00:00Z')", "true"),
        CALL("IS_DATETIME('01/01/2021')", "false"),
        CALL("IS_DATETIME(5)", "false"),
        CALL("IS_DATETIME(undefined)", "false"),
    };
    CHECK_CALLS(rows);
}

TEST(functions_time, dates_are_numbers_and_numbers_are_dates)
{
    static const struct call_row rows[] = {
        CALL("DATETIMETOTIMESTAMP('2015-05-19T12:00:00.0000000Z')", "1432036800000"),
        CALL("DATETIMETOTIMESTAMP('1969-12-31T23:59:59.9999999Z')", "-1"),
        CALL("DATETIMETOTIMESTAMP('x')", ""),
        CALL("TICKSTODATETIME(15973607943002839)", "\"2020-08-13T23:19:54.3002839Z\""),
        CALL("TICKSTODATETIME(0)", "\"1970-01-01T00:00:00.0000000Z\""),
        CALL("TICKSTODATETIME(-116444736000000000)", "\"1601-01-01T00:00:00.0000000Z\""),
        CALL("TICKSTODATETIME(9223372036854775807)", ""),
        CALL("TICKSTODATETIME(1.5)", ""),
        CALL("TICKSTODATETIME('0')", ""),
        CALL("TIMESTAMPTODATETIME(1597360794300)", "\"2020-08-13T23:19:54.3000000Z\""),
        CALL("TIMESTAMPTODATETIME(-11644473600000)", "\"1601-01-01T00:00:00.0000000Z\""),
        CALL("TIMESTAMPTODATETIME(9223372036854775807)", ""),
        CALL("TIMESTAMPTODATETIME(253402300800000)", ""),
        CALL("TIMESTAMPTODATETIME(null)", ""),
        CALL("DATETIMEFROMPARTS(2017, 4, 20)", "\"2017-04-20T00:00:00.0000000Z\""),
        CALL("DATETIMEFROMPARTS(2017, 4, 20, 13, 15, 20, 3456789)",
             "\"2017-04-20T13:15:20.3456789Z\""),
        CALL("DATETIMEFROMPARTS(2017, 4, 20, 13, 15)", "\"2017-04-20T13:15:00.0000000Z\""),
        CALL("DATETIMEFROMPARTS(-2000, -1, -1)", ""),
        CALL("DATETIMEFROMPARTS(2017, 2, 29)", ""),
        CALL("DATETIMEFROMPARTS(2017, 4, 20.5)", ""),
        CALL("DATETIMEFROMPARTS(2017, 4, 20, 0, 0, 0, 10000000)", ""),
        CALL("DATETIMEFROMPARTS(2017, 4, '20')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_time, parts_are_added_and_taken_off)
{
    static const struct call_row rows[] = {
        CALL("DATETIMEADD('yyyy', 1, '2020-07-03T00:00:00.0000000')",
             "\"2021-07-03T00:00:00.0000000Z\""),
        CALL("DATETIMEADD('mm', -1, '2020-07-03')", "\"2020-06-03T00:00:00.0000000Z\""),
        CALL("DATETIMEADD('dd', -3, '2020-07-03')", "\"2020-06-30T00:00:00.0000000Z\""),
        CALL("DATETIMEADD('hh', 25, '2020-07-03')", "\"2020-07-04T01:00:00.0000000Z\""),
        CALL("DATETIMEADD('ss', 5 * -5, '2020-07-03')", "\"2020-07-02T23:59:35.0000000Z\""),
        CALL("DATETIMEADD('ms', 1, '2020-07-03')", "\"2020-07-03T00:00:00.0010000Z\""),
        CALL("DATETIMEADD('mcs', 1, '2020-07-03')", "\"2020-07-03T00:00:00.0000010Z\""),
        CALL("DATETIMEADD('ns', 199, '2020-07-03')", "\"2020-07-03T00:00:00.0000001Z\""),
        CALL("DATETIMEADD('month', 1, '2024-01-31')", "\"2024-02-29T00:00:00.0000000Z\""),
        CALL("DATETIMEADD('month', -11, '2024-01-31')", "\"2023-02-28T00:00:00.0000000Z\""),
        CALL("DATETIMEADD('YEAR', -1, '2024-02-29')", "\"2023-02-28T00:00:00.0000000Z\""),
        CALL("DATETIMEADD('yy', 8000, '2024-02-29')", ""),
        CALL("DATETIMEADD('yy', 9223372036854775807, '2024-02-29')", ""),
        CALL("DATETIMEADD('m', 9223372036854775807, '2024-02-29')", ""),
        CALL("DATETIMEADD('d', 9223372036854775807, '2024-02-29')", ""),
        CALL("DATETIMEADD('dd', -800000, '2024-02-29')", ""),
        CALL("DATETIMEADD('week', 1, '2024-02-29')", ""),
        CALL("DATETIMEADD('d', 0.5, '2024-02-29')", ""),
        CALL("DATETIMEADD('d', 1, '2024-02-30')", ""),
        CALL("DATETIMEADD(1, 1, '2024-02-29')", ""),
        CALL("DATETIMEDIFF('yyyy', '2019-02-04T16:00:00.0000000', '2018-03-05T05:00:00.0000000')",
             "-1"),
        CALL("DATETIMEDIFF('mm', '2019-02-04T16:00:00.0000000', '2018-03-05T05:00:00.0000000')",
             "-11"),
        CALL("DATETIMEDIFF('hh', '2018-03-05T05:00:00.0000000', '2019-02-04T16:00:00.0000000')",
             "8075"),
        CALL("DATETIMEDIFF('ss', '2018-03-05T05:00:00.0000000', '2019-02-04T16:00:00.0000000')",
             "29070000"),
        CALL("DATETIMEDIFF('day', '2020-01-01T23:59:59', '2020-01-02T00:00:00')", "1"),
        CALL("DATETIMEDIFF('hh', '2020-01-01T01:00:00.1234527Z', '2020-01-01T01:59:59.1234567Z')",
             "0"),
        CALL("DATETIMEDIFF('day', '1969-12-31T23:59:59', '1970-01-01')", "1"),
        CALL("DATETIMEDIFF('ns', '2020-01-01', '2020-01-01T00:00:00.0000001')", "100"),
        CALL("DATETIMEDIFF('ns', '0001-01-01', '9999-01-01')", "3.155063616e+20"),
        CALL("DATETIMEDIFF('diffDays', '2020-01-01', '2020-01-02')", ""),
        CALL("DATETIMEDIFF('d', 'x', '2020-01-02')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_time, dates_are_put_into_bins)
{
    static const struct call_row rows[] = {
        CALL("DATETIMEBIN('2021-01-08T18:35:00.0000000', 'dd')",
             "\"2021-01-08T00:00:00.0000000Z\""),
        CALL("DATETIMEBIN('2021-01-08T18:35:00.0000000', 'hh')",
             "\"2021-01-08T18:00:00.0000000Z\""),
        CALL("DATETIMEBIN('2021-01-08T18:35:00.0000000', 'hh', 5)",
             "\"2021-01-08T15:00:00.0000000Z\""),
        CALL("DATETIMEBIN('2021-01-08T18:35:00.0000000', 'dd', 7)",
             "\"2021-01-07T00:00:00.0000000Z\""),
        CALL("DATETIMEBIN('2021-01-08T18:35:00.0000000', 'dd', 7, '1601-01-01T00:00:00.0000000')",
             "\"2021-01-04T00:00:00.0000000Z\""),
        CALL("DATETIMEBIN('1969-12-31T18:35:00', 'dd')", "\"1969-12-31T00:00:00.0000000Z\""),
        CALL("DATETIMEBIN('2021-01-08T18:35:00.1234567', 'mcs', 10)",
             "\"2021-01-08T18:35:00.1234500Z\""),
        CALL("DATETIMEBIN('2021-01-08T18:35:00.1234567', 'ns')",
             "\"2021-01-08T18:35:00.1234567Z\""),
        CALL("DATETIMEBIN('2021-01-08', 'dd', 9223372036854775807)",
             "\"1970-01-01T00:00:00.0000000Z\""),
        CALL("DATETIMEBIN('1960-01-08', 'dd', 9223372036854775807)", ""),
        CALL("DATETIMEBIN('2021-01-08', 'mm')", ""),
        CALL("DATETIMEBIN('2021-01-08', 'yyyy')", ""),
        CALL("DATETIMEBIN('2021-01-08', 'dd', 0)", ""),
        CALL("DATETIMEBIN('2021-01-08', 'dd', -1)", ""),
        CALL("DATETIMEBIN('2021-01-08', 'dd', 1.5)", ""),
        CALL("DATETIMEBIN('2021-01-08', 'dd', 1, '1600-12-31')", ""),
        CALL("DATETIMEBIN('2021-01-08', 'dd', 1, 'x')", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_time, parts_are_told)
{
    static const struct call_row rows[] = {
        CALL("DATETIMEPART('yyyy', '2016-05-29T08:30:00.1301617')", "2016"),
        CALL("DATETIMEPART('mm', '2016-05-29T08:30:00.1301617')", "5"),
        CALL("DATETIMEPART('dd', '2016-05-29T08:30:00.1301617')", "29"),
        CALL("DATETIMEPART('hh', '2016-05-29T08:30:00.1301617')", "8"),
        CALL("DATETIMEPART('mi', '2016-05-29T08:30:00.1301617')", "30"),
        CALL("DATETIMEPART('ss', '2016-05-29T08:30:00.1301617')", "0"),
        CALL("DATETIMEPART('ms', '2016-05-29T08:30:00.1301617')", "130"),
        CALL("DATETIMEPART('mcs', '2016-05-29T08:30:00.1301617')", "130161"),
        CALL("DATETIMEPART('ns', '2016-05-29T08:30:00.1301617')", "130161700"),
        CALL("DATETIMEPART('h', '2016-05-29T08:30:00.1301617')", ""),
        CALL("DATETIMEPART('yyyy', 2016)", ""),
        CALL("YEAR('2000-10-10')", "2000"),
        CALL("YEAR('2024-01-10T14:15:20')", "2024"),
        CALL("YEAR('2024')", ""),
        CALL("MONTH('2024-01-10T14:15:20')", "1"),
        CALL("MONTH(5)", ""),
        CALL("DAY('2024-01-10T14:15:20')", "10"),
        CALL("DAY(null)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_time, dates_are_written_the_way_a_format_says)
{
    static const struct call_row rows[] = {
        CALL("DATETIMEFORMAT('2024-10-10 14:40:20', 'yyyyMMdd')", "\"20241010\""),
        CALL("DATETIMEFORMAT('2024-10-10 14:40:20', 'yyyy-MM-dd [HH:mm:ss]')",
             "\"2024-10-10 [14:40:20]\""),
        CALL("DATETIMEFORMAT('2024-10-10 14:40:20', "
             "'To\\\\da\\\\y i\\\\s: yyyy-MM-ddTHH:mm:ss.fff')",
             "\"Today is: 2024-10-10T14:40:20.000\""),
        CALL("DATETIMEFORMAT('2024-10-10 14:40:20', "
             "'To\\\\da\\\\y i\\\\s: yyyy-MM-ddTHH:mm:ss.FFF')",
             "\"Today is: 2024-10-10T14:40:20.\""),
        CALL("DATETIMEFORMAT('2004-03-05T04:07:08.0304', 'y yy yyy yyyyy M d H m s f ff FFFFFFF')",
             "\"4 04 2004 02004 3 5 4 7 8 0 03 0304\""),
        CALL("DATETIMEFORMAT('2024-10-13', 'ddd dddd MMM MMMM')", "\"Sun Sunday Oct October\""),
        CALL("DATETIMEFORMAT('1900-01-01', 'dddd')", "\"Monday\""),
        CALL("DATETIMEFORMAT('2024-10-13T00:00', 'h hh t tt')", "\"12 12 A AM\""),
        CALL("DATETIMEFORMAT('2024-10-13T13:00', 'h hh t tt')", "\"1 01 P PM\""),
        CALL("DATETIMEFORMAT('2024-10-13', '\\u00e9')", "\"\xc3\xa9\""),
        CALL("DATETIMEFORMAT('2024-10-13', '')", "\"\""),
        CALL("DATETIMEFORMAT('2024-10-13', 'ffffffff')", ""),
        CALL("DATETIMEFORMAT('2024-10-13', 'x\\\\')", ""),
        CALL("DATETIMEFORMAT('2024-10-33', 'yyyy')", ""),
        CALL("DATETIMEFORMAT('2024-10-13', 1)", ""),
    };
    CHECK_CALLS(rows);
}

TEST(functions_time, the_time_is_that_of_the_request)
{
    static const struct call_row rows[] = {
        CALL("GETCURRENTDATETIME()", "\"2024-10-14T14:20:30.6660000Z\""),
        CALL("GETCURRENTDATETIMESTATIC()", "\"2024-10-14T14:20:30.6660000Z\""),
        CALL("GETCURRENTTICKS()", "17289156306660000"),
        CALL("GETCURRENTTICKSSTATIC()", "17289156306660000"),
        CALL("GETCURRENTTIMESTAMP()", "1728915630666"),
        CALL("GETCURRENTTIMESTAMPSTATIC()", "1728915630666"),
        CALL("NOW()", "\"2024-10-14T14:20:30.6660000Z\""),
        CALL("NOW('yyyy', 1)", "\"2025-10-14T14:20:30.6660000Z\""),
        CALL("NOW('ss', 30)", "\"2024-10-14T14:21:00.6660000Z\""),
        CALL("NOW('ms', 4)", "\"2024-10-14T14:20:30.6700000Z\""),
        CALL("NOW('x', 1)", ""),
        CALL("NOW('ss')", ""),
        CALL("AGO('yyyy', 1)", "\"2023-10-14T14:20:30.6660000Z\""),
        CALL("AGO('yyyy', -1)", "\"2025-10-14T14:20:30.6660000Z\""),
        CALL("AGO('ss', 30)", "\"2024-10-14T14:20:00.6660000Z\""),
        CALL("AGO('ms', 4)", "\"2024-10-14T14:20:30.6620000Z\""),
        CALL("AGO('ms', '4')", ""),
        CALL("AGO('ms', INTSUB(-9223372036854775807, 1))", ""),
        CALL("AGO('ms')", "SC2050 13-22: The AGO function requires 2 argument(s)."),
        CALL("NOW(1,2,3)", "SC2050 13-23: The NOW function requires 0 to 2 argument(s)."),
        CALL("DATETIMEFROMPARTS(1,2)",
             "SC2050 13-35: The DATETIMEFROMPARTS function requires 3 to 7 argument(s)."),
    };
    CHECK_CALLS(rows);
}

/* All requests of a collection have the time that the clock gave them. */
TEST(functions_time, the_time_moves_on_with_the_clock)
{
    static const char *const sql = "SELECT VALUE GETCURRENTTIMESTAMP() FROM c";
    struct world w;

    world_open(&w, ON_MEMORY);
    world_collection(&w, "c", TTL_OFF, "");
    world_insert(&w, "c", "{'_id':1}");
    long long before = strtoll(ask(&w, "c", sql, &(struct asking){ 0 }, NULL) + 1, NULL, 10);
    world_pass(&w, 86400000);
    long long after = strtoll(ask(&w, "c", sql, &(struct asking){ 0 }, NULL) + 1, NULL, 10);
    CHECK_EQ(after - before, 86400000, "");
    world_close(&w);
}

/* Day by day through all the years, against a calendar that is counted on. */
TEST(functions_time, the_calendar_is_right_for_every_day)
{
    struct moment_fields day = { .year = 1, .month = 1, .day = 1 };
    int64_t moment = MOMENT_FIRST, joined;
    unsigned weekday = 1;

    for (; day.year <= 9999; moment += MOMENT_TICKS_PER_DAY) {
        struct moment_fields split = moment_split(moment);
        CHECK_THAT(split.year == day.year && split.month == day.month && split.day == day.day &&
                       split.hour == 0 && moment_weekday(moment) == weekday &&
                       moment_join(&day, &joined) && joined == moment,
                   "%lld-%lld-%lld", (long long)day.year, (long long)day.month, (long long)day.day);
        weekday = (weekday + 1) % 7;
        day.day++;
        if (moment_join(&day, &joined))
            continue;
        day.day = 1;
        day.month = day.month % 12 + 1;
        day.year += day.month == 1;
    }
    CHECK_EQ(moment, MOMENT_LAST + 1, "");
}

TEST(functions_time, what_is_written_reads_back_the_same)
{
    EACH_SEED(seed, 20) {
        struct random random = random_seeded(seed);
        for (int i = 0; i < 1000; i++) {
            uint64_t range = (uint64_t)(MOMENT_LAST - MOMENT_FIRST) + 1;
            int64_t moment = MOMENT_FIRST + (int64_t)random_below(&random, range), back;
            char text[MOMENT_TEXT_BYTES + 1];
            moment_format(moment, text);
            CHECK_THAT(moment_parse(bytes_of(text, MOMENT_TEXT_BYTES), &back), "%s", text);
            CHECK_EQ(back, moment, "%s", text);
        }
    }
}
