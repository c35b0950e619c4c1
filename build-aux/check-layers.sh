#!/bin/sh
# Fails when a file includes a header that its folder may not know. The folders
# have one order, that of Makefile.am and of the Makemodule.am of a folder that
# has folders: a file may include what comes before its own folder. The table
# narrows that for some: the folders or the single headers that they may include,
# besides their own. protocol/secret.h is the session's HMAC key: only protocol
# and the gateway itself see it, not its command line and not its HTTP side.
set -eu
cd "${1:-${srcdir:-.}}"
files=$(find base protocol sandbox notebooks workspace kernels gateway \
    -name '*.[ch]' | sort)
# shellcheck disable=SC2086
exec awk '
BEGIN {
    while ((getline line <"Makefile.am") > 0)
        if (line ~ /^include .*\/Makemodule.am$/) {
            sub("^include ", "", line)
            sub("/Makemodule.am$", "", line)
            rank[line] = ++ranks
            rank_inside(line)
        }

    link = " protocol/frame.h protocol/jspan_write.h protocol/keeper.h" \
           " protocol/limits.h protocol/package_words.h "
    json = " protocol/jspan.h protocol/jspan_write.h protocol/message.h" \
           " protocol/span.h "

    may["protocol"]              = " base "
    may["workspace"]             = " base "
    may["sandbox"]               = " base "
    may["notebooks/journal"]     = " base protocol/channel.h protocol/limits.h" json
    may["notebooks/page"]        = " base "
    may["notebooks/json"]        = " base "
    may["notebooks/formats"]     = " base notebooks/journal/record.h" \
                                   " notebooks/journal/segment.h" \
                                   " notebooks/json notebooks/page "
    may["notebooks/recording"]   = " base protocol/limits.h" json \
                                   "notebooks/journal notebooks/json" \
                                   " notebooks/formats "
    may["notebooks/comparison"]  = " base notebooks/journal/head.h" \
                                   " notebooks/journal/reader.h" \
                                   " notebooks/journal/record.h" \
                                   " notebooks/json notebooks/formats "
    may["notebooks/modelview"]   = " base "
    may["notebooks/receipt"]     = " base notebooks/formats/notebook.h" \
                                   " notebooks/json "
    may["kernels"]               = " base protocol/channel.h" \
                                   " protocol/session_limits.h" link json \
                                   "sandbox/policy/sandbox_limits.h" \
                                   " sandbox/cgroups/cgroup.h "
    may["kernels/hearth_kernel/link"] = " base" link
    may["kernels/hearth_kernel/sandbox"] = " base protocol/limits.h" \
                                   " sandbox/launch/launch.h" \
                                   " kernels/zygote_request.h "
    may["gateway/http"]          = " base protocol/channel.h protocol/limits.h" \
                                   " protocol/observer_rules.h" \
                                   " protocol/piece_digest.h" \
                                   " protocol/websocket.h" json \
                                   "notebooks/journal notebooks/json" \
                                   " notebooks/formats notebooks/recording" \
                                   " notebooks/modelview gateway/config" \
                                   " gateway/audit gateway/metrics" \
                                   " gateway/discovery/discovery.h" \
                                   " gateway/frontends/frontend.h" \
                                   " gateway/frontends/handover.h "
    may["gateway/cli"]           = " base protocol notebooks/journal" \
                                   " notebooks/json notebooks/formats" \
                                   " notebooks/recording" \
                                   " notebooks/comparison" \
                                   " notebooks/modelview notebooks/receipt" \
                                   " workspace/name.h sandbox/policy/walls.h" \
                                   " gateway/config" \
                                   " gateway/discovery/private_folder.h" \
                                   " gateway/http/core/chunked.h" \
                                   " gateway/http/core/token_file.h" \
                                   " gateway/http/core/window_access.h" \
                                   " gateway/serve/serve.h" \
                                   " gateway/serve/user_namespace_setup.h "

    # Whatever the folder may include, never this.
    never["gateway/cli"]         = " protocol/secret.h "
    # And of a folder that has no row: of the sandbox only this.
    sandbox = " sandbox/policy/walls.h sandbox/users/subid.h" \
              " sandbox/users/uid_pool.h sandbox/users/user_namespace.h" \
              " sandbox/cgroups/cgroup.h sandbox/verification/verification.h "
}
# Gives the folders in `above` their ranks: the order in which its Makemodule.am
# names their files.
function rank_inside(above,    makemodule, line, path)
{
    makemodule = above "/Makemodule.am"
    while ((getline line <makemodule) > 0)
        if (match(line, /^\t%D%\/[a-z0-9_]+\/[^ ]*\.[ch]( |$)/)) {
            path = substr(line, 6)
            sub("/[^/]*$", "", path)
            if (!((above "/" path) in rank))
                rank[above "/" path] = ++ranks
        }
    close(makemodule)
}
function folder(path)
{
    sub("/[^/]*$", "", path)
    return path
}
# The folder above `path`, or itself, that `table` knows.
function known(table, path)
{
    while (!(path in table) && path ~ "/")
        path = folder(path)
    return path
}
function listed(list, header)
{
    return index(list, " " folder(header) " ") || index(list, " " header " ")
}
function allowed(from, header,    room, row)
{
    room = known(rank, from)
    row = known(may, from)
    if (rank[known(rank, folder(header))] > rank[room])
        return 0
    if (index(never[row], " " header " "))
        return 0
    if (row in may)
        return index(header, row "/") == 1 || listed(may[row], header)
    return header !~ "^sandbox/" || listed(sandbox, header)
}
/^[ \t]*#[ \t]*include[ \t]+"/ {
    split($0, quoted, "\"")
    header = quoted[2]
    from = folder(FILENAME)
    if (!allowed(from, header)) {
        printf "%s:%d: %s/ may not include \"%s\"\n", FILENAME, FNR, from, header
        bad = 1
    }
}
END { exit bad }
' $files
