#!/bin/sh
# Fails when object files need each other in a loop, or when one needs a file that
# comes after it in their list of a Makemodule.am: what the linker sees, with
# macros, tables of functions and data. check-cycles.sh [SOURCES [BUILD]] reads
# the objects of a build folder.
set -eu
sources=${1:-${srcdir:-.}}
build=${2:-.}

# "SOURCE OBJECT" of each file of the product, of libraries and of programs: only
# hearth-init leaves no object, which is one file. A folder that was built before
# has objects of sources that are gone, and several of one: the newest counts.
objects() {
    (cd "$build" && find . -name '*.o' -not -path './tests/*' \
        -printf '%T@ %P\n') |
        sort -n | awk -v sources="$sources" -v build="$build" '
        {
            source = $2
            sub(/[.]libs\//, "", source)
            sub(/[^\/]*-/, "", source) # the name of its library or program
            sub(/[.]o$/, ".c", source)
            newest[source] = $2
        }
        END {
            for (source in newest)
                if ((getline line <(sources "/" source)) >= 0 ||
                    (getline line <(build "/" source)) >= 0)
                    print source, build "/" newest[source]
        }' | sort
}

pairs=$(objects)
if [ -z "$pairs" ]; then
    echo "no objects in $build: build first" >&2
    exit 1
fi

# "LIST SOURCE" of each file in a list of sources, in the order of the lists.
lists() {
    (cd "$sources" && find . -name Makemodule.am -not -path './tests/*' \
        -printf '%P\n') | sort | while read -r makemodule; do
        awk -v folder="${makemodule%/*}" '
        /^[^ \t]*_SOURCES [+]?=/ { list = $1 }
        /^\t%D%\/.*[.]c( |$)/ && list {
            sub(/%D%/, folder, $1)
            print folder ":" list, $1
        }
        !/\\$/ { list = "" }' "$sources/$makemodule"
    done
}

# shellcheck disable=SC2046
nm -A -g $(printf '%s\n' "$pairs" | cut -d ' ' -f 2) | awk -v pairs="$pairs" \
    -v lists="$(lists)" '
function folder(path)
{
    sub(/[^\/]*$/, "", path)
    return path
}
# Who defines the symbol that `file` needs. Two programs may have one of the
# same name: then the one in the folder of the file.
function home_of(symbol, file,    count, i, homes)
{
    count = split(home[symbol], homes, " ")
    for (i = 1; i <= count; i++)
        if (folder(homes[i]) == folder(file))
            return homes[i]
    return count ? homes[1] : ""
}
# The shortest loop through `start`, as a list of files, or "". It is found
# breadth first, so each file is entered from the one nearest to the start.
function loop_of(start,    queue, first, last, from, count, i, next_ones, path)
{
    queue[first = last = 1] = start
    while (first <= last) {
        count = split(needs[queue[first]], next_ones, " ")
        for (i = 1; i <= count; i++) {
            if (next_ones[i] in from)
                continue
            from[next_ones[i]] = queue[first]
            queue[++last] = next_ones[i]
        }
        first++
    }
    if (!(start in from))
        return ""
    path = start
    for (i = from[start]; i != start; i = from[i])
        path = i " " path
    return start " " path
}
function print_loop(path,    count, i, files)
{
    count = split(path, files, " ")
    for (i = 1; i < count; i++) {
        printf "    %s needs %s:%s\n", files[i], files[i + 1],
            symbols[files[i], files[i + 1]]
        shown[files[i]] = 1
    }
}
# Reports each file of a list that needs a later one of it.
function count_late(    count, entries, i, j, file, target, late) {
    count = split(lists, entries)
    for (i = 1; i < count; i += 2)
        for (j = i + 2; j < count && entries[j] == entries[i]; j += 2) {
            file = entries[i + 1]
            target = entries[j + 1]
            if (!((file, target) in symbols))
                continue
            late++
            printf "%s is before %s, which it needs:%s\n", file, target,
                symbols[file, target]
        }
    return late + 0
}
BEGIN {
    count = split(pairs, words)
    for (i = 1; i < count; i += 2)
        source[words[i + 1]] = words[i]
}
{
    object = $1
    sub(/:[^:]*$/, "", object)
    file = source[object]
    if ($(NF - 1) ~ /^[Uw]$/)
        wanted[file, $NF] = 1
    else if ($(NF - 1) ~ /^[TDBRCGSVW]$/)
        home[$NF] = home[$NF] " " file
}
END {
    for (pair in wanted) {
        split(pair, part, SUBSEP)
        target = home_of(part[2], part[1])
        if (target == "" || target == part[1])
            continue
        if (!((part[1], target) in symbols))
            needs[part[1]] = needs[part[1]] " " target
        symbols[part[1], target] = symbols[part[1], target] " " part[2]
    }
    for (i = 1; i < count; i += 2) {
        file = words[i]
        loop = loop_of(file)
        if (loop == "")
            continue
        loops++
        if (file in shown)
            continue
        printf "%s is in a loop:\n", file
        print_loop(loop)
    }
    late = count_late()
    printf "%d files are in a loop\n", loops
    printf "%d calls of a later file of the list\n", late
    exit loops + late > 0
}'
