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
# Counts the lines of a function, from its head in column 0 to its last brace.
# A brace after the parameters is a function, too, unless a value is assigned.
function count_lines(line)
{
    if (line ~ /^}/ && body && FNR - body >= 62)
        complain("a function of " FNR - body + 1 " lines: no more than 62, " \
            "split it")
    if (!head && line ~ /^[[:alpha:]_]/) {
        head = FNR
        is_value = 0
    }
    if (head && line ~ /=/)
        is_value = 1
    if (line ~ /^[{]/) {
        body = head
        head = 0
    } else if (head && !is_value && line ~ /\)[ \t]*[{]/) {
        complain("the brace of a function has a line of its own")
        body = line ~ /}[ \t]*$/ ? 0 : head
        head = 0
    } else if (line ~ /^}/) {
        body = 0
    }
    if (line ~ /^([}#]|$)|;[ \t]*$/)
        head = 0
}
FNR == 601 { complain("a file of more than 600 lines: split it by subject") }
FNR == 1 { comment = depth = level = head = body = 0 }
{
    line = code($0)
    # A system call has a number and six arguments.
    if (FILENAME != "sandbox/init/bare.h")
        count_parameters(line)
    count_members(line)
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
# (fetch/client.py), and a client that asks again (_background.py). A sleep of 0
# only lets others run. A module may have another name in the file, and what is
# imported from it may be a list of several lines.
pythons=$(find notebooks workspace kernels gateway clients -name '*.py' | sort)
# shellcheck disable=SC2086
awk '
# Notes the names that a line gives to modules with a sleep.
function find_modules(line,    count, i, parts, words)
{
    sub(/^[ \t]*import[ \t]+/, "", line)
    count = split(line, parts, /[ \t]*[,;][ \t]*/)
    for (i = 1; i <= count; i++) {
        split(parts[i], words, /[ \t]+/)
        if (words[1] ~ ("^" MODULES "$") && words[2] == "as")
            names = names "|" words[3]
    }
}
function has_sleep(line)
{
    gsub(/[.]sleep[ \t]*\([ \t]*0[ \t]*\)/, "", line)
    return line ~ ("(^|[^[:alnum:]_.])(" names ")[.]sleep([^[:alnum:]_]|$)") ||
        line ~ /[])][.]sleep[ \t]*\(/ ||
        is_list && line ~ /(^|[^[:alnum:]_])sleep([^[:alnum:]_]|$)/
}
BEGIN { MODULES = "(time|asyncio|anyio|trio)" }
FNR == 1 { names = MODULES; is_list = is_open = 0 }
FILENAME ~ /^gateway\/downloads\/hearth_downloads\/fetch\/client[.]py$/ ||
FILENAME ~ /^clients\/python\/src\/hearth\/_background[.]py$/ { next }
{
    line = $0
    sub(/(^|[ \t])#.*$/, "", line)
    if (line ~ /^[ \t]*import[ \t]/)
        find_modules(line)
    is_import = line ~ ("^[ \t]*from[ \t]+" MODULES "[ \t]+import[ \t(\\\\]")
    if (is_import)
        is_list = 1
    if (has_sleep(line)) {
        printf "%s:%d: wait for an event: poll, a lock that blocks\n",
            FILENAME, FNR
        bad = 1
    }
    # A list ends with its line, or with its parenthesis.
    if (is_import && line ~ /\(/)
        is_open = 1
    if (line ~ /\)/)
        is_open = 0
    if (!is_open && line !~ /\\[ \t]*$/)
        is_list = 0
}
END { exit bad }
' /dev/null $pythons || exit

# Files in Python are no longer than those in C, also those of tests.
# shellcheck disable=SC2046
awk '
FNR == 601 {
    printf "%s:%d: a file of more than 600 lines: split it by subject\n",
        FILENAME, FNR
    bad = 1
}
END { exit bad }
' /dev/null $(find notebooks workspace kernels gateway clients tests \
    -name node_modules -prune -o -name '*.py' -print | sort) || exit

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
