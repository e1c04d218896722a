#!/usr/bin/env python3
"""The MongoDB face through libmongoc, the driver in C: plain, as a named replica set, compressed and over TLS.

    MAYFLY=build/mayfly tests/clients/mongo-libmongoc.py

Builds support/libmongoc.c in a temporary directory, and runs it with different addresses.
"""
import contextlib
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "support"))
from server import SECONDS_MAX, Server, equal, run, test  # noqa: E402

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "support/libmongoc.c")
WANTED = ["insert ok"] * 4 + [
    "insert failed 11000",
    '{ "_id" : 4, "n" : 40 }', '{ "_id" : 3, "n" : 30 }', '{ "_id" : 2, "n" : 20 }',
    "find ok", "update ok", "delete ok", "deleted 1", "transaction ok", "moved 1", "bulk ok", "count 1003", "drop ok",
]


def build(directory):
    program = os.path.join(directory, "client")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libmongoc-1.0"], check=True,
                           capture_output=True, text=True).stdout.split()
    subprocess.run(["gcc", "-o", program, SOURCE, *flags], check=True)
    return program


def check(w, options):
    done = subprocess.run([w.program, w.server.mongo_url + "/" + options], capture_output=True,
                          text=True, timeout=SECONDS_MAX, check=True)
    lines = [line[:19] if line.startswith("insert failed") else line for line in done.stdout.splitlines()]
    equal(lines, WANTED, done.stderr)


class World:
    def __init__(self, server, program):
        self.server = server
        self.program = program


@test
def a_program_in_c_writes_and_reads(w):
    check(w, "")


@test
def the_replica_set_may_be_named(w):
    check(w, "?replicaSet=mayfly")


@test
def messages_are_compressed_by_every_library(w):
    for name in ("zlib", "snappy", "zstd"):
        check(w, f"?compressors={name}")


@test
def the_same_port_speaks_tls(w):
    check(w, f"?tls=true&tlsCAFile={w.server.certificate}")


@contextlib.contextmanager
def world():
    with tempfile.TemporaryDirectory() as directory, Server("--mongo", "127.0.0.1:0") as server:
        yield World(server, build(directory))


if __name__ == "__main__":
    sys.exit(run(world))
