#!/usr/bin/env python3
"""Tests of tests/tools/run-tests: what it counts, leaves out and calls a failure, on a tree of small scripts."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import counted

HERE = os.path.dirname(os.path.abspath(__file__))
PASS = "echo '3 passed, 0 failed'"
STAGES = ("build", "unit", "tsan", "clients")

# Why; what unit, tsan and a client do; the variant whose build fails; exit code; what is printed, in this order where
# the order is certain; what is not.
CASES = [
    ("all is well", PASS, PASS, PASS, None, 0,
     [r"stage unit: ", r"\n(?=23 passed, 0 failed\n$)"], [r"FAIL|failed:|jobserver|left out"]),
    ("a stage that fails", PASS, "echo 'FAIL why'; echo '2 passed, 1 failed'; exit 1", PASS, None, 1,
     [r"\nfailed:  tsan .*\n    FAIL why\n", r"\n19 passed, 4 failed\n$"], []),
    ("an exit code although no test failed", PASS, PASS, PASS + "; exit 3", None, 1,
     [r"\(exit code 3\)", r"\n23 passed, 1 failed\n$"], []),
    ("one that does not end", "sleep 60", PASS, PASS, None, 1,
     [r"failed:  unit .*\(killed after 2 s\)", r"\n17 passed, 2 failed\n$"], []),
    ("a build that fails leaves out its stages and no others", PASS, PASS, PASS, "tsan", 1,
     [r"failed:  build     tsan", r"\n10 passed, 1 failed\n$"], [r"tsan +unit"]),
    ("the stages left out are named", PASS, PASS, PASS, "release", 1,
     [r"stage unit: left out", r"stage clients: left out", r"\n13 passed, 1 failed\n$"], []),
    ("a stage that runs no test", PASS, None, PASS, None, 1,
     [r"failed: stage tsan ran no test\n", r"\n11 passed, 1 failed\n$"], []),
    ("a program that cannot be started", PASS, PASS, "#!/no/such/program", None, 1,
     [r"failed:  clients .*No such file", r"\n20 passed, 1 failed\n$"], []),
]


def write_program(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)


def write_tree(top, unit, tsan, client, broken):
    with open(os.path.join(HERE, "run-tests"), encoding="utf-8") as handle:
        script = handle.read()
    for pattern, value in ((r"^JOB_SECONDS_MAX = 600$", "JOB_SECONDS_MAX = 2"), (r"^CORES = .*$", "CORES = 2")):
        script, count = re.subn(pattern, value, script, flags=re.M)
        assert count == 1, pattern
    write_program(f"{top}/tests/tools/run-tests", script)
    os.makedirs(f"{top}/tests/unit")
    for variant, text in (("release", unit), ("tsan", tsan)):
        if text is not None:
            write_program(f"{top}/build/{variant}/unit", text)
    write_program(f"{top}/tests/clients/one", client)
    with open(f"{top}/Makefile", "w", encoding="utf-8") as handle:
        handle.write("test-build-%:\n\t@echo building $*\n\t@test $* != " + (broken or "none") + "\n")


def failure_of(case):
    why, unit, tsan, client, broken, code, wanted, unwanted = case
    top = tempfile.mkdtemp()
    try:
        write_tree(top, unit, tsan, client, broken)
        clean = {k: v for k, v in os.environ.items()
                 if k not in ("FILTER", "ROOMS", "SCALE", "SEED", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        done = subprocess.run([sys.executable, f"{top}/tests/tools/run-tests", *STAGES],
                              env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    finally:
        shutil.rmtree(top)
    missing = [p for p in wanted if not re.search(p, done.stdout)]
    found = [p for p in unwanted if re.search(p, done.stdout)]
    if done.returncode == code and not missing and not found:
        return None
    return f"{why}: exit code {done.returncode}, misses {missing}, has {found}: {done.stdout}"


if __name__ == "__main__":
    sys.exit(counted.count(map(failure_of, CASES)))
