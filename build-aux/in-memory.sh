#!/bin/sh
# Runs a command whose /tmp is in memory: in-memory.sh CHECKOUT BUILD COMMAND...
# Tests make and remove thousands of files, which costs a file system on a disk
# much time. The command gets a mount namespace of its own. It still sees the
# folders of /tmp that have the checkout, the build or the program. An ordinary
# user, and a machine with less than 4 GiB of free memory, keep their /tmp.
set -eu
checkout=$1 build=$2
shift 2
free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
if [ "$(id -u)" != 0 ] || [ "${free:-0}" -lt $((4 << 20)) ] ||
    ! unshare --mount true 2>/dev/null; then
    exec "$@"
fi
set -- -- "$@"
for path in "$checkout" "$build" "${HEARTH:-}" "${HEARTH_PYTHON_DIR:-}"; do
    case $path in
    /tmp/*)
        path=${path#/tmp/}
        set -- "${path%%/*}" "$@"
        ;;
    esac
done
# shellcheck disable=SC2016 # the inner shell expands these
exec unshare --mount sh -euc '
    folder=$(pwd)
    mount -t tmpfs -o mode=1777,size=2G hearth-tmp /mnt
    while [ "$1" != -- ]; do
        if [ -d "/tmp/$1" ] && [ ! -e "/mnt/$1" ]; then
            mkdir "/mnt/$1"
            mount --rbind "/tmp/$1" "/mnt/$1"
        fi
        shift
    done
    shift
    mount --move /mnt /tmp # from where it was put together
    cd "$folder"
    exec "$@"' sh "$@"
