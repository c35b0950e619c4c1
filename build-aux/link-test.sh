#!/bin/sh
# Links a program of the tests in libtool's place: link-test.sh WORD...
# --mode=link COMPILER ARGUMENT... takes each libNAME.la for its archive, and
# adds the libraries that it names. libtool reads thirty such files for each of
# 250 programs, which takes a second of processor time. ld takes a third of one,
# mostly to read what the shared libraries need in their turn; gold, which comes
# with it, takes 50 ms. A sanitizer's programs are linked as the gateway is.
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
case $* in
*-fsanitize*) ;;
*) ! command -v ld.gold >/dev/null || set -- "$@" -fuse-ld=gold ;;
esac
# shellcheck disable=SC2046,SC2086
exec "$@" $(sed -n "s/^dependency_libs='\(.*\)'/\1/p" $named)
