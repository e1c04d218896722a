/* The test harness: tests that register themselves, and claims that say what they saw.
 *
 * A file of tests includes this header and the header of the room under test, and holds nothing
 * but TESTs and their helpers; tests/main.c runs them through cmocka. A claim that does not hold
 * ends its test at once and prints one line with place, test, claim and values.
 *
 * CHECKs belong to the thread that runs the test: a claim that fails in another thread cannot end
 * the test, so it prints its line and aborts the process. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct check_test {
    const char *room;
    const char *name; /* an identifier; read with spaces for underscores */
    const char *file;
    int line;
    void (*run)(void);
    struct check_test *next;
};

/* TEST(arena, release_gives_back_all_since_the_mark) { ... } */
#define TEST(room_, name_)                                                    \
    static void test_##room_##_##name_(void);                                 \
    __attribute__((constructor)) static void register_##room_##_##name_(void) \
    {                                                                         \
        static struct check_test test = {                                     \
            #room_, #name_, __FILE__, __LINE__, test_##room_##_##name_, NULL  \
        };                                                                    \
        check_register(&test);                                                \
    }                                                                         \
    static void test_##room_##_##name_(void)

/* for each row of a static table: EACH_ROW(rows, r) CHECK_EQ(f(r->in), r->want, "%s", r->why); */
#define EACH_ROW(rows, r)                                                                        \
    for (const __typeof__((rows)[0]) *r = (rows); r < (rows) + sizeof(rows) / sizeof((rows)[0]); \
         r++)

/* For each seed of a random test: EACH_SEED(seed, 20) { ... }. Seeds are 1..count times SCALE, or
 * only SEED where that is set. A failure prints the seed. */
#define EACH_SEED(seed, count) \
    for (uint64_t seed = check_seed_first(count); seed != 0; seed = check_seed_next())

/* First in a test that does much on one thread to reach a limit: ThreadSanitizer has nothing to see there and takes
 * minutes for it, so that variant does not run it, and does not count it. */
#if defined(__SANITIZE_THREAD__)
#define LONG_ON_ONE_THREAD()   \
    do {                       \
        if (check_leave_out()) \
            return;            \
    } while (0)
#else
#define LONG_ON_ONE_THREAD() ((void)0)
#endif

#define CHECK(claim)                                                       \
    do {                                                                   \
        if (!(claim))                                                      \
            check_fail(__FILE__, __LINE__, "CHECK(" #claim ")", "%s", ""); \
    } while (0)

/* The text says what was to hold, with the values that matter: CHECK_THAT(n < 3, "n is %d", n) */
#define CHECK_THAT(claim, ...)                                                \
    do {                                                                      \
        if (!(claim))                                                         \
            check_fail(__FILE__, __LINE__, "CHECK(" #claim ")", __VA_ARGS__); \
    } while (0)

/* Integers, enums, booleans of any width: CHECK_EQ(got, want, "") or (got, want, "%s", why) */
#define CHECK_EQ(got, want, ...) \
    check_equal(__FILE__, __LINE__, #got, CHECK_INTEGER(got), CHECK_INTEGER(want), __VA_ARGS__)

/* Expressions of type status. */
#define CHECK_OK(call)                                                            \
    do {                                                                          \
        const status check_status = (call);                                       \
        if (check_status.code != OK)                                              \
            check_fail(__FILE__, __LINE__, "CHECK_OK(" #call ")", "is %s: %s",    \
                       status_code_name(check_status.code),                       \
                       check_status.message != NULL ? check_status.message : ""); \
    } while (0)

#define CHECK_CODE(call, want)                                                            \
    do {                                                                                  \
        const status check_status = (call);                                               \
        if (check_status.code != (want))                                                  \
            check_fail(__FILE__, __LINE__, "CHECK_CODE(" #call ")", "is %s, want %s: %s", \
                       status_code_name(check_status.code), status_code_name(want),       \
                       check_status.message != NULL ? check_status.message : "");         \
    } while (0)

/* Two values of type bytes; why is a plain text, may be "". Shows both around the difference. */
#define CHECK_BYTES(got, want, why)                                                                \
    do {                                                                                           \
        const __typeof__(got) check_got = (got);                                                   \
        const __typeof__(got) check_want = (want);                                                 \
        check_same_bytes(__FILE__, __LINE__, #got, check_got.data, check_got.len, check_want.data, \
                         check_want.len, why);                                                     \
    } while (0)

/* A value of type bytes against a C string. */
#define CHECK_TEXT(got, text)                                                                 \
    do {                                                                                      \
        const __typeof__(got) check_got = (got);                                              \
        const char *check_want = (text);                                                      \
        check_same_bytes(__FILE__, __LINE__, #got, check_got.data, check_got.len, check_want, \
                         strlen(check_want), "");                                             \
    } while (0)

/* Two C strings. */
#define CHECK_STRING(got, want)                                                              \
    do {                                                                                     \
        const char *check_got = (got);                                                       \
        const char *check_want = (want);                                                     \
        check_same_bytes(__FILE__, __LINE__, #got, check_got, strlen(check_got), check_want, \
                         strlen(check_want), "");                                            \
    } while (0)

/* Makes a directory below $TMPDIR (or /tmp) and writes its path to out. It is removed with all it
 * holds when the test passes, and kept and named when the test fails. */
void check_temp_dir(char *out, size_t len);

/* The seed of this test run: the one of the EACH_SEED around, else SEED from the environment, else
 * 1. A test that asked for it prints it when it fails. Never 0. */
uint64_t check_seed(void);

/* The test that runs is not counted; always true. */
bool check_leave_out(void);

/* SCALE from the environment (default 1; 0.1 is a tenth): how much longer random tests shall be. */
double check_scale(void);

/* count times check_scale(), at least 1. */
size_t check_scaled(size_t count);

/* Ends the test: for claims that the macros do not cover, e.g. in a helper that knows the caller. */
__attribute__((format(printf, 4, 5), noreturn)) void check_fail(const char *file, int line,
                                                                const char *claim,
                                                                const char *format, ...);

/* Until this test ends, a failure calls tell(data) first, to print what led to it. */
void check_tell(void (*tell)(void *data), void *data);

/* True if body(data), run in a forked child, ends by abort(): for ASSERTs that must fire. */
bool check_aborts(void (*body)(void *data), void *data);

/* What the macros stand on. */

struct check_integer {
    intmax_t value;
    bool is_unsigned64;
    bool is_real;
};

#define CHECK_INTEGER(x)                                         \
    ((struct check_integer){ (intmax_t)(x),                      \
                             _Generic((x), unsigned long         \
                                      : true, unsigned long long \
                                      : true, default            \
                                      : false),                  \
                             _Generic((x), float                 \
                                      : true, double             \
                                      : true, long double        \
                                      : true, default            \
                                      : false) })

void check_register(struct check_test *test);
uint64_t check_seed_first(size_t count);
uint64_t check_seed_next(void);
__attribute__((format(printf, 6, 7))) void check_equal(const char *file, int line,
                                                       const char *claim, struct check_integer got,
                                                       struct check_integer want,
                                                       const char *format, ...);
void check_same_bytes(const char *file, int line, const char *claim, const void *got,
                      size_t got_len, const void *want, size_t want_len, const char *why);

/* For tests/main.c. */

struct check_counts {
    size_t passed;
    size_t failed;
};

/* The n-th of so many parts of the tests, from 1. */
struct check_part {
    size_t number, count;
};

/* Runs the tests whose "room name" contains filter (NULL: all); one line for each when verbose. */
struct check_counts check_run(const char *filter, struct check_part part, bool is_verbose);
void check_list(void);

#endif
