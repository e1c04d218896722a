/* The harness behind tests/check.h: a list of tests, the record of the running one, and cmocka to
 * run them.
 *
 * Keeps: a failing test prints exactly one line, with everything needed to find and replay it; a
 * test that dies (signal, ASSERT) is named before the process ends.
 * Threads: tests run one after the other on the main thread; see check.h for claims elsewhere. */
#include "tests/check.h"

#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TESTS_MAX = 8192, TEMP_DIRS_MAX = 64, MESSAGE_BYTES_MAX = 4096, BYTES_SHOWN = 48 };

/* A harness is the one place where globals are the plain solution: cmocka's callbacks carry no
 * state, and constructors run before main. */
static struct check_test *registered;
static const struct check_test *order[TESTS_MAX];

static struct {
    const struct check_test *test;
    pthread_t thread;
    bool is_failed;
    bool is_returned;
    bool is_left_out;
    bool is_verbose;
    struct timespec began;
    bool is_seeded;
    uint64_t seed;
    uint64_t seed_last;
    char temp_dirs[TEMP_DIRS_MAX][PATH_MAX];
    size_t temp_dir_count;
    void (*tell)(void *data);
    void *tell_data;
    struct check_counts counts;
} running;

static void print_failure(const char *file, int line, const char *claim, const char *message);
static void name_as_sentence(const struct check_test *test, char *out, size_t len);
static size_t select_tests(const char *filter, struct CMUnitTest *out);
static int before_test(void **state);
static void run_one(void **state);
static int after_test(void **state);
static void on_abort(int number);
static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk);
static void show_bytes(const unsigned char *data, size_t len, size_t from, char *out, size_t max);

void check_register(struct check_test *test)
{
    test->next = registered;
    registered = test;
}

/* Every count-th test, so that neighbours, which take about as long, go to different parts. */
static size_t select_part(struct CMUnitTest *tests, size_t count, struct check_part part)
{
    size_t kept = 0;
    for (size_t i = part.number - 1; i < count; i += part.count)
        tests[kept++] = tests[i];
    return kept;
}

struct check_counts check_run(const char *filter, struct check_part part, bool is_verbose)
{
    static struct CMUnitTest tests[TESTS_MAX];
    const size_t count = select_part(tests, select_tests(filter, tests), part);
    running.thread = pthread_self();
    running.is_verbose = is_verbose;
    signal(SIGABRT, on_abort);
    if (count > 0)
        _cmocka_run_group_tests("mayfly", tests, count, NULL, NULL);
    return running.counts;
}

void check_list(void)
{
    static struct CMUnitTest tests[TESTS_MAX];
    const size_t count = select_tests(NULL, tests);
    for (size_t i = 0; i < count; i++) {
        char name[256];
        name_as_sentence(order[i], name, sizeof(name));
        printf("%s\n", name);
    }
}

void check_fail(const char *file, int line, const char *claim, const char *format, ...)
{
    char message[MESSAGE_BYTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);

    print_failure(file, line, claim, message);
    running.is_failed = true;
    if (running.test == NULL || !pthread_equal(pthread_self(), running.thread)) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    _fail(file, line);
    abort(); /* not reached: cmocka has jumped out of the test */
}

void check_equal(const char *file, int line, const char *claim, struct check_integer got,
                 struct check_integer want, const char *format, ...)
{
    if (got.is_real || want.is_real)
        check_fail(file, line, claim, "CHECK_EQ compares integers, not floating point");
    const bool is_same_sign = got.value >= 0 || want.value >= 0 ||
                              got.is_unsigned64 == want.is_unsigned64;
    if (got.value == want.value && is_same_sign)
        return;

    char why[MESSAGE_BYTES_MAX / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);

    char shown[2][32];
    const struct check_integer values[2] = { got, want };
    for (int i = 0; i < 2; i++) {
        if (values[i].is_unsigned64)
            snprintf(shown[i], sizeof(shown[i]), "%ju", (uintmax_t)values[i].value);
        else
            snprintf(shown[i], sizeof(shown[i]), "%jd", values[i].value);
    }
    check_fail(file, line, claim, "is %s, want %s%s%s", shown[0], shown[1],
               why[0] != '\0' ? ": " : "", why);
}

void check_same_bytes(const char *file, int line, const char *claim, const void *got,
                      size_t got_len, const void *want, size_t want_len, const char *why)
{
    const unsigned char *g = got;
    const unsigned char *w = want;
    const size_t common = got_len < want_len ? got_len : want_len;
    size_t first = 0;
    while (first < common && g[first] == w[first])
        first++;
    if (first == common && got_len == want_len)
        return;

    char got_shown[BYTES_SHOWN * 4 + 8];
    char want_shown[BYTES_SHOWN * 4 + 8];
    const size_t from = first > 8 ? first - 8 : 0;
    show_bytes(g, got_len, from, got_shown, sizeof(got_shown));
    show_bytes(w, want_len, from, want_shown, sizeof(want_shown));
    check_fail(
        file, line, claim,
        "differs at byte %zu (is %zu bytes, want %zu); from byte %zu: is \"%s\", want \"%s\"%s%s",
        first, got_len, want_len, from, got_shown, want_shown, why[0] != '\0' ? ": " : "", why);
}

void check_temp_dir(char *out, size_t len)
{
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0')
        base = "/tmp";
    if (running.temp_dir_count == TEMP_DIRS_MAX)
        check_fail(__FILE__, __LINE__, "check_temp_dir", "more than %d in a test", TEMP_DIRS_MAX);
    char *path = running.temp_dirs[running.temp_dir_count];
    const int written = snprintf(path, PATH_MAX, "%s/mayfly-test-XXXXXX", base);
    if (written >= PATH_MAX || mkdtemp(path) == NULL)
        check_fail(__FILE__, __LINE__, "check_temp_dir", "cannot make a directory in %s", base);
    if ((size_t)written >= len)
        check_fail(__FILE__, __LINE__, "check_temp_dir", "%d bytes do not fit %zu", written, len);
    running.temp_dir_count++;
    memcpy(out, path, (size_t)written + 1);
}

uint64_t check_seed(void)
{
    if (!running.is_seeded) {
        running.is_seeded = true;
        running.seed = check_seed_first(1);
    }
    return running.seed;
}

uint64_t check_seed_first(size_t count)
{
    const char *text = getenv("SEED");
    const uint64_t only = text != NULL ? strtoull(text, NULL, 0) : 0;
    running.is_seeded = true;
    running.seed = only != 0 ? only : 1;
    running.seed_last = only != 0 ? only : check_scaled(count);
    return running.seed;
}

uint64_t check_seed_next(void)
{
    if (running.seed >= running.seed_last)
        return 0;
    return ++running.seed;
}

bool check_leave_out(void)
{
    running.is_left_out = true;
    return true;
}

double check_scale(void)
{
    const char *text = getenv("SCALE");
    const double scale = text != NULL ? strtod(text, NULL) : 0;
    return scale > 0 ? scale : 1;
}

size_t check_scaled(size_t count)
{
    const size_t scaled = (size_t)((double)count * check_scale());
    return scaled > 0 ? scaled : 1;
}

void check_tell(void (*tell)(void *data), void *data)
{
    running.tell = tell;
    running.tell_data = data;
}

bool check_aborts(void (*body)(void *data), void *data)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = { 0, 0 };
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) != NULL)
            body(data);
        _exit(0);
    }
    int ending = 0;
    if (child < 0 || waitpid(child, &ending, 0) != child)
        check_fail(__FILE__, __LINE__, "check_aborts", "cannot fork");
    return WIFSIGNALED(ending) && WTERMSIG(ending) == SIGABRT;
}

/* The one line of a failing test. */
static void print_failure(const char *file, int line, const char *claim, const char *message)
{
    char name[256] = "outside any test";
    if (running.test != NULL)
        name_as_sentence(running.test, name, sizeof(name));
    fflush(stdout);
    if (running.tell != NULL)
        running.tell(running.tell_data);
    running.tell = NULL;
    fprintf(stderr, "FAIL %s:%d: %s: %s%s%s", file, line, name, claim,
            message[0] != '\0' ? ": " : "", message);
    if (running.is_seeded)
        fprintf(stderr, " [replay with SEED=%llu]", (unsigned long long)running.seed);
    for (size_t i = 0; i < running.temp_dir_count; i++)
        fprintf(stderr, " [kept %s]", running.temp_dirs[i]);
    fprintf(stderr, "\n");
}

static void name_as_sentence(const struct check_test *test, char *out, size_t len)
{
    snprintf(out, len, "%s: %s", test->room, test->name);
    for (char *c = out; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
}

static int compare_places(const void *left, const void *right)
{
    const struct check_test *a = *(const struct check_test *const *)left;
    const struct check_test *b = *(const struct check_test *const *)right;
    const int by_file = strcmp(a->file, b->file);
    return by_file != 0 ? by_file : (a->line > b->line) - (a->line < b->line);
}

/* Fills order and out with the tests that match, in the order of files and lines. */
static size_t select_tests(const char *filter, struct CMUnitTest *out)
{
    size_t count = 0;
    for (const struct check_test *test = registered; test != NULL; test = test->next) {
        char plain[256];
        char sentence[256];
        snprintf(plain, sizeof(plain), "%s %s", test->room, test->name);
        name_as_sentence(test, sentence, sizeof(sentence));
        if (filter != NULL && strstr(plain, filter) == NULL && strstr(sentence, filter) == NULL)
            continue;
        if (count == TESTS_MAX) {
            fprintf(stderr, "more than %d tests: raise TESTS_MAX in tests/check.c\n", TESTS_MAX);
            exit(EXIT_FAILURE);
        }
        order[count++] = test;
    }
    qsort(order, count, sizeof(order[0]), compare_places);
    for (size_t i = 0; i < count; i++)
        out[i] = (struct CMUnitTest){ order[i]->name, run_one, before_test, after_test,
                                      (void *)(uintptr_t)order[i] };
    return count;
}

static int before_test(void **state)
{
    running.test = *state;
    running.is_failed = false;
    running.is_returned = false;
    running.is_left_out = false;
    running.is_seeded = false;
    running.temp_dir_count = 0;
    running.tell = NULL;
    clock_gettime(CLOCK_MONOTONIC, &running.began);
    return 0;
}

static double elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - since->tv_sec) * 1e3 +
           (double)(now.tv_nsec - since->tv_nsec) / 1e6;
}

static void run_one(void **state)
{
    (void)state;
    running.test->run();
    running.is_returned = true;
    if (running.is_verbose) {
        char name[256];
        name_as_sentence(running.test, name, sizeof(name));
        printf("ok   %s (%.0f ms)\n", name, elapsed_ms(&running.began));
    }
}

static int after_test(void **state)
{
    (void)state;
    if (running.is_returned) {
        running.counts.passed += !running.is_left_out;
        for (size_t i = 0; i < running.temp_dir_count; i++)
            nftw(running.temp_dirs[i], remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    } else {
        running.counts.failed++;
        if (!running.is_failed)
            print_failure(running.test->file, running.test->line, "ended by a signal", "");
    }
    running.test = NULL;
    return 0;
}

/* An ASSERT ends the process: say which test it was. Prints through stdio, which a handler for
 * other signals could not, but abort() is called from ordinary code. */
static void on_abort(int number)
{
    signal(number, SIG_DFL);
    if (running.test != NULL)
        print_failure(running.test->file, running.test->line, "aborted", "");
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void show_bytes(const unsigned char *data, size_t len, size_t from, char *out, size_t max)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = from; i < len && i < from + BYTES_SHOWN; i++) {
        const bool is_plain = data[i] >= 0x20 && data[i] < 0x7f && data[i] != '\\' &&
                              data[i] != '"';
        used += (size_t)snprintf(out + used, max - used, is_plain ? "%c" : "\\x%02x", data[i]);
    }
    if (len > from + BYTES_SHOWN)
        snprintf(out + used, max - used, "...");
}

/* cmocka prints several lines per test through these four. Taking their place leaves the output to
 * the functions above. */

void vprint_message(const char *const format, va_list args)
{
    (void)format;
    (void)args;
}

void vprint_error(const char *const format, va_list args)
{
    (void)format;
    (void)args;
}

void print_message(const char *const format, ...)
{
    (void)format;
}

void print_error(const char *const format, ...)
{
    (void)format;
}
