#!/bin/sh
# Fails when a folder's library needs what is neither in itself, nor in a
# library before it, nor in one that its Makemodule.am names. check-links.sh
# [SOURCES [BUILD]] links each library of the Makefile of a build folder, in
# their order: all its objects, and a stub that defines what those before it
# have.
set -eu
cd "${2:-.}"
libraries=$(sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' Makefile |
    sed -n 's/^noinst_LTLIBRARIES = //p')
if [ -z "$libraries" ]; then
    echo "no libraries in $PWD: configure first" >&2
    exit 1
fi
compiler=$(sed -n 's/^CC = //p' Makefile)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
: >"$scratch/before"
bad=0
for library in $libraries; do
    archive=.libs/${library%.la}.a
    named=$(sed -n "s/^dependency_libs='\(.*\)'/\1/p" "$library")
    nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' |
        sort -u >"$scratch/own"
    comm -23 "$scratch/before" "$scratch/own" |
        sed 's/.*/.globl &\n&:/' >"$scratch/stub.s"
    # shellcheck disable=SC2086
    if ! $compiler -shared -o "$scratch/linked.so" -Wl,--no-undefined \
        "$scratch/stub.s" -Wl,--whole-archive "$archive" \
        -Wl,--no-whole-archive $named 2>"$scratch/errors"; then
        echo "$library needs what comes after it, or a library it does not name:"
        sed -n 's/^\(.*[/ ]\)*\([^/ ]*\.c\):.*\(undefined.*\)/    \2: \3/p' \
            "$scratch/errors" | sort -u
        grep 'undefined reference' "$scratch/errors" >/dev/null ||
            cat "$scratch/errors"
        bad=1
    fi
    sort -u -o "$scratch/before" "$scratch/before" "$scratch/own"
done
exit "$bad"
