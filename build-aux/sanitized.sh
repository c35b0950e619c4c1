#!/bin/sh
# Runs tests of a program that was built with sanitizers: sanitized.sh BUILD
# COMMAND... has it in HEARTH, with the ordinary Python package beside it,
# because an interpreter cannot load extensions that want a sanitizer's runtime.
# Whatever a sanitizer writes, of whichever process, is a failure.
set -eu
build=$(cd "$1" && pwd)
shift
package=${HEARTH_PACKAGE:-$(cd "${srcdir:-.}" && pwd)/build/python}
if ! [ -d "$package" ]; then
    echo "1..0 # SKIP no Python package of an ordinary build in $package"
    exit 0
fi
run=$build/run
rm -rf "$run"
mkdir "$run"
cp "$build/hearth" "$run/hearth"
ln -s "$package" "$run/python"
export HEARTH="$run/hearth"
export ASAN_OPTIONS="detect_stack_use_after_return=1:log_path=$run/report${QUARANTINE:+:quarantine_size_mb=$QUARANTINE}"
export UBSAN_OPTIONS="print_stacktrace=1:log_path=$run/report"
status=0
"$@" || status=$?
for report in "$run"/report*; do
    [ -s "$report" ] || continue
    echo "# $report"
    sed -n '1,40s/^/# /p' "$report"
    status=1
done
exit "$status"
