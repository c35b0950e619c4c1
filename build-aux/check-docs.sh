#!/bin/sh
# Fails when a manual page is badly formed, or when a document names a file of
# the tree that does not exist.
set -eu
cd "${1:-${srcdir:-.}}"
bad=0

if command -v mandoc >/dev/null; then
    for page in man/*.[1-8]; do
        [ -e "$page" ] || continue
        mandoc -T lint -W warning "$page" || bad=1
    done
fi

# A path in backquotes whose first part is a folder of the tree, or a setting.
folders='base|protocol|sandbox|notebooks|workspace|kernels|gateway'
folders="$folders|tests|docs|etc|man|build-aux"
for document in *.md docs/*.md; do
    grep -oE "\`($folders)/[A-Za-z0-9_./-]*\`" "$document" |
        tr -d '`' | sort -u |
        while read -r path; do
            [ -e "$path" ] || grep -qx ".It Va $path" man/hearth.cfg.5 ||
                echo "$document: there is no $path"
        done
done | {
    if grep .; then
        exit 1
    fi
} || bad=1
exit "$bad"
