#!/bin/sh
# Prints files as C: embed.sh HEADER [NAME FILE]... gives NAME and NAME_size,
# which the header declares.
set -eu
printf '/* Made by build-aux/embed.sh. */\n#include "%s"\n' "$1"
shift
while [ "$#" -gt 1 ]; do
    printf '\nconst char %s[] = {\n' "$1"
    od -A n -v -t d1 "$2" | sed 's/[-0-9]\{1,\}/&,/g'
    printf '};\nconst size_t %s_size = sizeof %s;\n' "$1" "$1"
    shift 2
done
