#!/bin/sh
# Fails when a file includes a header that its folder may not know.
# The table is the architecture: a folder, then the folders or the single
# headers that its files may include. protocol/secret.h is the session's HMAC
# key: whoever can name the folder protocol can read it, so only protocol and
# gateway itself do.
set -eu
cd "${1:-${srcdir:-.}}"
files=$(find base protocol sandbox notebooks workspace kernels gateway \
    -name '*.[ch]' | sort)
# shellcheck disable=SC2086
exec awk '
BEGIN {
    link = " protocol/frame.h protocol/limits.h "
    json = " protocol/json.h protocol/message.h protocol/span.h "

    may["base"]                  = " base "
    may["protocol"]              = " base protocol "
    may["sandbox"]               = " base sandbox "
    may["notebooks"]             = " base protocol/limits.h" json "notebooks "
    may["workspace"]             = " base workspace "
    may["kernels"]               = " base protocol/channel.h" link json \
                                   "sandbox/sandbox.h sandbox/cgroup.h kernels "
    may["kernels/hearth_kernel"] = " base sandbox/sandbox.h" link \
                                   "kernels/order.h kernels/hearth_kernel "
    may["gateway"]               = " base protocol notebooks workspace kernels" \
                                   " gateway sandbox/cgroup.h" \
                                   " sandbox/posture.h sandbox/walls.h" \
                                   " gateway/cli/command.h" \
                                   " gateway/http/http.h "
    may["gateway/http"]          = " base protocol/channel.h protocol/limits.h" \
                                   " protocol/utf8.h protocol/websocket.h" \
                                   json "notebooks" \
                                   " gateway/audit.h gateway/auth.h" \
                                   " gateway/budget.h" \
                                   " gateway/front.h gateway/gateway.h" \
                                   " gateway/histogram.h" \
                                   " gateway/options.h gateway/origin.h" \
                                   " gateway/refusal.h gateway/session_limits.h" \
                                   " gateway/http "
    may["gateway/cli"]           = " base protocol notebooks gateway/cli" \
                                   " workspace/name.h" \
                                   " gateway/auth.h gateway/budget.h" \
                                   " gateway/environment.h" \
                                   " gateway/gateway.h gateway/options.h" \
                                   " gateway/session_users.h sandbox/walls.h "

    # Whatever the folder may include, never this.
    never["gateway/cli"]         = " protocol/secret.h "
}
function folder(path)
{
    sub("/[^/]*$", "", path)
    return path
}
function allowed(from, header)
{
    if (index(never[from], " " header " "))
        return 0
    return index(may[from], " " folder(header) " ") ||
           index(may[from], " " header " ")
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
