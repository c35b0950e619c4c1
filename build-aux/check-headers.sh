#!/bin/sh
# Fails when a header declares functions that more than two files define: a file
# has its own header, and a family of files has none in common. Functions of a
# table, which are members of a struct, and inline functions do not count. Each
# exception below has its reason, and fails when it is one no more, or when its
# header is gone.
# check-headers.sh [SOURCES] reads the form that clang-format gives: what a file
# offers begins in the first column, and its "{" is on a line of its own.
set -eu
cd "${1:-${srcdir:-.}}"
files=$(find base protocol sandbox notebooks workspace kernels gateway \
    -name '*.[ch]' | LC_ALL=C sort)
# shellcheck disable=SC2086
exec awk '
BEGIN {
    # What other folders see of a frontend. Its files call each other through
    # frontend_rpc.h, frontend_sessions.h and frontend_state.h.
    excepted["gateway/frontends/frontend.h"] = 1
    # What the module _link sees of the link. The files of the link call each
    # other through streams.h, gateway.h and state.h.
    excepted["kernels/hearth_kernel/link/link.h"] = 1
}
# Returns the name of the function in the beginning of a declaration, "" if it
# is of something else.
function name_of(text)
{
    if (!match(text, /[A-Za-z_0-9]+\(/))
        return ""
    return substr(text, RSTART, RLENGTH - 1)
}
FNR == 1 { name = "" }
/^[A-Za-z_]/ && !/^static / { name = name_of($0) }
name != "" && FILENAME ~ /[.]h$/ && /;[ \t]*(\/\*.*)?$/ {
    count = ++declared[FILENAME]
    declares[FILENAME, count] = name
    name = ""
}
name != "" && FILENAME ~ /[.]c$/ && /^\{/ {
    homes[name] = homes[name] " " FILENAME
    name = ""
}
# Returns the files that define the functions of the header.
function files_of(header,    i, j, count, parts, found, list) {
    for (i = 1; i <= declared[header]; i++) {
        count = split(homes[declares[header, i]], parts, " ")
        for (j = 1; j <= count; j++)
            if (!(parts[j] in found)) {
                found[parts[j]] = 1
                list = list " " parts[j]
            }
    }
    return list
}
END {
    for (i = 1; i < ARGC; i++)
        is_there[ARGV[i]] = 1
    for (header in excepted)
        if (!(header in is_there)) {
            bad = 1
            print header " is gone: remove its exception from check-headers.sh"
        }
    for (i = 1; i < ARGC; i++) {
        count = split(files_of(ARGV[i]), parts, " ")
        if (count <= 2 && ARGV[i] in excepted) {
            bad = 1
            print ARGV[i] " is no exception any more"
        }
        if (count <= 2 || ARGV[i] in excepted)
            continue
        bad = 1
        printf "%s declares functions of %d files:", ARGV[i], count
        for (j = 1; j <= count; j++)
            printf " %s", parts[j]
        print ""
    }
    exit bad
}
' $files
