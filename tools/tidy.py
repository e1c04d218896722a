#!/usr/bin/env python3
"""The laws of the code, as a script.

    tools/tidy.py [path ...]     check all laws; print only what lies below the paths
    tools/tidy.py --tighten      write today's sizes to tools/tidy-ratchet.json
    tools/tidy.py --laws         list the laws

A violation is one line, `file:line: law: text`. Each law counts as one test; the last line is
`N passed, N failed`. The text is found with regular expressions on code whose comments are blanked,
not with a compiler: the laws are chosen so that this is enough. tests/tools/test_tidy.py shows each
law catching a bad snippet.

Exceptions are comments that give a reason:
    tidy: long because ...       in a function, or in the first 30 lines of a file or header
    tidy: compare because ...    on the line of the comparison or the one before
    tidy: global because ...     on the line of the definition or the one before
"""
import bisect
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FUNCTION_LINES_MAX = 100
FUNCTION_LINES_P95 = 60
FILE_LINES_MAX = 1000
HEADER_LINES_MAX = 250
TEST_NAME_WORDS_MIN = 3
RATCHET = "tools/tidy-ratchet.json"

# From the bottom to the top: a room includes itself and rooms below.
ROOM_ORDER = ["base", "value", "storage", "engine", "query", "front", "front/", "server", "main.c"]
ROOMS_BELOW_FRONT = {"base", "value", "storage", "engine", "query"}


# ---------------------------------------------------------------------------------------------
# Files


class File:
    """A source file: its lines, its code with comments (and strings) blanked, its comments."""

    TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as handle:
            self.text = handle.read()
        self.lines = self.text.split("\n")
        self.line_count = len(self.text.splitlines())
        self.is_c = path.endswith((".c", ".cc", ".h"))
        self.code = self.text  # comments blanked
        self.bare = self.text  # comments, strings and preprocessor lines blanked
        self.starts = [0] + [m.end() for m in re.finditer("\n", self.text)]
        if self.is_c or path.endswith(".def"):
            self.code = self.TOKEN.sub(self._blank_comment, self.text)
            self.bare = self.TOKEN.sub(self._blank_all, self.text)
            self.bare = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", self._blank_match, self.bare,
                               flags=re.M)
        if path.endswith(".cc"):  # what stands in a namespace stands at file scope
            self.bare = re.sub(r'\b(?:namespace\s*\w*|extern\s*"[^"]*")\s*\{', self._blank_match,
                               self.bare)

    @staticmethod
    def _blank(text):
        return re.sub(r"[^\n]", " ", text)

    @classmethod
    def _blank_match(cls, match):
        return cls._blank(match.group())

    @classmethod
    def _blank_comment(cls, match):
        return cls._blank(match.group()) if match.group()[0] == "/" else match.group()

    @classmethod
    def _blank_all(cls, match):
        text = match.group()
        return cls._blank(text) if text[0] == "/" else text[0] + cls._blank(text[1:-1]) + text[-1]

    def line_of(self, offset):
        return bisect.bisect_right(self.starts, offset)

    def has_exception(self, line, word):
        """True if `tidy: word because` stands on this line or the one before."""
        near = self.lines[max(0, line - 2):line]
        return any(f"tidy: {word} because" in text for text in near)

    @property
    def room(self):
        """The room of a file in src/, or None: base, engine, front/x, front, main.c."""
        parts = self.path.split("/")
        if parts[0] != "src":
            return None
        if len(parts) == 2:
            return parts[1]
        return "/".join(parts[1:3]) if parts[1] == "front" and len(parts) > 3 else parts[1]


def read_tree(root):
    files = []
    for top in ("src", "tests", "bench"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = sorted(f for f in folders if f not in ("node_modules", "corpus",
                                                                "__pycache__"))
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith((".c", ".cc", ".h", ".def", ".py", ".sh")):
                    files.append(File(root, path))
    return files


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = read_tree(root)
        self.c = [f for f in self.files if f.is_c]
        self.src = [f for f in self.c if f.path.startswith("src/")]
        self.hints = []


# ---------------------------------------------------------------------------------------------
# What stands at file scope


class Statement:
    """One declaration or definition at file scope; braces are collapsed to {}."""

    def __init__(self, text, first_line, last_line, is_function):
        self.text = text
        self.first_line = first_line
        self.last_line = last_line
        self.is_function = is_function

    @property
    def line_count(self):
        return self.last_line - self.first_line + 1

    @property
    def name(self):
        head = strip_attributes(self.text)
        test = re.match(r"\s*TEST\s*\(\s*(\w+)\s*,\s*(\w+)", head)
        if test:
            return f"{test.group(1)}_{test.group(2)}"
        found = re.search(r"(\w+)\s*\(", head)
        return found.group(1) if found else head.strip()


def strip_attributes(text):
    return re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|_Alignas\s*\([^()]*\)", " ", text)


def statements(file):
    """Splits the code at depth 0 of braces and parentheses."""
    found, pieces, depth, start, first = [], [], 0, 0, None
    for match in re.finditer(r"[{};]|[^{};]+", file.bare):
        token = match.group()
        if token == "{":
            depth += 1
            if depth == 1:
                pieces.append("{")
        elif token == "}":
            depth -= 1
            if depth < 0:  # of a namespace
                depth = 0
            elif depth == 0:
                pieces.append("}")
                head = "".join(pieces)
                if is_function_head(head):
                    found.append(Statement(head, first or 1, file.line_of(match.start()), True))
                    pieces, first = [], None
        elif token == ";" and depth == 0:
            text = "".join(pieces)
            if text.strip():
                found.append(Statement(text, first or 1, file.line_of(match.start()), False))
            pieces, first = [], None
        elif depth == 0:
            pieces.append(token)
            if first is None and token.strip():
                start = match.start() + len(token) - len(token.lstrip())
                first = file.line_of(start)
    return found


def is_function_head(text):
    head = strip_attributes(text).replace("{}", "").rstrip()
    return head.endswith(")") and "=" not in head


def is_mutable_variable(text):
    """True for a declaration of an object that can change; text has no comments or strings."""
    head = strip_attributes(text).split("=")[0]
    if re.search(r"\b(typedef|_Static_assert|static_assert|using|class|constexpr)\b", head):
        return False
    pointer = re.search(r"\(\s*\*\s*(const\b)?", head)
    first_paren = head.find("(")
    if first_paren >= 0:
        if pointer is None or pointer.start() != first_paren:
            return False  # a function or a macro call
        return pointer.group(1) is None
    head = re.sub(r"\b(struct|union|enum)\b\s*(\w*)\s*\{\}", r"\1 \2 ", head)
    head = re.sub(r"\[[^\]]*\]", " ", head)
    words = re.findall(r"\w+", head)
    kinds = {"static", "extern", "const", "volatile", "struct", "union", "enum", "inline",
             "_Atomic", "_Thread_local", "unsigned", "signed"}
    if not any(w in kinds for w in words) and len(words) < 2:
        return False
    if re.match(r"\s*(const\s+)?(struct|union|enum)\s+\w*\s*$", head):
        return False  # only the type
    if "*" in head:
        return "const" not in head[head.rindex("*"):]
    return "const" not in words


# ---------------------------------------------------------------------------------------------
# The laws: each is a function of the tree that yields (file, line, text)


def law_include_direction(tree):
    """a room includes itself and rooms below, others only through room/room.h"""
    for file in tree.src:
        for line, target in quoted_includes(file):
            problem = include_problem(file.room, target)
            if problem:
                yield file.path, line, f'"{target}": {problem}'


def quoted_includes(file):
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', file.code, re.M):
        yield file.line_of(match.start()), match.group(1)


def room_rank(room):
    return ROOM_ORDER.index("front/" if room.startswith("front/") else room)


def include_problem(room, target):
    parts = target.split("/")
    if len(parts) < 2:
        return "write the path from src/"
    is_front = parts[0] == "front" and len(parts) > 2
    other = "/".join(parts[:2]) if is_front else parts[0]
    if room not in ROOM_ORDER and not room.startswith("front/"):
        return f"{room} is not a room"
    if other not in ROOM_ORDER and not other.startswith("front/"):
        return f"{other} is not a room"
    if other == room:
        return None
    if room_rank(other) >= room_rank(room):
        return f"{room} does not lie above {other}"
    if room.startswith("front/") and other == "storage":
        return "a front never includes storage"
    if other == "base" and target.endswith(".h"):
        return None
    if target != f"{other}/{other.split('/')[-1]}.h":
        return f"enter {other} through {other}/{other.split('/')[-1]}.h"
    return None


def law_face_words(tree):
    """no word with the name of a face below front/, outside comments"""
    for file in tree.files:
        if file.room in ROOMS_BELOW_FRONT and file.path.endswith((".c", ".cc", ".h", ".def")):
            for match in re.finditer(r"\w*(?:cosmos|mongo)\w*", file.code, re.I):
                yield file.path, file.line_of(match.start()), f"{match.group()}: a front's word"


def find_calls(files, names, text):
    pattern = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(names))
    for file in files:
        for match in pattern.finditer(file.bare):
            yield file.path, file.line_of(match.start()), f"{match.group(1)}(): {text}"


def outside_base(tree):
    return [f for f in tree.src if f.room != "base"]


def law_memory_calls(tree):
    """the system's allocator is called only in base/"""
    names = ["malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup",
             "asprintf", "vasprintf"]
    return find_calls(outside_base(tree), names, "memory comes from an arena or base/memory.h")


def law_clock_calls(tree):
    """the system's clock is read only in base/"""
    names = ["time", "gettimeofday", "clock_gettime", "timespec_get", "clock"]
    return find_calls(outside_base(tree), names, "time comes from the request or base/clock.h")


def law_random_calls(tree):
    """the system's random numbers are drawn only in base/"""
    names = ["rand", "rand_r", "srand", "random", "srandom", "drand48", "getrandom", "arc4random"]
    return find_calls(outside_base(tree), names, "random numbers come from base/random.h")


def law_unsafe_calls(tree):
    """no call that writes without a bound, or keeps hidden state"""
    names = ["strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok"]
    return find_calls(tree.c, names, "has no bound or hidden state")


def law_tests_do_not_sleep(tree):
    """tests never sleep: the clock is injected, conditions are waited for"""
    tests = [f for f in tree.files if f.path.startswith("tests/")]
    names = ["sleep", "usleep", "nanosleep", "clock_nanosleep"]
    yield from find_calls([f for f in tests if f.is_c], names, "tests do not sleep")
    scripts = re.compile(r"^[^#\n\"']*(?:\btime\.sleep\s*\(|^\s*sleep\s+[\d$])", re.M)
    for file in tests:
        if file.path.endswith((".py", ".sh")):
            for match in scripts.finditer(file.text):
                yield file.path, file.line_of(match.end()), "sleep: tests do not sleep"


def law_deadline_comparison(tree):
    """deadlines are compared in engine/expiry_rule.c and nowhere else"""
    word = re.compile(r"\b\w*(?:deadline|horizon|expires|expiry_at)\w*\b")
    for file in tree.src:
        if file.path == "src/engine/expiry_rule.c":
            continue
        for number, line in enumerate(file.bare.split("\n"), 1):
            plain = re.sub(r"->|<<=?|>>=?", "  ", line)
            names = [n for n in word.findall(plain)
                     if not n.endswith(("_count", "_len", "_index", "_max"))]
            if names and re.search(r"[<>]", plain) and not file.has_exception(number, "compare"):
                yield file.path, number, f"{names[0]} is compared outside expiry_rule.c"


def law_no_mutable_globals(tree):
    """no object outlives a call unless it is const: no globals, no static locals"""
    for file in tree.src:
        for line, text in static_objects(file):
            if is_mutable_variable(text) and not file.has_exception(line, "global"):
                yield file.path, line, f"{' '.join(text.split())[:60]}: can change"
        for match in re.finditer(r"\b(_Thread_local|__thread|thread_local)\b", file.bare):
            line = file.line_of(match.start())
            if not file.has_exception(line, "global"):
                yield file.path, line, "a variable per thread is a global too"


def static_objects(file):
    for statement in statements(file):
        if not statement.is_function:
            yield statement.first_line, statement.text.replace("_Thread_local", "const")
    for match in re.finditer(r"^[ \t]+static\b[^;={(]*(?:\(\s*\*)?", file.bare, re.M):
        text = match.group()
        if not re.search(r"\b(_Thread_local|__thread)\b", text):
            yield file.line_of(match.start()), text


def law_module_comment(tree):
    """every .c and .cc starts with a comment that says what it is for"""
    for file in tree.c:
        if file.path.endswith((".c", ".cc")) and not file.text.startswith("/*"):
            yield file.path, 1, "starts without a module comment"


def functions(files):
    for file in files:
        for statement in statements(file):
            if statement.is_function:
                yield file, statement


def law_sizes(tree):
    """function <= 100 lines, file <= 1000, header <= 250"""
    for file, function in functions(tree.c):
        if function.line_count > FUNCTION_LINES_MAX and not is_long_allowed(file, function):
            yield (file.path, function.first_line,
                   f"{function.name} has {function.line_count} lines, limit {FUNCTION_LINES_MAX}")
    for file in tree.c:
        limit = HEADER_LINES_MAX if file.path.endswith(".h") else FILE_LINES_MAX
        head = "\n".join(file.lines[:30])
        if file.line_count > limit and "tidy: long because" not in head:
            yield file.path, file.line_count, f"{file.line_count} lines, limit {limit}"


def is_long_allowed(file, function):
    around = file.lines[max(0, function.first_line - 4):function.last_line]
    return any("tidy: long because" in line for line in around)


def measure_sizes(tree):
    lengths = sorted(function.line_count for file, function in functions(tree.src)
                     if not is_long_allowed(file, function))
    files = [f.line_count for f in tree.src if "tidy: long because" not in "\n".join(f.lines[:30])]
    return {
        "function_lines_max": lengths[-1] if lengths else 0,
        "function_lines_p95": lengths[(len(lengths) * 95 - 1) // 100] if lengths else 0,
        "file_lines_max": max(files, default=0),
    }


def read_ratchet(root):
    limits = {
        "function_lines_max": FUNCTION_LINES_MAX,
        "function_lines_p95": FUNCTION_LINES_P95,
        "file_lines_max": FILE_LINES_MAX,
    }
    path = os.path.join(root, RATCHET)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as handle:
            for key, value in json.load(handle).items():
                limits[key] = min(limits.get(key, value), value)
    return limits


def law_ratchet(tree):
    """the sizes in tools/tidy-ratchet.json only go down"""
    today = measure_sizes(tree)
    for key, limit in read_ratchet(tree.root).items():
        now = today.get(key, 0)
        if now > limit:
            yield RATCHET, 1, f"{key} is {now}, was {limit}"
        elif now < limit * 0.9:
            tree.hints.append(f"{key} is {now}, the ratchet allows {limit}")


def law_include_guards(tree):
    """a header's guard is its path: BASE_ARENA_H for src/base/arena.h"""
    for file in tree.c:
        if not file.path.endswith(".h"):
            continue
        path = file.path[4:] if file.path.startswith("src/") else file.path
        guard = re.sub(r"\W", "_", path).upper()
        if not re.search(rf"^#ifndef {guard}\n#define {guard}$", file.code, re.M):
            yield file.path, 1, f"include guard {guard} is missing"


def law_headers_stand_alone(tree):
    """each header compiles alone"""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        yield "tools/tidy.py", 1, "needs gcc or clang (make setup)"
        return
    flags = ["-std=c17", "-D_GNU_SOURCE", "-Isrc", "-I.", "-Wall", "-Wextra", "-c",
             "-x", "c"] + library_flags()
    headers = [f.path for f in tree.c if f.path.endswith(".h")]

    # To an object that nobody wants rather than -fsyntax-only, because compiler caches keep objects.
    def compile_one(path, output):
        done = subprocess.run([compiler, *flags, path, "-o", output], cwd=tree.root,
                              capture_output=True, text=True, check=False)
        return path, done.returncode, done.stderr

    with (tempfile.TemporaryDirectory() as unwanted,
          concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool):
        outputs = (os.path.join(unwanted, f"{i}.o") for i in range(len(headers)))
        for path, code, errors in pool.map(compile_one, headers, outputs):
            if code != 0:
                first = next((e for e in errors.split("\n") if "error" in e), "does not compile")
                yield path, 1, first


def library_flags():
    try:
        answer = subprocess.run(["pkg-config", "--cflags", "libbson-1.0"], capture_output=True,
                                text=True, check=False)
    except FileNotFoundError:
        return []
    return answer.stdout.split()


def law_no_include_cycles(tree):
    """headers include each other in one direction only"""
    edges = {}
    for file in tree.src:
        edges[file.path[4:]] = [target for _, target in quoted_includes(file)]
    done = set()

    def walk(path, trail):
        if path in trail:
            yield "src/" + path, 1, " -> ".join(trail[trail.index(path):] + [path])
            return
        if path in done:
            return
        for target in edges.get(path, []):
            yield from walk(target, trail + [path])
        done.add(path)

    for path in sorted(edges):
        yield from walk(path, [])


def law_format(tree):
    """clang-format would change nothing"""
    if shutil.which("clang-format") is None:
        yield "tools/tidy.py", 1, "needs clang-format (make setup)"
        return
    paths = [f.path for f in tree.c]
    halves = [paths[i::os.cpu_count() or 1] for i in range(os.cpu_count() or 1)]

    def check(some):
        if not some:
            return ""
        return subprocess.run(["clang-format", "--dry-run", *some], cwd=tree.root,
                              capture_output=True, text=True, check=False).stderr

    seen = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for answer in pool.map(check, halves):
            for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error):", answer, re.M):
                path, line = match.group(1), int(match.group(2))
                if path not in seen:
                    seen.add(path)
                    yield path, line, "not as clang-format writes it (make format)"


def law_test_names(tree):
    """a test's name is a sentence: at least three words"""
    for file in tree.c:
        if not file.path.startswith("tests/"):
            continue
        for match in re.finditer(r"^TEST\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)", file.bare, re.M):
            words = [w for w in match.group(2).split("_") if w]
            if len(words) < TEST_NAME_WORDS_MIN:
                yield (file.path, file.line_of(match.start()),
                       f"{match.group(2)}: say the fact in at least {TEST_NAME_WORDS_MIN} words")


LAWS = {name[4:].replace("_", "-"): law for name, law in list(globals().items())
        if name.startswith("law_")}


# ---------------------------------------------------------------------------------------------


def is_below(path, prefixes):
    return not prefixes or any(path == p or path.startswith(p.rstrip("/") + "/") for p in prefixes)


def check_laws(tree, prefixes, laws):
    """Prints the violations; returns how many laws are kept and how many are broken."""
    kept, broken = 0, 0
    for name, law in laws.items():
        found = sorted(v for v in set(law(tree)) if is_below(v[0], prefixes))
        for path, line, text in found:
            print(f"{path}:{line}: {name}: {text}")
        kept, broken = (kept, broken + 1) if found else (kept + 1, broken)
    return kept, broken


def tighten(tree):
    limits = read_ratchet(tree.root)
    today = measure_sizes(tree)
    lower = {key: min(limits[key], today[key]) for key in limits}
    with open(os.path.join(tree.root, RATCHET), "w", encoding="utf-8") as handle:
        json.dump(lower, handle, indent=2)
        handle.write("\n")
    print(", ".join(f"{key} {value}" for key, value in lower.items()))


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if arguments[:1] == ["--laws"]:
        for name, law in LAWS.items():
            print(f"{name:24} {law.__doc__}")
        return 0
    tree = Tree(root)
    if arguments[:1] == ["--tighten"]:
        tighten(tree)
        return 0
    kept, broken = check_laws(tree, arguments, LAWS)
    if tree.hints:
        print(f"hint: {'; '.join(tree.hints)}; tools/tidy.py --tighten keeps the gain")
    print(f"{kept} passed, {broken} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
