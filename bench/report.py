#!/usr/bin/env python3
"""Puts the figures of a whole run into docs/performance.md, between its two marks, with a description of the machine:
report.py figures minutes. Figures are lines `name | value | goal | met`."""
import os
import re
import subprocess
import sys
import tempfile
import time

PAGE = "docs/performance.md"
CURVES = {
    "performance-inserts.svg": "inserts per second over connections",
    "performance-reads.svg": "reads per second over connections",
    "performance-expiry.svg": "percentiles of reads while a million documents die",
    "performance-expiry-writes.svg": "percentiles of writes while a million documents die",
    "performance-disk.svg": "disk while a million documents die",
}
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def first_match(path, pattern, otherwise="?"):
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(pattern, file.read(), re.M)
    except OSError:
        return otherwise
    return found.group(1).strip() if found else otherwise


def sync_ms():
    """How long it takes until a few bytes are on the disk that was measured: the median of 50."""
    times = []
    with tempfile.NamedTemporaryFile() as file:
        for _ in range(50):
            start = time.monotonic()
            file.write(b"x" * 600)
            file.flush()
            os.fdatasync(file.fileno())
            times.append((time.monotonic() - start) * 1000)
    return sorted(times)[25]


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def machine(minutes):
    processor = first_match("/proc/cpuinfo", r"^model name\s*: (.*)$")
    memory = int(first_match("/proc/meminfo", r"^MemTotal:\s*(\d+)", "0")) / 1e6
    system = first_match("/etc/os-release", r'^PRETTY_NAME="(.*)"$')
    disk = output_of("findmnt", "-n", "-o", "FSTYPE", "-T", tempfile.gettempdir())
    packages = {name: output_of("dpkg-query", "-W", "-f", "${Version}", name)
                for name in ("librocksdb-dev", "postgresql-15", "redis-server")}
    kernel = os.uname().release.split("-")[0]
    return (f"{time.strftime('%Y-%m-%d')}, {minutes} minutes. {os.cpu_count()} processors ({processor}), {memory:.0f} GB, "
            f"{disk} on which a sync takes {sync_ms():.2f} ms, {system}, Linux {kernel}; RocksDB "
            f"{packages['librocksdb-dev']}, PostgreSQL {packages['postgresql-15']}, Redis "
            f"{packages['redis-server']}.\nClients and servers share the machine. Load average at the end: "
            f"{os.getloadavg()[2]:.1f} over 15 minutes.")


def table(figures):
    yield "| figure | value | goal | met |"
    yield "|---|---|---|---|"
    with open(figures, encoding="utf-8") as lines:
        for line in lines:
            name, value, goal, met = [part.strip() for part in line.split(" | ")]
            met = "**no**" if met == "NO" else met
            yield f"| {name} | {value} | {goal} | {met} |"


def curves():
    """Links to the drawings that there are (draw.py makes them)."""
    for name, what in CURVES.items():
        if os.path.exists(f"docs/{name}"):
            yield f"![{what}]({name})"


def main():
    figures, minutes = sys.argv[1:]
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    middle = "\n".join([machine(minutes), "", *table(figures), "", *curves()])
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(f"{head}{BEGIN}\n{middle}\n{END}{tail}")


if __name__ == "__main__":
    main()
