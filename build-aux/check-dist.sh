#!/bin/sh
# Fails when a file of the tree would be missing in a release: each that git
# knows is named in Makefile.am or a Makemodule.am. A test program is named
# without its .c; a source that a test compiles has it.
set -eu
cd "${1:-${srcdir:-.}}"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
named=$(cat Makefile.am ./*/Makemodule.am | tr '[:blank:]' '\n')
bad=0
for file in $(git ls-files); do
    case $file in
    .gitignore | configure.ac | Makefile.am | */Makemodule.am) continue ;;
    */*) place=${file%%/*}/Makemodule.am name=%D%/${file#*/} ;;
    *) place=Makefile.am name=$file ;;
    esac
    case $file in
    tests/*.c)
        printf '%s\n' "$named" | grep -qxF -- "$name" && continue
        name=${name%.c}
        ;;
    .*/*) place=Makefile.am name=$file ;;
    build-aux/*) printf '%s\n' "$named" | grep -qxF "$file" && continue ;;
    esac
    if ! printf '%s\n' "$named" | grep -qxF -- "$name"; then
        echo "$file: in no release; name it in $place"
        bad=1
    fi
done
exit "$bad"
