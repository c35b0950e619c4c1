#!/bin/sh
# Fails when a file uses what the tree does without. One ban a line of the
# table: where it holds, where it does not, the words, why.
set -eu
cd "${1:-${srcdir:-.}}"
files=$(find base protocol sandbox notebooks workspace kernels gateway tests \
    -name node_modules -prune -o -name '*.[ch]' -print | sort)
# shellcheck disable=SC2086
awk '
function ban(where, except, words, why)
{
    bans++
    place[bans] = where
    spared[bans] = except
    pattern[bans] = "(^|[^[:alnum:]_])(" words ")[ \t]*\\("
    reason[bans] = why
}
BEGIN {
    product = "^(base|protocol|sandbox|notebooks|workspace|kernels|gateway)/"
    library = "^(base|protocol|sandbox|notebooks|workspace|kernels)/"
    none = "^$"

    ban(".", none, "v?sprintf|str(n?cpy|cat|tok)|stpcpy|gets|alloca|mktemp" \
        "|tmpnam", "use a call that knows the size of its target")
    ban(".", none, "ato(i|l|ll|f)", "use strtol and look at its end")
    ban(".", none, "system|popen", "no shell in between: use posix_spawn")
    ban(".", none, "u?sleep", "wait for conditions with a deadline")
    ban(product, none, "(clock_)?nanosleep|zclock_sleep",
        "wait for conditions with a deadline")
    ban(library, "^base/log[.]c$", "printf|puts|perror" \
        "|log_(error|warning|notice|debug)",
        "a library returns a fault; programs speak")
    ban(product, "^gateway/(main[.]c$|cli/)", "exit",
        "only main.c and the command line end the program")
    ban(product, "^base/", "[cm]alloc|realloc|reallocarray|strn?dup|v?asprintf",
        "memory comes from base/buffer.h")
}
function complain(why)
{
    printf "%s:%d: %s\n", FILENAME, FNR, why
    bad = 1
}
# The line without strings and comments.
function code(line)
{
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    if (comment) {
        if (!sub(/^.*\*\//, "", line))
            return ""
        comment = 0
    }
    if (sub(/\/\*.*$/, "", line))
        comment = 1
    return line
}
# Counts the parameters of a function that begins in column 0.
function count_parameters(line,    i, c)
{
    if (!depth && line !~ /^[[:alpha:]_]/)
        return
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "(" && !depth++)
            commas = 0
        else if (c == ")")
            depth--
        else if (c == "," && depth == 1 && ++commas == 6)
            complain("no more than six parameters: use a struct")
    }
}
# Counts the members of structs and unions. `words` is what has been read since
# the last member. A struct in a struct is one member of that.
function count_members(line,    i, c)
{
    if (!level) {
        if (line !~ /^[^#].*[{]/ ||
            !match(line, /(^|[^[:alnum:]_])(struct|union)[^()=;{]*[{]/))
            return
        line = substr(line, RSTART + RLENGTH)
        is_struct[++level] = 1
        members[level] = nested = 0
        words = ""
    }
    for (i = 1; i <= length(line) && level; i++) {
        c = substr(line, i, 1)
        words = words c
        if (c == "{") {
            is_struct[++level] = words ~ /(^|[^[:alnum:]_])(struct|union)[^()=]*$/
            members[level] = 0
            words = ""
        } else if (c == "}") {
            if (is_struct[level] && members[level] > 30)
                complain("a struct of " members[level] " members: no more " \
                    "than 30, split it by subject")
            level--
        } else if (c == "(" || c == "[") {
            nested++
        } else if (c == ")" || c == "]") {
            nested--
        } else if ((c == ";" || c == ",") && !nested) {
            members[level]++
            words = ""
        }
    }
}
# Counts the lines of a function of the product, from its head in column 0 to
# its last brace.
function count_lines(line)
{
    if (line ~ /^}/ && body && FNR - body >= 62)
        complain("a function of " FNR - body + 1 " lines: no more than 62, " \
            "split it")
    if (line ~ /^[{]/)
        body = head
    else if (line ~ /^}/)
        body = 0
    if (line ~ /^([}#]|$)|;[ \t]*$/)
        head = 0
    else if (!head && line ~ /^[[:alpha:]_]/)
        head = FNR
}
FNR == 1 { comment = depth = level = head = body = 0 }
{
    line = code($0)
    # A system call has a number and six arguments.
    if (FILENAME != "sandbox/init/bare.h")
        count_parameters(line)
    count_members(line)
    if (FILENAME ~ product)
        count_lines(line)
    for (i = 1; i <= bans; i++)
        if (FILENAME ~ place[i] && FILENAME !~ spared[i] &&
            line ~ pattern[i] && line !~ /__attribute__/)
            complain(reason[i])
    if (line ~ /(^|[^[:alnum:]_])goto[ \t]+[[:alpha:]]/)
        complain("no goto: the cleanup attribute releases")
    if (line ~ /(^|[^[:alnum:]_])poll\(NULL,/)
        complain("wait for conditions with a deadline")
    if (line ~ /\/\//)
        complain("comments are /* ... */")
    if ($0 ~ /\t/)
        complain("no tabs")
}
END { exit bad }
' $files || exit

# Python of the product waits for events, too. Beside the pauses between two
# requests to a server there is nothing to wait for: a download that tries again
# (fetch/client.py), and a client that asks again (_background.py).
pythons=$(find notebooks workspace kernels gateway clients -name '*.py' | sort)
# shellcheck disable=SC2086
awk '
FILENAME ~ /^gateway\/downloads\/hearth_downloads\/fetch\/client[.]py$/ ||
FILENAME ~ /^clients\/python\/src\/hearth\/_background[.]py$/ { next }
{
    line = $0
    sub(/(^|[ \t])#.*$/, "", line)
    if (line ~ /(^|[^[:alnum:]_.])time[.]sleep[ \t]*\(/ ||
        line ~ /^[ \t]*from time import .*sleep/) {
        printf "%s:%d: wait for an event: poll, a lock that blocks\n",
            FILENAME, FNR
        bad = 1
    }
}
END { exit bad }
' /dev/null $pythons || exit

# A system call is there for a reason, which its row has.
exec awk '
function finish()
{
    if (row && row !~ /"[^"]*[[:alpha:]][^"]*[[:alpha:]][^"]*"/) {
        printf "%s:%d: a row without its reason\n", FILENAME, at
        bad = 1
    }
    row = ""
}
/^(ALLOW|ANSWER|NONE|LOOPBACK)[A-Z_]*[(]/ { finish(); row = $0; at = FNR; rows++; next }
/^ / && row { row = row $0; next }
{ finish() }
END { finish(); exit bad || rows < 100 }
' sandbox/filter/syscalls.def
