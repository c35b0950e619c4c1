#!/bin/sh
# Fails when a file of the tree would be missing in a release: each that git
# knows is named in Makefile.am or a Makemodule.am. A test program is named
# without its .c; a source that a test compiles has it.
set -eu
cd "${1:-${srcdir:-.}}"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
named=$(git ls-files Makefile.am '*/Makemodule.am' | while read -r list; do
    sed "s|%D%|${list%/*}|g" "$list"
done | tr '[:blank:]' '\n')
bad=0
for file in $(git ls-files); do
    name=$file
    case $file in
    .gitignore | configure.ac | Makefile.am | */Makemodule.am) continue ;;
    tests/*.c)
        printf '%s\n' "$named" | grep -qxF -- "$name" && continue
        name=${name%.c}
        ;;
    esac
    if ! printf '%s\n' "$named" | grep -qxF -- "$name"; then
        echo "$file: in no release; name it in the Makemodule.am of its folder"
        bad=1
    fi
done
exit "$bad"
