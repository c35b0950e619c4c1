#!/bin/sh
# Fails when a C file of the session or the registry has no row in
# tests/mutants/measured.tsv, when a file of the table is gone, or when its tests
# notice less than four of five changes: check-mutants.sh [SOURCES]. Only the
# table is read; `./dev mutants --record FILE` measures and writes a row. A row
# of 0 changes has a fifth field: the reason why there is no change to notice.
set -eu
cd "${1:-${srcdir:-.}}"
table=tests/mutants/measured.tsv
files=$(find gateway/session gateway/registry -name '*.c')
echo "$files" | LC_ALL=C sort | awk -F '\t' -v table="$table" '
function complain(why)
{
    printf "%s:%d: %s\n", table, FNR, why
    failed = 1
}
function is_there(path,    line, found)
{
    found = (getline line <path) >= 0
    close(path)
    return found
}
# Of a C file they are programs of tests/unit; of a Python file, paths.
function find_tests(    names, i, count, path)
{
    count = split($2, names, " ")
    if (count == 0)
        complain("no test is named")
    for (i = 1; i <= count; i++) {
        path = $1 ~ /[.]py$/ ? names[i] : "tests/unit/" names[i] ".c"
        sub(/::.*/, "", path)
        if (!is_there(path))
            complain("there is no test " path " any more")
    }
}
FILENAME != table {
    required[++count] = $0
    next
}
NF < 4 || NF > 5 || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/ {
    complain("a row is: file, tests, changes tried, changes noticed")
    next
}
$1 <= last { complain($1 " is not sorted, or is there twice") }
{ last = $1; is_measured[$1] = 1 }
!is_there($1) {
    complain("there is no " $1 " any more: remove its row, or rename it")
}
{ find_tests() }
$3 == 0 && $5 !~ /[[:alpha:]]/ {
    complain("no change of " $1 " was tried, and no reason is given: " \
        "./dev mutants --record " $1)
}
$3 > 0 && NF == 5 { complain("a reason belongs to a row of 0 changes alone") }
$4 > $3 { complain("more changes of " $1 " were noticed than tried") }
$4 * 5 < $3 * 4 {
    complain("of " $3 " changes of " $1 " tests notice " $4 ", which is " \
        "less than 80 %: add tests, then ./dev mutants --record " $1)
}
END {
    for (i = 1; i <= count; i++)
        if (!is_measured[required[i]]) {
            printf "%s: %s has no row: write its unit tests, then " \
                "./dev mutants --record %s\n", table, required[i], required[i]
            failed = 1
        }
    exit failed
}
' - "$table"
