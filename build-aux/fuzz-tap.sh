#!/bin/sh
# Runs a fuzz target for FUZZ_SECONDS (5) as one of automake's tests, from its
# corpus and with its dictionary: fuzz-tap.sh PROGRAM. New inputs are kept in
# corpus/ of the build folder.
set -eu
name=$(basename "$1")
found=corpus/$name
parser=${srcdir:-.}/tests/fuzz/corpus/${name#fuzz_}
dictionary=${srcdir:-.}/tests/fuzz/${name#fuzz_}.dict
mkdir -p "$found" logs
set -- "$1" -timeout=10 -rss_limit_mb=2048 \
    -max_total_time="${FUZZ_SECONDS:-5}" -print_final_stats=1 \
    -artifact_prefix="$name-" "$found"
[ -d "$parser" ] && set -- "$@" "$parser"
[ -e "$dictionary" ] && set -- "$@" "-dict=$dictionary"
echo 1..1
if "$@" >"logs/$name.log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "logs/$name.log")
    echo "ok 1 - $runs runs"
else
    echo "not ok 1"
    tail -n 30 "logs/$name.log"
fi
