#!/usr/bin/env python3
"""Tests of the harness tests/check.c: what a failing test prints, and what is counted."""
import os
import re
import subprocess
import sys
import tempfile

import counted

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SAMPLE = r"""
#include "tests/check.h"
#include <pthread.h>
#include <stdlib.h>

typedef enum { OK, BUSY } status_code;
typedef struct { status_code code; const char *message; } status;
typedef struct { const char *data; size_t len; } bytes;
static const char *status_code_name(status_code code) { return code == OK ? "OK" : "BUSY"; }
static void die(void *data) { (void)data; abort(); }
static void live(void *data) { (void)data; }

TEST(good, rows_are_all_visited)
{
    const struct { int in, want; } rows[] = { { 1, 1 }, { 2, 2 }, { 3, 3 } };
    int sum = 0;
    EACH_ROW(rows, r) {
        CHECK_EQ(r->in, r->want, "");
        sum += r->in;
    }
    CHECK_EQ(sum, 6, "");
}
TEST(good, an_abort_is_seen) { CHECK(check_aborts(die, NULL) && !check_aborts(live, NULL)); }
TEST(good, seeds_are_one_to_count)
{
    uint64_t sum = 0;
    EACH_SEED(seed, 4) sum += seed;
    CHECK(sum == 10 || getenv("SEED") != NULL);
}
TEST(bad, claim_is_shown) { CHECK(1 == 2); }
TEST(bad, claim_with_values) { CHECK_THAT(1 == 2, "one is %d", 1); }
TEST(bad, integers_are_shown) { size_t n = 3; CHECK_EQ(n, 4u, "row %d", 7); }
TEST(bad, minus_one_is_not_the_largest) { CHECK_EQ(UINT64_MAX, -1, ""); }
TEST(bad, reals_are_refused) { CHECK_EQ(1.5, 1.5, ""); }
TEST(bad, status_is_shown) { CHECK_OK(((status){ BUSY, "try later" })); }
TEST(bad, code_is_shown) { CHECK_CODE(((status){ OK, NULL }), BUSY); }
TEST(bad, bytes_are_shown) { CHECK_BYTES(((bytes){ "ab\0", 3 }), ((bytes){ "abc", 3 }), "why"); }
TEST(bad, texts_are_shown) { CHECK_TEXT(((bytes){ "ab", 2 }), "abc"); }
TEST(bad, strings_are_shown) { CHECK_STRING("x", "y"); }
TEST(bad, seed_is_shown) { EACH_SEED(seed, 5) CHECK_THAT(check_seed() < 3, "late"); }
TEST(bad, signal_is_shown) { *(volatile int *)0 = 1; }
TEST(bad, directory_is_kept)
{
    char path[4096];
    check_temp_dir(path, sizeof(path));
    CHECK(path[0] != '/');
}
TEST(fatal, assert_names_the_test) { abort(); }
static void *fail_there(void *data) { (void)data; CHECK(1 == 2); return NULL; }
TEST(fatal, thread_names_the_test)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fail_there, NULL);
    pthread_join(thread, NULL);
}
"""

# filter, environment, exit code (None: ends by a signal), a pattern of the whole output
CASES = [
    ("good:", {}, 0, r"3 passed, 0 failed\n"),
    ("good:", {"SCALE": "0.01", "SEED": "9"}, 0, r"3 passed, 0 failed\n"),
    ("rows are all", {}, 0, r"1 passed, 0 failed\n"),
    ("rows_are_all", {}, 0, r"1 passed, 0 failed\n"),
    ("no such test", {}, 1, r"no test matches no such test\n0 passed, 0 failed\n"),
    ("claim is shown", {}, 1,
     r"FAIL \S+:\d+: bad: claim is shown: CHECK\(1 == 2\)\n0 passed, 1 failed\n"),
    ("claim with", {}, 1, r"FAIL .*: CHECK\(1 == 2\): one is 1\n0 passed, 1 failed\n"),
    ("integers", {}, 1, r"FAIL .*: n: is 3, want 4: row 7\n0 passed, 1 failed\n"),
    ("minus one", {}, 1, r"FAIL .*: is 18446744073709551615, want -1\n0 passed, 1 failed\n"),
    ("reals are", {}, 1, r"FAIL .*not floating point\n0 passed, 1 failed\n"),
    ("status is", {}, 1, r"FAIL .*CHECK_OK.*: is BUSY: try later\n0 passed, 1 failed\n"),
    ("code is", {}, 1, r"FAIL .*CHECK_CODE.*: is OK, want BUSY: \n0 passed, 1 failed\n"),
    ("bytes are", {}, 1,
     r'FAIL .*differs at byte 2 .*: is "ab\\x00", want "abc": why\n0 passed, 1 failed\n'),
    ("texts are", {}, 1, r"FAIL .*differs at byte 2 \(is 2 bytes, want 3\).*\n0 passed, 1 failed\n"),
    ("strings are", {}, 1, r'FAIL .*: is "x", want "y"\n0 passed, 1 failed\n'),
    ("seed is", {}, 1, r"FAIL .*: late \[replay with SEED=3\]\n0 passed, 1 failed\n"),
    ("seed is", {"SEED": "77"}, 1, r"FAIL .*\[replay with SEED=77\]\n0 passed, 1 failed\n"),
    ("seed is", {"SEED": "2"}, 0, r"1 passed, 0 failed\n"),
    ("seed is", {"SCALE": "0.4"}, 0, r"1 passed, 0 failed\n"),
    ("signal is", {}, 1, r"FAIL .*: ended by a signal\n0 passed, 1 failed\n"),
    ("directory", {}, 1, r"FAIL .* \[kept \S+/mayfly-test-\w+\]\n0 passed, 1 failed\n"),
    ("assert names", {}, None, r"FAIL \S+:\d+: fatal: assert names the test: aborted\n"),
    ("thread names", {}, None, r"FAIL \S+:\d+: fatal: thread names the test: CHECK\(1 == 2\)\n"),
    ("bad:", {}, 1, r"(?:FAIL .*\n){13}0 passed, 13 failed\n"),
]


def build(folder):
    source, program = os.path.join(folder, "sample.c"), os.path.join(folder, "sample")
    with open(source, "w", encoding="utf-8") as handle:
        handle.write(SAMPLE)
    subprocess.run(["gcc", "-std=c17", "-D_GNU_SOURCE", "-I.", "-Wall", "-Wextra", "-Wconversion",
                    "-Wno-format-zero-length", "-Werror", "-pthread", "-o", program, source,
                    "tests/check.c", "tests/main.c", "-lcmocka"], cwd=ROOT, check=True)
    return program


def failure_of(program, folder, case):
    text, environment, code, pattern = case
    clean = {k: v for k, v in os.environ.items() if k not in ("SEED", "SCALE")}
    done = subprocess.run([program, text], env={**clean, "TMPDIR": folder, **environment},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    is_code_right = done.returncode < 0 if code is None else done.returncode == code
    if is_code_right and re.fullmatch(pattern, done.stdout):
        return None
    return f"{text} {environment}: exit code {done.returncode}, printed {done.stdout!r}"


def failures():
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder)
        for case in CASES:
            yield failure_of(program, folder, case)


if __name__ == "__main__":
    sys.exit(counted.count(failures()))
