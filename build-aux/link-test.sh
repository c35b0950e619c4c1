#!/bin/sh
# Links a program of the tests in libtool's place: link-test.sh WORD...
# --mode=link COMPILER ARGUMENT... takes each libNAME.la for its archive, and
# adds the libraries that it names. libtool reads thirty such files for each of
# 250 programs, which takes a second of processor time, and linking 50 ms.
set -eu
while [ "$1" != --mode=link ]; do
    shift
done
shift
named=
for word; do
    shift
    case $word in
    *.la)
        named="$named $word"
        word=.libs/${word%.la}.a
        ;;
    esac
    set -- "$@" "$word"
done
# shellcheck disable=SC2046,SC2086
exec "$@" $(sed -n "s/^dependency_libs='\(.*\)'/\1/p" $named)
