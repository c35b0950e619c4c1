#!/bin/sh
# Fails when a document, a manual page or a comment breaks a rule of prose that a
# machine can see (HACKING.md, Prose): comments of C, Python, JavaScript, shell,
# the makefiles and the configuration file, the sentences of the OpenAPI document,
# of the tools' descriptions and of .def tables, and the words of the product's
# sentences for users. `check-prose.sh . FILE...` checks only those files. Comments
# of the folders in STRICT may begin with no word of OPENERS, not only those of
# functions. Their sentences are shorter, and so are those of the documents in
# SHORT.
set -eu
cd "${1:-${srcdir:-.}}"
[ $# -eq 0 ] || shift

# One line for each breach: FILE:LINE: what.
breaches() {
    awk '
function complain(what) { print FILENAME ":" start ": " what }
function words_of(text, parts) { return split(text, parts, /[ \t]+/) }
function find_banned(text) {
    text = " " tolower(text) " "
    gsub(/there (is|are) none/, "", text)
    while (match(text, BANNED)) {
        complain("\"" substr(text, RSTART + 1, RLENGTH - 2) "\"")
        text = substr(text, RSTART + RLENGTH - 1)
    }
}
# A string of the product with some words is read by users. Pieces are one
# string, also on several lines, up to one that ends its line; `rest` comes after
# the piece. Strings of a .def table are the reasons of its rows.
function message(text, rest) {
    if (pieces == "") pieces_at = FNR
    pieces = pieces text
    if (text ~ /\\n$/ || rest !~ /^[ \t]*(\\|"|\047|[rbf]"|$)/) end_message()
}
function end_message() {
    start = pieces_at
    if (is_strict && FILENAME ~ /[.]def$/) look(pieces, 0)
    else if (is_strict && pieces ~ /[a-z] [a-z]+ [a-z]/) find_banned(pieces)
    pieces = ""
}
function look(text, is_function,    rest, at, depth, place, letter) {
    gsub(/[a-z.]+\([1-8]\)/, "X", text)
    gsub(/[ \t]+/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text)
    if (text == "") return
    if (is_function && match(text, OPENERS) == 1)
        complain("the comment of a function begins with \"" \
                 substr(text, 1, RLENGTH) "\", not with a verb")
    else if (is_strict && match(text, OPENERS) == 1)
        complain("a comment begins with \"" substr(text, 1, RLENGTH) \
                 "\", not with its noun or a verb")
    rest = " " tolower(text) " "
    if (is_strict && match(rest, NOUNLESS))
        complain("\"" substr(rest, RSTART + 1, RLENGTH - 2) "\" without a noun")
    find_banned(text)
    for (place = 1; place <= length(text); place++) {
        letter = substr(text, place, 1)
        if (letter == "(" && ++depth == 2) {
            complain("parentheses in parentheses"); break
        }
        if (letter == ")" && depth > 0) depth--
    }
    rest = text
    while (rest != "") {
        at = match(rest, /[.!?:][")]* /)
        text = at ? substr(rest, 1, at) : rest
        rest = at ? substr(rest, at + RLENGTH) : ""
        if (tolower(text) ~ / the one .* the other[^a-z]/)
            complain("the one ... the other")
        if (words_of(text) > (is_strict || is_short ? SHORT_WORDS_MAX : WORDS_MAX))
            complain("a sentence of " words_of(text) " words: " \
                     substr(text, 1, 50) "...")
    }
}
function flush() { look(is_markdown ? plain(unit) : unit, 0); unit = ""; start = FNR }
function add(text) { if (unit == "") start = FNR; unit = unit " " text }
function plain(text) {
    gsub(/``?[^`]+``?/, "X", text)
    gsub(/\]\([^)]*\)/, "", text)
    gsub(/[][*_|]/, "", text)
    return text
}
function table(line,    cells, count, place) {
    count = split(line, cells, "|")
    start = FNR
    for (place = 2; place < count; place++) {
        if (length(cells[place]) - 2 > CELL_MAX)
            complain("a table cell of " length(cells[place]) - 2 " letters")
        look(plain(cells[place]), 0)
    }
}
function markdown(line) {
    if (line ~ /^<!-- written by/) is_written = 1
    if (line ~ /^<!-- end of what is written/) is_written = 0
    if (line ~ /^ *```/) { flush(); is_code = !is_code; return }
    if (is_code || is_written || line ~ /^<!--/) return
    if (line ~ /^    / && (was_blank || is_block)) {
        flush(); is_block = 1; return
    }
    if (line !~ /^ *$/) is_block = 0
    was_blank = line ~ /^ *$/
    if (was_blank || line ~ /^#/) { flush(); return }
    if (line ~ /^\|/) { flush(); table(line); return }
    if (line ~ /^ *([-*]|[0-9]+\.) /) {
        flush(); sub(/^ *([-*]|[0-9]+\.) /, "", line)
    }
    add(line)
}
function manual(line) {
    if (line ~ /^\.Bd -literal/) { flush(); is_code = 1 }
    if (line ~ /^\.Ed/) is_code = 0
    if (line ~ /^\.Sh/) is_synopsis = line ~ /SYNOPSIS/
    if (is_synopsis) return
    if (is_code) return
    if (line ~ /^\.(Sh|Ss|It|Bl|El|Pp|Dl|Ed|Dd|Dt|Os|Nd|\\")/) {
        flush(); return
    }
    sub(/^\.[A-Z][a-z]+ /, "", line)
    if (line ~ /^\./) return
    add(line)
    if (line ~ /[.!?:]$/) flush()
}
function c_source(line,    text) {
    if (pieces != "" && line !~ /^[ \t]*("|$)/) end_message()
    if (after_comment) {
        if (line ~ /^ *$/) return
        look(comment, is_top && line ~ /^[a-z].*\(/ && line !~ /^(typedef|struct|enum|static const)/)
        after_comment = 0; comment = ""
    }
    while (line != "") {
        if (!in_comment) {
            while (match(line, /\/\*|"|\047\\?"\047/) && \
                   substr(line, RSTART, 2) != "/*") {
                match(line, /\047\\?"\047|"([^"\\]|\\.)*"?/)
                text = substr(line, RSTART + 1, RLENGTH - 2)
                line = substr(line, RSTART + RLENGTH)
                message(text, line)
            }
            if (pieces != "" && line !~ /^[ \t\\]*$/) end_message()
            if (!RLENGTH || !match(line, /\/\*/)) return
            is_top = RSTART == 1; start = FNR; in_comment = 1
            line = substr(line, RSTART + 2)
        }
        if (FNR > start && line ~ /^ \*( ( |$)|$)/) line = " ." # a table, or blank
        if (FNR > start) sub(/^ *\*[^\/]/, "", line)
        if (match(line, /\*\//)) {
            comment = comment " " substr(line, 1, RSTART - 1)
            line = substr(line, RSTART + 2); in_comment = 0
            gsub(/`[^`]*`/, "X", comment)
            if (line !~ /^[ \\]*$/ || !is_top) { look(comment, 0); comment = "" }
            else { after_comment = 1; return }
        } else {
            sub(/^ *\*/, "", line); comment = comment " " line
            return
        }
    }
}
# A setting that is commented out has no space before its name.
function hashed(line) {
    if (line ~ /^ *# shellcheck /) return
    if (sub(/^[ \t]*# /, "", line) && line !~ /^ /) add(line)
    else flush()
}
# Comments of both kinds, without the lines that give types.
function javascript(line,    is_end) {
    if (line ~ /^ *\/\*/) is_block = 1
    if (!is_block && line !~ /^ *\/\/ /) { flush(); return }
    is_end = line ~ /\*\//
    gsub(/^ *(\/\/|\/?\*+\/?)|\*+\/.*/, "", line)
    if (line ~ /^ *@/) flush()
    else add(line)
    if (is_end) { flush(); is_block = 0 }
}
# The sentences of an OpenAPI document, and of the descriptions of tools. One may
# begin on the line after its name.
function openapi(line,    text) {
    if (line ~ /^[ \t]*$/) return
    line = before line; before = ""
    start = FNR
    if (match(line, /"(summary|description)"[ \t]*:?[ \t]*$/))
        before = substr(line, RSTART)
    while (match(line, /"(summary|description)"[ \t]*:[ \t]*"([^"\\]|\\.)*"/)) {
        text = substr(line, RSTART, RLENGTH - 1)
        line = substr(line, RSTART + RLENGTH)
        sub(/^"[a-z]+"[ \t]*:[ \t]*"/, "", text)
        gsub(/\\"/, "\047", text)
        look(plain(text), 0)
    }
}
# Comments line by line; docstrings are functions\047 comments.
function python(line,    rest, text) {
    if (pieces != "" && line !~ /^ *[rbf]*["\047]/) end_message()
    if (is_raw) { is_raw = line !~ /"""/; return }
    if (in_string) {
        in_string = !match(line, /"""/)
        if (in_string && match(line, /[^ ]/) > indent + 4) line = " ." # code
        unit = unit " " (in_string ? line : substr(line, 1, RSTART - 1))
        if (line ~ /[^ ]   +[^ ]/) unit = unit " ." # a row of a table
        if (in_string && line !~ /^ *$/) return
        look(unit, is_function); unit = ""; start = FNR; is_function = 0
        return
    }
    if (line ~ /^ *# /) {
        sub(/^ *# /, "", line); add(line)
        return
    }
    look(unit, 0); unit = ""; start = FNR
    if (match(line, /^ *[rbf]?"""/) && before ~ /(^|:|:  # .*)$/) {
        indent = match(line, /[^ ]/) - 1; match(line, /^ *[rbf]?"""/)
        is_function = was_def; line = substr(line, RLENGTH + 1)
        in_string = !match(line, /"""/)
        unit = in_string ? line : substr(line, 1, RSTART - 1)
        if (!in_string) { look(unit, is_function); unit = ""; is_function = 0 }
        return
    }
    rest = line
    if (gsub(/"""/, "", rest) % 2) { is_raw = 1; return }
    for (rest = line; match(rest, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|  # /);) {
        if (substr(rest, RSTART, 2) == "  ") {
            start = FNR; look(substr(rest, RSTART + 4), 0); break
        }
        text = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        message(text, rest)
    }
    if (pieces != "" && line !~ /^ *$/ && rest !~ /^ *$/) end_message()
    if (line !~ /^ *$/) before = line
    if (line !~ /^ *$/) was_def = line ~ /^ *(async )?def / || (was_def && line !~ /^ *[a-z]+ = /)
}
BEGIN {
    WORDS_MAX = 40; SHORT_WORDS_MAX = 25; CELL_MAX = 120
    STRICT = "^(base|protocol|sandbox|workspace|notebooks|kernels|gateway)/.*[.](c|h|def|py|json)$" \
             "|^etc/.*[.]cfg$"
    SHORT = "^(README|HACKING|docs/design/ARCHITECTURE|docs/guide/.*)[.]md$"
    OPENERS = "^(With|Of|That|Those|One that|What|Whose|Who|So many|The same)[ ,:.]"
    BANNED = "[^a-z](is none|are none|so many|whoever|whosoever|somebody|" \
             "nobody|anybody|behind|in front|told|tells|stands|parted from|" \
             "comes to)[^a-z]"
    # Where no noun can be before the next word: at the beginning, after a mark,
    # and after these words.
    NO_NOUN = "(^|[.;:,(]|[^a-z](and|or|of|to|by|for|from|with|than|as|until|" \
              "is|at|but|only|not))"
    NOUNLESS = NO_NOUN " whom? |[^a-z]of before[.,;: ]"
}
FNR == 1 { is_strict = FILENAME ~ STRICT; is_short = FILENAME ~ SHORT
           is_code = is_written = is_block = was_blank = 0; unit = comment = ""
           in_comment = after_comment = in_string = is_raw = was_def = 0
           before = pieces = ""
           start = 1 }
FILENAME ~ /\.md$/ { is_markdown = 1; markdown($0) }
FILENAME ~ /\.[1-8]$/ { manual($0) }
FILENAME ~ /\.([ch]|def)$/ { c_source($0) }
FILENAME ~ /\.py$/ { python($0) }
FILENAME ~ /\.(am|cfg|sh|bash|fish)$|^(dev|etc\/_hearth)$/ { hashed($0) }
FILENAME ~ /\.js$/ { javascript($0) }
FILENAME ~ /\/(openapi|tools)\/[^\/]*\.json$/ { openapi($0) }
END { FILENAME = ARGV[1]; if (pieces != "") end_message(); flush() }
' "$1" /dev/null
}

# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $({
    find ./*.md ./Makefile.am dev docs man etc build-aux base protocol workspace \
        sandbox notebooks kernels gateway -type f \( -name '*.md' \
        -o -name '*.[1-8]' -o -name '*.[ch]' -o -name '*.def' \
        -o -path '*/openapi/*.json' -o -path '*/tools/*.json' -o -name '*.py' -o -name '*.am' \
        -o -name '*.cfg' -o -name '*.js' -o -name '*sh' -o -name dev \
        -o -name _hearth \) ! -name ltmain.sh ! -name tap-driver.sh
    find tests clients -name node_modules -prune -o -name '*.[ch]' -print \
        -o -name '*.py' -print -o -name '*.am' -print -o -name '*.sh' -print \
        -o -name '*.js' -print
} | sort)

bad=0
for file; do
    found=$(breaches "${file#./}")
    [ -n "$found" ] || continue
    printf '%s\n' "$found"
    bad=1
done
exit "$bad"
