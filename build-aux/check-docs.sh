#!/bin/sh
# Fails when a manual page is badly formed or shows quotes within quotes (a
# macro after a quoted word is quoted, too). Fails when a document or a comment
# names a file of the tree that does not exist, when a link leads nowhere, or when
# a line of a document's prose has more than 100 columns.
set -eu
cd "${1:-${srcdir:-.}}"
bad=0
closing=$(printf '\342\200\231') # a closing quote, in UTF-8

if command -v mandoc >/dev/null; then
    for page in man/*.[1-8]; do
        [ -e "$page" ] || continue
        mandoc -T lint -W warning "$page" || bad=1
        if mandoc -T utf8 "$page" | grep "$closing$closing"; then
            echo "$page: a quoted word has a quoted word in it"
            bad=1
        fi
    done
fi

# A path in backquotes whose first part is a folder of the tree, or a setting.
folders='base|protocol|sandbox|notebooks|workspace|kernels|gateway'
folders="$folders|tests|docs|etc|man|build-aux|clients|examples"
for document in *.md docs/*.md docs/*/*.md examples/*.md; do
    [ -e "$document" ] || continue
    grep -oE "\`($folders)/[A-Za-z0-9_./-]*\`" "$document" |
        tr -d '`' | sort -u |
        while read -r path; do
            [ -e "$path" ] || grep -qx ".It Va $path" man/hearth.cfg.5 ||
                echo "$document: there is no $path"
        done
    grep -oE '\]\([A-Za-z0-9_./-]+' "$document" | sed 's/^](//' | sort -u |
        while read -r link; do
            [ -e "$(dirname "$document")/$link" ] ||
                echo "$document: the link to $link leads nowhere"
        done
done | {
    if grep .; then
        exit 1
    fi
} || bad=1
# Tables, code, lines with a link and what a program has written may be longer.
# A byte of 0x80 to 0xbf continues a letter.
find ./*.md docs examples -name '*.md' | sort | LC_ALL=C xargs awk '
    FNR == 1 { is_code = is_written = 0 }
    /^<!-- written by/ { is_written = 1 }
    /^<!-- end of what is written/ { is_written = 0 }
    /^ *```/ { is_code = !is_code }
    is_code || is_written || /^(\||    )/ || /\]\(|:\/\// { next }
    {
        gsub(/[\200-\277]/, "")
        if (length() > 100) {
            print FILENAME ":" FNR ": a line of " length() " columns: " \
                "no more than 100"
            bad = 1
        }
    }
    END { exit bad }
' || bad=1
# What a comment calls name.c or folder/name.h, without the <> of the system's.
sources() {
    # shellcheck disable=SC2046 # words are wanted
    find $(echo "$folders" | tr '|' ' ') -name '*.[ch]' \
        ! -path '*/node_modules/*'
}
SOURCES=$(sources)
export SOURCES
# shellcheck disable=SC2016 # awk expands them
sources | xargs awk '
    BEGIN {
        count = split(ENVIRON["SOURCES"], paths, "\n")
        for (i = 1; i <= count; i++) {
            known[paths[i]] = 1
            while (sub(/^[^\/]*\//, "", paths[i]))
                known[paths[i]] = 1
        }
    }
    /^ *\*|\/\*/ && !/^#include/ {
        gsub(/<[^>]*>/, "")
        while (match($0, /[A-Za-z0-9_\/]+\.[ch]([^A-Za-z0-9_]|$)/)) {
            name = substr($0, RSTART, RLENGTH)
            $0 = substr($0, RSTART + RLENGTH)
            sub(/[^A-Za-z0-9_]$/, "", name)
            if (!(name in known)) {
                print FILENAME ":" FNR ": there is no " name
                bad = 1
            }
        }
    }
    END { exit bad }
' || bad=1
exit "$bad"
