#!/bin/sh
# Runs pytest as one of automake's tests, in the build folder: pytest-tap.sh
# [--beside] NAME VENV ARGUMENT... prints TAP, a line a test. With --beside as
# many files as TEST_WORKERS says (three times the processors) run side by side;
# tests/lib/shares.py says in which order. What tests leave is an error
# (tests/lib/remains.py). What pytest writes is in
# logs/NAME.log and logs/NAME.xml. HEARTH_TEST_PYTHON is an interpreter that has
# what the tests need where the tree has no VENV. HEARTH_TEST_AGAIN=N runs only
# what failed in the run before, one by one, with logs of its own.
set -eu
beside=
[ "$1" != --beside ] || { beside=yes && shift; }
name=$1
build=$(pwd)
source=$(cd "${srcdir:-.}" && pwd)
python=${HEARTH_TEST_PYTHON:-$source/$2/bin/python}
shift 2
if ! "$python" -c 'import pytest, pytest_timeout' 2>/dev/null; then
    echo "1..0 # SKIP no pytest in $python: ./dev install-deps makes it"
    exit 0
fi
: "${HEARTH:=$build/hearth}"
: "${HEARTH_PYTHON_DIR:=$(dirname "$HEARTH")/python}"
: "${HEARTH_PYTHON_PATH:=$HEARTH_PYTHON_DIR}"
export HEARTH HEARTH_PYTHON_DIR HEARTH_PYTHON_PATH
logs=$build/logs
mkdir -p "$logs"
cache=$logs/$name.cache
if [ -n "${HEARTH_TEST_AGAIN:-}" ]; then
    name=$name-again$HEARTH_TEST_AGAIN
    set -- "$@" --last-failed --last-failed-no-failures=none
else
    rm -rf "$cache"
    [ -z "$beside" ] || set -- "$@" -p tests.lib.shares --dist=loadfile \
        --no-loadscope-reorder \
        --numprocesses="${TEST_WORKERS:-$((3 * $(nproc)))}"
fi
rm -f "$logs/$name.xml"
# A worker holds the sockets of all the clients that its tests have made.
# shellcheck disable=SC3045 # dash has -S and -H
ulimit -S -n "$(($(ulimit -H -n) < 8192 ? $(ulimit -H -n) : 8192))"
cd "$source"
# Compiled tests are kept, whatever the caller's environment says: otherwise
# each process of each run rewrites the asserts of all of them.
unset PYTHONDONTWRITEBYTECODE
set -- "$python" -m pytest -p tests.lib.tap -p tests.lib.remains \
    -o cache_dir="$cache" \
    -o junit_family=xunit2 --junitxml="$logs/$name.xml" -ra --timeout=900 "$@"
# Tests have deadlines: of those that `make -j` starts, one after the other.
case ${MAKEFLAGS:-} in
*jobserver*) set -- flock --close "$logs/.lock" "$@" ;;
esac
set -- "$source/build-aux/reachable.sh" "$source" "$@"
set -- "$source/build-aux/in-memory.sh" "$source" "$build" "$@"
status=0
"$@" 3>&1 >"$logs/$name.log" 2>&1 || status=$?
# The TAP says what failed, or that there was nothing to run.
case $status in
1 | 5) exit 0 ;;
esac
exit "$status"
