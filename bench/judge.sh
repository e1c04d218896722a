#!/bin/sh
# Share of the judge in the instructions of a point read. See judge.c.
set -eu
build=${BUILD:-build}
if ! command -v valgrind > /dev/null; then
    echo 'judge: valgrind is not installed; left out'
    exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/mayfly-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
"$build/bench/judge" load "$dir/data"

# Inclusive instructions of a function, from the file of one run.
instructions() {
    callgrind_annotate --inclusive=yes --threshold=100 --auto=no "$1" |
        awk -v name=":$2 " 'index($0 " ", name) && !found { found = 1; gsub(",", "", $1); print $1 }'
}

for collection in plain dated; do
    valgrind --tool=callgrind --toggle-collect=document_read --callgrind-out-file="$dir/$collection" \
        "$build/bench/judge" read "$dir/data" "$collection" > "$dir/log" 2>&1 || {
        cat "$dir/log"
        exit 1
    }
    read=$(instructions "$dir/$collection" document_read)
    judge=$(instructions "$dir/$collection" expiry_judge)
    awk -v r="$read" -v j="$judge" -v c="$collection" 'BEGIN {
        share = 100 * j / r
        printf "%s: document_read %d instructions, expiry_judge %d of them\n", c, r / 5000, j / 5000
        name = c == "plain" ? "judge: instructions of a point read" : "judge: the same with four TTL indexes"
        printf "FIGURE | %s | %.2f %% | %s | %s\n", name, share, c == "plain" ? "<= 1 %" : "-",
               c != "plain" ? "-" : share <= 1 ? "yes" : "NO"
    }'
done
