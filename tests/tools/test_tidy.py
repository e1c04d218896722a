#!/usr/bin/env python3
"""Tests of tools/tidy.py: each law catches the bad snippets and lets the good ones pass."""
import importlib.util
import json
import os
import shutil
import sys
import tempfile

import counted

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location("tidy", os.path.join(ROOT, "tools/tidy.py"))
tidy = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tidy)


def function_of(lines, name="f"):
    return f"int {name}(void)\n{{\n" + "    g();\n" * (lines - 3) + "}\n"


# law, path, text, line of the violation (None: the law is kept)
CASES = [
    ("include-direction", "src/base/a.c", '#include "value/value.h"\n', 1),
    ("include-direction", "src/engine/a.c", '#include "query/query.h"\n', 1),
    ("include-direction", "src/engine/a.c", '/* x */\n#include "storage/memory.h"\n', 2),
    ("include-direction", "src/engine/a.c", '#include "storage/storage.h"\n', None),
    ("include-direction", "src/engine/a.c", '#include "base/arena.h"\n', None),
    ("include-direction", "src/engine/a.c", '#include "base/status.def"\n', 1),
    ("include-direction", "src/base/a.c", '#include "base/status.def"\n', None),
    ("include-direction", "src/engine/a.c", '#include "lane.h"\n', 1),
    ("include-direction", "src/front/one/a.c", '#include "storage/storage.h"\n', 1),
    ("include-direction", "src/front/one/a.c", '#include "front/two/two.h"\n', 1),
    ("include-direction", "src/front/one/a.c", '#include "front/one/routes.h"\n', None),
    ("include-direction", "src/front/one/a.c", '#include "query/query.h"\n', None),
    ("include-direction", "src/front/one/a.c", '#include "server/server.h"\n', 1),
    ("include-direction", "src/main.c", '#include "front/one/one.h"\n', None),
    ("include-direction", "src/main.c", '#include "front/one/routes.h"\n', 1),
    ("include-direction", "src/attic/a.c", '#include "base/base.h"\n', 1),
    ("include-direction", "src/base/a.c", '/* #include "engine/engine.h" */\n', None),
    ("face-words", "src/engine/a.c", "int is_mongo;\n", 1),
    ("face-words", "src/query/a.c", 'log("CosmosDB");\n', 1),
    ("face-words", "src/base/metrics.def", 'METRIC(mongo_total, "x")\n', 1),
    ("face-words", "src/engine/a.c", "/* as mongo does */\nint a;\n", None),
    ("face-words", "src/front/mongo/a.c", "int mongo;\n", None),
    ("memory-calls", "src/engine/a.c", "void f(void)\n{\n    p = malloc(3);\n}\n", 3),
    ("memory-calls", "src/engine/a.c", "void f(void) { free(p); }\n", 1),
    ("memory-calls", "src/engine/a.c", "void f(void) { rocksdb_free(p); bson_free(p); }\n", None),
    ("memory-calls", "src/engine/a.c", "void f(void) { it->free(p); it.free(p); }\n", None),
    ("memory-calls", "src/base/memory.c", "void f(void) { free(p); }\n", None),
    ("clock-calls", "src/engine/a.c", "int f(void) { return time(NULL); }\n", 1),
    ("clock-calls", "src/engine/a.c", "void f(void) { clock_gettime(0, &t); }\n", 1),
    ("clock-calls", "src/engine/a.c", "void f(void) { own_time(1); }\n", None),
    ("random-calls", "src/value/a.c", "int f(void) { return rand(); }\n", 1),
    ("random-calls", "src/base/random.c", "int f(void) { return getrandom(); }\n", None),
    ("unsafe-calls", "src/base/a.c", "void f(void) { strcpy(a, b); }\n", 1),
    ("unsafe-calls", "src/base/a.cc", "void f(void) { strcpy(a, b); }\n", 1),
    ("unsafe-calls", "tests/unit/a.c", "void f(void) { sprintf(a, b); }\n", 1),
    ("unsafe-calls", "bench/a.c", "void f(void) { strtok(a, b); }\n", 1),
    ("unsafe-calls", "src/base/a.c", 'void f(void) { snprintf(a, 1, "strcpy(x)"); }\n', None),
    ("tests-do-not-sleep", "tests/unit/a.c", "void f(void) { usleep(1); }\n", 1),
    ("tests-do-not-sleep", "tests/clients/a.py", "import time\ntime.sleep(1)\n", 2),
    ("tests-do-not-sleep", "tests/clients/a.sh", "x\nsleep 1\n", 2),
    ("tests-do-not-sleep", "src/base/a.c", "void f(void) { nanosleep(&t, 0); }\n", None),
    ("deadline-comparison", "src/engine/a.c",
     "int f(void)\n{\n    return deadline <= now;\n}\n", 3),
    ("deadline-comparison", "src/engine/a.c", "a = lane->horizon > x->at;\n", 1),
    ("deadline-comparison", "src/engine/a.c", "a = lane->horizon;\n", None),
    ("deadline-comparison", "src/engine/a.c", "a = horizon << 3;\n", None),
    ("deadline-comparison", "src/engine/a.c", "a = i < horizon_count;\n", None),
    ("deadline-comparison", "src/engine/expiry_rule.c", "a = deadline <= now;\n", None),
    ("deadline-comparison", "src/engine/a.c",
     "/* tidy: compare because it sorts */\na = deadline < other;\n", None),
    ("no-mutable-globals", "src/engine/a.c", "int count;\n", 1),
    ("no-mutable-globals", "src/engine/a.c", "static struct engine *the_engine;\n", 1),
    ("no-mutable-globals", "src/engine/a.cc",
     "namespace\n{\nusing a = int;\nconstexpr int B = 1;\nclass c : public d\n{\n    int e;\n};\n}\n", None),
    ("no-mutable-globals", "src/engine/a.cc", "namespace\n{\nint b;\n}\n", 3),
    ("no-mutable-globals", "src/engine/a.cc", "namespace b\n{\nclass c;\n}\nint d;\n", 5),
    ("no-mutable-globals", "src/engine/a.c", "static const char *names[] = { 0 };\n", 1),
    ("no-mutable-globals", "src/engine/a.c", "static int (*hook)(void);\n", 1),
    ("no-mutable-globals", "src/engine/a.c", "static _Atomic int count = 0;\n", 1),
    ("no-mutable-globals", "src/engine/a.c", "static _Thread_local int count;\n", 1),
    ("no-mutable-globals", "src/engine/a.c",
     "int f(void)\n{\n    static int n = 0;\n    return n;\n}\n", 3),
    ("no-mutable-globals", "src/engine/a.c",
     "int f(void)\n{\n    static const int n = 0;\n    return n;\n}\n", None),
    ("no-mutable-globals", "src/engine/a.c", "static const char *const names[] = { 0 };\n", None),
    ("no-mutable-globals", "src/engine/a.c", "static const struct row rows[] = { { 1, 2 } };\n",
     None),
    ("no-mutable-globals", "src/engine/a.c", "struct a {\n    int b;\n};\nenum { C = 1 };\n", None),
    ("no-mutable-globals", "src/engine/a.c", "typedef struct a {\n    int b;\n} a;\n", None),
    ("no-mutable-globals", "src/engine/a.c", "int f(void (*g)(int));\nstruct a;\n", None),
    ("no-mutable-globals", "src/engine/a.c", "_Static_assert(1 == 1, \"\");\n", None),
    ("no-mutable-globals", "src/engine/a.c", "static int f(void);\nint f(void)\n{\n}\n", None),
    ("no-mutable-globals", "src/server/a.c",
     "/* tidy: global because a signal handler has no argument */\nstatic int stop;\n", None),
    ("module-comment", "src/engine/a.c", "int f(void);\n", 1),
    ("module-comment", "src/engine/a.c", "/* A: does it. */\nint f(void);\n", None),
    ("sizes", "src/engine/a.c", "int before;\n" + function_of(101), 2),
    ("sizes", "src/engine/a.c", function_of(100), None),
    ("sizes", "src/engine/a.c", "/* tidy: long because a table */\n" + function_of(101), None),
    ("sizes", "tests/unit/a.c", "TEST(a, b_c_d)\n{\n" + "x();\n" * 100 + "}\n", 1),
    ("sizes", "src/engine/a.c", "int f(void);\n" * 1001, 1001),
    ("sizes", "src/engine/a.h", "int f(void);\n" * 251, 251),
    ("sizes", "src/engine/a.h", "int f(void);\n" * 250, None),
    ("sizes", "src/engine/a.h", "/* tidy: long because x */\n" + "int f(void);\n" * 251, None),
    ("ratchet", "src/engine/a.c", function_of(41), 1),
    ("ratchet", "src/engine/a.c", function_of(40), None),
    ("include-guards", "src/base/arena.h", "#ifndef ARENA_H\n#define ARENA_H\n#endif\n", 1),
    ("include-guards", "src/base/arena.h",
     "/* x */\n#ifndef BASE_ARENA_H\n#define BASE_ARENA_H\n#endif\n", None),
    ("include-guards", "tests/check.h",
     "#ifndef TESTS_CHECK_H\n#define TESTS_CHECK_H\n#endif\n", None),
    ("headers-stand-alone", "src/base/a.h", "size_t f(void);\n", 1),
    ("headers-stand-alone", "src/base/a.h", "#include <stddef.h>\nsize_t f(void);\n", None),
    ("no-include-cycles", "src/base/a.h", '#include "base/a.h"\n', 1),
    ("format", "src/base/a.c", "int  f( void ) ;\n", 1),
    ("format", "src/base/a.c", "int f(void);\n", None),
    ("test-names", "tests/unit/a.c", "TEST(arena, release_works)\n{\n}\n", 1),
    ("test-names", "tests/unit/a.c", "TEST(arena, release_gives_back)\n{\n}\n", None),
]


def violations(law, files, ratchet=None):
    """The lines of the violations of one law in a tree of these files."""
    with tempfile.TemporaryDirectory() as root:
        shutil.copy(os.path.join(ROOT, ".clang-format"), root)
        os.makedirs(os.path.join(root, "tools"))
        if ratchet:
            with open(os.path.join(root, tidy.RATCHET), "w", encoding="utf-8") as handle:
                json.dump(ratchet, handle)
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as handle:
                handle.write(text)
        return [line for _, line, _ in tidy.LAWS[law](tidy.Tree(root))]


def failures():
    for number, (law, path, text, want) in enumerate(CASES):
        ratchet = {"function_lines_max": 40} if law == "ratchet" else None
        found = violations(law, {path: text}, ratchet)
        if sorted(set(found)) != ([] if want is None else [want]):
            yield (f"case {number}, {law}, {path}: found at lines {found}, want {want}: "
                   f"{text[:80]!r}")
        else:
            yield None
    cycle = {"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/a.h"\n'}
    yield None if violations("no-include-cycles", cycle) else "a cycle of two headers passes"
    line = {"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": "\n"}
    yield "two headers in a line fail" if violations("no-include-cycles", line) else None
    untested = set(tidy.LAWS) - {law for law, _, _, want in CASES if want is not None}
    yield f"no case shows these laws catching anything: {untested}" if untested else None


if __name__ == "__main__":
    sys.exit(counted.count(failures()))
