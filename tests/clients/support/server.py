"""What the tests in Python share: a server process, its clock, a runner, requests signed by hand.

Tests are functions with the decorator @test; their name is the sentence they prove. Nothing waits for time to
pass. Last line of a program: `N passed, N failed`.
"""
import base64
import email.utils
import hashlib
import hmac
import json
import os
import re
import selectors
import shutil
import ssl
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MAYFLY = os.path.abspath(os.environ.get("MAYFLY") or os.path.join(ROOT, "build/mayfly"))
# The well-known key of the emulator, which every tool has as its default.
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
SECONDS_MAX = 30

TESTS = []


def test(function):
    assert function.__name__.count("_") >= 2, f"{function.__name__} is no sentence"
    TESTS.append(function)
    return function


def equal(got, want, why=""):
    assert got == want, f"{why + ': ' if why else ''}got {got!r}, want {want!r}"


class Server:
    """One server process; `with Server() as server` ends it whatever happens."""

    def __init__(self, *options):
        self.data = tempfile.mkdtemp(prefix="mayfly-clients-")
        self.errors = tempfile.TemporaryFile()
        self.options = options
        self.start()

    def start(self):
        self.certificate = None
        self.process = subprocess.Popen(
            [MAYFLY, "serve", "--data", self.data, "--cosmos", "127.0.0.1:0", "--mongo", "none", "--test-commands",
             *self.options],
            stdout=subprocess.PIPE, stderr=self.errors)
        self.output = b""
        for _ in range(10):
            line = self.read_line()
            certificate = re.match(r"mayfly certificate (.+)$", line)
            ready = re.match(r"mayfly ready cosmos=http://127\.0\.0\.1:(\d+)(?: mongo=(\S+))?$", line)
            if certificate:
                self.certificate = certificate.group(1)
            if ready:
                self.port = int(ready.group(1))
                self.url = f"http://127.0.0.1:{self.port}"
                self.mongo_url = ready.group(2)
                return
            if not line:
                break
        self.errors.seek(0)
        text = self.errors.read().decode("utf-8", "replace")
        self.end()
        raise AssertionError(f"no ready line: {text}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.terminate()
        try:
            code = self.process.wait(SECONDS_MAX)
        finally:
            self.end()
        assert code == 0 or kind, f"the server ended with {code}"

    def read_line(self):
        """The next line of output, empty at its end or after SECONDS_MAX."""
        while b"\n" not in self.output:
            with selectors.DefaultSelector() as selector:
                selector.register(self.process.stdout, selectors.EVENT_READ)
                if not selector.select(SECONDS_MAX):
                    return ""
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                return ""
            self.output += more
        line, _, self.output = self.output.partition(b"\n")
        return line.decode()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)
        self.process.stdout.close()
        shutil.rmtree(self.data, ignore_errors=True)

    def restart(self, is_kill=False):
        """Ends the process, in order or at once, and starts another one on the same data and another port."""
        if is_kill:
            self.process.kill()
        else:
            self.process.terminate()
        code = self.process.wait(SECONDS_MAX)
        assert is_kill or code == 0, f"the server ended with {code}"
        self.process.stdout.close()
        self.start()

    def connect(self, is_secure=False):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS_MAX)
        if not is_secure:
            return plain
        context = ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(plain, server_hostname="localhost")

    def send(self, data, is_secure=False):
        """The reply to these bytes on a connection of their own, or None if it is closed without one."""
        with self.connect(is_secure) as connection:
            try:
                connection.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return read_reply(connection)

    def advance(self, by_ms):
        body = json.dumps({"advanceMs": by_ms})
        reply = self.send(request("POST", "/_mayfly/clock", {}, body))
        equal(reply.status, 200)
        return reply.json["nowMs"]


class Reply:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def read_reply(connection, left=b"", has_body=True):
    """One reply with Content-Length, None at the end of the stream."""
    data = left
    while b"\r\n\r\n" not in data:
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            assert not data, f"half a reply: {data!r}"
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    wanted = int(length.group(1)) if length and has_body else 0
    while len(body) < wanted:
        more = connection.recv(65536)
        assert more, f"half a body: {head!r} {body!r}"
        body += more
    reply = Reply(head, body[:wanted])
    reply.left = body[wanted:]
    return reply


def request(method, target, headers, body=""):
    """The bytes of a request. `headers` may override Host and Content-Length; None leaves one out."""
    data = body if isinstance(body, bytes) else body.encode()
    every = {"Host": "127.0.0.1"}
    if data:
        every["Content-Length"] = str(len(data))
    every.update(headers)
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in every.items() if value is not None]
    return "\r\n".join(lines + ["", ""]).encode("latin-1") + data


def sign(method, target, key=KEY, date=None, link=None, kind=None):
    """Headers of a signed request; what is signed is what the decoded path says, unless told otherwise."""
    parts = [urllib.parse.unquote(p) for p in target.split("/") if p]
    is_feed = len(parts) % 2 == 1
    if kind is None:
        kind = parts[-1] if is_feed else parts[-2] if parts else ""
    if link is None:
        link = "/".join(parts[:-1] if is_feed else parts)
    if date is None:
        date = email.utils.formatdate(usegmt=True)
    text = f"{method.lower()}\n{kind.lower()}\n{link}\n{date.lower()}\n\n"
    mac = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    token = f"type=master&ver=1.0&sig={base64.b64encode(mac).decode()}"
    return {"authorization": urllib.parse.quote(token, safe=""), "x-ms-date": date,
            "x-ms-version": "2020-07-15"}


def signed(method, target, headers=None, body="", **signature):
    return request(method, target, {**sign(method, target, **signature), **(headers or {})}, body)


def run(make_context):
    """Runs all tests, each with the context that `make_context` gives once."""
    text = os.environ.get("FILTER") or ""
    chosen = [t for t in TESTS if text in t.__name__]
    if not chosen:
        print("no test matches")
        return 0
    passed = failed = 0
    with make_context() as context:
        for function in chosen:
            try:
                function(context)
                passed += 1
            except Exception:  # a failing test must not keep the others from running
                failed += 1
                print(f"FAILED {function.__name__}")
                traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
