#!/bin/sh
# Removes what an older version has left in hearth's own folder of Python
# packages: prune-python.sh INSTALLED BUILT removes each file and folder of
# INSTALLED/hearth_* that is not in BUILT, where this version is put together.
# All compiled code goes too: it is made anew. Other names stay.
set -eu
installed=$1
built=$2
# A folder that has not been put together says nothing about what belongs here.
[ -f "$built/hearth_kernel/kernel.py" ] || exit 0
[ -d "$installed" ] || exit 0
cd "$installed"
# A folder comes after what is in it.
find . -depth -path './hearth_*' -exec sh -c '
    built=$1
    shift
    for path; do
        [ -e "$built/$path" ] && [ "${path##*/}" != __pycache__ ] ||
            rm -rf "$path"
    done' sh "$built" {} +
