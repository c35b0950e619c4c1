#!/bin/sh
# Fails when a file uses what the tree does without. One ban a line: where it
# holds, the pattern, why. HACKING.md explains each.
set -eu
cd "${1:-${srcdir:-.}}"
bad=0

# A call of one of the functions, at a word's start; comments are cut first.
c_code() {
    sed -e 's|/\*.*\*/||' -e 's|^ \*.*||' -e 's|/\*.*||' "$1"
}

# ban REASON PATTERN FILE...
ban() {
    reason=$1 pattern=$2
    shift 2
    for file in "$@"; do
        hits=$(c_code "$file" | grep -nE -- "$pattern" || true)
        [ -z "$hits" ] && continue
        bad=1
        echo "$hits" | sed "s|^\([0-9]*\):.*|$file:\1: $reason|"
    done
}

# Files of the folders that the first words name, less those that match the
# expression behind "but".
files() {
    find "$1" -name '*.[ch]' | grep -vE -- "${2:-^$}" | sort
}

# shellcheck disable=SC2046
{
    product=$(for d in base protocol sandbox notebooks kernels gateway; do
        files "$d"
    done)
    libraries=$(for d in base protocol sandbox notebooks kernels; do
        files "$d" '^base/log\.[ch]$'
    done)
    everything="$product $(files tests)"

    ban 'use a call that knows the size of its target or its mistakes' \
        '(^|[^[:alnum:]_])(sprintf|vsprintf|strcpy|stpcpy|strcat|strncpy|strtok|atoi|atol|atof|gets|alloca|tmpnam|mktemp)[[:space:]]*\(' \
        $everything
    ban 'no shell between us and a program: posix_spawn' \
        '(^|[^[:alnum:]_])(system|popen)[[:space:]]*\(' $everything
    ban 'no goto: the cleanup attribute releases' \
        '(^|[^[:alnum:]_])goto[[:space:]]+[[:alpha:]]' $everything
    ban 'comments are /* ... */' \
        '^([^"]*"[^"]*")*[^"]*//' $everything
    ban 'a library returns a fault, programs print' \
        '(^|[^[:alnum:]_])(printf|puts|perror|log_(error|warning|notice|debug))[[:space:]]*\(' \
        $libraries
    ban 'only main.c and the command line end the program' \
        '(^|[^[:alnum:]_])exit[[:space:]]*\(' \
        $(echo "$product" | tr ' ' '\n' |
            grep -vE '^gateway/(main\.c$|cli/)')
    ban 'memory comes from mem_new and friends of base/buffer.h' \
        '(^|[^[:alnum:]_])(malloc|calloc|realloc|reallocarray|strdup|strndup|asprintf)[[:space:]]*\(' \
        $(echo "$product" | tr ' ' '\n' | grep -v '^base/')
    ban 'wait for conditions with a deadline, not for time' \
        '(^|[^[:alnum:]_])(sleep|usleep)[[:space:]]*\(' $everything
}
exit "$bad"
